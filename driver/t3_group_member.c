// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of the switch: their members, and what becomes of a group.
 *
 * A source of a REDUCE group shows a key, as it does for a space. A target of a MULTICAST group has
 * to consent, and its source has to name it: neither alone lets anything pass. Both say numbers,
 * which are no secrets.
 */
#include <linux/cleanup.h>
#include <linux/random.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_grant.h"
#include "t3_group.h"
#include "t3_refuse.h"
#include "t3_space.h"

/* ------------------------------------------------------------------- member */

static const struct t3_rule t3_group_member_rules[] = {
	T3_ZERO(drm_t3_group_member, flags),
	T3_ZERO(drm_t3_group_member, pad),
	T3_CAUSE(-ENOENT, drm_t3_group_member, group, "a group of the space"),
	T3_CAUSE(-EPERM, drm_t3_group_member, rank_mask,
		 "ranks that the module parameter keys allows"),
	T3_CAUSE(-EXDEV, drm_t3_group_member, target.fabric_id, "this device's fabric"),
	T3_CAUSE(-EEXIST, drm_t3_group_member, member,
		 "a free place; of MULTICAST also a target of another rank"),
	T3_CAUSE(-EBUSY, drm_t3_group_member, group, "a group that has not ended"),
};

/* Make a key for a source, and give it to the switch. */
static int t3_group_member_key(struct t3_device *tdev, const struct t3_group *group,
			       struct drm_t3_group_member *args, struct t3_cmd_group_member *cmd)
{
	u32 allowed = t3_key_ranks(tdev);
	struct drm_t3_key key = {
		.fabric_id = tdev->caps.fabric_id,
		.segment_mask = group->grant->segment_mask,
		.op_mask = group->grant->op_mask,
		.rank = T3_SWITCH_RANK,
		.space = group->number,
		.generation = group->generation,
		.import = args->member,
	};
	int ret;

	cmd->rank_mask = args->rank_mask ?: allowed;
	if (!cmd->rank_mask || cmd->rank_mask & ~allowed)
		return -EPERM;
	get_random_bytes(key.secret, sizeof(key.secret));
	memcpy(cmd->key, key.secret, sizeof(cmd->key));
	ret = t3_admin(tdev, T3_CMD_GROUP_MEMBER, cmd, sizeof(*cmd));
	if (!ret)
		args->key = key;
	memzero_explicit(cmd->key, sizeof(cmd->key));
	memzero_explicit(&key, sizeof(key));
	return ret;
}

static int t3_group_member(struct t3_space *space, struct drm_t3_group_member *args)
{
	struct t3_cmd_group_member cmd = {
		.space = space->hw_id,
		.member = args->member,
		.peer_rank = args->target.rank,
		.peer_space = args->target.space,
		.peer_generation = args->target.generation,
		.peer_import = args->target.import,
	};
	const struct drm_t3_group_target none = {};
	struct drm_file *file = space->file;
	struct t3_group *group;

	guard(mutex)(&t3_topology_lock);
	group = space->dead ? NULL : t3_group_find(space, args->group);
	if (!group)
		return -ENOENT;
	cmd.group = group->number;
	cmd.generation = group->generation;
	if (args->member >= group->members)
		return t3_refuse_range(file, args, -EINVAL, member, 0, group->members - 1);
	if (group->kind == T3_GROUP_REDUCE) {
		if (memcmp(&args->target, &none, sizeof(none)))
			return t3_refuse_field(file, -EINVAL, "target", "0 for REDUCE");
		return t3_group_member_key(space->tdev, group, args, &cmd);
	}
	if (args->rank_mask)
		return t3_refuse(file, args, -EINVAL, rank_mask, "0 for MULTICAST");
	if (args->target.fabric_id != space->tdev->caps.fabric_id)
		return -EXDEV;
	return t3_admin(space->tdev, T3_CMD_GROUP_MEMBER, &cmd, sizeof(cmd));
}

/**
 * t3_group_member_ioctl() - DRM_IOCTL_T3_GROUP_MEMBER
 * @drm: the device
 * @data: &struct drm_t3_group_member
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_group_member lists.
 */
int t3_group_member_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct t3_caps *caps = &to_t3_device(drm)->caps;
	struct drm_t3_group_member *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_group_member_rules);
	if (ret)
		return ret;
	if (args->rank_mask >= BIT_ULL(caps->ranks))
		return t3_refuse(file, args, -EINVAL, rank_mask, "ranks of the fabric");
	if (args->target.rank >= caps->ranks)
		return t3_refuse_range(file, args, -EINVAL, target.rank, 0, caps->ranks - 1);
	if (args->target.space >= T3_MAX_SPACES)
		return t3_refuse_range(file, args, -EINVAL, target.space, 0, T3_MAX_SPACES - 1);
	if (args->target.import >= T3_SPACE_IMPORTS)
		return t3_refuse_range(file, args, -EINVAL, target.import, 0,
				       T3_SPACE_IMPORTS - 1);
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_group_member(space, args);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_group_member_rules));
}

/* --------------------------------------------------------------------- join */

