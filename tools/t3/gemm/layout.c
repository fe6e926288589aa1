// SPDX-License-Identifier: MIT
#include <string.h>

#include "layout.h"

void gemm_layout_init(struct gemm_layout *layout, const struct gemm_config *cfg)
{
	struct t3_segment_desc desc;

	layout->chunks = cfg->ranks;
	layout->chunk_rows = cfg->m / cfg->ranks;
	layout->element = t3_dtype_bytes(cfg->dtype);
	layout->chunk_bytes = (uint64_t)layout->chunk_rows * cfg->n * layout->element;
	layout->stride = (layout->chunk_bytes + GEMM_ALIGN - 1) / GEMM_ALIGN * GEMM_ALIGN;
	layout->space_bytes = layout->stride * layout->chunks;
	gemm_chunk_desc(cfg, 0, 0, &desc);
	layout->tiles = t3_desc_tiles(&desc);
}

void gemm_schedule(uint32_t rank, uint32_t ranks, uint32_t order[GEMM_MAX_RANKS])
{
	uint32_t i;

	for (i = 0; i < ranks; i++)
		order[i] = (rank + ranks - 1 - i) % ranks;
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
	bool remote = gemm_chunk_kind(rank, cfg->ranks, chunk) == DRM_T3_SEGMENT_REMOTE;
	uint32_t element = t3_dtype_bytes(cfg->dtype);
	uint64_t bytes;

	memset(desc, 0, sizeof(*desc));
	desc->segment = chunk;
	desc->op = remote ? 0 : DRM_T3_OP_ADD;
	desc->dtype = cfg->dtype;
	desc->init = remote ? 0 : DRM_T3_INIT_IDENTITY;
	desc->updates = remote ? 1 : 2;
	desc->rows = cfg->m / cfg->ranks;
	desc->row_bytes = cfg->n * element;
	desc->pitch = desc->row_bytes;
	desc->tile_rows = cfg->tile_rows;
	desc->tile_row_bytes = cfg->tile_cols * element;
	bytes = (uint64_t)desc->rows * desc->row_bytes;
	desc->offset = chunk * ((bytes + GEMM_ALIGN - 1) / GEMM_ALIGN * GEMM_ALIGN);
}

uint64_t gemm_grant_mask(uint32_t rank, uint32_t ranks)
{
	return ((1ull << ranks) - 1) & ~(1ull << (rank + ranks - 1) % ranks);
}
