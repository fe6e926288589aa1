// SPDX-License-Identifier: GPL-2.0-only
/*
 * Owners of user namespaces, who pay; clients; the time that jobs of a user may need together.
 */
#include "t3_kunit.h"

/* Owned by a user; made by root for others; made by root without a user for its root. */
static void t3_user_test_payer(struct kunit *test)
{
	struct user_namespace *ns = t3_kunit_zalloc(test, sizeof(*ns));
	kuid_t owner = KUIDT_INIT(1000), caller = KUIDT_INIT(2000), root = KUIDT_INIT(100000);

	ns->owner = owner;
	KUNIT_EXPECT_TRUE(test, uid_eq(t3_user_ns_payer(ns, caller), owner));
	ns->owner = GLOBAL_ROOT_UID;
	KUNIT_EXPECT_TRUE(test, uid_eq(t3_user_ns_payer(ns, caller), caller));
	ns->uid_map.nr_extents = 1;
	ns->uid_map.extent[0] = (struct uid_gid_extent){ .lower_first = 100000, .count = 10 };
	KUNIT_EXPECT_TRUE(test, uid_eq(t3_user_ns_payer(ns, caller), root));
	ns->uid_map.extent[0].lower_first = 0;
	KUNIT_EXPECT_TRUE(test, uid_eq(t3_user_ns_payer(ns, caller), caller));
}

/* All files of a user are one client. The number is free after the last queue or space. */
static void t3_user_test_client(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_account *a = t3_kunit_account(test, tdev, 1000);
	struct t3_account *same = t3_kunit_account(test, tdev, 1000);
	struct t3_account *other = t3_kunit_account(test, tdev, 1001);
	int client = t3_client_get(a->share);

	KUNIT_EXPECT_PTR_EQ(test, a->share, same->share);
	KUNIT_EXPECT_PTR_NE(test, a->share, other->share);
	KUNIT_EXPECT_EQ(test, t3_client_get(same->share), client);
	KUNIT_EXPECT_NE(test, t3_client_get(other->share), client);
	t3_client_put(a->share);
	KUNIT_EXPECT_EQ(test, t3_client_get(same->share), client);
	t3_client_put(a->share);
	t3_client_put(a->share);
	t3_client_put(other->share);
	KUNIT_EXPECT_TRUE(test, ida_is_empty(&tdev->clients));
}

/* One job is always allowed. KUnit's thread has CAP_SYS_RESOURCE, so the rule is asked alone. */
static void t3_user_test_queued(struct kunit *test)
{
	struct t3_device *tdev = t3_kunit_device(test);
	struct t3_account *a = t3_kunit_account(test, tdev, 1000);
	struct t3_account *other = t3_kunit_account(test, tdev, 1001);

	KUNIT_EXPECT_TRUE(test, t3_share_try_queue(a->share, 5000, 100));
	KUNIT_EXPECT_FALSE(test, t3_share_try_queue(a->share, 1, 100));
	KUNIT_EXPECT_TRUE(test, t3_share_try_queue(other->share, 60, 100));
	KUNIT_EXPECT_TRUE(test, t3_share_try_queue(other->share, 40, 100));
	KUNIT_EXPECT_FALSE(test, t3_share_try_queue(other->share, 1, 100));
	t3_share_unqueue(a->share, 5000);
	KUNIT_EXPECT_TRUE(test, t3_share_try_queue(a->share, 1, 100));
	t3_share_unqueue(a->share, 1);
	t3_share_unqueue(other->share, 100);
}

static struct kunit_case t3_user_cases[] = {
	KUNIT_CASE(t3_user_test_payer),
	KUNIT_CASE(t3_user_test_client),
	KUNIT_CASE(t3_user_test_queued),
	{}
};

static struct kunit_suite t3_user_suite = {
	.name = "t3_user",
	.test_cases = t3_user_cases,
};

kunit_test_suite(t3_user_suite);
