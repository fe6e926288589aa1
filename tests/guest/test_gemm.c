// SPDX-License-Identifier: MIT
/* GEMM commands: into buffers, and into spaces as updates; and the refused ones. */
#include "job.h"
#include "queue.h"
#include "raw.h"
#include "refusal.h"

#define ROWS_OF_C 24u
#define COLS	  40u
#define DEPTH	  9u
#define SIZE	  16384u
#define WAIT_MS	  10000
#define RANKS	  4u

/* A file with a queue, a syncobj and the operands, and a space where there is one. */
struct user {
	struct raw raw; /* its fd is the file's */
	uint32_t queue, sync;
	struct operand a, b, c;
};

static void user_open(struct user *u, uint32_t rank)
{
	raw_open(&u->raw, rank, SIZE);
	CHECK_EQ(queue_create(u->raw.fd, 1, &u->queue), 0);
	u->sync = sync_create(u->raw.fd);
	operand_open(&u->a, u->raw.fd, SIZE, 1);
	operand_open(&u->b, u->raw.fd, SIZE, 2);
	operand_open(&u->c, u->raw.fd, SIZE, 3);
}

static void user_close(struct user *u)
{
	int fd = u->raw.fd;

	operand_close(&u->a, fd);
	operand_close(&u->b, fd);
	operand_close(&u->c, fd);
	sync_destroy(fd, u->sync);
	CHECK_EQ(queue_destroy(fd, u->queue), 0);
	raw_close(&u->raw);
}

/* Small enough that the sums of all ranks are exact in each type. */
static int value(uint32_t seed, uint32_t row, uint32_t col)
{
	return (int)((seed * 5 + row * 3 + col * 7 + row * col) % 5) - 2;
}

static int product(uint32_t seed, uint32_t row, uint32_t col)
{
	int sum = 0;
	uint32_t k;

	for (k = 0; k < DEPTH; k++)
		sum += value(seed, row, k) * value(seed + 1, k, col);
	return sum;
}

static void put_matrix(uint8_t *to, uint32_t dtype, uint32_t seed, uint32_t rows, uint32_t cols)
{
	uint32_t size = t3_dtype_bytes(dtype), row, col, bits;

	for (row = 0; row < rows; row++)
		for (col = 0; col < cols; col++) {
			bits = element_bits(dtype, value(seed, row, col));
			memcpy(to + (row * cols + col) * size, &bits, size);
		}
}

static void put_operands(struct user *u, uint32_t dtype, uint32_t seed)
{
	put_matrix(u->a.memory, dtype, seed, ROWS_OF_C, DEPTH);
	put_matrix(u->b.memory, dtype, seed + 1, DEPTH, COLS);
}

static union drm_t3_any_command gemm(const struct user *u, uint32_t dtype)
{
	uint32_t size = t3_dtype_bytes(dtype);

	return (union drm_t3_any_command){ .gemm = {
						   .head.type = DRM_T3_COMMAND_GEMM,
						   .rows = ROWS_OF_C,
						   .columns = COLS,
						   .depth = DEPTH,
						   .dtype = dtype,
						   .a = { .handle = u->a.handle,
							  .pitch = DEPTH * size },
						   .b = { .handle = u->b.handle,
							  .pitch = COLS * size },
						   .dst = { .handle = u->c.handle,
							    .pitch = COLS * size },
						   .chunk_rows = ROWS_OF_C / RANKS,
						   .first_chunk = 1,
						   .raster_rows = 2,
						   .group_rows = 4,
						   .group_columns = 16,
						   .tile_rows = 2,
						   .tile_columns = 8,
					   } };
}

static void check_matrix(const uint8_t *from, uint32_t dtype, uint32_t first, uint32_t rows,
			 int (*element)(uint32_t row, uint32_t col))
{
	uint32_t size = t3_dtype_bytes(dtype), row, col, got;

	for (row = first; row < first + rows; row++)
		for (col = 0; col < COLS; col++) {
			got = 0;
			memcpy(&got, from + (row * COLS + col) * size, size);
			if (got != element_bits(dtype, element(row, col)))
				guest_fail(__FILE__, __LINE__, "%s [%u][%u]: bits %#x, not of %d",
					   t3_dtype_name(dtype), row, col, got, element(row, col));
		}
}

