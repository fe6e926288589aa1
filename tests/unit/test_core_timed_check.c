/* SPDX-License-Identifier: MIT */
/* What the timed model refuses, and that each refusal names what it is about. */
#include "host.h"
#include "seeds.h"
#include "timed.h"
#include "trail.h"
#include "test.h"

static void refused(const struct t3_timed_setup *setup, const char *what)
{
	char why[TIMED_WHY] = "";

	assert_false(t3_timed_check(setup, why, sizeof(why)));
	if (!strstr(why, what))
		fail_msg("'%s' does not name '%s'", why, what);
	assert_null(t3_timed_new(setup));
}

static void accepted(const struct t3_timed_setup *setup)
{
	char why[TIMED_WHY] = "";

	if (!t3_timed_check(setup, why, sizeof(why)))
		fail_msg("refused: %s", why);
}

/* Each parameter's bounds, one below and one above. */
TEST("each parameter has its bounds")
{
	size_t i;

	for (i = 0; i < t3_timed_param_count; i++) {
		const struct t3_timed_param *p = &t3_timed_params[i];
		struct t3_timed_setup setup = timed_published(4096, 4096, 1, 2);

		assert_in_range(p->value, p->min, p->max);
		assert_in_range(p->value, p->low, p->high);
		assert_in_range(p->low, p->min, p->max);
		assert_in_range(p->high, p->min, p->max);
		assert_ptr_equal(t3_timed_param_find(p->name), p);
		assert_int_equal(t3_timed_param_get(&setup.params, p), p->value);
		timed_param(&setup, p->name, p->max + 1);
		refused(&setup, p->name);
		timed_param(&setup, p->name, ~(uint64_t)0);
		refused(&setup, p->name);
		if (p->min) {
			timed_param(&setup, p->name, p->min - 1);
			refused(&setup, p->name);
		}
	}
	assert_null(t3_timed_param_find("nothing"));
	assert_null(t3_timed_param_find("tracker_")); /* that names begin so is not enough */
	assert_null(t3_timed_param_find(""));
}

TEST("each wrong workload is refused by name")
{
	struct t3_timed_setup good = timed_small(256, 64, 64, 4), bad;

	accepted(&good);
/* clang-format off */
#define REFUSED(field, value, what)           \
	do {                                  \
		bad = good;                   \
		bad.workload.field = (value); \
		refused(&bad, what);          \
	} while (0)
	REFUSED(rows, 0, "rows");
	REFUSED(rows, ~(uint64_t)0, "rows");
	REFUSED(columns, 0, "columns");
	REFUSED(columns, 1ull << 40, "columns");
	REFUSED(depth, 0, "depth");
	REFUSED(depth, 1ull << 63, "depth");
	REFUSED(ranks, 0, "ranks");
	REFUSED(ranks, 1, "ranks");
	REFUSED(ranks, 513, "ranks");
	REFUSED(chunks, (enum t3_timed_chunks)3, "chunks");
	REFUSED(element_bytes, 0, "element_bytes");
	REFUSED(element_bytes, 3, "element_bytes");
	REFUSED(element_bytes, 16, "element_bytes");
#undef REFUSED
	/* clang-format on */
	bad = good;
	bad.program = T3_TIMED_NATIVE_PROGRAMS;
	refused(&bad, "program");
}

/* Nodes have as many ranks each. What one program or machine lacks is said. */
TEST("nodes have as many ranks each")
{
	struct t3_timed_setup setup = timed_small(256, 64, 64, 12);
	uint64_t nodes;

	for (nodes = 0; nodes <= 24; nodes++) {
		setup.workload.nodes = nodes;
		if (nodes && 12 % nodes)
			refused(&setup, "nodes");
		else
			accepted(&setup);
	}
	setup.workload.nodes = ~(uint64_t)0;
	refused(&setup, "nodes");
	setup.workload.nodes = 2;
	setup.program = T3_TIMED_T3_MCA_AG;
	refused(&setup, "t3-mca-ag takes one node");
	setup.program = T3_TIMED_ALONE;
	accepted(&setup);
	setup.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	accepted(&setup);
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_GATHER;
	refused(&setup, "collective all-gather takes one node");
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	refused(&setup, "collective all-to-all takes one node");
	setup.workload.nodes = 1;
	accepted(&setup);
	setup = timed_published(4096, 4096, 1, 512);
	setup.workload.nodes = 64;
	setup.mirrored = false;
	timed_param(&setup, "cache_kib", 512);
	accepted(&setup);
	timed_param(&setup, "node_link_latency_ns", 10000);
	refused(&setup, "node_link_latency_ns");
}

