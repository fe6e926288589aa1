/* SPDX-License-Identifier: MIT */
#include "t3_hw.h"
#include "ref.h"

struct format {
	uint32_t bits;
	uint32_t mant; /* explicit fraction bits */
	uint32_t nan;
};

static const struct format formats[T3_DTYPE_COUNT] = {
	[T3_DTYPE_I32] = { 32, 0, 0 },	     [T3_DTYPE_F32] = { 32, 23, 0x7fc00000 },
	[T3_DTYPE_F16] = { 16, 10, 0x7e00 }, [T3_DTYPE_BF16] = { 16, 7, 0x7fc0 },
	[T3_DTYPE_U8] = { 8, 0, 0 }, /* such a type can only be stored */
	[T3_DTYPE_I8] = { 8, 0, 0 },
};

uint32_t ref_size(uint32_t dtype)
{
	return formats[dtype].bits / 8;
}

static uint32_t sign_bit(const struct format *f)
{
	return 1u << (f->bits - 1);
}

static uint32_t magnitude(const struct format *f, uint32_t bits)
{
	return bits & (sign_bit(f) - 1);
}

static uint32_t infinity(const struct format *f)
{
	return sign_bit(f) - (1u << f->mant);
}

static int bias(const struct format *f)
{
	return (1 << (f->bits - 2 - f->mant)) - 1;
}

static bool negative(const struct format *f, uint32_t bits)
{
	return bits & sign_bit(f);
}

bool ref_is_nan(uint32_t dtype, uint32_t bits)
{
	const struct format *f = &formats[dtype];

	return dtype != T3_DTYPE_I32 && magnitude(f, bits) > infinity(f);
}

/* A finite value is mantissa * 2^exponent. */
static int64_t mantissa(const struct format *f, uint32_t bits)
{
	uint32_t fraction = bits & ((1u << f->mant) - 1);

	return magnitude(f, bits) >> f->mant ? fraction | 1u << f->mant : fraction;
}

static int exponent(const struct format *f, uint32_t bits)
{
	int field = (int)(magnitude(f, bits) >> f->mant);

	return (field ? field : 1) - bias(f) - (int)f->mant;
}

/* Rounds amount * 2^exp to nearest even; amount > 0. */
static uint32_t encode(const struct format *f, uint64_t amount, int exp)
{
	int length = 64 - __builtin_clzll(amount);
	int shift = length - (int)f->mant - 1;
	int lowest = 1 - bias(f) - (int)f->mant;
	uint64_t result, rest, half;

	if (shift < lowest - exp)
		shift = lowest - exp;
	if (shift > 63) /* far below the smallest subnormal of a narrow type */
		return 0;
	if (shift <= 0) {
		result = amount << -shift;
	} else {
		result = amount >> shift;
		rest = amount - (result << shift);
		half = 1ull << (shift - 1);
		if (rest > half || (rest == half && result % 2))
			result++;
	}
	if (result >> f->mant)
		result += (uint64_t)(exp + shift - lowest) << f->mant;
	return result < infinity(f) ? (uint32_t)result : infinity(f);
}

#define ROOM 36 /* below the larger operand's last bit: enough for the rounding */

static uint32_t add_finite(const struct format *f, uint32_t a, uint32_t b)
{
	int ea = exponent(f, a), eb = exponent(f, b);
	int64_t x, y, sum;

	if (ea < eb)
		return add_finite(f, b, a);
	x = mantissa(f, a) << ROOM;
	y = mantissa(f, b);
	if (ea - eb <= ROOM)
		y <<= ROOM - (ea - eb);
	else
		y = y ? 1 : 0;
	sum = (negative(f, a) ? -x : x) + (negative(f, b) ? -y : y);
	if (!sum)
		return negative(f, a) && negative(f, b) ? sign_bit(f) : 0;
	return (sum < 0 ? sign_bit(f) : 0) | encode(f, (uint64_t)(sum < 0 ? -sum : sum), ea - ROOM);
}

