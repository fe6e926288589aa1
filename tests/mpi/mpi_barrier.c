// SPDX-License-Identifier: MIT
/*
 * MPI_Barrier with the component coll/t3: no rank leaves it before all have come.
 *
 *	mpirun -n 4 --mca coll_t3_barrier 1 mpi_barrier t3
 *	mpirun -n 4 mpi_barrier next
 *
 * Each rank counts the barriers that it comes to, in memory that all see. The ranks are of one node.
 */
#include <mpi.h>
#include <stdatomic.h>
#include <stdint.h>

#include "checks/checks.h"

#define ROUNDS 50

static _Atomic int *counter_of(MPI_Win window, int of)
{
	MPI_Aint bytes;
	void *at;
	int unit;

	MPI_Win_shared_query(window, of, &bytes, &unit, &at);
	return at;
}

/* A rank that waits for longer comes later; another one in each round. */
static void be_late(int round)
{
	volatile int i;

	for (i = 0; round % ranks == rank && i < 300000; i++)
		;
}

static void run_all(void)
{
	unsigned long long before, functions;
	int round, r, good = 1, sum;
	_Atomic int *own;
	MPI_Win window;
	void *at;

	MPI_Win_allocate_shared(sizeof(*own), sizeof(*own), MPI_INFO_NULL, comm, &at, &window);
	own = at;
	atomic_store(own, 0);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	before = done_by_t3("barrier");
	functions = counted("why_function");
	for (round = 1; round <= ROUNDS; round++) {
		be_late(round);
		atomic_store(own, round);
		MPI_Barrier(comm);
		for (r = 0; r < ranks; r++)
			good &= atomic_load(counter_of(window, r)) >= round;
		if (round % 7 == 0)
			MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
	}
	expect(good, "barrier", "a rank left it before all had come");
	expect_t3("barrier", before, ROUNDS);
	expect_counted("why_function", functions, 0);
	MPI_Win_free(&window);
}

int main(int argc, char **argv)
{
	return run_checks(argc, argv, run_all);
}
