// SPDX-License-Identifier: MIT
/*
 * Each collective on both paths, by a process for each rank, over and over with inputs of a seed.
 * ordeal.h has the options.
 */
#include <signal.h>

#include "collrun.h"
#include "ordeal.h"

#define ITERATIONS 10u
#define CALL_MS	   (30000 * (int)guest_slowness())
#define OVERRUN_NS (INT64_C(20000000000) * guest_slowness())

/* Returns whether it has ended by an error that may be. */
static bool is_told(const struct collrun_rank *result)
{
	return ordeal.faults &&
	       (result->status == 128 + SIGBUS || (result->error && *result->text));
}

static void check_rank(const struct collrun *run, uint32_t r, const struct collrun_rank *result)
{
	const char *name = collrun_name(run->collective);

	if (is_told(result))
		printf("# error: %s of rank %u: %s: %s. %s\n", name, r, result->what,
		       strerror(-result->error),
		       result->status ? "SIGBUS: the device was lost" : result->text);
	else if (result->status || result->error || result->iteration != run->iterations)
		guest_fail(__FILE__, __LINE__,
			   "%s, path %u, seed %u, rank %u: status %d, %s %d: %s", name, run->path,
			   run->seed, r, result->status, result->what, result->error, result->text);
	if (result->wrong)
		guest_fail(__FILE__, __LINE__, "%s, path %u, seed %u, rank %u: %u wrong elements",
			   name, run->path, run->seed, r, result->wrong);
	if (result->overrun_ns > OVERRUN_NS)
		guest_fail(__FILE__, __LINE__, "%s, rank %u: %s came %lld ms late", name, r,
			   result->what, (long long)(result->overrun_ns / 1000000));
}

static void run_path(uint32_t collective, uint32_t path)
{
	struct collrun run = {
		.collective = collective,
		.path = path,
		.event = NO_EVENT,
		.seed = (uint32_t)ordeal.seed,
		.iterations = ordeal.rounds,
		.call_ms = CALL_MS,
	};
	struct collrun_rank result[COLLRUN_RANKS];
	uint32_t r;

	collrun(&run, result);
	for (r = 0; r < COLLRUN_RANKS; r++)
		check_rank(&run, r, &result[r]);
}

static void run_paths(uint32_t collective)
{
	run_path(collective, T3_PATH_STORE);
	run_path(collective, T3_PATH_DOORBELL);
}

LONG_TEST("reduce-scatter gives the right result again and again")
{
	run_paths(T3_REDUCE_SCATTER);
}

LONG_TEST("all-gather gives the right result again and again")
{
	run_paths(T3_ALL_GATHER);
}

LONG_TEST("all-reduce gives the right result again and again")
{
	run_paths(T3_ALL_REDUCE);
}

LONG_TEST("all-to-all gives the right result again and again")
{
	run_paths(T3_ALL_TO_ALL);
}

/* Without TEST(): other clients of the device may take and give back memory at the same time. */
int main(int argc, char **argv)
{
	ordeal_parse(argc, argv, ITERATIONS);
	return test_run(NULL, NULL);
}
