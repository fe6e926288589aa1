// SPDX-License-Identifier: GPL-2.0-only
/*
 * The three mappings of a space: aperture and doorbell page (registers), and event area (a page of
 * host memory). Each is a GEM object, so that it has an offset in the node's address space and
 * lives as long as it is mapped. It never gets a handle: it cannot be named, shared or exported.
 * Only the file that made the space can map it.
 *
 * fork() duplicates the mappings, as it does the file. The child may store to the space as it may
 * call ioctls on it, and revoking removes its mappings too. VM_DONTCOPY would break programs that
 * set up first and then fork workers. It would protect nothing: a child could map again through the
 * inherited file.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "t3_device.h"
#include "t3_gate.h"
#include "t3_map.h"

#define T3_FAULT_PAGES 16 /* entries inserted by one fault */

struct t3_map {
	struct drm_gem_object base;
	struct mutex lock; /* revoked */
	bool revoked; /* touching it gives SIGBUS */
	phys_addr_t address; /* registers */
	struct page *page; /* the event area; holds a reference */
};

static struct t3_map *to_t3_map(struct drm_gem_object *obj)
{
	return container_of(obj, struct t3_map, base);
}

/**
 * t3_map_insert() - insert the page that faulted and some that follow
 * @vmf: the fault
 * @obj: the object that is mapped
 * @pfn: of the first page of @obj
 *
 * Context: fault handler, between t3_access_enter() and t3_access_exit().
 * Return: VM_FAULT_NOPAGE or an error of vmf_insert_pfn().
 */
vm_fault_t t3_map_insert(struct vm_fault *vmf, struct drm_gem_object *obj, unsigned long pfn)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long address = vmf->address & PAGE_MASK;
	unsigned long pages, i;
	vm_fault_t ret;

	pfn += vmf->pgoff - drm_vma_node_start(&obj->vma_node);
	pages = min_t(unsigned long, (vma->vm_end - address) >> PAGE_SHIFT, T3_FAULT_PAGES);
	ret = vmf_insert_pfn(vma, address, pfn);
	for (i = 1; i < pages && ret == VM_FAULT_NOPAGE; i++)
		if (vmf_insert_pfn(vma, address + i * PAGE_SIZE, pfn + i) != VM_FAULT_NOPAGE)
			break;
	return ret;
}

static vm_fault_t t3_map_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct t3_map *map = to_t3_map(obj);
	struct t3_device *tdev = to_t3_device(obj->dev);
	vm_fault_t ret = VM_FAULT_SIGBUS;

	if (t3_access_enter(tdev))
		return ret;
	/* Under the lock, so that t3_map_revoke() unmaps what is inserted here. */
	mutex_lock(&map->lock);
	if (!map->revoked)
		ret = t3_map_insert(vmf, obj, PHYS_PFN(map->address));
	mutex_unlock(&map->lock);
	t3_access_exit(tdev);
	return ret;
}

/*
 * The event area outlives space and device while it is mapped: it is memory of the driver and says
 * DEAD. A program that polls it must not get SIGBUS instead.
 */
static vm_fault_t t3_map_fault_page(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct page *page = to_t3_map(obj)->page;

	get_page(page);
	vmf->page = page;
	return 0;
}

static int t3_map_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = pgprot_decrypted(pgprot_noncached(vm_get_page_prot(vma->vm_flags)));
	return 0;
}

static int t3_map_mmap_page(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);
	return 0;
}

static void t3_map_free(struct drm_gem_object *obj)
{
	struct t3_map *map = to_t3_map(obj);

	drm_gem_object_release(obj);
	if (map->page)
		put_page(map->page);
	mutex_destroy(&map->lock);
	kfree(map);
}

static const struct vm_operations_struct t3_map_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = t3_map_fault,
};

static const struct vm_operations_struct t3_map_page_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = t3_map_fault_page,
};

static const struct drm_gem_object_funcs t3_map_funcs = {
	.free = t3_map_free,
	.mmap = t3_map_mmap,
	.vm_ops = &t3_map_vm_ops,
};

static const struct drm_gem_object_funcs t3_map_page_funcs = {
	.free = t3_map_free,
	.mmap = t3_map_mmap_page,
	.vm_ops = &t3_map_page_vm_ops,
};

static struct t3_map *t3_map_new(struct t3_device *tdev, u64 size,
				 const struct drm_gem_object_funcs *funcs)
{
	struct t3_map *map;
	int ret;

	map = kzalloc_obj(*map, GFP_KERNEL);
	if (!map)
		return ERR_PTR(-ENOMEM);
	mutex_init(&map->lock);
	map->base.funcs = funcs;
	drm_gem_private_object_init(&tdev->drm, &map->base, size);
	ret = drm_gem_create_mmap_offset(&map->base);
	if (ret) {
		drm_gem_object_put(&map->base);
		return ERR_PTR(ret);
	}
	return map;
}

/**
 * t3_map_create() - make a mapping of registers, uncached
 * @tdev: the device
 * @base: bus address of the first page
 * @size: bytes
 *
 * Return: the mapping, or an ERR_PTR(): -ENOMEM or an error of drm_gem_create_mmap_offset().
 */
struct t3_map *t3_map_create(struct t3_device *tdev, phys_addr_t base, u64 size)
{
	struct t3_map *map = t3_map_new(tdev, size, &t3_map_funcs);

	if (!IS_ERR(map))
		map->address = base;
	return map;
}

/**
 * t3_map_create_page() - make a read-only mapping of a page of memory
 * @tdev: the device
 * @page: the mapping holds a reference
 *
 * Return: as t3_map_create().
 */
struct t3_map *t3_map_create_page(struct t3_device *tdev, struct page *page)
{
	struct t3_map *map = t3_map_new(tdev, PAGE_SIZE, &t3_map_page_funcs);

	if (!IS_ERR(map)) {
		get_page(page);
		map->page = page;
	}
	return map;
}

/**
 * t3_map_allow() - let a file map it
 * @map: the mapping
 * @file: the file that may
 *
 * Return: 0 or -ENOMEM.
 */
int t3_map_allow(struct t3_map *map, struct drm_file *file)
{
	return drm_vma_node_allow(&map->base.vma_node, file);
}

/**
 * t3_map_offset() - get the offset of a mapping in the node
 * @map: the mapping
 *
 * Return: the offset for mmap().
 */
u64 t3_map_offset(struct t3_map *map)
{
	return drm_vma_node_offset_addr(&map->base.vma_node);
}

/**
 * t3_map_revoke() - end a mapping and the right to map it
 * @map: the mapping; the reference of its owner is put
 * @file: from t3_map_allow()
 *
 * Registers are unmapped. The event area stays readable where it is mapped.
 *
 * Context: process context; takes t3_map.lock and sleeps.
 */
void t3_map_revoke(struct t3_map *map, struct drm_file *file)
{
	struct drm_gem_object *obj = &map->base;

	drm_vma_node_revoke(&obj->vma_node, file);
	mutex_lock(&map->lock);
	map->revoked = true;
	mutex_unlock(&map->lock);
	if (!map->page)
		drm_vma_node_unmap(&obj->vma_node, obj->dev->anon_inode->i_mapping);
	drm_gem_object_put(obj);
}
