// SPDX-License-Identifier: MIT
/* libt3: plans of ranks in one process: what they make of their spaces, and their epochs. */
#include "test_lib_spaces.h"
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define TILES(rank) (hw[rank].memory + hw[rank].buffer[1])

/* Chunks of 4, 3 and 3 elements. */
static const struct t3_plan_desc gather = {
	.collective = T3_ALL_GATHER,
	.count = 10,
	.dtype = DRM_T3_I32,
	.path = T3_PATH_STORE,
};

static const uint32_t input[10] = { 10, 11, 12, 13, 14, 15, 16, 17, 18, 19 };

static uint64_t shown_put(uint32_t rank, uint32_t chunk)
{
	return plans[0]->shared->rank[rank].put[chunk];
}

static void finish(uint32_t rank)
{
	become(rank, DRM_T3_SPACE_COMPLETE, plans[rank]->epoch);
	assert_int_equal(t3_plan_wait(plans[rank], 0), 0);
}

/* --------------------------------------------------------------------- set-up */

/* Chunk c is segment c. Its rank sends it to both others. */
TEST("a rank sends by the grants of its targets")
{
	uint32_t r, c;

	make_plans(&gather);
	for (r = 0; r < RANKS; r++) {
		for (c = 0; c < RANKS; c++)
			assert_int_equal(hw[r].segment[c].kind,
					 c == r ? DRM_T3_SEGMENT_DMA : DRM_T3_SEGMENT_LOCAL);
		assert_int_equal(hw[r].segment[r].import_count, 1);
		assert_int_equal(hw[r].import[r][0], IMPORT + (r == 0));
		assert_int_equal(hw[r].import[r][1], IMPORT + 2 - (r == 2));
		assert_int_equal(hw[r].segment[r].target_segment, r);
		assert_int_equal(hw[r].segment[r].target_op, DRM_T3_OP_STORE);
		for (c = 0; c < RANKS; c++)
			assert_int_equal(hw[r].grant[c].segment_mask, c == r ? 0 : 1u << c);
		assert_int_equal(hw[r].grant[(r + 1) % RANKS].op_mask, 1u << DRM_T3_OP_STORE);
		assert_int_equal(plans[0]->shared->rank[r].targets, 7 ^ 1u << r);
	}
}

/* Rank r is on the device of rank r + 1 of the fabric, and grants name that. */
TEST("ranks may be on any devices")
{
	struct t3_device *devs[RANKS];
	uint32_t r, c;

	for (r = 0; r < RANKS; r++) {
		t3_comm_destroy(comms[r]);
		devs[r] = hw[(r + 1) % RANKS].dev;
	}
	assert_int_equal(t3_comm_create_local(devs, RANKS, comms), 0);
	make_plans(&gather);
	for (r = 0; r < RANKS; r++)
		for (c = 0; c < RANKS; c++)
			assert_int_equal(hw[(r + 1) % RANKS].grant[(c + 1) % RANKS].segment_mask,
					 c == r ? 0 : 1u << c);
}

/* On a ring a sum goes from rank to rank, and its rows are the rank's own. */
TEST("a sum begins in remote segments")
{
	struct t3_plan_desc desc = gather;

	desc.collective = T3_REDUCE_SCATTER;
	desc.algorithm = T3_ALGORITHM_DIRECT;
	desc.op = DRM_T3_OP_ADD;
	make_plans(&desc);
	assert_int_equal(hw[0].segment[1].kind, DRM_T3_SEGMENT_REMOTE);
	assert_int_equal(hw[0].segment[1].target_op, DRM_T3_OP_ADD);
	assert_int_equal(hw[0].segment[1].import_count, 0);
	assert_int_equal(hw[0].import[1][0], IMPORT + 1);
	assert_int_equal(hw[0].segment[0].kind, DRM_T3_SEGMENT_LOCAL);
	assert_int_equal(hw[0].segment[0].updates, 3);
}

/* Rank 2 is on node 1. */
static void be_on_two_nodes(void)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		comms[r]->here = r == 2 ? 4 : 3;
		comms[r]->node[2] = 1;
	}
}

