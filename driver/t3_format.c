// SPDX-License-Identifier: GPL-2.0-only
/*
 * Formats of elements: the size of each data type, and the operations that it has.
 */
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
	static const u8 size[T3_DTYPE_COUNT] = { 4, 4, 2, 2, 1, 1 };

	return size[array_index_nospec(dtype, T3_DTYPE_COUNT)];
}

/**
 * t3_op_valid() - check whether a type has an operation
 * @dtype: enum t3_dtype, checked by the caller
 * @op: enum t3_op, unchecked
 *
 * Return: true if so. Bytes can only be stored.
 */
bool t3_op_valid(u32 dtype, u32 op)
{
	return op < (t3_dtype_size(dtype) == 1 ? T3_OP_STORE + 1 : T3_OP_COUNT);
}

#ifdef T3_KUNIT
#include "tests/t3_format_test.c"
#endif
