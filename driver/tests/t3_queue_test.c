// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of queues by hardware id, and look-ups of handles.
 */
#include "t3_kunit.h"

static struct t3_queue *t3_queue_test_queue(struct kunit *test, struct t3_device *tdev)
{
	struct t3_queue *queue = t3_kunit_zalloc(test, sizeof(*queue));

	queue->tdev = tdev;
	queue->hw_id = ~0u;
	kref_init(&queue->active);
	spin_lock_init(&queue->lock);
	INIT_LIST_HEAD(&queue->in_flight);
	return queue;
}

static int t3_queue_test_publish(struct t3_queue *queue)
{
	int ret;

	mutex_lock(&queue->tdev->ring_lock);
	ret = t3_queue_publish(queue);
	mutex_unlock(&queue->tdev->ring_lock);
	return ret;
}

static void t3_queue_test_withdraw(struct t3_queue *queue)
{
	mutex_lock(&queue->tdev->ring_lock);
	t3_queue_withdraw(queue);
	mutex_unlock(&queue->tdev->ring_lock);
	queue->hw_id = ~0u;
}

static void t3_queue_test_slots(struct kunit *test)
{
	struct t3_queue *queues[T3_KUNIT_QUEUES + 1];
	struct t3_device *tdev = t3_kunit_device(test);
	u32 i;

	for (i = 0; i <= T3_KUNIT_QUEUES; i++)
		queues[i] = t3_queue_test_queue(test, tdev);
	for (i = 0; i < T3_KUNIT_QUEUES; i++) {
		KUNIT_ASSERT_EQ(test, t3_queue_test_publish(queues[i]), 0);
		KUNIT_EXPECT_EQ(test, queues[i]->hw_id, i);
	}
	KUNIT_EXPECT_EQ(test, t3_queue_test_publish(queues[T3_KUNIT_QUEUES]), -ENOSPC);
	KUNIT_EXPECT_EQ(test, queues[T3_KUNIT_QUEUES]->hw_id, ~0u);
	/* A queue that was never published frees no slot. */
	t3_queue_test_withdraw(queues[T3_KUNIT_QUEUES]);
	for (i = 0; i < T3_KUNIT_QUEUES; i++)
		KUNIT_EXPECT_PTR_EQ(test, tdev->queues[i], queues[i]);
	t3_queue_test_withdraw(queues[2]);
	KUNIT_EXPECT_NULL(test, tdev->queues[2]);
	KUNIT_ASSERT_EQ(test, t3_queue_test_publish(queues[T3_KUNIT_QUEUES]), 0);
	KUNIT_EXPECT_EQ(test, queues[T3_KUNIT_QUEUES]->hw_id, 2);
}

static void t3_queue_test_handles(struct kunit *test)
{
	struct t3_queue *queue = t3_queue_test_queue(test, t3_kunit_device(test));
	struct drm_file *file = t3_kunit_zalloc(test, sizeof(*file));
	struct t3_file *tfile = t3_kunit_zalloc(test, sizeof(*tfile));
	u32 handle;

	file->driver_priv = tfile;
	xa_init_flags(&tfile->queues, XA_FLAGS_ALLOC1);
	KUNIT_ASSERT_EQ(test, xa_alloc(&tfile->queues, &handle, queue, xa_limit_31b, GFP_KERNEL),
			0);
	KUNIT_EXPECT_NE(test, handle, 0);
	KUNIT_EXPECT_NULL(test, t3_queue_lookup(file, 0));
	KUNIT_EXPECT_NULL(test, t3_queue_lookup(file, handle + 1));
	KUNIT_EXPECT_NULL(test, t3_queue_lookup(file, ~0u));
	KUNIT_EXPECT_PTR_EQ(test, t3_queue_lookup(file, handle), queue);
	KUNIT_EXPECT_EQ(test, kref_read(&queue->active), 2);
	xa_destroy(&tfile->queues);
}

/* All published queues are marked, and keep their slots. */
static void t3_queue_test_mark_lost(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_queue *queue = t3_queue_test_queue(test, tdev);
	struct t3_queue *unknown = t3_queue_test_queue(test, tdev);

	KUNIT_ASSERT_EQ(test, t3_queue_test_publish(queue), 0);
	mutex_lock(&tdev->admin_lock);
	t3_queues_mark_lost(tdev);
	mutex_unlock(&tdev->admin_lock);
	KUNIT_EXPECT_TRUE(test, queue->lost);
	KUNIT_EXPECT_FALSE(test, unknown->lost);
	KUNIT_EXPECT_PTR_EQ(test, tdev->queues[0], queue);
}

static struct kunit_case t3_queue_cases[] = {
	KUNIT_CASE(t3_queue_test_slots),
	KUNIT_CASE(t3_queue_test_handles),
	KUNIT_CASE(t3_queue_test_mark_lost),
	{}
};

static struct kunit_suite t3_queue_suite = {
	.name = "t3_queue",
	.test_cases = t3_queue_cases,
};

kunit_test_suite(t3_queue_suite);
