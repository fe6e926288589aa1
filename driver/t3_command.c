// SPDX-License-Identifier: GPL-2.0
/*
 * A user's command into descriptors. All that the device is told is checked here: it
 * knows device memory and the bus as a whole, and no buffers.
 *
 * Device memory is one range, and so a command on it one descriptor. Other buffers are
 * ranges of the bus in any number: there a descriptor covers as many whole rows as lie
 * in one range of each operand, or a piece of the one row that does not.
 */
#include <linux/bitops.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "t3_queue.h"
#include "t3_space.h"

static_assert((int)DRM_T3_COMMAND_COPY == (int)T3_DESC_COPY);
static_assert((int)DRM_T3_COMMAND_FILL == (int)T3_DESC_FILL);
static_assert((int)DRM_T3_COMMAND_UPDATE == (int)T3_DESC_UPDATE);

/* Whether that many rows end within size. */
bool t3_rows_within(u64 offset, u64 pitch, u32 rows, u64 row_bytes, u64 size)
{
	u64 end;

	return !check_mul_overflow((u64)(rows - 1), pitch, &end) &&
	       !check_add_overflow(end, row_bytes, &end) &&
	       !check_add_overflow(end, offset, &end) && end <= size;
}

struct t3_operand_args {
	u32 handle;
	u64 offset;
	u64 pitch;
};

static bool t3_command_shape_valid(const struct drm_t3_command *cmd)
{
	return cmd->rows && cmd->row_bytes &&
	       (u64)cmd->rows * cmd->row_bytes <= T3_MAX_COPY_BYTES;
}

bool t3_pitch_valid(u64 pitch, u32 rows, u64 row_bytes)
{
	return rows == 1 ? !pitch : pitch >= row_bytes;
}

/* UPDATE has a type and an op, FILL a pattern in place of a source. */
static bool t3_command_fields_valid(const struct drm_t3_command *cmd)
{
	bool fill = cmd->type == DRM_T3_COMMAND_FILL;
	bool update = cmd->type == DRM_T3_COMMAND_UPDATE;

	if (cmd->flags || (!fill && !update && cmd->type != DRM_T3_COMMAND_COPY) ||
	    !t3_gemm_fields_unused(cmd))
		return false;
	if (!update && (cmd->op || cmd->dtype))
		return false;
	if (update && (cmd->dtype >= T3_DTYPE_COUNT || !t3_op_valid(cmd->dtype, cmd->op) ||
		       cmd->row_bytes % t3_dtype_size(cmd->dtype)))
		return false;
	if (fill ? cmd->src || cmd->src_offset || cmd->src_pitch : !!cmd->pattern)
		return false;
	return t3_command_shape_valid(cmd) &&
	       t3_pitch_valid(cmd->dst_pitch, cmd->rows, cmd->row_bytes) &&
	       (fill || t3_pitch_valid(cmd->src_pitch, cmd->rows, cmd->row_bytes));
}

/* Look an operand up, and whether all of its rows are in it; offset and pitch are set. */
int t3_operand_get(struct drm_file *file, struct t3_operand *operand, u32 handle, u32 rows,
		   u64 row_bytes)
{
	operand->bo = t3_bo_lookup(file, handle);
	if (!operand->bo)
		return -ENOENT;
	return t3_rows_within(operand->offset, operand->pitch, rows, row_bytes,
			      operand->bo->base.size) ? 0 : -EINVAL;
}

static int t3_command_operand(struct drm_file *file, const struct drm_t3_command *cmd,
			      const struct t3_operand_args *args, struct t3_operand *operand)
{
	operand->offset = args->offset;
	operand->pitch = args->pitch;
	return t3_operand_get(file, operand, args->handle, cmd->rows, cmd->row_bytes);
}

static int t3_command_operands(struct drm_file *file, struct t3_command *command)
{
	const struct drm_t3_command *cmd = &command->user;
	const struct t3_operand_args dst = { cmd->dst, cmd->dst_offset, cmd->dst_pitch };
	const struct t3_operand_args src = { cmd->src, cmd->src_offset, cmd->src_pitch };
	int ret;

	ret = t3_command_operand(file, cmd, &dst, &command->dst);
	if (!ret && cmd->type != DRM_T3_COMMAND_FILL)
		ret = t3_command_operand(file, cmd, &src, &command->src);
	if (ret || cmd->type != DRM_T3_COMMAND_UPDATE)
		return ret;
	if (command->dst.bo->kind != T3_BO_DEVICE || command->src.bo->kind != T3_BO_DEVICE)
		return -EOPNOTSUPP;
	return 0;
}

/* -------------------------------------------------------------------- pieces */

