// SPDX-License-Identifier: MIT
/* libt3: the places of tiles, checked against a walk over every element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "t3.h"
#include "test.h"

static const struct t3_segment_desc plain = {
	.segment = 3,
	.op = DRM_T3_OP_ADD,
	.dtype = DRM_T3_F32,
	.init = DRM_T3_INIT_IDENTITY,
	.updates = 2,
	.rows = 10,
	.offset = 64,
	.row_bytes = 44,
	.pitch = 48,
	.tile_rows = 4,
	.tile_row_bytes = 16,
};

TEST("a ragged segment has its tiles in order")
{
	struct t3_tile tile;

	assert_int_equal(t3_desc_tiles(&plain), 9);
	assert_int_equal(t3_desc_tile(&plain, 0, &tile), 0);
	assert_int_equal(tile.row, 0);
	assert_int_equal(tile.col, 0);
	assert_int_equal(tile.rows, 4);
	assert_int_equal(tile.row_bytes, 16);
	assert_int_equal(tile.offset, 0);
	assert_int_equal(tile.bytes, 64);
	assert_int_equal(t3_desc_tile(&plain, 8, &tile), 0);
	assert_int_equal(tile.row, 8);
	assert_int_equal(tile.col, 32);
	assert_int_equal(tile.rows, 2);
	assert_int_equal(tile.row_bytes, 12);
	assert_int_equal(tile.offset, 8 * 48 + 32);
	assert_int_equal(tile.bytes, 24);
	assert_int_equal(t3_desc_tile(&plain, 9, &tile), -ERANGE);
	assert_int_equal(t3_desc_tile(&plain, UINT64_MAX, &tile), -ERANGE);
}

/* Each byte of the matrix is in the tile that locate returns, and in no other one. */
static void check_cover(const struct t3_segment_desc *desc)
{
	uint64_t bytes = 0, index, i;
	struct t3_tile tile;
	uint32_t row, col;

	for (i = 0; i < t3_desc_tiles(desc); i++) {
		assert_int_equal(t3_desc_tile(desc, i, &tile), 0);
		assert_true(tile.rows && tile.row_bytes);
		bytes += tile.bytes;
		for (row = tile.row; row < tile.row + tile.rows; row++) {
			for (col = tile.col; col < tile.col + tile.row_bytes; col++) {
				assert_int_equal(t3_desc_locate(desc, row, col, &index), 0);
				assert_int_equal(index, i);
			}
		}
	}
	assert_int_equal(bytes, (uint64_t)desc->rows * desc->row_bytes);
}

TEST("tiles cover the segment")
{
	static const uint32_t sizes[][4] = {
		{ 1, 4, 1, 4 },	 { 7, 60, 3, 16 }, { 8, 64, 8, 64 },
		{ 5, 36, 5, 4 }, { 16, 8, 1, 8 },  { 9, 100, 2, 96 },
	};
	struct t3_segment_desc desc = plain;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		desc.rows = sizes[i][0];
		desc.row_bytes = sizes[i][1];
		desc.pitch = desc.row_bytes + 4;
		desc.tile_rows = sizes[i][2];
		desc.tile_row_bytes = sizes[i][3];
		assert_int_equal(t3_desc_check(&desc), 0);
		check_cover(&desc);
	}
}

TEST("a place outside has no tile")
{
	uint64_t index = 77;

	assert_int_equal(t3_desc_locate(&plain, 10, 0, &index), -ERANGE);
	assert_int_equal(t3_desc_locate(&plain, 0, 44, &index), -ERANGE);
	assert_int_equal(t3_desc_locate(NULL, 0, 0, &index), -EINVAL);
	assert_int_equal(t3_desc_locate(&plain, 0, 0, NULL), -EINVAL);
	assert_int_equal(index, 77);
}

#define REFUSED(field, value)                                   \
	do {                                                    \
		struct t3_segment_desc bad = plain;             \
		bad.field = (value);                            \
		assert_int_equal(t3_desc_check(&bad), -EINVAL); \
	} while (0)

#define ACCEPTED(field, value)                             \
	do {                                               \
		struct t3_segment_desc good = plain;       \
		good.field = (value);                      \
		assert_int_equal(t3_desc_check(&good), 0); \
	} while (0)

