// SPDX-License-Identifier: MIT
#include <string.h>

#include "common/numeric.h"
#include "perf/data.h"

#define VALUES 4u /* 0 .. 3: 32 ranks' sum is at most 96, exact in each type */

static uint32_t value_at(uint32_t rank, uint64_t index)
{
	return (uint32_t)((index + 3 * rank) % VALUES);
}

static uint64_t encode(uint32_t dtype, uint32_t value)
{
	double real = value;
	uint64_t bits;

	if (dtype == DRM_T3_F64) {
		memcpy(&bits, &real, sizeof(bits));
		return bits;
	}
	if (dtype == DRM_T3_F32 || dtype == DRM_T3_F16 || dtype == DRM_T3_BF16)
		return element_from_f32(dtype, (float)value);
	return value;
}

static void put(const struct perf_data *data, unsigned char *array, uint64_t index, uint32_t value)
{
	uint32_t size = t3_dtype_bytes(data->dtype);
	uint64_t bits = encode(data->dtype, value);

	memcpy(array + index * size, &bits, size); /* little-endian */
}

static uint32_t sum_at(const struct perf_data *data, uint64_t index)
{
	uint32_t rank, sum = 0;

	for (rank = 0; rank < data->ranks; rank++)
		sum += value_at(rank, index);
	return sum;
}

/* Where a rank's part of the input begins in it, as an index of the whole array. */
static uint64_t input_from(const struct perf_data *data)
{
	return data->collective == PERF_ALL_GATHER ? data->rank * (data->count / data->ranks) : 0;
}

static uint64_t input_count(const struct perf_data *data)
{
	return data->collective == PERF_ALL_GATHER ? data->count / data->ranks : data->count;
}

static uint64_t output_count(const struct perf_data *data)
{
	return data->collective == PERF_REDUCE_SCATTER ? data->count / data->ranks : data->count;
}

/* Element `at` of the result. */
static uint32_t result_at(const struct perf_data *data, uint64_t at)
{
	uint64_t chunk = data->count / data->ranks;

	switch (data->collective) {
	case PERF_ALL_REDUCE:
		return sum_at(data, at);
	case PERF_REDUCE_SCATTER:
		return sum_at(data, data->rank * chunk + at);
	case PERF_ALL_GATHER:
		return value_at((uint32_t)(at / chunk), at);
	case PERF_ALL_TO_ALL:
		return value_at((uint32_t)(at / chunk), data->rank * chunk + at % chunk);
	default:
		return value_at(0, at);
	}
}

void perf_fill(const struct perf_data *data)
{
	uint64_t i, from = input_from(data);
	bool one = data->collective == PERF_BROADCAST; /* one array: the root's is the input */

	memset(data->out, 0xff, data->count * t3_dtype_bytes(data->dtype));
	for (i = 0; i < input_count(data); i++)
		put(data, one && !data->rank ? data->out : data->in, i,
		    value_at(data->rank, from + i));
}

bool perf_is_right(const struct perf_data *data)
{
	uint32_t size = t3_dtype_bytes(data->dtype);
	uint64_t i, bits;

	for (i = 0; i < output_count(data); i++) {
		bits = encode(data->dtype, result_at(data, i));
		if (memcmp(data->out + i * size, &bits, size))
			return false;
	}
	return true;
}
