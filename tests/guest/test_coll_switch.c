// SPDX-License-Identifier: MIT
/*
 * Collectives through a switch of 8 ranks, with all ranks in one thread: all types and ops, both
 * paths, the bytes on the links, the end of a rank, and groups that are used up.
 */
#include "coll.h"
#include "debugfs.h"

#define RANKS 8u

static bool is_reduction(uint32_t collective)
{
	return collective == T3_REDUCE_SCATTER || collective == T3_ALL_REDUCE;
}

/* The number of the case selects the values that are not given. */
static struct coll_job job_of(uint32_t collective, uint32_t algorithm, uint64_t count, uint32_t i)
{
	struct coll_job job = {
		.desc = {
			.collective = collective,
			.algorithm = algorithm,
			.count = count,
			.dtype = i % (is_reduction(collective) ? 4 : 6),
			.op = is_reduction(collective) ? DRM_T3_OP_ADD + i / 4 % 3 : 0,
			.path = T3_PATH_STORE + i % 2,
			.root = collective == T3_BROADCAST ? i % RANKS : 0,
		},
		.ranks = RANKS,
		.full = true,
		.seed = i * 1000003 + count,
	};

	if (i % 3 == 1)
		job.desc.tile_columns = 5;
	if (i % 5 == 3) {
		job.desc.columns = 6;
		job.desc.count *= 6;
		job.desc.tile_rows = 2;
	}
	return job;
}

static void run_all(uint32_t collective)
{
	static const uint64_t counts[] = { 1, RANKS - 1, RANKS + 1, 97, 3000 };
	struct coll_job job;
	struct coll coll;
	uint32_t i;

	coll_open(&coll, RANKS, COLL_FULL);
	for (i = 0; i < 3 * ROWS(counts); i++) {
		job = job_of(collective, T3_ALGORITHM_SWITCH, counts[i % ROWS(counts)],
			     i + collective);
		coll_run(&coll, &job, 3);
	}
	coll_close(&coll);
}

SLOW_TEST("reduce-scatter through a switch gives the right result")
{
	run_all(T3_REDUCE_SCATTER);
}

SLOW_TEST("all-gather through a switch gives the right result")
{
	run_all(T3_ALL_GATHER);
}

SLOW_TEST("all-reduce through a switch gives the right result")
{
	run_all(T3_ALL_REDUCE);
}

SLOW_TEST("broadcast through a switch gives the right result")
{
	run_all(T3_BROADCAST);
}

/* Each rank's bits are those of the order of the ranks: coll_check() knows no other one. */
SLOW_TEST("deterministic sums have their order beside a switch")
{
	struct coll_job job;
	struct coll coll;
	uint32_t i;

	coll_open(&coll, RANKS, COLL_FULL);
	for (i = 0; i < 8; i++) {
		job = job_of(i % 2 ? T3_ALL_REDUCE : T3_REDUCE_SCATTER, T3_ALGORITHM_SWITCH, 500,
			     i);
		job.desc.dtype = DRM_T3_F32;
		job.desc.op = DRM_T3_OP_ADD;
		job.desc.flags = T3_PLAN_DETERMINISTIC;
		coll_run(&coll, &job, 2);
	}
	coll_close(&coll);
}

SLOW_TEST("a plan through a switch serves many epochs")
{
	struct coll_job job = job_of(T3_ALL_REDUCE, T3_ALGORITHM_AUTO, 61, 1);
	struct coll coll;

	job.desc.algorithm = T3_ALGORITHM_SWITCH;
	coll_open(&coll, RANKS, COLL_FULL);
	coll_run(&coll, &job, 100);
	coll_close(&coll);
}

/* ----------------------------------------------------------------------- bytes */

struct traffic {
	uint64_t sent[RANKS], received[RANKS];
};

static struct traffic traffic_of(const struct coll *coll)
{
	struct drm_t3_counters counters;
	struct traffic traffic;
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		CHECK_EQ(t3_device_counters(coll->dev[r], &counters), 0);
		traffic.sent[r] = counters.value[DRM_T3_COUNTER_LINK_TX_BYTES];
		traffic.received[r] = counters.value[DRM_T3_COUNTER_LINK_RX_BYTES];
	}
	return traffic;
}

/* What an epoch of it moves, without the set-up. The input is put by whole chunks. */
static struct traffic measure(struct coll *coll, const struct coll_job *job)
{
	struct traffic before, after;
	void *input;
	uint32_t r;

	CHECK_EQ(t3_plan_create_all(coll->comm, RANKS, &job->desc, coll->plan), 0);
	before = traffic_of(coll);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_arm(coll->plan[r]), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_ready(coll->plan[r], COLL_DEADLINE), 0);
	for (r = 0; r < RANKS; r++) {
		input = coll_input(job, 1, r);
		coll_put(job, coll->plan[r], input, COLL_CHUNKS);
		free(input);
	}
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_wait(coll->plan[r], COLL_DEADLINE), 0);
	after = traffic_of(coll);
	coll_check_plan(job, coll->plan[3], 1, 3);
	for (r = 0; r < RANKS; r++)
		t3_plan_destroy(coll->plan[r]);
	for (r = 0; r < RANKS; r++) {
		after.sent[r] -= before.sent[r];
		after.received[r] -= before.received[r];
	}
	return after;
}

/*
 * Of N ranks each has to send its input, all but its own chunk, and its sum: all S bytes. A ring
 * passes 2 (N - 1) / N of S. So the least part of that is N / (2 (N - 1)).
 */
