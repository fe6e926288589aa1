/* SPDX-License-Identifier: MIT */
/* Reduce-scatter over rings of 2 to 16 ranks, arming, topologies, the clock. */
#include "host.h"
#include "ring.h"
#include "test.h"

static void reduce_scatter(struct host *host, uint32_t dtype, bool staged)
{
	struct ring ring = ring_of(host, 0, dtype);
	uint32_t ranks = host->ranks, epoch, r;

	for (r = 0; r < ranks; r++)
		t3_dev_reset(host->dev[r].dev);
	ring_create(&ring);
	ring_connect(&ring);
	for (epoch = 1; epoch <= 2; epoch++) {
		ring_arm(&ring, epoch);
		ring_expect_state(&ring, T3_SPACE_ARMED, epoch);
		for (r = 0; r < ranks; r++) /* up, then down the ring */
			ring_produce(&ring, epoch == 1 ? r : ranks - 1 - r, epoch, staged);
		ring_expect_state(&ring, T3_SPACE_COMPLETE, epoch);
		ring_expect_sums(&ring, epoch);
		ring_release(&ring, epoch);
		ring_expect_state(&ring, T3_SPACE_IDLE, epoch);
	}
	ring_expect_counts(&ring, 2, staged);
}

TEST("rings of all sizes reduce in all types")
{
	uint32_t ranks, dtype;

	for (ranks = 2; ranks <= 16; ranks++) {
		struct host *host = host_ring(ranks);

		for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++) {
			reduce_scatter(host, dtype, false);
			reduce_scatter(host, dtype, true);
		}
		host_free(host);
	}
}

/* Bytes on the wire, counted outside of the links: nothing is sent twice or lost. */
TEST("links count each byte once")
{
	struct host *host = host_ring(4);
	struct ring ring = ring_open(host, 0, T3_DTYPE_F32);
	uint64_t tx = 0, rx = 0, tx_bytes = 0, rx_bytes = 0;
	uint32_t r;

	ring_arm(&ring, 1);
	for (r = 0; r < 4; r++)
		ring_produce(&ring, r, 1, false);
	for (r = 0; r < 4; r++) {
		struct host_dev *d = &host->dev[r];

		tx += host_counter(d, T3_COUNTER_LINK_TX_PACKETS);
		rx += host_counter(d, T3_COUNTER_LINK_RX_PACKETS);
		tx_bytes += host_counter(d, T3_COUNTER_LINK_TX_BYTES);
		rx_bytes += host_counter(d, T3_COUNTER_LINK_RX_BYTES);
		assert_int_equal(host_counter(d, T3_COUNTER_LINK_RETRIES), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_DMA_BYTES), 2 * 120);
		assert_int_equal(host_query(d, 0).in_flight, 0);
	}
	assert_int_equal(tx, rx);
	assert_int_equal(tx_bytes, rx_bytes);
	assert_int_equal(tx_bytes, tx * sizeof(struct t3_packet) + 3 * 4 * 120);
	host_free(host);
}

/* In any order of arming, a space is ARMED when its targets are, and needs nothing else. */
static void arm_in_order(const uint32_t *order, uint32_t ranks)
{
	struct host *host = host_ring(ranks);
	struct ring ring = ring_open(host, 0, T3_DTYPE_I32);
	bool armed[T3_MAX_RANKS] = { false };
	uint32_t i, r;

	for (i = 0; i < ranks; i++) {
		host_arm(&host->dev[order[i]], 0, 1);
		armed[order[i]] = true;
		for (r = 0; r < ranks; r++)
			assert_int_equal(host_state(&host->dev[r], 0), !armed[r] ? T3_SPACE_IDLE
								       : armed[(r + 1) % ranks]
									       ? T3_SPACE_ARMED
									       : T3_SPACE_ARMING);
	}
	for (r = 0; r < ranks; r++)
		ring_produce(&ring, order[r], 1, r % 2);
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(&ring, 1);
	host_free(host);
}

