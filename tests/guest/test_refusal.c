// SPDX-License-Identifier: MIT
/* DRM_IOCTL_T3_REFUSAL: why this thread's last ioctl on an open file failed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

#include <drm.h>

#include "child.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "refusal.h"
#include "trace.h"

#define RECORDS 16u /* threads of a file that the driver remembers */

static int refuse_size(int fd)
{
	struct drm_t3_bo_create arg = { .size = ~0ull };

	return call(fd, DRM_IOCTL_T3_BO_CREATE, &arg);
}

static int refuse_handle(int fd, uint32_t handle)
{
	struct drm_t3_bo_mmap_offset arg = { .handle = handle };

	return call(fd, DRM_IOCTL_T3_BO_MMAP_OFFSET, &arg);
}

/* The thread's refusal is that of refuse_handle(). */
static void check_handle(int fd, uint32_t handle)
{
	struct drm_t3_refusal refusal;

	CHECK_EQ(refusal_get(fd, &refusal), 0);
	CHECK_EQ(refusal.request, (uint32_t)DRM_IOCTL_T3_BO_MMAP_OFFSET);
	CHECK_EQ(refusal.error, ENOENT);
	CHECK_EQ(refusal.value, handle);
	assert_string_equal(refusal.field, "handle");
}

/* --------------------------------------------------------------------- fields */

TEST("a file without a refusal has no data")
{
	struct drm_t3_refusal refusal;
	int fd = open_rank(0);
	uint32_t bo;

	CHECK_EQ(refusal_get(fd, &refusal), -ENODATA);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(refusal_get(fd, &refusal), -ENODATA);
	close(fd);
}

TEST("a refusal names all about its field")
{
	struct drm_t3_segment_map map;
	struct drm_t3_refusal refusal;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	map = raw_segment(&raw);
	map.pitch = 60;
	CHECK_EQ(raw_map(&raw, &map), -EINVAL);
	CHECK_EQ(refusal_get(raw.fd, &refusal), 0);
	CHECK_EQ(refusal.request, (uint32_t)DRM_IOCTL_T3_SEGMENT_MAP);
	CHECK_EQ(refusal.error, EINVAL);
	CHECK_EQ(refusal.index, ~0u);
	CHECK_EQ(refusal.what, DRM_T3_REFUSAL_VALUE | DRM_T3_REFUSAL_RANGE);
	CHECK_EQ(refusal.flags | refusal.pad, 0);
	CHECK(refusal.serial);
	CHECK_EQ(refusal.value, 60);
	CHECK_EQ(refusal.minimum, 64);
	CHECK_EQ(refusal.maximum, DRM_T3_PITCH_MAX);
	assert_string_equal(refusal.struct_name, "drm_t3_segment_map");
	assert_string_equal(refusal.field, "pitch");
	assert_string_equal(refusal.allowed, "64 to 16777216");
	raw_close(&raw);
}

TEST("a signed value is told as such")
{
	struct drm_t3_refusal refusal;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_ARMED, 1, 0, -7), -EINVAL);
	CHECK_EQ(refusal_get(raw.fd, &refusal), 0);
	assert_string_equal(refusal.field, "deadline_ns");
	CHECK_EQ(refusal.what, DRM_T3_REFUSAL_VALUE | DRM_T3_REFUSAL_SIGNED | DRM_T3_REFUSAL_RANGE);
	CHECK_EQ((int64_t)refusal.value, -7);
	CHECK_EQ((int64_t)refusal.minimum, 0);
	CHECK_EQ((int64_t)refusal.maximum, INT64_MAX);
	raw_close(&raw);
}