static int product_of_7(uint32_t row, uint32_t col)
{
	return product(7, row, col);
}

static int finish(const struct user *u)
{
	CHECK_EQ(sync_wait(u->raw.fd, u->sync, 0, WAIT_MS), 0);
	return sync_status(u->raw.fd, u->sync);
}

static int run(const struct user *u, const union drm_t3_any_command *command)
{
	CHECK_EQ(submit_one(u->raw.fd, u->queue, command, u->sync), 0);
	return finish(u);
}

/* ------------------------------------------------------------------- buffers */

TEST("the device has the GEMM feature")
{
	struct drm_t3_device_info info;
	int fd = open_rank(0);

	device_info(fd, &info);
	CHECK(info.features & DRM_T3_FEATURE_GEMM);
	close(fd);
}

TEST("products go to buffers in each type")
{
	union drm_t3_any_command command;
	struct user u;
	uint32_t dtype;

	user_open(&u, 0);
	for (dtype = DRM_T3_I32; dtype <= DRM_T3_BF16; dtype++) {
		put_operands(&u, dtype, 7);
		command = gemm(&u, dtype);
		CHECK_EQ(run(&u, &command), 1);
		check_matrix(u.c.memory, dtype, 0, ROWS_OF_C, product_of_7);
		memset(u.c.memory, 0xee, SIZE);
	}
	user_close(&u);
}

/* Work ahead of it in its queue, so that it begins when a job that did not wait for it is over. */
static void delay(const struct user *u)
{
	union drm_t3_any_command commands[8];
	struct submission s;
	uint32_t i;

	for (i = 0; i < 8; i++)
		commands[i] = command_fill(u->c.handle, 0, SIZE, 0);
	s = submission(u->queue, commands, 8);
	CHECK_EQ(submit(u->raw.fd, &s), 0);
}

/* Its inputs are written before by another queue's job, and its result is read after by one. */
TEST("a GEMM keeps its order with other queues' jobs")
{
	union drm_t3_any_command commands[2], command;
	struct submission s;
	struct user u;
	uint32_t other, i;

	user_open(&u, 0);
	CHECK_EQ(queue_create(u.raw.fd, 0, &other), 0);
	for (i = 0; i < 20; i++) {
		put_operands(&u, DRM_T3_F32, 7);
		/* small, slow commands move all of A there */
		memcpy(u.a.memory + SIZE / 2, u.a.memory, ROWS_OF_C * DEPTH * 4);
		memset(u.a.memory, 0, ROWS_OF_C * DEPTH * 4);
		commands[0] = command_copy(u.a.handle, u.a.handle, ROWS_OF_C * DEPTH * 4);
		commands[0].copy.src.offset = SIZE / 2;
		commands[1] = commands[0];
		s = submission(other, commands, 2);
		CHECK_EQ(submit(u.raw.fd, &s), 0);
		delay(&u);
		command = gemm(&u, DRM_T3_F32);
		command.gemm.dst.offset = SIZE / 2;
		CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), 0);
		/* after it was read: one of them in turn */
		command = command_fill(i % 2 ? u.a.handle : u.b.handle, 0, 64, 0);
		CHECK_EQ(submit_one(u.raw.fd, other, &command, 0), 0);
		command = command_copy(u.c.handle, u.c.handle, ROWS_OF_C * COLS * 4);
		command.copy.src.offset = SIZE / 2;
		CHECK_EQ(submit_one(u.raw.fd, other, &command, u.sync), 0);
		CHECK_EQ(finish(&u), 1);
		check_matrix(u.c.memory, DRM_T3_F32, 0, ROWS_OF_C, product_of_7);
		memset(u.c.memory, 0, SIZE);
	}
	CHECK_EQ(queue_destroy(u.raw.fd, other), 0);
	user_close(&u);
}

