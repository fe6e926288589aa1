/* SPDX-License-Identifier: MIT */
/* Runs of the timed model. The expected bytes come from formulas that do not use tiles. */
#include "timed.h"

void timed_param(struct t3_timed_setup *setup, const char *name, uint64_t value)
{
	const struct t3_timed_param *param = t3_timed_param_find(name);

	assert_non_null(param);
	t3_timed_param_set(&setup->params, param, value);
}

struct t3_timed_setup timed_small(uint64_t rows, uint64_t columns, uint64_t depth, uint64_t ranks)
{
	struct t3_timed_setup setup = { .mirrored = true };

	t3_timed_params_default(&setup.params);
	setup.workload =
		(struct t3_timed_workload){ rows, columns, depth, 2, ranks, T3_TIMED_CHUNKS_AUTO };
	timed_param(&setup, "compute_units", 6);
	timed_param(&setup, "tile_rows", 32);
	timed_param(&setup, "tile_columns", 32);
	timed_param(&setup, "k_block", 16);
	timed_param(&setup, "raster_rows", 2);
	timed_param(&setup, "request_bytes", 1024);
	timed_param(&setup, "cache_kib", 64);
	timed_param(&setup, "link_queue_kib", 16);
	timed_param(&setup, "dma_tiles", 2);
	timed_param(&setup, "dma_read_ahead_kib", 16);
	timed_param(&setup, "copy_window_kib", 24);
	timed_param(&setup, "tracker_entries", 16);
	return setup;
}

struct t3_timed_setup timed_published(uint64_t hidden, uint64_t tokens, uint64_t factor,
				      uint64_t ranks)
{
	struct t3_timed_setup setup = { .mirrored = true };

	t3_timed_params_default(&setup.params);
	setup.workload = (struct t3_timed_workload){ tokens, hidden, hidden * factor / ranks,
						     2,	     ranks,  T3_TIMED_CHUNKS_AUTO };
	return setup;
}

struct t3_timed_counters timed_run_to_end(const struct t3_timed_setup *setup)
{
	struct t3_timed *sim = t3_timed_new(setup);
	struct t3_timed_counters first, other;
	uint32_t i;

	assert_non_null(sim);
	while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
		;
	assert_true(t3_timed_done(sim));
	assert_int_equal(t3_timed_next(sim), T3_TIMED_NEVER);
	assert_int_equal(t3_timed_devices(sim), setup->mirrored ? 1 : setup->workload.ranks);
	t3_timed_counters(sim, 0, &first);
	for (i = 1; i < t3_timed_devices(sim); i++) {
		t3_timed_counters(sim, i, &other);
		assert_memory_equal(&first, &other, sizeof(first));
	}
	t3_timed_free(sim);
	return first;
}

static uint64_t blocks(uint64_t size, uint64_t of)
{
	return size / of + (size % of != 0);
}

struct timed_reference_cut timed_reference_cut(const struct t3_timed_setup *setup)
{
	const struct t3_timed_workload *w = &setup->workload;
	struct timed_reference_cut best = { 0 };
	uint64_t a, fewest = ~(uint64_t)0, least = 0;

	for (a = 1; a <= w->ranks; a++) {
		uint64_t b = w->ranks / a, rows = blocks(w->rows, a),
			 columns = blocks(w->columns, b);
		uint64_t tiles = w->ranks * blocks(rows, setup->params.tile_rows) *
				 blocks(columns, setup->params.tile_columns);

		if (a * b != w->ranks || (w->chunks == T3_TIMED_CHUNKS_ROWS && b != 1) ||
		    (w->chunks == T3_TIMED_CHUNKS_COLUMNS && a != 1))
			continue;
		if (tiles > fewest || (tiles == fewest && rows + columns > least))
			continue;
		fewest = tiles;
		least = rows + columns;
		best = (struct timed_reference_cut){ a, b, rows, columns };
	}
	return best;
}

