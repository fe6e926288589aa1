// SPDX-License-Identifier: GPL-2.0
/*
 * Grants by key, for spaces of another kernel's devices, which no file descriptor reaches. The
 * devices bind a key to the space that shows it: this driver only carries it. So an import by key
 * is the same for a device of this machine and for one of another node.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

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

/* The ranks that this machine's administrators let use keys with a device. */
static u32 t3_key_ranks(const struct t3_device *tdev)
{
	const struct t3_caps *caps = &tdev->caps;
	unsigned int rule = READ_ONCE(keys);

	if (rule == T3_KEYS_OFF)
		return 0;
	if (rule == T3_KEYS_NODE || !(caps->caps & T3_CAP_FAR_KEYS))
		return caps->node_ranks;
	return GENMASK(caps->ranks - 1, 0);
}

/* ------------------------------------------------------------- wrong keys */

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

/*
 * A user namespace gives its users numbers of other users, so its owner pays for all of them. Root
 * makes namespaces for others: their own roots pay for these.
 */
static kuid_t t3_key_ns_payer(struct user_namespace *ns, kuid_t payer)
{
	kuid_t root = make_kuid(ns, 0);

	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	return uid_valid(root) && !uid_eq(root, GLOBAL_ROOT_UID) ? root : payer;
}

/* The outermost namespace decides. */
static struct t3_key_debt *t3_key_debt(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t payer = current_euid();

	for (; ns != &init_user_ns; ns = ns->parent)
		payer = t3_key_ns_payer(ns, payer);
	return &t3_key_debts[hash_32(__kuid_val(payer), ilog2(T3_KEY_BUCKETS))];
}

/* Returns 0; 1 while the answers for other keys decide it; or -EDQUOT. */
static int t3_key_room(const struct t3_key_debt *debt, u64 now)
{
	u64 limit = now + (T3_KEY_TRIES - 1) * T3_KEY_PAUSE;

	lockdep_assert_held(&t3_topology_lock);
	if (debt->forgiven > limit)
		return -EDQUOT;
	return max(debt->forgiven, now) + debt->asked * T3_KEY_PAUSE > limit;
}

static int t3_key_may_ask(const struct t3_key_debt *debt)
{
	int ret = t3_key_room(debt, ktime_get_ns());

	return ret && capable(CAP_SYS_RESOURCE) ? 0 : ret;
}

static void t3_key_was_wrong(struct t3_key_debt *debt, u64 now)
{
	lockdep_assert_held(&t3_topology_lock);
	debt->forgiven = min(max(debt->forgiven, now), now + T3_KEY_TRIES * T3_KEY_PAUSE) +
			 T3_KEY_PAUSE;
}

/*
 * The end of a key that was asked. It is not wrong if no device has judged it. Nobody knows that of
 * a key whose asker did not wait: otherwise guessers would not.
 */
static void t3_key_settle(struct t3_key_debt *debt, int ret)
{
	mutex_lock(&t3_topology_lock);
	debt->asked--;
	if (ret && ret != -EHOSTUNREACH && ret != -EDQUOT && ret != -ETIMEDOUT)
		t3_key_was_wrong(debt, ktime_get_ns());
	mutex_unlock(&t3_topology_lock);
}

/* ------------------------------------------------------------------- export */

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

static int t3_key_export_locked(struct t3_space *owner, struct t3_grant *grant,
				struct drm_t3_key_export *args)
{
	struct drm_t3_key key;
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	ret = t3_grant_attach(grant, owner);
	if (ret)
		return ret;
	ret = t3_key_set(grant, &key);
	if (ret) {
		t3_grant_detach(grant);
	} else {
		grant->programmed = true;
		args->key = key;
		args->grant = grant->handle;
	}
	memzero_explicit(&key, sizeof(key));
	return ret;
}

static int t3_key_export(struct t3_space *owner, struct drm_t3_key_export *args, u32 ranks)
{
	struct t3_grant *grant;
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
	ret = t3_key_export_locked(owner, grant, args);
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

	if (args->flags || args->pad || !args->segment_mask || !args->op_mask ||
	    args->op_mask >= BIT(T3_OP_COUNT) || args->rank_mask >= BIT_ULL(tdev->caps.ranks))
		return -EINVAL;
	if (!(tdev->caps.caps & T3_CAP_KEYS))
		return -EOPNOTSUPP;
	allowed = t3_key_ranks(tdev);
	ranks = args->rank_mask ?: allowed;
	if (!ranks || (ranks & ~allowed))
		return -EPERM;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return -ENOENT;
	ret = t3_key_export(space, args, ranks);
	t3_space_put(space);
	return ret;
}

/* ------------------------------------------------------------------- import */

