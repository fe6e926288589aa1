// SPDX-License-Identifier: GPL-2.0
/*
 * File operations of the accel node. By hand, because DRM_ACCEL_FOPS has no
 * show_fdinfo, and because some core ioctls must not be reached.
 *
 * An accel file has no drm_master, and on 6.12 two core ioctls that anybody may
 * call use file->master without a look: GET_UNIQUE (0x01) and GET_MAGIC (0x02)
 * oops. The others were read in 6.12's drm_ioctl.c one by one:
 *
 *  - SET_VERSION, SET_UNIQUE, AUTH_MAGIC, BLOCK, UNBLOCK, ADD_DRAW, RM_DRAW,
 *    UPDATE_DRAW and all of modesetting that changes something are DRM_MASTER:
 *    -EACCES, as an accel file is never a current master. (SET_VERSION would
 *    use file->master as well.)
 *  - SET_MASTER checks CAP_SYS_ADMIN, then file->master: -EACCES or -EINVAL.
 *    DROP_MASTER likewise asks whether the file is master.
 *  - VERSION, GET_CLIENT, GET_STATS, GET_CAP, SET_CLIENT_CAP, GEM_CLOSE, FINISH
 *    and PRIME do not look at the master.
 *  - WAIT_VBLANK, the other MODE_*, CRTC_* and SYNCOBJ_* check features that
 *    this driver does not have: -EOPNOTSUPP, -ENOSYS or -EINVAL.
 *  - GEM_FLINK and GEM_OPEN are safe, and reserved to administrators by DRM_AUTH.
 *    They are refused too: their names can be guessed, and this ABI shares by
 *    file descriptor only.
 */
#include <linux/fs.h>

#include <drm/drm_accel.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

#include "t3_device.h"

/* The core decides by number alone, so the size and direction do not matter. */
static bool t3_ioctl_refused(unsigned int cmd)
{
	if (DRM_IOCTL_TYPE(cmd) != DRM_IOCTL_BASE)
		return false;
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

static long t3_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return t3_ioctl_refused(cmd) ? -EACCES : drm_ioctl(filp, cmd, arg);
}

#ifdef CONFIG_COMPAT
/* The core has translations of its own for 0x01: they need the same guard. */
static long t3_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	return t3_ioctl_refused(cmd) ? -EACCES : drm_compat_ioctl(filp, cmd, arg);
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
