/* SPDX-License-Identifier: MIT */
/* Reports: what waits for what, read from outside without an effect on the device. */
#include "queue.h"
#include "test.h"

/* Segment 0 of space 0 on a is DMA to segment 0 on b; both armed, nothing drained. */
static struct host *dma_pair(void)
{
	struct host *host = host_ring(2);
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);

	host_space(&host->dev[0], 0);
	host_space(&host->dev[1], 0);
	host_space_command(&host->dev[1], T3_CMD_SPACE_RESET, 0); /* another generation */
	host_connect(&host->dev[0], &host->dev[1], 0);
	host_map(&host->dev[0], &map);
	host_local(&host->dev[1], 0, 0);
	return host;
}

TEST("reports of what is not there are empty")
{
	struct host *host = host_ring(2);
	struct t3_dev *dev = host->dev[0].dev;
	struct t3_space_info space;
	struct t3_segment_info segment;
	struct t3_route_info route;
	struct t3_tile_info tile;
	struct t3_link_info link;
	struct t3_queue_info queue;
	struct t3_cmd_inject what;

	assert_false(t3_dev_space_info(dev, 0, &space));
	assert_false(t3_dev_space_info(dev, T3_MAX_SPACES, &space));
	assert_false(t3_dev_segment_info(dev, 0, 0, &segment));
	assert_false(t3_dev_route_info(dev, 0, 0, &route));
	assert_int_equal(t3_dev_next_waiting_tile(dev, 0, 0, 0, HOST_NONE32, &tile), HOST_NONE32);
	host_space(&host->dev[0], 0);
	assert_true(t3_dev_space_info(dev, 0, &space));
	assert_int_equal(space.state, T3_SPACE_IDLE);
	assert_false(t3_dev_segment_info(dev, 0, T3_SPACE_SEGMENTS, &segment));
	assert_false(t3_dev_route_info(dev, 0, T3_SPACE_ROUTES, &route));
	assert_false(t3_dev_queue_info(dev, 0, &queue));
	assert_false(t3_dev_queue_info(dev, T3_MAX_QUEUES, &queue));
	assert_int_equal(t3_fabric_next_injection(host->fabric, 0, 0, &what), HOST_NONE32);
	assert_int_equal(t3_fabric_next_injection(host->fabric, T3_MAX_RANKS, 0, &what),
			 HOST_NONE32);
	assert_false(t3_fabric_link_info(host->fabric, 0, 0, &link));
	assert_false(t3_fabric_link_info(host->fabric, 0, T3_MAX_RANKS, &link));
	assert_false(t3_fabric_link_info(host->fabric, T3_MAX_RANKS, 0, &link));
	host_free(host);
}

TEST("an arming space reports its routes")
{
	struct host *host = dma_pair();
	struct t3_dev *dev = host->dev[0].dev;
	struct t3_route_info route;

	assert_true(t3_dev_route_info(dev, 0, 0, &route));
	assert_false(route.ready);
	host_arm(&host->dev[0], 0, 1);
	assert_true(t3_dev_route_info(dev, 0, 0, &route));
	assert_int_equal(route.rank, 1);
	assert_int_equal(route.generation, host_query(&host->dev[1], 0).generation);
	assert_int_not_equal(route.generation, host_query(&host->dev[0], 0).generation);
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

	assert_int_equal(t3_dev_next_waiting_tile(dev, 0, 0, from, HOST_NONE32, &tile), want);
	if (want == HOST_NONE32)
		return;
	assert_int_equal(tile.tile, want);
	assert_int_equal(tile.count, count);
	assert_int_equal(tile.expected, 16);
	assert_int_equal(tile.ready || tile.sending, busy);
}

/* Untouched, half counted, waiting for the link, done. */
TEST("a tile's report follows its way")
{
	struct host *host = dma_pair();
	struct host_dev *a = &host->dev[0];
	struct t3_segment_info info;
	struct t3_link_info link;
	uint64_t hits;

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
	assert_int_equal(info.target_ranks, 1u << 1);
	assert_int_equal(info.routes, 1u << 0);
	assert_int_equal(info.target_segment, 0);
	assert_int_equal(info.rows, 4);
	assert_int_equal(info.row_bytes, 16);
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

TEST("a waiting control packet is reported")
{
	struct host *host = dma_pair();
	struct t3_link_info link;

	t3_fabric_set_inline_budget(host->fabric, 0);
	host_arm(&host->dev[0], 0, 1);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_control, 1);
	host_drain(host);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	assert_int_equal(link.waiting_control, 0);
	host_free(host);
}

