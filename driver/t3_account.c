// SPDX-License-Identifier: GPL-2.0
/*
 * What an open file has of memory, and how much it may have.
 *
 * Memory is charged to the file that asked for it until it is free again: a buffer that
 * is mapped, exported or used by a job counts for who made it, also when its handle or
 * the file is closed. So an account lives as long as what is charged to it.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "t3_bo.h"

static unsigned int file_memory_mb;
module_param(file_memory_mb, uint, 0644);
MODULE_PARM_DESC(file_memory_mb,
		 "Device memory that one open file may have, in MiB (0: all of it)");

static unsigned int file_host_mb;
module_param(file_host_mb, uint, 0644);
MODULE_PARM_DESC(file_host_mb,
		 "Memory of the machine that one open file may have as host buffers, in MiB (0: a quarter of it)");

struct t3_account {
	struct kref ref;
	spinlock_t lock; /* used */
	u64 used[T3_POOL_COUNT];
};

struct t3_account *t3_account_new(void)
{
	struct t3_account *account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);

	if (!account)
		return NULL;
	kref_init(&account->ref);
	spin_lock_init(&account->lock);
	return account;
}

struct t3_account *t3_account_get(struct t3_account *account)
{
	kref_get(&account->ref);
	return account;
}

static void t3_account_free(struct kref *ref)
{
	struct t3_account *account = container_of(ref, struct t3_account, ref);

	WARN_ON(account->used[T3_POOL_DEVICE] || account->used[T3_POOL_HOST]);
	kfree(account);
}

void t3_account_put(struct t3_account *account)
{
	if (account)
		kref_put(&account->ref, t3_account_free);
}

/* A limit that was lowered takes nothing away, and allows nothing more. */
static u64 t3_account_bound(enum t3_pool pool)
{
	u64 mb = READ_ONCE(*(pool == T3_POOL_HOST ? &file_host_mb : &file_memory_mb));

	if (mb)
		return mb * SZ_1M;
	/* Without a limit it is the device that is full: -ENOSPC. */
	return pool == T3_POOL_HOST ? (u64)totalram_pages() << PAGE_SHIFT >> 2 : U64_MAX;
}

u64 t3_account_limit(const struct t3_device *tdev, enum t3_pool pool)
{
	u64 bound = t3_account_bound(pool);

	return pool == T3_POOL_HOST ? bound : min(bound, tdev->caps.memory_size);
}

u64 t3_account_used(struct t3_account *account, enum t3_pool pool)
{
	u64 used;

	spin_lock(&account->lock);
	used = account->used[pool];
	spin_unlock(&account->lock);
	return used;
}

/* -EDQUOT: more than the file may have. */
int t3_account_charge(struct t3_account *account, enum t3_pool pool, u64 bytes)
{
	u64 limit = t3_account_bound(pool);
	int ret = -EDQUOT;

	spin_lock(&account->lock);
	if (bytes <= limit && account->used[pool] <= limit - bytes) {
		account->used[pool] += bytes;
		ret = 0;
	}
	spin_unlock(&account->lock);
	return ret;
}

void t3_account_uncharge(struct t3_account *account, enum t3_pool pool, u64 bytes)
{
	spin_lock(&account->lock);
	account->used[pool] -= bytes;
	spin_unlock(&account->lock);
}
