/* SPDX-License-Identifier: MIT */
/* Queues that produce into a space: tracked stores that wait for the link. SPEC.md 11.6. */
#include "queue.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FREE	     (HOST_DATA + QUEUE_BUS)
#define SOURCE	     0x300000u /* in device memory */
#define SPACE	     1u
#define ROWS	     40u
#define ROW_BYTES    2600u /* ragged: not a multiple of the tile */
#define PITCH	     2816u
#define SRC_PITCH    3000u
#define TILE_BYTES   1204u /* 8 does not divide it: a pattern goes on in the next tile */

struct pair {
	struct host *host;
	struct host_dev *a, *b;
	struct queue q;
};

static struct t3_cmd_seg_map big(uint32_t kind)
{
	struct t3_cmd_seg_map map = host_segment(SPACE, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = ROWS;
	map.row_bytes = ROW_BYTES;
	map.pitch = PITCH;
	map.tile_rows = 3;
	map.tile_row_bytes = TILE_BYTES;
	map.counter_base = 0;
	return map;
}

/* Spaces of two ranks, larger than the helpers' own. */
static void make_space(struct host_dev *d)
{
	struct t3_cmd_space_create cmd = host_space_args(SPACE);

	cmd.aperture_offset = 0;
	cmd.size = 0x20000;
	cmd.buffer = 0;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

/* Rank 0's segment of a kind; where it sends, rank 1's is LOCAL. Both armed. */
static struct pair pair_new(uint32_t kind, uint32_t budget)
{
	struct pair p = { .host = host_ring(2) };
	struct t3_cmd_seg_map map = big(kind), local = big(T3_SEG_LOCAL);

	p.a = &p.host->dev[0];
	p.b = &p.host->dev[1];
	make_space(p.a);
	make_space(p.b);
	host_connect(p.a, p.b, SPACE);
	host_map(p.a, &map);
	host_map(p.b, &local);
	host_arm(p.b, SPACE, 1);
	host_arm(p.a, SPACE, 1);
	host_drain(p.host);
	p.q = queue_new(p.a, 0, 0);
	t3_fabric_set_inline_budget(p.host->fabric, budget);
	return p;
}

static struct t3_descriptor produce(const struct pair *p, uint32_t rows)
{
	struct t3_descriptor x = queue_copy(0, SOURCE, ROW_BYTES);

	x.dst_kind = T3_LOC_SPACE;
	x.rows = rows;
	x.src_pitch = rows > 1 ? SRC_PITCH : 0;
	x.dst_pitch = rows > 1 ? PITCH : 0;
	x.space = SPACE;
	x.generation = host_query(p->a, SPACE).generation;
	return x;
}

static void fill_source(uint8_t *to)
{
	uint64_t random = 77;
	uint32_t i;

	for (i = 0; i < ROWS * SRC_PITCH; i += 4) {
		uint32_t value = (uint32_t)host_random(&random);

		memcpy(to + i, &value, 4);
	}
}

static void expect_rows(const struct host_dev *d, const uint8_t *source)
{
	uint32_t row;

	for (row = 0; row < ROWS; row++)
		assert_memory_equal(d->memory + row * PITCH, source + row * SRC_PITCH, ROW_BYTES);
}

/* Each kind of segment, from device and host memory, with each cut of the events. */
static void deliver(uint32_t kind, uint32_t budget, bool host_source)
{
	struct pair p = pair_new(kind, budget);
	struct t3_descriptor x = produce(&p, ROWS);
	uint8_t *source = host_source ? p.a->data + QUEUE_BUS : p.a->memory + SOURCE;

	fill_source(source);
	if (host_source) {
		x.src_kind = T3_LOC_HOST;
		x.src = FREE;
	}
	queue_submit(&p.q, &x);
	host_drain(p.host);
	queue_expect(&p.q, 0, T3_DESC_OK, 0);
	host_expect(p.a, SPACE, T3_SPACE_COMPLETE, 1);
	expect_rows(kind == T3_SEG_LOCAL ? p.a : p.b, source);
	if (kind == T3_SEG_DMA)
		expect_rows(p.a, source);
	if (kind != T3_SEG_LOCAL)
		host_expect(p.b, SPACE, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_stats(p.a, SPACE, 0).local_bytes, ROWS * ROW_BYTES);
	assert_int_equal(host_counter(p.a, T3_COUNTER_QUEUE_BYTES), ROWS * ROW_BYTES);
	assert_int_equal(host_counter(p.a, T3_COUNTER_FAULTS), 0);
	host_free(p.host);
}

TEST("stores of a queue arrive by each kind of segment")
{
	static const uint32_t budgets[] = { 0, 1, 2, 7, 100, T3_INLINE_BUDGET };
	uint32_t kind;
	size_t i;

	for (kind = T3_SEG_LOCAL; kind <= T3_SEG_DMA; kind++)
		for (i = 0; i < COUNT(budgets); i++) {
			deliver(kind, budgets[i], false);
			deliver(kind, budgets[i], true);
		}
}

/* More than a link's slots, cut at tiles and at the payload's limit. */
TEST("long rows are cut into pieces")
{
	struct pair p = pair_new(T3_SEG_REMOTE, T3_INLINE_BUDGET);
	struct t3_descriptor x = produce(&p, ROWS);
	uint64_t before = host_counter(p.a, T3_COUNTER_LINK_TX_PACKETS);

	queue_submit(&p.q, &x);
	host_drain(p.host);
	/* 2600 bytes at tiles of 1204: 1024 + 180, 1024 + 180, 192 */
	assert_int_equal(host_counter(p.a, T3_COUNTER_STORES), ROWS * 5);
	assert_true(host_counter(p.a, T3_COUNTER_LINK_TX_PACKETS) - before >= ROWS * 5);
	host_free(p.host);
}

/* It leaves slots to the CPU, whose stores must not fault. */
TEST("a queue leaves slots to the processor")
{
	struct pair p = pair_new(T3_SEG_REMOTE, 0);
	struct t3_descriptor x = produce(&p, 30);
	uint32_t i;

	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	queue_submit(&p.q, &x);
	for (i = 0; i < 60; i++)
		t3_fabric_run(p.host->fabric, 1);
	assert_int_equal(host_query(p.a, SPACE).in_flight, 56);
	for (i = 0; i < 8; i++) {
		t3_dev_aperture_write(p.a->dev, 35 * PITCH + 4 * i, 1, 4);
		assert_int_equal(host_state(p.a, SPACE), T3_SPACE_ARMED);
	}
	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 0);
	host_drain(p.host);
	queue_expect(&p.q, 0, T3_DESC_OK, 0);
	assert_int_equal(host_counter(p.a, T3_COUNTER_FAULTS), 0);
	host_free(p.host);
}

/* Space 2 on both, above space 1: rank 0's segment is REMOTE. Returns its descriptor. */
static struct t3_descriptor second_space(struct pair *p)
{
	struct t3_cmd_space_create cmd = host_space_args(2);
	struct t3_cmd_seg_map map = big(T3_SEG_REMOTE), local = big(T3_SEG_LOCAL);
	struct t3_descriptor x = produce(p, ROWS);
	uint32_t k;

