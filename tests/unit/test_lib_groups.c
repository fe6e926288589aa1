// SPDX-License-Identifier: MIT
/* libt3: groups of a switch, field by field, and the calls that it refuses itself. */
#include "test_lib_kernel.h"

#include "test.h"

T3_TEST("a reduction asks for each field")
{
	const struct drm_t3_group_create *a = ASKED(drm_t3_group_create);
	uint32_t group = 0;

	assert_int_equal(t3_group_create_reduce(space, 3, 6, 2, &group), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_GROUP_CREATE);
	assert_int_equal(a->space, 21);
	assert_int_equal(a->kind, DRM_T3_GROUP_REDUCE);
	assert_int_equal(a->members, 3);
	assert_int_equal(a->segment_mask, 6);
	assert_int_equal(a->op_mask, 2);
	assert_int_equal(a->flags | a->places, 0);
	assert_int_equal(group, 51);
	assert_int_equal(t3_group_create_reduce(NULL, 3, 6, 2, &group), -EINVAL);
	assert_int_equal(t3_group_create_reduce(space, 0, 6, 2, &group), -EINVAL);
	assert_int_equal(t3_group_create_reduce(space, 3, 0, 2, &group), -EINVAL);
	assert_int_equal(t3_group_create_reduce(space, 3, 6, 0, &group), -EINVAL);
	assert_int_equal(t3_group_create_reduce(space, 3, 6, 2, NULL), -EINVAL);
	kernel.error = EDQUOT;
	group = 7;
	assert_int_equal(t3_group_create_reduce(space, 3, 6, 2, &group), -EDQUOT);
	assert_int_equal(group, 7);
}

T3_TEST("an order asks for places")
{
	const struct drm_t3_group_create *a = ASKED(drm_t3_group_create);
	uint32_t group = 0;

	assert_int_equal(t3_group_create_ordered(space, 3, 128, 6, 2, &group), 0);
	assert_int_equal(a->kind, DRM_T3_GROUP_REDUCE);
	assert_int_equal(a->members, 3);
	assert_int_equal(a->flags, DRM_T3_GROUP_ORDERED);
	assert_int_equal(a->places, 128);
	assert_int_equal(a->segment_mask, 6);
	assert_int_equal(group, 51);
	assert_int_equal(t3_group_create_ordered(space, 3, 0, 6, 2, &group), -EINVAL);
	assert_int_equal(t3_group_create_ordered(NULL, 3, 128, 6, 2, &group), -EINVAL);
	assert_int_equal(t3_group_create_ordered(space, 3, 128, 6, 2, NULL), -EINVAL);
}

T3_TEST("a multicast returns its import and its ticket")
{
	uint32_t group = 0, import = 0;
	struct t3_group_ticket ticket;

	assert_int_equal(t3_group_create_multicast(space, 2, 6, 1, &group, &import, &ticket), 0);
	assert_int_equal(ASKED(drm_t3_group_create)->kind, DRM_T3_GROUP_MULTICAST);
	assert_int_equal(ASKED(drm_t3_group_create)->op_mask, 1);
	assert_int_equal(group, 51);
	assert_int_equal(import, 52);
	assert_int_equal(((struct drm_t3_group_ticket *)&ticket)->number, 64);
	assert_int_equal(t3_group_create_multicast(NULL, 2, 6, 1, &group, &import, &ticket),
			 -EINVAL);
	assert_int_equal(t3_group_create_multicast(space, 2, 6, 1, NULL, &import, &ticket),
			 -EINVAL);
	assert_int_equal(t3_group_create_multicast(space, 2, 6, 1, &group, NULL, &ticket), -EINVAL);
	assert_int_equal(t3_group_create_multicast(space, 2, 6, 1, &group, &import, NULL), -EINVAL);
	assert_int_equal(t3_group_create_multicast(space, 0, 6, 1, &group, &import, &ticket),
			 -EINVAL);
}

