/* SPDX-License-Identifier: MIT */
/*
 * Expert layers in the timed model: rows that are not as many everywhere. SPEC.md 8.1. T3_SEEDS, T3_SEED
 * as in test_core_property.c.
 */
#include "host.h"
#include "seeds.h"
#include "timed.h"
#include "trail.h"
#include "test.h"

#define SEEDS	  40u
#define MAX_RANKS 8u
#define MAX_CELLS 256u

struct layer {
	struct t3_timed_setup setup;
	struct t3_timed_routing routing;
	uint32_t rows[MAX_CELLS];
};

/* No time for what the order of requests adds, so that a person can count. */
static void make(struct layer *layer, enum t3_timed_way way, uint64_t ranks, uint64_t experts)
{
	*layer = (struct layer){ .setup = timed_small(1, 256, 64, ranks) };
	layer->setup.mirrored = false;
	layer->setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	if (way == T3_TIMED_DISPATCH) {
		layer->setup.workload.columns = 64;
		layer->setup.workload.depth = 256;
	}
	timed_param(&layer->setup, "turnaround_ns", 0);
	timed_param(&layer->setup, "row_conflict_ns", 0);
	layer->routing = (struct t3_timed_routing){ way, experts, layer->rows };
	layer->setup.routing = &layer->routing;
}

static void send_rows(struct layer *layer, uint64_t rank, uint64_t expert, uint32_t rows)
{
	layer->rows[rank * layer->routing.experts + expert] = rows;
}

static uint64_t sum(const struct layer *layer)
{
	uint64_t all = 0, i;

	for (i = 0; i < layer->setup.workload.ranks * layer->routing.experts; i++)
		all += layer->rows[i];
	return all;
}

struct outcome {
	struct t3_timed_counters counters[MAX_RANKS];
	uint64_t gemm, end; /* of the last device */
};

/* In turns of the devices, or with all events in the order of time. */
static struct outcome run_so(struct layer *layer, enum t3_timed_program program, uint64_t budget,
			     bool turns)
{
	struct outcome out = { 0 };
	struct t3_timed *sim;
	uint32_t i;

	layer->setup.program = program;
	layer->setup.workload.rows = sum(layer);
	sim = t3_timed_new(&layer->setup);
	assert_non_null(sim);
	while (turns ? t3_timed_run_in_turns(sim, budget)
		     : t3_timed_run(sim, T3_TIMED_NEVER, budget))
		;
	assert_true(t3_timed_done(sim));
	assert_int_equal(t3_timed_next(sim), T3_TIMED_NEVER);
	for (i = 0; i < t3_timed_devices(sim); i++) {
		const struct t3_timed_counters *c = &out.counters[i];

		t3_timed_counters(sim, i, &out.counters[i]);
		if (c->phase_end[T3_TIMED_GEMM] > out.gemm)
			out.gemm = c->phase_end[T3_TIMED_GEMM];
		if (c->end > out.end)
			out.end = c->end;
	}
	trail_add(&out, sizeof(out));
	TRAIL(t3_timed_events(sim));
	t3_timed_free(sim);
	return out;
}

static struct outcome run(struct layer *layer, enum t3_timed_program program)
{
	return run_so(layer, program, 1000, false);
}

/* ------------------------------------------------------------- counted by hand */

/*
 * A row of 256 elements of 2 bytes. Memory reads 512 bytes at 1024 GB/s in 500 ps, and has them 200 ns
 * later. They leave at 150 GB/s in 3414 ps, are there 500 ns later, and are written in 500 ps.
 */
#define ONE_ROW 704414u

TEST("an all-to-all of one row takes what a person counts")
{
	struct outcome out;
	struct layer layer;
	int way;

	for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++) {
		make(&layer, (enum t3_timed_way)way, 2, 2);
		send_rows(&layer, 0, 1, 1);
		out = run(&layer, T3_TIMED_SEQUENTIAL);
		assert_int_equal(out.end - out.gemm, ONE_ROW);
	}
}