/* clang-format off */
#define CMD(member, value, error) BAD(drm_t3_gemm, member, value, error)
#define CMD_AS(named, member, value) BAD_AS(named, drm_t3_gemm, member, value, EINVAL)
static const struct deviation bad[] = {
	BAD_OF("drm_t3_command", "type", drm_t3_gemm, head.type, 0, EINVAL),
	BAD_OF("drm_t3_command", "type", drm_t3_gemm, head.type, 6, EINVAL),
	BAD_OF("drm_t3_timed", "head.type", drm_t3_gemm, head.type, 5, E2BIG),
	CMD(head.flags, 2, EINVAL), CMD(head.flags, 0x80000000, EINVAL),
	CMD(dtype, 4, EINVAL), CMD(dtype, 0xffffffff, EINVAL),
	CMD(a.pad, 1, EINVAL), CMD(b.pad, 1, EINVAL), CMD(dst.pad, 0x80000000, EINVAL),
	CMD(a.handle, 0, ENOENT), CMD(a.handle, 4711, ENOENT),
	CMD(b.handle, 0, ENOENT), CMD(b.handle, 4711, ENOENT),
	CMD(dst.handle, 0, ENOENT), CMD(dst.handle, 4711, ENOENT),
	CMD_AS("dst.handle", space, 1), CMD(rows, 0, EINVAL), CMD(rows, 0xffffffff, EINVAL),
	CMD(columns, 0, EINVAL), CMD_AS("group_columns", columns, 15),
	CMD(columns, 0x40000001, EINVAL), CMD(columns, 0xffffffff, EINVAL),
	CMD(depth, 0, EINVAL), CMD(depth, 1048577, EINVAL), CMD(depth, 0xffffffff, EINVAL),
	CMD_AS("a.pitch", depth, 10), CMD(a.pitch, 35, EINVAL), CMD(a.pitch, 0, EINVAL),
	CMD(a.pitch, ~0ull, EINVAL), CMD(b.pitch, 159, EINVAL), CMD(b.pitch, 0, EINVAL),
	CMD(b.pitch, 0x2000000000000000, EINVAL), CMD(dst.pitch, 159, EINVAL),
	CMD(dst.pitch, 800, EINVAL), CMD(a.offset, SIZE - 863, EINVAL),
	CMD(b.offset, SIZE - 1439, EINVAL), CMD(b.offset, ~0ull, EINVAL),
	CMD(dst.offset, SIZE - 3839, EINVAL), CMD(dst.offset, ~0ull, EINVAL),
	CMD(chunk_rows, 0, EINVAL), CMD(chunk_rows, 25, EINVAL), CMD(first_chunk, 4, EINVAL),
	CMD(first_chunk, 0xffffffff, EINVAL), CMD(raster_rows, 0, EINVAL),
	CMD(raster_rows, 65536, EINVAL), CMD(group_rows, 0, EINVAL), CMD(group_rows, 7, EINVAL),
	CMD(group_rows, 65540, EINVAL), CMD(group_columns, 0, EINVAL),
	CMD(group_columns, 41, EINVAL), CMD(tile_rows, 0, EINVAL), CMD(tile_rows, 5, EINVAL),
	CMD(tile_columns, 0, EINVAL), CMD(tile_columns, 17, EINVAL),
};
/* clang-format on */

TEST("wrong arguments are refused")
{
	union drm_t3_any_command good, command;
	struct user u;
	size_t i;

	user_open(&u, 0);
	put_operands(&u, DRM_T3_F32, 7);
	good = gemm(&u, DRM_T3_F32);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		command = good;
		memcpy((char *)&command + bad[i].offset, &bad[i].value, bad[i].size);
		if (submit_one(u.raw.fd, u.queue, &command, u.sync) != -bad[i].error)
			guest_fail(__FILE__, __LINE__, "%s: not refused so", bad[i].what);
		refusal_check_command(u.raw.fd, &bad[i], 0);
	}
	operand_check(&u.c); /* nothing has run */
	CHECK_EQ(run(&u, &good), 1);
	check_matrix(u.c.memory, DRM_T3_F32, 0, ROWS_OF_C, product_of_7);
	user_close(&u);
}

