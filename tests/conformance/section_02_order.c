// SPDX-License-Identifier: MIT
/* SPEC.md 2.3: what is written to the event area when, and in which order. */
#include "conf.h"
#include "inject.h"
#include "pair.h"

CONF_SECTION("2.3", "order of the event area");

#define DONE(epoch) (T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | (epoch))
#define WORD(index) (offsetof(struct t3_event_area, segment) + 8 * (index))
#define RING(number)                            \
	(offsetof(struct t3_event_area, ring) + \
	 (((number)-1) % T3_FAULT_RING) * sizeof(struct t3_fault_record))

/* Segments 0 and 5 of 64 bytes in two tiles. 5 has four slots. Interrupts are on, and none is due. */
static void setup(struct conf *c, struct conf_space *s)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 16);
	segment = conf_segment(s, 0);
	conf_map(c, s, &segment);
	segment = conf_segment(s, 5);
	segment.offset = 1024;
	segment.counter_base = 8;
	conf_map(c, s, &segment);
	conf_stage(c, s, 5, 2048, 64, 4);
	conf_reg_write(s->dev, T3_REG_SPACE_ENABLE, 1u << s->args.space);
	conf_reg_write(s->dev, T3_REG_SPACE_PENDING, 1u << s->args.space);
}

/* The news so far have been read: from here on all is watched. */
static void begin(struct conf_space *s, uint64_t offset)
{
	conf_reg_write(s->dev, T3_REG_SPACE_PENDING, 1u << s->args.space);
	conf_watch(s->dev, s->args.buffer + offset);
}

static const struct conf_action *watched(struct conf *c, struct conf_space *s, unsigned wanted)
{
	const struct conf_action *actions;

	CHECK_EQUAL(c, "actions", conf_watched(s->dev, &actions), wanted);
	return actions;
}

static void check_write(struct conf *c, struct conf_space *s, const struct conf_action *action,
			uint64_t offset, size_t bytes)
{
	CHECK(c, action->bytes, "an interrupt in the place of a write");
	CHECK_EQUAL(c, "place of a write", action->iova - s->args.event_area, offset);
	CHECK_EQUAL(c, "its bytes", action->bytes, bytes);
}

static void check_interrupt(struct conf *c, const struct conf_action *action)
{
	CHECK(c, !action->bytes, "a write in the place of an interrupt");
}

static void fill(struct conf_space *s, uint32_t at, uint32_t value)
{
	for (uint32_t i = 0; i < 64; i += 4)
		conf_store(s, at + i, 4, value);
}

/* CREATE and RESET write the page at once, and are an event. */
TEST("a new space is one write of its page", .rows = 2, .needs = CONF_WATCH)
{
	struct conf_device *d = conf_device(c, 0);
	const struct conf_action *actions;
	struct conf_space s;

	conf_space_prepare(c, d, &s, T3_PAGE_SIZE, 1);
	conf_watch(d, 0);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	if (row) {
		begin(&s, 0);
		conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	}
	actions = watched(c, &s, 1);
	check_write(c, &s, &actions[0], 0, T3_PAGE_SIZE);
	CHECK_EQUAL(c, "PENDING", conf_reg(d, T3_REG_SPACE_PENDING), 1u << s.args.space);
}

TEST("a change of state writes one word and interrupts", .needs = CONF_WATCH)
{
	const struct conf_action *actions;
	struct conf_space s;

	setup(c, &s);
	begin(&s, 0);
	conf_arm_wait(c, &s, 3);
	actions = watched(c, &s, 3);
	check_write(c, &s, &actions[0], 0, 8); /* ARMING */
	check_interrupt(c, &actions[1]);
	check_write(c, &s, &actions[2], 0, 8); /* ARMED, when PENDING was set */
	fill(&s, 0, 1);
	fill(&s, 1024, 1);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 3);
	begin(&s, 0);
	conf_release(&s, 3);
	actions = watched(c, &s, 2);
	check_write(c, &s, &actions[0], 0, 8);
	check_interrupt(c, &actions[1]);
	conf_arm_wait(c, &s, 4);
	CHECK_EQUAL(c, "word of the epoch that is over", s.events->segment[0], DONE(3));
	fill(&s, 0, 1);
	CHECK_EQUAL(c, "word of this epoch", s.events->segment[0], DONE(4));
	CHECK_EQUAL(c, "word of the other segment", s.events->segment[5], DONE(3));
}