TEST("a rank on another node gets a key")
{
	uint32_t r;

	be_on_two_nodes();
	make_plans(&gather);
	assert_int_equal(hw[0].import[0][0], IMPORT + 1);
	assert_int_equal(hw[0].import[0][1], KEYED + 2);
	assert_int_equal(hw[2].import[2][0], KEYED);
	assert_int_equal(hw[2].import[2][1], KEYED + 1);
	assert_int_equal(hw[0].key[2].segment_mask, 1u << 2);
	assert_int_equal(hw[0].key[2].op_mask, 1u << DRM_T3_OP_STORE);
	assert_int_equal(hw[0].grant[2].segment_mask, 0);
	/* Each node has shared state. */
	assert_int_equal(plans[0]->shared->rank[1].targets, 5);
	assert_int_equal(plans[0]->shared->rank[2].targets, 0);
	assert_int_equal(plans[2]->shared->rank[2].targets, 3);
	for (r = 0; r < RANKS; r++)
		comms[r]->here = 7;
}

/* All ranks say the same, and the communicators can make a plan after it. */
static void refused(uint32_t rank, unsigned long request, uint32_t skip, int error,
		    const char *text)
{
	char other[T3_COMM_TEXT_SIZE];
	uint32_t r;

	fail_call(rank, request, skip, error);
	assert_int_equal(t3_plan_create_all(comms, RANKS, &gather, plans), -error);
	snprintf(other, sizeof(other), "rank %u: %s", rank, text);
	for (r = 0; r < RANKS; r++) {
		assert_string_equal(t3_comm_error(comms[r]), r == rank ? text : other);
		assert_null(plans[r]);
		assert_int_equal(hw[r].spaces + hw[r].buffers, 0);
	}
}

/* The driver's word for the next call that fails. Without one it is an older driver. */
static struct drm_t3_refusal refusal;

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request != DRM_IOCTL_T3_REFUSAL || !refusal.request)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	*(struct drm_t3_refusal *)arg = refusal;
	return 0;
}

/* Of each kind of call that plans make. */
TEST("a refused field is named at all ranks")
{
	static const struct {
		unsigned long request;
		uint32_t skip;
		const char *text;
	} calls[] = {
		{ DRM_IOCTL_T3_BO_CREATE, 0, "no buffer of 40 bytes" },
		{ DRM_IOCTL_T3_SPACE_CREATE, 0, "no output address space of 3 tiles" },
		{ DRM_IOCTL_T3_SEGMENT_MAP, 2,
		  "segment 1 (i32) of chunk 1 could not be mapped to segment 1 of rank 0" },
		{ DRM_IOCTL_T3_GRANT_EXPORT, 0, "no grant for rank 2" },
		{ DRM_IOCTL_T3_GRANT_IMPORT, 0, "the grant of rank 0" },
	};
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		refusal = (struct drm_t3_refusal){
			.request = (uint32_t)calls[i].request,
			.error = EACCES,
			.index = ~0u,
			.struct_name = "its_struct",
			.field = "its_field",
			.allowed = "something else",
		};
		snprintf(text, sizeof(text),
			 "%s: Permission denied: its_struct.its_field: allowed: something else",
			 calls[i].text);
		refused(1, calls[i].request, calls[i].skip, EACCES, text);
	}
	refusal.request = 0;
	make_plans(&gather);
}

TEST("a failed call is named at all ranks")
{
	refused(1, DRM_IOCTL_T3_BO_CREATE, 0, ENOSPC,
		"no buffer of 40 bytes: No space left on device");
	refused(2, DRM_IOCTL_T3_BO_MMAP_OFFSET, 0, EPERM,
		"no buffer of 40 bytes: Operation not permitted");
	refused(0, DRM_IOCTL_T3_SPACE_CREATE, 0, ENOSPC,
		"no output address space of 3 tiles: No space left on device");
	refused(1, DRM_IOCTL_T3_SEGMENT_MAP, 1, EIO,
		"no output address space of 3 tiles: Input/output error");
	refused(1, DRM_IOCTL_T3_SEGMENT_MAP, 2, EIO,
		"segment 1 (i32) of chunk 1 could not be mapped to segment 1 of rank 0: "
		"Input/output error");
	refused(2, DRM_IOCTL_T3_GRANT_EXPORT, 1, EMFILE,
		"no grant for rank 1: Too many open files");
	refused(0, DRM_IOCTL_T3_GRANT_IMPORT, 0, EACCES, "the grant of rank 2: Permission denied");
	make_plans(&gather);
}

