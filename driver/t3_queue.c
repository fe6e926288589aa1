// SPDX-License-Identifier: GPL-2.0
/*
 * Life of a queue, and T3_QUEUE_CREATE and DESTROY.
 */
#include <linux/capability.h>
#include <linux/dma-mapping.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "t3_fdinfo.h"
#include "t3_queue.h"
#include "t3_ring.h"

/* The end of a queue takes two works: that of its last job, then its own. */
#define T3_CREATE_TRIES 3

static_assert(DRM_T3_QUEUE_PRIORITY_MAX == T3_MAX_PRIORITY);

/*
 * All work of all queues. It belongs to the module and not to a device, because jobs that wait for
 * others' fences outlive their device. It is unordered: a queue must not wait for another.
 */
struct workqueue_struct *t3_queue_wq;

/**
 * t3_queue_module_init() - make what all queues share
 *
 * Context: module init.
 * Return: 0 or -ENOMEM.
 */
int t3_queue_module_init(void)
{
	t3_queue_wq = alloc_workqueue("t3-queues", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return t3_queue_wq ? 0 : -ENOMEM;
}

/**
 * t3_queue_module_exit() - end t3_queue_module_init()
 *
 * No fence is left, or the module would be in use. RCU may still be freeing the last one.
 *
 * Context: module exit; sleeps.
 */
void t3_queue_module_exit(void)
{
	destroy_workqueue(t3_queue_wq);
	rcu_barrier();
}

static void t3_queue_release_memory(struct kref *ref)
{
	struct t3_queue *queue = container_of(ref, struct t3_queue, memory);

	t3_usage_put(queue->usage);
	mutex_destroy(&queue->submit_lock);
	kfree(queue);
}

/**
 * t3_queue_put_memory() - put a reference of the memory of a queue
 * @queue: the queue
 *
 * Context: any.
 */
void t3_queue_put_memory(struct t3_queue *queue)
{
	kref_put(&queue->memory, t3_queue_release_memory);
}

static void t3_queue_release(struct kref *ref)
{
	struct t3_queue *queue = container_of(ref, struct t3_queue, active);

	queue_work(t3_queue_wq, &queue->stop_work);
}

/**
 * t3_queue_put() - put an active reference of a queue
 * @queue: the queue
 *
 * After the last one a work stops the queue.
 *
 * Context: any.
 */
void t3_queue_put(struct t3_queue *queue)
{
	kref_put(&queue->active, t3_queue_release);
}

/**
 * t3_queue_lookup() - look a queue up
 * @file: whose handle it is
 * @handle: of the queue
 *
 * Context: process context.
 * Return: the queue with an active reference, or NULL.
 */
struct t3_queue *t3_queue_lookup(struct drm_file *file, u32 handle)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_queue *queue;

	xa_lock(&tfile->queues);
	queue = xa_load(&tfile->queues, handle);
	if (queue)
		t3_queue_get(queue);
	xa_unlock(&tfile->queues);
	return queue;
}

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
	if (queue->hw_id == ~0u)
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
	t3_queue_withdraw(queue);
	t3_queue_free_rings(queue);
	mutex_unlock(&tdev->ring_lock);
}

/* Count the queue, and make its file a client of the device. */
static int t3_queue_enlist(struct t3_queue *queue, struct t3_account *account)
{
	int ret;

	ret = t3_account_charge(account, T3_POOL_QUEUES, 1);
	if (ret)
		return ret;
	queue->client = t3_client_get(queue->tdev, account);
	if (queue->client < 0) {
		t3_account_uncharge(account, T3_POOL_QUEUES, 1);
		return queue->client;
	}
	queue->account = t3_account_get(account);
	return 0;
}

