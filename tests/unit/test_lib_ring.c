// SPDX-License-Identifier: MIT
/* t3 gemm-rs: a ring of producers in memory, compared with the reference and the verifier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gemm/check.c"
#include "gemm/input.c"
#include "gemm/layout.c"
#include "common/numeric.c"
#include "gemm/producer.c"
#include "gemm/reference.c"
#include "gemm/shared.c"
#include "gemm/verify.c"
#include "test.h"

/* Segments as the devices have them: bits of each chunk at each rank. */
struct ring {
	struct output base;
	const struct gemm_config *cfg;
	uint32_t rank; /* that produces now */
	uint32_t tiles;
	uint32_t *own;	/* [rank][element of C], what it stored */
	uint32_t *sums; /* [rank][element of C] */
};

static void put_in_ring(struct output *out, uint32_t chunk, uint32_t tile, const void *data,
			size_t pitch)
{
	struct ring *ring = (struct ring *)out;
	const struct gemm_config *cfg = ring->cfg;
	uint32_t size = t3_dtype_bytes(cfg->dtype), i, j, row;
	struct t3_segment_desc desc;
	struct t3_tile place;
	uint32_t *own = ring->own + (size_t)ring->rank * cfg->m * cfg->n;

	gemm_chunk_desc(cfg, ring->rank, chunk, &desc);
	assert_int_equal(t3_desc_tile(&desc, tile, &place), 0);
	for (i = 0; i < place.rows; i++) {
		row = chunk * desc.rows + place.row + i;
		for (j = 0; j < place.row_bytes / size; j++)
			memcpy(&own[row * cfg->n + place.col / size + j],
			       (const unsigned char *)data + i * pitch + j * size, size);
	}
	ring->tiles++;
}

static void produce_rank(struct ring *ring, uint32_t rank, uint32_t iteration)
{
	const struct gemm_config *cfg = ring->cfg;
	uint32_t depth = cfg->k / cfg->ranks, order[GEMM_MAX_RANKS], i;
	struct producer p = {
		.dtype = cfg->dtype,
		.chunk_rows = cfg->m / cfg->ranks,
		.cols = cfg->n,
		.depth = depth,
		.tile_rows = cfg->tile_rows,
		.tile_cols = cfg->tile_cols,
	};
	struct input_slice a = {
		.dtype = cfg->dtype,
		.matrix = INPUT_A,
		.seed = cfg->seed,
		.iteration = iteration,
		.columns = cfg->k,
		.rows = cfg->m,
		.col = rank * depth,
		.cols = depth,
	};
	struct input_slice b = {
		.dtype = cfg->dtype,
		.matrix = INPUT_B,
		.seed = cfg->seed,
		.iteration = iteration,
		.columns = cfg->n,
		.row = rank * depth,
		.rows = depth,
		.cols = cfg->n,
	};

	assert_int_equal(producer_init(&p, cfg->m), 0);
	input_fill(&a, p.a);
	input_fill(&b, p.b);
	gemm_schedule(rank, cfg->ranks, order);
	ring->rank = rank;
	for (i = 0; i < cfg->ranks; i++)
		producer_chunk(&p, order[i], &ring->base);
	producer_fini(&p);
}

static uint32_t *element(const struct ring *ring, uint32_t *matrices, uint32_t rank, uint32_t i)
{
	return &matrices[(size_t)(rank % ring->cfg->ranks) * ring->cfg->m * ring->cfg->n + i];
}

/* The own store may arrive before or after the neighbour's. Either order gives the same bits. */
static uint32_t reduce(struct ring *ring, uint32_t i)
{
	const struct gemm_config *cfg = ring->cfg;
	uint32_t chunk = i / cfg->n / (cfg->m / cfg->ranks), hop, *sum;
	uint32_t moving = *element(ring, ring->own, chunk + 1, i);

	for (hop = 2; hop <= cfg->ranks; hop++) {
		sum = element(ring, ring->sums, chunk + hop, i);
		*sum = element_add(cfg->dtype, 0, *element(ring, ring->own, chunk + hop, i));
		*sum = element_add(cfg->dtype, *sum, moving);
		moving = *sum;
	}
	return moving;
}

static void run_ring(const struct gemm_config *cfg, struct gemm_shared *shared, uint32_t iteration)
{
	size_t elements = (size_t)cfg->m * cfg->n;
	uint32_t size = t3_dtype_bytes(cfg->dtype), rank, i, bits;
	struct ring ring = { .base.put = put_in_ring, .cfg = cfg };
	struct gemm_layout layout;

	gemm_layout_init(&layout, cfg);
	ring.own = calloc(elements * cfg->ranks, 4);
	ring.sums = calloc(elements * cfg->ranks, 4);
	for (rank = 0; rank < cfg->ranks; rank++)
		produce_rank(&ring, rank, iteration);
	assert_int_equal(ring.tiles, layout.tiles * cfg->ranks * cfg->ranks);
	for (i = 0; i < elements; i++) {
		bits = reduce(&ring, i);
		memcpy(shared_result(shared, cfg, iteration, 0) + (size_t)i * size, &bits, size);
	}
	free(ring.own);
	free(ring.sums);
}