TEST("shared units need some left")
{
	struct t3_timed_setup setup = timed_small(256, 64, 64, 4);

	setup.program = T3_TIMED_SHARED;
	refused(&setup, "collective_units below compute_units, and has 80 of 6");
	timed_param(&setup, "collective_units", 6);
	refused(&setup, "collective_units");
	timed_param(&setup, "collective_units", 5);
	accepted(&setup);
}

/* Written down here anew: what the table in SPEC.md 8.1 says. */
TEST("each program has the collectives of the table")
{
	static const char *const has[T3_TIMED_NATIVE_PROGRAMS] = {
		[T3_TIMED_SEQUENTIAL] = "yyyy",	  [T3_TIMED_RS_NMC] = "yynn",
		[T3_TIMED_T3] = "yyyy",		  [T3_TIMED_T3_MCA] = "yyyy",
		[T3_TIMED_T3_MCA_AG] = "ynnn",	  [T3_TIMED_DIRECT] = "yynn",
		[T3_TIMED_ALONE] = "yyyy",	  [T3_TIMED_SHARED] = "yynn",
		[T3_TIMED_T3_MCA_TURNS] = "yynn", [T3_TIMED_SWITCH] = "yyyn",
		[T3_TIMED_T3_SWITCH] = "yyyn",
	};
	struct t3_timed_setup setup = timed_small(256, 64, 64, 4);
	int program, collective;

	for (program = 0; program < T3_TIMED_NATIVE_PROGRAMS; program++)
		for (collective = 0; collective < T3_TIMED_COLLECTIVES; collective++) {
			setup.workload.collective = (enum t3_timed_collective)collective;
			assert_int_equal(timed_program(&setup, program),
					 has[program][collective] == 'y');
			if (has[program][collective] == 'n')
				refused(&setup, t3_timed_program_name(setup.program));
		}
	setup.program = T3_TIMED_DIRECT;
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	refused(&setup, "collective is all-to-all, and program direct runs all-reduce and "
			"reduce-scatter only");
	setup.workload.collective = T3_TIMED_COLLECTIVES;
	refused(&setup, "collective is 4 and must be 0 to 3");
}

/* Each peer sends one chunk, which bounds its messages in flight, whatever the latency. */
TEST("an all-to-all has one chunk in flight for each peer")
{
	struct t3_timed_setup setup = timed_published(4096, 2048, 4, 32);

	setup.mirrored = false;
	setup.program = T3_TIMED_ALONE;
	timed_param(&setup, "link_latency_ns", 10000);
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	accepted(&setup); /* 128 pieces of 4 KiB */
	setup.program = T3_TIMED_DIRECT;
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_REDUCE;
	refused(&setup, "link_latency_ns");
	setup.program = T3_TIMED_T3;
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	accepted(&setup);
	setup.workload.ranks = 512;
	setup.workload.rows = 1 << 14;
	refused(&setup, "rows x columns");
}

/* What an all-gather computes is a chunk, so its GEMM may be as deep as the ranks are many. */
TEST("an all-gather computes its own chunk alone")
{
	struct t3_timed_setup setup = timed_published(1 << 16, 1 << 16, 1, 128);

	setup.workload.depth = 1 << 18;
	refused(&setup, "loads");
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_GATHER;
	accepted(&setup);
}

/* The time is that of what a device computes: a chunk takes less than half an hour. */
TEST("the time limit is for a device's own chunk")
{
	struct t3_timed_setup setup = timed_published(4096, 4096, 1, 32);

	timed_param(&setup, "clock_mhz", 1);
	timed_param(&setup, "flops_per_clock", 1);
	refused(&setup, "half an hour");
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_GATHER;
	accepted(&setup);
}

static void with(const char *name, uint64_t value, const char *what)
{
	struct t3_timed_setup setup = timed_small(256, 64, 64, 4);

	timed_param(&setup, name, value);
	refused(&setup, what);
}

TEST("parameters that contradict each other are refused")
{
	struct t3_timed_setup setup;

	with("tracker_ways", 3, "tracker_ways");
	with("intensity_low", 60, "intensity");
	with("intensity_low", 40,
	     "intensity"); /* above the middle, 25, and below the high one, 50 */
	setup = timed_small(256, 64, 64, 4);
	timed_param(&setup, "request_bytes", 64); /* a row of 32 columns of f16 */
	accepted(&setup);
	setup.workload.element_bytes = 4;
	refused(&setup, "request_bytes");
}

