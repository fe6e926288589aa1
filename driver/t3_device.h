/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One T3 function: its registers, memory, aperture and spaces.
 *
 * Locks, outermost first. A lock may be taken while locks above it in this list are held,
 * never while one below it is.
 *
 *  t3_topology_lock   mutex, one for all devices: segment tables, grants,
 *                     routes, t3_space.dead and .generation, t3_bo.has_space,
 *                     event areas' DMA mappings. Global, because a grant joins
 *                     spaces of two devices, which could otherwise be locked in
 *                     either order. For configuration only: no store, doorbell,
 *                     wait or quiescing takes it.
 *  t3_device.ring_lock  mutex: whether a queue has its rings; taking and freeing slots of
 *                     queues.
 *  t3_device.bo_lock  mutex: the list of buffers, and which of them are mapped for DMA.
 *                     May be taken below mmap_lock, as mem_lock.
 *  dma_resv           of the buffers of one job.
 *  t3_queue.submit_lock  mutex: jobs enter the queue in the order of their fences.
 *  t3_device.admin_lock  mutex, by t3_hw_lock(): the mailbox, recovery,
 *                     t3_device.unplugged and .closed. Never of two devices at a time. Jobs'
 *                     fences wait for it, so nothing allocates memory under it.
 *  t3_device.access   rwsem, by t3_access_enter(): taken for reading by faults, below
 *                     mmap_lock, and by others that only need the device to answer.
 *                     Faults allocate memory under it, so no job's fence may wait for it.
 *                     Closing the gate waits for them before it pauses jobs. See t3_gate.c.
 *  t3_device.mem_lock mutex: the allocators of memory and aperture. May be taken
 *                     below mmap_lock (munmap puts the last reference of a buffer),
 *                     so no user memory is copied under it.
 *  t3_map.lock        mutex: t3_map.revoked. Taken by faults, below mmap_lock.
 *  t3_device.slot_lock   spinlock, irq: hardware ids to spaces, enable bits,
 *                     t3_space.lost.
 *  t3_space.event_lock   spinlock, irq: its eventfds, and what of it was traced.
 *  t3_device.queue_lock  spinlock, irq: hardware ids to queues.
 *  t3_queue.lock      spinlock, irq: the ring, the jobs in it.
 *  t3_fence.lock      spinlock, irq: of the dma_fence.
 *  t3_usage.lock      spinlock, irq: when queues of a file were busy.
 *  t3_refusals.lock   spinlock: why ioctls of a file were refused.
 *  t3_users_lock      spinlock: users, what they and their files have of what is limited.
 *
 * drm_dev_enter() sections may be entered with any mutex held. Nothing inside one waits for
 * users or for a closed gate: drm_dev_unplug() of any device waits for these sections.
 */
#ifndef T3_DEVICE_H
#define T3_DEVICE_H

#include <linux/idr.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_mm.h>

#include "t3_accel.h"
#include "t3_compat.h"
#include "t3_hw.h"
#include "t3_refuse.h"
#include "t3_user.h"

/*
 * The driver uses words of the mailbox and event area, which are little-endian, without
 * conversion. A state word must be one load.
 */
#if !defined(__LITTLE_ENDIAN) || !defined(CONFIG_64BIT)
#error "t3 is for 64-bit little-endian machines"
#endif

/* Doorbell pages of different owners must be different pages of the processor. */
static_assert(PAGE_SIZE == T3_PAGE_SIZE);

#define T3_ENABLE_WORDS (T3_MAX_SPACES / 32)

struct t3_account;
struct t3_dump;
struct t3_job;
struct t3_queue;
struct t3_refusals;
struct t3_space;
struct t3_usage;

/* Read by probe; constant afterwards. */
struct t3_caps {
	u64 memory_size;
	u64 aperture_size;
	u64 fabric_id;
	u32 version;
	u32 caps;
	u32 rank;
	u32 ranks;
	u32 topology;
	u32 tracker;
	u32 node_ranks;
	u32 max_spaces;
	u32 max_queues; /* 0: the device has none */
};

struct t3_device {
	struct drm_device drm;
	struct t3_caps caps;

	/* Mapped while bound: inside drm_dev_enter(), in interrupts, probe, remove. */
	void __iomem *regs;
	void __iomem *memory;
	phys_addr_t doorbell_base;
	phys_addr_t memory_base;
	phys_addr_t aperture_base;
	u32 vectors;
	u32 error_vector;
	u32 queue_vector;

	/* t3_gate.c */
	struct mutex admin_lock; /* the fields up to paused, and the mailbox */
	bool unplugged; /* removed, or it does not answer: no command runs any more */
	bool closed; /* for a reset or for sleep: no register is used; slot_lock too */
	bool access_closed; /* before closed, and until after it: t3_access_enter() waits */
	bool reset_in_progress; /* closed, and all spaces are lost when it opens again */
	u32 outages; /* resets and closings, through which a job may be late without fault */
	u32 incarnation; /* of the function, after its last start */
	u32 paused; /* not 0: nothing is put into rings; t3_queue.lock too */
	struct rw_semaphore access;
	wait_queue_head_t reopened; /* woken when it is open again, or unplugged */

	struct delayed_work watch;
	bool watch_requested; /* the next look is due even with polling off */
	struct list_head watched; /* t3_watch.c */
	struct delayed_work bus_timeout;
	bool dma_failed; /* an event area may be out of date */
	bool routes_left; /* t3_routes_tidy_all() has something to do */
	struct t3_dump *dump;

	struct mutex mem_lock; /* memory_mm, memory_used, aperture_mm */
	struct drm_mm memory_mm;
	u64 memory_used;
	struct drm_mm aperture_mm;

	struct mutex bo_lock; /* bos; t3_bo.mapped, .dmabuf */
	struct list_head bos;

	spinlock_t slot_lock; /* slots, enable, lost of the spaces in slots */
	struct t3_space *slots[T3_MAX_SPACES];
	u32 enable[T3_ENABLE_WORDS];

	struct mutex ring_lock; /* t3_queue.ring; writers of queues */
	spinlock_t queue_lock; /* queues */
	struct t3_queue *queues[T3_MAX_QUEUES];

	struct ida clients; /* numbers of users with queues or spaces */
	struct list_head shares; /* of users; t3_users_lock, with charged */
	u64 charged[T3_POOL_COUNT]; /* of all users; HOST: 0 */

	/* Counted since probe, for debugfs. */
	atomic_t resets;
	atomic_t queue_recoveries;
	atomic_t job_timeouts;
};

struct t3_file {
	struct xarray spaces; /* handle to struct t3_space; xa_lock guards the lookup */
	struct xarray queues; /* handle to struct t3_queue; likewise */
	struct t3_account *account; /* holds a reference */
	struct t3_usage *usage; /* holds a reference */
	struct t3_refusals *refusals; /* owned */
};

static inline struct t3_device *to_t3_device(struct drm_device *drm)
{
	return container_of(drm, struct t3_device, drm);
}

static inline bool t3_has_switch(const struct t3_device *tdev)
{
	return tdev->caps.topology == T3_TOPOLOGY_SWITCH;
}

static inline struct t3_device *t3_file_device(struct drm_file *file)
{
	return to_t3_device(file->minor->dev);
}

#endif /* T3_DEVICE_H */