	cmd.aperture_offset = 0x20000;
	cmd.buffer = 0x200000;
	cmd.size = 0x20000;
	for (k = 0; k < 2; k++)
		assert_int_equal(host_command(&p->host->dev[k], T3_CMD_SPACE_CREATE, &cmd,
					      sizeof(cmd)),
				 T3_ADMIN_OK);
	host_connect(p->a, p->b, 2);
	map.space = local.space = x.space = 2;
	host_map(p->a, &map);
	host_map(p->b, &local);
	host_arm(p->b, 2, 1);
	host_arm(p->a, 2, 1);
	host_drain(p->host);
	x.generation = host_query(p->a, 2).generation;
	return x;
}

static void expect_both(struct pair *p)
{
	uint32_t row;

	host_expect(p->a, SPACE, T3_SPACE_COMPLETE, 1);
	host_expect(p->a, 2, T3_SPACE_COMPLETE, 1);
	expect_rows(p->b, p->a->memory + SOURCE);
	for (row = 0; row < ROWS; row++)
		assert_memory_equal(p->b->memory + 0x200000 + row * PITCH,
				    p->a->memory + SOURCE + row * SRC_PITCH, ROW_BYTES);
}

/* Two queues on one link: stores to one segment, and those that make tiles ready. */
TEST("two queues share a link")
{
	struct pair p = pair_new(T3_SEG_DMA, 0);
	struct t3_descriptor x = produce(&p, ROWS), y = second_space(&p);
	struct queue second = queue_new(p.a, 1, 0);

	fill_source(p.a->memory + SOURCE);
	queue_submit(&p.q, &x);
	queue_submit(&second, &y);
	host_drain(p.host);
	queue_expect(&p.q, 0, T3_DESC_OK, 0);
	queue_expect(&second, 0, T3_DESC_OK, 0);
	expect_both(&p);
	host_free(p.host);
}

/* What DMA has sent when the queue has stored so many bytes into space 2. */
static uint64_t dma_bytes_when(struct pair *p, uint64_t bytes)
{
	while (host_stats(p->a, 2, 0).local_bytes < bytes)
		assert_true(t3_fabric_run(p->host->fabric, 1));
	return host_stats(p->a, SPACE, 0).dma_bytes;
}

/* All tiles are ready when the queue starts: from then on a packet each. */
TEST("a queue and tiles alternate on a link")
{
	struct pair p = pair_new(T3_SEG_LOCAL, 0);
	struct t3_descriptor x = second_space(&p);
	struct t3_cmd_seg_map map = big(T3_SEG_DMA), local = big(T3_SEG_LOCAL);
	struct t3_cmd_seg_staging staging = { SPACE, 0, SOURCE, 0x20000, 1, 0 };
	uint64_t all = (uint64_t)ROWS * ROW_BYTES, sent;
	uint32_t tile;

	host_space_command(p.a, T3_CMD_SPACE_RESET, SPACE);
	host_index_command(p.a, T3_CMD_SEG_UNMAP, SPACE, 0);
	host_space_command(p.b, T3_CMD_SPACE_RESET, SPACE);
	host_index_command(p.b, T3_CMD_SEG_UNMAP, SPACE, 0);
	host_drain(p.host);
	host_connect(p.a, p.b, SPACE);
	host_map(p.b, &local);
	host_map(p.a, &map);
	assert_int_equal(host_command(p.a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
			 T3_ADMIN_OK);
	host_arm(p.b, SPACE, 1);
	host_arm(p.a, SPACE, 1);
	host_drain(p.host);
	for (tile = 0; tile < 14 * 3; tile++)
		host_tile(p.a, SPACE, 0, 0, tile);
	queue_submit(&p.q, &x);
	sent = dma_bytes_when(&p, all / 4); /* tiles had a start of 48 packets */
	sent = dma_bytes_when(&p, all / 2) - sent;
	assert_true(sent > all / 5 && sent < all * 3 / 10);
	host_drain(p.host);
	queue_expect(&p.q, 0, T3_DESC_OK, 0);
	host_expect(p.a, SPACE, T3_SPACE_COMPLETE, 1);
	host_expect(p.a, 2, T3_SPACE_COMPLETE, 1);
	host_free(p.host);
}

/* A lossy link delays, and changes nothing. */
TEST("a lossy link only delays a queue")
{
	uint32_t nth;

	for (nth = 1; nth < 60; nth += 7) {
		struct pair p = pair_new(T3_SEG_REMOTE, 0);
		struct t3_descriptor x = produce(&p, ROWS);

		fill_source(p.a->memory + SOURCE);
		host_inject(p.host->fabric, 0, 1, T3_INJECT_DROP, nth);
		host_inject(p.host->fabric, 0, 1, T3_INJECT_DROP_RESPONSE, nth);
		queue_submit(&p.q, &x);
		host_drain(p.host);
		queue_expect(&p.q, 0, T3_DESC_OK, 0);
		host_expect(p.b, SPACE, T3_SPACE_COMPLETE, 1);
		expect_rows(p.b, p.a->memory + SOURCE);
		host_free(p.host);
	}
}

/* ----------------------------------------------------------------- failures */

static void expect_failure(struct pair *p, const struct t3_descriptor *x, uint32_t status,
			   uint64_t detail)
{
	uint32_t index = queue_submit(&p->q, x);

	host_drain(p->host);
	queue_expect(&p->q, index, status, detail);
	queue_expect_state(&p->q, T3_QUEUE_ERROR, index + 1, status);
	queue_abort(&p->q);
}

/* No such space, wrong generation, wrong state: the space is not affected. */
TEST("a wrong space is refused")
{
	static const uint32_t ids[] = { 2, 1023, 1024, 0xffffffff };
	struct pair p = pair_new(T3_SEG_LOCAL, T3_INLINE_BUDGET);
	struct t3_descriptor x = produce(&p, 1), y;
	size_t i;

	for (i = 0; i < COUNT(ids); i++) {
		y = x;
		y.space = ids[i];
		expect_failure(&p, &y, T3_DESC_SPACE, T3_SPACE_FREE);
	}
	y = x;
	y.generation++;
	expect_failure(&p, &y, T3_DESC_SPACE, T3_SPACE_ARMED);
	host_expect(p.a, SPACE, T3_SPACE_ARMED, 1);
	host_space_command(p.a, T3_CMD_SPACE_RESET, SPACE);
	expect_failure(&p, &x, T3_DESC_SPACE, T3_SPACE_IDLE);
	x = produce(&p, 1);
	expect_failure(&p, &x, T3_DESC_SPACE, T3_SPACE_IDLE);
	host_expect(p.a, SPACE, T3_SPACE_IDLE, 0);
	assert_int_equal(host_counter(p.a, T3_COUNTER_FAULTS), 0);
	host_free(p.host);
}

struct fault {
	uint64_t dst;
	uint32_t row_bytes;
	uint32_t kind, tile;
	uint64_t offset;
	uint32_t segment;
};

/* dst, bytes, then the fault and where it was met. */
static const struct fault faults[] = {
	{ 0x1fff0, 4, T3_FAULT_UNMAPPED, HOST_NONE32, 0x1fff0, HOST_NONE32 },
	{ 0x20000, 4, T3_FAULT_UNMAPPED, HOST_NONE32, 0x20000, HOST_NONE32 },
	{ 1ull << 40, 4, T3_FAULT_UNMAPPED, HOST_NONE32, 1ull << 40, HOST_NONE32 },
	{ ROW_BYTES, 4, T3_FAULT_UNMAPPED, HOST_NONE32, ROW_BYTES, 0 },
	{ ROW_BYTES - 8, 12, T3_FAULT_UNMAPPED, HOST_NONE32, ROW_BYTES, 0 },
	{ 0, 2, T3_FAULT_WIDTH, HOST_NONE32, 0, 0 },
	{ 2, 4, T3_FAULT_WIDTH, HOST_NONE32, 2, 0 },
	{ 8, 1201, T3_FAULT_WIDTH, HOST_NONE32, TILE_BYTES, 0 },
};

TEST("a store of a queue faults as the processor's")
{
	size_t i;

	for (i = 0; i < COUNT(faults); i++) {
		struct pair p = pair_new(T3_SEG_LOCAL, T3_INLINE_BUDGET);
		struct t3_descriptor x = produce(&p, 1);

		x.dst = faults[i].dst;
		x.row_bytes = faults[i].row_bytes;
		expect_failure(&p, &x, T3_DESC_FAULT, faults[i].kind);
		host_expect_cpu_fault(p.a, SPACE, faults[i].kind, faults[i].segment, faults[i].tile,
				      faults[i].offset);
		expect_failure(&p, &x, T3_DESC_SPACE, T3_SPACE_FAULTED);
		host_free(p.host);
	}
}

/* The space is destroyed while the queue works, or sleeps for the link. */
TEST("a space that goes ends the command")
{
	uint32_t down, steps;

	for (down = 0; down < 2; down++)
		for (steps = 1; steps < 70; steps += 9) {
			struct pair p = pair_new(T3_SEG_REMOTE, 0);
			struct t3_descriptor x = produce(&p, ROWS);

			host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, down);
			queue_submit(&p.q, &x);
			t3_fabric_run(p.host->fabric, steps);
			host_space_command(p.a, T3_CMD_SPACE_RESET, SPACE);
			host_drain(p.host);
			queue_expect(&p.q, 0, T3_DESC_SPACE, T3_SPACE_IDLE);
			host_free(p.host);
		}
}

/* A link that gives up makes the space fault. The queue that waited for it learns of it. */
TEST("a lost link ends the command")
{
	struct pair p = pair_new(T3_SEG_REMOTE, 0);
	struct t3_descriptor x = produce(&p, ROWS);

	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	expect_failure(&p, &x, T3_DESC_SPACE, T3_SPACE_FAULTED);
	host_free(p.host);
}

TEST("a command that sleeps can be aborted")
{
	struct pair p = pair_new(T3_SEG_REMOTE, 0);
	struct t3_descriptor x = produce(&p, ROWS), nop = queue_nop();

	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	queue_submit(&p.q, &x);
	t3_fabric_run(p.host->fabric, 80);
	queue_abort(&p.q);
	queue_expect(&p.q, 0, T3_DESC_ABORTED, 0);
	queue_submit(&p.q, &nop); /* it does not sleep any more, although the link is down */
	t3_fabric_run(p.host->fabric, 1);
	queue_expect(&p.q, 1, T3_DESC_OK, 0);
	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 0);
	host_drain(p.host);
	host_expect(p.a, SPACE, T3_SPACE_ARMED, 1);
	host_free(p.host);
}

