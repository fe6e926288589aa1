// SPDX-License-Identifier: MIT
/*
 * f32, f16 and bf16 have a significand of some bits and a smallest exponent. Values are doubles,
 * which can hold all of them, and their products. A sum that a double cannot hold is first rounded
 * to odd, which keeps the second rounding correct. f64 is the compiler's double.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "reference.h"
#include "run.h"

struct format {
	int bits, significand, least; /* of all, with the hidden bit (0: an integer), exponent */
	bool is_signed;
	uint64_t nan;
};

static const struct format formats[T3_DTYPE_COUNT] = {
	[T3_DTYPE_I32] = { 32, 0, 0, true, 0 },
	[T3_DTYPE_F32] = { 32, 24, -126, true, 0x7fc00000 },
	[T3_DTYPE_F16] = { 16, 11, -14, true, 0x7e00 },
	[T3_DTYPE_BF16] = { 16, 8, -126, true, 0x7fc0 },
	[T3_DTYPE_U8] = { 8, 0, 0, false, 0 },
	[T3_DTYPE_I8] = { 8, 0, 0, true, 0 },
	[T3_DTYPE_U32] = { 32, 0, 0, false, 0 },
	[T3_DTYPE_I64] = { 64, 0, 0, true, 0 },
	[T3_DTYPE_U64] = { 64, 0, 0, false, 0 },
	[T3_DTYPE_F64] = { 64, 53, -1022, true, 0x7ff8000000000000 },
};

unsigned reference_bytes(uint32_t dtype)
{
	return (unsigned)formats[dtype].bits / 8;
}

static double decode(const struct format *format, uint32_t word)
{
	int fraction_bits = format->significand - 1;
	uint32_t fraction = word & ((1u << fraction_bits) - 1);
	uint32_t exponent =
		word >> fraction_bits & ((1u << (format->bits - format->significand)) - 1);
	double sign = word >> (format->bits - 1) & 1 ? -1.0 : 1.0;

	if (exponent == (1u << (format->bits - format->significand)) - 1)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == 0)
		return sign * ldexp(fraction, format->least - fraction_bits);
	return sign * ldexp(fraction + (1u << fraction_bits),
			    (int)exponent - 1 + format->least - fraction_bits);
}

/* To nearest, ties to even. Values beyond the largest one become infinite. */
static uint64_t encode(const struct format *format, double value)
{
	int fraction_bits = format->significand - 1, exponent;
	uint32_t infinite = ((1u << (format->bits - format->significand)) - 1) << fraction_bits;
	uint32_t sign = (uint32_t)(signbit(value) != 0) << (format->bits - 1);
	double scaled;

	if (isnan(value))
		return format->nan;
	value = fabs(value);
	if (isinf(value))
		return sign | infinite;
	exponent = value > 0 ? ilogb(value) : format->least;
	if (exponent < format->least)
		exponent = format->least;
	scaled = nearbyint(ldexp(value, fraction_bits - exponent));
	/* The hidden bit increases the exponent by one, and so does a carry out of the top. */
	if (scaled + ldexp(exponent - format->least, fraction_bits) >= infinite)
		return sign | infinite;
	return sign | (uint32_t)(scaled + ldexp(exponent - format->least, fraction_bits));
}

static double add_to_odd(double a, double b)
{
	double sum = a + b, b_part = sum - a, lost = (a - (sum - b_part)) + (b - b_part);
	uint64_t word;

	if (isnan(sum) || isinf(sum) || lost == 0)
		return sum;
	memcpy(&word, &sum, sizeof(word));
	if (!(word & 1))
		word += (lost > 0) == (sum > 0) ? 1 : -1ull;
	memcpy(&sum, &word, sizeof(sum));
	return sum;
}

uint64_t reference_convert(uint32_t from, uint32_t to, uint64_t word)
{
	return encode(&formats[to], decode(&formats[from], (uint32_t)word));
}

static bool below(double a, double b)
{
	return a < b || (a == b && signbit(a) && !signbit(b));
}

static uint64_t update_small_float(const struct format *format, uint32_t op, uint64_t m, uint64_t v)
{
	double a = decode(format, (uint32_t)m), b = decode(format, (uint32_t)v);

	if (op == T3_OP_ADD)
		return encode(format, add_to_odd(a, b));
	if (op == T3_OP_MUL)
		return encode(format, a * b); /* exact, or infinity times zero */
	if (isnan(a) || isnan(b))
		return format->nan;
	return below(a, b) == (op == T3_OP_MIN) ? m : v;
}

static uint64_t update_f64(uint32_t op, uint64_t m, uint64_t v)
{
	volatile double a, b, result;
	uint64_t word;

	memcpy((void *)&a, &m, sizeof(m));
	memcpy((void *)&b, &v, sizeof(v));
	if (op == T3_OP_ADD)
		result = a + b;
	else if (op == T3_OP_MUL)
		result = a * b;
	else if (isnan(a) || isnan(b))
		result = NAN;
	else
		result = below(a, b) == (op == T3_OP_MIN) ? a : b;
	memcpy(&word, (void *)&result, sizeof(word));
	return isnan(result) ? formats[T3_DTYPE_F64].nan : word;
}

