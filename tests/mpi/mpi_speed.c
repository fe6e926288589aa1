// SPDX-License-Identifier: MIT
/*
 * How long a collective takes by T3, and by Open MPI's other components in the same processes:
 *
 *	mpirun -n 4 --mca coll_t3_allreduce_min 0 mpi_speed [allreduce [BYTES_FROM [BYTES_TO [RUNS
 *		[alloc]]]]]
 *
 * Both take turns, so that both have the same noise. A line has the message's bytes, the microseconds
 * of each (the median of the runs, of the slowest rank), and how many times faster T3 is. With the word
 * alloc T3 does both: with memory of MPI_Alloc_mem, and with ordinary memory.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is compared. */
struct side {
	MPI_Comm comm;
	float *in, *out;
};

static struct side first, second;
static MPI_Comm without;
static int ranks;

#define RANKS_MAX 1024

static void allreduce(const struct side *s, int count)
{
	MPI_Allreduce(s->in, s->out, count, MPI_FLOAT, MPI_SUM, s->comm);
}

static void reduce(const struct side *s, int count)
{
	MPI_Reduce(s->in, s->out, count, MPI_FLOAT, MPI_SUM, 0, s->comm);
}

static void reduce_scatter_block(const struct side *s, int count)
{
	MPI_Reduce_scatter_block(s->in, s->out, count / ranks, MPI_FLOAT, MPI_SUM, s->comm);
}

static void allgather(const struct side *s, int count)
{
	MPI_Allgather(s->in, count / ranks, MPI_FLOAT, s->out, count / ranks, MPI_FLOAT, s->comm);
}

static void alltoall(const struct side *s, int count)
{
	MPI_Alltoall(s->in, count / ranks, MPI_FLOAT, s->out, count / ranks, MPI_FLOAT, s->comm);
}

static void bcast(const struct side *s, int count)
{
	MPI_Bcast(s->in, count, MPI_FLOAT, 0, s->comm);
}

static void gather(const struct side *s, int count)
{
	MPI_Gather(s->in, count / ranks, MPI_FLOAT, s->out, count / ranks, MPI_FLOAT, 0, s->comm);
}

static void scatter(const struct side *s, int count)
{
	MPI_Scatter(s->in, count / ranks, MPI_FLOAT, s->out, count / ranks, MPI_FLOAT, 0, s->comm);
}

/* Equal parts, so that the difference to functions without a v is that ranks do not know it. */
static void set_parts(int counts[RANKS_MAX], int places[RANKS_MAX], int count)
{
	int r;

	for (r = 0; r < ranks; r++) {
		counts[r] = count / ranks;
		places[r] = r * counts[r];
	}
}

static void allgatherv(const struct side *s, int count)
{
	int counts[RANKS_MAX], places[RANKS_MAX];

	set_parts(counts, places, count);
	MPI_Allgatherv(s->in, counts[0], MPI_FLOAT, s->out, counts, places, MPI_FLOAT, s->comm);
}

static void gatherv(const struct side *s, int count)
{
	int counts[RANKS_MAX], places[RANKS_MAX];

	set_parts(counts, places, count);
	MPI_Gatherv(s->in, counts[0], MPI_FLOAT, s->out, counts, places, MPI_FLOAT, 0, s->comm);
}

static void scatterv(const struct side *s, int count)
{
	int counts[RANKS_MAX], places[RANKS_MAX];

	set_parts(counts, places, count);
	MPI_Scatterv(s->in, counts, places, MPI_FLOAT, s->out, counts[0], MPI_FLOAT, 0, s->comm);
}

static void alltoallv(const struct side *s, int count)
{
	int counts[RANKS_MAX], places[RANKS_MAX];

	set_parts(counts, places, count);
	MPI_Alltoallv(s->in, counts, places, MPI_FLOAT, s->out, counts, places, MPI_FLOAT, s->comm);
}

