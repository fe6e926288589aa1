/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Facts about the device, and statistics of segments: see t3_stats.c.
 */
#ifndef T3_STATS_H
#define T3_STATS_H

struct drm_device;
struct drm_file;

int t3_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_stats_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_STATS_H */