/* Fields of a GEMM alone, buffers that are not the device's, too much work, older structs. */
TEST("other misuse of a GEMM is refused")
{
	struct drm_t3_bo_create host = { .size = SIZE, .flags = DRM_T3_BO_HOST };
	union drm_t3_any_command command;
	struct submission s;
	struct user u;

	user_open(&u, 0);
	CHECK_EQ(call(u.raw.fd, DRM_IOCTL_T3_BO_CREATE, &host), 0);
	command = command_fill(u.c.handle, 0, 64, 1);
	command.gemm.tile_columns = 1;
	CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), -E2BIG);
	command = gemm(&u, DRM_T3_F32);
	command.gemm.a.handle = host.handle;
	CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), -EOPNOTSUPP);
	command = gemm(&u, DRM_T3_F32);
	command.gemm.b.handle = host.handle;
	CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), -EOPNOTSUPP);
	command = gemm(&u, DRM_T3_F32);
	command.gemm.dst.handle = host.handle;
	CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), -EOPNOTSUPP);
	command = gemm(&u, DRM_T3_F32);
	command.gemm.columns = 2000 * 100;
	command.gemm.b.pitch = command.gemm.dst.pitch = 4 * 2000 * 100;
	command.gemm.depth = 1000;
	command.gemm.a.pitch = 4 * 1000;
	CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), -EFBIG);
	command = gemm(&u, DRM_T3_F32);
	s = submission(u.queue, &command, 1);
	s.args.command_stride = offsetof(struct drm_t3_gemm, chunk_rows); /* an order is needed */
	CHECK_EQ(submit(u.raw.fd, &s), -EINVAL);
	CHECK_EQ(bo_close(u.raw.fd, host.handle), 0);
	operand_check(&u.c);
	user_close(&u);
}

/* -------------------------------------------------------------------- spaces */

static union drm_t3_any_command into_space(const struct user *u, uint32_t dtype)
{
	union drm_t3_any_command command = gemm(u, dtype);

	command.gemm.dst.handle = 0;
	command.gemm.space = u->raw.space;
	return command;
}

/* A chunk of the output, or all of it, in tiles that are not the kernel's. */
static struct drm_t3_segment_map chunk(const struct user *u, uint32_t dtype, uint32_t chunks,
				       uint32_t index)
{
	uint32_t size = t3_dtype_bytes(dtype);
	struct drm_t3_segment_map map = raw_segment(&u->raw);

	map.segment = index;
	map.dtype = dtype;
	map.rows = ROWS_OF_C / chunks;
	map.row_bytes = map.pitch = COLS * size;
	map.offset = index * map.rows * (uint64_t)map.pitch;
	map.tile_rows = 4;
	map.tile_row_bytes = 12 * size;
	return map;
}

TEST("products go to a space as updates")
{
	struct drm_t3_segment_map map;
	union drm_t3_any_command command;
	struct drm_t3_space_stats stats;
	struct user u;
	uint32_t dtype;

	user_open(&u, 0);
	for (dtype = DRM_T3_I32; dtype <= DRM_T3_BF16; dtype++) {
		map = chunk(&u, dtype, 1, 0);
		CHECK_EQ(raw_map(&u.raw, &map), 0);
		put_operands(&u, dtype, 7);
		raw_arm(&u.raw, dtype + 1);
		command = into_space(&u, dtype);
		CHECK_EQ(run(&u, &command), 1);
		CHECK_EQ(raw_wait(&u.raw, DRM_T3_WAIT_DELIVERED, dtype + 1, 1, after_ms(WAIT_MS)),
			 0);
		check_matrix(u.raw.memory, dtype, 0, ROWS_OF_C, product_of_7);
		CHECK_EQ(raw_stats(&u.raw, 0, &stats), 0);
		CHECK_EQ(stats.triggers, 6 * 4); /* tiles */
		CHECK_EQ(stats.local_bytes, ROWS_OF_C * COLS * t3_dtype_bytes(dtype));
		raw_release(&u.raw, dtype + 1);
		CHECK_EQ(raw_unmap_segment(&u.raw, 0), 0);
	}
	user_close(&u);
}

