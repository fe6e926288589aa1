// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers as dma-bufs, for other devices and other processes. Importers get:
 *
 * - Host buffers: their pages, for any device whose DMA is coherent.
 * - Device memory, never copied: its place on the bus. T3 devices of the same fabric
 *   always get it (BAR2 is memory for each other's DMA, see SPEC.md 1.3 and 11.3). Others
 *   get it if they ask for peer-to-peer and the kernel knows that this works
 *   (CONFIG_PCI_P2PDMA). Else they get -EOPNOTSUPP.
 *
 * Nothing moves, but device memory may be revoked: its importers must accept that. So the
 * exporter is a dynamic one; for a static one the core would cache the importer's table and hand it
 * out again afterwards. Processors map a dma-buf as they do through the node. The core waits for
 * fences (DMA_BUF_IOCTL_SYNC).
 */
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/pci-p2pdma.h>
#include <linux/slab.h>
#include <linux/swiotlb.h>

#include <drm/drm_prime.h>

#include "t3_bo.h"
#include "t3_device.h"

#define T3_PRIME_STEP SZ_1G /* bytes of one table entry: below 4 GiB */

static struct t3_bo *t3_dmabuf_bo(const struct dma_buf *dmabuf)
{
	return to_t3_bo(dmabuf->priv);
}

/* --------------------------------------------------------------------- attach */

static int t3_dmabuf_check_importer(const struct t3_bo *bo, struct dma_buf_attachment *attach)
{
	const struct t3_device *tdev = to_t3_device(bo->base.dev);
	const struct t3_bo *peer = t3_import_of(attach);

	if (peer) {
		const struct t3_device *importer = to_t3_device(peer->base.dev);

		return importer->caps.fabric_id == tdev->caps.fabric_id ? 0 : -EXDEV;
	}
	if (!attach->peer2peer ||
	    pci_p2pdma_distance(to_pci_dev(tdev->drm.dev), attach->dev, false) < 0)
		return -EOPNOTSUPP;
	return 0;
}

static int t3_dmabuf_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct t3_bo *bo = t3_dmabuf_bo(dmabuf);

	return bo->kind == T3_BO_HOST ? 0 : t3_dmabuf_check_importer(bo, attach);
}

/* Buffers never move, so there is nothing to pin. A revoked one has no new importers. */
static int t3_dmabuf_pin(struct dma_buf_attachment *attach)
{
	struct t3_bo *bo = t3_dmabuf_bo(attach->dmabuf);

	dma_resv_assert_held(bo->base.resv);
	return bo->revoked ? -ENODEV : 0;
}

static void t3_dmabuf_unpin(struct dma_buf_attachment *attach)
{
}

/* ------------------------------------------------------------------------ map */

static void t3_memory_unmap(struct sg_table *sgt, struct device *dev,
			    enum dma_data_direction dir)
{
	struct scatterlist *sg;
	u32 i;

	/* DMA length 0: this entry and those after it were not mapped. */
	for_each_sgtable_sg(sgt, sg, i)
		if (sg_dma_len(sg))
			dma_unmap_resource(dev, sg_dma_address(sg), sg_dma_len(sg), dir,
					   T3_DMA_ATTRS);
	sg_free_table(sgt);
	kfree(sgt);
}

static int t3_memory_map_entry(struct scatterlist *sg, struct device *dev, phys_addr_t start,
			       u32 length, enum dma_data_direction dir)
{
	dma_addr_t address = dma_map_resource(dev, start, length, dir, T3_DMA_ATTRS);

	/* Since dma_map_phys() (6.18), a kernel that bounces all DMA maps no memory on the bus. */
	if (dma_mapping_error(dev, address))
		return is_swiotlb_force_bounce(dev) ? -EOPNOTSUPP : -ENOMEM;
	/* There is no struct page: importers must not use it. */
	sg_set_page(sg, NULL, length, 0);
	sg_dma_address(sg) = address;
	sg_dma_len(sg) = length;
	return 0;
}

