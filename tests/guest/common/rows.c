// SPDX-License-Identifier: MIT
/*
 * A right argument for each ioctl, and single values that make it wrong. test_abi_table checks that
 * each wrong one is refused and changes nothing. The tests of an ioctl have the errors that depend
 * on its state.
 */
#include <sys/ioctl.h>

#include "rows.h"

#define NO_HANDLE   0x7fffffffu
#define BAD_POINTER 0xffffffff80000000ull /* the kernel's */

/* ------------------------------------------------------------ right arguments */

static void fill_query(struct world *world, void *arg)
{
	*(struct drm_t3_query *)arg = (struct drm_t3_query){
		.type = DRM_T3_QUERY_DEVICE,
		.size = sizeof(world->answer),
		.data = (uintptr_t)world->answer,
	};
}

static void fill_bo_create(struct world *world, void *arg)
{
	(void)world;
	*(struct drm_t3_bo_create *)arg = (struct drm_t3_bo_create){
		.size = PAGE,
	};
}

static void fill_bo_mmap_offset(struct world *world, void *arg)
{
	*(struct drm_t3_bo_mmap_offset *)arg = (struct drm_t3_bo_mmap_offset){
		.handle = world->spare_bo,
	};
}

static void fill_space_create(struct world *world, void *arg)
{
	*(struct drm_t3_space_create *)arg = (struct drm_t3_space_create){
		.bo_handle = world->spare_bo,
		.max_tiles = 1,
	};
}

static void fill_space(struct world *world, void *arg)
{
	*(struct drm_t3_space *)arg = (struct drm_t3_space){
		.space = world->source.space,
	};
}

static void fill_space_wait(struct world *world, void *arg)
{
	*(struct drm_t3_space_wait *)arg = (struct drm_t3_space_wait){
		.space = world->source.space,
		.what = DRM_T3_WAIT_DELIVERED,
		.epoch = 1,
		.segment_mask = 1,
	};
}

static void fill_space_eventfd(struct world *world, void *arg)
{
	*(struct drm_t3_space_eventfd *)arg = (struct drm_t3_space_eventfd){
		.space = world->source.space,
		.fd = world->event_fd,
		.segment_mask = 1,
	};
}

static void fill_space_wait_fd(struct world *world, void *arg)
{
	*(struct drm_t3_space_wait_fd *)arg = (struct drm_t3_space_wait_fd){
		.space = world->source.space,
		.segment_mask = 1,
	};
}

static void fill_space_stats(struct world *world, void *arg)
{
	*(struct drm_t3_space_stats *)arg = (struct drm_t3_space_stats){
		.space = world->source.space,
	};
}

static void fill_space_tile(struct world *world, void *arg)
{
	*(struct drm_t3_space_tile *)arg = (struct drm_t3_space_tile){
		.space = world->source.space,
	};
}

static void fill_segment_unmap(struct world *world, void *arg)
{
	*(struct drm_t3_segment_unmap *)arg = (struct drm_t3_segment_unmap){
		.space = world->source.space,
	};
}

static void fill_segment_staging(struct world *world, void *arg)
{
	*(struct drm_t3_segment_staging *)arg = (struct drm_t3_segment_staging){
		.space = world->source.space,
		.bo_handle = world->spare_bo,
		.slots = 1,
		.slot_stride = RAW_SEGMENT_BYTES,
	};
}

/* Of a segment that can widen, beside that of the world. Random calls may have left no room for it. */
static void fill_segment_widen(struct world *world, void *arg)
{
	struct drm_t3_segment_map map = raw_segment(&world->source);

	map.segment = 1;
	map.dtype = DRM_T3_BF16;
	map.offset = PAGE / 2;
	raw_map(&world->source, &map);
	*(struct drm_t3_segment_widen *)arg = (struct drm_t3_segment_widen){
		.space = world->source.space,
		.segment = 1,
		.bo_handle = world->spare_bo,
		.offset = 8,
	};
}

static void fill_grant_export(struct world *world, void *arg)
{
	*(struct drm_t3_grant_export *)arg = (struct drm_t3_grant_export){
		.space = world->target.space,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = 1,
	};
}

