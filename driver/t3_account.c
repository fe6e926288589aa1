// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limits of users, and what each open file has.
 *
 * Memory is charged to the user who opened the file that asked for it, until it is free again. A
 * buffer that is mapped, exported or used by a job counts for its maker, also when its handle or
 * the file is closed. So an account lives as long as anything is charged to it. The same holds for
 * resources of which a device has a finite number: queues, spaces, segments, groups.
 *
 * A user without a privilege may have as much of each as he leaves free, unless the administrator
 * sets a number. So a user who is alone may have half of the device, and after n users who take all
 * that they may, one more still finds a part of 2^n. CAP_SYS_RESOURCE may have what there is.
 *
 * Host buffers are of the machine's memory, which is not swapped as long as they exist. All of them
 * together get half of it, to which the same rule applies. Their pages are charged to the memory
 * cgroup of the process, too. RLIMIT_MEMLOCK is not asked: it is meant for memory that a process
 * has otherwise and locks, and its usual value (8 MiB) is less than one job needs.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "t3_device.h"
#include "t3_user.h"

static unsigned int user_memory_mb;
module_param(user_memory_mb, uint, 0644);
MODULE_PARM_DESC(user_memory_mb,
		 "Device memory that one user may have, in MiB (0: as much as the user leaves free)");

static unsigned int user_host_mb;
module_param(user_host_mb, uint, 0644);
MODULE_PARM_DESC(user_host_mb,
		 "Memory of the machine that one user may have in host buffers of all devices, in MiB (0: as much as the user leaves free of half of it)");

static unsigned int user_queues;
module_param(user_queues, uint, 0644);
MODULE_PARM_DESC(user_queues,
		 "Queues of a device that one user may have (0: as much as the user leaves free). CAP_SYS_RESOURCE may have more.");

static unsigned int user_spaces;
module_param(user_spaces, uint, 0644);
MODULE_PARM_DESC(user_spaces,
		 "Spaces of a device that one user may have (0: as much as the user leaves free). CAP_SYS_RESOURCE may have more.");

static unsigned int user_segments;
module_param(user_segments, uint, 0644);
MODULE_PARM_DESC(user_segments,
		 "Segments that one user may have mapped on a device (0: as much as the user leaves free). CAP_SYS_RESOURCE may have more.");

static unsigned int user_groups;
module_param(user_groups, uint, 0644);
MODULE_PARM_DESC(user_groups,
		 "Groups of the switch that one user may have on a device (0: as much as the user leaves free). CAP_SYS_RESOURCE may have more.");

static u64 t3_host_charged; /* t3_users_lock: T3_POOL_HOST of all users */

/**
 * t3_account_new() - make the account of an open file
 * @tdev: the device
 * @uid: of the user who opens it
 *
 * Return: the account with one reference, or NULL.
 */
struct t3_account *t3_account_new(struct t3_device *tdev, kuid_t uid)
{
	struct t3_account *account = kzalloc_obj(*account, GFP_KERNEL_ACCOUNT);

	if (!account)
		return NULL;
	kref_init(&account->ref);
	account->share = t3_share_get(tdev, uid);
	if (!account->share) {
		kfree(account);
		return NULL;
	}
	return account;
}

/**
 * t3_account_get() - take a reference of an account
 * @account: the account
 *
 * Context: any.
 * Return: @account.
 */
struct t3_account *t3_account_get(struct t3_account *account)
{
	kref_get(&account->ref);
	return account;
}

static void t3_account_free(struct kref *ref)
{
	struct t3_account *account = container_of(ref, struct t3_account, ref);
	enum t3_pool pool;

	for (pool = 0; pool < T3_POOL_COUNT; pool++)
		WARN_ON(account->used[pool]);
	t3_share_put(account->share);
	kfree(account);
}

/**
 * t3_account_put() - put a reference of an account
 * @account: the account, or NULL
 *
 * Context: process context, also below mmap_lock.
 */
void t3_account_put(struct t3_account *account)
{
	if (account)
		kref_put(&account->ref, t3_account_free);
}

/* -------------------------------------------------------------------- limits */

static const struct t3_pool_limit {
	unsigned int *value; /* NULL, or 0: what the user leaves free */
	u32 unit;
	bool binds_all; /* an administrator's limit holds for privileged users, too */
} t3_pool_limits[T3_POOL_COUNT] = {
	[T3_POOL_DEVICE] = { &user_memory_mb, SZ_1M, true },
	[T3_POOL_HOST] = { &user_host_mb, SZ_1M, true },
	[T3_POOL_APERTURE] = {},
	[T3_POOL_QUEUES] = { &user_queues, 1 },
	[T3_POOL_SPACES] = { &user_spaces, 1 },
	[T3_POOL_SEGMENTS] = { &user_segments, 1 },
	[T3_POOL_GROUPS] = { &user_groups, 1 },
};

