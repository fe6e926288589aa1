// SPDX-License-Identifier: MIT
/* SPEC.md 1.1: the register table: offset, width, reset value and access type. */
#include <stdio.h>

#include "conf.h"
#include "run.h"

CONF_SECTION("1.1", "registers");

enum access { RO, RO64, RW, RW1C };

/* After a reset: `reset`, the value before it, or another one. */
enum after { FIXED, SAME, OTHER };

struct reg {
	const char *name;
	uint32_t offset;
	enum access access;
	enum after after;
	uint32_t reset;
	uint32_t mask; /* RW: bits that may be written without a guest error */
};

/* clang-format off */
static const struct reg regs[] = {
	{"ID",             T3_REG_ID,             RO,   FIXED, T3_ID_VALUE, 0},
	{"VERSION",        T3_REG_VERSION,        RO,   SAME,  0, 0},
	{"CAPS",           T3_REG_CAPS,           RO,   SAME,  0, 0},
	{"CONTROL",        T3_REG_CONTROL,        RW,   FIXED, 0, 0},
	{"MEMORY_SIZE",    T3_REG_MEMORY_SIZE,    RO64, SAME,  0, 0},
	{"APERTURE_SIZE",  T3_REG_APERTURE_SIZE,  RO64, SAME,  0, 0},
	{"MAX_SPACES",     T3_REG_MAX_SPACES,     RO,   FIXED, T3_MAX_SPACES, 0},
	{"MAX_SEGMENTS",   T3_REG_MAX_SEGMENTS,   RO,   FIXED, T3_MAX_SEGMENTS, 0},
	{"FABRIC_ID",      T3_REG_FABRIC_ID,      RO64, SAME,  0, 0},
	{"RANK",           T3_REG_RANK,           RO,   SAME,  0, 0},
	{"RANKS",          T3_REG_RANKS,          RO,   SAME,  0, 0},
	{"TOPOLOGY",       T3_REG_TOPOLOGY,       RO,   SAME,  0, 0},
	{"TRACKER",        T3_REG_TRACKER,        RO,   SAME,  0, 0},
	{"VCLOCK",         T3_REG_VCLOCK,         RO64, OTHER, 0, 0},
	{"INCARNATION",    T3_REG_INCARNATION,    RO,   OTHER, 0, 0},
	{"NODE_RANKS",     T3_REG_NODE_RANKS,     RO,   SAME,  0, 0},
	{"ERROR_STATUS",   T3_REG_ERROR_STATUS,   RW1C, FIXED, 0, 0},
	{"ERROR_ENABLE",   T3_REG_ERROR_ENABLE,   RW,   FIXED, 0, T3_ERROR_ALL},
	{"EVENT_VECTOR",   T3_REG_EVENT_VECTOR,   RW,   FIXED, 0, 3},
	{"ERROR_VECTOR",   T3_REG_ERROR_VECTOR,   RW,   FIXED, 0, 3},
	{"EVENT_SUMMARY",  T3_REG_EVENT_SUMMARY,  RO,   FIXED, 0, 0},
	{"QUEUE_VECTOR",   T3_REG_QUEUE_VECTOR,   RW,   FIXED, 0, 3},
	{"QUEUE_PENDING_FIRST", T3_REG_QUEUE_PENDING, RW1C, FIXED, 0, 0},
	{"QUEUE_PENDING_LAST", T3_REG_QUEUE_PENDING + 4, RW1C, FIXED, 0, 0},
	{"QUEUE_ENABLE_FIRST", T3_REG_QUEUE_ENABLE, RW, FIXED, 0, 0xffffffff},
	{"QUEUE_ENABLE_LAST", T3_REG_QUEUE_ENABLE + 4, RW, FIXED, 0, 0xffffffff},
	{"MAX_QUEUES",     T3_REG_MAX_QUEUES,     RO,   FIXED, T3_MAX_QUEUES, 0},
	{"MAX_FENCES",     T3_REG_MAX_FENCES,     RO,   FIXED, T3_MAX_FENCES, 0},
	{"DMA_ADDRESS",    T3_REG_DMA_ADDRESS,    RO64, FIXED, 0, 0},
	{"POISON_ADDRESS", T3_REG_POISON_ADDRESS, RO64, FIXED, 0, 0},
	{"PENDING_FIRST",  T3_REG_SPACE_PENDING,  RW1C, FIXED, 0, 0},
	{"PENDING_LAST",   T3_REG_SPACE_PENDING + 124, RW1C, FIXED, 0, 0},
	{"ENABLE_FIRST",   T3_REG_SPACE_ENABLE,   RW,   FIXED, 0, 0xffffffff},
	{"ENABLE_LAST",    T3_REG_SPACE_ENABLE + 124,  RW, FIXED, 0, 0xffffffff},
	{"ADMIN_STATUS",   T3_REG_ADMIN_STATUS,   RO,   FIXED, 0, 0},
	{"MAILBOX_FIRST",  T3_REG_MAILBOX,        RW,   FIXED, 0, 0xffffffff},
	{"MAILBOX_LAST",   T3_REG_MAILBOX + T3_MAILBOX_SIZE - 4, RW, FIXED, 0, 0xffffffff},
	{"COUNTERS_FIRST", T3_REG_COUNTERS,       RO64, FIXED, 0, 0},
	{"COUNTERS_LAST",  T3_REG_COUNTERS + 8 * (T3_COUNTER_COUNT - 1), RO64, FIXED, 0, 0},
	{"FENCE_FIRST",    T3_REG_FENCE,          RO64, FIXED, 0, 0},
	{"FENCE_LAST",     T3_REG_FENCE + 8 * (T3_MAX_FENCES - 1), RO64, FIXED, 0, 0},
	/* The queues are FREE, so their tails ignore writes. */
	{"QUEUE_TAIL_FIRST", T3_REG_QUEUE_TAIL,   RO,   FIXED, 0, 0},
	{"QUEUE_TAIL_LAST", T3_REG_QUEUE_TAIL + 4 * (T3_MAX_QUEUES - 1), RO, FIXED, 0, 0},
	{"QUEUE_HEAD_FIRST", T3_REG_QUEUE_HEAD,   RO,   FIXED, 0, 0},
	{"QUEUE_HEAD_LAST", T3_REG_QUEUE_HEAD + 4 * (T3_MAX_QUEUES - 1), RO, FIXED, 0, 0},
	{"QUEUE_STATE_FIRST", T3_REG_QUEUE_STATE, RO,   FIXED, 0, 0},
	{"QUEUE_STATE_LAST", T3_REG_QUEUE_STATE + 4 * (T3_MAX_QUEUES - 1), RO, FIXED, 0, 0},
};

