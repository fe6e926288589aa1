// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>

#include "group.h"
#include "load.h"
#include "memory.h"
#include "queue.h"
#include "raw.h"

#define LIMIT_MS   20000
#define READY	   0x7ead1u
#define JOB_BYTES  65536u
#define JOBS_AHEAD 4
#define TIMED_SIDE 4096u

const char *const load_names[LOADS] = {
	"idle", "maps", "jobs", "timed", "waiters", "peer", "groups"
};

struct client {
	struct raw raw; /* on LOAD_RANK, with segment 0 mapped */
	enum fate fate; /* 0: not known yet */
	pthread_t threads[3];
	int results[3];
	int event, wait_fd;
	struct raw before, after; /* LOAD_PEER: before sends to raw, raw sends to after */
	/* LOAD_GROUPS: LOAD_RANK is a source, and a target; and raw has a group whose source is after. */
	struct reduce reduce;
	struct multicast multicast;
	uint32_t queue, sync;
	union drm_t3_any_command command; /* of each job */
	int fences[JOBS_AHEAD];
};

static int limit_ms(void)
{
	return LIMIT_MS * (int)guest_slowness();
}

static enum fate fate(struct client *c)
{
	return __atomic_load_n(&c->fate, __ATOMIC_ACQUIRE);
}

static void start_thread(struct client *c, int index, void *(*body)(void *))
{
	CHECK_EQ(pthread_create(&c->threads[index], NULL, body, c), 0);
}

static int thread_result(struct client *c, int index)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += limit_ms() / 1000;
	CHECK_EQ(pthread_timedjoin_np(c->threads[index], NULL, &limit), 0);
	return c->results[index];
}

static void open_raw(struct raw *raw, uint32_t rank)
{
	raw_open(raw, rank, PAGE);
	raw_map_local(raw);
}

/* ------------------------------------------------------------------------ idle */

static void check_space(struct client *c)
{
	struct drm_t3_query query = { 0 };
	int64_t deadline = after_ms(limit_ms());

	if (c->fate == FATE_WORKS) {
		raw_run_epoch(&c->raw, 1);
		return;
	}
	while (raw_state(&c->raw) != DRM_T3_SPACE_DEAD && now_ns() < deadline)
		nap_ms(1);
	CHECK_EQ(raw_state(&c->raw), DRM_T3_SPACE_DEAD);
	CHECK_EQ(raw_wait(&c->raw, DRM_T3_WAIT_ARMED, 1, 0, 0), -ENODEV);
	CHECK_EQ(call(c->raw.fd, DRM_IOCTL_T3_QUERY, &query), c->fate == FATE_GONE ? -ENODEV : 0);
}

static void start_idle(struct client *c)
{
	(void)c;
}

/* ------------------------------------------------------------------------ maps */

static __thread sigjmp_buf touch_exit;

static void on_bus(int number)
{
	siglongjmp(touch_exit, number);
}

static void catch_bus(void)
{
	struct sigaction action = { .sa_handler = on_bus };

	CHECK_EQ(sigaction(SIGBUS, &action, NULL), 0);
}

/* Whether the access ended by SIGBUS. */
static bool touch(volatile uint32_t *at, bool store)
{
	if (sigsetjmp(touch_exit, 1))
		return true;
	if (store)
		put32(at, 0x5a5a5a5a);
	else
		(void)*at;
	return false;
}

/* Whether a debugger's read of the buffer failed. */
static bool peek(int memory, const void *at)
{
	uint32_t word;
	ssize_t got = pread(memory, &word, sizeof(word), (off_t)(uintptr_t)at);

	CHECK(got == sizeof(word) || got == -1);
	return got < 0;
}

/* All of them, until each has ended by SIGBUS or an error, or will not. */
static void *touch_all(void *arg)
{
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct client *c = arg;
	bool gone[4];

	CHECK(memory >= 0);
	do {
		gone[0] = touch((volatile uint32_t *)c->raw.memory, true);
		gone[1] = touch((volatile uint32_t *)c->raw.aperture, false);
		gone[2] = touch((volatile uint32_t *)c->raw.doorbell, false);
		gone[3] = peek(memory, c->raw.memory);
		(void)raw_state(&c->raw);
	} while (!(gone[0] && gone[1] && gone[2] && gone[3]) && (!fate(c) || fate(c) == FATE_GONE));
	c->results[0] = gone[0] + gone[1] + gone[2] + gone[3];
	close(memory);
	return NULL;
}

static void start_maps(struct client *c)
{
	catch_bus();
	start_thread(c, 0, touch_all);
}

static void check_maps(struct client *c)
{
	int gone = thread_result(c, 0);

	if (c->fate == FATE_GONE)
		CHECK_EQ(gone, 4);
	if (c->fate == FATE_WORKS)
		CHECK_EQ(gone, 0);
	else
		check_space(c);
}

/* ------------------------------------------------------------------------ jobs */

/* 0 and the fence as a sync_file, or an error. */
static int submit_fenced(struct client *c, int *fence)
{
	struct drm_syncobj_handle export = {
		.handle = c->sync,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};
	int ret = submit_one(c->raw.fd, c->queue, &c->command, c->sync);

	if (!ret)
		ret = call(c->raw.fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &export);
	*fence = ret ? -1 : export.fd;
	return ret;
}