/*
 * Two ranks send a row each to one expert. Both come at once, and the port takes the second one when it
 * has the first. Back, the expert's rank sends one after the other. So each takes a row's 3414 ps more.
 */
TEST("two rows of one expert follow each other at its port, and back on its link")
{
	struct outcome out;
	struct layer layer;
	int way;

	for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++) {
		make(&layer, (enum t3_timed_way)way, 3, 3);
		send_rows(&layer, 1, 0, 1);
		send_rows(&layer, 2, 0, 1);
		out = run(&layer, T3_TIMED_SEQUENTIAL);
		assert_int_equal(out.end - out.gemm, ONE_ROW + 3414);
	}
}

/* Rows of a rank's own experts cross no link. */
TEST("rows of the own experts cross no link")
{
	struct outcome out;
	struct layer layer;

	make(&layer, T3_TIMED_COMBINE, 2, 4);
	send_rows(&layer, 0, 1, 100);
	send_rows(&layer, 1, 2, 50);
	out = run(&layer, T3_TIMED_SEQUENTIAL);
	assert_int_equal(out.end, out.gemm);
	assert_int_equal(out.counters[0].link_bytes, 0);
	out = run(&layer, T3_TIMED_T3_MCA);
	assert_int_equal(out.counters[0].link_bytes, 0);
	/* All 100 rows of 256 elements are added here. */
	assert_int_equal(out.counters[0].memory_bytes[T3_TIMED_GEMM_WRITE], 100 * 512);
	assert_int_equal(out.counters[1].memory_bytes[T3_TIMED_GEMM_WRITE], 50 * 512);
}

/* Each expert's rows have tiles of their own: 33 rows and 1 row are 2 and 1 tile rows of 8 tiles. */
TEST("each expert has tiles of its own rows, and its own B")
{
	struct outcome out;
	struct layer layer;

	make(&layer, T3_TIMED_COMBINE, 2, 4);
	send_rows(&layer, 0, 0, 20);
	send_rows(&layer, 1, 0, 13);
	send_rows(&layer, 1, 1, 1);
	out = run(&layer, T3_TIMED_SEQUENTIAL);
	assert_int_equal(out.counters[0].groups, 3 * 8);
	assert_int_equal(out.counters[1].groups, 0);
	/* The rows of rank 1, and none of rank 0. */
	assert_int_equal(out.counters[0].link_bytes, 14 * 512);
	assert_int_equal(out.counters[1].received_bytes, 14 * 512);
	/* Of A, each of 34 rows once, as it stays in the cache; of B, all of both experts. */
	assert_int_equal(out.counters[0].memory_bytes[T3_TIMED_GEMM_READ],
			 (34 * 64 + 2 * 64 * 256) * 2);
}

/* -------------------------------------------------------------------- load */

static void fill_evenly(struct layer *layer, uint32_t rows)
{
	uint64_t i;

	for (i = 0; i < layer->setup.workload.ranks * layer->routing.experts; i++)
		layer->rows[i] = rows;
}

/* With as many rows from each rank to each expert, it is the all-to-all of chunks. */
TEST("with as many rows everywhere, it is the all-to-all of chunks")
{
	struct t3_timed_counters plain;
	struct t3_timed_setup setup;
	struct outcome out;
	struct layer layer;
	uint64_t exchange;

	make(&layer, T3_TIMED_COMBINE, 4, 4);
	fill_evenly(&layer, 256);
	out = run(&layer, T3_TIMED_SEQUENTIAL);
	setup = layer.setup;
	setup.routing = NULL;
	setup.mirrored = true;
	setup.workload.rows = 1024;
	setup.workload.chunks = T3_TIMED_CHUNKS_ROWS;
	plain = timed_run_to_end(&setup);
	assert_int_equal(out.counters[0].link_bytes, plain.link_bytes);
	assert_int_equal(out.counters[0].groups, plain.groups);
	assert_in_range(out.gemm * 1000 / plain.phase_end[T3_TIMED_GEMM], 980, 1020);
	exchange = plain.end - plain.phase_end[T3_TIMED_GEMM];
	assert_in_range((out.end - out.gemm) * 1000 / exchange, 980, 1020);
}

