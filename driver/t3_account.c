// SPDX-License-Identifier: GPL-2.0
/*
 * What an open file has of memory and other resources, and how much it may have.
 *
 * Memory is charged to the file that asked for it until it is free again. A buffer that is mapped,
 * exported or used by a job counts for its maker, also when its handle or the file is closed. So an
 * account lives as long as anything is charged to it.
 *
 * The same holds for resources of which a device has a finite number: queues, spaces, segments. By
 * default one file may have an eighth of them, so that nobody can take all. Privileged users may
 * have all. Of device memory an unprivileged file may have at most as much as it leaves free.
 *
 * A file with queues or spaces is a client of the device, which serves clients in turn.
 */
#include <linux/capability.h>
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "t3_bo.h"

#define T3_SHARES 8 /* open files that a device must suffice for */

static unsigned int file_memory_mb;
module_param(file_memory_mb, uint, 0644);
MODULE_PARM_DESC(file_memory_mb,
		 "Device memory that one open file may have, in MiB (0: all)");

static unsigned int file_host_mb;
module_param(file_host_mb, uint, 0644);
MODULE_PARM_DESC(file_host_mb,
		 "Memory of the machine that one open file may have in host buffers, in MiB (0: a quarter)");

static unsigned int file_queues = T3_MAX_QUEUES / T3_SHARES;
module_param(file_queues, uint, 0644);
MODULE_PARM_DESC(file_queues,
		 "Queues that one open file may have (8, an eighth of a device's; 0: all). CAP_SYS_RESOURCE may have more.");

static unsigned int file_spaces = T3_MAX_SPACES / T3_SHARES;
module_param(file_spaces, uint, 0644);
MODULE_PARM_DESC(file_spaces,
		 "Spaces that one open file may have (128, an eighth of a device's; 0: all). CAP_SYS_RESOURCE may have more.");

static unsigned int file_segments = T3_MAX_SEGMENTS / T3_SHARES;
module_param(file_segments, uint, 0644);
MODULE_PARM_DESC(file_segments,
		 "Segments that one open file may have mapped (512, an eighth of a device's; 0: all). CAP_SYS_RESOURCE may have more.");

struct t3_account {
	struct kref ref;
	spinlock_t lock; /* used */
	u64 used[T3_POOL_COUNT];
	struct mutex client_lock; /* client, client_users */
	int client; /* its number in the device, while client_users is not 0 */
	u32 client_users; /* queues and spaces */
};

/**
 * t3_account_new() - make an account
 *
 * Return: the account with one reference, or NULL.
 */
struct t3_account *t3_account_new(void)
{
	struct t3_account *account = kzalloc_obj(*account, GFP_KERNEL_ACCOUNT);

	if (!account)
		return NULL;
	kref_init(&account->ref);
	spin_lock_init(&account->lock);
	mutex_init(&account->client_lock);
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
	WARN_ON(account->client_users);
	mutex_destroy(&account->client_lock);
	kfree(account);
}

/**
 * t3_account_put() - put a reference of an account
 * @account: the account, or NULL
 *
 * Context: process context.
 */
void t3_account_put(struct t3_account *account)
{
	if (account)
		kref_put(&account->ref, t3_account_free);
}

static const struct t3_pool_limit {
	unsigned int *value; /* 0: no limit, except for host buffers */
	u32 unit;
} t3_pool_limits[T3_POOL_COUNT] = {
	[T3_POOL_DEVICE] = { &file_memory_mb, SZ_1M },
	[T3_POOL_HOST] = { &file_host_mb, SZ_1M },
	[T3_POOL_QUEUES] = { &file_queues, 1 },
	[T3_POOL_SPACES] = { &file_spaces, 1 },
	[T3_POOL_SEGMENTS] = { &file_segments, 1 },
};

/* A limit that was lowered takes nothing away, and allows nothing more. */
static u64 t3_account_bound(enum t3_pool pool)
{
	u64 value = READ_ONCE(*t3_pool_limits[pool].value);

	if (value)
		return value * t3_pool_limits[pool].unit;
	/* Without a limit the allocation fails when the device is full: -ENOSPC. */
	return pool == T3_POOL_HOST ? (u64)totalram_pages() << PAGE_SHIFT >> 2 : U64_MAX;
}

