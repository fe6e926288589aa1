// SPDX-License-Identifier: MIT
/*
 * The device is reset, loses interrupts, or cannot write. The client that caused it gets an error.
 * The others go on or get an error.
 */
#include <pthread.h>
#include <sys/mman.h>

#include "debugfs.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "trouble.h"

#define SIZE	   65536u
#define WAIT_MS	   (10000 * (int)guest_slowness())
#define TIMEOUT_MS (400 * guest_slowness())
#define POLL_MS	   200
#define PATTERN	   UINT64_C(0x1122334455667788)
#define QUEUES	   5u

/* Queues in the order of their creation have these numbers in the device. */
struct user {
	int fd;
	uint32_t queues[QUEUES];
	uint32_t syncs[12];
	struct operand a, b, c, d, e, f;
};

/* Jobs of queue 0 have a short time limit, those of the others a long one. */
static void user_open(struct user *u, uint32_t rank)
{
	uint32_t i;

	debugfs_await_no_queue(rank);
	coredump_discard();
	u->fd = open_rank(rank);
	for (i = 0; i < QUEUES; i++) {
		set_parameter("job_timeout_ms", i ? 3600000 : TIMEOUT_MS);
		CHECK_EQ(queue_create(u->fd, 0, &u->queues[i]), 0);
	}
	set_parameter("job_timeout_ms", 10000);
	for (i = 0; i < ROWS(u->syncs); i++)
		u->syncs[i] = sync_create(u->fd);
	operand_open(&u->a, u->fd, SIZE, 1);
	operand_open(&u->b, u->fd, SIZE, 2);
	operand_open(&u->c, u->fd, SIZE, 3);
	operand_open(&u->d, u->fd, SIZE, 4);
	operand_open(&u->e, u->fd, SIZE, 5);
	operand_open(&u->f, u->fd, SIZE, 6);
}

static void user_close(struct user *u)
{
	operand_drop(&u->a);
	operand_drop(&u->b);
	operand_drop(&u->c);
	operand_drop(&u->d);
	operand_drop(&u->e);
	operand_drop(&u->f);
	close(u->fd);
	set_parameter("poll_ms", 1000);
	coredump_discard();
}

static union drm_t3_any_command command_store(const struct operand *dst, const struct operand *src,
					      uint32_t offset)
{
	struct drm_t3_update update = {
		.head.type = DRM_T3_COMMAND_UPDATE,
		.rows = 1,
		.row_bytes = 1024,
		.dst = { .handle = dst->handle, .offset = offset },
		.src = { .handle = src->handle, .offset = offset },
		.op = DRM_T3_OP_STORE,
		.dtype = DRM_T3_I32,
	};

	return ANY_COMMAND(update);
}

static void start(struct user *u, uint32_t queue, const union drm_t3_any_command *command,
		  uint32_t sync)
{
	CHECK_EQ(submit_one(u->fd, u->queues[queue], command, u->syncs[sync]), 0);
}

static void finish(struct user *u, uint32_t sync, int status)
{
	CHECK_EQ(sync_wait(u->fd, u->syncs[sync], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u->fd, u->syncs[sync]), status);
}

/* The commands in the queues' rings when they hang. Each writes a buffer of its own. */
struct load {
	union drm_t3_any_command fill, copy, store, add, gemm, square;
};

static void load_start(struct user *u, struct load *load)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		inject_hang(0, i, true);
	load->fill = command_fill(u->a.handle, 0, 64, PATTERN);
	load->copy = command_copy(u->b.handle, u->c.handle, 64);
	load->store = command_store(&u->b, &u->c, 4096);
	load->add = command_store(&u->d, &u->c, 8192);
	load->add.update.op = DRM_T3_OP_ADD;
	start(u, 0, &load->fill, 0);
	load->fill.fill.dst.offset = 64;
	start(u, 0, &load->fill, 1);
	start(u, 1, &load->copy, 2);
	start(u, 1, &load->store, 3);
	start(u, 2, &load->add, 4);
	load->gemm = command_gemm(u->e.handle, u->c.handle);
	load->square = command_gemm(u->f.handle, u->f.handle);
	start(u, 3, &load->gemm, 5);
	start(u, 4, &load->square, 6);
	nap_ms(50); /* all of it is in the rings */
}

