// SPDX-License-Identifier: MIT
/*
 * All collectives on rings of 2, 3, 4 and 5 and full fabrics of 2, 3 and 4, with all ranks in one
 * thread. They vary in types, ops, ragged sizes, matrices, both paths and each way of putting. Each
 * plan runs several epochs.
 */
#include "coll.h"

static const struct {
	uint32_t ranks;
	bool full;
} fabrics[] = {
	{ 4, COLL_RING }, { 2, COLL_RING }, { 3, COLL_RING },
	{ 5, COLL_RING }, { 2, COLL_FULL }, { 4, COLL_FULL },
};

static bool is_reduction(uint32_t collective)
{
	return collective == T3_REDUCE_SCATTER || collective == T3_ALL_REDUCE;
}

/* The number of the case selects the other values. */
static void vary(struct coll_job *job, uint32_t i)
{
	struct t3_plan_desc *d = &job->desc;
	bool reduction = is_reduction(d->collective);

	job->seed = i * 1000003 + d->count;
	d->dtype = i % (reduction ? 4 : 6);
	d->op = reduction ? DRM_T3_OP_ADD + i / 4 % 3 : 0;
	d->path = T3_PATH_STORE + i % 2;
	d->root = d->collective == T3_BROADCAST ? i % job->ranks : 0;
	if (i % 3 == 1)
		d->tile_columns = 5;
	if (i % 5 == 3) {
		d->columns = 6;
		d->count *= 6;
		d->tile_rows = d->collective == T3_ALL_TO_ALL ? 1 : 2;
	}
}

static void run_fabric(uint32_t collective, uint32_t ranks, bool full)
{
	const uint64_t counts[] = { 1, ranks - 1, ranks + 1, 97, 700 };
	struct coll_job job = { .ranks = ranks, .full = full };
	struct coll coll;
	uint32_t i, algorithm;

	coll_open(&coll, ranks, full);
	for (i = 0; i < 2 * ROWS(counts); i++) {
		for (algorithm = T3_ALGORITHM_AUTO; algorithm <= T3_ALGORITHM_RING; algorithm++) {
			if (algorithm && !full)
				continue;
			job.desc = (struct t3_plan_desc){
				.collective = collective,
				.algorithm = algorithm,
				.count = counts[i % ROWS(counts)],
			};
			vary(&job, i + collective);
			coll_run(&coll, &job, 3);
		}
	}
	coll_close(&coll);
}

static void run_fabrics(uint32_t collective)
{
	size_t i;

	for (i = 0; i < ROWS(fabrics); i++)
		run_fabric(collective, fabrics[i].ranks, fabrics[i].full);
}

SLOW_TEST("reduce-scatter gives the right result on each fabric")
{
	run_fabrics(T3_REDUCE_SCATTER);
}

SLOW_TEST("all-gather gives the right result on each fabric")
{
	run_fabrics(T3_ALL_GATHER);
}

SLOW_TEST("all-reduce gives the right result on each fabric")
{
	run_fabrics(T3_ALL_REDUCE);
}

SLOW_TEST("all-to-all gives the right result on each fabric")
{
	run_fabrics(T3_ALL_TO_ALL);
}

SLOW_TEST("broadcast gives the right result on each fabric")
{
	run_fabrics(T3_BROADCAST);
}

/* Many epochs of one plan. */
SLOW_TEST("a plan serves many epochs")
{
	struct coll_job job = {
		.desc = { .collective = T3_ALL_REDUCE, .count = 61, .op = DRM_T3_OP_ADD },
		.ranks = 4,
		.seed = 9,
	};
	struct coll coll;

	coll_open(&coll, 4, COLL_RING);
	coll_run(&coll, &job, 200);
	coll_close(&coll);
}

/* An array whose chunks are longer than the longest row has two segments for each. */
SLOW_TEST("chunks longer than the longest row have two segments each")
{
	struct t3_plan_desc desc = {
		.collective = T3_BROADCAST,
		.count = (UINT64_C(17) << 20) + 3,
		.dtype = DRM_T3_I8,
		.path = T3_PATH_DOORBELL,
		.tile_columns = 1 << 19,
	};
	unsigned char *whole = malloc(desc.count);
	const void *data;
	struct coll coll;
	uint64_t bytes, i;
	uint32_t r;

	CHECK(whole);
	for (i = 0; i < desc.count; i++)
		whole[i] = (unsigned char)(i * 7 + i / 4099);
	coll_open(&coll, 4, COLL_RING);
	CHECK_EQ(t3_plan_create_all(coll.comm, 4, &desc, coll.plan), 0);
	for (r = 0; r < 4; r++)
		CHECK_EQ(t3_plan_arm(coll.plan[r]), 0);
	for (r = 0; r < 4; r++)
		CHECK_EQ(t3_plan_ready(coll.plan[r], COLL_DEADLINE), 0);
	CHECK_EQ(t3_plan_put(coll.plan[0], 0, whole, desc.count), 0);
	for (r = 0; r < 4; r++) {
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), 0);
		CHECK_EQ(t3_plan_result(coll.plan[r], &data, &bytes), 0);
		CHECK_EQ(bytes, desc.count);
		CHECK(memcmp(data, whole, bytes) == 0);
	}
	for (r = 0; r < 4; r++)
		t3_plan_destroy(coll.plan[r]);
	coll_close(&coll);
	free(whole);
}
