// SPDX-License-Identifier: MIT
/* All ranks of a fabric together: a fused all-reduce, driven by this one thread. */
#include <errno.h>
#include <string.h>

#include "selftest/selftest.h"
#include "t3_coll.h"

#define COUNT 1000u /* elements; for most numbers of ranks the chunks are ragged */

struct group {
	uint32_t ranks;
	struct t3_device *devs[T3_COMM_RANKS_MAX];
	struct t3_comm *comms[T3_COMM_RANKS_MAX];
	struct t3_plan *plans[T3_COMM_RANKS_MAX];
};

static bool find_ranks(struct selftest *test, struct group *group)
{
	const struct tool_device *device;
	size_t i;

	*group = (struct group){ .ranks = test->device->info.ranks };
	for (i = 0; i < test->devices->count; i++) {
		device = &test->devices->list[i];
		if (device->info.fabric_id == test->device->info.fabric_id &&
		    device->info.rank < T3_COMM_RANKS_MAX)
			group->devs[device->info.rank] = device->dev;
	}
	for (i = 0; i < group->ranks; i++)
		if (!group->devs[i])
			return false;
	return true;
}

static bool good(struct selftest *test, const struct group *group, uint32_t rank, const char *what,
		 int ret)
{
	const char *why = group->plans[rank] ? t3_plan_error(group->plans[rank])
					     : t3_comm_error(group->comms[rank]);

	if (!ret)
		return true;
	return !selftest_too_small(test, what, ret) &&
	       selftest_fail(test, "%s at rank %u: %s", what, rank, *why ? why : strerror(-ret));
}

static bool compare(struct selftest *test, struct group *group, uint32_t rank)
{
	uint32_t all = group->ranks * (group->ranks + 1) / 2, i;
	const void *data;
	uint64_t bytes;

	if (!good(test, group, rank, "the result",
		  t3_plan_result(group->plans[rank], &data, &bytes)))
		return false;
	if (bytes != COUNT * sizeof(int32_t))
		return selftest_fail(test, "the result at rank %u has %llu bytes", rank,
				     (unsigned long long)bytes);
	for (i = 0; i < COUNT; i++)
		if (((const int32_t *)data)[i] != (int32_t)(i % 97 * all))
			return selftest_fail(test, "element %u at rank %u is not the sum", i, rank);
	return true;
}

/* Do each step for all ranks before the next step, because the thread must not wait for itself. */
static bool run(struct selftest *test, struct group *group)
{
	int32_t values[COUNT];
	uint32_t rank, i;

	for (rank = 0; rank < group->ranks; rank++)
		if (!good(test, group, rank, "arming", t3_plan_arm(group->plans[rank])))
			return false;
	for (rank = 0; rank < group->ranks; rank++)
		if (!good(test, group, rank, "waiting for peers",
			  t3_plan_ready(group->plans[rank], test->deadline)))
			return false;
	for (rank = 0; rank < group->ranks; rank++) {
		for (i = 0; i < COUNT; i++)
			values[i] = (int32_t)(i % 97 * (rank + 1));
		if (!good(test, group, rank, "putting an input",
			  t3_plan_put(group->plans[rank], 0, values, COUNT)))
			return false;
	}
	for (rank = 0; rank < group->ranks; rank++)
		if (!good(test, group, rank, "waiting for the result",
			  t3_plan_wait(group->plans[rank], test->deadline)) ||
		    !compare(test, group, rank))
			return false;
	return true;
}

bool selftest_all_reduce(struct selftest *test)
{
	const struct t3_plan_desc desc = { .collective = T3_ALL_REDUCE,
					   .count = COUNT,
					   .dtype = DRM_T3_I32,
					   .op = DRM_T3_OP_ADD };
	struct group group;
	uint32_t rank;
	bool passed;
	int ret;

	if (test->device->info.ranks < 2)
		return selftest_skip(test, "the device is on no fabric");
	if (!find_ranks(test, &group))
		return selftest_skip(test, "not all ranks of the fabric are looked at");
	ret = t3_comm_create_local(group.devs, group.ranks, group.comms);
	if (ret)
		return selftest_good(test, "making communicators", ret);
	ret = t3_plan_create_all(group.comms, group.ranks, &desc, group.plans);
	passed = ret ? good(test, &group, 0, "making plans", ret) : run(test, &group);
	for (rank = 0; rank < group.ranks && !ret; rank++)
		t3_plan_destroy(group.plans[rank]);
	for (rank = 0; rank < group.ranks; rank++)
		t3_comm_destroy(group.comms[rank]);
	return passed;
}
