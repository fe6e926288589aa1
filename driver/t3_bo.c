// SPDX-License-Identifier: GPL-2.0-only
/*
 * The common part of buffers of all kinds, and T3_BO_CREATE and T3_BO_MMAP_OFFSET.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "t3_bo.h"
#include "t3_device.h"
#include "t3_gate.h"
#include "t3_refuse.h"
#include "t3_user.h"

/**
 * t3_bo_alloc() - allocate the struct of a buffer
 * @kind: which one
 * @funcs: of the GEM object
 *
 * Return: the struct, to be passed to t3_bo_init() or t3_bo_fini(); or NULL.
 */
struct t3_bo *t3_bo_alloc(enum t3_bo_kind kind, const struct drm_gem_object_funcs *funcs)
{
	struct t3_bo *bo = kzalloc_obj(*bo, GFP_KERNEL_ACCOUNT);

	if (!bo)
		return NULL;
	INIT_LIST_HEAD(&bo->node);
	bo->kind = kind;
	bo->base.funcs = funcs;
	return bo;
}

/**
 * t3_bo_init() - make a GEM object of a buffer
 * @bo: from t3_bo_alloc()
 * @tdev: the device
 * @size: bytes, a multiple of the page size
 *
 * From here on t3_bo_put() frees it, also after a failure.
 *
 * Context: inside drm_dev_enter(), so that remove() finds each buffer. Takes bo_lock.
 * Return: 0, or an error of drm_gem_create_mmap_offset().
 */
int t3_bo_init(struct t3_bo *bo, struct t3_device *tdev, u64 size)
{
	drm_gem_private_object_init(&tdev->drm, &bo->base, size);
	mutex_lock(&tdev->bo_lock);
	list_add_tail(&bo->node, &tdev->bos);
	mutex_unlock(&tdev->bo_lock);
	return drm_gem_create_mmap_offset(&bo->base);
}

static void t3_bo_unmap(struct t3_bo *bo)
{
	lockdep_assert_held(&to_t3_device(bo->base.dev)->bo_lock);
	if (!bo->mapped)
		return;
	bo->mapped = false;
	if (bo->kind == T3_BO_HOST)
		t3_bo_host_unmap(bo);
	else
		t3_bo_import_unmap(bo);
}

/**
 * t3_bo_release() - end what the device knows of a buffer
 * @bo: without references; its memory is freed next
 *
 * As bo_lock is taken, remove() waits until the buffer is unmapped.
 *
 * Context: process context, also below mmap_lock.
 */
void t3_bo_release(struct t3_bo *bo)
{
	struct t3_device *tdev = to_t3_device(bo->base.dev);

	mutex_lock(&tdev->bo_lock);
	list_del(&bo->node);
	t3_bo_unmap(bo);
	mutex_unlock(&tdev->bo_lock);
}

/**
 * t3_bo_fini() - free the struct of a buffer
 * @bo: not known to the device any more
 */
void t3_bo_fini(struct t3_bo *bo)
{
	drm_gem_object_release(&bo->base);
	t3_account_put(bo->account);
	kvfree(bo->extents);
	kfree(bo);
}

/* From here on neither a job nor another importer begins to use it. */
static void t3_bo_revoke(struct t3_bo *bo)
{
	dma_resv_lock(bo->base.resv, NULL);
	bo->revoked = true;
	if (bo->dmabuf)
		dma_buf_invalidate_mappings(bo->dmabuf);
	dma_resv_unlock(bo->base.resv);
}

/**
 * t3_bo_orphan_all() - end what a device knows of all buffers
 * @tdev: the device
 *
 * The device is being removed: its own jobs have ended, and none begins. Jobs of other devices may
 * still use its memory over the bus, and their fences signal in finite time. Its DMA mappings of
 * the machine's memory end at once.
 *
 * Context: remove; takes bo_lock and sleeps.
 */
