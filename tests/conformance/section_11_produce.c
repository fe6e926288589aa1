// SPDX-License-Identifier: MIT
/* SPEC.md 11.6: long tracked stores by a queue, which wait for the link and end with it. */
#include "conf.h"
#include "inject.h"
#include "pair.h"
#include "queue.h"

CONF_SECTION("11.6", "long stores of queues");

/* clang-format off */
#define ROWS	   40u
#define ROW_BYTES  2600u /* ragged: not a multiple of the tile */
#define PITCH	   2816u
#define SRC_PITCH  3000u
#define TILE_BYTES 1204u /* 8 does not divide it: a pattern goes on in the next tile */
#define SPACE	   (ROWS * PITCH)
#define SOURCE	   0x200000u /* in device memory, above the spaces */
#define ALL	   ((uint64_t)ROWS * ROW_BYTES)
/* clang-format on */

struct produce {
	struct pair pair;
	struct queue q;
	struct conf_device *d;
	volatile uint8_t *host; /* a source in host memory */
	uint64_t iova;
};

static struct t3_cmd_seg_map big(const struct conf_space *s, uint8_t kind)
{
	struct t3_cmd_seg_map map = conf_segment(s, 0);

	map.rows = ROWS;
	map.row_bytes = ROW_BYTES;
	map.pitch = PITCH;
	map.tile_rows = 3;
	map.tile_row_bytes = TILE_BYTES;
	map.kind = kind;
	if (kind == T3_SEG_REMOTE)
		map.op = map.init = 0;
	if (kind != T3_SEG_LOCAL) {
		map.target_op = T3_OP_ADD;
		map.routes = 1;
	}
	return map;
}

static void open_pair(struct conf *c, struct pair *pair, uint8_t kind)
{
	conf_space_create(c, conf_device(c, 1), &pair->target, SPACE, 64);
	conf_space_create(c, conf_device(c, 0), &pair->source, SPACE, 64);
	conf_connect(c, &pair->source, 0, &pair->target, 0);
	pair->to = big(&pair->target, T3_SEG_LOCAL);
	pair->from = big(&pair->source, kind);
	pair_map(c, pair);
	pair_arm(c, pair, 1);
}

static void setup(struct conf *c, struct produce *p, uint8_t kind)
{
	p->d = conf_device(c, 0);
	open_pair(c, &p->pair, kind);
	queue_create(c, p->d, &p->q, 0, 0);
	for (uint32_t i = 0; i < ROWS * SRC_PITCH; i += 4)
		conf_write(p->d->memory, SOURCE + i, 4, (i + 1) * 2654435761u);
}

static struct t3_descriptor store_of(const struct conf_space *s, uint32_t rows)
{
	struct t3_descriptor x = desc_copy(T3_LOC_MEMORY, SOURCE, T3_LOC_SPACE, 0, ROW_BYTES);

	x.rows = rows;
	x.src_pitch = rows > 1 ? SRC_PITCH : 0;
	x.dst_pitch = rows > 1 ? PITCH : 0;
	x.space = s->args.space;
	x.generation = s->args.generation;
	return x;
}

static void check_rows(struct conf *c, struct conf_space *s)
{
	for (uint32_t row = 0; row < ROWS; row++)
		for (uint32_t at = 0; at < ROW_BYTES; at += 4)
			CHECK_EQUAL(c, "element", conf_buffer(s, row * PITCH + at, 4),
				    (uint32_t)((row * SRC_PITCH + at + 1) * 2654435761u));
}

static void link_down(struct conf *c, struct produce *p, bool down)
{
	INJECT(c, p->d, .kind = down ? T3_INJECT_LINK_DOWN : T3_INJECT_LINK_UP,
	       .peer = p->pair.target.dev->rank);
}

