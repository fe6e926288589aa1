// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants by key, for spaces of another kernel's devices, which no file descriptor reaches. The
 * devices bind a key to the space that shows it: this driver only carries it. So an import by key
 * is the same for a device of this machine and for one of another node.
 */
#include <linux/cleanup.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_grant.h"
#include "t3_refuse.h"
#include "t3_space.h"
#include "t3_trace.h"

enum { T3_KEYS_OFF, T3_KEYS_NODE, T3_KEYS_FABRIC };

static unsigned int keys = T3_KEYS_NODE;
module_param(keys, uint, 0644);
MODULE_PARM_DESC(keys,
		 "Grants by key: 0: none, 1: between devices of this machine (default), 2: also with other nodes of the fabric");

/* A link gives up after 3 s, and its answer may wait behind other packets. */
#define T3_KEY_WAIT_NS	   (10 * NSEC_PER_SEC)
#define T3_KEY_POLL_MIN_NS (20 * NSEC_PER_USEC)
#define T3_KEY_POLL_MAX_NS (5 * NSEC_PER_MSEC)

static_assert(sizeof_field(struct t3_cmd_key_set, key) == DRM_T3_KEY_SECRET);

/**
 * t3_key_ranks() - get the ranks that this machine's administrators let use keys with a device
 * @tdev: the device
 *
 * Return: bit for each rank; the switch has none.
 */
u32 t3_key_ranks(const struct t3_device *tdev)
{
	const struct t3_caps *caps = &tdev->caps;
	unsigned int rule = READ_ONCE(keys);

	if (rule == T3_KEYS_OFF)
		return 0;
	if (rule == T3_KEYS_NODE || !(caps->caps & T3_CAP_FAR_KEYS))
		return caps->node_ranks;
	return GENMASK(caps->ranks - 1, 0);
}

/* ------------------------------------------------------------------- export */

#define T3_NO_KEYS "a space of a device with DRM_T3_FEATURE_KEYS"

static const struct t3_rule t3_key_export_rules[] = {
	T3_ZERO(drm_t3_key_export, flags),
	T3_ZERO(drm_t3_key_export, pad),
	T3_RANGE(drm_t3_key_export, segment_mask, 1, U64_MAX),
	T3_RANGE(drm_t3_key_export, op_mask, 1, BIT(T3_OP_COUNT) - 1),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_key_export, space, T3_NO_KEYS),
	T3_CAUSE(-EPERM, drm_t3_key_export, rank_mask,
		 "ranks that the module parameter keys allows"),
	T3_CAUSE(-ENOENT, drm_t3_key_export, space, "a space of this open file"),
	T3_CAUSE(-ENOSPC, drm_t3_key_export, space, "a space with fewer grants than 32"),
	T3_CAUSE(-EEXIST, drm_t3_key_export, space,
		 "the same again later: a message to the entry's last user is under way"),
};

static int t3_key_set(const struct t3_grant *grant, struct drm_t3_key *key)
{
	const struct t3_space *owner = grant->owner;
	struct t3_cmd_key_set cmd = {
		.space = owner->hw_id,
		.import = grant->index,
		.rank_mask = grant->rank_mask,
		.op_mask = grant->op_mask,
		.segment_mask = grant->segment_mask,
	};
	int ret;

	*key = (struct drm_t3_key){
		.fabric_id = owner->tdev->caps.fabric_id,
		.segment_mask = grant->segment_mask,
		.op_mask = grant->op_mask,
		.rank = owner->tdev->caps.rank,
		.space = owner->hw_id,
		.generation = owner->generation,
		.import = grant->index,
	};
	get_random_bytes(key->secret, sizeof(key->secret));
	memcpy(cmd.key, key->secret, sizeof(cmd.key));
	ret = t3_admin(owner->tdev, T3_CMD_KEY_SET, &cmd, sizeof(cmd));
	memzero_explicit(cmd.key, sizeof(cmd.key));
	return ret;
}

static int t3_key_export(struct t3_space *owner, struct drm_t3_key_export *args, u32 ranks)
{
	struct t3_grant *grant;
	struct drm_t3_key key;
	int ret;

	grant = kzalloc_obj(*grant, GFP_KERNEL_ACCOUNT);
	if (!grant)
		return -ENOMEM;
	kref_init(&grant->ref);
	grant->segment_mask = args->segment_mask;
	grant->op_mask = args->op_mask;
	grant->rank_mask = ranks;
	grant->keyed = true;
	grant->bound = true; /* no file can be imported */

	mutex_lock(&t3_topology_lock);
	ret = t3_grant_attach(grant, owner);
	if (ret)
		goto unlock;
	ret = t3_key_set(grant, &key);
	if (ret) {
		t3_grant_detach(grant);
	} else {
		grant->programmed = true;
		args->key = key;
		args->grant = grant->handle;
	}
	memzero_explicit(&key, sizeof(key));
unlock:
	mutex_unlock(&t3_topology_lock);
	t3_grant_put(grant);
	return ret;
}

