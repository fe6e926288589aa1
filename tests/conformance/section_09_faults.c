// SPDX-License-Identifier: MIT
/* SPEC.md 8 and 9: virtual time; faults that other sections do not cause. */
#include "conf.h"
#include "inject.h"
#include "pair.h"
#include "run.h"

CONF_SECTION("9", "time and faults");

TEST("virtual time passes with packets alone", .devices = 2)
{
	struct conf_device *d = conf_device(c, 0);
	uint64_t before, after;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	before = conf_reg64(d, T3_REG_VCLOCK);
	CHECK_EQUAL(c, "VCLOCK of an idle fabric", conf_reg64(d, T3_REG_VCLOCK), before);
	CHECK_EQUAL(c, "VCLOCK of the peer", conf_reg64(pair.target.dev, T3_REG_VCLOCK), before);
	pair_store(&pair.source, 0);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	after = conf_reg64(d, T3_REG_VCLOCK);
	CHECK(c, after >= before + 500, "a delivery took %llu ns",
	      (unsigned long long)(after - before));
}

/* Another space of the same device goes on. */
static void check_isolated(struct conf *c, struct conf_space *other)
{
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(other, i, 8, 3);
	conf_wait_state(c, other, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "faults of the other space", other->events->faults, 0);
}

static void setup(struct conf *c, struct conf_space *s, struct conf_space *other)
{
	conf_space_simple(c, conf_device(c, 0), s);
	conf_space_simple(c, conf_device(c, 0), other);
	conf_arm(s, 1);
	conf_arm(other, 1);
	conf_wait_state(c, s, T3_SPACE_ARMED, 1);
	conf_wait_state(c, other, T3_SPACE_ARMED, 1);
}

/* FAULTED, as the doorbell page and STATE show it. The event area cannot. */
static void wait_faulted(struct conf *c, struct conf_space *s)
{
	struct conf_deadline deadline = conf_deadline(c);

	while (conf_state(s) >> 32 != T3_SPACE_FAULTED && conf_pause(&deadline))
		;
	CHECK_EQUAL(c, "STATE", conf_state(s) >> 32, T3_SPACE_FAULTED);
}

/* The IOMMU does not map the event area, and the space gets an event. */
TEST("an event area that is unmapped faults its space")
{
	struct conf_space s, other;

	setup(c, &s, &other);
	conf_unmap(c, s.args.event_area);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 3);
	wait_faulted(c, &s);
	CHECK(c, conf_reg(s.dev, T3_REG_ERROR_STATUS) & T3_ERROR_HOST_DMA,
	      "ERROR_STATUS.HOST_DMA is not set");
	check_isolated(c, &other);
	CHECK_EQUAL(c, "FAULTS", conf_counter(s.dev, T3_COUNTER_FAULTS), 1);
	CHECK_EQUAL(c, "event area", s.events->state, STATE(T3_SPACE_ARMED, 1)); /* out of date */
	conf_pages_restore(c);
	conf_store(&s, 0, 4, 1);
	CHECK_EQUAL(c, "dropped of a mute space", s.events->dropped, 0);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
}

/* CREATE is OK all the same. The event area says nothing, so software asks. */
TEST("an event area out of reach faults the new space")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_space_prepare(c, d, &s, T3_PAGE_SIZE, 1);
	conf_unmap(c, s.args.event_area);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	CHECK_EQUAL(c, "state", conf_space_command(c, &s, T3_CMD_SPACE_QUERY).state,
		    T3_SPACE_FAULTED);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_HOST_DMA);
	CHECK_EQUAL(c, "FAULTS", conf_counter(d, T3_COUNTER_FAULTS), 1);
	CHECK_EQUAL(c, "state after DISABLE", conf_space_command(c, &s, T3_CMD_SPACE_DISABLE).state,
		    T3_SPACE_QUIESCED);
	conf_space_command(c, &s, T3_CMD_SPACE_DESTROY);
}

TEST("a failed write to the host interrupts")
{
	struct conf_space s, other;

	setup(c, &s, &other);
	conf_reg_write(s.dev, T3_REG_ERROR_ENABLE, T3_ERROR_HOST_DMA);
	conf_reg_write(s.dev, T3_REG_ERROR_VECTOR, 2);
	conf_unmap(c, s.args.event_area);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 3);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, s.dev, 2), 1);
}

