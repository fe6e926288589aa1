// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory: contiguous zeroed chunks, and the buffers that users see.
 *
 * By drm_mm and not drm_buddy: all chunks are contiguous, which a buddy allocator
 * must round and trim for; and drm_mm's nodes are embedded, so that it allocates
 * nothing. (6.12's drm_buddy corrupts its free trees when kmalloc() fails in the
 * middle of a split.)
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "t3_device.h"

#define T3_CLEAR_STEP SZ_1M /* between two chances to schedule */

static struct t3_bo *to_t3_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct t3_bo, base);
}

static void t3_mem_fini(struct drm_device *drm, void *unused)
{
	struct t3_device *tdev = to_t3_device(drm);

	drm_mm_takedown(&tdev->aperture_mm);
	drm_mm_takedown(&tdev->memory_mm);
}

int t3_mem_init(struct t3_device *tdev)
{
	drm_mm_init(&tdev->memory_mm, 0, tdev->caps.memory_size);
	drm_mm_init(&tdev->aperture_mm, 0, tdev->caps.aperture_size);
	return drmm_add_action_or_reset(&tdev->drm, t3_mem_fini, NULL);
}

u64 t3_mem_available(struct t3_device *tdev)
{
	u64 used;

	mutex_lock(&tdev->mem_lock);
	used = tdev->memory_used;
	mutex_unlock(&tdev->mem_lock);
	return tdev->caps.memory_size - used;
}

/* What an earlier owner wrote must never be seen. */
static int t3_chunk_clear(struct t3_device *tdev, const struct drm_mm_node *chunk)
{
	u64 done, step;
	int idx;

	for (done = 0; done < chunk->size; done += step) {
		step = min_t(u64, chunk->size - done, T3_CLEAR_STEP);
		if (!drm_dev_enter(&tdev->drm, &idx))
			return -ENODEV;
		memset_io(tdev->memory + chunk->start + done, 0, step);
		drm_dev_exit(idx);
		cond_resched();
	}
	return 0;
}

/* size: a multiple of the page size */
int t3_chunk_alloc(struct t3_device *tdev, u64 size, struct drm_mm_node *chunk)
{
	int ret;

	mutex_lock(&tdev->mem_lock);
	ret = drm_mm_insert_node(&tdev->memory_mm, chunk, size);
	if (!ret)
		tdev->memory_used += size;
	mutex_unlock(&tdev->mem_lock);
	if (ret)
		return ret;
	ret = t3_chunk_clear(tdev, chunk);
	if (ret)
		t3_chunk_free(tdev, chunk);
	return ret;
}

/* Does nothing when it is not allocated. */
void t3_chunk_free(struct t3_device *tdev, struct drm_mm_node *chunk)
{
	mutex_lock(&tdev->mem_lock);
	if (drm_mm_node_allocated(chunk)) {
		tdev->memory_used -= chunk->size;
		drm_mm_remove_node(chunk);
	}
	mutex_unlock(&tdev->mem_lock);
}

int t3_aperture_alloc(struct t3_device *tdev, u64 size, struct drm_mm_node *range)
{
	int ret;

	mutex_lock(&tdev->mem_lock);
	ret = drm_mm_insert_node(&tdev->aperture_mm, range, size);
	mutex_unlock(&tdev->mem_lock);
	return ret;
}

/* Does nothing when it is not allocated. */
void t3_aperture_free(struct t3_device *tdev, struct drm_mm_node *range)
{
	mutex_lock(&tdev->mem_lock);
	if (drm_mm_node_allocated(range))
		drm_mm_remove_node(range);
	mutex_unlock(&tdev->mem_lock);
}

static void t3_bo_free(struct drm_gem_object *obj)
{
	struct t3_bo *bo = to_t3_bo(obj);

	t3_chunk_free(to_t3_device(obj->dev), &bo->chunk);
	drm_gem_object_release(obj);
	kfree(bo);
}

static int t3_bo_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	/* A private mapping would copy on write, which a PFN mapping cannot. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot =
		pgprot_decrypted(pgprot_writecombine(vm_get_page_prot(vma->vm_flags)));
	return 0;
}

static vm_fault_t t3_bo_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct t3_device *tdev = to_t3_device(obj->dev);
	phys_addr_t base = tdev->memory_base + to_t3_bo(obj)->chunk.start;
	vm_fault_t ret;
	int idx;

	/* No lock: the mapping holds the buffer, and the buffer its memory. */
	if (!drm_dev_enter(obj->dev, &idx))
		return VM_FAULT_SIGBUS;
	ret = t3_map_insert(vmf, obj, PHYS_PFN(base));
	drm_dev_exit(idx);
	return ret;
}

/* Peer-to-peer DMA needs a contract about revoking that does not exist yet. */
static struct dma_buf *t3_bo_export(struct drm_gem_object *obj, int flags)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static const struct vm_operations_struct t3_bo_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = t3_bo_fault,
};

static const struct drm_gem_object_funcs t3_bo_funcs = {
	.free = t3_bo_free,
	.export = t3_bo_export,
	.mmap = t3_bo_mmap,
	.vm_ops = &t3_bo_vm_ops,
};

static struct t3_bo *t3_bo_new(struct t3_device *tdev, u64 size)
{
	struct t3_bo *bo;
	int ret;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	ret = t3_chunk_alloc(tdev, size, &bo->chunk);
	if (ret) {
		kfree(bo);
		return ERR_PTR(ret);
	}
	bo->base.funcs = &t3_bo_funcs;
	drm_gem_private_object_init(&tdev->drm, &bo->base, size);
	ret = drm_gem_create_mmap_offset(&bo->base);
	if (ret) {
		t3_bo_put(bo);
		return ERR_PTR(ret);
	}
	return bo;
}

/* Returns a reference, or NULL. */
struct t3_bo *t3_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? to_t3_bo(obj) : NULL;
}

int t3_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct t3_device *tdev = to_t3_device(drm);
	struct drm_t3_bo_create *args = data;
	struct t3_bo *bo;
	u32 handle;
	int ret;

	if (args->flags || !args->size || args->size > tdev->caps.memory_size)
		return -EINVAL;
	bo = t3_bo_new(tdev, PAGE_ALIGN(args->size));
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = drm_gem_handle_create(file, &bo->base, &handle);
	if (!ret) {
		args->size = bo->base.size;
		args->handle = handle;
	}
	t3_bo_put(bo);
	return ret;
}

int t3_bo_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_bo_mmap_offset *args = data;
	struct t3_bo *bo;

	if (args->pad)
		return -EINVAL;
	bo = t3_bo_lookup(file, args->handle);
	if (!bo)
		return -ENOENT;
	args->offset = drm_vma_node_offset_addr(&bo->base.vma_node);
	t3_bo_put(bo);
	return 0;
}
