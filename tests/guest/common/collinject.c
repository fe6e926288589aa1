// SPDX-License-Identifier: MIT
#include "collinject.h"
#include "collrun.h"
#include "debugfs.h"
#include "module.h"
#include "queue.h"
#include "trouble.h"

#define CALL_MS	 4000
#define SLEEP_MS 1500 /* a rank that sleeps is waited for so long in each call */

static enum collinject_half half;

/*
 * Each of the two fabrics runs every second case, so together they run all. Cases are numbered such
 * that each collective and each place in its life has some of both halves.
 */
static bool runs(uint32_t number)
{
	return number % 2 == half;
}

static int call_ms(int ms)
{
	return ms * (int)guest_slowness();
}

/* After a fault the devices are as good as ever, with a new communicator. */
static void works_again(uint32_t collective)
{
	struct collrun good = {
		.collective = collective,
		.iterations = 3,
		.call_ms = call_ms(CALL_MS),
	};

	collrun_good(&good);
}

/* --------------------------------------------------------------------- ranks */

static void at_stage(struct collrun run, enum collrun_stage stage)
{
	run.stage = stage;
	run.iteration = 1 + (uint32_t)stage % 3;
	run.victim = (uint32_t)stage % COLLRUN_RANKS;
	run.path = stage % 2 ? T3_PATH_DOORBELL : T3_PATH_STORE;
	/* Only the root has input: it alone can be among its puts. */
	if (run.collective == T3_BROADCAST && stage == AMONG_PUTS)
		run.victim = 1;
	/* Who never comes to join is waited for. */
	if (stage <= IN_COMM_CREATE)
		run.call_ms = call_ms(SLEEP_MS);
	/*
	 * A rank that stands still while it joins keeps one that comes later from joining: those
	 * that have joined see that one missing. In a slow kernel a rank may also come when the one
	 * that saw the victim die has left: it sees that one missing.
	 */
	collrun_fails(&run,
		      stage != IN_COMM_CREATE || (run.event != STOP && guest_slowness() == 1));
}

/* Before there is a plan, one collective is as good as another. */
static void killed(uint32_t collective)
{
	struct collrun run = {
		.collective = collective,
		.event = KILL,
		.call_ms = call_ms(CALL_MS),
	};
	int stage = collective == T3_ALL_REDUCE ? 0 : IN_PLAN_CREATE;

	for (; stage < COLLRUN_STAGES; stage++)
		if (runs(collective + stage))
			at_stage(run, (enum collrun_stage)stage);
	works_again(collective);
}

/* Each takes its time: all stages with one collective, with the others one. */
static void sleeping(uint32_t collective)
{
	struct collrun run = {
		.collective = collective,
		.event = STOP,
		.call_ms = call_ms(SLEEP_MS),
	};
	int stage;

	for (stage = 0; stage < COLLRUN_STAGES; stage++)
		if (runs(collective + stage) &&
		    (collective == T3_ALL_REDUCE || stage == AMONG_PUTS))
			at_stage(run, (enum collrun_stage)stage);
	works_again(collective);
}

SLOW_TEST("reduce-scatter ends when a rank is killed")
{
	killed(T3_REDUCE_SCATTER);
}

SLOW_TEST("all-gather ends when a rank is killed")
{
	killed(T3_ALL_GATHER);
}

SLOW_TEST("all-reduce ends when a rank is killed")
{
	killed(T3_ALL_REDUCE);
}

SLOW_TEST("all-to-all ends when a rank is killed")
{
	killed(T3_ALL_TO_ALL);
}

SLOW_TEST("broadcast ends when a rank is killed")
{
	killed(T3_BROADCAST);
}

SLOW_TEST("reduce-scatter ends or waits when a rank sleeps")
{
	sleeping(T3_REDUCE_SCATTER);
}

SLOW_TEST("all-gather ends or waits when a rank sleeps")
{
	sleeping(T3_ALL_GATHER);
}

SLOW_TEST("all-reduce ends or waits when a rank sleeps")
{
	sleeping(T3_ALL_REDUCE);
}

SLOW_TEST("all-to-all ends or waits when a rank sleeps")
{
	sleeping(T3_ALL_TO_ALL);
}

SLOW_TEST("broadcast ends or waits when a rank sleeps")
{
	sleeping(T3_BROADCAST);
}

/* --------------------------------------------------------------------- links */

