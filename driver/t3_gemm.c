// SPDX-License-Identifier: GPL-2.0
/*
 * GEMM commands. The operands are memory of this device; the output may instead be a space of the
 * caller. A command is one descriptor, with its parameters beside it in the rings.
 */
#include <linux/slab.h>

#include "t3_format.h"
#include "t3_queue.h"
#include "t3_space.h"

static_assert(DRM_T3_GEMM_CHUNKS_UP == T3_GEMM_CHUNKS_UP);
static_assert(DRM_T3_GEMM_DEPTH_MAX == T3_MAX_DEPTH);
static_assert(offsetof(struct t3_rings, gemms) % sizeof(struct t3_gemm) == 0);

static u64 t3_gemm_bytes(const struct drm_t3_gemm *user, u32 elements)
{
	return (u64)elements * t3_dtype_size(user->dtype);
}

static bool t3_gemm_within(u32 value, u32 limit)
{
	return value && value <= min(limit, DRM_T3_GEMM_GROUP_MAX);
}

static bool t3_gemm_order_valid(const struct drm_t3_gemm *user)
{
	return user->chunk_rows && user->chunk_rows <= user->rows &&
	       user->first_chunk <= (user->rows - 1) / user->chunk_rows &&
	       t3_gemm_within(user->group_rows, user->chunk_rows) &&
	       t3_gemm_within(user->group_columns, user->columns) &&
	       t3_gemm_within(user->tile_rows, user->group_rows) &&
	       t3_gemm_within(user->tile_columns, user->group_columns) &&
	       t3_gemm_within(user->raster_rows, DRM_T3_GEMM_GROUP_MAX);
}

static bool t3_gemm_valid(const struct drm_t3_gemm *user)
{
	if (user->head.flags & ~DRM_T3_GEMM_CHUNKS_UP || user->dtype > T3_DTYPE_BF16)
		return false;
	if (!user->rows || !user->columns ||
	    (u64)user->rows * user->columns > T3_MAX_COPY_BYTES / t3_dtype_size(user->dtype))
		return false;
	if (!user->depth || user->depth > T3_MAX_DEPTH || (user->space && user->dst.handle))
		return false;
	return t3_gemm_order_valid(user) &&
	       t3_operand_valid(&user->a, user->rows, t3_gemm_bytes(user, user->depth)) &&
	       t3_operand_valid(&user->b, user->depth, t3_gemm_bytes(user, user->columns)) &&
	       t3_operand_valid(&user->dst, user->rows, t3_gemm_bytes(user, user->columns));
}

/* Nothing wraps: rows * columns is at most 2^30, and the product at most 2^50. */
static bool t3_gemm_too_large(const struct drm_t3_gemm *user)
{
	return (u64)user->rows * user->columns * user->depth > DRM_T3_GEMM_WORK_MAX;
}

static int t3_gemm_operand(struct drm_file *file, struct t3_operand *operand,
			   const struct drm_t3_operand *user, u32 rows, u64 row_bytes)
{
	int ret = t3_operand_get(file, operand, user, rows, row_bytes);

	if (ret)
		return ret;
	return operand->bo->kind == T3_BO_DEVICE ? 0 : -EOPNOTSUPP;
}

/*
 * The descriptor carries the generation of the space, which changes when the space is reset or
 * ends. So nothing needs to hold the space until the job runs, and no other space can be hit.
 */
static int t3_gemm_space_locked(struct t3_command *command, struct t3_space *space)
{
	lockdep_assert_held(&t3_topology_lock);
	if (space->dead)
		return -ENOENT;
	if (!t3_rows_within(command->dst.offset, command->dst.pitch, command->rows,
			    command->row_bytes, space->size))
		return -EINVAL;
	command->hw_space = space->hw_id;
	command->generation = space->generation;
	return 0;
}

static int t3_gemm_space(struct drm_file *file, const struct drm_t3_gemm *user,
			 struct t3_command *command)
{
	struct t3_space *space = t3_space_lookup(file, user->space);
	int ret;

	if (!space)
		return -ENOENT;
	command->dst.offset = user->dst.offset;
	command->dst.pitch = user->dst.pitch;
	ret = mutex_lock_interruptible(&t3_topology_lock);
	if (!ret) {
		ret = t3_gemm_space_locked(command, space);
		mutex_unlock(&t3_topology_lock);
	}
	t3_space_put(space);
	return ret;
}