/* ------------------------------------------------------------------- queues */

static struct t3_queue_info queue_info(const struct queue *q, uint32_t waits)
{
	struct t3_queue_info info;

	assert_true(t3_dev_queue_info(q->d->dev, q->id, &info));
	assert_int_equal(info.waits, waits);
	assert_int_equal(info.tail, q->tail);
	assert_int_equal(info.head, queue_head(q));
	return info;
}

/* A queue waits for nothing, a fence, or an injected hang. */
TEST("a queue reports what it waits for")
{
	struct host *host = host_ring(2);
	struct queue q = queue_new(&host->dev[0], 5, 2);
	struct t3_descriptor wait = queue_wait(7, 30), bad = queue_nop();
	struct t3_queue_info info;

	info = queue_info(&q, T3_QUEUE_WAITS_NOT);
	assert_int_equal(info.state, T3_QUEUE_READY);
	assert_int_equal(info.priority, 2);
	assert_int_equal(info.entries, QUEUE_ENTRIES);
	queue_set_fence(&host->dev[0], 7, 29);
	queue_submit(&q, &wait);
	info = queue_info(&q, T3_QUEUE_WAITS_FENCE);
	assert_int_equal(info.fence, 7);
	assert_int_equal(info.fence_value, 29);
	assert_int_equal(info.fence_wanted, 30);
	t3_fabric_set_inline_budget(host->fabric, 0);
	queue_set_fence(&host->dev[0], 7, 30);
	queue_info(&q, T3_QUEUE_WAITS_NOT); /* it is the engine's turn */
	host_drain(host);
	bad.opcode = 0x77;
	queue_submit(&q, &bad);
	host_drain(host);
	info = queue_info(&q, T3_QUEUE_WAITS_NOT);
	assert_int_equal(info.state, T3_QUEUE_ERROR);
	assert_int_equal(info.status, T3_DESC_BAD_DESCRIPTOR);
	queue_destroy(&q);
	assert_false(t3_dev_queue_info(q.d->dev, q.id, &info));
	host_free(host);
}

/* Its stores wait for a link that is down: the rank there is named. */
TEST("a queue reports the link it waits for")
{
	struct host *host = host_ring(3);
	struct host_dev *a = &host->dev[0], *b = &host->dev[2];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct queue q = queue_new(a, 63, 0);
	struct t3_descriptor x = queue_fill(0, 1, 64);

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	map.updates = 16;
	host_map(a, &map);
	map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	map.updates = 16;
	host_map(b, &map);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_inject(host->fabric, 0, 2, T3_INJECT_LINK_DOWN, 1);
	x.dst_kind = T3_LOC_SPACE;
	x.generation = host_query(a, 0).generation;
	while (q.tail < 10) /* 8 packets each */
		queue_submit(&q, &x);
	t3_fabric_run(host->fabric, 200);
	assert_int_equal(queue_info(&q, T3_QUEUE_WAITS_LINK).rank, 2);
	host_inject(host->fabric, 0, 2, T3_INJECT_LINK_DOWN, 0);
	host_drain(host);
	queue_expect(&q, 9, T3_DESC_OK, 0);
	queue_info(&q, T3_QUEUE_WAITS_NOT);
	host_free(host);
}

/* --------------------------------------------------------------- injections */