static struct sg_table *t3_memory_map(struct t3_bo *bo, struct device *dev,
				      enum dma_data_direction dir)
{
	phys_addr_t start = to_t3_device(bo->base.dev)->memory_base + bo->chunk.start;
	u64 step = min(dma_get_max_seg_size(dev) & PAGE_MASK, T3_PRIME_STEP), done = 0;
	struct scatterlist *sg;
	struct sg_table *sgt;
	int ret;
	u32 i;

	sgt = kzalloc_obj(*sgt, GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, DIV_ROUND_UP_ULL(bo->base.size, step), GFP_KERNEL);
	if (ret) {
		kfree(sgt);
		return ERR_PTR(ret);
	}
	for_each_sgtable_sg(sgt, sg, i) {
		ret = t3_memory_map_entry(sg, dev, start + done, min(bo->base.size - done, step),
					  dir);
		if (ret) {
			t3_memory_unmap(sgt, dev, dir);
			return ERR_PTR(ret);
		}
		done += step;
	}
	return sgt;
}

static struct sg_table *t3_dmabuf_map(struct dma_buf_attachment *attach,
				      enum dma_data_direction dir)
{
	struct t3_bo *bo = t3_dmabuf_bo(attach->dmabuf);

	dma_resv_assert_held(bo->base.resv);
	if (bo->revoked)
		return ERR_PTR(-ENODEV);
	return bo->kind == T3_BO_HOST ? t3_pages_map(bo, attach->dev, dir) :
					t3_memory_map(bo, attach->dev, dir);
}

static void t3_dmabuf_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			    enum dma_data_direction dir)
{
	if (t3_dmabuf_bo(attach->dmabuf)->kind == T3_BO_HOST)
		t3_pages_unmap(sgt, attach->dev, dir);
	else
		t3_memory_unmap(sgt, attach->dev, dir);
}

/* ------------------------------------------------------------------ processor */

static int t3_dmabuf_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	/* Device memory is mapped write-combined: flush the stores of this processor. */
	wmb();
	return 0;
}

static void t3_dmabuf_release(struct dma_buf *dmabuf)
{
	struct t3_bo *bo = t3_dmabuf_bo(dmabuf);
	struct t3_device *tdev = to_t3_device(bo->base.dev);

	mutex_lock(&tdev->bo_lock);
	if (bo->dmabuf == dmabuf)
		bo->dmabuf = NULL;
	mutex_unlock(&tdev->bo_lock);
	drm_gem_dmabuf_release(dmabuf);
}

static const struct dma_buf_ops t3_dmabuf_ops = {
	.attach = t3_dmabuf_attach,
	.pin = t3_dmabuf_pin,
	.unpin = t3_dmabuf_unpin,
	.map_dma_buf = t3_dmabuf_map,
	.unmap_dma_buf = t3_dmabuf_unmap,
	.release = t3_dmabuf_release,
	.end_cpu_access = t3_dmabuf_end_cpu_access,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

/**
 * t3_prime_is_ours() - check whether a dma-buf is an export of this driver
 * @dmabuf: from any exporter
 *
 * Return: true if it is, of whichever device.
 */
bool t3_prime_is_ours(const struct dma_buf *dmabuf)
{
	return dmabuf->ops == &t3_dmabuf_ops;
}

/**
 * t3_prime_export() - export a buffer, for DRM_IOCTL_PRIME_HANDLE_TO_FD
 * @obj: the buffer
 * @flags: of the file
 *
 * Context: process context; takes bo_lock.
 * Return: the dma-buf, or an ERR_PTR() of drm_gem_dmabuf_export().
 */
struct dma_buf *t3_prime_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = T3_DRIVER_NAME,
		.owner = THIS_MODULE,
		.ops = &t3_dmabuf_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};
	struct t3_device *tdev = to_t3_device(obj->dev);
	struct dma_buf *dmabuf = drm_gem_dmabuf_export(obj->dev, &info);

	if (!IS_ERR(dmabuf)) {
		mutex_lock(&tdev->bo_lock);
		to_t3_bo(obj)->dmabuf = dmabuf;
		mutex_unlock(&tdev->bo_lock);
	}
	return dmabuf;
}

#ifdef T3_KUNIT
#include "tests/t3_prime_test.c"
#endif
