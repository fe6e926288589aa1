/* SPDX-License-Identifier: MIT */
/*
 * A device is reset, goes, or is replaced: its neighbours know one link latency
 * later, and only of what has ended. SPEC.md sections 6.4, 10.
 */
#include "host.h"
#include "ring.h"
#include "test.h"

enum way { RESET, CONTROL, DETACH, WAYS };

static void end(struct host *host, uint32_t rank, enum way way)
{
	if (way == RESET)
		t3_dev_reset(host->dev[rank].dev);
	else if (way == CONTROL)
		host_set(&host->dev[rank], T3_REG_CONTROL, T3_CONTROL_RESET, 4);
	else
		t3_dev_detach(host->dev[rank].dev);
}

static void back(struct host *host, uint32_t rank, enum way way)
{
	if (way == DETACH)
		host_attach(host, rank);
}

static const uint32_t budgets[] = { 0, 1, T3_INLINE_BUDGET };

#define BUDGETS (sizeof(budgets) / sizeof(budgets[0]))

/* Idle links, all armed: only the loss itself is a sign. It takes 500 ns, not a deadline. */
TEST("neighbours learn of a loss after one latency")
{
	uint32_t way, b;

	for (way = 0; way < WAYS; way++)
		for (b = 0; b < BUDGETS; b++) {
			struct host *host = host_ring(4);
			struct ring ring = ring_open(host, 0, T3_DTYPE_I32);
			uint64_t start;

			ring_arm(&ring, 1);
			host_drain(host);
			start = t3_fabric_now(host->fabric);
			t3_fabric_set_inline_budget(host->fabric, budgets[b]);
			host->kicks = 0;
			end(host, 1, way);
			if (way != CONTROL || budgets[b] == 0) /* the host is to run the news */
				assert_int_equal(host->kicks, 1);
			if (way != CONTROL)
				assert_int_equal(t3_fabric_now(host->fabric), start);
			while (host_area(&host->dev[2], 0)->state >> 32 != T3_SPACE_FAULTED ||
			       host_area(&host->dev[0], 0)->state >> 32 != T3_SPACE_FAULTED)
				assert_true(t3_fabric_run(host->fabric, 1));
			if (budgets[b] < 2)
				assert_int_equal(t3_fabric_now(host->fabric) - start, 500);
			host_drain(host);
			host_expect_peer_fault(&host->dev[2], 0, T3_FAULT_PEER_POISON, 1);
			host_expect_peer_fault(&host->dev[0], 0, T3_FAULT_PEER_DEAD, 1);
			assert_int_equal(host_area(&host->dev[3], 0)->state >> 32,
					 T3_SPACE_FAULTED);
			assert_int_equal(host_area(&host->dev[2], 0)->fault.vtime - start, 500);
			back(host, 1, way);
			host_free(host);
		}
}

/* An IDLE space is not at fault. It learns of it when it arms. FAULTED and others do not change. */
TEST("an idle space learns of a loss when it arms")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	host_space(b, 0);
	host_connect(b, a, 0);
	host_space(a, 1); /* has nothing to do with b */
	host_local(a, 1, 0);
	t3_dev_reset(b->dev);
	host_drain(host);
	host_expect(a, 0, T3_SPACE_IDLE, 0);
	host_arm(a, 0, 77);
	host_expect_peer_fault(a, 0, T3_FAULT_PEER_POISON, 1);
	host_arm(a, 1, 1);
	host_fill(a, 1, 0, 1);
	host_expect(a, 1, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/*
 * A source and its target need not have the same number. Here only the source's slot at the peer is
 * past the granted generation after the reset: the one of the target's number has been used less.
 */
TEST("a source learns of it whatever its number")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	const uint32_t source = 1, target = 2;

	host_space(b, source);
	host_space_command(b, T3_CMD_SPACE_RESET, source);
	host_space(a, target);
	host_local(a, target, 0);
	host_import(a, target, 0, b, source, HOST_NONE64);
	host_arm(a, target, 1);
	host_expect(a, target, T3_SPACE_ARMED, 1);
	t3_dev_reset(b->dev);
	host_drain(host);
	host_expect_peer_fault(a, target, T3_FAULT_PEER_POISON, 1);
	host_free(host);
}

