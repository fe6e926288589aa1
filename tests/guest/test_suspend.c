// SPDX-License-Identifier: MIT
/*
 * The machine sleeps up to the kernel's test levels. Devices are stopped, and at "platform" they
 * are in D3hot for about a second.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "debugfs.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "trouble.h"

#define SIZE	65536u
#define WAIT_MS (10000 * (int)guest_slowness())
#define PATTERN UINT64_C(0x1122334455667788)

struct user {
	int fd;
	uint32_t queue;
	uint32_t syncs[4];
	struct operand a;
};

static void user_open(struct user *u)
{
	uint32_t i;

	nap_ms(50);
	u->fd = open_rank(0);
	CHECK_EQ(queue_create(u->fd, 0, &u->queue), 0);
	for (i = 0; i < ROWS(u->syncs); i++)
		u->syncs[i] = sync_create(u->fd);
	operand_open(&u->a, u->fd, SIZE, 1);
}

static void user_close(struct user *u)
{
	operand_drop(&u->a);
	close(u->fd);
}

static void start_fill(struct user *u, uint32_t i)
{
	union drm_t3_any_command fill = command_fill(u->a.handle, 64 * i, 64, PATTERN + i);

	CHECK_EQ(submit_one(u->fd, u->queue, &fill, u->syncs[i]), 0);
	model_run(&fill, &u->a, NULL);
}

static void finish_fill(struct user *u, uint32_t i)
{
	CHECK_EQ(sync_wait(u->fd, u->syncs[i], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u->fd, u->syncs[i]), 1);
	operand_check(&u->a);
}

/* Source sends to target by triggered DMA. */
struct pair {
	struct raw source, target;
	pthread_t thread;
	int result;
};

static void pair_open(struct pair *p)
{
	struct drm_t3_segment_map segment;

	raw_open(&p->source, 0, PAGE);
	raw_open(&p->target, 1, PAGE);
	raw_map_local(&p->target);
	segment = raw_sender(&p->source, DRM_T3_SEGMENT_DMA, raw_join(&p->source, &p->target), 0);
	CHECK_EQ(raw_map(&p->source, &segment), 0);
}

static void pair_close(struct pair *p)
{
	raw_close(&p->source);
	raw_close(&p->target);
}

static void *wait_long(void *arg)
{
	struct pair *p = arg;

	p->result = raw_wait(&p->target, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(WAIT_MS));
	return NULL;
}

/* An epoch continues over the sleep, half stored, with a thread that waits, and with jobs. */
static void check_survives(const char *level)
{
	volatile uint32_t *last;
	struct pair p;
	struct user u;
	uint32_t i;

	user_open(&u);
	pair_open(&p);
	raw_arm(&p.target, 1);
	raw_arm(&p.source, 1);
	raw_fill(&p.source, 0, 128, 5);
	CHECK_EQ(pthread_create(&p.thread, NULL, wait_long, &p), 0);
	start_fill(&u, 0);
	CHECK_EQ(sleep_and_wake("freeze", level), 0);
	finish_fill(&u, 0);
	raw_fill(&p.source, 128, RAW_SEGMENT_BYTES - 128, 5);
	CHECK_EQ(pthread_join(p.thread, NULL), 0);
	CHECK_EQ(p.result, 0);
	last = (volatile uint32_t *)(void *)(p.target.memory + RAW_SEGMENT_BYTES);
	CHECK_EQ(last[-1], 5);
	for (i = 1; i < 3; i++) {
		start_fill(&u, i);
		finish_fill(&u, i);
	}
	pair_close(&p);
	user_close(&u);
}

SLOW_TEST("all survives a stop of the devices")
{
	check_survives("devices");
}

SLOW_TEST("all survives D3hot")
{
	check_survives("platform");
}

/* Only the platform's firmware cuts the power. Without it "mem" is another word for "freeze". */
static void need_deep_sleep(void)
{
	char kinds[64] = "";
	FILE *file = fopen("/sys/power/mem_sleep", "r");

	CHECK(file && fgets(kinds, sizeof(kinds), file));
	fclose(file);
	if (!strstr(kinds, "deep")) {
		fprintf(stderr, "# skipped: this machine has no sleep that cuts the power\n");
		skip();
	}
}

/* Nothing saves device memory, so a sleep that would cut its power does not begin. */
SLOW_TEST("a sleep that would lose memory does not begin")
{
	struct user u;

	need_deep_sleep();
	user_open(&u);
	CHECK_EQ(sleep_and_wake("mem", "devices"), -EBUSY);
	start_fill(&u, 0);
	finish_fill(&u, 0);
	user_close(&u);
}

/* Without memory in use the sleep may begin. Queues that existed are made again. */
SLOW_TEST("a sleep without memory in use may begin")
{
	uint64_t resets = debugfs_number(0, "resets", "function");
	uint32_t queue, sync, bo;
	union drm_t3_any_command fill;
	int fd;

	need_deep_sleep();
	nap_ms(50);
	fd = open_rank(0);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(sleep_and_wake("mem", "platform"), 0);
	CHECK_EQ(debugfs_number(0, "resets", "function"), resets + 1);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	sync = sync_create(fd);
	fill = command_fill(bo, 0, PAGE, PATTERN);
	CHECK_EQ(submit_one(fd, queue, &fill, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(fd, sync), 1);
	close(fd);
}

/* A job that does not end keeps the machine awake, and nothing else changes. */
SLOW_TEST("a job that hangs keeps the machine awake")
{
	struct user u;

	user_open(&u);
	inject_hang(0, 0, true);
	start_fill(&u, 0);
	nap_ms(50);
	CHECK_EQ(sleep_and_wake("freeze", "devices"), -EBUSY);
	start_fill(&u, 1);
	inject_hang(0, 0, false);
	finish_fill(&u, 1);
	CHECK_EQ(sync_status(u.fd, u.syncs[0]), 1);
	user_close(&u);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
