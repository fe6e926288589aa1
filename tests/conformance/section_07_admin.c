// SPDX-License-Identifier: MIT
/* SPEC.md 7: the mailbox, and what SPACE_* commands refuse. */
#include "conf.h"
#include "run.h"

CONF_SECTION("7", "admin commands of spaces");

/* clang-format off */
#define C(field) CONF_FIELD(t3_cmd_space_create, field)

/* One field of a good SPACE_CREATE of space 1; space 0 has the aperture's first two pages. */
static const struct conf_change creates[] = {
	{"good",                 C(client), 0, T3_ADMIN_OK},
	{"last-client",          C(client), T3_MAX_CLIENTS - 1, T3_ADMIN_OK},
	{"space-1024",           C(space), T3_MAX_SPACES, T3_ADMIN_BAD_SPACE},
	{"space-max",            C(space), 0xffffffff, T3_ADMIN_BAD_SPACE},
	{"space-in-use",         C(space), 0, T3_ADMIN_EXISTS},
	{"client",               C(client), T3_MAX_CLIENTS, T3_ADMIN_BAD_VALUE},
	{"size-0",               C(size), 0, T3_ADMIN_BAD_RANGE},
	{"size-unaligned",       C(size), 2048, T3_ADMIN_BAD_RANGE},
	{"size-one-more",        C(size), T3_PAGE_SIZE + 1, T3_ADMIN_BAD_RANGE},
	{"size-too-large",       C(size), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"size-wraps",           C(size), ~0xfffull, T3_ADMIN_BAD_RANGE},
	{"aperture-in-use",      C(aperture_offset), 0, T3_ADMIN_EXISTS},
	{"aperture-in-use-end",  C(aperture_offset), T3_PAGE_SIZE, T3_ADMIN_EXISTS},
	{"aperture-unaligned",   C(aperture_offset), 2 * T3_PAGE_SIZE + 8, T3_ADMIN_BAD_RANGE},
	{"aperture-half-a-page", C(aperture_offset), 2 * T3_PAGE_SIZE + 2048, T3_ADMIN_BAD_RANGE},
	{"aperture-outside",     C(aperture_offset), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"aperture-wraps",       C(aperture_offset), ~0xfffull, T3_ADMIN_BAD_RANGE},
	{"buffer-unaligned",     C(buffer), 16, T3_ADMIN_BAD_RANGE},
	{"buffer-outside",       C(buffer), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"buffer-wraps",         C(buffer), ~0xfffull, T3_ADMIN_BAD_RANGE},
	{"counters-unaligned",   C(counters), 8, T3_ADMIN_BAD_RANGE},
	{"counters-outside",     C(counters), 1ull << 52, T3_ADMIN_BAD_RANGE},
	{"counters-wrap",        C(counters), ~0xfull, T3_ADMIN_BAD_RANGE},
	{"counter-count-0",      C(counter_count), 0, T3_ADMIN_BAD_RANGE},
	{"counter-count-wraps",  C(counter_count), 0x10000000, T3_ADMIN_BAD_RANGE}, /* * 16 is 2^32 */
	{"counter-count-max",    C(counter_count), 0xffffffff, T3_ADMIN_BAD_RANGE},
	{"event-area-unaligned", C(event_area), 64, T3_ADMIN_BAD_RANGE},
	{"event-area-at-8",      C(event_area), T3_PAGE_SIZE + 8, T3_ADMIN_BAD_RANGE},
};

static const uint32_t space_opcodes[] = {
	T3_CMD_SPACE_DISABLE, T3_CMD_SPACE_DESTROY, T3_CMD_SPACE_RESET, T3_CMD_SPACE_QUERY,
};
/* clang-format on */

static const uint32_t bad_opcodes[] = {
	0, T3_CMD_SWITCH_QUERY + 1, 255, 0x100, 0x10000, 0x80000001, 0xffffffff
};

static const char *create_label(unsigned row)
{
	return creates[row].name;
}

/* The space does not exist after a refusal: the good one then fits. */
TEST("each wrong value of a creation is refused", .rows = ARRAY_SIZE(creates),
     .label = create_label)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_space_create args;
	struct conf_space first, s;

	conf_space_create(c, d, &first, 2 * T3_PAGE_SIZE, 16);
	conf_space_prepare(c, d, &s, T3_PAGE_SIZE, 16);
	args = s.args;
	conf_change(&args, &creates[row]);
	conf_try(c, d, T3_CMD_SPACE_CREATE, &args, sizeof(args), creates[row].status);
	if (creates[row].status == T3_ADMIN_OK)
		return;
	CHECK_EQUAL(c, "event area", s.events->state, 0xa5a5a5a5a5a5a5a5);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s.args);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_IDLE, 0));
}

