// SPDX-License-Identifier: MIT
/*
 * Each of the three float types has a significand of some bits and a smallest exponent. Values are
 * doubles, which can hold all of them. A sum that a double cannot hold is first rounded to odd,
 * which keeps the second rounding correct.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "reference.h"
#include "t3_hw.h"

struct format {
	int bits, significand, least; /* of all, with the hidden bit, exponent */
	uint32_t nan;
};

static const struct format formats[] = {
	[T3_DTYPE_F32] = { 32, 24, -126, 0x7fc00000 },
	[T3_DTYPE_F16] = { 16, 11, -14, 0x7e00 },
	[T3_DTYPE_BF16] = { 16, 8, -126, 0x7fc0 },
};

unsigned reference_bytes(uint32_t dtype)
{
	return dtype == T3_DTYPE_F16 || dtype == T3_DTYPE_BF16 ? 2 : 4;
}

uint32_t reference_identity(uint32_t op, uint32_t dtype)
{
	static const uint32_t least[] = { 0x80000000, 0xff800000, 0xfc00, 0xff80 };
	static const uint32_t most[] = { 0x7fffffff, 0x7f800000, 0x7c00, 0x7f80 };

	if (op == T3_OP_MIN)
		return most[dtype];
	return op == T3_OP_MAX ? least[dtype] : 0;
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
static uint32_t encode(const struct format *format, double value)
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

static bool below(double a, double b)
{
	return a < b || (a == b && signbit(a) && !signbit(b));
}

static uint32_t update_float(const struct format *format, uint32_t op, uint32_t m, uint32_t v)
{
	double a = decode(format, m), b = decode(format, v);

	if (op == T3_OP_ADD)
		return encode(format, add_to_odd(a, b));
	if (isnan(a) || isnan(b))
		return format->nan;
	return below(a, b) == (op == T3_OP_MIN) ? m : v;
}

static uint32_t update_i32(uint32_t op, uint32_t m, uint32_t v)
{
	if (op == T3_OP_ADD)
		return m + v;
	/* With the sign bit inverted the words have the order of the values. */
	return ((m ^ 0x80000000) < (v ^ 0x80000000)) == (op == T3_OP_MIN) ? m : v;
}

uint32_t reference_update(uint32_t op, uint32_t dtype, uint32_t m, uint32_t v)
{
	if (op == T3_OP_STORE)
		return v;
	if (dtype == T3_DTYPE_I32)
		return update_i32(op, m, v);
	return update_float(&formats[dtype], op, m, v);
}
