// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory in contiguous zeroed chunks, and ranges of the aperture.
 *
 * The allocator is drm_mm and not drm_buddy. All chunks are contiguous, which a buddy allocator
 * must round and trim for. The nodes of drm_mm are embedded, so it allocates nothing. 6.12's
 * drm_buddy corrupts its free trees when kmalloc() fails in the middle of a split.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>

#include <drm/drm_managed.h>

#include "t3_device.h"
#include "t3_gate.h"
#include "t3_mem.h"
#include "t3_user.h"

#define T3_CLEAR_STEP SZ_1M /* bytes between two calls of cond_resched() */

static void t3_mem_fini(struct drm_device *drm, void *unused)
{
	struct t3_device *tdev = to_t3_device(drm);

	drm_mm_takedown(&tdev->aperture_mm);
	drm_mm_takedown(&tdev->memory_mm);
}

/**
 * t3_mem_init() - initialise the allocators of memory and aperture
 * @tdev: the device
 *
 * Context: probe.
 * Return: 0 or -ENOMEM.
 */
int t3_mem_init(struct t3_device *tdev)
{
	drm_mm_init(&tdev->memory_mm, 0, tdev->caps.memory_size);
	drm_mm_init(&tdev->aperture_mm, 0, tdev->caps.aperture_size);
	return drmm_add_action_or_reset(&tdev->drm, t3_mem_fini, NULL);
}

/**
 * t3_mem_available() - get the amount of free device memory
 * @tdev: the device
 *
 * Context: process context; takes mem_lock.
 * Return: bytes.
 */
u64 t3_mem_available(struct t3_device *tdev)
{
	u64 used;

	mutex_lock(&tdev->mem_lock);
	used = tdev->memory_used;
	mutex_unlock(&tdev->mem_lock);
	return tdev->caps.memory_size - used;
}

/* Zeroes: an owner may not see what an earlier one wrote. -EAGAIN: the gate is closed. */
static int t3_chunk_clear(struct t3_device *tdev, const struct drm_mm_node *chunk)
{
	u64 done, step;
	int ret;

	for (done = 0; done < chunk->size; done += step) {
		step = min_t(u64, chunk->size - done, T3_CLEAR_STEP);
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = t3_access_try(tdev);
		if (ret)
			return ret;
		memset_io(tdev->memory + chunk->start + done, 0, step);
		t3_access_exit(tdev);
		cond_resched();
	}
	return 0;
}

static int t3_chunk_insert(struct t3_device *tdev, u64 size, struct drm_mm_node *chunk)
{
	int ret;

	mutex_lock(&tdev->mem_lock);
	ret = drm_mm_insert_node(&tdev->memory_mm, chunk, size);
	if (!ret)
		tdev->memory_used += size;
	mutex_unlock(&tdev->mem_lock);
	return ret;
}

/**
 * t3_chunk_alloc() - allocate device memory
 * @tdev: the device
 * @account: charged for it
 * @size: bytes, a multiple of the page size
 * @chunk: zeros; filled
 *
 * The memory is cleared.
 *
 * Context: process context; takes mem_lock and sleeps.
 * Return: 0; -EDQUOT the limit of the user; -ENOSPC no range of the device is free; -EAGAIN the
 *   gate is closed, see t3_access_again(); -EINTR a fatal signal; -ENODEV unplugged.
 */
int t3_chunk_alloc(struct t3_device *tdev, struct t3_account *account, u64 size,
		   struct drm_mm_node *chunk)
{
	int ret;

	ret = t3_account_charge(account, T3_POOL_DEVICE, size);
	if (ret)
		return ret;
	ret = t3_chunk_insert(tdev, size, chunk);
	if (ret) {
		t3_account_uncharge(account, T3_POOL_DEVICE, size);
		return ret;
	}
	ret = t3_chunk_clear(tdev, chunk);
	if (ret)
		t3_chunk_free(tdev, account, chunk);
	return ret;
}

/**
 * t3_chunk_free() - free device memory
 * @tdev: the device
 * @account: the account that was charged
 * @chunk: from t3_chunk_alloc(); one that is not allocated is ignored
 *
 * Context: process context, also below mmap_lock; takes mem_lock.
 */
void t3_chunk_free(struct t3_device *tdev, struct t3_account *account, struct drm_mm_node *chunk)
{
	u64 size = 0;

	mutex_lock(&tdev->mem_lock);
	if (drm_mm_node_allocated(chunk)) {
		size = chunk->size;
		tdev->memory_used -= size;
		drm_mm_remove_node(chunk);
	}
	mutex_unlock(&tdev->mem_lock);
	t3_account_uncharge(account, T3_POOL_DEVICE, size);
}

/**
 * t3_aperture_alloc() - allocate a range of the aperture
 * @tdev: the device
 * @account: charged for it
 * @size: bytes
 * @range: zeros; filled
 *
 * Context: process context; takes mem_lock.
 * Return: 0; -EDQUOT the limit of the user; or -ENOSPC.
 */
int t3_aperture_alloc(struct t3_device *tdev, struct t3_account *account, u64 size,
		      struct drm_mm_node *range)
{
	int ret;

	ret = t3_account_charge(account, T3_POOL_APERTURE, size);
	if (ret)
		return ret;
	mutex_lock(&tdev->mem_lock);
	ret = drm_mm_insert_node(&tdev->aperture_mm, range, size);
	mutex_unlock(&tdev->mem_lock);
	if (ret)
		t3_account_uncharge(account, T3_POOL_APERTURE, size);
	return ret;
}

/**
 * t3_aperture_free() - free a range of the aperture
 * @tdev: the device
 * @account: the account that was charged
 * @range: from t3_aperture_alloc(); one that is not allocated is ignored
 *
 * Context: process context; takes mem_lock.
 */
void t3_aperture_free(struct t3_device *tdev, struct t3_account *account,
		      struct drm_mm_node *range)
{
	u64 size = 0;

	mutex_lock(&tdev->mem_lock);
	if (drm_mm_node_allocated(range)) {
		size = range->size;
		drm_mm_remove_node(range);
	}
	mutex_unlock(&tdev->mem_lock);
	t3_account_uncharge(account, T3_POOL_APERTURE, size);
}

#ifdef T3_KUNIT
#include "tests/t3_mem_test.c"
#endif