void t3_bo_orphan_all(struct t3_device *tdev)
{
	struct t3_bo *bo;

	mutex_lock(&tdev->bo_lock);
	while ((bo = list_first_entry_or_null(&tdev->bos, struct t3_bo, node))) {
		list_del_init(&bo->node);
		t3_bo_unmap(bo);
		/* A buffer that is just being freed has no importer. */
		if (bo->kind != T3_BO_DEVICE || !kref_get_unless_zero(&bo->base.refcount))
			continue;
		t3_bo_revoke(bo);
		mutex_unlock(&tdev->bo_lock);
		dma_resv_wait_timeout(bo->base.resv, DMA_RESV_USAGE_BOOKKEEP, false,
				      MAX_SCHEDULE_TIMEOUT);
		t3_bo_put(bo);
		mutex_lock(&tdev->bo_lock);
	}
	mutex_unlock(&tdev->bo_lock);
}

/* ------------------------------------------------------------------- extents */

/* Neighbours on the bus are joined. The array has room for extents without neighbours. */
static void t3_bo_add_extent(struct t3_bo *bo, u64 offset, u64 address)
{
	const struct t3_extent *last;

	if (bo->extent_count) {
		last = &bo->extents[bo->extent_count - 1];
		if (last->address + (offset - last->offset) == address)
			return;
	}
	bo->extents[bo->extent_count++] = (struct t3_extent){ offset, address };
}

/**
 * t3_dma_is_coherent() - check whether DMA to an address needs no sync
 * @dev: that maps it
 * @address: on its bus
 *
 * Nobody syncs between DMA and processor, so memory must not be bounced or bypass a cache. With
 * DMA_API_DEBUG the kernel reports that each mapping by an IOMMU needs syncs.
 *
 * Return: true if it needs none.
 */
bool t3_dma_is_coherent(struct device *dev, dma_addr_t address)
{
	if (IS_ENABLED(CONFIG_DMA_API_DEBUG) && device_iommu_mapped(dev))
		return true;
	return !dma_need_sync(dev, address);
}

/**
 * t3_sgt_is_coherent() - t3_dma_is_coherent() for all entries of a table
 * @sgt: mapped
 * @dev: that has mapped it
 *
 * Return: true if no entry needs a sync.
 */
bool t3_sgt_is_coherent(struct sg_table *sgt, struct device *dev)
{
	struct scatterlist *sg;
	u32 i;

	for_each_sgtable_dma_sg(sgt, sg, i)
		if (!t3_dma_is_coherent(dev, sg_dma_address(sg)))
			return false;
	return true;
}

/**
 * t3_bo_set_extents() - record where a buffer lies on the bus
 * @bo: without extents
 * @sgt: its memory, mapped
 *
 * Return: 0, -ENOMEM, or -EINVAL: the table is shorter than the buffer.
 */
int t3_bo_set_extents(struct t3_bo *bo, struct sg_table *sgt)
{
	struct scatterlist *sg;
	u64 offset = 0;
	u32 i;

	bo->extents = kvcalloc(sgt->nents, sizeof(*bo->extents), GFP_KERNEL_ACCOUNT);
	if (!bo->extents)
		return -ENOMEM;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		t3_bo_add_extent(bo, offset, sg_dma_address(sg));
		offset += sg_dma_len(sg);
	}
	return offset < bo->base.size ? -EINVAL : 0;
}

/**
 * t3_bo_run() - find where bytes of a buffer lie
 * @bo: the buffer
 * @offset: of the first byte, below the size
 * @address: filled: in device memory or on the bus
 *
 * Return: how many bytes from there on are one range.
 */
