/* SPDX-License-Identifier: MIT */
/* T3-MCA with an arbiter that knows whether the GEMM or its collective is longer. SPEC.md 8.1. */
#include "timed.h"
#include "test.h"

/* A memory so slow that both streams wait for it. */
static struct t3_timed_setup slow(uint64_t link_gbps)
{
	struct t3_timed_setup setup = timed_small(256, 128, 64, 4);

	timed_param(&setup, "memory_gbps", 30);
	timed_param(&setup, "link_gbps", link_gbps);
	return setup;
}

static struct t3_timed_counters run(struct t3_timed_setup setup, enum t3_timed_program program)
{
	setup.program = program;
	return timed_run_to_end(&setup);
}

/*
 * 32 tiles on 6 units are 6 on one of them, of 4 steps. A step is 2 * 32 * 32 * 16 operations at
 * 1400 MHz * 1024 * 90 %: 25397 ps, so the GEMM takes 609528. Three chunks of 64 x 128 x 2 bytes take
 * 606816 ps on a link of 81 GB/s, and 614400 at 80 GB/s.
 */
TEST("streams are served in turns from where the ring is longer than the GEMM")
{
	struct t3_timed_counters mca = run(slow(81), T3_TIMED_T3_MCA), turns;

	turns = run(slow(81), T3_TIMED_T3_MCA_TURNS);
	assert_memory_equal(&mca, &turns, sizeof(mca));
	mca = run(slow(80), T3_TIMED_T3_MCA);
	turns = run(slow(80), T3_TIMED_T3_MCA_TURNS);
	assert_true(mca.end != turns.end);
	assert_memory_equal(mca.memory_bytes, turns.memory_bytes, sizeof(mca.memory_bytes));
	assert_int_equal(mca.link_bytes, turns.link_bytes);
	assert_int_equal(turns.starved, 0);
}

TEST("each device has the counters of the mirrored one, in turns, too")
{
	struct t3_timed_setup setup = slow(40);
	struct t3_timed_counters mirrored = run(setup, T3_TIMED_T3_MCA_TURNS), each;

	setup.mirrored = false;
	each = run(setup, T3_TIMED_T3_MCA_TURNS);
	assert_memory_equal(&mirrored, &each, sizeof(each));
}

/* Of a sub-layer whose ring takes three times as long: less than by turns of a request, and by MCA. */
TEST("long turns take less than short ones, and than compute first")
{
	struct t3_timed_setup setup = timed_published(3072, 4096, 1, 16);
	uint64_t turns = run(setup, T3_TIMED_T3_MCA_TURNS).end;

	assert_true(turns < run(setup, T3_TIMED_T3).end);
	assert_true(turns < run(setup, T3_TIMED_T3_MCA).end);
}

TEST("a phase in turns is recalled by runs in turns alone")
{
	struct t3_timed_recall *recall = t3_timed_recall_new();
	struct t3_timed_counters alone[2], shared;
	struct t3_timed_setup setup = slow(40);
	int i, pass;

	assert_non_null(recall);
	timed_param(&setup, "queue_entries", 8);
	timed_param(&setup, "threshold_low", 1);
	timed_param(&setup, "threshold_middle", 1);
	timed_param(&setup, "threshold_high", 1);
	for (i = 0; i < 2; i++)
		alone[i] = run(setup, i ? T3_TIMED_T3_MCA_TURNS : T3_TIMED_T3_MCA);
	setup.recall = recall;
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < 2; i++) {
			shared = run(setup, i ? T3_TIMED_T3_MCA_TURNS : T3_TIMED_T3_MCA);
			assert_memory_equal(&shared, &alone[i], sizeof(shared));
		}
	}
	t3_timed_recall_free(recall);
}

TEST("only a collective that sums runs in turns")
{
	struct t3_timed_setup setup = slow(40);
	char why[TIMED_WHY];

	setup.program = T3_TIMED_T3_MCA_TURNS;
	assert_true(t3_timed_check(&setup, why, sizeof(why)));
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	assert_false(t3_timed_check(&setup, why, sizeof(why)));
	assert_non_null(
		strstr(why, "program t3-mca-turns runs all-reduce and reduce-scatter only"));
}