/* Chunks read and written by all ranks together, as the paper's figures count them. */
static void expect_chunks(const struct t3_timed_setup *setup, uint64_t *chunks)
{
	uint64_t n = setup->workload.ranks;
	bool nmc = setup->program == T3_TIMED_RS_NMC;

	memset(chunks, 0, T3_TIMED_BYTES * sizeof(*chunks));
	chunks[T3_TIMED_AG_READ] = chunks[T3_TIMED_AG_WRITE] = nmc ? 0 : n - 1;
	chunks[T3_TIMED_GEMM_WRITE] = nmc ? 0 : n - 1;
	chunks[T3_TIMED_RS_WRITE] = n - 1;
	switch (setup->program) {
	case T3_TIMED_SEQUENTIAL:
		chunks[T3_TIMED_GEMM_WRITE] = n;
		chunks[T3_TIMED_RS_READ] = 2 * n - 1;
		chunks[T3_TIMED_RS_WRITE] = n;
		break;
	case T3_TIMED_RS_NMC:
		chunks[T3_TIMED_RS_READ] = n - 1;
		break;
	case T3_TIMED_DIRECT:
		chunks[T3_TIMED_GEMM_WRITE] = 1;
		break;
	default:
		chunks[T3_TIMED_RS_READ] = n - 2;
		break;
	}
}

static uint64_t minimum(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A and B are read at least once. A block is missed at most once for each access. */
static void assert_gemm_reads(const struct t3_timed_setup *setup, const struct t3_timed_counters *c)
{
	const struct t3_timed_workload *w = &setup->workload;
	const struct t3_timed_params *p = &setup->params;
	struct timed_reference_cut cut = timed_reference_cut(setup);
	uint64_t grid =
		w->ranks * blocks(cut.rows, p->tile_rows) * blocks(cut.columns, p->tile_columns);
	uint64_t once = (cut.a * cut.rows + cut.b * cut.columns) * w->depth * w->element_bytes;
	uint64_t each = grid *
			(minimum(p->tile_rows, cut.rows) + minimum(p->tile_columns, cut.columns)) *
			w->depth * w->element_bytes;

	assert_int_equal(c->groups, grid);
	assert_true(c->memory_bytes[T3_TIMED_GEMM_READ] >= once);
	assert_true(c->memory_bytes[T3_TIMED_GEMM_READ] <= each);
}

static void assert_tracker(const struct t3_timed_setup *setup, const struct t3_timed_counters *c)
{
	uint64_t record = setup->params.tracker_record_bytes;

	assert_int_equal(c->tracker_live, 0);
	assert_int_equal(c->memory_bytes[T3_TIMED_TRACKER_WRITE], c->tracker_spills * record);
	assert_int_equal(c->memory_bytes[T3_TIMED_TRACKER_READ], c->tracker_fills * record);
	/* An entry that is replaced during its fill is written again. */
	assert_true(c->tracker_spills >= c->tracker_fills);
	assert_true(c->tracker_peak <= setup->params.tracker_entries);
}

void timed_assert_conserved(const struct t3_timed_setup *setup, const struct t3_timed_counters *c)
{
	const struct t3_timed_workload *w = &setup->workload;
	struct timed_reference_cut cut = timed_reference_cut(setup);
	uint64_t chunk = cut.rows * cut.columns * w->element_bytes;
	uint64_t chunks[T3_TIMED_BYTES], sent = setup->program == T3_TIMED_RS_NMC ? 1 : 2;
	int kind;

	expect_chunks(setup, chunks);
	for (kind = T3_TIMED_GEMM_WRITE; kind <= T3_TIMED_AG_WRITE; kind++)
		assert_int_equal(c->memory_bytes[kind], chunks[kind] * chunk);
	assert_int_equal(c->link_bytes, sent * (w->ranks - 1) * chunk);
	assert_int_equal(c->received_bytes, c->link_bytes);
	assert_true(c->link_busy <= c->end);
	assert_true(c->queue_peak <= setup->params.queue_entries);
	assert_tracker(setup, c);
	if (setup->program != T3_TIMED_RS_NMC)
		assert_gemm_reads(setup, c);
}
