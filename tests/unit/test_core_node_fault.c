/* SPDX-License-Identifier: MIT */
/*
 * Faults injected between nodes: those of links that leave the node (SPEC.md section 12.1), and
 * those of the connection (12.4), which the same seed gives at the same packets.
 */
#include <string.h>

#include "node/node.h"
#include "nodes.h"
#include "ring.h"
#include "test.h"

#define SPACE 3u

static struct host *pair(uint64_t seed)
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct host *host = nodes_new(&config, 2, seed);

	nodes_connect_all(host);
	return host;
}

static void reduce(const struct ring *ring, uint32_t epoch)
{
	ring_arm(ring, epoch);
	nodes_settle(ring->host);
	ring_produce(ring, 0, epoch, false);
	ring_produce(ring, 1, epoch, false);
	nodes_settle(ring->host);
	ring_expect_state(ring, T3_SPACE_COMPLETE, epoch);
	ring_expect_sums(ring, epoch);
	ring_release(ring, epoch);
}

static uint32_t inject(struct host *host, struct t3_cmd_inject what)
{
	return t3_fabric_inject(nodes_fabric(host, 0), &what);
}

static uint64_t injected(struct host *host)
{
	return host_counter(&host->dev[0], T3_COUNTER_INJECTED);
}

/* -------------------------------------------------------- links between nodes */

TEST("each fault of a node has its name, and nothing else has one")
{
	assert_string_equal(t3_name_node_fault(T3_INJECT_NODE_CUT - 1), "?");
	assert_string_equal(t3_name_node_fault(T3_INJECT_NODE_CUT), "node-cut");
	assert_string_equal(t3_name_node_fault(T3_INJECT_NODE_STALL), "node-stall");
	assert_string_equal(t3_name_node_fault(T3_INJECT_NODE_RANDOM), "node-random");
	assert_string_equal(t3_name_node_fault(T3_INJECT_NODE_END), "?");
}

/* Each fault of a packet acts on the way to another node, and the link repairs it. */
TEST("faults of packets act between nodes")
{
	static const struct {
		uint32_t kind;
		uint32_t rank; /* where it is counted */
		enum t3_counter_id counter;
	} row[] = {
		{ T3_INJECT_DROP, 0, T3_COUNTER_LINK_RETRIES },
		{ T3_INJECT_DUPLICATE, 1, T3_COUNTER_LINK_DUPLICATES },
		{ T3_INJECT_CORRUPT, 1, T3_COUNTER_LINK_ERRORS },
		{ T3_INJECT_REORDER, 0, T3_COUNTER_INJECTED },
		{ T3_INJECT_DELAY, 0, T3_COUNTER_INJECTED },
		{ T3_INJECT_DROP_RESPONSE, 0, T3_COUNTER_LINK_RETRIES },
	};
	uint32_t i;

	for (i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct host *host = pair(i);
		struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);

		assert_int_equal(inject(host, (struct t3_cmd_inject){ .kind = row[i].kind,
								      .peer = 1,
								      .nth = 3,
								      .count = 1,
								      .value = row[i].kind ==
									       T3_INJECT_DELAY }),
				 T3_ADMIN_OK);
		reduce(&ring, 1);
		assert_int_equal(injected(host), 1);
		assert_true(host_counter(&host->dev[row[i].rank], row[i].counter) > 0);
		host_free(host);
	}
}

/* ----------------------------------------------------------------- connections */

static struct t3_cmd_inject counted(uint32_t kind, uint32_t nth, uint32_t count, uint64_t ms)
{
	return (struct t3_cmd_inject){
		.kind = kind, .peer = 1, .nth = nth, .count = count, .value = ms
	};
}

TEST("a stall hits the packets that it names")
{
	struct host *host = pair(1);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	const struct nodes_faults *faults = nodes_faults(host, 0, 1);

	assert_int_equal(inject(host, counted(T3_INJECT_NODE_STALL, 3, 2, 250)), T3_ADMIN_OK);
	reduce(&ring, 1);
	assert_int_equal(faults->count, 2);
	assert_int_equal(injected(host), 2);
	assert_true(!faults->list[0].cut && faults->list[0].ms == 250);
	assert_int_equal(faults->list[0].packets, 2);
	assert_int_equal(faults->list[1].packets, 3);
	host_free(host);
}

