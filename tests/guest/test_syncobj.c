// SPDX-License-Identifier: MIT
/* The core's syncobj ioctls on T3 nodes, where the driver must guard them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "child.h"
#include "module.h"
#include "queue.h"
#include "raw.h"

#define WAIT_MS 10000

/* The core would try to allocate any size that they say. */
TEST("sizes of arrays are bounded")
{
	static uint32_t handles[DRM_T3_SYNCOBJS_MAX + 1];
	static uint64_t points[DRM_T3_SYNCOBJS_MAX + 1];
	struct drm_syncobj_timeline_wait wait = { .handles = (uintptr_t)handles,
						  .points = (uintptr_t)points };
	struct drm_syncobj_array array = { .handles = (uintptr_t)handles };
	int fd = open_rank(0);
	uint32_t i;

	handles[0] = sync_create(fd);
	for (i = 0; i <= DRM_T3_SYNCOBJS_MAX; i++)
		handles[i] = handles[0];
	array.count_handles = wait.count_handles = DRM_T3_SYNCOBJS_MAX;
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait), 0);
	array.count_handles = wait.count_handles = DRM_T3_SYNCOBJS_MAX + 1;
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), -EINVAL);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_RESET, &array), -EINVAL);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait), -EINVAL);
	array.count_handles = wait.count_handles = 0xffffffff;
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), -EINVAL);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &wait), -EINVAL);
	close(fd);
}

/* A syncobj with the fence of a job that has run. */
static uint32_t sync_with_fence(int fd)
{
	uint32_t sync = sync_create(fd), queue, bo;
	union drm_t3_any_command command;

	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	command = command_fill(bo, 0, PAGE, 1);
	CHECK_EQ(submit_one(fd, queue, &command, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, WAIT_MS), 0);
	return sync;
}

TEST("a submission's points have no flags")
{
	union drm_t3_any_command command;
	struct submission s;
	int fd = open_rank(0);
	uint32_t queue, bo, i;

	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	command = command_fill(bo, 0, PAGE, 1);
	for (i = 0; i < 2; i++) {
		s = submission(queue, &command, 1);
		if (i)
			submission_in(&s, sync_with_fence(fd), 0);
		else
			submission_out(&s, sync_create(fd), 0);
		*(i ? &s.ins[0].flags : &s.outs[0].flags) = 1;
		CHECK_EQ(submit(fd, &s), -EINVAL);
		s.ins[0].flags = s.outs[0].flags = 0;
		CHECK_EQ(submit(fd, &s), 0);
	}
	close(fd);
}

static int transfer(int fd, uint32_t dst, uint64_t point, uint32_t src, uint32_t flags)
{
	struct drm_syncobj_transfer args = {
		.src_handle = src, .dst_handle = dst, .dst_point = point, .flags = flags
	};

	return call(fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &args);
}

/*
 * drm_syncobj_find_fence() of 6.12.95 leaks a reference when it refuses flags. The syncobj, its
 * fence and with it this module would stay for ever.
 */
TEST("refused transfers hold nothing")
{
	static const uint32_t flags[] = { DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL,
					  DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE,
					  DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT | 1u << 3,
					  1u << 31 };
	uint32_t src, dst;
	size_t i;
	int fd;

	module_await_unused();
	fd = open_rank(0);
	src = sync_with_fence(fd);
	dst = sync_create(fd);
	for (i = 0; i < ROWS(flags); i++) {
		CHECK_EQ(transfer(fd, dst, 0, src, flags[i]), -EINVAL);
		CHECK_EQ(transfer(fd, dst, 1, src, flags[i]), -EINVAL);
	}
	CHECK_EQ(transfer(fd, dst, 0, src, 0), 0);
	CHECK_EQ(transfer(fd, dst, 1, src, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT), 0);
	CHECK_EQ(sync_wait(fd, dst, 1, WAIT_MS), 0);
	close(fd);
	module_await_unused();
}

