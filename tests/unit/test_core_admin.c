/* SPDX-License-Identifier: MIT */
/*
 * Admin commands: each error of SPEC.md section 7, by one wrong value in valid arguments. A refused
 * command changes nothing.
 */
#include "host.h"
#include "test.h"

struct deviation {
	size_t offset;
	size_t size;
	uint64_t value;
	uint32_t status;
};

#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)
#define COUNT(array)	   (sizeof(array) / sizeof((array)[0]))

struct snapshot {
	uint8_t buffers[4 * HOST_SPACE_SIZE];
	uint8_t counters[HOST_COUNTER_BASE(4) - HOST_COUNTERS];
	uint8_t pages[4 * T3_PAGE_SIZE];
	uint64_t state[4];
	uint32_t generation[4];
};

static void take(struct snapshot *s, struct host_dev *d)
{
	uint32_t i;

	memcpy(s->buffers, d->memory, sizeof(s->buffers));
	memcpy(s->counters, d->memory + HOST_COUNTERS, sizeof(s->counters));
	memcpy(s->pages, d->pages, sizeof(s->pages));
	for (i = 0; i < 4; i++) {
		s->state[i] = host_doorbell_read(d, i, T3_DB_STATE, 8);
		s->generation[i] = host_query(d, i).generation;
	}
}

static struct snapshot before, after;

/* Memory, event areas and states have not changed, and there is one guest error. */
static void refused(struct host_dev *d, uint32_t opcode, const void *args, size_t size,
		    uint32_t status)
{
	uint8_t cmd[T3_MAILBOX_SIZE];

	memcpy(cmd, args, size);
	take(&before, d);
	d->guest_errors = 0;
	assert_int_equal(host_command(d, opcode, cmd, size), status);
	assert_int_equal(d->guest_errors, 1);
	assert_memory_equal(cmd, args, size); /* no results */
	assert_int_equal(host_reg(d, T3_REG_ADMIN_COMMAND), opcode);
	take(&after, d);
	assert_memory_equal(&before, &after, sizeof(before));
}

static void deviate(struct host_dev *d, uint32_t opcode, const void *good, size_t size,
		    const struct deviation *list, size_t count)
{
	uint8_t cmd[T3_MAILBOX_SIZE];
	size_t i;

	for (i = 0; i < count; i++) {
		memcpy(cmd, good, size);
		memcpy(cmd + list[i].offset, &list[i].value, list[i].size);
		refused(d, opcode, cmd, size, list[i].status);
	}
}

static void accepted(struct host_dev *d, uint32_t opcode, const void *good, size_t size)
{
	uint8_t cmd[T3_MAILBOX_SIZE];

	memcpy(cmd, good, size);
	assert_int_equal(host_command(d, opcode, cmd, size), T3_ADMIN_OK);
}

TEST("unknown opcodes are refused")
{
	static const uint32_t opcodes[] = { 0, 22, 26, 0x100, 0x80000001, 0xffffffff };
	struct host *host = host_ring(1);
	struct t3_cmd_space cmd = { .space = 0 };
	size_t i;

	for (i = 0; i < COUNT(opcodes); i++)
		refused(&host->dev[0], opcodes[i], &cmd, sizeof(cmd), T3_ADMIN_BAD_OPCODE);
	host_free(host);
}

#define C(field) FIELD(t3_cmd_space_create, field)

