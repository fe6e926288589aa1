// SPDX-License-Identifier: MIT
/* DRM_T3_SPACE_WAIT: progress, deadline, restart, and what wakes it. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "raw.h"

static void open_local(struct raw *raw)
{
	raw_open(raw, 0, PAGE);
	raw_map_local(raw);
}

/* ARMED ignores the mask. */
TEST("a wait for ARMED ignores the mask")
{
	struct raw raw;

	open_local(&raw);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_ARMED, 1, ~0ull, 0), -ETIMEDOUT);
	raw_arm(&raw, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_ARMED, 1, ~0ull, 0), 0);
	raw_close(&raw);
}

TEST("deadlines that are 0 or past only look")
{
	static const uint32_t what[] = {
		DRM_T3_WAIT_ARMED,
		DRM_T3_WAIT_TRACKED,
		DRM_T3_WAIT_DELIVERED,
	};
	int64_t start = now_ns();
	struct raw raw;
	size_t i;

	open_local(&raw);
	for (i = 0; i < ROWS(what); i++) {
		CHECK_EQ(raw_wait(&raw, what[i], 1, 0, 0), -ETIMEDOUT);
		CHECK_EQ(raw_wait(&raw, what[i], 1, 0, 1), -ETIMEDOUT);
		CHECK_EQ(raw_wait(&raw, what[i], 1, 0, start), -ETIMEDOUT);
	}
	raw_run_epoch(&raw, 1);
	for (i = 0; i < ROWS(what); i++) {
		CHECK_EQ(raw_wait(&raw, what[i], 1, 0, 0), 0);
		CHECK_EQ(raw_wait(&raw, what[i], 1, 0, 1), 0);
		CHECK_EQ(raw_wait(&raw, what[i], 1, 0, start), 0);
		CHECK_EQ(raw_wait(&raw, what[i], 2, 0, 0), -ETIMEDOUT);
	}
	CHECK(now_ns() - start < 5000000000);
	raw_close(&raw);
}

/* The kernel copies the struct back, and a call that a signal restarts reads it again. */
TEST("a wait leaves its mask as it was given")
{
	struct drm_t3_space_wait arg = { .what = DRM_T3_WAIT_DELIVERED, .epoch = 1 };
	struct raw raw;

	open_local(&raw);
	arg.space = raw.space;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SPACE_WAIT, &arg), -ETIMEDOUT);
	CHECK_EQ(arg.segment_mask, 0);
	raw_close(&raw);
}

TEST("a deadline is kept")
{
	int64_t deadline, late;
	struct raw raw;

	open_local(&raw);
	raw_arm(&raw, 1);
	deadline = after_ms(60);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 0, deadline), -ETIMEDOUT);
	late = now_ns() - deadline;
	CHECK(late >= 0);
	CHECK(late < 2000000000);
	raw_close(&raw);
}

/* Each mask on its own; 0 is all that are mapped. */
TEST("each mask waits for its segments, and 0 for all")
{
	struct drm_t3_segment_map segment;
	struct raw raw;

	open_local(&raw);
	segment = raw_segment(&raw);
	segment.segment = 63;
	segment.offset = 1024;
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_arm(&raw, 1);
	raw_fill(&raw, 1024, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 1, 1ull << 63, 0), 0);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 1ull << 63, 0), 0);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 1, 1, 0), -ETIMEDOUT);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 1, 0, 0), -ETIMEDOUT);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 1 | 1ull << 63, 0), -ETIMEDOUT);
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES - 8, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 1, 1, 0), -ETIMEDOUT);
	raw_fill(&raw, RAW_SEGMENT_BYTES - 8, 8, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 1, 1, 0), 0);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 0, 0), 0);
	raw_close(&raw);
}

TEST("a space without segments is delivered at once")
{
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 0, 0), -ETIMEDOUT);
	raw_arm(&raw, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(2000)), 0);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_COMPLETE);
	raw_close(&raw);
}

TEST("epochs that are over count as delivered")
{
	struct raw raw;

	open_local(&raw);
	raw_run_epoch(&raw, 7);
	raw_run_epoch(&raw, 8);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 7, 1, 0), 0);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 8, 1, 0), 0);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 9, 1, 0), -ETIMEDOUT);
	raw_arm(&raw, 9);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 8, 1, 0), 0);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 9, 1, 0), -ETIMEDOUT);
	/* A fault does not change the epochs before it. */
	put8(raw.aperture, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 9, 1, 0), -EIO);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 8, 1, 0), 0);
	raw_close(&raw);
}

