// SPDX-License-Identifier: MIT
/* libt3's queues: the ioctl of a product, and the results of a fence. */
#include "test_lib_kernel.h"

#include "space/private.h"
#include "test.h"

#include <poll.h>
#include <sys/syscall.h>

static struct t3_queue *queue;

static bool sleeps = true, forever;
static uint32_t interruptions; /* of the next calls of ppoll() */
static struct timespec slept;  /* so long would the last ppoll() have slept, unless for ever */

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *time, const sigset_t *set)
{
	if (interruptions) {
		interruptions--;
		errno = EINTR;
		return -1;
	}
	if (sleeps)
		return (int)syscall(SYS_ppoll, files, count, time, set, 8);
	forever = !time;
	if (time)
		slept = *time;
	errno = ENOMEM;
	return -1;
}

static int open_queue(void)
{
	start();
	return t3_queue_create(dev, 1, &queue);
}

static int close_queue(void)
{
	t3_queue_destroy(queue);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_QUEUE_DESTROY);
	assert_int_equal(ASKED(drm_t3_queue_destroy)->queue, 51);
	return stop();
}

static struct t3_gemm_desc product(void)
{
	return (struct t3_gemm_desc){
		.a = { buffer, 100, 50 },
		.b = { buffer, 200, 90 },
		.c = { buffer, 300, 80 },
		.rows = 12,
		.columns = 20,
		.depth = 7,
		.dtype = DRM_T3_F16,
	};
}

#define QUEUE_TEST(sentence) TEST_WITH(sentence, open_queue, close_queue)

QUEUE_TEST("a queue is created with its priority")
{
	struct t3_queue *other = NULL;

	assert_int_equal(t3_queue_create(dev, 2, &other), 0);
	assert_int_equal(ASKED(drm_t3_queue_create)->priority, 2);
	t3_queue_destroy(other);
	other = NULL;
	kernel.error = ENOSPC;
	assert_int_equal(t3_queue_create(dev, 0, &other), -ENOSPC);
	assert_null(other);
	assert_int_equal(t3_queue_create(NULL, 0, &other), -EINVAL);
	assert_int_equal(t3_queue_create(dev, 0, NULL), -EINVAL);
	t3_queue_destroy(NULL);
}

QUEUE_TEST("a product passes each field")
{
	struct t3_gemm_desc x = product();
	const struct drm_t3_gemm *c = &kernel.command.gemm;

	x.chunk_rows = 4;
	x.first_chunk = 2;
	x.chunks_up = 7;
	x.raster_rows = 3;
	x.group_rows = 2;
	x.group_columns = 10;
	x.tile_rows = 1;
	x.tile_columns = 5;
	assert_int_equal(t3_queue_gemm(queue, &x, NULL), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_QUEUE_SUBMIT);
	assert_int_equal(ASKED(drm_t3_queue_submit)->queue, 51);
	assert_int_equal(ASKED(drm_t3_queue_submit)->out_count, 0);
	assert_int_equal(ASKED(drm_t3_queue_submit)->sync_stride, 0);
	assert_int_equal(c->head.type, DRM_T3_COMMAND_GEMM);
	assert_int_equal(c->head.flags, DRM_T3_GEMM_CHUNKS_UP);
	assert_int_equal(c->dtype, DRM_T3_F16);
	assert_int_equal(c->a.handle, 11);
	assert_int_equal(c->b.handle, 11);
	assert_int_equal(c->dst.handle, 11);
	assert_int_equal(c->space, 0);
	assert_int_equal(c->rows, 12);
	assert_int_equal(c->columns, 20);
	assert_int_equal(c->depth, 7);
	assert_int_equal(c->a.offset, 100);
	assert_int_equal(c->a.pitch, 50);
	assert_int_equal(c->b.offset, 200);
	assert_int_equal(c->b.pitch, 90);
	assert_int_equal(c->dst.offset, 300);
	assert_int_equal(c->dst.pitch, 80);
	assert_int_equal(c->chunk_rows, 4);
	assert_int_equal(c->first_chunk, 2);
	assert_int_equal(c->raster_rows, 3);
	assert_int_equal(c->group_rows, 2);
	assert_int_equal(c->group_columns, 10);
	assert_int_equal(c->tile_rows, 1);
	assert_int_equal(c->tile_columns, 5);
	assert_int_equal(c->a.pad | c->b.pad | c->dst.pad, 0);
	assert_int_equal(ASKED(drm_t3_queue_submit)->command_stride, sizeof(*c));
}

