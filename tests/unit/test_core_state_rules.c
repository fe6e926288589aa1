/* SPDX-License-Identifier: MIT */
/*
 * A saved state whose parts contradict each other: SPEC.md section 13. Each value is in its range,
 * so only the rules between parts refuse it. Each case changes a machine at work as no driver can,
 * and another machine must refuse its state with the sentence of that rule.
 */
#include "gemm.h"
#include "migrate.h"
#include "ring.h"
#include "state/state.h"
#include "test.h"

#define SPACE	 1u
#define ROWS	 80u
#define BYTES	 1024u
#define TILES	 4u
#define TILE	 (ROWS / TILES * BYTES)
#define LOW_ROWS 30u	   /* of a last tile that is lower than the other one */
#define SOURCE	 0x300000u /* in device memory */
#define BURSTS	 0x8000u   /* bytes of two bursts, at most */

/* ------------------------------------------------------- parts of rank 0's device */

static struct t3_space *space_of(struct host *host)
{
	return &t3_spaces(host->dev[0].dev)->space[SPACE];
}

static struct t3_segment *segment_of(struct host *host)
{
	return space_of(host)->segment[0];
}

static struct t3_link *link_of(struct host *host)
{
	return host->fabric->link[0][1];
}

static struct t3_queue *queue_of(struct host *host)
{
	return &t3_queues(host->dev[0].dev)->queue[0];
}

static struct t3_tracker *tracker_of(struct host *host)
{
	return &t3_spaces(host->dev[0].dev)->tracker;
}

/* Its first entry in use, which is the one for this tile. */
static struct t3_entry *entry_of_tile(struct host *host, uint32_t tile)
{
	struct t3_entry *entry = tracker_of(host)->entry;

	while (!entry->segment)
		entry++;
	assert_int_equal(entry->tile, tile);
	return entry;
}

static struct t3_entry *entry_of(struct host *host)
{
	return entry_of_tile(host, 0);
}

/* A control packet that waits for its link. */
static struct t3_ctl *ctl_of(struct host *host)
{
	struct t3_route *route = space_of(host)->route;

	while (!route->ctl.link)
		route++;
	return &route->ctl;
}

/* ------------------------------------------------------------------ machines */

/* Rank 0 has sent packets, and some of them are answered or on their way. */
static struct host *sending(void)
{
	struct host *host = host_paused(2);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_F32);

	ring_arm(&ring, 1);
	host_drain(host);
	ring_produce(&ring, 0, 1, true);
	while (!link_of(host)->resp_count)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Rank 0 has sent a burst, which is on the wire. Others are behind it. */
static struct host *bursting(void)
{
	struct host *host = host_paused(2);
	struct t3_cmd_seg_map from = host_segment(SPACE, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32),
			      to;
	struct t3_cmd_seg_staging staging = {
		.space = SPACE, .address = HOST_STAGING, .slot_stride = BURSTS, .slots = 1
	};