static uint32_t add(const struct format *f, uint32_t a, uint32_t b)
{
	bool a_inf = magnitude(f, a) == infinity(f), b_inf = magnitude(f, b) == infinity(f);

	if (a_inf && b_inf && a != b)
		return f->nan;
	if (a_inf)
		return a;
	return b_inf ? b : add_finite(f, a, b);
}

/* A number in the order of the values, with -0 below +0. */
static int64_t key(const struct format *f, uint32_t bits)
{
	int64_t size = magnitude(f, bits);

	return negative(f, bits) ? -1 - size : size;
}

static uint32_t apply_float(uint32_t dtype, uint32_t op, uint32_t a, uint32_t b)
{
	const struct format *f = &formats[dtype];

	if (ref_is_nan(dtype, a) || ref_is_nan(dtype, b))
		return f->nan;
	if (op == T3_OP_ADD)
		return add(f, a, b);
	return (key(f, a) < key(f, b)) == (op == T3_OP_MIN) ? a : b;
}

static uint32_t apply_int(uint32_t op, uint32_t a, uint32_t b)
{
	int64_t x = a < 0x80000000u ? (int64_t)a : (int64_t)a - 0x100000000ll;
	int64_t y = b < 0x80000000u ? (int64_t)b : (int64_t)b - 0x100000000ll;

	if (op == T3_OP_ADD)
		return (uint32_t)((uint64_t)(x + y) & 0xffffffffu);
	return (x < y) == (op == T3_OP_MIN) ? a : b;
}

uint32_t ref_apply(uint32_t dtype, uint32_t op, uint32_t memory, uint32_t value)
{
	if (op == T3_OP_STORE)
		return value;
	if (dtype == T3_DTYPE_I32)
		return apply_int(op, memory, value);
	return apply_float(dtype, op, memory, value);
}

uint32_t ref_identity(uint32_t dtype, uint32_t op)
{
	const struct format *f = &formats[dtype];

	if (op == T3_OP_STORE || op == T3_OP_ADD)
		return 0;
	if (dtype == T3_DTYPE_I32)
		return op == T3_OP_MIN ? 0x7fffffffu : 0x80000000u;
	return infinity(f) | (op == T3_OP_MAX ? sign_bit(f) : 0);
}

/* The same value in another format, exact or rounded once. */
static uint32_t convert(const struct format *to, const struct format *from, uint32_t bits)
{
	uint32_t sign = negative(from, bits) ? sign_bit(to) : 0, size = magnitude(from, bits);

	if (size > infinity(from))
		return to->nan;
	if (size == infinity(from))
		return sign | infinity(to);
	if (!size)
		return sign;
	return sign | encode(to, (uint64_t)mantissa(from, bits), exponent(from, bits));
}

uint32_t ref_widen(uint32_t dtype, uint32_t bits)
{
	return convert(&formats[T3_DTYPE_F32], &formats[dtype], bits);
}

uint32_t ref_narrow(uint32_t dtype, uint32_t bits)
{
	return convert(&formats[dtype], &formats[T3_DTYPE_F32], bits);
}

/* For f32. A value far below the smallest subnormal needs no exact rounding. */
uint32_t ref_multiply(uint32_t a, uint32_t b)
{
	const struct format *f = &formats[T3_DTYPE_F32];
	uint32_t sign = (a ^ b) & sign_bit(f), x = magnitude(f, a), y = magnitude(f, b);

	if (x > infinity(f) || y > infinity(f))
		return f->nan;
	if (x == infinity(f) || y == infinity(f))
		return x && y ? sign | infinity(f) : f->nan;
	if (!x || !y || exponent(f, a) + exponent(f, b) < -210)
		return sign;
	return sign | encode(f, (uint64_t)(mantissa(f, a) * mantissa(f, b)),
			     exponent(f, a) + exponent(f, b));
}

uint32_t ref_small(uint32_t dtype, int value)
{
	const struct format *f = &formats[dtype];

	if (dtype == T3_DTYPE_I32)
		return (uint32_t)value;
	if (!value)
		return 0;
	return (value < 0 ? sign_bit(f) : 0) | encode(f, (uint64_t)(value < 0 ? -value : value), 0);
}
