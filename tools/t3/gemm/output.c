// SPDX-License-Identifier: MIT
/*
 * A failure here is a mistake of this program, which the tile's missing updates then
 * show: the tile is not delivered.
 */
#include "output.h"

static void put_store(struct output *base, uint32_t chunk, uint32_t tile, const void *data,
		      size_t pitch)
{
	struct tile_output *out = (struct tile_output *)base;

	t3_store_tile(&out->view[chunk], tile, data, pitch);
}

static void put_doorbell(struct output *base, uint32_t chunk, uint32_t tile, const void *data,
			 size_t pitch)
{
	struct tile_output *out = (struct tile_output *)base;

	/* One doorbell per tile and epoch: the slot is free since the last epoch ended. */
	if (!t3_stage_tile(&out->view[chunk], tile, data, pitch))
		t3_doorbell_tile(out->space, chunk, 0, tile);
}

void output_init(struct tile_output *out, enum gemm_write write)
{
	out->base.put = write == GEMM_WRITE_DOORBELL ? put_doorbell : put_store;
}
