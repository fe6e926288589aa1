// SPDX-License-Identifier: MIT
/* The hostile clients check no results. The test checks what the others get. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fuzz.h"
#include "hogs.h"
#include "queue.h"
#include "random.h"
#include "raw.h"

#define WAIT_MS	    1000
#define FILE_QUEUES 8u

const char *const hog_names[HOGS] = { "queues", "spaces", "link", "calls", "waits" };

struct hog_start {
	enum hog hog;
	uint32_t *done;
	struct random random;
};

static void count(struct hog_start *start)
{
	__atomic_add_fetch(start->done, 1, __ATOMIC_RELAXED);
}

static int open_node(uint32_t rank)
{
	int fd = open(guest_node(rank), O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static uint32_t take(int fd, uint64_t size)
{
	uint32_t handle = 0;

	bo_create(fd, size, &handle);
	return handle;
}

/* One of i32: rows x columns, each a sum of depth products. */
static union drm_t3_any_command product(uint32_t a, uint32_t b, uint32_t rows, uint32_t columns,
					uint32_t depth)
{
	struct drm_t3_gemm gemm = {
		.head.type = DRM_T3_COMMAND_GEMM,
		.rows = rows,
		.columns = columns,
		.depth = depth,
		.dtype = DRM_T3_I32,
		.a = { .handle = a, .pitch = depth * 4 },
		.b = { .handle = b, .pitch = columns * 4 },
		.dst.pitch = columns * 4,
		.chunk_rows = rows,
		.raster_rows = 1,
		.group_rows = 32,
		.group_columns = 32,
		.tile_rows = 32,
		.tile_columns = 32,
	};

	return ANY_COMMAND(gemm);
}

/* -------------------------------------------------------------------- queues */

#define SIDE	   256u
#define DEPTH	   64u
#define COPY_BYTES (1u << 20)
#define JOBS_AHEAD 3u
#define COMMANDS   16u

struct flood {
	int fd;
	union drm_t3_any_command commands[COMMANDS];
	uint32_t queue[FILE_QUEUES], sync[FILE_QUEUES];
	uint32_t queues;
};

static void flood_open(struct flood *f)
{
	union drm_t3_any_command gemm, copy;
	uint32_t a, b, i;

	f->fd = open_node(0);
	a = take(f->fd, SIDE * DEPTH * 4);
	b = take(f->fd, SIDE * DEPTH * 4);
	gemm = product(a, b, SIDE, SIDE, DEPTH);
	gemm.gemm.dst.handle = take(f->fd, SIDE * SIDE * 4);
	a = take(f->fd, COPY_BYTES);
	b = take(f->fd, COPY_BYTES);
	copy = command_copy(b, a, COPY_BYTES);
	for (i = 0; i < ROWS(f->commands); i++)
		f->commands[i] = i % 2 ? copy : gemm;
	for (f->queues = 0; f->queues < FILE_QUEUES; f->queues++) {
		if (queue_create(f->fd, 0, &f->queue[f->queues]))
			break;
		f->sync[f->queues] = sync_create(f->fd);
	}
}

/* Each queue always has jobs waiting after the current one. */
static void hog_queues(struct hog_start *start)
{
	struct submission s;
	struct flood f;
	uint64_t point;
	uint32_t i;

	flood_open(&f);
	for (point = 1;; point++) {
		for (i = 0; i < f.queues; i++) {
			if (point > JOBS_AHEAD)
				sync_wait(f.fd, f.sync[i], point - JOBS_AHEAD, 60 * WAIT_MS);
			s = submission(f.queue[i], f.commands, COMMANDS);
			submission_out(&s, f.sync[i], point);
			if (!submit(f.fd, &s))
				count(start);
		}
	}
}

/* -------------------------------------------------------------------- spaces */

#define MOST_ROWS 131072u
#define ROW_TILES 1024u

/* Rows of tiles of one byte each. A tile takes 17 bytes of device memory. */
static bool prepare_open(struct raw *raw, uint32_t rows)
{
	struct drm_t3_segment_map segment = raw_segment(raw);

	if (bo_create(raw->fd, (uint64_t)rows * ROW_TILES, &raw->bo))
		return false;
	if (space_create(raw->fd, raw->bo, rows * ROW_TILES, &raw->made)) {
		bo_close(raw->fd, raw->bo);
		return false;
	}
	raw->space = segment.space = raw->made.space;
	segment.op = DRM_T3_OP_STORE;
	segment.dtype = DRM_T3_U8;
	segment.rows = rows;
	segment.row_bytes = segment.pitch = ROW_TILES;
	segment.tile_rows = segment.tile_row_bytes = 1;
	raw_map(raw, &segment);
	return true;
}

