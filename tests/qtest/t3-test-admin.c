/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: admin commands, spaces, doorbells, the event area. */
#include "qemu/osdep.h"
#include "t3-test.h"

/* ------------------------------------------------------------------- admin */

enum t3_admin_status admin(struct t3_test_dev *dev, enum t3_admin_opcode opcode, void *args,
			   size_t size)
{
	uint32_t *word = args;
	size_t i, words = size / 4;

	g_assert_cmpuint(size, <=, T3_MAILBOX_SIZE);
	for (i = 0; i < words; i++)
		reg_write(dev, T3_REG_MAILBOX + 4 * i, word[i]);
	reg_write(dev, T3_REG_ADMIN_COMMAND, opcode);
	for (i = 0; i < words; i++)
		word[i] = reg_read(dev, T3_REG_MAILBOX + 4 * i);
	return reg_read(dev, T3_REG_ADMIN_STATUS);
}

void admin_ok(struct t3_test_dev *dev, enum t3_admin_opcode opcode, void *args, size_t size)
{
	enum t3_admin_status status = admin(dev, opcode, args, size);

	if (status != T3_ADMIN_OK)
		g_error("rank %u: admin command %d failed with status %d", dev->rank, opcode,
			status);
}

/* ------------------------------------------------------------------ spaces */

struct t3_cmd_space_create space_args(struct t3_test_dev *dev, uint32_t id, unsigned int slot)
{
	return (struct t3_cmd_space_create){
		.space = id,
		.aperture_offset = slot * SPACE_SIZE,
		.size = SPACE_SIZE,
		.buffer = slot * SPACE_SIZE,
		.counters = COUNTERS_BASE + slot * COUNTERS_SIZE,
		.counter_count = SPACE_RECORDS,
		.event_area = EVENT_BASE + dev->rank * 0x100000ull + slot * T3_PAGE_SIZE,
	};
}

struct t3_test_space space_create(struct t3_test_dev *dev, uint32_t id, unsigned int slot)
{
	struct t3_cmd_space_create args = space_args(dev, id, slot);
	struct t3_test_space space = {
		.dev = dev,
		.id = id,
		.slot = slot,
		.aperture = dev->aperture + args.aperture_offset,
		.buffer = args.buffer,
		.staging = STAGING_BASE + slot * STAGING_SIZE,
		.counters = args.counters,
		.event = args.event_area,
	};

	qtest_memset(dev->qts, dev->memory + args.counters, 0, COUNTERS_SIZE);
	qtest_memset(dev->qts, args.event_area, 0x5a, T3_PAGE_SIZE);
	admin_ok(dev, T3_CMD_SPACE_CREATE, &args, sizeof(args));
	space.generation = args.generation;
	g_assert_cmpuint(space.generation, !=, 0);
	expect_state(&space, T3_SPACE_IDLE, 0);
	return space;
}

struct t3_cmd_space space_query(struct t3_test_dev *dev, uint32_t id)
{
	struct t3_cmd_space args = { .space = id };

	admin_ok(dev, T3_CMD_SPACE_QUERY, &args, sizeof(args));
	return args;
}

void space_route(struct t3_test_space *from, struct t3_test_space *to)
{
	struct t3_cmd_route_set args = {
		.space = from->id,
		.peer_rank = to->dev->rank,
		.peer_space = to->id,
		.peer_generation = to->generation,
	};

	admin_ok(from->dev, T3_CMD_ROUTE_SET, &args, sizeof(args));
}

void space_import(struct t3_test_space *to, struct t3_test_space *from)
{
	struct t3_cmd_import_set args = {
		.space = to->id,
		.src_rank = from->dev->rank,
		.src_space = from->id,
		.src_generation = from->generation,
		.op_mask = 1u << T3_OP_ADD | 1u << T3_OP_STORE,
		.segment_mask = ~0ull,
	};

	admin_ok(to->dev, T3_CMD_IMPORT_SET, &args, sizeof(args));
}

void space_enable_event(struct t3_test_space *space)
{
	reg_write(space->dev, T3_REG_SPACE_ENABLE + space->id / 32 * 4, 1u << space->id % 32);
}

/* ---------------------------------------------------------------- segments */

struct t3_cmd_seg_map seg_args(struct t3_test_space *space, uint32_t segment, uint64_t offset,
			       uint32_t bytes, enum t3_segment_kind kind, uint32_t updates)
{
	bool remote = kind == T3_SEG_REMOTE;

	return (struct t3_cmd_seg_map){
		.space = space->id,
		.segment = segment,
		.kind = kind,
		.op = remote ? 0 : T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.init = remote ? 0 : T3_INIT_IDENTITY,
		.target_op = kind == T3_SEG_LOCAL ? 0 : T3_OP_ADD,
		.offset = offset,
		.updates = updates,
		.rows = 1,
		.row_bytes = bytes,
		.pitch = bytes,
		.tile_rows = 1,
		.tile_row_bytes = bytes,
		.counter_base = segment * 64,
		.routes = kind == T3_SEG_LOCAL ? 0 : 1,
		.target_segment = kind == T3_SEG_LOCAL ? 0 : segment,
	};
}

void seg_map(struct t3_test_space *space, const struct t3_cmd_seg_map *args)
{
	struct t3_cmd_seg_map copy = *args;

	admin_ok(space->dev, T3_CMD_SEG_MAP, &copy, sizeof(copy));
}

void seg_staging(struct t3_test_space *space, uint32_t segment, uint32_t stride, uint32_t slots)
{
	struct t3_cmd_seg_staging args = {
		.space = space->id,
		.segment = segment,
		.address = space->staging,
		.slot_stride = stride,
		.slots = slots,
	};

	g_assert_cmpuint(stride * slots, <=, STAGING_SIZE);
	admin_ok(space->dev, T3_CMD_SEG_STAGING, &args, sizeof(args));
}

