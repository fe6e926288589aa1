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

#define SPACE  1u
#define ROWS   80u
#define BYTES  1024u
#define TILES  4u
#define TILE   (ROWS / TILES * BYTES)
#define SOURCE 0x300000u /* in device memory */

/* ------------------------------------------------------------------ machines */

/* Rank 0 has sent packets, and some of them are answered or on their way. */
static struct host *sending(void)
{
	struct host *host = host_paused(2);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_F32);

	ring_arm(&ring, 1);
	host_drain(host);
	ring_produce(&ring, 0, 1, true);
	while (!host->fabric->link[0][1]->resp_count)
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
	while (!t3_queues(host->dev[0].dev)->queue[0].row)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* Rank 0's queue 0 is in the middle of a GEMM: with `stores` it stores the sums of a block. */
static struct host *multiplying(bool stores)
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 32, 32, 2048);
	struct host *host = host_paused(2);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	const struct t3_queue *queue = &t3_queues(host->dev[0].dev)->queue[0];

	gemm_submit(&q, &x);
	while (queue->phase != T3_PHASE_GEMM || (stores && !queue->row && !queue->col))
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

/* TILES tiles, above each other. */
static struct t3_cmd_seg_map large(uint32_t kind)
{
	struct t3_cmd_seg_map map = host_segment(SPACE, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = ROWS;
	map.tile_rows = ROWS / TILES;
	map.row_bytes = map.pitch = map.tile_row_bytes = BYTES;
	map.counter_base = 0;
	return map;
}

/* Rank 0's segment of a kind, and rank 1's LOCAL one. Both are armed. */
static struct host *armed(uint32_t kind)
{
	struct host *host = host_paused(2);
	struct t3_cmd_seg_map map = large(kind), local = large(T3_SEG_LOCAL);
	uint32_t r;

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
	host_drain(host);
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
	while (!t3_queues(host->dev[0].dev)->queue[0].blocked)
		assert_true(t3_fabric_run(host->fabric, 1));
	return host;
}

static struct t3_segment *segment_of(struct host *host)
{
	return t3_spaces(host->dev[0].dev)->space[SPACE].segment[0];
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

static struct t3_link *link_of(struct host *host)
{
	return host->fabric->link[0][1];
}

static struct t3_queue *queue_of(struct host *host)
{
	return &t3_queues(host->dev[0].dev)->queue[0];
}

/* ------------------------------------------------------------------- changes */

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

static void one_more_in_flight(struct host *host)
{
	t3_spaces(host->dev[0].dev)->space[SPACE].in_flight++;
}

static void block_at_the_end(struct host *host)
{
	segment_of(host)->cur_first = TILES;
}

static void tile_after_its_block(struct host *host)
{
	segment_of(host)->cur_tile = segment_of(host)->cur_first + 1;
}

static void route_of_others(struct host *host)
{
	segment_of(host)->cur_route = 3;
}

static void row_after_its_tile(struct host *host)
{
	segment_of(host)->cur_row = ROWS / TILES;
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

/* `change` NULL: the same machine, unchanged, is taken. Frees the host. */
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

static void test_links(void **state)
{
	(void)state;
	expect_refused(sending(), NULL, NULL);
	expect_refused(sending(), no_timeout,
		       "a link's unanswered packets contradict its timeout event");
	expect_refused(sending(), no_response_event,
		       "a link's responses contradict its response event");
	expect_refused(sending(), early_response,
		       "a response is for a packet that has not arrived");
	expect_refused(sending(), one_more_in_flight,
		       "a space's count of packets in flight is wrong");
	expect_refused(sending(), misaligned_poison,
		       "a poisoned range is empty, misaligned or out of order");
}

static void test_segments(void **state)
{
	static const char tile[] = "the tile being sent is outside its block";
	static const char place[] = "the place being sent is outside its tile";
	static const char list[] = "a ready list begins or ends outside its segment";

	(void)state;
	expect_refused(triggered(), NULL, NULL);
	expect_refused(triggered(), block_at_the_end, tile);
	expect_refused(triggered(), tile_after_its_block, tile);
	expect_refused(triggered(), route_of_others,
		       "a block is sent on a route that its segment does not have");
	expect_refused(triggered(), row_after_its_tile, place);
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

static void test_copies(void **state)
{
	static const char outside[] = "a descriptor's progress is outside its rows";

	(void)state;
	expect_refused(copying(), NULL, NULL);
	expect_refused(copying(), row_at_the_end, outside);
	expect_refused(copying(), column_at_the_end, outside);
	expect_refused(copying(), waits_for_nothing,
		       "a queue waits for a link that no queue waits for");
}

static void test_waits(void **state)
{
	static const char nobody[] = "a queue waits for a link that no queue waits for";

	(void)state;
	expect_refused(waiting(), NULL, NULL);
	expect_refused(waiting(), waits_for_no_link, nobody);
	expect_refused(waiting(), link_forgets, nobody);
	expect_refused(waiting(), wait_without_work, nobody);
}

static void test_gemm(void **state)
{
	static const char outside[] = "a GEMM's progress is outside its output or depth";
	static const char sums[] = "a GEMM stores sums that it has not computed";

	(void)state;
	expect_refused(multiplying(false), NULL, NULL);
	expect_refused(multiplying(true), NULL, NULL);
	expect_refused(multiplying(false), beyond_depth, outside);
	expect_refused(multiplying(false), block_beyond, outside);
	expect_refused(multiplying(false), sums_too_early, sums);
	expect_refused(multiplying(true), row_beyond_block, sums);
	expect_refused(multiplying(true), column_beyond_block, sums);
	expect_refused(multiplying(true), half_an_element, sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),  cmocka_unit_test(test_segments),
		cmocka_unit_test(test_copies), cmocka_unit_test(test_waits),
		cmocka_unit_test(test_gemm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