T3_TEST("members ask for each field")
{
	const struct drm_t3_group_member *a = ASKED(drm_t3_group_member);
	struct drm_t3_group_target inside = { .rank = 3, .import = 5 };
	struct t3_group_target place;
	struct t3_key key;

	assert_int_equal(t3_group_key(space, 51, 2, 4, &key), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_GROUP_MEMBER);
	assert_int_equal(a->space, 21);
	assert_int_equal(a->group, 51);
	assert_int_equal(a->member, 2);
	assert_int_equal(a->rank_mask, 4);
	assert_int_equal(a->target.rank | a->target.import | a->flags | a->pad, 0);
	assert_memory_equal(&key, "secret", 6);
	memcpy(&place, &inside, sizeof(place));
	assert_int_equal(t3_group_add(space, 51, 1, &place), 0);
	assert_int_equal(a->group, 51);
	assert_int_equal(a->member, 1);
	assert_int_equal(a->rank_mask, 0);
	assert_memory_equal(&a->target, &inside, sizeof(inside));
	assert_int_equal(t3_group_key(NULL, 51, 2, 4, &key), -EINVAL);
	assert_int_equal(t3_group_key(space, 51, 2, 4, NULL), -EINVAL);
	assert_int_equal(t3_group_add(NULL, 51, 1, &place), -EINVAL);
	assert_int_equal(t3_group_add(space, 51, 1, NULL), -EINVAL);
}

T3_TEST("joining asks for each field")
{
	const struct drm_t3_group_join *a = ASKED(drm_t3_group_join);
	struct drm_t3_group_ticket inside = { .number = 64, .generation = 2 };
	struct t3_group_target place;
	struct t3_group_ticket ticket;
	uint32_t grant = 0;

	memcpy(&ticket, &inside, sizeof(ticket));
	assert_int_equal(t3_group_join(space, &ticket, 6, 1, &place, &grant), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_GROUP_JOIN);
	assert_int_equal(a->space, 21);
	assert_int_equal(a->segment_mask, 6);
	assert_int_equal(a->op_mask, 1);
	assert_memory_equal(&a->ticket, &inside, sizeof(inside));
	assert_int_equal(grant, 53);
	assert_int_equal(((struct drm_t3_group_target *)&place)->rank, 3);
	assert_int_equal(t3_group_join(NULL, &ticket, 6, 1, &place, &grant), -EINVAL);
	assert_int_equal(t3_group_join(space, NULL, 6, 1, &place, &grant), -EINVAL);
	assert_int_equal(t3_group_join(space, &ticket, 0, 1, &place, &grant), -EINVAL);
	assert_int_equal(t3_group_join(space, &ticket, 6, 0, &place, &grant), -EINVAL);
	assert_int_equal(t3_group_join(space, &ticket, 6, 1, NULL, &grant), -EINVAL);
	assert_int_equal(t3_group_join(space, &ticket, 6, 1, &place, NULL), -EINVAL);
}

T3_TEST("groups are destroyed and asked by their number")
{
	struct drm_t3_group_query state;

	assert_int_equal(t3_group_stats(space, 51, &state), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_GROUP_QUERY);
	assert_int_equal(ASKED(drm_t3_group_query)->group, 51);
	assert_int_equal(state.merged, 9);
	assert_int_equal(t3_group_stats(NULL, 51, &state), -EINVAL);
	assert_int_equal(t3_group_stats(space, 51, NULL), -EINVAL);
	assert_int_equal(t3_group_drop(space, 51), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_GROUP_DESTROY);
	assert_int_equal(ASKED(drm_t3_group_destroy)->space, 21);
	assert_int_equal(ASKED(drm_t3_group_destroy)->group, 51);
	assert_int_equal(t3_group_drop(NULL, 51), -EINVAL);
}

T3_TEST("the port of the switch is asked as the counters are")
{
	struct drm_t3_switch_info info;

	memset(&info, 0xff, sizeof(info));
	assert_int_equal(t3_device_switch(dev, &info), 0);
	assert_int_equal(ASKED(drm_t3_query)->type, DRM_T3_QUERY_SWITCH);
	assert_int_equal(ASKED(drm_t3_query)->size, sizeof(info));
	assert_int_equal(info.merged, 0);
	assert_int_equal(t3_device_switch(NULL, &info), -EINVAL);
	assert_int_equal(t3_device_switch(dev, NULL), -EINVAL);
}
