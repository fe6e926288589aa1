// SPDX-License-Identifier: MIT
/* SPEC.md 8 and 9: virtual time; faults that other sections do not cause. */
#include "conf.h"
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
	conf_pages_restore(c);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
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

TEST("a read of a remote segment faults", .rows = 4, .devices = 2)
{
	static const unsigned widths[] = { 1, 2, 4, 8 };
	struct t3_fault_record record;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	CHECK_EQUAL(c, "what is read", conf_load(&pair.source, 8, widths[row]),
		    ~0ull >> (64 - 8 * widths[row]));
	record = conf_wait_fault(c, &pair.source, T3_FAULT_READ_REMOTE);
	CHECK_EQUAL(c, "offset", record.offset, 8);
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
