// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots of grants and routes, the slot that a grant is bound to, and routes that are given up.
 */
#include "t3_kunit.h"

static struct t3_grant *t3_route_test_grant(struct kunit *test, struct t3_space *owner, u32 index)
{
	struct t3_grant *grant = t3_kunit_zalloc(test, sizeof(*grant));

	kref_init(&grant->ref);
	kref_get(&grant->ref); /* kunit frees the memory */
	grant->owner = owner;
	grant->index = index;
	owner->grants[index] = grant;
	return grant;
}

static void t3_route_test_bind(struct t3_space *source, u32 route, struct t3_grant *grant)
{
	source->routes[route] = (struct t3_route){
		.grant = t3_grant_get(grant),
		.handle = t3_space_next_handle(source),
		.peer_rank = grant->owner->tdev->caps.rank,
		.peer_space = grant->owner->hw_id,
		.peer_generation = grant->owner->generation,
		.peer_import = grant->index,
	};
}

static void t3_route_test_handles(struct kunit *test)
{
	struct t3_space *space = t3_kunit_space(test, t3_kunit_device(test));

	mutex_lock(&t3_topology_lock);
	KUNIT_EXPECT_EQ(test, t3_space_next_handle(space), 1);
	space->last_handle = U32_MAX - 1;
	KUNIT_EXPECT_EQ(test, t3_space_next_handle(space), U32_MAX);
	KUNIT_EXPECT_EQ(test, t3_space_next_handle(space), 1); /* never 0 */
	mutex_unlock(&t3_topology_lock);
}

static void t3_route_test_find(struct kunit *test)
{
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_space *owner = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_grant *grant = t3_route_test_grant(test, owner, 4);

	mutex_lock(&t3_topology_lock);
	KUNIT_EXPECT_NULL(test, t3_route_find(source, 0)); /* free entries have handle 0 */
	t3_route_test_bind(source, T3_SPACE_ROUTES - 1, grant);
	KUNIT_EXPECT_PTR_EQ(test, t3_route_find(source, 1), &source->routes[T3_SPACE_ROUTES - 1]);
	KUNIT_EXPECT_NULL(test, t3_route_find(source, 2));
	t3_routes_drop(source);
	KUNIT_EXPECT_NULL(test, t3_route_find(source, 1));
	mutex_unlock(&t3_topology_lock);
	KUNIT_EXPECT_EQ(test, kref_read(&grant->ref), 2);
}

/* A message to the last user of an entry may be under way, so the next grant takes the next one. */
static void t3_route_test_turn(struct kunit *test)
{
	struct t3_space *owner = t3_kunit_space(test, t3_kunit_device(test));
	u32 expected[] = { 0, 1, 31, 0 }, i;

	mutex_lock(&t3_topology_lock);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		struct t3_grant *grant = t3_kunit_zalloc(test, sizeof(*grant));

		kref_init(&grant->ref);
		if (i == 2)
			owner->next_grant = T3_SPACE_IMPORTS - 1;
		KUNIT_EXPECT_EQ(test, t3_grant_attach(grant, owner), 0);
		KUNIT_EXPECT_EQ(test, grant->index, expected[i]);
		owner->grants[grant->index] = NULL; /* revoked */
	}
	mutex_unlock(&t3_topology_lock);
}

/* The route of a revoked grant stays, so a new grant with its index moves to another. */
static void t3_route_test_place(struct kunit *test)
{
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_space *owner = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_grant *old = t3_route_test_grant(test, owner, 0), *new;

	mutex_lock(&t3_topology_lock);
	t3_route_test_bind(source, 0, old);
	owner->grants[0] = NULL; /* revoked */
	new = t3_route_test_grant(test, owner, 0);
	KUNIT_EXPECT_EQ(test, t3_import_place(source, new), 0);
	KUNIT_EXPECT_EQ(test, new->index, 1);
	KUNIT_EXPECT_NULL(test, owner->grants[0]);
	KUNIT_EXPECT_PTR_EQ(test, owner->grants[1], new);
	/* Another generation of the owner has other entries. */
	owner->generation++;
	KUNIT_EXPECT_EQ(test, t3_import_place(source, new), 0);
	KUNIT_EXPECT_EQ(test, new->index, 1);
	t3_routes_drop(source);
	mutex_unlock(&t3_topology_lock);
}

static void t3_route_test_place_full(struct kunit *test)
{
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_space *owner = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_grant *grant;
	u32 i;

	mutex_lock(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		t3_route_test_grant(test, owner, i);
	grant = owner->grants[7];
	KUNIT_EXPECT_EQ(test, t3_import_place(source, grant), 0); /* no route to it: it stays */
	KUNIT_EXPECT_EQ(test, grant->index, 7);
	t3_route_test_bind(source, 0, grant);
	KUNIT_EXPECT_EQ(test, t3_import_place(source, grant), -ENOSPC);
	KUNIT_EXPECT_PTR_EQ(test, owner->grants[7], grant);
	t3_routes_drop(source);
	mutex_unlock(&t3_topology_lock);
}

static void t3_route_test_check(struct kunit *test)
{
	const struct drm_t3_grant_import args = {};
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_space *owner = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_grant *grant = t3_route_test_grant(test, owner, 0);

	/* Both have the same rank. */
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), -EHOSTUNREACH);
	owner->tdev->caps.rank = 2;
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), 0);
	grant->rank_mask = BIT(3); /* the source has rank 1 */
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), -EACCES);
	grant->rank_mask |= BIT(1);
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), 0);
	grant->bound = true;
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), -EBUSY);
	owner->tdev->caps.fabric_id = 9;
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), -EXDEV);
	grant->owner = NULL;
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), -EOWNERDEAD);
	source->dead = true;
	KUNIT_EXPECT_EQ(test, t3_import_check(source, grant, &args), -ENOENT);
}

