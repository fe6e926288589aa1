/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Near-memory compute, one element at a time: this defines the bits of integers, and which type has
 * which op. nmc_float.c has the floats. SPEC.md section 4.
 */
#include "nmc/nmc.h"

static const struct type {
	uint8_t size;
	bool is_float, is_signed;
	uint64_t one, infinity; /* of a float */
} types[T3_DTYPE_COUNT] = {
	[T3_DTYPE_I32] = { 4, false, true, 0, 0 },
	[T3_DTYPE_F32] = { 4, true, true, 0x3f800000, 0x7f800000 },
	[T3_DTYPE_F16] = { 2, true, true, 0x3c00, 0x7c00 },
	[T3_DTYPE_BF16] = { 2, true, true, 0x3f80, 0x7f80 },
	[T3_DTYPE_U8] = { 1, false, false, 0, 0 },
	[T3_DTYPE_I8] = { 1, false, true, 0, 0 },
	[T3_DTYPE_U32] = { 4, false, false, 0, 0 },
	[T3_DTYPE_I64] = { 8, false, true, 0, 0 },
	[T3_DTYPE_U64] = { 8, false, false, 0, 0 },
	[T3_DTYPE_F64] = { 8, true, true, 0x3ff0000000000000, 0x7ff0000000000000 },
};

uint32_t t3_dtype_size(uint32_t dtype)
{
	return types[dtype].size;
}

/* The most significant bit: a float's sign. */
static uint64_t top_bit(const struct type *type)
{
	return 1ull << (8 * type->size - 1);
}

uint32_t t3_nmc_needs(uint32_t dtype, uint32_t op)
{
	uint32_t caps;

	if (dtype >= T3_DTYPE_COUNT || op >= T3_OP_COUNT)
		return T3_NMC_NEVER;
	if ((1u << op & T3_OPS_BITWISE) && types[dtype].is_float)
		return T3_NMC_NEVER;
	caps = dtype >= T3_DTYPE_U32 ? T3_CAP_TYPES : 0;
	if (op != T3_OP_STORE && types[dtype].size == 1)
		caps |= T3_CAP_BYTE_OPS;
	if (1u << op & T3_OPS_BITWISE)
		caps |= T3_CAP_BITWISE;
	if (op == T3_OP_MUL)
		caps |= T3_CAP_PRODUCT;
	return caps;
}

/* Bits above those of the type are not stored, so results wrap. `order`: its sign bit, or 0. */
static inline uint64_t combine(uint32_t op, uint64_t memory, uint64_t value, uint64_t order)
{
	switch (op) {
	case T3_OP_ADD:
		return memory + value;
	case T3_OP_MIN:
		return (memory ^ order) < (value ^ order) ? memory : value;
	case T3_OP_MAX:
		return (memory ^ order) > (value ^ order) ? memory : value;
	case T3_OP_AND:
		return memory & value;
	case T3_OP_OR:
		return memory | value;
	case T3_OP_XOR:
		return memory ^ value;
	default:
		return memory * value;
	}
}

/* Inlined with a constant size, and with a constant op where that matters. */
static inline __attribute__((always_inline)) void combine_each(size_t size, uint32_t op,
							       uint64_t order, uint8_t *dst,
							       const uint8_t *src, size_t bytes)
{
	uint64_t memory = 0, value = 0;
	size_t i;

	for (i = 0; i < bytes; i += size) {
		memcpy(&memory, dst + i, size);
		memcpy(&value, src + i, size);
		memory = combine(op, memory, value, order);
		memcpy(dst + i, &memory, size);
		memory = 0;
	}
}

/* Most stores add. */
static inline __attribute__((always_inline)) void apply_integer(size_t size, uint32_t op,
								uint64_t order, uint8_t *dst,
								const uint8_t *src, size_t bytes)
{
	if (op == T3_OP_ADD)
		combine_each(size, T3_OP_ADD, 0, dst, src, bytes);
	else
		combine_each(size, op, order, dst, src, bytes);
}

void t3_nmc_apply_narrow(uint32_t dtype, uint32_t op, uint8_t *dst, const uint8_t *src,
			 size_t bytes)
{
	const struct type *type = &types[dtype];
	uint64_t order = type->is_signed ? top_bit(type) : 0;

	if (type->is_float)
		t3_nmc_apply_float(dtype, op, dst, src, bytes);
	else if (type->size == 1)
		apply_integer(1, op, order, dst, src, bytes);
	else if (type->size == 4)
		apply_integer(4, op, order, dst, src, bytes);
	else
		apply_integer(8, op, order, dst, src, bytes);
}

/* `bytes` is a multiple of the element size. dst and src may overlap: a guest chooses both. */
void t3_nmc_apply(uint32_t dtype, uint32_t op, void *dst, const void *src, size_t bytes)
{
	size_t done;

	if (op == T3_OP_STORE) {
		if (dst != src) /* a guest may stage a tile at its own place in the buffer */
			memmove(dst, src, bytes);
	} else if (bytes < T3_NMC_WIDE) {
		t3_nmc_apply_narrow(dtype, op, dst, src, bytes);
	} else {
		done = t3_nmc_apply_wide(dtype, op, dst, src, bytes);
		t3_nmc_apply_narrow(dtype, op, (uint8_t *)dst + done, (const uint8_t *)src + done,
				    bytes - done);
	}
}

static uint64_t identity(uint32_t dtype, uint32_t op)
{
	const struct type *type = &types[dtype];
	uint64_t all = top_bit(type) | (top_bit(type) - 1);
	uint64_t least = type->is_float ? type->infinity | top_bit(type) : top_bit(type);
	uint64_t most = type->is_float ? type->infinity : top_bit(type) - 1;

	if (!type->is_signed) {
		least = 0;
		most = all;
	}
	switch (op) {
	case T3_OP_MIN:
		return most;
	case T3_OP_MAX:
		return least;
	case T3_OP_AND:
		return all;
	case T3_OP_MUL:
		return type->is_float ? type->one : 1;
	default:
		return 0;
	}
}

void t3_nmc_identity(uint32_t dtype, uint32_t op, void *dst, size_t bytes)
{
	uint64_t value = identity(dtype, op);
	uint32_t size = t3_dtype_size(dtype);
	size_t i;

	if (!value) {
		memset(dst, 0, bytes);
		return;
	}
	for (i = 0; i < bytes; i += size)
		memcpy((uint8_t *)dst + i, &value, size);
}
