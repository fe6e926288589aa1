// SPDX-License-Identifier: MIT
/* t3_queue_job(3): a job whose caller has no descriptor left. */
#include <sys/resource.h>

#include "end.h"

#define DEADLINE t3_deadline(10000000000)

static struct drm_t3_fill fill_of(const struct t3_buffer *buffer, uint64_t offset, uint64_t pattern)
{
	return (struct drm_t3_fill){
		.head.type = DRM_T3_COMMAND_FILL,
		.rows = 1,
		.row_bytes = 8,
		.dst = { .handle = t3_buffer_handle(buffer), .offset = offset },
		.pattern = pattern,
	};
}

/* The next job of the queue ends after it. */
TEST("a job runs although there is no descriptor for its fence")
{
	struct drm_t3_fill fill;
	struct t3_queue *queue;
	struct rlimit old, none;
	int fence = -1;
	struct end end;

	end_open(&end, 0, PAGE, 1);
	CHECK_EQ(t3_queue_create(end.dev, 0, &queue), 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = old.rlim_max };
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	fill = fill_of(end.buffer, 8, 0x5a);
	CHECK_EQ(t3_queue_job(queue, &fill.head, sizeof(fill), &fence), -EMFILE);
	CHECK_EQ(fence, -1);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
	fill = fill_of(end.buffer, 16, 0xa5);
	CHECK_EQ(t3_queue_job(queue, &fill.head, sizeof(fill), &fence), 0);
	CHECK_EQ(t3_fence_wait(fence, DEADLINE), 0);
	CHECK_EQ(((volatile uint64_t *)end.memory)[1], 0x5a);
	CHECK_EQ(((volatile uint64_t *)end.memory)[2], 0xa5);
	close(fence);
	t3_queue_destroy(queue);
	end_close(&end);
}
