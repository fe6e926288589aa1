// SPDX-License-Identifier: GPL-2.0-only
/*
 * GEMM commands. The operands are memory of this device; the output may instead be a space of the
 * caller. A command is one descriptor, with its parameters beside it in the rings.
 */
#include <linux/slab.h>

#include "t3_bo.h"
#include "t3_command.h"
#include "t3_device.h"
#include "t3_format.h"
#include "t3_queue.h"
#include "t3_refuse.h"
#include "t3_space.h"

static_assert(DRM_T3_GEMM_CHUNKS_UP == T3_GEMM_CHUNKS_UP);
static_assert(DRM_T3_GEMM_DEPTH_MAX == T3_MAX_DEPTH);
static_assert(offsetof(struct t3_rings, gemms) % sizeof(struct t3_gemm) == 0);

static const struct t3_rule t3_gemm_rules[] = {
	T3_BITS(drm_t3_gemm, head.flags, DRM_T3_GEMM_CHUNKS_UP, "DRM_T3_GEMM_CHUNKS_UP or 0"),
	T3_RANGE(drm_t3_gemm, dtype, 0, T3_DTYPE_BF16),
	T3_RANGE(drm_t3_gemm, rows, 1, T3_MAX_COPY_BYTES),
	T3_RANGE(drm_t3_gemm, columns, 1, T3_MAX_COPY_BYTES),
	T3_RANGE(drm_t3_gemm, depth, 1, T3_MAX_DEPTH),
	T3_RANGE(drm_t3_gemm, raster_rows, 1, DRM_T3_GEMM_GROUP_MAX),
	T3_CAUSE(-EOPNOTSUPP, drm_t3_gemm, head.type, "a device with DRM_T3_FEATURE_GEMM"),
	T3_CAUSE(-EFBIG, drm_t3_gemm, depth,
		 "so little that rows * columns * depth is at most DRM_T3_GEMM_WORK_MAX"),
};

static const struct t3_operand_rule t3_gemm_factors[] = {
	T3_OPERAND(drm_t3_gemm, a, src, rows, depth, T3_PLACE_DEVICE),
	T3_OPERAND(drm_t3_gemm, b, b, depth, columns, T3_PLACE_DEVICE),
};

/* Unless it goes to a space. */
static const struct t3_operand_rule t3_gemm_product[] = {
	T3_OPERAND(drm_t3_gemm, dst, dst, rows, columns, T3_PLACE_DEVICE),
};

/* The most rows or columns of a group or tile that lies in so many. */
static u32 t3_gemm_most(u32 limit)
{
	return min(limit, DRM_T3_GEMM_GROUP_MAX);
}

static bool t3_gemm_within(u32 value, u32 limit)
{
	return value && value <= t3_gemm_most(limit);
}

static int t3_gemm_check_order(struct drm_file *file, const struct drm_t3_gemm *user)
{
	if (!user->chunk_rows || user->chunk_rows > user->rows)
		return t3_refuse_range(file, user, -EINVAL, chunk_rows, 1, user->rows);
	if (user->first_chunk > (user->rows - 1) / user->chunk_rows)
		return t3_refuse_range(file, user, -EINVAL, first_chunk, 0,
				       (user->rows - 1) / user->chunk_rows);
	if (!t3_gemm_within(user->group_rows, user->chunk_rows))
		return t3_refuse_range(file, user, -EINVAL, group_rows, 1,
				       t3_gemm_most(user->chunk_rows));
	if (!t3_gemm_within(user->group_columns, user->columns))
		return t3_refuse_range(file, user, -EINVAL, group_columns, 1,
				       t3_gemm_most(user->columns));
	if (!t3_gemm_within(user->tile_rows, user->group_rows))
		return t3_refuse_range(file, user, -EINVAL, tile_rows, 1,
				       t3_gemm_most(user->group_rows));
	if (!t3_gemm_within(user->tile_columns, user->group_columns))
		return t3_refuse_range(file, user, -EINVAL, tile_columns, 1,
				       t3_gemm_most(user->group_columns));
	return 0;
}

