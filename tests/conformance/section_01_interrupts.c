// SPDX-License-Identifier: MIT
/* SPEC.md 1.1, Interrupts. */
#include "conf.h"
#include "run.h"

CONF_SECTION("1.1", "interrupts");

static void enable(struct conf_space *s)
{
	uint32_t word = 4 * (s->args.space / 32);
	uint32_t bits = conf_reg(s->dev, T3_REG_SPACE_ENABLE + word);

	conf_reg_write(s->dev, T3_REG_SPACE_ENABLE + word, bits | 1u << s->args.space % 32);
}

static bool pending(const struct conf_space *s)
{
	return conf_reg(s->dev, T3_REG_SPACE_PENDING + 4 * (s->args.space / 32)) >>
		       s->args.space % 32 &
	       1;
}

static void clear(const struct conf_space *s)
{
	conf_reg_write(s->dev, T3_REG_SPACE_PENDING + 4 * (s->args.space / 32),
		       1u << s->args.space % 32);
}

/* A space whose first interrupts were cleared. */
static void setup(struct conf *c, struct conf_device *d, struct conf_space *s)
{
	conf_space_simple(c, d, s);
	clear(s);
	conf_interrupts_now(c, d, 0);
}

TEST("an event interrupts at its vector", .rows = T3_MAX_VECTORS)
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	setup(c, d, &s);
	conf_reg_write(d, T3_REG_EVENT_VECTOR, row);
	enable(&s);
	conf_arm_wait(c, &s, 1);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, d, row), 1);
	CHECK(c, pending(&s), "PENDING is not set");
	for (unsigned other = 0; other < T3_MAX_VECTORS; other++)
		CHECK(c, other == row || !conf_interrupts_now(c, d, other),
		      "vector %u was used as well", other);
}

TEST("a disabled event sends no interrupt")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	setup(c, d, &s);
	conf_arm_wait(c, &s, 1);
	CHECK(c, pending(&s), "PENDING is not set");
	CHECK_EQUAL(c, "EVENT_SUMMARY", conf_reg(d, T3_REG_EVENT_SUMMARY), 0);
	CHECK_EQUAL(c, "interrupts", conf_interrupts_now(c, d, 0), 0);
}

TEST("enabling a pending event sends its interrupt")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	setup(c, d, &s);
	conf_arm_wait(c, &s, 1);
	enable(&s);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, d, 0), 1);
}

/* ARM, two tiles and the completion are one interrupt until PENDING is cleared. */
TEST("an event interrupts once until it is cleared")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	setup(c, d, &s);
	enable(&s);
	conf_arm_wait(c, &s, 1);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, d, 0), 1);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "interrupts while PENDING is set", conf_interrupts_now(c, d, 0), 0);
	clear(&s);
	CHECK(c, !pending(&s), "PENDING is set after it was cleared");
	conf_release(&s, 1);
	CHECK_EQUAL(c, "interrupts after PENDING was cleared", conf_interrupts(c, d, 0), 1);
}

TEST("two spaces interrupt on their own")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space a, b;

	setup(c, d, &a);
	setup(c, d, &b);
	enable(&a);
	enable(&b);
	conf_arm_wait(c, &a, 1);
	CHECK_EQUAL(c, "interrupts of the first", conf_interrupts(c, d, 0), 1);
	conf_arm_wait(c, &b, 1);
	CHECK_EQUAL(c, "interrupts of the second", conf_interrupts(c, d, 0), 1);
	clear(&a);
	CHECK(c, !pending(&a) && pending(&b), "clearing one bit changed the other");
}

/* Space ids at the ends of their words. */
TEST("the summary has the word of each space", .rows = 5)
{
	static const uint32_t ids[] = { 0, 31, 32, 63, 1023 };
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	d->spaces_used = ids[row];
	setup(c, d, &s);
	CHECK_EQUAL(c, "EVENT_SUMMARY of nothing", conf_reg(d, T3_REG_EVENT_SUMMARY), 0);
	enable(&s);
	conf_arm_wait(c, &s, 1);
	CHECK_EQUAL(c, "PENDING", conf_reg(d, T3_REG_SPACE_PENDING + 4 * (ids[row] / 32)),
		    1u << ids[row] % 32);
	CHECK_EQUAL(c, "EVENT_SUMMARY", conf_reg(d, T3_REG_EVENT_SUMMARY), 1u << ids[row] / 32);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, d, 0), 1);
	clear(&s);
	CHECK_EQUAL(c, "EVENT_SUMMARY after it was cleared", conf_reg(d, T3_REG_EVENT_SUMMARY), 0);
}

/* A segment word raises the interrupt, too, and not only the space's state. */
TEST("a segment word interrupts, too")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_seg_map second;
	struct conf_space s;

	conf_space_simple(c, d, &s);
	second = conf_segment(&s, 1);
	second.offset = 1024;
	second.counter_base = 8;
	conf_map(c, &s, &second);
	conf_arm_wait(c, &s, 1);
	clear(&s);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 0);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	CHECK(c, pending(&s), "PENDING is not set");
}