u64 t3_bo_run(const struct t3_bo *bo, u64 offset, u64 *address)
{
	u32 low = 0, high = bo->extent_count, middle;
	u64 end;

	if (bo->kind == T3_BO_DEVICE) {
		*address = bo->chunk.start + offset;
		return bo->base.size - offset;
	}
	while (high - low > 1) {
		middle = low + (high - low) / 2;
		if (bo->extents[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	end = high < bo->extent_count ? bo->extents[high].offset : bo->base.size;
	*address = bo->extents[low].address + (offset - bo->extents[low].offset);
	return end - offset;
}

/* ---------------------------------------------------------------------- users */

/**
 * t3_bo_lookup() - look a buffer up
 * @file: whose handle it is
 * @handle: of the buffer
 *
 * Context: process context.
 * Return: the buffer with a reference, or NULL.
 */
struct t3_bo *t3_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_t3_bo(obj) : NULL;
}

static const struct t3_rule t3_bo_create_rules[] = {
	T3_BITS(drm_t3_bo_create, flags, DRM_T3_BO_HOST, "DRM_T3_BO_HOST or 0"),
	T3_CAUSE(-EDQUOT, drm_t3_bo_create, size, "what the caller's limit leaves"),
	T3_CAUSE(-ENOSPC, drm_t3_bo_create, size, "a contiguous range that is free in the device"),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_bo_create, flags, "0: DMA is not coherent here"),
};

static const struct t3_rule t3_bo_mmap_offset_rules[] = {
	T3_ZERO(drm_t3_bo_mmap_offset, pad),
};

/* A larger buffer does not fit even if all memory is free. */
static u64 t3_bo_size_max(const struct t3_device *tdev, u32 flags)
{
	if (flags & DRM_T3_BO_HOST)
		return (u64)totalram_pages() << PAGE_SHIFT;
	return tdev->caps.memory_size;
}

static struct t3_bo *t3_bo_try_new(struct drm_file *file, const struct drm_t3_bo_create *args)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_device *tdev = t3_file_device(file);
	u64 size = PAGE_ALIGN(args->size);
	struct t3_bo *bo;
	int idx;

	if (!drm_dev_enter(&tdev->drm, &idx))
		return ERR_PTR(-ENODEV);
	if (args->flags & DRM_T3_BO_HOST)
		bo = t3_bo_host_new(tdev, tfile->account, size);
	else
		bo = t3_bo_device_new(tdev, tfile->account, size);
	drm_dev_exit(idx);
	return bo;
}

static struct t3_bo *t3_bo_new(struct drm_file *file, const struct drm_t3_bo_create *args)
{
	struct t3_bo *bo;
	int ret;

	do {
		bo = t3_bo_try_new(file, args);
		ret = PTR_ERR_OR_ZERO(bo);
	} while (t3_access_again(t3_file_device(file), &ret));
	return ret ? ERR_PTR(ret) : bo;
}

/**
 * t3_bo_create_ioctl() - DRM_IOCTL_T3_BO_CREATE
 * @drm: the device
 * @data: &struct drm_t3_bo_create
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_bo_create lists.
 */
int t3_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_bo_create *args = data;
	struct t3_bo *bo;
	u32 handle;
	u64 max;
	int ret;

	ret = t3_check(file, args, t3_bo_create_rules);
	if (ret)
		return ret;
	max = t3_bo_size_max(to_t3_device(drm), args->flags);
	if (!args->size || args->size > max)
		return t3_refuse_range(file, args, -EINVAL, size, 1, max);
	bo = t3_bo_new(file, args);
	if (IS_ERR(bo))
		return t3_explain(file, args, PTR_ERR(bo), t3_bo_create_rules);
	ret = drm_gem_handle_create(file, &bo->base, &handle);
	if (!ret) {
		args->size = bo->base.size;
		args->handle = handle;
	}
	t3_bo_put(bo);
	return ret;
}

/**
 * t3_bo_mmap_offset_ioctl() - DRM_IOCTL_T3_BO_MMAP_OFFSET
 * @drm: the device
 * @data: &struct drm_t3_bo_mmap_offset
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_bo_mmap_offset lists.
 */
int t3_bo_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_bo_mmap_offset *args = data;
	struct t3_bo *bo;
	int ret;

	ret = t3_check(file, args, t3_bo_mmap_offset_rules);
	if (ret)
		return ret;
	bo = t3_bo_lookup(file, args->handle);
	if (!bo)
		return t3_refuse(file, args, -ENOENT, handle, "a GEM handle of this open file");
	args->offset = drm_vma_node_offset_addr(&bo->base.vma_node);
	t3_bo_put(bo);
	return 0;
}
