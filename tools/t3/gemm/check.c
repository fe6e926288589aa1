// SPDX-License-Identifier: MIT
/* Checks a job's options. Each refusal is one sentence. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "layout.h"

#define MAX_TILES      (1ull << 20) /* of one space */
#define MAX_TILE_BYTES (1ull << 20)

struct report {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct report *report, const char *format,
							...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(report->text, report->size, format, args);
	va_end(args);
	return -EINVAL;
}

void gemm_defaults(struct gemm_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->ranks = 4;
	cfg->m = 256;
	cfg->n = 256;
	cfg->k = 256;
	cfg->dtype = DRM_T3_F32;
	cfg->iterations = 4;
	cfg->tile_rows = 32;
	cfg->tile_cols = 32;
	cfg->timeout_s = 60;
	cfg->seed = 1;
	cfg->delay_rank = GEMM_NO_RANK;
	cfg->kill_rank = GEMM_NO_RANK;
}

static int check_shape(const struct gemm_config *cfg, struct report *r)
{
	if (cfg->ranks < 2 || cfg->ranks > GEMM_MAX_RANKS)
		return refuse(r, "--ranks must be 2 to %u", GEMM_MAX_RANKS);
	if (cfg->dtype > DRM_T3_BF16) /* types that can be summed */
		return refuse(r, "--dtype must be i32, f32, f16 or bf16");
	if (!cfg->m || !cfg->n || !cfg->k || cfg->m > GEMM_MAX_DIM || cfg->n > GEMM_MAX_DIM ||
	    cfg->k > GEMM_MAX_DIM)
		return refuse(r, "--shape must be MxNxK, each 1 to %u", GEMM_MAX_DIM);
	if (cfg->m % cfg->ranks || cfg->k % cfg->ranks)
		return refuse(r,
			      "M and K of --shape must be multiples of the %u ranks, not %u and %u",
			      cfg->ranks, cfg->m, cfg->k);
	if (cfg->nodes && cfg->ranks % cfg->node_count)
		return refuse(r, "--ranks must be a multiple of the %u nodes, not %u",
			      cfg->node_count, cfg->ranks);
	if ((uint64_t)cfg->m * cfg->n > GEMM_MAX_OUTPUT)
		return refuse(r, "M times N of --shape must be at most %llu", GEMM_MAX_OUTPUT);
	return 0;
}

/* Each node has as many ranks as the others. */
static void set_ranks(struct gemm_config *cfg)
{
	cfg->here = cfg->nodes ? cfg->ranks / cfg->node_count : cfg->ranks;
	cfg->first = cfg->nodes ? cfg->node * cfg->here : 0;
}

/* A tile that is larger than a chunk is cut to the chunk, and the result says so. */
static void clip_tile(struct gemm_config *cfg)
{
	uint32_t rows = cfg->m / cfg->ranks;

	cfg->asked_rows = cfg->tile_rows;
	cfg->asked_cols = cfg->tile_cols;
	cfg->tile_rows = cfg->tile_rows < rows ? cfg->tile_rows : rows;
	cfg->tile_cols = cfg->tile_cols < cfg->n ? cfg->tile_cols : cfg->n;
}

static int check_tile(struct gemm_config *cfg, struct report *r)
{
	struct gemm_layout layout;

	if (!cfg->tile_rows || !cfg->tile_cols || cfg->tile_rows > GEMM_MAX_TILE ||
	    cfg->tile_cols > GEMM_MAX_TILE)
		return refuse(r, "--tile must be RxC, each 1 to %u", GEMM_MAX_TILE);
	clip_tile(cfg);
	if ((uint64_t)cfg->tile_rows * cfg->tile_cols * t3_dtype_bytes(cfg->dtype) > MAX_TILE_BYTES)
		return refuse(r, "--tile must not hold more than 1 MiB");
	gemm_layout_init(&layout, cfg);
	if (layout.tiles * layout.chunks > MAX_TILES)
		return refuse(r, "--tile must cut the output into at most %llu tiles", MAX_TILES);
	return 0;
}

static int check_step(const struct gemm_config *cfg, const char *name, uint32_t rank, uint32_t step,
		      struct report *r)
{
	uint32_t steps = cfg->ranks * cfg->iterations;

	if (rank == GEMM_NO_RANK)
		return 0;
	if (rank >= cfg->ranks)
		return refuse(r, "--%s-rank must be 0 to %u", name, cfg->ranks - 1);
	if (step >= steps)
		return refuse(r, "--%s-step must be 0 to %u", name, steps - 1);
	return 0;
}

static int check_run(const struct gemm_config *cfg, struct report *r)
{
	int ret;

	if (!cfg->iterations || cfg->iterations > GEMM_MAX_ITERATIONS)
		return refuse(r, "--iters must be 1 to %u", GEMM_MAX_ITERATIONS);
	if (!cfg->timeout_s || cfg->timeout_s > GEMM_MAX_TIMEOUT_S)
		return refuse(r, "--timeout must be 1 to %u seconds", GEMM_MAX_TIMEOUT_S);
	if (cfg->write >= GEMM_WRITES)
		return refuse(r, "--write must be store, doorbell or gemm");
	if (cfg->wait > GEMM_WAIT_SLEEP)
		return refuse(r, "--wait must be auto, spin or sleep");
	if (cfg->delay_ms > GEMM_MAX_DELAY_MS)
		return refuse(r, "--delay-ms must be 0 to %u", GEMM_MAX_DELAY_MS);
	ret = check_step(cfg, "delay", cfg->delay_rank, cfg->delay_step, r);
	return ret ? ret : check_step(cfg, "kill", cfg->kill_rank, cfg->kill_step, r);
}

int gemm_check(struct gemm_config *cfg, char *text, size_t size)
{
	struct report r = { .text = text, .size = size };
	int ret;

	ret = check_shape(cfg, &r);
	if (!ret)
		set_ranks(cfg);
	if (!ret)
		ret = check_tile(cfg, &r);
	return ret ? ret : check_run(cfg, &r);
}
