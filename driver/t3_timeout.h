/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a job may take. Only the time counts in which the engine worked for the job
 * itself, so others' work, however long it takes, never ends a job.
 */
#ifndef T3_TIMEOUT_H
#define T3_TIMEOUT_H

#include <linux/types.h>

/* Taken at intervals while a job runs. */
struct t3_sample {
	u64 ns; /* CLOCK_MONOTONIC */
	u64 served; /* units of work done for the queue */
	u64 work; /* units of work done by the engine */
	u32 head; /* descriptors completed */
	u32 outages; /* t3_device.outages */
};

struct t3_timeout {
	u64 job; /* its number in the queue; 0: none */
	u64 idle_ns; /* since the last progress of the queue */
	u64 spent_ns; /* of the engine's time */
	struct t3_sample last;
};

u64 t3_engine_time(u64 ns, u64 served, u64 work);
bool t3_timeout_expired(struct t3_timeout *timeout, u64 job, const struct t3_sample *now,
			u64 limit_ns);

#endif /* T3_TIMEOUT_H */