/* ----------------------------------------------------------- racing writers */

#define RACE_ROUNDS (60000u / guest_slowness())

/* A word that another thread switches between two values at full speed. */
struct flips {
	volatile uint32_t *word;
	uint32_t values[2];
	atomic_bool stop;
};

static void *flip(void *arg)
{
	struct flips *flips = arg;
	uint32_t i;

	for (i = 0; !flips->stop; i++)
		*flips->word = flips->values[i % 2];
	return NULL;
}

/* Call while a word of the argument changes. Each answer belongs to one value or the other. */
static void race(int fd, unsigned long request, void *arg, struct flips *flips)
{
	uint32_t i, rounds = RACE_ROUNDS, wrong = 0;
	pthread_t thread;

	flips->stop = false;
	CHECK_EQ(pthread_create(&thread, NULL, flip, flips), 0);
	for (i = 0; i < rounds; i++) {
		int got = call(fd, request, arg);

		wrong += got && got != -EINVAL;
	}
	flips->stop = true;
	pthread_join(thread, NULL);
	CHECK_EQ(wrong, 0);
}

static void race_counts(int fd, uint32_t sync)
{
	uint32_t handles[2] = { sync, sync };
	uint64_t points[2] = { 0 };
	struct drm_syncobj_wait wait = { .handles = (uintptr_t)handles };
	struct drm_syncobj_timeline_array query = { .handles = (uintptr_t)handles,
						    .points = (uintptr_t)points };
	struct flips flips = { .word = &wait.count_handles, .values = { 1, 0x20000000 } };

	race(fd, DRM_IOCTL_SYNCOBJ_WAIT, &wait, &flips);
	flips.word = &query.count_handles;
	race(fd, DRM_IOCTL_SYNCOBJ_QUERY, &query, &flips);
}

static void race_body(int sock, void *arg)
{
	struct drm_syncobj_transfer transfer = { 0 };
	struct flips flips = { .word = &transfer.flags, .values = { 0, 0x80 } };
	int fd;

	(void)sock;
	(void)arg;
	fd = open_rank(0);
	become(UID_USER, true);
	transfer.src_handle = sync_with_fence(fd);
	transfer.dst_handle = sync_create(fd);
	race_counts(fd, transfer.src_handle);
	race(fd, DRM_IOCTL_SYNCOBJ_TRANSFER, &transfer, &flips);
	close(fd);
}

/* --------------------------------------------------- what the core would answer */

static int timeline_wait(int fd, const uint32_t *handles, const uint64_t *points, uint32_t count,
			 uint32_t flags, int ms, uint32_t *first)
{
	struct drm_syncobj_timeline_wait args = { .handles = (uintptr_t)handles,
						  .points = (uintptr_t)points,
						  .count_handles = count,
						  .flags = flags };
	int ret;

	args.timeout_nsec = ms ? now_ns() + ms * 1000000ll : 0;
	ret = call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
	if (first)
		*first = args.first_signaled;
	return ret;
}

static int array_call(int fd, unsigned long request, uint32_t sync)
{
	struct drm_syncobj_array args = { .handles = (uintptr_t)&sync, .count_handles = 1 };

	return call(fd, request, &args);
}

static int points_call(int fd, unsigned long request, uint32_t sync, uint64_t *point,
		       uint32_t flags)
{
	struct drm_syncobj_timeline_array args = { .handles = (uintptr_t)&sync,
						   .points = (uintptr_t)point,
						   .count_handles = 1,
						   .flags = flags };

	return call(fd, request, &args);
}

