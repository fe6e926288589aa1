// SPDX-License-Identifier: MIT
/* t3 gemm-rs without devices: options, schedule, inputs, results. */
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
#include "gemm/reference.c"
#include "gemm/shared.c"
#include "test.h"

/* ------------------------------------------------------------------ options */

#define CHECK(expected, assignments)                                            \
	do {                                                                    \
		struct gemm_config cfg;                                         \
		char why[256] = "";                                             \
		gemm_defaults(&cfg);                                            \
		assignments;                                                    \
		assert_int_equal(gemm_check(&cfg, why, sizeof(why)), expected); \
		assert_true(!(expected) == !*why);                              \
		assert_null(strchr(why, '\n'));                                 \
	} while (0)

TEST("options have limits")
{
	CHECK(0, (void)0);
	CHECK(-EINVAL, cfg.ranks = 1);
	CHECK(-EINVAL, cfg.ranks = 33);
	CHECK(0, cfg.ranks = 32);
	CHECK(-EINVAL, cfg.ranks = 3);
	CHECK(-EINVAL, cfg.m = 0);
	CHECK(-EINVAL, cfg.n = 0);
	CHECK(-EINVAL, cfg.k = 0);
	CHECK(-EINVAL, cfg.m = 258);
	CHECK(-EINVAL, cfg.k = 258);
	CHECK(0, cfg.n = 259);
	CHECK(-EINVAL, cfg.k = 65540);
	CHECK(0, cfg.k = 65536);
	CHECK(-EINVAL, (cfg.m = 65536, cfg.n = 1028));
	CHECK(-EINVAL, cfg.dtype = 4);
	CHECK(-EINVAL, cfg.iterations = 0);
	CHECK(-EINVAL, cfg.iterations = 100001);
	CHECK(-EINVAL, cfg.timeout_s = 0);
	CHECK(-EINVAL, cfg.timeout_s = 3601);
	CHECK(-EINVAL, cfg.tile_rows = 0);
	CHECK(-EINVAL, cfg.tile_cols = 1025);
	CHECK(-EINVAL, cfg.tile_rows = 1025);
	CHECK(-EINVAL, (cfg.m = 65536, cfg.n = 1024, cfg.tile_rows = 1024, cfg.tile_cols = 1024));
	CHECK(-EINVAL, (cfg.m = 4096, cfg.n = 1024, cfg.tile_rows = 1, cfg.tile_cols = 1));
	CHECK(-EINVAL, cfg.delay_rank = 4);
	CHECK(-EINVAL, (cfg.delay_rank = 3, cfg.delay_step = 16));
	CHECK(0, (cfg.delay_rank = 3, cfg.delay_step = 15));
	CHECK(-EINVAL, cfg.delay_ms = 600001);
	CHECK(-EINVAL, cfg.kill_rank = 4);
	CHECK(-EINVAL, (cfg.kill_rank = 0, cfg.kill_step = 16));
	CHECK(-EINVAL, cfg.write = GEMM_WRITES);
	CHECK(-EINVAL, cfg.wait = (enum gemm_wait)3);
}

TEST("a large tile is the chunk")
{
	struct gemm_config cfg;
	char why[64];

	gemm_defaults(&cfg);
	cfg.ranks = 16;
	cfg.n = 20;
	assert_int_equal(gemm_check(&cfg, why, sizeof(why)), 0);
	assert_int_equal(cfg.tile_rows, 16);
	assert_int_equal(cfg.tile_cols, 20);
	assert_int_equal(cfg.asked_rows, 32);
	assert_int_equal(cfg.asked_cols, 32);
}

/* ----------------------------------------------------------------- schedule */

TEST("the schedule is staggered")
{
	uint32_t order[GEMM_MAX_RANKS], ranks, rank, i, seen;

	for (ranks = 2; ranks <= GEMM_MAX_RANKS; ranks++) {
		for (rank = 0; rank < ranks; rank++) {
			gemm_schedule(rank, ranks, order);
			for (i = 0, seen = 0; i < ranks; i++)
				seen |= 1u << order[i];
			assert_int_equal(seen, (1ull << ranks) - 1);
			assert_int_equal(order[ranks - 1], rank);
			assert_int_equal(order[0], (rank + ranks - 1) % ranks);
			assert_int_equal(gemm_chunk_kind(rank, ranks, order[0]),
					 DRM_T3_SEGMENT_REMOTE);
			assert_int_equal(gemm_chunk_kind(rank, ranks, rank), DRM_T3_SEGMENT_LOCAL);
			for (i = 1; i + 1 < ranks; i++)
				assert_int_equal(gemm_chunk_kind(rank, ranks, order[i]),
						 DRM_T3_SEGMENT_DMA);
		}
	}
}

