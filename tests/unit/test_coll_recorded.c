// SPDX-License-Identifier: MIT
/*
 * Records of plans of libt3 on native devices. What a rank's record says is the collective that the
 * plan was made for, with its ranks, bytes and type, however the plan moves data.
 */
#include "sim/functional.h"
#include "sim/workload.h"
#include "seeds.h"
#include "tape.h"
#include "test.h"
#include "test_coll_run.h"

#define SEEDS  96u
#define EPOCHS 3u

static const char *const names[] = {
	[T3_REDUCE_SCATTER] = "reduce_scatter_tensor",
	[T3_ALL_GATHER] = "all_gather_into_tensor",
	[T3_ALL_REDUCE] = "all_reduce",
	[T3_ALL_TO_ALL] = "all_to_all_single",
	[T3_BROADCAST] = "broadcast",
};

static void make_host(uint32_t topology, uint32_t ranks, struct tape *tape)
{
	const struct host_config config = { topology, ranks, 256, 8, T3_KEYS_FABRIC };

	run = (struct run){ .ranks = ranks };
	run.host = host_new_recorded(&config, tape_emit, tape);
}

/* The plan of `run.desc` in some epochs. */
static void run_plan(void)
{
	uint32_t epoch, r;

	set_up();
	for (epoch = 1; epoch <= EPOCHS; epoch++) {
		fill_inputs();
		for (r = 0; r < run.ranks; r++)
			host_arm(&run.host->dev[r], SPACE, epoch);
		host_drain(run.host);
		produce();
		for (r = 0; r < run.ranks; r++) {
			host_expect(&run.host->dev[r], SPACE, T3_SPACE_COMPLETE, epoch);
			host_release(&run.host->dev[r], SPACE, epoch);
		}
	}
}

static bool read_tape(const struct tape *tape, uint32_t rank, struct sim_functional *seen,
		      char *why)
{
	FILE *file = fmemopen(tape->data, tape->size, "rb");
	bool good;

	assert_non_null(file);
	good = sim_functional_read(file, rank, seen, why);
	fclose(file);
	return good;
}

/* Elements of the longer buffer of a rank. */
static uint64_t elements_of(uint32_t rank)
{
	return run.desc.collective == T3_ALL_TO_ALL
		       ? run.layout[rank].units * run.layout[rank].columns
		       : run.desc.count;
}

static void expect_plan(const struct tape *tape, uint32_t rank)
{
	struct sim_functional seen;
	struct sim_flow flow;
	char why[SIM_WHY_SIZE];

	if (!read_tape(tape, rank, &seen, why))
		fail_msg("%s", why);
	assert_int_equal(seen.outputs, 1);
	assert_int_equal(seen.output[0].count, EPOCHS);
	sim_flow_find(&seen, seen.output[0].layout, &flow);
	if (!sim_flow_name(flow.kind, false) ||
	    strcmp(sim_flow_name(flow.kind, false), names[run.desc.collective]))
		fail_msg("collective %u, algorithm %u, flags %u, %u ranks, %llu elements: %s",
			 run.desc.collective, run.desc.algorithm, run.desc.flags, run.ranks,
			 (unsigned long long)run.desc.count,
			 flow.why ? flow.why : sim_flow_name(flow.kind, false));
	assert_int_equal(flow.ranks, run.ranks);
	assert_int_equal(flow.dtype, run.desc.dtype);
	assert_int_equal(flow.bytes, elements_of(rank) * run.layout[rank].element);
	sim_functional_free(&seen);
}

/* Each rank has at least one unit, so that no part is empty. */
static void choose(uint32_t topology)
{
	uint32_t columns = below(2) ? 0 : 1 + below(20);
	bool reduces;

	run.desc = (struct t3_plan_desc){
		.collective = T3_REDUCE_SCATTER + below(5),
		.algorithm = topology == T3_TOPOLOGY_RING ? T3_ALGORITHM_RING : T3_ALGORITHM_DIRECT,
		.columns = columns,
		.count = (run.ranks + below(20)) * (columns ? columns : 1),
		.dtype = below(T3_DTYPE_COUNT),
	};
	reduces = run.desc.collective == T3_REDUCE_SCATTER || run.desc.collective == T3_ALL_REDUCE;
	if (run.desc.collective == T3_BROADCAST)
		run.desc.root = below(run.ranks);
	if (!reduces)
		return;
	run.desc.op = T3_OP_ADD;
	if (below(2)) {
		run.desc.dtype = T3_DTYPE_F32;
		run.desc.flags = T3_PLAN_DETERMINISTIC;
	}
}

