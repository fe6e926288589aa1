// SPDX-License-Identifier: MIT
/*
 * A failure here is a mistake of this program. The tile then misses updates and is not delivered,
 * which shows it.
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

	/* One doorbell per tile and epoch. The slot is free, because the last epoch has ended. */
	if (!t3_stage_tile(&out->view[chunk], tile, data, pitch))
		t3_doorbell_tile(out->space, chunk, 0, tile);
}

void output_init(struct tile_output *out, enum gemm_write write)
{
	out->base.put = write == GEMM_WRITE_DOORBELL ? put_doorbell : put_store;
}
