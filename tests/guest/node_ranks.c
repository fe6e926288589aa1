// SPDX-License-Identifier: MIT
/*
 * Collectives of all ranks of a cluster of VMs, checked element by element: `t3-vm cluster` runs it
 * on each node (tests/cluster.py). It is a process for each device of this node. They meet over TCP.
 *
 * usage: node_ranks [VICTIM]    this rank ends in the middle, and all others must get an error
 */
#define _GNU_SOURCE /* syscall */
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "child.h"
#include "coll.h"

#define LIMIT 120000 /* ms, of child_end() */

static int64_t soon(void)
{
	return COLL_DEADLINE;
}

struct rank {
	struct coll_job job;
	uint32_t rank, victim;
	struct t3_comm *comm;
};

static uint32_t variable(const char *name)
{
	const char *text = getenv(name);

	CHECK(text);
	return (uint32_t)strtoul(text, NULL, 0);
}

static void run_plan(struct rank *r, uint32_t epochs)
{
	struct t3_plan *plan;
	uint32_t epoch;
	void *input;

	if (t3_plan_create(r->comm, &r->job.desc, soon(), &plan))
		guest_fail(__FILE__, __LINE__, "rank %u: %s", r->rank, t3_comm_error(r->comm));
	for (epoch = 1; epoch <= epochs; epoch++) {
		input = coll_input(&r->job, epoch, r->rank);
		if (t3_plan_start(plan, soon()))
			guest_fail(__FILE__, __LINE__, "rank %u: %s", r->rank, t3_plan_error(plan));
		coll_put(&r->job, plan, input, epoch % COLL_WAYS);
		free(input);
		if (t3_plan_wait(plan, soon()))
			guest_fail(__FILE__, __LINE__, "rank %u: %s", r->rank, t3_plan_error(plan));
		coll_check_plan(&r->job, plan, epoch, r->rank);
	}
	CHECK_EQ(t3_comm_barrier(r->comm, soon()), 0);
	t3_plan_destroy(plan);
}

/*
 * With a switch AUTO is SWITCH. On a full fabric it is HIERARCHICAL, where there are several ranks on
 * each node.
 */
static void run_all(struct rank *r)
{
	static const struct t3_plan_desc descs[] = {
		{ .collective = T3_ALL_REDUCE, .dtype = DRM_T3_F32, .op = DRM_T3_OP_ADD },
		{ .collective = T3_REDUCE_SCATTER, .dtype = DRM_T3_BF16, .op = DRM_T3_OP_ADD },
		{ .collective = T3_ALL_REDUCE, .dtype = DRM_T3_I32, .op = DRM_T3_OP_MIN },
		{ .collective = T3_ALL_GATHER, .dtype = DRM_T3_F16 },
		{ .collective = T3_BROADCAST, .dtype = DRM_T3_U8, .root = 1 },
		{ .collective = T3_ALL_TO_ALL, .dtype = DRM_T3_F32 },
	};
	uint32_t algorithm;
	size_t i;

	for (i = 0; i < ROWS(descs); i++) {
		for (algorithm = T3_ALGORITHM_AUTO; algorithm <= r->job.full; algorithm++) {
			r->job.desc = descs[i];
			r->job.desc.algorithm = algorithm;
			r->job.desc.count = 4096 + 7 * r->job.ranks * i + i % 2;
			r->job.seed = 100 + i;
			run_plan(r, 4);
		}
	}
}

/* A row of ragged arrays and matrices with each type and op. */
static void run_types(struct rank *r)
{
	static const uint32_t columns[] = { 0, 5, 0, 1 };
	uint32_t i;

	for (i = 0; i < 12; i++) {
		r->job.desc = (struct t3_plan_desc){
			.collective = i / 4 % 2 ? T3_REDUCE_SCATTER : T3_ALL_REDUCE,
			.dtype = i % 4,
			.op = DRM_T3_OP_ADD + i / 4,
			.columns = columns[i / 3],
			.count = 5 * (r->job.ranks / (1 + i % 2) + i),
			.path = T3_PATH_STORE + i % 2,
		};
		r->job.seed = 200 + i;
		run_plan(r, 2);
	}
}

/*
 * Sums of floats of any size, by plans of any size, in the order of the ranks: an element has the
 * same bits on each number of nodes. Inputs are any bits, so an order that differs is seen.
 */
static void run_in_order(struct rank *r)
{
	static const uint32_t dtypes[] = { DRM_T3_F32, DRM_T3_F16, DRM_T3_BF16 };
	uint32_t i;

	for (i = 0; i < 12; i++) {
		r->job.desc = (struct t3_plan_desc){
			.collective = i % 2 ? T3_REDUCE_SCATTER : T3_ALL_REDUCE,
			.dtype = dtypes[i % 3],
			.op = i < 9 ? DRM_T3_OP_ADD : DRM_T3_OP_MUL,
			.count = (i * i * i * 7 + 1) * (1 + i / 6),
			.tile_columns = i % 4 ? 0 : 5 + i,
			.path = T3_PATH_STORE + i / 2 % 2,
			.flags = T3_PLAN_DETERMINISTIC,
		};
		r->job.seed = 300 + i;
		run_plan(r, 2);
	}
}

static void refuses(struct rank *r, const struct t3_plan_desc *desc, const char *why)
{
	struct t3_plan *plan;

	CHECK_EQ(t3_plan_create(r->comm, desc, soon(), &plan), -EINVAL);
	if (!strstr(t3_comm_error(r->comm), why))
		guest_fail(__FILE__, __LINE__, "rank %u: %s", r->rank, t3_comm_error(r->comm));
}