/* The list has what was injected, less what has taken effect. */
TEST("pending injections are listed")
{
	static const struct t3_cmd_inject list[] = {
		{ .kind = T3_INJECT_POISON, .address = 128, .value = 64 },
		{ .kind = T3_INJECT_POISON, .address = 1024, .value = 256 },
		{ .kind = T3_INJECT_LOSE_IRQ, .nth = 3, .count = 2 },
		{ .kind = T3_INJECT_FAIL_DMA, .nth = 1000, .count = 1 },
		{ .kind = T3_INJECT_HANG_QUEUE, .peer = 4 },
		{ .kind = T3_INJECT_DROP, .peer = 1, .nth = 9, .count = 7 },
		{ .kind = T3_INJECT_DELAY, .peer = 1, .nth = 1, .count = 1, .value = 555 },
		{ .kind = T3_INJECT_LINK_DOWN, .peer = 1 },
		{ .kind = T3_INJECT_LINK_RANDOM, .peer = 1, .nth = 12 },
	};
	const uint32_t count = sizeof(list) / sizeof(list[0]);
	struct host *host = host_ring(2);
	struct queue q = queue_new(&host->dev[0], 4, 0);
	struct t3_descriptor nop = queue_nop();
	struct t3_cmd_inject what;
	uint32_t i, at = 0;

	for (i = count; i-- > 0;)
		assert_int_equal(t3_fabric_inject(host->fabric, &list[i]), T3_ADMIN_OK);
	for (i = 0; i < count; i++) {
		at = t3_fabric_next_injection(host->fabric, 0, at, &what) + 1;
		assert_int_not_equal(at, 0);
		assert_memory_equal(&what, &list[i], sizeof(what));
	}
	assert_int_equal(t3_fabric_next_injection(host->fabric, 0, at, &what), HOST_NONE32);
	assert_int_equal(t3_fabric_next_injection(host->fabric, 1, 0, &what), HOST_NONE32);
	queue_submit(&q, &nop);
	queue_info(&q, T3_QUEUE_WAITS_HUNG);
	queue_abort(&q);
	queue_info(&q, T3_QUEUE_WAITS_NOT);
	host_free(host);
}

/* Faults that took effect are not listed any more. */
TEST("an injection that took effect is not listed")
{
	struct host *host = dma_pair();
	struct t3_cmd_inject what = { .kind = T3_INJECT_DROP, .peer = 1, .nth = 2, .count = 2 };
	uint32_t at;

	assert_int_equal(t3_fabric_inject(host->fabric, &what), T3_ADMIN_OK);
	host_arm(&host->dev[0], 0, 1); /* one packet: ARM_QUERY */
	at = t3_fabric_next_injection(host->fabric, 0, 0, &what);
	assert_int_not_equal(at, HOST_NONE32);
	assert_int_equal(what.nth, 1);
	assert_int_equal(what.count, 2);
	host_arm(&host->dev[1], 0, 1);
	host_fill(&host->dev[0], 0, 0, 1);
	host_drain(host);
	assert_int_equal(t3_fabric_next_injection(host->fabric, 0, 0, &what), HOST_NONE32);
	host_free(host);
}

/* ------------------------------------------------------------------- traces */

/* A block each for four tiles, one of which is lost on its way and sent again. */
TEST("each block is traced")
{
	struct host *host = dma_pair();
	struct host_traced *traced = &host->dev[0].traced;
	struct t3_link_info link;
	uint64_t before;

	host_arm(&host->dev[1], 0, 1);
	host_arm(&host->dev[0], 0, 1);
	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &link));
	before = link.next;
	host_inject(host->fabric, 0, 1, T3_INJECT_DROP, 1);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_fill(&host->dev[0], 0, 0, 1);
	assert_int_equal(traced->blocks_started, 0);
	host_drain(host);
	assert_int_equal(traced->blocks_started, 4);
	assert_int_equal(traced->blocks_sent, 4);
	assert_int_equal(traced->resent, host_counter(&host->dev[0], T3_COUNTER_LINK_RETRIES));
	assert_true(traced->resent > 0);
	/* The cause comes with the packet that it hit: the first one that is sent again. */
	assert_int_equal(traced->accidents[T3_INJECT_DROP], 1);
	assert_int_equal(traced->last_accident, before);
	assert_int_equal(traced->given_up, 0);
	assert_int_equal(host->dev[1].traced.naks, 0);
	host_free(host);
}

