/* SPDX-License-Identifier: MIT */
/*
 * Runs of the timed model that share work: phases that another run had, and runs that go on as two.
 * The results are those of runs that share none. T3_SEEDS, T3_SEED as in test_core_property.c.
 */
#include "host.h"
#include "seeds.h"
#include "timed.h"
#include "trail.h"
#include "test.h"

#define SEEDS 60u

struct outcome {
	struct t3_timed_counters counters;
	struct t3_timed_use use[T3_TIMED_PHASES];
	uint64_t events, recalled;
};

/* Ends and frees the run. */
static struct outcome end_run(struct t3_timed *sim)
{
	struct outcome out = { 0 };
	int phase;

	assert_non_null(sim);
	while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
		;
	assert_true(t3_timed_done(sim));
	t3_timed_counters(sim, 0, &out.counters);
	for (phase = 0; phase < T3_TIMED_PHASES; phase++)
		t3_timed_phase_use(sim, 0, (enum t3_timed_phase)phase, &out.use[phase]);
	out.events = t3_timed_events(sim);
	out.recalled = t3_timed_recalled(sim);
	t3_timed_free(sim);
	trail_add(&out, sizeof(out));
	return out;
}

static void assert_same(const struct outcome *a, const struct outcome *b)
{
	assert_memory_equal(&a->counters, &b->counters, sizeof(a->counters));
	assert_memory_equal(a->use, b->use, sizeof(a->use));
	assert_int_equal(a->events, b->events);
}

/* A sub-layer on a few ranks. Some draws have a slow memory or small queues. */
static struct t3_timed_setup draw(uint64_t *seed)
{
	uint64_t ranks = 2 + host_below(seed, 6);
	uint64_t rows = 1 + host_below(seed, ranks * 100), columns = 1 + host_below(seed, 160);
	struct t3_timed_setup setup = timed_small(rows, columns, 1, ranks);

	setup.workload.element_bytes = host_below(seed, 4) ? 2 : 1u << host_below(seed, 4);
	setup.workload.chunks = (enum t3_timed_chunks)host_below(seed, 3);
	setup.workload.collective =
		(enum t3_timed_collective)host_below(seed, T3_TIMED_COLLECTIVES);
	if (ranks % 2 == 0 && t3_timed_reduces(setup.workload.collective))
		setup.workload.nodes = 1 + host_below(seed, 2);
	timed_param(&setup, "memory_gbps", 20 + host_below(seed, 2000));
	timed_param(&setup, "link_gbps", 5 + host_below(seed, 500));
	timed_param(&setup, "queue_entries", 1 + host_below(seed, 64));
	timed_param(&setup, "threshold_low", 1 + host_below(seed, 64));
	timed_param(&setup, "threshold_middle", 1 + host_below(seed, 16));
	timed_param(&setup, "threshold_high", 1 + host_below(seed, 4));
	timed_param(&setup, "intensity_middle", 50);
	timed_param(&setup, "intensity_high", 90);
	timed_param(&setup, "run_kib", 1 + host_below(seed, 8));
	timed_param(&setup, "collective_units", 1 + host_below(seed, 5));
	timed_param(&setup, "copy_unit_gbps", 1 + host_below(seed, 60));
	return setup;
}

/* Each program with several depths, with the phases of those before it, and alone. */
static uint64_t compare(struct t3_timed_setup setup, uint64_t *seed, uint64_t *events)
{
	struct t3_timed_recall *recall = t3_timed_recall_new();
	struct outcome shared, alone;
	uint64_t recalled = 0;
	int program, depth;

	assert_non_null(recall);
	for (depth = 0; depth < 3; depth++) {
		setup.workload.depth = 1 + host_below(seed, 100);
		for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
			if (!timed_program(&setup, program))
				continue;
			setup.recall = recall;
			shared = end_run(t3_timed_new(&setup));
			setup.recall = NULL;
			alone = end_run(t3_timed_new(&setup));
			assert_same(&shared, &alone);
			assert_int_equal(alone.recalled, 0);
			recalled += shared.recalled;
			*events += shared.events;
		}
	}
	t3_timed_recall_free(recall);
	return recalled;
}

TEST_WITH("phases that another run had end as if they were computed", NULL, seeds_report)
{
	uint64_t seed, drawn, recalled = 0, events = 0, seeds = 0;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		drawn = seed * 0x9e3779b97f4a7c15ull;
		recalled += compare(draw(&drawn), &drawn, &events);
		seeds++;
	}
	trail_expect(0x60ea2c8d1a9b2244);
	assert_true(seeds < SEEDS || recalled > events / 8);
}

