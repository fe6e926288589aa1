// SPDX-License-Identifier: MIT
/* Parts shared by the programs that check collectives: see checks.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks.h"

int rank, ranks;
MPI_Comm comm;
int by_t3 = 1;

static unsigned long checks, failures;

static void fail(const char *what, const char *how)
{
	failures++;
	fprintf(stderr, "rank %d of %d: %s: %s\n", rank, ranks, what, how);
}

void expect(int good, const char *what, const char *how)
{
	checks++;
	if (!good)
		fail(what, how);
}

/* ---------------------------------------------------------------------- counters */

/* Calls by T3, and calls that were passed on by their reason. */
static const char *const counters[] = { "t3_allreduce",
					"t3_reduce",
					"t3_reduce_scatter",
					"t3_reduce_scatter_block",
					"t3_allgather",
					"t3_alltoall",
					"t3_bcast",
					"t3_allgatherv",
					"t3_gather",
					"t3_gatherv",
					"t3_scatter",
					"t3_scatterv",
					"t3_alltoallv",
					"t3_iallreduce",
					"t3_ireduce",
					"t3_ireduce_scatter",
					"t3_ireduce_scatter_block",
					"t3_allreduce_init",
					"t3_reduce_init",
					"t3_reduce_scatter_init",
					"t3_reduce_scatter_block_init",
					"t3_barrier",
					"t3_bytes",
					"starts",
					"start_bytes",
					"why_short",
					"why_short_bytes",
					"why_type",
					"why_op",
					"why_own_op",
					"why_parts",
					"why_unasked",
					"why_early",
					"why_plan",
					"why_function" };

#define COUNTERS (sizeof(counters) / sizeof(*counters))

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[COUNTERS];

/* A handle counts from its own begin on. Without the component there are none. */
static void open_counters(void)
{
	char name[80];
	int index, count;
	size_t i;

	MPI_T_init_thread(MPI_THREAD_SINGLE, &count);
	MPI_T_pvar_session_create(&session);
	for (i = 0; i < COUNTERS; i++) {
		handles[i] = MPI_T_PVAR_HANDLE_NULL;
		snprintf(name, sizeof(name), "coll_t3_%s", counters[i]);
		if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS)
			MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count);
	}
}

unsigned long long counted(const char *name)
{
	unsigned long long value = 0;
	size_t i;

	for (i = 0; strcmp(counters[i], name); i++)
		;
	if (handles[i] != MPI_T_PVAR_HANDLE_NULL)
		MPI_T_pvar_read(session, handles[i], &value);
	return value;
}

unsigned long long done_by_t3(const char *call)
{
	char name[80];

	snprintf(name, sizeof(name), "t3_%s", call);
	return counted(name);
}

void expect_t3(const char *call, unsigned long long before, int wanted)
{
	unsigned long long done = done_by_t3(call) - before;

	if (by_t3 >= 0)
		expect(done == (unsigned long long)(by_t3 ? wanted : 0), call,
		       done ? "T3 did a call that it should have passed on"
			    : "T3 did not do a call that it can do");
}

void expect_counted(const char *name, unsigned long long before, unsigned long long wanted)
{
	if (by_t3 > 0)
		expect(counted(name) - before == wanted, name, "the counter is wrong");
}

/* ---------------------------------------------------------------------- data */

int64_t raw(int of, uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)(of + 1) * 0xd1b54a32d192ed03ull;

	return (int32_t)(x >> 24);
}

int untouched(const unsigned char *buf, size_t bytes)
{
	size_t i;

	for (i = 0; i < bytes && buf[i] == 0xa5; i++)
		;
	return i == bytes;
}

void *buffer(size_t bytes)
{
	unsigned char *buf = malloc(bytes + GUARD);

	if (!buf)
		MPI_Abort(MPI_COMM_WORLD, 2);
	memset(buf, 0xa5, bytes + GUARD);
	return buf;
}

/* ---------------------------------------------------------------------- the program */

void use(MPI_Comm other)
{
	comm = other;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
}

int run_checks(int argc, char **argv, void (*run)(void))
{
	unsigned long mine[2], all[2];

	MPI_Init(&argc, &argv);
	open_counters();
	if (argc > 1)
		by_t3 = !strcmp(argv[1], "t3") ? 1 : !strcmp(argv[1], "next") ? 0 : -1;
	use(MPI_COMM_WORLD);
	run();
	mine[0] = checks;
	mine[1] = failures;
	MPI_Reduce(mine, all, 2, MPI_UNSIGNED_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%lu checks on %d ranks, %lu failed\n", all[0], ranks, all[1]);
	MPI_T_finalize();
	MPI_Finalize();
	return failures ? 1 : 0;
}