TEST("calls with binary syncobjs work as documented")
{
	int fd = open_rank(0);
	uint32_t syncs[2] = { sync_create(fd), sync_create(fd) }, first;

	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 0, 0, NULL), -EINVAL);
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 2, 50, NULL), -ETIME);
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 1u << 4, 0, NULL), -EINVAL);
	CHECK_EQ(array_call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, syncs[1]), 0);
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 0, 0, NULL), -EINVAL);
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 2, 0, &first), 0);
	CHECK_EQ(first, 1);
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 3, 50, NULL), -ETIME);
	CHECK_EQ(array_call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, syncs[0]), 0);
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 1, 0, NULL), 0);
	CHECK_EQ(array_call(fd, DRM_IOCTL_SYNCOBJ_RESET, syncs[0]), 0);
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 1, 0, NULL), -EINVAL);
	CHECK_EQ(array_call(fd, DRM_IOCTL_SYNCOBJ_RESET, 0), -ENOENT);
	syncs[1] = 12345;
	CHECK_EQ(timeline_wait(fd, syncs, NULL, 2, 2, 0, NULL), -ENOENT);
	CHECK_EQ(timeline_wait(fd, NULL, NULL, 2, 2, 0, NULL), -EFAULT);
	close(fd);
}

TEST("calls with timelines work as documented")
{
	int fd = open_rank(0);
	uint32_t sync = sync_create(fd), dst = sync_create(fd);
	uint64_t point = 5, wanted = 6, got = 99;

	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, sync, &got, 0), 0);
	CHECK_EQ(got, 0);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, sync, &point, 0), 0);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, sync, &point, 1), -EINVAL);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, sync, &got, 0), 0);
	CHECK_EQ(got, 5);
	CHECK_EQ(timeline_wait(fd, &sync, &point, 1, 0, 0, NULL), 0);
	CHECK_EQ(timeline_wait(fd, &sync, &wanted, 1, 0, 0, NULL), -EINVAL);
	CHECK_EQ(timeline_wait(fd, &sync, &wanted, 1, 4, 50, NULL), -ETIME);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, sync, &wanted, 0), 0);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, sync, &got, 1), 0);
	CHECK_EQ(got, 6);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, sync, NULL, 0), -EFAULT);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, sync, &got, 2), -EINVAL);
	CHECK_EQ(transfer(fd, dst, 7, sync, 0), 0);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, dst, &got, 0), 0);
	CHECK_EQ(got, 7);
	close(fd);
}

/* A point after a job is reached when both have ended. */
TEST("a point after a job is reached when both have ended")
{
	uint64_t points[2] = { 3, 8 }, got;
	int fd = open_rank(0);
	uint32_t first = sync_with_fence(fd), sync = sync_create(fd);

	CHECK_EQ(transfer(fd, sync, points[0], first, 0), 0);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, sync, &points[1], 0), 0);
	CHECK_EQ(timeline_wait(fd, &sync, &points[1], 1, 0, WAIT_MS, NULL), 0);
	CHECK_EQ(points_call(fd, DRM_IOCTL_SYNCOBJ_QUERY, sync, &got, 0), 0);
	CHECK_EQ(got, points[1]);
	close(fd);
}

struct signaller {
	int fd;
	uint32_t sync;
};

static void *signal_soon(void *arg)
{
	const struct signaller *who = arg;

	usleep(50000);
	CHECK_EQ(array_call(who->fd, DRM_IOCTL_SYNCOBJ_SIGNAL, who->sync), 0);
	return NULL;
}

/* One waits for a fence that another thread submits later. */
TEST("a wait may begin before the submission")
{
	static const uint32_t flags[] = { 2, 3, 4, 6 };
	struct signaller who = { .fd = open_rank(0) };
	pthread_t thread;
	size_t i;

	for (i = 0; i < ROWS(flags); i++) {
		who.sync = sync_create(who.fd);
		CHECK_EQ(pthread_create(&thread, NULL, signal_soon, &who), 0);
		CHECK_EQ(timeline_wait(who.fd, &who.sync, NULL, 1, flags[i], WAIT_MS, NULL), 0);
		pthread_join(thread, NULL);
	}
	close(who.fd);
}

/* ------------------------------------------------------------ who is woken */