static int t3_key_check(const struct t3_device *tdev, const struct drm_t3_key *key)
{
	const struct t3_caps *caps = &tdev->caps;

	if (key->pad || !key->segment_mask || !key->op_mask ||
	    key->op_mask >= BIT(T3_OP_COUNT) || key->space >= T3_MAX_SPACES ||
	    key->import >= T3_SPACE_IMPORTS)
		return -EINVAL;
	if (!(caps->caps & T3_CAP_KEYS))
		return -EOPNOTSUPP;
	if (key->fabric_id != caps->fabric_id)
		return -EXDEV;
	if (key->rank >= caps->ranks)
		return -EINVAL;
	if (key->rank == caps->rank)
		return -EHOSTUNREACH;
	return t3_key_ranks(tdev) & BIT(key->rank) ? 0 : -EPERM;
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

static int t3_key_claim(struct t3_space *source, const struct t3_route *route,
			const struct drm_t3_key *key)
{
	struct t3_cmd_route_claim cmd = {
		.to = {
			.space = source->hw_id,
			.route = route - source->routes,
			.peer_rank = key->rank,
			.peer_space = key->space,
			.peer_generation = key->generation,
			.peer_import = key->import,
		},
	};
	int ret;

	memcpy(cmd.key, key->secret, sizeof(cmd.key));
	ret = t3_admin(source->tdev, T3_CMD_ROUTE_CLAIM, &cmd, sizeof(cmd));
	memzero_explicit(cmd.key, sizeof(cmd.key));
	return ret;
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
static int t3_key_ask_locked(struct t3_space *source, struct t3_grant *grant,
			     const struct drm_t3_key *key, struct t3_key_debt *debt, u32 *handle)
{
	struct t3_route *route;
	int ret;

	lockdep_assert_held(&t3_topology_lock);
	if (source->dead)
		return -ENOENT;
	ret = t3_key_may_ask(debt);
	if (ret)
		return ret;
	t3_routes_tidy(source);
	route = t3_route_free_slot(source);
	if (!route)
		return -ENOSPC;
	ret = t3_key_claim(source, route, key);
	if (ret)
		return ret;
	debt->asked++;
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
static int t3_key_look_locked(struct t3_space *source, u32 handle)
{
	struct t3_cmd_route_query cmd = { .space = source->hw_id };
	struct t3_route *route = t3_key_find(source, handle);
	int ret;

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

static int t3_key_look(struct t3_space *source, u32 handle)
{
	int ret;

	mutex_lock(&t3_topology_lock);
	ret = t3_key_look_locked(source, handle);
	mutex_unlock(&t3_topology_lock);
	return ret;
}

static void t3_key_end_wait(struct t3_space *source, u32 handle)
{
	struct t3_route *route;

	mutex_lock(&t3_topology_lock);
	route = t3_key_find(source, handle);
	if (route)
		t3_route_give_up(source, route);
	mutex_unlock(&t3_topology_lock);
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

/* With many right keys at once, as those of a job of many ranks, some must wait to be asked. */
static int t3_key_ask(struct t3_space *source, struct t3_grant *grant,
		      const struct drm_t3_key *key, struct t3_key_debt *debt, u32 *handle)
{
	u64 end = ktime_get_ns() + T3_KEY_WAIT_NS;
	u64 pause = T3_KEY_POLL_MIN_NS;
	int ret;

	do {
		mutex_lock(&t3_topology_lock);
		ret = t3_key_ask_locked(source, grant, key, debt, handle);
		mutex_unlock(&t3_topology_lock);
		if (ret != 1)
			return ret;
		ret = t3_key_pause(end, &pause);
	} while (!ret);
	return ret;
}

/* The device raises no interrupt for an answer: it comes within microseconds, or is rare. */
static int t3_key_wait(struct t3_space *source, u32 handle)
{
	u64 end = ktime_get_ns() + T3_KEY_WAIT_NS;
	u64 pause = T3_KEY_POLL_MIN_NS;
	int ret;

	while ((ret = t3_key_look(source, handle)) == 1) {
		ret = t3_key_pause(end, &pause);
		if (ret) {
			t3_key_end_wait(source, handle);
			break;
		}
	}
	return ret;
}

static int t3_key_import(struct t3_space *source, struct drm_t3_key_import *args)
{
	struct t3_grant *grant = t3_key_masks(&args->key);
	struct t3_key_debt *debt = t3_key_debt();
	u32 handle = 0;
	int ret;

	if (!grant)
		return -ENOMEM;
	ret = t3_key_ask(source, grant, &args->key, debt, &handle);
	t3_grant_put(grant);
	if (ret)
		return ret;
	ret = t3_key_wait(source, handle);
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

	if (args->flags || args->pad)
		return -EINVAL;
	ret = t3_key_check(to_t3_device(drm), &args->key);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return -ENOENT;
	ret = t3_key_import(space, args);
	t3_space_put(space);
	return ret;
}

#ifdef T3_KUNIT
#include "tests/t3_key_test.c"
#endif