/* --------------------------------------------------------------- doorbells */

static uint64_t doorbell(struct t3_test_space *space, uint32_t offset)
{
	return space->dev->regs + T3_DOORBELL_BASE + space->id * T3_PAGE_SIZE + offset;
}

void db_arm(struct t3_test_space *space, uint32_t epoch)
{
	qtest_writel(space->dev->qts, doorbell(space, T3_DB_ARM), epoch);
}

void db_release(struct t3_test_space *space, uint32_t epoch)
{
	qtest_writel(space->dev->qts, doorbell(space, T3_DB_RELEASE), epoch);
}

void db_tile(struct t3_test_space *space, uint32_t segment, uint32_t slot, uint32_t tile)
{
	qtest_writeq(space->dev->qts, doorbell(space, T3_DB_TILE),
		     T3_DB_TILE_VALUE(segment, slot, tile));
}

uint64_t db_state(struct t3_test_space *space)
{
	return qtest_readq(space->dev->qts, doorbell(space, T3_DB_STATE));
}

void store32(struct t3_test_space *space, uint64_t offset, uint32_t value)
{
	qtest_writel(space->dev->qts, space->aperture + offset, value);
}

void store64(struct t3_test_space *space, uint64_t offset, uint64_t value)
{
	qtest_writeq(space->dev->qts, space->aperture + offset, value);
}

/* -------------------------------------------------------------- event area */

struct t3_event_area event_read(struct t3_test_space *space)
{
	struct t3_event_area area;

	qtest_bufread(space->dev->qts, space->event, &area, sizeof(area));
	return area;
}

static uint64_t event_state(struct t3_test_space *space)
{
	return qtest_readq(space->dev->qts, space->event);
}

static void check_state(struct t3_test_space *space, uint64_t got, enum t3_space_state state,
			uint32_t epoch)
{
	struct t3_event_area area;

	if (got == ((uint64_t)state << 32 | epoch))
		return;
	area = event_read(space);
	g_error("rank %u space %u: state %u epoch %u, expected state %u epoch %u; "
		"first of %u faults: kind %u detail %u segment %u tile %u offset 0x%" PRIx64
		" from rank %u",
		space->dev->rank, space->id, (unsigned int)(got >> 32), (unsigned int)got, state,
		epoch, area.faults, area.fault.kind, area.fault.detail, area.fault.segment,
		area.fault.tile, area.fault.offset, area.fault.src_rank);
}

void expect_state(struct t3_test_space *space, enum t3_space_state state, uint32_t epoch)
{
	check_state(space, event_state(space), state, epoch);
	check_state(space, db_state(space), state, epoch);
}

void wait_state(struct t3_test_space *space, enum t3_space_state state, uint32_t epoch)
{
	gint64 end = g_get_monotonic_time() + 5 * G_TIME_SPAN_SECOND;

	while (event_state(space) != ((uint64_t)state << 32 | epoch)) {
		if (g_get_monotonic_time() > end)
			break;
		g_usleep(500);
	}
	expect_state(space, state, epoch);
}

void expect_fault(struct t3_test_space *space, enum t3_fault_kind kind)
{
	struct t3_event_area area = event_read(space);

	g_assert_cmpuint(area.state >> 32, ==, T3_SPACE_FAULTED);
	g_assert_cmpuint(area.fault.kind, ==, kind);
	g_assert_cmpuint(area.faults, >=, 1);
}

void expect_delivered(struct t3_test_space *space, uint32_t segment, uint32_t epoch)
{
	struct t3_event_area area = event_read(space);

	g_assert_cmphex(area.segment[segment], ==,
			T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | epoch);
}

struct t3_test_space local_space(struct t3_test_dev *dev, uint32_t id, unsigned int slot,
				 uint32_t bytes, uint32_t tile, uint32_t updates)
{
	struct t3_test_space space = space_create(dev, id, slot);
	struct t3_cmd_seg_map map = seg_args(&space, 0, 0, bytes, T3_SEG_LOCAL, updates);

	map.tile_row_bytes = tile;
	seg_map(&space, &map);
	db_arm(&space, 1);
	expect_state(&space, T3_SPACE_ARMED, 1);
	return space;
}

/* ------------------------------------------------------------------- pairs */

struct t3_test_pair remote_pair(struct t3_test_dev *source, struct t3_test_dev *target,
				unsigned int slot, uint32_t bytes)
{
	struct t3_test_pair pair = {
		.source = space_create(source, 40 + slot, slot),
		.target = space_create(target, 80 + slot, slot + 1),
	};
	struct t3_cmd_seg_map map = seg_args(&pair.target, 0, 0, bytes, T3_SEG_LOCAL, 1);

	seg_map(&pair.target, &map);
	space_route(&pair.source, &pair.target);
	space_import(&pair.target, &pair.source);
	map = seg_args(&pair.source, 0, 0, bytes, T3_SEG_REMOTE, 1);
	seg_map(&pair.source, &map);
	db_arm(&pair.target, 1);
	db_arm(&pair.source, 1);
	wait_state(&pair.source, T3_SPACE_ARMED, 1);
	return pair;
}

void pair_complete(struct t3_test_pair *pair, uint32_t bytes)
{
	uint64_t got;
	uint32_t i;

	for (i = 0; i < bytes; i += 8)
		store64(&pair->source, i, 0x100000001ull * (i + pair->source.dev->rank));
	wait_state(&pair->source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair->target, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < bytes; i += 8) {
		mem_read(pair->target.dev, pair->target.buffer + i, &got, 8);
		g_assert_cmphex(got, ==, 0x100000001ull * (i + pair->source.dev->rank));
	}
}
