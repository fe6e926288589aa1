/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Users, what they have of each device, and the part of it that an open file has: see t3_user.c and
 * t3_account.c.
 */
#ifndef T3_USER_H
#define T3_USER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct t3_device;

/* Limited resources. All but the machine's memory is of one device. */
enum t3_pool {
	T3_POOL_DEVICE, /* bytes of device memory */
	T3_POOL_HOST, /* bytes of the machine's memory, over all devices */
	T3_POOL_APERTURE, /* bytes */
	T3_POOL_QUEUES, /* this and those that follow: in pieces */
	T3_POOL_SPACES,
	T3_POOL_SEGMENTS,
	T3_POOL_GROUPS,
	T3_POOL_COUNT
};

/* A user of the machine. All under t3_users_lock. */
struct t3_user {
	struct list_head node;
	kuid_t uid;
	u32 refs;
	u64 host; /* T3_POOL_HOST */
};

/* A user's part of one device. */
struct t3_share {
	struct list_head node; /* t3_device.shares; t3_users_lock, with the next ones */
	u32 refs;
	u64 used[T3_POOL_COUNT]; /* HOST: 0, the user has it */
	struct t3_user *user; /* constant: holds a reference */
	struct t3_device *tdev; /* constant */
	atomic64_t queued_ns; /* estimated time of the engine for the jobs that are not over */
	struct mutex client_lock; /* client, client_users */
	int client; /* its number in the device, while client_users is not 0 */
	u32 client_users; /* queues and spaces */
};

/* An open file's part of its user's. */
struct t3_account {
	struct kref ref;
	struct t3_share *share; /* constant: holds a reference; of the user who opened the file */
	u64 used[T3_POOL_COUNT]; /* t3_users_lock */
};

extern spinlock_t t3_users_lock; /* innermost */

/* t3_user.c */
kuid_t t3_user_payer(void);
struct t3_share *t3_share_get(struct t3_device *tdev, kuid_t uid);
void t3_share_put(struct t3_share *share);
int t3_client_get(struct t3_share *share);
void t3_client_put(struct t3_share *share);
int t3_share_queue(struct t3_share *share, u64 ns);
void t3_share_unqueue(struct t3_share *share, u64 ns);

/* t3_account.c */
struct t3_account *t3_account_new(struct t3_device *tdev, kuid_t uid);
struct t3_account *t3_account_get(struct t3_account *account);
void t3_account_put(struct t3_account *account);
u64 t3_account_limit(struct t3_account *account, enum t3_pool pool);
u64 t3_account_used(struct t3_account *account, enum t3_pool pool);
int t3_account_charge(struct t3_account *account, enum t3_pool pool, u64 amount);
void t3_account_uncharge(struct t3_account *account, enum t3_pool pool, u64 amount);

#endif /* T3_USER_H */