/* From rank to the next one, which both topologies have. */
static void run_injected(const char *what)
{
	struct collrun run = { .iterations = 4, .call_ms = call_ms(CALL_MS) };

	for (run.collective = T3_REDUCE_SCATTER; run.collective <= T3_BROADCAST; run.collective++) {
		for (run.path = T3_PATH_STORE; run.path <= T3_PATH_DOORBELL; run.path++) {
			uint32_t rank = (run.collective + run.path) % COLLRUN_RANKS;
			uint64_t before = debugfs_number(rank, "counters", "INJECTED");

			if (!runs(run.collective + run.path))
				continue;
			inject(rank, "%s rank=%u peer=%u nth=3 count=2", what, rank,
			       (rank + 1) % COLLRUN_RANKS);
			collrun_good(&run);
			/* The ring's end sends nothing in a broadcast. */
			if (run.collective != T3_BROADCAST)
				CHECK(debugfs_number(rank, "counters", "INJECTED") > before);
			inject(rank, "%s rank=%u peer=%u nth=0", what, rank,
			       (rank + 1) % COLLRUN_RANKS);
		}
	}
}

SLOW_TEST("lost packets are sent again")
{
	run_injected("drop");
}

SLOW_TEST("lost responses do no harm")
{
	run_injected("drop-response");
}

SLOW_TEST("doubled packets count once")
{
	run_injected("duplicate");
}

SLOW_TEST("broken packets are sent again")
{
	run_injected("corrupt");
}

SLOW_TEST("packets that overtake do no harm")
{
	run_injected("reorder");
}

/* All packets from the nth on are lost: the link gives up, in the middle of it. */
SLOW_TEST("links that give up end a collective")
{
	struct collrun run = { .event = KILL,
			       .stage = COLLRUN_STAGES,
			       .call_ms = call_ms(SLEEP_MS) };
	struct collrun_rank result[COLLRUN_RANKS];
	uint32_t nth, r;

	for (run.collective = T3_REDUCE_SCATTER; run.collective <= T3_BROADCAST; run.collective++) {
		for (nth = 1; nth <= 31; nth *= 31) {
			if (!runs(run.collective + nth / 31))
				continue;
			/* The root of a broadcast sends on each fabric. */
			inject(1, "drop rank=1 peer=2 nth=%u count=4000000000", nth);
			collrun(&run, result);
			inject(1, "drop rank=1 peer=2 nth=0");
			for (r = 0; r < COLLRUN_RANKS; r++) {
				if (result[r].status || !result[r].error || result[r].wrong ||
				    !*result[r].text)
					guest_fail(__FILE__, __LINE__,
						   "%s, nth %u: rank %u: status %d, %s %d, %u "
						   "wrong: %s",
						   collrun_name(run.collective), nth, r,
						   result[r].status, result[r].what,
						   result[r].error, result[r].wrong,
						   result[r].text);
			}
			works_again(run.collective);
		}
	}
}

/* ------------------------------------------------------------------- devices */

static char unbound[32];

static void unbind(uint32_t rank)
{
	driver_unbind(rank, unbound, sizeof(unbound));
}

static void bind_again(uint32_t rank)
{
	(void)rank;
	driver_bind(unbound);
	module_open_nodes();
}

static void device_event(void (*happen)(uint32_t), void (*mended)(uint32_t))
{
	static const enum collrun_stage stages[] = { BEFORE_ARM, AFTER_ARM, AMONG_PUTS, BEFORE_WAIT,
						     BEFORE_RELEASE };
	struct collrun run = {
		.event = CALL,
		.call_ms = call_ms(CALL_MS),
		.happen = happen,
		.mended = mended,
	};
	uint32_t i;

	for (run.collective = T3_REDUCE_SCATTER; run.collective <= T3_BROADCAST; run.collective++) {
		for (i = 0; i < ROWS(stages); i++) {
			if (!runs(run.collective + i))
				continue;
			run.stage = stages[i];
			run.iteration = 2;
			run.victim = run.collective == T3_BROADCAST ? 1 : (i + 1) % COLLRUN_RANKS;
			collrun_fails(&run, false);
		}
		works_again(run.collective);
	}
}

SLOW_TEST("resets end a collective")
{
	device_event(reset_by_pci, NULL);
}

SLOW_TEST("devices that go end a collective")
{
	device_event(unbind, bind_again);
}

int collinject_main(enum collinject_half of_this_fabric)
{
	half = of_this_fabric;
	print_message("# half of the cases, the others are of the %s\n",
		      half == EVEN_CASES ? "full fabric" : "ring");
	return test_run(NULL, NULL);
}