/* Each kind of segment, from device and from host memory. */
TEST("stores of a queue arrive by each kind of segment", .rows = 6, .devices = 2)
{
	uint8_t kind = (uint8_t)(T3_SEG_LOCAL + row / 2);
	struct t3_descriptor x;
	struct produce p;
	uint64_t iova;

	setup(c, &p, kind);
	x = store_of(&p.pair.source, ROWS);
	if (row % 2) {
		p.host = conf_page(c, &p.iova);
		for (uint32_t at = T3_PAGE_SIZE; at < ROWS * SRC_PITCH; at += T3_PAGE_SIZE)
			conf_page(c, &iova);
		if (iova != p.iova + ROWS * SRC_PITCH / T3_PAGE_SIZE * T3_PAGE_SIZE)
			conf_skip(c, "pages of this host do not follow each other");
		conf_get(p.d->memory + SOURCE, (void *)p.host, ROWS * SRC_PITCH);
		x.src_kind = T3_LOC_HOST;
		x.src = p.iova;
	}
	queue_do(c, &p.q, &x);
	conf_wait_state(c, &p.pair.source, T3_SPACE_COMPLETE, 1);
	if (kind != T3_SEG_REMOTE)
		check_rows(c, &p.pair.source);
	if (kind != T3_SEG_LOCAL) {
		conf_wait_state(c, &p.pair.target, T3_SPACE_COMPLETE, 1);
		check_rows(c, &p.pair.target);
	}
	CHECK_EQUAL(c, "local_bytes", conf_stats(c, &p.pair.source, 0).local_bytes, ALL);
	CHECK_EQUAL(c, "QUEUE_BYTES", conf_counter(p.d, T3_COUNTER_QUEUE_BYTES), ALL);
	CHECK_EQUAL(c, "FAULTS", conf_counter(p.d, T3_COUNTER_FAULTS), 0);
	/* 2600 bytes at tiles of 1204: 1024 + 180, 1024 + 180, 192. */
	if (kind == T3_SEG_REMOTE)
		CHECK_EQUAL(c, "STORES", conf_counter(p.d, T3_COUNTER_STORES), ROWS * 5);
}

/* A fill starts its pattern at each row, wherever a tile ends. */
TEST("a long fill starts its pattern at each row", .devices = 2)
{
	struct t3_descriptor x;
	struct produce p;

	setup(c, &p, T3_SEG_REMOTE);
	x = store_of(&p.pair.source, ROWS);
	x.opcode = T3_DESC_FILL;
	x.src_kind = 0;
	x.src = 0x8877665544332211;
	x.src_pitch = 0;
	queue_do(c, &p.q, &x);
	conf_wait_state(c, &p.pair.target, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t at = 0; at < ROW_BYTES; at += 8)
			CHECK_EQUAL(c, "pattern", conf_buffer(&p.pair.target, i * PITCH + at, 8),
				    0x8877665544332211);
}

/* Stores to one segment and those that make tiles ready, by two queues on one link. */
TEST("two queues share a link", .devices = 2)
{
	struct t3_descriptor x, y;
	struct queue second;
	struct pair other;
	struct produce p;

	setup(c, &p, T3_SEG_DMA);
	open_pair(c, &other, T3_SEG_REMOTE);
	queue_create(c, p.d, &second, 1, 0);
	x = store_of(&p.pair.source, ROWS);
	y = store_of(&other.source, ROWS);
	queue_push(&p.q, &x);
	queue_push(&second, &y);
	queue_submit(&p.q);
	queue_submit(&second);
	queue_expect(c, &p.q, 0, T3_DESC_OK, 0);
	queue_expect(c, &second, 0, T3_DESC_OK, 0);
	conf_wait_state(c, &p.pair.target, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &other.target, T3_SPACE_COMPLETE, 1);
	check_rows(c, &p.pair.target);
	check_rows(c, &other.target);
}

/* A link that loses a packet and a response delays, and changes nothing. */
TEST("a lossy link only delays a queue", .rows = 9, .devices = 2, .needs = CONF_INJECT)
{
	uint32_t nth = 1 + 7 * row;
	struct t3_descriptor x;
	struct produce p;

	setup(c, &p, T3_SEG_REMOTE);
	x = store_of(&p.pair.source, ROWS);
	INJECT(c, p.d, .kind = T3_INJECT_DROP, .peer = p.pair.target.dev->rank, .nth = nth,
	       .count = 1);
	INJECT(c, p.d, .kind = T3_INJECT_DROP_RESPONSE, .peer = p.pair.target.dev->rank, .nth = nth,
	       .count = 1);
	queue_do(c, &p.q, &x);
	conf_wait_state(c, &p.pair.target, T3_SPACE_COMPLETE, 1);
	check_rows(c, &p.pair.target);
}

/* -------------------------------------------------------------- while a link is held */

