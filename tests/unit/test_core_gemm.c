/* SPDX-License-Identifier: MIT */
/* GEMM descriptors: checks, arithmetic, order, steps, interruptions. SPEC.md 11.7. */
#include "gemm.h"
#include "ref.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define D(field)     offsetof(struct t3_descriptor, field), sizeof(((struct t3_descriptor *)0)->field)
#define G(field)     64 + offsetof(struct t3_gemm, field), sizeof(((struct t3_gemm *)0)->field)
#define AT_D(field)  offsetof(struct t3_descriptor, field)
#define AT_G(field)  (64 + offsetof(struct t3_gemm, field))

/* 12 x 20 f32 in chunks, workgroups and tiles that divide nothing; K is 7. */
static struct gemm usual(void)
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 12, 20, 7);

	x.g.chunk_rows = 5;
	x.g.first_chunk = 1;
	x.g.group_rows = 2;
	x.g.group_columns = 7;
	x.g.tile_rows = 2;
	x.g.tile_columns = 3;
	x.g.raster_rows = 2;
	return x;
}

static void expect_refused(struct queue *q, const struct gemm *x, uint32_t status, uint64_t detail)
{
	uint32_t index = gemm_submit(q, x);

	queue_expect(q, index, status, detail);
	queue_expect_state(q, T3_QUEUE_ERROR, index + 1, status);
	queue_abort(q);
}

/* ------------------------------------------------------------------- checks */

static const struct {
	size_t offset, size;
	uint64_t value;
	uint32_t at;
} bad[] = {
	{ D(flags), 2, AT_D(flags) },
	{ D(op), 1, AT_D(op) },
	{ D(dtype), T3_DTYPE_U8, AT_D(dtype) },
	{ D(dtype), T3_DTYPE_I8, AT_D(dtype) },
	{ D(dtype), T3_DTYPE_COUNT, AT_D(dtype) },
	{ D(src_kind), T3_LOC_MEMORY, AT_D(src_kind) },
	{ D(src_kind), T3_LOC_SPACE, AT_D(src_kind) },
	{ D(dst_kind), T3_LOC_HOST, AT_D(dst_kind) },
	{ D(dst_kind), 3, AT_D(dst_kind) },
	{ D(mbz), 1, AT_D(mbz) },
	{ D(rows), 0, AT_D(rows) },
	{ D(rows), 0x7fffffff, AT_D(rows) },
	{ D(row_bytes), 0, AT_D(row_bytes) },
	{ D(row_bytes), 78, AT_D(row_bytes) },
	{ D(src_pitch), 80, AT_D(src_pitch) },
	{ D(dst_pitch), 79, AT_D(dst_pitch) },
	{ D(space), 1, AT_D(space) },
	{ D(generation), 1, AT_D(generation) },
	{ G(depth), 0xffffffff, AT_G(depth) },
	{ G(chunk_rows), 0xffffffff, AT_G(chunk_rows) },
	{ G(first_chunk), 0xffffffff, AT_G(first_chunk) },
	{ G(mbz), 1, AT_G(mbz) },
};

TEST("each wrong field is refused")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		struct gemm x = usual();

		memcpy((uint8_t *)&x + bad[i].offset, &bad[i].value, bad[i].size);
		expect_refused(&q, &x, T3_DESC_BAD_DESCRIPTOR, bad[i].at);
	}
	assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_QUEUE_BYTES), 0);
	host_free(host);
}

/* With one row or K = 1 there is no pitch. */
TEST("a single row or column has no pitch")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct gemm one = gemm_new(T3_DTYPE_F16, 1, 9, 1), x;

	x = one;
	x.g.a_pitch = 2;
	expect_refused(&q, &x, T3_DESC_BAD_DESCRIPTOR, AT_G(a_pitch));
	x = one;
	x.g.b_pitch = 18;
	expect_refused(&q, &x, T3_DESC_BAD_DESCRIPTOR, AT_G(b_pitch));
	queue_expect(&q, gemm_submit(&q, &one), T3_DESC_OK, 0);
	host_free(host);
}