static void prepare_some(struct hog_start *start, struct raw *raw)
{
	uint32_t times = 1 + random_below(&start->random, 4);

	raw->doorbell = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, raw->fd,
			     (off_t)raw->made.doorbell_offset);
	if (raw->doorbell == MAP_FAILED)
		return;
	while (times--) {
		raw_arm(raw, 1 + random_below(&start->random, 100));
		count(start);
		if (random_below(&start->random, 2))
			nap_ms(1 + random_below(&start->random, 4));
		if (random_below(&start->random, 4))
			space_reset(raw->fd, raw->space);
		else
			raw_unmap_segment(raw, 0);
	}
	munmap((void *)(uintptr_t)raw->doorbell, PAGE);
}

static void hog_spaces(struct hog_start *start)
{
	struct raw raw = { .fd = open_node(0) };
	uint32_t rows = MOST_ROWS;

	for (;;) {
		if (!prepare_open(&raw, rows)) {
			rows = rows > 1 ? rows / 2 : MOST_ROWS;
			continue;
		}
		prepare_some(start, &raw);
		space_destroy(raw.fd, raw.space);
		bo_close(raw.fd, raw.bo);
		if (!random_below(&start->random, 16))
			rows = MOST_ROWS; /* others may have left some */
	}
}

/* ---------------------------------------------------------------------- link */

#define SEGMENTS      16u
#define SEGMENT_ROWS  32u
#define SEGMENT_WORDS 256u /* in a row */
#define SEGMENT_TILES (SEGMENT_ROWS * SEGMENT_WORDS / 16)
#define SEGMENT_BYTES (SEGMENT_ROWS * SEGMENT_WORDS * 4)
#define PAIR_EPOCHS   32u

struct pair {
	struct raw source, target;
	uint32_t a, b, queue, sync;
};

static void pair_map(struct pair *p, uint32_t import, uint32_t index)
{
	bool remote = index % 2;
	struct drm_t3_segment_map segment = raw_segment(&p->target);

	segment.segment = segment.target_segment = index;
	segment.offset = index * SEGMENT_BYTES;
	segment.rows = SEGMENT_ROWS;
	segment.row_bytes = segment.pitch = SEGMENT_WORDS * 4;
	segment.tile_rows = 1;
	segment.tile_row_bytes = 64;
	segment.target_segment = 0;
	raw_map(&p->target, &segment);
	segment.space = p->source.space;
	segment.kind = remote ? DRM_T3_SEGMENT_REMOTE : DRM_T3_SEGMENT_DMA;
	segment.op = remote ? 0 : DRM_T3_OP_ADD;
	segment.init = remote ? 0 : DRM_T3_INIT_IDENTITY;
	segment.import = import;
	segment.target_op = DRM_T3_OP_ADD;
	segment.target_segment = index;
	raw_map(&p->source, &segment);
}

static void pair_open(struct pair *p)
{
	uint32_t i, import;
	int fd = open_node(0);

	raw_create_tiles(&p->source, fd, SEGMENTS * SEGMENT_BYTES, SEGMENTS * SEGMENT_TILES);
	raw_create_tiles(&p->target, open_node(1), SEGMENTS * SEGMENT_BYTES,
			 SEGMENTS * SEGMENT_TILES);
	import = raw_join(&p->source, &p->target);
	for (i = 0; i < SEGMENTS; i++)
		pair_map(p, import, i);
	p->a = take(fd, SEGMENT_ROWS * 4);
	p->b = take(fd, SEGMENT_WORDS * 4);
	CHECK_EQ(queue_create(fd, 0, &p->queue), 0);
	p->sync = sync_create(fd);
}

/* All tiles of a segment become ready, or are sent at once. */
static void pair_fill(struct pair *p, uint32_t index)
{
	union drm_t3_any_command command = product(p->a, p->b, SEGMENT_ROWS, SEGMENT_WORDS, 1);

	command.gemm.space = p->source.space;
	command.gemm.dst.offset = index * SEGMENT_BYTES;
	submit_one(p->source.fd, p->queue, &command, p->sync);
}