/* Its status: 1, or its error. Each of them is signalled at some time. */
static int finish_fence(int *fence)
{
	struct pollfd poller = { .fd = *fence, .events = POLLIN };
	int status;

	if (*fence < 0)
		return 1;
	CHECK_EQ(poll(&poller, 1, limit_ms()), 1);
	status = sync_file_status(*fence);
	CHECK(status != 0);
	close(*fence);
	*fence = -1;
	return status;
}

static void *submit_on(void *arg)
{
	struct client *c = arg;
	int ret = 0, status = 1, i;

	for (i = 0; !ret && (!fate(c) || fate(c) == FATE_GONE); i = (i + 1) % JOBS_AHEAD) {
		finish_fence(&c->fences[i]);
		ret = submit_fenced(c, &c->fences[i]);
	}
	for (i = 0; i < JOBS_AHEAD; i++)
		if (finish_fence(&c->fences[i]) != 1)
			status = -1;
	c->results[0] = ret;
	c->results[1] = status;
	return NULL;
}

static void start_queue(struct client *c)
{
	int i;

	for (i = 0; i < JOBS_AHEAD; i++)
		c->fences[i] = -1;
	CHECK_EQ(queue_create(c->raw.fd, 0, &c->queue), 0);
	c->sync = sync_create(c->raw.fd);
	start_thread(c, 0, submit_on);
}

static void start_jobs(struct client *c)
{
	uint32_t bo;

	CHECK_EQ(bo_create(c->raw.fd, JOB_BYTES, &bo), 0);
	c->command = command_fill(bo, 0, JOB_BYTES, 1);
	start_queue(c);
}

static void start_timed(struct client *c)
{
	c->command = command_timed(bo_create_timed(c->raw.fd, TIMED_SIDE));
	start_queue(c);
}

static void check_jobs(struct client *c)
{
	int ret = thread_result(c, 0);

	/* A reset keeps queues. A fill or a timed run may be done twice. */
	if (c->fate != FATE_GONE) {
		CHECK_EQ(ret, 0);
		CHECK_EQ(c->results[1], 1);
	} else {
		CHECK(ret == -ENODEV || ret == -EIO);
	}
	check_space(c);
}

/* --------------------------------------------------------------------- waiters */

static void *wait_by_ioctl(void *arg)
{
	struct client *c = arg;

	c->results[0] = raw_wait(&c->raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(4 * limit_ms()));
	return NULL;
}

static void *wait_by_poll(void *arg)
{
	struct client *c = arg;
	struct pollfd poller = { .fd = c->wait_fd, .events = POLLIN };

	c->results[1] = poll(&poller, 1, 4 * limit_ms()) == 1 ? poller.revents : -1;
	return NULL;
}

static void *wait_by_eventfd(void *arg)
{
	struct client *c = arg;
	uint64_t count = 0;

	c->results[2] = read(c->event, &count, sizeof(count)) == sizeof(count) ? (int)count : -1;
	return NULL;
}