TEST("the rank with most rows bounds the GEMM and the all-to-all")
{
	struct outcome even, hot;
	struct layer layer;
	uint64_t rank;

	make(&layer, T3_TIMED_COMBINE, 4, 4);
	timed_param(&layer.setup, "link_latency_ns", 1);
	timed_param(&layer.setup, "memory_latency_ns", 0);
	fill_evenly(&layer, 64);
	even = run(&layer, T3_TIMED_SEQUENTIAL);
	/* The same number of rows; expert 2 has 4 times as many as before, others none. */
	fill_evenly(&layer, 0);
	for (rank = 0; rank < 4; rank++)
		send_rows(&layer, rank, 2, 256);
	hot = run(&layer, T3_TIMED_SEQUENTIAL);
	assert_int_equal(hot.counters[2].phase_end[T3_TIMED_GEMM], hot.gemm);
	assert_int_equal(hot.counters[0].groups, 0);
	assert_in_range(hot.gemm * 100 / even.gemm, 350, 400);
	assert_in_range((hot.end - hot.gemm) * 100 / (even.end - even.gemm), 390, 400);
}

/* ------------------------------------------------------------------- fused */

/* Rows are there before a tile of them begins, however slow the link is. */
TEST("a tile of a fused dispatch waits for its rows")
{
	struct outcome fused, fast;
	struct layer layer;
	uint64_t bytes = 3 * 64 * 512;

	make(&layer, T3_TIMED_DISPATCH, 4, 4);
	fill_evenly(&layer, 64);
	timed_param(&layer.setup, "link_gbps", 1);
	fused = run(&layer, T3_TIMED_T3_MCA);
	/*
	 * At 1 GB/s, a byte takes a nanosecond, and latencies 700. The tile of the last one has 16 steps
	 * of 25397 ps to go.
	 */
	assert_true(fused.end > bytes * 1000 + 700000 + 16 * 25397);
	timed_param(&layer.setup, "link_gbps", 100000);
	fast = run(&layer, T3_TIMED_T3_MCA);
	assert_true(fast.end < fused.end / 2);
	assert_int_equal(fast.counters[0].link_bytes, bytes);
	/* 3 peers, 2 tile rows of 32 rows from each: a run each. */
	assert_int_equal(fast.counters[0].triggers, 3 * 2);
}

TEST("a fused dispatch and a fused combine take less than one after the other")
{
	struct outcome sequential, fused;
	struct layer layer;
	int way;

	for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++) {
		make(&layer, (enum t3_timed_way)way, 4, 8);
		fill_evenly(&layer, 96);
		sequential = run(&layer, T3_TIMED_SEQUENTIAL);
		fused = run(&layer, T3_TIMED_T3_MCA);
		assert_true(fused.end < sequential.end);
		assert_true(fused.end >= sequential.gemm / 2);
	}
}

static uint64_t busy(struct layer *layer, uint64_t update_percent, uint32_t rank)
{
	timed_param(&layer->setup, "update_percent", update_percent);
	return run(layer, T3_TIMED_T3).counters[rank].memory_busy;
}

/* 32 rows of 512 bytes take 16 ns to write, at 1024 GB/s, and twice that to add. */
TEST("combined rows are added to memory, those of the own tokens and those of peers")
{
	struct layer layer;

	make(&layer, T3_TIMED_COMBINE, 2, 2);
	send_rows(&layer, 0, 0, 32);
	assert_int_equal(busy(&layer, 200, 0) - busy(&layer, 100, 0), 16000);
	make(&layer, T3_TIMED_COMBINE, 2, 2);
	send_rows(&layer, 0, 1, 32);
	assert_int_equal(busy(&layer, 200, 0) - busy(&layer, 100, 0), 16000);
	assert_int_equal(busy(&layer, 200, 1), busy(&layer, 100, 1));
}

/* ---------------------------------------------------------------- properties */

