// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many wrong keys a user may show: some at once, and then one each second. So nobody guesses
 * keys in a useful time, and somebody whose keys were revoked soon goes on.
 */
#include <linux/capability.h>
#include <linux/cleanup.h>
#include <linux/hash.h>
#include <linux/ktime.h>

#include "t3_grant.h"
#include "t3_space.h"
#include "t3_user.h"

#define T3_KEY_TRIES   8 /* wrong keys that a user may show at once */
#define T3_KEY_PAUSE   NSEC_PER_SEC /* then one for each */
#define T3_KEY_BUCKETS 256

/*
 * Of a user: t3_topology_lock. Users whose numbers have the same hash share it, so that users
 * without end need no memory. CAP_SYS_RESOURCE has no limit, as with the other limits of users.
 */
struct t3_key_debt {
	u64 forgiven; /* when the last wrong key is */
	u32 asked; /* keys that wait for their answer: each may be wrong */
};

static struct t3_key_debt t3_key_debts[T3_KEY_BUCKETS];

/**
 * t3_key_debt() - find what the calling user owes for wrong keys
 *
 * Return: the debt, which is never freed.
 */
struct t3_key_debt *t3_key_debt(void)
{
	return &t3_key_debts[hash_32(__kuid_val(t3_user_payer()), ilog2(T3_KEY_BUCKETS))];
}

/* Returns as t3_key_may_ask(), for users who have a limit. */
static int t3_key_room(const struct t3_key_debt *debt, u64 now)
{
	u64 limit = now + (T3_KEY_TRIES - 1) * T3_KEY_PAUSE;

	lockdep_assert_held(&t3_topology_lock);
	if (debt->forgiven > limit)
		return -EDQUOT;
	return max(debt->forgiven, now) + debt->asked * T3_KEY_PAUSE > limit;
}

static void t3_key_was_wrong(struct t3_key_debt *debt, u64 now)
{
	lockdep_assert_held(&t3_topology_lock);
	debt->forgiven = min(max(debt->forgiven, now), now + T3_KEY_TRIES * T3_KEY_PAUSE) +
			 T3_KEY_PAUSE;
}

/**
 * t3_key_may_ask() - whether a device may be asked for one more key
 * @debt: of the user
 *
 * Context: t3_topology_lock.
 * Return: 0; 1 while the answers for other keys decide it; or -EDQUOT.
 */
int t3_key_may_ask(const struct t3_key_debt *debt)
{
	int ret = t3_key_room(debt, ktime_get_ns());

	return ret && capable(CAP_SYS_RESOURCE) ? 0 : ret;
}

/**
 * t3_key_asked() - count a key that a device is asked for
 * @debt: of the user
 *
 * Context: t3_topology_lock. Each call is followed by t3_key_settle().
 */
void t3_key_asked(struct t3_key_debt *debt)
{
	lockdep_assert_held(&t3_topology_lock);
	debt->asked++;
}

/**
 * t3_key_settle() - end a key that was asked
 * @debt: of the user
 * @ret: the answer: 0, or why there is no import
 *
 * The key is not wrong if no device has judged it. Nobody knows that of a key whose asker did not
 * wait: otherwise guessers would not.
 *
 * Context: process; takes t3_topology_lock.
 */
void t3_key_settle(struct t3_key_debt *debt, int ret)
{
	guard(mutex)(&t3_topology_lock);
	debt->asked--;
	if (ret && ret != -EHOSTUNREACH && ret != -EDQUOT && ret != -ETIMEDOUT)
		t3_key_was_wrong(debt, ktime_get_ns());
}

#ifdef T3_KUNIT
#include "tests/t3_key_test.c"
#endif