/* Zeros: packed rows, and an order that fits the shape. */
QUEUE_TEST("zeros of a product become defaults")
{
	struct t3_gemm_desc x = product();
	const struct drm_t3_gemm *c = &kernel.command.gemm;

	x.a.pitch = x.b.pitch = x.c.pitch = 0;
	x.rows = 1000;
	assert_int_equal(t3_queue_gemm(queue, &x, NULL), 0);
	assert_int_equal(c->a.pitch, 14);
	assert_int_equal(c->b.pitch, 40);
	assert_int_equal(c->dst.pitch, 40);
	assert_int_equal(c->chunk_rows, 1000);
	assert_int_equal(c->raster_rows, 8);
	assert_int_equal(c->group_rows, 128);
	assert_int_equal(c->group_columns, 20);
	assert_int_equal(c->tile_rows, 32);
	assert_int_equal(c->tile_columns, 20);
	assert_int_equal(c->head.flags, 0);
	x = product();
	x.rows = x.depth = 1; /* one row has no pitch */
	assert_int_equal(t3_queue_gemm(queue, &x, NULL), 0);
	assert_int_equal(c->a.pitch | c->b.pitch | c->dst.pitch, 0);
}

QUEUE_TEST("a product goes into a space")
{
	struct t3_gemm_desc x = product();

	x.space = space;
	assert_int_equal(t3_queue_gemm(queue, &x, NULL), -EINVAL);
	x.c.buffer = NULL;
	assert_int_equal(t3_queue_gemm(queue, &x, NULL), 0);
	assert_int_equal(kernel.command.gemm.space, 21);
	assert_int_equal(kernel.command.gemm.dst.handle, 0);
	assert_int_equal(kernel.command.gemm.dst.offset, 300);
	x.space = NULL;
	assert_int_equal(t3_queue_gemm(queue, &x, NULL), -EINVAL);
}

static void expect_invalid(const struct t3_gemm_desc *bad)
{
	unsigned int calls = kernel.calls;

	assert_int_equal(t3_queue_gemm(queue, bad, NULL), -EINVAL);
	assert_int_equal(kernel.calls, calls);
}

QUEUE_TEST("wrong products are refused")
{
	struct t3_gemm_desc x = product();

	assert_int_equal(t3_queue_gemm(NULL, &x, NULL), -EINVAL);
	expect_invalid(NULL);
	x.dtype = DRM_T3_U8;
	expect_invalid(&x);
	x.dtype = 77;
	expect_invalid(&x);
	x = product();
	x.rows = 0;
	expect_invalid(&x);
	x = product();
	x.columns = 0;
	expect_invalid(&x);
	x = product();
	x.depth = 0;
	expect_invalid(&x);
	x = product();
	x.a.buffer = NULL;
	expect_invalid(&x);
	x = product();
	x.b.buffer = NULL;
	expect_invalid(&x);
}

static void expect_foreign(const struct t3_gemm_desc *bad)
{
	unsigned int calls = kernel.calls;

	assert_int_equal(t3_queue_gemm(queue, bad, NULL), -EOPNOTSUPP);
	assert_int_equal(kernel.calls, calls);
}

/* Their handles may be those of other things of the queue's device. */
QUEUE_TEST("objects of another device are refused")
{
	struct t3_buffer other = *buffer;
	struct t3_space foreign = *space;
	struct t3_gemm_desc x = product();

	other.fd++;
	foreign.fd++;
	x.a.buffer = &other;
	expect_foreign(&x);
	x = product();
	x.b.buffer = &other;
	expect_foreign(&x);
	x = product();
	x.c.buffer = &other;
	expect_foreign(&x);
	x.c.buffer = NULL;
	x.space = &foreign;
	expect_foreign(&x);
}

/* The struct goes to the driver as it is, as far as its size says. */
QUEUE_TEST("a queue takes any command")
{
	struct drm_t3_update x = { .head.type = DRM_T3_COMMAND_UPDATE, .rows = 3, .dtype = 2 };

	assert_int_equal(t3_queue_job(queue, &x.head, sizeof(x), NULL), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_QUEUE_SUBMIT);
	assert_int_equal(ASKED(drm_t3_queue_submit)->command_count, 1);
	assert_int_equal(ASKED(drm_t3_queue_submit)->command_stride, sizeof(x));
	assert_memory_equal(&kernel.command.update, &x, sizeof(x));
	assert_int_equal(t3_queue_job(NULL, &x.head, sizeof(x), NULL), -EINVAL);
	assert_int_equal(t3_queue_job(queue, NULL, sizeof(x), NULL), -EINVAL);
	assert_int_equal(t3_queue_job(queue, &x.head, sizeof(x.head) - 1, NULL), -EINVAL);
	assert_int_equal(t3_queue_job(queue, &x.head, DRM_T3_SUBMIT_STRIDE_MAX + 1, NULL), -EINVAL);
}

