// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host buffers: pages of the machine, mapped for the device's DMA until buffer or device ends. The
 * driver allocates the pages itself instead of the DMA API, because buffer and mappings stay when
 * the device is removed: the content is the user's.
 */
#include <linux/dma-mapping.h>
#include <linux/iosys-map.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "t3_bo.h"
#include "t3_device.h"
#include "t3_user.h"

#define T3_HOST_ORDER 9 /* of the largest piece that is tried: 2 MiB */

static unsigned long t3_bo_host_count(const struct t3_bo *bo)
{
	return bo->base.size >> PAGE_SHIFT;
}

/* At most 2^order zeroed pages in one piece; fewer where those are not free. Sets order. */
static struct page *t3_bo_host_alloc_piece(int node, unsigned int *order)
{
	gfp_t gfp = GFP_HIGHUSER | __GFP_ZERO | __GFP_ACCOUNT | __GFP_NOWARN;
	struct page *page;

	for (; *order; (*order)--) {
		page = alloc_pages_node(node, gfp | __GFP_NORETRY, *order);
		if (page) {
			split_page(page, *order);
			return page;
		}
	}
	/* No process is killed for a user's buffer. */
	return alloc_pages_node(node, gfp | __GFP_RETRY_MAYFAIL, 0);
}

/* In few pieces: without an IOMMU each one needs a descriptor of its own. */
static int t3_bo_host_alloc_pages(struct t3_bo *bo, int node)
{
	unsigned long count = t3_bo_host_count(bo), done = 0, i;
	unsigned int order = T3_HOST_ORDER;
	struct page *page;

	bo->pages = kvcalloc(count, sizeof(*bo->pages), GFP_KERNEL_ACCOUNT);
	if (!bo->pages)
		return -ENOMEM;
	while (done < count) {
		if (fatal_signal_pending(current))
			return -EINTR;
		order = min_t(unsigned int, order, ilog2(count - done));
		page = t3_bo_host_alloc_piece(node, &order);
		if (!page)
			return -ENOMEM;
		for (i = 0; i < 1ul << order; i++)
			bo->pages[done++] = page + i;
		cond_resched();
	}
	return 0;
}

static void t3_bo_host_free_pages(struct t3_bo *bo)
{
	unsigned long i;

	if (!bo->pages)
		return;
	/* Pages are allocated in order, so missing ones are at the end. Mappings hold their own. */
	for (i = 0; i < t3_bo_host_count(bo) && bo->pages[i]; i++) {
		put_page(bo->pages[i]);
		cond_resched();
	}
	kvfree(bo->pages);
}

/* ------------------------------------------------------------------------ DMA */

/**
 * t3_pages_map() - map a host buffer for DMA
 * @bo: the buffer
 * @dev: the owner, or an importer
 * @dir: of the DMA
 *
 * Context: process context; sleeps.
 * Return: the mapped table, or an ERR_PTR(): -ENOMEM, -EOPNOTSUPP the DMA of @dev is not coherent,
 *   or an error of dma_map_sgtable().
 */
struct sg_table *t3_pages_map(struct t3_bo *bo, struct device *dev, enum dma_data_direction dir)
{
	struct sg_table *sgt = kzalloc_obj(*sgt, GFP_KERNEL);
	int ret;

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table_from_pages_segment(sgt, bo->pages, t3_bo_host_count(bo), 0,
						bo->base.size, dma_get_max_seg_size(dev),
						GFP_KERNEL);
	if (ret)
		goto err_free;
	ret = dma_map_sgtable(dev, sgt, dir, T3_DMA_ATTRS);
	if (ret)
		goto err_table;
	ret = -EOPNOTSUPP;
	if (!t3_sgt_is_coherent(sgt, dev))
		goto err_map;
	return sgt;

err_map:
	dma_unmap_sgtable(dev, sgt, dir, T3_DMA_ATTRS);
err_table:
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(ret);
}

/**
 * t3_pages_unmap() - end t3_pages_map()
 * @sgt: its table
 * @dev: as before
 * @dir: as before
 *
 * Context: process context; sleeps.
 */
void t3_pages_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir)
{
	dma_unmap_sgtable(dev, sgt, dir, T3_DMA_ATTRS);
	sg_free_table(sgt);
	kfree(sgt);
}

