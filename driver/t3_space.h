/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An output address space, its segments, and the grants that join two of them.
 *
 * Lifetime: the handle of the open file holds a reference of the space. So do each ioctl in
 * progress, each wait fd and each grant that is not revoked. What the hardware uses (memory,
 * aperture range, slot) belongs to the handle alone: t3_space_destroy() frees it, whoever
 * else still holds the struct.
 */
#ifndef T3_SPACE_H
#define T3_SPACE_H

#include <linux/kref.h>
#include <linux/nospec.h>
#include <linux/wait.h>

#include "t3_bo.h"
#include "t3_format.h"

enum t3_map_index {
	T3_MAP_APERTURE,
	T3_MAP_DOORBELL,
	T3_MAP_EVENT,
	T3_MAP_COUNT
};

/* One entry of a segment table; all of it under t3_topology_lock. */
struct t3_segment {
	bool mapped;
	u8 kind;
	u8 dtype;
	u8 op;
	u32 routes; /* bit mask; LOCAL: 0 */
	u32 rows;
	u32 row_bytes;
	u32 pitch;
	u32 tile_rows;
	u32 tile_row_bytes;
	u32 updates;
	u32 tiles;
	u32 counter_base;
	struct t3_bo *staging; /* NULL, or pinned by the segment */
};

/*
 * A grant: the right to send to `owner`. The fd, the owner's table and the importer's route
 * hold references. owner, the owner's table, index, bound and programmed change under
 * t3_topology_lock; the rest is constant.
 */
struct t3_grant {
	struct kref ref;
	struct t3_space *owner; /* holds a reference; NULL: revoked, or the owner has ended */
	u64 segment_mask;
	u32 op_mask;
	u32 rank_mask; /* 0: any rank may import it */
	u32 handle; /* of the owner, for REVOKE */
	u32 index; /* in the owner's import table */
	bool bound; /* imported: it cannot be imported again */
	bool programmed; /* the owner's device has the import entry */
	bool keyed; /* by a key: the owner's device knows whether it is bound */
	bool by_key; /* of a route that was imported by key: only the masks and this are used */
};

/* One entry of the table of targets; under t3_topology_lock. */
struct t3_route {
	struct t3_grant *grant; /* NULL: free; holds a reference */
	u32 handle;
	bool pending; /* nobody may use it yet: the target has not answered */
	bool given_up; /* pending, and nobody waits for it any more: see t3_route_give_up() */
	/* The target of the device's route, also after the grant was revoked. */
	u32 peer_rank;
	u32 peer_space;
	u32 peer_generation;
	u32 peer_import;
};

/* The last content of the event area that was traced. */
struct t3_seen {
	u64 state;
	u32 generation;
	u32 faults;
	bool started; /* between create and destroy */
	u64 segment[T3_SPACE_SEGMENTS];
};

struct t3_space {
	struct kref ref;
	struct t3_device *tdev; /* holds a reference of tdev->drm */
	struct drm_file *file; /* whose handle this is; invalid after destroy */
	u64 size;
	u32 hw_id; /* constant while published */
	u32 generation; /* t3_topology_lock */
	bool dead; /* t3_topology_lock: it is or is being destroyed */
	bool lost; /* slot_lock: a reset of the function has ended it */

	struct t3_account *account; /* holds a reference */
	int client; /* of the account; negative: the space is not counted */
	struct t3_bo *bo;
	struct drm_mm_node counters; /* start: in device memory */
	u32 counter_count;
	struct drm_mm_node aperture; /* start: in BAR4 */
	struct t3_map *maps[T3_MAP_COUNT];

	struct page *event_page; /* kept until the last reference */
	struct t3_event_area *area; /* of event_page; the device writes it */
	dma_addr_t event_dma; /* t3_topology_lock, with event_mapped */
	bool event_mapped;

	/* t3_topology_lock */
	struct t3_segment segments[T3_SPACE_SEGMENTS];
	struct t3_grant *grants[T3_SPACE_IMPORTS];
	u32 next_grant; /* where the search for a free one begins */
	struct t3_route routes[T3_SPACE_ROUTES];
	u32 last_handle; /* of grants and imports */

	wait_queue_head_t wait; /* woken when the event area has changed */
	spinlock_t event_lock; /* eventfds, eventfd_count, seen */
	struct list_head eventfds;
	u32 eventfd_count;
	struct t3_seen seen;
};

