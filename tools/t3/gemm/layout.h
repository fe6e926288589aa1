/* SPDX-License-Identifier: MIT */
/* Where each chunk is, its segment at each rank, and when it is produced. */
#ifndef T3_GEMM_LAYOUT_H
#define T3_GEMM_LAYOUT_H

#include "gemm.h"

#define GEMM_ALIGN 64u /* of chunks in the space and in staging */

/* The layout is the same for all ranks. The segment's index is the chunk's number. */
struct gemm_layout {
	uint32_t chunks;
	uint32_t chunk_rows;
	uint32_t element; /* bytes */
	uint64_t chunk_bytes;
	uint64_t stride; /* from chunk to chunk */
	uint64_t tiles;	 /* per chunk */
	uint64_t result_offset;
	uint64_t space_bytes;
};

void gemm_layout_init(struct gemm_layout *layout, const struct gemm_config *cfg);

/* The staggered schedule: order[0] is chunk rank - 1, then downwards, with the own chunk last. */
void gemm_schedule(uint32_t rank, uint32_t ranks, uint32_t order[GEMM_MAX_RANKS]);

/* The enum drm_t3_segment_kind of a chunk at a rank. */
uint32_t gemm_chunk_kind(uint32_t rank, uint32_t ranks, uint32_t chunk);

/*
 * The same two for a job whose sums may meet in a switch. There all ranks have the same schedule, so
 * that the switch has what it adds at about the same time.
 */
void gemm_order(const struct gemm_config *cfg, uint32_t rank, uint32_t order[GEMM_MAX_RANKS]);
uint32_t gemm_kind(const struct gemm_config *cfg, uint32_t rank, uint32_t chunk);

/*
 * Whether the own part of the own chunk goes to the group, too: floats in the switch. Then the
 * result has a segment and a place of its own, behind the chunks.
 */
bool gemm_all_to_group(const struct gemm_config *cfg);
#define GEMM_RESULT_SEGMENT 63u
/* Of a job of which that is true. */
void gemm_result_desc(const struct gemm_config *cfg, struct t3_segment_desc *desc);
/* The number of updates that a chunk's tiles are sent as. */
uint32_t gemm_places(const struct gemm_config *cfg);

/* The segment of a chunk at a rank. */
void gemm_chunk_desc(const struct gemm_config *cfg, uint32_t rank, uint32_t chunk,
		     struct t3_segment_desc *desc);

/* The segments that the previous rank sends to: all but this rank's remote one. */
uint64_t gemm_grant_mask(uint32_t rank, uint32_t ranks);

#endif /* T3_GEMM_LAYOUT_H */
