// SPDX-License-Identifier: MIT
/* Runs of the timed model, and the figures that are computed from them. */
#include <stdio.h>
#include <string.h>

#include "sim/figures.h"

#define BUDGET	    1000000u
#define STEP_BUDGET 10000u /* between looks at whether a phase is over */

static const struct {
	const char *name;
	enum t3_timed_program program;
} configs[SIM_CONFIGS] = {
	[SIM_SEQUENTIAL] = { "sequential", T3_TIMED_SEQUENTIAL },
	[SIM_IDEAL] = { "ideal", T3_TIMED_NATIVE_PROGRAMS },
	[SIM_IDEAL_NMC] = { "ideal-nmc", T3_TIMED_NATIVE_PROGRAMS },
	[SIM_T3] = { "t3", T3_TIMED_T3 },
	[SIM_T3_MCA] = { "t3-mca", T3_TIMED_T3_MCA },
	[SIM_T3_MCA_AG] = { "t3-mca-ag", T3_TIMED_T3_MCA_AG },
	[SIM_DIRECT] = { "direct", T3_TIMED_DIRECT },
	[SIM_SWITCH] = { "switch", (enum t3_timed_program)T3_TIMED_SWITCH },
	[SIM_T3_SWITCH] = { "t3-switch", (enum t3_timed_program)T3_TIMED_T3_SWITCH },
	[SIM_ALONE] = { "alone", T3_TIMED_ALONE },
	[SIM_SHARED] = { "shared", T3_TIMED_SHARED },
	[SIM_T3_MCA_TURNS] = { "t3-mca-turns", T3_TIMED_T3_MCA_TURNS },
};

const char *sim_config_name(enum sim_config config)
{
	return configs[config].name;
}

enum t3_timed_program sim_config_program(enum sim_config config)
{
	return configs[config].program;
}

bool sim_config_parse(const char *text, enum sim_config *config)
{
	int i;

	for (i = 0; i < SIM_CONFIGS; i++) {
		if (!strcmp(text, configs[i].name)) {
			*config = (enum sim_config)i;
			return true;
		}
	}
	return false;
}

/* The program that decides whether a configuration runs. */
static enum t3_timed_program deciding_program(enum sim_config config)
{
	if (config == SIM_IDEAL)
		return T3_TIMED_SEQUENTIAL;
	return config == SIM_IDEAL_NMC ? T3_TIMED_RS_NMC : configs[config].program;
}

bool sim_config_runs(enum sim_config config, const struct t3_timed_workload *workload)
{
	enum t3_timed_program program = deciding_program(config);

	return workload->nodes > 1 ? t3_timed_over_nodes(program, workload->collective)
				   : t3_timed_runs(program, workload->collective);
}

bool sim_config_check(enum sim_config config, const struct t3_timed_setup *setup, char *why)
{
	struct t3_timed_setup tried = *setup;

	tried.program = deciding_program(config);
	return t3_timed_check(&tried, why, SIM_WHY_SIZE);
}

/* Devices in the same job must have the same figures. */
static bool run_to_end(struct sim_figures *figures, const struct t3_timed_setup *setup,
		       struct t3_timed *sim, char *why)
{
	struct t3_timed_counters *first = &figures->counters[setup->program], other;
	const struct sim_witness *witness = &figures->witness;
	bool equal = true;
	uint32_t i;
	int phase;

	while (t3_timed_run_in_turns(sim, BUDGET))
		sim_progress_look(figures->progress, sim, t3_timed_program_name(setup->program));
	t3_timed_counters(sim, 0, first);
	for (phase = 0; phase < T3_TIMED_PHASES; phase++)
		t3_timed_phase_use(sim, 0, (enum t3_timed_phase)phase,
				   &figures->use[setup->program][phase]);
	t3_timed_switch_counters(sim, 0, &figures->switched[setup->program]);
	for (i = 1; i < t3_timed_devices(sim) && equal; i++) {
		t3_timed_counters(sim, i, &other);
		equal = !memcmp(first, &other, sizeof(other));
	}
	if (!t3_timed_done(sim) || !equal) {
		snprintf(why, SIM_WHY_SIZE, "the model stopped at %llu ps, or its devices differ",
			 (unsigned long long)t3_timed_now(sim));
		return false;
	}
	return !witness->look || witness->look(witness->opaque, setup, sim, why);
}

