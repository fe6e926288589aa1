// SPDX-License-Identifier: MIT
/* SPEC.md 7: the mailbox, and what SPACE_* commands refuse. */
#include "conf.h"
#include "run.h"

CONF_SECTION("7", "admin commands of spaces");

/* clang-format off */
/* One field of a good SPACE_CREATE replaced. */
static const struct {
	const char *name;
	size_t offset, bytes;
	uint64_t value;
	uint32_t status;
} creates[] = {
#define FIELD(field) offsetof(struct t3_cmd_space_create, field), \
	sizeof(((struct t3_cmd_space_create *)0)->field)
	{"good",                 FIELD(client), 0, T3_ADMIN_OK},
	{"space-1024",           FIELD(space), T3_MAX_SPACES, T3_ADMIN_BAD_SPACE},
	{"space-max",            FIELD(space), 0xffffffff, T3_ADMIN_BAD_SPACE},
	{"client",               FIELD(client), T3_MAX_CLIENTS, T3_ADMIN_BAD_VALUE},
	{"size-0",               FIELD(size), 0, T3_ADMIN_BAD_RANGE},
	{"size-unaligned",       FIELD(size), 2048, T3_ADMIN_BAD_RANGE},
	{"size-too-large",       FIELD(size), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"size-wraps",           FIELD(size), ~0xfffull, T3_ADMIN_BAD_RANGE},
	{"aperture-unaligned",   FIELD(aperture_offset), 8, T3_ADMIN_BAD_RANGE},
	{"aperture-outside",     FIELD(aperture_offset), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"aperture-wraps",       FIELD(aperture_offset), ~0xfffull, T3_ADMIN_BAD_RANGE},
	{"buffer-unaligned",     FIELD(buffer), 16, T3_ADMIN_BAD_RANGE},
	{"buffer-outside",       FIELD(buffer), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"buffer-wraps",         FIELD(buffer), ~0xfffull, T3_ADMIN_BAD_RANGE},
	{"counters-unaligned",   FIELD(counters), 8, T3_ADMIN_BAD_RANGE},
	{"counters-outside",     FIELD(counters), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"counters-wrap",        FIELD(counters), ~0xfull, T3_ADMIN_BAD_RANGE},
	{"counter-count-0",      FIELD(counter_count), 0, T3_ADMIN_BAD_RANGE},
	{"counter-count-max",    FIELD(counter_count), 0xffffffff, T3_ADMIN_BAD_RANGE},
	{"event-area-unaligned", FIELD(event_area), 64, T3_ADMIN_BAD_RANGE},
#undef FIELD
};

static const uint32_t space_opcodes[] = {
	T3_CMD_SPACE_DISABLE, T3_CMD_SPACE_DESTROY, T3_CMD_SPACE_RESET, T3_CMD_SPACE_QUERY,
};
/* clang-format on */

static const uint32_t bad_opcodes[] = { 0, 255, 0x10000, 0x80000001, 0xffffffff };

static const char *create_label(unsigned row)
{
	return creates[row].name;
}

TEST("each wrong value of a creation is refused", .rows = ARRAY_SIZE(creates),
     .label = create_label)
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_space_prepare(c, d, &s, T3_PAGE_SIZE, 16);
	if (creates[row].bytes == 4)
		*(uint32_t *)((uint8_t *)&s.args + creates[row].offset) =
			(uint32_t)creates[row].value;
	else
		*(uint64_t *)((uint8_t *)&s.args + creates[row].offset) = creates[row].value;
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(d, T3_CMD_SPACE_CREATE, &s.args, sizeof(s.args)),
		    creates[row].status);
	CHECK_EQUAL(c, "guest error", conf_guest_error(d), creates[row].status != T3_ADMIN_OK);
	if (creates[row].status != T3_ADMIN_OK)
		CHECK_EQUAL(c, "event area", s.events->state, 0xa5a5a5a5a5a5a5a5);
}

/* The last pages of the aperture and of device memory are valid, like the first. */
TEST("the last pages of memory are valid")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_space_prepare(c, d, &s, T3_PAGE_SIZE, 16);
	s.args.space = T3_MAX_SPACES - 1;
	s.args.aperture_offset = d->aperture_bytes - T3_PAGE_SIZE;
	s.args.buffer = d->memory_bytes - 2 * T3_PAGE_SIZE;
	s.args.counters = d->memory_bytes - 16;
	s.args.counter_count = 1;
	conf_memory_fill(d, s.args.counters, 16, 0);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_IDLE, 0));
}

/* Aperture ranges that share a page; side by side is no overlap. */
TEST("apertures do not overlap", .rows = 6)
{
	static const struct {
		uint64_t offset, size;
		uint32_t status;
	} cases[] = {
		{ 0, 2, T3_ADMIN_OK },	   { 0, 3, T3_ADMIN_EXISTS }, { 2, 2, T3_ADMIN_EXISTS },
		{ 3, 1, T3_ADMIN_EXISTS }, { 0, 8, T3_ADMIN_EXISTS }, { 4, 1, T3_ADMIN_OK },
	};
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s, other;

	conf_space_prepare(c, d, &s, 2 * T3_PAGE_SIZE, 1);
	s.args.aperture_offset = 2 * T3_PAGE_SIZE;
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	conf_space_prepare(c, d, &other, cases[row].size * T3_PAGE_SIZE, 1);
	other.args.aperture_offset = cases[row].offset * T3_PAGE_SIZE;
	CHECK_EQUAL(c, "ADMIN_STATUS",
		    conf_admin(d, T3_CMD_SPACE_CREATE, &other.args, sizeof(other.args)),
		    cases[row].status);
}