/* What does not fit the nodes is refused with a sentence. The communicator goes on. */
static void refuse_hierarchies(struct rank *r)
{
	struct t3_plan_desc desc = { .collective = T3_ALL_REDUCE,
				     .algorithm = T3_ALGORITHM_HIERARCHICAL,
				     .op = DRM_T3_OP_ADD,
				     .count = 100 };

	if (r->job.ranks == r->job.nodes)
		refuses(r, &desc, "HIERARCHICAL needs more than one rank on each node");
	desc.collective = T3_ALL_TO_ALL;
	desc.op = 0;
	refuses(r, &desc, "the algorithm of an all-to-all is RING or DIRECT");
}

/*
 * Epochs without a system call: the only exit ends the process. Ranks that look for others all the
 * time need a processor each.
 */
static void run_strict(struct rank *r)
{
	struct t3_plan *plan;
	uint32_t epoch;
	void *input[4];

	r->job.desc = (struct t3_plan_desc){
		.collective = T3_ALL_REDUCE, .dtype = DRM_T3_F32, .op = DRM_T3_OP_ADD, .count = 999
	};
	CHECK_EQ(t3_plan_create(r->comm, &r->job.desc, soon(), &plan), 0);
	t3_plan_set_spin(plan, UINT64_MAX);
	for (epoch = 0; epoch < ROWS(input); epoch++)
		input[epoch] = coll_input(&r->job, epoch + 1, r->rank);
	CHECK_EQ(t3_comm_barrier(r->comm, soon()), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), 0);
	for (epoch = 0; epoch < ROWS(input); epoch++) {
		CHECK_EQ(t3_plan_start(plan, INT64_MAX), 0);
		coll_put(&r->job, plan, input[epoch], epoch % COLL_WAYS);
		CHECK_EQ(t3_plan_wait(plan, INT64_MAX), 0);
		coll_check_plan(&r->job, plan, epoch + 1, r->rank);
	}
	syscall(SYS_exit, 0);
}

/* The victim ends without a word after an epoch. Each other rank gets an error within its time. */
static void lose_one(struct rank *r)
{
	struct t3_plan *plan;
	void *input;
	int ret;

	r->job.desc = (struct t3_plan_desc){
		.collective = T3_ALL_REDUCE, .dtype = DRM_T3_F32, .op = DRM_T3_OP_ADD, .count = 4096
	};
	CHECK_EQ(t3_plan_create(r->comm, &r->job.desc, soon(), &plan), 0);
	if (r->rank == r->victim)
		_exit(0);
	input = coll_input(&r->job, 1, r->rank);
	ret = t3_plan_start(plan, soon());
	if (!ret) {
		coll_put(&r->job, plan, input, COLL_CHUNKS);
		ret = t3_plan_wait(plan, soon());
	}
	free(input);
	CHECK(ret == -EIO || ret == -EPIPE || ret == -ETIMEDOUT);
	printf("rank %u: %s\n", r->rank, t3_plan_error(plan));
	t3_plan_destroy(plan);
}

static void process(int sock, void *arg)
{
	struct rank *r = arg;
	struct t3_comm_desc desc = { .text = (char[T3_COMM_TEXT_SIZE]){ "" },
				     .text_size = T3_COMM_TEXT_SIZE };
	struct t3_device *dev;
	char text[16];

	(void)sock;
	dev = coll_device(r->job.ranks, r->job.full, r->rank);
	snprintf(text, sizeof(text), "%u", r->rank);
	setenv("RANK", text, 1);
	snprintf(text, sizeof(text), "%u", r->job.ranks);
	setenv("WORLD_SIZE", text, 1);
	if (t3_comm_create(dev, &desc, soon(), &r->comm))
		guest_fail(__FILE__, __LINE__, "rank %u: %s", r->rank, desc.text);
	if (r->victim == UINT32_MAX) {
		run_all(r);
		run_types(r);
		run_in_order(r);
		refuse_hierarchies(r);
		if (r->job.ranks / r->job.nodes <= (uint32_t)sysconf(_SC_NPROCESSORS_ONLN))
			run_strict(r);
	} else {
		lose_one(r);
	}
	t3_comm_destroy(r->comm);
	t3_device_close(dev);
}

static uint32_t topology(void)
{
	struct drm_t3_device_info info;
	struct t3_device_list *list;
	struct t3_device *dev;

	CHECK_EQ(t3_device_list(&list), 0);
	CHECK(t3_device_list_count(list));
	CHECK_EQ(t3_device_open(t3_device_list_get(list, 0)->node, &dev), 0);
	CHECK_EQ(t3_device_info(dev, &info), 0);
	t3_device_close(dev);
	t3_device_list_free(list);
	return info.topology;
}

int main(int argc, char **argv)
{
	uint32_t here = variable("T3_NODE_RANKS"), first = variable("T3_NODE") * here, i;
	struct child child[T3_COMM_RANKS_MAX];

	for (i = 0; i < here; i++) {
		struct rank r = {
			.job.ranks = variable("T3_NODES") * here,
			.job.nodes = variable("T3_NODES"),
			.job.full = topology() >= DRM_T3_TOPOLOGY_FULL,
			.job.grouped = topology() == DRM_T3_TOPOLOGY_SWITCH,
			.rank = first + i,
			.victim = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : UINT32_MAX,
		};

		child_start(&child[i], process, &r);
	}
	for (i = 0; i < here; i++)
		CHECK_EQ(child_end(&child[i], LIMIT), 0);
	printf("ranks %u to %u: good\n", first, first + here - 1);
	return 0;
}