static bool run_program(struct sim_figures *figures, enum t3_timed_program program,
			struct t3_timed_setup *setup, char *why)
{
	struct t3_timed *sim;
	bool good;

	if (figures->ran[program])
		return true;
	setup->program = program;
	if (!t3_timed_check(setup, why, SIM_WHY_SIZE))
		return false;
	if (program == T3_TIMED_T3_MCA_AG && figures->branch) {
		sim = figures->branch;
		figures->branch = NULL;
	} else {
		sim = t3_timed_new(setup);
	}
	if (!sim) {
		snprintf(why, SIM_WHY_SIZE, "there is not enough memory for the run");
		return false;
	}
	if (figures->wanted & 1u << SIM_T3_MCA_AG && program == T3_TIMED_T3_MCA)
		figures->branch = t3_timed_fork(sim);
	good = run_to_end(figures, setup, sim, why);
	figures->events += t3_timed_events(sim);
	figures->recalled += t3_timed_recalled(sim);
	figures->ran[program] = good;
	t3_timed_free(sim);
	return good;
}

bool sim_figures_run(struct sim_figures *figures, enum sim_config config,
		     struct t3_timed_setup *setup, char *why)
{
	if (config != SIM_ALONE && !run_program(figures, T3_TIMED_SEQUENTIAL, setup, why))
		return false;
	if (config == SIM_IDEAL_NMC)
		return run_program(figures, T3_TIMED_RS_NMC, setup, why);
	return configs[config].program == T3_TIMED_NATIVE_PROGRAMS ||
	       run_program(figures, configs[config].program, setup, why);
}

void sim_figures_end(struct sim_figures *figures)
{
	t3_timed_free(figures->branch);
	figures->branch = NULL;
}

/* Run until the phase is over. */
static bool run_phase(struct t3_timed_setup *setup, enum t3_timed_phase phase,
		      struct sim_progress *progress, uint64_t *ps, uint64_t *events, char *why)
{
	struct t3_timed_counters counters = { 0 };
	struct t3_timed *sim;

	if (!t3_timed_check(setup, why, SIM_WHY_SIZE))
		return false;
	sim = t3_timed_new(setup);
	if (!sim) {
		snprintf(why, SIM_WHY_SIZE, "there is not enough memory for the run");
		return false;
	}
	while (!counters.phase_end[phase] && t3_timed_run(sim, T3_TIMED_NEVER, STEP_BUDGET)) {
		t3_timed_counters(sim, 0, &counters);
		sim_progress_look(progress, sim, t3_timed_program_name(setup->program));
	}
	*ps = counters.phase_end[phase];
	*events += t3_timed_events(sim);
	t3_timed_free(sim);
	return true;
}

bool sim_figures_gemm(struct t3_timed_setup *setup, struct sim_progress *progress, uint64_t *ps,
		      uint64_t *events, char *why)
{
	setup->program = T3_TIMED_SEQUENTIAL;
	return run_phase(setup, T3_TIMED_GEMM, progress, ps, events, why);
}

bool sim_figures_alone(struct t3_timed_setup *setup, struct sim_progress *progress, uint64_t *ps,
		       uint64_t *events, char *why)
{
	setup->program = T3_TIMED_ALONE;
	return run_phase(setup, T3_TIMED_ALL_GATHER, progress, ps, events, why);
}

uint64_t sim_phase_start(enum t3_timed_program program, const struct t3_timed_counters *counters,
			 enum t3_timed_phase phase)
{
	int first = program == T3_TIMED_SHARED && phase <= T3_TIMED_NODE_REDUCE_SCATTER
			    ? T3_TIMED_REDUCE_SCATTER
			    : T3_TIMED_GEMM;
	uint64_t start = 0;
	int i;

	for (i = first; i < (int)phase; i++)
		if (counters->phase_end[i] > start)
			start = counters->phase_end[i];
	return start;
}

uint64_t sim_figures_phase(const struct sim_figures *figures, enum t3_timed_phase phase)
{
	const struct t3_timed_counters *c = &figures->counters[T3_TIMED_SEQUENTIAL];
	uint64_t end = c->phase_end[phase];

	return end ? end - sim_phase_start(T3_TIMED_SEQUENTIAL, c, phase) : 0;
}