/* Sizes that would take all memory, or overflow a product. */
TEST("sizes that overflow are refused")
{
	struct t3_timed_setup setup = timed_published(1 << 24, 1 << 24, 1, 32);

	setup.workload.depth = 32;
	refused(&setup, "rows x columns");
	setup = timed_published(4096, 4096, 1, 32);
	setup.workload.depth = 1 << 24;
	timed_param(&setup, "k_block", 1);
	refused(&setup, "depth");
	setup = timed_published(4096, 1 << 20, 1, 32);
	accepted(&setup);
	setup.mirrored = false;
	refused(&setup, "rows x columns");
	setup = timed_published(4096, 4096, 1, 2);
	setup.workload.depth = 1 << 20;
	timed_param(&setup, "clock_mhz", 1);
	timed_param(&setup, "flops_per_clock", 1);
	timed_param(&setup, "compute_percent", 1);
	refused(&setup, "half an hour");
	setup = timed_published(1 << 16, 1 << 16, 1, 2);
	setup.workload.depth = 1 << 15;
	timed_param(&setup, "k_block", 1);
	timed_param(&setup, "request_bytes", 256);
	refused(&setup, "too large");
}

/* What a host would do at once, while others wait for it. */
TEST("bursts that would stall a host are refused")
{
	struct t3_timed_setup setup = timed_published(4096, 8192, 4, 2);

	timed_param(&setup, "tile_rows", 4096);
	timed_param(&setup, "k_block", 4096);
	refused(&setup, "k_block");
	setup = timed_published(4096, 8192, 4, 2);
	timed_param(&setup, "compute_units", 1024);
	timed_param(&setup, "groups_per_unit", 16);
	timed_param(&setup, "request_bytes", 256);
	timed_param(&setup, "k_block", 128);
	refused(&setup, "compute_units");
	setup = timed_published(4096, 8192, 4, 2);
	timed_param(&setup, "cache_kib", 1 << 20);
	timed_param(&setup, "request_bytes", 2048);
	refused(&setup, "cache_kib");
	setup = timed_published(4096, 8192, 4, 32);
	accepted(&setup);
	setup.program = T3_TIMED_DIRECT;
	setup.mirrored = false;
	timed_param(&setup, "link_latency_ns", 10000);
	refused(&setup, "link_latency_ns");
	setup = timed_published(4096, 8192, 4, 2);
	timed_param(&setup, "copy_unit_kib", 800);
	accepted(&setup);
	timed_param(&setup, "request_bytes", 512);
	timed_param(&setup, "tile_columns", 64);
	refused(&setup, "copy_unit_kib");
}

/* Few events that make many requests are as much as many that make none. */
TEST("the amount of work is limited")
{
	struct t3_timed_setup setup = timed_published(4096, 8192, 4, 2);
	struct t3_timed *sim;
	uint64_t ran;

	timed_param(&setup, "request_bytes", 256);
	timed_param(&setup, "k_block", 128);
	accepted(&setup);
	sim = t3_timed_new(&setup);
	assert_non_null(sim);
	t3_timed_run(sim, T3_TIMED_NEVER, 100000);
	ran = t3_timed_run(sim, T3_TIMED_NEVER, 1024);
	assert_in_range(ran, 1, 1023);
	t3_timed_free(sim);
}

/* The smallest of all, and the sentence is cut where there is no room for it. */
TEST("the smallest run is accepted")
{
	struct t3_timed_setup setup = timed_small(2, 1, 1, 2);
	char why[8];
	int program;

	timed_param(&setup, "tile_rows", 1);
	timed_param(&setup, "tile_columns", 1);
	timed_param(&setup, "k_block", 1);
	for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
		struct t3_timed_counters counters;

		if (!timed_program(&setup, program))
			continue;
		counters = timed_run_to_end(&setup);
		timed_assert_conserved(&setup, &counters);
	}
	setup.workload.rows = 0;
	assert_false(t3_timed_check(&setup, why, sizeof(why)));
	assert_string_equal(why, "rows (t");
}

/* ------------------------------------------------------------- where limits are */

