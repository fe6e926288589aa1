// SPDX-License-Identifier: GPL-2.0-only
/*
 * The time that a job uses: by samples of the engine's work, not by the clock alone.
 */
#include <linux/math64.h>

#include "t3_timeout.h"

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

/* Time is unknown between two samples: another job runs, or there was an outage. */
static bool t3_timeout_is_new(const struct t3_timeout *timeout, u64 job,
			      const struct t3_sample *now)
{
	const struct t3_sample *last = &timeout->last;

	return timeout->job != job || last->outages != now->outages ||
	       now->served < last->served || now->work < last->work;
}

/**
 * t3_timeout_expired() - check whether the time of a job is used up
 * @timeout: of its queue
 * @job: its number in the queue, not 0
 * @now: a new sample
 * @limit_ns: how long the job may use the engine, or the queue be without progress
 *
 * To be called at short intervals, as shares of the engine change. An interval counts whole.
 *
 * Return: true if it is.
 */
bool t3_timeout_expired(struct t3_timeout *timeout, u64 job, const struct t3_sample *now,
			u64 limit_ns)
{
	const struct t3_sample *last = &timeout->last;
	u64 ns, served;

	if (t3_timeout_is_new(timeout, job, now)) {
		*timeout = (struct t3_timeout){ .job = job, .last = *now };
		return false;
	}
	ns = now->ns - last->ns;
	served = now->served - last->served;
	timeout->idle_ns = served || now->head != last->head ? 0 : timeout->idle_ns + ns;
	timeout->spent_ns += t3_engine_time(ns, served, now->work - last->work);
	timeout->last = *now;
	return timeout->idle_ns >= limit_ns || timeout->spent_ns >= limit_ns;
}

#ifdef T3_KUNIT
#include "tests/t3_timeout_test.c"
#endif
