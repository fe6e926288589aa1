/* SPDX-License-Identifier: MIT */
/* The timed model: arithmetic that must hold exactly, limits, and what faster parts do. */
#include "timed.h"
#include "test.h"

#define US 1000000u /* ps */

static struct t3_timed_counters run(struct t3_timed_setup setup, enum t3_timed_program program)
{
	struct t3_timed_counters counters;

	setup.program = program;
	counters = timed_run_to_end(&setup);
	timed_assert_conserved(&setup, &counters);
	return counters;
}

/* Reads (2N-1)/(N-2) fewer, GEMM's and reduce-scatter's writes (N-1)/N of the baseline's. */
TEST("reads and writes have the published ratios")
{
	uint64_t n;

	for (n = 8; n <= 16; n *= 2) {
		struct t3_timed_setup setup = timed_published(3072, 2048, 1, n);
		struct t3_timed_counters s = run(setup, T3_TIMED_SEQUENTIAL);
		struct t3_timed_counters t = run(setup, T3_TIMED_T3_MCA);
		uint64_t base =
			s.memory_bytes[T3_TIMED_GEMM_WRITE] + s.memory_bytes[T3_TIMED_RS_WRITE];
		uint64_t fused =
			t.memory_bytes[T3_TIMED_GEMM_WRITE] + t.memory_bytes[T3_TIMED_RS_WRITE];

		assert_int_equal(s.memory_bytes[T3_TIMED_RS_READ] * (n - 2),
				 t.memory_bytes[T3_TIMED_RS_READ] * (2 * n - 1));
		assert_int_equal(base * (n - 1), fused * n);
	}
}

/*
 * Literally, so that no host or compiler has others. Who changes the model on purpose
 * changes these and says why.
 */
TEST("the counters are the same everywhere")
{
	/* clang-format off */
	static const uint64_t end[T3_TIMED_COLLECTIVES][T3_TIMED_PROGRAMS] = {
		{ 227958248, 78486216, 188062339, 170849073, 165784073, 163450500, 161822432,
		  195754509 },
		{ 149496032, 78486216, 109600123, 92386857, 0, 84977284, 83360216, 117281293 },
		{ 90404972, 0, 84360616, 85642160, 0, 0, 78458216, 0 },
		{ 140256032, 0, 84945284, 84945284, 0, 0, 74120216, 0 },
	};
	/* clang-format on */
	int collective, program;

	for (collective = 0; collective < T3_TIMED_COLLECTIVES; collective++)
		for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
			struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);

			setup.workload.collective = (enum t3_timed_collective)collective;
			/* 0: the program has no such collective */
			assert_int_equal(timed_program(&setup, program),
					 end[collective][program] != 0);
			if (end[collective][program])
				assert_int_equal(run(setup, setup.program).end,
						 end[collective][program]);
		}
}

/*
 * With each collective that the program has: of all devices, what it is of the mirrored one.
 * Returns the number of collectives.
 */
static int run_collectives(struct t3_timed_setup setup, int program, bool on_all)
{
	struct t3_timed_counters mirrored, all;
	int collective, ran = 0;

	for (collective = 0; collective < T3_TIMED_COLLECTIVES; collective++) {
		setup.workload.collective = (enum t3_timed_collective)collective;
		setup.mirrored = true;
		if (!timed_program(&setup, program))
			continue;
		ran++;
		mirrored = run(setup, setup.program);
		if (!on_all)
			continue;
		setup.mirrored = false;
		all = run(setup, setup.program);
		assert_memory_equal(&mirrored, &all, sizeof(all));
	}
	return ran;
}

/* All programs, ragged in rows, columns and depth. */
TEST("bytes are conserved by all programs")
{
	static const uint64_t shapes[][4] = {
		{ 256, 128, 64, 2 }, { 400, 100, 50, 4 }, { 297, 33, 17, 3 }, { 1024, 32, 16, 32 },
		{ 7, 500, 5, 6 },    { 130, 1, 200, 12 }, { 3, 3, 3, 64 },
	};
	size_t i;
	int program;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (program = 0; program < T3_TIMED_PROGRAMS; program++)
			run_collectives(timed_small(shapes[i][0], shapes[i][1], shapes[i][2],
						    shapes[i][3]),
					program, true);
}

/* 512 ranks, mirrored; and all of them, with chunks of which each link has one message. */
TEST("many ranks run in each program")
{
	struct t3_timed_setup setup = timed_small(512, 32, 16, 512), large;
	int program;

	run_collectives(setup, T3_TIMED_ALONE, true);
	large = timed_published(4096, 4096, 1, 512);
	for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
		large.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
		if (!t3_timed_runs((enum t3_timed_program)program, large.workload.collective))
			large.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
		if (!t3_timed_runs((enum t3_timed_program)program, large.workload.collective))
			large.workload.collective = T3_TIMED_COLLECTIVE_ALL_REDUCE;
		assert_true(timed_program(&large, program));
		run(large, large.program);
	}
}

