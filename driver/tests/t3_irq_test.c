// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of hardware ids, and the interrupt enables of its slots.
 */
#include "t3_kunit.h"
#include "../t3_slot.h"

static bool t3_irq_test_enabled(const struct t3_device *tdev, u32 id)
{
	return readl(tdev->regs + T3_REG_SPACE_ENABLE + 4 * (id / 32)) & BIT(id % 32);
}

static void t3_irq_test_check(struct kunit *test, const struct t3_device *tdev)
{
	u32 id;

	for (id = 0; id < T3_MAX_SPACES; id++)
		KUNIT_ASSERT_EQ(test, t3_irq_test_enabled(tdev, id), !!tdev->slots[id]);
}

static void t3_irq_test_slots(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_space *spaces[T3_KUNIT_SPACES + 1];
	static const u32 freed[] = { 31, 32, 0, T3_KUNIT_SPACES - 1 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(spaces); i++)
		spaces[i] = t3_kunit_space(test, tdev);
	for (i = 0; i < T3_KUNIT_SPACES; i++) {
		KUNIT_ASSERT_EQ(test, t3_slot_publish(spaces[i]), 0);
		KUNIT_EXPECT_EQ(test, spaces[i]->hw_id, i);
		t3_irq_test_check(test, tdev);
	}
	KUNIT_EXPECT_EQ(test, t3_slot_publish(spaces[T3_KUNIT_SPACES]), -ENOSPC);
	for (i = 0; i < ARRAY_SIZE(freed); i++) {
		t3_slot_withdraw(spaces[freed[i]]);
		t3_irq_test_check(test, tdev);
		KUNIT_ASSERT_EQ(test, t3_slot_publish(spaces[T3_KUNIT_SPACES]), 0);
		KUNIT_EXPECT_EQ(test, spaces[T3_KUNIT_SPACES]->hw_id, freed[i]);
		/* A space without a slot must not free the slot of another. */
		t3_slot_withdraw(spaces[freed[i]]);
		KUNIT_EXPECT_PTR_EQ(test, tdev->slots[freed[i]], spaces[T3_KUNIT_SPACES]);
		t3_slot_withdraw(spaces[T3_KUNIT_SPACES]);
		KUNIT_ASSERT_EQ(test, t3_slot_publish(spaces[freed[i]]), 0);
	}
}

/* Only published spaces are marked, and only those of the device. */
static void t3_irq_test_mark_lost(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_space *here = t3_kunit_space(test, tdev);
	struct t3_space *other = t3_kunit_space(test, tdev);

	here->area->state = (u64)T3_SPACE_ARMED << 32 | 7;
	KUNIT_ASSERT_EQ(test, t3_slot_publish(here), 0);
	mutex_lock(&tdev->admin_lock);
	t3_slots_mark_lost(tdev);
	mutex_unlock(&tdev->admin_lock);
	KUNIT_EXPECT_TRUE(test, here->lost);
	KUNIT_EXPECT_EQ(test, here->area->state, (u64)T3_SPACE_DEAD << 32 | 7);
	KUNIT_EXPECT_FALSE(test, other->lost);
	KUNIT_EXPECT_EQ(test, other->area->state, 0);
}

struct t3_irq_test_wait {
	struct wait_queue_entry entry;
	u32 woken;
};

static int t3_irq_test_wake(struct wait_queue_entry *entry, unsigned int mode, int flags, void *key)
{
	container_of(entry, struct t3_irq_test_wait, entry)->woken++;
	return 0;
}

/* Called with interrupts on, it does what a handler does, and leaves them on. */
static void t3_irq_test_poll(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_irq_test_wait waits[3] = {};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(waits); i++) {
		struct t3_space *space = t3_kunit_space(test, tdev);

		KUNIT_ASSERT_EQ(test, t3_slot_publish(space), 0);
		init_waitqueue_func_entry(&waits[i].entry, t3_irq_test_wake);
		add_wait_queue(&space->wait, &waits[i].entry);
	}
	writel(BIT(0), tdev->regs + T3_REG_EVENT_SUMMARY);
	writel(BIT(0) | BIT(2), tdev->regs + T3_REG_SPACE_PENDING);
	mutex_lock(&tdev->admin_lock);
	t3_irq_poll(tdev);
	mutex_unlock(&tdev->admin_lock);
	KUNIT_EXPECT_FALSE(test, irqs_disabled());
	KUNIT_EXPECT_EQ(test, waits[0].woken, 1);
	KUNIT_EXPECT_EQ(test, waits[1].woken, 0);
	KUNIT_EXPECT_EQ(test, waits[2].woken, 1);
}

static struct kunit_case t3_irq_cases[] = {
	KUNIT_CASE(t3_irq_test_slots),
	KUNIT_CASE(t3_irq_test_mark_lost),
	KUNIT_CASE(t3_irq_test_poll),
	{}
};

static struct kunit_suite t3_irq_suite = {
	.name = "t3_irq",
	.test_cases = t3_irq_cases,
};

kunit_test_suite(t3_irq_suite);
