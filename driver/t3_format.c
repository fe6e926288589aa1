// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formats of elements: the size of each data type, the operations that it has, and the
 * capabilities of a device that these need.
 */
#include <linux/bits.h>
#include <linux/nospec.h>

#include "t3_format.h"

/**
 * t3_dtype_size() - get the size of an element
 * @dtype: enum t3_dtype, checked by the caller
 *
 * Return: bytes.
 */
u32 t3_dtype_size(u32 dtype)
{
	static const u8 size[T3_DTYPE_COUNT] = { 4, 4, 2, 2, 1, 1, 4, 8, 8, 8 };

	return size[array_index_nospec(dtype, T3_DTYPE_COUNT)];
}

/**
 * t3_op_valid() - check whether a type has an operation, on any device
 * @dtype: enum t3_dtype, checked by the caller
 * @op: enum t3_op, unchecked
 *
 * Return: true if so. Bits of floats are not combined.
 */
bool t3_op_valid(u32 dtype, u32 op)
{
	if (op >= T3_OP_COUNT)
		return false;
	if (op < T3_OP_AND || op == T3_OP_MUL)
		return true;
	switch (dtype) {
	case T3_DTYPE_F32:
	case T3_DTYPE_F16:
	case T3_DTYPE_BF16:
	case T3_DTYPE_F64:
		return false;
	default:
		return true;
	}
}

/**
 * t3_ops_need() - get the capabilities that operations need, of any type
 * @op_mask: bits enum t3_op
 *
 * Return: T3_CAP_*.
 */
u32 t3_ops_need(u32 op_mask)
{
	u32 caps = 0;

	if (op_mask & (BIT(T3_OP_AND) | BIT(T3_OP_OR) | BIT(T3_OP_XOR)))
		caps |= T3_CAP_BITWISE;
	if (op_mask & BIT(T3_OP_MUL))
		caps |= T3_CAP_PRODUCT;
	return caps;
}

/**
 * t3_op_needs() - get the capabilities that an operation on a type needs
 * @dtype: enum t3_dtype, checked by the caller
 * @op: enum t3_op that t3_op_valid() accepts for @dtype
 *
 * Return: T3_CAP_*.
 */
u32 t3_op_needs(u32 dtype, u32 op)
{
	u32 caps = t3_ops_need(BIT(op));

	if (dtype >= T3_DTYPE_U32)
		caps |= T3_CAP_TYPES;
	if (op != T3_OP_STORE && t3_dtype_size(dtype) == 1)
		caps |= T3_CAP_BYTE_OPS;
	return caps;
}

#ifdef T3_KUNIT
#include "tests/t3_format_test.c"
#endif