TEST("space commands are refused in the wrong state", .rows = ARRAY_SIZE(space_opcodes))
{
	static const uint32_t ids[] = { T3_MAX_SPACES, 0xffffffff, 5 };
	struct conf_device *d = conf_device(c, 0);
	uint32_t opcode = space_opcodes[row];
	struct t3_cmd_space args;
	struct conf_space s;
	uint64_t before;

	conf_space_simple(c, d, &s);
	for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
		args = (struct t3_cmd_space){ .space = ids[i] };
		if (opcode == T3_CMD_SPACE_QUERY && ids[i] < T3_MAX_SPACES)
			continue; /* allowed in FREE too */
		CHECK_EQUAL(c, "status of no space", conf_admin(d, opcode, &args, sizeof(args)),
			    T3_ADMIN_BAD_SPACE);
		CHECK(c, conf_guest_error(d), "no space is no guest error");
	}
	if (opcode == T3_CMD_SPACE_DESTROY)
		conf_space_command(c, &s, T3_CMD_SPACE_DISABLE);
	before = s.events->state;
	args = (struct t3_cmd_space){ .space = s.args.space, .mbz = 1 };
	CHECK_EQUAL(c, "status of mbz = 1", conf_admin(d, opcode, &args, sizeof(args)),
		    T3_ADMIN_BAD_VALUE);
	CHECK(c, conf_guest_error(d), "mbz = 1 is no guest error");
	CHECK_EQUAL(c, "state", s.events->state, before);
}

TEST("a query tells the state of a space")
{
	struct t3_cmd_space args;
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_arm_wait(c, &s, 77);
	args = (struct t3_cmd_space){
		.space = s.args.space, .generation = 9, .state = 9, .epoch = 9, .in_flight = 9
	};
	ADMIN(c, s.dev, T3_CMD_SPACE_QUERY, &args);
	CHECK_EQUAL(c, "state", args.state, T3_SPACE_ARMED);
	CHECK_EQUAL(c, "epoch", args.epoch, 77);
	CHECK_EQUAL(c, "generation", args.generation, s.events->generation);
	CHECK_EQUAL(c, "in_flight", args.in_flight, 0);
}

TEST("unknown opcodes are refused", .rows = ARRAY_SIZE(bad_opcodes))
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_space args = { 0 };

	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(d, bad_opcodes[row], &args, sizeof(args)),
		    T3_ADMIN_BAD_OPCODE);
	CHECK(c, conf_guest_error(d), "a refusal is no guest error");
}

/* ADMIN_STATUS is that of the last command, ADMIN_COMMAND its opcode. */
TEST("the status is that of the last command")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_space query = { 0 }, none = { .space = T3_MAX_SPACES };

	conf_admin(d, T3_CMD_SPACE_QUERY, &none, sizeof(none));
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_reg(d, T3_REG_ADMIN_STATUS), T3_ADMIN_BAD_SPACE);
	CHECK_EQUAL(c, "ADMIN_COMMAND", conf_reg(d, T3_REG_ADMIN_COMMAND), T3_CMD_SPACE_QUERY);
	conf_admin(d, T3_CMD_SPACE_QUERY, &query, sizeof(query));
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_reg(d, T3_REG_ADMIN_STATUS), T3_ADMIN_OK);
}

/* RESET clears counts, faults and statistics of the epoch. Segments stay. */
TEST("a reset clears the epoch and keeps segments")
{
	struct t3_cmd_seg_stats stats = { 0 };
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < 40; i += 8)
		conf_store(&s, i, 8, 1);
	conf_store(&s, 0, 8, 1);
	conf_wait_fault(c, &s, T3_FAULT_OVERSHOOT);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
	stats.space = s.args.space;
	ADMIN(c, s.dev, T3_CMD_SEG_STATS, &stats);
	CHECK_EQUAL(c, "stores", stats.stores, 0);
	CHECK_EQUAL(c, "triggers", stats.triggers, 0);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < 2 * 16; i += 8)
		CHECK_EQUAL(c, "counter record", conf_read(s.dev->memory, s.args.counters + i, 8),
			    0);
	for (unsigned i = 0; i < 64; i += 8)
		conf_store(&s, i, 8, 1);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
}

/* All ids at once, then the first of them again. */
TEST("all spaces exist at once")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_space_prepare(c, d, &s, T3_PAGE_SIZE, 1);
	for (uint32_t id = 0; id < T3_MAX_SPACES; id++) {
		s.args.space = id;
		s.args.aperture_offset = (uint64_t)id * T3_PAGE_SIZE;
		if (s.args.aperture_offset + T3_PAGE_SIZE > d->aperture_bytes)
			conf_skip(c, "the aperture has no room for %u spaces", T3_MAX_SPACES);
		ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	}
	s.args.space = 0;
	CHECK_EQUAL(c, "ADMIN_STATUS of one more",
		    conf_admin(d, T3_CMD_SPACE_CREATE, &s.args, sizeof(s.args)), T3_ADMIN_EXISTS);
}
