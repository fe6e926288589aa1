// SPDX-License-Identifier: GPL-2.0-only
/*
 * T3_QUERY and T3_SPACE_STATS.
 */
#include <linux/cleanup.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_gate.h"
#include "t3_mem.h"
#include "t3_refuse.h"
#include "t3_regs.h"
#include "t3_space.h"
#include "t3_stats.h"
#include "t3_user.h"

/* Numbers that programs get as the device has them: what t3_accel.h lacks is an error here. */
static_assert(!(0 T3_COUNTER_LIST(T3_DIFFERS, DRM_T3_COUNTER_)));
static_assert(!(0 T3_TOPOLOGY_LIST(T3_DIFFERS, DRM_T3_TOPOLOGY_)));
static_assert(!(0 T3_FAULT_LIST(T3_DIFFERS, DRM_T3_FAULT_)));
static_assert(!(0 T3_NAK_LIST(T3_DIFFERS, DRM_T3_NAK_)));
static_assert(T3_COUNTER_COUNT <= DRM_T3_COUNTERS_MAX);
static_assert(DRM_T3_PAGE_SIZE == T3_PAGE_SIZE);
static_assert(DRM_T3_SEGMENTS_MAX == T3_SPACE_SEGMENTS);
static_assert(DRM_T3_SLOTS_MAX == T3_SEG_SLOTS);
static_assert(DRM_T3_IMPORTS_MAX == T3_SPACE_IMPORTS);
static_assert(DRM_T3_UPDATES_MAX == T3_MAX_UPDATES);
static_assert(DRM_T3_BLOCK_TILES_MAX == T3_MAX_BLOCK_TILES);
static_assert(DRM_T3_STAGED_ROWS_MAX == T3_MAX_STAGED_ROWS);
static_assert(DRM_T3_WIDE_BYTES_MAX == T3_MAX_WIDE_BYTES);
static_assert(DRM_T3_WIDE_ROWS_MAX == T3_MAX_WIDE_ROWS);
static_assert(DRM_T3_QUEUES_MAX == T3_MAX_QUEUES);
static_assert(DRM_T3_CLIENTS_MAX == T3_MAX_CLIENTS);
static_assert(DRM_T3_COPY_BYTES_MAX == T3_MAX_COPY_BYTES);
static_assert(DRM_T3_GEMM_GROUP_MAX == U16_MAX);
static_assert(DRM_T3_PITCH_MAX == T3_MAX_PITCH);
static_assert(sizeof(struct drm_t3_event_area) == sizeof(struct t3_event_area));
static_assert(offsetof(struct drm_t3_event_area, ring) ==
	      offsetof(struct t3_event_area, ring));
static_assert(DRM_T3_FAULT_RING == T3_FAULT_RING);
static_assert(sizeof(struct drm_t3_fault) == sizeof(struct t3_fault_record));

#define T3_FEATURES                                                              \
	(DRM_T3_FEATURE_STAGING | DRM_T3_FEATURE_MINMAX | DRM_T3_FEATURE_MULTI | \
	 DRM_T3_FEATURE_BLOCKS | DRM_T3_FEATURE_BYTES | DRM_T3_FEATURE_QUEUES |  \
	 DRM_T3_FEATURE_GEMM | DRM_T3_FEATURE_TIMED | DRM_T3_FEATURE_TILES |     \
	 DRM_T3_FEATURE_KEYS | DRM_T3_FEATURE_FAR_KEYS | DRM_T3_FEATURE_TYPES |  \
	 DRM_T3_FEATURE_BYTE_OPS | DRM_T3_FEATURE_BITWISE | DRM_T3_FEATURE_PRODUCT | \
	 DRM_T3_FEATURE_WIDEN)

/* A capability that is no feature stands here. */
static_assert(T3_FEATURES == ((0 T3_CAP_LIST(T3_OR, T3_CAP_)) & ~T3_CAP_INJECT));