/* The other order would draw other packets from the same seed. */
TEST("a stall comes before a cut of the same packet")
{
	struct host *host = pair(1);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	const struct nodes_faults *faults = nodes_faults(host, 0, 1);

	assert_int_equal(inject(host, counted(T3_INJECT_NODE_CUT, 1, 1, 0)), T3_ADMIN_OK);
	assert_int_equal(inject(host, counted(T3_INJECT_NODE_STALL, 1, 1, 250)), T3_ADMIN_OK);
	ring_arm(&ring, 1);
	nodes_drain(host);
	assert_int_equal(faults->count, 2);
	assert_true(!faults->list[0].cut && faults->list[0].ms == 250);
	assert_true(faults->list[1].cut);
	assert_int_equal(faults->list[1].packets, 0);
	host_free(host);
}

/* That packet and all behind it are lost, until there is another connection. */
TEST("a cut ends the connection before its packet")
{
	struct host *host = pair(1);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	const struct nodes_faults *faults = nodes_faults(host, 0, 1);
	uint64_t sent;

	reduce(&ring, 1);
	sent = nodes_info(host, 0, 1).sent_packets;
	assert_int_equal(inject(host, counted(T3_INJECT_NODE_CUT, 2, 1, 0)), T3_ADMIN_OK);
	ring_arm(&ring, 2);
	nodes_drain(host);
	ring_produce(&ring, 0, 2, false);
	nodes_drain(host);
	assert_int_equal(faults->count, 1);
	assert_true(faults->list[0].cut && !faults->list[0].ms);
	assert_int_equal(nodes_info(host, 0, 1).sent_packets, sent + 1);
	nodes_tick(host);
	nodes_tick(host);
	nodes_tick(host);
	nodes_drain(host);
	assert_int_equal(nodes_info(host, 0, 1).sent_packets, sent + 1);
	nodes_cut(host, 0, 1);
	nodes_settle(host);
	nodes_connect_all(host);
	ring_disconnect(&ring);
	ring_connect(&ring);
	reduce(&ring, 3);
	assert_int_equal(faults->count, 1);
	host_free(host);
}

TEST("pending faults can be seen")
{
	struct host *host = pair(1);
	const struct t3_peer *peer = nodes_peer(host, 0, 1);
	struct t3_cmd_inject what, stall = counted(T3_INJECT_NODE_STALL, 7, 2, 5),
				   cut = counted(T3_INJECT_NODE_CUT, 9, 1, 0),
				   chance = counted(T3_INJECT_NODE_RANDOM, 0, 3, 77);
	uint32_t kind;

	for (kind = 0; kind < T3_INJECT_NODE_END + 2; kind++)
		assert_false(t3_peer_injection(peer, kind, &what));
	assert_int_equal(inject(host, stall), T3_ADMIN_OK);
	assert_int_equal(inject(host, cut), T3_ADMIN_OK);
	assert_int_equal(inject(host, chance), T3_ADMIN_OK);
	assert_true(t3_peer_injection(peer, T3_INJECT_NODE_STALL, &what));
	assert_memory_equal(&what, &stall, sizeof(what));
	assert_true(t3_peer_injection(peer, T3_INJECT_NODE_CUT, &what));
	assert_memory_equal(&what, &cut, sizeof(what));
	assert_true(t3_peer_injection(peer, T3_INJECT_NODE_RANDOM, &what));
	assert_memory_equal(&what, &chance, sizeof(what));
	assert_int_equal(nodes_faults(host, 0, 1)->mended[0], 0);
	assert_int_equal(inject(host, counted(T3_INJECT_NODE_STALL, 0, 0, 0)), T3_ADMIN_OK);
	assert_int_equal(nodes_faults(host, 0, 1)->mended[0], 1);
	assert_int_equal(nodes_faults(host, 0, 1)->mended[1], 0);
	assert_int_equal(inject(host, counted(T3_INJECT_NODE_CUT, 0, 9, ~0ull)), T3_ADMIN_OK);
	assert_int_equal(nodes_faults(host, 0, 1)->mended[1], 1);
	assert_int_equal(inject(host, counted(T3_INJECT_NODE_RANDOM, 0, 0, 0)), T3_ADMIN_OK);
	assert_int_equal(nodes_faults(host, 0, 1)->mended[0], 1);
	for (kind = 0; kind < T3_INJECT_NODE_END + 2; kind++)
		assert_false(t3_peer_injection(peer, kind, &what));
	host_free(host);
}