static struct gemm_verdict verdict_of(const struct gemm_config *cfg, struct gemm_shared *shared)
{
	struct gemm_verdict verdict;

	memset(shared->verdict, 0, sizeof(shared->verdict));
	assert_int_equal(gemm_verify(cfg, shared, &verdict), 0);
	return verdict;
}

static struct gemm_config small_config(uint32_t ranks, uint32_t dtype)
{
	struct gemm_config cfg;

	gemm_defaults(&cfg);
	cfg.ranks = ranks;
	cfg.dtype = dtype;
	cfg.m = ranks * 5;
	cfg.n = 37;
	cfg.k = ranks * 9;
	cfg.tile_rows = 2;
	cfg.tile_cols = 20;
	cfg.iterations = 3;
	return cfg;
}

TEST("a ring equals the reference")
{
	static const uint32_t sizes[] = { 2, 3, 4, 7, 16 };
	struct gemm_verdict v;
	struct gemm_config cfg;
	struct gemm_shared *shared;
	uint32_t dtype, e;
	size_t i;

	for (dtype = DRM_T3_I32; dtype <= DRM_T3_BF16; dtype++) {
		for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			cfg = small_config(sizes[i], dtype);
			shared = shared_create(&cfg);
			assert_non_null(shared);
			for (e = 1; e <= cfg.iterations; e++)
				run_ring(&cfg, shared, e);
			v = verdict_of(&cfg, shared);
			assert_int_equal(v.wrong_bits, 0);
			assert_int_equal(v.out_of_bound, 0);
			assert_int_equal(v.bad_iteration, 0);
			assert_int_equal(v.checked, 3 * cfg.m * cfg.n);
			assert_true(v.max_error <= v.bound);
			assert_true(dtype == DRM_T3_I32 || v.max_error > 0);
			shared_destroy(shared);
		}
	}
}

/* The job is too large to be computed again, so the iteration in the middle is sampled. */
TEST("a large job is sampled")
{
	struct gemm_config cfg = small_config(2, DRM_T3_I32);
	struct gemm_shared *shared;
	struct gemm_verdict v;
	uint32_t e;

	cfg.m = 4;
	cfg.n = 1024;
	cfg.k = 12288;
	shared = shared_create(&cfg);
	assert_non_null(shared);
	for (e = 1; e <= cfg.iterations; e++)
		run_ring(&cfg, shared, e);
	v = verdict_of(&cfg, shared);
	assert_int_equal(v.wrong_bits, 0);
	assert_int_equal(v.checked, 2 * cfg.m * cfg.n + cfg.ranks * cfg.n);
	shared_destroy(shared);
}

TEST("one wrong bit is found")
{
	struct gemm_config cfg = small_config(4, DRM_T3_F32);
	struct gemm_shared *shared = shared_create(&cfg);
	struct gemm_verdict v;
	uint32_t e;

	assert_non_null(shared);
	for (e = 1; e <= cfg.iterations; e++)
		run_ring(&cfg, shared, e);
	shared_result(shared, &cfg, 3, 2)[(1 * 37 + 8) * 4] ^= 1;
	v = verdict_of(&cfg, shared);
	assert_int_equal(v.wrong_bits, 1);
	assert_int_equal(v.out_of_bound, 0);
	assert_int_equal(v.bad_iteration, 3);
	assert_int_equal(v.bad_row, 11);
	assert_int_equal(v.bad_col, 8);
	shared_destroy(shared);
}

/* A chunk that lacks a rank's part, has it twice, or is NaN, is out of bound. */
TEST("a wrong sum is out of bound")
{
	static const uint32_t dtypes[] = { DRM_T3_F32, DRM_T3_F16, DRM_T3_BF16 };
	struct gemm_shared *shared;
	struct gemm_config cfg;
	struct gemm_verdict v;
	uint32_t e, bits;
	size_t i;

	for (i = 0; i < 3; i++) {
		cfg = small_config(4, dtypes[i]);
		shared = shared_create(&cfg);
		assert_non_null(shared);
		for (e = 1; e <= cfg.iterations; e++)
			run_ring(&cfg, shared, e);
		bits = element_from_f32(cfg.dtype, 1e4f);
		memcpy(shared_result(shared, &cfg, 1, 0), &bits, t3_dtype_bytes(cfg.dtype));
		v = verdict_of(&cfg, shared);
		assert_int_equal(v.out_of_bound, 1);
		bits = element_from_f32(cfg.dtype, NAN);
		memcpy(shared_result(shared, &cfg, 1, 0), &bits, t3_dtype_bytes(cfg.dtype));
		v = verdict_of(&cfg, shared);
		assert_int_equal(v.out_of_bound, 1);
		assert_int_equal(v.bad_iteration, 1);
		assert_int_equal(v.bad_row, 0);
		assert_int_equal(v.bad_col, 0);
		shared_destroy(shared);
	}
}
