// SPDX-License-Identifier: MIT
/* Grants: who may send updates to a space. */
#include <string.h>

#include "space/private.h"

void t3_tell_grant(struct t3_space *space, uint32_t grant, uint64_t segment_mask)
{
	const struct t3_hooks *hooks = t3_hooks_of(space);

	if (hooks)
		hooks->grant(space, grant, segment_mask);
}

int t3_grant_export(struct t3_space *space, uint64_t segment_mask, uint32_t op_mask, int *fd,
		    uint32_t *grant)
{
	return t3_grant_export_to(space, 0, segment_mask, op_mask, fd, grant);
}

int t3_grant_export_to(struct t3_space *space, uint32_t rank_mask, uint64_t segment_mask,
		       uint32_t op_mask, int *fd, uint32_t *grant)
{
	struct drm_t3_grant_export arg = {
		.segment_mask = segment_mask,
		.op_mask = op_mask,
		.rank_mask = rank_mask,
	};
	int ret;

	if (!space || !fd || !grant || !segment_mask || !op_mask)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_GRANT_EXPORT, &arg);
	if (ret)
		return ret;
	*fd = arg.fd;
	*grant = arg.grant;
	t3_tell_grant(space, arg.grant, segment_mask);
	return 0;
}

_Static_assert(sizeof(struct t3_key) == sizeof(struct drm_t3_key), "as the driver's");

int t3_key_export(struct t3_space *space, uint32_t rank_mask, uint64_t segment_mask,
		  uint32_t op_mask, struct t3_key *key, uint32_t *grant)
{
	struct drm_t3_key_export arg = {
		.segment_mask = segment_mask,
		.op_mask = op_mask,
		.rank_mask = rank_mask,
	};
	int ret;

	if (!space || !key || !grant || !segment_mask || !op_mask)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_KEY_EXPORT, &arg);
	if (ret)
		return ret;
	memcpy(key, &arg.key, sizeof(*key));
	*grant = arg.grant;
	t3_tell_grant(space, arg.grant, segment_mask);
	return 0;
}

int t3_key_import(struct t3_space *space, const struct t3_key *key, uint32_t *import,
		  struct t3_import_info *info)
{
	struct drm_t3_key_import arg = { 0 };
	int ret;

	if (!space || !key || !import)
		return -EINVAL;
	arg.space = space->handle;
	memcpy(&arg.key, key, sizeof(arg.key));
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_KEY_IMPORT, &arg);
	if (ret)
		return ret;
	*import = arg.import;
	if (info) {
		info->segment_mask = arg.key.segment_mask;
		info->op_mask = arg.key.op_mask;
		info->rank = arg.key.rank;
	}
	return 0;
}

int t3_grant_revoke(struct t3_space *space, uint32_t grant)
{
	struct drm_t3_grant_revoke arg = { .grant = grant };
	int ret;

	if (!space)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_GRANT_REVOKE, &arg);
	if (!ret)
		t3_tell_grant(space, grant, 0);
	return ret;
}

int t3_grant_import(struct t3_space *space, int fd, uint32_t *import, struct t3_import_info *info)
{
	struct drm_t3_grant_import arg = { .fd = fd };
	int ret;

	if (!space || !import)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_GRANT_IMPORT, &arg);
	if (ret)
		return ret;
	*import = arg.import;
	if (info) {
		info->segment_mask = arg.segment_mask;
		info->op_mask = arg.op_mask;
		info->rank = arg.rank;
	}
	return 0;
}

int t3_grant_release(struct t3_space *space, uint32_t import)
{
	struct drm_t3_grant_release arg = { .import = import };

	if (!space)
		return -EINVAL;
	arg.space = space->handle;
	return t3_ioctl(space->fd, DRM_IOCTL_T3_GRANT_RELEASE, &arg);
}
