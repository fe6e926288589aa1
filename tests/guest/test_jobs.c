// SPDX-License-Identifier: MIT
/* Queues and jobs: results of each command, points in and out, order, arguments. */
#include <sys/mman.h>

#include "child.h"
#include "job.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "refusal.h"

#define SIZE	65536u
#define WAIT_MS 10000

/* One file with a queue, three buffers and a syncobj. */
struct user {
	int fd;
	uint32_t queue;
	uint32_t sync;
	struct operand a, b, c;
};

static void user_open(struct user *u, uint32_t rank)
{
	u->fd = open_rank(rank);
	CHECK_EQ(queue_create(u->fd, 1, &u->queue), 0);
	u->sync = sync_create(u->fd);
	operand_open(&u->a, u->fd, SIZE, 1);
	operand_open(&u->b, u->fd, SIZE, 2);
	operand_open(&u->c, u->fd, SIZE, 3);
}

static void user_close(struct user *u)
{
	operand_close(&u->a, u->fd);
	operand_close(&u->b, u->fd);
	operand_close(&u->c, u->fd);
	sync_destroy(u->fd, u->sync);
	CHECK_EQ(queue_destroy(u->fd, u->queue), 0);
	close(u->fd);
}

static void run_one(struct user *u, const union drm_t3_any_command *command)
{
	CHECK_EQ(submit_one(u->fd, u->queue, command, u->sync), 0);
	CHECK_EQ(sync_wait(u->fd, u->sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u->fd, u->sync), 1);
}

TEST("the device has the feature of queues")
{
	struct drm_t3_device_info info;
	int fd = open_rank(0);

	device_info(fd, &info);
	CHECK(info.features & DRM_T3_FEATURE_QUEUES);
	close(fd);
}

TEST("fill and copy give the right bytes")
{
	union drm_t3_any_command fill, copy;
	struct user u;

	user_open(&u, 0);
	fill = command_fill(u.a.handle, 4093, 9001, 0x8877665544332211);
	run_one(&u, &fill);
	model_run(&fill, &u.a, NULL);
	copy = command_copy(u.b.handle, u.a.handle, 20000);
	copy.copy.src.offset = 77;
	copy.copy.dst.offset = SIZE - 20000;
	run_one(&u, &copy);
	model_run(&copy, &u.b, &u.a);
	operand_check(&u.a);
	operand_check(&u.b);
	operand_check(&u.c);
	user_close(&u);
}

/* Shapes with pitches and different values, up to the last byte of the buffers. */
TEST("shapes with pitches give the right bytes")
{
	struct drm_t3_fill pitched_fill = {
		.head.type = DRM_T3_COMMAND_FILL,
		.rows = 17,
		.row_bytes = 13,
		.dst = { .offset = 5, .pitch = 101 },
		.pattern = 0x0102030405060708,
	};
	struct drm_t3_copy pitched_copy = {
		.head.type = DRM_T3_COMMAND_COPY,
		.rows = 9,
		.row_bytes = 1003,
		.dst = { .offset = SIZE - 9 * 1003, .pitch = 1003 },
		.src = { .offset = 3, .pitch = 4099 },
	};
	union drm_t3_any_command fill, copy;
	struct user u;

	user_open(&u, 0);
	pitched_fill.dst.handle = u.b.handle;
	pitched_copy.src.handle = u.b.handle;
	pitched_copy.dst.handle = u.c.handle;
	fill = ANY_COMMAND(pitched_fill);
	copy = ANY_COMMAND(pitched_copy);
	run_one(&u, &fill);
	run_one(&u, &copy);
	model_run(&fill, &u.b, NULL);
	model_run(&copy, &u.c, &u.b);
	operand_check(&u.b);
	operand_check(&u.c);
	user_close(&u);
}

static void set_numbers(struct operand *operand, uint32_t dtype, uint32_t size, int seed)
{
	uint32_t i, bits;

	for (i = 0; i < SIZE / 16; i++) {
		bits = element_bits(dtype, (int)(i * 7 + (uint32_t)seed) % 100 - 50);
		memcpy(operand->model + i * size, &bits, size);
	}
	memcpy(operand->memory, operand->model, SIZE);
}

