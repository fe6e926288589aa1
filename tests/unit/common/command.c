/* SPDX-License-Identifier: MIT */
/* Mailbox commands, and checks of their results. */
#include "host.h"

uint32_t host_command(struct host_dev *d, uint32_t opcode, void *cmd, size_t size)
{
	uint8_t *bytes = cmd;
	uint64_t word;
	size_t i;

	assert_int_equal(size % 8, 0);
	for (i = 0; i < size; i += 8) {
		memcpy(&word, bytes + i, 8);
		host_set(d, T3_REG_MAILBOX + i, word, 8);
	}
	host_set(d, T3_REG_ADMIN_COMMAND, opcode, 4);
	for (i = 0; i < size; i += 8) {
		word = host_get(d, T3_REG_MAILBOX + i, 8);
		memcpy(bytes + i, &word, 8);
	}
	return host_reg(d, T3_REG_ADMIN_STATUS);
}

uint32_t host_space_command(struct host_dev *d, uint32_t opcode, uint32_t space)
{
	struct t3_cmd_space cmd = { .space = space };

	return host_command(d, opcode, &cmd, sizeof(cmd));
}

uint32_t host_index_command(struct host_dev *d, uint32_t opcode, uint32_t space, uint32_t index)
{
	struct t3_cmd_index cmd = { .space = space, .index = index };

	return host_command(d, opcode, &cmd, sizeof(cmd));
}

struct t3_cmd_space host_query(struct host_dev *d, uint32_t space)
{
	struct t3_cmd_space cmd = { .space = space };

