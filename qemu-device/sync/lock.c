/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for a device's lock. */
#include "qemu/osdep.h"
#include "qemu/processor.h"
#include "sync/lock.h"
#ifdef CONFIG_LINUX
#include <linux/membarrier.h>
#include <sys/syscall.h>
#endif

/*
 * For some 50 us, as long as a thread that sleeps needs to wake up and take its turn. So a wait costs
 * at most twice of what is best. Usual stores have lanes and do not wait here. On a host with more
 * threads than processors the owner may have lost its own: with 16 times as many spins, two VMs that
 * ran guest tests beside each other took 1.2 times as long.
 */
#define T3_LOCK_SPINS 1024

/*
 * QEMU's global barrier waits for all processors of the host to have been through the scheduler,
 * which takes 10 to 40 ms on a busy one. Linux interrupts those that run this process instead: some
 * microseconds.
 */
static bool may_interrupt(void)
{
#ifdef CONFIG_LINUX
	static gsize once;

	if (g_once_init_enter(&once))
		g_once_init_leave(&once,
				  1 + !syscall(__NR_membarrier,
					       MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0));
	return once == 2;
#else
	return false;
#endif
}

static void order_all(void)
{
#ifdef CONFIG_LINUX
	if (may_interrupt() && !syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0))
		return;
#endif
	smp_mb_global();
}

void t3_lock_init(T3Lock *lock)
{
	may_interrupt(); /* the first call takes long in a process with several threads */
	lock->held = 0;
	lock->wanted = 0;
	lock->tickets = 0;
	lock->turn = 0;
	qemu_mutex_init(&lock->mutex);
	qemu_cond_init(&lock->released);
}

void t3_lock_destroy(T3Lock *lock)
{
	qemu_cond_destroy(&lock->released);
	qemu_mutex_destroy(&lock->mutex);
}

static bool spin(T3Lock *lock)
{
	int i;

	for (i = 0; i < T3_LOCK_SPINS; i++) {
		cpu_relax();
		if (qatomic_read(&lock->held) || t3_lock_awaited(lock))
			continue;
		if (!qatomic_xchg(&lock->held, 1))
			return true;
	}
	return false;
}

/*
 * The owner may have lost its processor, or make a whole call. Either it sees waiters after it has
 * released the lock, or the global barrier came after its release, and the lock is found free.
 */
static void sleep_for(T3Lock *lock)
{
	unsigned ticket;

	qemu_mutex_lock(&lock->mutex);
	ticket = lock->tickets;
	qatomic_set(&lock->tickets, ticket + 1);
	order_all();
	while (lock->turn != ticket || qatomic_xchg(&lock->held, 1))
		qemu_cond_wait(&lock->released, &lock->mutex);
	qatomic_set(&lock->turn, ticket + 1);
	qemu_mutex_unlock(&lock->mutex);
}

void t3_lock_wait(T3Lock *lock)
{
	qatomic_inc(&lock->wanted);
	if (!spin(lock))
		sleep_for(lock);
	qatomic_dec(&lock->wanted);
}

void t3_lock_wake(T3Lock *lock)
{
	qemu_mutex_lock(&lock->mutex);
	qemu_cond_broadcast(&lock->released);
	qemu_mutex_unlock(&lock->mutex);
}