static uint64_t draw(struct layer *layer, uint64_t *seed)
{
	uint64_t ranks = 2 + host_below(seed, MAX_RANKS - 1),
		 experts = ranks * (1 + host_below(seed, 4));
	enum t3_timed_way way = (enum t3_timed_way)host_below(seed, 2);
	uint64_t i;

	make(layer, way, ranks, experts);
	layer->setup.workload.columns = 1 + host_below(seed, 200);
	layer->setup.workload.depth = 1 + host_below(seed, 100);
	timed_param(&layer->setup, "memory_gbps", 20 + host_below(seed, 2000));
	timed_param(&layer->setup, "link_gbps", 5 + host_below(seed, 500));
	timed_param(&layer->setup, "queue_entries", 1 + host_below(seed, 64));
	timed_param(&layer->setup, "link_queue_kib", 1 + host_below(seed, 16));
	timed_param(&layer->setup, "collective_units", 1 + host_below(seed, 5));
	timed_param(&layer->setup, "turnaround_ns", host_below(seed, 20));
	for (i = 0; i < ranks * experts; i++)
		layer->rows[i] = host_below(seed, 3) ? (uint32_t)host_below(seed, 40) : 0;
	send_rows(layer, 0, 0, 1);
	return way == T3_TIMED_DISPATCH ? layer->setup.workload.depth
					: layer->setup.workload.columns;
}

/* Rows of this rank's tokens to experts of others, or of others' tokens to its experts. */
static uint64_t rows_of(const struct layer *layer, uint64_t rank, bool tokens)
{
	uint64_t each = layer->routing.experts / layer->setup.workload.ranks, rows = 0, expert,
		 other;

	for (expert = 0; expert < layer->routing.experts; expert++) {
		for (other = 0; other < layer->setup.workload.ranks; other++) {
			bool from = other == rank, to = expert / each == rank;

			if (tokens ? from && !to : to && !from)
				rows += layer->rows[other * layer->routing.experts + expert];
		}
	}
	return rows;
}

static void assert_bytes(const struct layer *layer, const struct outcome *out, uint64_t row)
{
	bool dispatch = layer->routing.way == T3_TIMED_DISPATCH;
	uint64_t rank;

	for (rank = 0; rank < layer->setup.workload.ranks; rank++) {
		const struct t3_timed_counters *c = &out->counters[rank];

		assert_int_equal(c->link_bytes, rows_of(layer, rank, dispatch) * row * 2);
		assert_int_equal(c->received_bytes, rows_of(layer, rank, !dispatch) * row * 2);
		assert_int_equal(c->memory_bytes[T3_TIMED_AG_WRITE], c->received_bytes);
	}
}

TEST_WITH("routed rows: no byte is lost, and budgets change nothing", NULL, seeds_report)
{
	static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3,
							  T3_TIMED_T3_MCA };
	struct outcome out, again;
	struct layer layer;
	uint64_t row, seed, drawn;
	size_t i;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		drawn = seed * 0x9e3779b97f4a7c15ull;
		row = draw(&layer, &drawn);
		for (i = 0; i < 3; i++) {
			out = run(&layer, programs[i]);
			assert_bytes(&layer, &out, row);
			again = run_so(&layer, programs[i], 1 + host_below(&drawn, 9), false);
			assert_memory_equal(&out, &again, sizeof(out));
		}
	}
	trail_expect(0x1da440dcfa74fc9b);
}

/* Latencies that are less than an event takes, and turns that are cut anywhere, too. */
TEST_WITH("routed rows: devices that take turns have the same counters", NULL, seeds_report)
{
	static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3,
							  T3_TIMED_T3_MCA };
	struct outcome out, again;
	struct layer layer;
	uint64_t seed, drawn;
	size_t i;

	for_each_seed(seed, SEEDS)
	{
		drawn = seed * 0x9e3779b97f4a7c15ull;
		draw(&layer, &drawn);
		timed_param(&layer.setup, "link_latency_ns",
			    1 + (host_below(&drawn, 3) ? host_below(&drawn, 2000) : seed % 4));
		for (i = 0; i < 3; i++) {
			out = run(&layer, programs[i]);
			again = run_so(&layer, programs[i], 1 + host_below(&drawn, 2000), true);
			assert_memory_equal(&out, &again, sizeof(out));
		}
	}
}

