/* SPDX-License-Identifier: MIT */
/* Reports: what waits for what, seen from outside and without a trace of the look. */
#include "host.h"

/* Segment 0 of space 0 on a is DMA to segment 0 on b; both armed, nothing drained. */
static struct host *dma_pair(void)
{
	struct host *host = host_ring(2);
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);

	host_space(&host->dev[0], 0);
	host_space(&host->dev[1], 0);
	host_connect(&host->dev[0], &host->dev[1], 0);
	host_map(&host->dev[0], &map);
	host_local(&host->dev[1], 0, 0);
	return host;
}

static void test_nothing(void **state)
{
	struct host *host = host_ring(2);
	struct t3_dev *dev = host->dev[0].dev;
	struct t3_space_info space;
	struct t3_segment_info segment;
	struct t3_route_info route;
	struct t3_tile_info tile;
	struct t3_link_info link;

	(void)state;
	assert_false(t3_dev_space_info(dev, 0, &space));
	assert_false(t3_dev_space_info(dev, T3_MAX_SPACES, &space));
	assert_false(t3_dev_segment_info(dev, 0, 0, &segment));
	assert_false(t3_dev_route_info(dev, 0, 0, &route));
	assert_int_equal(t3_dev_next_waiting_tile(dev, 0, 0, 0, &tile), HOST_NONE32);
	host_space(&host->dev[0], 0);
	assert_true(t3_dev_space_info(dev, 0, &space));
	assert_int_equal(space.state, T3_SPACE_IDLE);
	assert_false(t3_dev_segment_info(dev, 0, T3_SPACE_SEGMENTS, &segment));
	assert_false(t3_dev_route_info(dev, 0, T3_SPACE_ROUTES, &route));
	assert_false(t3_fabric_link_info(host->fabric, 0, 0, &link));
	assert_false(t3_fabric_link_info(host->fabric, 0, T3_MAX_RANKS, &link));
	assert_false(t3_fabric_link_info(host->fabric, T3_MAX_RANKS, 0, &link));
	host_free(host);
}

static void test_arming(void **state)
{
	struct host *host = dma_pair();
	struct t3_dev *dev = host->dev[0].dev;
	struct t3_route_info route;

	(void)state;
	host_arm(&host->dev[0], 0, 1);
	assert_true(t3_dev_route_info(dev, 0, 0, &route));
	assert_int_equal(route.rank, 1);
	assert_int_equal(route.peer_state, T3_SPACE_IDLE);
	assert_false(route.ready || route.dead);
	host_arm(&host->dev[1], 0, 1);
	assert_true(t3_dev_route_info(dev, 0, 0, &route));
	assert_true(route.ready);
	assert_int_equal(route.peer_epoch, 1);
	host_free(host);
}

static void expect_tile(struct t3_dev *dev, uint32_t from, uint32_t want, uint64_t count, bool busy)
{
	struct t3_tile_info tile;

	assert_int_equal(t3_dev_next_waiting_tile(dev, 0, 0, from, &tile), want);
	if (want == HOST_NONE32)
		return;
	assert_int_equal(tile.tile, want);
	assert_int_equal(tile.count, count);
	assert_int_equal(tile.expected, 16);
	assert_int_equal(tile.ready || tile.sending, busy);
}

/* Untouched, half counted, waiting for the link, done. */
static void test_tiles(void **state)
{
	struct host *host = dma_pair();
	struct host_dev *a = &host->dev[0];
	struct t3_segment_info info;
	struct t3_link_info link;
	uint64_t hits;

	(void)state;
	host_arm(a, 0, 1);
	host_arm(&host->dev[1], 0, 1);
	expect_tile(a->dev, 0, 0, 0, false);
	host_store(a, 0, 0, 1, 8);
	hits = host_counter(a, T3_COUNTER_TRACKER_HIT);
	expect_tile(a->dev, 0, 0, 8, false);
	expect_tile(a->dev, 1, 1, 0, false);
	assert_int_equal(host_counter(a, T3_COUNTER_TRACKER_HIT), hits);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_store(a, 0, 16, 1, 8);
	expect_tile(a->dev, 0, 0, 16, true);
	assert_true(t3_dev_segment_info(a->dev, 0, 0, &info));
	assert_int_equal(info.tiles_tracked, 1);
	assert_int_equal(info.tiles_ready, 1);
	assert_int_equal(info.acked_bytes, 0);
	assert_int_equal(info.counts.stores, 2);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_segments, 1);
	host_drain(host);
	expect_tile(a->dev, 0, 1, 0, false);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_segments, 0);
	assert_int_equal(link.unanswered, 0);
	assert_true(t3_dev_segment_info(a->dev, 0, 0, &info));
	assert_int_equal(info.acked_bytes, 16);
	assert_int_equal(info.send_bytes, 64);
	expect_tile(a->dev, 4, HOST_NONE32, 0, false);
	host_free(host);
}

static void test_control_waits(void **state)
{
	struct host *host = dma_pair();
	struct t3_link_info link;

	(void)state;
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_arm(&host->dev[0], 0, 1);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_control, 1);
	host_drain(host);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_control, 0);
	host_free(host);
}

static void test_names(void **state)
{
	static const struct {
		const char *(*name)(uint32_t value);
		uint32_t first, count;
	} lists[] = {
		{ t3_name_space_state, T3_SPACE_FREE, T3_SPACE_QUIESCED + 1 },
		{ t3_name_fault, T3_FAULT_NONE, T3_FAULT_POISON + 1 },
		{ t3_name_segment_kind, T3_SEG_LOCAL, T3_SEG_DMA + 1 },
		{ t3_name_op, 0, T3_OP_COUNT },
		{ t3_name_dtype, 0, T3_DTYPE_COUNT },
		{ t3_name_topology, 0, T3_TOPOLOGY_FULL + 1 },
		{ t3_name_counter, 0, T3_COUNTER_COUNT },
	};
	uint32_t value;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (value = lists[i].first; value < lists[i].count; value++)
			assert_string_not_equal(lists[i].name(value), "?");
		assert_string_equal(lists[i].name(lists[i].count), "?");
		assert_string_equal(lists[i].name(HOST_NONE32), "?");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_arming),
		cmocka_unit_test(test_tiles),	cmocka_unit_test(test_control_waits),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
