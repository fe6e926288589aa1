/* SPDX-License-Identifier: MIT */
/*
 * What a connection between nodes counts (SPEC.md section 16.3): frames, bytes and packets in both
 * directions, losses, and the time from a packet to its response.
 */
#include "node/node.h"
#include "nodes.h"
#include "ring.h"
#include "space/space.h"
#include "test.h"

#define SPACE 3u

static struct host *pair(void)
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct host *host = nodes_new(&config, 2, 1);

	nodes_connect_all(host);
	return host;
}

static struct ring armed_ring(struct host *host)
{
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);

	ring_arm(&ring, 1);
	nodes_settle(host);
	ring_expect_state(&ring, T3_SPACE_ARMED, 1);
	return ring;
}

/* A greeting each way, and pings while nothing else happens. */
TEST("all frames and bytes are counted")
{
	struct host *host = pair();
	struct t3_peer_info a = nodes_info(host, 0, 1);
	uint64_t greeting = sizeof(struct t3_frame) + sizeof(struct t3_hello);

	assert_int_equal(a.sent, 1);
	assert_int_equal(a.sent_bytes, greeting);
	assert_int_equal(a.received_bytes, greeting);
	assert_int_equal(a.sent_packets + a.received_packets, 0);
	nodes_tick(host);
	nodes_tick(host);
	nodes_drain(host);
	a = nodes_info(host, 0, 1);
	assert_int_equal(a.sent, 2);
	assert_int_equal(a.sent_bytes, greeting + sizeof(struct t3_frame));
	assert_int_equal(a.received, 2);
	host_free(host);
}

TEST("both ends count the same")
{
	struct host *host = pair();
	struct ring ring = armed_ring(host);
	struct t3_peer_info a, b;

	ring_produce(&ring, 0, 1, false);
	ring_produce(&ring, 1, 1, false);
	nodes_settle(host);
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 1);
	a = nodes_info(host, 0, 1);
	b = nodes_info(host, 1, 0);
	assert_true(a.sent_packets > 2 && b.sent_packets > 2);
	assert_int_equal(a.sent, b.received);
	assert_int_equal(a.sent_bytes, b.received_bytes);
	assert_int_equal(a.sent_packets, b.received_packets);
	assert_int_equal(b.sent_packets, a.received_packets);
	assert_int_equal(a.sent_packets, host_counter(&host->dev[0], T3_COUNTER_LINK_TX_PACKETS));
	host_free(host);
}

/* Where too much waits, a frame is lost: it is not sent, too. */
TEST("a frame that is lost is not sent")
{
	struct host *host = pair();
	struct ring ring = armed_ring(host);
	struct t3_peer_info a, b;

	nodes_stop(host, 1, true);
	nodes_bound(host, 0);
	ring_produce(&ring, 0, 1, false);
	nodes_drain(host);
	nodes_stop(host, 1, false);
	nodes_drain(host);
	a = nodes_info(host, 0, 1);
	b = nodes_info(host, 1, 0);
	assert_true(a.lost > 0);
	assert_int_equal(a.sent, b.received);
	assert_int_equal(a.sent_bytes, b.received_bytes);
	assert_int_equal(a.sent_packets, b.received_packets);
	host_free(host);
}

/* ------------------------------------------------------------------ round trips */

static struct t3_link *link_of(struct host *host)
{
	return nodes_fabric(host, 0)->link[0][1];
}

/* The first packet of an epoch leaves node 0, and its response comes after so long. */
static void exchange(struct host *host, const struct ring *ring, uint32_t epoch, uint64_t ns)
{
	nodes_stop(host, 1, true);
	host_arm(&host->dev[0], ring->space, epoch);
	nodes_drain(host);
	nodes_pass(host, ns);
	nodes_stop(host, 1, false);
	nodes_settle(host);
}

