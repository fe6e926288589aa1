/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef T3_SYNCOBJ_H
#define T3_SYNCOBJ_H

#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/wait.h>

struct drm_device;
struct drm_file;
struct drm_syncobj;
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
void t3_syncobjs_notify(const struct t3_syncobjs *array);
void t3_syncobjs_put(struct t3_syncobjs *array);

/* t3_syncobj_wait.c */
int t3_syncobj_wait(struct drm_device *drm, void *data, struct drm_file *file);
int t3_syncobj_timeline_wait(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_syncobj_notify.c: waits that look for a fence of one syncobj */
struct t3_syncobj_waiters {
	struct rhash_head node;
	struct drm_syncobj *obj;
	u32 count;
	wait_queue_head_t queue;
	struct rcu_head rcu;
};

int t3_syncobj_module_init(void);
void t3_syncobj_module_exit(void);
struct t3_syncobj_waiters *t3_syncobj_waiters_get(struct drm_syncobj *obj);
void t3_syncobj_waiters_put(struct t3_syncobj_waiters *waiters);
void t3_syncobj_notify(struct drm_syncobj *obj);

#endif /* T3_SYNCOBJ_H */
