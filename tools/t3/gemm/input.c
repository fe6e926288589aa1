// SPDX-License-Identifier: MIT
#include "input.h"
#include "t3.h"

#define GOLDEN 0x9e3779b97f4a7c15ull

/* splitmix64 as a function of its counter */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t stream(const struct input_slice *s)
{
	return mix(mix(s->seed + GOLDEN) + s->iteration * GOLDEN + (uint64_t)s->matrix);
}

/* Multiples of 2^-bits in [-1, 1): every one is a value of the type. */
static unsigned int fraction_bits(uint32_t dtype)
{
	switch (dtype) {
	case DRM_T3_F16:
		return 10;
	case DRM_T3_BF16:
		return 7;
	default:
		return 23;
	}
}

static void fill_floats(const struct input_slice *s, float *out)
{
	unsigned int bits = fraction_bits(s->dtype);
	int32_t one = (int32_t)1 << bits;
	float scale = 1.0f / (float)one;
	uint64_t key = stream(s), index;
	uint32_t i, j;

	for (i = 0; i < s->rows; i++) {
		index = (uint64_t)(s->row + i) * s->columns + s->col;
		for (j = 0; j < s->cols; j++)
			*out++ = scale *
				 (float)((int32_t)(mix(key + (index + j) * GOLDEN) >> (63 - bits)) -
					 one);
	}
}

static void fill_ints(const struct input_slice *s, int32_t *out)
{
	uint64_t key = stream(s), index;
	uint32_t i, j;

	for (i = 0; i < s->rows; i++) {
		index = (uint64_t)(s->row + i) * s->columns + s->col;
		for (j = 0; j < s->cols; j++)
			*out++ = (int32_t)(mix(key + (index + j) * GOLDEN) >> 52) - 2048;
	}
}

void input_fill(const struct input_slice *slice, void *values)
{
	if (slice->dtype == DRM_T3_I32)
		fill_ints(slice, values);
	else
		fill_floats(slice, values);
}
