// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules of limits: what a user leaves free, over all his files and, for host buffers, devices.
 */
#include "t3_kunit.h"

/* Returns how many single pieces an unprivileged user gets. */
static u32 t3_account_test_take(struct t3_account *account, enum t3_pool pool)
{
	u32 count = 0;

	while (count <= T3_MAX_SEGMENTS && !t3_account_try_charge(account, pool, 1, false))
		count++;
	return count;
}

/* Of 40 spaces: half, half of the rest, and so on; never all. Another file gives nobody more. */
static void t3_account_test_halves(struct kunit *test)
{
	static const u32 want[] = { 20, 10, 5, 2, 1, 1, 0 };
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_account *accounts[ARRAY_SIZE(want)], *second;
	u32 i;

	BUILD_BUG_ON(T3_KUNIT_SPACES != 40);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		accounts[i] = t3_kunit_account(test, tdev, 1000 + i);
		KUNIT_EXPECT_EQ(test, t3_account_test_take(accounts[i], T3_POOL_SPACES), want[i]);
		second = t3_kunit_account(test, tdev, 1000 + i);
		KUNIT_EXPECT_EQ(test, t3_account_test_take(second, T3_POOL_SPACES), 0);
	}
	for (i = 0; i < ARRAY_SIZE(want); i++)
		t3_account_uncharge(accounts[i], T3_POOL_SPACES, want[i]);
	KUNIT_EXPECT_EQ(test, tdev->charged[T3_POOL_SPACES], 0);
}

/* The privileged may have all that there is, and no more. */
static void t3_account_test_privileged(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_account *root = t3_kunit_account(test, tdev, 0);
	struct t3_account *user = t3_kunit_account(test, tdev, 1000);
	u64 size = tdev->caps.memory_size;

	KUNIT_EXPECT_EQ(test, t3_account_try_charge(user, T3_POOL_DEVICE, size, false), -EDQUOT);
	KUNIT_EXPECT_EQ(test, t3_account_try_charge(user, T3_POOL_DEVICE, size + 1, true),
			-ENOSPC);
	KUNIT_EXPECT_EQ(test, t3_account_try_charge(root, T3_POOL_DEVICE, size, true), 0);
	KUNIT_EXPECT_EQ(test, t3_account_try_charge(user, T3_POOL_DEVICE, 1, false), -ENOSPC);
	t3_account_uncharge(root, T3_POOL_DEVICE, size);
}

/* A number that the administrator sets is the limit, for memory also of the privileged. */
static void t3_account_test_parameters(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_account *account = t3_kunit_account(test, tdev, 1000);
	unsigned int memory = user_memory_mb, queues = user_queues;
	u64 half = SZ_512K;

	tdev->caps.memory_size = SZ_4M;
	user_memory_mb = 1;
	user_queues = 5;
	KUNIT_EXPECT_EQ(test, t3_account_test_take(account, T3_POOL_QUEUES), 5);
	KUNIT_EXPECT_EQ(test, t3_account_try_charge(account, T3_POOL_QUEUES, 1, true), 0);
	KUNIT_EXPECT_EQ(test, t3_account_try_charge(account, T3_POOL_DEVICE, half + 1, false), 0);
	KUNIT_EXPECT_EQ(test, t3_account_try_charge(account, T3_POOL_DEVICE, half, true), -EDQUOT);
	user_memory_mb = memory;
	user_queues = queues;
	t3_account_uncharge(account, T3_POOL_QUEUES, 6);
	t3_account_uncharge(account, T3_POOL_DEVICE, half + 1);
}

/* The machine's memory is one for all devices. */
static void t3_account_test_host(struct kunit *test)
{
	struct t3_account *here = t3_kunit_account(test, t3_kunit_device(test), 1000);
	struct t3_account *there = t3_kunit_account(test, t3_kunit_device(test), 1000);
	u64 room = t3_pool_size(NULL, T3_POOL_HOST) / 2;

	KUNIT_EXPECT_EQ(test, t3_account_try_charge(here, T3_POOL_HOST, room / 2, false), 0);
	KUNIT_EXPECT_EQ(test, t3_account_try_charge(there, T3_POOL_HOST, room / 2 + PAGE_SIZE,
						    false), -EDQUOT);
	KUNIT_EXPECT_EQ(test, t3_account_used(there, T3_POOL_HOST), 0);
	t3_account_uncharge(here, T3_POOL_HOST, room / 2);
}

static struct kunit_case t3_account_cases[] = {
	KUNIT_CASE(t3_account_test_halves),
	KUNIT_CASE(t3_account_test_privileged),
	KUNIT_CASE(t3_account_test_parameters),
	KUNIT_CASE(t3_account_test_host),
	{}
};

static struct kunit_suite t3_account_suite = {
	.name = "t3_account",
	.test_cases = t3_account_cases,
};

kunit_test_suite(t3_account_suite);