/* A tile is part of its workgroup, which is part of its chunk. */
TEST("tiles fit in groups, and groups in chunks")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct gemm x = usual();

	x.g.tile_rows = x.g.group_rows + 1;
	expect_refused(&q, &x, T3_DESC_BAD_DESCRIPTOR, AT_G(tile_rows));
	x = usual();
	x.g.tile_columns = x.g.group_columns + 1;
	expect_refused(&q, &x, T3_DESC_BAD_DESCRIPTOR, AT_G(tile_columns));
	x = usual();
	x.g.group_rows = (uint16_t)(x.g.chunk_rows + 1);
	expect_refused(&q, &x, T3_DESC_BAD_DESCRIPTOR, AT_G(group_rows));
	host_free(host);
}

/* Operands end with memory's last byte; one byte further they do not. */
TEST("operands may end with the last byte")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct gemm x = usual();

	x.d.dst = HOST_MEMORY - 12 * 80;
	x.g.a = HOST_MEMORY - 12 * 28;
	x.g.b = HOST_MEMORY - 7 * 80;
	queue_expect(&q, gemm_submit(&q, &x), T3_DESC_OK, 0);
	x.g.b++;
	expect_refused(&q, &x, T3_DESC_BAD_RANGE, x.g.b);
	x.g.a++;
	expect_refused(&q, &x, T3_DESC_BAD_RANGE, x.g.a);
	x.d.dst++;
	expect_refused(&q, &x, T3_DESC_BAD_RANGE, x.d.dst);
	x = usual();
	x.g.a_pitch = HOST_NONE64 / 11;
	expect_refused(&q, &x, T3_DESC_BAD_RANGE, x.g.a);
	x = usual();
	x.g.b_pitch = 1ull << 63;
	expect_refused(&q, &x, T3_DESC_BAD_RANGE, x.g.b);
	x = usual();
	x.g.b = HOST_NONE64;
	expect_refused(&q, &x, T3_DESC_BAD_RANGE, HOST_NONE64);
	x = usual();
	x.g.depth = T3_MAX_DEPTH;
	x.g.a_pitch = T3_MAX_DEPTH * 4;
	expect_refused(&q, &x, T3_DESC_BAD_RANGE, x.g.a);
	host_free(host);
}

/* The parameters are read once, at the start; their address is a multiple of 64. */
TEST("the parameters are read once at the start")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct gemm x = usual();
	uint64_t random = 3;
	uint32_t index;

	gemm_fill(d, &x, &random, GEMM_SMALL);
	index = queue_put(&q, &x.d);
	((struct t3_descriptor *)(void *)(d->data + q.ring))->src += 32;
	queue_ring(&q);
	queue_expect(&q, index, T3_DESC_BAD_DESCRIPTOR, AT_D(src));
	queue_abort(&q);
	x.d.src = 0xffffffffffffffc0ull;
	index = queue_submit(&q, &x.d);
	queue_expect(&q, index, T3_DESC_HOST_DMA, x.d.src);
	queue_abort(&q);
	t3_fabric_set_inline_budget(host->fabric, 1); /* begun, no more */
	index = gemm_submit(&q, &x);
	memset(d->data + GEMM_PLACE, 0xff, sizeof(x.g));
	host_drain(host);
	queue_expect(&q, index, T3_DESC_OK, 0);
	gemm_expect(d, &x, d->memory + x.d.dst);
	d->fail_data = 2; /* the descriptor, then them */
	index = gemm_submit(&q, &x);
	host_drain(host);
	queue_expect(&q, index, T3_DESC_HOST_DMA, HOST_DATA + GEMM_PLACE);
	host_free(host);
}

/* --------------------------------------------------------------- arithmetic */

struct sum {
	uint32_t dtype;
	uint32_t a[4], b[4];
	uint32_t result;
};

