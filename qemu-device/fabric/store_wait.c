/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores that wait for another node. See store_wait.h. */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "fabric/store_wait.h"

/* A store that waits looks again after so long at the latest. */
#define T3_STORE_WAIT_MS 10

void t3_store_wait_init(T3StoreWait *wait)
{
	qemu_mutex_init(&wait->mutex);
	qemu_cond_init(&wait->woken);
}

void t3_store_wait_destroy(T3StoreWait *wait)
{
	qemu_cond_destroy(&wait->woken);
	qemu_mutex_destroy(&wait->mutex);
}

unsigned t3_store_wait_turn(const T3StoreWait *wait)
{
	return qatomic_read(&wait->turn);
}

void t3_store_wait(T3StoreWait *wait, unsigned turn)
{
	qemu_mutex_lock(&wait->mutex);
	if (wait->turn == turn)
		qemu_cond_timedwait(&wait->woken, &wait->mutex, T3_STORE_WAIT_MS);
	qemu_mutex_unlock(&wait->mutex);
}

void t3_store_wait_wake(T3StoreWait *wait)
{
	qemu_mutex_lock(&wait->mutex);
	qatomic_set(&wait->turn, wait->turn + 1);
	qemu_cond_broadcast(&wait->woken);
	qemu_mutex_unlock(&wait->mutex);
}
