// SPDX-License-Identifier: GPL-2.0-only
/*
 * Groups of the switch: their life at the space in which they end (REDUCE) or begin (MULTICAST).
 *
 * A REDUCE group has an entry of its space's import table, as a grant has. A MULTICAST group is a
 * route of its space, as an import is. The switch ends a group by itself when its space is reset or
 * destroyed.
 */
#include <linux/cleanup.h>
#include <linux/list.h>
#include <linux/slab.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_grant.h"
#include "t3_group.h"
#include "t3_refuse.h"
#include "t3_space.h"
#include "t3_trace.h"
#include "t3_user.h"

static_assert(!(0 T3_GROUP_KIND_LIST(T3_DIFFERS, DRM_T3_GROUP_)));
static_assert(!(0 T3_GROUP_STATE_LIST(T3_DIFFERS, DRM_T3_GROUP_)));
static_assert(DRM_T3_SWITCH_RANK == T3_SWITCH_RANK);
static_assert(DRM_T3_GROUP_ORDERED == T3_GROUP_ORDERED);
static_assert(DRM_T3_GROUPS_MAX == T3_PORT_GROUPS);
static_assert(DRM_T3_GROUP_MEMBERS_MAX == T3_GROUP_MEMBERS);

/**
 * t3_group_find() - find a group of a space
 * @space: the group's own
 * @handle: of the group
 *
 * Context: t3_topology_lock is held.
 * Return: the group, or NULL.
 */
struct t3_group *t3_group_find(struct t3_space *space, u32 handle)
{
	struct t3_group *group;

	lockdep_assert_held(&t3_topology_lock);
	list_for_each_entry(group, &space->groups, node)
		if (group->handle == handle)
			return group;
	return NULL;
}

/**
 * t3_group_grant() - make a grant that a group has
 * @segment_mask: of the target
 * @op_mask: of the updates
 *
 * Context: process context.
 * Return: the grant with one reference and without an owner; or NULL.
 */
struct t3_grant *t3_group_grant(u64 segment_mask, u32 op_mask)
{
	struct t3_grant *grant = kzalloc_obj(*grant, GFP_KERNEL_ACCOUNT);

	if (!grant)
		return NULL;
	kref_init(&grant->ref);
	grant->segment_mask = segment_mask;
	grant->op_mask = op_mask;
	grant->bound = true; /* there is no file to import */
	return grant;
}

/**
 * t3_group_import_set() - let a group of the switch send to the owner of a grant
 * @grant: attached to the target
 * @number: of the group
 * @generation: of the group
 *
 * Context: t3_topology_lock is held.
 * Return: 0, or an error of t3_admin().
 */
int t3_group_import_set(const struct t3_grant *grant, u32 number, u32 generation)
{
	struct t3_cmd_import_set cmd = {
		.space = grant->owner->hw_id,
		.import = grant->index,
		.src_rank = T3_SWITCH_RANK,
		.src_space = number,
		.src_generation = generation,
		.op_mask = grant->op_mask,
		.segment_mask = grant->segment_mask,
	};

	return t3_admin(grant->owner->tdev, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd));
}

static void t3_group_free(struct t3_space *space, struct t3_group *group)
{
	lockdep_assert_held(&t3_topology_lock);
	trace_t3_group_end(space, group);
	list_del(&group->node);
	t3_grant_put(group->grant);
	t3_account_uncharge(space->account, T3_POOL_GROUPS, 1);
	kfree(group);
}

/**
 * t3_groups_drop() - drop all groups of a space
 * @space: their own, which has ended or is reset; the switch ends them by itself
 *
 * Context: t3_topology_lock is held.
 */
void t3_groups_drop(struct t3_space *space)
{
	struct t3_group *group, *next;

	lockdep_assert_held(&t3_topology_lock);
	list_for_each_entry_safe(group, next, &space->groups, node)
		t3_group_free(space, group);
}

/* ------------------------------------------------------------------- create */