static const struct sum sums[] = {
	/* k ascending: the large ones cancel before the last is added, or after. f32 */
	{ T3_DTYPE_F32,
	  { 0x4cbebc20, 0xccbebc20, 0x3f800000, 0 },
	  { 0x3f800000, 0x3f800000, 0x3f800000, 0 },
	  0x3f800000 },
	{ T3_DTYPE_F32,
	  { 0x4cbebc20, 0x3f800000, 0xccbebc20, 0 },
	  { 0x3f800000, 0x3f800000, 0x3f800000, 0 },
	  0 },
	/* (1 + 2^-12)^2 - (1 + 2^-11) is 2^-24 if the product is not rounded */
	{ T3_DTYPE_F32, { 0xbf801000, 0x3f800800, 0, 0 }, { 0x3f800000, 0x3f800800, 0, 0 }, 0 },
	/* f16: 2048 + 1 + 1 is 2050 in one rounding, 2048 in two */
	{ T3_DTYPE_F16, { 0x6800, 0x3c00, 0x3c00, 0 }, { 0x3c00, 0x3c00, 0x3c00, 0 }, 0x6801 },
	{ T3_DTYPE_F16, { 0x7bff, 0x7bff, 0, 0 }, { 0x3c00, 0x3c00, 0, 0 }, 0x7c00 },
	/* bf16: 256 + 1 + 1 */
	{ T3_DTYPE_BF16, { 0x4380, 0x3f80, 0x3f80, 0 }, { 0x3f80, 0x3f80, 0x3f80, 0 }, 0x4381 },
	/* subnormals stay: 2^-24 * 1 */
	{ T3_DTYPE_F16, { 0x0001, 0, 0, 0 }, { 0x3c00, 0, 0, 0 }, 0x0001 },
	/* sums start at +0: -0 alone does not come out; canonical NaN */
	{ T3_DTYPE_F32, { 0x80000000, 0, 0, 0 }, { 0x3f800000, 0, 0, 0 }, 0 },
	{ T3_DTYPE_F32, { 0xffc12345, 0, 0, 0 }, { 0x3f800000, 0, 0, 0 }, 0x7fc00000 },
	{ T3_DTYPE_F16, { 0x7c00, 0, 0, 0 }, { 0, 0, 0, 0 }, 0x7e00 },
	{ T3_DTYPE_BF16, { 0x7f80, 0x7f80, 0, 0 }, { 0x3f80, 0xbf80, 0, 0 }, 0x7fc0 },
	{ T3_DTYPE_F32, { 0x7f800000, 0, 0, 0 }, { 0xbf800000, 0x3f800000, 0, 0 }, 0xff800000 },
	/* i32 wraps */
	{ T3_DTYPE_I32, { 0x80000000, 3, 0, 0 }, { 2, 5, 0, 0 }, 15 },
	{ T3_DTYPE_I32, { 0xffffffff, 0x10000, 0, 0 }, { 7, 0x10000, 0, 0 }, 0xfffffff9 },
};

TEST("sums round in each type as specified")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	size_t i, k;

	for (i = 0; i < COUNT(sums); i++) {
		struct gemm x = gemm_new(sums[i].dtype, 1, 1, 4);
		uint32_t size = ref_size(sums[i].dtype), result = 0;

		for (k = 0; k < 4; k++) {
			memcpy(d->memory + x.g.a + k * size, &sums[i].a[k], size);
			memcpy(d->memory + x.g.b + k * size, &sums[i].b[k], size);
		}
		queue_expect(&q, gemm_submit(&q, &x), T3_DESC_OK, 0);
		memcpy(&result, d->memory + x.d.dst, size);
		assert_int_equal(result, sums[i].result);
		assert_int_equal(gemm_element(d, &x, 0, 0), sums[i].result); /* the reference's */
	}
	host_free(host);
}

