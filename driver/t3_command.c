// SPDX-License-Identifier: GPL-2.0
/*
 * A user's command into a descriptor. All that the device is told is checked here: it
 * knows device memory as a whole, and no buffers.
 */
#include <linux/overflow.h>

#include "t3_queue.h"
#include "t3_space.h"

static_assert((int)DRM_T3_COMMAND_COPY == (int)T3_DESC_COPY);
static_assert((int)DRM_T3_COMMAND_FILL == (int)T3_DESC_FILL);
static_assert((int)DRM_T3_COMMAND_UPDATE == (int)T3_DESC_UPDATE);

static bool t3_command_shape_valid(const struct drm_t3_command *cmd)
{
	return cmd->rows && cmd->row_bytes &&
	       (u64)cmd->rows * cmd->row_bytes <= T3_MAX_COPY_BYTES;
}

static bool t3_command_pitch_valid(const struct drm_t3_command *cmd, u64 pitch)
{
	return cmd->rows == 1 ? !pitch : pitch >= cmd->row_bytes;
}

/* UPDATE has a type and an op, FILL a pattern in place of a source. */
static bool t3_command_fields_valid(const struct drm_t3_command *cmd)
{
	bool fill = cmd->type == DRM_T3_COMMAND_FILL;
	bool update = cmd->type == DRM_T3_COMMAND_UPDATE;

	if (cmd->flags || (!fill && !update && cmd->type != DRM_T3_COMMAND_COPY))
		return false;
	if (!update && (cmd->op || cmd->dtype))
		return false;
	if (update && (cmd->dtype >= T3_DTYPE_COUNT || !t3_op_valid(cmd->dtype, cmd->op) ||
		       cmd->row_bytes % t3_dtype_size(cmd->dtype)))
		return false;
	if (fill ? cmd->src || cmd->src_offset || cmd->src_pitch : !!cmd->pattern)
		return false;
	return t3_command_shape_valid(cmd) && t3_command_pitch_valid(cmd, cmd->dst_pitch) &&
	       (fill || t3_command_pitch_valid(cmd, cmd->src_pitch));
}

/* Look an operand up; address: in device memory. */
static int t3_command_operand(struct drm_file *file, const struct drm_t3_command *cmd,
			      u32 handle, u64 offset, u64 pitch, struct t3_bo **found,
			      u64 *address)
{
	struct t3_bo *bo = t3_bo_lookup(file, handle);
	u64 end;

	if (!bo)
		return -ENOENT;
	*found = bo; /* the job's from here on */
	if (check_mul_overflow((u64)(cmd->rows - 1), pitch, &end) ||
	    check_add_overflow(end, (u64)cmd->row_bytes, &end) ||
	    check_add_overflow(end, offset, &end) || end > bo->base.size)
		return -EINVAL;
	*address = bo->chunk.start + offset;
	return 0;
}

/* The step holds what it has got, also when this fails. */
int t3_command_build(struct drm_file *file, const struct drm_t3_command *cmd,
		     struct t3_step *step)
{
	u64 src = cmd->pattern, dst;
	int ret;

	if (!t3_command_fields_valid(cmd))
		return -EINVAL;
	ret = t3_command_operand(file, cmd, cmd->dst, cmd->dst_offset, cmd->dst_pitch,
				 &step->dst, &dst);
	if (!ret && cmd->type != DRM_T3_COMMAND_FILL)
		ret = t3_command_operand(file, cmd, cmd->src, cmd->src_offset, cmd->src_pitch,
					 &step->src, &src);
	if (ret)
		return ret;
	step->descriptor = (struct t3_descriptor){
		.opcode = cmd->type,
		.op = cmd->op,
		.dtype = cmd->dtype,
		.src_kind = T3_LOC_MEMORY,
		.dst_kind = T3_LOC_MEMORY,
		.rows = cmd->rows,
		.row_bytes = cmd->row_bytes,
		.src = src,
		.dst = dst,
		.src_pitch = cmd->src_pitch,
		.dst_pitch = cmd->dst_pitch,
	};
	return 0;
}