uint64_t sim_figures_time(const struct sim_figures *figures, enum sim_config config)
{
	uint64_t gemm = sim_figures_phase(figures, T3_TIMED_GEMM);
	uint64_t scatter = sim_figures_phase(figures, T3_TIMED_REDUCE_SCATTER) +
			   sim_figures_phase(figures, T3_TIMED_NODE_REDUCE_SCATTER);
	uint64_t after = sim_figures_phase(figures, T3_TIMED_NODE_ALL_GATHER) +
			 sim_figures_phase(figures, T3_TIMED_ALL_GATHER);
	uint64_t hidden = scatter;

	if (configs[config].program != T3_TIMED_NATIVE_PROGRAMS)
		return figures->counters[configs[config].program].end;
	if (config == SIM_IDEAL_NMC)
		hidden = figures->counters[T3_TIMED_RS_NMC].end;
	if (!scatter) {
		hidden = after;
		after = 0;
	}
	return (gemm > hidden ? gemm : hidden) + after;
}

/* Each element crosses the slowest link so often, per rank; an all-reduce's does it twice. */
static double bus_factor(const struct t3_timed_workload *w)
{
	double factor = (double)(w->ranks - 1) / (double)w->ranks;

	return w->collective == T3_TIMED_COLLECTIVE_ALL_REDUCE ? 2 * factor : factor;
}

struct sim_bandwidth sim_figures_bandwidth(const struct sim_figures *figures,
					   const struct t3_timed_setup *setup)
{
	struct sim_bandwidth b = { .bytes = sim_buffer_bytes(setup) };

	b.algorithm = (double)b.bytes * 1000 / (double)figures->counters[T3_TIMED_ALONE].end;
	b.bus = b.algorithm * bus_factor(&setup->workload);
	return b;
}

double sim_figures_speedup(const struct sim_figures *figures, enum sim_config config)
{
	return (double)figures->counters[T3_TIMED_SEQUENTIAL].end /
	       (double)sim_figures_time(figures, config);
}

uint64_t sim_memory_bytes(const struct t3_timed_counters *counters)
{
	uint64_t sum = 0;
	int kind;

	for (kind = 0; kind < T3_TIMED_TRACKER_READ; kind++)
		sum += counters->memory_bytes[kind];
	return sum;
}

/* -------------------------------------------------------------------- bounds */

/* Parameters that none of these parts is bound by have no row. */
static const struct {
	const char *name;
	const char *params[4];
} parts[SIM_LATENCY + 1] = {
	[SIM_COMPUTE] = { "compute", { "compute_units", "clock_mhz", "flops_per_clock", NULL } },
	[SIM_DRAM] = { "DRAM", { "memory_gbps", NULL } },
	[SIM_CACHE] = { "cache", { "cache_gbps", NULL } },
	[SIM_LINK] = { "link", { "link_gbps", NULL } },
	[SIM_NODE_LINK] = { "node link", { "node_link_gbps", NULL } },
	[SIM_LATENCY] = { "latency", { NULL } },
};

const char *sim_part_name(enum sim_part part)
{
	return parts[part].name;
}

const char *const *sim_part_params(enum sim_part part, bool switched)
{
	static const char *const port[] = { "switch_port_gbps", NULL };

	return switched && part == SIM_LINK ? port : parts[part].params;
}

struct sim_bound sim_figures_bound(const struct sim_figures *figures,
				   const struct t3_timed_params *params,
				   enum t3_timed_program program, enum t3_timed_phase phase)
{
	const struct t3_timed_counters *c = &figures->counters[program];
	const struct t3_timed_use *use = &figures->use[program][phase];
	double took = (double)(c->phase_end[phase] - sim_phase_start(program, c, phase));
	uint64_t shared = program == T3_TIMED_SHARED ? params->collective_units : 0;
	double units = (double)(params->compute_units - shared);
	struct sim_bound bound = { .part = SIM_LATENCY };
	double most = 0.5;
	int part;

	if (took <= 0)
		return bound;
	bound.busy[SIM_COMPUTE] = (double)use->compute / units / took;
	bound.busy[SIM_DRAM] = (double)use->memory / took;
	bound.busy[SIM_CACHE] = (double)use->cache / took;
	/* Of a switch, the direction of the device's port that is busier. */
	bound.busy[SIM_LINK] = (double)(use->link > use->port ? use->link : use->port) / took;
	bound.busy[SIM_NODE_LINK] = (double)use->node_link / took;
	for (part = 0; part < SIM_LATENCY; part++) {
		if (bound.busy[part] < most)
			continue;
		most = bound.busy[part];
		bound.part = (enum sim_part)part;
	}
	return bound;
}