/* Without keys the sentence says what they take, to a rank on another node alone. */
TEST("keys may be missing")
{
	static const char text[] = "no key for rank 2 on another node: it takes keys=fabric of the "
				   "device and keys=2 of t3.ko";

	be_on_two_nodes();
	refused(0, DRM_IOCTL_T3_KEY_EXPORT, 0, EPERM, text);
	refused(0, DRM_IOCTL_T3_KEY_EXPORT, 0, EOPNOTSUPP, text);
	refused(0, DRM_IOCTL_T3_KEY_EXPORT, 0, ENOSPC,
		"no grant for rank 2: No space left on device");
	refused(0, DRM_IOCTL_T3_GRANT_EXPORT, 0, EPERM,
		"no grant for rank 1: Operation not permitted");
	refused(1, DRM_IOCTL_T3_KEY_IMPORT, 0, EACCES, "the grant of rank 2: Permission denied");
}

TEST("plans of all ranks are made at once")
{
	struct t3_comm *mixed[RANKS] = { comms[0], comms[2], comms[1] };
	struct t3_comm *none[RANKS] = { comms[0], NULL, comms[2] };

	assert_int_equal(t3_plan_create_all(mixed, RANKS, &gather, plans), -EINVAL);
	assert_int_equal(t3_plan_create_all(none, RANKS, &gather, plans), -EINVAL);
	assert_int_equal(t3_plan_create_all(comms, RANKS - 1, &gather, plans), -EINVAL);
	assert_int_equal(t3_plan_create_all(comms, 0, &gather, plans), -EINVAL);
	assert_int_equal(t3_plan_create_all(NULL, RANKS, &gather, plans), -EINVAL);
	assert_int_equal(t3_plan_create_all(comms, RANKS, NULL, plans), -EINVAL);
	assert_int_equal(t3_plan_create_all(comms, RANKS, &gather, NULL), -EINVAL);
	comms[1]->plans_over = -EPIPE;
	assert_int_equal(t3_plan_create_all(comms, RANKS, &gather, plans), -EPIPE);
	assert_int_equal(hw[0].made, 0);
}

/* A process may have closed its standard input: descriptor 0 is one as any other. */
TEST("a descriptor may be 0")
{
	int kept = fcntl(0, F_DUPFD_CLOEXEC, 3);

	assert_true(kept >= 3);
	close(0);
	make_plans(&gather);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	assert_int_equal(dup2(kept, 0), 0);
	close(kept);
}

/* --------------------------------------------------------------------- epochs */

TEST("an epoch has its turns")
{
	const void *data;

	make_plans(&gather);
	assert_int_equal(t3_plan_epoch(plans[0]), 0);
	assert_int_equal(t3_plan_ready(plans[0], 0), -EBUSY);
	assert_int_equal(t3_plan_put(plans[0], 0, input, 4), -EBUSY);
	assert_int_equal(t3_plan_wait(plans[0], 0), -EBUSY);
	ready_all(1);
	assert_int_equal(t3_plan_epoch(plans[0]), 1);
	assert_int_equal(doorbell(0, DRM_T3_DOORBELL_RELEASE), 0);
	assert_int_equal(t3_plan_arm(plans[0]), -EBUSY);
	assert_int_equal(t3_plan_ready(plans[0], 0), -EBUSY);
	assert_int_equal(t3_plan_result(plans[0], &data, NULL), -EBUSY);
	assert_int_equal(t3_plan_wait(plans[0], 0), -ETIMEDOUT);
	assert_int_equal(t3_plan_put(plans[0], 0, input, 4), 0);
	finish(0);
	assert_int_equal(t3_plan_put(plans[0], 0, input, 1), -EBUSY);
	assert_int_equal(t3_plan_wait(plans[0], 0), -EBUSY);
	assert_int_equal(t3_plan_ready(plans[0], 0), -EBUSY);
}

