// SPDX-License-Identifier: MIT
/* A gemm-rs result as text. */
#include <stdio.h>

#include "gemm/print.h"

const char *const gemm_write_names[] = { "store", "doorbell", "gemm", NULL };

typedef unsigned long long ull;

static void print_config(const struct gemm_config *cfg)
{
	bool cut = cfg->tile_rows != cfg->asked_rows || cfg->tile_cols != cfg->asked_cols;
	char asked[64] = "", nodes[32] = "", sums[32] = "";

	if (cfg->nodes)
		snprintf(nodes, sizeof(nodes), " on %u nodes", cfg->node_count);
	if (cfg->grouped)
		snprintf(sums, sizeof(sums), ", sums in the switch");
	if (cut)
		snprintf(asked, sizeof(asked), " (a chunk is no larger; asked for %ux%u)",
			 cfg->asked_rows, cfg->asked_cols);
	printf("gemm-rs: %u ranks%s, %ux%ux%u %s, tile %ux%u%s, write %s%s, %u iterations, seed "
	       "%llu\n\n",
	       cfg->ranks, nodes, cfg->m, cfg->n, cfg->k, t3_dtype_name(cfg->dtype), cfg->tile_rows,
	       cfg->tile_cols, asked, gemm_write_names[cfg->write], sums, cfg->iterations,
	       (ull)cfg->seed);
}

/* A chunk that goes to a group is one of kind dma to the device. */
const char *gemm_kind_name(const struct gemm_config *cfg, uint32_t kind)
{
	return cfg->grouped && kind == DRM_T3_SEGMENT_DMA ? "switch" : t3_kind_name(kind);
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
			       r, c->chunk, gemm_kind_name(cfg, c->kind), (ull)c->stores,
			       (ull)c->doorbells, (ull)c->local_bytes, (ull)c->remote_bytes,
			       (ull)c->triggers, (ull)c->dma_bytes, (ull)c->link_bytes,
			       (ull)c->nmc_elements);
		}
	}
}

static void print_groups(const struct gemm_config *cfg, const struct gemm_result *result)
{
	const struct gemm_rank_report *rank;
	uint32_t r;

	if (!cfg->grouped)
		return;
	printf("\nUpdates for each rank's chunk in the switch: added to others there, or sent on "
	       "alone.\nrank       merged        alone  order\n");
	for (r = 0; r < cfg->ranks; r++) {
		rank = &result->rank[r];
		printf("%4u %12llu %12llu  %s\n", r, (ull)rank->merged, (ull)rank->alone,
		       rank->ordered ? "of the ranks" : "any");
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

	printf("\nverified %llu of %llu elements: %llu without the %s bits", (ull)v->checked, total,
	       (ull)v->wrong_bits, cfg->grouped ? "rank order's" : "ring order's");
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
		print_groups(cfg, result);
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