/* One page behind the last place that is valid. */
TEST("a creation over the end of memory is refused", .rows = 4)
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_space_prepare(c, d, &s, 2 * T3_PAGE_SIZE, 16);
	if (row == 0)
		s.args.aperture_offset = d->aperture_bytes - T3_PAGE_SIZE;
	else if (row == 1)
		s.args.buffer = d->memory_bytes - T3_PAGE_SIZE;
	else if (row == 2)
		s.args.counters = d->memory_bytes - 16;
	else
		s.args.size = d->aperture_bytes;
	s.args.aperture_offset += row == 3 ? T3_PAGE_SIZE : 0;
	conf_try(c, d, T3_CMD_SPACE_CREATE, &s.args, sizeof(s.args), T3_ADMIN_BAD_RANGE);
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

/* The results are ignored as arguments, the reserved word is not. */
TEST("the reserved word of a space command must be zero", .rows = ARRAY_SIZE(space_opcodes))
{
	struct t3_cmd_space args = { 0, 9, 9, 9, 9, 1 };
	struct conf_device *d = conf_device(c, 0);
	struct conf_space s;

	conf_space_simple(c, d, &s);
	args.space = s.args.space;
	if (space_opcodes[row] == T3_CMD_SPACE_DESTROY) {
		conf_space_command(c, &s, T3_CMD_SPACE_DISABLE);
		conf_wait_state(c, &s, T3_SPACE_QUIESCED, 0);
	}
	conf_try(c, d, space_opcodes[row], &args, sizeof(args), T3_ADMIN_BAD_VALUE);
	args.mbz = 0;
	conf_try(c, d, space_opcodes[row], &args, sizeof(args), T3_ADMIN_OK);
}

static const uint32_t all_opcodes[] = {
	T3_CMD_SPACE_DISABLE, T3_CMD_SPACE_DESTROY, T3_CMD_SPACE_RESET, T3_CMD_SPACE_QUERY,
	T3_CMD_SEG_MAP,	      T3_CMD_SEG_UNMAP,	    T3_CMD_SEG_STAGING, T3_CMD_SEG_STATS,
	T3_CMD_ROUTE_SET,     T3_CMD_ROUTE_CLEAR,   T3_CMD_IMPORT_SET,	T3_CMD_IMPORT_CLEAR,
};

/* Good arguments of each command about what conf_space_simple() has made. */
static size_t arguments(uint32_t opcode, const struct conf_space *s, uint32_t peer, void *args)
{
	const struct t3_cmd_seg_map map = conf_segment(s, 3);
	const struct t3_cmd_seg_staging staging = { .address = s->args.buffer, .slot_stride = 64 };
	const struct t3_cmd_route_set route = { .peer_rank = peer };
	const struct t3_cmd_import_set import = { .src_rank = peer,
						  .op_mask = 1,
						  .segment_mask = 1 };

	memset(args, 0, T3_MAILBOX_SIZE);
	switch (opcode) {
	case T3_CMD_SEG_MAP:
		memcpy(args, &map, sizeof(map));
		return sizeof(map);
	case T3_CMD_SEG_STAGING:
		memcpy(args, &staging, sizeof(staging));
		return sizeof(staging);
	case T3_CMD_SEG_STATS:
		return sizeof(struct t3_cmd_seg_stats);
	case T3_CMD_ROUTE_SET:
		memcpy(args, &route, sizeof(route));
		return sizeof(route);
	case T3_CMD_IMPORT_SET:
		memcpy(args, &import, sizeof(import));
		return sizeof(import);
	case T3_CMD_SEG_UNMAP:
	case T3_CMD_ROUTE_CLEAR:
	case T3_CMD_IMPORT_CLEAR:
		return sizeof(struct t3_cmd_index);
	default:
		return sizeof(struct t3_cmd_space);
	}
}