/* Shapes at the edges of a block (256 columns, 1024 sums), a slice and a lane. */
TEST("any shape gives the right product")
{
	static const uint32_t shapes[][3] = {
		{ 1, 1, 1 },	{ 1, 1, 1500 }, { 1, 7, 513 },	{ 1, 8, 512 },	 { 3, 9, 64 },
		{ 4, 256, 65 }, { 5, 257, 3 },	{ 1, 520, 66 }, { 130, 1, 130 }, { 33, 31, 40 },
	};
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	uint64_t random = 11;
	uint32_t dtype;
	size_t i;

	for (i = 0; i < COUNT(shapes); i++)
		for (dtype = 0; dtype < T3_DTYPE_U8; dtype++) {
			struct gemm x = gemm_new(dtype, shapes[i][0], shapes[i][1], shapes[i][2]);

			gemm_fill(d, &x, &random, GEMM_ROUNDED);
			gemm_submit(&q, &x);
			host_drain(host);
			gemm_expect(d, &x, d->memory + x.d.dst);
		}
	host_free(host);
}

/* -------------------------------------------------------------------- order */

/* The next of `order` that have changed since `before`; at most a row of a block. */
static uint32_t take_changed(struct host_dev *d, const struct gemm *x, uint8_t *before,
			     const struct gemm_place *order, uint32_t left)
{
	uint32_t size = ref_size(x->d.dtype), count, extent = x->d.rows * x->d.dst_pitch;
	uint8_t *now = d->memory + x->d.dst;

	for (count = 0; count < left; count++) {
		size_t at = order[count].row * x->d.dst_pitch + order[count].col * size;

		if (!memcmp(now + at, before + at, size))
			break;
		memcpy(before + at, now + at, size);
		assert_int_equal(order[count].row, order[0].row);
	}
	assert_memory_equal(now, before, extent); /* and nothing else */
	return count;
}

static void expect_order(struct host *host, struct queue *q, const struct gemm *x)
{
	uint32_t elements = x->d.rows * gemm_columns(x), done = 0, events = 0;
	struct gemm_place *order = calloc(elements, sizeof(*order));
	uint32_t extent = x->d.rows * (uint32_t)x->d.dst_pitch;
	uint8_t *before = malloc(extent);
	struct host_dev *d = q->d;

	assert_non_null(order);
	assert_non_null(before);
	gemm_order(x, order);
	memset(before, 0xee, extent);
	memcpy(d->memory + x->d.dst, before, extent);
	gemm_submit(q, x);
	do {
		done += take_changed(d, x, before, order + done, elements - done);
		assert_true(++events < 100000);
	} while (t3_fabric_run(host->fabric, 1));
	done += take_changed(d, x, before, order + done, elements - done);
	assert_int_equal(done, elements);
	gemm_expect(d, x, before);
	free(order);
	free(before);
}

TEST("tiles are done in the order of the raster")
{
	static const uint16_t shape[][5] = {
		{ 2, 7, 2, 3, 2 }, { 5, 20, 1, 1, 1 }, { 1, 1, 1, 1, 9 }, { 3, 8, 2, 8, 65535 }
	};
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct gemm x = usual();
	uint64_t random = 5;
	uint32_t first, i;

	t3_fabric_set_inline_budget(host->fabric, 0);
	gemm_fill(&host->dev[0], &x, &random, GEMM_SMALL);
	for (i = 0; i < COUNT(shape); i++)
		for (first = 0; first < 6; first++) {
			x.g.first_chunk = first / 2;
			x.g.flags = first % 2 ? T3_GEMM_CHUNKS_UP : 0;
			x.g.group_rows = shape[i][0];
			x.g.group_columns = shape[i][1];
			x.g.tile_rows = shape[i][2];
			x.g.tile_columns = shape[i][3];
			x.g.raster_rows = shape[i][4];
			expect_order(host, &q, &x);
		}
	host_free(host);
}

/* -------------------------------------------------------------------- steps */

