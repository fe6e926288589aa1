// SPDX-License-Identifier: MIT
/*
 * A test matrix in all types. Its values are small whole numbers, whose sums are exact in each
 * type.
 */
#include <errno.h>
#include <string.h>

#include "selftest/selftest.h"

/* The features of a device that combines this type by this op, or stores it. */
static uint64_t needed(uint32_t dtype, uint32_t op)
{
	static const uint64_t of_op[] = {
		[DRM_T3_OP_MIN] = DRM_T3_FEATURE_MINMAX,  [DRM_T3_OP_MAX] = DRM_T3_FEATURE_MINMAX,
		[DRM_T3_OP_AND] = DRM_T3_FEATURE_BITWISE, [DRM_T3_OP_OR] = DRM_T3_FEATURE_BITWISE,
		[DRM_T3_OP_XOR] = DRM_T3_FEATURE_BITWISE, [DRM_T3_OP_MUL] = DRM_T3_FEATURE_PRODUCT,
	};
	uint64_t byte_ops = op ? DRM_T3_FEATURE_BYTE_OPS : 0;

	switch (dtype) {
	case DRM_T3_U8:
	case DRM_T3_I8:
		return of_op[op] | DRM_T3_FEATURE_BYTES | byte_ops;
	case DRM_T3_U32:
	case DRM_T3_I64:
	case DRM_T3_U64:
	case DRM_T3_F64:
		return of_op[op] | DRM_T3_FEATURE_TYPES;
	default:
		return of_op[op];
	}
}

bool selftest_device_has(const struct selftest *test, uint32_t dtype, uint32_t op)
{
	bool is_float = dtype == DRM_T3_F32 || dtype == DRM_T3_F16 || dtype == DRM_T3_BF16 ||
			dtype == DRM_T3_F64;
	bool is_bitwise = op >= DRM_T3_OP_AND && op <= DRM_T3_OP_XOR;

	return !(is_float && is_bitwise) && !(needed(dtype, op) & ~test->device->info.features);
}

bool selftest_bed_open(struct selftest *test, struct selftest_bed *bed, struct t3_device *dev,
		       uint32_t dtype, uint32_t op)
{
	uint32_t size = t3_dtype_bytes(dtype);

	*bed = (struct selftest_bed){
		.desc = { .op = op,
			  .dtype = dtype,
			  .init = op ? DRM_T3_INIT_IDENTITY : DRM_T3_INIT_KEEP,
			  .updates = op ? 2 : 1,
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
	double longer = number;
	uint64_t integer = number;
	uint16_t half;
	uint32_t word;

	switch (dtype) {
	case DRM_T3_I32:
	case DRM_T3_U32:
		memcpy(element, &number, 4);
		break;
	case DRM_T3_I64:
	case DRM_T3_U64:
		memcpy(element, &integer, 8);
		break;
	case DRM_T3_F64:
		memcpy(element, &longer, 8);
		break;
	case DRM_T3_F32:
		memcpy(element, &real, 4);
		break;
	case DRM_T3_F16:
		half = half_of(number);
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

/* All sums and products are below 128. */
static uint32_t number_of(const struct selftest_bed *bed, uint32_t update, uint32_t index)
{
	if (bed->desc.op == DRM_T3_OP_MUL)
		return index % (7 + 4 * update) + 1;
	return update ? index % 7 + 1 : index % 101 + 1;
}

static uint32_t combine(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case DRM_T3_OP_ADD:
		return a + b;
	case DRM_T3_OP_MIN:
		return a < b ? a : b;
	case DRM_T3_OP_MAX:
		return a > b ? a : b;
	case DRM_T3_OP_AND:
		return a & b;
	case DRM_T3_OP_OR:
		return a | b;
	case DRM_T3_OP_XOR:
		return a ^ b;
	default:
		return a * b;
	}
}

void selftest_values(const struct selftest_bed *bed, uint32_t update, unsigned char *values)
{
	uint32_t size = t3_dtype_bytes(bed->desc.dtype), i;

	for (i = 0; i < SELFTEST_ROWS * SELFTEST_COLUMNS; i++)
		encode(bed->desc.dtype, number_of(bed, update, i), values + i * size);
}

bool selftest_compare(struct selftest *test, const struct selftest_bed *bed)
{
	uint32_t size = t3_dtype_bytes(bed->desc.dtype), i, update, result;
	const unsigned char *memory = bed->memory;
	unsigned char wanted[8];

	for (i = 0; i < SELFTEST_ROWS * SELFTEST_COLUMNS; i++) {
		result = number_of(bed, 0, i);
		for (update = 1; update < bed->desc.updates; update++)
			result = combine(bed->desc.op, result, number_of(bed, update, i));
		encode(bed->desc.dtype, result, wanted);
		if (memcmp(memory + i * size, wanted, size) != 0)
			return selftest_fail(test, "element %u is not %u, by %u updates with %s", i,
					     result, bed->desc.updates, t3_op_name(bed->desc.op));
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
