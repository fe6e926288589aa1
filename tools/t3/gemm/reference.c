// SPDX-License-Identifier: MIT
/*
 * The bound. Let u = 2^-24, d the roundoff of the output type, n = K / N, and
 * S = sum of |a * b| over all of K. A rank's partial sum has n rounded products and
 * fewer than n rounded additions on any one product, of which the first adds to 0: a
 * factor within (1 + u)^n. It is rounded to the type once, and then passes at most N - 1
 * additions of the ring, each rounded to the type: (1 + d)^N. So
 *
 *	|C - exact| <= S * ((1 + u)^n * (1 + d)^N - 1), about S * (n u + N d)
 *
 * For f16 each of the N roundings to the type may also lose half of the least
 * subnormal, 2^-25: N * 2^-25 on top. The reference's own sum is within S * K * 2^-53,
 * and twice that covers the rounding of S and of the bound.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "common/numeric.h"
#include "reference.h"

double reference_bound(const struct gemm_config *cfg, double weight)
{
	double depth = cfg->k / cfg->ranks, ranks = cfg->ranks;
	double growth = depth * log1p(0x1p-24) + ranks * log1p(element_roundoff(cfg->dtype));
	double factor = expm1(growth) + 2.0 * cfg->k * 0x1p-53;

	return weight * factor + (cfg->dtype == DRM_T3_F16 ? ranks * 0x1p-25 : 0);
}

int reference_init(struct reference *ref, const struct gemm_config *cfg)
{
	memset(ref, 0, sizeof(*ref));
	ref->cfg = cfg;
	ref->b = calloc((size_t)cfg->k * cfg->n, 4);
	ref->a_row = calloc(cfg->k, 4);
	ref->sum = calloc(cfg->n, sizeof(*ref->sum));
	ref->weight = calloc(cfg->n, sizeof(*ref->weight));
	ref->part = calloc(cfg->n, sizeof(*ref->part));
	ref->bits = calloc(cfg->n, sizeof(*ref->bits));
	if (ref->b && ref->a_row && ref->sum && ref->weight && ref->part && ref->bits)
		return 0;
	reference_fini(ref);
	return -ENOMEM;
}

void reference_fini(struct reference *ref)
{
	free(ref->b);
	free(ref->a_row);
	free(ref->sum);
	free(ref->weight);
	free(ref->part);
	free(ref->bits);
	memset(ref, 0, sizeof(*ref));
}

void reference_iteration(struct reference *ref, uint32_t iteration)
{
	struct input_slice b = {
		.dtype = ref->cfg->dtype,
		.matrix = INPUT_B,
		.seed = ref->cfg->seed,
		.iteration = iteration,
		.columns = ref->cfg->n,
		.rows = ref->cfg->k,
		.cols = ref->cfg->n,
	};

	ref->iteration = iteration;
	input_fill(&b, ref->b);
}

static void fill_row(struct reference *ref, uint32_t row)
{
	struct input_slice a = {
		.dtype = ref->cfg->dtype,
		.matrix = INPUT_A,
		.seed = ref->cfg->seed,
		.iteration = ref->iteration,
		.columns = ref->cfg->k,
		.row = row,
		.rows = 1,
		.cols = ref->cfg->k,
	};

	input_fill(&a, ref->a_row);
}

static void row_of_ints(struct reference *ref)
{
	const int32_t *a = ref->a_row, *b = ref->b;
	uint32_t n = ref->cfg->n, j, k;
	int64_t sum;

	for (j = 0; j < n; j++) {
		sum = 0;
		for (k = 0; k < ref->cfg->k; k++)
			sum += (int64_t)a[k] * b[(size_t)k * n + j];
		ref->bits[j] = (uint32_t)sum;
	}
}

/* Add one rank's slice of k to the exact sums, and make its own partial. */
static void row_of_rank(struct reference *ref, uint32_t rank)
{
	uint32_t n = ref->cfg->n, depth = ref->cfg->k / ref->cfg->ranks, j, k;
	const float *a = ref->a_row, *b;
	double product;

	memset(ref->part, 0, n * sizeof(*ref->part));
	for (k = rank * depth; k < (rank + 1) * depth; k++) {
		b = (const float *)ref->b + (size_t)k * n;
		for (j = 0; j < n; j++) {
			product = (double)a[k] * (double)b[j];
			ref->sum[j] += product;
			ref->weight[j] += fabs(product);
			ref->part[j] += a[k] * b[j];
		}
	}
}

/* The ranks in the order in which the ring adds to a row of chunk c: c + 1, .. , c. The switch: 0, 1 .. */
static void row_of_floats(struct reference *ref, uint32_t chunk)
{
	const struct gemm_config *cfg = ref->cfg;
	uint32_t i, j, part;

	memset(ref->sum, 0, cfg->n * sizeof(*ref->sum));
	memset(ref->weight, 0, cfg->n * sizeof(*ref->weight));
	memset(ref->bits, 0, cfg->n * sizeof(*ref->bits));
	for (i = 1; i <= cfg->ranks; i++) {
		row_of_rank(ref, (chunk + i) % cfg->ranks);
		for (j = 0; j < cfg->n; j++) {
			part = element_from_f32(cfg->dtype, ref->part[j]);
			ref->bits[j] = element_add(cfg->dtype, ref->bits[j], part);
		}
	}
}

void reference_row(struct reference *ref, uint32_t row)
{
	fill_row(ref, row);
	if (ref->cfg->dtype == DRM_T3_I32)
		row_of_ints(ref);
	else
		row_of_floats(ref, ref->cfg->grouped ? ref->cfg->ranks - 1
						     : row / (ref->cfg->m / ref->cfg->ranks));
}