static void submit_held(struct conf *c, struct produce *p, uint32_t rows, bool down)
{
	struct t3_descriptor x;

	setup(c, p, T3_SEG_REMOTE);
	x = store_of(&p->pair.source, rows);
	link_down(c, p, down);
	conf_hold(c);
	queue_push(&p->q, &x);
	queue_submit(&p->q);
}

static uint32_t in_flight(struct conf *c, struct produce *p)
{
	return conf_space_command(c, &p->pair.source, T3_CMD_SPACE_QUERY).in_flight;
}

/* A queue leaves 8 of 64 slots to the CPU, whose stores must not fault. */
TEST("a queue leaves slots to the processor", .devices = 2, .needs = CONF_STEP | CONF_INJECT)
{
	struct produce p;

	submit_held(c, &p, 30, true);
	for (uint32_t i = 0; i < 200 && in_flight(c, &p) < 56; i++)
		conf_step(c, 1);
	conf_step(c, 50); /* It takes no more. */
	CHECK_EQUAL(c, "in_flight", in_flight(c, &p), 56);
	for (uint32_t i = 0; i < 8; i++) {
		conf_store(&p.pair.source, 35 * PITCH + 4 * i, 4, 1);
		CHECK_EQUAL(c, "state", conf_state(&p.pair.source), STATE(T3_SPACE_ARMED, 1));
	}
	link_down(c, &p, false);
	conf_let_go(c);
	queue_expect(c, &p.q, 0, T3_DESC_OK, 0);
	CHECK_EQUAL(c, "FAULTS", conf_counter(p.d, T3_COUNTER_FAULTS), 0);
}

static uint64_t dma_bytes_when(struct conf *c, struct produce *p, struct conf_space *s,
			       uint64_t bytes)
{
	while (conf_stats(c, s, 0).local_bytes < bytes)
		CHECK(c, conf_step(c, 1), "the queue stops");
	return conf_stats(c, &p->pair.source, 0).dma_bytes;
}

/* All tiles are ready when the queue starts. From then on each has a packet in turns. */
TEST("a queue and tiles alternate on a link", .devices = 2, .needs = CONF_STEP)
{
	struct t3_descriptor x;
	struct produce p;
	struct pair other;
	uint64_t sent;

	p.d = conf_device(c, 0);
	conf_space_create(c, conf_device(c, 1), &p.pair.target, SPACE, 64);
	conf_space_create(c, p.d, &p.pair.source, SPACE, 64);
	conf_connect(c, &p.pair.source, 0, &p.pair.target, 0);
	p.pair.to = big(&p.pair.target, T3_SEG_LOCAL);
	p.pair.from = big(&p.pair.source, T3_SEG_DMA);
	pair_map(c, &p.pair);
	conf_stage(c, &p.pair.source, 0, SOURCE - p.pair.source.args.buffer, 0x20000, 1);
	pair_arm(c, &p.pair, 1);
	open_pair(c, &other, T3_SEG_REMOTE);
	queue_create(c, p.d, &p.q, 0, 0);
	x = store_of(&other.source, ROWS);
	conf_hold(c);
	for (uint32_t tile = 0; tile < 14 * 3; tile++)
		conf_tile(&p.pair.source, 0, 0, tile);
	queue_push(&p.q, &x);
	queue_submit(&p.q);
	sent = dma_bytes_when(c, &p, &other.source, ALL / 4); /* tiles had a start of 48 packets */
	sent = dma_bytes_when(c, &p, &other.source, ALL / 2) - sent;
	CHECK(c, sent > ALL / 5 && sent < ALL * 3 / 10, "tiles had %llu of %llu bytes",
	      (unsigned long long)sent, (unsigned long long)ALL / 4);
	conf_let_go(c);
	queue_expect(c, &p.q, 0, T3_DESC_OK, 0);
	conf_wait_state(c, &p.pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &other.source, T3_SPACE_COMPLETE, 1);
}

/* The space is reset while the queue works, or sleeps for the link. */
TEST("a space that goes ends the command", .rows = 16, .devices = 2,
     .needs = CONF_STEP | CONF_INJECT)
{
	struct produce p;

	submit_held(c, &p, ROWS, row % 2);
	conf_step(c, 1 + row / 2 * 9);
	conf_space_command(c, &p.pair.source, T3_CMD_SPACE_RESET);
	conf_let_go(c);
	queue_expect(c, &p.q, 0, T3_DESC_SPACE, T3_SPACE_IDLE);
}

