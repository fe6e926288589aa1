/* SPDX-License-Identifier: MIT */
/*
 * Producers of a REMOTE segment with several routes, two of them on one link: a queue
 * waits for room and turns on all links, the CPU's stores go to all targets or to none.
 */
#include "queue.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SOURCE	     0x300000u /* in device memory */
#define SPACE	     1u
#define SHARED	     2u /* rank 1 has a second target, in this space */
#define TILES	     3u /* a space that keeps link 1 busy */
#define STORES	     4u /* and link 2 */
#define MANY	     5u
#define ROWS	     20u
#define ROW_BYTES    2600u
#define PITCH	     2816u
#define TILE_BYTES   1204u
#define PIECE	     1024u /* of a row: the payload's limit */

struct fan {
	struct host *host;
	struct host_dev *a;
	struct queue q;
};

static struct t3_cmd_seg_map big(uint32_t space, uint32_t kind)
{
	struct t3_cmd_seg_map map = host_segment(space, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = ROWS;
	map.row_bytes = ROW_BYTES;
	map.pitch = PITCH;
	map.tile_rows = 3;
	map.tile_row_bytes = TILE_BYTES;
	map.counter_base = 0;
	return map;
}

static void target(struct fan *f, uint32_t route, uint32_t rank, uint32_t space)
{
	struct t3_cmd_seg_map local = big(space, T3_SEG_LOCAL);
	struct host_dev *b = &f->host->dev[rank];

	host_space(b, space);
	host_route(f->a, SPACE, route, b, space, 0);
	host_import(b, space, 0, f->a, SPACE, HOST_NONE64);
	host_map(b, &local);
	host_arm(b, space, 1);
}

/* Routes 0 and 2 lead to rank 1, route 1 to rank 2. */
static struct fan fan_new(uint32_t budget)
{
	struct host_config config = { T3_TOPOLOGY_FULL, 3, 256, 8, T3_KEYS_FABRIC };
	struct fan f = { .host = host_new(&config) };
	struct t3_cmd_seg_map map = big(SPACE, T3_SEG_REMOTE);
	struct t3_cmd_seg_staging staging = { SPACE, 0, SOURCE, 0x10000, 1, 0 };
	uint64_t random = 77;
	uint32_t i;

	f.a = &f.host->dev[0];
	host_space(f.a, SPACE);
	target(&f, 0, 1, SPACE);
	target(&f, 1, 2, SPACE);
	target(&f, 2, 1, SHARED);
	map.routes = 7;
	host_map(f.a, &map);
	assert_int_equal(host_command(f.a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
			 T3_ADMIN_OK);
	host_arm(f.a, SPACE, 1);
	host_drain(f.host);
	for (i = 0; i < ROWS * ROW_BYTES; i += 4) {
		uint32_t value = (uint32_t)host_random(&random);

		memcpy(f.a->memory + SOURCE + i, &value, 4);
	}
	f.q = queue_new(f.a, 0, 0);
	t3_fabric_set_inline_budget(f.host->fabric, budget);
	return f;
}

static struct t3_descriptor produce(const struct fan *f, uint32_t opcode)
{
	struct t3_descriptor x = queue_copy(0, SOURCE, ROW_BYTES);

