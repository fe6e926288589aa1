/* SPDX-License-Identifier: MIT */
/* Compares the counters of two runs. */
#ifndef T3_SIM_COUNTERS_H
#define T3_SIM_COUNTERS_H

#include "sim/workload.h"

/* False: `why`, of SIM_WHY_SIZE bytes, names the first difference with both values. */
bool sim_counters_equal(const struct t3_timed_counters *device,
			const struct t3_timed_counters *native, char *why);

#endif /* T3_SIM_COUNTERS_H */