static int t3_gemm_operands(struct drm_file *file, const struct drm_t3_gemm *user,
			    struct t3_command *command)
{
	int ret;

	ret = t3_gemm_operand(file, &command->src, &user->a, user->rows,
			      t3_gemm_bytes(user, user->depth));
	if (ret)
		return ret;
	ret = t3_gemm_operand(file, &command->b, &user->b, user->depth, command->row_bytes);
	if (ret)
		return ret;
	if (user->space)
		return t3_gemm_space(file, user, command);
	return t3_gemm_operand(file, &command->dst, &user->dst, user->rows, command->row_bytes);
}

static struct t3_gemm t3_gemm_describe(const struct drm_t3_gemm *user,
				       const struct t3_command *command)
{
	return (struct t3_gemm){
		.a = t3_operand_address(&command->src),
		.b = t3_operand_address(&command->b),
		.a_pitch = command->src.pitch,
		.b_pitch = command->b.pitch,
		.depth = user->depth,
		.chunk_rows = user->chunk_rows,
		.first_chunk = user->first_chunk,
		.group_rows = user->group_rows,
		.group_columns = user->group_columns,
		.tile_rows = user->tile_rows,
		.tile_columns = user->tile_columns,
		.raster_rows = user->raster_rows,
		.flags = user->head.flags,
	};
}

/**
 * t3_gemm_decode() - as t3_command_parse(), of a GEMM
 * @file: whose handles it names
 * @user: the command as user space gave it
 * @command: filled, with the device's parameters of the product
 *
 * Return: 0, or an error that the comment of &struct drm_t3_gemm lists.
 */
int t3_gemm_decode(struct drm_file *file, const struct drm_t3_gemm *user,
		   struct t3_command *command)
{
	int ret;

	if (!t3_gemm_valid(user))
		return -EINVAL;
	if (!(t3_file_device(file)->caps.caps & T3_CAP_GEMM))
		return -EOPNOTSUPP;
	if (t3_gemm_too_large(user))
		return -EFBIG;
	command->dtype = user->dtype;
	command->rows = user->rows;
	command->row_bytes = t3_gemm_bytes(user, user->columns);
	ret = t3_gemm_operands(file, user, command);
	if (ret)
		return ret;
	command->gemm = kmalloc_obj(*command->gemm, GFP_KERNEL_ACCOUNT);
	if (!command->gemm)
		return -ENOMEM;
	*command->gemm = t3_gemm_describe(user, command);
	command->pieces = 1;
	return 0;
}

/**
 * t3_gemm_build() - as t3_command_build(), of a GEMM
 * @command: from t3_gemm_decode(); its parameters go to the step
 * @step: the only one. Where its parameters lie is known when it is emitted
 */
void t3_gemm_build(struct t3_command *command, struct t3_step *step)
{
	bool to_space = !command->dst.bo;

	step->descriptor = (struct t3_descriptor){
		.opcode = T3_DESC_GEMM,
		.dtype = command->dtype,
		.src_kind = T3_LOC_HOST,
		.dst_kind = to_space ? T3_LOC_SPACE : T3_LOC_MEMORY,
		.rows = command->rows,
		.row_bytes = command->row_bytes,
		.dst = to_space ? command->dst.offset : t3_operand_address(&command->dst),
		.dst_pitch = command->dst.pitch,
		.space = command->hw_space,
		.generation = command->generation,
	};
	step->gemm = command->gemm;
	step->dst = t3_bo_get(command->dst.bo);
	step->reads[0] = t3_bo_get(command->src.bo);
	step->reads[1] = t3_bo_get(command->b.bo);
	command->gemm = NULL;
}

/**
 * t3_gemm_repeatable() - check whether a step may be done twice
 * @step: of a GEMM
 *
 * A space counts each store; and a space of a device that was reset does not exist any more.
 *
 * Return: true if the output is memory and no operand is in the same buffer.
 */
bool t3_gemm_repeatable(const struct t3_step *step)
{
	return step->descriptor.dst_kind == T3_LOC_MEMORY && step->dst != step->reads[0] &&
	       step->dst != step->reads[1];
}