static int t3_gemm_check(struct drm_file *file, const struct drm_t3_gemm *user)
{
	int ret;

	ret = t3_check(file, user, t3_gemm_rules);
	if (ret)
		return ret;
	if ((u64)user->rows * user->columns > T3_MAX_COPY_BYTES / t3_dtype_size(user->dtype))
		return t3_refuse(file, user, -EINVAL, rows,
				 "so few that the output has at most DRM_T3_COPY_BYTES_MAX bytes");
	if (user->space && user->dst.handle)
		return t3_refuse(file, user, -EINVAL, dst.handle, "0 with space");
	return t3_gemm_check_order(file, user);
}

/* The product does not wrap: rows * columns is at most 2^30, and with depth it is 2^50. */
static bool t3_gemm_too_large(const struct drm_t3_gemm *user)
{
	return (u64)user->rows * user->columns * user->depth > DRM_T3_GEMM_WORK_MAX;
}

/*
 * The descriptor carries the generation of the space, which changes when the space is reset or
 * ends. So nothing needs to hold the space until the job runs, and no other space can be hit.
 */
static int t3_gemm_space(struct drm_file *file, const struct drm_t3_gemm *user,
			 struct t3_command *command)
{
	struct t3_operand *dst = &command->dst;
	struct t3_space *space;
	int ret;

	ret = t3_operand_check(file, &user->dst, command->rows, command->row_bytes);
	if (ret)
		return t3_refused_in(file, ret, "dst");
	dst->offset = user->dst.offset;
	dst->pitch = user->dst.pitch;
	space = t3_space_lookup(file, user->space);
	if (!space)
		return t3_refuse_space(file, user);
	ret = mutex_lock_interruptible(&t3_topology_lock);
	if (ret)
		goto put_space;
	command->hw_space = space->hw_id;
	command->generation = space->generation;
	if (space->dead)
		ret = t3_refuse_space(file, user);
	else if (!t3_operand_long_enough(command->rows, command->row_bytes, space->size))
		ret = t3_refuse(file, user, -EINVAL, space, "a space that is as long as all rows");
	else
		ret = t3_refused_in(file,
				    t3_operand_fit(file, &user->dst, command->rows,
						   command->row_bytes, space->size),
				    "dst");
	mutex_unlock(&t3_topology_lock);
put_space:
	t3_space_put(space);
	return ret;
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
 * @any: the command as user space gave it
 * @command: filled, with the device's parameters of the product
 *
 * Return: 0, or an error that the comment of &struct drm_t3_gemm lists.
 */
int t3_gemm_decode(struct drm_file *file, const union drm_t3_any_command *any,
		   struct t3_command *command)
{
	const struct drm_t3_gemm *user = &any->gemm;
	int ret;

	ret = t3_gemm_check(file, user);
	if (ret)
		return ret;
	if (!(t3_file_device(file)->caps.caps & T3_CAP_GEMM))
		return t3_explain(file, user, -EOPNOTSUPP, t3_gemm_rules);
	if (t3_gemm_too_large(user))
		return t3_explain(file, user, -EFBIG, t3_gemm_rules);
	command->dtype = user->dtype;
	command->rows = user->rows;
	command->row_bytes = user->columns * t3_dtype_size(user->dtype);
	ret = t3_operands_get(file, user, t3_gemm_factors, ARRAY_SIZE(t3_gemm_factors),
			      t3_dtype_size(user->dtype), command);
	if (ret)
		return ret;
	ret = user->space
		      ? t3_gemm_space(file, user, command)
		      : t3_operands_get(file, user, t3_gemm_product, ARRAY_SIZE(t3_gemm_product),
					t3_dtype_size(user->dtype), command);
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
