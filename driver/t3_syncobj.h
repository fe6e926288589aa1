/* SPDX-License-Identifier: GPL-2.0 */
#ifndef T3_SYNCOBJ_H
#define T3_SYNCOBJ_H

#include <linux/types.h>

struct drm_device;
struct drm_file;
struct file;

struct t3_syncobj_call;

/* t3_syncobj_ioctl.c: ioctls of the core that the driver answers itself */
const struct t3_syncobj_call *t3_syncobj_call(unsigned int nr);
long t3_syncobj_ioctl(const struct t3_syncobj_call *call, struct file *filp, unsigned int cmd,
		      void __user *arg);

/* t3_syncobj.c: their functions; the argument is a copy of the kernel */
int t3_syncobj_reset(struct drm_device *drm, void *data, struct drm_file *file);
int t3_syncobj_signal(struct drm_device *drm, void *data, struct drm_file *file);
int t3_syncobj_timeline_signal(struct drm_device *drm, void *data, struct drm_file *file);
int t3_syncobj_query(struct drm_device *drm, void *data, struct drm_file *file);
int t3_syncobj_transfer(struct drm_device *drm, void *data, struct drm_file *file);

/* An array of a call's syncobjs; each holds a reference. */
struct t3_syncobjs {
	u32 count;
	struct drm_syncobj **objs;
	u64 *points; /* zeros where the caller gave none */
};

int t3_syncobjs_get(struct drm_file *file, u64 handles, u64 points, u32 count,
		    struct t3_syncobjs *out);
void t3_syncobjs_put(struct t3_syncobjs *array);

/* t3_syncobj_wait.c */
int t3_syncobj_wait(struct drm_device *drm, void *data, struct drm_file *file);
int t3_syncobj_timeline_wait(struct drm_device *drm, void *data, struct drm_file *file);
void t3_syncobj_notify(void);

#endif /* T3_SYNCOBJ_H */
