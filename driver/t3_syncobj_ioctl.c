// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ioctls on syncobjs that the driver answers in place of the core: those that take an array, and
 * TRANSFER. On 6.12 the core allocates memory for as many syncobjs as the caller says, up to 32
 * GiB, and anybody can cause a warning of the allocator with that. TRANSFER with flags that it
 * refuses keeps a reference of the syncobj for good (drm_syncobj_find_fence() of 6.12.95), and with
 * it a fence of this driver and this module.
 *
 * A check of the argument before drm_ioctl() cannot help: drm_ioctl() reads the user's memory
 * again, and a second thread may change it in between. No user memory is safe from that. Read-only
 * mappings are not either, as they can be replaced. So the argument is copied once. The copy goes
 * through drm_ioctl_kernel() to functions of this driver, which check it and use what the core
 * exports, such as drm_syncobj_find(). All flags, errors and sizes are the core's, so libdrm's
 * drmSyncobj*() see no difference.
 */
#include <linux/uaccess.h>

#include <drm/drm.h>
#include <drm/drm_ioctl.h>

#include "t3_syncobj.h"

struct t3_syncobj_call {
	unsigned int cmd;
	drm_ioctl_t *func;
};

static const struct t3_syncobj_call t3_syncobj_calls[] = {
	{ DRM_IOCTL_SYNCOBJ_WAIT, t3_syncobj_wait },
	{ DRM_IOCTL_SYNCOBJ_RESET, t3_syncobj_reset },
	{ DRM_IOCTL_SYNCOBJ_SIGNAL, t3_syncobj_signal },
	{ DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, t3_syncobj_timeline_wait },
	{ DRM_IOCTL_SYNCOBJ_QUERY, t3_syncobj_query },
	{ DRM_IOCTL_SYNCOBJ_TRANSFER, t3_syncobj_transfer },
	{ DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, t3_syncobj_timeline_signal },
};

union t3_syncobj_args {
	struct drm_syncobj_wait wait;
	struct drm_syncobj_timeline_wait timeline_wait;
	struct drm_syncobj_array array;
	struct drm_syncobj_timeline_array timeline_array;
	struct drm_syncobj_transfer transfer;
};

/**
 * t3_syncobj_call() - find the call of an ioctl number
 * @nr: number alone, as the core does: another size is an older or newer struct
 *
 * Return: the call, or NULL: the core answers it.
 */
const struct t3_syncobj_call *t3_syncobj_call(unsigned int nr)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t3_syncobj_calls); i++)
		if (DRM_IOCTL_NR(t3_syncobj_calls[i].cmd) == nr)
			return &t3_syncobj_calls[i];
	return NULL;
}

/**
 * t3_syncobj_ioctl() - run a call
 * @call: from t3_syncobj_call()
 * @filp: the open file
 * @cmd: the ioctl as the caller gave it
 * @arg: its argument
 *
 * Missing bytes of a shorter struct are 0. Additional bytes of a longer one are ignored.
 *
 * Context: process context; sleeps.
 * Return: 0, -EFAULT, or an error of the call.
 */
long t3_syncobj_ioctl(const struct t3_syncobj_call *call, struct file *filp, unsigned int cmd,
		      void __user *arg)
{
	size_t size = min(_IOC_SIZE(cmd), _IOC_SIZE(call->cmd));
	union t3_syncobj_args args = {};
	long ret;

	if ((cmd & IOC_IN) && copy_from_user(&args, arg, size))
		return -EFAULT;
	ret = drm_ioctl_kernel(filp, call->func, &args, DRM_RENDER_ALLOW);
	if ((cmd & IOC_OUT) && copy_to_user(arg, &args, size))
		return -EFAULT;
	return ret;
}
