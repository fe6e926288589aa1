// SPDX-License-Identifier: GPL-2.0-only
/*
 * References of queues, and what all queues share.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "t3_device.h"
#include "t3_fdinfo.h"
#include "t3_queue.h"

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