/* The last epoch is released once, before the next one. The shared state follows. */
TEST("an epoch follows another")
{
	uint32_t r;

	make_plans(&gather);
	ready_all(1);
	assert_int_equal(t3_plan_put(plans[1], 4, &input[4], 3), 0);
	assert_int_equal(shown_put(1, 1), 3);
	for (r = 0; r < RANKS; r++)
		finish(r);
	ready_all(2);
	assert_int_equal(doorbell(1, DRM_T3_DOORBELL_RELEASE), 1);
	assert_int_equal(t3_plan_epoch(plans[1]), 2);
	assert_int_equal(plans[0]->shared->rank[1].epoch, 2);
	assert_int_equal(plans[0]->shared->rank[1].phase, PLAN_READY);
	assert_int_equal(shown_put(1, 1), 0);
	assert_int_equal(t3_plan_put(plans[1], 4, &input[4], 3), 0);
	assert_int_equal(t3_plan_put(plans[1], 4, &input[4], 1), -EOVERFLOW);
}

TEST("the last epoch is known")
{
	uint32_t r;

	make_plans(&gather);
	for (r = 0; r < RANKS; r++) {
		plans[r]->epoch = UINT32_MAX - 1;
		plans[r]->phase = PLAN_COMPLETE;
	}
	ready_all(UINT32_MAX);
	finish(0);
	assert_int_equal(t3_plan_arm(plans[0]), -EOVERFLOW);
	assert_int_equal(t3_plan_epoch(plans[0]), UINT32_MAX);
}

/* Armed by an earlier call, by the start itself, or not ready yet. */
TEST("a start arms once")
{
	make_plans(&gather);
	assert_int_equal(t3_plan_start(NULL, 0), -EINVAL);
	assert_int_equal(t3_plan_start(plans[0], 0), -ETIMEDOUT);
	assert_int_equal(doorbell(0, DRM_T3_DOORBELL_ARM), 1);
	become(0, DRM_T3_SPACE_ARMED, 1);
	assert_int_equal(t3_plan_start(plans[0], 0), 0);
	assert_int_equal(t3_plan_epoch(plans[0]), 1);
	assert_int_equal(t3_plan_start(plans[0], 0), -EBUSY);
}

/* ---------------------------------------------------------------------- input */

TEST("input goes to its place")
{
	const void *data;
	uint64_t bytes;

	make_plans(&gather);
	ready_all(1);
	assert_int_equal(t3_plan_put(plans[1], 4, NULL, 1), -EINVAL);
	assert_int_equal(t3_plan_put(plans[1], 3, input, 1), -ERANGE);
	assert_int_equal(t3_plan_put(plans[1], 7, input, 1), -ERANGE);
	assert_int_equal(t3_plan_put(plans[1], 5, input, 3), -ERANGE);
	assert_int_equal(t3_plan_put(plans[1], UINT64_MAX, input, 6), -ERANGE);
	assert_int_equal(t3_plan_put(plans[1], 5, &input[5], 2), 0);
	assert_int_equal(shown_put(1, 1), 2);
	assert_int_equal(t3_plan_put(plans[1], 4, &input[4], 1), 0);
	assert_int_equal(shown_put(1, 1), 3);
	finish(1);
	assert_int_equal(t3_plan_result(plans[1], &data, &bytes), 0);
	assert_int_equal(bytes, sizeof(input));
	assert_memory_equal((const uint32_t *)data + 4, &input[4], 12);
	assert_int_equal(*((const uint32_t *)data + 3) + *((const uint32_t *)data + 7), 0);
	assert_int_equal(t3_plan_result(plans[1], NULL, NULL), 0);
}