/* Alone, a collective takes as long as after the GEMM. */
static void check_alone(struct t3_timed_setup setup, struct t3_timed_counters *s,
			struct t3_timed_counters *alone)
{
	uint64_t after;

	*s = run(setup, T3_TIMED_SEQUENTIAL);
	*alone = run(setup, T3_TIMED_ALONE);
	after = s->end - s->phase_end[T3_TIMED_GEMM];
	assert_in_range(alone->end, after - US / 20, after + US / 20);
}

/* Alone it takes as long as after a GEMM, but for what the memory's queues still hold there. */
TEST("a collective alone takes as long as after a GEMM")
{
	struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);
	int collective;

	for (collective = 0; collective < T3_TIMED_COLLECTIVES; collective++) {
		struct t3_timed_counters s, alone;

		setup.workload.collective = (enum t3_timed_collective)collective;
		check_alone(setup, &s, &alone);
	}
}

/*
 * With memory and loads that cost nothing: a ring's N - 1 chunks follow each other, each after the
 * latency. An all-to-all's leave one after the other.
 */
TEST("a collective alone takes what its links do")
{
	static const uint64_t parts[T3_TIMED_COLLECTIVES] = { 2, 1, 1, 1 };
	struct t3_timed_setup setup = timed_published(4096, 4096, 1, 8);
	uint64_t chunk = 4096ull / 8 * 4096 * 2 * 1000 / 150; /* ps */
	int collective;

	timed_param(&setup, "memory_gbps", 100000);
	timed_param(&setup, "memory_latency_ns", 0);
	timed_param(&setup, "copy_unit_gbps", 100000);
	timed_param(&setup, "turnaround_ns", 0);
	for (collective = 0; collective < T3_TIMED_COLLECTIVES; collective++) {
		bool ring = collective != T3_TIMED_COLLECTIVE_ALL_TO_ALL;
		uint64_t least = parts[collective] * (7 * chunk + (ring ? 7ull : 1ull) * (US / 2));
		uint64_t end;

		setup.workload.collective = (enum t3_timed_collective)collective;
		end = run(setup, T3_TIMED_ALONE).end;
		assert_in_range(end, least, least + 2 * US);
	}
}

/* The own store of an all-gather is no update: it takes the time of a write. */
TEST("a plain store takes the time of a write")
{
	struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);
	struct t3_timed_counters cheap, dear;
	int collective;

	for (collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER; collective < T3_TIMED_COLLECTIVES;
	     collective++) {
		setup.workload.collective = (enum t3_timed_collective)collective;
		timed_param(&setup, "update_percent", 100);
		cheap = run(setup, T3_TIMED_T3_MCA);
		timed_param(&setup, "update_percent", 400);
		dear = run(setup, T3_TIMED_T3_MCA);
		if (t3_timed_reduces(setup.workload.collective))
			assert_true(dear.memory_busy > cheap.memory_busy);
		else
			assert_memory_equal(&dear, &cheap, sizeof(cheap));
	}
}

/* Only a triggered collective has triggers, and only what is tracked takes entries. */
TEST("only a triggered collective has triggers")
{
	struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);
	struct t3_timed_counters c;

	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_GATHER;
	c = run(setup, T3_TIMED_T3);
	assert_true(c.triggers);
	assert_int_equal(c.tracker_allocs, c.groups);
	assert_true(c.phase_end[T3_TIMED_ALL_GATHER] < run(setup, T3_TIMED_SEQUENTIAL).end);
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	c = run(setup, T3_TIMED_T3);
	assert_int_equal(c.triggers, 0);
	assert_int_equal(c.tracker_updates, 0);
	assert_int_equal(c.tracker_allocs, 0);
	setup.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	c = run(setup, T3_TIMED_T3);
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_REDUCE;
	assert_int_equal(c.triggers, run(setup, T3_TIMED_T3).triggers);
}

/* ranks, nodes. With one rank in a node there is no ring in it. */
TEST("groups of nodes conserve bytes")
{
	static const uint64_t groups[][2] = { { 4, 2 }, { 6, 3 }, { 6, 2 },    { 8, 2 },
					      { 8, 4 }, { 3, 3 }, { 512, 64 }, { 512, 512 } };
	size_t i;
	int program, ran = 0;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
			struct t3_timed_setup setup = timed_small(130, 70, 40, groups[i][0]);

			setup.workload.nodes = groups[i][1];
			ran += run_collectives(setup, program, groups[i][0] <= 8);
		}
	/* all but T3_MCA_AG, with all-reduce and reduce-scatter */
	assert_int_equal(ran, 8 * 2 * (T3_TIMED_PROGRAMS - 1));
}