/* Offsets without a register of version 1.1. */
static const uint32_t reserved[] = {
	0x07c, 0x0c0, 0x0fc, 0x2fc, T3_REG_COUNTERS + 8 * T3_COUNTER_COUNT, 0x5fc, 0x7fc,
	T3_REG_END, 0x1ffc, 0xfffc, 0x20000, 0x3ffffc,
};

/* Widths other than 4 bytes and, at a 64-bit register, 8. */
static const struct {
	const char *name;
	uint32_t offset, bytes;
} widths[] = {
	{"byte-of-32",     T3_REG_ID, 1},
	{"half-of-32",     T3_REG_ID, 2},
	{"byte-of-64",     T3_REG_MEMORY_SIZE, 1},
	{"half-of-64",     T3_REG_MEMORY_SIZE, 2},
	{"8-of-32",        T3_REG_ID, 8},
	{"8-of-32-rw",     T3_REG_EVENT_VECTOR, 8},
	{"8-of-pending",   T3_REG_SPACE_PENDING, 8},
	{"8-of-enable",    T3_REG_SPACE_ENABLE, 8},
	{"8-of-queue-pending", T3_REG_QUEUE_PENDING, 8},
	{"8-of-queue-tail", T3_REG_QUEUE_TAIL, 8},
	{"byte-of-fence",  T3_REG_FENCE, 1},
	{"byte-of-mailbox", T3_REG_MAILBOX, 1},
	{"half-of-mailbox", T3_REG_MAILBOX, 2},
	{"byte-of-rw",     T3_REG_ERROR_ENABLE, 1},
};
/* clang-format on */

static const char *reg_label(unsigned row)
{
	return regs[row].name;
}

/* Without CAPS.QUEUES these are reserved offsets. */
static void registers_needed(struct conf *c, struct conf_device *d, uint32_t offset)
{
	bool queues = (offset >= T3_REG_QUEUE_VECTOR && offset <= T3_REG_MAX_FENCES) ||
		      (offset >= T3_REG_FENCE && offset < T3_REG_END);

	if (queues && !(conf_reg(d, T3_REG_CAPS) & T3_CAP_QUEUES))
		conf_skip(c, "needs CAPS.QUEUES");
}

