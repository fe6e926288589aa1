// SPDX-License-Identifier: GPL-2.0-only
/*
 * Grants, on the receiving side: a file descriptor whose holder may bind it, once, to a space that
 * sends.
 *
 * Each grant has a slot in its owner's table from export on. The slot is also its index in the
 * device's import table, so importing does not fail for want of an entry (except for importers
 * that keep routes to revoked grants, see t3_import_place()). Slots are taken in turn, because the
 * device does not set an entry again while a message to its last user is under way.
 *
 * The slot is free again after revoke, after a close without import, or after the owner's reset. A
 * source that ends leaves its slot in use: the device has marked the import poisoned, and the owner
 * must see that first.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "t3_admin.h"
#include "t3_device.h"
#include "t3_grant.h"
#include "t3_refuse.h"
#include "t3_space.h"
#include "t3_trace.h"

static void t3_grant_free(struct kref *ref)
{
	kfree(container_of(ref, struct t3_grant, ref));
}

/**
 * t3_grant_put() - put a reference of a grant
 * @grant: the grant
 *
 * Context: any.
 */
void t3_grant_put(struct t3_grant *grant)
{
	kref_put(&grant->ref, t3_grant_free);
}

/**
 * t3_grant_detach() - take a grant from its owner
 * @grant: with an owner, of which the caller holds a reference as well
 *
 * Context: t3_topology_lock is held.
 */
void t3_grant_detach(struct t3_grant *grant)
{
	struct t3_space *owner = grant->owner;

	lockdep_assert_held(&t3_topology_lock);
	trace_t3_grant_end(owner, grant);
	owner->grants[grant->index] = NULL;
	grant->owner = NULL;
	grant->programmed = false;
	t3_grant_put(grant);
	t3_space_put(owner);
}

/**
 * t3_grants_drop() - take all grants from a space
 * @space: their owner, which ends or is reset; the device clears its import table itself
 *
 * Context: t3_topology_lock is held.
 */
void t3_grants_drop(struct t3_space *space)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		if (space->grants[i])
			t3_grant_detach(space->grants[i]);
}

/* The last close ends a grant that nobody has imported. */
static int t3_grant_release_file(struct inode *inode, struct file *filp)
{
	struct t3_grant *grant = filp->private_data;
	struct t3_space *owner;

	mutex_lock(&t3_topology_lock);
	owner = grant->bound ? NULL : grant->owner;
	if (owner) {
		t3_space_get(owner);
		t3_grant_detach(grant);
	}
	mutex_unlock(&t3_topology_lock);
	t3_space_put(owner);
	t3_grant_put(grant);
	return 0;
}

static const struct file_operations t3_grant_fops = {
	.owner = THIS_MODULE,
	.release = t3_grant_release_file,
	.llseek = noop_llseek,
};

/**
 * t3_grant_from_file() - find the grant of a file
 * @filp: any file, with a reference
 *
 * Return: the grant, valid as long as @filp is; or NULL: not a grant.
 */
struct t3_grant *t3_grant_from_file(struct file *filp)
{
	return filp->f_op == &t3_grant_fops ? filp->private_data : NULL;
}

/* ------------------------------------------------------------------- export */

/**
 * t3_grant_attach() - give a new grant to its owner
 * @grant: without an owner
 * @owner: the space that receives
 *
 * Context: t3_topology_lock is held.
 * Return: 0; -ENOENT the owner has ended; -ENOSPC its table is full.
 */
int t3_grant_attach(struct t3_grant *grant, struct t3_space *owner)
{
	u32 n, i = 0;

	lockdep_assert_held(&t3_topology_lock);
	if (owner->dead)
		return -ENOENT;
	for (n = 0; n < T3_SPACE_IMPORTS; n++) {
		i = (owner->next_grant + n) % T3_SPACE_IMPORTS;
		if (!owner->grants[i])
			break;
	}
	if (n == T3_SPACE_IMPORTS)
		return -ENOSPC;
	owner->next_grant = i + 1;
	grant->index = i;
	grant->handle = t3_space_next_handle(owner);
	grant->owner = t3_space_get(owner);
	owner->grants[i] = t3_grant_get(grant);
	trace_t3_grant_export(owner, grant);
	return 0;
}

static const struct t3_rule t3_grant_export_rules[] = {
	T3_ZERO(drm_t3_grant_export, flags),
	T3_RANGE(drm_t3_grant_export, segment_mask, 1, U64_MAX),
	T3_RANGE(drm_t3_grant_export, op_mask, 1, BIT(T3_OP_COUNT) - 1),
	T3_CAUSE(-ENOENT, drm_t3_grant_export, space, "a space of this open file"),
	T3_CAUSE(-ENOSPC, drm_t3_grant_export, space, "a space with fewer grants than 32"),
	T3_CAUSE(-EMFILE, drm_t3_grant_export, fd, "fewer open files: RLIMIT_NOFILE"),
	T3_CAUSE(-ENFILE, drm_t3_grant_export, fd, "fewer open files in the machine"),
};

