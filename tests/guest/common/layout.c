// SPDX-License-Identifier: MIT
/*
 * The ABI as numbers, compiled for 64 and for 32 bits. Any change of a layout, a request or a value
 * that programs have compiled in fails the build here.
 *
 * Each struct lists all its fields. Their sizes add up to the struct's size. So the test finds a
 * hole, and a field without a row.
 */
#include <stddef.h>
#include <stdint.h>

#include "t3_accel.h"

/* clang-format off */
#define OFFSET(type, member, at, bytes)                                                  \
	_Static_assert(offsetof(struct type, member) == (at), #type "." #member " moved"); \
	_Static_assert(sizeof(((struct type *)0)->member) == (bytes),                     \
		       #type "." #member " has another size");
#define BYTES(type, member, at, bytes) + (bytes)
#define STRUCT(type, fields, bytes)                                                      \
	fields(OFFSET, type)                                                             \
	_Static_assert(sizeof(struct type) == (bytes), #type " has another size");        \
	_Static_assert((bytes) % 8 == 0, #type " is not a multiple of 8 bytes");          \
	_Static_assert((0 fields(BYTES, type)) == (bytes), #type " has a hole, or a field without a row")
#define VALUE(name, number) _Static_assert((uint64_t)(name) == (number), #name " has another value")

#define QUERY_FIELDS(F, T) \
	F(T, type, 0, 4) \
	F(T, size, 4, 4) \
	F(T, data, 8, 8)
STRUCT(drm_t3_query, QUERY_FIELDS, 16);

#define DEVICE_INFO_FIELDS(F, T) \
	F(T, features, 0, 8) \
	F(T, memory_size, 8, 8) \
	F(T, memory_free, 16, 8) \
	F(T, aperture_size, 24, 8) \
	F(T, fabric_id, 32, 8) \
	F(T, hw_version, 40, 4) \
	F(T, rank, 44, 4) \
	F(T, ranks, 48, 4) \
	F(T, topology, 52, 4) \
	F(T, tracker_entries, 56, 4) \
	F(T, tracker_ways, 60, 4) \
	F(T, max_spaces, 64, 4) \
	F(T, space_segments, 68, 4) \
	F(T, space_imports, 72, 4) \
	F(T, max_updates, 76, 4) \
	F(T, max_tile_bytes, 80, 4) \
	F(T, staging_slots, 84, 4) \
	F(T, file_memory_limit, 88, 8) \
	F(T, file_memory_used, 96, 8) \
	F(T, file_host_limit, 104, 8) \
	F(T, file_host_used, 112, 8) \
	F(T, node_ranks, 120, 4) \
	F(T, pad, 124, 4)
STRUCT(drm_t3_device_info, DEVICE_INFO_FIELDS, 128);

#define COUNTERS_FIELDS(F, T) \
	F(T, vtime_ns, 0, 8) \
	F(T, count, 8, 4) \
	F(T, pad, 12, 4) \
	F(T, value, 16, 256)
STRUCT(drm_t3_counters, COUNTERS_FIELDS, 272);

#define BO_CREATE_FIELDS(F, T) \
	F(T, size, 0, 8) \
	F(T, flags, 8, 4) \
	F(T, handle, 12, 4)
STRUCT(drm_t3_bo_create, BO_CREATE_FIELDS, 16);

#define BO_MMAP_OFFSET_FIELDS(F, T) \
	F(T, handle, 0, 4) \
	F(T, pad, 4, 4) \
	F(T, offset, 8, 8)
STRUCT(drm_t3_bo_mmap_offset, BO_MMAP_OFFSET_FIELDS, 16);

#define SPACE_CREATE_FIELDS(F, T) \
	F(T, bo_handle, 0, 4) \
	F(T, flags, 4, 4) \
	F(T, max_tiles, 8, 4) \
	F(T, space, 12, 4) \
	F(T, size, 16, 8) \
	F(T, aperture_offset, 24, 8) \
	F(T, doorbell_offset, 32, 8) \
	F(T, event_offset, 40, 8)
STRUCT(drm_t3_space_create, SPACE_CREATE_FIELDS, 48);

#define SPACE_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, flags, 4, 4)
STRUCT(drm_t3_space, SPACE_FIELDS, 8);

#define SEGMENT_MAP_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, segment, 4, 4) \
	F(T, kind, 8, 4) \
	F(T, op, 12, 4) \
	F(T, dtype, 16, 4) \
	F(T, init, 20, 4) \
	F(T, updates, 24, 4) \
	F(T, flags, 28, 4) \
	F(T, offset, 32, 8) \
	F(T, rows, 40, 4) \
	F(T, row_bytes, 44, 4) \
	F(T, pitch, 48, 4) \
	F(T, tile_rows, 52, 4) \
	F(T, tile_row_bytes, 56, 4) \
	F(T, import, 60, 4) \
	F(T, target_op, 64, 4) \
	F(T, target_segment, 68, 4) \
	F(T, target_row, 72, 4) \
	F(T, target_col, 76, 4) \
	F(T, block_tiles, 80, 4) \
	F(T, import_count, 84, 4) \
	F(T, imports, 88, 8)
STRUCT(drm_t3_segment_map, SEGMENT_MAP_FIELDS, 96);

#define SEGMENT_UNMAP_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, segment, 4, 4) \
	F(T, flags, 8, 4) \
	F(T, pad, 12, 4)
STRUCT(drm_t3_segment_unmap, SEGMENT_UNMAP_FIELDS, 16);

#define SEGMENT_STAGING_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, segment, 4, 4) \
	F(T, bo_handle, 8, 4) \
	F(T, slots, 12, 4) \
	F(T, offset, 16, 8) \
	F(T, slot_stride, 24, 8) \
	F(T, flags, 32, 4) \
	F(T, pad, 36, 4)
STRUCT(drm_t3_segment_staging, SEGMENT_STAGING_FIELDS, 40);

#define SEGMENT_WIDEN_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, segment, 4, 4) \
	F(T, bo_handle, 8, 4) \
	F(T, flags, 12, 4) \
	F(T, offset, 16, 8)
STRUCT(drm_t3_segment_widen, SEGMENT_WIDEN_FIELDS, 24);

#define GRANT_EXPORT_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, op_mask, 4, 4) \
	F(T, segment_mask, 8, 8) \
	F(T, flags, 16, 4) \
	F(T, grant, 20, 4) \
	F(T, fd, 24, 4) \
	F(T, rank_mask, 28, 4)
STRUCT(drm_t3_grant_export, GRANT_EXPORT_FIELDS, 32);

#define GRANT_REVOKE_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, grant, 4, 4) \
	F(T, flags, 8, 4) \
	F(T, pad, 12, 4)
STRUCT(drm_t3_grant_revoke, GRANT_REVOKE_FIELDS, 16);

#define GRANT_IMPORT_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, fd, 4, 4) \
	F(T, flags, 8, 4) \
	F(T, import, 12, 4) \
	F(T, rank, 16, 4) \
	F(T, pad, 20, 4) \
	F(T, segment_mask, 24, 8) \
	F(T, op_mask, 32, 4) \
	F(T, pad2, 36, 4)
STRUCT(drm_t3_grant_import, GRANT_IMPORT_FIELDS, 40);

#define GRANT_RELEASE_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, import, 4, 4) \
	F(T, flags, 8, 4) \
	F(T, pad, 12, 4)
STRUCT(drm_t3_grant_release, GRANT_RELEASE_FIELDS, 16);

#define KEY_FIELDS(F, T) \
	F(T, secret, 0, 16) \
	F(T, fabric_id, 16, 8) \
	F(T, segment_mask, 24, 8) \
	F(T, op_mask, 32, 4) \
	F(T, rank, 36, 4) \
	F(T, space, 40, 4) \
	F(T, generation, 44, 4) \
	F(T, import, 48, 4) \
	F(T, pad, 52, 4)
STRUCT(drm_t3_key, KEY_FIELDS, 56);

#define KEY_EXPORT_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, op_mask, 4, 4) \
	F(T, segment_mask, 8, 8) \
	F(T, flags, 16, 4) \
	F(T, rank_mask, 20, 4) \
	F(T, grant, 24, 4) \
	F(T, pad, 28, 4) \
	F(T, key, 32, 56)
STRUCT(drm_t3_key_export, KEY_EXPORT_FIELDS, 88);

#define KEY_IMPORT_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, flags, 4, 4) \
	F(T, import, 8, 4) \
	F(T, pad, 12, 4) \
	F(T, key, 16, 56)
STRUCT(drm_t3_key_import, KEY_IMPORT_FIELDS, 72);

#define REFUSAL_FIELDS(F, T) \
	F(T, flags, 0, 4) \
	F(T, request, 4, 4) \
	F(T, error, 8, 4) \
	F(T, index, 12, 4) \
	F(T, what, 16, 4) \
	F(T, pad, 20, 4) \
	F(T, serial, 24, 8) \
	F(T, value, 32, 8) \
	F(T, minimum, 40, 8) \
	F(T, maximum, 48, 8) \
	F(T, struct_name, 56, 32) \
	F(T, field, 88, 32) \
	F(T, allowed, 120, 128)
STRUCT(drm_t3_refusal, REFUSAL_FIELDS, 248);

#define SWITCH_INFO_FIELDS(F, T) \
	F(T, entries, 0, 4) \
	F(T, entries_used, 4, 4) \
	F(T, entries_most, 8, 4) \
	F(T, groups, 12, 4) \
	F(T, ready, 16, 4) \
	F(T, pad, 20, 4) \
	F(T, taken, 24, 8) \
	F(T, merged, 32, 8) \
	F(T, alone, 40, 8) \
	F(T, full, 48, 8) \
	F(T, partial, 56, 8) \
	F(T, sums, 64, 8) \
	F(T, copies, 72, 8) \
	F(T, busy, 80, 8) \
	F(T, refused, 88, 8) \
	F(T, wrong_keys, 96, 8)
STRUCT(drm_t3_switch_info, SWITCH_INFO_FIELDS, 104);

#define GROUP_TICKET_FIELDS(F, T) \
	F(T, fabric_id, 0, 8) \
	F(T, number, 8, 4) \
	F(T, generation, 12, 4)
STRUCT(drm_t3_group_ticket, GROUP_TICKET_FIELDS, 16);

#define GROUP_TARGET_FIELDS(F, T) \
	F(T, fabric_id, 0, 8) \
	F(T, rank, 8, 4) \
	F(T, space, 12, 4) \
	F(T, generation, 16, 4) \
	F(T, import, 20, 4)
STRUCT(drm_t3_group_target, GROUP_TARGET_FIELDS, 24);

#define GROUP_CREATE_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, kind, 4, 4) \
	F(T, members, 8, 4) \
	F(T, op_mask, 12, 4) \
	F(T, segment_mask, 16, 8) \
	F(T, flags, 24, 4) \
	F(T, group, 28, 4) \
	F(T, import, 32, 4) \
	F(T, places, 36, 4) \
	F(T, ticket, 40, 16)
STRUCT(drm_t3_group_create, GROUP_CREATE_FIELDS, 56);

#define GROUP_MEMBER_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, group, 4, 4) \
	F(T, member, 8, 4) \
	F(T, rank_mask, 12, 4) \
	F(T, flags, 16, 4) \
	F(T, pad, 20, 4) \
	F(T, target, 24, 24) \
	F(T, key, 48, 56)
STRUCT(drm_t3_group_member, GROUP_MEMBER_FIELDS, 104);

#define GROUP_JOIN_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, op_mask, 4, 4) \
	F(T, segment_mask, 8, 8) \
	F(T, flags, 16, 4) \
	F(T, grant, 20, 4) \
	F(T, ticket, 24, 16) \
	F(T, target, 40, 24)
STRUCT(drm_t3_group_join, GROUP_JOIN_FIELDS, 64);

#define GROUP_DESTROY_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, group, 4, 4) \
	F(T, flags, 8, 4) \
	F(T, pad, 12, 4)
STRUCT(drm_t3_group_destroy, GROUP_DESTROY_FIELDS, 16);

#define GROUP_QUERY_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, group, 4, 4) \
	F(T, flags, 8, 4) \
	F(T, state, 12, 4) \
	F(T, kind, 16, 4) \
	F(T, members, 20, 4) \
	F(T, bound, 24, 4) \
	F(T, done, 28, 4) \
	F(T, epoch, 32, 4) \
	F(T, entries, 36, 4) \
	F(T, end_epoch, 40, 4) \
	F(T, cause, 44, 4) \
	F(T, detail, 48, 4) \
	F(T, cause_rank, 52, 4) \
	F(T, number, 56, 4) \
	F(T, generation, 60, 4) \
	F(T, merged, 64, 8) \
	F(T, alone, 72, 8) \
	F(T, copies, 80, 8) \
	F(T, group_flags, 88, 4) \
	F(T, places, 92, 4)
STRUCT(drm_t3_group_query, GROUP_QUERY_FIELDS, 96);

#define FAULT_FIELDS(F, T) \
	F(T, kind, 0, 4) \
	F(T, detail, 4, 4) \
	F(T, segment, 8, 4) \
	F(T, tile, 12, 4) \
	F(T, offset, 16, 8) \
	F(T, epoch, 24, 4) \
	F(T, src_rank, 28, 4) \
	F(T, vtime_ns, 32, 8)
STRUCT(drm_t3_fault, FAULT_FIELDS, 40);

#define SPACE_WAIT_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, what, 4, 4) \
	F(T, epoch, 8, 4) \
	F(T, flags, 12, 4) \
	F(T, segment_mask, 16, 8) \
	F(T, deadline_ns, 24, 8) \
	F(T, fault, 32, 40)
STRUCT(drm_t3_space_wait, SPACE_WAIT_FIELDS, 72);

#define SPACE_EVENTFD_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, fd, 4, 4) \
	F(T, segment_mask, 8, 8) \
	F(T, flags, 16, 4) \
	F(T, pad, 20, 4)
STRUCT(drm_t3_space_eventfd, SPACE_EVENTFD_FIELDS, 24);

#define SPACE_WAIT_FD_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, fd, 4, 4) \
	F(T, segment_mask, 8, 8) \
	F(T, flags, 16, 4) \
	F(T, pad, 20, 4)
STRUCT(drm_t3_space_wait_fd, SPACE_WAIT_FD_FIELDS, 24);

#define SPACE_STATS_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, segment, 4, 4) \
	F(T, stores, 8, 8) \
	F(T, doorbells, 16, 8) \
	F(T, local_bytes, 24, 8) \
	F(T, remote_bytes, 32, 8) \
	F(T, triggers, 40, 8) \
	F(T, dma_bytes, 48, 8) \
	F(T, link_bytes, 56, 8) \
	F(T, nmc_elements, 64, 8) \
	F(T, tiles, 72, 8) \
	F(T, tiles_tracked, 80, 8) \
	F(T, space_state, 88, 4) \
	F(T, epoch, 92, 4) \
	F(T, hw_space, 96, 4) \
	F(T, generation, 100, 4) \
	F(T, flags, 104, 4) \
	F(T, pad, 108, 4)
STRUCT(drm_t3_space_stats, SPACE_STATS_FIELDS, 112);

#define SPACE_TILE_FIELDS(F, T) \
	F(T, space, 0, 4) \
	F(T, segment, 4, 4) \
	F(T, flags, 8, 4) \
	F(T, tile, 12, 4) \
	F(T, tile_flags, 16, 4) \
	F(T, space_state, 20, 4) \
	F(T, epoch, 24, 4) \
	F(T, tiles, 28, 4) \
	F(T, counted, 32, 8) \
	F(T, expected, 40, 8) \
	F(T, unacknowledged, 48, 8)
STRUCT(drm_t3_space_tile, SPACE_TILE_FIELDS, 56);

#define QUEUE_CREATE_FIELDS(F, T) \
	F(T, priority, 0, 4) \
	F(T, flags, 4, 4) \
	F(T, queue, 8, 4) \
	F(T, pad, 12, 4)
STRUCT(drm_t3_queue_create, QUEUE_CREATE_FIELDS, 16);

#define QUEUE_DESTROY_FIELDS(F, T) \
	F(T, queue, 0, 4) \
	F(T, flags, 4, 4)
STRUCT(drm_t3_queue_destroy, QUEUE_DESTROY_FIELDS, 8);

#define COMMAND_FIELDS(F, T) \
	F(T, type, 0, 4) \
	F(T, flags, 4, 4)
STRUCT(drm_t3_command, COMMAND_FIELDS, 8);

#define OPERAND_FIELDS(F, T) \
	F(T, handle, 0, 4) \
	F(T, pad, 4, 4) \
	F(T, offset, 8, 8) \
	F(T, pitch, 16, 8)
STRUCT(drm_t3_operand, OPERAND_FIELDS, 24);

#define COPY_FIELDS(F, T) \
	F(T, head, 0, 8) \
	F(T, rows, 8, 4) \
	F(T, row_bytes, 12, 4) \
	F(T, dst, 16, 24) \
	F(T, src, 40, 24)
STRUCT(drm_t3_copy, COPY_FIELDS, 64);

#define FILL_FIELDS(F, T) \
	F(T, head, 0, 8) \
	F(T, rows, 8, 4) \
	F(T, row_bytes, 12, 4) \
	F(T, dst, 16, 24) \
	F(T, pattern, 40, 8)
STRUCT(drm_t3_fill, FILL_FIELDS, 48);

#define UPDATE_FIELDS(F, T) \
	F(T, head, 0, 8) \
	F(T, rows, 8, 4) \
	F(T, row_bytes, 12, 4) \
	F(T, dst, 16, 24) \
	F(T, src, 40, 24) \
	F(T, op, 64, 4) \
	F(T, dtype, 68, 4)
STRUCT(drm_t3_update, UPDATE_FIELDS, 72);

#define GEMM_FIELDS(F, T) \
	F(T, head, 0, 8) \
	F(T, rows, 8, 4) \
	F(T, columns, 12, 4) \
	F(T, depth, 16, 4) \
	F(T, dtype, 20, 4) \
	F(T, a, 24, 24) \
	F(T, b, 48, 24) \
	F(T, dst, 72, 24) \
	F(T, space, 96, 4) \
	F(T, chunk_rows, 100, 4) \
	F(T, first_chunk, 104, 4) \
	F(T, raster_rows, 108, 4) \
	F(T, group_rows, 112, 4) \
	F(T, group_columns, 116, 4) \
	F(T, tile_rows, 120, 4) \
	F(T, tile_columns, 124, 4)
STRUCT(drm_t3_gemm, GEMM_FIELDS, 128);

#define TIMED_FIELDS(F, T) \
	F(T, head, 0, 8) \
	F(T, args, 8, 24) \
	F(T, result, 32, 24) \
	F(T, counts, 56, 4) \
	F(T, pad, 60, 4)
STRUCT(drm_t3_timed, TIMED_FIELDS, 64);

#define SYNC_FIELDS(F, T) \
	F(T, handle, 0, 4) \
	F(T, flags, 4, 4) \
	F(T, point, 8, 8)
STRUCT(drm_t3_sync, SYNC_FIELDS, 16);

#define QUEUE_SUBMIT_FIELDS(F, T) \
	F(T, queue, 0, 4) \
	F(T, flags, 4, 4) \
	F(T, command_count, 8, 4) \
	F(T, command_stride, 12, 4) \
	F(T, commands, 16, 8) \
	F(T, in_count, 24, 4) \
	F(T, out_count, 28, 4) \
	F(T, in_syncs, 32, 8) \
	F(T, out_syncs, 40, 8) \
	F(T, sync_stride, 48, 4) \
	F(T, pad, 52, 4)
STRUCT(drm_t3_queue_submit, QUEUE_SUBMIT_FIELDS, 56);

#define EVENT_AREA_FIELDS(F, T) \
	F(T, state, 0, 8) \
	F(T, generation, 8, 4) \
	F(T, faults, 12, 4) \
	F(T, dropped, 16, 8) \
	F(T, fault, 24, 40) \
	F(T, segment, 64, 512) \
	F(T, consumed, 576, 1024) \
	F(T, ring, 1600, 640) \
	F(T, reserved, 2240, 1856)
STRUCT(drm_t3_event_area, EVENT_AREA_FIELDS, 4096);

/* ------------------------------------------------------------------ requests */

VALUE(DRM_IOCTL_T3_QUERY, 0xc0106440);
VALUE(DRM_IOCTL_T3_BO_CREATE, 0xc0106441);
VALUE(DRM_IOCTL_T3_BO_MMAP_OFFSET, 0xc0106442);
VALUE(DRM_IOCTL_T3_SPACE_CREATE, 0xc0306443);
VALUE(DRM_IOCTL_T3_SPACE_DESTROY, 0x40086444);
VALUE(DRM_IOCTL_T3_SPACE_RESET, 0x40086445);
VALUE(DRM_IOCTL_T3_SPACE_WAIT, 0xc0486446);
VALUE(DRM_IOCTL_T3_SPACE_EVENTFD, 0x40186447);
VALUE(DRM_IOCTL_T3_SPACE_WAIT_FD, 0xc0186448);
VALUE(DRM_IOCTL_T3_SPACE_STATS, 0xc0706449);
VALUE(DRM_IOCTL_T3_SEGMENT_MAP, 0x4060644a);
VALUE(DRM_IOCTL_T3_SEGMENT_UNMAP, 0x4010644b);
VALUE(DRM_IOCTL_T3_SEGMENT_STAGING, 0x4028644c);
VALUE(DRM_IOCTL_T3_GRANT_EXPORT, 0xc020644d);
VALUE(DRM_IOCTL_T3_GRANT_REVOKE, 0x4010644e);
VALUE(DRM_IOCTL_T3_GRANT_IMPORT, 0xc028644f);
VALUE(DRM_IOCTL_T3_GRANT_RELEASE, 0x40106450);
VALUE(DRM_IOCTL_T3_QUEUE_CREATE, 0xc0106451);
VALUE(DRM_IOCTL_T3_QUEUE_DESTROY, 0x40086452);
VALUE(DRM_IOCTL_T3_QUEUE_SUBMIT, 0x40386453);
VALUE(DRM_IOCTL_T3_SPACE_TILE, 0xc0386454);
VALUE(DRM_IOCTL_T3_KEY_EXPORT, 0xc0586455);
VALUE(DRM_IOCTL_T3_KEY_IMPORT, 0xc0486456);
VALUE(DRM_IOCTL_T3_REFUSAL, 0xc0f86457);
VALUE(DRM_IOCTL_T3_SEGMENT_WIDEN, 0x40186458);
VALUE(DRM_IOCTL_T3_GROUP_CREATE, 0xc0386459);
VALUE(DRM_IOCTL_T3_GROUP_MEMBER, 0xc068645a);
VALUE(DRM_IOCTL_T3_GROUP_JOIN, 0xc040645b);
VALUE(DRM_IOCTL_T3_GROUP_DESTROY, 0x4010645c);
VALUE(DRM_IOCTL_T3_GROUP_QUERY, 0xc060645d);
VALUE(DRM_T3_IOCTL_COUNT, 30);

/* -------------------------------------------------------------------- values */

VALUE(DRM_T3_QUERY_DEVICE, 0);
VALUE(DRM_T3_QUERY_COUNTERS, 1);
VALUE(DRM_T3_QUERY_SWITCH, 2);

VALUE(DRM_T3_GROUP_REDUCE, 1);
VALUE(DRM_T3_GROUP_MULTICAST, 2);
VALUE(DRM_T3_GROUP_ORDERED, 1);
VALUE(DRM_T3_GROUP_FREE, 0);
VALUE(DRM_T3_GROUP_OPEN, 1);
VALUE(DRM_T3_GROUP_ENDED, 2);
VALUE(DRM_T3_GROUP_CLOSED, 3);
VALUE(DRM_T3_SWITCH_RANK, 32);
VALUE(DRM_T3_GROUPS_MAX, 32);
VALUE(DRM_T3_GROUP_MEMBERS_MAX, 32);

VALUE(DRM_T3_SEGMENT_LOCAL, 1);
VALUE(DRM_T3_SEGMENT_REMOTE, 2);
VALUE(DRM_T3_SEGMENT_DMA, 3);

VALUE(DRM_T3_OP_STORE, 0);
VALUE(DRM_T3_OP_ADD, 1);
VALUE(DRM_T3_OP_MIN, 2);
VALUE(DRM_T3_OP_MAX, 3);
VALUE(DRM_T3_OP_AND, 4);
VALUE(DRM_T3_OP_OR, 5);
VALUE(DRM_T3_OP_XOR, 6);
VALUE(DRM_T3_OP_MUL, 7);

VALUE(DRM_T3_I32, 0);
VALUE(DRM_T3_F32, 1);
VALUE(DRM_T3_F16, 2);
VALUE(DRM_T3_BF16, 3);
VALUE(DRM_T3_U8, 4);
VALUE(DRM_T3_I8, 5);
VALUE(DRM_T3_U32, 6);
VALUE(DRM_T3_I64, 7);
VALUE(DRM_T3_U64, 8);
VALUE(DRM_T3_F64, 9);

VALUE(DRM_T3_INIT_KEEP, 0);
VALUE(DRM_T3_INIT_IDENTITY, 1);

VALUE(DRM_T3_COMMAND_COPY, 1);
VALUE(DRM_T3_COMMAND_FILL, 2);
VALUE(DRM_T3_COMMAND_UPDATE, 3);
VALUE(DRM_T3_COMMAND_GEMM, 4);
VALUE(DRM_T3_COMMAND_TIMED, 5);

VALUE(DRM_T3_SPACE_IDLE, 1);
VALUE(DRM_T3_SPACE_ARMING, 2);
VALUE(DRM_T3_SPACE_ARMED, 3);
VALUE(DRM_T3_SPACE_COMPLETE, 4);
VALUE(DRM_T3_SPACE_FAULTED, 5);
VALUE(DRM_T3_SPACE_DISABLED, 6);
VALUE(DRM_T3_SPACE_QUIESCED, 7);
VALUE(DRM_T3_SPACE_DEAD, 8);

VALUE(DRM_T3_FAULT_NONE, 0);
VALUE(DRM_T3_FAULT_UNMAPPED, 1);
VALUE(DRM_T3_FAULT_WIDTH, 2);
VALUE(DRM_T3_FAULT_TILE_CROSS, 3);
VALUE(DRM_T3_FAULT_READ_REMOTE, 4);
VALUE(DRM_T3_FAULT_NOT_ARMED, 5);
VALUE(DRM_T3_FAULT_OVERSHOOT, 6);
VALUE(DRM_T3_FAULT_BAD_DOORBELL, 7);
VALUE(DRM_T3_FAULT_BAD_ARM, 8);
VALUE(DRM_T3_FAULT_LINK, 9);
VALUE(DRM_T3_FAULT_REJECTED, 10);
VALUE(DRM_T3_FAULT_PEER_POISON, 11);
VALUE(DRM_T3_FAULT_PEER_DEAD, 12);
VALUE(DRM_T3_FAULT_HOST_DMA, 13);
VALUE(DRM_T3_FAULT_COUNTER, 14);
VALUE(DRM_T3_FAULT_POISON, 15);

VALUE(DRM_T3_NAK_NONE, 0);
VALUE(DRM_T3_NAK_NO_DEVICE, 1);
VALUE(DRM_T3_NAK_NO_SPACE, 2);
VALUE(DRM_T3_NAK_GENERATION, 3);
VALUE(DRM_T3_NAK_NO_GRANT, 4);
VALUE(DRM_T3_NAK_SEGMENT, 5);
VALUE(DRM_T3_NAK_BOUNDS, 6);
VALUE(DRM_T3_NAK_EPOCH, 7);
VALUE(DRM_T3_NAK_NOT_ARMED, 8);
VALUE(DRM_T3_NAK_FAULTED, 9);
VALUE(DRM_T3_NAK_OVERSHOOT, 10);
VALUE(DRM_T3_NAK_MALFORMED, 11);
VALUE(DRM_T3_NAK_POISON, 12);
VALUE(DRM_T3_NAK_KEY_LIMIT, 13);

VALUE(T3_DRIVER_MAJOR, 2);
VALUE(T3_DRIVER_MINOR, 5);
VALUE(DRM_T3_FEATURE_STAGING, 1);
VALUE(DRM_T3_FEATURE_MINMAX, 2);
VALUE(DRM_T3_FEATURE_QUEUES, 4);
VALUE(DRM_T3_FEATURE_MULTI, 8);
VALUE(DRM_T3_FEATURE_BLOCKS, 16);
VALUE(DRM_T3_FEATURE_BYTES, 32);
VALUE(DRM_T3_FEATURE_GEMM, 128);
VALUE(DRM_T3_FEATURE_TIMED, 256);
VALUE(DRM_T3_FEATURE_TILES, 512);
VALUE(DRM_T3_FEATURE_KEYS, 1024);
VALUE(DRM_T3_FEATURE_FAR_KEYS, 2048);
VALUE(DRM_T3_FEATURE_TYPES, 4096);
VALUE(DRM_T3_FEATURE_BYTE_OPS, 8192);
VALUE(DRM_T3_FEATURE_BITWISE, 16384);
VALUE(DRM_T3_FEATURE_PRODUCT, 32768);
VALUE(DRM_T3_FEATURE_WIDEN, 65536);
VALUE(DRM_T3_FEATURE_REFUSALS, 0x100000000);
VALUE(DRM_T3_FEATURE_GROUPS, 0x200000000);
VALUE(DRM_T3_REFUSAL_VALUE, 1);
VALUE(DRM_T3_REFUSAL_SIGNED, 2);
VALUE(DRM_T3_REFUSAL_RANGE, 4);
VALUE(DRM_T3_REFUSAL_NAME, 32);
VALUE(DRM_T3_REFUSAL_TEXT, 128);
VALUE(DRM_T3_KEY_SECRET, 16);
VALUE(DRM_T3_SPACE_TILE_AT, 1);
VALUE(DRM_T3_TILE_TRIGGERED, 1);
VALUE(DRM_T3_TILE_READY, 2);
VALUE(DRM_T3_TILE_STARTED, 4);
VALUE(DRM_T3_TILE_SENDING, 8);
VALUE(DRM_T3_TILE_OPEN, 16);
VALUE(DRM_T3_TILE_POISONED, 32);
VALUE(DRM_T3_TILE_NONE, 0xffffffff);
VALUE(DRM_T3_GEMM_CHUNKS_UP, 1);
VALUE(DRM_T3_GEMM_DEPTH_MAX, 0x100000);
VALUE(DRM_T3_GEMM_WORK_MAX, 0x100000000);
VALUE(DRM_T3_BO_HOST, 1);
VALUE(DRM_T3_SUBMIT_PIECES_MAX, 4096);
VALUE(DRM_T3_COUNTERS_MAX, 32);
VALUE(DRM_T3_WAIT_ARMED, 0);
VALUE(DRM_T3_WAIT_TRACKED, 1);
VALUE(DRM_T3_WAIT_DELIVERED, 2);
VALUE(DRM_T3_QUEUE_PRIORITY_MAX, 3);
VALUE(DRM_T3_SYNCOBJS_MAX, 4096);
VALUE(DRM_T3_SUBMIT_COMMANDS_MAX, 256);
VALUE(DRM_T3_SUBMIT_SYNCS_MAX, 64);
VALUE(DRM_T3_QUEUE_JOBS_MAX, 1024);
VALUE(DRM_T3_DOORBELL_ARM, 0);
VALUE(DRM_T3_DOORBELL_RELEASE, 8);
VALUE(DRM_T3_DOORBELL_TILE, 16);
VALUE(DRM_T3_FAULT_RING, 16);
VALUE(DRM_T3_TILE_DOORBELL(1, 2, 3), 0x20100000003);
VALUE(DRM_T3_WORD_EPOCH, 0xffffffff);
VALUE(DRM_T3_WORD_TRACKED, 0x100000000);
VALUE(DRM_T3_WORD_DELIVERED, 0x200000000);
VALUE(DRM_T3_PAGE_SIZE, 4096);
VALUE(DRM_T3_SEGMENTS_MAX, 64);
VALUE(DRM_T3_SLOTS_MAX, 4);
VALUE(DRM_T3_IMPORTS_MAX, 32);
VALUE(DRM_T3_UPDATES_MAX, 64);
VALUE(DRM_T3_TILES_MAX, 1048576);
VALUE(DRM_T3_PITCH_MAX, 16777216);
VALUE(DRM_T3_BLOCK_TILES_MAX, 256);
VALUE(DRM_T3_WIDE_BYTES_MAX, 32768);
VALUE(DRM_T3_WIDE_ROWS_MAX, 128);
VALUE(DRM_T3_STAGED_ROWS_MAX, 4096);
VALUE(DRM_T3_EVENTFDS_MAX, 64);
VALUE(DRM_T3_QUEUES_MAX, 64);
VALUE(DRM_T3_CLIENTS_MAX, 256);
VALUE(DRM_T3_SUBMIT_STRIDE_MAX, 4096);
VALUE(DRM_T3_COPY_BYTES_MAX, 1073741824);
VALUE(DRM_T3_GEMM_GROUP_MAX, 65535);
VALUE(DRM_T3_EVENT_RESERVED, 1856);
VALUE(DRM_T3_TOPOLOGY_NONE, 0);
VALUE(DRM_T3_TOPOLOGY_RING, 1);
VALUE(DRM_T3_TOPOLOGY_FULL, 2);
VALUE(DRM_T3_TOPOLOGY_SWITCH, 3);
VALUE(DRM_T3_COUNTER_TRACKER_HIT, 0);
VALUE(DRM_T3_COUNTER_TRACKER_ALLOC, 1);
VALUE(DRM_T3_COUNTER_TRACKER_SPILL, 2);
VALUE(DRM_T3_COUNTER_TRACKER_FILL, 3);
VALUE(DRM_T3_COUNTER_TRACKER_LIVE, 4);
VALUE(DRM_T3_COUNTER_TRACKER_PEAK, 5);
VALUE(DRM_T3_COUNTER_STORES, 6);
VALUE(DRM_T3_COUNTER_DOORBELLS, 7);
VALUE(DRM_T3_COUNTER_TRIGGERS, 8);
VALUE(DRM_T3_COUNTER_DMA_BYTES, 9);
VALUE(DRM_T3_COUNTER_NMC_ELEMENTS, 10);
VALUE(DRM_T3_COUNTER_LINK_TX_PACKETS, 11);
VALUE(DRM_T3_COUNTER_LINK_TX_BYTES, 12);
VALUE(DRM_T3_COUNTER_LINK_RX_PACKETS, 13);
VALUE(DRM_T3_COUNTER_LINK_RX_BYTES, 14);
VALUE(DRM_T3_COUNTER_LINK_RETRIES, 15);
VALUE(DRM_T3_COUNTER_LINK_DUPLICATES, 16);
VALUE(DRM_T3_COUNTER_NAKS, 17);
VALUE(DRM_T3_COUNTER_FAULTS, 18);
VALUE(DRM_T3_COUNTER_DROPPED, 19);
VALUE(DRM_T3_COUNTER_INTERRUPTS, 20);
VALUE(DRM_T3_COUNTER_LINK_ERRORS, 21);
VALUE(DRM_T3_COUNTER_LINK_DOWNS, 22);
VALUE(DRM_T3_COUNTER_HOST_DMA_ERRORS, 23);
VALUE(DRM_T3_COUNTER_POISON_HITS, 24);
VALUE(DRM_T3_COUNTER_QUEUE_DESCRIPTORS, 25);
VALUE(DRM_T3_COUNTER_QUEUE_ERRORS, 26);
VALUE(DRM_T3_COUNTER_QUEUE_BYTES, 27);
VALUE(DRM_T3_COUNTER_INJECTED, 28);
VALUE(DRM_T3_COUNTER_ENGINE_WORK, 29);
VALUE(DRM_T3_COUNTER_WRONG_KEYS, 30);
/* clang-format on */