/* A wait fd and an eventfd for segment 0. */
static void open_notifiers(const struct raw *raw, struct pollfd poller[2])
{
	struct drm_t3_space_wait_fd wait_fd = { .space = raw->space, .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .space = raw->space, .segment_mask = 1 };

	CHECK_EQ(call(raw->fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	event.fd = eventfd(0, EFD_CLOEXEC);
	CHECK_EQ(call(raw->fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
	poller[0] = (struct pollfd){ .fd = wait_fd.fd, .events = POLLIN };
	poller[1] = (struct pollfd){ .fd = event.fd, .events = POLLIN };
}

/* ---------------------------------------------- updates behind the last one that counts */

static void store_twice(const struct raw *raw)
{
	put64(raw->aperture, 1);
}

static void store_narrow(const struct raw *raw)
{
	put8(raw->aperture + 64, 1);
}

static void store_outside(const struct raw *raw)
{
	put64(raw->aperture + 512, 1);
}

static void ring_again(const struct raw *raw)
{
	raw_ring_tile(raw, 0, 0, 3);
}

static void ring_for_no_tile(const struct raw *raw)
{
	raw_ring_tile(raw, 0, 0, 4);
}

static void release_early(const struct raw *raw)
{
	raw_release(raw, 2);
}

struct late {
	const char *what;
	void (*act)(const struct raw *raw);
	uint32_t armed;	   /* the fault's kind while segment 1 is not complete */
	uint32_t complete; /* and when the space is COMPLETE; NONE: it is no fault then */
};

/* No wait of that epoch succeeds. poll() shows no POLLIN, and the eventfd was signalled for it. */
static void check_late(const struct late *late, bool complete)
{
	uint32_t kind = complete ? late->complete : late->armed;
	struct drm_t3_segment_map other;
	struct drm_t3_fault fault;
	struct pollfd poller[2];
	struct raw raw;
	uint64_t value;
	uint32_t what;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	other = raw_segment(&raw);
	other.segment = 1;
	other.offset = 1024;
	CHECK_EQ(raw_map(&raw, &other), 0);
	CHECK_EQ(raw_stage(&raw, 0, raw.bo, RAW_SEGMENT_BYTES, 1), 0);
	open_notifiers(&raw, poller);
	raw_arm(&raw, 1);
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES, 1);
	raw_fill(&raw, 1024, RAW_SEGMENT_BYTES, 1);
	raw_release(&raw, 1);
	CHECK_EQ(read(poller[1].fd, &value, sizeof(value)), sizeof(value));
	raw_arm(&raw, 2);
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES, 1);
	if (complete)
		raw_fill(&raw, 1024, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 2, 1, 0), 0);
	CHECK_EQ(read(poller[1].fd, &value, sizeof(value)), sizeof(value));
	late->act(&raw);
	for (what = DRM_T3_WAIT_TRACKED; what <= DRM_T3_WAIT_DELIVERED; what++) {
		CHECK_EQ(raw_wait(&raw, what, 2, 1, 0), -EIO);
		CHECK_EQ(raw_wait(&raw, what, 2, 0, 0), -EIO);
		CHECK_EQ(raw_wait(&raw, what, 2, 1, after_ms(2000)), -EIO);
		CHECK_EQ(raw_wait(&raw, what, 1, 1, 0), 0);
	}
	CHECK_EQ(raw_wait_fault(&raw, 2, &fault), -EIO);
	if (fault.kind != kind || fault.epoch != 2)
		guest_fail(__FILE__, __LINE__, "%s: fault %u in epoch %u", late->what, fault.kind,
			   fault.epoch);
	/* The eventfd is signalled by the interrupt, which may come later. */
	CHECK_EQ(poll(&poller[0], 1, 10000), 1);
	CHECK_EQ(poller[0].revents, POLLERR);
	CHECK_EQ(poll(&poller[1], 1, 10000), 1);
	CHECK_EQ(poller[1].revents, POLLIN);
	close(poller[0].fd);
	close(poller[1].fd);
	raw_close(&raw);
}

TEST("updates after the last one fault")
{
	static const struct late rows[] = {
		{ "a store again", store_twice, DRM_T3_FAULT_OVERSHOOT, DRM_T3_FAULT_NOT_ARMED },
		{ "a narrow store", store_narrow, DRM_T3_FAULT_WIDTH, DRM_T3_FAULT_NOT_ARMED },
		{ "a store outside", store_outside, DRM_T3_FAULT_UNMAPPED, DRM_T3_FAULT_NOT_ARMED },
		{ "a doorbell again", ring_again, DRM_T3_FAULT_OVERSHOOT, DRM_T3_FAULT_NOT_ARMED },
		{ "a doorbell for no tile", ring_for_no_tile, DRM_T3_FAULT_BAD_DOORBELL,
		  DRM_T3_FAULT_BAD_DOORBELL },
		{ "an early release", release_early, DRM_T3_FAULT_BAD_ARM, DRM_T3_FAULT_NONE },
	};
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		check_late(&rows[i], false);
		if (rows[i].complete)
			check_late(&rows[i], true);
	}
}