static const struct t3_rule t3_group_join_rules[] = {
	T3_ZERO(drm_t3_group_join, flags),
	T3_RANGE(drm_t3_group_join, segment_mask, 1, U64_MAX),
	T3_RANGE(drm_t3_group_join, op_mask, 1, BIT(T3_OP_COUNT) - 1),
	T3_RANGE(drm_t3_group_join, ticket.number, 0, T3_MAX_SPACES - 1),
	T3_RANGE(drm_t3_group_join, ticket.generation, 1, U32_MAX),
	T3_CAUSE(-EXDEV, drm_t3_group_join, ticket.fabric_id, "this device's fabric"),
	T3_CAUSE(-ENOENT, drm_t3_group_join, space, "a space of this open file"),
	T3_CAUSE(-ENOSPC, drm_t3_group_join, space, "a space with fewer grants than 32"),
	T3_CAUSE(-EEXIST, drm_t3_group_join, space,
		 "the same again later: a message of the entry's last user is under way"),
};

/* The numbers of groups are as those of spaces, in routes and imports. */
static_assert(T3_MAX_RANKS * T3_PORT_GROUPS <= T3_MAX_SPACES);

static int t3_group_join(struct t3_space *space, struct drm_t3_group_join *args)
{
	struct t3_grant *grant = t3_group_grant(args->segment_mask, args->op_mask);
	int ret;

	if (!grant)
		return -ENOMEM;
	grant->group = args->ticket.number;
	grant->group_generation = args->ticket.generation;

	mutex_lock(&t3_topology_lock);
	ret = t3_grant_attach(grant, space);
	if (ret)
		goto unlock;
	ret = t3_group_import_set(grant, grant->group, grant->group_generation);
	if (ret) {
		t3_grant_detach(grant);
		goto unlock;
	}
	grant->programmed = true;
	args->grant = grant->handle;
	args->target = (struct drm_t3_group_target){
		.fabric_id = space->tdev->caps.fabric_id,
		.rank = space->tdev->caps.rank,
		.space = space->hw_id,
		.generation = space->generation,
		.import = grant->index,
	};
unlock:
	mutex_unlock(&t3_topology_lock);
	t3_grant_put(grant);
	return ret;
}

/**
 * t3_group_join_ioctl() - DRM_IOCTL_T3_GROUP_JOIN
 * @drm: the device
 * @data: &struct drm_t3_group_join
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_group_join lists.
 */
int t3_group_join_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct t3_device *tdev = to_t3_device(drm);
	struct drm_t3_group_join *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_group_join_rules);
	if (ret)
		return ret;
	if (!t3_has_switch(tdev))
		return t3_refuse_switch(file, args);
	if (t3_ops_need(args->op_mask) & ~tdev->caps.caps)
		return t3_refuse(file, args, -EOPNOTSUPP, op_mask,
				 "ops of the device: DRM_T3_FEATURE_*");
	if (args->ticket.fabric_id != tdev->caps.fabric_id)
		return t3_explain(file, args, -EXDEV, t3_group_join_rules);
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_group_join(space, args);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_group_join_rules));
}

/* -------------------------------------------------------------------- query */

static const struct t3_rule t3_group_query_rules[] = {
	T3_ZERO(drm_t3_group_query, flags),
	T3_CAUSE(-ENOENT, drm_t3_group_query, group,
		 "a group of the space, or its import or grant of one"),
};

/* The handles of groups, imports and grants of a space are different numbers. */
static bool t3_group_of_handle(struct t3_space *space, u32 handle, u32 *number, u32 *generation)
{
	const struct t3_group *group = t3_group_find(space, handle);
	u32 i;

	if (group) {
		*number = group->number;
		*generation = group->generation;
		return true;
	}
	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		const struct t3_route *route = &space->routes[i];

		if (!route->grant || route->pending || route->handle != handle ||
		    route->peer_rank != T3_SWITCH_RANK)
			continue;
		*number = route->peer_space;
		*generation = route->peer_generation;
		return true;
	}
	for (i = 0; i < T3_SPACE_IMPORTS; i++) {
		const struct t3_grant *grant = space->grants[i];

		if (!grant || grant->handle != handle || !grant->group_generation)
			continue;
		*number = grant->group;
		*generation = grant->group_generation;
		return true;
	}
	return false;
}

static int t3_group_query(struct t3_space *space, struct drm_t3_group_query *args)
{
	struct t3_cmd_group_query cmd = { .space = space->hw_id };
	int ret;

	guard(mutex)(&t3_topology_lock);
	if (space->dead)
		return t3_refuse_space(space->file, args);
	if (!t3_group_of_handle(space, args->group, &cmd.group, &cmd.generation))
		return -ENOENT;
	ret = t3_admin_query(space->tdev, T3_CMD_GROUP_QUERY, &cmd, sizeof(cmd));
	if (ret && ret != -EINVAL)
		return ret;
	/* BAD_INDEX: the switch knows no such group, or not this space in it. */
	if (ret)
		cmd = (struct t3_cmd_group_query){};
	*args = (struct drm_t3_group_query){
		.space = args->space,
		.group = args->group,
		.state = cmd.state,
		.kind = cmd.kind,
		.members = cmd.members,
		.bound = cmd.bound,
		.done = cmd.done,
		.epoch = cmd.epoch,
		.entries = cmd.entries,
		.end_epoch = cmd.end_epoch,
		.cause = cmd.cause,
		.detail = cmd.detail,
		.cause_rank = cmd.cause_rank,
		.number = cmd.group,
		.generation = cmd.generation,
		.merged = cmd.merged,
		.alone = cmd.alone,
		.copies = cmd.copies,
		.group_flags = cmd.flags,
		.places = cmd.places,
	};
	return 0;
}

/**
 * t3_group_query_ioctl() - DRM_IOCTL_T3_GROUP_QUERY
 * @drm: the device
 * @data: &struct drm_t3_group_query
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_group_query lists.
 */
int t3_group_query_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_group_query *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_group_query_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_group_query(space, args);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_group_query_rules));
}
