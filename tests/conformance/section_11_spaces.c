// SPDX-License-Identifier: MIT
/* SPEC.md 11.6: tracked stores by a queue. */
#include "conf.h"
#include "pair.h"
#include "queue.h"

CONF_SECTION("11.6", "queues to spaces");

static struct t3_descriptor to_space(const struct conf_space *s, struct t3_descriptor descriptor)
{
	descriptor.space = s->args.space;
	descriptor.generation = s->args.generation;
	return descriptor;
}

/* A space on device 0 in ARMED with a segment of 16 elements, from 0. */
static void local(struct conf *c, struct conf_space *s)
{
	conf_space_simple(c, conf_device(c, 0), s);
	conf_arm_wait(c, s, 1);
}

/* From host memory, device memory or a pattern. Tiles complete as with the CPU's stores. */
TEST("a queue's stores complete tiles", .rows = 3)
{
	struct t3_descriptor descriptor;
	volatile uint32_t *host;
	struct conf_space s;
	struct queue q;
	uint64_t iova;

	local(c, &s);
	queue_create(c, s.dev, &q, 0, 0);
	host = conf_page(c, &iova);
	for (uint32_t i = 0; i < 16; i++) {
		host[i] = 100 + i;
		conf_write(s.dev->memory, 0x100000 + 4 * i, 4, 100 + i);
	}
	descriptor = row == 0	? desc_copy(T3_LOC_HOST, iova, T3_LOC_SPACE, 0, 64)
		     : row == 1 ? desc_copy(T3_LOC_MEMORY, 0x100000, T3_LOC_SPACE, 0, 64)
				: desc_fill(T3_LOC_SPACE, 0, 0x0000000200000001, 64);
	descriptor = to_space(&s, descriptor);
	queue_do(c, &q, &descriptor);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "element", conf_buffer(&s, 4 * i, 4),
			    row == 2 ? 1 + i % 2 : 100 + i);
	CHECK_EQUAL(c, "TRIGGERS", conf_counter(s.dev, T3_COUNTER_TRIGGERS), 2);
	/* A piece ends where a tile does, and is one store. */
	CHECK_EQUAL(c, "STORES", conf_counter(s.dev, T3_COUNTER_STORES), 2);
}

/* Half of each tile by a queue, the other by the CPU. */
TEST("a queue and the CPU share a tile")
{
	struct t3_descriptor fill;
	struct conf_space s;
	struct queue q;

	local(c, &s);
	queue_create(c, s.dev, &q, 0, 0);
	fill = to_space(&s, desc_fill(T3_LOC_SPACE, 0, 0x0000000700000007, 16));
	fill.rows = 2;
	fill.dst_pitch = 32;
	queue_do(c, &q, &fill);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	for (uint64_t at = 0; at < 64; at += 8)
		if (at & 16)
			conf_store(&s, at, 8, 0x0000000800000008);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	for (uint64_t at = 0; at < 64; at += 4)
		CHECK_EQUAL(c, "element", conf_buffer(&s, at, 4), at & 16 ? 8 : 7);
}

/* A segment whose tiles go to another device, stored by a queue. */
TEST("a queue's stores reach a peer", .rows = 2, .devices = 2)
{
	struct t3_descriptor copy;
	struct pair pair;
	struct queue q;

	pair_ready(c, &pair, row ? T3_SEG_REMOTE : T3_SEG_DMA);
	queue_create(c, pair.source.dev, &q, 0, 0);
	for (uint32_t i = 0; i < 16; i++)
		conf_write(q.dev->memory, 0x100000 + 4 * i, 4, 50 + i);
	copy = to_space(&pair.source, desc_copy(T3_LOC_MEMORY, 0x100000, T3_LOC_SPACE, 0, 64));
	queue_do(c, &q, &copy);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	pair_check(c, &pair.target, 50, "element at the target");
	CHECK_EQUAL(c, "DMA_BYTES", conf_counter(q.dev, T3_COUNTER_DMA_BYTES), row ? 0 : 64);
}

/* More pieces than a link has slots. The queue waits, and no store is lost or faults. */
TEST("a queue waits for the slots of a link", .rows = 2, .devices = 2)
{
	const uint32_t bytes = 4 * T3_PAGE_SIZE;
	struct t3_descriptor copy;
	struct pair pair;
	struct queue q;

	pair_prepare(c, &pair, row ? T3_SEG_REMOTE : T3_SEG_DMA);
	pair.from.rows = pair.to.rows = 256;
	pair.from.tile_rows = pair.to.tile_rows = 8;
	pair.from.tile_row_bytes = pair.to.tile_row_bytes = 64;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	queue_create(c, pair.source.dev, &q, 0, 0);
	for (uint32_t i = 0; i < bytes; i += 8)
		conf_write(q.dev->memory, 0x100000 + i, 8, i * 0x9e3779b97f4a7c15);
	copy = to_space(&pair.source, desc_copy(T3_LOC_MEMORY, 0x100000, T3_LOC_SPACE, 0, bytes));
	queue_do(c, &q, &copy);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < bytes; i += 8)
		CHECK_EQUAL(c, "word", conf_buffer(&pair.target, i, 8), i * 0x9e3779b97f4a7c15);
	CHECK_EQUAL(c, "QUEUE_BYTES", conf_counter(q.dev, T3_COUNTER_QUEUE_BYTES), bytes);
}

/* ------------------------------------------------------------------ refused */

static void expect(struct conf *c, struct queue *q, struct t3_descriptor descriptor,
		   uint32_t status, uint64_t detail)
{
	uint32_t index = queue_push(q, &descriptor);

	queue_submit(q);
	queue_expect(c, q, index, status, detail);
	queue_command(c, q, T3_CMD_QUEUE_ABORT);
}

