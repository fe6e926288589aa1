// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants, on the sending side: an imported grant is a route of the space.
 */
#include <linux/cleanup.h>
#include <linux/file.h>
#include <linux/fs.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_grant.h"
#include "t3_refuse.h"
#include "t3_segment.h"
#include "t3_space.h"
#include "t3_trace.h"

/**
 * t3_route_find() - find the route of an import
 * @space: the source
 * @handle: of the import
 *
 * Context: t3_topology_lock is held.
 * Return: the route, or NULL.
 */
struct t3_route *t3_route_find(struct t3_space *space, u32 handle)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (space->routes[i].grant && space->routes[i].handle == handle &&
		    !space->routes[i].pending)
			return &space->routes[i];
	return NULL;
}

/**
 * t3_route_free_slot() - find a free entry of the table of targets
 * @space: the source
 *
 * Context: t3_topology_lock is held.
 * Return: the entry, or NULL.
 */
struct t3_route *t3_route_free_slot(struct t3_space *space)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (!space->routes[i].grant)
			return &space->routes[i];
	return NULL;
}

/**
 * t3_route_drop() - clear an entry of the table of targets
 * @route: the entry, which the device does not have, or drops by itself
 *
 * Context: t3_topology_lock is held.
 */
void t3_route_drop(struct t3_route *route)
{
	if (route->grant)
		t3_grant_put(route->grant);
	route->grant = NULL;
}

/* A space that is armed keeps the route: -EBUSY. After any other error the device has none. */
static void t3_route_clear(struct t3_space *space, struct t3_route *route)
{
	struct t3_cmd_index cmd = { .space = space->hw_id, .index = route - space->routes };

	route->given_up = t3_admin(space->tdev, T3_CMD_ROUTE_CLEAR, &cmd, sizeof(cmd)) == -EBUSY;
	if (!route->given_up)
		t3_route_drop(route);
}

/**
 * t3_route_give_up() - clear a pending route, on the device too
 * @space: the source
 * @route: pending; no segment uses it
 *
 * The device clears routes of an idle space only, and a program may have armed the space meanwhile.
 * Then the route keeps its entry until t3_routes_tidy() finds the space idle, or the space ends or
 * is reset.
 *
 * Context: t3_topology_lock is held.
 */
void t3_route_give_up(struct t3_space *space, struct t3_route *route)
{
	lockdep_assert_held(&t3_topology_lock);
	t3_route_clear(space, route);
	if (route->given_up)
		WRITE_ONCE(space->tdev->routes_left, true);
}

/**
 * t3_routes_tidy() - clear routes that were given up while the space was armed
 * @space: the source, not dead
 *
 * Context: t3_topology_lock is held.
 * Return: true if some are left: the space is still not idle.
 */
bool t3_routes_tidy(struct t3_space *space)
{
	bool left = false;
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		struct t3_route *route = &space->routes[i];

		if (!route->grant || !route->given_up)
			continue;
		t3_route_clear(space, route);
		left |= route->given_up;
	}
	return left;
}

/**
 * t3_routes_tidy_all() - t3_routes_tidy() for all spaces of a device
 * @tdev: the device
 *
 * A route that the target has granted meanwhile would make each epoch wait for that target.
 *
 * Context: process context; takes t3_topology_lock.
 */
void t3_routes_tidy_all(struct t3_device *tdev)
{
	bool left = false;
	u32 id;

	mutex_lock(&t3_topology_lock);
	for (id = 0; id < T3_MAX_SPACES; id++) {
		/* Stable: only t3_space_finish() clears a slot, under this lock. */
		struct t3_space *space = READ_ONCE(tdev->slots[id]);

		if (space && !space->dead)
			left |= t3_routes_tidy(space);
	}
	if (left)
		WRITE_ONCE(tdev->routes_left, true);
	mutex_unlock(&t3_topology_lock);
}

/**
 * t3_routes_drop() - drop all routes of a space
 * @space: the source, which ends or is reset; the device clears its routes itself
 *
 * Context: t3_topology_lock is held.
 */
void t3_routes_drop(struct t3_space *space)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		t3_route_drop(&space->routes[i]);
}

/* ------------------------------------------------------------------- import */