/* Alone over nodes it takes as long as after a GEMM, but for what memory's queues still hold. */
TEST("a collective alone over nodes takes as long as after a GEMM")
{
	struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);
	int collective;

	setup.workload.nodes = 2;
	for (collective = 0; t3_timed_reduces((enum t3_timed_collective)collective); collective++) {
		struct t3_timed_counters s, alone;

		setup.workload.collective = (enum t3_timed_collective)collective;
		check_alone(setup, &s, &alone);
		assert_int_equal(alone.node_link_bytes, s.node_link_bytes);
	}
}

/* One node is none. */
TEST("one node is the same as none")
{
	struct t3_timed_setup setup = timed_small(130, 70, 40, 4);
	struct t3_timed_counters none = run(setup, T3_TIMED_T3_MCA), one;

	setup.workload.nodes = 1;
	one = run(setup, T3_TIMED_T3_MCA);
	assert_memory_equal(&none, &one, sizeof(one));
}

/* Over nodes, a slow link bounds both collectives, and each step waits for its latency. */
TEST("a slow link between nodes bounds both collectives")
{
	struct t3_timed_setup setup = timed_published(4096, 4096, 1, 16);
	uint64_t part = 4096ull * 4096 / 4 / 4 * 2 * 1000 / 25, took; /* ps */
	struct t3_timed_counters c;

	setup.workload.nodes = 4;
	c = run(setup, T3_TIMED_T3_MCA);
	took = c.phase_end[T3_TIMED_NODE_ALL_GATHER] - c.phase_end[T3_TIMED_NODE_REDUCE_SCATTER];
	assert_true(took >= 3 * (part + 2 * US));
	assert_true(took <= 3 * (part + 3 * US));
	took = c.phase_end[T3_TIMED_NODE_REDUCE_SCATTER] - c.phase_end[T3_TIMED_GEMM];
	assert_true(took >= 3 * (part + 2 * US));
	assert_true(took <= 3 * (part + 3 * US));
}

/* ------------------------------------------------------------- compute units */

/* Units that load faster than memory gives change nothing; slower ones bound each step. */
TEST("slow units bound each step")
{
	struct t3_timed_setup setup = timed_published(2048, 4096, 2, 4);
	struct t3_timed_counters usual = run(setup, T3_TIMED_SEQUENTIAL), c;
	uint64_t chunk = 2048ull * 4096 / 4 * 2, scatter, gather;

	timed_param(&setup, "copy_unit_gbps", 100000);
	c = run(setup, T3_TIMED_SEQUENTIAL);
	assert_memory_equal(&usual, &c, sizeof(c));
	timed_param(&setup, "copy_unit_gbps", 1); /* 80 GB/s */
	c = run(setup, T3_TIMED_SEQUENTIAL);
	scatter = c.phase_end[T3_TIMED_REDUCE_SCATTER] - c.phase_end[T3_TIMED_GEMM];
	gather = c.end - c.phase_end[T3_TIMED_REDUCE_SCATTER];
	/* 1 + 2 + 2 + 2 loads of a chunk, and 3; but a step's first piece does not wait */
	assert_in_range(scatter, 7 * (chunk - 8192) * 1000 / 80, 7 * (chunk * 1000 / 80 + 2 * US));
	assert_in_range(gather, 3 * (chunk - 8192) * 1000 / 80, 3 * (chunk * 1000 / 80 + 2 * US));
}

/* The GEMM beside a reduce-scatter: each is slower than alone with the same units. */
TEST("sharing units slows both sides")
{
	struct t3_timed_setup setup = timed_published(4096, 4096, 4, 8);
	struct t3_timed_counters both, apart;
	uint64_t gemm, scatter, after;

	timed_param(&setup, "collective_units", 16);
	both = run(setup, T3_TIMED_SHARED);
	apart = run(setup, T3_TIMED_SEQUENTIAL);
	scatter = apart.phase_end[T3_TIMED_REDUCE_SCATTER] - apart.phase_end[T3_TIMED_GEMM];
	assert_true(both.phase_end[T3_TIMED_REDUCE_SCATTER] > scatter + scatter / 20);
	after = both.phase_end[T3_TIMED_GEMM];
	if (after < both.phase_end[T3_TIMED_REDUCE_SCATTER])
		after = both.phase_end[T3_TIMED_REDUCE_SCATTER];
	timed_param(&setup, "compute_units", 64);
	gemm = run(setup, T3_TIMED_SEQUENTIAL).phase_end[T3_TIMED_GEMM];
	assert_true(both.phase_end[T3_TIMED_GEMM] > gemm + gemm / 100);
	assert_true(both.end < apart.end);
	/* then all units gather */
	setup = timed_published(4096, 4096, 4, 8);
	apart = run(setup, T3_TIMED_SEQUENTIAL);
	assert_in_range(both.end - after, apart.end - apart.phase_end[T3_TIMED_REDUCE_SCATTER] - US,
			apart.end - apart.phase_end[T3_TIMED_REDUCE_SCATTER] + US);
}