static const struct t3_rule t3_group_create_rules[] = {
	T3_BITS(drm_t3_group_create, flags, DRM_T3_GROUP_ORDERED, "DRM_T3_GROUP_ORDERED or 0"),
	T3_RANGE(drm_t3_group_create, kind, T3_GROUP_REDUCE, T3_GROUP_MULTICAST),
	T3_RANGE(drm_t3_group_create, members, 1, T3_GROUP_MEMBERS),
	T3_RANGE(drm_t3_group_create, segment_mask, 1, U64_MAX),
	T3_RANGE(drm_t3_group_create, op_mask, 1, BIT(T3_OP_COUNT) - 1),
	T3_CAUSE(-ENOENT, drm_t3_group_create, space, "a space of this open file"),
	T3_CAUSE(-EDQUOT, drm_t3_group_create, space,
		 "a space of a user with fewer groups: user_groups"),
	T3_CAUSE(-ENOSPC, drm_t3_group_create, places,
		 "so few that the port has places * members entries free"),
	T3_CAUSE(-EEXIST, drm_t3_group_create, space,
		 "the same again later: a message of the entry's last user is under way"),
};

static int t3_group_hw_create(struct t3_space *space, struct t3_group *group, u32 import)
{
	struct t3_cmd_group_create cmd = {
		.space = space->hw_id,
		.kind = group->kind,
		.import = import,
		.members = group->members,
		.flags = group->flags,
		.places = group->places,
	};
	int ret = t3_admin_query(space->tdev, T3_CMD_GROUP_CREATE, &cmd, sizeof(cmd));

	if (ret)
		return ret;
	group->number = cmd.group;
	group->generation = cmd.generation;
	return 0;
}

static int t3_group_hw_destroy(struct t3_space *space, const struct t3_group *group)
{
	struct t3_cmd_group cmd = {
		.space = space->hw_id,
		.group = group->number,
		.generation = group->generation,
	};

	return t3_admin(space->tdev, T3_CMD_GROUP_DESTROY, &cmd, sizeof(cmd));
}

/* The group sends to the space: it has an entry of the import table. */
static int t3_group_begin_reduce(struct t3_space *space, struct t3_group *group,
				 const struct drm_t3_group_create *args)
{
	struct t3_grant *grant = group->grant;
	int ret;

	ret = t3_grant_attach(grant, space);
	if (ret == -ENOSPC)
		return t3_refuse(space->file, args, ret, space,
				 "a space with fewer grants than 32");
	if (ret)
		return ret;
	ret = t3_group_hw_create(space, group, grant->index);
	if (ret)
		goto err_detach;
	ret = t3_group_import_set(grant, group->number, group->generation);
	if (ret)
		goto err_destroy;
	grant->programmed = true;
	return 0;

err_destroy:
	t3_group_hw_destroy(space, group);
err_detach:
	t3_grant_detach(grant);
	return ret;
}

/* The space sends to the group: it has a route. */
static int t3_group_begin_multicast(struct t3_space *space, struct t3_group *group,
				    const struct drm_t3_group_create *args, u32 *import)
{
	struct t3_cmd_route_set cmd = { .space = space->hw_id, .peer_rank = T3_SWITCH_RANK };
	struct t3_route *route;
	int ret;

	if (space->dead)
		return -ENOENT;
	t3_routes_tidy(space);
	route = t3_route_free_slot(space);
	if (!route)
		return t3_refuse(space->file, args, -ENOSPC, space,
				 "a space with fewer imports than 32");
	ret = t3_group_hw_create(space, group, 0);
	if (ret)
		return ret;
	cmd.route = route - space->routes;
	cmd.peer_space = group->number;
	cmd.peer_generation = group->generation;
	ret = t3_admin(space->tdev, T3_CMD_ROUTE_SET, &cmd, sizeof(cmd));
	if (ret) {
		t3_group_hw_destroy(space, group);
		return ret;
	}
	group->grant->by_key = true; /* masks alone: a group has no owner */
	*route = (struct t3_route){
		.grant = t3_grant_get(group->grant),
		.handle = t3_space_next_handle(space),
		.peer_rank = T3_SWITCH_RANK,
		.peer_space = group->number,
		.peer_generation = group->generation,
	};
	trace_t3_grant_import(space, route);
	*import = route->handle;
	return 0;
}

/* The group takes over the reference of the grant. */
static int t3_group_begin(struct t3_space *space, struct t3_group *group,
			  struct drm_t3_group_create *args)
{
	u32 import = 0;
	int ret;