static int t3_bo_host_map(struct t3_bo *bo, struct t3_device *tdev)
{
	struct sg_table *sgt;
	int ret;

	sgt = t3_pages_map(bo, tdev->drm.dev, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	bo->sgt = sgt;
	ret = t3_bo_set_extents(bo, sgt);
	if (ret) {
		t3_pages_unmap(sgt, tdev->drm.dev, DMA_BIDIRECTIONAL);
		return ret;
	}
	bo->mapped = true;
	return 0;
}

/**
 * t3_bo_host_unmap() - unmap a host buffer from its own device
 * @bo: mapped
 *
 * Context: bo_lock is held.
 */
void t3_bo_host_unmap(struct t3_bo *bo)
{
	t3_pages_unmap(bo->sgt, bo->base.dev->dev, DMA_BIDIRECTIONAL);
}

/* ------------------------------------------------------------------- processor */

/* Ordinary memory: cached, others may pin it, and it outlives the device. */
static int t3_bo_host_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

static vm_fault_t t3_bo_host_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct t3_bo *bo = to_t3_bo(obj);
	unsigned long index = vmf->pgoff - drm_vma_node_start(&obj->vma_node);

	if (index >= t3_bo_host_count(bo))
		return VM_FAULT_SIGBUS;
	get_page(bo->pages[index]);
	vmf->page = bo->pages[index];
	return 0;
}

static int t3_bo_host_vmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	struct t3_bo *bo = to_t3_bo(obj);
	void *address = vmap(bo->pages, t3_bo_host_count(bo), VM_MAP, PAGE_KERNEL);

	if (!address)
		return -ENOMEM;
	iosys_map_set_vaddr(map, address);
	return 0;
}

static void t3_bo_host_vunmap(struct drm_gem_object *obj, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

static void t3_bo_host_free(struct drm_gem_object *obj)
{
	struct t3_bo *bo = to_t3_bo(obj);

	t3_bo_release(bo);
	t3_bo_host_free_pages(bo);
	t3_account_uncharge(bo->account, T3_POOL_HOST, obj->size);
	t3_bo_fini(bo);
}

static const struct vm_operations_struct t3_bo_host_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = t3_bo_host_fault,
};

static const struct drm_gem_object_funcs t3_bo_host_funcs = {
	.free = t3_bo_host_free,
	.export = t3_prime_export,
	.vmap = t3_bo_host_vmap,
	.vunmap = t3_bo_host_vunmap,
	.mmap = t3_bo_host_mmap,
	.vm_ops = &t3_bo_host_vm_ops,
};

static struct t3_bo *t3_bo_host_alloc(struct t3_account *account, u64 size)
{
	struct t3_bo *bo;
	int ret;

	ret = t3_account_charge(account, T3_POOL_HOST, size);
	if (ret)
		return ERR_PTR(ret);
	bo = t3_bo_alloc(T3_BO_HOST, &t3_bo_host_funcs);
	if (!bo) {
		t3_account_uncharge(account, T3_POOL_HOST, size);
		return ERR_PTR(-ENOMEM);
	}
	bo->account = t3_account_get(account);
	return bo;
}

/**
 * t3_bo_host_new() - allocate a host buffer
 * @tdev: the device
 * @account: charged for it
 * @size: bytes, a multiple of the page size
 *
 * Context: inside drm_dev_enter(); sleeps.
 * Return: the buffer with one reference, or an ERR_PTR(): -EDQUOT the limit of the user,
 *   -ENOMEM, -EINTR a fatal signal, or an error of t3_pages_map().
 */
struct t3_bo *t3_bo_host_new(struct t3_device *tdev, struct t3_account *account, u64 size)
{
	struct t3_bo *bo = t3_bo_host_alloc(account, size);
	int ret;

	if (IS_ERR(bo))
		return bo;
	ret = t3_bo_init(bo, tdev, size);
	if (!ret)
		ret = t3_bo_host_alloc_pages(bo, dev_to_node(tdev->drm.dev));
	if (!ret)
		ret = t3_bo_host_map(bo, tdev);
	if (ret) {
		t3_bo_put(bo);
		return ERR_PTR(ret);
	}
	return bo;
}