TEST("each wrong value of a creation is refused")
{
	static const struct deviation list[] = {
		{ C(space), 1024, T3_ADMIN_BAD_SPACE },
		{ C(space), 0xffffffff, T3_ADMIN_BAD_SPACE },
		{ C(client), T3_MAX_CLIENTS, T3_ADMIN_BAD_VALUE },
		{ C(space), 0, T3_ADMIN_EXISTS },
		{ C(aperture_offset), 0, T3_ADMIN_EXISTS },
		{ C(aperture_offset), HOST_SPACE_SIZE - T3_PAGE_SIZE, T3_ADMIN_EXISTS },
		{ C(aperture_offset), 0x10800, T3_ADMIN_BAD_RANGE },
		{ C(aperture_offset), HOST_APERTURE, T3_ADMIN_BAD_RANGE },
		{ C(aperture_offset), HOST_APERTURE - T3_PAGE_SIZE, T3_ADMIN_BAD_RANGE },
		{ C(aperture_offset), 0xfffffffffffff000ull, T3_ADMIN_BAD_RANGE },
		{ C(size), 0, T3_ADMIN_BAD_RANGE },
		{ C(size), 0x1001, T3_ADMIN_BAD_RANGE },
		{ C(size), HOST_APERTURE, T3_ADMIN_BAD_RANGE },
		{ C(size), 0xfffffffffffff000ull, T3_ADMIN_BAD_RANGE },
		{ C(buffer), 8, T3_ADMIN_BAD_RANGE },
		{ C(buffer), HOST_MEMORY, T3_ADMIN_BAD_RANGE },
		{ C(buffer), HOST_MEMORY - HOST_SPACE_SIZE + T3_PAGE_SIZE, T3_ADMIN_BAD_RANGE },
		{ C(buffer), 0xfffffffffffff000ull, T3_ADMIN_BAD_RANGE },
		{ C(counters), 8, T3_ADMIN_BAD_RANGE },
		{ C(counters), HOST_MEMORY - 16, T3_ADMIN_BAD_RANGE },
		{ C(counters), 0xfffffffffffffff0ull, T3_ADMIN_BAD_RANGE },
		{ C(counter_count), 0, T3_ADMIN_BAD_RANGE },
		{ C(counter_count), 0xffffffff, T3_ADMIN_BAD_RANGE },
		{ C(counter_count), 0x10000000, T3_ADMIN_BAD_RANGE }, /* * 16 is 2^32 */
		{ C(event_area), HOST_BUS + 8, T3_ADMIN_BAD_RANGE },
	};
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_space_create good = host_space_args(1);

	host_space(d, 0);
	deviate(d, T3_CMD_SPACE_CREATE, &good, sizeof(good), list, COUNT(list));
	accepted(d, T3_CMD_SPACE_CREATE, &good, sizeof(good));
	host_expect(d, 1, T3_SPACE_IDLE, 0);
	/* The very last bytes of each range are usable. */
	good = host_space_args(2);
	good.aperture_offset = HOST_APERTURE - good.size;
	good.buffer = HOST_MEMORY - good.size;
	good.counters = HOST_MEMORY - 16;
	good.counter_count = 1;
	accepted(d, T3_CMD_SPACE_CREATE, &good, sizeof(good));
	host_free(host);
}

/* The states that allow a command. FREE (bit 0) makes a refusal BAD_SPACE. */
struct rule {
	uint32_t opcode;
	uint32_t states;
};

#define S(x)	 (1u << T3_SPACE_##x)
#define LIVE	 (S(IDLE) | S(ARMING) | S(ARMED) | S(COMPLETE) | S(FAULTED))
#define EXISTING (LIVE | S(DISABLED) | S(QUIESCED))

static const struct rule rules[] = {
	{ T3_CMD_SPACE_DISABLE, EXISTING }, { T3_CMD_SPACE_DESTROY, S(QUIESCED) },
	{ T3_CMD_SPACE_RESET, LIVE },	    { T3_CMD_SPACE_QUERY, EXISTING | S(FREE) },
	{ T3_CMD_SEG_MAP, S(IDLE) },	    { T3_CMD_SEG_UNMAP, S(IDLE) },
	{ T3_CMD_SEG_STAGING, S(IDLE) },    { T3_CMD_SEG_STATS, EXISTING },
	{ T3_CMD_ROUTE_SET, S(IDLE) },	    { T3_CMD_ROUTE_CLEAR, S(IDLE) },
	{ T3_CMD_IMPORT_SET, LIVE },	    { T3_CMD_IMPORT_CLEAR, EXISTING },
	{ T3_CMD_TILE_QUERY, EXISTING },
};