TEST("updates give the right values in each type and op")
{
	static const uint32_t size[] = { 4, 4, 2, 2, 1, 1 };
	struct drm_t3_update update = { .head.type = DRM_T3_COMMAND_UPDATE, .rows = 3 };
	union drm_t3_any_command command;
	struct user u;

	user_open(&u, 0);
	update.src.handle = u.a.handle;
	update.dst.handle = u.b.handle;
	for (update.dtype = DRM_T3_I32; update.dtype <= DRM_T3_I8; update.dtype++) {
		uint32_t s = size[update.dtype], ops = s == 1 ? 1 : 4;

		for (update.op = 0; update.op < ops; update.op++) {
			set_numbers(&u.a, update.dtype, s, 3);
			set_numbers(&u.b, update.dtype, s, 8);
			update.row_bytes = 300 * s;
			update.src.pitch = 301 * s;
			update.dst.pitch = 333 * s;
			update.src.offset = 11 * s;
			command = ANY_COMMAND(update);
			run_one(&u, &command);
			model_run(&command, &u.b, &u.a);
			operand_check(&u.a);
			operand_check(&u.b);
		}
	}
	user_close(&u);
}

/* 256 commands run in order, also when each needs the result of the one before. */
TEST("commands of a job run in order")
{
	static union drm_t3_any_command commands[DRM_T3_SUBMIT_COMMANDS_MAX];
	struct submission s;
	struct user u;
	uint32_t i, round;

	user_open(&u, 0);
	for (i = 0; i < DRM_T3_SUBMIT_COMMANDS_MAX; i++) {
		commands[i] = command_copy(u.a.handle, u.a.handle, 128);
		commands[i].copy.src.offset = 128 * i;
		commands[i].copy.dst.offset = 128 * (i + 1);
	}
	/* Five of them wrap around the ring's end, and more wait than fit into it. */
	for (round = 0; round < 5; round++) {
		s = submission(u.queue, commands, DRM_T3_SUBMIT_COMMANDS_MAX);
		submission_out(&s, u.sync, 0);
		CHECK_EQ(submit(u.fd, &s), 0);
	}
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	for (i = 0; i < DRM_T3_SUBMIT_COMMANDS_MAX; i++)
		model_run(&commands[i], &u.a, &u.a);
	operand_check(&u.a);
	user_close(&u);
}

/* Commands of a newer user are longer. Their rest is zero or not. */
TEST("commands of a newer user may be longer")
{
	struct {
		union drm_t3_any_command command;
		uint64_t later;
	} commands[2];
	struct {
		struct drm_t3_sync sync;
		uint64_t later;
	} out = { 0 };
	struct submission s;
	struct user u;

	user_open(&u, 0);
	memset(commands, 0, sizeof(commands));
	commands[0].command = command_fill(u.a.handle, 0, 8, 0x5555);
	commands[1].command = command_fill(u.a.handle, 8, 8, 0xaaaa);
	out.sync.handle = u.sync;
	s = submission(u.queue, &commands[0].command, 2);
	s.args.command_stride = sizeof(commands[0]);
	s.args.out_count = 1;
	s.args.out_syncs = (uintptr_t)&out;
	s.args.sync_stride = sizeof(out);
	CHECK_EQ(call(u.fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &s.args), 0);
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	model_run(&commands[0].command, &u.a, NULL);
	model_run(&commands[1].command, &u.a, NULL);
	operand_check(&u.a);
	commands[1].later = 1;
	CHECK_EQ(call(u.fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &s.args), -E2BIG);
	commands[1].later = 0;
	out.later = 1;
	CHECK_EQ(call(u.fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &s.args), -E2BIG);
	user_close(&u);
}

/* Elements may end early: zeros follow. An element shorter than a head is refused. */
TEST("commands may end early, but not before their head")
{
	struct drm_t3_fill fills[2];
	union drm_t3_any_command one;
	struct submission s;
	struct user u;
	uint32_t stride;
	int want;

	user_open(&u, 0);
	one = command_fill(u.a.handle, 0, 8, 0x5555);
	fills[0] = one.fill;
	fills[1] = command_fill(u.a.handle, 8, 8, 0xaaaa).fill;
	model_run(&one, &u.a, NULL);
	one = command_fill(u.a.handle, 8, 8, 0xaaaa);
	model_run(&one, &u.a, NULL);
	s = submission(u.queue, &one, 2);
	s.args.commands = (uintptr_t)fills;
	s.args.command_stride = sizeof(fills[0]);
	submission_out(&s, u.sync, 0);
	CHECK_EQ(submit(u.fd, &s), 0);
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	operand_check(&u.a);
	s.args.command_count = 1;
	for (stride = 0; stride < sizeof(fills[0]); stride++) {
		s.args.command_stride = stride;
		/* without row_bytes, without a handle, and without a pattern, which may be 0 */
		want = stride <= offsetof(struct drm_t3_fill, row_bytes) ? -EINVAL
		       : stride <= offsetof(struct drm_t3_fill, dst)	 ? -ENOENT
									 : 0;
		CHECK_EQ(submit(u.fd, &s), want);
		CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	}
	user_close(&u);
}