/* A put may go over chunks. Matrices have rows of 2 elements. */
TEST("a put may go over rows")
{
	struct t3_plan_desc desc = gather;

	desc.collective = T3_BROADCAST;
	desc.columns = 2;
	desc.root = 2;
	make_plans(&desc);
	ready_all(1);
	assert_int_equal(t3_plan_order(plans[2], 0), 0);
	assert_int_equal(t3_plan_order(plans[2], 1), T3_PLAN_NO_CHUNK);
	assert_int_equal(t3_plan_order(plans[0], 0), T3_PLAN_NO_CHUNK);
	assert_int_equal(t3_plan_put(plans[0], 0, input, 1), -ERANGE);
	assert_int_equal(t3_plan_put(plans[2], 3, &input[3], 6), 0);
	assert_int_equal(shown_put(2, 0), 6);
	assert_memory_equal(TILES(2) + 12, &input[3], 24);
	assert_int_equal(t3_plan_put(plans[2], 0, input, 3), 0);
	assert_int_equal(t3_plan_put(plans[2], 9, &input[9], 1), 0);
	assert_memory_equal(TILES(2), input, sizeof(input));
	assert_int_equal(t3_plan_put(plans[2], 9, &input[9], 2), -ERANGE);
}

/* Tiles of 2 elements: chunk 0 has two of them, chunk 1 one and a half. */
TEST("tiles are put by their numbers")
{
	struct t3_plan_desc desc = gather;

	desc.tile_columns = 2;
	make_plans(&desc);
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 1, input, 8), -EBUSY);
	ready_all(1);
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 2, input, 8), -ERANGE);
	assert_int_equal(t3_plan_put_tile(plans[1], 0, 0, input, 8), -ERANGE);
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 1, input, 3), -EINVAL);
	assert_int_equal(shown_put(1, 1), 0);
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 1, &input[6], 4), 0);
	assert_int_equal(shown_put(1, 1), 1);
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 0, &input[4], 8), 0);
	assert_int_equal(shown_put(1, 1), 3);
	assert_int_equal(t3_plan_put_tile(plans[1], 1, 0, &input[4], 8), -EOVERFLOW);
	assert_memory_equal(TILES(1) + 16, &input[4], 12);
}

static void expect_tile(const struct t3_plan *plan, uint64_t tile, uint32_t row, uint32_t col,
			uint32_t bytes, uint64_t offset)
{
	struct t3_tile at;

	assert_int_equal(t3_plan_tile(plan, 1, tile, &at), 0);
	assert_int_equal(at.row, row);
	assert_int_equal(at.rows, 1);
	assert_int_equal(at.col, col);
	assert_int_equal(at.row_bytes, bytes);
	assert_int_equal(at.bytes, bytes);
	assert_int_equal(at.offset, offset);
}

TEST("a tile has a place in its chunk")
{
	struct t3_plan_desc desc = gather;
	struct t3_tile at;

	desc.tile_columns = 2;
	make_plans(&desc);
	expect_tile(plans[1], 0, 0, 0, 8, 0);
	expect_tile(plans[1], 1, 0, 8, 4, 8);
	assert_int_equal(t3_plan_tile(plans[1], 1, 2, &at), -ERANGE);
	assert_int_equal(t3_plan_tile(plans[1], 0, 0, &at), -ERANGE);
	assert_int_equal(t3_plan_tile(plans[1], 3, 0, &at), -ERANGE);
	assert_int_equal(t3_plan_tile(NULL, 1, 0, &at), -EINVAL);
	assert_int_equal(t3_plan_tile(plans[1], 1, 0, NULL), -EINVAL);
	assert_int_equal(plans[0]->shared->rank[1].viewed, 0);
}

/* With ALL_TO_ALL the own row is one of several. */
TEST("a tile has a place in the own rows")
{
	struct t3_plan_desc desc = gather;

	desc.collective = T3_ALL_TO_ALL;
	desc.tile_columns = 2;
	make_plans(&desc);
	expect_tile(plans[1], 0, 0, 0, 8, 0);
	expect_tile(plans[1], 1, 0, 8, 4, 8);
}