/* With bus mastering off the device writes nothing and reports an error. */
TEST("a device without bus mastering writes nothing")
{
	struct conf_space s, other;
	uint64_t before;

	setup(c, &s, &other);
	before = s.events->state;
	conf_bus_master(c, s.dev, false);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 3);
	wait_faulted(c, &s);
	CHECK_EQUAL(c, "event area", s.events->state, before);
	CHECK(c, conf_reg(s.dev, T3_REG_ERROR_STATUS) & T3_ERROR_HOST_DMA,
	      "ERROR_STATUS.HOST_DMA is not set");
	conf_bus_master(c, s.dev, true);
	check_isolated(c, &other);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
}

/*
 * A record of this epoch with an impossible count is a fault of this space alone. Its kind depends
 * on what the device finds first.
 */
TEST("an impossible count faults its space alone", .rows = 3)
{
	static const uint32_t counts[] = { 33, 0x80000000, 0xffffffff };
	struct conf_space s, other;
	uint32_t kind;

	setup(c, &s, &other);
	conf_write(s.dev->memory, s.args.counters, 4, 1);
	conf_write(s.dev->memory, s.args.counters + 4, 4, counts[row]);
	conf_store(&s, 0, 4, 1);
	wait_faulted(c, &s);
	kind = s.events->fault.kind;
	CHECK(c, kind == T3_FAULT_COUNTER || kind == T3_FAULT_OVERSHOOT, "kind is %u", kind);
	check_isolated(c, &other);
}

/* Widths at 8, then the last bytes, and a read that begins before the segment. */
TEST("a read of a remote segment faults", .rows = 7, .devices = 2)
{
	static const struct {
		uint32_t at, bytes;
	} reads[] = { { 8, 1 }, { 8, 2 }, { 8, 4 }, { 8, 8 }, { 67, 1 }, { 60, 8 }, { 0, 8 } };
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair.from.offset = 4;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	CHECK_EQUAL(c, "what is read", conf_load(&pair.source, reads[row].at, reads[row].bytes),
		    ~0ull >> (64 - 8 * reads[row].bytes));
	conf_expect_fault(c, &pair.source, T3_FAULT_READ_REMOTE, 0, CONF_NO_TILE, reads[row].at);
	conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
}

TEST("the record of a fault is exact")
{
	struct conf_space s, other;
	struct t3_fault_record record;

	setup(c, &s, &other);
	conf_store(&s, 16, 1, 1);
	record = conf_wait_fault(c, &s, T3_FAULT_WIDTH);
	CHECK_EQUAL(c, "detail", record.detail, 0);
	CHECK_EQUAL(c, "offset", record.offset, 16);
	CHECK_EQUAL(c, "epoch", record.epoch, 1);
	CHECK_EQUAL(c, "src_rank", record.src_rank, s.dev->rank);
	CHECK(c, record.vtime <= conf_reg64(s.dev, T3_REG_VCLOCK), "vtime is in the future");
	CHECK_EQUAL(c, "FAULTS", conf_counter(s.dev, T3_COUNTER_FAULTS), 1);
	check_isolated(c, &other);
}

/* The memory of a FAULTED space can be read, and takes no more updates. */
TEST("the memory of a faulted space can be read")
{
	struct conf_space s, other;

	setup(c, &s, &other);
	for (unsigned i = 0; i < 56; i += 8)
		conf_store(&s, i, 8, i);
	conf_store(&s, 2048, 4, 0);
	conf_wait_fault(c, &s, T3_FAULT_UNMAPPED);
	conf_store(&s, 56, 8, 1);
	CHECK_EQUAL(c, "dropped element", conf_buffer(&s, 56, 8), 0);
	for (unsigned i = 0; i < 56; i += 8)
		CHECK_EQUAL(c, "what is read", conf_load(&s, i, 8), i);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_FAULTED, 1));
}

/* ------------------------------------------------------------- while a link is held */

