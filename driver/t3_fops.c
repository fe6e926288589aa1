// SPDX-License-Identifier: GPL-2.0-only
/*
 * File operations of the accel node. They are written out, because DRM_ACCEL_FOPS has no
 * show_fdinfo, and because some ioctls of the core must not be reached.
 *
 * Calls of another type than DRM's end here: drm_compat_ioctl() does not look at the
 * type, and takes the number for one of its own.
 *
 * An accel file has no drm_master. On 6.12 two ioctls of the core that anybody may call use
 * file->master without a check: GET_UNIQUE (0x01) and GET_MAGIC (0x02) oops. The others,
 * by 6.12's drm_ioctl.c:
 *
 *  - SET_VERSION, SET_UNIQUE, AUTH_MAGIC, BLOCK, UNBLOCK, ADD_DRAW, RM_DRAW,
 *    UPDATE_DRAW and all of modesetting that changes something are DRM_MASTER:
 *    -EACCES, as an accel file is never a current master. (SET_VERSION would
 *    use file->master as well.)
 *  - SET_MASTER checks CAP_SYS_ADMIN, then file->master: -EACCES or -EINVAL.
 *    DROP_MASTER likewise asks whether the file is master.
 *  - VERSION, GET_CLIENT, GET_STATS, GET_CAP, SET_CLIENT_CAP, GEM_CLOSE, FINISH
 *    and PRIME do not look at the master.
 *  - SYNCOBJ_* work on handles of the file and on fences alone. Those that take an
 *    array, and TRANSFER, are answered by the driver: see t3_syncobj_ioctl.c.
 *  - WAIT_VBLANK, the other MODE_* and CRTC_* check features that this driver does
 *    not have: -EOPNOTSUPP, -ENOSYS or -EINVAL.
 *  - GEM_FLINK and GEM_OPEN are safe, and reserved to administrators by DRM_AUTH.
 *    They are refused too: their names can be guessed, and this ABI shares by
 *    file descriptor only.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/uaccess.h>

#include <drm/drm_accel.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_syncobj.h>

#include "t3_device.h"
#include "t3_drv.h"
#include "t3_refuse.h"
#include "t3_syncobj.h"

/*
 * The core decides by number alone, so size and direction do not matter. t3_ioctl_gate() has
 * checked the type, which the 32-bit entry of the core does not.
 */
static bool t3_ioctl_refused(unsigned int cmd)
{
	switch (DRM_IOCTL_NR(cmd)) {
	case DRM_IOCTL_NR(DRM_IOCTL_GET_UNIQUE):
	case DRM_IOCTL_NR(DRM_IOCTL_GET_MAGIC):
	case DRM_IOCTL_NR(DRM_IOCTL_GEM_FLINK):
	case DRM_IOCTL_NR(DRM_IOCTL_GEM_OPEN):
		return true;
	default:
		return false;
	}
}

/* The core knows only of devices whose driver has left. */
static bool t3_device_unplugged(struct file *filp)
{
	struct drm_file *file = filp->private_data;

	return READ_ONCE(t3_file_device(file)->unplugged);
}

/* Both entries check this before the core sees a call. */
static int t3_ioctl_gate(struct file *filp, unsigned int cmd)
{
	if (DRM_IOCTL_TYPE(cmd) != DRM_IOCTL_BASE)
		return -ENOTTY;
	if (t3_device_unplugged(filp))
		return -ENODEV;
	return t3_ioctl_refused(cmd) ? -EACCES : 0;
}

/* After a call of the core: FD_TO_HANDLE may put the fence of a sync_file into a syncobj. */
static void t3_syncobj_after(struct file *filp, unsigned int cmd, void __user *arg)
{
	struct drm_syncobj_handle __user *args = arg;
	struct drm_syncobj *obj;
	u32 handle;

	if (DRM_IOCTL_NR(cmd) != DRM_IOCTL_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE))
		return;
	/* A thread that changes the handle in between only delays its own waits. */
	obj = get_user(handle, &args->handle) ? NULL : drm_syncobj_find(filp->private_data, handle);
	if (!obj)
		return;
	t3_syncobj_notify(obj);
	drm_syncobj_put(obj);
}

static long t3_ioctl_run(struct file *filp, unsigned int cmd, unsigned long arg, void __user *argp,
			 long (*core)(struct file *filp, unsigned int cmd, unsigned long arg))
{
	const struct t3_syncobj_call *call = t3_syncobj_call(DRM_IOCTL_NR(cmd));
	long ret = t3_ioctl_gate(filp, cmd);

	if (!ret && call) {
		ret = t3_syncobj_ioctl(call, filp, cmd, argp);
	} else if (!ret) {
		ret = core(filp, cmd, arg);
		t3_syncobj_after(filp, cmd, argp);
	}
	return ret < 0 ? t3_refusal_end(filp->private_data, cmd, ret) : ret;
}

static long t3_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return t3_ioctl_run(filp, cmd, arg, (void __user *)arg, drm_ioctl);
}

#ifdef CONFIG_COMPAT
/*
 * The core translates some calls, which it finds by number alone. Structs of syncobjs have
 * the same layout.
 */
static long t3_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return t3_ioctl_run(filp, cmd, arg, compat_ptr(arg), drm_compat_ioctl);
}
#else
#define t3_compat_ioctl NULL
#endif

const struct file_operations t3_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = t3_ioctl,
	.compat_ioctl = t3_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};
