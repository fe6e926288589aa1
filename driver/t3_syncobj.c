// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of syncobjs: look them up, reset, signal and query them; and TRANSFER. t3_syncobj_ioctl.c
 * says why the driver does this and not the core.
 */
#include <linux/dma-fence-chain.h>
#include <linux/dma-fence-unwrap.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <drm/drm.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>

#include "t3_refuse.h"
#include "t3_syncobj.h"

static const struct t3_rule t3_syncobj_array_rules[] = {
	T3_ZERO(drm_syncobj_array, pad),
};

static const struct t3_rule t3_syncobj_signal_rules[] = {
	T3_ZERO(drm_syncobj_timeline_array, flags),
};

static const struct t3_rule t3_syncobj_query_rules[] = {
	T3_BITS(drm_syncobj_timeline_array, flags, DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED,
		"DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED or 0"),
};

static const struct t3_rule t3_syncobj_transfer_rules[] = {
	T3_ZERO(drm_syncobj_transfer, pad),
	T3_BITS(drm_syncobj_transfer, flags, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
		"DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT or 0"),
	T3_CAUSE(-ENOENT, drm_syncobj_transfer, src_handle, "a syncobj of this open file"),
	T3_CAUSE(-EINVAL, drm_syncobj_transfer, src_point, "a point that has a fence"),
};

static int t3_syncobjs_get_points(struct t3_syncobjs *array, const void __user *points)
{
	if (points)
		array->points = vmemdup_array_user(points, array->count, sizeof(*array->points));
	else
		array->points = kvcalloc(array->count, sizeof(*array->points), GFP_KERNEL);
	if (IS_ERR_OR_NULL(array->points))
		return array->points ? PTR_ERR(array->points) : -ENOMEM;
	return 0;
}

static int t3_syncobjs_find(struct drm_file *file, struct t3_syncobjs *array, const u32 *handles)
{
	u32 i;

	for (i = 0; i < array->count; i++) {
		array->objs[i] = drm_syncobj_find(file, handles[i]);
		if (!array->objs[i])
			return t3_refused_element(file,
						  t3_refuse_value(file, -ENOENT, "handles",
								  handles[i],
								  "a syncobj of this open file"),
						  i);
	}
	return 0;
}

static int t3_syncobjs_get_objs(struct drm_file *file, struct t3_syncobjs *array,
				const void __user *user)
{
	u32 *handles = vmemdup_array_user(user, array->count, sizeof(*handles));
	int ret = -ENOMEM;

	if (PTR_ERR_OR_ZERO(handles) == -EFAULT)
		return t3_refuse_value(file, -EFAULT, "handles", (u64)(uintptr_t)user,
				       "an array that can be read");
	if (IS_ERR(handles))
		return PTR_ERR(handles);
	array->objs = kvcalloc(array->count, sizeof(*array->objs), GFP_KERNEL_ACCOUNT);
	if (array->objs)
		ret = t3_syncobjs_find(file, array, handles);
	kvfree(handles);
	return ret;
}

/**
 * t3_syncobjs_get() - look up the syncobjs of a call
 * @file: whose handles they are
 * @handles: user address of an array
 * @points: user address of an array, or 0: all points are 0
 * @count: elements of both arrays
 * @out: filled; t3_syncobjs_put() puts it, also after a failure
 *
 * Context: process context; sleeps.
 * Return: 0; -EINVAL @count is 0 or above DRM_T3_SYNCOBJS_MAX; -ENOENT no such handle; -EFAULT; or
 *   -ENOMEM.
 */
int t3_syncobjs_get(struct drm_file *file, u64 handles, u64 points, u32 count,
		    struct t3_syncobjs *out)
{
	int ret;

	*out = (struct t3_syncobjs){};
	if (!count || count > DRM_T3_SYNCOBJS_MAX)
		return t3_refuse_value(file, -EINVAL, "count_handles", count,
				       "1 to DRM_T3_SYNCOBJS_MAX");
	out->count = count;
	ret = t3_syncobjs_get_objs(file, out, u64_to_user_ptr(handles));
	if (ret)
		return ret;
	ret = t3_syncobjs_get_points(out, u64_to_user_ptr(points));
	if (ret == -EFAULT)
		return t3_refuse_value(file, ret, "points", points, "an array that can be read");
	return ret;
}

/**
 * t3_syncobjs_notify() - wake the waits that look for a fence of one of them
 * @array: from t3_syncobjs_get(), which may have failed
 *
 * Context: process context; without locks.
 */
void t3_syncobjs_notify(const struct t3_syncobjs *array)
{
	u32 i;

	for (i = 0; array->objs && i < array->count && array->objs[i]; i++)
		t3_syncobj_notify(array->objs[i]);
}