/* Two numbers that are none, and a space that is FREE. QUERY tells that. */
TEST("commands to no space are refused", .rows = ARRAY_SIZE(all_opcodes), .devices = 2)
{
	static const uint32_t ids[] = { T3_MAX_SPACES, 0xffffffff, 9 };
	uint32_t opcode = all_opcodes[row];
	uint8_t args[T3_MAILBOX_SIZE];
	struct conf_space s;
	size_t bytes;

	conf_space_simple(c, conf_device(c, 0), &s);
	bytes = arguments(opcode, &s, conf_device(c, 1)->rank, args);
	for (unsigned i = 0; i < ARRAY_SIZE(ids); i++) {
		if (opcode == T3_CMD_SPACE_QUERY && ids[i] < T3_MAX_SPACES)
			continue;
		conf_replace(args, 0, 4, ids[i]);
		conf_try(c, s.dev, opcode, args, bytes, T3_ADMIN_BAD_SPACE);
	}
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

	conf_try(c, d, bad_opcodes[row], &args, sizeof(args), T3_ADMIN_BAD_OPCODE);
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

/* RESET clears counts, faults and statistics of the epoch. LOCAL segments and their staging stay. */
TEST("a reset clears the epoch and keeps segments")
{
	struct t3_cmd_seg_stats stats;
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_stage(c, &s, 0, 2048, 64, 1);
	conf_memory_fill(s.dev, s.args.buffer + 2048, 64, 0);
	conf_arm_wait(c, &s, 1);
	for (unsigned i = 0; i < 40; i += 8)
		conf_store(&s, i, 8, 1);
	conf_store(&s, 0, 8, 1);
	conf_wait_fault(c, &s, T3_FAULT_OVERSHOOT);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	conf_wait_state(c, &s, T3_SPACE_IDLE, 0);
	stats = conf_stats(c, &s, 0);
	CHECK_EQUAL(c, "stores", stats.stores, 0);
	CHECK_EQUAL(c, "triggers", stats.triggers, 0);
	CHECK_EQUAL(c, "TRACKER_LIVE", conf_counter(s.dev, T3_COUNTER_TRACKER_LIVE), 0);
	conf_arm_wait(c, &s, 1); /* the same epoch: its old counts do not match */
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQUAL(c, "count of a record", conf_record(&s, i).count, 0);
	for (unsigned i = 0; i < 32; i += 8)
		conf_store(&s, i, 8, 1);
	conf_tile(&s, 0, 0, 1);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "from the identity", conf_load(&s, 0, 8), 1);
	CHECK_EQUAL(c, "from the slot", conf_load(&s, 32, 8), 0);
}

TEST("a reset removes routes, imports and sending segments", .devices = 2)
{
	struct t3_cmd_index index;
	struct t3_cmd_seg_map dma;
	struct conf_space s, peer;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_space_simple(c, conf_device(c, 1), &peer);
	conf_connect(c, &s, 0, &peer, 0);
	conf_connect(c, &peer, 0, &s, 0);
	dma = conf_segment(&s, 1);
	dma.offset = 1024;
	dma.counter_base = 8;
	dma.kind = T3_SEG_DMA;
	dma.target_op = T3_OP_ADD;
	dma.routes = 1;
	conf_map(c, &s, &dma);
	conf_space_command(c, &s, T3_CMD_SPACE_RESET);
	index = (struct t3_cmd_index){ .space = s.args.space };
	conf_try(c, s.dev, T3_CMD_ROUTE_CLEAR, &index, sizeof(index), T3_ADMIN_BAD_INDEX);
	conf_try(c, s.dev, T3_CMD_IMPORT_CLEAR, &index, sizeof(index), T3_ADMIN_BAD_INDEX);
	conf_try(c, s.dev, T3_CMD_SEG_UNMAP, &index, sizeof(index), T3_ADMIN_OK);
	index.index = 1;
	conf_try(c, s.dev, T3_CMD_SEG_UNMAP, &index, sizeof(index), T3_ADMIN_BAD_INDEX);
}

/* SEG_MAP over the records of an earlier segment starts from zero. */
TEST("mapping over old records clears their counts")
{
	struct t3_cmd_seg_map map;
	struct t3_cmd_index unmap;
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	map = conf_segment(&s, 0);
	unmap = (struct t3_cmd_index){ .space = s.args.space };
	for (uint32_t round = 0; round < 2; round++) {
		conf_arm_wait(c, &s, 1);
		for (unsigned i = 0; i < 64; i += 8)
			conf_store(&s, i, 8, 1 + round);
		conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
		CHECK_EQUAL(c, "element", conf_load(&s, 0, 4), 1 + round);
		conf_release(&s, 1);
		ADMIN(c, s.dev, T3_CMD_SEG_UNMAP, &unmap);
		conf_space_command(c, &s, T3_CMD_SPACE_RESET);
		conf_map(c, &s, &map);
	}
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
