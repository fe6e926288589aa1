// SPDX-License-Identifier: MIT
/*
 * A test matrix in all types. Its values are small whole numbers, whose sums are exact in each
 * type.
 */
#include <errno.h>
#include <string.h>

#include "selftest/selftest.h"

bool selftest_bed_open(struct selftest *test, struct selftest_bed *bed, struct t3_device *dev,
		       uint32_t dtype)
{
	bool bytes = dtype == DRM_T3_U8 || dtype == DRM_T3_I8;
	uint32_t size = t3_dtype_bytes(dtype);

	*bed = (struct selftest_bed){
		.desc = { .op = bytes ? DRM_T3_OP_STORE : DRM_T3_OP_ADD,
			  .dtype = dtype,
			  .init = bytes ? DRM_T3_INIT_KEEP : DRM_T3_INIT_IDENTITY,
			  .updates = bytes ? 1 : 2,
			  .rows = SELFTEST_ROWS,
			  .row_bytes = SELFTEST_COLUMNS * size,
			  .pitch = SELFTEST_COLUMNS * size,
			  .tile_rows = SELFTEST_ROWS / 4,
			  .tile_row_bytes = SELFTEST_COLUMNS * size / 2 },
	};
	return selftest_good(test, "allocating device memory",
			     t3_buffer_create(dev, SELFTEST_BYTES, &bed->buffer)) &&
	       selftest_good(test, "mapping device memory",
			     t3_buffer_map(bed->buffer, &bed->memory)) &&
	       selftest_good(test, "creating a space",
			     t3_space_create(dev, bed->buffer, 64, &bed->space));
}

void selftest_bed_close(struct selftest_bed *bed)
{
	if (bed->space)
		t3_space_destroy(bed->space);
	t3_buffer_destroy(bed->buffer);
	*bed = (struct selftest_bed){ 0 };
}

/* 1 .. 1023 as IEEE 754 binary16: sign 0, exponent, and the bits below the first one. */
static uint16_t half_of(uint32_t number)
{
	uint32_t top = 31 - (uint32_t)__builtin_clz(number);

	return (uint16_t)(((top + 15) << 10) | ((number << (10 - top)) & 0x3ff));
}

static void encode(uint32_t dtype, uint32_t number, unsigned char *element)
{
	float real = (float)number;
	uint16_t half = half_of(number);
	uint32_t word;

	switch (dtype) {
	case DRM_T3_I32:
		memcpy(element, &number, 4);
		break;
	case DRM_T3_F32:
		memcpy(element, &real, 4);
		break;
	case DRM_T3_F16:
		memcpy(element, &half, 2);
		break;
	case DRM_T3_BF16:
		memcpy(&word, &real, 4);
		half = (uint16_t)(word >> 16);
		memcpy(element, &half, 2);
		break;
	default:
		*element = (unsigned char)number;
	}
}

/* All sums are below 128. */
static uint32_t number_of(uint32_t update, uint32_t index)
{
	return update ? index % 7 + 1 : index % 101 + 1;
}

void selftest_values(const struct selftest_bed *bed, uint32_t update, unsigned char *values)
{
	uint32_t size = t3_dtype_bytes(bed->desc.dtype), i;

	for (i = 0; i < SELFTEST_ROWS * SELFTEST_COLUMNS; i++)
		encode(bed->desc.dtype, number_of(update, i), values + i * size);
}

bool selftest_compare(struct selftest *test, const struct selftest_bed *bed)
{
	uint32_t size = t3_dtype_bytes(bed->desc.dtype), i, update, sum;
	const unsigned char *memory = bed->memory;
	unsigned char wanted[4];

	for (i = 0; i < SELFTEST_ROWS * SELFTEST_COLUMNS; i++) {
		for (update = 0, sum = 0; update < bed->desc.updates; update++)
			sum += number_of(update, i);
		encode(bed->desc.dtype, sum, wanted);
		if (memcmp(memory + i * size, wanted, size) != 0)
			return selftest_fail(test, "element %u is not %u, the sum of %u updates", i,
					     sum, bed->desc.updates);
	}
	return true;
}

bool selftest_store_tile(struct selftest *test, const struct selftest_bed *bed, uint32_t update,
			 uint64_t number)
{
	unsigned char values[SELFTEST_BYTES];
	struct t3_view view;
	struct t3_tile tile;
	int ret;

	selftest_values(bed, update, values);
	ret = t3_view_aperture(bed->space, &bed->desc, &view);
	if (!ret)
		ret = t3_desc_tile(&bed->desc, number, &tile);
	if (!ret)
		ret = t3_store_tile(&view, number, values + tile.offset, bed->desc.pitch);
	return selftest_good(test, "storing a tile", ret);
}
