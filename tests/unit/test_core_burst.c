/* SPDX-License-Identifier: MIT */
/*
 * Bursts: packets of a tile that share their events. SPEC.md section 6.1. A fault that is injected and
 * never comes makes a link send single packets, which all is compared with.
 */
#include "burst.h"
#include "link/link.h"
#include "migrate.h"
#include "seeds.h"
#include "trail.h"
#include "test.h"

#define EVENTS 100000u

/* Until the wire has packets. */
static void send(struct host *host)
{
	while (burst_link(host)->deliver == burst_link(host)->next)
		assert_true(t3_fabric_run(host->fabric, 1));
}

static uint32_t first_burst(struct host *host)
{
	const struct t3_link *link = burst_link(host);

	return link->slot[link->deliver % T3_LINK_SLOTS].packets;
}

/* As many as there have to be, and not many more. */
static void expect_bursts(const struct burst_pair *pair, uint64_t packets, uint32_t most)
{
	struct host *host = burst_host(pair, false);
	uint64_t before = host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS), came = 0;
	uint32_t event, bursts = 0;

	send(host);
	assert_int_equal(first_burst(host), T3_LINK_BURST);
	for (event = 0; came < packets && event < EVENTS; event++) {
		uint64_t now;

		assert_true(t3_fabric_run(host->fabric, 1));
		now = host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS) - before;
		bursts += now - came > 1;
		assert_in_range(now - came, 0, T3_LINK_BURST);
		came = now;
	}
	assert_in_range(bursts, packets / T3_LINK_BURST, most);
	burst_expect_done(host);
}

TEST("a row leaves in bursts, and one event takes in a burst")
{
	expect_bursts(&burst_plain, BURST_BYTES / T3_PACKET_PAYLOAD, 6);
}

TEST("rows of a tile leave in bursts, and one event takes in several of them")
{
	struct burst_pair half = burst_of_rows(512, 512, 128), wide = burst_of_rows(2048, 512, 32),
			  two = burst_of_rows(8192, 1536, 8);

	expect_bursts(&half, 128, 11);
	expect_bursts(&wide, 128, 11);
	expect_bursts(&two, 88, 11); /* five tiles of two packets a row, and one of one */
}

TEST("a burst takes the time of its packets")
{
	uint64_t end[2];
	uint32_t alone, number;

	for (number = 0; number < BURST_SHAPES; number++) {
		struct burst_pair pair = burst_shape(number);

		for (alone = 0; alone < 2; alone++) {
			struct host *host = burst_host(&pair, alone);
			uint64_t begin = host->fabric->clock.now;

			while (burst_link(host)->next - burst_link(host)->una <
			       T3_LINK_SLOTS - T3_LINK_RESERVE)
				assert_true(t3_fabric_run(host->fabric, 1));
			end[alone] = burst_link(host)->busy - begin;
			burst_expect_done(host);
		}
		assert_int_equal(end[0], end[1]);
	}
}

/* A packet has one row's bytes, also where those of several rows would fit in. */
TEST("a burst of short rows counts packets, not bytes")
{
	struct burst_pair pair = burst_of_rows(64, 64, 1024);
	struct host *host = burst_host(&pair, false);
	const struct t3_packet *first;

	send(host);
	first = &burst_link(host)->slot[0].packet;
	assert_int_equal(first_burst(host), T3_LINK_BURST);
	assert_int_equal(first->length, T3_LINK_BURST * 64);
	assert_int_equal(first->arg, 64);
	host_drain(host);
	assert_int_equal(host_stats(&host->dev[0], 0, 0).link_bytes,
			 BURST_BYTES + BURST_BYTES / 64 * sizeof(struct t3_packet));
	host_free(host);
}

/* ------------------------------------------------------------------ single packets */

TEST_WITH("bursts change no result and no counter", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, 200)
	{
		uint64_t random = seed;
		struct burst_pair pair = burst_draw(&random);
		struct host *bursts = burst_host(&pair, false), *alone = burst_host(&pair, true);

		host_drain(bursts);
		host_drain(alone);
		burst_compare(bursts, alone);
		burst_expect_done(bursts);
		burst_expect_done(alone);
	}
	trail_expect(0x991b10098f6b72cf);
}

/* How much is sent until the sender knows is a matter of time: more of it, if it is not poisoned. */
TEST_WITH("what is refused of a burst is what would be refused alone", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, 200)
	{
		uint64_t random = seed;
		struct burst_pair pair = burst_draw(&random);
		struct host *host[2];
		struct t3_fault_record record[2][2];
		uint32_t alone, rank;

		burst_spoil(&random, seed % 2, &pair);
		for (alone = 0; alone < 2; alone++) {
			host[alone] = burst_host(&pair, alone);
			host_drain(host[alone]);
			for (rank = 0; rank < 2; rank++) {
				record[alone][rank] = host_area(&host[alone]->dev[rank], 0)->fault;
				record[alone][rank].vtime = 0;
			}
		}
		assert_int_equal(host_state(&host[0]->dev[0], 0), T3_SPACE_FAULTED);
		assert_memory_equal(record[0], record[1], sizeof(record[0]));
		if (pair.poison)
			assert_memory_equal(host_buffer(&host[0]->dev[1], 0),
					    host_buffer(&host[1]->dev[1], 0), BURST_BYTES);
		burst_expect_part(host[0]);
		burst_expect_untouched(host[0], pair.to_rows * (BURST_BYTES / pair.rows));
		host_free(host[0]);
		host_free(host[1]);
	}
	trail_expect(0xb71a0b59cfde5a39);
}

