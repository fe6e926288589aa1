// SPDX-License-Identifier: MIT
/*
 * How long a collective takes by T3, and by Open MPI's other components in the same processes:
 *
 *	mpirun -n 4 --mca coll_t3_allreduce_min 0 mpi_speed [allreduce [BYTES_FROM [BYTES_TO [RUNS]]]]
 *
 * Both take turns, so that both have the same noise. A line has the message's bytes, the microseconds
 * of each (the median of the runs, of the slowest rank), and how many times faster T3 is.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm with_t3, without;
static float *in, *out;
static int ranks;

static void allreduce(MPI_Comm comm, int count)
{
	MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, comm);
}

static void reduce(MPI_Comm comm, int count)
{
	MPI_Reduce(in, out, count, MPI_FLOAT, MPI_SUM, 0, comm);
}

static void reduce_scatter_block(MPI_Comm comm, int count)
{
	MPI_Reduce_scatter_block(in, out, count / ranks, MPI_FLOAT, MPI_SUM, comm);
}

static void allgather(MPI_Comm comm, int count)
{
	MPI_Allgather(in, count / ranks, MPI_FLOAT, out, count / ranks, MPI_FLOAT, comm);
}

static void alltoall(MPI_Comm comm, int count)
{
	MPI_Alltoall(in, count / ranks, MPI_FLOAT, out, count / ranks, MPI_FLOAT, comm);
}

static void bcast(MPI_Comm comm, int count)
{
	MPI_Bcast(in, count, MPI_FLOAT, 0, comm);
}

static const struct call {
	const char *name;
	void (*run)(MPI_Comm comm, int count);
} calls[] = {
	{ "allreduce", allreduce },
	{ "reduce", reduce },
	{ "reduce_scatter_block", reduce_scatter_block },
	{ "allgather", allgather },
	{ "alltoall", alltoall },
	{ "bcast", bcast },
};

static const struct call *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	fprintf(stderr,
		"mpi_speed: '%s' is no call: allreduce, reduce, reduce_scatter_block, allgather, "
		"alltoall or bcast\n",
		name);
	exit(2);
}

/* A communicator of MPI_COMM_WORLD's ranks without the component, if there is one. */
static MPI_Comm make_without(void)
{
	int index, count, off = -1, was = 0;
	MPI_T_cvar_handle handle;
	MPI_Comm comm;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &count);
	if (MPI_T_cvar_get_index("coll_t3_priority", &index) != MPI_SUCCESS) {
		fprintf(stderr, "mpi_speed: Open MPI has no component coll/t3\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
	MPI_T_cvar_read(handle, &was);
	MPI_T_cvar_write(handle, &off);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_T_cvar_write(handle, &was);
	return comm;
}

/* Microseconds of the slowest rank. */
static double timed(const struct call *call, MPI_Comm comm, int count)
{
	double start, mine, all;

	MPI_Barrier(without);
	start = MPI_Wtime();
	call->run(comm, count);
	mine = MPI_Wtime() - start;
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, without);
	return all * 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

#define RUNS_MAX 101

static void compare(const struct call *call, long bytes, int runs, int rank)
{
	double t3[RUNS_MAX], next[RUNS_MAX];
	int count = (int)(bytes / 4), i;

	timed(call, with_t3, count); /* it makes the plan */
	timed(call, without, count);
	for (i = 0; i < runs; i++) {
		t3[i] = timed(call, with_t3, count);
		next[i] = timed(call, without, count);
	}
	qsort(t3, (size_t)runs, sizeof(*t3), by_size);
	qsort(next, (size_t)runs, sizeof(*next), by_size);
	if (!rank)
		printf("%-20s %10ld %12.0f %12.0f %8.2f\n", call->name, bytes, t3[runs / 2],
		       next[runs / 2], next[runs / 2] / t3[runs / 2]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long bytes, from = argc > 2 ? atol(argv[2]) : 1024,
		    to = argc > 3 ? atol(argv[3]) : 67108864;
	int runs = argc > 4 ? atoi(argv[4]) : 5, rank;
	const struct call *call = find(argc > 1 ? argv[1] : "allreduce");

	if (from < 4 || to > 1l << 30 || from > to || runs < 1 || runs > RUNS_MAX) {
		fprintf(stderr, "mpi_speed: bytes are 4 to 2^30, runs 1 to %d\n", RUNS_MAX);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	without = make_without();
	MPI_Comm_dup(MPI_COMM_WORLD, &with_t3);
	in = calloc((size_t)to, 1);
	out = calloc((size_t)to, 1);
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (!rank)
		printf("%-20s %10s %12s %12s %8s\n", "call", "bytes", "t3 us", "others us",
		       "faster");
	for (bytes = from; bytes <= to; bytes *= 4)
		compare(call, bytes, runs, rank);
	free(in);
	free(out);
	return MPI_Finalize();
}
