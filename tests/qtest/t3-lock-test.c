/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: the lock that vCPUs take for their stores, with threads and without a machine. */
#include "qemu/osdep.h"
#include "../../qemu-device/sync/lock.c"
#include "t3-test.h"

#define THREADS 4u
#define TURNS	100000u

static T3Lock lock;
static uint64_t count; /* guarded by lock */

static void locks_begin(void)
{
	smp_mb_global_init();
	t3_lock_init(&lock);
	count = 0;
}

static void *count_turns(void *opaque)
{
	uint32_t i;

	for (i = 0; i < TURNS; i++) {
		t3_lock(&lock);
		count++;
		t3_unlock(&lock);
	}
	return NULL;
}

static void *count_one(void *opaque)
{
	t3_lock(&lock);
	count++;
	t3_unlock(&lock);
	return NULL;
}

static void start(QemuThread *thread, void *(*run)(void *))
{
	uint32_t i;

	for (i = 0; i < THREADS; i++)
		qemu_thread_create(&thread[i], "t3-lock", run, NULL, QEMU_THREAD_JOINABLE);
}

static void join(QemuThread *thread)
{
	uint32_t i;

	for (i = 0; i < THREADS; i++)
		qemu_thread_join(&thread[i]);
	g_assert_false(t3_lock_awaited(&lock));
	g_assert_cmpint(lock.held, ==, 0);
	t3_lock_destroy(&lock);
}

/* One at a time: no count is lost. */
static void test_alone(void)
{
	QemuThread thread[THREADS];

	locks_begin();
	start(thread, count_turns);
	join(thread);
	g_assert_cmpuint(count, ==, (uint64_t)THREADS * TURNS);
}

/* The owner makes a long call. All that went to sleep meanwhile are woken, one after the other. */
static void test_sleepers(void)
{
	QemuThread thread[THREADS];

	locks_begin();
	t3_lock(&lock);
	start(thread, count_one);
	while (qatomic_read(&lock.tickets) < THREADS)
		g_usleep(1000);
	g_assert_cmpuint(count, ==, 0);
	t3_unlock(&lock);
	join(thread);
	g_assert_cmpuint(count, ==, THREADS);
	g_assert_cmpuint(lock.turn, ==, THREADS);
}

/* Whoever releases the lock and wants it back stands behind those that sleep. */
static void take_turns(void)
{
	QemuThread thread[THREADS];

	locks_begin();
	t3_lock(&lock);
	start(thread, count_one);
	while (qatomic_read(&lock.tickets) < THREADS)
		g_usleep(100);
	t3_unlock(&lock);
	t3_lock(&lock);
	g_assert_cmpuint(count, ==, THREADS);
	t3_unlock(&lock);
	join(thread);
}

static void test_turns(void)
{
	uint32_t i;

	for (i = 0; i < 100; i++)
		take_turns();
}

void add_lock_tests(void)
{
	qtest_add_func("/t3/lock/alone", test_alone);
	qtest_add_func("/t3/lock/sleepers", test_sleepers);
	qtest_add_func("/t3/lock/turns", test_turns);
}