/* All units gather, also where the collective's own would load slower than the link sends. */
TEST("all units gather at the end")
{
	struct t3_timed_setup setup = timed_published(2048, 4096, 2, 4);
	uint64_t chunk = 2048ull * 4096 / 4 * 2, gather;
	struct t3_timed_counters c;

	timed_param(&setup, "copy_unit_gbps", 1); /* 80 GB/s of all, 16 GB/s of its own */
	timed_param(&setup, "collective_units", 16);
	c = run(setup, T3_TIMED_SHARED);
	gather = c.end - c.phase_end[T3_TIMED_REDUCE_SCATTER];
	assert_true(c.phase_end[T3_TIMED_GEMM] <= c.phase_end[T3_TIMED_REDUCE_SCATTER]);
	assert_in_range(gather, 3 * (chunk - 8192) * 1000 / 80, 3 * (chunk * 1000 / 80 + 2 * US));
}

/* More units for the collective: it is faster, and the GEMM slower. */
TEST("more units speed up the collective")
{
	static const uint64_t units[] = { 4, 8, 16, 40 };
	struct t3_timed_setup setup = timed_published(4096, 8192, 4, 8);
	struct t3_timed_counters last = { 0 }, c;
	size_t i;

	for (i = 0; i < 4; i++) {
		timed_param(&setup, "collective_units", units[i]);
		c = run(setup, T3_TIMED_SHARED);
		if (i) {
			assert_true(c.phase_end[T3_TIMED_GEMM] > last.phase_end[T3_TIMED_GEMM]);
			assert_true(c.phase_end[T3_TIMED_REDUCE_SCATTER] <
				    last.phase_end[T3_TIMED_REDUCE_SCATTER]);
		}
		last = c;
	}
}

/* With memory and cache that cost nothing, a GEMM takes what its steps do. */
TEST("a GEMM bound by computing takes what its steps do")
{
	struct t3_timed_setup setup = timed_small(192, 32, 1600, 2);
	struct t3_timed_counters c;
	/* 6 tiles on 6 units, 100 steps of 2 x 32 x 32 x 16 FLOP */
	uint64_t step = 2ull * 32 * 32 * 16 * 1000000 / 1400 / 1024 * 100 / 90;

	timed_param(&setup, "memory_gbps", 100000);
	timed_param(&setup, "cache_gbps", 100000);
	timed_param(&setup, "turnaround_ns", 0);
	timed_param(&setup, "memory_latency_ns", 0);
	timed_param(&setup, "cache_latency_ns", 0);
	c = run(setup, T3_TIMED_SEQUENTIAL);
	assert_true(c.phase_end[T3_TIMED_GEMM] >= 100 * step);
	assert_true(c.phase_end[T3_TIMED_GEMM] <= 101 * step + US / 10);
	assert_in_range(c.compute_busy, 600 * step, 600 * (step + 2));
}

/* A ring's collective is N - 1 chunks on the link, each after the latency. */
TEST("a ring bound by its link takes what its chunks do")
{
	struct t3_timed_setup setup = timed_published(4096, 4096, 1, 8);
	struct t3_timed_counters c = run(setup, T3_TIMED_SEQUENTIAL);
	uint64_t chunk = 4096ull / 8 * 4096 * 2 * 1000 / 150; /* ps */
	uint64_t took = c.end - c.phase_end[T3_TIMED_REDUCE_SCATTER];

	assert_true(took >= 7 * (chunk + US / 2));
	assert_true(took <= 7 * (chunk + US + US / 2));
	assert_true(c.link_busy >= 2 * 7 * chunk);
	assert_true(c.link_busy <= 2 * 7 * (chunk + US / 10));
}

/* Phases that follow each other use all that the counters have, and none longer than it lasts. */
TEST("the use of phases adds up to the counters")
{
	struct t3_timed_setup setup = timed_small(192, 128, 64, 4);
	int program;

	for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
		struct t3_timed_use sum = { 0 }, use;
		struct t3_timed_counters c;
		struct t3_timed *sim;
		uint64_t start = 0, took;
		int phase;

		if (!timed_program(&setup, program) || program == T3_TIMED_SHARED)
			continue;
		sim = t3_timed_new(&setup);
		assert_non_null(sim);
		while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
			;
		t3_timed_counters(sim, 0, &c);
		for (phase = 0; phase < T3_TIMED_PHASES; phase++) {
			t3_timed_phase_use(sim, 0, (enum t3_timed_phase)phase, &use);
			took = c.phase_end[phase] ? c.phase_end[phase] - start : 0;
			assert_true(use.compute <= took * 6 && use.memory <= took);
			assert_true(use.cache <= took && use.link <= took);
			start += took;
			sum.compute += use.compute;
			sum.memory += use.memory;
			sum.link += use.link;
			assert_int_equal(use.node_link, 0);
			assert_true(phase == T3_TIMED_GEMM ? !use.cache == !c.groups : !use.cache);
		}
		assert_int_equal(sum.compute, c.compute_busy);
		assert_int_equal(sum.memory, c.memory_busy);
		assert_int_equal(sum.link, c.link_busy);
		t3_timed_free(sim);
	}
}