static const struct t3_rule t3_query_rules[] = {
	T3_RANGE(drm_t3_query, type, 0, DRM_T3_QUERY_SWITCH),
	T3_CAUSE(-EFAULT, drm_t3_query, data, "size bytes that can be written"),
};

static const struct t3_rule t3_space_stats_rules[] = {
	T3_ZERO(drm_t3_space_stats, flags),
	T3_ZERO(drm_t3_space_stats, pad),
	T3_RANGE(drm_t3_space_stats, segment, 0, T3_SPACE_SEGMENTS - 1),
	T3_CAUSE(-ENOENT, drm_t3_space_stats, segment, "a mapped segment"),
};

union t3_answer {
	struct drm_t3_device_info info;
	struct drm_t3_counters counters;
	struct drm_t3_switch_info port;
};

static void t3_query_info(struct drm_file *file, struct drm_t3_device_info *info)
{
	struct t3_device *tdev = t3_file_device(file);
	const struct t3_caps *caps = &tdev->caps;
	struct t3_file *tfile = file->driver_priv;

	*info = (struct drm_t3_device_info){
		.features = (caps->caps & T3_FEATURES) | DRM_T3_FEATURE_REFUSALS |
			    (t3_has_switch(tdev) ? DRM_T3_FEATURE_GROUPS : 0),
		.memory_size = caps->memory_size,
		.memory_free = t3_mem_available(tdev),
		.aperture_size = caps->aperture_size,
		.fabric_id = caps->fabric_id,
		.hw_version = caps->version,
		.rank = caps->rank,
		.ranks = caps->ranks,
		.topology = caps->topology,
		.tracker_entries = caps->tracker >> 8,
		.tracker_ways = caps->tracker & 0xff,
		.max_spaces = caps->max_spaces,
		.space_segments = T3_SPACE_SEGMENTS,
		.space_imports = T3_SPACE_IMPORTS,
		.max_updates = T3_MAX_UPDATES,
		.max_tile_bytes = T3_MAX_TILE_BYTES,
		.staging_slots = T3_SEG_SLOTS,
		.file_memory_limit = t3_account_limit(tfile->account, T3_POOL_DEVICE),
		.file_memory_used = t3_account_used(tfile->account, T3_POOL_DEVICE),
		.file_host_limit = t3_account_limit(tfile->account, T3_POOL_HOST),
		.file_host_used = t3_account_used(tfile->account, T3_POOL_HOST),
		.node_ranks = caps->node_ranks,
	};
}

static int t3_query_counters(struct t3_device *tdev, struct drm_t3_counters *counters)
{
	int ret;
	u32 i;

	ret = t3_access_enter(tdev);
	if (ret)
		return ret;
	counters->vtime_ns = t3_hw_vclock(tdev);
	counters->count = T3_COUNTER_COUNT;
	for (i = 0; i < T3_COUNTER_COUNT; i++)
		counters->value[i] = t3_hw_counter(tdev, i);
	t3_access_exit(tdev);
	return 0;
}