static void fill_grant_revoke(struct world *world, void *arg)
{
	*(struct drm_t3_grant_revoke *)arg = (struct drm_t3_grant_revoke){
		.space = world->target.space,
		.grant = world->grant,
	};
}

static void fill_grant_import(struct world *world, void *arg)
{
	*(struct drm_t3_grant_import *)arg = (struct drm_t3_grant_import){
		.space = world->source.space,
		.fd = world->grant_fd,
	};
}

static void fill_grant_release(struct world *world, void *arg)
{
	*(struct drm_t3_grant_release *)arg = (struct drm_t3_grant_release){
		.space = world->source.space,
		.import = world->import,
	};
}

static void fill_key_export(struct world *world, void *arg)
{
	*(struct drm_t3_key_export *)arg = (struct drm_t3_key_export){
		.space = world->target.space,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = 1,
	};
}

static void fill_key_import(struct world *world, void *arg)
{
	*(struct drm_t3_key_import *)arg = (struct drm_t3_key_import){
		.space = world->source.space,
		.key = world->key,
	};
}

static void fill_segment_map(struct world *world, void *argument)
{
	struct drm_t3_segment_map *arg = argument;

	*arg = raw_sender(&world->source, DRM_T3_SEGMENT_DMA, world->import, 0);
	arg->segment = 1;
	arg->offset = 1024;
	arg->block_tiles = 2;
	arg->import_count = 1;
	arg->imports = (uintptr_t)world->second;
}

static void fill_queue_create(struct world *world, void *arg)
{
	(void)world;
	*(struct drm_t3_queue_create *)arg = (struct drm_t3_queue_create){ 0 };
}

static void fill_queue_destroy(struct world *world, void *arg)
{
	*(struct drm_t3_queue_destroy *)arg = (struct drm_t3_queue_destroy){
		.queue = world->idle_queue,
	};
}

static void fill_queue_submit(struct world *world, void *arg)
{
	world->commands[0] = command_fill(world->spare_bo, 0, PAGE, 1);
	world->commands[1] = command_copy(world->spare_bo, world->spare_bo, PAGE / 2);
	world->commands[2] = command_gemm(world->spare_bo, world->spare_bo);
	world->commands[3] = command_timed(world->timed_bo);
	world->ins[0] = (struct drm_t3_sync){ .handle = world->done_sync };
	world->outs[0] = (struct drm_t3_sync){ .handle = world->sync };
	*(struct drm_t3_queue_submit *)arg = (struct drm_t3_queue_submit){
		.queue = world->queue,
		.command_count = 4,
		.command_stride = sizeof(world->commands[0]),
		.commands = (uintptr_t)world->commands,
		.in_count = 1,
		.out_count = 1,
		.in_syncs = (uintptr_t)world->ins,
		.out_syncs = (uintptr_t)world->outs,
		.sync_stride = sizeof(world->ins[0]),
	};
}

static void fill_group_create(struct world *world, void *arg)
{
	*(struct drm_t3_group_create *)arg = (struct drm_t3_group_create){
		.space = world->target.space,
		.kind = DRM_T3_GROUP_REDUCE,
		.members = 2,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = 1,
	};
}

static void fill_group_member(struct world *world, void *arg)
{
	*(struct drm_t3_group_member *)arg = (struct drm_t3_group_member){
		.space = world->target.space,
		.group = world->reduce.group,
	};
}

static void fill_group_join(struct world *world, void *arg)
{
	*(struct drm_t3_group_join *)arg = (struct drm_t3_group_join){
		.space = world->target.space,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = 1,
		.ticket = world->multicast.ticket,
	};
}

static void fill_group_destroy(struct world *world, void *arg)
{
	*(struct drm_t3_group_destroy *)arg = (struct drm_t3_group_destroy){
		.space = world->target.space,
		.group = world->reduce.group,
	};
}

static void fill_group_query(struct world *world, void *arg)
{
	*(struct drm_t3_group_query *)arg = (struct drm_t3_group_query){
		.space = world->target.space,
		.group = world->reduce.group,
	};
}

/* world_open() has made a refusal. */
static void fill_refusal(struct world *world, void *arg)
{
	(void)world;
	*(struct drm_t3_refusal *)arg = (struct drm_t3_refusal){ 0 };
}

