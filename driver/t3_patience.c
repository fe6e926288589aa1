// SPDX-License-Identifier: GPL-2.0
#include <linux/math64.h>

#include "t3_patience.h"

/* The part of some time that the engine spent on a queue, by the work it did in it. */
u64 t3_engine_time(u64 ns, u64 served, u64 work)
{
	if (!served)
		return 0;
	return served >= work ? ns : mul_u64_u64_div_u64(ns, served, work);
}

/* Nothing is known of the time between two samples: another job, or the device was away. */
static bool t3_patience_is_new(const struct t3_patience *patience, u64 job,
			       const struct t3_sample *now)
{
	const struct t3_sample *last = &patience->last;

	return patience->job != job || last->outages != now->outages ||
	       now->served < last->served || now->work < last->work;
}

/*
 * Whether the job has had limit_ns of the engine, or the queue did not get on for as long.
 * Called at short intervals, as shares change; an interval counts whole.
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