/* t3_space.c */
struct t3_space *t3_space_new(struct t3_device *tdev, struct drm_file *file, struct t3_bo *bo,
			      u32 max_tiles);
struct t3_space *t3_space_lookup(struct drm_file *file, u32 handle);
void t3_space_put(struct t3_space *space);
int t3_space_start(struct t3_space *space, struct t3_bo *bo);
int t3_space_destroy(struct t3_space *space);
void t3_space_destroy_all(struct xarray *spaces);
void t3_space_disable_all(struct t3_device *tdev);
void t3_space_orphan_all(struct t3_device *tdev);
void t3_spaces_check(struct t3_device *tdev);
u32 t3_space_next_handle(struct t3_space *space);

static inline struct t3_space *t3_space_get(struct t3_space *space)
{
	kref_get(&space->ref);
	return space;
}

/* t3_quiesce.c */
void t3_space_disable(struct t3_space *space);
int t3_space_stop(struct t3_space *space);

/* t3_space_ioctl.c */
int t3_space_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_reset_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_event.c */
int t3_event_init(struct t3_space *space);
void t3_event_unmap(struct t3_space *space);
void t3_event_free(struct t3_space *space);
void t3_event_set_dead(struct t3_space *space);
void t3_event_fault(struct t3_space *space, u32 epoch);
void t3_event_notify(struct t3_space *space);
bool t3_event_released(const struct t3_space *space, u32 epoch);
bool t3_event_reached(const struct t3_space *space, u64 mask, u32 epoch, u64 flag);

static inline u64 t3_event_state(const struct t3_space *space)
{
	u64 state = READ_ONCE(space->area->state);

	/*
	 * Pairs with the device's order of stores: words and fault before state. The barriers
	 * between processors (smp_) do not reach a device on each architecture.
	 */
	dma_rmb();
	return state;
}

static inline u32 t3_state_kind(u64 state)
{
	return upper_32_bits(state);
}

static inline u32 t3_state_epoch(u64 state)
{
	return lower_32_bits(state);
}

/* Epochs are serial numbers: whether a comes after b. */
static inline bool t3_epoch_after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/* t3_segment.c */
u64 t3_segments_mapped(const struct t3_space *space);
bool t3_segments_use_route(const struct t3_space *space, u32 route);
void t3_segments_drop(struct t3_space *space, bool all);
int t3_segment_map_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_segment_unmap_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

static inline struct t3_segment *t3_segment_slot(struct t3_space *space, u32 index)
{
	return &space->segments[array_index_nospec(index, T3_SPACE_SEGMENTS)];
}

/* Bytes from the first element to the last one. */
static inline u64 t3_segment_extent(u32 rows, u32 row_bytes, u32 pitch)
{
	return (u64)(rows - 1) * pitch + row_bytes;
}

/* t3_staging.c */
int t3_segment_staging_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_grant.c: the receiving side */
struct t3_grant *t3_grant_from_file(struct file *filp);
void t3_grant_put(struct t3_grant *grant);
void t3_grants_drop(struct t3_space *space);
int t3_grant_export_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_grant_revoke_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

static inline struct t3_grant *t3_grant_get(struct t3_grant *grant)
{
	kref_get(&grant->ref);
	return grant;
}

int t3_grant_attach(struct t3_grant *grant, struct t3_space *owner);
void t3_grant_detach(struct t3_grant *grant);

/* t3_key.c */
int t3_key_export_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_key_import_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_route.c: the sending side */
struct t3_route *t3_route_free_slot(struct t3_space *space);
void t3_route_drop(struct t3_route *route);
void t3_route_give_up(struct t3_space *space, struct t3_route *route);
bool t3_routes_tidy(struct t3_space *space);
void t3_routes_tidy_all(struct t3_device *tdev);
struct t3_route *t3_route_find(struct t3_space *space, u32 handle);
void t3_routes_drop(struct t3_space *space);
int t3_grant_import_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_grant_release_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_wait.c */
int t3_space_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_wait_fd_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_eventfd.c */
void t3_eventfd_scan(struct t3_space *space);
void t3_eventfd_free_all(struct t3_space *space);
int t3_space_eventfd_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_trace.c */
void t3_trace_start(struct t3_space *space);
void t3_trace_end(struct t3_space *space);
void t3_trace_look(struct t3_space *space);

/* t3_tile.c */
int t3_space_tile_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_stats.c */
int t3_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_stats_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_SPACE_H */
