// SPDX-License-Identifier: GPL-2.0
#include <linux/math64.h>

#include "t3_patience.h"

/**
 * t3_engine_time() - estimate the engine's time that a queue had
 * @ns: real time
 * @served: work that the engine did for the queue in it
 * @work: all work that the engine did in it
 *
 * Return: nanoseconds, @ns at most.
 */
u64 t3_engine_time(u64 ns, u64 served, u64 work)
{
	if (!served)
		return 0;
	return served >= work ? ns : mul_u64_u64_div_u64(ns, served, work);
}

/* Nothing is known of the time between two samples: another job runs, or there was an outage. */
static bool t3_patience_is_new(const struct t3_patience *patience, u64 job,
			       const struct t3_sample *now)
{
	const struct t3_sample *last = &patience->last;

	return patience->job != job || last->outages != now->outages ||
	       now->served < last->served || now->work < last->work;
}

/**
 * t3_patience_ends() - tell whether the time of a job is used up
 * @patience: of its queue
 * @job: its number in the queue, not 0
 * @now: a new sample
 * @limit_ns: how long the job may use the engine, or the queue be without progress
 *
 * To be called at short intervals, as shares of the engine change. An interval counts whole.
 *
 * Return: true if it is.
 */
bool t3_patience_ends(struct t3_patience *patience, u64 job, const struct t3_sample *now,
		      u64 limit_ns)
{
	const struct t3_sample *last = &patience->last;
	u64 ns, served;

	if (t3_patience_is_new(patience, job, now)) {
		*patience = (struct t3_patience){ .job = job, .last = *now };
		return false;
	}
	ns = now->ns - last->ns;
	served = now->served - last->served;
	patience->idle_ns = served || now->head != last->head ? 0 : patience->idle_ns + ns;
	patience->spent_ns += t3_engine_time(ns, served, now->work - last->work);
	patience->last = *now;
	return patience->idle_ns >= limit_ns || patience->spent_ns >= limit_ns;
}

#ifdef T3_KUNIT
#include "tests/t3_patience_test.c"
#endif