/* Six tiles load 32 rows of A and 32 columns of B in each step, and the baseline stores them. */
TEST("the cache is in use for all that it moves")
{
	struct t3_timed_setup setup = timed_small(192, 32, 1600, 2);
	uint64_t bytes = 6ull * (64 * 1600 + 32 * 32) * 2;
	struct t3_timed_use use;
	struct t3_timed *sim;

	timed_param(&setup, "cache_gbps", 1);
	setup.program = T3_TIMED_SEQUENTIAL;
	sim = t3_timed_new(&setup);
	assert_non_null(sim);
	while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
		;
	t3_timed_phase_use(sim, 0, T3_TIMED_GEMM, &use);
	/* The last tiles may be in memory before they have left the cache's path. */
	assert_in_range(use.cache, (bytes - 6 * 32 * 32 * 2) * 1000, bytes * 1000 + bytes);
	t3_timed_free(sim);
}

static uint64_t end_with(const char *name, uint64_t value, enum t3_timed_program program)
{
	struct t3_timed_setup setup = timed_published(2048, 4096, 2, 4);

	timed_param(&setup, name, value);
	return timed_program(&setup, program) ? run(setup, program).end : 0;
}

/* From the worst to the best: each is at most 2 % over the one before, the last is faster. */
static void assert_helps(const char *name, const uint64_t *values, size_t count)
{
	int program;
	size_t i;

	for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
		uint64_t first = 0, last = 0;

		for (i = 0; i < count; i++) {
			uint64_t end = end_with(name, values[i], (enum t3_timed_program)program);

			if (i == 0)
				first = end;
			else
				assert_true(end <= last + last / 50);
			last = end;
		}
		assert_true(last < first || !last);
	}
}

TEST("faster parts never slow a run")
{
	static const uint64_t link[] = { 40, 80, 150, 400 }, memory[] = { 200, 500, 1024, 4096 };
	static const uint64_t latency[] = { 8000, 2000, 500, 100 };

	assert_helps("link_gbps", link, 4);
	assert_helps("memory_gbps", memory, 4);
	assert_helps("link_latency_ns", latency, 4);
}

/* Each part costs something: a worse one takes longer, in the program that uses it. */
TEST("each part costs something")
{
	/* clang-format off */
	static const struct {
		const char *name;
		uint64_t worse, better;
		enum t3_timed_program program;
	} costs[] = {
		{ "update_percent", 300, 100, T3_TIMED_T3_MCA },
		{ "turnaround_ns", 60, 0, T3_TIMED_SEQUENTIAL },
		{ "row_conflict_ns", 40, 0, T3_TIMED_T3 },
		{ "run_kib", 4, 128, T3_TIMED_SEQUENTIAL },
		{ "memory_latency_ns", 2000, 0, T3_TIMED_SEQUENTIAL },
		{ "cache_latency_ns", 2000, 0, T3_TIMED_SEQUENTIAL },
		{ "cache_gbps", 500, 4000, T3_TIMED_SEQUENTIAL },
		{ "cache_kib", 256, 16384, T3_TIMED_SEQUENTIAL },
		{ "compute_percent", 45, 90, T3_TIMED_SEQUENTIAL },
		{ "unit_store_gbps", 10, 90, T3_TIMED_SEQUENTIAL },
		{ "stage_barrier", 1, 0, T3_TIMED_T3_MCA },
		{ "link_queue_kib", 64, 4096, T3_TIMED_DIRECT },
		{ "dma_read_ahead_kib", 4, 512, T3_TIMED_T3 },
		{ "copy_unit_kib", 1, 16, T3_TIMED_SEQUENTIAL },
		{ "collective_units", 1, 80, T3_TIMED_SEQUENTIAL },
	};
	/* clang-format on */
	size_t i;

	for (i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		uint64_t worse = end_with(costs[i].name, costs[i].worse, costs[i].program);
		uint64_t better = end_with(costs[i].name, costs[i].better, costs[i].program);

		if (worse <= better)
			fail_msg("%s: %llu is no faster than %llu", costs[i].name,
				 (unsigned long long)better, (unsigned long long)worse);
	}
}

