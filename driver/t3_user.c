// SPDX-License-Identifier: GPL-2.0-only
/*
 * Users. Limits and shares are theirs: more open files, processes or user namespaces give nobody
 * more of a device.
 *
 * A file belongs to the user who opened it, whoever uses it later. On each device a user is one
 * client: the device serves clients in turn, and a client's queues in turn.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "t3_device.h"
#include "t3_user.h"

static unsigned int user_queued_ms = 120000;
module_param(user_queued_ms, uint, 0644);
MODULE_PARM_DESC(user_queued_ms,
		 "Engine time of a device that the jobs of one user may need together, by estimate, in ms (120000; 0: no limit). One job is always allowed. CAP_SYS_RESOURCE may have more.");

DEFINE_SPINLOCK(t3_users_lock);
static LIST_HEAD(t3_users); /* t3_users_lock */

/* -------------------------------------------------------------------- payers */

/*
 * A user namespace gives its users numbers of other users, so its owner pays for all of them. Root
 * makes namespaces for others: their own roots pay for these.
 */
static kuid_t t3_user_ns_payer(struct user_namespace *ns, kuid_t payer)
{
	kuid_t root = make_kuid(ns, 0);

	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	return uid_valid(root) && !uid_eq(root, GLOBAL_ROOT_UID) ? root : payer;
}

/**
 * t3_user_payer() - find the user whose limits hold for the caller
 *
 * The outermost user namespace decides.
 *
 * Return: the user's number.
 */
kuid_t t3_user_payer(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t payer = current_euid();

	for (; ns != &init_user_ns; ns = ns->parent)
		payer = t3_user_ns_payer(ns, payer);
	return payer;
}

/* -------------------------------------------------------------------- shares */

static struct t3_user *t3_user_find(kuid_t uid)
{
	struct t3_user *user;

	lockdep_assert_held(&t3_users_lock);
	list_for_each_entry(user, &t3_users, node)
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static struct t3_share *t3_share_find(struct t3_device *tdev, kuid_t uid)
{
	struct t3_share *share;

	lockdep_assert_held(&t3_users_lock);
	list_for_each_entry(share, &tdev->shares, node)
		if (uid_eq(share->user->uid, uid))
			return share;
	return NULL;
}

/**
 * t3_share_get() - get what a user has of a device
 * @tdev: the device
 * @uid: the user
 *
 * Context: process context; sleeps.
 * Return: the share with a reference, or NULL: no memory.
 */
struct t3_share *t3_share_get(struct t3_device *tdev, kuid_t uid)
{
	struct t3_share *share, *new_share = kzalloc_obj(*new_share, GFP_KERNEL_ACCOUNT);
	struct t3_user *new_user = kzalloc_obj(*new_user, GFP_KERNEL_ACCOUNT);

	if (!new_share || !new_user) {
		kfree(new_share);
		kfree(new_user);
		return NULL;
	}
	spin_lock(&t3_users_lock);
	share = t3_share_find(tdev, uid);
	if (!share) {
		share = new_share;
		new_share = NULL;
		mutex_init(&share->client_lock);
		share->tdev = tdev;
		share->user = t3_user_find(uid);
		if (!share->user) {
			share->user = new_user;
			new_user = NULL;
			share->user->uid = uid;
			list_add(&share->user->node, &t3_users);
		}
		share->user->refs++;
		list_add(&share->node, &tdev->shares);
	}
	share->refs++;
	spin_unlock(&t3_users_lock);
	kfree(new_share);
	kfree(new_user);
	return share;
}

/**
 * t3_share_put() - put a reference of a share
 * @share: the share
 *
 * Context: process context, also below mmap_lock.
 */
void t3_share_put(struct t3_share *share)
{
	struct t3_user *user = share->user;
	enum t3_pool pool;

	spin_lock(&t3_users_lock);
	if (--share->refs) {
		spin_unlock(&t3_users_lock);
		return;
	}
	list_del(&share->node);
	if (--user->refs)
		user = NULL;
	else
		list_del(&user->node);
	spin_unlock(&t3_users_lock);
	for (pool = 0; pool < T3_POOL_COUNT; pool++)
		WARN_ON(share->used[pool]);
	WARN_ON(share->client_users || atomic64_read(&share->queued_ns));
	WARN_ON(user && user->host);
	mutex_destroy(&share->client_lock);
	kfree(share);
	kfree(user);
}

/* ------------------------------------------------------------------- clients */

/**
 * t3_client_get() - count one more queue or space of a client
 * @share: of the user, who is the client
 *
 * Context: process context; sleeps.
 * Return: the number of the client; -ENOSPC all are in use; or -ENOMEM.
 */
int t3_client_get(struct t3_share *share)
{
	int ret;

	mutex_lock(&share->client_lock);
	if (share->client_users)
		ret = share->client;
	else
		ret = ida_alloc_max(&share->tdev->clients, T3_MAX_CLIENTS - 1, GFP_KERNEL);
	if (ret >= 0) {
		share->client = ret;
		share->client_users++;
	}
	mutex_unlock(&share->client_lock);
	return ret;
}

/**
 * t3_client_put() - count one queue or space less
 * @share: of the user, who is the client
 *
 * Context: process context; sleeps.
 */
void t3_client_put(struct t3_share *share)
{
	mutex_lock(&share->client_lock);
	if (!--share->client_users)
		ida_free(&share->tdev->clients, share->client);
	mutex_unlock(&share->client_lock);
}

/* --------------------------------------------------------------- queued work */

static bool t3_share_try_queue(struct t3_share *share, u64 ns, u64 limit)
{
	s64 queued = atomic64_read(&share->queued_ns);

	do {
		/* Without this rule nobody could ever run a job that needs more than the limit. */
		if (queued && (u64)queued + ns > limit)
			return false;
	} while (!atomic64_try_cmpxchg(&share->queued_ns, &queued, queued + ns));
	return true;
}

/**
 * t3_share_queue() - count the engine time of a job that is not over
 * @share: of its user
 * @ns: of t3_command_cost(), of all its commands
 *
 * Context: process context.
 * Return: 0, or -EBUSY: the jobs of the user need more than one user may have queued.
 */
int t3_share_queue(struct t3_share *share, u64 ns)
{
	unsigned int limit_ms = READ_ONCE(user_queued_ms);
	u64 limit = limit_ms ? (u64)limit_ms * NSEC_PER_MSEC : S64_MAX;

	if (t3_share_try_queue(share, ns, limit))
		return 0;
	if (capable(CAP_SYS_RESOURCE) && t3_share_try_queue(share, ns, S64_MAX))
		return 0;
	return -EBUSY;
}

/**
 * t3_share_unqueue() - end t3_share_queue()
 * @share: of the user of the job
 * @ns: as before
 *
 * Context: any.
 */
void t3_share_unqueue(struct t3_share *share, u64 ns)
{
	atomic64_sub(ns, &share->queued_ns);
}

#ifdef T3_KUNIT
#include "tests/t3_user_test.c"
#endif