QUEUE_TEST("a fence is exported, and its syncobj goes")
{
	struct t3_gemm_desc x = product();
	int fence = -1;

	assert_int_equal(t3_queue_gemm(queue, &x, &fence), 0);
	assert_int_equal(kernel.out.handle, 61);
	assert_int_equal(kernel.out.point, 0);
	assert_int_equal(kernel.request, DRM_IOCTL_SYNCOBJ_DESTROY);
	assert_int_equal(ASKED(drm_syncobj_destroy)->handle, 61);
	assert_true(fence >= 0);
	kernel.fence_status = 1;
	assert_int_equal(t3_fence_wait(fence, INT64_MAX), 0);
	kernel.fence_status = -EIO;
	assert_int_equal(t3_fence_wait(fence, 0), -EIO);
	kernel.fence_status = 0;
	assert_int_equal(t3_fence_wait(fence, 0), -ETIMEDOUT);
	assert_int_equal(t3_fence_wait(fence, -5), -ETIMEDOUT);
	kernel.error = ENOTTY;
	assert_int_equal(t3_fence_wait(fence, 0), -EINVAL);
	close(fence);
	assert_int_equal(t3_fence_wait(fence, 0), -EBADF);
	assert_int_equal(t3_fence_wait(-1, 0), -EINVAL);
}

QUEUE_TEST("a signal does not end a wait")
{
	int fence = dup(kernel.node);

	interruptions = 2;
	assert_int_equal(t3_fence_wait(fence, 0), -ETIMEDOUT);
	assert_int_equal(interruptions, 0);
	close(fence);
}

/* A poll of another kind of file could last for ever. */
QUEUE_TEST("another kind of file is not waited for")
{
	int other = dup(kernel.node);

	sleeps = false;
	kernel.error = ENOTTY;
	assert_int_equal(t3_fence_wait(other, INT64_MAX), -EINVAL);
	sleeps = true;
	close(other);
}

/* The kernel is asked to wait up to the deadline, in seconds and nanoseconds. */
QUEUE_TEST("a fence is waited for up to its deadline")
{
	int fence = dup(kernel.node);
	int64_t left;

	sleeps = false;
	assert_int_equal(t3_fence_wait(fence, t3_deadline(5500000000)), -ENOMEM);
	left = slept.tv_sec * INT64_C(1000000000) + slept.tv_nsec;
	assert_in_range(left, INT64_C(4500000000), INT64_C(5500000000));
	assert_true(slept.tv_nsec < 1000000000);
	assert_int_equal(t3_fence_wait(fence, INT64_MAX), -ENOMEM);
	assert_true(forever);
	assert_int_equal(t3_fence_wait(fence, t3_deadline(0) - 1), -ENOMEM);
	assert_false(forever);
	assert_int_equal(slept.tv_sec | slept.tv_nsec, 0);
	sleeps = true;
	close(fence);
}

/* The first, second or third call fails. The error is returned, and the syncobj is destroyed. */
QUEUE_TEST("an error leaves no syncobj")
{
	struct t3_gemm_desc x = product();
	int fence = -1;

	kernel.error = ENOMEM;
	assert_int_equal(t3_queue_gemm(queue, &x, &fence), -ENOMEM);
	assert_int_equal(kernel.request, DRM_IOCTL_SYNCOBJ_CREATE);
	kernel.error = EFBIG;
	assert_int_equal(t3_queue_gemm(queue, &x, NULL), -EFBIG);
	kernel.fail_request = DRM_IOCTL_T3_QUEUE_SUBMIT;
	assert_int_equal(t3_queue_gemm(queue, &x, &fence), -EPERM);
	assert_int_equal(kernel.request, DRM_IOCTL_SYNCOBJ_DESTROY);
	kernel.fail_request = DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD;
	assert_int_equal(t3_queue_gemm(queue, &x, &fence), -EPERM);
	assert_int_equal(kernel.request, DRM_IOCTL_SYNCOBJ_DESTROY);
	kernel.fail_request = 0;
	assert_int_equal(fence, -1);
}