/**
 * t3_syncobjs_put() - put what t3_syncobjs_get() holds
 * @array: from t3_syncobjs_get(), which may have failed
 *
 * Context: process context.
 */
void t3_syncobjs_put(struct t3_syncobjs *array)
{
	u32 i;

	for (i = 0; array->objs && i < array->count && array->objs[i]; i++)
		drm_syncobj_put(array->objs[i]);
	kvfree(array->objs);
	if (!IS_ERR(array->points))
		kvfree(array->points);
}

/* -------------------------------------------------------------------- binary */

static int t3_syncobj_set_signaled(struct drm_syncobj *obj)
{
	struct dma_fence *fence = dma_fence_allocate_private_stub(ktime_get());

	if (!fence)
		return -ENOMEM;
	drm_syncobj_replace_fence(obj, fence);
	dma_fence_put(fence);
	return 0;
}

static int t3_syncobj_clear(struct drm_syncobj *obj)
{
	drm_syncobj_replace_fence(obj, NULL);
	return 0;
}

static int t3_syncobj_each(struct drm_file *file, const struct drm_syncobj_array *args,
			   int (*act)(struct drm_syncobj *obj))
{
	struct t3_syncobjs array;
	int ret;
	u32 i;

	ret = t3_check(file, args, t3_syncobj_array_rules);
	if (ret)
		return ret;
	ret = t3_syncobjs_get(file, args->handles, 0, args->count_handles, &array);
	for (i = 0; !ret && i < array.count; i++)
		ret = act(array.objs[i]);
	t3_syncobjs_notify(&array);
	t3_syncobjs_put(&array);
	return ret;
}

/**
 * t3_syncobj_reset() - DRM_IOCTL_SYNCOBJ_RESET
 * @drm: the device
 * @data: &struct drm_syncobj_array, the kernel's copy
 * @file: the open file
 *
 * Context: process context; sleeps.
 * Return: 0, -EINVAL, -ENOENT, -EFAULT or -ENOMEM, as the core.
 */
int t3_syncobj_reset(struct drm_device *drm, void *data, struct drm_file *file)
{
	return t3_syncobj_each(file, data, t3_syncobj_clear);
}

/**
 * t3_syncobj_signal() - DRM_IOCTL_SYNCOBJ_SIGNAL
 * @drm: the device
 * @data: &struct drm_syncobj_array, the kernel's copy
 * @file: the open file
 *
 * Context: process context; sleeps.
 * Return: 0, -EINVAL, -ENOENT, -EFAULT or -ENOMEM, as the core.
 */
int t3_syncobj_signal(struct drm_device *drm, void *data, struct drm_file *file)
{
	return t3_syncobj_each(file, data, t3_syncobj_set_signaled);
}

/* ------------------------------------------------------------------ timeline */

/* All are allocated before the first is used: a call that fails changes nothing. */
static int t3_chains_alloc(struct dma_fence_chain **chains, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		chains[i] = dma_fence_chain_alloc();
		if (!chains[i])
			return -ENOMEM;
	}
	return 0;
}

/* Frees those that were not used. */
static void t3_chains_free(struct dma_fence_chain **chains, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (chains[i])
			dma_fence_chain_free(chains[i]);
	kvfree(chains);
}

static int t3_syncobjs_signal_points(const struct t3_syncobjs *array)
{
	struct dma_fence *done = dma_fence_get_stub();
	struct dma_fence_chain **chains;
	int ret = -ENOMEM;
	u32 i;

	chains = kvcalloc(array->count, sizeof(*chains), GFP_KERNEL);
	if (!chains)
		goto out;
	ret = t3_chains_alloc(chains, array->count);
	for (i = 0; !ret && i < array->count; i++) {
		drm_syncobj_add_point(array->objs[i], chains[i], done, array->points[i]);
		chains[i] = NULL;
	}
	t3_chains_free(chains, array->count);
out:
	dma_fence_put(done);
	return ret;
}

/**
 * t3_syncobj_timeline_signal() - DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL
 * @drm: the device
 * @data: &struct drm_syncobj_timeline_array, the kernel's copy
 * @file: the open file
 *
 * Context: process context; sleeps.
 * Return: 0, -EINVAL, -ENOENT, -EFAULT or -ENOMEM, as the core.
 */
int t3_syncobj_timeline_signal(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_syncobj_timeline_array *args = data;
	struct t3_syncobjs array;
	int ret;

	ret = t3_check(file, args, t3_syncobj_signal_rules);
	if (ret)
		return ret;
	ret = t3_syncobjs_get(file, args->handles, args->points, args->count_handles, &array);
	if (!ret)
		ret = t3_syncobjs_signal_points(&array);
	t3_syncobjs_notify(&array);
	t3_syncobjs_put(&array);
	return ret;
}

