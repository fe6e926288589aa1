/* SPDX-License-Identifier: MIT */
/*
 * All memory that a machine or a run of the timed model took is given back. The sanitized suite sees
 * that, too; this one needs no sanitizer, which has counts of its own (0 here).
 */
#include <malloc.h>

#include "gang.h"
#include "group.h"
#include "nodes.h"
#include "ring.h"
#include "tape.h"
#include "test.h"

static uint64_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* The C library keeps up to 7 freed blocks of a size. From then on each round needs as much. */
static void assert_freed(void (*round)(void))
{
	uint64_t before;
	uint32_t i;

	for (i = 0; i < 8; i++)
		round();
	before = in_use();
	for (i = 0; i < 3; i++)
		round();
	assert_int_equal(in_use(), before);
}

/* -------------------------------------------------------------------- timed */

static void every_program(void)
{
	struct t3_timed_setup setup = timed_small(64, 64, 64, 4);
	int program, nodes, mirrored;

	for (program = 0; program < T3_TIMED_NATIVE_PROGRAMS; program++)
		for (nodes = 1; nodes <= 2; nodes++)
			for (mirrored = 0; mirrored < 2; mirrored++) {
				setup.workload.nodes = (uint64_t)nodes;
				setup.mirrored = mirrored;
				if (timed_program(&setup, program))
					timed_run_to_end(&setup);
			}
}

TEST("runs of all programs give their memory back")
{
	assert_freed(every_program);
}

static void routed_rows(void)
{
	static const uint32_t rows[] = { 5, 0, 7, 40 };
	struct t3_timed_routing routing = { T3_TIMED_DISPATCH, 2, rows };
	struct t3_timed_setup setup = timed_small(52, 64, 64, 2);
	static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3_MCA };
	uint32_t way, i;

	setup.mirrored = false;
	setup.routing = &routing;
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	for (way = 0; way < 2; way++)
		for (i = 0; i < 2; i++) {
			struct t3_timed *sim;

			routing.way = way ? T3_TIMED_COMBINE : T3_TIMED_DISPATCH;
			setup.program = programs[i];
			sim = t3_timed_new(&setup);
			assert_non_null(sim);
			while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
				;
			t3_timed_free(sim);
		}
}

TEST("runs of expert layers give their memory back")
{
	assert_freed(routed_rows);
}

static void recall_and_fork(void)
{
	struct t3_timed_recall *recall = t3_timed_recall_new();
	struct t3_timed_setup setup = timed_small(64, 64, 64, 4);
	struct t3_timed *sim, *fork;

	assert_non_null(recall);
	setup.recall = recall;
	setup.program = T3_TIMED_SEQUENTIAL;
	timed_run_to_end(&setup);
	setup.recall = NULL;
	setup.program = T3_TIMED_T3_MCA;
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_REDUCE;
	sim = t3_timed_new(&setup);
	assert_non_null(sim);
	fork = t3_timed_fork(sim);
	assert_non_null(fork);
	t3_timed_free(fork);
	t3_timed_free(sim);
	t3_timed_recall_free(recall);
}

TEST("a recall and a fork give their memory back")
{
	assert_freed(recall_and_fork);
}

/* ----------------------------------------------------------------- machines */

static void timed_gang(void)
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct run run = run_of_all(2);

	gang_submit(&gang, &run);
	host_drain(gang.host);
	gang_submit(&gang, &run);
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	t3_fabric_run(gang.host->fabric, 5); /* and the run is left where it is */
	host_free(gang.host);
}

TEST("machines with a timed run give their memory back")
{
	assert_freed(timed_gang);
}

static void switch_and_sums(void)
{
	struct host *host = host_switch(2, HOST_ENTRIES, NULL, NULL);
	struct group group = group_reduce(host, 1, 4, 64, T3_DTYPE_I32, T3_OP_ADD);
	static const uint8_t zeros[4 * 64];
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < 2; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	group_arm(&group, 1);
	group_send(&group, 0, zeros);
	host_free(host);
}

TEST("machines with a switch give their memory back")
{
	assert_freed(switch_and_sums);
}

static void two_nodes(void)
{
	struct host_config config = { T3_TOPOLOGY_FULL, 2, 256, 8, T3_KEYS_FABRIC };
	struct host *host = nodes_new(&config, 2, 1);

	nodes_connect_all(host);
	host_free(host);
}

TEST("machines of several nodes give their memory back")
{
	assert_freed(two_nodes);
}

static void recorded(void)
{
	struct tape tape = { 0 };

	tape_short(&tape);
	free(tape.data);
}

TEST("machines that are recorded give their memory back")
{
	assert_freed(recorded);
}