/* The amount for all users together. */
static u64 t3_pool_size(const struct t3_device *tdev, enum t3_pool pool)
{
	switch (pool) {
	case T3_POOL_DEVICE:
		return tdev->caps.memory_size;
	case T3_POOL_HOST:
		return (u64)totalram_pages() << PAGE_SHIFT >> 1;
	case T3_POOL_APERTURE:
		return tdev->caps.aperture_size;
	case T3_POOL_QUEUES:
		return tdev->caps.max_queues;
	case T3_POOL_SPACES:
		return tdev->caps.max_spaces;
	case T3_POOL_GROUPS:
		return T3_PORT_GROUPS;
	default:
		return T3_MAX_SEGMENTS;
	}
}

static u64 t3_pool_free(const struct t3_device *tdev, enum t3_pool pool)
{
	u64 size = t3_pool_size(tdev, pool);
	u64 used = pool == T3_POOL_HOST ? t3_host_charged : tdev->charged[pool];

	lockdep_assert_held(&t3_users_lock);
	return size - min(size, used);
}

static u64 t3_share_used(const struct t3_share *share, enum t3_pool pool)
{
	lockdep_assert_held(&t3_users_lock);
	return pool == T3_POOL_HOST ? share->user->host : share->used[pool];
}

/*
 * How much more a user may have. A limit that was lowered takes nothing away, and allows nothing
 * more. A limit may be above what is free: then the allocation fails with -ENOSPC.
 */
static u64 t3_share_room(const struct t3_share *share, enum t3_pool pool, bool privileged)
{
	const struct t3_pool_limit *limit = &t3_pool_limits[pool];
	u64 value = limit->value ? (u64)READ_ONCE(*limit->value) * limit->unit : 0;
	u64 used = t3_share_used(share, pool), free = t3_pool_free(share->tdev, pool);

	if (value && !(privileged && !limit->binds_all))
		return value - min(value, used);
	if (privileged)
		return free;
	return used < free ? (free - used) / 2 : 0;
}

/* amount: negative to take a charge back */
static void t3_account_add(struct t3_account *account, enum t3_pool pool, s64 amount)
{
	struct t3_share *share = account->share;

	lockdep_assert_held(&t3_users_lock);
	account->used[pool] += amount;
	if (pool == T3_POOL_HOST) {
		share->user->host += amount;
		t3_host_charged += amount;
	} else {
		share->used[pool] += amount;
		share->tdev->charged[pool] += amount;
	}
}

/* -ENOSPC where nobody could have it, as far as the device's own resources go. */
static int t3_account_try_charge(struct t3_account *account, enum t3_pool pool, u64 amount,
				 bool privileged)
{
	const struct t3_share *share = account->share;
	int ret = 0;

	spin_lock(&t3_users_lock);
	if (amount <= t3_share_room(share, pool, privileged))
		t3_account_add(account, pool, amount);
	else if (pool != T3_POOL_HOST && amount > t3_pool_free(share->tdev, pool))
		ret = -ENOSPC;
	else
		ret = -EDQUOT;
	spin_unlock(&t3_users_lock);
	return ret;
}

/**
 * t3_account_charge() - charge an account and its user
 * @account: the account
 * @pool: of what
 * @amount: bytes or pieces
 *
 * Context: process context.
 * Return: 0; -EDQUOT: more than the user may have; -ENOSPC: more than the device has free.
 */
int t3_account_charge(struct t3_account *account, enum t3_pool pool, u64 amount)
{
	int ret = t3_account_try_charge(account, pool, amount, false);

	if (ret == -EDQUOT && capable(CAP_SYS_RESOURCE))
		ret = t3_account_try_charge(account, pool, amount, true);
	return ret;
}

/**
 * t3_account_uncharge() - take back a charge
 * @account: the account
 * @pool: of what
 * @amount: bytes or pieces
 *
 * Context: process context.
 */
void t3_account_uncharge(struct t3_account *account, enum t3_pool pool, u64 amount)
{
	spin_lock(&t3_users_lock);
	t3_account_add(account, pool, -(s64)amount);
	spin_unlock(&t3_users_lock);
}

/**
 * t3_account_limit() - get what a file may have, by what its user has and what is free now
 * @account: the account
 * @pool: T3_POOL_DEVICE or T3_POOL_HOST
 *
 * Context: process context.
 * Return: bytes, with those that it has.
 */
u64 t3_account_limit(struct t3_account *account, enum t3_pool pool)
{
	bool privileged = capable(CAP_SYS_RESOURCE);
	u64 limit;

	spin_lock(&t3_users_lock);
	limit = account->used[pool] + t3_share_room(account->share, pool, privileged);
	spin_unlock(&t3_users_lock);
	return limit;
}

/**
 * t3_account_used() - get what a file has
 * @account: the account
 * @pool: of what
 *
 * Return: bytes or pieces.
 */
u64 t3_account_used(struct t3_account *account, enum t3_pool pool)
{
	u64 used;

	spin_lock(&t3_users_lock);
	used = account->used[pool];
	spin_unlock(&t3_users_lock);
	return used;
}

#ifdef T3_KUNIT
#include "tests/t3_account_test.c"
#endif
