// SPDX-License-Identifier: MIT
/* Segments: what stores to a range of a space mean. */
#include "space/private.h"

static const struct t3_target no_target;

static int map(struct t3_space *space, const struct t3_segment_desc *desc, uint32_t kind,
	       const struct t3_target *target)
{
	struct drm_t3_segment_map arg = { .kind = kind };
	const struct t3_hooks *hooks;
	uint64_t bit;
	int ret;

	if (!space || !target || !target->import_count != !target->imports)
		return -EINVAL;
	ret = t3_desc_check(desc);
	if (ret)
		return ret;
	arg.space = space->handle;
	arg.segment = desc->segment;
	arg.op = desc->op;
	arg.dtype = desc->dtype;
	arg.init = desc->init;
	arg.updates = desc->updates;
	arg.offset = desc->offset;
	arg.rows = desc->rows;
	arg.row_bytes = desc->row_bytes;
	arg.pitch = desc->pitch;
	arg.tile_rows = desc->tile_rows;
	arg.tile_row_bytes = desc->tile_row_bytes;
	arg.import = target->import;
	arg.target_op = target->op;
	arg.target_segment = target->segment;
	arg.target_row = target->row;
	arg.target_col = target->col;
	arg.block_tiles = target->block_tiles;
	arg.import_count = target->import_count;
	arg.imports = (uintptr_t)target->imports;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SEGMENT_MAP, &arg);
	if (ret)
		return ret;
	bit = 1ull << desc->segment;
	atomic_fetch_or(&space->mapped, bit);
	if (kind == DRM_T3_SEGMENT_LOCAL)
		atomic_fetch_or(&space->local, bit);
	hooks = t3_hooks_of(space);
	if (hooks)
		hooks->map(space, desc, kind);
	return 0;
}

int t3_local_map(struct t3_space *space, const struct t3_segment_desc *desc)
{
	return map(space, desc, DRM_T3_SEGMENT_LOCAL, &no_target);
}

int t3_remote_map(struct t3_space *space, const struct t3_segment_desc *desc,
		  const struct t3_target *target)
{
	return map(space, desc, DRM_T3_SEGMENT_REMOTE, target);
}

int t3_dma_map(struct t3_space *space, const struct t3_segment_desc *desc,
	       const struct t3_target *target)
{
	return map(space, desc, DRM_T3_SEGMENT_DMA, target);
}

int t3_unmap(struct t3_space *space, uint32_t segment)
{
	struct drm_t3_segment_unmap arg = { .segment = segment };
	const struct t3_hooks *hooks;
	int ret;

	if (!space || segment >= T3_SEGMENTS)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SEGMENT_UNMAP, &arg);
	if (ret)
		return ret;
	atomic_fetch_and(&space->mapped, ~(1ull << segment));
	atomic_fetch_and(&space->local, ~(1ull << segment));
	hooks = t3_hooks_of(space);
	if (hooks)
		hooks->unmap(space, segment);
	return 0;
}

/*
 * Tell the checker of the staging. Without a mapping of the buffer it takes the staging for none.
 */
static void tell_staging(struct t3_space *space, uint32_t segment, struct t3_buffer *buffer,
			 const struct drm_t3_segment_staging *arg)
{
	const struct t3_hooks *hooks = t3_hooks_of(space);
	struct t3_staging staging = { .stride = arg->slot_stride, .slots = arg->slots };
	void *ptr = NULL;

	if (!hooks)
		return;
	if (buffer && !t3_buffer_map(buffer, &ptr))
		staging.image = (unsigned char *)ptr + arg->offset;
	hooks->stage_in(space, segment, &staging);
}

int t3_staging_bind(struct t3_space *space, uint32_t segment, struct t3_buffer *buffer,
		    uint64_t offset, uint64_t stride, uint32_t slots)
{
	struct drm_t3_segment_staging arg = {
		.segment = segment,
		.slots = slots,
		.offset = offset,
		.slot_stride = stride,
	};
	int ret;

	if (!space || segment >= T3_SEGMENTS || slots > T3_SLOTS || !buffer != !slots)
		return -EINVAL;
	if (buffer && buffer->fd != space->fd)
		return -EOPNOTSUPP;
	arg.space = space->handle;
	arg.bo_handle = buffer ? buffer->handle : 0;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SEGMENT_STAGING, &arg);
	if (!ret)
		tell_staging(space, segment, buffer, &arg);
	return ret;
}

int t3_widen_bind(struct t3_space *space, uint32_t segment, struct t3_buffer *buffer,
		  uint64_t offset)
{
	struct drm_t3_segment_widen arg = { .segment = segment, .offset = offset };

	if (!space || segment >= T3_SEGMENTS)
		return -EINVAL;
	if (buffer && buffer->fd != space->fd)
		return -EOPNOTSUPP;
	arg.space = space->handle;
	arg.bo_handle = buffer ? buffer->handle : 0;
	return t3_ioctl(space->fd, DRM_IOCTL_T3_SEGMENT_WIDEN, &arg);
}