TEST("wrong faults of connections are refused")
{
	static const struct {
		struct t3_cmd_inject what;
		uint32_t status;
	} row[] = {
		{ { .kind = T3_INJECT_NODE_CUT, .peer = 0, .nth = 1, .count = 1 },
		  T3_ADMIN_NO_ROUTE },
		{ { .kind = T3_INJECT_NODE_CUT, .peer = 2, .nth = 1, .count = 1 },
		  T3_ADMIN_NO_ROUTE },
		{ { .kind = T3_INJECT_NODE_CUT, .peer = ~0u, .nth = 1, .count = 1 },
		  T3_ADMIN_NO_ROUTE },
		{ { .kind = T3_INJECT_NODE_CUT, .peer = 1, .nth = 1 }, T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_CUT, .peer = 1, .nth = 1, .count = 1, .value = 60001 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_CUT, .peer = 1, .nth = 1, .count = 1, .rank = 1 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_CUT, .peer = 1, .nth = 1, .count = 1, .address = 1 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_CUT, .peer = 1, .nth = 1, .count = 1, .mbz = 1 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_STALL, .peer = 1, .nth = 1, .count = 1 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_STALL,
		    .peer = 1,
		    .nth = 1,
		    .count = 1,
		    .value = 1ull << 32 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_RANDOM, .peer = 1, .nth = 65536 }, T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_RANDOM, .peer = 1, .count = 65536 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_END, .peer = 1, .nth = 1, .count = 1 },
		  T3_ADMIN_BAD_VALUE },
		{ { .kind = T3_INJECT_NODE_CUT - 1, .peer = 1, .nth = 1, .count = 1 },
		  T3_ADMIN_BAD_VALUE },
	};
	struct host *host = pair(1);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint32_t i;

	for (i = 0; i < sizeof(row) / sizeof(*row); i++)
		assert_int_equal(inject(host, row[i].what), row[i].status);
	reduce(&ring, 1);
	assert_int_equal(nodes_faults(host, 0, 1)->count, 0);
	host_free(host);
}

/* ---------------------------------------------------------------------- random */

/* Cuts change nothing here, as the test does not obey them: no packet may be lost. */
static struct nodes_faults stalls_of(uint64_t seed, uint32_t order)
{
	struct host *host = pair(order);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	struct nodes_faults faults;
	uint32_t epoch;

	assert_int_equal(inject(host, counted(T3_INJECT_NODE_RANDOM, 0, 8000, seed)), T3_ADMIN_OK);
	for (epoch = 1; epoch <= 10; epoch++)
		reduce(&ring, epoch);
	faults = *nodes_faults(host, 0, 1);
	assert_int_equal(injected(host), faults.count);
	assert_int_equal(nodes_faults(host, 1, 0)->count, 0);
	host_free(host);
	return faults;
}

TEST("the same seed hits the same packets")
{
	struct nodes_faults a = stalls_of(5, 1), b = stalls_of(5, 9), c = stalls_of(6, 1);
	uint32_t i;

	assert_true(a.count > 3);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(memcmp(&a, &c, sizeof(a)));
	for (i = 0; i < a.count; i++)
		assert_in_range(a.list[i].ms, 1, 100);
}

/* A chance of cuts alone stalls nothing. */
TEST("cuts come by chance")
{
	struct host *host = pair(1);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	const struct nodes_faults *faults = nodes_faults(host, 0, 1);
	uint32_t epoch = 1;

	/* One that is counted and far away lends it no time. */
	assert_int_equal(inject(host, counted(T3_INJECT_NODE_CUT, 1u << 30, 1, 250)), T3_ADMIN_OK);
	assert_int_equal(inject(host, counted(T3_INJECT_NODE_RANDOM, 3000, 0, 2)), T3_ADMIN_OK);
	while (!faults->count) {
		assert_true(epoch < 100);
		ring_arm(&ring, epoch);
		nodes_drain(host);
		ring_produce(&ring, 0, epoch, false);
		ring_produce(&ring, 1, epoch, false);
		nodes_drain(host);
		ring_release(&ring, epoch);
		nodes_drain(host);
		epoch++;
	}
	assert_int_equal(faults->count, 1);
	assert_true(faults->list[0].cut);
	assert_int_equal(faults->list[0].ms, 0);
	host_free(host);
}