/* A type of n bytes has 2/n of the rate. A tile's steps follow each other where units are shared. */
TEST("a longer type computes at a lower rate")
{
	struct t3_timed_setup setup = timed_small(192, 32, 1600, 2);
	struct t3_timed_counters f16, f32, f64, i8, shared;

	timed_param(&setup, "flops_per_clock", 16);
	f16 = run(setup, T3_TIMED_SEQUENTIAL);
	setup.workload.element_bytes = 4;
	f32 = run(setup, T3_TIMED_SEQUENTIAL);
	assert_in_range(f32.compute_busy, 2 * f16.compute_busy - 1000, 2 * f16.compute_busy);
	setup.workload.element_bytes = 8;
	f64 = run(setup, T3_TIMED_SEQUENTIAL);
	assert_in_range(f64.compute_busy, 4 * f16.compute_busy - 3000, 4 * f16.compute_busy);
	setup.workload.element_bytes = 1;
	i8 = run(setup, T3_TIMED_SEQUENTIAL);
	assert_in_range(2 * i8.compute_busy, f16.compute_busy, f16.compute_busy + 2000);
	assert_true(f32.phase_end[T3_TIMED_GEMM] > f16.phase_end[T3_TIMED_GEMM] * 19 / 10);
	setup.workload.element_bytes = 2;
	timed_param(&setup, "compute_units", 2);
	timed_param(&setup, "groups_per_unit", 3);
	shared = run(setup, T3_TIMED_SEQUENTIAL);
	assert_int_equal(shared.compute_busy, f16.compute_busy);
	assert_true(shared.phase_end[T3_TIMED_GEMM] >= shared.compute_busy / 2);
}

/* T3 overlaps, MCA is no slower here, a triggered all-gather overlaps more. */
TEST("overlap is faster in the known order")
{
	struct t3_timed_setup setup = timed_published(3072, 8192, 4, 8);
	uint64_t sequential = run(setup, T3_TIMED_SEQUENTIAL).end;
	uint64_t t3 = run(setup, T3_TIMED_T3).end, mca = run(setup, T3_TIMED_T3_MCA).end;
	uint64_t chained = run(setup, T3_TIMED_T3_MCA_AG).end;

	assert_true(t3 < sequential);
	assert_true(mca < t3);
	assert_true(chained < mca);
}

/* The baseline's output goes through the cache and pushes operands out; T3's does not. */
TEST("the baseline's output pushes operands out")
{
	struct t3_timed_setup setup = timed_published(3072, 16384, 4, 8);
	struct t3_timed_counters s = run(setup, T3_TIMED_SEQUENTIAL);
	struct t3_timed_counters t = run(setup, T3_TIMED_T3_MCA);

	assert_true(t.memory_bytes[T3_TIMED_GEMM_READ] < s.memory_bytes[T3_TIMED_GEMM_READ]);
	timed_param(&setup, "cache_kib", 1048576);
	s = run(setup, T3_TIMED_SEQUENTIAL);
	assert_int_equal(s.memory_bytes[T3_TIMED_GEMM_READ], (16384 + 3072) * 1536ull * 2);
}

/* What a step's ragged end has not is not read; and the GEMM waits for what it reads. */
TEST("ragged ends read only what is there")
{
	struct t3_timed_setup setup = timed_small(250, 50, 50, 2);
	struct t3_timed_counters near, far;

	timed_param(&setup, "cache_kib", 1024);
	timed_param(&setup, "cache_ways", 64);
	near = run(setup, T3_TIMED_SEQUENTIAL);
	assert_int_equal(near.memory_bytes[T3_TIMED_GEMM_READ], (250 + 50) * 50 * 2);
	timed_param(&setup, "memory_latency_ns", setup.params.memory_latency_ns + 1000);
	far = run(setup, T3_TIMED_SEQUENTIAL);
	assert_true(far.phase_end[T3_TIMED_GEMM] >= near.phase_end[T3_TIMED_GEMM] + 4 * US);
}

TEST("fewer entries spill more")
{
	struct t3_timed_setup setup = timed_small(1024, 128, 64, 4);
	struct t3_timed_counters few, many;

	few = run(setup, T3_TIMED_T3);
	timed_param(&setup, "tracker_entries", 4096);
	many = run(setup, T3_TIMED_T3);
	assert_true(few.tracker_spills > 0);
	assert_int_equal(few.tracker_peak, 16);
	assert_int_equal(many.tracker_spills, 0);
	assert_true(many.tracker_peak > 16);
	assert_int_equal(few.tracker_updates, many.tracker_updates);
	/* two updates for each piece of 3 of 4 chunks, of 1024 bytes */
	assert_int_equal(many.tracker_updates, 2 * 3 * 256 * 128 * 2 / 1024);
}