/* T3 has none: both columns are Open MPI's. */
static void barrier(const struct side *s, int count)
{
	(void)count;
	MPI_Barrier(s->comm);
}

static const struct call {
	const char *name;
	void (*run)(const struct side *s, int count);
} calls[] = {
	{ "allreduce", allreduce },
	{ "reduce", reduce },
	{ "reduce_scatter_block", reduce_scatter_block },
	{ "allgather", allgather },
	{ "alltoall", alltoall },
	{ "bcast", bcast },
	{ "gather", gather },
	{ "scatter", scatter },
	{ "allgatherv", allgatherv },
	{ "gatherv", gatherv },
	{ "scatterv", scatterv },
	{ "alltoallv", alltoallv },
	{ "barrier", barrier },
};

static const struct call *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (!strcmp(calls[i].name, name))
			return &calls[i];
	fprintf(stderr,
		"mpi_speed: '%s' is no call: allreduce, reduce, reduce_scatter_block, allgather, "
		"alltoall, bcast, gather, scatter, allgatherv, gatherv, scatterv, alltoallv or "
		"barrier\n",
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
static double timed(const struct call *call, const struct side *s, int count)
{
	double start, mine, all;

	MPI_Barrier(without);
	start = MPI_Wtime();
	call->run(s, count);
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

	timed(call, &first, count); /* it makes the plan */
	timed(call, &second, count);
	for (i = 0; i < runs; i++) {
		t3[i] = timed(call, &first, count);
		next[i] = timed(call, &second, count);
	}
	qsort(t3, (size_t)runs, sizeof(*t3), by_size);
	qsort(next, (size_t)runs, sizeof(*next), by_size);
	if (!rank)
		printf("%-20s %10ld %12.0f %12.0f %8.2f\n", call->name, bytes, t3[runs / 2],
		       next[runs / 2], next[runs / 2] / t3[runs / 2]);
	fflush(stdout);
}

static float *memory(size_t bytes, int by_mpi)
{
	void *at = NULL;

	if (by_mpi)
		MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &at);
	else
		at = malloc(bytes);
	if (!at)
		MPI_Abort(MPI_COMM_WORLD, 2);
	return memset(at, 0, bytes);
}

static void make_sides(size_t bytes, int alloc)
{
	without = make_without();
	MPI_Comm_dup(MPI_COMM_WORLD, &first.comm);
	first.in = memory(bytes, alloc);
	first.out = memory(bytes, alloc);
	second = first;
	if (alloc) {
		second.in = memory(bytes, 0);
		second.out = memory(bytes, 0);
	} else {
		second.comm = without;
	}
}

static void free_sides(int alloc)
{
	free(second.in);
	free(second.out);
	if (alloc) {
		MPI_Free_mem(first.in);
		MPI_Free_mem(first.out);
	}
}

int main(int argc, char **argv)
{
	long bytes, from = argc > 2 ? atol(argv[2]) : 1024,
		    to = argc > 3 ? atol(argv[3]) : 67108864;
	int runs = argc > 4 ? atoi(argv[4]) : 5, alloc = argc > 5 && !strcmp(argv[5], "alloc"),
	    rank;
	const struct call *call = find(argc > 1 ? argv[1] : "allreduce");

	if (from < 4 || to > 1l << 30 || from > to || runs < 1 || runs > RUNS_MAX) {
		fprintf(stderr, "mpi_speed: bytes are 4 to 2^30, runs 1 to %d\n", RUNS_MAX);
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (ranks > RANKS_MAX)
		MPI_Abort(MPI_COMM_WORLD, 2);
	make_sides((size_t)to, alloc);
	if (!rank)
		printf("%-20s %10s %12s %12s %8s\n", "call", "bytes", alloc ? "alloc us" : "t3 us",
		       alloc ? "malloc us" : "others us", "faster");
	for (bytes = from; bytes <= to; bytes *= 4)
		compare(call, bytes, runs, rank);
	free_sides(alloc);
	return MPI_Finalize();
}
