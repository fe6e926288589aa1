/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SEG_MAP, SEG_UNMAP and SEG_STAGING: checks them and maps segments. SPEC.md sections 3, 7. */
#include "space/space_private.h"

static uint32_t check_values(const struct t3_dev *dev, const struct t3_cmd_seg_map *cmd)
{
	bool sends = cmd->kind == T3_SEG_REMOTE || cmd->kind == T3_SEG_DMA;

	if (cmd->kind < T3_SEG_LOCAL || cmd->kind > T3_SEG_DMA || cmd->init > T3_INIT_IDENTITY ||
	    cmd->mbz[0] || cmd->mbz[1] || cmd->mbz[2])
		return T3_ADMIN_BAD_VALUE;
	if (!t3_computes(dev, cmd->dtype, cmd->op) || !t3_computes(dev, cmd->dtype, cmd->target_op))
		return T3_ADMIN_BAD_VALUE;
	if (cmd->kind == T3_SEG_REMOTE && (cmd->op || cmd->init))
		return T3_ADMIN_BAD_VALUE;
	if (cmd->block_tiles > (cmd->kind == T3_SEG_DMA ? T3_MAX_BLOCK_TILES : 0))
		return T3_ADMIN_BAD_VALUE;
	if (!sends && (cmd->target_op || cmd->routes || cmd->target_segment || cmd->target_row ||
		       cmd->target_col))
		return T3_ADMIN_BAD_VALUE;
	if (cmd->updates < 1 || cmd->updates > T3_MAX_UPDATES)
		return T3_ADMIN_BAD_VALUE;
	return T3_ADMIN_OK;
}

static uint32_t check_geometry(const struct t3_cmd_seg_map *cmd)
{
	uint32_t size = t3_dtype_size(cmd->dtype);

	if (cmd->offset % size || cmd->row_bytes % size || cmd->pitch % size ||
	    cmd->tile_row_bytes % size || cmd->target_col % size)
		return T3_ADMIN_BAD_GEOMETRY;
	if (!cmd->rows || !cmd->row_bytes || !cmd->tile_rows || !cmd->tile_row_bytes ||
	    cmd->pitch < cmd->row_bytes || cmd->pitch > T3_MAX_PITCH ||
	    cmd->tile_rows > cmd->rows || cmd->tile_row_bytes > cmd->row_bytes)
		return T3_ADMIN_BAD_GEOMETRY;
	if ((uint64_t)cmd->tile_rows * cmd->tile_row_bytes > T3_MAX_TILE_BYTES)
		return T3_ADMIN_BAD_GEOMETRY;
	/* A packet's row and col have 32 bits, so the sum with the target's must not overflow. */
	if (cmd->rows > T3_NONE32 - cmd->target_row || cmd->row_bytes > T3_NONE32 - cmd->target_col)
		return T3_ADMIN_BAD_GEOMETRY;
	return T3_ADMIN_OK;
}

static uint64_t div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

static bool overlap(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	return a < b + b_len && b < a + a_len;
}

static uint32_t check_place(const struct t3_space *space, const struct t3_cmd_seg_map *cmd,
			    uint64_t extent, uint64_t tiles)
{
	uint32_t i;

	if (cmd->offset > space->size || extent > space->size - cmd->offset)
		return T3_ADMIN_BAD_RANGE;
	if (cmd->counter_base > space->counter_count ||
	    tiles > space->counter_count - cmd->counter_base)
		return T3_ADMIN_BAD_RANGE;
	for (i = 0; i < space->seg_count; i++) {
		const struct t3_segment *other = space->sorted[i];

		if (overlap(cmd->offset, extent, other->offset, other->extent))
			return T3_ADMIN_EXISTS;
		if (overlap(cmd->counter_base, tiles, other->counter_base, other->tiles))
			return T3_ADMIN_BAD_RANGE;
	}
	return T3_ADMIN_OK;
}

static void insert_sorted(struct t3_space *space, struct t3_segment *segment)
{
	uint32_t i = space->seg_count++;

	for (; i > 0 && space->sorted[i - 1]->offset > segment->offset; i--)
		space->sorted[i] = space->sorted[i - 1];
	space->sorted[i] = segment;
}

static void fill(struct t3_segment *segment, const struct t3_cmd_seg_map *cmd, uint64_t extent,
		 uint32_t tiles_x, uint32_t tiles)
{
	segment->index = cmd->segment;
	segment->kind = cmd->kind;
	segment->op = cmd->op;
	segment->dtype = cmd->dtype;
	segment->init = cmd->init;
	segment->target_op = cmd->target_op;
	segment->esize = t3_dtype_size(cmd->dtype);
	segment->offset = cmd->offset;
	segment->extent = extent;
	segment->updates = cmd->updates;
	segment->rows = cmd->rows;
	segment->row_bytes = cmd->row_bytes;
	segment->pitch = cmd->pitch;
	segment->tile_rows = cmd->tile_rows;
	segment->tile_row_bytes = cmd->tile_row_bytes;
	segment->tiles_x = tiles_x;
	segment->tiles = tiles;
	segment->counter_base = cmd->counter_base;
	segment->routes = cmd->routes;
	segment->block_tiles = cmd->block_tiles ? cmd->block_tiles : 1;
	segment->target_segment = cmd->target_segment;
	segment->target_row = cmd->target_row;
	segment->target_col = cmd->target_col;
	if (cmd->kind != T3_SEG_LOCAL)
		segment->send_bytes = (uint64_t)cmd->rows * cmd->row_bytes *
				      (cmd->kind == T3_SEG_REMOTE ? cmd->updates : 1) *
				      (uint32_t)__builtin_popcount(cmd->routes);
}

