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

TEST("a ring reduces by stores")
{
	struct ring ring = whole_ring();

	run(&ring);
}

TEST("a ring reduces by doorbells")
{
	struct ring ring = whole_ring();

	ring.path = PATH_DOORBELL;
	run(&ring);
}

/* Waits that sleep at once, so each needs its interrupt. */
TEST("a ring reduces with waits that sleep at once")
{
	struct ring ring = whole_ring();

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

TEST("each rank may be late at each step")
{
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

SLOW_TEST("1000 iterations of stores follow without a barrier")
{
	check_back_to_back(PATH_STORE);
}

SLOW_TEST("1000 iterations of doorbells follow without a barrier")
{
	check_back_to_back(PATH_DOORBELL);
}

/* A system call in the steady state would end in SIGKILL. */
SLOW_TEST("the steady state makes no system call")
{
	struct ring ring = whole_ring();

	ring.strict = true;
	ring.spin_ns = UINT64_MAX;
	ring.wait_ms = RING_FOREVER;
	ring.iterations = 30;
	run(&ring);
	ring.path = PATH_DOORBELL;
	run(&ring);
}

/* The check works: the same with waits that sleep ends in SIGKILL. */
TEST("a system call in the steady state would be seen")
{
	struct ring_rank result[RING_RANKS_MAX];
	struct ring ring = whole_ring();
	uint32_t r, killed = 0;

	ring.strict = true;
	ring.spin_ns = 0;
	ring.wait_ms = RING_FOREVER;
	ring_run(&ring, result, 5000);
	for (r = 0; r < ring.ranks; r++)
		killed += result[r].status == 128 + SIGKILL;
	CHECK(killed > 0);
}
