/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lock of a device, taken for each store of a vCPU and held for some ten nanoseconds. A mutex
 * of the C library has two atomic operations for that, which are half of the store's cost. This
 * one has none to release it: who waits makes all processors order their memory instead.
 */
#ifndef T3_LOCK_H
#define T3_LOCK_H

#include "qemu/atomic.h"
#include "qemu/sys_membarrier.h"
#include "qemu/thread.h"

typedef struct T3Lock {
	int held;
	int wanted; /* number of those that wait; atomic */
	/* Of those that sleep: each takes a ticket and its turn. Guarded by mutex; read without it. */
	unsigned tickets, turn;
	QemuMutex mutex;
	QemuCond released;
} T3Lock;

void t3_lock_init(T3Lock *lock);
void t3_lock_destroy(T3Lock *lock);

/* lock.c */
void t3_lock_wait(T3Lock *lock);
void t3_lock_wake(T3Lock *lock);

static inline bool t3_lock_awaited(const T3Lock *lock)
{
	return qatomic_read(&lock->tickets) != qatomic_read(&lock->turn);
}

static inline bool t3_lock_wanted(const T3Lock *lock)
{
	return qatomic_read(&lock->wanted);
}

/* No thread overtakes those that sleep: a vCPU that stores without end cannot keep the lock. */
static inline void t3_lock(T3Lock *lock)
{
	if (unlikely(t3_lock_awaited(lock) || qatomic_xchg(&lock->held, 1)))
		t3_lock_wait(lock);
}

static inline void t3_unlock(T3Lock *lock)
{
	qatomic_store_release(&lock->held, 0);
	smp_mb_placeholder(); /* pairs with t3_lock_wait() */
	if (unlikely(t3_lock_awaited(lock)))
		t3_lock_wake(lock);
}

#endif /* T3_LOCK_H */