/**
 * t3_key_export_ioctl() - DRM_IOCTL_T3_KEY_EXPORT
 * @drm: the device
 * @data: &struct drm_t3_key_export
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_key_export lists.
 */
int t3_key_export_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct t3_device *tdev = to_t3_device(drm);
	struct drm_t3_key_export *args = data;
	struct t3_space *space;
	u32 allowed, ranks;
	int ret;

	ret = t3_check(file, args, t3_key_export_rules);
	if (ret)
		return ret;
	if (args->rank_mask >= BIT_ULL(tdev->caps.ranks))
		return t3_refuse(file, args, -EINVAL, rank_mask, "ranks of the fabric");
	if (t3_ops_need(args->op_mask) & ~tdev->caps.caps)
		return t3_refuse(file, args, -EOPNOTSUPP, op_mask,
				 "ops of the device: DRM_T3_FEATURE_*");
	if (!(tdev->caps.caps & T3_CAP_KEYS))
		return t3_explain(file, args, -EOPNOTSUPP, t3_key_export_rules);
	allowed = t3_key_ranks(tdev);
	ranks = args->rank_mask ?: allowed;
	if (!ranks || (ranks & ~allowed))
		return t3_explain(file, args, -EPERM, t3_key_export_rules);
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_key_export(space, args, ranks);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_key_export_rules));
}

/* ------------------------------------------------------------------- import */

static const struct t3_rule t3_key_import_rules[] = {
	T3_ZERO(drm_t3_key_import, flags),
	T3_ZERO(drm_t3_key_import, pad),
	T3_ZERO(drm_t3_key_import, key.pad),
	T3_RANGE(drm_t3_key_import, key.segment_mask, 1, U64_MAX),
	T3_RANGE(drm_t3_key_import, key.op_mask, 1, BIT(T3_OP_COUNT) - 1),
	T3_RANGE(drm_t3_key_import, key.space, 0, T3_MAX_SPACES - 1),
	T3_RANGE(drm_t3_key_import, key.import, 0, T3_SPACE_IMPORTS - 1),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_key_import, space, T3_NO_KEYS),
	T3_CAUSE(-EXDEV, drm_t3_key_import, key.fabric_id, "this device's fabric"),
	T3_CAUSE(-EHOSTUNREACH, drm_t3_key_import, key.rank,
		 "a rank with a link to this one, and with a device"),
	T3_CAUSE(-EPERM, drm_t3_key_import, key.rank,
		 "a rank that the module parameter keys allows"),
	T3_CAUSE(-ENOENT, drm_t3_key_import, space, "a space of this open file"),
	T3_CAUSE(-ENOSPC, drm_t3_key_import, space,
		 "a space with fewer imports than 32: release those that were revoked"),
	T3_CAUSE(-EEXIST, drm_t3_key_import, key.import,
		 "the entry of an import that was released, and whose messages have arrived"),
};

static int t3_key_check(const struct t3_device *tdev, struct drm_file *file,
			const struct drm_t3_key_import *args)
{
	const struct t3_caps *caps = &tdev->caps;
	int ret;

	ret = t3_check(file, args, t3_key_import_rules);
	if (ret)
		return ret;
	if (!(caps->caps & T3_CAP_KEYS))
		return -EOPNOTSUPP;
	if (args->key.fabric_id != caps->fabric_id)
		return -EXDEV;
	if (args->key.rank == T3_SWITCH_RANK && t3_has_switch(tdev))
		return t3_key_ranks(tdev) ? 0 : -EPERM;
	if (args->key.rank >= caps->ranks)
		return t3_refuse_range(file, args, -EINVAL, key.rank, 0, caps->ranks - 1);
	if (args->key.rank == caps->rank)
		return -EHOSTUNREACH;
	return t3_key_ranks(tdev) & BIT(args->key.rank) ? 0 : -EPERM;
}

/* The device's answer, in the caller's words. */
static int t3_key_refusal(u32 nak)
{
	switch (nak) {
	case T3_ROUTE_NO_ANSWER:
		return -ETIMEDOUT;
	case T3_NAK_NO_DEVICE:
		return -EHOSTUNREACH;
	case T3_NAK_KEY_LIMIT:
		return -EDQUOT;
	default:
		return -EACCES;
	}
}

static struct t3_grant *t3_key_masks(const struct drm_t3_key *key)
{
	struct t3_grant *grant = kzalloc_obj(*grant, GFP_KERNEL_ACCOUNT);

	if (!grant)
		return NULL;
	kref_init(&grant->ref);
	grant->segment_mask = key->segment_mask;
	grant->op_mask = key->op_mask;
	grant->by_key = true;
	return grant;
}