/* The target's last tile is cut off there, and its count would take more. */
TEST("a burst that goes below the last row ends there")
{
	struct burst_pair pair = burst_of_rows(512, 512, 64);
	struct host *host;
	uint8_t want[BURST_BYTES];

	pair.to_rows = 100;
	pair.updates = 2;
	host = burst_host(&pair, false);
	host_drain(host);
	burst_fill(want);
	assert_int_equal(host_state(&host->dev[0], 0), T3_SPACE_FAULTED);
	assert_memory_equal(host_buffer(&host->dev[1], 0), want, 100 * 512);
	burst_expect_untouched(host, 100 * 512);
	host_free(host);
}

/* ------------------------------------------------------------------------- ends */

TEST("an injected fault ends the bursts under way, and hits one packet")
{
	uint32_t nth, events;

	for (nth = 1; nth <= 40; nth += 2) {
		for (events = 0; events < 6; events++) {
			struct burst_pair pair = burst_shape(nth % BURST_SHAPES);
			struct host *host = burst_host(&pair, false);

			send(host);
			t3_fabric_run(host->fabric, events);
			assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP, nth));
			assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP_RESPONSE, nth));
			if (burst_link(host)->deliver < burst_link(host)->next)
				assert_int_equal(first_burst(host), 1);
			burst_expect_done(host);
		}
	}
}

TEST("after a fault has struck, bursts go on")
{
	struct host *host = burst_host(&burst_plain, false);

	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP, 1));
	send(host);
	assert_int_equal(first_burst(host), 1);
	while (first_burst(host) == 1 && burst_link(host)->next < BURST_BYTES / T3_PACKET_PAYLOAD)
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_false(t3_link_any_injected(burst_link(host)));
	burst_expect_done(host);
}

TEST("a link that gives up drops each packet of a burst")
{
	struct t3_fault_record want = { T3_FAULT_LINK, 0, 0, HOST_NONE32, HOST_NONE64, 0, 1, 0 };
	struct burst_pair pair = burst_of_rows(512, 512, 128);
	struct host *host = burst_host(&pair, false);

	send(host);
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1));
	host_drain(host);
	host_expect_fault(&host->dev[0], 0, &want);
	assert_int_equal(host_query(&host->dev[0], 0).in_flight, 0);
	host_free(host);
}

static void expect_whole_bursts(const struct burst_pair *pair)
{
	struct host *host = burst_host(pair, false);
	uint32_t event;

	for (event = 0; event < EVENTS && host_state(&host->dev[0], 0) == T3_SPACE_ARMED; event++) {
		const struct t3_link *link = burst_link(host);
		uint64_t seq;

		for (seq = link->una; seq < link->next; seq = t3_link_after(link, seq))
			assert_true(seq % T3_LINK_SLOTS + link->slot[seq % T3_LINK_SLOTS].packets <=
				    T3_LINK_SLOTS);
		t3_fabric_run(host->fabric, 1);
	}
	burst_expect_done(host);
}

TEST("a burst stops where the slots begin again")
{
	uint32_t number;

	for (number = 0; number < BURST_SHAPES; number++) {
		struct burst_pair pair = burst_shape(number);

		expect_whole_bursts(&pair);
	}
}

TEST("a burst under way is saved, and goes on elsewhere")
{
	uint32_t events;

	for (events = 0; events < 36; events++) {
		struct burst_pair pair = burst_shape(events % BURST_SHAPES);
		struct host *host = burst_host(&pair, false), *other;

		send(host);
		t3_fabric_run(host->fabric, events / BURST_SHAPES);
		other = host_clone(host);
		t3_fabric_set_inline_budget(other->fabric, 0);
		burst_expect_done(other);
		burst_expect_done(host);
	}
}

/* Two spaces of two clients send on one link. */
TEST("a client that waits is no longer behind than one packet")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t space, event;

	for (space = 0; space < 2; space++) {
		struct t3_cmd_space_create create = host_space_args(space);
		struct t3_cmd_seg_map from = host_segment(space, 0, T3_SEG_REMOTE, T3_OP_ADD,
							  T3_DTYPE_I32),
				      to;
		struct t3_cmd_seg_staging staging = { .space = space,
						      .address = HOST_STAGING,
						      .slot_stride = BURST_BYTES,
						      .slots = 1 };

		create.client = space;
		assert_int_equal(host_command(a, T3_CMD_SPACE_CREATE, &create, sizeof(create)),
				 T3_ADMIN_OK);
		host_space(b, space);
		host_connect(a, b, space);
		from.rows = from.tile_rows = 1;
		from.row_bytes = from.pitch = from.tile_row_bytes = BURST_BYTES;
		to = from;
		to.kind = T3_SEG_LOCAL;
		to.op = T3_OP_ADD;
		to.routes = to.target_op = 0;
		host_map(a, &from);
		host_map(b, &to);
		assert_int_equal(host_command(a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
				 T3_ADMIN_OK);
		host_arm(b, space, 1);
		host_arm(a, space, 1);
	}
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (space = 0; space < 2; space++)
		host_tile(a, space, 0, 0, 0);
	for (event = 0; event < EVENTS && host_counter(b, T3_COUNTER_LINK_RX_PACKETS) < 40;
	     event++) {
		t3_fabric_run(host->fabric, 1);
		if (burst_link(host)->deliver < burst_link(host)->next)
			assert_int_equal(first_burst(host), 1);
	}
	host_drain(host);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_expect(a, 1, T3_SPACE_COMPLETE, 1);
	host_free(host);
}
