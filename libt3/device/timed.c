// SPDX-License-Identifier: MIT
/* Runs of the timed model as jobs. */
#include <string.h>

#include "device/device.h"
#include "t3_hw.h"

/* Defaults of SPEC.md, section 8.1: published values, and assumed ones for the rest. */
static const uint64_t machine[T3_TIMED_PARAMS] = {
	[T3_TIMED_PARAM_COMPUTE_UNITS] = 80,
	[T3_TIMED_PARAM_CLOCK_MHZ] = 1400,
	[T3_TIMED_PARAM_FLOPS_PER_CLOCK] = 1024,
	[T3_TIMED_PARAM_COMPUTE_PERCENT] = 90,
	[T3_TIMED_PARAM_GROUPS_PER_UNIT] = 1,
	[T3_TIMED_PARAM_UNIT_STORE_GBPS] = 90,
	[T3_TIMED_PARAM_STAGE_BARRIER] = 0,
	[T3_TIMED_PARAM_TILE_ROWS] = 128,
	[T3_TIMED_PARAM_TILE_COLUMNS] = 128,
	[T3_TIMED_PARAM_K_BLOCK] = 32,
	[T3_TIMED_PARAM_RASTER_ROWS] = 8,
	[T3_TIMED_PARAM_CACHE_KIB] = 16384,
	[T3_TIMED_PARAM_CACHE_WAYS] = 16,
	[T3_TIMED_PARAM_CACHE_GBPS] = 2867,
	[T3_TIMED_PARAM_CACHE_LATENCY_NS] = 150,
	[T3_TIMED_PARAM_REQUEST_BYTES] = 4096,
	[T3_TIMED_PARAM_MEMORY_GBPS] = 1024,
	[T3_TIMED_PARAM_MEMORY_LATENCY_NS] = 200,
	[T3_TIMED_PARAM_MEMORY_CHANNELS] = 32,
	[T3_TIMED_PARAM_QUEUE_ENTRIES] = 64,
	[T3_TIMED_PARAM_ENTRY_BYTES] = 64,
	[T3_TIMED_PARAM_TURNAROUND_NS] = 15,
	[T3_TIMED_PARAM_RUN_KIB] = 64,
	[T3_TIMED_PARAM_ROW_CONFLICT_NS] = 11,
	[T3_TIMED_PARAM_UPDATE_PERCENT] = 200,
	[T3_TIMED_PARAM_THRESHOLD_HIGH] = 5,
	[T3_TIMED_PARAM_THRESHOLD_MIDDLE] = 10,
	[T3_TIMED_PARAM_THRESHOLD_LOW] = 30,
	[T3_TIMED_PARAM_INTENSITY_HIGH] = 50,
	[T3_TIMED_PARAM_INTENSITY_MIDDLE] = 25,
	[T3_TIMED_PARAM_INTENSITY_LOW] = 10,
	[T3_TIMED_PARAM_STARVATION_NS] = 2000,
	[T3_TIMED_PARAM_LINK_GBPS] = 150,
	[T3_TIMED_PARAM_LINK_LATENCY_NS] = 500,
	[T3_TIMED_PARAM_LINK_QUEUE_KIB] = 256,
	[T3_TIMED_PARAM_DMA_TILES] = 8,
	[T3_TIMED_PARAM_DMA_READ_AHEAD_KIB] = 512,
	[T3_TIMED_PARAM_COPY_UNIT_KIB] = 16,
	[T3_TIMED_PARAM_TRACKER_ENTRIES] = 256,
	[T3_TIMED_PARAM_TRACKER_WAYS] = 4,
	[T3_TIMED_PARAM_TRACKER_RECORD_BYTES] = 76,
	[T3_TIMED_PARAM_COLLECTIVE_UNITS] = 80,
	[T3_TIMED_PARAM_COPY_UNIT_GBPS] = 45,
	[T3_TIMED_PARAM_NODE_LINK_GBPS] = 25,
	[T3_TIMED_PARAM_NODE_LINK_LATENCY_NS] = 2000,
};

void t3_timed_args_init(struct t3_timed_args *args)
{
	if (!args)
		return;
	memset(args, 0, sizeof(*args));
	args->element_bytes = 2;
	memcpy(args->params, machine, sizeof(machine));
}

int t3_queue_timed(struct t3_queue *queue, const struct t3_timed_desc *desc, int *fence)
{
	return t3_queue_timed_experts(queue, desc, 0, fence);
}

int t3_queue_timed_experts(struct t3_queue *queue, const struct t3_timed_desc *desc,
			   uint32_t counts, int *fence)
{
	struct drm_t3_timed timed = { .head.type = DRM_T3_COMMAND_TIMED, .counts = counts };

	if (!queue || !desc || !desc->args || !desc->result)
		return -EINVAL;
	if (!t3_queue_is_of(queue, desc->args->fd) || !t3_queue_is_of(queue, desc->result->fd))
		return -EOPNOTSUPP;
	timed.args.handle = t3_buffer_handle(desc->args);
	timed.args.offset = desc->args_offset;
	timed.result.handle = t3_buffer_handle(desc->result);
	timed.result.offset = desc->result_offset;
	return t3_queue_job(queue, &timed.head, sizeof(timed), fence);
}