static void record_one(uint64_t seed)
{
	static const uint32_t topologies[] = { T3_TOPOLOGY_RING, T3_TOPOLOGY_FULL };
	uint32_t topology = topologies[seed % 2], ranks = 2 + (uint32_t)(seed / 2 % 7);
	struct tape tape = { 0 };

	make_host(topology, ranks, &tape);
	run.random = seed * 0x9e3779b97f4a7c15ull + 1;
	choose(topology);
	run_plan();
	expect_plan(&tape, below(ranks));
	host_free(run.host);
	free(tape.data);
}

TEST_WITH("a record says which collective a plan was", NULL, seeds_report)
{
	uint64_t seed;

	for_each_seed(seed, SEEDS) record_one(seed);
}

/* Two ranks on each of two nodes: sums in a node, then between the nodes. */
TEST("a record says which collective a plan over nodes was")
{
	static const uint32_t kinds[] = { T3_REDUCE_SCATTER, T3_ALL_GATHER, T3_ALL_REDUCE,
					  T3_BROADCAST };
	struct tape tape;
	size_t i;
	uint32_t r;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		tape = (struct tape){ 0 };
		make_host(T3_TOPOLOGY_FULL, 4, &tape);
		run.random = i + 1;
		for (r = 0; r < 4; r++)
			run.node[r] = r / 2;
		run.desc = (struct t3_plan_desc){ .collective = kinds[i],
						  .algorithm = T3_ALGORITHM_HIERARCHICAL,
						  .count = 40,
						  .dtype = T3_DTYPE_I32,
						  .op = kinds[i] == T3_REDUCE_SCATTER ||
									kinds[i] == T3_ALL_REDUCE
								? T3_OP_ADD
								: 0 };
		run_plan();
		for (r = 0; r < 4; r++)
			expect_plan(&tape, r);
		host_free(run.host);
		free(tape.data);
	}
}

/* The sizes of a pair of ranks differ, and one rank sends nothing. */
TEST("a record says that parts of an all-to-all differ")
{
	struct sim_functional seen;
	struct sim_flow flow;
	struct tape tape = { 0 };
	char why[SIM_WHY_SIZE];
	uint32_t from, to;

	make_host(T3_TOPOLOGY_RING, 3, &tape);
	run.random = 1;
	run.uneven = true;
	run.desc = (struct t3_plan_desc){ .collective = T3_ALL_TO_ALL,
					  .algorithm = T3_ALGORITHM_RING,
					  .dtype = T3_DTYPE_F32 };
	for (from = 0; from < 2; from++)
		for (to = 0; to < 3; to++)
			run.lengths.send[from][to] = run.lengths.receive[to][from] =
				8 + 8 * from + to;
	run_plan();
	assert_true(read_tape(&tape, 1, &seen, why));
	sim_flow_find(&seen, seen.output[0].layout, &flow);
	assert_int_equal(flow.kind, SIM_FLOW_ALL_TO_ALL);
	assert_true(flow.uneven);
	assert_int_equal(flow.bytes, (16 + 17 + 18) * 4);
	sim_functional_free(&seen);
	assert_true(read_tape(&tape, 2, &seen, why));
	sim_flow_find(&seen, seen.output[0].layout, &flow);
	assert_int_equal(flow.kind, SIM_FLOW_OTHER);
	assert_string_equal(flow.why, "a collective without data of this rank");
	sim_functional_free(&seen);
	host_free(run.host);
	free(tape.data);
}

TEST("a record without a rank's device is refused by the rank")
{
	struct sim_functional seen;
	struct tape tape = { 0 };
	char why[SIM_WHY_SIZE];

	tape_short(&tape);
	assert_false(read_tape(&tape, 2, &seen, why));
	assert_string_equal(why, "rank is 2 and must be below its ranks, 2");
	free(tape.data);
}
