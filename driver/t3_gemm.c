// SPDX-License-Identifier: GPL-2.0
/*
 * GEMM commands. Their operands are memory of this device, or for the output a space of
 * the caller's: one descriptor, with its parameters beside it in the rings.
 */
#include <linux/slab.h>

#include "t3_queue.h"
#include "t3_space.h"

#define T3_GEMM_FIELDS offsetof(struct drm_t3_command, b)

static_assert(DRM_T3_GEMM_CHUNKS_UP == T3_GEMM_CHUNKS_UP);
static_assert(DRM_T3_GEMM_DEPTH_MAX == T3_MAX_DEPTH);
static_assert(offsetof(struct t3_rings, gemms) % sizeof(struct t3_gemm) == 0);

/* Whether all that only a GEMM has is 0. */
bool t3_gemm_fields_unused(const struct drm_t3_command *cmd)
{
	return !memchr_inv((const u8 *)cmd + T3_GEMM_FIELDS, 0, sizeof(*cmd) - T3_GEMM_FIELDS);
}

static u32 t3_gemm_columns(const struct drm_t3_command *cmd)
{
	return cmd->row_bytes / t3_dtype_size(cmd->dtype);
}

static u64 t3_gemm_depth_bytes(const struct drm_t3_command *cmd)
{
	return (u64)cmd->depth * t3_dtype_size(cmd->dtype);
}

static bool t3_gemm_within(u32 value, u32 limit)
{
	return value && value <= min(limit, U16_MAX);
}

static bool t3_gemm_order_valid(const struct drm_t3_command *cmd)
{
	return cmd->chunk_rows && cmd->chunk_rows <= cmd->rows &&
	       cmd->first_chunk <= (cmd->rows - 1) / cmd->chunk_rows &&
	       t3_gemm_within(cmd->group_rows, cmd->chunk_rows) &&
	       t3_gemm_within(cmd->group_columns, t3_gemm_columns(cmd)) &&
	       t3_gemm_within(cmd->tile_rows, cmd->group_rows) &&
	       t3_gemm_within(cmd->tile_columns, cmd->group_columns) &&
	       t3_gemm_within(cmd->raster_rows, U16_MAX);
}

static bool t3_gemm_fields_valid(const struct drm_t3_command *cmd)
{
	if (cmd->flags & ~DRM_T3_GEMM_CHUNKS_UP || cmd->op || cmd->pattern ||
	    cmd->dtype > T3_DTYPE_BF16)
		return false;
	if (!cmd->rows || !cmd->row_bytes || cmd->row_bytes % t3_dtype_size(cmd->dtype) ||
	    (u64)cmd->rows * cmd->row_bytes > T3_MAX_COPY_BYTES)
		return false;
	if (!cmd->depth || cmd->depth > T3_MAX_DEPTH || (cmd->space && cmd->dst))
		return false;
	return t3_gemm_order_valid(cmd) &&
	       t3_pitch_valid(cmd->src_pitch, cmd->rows, t3_gemm_depth_bytes(cmd)) &&
	       t3_pitch_valid(cmd->b_pitch, cmd->depth, cmd->row_bytes) &&
	       t3_pitch_valid(cmd->dst_pitch, cmd->rows, cmd->row_bytes);
}

/* Neither factor is above 2^30, nor their product above 2^50. */
static bool t3_gemm_too_large(const struct drm_t3_command *cmd)
{
	return (u64)cmd->rows * t3_gemm_columns(cmd) * cmd->depth > DRM_T3_GEMM_WORK_MAX;
}

static int t3_gemm_operand(struct drm_file *file, struct t3_operand *operand, u32 handle, u32 rows,
			   u64 row_bytes)
{
	int ret = t3_operand_get(file, operand, handle, rows, row_bytes);

	if (ret)
		return ret;
	return operand->bo->kind == T3_BO_DEVICE ? 0 : -EOPNOTSUPP;
}

/*
 * The device is told the space's generation, which a reset or the end of the space change:
 * nothing needs to hold the space until the job runs, and no other space can be hit.
 */
static int t3_gemm_space_locked(struct t3_command *command, struct t3_space *space)
{
	const struct drm_t3_command *cmd = &command->user;

	lockdep_assert_held(&t3_topology_lock);
	if (space->dead)
		return -ENOENT;
	if (!t3_rows_within(cmd->dst_offset, cmd->dst_pitch, cmd->rows, cmd->row_bytes,
			    space->size))
		return -EINVAL;
	command->hw_space = space->hw_id;
	command->generation = space->generation;
	return 0;
}