static bool routes_set(const struct t3_space *space, uint32_t routes)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if ((routes >> i & 1) &&
		    (!space->route[i].used || space->route[i].claim != T3_CLAIM_NONE))
			return false;
	return routes != 0;
}

uint32_t t3_segment_insert(struct t3_space *space, const struct t3_cmd_seg_map *cmd)
{
	struct t3_dev *dev = space->dev;
	struct t3_segment *segment;
	uint64_t extent, tiles_x, tiles;
	uint32_t status;

	if (cmd->segment >= T3_SPACE_SEGMENTS)
		return T3_ADMIN_BAD_INDEX;
	status = check_values(dev, cmd);
	if (status == T3_ADMIN_OK)
		status = check_geometry(cmd);
	if (status != T3_ADMIN_OK)
		return status;
	if (space->segment[cmd->segment])
		return T3_ADMIN_EXISTS;
	if (cmd->kind != T3_SEG_LOCAL &&
	    (!routes_set(space, cmd->routes) || cmd->target_segment >= T3_SPACE_SEGMENTS))
		return T3_ADMIN_BAD_INDEX;
	extent = (uint64_t)(cmd->rows - 1) * cmd->pitch + cmd->row_bytes;
	tiles_x = div_up(cmd->row_bytes, cmd->tile_row_bytes);
	tiles = tiles_x * div_up(cmd->rows, cmd->tile_rows);
	status = check_place(space, cmd, extent, tiles);
	if (status != T3_ADMIN_OK)
		return status;
	if (!t3_spaces(dev)->free_segments)
		return T3_ADMIN_NO_RESOURCE;

	segment = &t3_spaces(dev)
			   ->segment[t3_spaces(dev)->free_segment[--t3_spaces(dev)->free_segments]];
	memset(segment, 0, sizeof(*segment));
	segment->space = space;
	fill(segment, cmd, extent, (uint32_t)tiles_x, (uint32_t)tiles);
	t3_segment_new_epoch(segment);
	space->segment[cmd->segment] = segment;
	insert_sorted(space, segment);
	return T3_ADMIN_OK;
}

uint32_t t3_segment_map(struct t3_space *space, const struct t3_cmd_seg_map *cmd)
{
	uint32_t status = t3_segment_insert(space, cmd);

	if (status == T3_ADMIN_OK)
		space->segment[cmd->segment]->stale = true;
	return status;
}

void t3_segment_unmap(struct t3_segment *segment)
{
	struct t3_space *space = segment->space;
	struct t3_dev *dev = space->dev;
	uint32_t i;

	t3_lanes_forget(dev);
	t3_block_drop_all(segment);
	t3_tracker_drop(segment);
	for (i = 0; space->sorted[i] != segment; i++)
		;
	for (space->seg_count--; i < space->seg_count; i++)
		space->sorted[i] = space->sorted[i + 1];
	space->segment[segment->index] = NULL;
	if (space->recent == segment)
		space->recent = NULL;
	segment->space = NULL;
	t3_spaces(dev)->free_segment[t3_spaces(dev)->free_segments++] =
		(uint32_t)(segment - t3_spaces(dev)->segment);
}

uint32_t t3_segment_staging(struct t3_space *space, const struct t3_cmd_seg_staging *cmd)
{
	struct t3_segment *segment;
	uint64_t memory = space->dev->config.memory_size;
	uint64_t last;

	if (cmd->mbz || cmd->slots > T3_SEG_SLOTS)
		return T3_ADMIN_BAD_VALUE;
	if (cmd->segment >= T3_SPACE_SEGMENTS || !space->segment[cmd->segment])
		return T3_ADMIN_BAD_INDEX;
	segment = space->segment[cmd->segment];
	if (cmd->slots && segment->kind != T3_SEG_REMOTE && segment->tile_rows > T3_MAX_STAGED_ROWS)
		return T3_ADMIN_BAD_GEOMETRY;
	if (cmd->slots) {
		if (cmd->address % 8 || cmd->slot_stride % 8 ||
		    cmd->slot_stride < segment->extent || cmd->slot_stride > memory)
			return T3_ADMIN_BAD_RANGE;
		last = cmd->slot_stride * (cmd->slots - 1) + segment->extent;
		if (cmd->address > memory || last > memory - cmd->address)
			return T3_ADMIN_BAD_RANGE;
	}
	segment->staging = cmd->address;
	segment->slot_stride = cmd->slot_stride;
	segment->slots = cmd->slots;
	return T3_ADMIN_OK;
}