TEST("an error interrupts at its vector", .rows = T3_MAX_VECTORS)
{
	struct conf_device *d = conf_device(c, 0);

	conf_reg_write(d, T3_REG_ERROR_VECTOR, row);
	conf_read(d->regs, T3_REG_ID, 1);
	CHECK_EQUAL(c, "interrupts of a disabled error", conf_interrupts_now(c, d, row), 0);
	conf_guest_error(d);
	conf_reg_write(d, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
	conf_read(d->regs, T3_REG_ID, 1);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, d, row), 1);
	conf_read(d->regs, T3_REG_ID, 1);
	CHECK_EQUAL(c, "interrupts while the bit is 1", conf_interrupts_now(c, d, row), 0);
	conf_guest_error(d);
	conf_read(d->regs, T3_REG_ID, 1);
	CHECK_EQUAL(c, "interrupts after it was cleared", conf_interrupts(c, d, row), 1);
	CHECK_EQUAL(c, "INTERRUPTS", conf_counter(d, T3_COUNTER_INTERRUPTS), 2);
}

TEST("one vector serves events and errors")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_vectors(c, d, 1);
	setup(c, d, &s);
	enable(&s);
	conf_reg_write(d, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
	conf_arm_wait(c, &s, 1);
	CHECK_EQUAL(c, "interrupts of an event", conf_interrupts(c, d, 0), 1);
	conf_read(d->regs, T3_REG_ID, 1);
	CHECK_EQUAL(c, "interrupts of an error", conf_interrupts(c, d, 0), 1);
}

TEST("the counter of interrupts counts them")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	setup(c, d, &s);
	CHECK_EQUAL(c, "INTERRUPTS at first", conf_counter(d, T3_COUNTER_INTERRUPTS), 0);
	enable(&s);
	conf_arm_wait(c, &s, 1);
	CHECK_EQUAL(c, "interrupts", conf_interrupts(c, d, 0), 1);
	CHECK_EQUAL(c, "INTERRUPTS", conf_counter(d, T3_COUNTER_INTERRUPTS), 1);
}

/* Interrupts are counted where PENDING and ENABLE both become 1, and only there. */
TEST("an interrupt is sent when a bit becomes pending and enabled")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	d->spaces_used = 2;
	conf_reg_write(d, T3_REG_EVENT_VECTOR, 1);
	conf_reg_write(d, T3_REG_SPACE_ENABLE + 4, 1u << 3);
	conf_space_create(c, d, &s, T3_PAGE_SIZE, 1);
	CHECK_EQUAL(c, "PENDING", conf_reg(d, T3_REG_SPACE_PENDING), 1u << 2);
	CHECK_EQUAL(c, "EVENT_SUMMARY", conf_reg(d, T3_REG_EVENT_SUMMARY), 0);
	CHECK_EQUAL(c, "while another word is enabled", conf_interrupts_now(c, d, 1), 0);
	conf_reg_write(d, T3_REG_SPACE_ENABLE, 1u << 2);
	CHECK_EQUAL(c, "at ENABLE", conf_interrupts(c, d, 1), 1);
	CHECK_EQUAL(c, "EVENT_SUMMARY", conf_reg(d, T3_REG_EVENT_SUMMARY), 1);
	conf_reg_write(d, T3_REG_SPACE_ENABLE, 1u << 2 | 1u << 9);
	conf_arm(&s, 1);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "of what is pending already", conf_interrupts_now(c, d, 1), 0);
	conf_reg_write(d, T3_REG_SPACE_PENDING, ~(1u << 2));
	CHECK_EQUAL(c, "PENDING, not cleared", conf_reg(d, T3_REG_SPACE_PENDING), 1u << 2);
	clear(&s);
	CHECK_EQUAL(c, "PENDING, cleared", conf_reg(d, T3_REG_SPACE_PENDING), 0);
	CHECK_EQUAL(c, "EVENT_SUMMARY", conf_reg(d, T3_REG_EVENT_SUMMARY), 0);
	conf_release(&s, 1);
	CHECK_EQUAL(c, "of the next event", conf_interrupts(c, d, 1), 1);
	conf_reg_write(d, T3_REG_SPACE_ENABLE, 0);
	CHECK_EQUAL(c, "EVENT_SUMMARY", conf_reg(d, T3_REG_EVENT_SUMMARY), 0);
	conf_reg_write(d, T3_REG_SPACE_ENABLE, 0xffffffff);
	CHECK_EQUAL(c, "of ENABLE, off and on", conf_interrupts(c, d, 1), 1);
	CHECK_EQUAL(c, "INTERRUPTS", conf_counter(d, T3_COUNTER_INTERRUPTS), 3);
}
