/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments that widen: f16 and bf16 updates are combined in accumulators of f32, and a tile is rounded
 * once, when its count is reached. SPEC.md section 3.4.
 */
#include "space/space_private.h"

#define ELEMENTS 256u /* at a time */

static uint32_t check_segment(const struct t3_segment *segment)
{
	if (segment->kind == T3_SEG_REMOTE)
		return T3_ADMIN_BAD_VALUE;
	if (segment->dtype != T3_DTYPE_F16 && segment->dtype != T3_DTYPE_BF16)
		return T3_ADMIN_BAD_VALUE;
	if (segment->op != T3_OP_ADD && segment->op != T3_OP_MUL)
		return T3_ADMIN_BAD_VALUE;
	if (segment->tile_rows > T3_MAX_WIDE_ROWS ||
	    segment->tile_rows * segment->tile_row_bytes > T3_MAX_WIDE_BYTES)
		return T3_ADMIN_BAD_GEOMETRY;
	return T3_ADMIN_OK;
}

/* The address and the extent are within the memory. */
static bool overlaps(const struct t3_segment *segment, uint64_t address)
{
	uint64_t own = t3_segment_address(segment, 0, 0);

	return address < own + segment->extent && own < address + 2 * segment->extent;
}

uint32_t t3_segment_widen(struct t3_space *space, const struct t3_cmd_seg_widen *cmd)
{
	uint64_t memory = space->dev->config.memory_size;
	struct t3_segment *segment;
	uint32_t status;

	if (space->dev->config.without_caps & T3_CAP_WIDEN)
		return T3_ADMIN_BAD_OPCODE;
	if (cmd->mbz || cmd->widen > 1 || (!cmd->widen && cmd->address))
		return T3_ADMIN_BAD_VALUE;
	if (cmd->segment >= T3_SPACE_SEGMENTS || !space->segment[cmd->segment])
		return T3_ADMIN_BAD_INDEX;
	segment = space->segment[cmd->segment];
	if (cmd->widen) {
		status = check_segment(segment);
		if (status != T3_ADMIN_OK)
			return status;
		if (cmd->address % 8 || cmd->address > memory ||
		    2 * segment->extent > memory - cmd->address || overlaps(segment, cmd->address))
			return T3_ADMIN_BAD_RANGE;
	}
	segment->widens = cmd->widen;
	segment->accumulators = cmd->address;
	return T3_ADMIN_OK;
}

void t3_widen_start(const struct t3_segment *segment, uint64_t address, uint32_t bytes)
{
	struct t3_dev *dev = segment->space->dev;
	uint64_t wide = t3_widen_address(segment, address);

	t3_nmc_widen(segment->dtype, t3_mem_read(dev, address, bytes),
		     t3_mem_write(dev, wide, 2 * (uint64_t)bytes), bytes / 2);
	t3_mem_written(dev, wide, 2 * (uint64_t)bytes);
}

void t3_widen_update(const struct t3_segment *segment, uint64_t address, const void *data,
		     uint32_t bytes)
{
	struct t3_dev *dev = segment->space->dev;
	uint64_t wide = t3_widen_address(segment, address);
	uint8_t *accumulators = t3_mem_read(dev, wide, 2 * (uint64_t)bytes);
	const uint8_t *from = data;
	uint32_t left = bytes / 2, count;
	float values[ELEMENTS];

	for (; left; left -= count, from += 2 * count, accumulators += 4 * count) {
		count = left < ELEMENTS ? left : ELEMENTS;
		t3_nmc_widen(segment->dtype, from, values, count);
		t3_nmc_apply(T3_DTYPE_F32, segment->op, accumulators, values, 4 * count);
	}
	t3_mem_written(dev, wide, 2 * (uint64_t)bytes);
}

void t3_widen_round(const struct t3_segment *segment, uint32_t tile)
{
	struct t3_dev *dev = segment->space->dev;
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, tile);
	uint64_t address = t3_segment_address(segment, shape.row, shape.col);
	uint32_t row;

	for (row = 0; row < shape.rows; row++, address += segment->pitch) {
		uint64_t wide = t3_widen_address(segment, address);

		t3_nmc_narrow(segment->dtype, t3_mem_read(dev, wide, 2 * shape.row_bytes),
			      t3_mem_write(dev, address, shape.row_bytes), shape.row_bytes / 2);
		t3_mem_written(dev, address, shape.row_bytes);
	}
	t3_fabric_charge(dev->fabric, shape.rows, 2 * shape.bytes);
}
