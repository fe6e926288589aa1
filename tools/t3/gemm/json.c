// SPDX-License-Identifier: MIT
/* A gemm-rs result as JSON. */
#include <stdio.h>

#include "gemm/print.h"

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *hex(uint64_t value)
{
	return json_sprintf("%016llx", (unsigned long long)value);
}

/* The seed is a string, because 64 bits do not fit a JSON integer. */
static json_t *config_to_json(const struct gemm_config *cfg)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:s, s:s, s:o, s:o}", "ranks",
			 number(cfg->ranks), "nodes", number(cfg->nodes ? cfg->node_count : 1), "m",
			 number(cfg->m), "n", number(cfg->n), "k", number(cfg->k), "dtype",
			 t3_dtype_name(cfg->dtype), "tile_rows", number(cfg->tile_rows),
			 "tile_cols", number(cfg->tile_cols), "write", gemm_write_names[cfg->write],
			 "algorithm", cfg->grouped ? "switch" : "ring", "iterations",
			 number(cfg->iterations), "seed",
			 json_sprintf("%llu", (unsigned long long)cfg->seed));
}

static json_t *rank_to_json(const struct gemm_config *cfg, const struct gemm_result *result,
			    uint32_t r)
{
	const struct gemm_rank_report *rank = &result->rank[r];
	const struct gemm_chunk_report *c;
	json_t *chunks = json_array(), *chunk;
	uint32_t i;

	for (i = 0; i < cfg->ranks; i++) {
		c = &rank->chunk[i];
		chunk = json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "chunk",
				  number(c->chunk), "kind", gemm_kind_name(cfg, c->kind), "stores",
				  number(c->stores), "doorbells", number(c->doorbells),
				  "local_bytes", number(c->local_bytes), "remote_bytes",
				  number(c->remote_bytes), "triggers", number(c->triggers),
				  "dma_bytes", number(c->dma_bytes), "link_bytes",
				  number(c->link_bytes), "nmc_elements", number(c->nmc_elements));
		json_array_append_new(chunks, chunk);
	}
	return json_pack("{s:o, s:o, s:o, s:{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}}", "rank",
			 number(r), "hash", hex(rank->hash), "chunks", chunks, "varying", "wall_ns",
			 number(rank->time_ns), "tracker_hit", number(rank->tracker_hit),
			 "tracker_alloc", number(rank->tracker_alloc), "tracker_spill",
			 number(rank->tracker_spill), "tracker_peak", number(rank->tracker_peak),
			 "merged", number(rank->merged), "alone", number(rank->alone), "ordered",
			 (int)rank->ordered);
}

static json_t *verdict_to_json(const struct gemm_config *cfg, const struct gemm_result *result)
{
	const struct gemm_verdict *v = &result->verdict;

	return json_pack("{s:o, s:o, s:o, s:o, s:f, s:f}", "elements",
			 number((uint64_t)cfg->m * cfg->n * cfg->iterations), "checked",
			 number(v->checked), "wrong_bits", number(v->wrong_bits), "out_of_bound",
			 number(v->out_of_bound), "max_error", v->max_error, "bound", v->bound);
}

static void add_results(json_t *root, const struct gemm_config *cfg,
			const struct gemm_result *result)
{
	json_t *ranks = json_array();
	uint32_t i;

	for (i = 0; i < cfg->ranks; i++)
		json_array_append_new(ranks, rank_to_json(cfg, result, i));
	json_object_set_new(root, "ranks", ranks);
	json_object_set_new(root, "verification", verdict_to_json(cfg, result));
	json_object_set_new(root, "hash", hex(result->hash));
}

static void add_errors(json_t *root, const struct gemm_config *cfg,
		       const struct gemm_result *result)
{
	json_t *errors = json_array();
	uint32_t i;

	for (i = 0; i < cfg->ranks; i++) {
		if (*result->rank_error[i])
			json_array_append_new(errors, json_string(result->rank_error[i]));
	}
	json_object_set_new(root, "reason", json_string(result->reason));
	json_object_set_new(root, "errors", errors);
}

json_t *gemm_to_json(const struct gemm_config *cfg, const struct gemm_result *result)
{
	json_t *root =
		json_pack("{s:o, s:b}", "config", config_to_json(cfg), "pass", (int)result->pass);

	if (!root)
		return NULL;
	if (result->complete)
		add_results(root, cfg, result);
	if (!result->pass)
		add_errors(root, cfg, result);
	return root;
}