static void pair_epoch(struct hog_start *start, struct pair *p, uint32_t epoch)
{
	uint32_t i;

	raw_arm(&p->target, epoch);
	raw_arm(&p->source, epoch);
	raw_wait(&p->source, DRM_T3_WAIT_ARMED, epoch, 0, after_ms(WAIT_MS));
	for (i = 0; i < SEGMENTS; i++)
		pair_fill(p, i);
	/* Sometimes it destroys itself in the middle of that. */
	if (random_below(&start->random, 2))
		sync_wait(p->source.fd, p->sync, 0, WAIT_MS);
	if (random_below(&start->random, 2))
		raw_wait(&p->target, DRM_T3_WAIT_DELIVERED, epoch, 0, after_ms(WAIT_MS / 10));
	for (i = 0; i < 8; i++) {
		space_reset(p->target.fd, p->target.space);
		raw_arm(&p->target, epoch + 1 + i);
		space_reset(p->source.fd, p->source.space);
		raw_arm(&p->source, epoch + 1 + i);
	}
	sync_wait(p->source.fd, p->sync, 0, 60 * WAIT_MS);
	space_reset(p->target.fd, p->target.space);
	space_reset(p->source.fd, p->source.space);
	count(start);
}

static void hog_link(struct hog_start *start)
{
	struct pair p;
	uint32_t i;

	for (;;) {
		pair_open(&p);
		for (i = 0; i < PAIR_EPOCHS; i++)
			pair_epoch(start, &p, 1 + 16 * i);
		/* Destroy the target first, without notice for the source. */
		raw_close(&p.target);
		raw_close(&p.source);
	}
}

/* --------------------------------------------------------------------- calls */

#define PIECE	  (1u << 20)
#define PROGRAM_S 2

/* Allocate, map and touch all memory that it may have, and free it. */
static void take_memory(void)
{
	int fd = open_node(0);
	uint32_t handle;
	uint8_t *memory;

	while (!bo_create(fd, PIECE, &handle)) {
		memory = bo_map(fd, handle, PIECE);
		memory[PIECE / 2] = 1;
		if (handle % 2)
			munmap(memory, PIECE);
	}
	nap_ms(20);
	close(fd);
}

static void random_program(struct hog_start *start, struct fuzz_shared *shared)
{
	struct fuzz_program program = { .count = FUZZ_FRAGMENTS };
	uint32_t i;

	for (i = 0; i < FUZZ_FRAGMENTS; i++)
		program.fragments[i] = random_u64(&start->random);
	fuzz_run(&program, shared);
}

/* In a process of its own, because the random calls end its files and mappings. */
static void call_something(struct hog_start *start, struct fuzz_shared *shared, bool memory)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid) {
		waitpid(pid, NULL, 0);
		kill(-pid, SIGKILL); /* what it has forked */
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	alarm(PROGRAM_S * guest_slowness()); /* some wait for good */
	if (!memory)
		random_program(start, shared);
	become(UID_USER, true); /* as the random programs */
	take_memory();
	_exit(0);
}

/* The only process that stays root, to create users. It makes no other calls itself. */
static void hog_calls(struct hog_start *start)
{
	struct fuzz_shared *shared;
	bool memory = false;

	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	for (;; memory = !memory) {
		random_u64(&start->random);
		call_something(start, shared, memory);
		count(start);
	}
}

/* --------------------------------------------------------------------- waits */

#define WAITERS	   100u
#define WAIT_SYNCS 16u

static void *wait_in_vain(void *arg)
{
	struct hog_start *start = arg;
	uint32_t syncs[WAIT_SYNCS], i;
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)syncs,
					 .count_handles = WAIT_SYNCS,
					 .flags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT };
	int fd = open_node(0);

	for (i = 0; i < WAIT_SYNCS; i++)
		syncs[i] = sync_create(fd);
	for (;;) {
		wait.timeout_nsec = after_ms(WAIT_MS);
		if (call(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait) == -ETIME)
			count(start);
	}
	return NULL;
}

static void hog_waits(struct hog_start *start)
{
	pthread_t thread;
	uint32_t i;

	for (i = 1; i < WAITERS; i++)
		CHECK_EQ(pthread_create(&thread, NULL, wait_in_vain, start), 0);
	wait_in_vain(start);
}

static void hog_body(int sock, void *arg)
{
	static void (*const bodies[HOGS])(struct hog_start * start) = {
		[HOG_QUEUES] = hog_queues, [HOG_SPACES] = hog_spaces, [HOG_LINK] = hog_link,
		[HOG_CALLS] = hog_calls,   [HOG_WAITS] = hog_waits,
	};
	struct hog_start *start = arg;

	(void)sock;
	alarm(0);
	if (start->hog != HOG_CALLS)
		become(UID_USER + 1 + (uid_t)start->hog, true);
	bodies[start->hog](start);
}

void hog_start(struct child *child, enum hog hog, uint32_t *done)
{
	struct hog_start start = {
		.hog = hog,
		.done = done,
		.random = random_seed((uint64_t)now_ns()),
	};

	child_start(child, hog_body, &start);
}