/* ------------------------------------------------------------ wrong arguments */

static const struct deviation bad_query[] = {
	BAD(drm_t3_query, type, 3, EINVAL),
	BAD(drm_t3_query, type, ~0u, EINVAL),
	BAD(drm_t3_query, type, 0x80000000, EINVAL),
	BAD(drm_t3_query, data, 8, EFAULT),
	BAD(drm_t3_query, data, BAD_POINTER, EFAULT),
	BAD(drm_t3_query, data, 0xffff800000000000, EFAULT),
	BAD(drm_t3_query, data, ~0ull, EFAULT),
};

static const struct deviation bad_bo_create[] = {
	BAD(drm_t3_bo_create, size, 0, EINVAL),
	BAD(drm_t3_bo_create, size, ~0ull, EINVAL),
	BAD(drm_t3_bo_create, size, 1ull << 62, EINVAL),
	BAD(drm_t3_bo_create, size, 1ull << 40, EINVAL),
	BAD(drm_t3_bo_create, size, 1ull << 63, EINVAL),
	BAD(drm_t3_bo_create, size, ~4095ull, EINVAL),
};

static const struct deviation bad_bo_mmap_offset[] = {
	BAD(drm_t3_bo_mmap_offset, handle, 0, ENOENT),
	BAD(drm_t3_bo_mmap_offset, handle, NO_HANDLE, ENOENT),
	BAD(drm_t3_bo_mmap_offset, handle, ~0u, ENOENT),
};

static const struct deviation bad_space_create[] = {
	BAD(drm_t3_space_create, max_tiles, 0, EINVAL),
	BAD(drm_t3_space_create, max_tiles, (1u << 20) + 1, EINVAL),
	BAD(drm_t3_space_create, max_tiles, ~0u, EINVAL),
	BAD(drm_t3_space_create, bo_handle, 0, ENOENT),
	BAD(drm_t3_space_create, bo_handle, NO_HANDLE, ENOENT),
	BAD(drm_t3_space_create, bo_handle, ~0u, ENOENT),
	/* source's own buffer, made first: it is behind a space */
	BAD(drm_t3_space_create, bo_handle, 1, EBUSY),
};

static const struct deviation bad_space[] = {
	BAD(drm_t3_space, space, 0, ENOENT),
	BAD(drm_t3_space, space, NO_HANDLE, ENOENT),
	BAD(drm_t3_space, space, ~0u, ENOENT),
};