TEST("data, segment word, state and interrupt come in this order", .needs = CONF_WATCH)
{
	const struct conf_action *actions;
	struct conf_space s;

	setup(c, &s);
	conf_arm_wait(c, &s, 1);
	fill(&s, 1024, 0x11);
	begin(&s, 56); /* the last element of segment 0 */
	fill(&s, 0, 0x22);
	actions = watched(c, &s, 3);
	check_write(c, &s, &actions[0], WORD(0), 8);
	check_write(c, &s, &actions[1], 0, 8);
	check_interrupt(c, &actions[2]);
	CHECK_EQUAL(c, "data at the segment word", actions[0].seen, 0x2200000022);
	CHECK_EQUAL(c, "state", s.events->state, STATE(T3_SPACE_COMPLETE, 1));
}

TEST("a segment that completes alone changes its word alone", .needs = CONF_WATCH)
{
	const struct conf_action *actions;
	struct conf_space s;

	setup(c, &s);
	conf_arm_wait(c, &s, 1);
	begin(&s, 0);
	fill(&s, 1024, 1);
	actions = watched(c, &s, 2);
	check_write(c, &s, &actions[0], WORD(5), 8);
	check_interrupt(c, &actions[1]);
	CHECK_EQUAL(c, "its word", s.events->segment[5], DONE(1));
	CHECK_EQUAL(c, "the other word", s.events->segment[0], 0);
	CHECK_EQUAL(c, "state", s.events->state, STATE(T3_SPACE_ARMED, 1));
}

/* `consumed` is a word of its own, after the data, without an interrupt. */
TEST("the count of a slot is written after its data", .needs = CONF_WATCH, .rows = 4)
{
	const struct conf_action *actions;
	struct conf_space s;

	setup(c, &s);
	conf_memory_fill(s.dev, s.args.buffer + 2048 + 64 * row, 64,
			 0x0101010101010101 * (1 + row));
	conf_arm_wait(c, &s, 1);
	begin(&s, 1024 + 24);
	conf_tile(&s, 5, row, 0);
	actions = watched(c, &s, 1);
	check_write(c, &s, &actions[0],
		    offsetof(struct t3_event_area, consumed) + (5 * T3_SEG_SLOTS + row) * 4, 4);
	CHECK_EQUAL(c, "data at the count", actions[0].seen, 0x0101010101010101 * (1 + row));
	for (unsigned slot = 0; slot < T3_SEG_SLOTS; slot++) {
		CHECK_EQUAL(c, "consumed", s.events->consumed[5][slot], slot == row);
		CHECK_EQUAL(c, "consumed of the other", s.events->consumed[0][slot], 0);
	}
}

TEST("the counts of slots go on over epochs until a reset")
{
	struct conf_space s;

	setup(c, &s);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		conf_arm_wait(c, &s, epoch);
		conf_tile(&s, 5, 1, 0);
		conf_tile(&s, 5, 1, 1);
		fill(&s, 0, 1);
		conf_wait_state(c, &s, T3_SPACE_COMPLETE, epoch);
		CHECK_EQUAL(c, "consumed", s.events->consumed[5][1], 2 * epoch);
		conf_release(&s, epoch);
	}
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_arm_wait(c, &s, 1);
	conf_tile(&s, 5, 1, 0);
	CHECK_EQUAL(c, "consumed after a reset", s.events->consumed[5][1], 1);
}

