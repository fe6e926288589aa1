// SPDX-License-Identifier: MIT
/* What libt3 adds to its ioctls: bytes, several targets, blocks, host and shared buffers, products. */
#include <fcntl.h>

#include "end.h"
#include "memory.h"

#define SIZE	 16384u
#define TARGETS	 2u
#define DEADLINE t3_deadline(10000000000)

static void fill(unsigned char *image, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < 4096; i++)
		image[i] = (unsigned char)(i * 13 + seed);
}

static void store_all(const struct end *end, const struct t3_segment_desc *desc,
		      const unsigned char *image)
{
	struct t3_view view;
	struct t3_tile tile;
	uint64_t i;

	CHECK_EQ(t3_view_aperture(end->space, desc, &view), 0);
	for (i = 0; i < t3_desc_tiles(desc); i++) {
		CHECK_EQ(t3_desc_tile(desc, i, &tile), 0);
		CHECK_EQ(t3_store_tile(&view, i, image + tile.offset, desc->pitch), 0);
	}
}

static void check_rows(const struct end *end, const struct t3_segment_desc *desc,
		       const unsigned char *image)
{
	uint32_t row;

	for (row = 0; row < desc->rows; row++)
		CHECK_EQ(memcmp(end->memory + desc->offset + row * desc->pitch,
				image + row * desc->pitch, desc->row_bytes),
			 0);
}

TEST("segments of bytes give the right data")
{
	struct t3_segment_desc desc;
	unsigned char image[4096];
	struct end end;
	uint32_t epoch;

	for (epoch = 1; epoch <= 2; epoch++) {
		end_open(&end, 0, SIZE, 256);
		desc = end_ragged(0, epoch == 1 ? DRM_T3_U8 : DRM_T3_I8, DRM_T3_OP_STORE);
		fill(image, epoch);
		CHECK_EQ(t3_local_map(end.space, &desc), 0);
		CHECK_EQ(t3_arm(end.space, epoch), 0);
		store_all(&end, &desc, image);
		CHECK_EQ(t3_wait(end.space, epoch, 0, T3_DELIVERED, DEADLINE), 0);
		check_rows(&end, &desc, image);
		end_close(&end);
	}
}

/* One source and two targets: each block of tiles goes to both. */
static void join(struct end *source, struct end *target, uint32_t *import)
{
	uint32_t grant;
	int fd;

	CHECK_EQ(t3_grant_export_to(target->space, 1u << 1, 1, 1u << DRM_T3_OP_ADD, &fd, &grant),
		 0);
	CHECK_EQ(t3_grant_import(source->space, fd, import, NULL), 0);
	close(fd);
}

static void run_epoch(struct end *source, struct end *targets, const struct t3_segment_desc *desc)
{
	unsigned char image[4096];
	uint32_t i;

	fill(image, 5);
	for (i = 0; i < TARGETS; i++)
		CHECK_EQ(t3_arm(targets[i].space, 1), 0);
	CHECK_EQ(t3_arm(source->space, 1), 0);
	CHECK_EQ(t3_wait_armed(source->space, 1, DEADLINE), 0);
	store_all(source, desc, image);
	CHECK_EQ(t3_wait(source->space, 1, 0, T3_DELIVERED, DEADLINE), 0);
	for (i = 0; i < TARGETS; i++) {
		CHECK_EQ(t3_wait(targets[i].space, 1, 0, T3_DELIVERED, DEADLINE), 0);
		check_rows(&targets[i], desc, image);
	}
}

static void check_several_targets(bool dma)
{
	struct t3_segment_desc desc = end_ragged(0, DRM_T3_I32, DRM_T3_OP_ADD);
	struct t3_target target = { .op = DRM_T3_OP_ADD, .import_count = TARGETS - 1 };
	struct end source, targets[TARGETS];
	uint32_t imports[TARGETS], i;

	end_open(&source, 1, SIZE, 256);
	for (i = 0; i < TARGETS; i++) {
		end_open(&targets[i], 2 * i, SIZE, 256);
		CHECK_EQ(t3_local_map(targets[i].space, &desc), 0);
		join(&source, &targets[i], &imports[i]);
	}
	target.import = imports[0];
	target.imports = &imports[1];
	target.block_tiles = dma ? 4 : 0;
	if (!dma)
		desc.op = 0;
	CHECK_EQ(dma ? t3_dma_map(source.space, &desc, &target)
		     : t3_remote_map(source.space, &desc, &target),
		 0);
	run_epoch(&source, targets, &desc);
	end_close(&source);
	for (i = 0; i < TARGETS; i++)
		end_close(&targets[i]);
}

TEST("one source reaches several targets")
{
	check_several_targets(true);
	check_several_targets(false);
}

TEST("a grant of libt3 is for some ranks")
{
	struct end target, source;
	uint32_t grant, import;
	int fd;

	end_open(&target, 1, SIZE, 256);
	end_open(&source, 0, SIZE, 256);
	CHECK_EQ(t3_grant_export_to(target.space, 1u << 31, 1, 1, &fd, &grant), -EINVAL);
	CHECK_EQ(t3_grant_export_to(target.space, 1u << 2, 1, 1, &fd, &grant), 0);
	CHECK_EQ(t3_grant_import(source.space, fd, &import, NULL), -EACCES);
	close(fd);
	end_close(&source);
	end_close(&target);
}

