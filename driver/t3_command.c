// SPDX-License-Identifier: GPL-2.0
/*
 * A user's command into descriptors. All that the device is told is checked here: it
 * knows device memory and the bus as a whole, and no buffers.
 *
 * Each type of command has a decoder, which looks at the user's struct, gets hold of what it
 * names and leaves the rest in struct t3_command: GEMM's and TIMED's have files of their own.
 *
 * Device memory is one range, and so a command on it one descriptor. Other buffers are
 * ranges of the bus in any number: there a descriptor covers as many whole rows as lie
 * in one range of each operand, or a piece of the one row that does not.
 */
#include <linux/bitops.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "t3_queue.h"
#include "t3_space.h"

static_assert((int)DRM_T3_COMMAND_COPY == (int)T3_DESC_COPY);
static_assert((int)DRM_T3_COMMAND_FILL == (int)T3_DESC_FILL);
static_assert((int)DRM_T3_COMMAND_UPDATE == (int)T3_DESC_UPDATE);

/**
 * t3_rows_within() - tell whether rows lie inside a buffer or space
 * @offset: byte that the first row starts at
 * @pitch: bytes from row to row
 * @rows: how many, at least 1
 * @row_bytes: bytes of each row
 * @size: bytes of the buffer or space
 *
 * Return: true when the last row ends at @size or before; no sum wraps.
 */
bool t3_rows_within(u64 offset, u64 pitch, u32 rows, u64 row_bytes, u64 size)
{
	u64 end;

	return !check_mul_overflow((u64)(rows - 1), pitch, &end) &&
	       !check_add_overflow(end, row_bytes, &end) &&
	       !check_add_overflow(end, offset, &end) && end <= size;
}

/**
 * t3_operand_valid() - check what of an operand needs no object
 * @user: the operand as user space gave it
 * @rows: rows of the operand, at least 1
 * @row_bytes: bytes of each row
 *
 * Return: true when pad is 0 and the pitch is one for such rows: 0 for a single one.
 */
bool t3_operand_valid(const struct drm_t3_operand *user, u32 rows, u64 row_bytes)
{
	return !user->pad && (rows == 1 ? !user->pitch : user->pitch >= row_bytes);
}

/**
 * t3_operand_get() - look an operand's buffer up
 * @file: whose handle it is
 * @operand: filled; it holds a reference of the buffer, also on -EINVAL
 * @user: the operand as user space gave it, found valid
 * @rows: rows of the operand, at least 1
 * @row_bytes: bytes of each row
 *
 * Return: 0, -ENOENT no such handle, or -EINVAL rows outside the buffer.
 */
int t3_operand_get(struct drm_file *file, struct t3_operand *operand,
		   const struct drm_t3_operand *user, u32 rows, u64 row_bytes)
{
	operand->offset = user->offset;
	operand->pitch = user->pitch;
	operand->bo = t3_bo_lookup(file, user->handle);
	if (!operand->bo)
		return -ENOENT;
	return t3_rows_within(operand->offset, operand->pitch, rows, row_bytes,
			      operand->bo->base.size) ? 0 : -EINVAL;
}

/* ------------------------------------------------------------------ decoders */

static bool t3_shape_valid(u32 rows, u32 row_bytes)
{
	return rows && row_bytes && (u64)rows * row_bytes <= T3_MAX_COPY_BYTES;
}

static bool t3_copy_valid(const struct drm_t3_copy *user)
{
	return !user->head.flags && t3_shape_valid(user->rows, user->row_bytes) &&
	       t3_operand_valid(&user->dst, user->rows, user->row_bytes) &&
	       t3_operand_valid(&user->src, user->rows, user->row_bytes);
}

static int t3_copy_decode(struct drm_file *file, const struct drm_t3_copy *user,
			  struct t3_command *command)
{
	int ret;

	if (!t3_copy_valid(user))
		return -EINVAL;
	command->rows = user->rows;
	command->row_bytes = user->row_bytes;
	ret = t3_operand_get(file, &command->dst, &user->dst, user->rows, user->row_bytes);
	if (ret)
		return ret;
	return t3_operand_get(file, &command->src, &user->src, user->rows, user->row_bytes);
}

static bool t3_fill_valid(const struct drm_t3_fill *user)
{
	return !user->head.flags && t3_shape_valid(user->rows, user->row_bytes) &&
	       t3_operand_valid(&user->dst, user->rows, user->row_bytes);
}

static int t3_fill_decode(struct drm_file *file, const struct drm_t3_fill *user,
			  struct t3_command *command)
{
	if (!t3_fill_valid(user))
		return -EINVAL;
	command->rows = user->rows;
	command->row_bytes = user->row_bytes;
	command->pattern = user->pattern;
	return t3_operand_get(file, &command->dst, &user->dst, user->rows, user->row_bytes);
}

