// SPDX-License-Identifier: MIT
/* The places of a segment's tiles. Pure arithmetic on a descriptor. */
#include <stddef.h>

#include "space/space.h"

#define MAX_PITCH      (1u << 24)
#define MAX_TILE_BYTES (1u << 20)
#define MAX_UPDATES    64u

uint32_t t3_dtype_bytes(uint32_t dtype)
{
	switch (dtype) {
	case DRM_T3_I64:
	case DRM_T3_U64:
	case DRM_T3_F64:
		return 8;
	case DRM_T3_I32:
	case DRM_T3_U32:
	case DRM_T3_F32:
		return 4;
	case DRM_T3_F16:
	case DRM_T3_BF16:
		return 2;
	case DRM_T3_U8:
	case DRM_T3_I8:
		return 1;
	default:
		return 0;
	}
}

bool t3_dtype_has(uint32_t dtype, uint32_t op)
{
	bool is_float = dtype == DRM_T3_F32 || dtype == DRM_T3_F16 || dtype == DRM_T3_BF16 ||
			dtype == DRM_T3_F64;
	bool bitwise = op == DRM_T3_OP_AND || op == DRM_T3_OP_OR || op == DRM_T3_OP_XOR;

	return t3_dtype_bytes(dtype) && op <= DRM_T3_OP_MUL && !(is_float && bitwise);
}

/* desc->member is not what is allowed. */
#define REFUSE(member, allowed) t3_refuse("t3_segment_desc", #member, desc->member, allowed)

static int check_enums(const struct t3_segment_desc *desc)
{
	if (desc->segment >= T3_SEGMENTS)
		return REFUSE(segment, "0 to 63");
	if (!t3_dtype_bytes(desc->dtype))
		return REFUSE(dtype, "enum drm_t3_dtype");
	if (!t3_dtype_has(desc->dtype, desc->op))
		return REFUSE(op, "enum drm_t3_op; of floats not AND, OR, XOR");
	if (desc->init > DRM_T3_INIT_IDENTITY)
		return REFUSE(init, "enum drm_t3_init");
	if (desc->updates < 1 || desc->updates > MAX_UPDATES)
		return REFUSE(updates, "1 to 64");
	return 0;
}

static int check_elements(const struct t3_segment_desc *desc)
{
	uint32_t size = t3_dtype_bytes(desc->dtype);

	if (desc->offset % size)
		return REFUSE(offset, "a multiple of the element size");
	if (desc->row_bytes % size)
		return REFUSE(row_bytes, "a multiple of the element size");
	if (desc->pitch % size)
		return REFUSE(pitch, "a multiple of the element size");
	if (desc->tile_row_bytes % size)
		return REFUSE(tile_row_bytes, "a multiple of the element size");
	return 0;
}

static int check_sizes(const struct t3_segment_desc *desc)
{
	if (!desc->rows)
		return REFUSE(rows, "at least 1");
	if (!desc->row_bytes)
		return REFUSE(row_bytes, "at least one element");
	if (desc->pitch < desc->row_bytes || desc->pitch > MAX_PITCH)
		return REFUSE(pitch, "row_bytes to DRM_T3_PITCH_MAX");
	if (!desc->tile_rows || desc->tile_rows > desc->rows)
		return REFUSE(tile_rows, "1 to rows");
	if (!desc->tile_row_bytes || desc->tile_row_bytes > desc->row_bytes)
		return REFUSE(tile_row_bytes, "one element to row_bytes");
	if ((uint64_t)desc->tile_rows * desc->tile_row_bytes > MAX_TILE_BYTES)
		return REFUSE(tile_rows, "so few that a tile has at most 1048576 bytes");
	return 0;
}

uint64_t t3_desc_extent(const struct t3_segment_desc *d)
{
	return (uint64_t)(d->rows - 1) * d->pitch + d->row_bytes;
}

int t3_desc_check(const struct t3_segment_desc *desc)
{
	int ret = desc ? check_enums(desc) : -EINVAL;

	if (!ret)
		ret = check_elements(desc);
	if (!ret)
		ret = check_sizes(desc);
	if (!ret && desc->offset > UINT64_MAX - t3_desc_extent(desc))
		ret = REFUSE(offset, "so that the last row ends below 2^64");
	return ret;
}

static uint32_t div_up(uint32_t a, uint32_t b)
{
	return a / b + !!(a % b);
}

uint64_t t3_desc_tiles(const struct t3_segment_desc *desc)
{
	return (uint64_t)div_up(desc->rows, desc->tile_rows) *
	       div_up(desc->row_bytes, desc->tile_row_bytes);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int t3_desc_tile(const struct t3_segment_desc *desc, uint64_t index, struct t3_tile *tile)
{
	uint32_t across;

	if (!desc || !tile)
		return -EINVAL;
	if (index >= t3_desc_tiles(desc))
		return -ERANGE;
	across = div_up(desc->row_bytes, desc->tile_row_bytes);
	tile->row = (uint32_t)(index / across) * desc->tile_rows;
	tile->col = (uint32_t)(index % across) * desc->tile_row_bytes;
	tile->rows = least(desc->tile_rows, desc->rows - tile->row);
	tile->row_bytes = least(desc->tile_row_bytes, desc->row_bytes - tile->col);
	tile->offset = (uint64_t)tile->row * desc->pitch + tile->col;
	tile->bytes = (uint64_t)tile->rows * tile->row_bytes;
	return 0;
}

int t3_desc_locate(const struct t3_segment_desc *desc, uint32_t row, uint32_t col, uint64_t *index)
{
	if (!desc || !index)
		return -EINVAL;
	if (row >= desc->rows || col >= desc->row_bytes)
		return -ERANGE;
	*index = (uint64_t)(row / desc->tile_rows) * div_up(desc->row_bytes, desc->tile_row_bytes) +
		 col / desc->tile_row_bytes;
	return 0;
}

uint32_t t3_tile_room(const struct t3_segment_desc *desc, uint32_t col)
{
	return least(desc->tile_row_bytes - col % desc->tile_row_bytes, desc->row_bytes - col);
}

int t3_view_memory(void *ptr, const struct t3_segment_desc *desc, struct t3_view *view)
{
	int ret = t3_desc_check(desc);

	if (ret || !ptr || !view)
		return -EINVAL;
	view->base = ptr;
	view->desc = *desc;
	return 0;
}

int t3_view_aperture(const struct t3_space *space, const struct t3_segment_desc *desc,
		     struct t3_view *view)
{
	int ret = t3_desc_check(desc);

	if (ret || !space || !view)
		return -EINVAL;
	if (desc->offset + t3_desc_extent(desc) > space->size)
		return -ERANGE;
	view->base = space->aperture + desc->offset;
	view->desc = *desc;
	return 0;
}
