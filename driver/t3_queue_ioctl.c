// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life of a queue, and T3_QUEUE_CREATE and DESTROY.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_fdinfo.h"
#include "t3_gate.h"
#include "t3_job.h"
#include "t3_queue.h"
#include "t3_refuse.h"
#include "t3_reset.h"
#include "t3_ring.h"
#include "t3_user.h"
#include "t3_watch.h"

/* The end of a queue takes two works: that of its last job, then its own. */
#define T3_CREATE_TRIES 3

static_assert(DRM_T3_QUEUE_PRIORITY_MAX == T3_MAX_PRIORITY);

/* The device does not use the rings any more. */
static void t3_queue_free_rings(struct t3_queue *queue)
{
	lockdep_assert_held(&queue->tdev->ring_lock);
	if (!queue->rings)
		return;
	dma_free_coherent(queue->tdev->drm.dev, sizeof(*queue->rings), queue->rings,
			  queue->rings_dma);
	queue->rings = NULL;
}

static void t3_queue_withdraw(struct t3_queue *queue)
{
	struct t3_device *tdev = queue->tdev;
	unsigned long flags;

	lockdep_assert_held(&tdev->ring_lock);
	/* The slot of a queue that was killed may be another one's by now. */
	if (queue->hw_id == ~0u || tdev->queues[queue->hw_id] != queue)
		return;
	spin_lock_irqsave(&tdev->queue_lock, flags);
	tdev->queues[queue->hw_id] = NULL;
	spin_unlock_irqrestore(&tdev->queue_lock, flags);
}

/* Returns the previous value. */
static bool t3_queue_set_created(struct t3_queue *queue, bool created)
{
	unsigned long flags;
	bool before;

	spin_lock_irqsave(&queue->lock, flags);
	before = queue->created;
	queue->created = created;
	spin_unlock_irqrestore(&queue->lock, flags);
	return before;
}

/* Count the queue, and make its user a client of the device. Nobody else knows the queue yet. */
static int t3_queue_enlist(struct t3_queue *queue, struct t3_account *account)
{
	int ret;

	ret = t3_account_charge(account, T3_POOL_QUEUES, 1);
	if (ret)
		return ret;
	ret = t3_client_get(account->share);
	if (ret < 0) {
		t3_account_uncharge(account, T3_POOL_QUEUES, 1);
		return ret;
	}
	queue->client = ret;
	queue->account = t3_account_get(account);
	queue->counted = true;
	return 0;
}

/* From here on another queue may have the slot, and the user another queue. */
static void t3_queue_release_hw(struct t3_queue *queue)
{
	lockdep_assert_held(&queue->tdev->ring_lock);
	t3_queue_withdraw(queue);
	t3_queue_free_rings(queue);
	if (!queue->counted)
		return;
	queue->counted = false;
	t3_client_put(queue->account->share);
	t3_account_uncharge(queue->account, T3_POOL_QUEUES, 1);
}

/*
 * The queue is idle: all its jobs have been freed. QUEUE_DESTROY fails only if the device is
 * unplugged, or its reset has ended or will end the queue.
 */
static void t3_queue_stop_hw(struct t3_queue *queue)
{
	struct t3_cmd_queue cmd = { .queue = queue->hw_id };
	struct t3_device *tdev = queue->tdev;

	mutex_lock(&tdev->ring_lock);
	/* First, so that a reset does not create the queue again. */
	if (t3_queue_set_created(queue, false))
		t3_admin(tdev, T3_CMD_QUEUE_DESTROY, &cmd, sizeof(cmd));
	t3_queue_release_hw(queue);
	mutex_unlock(&tdev->ring_lock);
}

/*
 * Ends a queue with its jobs. The device ends the descriptor that it has begun, and reads no other
 * one. Jobs that it has not completed fail, and so do those that come. None of this waits for work
 * of others. A reset that is in progress is waited for: until then the device may still write to
 * the buffers of the jobs.
 */
static void t3_queue_kill(struct t3_queue *queue)
{
	struct t3_cmd_queue cmd = { .queue = queue->hw_id };
	struct t3_device *tdev = queue->tdev;

	/* First: nothing is emitted, and neither recovery nor reset begins the jobs again. */
	if (t3_queue_set_created(queue, false) && !t3_hw_lock(tdev)) {
		if (t3_admin_locked(tdev, T3_CMD_QUEUE_DESTROY, &cmd, sizeof(cmd),
				    false) == -ENODEV)
			t3_reset_give_up(tdev);
		t3_hw_unlock(tdev);
	}
	t3_ring_kill(queue);
	mutex_lock(&tdev->ring_lock);
	t3_queue_release_hw(queue);
	mutex_unlock(&tdev->ring_lock);
}

