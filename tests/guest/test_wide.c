// SPDX-License-Identifier: MIT
/*
 * A segment of many rows in tiles of one byte, and small updates that touch a thousand of its
 * tiles. That is the most work that one update can cause. The work counts for the space's owner and
 * is done in pieces. It delays others' jobs and does not end them. The clients are unprivileged
 * users. The test compares the device's own work (SPEC.md 8.2), never time.
 */
#include <sys/mman.h>

#include "child.h"
#include "debugfs.h"
#include "memory.h"
#include "module.h"
#include "queue.h"
#include "raw.h"

#define ROW	1024u
#define NARROW	16384u /* rows of the target: 16 MiB, prepared by each ARM */
#define WIDE_MS 120000
#define ROUNDS	12u

/* ------------------------------------------------------------------ the attack */

struct attack {
	struct raw source, target;
	int fds[2];
};

static struct drm_t3_segment_map narrow_tiles(const struct raw *raw)
{
	struct drm_t3_segment_map segment = raw_segment(raw);

	segment.op = DRM_T3_OP_STORE;
	segment.dtype = DRM_T3_U8;
	segment.rows = segment.tile_rows = NARROW;
	segment.row_bytes = segment.pitch = ROW;
	segment.tile_row_bytes = 1;
	return segment;
}

/* A row of the target is one packet. */
static void map_source(const struct attack *attack, uint32_t import)
{
	struct drm_t3_segment_map segment =
		raw_sender(&attack->source, DRM_T3_SEGMENT_DMA, import, 0);

	segment.op = segment.target_op = DRM_T3_OP_STORE;
	segment.init = DRM_T3_INIT_KEEP;
	segment.dtype = DRM_T3_U8;
	segment.rows = segment.tile_rows = 1;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = ROW;
	CHECK_EQ(raw_map(&attack->source, &segment), 0);
}

static void attack_open(struct attack *attack)
{
	struct drm_t3_segment_map segment;

	raw_create(&attack->source, attack->fds[0], PAGE);
	raw_create_tiles(&attack->target, attack->fds[1], (uint64_t)NARROW * ROW, ROW);
	segment = narrow_tiles(&attack->target);
	CHECK_EQ(raw_map(&attack->target, &segment), 0);
	map_source(attack, raw_join(&attack->source, &attack->target));
}

/* A space that is armed, gets an update of 1024 tiles, and is destroyed while others work. */
static void attack_once(struct attack *attack)
{
	attack_open(attack);
	raw_arm(&attack->target, 1);
	raw_arm(&attack->source, 1);
	CHECK_EQ(raw_wait(&attack->source, DRM_T3_WAIT_ARMED, 1, 0, now_ns() + WIDE_MS * 1000000ll),
		 0);
	raw_fill(&attack->source, 0, ROW, 0x11111111);
	raw_destroy(&attack->source);
	raw_destroy(&attack->target);
}

static void attack_body(int sock, void *arg)
{
	struct attack attack = { .fds = { open_rank_as(UID_USER + 1, 0),
					  open_rank_as(UID_USER + 1, 1) } };
	uint32_t *stop = arg;

	become(UID_USER + 1, true);
	attack_once(&attack);
	send_u32(sock, 1);
	while (!__atomic_load_n(stop, __ATOMIC_RELAXED))
		attack_once(&attack);
	close(attack.fds[0]);
	close(attack.fds[1]);
}

/* ------------------------------------------------------------------- the other */

#define BYTES (4u << 20)
#define WORK  ((uint64_t)BYTES / 4096 * (4 * 4096 + 3500)) /* of a copy, without its start */

static uint64_t engine_work(int fd)
{
	struct drm_t3_counters counters = { 0 };
	struct drm_t3_query query = {
		.type = DRM_T3_QUERY_COUNTERS,
		.size = sizeof(counters),
		.data = (uintptr_t)&counters,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &query), 0);
	return counters.value[T3_COUNTER_ENGINE_WORK];
}

/* On the target's device, which does the preparation. The test checks all its results. */
static void honest_body(int sock, void *arg)
{
	union drm_t3_any_command copies[16];
	struct operand dst, src;
	uint32_t queue, sync, i, round;
	uint64_t before, all;
	int fd = open_rank_as(UID_USER, 1);

	(void)arg;
	(void)sock;
	become(UID_USER, true);
	operand_open(&dst, fd, BYTES, 1);
	operand_open(&src, fd, BYTES, 2);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	sync = sync_create(fd);
	for (i = 0; i < ROWS(copies); i++)
		copies[i] = command_copy(dst.handle, src.handle, BYTES);
	model_run(&copies[0], &dst, &src);
	for (round = 0; round < ROUNDS; round++) {
		struct submission s = submission(queue, copies, ROWS(copies));

		submission_out(&s, sync, 0);
		before = engine_work(fd);
		CHECK_EQ(submit(fd, &s), 0);
		CHECK_EQ(sync_wait(fd, sync, 0, WIDE_MS), 0);
		all = engine_work(fd) - before;
		CHECK_EQ(sync_status(fd, sync), 1);
		/* One other client gets half of the work, and its own work before and after. */
		CHECK(all >= ROWS(copies) * WORK);
		CHECK(all <= 3 * ROWS(copies) * WORK);
	}
	operand_check(&dst);
	operand_close(&dst, fd);
	operand_close(&src, fd);
	close(fd);
}

TEST("an update of 1024 tiles delays others and ends no job")
{
	uint64_t resets[2] = { debugfs_number(0, "resets", "function"),
			       debugfs_number(1, "resets", "function") };
	struct child attacker, honest;
	uint32_t *stop;

	stop = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(stop != MAP_FAILED);
	child_start(&attacker, attack_body, stop);
	CHECK_EQ(receive_u32(attacker.sock), 1);
	child_start(&honest, honest_body, NULL);
	CHECK_EQ(child_end(&honest, WIDE_MS), 0);
	__atomic_store_n(stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(child_end(&attacker, WIDE_MS), 0);
	CHECK_EQ(debugfs_number(0, "resets", "function"), resets[0]);
	CHECK_EQ(debugfs_number(1, "resets", "function"), resets[1]);
	munmap(stop, PAGE);
	module_await_unused();
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