/* Make every register nonzero that can be, then reset the function. */
TEST("each register has its reset value", .rows = ARRAY_SIZE(regs), .label = reg_label)
{
	struct conf_device *d = conf_device(c, 0);
	const struct reg *reg = &regs[row];
	uint32_t before, after;

	registers_needed(c, d, reg->offset);
	if (reg->access == RW)
		conf_reg_write(d, reg->offset, reg->mask);
	conf_read(d->regs, T3_REG_ID, 1);
	before = conf_reg(d, reg->offset);
	if (reg->access == RW)
		CHECK_EQUAL(c, "before the reset", before, reg->mask);
	conf_reset(d);
	after = conf_reg(d, reg->offset);
	if (reg->after != OTHER)
		CHECK_EQUAL(c, reg->name, after, reg->after == FIXED ? reg->reset : before);
	CHECK(c, !conf_guest_error(d), "a read is a guest error");
}

static void check_read_only(struct conf *c, struct conf_device *d, const struct reg *reg)
{
	uint32_t before = conf_reg(d, reg->offset);

	conf_reg_write(d, reg->offset, ~before);
	CHECK_EQUAL(c, reg->name, conf_reg(d, reg->offset), before);
	CHECK(c, conf_guest_error(d), "a write is no guest error");
}

static void check_read_write(struct conf *c, struct conf_device *d, const struct reg *reg)
{
	static const uint32_t patterns[] = { 0xffffffff, 0x55555555, 0xaaaaaaaa,
					     0x00000001, 0x80000000, 0x00000000 };

	for (unsigned i = 0; i < ARRAY_SIZE(patterns); i++) {
		conf_reg_write(d, reg->offset, patterns[i] & reg->mask);
		CHECK_EQUAL(c, reg->name, conf_reg(d, reg->offset), patterns[i] & reg->mask);
	}
	CHECK(c, !conf_guest_error(d), "a write is a guest error");
}

/* RW1C: a bit that is 0 stays 0 for any write. */
static void check_clear(struct conf *c, struct conf_device *d, const struct reg *reg)
{
	conf_reg_write(d, reg->offset, 0xffffffff);
	CHECK_EQUAL(c, reg->name, conf_reg(d, reg->offset), 0);
}

TEST("each register has its access type", .rows = ARRAY_SIZE(regs), .label = reg_label)
{
	struct conf_device *d = conf_device(c, 0);
	const struct reg *reg = &regs[row];

	registers_needed(c, d, reg->offset);
	switch (reg->access) {
	case RO:
	case RO64:
		check_read_only(c, d, reg);
		break;
	case RW:
		check_read_write(c, d, reg);
		break;
	case RW1C:
		check_clear(c, d, reg);
		break;
	}
}

static const uint32_t wide[] = {
	T3_REG_MEMORY_SIZE, T3_REG_APERTURE_SIZE,  T3_REG_FABRIC_ID,
	T3_REG_VCLOCK,	    T3_REG_COUNTERS,	   T3_REG_COUNTERS + 8 * (T3_COUNTER_COUNT - 1),
	T3_REG_DMA_ADDRESS, T3_REG_POISON_ADDRESS, T3_REG_FENCE + 8 * (T3_MAX_FENCES - 1),
};

static const char *offset_label(uint32_t offset)
{
	static char text[16];

	snprintf(text, sizeof(text), "0x%x", offset);
	return text;
}

static const char *wide_label(unsigned row)
{
	return offset_label(wide[row]);
}

TEST("registers of 64 bits have two halves", .rows = ARRAY_SIZE(wide), .label = wide_label)
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t offset = wide[row];

	registers_needed(c, d, offset);
	CHECK_EQUAL(c, "the value in two halves",
		    conf_reg(d, offset) | (uint64_t)conf_reg(d, offset + 4) << 32,
		    conf_reg64(d, offset));
	CHECK(c, !conf_guest_error(d), "a read is a guest error");
	conf_write(d->regs, offset, 8, ~0ull);
	CHECK(c, conf_guest_error(d), "a write is no guest error");
}

static const char *width_label(unsigned row)
{
	return widths[row].name;
}

TEST("an illegal width reads zero and is an error", .rows = ARRAY_SIZE(widths),
     .label = width_label)
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t before = conf_reg(d, widths[row].offset & ~3u);

	registers_needed(c, d, widths[row].offset);
	CHECK_EQUAL(c, "what is read", conf_read(d->regs, widths[row].offset, widths[row].bytes),
		    0);
	CHECK(c, conf_guest_error(d), "a read is no guest error");
	conf_write(d->regs, widths[row].offset, widths[row].bytes, 0x0101010101010101);
	CHECK(c, conf_guest_error(d), "a write is no guest error");
	CHECK_EQUAL(c, "the register", conf_reg(d, widths[row].offset & ~3u), before);
}

