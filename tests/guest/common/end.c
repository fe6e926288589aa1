// SPDX-License-Identifier: MIT
#include "end.h"

void end_open(struct end *end, uint32_t rank, uint64_t size, uint32_t max_tiles)
{
	void *ptr;

	CHECK_EQ(t3_device_open(guest_node(rank), &end->dev), 0);
	CHECK_EQ(t3_buffer_create(end->dev, size, &end->buffer), 0);
	CHECK_EQ(t3_space_create(end->dev, end->buffer, max_tiles, &end->space), 0);
	CHECK_EQ(t3_buffer_map(end->buffer, &ptr), 0);
	end->memory = ptr;
}

void end_close(struct end *end)
{
	CHECK_EQ(t3_space_destroy(end->space), 0);
	t3_buffer_destroy(end->buffer);
	t3_device_close(end->dev);
}

struct t3_segment_desc end_ragged(uint32_t segment, uint32_t dtype, uint32_t op)
{
	uint32_t size = t3_dtype_bytes(dtype);

	return (struct t3_segment_desc){
		.segment = segment,
		.op = op,
		.dtype = dtype,
		.updates = 1,
		.rows = 7,
		.row_bytes = 29 * size,
		.pitch = 37 * size,
		.tile_rows = 3,
		.tile_row_bytes = 11 * size,
		.offset = 3 * size,
	};
}
