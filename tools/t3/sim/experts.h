/* SPDX-License-Identifier: MIT */
/* The GEMMs of experts with the all-to-all before or after them, of a routing. */
#ifndef T3_SIM_EXPERTS_H
#define T3_SIM_EXPERTS_H

#include "sim/figures.h"
#include "sim/routing.h"

struct sim_experts {
	struct sim_progress *progress; /* or NULL */
	struct sim_witness witness;    /* look NULL: none; else a device runs it, too */
	bool every;		       /* all devices, also if one could stand for them */
	enum t3_timed_way way;
	uint64_t columns, depth;     /* of the GEMM of each expert */
	uint64_t gemm, exchange;     /* ps, of Sequential: of the rank that takes longest */
	uint64_t fused[SIM_CONFIGS]; /* ps; t3 and t3-mca, or 0 if that was not run */
	uint64_t sent, received;     /* bytes of the rank that sends, and that receives, most */
	uint64_t events;
};

/* Does the model run way, columns and depth? False: `why`, of SIM_WHY_SIZE bytes. */
bool sim_experts_check(const struct sim_experts *experts, const struct sim_routing *routing,
		       const struct t3_timed_setup *setup, char *why);
/*
 * Runs way, columns and depth: Sequential, and those of `configs` that are fused. The setup has the
 * parameters and the size of an element. False: `why`, of SIM_WHY_SIZE bytes.
 */
bool sim_experts_run(struct sim_experts *experts, const struct sim_routing *routing,
		     const struct t3_timed_setup *setup, uint32_t configs, char *why);

/*
 * The time of a configuration, in ps. Ideal hides the shorter part behind the longer one. There are no
 * others: t3-mca-ag and direct are t3-mca, ideal-nmc is ideal.
 */
uint64_t sim_experts_time(const struct sim_experts *experts, enum sim_config config);

#endif /* T3_SIM_EXPERTS_H */
