/* SPDX-License-Identifier: MIT */
/*
 * Bursts from one node to another. SPEC.md sections 6.1 and 16.1. A burst is one frame, and changes no
 * result and no counter. What befalls one packet of it, befalls that packet alone.
 */
#include "burst.h"
#include "node/node.h"
#include "nodes.h"
#include "seeds.h"
#include "trail.h"
#include "test.h"

#define SEEDS 60u

static uint64_t frames(struct host *host)
{
	return nodes_info(host, 0, 1).sent_packets;
}

static void expect_end(struct host *host)
{
	nodes_settle(host);
	burst_expect_done(host);
}

TEST("packets of a tile go to another node in one frame")
{
	uint32_t number;

	for (number = 0; number < BURST_SHAPES; number++) {
		struct burst_pair pair = burst_shape(number);
		struct host *host;
		uint64_t before, packets;

		pair.nodes = true;
		host = burst_host(&pair, false);
		before = frames(host);
		packets = host_counter(&host->dev[0], T3_COUNTER_LINK_TX_PACKETS);
		nodes_settle(host);
		packets = host_counter(&host->dev[0], T3_COUNTER_LINK_TX_PACKETS) - packets;
		assert_in_range(packets, BURST_BYTES / T3_PACKET_PAYLOAD, 128);
		assert_in_range(frames(host) - before, packets / T3_LINK_BURST, packets / 8);
		expect_end(host);
	}
}

/* One response is for all of it, too. */
TEST("a burst has one response from another node")
{
	struct burst_pair pair = burst_plain;
	struct host *host;
	uint64_t received, sent;

	pair.nodes = true;
	host = burst_host(&pair, false);
	received = nodes_info(host, 0, 1).received;
	sent = frames(host);
	nodes_settle(host);
	assert_true(nodes_info(host, 0, 1).received - received <= frames(host) - sent + 2);
	expect_end(host);
}

static struct burst_pair draw(uint64_t *random)
{
	struct burst_pair pair = burst_draw(random);

	pair.nodes = true;
	return pair;
}

TEST_WITH("bursts between nodes change no result and no counter", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		uint64_t random = seed;
		struct burst_pair pair = draw(&random);
		struct host *bursts = burst_host(&pair, false), *alone = burst_host(&pair, true);

		nodes_settle(bursts);
		nodes_settle(alone);
		burst_compare(bursts, alone);
		assert_true(frames(bursts) <= frames(alone));
		expect_end(bursts);
		expect_end(alone);
	}
	trail_expect(0xf66c79da105d7372);
}

/* Neither end waits for the time in which a sender repeats its packets: each gets its response. */
TEST_WITH("another node refuses of a burst what it would refuse alone", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		uint64_t random = seed;
		struct burst_pair pair = draw(&random);
		struct t3_fault_record record[2][2];
		uint32_t alone, rank;

		burst_spoil(&random, seed % 2, &pair);
		for (alone = 0; alone < 2; alone++) {
			struct host *host = burst_host(&pair, alone);
			struct t3_link_info info;

			nodes_drain(host);
			assert_true(t3_fabric_link_info(burst_fabric(host), 0, 1, &info));
			assert_int_equal(info.unanswered, 0);
			for (rank = 0; rank < 2; rank++) {
				record[alone][rank] = host_area(&host->dev[rank], 0)->fault;
				record[alone][rank].vtime = 0;
			}
			assert_int_equal(host_state(&host->dev[0], 0), T3_SPACE_FAULTED);
			burst_expect_part(host);
			host_free(host);
		}
		assert_memory_equal(record[0], record[1], sizeof(record[0]));
	}
	trail_expect(0x6e9b443c793f9a3c);
}

/* ------------------------------------------------------------------------- faults */

/* The n-th packet after the injection is hit, as of packets that travel alone: those before arrive. */
TEST("a fault of the connection hits the packet that it names")
{
	uint32_t nth, early;

	for (nth = 1; nth < 40; nth += 6)
		for (early = 0; early < 2; early++) {
			struct t3_cmd_inject cut = {
				.kind = T3_INJECT_NODE_CUT, .peer = 1, .nth = nth, .count = 1
			};
			struct burst_pair pair = burst_plain;
			struct host *host;
			uint64_t before;

			pair.nodes = true;
			host = burst_host(&pair, false);
			while (!early && burst_link(host)->next < T3_LINK_BURST)
				assert_true(t3_fabric_run(burst_fabric(host), 1));
			before = host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS);
			assert_true(nodes_inject(host, &cut));
			nodes_drain(host);
			assert_int_equal(nodes_faults(host, 0, 1)->count, 1);
			assert_int_equal(host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS),
					 before + nth - 1);
			host_free(host);
		}
}

TEST("a burst that is lost between nodes comes again")
{
	struct burst_pair pair = burst_plain;
	struct host *host;

	pair.nodes = true;
	host = burst_host(&pair, false);
	nodes_bound(host, 2 * T3_LINK_BURST * T3_PACKET_PAYLOAD); /* further ones are lost */
	nodes_settle(host);
	assert_true(nodes_info(host, 0, 1).lost);
	assert_true(host_counter(&host->dev[0], T3_COUNTER_LINK_RETRIES));
	expect_end(host);
}

