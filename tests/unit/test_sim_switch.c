/* SPDX-License-Identifier: MIT */
/* Configurations of a switch: what runs in their place, what bounds them, and what they count. */
#include "sim/iteration.h"
#include "sim/model_file.h"
#include "timed.h"
#include "test.h"

TEST("a collective that a switch does not run is that of sequential, or of T3-MCA")
{
	struct sim_operator op = { .kind = SIM_REDUCED };
	struct sim_cost cost = { 0 };
	struct sim_machine_rate rate = { 1, 1 };

	cost.reduced[SIM_SEQUENTIAL] = 5;
	cost.reduced[SIM_T3_MCA] = 3;
	assert_int_equal(sim_operator_time(&op, &cost, &rate, SIM_SWITCH), 5);
	assert_int_equal(sim_operator_time(&op, &cost, &rate, SIM_T3_SWITCH), 3);
	assert_int_equal(sim_operator_time(&op, &cost, &rate, SIM_DIRECT), 3);
	cost.reduced[SIM_SWITCH] = 2;
	cost.reduced[SIM_T3_SWITCH] = 1;
	assert_int_equal(sim_operator_time(&op, &cost, &rate, SIM_SWITCH), 2);
	assert_int_equal(sim_operator_time(&op, &cost, &rate, SIM_T3_SWITCH), 1);
}

TEST("only the fused configuration has near-memory updates")
{
	struct sim_operator op = { .kind = SIM_MEMORY, .bytes = 7, .is_near_memory = true };
	struct sim_cost cost = { 0 };
	struct sim_machine_rate rate = { 1, 1 };

	assert_true(sim_operator_time(&op, &cost, &rate, SIM_SWITCH) > 6);
	assert_true(sim_operator_time(&op, &cost, &rate, SIM_T3_SWITCH) < 1);
}

/* Multicasts take an eighth of the port's other direction. */
TEST("the busier direction of a port bounds a phase")
{
	struct t3_timed_setup setup = timed_published(4096, 4096, 1, 8);
	char why[SIM_WHY_SIZE] = "";
	struct sim_figures f = { 0 };
	const struct t3_timed_use *use;
	struct sim_bound bound;

	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_GATHER;
	assert_true(sim_figures_run(&f, SIM_SWITCH, &setup, why));
	bound = sim_figures_bound(&f, &setup.params, T3_TIMED_SWITCH, T3_TIMED_ALL_GATHER);
	use = &f.use[T3_TIMED_SWITCH][T3_TIMED_ALL_GATHER];
	assert_int_equal(bound.part, SIM_LINK);
	assert_true(bound.busy[SIM_LINK] > 0.95 && bound.busy[SIM_LINK] <= 1);
	assert_int_equal(f.switched[T3_TIMED_SWITCH].gathered_bytes, 4096ull / 8 * 7 * 4096 * 2);
	assert_true(use->link * 6 < use->port);
}

/* The published order: links, the switch alone, T3 on links, and both together. */
TEST("a switch under T3 is faster than either of them alone")
{
	struct t3_timed_setup setup = timed_published(3072, 8192, 4, 8);
	struct sim_figures f = { 0 };
	char why[SIM_WHY_SIZE] = "";
	uint64_t both;

	assert_true(sim_figures_run(&f, SIM_T3_MCA, &setup, why));
	assert_true(sim_figures_run(&f, SIM_SWITCH, &setup, why));
	assert_true(sim_figures_run(&f, SIM_T3_SWITCH, &setup, why));
	both = sim_figures_time(&f, SIM_T3_SWITCH);
	assert_true(both < sim_figures_time(&f, SIM_T3_MCA));
	assert_true(both < sim_figures_time(&f, SIM_SWITCH));
	assert_true(sim_figures_time(&f, SIM_SWITCH) < sim_figures_time(&f, SIM_SEQUENTIAL));
}

TEST("a switch of a machine that was given has the rate of its link")
{
	struct sim_machine machine;
	json_t *sentences = json_array();
	char why[SIM_WHY_SIZE] = "";

	sim_machine_init(&machine);
	sim_machine_complete_switch(&machine, sentences);
	assert_int_equal(json_array_size(sentences), 0);
	assert_true(sim_param_set(&machine, "link_gbps", "450", why));
	assert_true(sim_param_set(&machine, "switch_adder_gbps", "7", why));
	sim_machine_complete_switch(&machine, sentences);
	assert_int_equal(machine.params.switch_port_gbps, 450);
	assert_int_equal(machine.params.switch_adder_gbps, 7);
	assert_int_equal(json_array_size(sentences), 1);
	json_decref(sentences);
}
