// SPDX-License-Identifier: GPL-2.0
/*
 * Operands of commands: rows of a buffer that user space names by a handle.
 */
#include <linux/overflow.h>

#include "t3_command.h"

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
 * t3_operand_valid() - check the part of an operand that needs no object
 * @user: the operand as user space gave it
 * @rows: rows of the operand, at least 1
 * @row_bytes: bytes of each row
 *
 * Return: true if pad is 0 and the pitch fits such rows. A single row has pitch 0.
 */
bool t3_operand_valid(const struct drm_t3_operand *user, u32 rows, u64 row_bytes)
{
	return !user->pad && (rows == 1 ? !user->pitch : user->pitch >= row_bytes);
}

/**
 * t3_operand_get() - look up an operand's buffer
 * @file: whose handle it is
 * @operand: filled; it holds a reference of the buffer, also after -EINVAL
 * @user: the operand as user space gave it, found valid
 * @rows: rows of the operand, at least 1
 * @row_bytes: bytes of each row
 *
 * Context: process context.
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