/* --------------------------------------------------------------------- a wrong peer */

/* Rank 0 has sent its first packets, and rank 1's node has not answered. */
static struct host *unanswered(void)
{
	struct burst_pair pair = burst_plain;
	struct host *host;

	pair.nodes = true;
	host = burst_host(&pair, false);
	nodes_stop(host, 1, true);
	nodes_drain(host);
	assert_true(burst_link(host)->next - burst_link(host)->una > T3_LINK_BURST);
	return host;
}

static const char *answer(struct host *host, uint32_t sequence, uint16_t packets)
{
	struct {
		struct t3_frame head;
		struct t3_remote_response body;
	} frame = {
		{ .type = T3_FRAME_RESPONSE, .length = sizeof(frame.body) },
		{ .dst = 1,
		  .incarnation = burst_link(host)->incarnation,
		  .sequence = sequence,
		  .packets = packets },
	};

	return t3_peer_input(nodes_peer(host, 0, 1), &frame, sizeof(frame));
}

TEST("a response is for one packet to as many as a burst has")
{
	struct host *host = unanswered();
	uint32_t una = (uint32_t)burst_link(host)->una;

	assert_non_null(strstr(answer(host, una, 0), "or for none"));
	assert_non_null(strstr(answer(host, una, T3_LINK_BURST + 1), "more packets than"));
	assert_null(answer(host, una, T3_LINK_BURST));
	host_free(host);
}

/* Any part of any burst, of packets that were sent and of others: each is answered once. */
TEST_WITH("responses to parts of bursts answer those packets", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		struct host *host = unanswered();
		struct t3_link *link = burst_link(host);
		bool done[T3_LINK_SLOTS] = { false };
		uint64_t random = seed, una = link->una, next = link->next;
		uint32_t i, k, first = 0;

		for (i = 0; i < 30; i++) {
			uint32_t at = host_below(&random, (uint32_t)(next - una));
			uint32_t packets = 1 + host_below(&random, T3_LINK_BURST);

			if (at + packets > next - una)
				packets = (uint32_t)(next - una) - at;
			assert_null(answer(host, (uint32_t)una + at, (uint16_t)packets));
			for (k = 0; k < packets; k++)
				done[at + k] = true;
			while (first < next - una && done[first])
				first++;
			assert_int_equal(link->una, una + first);
		}
		host_free(host);
	}
	trail_expect(0x0a72ee13acbe01dd);
}

static const char *give(struct host *host, const struct t3_packet *packet)
{
	struct {
		struct t3_frame head;
		struct t3_packet packet;
		uint8_t payload[T3_LINK_BURST * T3_PACKET_PAYLOAD];
	} frame = { { .type = T3_FRAME_PACKET,
		      .length = (uint32_t)sizeof(*packet) + packet->length },
		    *packet,
		    { 0 } };

	return t3_peer_input(nodes_peer(host, 1, 0), &frame,
			     sizeof(frame.head) + frame.head.length);
}

TEST("a burst of another node is a whole number of packets, in slots that follow")
{
	struct burst_pair pair = burst_plain;
	struct t3_packet good = { .type = T3_PKT_UPDATE, .dst_rank = 1, .incarnation = 1 }, bad;
	struct host *host;
	uint32_t length;

	pair.nodes = true;
	host = burst_host(&pair, false);
	good.length = 1024;
	good.arg = 256;
	assert_null(give(host, &good));
	for (length = 1; length < 1024; length++) {
		bad = good;
		bad.arg = length;
		assert_int_equal(!give(host, &bad), 1024 % length == 0 && 1024 / length <= 16);
	}
	bad = good;
	for (bad.sequence = 40; bad.sequence < 64; bad.sequence++)
		assert_int_equal(!give(host, &bad), bad.sequence <= 60);
	bad = good;
	bad.arg = 0;
	for (bad.length = 1024; bad.length <= 16384; bad.length += 1024)
		assert_null(give(host, &bad));
	host_free(host);
}

/* A burst that overlaps what has come: each of its packets is known, or new, or too early. */
TEST("packets of a burst that came before have their first response")
{
	struct burst_pair pair = burst_plain;
	struct t3_packet packet = { .type = T3_PKT_UPDATE, .dst_rank = 1 };
	struct host *host;
	struct t3_receiver *receiver;
	uint64_t expect;

	pair.nodes = true;
	host = burst_host(&pair, false);
	receiver = &nodes_fabric(host, 1)->link[0][1]->receiver;
	expect = receiver->expect;
	packet.incarnation = receiver->incarnation;
	packet.length = 16;
	packet.arg = 4;
	packet.sequence = (uint32_t)expect;
	assert_null(give(host, &packet));
	assert_int_equal(receiver->expect, expect + 4);
	packet.sequence += 2;
	assert_null(give(host, &packet));
	assert_int_equal(receiver->expect, expect + 6);
	assert_int_equal(host_counter(&host->dev[1], T3_COUNTER_LINK_DUPLICATES), 2);
	packet.sequence += 5;
	assert_null(give(host, &packet));
	assert_int_equal(receiver->expect, expect + 6);
	host_free(host);
}