static bool t3_update_valid(const struct drm_t3_update *user)
{
	return !user->head.flags && user->dtype < T3_DTYPE_COUNT &&
	       t3_op_valid(user->dtype, user->op) &&
	       !(user->row_bytes % t3_dtype_size(user->dtype)) &&
	       t3_shape_valid(user->rows, user->row_bytes) &&
	       t3_operand_valid(&user->dst, user->rows, user->row_bytes) &&
	       t3_operand_valid(&user->src, user->rows, user->row_bytes);
}

static int t3_update_decode(struct drm_file *file, const struct drm_t3_update *user,
			    struct t3_command *command)
{
	int ret;

	if (!t3_update_valid(user))
		return -EINVAL;
	command->rows = user->rows;
	command->row_bytes = user->row_bytes;
	command->op = user->op;
	command->dtype = user->dtype;
	ret = t3_operand_get(file, &command->dst, &user->dst, user->rows, user->row_bytes);
	if (ret)
		return ret;
	ret = t3_operand_get(file, &command->src, &user->src, user->rows, user->row_bytes);
	if (ret)
		return ret;
	if (command->dst.bo->kind != T3_BO_DEVICE || command->src.bo->kind != T3_BO_DEVICE)
		return -EOPNOTSUPP;
	return 0;
}

/* Of a type's struct; 0: there is no such type. */
static size_t t3_command_size(u32 type)
{
	switch (type) {
	case DRM_T3_COMMAND_COPY:
		return sizeof(struct drm_t3_copy);
	case DRM_T3_COMMAND_FILL:
		return sizeof(struct drm_t3_fill);
	case DRM_T3_COMMAND_UPDATE:
		return sizeof(struct drm_t3_update);
	case DRM_T3_COMMAND_GEMM:
		return sizeof(struct drm_t3_gemm);
	case DRM_T3_COMMAND_TIMED:
		return sizeof(struct drm_t3_timed);
	default:
		return 0;
	}
}

static int t3_command_decode(struct drm_file *file, const union drm_t3_any_command *user,
			     struct t3_command *command)
{
	switch (user->head.type) {
	case DRM_T3_COMMAND_COPY:
		return t3_copy_decode(file, &user->copy, command);
	case DRM_T3_COMMAND_FILL:
		return t3_fill_decode(file, &user->fill, command);
	case DRM_T3_COMMAND_UPDATE:
		return t3_update_decode(file, &user->update, command);
	case DRM_T3_COMMAND_GEMM:
		return t3_gemm_decode(file, &user->gemm, command);
	default:
		return t3_timed_decode(file, &user->timed, command);
	}
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
static void t3_piece_limit(const struct t3_operand *operand, u32 row_bytes,
			   struct t3_piece *piece, u64 *address)
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

/* Byte j of a row is byte j % 8 of the pattern, also where a piece begins inside. */
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

/**
 * t3_command_parse() - check a command and get hold of what it names
 * @file: whose handles it names
 * @user: the only copy of what user space said: nothing is read twice from there
 * @command: zeros; filled. t3_command_put() ends what it holds, also after a failure
 * @max_pieces: descriptors that there is room for
 *
 * Return: 0, or an error as the comments of &struct drm_t3_command and of the type's struct
 * say. Nothing was told to the device.
 */
int t3_command_parse(struct drm_file *file, const union drm_t3_any_command *user,
		     struct t3_command *command, u32 max_pieces)
{
	size_t size = t3_command_size(user->head.type);
	int ret;

	if (!size)
		return -EINVAL;
	if (memchr_inv((const u8 *)user + size, 0, sizeof(*user) - size))
		return -E2BIG;
	command->type = user->head.type;
	ret = t3_command_decode(file, user, command);
	if (ret)
		return ret;
	if (!command->pieces)
		command->pieces = t3_command_count(command, max_pieces);
	return command->pieces > max_pieces ? -EFBIG : 0;
}

/**
 * t3_command_build() - make the steps of a command
 * @command: from t3_command_parse()
 * @steps: as many as it has pieces
 *
 * The first step holds the buffers, too: what the command holds of them is put when no lock
 * of theirs is held any more.
 */
void t3_command_build(struct t3_command *command, struct t3_step *steps)
{
	struct t3_piece piece = {};
	u32 i = 0;

	if (command->gemm) {
		t3_gemm_build(command, steps);
		return;
	}
	if (command->type == DRM_T3_COMMAND_TIMED) {
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

/**
 * t3_command_put() - end what a command holds
 * @command: from t3_command_parse(), which may have failed
 */
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
