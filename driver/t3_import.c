// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imported buffers, from dma-bufs. Jobs use them as operands, like host buffers. They are mapped
 * for the device's DMA until buffer or device ends. A buffer is never mapped in part, so its
 * exporter keeps it pinned all that time.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>

#include <drm/drm_prime.h>

#include "t3_bo.h"
#include "t3_device.h"

/* The exporter is being removed: no new job begins, and the exporter waits for the others. */
static void t3_import_invalidate(struct dma_buf_attachment *attach)
{
	struct t3_bo *bo = attach->importer_priv;

	dma_resv_assert_held(bo->base.resv);
	bo->revoked = true;
}

/* For buffers of this driver. A static attachment pins those of others. */
static const struct dma_buf_attach_ops t3_import_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = t3_import_invalidate,
};

/**
 * t3_import_of() - find the buffer that an attachment is for
 * @attach: to a dma-buf of this driver
 *
 * Return: the importing buffer, or NULL: another driver attaches.
 */
struct t3_bo *t3_import_of(const struct dma_buf_attachment *attach)
{
	return attach->importer_ops == &t3_import_ops ? attach->importer_priv : NULL;
}

/**
 * t3_bo_import_unmap() - unmap an imported buffer and detach it
 * @bo: mapped
 *
 * Context: bo_lock is held.
 */
void t3_bo_import_unmap(struct t3_bo *bo)
{
	dma_buf_unmap_attachment_unlocked(bo->attach, bo->sgt, DMA_BIDIRECTIONAL);
	dma_buf_detach(bo->source, bo->attach);
}

static int t3_import_map(struct t3_bo *bo, struct dma_buf_attachment *attach)
{
	struct sg_table *sgt;
	int ret;

	sgt = dma_buf_map_attachment_unlocked(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	ret = t3_sgt_is_coherent(sgt, attach->dev) ? t3_bo_set_extents(bo, sgt) : -EOPNOTSUPP;
	if (ret)
		dma_buf_unmap_attachment_unlocked(attach, sgt, DMA_BIDIRECTIONAL);
	else
		bo->sgt = sgt;
	return ret;
}

static int t3_import_attach(struct t3_bo *bo)
{
	struct dma_buf_attachment *attach;
	int ret;

	attach = dma_buf_dynamic_attach(bo->source, bo->base.dev->dev,
					t3_prime_is_ours(bo->source) ? &t3_import_ops : NULL, bo);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	ret = t3_import_map(bo, attach);
	if (ret) {
		dma_buf_detach(bo->source, attach);
		return ret;
	}
	bo->attach = attach;
	bo->mapped = true;
	return 0;
}

/* The exporter maps it, and the vma is its own from there on. */
static int t3_import_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND);
	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	ret = dma_buf_mmap(to_t3_bo(obj)->source, vma, 0);
	if (!ret) /* the mapping holds a reference of the exporter's object instead */
		drm_gem_object_put(obj);
	return ret;
}

static void t3_import_free(struct drm_gem_object *obj)
{
	struct t3_bo *bo = to_t3_bo(obj);

	t3_bo_release(bo);
	dma_buf_put(bo->source);
	t3_bo_fini(bo);
}

/* Without export: while the buffer has a handle, the core exports the source again. */
static const struct drm_gem_object_funcs t3_import_funcs = {
	.free = t3_import_free,
	.mmap = t3_import_mmap,
};

static struct drm_gem_object *t3_import(struct t3_device *tdev, struct dma_buf *dmabuf)
{
	struct t3_bo *bo;
	int ret;

	if (!dmabuf->size || !PAGE_ALIGNED(dmabuf->size))
		return ERR_PTR(-EINVAL);
	bo = t3_bo_alloc(T3_BO_IMPORT, &t3_import_funcs);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	get_dma_buf(dmabuf);
	bo->source = dmabuf;
	bo->base.resv = dmabuf->resv;
	ret = t3_bo_init(bo, tdev, dmabuf->size);
	if (!ret)
		ret = t3_import_attach(bo);
	if (ret) {
		t3_bo_put(bo);
		return ERR_PTR(ret);
	}
	return &bo->base;
}

/**
 * t3_prime_import() - import a dma-buf, for DRM_IOCTL_PRIME_FD_TO_HANDLE
 * @drm: the device
 * @dmabuf: from any exporter
 *
 * Context: process context; sleeps.
 * Return: a GEM object with a reference, or an ERR_PTR(): -ENODEV unplugged, -EINVAL bad size,
 *   -ENOMEM, -EOPNOTSUPP not coherent, or an error of the exporter: -EXDEV another fabric.
 */
struct drm_gem_object *t3_prime_import(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *obj = dmabuf->priv;
	int idx;

	if (t3_prime_is_ours(dmabuf) && obj->dev == drm) {
		drm_gem_object_get(obj);
		return obj;
	}
	/* Around the whole import, so that remove() finds no buffer half mapped. */
	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = t3_import(to_t3_device(drm), dmabuf);
	drm_dev_exit(idx);
	return obj;
}
