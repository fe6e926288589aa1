/* SPDX-License-Identifier: MIT */
/*
 * reset-generations=on, SPEC.md section 2.1. A program that cannot read a generation knows it after
 * a reset. All grants from before the reset are still dead.
 */
#include "host.h"
#include "ring.h"
#include "test.h"

static struct host *host_restarting(uint32_t ranks)
{
	struct host *host = host_ring(ranks);
	uint32_t r;

	for (r = 0; r < ranks; r++) {
		host->dev[r].reset_generations = true;
		host_replace(host, r, false);
	}
	return host;
}

static void reset(struct host *host, uint32_t rank, bool control)
{
	if (control)
		host_set(&host->dev[rank], T3_REG_CONTROL, T3_CONTROL_RESET, 4);
	else
		t3_dev_reset(host->dev[rank].dev);
}

/* All slots start at 1 again, those that were in use and those that were not. */
TEST("generations start again after a reset")
{
	struct host *host = host_restarting(2), *plain = host_ring(2);
	uint32_t round;

	for (round = 0; round < 4; round++) {
		assert_int_equal(host_space(&host->dev[0], 0), 1);
		host_destroy(&host->dev[0], 0);
		assert_int_equal(host_space(&host->dev[0], 0), 2);
		assert_int_equal(host_space(&host->dev[0], 1), 1);
		assert_int_equal(host_space(&plain->dev[0], 0), 1 + round);
		reset(host, 0, round % 2);
		reset(plain, 0, round % 2);
	}
	host_free(plain);
	host_free(host);
}

/*
 * The neighbours learn of it before a space with the old numbers exists, and run no event for it.
 */
TEST("grants from before a reset are dead")
{
	uint32_t control;

	for (control = 0; control < 2; control++) {
		struct host *host = host_restarting(3);
		struct host_dev *a = &host->dev[0], *b = &host->dev[1], *c = &host->dev[2];

		host_space(a, 0);
		host_space(b, 0);
		host_space(c, 0);
		host_local(a, 0, 0);
		host_local(c, 0, 0);
		host_connect(a, b, 0);
		host_connect(b, c, 0);
		host_arm(c, 0, 1);
		host_arm(b, 0, 1);
		host_arm(a, 0, 1);
		host_drain(host);
		t3_fabric_set_inline_budget(host->fabric, 0);
		reset(host, 1, control);
		host_expect_peer_fault(a, 0, T3_FAULT_PEER_DEAD, 1);
		host_expect_peer_fault(c, 0, T3_FAULT_PEER_POISON, 1);
		assert_int_equal(host_space(b, 0), 1);
		host_drain(host);
		host_expect(b, 0, T3_SPACE_IDLE, 0);
		host_free(host);
	}
}

static void settle(struct host *host)
{
	const char *broken;

	host_drain(host);
	broken = t3_fabric_check(host->fabric);
	if (broken)
		fail_msg("%s", broken);
}

/* A whole collective, of which every rank that was reset has generation 1. */
static void run_whole(struct host *host, struct ring *ring, uint32_t ranks)
{
	uint32_t r;

	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	for (r = 0; r < ranks; r++)
		if (host_query(&host->dev[r], 0).state != T3_SPACE_FREE)
			host_destroy(&host->dev[r], 0);
	ring_create(ring);
	ring_connect(ring);
	ring_arm(ring, 1);
	for (r = 0; r < ranks; r++)
		ring_produce(ring, r, 1, r % 2);
	ring_expect_state(ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(ring, 1);
	settle(host);
}

/* Any of the ranks is reset after any number of events, with packets on the way to it. */
TEST("packets in flight do no harm after a reset")
{
	struct host *host = host_restarting(3);
	struct ring ring = ring_of(host, 0, T3_DTYPE_I32);
	uint32_t events, r;

	for (events = 0; events < 140; events++) {
		uint32_t ranks = 1 + events % 7; /* bits */

		ring_create(&ring);
		ring_connect(&ring);
		ring_arm(&ring, 1);
		t3_fabric_set_inline_budget(host->fabric, events % 2);
		for (r = 0; r < 3; r++)
			ring_produce(&ring, r, 1, true);
		t3_fabric_run(host->fabric, events);
		for (r = 0; r < 3; r++)
			if (ranks >> r & 1) {
				reset(host, r, events % 2);
				assert_int_equal(host_query(&host->dev[r], 0).generation, 1);
			}
		if (events % 3)
			settle(host);
		run_whole(host, &ring, 3);
		for (r = 0; r < 3; r++)
			reset(host, r, false);
	}
	host_free(host);
}
