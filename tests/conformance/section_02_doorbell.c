// SPDX-License-Identifier: MIT
/* SPEC.md 2.1 epochs and generations, 2.2 the doorbell page. */
#include <stdio.h>

#include "conf.h"

CONF_SECTION("2.2", "doorbell page");

/* clang-format off */
/* Any store other than ARM W32, RELEASE W32, TILE W64, and any load but STATE R64. */
static const struct {
	const char *name;
	uint32_t offset, bytes;
	bool write;
} illegal[] = {
	{"write-1-ARM",      T3_DB_ARM,         1, true},
	{"write-2-ARM",      T3_DB_ARM,         2, true},
	{"write-8-ARM",      T3_DB_ARM,         8, true},
	{"write-4-ARM+4",    T3_DB_ARM + 4,     4, true},
	{"write-2-RELEASE",  T3_DB_RELEASE,     2, true},
	{"write-8-RELEASE",  T3_DB_RELEASE,     8, true},
	{"write-4-RELEASE+4", T3_DB_RELEASE + 4, 4, true},
	{"write-4-TILE",     T3_DB_TILE,        4, true},
	{"write-4-TILE+4",   T3_DB_TILE + 4,    4, true},
	{"write-1-TILE",     T3_DB_TILE,        1, true},
	{"write-8-STATE",    T3_DB_STATE,       8, true},
	{"write-4-STATE",    T3_DB_STATE,       4, true},
	{"write-8-beyond",   0x20,              8, true},
	{"write-4-end",      0xffc,             4, true},
	{"read-4-ARM",       T3_DB_ARM,         4, false},
	{"read-8-ARM",       T3_DB_ARM,         8, false},
	{"read-4-RELEASE",   T3_DB_RELEASE,     4, false},
	{"read-8-TILE",      T3_DB_TILE,        8, false},
	{"read-4-STATE",     T3_DB_STATE,       4, false},
	{"read-4-STATE+4",   T3_DB_STATE + 4,   4, false},
	{"read-1-STATE",     T3_DB_STATE,       1, false},
	{"read-8-beyond",    0x20,              8, false},
	{"read-8-end",       0xff8,             8, false},
};

static const struct {
	const char *name;
	uint64_t value;
	uint32_t segment, tile; /* of the fault */
} bad_tiles[] = {
	{"tile-too-high",       T3_DB_TILE_VALUE(0, 0, 2), 0, 2},
	{"tile-far-too-high",   T3_DB_TILE_VALUE(0, 0, 0xffffffffu), 0, 0xffffffff},
	{"slot-not-there",      T3_DB_TILE_VALUE(0, 1, 1), 0, 1},
	{"slot-4",              T3_DB_TILE_VALUE(0, T3_SEG_SLOTS, 1), 0, 1}, /* not slot 0 */
	{"slot-128",            T3_DB_TILE_VALUE(0, 128, 1), 0, 1},
	{"slot-255",            T3_DB_TILE_VALUE(0, 255, 0), 0, 0},
	{"segment-not-there",   T3_DB_TILE_VALUE(2, 0, 1), CONF_NO_SEGMENT, 1},
	{"segment-64",          T3_DB_TILE_VALUE(64, 0, 1), CONF_NO_SEGMENT, 1},
	{"segment-255",         T3_DB_TILE_VALUE(255, 0, 0), CONF_NO_SEGMENT, 0},
	{"no-staging",          T3_DB_TILE_VALUE(1, 0, 1), 1, 1},
	{"mbz-48",              1ull << 48, 0, 0},
	{"mbz-63",              1ull << 63, 0, 0},
};
/* clang-format on */

/* Segment 0 has one staging slot, segment 1 none. */
static void setup(struct conf *c, struct conf_space *s)
{
	struct t3_cmd_seg_staging staging = { .slot_stride = 64, .slots = 1 };
	struct t3_cmd_seg_map second;

	conf_space_simple(c, conf_device(c, 0), s);
	staging.space = s->args.space;
	staging.address = s->args.buffer + 2048;
	ADMIN(c, s->dev, T3_CMD_SEG_STAGING, &staging);
	second = conf_segment(s, 1);
	second.offset = 1024;
	second.counter_base = 8;
	conf_map(c, s, &second);
}

static const char *illegal_label(unsigned row)
{
	return illegal[row].name;
}

TEST("an illegal access of the doorbell page faults", .rows = ARRAY_SIZE(illegal),
     .label = illegal_label)
{
	volatile uint8_t *page;
	struct conf_space s;

	setup(c, &s);
	conf_arm_wait(c, &s, 5);
	page = conf_doorbell(&s);
	if (illegal[row].write)
		conf_write(page, illegal[row].offset, illegal[row].bytes, 0);
	else
		conf_read(page, illegal[row].offset, illegal[row].bytes);
	conf_expect_fault(c, &s, T3_FAULT_BAD_DOORBELL, CONF_NO_SEGMENT, CONF_NO_TILE,
			  CONF_NO_OFFSET);
}