static const struct deviation bad_space_wait[] = {
	BAD(drm_t3_space_wait, what, 3, EINVAL),
	BAD(drm_t3_space_wait, what, ~0u, EINVAL),
	BAD(drm_t3_space_wait, what, 257, EINVAL),
	BAD(drm_t3_space_wait, epoch, 0, EINVAL),
	BAD(drm_t3_space_wait, epoch, 2, ETIMEDOUT),
	BAD(drm_t3_space_wait, segment_mask, 2, EINVAL),
	BAD(drm_t3_space_wait, segment_mask, 3, EINVAL),
	BAD(drm_t3_space_wait, segment_mask, 1ull << 63, EINVAL),
	BAD(drm_t3_space_wait, deadline_ns, -1, EINVAL),
	BAD(drm_t3_space_wait, deadline_ns, INT64_MIN, EINVAL),
	BAD(drm_t3_space_wait, space, 0, ENOENT),
	BAD(drm_t3_space_wait, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_space_eventfd[] = {
	BAD(drm_t3_space_eventfd, segment_mask, 0, EINVAL),
	BAD_AS("segment_mask", drm_t3_space_eventfd, fd, -1, ENOENT),
	BAD(drm_t3_space_eventfd, fd, -2, EBADF),
	BAD(drm_t3_space_eventfd, fd, 1023, EBADF),
	BAD(drm_t3_space_eventfd, fd, STDERR_FILENO, EINVAL),
	BAD(drm_t3_space_eventfd, space, 0, ENOENT),
};

static const struct deviation bad_space_wait_fd[] = {
	BAD(drm_t3_space_wait_fd, segment_mask, 0, EINVAL),
	BAD(drm_t3_space_wait_fd, space, 0, ENOENT),
	BAD(drm_t3_space_wait_fd, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_space_stats[] = {
	BAD(drm_t3_space_stats, segment, 1, ENOENT),
	BAD(drm_t3_space_stats, segment, 63, ENOENT),
	BAD(drm_t3_space_stats, segment, 64, EINVAL),
	BAD(drm_t3_space_stats, segment, ~0u, EINVAL),
	BAD(drm_t3_space_stats, space, 0, ENOENT),
	BAD(drm_t3_space_stats, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_space_tile[] = {
	BAD(drm_t3_space_tile, segment, 1, ENOENT),
	BAD(drm_t3_space_tile, segment, 64, EINVAL),
	BAD(drm_t3_space_tile, segment, ~0u, EINVAL),
	BAD(drm_t3_space_tile, space, 0, ENOENT),
};

static const struct deviation bad_segment_map[] = {
	BAD(drm_t3_segment_map, segment, 64, EINVAL),
	BAD(drm_t3_segment_map, segment, ~0u, EINVAL),
	BAD(drm_t3_segment_map, segment, 0, EEXIST),
	BAD(drm_t3_segment_map, kind, 0, EINVAL),
	BAD(drm_t3_segment_map, kind, 4, EINVAL),
	BAD(drm_t3_segment_map, kind, ~0u, EINVAL),
	BAD(drm_t3_segment_map, op, 8, EINVAL),
	BAD(drm_t3_segment_map, op, ~0u, EINVAL),
	BAD(drm_t3_segment_map, dtype, 10, EINVAL),
	BAD(drm_t3_segment_map, dtype, ~0u, EINVAL),
	BAD(drm_t3_segment_map, init, 2, EINVAL),
	BAD(drm_t3_segment_map, init, ~0u, EINVAL),
	BAD(drm_t3_segment_map, target_op, 8, EINVAL),
	BAD(drm_t3_segment_map, target_op, ~0u, EINVAL),
	BAD(drm_t3_segment_map, target_segment, 64, EINVAL),
	BAD(drm_t3_segment_map, block_tiles, 257, EINVAL),
	BAD(drm_t3_segment_map, block_tiles, ~0u, EINVAL),
	BAD_AS("imports", drm_t3_segment_map, import_count, 0, EINVAL),
	BAD(drm_t3_segment_map, import_count, ~0u, EINVAL),
	BAD(drm_t3_segment_map, imports, 0, EINVAL),
	BAD(drm_t3_segment_map, imports, 8, EFAULT),
	BAD(drm_t3_segment_map, imports, BAD_POINTER, EFAULT),
	BAD(drm_t3_segment_map, import, 0, ENOENT),
	BAD(drm_t3_segment_map, space, 0, ENOENT),
};

static const struct deviation bad_segment_unmap[] = {
	BAD(drm_t3_segment_unmap, segment, 1, ENOENT),
	BAD(drm_t3_segment_unmap, segment, 63, ENOENT),
	BAD(drm_t3_segment_unmap, segment, 64, EINVAL),
	BAD(drm_t3_segment_unmap, segment, ~0u, EINVAL),
	BAD(drm_t3_segment_unmap, space, 0, ENOENT),
	BAD(drm_t3_segment_unmap, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_segment_staging[] = {
	BAD(drm_t3_segment_staging, segment, 1, ENOENT),
	BAD(drm_t3_segment_staging, segment, 64, EINVAL),
	BAD_AS("bo_handle", drm_t3_segment_staging, slots, 0, EINVAL),
	BAD(drm_t3_segment_staging, slots, 5, EINVAL),
	BAD(drm_t3_segment_staging, slots, ~0u, EINVAL),
	BAD(drm_t3_segment_staging, offset, 4, EINVAL),
	BAD(drm_t3_segment_staging, offset, ~7ull, EINVAL),
	BAD(drm_t3_segment_staging, slot_stride, 0, EINVAL),
	BAD(drm_t3_segment_staging, slot_stride, RAW_SEGMENT_BYTES + 4, EINVAL),
	BAD(drm_t3_segment_staging, bo_handle, 0, ENOENT),
	BAD(drm_t3_segment_staging, space, 0, ENOENT),
};

static const struct deviation bad_segment_widen[] = {
	BAD(drm_t3_segment_widen, segment, 0, EINVAL), /* of i32 */
	BAD(drm_t3_segment_widen, segment, 2, ENOENT),
	BAD(drm_t3_segment_widen, segment, 64, EINVAL),
	BAD(drm_t3_segment_widen, segment, ~0u, EINVAL),
	BAD_AS("offset", drm_t3_segment_widen, bo_handle, 0, EINVAL),
	BAD(drm_t3_segment_widen, bo_handle, NO_HANDLE, ENOENT),
	BAD(drm_t3_segment_widen, offset, 4, EINVAL),
	BAD(drm_t3_segment_widen, offset, PAGE - 2 * RAW_SEGMENT_BYTES + 8, EINVAL),
	BAD(drm_t3_segment_widen, offset, ~7ull, EINVAL),
	BAD(drm_t3_segment_widen, space, 0, ENOENT),
};

static const struct deviation bad_grant_export[] = {
	BAD(drm_t3_grant_export, op_mask, 0, EINVAL),
	BAD(drm_t3_grant_export, op_mask, 1u << 8 | 1, EINVAL),
	BAD(drm_t3_grant_export, op_mask, 1u << 8, EINVAL),
	BAD(drm_t3_grant_export, op_mask, 1u << 31 | 1, EINVAL),
	BAD(drm_t3_grant_export, op_mask, ~0u, EINVAL),
	BAD(drm_t3_grant_export, segment_mask, 0, EINVAL),
	BAD(drm_t3_grant_export, rank_mask, ~0u, EINVAL),
	BAD(drm_t3_grant_export, space, 0, ENOENT),
	BAD(drm_t3_grant_export, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_grant_revoke[] = {
	BAD(drm_t3_grant_revoke, grant, 0, ENOENT),
	BAD(drm_t3_grant_revoke, grant, NO_HANDLE, ENOENT),
	BAD(drm_t3_grant_revoke, grant, ~0u, ENOENT),
	BAD(drm_t3_grant_revoke, space, 0, ENOENT),
	BAD(drm_t3_grant_revoke, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_grant_import[] = {
	BAD(drm_t3_grant_import, fd, -1, EBADF),
	BAD(drm_t3_grant_import, fd, 1023, EBADF),
	BAD(drm_t3_grant_import, fd, STDERR_FILENO, EINVAL),
	BAD(drm_t3_grant_import, space, 0, ENOENT),
};

static const struct deviation bad_grant_release[] = {
	BAD(drm_t3_grant_release, import, 0, ENOENT),
	BAD(drm_t3_grant_release, import, NO_HANDLE, ENOENT),
	BAD(drm_t3_grant_release, space, 0, ENOENT),
	BAD(drm_t3_grant_release, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_key_export[] = {
	BAD(drm_t3_key_export, op_mask, 0, EINVAL),
	BAD(drm_t3_key_export, op_mask, 0x100, EINVAL),
	BAD(drm_t3_key_export, segment_mask, 0, EINVAL),
	BAD(drm_t3_key_export, space, 0, ENOENT),
	BAD(drm_t3_key_export, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_key_import[] = {
	BAD(drm_t3_key_import, key.fabric_id, 0, EXDEV),
	BAD(drm_t3_key_import, key.segment_mask, 0, EINVAL),
	BAD(drm_t3_key_import, key.op_mask, 0, EINVAL),
	BAD(drm_t3_key_import, key.op_mask, 0x100, EINVAL),
	BAD(drm_t3_key_import, key.rank, 0, EHOSTUNREACH), /* the source's own */
	BAD(drm_t3_key_import, key.rank, 31, EINVAL),
	BAD(drm_t3_key_import, key.rank, 33, EINVAL),
	BAD(drm_t3_key_import, key.space, 1024, EINVAL),
	BAD(drm_t3_key_import, key.import, 32, EINVAL),
	BAD(drm_t3_key_import, key.import, ~0u, EINVAL),
	BAD(drm_t3_key_import, space, 0, ENOENT),
	BAD(drm_t3_key_import, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_queue_create[] = {
	BAD(drm_t3_queue_create, priority, DRM_T3_QUEUE_PRIORITY_MAX + 1, EINVAL),
	BAD(drm_t3_queue_create, priority, ~0u, EINVAL),
};

static const struct deviation bad_queue_destroy[] = {
	BAD(drm_t3_queue_destroy, queue, 0, ENOENT),
	BAD(drm_t3_queue_destroy, queue, NO_HANDLE, ENOENT),
	BAD(drm_t3_queue_destroy, queue, ~0u, ENOENT),
};

static const struct deviation bad_queue_submit[] = {
	BAD(drm_t3_queue_submit, command_count, 0, EINVAL),
	BAD(drm_t3_queue_submit, command_count, DRM_T3_SUBMIT_COMMANDS_MAX + 1, EINVAL),
	BAD(drm_t3_queue_submit, command_count, ~0u, EINVAL),
	BAD(drm_t3_queue_submit, command_stride, 0, EINVAL),
	BAD(drm_t3_queue_submit, command_stride, 7, EINVAL),
	BAD(drm_t3_queue_submit, command_stride, 4097, EINVAL),
	BAD(drm_t3_queue_submit, command_stride, ~0u, EINVAL),
	BAD(drm_t3_queue_submit, commands, 0, EFAULT),
	BAD(drm_t3_queue_submit, commands, 8, EFAULT),
	BAD(drm_t3_queue_submit, commands, BAD_POINTER, EFAULT),
	BAD_AS("in_syncs", drm_t3_queue_submit, in_count, 0, EINVAL), /* with an array */
	BAD(drm_t3_queue_submit, in_count, DRM_T3_SUBMIT_SYNCS_MAX + 1, EINVAL),
	BAD(drm_t3_queue_submit, in_count, ~0u, EINVAL),
	BAD_AS("out_syncs", drm_t3_queue_submit, out_count, 0, EINVAL),
	BAD(drm_t3_queue_submit, out_count, DRM_T3_SUBMIT_SYNCS_MAX + 1, EINVAL),
	BAD(drm_t3_queue_submit, out_count, ~0u, EINVAL),
	BAD_AS("out_syncs.handle", drm_t3_queue_submit, out_count, 2,
	       ENOENT), /* the second is all zeros */
	BAD(drm_t3_queue_submit, in_syncs, 0, EFAULT),
	BAD(drm_t3_queue_submit, in_syncs, BAD_POINTER, EFAULT),
	BAD(drm_t3_queue_submit, out_syncs, 0, EFAULT),
	BAD(drm_t3_queue_submit, out_syncs, 8, EFAULT),
	BAD(drm_t3_queue_submit, out_syncs, BAD_POINTER, EFAULT),
	BAD(drm_t3_queue_submit, sync_stride, 0, EINVAL),
	BAD(drm_t3_queue_submit, sync_stride, sizeof(struct drm_t3_sync) - 1, EINVAL),
	BAD(drm_t3_queue_submit, sync_stride, 4097, EINVAL),
	BAD(drm_t3_queue_submit, queue, 0, ENOENT),
	BAD(drm_t3_queue_submit, queue, NO_HANDLE, ENOENT),
};

static const struct deviation bad_group_create[] = {
	BAD(drm_t3_group_create, kind, 0, EINVAL),
	BAD(drm_t3_group_create, kind, 3, EINVAL),
	BAD(drm_t3_group_create, kind, ~0u, EINVAL),
	BAD(drm_t3_group_create, members, 0, EINVAL),
	BAD(drm_t3_group_create, members, DRM_T3_GROUP_MEMBERS_MAX + 1, EINVAL),
	BAD(drm_t3_group_create, members, ~0u, EINVAL),
	BAD(drm_t3_group_create, op_mask, 0, EINVAL),
	BAD(drm_t3_group_create, op_mask, 0x100, EINVAL),
	BAD(drm_t3_group_create, op_mask, 1u << DRM_T3_OP_STORE, EINVAL),
	BAD(drm_t3_group_create, segment_mask, 0, EINVAL),
	BAD(drm_t3_group_create, places, 1, EINVAL), /* of no order */
	BAD_AS("places", drm_t3_group_create, flags, DRM_T3_GROUP_ORDERED, EINVAL),
	BAD(drm_t3_group_create, space, 0, ENOENT),
	BAD(drm_t3_group_create, space, NO_HANDLE, ENOENT),
};

static const struct deviation bad_group_member[] = {
	BAD(drm_t3_group_member, member, 2, EINVAL),
	BAD(drm_t3_group_member, member, ~0u, EINVAL),
	BAD(drm_t3_group_member, target.rank, 4, EINVAL),
	BAD(drm_t3_group_member, target.rank, DRM_T3_SWITCH_RANK, EINVAL),
	BAD_AS("target", drm_t3_group_member, target.rank, 1, EINVAL), /* of REDUCE: 0 */
	BAD(drm_t3_group_member, target.space, 1024, EINVAL),
	BAD(drm_t3_group_member, target.import, 32, EINVAL),
	BAD_AS("target", drm_t3_group_member, target.fabric_id, 1, EINVAL),
	BAD_AS("target", drm_t3_group_member, target.generation, 1, EINVAL),
	BAD(drm_t3_group_member, group, 0, ENOENT),
	BAD(drm_t3_group_member, group, NO_HANDLE, ENOENT),
	BAD(drm_t3_group_member, space, 0, ENOENT),
};

static const struct deviation bad_group_join[] = {
	BAD(drm_t3_group_join, op_mask, 0, EINVAL),
	BAD(drm_t3_group_join, op_mask, 0x100, EINVAL),
	BAD(drm_t3_group_join, segment_mask, 0, EINVAL),
	BAD(drm_t3_group_join, ticket.fabric_id, 0, EXDEV),
	BAD(drm_t3_group_join, ticket.number, 1024, EINVAL),
	BAD(drm_t3_group_join, ticket.number, ~0u, EINVAL),
	BAD(drm_t3_group_join, ticket.generation, 0, EINVAL),
	BAD(drm_t3_group_join, space, 0, ENOENT),
};

static const struct deviation bad_group_destroy[] = {
	BAD(drm_t3_group_destroy, group, 0, ENOENT),
	BAD(drm_t3_group_destroy, group, NO_HANDLE, ENOENT),
	BAD(drm_t3_group_destroy, space, 0, ENOENT),
};

static const struct deviation bad_group_query[] = {
	BAD(drm_t3_group_query, group, 0, ENOENT),
	BAD(drm_t3_group_query, group, NO_HANDLE, ENOENT),
	BAD(drm_t3_group_query, space, 0, ENOENT),
};

static const struct deviation bad_refusal[] = {
	BAD(drm_t3_refusal, flags, ~0u, EINVAL),
	BAD(drm_t3_refusal, pad, ~0u, EINVAL),
};

/* ---------------------------------------------------------------------- table */

/* clang-format off */
#define ROW(id, function, ...)                                                    \
	{                                                                         \
		.name = #id, .request = DRM_IOCTL_T3_##id, .fill = fill_##function, \
		.type = "drm_t3_" #function,                                          \
		.bad = bad_##function, .bad_count = ROWS(bad_##function), __VA_ARGS__ \
	}
#define NAMED(type, member, bits) \
	{ offsetof(struct type, member), sizeof(((struct type *)0)->member), bits, #member }
#define ZERO(type, member) NAMED(type, member, 0)
#define FLAGS_AND_PAD(type) .zero = { ZERO(type, flags), ZERO(type, pad) }

const struct row abi_rows[DRM_T3_IOCTL_COUNT] = {
	ROW(QUERY, query, .no_handle = true),
	ROW(BO_CREATE, bo_create, .no_handle = true,
	    .zero = { NAMED(drm_t3_bo_create, flags, DRM_T3_BO_HOST) }),
	ROW(BO_MMAP_OFFSET, bo_mmap_offset, .zero = { ZERO(drm_t3_bo_mmap_offset, pad) }),
	ROW(SPACE_CREATE, space_create, .zero = { ZERO(drm_t3_space_create, flags) }),
	ROW(SPACE_DESTROY, space, .zero = { ZERO(drm_t3_space, flags) }),
	ROW(SPACE_RESET, space, .zero = { ZERO(drm_t3_space, flags) }),
	ROW(SPACE_WAIT, space_wait, .zero = { ZERO(drm_t3_space_wait, flags) }),
	ROW(SPACE_EVENTFD, space_eventfd, FLAGS_AND_PAD(drm_t3_space_eventfd)),
	ROW(SPACE_WAIT_FD, space_wait_fd, FLAGS_AND_PAD(drm_t3_space_wait_fd)),
	ROW(SPACE_STATS, space_stats, FLAGS_AND_PAD(drm_t3_space_stats)),
	ROW(SEGMENT_MAP, segment_map, .zero = { ZERO(drm_t3_segment_map, flags) }),
	ROW(SEGMENT_UNMAP, segment_unmap, FLAGS_AND_PAD(drm_t3_segment_unmap)),
	ROW(SEGMENT_STAGING, segment_staging, FLAGS_AND_PAD(drm_t3_segment_staging)),
	ROW(GRANT_EXPORT, grant_export, .at_target = true,
	    .zero = { ZERO(drm_t3_grant_export, flags),
		      NAMED(drm_t3_grant_export, rank_mask, 0xf) }), /* the ranks there are */
	ROW(GRANT_REVOKE, grant_revoke, FLAGS_AND_PAD(drm_t3_grant_revoke), .at_target = true),
	ROW(GRANT_IMPORT, grant_import,
	    .zero = { ZERO(drm_t3_grant_import, flags), ZERO(drm_t3_grant_import, pad),
		      ZERO(drm_t3_grant_import, pad2) }),
	ROW(GRANT_RELEASE, grant_release, FLAGS_AND_PAD(drm_t3_grant_release)),
	ROW(QUEUE_CREATE, queue_create, FLAGS_AND_PAD(drm_t3_queue_create), .no_handle = true),
	ROW(QUEUE_DESTROY, queue_destroy, .zero = { ZERO(drm_t3_queue_destroy, flags) }),
	ROW(QUEUE_SUBMIT, queue_submit, FLAGS_AND_PAD(drm_t3_queue_submit)),
	ROW(SPACE_TILE, space_tile,
	    .zero = { NAMED(drm_t3_space_tile, flags, DRM_T3_SPACE_TILE_AT) }),
	ROW(KEY_EXPORT, key_export, .at_target = true,
	    .zero = { ZERO(drm_t3_key_export, flags), ZERO(drm_t3_key_export, pad),
		      NAMED(drm_t3_key_export, rank_mask, 0xf) }), /* the ranks there are */
	ROW(KEY_IMPORT, key_import,
	    .zero = { ZERO(drm_t3_key_import, flags), ZERO(drm_t3_key_import, pad),
		      ZERO(drm_t3_key_import, key.pad) }),
	ROW(REFUSAL, refusal, FLAGS_AND_PAD(drm_t3_refusal), .no_handle = true),
	ROW(SEGMENT_WIDEN, segment_widen, .zero = { ZERO(drm_t3_segment_widen, flags) }),
	ROW(GROUP_CREATE, group_create, .at_target = true, .of_switch = true,
	    .zero = { NAMED(drm_t3_group_create, flags, DRM_T3_GROUP_ORDERED) }),
	ROW(GROUP_MEMBER, group_member, .at_target = true, .of_switch = true,
	    .zero = { ZERO(drm_t3_group_member, flags), ZERO(drm_t3_group_member, pad),
		      NAMED(drm_t3_group_member, rank_mask, 0xf) }), /* the ranks there are */
	ROW(GROUP_JOIN, group_join, .at_target = true, .of_switch = true,
	    .zero = { ZERO(drm_t3_group_join, flags) }),
	ROW(GROUP_DESTROY, group_destroy, FLAGS_AND_PAD(drm_t3_group_destroy), .at_target = true,
	    .of_switch = true),
	ROW(GROUP_QUERY, group_query, .at_target = true, .of_switch = true,
	    .zero = { ZERO(drm_t3_group_query, flags) }),
};
/* clang-format on */

bool row_works(const struct row *row, struct world *world)
{
	uint8_t arg[ROW_ARG_MAX] = { 0 };

	if (!row->of_switch || world->reduce.group)
		return true;
	row->fill(world, arg);
	CHECK(call(row->at_target ? world->target.fd : world->source.fd, row->request, arg) < 0);
	return false;
}
