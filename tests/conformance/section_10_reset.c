// SPDX-License-Identifier: MIT
/* SPEC.md 10: CONTROL.RESET and FLR. */
#include "conf.h"
#include "pair.h"
#include "run.h"

CONF_SECTION("10", "reset");

static void by_register(struct conf *c, struct conf_device *d)
{
	(void)c;
	conf_reset(d);
}

static const struct {
	const char *name;
	void (*reset)(struct conf *c, struct conf_device *d);
} ways[] = { { "CONTROL", by_register }, { "VFIO", conf_flr } };

static const char *way_label(unsigned row)
{
	return ways[row].name;
}

static void reset(struct conf *c, struct conf_device *d, unsigned row)
{
	ways[row].reset(c, d);
	conf_bus_master(c, d, true);
}

TEST("a reset raises the incarnation", .rows = ARRAY_SIZE(ways), .label = way_label)
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t before = conf_reg(d, T3_REG_INCARNATION);

	reset(c, d, row);
	/* VFIO may reset by several methods. */
	if (row == 0)
		CHECK_EQUAL(c, "INCARNATION", conf_reg(d, T3_REG_INCARNATION), before + 1);
	CHECK(c, conf_reg(d, T3_REG_INCARNATION) != before, "INCARNATION has not changed");
}

TEST("a reset keeps device memory", .rows = ARRAY_SIZE(ways), .label = way_label)
{
	struct conf_device *d = conf_device(c, 0);

	conf_memory_fill(d, 0, 65536, 0x0123456789abcdef);
	reset(c, d, row);
	for (uint64_t i = 0; i < 65536; i += 8)
		CHECK_EQUAL(c, "device memory", conf_read(d->memory, i, 8), 0x0123456789abcdef);
}

TEST("a reset frees all spaces", .rows = ARRAY_SIZE(ways), .label = way_label)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_space query;
	struct conf_space s;
	uint64_t before;

	conf_space_simple(c, d, &s);
	conf_arm_wait(c, &s, 1);
	conf_store(&s, 0, 8, 1);
	before = s.events->state;
	reset(c, d, row);
	query = (struct t3_cmd_space){ .space = s.args.space };
	ADMIN(c, d, T3_CMD_SPACE_QUERY, &query);
	CHECK_EQUAL(c, "state", query.state, T3_SPACE_FREE);
	CHECK(c, query.generation != s.args.generation, "the generation is the same");
	CHECK_EQUAL(c, "event area", s.events->state, before);
	CHECK_EQUAL(c, "what is read", conf_load(&s, 0, 4), 0xffffffff);
	conf_memory_fill(d, s.args.counters, 256, 0);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
}

TEST("a reset clears registers and counters", .rows = ARRAY_SIZE(ways), .label = way_label)
{
	static const uint32_t zero[] = { T3_REG_ERROR_STATUS,  T3_REG_ERROR_ENABLE,
					 T3_REG_EVENT_VECTOR,  T3_REG_ERROR_VECTOR,
					 T3_REG_EVENT_SUMMARY, T3_REG_ADMIN_COMMAND,
					 T3_REG_ADMIN_STATUS,  T3_REG_MAILBOX,
					 T3_REG_MAILBOX + 252 };
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_space_simple(c, d, &s);
	conf_reg_write(d, T3_REG_SPACE_ENABLE, 1);
	conf_arm(&s, 1);
	conf_read(d->regs, T3_REG_ID, 1);
	conf_reg_write(d, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
	conf_reg_write(d, T3_REG_EVENT_VECTOR, 3);
	conf_reg_write(d, T3_REG_ERROR_VECTOR, 3);
	conf_reg_write(d, T3_REG_MAILBOX + 252, 1);
	reset(c, d, row);
	for (unsigned i = 0; i < ARRAY_SIZE(zero); i++)
		CHECK_EQUAL(c, "register", conf_reg(d, zero[i]), 0);
	for (unsigned i = 0; i < 32; i++) {
		CHECK_EQUAL(c, "PENDING", conf_reg(d, T3_REG_SPACE_PENDING + 4 * i), 0);
		CHECK_EQUAL(c, "ENABLE", conf_reg(d, T3_REG_SPACE_ENABLE + 4 * i), 0);
	}
	for (unsigned i = 0; i < T3_COUNTER_COUNT; i++)
		CHECK_EQUAL(c, "counter", conf_counter(d, i), 0);
}

/* The neighbour stops answering. A source faults before it sends anything. */
TEST("a reset of the target ends its source", .rows = ARRAY_SIZE(ways), .label = way_label,
     .devices = 2)
{
	struct t3_fault_record record;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	reset(c, pair.target.dev, row);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_PEER_DEAD);
	CHECK_EQUAL(c, "segment", record.segment, ~0u);
}

/* The target of a source that was reset faults, too. Its slot is then safe from that source. */
TEST("a reset of the source ends its target", .rows = ARRAY_SIZE(ways), .label = way_label,
     .devices = 2)
{
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_DMA);
	for (unsigned i = 0; i < 7; i++)
		conf_store(&pair.source, 4 * i, 4, 1);
	reset(c, pair.source.dev, row);
	conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
	CHECK_EQUAL(c, "faults of the target", pair.target.events->faults, 1);
}

/* After a reset the same links carry a new pair: sequence and incarnation are right. */
TEST("links work again after a reset", .rows = ARRAY_SIZE(ways), .label = way_label, .devices = 2)
{
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	pair_store(&pair.source, 0);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	reset(c, pair.source.dev, row);
	pair.source.dev->spaces_used = 0;
	pair.source.dev->aperture_used = 0;
	pair_ready(c, &pair, T3_SEG_DMA);
	pair_store(&pair.source, 9);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	pair_check(c, &pair.target, 9, "after a reset");
}

TEST("a device can be reset again and again")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	for (unsigned i = 0; i < 20; i++) {
		d->spaces_used = 0;
		d->aperture_used = d->memory_used = 0;
		conf_space_simple(c, d, &s);
		conf_arm_wait(c, &s, 1);
		for (unsigned j = 0; j < 64; j += 8)
			conf_store(&s, j, 8, j);
		conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
		conf_reset(d);
	}
}

/* Only bit 0 of CONTROL is a reset. The others may not be written. */
TEST("one bit resets the function")
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t incarnation = conf_reg(d, T3_REG_INCARNATION);
	struct conf_space s;

	conf_space_create(c, d, &s, T3_PAGE_SIZE, 1);
	conf_reg_write(d, T3_REG_CONTROL, 2);
	CHECK(c, conf_guest_error(d), "another bit is no guest error");
	CHECK_EQUAL(c, "INCARNATION", conf_reg(d, T3_REG_INCARNATION), incarnation);
	CHECK_EQUAL(c, "STATE", conf_state(&s), STATE(T3_SPACE_IDLE, 0));
	conf_reset(d);
	CHECK_EQUAL(c, "INCARNATION", conf_reg(d, T3_REG_INCARNATION), incarnation + 1);
	CHECK_EQUAL(c, "STATE of no space", conf_state(&s), ~0ull);
	CHECK(c, !conf_guest_error(d), "a reset is a guest error");
}
