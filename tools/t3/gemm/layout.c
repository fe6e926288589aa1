// SPDX-License-Identifier: MIT
#include <string.h>

#include "layout.h"

#define UPDATE_BYTES 1024u /* of an update at most, of one row of a tile */

bool gemm_all_to_group(const struct gemm_config *cfg)
{
	return cfg->grouped && cfg->dtype != DRM_T3_I32;
}

void gemm_layout_init(struct gemm_layout *layout, const struct gemm_config *cfg)
{
	struct t3_segment_desc desc;

	layout->chunks = cfg->ranks;
	layout->chunk_rows = cfg->m / cfg->ranks;
	layout->element = t3_dtype_bytes(cfg->dtype);
	layout->chunk_bytes = (uint64_t)layout->chunk_rows * cfg->n * layout->element;
	layout->stride = (layout->chunk_bytes + GEMM_ALIGN - 1) / GEMM_ALIGN * GEMM_ALIGN;
	layout->space_bytes = layout->stride * layout->chunks;
	layout->result_offset = layout->space_bytes;
	if (gemm_all_to_group(cfg))
		layout->space_bytes += layout->stride;
	gemm_chunk_desc(cfg, 0, 0, &desc);
	layout->tiles = t3_desc_tiles(&desc);
}

void gemm_schedule(uint32_t rank, uint32_t ranks, uint32_t order[GEMM_MAX_RANKS])
{
	uint32_t i;

	for (i = 0; i < ranks; i++)
		order[i] = (rank + ranks - 1 - i) % ranks;
}

void gemm_order(const struct gemm_config *cfg, uint32_t rank, uint32_t order[GEMM_MAX_RANKS])
{
	uint32_t i;

	if (!cfg->grouped) {
		gemm_schedule(rank, cfg->ranks, order);
		return;
	}
	for (i = 0; i < cfg->ranks; i++)
		order[i] = i;
}

uint32_t gemm_kind(const struct gemm_config *cfg, uint32_t rank, uint32_t chunk)
{
	if (!cfg->grouped)
		return gemm_chunk_kind(rank, cfg->ranks, chunk);
	return chunk == rank && !gemm_all_to_group(cfg) ? DRM_T3_SEGMENT_LOCAL : DRM_T3_SEGMENT_DMA;
}

/* The number of updates of each element at a rank. In the switch that of the own chunk has all. */
static uint32_t updates(const struct gemm_config *cfg, uint32_t rank, uint32_t chunk)
{
	if (cfg->grouped)
		return chunk == rank && !gemm_all_to_group(cfg) ? cfg->ranks : 1;
	return gemm_chunk_kind(rank, cfg->ranks, chunk) == DRM_T3_SEGMENT_REMOTE ? 1 : 2;
}

uint32_t gemm_chunk_kind(uint32_t rank, uint32_t ranks, uint32_t chunk)
{
	if (chunk == rank)
		return DRM_T3_SEGMENT_LOCAL;
	if (chunk == (rank + ranks - 1) % ranks)
		return DRM_T3_SEGMENT_REMOTE;
	return DRM_T3_SEGMENT_DMA;
}

void gemm_chunk_desc(const struct gemm_config *cfg, uint32_t rank, uint32_t chunk,
		     struct t3_segment_desc *desc)
{
	bool single = updates(cfg, rank, chunk) == 1;
	uint32_t element = t3_dtype_bytes(cfg->dtype);
	uint64_t bytes;

	memset(desc, 0, sizeof(*desc));
	desc->segment = chunk;
	desc->op = single ? 0 : DRM_T3_OP_ADD;
	desc->dtype = cfg->dtype;
	desc->init = single ? DRM_T3_INIT_KEEP : DRM_T3_INIT_IDENTITY;
	desc->updates = updates(cfg, rank, chunk);
	desc->rows = cfg->m / cfg->ranks;
	desc->row_bytes = cfg->n * element;
	desc->pitch = desc->row_bytes;
	desc->tile_rows = cfg->tile_rows;
	desc->tile_row_bytes = cfg->tile_cols * element;
	bytes = (uint64_t)desc->rows * desc->row_bytes;
	desc->offset = chunk * ((bytes + GEMM_ALIGN - 1) / GEMM_ALIGN * GEMM_ALIGN);
}

void gemm_result_desc(const struct gemm_config *cfg, struct t3_segment_desc *desc)
{
	struct gemm_layout layout;

	gemm_layout_init(&layout, cfg);
	gemm_chunk_desc(cfg, 0, 0, desc);
	desc->segment = GEMM_RESULT_SEGMENT;
	desc->op = DRM_T3_OP_ADD;
	desc->init = DRM_T3_INIT_IDENTITY;
	desc->updates = cfg->ranks;
	desc->offset = layout.result_offset;
}

uint32_t gemm_places(const struct gemm_config *cfg)
{
	uint32_t row = cfg->n * t3_dtype_bytes(cfg->dtype);
	uint32_t tile = cfg->tile_cols * t3_dtype_bytes(cfg->dtype), rest = row % tile;
	uint32_t updates = row / tile * ((tile - 1) / UPDATE_BYTES + 1);

	if (rest)
		updates += (rest - 1) / UPDATE_BYTES + 1;
	return updates * (cfg->m / cfg->ranks);
}

uint64_t gemm_grant_mask(uint32_t rank, uint32_t ranks)
{
	return ((1ull << ranks) - 1) & ~(1ull << (rank + ranks - 1) % ranks);
}