TEST("a matrix has tiles in rows")
{
	struct t3_plan_desc desc = gather;

	desc.columns = 2;
	desc.tile_rows = desc.tile_columns = 1;
	make_plans(&desc);
	expect_tile(plans[1], 3, 1, 4, 4, 12);
}

/* A chunk of 16 MiB and 400 bytes. */
TEST("a long array has tiles in two parts")
{
	struct t3_plan_desc desc = gather;
	char text[PLAN_TEXT_SIZE];
	static struct t3_plan plan;
	struct t3_tile at;
	const char *why;

	desc.algorithm = T3_ALGORITHM_RING;
	desc.count = (1 << 23) + 200;
	desc.tile_columns = 1 << 18;
	assert_int_equal(t3_layout_make(&desc, 1, 2, NULL, &plan.layout, &why), 0);
	expect_tile(&plan, 15, 0, 15 << 20, 1 << 20, 15 << 20);
	expect_tile(&plan, 16, 1, 0, 400, 16 << 20);
	plan.comm = comms[1];
	plan.text = text;
	assert_int_equal(t3_plan_tile(&plan, 1, 17, &at), -ERANGE);
	assert_non_null(strstr(text, "no tile 17 of chunk 1: the rank has input for 17 tiles"));
}

TEST("a view shows a chunk")
{
	struct t3_plan_desc desc = gather;
	struct t3_view view;

	desc.count = 2;
	make_plans(&desc);
	assert_int_equal(t3_plan_view(NULL, 0, &view), -EINVAL);
	assert_int_equal(t3_plan_view(plans[0], 0, NULL), -EINVAL);
	assert_int_equal(t3_plan_view(plans[0], 3, &view), -ERANGE);
	assert_int_equal(t3_plan_view(plans[0], 1, &view), -ERANGE);
	assert_int_equal(t3_plan_view(plans[2], 2, &view), -ENODATA);
	assert_int_equal(plans[0]->shared->rank[0].viewed, 0);
	assert_int_equal(t3_plan_view(plans[1], 1, &view), 0);
	assert_int_equal(plans[0]->shared->rank[1].viewed, 1);
	assert_ptr_equal(view.base,
			 (volatile unsigned char *)t3_space_aperture(plans[1]->space) + 4);
	assert_int_equal(view.desc.rows, 1);
	assert_int_equal(view.desc.row_bytes, 4);
}

/* With ALL_TO_ALL the own row is one of several: a view has that row alone. */
TEST("a view has the own rows alone")
{
	struct t3_plan_desc desc = gather;
	const struct t3_layout_segment *s;
	struct t3_view view;

	desc.collective = T3_ALL_TO_ALL;
	make_plans(&desc);
	assert_int_equal(t3_plan_view(plans[1], 1, &view), 0);
	for (s = plans[1]->layout.segment; s->kind != DRM_T3_SEGMENT_LOCAL; s++)
		assert_true(s < plans[1]->layout.segment + plans[1]->layout.count);
	assert_int_equal(s->desc.rows, 3);
	assert_int_equal(s->own_row, 1);
	assert_int_equal(view.desc.offset, s->desc.offset + s->desc.pitch);
	assert_int_equal(view.desc.rows, 1);
	assert_int_equal(view.desc.tile_rows, 1);
}

/* There is none behind the last one, also where that is empty. */
TEST("an empty chunk is one")
{
	struct t3_plan_desc desc = gather;
	struct t3_view view;

	desc.collective = T3_ALL_TO_ALL;
	desc.count = 2;
	make_plans(&desc);
	assert_int_equal(t3_plan_view(plans[0], 2, &view), -ENODATA);
	assert_int_equal(t3_plan_view(plans[0], 3, &view), -ERANGE);
}

/* --------------------------------------------------------------------- facts */

