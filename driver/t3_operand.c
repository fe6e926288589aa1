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
 * @file: whose ioctl this is
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
 * t3_operand_fit() - check an operand against what it lies in
 * @file: whose ioctl this is
 * @user: the operand, from t3_operand_check()
 * @rows: rows of the operand, at least 1
 * @row_bytes: bytes of each row
 * @size: bytes of the buffer or space, at least those of all rows
 *
 * Return: 0 or -EINVAL.
 */
int t3_operand_fit(struct drm_file *file, const struct drm_t3_operand *user, u32 rows,
		   u64 row_bytes, u64 size)
{
	if (!t3_rows_within(0, user->pitch, rows, row_bytes, size))
		return t3_refuse(file, user, -EINVAL, pitch, "so that all rows end inside");
	if (!t3_rows_within(user->offset, user->pitch, rows, row_bytes, size))
		return t3_refuse(file, user, -EINVAL, offset, "so that all rows end inside");
	return 0;
}

/**
 * t3_operand_long_enough() - check whether a buffer or space can have such rows at all
 * @rows: how many, at least 1
 * @row_bytes: bytes of each row
 * @size: bytes of the buffer or space
 *
 * Return: true if it can, at offset 0 and with the least pitch.
 */
bool t3_operand_long_enough(u32 rows, u64 row_bytes, u64 size)
{
	return t3_rows_within(0, row_bytes, rows, row_bytes, size);
}

static int t3_operand_place(struct drm_file *file, const struct drm_t3_operand *user,
			    const struct t3_operand *operand, enum t3_operand_place place)
{
	bool device = operand->bo->kind == T3_BO_DEVICE;

	if (place == T3_PLACE_DEVICE && !device)
		return t3_refuse(file, user, -EOPNOTSUPP, handle, "memory of this device");
	if (place == T3_PLACE_HOST && device)
		return t3_refuse(file, user, -EOPNOTSUPP, handle, "a host buffer or an import");
	return 0;
}

static int t3_operand_get(struct drm_file *file, const struct drm_t3_operand *user, u32 rows,
			  u64 row_bytes, enum t3_operand_place place, struct t3_operand *operand)
{
	int ret = t3_operand_check(file, user, rows, row_bytes);

	if (ret)
		return ret;
	operand->offset = user->offset;
	operand->pitch = user->pitch;
	operand->bo = t3_bo_lookup(file, user->handle);
	if (!operand->bo)
		return t3_refuse(file, user, -ENOENT, handle, "a GEM handle of this open file");
	if (!t3_operand_long_enough(rows, row_bytes, operand->bo->base.size))
		return t3_refuse(file, user, -EINVAL, handle,
				 "a buffer that is as long as all rows");
	ret = t3_operand_fit(file, user, rows, row_bytes, operand->bo->base.size);
	return ret ?: t3_operand_place(file, user, operand, place);
}

/**
 * t3_operands_get() - check the operands of a command, and look up their buffers
 * @file: whose handles they are
 * @user: the command as user space gave it; its shape is checked
 * @rules: a table of its type, in the order in which they are checked
 * @count: of @rules
 * @unit: bytes of an element of a row
 * @command: its operands are filled; they hold references of the buffers, also after an error
 *
 * Context: process context.
 * Return: 0, -ENOENT no such handle, -EINVAL rows outside the buffer or a pitch that does not fit,
 *   -EOPNOTSUPP a buffer of the wrong kind.
 */
int t3_operands_get(struct drm_file *file, const void *user, const struct t3_operand_rule *rules,
		    size_t count, u32 unit, struct t3_command *command)
{
	const struct t3_operand_rule *rule;
	int ret = 0;

	for (rule = rules; !ret && rule < rules + count; rule++) {
		u32 rows = rule->bytes ? 1 : *(const u32 *)(user + rule->rows);
		u64 row_bytes = rule->bytes ?: (u64)unit * *(const u32 *)(user + rule->columns);

		ret = t3_operand_get(file, user + rule->user, rows, row_bytes, rule->place,
				     (void *)command + rule->operand);
		ret = t3_refused_in(file, ret, rule->name);
	}
	return ret;
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
