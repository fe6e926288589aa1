/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs and the collectives that each of them runs. SPEC.md section 8.1. */
#include "timed/timed_private.h"

const char *t3_timed_program_name(enum t3_timed_program program)
{
	static const char *const names[] = { "sequential",   "rs-nmc", "t3",	   "t3-mca",
					     "t3-mca-ag",    "direct", "alone",	   "shared",
					     "t3-mca-turns", "switch", "t3-switch" };

	return names[program];
}

const char *t3_timed_collective_name(enum t3_timed_collective collective)
{
	static const char *const names[] = { "all-reduce", "reduce-scatter", "all-gather",
					     "all-to-all" };

	return names[collective];
}

bool t3_timed_reduces(enum t3_timed_collective collective)
{
	return collective == T3_TIMED_COLLECTIVE_ALL_REDUCE ||
	       collective == T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
}

bool t3_timed_switched(enum t3_timed_program program)
{
	return program == T3_TIMED_SWITCH || program == T3_TIMED_T3_SWITCH;
}

bool t3_timed_fused(enum t3_timed_program program)
{
	return program == T3_TIMED_T3 || program == T3_TIMED_T3_MCA ||
	       program == T3_TIMED_T3_MCA_AG || program == T3_TIMED_DIRECT ||
	       program == T3_TIMED_T3_MCA_TURNS || program == T3_TIMED_T3_SWITCH;
}

bool t3_timed_runs(enum t3_timed_program program, enum t3_timed_collective collective)
{
	if (t3_timed_switched(program))
		return collective != T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	switch (program) {
	case T3_TIMED_T3_MCA_AG:
		return collective == T3_TIMED_COLLECTIVE_ALL_REDUCE;
	case T3_TIMED_RS_NMC:
	case T3_TIMED_DIRECT:
	case T3_TIMED_SHARED:
	case T3_TIMED_T3_MCA_TURNS:
		return t3_timed_reduces(collective);
	default:
		return true;
	}
}

/*
 * No program of t3-mca-ag, whose triggers would have to pass from node to node, or of a switch, which
 * would have to pass sums to another one; and no all-to-all.
 */
bool t3_timed_over_nodes(enum t3_timed_program program, enum t3_timed_collective collective)
{
	return t3_timed_runs(program, collective) && t3_timed_reduces(collective) &&
	       program != T3_TIMED_T3_MCA_AG && !t3_timed_switched(program);
}

bool t3_timed_all_peers(enum t3_timed_program program, enum t3_timed_collective collective)
{
	return program == T3_TIMED_DIRECT || t3_timed_switched(program) ||
	       collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
}

bool timed_mca(const struct t3_timed *sim)
{
	enum t3_timed_program program = sim->setup.program;

	return program == T3_TIMED_T3_MCA || program == T3_TIMED_T3_MCA_AG ||
	       program == T3_TIMED_DIRECT || program == T3_TIMED_T3_SWITCH ||
	       (program == T3_TIMED_T3_MCA_TURNS && !timed_turns(sim));
}

/*
 * The side that is longer is known before the kernel runs: of the GEMM, all steps of the unit that
 * has most workgroups; of the ring, all chunks but the own one on the link.
 */
bool timed_turns(const struct t3_timed *sim)
{
	const struct timed_shape *s = &sim->shape;
	uint64_t slots, groups, gemm, bytes;

	if (sim->setup.program != T3_TIMED_T3_MCA_TURNS)
		return false; /* which may have no GEMM */
	slots = timed_slots(&sim->setup, s->tiles);
	groups = (s->tiles + slots - 1) / slots;
	gemm = groups * sim->setup.params.groups_per_unit * s->k_steps * timed_step_ps(&sim->setup);
	bytes = (uint64_t)s->cut.rows * s->cut.columns * s->element_bytes;
	return (s->ranks - 1) * timed_ps(bytes, sim->setup.params.link_gbps) > gemm;
}

bool timed_fused(const struct t3_timed *sim)
{
	return t3_timed_fused(sim->setup.program);
}

/* The peers of its node that a device sends to: distances 1 to this. */
uint32_t timed_peers(const struct t3_timed_setup *setup)
{
	bool all = t3_timed_all_peers(setup->program, setup->workload.collective);

	return all ? timed_node_ranks(&setup->workload) - 1 : 1;
}

/* Stores of all chunks go straight to their owners, or to the switch that adds them. */
bool timed_stores_direct(const struct t3_timed *sim)
{
	return timed_fused(sim) && !timed_routes(sim) &&
	       t3_timed_all_peers(sim->setup.program, sim->setup.workload.collective);
}

