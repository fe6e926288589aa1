// SPDX-License-Identifier: GPL-2.0-only
/*
 * The waits that look for a fence, by syncobj. A change of a syncobj wakes the waits for this one
 * alone. So a submission never pays for the waits of users who do not share its syncobjs. Wait
 * queues that are chosen by a hash would not ensure that: one user can have waits in all of them.
 */
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "t3_compat.h"
#include "t3_syncobj.h"

static const struct rhashtable_params t3_waiters_params = {
	.key_len = sizeof(struct drm_syncobj *),
	.key_offset = offsetof(struct t3_syncobj_waiters, obj),
	.head_offset = offsetof(struct t3_syncobj_waiters, node),
	.automatic_shrinking = true,
};

/* One for all devices: they share syncobjs. */
static struct rhashtable t3_waiters;

/*
 * Writers of t3_waiters, and the counts. A spinlock, because a mutex would have a queue as long as
 * the number of threads.
 */
static DEFINE_SPINLOCK(t3_waiters_lock);

/**
 * t3_syncobj_waiters_get() - get the waits for a syncobj
 * @obj: the caller holds a reference until it puts the result
 *
 * Context: process context; sleeps.
 * Return: with a reference; or NULL: no memory.
 */
struct t3_syncobj_waiters *t3_syncobj_waiters_get(struct drm_syncobj *obj)
{
	struct t3_syncobj_waiters *fresh = kzalloc_obj(*fresh, GFP_KERNEL_ACCOUNT), *waiters;

	if (!fresh)
		return NULL;
	fresh->obj = obj;
	init_waitqueue_head(&fresh->queue);
	spin_lock(&t3_waiters_lock);
	waiters = rhashtable_lookup_get_insert_fast(&t3_waiters, &fresh->node, t3_waiters_params);
	if (!waiters)
		swap(waiters, fresh);
	if (IS_ERR(waiters))
		waiters = NULL;
	else
		waiters->count++;
	spin_unlock(&t3_waiters_lock);
	kfree(fresh);
	return waiters;
}

/**
 * t3_syncobj_waiters_put() - put the waits for a syncobj
 * @waiters: from t3_syncobj_waiters_get(), or NULL; the caller is not in the queue any more
 *
 * Context: process context.
 */
void t3_syncobj_waiters_put(struct t3_syncobj_waiters *waiters)
{
	bool last;

	if (!waiters)
		return;
	spin_lock(&t3_waiters_lock);
	last = !--waiters->count;
	if (last)
		rhashtable_remove_fast(&t3_waiters, &waiters->node, t3_waiters_params);
	spin_unlock(&t3_waiters_lock);
	if (last)
		kfree_rcu(waiters, rcu);
}

/**
 * t3_syncobj_notify() - wake the waits that look for a fence of a syncobj
 * @obj: may have got a fence
 *
 * Other users may hold up a caller that holds locks, as @obj may be shared with them.
 *
 * Context: process context; without locks.
 */
void t3_syncobj_notify(struct drm_syncobj *obj)
{
	struct t3_syncobj_waiters *waiters;

	/*
	 * The fence before the table. A wait joins before it looks for the fence. So either it
	 * finds the fence or it is found here.
	 */
	smp_mb();
	rcu_read_lock();
	waiters = rhashtable_lookup(&t3_waiters, &obj, t3_waiters_params);
	if (waiters)
		wake_up_all(&waiters->queue);
	rcu_read_unlock();
}

/**
 * t3_syncobj_module_init() - make the table of waits
 *
 * Return: 0 or -ENOMEM.
 */
int t3_syncobj_module_init(void)
{
	return rhashtable_init(&t3_waiters, &t3_waiters_params);
}

/**
 * t3_syncobj_module_exit() - free the table of waits
 *
 * No file is open, so nobody waits.
 */
void t3_syncobj_module_exit(void)
{
	rhashtable_destroy(&t3_waiters);
}