static const char *bad_tile_label(unsigned row)
{
	static char text[40];

	snprintf(text, sizeof(text), "%s%s", bad_tiles[row % ARRAY_SIZE(bad_tiles)].name,
		 row < ARRAY_SIZE(bad_tiles) ? "" : "-in-IDLE");
	return text;
}

/* In ARMED, and in IDLE: the fields are looked at before the state. */
TEST("a doorbell for a wrong tile faults", .rows = 2 * ARRAY_SIZE(bad_tiles),
     .label = bad_tile_label)
{
	unsigned bad = row % ARRAY_SIZE(bad_tiles);
	struct conf_space s;

	setup(c, &s);
	if (row == bad)
		conf_arm_wait(c, &s, 1);
	conf_write(conf_doorbell(&s), T3_DB_TILE, 8, bad_tiles[bad].value);
	conf_expect_fault(c, &s, T3_FAULT_BAD_DOORBELL, bad_tiles[bad].segment, bad_tiles[bad].tile,
			  CONF_NO_OFFSET);
	CHECK_EQUAL(c, "DOORBELLS", conf_counter(s.dev, T3_COUNTER_DOORBELLS), 0);
}

/* ------------------------------------------------------------------- epochs */

static void complete(struct conf *c, struct conf_space *s, uint32_t epoch)
{
	conf_arm_wait(c, s, epoch);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(s, i, 8, 0);
	conf_wait_state(c, s, T3_SPACE_COMPLETE, epoch);
}

TEST("any epoch may be the first", .rows = 5)
{
	static const uint32_t epochs[] = { 1, 2, 0x7fffffff, 0x80000000, 0xffffffff };
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	complete(c, &s, epochs[row]);
}

TEST("epoch 0 cannot be armed", .rows = 2)
{
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	if (row)
		conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_arm(&s, 0);
	conf_wait_fault(c, &s, T3_FAULT_BAD_ARM);
}

TEST("epochs follow each other", .rows = 3)
{
	static const uint32_t firsts[] = { 1, 7, 0xfffffffd };
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	for (uint32_t epoch = firsts[row]; epoch - firsts[row] < 3; epoch++) {
		complete(c, &s, epoch);
		conf_release(&s, epoch);
		conf_wait_state(c, &s, T3_SPACE_IDLE, epoch);
	}
}

/* There is no epoch after the last one, until RESET. */
TEST("no epoch follows the last one", .rows = 3)
{
	static const uint32_t epochs[] = { 0, 1, 0xffffffff };
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	complete(c, &s, 0xffffffff);
	conf_release(&s, 0xffffffff);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0xffffffff);
	conf_arm(&s, epochs[row]);
	conf_wait_fault(c, &s, T3_FAULT_BAD_ARM);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	complete(c, &s, 1);
}

/* After epoch 5 all but 6 are refused. */
TEST("only the next epoch can be armed", .rows = 6)
{
	static const uint32_t epochs[] = { 0, 1, 4, 5, 7, 0xffffffff };
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	complete(c, &s, 5);
	conf_release(&s, 5);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 5);
	conf_arm(&s, epochs[row]);
	conf_wait_fault(c, &s, T3_FAULT_BAD_ARM);
}

TEST("another epoch cannot be released", .rows = 4)
{
	static const uint32_t epochs[] = { 0, 4, 6, 0xffffffff };
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	complete(c, &s, 5);
	conf_release(&s, epochs[row]);
	conf_wait_fault(c, &s, T3_FAULT_BAD_ARM);
}

TEST("any epoch may follow a reset")
{
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	complete(c, &s, 5);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
	complete(c, &s, 3);
}

TEST("a space without segments completes at once")
{
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 1);
	conf_arm(&s, 9);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 9);
}

TEST("each end of a space raises its generation")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;
	uint32_t first;

	conf_space_simple(c, d, &s);
	first = s.args.generation;
	CHECK(c, first, "a generation is 0");
	CHECK_EQUAL(c, "after RESET", conf_space_command(c, &s, T3_CMD_SPACE_RESET).generation,
		    first + 1);
	conf_space_command(c, &s, T3_CMD_SPACE_DISABLE);
	conf_wait_state(c, &s, T3_SPACE_QUIESCED, 0);
	conf_space_command(c, &s, T3_CMD_SPACE_DESTROY);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	CHECK_EQUAL(c, "after DESTROY", s.args.generation, first + 2);
	conf_reset(d);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	CHECK_EQUAL(c, "after a function reset", s.args.generation, first + 3);
	CHECK_EQUAL(c, "in the event area", s.events->generation, first + 3);
}

/* A function reset also increases the generation of a FREE slot. */
TEST("a reset raises the generation of a free slot")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;
	uint32_t first;

	conf_space_create(c, d, &s, T3_PAGE_SIZE, 1);
	first = s.args.generation;
	conf_reset(d);
	conf_reset(d);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	CHECK_EQUAL(c, "after two resets", s.args.generation, first + 2);
}