/* No such space, and each state that is not ARMED. The space is not affected. */
TEST("a space that is not armed is not affected")
{
	static const uint32_t none[] = { 2, T3_MAX_SPACES - 1, T3_MAX_SPACES, 0xffffffff };
	struct t3_descriptor fill = desc_fill(T3_LOC_SPACE, 0, 1, 8), other;
	struct conf_space s;
	struct queue q;

	conf_space_simple(c, conf_device(c, 0), &s);
	queue_create(c, s.dev, &q, 0, 0);
	fill = to_space(&s, fill);
	other = fill;
	for (unsigned i = 0; i < ARRAY_SIZE(none); i++) {
		other.space = none[i];
		expect(c, &q, other, T3_DESC_SPACE, T3_SPACE_FREE);
	}
	expect(c, &q, fill, T3_DESC_SPACE, T3_SPACE_IDLE);
	conf_arm_wait(c, &s, 1);
	pair_store(&s, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	expect(c, &q, fill, T3_DESC_SPACE, T3_SPACE_COMPLETE);
	CHECK_EQUAL(c, "faults", s.events->faults, 0);
	conf_store(&s, 0, 8, 1);
	conf_wait_fault(c, &s, T3_FAULT_NOT_ARMED);
	expect(c, &q, fill, T3_DESC_SPACE, T3_SPACE_FAULTED);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	expect(c, &q, fill, T3_DESC_SPACE, T3_SPACE_IDLE); /* of the generation before */
	conf_space_command(c, &s, T3_CMD_SPACE_DISABLE);
	expect(c, &q, fill, T3_DESC_SPACE, T3_SPACE_QUIESCED);
	CHECK_EQUAL(c, "FAULTS", conf_counter(s.dev, T3_COUNTER_FAULTS), 1);
}

/* A generation before or after the space's. The space stays ARMED. */
TEST("another generation is refused", .rows = 2)
{
	struct t3_descriptor fill;
	struct t3_completion found;
	struct conf_space s;
	struct queue q;

	local(c, &s);
	queue_create(c, s.dev, &q, 0, 0);
	fill = to_space(&s, desc_fill(T3_LOC_SPACE, 0, 1, 64));
	fill.generation += row ? 1 : -1u;
	found = queue_run(c, &q, &fill);
	CHECK_EQUAL(c, "status", QUEUE_STATUS(found), T3_DESC_SPACE);
	CHECK_EQUAL(c, "detail", found.detail, T3_SPACE_ARMED);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	fill.generation = s.args.generation;
	queue_do(c, &q, &fill);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
}

/* Stores that make the space fault, as the CPU's would at the same place. */
TEST("a store of a queue faults as the CPU's", .rows = 9)
{
	static const struct {
		uint64_t offset;
		uint32_t bytes, kind, good, segment;
	} cases[] = {
		{ 64, 8, T3_FAULT_UNMAPPED, 0, CONF_NO_SEGMENT },
		{ 32, 64, T3_FAULT_UNMAPPED, 32, CONF_NO_SEGMENT },
		{ 2, 4, T3_FAULT_WIDTH, 0, 0 },
		{ 0, 6, T3_FAULT_WIDTH, 0, 0 },
		{ 0, 2, T3_FAULT_WIDTH, 0, 0 },
		{ 8, 25, T3_FAULT_WIDTH, 24, 0 },
		{ 2048, 8, T3_FAULT_UNMAPPED, 0, CONF_NO_SEGMENT },
		{ T3_PAGE_SIZE, 4, T3_FAULT_UNMAPPED, 0, CONF_NO_SEGMENT },
		{ 1ull << 40, 4, T3_FAULT_UNMAPPED, 0, CONF_NO_SEGMENT },
	};
	struct conf_space s, other;
	struct t3_descriptor fill;
	struct queue q;

	local(c, &s);
	local(c, &other);
	queue_create(c, s.dev, &q, 0, 0);
	fill = to_space(&s, desc_fill(T3_LOC_SPACE, cases[row].offset, 0x0000000500000005,
				      cases[row].bytes));
	expect(c, &q, fill, T3_DESC_FAULT, cases[row].kind);
	conf_expect_fault(c, &s, cases[row].kind, cases[row].segment, CONF_NO_TILE,
			  cases[row].offset + cases[row].good);
	expect(c, &q, fill, T3_DESC_SPACE, T3_SPACE_FAULTED);
	for (uint32_t i = 0; i < cases[row].good; i += 4)
		CHECK_EQUAL(c, "piece before", conf_buffer(&s, cases[row].offset + i, 4), 5);
	fill = to_space(&other, desc_fill(T3_LOC_SPACE, 0, 1, 64));
	queue_do(c, &q, &fill);
	conf_wait_state(c, &other, T3_SPACE_COMPLETE, 1);
}

TEST("a queue that overshoots faults its space")
{
	struct t3_descriptor fill;
	struct conf_space s;
	struct queue q;

	local(c, &s);
	queue_create(c, s.dev, &q, 0, 0);
	fill = to_space(&s, desc_fill(T3_LOC_SPACE, 0, 0x0000000300000003, 32));
	queue_do(c, &q, &fill);
	expect(c, &q, fill, T3_DESC_FAULT, T3_FAULT_OVERSHOOT);
	conf_wait_fault(c, &s, T3_FAULT_OVERSHOOT);
	CHECK_EQUAL(c, "element", conf_buffer(&s, 0, 4), 3);
}