/* The answers of the peer come later than its data. */
TEST("a segment is tracked first and delivered later", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_DMA);
	conf_hold(c);
	pair_store(&pair.source, 3);
	while (!pair.target.events->segment[0]) {
		CHECK_EQUAL(c, "word", pair.source.events->segment[0], T3_SEG_WORD_TRACKED | 1);
		CHECK_EQUAL(c, "state", pair.source.events->state, STATE(T3_SPACE_ARMED, 1));
		CHECK(c, conf_step(c, 1), "nothing arrives");
	}
	CHECK_EQUAL(c, "word, applied", pair.source.events->segment[0], T3_SEG_WORD_TRACKED | 1);
	conf_let_go(c);
	CHECK_EQUAL(c, "word", pair.source.events->segment[0], DONE(1));
	CHECK_EQUAL(c, "word of the target", pair.target.events->segment[0], DONE(1));
	CHECK_EQUAL(c, "state", pair.source.events->state, STATE(T3_SPACE_COMPLETE, 1));
}

/* A reader of FAULTED can read the reason. A later store is one count. */
TEST("record, count, state and interrupt of a fault come in this order", .needs = CONF_WATCH)
{
	const size_t bytes = sizeof(struct t3_fault_record);
	const struct conf_action *actions;
	struct conf_space s;

	setup(c, &s);
	begin(&s, 0);
	conf_store(&s, 0, 4, 1);
	actions = watched(c, &s, 5);
	check_write(c, &s, &actions[0], offsetof(struct t3_event_area, fault), bytes);
	check_write(c, &s, &actions[1], RING(1), bytes);
	check_write(c, &s, &actions[2], offsetof(struct t3_event_area, faults), 4);
	check_write(c, &s, &actions[3], 0, 8);
	check_interrupt(c, &actions[4]);
	begin(&s, 0);
	conf_store(&s, 0, 4, 1);
	actions = watched(c, &s, 1);
	check_write(c, &s, &actions[0], offsetof(struct t3_event_area, dropped), 8);
}

/* A later fault changes no state, so that it sends no interrupt. */
TEST("a later fault is a record and a count", .devices = 2, .needs = CONF_WATCH)
{
	const struct conf_action *actions;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	conf_reg_write(pair.source.dev, T3_REG_SPACE_ENABLE, 1u << pair.source.args.space);
	conf_load(&pair.source, 4, 4);
	for (uint32_t k = 2; k <= 2 * T3_FAULT_RING + 5; k++) {
		begin(&pair.source, 0);
		conf_load(&pair.source, 4 * (k % 16), 4);
		actions = watched(c, &pair.source, 2);
		check_write(c, &pair.source, &actions[0], RING(k), sizeof(struct t3_fault_record));
		check_write(c, &pair.source, &actions[1], offsetof(struct t3_event_area, faults),
			    4);
		CHECK_EQUAL(c, "faults", pair.source.events->faults, k);
		CHECK_EQUAL(c, "segment of the fault",
			    pair.source.events->ring[(k - 1) % T3_FAULT_RING].segment, 0);
	}
}

TEST("a peer's data is in memory before the host can know", .devices = 2,
     .needs = CONF_STEP | CONF_WATCH)
{
	const struct conf_action *actions;
	unsigned count;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	conf_hold(c);
	conf_watch(pair.target.dev, pair.target.args.buffer + 56);
	fill(&pair.source, 0, 0x33);
	conf_let_go(c);
	CHECK_EQUAL(c, "state", pair.target.events->state, STATE(T3_SPACE_COMPLETE, 1));
	count = conf_watched(pair.target.dev, &actions);
	CHECK(c, count >= 2, "%u writes: the segment word and the state are two", count);
	for (unsigned i = 0; i < count; i++)
		CHECK_EQUAL(c, "data", actions[i].seen, 0x3300000033);
}

/* ------------------------------------------------------------- writes that fail */

/* ARMING, ARMED, 2 counts of a slot, 2 segment words, COMPLETE, IDLE. */
#define WRITES 8u