/* Each type accepts only zeros after its struct, in the array's element or its stride. */
TEST("bytes after a command's struct must be zero")
{
	static const struct {
		uint32_t type;
		size_t size;
	} types[] = {
		{ DRM_T3_COMMAND_COPY, sizeof(struct drm_t3_copy) },
		{ DRM_T3_COMMAND_FILL, sizeof(struct drm_t3_fill) },
		{ DRM_T3_COMMAND_UPDATE, sizeof(struct drm_t3_update) },
		{ DRM_T3_COMMAND_GEMM, sizeof(struct drm_t3_gemm) },
		{ DRM_T3_COMMAND_TIMED, sizeof(struct drm_t3_timed) },
		{ 0, sizeof(struct drm_t3_command) }, /* the unknown type is reported first */
	};
	uint8_t element[sizeof(union drm_t3_any_command) + 16];
	struct submission s;
	struct user u;
	size_t i, at;
	int want;

	user_open(&u, 0);
	s = submission(u.queue, (const union drm_t3_any_command *)element, 1);
	s.args.command_stride = sizeof(element);
	for (i = 0; i < ROWS(types); i++)
		for (at = types[i].size; at < sizeof(element); at++) {
			memset(element, 0, sizeof(element));
			memcpy(element, &types[i].type, sizeof(types[i].type));
			/* no size may be 0; TIMED has none, but handles */
			want = types[i].type == DRM_T3_COMMAND_TIMED ? -ENOENT : -EINVAL;
			CHECK_EQ(submit(u.fd, &s), want);
			element[at] = 0x80;
			want = types[i].type || at >= sizeof(union drm_t3_any_command) ? -E2BIG
										       : -EINVAL;
			CHECK_EQ(submit(u.fd, &s), want);
		}
	operand_check(&u.a);
	user_close(&u);
}

/* A chain of jobs over two queues, by points of one timeline, on buffers of one file. */
TEST("a timeline orders jobs over two queues")
{
	union drm_t3_any_command copy, fill;
	struct submission s;
	struct user u;
	uint32_t second, i;

	user_open(&u, 0);
	CHECK_EQ(queue_create(u.fd, 3, &second), 0);
	for (i = 1; i <= 20; i++) {
		fill = command_fill(u.a.handle, 8 * i, 8, i);
		copy = command_copy(u.b.handle, u.a.handle, SIZE);
		s = submission(i % 2 ? second : u.queue, i % 2 ? &fill : &copy, 1);
		if (i > 1)
			submission_in(&s, u.sync, i - 1);
		submission_out(&s, u.sync, i);
		CHECK_EQ(submit(u.fd, &s), 0);
		model_run(i % 2 ? &fill : &copy, i % 2 ? &u.a : &u.b, i % 2 ? NULL : &u.a);
	}
	CHECK_EQ(sync_wait(u.fd, u.sync, 7, WAIT_MS), 0);
	CHECK_EQ(sync_wait(u.fd, u.sync, 20, WAIT_MS), 0);
	CHECK_EQ(sync_wait(u.fd, u.sync, 21, 0), -EINVAL);
	operand_check(&u.a);
	operand_check(&u.b);
	CHECK_EQ(queue_destroy(u.fd, second), 0);
	user_close(&u);
}

TEST("a client has at most 63 more queues")
{
	uint32_t queues[64], i, one;
	union drm_t3_any_command fill;
	struct user u;

	user_open(&u, 0);
	for (i = 0; i < 63; i++)
		CHECK_EQ(queue_create(u.fd, i % 4, &queues[i]), 0);
	CHECK_EQ(queue_create(u.fd, 0, &one), -ENOSPC);
	for (i = 0; i < 63; i++) {
		fill = command_fill(u.a.handle, 64 * i, 64, i + 1);
		CHECK_EQ(submit_one(u.fd, queues[i], &fill, u.sync), 0);
		model_run(&fill, &u.a, NULL);
	}
	/* All write one buffer, so the last one ends when all have ended. */
	CHECK_EQ(sync_wait(u.fd, u.sync, 0, WAIT_MS), 0);
	operand_check(&u.a);
	CHECK_EQ(queue_destroy(u.fd, queues[5]), 0);
	CHECK_EQ(queue_create(u.fd, 0, &queues[5]), 0);
	for (i = 0; i < 63; i++)
		CHECK_EQ(queue_destroy(u.fd, queues[i]), 0);
	/* All of them again, at once. */
	for (i = 0; i < 63; i++)
		CHECK_EQ(queue_create(u.fd, 0, &queues[i]), 0);
	user_close(&u);
}