	assert_int_equal(host_command(d, T3_CMD_SPACE_QUERY, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	return cmd;
}

struct t3_cmd_seg_stats host_stats(struct host_dev *d, uint32_t space, uint32_t segment)
{
	struct t3_cmd_seg_stats cmd = { .space = space, .segment = segment };

	assert_int_equal(host_command(d, T3_CMD_SEG_STATS, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	return cmd;
}

struct t3_cmd_tile_query host_tile_query(struct host_dev *d, uint32_t space, uint32_t segment,
					 uint32_t tile, uint32_t tiles)
{
	struct t3_cmd_tile_query cmd = {
		.space = space, .segment = segment, .tile = tile, .tiles = tiles
	};

	assert_int_equal(host_command(d, T3_CMD_TILE_QUERY, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	return cmd;
}

struct t3_cmd_space_create host_space_args(uint32_t space)
{
	struct t3_cmd_space_create cmd = {
		.space = space,
		.aperture_offset = (uint64_t)space * HOST_SPACE_SIZE,
		.size = HOST_SPACE_SIZE,
		.buffer = (uint64_t)space * HOST_SPACE_SIZE,
		.counters = HOST_COUNTER_BASE(space),
		.counter_count = HOST_COUNTER_COUNT,
		.event_area = HOST_BUS + space % HOST_PAGES * T3_PAGE_SIZE,
	};

	return cmd;
}

uint32_t host_space(struct host_dev *d, uint32_t space)
{
	struct t3_cmd_space_create cmd = host_space_args(space);

	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	return cmd.generation;
}

struct t3_cmd_seg_map host_segment(uint32_t space, uint32_t segment, uint32_t kind, uint32_t op,
				   uint32_t dtype)
{
	struct t3_cmd_seg_map map = {
		.space = space,
		.segment = segment,
		.kind = (uint8_t)kind,
		.op = (uint8_t)(kind == T3_SEG_REMOTE ? 0 : op),
		.dtype = (uint8_t)dtype,
		.init = kind == T3_SEG_REMOTE ? T3_INIT_KEEP : T3_INIT_IDENTITY,
		.target_op = (uint8_t)(kind == T3_SEG_LOCAL ? 0 : op),
		.offset = segment * 0x400,
		.updates = 1,
		.rows = 4,
		.row_bytes = 16,
		.pitch = 16,
		.tile_rows = 2,
		.tile_row_bytes = 8,
		.counter_base = segment * 32,
		.routes = kind == T3_SEG_LOCAL ? 0 : 1,
		.target_segment = kind == T3_SEG_LOCAL ? 0 : segment,
	};

	return map;
}

void host_map(struct host_dev *d, const struct t3_cmd_seg_map *map)
{
	struct t3_cmd_seg_map cmd = *map;

	assert_int_equal(host_command(d, T3_CMD_SEG_MAP, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

void host_local(struct host_dev *d, uint32_t space, uint32_t segment)
{
	struct t3_cmd_seg_map map =
		host_segment(space, segment, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	host_map(d, &map);
}

static uint64_t staging(uint32_t space, uint32_t segment)
{
	return HOST_STAGING_BASE(space) + segment * 0x4000;
}

void host_stage(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t slots)
{
	struct t3_cmd_seg_staging cmd = {
		.space = space,
		.segment = segment,
		.address = staging(space, segment),
		.slot_stride = 0x1000,
		.slots = slots,
	};

	assert_int_equal(host_command(d, T3_CMD_SEG_STAGING, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

uint8_t *host_slot(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t slot)
{
	return d->memory + staging(space, segment) + slot * 0x1000;
}

void host_route(struct host_dev *d, uint32_t space, uint32_t route, struct host_dev *peer,
		uint32_t peer_space, uint32_t import)
{
	struct t3_cmd_route_set cmd = {
		.space = space,
		.route = route,
		.peer_rank = peer->rank,
		.peer_space = peer_space,
		.peer_generation = host_query(peer, peer_space).generation,
		.peer_import = import,
	};

	assert_int_equal(host_command(d, T3_CMD_ROUTE_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

void host_import(struct host_dev *d, uint32_t space, uint32_t import, struct host_dev *source,
		 uint32_t source_space, uint64_t segments)
{
	struct t3_cmd_import_set cmd = {
		.space = space,
		.import = import,
		.src_rank = source->rank,
		.src_space = source_space,
		.src_generation = host_query(source, source_space).generation,
		.op_mask = (1u << T3_OP_COUNT) - 1,
		.segment_mask = segments,
	};

	assert_int_equal(host_command(d, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

void host_connect(struct host_dev *a, struct host_dev *b, uint32_t space)
{
	host_route(a, space, 0, b, space, 0);
	host_import(b, space, 0, a, space, HOST_NONE64);
}

void host_destroy(struct host_dev *d, uint32_t space)
{
	assert_int_equal(host_space_command(d, T3_CMD_SPACE_DISABLE, space), T3_ADMIN_OK);
	host_drain(d->host);
	assert_int_equal(host_space_command(d, T3_CMD_SPACE_DESTROY, space), T3_ADMIN_OK);
}

/* ------------------------------------------------------------ expectations */

uint8_t *host_buffer(struct host_dev *d, uint32_t space)
{
	return d->memory + (size_t)space * HOST_SPACE_SIZE;
}

const struct t3_event_area *host_area(struct host_dev *d, uint32_t space)
{
	return (const struct t3_event_area *)(const void *)(d->pages +
							    space % HOST_PAGES * T3_PAGE_SIZE);
}

uint32_t host_state(struct host_dev *d, uint32_t space)
{
	return (uint32_t)(host_doorbell_read(d, space, T3_DB_STATE, 8) >> 32);
}

void host_expect(struct host_dev *d, uint32_t space, uint32_t state, uint32_t epoch)
{
	struct t3_cmd_space query = host_query(d, space);
	uint64_t word = (uint64_t)state << 32 | epoch;

	assert_int_equal(query.state, state);
	assert_int_equal(query.epoch, epoch);
	assert_int_equal(host_doorbell_read(d, space, T3_DB_STATE, 8), word);
	assert_int_equal(host_area(d, space)->state, word);
	assert_int_equal(host_area(d, space)->generation, query.generation);
}

void host_expect_word(struct host_dev *d, uint32_t space, uint32_t segment, uint64_t word)
{
	assert_int_equal(host_area(d, space)->segment[segment], word);
}

void host_expect_fault(struct host_dev *d, uint32_t space, const struct t3_fault_record *want)
{
	const struct t3_event_area *area = host_area(d, space);
	const struct t3_fault_record *fault = &area->fault;

	assert_int_equal(area->state >> 32, T3_SPACE_FAULTED);
	assert_int_equal(host_state(d, space), T3_SPACE_FAULTED);
	assert_true(area->faults >= 1);
	if (area->faults <= T3_FAULT_RING)
		assert_memory_equal(&area->ring[0], fault, sizeof(*fault));
	assert_int_equal(fault->kind, want->kind);
	assert_int_equal(fault->detail, want->detail);
	assert_int_equal(fault->segment, want->segment);
	assert_int_equal(fault->tile, want->tile);
	assert_int_equal(fault->offset, want->offset);
	assert_int_equal(fault->src_rank, want->src_rank);
	assert_int_equal(fault->epoch, (uint32_t)area->state);
	assert_true(fault->vtime <= host_get(d, T3_REG_VCLOCK, 8));
}

void host_expect_cpu_fault(struct host_dev *d, uint32_t space, uint32_t kind, uint32_t segment,
			   uint32_t tile, uint64_t offset)
{
	struct t3_fault_record want = {
		.kind = kind,
		.segment = segment,
		.tile = tile,
		.offset = offset,
		.src_rank = d->rank,
	};

	host_expect_fault(d, space, &want);
}

void host_expect_peer_fault(struct host_dev *d, uint32_t space, uint32_t kind, uint32_t rank)
{
	struct t3_fault_record want = {
		.kind = kind,
		.segment = HOST_NONE32,
		.tile = HOST_NONE32,
		.offset = HOST_NONE64,
		.src_rank = rank,
	};

	host_expect_fault(d, space, &want);
}

void host_expect_rejected(struct host_dev *d, uint32_t space, uint32_t nak, uint32_t segment,
			  uint32_t rank)
{
	struct t3_fault_record want = {
		.kind = T3_FAULT_REJECTED,
		.detail = nak,
		.segment = segment,
		.tile = HOST_NONE32,
		.offset = HOST_NONE64,
		.src_rank = rank,
	};

	host_expect_fault(d, space, &want);
}
