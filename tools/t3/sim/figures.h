/* SPDX-License-Identifier: MIT */
/* The configurations of a workload, and their speedup over Sequential. */
#ifndef T3_SIM_FIGURES_H
#define T3_SIM_FIGURES_H

#include "sim/progress.h"
#include "sim/workload.h"

/*
 * Ideal overlap and Ideal RS+NMC are not simulated. Their time is that of parts of others: the
 * larger of the GEMM and what a perfect overlap hides, and what follows. An all-reduce's
 * all-gathers follow, in the node and over nodes; any other collective is hidden as a whole. The
 * collective alone has no speedup.
 */
enum sim_config {
	SIM_SEQUENTIAL,
	SIM_IDEAL,
	SIM_IDEAL_NMC,
	SIM_T3,
	SIM_T3_MCA,
	SIM_T3_MCA_AG,
	SIM_DIRECT,
	SIM_SWITCH, /* runs when asked for by its name, and so do all that follow */
	SIM_T3_SWITCH,
	SIM_ALONE,
	SIM_SHARED,	  /* not for all machines: it needs collective_units below compute_units */
	SIM_T3_MCA_TURNS, /* no device runs it */
	SIM_CONFIGS,
};

/* Configurations that run unless others are asked for. */
#define SIM_USUAL_CONFIGS ((1u << SIM_SWITCH) - 1)
/* Configurations of a switch, which no device has. */
#define SIM_SWITCH_CONFIGS (1u << SIM_SWITCH | 1u << SIM_T3_SWITCH)

/*
 * Called after each run, with its results. False: the run has failed, and `why`, of SIM_WHY_SIZE
 * bytes, says why.
 */
struct sim_witness {
	bool (*look)(void *opaque, const struct t3_timed_setup *setup, const struct t3_timed *run,
		     char *why);
	void *opaque;
};

struct sim_figures {
	struct sim_witness witness;    /* look NULL: none */
	struct sim_progress *progress; /* or NULL */
	bool ran[T3_TIMED_NATIVE_PROGRAMS];
	struct t3_timed_counters
		counters[T3_TIMED_NATIVE_PROGRAMS]; /* of one device; all are equal */
	struct t3_timed_use use[T3_TIMED_NATIVE_PROGRAMS][T3_TIMED_PHASES];
	struct t3_timed_switch_counters switched[T3_TIMED_NATIVE_PROGRAMS];
	uint64_t events;
	uint64_t recalled;	 /* events that were not computed, as another run had the same */
	uint32_t wanted;	 /* configurations that will run, so that runs may share a part */
	struct t3_timed *branch; /* of T3-MCA, for T3-MCA-AG; or NULL */
};

const char *sim_config_name(enum sim_config config);
bool sim_config_parse(const char *text, enum sim_config *config);
/* The configuration's program. T3_TIMED_NATIVE_PROGRAMS: computed from others. */
enum t3_timed_program sim_config_program(enum sim_config config);

/* Is there such a configuration of this collective? */
bool sim_config_runs(enum sim_config config, const struct t3_timed_workload *workload);
/* False: the model refuses it, and `why` says why. */
bool sim_config_check(enum sim_config config, const struct t3_timed_setup *setup, char *why);

/* Run what the configuration needs and has not been run. False: `why`. */
bool sim_figures_run(struct sim_figures *figures, enum sim_config config,
		     struct t3_timed_setup *setup, char *why);
/* The GEMM or the collective of a setup, without the other; its time, in ps. False: `why`. */
bool sim_figures_gemm(struct t3_timed_setup *setup, struct sim_progress *progress, uint64_t *ps,
		      uint64_t *events, char *why);
bool sim_figures_alone(struct t3_timed_setup *setup, struct sim_progress *progress, uint64_t *ps,
		       uint64_t *events, char *why);
/* To be called after the runs. */
void sim_figures_end(struct sim_figures *figures);
uint64_t sim_figures_time(const struct sim_figures *figures, enum sim_config config); /* ps */
double sim_figures_speedup(const struct sim_figures *figures, enum sim_config config);
/* Of the collective alone, in GB/s, as benchmarks of collectives define them. */
struct sim_bandwidth {
	uint64_t bytes; /* of the whole buffer */
	double algorithm, bus;
};

struct sim_bandwidth sim_figures_bandwidth(const struct sim_figures *figures,
					   const struct t3_timed_setup *setup);
/* All records but the tracker's. */
uint64_t sim_memory_bytes(const struct t3_timed_counters *counters);

/* When a phase of a run began, in ps. In SHARED, the reduce-scatter begins with the GEMM. */
uint64_t sim_phase_start(enum t3_timed_program program, const struct t3_timed_counters *counters,
			 enum t3_timed_phase phase);
/* The time of a phase of Sequential, in ps; 0: it has no such phase. */
uint64_t sim_figures_phase(const struct sim_figures *figures, enum t3_timed_phase phase);

/* Parts of a device that a phase may be bound by. SIM_LATENCY: no part is busy half of the time. */
enum sim_part { SIM_COMPUTE, SIM_DRAM, SIM_CACHE, SIM_LINK, SIM_NODE_LINK, SIM_LATENCY };

struct sim_bound {
	double busy[SIM_LATENCY]; /* share of the phase's time */
	enum sim_part part;
};

const char *sim_part_name(enum sim_part part);
/* The parameters that say how fast the part is; the last one is NULL. SIM_LATENCY has none. */
const char *const *sim_part_params(enum sim_part part, bool switched);
/* The program has run, with that phase. */
struct sim_bound sim_figures_bound(const struct sim_figures *figures,
				   const struct t3_timed_params *params,
				   enum t3_timed_program program, enum t3_timed_phase phase);

#endif /* T3_SIM_FIGURES_H */
