// SPDX-License-Identifier: MIT
/* SPEC.md 2.3: layout of the event area and what is written when. */
#include "conf.h"
#include "run.h"

CONF_SECTION("2.3", "event area");

#define LAST_BYTE   (sizeof(((struct t3_event_area *)0)->reserved) - 1)
#define DONE(epoch) ((uint64_t)(epoch) | T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED)

static void check_fresh(struct conf *c, const struct conf_space *s, uint32_t generation)
{
	const volatile uint64_t *words = (const volatile uint64_t *)s->events;

	CHECK_EQUAL(c, "state", s->events->state, STATE(T3_SPACE_IDLE, 0));
	CHECK_EQUAL(c, "generation and faults", words[1], generation);
	for (unsigned i = 2; i < T3_PAGE_SIZE / 8; i++)
		CHECK(c, !words[i], "the word at %u is 0x%llx", 8 * i,
		      (unsigned long long)words[i]);
}

/* conf_page() has filled the page with another pattern. */
TEST("a creation writes the whole event area")
{
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 1);
	check_fresh(c, &s, s.args.generation);
}

TEST("a reset writes the whole event area")
{
	volatile uint64_t *words;
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_store(&s, 0, 4, 0);
	conf_wait_fault(c, &s, T3_FAULT_NOT_ARMED);
	words = (volatile uint64_t *)s.events;
	for (unsigned i = 0; i < T3_PAGE_SIZE / 8; i++)
		words[i] = ~0ull;
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
	check_fresh(c, &s, s.args.generation);
}

/* Words without an event are not written. */
TEST("only words with an event are written")
{
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	s.events->segment[1] = 0x1111;
	s.events->dropped = 0x2222;
	s.events->consumed[63][3] = 0x3333;
	s.events->reserved[LAST_BYTE] = 0x44;
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "segment[1]", s.events->segment[1], 0x1111);
	CHECK_EQUAL(c, "dropped", s.events->dropped, 0x2222);
	CHECK_EQUAL(c, "consumed[63][3]", s.events->consumed[63][3], 0x3333);
	CHECK_EQUAL(c, "the last byte", s.events->reserved[LAST_BYTE], 0x44);
}

/* Every segment word is where the layout says. */
TEST("each segment word is in its place", .rows = T3_SPACE_SEGMENTS)
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 2);
	segment = conf_segment(&s, row);
	conf_map(c, &s, &segment);
	conf_arm_wait(c, &s, 3);
	for (unsigned i = 0; i < 56; i += 8)
		conf_store(&s, i, 8, 0);
	CHECK(c, !(s.events->segment[row] & T3_SEG_WORD_TRACKED), "tracked before the last store");
	conf_store(&s, 56, 8, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 3);
	for (unsigned i = 0; i < T3_SPACE_SEGMENTS; i++)
		CHECK_EQUAL(c, "segment word", s.events->segment[i], i == row ? DONE(3) : 0);
}

/* The words of the last epoch stay until the next one makes progress. */
TEST("arming keeps the words of the last epoch")
{
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	conf_release(&s, 1);
	conf_arm_wait(c, &s, 2);
	CHECK_EQUAL(c, "segment word", s.events->segment[0], DONE(1));
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 2);
	CHECK_EQUAL(c, "segment word", s.events->segment[0], DONE(2));
}

/* When the state is COMPLETE, data and segment words have been written. */
TEST("data and words are written before COMPLETE")
{
	struct conf_deadline deadline = conf_deadline(c);
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	for (uint32_t epoch = 1; epoch <= 200; epoch++) {
		conf_arm_wait(c, &s, epoch);
		for (unsigned i = 0; i < 64; i += 4)
			conf_store(&s, i, 4, epoch);
		while (s.events->state != STATE(T3_SPACE_COMPLETE, epoch))
			CHECK(c, conf_pause(&deadline), "epoch %u does not complete", epoch);
		CHECK_EQUAL(c, "segment word", s.events->segment[0], DONE(epoch));
		CHECK_EQUAL(c, "last element", conf_buffer(&s, 60, 4), epoch);
		conf_release(&s, epoch);
	}
}

TEST("later faults are counted and dropped")
{
	struct t3_fault_record first, now;
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_arm_wait(c, &s, 4);
	conf_store(&s, 2048, 4, 0);
	first = conf_wait_fault(c, &s, T3_FAULT_UNMAPPED);
	CHECK_EQUAL(c, "faults", s.events->faults, 1);
	CHECK_EQUAL(c, "epoch in the state", (uint32_t)s.events->state, 4);
	for (unsigned i = 0; i < 3; i++)
		conf_store(&s, 8 * i, 8, 0);
	conf_wait_word(c, &s.events->dropped, 3, "dropped");
	now = conf_wait_fault(c, &s, T3_FAULT_UNMAPPED);
	CHECK_EQUAL(c, "offset of the first fault", now.offset, first.offset);
}