static int t3_gemm_space(struct drm_file *file, struct t3_command *command)
{
	struct t3_space *space = t3_space_lookup(file, command->user.space);
	int ret;

	if (!space)
		return -ENOENT;
	ret = mutex_lock_interruptible(&t3_topology_lock);
	if (!ret) {
		ret = t3_gemm_space_locked(command, space);
		mutex_unlock(&t3_topology_lock);
	}
	t3_space_put(space);
	return ret;
}

static int t3_gemm_operands(struct drm_file *file, struct t3_command *command)
{
	const struct drm_t3_command *cmd = &command->user;
	int ret;

	command->src.offset = cmd->src_offset;
	command->src.pitch = cmd->src_pitch;
	ret = t3_gemm_operand(file, &command->src, cmd->src, cmd->rows, t3_gemm_depth_bytes(cmd));
	if (ret)
		return ret;
	command->b.offset = cmd->b_offset;
	command->b.pitch = cmd->b_pitch;
	ret = t3_gemm_operand(file, &command->b, cmd->b, cmd->depth, cmd->row_bytes);
	if (ret)
		return ret;
	command->dst.offset = cmd->dst_offset;
	command->dst.pitch = cmd->dst_pitch;
	if (cmd->space)
		return t3_gemm_space(file, command);
	return t3_gemm_operand(file, &command->dst, cmd->dst, cmd->rows, cmd->row_bytes);
}

static u64 t3_gemm_address(const struct t3_operand *operand)
{
	u64 address;

	t3_bo_run(operand->bo, operand->offset, &address);
	return address;
}

static struct t3_gemm t3_gemm_describe(const struct t3_command *command)
{
	const struct drm_t3_command *cmd = &command->user;

	return (struct t3_gemm){
		.a = t3_gemm_address(&command->src),
		.b = t3_gemm_address(&command->b),
		.a_pitch = command->src.pitch,
		.b_pitch = command->b.pitch,
		.depth = cmd->depth,
		.chunk_rows = cmd->chunk_rows,
		.first_chunk = cmd->first_chunk,
		.group_rows = cmd->group_rows,
		.group_columns = cmd->group_columns,
		.tile_rows = cmd->tile_rows,
		.tile_columns = cmd->tile_columns,
		.raster_rows = cmd->raster_rows,
		.flags = cmd->flags,
	};
}

/* As t3_command_parse(), which calls it. */
int t3_gemm_parse(struct drm_file *file, struct t3_command *command)
{
	int ret;

	if (!t3_gemm_fields_valid(&command->user))
		return -EINVAL;
	if (!(t3_file_device(file)->caps.caps & T3_CAP_GEMM))
		return -EOPNOTSUPP;
	if (t3_gemm_too_large(&command->user))
		return -EFBIG;
	ret = t3_gemm_operands(file, command);
	if (ret)
		return ret;
	command->gemm = kmalloc(sizeof(*command->gemm), GFP_KERNEL_ACCOUNT);
	if (!command->gemm)
		return -ENOMEM;
	*command->gemm = t3_gemm_describe(command);
	command->pieces = 1;
	return 0;
}

/*
 * The step holds the buffers, too, and takes the parameters. Where those lie is known when
 * it is emitted.
 */
void t3_gemm_build(struct t3_command *command, struct t3_step *step)
{
	const struct drm_t3_command *cmd = &command->user;

	step->descriptor = (struct t3_descriptor){
		.opcode = T3_DESC_GEMM,
		.dtype = cmd->dtype,
		.src_kind = T3_LOC_HOST,
		.dst_kind = cmd->space ? T3_LOC_SPACE : T3_LOC_MEMORY,
		.rows = cmd->rows,
		.row_bytes = cmd->row_bytes,
		.dst = cmd->space ? cmd->dst_offset : t3_gemm_address(&command->dst),
		.dst_pitch = cmd->dst_pitch,
		.space = command->hw_space,
		.generation = command->generation,
	};
	step->gemm = command->gemm;
	step->dst = t3_bo_get(command->dst.bo);
	step->reads[0] = t3_bo_get(command->src.bo);
	step->reads[1] = t3_bo_get(command->b.bo);
	command->gemm = NULL;
}

/*
 * Doing it twice is as good as once: in memory, and with operands of other buffers. A
 * space counts each store, and that of a device that was reset is gone.
 */
bool t3_gemm_repeatable(const struct t3_step *step)
{
	return step->descriptor.dst_kind == T3_LOC_MEMORY && step->dst != step->reads[0] &&
	       step->dst != step->reads[1];
}