static void model_gemm(uint8_t *dst, const uint8_t *src)
{
	uint32_t from[16], to[16] = { 0 }, i, j, k;

	memcpy(from, src, sizeof(from));
	for (i = 0; i < 4; i++)
		for (j = 0; j < 4; j++)
			for (k = 0; k < 4; k++)
				to[4 * i + j] += from[4 * i + k] * from[4 * k + j];
	memcpy(dst, to, sizeof(to));
}

/* first: the result of queue 0's first job. Each queue goes on afterwards. */
static void load_finish(struct user *u, struct load *load, int first)
{
	uint32_t i;

	finish(u, 0, first);
	for (i = 1; i < 4; i++)
		finish(u, i, 1);
	finish(u, 4, -ECANCELED);
	finish(u, 5, 1);
	finish(u, 6, -ECANCELED); /* in place */
	model_gemm(u->e.model, u->c.model);
	load->fill.fill.dst.offset = 64;
	model_run(&load->fill, &u->a, NULL);
	if (first == 1) {
		load->fill.fill.dst.offset = 0;
		model_run(&load->fill, &u->a, NULL);
	}
	model_run(&load->copy, &u->b, &u->c);
	model_run(&load->store, &u->b, &u->c);
	for (i = 0; i < QUEUES; i++) {
		load->fill.fill.dst.offset = 128 * i + 256;
		start(u, i, &load->fill, 7 + i);
		finish(u, 7 + i, 1);
		model_run(&load->fill, &u->a, NULL);
	}
	operand_check(&u->a);
	operand_check(&u->b);
	operand_check(&u->d); /* the ADD had not really begun */
	operand_check(&u->e);
	operand_check(&u->f); /* nor the square */
}

/* ------------------------------------------------------------------- spaces */

struct waiter {
	struct raw raw;
	pthread_t thread;
	int result;
};

static void *wait_long(void *arg)
{
	struct waiter *w = arg;

	w->result = raw_wait(&w->raw, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(WAIT_MS));
	return NULL;
}

static void waiter_open(struct waiter *w)
{
	raw_open(&w->raw, 0, PAGE);
	raw_map_local(&w->raw);
}

static void waiter_start(struct waiter *w)
{
	waiter_open(w);
	raw_arm(&w->raw, 1);
	raw_fill(&w->raw, 0, 64, 7);
	CHECK_EQ(pthread_create(&w->thread, NULL, wait_long, w), 0);
	nap_ms(50);
}

/* Only the space is DEAD. Its buffer keeps its data, and a new space works. */
static void waiter_check_dead(struct waiter *w)
{
	struct drm_t3_segment_map segment = raw_segment(&w->raw);
	struct raw next;

	CHECK_EQ(pthread_join(w->thread, NULL), 0);
	CHECK_EQ(w->result, -ENODEV);
	CHECK_EQ(raw_state(&w->raw), DRM_T3_SPACE_DEAD);
	CHECK_EQ(raw_wait(&w->raw, DRM_T3_WAIT_ARMED, 1, 0, after_ms(WAIT_MS)), -ENODEV);
	segment.segment = 1;
	segment.offset = 1024;
	CHECK_EQ(raw_map(&w->raw, &segment), -EIO);
	CHECK_EQ(space_reset(w->raw.fd, w->raw.space), -EIO);
	CHECK_EQ(*(volatile uint32_t *)w->raw.memory, 7);
	CHECK_EQ(space_destroy(w->raw.fd, w->raw.space), 0);
	raw_unmap(&w->raw);
	raw_create(&next, w->raw.fd, PAGE);
	raw_map_local(&next);
	raw_run_epoch(&next, 1);
	raw_unmap(&next);
	close(w->raw.fd);
}

/* -------------------------------------------------------------------- resets */

/*
 * The abort of a late job's queue fails, so the function is reset. The late job fails. The others
 * run again, except one in progress that must not be done twice.
 */
TEST("a reset for a late job fails this job alone")
{
	struct waiter waiter;
	struct load load;
	struct user u;

	set_parameter("poll_ms", TIMEOUT_MS); /* planned before the job is late: not done */
	user_open(&u, 0);
	set_parameter("poll_ms", 0);
	waiter_start(&waiter);
	load_start(&u, &load);
	reset_behind_the_driver(0);
	load_finish(&u, &load, -ETIME);
	waiter_check_dead(&waiter);
	user_close(&u);
}