static void start_waiters(struct client *c)
{
	struct drm_t3_space_wait_fd wait_fd = { .space = c->raw.space, .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .space = c->raw.space, .segment_mask = 1 };

	CHECK_EQ(call(c->raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	c->wait_fd = wait_fd.fd;
	c->event = event.fd = eventfd(0, EFD_CLOEXEC);
	CHECK_EQ(call(c->raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
	start_thread(c, 0, wait_by_ioctl);
	start_thread(c, 1, wait_by_poll);
	start_thread(c, 2, wait_by_eventfd);
}

static void check_waiters(struct client *c)
{
	bool works = c->fate == FATE_WORKS;

	if (works) {
		raw_arm(&c->raw, 1);
		CHECK_EQ(raw_wait(&c->raw, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
		raw_fill(&c->raw, 0, RAW_SEGMENT_BYTES, 7);
	}
	CHECK_EQ(thread_result(c, 0), works ? 0 : -ENODEV);
	CHECK_EQ(thread_result(c, 1), works ? POLLIN : POLLHUP);
	CHECK_EQ(thread_result(c, 2), 1);
	if (!works)
		check_space(c);
}

/* ------------------------------------------------------------------------ peer */

/* Sends as long as it can, but never all of the epoch, so the epoch does not end. */
static void *send_on(void *arg)
{
	struct client *c = arg;
	uint32_t i = 0;

	while (!fate(c) && i < RAW_SEGMENT_BYTES / 2) {
		put64(c->before.aperture + i, 1);
		i += 8;
		nap_ms(1);
	}
	return NULL;
}

/* rank 0 sends to this space, and this space sends to another one of rank 0 */
static void start_peer(struct client *c)
{
	struct drm_t3_segment_map segment;

	raw_open(&c->before, 0, PAGE);
	open_raw(&c->after, 0);
	segment = raw_sender(&c->before, DRM_T3_SEGMENT_REMOTE, raw_join(&c->before, &c->raw), 0);
	CHECK_EQ(raw_map(&c->before, &segment), 0);
	segment = raw_sender(&c->raw, DRM_T3_SEGMENT_DMA, raw_join(&c->raw, &c->after), 0);
	segment.segment = 1;
	segment.offset = 1024;
	CHECK_EQ(raw_map(&c->raw, &segment), 0);
	raw_arm(&c->after, 1);
	raw_arm(&c->raw, 1);
	raw_arm(&c->before, 1);
	CHECK_EQ(raw_wait(&c->before, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
	start_thread(c, 0, send_on);
}

static void check_peer_failed(const struct raw *raw)
{
	CHECK_EQ(raw_wait(raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(limit_ms())), -EIO);
	CHECK_EQ(space_reset(raw->fd, raw->space), 0);
}

static void check_peer(struct client *c)
{
	thread_result(c, 0);
	if (c->fate == FATE_WORKS) {
		CHECK_EQ(raw_state(&c->before), DRM_T3_SPACE_ARMED);
		CHECK_EQ(raw_state(&c->raw), DRM_T3_SPACE_ARMED);
		return;
	}
	/* A peer that got no message about the end learns it from the next update. */
	put64(c->before.aperture + RAW_SEGMENT_BYTES - 8, 1);
	check_peer_failed(&c->before);
	if (c->fate == FATE_GONE)
		check_peer_failed(&c->after);
	check_space(c);
}

/* ---------------------------------------------------------------------- groups */

static void start_own_group(struct client *c)
{
	struct drm_t3_group_create made;
	struct drm_t3_segment_map map;
	struct drm_t3_key key;
	uint32_t import;

	raw_open(&c->after, LOAD_RANK + 1, PAGE);
	CHECK_EQ(group_create(&c->raw, DRM_T3_GROUP_REDUCE, 1, &made), 0);
	CHECK_EQ(group_key(&c->raw, made.group, 0, 0, &key), 0);
	CHECK_EQ(raw_key_import(&c->after, &key, &import), 0);
	map = raw_sender(&c->after, DRM_T3_SEGMENT_REMOTE, import, 0);
	CHECK_EQ(raw_map(&c->after, &map), 0);
	raw_arm(&c->raw, 1);
	raw_arm(&c->after, 1);
	CHECK_EQ(raw_wait(&c->after, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
}

/* An epoch of each group has begun and cannot end. */
static void start_groups(struct client *c)
{
	reduce_open(&c->reduce);
	reduce_arm(&c->reduce, 1);
	raw_fill(&c->reduce.source[1], 0, RAW_SEGMENT_BYTES / 2, 1);
	multicast_open(&c->multicast);
	multicast_arm(&c->multicast, 1);
	raw_fill(&c->multicast.source, 0, RAW_SEGMENT_BYTES / 2, 1);
	start_own_group(c);
}

/* All other ranks learn of the end, and nobody has to send for it. */
static void check_groups(struct client *c)
{
	if (c->fate == FATE_WORKS) {
		CHECK_EQ(raw_state(&c->reduce.target), DRM_T3_SPACE_ARMED);
		CHECK_EQ(raw_state(&c->multicast.source), DRM_T3_SPACE_ARMED);
		CHECK_EQ(raw_state(&c->after), DRM_T3_SPACE_ARMED);
		return;
	}
	check_peer_failed(&c->reduce.target);
	check_peer_failed(&c->reduce.source[1]);
	check_peer_failed(&c->reduce.source[2]);
	check_peer_failed(&c->multicast.source);
	check_peer_failed(&c->after);
	check_space(c);
}

/* --------------------------------------------------------------------- clients */

static void (*const starts[LOADS])(struct client *) = { start_idle,  start_maps,    start_jobs,
							start_timed, start_waiters, start_peer,
							start_groups };
static void (*const checks[LOADS])(struct client *) = { check_space, check_maps,    check_jobs,
							check_jobs,  check_waiters, check_peer,
							check_groups };

uint32_t load_count(void)
{
	struct drm_t3_query query = { .type = DRM_T3_QUERY_SWITCH }; /* for its size */
	int fd = open_rank(LOAD_RANK);
	int ret = call(fd, DRM_IOCTL_T3_QUERY, &query);

	close(fd);
	CHECK(!ret || ret == -EOPNOTSUPP);
	return ret ? LOADS - 1 : LOADS;
}

static void client(int sock, void *arg)
{
	enum load load = *(enum load *)arg;
	struct client c = { .event = -1, .wait_fd = -1 };

	open_raw(&c.raw, LOAD_RANK);
	starts[load](&c);
	send_u32(sock, READY);
	__atomic_store_n(&c.fate, receive_u32(sock), __ATOMIC_RELEASE);
	checks[load](&c);
}

void load_start_quickly(struct child *child, enum load load)
{
	child_start(child, client, &load);
}

void load_start(struct child *child, enum load load)
{
	load_start_quickly(child, load);
	CHECK_EQ(receive_u32(child->sock), READY);
}

int load_end(struct child *child, enum fate fate)
{
	send_u32(child->sock, fate);
	return child_end(child, 3 * LIMIT_MS);
}
