/* SPDX-License-Identifier: MIT */
/* A plain GEMM kernel. It knows only the shapes and where finished tiles go. */
#ifndef T3_GEMM_PRODUCER_H
#define T3_GEMM_PRODUCER_H

#include <stddef.h>
#include <stdint.h>

/* Takes finished tiles. Row i of one is at data + i * pitch, in output elements. */
struct output {
	void (*put)(struct output *out, uint32_t chunk, uint32_t tile, const void *data,
		    size_t pitch);
};

struct producer {
	uint32_t dtype;
	uint32_t chunk_rows;
	uint32_t cols;	/* N */
	uint32_t depth; /* K of this rank */
	uint32_t tile_rows, tile_cols;
	void *a;	  /* all rows x depth */
	void *b;	  /* depth x cols */
	void *sums;	  /* one tile of float or uint32_t */
	uint16_t *halves; /* one tile of f16 or bf16 */
};

/* Allocate for an output of rows x cols. 0 or -ENOMEM. */
int producer_init(struct producer *p, uint32_t rows);
void producer_fini(struct producer *p);

/* Compute a chunk of the partial product, tile by tile, row-major. */
void producer_chunk(const struct producer *p, uint32_t chunk, struct output *out);

#endif /* T3_GEMM_PRODUCER_H */
