// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers of device memory.
 */
#include <linux/io.h>
#include <linux/mm.h>

#include "t3_bo.h"
#include "t3_device.h"
#include "t3_gate.h"
#include "t3_map.h"
#include "t3_mem.h"
#include "t3_user.h"

static void t3_bo_device_free(struct drm_gem_object *obj)
{
	struct t3_bo *bo = to_t3_bo(obj);

	t3_bo_release(bo);
	t3_chunk_free(to_t3_device(obj->dev), bo->account, &bo->chunk);
	t3_bo_fini(bo);
}

/* Used for the offset in the node and for a dma-buf. */
static int t3_bo_device_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	/* A private mapping would copy on write, which a PFN mapping cannot. */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot =
		pgprot_decrypted(pgprot_writecombine(vm_get_page_prot(vma->vm_flags)));
	return 0;
}

static vm_fault_t t3_bo_device_fault(struct vm_fault *vmf)
{
	struct drm_gem_object *obj = vmf->vma->vm_private_data;
	struct t3_device *tdev = to_t3_device(obj->dev);
	phys_addr_t base = tdev->memory_base + to_t3_bo(obj)->chunk.start;
	vm_fault_t ret;

	/* No lock: the mapping holds the buffer, and the buffer its memory. */
	if (t3_access_enter(tdev))
		return VM_FAULT_SIGBUS;
	ret = t3_map_insert(vmf, obj, PHYS_PFN(base));
	t3_access_exit(tdev);
	return ret;
}

/*
 * ptrace() and /proc/PID/mem: without a struct page, the core can neither pin the memory nor check
 * the right to write. Spaces' registers have no such function: a load of them may have effects, and
 * a store to an aperture counts.
 */
static int t3_bo_device_access(struct vm_area_struct *vma, unsigned long address, void *bytes,
			       int length, int write)
{
	struct drm_gem_object *obj = vma->vm_private_data;
	struct t3_device *tdev = to_t3_device(obj->dev);
	u64 offset = address - vma->vm_start;
	void __iomem *memory;

	if (write && !(vma->vm_flags & VM_WRITE))
		return -EACCES;
	length = min_t(unsigned long, length, vma->vm_end - address);
	offset += (u64)(vma->vm_pgoff - drm_vma_node_start(&obj->vma_node)) << PAGE_SHIFT;
	if (t3_access_enter(tdev))
		return -EIO;
	memory = tdev->memory + to_t3_bo(obj)->chunk.start + offset;
	if (write)
		memcpy_toio(memory, bytes, length);
	else
		memcpy_fromio(bytes, memory, length);
	t3_access_exit(tdev);
	return length;
}

static const struct vm_operations_struct t3_bo_device_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = t3_bo_device_fault,
	.access = t3_bo_device_access,
};

/* Without vmap: a mapping of the kernel would outlive the device. */
static const struct drm_gem_object_funcs t3_bo_device_funcs = {
	.free = t3_bo_device_free,
	.export = t3_prime_export,
	.mmap = t3_bo_device_mmap,
	.vm_ops = &t3_bo_device_vm_ops,
};

/**
 * t3_bo_device_new() - allocate a buffer of device memory
 * @tdev: the device
 * @account: charged for it
 * @size: bytes, a multiple of the page size
 *
 * Context: inside drm_dev_enter(); sleeps.
 * Return: the buffer with one reference, or an ERR_PTR() with an error of t3_chunk_alloc() or
 *   -ENOMEM.
 */
struct t3_bo *t3_bo_device_new(struct t3_device *tdev, struct t3_account *account, u64 size)
{
	struct t3_bo *bo = t3_bo_alloc(T3_BO_DEVICE, &t3_bo_device_funcs);
	int ret;

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->account = t3_account_get(account);
	ret = t3_bo_init(bo, tdev, size);
	if (!ret)
		ret = t3_chunk_alloc(tdev, account, size, &bo->chunk);
	if (ret) {
		t3_bo_put(bo);
		return ERR_PTR(ret);
	}
	return bo;
}
