/* SPDX-License-Identifier: MIT */
/* The expected C, computed row by row without the producer. */
#ifndef T3_GEMM_REFERENCE_H
#define T3_GEMM_REFERENCE_H

#include "gemm.h"

struct reference {
	const struct gemm_config *cfg;
	uint32_t iteration;
	void *b;     /* all of B */
	void *a_row; /* one row of A */
	double *sum; /* one row each: exact sum, sum of |a * b|, */
	double *weight;
	float *part;	/* and the bits of the ring's order of additions */
	uint32_t *bits; /* and the bits that the ring's order of additions gives */
};

/* 0 or -ENOMEM. */
int reference_init(struct reference *ref, const struct gemm_config *cfg);
void reference_fini(struct reference *ref);

/* Make B of an iteration, 1 ... */
void reference_iteration(struct reference *ref, uint32_t iteration);

/* Set sum, weight and bits for a row of that iteration. For i32 only bits. */
void reference_row(struct reference *ref, uint32_t row);

/* The largest allowed distance of a result from sum: see reference.c. */
double reference_bound(const struct gemm_config *cfg, double weight);

#endif /* T3_GEMM_REFERENCE_H */