/* Gives each rank the rows of rank 0, to the experts at the same places after it. */
static void make_alike(struct layer *layer)
{
	uint64_t ranks = layer->setup.workload.ranks, experts = layer->routing.experts, rank, i;

	for (rank = 1; rank < ranks; rank++)
		for (i = 0; i < experts; i++)
			send_rows(layer, rank, (i + rank * (experts / ranks)) % experts,
				  layer->rows[i]);
}

TEST_WITH("routed rows: a mirrored device has the counters of ranks that are alike", NULL,
	  seeds_report)
{
	static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3,
							  T3_TIMED_T3_MCA };
	struct outcome all, one;
	struct layer layer;
	uint64_t seed, drawn, rank;
	size_t i;

	for_each_seed(seed, SEEDS)
	{
		drawn = seed * 0x9e3779b97f4a7c15ull;
		draw(&layer, &drawn);
		make_alike(&layer);
		assert_true(t3_timed_alike(&layer.routing, layer.setup.workload.ranks));
		for (i = 0; i < 3; i++) {
			all = run(&layer, programs[i]);
			layer.setup.mirrored = true;
			one = run(&layer, programs[i]);
			layer.setup.mirrored = false;
			for (rank = 0; rank < layer.setup.workload.ranks; rank++)
				assert_memory_equal(&all.counters[rank], &one.counters[0],
						    sizeof(one.counters[0]));
		}
		rank = host_below(&drawn, layer.setup.workload.ranks);
		i = host_below(&drawn, layer.routing.experts);
		layer.rows[rank * layer.routing.experts + i]++;
		assert_false(t3_timed_alike(&layer.routing, layer.setup.workload.ranks));
	}
}

/*
 * More ranks and messages in flight than a guest may have. Each rank sends a row to the expert of the
 * rank after it, and two to its own.
 */
#define WIDE 72u
TEST("a layer of many ranks is simulated, and ranks that are alike have the same counters")
{
	static uint32_t rows[WIDE * WIDE];
	struct t3_timed_counters all, one;
	struct t3_timed *sim, *mirror;
	struct layer layer;
	uint32_t i;

	make(&layer, T3_TIMED_COMBINE, WIDE, WIDE);
	layer.routing.rows = rows;
	for (i = 0; i < WIDE; i++) {
		rows[i * WIDE + i] = 2;
		rows[i * WIDE + (i + 1) % WIDE] = 1;
	}
	layer.setup.program = T3_TIMED_T3;
	layer.setup.workload.rows = 3 * WIDE;
	timed_param(&layer.setup, "link_latency_ns", 900);
	sim = t3_timed_new(&layer.setup);
	layer.setup.mirrored = true;
	mirror = t3_timed_new(&layer.setup);
	assert_true(sim && mirror);
	while (t3_timed_run_in_turns(sim, 1000) || t3_timed_run(mirror, T3_TIMED_NEVER, 1000))
		;
	t3_timed_counters(mirror, 0, &one);
	assert_true(one.end > 900000);
	for (i = 0; i < WIDE; i++) {
		t3_timed_counters(sim, i, &all);
		assert_memory_equal(&all, &one, sizeof(one));
	}
	t3_timed_free(sim);
	t3_timed_free(mirror);
}

/* ------------------------------------------------------------------- refused */

static void assert_refused(const struct layer *layer, const char *text)
{
	char why[TIMED_WHY] = "";

	assert_false(t3_timed_check(&layer->setup, why, sizeof(why)));
	if (!strstr(why, text))
		fail_msg("'%s' is not in '%s'", text, why);
}