/* A phase of one shape says nothing of another one, nor of another machine. */
TEST("phases of other shapes and machines are not recalled")
{
	struct t3_timed_setup setup = timed_small(256, 128, 64, 4);
	struct t3_timed_recall *recall = t3_timed_recall_new();
	struct outcome first, other;

	setup.program = T3_TIMED_ALONE;
	setup.recall = recall;
	first = end_run(t3_timed_new(&setup));
	other = end_run(t3_timed_new(&setup));
	assert_same(&first, &other);
	assert_true(other.recalled > 0);
	setup.workload.columns++;
	assert_int_equal(end_run(t3_timed_new(&setup)).recalled, 0);
	setup.workload.columns--;
	timed_param(&setup, "link_latency_ns", 501);
	assert_int_equal(end_run(t3_timed_new(&setup)).recalled, 0);
	setup.mirrored = false;
	assert_int_equal(end_run(t3_timed_new(&setup)).recalled, 0);
	assert_int_equal(end_run(t3_timed_new(&setup)).recalled, 0);
	t3_timed_recall_free(recall);
}

static void fork_one(struct t3_timed_setup setup, uint64_t *forks)
{
	struct outcome trunk, branch, alone;
	struct t3_timed *sim, *copy;

	setup.program = T3_TIMED_T3_MCA;
	sim = t3_timed_new(&setup);
	assert_non_null(sim);
	copy = t3_timed_fork(sim);
	trunk = end_run(sim);
	alone = end_run(t3_timed_new(&setup));
	assert_same(&trunk, &alone);
	setup.program = T3_TIMED_T3_MCA_AG;
	if (!copy)
		return;
	branch = end_run(copy);
	alone = end_run(t3_timed_new(&setup));
	assert_same(&branch, &alone);
	*forks += branch.recalled > 0;
}

TEST_WITH("a run that goes on as two ends as two runs", NULL, seeds_report)
{
	uint64_t seed, drawn, forks = 0, seeds = 0;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		struct t3_timed_setup setup;

		drawn = seed * 0x9e3779b97f4a7c15ull;
		setup = draw(&drawn);
		setup.workload.depth = 1 + host_below(&drawn, 100);
		fork_one(setup, &forks);
		seeds++;
	}
	trail_expect(0x95d0b18378175ecf);
	assert_true(seeds < SEEDS || forks > 0);
}

TEST("only a new T3-MCA of an all-reduce in one node goes on as two")
{
	struct t3_timed_setup setup = timed_small(256, 128, 64, 4);
	struct t3_timed *sim;
	int program;

	for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
		if (program == T3_TIMED_T3_MCA || !timed_program(&setup, program))
			continue;
		sim = t3_timed_new(&setup);
		assert_null(t3_timed_fork(sim));
		t3_timed_free(sim);
	}
	setup.program = T3_TIMED_T3_MCA;
	sim = t3_timed_new(&setup);
	t3_timed_run(sim, T3_TIMED_NEVER, 1);
	assert_null(t3_timed_fork(sim));
	t3_timed_free(sim);
	setup.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	sim = t3_timed_new(&setup);
	assert_null(t3_timed_fork(sim));
	t3_timed_free(sim);
}

/* The kernel's intensity sets the threshold, and the all-gather keeps it. */
TEST("a phase with another threshold of the arbiter is not recalled")
{
	struct t3_timed_recall *recall = t3_timed_recall_new();
	struct t3_timed_setup setup = timed_small(256, 128, 1, 4);
	uint64_t seen[4], count = 0, depth, i;
	struct outcome out;

	timed_param(&setup, "memory_gbps", 30);
	setup.program = T3_TIMED_T3_MCA;
	setup.recall = recall;
	for (depth = 1; depth < 4000; depth *= 3) {
		setup.workload.depth = depth;
		out = end_run(t3_timed_new(&setup));
		for (i = 0; i < count && seen[i] != out.counters.threshold; i++)
			;
		if (i < count)
			continue;
		assert_int_equal(out.recalled, 0);
		assert_true(count < 4);
		seen[count++] = out.counters.threshold;
	}
	assert_int_equal(count, 3);
	t3_timed_recall_free(recall);
}