/* It does not wait for ARM. It fails after a RESET, which changes the generation. */
TEST("a GEMM fails when its space is not armed")
{
	struct drm_t3_segment_map map;
	union drm_t3_any_command command;
	struct user u;

	user_open(&u, 0);
	map = chunk(&u, DRM_T3_I32, 1, 0);
	CHECK_EQ(raw_map(&u.raw, &map), 0);
	put_operands(&u, DRM_T3_I32, 7);
	command = into_space(&u, DRM_T3_I32);
	CHECK_EQ(run(&u, &command), -EIO);
	CHECK_EQ(raw_state(&u.raw), DRM_T3_SPACE_IDLE);
	raw_arm(&u.raw, 1);
	command = into_space(&u, DRM_T3_F32); /* the segment's is another */
	CHECK_EQ(run(&u, &command), -EIO);
	CHECK_EQ(raw_state(&u.raw), DRM_T3_SPACE_ARMED);
	command = into_space(&u, DRM_T3_I32);
	CHECK_EQ(run(&u, &command), 1);
	CHECK_EQ(raw_wait(&u.raw, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(WAIT_MS)), 0);
	check_matrix(u.raw.memory, DRM_T3_I32, 0, ROWS_OF_C, product_of_7);
	CHECK_EQ(run(&u, &command), -EIO); /* COMPLETE */
	user_close(&u);
}

static const struct deviation beyond_space[] = {
	CMD(dst.offset, SIZE - ROWS_OF_C * COLS * 4 + 4, EINVAL),
	CMD(dst.offset, ~0ull, EINVAL),
	CMD(dst.pitch, COLS * 4 - 1, EINVAL),
	CMD(dst.pitch, SIZE, EINVAL),
	CMD(dst.pad, 1, EINVAL),
	CMD_AS("space", rows, SIZE / (COLS * 4) + 1),
};

/* Another file's space, no space, a space and a buffer, rows beyond the end. */
TEST("wrong spaces are refused")
{
	union drm_t3_any_command command;
	struct user u, other;
	size_t i;

	user_open(&u, 0);
	user_open(&other, 0);
	CHECK_EQ(space_destroy(other.raw.fd, other.raw.space), 0);
	command = into_space(&u, DRM_T3_F32);
	command.gemm.a.handle = other.a.handle;
	command.gemm.b.handle = other.b.handle;
	command.gemm.space = other.raw.space;
	CHECK_EQ(submit_one(other.raw.fd, other.queue, &command, 0), -ENOENT);
	command.gemm.space = 0x7fffffff;
	CHECK_EQ(submit_one(other.raw.fd, other.queue, &command, 0), -ENOENT);
	command = into_space(&u, DRM_T3_F32);
	command.gemm.dst.handle = u.c.handle;
	CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), -EINVAL);
	for (i = 0; i < sizeof(beyond_space) / sizeof(beyond_space[0]); i++) {
		command = into_space(&u, DRM_T3_F32);
		memcpy((char *)&command + beyond_space[i].offset, &beyond_space[i].value,
		       beyond_space[i].size);
		CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, 0), -beyond_space[i].error);
		refusal_check_command(u.raw.fd, &beyond_space[i], 0);
	}
	user_close(&other);
	user_close(&u);
}