/* No job was late. The watchdog finds the hang, and no client is at fault. */
TEST("a reset by somebody else fails no job")
{
	struct waiter waiter;
	struct load load;
	struct user u;

	set_parameter("poll_ms", POLL_MS / 2);
	user_open(&u, 0);
	waiter_start(&waiter);
	load_start(&u, &load);
	reset_behind_the_driver(0);
	load_finish(&u, &load, 1);
	waiter_check_dead(&waiter);
	user_close(&u);
}

TEST("a function-level reset fails no job")
{
	struct waiter waiter;
	struct load load;
	struct user u;

	user_open(&u, 0);
	waiter_start(&waiter);
	load_start(&u, &load);
	reset_by_pci(0);
	load_finish(&u, &load, 1);
	waiter_check_dead(&waiter);
	user_close(&u);
}

/* A reset does not report again what a queue has completed before. */
TEST("completions of an earlier life are not reported again")
{
	union drm_t3_any_command fill;
	struct user u;

	user_open(&u, 0);
	fill = command_fill(u.a.handle, 0, 64, PATTERN);
	start(&u, 0, &fill, 0);
	finish(&u, 0, 1);
	model_run(&fill, &u.a, NULL);
	reset_by_pci(0);
	inject_hang(0, 0, true);
	fill.fill.dst.offset = 64;
	start(&u, 0, &fill, 1);
	finish(&u, 1, -ETIME);
	operand_check(&u.a);
	user_close(&u);
}

/* Make a space and touch all of it, also when it was reset meanwhile. */
static void use_space(int fd, uint32_t bo)
{
	struct drm_t3_space_create made;
	volatile uint8_t *page;
	int ret;

	ret = space_create(fd, bo, 1, &made);
	if (ret) {
		CHECK_EQ(ret, -EIO);
		return;
	}
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)made.doorbell_offset);
	CHECK(page != MAP_FAILED);
	put32(page + DRM_T3_DOORBELL_ARM, 1);
	munmap((void *)(uintptr_t)page, PAGE);
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)made.aperture_offset);
	CHECK(page != MAP_FAILED);
	put32(page, 1);
	munmap((void *)(uintptr_t)page, PAGE);
	CHECK_EQ(space_destroy(fd, made.space), 0);
}

