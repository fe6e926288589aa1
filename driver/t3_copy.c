// SPDX-License-Identifier: GPL-2.0-only
/*
 * COPY, FILL and UPDATE commands.
 *
 * Device memory is one range, so a command on it is one descriptor. Other buffers consist of any
 * number of ranges of the bus. There a descriptor covers as many whole rows as lie in one range of
 * each operand, or a piece of one row that crosses ranges.
 */
#include <linux/bitops.h>

#include "t3_bo.h"
#include "t3_command.h"
#include "t3_format.h"
#include "t3_refuse.h"

static_assert((int)DRM_T3_COMMAND_COPY == (int)T3_DESC_COPY);
static_assert((int)DRM_T3_COMMAND_FILL == (int)T3_DESC_FILL);
static_assert((int)DRM_T3_COMMAND_UPDATE == (int)T3_DESC_UPDATE);

static const struct t3_rule t3_copy_rules[] = {
	T3_ZERO(drm_t3_copy, head.flags),
	T3_RANGE(drm_t3_copy, rows, 1, T3_MAX_COPY_BYTES),
	T3_RANGE(drm_t3_copy, row_bytes, 1, T3_MAX_COPY_BYTES),
};

static const struct t3_rule t3_fill_rules[] = {
	T3_ZERO(drm_t3_fill, head.flags),
	T3_RANGE(drm_t3_fill, rows, 1, T3_MAX_COPY_BYTES),
	T3_RANGE(drm_t3_fill, row_bytes, 1, T3_MAX_COPY_BYTES),
};

static const struct t3_rule t3_update_rules[] = {
	T3_ZERO(drm_t3_update, head.flags),
	T3_RANGE(drm_t3_update, rows, 1, T3_MAX_COPY_BYTES),
	T3_RANGE(drm_t3_update, row_bytes, 1, T3_MAX_COPY_BYTES),
	T3_RANGE(drm_t3_update, dtype, 0, T3_DTYPE_COUNT - 1),
	T3_RANGE(drm_t3_update, op, 0, T3_OP_COUNT - 1),
};

static int t3_shape_check(struct drm_file *file, u32 rows, u32 row_bytes)
{
	if ((u64)rows * row_bytes > T3_MAX_COPY_BYTES)
		return t3_refuse_value(file, -EINVAL, "rows", rows,
				       "so few that rows * row_bytes is at most 1 GiB");
	return 0;
}

static const struct t3_operand_rule t3_copy_operands[] = {
	T3_OPERAND(drm_t3_copy, dst, dst, rows, row_bytes, T3_PLACE_ANY),
	T3_OPERAND(drm_t3_copy, src, src, rows, row_bytes, T3_PLACE_ANY),
};

static const struct t3_operand_rule t3_fill_operands[] = {
	T3_OPERAND(drm_t3_fill, dst, dst, rows, row_bytes, T3_PLACE_ANY),
};

static const struct t3_operand_rule t3_update_operands[] = {
	T3_OPERAND(drm_t3_update, dst, dst, rows, row_bytes, T3_PLACE_DEVICE),
	T3_OPERAND(drm_t3_update, src, src, rows, row_bytes, T3_PLACE_DEVICE),
};

/**
 * t3_copy_decode() - as t3_command_parse(), of a COPY
 * @file: the file that the handles belong to
 * @any: the command as user space gave it
 * @command: filled
 *
 * Return: 0, or an error that the comment of &struct drm_t3_copy lists.
 */
int t3_copy_decode(struct drm_file *file, const union drm_t3_any_command *any,
		   struct t3_command *command)
{
	const struct drm_t3_copy *user = &any->copy;
	int ret;

	ret = t3_check(file, user, t3_copy_rules);
	if (ret)
		return ret;
	ret = t3_shape_check(file, user->rows, user->row_bytes);
	if (ret)
		return ret;
	command->rows = user->rows;
	command->row_bytes = user->row_bytes;
	return t3_operands_get(file, user, t3_copy_operands, ARRAY_SIZE(t3_copy_operands), 1,
			       command);
}

/**
 * t3_fill_decode() - as t3_command_parse(), of a FILL
 * @file: the file that the handles belong to
 * @any: the command as user space gave it
 * @command: filled
 *
 * Return: 0, or an error that the comment of &struct drm_t3_fill lists.
 */
int t3_fill_decode(struct drm_file *file, const union drm_t3_any_command *any,
		   struct t3_command *command)
{
	const struct drm_t3_fill *user = &any->fill;
	int ret;

	ret = t3_check(file, user, t3_fill_rules);
	if (ret)
		return ret;
	ret = t3_shape_check(file, user->rows, user->row_bytes);
	if (ret)
		return ret;
	command->rows = user->rows;
	command->row_bytes = user->row_bytes;
	command->pattern = user->pattern;
	return t3_operands_get(file, user, t3_fill_operands, ARRAY_SIZE(t3_fill_operands), 1,
			       command);
}

/**
 * t3_update_decode() - as t3_command_parse(), of an UPDATE
 * @file: the file that the handles belong to
 * @any: the command as user space gave it
 * @command: filled
 *
 * Return: 0, or an error that the comment of &struct drm_t3_update lists.
 */
