/* SPDX-License-Identifier: MIT */
/* The two ways for a finished tile to count. */
#ifndef T3_GEMM_OUTPUT_H
#define T3_GEMM_OUTPUT_H

#include "gemm.h"
#include "producer.h"

struct tile_output {
	struct output base; /* first: the producer holds a pointer to it */
	struct t3_space *space;
	struct t3_view view[GEMM_MAX_RANKS]; /* the chunk's image: aperture, or staging slot 0 */
};

/* Set base.put. The caller has set the rest. */
void output_init(struct tile_output *out, enum gemm_write write);

#endif /* T3_GEMM_OUTPUT_H */