/*
 * A -> B -> C, and C is not armed. B stays ARMING and takes A's updates. So B's tiles are tracked,
 * and not delivered until C arms.
 */
TEST("tiles are tracked before they are delivered")
{
	struct drm_t3_segment_map segment;
	struct pollfd poller[2];
	struct raw a, b, c;

	if (guest_ranks() < 3)
		skip();
	raw_open(&a, 0, PAGE);
	raw_open(&b, 1, PAGE);
	raw_open(&c, 2, PAGE);
	raw_map_local(&c);
	segment = raw_sender(&b, DRM_T3_SEGMENT_DMA, raw_join(&b, &c), 0);
	CHECK_EQ(raw_map(&b, &segment), 0);
	segment = raw_sender(&a, DRM_T3_SEGMENT_REMOTE, raw_join(&a, &b), 0);
	CHECK_EQ(raw_map(&a, &segment), 0);
	open_notifiers(&b, poller);
	raw_arm(&b, 1);
	raw_arm(&a, 1);
	CHECK_EQ(raw_wait(&a, DRM_T3_WAIT_ARMED, 1, 0, after_ms(2000)), 0);
	CHECK_EQ(raw_wait(&b, DRM_T3_WAIT_ARMED, 1, 0, after_ms(30)), -ETIMEDOUT);
	raw_fill(&a, 0, RAW_SEGMENT_BYTES, 11);
	CHECK_EQ(raw_wait(&a, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(2000)), 0);
	CHECK_EQ(raw_wait(&b, DRM_T3_WAIT_TRACKED, 1, 1, after_ms(2000)), 0);
	CHECK_EQ(raw_wait(&b, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(30)), -ETIMEDOUT);
	CHECK_EQ(b.events->segment[0], 1 | DRM_T3_WORD_TRACKED);
	CHECK_EQ(poll(poller, 2, 30), 0);
	raw_arm(&c, 1);
	CHECK_EQ(raw_wait(&b, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(2000)), 0);
	CHECK_EQ(raw_wait(&c, DRM_T3_WAIT_DELIVERED, 1, 1, after_ms(2000)), 0);
	CHECK_EQ(((volatile uint32_t *)c.memory)[RAW_SEGMENT_BYTES / 4 - 1], 11);
	nap_ms(50); /* for the interrupt */
	CHECK_EQ(poll(poller, 2, 0), 2);
	close(poller[0].fd);
	close(poller[1].fd);
	raw_close(&a);
	raw_close(&b);
	raw_close(&c);
}

/* -------------------------------------------------------------- wake-ups */

struct sleeper {
	const struct raw *raw;
	int result;
	int64_t end;
	struct drm_t3_fault fault;
};

static void *sleep_for_epoch_1(void *arg)
{
	struct sleeper *sleeper = arg;

	sleeper->result = raw_wait_fault(sleeper->raw, 1, &sleeper->fault);
	sleeper->end = now_ns();
	return NULL;
}

/* Start a waiter, act after a while, and check its result and delay. */
static void check_woken(struct raw *raw, void *(*body)(void *), void (*act)(struct raw *), int want,
			struct sleeper *sleeper)
{
	pthread_t thread;
	int64_t acted;

	*sleeper = (struct sleeper){ .raw = raw };
	CHECK_EQ(pthread_create(&thread, NULL, body, sleeper), 0);
	nap_ms(50);
	acted = now_ns();
	act(raw);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(sleeper->result, want);
	CHECK(sleeper->end >= acted);
	CHECK(sleeper->end - acted < 1500000000);
}