/* What the device answers to the next commands. */
static void t3_route_test_answer(struct t3_space *space, u32 status)
{
	writel(status, space->tdev->regs + T3_REG_ADMIN_STATUS);
}

static struct t3_route *t3_route_test_pending(struct kunit *test, struct t3_space *source)
{
	struct t3_space *owner = t3_kunit_space(test, t3_kunit_device(test));

	mutex_lock(&t3_topology_lock);
	t3_route_test_bind(source, 0, t3_route_test_grant(test, owner, 0));
	mutex_unlock(&t3_topology_lock);
	source->routes[0].pending = true;
	return &source->routes[0];
}

/* An idle space clears it at once. Then it has no more of the grant than its owner and kunit. */
static void t3_route_test_give_up(struct kunit *test)
{
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_route *route = t3_route_test_pending(test, source);
	struct t3_grant *grant = route->grant;

	mutex_lock(&t3_topology_lock);
	t3_route_test_answer(source, T3_ADMIN_OK);
	t3_route_give_up(source, route);
	KUNIT_EXPECT_PTR_EQ(test, t3_route_free_slot(source), route);
	KUNIT_EXPECT_FALSE(test, t3_routes_tidy(source));
	mutex_unlock(&t3_topology_lock);
	KUNIT_EXPECT_FALSE(test, source->tdev->routes_left);
	KUNIT_EXPECT_EQ(test, kref_read(&grant->ref), 2);
}

/* A space that is armed keeps it: nobody may use its entry until the space is idle again. */
static void t3_route_test_give_up_armed(struct kunit *test)
{
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_route *route = t3_route_test_pending(test, source);
	struct t3_grant *grant = route->grant;

	mutex_lock(&t3_topology_lock);
	t3_route_test_answer(source, T3_ADMIN_BAD_STATE);
	t3_route_give_up(source, route);
	KUNIT_EXPECT_TRUE(test, source->tdev->routes_left);
	KUNIT_EXPECT_PTR_EQ(test, t3_route_free_slot(source), &source->routes[1]);
	KUNIT_EXPECT_NULL(test, t3_route_find(source, route->handle));
	KUNIT_EXPECT_TRUE(test, t3_routes_tidy(source));
	KUNIT_EXPECT_PTR_EQ(test, t3_route_free_slot(source), &source->routes[1]);
	t3_route_test_answer(source, T3_ADMIN_OK);
	KUNIT_EXPECT_FALSE(test, t3_routes_tidy(source));
	KUNIT_EXPECT_PTR_EQ(test, t3_route_free_slot(source), route);
	mutex_unlock(&t3_topology_lock);
	KUNIT_EXPECT_EQ(test, kref_read(&grant->ref), 2);
}

/* The regular look clears it too, but leaves routes that are in use. */
static void t3_route_test_tidy_all(struct kunit *test)
{
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_device *tdev = source->tdev;
	struct t3_route *route = t3_route_test_pending(test, source);

	tdev->slots[3] = source;
	mutex_lock(&t3_topology_lock);
	t3_route_test_bind(source, 1, route->grant);
	t3_route_test_answer(source, T3_ADMIN_BAD_STATE);
	t3_route_give_up(source, route);
	mutex_unlock(&t3_topology_lock);
	tdev->routes_left = false;
	t3_routes_tidy_all(tdev);
	KUNIT_EXPECT_TRUE(test, tdev->routes_left);
	KUNIT_EXPECT_NOT_NULL(test, route->grant);
	tdev->routes_left = false;
	t3_route_test_answer(source, T3_ADMIN_OK);
	t3_routes_tidy_all(tdev);
	KUNIT_EXPECT_FALSE(test, tdev->routes_left);
	KUNIT_EXPECT_NULL(test, route->grant);
	KUNIT_EXPECT_NOT_NULL(test, source->routes[1].grant);
}

/* The reset of a space, or its end, drops what it kept. */
static void t3_route_test_drop_given_up(struct kunit *test)
{
	struct t3_space *source = t3_kunit_space(test, t3_kunit_device(test));
	struct t3_route *route = t3_route_test_pending(test, source);
	struct t3_grant *grant = route->grant;

	mutex_lock(&t3_topology_lock);
	t3_route_test_answer(source, T3_ADMIN_BAD_STATE);
	t3_route_give_up(source, route);
	t3_routes_drop(source);
	KUNIT_EXPECT_FALSE(test, t3_routes_tidy(source));
	KUNIT_EXPECT_PTR_EQ(test, t3_route_free_slot(source), route);
	mutex_unlock(&t3_topology_lock);
	KUNIT_EXPECT_EQ(test, kref_read(&grant->ref), 2);
}

static struct kunit_case t3_route_cases[] = {
	KUNIT_CASE(t3_route_test_handles),
	KUNIT_CASE(t3_route_test_find),
	KUNIT_CASE(t3_route_test_turn),
	KUNIT_CASE(t3_route_test_place),
	KUNIT_CASE(t3_route_test_place_full),
	KUNIT_CASE(t3_route_test_check),
	KUNIT_CASE(t3_route_test_give_up),
	KUNIT_CASE(t3_route_test_give_up_armed),
	KUNIT_CASE(t3_route_test_tidy_all),
	KUNIT_CASE(t3_route_test_drop_given_up),
	{}
};

static struct kunit_suite t3_route_suite = {
	.name = "t3_route",
	.test_cases = t3_route_cases,
};

kunit_test_suite(t3_route_suite);
