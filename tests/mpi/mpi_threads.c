// SPDX-License-Identifier: MIT
/*
 * Collectives of several threads at the same time, each on a communicator of its own:
 *
 *	mpirun -n 4 mpi_threads [CALLS]
 *
 * Blocking, non-blocking and persistent calls with changing lengths. While a thread waits, it makes progress for
 * the other ones, too. Rank 0 ends with how many sums were right.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#if OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

#define THREADS 3
#define LONGEST 40000

struct work {
	pthread_t thread;
	MPI_Comm comm;
	int number, calls;
	unsigned long right, wrong;
	int in[LONGEST], sum[LONGEST], later[LONGEST], again[LONGEST];
	MPI_Request request; /* a persistent sum of all of `in` */
};

static int rank, ranks;

static void check(struct work *w, const int *sum, int count, int call)
{
	int i, bad = 0;

	for (i = 0; i < count; i++)
		bad += sum[i] != ranks * (i + call + w->number) + ranks * (ranks - 1) / 2;
	w->wrong += bad != 0;
	w->right += bad == 0;
}

static void one_call(struct work *w, int call)
{
	int count = LONGEST - 4096 * ((call + w->number) % 3), i;
	MPI_Request request;

	for (i = 0; i < LONGEST; i++)
		w->in[i] = i + call + w->number + rank;
	MPI_Start(&w->request);
	MPI_Allreduce(w->in, w->sum, count, MPI_INT, MPI_SUM, w->comm);
	check(w, w->sum, count, call);
	MPI_Iallreduce(w->in, w->later, count, MPI_INT, MPI_SUM, w->comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(w, w->later, count, call);
	MPI_Wait(&w->request, MPI_STATUS_IGNORE);
	check(w, w->again, LONGEST, call);
}

/* The communicator ends while other threads go on. */
static void *run(void *opaque)
{
	struct work *w = opaque;
	int call;

	MPI_Allreduce_init(w->in, w->again, LONGEST, MPI_INT, MPI_SUM, w->comm, MPI_INFO_NULL,
			   &w->request);
	for (call = 0; call < w->calls; call++)
		one_call(w, call);
	MPI_Request_free(&w->request);
	MPI_Comm_free(&w->comm);
	return NULL;
}

static int run_all(struct work *works, int calls)
{
	unsigned long counts[2] = { 0, 0 }, all[2];
	int i;

	for (i = 0; i < THREADS; i++) {
		works[i].number = i;
		works[i].calls = calls + i;
		MPI_Comm_dup(MPI_COMM_WORLD, &works[i].comm);
	}
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&works[i].thread, NULL, run, &works[i]))
			MPI_Abort(MPI_COMM_WORLD, 2);
	for (i = 0; i < THREADS; i++) {
		pthread_join(works[i].thread, NULL);
		counts[0] += works[i].right;
		counts[1] += works[i].wrong;
	}
	MPI_Allreduce(counts, all, 2, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (!rank)
		printf("%d threads on %d ranks: %lu sums are right, %lu wrong\n", THREADS, ranks,
		       all[0], all[1]);
	return all[1] != 0;
}

int main(int argc, char **argv)
{
	struct work *works = calloc(THREADS, sizeof(*works));
	int calls = argc > 1 ? atoi(argv[1]) : 10, level, ret;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (level != MPI_THREAD_MULTIPLE || !works || calls < 1) {
		fprintf(stderr, "mpi_threads: no threads, no memory or no calls\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	ret = run_all(works, calls);
	free(works);
	MPI_Finalize();
	return ret;
}
