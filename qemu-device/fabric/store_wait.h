/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores of vCPUs that wait for a response of another node. */
#ifndef T3_STORE_WAIT_H
#define T3_STORE_WAIT_H

#include "qemu/thread.h"

typedef struct T3StoreWait {
	QemuMutex mutex;
	QemuCond woken;
	unsigned turn; /* guarded by mutex; read without it */
} T3StoreWait;

void t3_store_wait_init(T3StoreWait *wait);
/* When no vCPU can have the fabric any more. */
void t3_store_wait_destroy(T3StoreWait *wait);

/*
 * The turn is read after t3_port_enter(), before the store looks whether it must wait. The wait comes
 * after t3_port_leave(), and returns when another turn has begun, or after some milliseconds.
 */
unsigned t3_store_wait_turn(const T3StoreWait *wait);
void t3_store_wait(T3StoreWait *wait, unsigned turn);

/* A response may have come: a turn begins. */
void t3_store_wait_wake(T3StoreWait *wait);

#endif /* T3_STORE_WAIT_H */
