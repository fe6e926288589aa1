// SPDX-License-Identifier: GPL-2.0
/*
 * Buffers of others, from a dma-buf: operands of jobs as host buffers are, mapped for
 * our DMA from import to the end of buffer or device. They are whole or not at all, so
 * an exporter has them pinned all that time.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/mm.h>

#include <drm/drm_prime.h>

#include "t3_bo.h"

/* Only if the exporter goes: no new job from here on; it waits for the others. */
static void t3_import_move_notify(struct dma_buf_attachment *attach)
{
	struct t3_bo *bo = attach->importer_priv;

	dma_resv_assert_held(bo->base.resv);
	bo->revoked = true;
}

/* For buffers of this driver alone; others' are pinned by a static attachment. */
static const struct dma_buf_attach_ops t3_import_ops = {
	.allow_peer2peer = true,
	.move_notify = t3_import_move_notify,
};

/* The buffer that this driver attaches, or NULL: another driver attaches. */
struct t3_bo *t3_import_of(const struct dma_buf_attachment *attach)
{
	return attach->importer_ops == &t3_import_ops ? attach->importer_priv : NULL;
}

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

/* The exporter's business, as is the vma from there on. */
static int t3_import_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND);
	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	ret = dma_buf_mmap(to_t3_bo(obj)->source, vma, 0);
	if (!ret) /* the mapping holds the exporter's object, not ours */
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

/* Without export: while it has a handle, the core passes the source itself on. */
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

/* For DRM_IOCTL_PRIME_FD_TO_HANDLE. */
struct drm_gem_object *t3_prime_import(struct drm_device *drm, struct dma_buf *dmabuf)
{
	struct drm_gem_object *obj = dmabuf->priv;
	int idx;

	if (t3_prime_is_ours(dmabuf) && obj->dev == drm) {
		drm_gem_object_get(obj);
		return obj;
	}
	/* Around all of it, so that remove() finds it mapped or not at all. */
	if (!drm_dev_enter(drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = t3_import(to_t3_device(drm), dmabuf);
	drm_dev_exit(idx);
	return obj;
}