/* The rule for an unprivileged file when the administrator has set no limit. */
static bool t3_account_leaves_room(u64 used, u64 free)
{
	return READ_ONCE(file_memory_mb) || used <= free || capable(CAP_SYS_RESOURCE);
}

/**
 * t3_account_check_room() - check that an account leaves enough device memory free
 * @account: charged already
 * @free: bytes that are then free
 *
 * Context: process context; mem_lock may be held.
 * Return: 0 or -EDQUOT.
 */
int t3_account_check_room(struct t3_account *account, u64 free)
{
	u64 used = t3_account_used(account, T3_POOL_DEVICE);

	return t3_account_leaves_room(used, free) ? 0 : -EDQUOT;
}

/**
 * t3_account_limit() - get the limit of an account, by what is free now
 * @tdev: the device
 * @account: the account
 * @pool: T3_POOL_DEVICE or T3_POOL_HOST
 *
 * Context: process context; takes mem_lock.
 * Return: bytes, with those that it has.
 */
u64 t3_account_limit(struct t3_device *tdev, struct t3_account *account, enum t3_pool pool)
{
	u64 bound = t3_account_bound(pool), free;

	if (pool == T3_POOL_HOST)
		return bound;
	free = t3_mem_available(tdev);
	if (!t3_account_leaves_room(U64_MAX, free))
		return (t3_account_used(account, pool) + free) / 2;
	return min(bound, tdev->caps.memory_size);
}

/**
 * t3_account_used() - get what an account has
 * @account: the account
 * @pool: of what
 *
 * Return: bytes or pieces.
 */
u64 t3_account_used(struct t3_account *account, enum t3_pool pool)
{
	u64 used;

	spin_lock(&account->lock);
	used = account->used[pool];
	spin_unlock(&account->lock);
	return used;
}

static int t3_account_charge_below(struct t3_account *account, enum t3_pool pool, u64 amount,
				   u64 limit)
{
	int ret = -EDQUOT;

	spin_lock(&account->lock);
	if (amount <= limit && account->used[pool] <= limit - amount) {
		account->used[pool] += amount;
		ret = 0;
	}
	spin_unlock(&account->lock);
	return ret;
}

/* For memory the administrator's limits hold for all users. */
static bool t3_pool_privileged(enum t3_pool pool)
{
	return pool >= T3_POOL_QUEUES && capable(CAP_SYS_RESOURCE);
}

/**
 * t3_account_charge() - charge an account
 * @account: the account
 * @pool: of what
 * @amount: bytes or pieces
 *
 * Context: process context.
 * Return: 0, or -EDQUOT: more than the file may have.
 */
int t3_account_charge(struct t3_account *account, enum t3_pool pool, u64 amount)
{
	int ret = t3_account_charge_below(account, pool, amount, t3_account_bound(pool));

	if (ret && t3_pool_privileged(pool))
		ret = t3_account_charge_below(account, pool, amount, U64_MAX);
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
	spin_lock(&account->lock);
	account->used[pool] -= amount;
	spin_unlock(&account->lock);
}

/* ------------------------------------------------------------------- clients */

/**
 * t3_client_get() - count one more queue or space of a client
 * @tdev: the device
 * @account: of the file that is the client
 *
 * Context: process context; sleeps.
 * Return: the number of the client; -ENOSPC all are in use; or -ENOMEM.
 */
int t3_client_get(struct t3_device *tdev, struct t3_account *account)
{
	int ret;

	mutex_lock(&account->client_lock);
	if (account->client_users)
		ret = account->client;
	else
		ret = ida_alloc_max(&tdev->clients, T3_MAX_CLIENTS - 1, GFP_KERNEL);
	if (ret >= 0) {
		account->client = ret;
		account->client_users++;
	}
	mutex_unlock(&account->client_lock);
	return ret;
}

/**
 * t3_client_put() - count one queue or space less
 * @tdev: the device
 * @account: of the file that is the client
 *
 * Context: process context; sleeps.
 */
void t3_client_put(struct t3_device *tdev, struct t3_account *account)
{
	mutex_lock(&account->client_lock);
	if (!--account->client_users)
		ida_free(&tdev->clients, account->client);
	mutex_unlock(&account->client_lock);
}
