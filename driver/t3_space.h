/* SPDX-License-Identifier: GPL-2.0-only */
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
	u64 offset; /* in the space's buffer */
	u32 tile_rows;
	u32 tile_row_bytes;
	u32 updates;
	u32 tiles;
	u32 counter_base;
	struct t3_bo *staging; /* NULL, or pinned by the segment */
	struct t3_bo *accumulators; /* the same */
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
	/* Of a MULTICAST group that sends by it: number and generation, else 0. */
	u32 group;
	u32 group_generation;
};

/* A group of the switch, at its own space; under t3_topology_lock. */
struct t3_group {
	struct list_head node; /* t3_space.groups */
	u32 handle; /* of the space, as of grants */
	u32 kind;
	u32 members;
	u32 flags; /* DRM_T3_GROUP_* */
	u32 places;
	u32 number; /* in the switch */
	u32 generation;
	/* Holds a reference. REDUCE: entry of the space's import table. MULTICAST: masks alone. */
	struct t3_grant *grant;
};

/* One entry of the table of targets; under t3_topology_lock. */
struct t3_route {
	struct t3_grant *grant; /* NULL: free; holds a reference */
	u32 handle;
	bool pending; /* not usable yet: the target has not answered */
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
	struct drm_file *file; /* the handle's owner; invalid after destroy */
	u64 size;
	u32 hw_id; /* constant while published */
	u32 generation; /* t3_topology_lock */
	bool dead; /* t3_topology_lock: it is or is being destroyed */
	bool lost; /* slot_lock: a reset of the function has ended it */

	struct t3_account *account; /* holds a reference */
	int client; /* of the user; negative: the space is not counted */
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
	struct list_head groups;
	u32 last_handle; /* of grants, imports and groups */

	wait_queue_head_t wait; /* woken when the event area has changed */
	spinlock_t event_lock; /* eventfds, eventfd_count, seen */
	struct list_head eventfds;
	u32 eventfd_count;
	struct t3_seen seen;
};

/* The field "space" of an argument names no space. */
#define t3_refuse_space(file, args) \
	t3_refuse(file, args, -ENOENT, space, "a space of this open file")

/* t3_space.c */
extern struct mutex t3_topology_lock;

struct t3_space *t3_space_lookup(struct drm_file *file, u32 handle);
int t3_space_explain(struct drm_file *file, const void *args, int error);
void t3_space_put(struct t3_space *space);
u32 t3_space_next_handle(struct t3_space *space);

static inline struct t3_space *t3_space_get(struct t3_space *space)
{
	kref_get(&space->ref);
	return space;
}

/* t3_space_ioctl.c */
int t3_space_destroy(struct t3_space *space);
void t3_space_destroy_all(struct xarray *spaces);
int t3_space_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_reset_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_spaces.c */
void t3_space_disable_all(struct t3_device *tdev);
void t3_space_orphan_all(struct t3_device *tdev);
void t3_spaces_check(struct t3_device *tdev);

/* t3_quiesce.c */
void t3_space_disable(struct t3_space *space);
int t3_space_stop(struct t3_space *space);

#endif /* T3_SPACE_H */