static const char *reserved_label(unsigned row)
{
	return offset_label(reserved[row]);
}

TEST("a reserved offset reads zero and is an error", .rows = ARRAY_SIZE(reserved),
     .label = reserved_label)
{
	struct conf_device *d = conf_device(c, 0);

	CHECK_EQUAL(c, "what is read", conf_reg(d, reserved[row]), 0);
	CHECK(c, conf_guest_error(d), "a read is no guest error");
	conf_reg_write(d, reserved[row], 0xffffffff);
	CHECK(c, conf_guest_error(d), "a write is no guest error");
	CHECK_EQUAL(c, "what is read after a write", conf_reg(d, reserved[row]), 0);
}

TEST("a vector beyond the last is an error", .rows = 6)
{
	struct conf_device *d = conf_device(c, 0);
	static const uint32_t vectors[] = { T3_REG_EVENT_VECTOR, T3_REG_ERROR_VECTOR,
					    T3_REG_QUEUE_VECTOR };
	uint32_t offset = vectors[row % 3];
	uint32_t value = row < 3 ? T3_MAX_VECTORS : 0xffffffff;

	registers_needed(c, d, offset);
	conf_reg_write(d, offset, 2);
	conf_reg_write(d, offset, value);
	CHECK(c, conf_guest_error(d), "vector 0x%x is no guest error", value);
	CHECK_EQUAL(c, "the vector", conf_reg(d, offset), 2);
}

TEST("the mailbox keeps what is written")
{
	struct conf_device *d = conf_device(c, 0);

	for (uint32_t i = 0; i < T3_MAILBOX_SIZE; i += 4)
		conf_reg_write(d, T3_REG_MAILBOX + i, 0x01010101 * i + i);
	for (uint32_t i = 0; i < T3_MAILBOX_SIZE; i += 4)
		CHECK_EQUAL(c, "word", conf_reg(d, T3_REG_MAILBOX + i), 0x01010101 * i + i);
	conf_write(d->regs, T3_REG_MAILBOX + 8, 8, 0x1122334455667788);
	CHECK_EQUAL(c, "low half", conf_reg(d, T3_REG_MAILBOX + 8), 0x55667788);
	CHECK_EQUAL(c, "high half", conf_reg(d, T3_REG_MAILBOX + 12), 0x11223344);
	CHECK_EQUAL(c, "both", conf_reg64(d, T3_REG_MAILBOX + 8), 0x1122334455667788);
	CHECK(c, !conf_guest_error(d), "the mailbox has guest errors");
}

TEST("facts of the device are in their ranges")
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t tracker = conf_reg(d, T3_REG_TRACKER);

	CHECK_EQUAL(c, "major version", conf_reg(d, T3_REG_VERSION) >> 16, T3_VERSION_VALUE >> 16);
	CHECK_EQUAL(c, "CAPS of version 1.0", conf_reg(d, T3_REG_CAPS) & 3,
		    T3_CAP_STAGING | T3_CAP_MINMAX);
	CHECK(c, d->fabric, "FABRIC_ID is 0");
	CHECK(c, d->ranks >= 1 && d->ranks <= T3_MAX_RANKS, "RANKS is %u", d->ranks);
	CHECK(c, d->rank < d->ranks, "RANK is %u of %u", d->rank, d->ranks);
	CHECK(c, d->topology <= T3_TOPOLOGY_SWITCH, "TOPOLOGY is %u", d->topology);
	CHECK(c, d->topology || d->ranks == 1, "%u ranks without a fabric", d->ranks);
	CHECK(c, tracker >> 8 >= 1 && tracker >> 8 <= 65536, "%u tracker entries", tracker >> 8);
	CHECK(c, (tracker & 0xff) >= 1 && (tracker & 0xff) <= tracker >> 8, "%u tracker ways",
	      tracker & 0xff);
}

TEST("an error is cleared by its own bit")
{
	struct conf_device *d = conf_device(c, 0);

	conf_read(d->regs, T3_REG_ID, 1);
	CHECK_EQUAL(c, "ERROR_STATUS", conf_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_GUEST);
	conf_reg_write(d, T3_REG_ERROR_STATUS, T3_ERROR_HOST_DMA | T3_ERROR_LINK);
	CHECK_EQUAL(c, "with other bits written", conf_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_GUEST);
	conf_reg_write(d, T3_REG_ERROR_STATUS, T3_ERROR_GUEST);
	CHECK_EQUAL(c, "with its bit written", conf_reg(d, T3_REG_ERROR_STATUS), 0);
}