	x.opcode = (uint8_t)opcode;
	x.dst_kind = T3_LOC_SPACE;
	x.rows = ROWS;
	x.src_pitch = opcode == T3_DESC_COPY ? ROW_BYTES : 0;
	x.dst_pitch = PITCH;
	x.space = SPACE;
	x.generation = host_query(f->a, SPACE).generation;
	return x;
}

static void expect_target(struct fan *f, uint32_t rank, uint32_t space, uint32_t opcode)
{
	struct host_dev *b = &f->host->dev[rank];
	uint8_t pattern[ROW_BYTES];
	uint32_t row, i;

	for (i = 0; i < ROW_BYTES; i++)
		pattern[i] = (uint8_t)((uint64_t)SOURCE >> i % 8 * 8);
	host_expect(b, space, T3_SPACE_COMPLETE, 1);
	for (row = 0; row < ROWS; row++)
		assert_memory_equal(
			host_buffer(b, space) + row * PITCH,
			opcode == T3_DESC_FILL ? pattern : f->a->memory + SOURCE + row * ROW_BYTES,
			ROW_BYTES);
}

/* Everything has arrived everywhere, and no rank has a fault. */
static void expect_all(struct fan *f, uint32_t opcode)
{
	uint32_t rank;

	queue_expect(&f->q, 0, T3_DESC_OK, 0);
	host_expect(f->a, SPACE, T3_SPACE_COMPLETE, 1);
	expect_target(f, 1, SPACE, opcode);
	expect_target(f, 1, SHARED, opcode);
	expect_target(f, 2, SPACE, opcode);
	for (rank = 0; rank < 3; rank++)
		assert_int_equal(host_counter(&f->host->dev[rank], T3_COUNTER_FAULTS), 0);
}

static void run_until(struct host *host, uint64_t time)
{
	while (t3_fabric_now(host->fabric) < time)
		assert_true(t3_fabric_run(host->fabric, 1));
}

/* ------------------------------------------------------------------- queues */

enum peril { NONE, LOSSY, LATE, DOWN, PERILS };

/* On the link that two routes share, or on the other. */
static void endanger(struct fan *f, enum peril peril, uint32_t rank)
{
	struct t3_cmd_inject random = {
		.kind = T3_INJECT_LINK_RANDOM, .peer = rank, .nth = 3000, .value = 5
	};

	if (peril == LOSSY)
		assert_int_equal(t3_fabric_inject(f->host->fabric, &random), T3_ADMIN_OK);
	if (peril == LATE)
		host_inject(f->host->fabric, 0, rank, T3_INJECT_DELAY, 5);
	if (peril == DOWN)
		host_inject(f->host->fabric, 0, rank, T3_INJECT_LINK_DOWN, 1);
}

static void deliver(uint32_t opcode, uint32_t budget, enum peril peril, uint32_t rank)
{
	struct fan f = fan_new(budget);
	struct t3_descriptor x = produce(&f, opcode);

	endanger(&f, peril, rank);
	queue_submit(&f.q, &x);
	if (peril == DOWN) {
		run_until(f.host, 30000); /* some retries */
		host_inject(f.host->fabric, 0, rank, T3_INJECT_LINK_DOWN, 0);
	}
	host_drain(f.host);
	expect_all(&f, opcode);
	if (peril != NONE)
		assert_true(host_counter(f.a, T3_COUNTER_INJECTED) > 0);
	host_free(f.host);
}

TEST("a queue sends by all routes in any peril")
{
	static const uint32_t budgets[] = { 0, 1, 7 };
	uint32_t peril, rank;
	size_t i;

	for (i = 0; i < COUNT(budgets); i++)
		for (peril = NONE; peril < PERILS; peril++)
			for (rank = 1; rank <= 2; rank++) {
				deliver(T3_DESC_COPY, budgets[i], peril, rank);
				deliver(T3_DESC_FILL, budgets[i], peril, rank);
			}
}

/* Two queues in turn, with any shortage of room in each of them. */
TEST("two queues take turns on all routes")
{
	uint32_t rank;

	for (rank = 1; rank <= 2; rank++) {
		struct fan f = fan_new(0);
		struct t3_descriptor x = produce(&f, T3_DESC_COPY), y = x;
		struct queue second = queue_new(f.a, 9, 0);

		x.rows = ROWS / 2;
		y.rows = ROWS - x.rows;
		y.src += x.rows * ROW_BYTES;
		y.dst += x.rows * PITCH;
		endanger(&f, LOSSY, rank);
		queue_submit(&f.q, &x);
		queue_submit(&second, &y);
		host_drain(f.host);
		queue_expect(&second, 0, T3_DESC_OK, 0);
		expect_all(&f, T3_DESC_COPY);
		host_free(f.host);
	}
}

/* A link that stays down: the space faults, and the queue learns of it. */
TEST("a link that stays down ends the command")
{
	uint32_t rank;

	for (rank = 1; rank <= 2; rank++) {
		struct fan f = fan_new(0);
		struct t3_descriptor x = produce(&f, T3_DESC_COPY);

		endanger(&f, DOWN, rank);
		queue_submit(&f.q, &x);
		host_drain(f.host);
		queue_expect(&f.q, 0, T3_DESC_SPACE, T3_SPACE_FAULTED);
		assert_int_equal(host_area(f.a, SPACE)->fault.kind, T3_FAULT_LINK);
		assert_int_equal(host_area(f.a, SPACE)->fault.src_rank, rank);
		host_free(f.host);
	}
}

/* ---------------------------------------------------------------- busy links */

/* A space on rank 0 sends its segment 0, of `kind`, to rank `rank`; both armed. */
static void open_other(struct fan *f, uint32_t space, uint32_t rank, uint32_t kind)
{
	struct t3_cmd_seg_map map = big(space, kind), local = big(space, T3_SEG_LOCAL);
	struct t3_cmd_seg_staging staging = { space, 0, SOURCE, 0x10000, 1, 0 };
	struct host_dev *b = &f->host->dev[rank];

	host_space(f->a, space);
	host_space(b, space);
	host_connect(f->a, b, space);
	host_map(b, &local);
	host_map(f->a, &map);
	assert_int_equal(host_command(f->a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
			 T3_ADMIN_OK);
	host_arm(b, space, 1);
	host_arm(f->a, space, 1);
	host_drain(f->host);
}

static uint32_t unanswered(struct fan *f, uint32_t rank)
{
	struct t3_link_info info;

	assert_true(t3_fabric_link_info(f->host->fabric, 0, rank, &info));
	return info.unanswered;
}

/* More tiles of TILES become ready than the link to rank 1 takes at once. */
static void make_tiles_ready(struct fan *f)
{
	uint32_t tile;

	for (tile = 0; tile < 7 * 3; tile++)
		host_tile(f->a, TILES, 0, 0, tile);
	while (unanswered(f, 1) < 48)
		assert_true(t3_fabric_run(f->host->fabric, 1));
}

/* Stores of space STORES until so many packets are on the way to rank 2. */
static void fill_link(struct fan *f, uint32_t packets)
{
	uint32_t i;

	for (i = 0; unanswered(f, 2) < packets; i++)
		host_store(f->a, STORES, 4 * i, 0, 4);
}

static void set_down(struct fan *f, uint32_t rank, bool down)
{
	host_inject(f->host->fabric, 0, rank, T3_INJECT_LINK_DOWN, down);
}

/*
 * Link 1 has tiles that wait and room for the queue, whose turn it is; link 2 has no
 * room. The queue keeps its turn on link 1 until it can send on both.
 */
TEST("a queue keeps its turn until it can send on both links")
{
	struct fan f = fan_new(T3_INLINE_BUDGET);
	struct t3_descriptor x = produce(&f, T3_DESC_COPY);

	open_other(&f, TILES, 1, T3_SEG_DMA);
	open_other(&f, STORES, 2, T3_SEG_REMOTE);
	t3_fabric_set_inline_budget(f.host->fabric, 0);
	set_down(&f, 1, true);
	set_down(&f, 2, true);
	make_tiles_ready(&f);
	fill_link(&f, 57);
	queue_submit(&f.q, &x);
	run_until(f.host, t3_fabric_now(f.host->fabric) + 1000);
	assert_int_equal(host_counter(f.a, T3_COUNTER_QUEUE_BYTES), 0);
	set_down(&f, 2, false);
	run_until(f.host, t3_fabric_now(f.host->fabric) + 20000);
	assert_int_equal(host_counter(f.a, T3_COUNTER_QUEUE_BYTES), PIECE);
	assert_int_equal(unanswered(&f, 1), 48 + 2);
	set_down(&f, 1, false);
	host_drain(f.host);
	expect_all(&f, T3_DESC_COPY);
	host_expect(f.a, TILES, T3_SPACE_COMPLETE, 1);
	host_free(f.host);
}

/* The space ends while it waits for the link of its second route, which takes no more tiles. */
TEST("a space that waits for its second link can be disabled")
{
	struct fan f = fan_new(0);
	uint32_t tile;

	set_down(&f, 2, true);
	for (tile = 0; tile < 7 * 3; tile++)
		host_tile(f.a, SPACE, 0, 0, tile);
	while (unanswered(&f, 2) < 48)
		assert_true(t3_fabric_run(f.host->fabric, 1));
	host_space_command(f.a, T3_CMD_SPACE_DISABLE, SPACE);
	set_down(&f, 2, false);
	host_drain(f.host);
	host_expect(f.a, SPACE, T3_SPACE_QUIESCED, 1);
	host_free(f.host);
}

/* ---------------------------------------------------------------------- CPU */

/*
 * The link to one target is full and stays down: the space faults with LINK, and no
 * target got a store that another did not get.
 */
TEST("a store behind a lost link reaches no target")
{
	uint32_t rank, i, limit;

	for (rank = 1; rank <= 2; rank++) {
		struct fan f = fan_new(0);
		uint32_t bytes = 0;

		limit = rank == 1 ? 32 : 64; /* two routes on link 1 */
		set_down(&f, rank, true);
		for (i = 0; i < limit; i++) {
			host_store(f.a, SPACE, 4 * i, 1, 4);
			assert_int_equal(host_state(f.a, SPACE), T3_SPACE_ARMED);
			bytes += 4;
			if (rank == 2 && i % 20 == 19) /* link 1 must not be what is full */
				run_until(f.host, t3_fabric_now(f.host->fabric) + 2000);
		}
		host_store(f.a, SPACE, 4 * i, 1, 4);
		host_expect(f.a, SPACE, T3_SPACE_FAULTED, 1);
		assert_int_equal(host_area(f.a, SPACE)->fault.kind, T3_FAULT_LINK);
		assert_int_equal(host_area(f.a, SPACE)->fault.src_rank, rank);
		host_drain(f.host);
		assert_int_equal(host_stats(f.a, SPACE, 0).local_bytes, bytes);
		assert_int_equal(host_area(f.a, SPACE)->dropped, 1);
		if (rank == 1)
			assert_int_equal(host_stats(&f.host->dev[2], SPACE, 0).remote_bytes, bytes);
		else
			assert_int_equal(host_stats(&f.host->dev[1], SPACE, 0).remote_bytes,
					 host_stats(&f.host->dev[1], SHARED, 0).remote_bytes);
		host_free(f.host);
	}
}

/*
 * Twenty routes share link 1 with ready tiles, the last one leads to rank 2 behind a
 * full link. While the store waits for that one, tiles do not take what it needs.
 */
TEST("a store with many routes gets its slots")
{
	struct fan f = fan_new(T3_INLINE_BUDGET);
	struct host_dev *b = &f.host->dev[1], *c = &f.host->dev[2];
	struct t3_cmd_seg_map map = host_segment(MANY, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map local = host_segment(MANY, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t r;

	open_other(&f, TILES, 1, T3_SEG_DMA);
	open_other(&f, STORES, 2, T3_SEG_REMOTE);
	host_space(f.a, MANY);
	host_space(b, MANY);
	host_space(c, MANY);
	for (r = 0; r < 21; r++) {
		host_route(f.a, MANY, r, r < 20 ? b : c, MANY, r);
		host_import(r < 20 ? b : c, MANY, r, f.a, MANY, HOST_NONE64);
	}
	map.routes = (1u << 21) - 1;
	host_map(f.a, &map);
	host_map(c, &local);
	local.updates = 20;
	host_map(b, &local);
	host_arm(b, MANY, 1);
	host_arm(c, MANY, 1);
	host_arm(f.a, MANY, 1);
	host_drain(f.host);
	t3_fabric_set_inline_budget(f.host->fabric, 0);
	make_tiles_ready(&f);
	fill_link(&f, 64);
	for (r = 0; r < 64; r += 4) {
		host_store(f.a, MANY, r, 3, 4);
		assert_int_equal(host_counter(f.a, T3_COUNTER_FAULTS), 0);
		/* The store does not do all of the tiles' work first, either. */
		assert_true(r || host_stats(f.a, TILES, 0).dma_bytes < ROWS * ROW_BYTES);
	}
	host_drain(f.host);
	host_expect(f.a, MANY, T3_SPACE_COMPLETE, 1);
	host_expect(f.a, TILES, T3_SPACE_COMPLETE, 1);
	for (r = 0; r < 64; r += 4) {
		assert_int_equal(host_load(b, MANY, r, 4), 60);
		assert_int_equal(host_load(c, MANY, r, 4), 3);
	}
	host_free(f.host);
}