/* A record is no cheaper than what it is about: fewer entries, more records, more time. */
TEST("a spilled record costs time")
{
	static const uint64_t entries[] = { 64, 256, 16384 };
	struct t3_timed_setup setup = timed_published(3072, 16384, 1, 8);
	struct t3_timed_counters last = { .end = ~(uint64_t)0, .tracker_spills = ~(uint64_t)0 }, c;
	size_t i;

	for (i = 0; i < 3; i++) {
		timed_param(&setup, "tracker_entries", entries[i]);
		c = run(setup, T3_TIMED_T3);
		assert_true(c.end < last.end);
		assert_true(c.tracker_spills < last.tracker_spills);
		last = c;
	}
	assert_int_equal(last.tracker_spills, 0);
}

/* Few tokens over many ranks: chunks share their operands, rows would read B for each. */
TEST("chunks share their operands")
{
	struct t3_timed_setup setup = timed_published(18432, 2048, 1, 32);
	uint64_t operands = (2048 + 18432) * 576ull * 2;
	struct t3_timed_counters c = run(setup, T3_TIMED_SEQUENTIAL);

	assert_int_equal(c.memory_bytes[T3_TIMED_GEMM_READ], operands);
	setup.workload.chunks = T3_TIMED_CHUNKS_ROWS;
	c = run(setup, T3_TIMED_SEQUENTIAL);
	assert_true(c.memory_bytes[T3_TIMED_GEMM_READ] > 20 * operands);
	setup = timed_published(12288, 2048, 4, 16);
	operands = (2048 + 12288) * 3072ull * 2;
	c = run(setup, T3_TIMED_SEQUENTIAL);
	assert_true(c.memory_bytes[T3_TIMED_GEMM_READ] < 4 * operands);
}

/* The threshold follows the first stage's intensity; without MCA there is none. */
TEST("the threshold follows the intensity")
{
	struct t3_timed_setup setup = timed_published(3072, 4096, 4, 8);
	uint64_t intensity;

	assert_int_equal(run(setup, T3_TIMED_T3).threshold, 64);
	intensity = run(setup, T3_TIMED_T3_MCA).intensity / 10;
	timed_param(&setup, "intensity_low", 0);
	timed_param(&setup, "intensity_middle", 0);
	timed_param(&setup, "intensity_high", intensity);
	assert_int_equal(run(setup, T3_TIMED_T3_MCA).threshold, 5);
	timed_param(&setup, "intensity_high", intensity + 1);
	assert_int_equal(run(setup, T3_TIMED_T3_MCA).threshold, 10);
	timed_param(&setup, "intensity_middle", intensity + 1);
	assert_int_equal(run(setup, T3_TIMED_T3_MCA).threshold, 30);
	timed_param(&setup, "intensity_low", intensity + 1);
	assert_int_equal(run(setup, T3_TIMED_T3_MCA).threshold, 64);
}

/* With a low threshold communication leaves the queue to the loads that come. */
TEST("a low threshold leaves memory to loads")
{
	struct t3_timed_setup setup = timed_published(3072, 4096, 4, 8);
	struct t3_timed_counters low, high;

	timed_param(&setup, "intensity_low", 0);
	timed_param(&setup, "intensity_middle", 0);
	timed_param(&setup, "intensity_high", 0);
	timed_param(&setup, "threshold_high", 1);
	low = run(setup, T3_TIMED_T3_MCA);
	timed_param(&setup, "threshold_high", 64);
	high = run(setup, T3_TIMED_T3_MCA);
	assert_int_equal(low.threshold, 1);
	assert_true(low.queue_entry_ps / low.end < high.queue_entry_ps / high.end);
}

struct first_stage {
	uint64_t slots, groups, end;
	uint64_t busy[2]; /* ps of memory, by stream, that began in the stage */
};

static void first_stage_span(void *opaque, const struct t3_timed_span *s)
{
	struct first_stage *stage = opaque;

	if (s->track >= T3_TIMED_TRACK_UNIT && ++stage->groups == stage->slots)
		stage->end = s->end;
	if (stage->end && s->start >= stage->end)
		return;
	if (s->track == T3_TIMED_TRACK_COMPUTE_STREAM)
		stage->busy[0] += s->end - s->start;
	if (s->track == T3_TIMED_TRACK_COMMUNICATION_STREAM)
		stage->busy[1] += s->end - s->start;
}