SLOW_TEST("an all-reduce through a switch moves about half of the ring's bytes per rank")
{
	struct coll_job job = job_of(T3_ALL_REDUCE, T3_ALGORITHM_RING, 1 << 16, 0);
	struct traffic ring, net;
	struct coll coll;
	uint32_t r;

	job.desc.tile_columns = 4096;
	job.desc.path = T3_PATH_DOORBELL;
	coll_open(&coll, RANKS, COLL_FULL);
	ring = measure(&coll, &job);
	job.desc.algorithm = T3_ALGORITHM_SWITCH;
	net = measure(&coll, &job);
	coll_close(&coll);
	for (r = 0; r < RANKS; r++) {
		double least = RANKS / 2.0 / (RANKS - 1);
		double sent = (double)net.sent[r] / ring.sent[r];
		double received = (double)net.received[r] / ring.received[r];

		print_message("# rank %u: %.3f of the ring's bytes sent, %.3f received\n", r, sent,
			      received);
		CHECK(sent <= least + 0.1);
		CHECK(received <= least + 0.1);
	}
}

/* A root sends its data once, not to each of the others. */
SLOW_TEST("a broadcast through a switch leaves its root once")
{
	struct coll_job job = job_of(T3_BROADCAST, T3_ALGORITHM_SWITCH, 1 << 16, 0);
	uint64_t bytes = 4u << 16, least = bytes + bytes / 1024 * 64;
	struct traffic net;
	struct coll coll;

	job.desc.dtype = DRM_T3_I32;
	job.desc.root = 0;
	job.desc.tile_columns = 4096;
	coll_open(&coll, RANKS, COLL_FULL);
	net = measure(&coll, &job);
	coll_close(&coll);
	CHECK(net.sent[0] >= least && net.sent[0] < least + least / 50);
}

/* ----------------------------------------------------------------- groups, ends */

static uint64_t groups_of(uint32_t rank)
{
	return debugfs_number(rank, "switch", "groups");
}

TEST("groups end with their plans")
{
	struct coll_job job = job_of(T3_ALL_REDUCE, T3_ALGORITHM_SWITCH, 97, 0);
	struct coll coll;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_FULL);
	CHECK_EQ(t3_plan_create_all(coll.comm, RANKS, &job.desc, coll.plan), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(groups_of(r), 2);
	for (r = 0; r < RANKS; r++)
		t3_plan_destroy(coll.plan[r]);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(groups_of(r), 0);
	coll_close(&coll);
}

/* Of 32 groups of each device a plan takes two. */
#define PLANS (DRM_T3_GROUPS_MAX / 2)

SLOW_TEST("auto does without a switch when groups are used up")
{
	struct coll_job job = job_of(T3_ALL_REDUCE, T3_ALGORITHM_AUTO, 97, 0);
	struct t3_plan *plans[PLANS][RANKS];
	struct coll coll;
	uint32_t r, i;

	coll_open(&coll, RANKS, COLL_FULL);
	for (i = 0; i < PLANS; i++) {
		CHECK_EQ(t3_plan_create_all(coll.comm, RANKS, &job.desc, plans[i]), 0);
		CHECK_EQ(groups_of(3), 2 * (i + 1));
	}
	job.desc.algorithm = T3_ALGORITHM_SWITCH;
	CHECK_EQ(t3_plan_create_all(coll.comm, RANKS, &job.desc, coll.plan), -ENOSPC);
	job.desc.algorithm = T3_ALGORITHM_AUTO;
	coll_run(&coll, &job, 2);
	CHECK_EQ(groups_of(3), DRM_T3_GROUPS_MAX);
	for (i = 0; i < PLANS; i++)
		for (r = 0; r < RANKS; r++)
			t3_plan_destroy(plans[i][r]);
	coll_close(&coll);
}

/* All others are told within the deadline, and by whom. */
SLOW_TEST("the end of a rank ends the collective at all others in time")
{
	struct coll_job job = job_of(T3_ALL_REDUCE, T3_ALGORITHM_SWITCH, 3000, 0);
	struct coll coll;
	int64_t begun;
	void *input;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_FULL);
	CHECK_EQ(t3_plan_create_all(coll.comm, RANKS, &job.desc, coll.plan), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_arm(coll.plan[r]), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_ready(coll.plan[r], COLL_DEADLINE), 0);
	for (r = 0; r < RANKS; r++) {
		if (r == 5)
			continue;
		input = coll_input(&job, 1, r);
		coll_put(&job, coll.plan[r], input, COLL_CHUNKS);
		free(input);
	}
	t3_plan_destroy(coll.plan[5]);
	begun = now_ns();
	for (r = 0; r < RANKS; r++) {
		if (r == 5)
			continue;
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), -EIO);
		print_message("# %s\n", t3_plan_error(coll.plan[r]));
	}
	CHECK(now_ns() - begun < guest_slowness() * 2000000000ll);
	for (r = 0; r < RANKS; r++)
		if (r != 5)
			t3_plan_destroy(coll.plan[r]);
	coll_close(&coll);
}

TEST("a switch is refused where there is none")
{
	struct coll_job job = job_of(T3_ALL_REDUCE, T3_ALGORITHM_SWITCH, 97, 0);
	struct coll coll;

	coll_open(&coll, 4, COLL_FULL); /* another fabric of this VM: see vm-options */
	CHECK_EQ(t3_plan_create_all(coll.comm, 4, &job.desc, coll.plan), -EHOSTUNREACH);
	assert_string_equal(t3_comm_error(coll.comm[0]),
			    "algorithm SWITCH: the fabric has no switch (topology=switch)");
	coll_close(&coll);
}