/* A refusal stays until the next one, and each has another number. */
TEST("a refusal stays until the next one")
{
	struct drm_t3_refusal first, second;
	int fd = open_rank(0);
	uint32_t bo;

	CHECK_EQ(refuse_size(fd), -EINVAL);
	CHECK_EQ(refusal_get(fd, &first), 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(refusal_get(fd, &second), 0);
	assert_memory_equal(&first, &second, sizeof(first));
	CHECK_EQ(refuse_handle(fd, 7), -ENOENT);
	check_handle(fd, 7);
	CHECK_EQ(refuse_size(fd), -EINVAL);
	CHECK_EQ(refusal_get(fd, &second), 0);
	CHECK(first.serial != second.serial);
	first.serial = second.serial;
	assert_memory_equal(&first, &second, sizeof(first));
	close(fd);
}

/* Elements of arrays: commands, points, imports. */
TEST("an element of an array is named by its index")
{
	union drm_t3_any_command commands[3];
	struct drm_t3_sync syncs[2] = { { .handle = 1 }, { .handle = 4711 } };
	struct drm_t3_queue_submit submit = {
		.command_count = 3,
		.command_stride = sizeof(commands[0]),
		.commands = (uintptr_t)commands,
	};
	struct drm_t3_queue_create queue = { 0 };
	struct drm_syncobj_create sync = { .flags = DRM_SYNCOBJ_CREATE_SIGNALED };
	struct drm_t3_refusal refusal;
	int fd = open_rank(0);
	uint32_t bo;

	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUEUE_CREATE, &queue), 0);
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &sync), 0);
	submit.queue = queue.queue;
	commands[0] = command_fill(bo, 0, PAGE, 1);
	commands[1] = command_copy(bo, bo, PAGE / 2);
	commands[2] = command_copy(bo, bo, PAGE / 2);
	commands[2].copy.src.offset = PAGE;
	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &submit), -EINVAL);
	CHECK_EQ(refusal_get(fd, &refusal), 0);
	assert_string_equal(refusal.struct_name, "drm_t3_copy");
	assert_string_equal(refusal.field, "src.offset");
	CHECK_EQ(refusal.index, 2);
	CHECK_EQ(refusal.value, PAGE);

	submit.command_count = 2;
	submit.in_count = 2;
	submit.in_syncs = (uintptr_t)syncs;
	submit.sync_stride = sizeof(syncs[0]);
	syncs[0].handle = sync.handle;
	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &submit), -ENOENT);
	CHECK_EQ(refusal_get(fd, &refusal), 0);
	assert_string_equal(refusal.struct_name, "drm_t3_queue_submit");
	assert_string_equal(refusal.field, "in_syncs.handle");
	CHECK_EQ(refusal.index, 1);
	CHECK_EQ(refusal.value, 4711);
	close(fd);
}

/* ------------------------------------------------------------- other ioctls */

/* Of the core: what it answers, what the driver answers in its place, and what is not there. */
TEST("refusals of the DRM core are told, too")
{
	struct drm_syncobj_timeline_array array = { .count_handles = 0 };
	struct drm_gem_close close_arg = { .handle = 4711 };
	struct drm_syncobj_array signal = { .pad = 1 };
	struct drm_prime_handle prime = { .fd = -1 };
	unsigned char arg[256] = { 0 };
	int fd = open_rank(0), wrong = 0;
	uint32_t handles[2] = { 0, 0 };

	CHECK_EQ(call(fd, DRM_IOCTL_GEM_CLOSE, &close_arg), -EINVAL);
	wrong += refusal_check(fd, DRM_IOCTL_GEM_CLOSE, "close", EINVAL, "drm_gem_close", "handle");
	CHECK_EQ(call(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime), -EBADF);
	wrong += refusal_check(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, "import", EBADF,
			       "drm_prime_handle", "fd");
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &signal), -EINVAL);
	wrong += refusal_check(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, "signal", EINVAL, "drm_syncobj_array",
			       "pad");
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_QUERY, &array), -EINVAL);
	wrong += refusal_check(fd, DRM_IOCTL_SYNCOBJ_QUERY, "query", EINVAL,
			       "drm_syncobj_timeline_array", "count_handles");
	signal = (struct drm_syncobj_array){ .handles = (uintptr_t)handles, .count_handles = 2 };
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &signal), -ENOENT);
	wrong += refusal_check(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, "signal", ENOENT, "drm_syncobj_array",
			       "handles");
	CHECK_EQ(call(fd, DRM_IOCTL_GET_MAGIC, arg), -EACCES);
	wrong += refusal_check(fd, DRM_IOCTL_GET_MAGIC, "magic", EACCES, "ioctl", "request");
	CHECK_EQ(call(fd, DRM_IOWR(DRM_COMMAND_END - 1, arg), arg), -EINVAL);
	wrong += refusal_check(fd, DRM_IOWR(DRM_COMMAND_END - 1, arg), "number", EINVAL, "ioctl",
			       "request");
	CHECK_EQ(call(fd, _IOWR('q', 0x40, arg), arg), -ENOTTY);
	wrong += refusal_check(fd, _IOWR('q', 0x40, arg), "type", ENOTTY, "ioctl", "request");
	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, (void *)8), -EFAULT);
	wrong += refusal_check(fd, DRM_IOCTL_T3_QUERY, "pointer", EFAULT, "ioctl", "argp");
	CHECK_EQ(wrong, 0);
	close(fd);
}

/* The end of a wait is an answer. */
TEST("the end of a wait is no refusal")
{
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	CHECK_EQ(refuse_handle(raw.fd, 8), -ENOENT);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_TRACKED, 1, 1, 0), -ETIMEDOUT);
	check_handle(raw.fd, 8);
	raw_close(&raw);
}