/* 65 REMOTE rows of 8 f16, of which nothing is sent before the test or a full link says so. */
static void held_halves(struct conf *c, struct pair *pair)
{
	pair_prepare(c, pair, T3_SEG_REMOTE);
	pair->from.dtype = pair->to.dtype = T3_DTYPE_F16;
	pair->from.rows = pair->from.tile_rows = pair->to.rows = pair->to.tile_rows = 65;
	pair->from.row_bytes = pair->from.pitch = pair->from.tile_row_bytes = 16;
	pair->to.row_bytes = pair->to.pitch = 16;
	pair->to.tile_row_bytes = 8;
	pair_map(c, pair);
	pair_arm(c, pair, 1);
	conf_hold(c);
	for (uint32_t i = 0; i < 64; i++)
		conf_store(&pair->source, 2 * i, 2, 0x3c00);
}

/* A link has 64 slots for stores. The next store first does the pending work. */
TEST("a store on a full link does pending work first", .devices = 2, .needs = CONF_STEP)
{
	struct pair pair;
	uint64_t start;

	start = conf_reg64(conf_device(c, 0), T3_REG_VCLOCK);
	held_halves(c, &pair);
	CHECK_EQUAL(c, "in_flight",
		    conf_space_command(c, &pair.source, T3_CMD_SPACE_QUERY).in_flight, 64);
	start = conf_reg64(pair.source.dev, T3_REG_VCLOCK);
	for (uint32_t i = 64; i < 65 * 8; i++)
		conf_store(&pair.source, 2 * i, 2, 0x3c00);
	CHECK(c, conf_reg64(pair.source.dev, T3_REG_VCLOCK) > start, "no time has passed");
	CHECK_EQUAL(c, "state", conf_state(&pair.source), STATE(T3_SPACE_ARMED, 1));
	conf_let_go(c);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "LINK_RETRIES", conf_counter(pair.source.dev, T3_COUNTER_LINK_RETRIES), 0);
	for (uint32_t i = 0; i < 65 * 8; i++)
		CHECK_EQUAL(c, "element", conf_buffer(&pair.target, 2 * i, 2), 0x3c00);
}

/* The pending work ends the link after its retries. The store that finds it so is dropped. */
TEST("a store that finds its link dead is dropped", .devices = 2, .needs = CONF_STEP | CONF_INJECT)
{
	struct pair pair;
	uint64_t start;

	held_halves(c, &pair);
	INJECT(c, pair.source.dev, .kind = T3_INJECT_LINK_DOWN, .peer = pair.target.dev->rank);
	start = conf_reg64(pair.source.dev, T3_REG_VCLOCK);
	CHECK_EQUAL(c, "state", conf_state(&pair.source), STATE(T3_SPACE_ARMED, 1));
	conf_store(&pair.source, 128, 2, 0x3c00);
	conf_wait_fault(c, &pair.source, T3_FAULT_LINK);
	CHECK_EQUAL(c, "dropped", pair.source.events->dropped, 1);
	CHECK_EQUAL(c, "ns", conf_reg64(pair.source.dev, T3_REG_VCLOCK) - start, 80000);
	CHECK_EQUAL(c, "LINK_DOWNS", conf_counter(pair.source.dev, T3_COUNTER_LINK_DOWNS), 1);
	conf_let_go(c);
	CHECK_EQUAL(c, "in_flight",
		    conf_space_command(c, &pair.source, T3_CMD_SPACE_QUERY).in_flight, 0);
}

/* A faulty driver overwrites the list of ready tiles: its first flags, or where it leads. */
TEST("an overwritten counter table faults", .rows = 2, .devices = 2, .needs = CONF_STEP)
{
	uint64_t at;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	pair.from.tile_row_bytes = pair.to.tile_row_bytes = 16;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	conf_hold(c);
	at = pair.source.args.counters;
	if (row)
		pair_store(&pair.source, 1);
	else
		for (uint32_t i = 0; i < 16; i += 8)
			conf_store(&pair.source, i, 8, 1);
	CHECK(c, conf_record(&pair.source, 0).flags & T3_TILE_READY, "READY is not set");
	if (row)
		conf_write(pair.source.dev->memory, at + 8, 4, 4); /* `next`: tile 4 is none */
	else
		conf_write(pair.source.dev->memory, at + 12, 2, 0); /* `flags` */
	conf_let_go(c);
	conf_expect_fault(c, &pair.source, T3_FAULT_COUNTER, 0, 0, CONF_NO_OFFSET);
}
