/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments of a space: see t3_segment.c, t3_staging.c, t3_widen.c and t3_tile.c.
 */
#ifndef T3_SEGMENT_H
#define T3_SEGMENT_H

#include <linux/nospec.h>

#include "t3_space.h"

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

/* t3_widen.c */
int t3_segment_widen_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_tile.c */
int t3_space_tile_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_SEGMENT_H */