/* A doorbell does a bounded part of it; its events do at most 65536 products each. */
TEST("a step does a bounded part")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0), other = queue_new(d, 1, 0);
	struct gemm x = gemm_new(T3_DTYPE_F32, 128, 128, 1024);
	struct t3_descriptor nop = queue_nop();
	uint32_t kicks = host->kicks, events = 0, index;
	uint64_t start = host_get(d, T3_REG_VCLOCK, 8);

	gemm_submit(&q, &x);
	assert_int_equal(host->kicks, kicks + 1);
	assert_int_equal(queue_head(&q), 0);
	t3_fabric_set_inline_budget(host->fabric, 4);
	index = queue_submit(&other, &nop); /* equals take turns */
	queue_expect(&other, index, T3_DESC_OK, 0);
	assert_int_equal(queue_head(&q), 0);
	while (t3_fabric_run(host->fabric, 1))
		events++;
	assert_true(events > 100);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	assert_true(host_get(d, T3_REG_VCLOCK, 8) - start >= 128 * 128 * 1024 / 65536);
	host_free(host);
}

/* A queue of higher priority overtakes between two steps. */
TEST("a queue of higher priority overtakes between two steps")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 1), high = queue_new(d, 1, 2);
	struct gemm x = usual(), y = usual();
	uint64_t random = 8;

	gemm_fill(d, &x, &random, GEMM_SMALL);
	y.d.dst += 0x8000;
	t3_fabric_set_inline_budget(host->fabric, 0);
	gemm_submit(&q, &x);
	t3_fabric_run(host->fabric, 9);
	gemm_submit(&high, &y);
	while (!queue_head(&high))
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_int_equal(queue_head(&q), 0);
	host_drain(host);
	gemm_expect(d, &x, d->memory + x.d.dst);
	gemm_expect(d, &y, d->memory + y.d.dst);
	host_free(host);
}

/* Aborted, destroyed or reset after any number of events. Then the queue is like a new one. */
TEST("an interrupted product leaves a queue like new")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct gemm x = usual();
	uint64_t random = 21;
	uint32_t how, events;

	t3_fabric_set_inline_budget(host->fabric, 0);
	for (how = 0; how < 3; how++)
		for (events = 2; events < 60; events += 3) {
			struct queue q = queue_new(d, 7, 0);

			gemm_fill(d, &x, &random, GEMM_SMALL);
			gemm_submit(&q, &x);
			t3_fabric_run(host->fabric, events);
			if (how == 0) {
				queue_abort(&q);
				queue_expect(&q, 0, T3_DESC_ABORTED, 0);
			} else if (how == 1) {
				queue_destroy(&q);
				q = queue_new(d, 7, 0);
			} else {
				t3_dev_reset(d->dev);
				q = queue_new(d, 7, 0);
			}
			gemm_submit(&q, &x);
			host_drain(host);
			queue_expect_state(&q, T3_QUEUE_READY, how ? 1 : 2, 0);
			gemm_expect(d, &x, d->memory + x.d.dst);
			queue_destroy(&q);
		}
	host_free(host);
}

/* `hit`: its first byte that is used; rows 5 to 8 are the output's first. */
static void expect_poison(struct host *host, struct queue *q, const struct gemm *x, uint64_t at,
			  uint64_t hit)
{
	struct t3_cmd_inject poison = { .kind = T3_INJECT_POISON, .address = at, .value = 64 };
	uint64_t hits = host_counter(q->d, T3_COUNTER_POISON_HITS);

	assert_int_equal(t3_fabric_inject(host->fabric, &poison), T3_ADMIN_OK);
	expect_refused(q, x, T3_DESC_POISON, hit);
	assert_int_equal(host_counter(q->d, T3_COUNTER_POISON_HITS), hits + 1);
	poison.kind = T3_INJECT_UNPOISON;
	assert_int_equal(t3_fabric_inject(host->fabric, &poison), T3_ADMIN_OK);
}

TEST("poison in any operand is met")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct gemm x = usual();

	expect_poison(host, &q, &x, x.g.a + 128, x.g.a + 5 * 28);
	expect_poison(host, &q, &x, x.g.b + 320, x.g.b + 320);
	expect_poison(host, &q, &x, x.d.dst + 512, x.d.dst + 7 * 80);
	queue_expect(&q, gemm_submit(&q, &x), T3_DESC_OK, 0);
	host_free(host);
}
