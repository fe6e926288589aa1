/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How long a job may take. What counts is the engine's time that the job had itself, not
 * what passed on the clock: others' work, of whatever length, ends no job.
 */
#ifndef T3_PATIENCE_H
#define T3_PATIENCE_H

#include <linux/types.h>

/* What is looked at now and then while a job runs. */
struct t3_sample {
	u64 ns; /* CLOCK_MONOTONIC */
	u64 served; /* units of work done for the queue */
	u64 work; /* units of work done by the engine */
	u32 head; /* descriptors completed */
	u32 outages; /* t3_device.outages */
};

struct t3_patience {
	u64 job; /* its number in the queue; 0: none */
	u64 idle_ns; /* since the queue was last seen to get on */
	u64 spent_ns; /* of the engine's time */
	struct t3_sample last;
};

u64 t3_engine_time(u64 ns, u64 served, u64 work);
bool t3_patience_ends(struct t3_patience *patience, u64 job, const struct t3_sample *now,
		      u64 limit_ns);

#endif /* T3_PATIENCE_H */