TEST("host and shared buffers work in copies")
{
	struct t3_buffer *host, *shared, *same;
	union drm_t3_any_command command;
	struct end end, peer;
	void *ptr, *peer_ptr;
	uint32_t queue;
	int fd;

	end_open(&end, 0, SIZE, 256);
	end_open(&peer, 1, SIZE, 256);
	CHECK_EQ(t3_buffer_create_host(end.dev, SIZE, &host), 0);
	CHECK_EQ(t3_buffer_map(host, &ptr), 0);
	memset(ptr, 0x77, SIZE);
	CHECK_EQ(t3_buffer_export(host, &fd), 0);
	CHECK_EQ(t3_buffer_import(peer.dev, fd, &shared), 0);
	CHECK_EQ(t3_buffer_size(shared), SIZE);
	CHECK_EQ(t3_buffer_import(end.dev, fd, &same), 0);
	CHECK_EQ(t3_buffer_handle(same), t3_buffer_handle(host));
	close(fd);
	CHECK_EQ(queue_create(t3_device_fd(peer.dev), 0, &queue), 0);
	command = command_copy(t3_buffer_handle(peer.buffer), t3_buffer_handle(shared), SIZE);
	run_command(t3_device_fd(peer.dev), queue, &command);
	CHECK_EQ(peer.memory[SIZE - 1], 0x77);
	CHECK_EQ(t3_buffer_map(shared, &peer_ptr), 0);
	CHECK_EQ(memcmp(peer_ptr, ptr, SIZE), 0);
	t3_buffer_destroy(same); /* the one handle of both */
	t3_buffer_destroy(host);
	command = command_fill(t3_buffer_handle(shared), 0, SIZE, 0x1234);
	run_command(t3_device_fd(peer.dev), queue, &command);
	CHECK_EQ(*(volatile uint64_t *)peer_ptr, 0x1234);
	t3_buffer_destroy(shared);
	end_close(&peer);
	end_close(&end);
}

/* A queue with 4 x 6 and 6 x 5 numbers in a buffer of its own, at 0 and SIZE / 2. */
struct maths {
	struct end end;
	struct t3_queue *queue;
	struct t3_buffer *operands;
	struct t3_gemm_desc desc;
};

static void maths_open(struct maths *m)
{
	uint32_t i;
	void *ptr;

	end_open(&m->end, 0, SIZE, 256);
	CHECK_EQ(t3_queue_create(m->end.dev, 1, &m->queue), 0);
	CHECK_EQ(t3_buffer_create(m->end.dev, SIZE, &m->operands), 0);
	CHECK_EQ(t3_buffer_map(m->operands, &ptr), 0);
	for (i = 0; i < SIZE / 4; i++)
		((uint32_t *)ptr)[i] = i;
	m->desc = (struct t3_gemm_desc){
		.a = { .buffer = m->operands },
		.b = { .buffer = m->operands, .offset = SIZE / 2 },
		.c = { .buffer = m->end.buffer },
		.rows = 4,
		.columns = 5,
		.depth = 6,
		.dtype = DRM_T3_I32,
	};
}

static void maths_close(struct maths *m)
{
	t3_buffer_destroy(m->operands);
	t3_queue_destroy(m->queue);
	end_close(&m->end);
}

static int run_product(struct maths *m)
{
	int fence, ret;

	CHECK_EQ(t3_queue_gemm(m->queue, &m->desc, &fence), 0);
	ret = t3_fence_wait(fence, DEADLINE);
	CHECK_EQ(fcntl(fence, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fence);
	return ret;
}

static void check_product(const struct maths *m)
{
	const uint32_t *got = (const uint32_t *)(const void *)m->end.memory;
	uint32_t i, j, k, sum;

	for (i = 0; i < 4; i++)
		for (j = 0; j < 5; j++) {
			for (sum = 0, k = 0; k < 6; k++)
				sum += (6 * i + k) * (SIZE / 8 + 5 * k + j);
			CHECK_EQ(got[5 * i + j], sum);
		}
}

TEST("a product goes to a buffer and to a space")
{
	struct t3_segment_desc desc = {
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = 1,
		.rows = 4,
		.row_bytes = 20,
		.pitch = 20,
		.tile_rows = 1,
		.tile_row_bytes = 20,
	};
	struct maths m;

	maths_open(&m);
	CHECK_EQ(run_product(&m), 0);
	check_product(&m);
	memset(m.end.memory, 0, SIZE);
	m.desc.c.buffer = NULL;
	m.desc.space = m.end.space;
	CHECK_EQ(t3_local_map(m.end.space, &desc), 0);
	CHECK_EQ(run_product(&m), -EIO); /* not armed */
	CHECK_EQ(t3_arm(m.end.space, 1), 0);
	CHECK_EQ(t3_wait_armed(m.end.space, 1, DEADLINE), 0);
	CHECK_EQ(t3_queue_gemm(m.queue, &m.desc, NULL), 0);
	CHECK_EQ(t3_wait(m.end.space, 1, 1, T3_DELIVERED, DEADLINE), 0);
	check_product(&m);
	m.desc.rows = 1 << 20;
	CHECK_EQ(t3_queue_gemm(m.queue, &m.desc, NULL), -EINVAL); /* beyond the space */
	maths_close(&m);
}

/* Of descriptors that are no fence, and of one that has not signalled. */
TEST("a descriptor that is no fence is refused")
{
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(t3_fence_wait(fds[0], 0), -EINVAL);
	close(fds[0]);
	CHECK_EQ(t3_fence_wait(fds[0], 0), -EBADF);
	close(fds[1]);
}
