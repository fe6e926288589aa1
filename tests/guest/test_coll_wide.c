// SPDX-License-Identifier: MIT
/* Collectives of 32 ranks, the maximum, in one thread: 63 segments for a rank. */
#include "coll.h"

static void run_all(bool full)
{
	static const uint64_t counts[] = { 31, 400 };
	struct coll_job job = { .ranks = 32, .full = full };
	uint32_t collective, i;
	struct coll coll;
	bool reduction;

	coll_open(&coll, 32, full);
	for (collective = T3_REDUCE_SCATTER; collective <= T3_BROADCAST; collective++) {
		reduction = collective == T3_REDUCE_SCATTER || collective == T3_ALL_REDUCE;
		for (i = 0; i < ROWS(counts); i++) {
			job.seed = collective * 100 + i;
			job.desc = (struct t3_plan_desc){
				.collective = collective,
				.count = counts[i],
				.dtype = reduction ? DRM_T3_BF16 : DRM_T3_U8,
				.op = reduction ? DRM_T3_OP_ADD : 0,
				.path = T3_PATH_STORE + i,
			};
			coll_run(&coll, &job, 2);
		}
	}
	coll_close(&coll);
}

SLOW_TEST("collectives of 32 ranks are right on a ring")
{
	run_all(COLL_RING);
}