TEST("a reset ends a command that sleeps")
{
	struct pair p = pair_new(T3_SEG_REMOTE, 0);
	struct t3_descriptor x = produce(&p, ROWS), nop = queue_nop();

	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	queue_submit(&p.q, &x);
	t3_fabric_run(p.host->fabric, 80);
	t3_dev_reset(p.a->dev);
	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 0);
	host_drain(p.host);
	p.q = queue_new(p.a, 0, 0);
	queue_submit(&p.q, &nop);
	host_drain(p.host);
	queue_expect(&p.q, 0, T3_DESC_OK, 0);
	host_free(p.host);
}

/* Host memory fails in the middle: nothing of that piece is counted. */
TEST("a source that fails counts nothing of its piece")
{
	struct pair p = pair_new(T3_SEG_LOCAL, T3_INLINE_BUDGET);
	struct t3_descriptor x = produce(&p, ROWS);

	x.src_kind = T3_LOC_HOST;
	x.src = FREE;
	p.a->fail_data = 4; /* fetch, 1204, 1204, then 192 bytes */
	expect_failure(&p, &x, T3_DESC_HOST_DMA, FREE + 2 * TILE_BYTES);
	host_expect(p.a, SPACE, T3_SPACE_ARMED, 1);
	assert_int_equal(host_stats(p.a, SPACE, 0).local_bytes, 2 * TILE_BYTES);
	host_free(p.host);
}

/* FILL starts its pattern at each row, wherever a tile ends. */
TEST("a fill starts its pattern at each row")
{
	struct pair p = pair_new(T3_SEG_REMOTE, 0);
	struct t3_descriptor x = produce(&p, ROWS);
	uint32_t row, col;

	x.opcode = T3_DESC_FILL;
	x.src = 0x8877665544332211ull;
	x.src_pitch = 0;
	queue_submit(&p.q, &x);
	host_drain(p.host);
	queue_expect(&p.q, 0, T3_DESC_OK, 0);
	for (row = 0; row < ROWS; row++)
		for (col = 0; col < ROW_BYTES; col++)
			assert_int_equal(p.b->memory[row * PITCH + col], (col % 8 + 1) * 0x11);
	host_free(p.host);
}