TEST("facts are those of the layout")
{
	const struct t3_buffer *buffer;
	uint64_t first, count, offset;

	make_plans(&gather);
	assert_int_equal(t3_plan_chunk(NULL, 0, &first, &count), -EINVAL);
	assert_int_equal(t3_plan_chunk(plans[0], 3, &first, &count), -ERANGE);
	assert_int_equal(t3_plan_chunk(plans[0], 2, NULL, NULL), 0);
	assert_int_equal(t3_plan_chunk(plans[0], 2, &first, &count), 0);
	assert_int_equal(first, 7);
	assert_int_equal(count, 3);
	assert_int_equal(t3_plan_order(plans[1], 0), 1);
	assert_int_equal(t3_plan_order(plans[1], 1), T3_PLAN_NO_CHUNK);
	assert_int_equal(t3_plan_order(NULL, 0), T3_PLAN_NO_CHUNK);
	assert_null(t3_plan_space(NULL));
	assert_ptr_equal(t3_plan_space(plans[0]), plans[0]->space);
	assert_int_equal(t3_plan_epoch(NULL), 0);
	assert_int_equal(t3_plan_result_buffer(NULL, &buffer, &offset), -EINVAL);
	assert_int_equal(t3_plan_result_buffer(plans[0], NULL, &offset), -EINVAL);
	assert_int_equal(t3_plan_result_buffer(plans[0], &buffer, NULL), -EINVAL);
	assert_int_equal(t3_plan_result_buffer(plans[0], &buffer, &offset), 0);
	assert_ptr_equal(buffer, plans[0]->buffer);
	assert_int_equal(offset, 0);
	t3_plan_set_spin(NULL, 5);
	t3_plan_destroy(NULL);
}

/* One that may spin for ever never sleeps, one that may not at all does. */
TEST("spinning is the spaces")
{
	make_plans(&gather);
	t3_plan_set_spin(plans[0], UINT64_MAX);
	assert_int_equal(t3_plan_start(plans[0], in_ms(5)), -ETIMEDOUT);
	assert_int_equal(hw[0].waits, 0);
	t3_plan_set_spin(plans[0], 0);
	assert_int_equal(t3_plan_start(plans[0], in_ms(5)), -ETIMEDOUT);
	assert_true(hw[0].waits > 0);
}

/* --------------------------------------------------------------------- widening */

static const struct t3_plan_desc widened = {
	.collective = T3_REDUCE_SCATTER,
	.count = 10,
	.dtype = DRM_T3_BF16,
	.op = DRM_T3_OP_ADD,
	.flags = T3_PLAN_WIDEN,
};

/* Of a reduce-scatter, a rank's own chunk: the others go on without a sum here. */
TEST("a widened plan gives its sums accumulators")
{
	uint32_t r, s;

	make_plans(&widened);
	for (r = 0; r < RANKS; r++)
		for (s = 0; s < T3_LAYOUT_SEGMENTS; s++) {
			assert_int_equal(!!hw[r].widen[s].bo_handle, s == r);
			assert_int_equal(hw[r].widen[s].offset % 8, 0);
		}
}

/* The device may be an older one. */
TEST("a device that cannot widen is named")
{
	fail_call(1, DRM_IOCTL_T3_SEGMENT_WIDEN, 0, EOPNOTSUPP);
	assert_int_equal(t3_plan_create_all(comms, RANKS, &widened, plans), -EOPNOTSUPP);
	assert_non_null(strstr(t3_comm_error(comms[0]), "Operation not supported"));
}

/* ----------------------------------------------------------------------- bind */

static const struct t3_plan_desc staged = {
	.collective = T3_ALL_GATHER,
	.count = 10,
	.dtype = DRM_T3_I32,
	.path = T3_PATH_DOORBELL,
};

static struct t3_buffer *own;

static void make_own(void)
{
	assert_int_equal(t3_buffer_create(hw[1].dev, 4096, &own), 0);
}