/* An all-gather whose pieces go round, or to all by a switch, when they are complete. */
bool timed_triggers_gather(const struct t3_timed *sim)
{
	enum t3_timed_collective collective = sim->setup.workload.collective;

	return sim->setup.program == T3_TIMED_T3_MCA_AG ||
	       (sim->setup.program == T3_TIMED_T3_SWITCH &&
		collective == T3_TIMED_COLLECTIVE_ALL_REDUCE) ||
	       (timed_fused(sim) && collective == T3_TIMED_COLLECTIVE_ALL_GATHER);
}

/*
 * Tiles are produced in turns of all chunks, so that the ranks' updates of an element come to the
 * switch at about one time.
 */
bool timed_takes_turns(const struct t3_timed_setup *setup)
{
	return setup->program == T3_TIMED_T3_SWITCH && t3_timed_reduces(setup->workload.collective);
}

/* Compute units multicast what they have summed up. */
bool timed_multicasts_sums(const struct t3_timed *sim)
{
	return sim->setup.program == T3_TIMED_SWITCH &&
	       sim->setup.workload.collective == T3_TIMED_COLLECTIVE_ALL_REDUCE;
}

/* Stores of an all-to-all: neither updates nor tracked. */
bool timed_plain_stores(const struct t3_timed *sim)
{
	return timed_fused(sim) && sim->setup.workload.collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
}

/* Updates that complete a piece: the own one, and those that come from peers. */
uint32_t timed_updates(const struct t3_timed *sim)
{
	if (sim->setup.program == T3_TIMED_DIRECT || sim->shape.ranks < 2)
		return sim->shape.ranks;
	return t3_timed_reduces(sim->setup.workload.collective) ? 2 : 1;
}

/* ------------------------------------------------------------- expert layers */

bool timed_routes(const struct t3_timed *sim)
{
	return sim->setup.routing;
}

bool timed_dispatches(const struct t3_timed *sim)
{
	return timed_fused(sim) && timed_routes(sim) &&
	       sim->setup.routing->way == T3_TIMED_DISPATCH;
}

bool timed_combines(const struct t3_timed *sim)
{
	return timed_fused(sim) && timed_routes(sim) && sim->setup.routing->way == T3_TIMED_COMBINE;
}

/* -------------------------------------------------------------------- phases */

static bool gathers(const struct t3_timed *sim)
{
	return sim->setup.workload.collective != T3_TIMED_COLLECTIVE_REDUCE_SCATTER &&
	       sim->setup.program != T3_TIMED_RS_NMC;
}

/* A fused reduce-scatter is part of the GEMM's phase, and so is a fused dispatch. */
static bool has_phase(const struct t3_timed *sim, uint32_t phase)
{
	enum t3_timed_program program = sim->setup.program;
	bool ring = sim->shape.ranks > 1, nodes = sim->shape.nodes > 1;
	bool reduces = t3_timed_reduces(sim->setup.workload.collective);

	switch (phase) {
	case T3_TIMED_GEMM:
		return program != T3_TIMED_RS_NMC && program != T3_TIMED_ALONE;
	case T3_TIMED_REDUCE_SCATTER:
		return ring && reduces && !timed_fused(sim);
	case T3_TIMED_NODE_REDUCE_SCATTER:
		return nodes && reduces;
	case T3_TIMED_NODE_ALL_GATHER:
		return nodes && gathers(sim);
	default:
		return ring && gathers(sim) && !timed_dispatches(sim);
	}
}

/* The first phase from this one on that the program has. Phases are in the order of numbers. */
static uint32_t from_phase(const struct t3_timed *sim, uint32_t phase)
{
	while (phase < T3_TIMED_PHASES && !has_phase(sim, phase))
		phase++;
	return phase;
}

uint32_t timed_first_phase(const struct t3_timed *sim)
{
	return from_phase(sim, T3_TIMED_GEMM);
}

uint32_t timed_next_phase(const struct t3_timed *sim, uint32_t phase)
{
	return from_phase(sim, phase + 1);
}

bool timed_shares(const struct t3_timed *sim)
{
	return sim->setup.program == T3_TIMED_SHARED;
}

/* Near-memory updates sum what a reduce-scatter sends, so it reads no received data. */
bool timed_updates_in_memory(const struct t3_timed *sim)
{
	return sim->setup.program == T3_TIMED_RS_NMC || timed_fused(sim);
}