TEST("a routing that does not fit its workload is refused by its field")
{
	char why[TIMED_WHY];
	struct layer layer;

	make(&layer, T3_TIMED_COMBINE, 2, 4);
	send_rows(&layer, 0, 1, 3);
	layer.setup.workload.rows = 3;
	assert_true(t3_timed_check(&layer.setup, why, sizeof(why)));
	layer.setup.workload.rows = 4;
	assert_refused(&layer, "rows is 4, and the routing has 3");
	layer.setup.workload.rows = 3;
	layer.setup.mirrored = true;
	assert_refused(&layer, "a routing takes all devices, unless all ranks are alike");
	layer.setup.mirrored = false;
	layer.setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_GATHER;
	assert_refused(&layer, "a routing needs the collective all-to-all");
	layer.setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	layer.setup.program = T3_TIMED_ALONE;
	assert_refused(&layer, "program alone takes no routing");
	layer.setup.program = T3_TIMED_T3;
	layer.routing.way = (enum t3_timed_way)2;
	assert_refused(&layer, "way 0 or 1");
	layer.routing.way = T3_TIMED_COMBINE;
	layer.routing.experts = 3;
	assert_refused(&layer, "experts is 3, which ranks, 2, must divide");
	layer.routing.experts = 0;
	assert_refused(&layer, "experts is 0");
	layer.routing.experts = 65538;
	assert_refused(&layer, "experts is 65538");
	layer.routing.experts = 4;
	layer.routing.rows = NULL;
	assert_refused(&layer, "a routing has rows");
	assert_null(t3_timed_new(&layer.setup));
}

TEST("a routing of more tiles than a host has memory for is refused")
{
	const uint64_t experts = 65536;
	uint32_t *rows = calloc(2 * experts, sizeof(*rows));
	char why[TIMED_WHY];
	struct layer layer;
	uint64_t i;

	assert_non_null(rows);
	make(&layer, T3_TIMED_COMBINE, 2, experts);
	layer.routing.rows = rows;
	for (i = 0; i < experts; i++)
		rows[i] = 1;
	layer.setup.workload.rows = experts;
	layer.setup.workload.columns = 32;
	layer.setup.workload.depth = 16;
	assert_true(t3_timed_check(&layer.setup, why, sizeof(why)));
	/* A tile row for each expert, of 1024 tiles: as one matrix, it would be a 32nd of them. */
	layer.setup.workload.columns = 32768;
	assert_refused(&layer, "the routing has too many rows");
	layer.setup.workload.columns = 32;
	layer.setup.workload.depth = 1u << 16;
	assert_refused(&layer, "depth is too large");
	rows[experts] = ~0u;
	layer.setup.workload.depth = 16;
	assert_refused(&layer, "rows is 65536, and the routing has 4295032831");
	free(rows);
}

TEST("a layer that is too large is refused by its field and by what it has")
{
	static const uint32_t one_row[WIDE * WIDE] = { 1 };
	struct layer layer;
	uint64_t i;

	make(&layer, T3_TIMED_COMBINE, 2, 2);
	layer.setup.workload.columns = 1 << 14;
	for (i = 0; i < 4; i++)
		layer.rows[i] = 1 << 20;
	layer.setup.workload.rows = sum(&layer);
	assert_refused(&layer, "rows x columns is too large: over 67108864 tracked pieces");
	layer.setup.workload.columns = 1024;
	layer.setup.workload.depth = 1;
	for (i = 0; i < 4; i++)
		layer.rows[i] = 1 << 22;
	layer.setup.workload.rows = sum(&layer);
	assert_refused(&layer, "the routing has too many rows, 16777216: ");
	make(&layer, T3_TIMED_COMBINE, WIDE, WIDE);
	layer.routing.rows = one_row;
	layer.setup.workload.rows = 1;
	timed_param(&layer.setup, "link_latency_ns", 10000);
	assert_refused(&layer, "link_latency_ns is too large: over 33554432 messages in flight");
	timed_param(&layer.setup, "link_latency_ns", 500);
	timed_param(&layer.setup, "cache_kib", 1048576);
	assert_refused(&layer, "cache_kib is too large: over 2097152 lines");
}