int t3_update_decode(struct drm_file *file, const union drm_t3_any_command *any,
		     struct t3_command *command)
{
	const struct drm_t3_update *user = &any->update;
	int ret;

	ret = t3_check(file, user, t3_update_rules);
	if (ret)
		return ret;
	if (!t3_op_valid(user->dtype, user->op))
		return t3_refuse(file, user, -EINVAL, op, "an op that elements of dtype have");
	if (t3_op_needs(user->dtype, user->op) & ~t3_file_device(file)->caps.caps)
		return t3_refuse(file, user, -EOPNOTSUPP, op,
				 "an op and dtype of the device: DRM_T3_FEATURE_*");
	if (user->row_bytes % t3_dtype_size(user->dtype))
		return t3_refuse(file, user, -EINVAL, row_bytes, "a multiple of the element size");
	ret = t3_shape_check(file, user->rows, user->row_bytes);
	if (ret)
		return ret;
	command->rows = user->rows;
	command->row_bytes = user->row_bytes;
	command->op = user->op;
	command->dtype = user->dtype;
	return t3_operands_get(file, user, t3_update_operands, ARRAY_SIZE(t3_update_operands), 1,
			       command);
}

/* -------------------------------------------------------------------- pieces */

/* The position in a command, and the next piece of it. */
struct t3_piece {
	u32 row;
	u32 col; /* in row; not 0: the piece is a part of this row */
	u32 rows;
	u32 bytes;    /* of each row */
	u64 src, dst; /* addresses; FILL: src is the pattern */
};

/* Limits the piece to what an operand has in one range from here on. */
static void t3_piece_limit(const struct t3_operand *operand, u32 row_bytes, struct t3_piece *piece,
			   u64 *address)
{
	u64 offset = operand->offset + piece->row * operand->pitch + piece->col;
	u64 run = t3_bo_run(operand->bo, offset, address);

	if (piece->col || run < row_bytes) {
		piece->rows = 1;
		piece->bytes = min_t(u64, piece->bytes, run);
	} else if (piece->rows > 1) {
		piece->rows = min_t(u64, piece->rows, (run - row_bytes) / operand->pitch + 1);
	}
}

/* Byte j of a row is byte j % 8 of the pattern, also if a piece begins inside the row. */
static u64 t3_pattern_from(u64 pattern, u32 col)
{
	return ror64(pattern, 8 * (col % 8));
}

static void t3_piece_find(const struct t3_command *command, struct t3_piece *piece)
{
	piece->rows = piece->col ? 1 : command->rows - piece->row;
	piece->bytes = command->row_bytes - piece->col;
	t3_piece_limit(&command->dst, command->row_bytes, piece, &piece->dst);
	if (command->src.bo)
		t3_piece_limit(&command->src, command->row_bytes, piece, &piece->src);
	else
		piece->src = t3_pattern_from(command->pattern, piece->col);
}

static bool t3_piece_next(const struct t3_command *command, struct t3_piece *piece)
{
	piece->col += piece->bytes;
	if (piece->col == command->row_bytes) {
		piece->col = 0;
		piece->row += piece->rows;
	}
	return piece->row < command->rows;
}

static u8 t3_operand_kind(const struct t3_operand *operand)
{
	return operand->bo && operand->bo->kind != T3_BO_DEVICE ? T3_LOC_HOST : T3_LOC_MEMORY;
}

static void t3_piece_describe(const struct t3_command *command, const struct t3_piece *piece,
			      struct t3_descriptor *descriptor)
{
	*descriptor = (struct t3_descriptor){
		.opcode = command->type,
		.op = command->op,
		.dtype = command->dtype,
		.src_kind = t3_operand_kind(&command->src),
		.dst_kind = t3_operand_kind(&command->dst),
		.rows = piece->rows,
		.row_bytes = piece->bytes,
		.src = piece->src,
		.dst = piece->dst,
		.src_pitch = piece->rows > 1 ? command->src.pitch : 0,
		.dst_pitch = piece->rows > 1 ? command->dst.pitch : 0,
	};
}

/**
 * t3_copy_count() - count the descriptors of a COPY, FILL or UPDATE
 * @command: decoded
 * @max: descriptors that there is room for
 *
 * Return: the number, or @max + 1 if there are more than @max.
 */
u32 t3_copy_count(const struct t3_command *command, u32 max)
{
	struct t3_piece piece = {};
	u32 count = 0;

	do {
		t3_piece_find(command, &piece);
		count++;
	} while (count <= max && t3_piece_next(command, &piece));
	return count;
}

/**
 * t3_copy_build() - as t3_command_build(), of a COPY, FILL or UPDATE
 * @command: from t3_command_parse()
 * @steps: as many as the command has pieces
 */
void t3_copy_build(struct t3_command *command, struct t3_step *steps)
{
	struct t3_piece piece = {};
	u32 i = 0;

	do {
		t3_piece_find(command, &piece);
		t3_piece_describe(command, &piece, &steps[i++].descriptor);
	} while (t3_piece_next(command, &piece));
	steps[0].reads[0] = t3_bo_get(command->src.bo);
	steps[0].dst = t3_bo_get(command->dst.bo);
}

#ifdef T3_KUNIT
#include "tests/t3_copy_test.c"
#endif