static void t3_queue_delist(struct t3_queue *queue)
{
	if (!queue->account)
		return;
	t3_client_put(queue->tdev, queue->account);
	t3_account_uncharge(queue->account, T3_POOL_QUEUES, 1);
	t3_account_put(queue->account);
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
	t3_queue_delist(queue);
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

/**
 * t3_queue_hw_args() - make the arguments of QUEUE_CREATE
 * @queue: with a hardware id and rings
 *
 * Return: the arguments.
 */
struct t3_cmd_queue_create t3_queue_hw_args(const struct t3_queue *queue)
{
	return (struct t3_cmd_queue_create){
		.queue = queue->hw_id,
		.priority = queue->priority,
		.ring = queue->rings_dma + offsetof(struct t3_rings, descriptors),
		.completions = queue->rings_dma + offsetof(struct t3_rings, completions),
		.entries = T3_QUEUE_ENTRIES,
		.client = queue->client,
	};
}

/* A reset may create the queue as well: -EEXIST, it has; -EIO, the reset in progress will. */
static int t3_queue_create_hw(struct t3_queue *queue)
{
	struct t3_cmd_queue_create cmd = t3_queue_hw_args(queue);
	int ret;

	t3_queue_set_created(queue, true);
	ret = t3_admin(queue->tdev, T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd));
	if (!ret || ret == -EEXIST || ret == -EIO)
		return 0;
	t3_queue_set_created(queue, false);
	return ret;
}

static int t3_queue_start_locked(struct t3_queue *queue)
{
	struct device *dev = queue->tdev->drm.dev;
	int ret;

	lockdep_assert_held(&queue->tdev->ring_lock);
	ret = t3_queue_publish(queue);
	if (ret)
		return ret;
	queue->rings = dma_alloc_coherent(dev, sizeof(*queue->rings), &queue->rings_dma,
					  GFP_KERNEL);
	return queue->rings ? t3_queue_create_hw(queue) : -ENOMEM;
}

/* After a failure the caller puts the queue. */
static int t3_queue_start(struct t3_queue *queue)
{
	struct t3_device *tdev = queue->tdev;
	int ret;

	mutex_lock(&tdev->ring_lock);
	ret = t3_queue_start_locked(queue);
	mutex_unlock(&tdev->ring_lock);
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

static int t3_queue_create(struct drm_file *file, struct drm_t3_queue_create *args)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_queue *queue;
	u32 handle;
	int ret;

	queue = t3_queue_alloc(t3_file_device(file), args->priority);
	if (IS_ERR(queue))
		return PTR_ERR(queue);
	queue->usage = t3_usage_get(tfile->usage);
	ret = t3_queue_enlist(queue, tfile->account);
	if (!ret)
		ret = t3_queue_start(queue);
	/* The reference passes to the table. Then another thread may destroy the queue. */
	if (!ret)
		ret = xa_alloc(&tfile->queues, &handle, queue, xa_limit_31b,
			       GFP_KERNEL_ACCOUNT);
	if (ret) {
		t3_queue_put(queue);
		return ret == -EBUSY ? -ENOSPC : ret;
	}
	args->queue = handle;
	return 0;
}

static int t3_queue_try_create(struct drm_file *file, struct drm_t3_queue_create *args)
{
	int ret, idx;

	/* Around the whole creation, so that remove() finds no queue half made. */
	if (!drm_dev_enter(&t3_file_device(file)->drm, &idx))
		return -ENODEV;
	ret = t3_queue_create(file, args);
	drm_dev_exit(idx);
	return ret;
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

	if (args->flags || args->pad || args->priority > T3_MAX_PRIORITY)
		return -EINVAL;
	if (!to_t3_device(drm)->caps.max_queues)
		return -EOPNOTSUPP;
	/* A higher priority can keep lower ones from the engine until their jobs time out. */
	if (args->priority && !capable(CAP_SYS_NICE))
		return -EACCES;
	for (tries = 1; ; tries++) {
		ret = t3_queue_try_create(file, args);
		if ((ret != -ENOSPC && ret != -EDQUOT) || tries == T3_CREATE_TRIES)
			return ret;
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

	if (args->flags)
		return -EINVAL;
	queue = xa_erase(&tfile->queues, args->queue);
	if (!queue)
		return -ENOENT;
	t3_queue_put(queue);
	return 0;
}

#ifdef T3_KUNIT
#include "tests/t3_queue_test.c"
#endif
