/* SPDX-License-Identifier: MIT */
#include "t3_hw.h"
#include "ref.h"

typedef unsigned __int128 wide;
typedef __int128 signed_wide;

struct format {
	uint32_t bits;
	uint32_t mant; /* explicit fraction bits; 0: an integer */
	bool is_signed;
	uint64_t nan;
};

static const struct format formats[T3_DTYPE_COUNT] = {
	[T3_DTYPE_I32] = { 32, 0, true, 0 },
	[T3_DTYPE_F32] = { 32, 23, true, 0x7fc00000 },
	[T3_DTYPE_F16] = { 16, 10, true, 0x7e00 },
	[T3_DTYPE_BF16] = { 16, 7, true, 0x7fc0 },
	[T3_DTYPE_U8] = { 8, 0, false, 0 },
	[T3_DTYPE_I8] = { 8, 0, true, 0 },
	[T3_DTYPE_U32] = { 32, 0, false, 0 },
	[T3_DTYPE_I64] = { 64, 0, true, 0 },
	[T3_DTYPE_U64] = { 64, 0, false, 0 },
	[T3_DTYPE_F64] = { 64, 52, true, 0x7ff8000000000000 },
};

uint32_t ref_size(uint32_t dtype)
{
	return formats[dtype].bits / 8;
}

bool ref_is_float(uint32_t dtype)
{
	return formats[dtype].mant;
}

bool ref_has(uint32_t dtype, uint32_t op)
{
	return !ref_is_float(dtype) || (op != T3_OP_AND && op != T3_OP_OR && op != T3_OP_XOR);
}

static uint64_t sign_bit(const struct format *f)
{
	return 1ull << (f->bits - 1);
}

static uint64_t all_bits(const struct format *f)
{
	return sign_bit(f) | (sign_bit(f) - 1);
}

static uint64_t magnitude(const struct format *f, uint64_t bits)
{
	return bits & (sign_bit(f) - 1);
}

static uint64_t infinity(const struct format *f)
{
	return sign_bit(f) - (1ull << f->mant);
}

static int bias(const struct format *f)
{
	return (1 << (f->bits - 2 - f->mant)) - 1;
}

static bool negative(const struct format *f, uint64_t bits)
{
	return bits & sign_bit(f);
}

bool ref_is_nan(uint32_t dtype, uint64_t bits)
{
	const struct format *f = &formats[dtype];

	return f->mant && magnitude(f, bits) > infinity(f);
}

/* A finite value is mantissa * 2^exponent. */
static uint64_t mantissa(const struct format *f, uint64_t bits)
{
	uint64_t fraction = bits & ((1ull << f->mant) - 1);

	return magnitude(f, bits) >> f->mant ? fraction | 1ull << f->mant : fraction;
}

static int exponent(const struct format *f, uint64_t bits)
{
	int field = (int)(magnitude(f, bits) >> f->mant);

	return (field ? field : 1) - bias(f) - (int)f->mant;
}

static int length_of(wide amount)
{
	uint64_t high = (uint64_t)(amount >> 64);

	return high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)amount);
}

/* Rounds amount * 2^exp to nearest even; amount > 0. */
static uint64_t encode(const struct format *f, wide amount, int exp)
{
	int shift = length_of(amount) - (int)f->mant - 1;
	int lowest = 1 - bias(f) - (int)f->mant;
	wide result, rest, half;

	if (shift < lowest - exp)
		shift = lowest - exp;
	if (shift > 127) /* far below the smallest subnormal */
		return 0;
	if (shift <= 0) {
		result = amount << -shift;
	} else {
		result = amount >> shift;
		rest = amount - (result << shift);
		half = (wide)1 << (shift - 1);
		if (rest > half || (rest == half && result % 2))
			result++;
	}
	if (result >> f->mant)
		result += (wide)(exp + shift - lowest) << f->mant;
	return result < infinity(f) ? (uint64_t)result : infinity(f);
}

#define ROOM 66 /* below the larger operand's last bit: enough for the rounding */

static uint64_t add_finite(const struct format *f, uint64_t a, uint64_t b)
{
	int ea = exponent(f, a), eb = exponent(f, b);
	signed_wide x, y, sum;

	if (ea < eb)
		return add_finite(f, b, a);
	x = (signed_wide)mantissa(f, a) << ROOM;
	y = mantissa(f, b);
	if (ea - eb <= ROOM)
		y <<= ROOM - (ea - eb);
	else
		y = y ? 1 : 0;
	sum = (negative(f, a) ? -x : x) + (negative(f, b) ? -y : y);
	if (!sum)
		return negative(f, a) && negative(f, b) ? sign_bit(f) : 0;
	return (sum < 0 ? sign_bit(f) : 0) | encode(f, (wide)(sum < 0 ? -sum : sum), ea - ROOM);
}

static uint64_t add(const struct format *f, uint64_t a, uint64_t b)
{
	bool a_inf = magnitude(f, a) == infinity(f), b_inf = magnitude(f, b) == infinity(f);

	if (a_inf && b_inf && a != b)
		return f->nan;
	if (a_inf)
		return a;
	return b_inf ? b : add_finite(f, a, b);
}