/* Returns a queue of an account that has the number or a higher one, with a reference; or NULL. */
static struct t3_queue *t3_queue_next_of(struct t3_device *tdev, const struct t3_account *account,
					 u32 *id)
{
	struct t3_queue *queue, *found = NULL;

	mutex_lock(&tdev->ring_lock);
	for (; *id < T3_MAX_QUEUES && !found; (*id)++) {
		/* Slots change under ring_lock. A queue without a reference is idle, and ends. */
		queue = tdev->queues[*id];
		if (queue && queue->account == account && kref_get_unless_zero(&queue->active))
			found = queue;
	}
	mutex_unlock(&tdev->ring_lock);
	return found;
}

/**
 * t3_queue_kill_all() - end the queues of a file that was closed for the last time
 * @tdev: the device
 * @account: of the file
 *
 * Queues that QUEUE_DESTROY has left to their jobs end, too. Nobody can submit to them any more, so
 * only holders of fences would wait for the jobs. Their fences get -ECANCELED.
 *
 * Context: the last close; no lock held; sleeps while the gate is closed.
 */
void t3_queue_kill_all(struct t3_device *tdev, const struct t3_account *account)
{
	struct t3_queue *queue;
	u32 id = 0;

	while ((queue = t3_queue_next_of(tdev, account, &id))) {
		t3_queue_kill(queue);
		t3_queue_put(queue);
	}
}

static void t3_queue_stop_work(struct work_struct *work)
{
	struct t3_queue *queue = container_of(work, struct t3_queue, stop_work);
	struct drm_device *drm = &queue->tdev->drm;

	drm_sched_entity_fini(&queue->entity);
	/*
	 * drm_sched_fini() stops its works once. A work that is still running may then start
	 * the other one again. So stop both before.
	 */
	drm_sched_wqueue_stop(&queue->sched);
	drm_sched_fini(&queue->sched);
	t3_queue_stop_hw(queue);
	t3_account_put(queue->account);
	drm_dev_put(drm);
	t3_queue_put_memory(queue);
}

static struct t3_queue *t3_queue_alloc(struct t3_device *tdev, u32 priority)
{
	struct t3_queue *queue;
	int ret;

	queue = kzalloc_obj(*queue, GFP_KERNEL_ACCOUNT);
	if (!queue)
		return ERR_PTR(-ENOMEM);
	kref_init(&queue->active);
	kref_init(&queue->memory);
	queue->tdev = tdev;
	queue->hw_id = ~0u;
	queue->priority = priority;
	INIT_WORK(&queue->stop_work, t3_queue_stop_work);
	INIT_WORK(&queue->recover_work, t3_ring_recover_work);
	mutex_init(&queue->submit_lock);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->in_flight);
	queue->fence_context = dma_fence_context_alloc(1);
	ret = t3_job_init_sched(queue);
	if (ret) {
		t3_queue_put_memory(queue);
		return ERR_PTR(ret);
	}
	drm_dev_get(&tdev->drm);
	return queue;
}

static int t3_queue_publish(struct t3_queue *queue)
{
	struct t3_device *tdev = queue->tdev;
	unsigned long flags;
	int ret = -ENOSPC;
	u32 id;

	lockdep_assert_held(&tdev->ring_lock);
	spin_lock_irqsave(&tdev->queue_lock, flags);
	for (id = 0; id < tdev->caps.max_queues; id++) {
		if (tdev->queues[id])
			continue;
		queue->hw_id = id;
		tdev->queues[id] = queue;
		ret = 0;
		break;
	}
	spin_unlock_irqrestore(&tdev->queue_lock, flags);
	t3_watch_start(tdev);
	return ret;
}

/* Gives the queue its rings, and makes it known to the device. */
static int t3_queue_start(struct t3_queue *queue)
{
	struct t3_device *tdev = queue->tdev;
	struct t3_cmd_queue_create cmd;
	int ret;

	guard(mutex)(&tdev->ring_lock);
	ret = t3_queue_publish(queue);
	if (ret)
		return ret;
	queue->rings = dma_alloc_coherent(tdev->drm.dev, sizeof(*queue->rings), &queue->rings_dma,
					  GFP_KERNEL);
	if (!queue->rings)
		return -ENOMEM;
	cmd = t3_queue_hw_args(queue);
	t3_queue_set_created(queue, true);
	ret = t3_admin(tdev, T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd));
	/* A reset may create the queue as well: -EEXIST, it has; -EIO, one in progress will. */
	if (!ret || ret == -EEXIST || ret == -EIO)
		return 0;
	t3_queue_set_created(queue, false);
	return ret;
}