static void permute(uint32_t *order, uint32_t n, uint32_t at)
{
	uint32_t i, swap;

	if (at == n) {
		arm_in_order(order, n);
		return;
	}
	for (i = at; i < n; i++) {
		swap = order[at], order[at] = order[i], order[i] = swap;
		permute(order, n, at + 1);
		swap = order[at], order[at] = order[i], order[i] = swap;
	}
}

TEST("ranks may arm in any order")
{
	uint32_t order[] = { 0, 1, 2, 3 };

	permute(order, 2, 0);
	permute(order, 3, 0);
	permute(order, 4, 0);
}

/* Two grants between the same two spaces: both routes must become ready. */
TEST("two routes to one space both become ready")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);

	host_space(a, 0);
	host_space(b, 0);
	host_route(a, 0, 0, b, 0, 4);
	host_route(a, 0, 1, b, 0, 9);
	host_import(b, 0, 4, a, 0, 1);
	host_import(b, 0, 9, a, 0, 2);
	host_map(a, &map);
	map = host_segment(0, 1, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	map.routes = 1u << 1;
	host_map(a, &map);
	host_local(b, 0, 0);
	host_local(b, 0, 1);
	host_arm(a, 0, 1);
	host_arm(b, 0, 1);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	host_fill(a, 0, 0, 1);
	host_fill(a, 0, 1, 2);
	host_expect(b, 0, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

static bool has_link(struct host_dev *d, uint32_t rank)
{
	struct t3_cmd_route_set cmd = { 0, rank, rank, 0, 1, 0 };

	return host_command(d, T3_CMD_ROUTE_SET, &cmd, sizeof(cmd)) == T3_ADMIN_OK;
}

static void topology(uint32_t kind, uint32_t ranks)
{
	struct host_config config = { kind, ranks, 8, 2, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	uint32_t r, peer;

	for (r = 0; r < ranks; r++) {
		struct host_dev *d = &host->dev[r];

		assert_int_equal(host_reg(d, T3_REG_TOPOLOGY), kind);
		assert_int_equal(host_reg(d, T3_REG_RANKS), ranks);
		assert_int_equal(host_reg(d, T3_REG_RANK), r);
		host_space(d, 0);
		for (peer = 0; peer < T3_MAX_RANKS; peer++) {
			bool next = peer == (r + 1) % ranks || r == (peer + 1) % ranks;
			bool want =
				peer < ranks && peer != r &&
				(kind == T3_TOPOLOGY_FULL || (kind == T3_TOPOLOGY_RING && next));

			assert_int_equal(has_link(d, peer), want);
			assert_int_equal(host_inject(host->fabric, r, peer, T3_INJECT_DROP, 0),
					 want);
		}
	}
	host_free(host);
}

TEST("each topology has its links")
{
	topology(T3_TOPOLOGY_NONE, 1);
	topology(T3_TOPOLOGY_NONE, 3);
	topology(T3_TOPOLOGY_RING, 1);
	topology(T3_TOPOLOGY_RING, 2);
	topology(T3_TOPOLOGY_RING, 5);
	topology(T3_TOPOLOGY_FULL, 1);
	topology(T3_TOPOLOGY_FULL, 6);
	topology(T3_TOPOLOGY_FULL, 32);
}

/* Updates of a source that is ahead count while the target is still ARMING. */
TEST("updates that come while arming are applied")
{
	struct host *host = host_ring(3);
	struct ring ring = ring_open(host, 0, T3_DTYPE_I32);

	host_arm(&host->dev[0], 0, 1);
	host_arm(&host->dev[1], 0, 1);
	host_expect(&host->dev[0], 0, T3_SPACE_ARMED, 1);
	host_expect(&host->dev[1], 0, T3_SPACE_ARMING, 1);
	ring_produce(&ring, 0, 1, false);
	host_expect(&host->dev[0], 0, T3_SPACE_ARMED, 1);
	assert_int_equal(host_stats(&host->dev[1], 0, 2).remote_bytes, 120);
	host_free(host);
}
