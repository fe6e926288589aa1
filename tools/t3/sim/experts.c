// SPDX-License-Identifier: MIT
/* Runs the timed model with a routing, which takes all devices, unless they are alike. */
#include <stdio.h>

#include "sim/experts.h"

#define BUDGET 1000000u

struct last {
	uint64_t gemm, end, sent, received; /* ps and bytes, the most of all devices */
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool run(const struct t3_timed_setup *setup, struct last *last, struct sim_experts *experts,
		char *why)
{
	struct t3_timed_counters c;
	struct t3_timed *sim;
	uint32_t i;
	bool seen;

	if (!t3_timed_check(setup, why, SIM_WHY_SIZE))
		return false;
	sim = t3_timed_new(setup);
	if (!sim) {
		snprintf(why, SIM_WHY_SIZE, "there is not enough memory for the run");
		return false;
	}
	while (t3_timed_run_in_turns(sim, BUDGET))
		sim_progress_look(experts->progress, sim, t3_timed_program_name(setup->program));
	*last = (struct last){ 0 };
	for (i = 0; i < t3_timed_devices(sim); i++) {
		t3_timed_counters(sim, i, &c);
		last->gemm = larger(last->gemm, c.phase_end[T3_TIMED_GEMM]);
		last->end = larger(last->end, c.end);
		last->sent = larger(last->sent, c.link_bytes);
		last->received = larger(last->received, c.received_bytes);
	}
	experts->events += t3_timed_events(sim);
	seen = !experts->witness.look ||
	       experts->witness.look(experts->witness.opaque, setup, sim, why);
	t3_timed_free(sim);
	return seen;
}

/* Sequential. `way` is the routing of the setup. */
static struct t3_timed_setup setup_of(const struct sim_experts *experts,
				      const struct sim_routing *routing,
				      const struct t3_timed_setup *of, struct t3_timed_routing *way)
{
	*way = (struct t3_timed_routing){ experts->way, routing->experts, routing->rows };
	return (struct t3_timed_setup){
		.params = of->params,
		.workload = {
			.rows = routing->ranks * routing->tokens * routing->top_k,
			.columns = experts->columns,
			.depth = experts->depth,
			.element_bytes = of->workload.element_bytes,
			.ranks = routing->ranks,
			.chunks = T3_TIMED_CHUNKS_ROWS,
			.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL,
		},
		.program = T3_TIMED_SEQUENTIAL,
		.mirrored = !experts->every && t3_timed_alike(way, routing->ranks),
		.routing = way,
		.guest = experts->witness.look,
	};
}

bool sim_experts_check(const struct sim_experts *experts, const struct sim_routing *routing,
		       const struct t3_timed_setup *of, char *why)
{
	struct t3_timed_routing way;
	struct t3_timed_setup setup = setup_of(experts, routing, of, &way);

	return t3_timed_check(&setup, why, SIM_WHY_SIZE);
}

bool sim_experts_run(struct sim_experts *experts, const struct sim_routing *routing,
		     const struct t3_timed_setup *of, uint32_t configs, char *why)
{
	static const enum sim_config fused[] = { SIM_T3, SIM_T3_MCA };
	struct t3_timed_routing way;
	struct t3_timed_setup setup = setup_of(experts, routing, of, &way);
	struct last last;
	size_t i;

	if (!run(&setup, &last, experts, why))
		return false;
	experts->gemm = last.gemm;
	experts->exchange = last.end - last.gemm;
	experts->sent = last.sent;
	experts->received = last.received;
	if (configs & (1u << SIM_T3_MCA_AG | 1u << SIM_DIRECT))
		configs |= 1u << SIM_T3_MCA;
	for (i = 0; i < sizeof(fused) / sizeof(fused[0]); i++) {
		if (!(configs & 1u << fused[i]))
			continue;
		setup.program = sim_config_program(fused[i]);
		if (!run(&setup, &last, experts, why))
			return false;
		experts->fused[fused[i]] = last.end;
	}
	return true;
}

uint64_t sim_experts_time(const struct sim_experts *e, enum sim_config config)
{
	switch (config) {
	case SIM_SEQUENTIAL:
		return e->gemm + e->exchange;
	case SIM_IDEAL:
	case SIM_IDEAL_NMC:
		return larger(e->gemm, e->exchange);
	case SIM_T3:
		return e->fused[SIM_T3];
	default:
		return e->fused[SIM_T3_MCA];
	}
}
