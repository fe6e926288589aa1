// SPDX-License-Identifier: MIT
/* Ring reduce-scatter through libt3, one process per device. */
#include <signal.h>

#include "ring.h"

static struct ring whole_ring(void)
{
	struct ring ring = {
		.ranks = guest_ranks() < RING_RANKS_MAX ? guest_ranks() : RING_RANKS_MAX,
		.iterations = 5,
		.path = PATH_STORE,
		.spin_ns = 20000,
		.wait_ms = 20000,
	};

	return ring;
}

static void run(const struct ring *ring)
{
	struct ring_rank result[RING_RANKS_MAX];

	ring_run(ring, result, 100000);
	ring_check(ring, result);
}

static void test_stores(void **state)
{
	struct ring ring = whole_ring();

	(void)state;
	run(&ring);
}

static void test_doorbells(void **state)
{
	struct ring ring = whole_ring();

	(void)state;
	ring.path = PATH_DOORBELL;
	run(&ring);
}

/* Waits that sleep at once, so each needs its interrupt. */
static void test_sleeping_waits(void **state)
{
	struct ring ring = whole_ring();

	(void)state;
	ring.spin_ns = 0;
	ring.iterations = 50;
	run(&ring);
}

/* Each rank is late by a few ms at each step of an iteration, in turn. */
static void check_delays(enum path path)
{
	struct ring ring = whole_ring();

	ring.path = path;
	ring.delay_in_turn = true;
	ring.delay_ms = 4;
	ring.iterations = ring.ranks * (uint32_t)RING_POSITIONS(ring.ranks);
	run(&ring);
}

static void test_each_rank_late_at_each_step(void **state)
{
	(void)state;
	check_delays(PATH_STORE);
	check_delays(PATH_DOORBELL);
}

static void check_back_to_back(enum path path)
{
	struct ring ring = whole_ring();

	ring.path = path;
	ring.iterations = 1000;
	run(&ring);
}

static void test_1000_iterations_of_stores(void **state)
{
	(void)state;
	check_back_to_back(PATH_STORE);
}

static void test_1000_iterations_of_doorbells(void **state)
{
	(void)state;
	check_back_to_back(PATH_DOORBELL);
}

/* A system call in the steady state would end in SIGKILL. */
static void test_no_system_call(void **state)
{
	struct ring ring = whole_ring();

	(void)state;
	ring.strict = true;
	ring.spin_ns = UINT64_MAX;
	ring.wait_ms = RING_FOREVER;
	ring.iterations = 30;
	run(&ring);
	ring.path = PATH_DOORBELL;
	run(&ring);
}

/* The check works: the same with waits that sleep ends in SIGKILL. */
static void test_a_system_call_would_be_seen(void **state)
{
	struct ring_rank result[RING_RANKS_MAX];
	struct ring ring = whole_ring();
	uint32_t r, killed = 0;

	(void)state;
	ring.strict = true;
	ring.spin_ns = 0;
	ring.wait_ms = RING_FOREVER;
	ring_run(&ring, result, 5000);
	for (r = 0; r < ring.ranks; r++)
		killed += result[r].status == 128 + SIGKILL;
	CHECK(killed > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stores),
		TEST(test_doorbells),
		TEST(test_sleeping_waits),
		TEST(test_each_rank_late_at_each_step),
		SLOW_TEST(test_1000_iterations_of_stores),
		SLOW_TEST(test_1000_iterations_of_doorbells),
		SLOW_TEST(test_no_system_call),
		TEST(test_a_system_call_would_be_seen),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