/*
 * The last point that is reached. A walk removes nodes that have signalled from the chain. So it
 * ends at the oldest one that has not, and all before that one have.
 */
static u64 t3_chain_reached(struct dma_fence *head)
{
	struct dma_fence *oldest = dma_fence_get(head), *node;
	u64 point;

	dma_fence_chain_for_each(node, head) {
		if (node->context != head->context) {
			dma_fence_put(node); /* its points were not added in order */
			break;
		}
		dma_fence_put(oldest);
		oldest = dma_fence_get(node);
	}
	point = dma_fence_is_signaled(oldest) ? oldest->seqno :
						to_dma_fence_chain(oldest)->prev_seqno;
	dma_fence_put(oldest);
	return point;
}

static u64 t3_syncobj_point(struct drm_syncobj *obj, bool submitted)
{
	struct dma_fence *fence = drm_syncobj_fence_get(obj);
	u64 point = 0;

	if (to_dma_fence_chain(fence))
		point = submitted ? fence->seqno : t3_chain_reached(fence);
	dma_fence_put(fence);
	return point;
}

/**
 * t3_syncobj_query() - DRM_IOCTL_SYNCOBJ_QUERY
 * @drm: the device
 * @data: &struct drm_syncobj_timeline_array, the kernel's copy
 * @file: the open file
 *
 * Context: process context; sleeps.
 * Return: 0, -EINVAL, -ENOENT, -EFAULT or -ENOMEM, as the core.
 */
int t3_syncobj_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_syncobj_timeline_array *args = data;
	u64 __user *points = u64_to_user_ptr(args->points);
	struct t3_syncobjs array;
	int ret;
	u32 i;

	ret = t3_check(file, args, t3_syncobj_query_rules);
	if (ret)
		return ret;
	ret = t3_syncobjs_get(file, args->handles, 0, args->count_handles, &array);
	for (i = 0; !ret && i < array.count; i++) {
		u64 point = t3_syncobj_point(array.objs[i], args->flags);

		if (copy_to_user(&points[i], &point, sizeof(point)))
			ret = t3_refuse(file, args, -EFAULT, points,
					"an array that can be written");
	}
	t3_syncobjs_put(&array);
	return ret;
}

/* ------------------------------------------------------------------ transfer */

/* The fence is unwrapped, so that chains of chains do not grow. */
static int t3_transfer_to_point(struct drm_syncobj *dst, struct dma_fence *fence, u64 point)
{
	struct dma_fence_chain *chain;
	struct dma_fence *flat;

	flat = dma_fence_unwrap_merge(fence);
	if (!flat)
		return -ENOMEM;
	chain = dma_fence_chain_alloc();
	if (chain)
		drm_syncobj_add_point(dst, chain, flat, point);
	dma_fence_put(flat);
	return chain ? 0 : -ENOMEM;
}

static int t3_transfer_to(struct drm_syncobj *dst, struct drm_file *file,
			  const struct drm_syncobj_transfer *args)
{
	struct dma_fence *fence;
	int ret;

	ret = drm_syncobj_find_fence(file, args->src_handle, args->src_point, args->flags, &fence);
	if (ret)
		return ret;
	if (args->dst_point)
		ret = t3_transfer_to_point(dst, fence, args->dst_point);
	else
		drm_syncobj_replace_fence(dst, fence);
	dma_fence_put(fence);
	return ret;
}

/**
 * t3_syncobj_transfer() - DRM_IOCTL_SYNCOBJ_TRANSFER
 * @drm: the device
 * @data: &struct drm_syncobj_transfer, the kernel's copy
 * @file: the open file
 *
 * Context: process context; sleeps.
 * Return: 0, -EINVAL, -ENOENT, -ENOMEM, or an error of drm_syncobj_find_fence().
 */
int t3_syncobj_transfer(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_syncobj_transfer *args = data;
	struct drm_syncobj *dst;
	int ret;

	ret = t3_check(file, args, t3_syncobj_transfer_rules);
	if (ret)
		return ret;
	dst = drm_syncobj_find(file, args->dst_handle);
	if (!dst)
		return t3_refuse(file, args, -ENOENT, dst_handle, "a syncobj of this open file");
	ret = t3_transfer_to(dst, file, args);
	t3_syncobj_notify(dst);
	drm_syncobj_put(dst);
	return t3_explain(file, args, ret, t3_syncobj_transfer_rules);
}