static size_t arguments(struct host *host, uint32_t opcode, void *cmd)
{
	struct t3_cmd_space space = { .space = 1 };
	struct t3_cmd_index index = { .space = 1 };
	struct t3_cmd_seg_map map = host_segment(1, 3, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_staging staging = { 1, 0, HOST_STAGING, 0x100, 1, 0 };
	struct t3_cmd_seg_stats stats = { .space = 1 };
	struct t3_cmd_route_set route = { 1, 5, 1, 1, host_query(&host->dev[1], 1).generation, 5 };
	struct t3_cmd_import_set import = { 1, 5, 1, 1, 7, 15, 1 };
	struct t3_cmd_tile_query tile = { .space = 1, .tiles = 1 };
	struct {
		const void *from;
		size_t size;
	} list[] = {
		[T3_CMD_SPACE_DISABLE] = { &space, sizeof(space) },
		[T3_CMD_SPACE_DESTROY] = { &space, sizeof(space) },
		[T3_CMD_SPACE_RESET] = { &space, sizeof(space) },
		[T3_CMD_SPACE_QUERY] = { &space, sizeof(space) },
		[T3_CMD_SEG_MAP] = { &map, sizeof(map) },
		[T3_CMD_SEG_UNMAP] = { &index, sizeof(index) },
		[T3_CMD_SEG_STAGING] = { &staging, sizeof(staging) },
		[T3_CMD_SEG_STATS] = { &stats, sizeof(stats) },
		[T3_CMD_ROUTE_SET] = { &route, sizeof(route) },
		[T3_CMD_ROUTE_CLEAR] = { &index, sizeof(index) },
		[T3_CMD_IMPORT_SET] = { &import, sizeof(import) },
		[T3_CMD_IMPORT_CLEAR] = { &index, sizeof(index) },
		[T3_CMD_TILE_QUERY] = { &tile, sizeof(tile) },
	};

	memcpy(cmd, list[opcode].from, list[opcode].size);
	return list[opcode].size;
}

static void state_and_command(uint32_t wanted, const struct rule *rule)
{
	struct host *host = host_in_state(wanted);
	struct host_dev *d = &host->dev[0];
	uint8_t cmd[T3_MAILBOX_SIZE];
	size_t size = arguments(host, rule->opcode, cmd);

	if (rule->states & 1u << wanted)
		accepted(d, rule->opcode, cmd, size);
	else
		refused(d, rule->opcode, cmd, size,
			wanted == T3_SPACE_FREE ? T3_ADMIN_BAD_SPACE : T3_ADMIN_BAD_STATE);
	host_free(host);
}

TEST("each command is refused in the states that forbid it")
{
	uint32_t wanted;
	size_t i;

	for (wanted = T3_SPACE_FREE; wanted <= T3_SPACE_QUIESCED; wanted++)
		for (i = 0; i < COUNT(rules); i++)
			state_and_command(wanted, &rules[i]);
}

TEST("commands to no space are refused")
{
	struct host *host = host_in_state(T3_SPACE_IDLE);
	struct host_dev *d = &host->dev[0];
	uint8_t cmd[T3_MAILBOX_SIZE];
	uint32_t bad;
	size_t i;

	for (i = 0; i < COUNT(rules); i++) {
		size_t size = arguments(host, rules[i].opcode, cmd);

		for (bad = 1024; bad; bad = bad == 1024 ? 0xffffffff : 0) {
			memcpy(cmd, &bad, 4);
			refused(d, rules[i].opcode, cmd, size, T3_ADMIN_BAD_SPACE);
		}
	}
	host_free(host);
}

/* The out fields are ignored on input, the reserved one is not. */
TEST("reserved words of a space command must be zero")
{
	static const uint32_t opcodes[] = { T3_CMD_SPACE_RESET, T3_CMD_SPACE_QUERY,
					    T3_CMD_SPACE_DISABLE };
	struct t3_cmd_space cmd = { 1, 9, 9, 9, 9, 1 }, good = { 1, 9, 9, 9, 9, 0 };
	struct host *host = host_in_state(T3_SPACE_IDLE);
	struct host_dev *d = &host->dev[0];
	size_t i;

	for (i = 0; i < COUNT(opcodes); i++) {
		refused(d, opcodes[i], &cmd, sizeof(cmd), T3_ADMIN_BAD_VALUE);
		accepted(d, opcodes[i], &good, sizeof(good));
	}
	host_drain(host);
	refused(d, T3_CMD_SPACE_DESTROY, &cmd, sizeof(cmd), T3_ADMIN_BAD_VALUE);
	accepted(d, T3_CMD_SPACE_DESTROY, &good, sizeof(good));
	host_free(host);
}

#define T(field) FIELD(t3_cmd_tile_query, field)

#define R(field) FIELD(t3_cmd_route_set, field)
#define I(field) FIELD(t3_cmd_import_set, field)

TEST("each wrong value of a route is refused")
{
	static const struct deviation list[] = {
		{ R(route), 32, T3_ADMIN_BAD_INDEX },
		{ R(route), 0xffffffff, T3_ADMIN_BAD_INDEX },
		{ R(route), 0, T3_ADMIN_EXISTS },
		{ R(peer_rank), 0, T3_ADMIN_NO_ROUTE },
		{ R(peer_rank), 2, T3_ADMIN_NO_ROUTE },
		{ R(peer_rank), 32, T3_ADMIN_NO_ROUTE },
		{ R(peer_rank), 0xffffffff, T3_ADMIN_NO_ROUTE },
		{ R(peer_space), 1024, T3_ADMIN_BAD_VALUE },
		{ R(peer_import), 32, T3_ADMIN_BAD_VALUE },
	};
	struct t3_cmd_route_set good = { 1, 31, 1, 1023, 77, 31 };
	struct host *host = host_in_state(T3_SPACE_IDLE);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = host_segment(1, 1, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_index clear = { 1, 31 };

	deviate(d, T3_CMD_ROUTE_SET, &good, sizeof(good), list, COUNT(list));
	refused(d, T3_CMD_ROUTE_CLEAR, &clear, sizeof(clear), T3_ADMIN_BAD_INDEX);
	accepted(d, T3_CMD_ROUTE_SET, &good, sizeof(good));
	refused(d, T3_CMD_ROUTE_SET, &good, sizeof(good), T3_ADMIN_EXISTS);
	map.routes = 1u << 31;
	host_map(d, &map);
	refused(d, T3_CMD_ROUTE_CLEAR, &clear, sizeof(clear), T3_ADMIN_EXISTS);
	host_index_command(d, T3_CMD_SEG_UNMAP, 1, 1);
	accepted(d, T3_CMD_ROUTE_CLEAR, &clear, sizeof(clear));
	clear.index = 32;
	refused(d, T3_CMD_ROUTE_CLEAR, &clear, sizeof(clear), T3_ADMIN_BAD_INDEX);
	accepted(d, T3_CMD_ROUTE_SET, &good, sizeof(good));
	host_free(host);
}

/* STATE finds a route by its target, so two equal routes would be one. */
TEST("equal routes of a space are refused")
{
	static const struct t3_cmd_route_set others[] = {
		{ 1, 0, 2, 7, 77, 5 },
		{ 1, 1, 1, 8, 77, 5 },
		{ 1, 2, 1, 7, 78, 5 },
		{ 1, 3, 1, 7, 77, 6 },
	};
	struct t3_cmd_route_set first = { 1, 31, 1, 7, 77, 5 }, equal = { 1, 30, 1, 7, 77, 5 };
	struct host *host = host_ring(3);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_index clear = { 1, 31 };
	size_t i;

	host_space(d, 1);
	accepted(d, T3_CMD_ROUTE_SET, &first, sizeof(first));
	refused(d, T3_CMD_ROUTE_SET, &equal, sizeof(equal), T3_ADMIN_EXISTS);
	for (i = 0; i < COUNT(others); i++)
		accepted(d, T3_CMD_ROUTE_SET, &others[i], sizeof(others[i]));
	refused(d, T3_CMD_ROUTE_SET, &equal, sizeof(equal), T3_ADMIN_EXISTS);
	accepted(d, T3_CMD_ROUTE_CLEAR, &clear, sizeof(clear));
	accepted(d, T3_CMD_ROUTE_SET, &equal, sizeof(equal));
	host_free(host);
}

TEST("each wrong value of an import is refused")
{
	static const struct deviation list[] = {
		{ I(import), 32, T3_ADMIN_BAD_INDEX },
		{ I(import), 0xffffffff, T3_ADMIN_BAD_INDEX },
		{ I(import), 0, T3_ADMIN_EXISTS },
		{ I(src_space), 1024, T3_ADMIN_BAD_VALUE },
		{ I(op_mask), 0, T3_ADMIN_BAD_VALUE },
		{ I(op_mask), 16, T3_ADMIN_BAD_VALUE },
		{ I(segment_mask), 0, T3_ADMIN_BAD_VALUE },
		{ I(src_rank), 0, T3_ADMIN_NO_ROUTE },
		{ I(src_rank), 0xffffffff, T3_ADMIN_NO_ROUTE },
	};
	struct t3_cmd_import_set good = { 1, 31, 1, 1023, 77, 8, 1ull << 63 };
	struct host *host = host_in_state(T3_SPACE_IDLE);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_index clear = { 1, 31 };

	deviate(d, T3_CMD_IMPORT_SET, &good, sizeof(good), list, COUNT(list));
	refused(d, T3_CMD_IMPORT_CLEAR, &clear, sizeof(clear), T3_ADMIN_BAD_INDEX);
	accepted(d, T3_CMD_IMPORT_SET, &good, sizeof(good));
	accepted(d, T3_CMD_IMPORT_CLEAR, &clear, sizeof(clear));
	refused(d, T3_CMD_IMPORT_CLEAR, &clear, sizeof(clear), T3_ADMIN_BAD_INDEX);
	clear.index = 32;
	refused(d, T3_CMD_IMPORT_CLEAR, &clear, sizeof(clear), T3_ADMIN_BAD_INDEX);
	accepted(d, T3_CMD_IMPORT_SET, &good, sizeof(good));
	host_free(host);
}
