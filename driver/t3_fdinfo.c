// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lines of /proc/PID/fdinfo about an open file, by Documentation/gpu/drm-usage-stats.rst.
 *
 * Engines. The device has one engine, which serves at each step the highest priority that has work.
 * So there is one key for each priority, drm-engine-queue-p0 to -p3. It is the time in which at
 * least one queue of the file with that priority had a job in its ring. Jobs that wait for fences
 * are not in a ring. Time in which the engine served other files is not subtracted: the device does
 * not report its time slices.
 *
 * Memory. "vram" is device memory, with the counter tables of the file's spaces. "memory" is the
 * machine's: host buffers and imports. An import is resident with its exporter. Nothing is ever
 * evicted, so all else is resident.
 */
#include <linux/dma-resv.h>
#include <linux/slab.h>

#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "t3_bo.h"
#include "t3_device.h"
#include "t3_fdinfo.h"
#include "t3_space.h"

/* Of the queues of one priority. */
struct t3_busy {
	u32 queues; /* with a job in their ring */
	u64 since_ns; /* when the first of them got a job */
	u64 total_ns; /* busy time before that */
};

/* Lives as long as the file and its queues, which may have jobs after the close. */
struct t3_usage {
	struct kref ref;
	spinlock_t lock; /* busy */
	struct t3_busy busy[T3_MAX_PRIORITY + 1];
};

/**
 * t3_usage_new() - make the usage of a file
 *
 * Return: the usage with one reference, or NULL.
 */
struct t3_usage *t3_usage_new(void)
{
	struct t3_usage *usage = kzalloc_obj(*usage, GFP_KERNEL_ACCOUNT);

	if (!usage)
		return NULL;
	kref_init(&usage->ref);
	spin_lock_init(&usage->lock);
	return usage;
}

/**
 * t3_usage_get() - take a reference
 * @usage: the usage
 *
 * Context: any.
 * Return: @usage.
 */
struct t3_usage *t3_usage_get(struct t3_usage *usage)
{
	kref_get(&usage->ref);
	return usage;
}

static void t3_usage_release(struct kref *ref)
{
	kfree(container_of(ref, struct t3_usage, ref));
}

/**
 * t3_usage_put() - put a reference
 * @usage: the usage, or NULL
 *
 * Context: any.
 */
void t3_usage_put(struct t3_usage *usage)
{
	if (usage)
		kref_put(&usage->ref, t3_usage_release);
}

/**
 * t3_usage_start() - the first job of a queue enters the ring
 * @usage: of its file
 * @priority: of the queue
 *
 * Context: t3_queue.lock is held.
 */
void t3_usage_start(struct t3_usage *usage, u32 priority)
{
	struct t3_busy *busy = &usage->busy[priority];

	spin_lock(&usage->lock);
	if (!busy->queues++)
		busy->since_ns = ktime_get_ns();
	spin_unlock(&usage->lock);
}

/**
 * t3_usage_stop() - the last job of a queue has left the ring
 * @usage: of its file
 * @priority: of the queue
 *
 * Context: t3_queue.lock is held.
 */
void t3_usage_stop(struct t3_usage *usage, u32 priority)
{
	struct t3_busy *busy = &usage->busy[priority];

	spin_lock(&usage->lock);
	if (!--busy->queues)
		busy->total_ns += ktime_get_ns() - busy->since_ns;
	spin_unlock(&usage->lock);
}

static u64 t3_usage_ns(struct t3_usage *usage, u32 priority)
{
	const struct t3_busy *busy = &usage->busy[priority];
	unsigned long flags;
	u64 ns;

	spin_lock_irqsave(&usage->lock, flags);
	ns = busy->total_ns;
	if (busy->queues)
		ns += ktime_get_ns() - busy->since_ns;
	spin_unlock_irqrestore(&usage->lock, flags);
	return ns;
}

/* Beside total and shared. */
#define T3_STATS_PRINTED (DRM_GEM_OBJECT_RESIDENT | DRM_GEM_OBJECT_ACTIVE)

struct t3_stats {
	struct drm_memory_stats vram;
	struct drm_memory_stats memory;
};

static void t3_stats_add(struct drm_memory_stats *stats, struct drm_gem_object *obj)
{
	if (drm_gem_object_is_shared_for_memory_stats(obj))
		stats->shared += obj->size;
	else
		stats->private += obj->size;
	if (to_t3_bo(obj)->kind != T3_BO_IMPORT)
		stats->resident += obj->size;
	if (!dma_resv_test_signaled(obj->resv, dma_resv_usage_rw(true)))
		stats->active += obj->size;
}

static void t3_stats_add_buffers(struct t3_stats *stats, struct drm_file *file)
{
	struct drm_gem_object *obj;
	int handle;

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, handle)
		t3_stats_add(to_t3_bo(obj)->kind == T3_BO_DEVICE ? &stats->vram : &stats->memory,
			     obj);
	spin_unlock(&file->table_lock);
}

static void t3_stats_add_spaces(struct drm_memory_stats *stats, struct drm_file *file)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_space *space;
	unsigned long handle;

	/* A space leaves the table before it is destroyed. */
	xa_lock(&tfile->spaces);
	xa_for_each(&tfile->spaces, handle, space) {
		stats->private += space->counters.size;
		stats->resident += space->counters.size;
	}
	xa_unlock(&tfile->spaces);
}

/**
 * t3_show_fdinfo() - print the usage of a file
 * @printer: of fdinfo
 * @file: the open file
 *
 * Context: process context.
 */
void t3_show_fdinfo(struct drm_printer *printer, struct drm_file *file)
{
	struct t3_file *tfile = file->driver_priv;
	struct t3_stats stats = {};
	u32 i;

	if (t3_file_device(file)->caps.max_queues)
		for (i = 0; i <= T3_MAX_PRIORITY; i++)
			drm_printf(printer, "drm-engine-queue-p%u:\t%llu ns\n", i,
				   t3_usage_ns(tfile->usage, i));
	t3_stats_add_buffers(&stats, file);
	t3_stats_add_spaces(&stats.vram, file);
	drm_print_memory_stats(printer, &stats.vram, T3_STATS_PRINTED, "vram");
	drm_print_memory_stats(printer, &stats.memory, T3_STATS_PRINTED, "memory");
}
