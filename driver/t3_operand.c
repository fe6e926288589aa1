// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operands of commands: rows of a buffer that user space names by a handle.
 */
#include <linux/overflow.h>

#include "t3_bo.h"
#include "t3_command.h"
#include "t3_refuse.h"

/**
 * t3_rows_within() - check whether rows lie inside a buffer or space
 * @offset: byte that the first row starts at
 * @pitch: bytes from row to row
 * @rows: how many, at least 1
 * @row_bytes: bytes of each row
 * @size: bytes of the buffer or space
 *
 * No sum wraps.
 *
 * Return: true if the last row ends at @size or before.
 */
bool t3_rows_within(u64 offset, u64 pitch, u32 rows, u64 row_bytes, u64 size)
{
	u64 end;

	return !check_mul_overflow((u64)(rows - 1), pitch, &end) &&
	       !check_add_overflow(end, row_bytes, &end) &&
	       !check_add_overflow(end, offset, &end) && end <= size;
}

/**
 * t3_operand_check() - check the part of an operand that needs no object
 * @file: whose handles it names
 * @user: the operand as user space gave it
 * @rows: rows of the operand, at least 1
 * @row_bytes: bytes of each row
 *
 * Pad is 0, and the pitch fits such rows. A single row has pitch 0.
 *
 * Return: 0 or -EINVAL.
 */
int t3_operand_check(struct drm_file *file, const struct drm_t3_operand *user, u32 rows,
		     u64 row_bytes)
{
	if (user->pad)
		return t3_refuse_range(file, user, -EINVAL, pad, 0, 0);
	if (rows == 1 && user->pitch)
		return t3_refuse(file, user, -EINVAL, pitch, "0 for a single row");
	if (rows > 1 && user->pitch < row_bytes)
		return t3_refuse_range(file, user, -EINVAL, pitch, row_bytes, U64_MAX);
	return 0;
}

/**
 * t3_operand_get() - look up an operand's buffer
 * @file: whose handle it is
 * @operand: filled; it holds a reference of the buffer, also after -EINVAL
 * @user: the operand as user space gave it, checked
 * @rows: rows of the operand, at least 1
 * @row_bytes: bytes of each row
 *
 * Context: process context.
 * Return: 0, -ENOENT no such handle, or -EINVAL rows outside the buffer.
 */
int t3_operand_get(struct drm_file *file, struct t3_operand *operand,
		   const struct drm_t3_operand *user, u32 rows, u64 row_bytes)
{
	u64 size;

	operand->offset = user->offset;
	operand->pitch = user->pitch;
	operand->bo = t3_bo_lookup(file, user->handle);
	if (!operand->bo)
		return t3_refuse(file, user, -ENOENT, handle, "a GEM handle of this open file");
	size = operand->bo->base.size;
	if (t3_rows_within(operand->offset, operand->pitch, rows, row_bytes, size))
		return 0;
	if (t3_rows_within(0, operand->pitch, rows, row_bytes, size))
		return t3_refuse(file, user, -EINVAL, offset, "so that all rows end in the buffer");
	if (t3_rows_within(0, row_bytes, rows, row_bytes, size))
		return t3_refuse(file, user, -EINVAL, pitch, "so that all rows end in the buffer");
	return t3_refuse(file, user, -EINVAL, handle, "a buffer that is as long as all rows");
}

/**
 * t3_operand_address() - find the address of an operand
 * @operand: with a buffer
 *
 * Return: the address in device memory or on the bus.
 */
u64 t3_operand_address(const struct t3_operand *operand)
{
	u64 address;

	t3_bo_run(operand->bo, operand->offset, &address);
	return address;
}