/* The ring needs grants for the remote and dma chunks, and for no others. */
TEST("grants are what the ring needs")
{
	uint32_t ranks, rank, chunk, next;
	uint64_t needed;

	for (ranks = 2; ranks <= GEMM_MAX_RANKS; ranks++) {
		for (rank = 0; rank < ranks; rank++) {
			next = (rank + 1) % ranks;
			needed = 0;
			for (chunk = 0; chunk < ranks; chunk++) {
				if (gemm_chunk_kind(rank, ranks, chunk) != DRM_T3_SEGMENT_LOCAL)
					needed |= 1ull << chunk;
			}
			assert_int_equal(gemm_grant_mask(next, ranks), needed);
		}
	}
}

/* All ranks make the same chunk at a time, and all but its own rank send it to where its sum is. */
TEST("sums in a switch have one schedule")
{
	struct gemm_config cfg = { .ranks = 5, .m = 20, .n = 8, .tile_rows = 4, .tile_cols = 8 };
	uint32_t order[GEMM_MAX_RANKS], rank, i;
	struct t3_segment_desc desc;

	gemm_order(&cfg, 2, order);
	assert_int_equal(order[0], 1);
	assert_int_equal(gemm_kind(&cfg, 2, 1), DRM_T3_SEGMENT_REMOTE);
	cfg.grouped = true;
	cfg.dtype = DRM_T3_I32;
	assert_false(gemm_all_to_group(&cfg));
	for (rank = 0; rank < cfg.ranks; rank++) {
		gemm_order(&cfg, rank, order);
		for (i = 0; i < cfg.ranks; i++) {
			assert_int_equal(order[i], i);
			assert_int_equal(gemm_kind(&cfg, rank, i),
					 i == rank ? DRM_T3_SEGMENT_LOCAL : DRM_T3_SEGMENT_DMA);
			gemm_chunk_desc(&cfg, rank, i, &desc);
			assert_int_equal(desc.updates, i == rank ? cfg.ranks : 1);
			assert_int_equal(desc.op, i == rank ? DRM_T3_OP_ADD : DRM_T3_OP_STORE);
			assert_int_equal(t3_desc_check(&desc), 0);
		}
	}
}

/* Their order is that of the ranks, so the own part takes its place in it, too. */
TEST("sums of floats in a switch have all parts from there")
{
	struct gemm_config cfg = { .ranks = 4,
				   .m = 32,
				   .n = 600,
				   .tile_rows = 4,
				   .tile_cols = 512,
				   .dtype = DRM_T3_F32,
				   .grouped = true };
	struct gemm_layout layout;
	struct t3_segment_desc desc;

	assert_true(gemm_all_to_group(&cfg));
	assert_int_equal(gemm_kind(&cfg, 1, 1), DRM_T3_SEGMENT_DMA);
	gemm_layout_init(&layout, &cfg);
	gemm_result_desc(&cfg, &desc);
	assert_int_equal(desc.updates, 4);
	assert_int_equal(desc.op, DRM_T3_OP_ADD);
	assert_int_equal(desc.offset, 4 * layout.stride);
	assert_int_equal(layout.space_bytes, 5 * layout.stride);
	assert_int_equal(t3_desc_check(&desc), 0);
	/* A row of a whole tile has 2048 bytes, the last one of a row 352: 3 updates. */
	assert_int_equal(gemm_places(&cfg), 8 * 3);
}