TEST("the check knows each limit")
{
	assert_int_equal(t3_desc_check(&plain), 0);
	assert_int_equal(t3_desc_check(NULL), -EINVAL);
	ACCEPTED(segment, 63);
	REFUSED(segment, 64);
	ACCEPTED(op, DRM_T3_OP_MUL);
	REFUSED(op, DRM_T3_OP_MUL + 1);
	ACCEPTED(dtype, DRM_T3_BF16);
	REFUSED(dtype, DRM_T3_F64 + 1);
	REFUSED(dtype, UINT32_MAX);
	REFUSED(init, 2);
	REFUSED(updates, 0);
	ACCEPTED(updates, 64);
	REFUSED(updates, 65);
	REFUSED(rows, 0);
	REFUSED(rows, 3); /* below tile_rows */
	REFUSED(offset, 66);
	REFUSED(row_bytes, 0);
	REFUSED(row_bytes, 42);
	REFUSED(row_bytes, 52); /* above the pitch */
	REFUSED(pitch, 40);
	REFUSED(pitch, 50);
	ACCEPTED(pitch, 1u << 24);
	REFUSED(pitch, (1u << 24) + 4);
	REFUSED(tile_rows, 0);
	REFUSED(tile_rows, 11);
	REFUSED(tile_row_bytes, 0);
	REFUSED(tile_row_bytes, 14);
	REFUSED(tile_row_bytes, 48); /* above the row */
	REFUSED(offset, UINT64_MAX - 3);
}

TEST("bytes have each op, and any place")
{
	struct t3_segment_desc desc = plain;

	for (desc.dtype = DRM_T3_U8; desc.dtype <= DRM_T3_I8; desc.dtype++) {
		desc.offset = 67;
		desc.row_bytes = 43;
		desc.pitch = 47;
		desc.tile_row_bytes = 7;
		for (desc.op = DRM_T3_OP_STORE; desc.op <= DRM_T3_OP_MUL; desc.op++)
			assert_int_equal(t3_desc_check(&desc), 0);
	}
}

TEST("only integers have bitwise ops")
{
	static const bool is_float[] = {
		[DRM_T3_F32] = true, [DRM_T3_F16] = true, [DRM_T3_BF16] = true, [DRM_T3_F64] = true
	};
	struct t3_segment_desc desc = plain;

	desc.row_bytes = desc.tile_row_bytes = desc.pitch = 64;
	for (desc.dtype = 0; desc.dtype <= DRM_T3_F64; desc.dtype++)
		for (desc.op = 0; desc.op <= DRM_T3_OP_MUL; desc.op++) {
			bool bits = desc.op >= DRM_T3_OP_AND && desc.op <= DRM_T3_OP_XOR;

			assert_int_equal(t3_desc_check(&desc),
					 bits && is_float[desc.dtype] ? -EINVAL : 0);
		}
}

TEST("elements of eight bytes are whole")
{
	static const uint32_t dtypes[] = { DRM_T3_I64, DRM_T3_U64, DRM_T3_F64 };
	struct t3_segment_desc good = plain, desc;
	size_t i;

	good.offset = 64;
	good.row_bytes = good.pitch = 48;
	good.tile_row_bytes = 16;
	for (i = 0; i < 3; i++) {
		good.dtype = dtypes[i];
		assert_int_equal(t3_desc_check(&good), 0);
		desc = good;
		desc.offset = 68;
		assert_int_equal(t3_desc_check(&desc), -EINVAL);
		desc = good;
		desc.row_bytes = 44;
		assert_int_equal(t3_desc_check(&desc), -EINVAL);
		desc = good;
		desc.pitch = 52;
		assert_int_equal(t3_desc_check(&desc), -EINVAL);
		desc = good;
		desc.tile_row_bytes = 12;
		assert_int_equal(t3_desc_check(&desc), -EINVAL);
	}
}

/* Any numbers: the check must not overflow. */
TEST("a tile holds at most a mebibyte")
{
	struct t3_segment_desc desc = plain;

	desc.rows = 2048;
	desc.row_bytes = 4096;
	desc.pitch = 4096;
	desc.tile_rows = 256;
	desc.tile_row_bytes = 4096;
	assert_int_equal(t3_desc_check(&desc), 0);
	desc.tile_rows = 257;
	assert_int_equal(t3_desc_check(&desc), -EINVAL);
	desc.rows = UINT32_MAX;
	desc.tile_rows = UINT32_MAX;
	assert_int_equal(t3_desc_check(&desc), -EINVAL);
}

TEST("each type has its size")
{
	assert_int_equal(t3_dtype_bytes(DRM_T3_I32), 4);
	assert_int_equal(t3_dtype_bytes(DRM_T3_F32), 4);
	assert_int_equal(t3_dtype_bytes(DRM_T3_F16), 2);
	assert_int_equal(t3_dtype_bytes(DRM_T3_BF16), 2);
	assert_int_equal(t3_dtype_bytes(DRM_T3_U8), 1);
	assert_int_equal(t3_dtype_bytes(DRM_T3_I8), 1);
	assert_int_equal(t3_dtype_bytes(DRM_T3_U32), 4);
	assert_int_equal(t3_dtype_bytes(DRM_T3_I64), 8);
	assert_int_equal(t3_dtype_bytes(DRM_T3_U64), 8);
	assert_int_equal(t3_dtype_bytes(DRM_T3_F64), 8);
	assert_int_equal(t3_dtype_bytes(DRM_T3_F64 + 1), 0);
	assert_int_equal(t3_dtype_bytes(UINT32_MAX), 0);
}