TEST("a refusal is an event for tracing")
{
	struct trace trace;
	int fd = open_rank(0);

	trace_open(&trace, 0);
	CHECK_EQ(refuse_handle(fd, 9), -ENOENT);
	trace_expect(&trace, "t3_refusal",
		     "request=0xc0106442 error=2 struct=drm_t3_bo_mmap_offset field=handle "
		     "index=-1 value=0x9 allowed=a GEM handle of this open file");
	trace_expect_end(&trace);
	trace_close(&trace);
	close(fd);
}

static void debug_messages(const char *categories)
{
	int fd = open("/sys/module/drm/parameters/debug", O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, categories, strlen(categories)), (ssize_t)strlen(categories));
	close(fd);
}

/* The driver's messages alone. */
TEST("a refusal is a message for debugging")
{
	int fd = open_rank(0);

	debug_messages("2");
	CHECK_EQ(refuse_handle(fd, 0x7177), -ENOENT);
	debug_messages("0");
	CHECK(kernel_log_has("drm_t3_bo_mmap_offset.handle (-1) is 0x7177"));
	close(fd);
}

/* ------------------------------------------------------------------- whose */

TEST("files have refusals of their own")
{
	struct drm_t3_refusal refusal;
	int a = open_rank(0), b = open_rank(0);

	CHECK_EQ(refuse_handle(a, 10), -ENOENT);
	CHECK_EQ(refusal_get(b, &refusal), -ENODATA);
	CHECK_EQ(refuse_handle(b, 11), -ENOENT);
	check_handle(a, 10);
	check_handle(b, 11);
	close(a);
	close(b);
}

static void child_body(int sock, void *arg)
{
	struct drm_t3_refusal refusal;
	int fd = *(int *)arg;

	(void)sock;
	CHECK_EQ(refusal_get(fd, &refusal), -ENODATA);
	CHECK_EQ(refuse_handle(fd, 13), -ENOENT);
	CHECK_EQ(refusal_get(fd, &refusal), 0);
	CHECK_EQ(refusal.value, 13);
}

/* A process that got the descriptor sees nothing of its parent. */
TEST("processes have refusals of their own")
{
	struct child child;
	int fd = open_rank(0);

	CHECK_EQ(refuse_handle(fd, 12), -ENOENT);
	child_start(&child, child_body, &fd);
	CHECK_EQ(child_end(&child, 10000), 0);
	check_handle(fd, 12);
	close(fd);
}

struct failing {
	pthread_t thread;
	int fd;
	uint32_t number;
	uint32_t rounds;
	atomic_uint own, none, wrong;
};

/* Fails, and asks. Never another thread's refusal; a field that is lost is no wrong one. */
static void *fail_and_ask(void *arg)
{
	struct failing *f = arg;
	struct drm_t3_refusal refusal;
	uint32_t i, handle;
	int ret;

	for (i = 0; i < f->rounds; i++) {
		handle = 0x10000 * (f->number + 1) + i;
		f->wrong += refuse_handle(f->fd, handle) != -ENOENT;
		ret = refusal_get(f->fd, &refusal);
		if (ret == -ENODATA || (!ret && !*refusal.field))
			f->none++;
		else if (!ret && refusal.value == handle && !strcmp(refusal.field, "handle"))
			f->own++;
		else
			f->wrong++;
	}
	return NULL;
}

static void run_threads(int fd, struct failing *threads, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++) {
		threads[i].fd = fd;
		threads[i].number = i;
		threads[i].rounds = 300;
		CHECK_EQ(pthread_create(&threads[i].thread, NULL, fail_and_ask, &threads[i]), 0);
	}
	for (i = 0; i < count; i++)
		CHECK_EQ(pthread_join(threads[i].thread, NULL), 0);
}

TEST("threads have refusals of their own")
{
	struct failing threads[RECORDS] = { 0 };
	int fd = open_rank(0);
	uint32_t i;

	run_threads(fd, threads, RECORDS);
	for (i = 0; i < RECORDS; i++)
		CHECK_EQ(threads[i].own, threads[i].rounds);
	close(fd);
}

/* With more threads than records some get no answer, and none a wrong one. */
TEST("more threads than records get no wrong answer")
{
	struct failing threads[4 * RECORDS] = { 0 };
	int fd = open_rank(0);
	uint32_t i, own = 0;

	CHECK_EQ(refuse_handle(fd, 14), -ENOENT);
	run_threads(fd, threads, 4 * RECORDS);
	for (i = 0; i < 4 * RECORDS; i++) {
		CHECK_EQ(threads[i].wrong, 0);
		own += threads[i].own;
	}
	CHECK(own);
	/* This thread's record was the oldest. */
	CHECK_EQ(refusal_get(fd, &(struct drm_t3_refusal){ 0 }), -ENODATA);
	close(fd);
}