TEST("a round trip is measured")
{
	struct host *host = pair();
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	struct t3_peer_info info;

	assert_int_equal(nodes_info(host, 0, 1).round_trips, 0);
	exchange(host, &ring, 1, 5000);
	info = nodes_info(host, 0, 1);
	assert_int_equal(info.round_trips, 1);
	assert_int_equal(info.rtt_ns, 5000);
	assert_int_equal(info.rtt_least_ns, 5000);
	assert_int_equal(info.rtt_most_ns, 5000);
	host_free(host);
}

static struct t3_packet packet_of(const struct t3_link *link, uint32_t sequence)
{
	return (struct t3_packet){ .src_rank = (uint16_t)link->src,
				   .dst_rank = (uint16_t)link->dst,
				   .incarnation = link->incarnation,
				   .sequence = sequence };
}

static void answer(struct t3_peer *peer, const struct t3_packet *packet)
{
	struct t3_remote_response response = { .src = packet->src_rank,
					       .dst = packet->dst_rank,
					       .incarnation = packet->incarnation,
					       .sequence = packet->sequence };

	t3_meter_stop(peer, &response);
}

static void measure(struct host *host, uint32_t sequence, uint64_t ns)
{
	struct t3_packet packet = packet_of(link_of(host), sequence);
	struct t3_peer *peer = nodes_peer(host, 0, 1);

	t3_meter_start(peer, link_of(host), &packet);
	nodes_pass(host, ns);
	answer(peer, &packet);
}

TEST("the mean follows and the bounds stay")
{
	struct host *host = pair();
	struct t3_peer_info info;
	uint32_t i;

	measure(host, 1, 8000);
	measure(host, 2, 1600);
	info = nodes_info(host, 0, 1);
	assert_int_equal(info.rtt_ns, 8000 - 1000 + 200);
	for (i = 0; i < 200; i++)
		measure(host, 3 + i, 4000);
	info = nodes_info(host, 0, 1);
	assert_in_range(info.rtt_ns, 3990, 4010);
	assert_int_equal(info.rtt_least_ns, 1600);
	assert_int_equal(info.rtt_most_ns, 8000);
	assert_int_equal(info.round_trips, 202);
	host_free(host);
}

/* Nor is one that answers another packet, or an old incarnation's. */
TEST("a repeated packet is not measured")
{
	struct host *host = pair();
	struct t3_peer *peer = nodes_peer(host, 0, 1);
	struct t3_link *link = link_of(host);
	struct t3_packet packet = packet_of(link, 7), other = packet_of(link, 8);

	t3_meter_start(peer, link, &packet);
	answer(peer, &other);
	other = packet;
	other.incarnation++;
	answer(peer, &other);
	link->retries = 1;
	t3_meter_start(peer, link, &packet);
	answer(peer, &packet);
	link->retries = 0;
	assert_int_equal(nodes_info(host, 0, 1).round_trips, 0);
	measure(host, 9, 10);
	assert_int_equal(nodes_info(host, 0, 1).round_trips, 1);
	host_free(host);
}

/* Its response is lost with the connection, or with a device's reset. */
TEST("a packet without response does not end the measuring")
{
	struct host *host = pair();
	struct t3_packet lost = packet_of(link_of(host), 7);

	t3_meter_start(nodes_peer(host, 0, 1), link_of(host), &lost);
	measure(host, 8, 999999999);
	assert_int_equal(nodes_info(host, 0, 1).round_trips, 0);
	nodes_pass(host, 1);
	measure(host, 9, 50);
	assert_int_equal(nodes_info(host, 0, 1).round_trips, 1);
	t3_meter_start(nodes_peer(host, 0, 1), link_of(host), &lost);
	nodes_cut(host, 0, 1);
	nodes_connect_all(host);
	answer(nodes_peer(host, 0, 1), &lost);
	assert_int_equal(nodes_info(host, 0, 1).round_trips, 1);
	measure(host, 10, 60);
	assert_int_equal(nodes_info(host, 0, 1).rtt_most_ns, 60);
	host_free(host);
}