	guard(mutex)(&t3_topology_lock);
	ret = t3_account_charge(space->account, T3_POOL_GROUPS, 1);
	if (ret == -ENOSPC)
		return t3_refuse(space->file, args, ret, space,
				 "a space of a device with fewer groups than 32");
	if (ret)
		return ret;
	if (group->kind == T3_GROUP_REDUCE)
		ret = t3_group_begin_reduce(space, group, args);
	else
		ret = t3_group_begin_multicast(space, group, args, &import);
	if (ret) {
		t3_account_uncharge(space->account, T3_POOL_GROUPS, 1);
		return ret;
	}
	group->handle = t3_space_next_handle(space);
	list_add(&group->node, &space->groups);
	trace_t3_group_create(space, group);
	args->group = group->handle;
	args->import = import;
	args->ticket = (struct drm_t3_group_ticket){
		.fabric_id = space->tdev->caps.fabric_id,
		.number = group->number,
		.generation = group->generation,
	};
	return 0;
}

static int t3_group_create(struct t3_space *space, struct drm_t3_group_create *args)
{
	struct t3_group *group = kzalloc_obj(*group, GFP_KERNEL_ACCOUNT);
	int ret;

	if (!group)
		return -ENOMEM;
	group->kind = args->kind;
	group->members = args->members;
	group->flags = args->flags;
	group->places = args->places;
	group->grant = t3_group_grant(args->segment_mask, args->op_mask);
	ret = group->grant ? t3_group_begin(space, group, args) : -ENOMEM;
	if (!ret)
		return 0;
	if (group->grant)
		t3_grant_put(group->grant);
	kfree(group);
	return ret;
}

/**
 * t3_group_create_ioctl() - DRM_IOCTL_T3_GROUP_CREATE
 * @drm: the device
 * @data: &struct drm_t3_group_create
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_group_create lists.
 */
int t3_group_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct t3_device *tdev = to_t3_device(drm);
	struct drm_t3_group_create *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_group_create_rules);
	if (ret)
		return ret;
	if (args->kind == T3_GROUP_REDUCE && args->op_mask & BIT(T3_OP_STORE))
		return t3_refuse(file, args, -EINVAL, op_mask, "ops but STORE, of REDUCE");
	if (args->kind != T3_GROUP_REDUCE && args->flags)
		return t3_refuse(file, args, -EINVAL, flags, "0 for MULTICAST");
	if (!args->flags != !args->places)
		return t3_refuse(file, args, -EINVAL, places, "not 0 with ORDERED, 0 without");
	if (!t3_has_switch(tdev))
		return t3_refuse_switch(file, args);
	if (t3_ops_need(args->op_mask) & ~tdev->caps.caps)
		return t3_refuse(file, args, -EOPNOTSUPP, op_mask,
				 "ops of the device: DRM_T3_FEATURE_*");
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_group_create(space, args);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_group_create_rules));
}

/* ------------------------------------------------------------------ destroy */

static const struct t3_rule t3_group_destroy_rules[] = {
	T3_ZERO(drm_t3_group_destroy, flags),
	T3_ZERO(drm_t3_group_destroy, pad),
	T3_CAUSE(-ENOENT, drm_t3_group_destroy, group, "a group of the space"),
};

static int t3_group_destroy(struct t3_space *space, u32 handle)
{
	struct t3_group *group;
	int ret;

	guard(mutex)(&t3_topology_lock);
	group = space->dead ? NULL : t3_group_find(space, handle);
	if (!group)
		return -ENOENT;
	ret = t3_group_hw_destroy(space, group);
	if (ret && ret != -EINVAL) /* a reset of the switch has ended it */
		return ret;
	if (group->grant->owner) {
		ret = t3_grant_end(group->grant);
		if (ret)
			return ret;
	}
	t3_group_free(space, group);
	return 0;
}

/**
 * t3_group_destroy_ioctl() - DRM_IOCTL_T3_GROUP_DESTROY
 * @drm: the device
 * @data: &struct drm_t3_group_destroy
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_group_destroy lists.
 */
int t3_group_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_group_destroy *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_group_destroy_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_group_destroy(space, args->group);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_group_destroy_rules));
}
