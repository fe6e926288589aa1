// SPDX-License-Identifier: MIT
/*
 * A fused all-reduce among the processes of Open MPI, a T3 device for each:
 *
 *	mpirun -n 4 mpi_all_reduce
 *
 * MPI starts the processes and carries what they need to meet. From then on data moves by the devices:
 * each process just writes its input, chunk by chunk, and waits for the sum.
 */
#include <errno.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "t3_coll.h"

#define ELEMENTS   10007 /* no multiple of anything */
#define ITERATIONS 5
#define SECONDS	   20

static int rank, ranks;

static int64_t deadline(void)
{
	return t3_deadline(SECONDS * 1000000000ull);
}

/* MPI ends the other processes, too. */
static void check(int ret, const char *what, const char *why)
{
	if (!ret)
		return;
	fprintf(stderr, "rank %d: %s: %s%s%s\n", rank, what, strerror(-ret), *why ? ": " : "", why);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* MPI's own all-gather carries what the ranks need to meet. */
static int all_gather(void *ctx, const void *mine, void *all, size_t bytes)
{
	(void)ctx;
	if (MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD))
		return -ECOMM;
	return 0;
}

static void join(struct t3_device *dev, struct t3_comm **comm)
{
	char why[T3_COMM_TEXT_SIZE];
	struct t3_bootstrap_desc desc = {
		.all_gather = all_gather,
		.rank = (uint32_t)rank,
		.ranks = (uint32_t)ranks,
		.text = why,
		.text_size = sizeof(why),
	};
	int ret = t3_comm_create_bootstrap(dev, &desc, deadline(), comm);

	check(ret, "t3_comm_create_bootstrap", why);
}

static int32_t input_at(int of_rank, int iteration, uint64_t index)
{
	return (int32_t)(((uint64_t)of_rank + 1) * (index + 1) + (uint64_t)iteration * 1000003);
}

/* A producer: it makes a piece and puts it where all ranks' pieces are added up. */
static void produce(struct t3_plan *plan, int iteration)
{
	int32_t piece[100];
	uint64_t first, count, at, n, k;
	int i;

	for (i = 0; i < ranks; i++) {
		check(t3_plan_chunk(plan, t3_plan_order(plan, (uint32_t)i), &first, &count),
		      "t3_plan_chunk", "");
		for (at = 0; at < count; at += n) {
			n = count - at < 100 ? count - at : 100;
			for (k = 0; k < n; k++)
				piece[k] = input_at(rank, iteration, first + at + k);
			check(t3_plan_put(plan, first + at, piece, n), "t3_plan_put",
			      t3_plan_error(plan));
		}
	}
}

/* What MPI makes of the same input. */
static void verify(struct t3_plan *plan, int iteration)
{
	static int32_t input[ELEMENTS], sum[ELEMENTS];
	const void *result;
	uint64_t bytes;
	int i;

	for (i = 0; i < ELEMENTS; i++)
		input[i] = input_at(rank, iteration, (uint64_t)i);
	MPI_Allreduce(input, sum, ELEMENTS, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
	check(t3_plan_result(plan, &result, &bytes), "t3_plan_result", t3_plan_error(plan));
	if (bytes != sizeof(sum) || memcmp(result, sum, sizeof(sum)))
		check(-1, "the result", "it is not MPI's");
}

static void all_reduce(struct t3_comm *comm)
{
	struct t3_plan_desc desc = {
		.collective = T3_ALL_REDUCE,
		.count = ELEMENTS,
		.dtype = DRM_T3_I32,
		.op = DRM_T3_OP_ADD,
	};
	struct t3_plan *plan;
	int i;

	check(t3_plan_create(comm, &desc, deadline(), &plan), "t3_plan_create",
	      t3_comm_error(comm));
	for (i = 0; i < ITERATIONS; i++) {
		check(t3_plan_start(plan, deadline()), "t3_plan_start", t3_plan_error(plan));
		produce(plan, i);
		check(t3_plan_wait(plan, deadline()), "t3_plan_wait", t3_plan_error(plan));
		verify(plan, i);
	}
	t3_plan_destroy(plan);
}

int main(int argc, char **argv)
{
	struct t3_device *dev;
	struct t3_comm *comm;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	check(t3_device_open_rank(0, (uint32_t)rank, &dev), "t3_device_open_rank", "");
	join(dev, &comm);
	all_reduce(comm);
	check(t3_comm_barrier(comm, deadline()), "t3_comm_barrier", t3_comm_error(comm));
	t3_comm_destroy(comm);
	t3_device_close(dev);
	printf("rank %d of %d: %d sums of %d elements are MPI's\n", rank, ranks, ITERATIONS,
	       ELEMENTS);
	return MPI_Finalize();
}