/* By the compiler's types. What is above the type's bits is cut off. */
static uint64_t update_integer(const struct format *format, uint32_t op, uint64_t m, uint64_t v)
{
	uint64_t ones = ~0ull >> (64 - format->bits);
	int shift = 64 - format->bits;
	bool less = format->is_signed ? (int64_t)(m << shift) < (int64_t)(v << shift) : m < v;

	switch (op) {
	case T3_OP_ADD:
		return (m + v) & ones;
	case T3_OP_MUL:
		return m * v & ones;
	case T3_OP_AND:
		return m & v;
	case T3_OP_OR:
		return m | v;
	case T3_OP_XOR:
		return m ^ v;
	default:
		return less == (op == T3_OP_MIN) ? m : v;
	}
}

uint64_t reference_update(uint32_t op, uint32_t dtype, uint64_t m, uint64_t v)
{
	if (op == T3_OP_STORE)
		return v;
	if (dtype == T3_DTYPE_F64)
		return update_f64(op, m, v);
	if (formats[dtype].significand)
		return update_small_float(&formats[dtype], op, m, v);
	return update_integer(&formats[dtype], op, m, v);
}

uint64_t reference_number(uint32_t dtype, int number)
{
	double value = number;
	uint64_t word;

	if (!formats[dtype].significand)
		return (uint64_t)number & ~0ull >> (64 - formats[dtype].bits);
	if (dtype != T3_DTYPE_F64)
		return encode(&formats[dtype], value);
	memcpy(&word, &value, sizeof(word));
	return word;
}

uint64_t reference_identity(uint32_t op, uint32_t dtype)
{
	static const uint64_t infinity[T3_DTYPE_COUNT] = {
		[T3_DTYPE_F32] = 0x7f800000,
		[T3_DTYPE_F16] = 0x7c00,
		[T3_DTYPE_BF16] = 0x7f80,
		[T3_DTYPE_F64] = 0x7ff0000000000000,
	};
	uint64_t ones = ~0ull >> (64 - formats[dtype].bits), top = ones ^ ones >> 1;

	switch (op) {
	case T3_OP_MIN:
		if (formats[dtype].significand)
			return infinity[dtype];
		return formats[dtype].is_signed ? ones >> 1 : ones;
	case T3_OP_MAX:
		if (formats[dtype].significand)
			return infinity[dtype] | top;
		return formats[dtype].is_signed ? top : 0;
	case T3_OP_AND:
		return ones;
	case T3_OP_MUL:
		return reference_number(dtype, 1);
	default:
		return 0;
	}
}

/* ------------------------------------------------------------ capabilities */

uint32_t reference_needs(uint32_t op, uint32_t dtype)
{
	static const uint32_t by_op[T3_OP_COUNT] = {
		[T3_OP_AND] = T3_CAP_BITWISE,
		[T3_OP_OR] = T3_CAP_BITWISE,
		[T3_OP_XOR] = T3_CAP_BITWISE,
		[T3_OP_MUL] = T3_CAP_PRODUCT,
	};
	uint32_t caps;

	if (op >= T3_OP_COUNT || dtype >= T3_DTYPE_COUNT ||
	    (by_op[op] == T3_CAP_BITWISE && formats[dtype].significand))
		return REFERENCE_NEVER;
	caps = by_op[op];
	if (formats[dtype].bits == 8 && op != T3_OP_STORE)
		caps |= T3_CAP_BYTE_OPS;
	if (formats[dtype].bits == 64 || dtype == T3_DTYPE_U32)
		caps |= T3_CAP_TYPES;
	return caps;
}

struct reference_pair reference_pair(unsigned index)
{
	uint32_t op = 0, dtype = 0;

	for (;; index--) {
		while (reference_needs(op, dtype) == REFERENCE_NEVER)
			op += ++dtype == T3_DTYPE_COUNT, dtype %= T3_DTYPE_COUNT;
		if (!index)
			return (struct reference_pair){ op, dtype };
		op += ++dtype == T3_DTYPE_COUNT, dtype %= T3_DTYPE_COUNT;
	}
}

const char *reference_label(unsigned index)
{
	static const char *const ops[] = { T3_OP_LIST(T3_TEXT, T3_OP_) };
	static const char *const dtypes[] = { T3_DTYPE_LIST(T3_TEXT, T3_DTYPE_) };
	struct reference_pair pair = reference_pair(index);
	static char text[24];

	snprintf(text, sizeof(text), "%s-%s", ops[pair.op], dtypes[pair.dtype]);
	return text;
}

struct reference_pair reference_pair_of(struct conf *c, struct conf_device *d, unsigned index)
{
	static const char *const names[] = { T3_CAP_LIST(T3_BIT_NAME, T3_CAP_) };
	struct reference_pair pair = reference_pair(index);
	uint32_t lacks = reference_needs(pair.op, pair.dtype) & ~conf_reg(d, T3_REG_CAPS);

	if (lacks)
		conf_skip(c, "needs CAPS.%s", names[__builtin_ctz(lacks)]);
	return pair;
}