/* Down, up, given up; a packet for a space that was destroyed; a neighbour that was reset. */
TEST("each event of a link is traced")
{
	struct host *host = dma_pair();
	struct host_traced *a = &host->dev[0].traced, *b = &host->dev[1].traced;

	host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1); /* it was down */
	assert_int_equal(a->links_down, 1);
	host_arm(&host->dev[0], 0, 1); /* ARM_QUERY is lost */
	host_drain(host);
	assert_true(a->given_up > 0);
	assert_int_equal(a->resent, host_counter(&host->dev[0], T3_COUNTER_LINK_RETRIES));
	/* Each packet that is lost, and each that is sent again. */
	assert_int_equal(a->accidents[T3_INJECT_LINK_DOWN],
			 host_counter(&host->dev[0], T3_COUNTER_INJECTED));
	assert_true(a->accidents[T3_INJECT_LINK_DOWN] > 1);
	host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 0);
	assert_int_equal(a->links_up, 1);
	assert_int_equal(b->naks, 0);
	host_space_command(&host->dev[1], T3_CMD_SPACE_RESET, 0);
	host_space_command(&host->dev[0], T3_CMD_SPACE_RESET, 0);
	host_drain(host);
	assert_int_equal(b->naks, host_counter(&host->dev[1], T3_COUNTER_NAKS));
	assert_int_equal(a->losses, 0);
	t3_dev_reset(host->dev[1].dev);
	host_drain(host);
	assert_int_equal(a->losses, 1);
	assert_int_equal(b->losses, 0);
	host_free(host);
}

/* The reason is in the report of the rank that rejected the packet. */
TEST("the reason of a rejection is traced")
{
	struct host *host = dma_pair();
	struct t3_cmd_seg_map other = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_MAX, T3_DTYPE_I32);

	host_index_command(&host->dev[1], T3_CMD_SEG_UNMAP, 0, 0);
	host_map(&host->dev[1], &other); /* the source sends ADD or STORE */
	host_arm(&host->dev[1], 0, 1);
	host_arm(&host->dev[0], 0, 1);
	host_fill(&host->dev[0], 0, 0, 1);
	host_drain(host);
	assert_true(host->dev[1].traced.naks > 0);
	assert_int_equal(host->dev[1].traced.naks, host_counter(&host->dev[1], T3_COUNTER_NAKS));
	assert_string_equal(t3_name_nak(T3_NAK_SEGMENT), "SEGMENT");
	assert_int_equal(host->dev[1].traced.last_nak, T3_NAK_SEGMENT);
	host_free(host);
}

TEST("each value has a name")
{
	static const struct {
		const char *(*name)(uint32_t value);
		uint32_t first, count;
	} lists[] = {
		{ t3_name_space_state, T3_SPACE_FREE, T3_SPACE_DEAD + 1 },
		{ t3_name_fault, T3_FAULT_NONE, T3_FAULT_POISON + 1 },
		{ t3_name_segment_kind, T3_SEG_LOCAL, T3_SEG_DMA + 1 },
		{ t3_name_op, 0, T3_OP_COUNT },
		{ t3_name_dtype, 0, T3_DTYPE_COUNT },
		{ t3_name_topology, 0, T3_TOPOLOGY_SWITCH + 1 },
		{ t3_name_counter, 0, T3_COUNTER_COUNT },
		{ t3_name_nak, 0, T3_NAK_KEY_LIMIT + 1 },
		{ t3_name_packet, T3_PKT_UPDATE, T3_PKT_DONE + 1 },
		{ t3_name_queue_state, 0, T3_QUEUE_ERROR + 1 },
		{ t3_name_opcode, 0, T3_DESC_TIMED + 1 },
		{ t3_name_descriptor_status, 0, T3_DESC_GANG + 1 },
		{ t3_name_inject, T3_INJECT_DROP, T3_INJECT_KIND_COUNT },
		{ t3_name_group_kind, T3_GROUP_REDUCE, T3_GROUP_MULTICAST + 1 },
		{ t3_name_group_state, 0, T3_GROUP_STATE_CLOSED + 1 },
	};
	uint32_t value;
	size_t i;

	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (value = lists[i].first; value < lists[i].count; value++)
			assert_string_not_equal(lists[i].name(value), "?");
		assert_string_equal(lists[i].name(lists[i].count), "?");
		assert_string_equal(lists[i].name(HOST_NONE32), "?");
	}
}