TEST("chunks do not overlap")
{
	struct t3_segment_desc desc;
	struct gemm_layout layout;
	struct gemm_config cfg;
	uint32_t chunk;

	gemm_defaults(&cfg);
	cfg.m = 12;
	cfg.n = 7;
	cfg.dtype = DRM_T3_F16;
	cfg.tile_rows = 2;
	cfg.tile_cols = 3;
	gemm_layout_init(&layout, &cfg);
	assert_int_equal(layout.chunk_bytes, 3 * 14);
	assert_int_equal(layout.stride, 64);
	assert_int_equal(layout.tiles, 2 * 3);
	for (chunk = 0; chunk < 4; chunk++) {
		gemm_chunk_desc(&cfg, 1, chunk, &desc);
		assert_int_equal(t3_desc_check(&desc), 0);
		assert_int_equal(desc.segment, chunk);
		assert_int_equal(desc.offset, chunk * 64);
		assert_int_equal(desc.updates, chunk == 0 ? 1 : 2);
		assert_int_equal(desc.op, chunk == 0 ? 0 : DRM_T3_OP_ADD);
	}
}

/* ------------------------------------------------------------------- inputs */

TEST("inputs do not depend on the slice")
{
	struct input_slice slice = {
		.dtype = DRM_T3_F16,
		.matrix = INPUT_A,
		.seed = 5,
		.iteration = 3,
		.columns = 10,
		.rows = 6,
		.cols = 10,
	};
	float whole[60], part[4], again[60];
	uint32_t i;

	input_fill(&slice, whole);
	slice.row = 2;
	slice.rows = 2;
	slice.col = 7;
	slice.cols = 2;
	input_fill(&slice, part);
	assert_true(part[0] == whole[27] && part[1] == whole[28]);
	assert_true(part[2] == whole[37] && part[3] == whole[38]);
	slice.row = 0;
	slice.rows = 6;
	slice.col = 0;
	slice.cols = 10;
	slice.iteration = 4;
	input_fill(&slice, again);
	assert_memory_not_equal(whole, again, sizeof(whole));
	for (i = 0; i < 60; i++) {
		assert_true(whole[i] >= -1 && whole[i] < 1);
		assert_true(f32_from_f16(f16_from_f32(whole[i])) == whole[i]);
	}
}

TEST("bf16 inputs are exact")
{
	struct input_slice slice = {
		.dtype = DRM_T3_BF16,
		.matrix = INPUT_B,
		.columns = 1000,
		.rows = 1,
		.cols = 1000,
	};
	float values[1000];
	uint32_t i;

	input_fill(&slice, values);
	for (i = 0; i < 1000; i++)
		assert_true(f32_from_bf16(bf16_from_f32(values[i])) == values[i]);
}

/* ------------------------------------------------------------------ results */

TEST("large jobs keep first and last")
{
	struct gemm_config cfg;
	struct gemm_shared *shared;

	gemm_defaults(&cfg);
	cfg.iterations = 1025; /* of 256 KiB */
	shared = shared_create(&cfg);
	assert_non_null(shared);
	assert_int_equal(shared->slots, 2);
	assert_ptr_equal(shared_result(shared, &cfg, 1, 0), shared->results);
	assert_ptr_equal(shared_result(shared, &cfg, 1025, 1),
			 shared->results + (256 << 10) + (64 << 10));
	assert_null(shared_result(shared, &cfg, 2, 0));
	assert_null(shared_result(shared, &cfg, 1024, 0));
	shared_destroy(shared);
	cfg.iterations = 1024;
	shared = shared_create(&cfg);
	assert_non_null(shared);
	assert_int_equal(shared->slots, 1024);
	shared_destroy(shared);
}

TEST("the hash is FNV-1a")
{
	assert_true(fnv1a(FNV_START, "", 0) == 0xcbf29ce484222325ull);
	assert_true(fnv1a(FNV_START, "a", 1) == 0xaf63dc4c8601ec8cull);
	assert_true(fnv1a(FNV_START, "foobar", 6) == 0x85944171f73967e8ull);
}

TEST("the bound grows with everything")
{
	struct gemm_config cfg;
	double small;

	gemm_defaults(&cfg);
	small = reference_bound(&cfg, 1);
	assert_true(small > 66 * 0x1p-24 && small < 80 * 0x1p-24);
	cfg.k = 1024;
	assert_true(reference_bound(&cfg, 1) > small);
	assert_true(reference_bound(&cfg, 2) > 1.99 * reference_bound(&cfg, 1));
	cfg.dtype = DRM_T3_BF16;
	assert_true(reference_bound(&cfg, 1) > 4 * 0x1p-8);
	assert_true(reference_bound(&cfg, 0) == 0);
	cfg.dtype = DRM_T3_F16;
	assert_true(reference_bound(&cfg, 0) == 4 * 0x1p-25);
}