	from.rows = from.tile_rows = 1;
	from.row_bytes = from.pitch = from.tile_row_bytes = BURSTS;
	to = from;
	to.kind = T3_SEG_LOCAL;
	to.op = T3_OP_ADD;
	to.routes = to.target_op = 0;
	host_space(&host->dev[0], SPACE);
	host_space(&host->dev[1], SPACE);
	host_connect(&host->dev[0], &host->dev[1], SPACE);
	host_map(&host->dev[0], &from);
	host_map(&host->dev[1], &to);
	assert_int_equal(host_command(&host->dev[0], T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
			 T3_ADMIN_OK);
	host_arm(&host->dev[1], SPACE, 1);
	host_arm(&host->dev[0], SPACE, 1);
	host_drain(host);
	host_tile(&host->dev[0], SPACE, 0, 0, 0);
	while (link_of(host)->next - link_of(host)->una < BURSTS / T3_PACKET_PAYLOAD)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Until the first burst is answered, but the response has not come. */
static struct host *bursts_answered(void)
{
	struct host *host = bursting();

	while (!link_of(host)->resp_count)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Rank 0's queue 0 is in the middle of a copy. */
static struct host *copying(void)
{
	struct host *host = host_paused(2);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct t3_descriptor copy = queue_copy(0x200000, SOURCE, BYTES);

	copy.rows = ROWS;
	copy.src_pitch = copy.dst_pitch = BYTES;
	queue_submit(&q, &copy);
	while (!queue_of(host)->row)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Rank 0's queue 0 is in the middle of a GEMM: with `stores` it stores the sums of a block. */
static struct host *multiplying(bool stores)
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 32, 32, 2048);
	struct host *host = host_paused(2);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	const struct t3_queue *queue = queue_of(host);

	gemm_submit(&q, &x);
	while (queue->phase != T3_PHASE_GEMM || (stores && !queue->row && !queue->col))
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Tiles above each other, of which the last one may be lower. */
static struct t3_cmd_seg_map large(uint32_t kind, uint32_t tile_rows)
{
	struct t3_cmd_seg_map map = host_segment(SPACE, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = ROWS;
	map.tile_rows = tile_rows;
	map.row_bytes = map.pitch = map.tile_row_bytes = BYTES;
	map.counter_base = 0;
	return map;
}

/* Rank 0's segment of a kind, and rank 1's LOCAL one. Both begin to be armed. */
static struct host *arming_blocks(uint32_t kind, uint32_t tile_rows, uint32_t block_tiles)
{
	struct host *host = host_paused(2);
	struct t3_cmd_seg_map map = large(kind, tile_rows), local = large(T3_SEG_LOCAL, tile_rows);
	uint32_t r;

	map.block_tiles = block_tiles;
	for (r = 0; r < 2; r++) {
		struct t3_cmd_space_create space = host_space_args(SPACE);

		space.aperture_offset = space.buffer = 0;
		space.size = ROWS * BYTES;
		assert_int_equal(host_command(&host->dev[r], T3_CMD_SPACE_CREATE, &space,
					      sizeof(space)),
				 T3_ADMIN_OK);
	}
	host_connect(&host->dev[0], &host->dev[1], SPACE);
	host_map(&host->dev[0], &map);
	host_map(&host->dev[1], &local);
	host_arm(&host->dev[1], SPACE, 1);
	host_arm(&host->dev[0], SPACE, 1);
	return host;
}

static struct host *arming_tiles(uint32_t kind, uint32_t tile_rows)
{
	return arming_blocks(kind, tile_rows, 0);
}

static struct host *arming(uint32_t kind)
{
	return arming_tiles(kind, ROWS / TILES);
}

static struct host *armed(uint32_t kind)
{
	struct host *host = arming(kind);

	host_drain(host);
	return host;
}

/* Two tiles of rank 0 are half done. */
static struct host *half_done(void)
{
	struct host *host = armed(T3_SEG_LOCAL);

	host_aperture_write(&host->dev[0], 0, 7, 4);
	host_aperture_write(&host->dev[0], TILE, 7, 4);
	return host;
}

/* Rank 0's segment has two tiles. The last one, which is lower, is half done. */
static struct host *half_done_low(void)
{
	struct host *host = arming_tiles(T3_SEG_LOCAL, ROWS - LOW_ROWS);

	host_drain(host);
	host_aperture_write(&host->dev[0], (ROWS - LOW_ROWS) * BYTES, 7, 4);
	return host;
}

/* Rank 0's queue 0 produces into a segment that is REMOTE, and waits for the link. */
static struct host *waiting(void)
{
	struct host *host = armed(T3_SEG_REMOTE);
	struct t3_descriptor copy = queue_copy(0, SOURCE, BYTES);
	struct queue q = queue_new(&host->dev[0], 0, 0);

	copy.dst_kind = T3_LOC_SPACE;
	copy.space = SPACE;
	copy.generation = host_query(&host->dev[0], SPACE).generation;
	copy.rows = ROWS;
	copy.src_pitch = copy.dst_pitch = BYTES;
	queue_submit(&q, &copy);
	while (!queue_of(host)->blocked)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Rank 0's DMA segment: the link has no room in the middle of a tile, and another tile waits. */
static struct host *triggered(void)
{
	struct host *host = armed(T3_SEG_DMA);
	uint32_t tile, i;

	for (i = 0; i < TILE; i += 4)
		for (tile = 0; tile < TILES; tile++)
			host_aperture_write(&host->dev[0], tile * TILE + i, 7, 4);
	while (!segment_of(host)->ready_count || !segment_of(host)->cur_row)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Rank 0's DMA segment has two tiles. It is in the middle of the last one, which is lower. */
static struct host *triggered_low(void)
{
	struct host *host = arming_tiles(T3_SEG_DMA, ROWS - LOW_ROWS);
	uint32_t i;

	host_drain(host);
	for (i = (ROWS - LOW_ROWS) * BYTES; i < ROWS * BYTES; i += 4)
		host_aperture_write(&host->dev[0], i, 7, 4);
	while (!segment_of(host)->cur_row)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Rank 0's DMA segment has blocks of three tiles. It is in the middle of the last one, of one. */
static struct host *triggered_short(void)
{
	struct host *host = arming_blocks(T3_SEG_DMA, ROWS / TILES, TILES - 1);
	uint32_t i;

	host_drain(host);
	for (i = (TILES - 1) * TILE; i < TILES * TILE; i += 4)
		host_aperture_write(&host->dev[0], i, 7, 4);
	while (!segment_of(host)->cur_row)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* ------------------------------------------------------------------- changes */

static void tile_beyond(struct host *host)
{
	entry_of(host)->tile = tracker_of(host)->sets; /* of the same set */
}

static void tile_of_another_set(struct host *host)
{
	entry_of(host)->tile = 2;
}

static void nothing_counted(struct host *host)
{
	entry_of(host)->count = 0;
}

static void all_counted(struct host *host)
{
	entry_of(host)->count = t3_segment_tile_shape(segment_of(host), 0).expected;
}

static void all_of_the_low_tile_counted(struct host *host)
{
	entry_of_tile(host, 1)->count = t3_segment_tile_shape(segment_of(host), 1).expected;
}

static void used_in_the_future(struct host *host)
{
	entry_of(host)->used = tracker_of(host)->clock + 1;
}

static void two_entries(struct host *host)
{
	struct t3_entry *entry = entry_of(host);

	entry[1] = entry[0];
}

static void one_more_live(struct host *host)
{
	host->dev[0].dev->counter[T3_COUNTER_TRACKER_LIVE]++;
}

static void low_peak(struct host *host)
{
	host->dev[0].dev->counter[T3_COUNTER_TRACKER_PEAK] = 1;
}

static void high_peak(struct host *host)
{
	host->dev[0].dev->counter[T3_COUNTER_TRACKER_PEAK] =
		tracker_of(host)->sets * tracker_of(host)->ways + 1;
}

static void prepared_beyond(struct host *host)
{
	space_of(host)->prepare.segment = 1;
}

static void prepared_row_beyond(struct host *host)
{
	space_of(host)->prepare.row = ROWS;
}

static void prepared_column_beyond(struct host *host)
{
	space_of(host)->prepare.col = BYTES;
}

static void prepared_half_an_element(struct host *host)
{
	space_of(host)->prepare.col = 2;
}

static void packet_with_payload(struct host *host)
{
	ctl_of(host)->packet.length = 8;
}

static void packet_of_another_space(struct host *host)
{
	ctl_of(host)->packet.src_space = SPACE + 1;
}

static void packet_of_another_type(struct host *host)
{
	ctl_of(host)->packet.type = T3_PKT_UPDATE;
}

static void no_timeout(struct host *host)
{
	t3_heap_remove(&host->fabric->clock.heap, &link_of(host)->on_timeout);
}

static void no_response_event(struct host *host)
{
	t3_heap_remove(&host->fabric->clock.heap, &link_of(host)->on_response);
}

static void early_response(struct host *host)
{
	struct t3_link *link = link_of(host);

	link->response[link->resp_head].sequence = (uint32_t)link->next;
}

/* To a packet that is under way. */
static void response_to_the_last_one(struct host *host)
{
	struct t3_link *link = link_of(host);

	link->response[link->resp_head].sequence = (uint32_t)link->next - 1;
}

static struct t3_slot *slot_of(struct host *host, uint64_t seq)
{
	return &link_of(host)->slot[seq % T3_LINK_SLOTS];
}

static void burst_of_too_many(struct host *host)
{
	struct t3_link *link = link_of(host);

	slot_of(host, link->una)->packets = (uint32_t)(link->next - link->una);
}

static void burst_that_is_short(struct host *host)
{
	slot_of(host, link_of(host)->una)->packet.length = T3_PACKET_PAYLOAD;
}

/* As many packets as there are, of rows that hold too few bytes. */
static void burst_of_rows_that_are_short(struct host *host)
{
	struct t3_packet *packet = &slot_of(host, link_of(host)->una)->packet;

	packet->arg = T3_PACKET_PAYLOAD - 4;
	packet->length -= 4;
}

static void burst_of_more_rows(struct host *host)
{
	slot_of(host, link_of(host)->una)->packet.arg = T3_PACKET_PAYLOAD / 2;
}

static void burst_on_a_link_with_a_fault(struct host *host)
{
	link_of(host)->injected.counted[T3_INJECT_DROP] = (struct t3_injection){ 9, 1 };
}

static void message_as_a_burst(struct host *host)
{
	slot_of(host, link_of(host)->una)->packet.type = T3_PKT_STATE;
}

static void burst_on_the_wire_in_part(struct host *host)
{
	link_of(host)->deliver++;
}

static void burst_taken_in_part(struct host *host)
{
	link_of(host)->receiver.expect++;
}

static void response_to_a_part(struct host *host)
{
	struct t3_link *link = link_of(host);

	link->response[link->resp_head].sequence++;
}

static void one_more_in_flight(struct host *host)
{
	space_of(host)->in_flight++;
}

static void block_at_the_end(struct host *host)
{
	segment_of(host)->cur_first = TILES;
}

static void tile_after_its_block(struct host *host)
{
	segment_of(host)->cur_tile = segment_of(host)->cur_first + 1;
}

static void tile_after_a_short_block(struct host *host)
{
	segment_of(host)->cur_tile = TILES + 1; /* in the block, if that were of three */
}

static void route_of_others(struct host *host)
{
	segment_of(host)->cur_route = 3;
}

static void row_after_its_tile(struct host *host)
{
	segment_of(host)->cur_row = ROWS / TILES;
}

static void row_after_its_low_tile(struct host *host)
{
	segment_of(host)->cur_row = LOW_ROWS;
}

static void column_after_its_tile(struct host *host)
{
	segment_of(host)->cur_col = BYTES;
}

static void column_in_an_element(struct host *host)
{
	segment_of(host)->cur_col = 2;
}

static void list_begins_outside(struct host *host)
{
	segment_of(host)->ready_head = TILES;
}

static void list_ends_outside(struct host *host)
{
	segment_of(host)->ready_tail = TILES;
}

static void one_ready_too_many(struct host *host)
{
	segment_of(host)->ready_count = TILES + 1;
}

static void one_tracked_less(struct host *host)
{
	segment_of(host)->tiles_tracked--;
}

static void word_of_another_epoch(struct host *host)
{
	segment_of(host)->word++;
}

static void misaligned_poison(struct host *host)
{
	struct t3_rank_injection *injected = &host->fabric->injected[0];

	injected->poisons = 1;
	injected->poison[0] = (struct t3_poison){ .start = 0, .end = T3_POISON_GRANULE + 1 };
}

static void misaligned_start(struct host *host)
{
	struct t3_rank_injection *injected = &host->fabric->injected[0];

	injected->poisons = 1;
	injected->poison[0] = (struct t3_poison){ .start = 1, .end = T3_POISON_GRANULE };
}

/* The second one begins where the first one ends, or before. */
static void two_poisons(struct host *host, uint64_t second)
{
	struct t3_rank_injection *injected = &host->fabric->injected[0];

	injected->poisons = 2;
	injected->poison[0] = (struct t3_poison){ .start = 0, .end = 2 * T3_POISON_GRANULE };
	injected->poison[1] = (struct t3_poison){ .start = second, .end = 4 * T3_POISON_GRANULE };
}

static void poisons_touch(struct host *host)
{
	two_poisons(host, 2 * T3_POISON_GRANULE);
}

static void poisons_overlap(struct host *host)
{
	two_poisons(host, T3_POISON_GRANULE);
}

static void poisons_with_a_gap(struct host *host)
{
	two_poisons(host, 3 * T3_POISON_GRANULE);
}

static void row_at_the_end(struct host *host)
{
	queue_of(host)->row = ROWS;
}

static void column_at_the_end(struct host *host)
{
	queue_of(host)->col = BYTES;
}

static void waits_for_nothing(struct host *host)
{
	queue_of(host)->blocked = 2;
}

static void waits_for_no_link(struct host *host)
{
	queue_of(host)->blocked = 1; /* itself */
}

static void link_forgets(struct host *host)
{
	link_of(host)->engine_waits = false;
}

static void wait_without_work(struct host *host)
{
	queue_of(host)->phase = T3_PHASE_NONE;
}

static void beyond_depth(struct host *host)
{
	struct t3_gemm_run *run = t3_gemm_of(queue_of(host));

	run->k = run->args.depth + 1;
}

static void block_beyond(struct host *host)
{
	t3_gemm_of(queue_of(host))->block = 1u << 20;
}

static void row_beyond_block(struct host *host)
{
	queue_of(host)->row = 32;
}

static void column_beyond_block(struct host *host)
{
	queue_of(host)->col = 32 * 4;
}

static void half_an_element(struct host *host)
{
	queue_of(host)->col = 2;
}

static void sums_too_early(struct host *host)
{
	queue_of(host)->col = 4;
}

/* --------------------------------------------------------------------- tests */

/* Frees the host. See expect_taken() for no change. */
static void expect_refused(struct host *host, void (*change)(struct host *host), const char *want)
{
	struct host *other = host_paused(2);
	struct t3_segment *segment = segment_of(host), before;
	const char *refused;
	struct blobs blobs;
	uint32_t order;

	if (segment)
		before = *segment;
	if (change)
		change(host);
	blobs_save(&blobs, host);
	if (segment)
		*segment = before; /* its end uses it */
	for (order = 0; order < 2; order++) {
		refused = blobs_load(&blobs, other, order);
		if (!refused || !want)
			assert_ptr_equal(refused, want);
		else
			assert_string_equal(refused, want);
		t3_fabric_clear(other->fabric);
	}
	blobs_free(&blobs);
	host_free(other);
	host_free(host);
}

static void expect_taken(struct host *host)
{
	expect_refused(host, NULL, NULL);
}

TEST("links that contradict themselves are refused")
{
	static const char range[] = "a poisoned range is empty, misaligned or out of order";

	expect_taken(sending());
	expect_refused(sending(), no_timeout,
		       "a link's unanswered packets contradict its timeout event");
	expect_refused(sending(), no_response_event,
		       "a link's responses contradict its response event");
	expect_refused(sending(), early_response,
		       "a response is for a packet that has not arrived");
	expect_refused(sending(), response_to_the_last_one,
		       "a response is for a packet that has not arrived");
	expect_refused(sending(), one_more_in_flight,
		       "a space's count of packets in flight is wrong");
	expect_refused(sending(), misaligned_poison, range);
	expect_refused(sending(), misaligned_start, range);
	expect_refused(sending(), poisons_touch, range);
	expect_refused(sending(), poisons_overlap, range);
	expect_refused(sending(), poisons_with_a_gap, NULL);
}

TEST("bursts that contradict themselves are refused")
{
	static const char length[] = "a packet or a burst is too long";
	static const char alone[] = "a link has a burst, and its packets travel alone";
	static const char part[] = "a burst has arrived in part";

	expect_taken(bursting());
	expect_taken(bursts_answered());
	expect_refused(bursting(), burst_of_too_many, length);
	expect_refused(bursting(), burst_that_is_short, length);
	expect_refused(bursting(), burst_of_rows_that_are_short, length);
	expect_refused(bursting(), burst_of_more_rows, length);
	expect_refused(bursting(), burst_on_a_link_with_a_fault, alone);
	expect_refused(bursting(), message_as_a_burst, alone);
	expect_refused(bursting(), burst_on_the_wire_in_part, part);
	expect_refused(bursting(), burst_taken_in_part, part);
	expect_refused(bursts_answered(), response_to_a_part,
		       "a response is for a part of a burst");
}

TEST("segments that contradict themselves are refused")
{
	static const char tile[] = "the tile being sent is outside its block";
	static const char place[] = "the place being sent is outside its tile";
	static const char list[] = "a ready list begins or ends outside its segment";

	expect_taken(triggered());
	expect_taken(triggered_low());
	expect_taken(triggered_short());
	expect_refused(triggered(), block_at_the_end, tile);
	expect_refused(triggered(), tile_after_its_block, tile);
	expect_refused(triggered_short(), tile_after_a_short_block, tile);
	expect_refused(triggered(), route_of_others,
		       "a block is sent on a route that its segment does not have");
	expect_refused(triggered(), row_after_its_tile, place);
	expect_refused(triggered_low(), row_after_its_low_tile, place);
	expect_refused(triggered(), column_after_its_tile, place);
	expect_refused(triggered(), column_in_an_element, place);
	expect_refused(triggered(), list_begins_outside, list);
	expect_refused(triggered(), list_ends_outside, list);
	expect_refused(triggered(), one_ready_too_many,
		       "a segment has more ready blocks than tiles");
	expect_refused(triggered(), one_tracked_less,
		       "a segment's count of tracked tiles contradicts its word");
	expect_refused(triggered(), word_of_another_epoch, "a segment word is of another epoch");
}

TEST("trackers that contradict themselves are refused")
{
	static const char count[] = "a tracker entry's count is out of range";
	static const char peak[] =
		"TRACKER_PEAK is below TRACKER_LIVE, or above the number of entries";

	expect_taken(half_done());
	expect_refused(half_done(), tile_beyond, "a tracker entry's tile is out of range");
	expect_refused(half_done(), tile_of_another_set, "a tracker entry is in the wrong set");
	expect_refused(half_done(), nothing_counted, count);
	expect_refused(half_done(), all_counted, count);
	expect_taken(half_done_low());
	expect_refused(half_done_low(), all_of_the_low_tile_counted, count);
	expect_refused(half_done(), used_in_the_future,
		       "a tracker entry's last use is in the future");
	expect_refused(half_done(), two_entries, "the tracker has two entries for a tile");
	expect_refused(half_done(), one_more_live,
		       "TRACKER_LIVE is not the number of entries in use");
	expect_refused(half_done(), low_peak, peak);
	expect_refused(half_done(), high_peak, peak);
}

/* Rank 0 asks rank 1 whether it is ready, and both prepare their memory. */
TEST("arming that contradicts itself is refused")
{
	static const char place[] = "a space is being prepared at a place that needs no work";
	static const char other[] = "a control packet belongs to another space";

	expect_taken(arming(T3_SEG_DMA));
	expect_refused(arming(T3_SEG_DMA), prepared_beyond,
		       "a space is being prepared beyond its segments");
	expect_refused(arming(T3_SEG_DMA), prepared_row_beyond, place);
	expect_refused(arming(T3_SEG_DMA), prepared_column_beyond, place);
	expect_refused(arming(T3_SEG_DMA), prepared_half_an_element, place);
	expect_refused(arming(T3_SEG_DMA), packet_with_payload, other);
	expect_refused(arming(T3_SEG_DMA), packet_of_another_space, other);
	expect_refused(arming(T3_SEG_DMA), packet_of_another_type,
		       "a control packet is of the wrong type");
}

TEST("copies that contradict themselves are refused")
{
	static const char outside[] = "a descriptor's progress is outside its rows";

	expect_taken(copying());
	expect_refused(copying(), row_at_the_end, outside);
	expect_refused(copying(), column_at_the_end, outside);
	expect_refused(copying(), waits_for_nothing,
		       "a queue waits for a link that no queue waits for");
}

TEST("waits that contradict themselves are refused")
{
	static const char nobody[] = "a queue waits for a link that no queue waits for";

	expect_taken(waiting());
	expect_refused(waiting(), waits_for_no_link, nobody);
	expect_refused(waiting(), link_forgets, nobody);
	expect_refused(waiting(), wait_without_work, nobody);
}

TEST("products that contradict themselves are refused")
{
	static const char outside[] = "a GEMM's progress is outside its output or depth";
	static const char sums[] = "a GEMM stores sums that it has not computed";

	expect_taken(multiplying(false));
	expect_taken(multiplying(true));
	expect_refused(multiplying(false), beyond_depth, outside);
	expect_refused(multiplying(false), block_beyond, outside);
	expect_refused(multiplying(false), sums_too_early, sums);
	expect_refused(multiplying(true), row_beyond_block, sums);
	expect_refused(multiplying(true), column_beyond_block, sums);
	expect_refused(multiplying(true), half_an_element, sums);
}
