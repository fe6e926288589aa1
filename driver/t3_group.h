/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Groups of the switch: see t3_group.c and t3_group_member.c.
 */
#ifndef T3_GROUP_H
#define T3_GROUP_H

#include "t3_device.h"
#include "t3_space.h"

/* t3_group.c */
struct t3_group *t3_group_find(struct t3_space *space, u32 handle);
struct t3_grant *t3_group_grant(u64 segment_mask, u32 op_mask);
int t3_group_import_set(const struct t3_grant *grant, u32 number, u32 generation);
void t3_groups_drop(struct t3_space *space);
int t3_group_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_group_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_group_member.c */
int t3_group_member_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_group_join_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_group_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* The field "space" of an argument names a space of a device without a switch. */
#define t3_refuse_switch(file, args)                \
	t3_refuse(file, args, -EOPNOTSUPP, space, \
		  "a space of a device with DRM_T3_FEATURE_GROUPS")

#endif /* T3_GROUP_H */
