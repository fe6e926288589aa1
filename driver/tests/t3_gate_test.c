// SPDX-License-Identifier: GPL-2.0-only
/*
 * Closing and opening of the gate in orders that the PCI core allows, but that a test
 * machine cannot produce.
 */
#include <linux/delay.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>

#include "t3_kunit.h"
#include "../t3_admin.h"

/* Without vectors and mappings. */
static struct t3_device *t3_gate_test_device(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct inode *inode = t3_kunit_zalloc(test, sizeof(*inode));

	address_space_init_once(&inode->i_data);
	inode->i_mapping = &inode->i_data;
	tdev->drm.anon_inode = inode;
	mutex_lock(&tdev->admin_lock);
	t3_hw_start(tdev);
	mutex_unlock(&tdev->admin_lock);
	writel(T3_ID_VALUE, tdev->regs + T3_REG_ID);
	return tdev;
}

static void t3_gate_test_is_open(struct kunit *test, struct t3_device *tdev, int resets)
{
	KUNIT_EXPECT_FALSE(test, tdev->closed);
	KUNIT_EXPECT_FALSE(test, tdev->reset_in_progress);
	KUNIT_EXPECT_FALSE(test, tdev->unplugged);
	KUNIT_EXPECT_EQ(test, tdev->paused, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&tdev->resets), resets);
	KUNIT_ASSERT_EQ(test, t3_hw_lock(tdev), 0);
	t3_hw_unlock(tdev);
}

/* A reset while the bus recovers opens the gate; the end of the recovery finds it open. */
static void t3_gate_test_nested(struct kunit *test)
{
	struct t3_device *tdev = t3_gate_test_device(test);

	t3_gate_close(tdev, true);
	KUNIT_EXPECT_TRUE(test, tdev->closed);
	KUNIT_EXPECT_EQ(test, tdev->paused, 1);
	t3_gate_close(tdev, true);
	KUNIT_EXPECT_EQ(test, tdev->paused, 1);
	t3_gate_open(tdev);
	t3_gate_test_is_open(test, tdev, 1);
	t3_gate_open(tdev);
	t3_gate_test_is_open(test, tdev, 1);
}

/* A failed recovery does not open the gate; the next one does. */
static void t3_gate_test_twice(struct kunit *test)
{
	struct t3_device *tdev = t3_gate_test_device(test);

	t3_gate_close(tdev, true);
	t3_gate_close(tdev, true);
	t3_gate_open(tdev);
	t3_gate_test_is_open(test, tdev, 1);
	t3_gate_close(tdev, false);
	t3_gate_open(tdev);
	t3_gate_test_is_open(test, tdev, 1);
}

/* The state is lost if one closer has said so, in whichever order. */
static void t3_gate_test_reset(struct kunit *test)
{
	struct t3_device *tdev = t3_gate_test_device(test);

	t3_gate_close(tdev, true);
	t3_gate_close(tdev, false);
	KUNIT_EXPECT_EQ(test, t3_hw_lock_unless_reset(tdev), -EIO);
	t3_gate_open(tdev);
	t3_gate_test_is_open(test, tdev, 1);
	t3_gate_close(tdev, false);
	t3_gate_close(tdev, true);
	KUNIT_EXPECT_EQ(test, t3_hw_lock_unless_reset(tdev), -EIO);
	t3_gate_open(tdev);
	t3_gate_test_is_open(test, tdev, 2);
}

/* Functions that are called inside drm_dev_enter(), or under a global lock, do not wait. */
static void t3_gate_test_no_wait(struct kunit *test)
{
	static const enum t3_admin_opcode opcodes[] = {
		T3_CMD_QUEUE_CREATE, T3_CMD_QUEUE_DESTROY, T3_CMD_SPACE_CREATE, T3_CMD_SPACE_QUERY,
		T3_CMD_KEY_SET,	     T3_CMD_ROUTE_CLAIM,   T3_CMD_ROUTE_QUERY,
	};
	struct t3_device *tdev = t3_gate_test_device(test);
	u32 words[T3_MAILBOX_SIZE / 4] = {}, i;

	t3_gate_close(tdev, true);
	KUNIT_EXPECT_EQ(test, t3_access_try(tdev), -EAGAIN);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++)
		KUNIT_EXPECT_EQ(test, t3_admin(tdev, opcodes[i], words, sizeof(words)), -EIO);
	t3_gate_open(tdev);
	KUNIT_ASSERT_EQ(test, t3_access_try(tdev), 0);
	t3_access_exit(tdev);
}

struct t3_gate_test_closing {
	struct work_struct work;
	struct t3_device *tdev;
};

static void t3_gate_test_close_work(struct work_struct *work)
{
	t3_gate_close(container_of(work, struct t3_gate_test_closing, work)->tdev, true);
}

/*
 * A fault may wait for memory that is free only after a fence. So while the gate waits for the
 * fault, jobs are not paused and their recovery gets the device.
 */
static void t3_gate_test_fences_go_on(struct kunit *test)
{
	struct t3_gate_test_closing closing = { .tdev = t3_gate_test_device(test) };
	struct t3_device *tdev = closing.tdev;
	bool closed;
	u32 paused;
	int tries;

	INIT_WORK_ONSTACK(&closing.work, t3_gate_test_close_work);
	KUNIT_ASSERT_EQ(test, t3_access_try(tdev), 0);
	schedule_work(&closing.work);
	for (tries = 0; tries < 5000 && !rwsem_is_contended(&tdev->access); tries++)
		usleep_range(1000, 2000);
	KUNIT_EXPECT_TRUE(test, rwsem_is_contended(&tdev->access));
	mutex_lock(&tdev->admin_lock);
	paused = tdev->paused;
	closed = tdev->closed;
	mutex_unlock(&tdev->admin_lock);
	t3_access_exit(tdev);
	flush_work(&closing.work);
	destroy_work_on_stack(&closing.work);
	KUNIT_EXPECT_EQ(test, paused, 0);
	KUNIT_EXPECT_FALSE(test, closed);
	KUNIT_EXPECT_TRUE(test, tdev->closed);
	KUNIT_EXPECT_EQ(test, tdev->paused, 1);
	KUNIT_EXPECT_EQ(test, t3_access_try(tdev), -EAGAIN);
	t3_gate_open(tdev);
	t3_gate_test_is_open(test, tdev, 1);
	KUNIT_ASSERT_EQ(test, t3_access_try(tdev), 0);
	t3_access_exit(tdev);
}

static struct kunit_case t3_gate_cases[] = {
	KUNIT_CASE(t3_gate_test_nested),
	KUNIT_CASE(t3_gate_test_twice),
	KUNIT_CASE(t3_gate_test_reset),
	KUNIT_CASE(t3_gate_test_no_wait),
	KUNIT_CASE(t3_gate_test_fences_go_on),
	{}
};

static struct kunit_suite t3_gate_suite = {
	.name = "t3_gate",
	.test_cases = t3_gate_cases,
};

kunit_test_suite(t3_gate_suite);