/* The space is destroyed under a job, at varying times. The job ends, and the queue goes on. */
TEST("a GEMM ends when its space is destroyed")
{
	struct drm_t3_segment_map map;
	union drm_t3_any_command command;
	struct user u;
	uint32_t i;
	int status;

	for (i = 0; i < 10; i++) {
		user_open(&u, 0);
		map = chunk(&u, DRM_T3_I32, 1, 0);
		CHECK_EQ(raw_map(&u.raw, &map), 0);
		raw_arm(&u.raw, 1);
		put_operands(&u, DRM_T3_I32, 7);
		command = into_space(&u, DRM_T3_I32);
		CHECK_EQ(submit_one(u.raw.fd, u.queue, &command, u.sync), 0);
		raw_unmap(&u.raw);
		CHECK_EQ(space_destroy(u.raw.fd, u.raw.space), 0);
		status = finish(&u);
		CHECK(status == 1 || status == -EIO);
		command = gemm(&u, DRM_T3_I32);
		CHECK_EQ(run(&u, &command), 1);
		check_matrix(u.c.memory, DRM_T3_I32, 0, ROWS_OF_C, product_of_7);
		user_close(&u);
	}
}

/* --------------------------------------------------------------------- ring */

/* Chunk c begins at rank c + 1, remote. It is dma after that, and ends at rank c. */
static void map_ring(struct user *u, uint32_t dtype)
{
	uint32_t rank = u->raw.rank, import, c;
	const struct user *next = rank + 1 < RANKS ? u + 1 : u - rank;

	import = raw_join(&u->raw, &next->raw);
	for (c = 0; c < RANKS; c++) {
		struct drm_t3_segment_map map = chunk(u, dtype, RANKS, c);
		bool remote = rank == (c + 1) % RANKS;

		map.updates = remote ? 1 : 2;
		if (rank != c) {
			map.kind = remote ? DRM_T3_SEGMENT_REMOTE : DRM_T3_SEGMENT_DMA;
			map.import = import;
			map.target_op = DRM_T3_OP_ADD;
			map.target_segment = c;
		}
		if (remote)
			map.op = map.init = 0;
		CHECK_EQ(raw_map(&u->raw, &map), 0);
	}
}

static int sum_of_ranks(uint32_t row, uint32_t col)
{
	int sum = 0;
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		sum += product(10 * r, row, col);
	return sum;
}

static void run_epoch(struct user *u, uint32_t dtype, uint32_t epoch)
{
	union drm_t3_any_command command;
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		put_operands(&u[r], dtype, 10 * r);
		raw_arm(&u[r].raw, epoch);
	}
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(raw_wait(&u[r].raw, DRM_T3_WAIT_ARMED, epoch, 0, after_ms(WAIT_MS)), 0);
	for (r = 0; r < RANKS; r++) {
		command = into_space(&u[r], dtype);
		command.gemm.first_chunk = (r + RANKS - 1) % RANKS;
		CHECK_EQ(submit_one(u[r].raw.fd, u[r].queue, &command, u[r].sync), 0);
	}
	for (r = 0; r < RANKS; r++) {
		CHECK_EQ(finish(&u[r]), 1);
		CHECK_EQ(raw_wait(&u[r].raw, DRM_T3_WAIT_DELIVERED, epoch, 0xf, after_ms(WAIT_MS)),
			 0);
		check_matrix(u[r].raw.memory, dtype, r * (ROWS_OF_C / RANKS), ROWS_OF_C / RANKS,
			     sum_of_ranks);
	}
	for (r = 0; r < RANKS; r++)
		raw_release(&u[r].raw, epoch);
}

/* One GEMM for each rank. No processor stores anything. */
TEST("a ring reduces GEMMs without a store by a processor")
{
	struct user u[RANKS];
	uint32_t dtype, epoch, r;

	if (guest_ranks() != RANKS)
		skip();
	for (dtype = DRM_T3_I32; dtype <= DRM_T3_BF16; dtype++) {
		for (r = 0; r < RANKS; r++)
			user_open(&u[r], r);
		for (r = 0; r < RANKS; r++)
			map_ring(&u[r], dtype);
		for (epoch = 1; epoch <= 3; epoch++)
			run_epoch(u, dtype, epoch);
		for (r = 0; r < RANKS; r++)
			user_close(&u[r]);
	}
}