static void act_finish(struct raw *raw)
{
	raw_fill(raw, 0, RAW_SEGMENT_BYTES, 1);
}

static void act_fault(struct raw *raw)
{
	put16(raw->aperture + 8, 1);
}

static void act_destroy(struct raw *raw)
{
	space_destroy(raw->fd, raw->space);
}

TEST("stores wake a wait")
{
	struct sleeper sleeper;
	struct raw raw;

	open_local(&raw);
	raw_arm(&raw, 1);
	check_woken(&raw, sleep_for_epoch_1, act_finish, 0, &sleeper);
	raw_close(&raw);
}

/* Without a deadline no timer is armed. Only the awaited event or a signal ends the wait. */
static void *sleep_without_deadline(void *arg)
{
	struct sleeper *sleeper = arg;

	sleeper->result = raw_wait(sleeper->raw, DRM_T3_WAIT_DELIVERED, 1, 0, INT64_MAX);
	sleeper->end = now_ns();
	return NULL;
}

TEST("stores wake a wait without a deadline")
{
	struct sleeper sleeper;
	struct raw raw;

	open_local(&raw);
	raw_arm(&raw, 1);
	check_woken(&raw, sleep_without_deadline, act_finish, 0, &sleeper);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 0, INT64_MAX), 0);
	raw_close(&raw);
}

TEST("a fault wakes a wait")
{
	struct sleeper sleeper;
	struct raw raw;

	open_local(&raw);
	raw_arm(&raw, 1);
	check_woken(&raw, sleep_for_epoch_1, act_fault, -EIO, &sleeper);
	CHECK_EQ(sleeper.fault.kind, DRM_T3_FAULT_WIDTH);
	CHECK_EQ(sleeper.fault.offset, 8);
	CHECK_EQ(sleeper.fault.epoch, 1);
	raw_close(&raw);
}

TEST("the end of the space wakes a wait")
{
	struct sleeper sleeper;
	struct raw raw;

	open_local(&raw);
	raw_arm(&raw, 1);
	check_woken(&raw, sleep_for_epoch_1, act_destroy, -ENOENT, &sleeper);
	raw_close(&raw);
}

/* --------------------------------------------------------------- signals */

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals = signals + 1;
}

static volatile sig_atomic_t ticking;
static pthread_t waiter, ticker;

static void *tick(void *unused)
{
	while (ticking) {
		nap_ms(20);
		pthread_kill(waiter, SIGUSR1);
	}
	return unused;
}

/* From now on the caller gets a signal every 20 ms. */
static void start_ticks(int flags)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = flags };

	signals = 0;
	ticking = 1;
	waiter = pthread_self();
	sigaction(SIGUSR1, &action, NULL);
	CHECK_EQ(pthread_create(&ticker, NULL, tick, NULL), 0);
}

static void stop_ticks(void)
{
	ticking = 0;
	pthread_join(ticker, NULL);
}

/*
 * Ticks every 20 ms must not lengthen a wait with an absolute deadline. On a busy machine they come
 * later, so a wait that has had too few is made again, and longer.
 */
TEST("a restarted wait keeps its deadline")
{
	int64_t deadline = 0, end = 0;
	struct raw raw;
	int ret, ms;

	open_local(&raw);
	raw_arm(&raw, 1);
	start_ticks(SA_RESTART);
	ret = -ETIMEDOUT;
	for (ms = 300; signals < 3 && ret == -ETIMEDOUT && ms < 60000; ms *= 4) {
		deadline = after_ms(ms);
		ret = raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 0, deadline);
		end = now_ns();
	}
	stop_ticks();
	CHECK_EQ(ret, -ETIMEDOUT);
	CHECK(signals >= 3);
	CHECK(end >= deadline);
	CHECK(end - deadline < 20000000000);
	raw_close(&raw);
}

static void check_signal_ends(int64_t deadline)
{
	struct raw raw;
	int ret;

	open_local(&raw);
	raw_arm(&raw, 1);
	start_ticks(0);
	ret = raw_wait(&raw, DRM_T3_WAIT_DELIVERED, 1, 0, deadline);
	stop_ticks();
	CHECK_EQ(ret, -EINTR);
	CHECK(signals >= 1);
	raw_close(&raw);
}

TEST("a signal without restart ends a wait")
{
	check_signal_ends(after_ms(10000));
	check_signal_ends(INT64_MAX);
}
