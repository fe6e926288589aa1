// SPDX-License-Identifier: MIT
/* libt3's timed runs: their ioctls, and that their default machine is the model's. */
#include "test_lib_kernel.h"

#include "device/device.h"
#include "test.h"

#include <strings.h>

#include "timed/timed_params.c" /* the model's table; libt3 includes nothing else of the model */

static struct t3_queue *queue;

static int open_queue(void)
{
	start();
	return t3_queue_create(dev, 0, &queue);
}

static int close_queue(void)
{
	t3_queue_destroy(queue);
	return stop();
}

static struct t3_timed_desc run_in(const struct t3_buffer *args, const struct t3_buffer *result)
{
	return (struct t3_timed_desc){
		.args = args, .args_offset = 128, .result = result, .result_offset = 4096
	};
}

#define QUEUE_TEST(sentence) TEST_WITH(sentence, open_queue, close_queue)

QUEUE_TEST("a timed run passes each field")
{
	struct t3_timed_desc x = run_in(buffer, buffer);
	struct drm_t3_timed want = {
		.head.type = DRM_T3_COMMAND_TIMED,
		.args = { .handle = 11, .offset = 128 },
		.result = { .handle = 11, .offset = 4096 },
	};

	assert_int_equal(t3_queue_timed(queue, &x, NULL), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_QUEUE_SUBMIT);
	assert_int_equal(ASKED(drm_t3_queue_submit)->queue, 51);
	assert_int_equal(ASKED(drm_t3_queue_submit)->out_count, 0);
	assert_int_equal(ASKED(drm_t3_queue_submit)->command_stride, sizeof(want));
	assert_memory_equal(&kernel.command, &want, sizeof(want));
}

QUEUE_TEST("a timed run of experts passes its counts, too")
{
	struct t3_timed_desc x = run_in(buffer, buffer);
	struct drm_t3_timed want = {
		.head.type = DRM_T3_COMMAND_TIMED,
		.args = { .handle = 11, .offset = 128 },
		.result = { .handle = 11, .offset = 4096 },
		.counts = 512,
	};

	assert_int_equal(t3_queue_timed_experts(queue, &x, 512, NULL), 0);
	assert_int_equal(ASKED(drm_t3_queue_submit)->command_stride, sizeof(want));
	assert_memory_equal(&kernel.command, &want, sizeof(want));
}

QUEUE_TEST("wrong timed runs are refused")
{
	struct t3_timed_desc x = run_in(buffer, buffer);
	struct t3_buffer other = *buffer;
	unsigned int calls = kernel.calls;

	assert_int_equal(t3_queue_timed(NULL, &x, NULL), -EINVAL);
	assert_int_equal(t3_queue_timed(queue, NULL, NULL), -EINVAL);
	x = run_in(NULL, buffer);
	assert_int_equal(t3_queue_timed(queue, &x, NULL), -EINVAL);
	x = run_in(buffer, NULL);
	assert_int_equal(t3_queue_timed(queue, &x, NULL), -EINVAL);
	other.fd++;
	x = run_in(&other, buffer);
	assert_int_equal(t3_queue_timed(queue, &x, NULL), -EOPNOTSUPP);
	x = run_in(buffer, &other);
	assert_int_equal(t3_queue_timed(queue, &x, NULL), -EOPNOTSUPP);
	assert_int_equal(t3_queue_timed_experts(queue, &x, 8, NULL), -EOPNOTSUPP);
	assert_int_equal(kernel.calls, calls);
}

QUEUE_TEST("a timed run has fence and errors")
{
	struct t3_timed_desc x = run_in(buffer, buffer);
	int fence = -1;

	kernel.error = ENOMEM;
	assert_int_equal(t3_queue_timed(queue, &x, &fence), -ENOMEM);
	kernel.error = EOPNOTSUPP;
	assert_int_equal(t3_queue_timed(queue, &x, NULL), -EOPNOTSUPP);
	assert_int_equal(fence, -1);
	assert_int_equal(t3_queue_timed(queue, &x, &fence), 0);
	assert_int_equal(kernel.out.handle, 61);
	kernel.fence_status = -ECANCELED;
	assert_int_equal(t3_fence_wait(fence, 0), -ECANCELED);
	close(fence);
}

/* ---------------------------------------------------------------- the machine */

#define NAME(name) [T3_TIMED_PARAM_##name] = #name

static const char *const header_names[] = {
	NAME(COMPUTE_UNITS),
	NAME(CLOCK_MHZ),
	NAME(FLOPS_PER_CLOCK),
	NAME(COMPUTE_PERCENT),
	NAME(GROUPS_PER_UNIT),
	NAME(UNIT_STORE_GBPS),
	NAME(STAGE_BARRIER),
	NAME(TILE_ROWS),
	NAME(TILE_COLUMNS),
	NAME(K_BLOCK),
	NAME(RASTER_ROWS),
	NAME(CACHE_KIB),
	NAME(CACHE_WAYS),
	NAME(CACHE_GBPS),
	NAME(CACHE_LATENCY_NS),
	NAME(REQUEST_BYTES),
	NAME(MEMORY_GBPS),
	NAME(MEMORY_LATENCY_NS),
	NAME(MEMORY_CHANNELS),
	NAME(QUEUE_ENTRIES),
	NAME(ENTRY_BYTES),
	NAME(TURNAROUND_NS),
	NAME(RUN_KIB),
	NAME(ROW_CONFLICT_NS),
	NAME(UPDATE_PERCENT),
	NAME(THRESHOLD_HIGH),
	NAME(THRESHOLD_MIDDLE),
	NAME(THRESHOLD_LOW),
	NAME(INTENSITY_HIGH),
	NAME(INTENSITY_MIDDLE),
	NAME(INTENSITY_LOW),
	NAME(STARVATION_NS),
	NAME(LINK_GBPS),
	NAME(LINK_LATENCY_NS),
	NAME(LINK_QUEUE_KIB),
	NAME(DMA_TILES),
	NAME(DMA_READ_AHEAD_KIB),
	NAME(COPY_UNIT_KIB),
	NAME(TRACKER_ENTRIES),
	NAME(TRACKER_WAYS),
	NAME(TRACKER_RECORD_BYTES),
	NAME(COLLECTIVE_UNITS),
	NAME(COPY_UNIT_GBPS),
	NAME(NODE_LINK_GBPS),
	NAME(NODE_LINK_LATENCY_NS),
};

/* Check the name and place of each, and that none is missing. */
TEST("the header names each parameter of the table")
{
	size_t i;

	assert_int_equal(sizeof(header_names) / sizeof(header_names[0]), T3_TIMED_PARAMS);
	assert_true(t3_timed_param_count >= T3_TIMED_PARAMS); /* devices have the first ones */
	for (i = 0; i < T3_TIMED_PARAMS; i++) {
		assert_non_null(header_names[i]);
		assert_int_equal(strcasecmp(header_names[i], t3_timed_params[i].name), 0);
	}
}

TEST("the initial arguments are the defaults")
{
	struct t3_timed_args args;
	size_t i;

	memset(&args, 0xee, sizeof(args));
	t3_timed_args_init(&args);
	for (i = 0; i < T3_TIMED_PARAMS; i++)
		assert_int_equal(args.params[i], t3_timed_params[i].value);
	assert_int_equal(args.element_bytes, 2);
	assert_int_equal(args.program | args.flags | args.ranks, 0);
	assert_int_equal(args.rows | args.columns | args.depth, 0);
	assert_int_equal(args.chunks | args.collective | args.nodes, 0);
	assert_int_equal(args.experts | args.way, 0);
	t3_timed_args_init(NULL);
}
