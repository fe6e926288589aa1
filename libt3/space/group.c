// SPDX-License-Identifier: MIT
/* Groups of the fabric's switch, which adds up or copies updates on their way. */
#include <string.h>

#include "space/private.h"

_Static_assert(sizeof(struct t3_group_ticket) == sizeof(struct drm_t3_group_ticket),
	       "the driver's");
_Static_assert(sizeof(struct t3_group_target) == sizeof(struct drm_t3_group_target),
	       "the driver's");

static int create(struct t3_space *space, struct drm_t3_group_create *arg)
{
	if (!arg->members || !arg->segment_mask || !arg->op_mask)
		return -EINVAL;
	arg->space = space->handle;
	return t3_ioctl(space->fd, DRM_IOCTL_T3_GROUP_CREATE, arg);
}

static int create_reduce(struct t3_space *space, struct drm_t3_group_create *arg, uint32_t *group)
{
	int ret;

	if (!space || !group)
		return -EINVAL;
	ret = create(space, arg);
	if (ret)
		return ret;
	*group = arg->group;
	t3_tell_grant(space, arg->group, arg->segment_mask);
	return 0;
}

int t3_group_create_reduce(struct t3_space *space, uint32_t members, uint64_t segment_mask,
			   uint32_t op_mask, uint32_t *group)
{
	struct drm_t3_group_create arg = {
		.kind = DRM_T3_GROUP_REDUCE,
		.members = members,
		.segment_mask = segment_mask,
		.op_mask = op_mask,
	};

	return create_reduce(space, &arg, group);
}

int t3_group_create_ordered(struct t3_space *space, uint32_t members, uint32_t places,
			    uint64_t segment_mask, uint32_t op_mask, uint32_t *group)
{
	struct drm_t3_group_create arg = {
		.kind = DRM_T3_GROUP_REDUCE,
		.members = members,
		.segment_mask = segment_mask,
		.op_mask = op_mask,
		.flags = DRM_T3_GROUP_ORDERED,
		.places = places,
	};

	return places ? create_reduce(space, &arg, group) : -EINVAL;
}

int t3_group_create_multicast(struct t3_space *space, uint32_t members, uint64_t segment_mask,
			      uint32_t op_mask, uint32_t *group, uint32_t *import,
			      struct t3_group_ticket *ticket)
{
	struct drm_t3_group_create arg = {
		.kind = DRM_T3_GROUP_MULTICAST,
		.members = members,
		.segment_mask = segment_mask,
		.op_mask = op_mask,
	};
	int ret;

	if (!space || !group || !import || !ticket)
		return -EINVAL;
	ret = create(space, &arg);
	if (ret)
		return ret;
	*group = arg.group;
	*import = arg.import;
	memcpy(ticket, &arg.ticket, sizeof(*ticket));
	return 0;
}

int t3_group_key(struct t3_space *space, uint32_t group, uint32_t member, uint32_t rank_mask,
		 struct t3_key *key)
{
	struct drm_t3_group_member arg = {
		.group = group,
		.member = member,
		.rank_mask = rank_mask,
	};
	int ret;

	if (!space || !key)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_GROUP_MEMBER, &arg);
	if (!ret)
		memcpy(key, &arg.key, sizeof(*key));
	return ret;
}

int t3_group_add(struct t3_space *space, uint32_t group, uint32_t member,
		 const struct t3_group_target *target)
{
	struct drm_t3_group_member arg = { .group = group, .member = member };

	if (!space || !target)
		return -EINVAL;
	arg.space = space->handle;
	memcpy(&arg.target, target, sizeof(arg.target));
	return t3_ioctl(space->fd, DRM_IOCTL_T3_GROUP_MEMBER, &arg);
}

int t3_group_join(struct t3_space *space, const struct t3_group_ticket *ticket,
		  uint64_t segment_mask, uint32_t op_mask, struct t3_group_target *target,
		  uint32_t *grant)
{
	struct drm_t3_group_join arg = { .segment_mask = segment_mask, .op_mask = op_mask };
	int ret;

	if (!space || !ticket || !target || !grant || !segment_mask || !op_mask)
		return -EINVAL;
	arg.space = space->handle;
	memcpy(&arg.ticket, ticket, sizeof(arg.ticket));
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_GROUP_JOIN, &arg);
	if (ret)
		return ret;
	*grant = arg.grant;
	memcpy(target, &arg.target, sizeof(*target));
	t3_tell_grant(space, arg.grant, segment_mask);
	return 0;
}

int t3_group_drop(struct t3_space *space, uint32_t group)
{
	struct drm_t3_group_destroy arg = { .group = group };
	int ret;

	if (!space)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_GROUP_DESTROY, &arg);
	if (!ret)
		t3_tell_grant(space, group, 0);
	return ret;
}

int t3_group_stats(const struct t3_space *space, uint32_t group, struct drm_t3_group_query *state)
{
	if (!space || !state)
		return -EINVAL;
	*state = (struct drm_t3_group_query){ .space = space->handle, .group = group };
	return t3_ioctl(space->fd, DRM_IOCTL_T3_GROUP_QUERY, state);
}