static void unprivileged(int sock, void *arg)
{
	uint32_t queue;
	int fd;

	(void)arg;
	become(UID_USER, true);
	fd = open_rank(0);
	CHECK_EQ(queue_create(fd, 3, &queue), -EACCES);
	CHECK_EQ(queue_create(fd, 2, &queue), -EACCES);
	CHECK_EQ(queue_create(fd, 1, &queue), -EACCES);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	send_u32(sock, queue);
	close(fd);
}

TEST("high priorities need a privilege")
{
	struct child child;

	child_start(&child, unprivileged, NULL);
	CHECK(receive_u32(child.sock));
	CHECK_EQ(child_end(&child, 5000), 0);
}

TEST("wrong points of a submission are refused")
{
	uint32_t empty, timeline, bad = 4711;
	union drm_t3_any_command command;
	struct submission good, s;
	struct user u;

	user_open(&u, 0);
	empty = sync_create(u.fd);
	timeline = sync_create(u.fd);
	command = command_fill(u.a.handle, 0, 8, 1);
	good = submission(u.queue, &command, 1);
	s = good;
	submission_in(&s, bad, 0);
	CHECK_EQ(submit(u.fd, &s), -ENOENT);
	s = good;
	submission_in(&s, empty, 0);
	CHECK_EQ(submit(u.fd, &s), -EINVAL);
	s = good;
	submission_out(&s, timeline, 5);
	submission_out(&s, bad, 0);
	CHECK_EQ(submit(u.fd, &s), -ENOENT);
	CHECK_EQ(sync_wait(u.fd, timeline, 5, 0), -EINVAL); /* not even the first */
	s = good;
	submission_out(&s, timeline, 5);
	s.outs[0].flags = 1;
	CHECK_EQ(submit(u.fd, &s), -EINVAL);
	s.outs[0].flags = 0;
	CHECK_EQ(submit(u.fd, &s), 0);
	s = good;
	submission_in(&s, timeline, 6);
	CHECK_EQ(submit(u.fd, &s), -EINVAL);
	s.ins[0].point = UINT64_C(0x100000005); /* no 32 bits of it count alone */
	CHECK_EQ(submit(u.fd, &s), -EINVAL);
	s.ins[0].point = 5;
	CHECK_EQ(submit(u.fd, &s), 0);
	CHECK_EQ(sync_wait(u.fd, timeline, 5, WAIT_MS), 0);
	operand_drop(&u.b);
	operand_drop(&u.c);
	operand_drop(&u.a);
	close(u.fd);
}

/* clang-format off */
#define CMD(member, value, error) BAD(drm_t3_fill, member, value, error)
#define CMD_AS(named, member, value) BAD_AS(named, drm_t3_fill, member, value, EINVAL)
#define TYPE(number, of, named) BAD_OF(of, named, drm_t3_fill, head.type, number, EINVAL)
static const struct deviation fill_rows[] = {
	TYPE(0, "drm_t3_command", "type"), TYPE(6, "drm_t3_command", "type"),
	TYPE(0xffffffff, "drm_t3_command", "type"), TYPE(4, "drm_t3_gemm", "raster_rows"),
	TYPE(5, "drm_t3_timed", "args.pad"),
	CMD(head.flags, 1, EINVAL), CMD(head.flags, 0x80000000, EINVAL),
	CMD(dst.pad, 1, EINVAL), CMD(dst.pad, 0x80000000, EINVAL),
	CMD(dst.handle, 0, ENOENT), CMD(dst.handle, 4711, ENOENT), CMD(dst.handle, 0xffffffff, ENOENT),
	CMD(rows, 0, EINVAL), CMD(rows, 0xffffffff, EINVAL), CMD_AS("dst.pitch", rows, 1),
	CMD_AS("dst.pitch", rows, 513), CMD(row_bytes, 0, EINVAL),
	CMD_AS("dst.pitch", row_bytes, 129),
	CMD(row_bytes, 0xffffffff, EINVAL), CMD(dst.pitch, 0, EINVAL), CMD(dst.pitch, 63, EINVAL),
	CMD(dst.pitch, 129, EINVAL), CMD(dst.pitch, ~0ull, EINVAL),
	CMD(dst.pitch, 0x8080808080808081ull, EINVAL), /* times 511: 2^64 and a little */
	CMD(dst.offset, 65, EINVAL), CMD(dst.offset, SIZE, EINVAL), CMD(dst.offset, ~0ull, EINVAL),
	CMD(dst.offset, -65472ll, EINVAL),
};
#undef CMD
#define CMD(member, value, error) BAD(drm_t3_update, member, value, error)
static const struct deviation update_rows[] = {
	CMD(head.flags, 1, EINVAL), CMD(src.pad, 1, EINVAL), CMD(dst.pad, 1, EINVAL),
	CMD(op, 8, EINVAL), CMD(op, 0xffffffff, EINVAL), CMD(dtype, 10, EINVAL), CMD(dtype, 0xffffffff, EINVAL),
	CMD(src.handle, 0, ENOENT), CMD(src.handle, 4711, ENOENT), CMD(dst.handle, 0, ENOENT),
	CMD(row_bytes, 62, EINVAL), CMD(src.pitch, 0, EINVAL), CMD(src.pitch, 63, EINVAL),
	CMD(src.pitch, 129, EINVAL), CMD(src.pitch, ~0ull, EINVAL),
	CMD(src.offset, 65, EINVAL), CMD(src.offset, ~0ull, EINVAL), CMD(dst.offset, 65, EINVAL),
};
#undef CMD
#define CMD(member, value, error) BAD(drm_t3_copy, member, value, error)
static const struct deviation copy_rows[] = {
	CMD(head.flags, 1, EINVAL), CMD(src.pad, 1, EINVAL), CMD(dst.pad, 1, EINVAL),
	CMD(src.handle, 0, ENOENT), CMD(dst.handle, 4711, ENOENT), CMD(rows, 0, EINVAL),
	CMD(row_bytes, 0, EINVAL), CMD(src.pitch, 63, EINVAL), CMD(dst.pitch, 0, EINVAL),
	CMD(src.offset, 65, EINVAL), CMD(dst.offset, 65, EINVAL),
};
/* clang-format on */