/* Returns the route's handle, which nobody can use yet; or 1: too many other keys are asked. */
static int t3_key_ask(struct t3_space *source, struct t3_grant *grant,
		      const struct drm_t3_key *key, struct t3_key_debt *debt, u32 *handle)
{
	struct t3_cmd_route_claim cmd = {
		.to = {
			.space = source->hw_id,
			.peer_rank = key->rank,
			.peer_space = key->space,
			.peer_generation = key->generation,
			.peer_import = key->import,
		},
	};
	struct t3_route *route;
	int ret;

	guard(mutex)(&t3_topology_lock);
	if (source->dead)
		return -ENOENT;
	ret = t3_key_may_ask(debt);
	if (ret)
		return ret;
	t3_routes_tidy(source);
	route = t3_route_free_slot(source);
	if (!route)
		return -ENOSPC;
	cmd.to.route = route - source->routes;
	memcpy(cmd.key, key->secret, sizeof(cmd.key));
	ret = t3_admin(source->tdev, T3_CMD_ROUTE_CLAIM, &cmd, sizeof(cmd));
	memzero_explicit(cmd.key, sizeof(cmd.key));
	if (ret)
		return ret;
	t3_key_asked(debt);
	*handle = t3_space_next_handle(source);
	*route = (struct t3_route){
		.grant = t3_grant_get(grant),
		.handle = *handle,
		.pending = true,
		.peer_rank = key->rank,
		.peer_space = key->space,
		.peer_generation = key->generation,
		.peer_import = key->import,
	};
	return 0;
}

/* A reset or the end of the space has dropped the route if it is not found. */
static struct t3_route *t3_key_find(struct t3_space *source, u32 handle)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	if (source->dead)
		return NULL;
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (source->routes[i].grant && source->routes[i].handle == handle)
			return &source->routes[i];
	return NULL;
}

/* Returns 1 while the target has not answered. */
static int t3_key_look(struct t3_space *source, u32 handle)
{
	struct t3_cmd_route_query cmd = { .space = source->hw_id };
	struct t3_route *route;
	int ret;

	guard(mutex)(&t3_topology_lock);
	route = t3_key_find(source, handle);
	if (!route)
		return -ENOENT;
	cmd.route = route - source->routes;
	ret = t3_admin_query(source->tdev, T3_CMD_ROUTE_QUERY, &cmd, sizeof(cmd));
	if (!ret && cmd.state == T3_ROUTE_ASKED)
		return 1;
	if (!ret && cmd.state != T3_ROUTE_SET)
		ret = t3_key_refusal(cmd.nak);
	if (ret) {
		t3_route_give_up(source, route);
		return ret;
	}
	route->pending = false;
	trace_t3_grant_import(source, route);
	return 0;
}

static void t3_key_end_wait(struct t3_space *source, u32 handle)
{
	struct t3_route *route;

	guard(mutex)(&t3_topology_lock);
	route = t3_key_find(source, handle);
	if (route)
		t3_route_give_up(source, route);
}

/* 0 while there is time. */
static int t3_key_pause(u64 end, u64 *pause)
{
	ktime_t time = ns_to_ktime(*pause);

	if (ktime_get_ns() > end)
		return -ETIMEDOUT;
	if (signal_pending(current))
		return -ERESTARTSYS; /* the same space may show the key again */
	set_current_state(TASK_INTERRUPTIBLE);
	schedule_hrtimeout_range(&time, *pause / 4, HRTIMER_MODE_REL);
	*pause = min(2 * *pause, (u64)T3_KEY_POLL_MAX_NS);
	return 0;
}

static int t3_key_import(struct t3_space *source, struct drm_t3_key_import *args)
{
	struct t3_grant *grant = t3_key_masks(&args->key);
	struct t3_key_debt *debt = t3_key_debt();
	u64 end = ktime_get_ns() + T3_KEY_WAIT_NS;
	u64 pause = T3_KEY_POLL_MIN_NS;
	u32 handle = 0;
	int ret;

	if (!grant)
		return -ENOMEM;
	/* Of many right keys at once, as those of a job of many ranks, some must wait. */
	while ((ret = t3_key_ask(source, grant, &args->key, debt, &handle)) == 1) {
		ret = t3_key_pause(end, &pause);
		if (ret)
			break;
	}
	t3_grant_put(grant);
	if (ret)
		return ret;

	/* The device raises no interrupt for an answer, which takes microseconds or is rare. */
	end = ktime_get_ns() + T3_KEY_WAIT_NS;
	pause = T3_KEY_POLL_MIN_NS;
	while ((ret = t3_key_look(source, handle)) == 1) {
		ret = t3_key_pause(end, &pause);
		if (ret) {
			t3_key_end_wait(source, handle);
			break;
		}
	}
	t3_key_settle(debt, ret);
	if (!ret)
		args->import = handle;
	return ret;
}

/**
 * t3_key_import_ioctl() - DRM_IOCTL_T3_KEY_IMPORT
 * @drm: the device
 * @data: &struct drm_t3_key_import
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_key_import lists.
 */
int t3_key_import_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_key_import *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_key_check(to_t3_device(drm), file, args);
	if (ret)
		return t3_explain(file, args, ret, t3_key_import_rules);
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_key_import(space, args);
	t3_space_put(space);
	/* The secret is no one's to see. */
	if (ret == -EACCES)
		return t3_refuse_field(file, ret, "key.secret",
				       "a key that the target's device knows");
	if (ret == -EDQUOT)
		return t3_refuse_field(file, ret, "key.secret",
				       "a right one: many wrong ones were shown");
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_key_import_rules));
}