static int t3_query_switch(struct t3_device *tdev, struct drm_t3_switch_info *info)
{
	struct t3_cmd_switch_query cmd = {};
	int ret;

	ret = t3_admin_query(tdev, T3_CMD_SWITCH_QUERY, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	*info = (struct drm_t3_switch_info){
		.entries = cmd.entries,
		.entries_used = cmd.used,
		.entries_most = cmd.most,
		.groups = cmd.groups,
		.ready = cmd.ready,
		.taken = cmd.taken,
		.merged = cmd.merged,
		.alone = cmd.alone,
		.full = cmd.full,
		.partial = cmd.partial,
		.sums = cmd.sums,
		.copies = cmd.copies,
		.busy = cmd.busy,
		.refused = cmd.refused,
		.wrong_keys = cmd.wrong_keys,
	};
	return 0;
}

static const u32 t3_answer_sizes[] = {
	[DRM_T3_QUERY_DEVICE] = sizeof(struct drm_t3_device_info),
	[DRM_T3_QUERY_COUNTERS] = sizeof(struct drm_t3_counters),
	[DRM_T3_QUERY_SWITCH] = sizeof(struct drm_t3_switch_info),
};

static int t3_query(struct drm_file *file, struct drm_t3_query *args)
{
	union t3_answer *answer __free(kfree) = kzalloc_obj(*answer, GFP_KERNEL);
	u32 size = min(args->size, t3_answer_sizes[args->type]);
	int ret = 0;

	if (!answer)
		return -ENOMEM;
	if (args->type == DRM_T3_QUERY_DEVICE)
		t3_query_info(file, &answer->info);
	else if (args->type == DRM_T3_QUERY_COUNTERS)
		ret = t3_query_counters(t3_file_device(file), &answer->counters);
	else
		ret = t3_query_switch(t3_file_device(file), &answer->port);
	if (ret)
		return ret;
	if (copy_to_user(u64_to_user_ptr(args->data), answer, size))
		return -EFAULT;
	args->size = size;
	return 0;
}

/**
 * t3_query_ioctl() - DRM_IOCTL_T3_QUERY
 * @drm: the device
 * @data: &struct drm_t3_query
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_query lists.
 */
int t3_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_query *args = data;
	int ret;

	ret = t3_check(file, args, t3_query_rules);
	if (ret)
		return ret;
	if (args->type == DRM_T3_QUERY_SWITCH && !t3_has_switch(to_t3_device(drm)))
		return t3_refuse(file, args, -EOPNOTSUPP, type,
				 "SWITCH of a device with DRM_T3_FEATURE_GROUPS");
	if (args->data)
		return t3_explain(file, args, t3_query(file, args), t3_query_rules);
	args->size = t3_answer_sizes[args->type];
	return 0;
}

static int t3_stats_segment(struct t3_space *space, struct drm_t3_space_stats *args)
{
	struct t3_cmd_seg_stats cmd = { .space = space->hw_id, .segment = args->segment };
	int ret;

	ret = t3_admin_query(space->tdev, T3_CMD_SEG_STATS, &cmd, sizeof(cmd));
	if (ret)
		return ret == -EINVAL ? -ENOENT : ret; /* BAD_INDEX: not mapped */
	args->stores = cmd.stores;
	args->doorbells = cmd.doorbells;
	args->local_bytes = cmd.local_bytes;
	args->remote_bytes = cmd.remote_bytes;
	args->triggers = cmd.triggers;
	args->dma_bytes = cmd.dma_bytes;
	args->link_bytes = cmd.link_bytes;
	args->nmc_elements = cmd.nmc_elements;
	args->tiles = cmd.tiles;
	args->tiles_tracked = cmd.tiles_tracked;
	return 0;
}

static int t3_stats_space(struct t3_space *space, struct drm_t3_space_stats *args)
{
	struct t3_cmd_space cmd = { .space = space->hw_id };
	int ret;

	ret = t3_admin_query(space->tdev, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	args->space_state = cmd.state;
	args->epoch = cmd.epoch;
	args->hw_space = space->hw_id;
	args->generation = cmd.generation;
	return 0;
}

/* The lock keeps the hardware id from passing to another space between the commands. */
static int t3_stats_locked(struct t3_space *space, struct drm_t3_space_stats *args)
{
	struct drm_t3_space_stats stats = *args;
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead)
		return t3_refuse_space(space->file, args);
	ret = t3_stats_segment(space, &stats);
	if (!ret)
		ret = t3_stats_space(space, &stats);
	if (!ret)
		*args = stats;
	return ret;
}

/**
 * t3_space_stats_ioctl() - DRM_IOCTL_T3_SPACE_STATS
 * @drm: the device
 * @data: &struct drm_t3_space_stats
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_space_stats lists.
 */
int t3_space_stats_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_space_stats *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_space_stats_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	mutex_lock(&t3_topology_lock);
	ret = t3_stats_locked(space, args);
	mutex_unlock(&t3_topology_lock);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_space_stats_rules));
}
