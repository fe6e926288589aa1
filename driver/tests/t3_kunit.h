/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by the KUnit tests: a device and a space that are memory only. Each test file is
 * included by the file that it tests, because the functions there are static, and only
 * where KUnit is built in: see Kbuild.
 */
#ifndef T3_KUNIT_H
#define T3_KUNIT_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/sizes.h>

#include "../t3_bo.h"
#include "../t3_fdinfo.h"
#include "../t3_space.h"

#define T3_KUNIT_MEMORY	 SZ_1M
#define T3_KUNIT_REGS	 SZ_64K
#define T3_KUNIT_SPACES	 40
#define T3_KUNIT_QUEUES	 6
#define T3_KUNIT_SPACE	 SZ_64K
#define T3_KUNIT_RECORDS 512

static inline void *t3_kunit_zalloc(struct kunit *test, size_t size)
{
	void *memory = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

static inline void t3_kunit_watch(struct work_struct *work)
{
}

static inline void t3_kunit_end_watch(void *data)
{
	struct t3_device *tdev = data;

	cancel_delayed_work_sync(&tdev->watch);
}

/* On x86 registers may be memory: readl() and writel() are plain moves. */
static inline struct t3_device *t3_kunit_device(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_zalloc(test, sizeof(*tdev));

	tdev->caps.memory_size = T3_KUNIT_MEMORY;
	tdev->caps.aperture_size = T3_KUNIT_MEMORY;
	tdev->caps.max_spaces = T3_KUNIT_SPACES;
	tdev->caps.max_queues = T3_KUNIT_QUEUES;
	tdev->caps.rank = 1;
	tdev->caps.ranks = 4;
	tdev->regs = (void __iomem __force *)t3_kunit_zalloc(test, T3_KUNIT_REGS);
	tdev->memory = (void __iomem __force *)t3_kunit_zalloc(test, T3_KUNIT_MEMORY);
	INIT_DELAYED_WORK(&tdev->watch, t3_kunit_watch);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, t3_kunit_end_watch, tdev), 0);
	init_rwsem(&tdev->access);
	init_waitqueue_head(&tdev->reopened);
	mutex_init(&tdev->admin_lock);
	mutex_init(&tdev->mem_lock);
	mutex_init(&tdev->ring_lock);
	spin_lock_init(&tdev->slot_lock);
	spin_lock_init(&tdev->queue_lock);
	INIT_LIST_HEAD(&tdev->shares);
	ida_init(&tdev->clients);
	return tdev;
}

static inline void t3_kunit_put_account(void *account)
{
	t3_account_put(account);
}

/* At its end the account warns of all that is still charged to it. */
static inline struct t3_account *t3_kunit_account(struct kunit *test, struct t3_device *tdev,
						  uid_t uid)
{
	struct t3_account *account = t3_account_new(tdev, KUIDT_INIT(uid));

	KUNIT_ASSERT_NOT_NULL(test, account);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, t3_kunit_put_account, account), 0);
	return account;
}

static inline struct t3_space *t3_kunit_space(struct kunit *test, struct t3_device *tdev)
{
	struct t3_space *space = t3_kunit_zalloc(test, sizeof(*space));

	kref_init(&space->ref);
	space->tdev = tdev;
	space->size = T3_KUNIT_SPACE;
	space->counter_count = T3_KUNIT_RECORDS;
	space->generation = 1;
	space->client = -ENOENT;
	space->area = t3_kunit_zalloc(test, sizeof(*space->area));
	init_waitqueue_head(&space->wait);
	spin_lock_init(&space->event_lock);
	INIT_LIST_HEAD(&space->eventfds);
	return space;
}

#endif /* T3_KUNIT_H */