/* While writes fail, the event area says nothing. */
static uint32_t wait_while(struct conf *c, struct conf_space *s, uint32_t state)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (conf_state(s) >> 32 == state && conf_pause(&deadline))
		;
	return (uint32_t)(conf_state(s) >> 32);
}

/* Whichever write is the first that fails, the space faults once, and goes on after a reset. */
TEST("any write that fails faults the space once", .rows = WRITES + 1, .needs = CONF_INJECT)
{
	struct conf_device *d = conf_device(c, 0);
	bool good = row == WRITES;
	struct conf_space s;

	setup(c, &s);
	INJECT(c, d, .kind = T3_INJECT_FAIL_DMA, .nth = row + 1, .count = 1000);
	conf_arm(&s, 1);
	wait_while(c, &s, T3_SPACE_ARMING);
	conf_tile(&s, 5, 0, 0);
	conf_tile(&s, 5, 0, 1);
	fill(&s, 0, 1);
	if (wait_while(c, &s, T3_SPACE_ARMED) == T3_SPACE_COMPLETE)
		conf_release(&s, 1);
	CHECK_EQUAL(c, "state", wait_while(c, &s, T3_SPACE_COMPLETE),
		    good ? T3_SPACE_IDLE : T3_SPACE_FAULTED);
	CHECK_EQUAL(c, "FAULTS", conf_counter(d, T3_COUNTER_FAULTS), !good);
	CHECK_EQUAL(c, "TRACKER_LIVE", conf_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(d, T3_REG_ERROR_STATUS),
		    good ? 0 : T3_ERROR_HOST_DMA);
	INJECT(c, d, .kind = T3_INJECT_FAIL_DMA);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
}

/* The page is out of date from then on. Until a reset nothing is counted there. */
TEST("failed writes change nothing", .needs = CONF_INJECT)
{
	static struct t3_event_area before;
	struct conf_space s;

	setup(c, &s);
	memcpy(&before, (const void *)s.events, sizeof(before));
	INJECT(c, s.dev, .kind = T3_INJECT_FAIL_DMA, .nth = 1, .count = 1000);
	conf_arm(&s, 1);
	CHECK_EQUAL(c, "state", wait_while(c, &s, T3_SPACE_IDLE), T3_SPACE_FAULTED);
	INJECT(c, s.dev, .kind = T3_INJECT_FAIL_DMA);
	conf_store(&s, 0, 4, 1);
	conf_store(&s, 0, 4, 1);
	CHECK_EQUAL(c, "DROPPED", conf_counter(s.dev, T3_COUNTER_DROPPED), 2);
	CHECK(c, !memcmp(&before, (const void *)s.events, sizeof(before)), "the page has changed");
}

/* A doorbell that reaches a count and cannot write `consumed` triggers nothing. */
TEST("a failing event area triggers nothing", .rows = 2, .devices = 2, .needs = CONF_INJECT)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_seg_stats stats;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	if (row) {
		pair.from.kind = T3_SEG_LOCAL;
		pair.from.routes = pair.from.target_op = 0;
	}
	pair_map(c, &pair);
	conf_stage(c, &pair.source, 0, 2048, 64, 1);
	pair_arm(c, &pair, 1);
	INJECT(c, d, .kind = T3_INJECT_FAIL_DMA, .nth = 1, .count = 1000);
	conf_tile(&pair.source, 0, 0, 1);
	CHECK_EQUAL(c, "state", wait_while(c, &pair.source, T3_SPACE_ARMED), T3_SPACE_FAULTED);
	INJECT(c, d, .kind = T3_INJECT_FAIL_DMA);
	conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
	CHECK_EQUAL(c, "TRIGGERS", conf_counter(d, T3_COUNTER_TRIGGERS), 0);
	stats = conf_stats(c, &pair.source, 0);
	CHECK_EQUAL(c, "triggers", stats.triggers, 0);
	CHECK_EQUAL(c, "tiles_tracked", stats.tiles_tracked, 0);
	CHECK_EQUAL(c, "dma_bytes", stats.dma_bytes, 0);
}