/* The product is exact before it is rounded. */
static uint64_t multiply(const struct format *f, uint64_t a, uint64_t b)
{
	uint64_t sign = (a ^ b) & sign_bit(f), x = magnitude(f, a), y = magnitude(f, b);

	if (x > infinity(f) || y > infinity(f))
		return f->nan;
	if (x == infinity(f) || y == infinity(f))
		return x && y ? sign | infinity(f) : f->nan;
	if (!x || !y)
		return sign;
	return sign |
	       encode(f, (wide)mantissa(f, a) * mantissa(f, b), exponent(f, a) + exponent(f, b));
}

/* A number in the order of the values, with -0 below +0. */
static int64_t key(const struct format *f, uint64_t bits)
{
	int64_t size = (int64_t)magnitude(f, bits);

	return negative(f, bits) ? -1 - size : size;
}

static uint64_t apply_float(uint32_t dtype, uint32_t op, uint64_t a, uint64_t b)
{
	const struct format *f = &formats[dtype];

	if (ref_is_nan(dtype, a) || ref_is_nan(dtype, b))
		return f->nan;
	switch (op) {
	case T3_OP_ADD:
		return add(f, a, b);
	case T3_OP_MUL:
		return multiply(f, a, b);
	default:
		return (key(f, a) < key(f, b)) == (op == T3_OP_MIN) ? a : b;
	}
}

/* The value of an integer's bits. */
static signed_wide value_of(const struct format *f, uint64_t bits)
{
	return f->is_signed && negative(f, bits) ? (signed_wide)bits - ((signed_wide)1 << f->bits)
						 : (signed_wide)bits;
}

static uint64_t apply_int(const struct format *f, uint32_t op, uint64_t a, uint64_t b)
{
	signed_wide x = value_of(f, a), y = value_of(f, b);
	uint64_t i, bits = 0;

	switch (op) {
	case T3_OP_ADD:
		return (uint64_t)(x + y) & all_bits(f);
	case T3_OP_MUL:
		return (uint64_t)((wide)x * (wide)y) & all_bits(f);
	case T3_OP_MIN:
		return x < y ? a : b;
	case T3_OP_MAX:
		return x < y ? b : a;
	}
	for (i = 0; i < f->bits; i++) {
		uint64_t ones = (a >> i & 1) + (b >> i & 1);

		bits |= (uint64_t)(op == T3_OP_AND  ? ones == 2
				   : op == T3_OP_OR ? ones > 0
						    : ones == 1)
			<< i;
	}
	return bits;
}

uint64_t ref_apply(uint32_t dtype, uint32_t op, uint64_t memory, uint64_t value)
{
	if (op == T3_OP_STORE)
		return value;
	if (ref_is_float(dtype))
		return apply_float(dtype, op, memory, value);
	return apply_int(&formats[dtype], op, memory, value);
}

uint64_t ref_identity(uint32_t dtype, uint32_t op)
{
	const struct format *f = &formats[dtype];
	bool is_float = ref_is_float(dtype);

	switch (op) {
	case T3_OP_MIN:
		if (is_float)
			return infinity(f);
		return f->is_signed ? sign_bit(f) - 1 : all_bits(f);
	case T3_OP_MAX:
		if (is_float)
			return sign_bit(f) | infinity(f);
		return f->is_signed ? sign_bit(f) : 0;
	case T3_OP_AND:
		return all_bits(f);
	case T3_OP_MUL:
		return is_float ? (uint64_t)bias(f) << f->mant : 1;
	default:
		return 0;
	}
}

/* The same value in another format, exact or rounded once. */
static uint64_t convert(const struct format *to, const struct format *from, uint64_t bits)
{
	uint64_t sign = negative(from, bits) ? sign_bit(to) : 0, size = magnitude(from, bits);

	if (size > infinity(from))
		return to->nan;
	if (size == infinity(from))
		return sign | infinity(to);
	if (!size)
		return sign;
	return sign | encode(to, mantissa(from, bits), exponent(from, bits));
}

uint32_t ref_widen(uint32_t dtype, uint32_t bits)
{
	return (uint32_t)convert(&formats[T3_DTYPE_F32], &formats[dtype], bits);
}

uint32_t ref_narrow(uint32_t dtype, uint32_t bits)
{
	return (uint32_t)convert(&formats[dtype], &formats[T3_DTYPE_F32], bits);
}

uint32_t ref_multiply(uint32_t a, uint32_t b)
{
	return (uint32_t)multiply(&formats[T3_DTYPE_F32], a, b);
}

uint64_t ref_small(uint32_t dtype, int value)
{
	const struct format *f = &formats[dtype];

	if (!ref_is_float(dtype))
		return (uint64_t)value & all_bits(f);
	if (!value)
		return 0;
	return (value < 0 ? sign_bit(f) : 0) | encode(f, (wide)(value < 0 ? -value : value), 0);
}
