// SPDX-License-Identifier: MIT
/* A gemm-rs result as text. */
#include <stdio.h>

#include "gemm/print.h"

const char *const gemm_write_names[] = { "store", "doorbell", "gemm", NULL };

typedef unsigned long long ull;

static void print_config(const struct gemm_config *cfg)
{
	bool cut = cfg->tile_rows != cfg->asked_rows || cfg->tile_cols != cfg->asked_cols;
	char asked[64] = "", nodes[32] = "";

	if (cfg->nodes)
		snprintf(nodes, sizeof(nodes), " on %u nodes", cfg->node_count);
	if (cut)
		snprintf(asked, sizeof(asked), " (a chunk is no larger; asked for %ux%u)",
			 cfg->asked_rows, cfg->asked_cols);
	printf("gemm-rs: %u ranks%s, %ux%ux%u %s, tile %ux%u%s, write %s, %u iterations, seed "
	       "%llu\n\n",
	       cfg->ranks, nodes, cfg->m, cfg->n, cfg->k, t3_dtype_name(cfg->dtype), cfg->tile_rows,
	       cfg->tile_cols, asked, gemm_write_names[cfg->write], cfg->iterations,
	       (ull)cfg->seed);
}

/* One line per chunk, in each rank's production order. */
static void print_chunks(const struct gemm_config *cfg, const struct gemm_result *result)
{
	const struct gemm_chunk_report *c;
	uint32_t r, i;

	printf("rank chunk kind       stores doorbells  local-bytes remote-bytes triggers"
	       "    dma-bytes   link-bytes nmc-elements\n");
	for (r = 0; r < cfg->ranks; r++) {
		for (i = 0; i < cfg->ranks; i++) {
			c = &result->rank[r].chunk[i];
			printf("%4u %5u %-6s %10llu %9llu %12llu %12llu %8llu %12llu %12llu "
			       "%12llu\n",
			       r, c->chunk, t3_kind_name(c->kind), (ull)c->stores,
			       (ull)c->doorbells, (ull)c->local_bytes, (ull)c->remote_bytes,
			       (ull)c->triggers, (ull)c->dma_bytes, (ull)c->link_bytes,
			       (ull)c->nmc_elements);
		}
	}
}

static void print_ranks(const struct gemm_config *cfg, const struct gemm_result *result)
{
	const struct gemm_rank_report *rank;
	uint32_t r;

	printf("\nThese vary from run to run: wall-clock time (CLOCK_MONOTONIC) and the "
	       "tracker.\n");
	printf("rank   wall-ms tracker-hit tracker-alloc tracker-spill tracker-peak\n");
	for (r = 0; r < cfg->ranks; r++) {
		rank = &result->rank[r];
		printf("%4u %9.1f %11llu %13llu %13llu %12llu\n", r, (double)rank->time_ns / 1e6,
		       (ull)rank->tracker_hit, (ull)rank->tracker_alloc, (ull)rank->tracker_spill,
		       (ull)rank->tracker_peak);
	}
}

static void print_verdict(const struct gemm_config *cfg, const struct gemm_result *result)
{
	const struct gemm_verdict *v = &result->verdict;
	ull total = (ull)cfg->m * cfg->n * cfg->iterations;

	printf("\nverified %llu of %llu elements: %llu without the ring order's bits",
	       (ull)v->checked, total, (ull)v->wrong_bits);
	if (cfg->dtype != DRM_T3_I32)
		printf(", %llu out of bound, largest error %.3g (bound there %.3g)",
		       (ull)v->out_of_bound, v->max_error, v->bound);
	printf("\nhash %016llx (FNV-1a/64 of all results)\n", (ull)result->hash);
}

void gemm_print_table(const struct gemm_config *cfg, const struct gemm_result *result)
{
	uint32_t r;

	print_config(cfg);
	if (result->complete) {
		print_chunks(cfg, result);
		print_ranks(cfg, result);
		print_verdict(cfg, result);
	}
	fflush(stdout);
	for (r = 0; r < cfg->ranks; r++) {
		if (*result->rank_error[r])
			fprintf(stderr, "t3: %s\n", result->rank_error[r]);
	}
	if (result->pass)
		printf("PASS\n");
	else
		printf("FAIL: %s\n", result->reason);
}
