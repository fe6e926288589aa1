/* SPDX-License-Identifier: MIT */
/* Runs of the timed model. The expected bytes come from formulas that do not use tiles. */
#include "timed.h"
#include "trail.h"

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
	setup.workload = (struct t3_timed_workload){
		.rows = rows, .columns = columns, .depth = depth, .element_bytes = 2, .ranks = ranks
	};
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
	timed_param(&setup, "copy_unit_kib", 4);
	timed_param(&setup, "tracker_entries", 16);
	return setup;
}

struct t3_timed_setup timed_published(uint64_t hidden, uint64_t tokens, uint64_t factor,
				      uint64_t ranks)
{
	struct t3_timed_setup setup = { .mirrored = true };

	t3_timed_params_default(&setup.params);
	setup.workload = (struct t3_timed_workload){ .rows = tokens,
						     .columns = hidden,
						     .depth = hidden * factor / ranks,
						     .element_bytes = 2,
						     .ranks = ranks };
	return setup;
}

bool timed_program(struct t3_timed_setup *setup, int program)
{
	uint64_t units = setup->params.compute_units;
	char why[TIMED_WHY];

	setup->program = (enum t3_timed_program)program;
	if (program == T3_TIMED_SHARED && setup->params.collective_units >= units)
		timed_param(setup, "collective_units", units > 1 ? units / 2 : 1);
	return t3_timed_check(setup, why, sizeof(why));
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
	trail_add(&first, sizeof(first));
	TRAIL(t3_timed_events(sim));
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

static uint64_t nodes_of(const struct t3_timed_workload *w)
{
	return w->nodes ? w->nodes : 1;
}

static uint64_t ranks_of_node(const struct t3_timed_workload *w)
{
	return w->ranks / nodes_of(w);
}

struct timed_reference_cut timed_reference_cut(const struct t3_timed_setup *setup)
{
	const struct t3_timed_workload *w = &setup->workload;
	struct timed_reference_cut best = { 0 };
	uint64_t a, n = ranks_of_node(w), fewest = ~(uint64_t)0, least = 0;

	for (a = 1; a <= n; a++) {
		uint64_t b = n / a, rows = blocks(w->rows, a), columns = blocks(w->columns, b);
		uint64_t tiles = n * blocks(rows, setup->params.tile_rows) *
				 blocks(columns, setup->params.tile_columns);

		if (a * b != n || (w->chunks == T3_TIMED_CHUNKS_ROWS && b != 1) ||
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

/* What compute units copy: of a reduce-scatter, of an all-gather or all-to-all. */
static void expect_copies(const struct t3_timed_setup *setup, uint64_t *chunks)
{
	enum t3_timed_collective collective = setup->workload.collective;
	uint64_t n = ranks_of_node(&setup->workload);

	if (t3_timed_reduces(collective)) {
		chunks[T3_TIMED_RS_READ] = 2 * n - 1;
		chunks[T3_TIMED_RS_WRITE] = n;
	}
	if (collective != T3_TIMED_COLLECTIVE_REDUCE_SCATTER)
		chunks[T3_TIMED_AG_READ] = chunks[T3_TIMED_AG_WRITE] = n - 1;
}

/* What a GEMM that is fused stores, and what is triggered. */
static void expect_fused(const struct t3_timed_setup *setup, uint64_t *chunks)
{
	uint64_t n = ranks_of_node(&setup->workload);

	switch (setup->workload.collective) {
	case T3_TIMED_COLLECTIVE_ALL_GATHER:
		chunks[T3_TIMED_GEMM_WRITE] = 1;
		chunks[T3_TIMED_AG_READ] = chunks[T3_TIMED_AG_WRITE] = n - 1;
		return;
	case T3_TIMED_COLLECTIVE_ALL_TO_ALL:
		chunks[T3_TIMED_GEMM_WRITE] = 1;
		chunks[T3_TIMED_AG_WRITE] = n - 1;
		return;
	case T3_TIMED_COLLECTIVE_ALL_REDUCE:
		chunks[T3_TIMED_AG_READ] = chunks[T3_TIMED_AG_WRITE] = n - 1;
		break;
	default:
		break;
	}
	chunks[T3_TIMED_GEMM_WRITE] = setup->program == T3_TIMED_DIRECT ? 1 : n - 1;
	chunks[T3_TIMED_RS_WRITE] = n - 1;
	chunks[T3_TIMED_RS_READ] = setup->program == T3_TIMED_DIRECT ? 0 : n - 2;
}

/* Chunks that a device computes. */
static uint64_t computed(const struct t3_timed_setup *setup)
{
	bool own = setup->workload.collective == T3_TIMED_COLLECTIVE_ALL_GATHER;

	return own ? 1 : ranks_of_node(&setup->workload);
}

static bool has_gemm(const struct t3_timed_setup *setup)
{
	return setup->program != T3_TIMED_RS_NMC && setup->program != T3_TIMED_ALONE;
}

/* Chunks read and written by a device, as the paper's figures count them. */
static void expect_chunks(const struct t3_timed_setup *setup, uint64_t *chunks)
{
	uint64_t n = ranks_of_node(&setup->workload);

	memset(chunks, 0, T3_TIMED_BYTES * sizeof(*chunks));
	if (n == 1) {
		chunks[T3_TIMED_GEMM_WRITE] = has_gemm(setup);
		return;
	}
	switch (setup->program) {
	case T3_TIMED_SEQUENTIAL:
	case T3_TIMED_SHARED:
		chunks[T3_TIMED_GEMM_WRITE] = computed(setup);
		expect_copies(setup, chunks);
		break;
	case T3_TIMED_ALONE:
		expect_copies(setup, chunks);
		break;
	case T3_TIMED_RS_NMC:
		chunks[T3_TIMED_RS_READ] = n - 1;
		chunks[T3_TIMED_RS_WRITE] = n - 1;
		break;
	default:
		expect_fused(setup, chunks);
		break;
	}
}

/* The same for parts of a chunk, over nodes. Updates at memory save the second read and the sum. */
static void expect_parts(const struct t3_timed_setup *setup, uint64_t *parts)
{
	uint64_t nodes = nodes_of(&setup->workload);
	bool loads = setup->program != T3_TIMED_RS_NMC && !t3_timed_fused(setup->program);

	memset(parts, 0, T3_TIMED_BYTES * sizeof(*parts));
	if (nodes < 2)
		return;
	parts[T3_TIMED_RS_READ] = loads ? 2 * nodes - 1 : nodes - 1;
	parts[T3_TIMED_RS_WRITE] = loads ? nodes : nodes - 1;
	if (setup->program != T3_TIMED_RS_NMC &&
	    setup->workload.collective == T3_TIMED_COLLECTIVE_ALL_REDUCE)
		parts[T3_TIMED_AG_READ] = parts[T3_TIMED_AG_WRITE] = nodes - 1;
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
	uint64_t grid = computed(setup) * blocks(cut.rows, p->tile_rows) *
			blocks(cut.columns, p->tile_columns);
	bool all = computed(setup) == ranks_of_node(w);
	uint64_t once = ((all ? cut.a : 1) * cut.rows + (all ? cut.b : 1) * cut.columns) *
			w->depth * w->element_bytes;
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

/* What goes once round each ring, or once to each peer: for an all-reduce, twice. */
static uint64_t times_sent(const struct t3_timed_setup *setup)
{
	bool both = setup->workload.collective == T3_TIMED_COLLECTIVE_ALL_REDUCE &&
		    setup->program != T3_TIMED_RS_NMC;

	return both ? 2 : 1;
}

/* No link is faster than its rate, and no chunk can go before the one before it has come. */
static void assert_bound(const struct t3_timed_setup *setup, const struct t3_timed_counters *c)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t others = ranks_of_node(&setup->workload) - 1;
	uint64_t hops = times_sent(setup) * others;

	if (t3_timed_all_peers(setup->program, setup->workload.collective))
		hops = others != 0;
	assert_true(c->end >= c->link_bytes * 1000 / p->link_gbps);
	assert_true(c->end >= hops * p->link_latency_ns * 1000);
	assert_true(c->link_busy <= c->end);
}

static void assert_phases(const struct t3_timed_setup *setup, const struct t3_timed_counters *c)
{
	bool ring = ranks_of_node(&setup->workload) > 1, nodes = nodes_of(&setup->workload) > 1;
	bool sums = t3_timed_reduces(setup->workload.collective);
	bool last = setup->workload.collective != T3_TIMED_COLLECTIVE_REDUCE_SCATTER &&
		    setup->program != T3_TIMED_RS_NMC;

	assert_int_equal(c->phase_end[T3_TIMED_GEMM] != 0, has_gemm(setup));
	assert_int_equal(c->phase_end[T3_TIMED_REDUCE_SCATTER] != 0,
			 ring && sums && !t3_timed_fused(setup->program));
	assert_int_equal(c->phase_end[T3_TIMED_NODE_REDUCE_SCATTER] != 0, nodes && sums);
	assert_int_equal(c->phase_end[T3_TIMED_NODE_ALL_GATHER] != 0, nodes && last);
	assert_int_equal(c->phase_end[T3_TIMED_ALL_GATHER] != 0, ring && last);
	assert_int_equal(c->groups != 0, has_gemm(setup));
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A ring over nodes sends a part, and the last byte of it arrives, before the next one starts. */
static void assert_times(const struct t3_timed_setup *setup, const struct t3_timed_counters *c,
			 uint64_t part)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t nodes = nodes_of(&setup->workload);
	uint64_t ring =
		(nodes - 1) * (part * 1000 / p->node_link_gbps + p->node_link_latency_ns * 1000);
	uint64_t gemm = c->phase_end[T3_TIMED_GEMM], start;

	assert_int_equal(c->node_link_messages > 0, nodes > 1);
	assert_true(c->node_link_busy >= c->node_link_bytes * 1000 / p->node_link_gbps);
	if (nodes < 2)
		return;
	start = later(c->phase_end[T3_TIMED_REDUCE_SCATTER],
		      setup->program == T3_TIMED_SHARED ? 0 : gemm);
	assert_true(c->phase_end[T3_TIMED_NODE_REDUCE_SCATTER] >= start + ring);
	if (times_sent(setup) < 2)
		return;
	start = later(c->phase_end[T3_TIMED_NODE_REDUCE_SCATTER], gemm);
	assert_true(c->phase_end[T3_TIMED_NODE_ALL_GATHER] >= start + ring);
	assert_true(c->phase_end[T3_TIMED_ALL_GATHER] ==
		    (ranks_of_node(&setup->workload) > 1 ? c->end : 0));
}

void timed_assert_conserved(const struct t3_timed_setup *setup, const struct t3_timed_counters *c)
{
	const struct t3_timed_workload *w = &setup->workload;
	struct timed_reference_cut cut = timed_reference_cut(setup);
	uint64_t chunk = cut.rows * cut.columns * w->element_bytes, nodes = nodes_of(w);
	uint64_t part = blocks(cut.rows * cut.columns, nodes) * w->element_bytes;
	uint64_t chunks[T3_TIMED_BYTES], parts[T3_TIMED_BYTES];
	uint64_t sent = times_sent(setup);
	int kind;

	expect_chunks(setup, chunks);
	expect_parts(setup, parts);
	for (kind = T3_TIMED_GEMM_WRITE; kind <= T3_TIMED_AG_WRITE; kind++)
		assert_int_equal(c->memory_bytes[kind], chunks[kind] * chunk + parts[kind] * part);
	assert_int_equal(c->link_bytes, sent * (ranks_of_node(w) - 1) * chunk);
	assert_int_equal(c->node_link_bytes, sent * (nodes - 1) * part);
	assert_int_equal(c->received_bytes, c->link_bytes + c->node_link_bytes);
	assert_times(setup, c, part);
	assert_true(c->queue_peak <= setup->params.queue_entries);
	assert_bound(setup, c);
	assert_phases(setup, c);
	assert_tracker(setup, c);
	if (c->groups)
		assert_gemm_reads(setup, c);
	else
		assert_int_equal(c->memory_bytes[T3_TIMED_GEMM_READ], 0);
}