/* A space that was made after the reset, and grants to it, before the news arrives. */
TEST("a newer space is spared")
{
	uint32_t way;

	for (way = 0; way < WAYS; way++) {
		struct host *host = host_ring(2);
		struct host_dev *a = &host->dev[0], *b = &host->dev[1];

		host_space(a, 0);
		host_space(a, 1);
		host_space(b, 0);
		host_connect(a, b, 0);
		host_arm(a, 0, 1);
		host_drain(host);
		t3_fabric_set_inline_budget(host->fabric, 0);
		end(host, 1, way);
		if (way == DETACH)
			host_replace(host, 1, false);
		host_space(b, 1);
		host_connect(a, b, 1);
		host_connect(b, a, 1);
		host_arm(a, 1, 1);
		host_arm(b, 1, 1);
		host_drain(host);
		t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
		host_expect_peer_fault(a, 0, T3_FAULT_PEER_DEAD, 1);
		host_expect(a, 1, T3_SPACE_COMPLETE, 1); /* no segments: at once */
		host_expect(b, 1, T3_SPACE_COMPLETE, 1);
		host_free(host);
	}
}

/*
 * A new device starts with the generations of the old one. Grants to the old one must be dead
 * before the new one can be taken for it.
 */
TEST("a new device is not taken for the old one")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t old, new;

	host_space(a, 0);
	old = host_space(b, 0);
	host_connect(a, b, 0);
	host_arm(a, 0, 1);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_replace(host, 1, false);
	new = host_space(b, 0);
	assert_int_equal(old, new);
	host_expect_peer_fault(a, 0, T3_FAULT_PEER_DEAD, 1);
	host_drain(host);
	host_expect(b, 0, T3_SPACE_IDLE, 0);
	host_free(host);
}

/* After each number of events of a run: all spaces left fault, and work again. */
TEST("a loss at any moment of a run ends it everywhere")
{
	struct host *host = host_ring(3);
	uint32_t events, r, way;

	for (events = 0; events < 150; events += 2) {
		struct ring ring = ring_open(host, 0, T3_DTYPE_I32);

		way = events / 2 % WAYS;
		ring_arm(&ring, 1);
		t3_fabric_set_inline_budget(host->fabric, events % 4 / 2);
		for (r = 0; r < 3; r++)
			ring_produce(&ring, r, 1, true);
		t3_fabric_run(host->fabric, events);
		end(host, 1, way);
		host_drain(host);
		for (r = 0; r < 3; r += 2) {
			uint64_t word = host_area(&host->dev[r], 0)->state >> 32;

			assert_true(word == T3_SPACE_FAULTED || word == T3_SPACE_COMPLETE);
			assert_int_equal(host_query(&host->dev[r], 0).in_flight, 0);
		}
		back(host, 1, way);
		t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
		for (r = 0; r < 3; r++)
			if (host_query(&host->dev[r], 0).state != T3_SPACE_FREE)
				host_destroy(&host->dev[r], 0);
	}
	host_free(host);
}

/* Repeated resets before the news has arrived, and resets of both ends at once. */
TEST("repeated resets end what was there")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t i;

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_arm(a, 0, 1);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (i = 0; i < 100; i++)
		t3_dev_reset(b->dev);
	host_drain(host);
	host_expect_peer_fault(a, 0, T3_FAULT_PEER_DEAD, 1);
	assert_int_equal(host_area(a, 0)->faults, 1);
	t3_dev_reset(a->dev);
	t3_dev_reset(b->dev);
	host_drain(host);
	assert_int_equal(host_query(a, 0).state, T3_SPACE_FREE);
	host_free(host);
}

/* Many spaces of a neighbour in one event; those without a grant go on. */
TEST("many spaces learn of a loss in one event")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t s;

	for (s = 0; s < 16; s++) {
		host_space(a, s);
		host_space(b, s);
		if (s % 2)
			host_connect(b, a, s);
		host_local(a, s, 0);
		host_arm(a, s, 1);
	}
	t3_dev_reset(b->dev);
	t3_fabric_set_inline_budget(host->fabric, 0);
	t3_fabric_run(host->fabric, 1);
	for (s = 0; s < 16; s++)
		assert_int_equal(host_area(a, s)->state >> 32,
				 s % 2 ? T3_SPACE_FAULTED : T3_SPACE_ARMED);
	host_drain(host);
	for (s = 0; s < 16; s++) {
		if (s % 2)
			host_expect_peer_fault(a, s, T3_FAULT_PEER_POISON, 1);
		else
			host_expect(a, s, T3_SPACE_ARMED, 1);
	}
	host_free(host);
}