/**
 * t3_queue_orphan_all() - free the rings of all queues of a device
 * @tdev: the device
 *
 * The device is being removed and was stopped. Queues stay as handles, and for jobs that still wait
 * for others' fences.
 *
 * Context: remove; takes ring_lock.
 */
void t3_queue_orphan_all(struct t3_device *tdev)
{
	u32 id;

	mutex_lock(&tdev->ring_lock);
	for (id = 0; id < T3_MAX_QUEUES; id++)
		/* Stable: slots change under ring_lock. */
		if (tdev->queues[id])
			t3_queue_free_rings(tdev->queues[id]);
	mutex_unlock(&tdev->ring_lock);
}

static const struct t3_rule t3_queue_create_rules[] = {
	T3_ZERO(drm_t3_queue_create, flags),
	T3_ZERO(drm_t3_queue_create, pad),
	T3_RANGE(drm_t3_queue_create, priority, 0, T3_MAX_PRIORITY),
	T3_CAUSE(-EACCES, drm_t3_queue_create, priority, "0 without CAP_SYS_NICE"),
	T3_CAUSE(-EDQUOT, drm_t3_queue_create, queue, "fewer queues: the caller's limit"),
	T3_CAUSE(-ENOSPC, drm_t3_queue_create, queue, "fewer queues or clients of the device"),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_queue_create, queue, "a device with DRM_T3_FEATURE_QUEUES"),
};

static const struct t3_rule t3_queue_destroy_rules[] = {
	T3_ZERO(drm_t3_queue_destroy, flags),
};

static int t3_queue_create(struct drm_file *file, struct drm_t3_queue_create *args)
{
	struct t3_device *tdev = t3_file_device(file);
	struct t3_file *tfile = file->driver_priv;
	struct t3_queue *queue;
	u32 handle;
	int ret, idx;

	/* Around the whole creation, so that remove() finds no queue half made. */
	if (!drm_dev_enter(&tdev->drm, &idx))
		return -ENODEV;
	queue = t3_queue_alloc(tdev, args->priority);
	if (IS_ERR(queue)) {
		ret = PTR_ERR(queue);
		goto err_exit;
	}
	queue->usage = t3_usage_get(tfile->usage);
	ret = t3_queue_enlist(queue, tfile->account);
	if (ret)
		goto err_put;
	ret = t3_queue_start(queue);
	if (ret)
		goto err_put;
	/* The reference passes to the table. Then another thread may destroy the queue. */
	ret = xa_alloc(&tfile->queues, &handle, queue, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_put;
	args->queue = handle;
	drm_dev_exit(idx);
	return 0;

err_put:
	t3_queue_put(queue);
err_exit:
	drm_dev_exit(idx);
	return ret == -EBUSY ? -ENOSPC : ret;
}

/**
 * t3_queue_create_ioctl() - DRM_IOCTL_T3_QUEUE_CREATE
 * @drm: the device
 * @data: &struct drm_t3_queue_create
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_queue_create lists.
 */
int t3_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_queue_create *args = data;
	int ret, tries;

	ret = t3_check(file, args, t3_queue_create_rules);
	if (ret)
		return ret;
	if (!to_t3_device(drm)->caps.max_queues)
		return t3_explain(file, args, -EOPNOTSUPP, t3_queue_create_rules);
	/* A higher priority can keep lower ones from the engine until their jobs time out. */
	if (args->priority && !capable(CAP_SYS_NICE))
		return t3_explain(file, args, -EACCES, t3_queue_create_rules);
	for (tries = 1;; tries++) {
		ret = t3_queue_create(file, args);
		if ((ret != -ENOSPC && ret != -EDQUOT) || tries == T3_CREATE_TRIES)
			return t3_explain(file, args, ret, t3_queue_create_rules);
		flush_workqueue(t3_queue_wq);
	}
}

/**
 * t3_queue_destroy_ioctl() - DRM_IOCTL_T3_QUEUE_DESTROY
 * @drm: the device
 * @data: &struct drm_t3_queue_destroy
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_queue_destroy lists.
 */
int t3_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct t3_file *tfile = file->driver_priv;
	struct drm_t3_queue_destroy *args = data;
	struct t3_queue *queue;
	int ret;

	ret = t3_check(file, args, t3_queue_destroy_rules);
	if (ret)
		return ret;
	queue = xa_erase(&tfile->queues, args->queue);
	if (!queue)
		return t3_refuse(file, args, -ENOENT, queue, "a queue of this open file");
	t3_queue_put(queue);
	return 0;
}

#ifdef T3_KUNIT
#include "tests/t3_queue_test.c"
#endif
