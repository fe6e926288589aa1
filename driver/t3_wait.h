/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waits for segments of a space: see t3_wait.c.
 */
#ifndef T3_WAIT_H
#define T3_WAIT_H

struct drm_device;
struct drm_file;

int t3_space_wait_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_space_wait_fd_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* T3_WAIT_H */