/* What peers send into the first stage is no work of the kernel, whose share it is. */
TEST("intensity is that of computing alone")
{
	struct t3_timed_setup setup = timed_small(256, 256, 256, 4); /* 64 tiles */
	struct first_stage stage = { .slots = 4 * 16 };
	struct t3_timed_counters c;

	timed_param(&setup, "compute_units", 4);
	timed_param(&setup, "groups_per_unit", 16); /* one ends long after the other */
	setup.trace = (struct t3_timed_trace){ first_stage_span, &stage };
	c = run(setup, T3_TIMED_T3_MCA);
	assert_true(stage.busy[1] * 1000 > stage.end); /* more than it is rounded to */
	assert_int_equal(c.intensity, stage.busy[0] / (stage.end / 1000 + 1));
}

/* An entry is in use while it is served: with one in all, that is memory's whole time. */
TEST("an entry is in use while it is served")
{
	struct t3_timed_setup setup = timed_small(256, 128, 64, 2);
	struct t3_timed_counters c;

	timed_param(&setup, "queue_entries", 1);
	c = run(setup, T3_TIMED_T3);
	assert_int_equal(c.queue_peak, 1);
	assert_int_equal(c.queue_entry_ps, c.memory_busy);
}

/* A stream of compute requests that never ends would hold communication off. */
TEST("starvation ends after its time")
{
	struct t3_timed_setup setup = timed_published(3072, 4096, 1, 8);
	struct t3_timed_counters c;

	timed_param(&setup, "memory_gbps", 120);
	timed_param(&setup, "starvation_ns", 100);
	c = run(setup, T3_TIMED_T3_MCA);
	assert_true(c.starved > 0);
	timed_param(&setup, "starvation_ns", 1000000);
	assert_true(run(setup, T3_TIMED_T3_MCA).starved < c.starved);
}

/* ------------------------------------------------------------------- timeline */

struct spans {
	uint64_t count[T3_TIMED_TRACK_UNIT + 80];
	uint64_t busy[T3_TIMED_TRACK_UNIT + 80];
	uint64_t last[T3_TIMED_TRACK_UNIT + 80];
	uint64_t entries, peak; /* of the tracker */
};

static void span(void *opaque, const struct t3_timed_span *s)
{
	struct spans *spans = opaque;

	assert_true(s->track < T3_TIMED_TRACK_UNIT + 80);
	assert_int_equal(s->rank, 0);
	assert_true(s->start <= s->end);
	assert_true(s->start >= spans->last[s->track]);
	spans->entries = s->entries;
	spans->peak = s->entries > spans->peak ? s->entries : spans->peak;
	spans->last[s->track] = s->end;
	spans->count[s->track]++;
	spans->busy[s->track] += s->end - s->start;
}

TEST("a trace changes nothing and has all spans")
{
	struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);
	struct t3_timed_counters plain = run(setup, T3_TIMED_T3_MCA), traced;
	struct spans spans = { 0 };
	uint64_t groups = 0;
	uint32_t i;

	setup.trace = (struct t3_timed_trace){ span, &spans };
	traced = run(setup, T3_TIMED_T3_MCA);
	assert_memory_equal(&plain, &traced, sizeof(plain));
	for (i = 0; i < 80; i++)
		groups += spans.count[T3_TIMED_TRACK_UNIT + i];
	assert_int_equal(groups, traced.groups);
	assert_int_equal(spans.count[T3_TIMED_TRACK_LINK], traced.link_messages);
	assert_int_equal(spans.busy[T3_TIMED_TRACK_LINK], traced.link_busy);
	assert_int_equal(spans.count[T3_TIMED_TRACK_TRIGGER], traced.triggers);
	assert_int_equal(spans.busy[T3_TIMED_TRACK_COMPUTE_STREAM] +
				 spans.busy[T3_TIMED_TRACK_COMMUNICATION_STREAM],
			 traced.memory_busy);
	assert_int_equal(spans.count[T3_TIMED_TRACK_STEP], 7); /* the all-gather's */
	assert_int_equal(spans.peak, traced.tracker_peak);
	assert_int_equal(spans.entries, traced.tracker_live);
}

/* The node link has a track of its own, and its phases and steps have names. */
TEST("the link of nodes has a track of its own")
{
	struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);
	struct spans spans = { 0 };
	struct t3_timed_counters c;

	setup.workload.nodes = 4;
	setup.trace = (struct t3_timed_trace){ span, &spans };
	c = run(setup, T3_TIMED_T3_MCA);
	assert_int_equal(spans.count[T3_TIMED_TRACK_NODE_LINK], c.node_link_messages);
	assert_int_equal(spans.busy[T3_TIMED_TRACK_NODE_LINK], c.node_link_busy);
	assert_int_equal(spans.busy[T3_TIMED_TRACK_LINK], c.link_busy);
	assert_int_equal(spans.count[T3_TIMED_TRACK_PHASE], 4);
	assert_int_equal(spans.busy[T3_TIMED_TRACK_PHASE], c.end);
	assert_int_equal(spans.count[T3_TIMED_TRACK_STEP], 3 + 3 + 1);
}