/* Returns a file that holds a new grant, still without an owner. */
static struct file *t3_grant_file(const struct drm_t3_grant_export *args)
{
	struct t3_grant *grant;
	struct file *filp;

	grant = kzalloc_obj(*grant, GFP_KERNEL_ACCOUNT);
	if (!grant)
		return ERR_PTR(-ENOMEM);
	kref_init(&grant->ref);
	grant->segment_mask = args->segment_mask;
	grant->op_mask = args->op_mask;
	grant->rank_mask = args->rank_mask;
	filp = anon_inode_getfile("[t3-grant]", &t3_grant_fops, grant, O_RDWR);
	if (IS_ERR(filp))
		t3_grant_put(grant);
	return filp;
}

static int t3_grant_export(struct t3_space *owner, struct drm_t3_grant_export *args)
{
	struct t3_grant *grant;
	struct file *filp;
	int fd, ret;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	filp = t3_grant_file(args);
	if (IS_ERR(filp)) {
		put_unused_fd(fd);
		return PTR_ERR(filp);
	}
	grant = filp->private_data;
	mutex_lock(&t3_topology_lock);
	ret = t3_grant_attach(grant, owner);
	mutex_unlock(&t3_topology_lock);
	if (ret) {
		fput(filp);
		put_unused_fd(fd);
		return ret;
	}
	args->grant = grant->handle;
	args->fd = fd;
	fd_install(fd, filp);
	return 0;
}

/**
 * t3_grant_export_ioctl() - DRM_IOCTL_T3_GRANT_EXPORT
 * @drm: the device
 * @data: &struct drm_t3_grant_export
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_grant_export lists.
 */
int t3_grant_export_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_grant_export *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_grant_export_rules);
	if (ret)
		return ret;
	if (args->rank_mask >= BIT_ULL(to_t3_device(drm)->caps.ranks))
		return t3_refuse(file, args, -EINVAL, rank_mask, "ranks of the fabric");
	if (t3_ops_need(args->op_mask) & ~to_t3_device(drm)->caps.caps)
		return t3_refuse(file, args, -EOPNOTSUPP, op_mask,
				 "ops of the device: DRM_T3_FEATURE_*");
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	ret = t3_grant_export(space, args);
	t3_space_put(space);
	return t3_explain(file, args, ret, t3_grant_export_rules);
}

/* ------------------------------------------------------------------- revoke */

static struct t3_grant *t3_grant_find(struct t3_space *owner, u32 handle)
{
	u32 i;

	lockdep_assert_held(&t3_topology_lock);
	for (i = 0; i < T3_SPACE_IMPORTS; i++)
		if (owner->grants[i] && owner->grants[i]->handle == handle)
			return owner->grants[i];
	return NULL;
}

static const struct t3_rule t3_grant_revoke_rules[] = {
	T3_ZERO(drm_t3_grant_revoke, flags),
	T3_ZERO(drm_t3_grant_revoke, pad),
	T3_CAUSE(-ENOENT, drm_t3_grant_revoke, grant, "a grant of the space"),
};

/**
 * t3_grant_end() - end a grant, on the device too
 * @grant: with an owner that is not dead
 *
 * Context: t3_topology_lock is held.
 * Return: 0, or an error of t3_admin(): then nothing has changed.
 */
int t3_grant_end(struct t3_grant *grant)
{
	const struct t3_space *owner = grant->owner;
	struct t3_cmd_index cmd = { .space = owner->hw_id, .index = grant->index };
	int ret = 0;

	lockdep_assert_held(&t3_topology_lock);
	if (grant->programmed)
		ret = t3_admin(owner->tdev, T3_CMD_IMPORT_CLEAR, &cmd, sizeof(cmd));
	if (!ret)
		t3_grant_detach(grant);
	return ret;
}

static int t3_grant_revoke_locked(struct t3_space *owner, u32 handle)
{
	struct t3_grant *grant;

	lockdep_assert_held(&t3_topology_lock);
	grant = owner->dead ? NULL : t3_grant_find(owner, handle);
	return grant ? t3_grant_end(grant) : -ENOENT;
}

/**
 * t3_grant_revoke_ioctl() - DRM_IOCTL_T3_GRANT_REVOKE
 * @drm: the device
 * @data: &struct drm_t3_grant_revoke
 * @file: the open file
 *
 * Context: process context; may sleep.
 * Return: 0, or an error that the comment of &struct drm_t3_grant_revoke lists.
 */
int t3_grant_revoke_ioctl(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_t3_grant_revoke *args = data;
	struct t3_space *space;
	int ret;

	ret = t3_check(file, args, t3_grant_revoke_rules);
	if (ret)
		return ret;
	space = t3_space_lookup(file, args->space);
	if (!space)
		return t3_refuse_space(file, args);
	mutex_lock(&t3_topology_lock);
	ret = t3_grant_revoke_locked(space, args->grant);
	mutex_unlock(&t3_topology_lock);
	t3_space_put(space);
	return t3_space_explain(file, args, t3_explain(file, args, ret, t3_grant_revoke_rules));
}