/* A link that gives up makes the space fault. The queue that waited for it learns of it. */
TEST("a lost link ends the command", .devices = 2, .needs = CONF_INJECT)
{
	struct t3_descriptor x;
	struct produce p;
	uint32_t index;

	setup(c, &p, T3_SEG_REMOTE);
	x = store_of(&p.pair.source, ROWS);
	link_down(c, &p, true);
	index = queue_push(&p.q, &x);
	queue_submit(&p.q);
	queue_expect(c, &p.q, index, T3_DESC_SPACE, T3_SPACE_FAULTED);
	queue_check(c, &p.q, T3_QUEUE_ERROR, index + 1, T3_DESC_SPACE);
	conf_wait_fault(c, &p.pair.source, T3_FAULT_LINK);
}

/* After ABORT the queue does not sleep any more, although the link is down. */
TEST("a command that sleeps can be aborted", .devices = 2, .needs = CONF_STEP | CONF_INJECT)
{
	struct t3_descriptor nop = { 0 };
	struct produce p;

	submit_held(c, &p, ROWS, true);
	conf_step(c, 80);
	queue_command(c, &p.q, T3_CMD_QUEUE_ABORT);
	queue_expect(c, &p.q, 0, T3_DESC_ABORTED, 0);
	queue_push(&p.q, &nop);
	queue_submit(&p.q);
	conf_step(c, 1);
	queue_expect(c, &p.q, 1, T3_DESC_OK, 0);
	link_down(c, &p, false);
	conf_let_go(c);
	CHECK_EQUAL(c, "state", conf_state(&p.pair.source), STATE(T3_SPACE_ARMED, 1));
}

TEST("a reset ends a command that sleeps", .devices = 2, .needs = CONF_STEP | CONF_INJECT)
{
	struct t3_descriptor nop = { 0 };
	struct produce p;

	submit_held(c, &p, ROWS, true);
	conf_step(c, 80);
	conf_reset(p.d);
	link_down(c, &p, false);
	conf_let_go(c);
	queue_create(c, p.d, &p.q, 0, 0);
	queue_do(c, &p.q, &nop);
}

/* The source fails in the middle: nothing of that piece is counted. */
TEST("a source that fails counts nothing of its piece", .devices = 2, .needs = CONF_INJECT)
{
	struct t3_descriptor x;
	struct produce p;
	uint64_t iova;

	setup(c, &p, T3_SEG_LOCAL);
	x = store_of(&p.pair.source, 1);
	conf_page(c, &iova);
	x.src_kind = T3_LOC_HOST;
	x.src = iova;
	/* The descriptor, 1204 bytes, 1204, then 192. */
	INJECT(c, p.d, .kind = T3_INJECT_FAIL_DMA, .nth = 4, .count = 1);
	queue_push(&p.q, &x);
	queue_submit(&p.q);
	queue_expect(c, &p.q, 0, T3_DESC_HOST_DMA, iova + 2 * TILE_BYTES);
	CHECK_EQUAL(c, "state", conf_state(&p.pair.source), STATE(T3_SPACE_ARMED, 1));
	CHECK_EQUAL(c, "local_bytes", conf_stats(c, &p.pair.source, 0).local_bytes, 2 * TILE_BYTES);
}

/* Into the padding, over the end of a row, and with a last piece that is no element. */
TEST("a queue's store over an edge faults there", .rows = 3, .devices = 2)
{
	static const struct {
		uint32_t dst, bytes, kind, offset;
	} cases[] = {
		{ ROW_BYTES, 4, T3_FAULT_UNMAPPED, ROW_BYTES },
		{ ROW_BYTES - 8, 12, T3_FAULT_UNMAPPED, ROW_BYTES },
		{ 8, 1201, T3_FAULT_WIDTH, TILE_BYTES },
	};
	struct t3_descriptor x;
	struct produce p;

	setup(c, &p, T3_SEG_LOCAL);
	x = store_of(&p.pair.source, 1);
	x.dst = cases[row].dst;
	x.row_bytes = cases[row].bytes;
	queue_push(&p.q, &x);
	queue_submit(&p.q);
	queue_expect(c, &p.q, 0, T3_DESC_FAULT, cases[row].kind);
	conf_expect_fault(c, &p.pair.source, cases[row].kind, 0, CONF_NO_TILE, cases[row].offset);
}