TEST("an input lies in a buffer")
{
	uint32_t *memory, plan_buffer;
	void *ptr;

	make_plans(&staged);
	plan_buffer = hw[1].staging[1].bo_handle;
	make_own();
	assert_int_equal(t3_buffer_map(own, &ptr), 0);
	memory = (uint32_t *)ptr + 16;
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 64), 0);
	assert_int_equal(hw[1].staging[1].bo_handle, t3_buffer_handle(own));
	assert_int_equal(hw[1].staging[1].offset, 64);
	ready_all(1);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 0), -EBUSY);
	assert_int_equal(t3_plan_put(plans[1], 4, &input[4], 3), 0);
	assert_memory_equal(memory, &input[4], 12);
	finish(1);
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 0), 0);
	assert_int_equal(doorbell(1, DRM_T3_DOORBELL_RELEASE), 1);
	assert_int_equal(hw[1].staging[1].bo_handle, plan_buffer);
	assert_int_equal(hw[1].staging[1].offset, 0);
	t3_buffer_destroy(own);
}

TEST("a wrong buffer is refused")
{
	make_plans(&staged);
	make_own();
	assert_int_equal(t3_plan_bind(NULL, 1, own, 0), -EINVAL);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 4097), -EINVAL);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 4), -EINVAL);
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 8), -EINVAL);
	assert_int_equal(t3_plan_bind(plans[1], 0, own, 0), -ERANGE);
	assert_int_equal(t3_plan_bind(plans[1], 3, own, 0), -ERANGE);
	assert_int_equal(t3_plan_bind(plans[0], 0, own, 0), -EOPNOTSUPP);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 4096), 0);
	t3_buffer_destroy(own);
}

/* A chunk that cannot be bound goes back. Where it cannot even do that, the plan is over. */
TEST("a failed bind goes back")
{
	uint32_t before;

	make_plans(&staged);
	make_own();
	before = hw[1].staging[1].bo_handle;
	fail_call(1, DRM_IOCTL_T3_SEGMENT_STAGING, 0, ENOSPC);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 0), -ENOSPC);
	assert_int_equal(hw[1].staging[1].bo_handle, before);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 8), 0);
	fail_call(1, DRM_IOCTL_T3_SEGMENT_STAGING, 0, ENOSPC);
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 0), -ENOSPC);
	assert_string_equal(t3_plan_error(plans[1]),
			    "all-gather, rank 1, epoch 0: No space left on device");
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 0), -ENOSPC);
	assert_int_equal(t3_plan_arm(plans[1]), -ENOSPC);
	t3_buffer_destroy(own);
}

TEST("stored input is not bound")
{
	make_plans(&gather);
	make_own();
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 0), -EOPNOTSUPP);
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 0), -EOPNOTSUPP);
	ready_all(1);
	t3_buffer_destroy(own);
}

/* The image of three rows begins before the own one, which is the second. */
static uint32_t make_exchange(uint64_t count, uint32_t *segment)
{
	struct t3_plan_desc desc = staged;

	desc.collective = T3_ALL_TO_ALL;
	desc.count = count;
	make_plans(&desc);
	make_own();
	for (*segment = 0; hw[1].segment[*segment].rows != 3; ++*segment)
		assert_true(*segment < 64);
	return hw[1].segment[*segment].pitch;
}

TEST("an image begins before the own row")
{
	uint32_t segment, pitch = make_exchange(12, &segment);

	assert_int_equal(pitch, 16);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 0), -EINVAL);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, pitch), 0);
	assert_int_equal(hw[1].staging[segment].offset, 0);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, pitch + 8), 0);
	assert_int_equal(hw[1].staging[segment].offset, 8);
	t3_buffer_destroy(own);
}

/* The row before is 12 bytes. So either the image or the chunk is at no multiple of 8. */
TEST("rows of no multiple of 8 are not bound")
{
	uint32_t segment, pitch = make_exchange(10, &segment);

	assert_int_equal(pitch, 12);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, pitch), -EINVAL);
	assert_int_equal(t3_plan_bind(plans[1], 1, own, 16), -EINVAL);
	assert_int_equal(t3_plan_bind(plans[1], 1, NULL, 0), 0);
	t3_buffer_destroy(own);
}