#define FIRST_LOOK_MS 7 /* after so long a wait has not looked again by itself */
#define EVERY_LOOK_MS 8
#define WAKE_ROUNDS   (guest_slowness() > 1 ? 5u : 100u)
#define OTHERS_JOBS   (500 / guest_slowness())

/* A thread that waits for a syncobj to get a fence. */
struct sleeper {
	pthread_t thread;
	int fd;
	uint32_t sync;
	atomic_int tid; /* 0: it does not run yet */
	int64_t ns;	/* how long it has waited */
	long switches;	/* how often it was switched off meanwhile, because it slept */
};

static long switches(void)
{
	struct rusage usage;

	CHECK_EQ(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw;
}

static void *sleep_for_fence(void *arg)
{
	struct sleeper *s = arg;
	int64_t start = now_ns();

	s->switches = -switches();
	s->tid = gettid();
	CHECK_EQ(timeline_wait(s->fd, &s->sync, NULL, 1, 4, WAIT_MS * (int)guest_slowness(), NULL),
		 0);
	s->switches += switches();
	s->ns = now_ns() - start;
	return NULL;
}

static bool asleep(pid_t tid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state == 'S';
}

static void sleeper_start(struct sleeper *s, int fd, uint32_t sync)
{
	*s = (struct sleeper){ .fd = fd, .sync = sync };
	CHECK_EQ(pthread_create(&s->thread, NULL, sleep_for_fence, s), 0);
	while (!s->tid || !asleep(s->tid))
		sched_yield();
}

/* What gives a syncobj its fence. */
struct giver {
	int fd;
	uint32_t queue, bo, ready; /* ready: a syncobj with a fence */
	int sync_file;
};

static void give_by_submit(const struct giver *g, uint32_t sync)
{
	union drm_t3_any_command command = command_fill(g->bo, 0, 8, 1);

	CHECK_EQ(submit_one(g->fd, g->queue, &command, sync), 0);
}

static void give_by_signal(const struct giver *g, uint32_t sync)
{
	CHECK_EQ(array_call(g->fd, DRM_IOCTL_SYNCOBJ_SIGNAL, sync), 0);
}

static void give_by_point(const struct giver *g, uint32_t sync)
{
	uint64_t point = 1;

	CHECK_EQ(points_call(g->fd, DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, sync, &point, 0), 0);
}

static void give_by_transfer(const struct giver *g, uint32_t sync)
{
	CHECK_EQ(transfer(g->fd, sync, 0, g->ready, 0), 0);
}

static void give_by_sync_file(const struct giver *g, uint32_t sync)
{
	struct drm_syncobj_handle args = {
		.handle = sync,
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = g->sync_file,
	};

	CHECK_EQ(call(g->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &args), 0);
}

static void giver_open(struct giver *g)
{
	g->fd = open_rank(0);
	CHECK_EQ(queue_create(g->fd, 0, &g->queue), 0);
	CHECK_EQ(bo_create(g->fd, PAGE, &g->bo), 0);
	g->ready = sync_create(g->fd);
	give_by_submit(g, g->ready);
	CHECK_EQ(sync_wait(g->fd, g->ready, 0, WAIT_MS), 0);
	g->sync_file = sync_export(g->fd, g->ready);
}

static void giver_close(struct giver *g)
{
	close(g->sync_file);
	close(g->fd);
}

/*
 * Returns whether one wait of many ended before it looked by itself. A busy machine delays some. In a
 * slow kernel a submit takes longer than a wait for its next look, so there it only has to end.
 */
static bool wakes(const struct giver *g, void (*give)(const struct giver *g, uint32_t sync))
{
	struct sleeper s = { .ns = INT64_MAX };
	uint32_t i, sync;

	for (i = 0; i < WAKE_ROUNDS && s.ns >= FIRST_LOOK_MS * 1000000ll; i++) {
		sync = sync_create(g->fd);
		sleeper_start(&s, g->fd, sync);
		give(g, sync);
		pthread_join(s.thread, NULL);
		sync_destroy(g->fd, sync);
	}
	return i < WAKE_ROUNDS || guest_slowness() > 1;
}

TEST("a fence wakes the waits for it")
{
	struct giver g;

	giver_open(&g);
	CHECK(wakes(&g, give_by_submit));
	CHECK(wakes(&g, give_by_signal));
	CHECK(wakes(&g, give_by_point));
	CHECK(wakes(&g, give_by_transfer));
	CHECK(wakes(&g, give_by_sync_file));
	giver_close(&g);
	if (guest_slowness() > 1) {
		print_message(
			"# all waits ended, and were not judged: a slow kernel's submit takes "
			"longer than their next look\n");
		skip();
	}
}

/* It counts how often a wait sleeps again. Its own looks are allowed, one for each job is not. */
TEST("submissions wake no other waits")
{
	struct sleeper s;
	struct giver g;
	uint32_t other, i;

	giver_open(&g);
	other = sync_create(g.fd);
	sleeper_start(&s, g.fd, sync_create(g.fd));
	for (i = 0; i < OTHERS_JOBS; i++) {
		give_by_submit(&g, other);
		CHECK_EQ(sync_wait(g.fd, other, 0, WAIT_MS), 0);
	}
	give_by_signal(&g, s.sync);
	pthread_join(s.thread, NULL);
	printf("# %u jobs of others in %lld ms, a wait has slept %ld times\n", OTHERS_JOBS,
	       (long long)s.ns / 1000000, s.switches);
	CHECK(s.switches <= s.ns / (EVERY_LOOK_MS * 1000000) + 2);
	giver_close(&g);
}

/* Many waits for one syncobj, and one wait that looks for it many times. */
TEST("many waits for one syncobj are woken")
{
	uint32_t handles[64], sync, i;
	struct sleeper s[8];
	struct giver g;

	giver_open(&g);
	sync = sync_create(g.fd);
	for (i = 0; i < ROWS(s); i++)
		sleeper_start(&s[i], g.fd, sync);
	for (i = 0; i < ROWS(handles); i++)
		handles[i] = i ? sync : g.ready;
	CHECK_EQ(timeline_wait(g.fd, handles, NULL, ROWS(handles), 3, 50, NULL), -ETIME);
	give_by_submit(&g, sync);
	CHECK_EQ(timeline_wait(g.fd, handles, NULL, ROWS(handles), 3, WAIT_MS, NULL), 0);
	for (i = 0; i < ROWS(s); i++)
		pthread_join(s[i].thread, NULL);
	giver_close(&g);
}

/* Structs of other sizes: before the deadline hint came, with it, and longer. */
TEST("structs of other sizes are accepted")
{
	static const unsigned int sizes[] = { 32, 40, 48 };
	union {
		struct drm_syncobj_wait known;
		uint8_t bytes[48];
	} args = { 0 };
	unsigned int nr = DRM_IOCTL_SYNCOBJ_WAIT & 0xff;
	int fd = open_rank(0);
	uint32_t sync = sync_create(fd);
	size_t i;

	memset(&args.bytes[32], 0xff, 16);
	CHECK_EQ(array_call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, sync), 0);
	args.known.handles = (uintptr_t)&sync;
	args.known.count_handles = 1;
	for (i = 0; i < ROWS(sizes); i++)
		CHECK_EQ(call(fd, _IOC(3, 'd', nr, sizes[i]), &args), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_WAIT, NULL), -EFAULT);
	args.known.flags = 4;
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_WAIT, &args), -EINVAL);
	close(fd);
}

/* The driver uses the argument that it has checked, whatever other threads do. */
TEST("racing writers get nothing past the checks")
{
	struct child child;

	module_await_unused();
	child_start(&child, race_body, NULL);
	CHECK_EQ(child_end(&child, 120000), 0);
	module_await_unused();
	check_kernel_log();
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