/* New memory reads as zeros, jobs run, and their results are there. */
static void use_memory(int fd, uint32_t bo, uint64_t pattern)
{
	volatile uint64_t *memory = bo_map(fd, bo, PAGE);
	union drm_t3_any_command fill = command_fill(bo, 8, PAGE - 16, pattern);
	uint32_t queue, sync = sync_create(fd), i;

	for (i = 0; i < PAGE / 8; i++)
		CHECK_EQ(memory[i], 0);
	memory[0] = pattern;
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(submit_one(fd, queue, &fill, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(fd, sync), 1);
	for (i = 0; i < PAGE / 8 - 1; i++)
		CHECK_EQ(memory[i], pattern);
	CHECK_EQ(memory[PAGE / 8 - 1], 0);
	munmap((void *)(uintptr_t)memory, PAGE);
}

static void *use_all(void *arg)
{
	volatile bool *stop = arg;
	uint32_t bo, round;
	int fd;

	for (round = 0; !*stop; round++) {
		fd = open_rank(0);
		CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
		use_memory(fd, bo, PATTERN + round);
		use_space(fd, bo);
		close(fd);
	}
	return NULL;
}

SLOW_TEST("clients survive resets under load")
{
	volatile bool stop = false;
	pthread_t thread;
	int round;

	CHECK_EQ(pthread_create(&thread, NULL, use_all, (void *)(uintptr_t)&stop), 0);
	for (round = 0; round < 8; round++) {
		nap_ms(37);
		reset_by_pci(0);
	}
	stop = true;
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* ---------------------------------------------------------- interrupts, DMA */

static void lose_interrupts(uint32_t count)
{
	if (count)
		inject(0, "lose-irq count=%u", count);
	else
		inject(0, "lose-irq nth=0");
}

/* All interrupts are lost. Spaces and jobs go on by the watchdog alone, which was off before. */
TEST("spaces and jobs go on without any interrupt")
{
	union drm_t3_any_command fill;
	struct waiter w;
	struct user u;
	uint32_t i;

	set_parameter("poll_ms", 0);
	nap_ms(1100); /* what was planned has been */
	user_open(&u, 0);
	waiter_open(&w);
	set_parameter("poll_ms", POLL_MS);
	lose_interrupts(1000000);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(pthread_create(&w.thread, NULL, wait_long, &w), 0);
		nap_ms(50);
		raw_arm(&w.raw, i + 1);
		raw_fill(&w.raw, 0, RAW_SEGMENT_BYTES, 7);
		CHECK_EQ(pthread_join(w.thread, NULL), 0);
		CHECK_EQ(w.result, 0);
		raw_release(&w.raw, i + 1);
		fill = command_fill(u.a.handle, 64 * i, 64, PATTERN);
		start(&u, 1 + i % 2, &fill, i);
		finish(&u, i, 1);
	}
	lose_interrupts(0);
	raw_close(&w.raw);
	user_close(&u);
}

/*
 * The event area cannot be written. The owner gets the error in another way, and others are not
 * disturbed.
 */
TEST("an event area out of reach is an error of its owner alone")
{
	struct drm_t3_fault fault;
	struct waiter w, other;

	waiter_open(&w);
	waiter_open(&other);
	inject(0, "fail-dma");
	raw_arm(&w.raw, 1);
	CHECK_EQ(raw_wait_fault(&w.raw, 1, &fault), -EIO);
	CHECK_EQ(fault.kind, DRM_T3_FAULT_HOST_DMA);
	CHECK_EQ(fault.epoch, 1);
	CHECK_EQ(raw_state(&w.raw), DRM_T3_SPACE_FAULTED);
	CHECK_EQ(memcmp((const void *)&w.raw.events->ring[0], (const void *)&w.raw.events->fault,
			sizeof(w.raw.events->fault)),
		 0);
	CHECK_EQ(w.raw.events->ring[0].kind, DRM_T3_FAULT_HOST_DMA);
	raw_run_epoch(&other.raw, 1);
	CHECK_EQ(space_reset(w.raw.fd, w.raw.space), 0);
	CHECK_EQ(raw_state(&w.raw), DRM_T3_SPACE_IDLE);
	raw_run_epoch(&w.raw, 1);
	raw_close(&w.raw);
	raw_close(&other.raw);
}

/* ------------------------------------------------------------------ coredump */

static void check_line(const char *dump, const char *line)
{
	if (!strstr(dump, line))
		guest_fail(__FILE__, __LINE__, "no '%s' in: %.2000s", line, dump);
}

/* The first failure is kept, whatever follows. */
TEST("the coredump shows the first failure")
{
	union drm_t3_any_command fill;
	struct waiter waiter;
	struct user u;
	uint32_t i;
	char *dump;

	user_open(&u, 0);
	waiter_open(&waiter);
	raw_arm(&waiter.raw, 1);
	raw_fill(&waiter.raw, 0, 8, 7);
	CHECK(!coredump_read());
	for (i = 0; i < 2; i++) {
		inject_hang(0, 0, true);
		fill = command_fill(u.a.handle, 4096, 64 + 64 * i, PATTERN);
		start(&u, 0, &fill, i);
		finish(&u, i, -ETIME);
		nap_ms(100);
	}
	dump = coredump_read();
	CHECK(dump);
	check_line(dump, "T3 devcoredump 1\nreason a job takes too long\n");
	check_line(dump, "\nregister ID 0x0 0x57483354\n");
	check_line(dump, "\ncounter 0 ");
	check_line(dump, "\nqueue 0 priority 0 state 1 head 0 tail 1 head 0 tail 1\n"
			 "job 1 done 0 of 1\n"
			 "step 2 op 0 dtype 0 rows 1 row_bytes 64 src 0x1122334455667788 dst ");
	check_line(dump, "\nspace 0 state 3 epoch 1 ");
	check_line(dump, "\nsegment 0 kind 1 word 0x0 tiles 4 tracked 0\n");
	CHECK(!strstr(dump, "truncated"));
	free(dump);
	raw_close(&waiter.raw);
	user_close(&u);
	CHECK(!coredump_read());
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