static const struct t3_rule t3_grant_import_rules[] = {
	T3_ZERO(drm_t3_grant_import, flags),
	T3_ZERO(drm_t3_grant_import, pad),
	T3_ZERO(drm_t3_grant_import, pad2),
	T3_CAUSE(-EBADF, drm_t3_grant_import, fd, "a grant's file descriptor"),
	T3_CAUSE(-EINVAL, drm_t3_grant_import, fd, "a grant's file descriptor"),
	T3_CAUSE(-EOWNERDEAD, drm_t3_grant_import, fd, "a grant that is not revoked"),
	T3_CAUSE(-EXDEV, drm_t3_grant_import, fd, "a grant of the same fabric"),
	T3_CAUSE(-EACCES, drm_t3_grant_import, fd, "a grant for this device's rank"),
	T3_CAUSE(-EHOSTUNREACH, drm_t3_grant_import, fd,
		 "a grant of a rank with a link to this one"),
	T3_CAUSE(-EEXIST, drm_t3_grant_import, fd,
		 "the same again later: a message of the entry's last user is under way"),
	T3_CAUSE(-ENOSPC, drm_t3_grant_import, space,
		 "a space with fewer imports than 32: release those that were revoked"),
};

static int t3_import_check(const struct t3_space *source, const struct t3_grant *grant,
			   const struct drm_t3_grant_import *args)
{
	const struct t3_caps *from = &source->tdev->caps, *to;

	if (source->dead)
		return t3_refuse_space(source->file, args);
	if (!grant->owner)
		return -EOWNERDEAD;
	to = &grant->owner->tdev->caps;
	if (from->fabric_id != to->fabric_id)
		return -EXDEV;
	if (grant->rank_mask && !(grant->rank_mask & BIT(from->rank)))
		return -EACCES;
	if (from->rank == to->rank)
		return -EHOSTUNREACH;
	if (grant->bound)
		return t3_refuse(source->file, args, -EBUSY, fd,
				 "a grant that is not imported yet");
	return 0;
}

static bool t3_route_exists(const struct t3_space *source, const struct t3_space *owner, u32 index)
{
	u32 i;

	for (i = 0; i < T3_SPACE_ROUTES; i++) {
		const struct t3_route *route = &source->routes[i];

		if (route->grant && route->peer_rank == owner->tdev->caps.rank &&
		    route->peer_space == owner->hw_id &&
		    route->peer_generation == owner->generation && route->peer_import == index)
			return true;
	}
	return false;
}

/*
 * The device takes no second route to an import entry, and a route whose grant was revoked stays
 * until it is released. So a grant with such an entry moves to another one. Only the owner's table
 * knows its index yet.
 */
static int t3_import_place(const struct t3_space *source, struct t3_grant *grant)
{
	struct t3_space *owner = grant->owner;
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	if (!t3_route_exists(source, owner, grant->index))
		return 0;
	for (i = 0; i < T3_SPACE_IMPORTS; i++) {
		if (owner->grants[i] || t3_route_exists(source, owner, i))
			continue;
		owner->grants[grant->index] = NULL;
		owner->grants[i] = grant;
		grant->index = i;
		return 0;
	}
	return -ENOSPC;
}

static int t3_import_set(const struct t3_space *source, const struct t3_grant *grant)
{
	struct t3_space *owner = grant->owner;
	struct t3_cmd_import_set cmd = {
		.space = owner->hw_id,
		.import = grant->index,
		.src_rank = source->tdev->caps.rank,
		.src_space = source->hw_id,
		.src_generation = source->generation,
		.op_mask = grant->op_mask,
		.segment_mask = grant->segment_mask,
	};
	int ret = t3_admin(owner->tdev, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd));

	/* These errors are about the owner's device, not about the caller's. */
	return ret == -ENODEV || ret == -EIO ? -EOWNERDEAD : ret;
}

static void t3_import_clear(const struct t3_grant *grant)
{
	struct t3_cmd_index cmd = { .space = grant->owner->hw_id, .index = grant->index };

	t3_admin(grant->owner->tdev, T3_CMD_IMPORT_CLEAR, &cmd, sizeof(cmd));
}