/* A refusal as far as its first number, which may be the value that is tried. */
static void verdict(const struct t3_timed_setup *setup, char *why)
{
	memset(why, 0, TIMED_WHY);
	if (!t3_timed_check(setup, why, TIMED_WHY))
		why[strcspn(why, "0123456789")] = 0;
}

/* Halves the range between a good value and another one, down to two values next to each other. */
static void find_limit(struct t3_timed_setup *setup, uint64_t *value, uint64_t bad)
{
	char why[TIMED_WHY], last[TIMED_WHY] = "";
	uint64_t good = *value, before = good;

	while (good + 1 < bad || bad + 1 < good) {
		*value = good < bad ? good + (bad - good) / 2 : bad + (good - bad) / 2;
		verdict(setup, why);
		if (why[0]) {
			bad = *value;
			memcpy(last, why, sizeof(last));
		} else {
			good = *value;
		}
	}
	*value = before;
	TRAIL(good);
	trail_text(last);
}

/* Any value, mostly of few digits, if the setup stays good with it. */
static void vary(struct t3_timed_setup *setup, uint64_t *value, uint64_t low, uint64_t high,
		 uint64_t *seed)
{
	uint64_t before = *value, bits = host_random(seed);
	char why[TIMED_WHY];

	*value = low + (bits >> host_below(seed, 64)) % (high - low + 1);
	verdict(setup, why);
	if (why[0])
		*value = before;
}

static uint64_t *parameter(struct t3_timed_setup *setup, const struct t3_timed_param *p)
{
	return (uint64_t *)((char *)&setup->params + p->offset);
}

/* Counts of 8 experts. */
static void route(struct t3_timed_setup *setup, struct t3_timed_routing *routing, uint32_t *rows,
		  uint64_t *seed)
{
	struct t3_timed_workload *w = &setup->workload;
	uint32_t i;

	*routing = (struct t3_timed_routing){ T3_TIMED_DISPATCH, 8, rows };
	routing->way = (enum t3_timed_way)host_below(seed, 2);
	for (w->rows = 0, i = 0; i < 8 * w->ranks; i++)
		w->rows += rows[i] = host_below(seed, 1u << host_below(seed, 12));
	setup->routing = routing;
	setup->mirrored = false;
}

static void limits_of(uint64_t seed)
{
	struct t3_timed_setup setup = timed_published(1024, 2048, 1, 2u << host_below(&seed, 3));
	struct t3_timed_workload *w = &setup.workload;
	struct t3_timed_routing routing;
	uint32_t rows[64];
	size_t i;

	setup.program = (enum t3_timed_program)host_below(&seed, T3_TIMED_NATIVE_PROGRAMS);
	do {
		w->collective = (enum t3_timed_collective)host_below(&seed, T3_TIMED_COLLECTIVES);
	} while (!t3_timed_runs(setup.program, w->collective));
	setup.guest = host_below(&seed, 2);
	if (w->collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL && host_below(&seed, 4))
		route(&setup, &routing, rows, &seed);
	for (i = 0; i < t3_timed_param_count; i++)
		vary(&setup, parameter(&setup, &t3_timed_params[i]), t3_timed_params[i].min,
		     t3_timed_params[i].max, &seed);
	vary(&setup, &w->element_bytes, 1, 8, &seed);
	vary(&setup, &w->columns, 1, 1u << 20, &seed);
	vary(&setup, &w->depth, 1, 1u << 20, &seed);
	vary(&setup, &w->nodes, 0, 8, &seed);
	if (!setup.routing)
		vary(&setup, &w->rows, 1, 1u << 20, &seed);
	for (i = 0; i < t3_timed_param_count; i++) {
		const struct t3_timed_param *p = &t3_timed_params[i];

		find_limit(&setup, parameter(&setup, p), p->min - 1);
		find_limit(&setup, parameter(&setup, p), p->max + 1);
	}
	find_limit(&setup, &w->columns, 1ull << 40);
	find_limit(&setup, &w->depth, 1ull << 40);
	find_limit(&setup, &w->rows, 1ull << 40);
	find_limit(&setup, &w->ranks, T3_TIMED_MAX_RANKS + 1);
	find_limit(&setup, &w->nodes, T3_TIMED_MAX_RANKS + 1);
}

/* Each build lets a device compute the same runs. */
TEST_WITH("limits are where they were", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, 400) limits_of(seed * 0x9e3779b97f4a7c15ull);
	trail_expect(0x07b1044b2361bb8c);
}