/* Where in a command we are, and the next piece of it. */
struct t3_piece {
	u32 row;
	u32 col; /* in row: not 0 in the middle of one alone */
	u32 rows;
	u32 bytes; /* of each row */
	u64 src, dst; /* addresses, or src the pattern */
};

/* How many bytes or rows of the command an operand has in one range from here on. */
static void t3_piece_limit(const struct t3_operand *operand, const struct drm_t3_command *cmd,
			   struct t3_piece *piece, u64 *address)
{
	u64 offset = operand->offset + piece->row * operand->pitch + piece->col;
	u64 run = t3_bo_run(operand->bo, offset, address);

	if (piece->col || run < cmd->row_bytes) {
		piece->rows = 1;
		piece->bytes = min_t(u64, piece->bytes, run);
	} else if (piece->rows > 1) {
		piece->rows = min_t(u64, piece->rows, (run - cmd->row_bytes) / operand->pitch + 1);
	}
}

/* Byte j of a row is byte j % 8 of the pattern, also where a piece begins inside. */
static u64 t3_pattern_from(u64 pattern, u32 col)
{
	return ror64(pattern, 8 * (col % 8));
}

static void t3_piece_find(const struct t3_command *command, struct t3_piece *piece)
{
	const struct drm_t3_command *cmd = &command->user;

	piece->rows = piece->col ? 1 : cmd->rows - piece->row;
	piece->bytes = cmd->row_bytes - piece->col;
	t3_piece_limit(&command->dst, cmd, piece, &piece->dst);
	if (command->src.bo)
		t3_piece_limit(&command->src, cmd, piece, &piece->src);
	else
		piece->src = t3_pattern_from(cmd->pattern, piece->col);
}

static bool t3_piece_next(const struct t3_command *command, struct t3_piece *piece)
{
	piece->col += piece->bytes;
	if (piece->col == command->user.row_bytes) {
		piece->col = 0;
		piece->row += piece->rows;
	}
	return piece->row < command->user.rows;
}

static u8 t3_operand_kind(const struct t3_operand *operand)
{
	return operand->bo && operand->bo->kind != T3_BO_DEVICE ? T3_LOC_HOST : T3_LOC_MEMORY;
}

static void t3_piece_describe(const struct t3_command *command, const struct t3_piece *piece,
			      struct t3_descriptor *descriptor)
{
	const struct drm_t3_command *cmd = &command->user;

	*descriptor = (struct t3_descriptor){
		.opcode = cmd->type,
		.op = cmd->op,
		.dtype = cmd->dtype,
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

/* Count them, at most max + 1: nobody wants to know more. */
static u32 t3_command_count(const struct t3_command *command, u32 max)
{
	struct t3_piece piece = {};
	u32 count = 0;

	do {
		t3_piece_find(command, &piece);
		count++;
	} while (count <= max && t3_piece_next(command, &piece));
	return count;
}

/* Check a command and get hold of its buffers; what it holds is put also on failure. */
int t3_command_parse(struct drm_file *file, struct t3_command *command, u32 max_pieces)
{
	int ret;

	if (command->user.type == DRM_T3_COMMAND_GEMM)
		return t3_gemm_parse(file, command);
	if (command->user.type == DRM_T3_COMMAND_TIMED)
		return t3_timed_parse(file, command);
	if (!t3_command_fields_valid(&command->user))
		return -EINVAL;
	ret = t3_command_operands(file, command);
	if (ret)
		return ret;
	command->pieces = t3_command_count(command, max_pieces);
	return command->pieces > max_pieces ? -EFBIG : 0;
}

/*
 * Fill as many steps as it has pieces. The first holds the buffers, too: what the command
 * holds of them is put when no lock of theirs is held any more.
 */
void t3_command_build(struct t3_command *command, struct t3_step *steps)
{
	struct t3_piece piece = {};
	u32 i = 0;

	if (command->gemm) {
		t3_gemm_build(command, steps);
		return;
	}
	if (command->user.type == DRM_T3_COMMAND_TIMED) {
		t3_timed_build(command, steps);
		return;
	}
	do {
		t3_piece_find(command, &piece);
		t3_piece_describe(command, &piece, &steps[i++].descriptor);
	} while (t3_piece_next(command, &piece));
	steps[0].reads[0] = t3_bo_get(command->src.bo);
	steps[0].dst = t3_bo_get(command->dst.bo);
}

void t3_command_put(struct t3_command *command)
{
	t3_bo_put(command->src.bo);
	t3_bo_put(command->dst.bo);
	t3_bo_put(command->b.bo);
	kfree(command->gemm);
}

#ifdef T3_KUNIT
#include "tests/t3_command_test.c"
#endif