static int t3_route_set(const struct t3_space *source, u32 index, const struct t3_grant *grant)
{
	struct t3_cmd_route_set cmd = {
		.space = source->hw_id,
		.route = index,
		.peer_rank = grant->owner->tdev->caps.rank,
		.peer_space = grant->owner->hw_id,
		.peer_generation = grant->owner->generation,
		.peer_import = grant->index,
	};

	return t3_admin(source->tdev, T3_CMD_ROUTE_SET, &cmd, sizeof(cmd));
}

static int t3_import(struct t3_space *source, struct drm_t3_grant_import *args)
{
	struct file *filp __free(fput) = fget(args->fd);
	struct t3_grant *grant;
	struct t3_route *route;
	int ret;

	if (!filp)
		return -EBADF;
	/* The file holds the grant until fput(). */
	grant = t3_grant_from_file(filp);
	if (!grant)
		return -EINVAL;

	guard(mutex)(&t3_topology_lock);
	ret = t3_import_check(source, grant, args);
	if (ret)
		return ret;
	t3_routes_tidy(source);
	route = t3_route_free_slot(source);
	if (!route)
		return -ENOSPC;
	ret = t3_import_place(source, grant);
	if (ret)
		return ret;

	/* The owner's side first: a route must never lead to an entry that does not exist. */
	ret = t3_import_set(source, grant);
	if (ret)
		return ret;
	ret = t3_route_set(source, route - source->routes, grant);
	if (ret) {
		t3_import_clear(grant);
		return ret;
	}
	grant->bound = true;
	grant->programmed = true;
	*route = (struct t3_route){
		.grant = t3_grant_get(grant),
		.handle = t3_space_next_handle(source),
		.peer_rank = grant->owner->tdev->caps.rank,
		.peer_space = grant->owner->hw_id,
		.peer_generation = grant->owner->generation,
		.peer_import = grant->index,
	};
	trace_t3_grant_import(source, route);

	args->import = route->handle;
	args->rank = grant->owner->tdev->caps.rank;
	args->segment_mask = grant->segment_mask;
	args->op_mask = grant->op_mask;
	return 0;
}

/**
 * t3_grant_import_ioctl() - DRM_IOCTL_T3_GRANT_IMPORT
 * @drm: the device
 * @data: &struct drm_t3_grant_import
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_grant_import lists.
 */
int t3_grant_import_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_grant_import *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_grant_import_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_import(space, args);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_grant_import_rules));
}

/* ------------------------------------------------------------------ release */

static const struct t3_rule t3_grant_release_rules[] = {
	T3_ZERO(drm_t3_grant_release, flags),
	T3_ZERO(drm_t3_grant_release, pad),
	T3_CAUSE(-ENOENT, drm_t3_grant_release, import, "an import of the space"),
};

static int t3_release_locked(struct t3_space *source, const struct drm_t3_grant_release *args)
{
	struct t3_cmd_index cmd = { .space = source->hw_id };
	struct t3_route *route;
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	route = source->dead ? NULL : t3_route_find(source, args->import);
	if (!route)
		return -ENOENT;
	cmd.index = route - source->routes;
	if (t3_segments_use_route(source, cmd.index))
		return t3_refuse(source->file, args, -EBUSY, import,
				 "an import that no segment uses");
	ret = t3_admin(source->tdev, T3_CMD_ROUTE_CLEAR, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	trace_t3_grant_release(source, route);
	/* The owner keeps the handle, to revoke it; its device drops the source. */
	if (route->grant->programmed) {
		t3_import_clear(route->grant);
		route->grant->programmed = false;
	}
	t3_route_drop(route);
	return 0;
}

/**
 * t3_grant_release_ioctl() - DRM_IOCTL_T3_GRANT_RELEASE
 * @drm: the device
 * @data: &struct drm_t3_grant_release
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_grant_release lists.
 */
int t3_grant_release_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_grant_release *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_grant_release_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	mutex_lock(&t3_topology_lock);
	ret = t3_release_locked(space, args);
	mutex_unlock(&t3_topology_lock);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_grant_release_rules));
}

#ifdef T3_KUNIT
#include "tests/t3_route_test.c"
#endif
