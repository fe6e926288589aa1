/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Buffers: of device memory, of the machine's memory, and imported ones.
 *
 * No buffer ever moves or is evicted, so none is pinned or unpinned: each exists from its
 * creation to its last reference. Its DMA mappings end with the device, though the buffer
 * may live on; see t3_bo_orphan_all().
 */
#ifndef T3_BO_H
#define T3_BO_H

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/scatterlist.h>

#include "t3_device.h"
#include "t3_user.h"

/* Several devices map the same memory, only coherently, so nobody syncs. */
#define T3_DMA_ATTRS DMA_ATTR_SKIP_CPU_SYNC

enum t3_bo_kind {
	T3_BO_DEVICE, /* memory of this device */
	T3_BO_HOST,   /* pages of the machine */
	T3_BO_IMPORT, /* exported by another device */
};

/* One range on the bus, up to the next extent or the end of the buffer. */
struct t3_extent {
	u64 offset; /* in the buffer */
	u64 address;
};

struct t3_bo {
	struct drm_gem_object base;
	enum t3_bo_kind kind;
	struct t3_account *account; /* holds a reference; IMPORT: NULL */
	struct list_head node; /* t3_device.bos; bo_lock */
	struct dma_buf *dmabuf; /* bo_lock: its export, or NULL; no reference */
	bool revoked; /* base.resv: its device is being removed; no new use */

	/* DEVICE */
	struct drm_mm_node chunk; /* start: in device memory */
	bool has_space; /* t3_topology_lock */

	/* HOST, IMPORT: constant, also when the buffer is not mapped any more */
	struct t3_extent *extents;
	u32 extent_count;
	bool mapped; /* bo_lock: for the DMA of its device */
	struct sg_table *sgt; /* while mapped */
	struct page **pages; /* HOST */
	struct dma_buf *source; /* IMPORT: holds a reference */
	struct dma_buf_attachment *attach; /* IMPORT, while mapped */
};

static inline struct t3_bo *to_t3_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct t3_bo, base);
}

static inline struct t3_bo *t3_bo_get(struct t3_bo *bo)
{
	if (bo)
		drm_gem_object_get(&bo->base);
	return bo;
}

static inline void t3_bo_put(struct t3_bo *bo)
{
	if (bo)
		drm_gem_object_put(&bo->base);
}

/* t3_bo.c: common to all kinds */
struct t3_bo *t3_bo_alloc(enum t3_bo_kind kind, const struct drm_gem_object_funcs *funcs);
int t3_bo_init(struct t3_bo *bo, struct t3_device *tdev, u64 size);
void t3_bo_release(struct t3_bo *bo);
void t3_bo_fini(struct t3_bo *bo);
void t3_bo_orphan_all(struct t3_device *tdev);
bool t3_dma_is_coherent(struct device *dev, dma_addr_t address);
bool t3_sgt_is_coherent(struct sg_table *sgt, struct device *dev);
int t3_bo_set_extents(struct t3_bo *bo, struct sg_table *sgt);
u64 t3_bo_run(const struct t3_bo *bo, u64 offset, u64 *address);
struct t3_bo *t3_bo_lookup(struct drm_file *file, u32 handle);
int t3_bo_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int t3_bo_mmap_offset_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

/* t3_bo_device.c */
struct t3_bo *t3_bo_device_new(struct t3_device *tdev, struct t3_account *account, u64 size);

/* t3_bo_host.c */
struct t3_bo *t3_bo_host_new(struct t3_device *tdev, struct t3_account *account, u64 size);
void t3_bo_host_unmap(struct t3_bo *bo);
struct sg_table *t3_pages_map(struct t3_bo *bo, struct device *dev, enum dma_data_direction dir);
void t3_pages_unmap(struct sg_table *sgt, struct device *dev, enum dma_data_direction dir);

/* t3_import.c */
struct t3_bo *t3_import_of(const struct dma_buf_attachment *attach);
void t3_bo_import_unmap(struct t3_bo *bo);
struct drm_gem_object *t3_prime_import(struct drm_device *drm, struct dma_buf *dmabuf);

/* t3_prime.c */
struct dma_buf *t3_prime_export(struct drm_gem_object *obj, int flags);
bool t3_prime_is_ours(const struct dma_buf *dmabuf);

#endif /* T3_BO_H */