/* Each bad command as the second of three: the first one must not run either. */
static void check_commands(struct user *u, const union drm_t3_any_command *good,
			   const struct deviation *rows, size_t count)
{
	union drm_t3_any_command commands[3];
	struct submission s;
	size_t i;

	for (i = 0; i < count; i++) {
		commands[0] = commands[2] = command_fill(u->c.handle, 0, SIZE, 0);
		commands[1] = *good;
		memcpy((char *)&commands[1] + rows[i].offset, &rows[i].value, rows[i].size);
		s = submission(u->queue, commands, 3);
		submission_out(&s, u->sync, 0);
		if (submit(u->fd, &s) != -rows[i].error)
			guest_fail(__FILE__, __LINE__, "%s: not refused so", rows[i].what);
		refusal_check_command(u->fd, &rows[i], 1);
	}
	run_one(u, good);
}

TEST("wrong commands are refused")
{
	/* 512 rows of 64, each 128 further: it ends 64 bytes before the buffer does. */
	struct drm_t3_update update = {
		.head.type = DRM_T3_COMMAND_UPDATE,
		.rows = 512,
		.row_bytes = 64,
		.dst.pitch = 128,
		.src.pitch = 128,
		.op = DRM_T3_OP_ADD,
	};
	union drm_t3_any_command good;
	struct user u;

	user_open(&u, 0);
	good = command_fill(u.b.handle, 0, 64, 0);
	good.fill.rows = 512;
	good.fill.dst.pitch = 128;
	check_commands(&u, &good, fill_rows, ROWS(fill_rows));
	update.dst.handle = u.b.handle;
	update.src.handle = u.a.handle;
	good = ANY_COMMAND(update);
	check_commands(&u, &good, update_rows, ROWS(update_rows));
	good = command_copy(u.b.handle, u.a.handle, 64);
	good.copy.rows = 512;
	good.copy.src.pitch = good.copy.dst.pitch = 128;
	check_commands(&u, &good, copy_rows, ROWS(copy_rows));
	operand_check(&u.a);
	operand_check(&u.c);
	user_close(&u);
}

/* Handles are the file's own, of queues and of buffers. */
TEST("handles of another file are refused")
{
	union drm_t3_any_command command;
	struct user u;
	uint32_t bo;
	int other;

	user_open(&u, 0);
	other = open_rank(0);
	command = command_fill(u.c.handle, 0, 8, 1);
	CHECK_EQ(submit_one(other, u.queue, &command, 0), -ENOENT);
	CHECK_EQ(queue_destroy(other, u.queue), -ENOENT);
	CHECK_EQ(bo_create(other, PAGE, &bo), 0);
	CHECK(bo != u.c.handle);
	close(other);
	user_close(&u);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
