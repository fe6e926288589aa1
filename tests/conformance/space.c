// SPDX-License-Identifier: MIT
/* Makes spaces and segments of the usual form. */
#include "conf.h"
#include "reference.h"

static uint64_t round_up(uint64_t value)
{
	return (value + T3_PAGE_SIZE - 1) & ~(uint64_t)(T3_PAGE_SIZE - 1);
}

static uint64_t take(struct conf *c, uint64_t *used, uint64_t bytes, uint64_t limit,
		     const char *what)
{
	uint64_t start = *used;

	*used += round_up(bytes);
	if (*used > limit)
		conf_skip(c, "needs %llu bytes of %s, the device has %llu",
			  (unsigned long long)*used, what, (unsigned long long)limit);
	return start;
}

void conf_memory_fill(struct conf_device *d, uint64_t offset, uint64_t bytes, uint64_t word)
{
	for (uint64_t i = 0; i < bytes; i += 8)
		conf_write(d->memory, offset + i, 8, word);
}

void conf_space_prepare(struct conf *c, struct conf_device *d, struct conf_space *s, uint64_t bytes,
			uint32_t records)
{
	uint64_t table = (uint64_t)records * sizeof(struct t3_tile_record);

	*s = (struct conf_space){ .dev = d };
	s->args.space = d->spaces_used++;
	s->args.size = round_up(bytes);
	s->args.aperture_offset = take(c, &d->aperture_used, bytes, d->aperture_bytes, "aperture");
	s->args.buffer = take(c, &d->memory_used, bytes, d->memory_bytes, "device memory");
	s->args.counters = take(c, &d->memory_used, table, d->memory_bytes, "device memory");
	s->args.counter_count = records;
	conf_memory_fill(d, s->args.counters, table, 0);
	s->events = conf_page(c, &s->args.event_area);
}

void conf_space_create(struct conf *c, struct conf_device *d, struct conf_space *s, uint64_t bytes,
		       uint32_t records)
{
	conf_space_prepare(c, d, s, bytes, records);
	ADMIN(c, d, T3_CMD_SPACE_CREATE, &s->args);
}

struct t3_cmd_space conf_space_command(struct conf *c, struct conf_space *s, uint32_t opcode)
{
	struct t3_cmd_space args = { .space = s->args.space };

	CHECK_EQUAL(c, "status of a space command", conf_admin(s->dev, opcode, &args, sizeof(args)),
		    T3_ADMIN_OK);
	s->args.generation = args.generation;
	return args;
}

struct t3_cmd_seg_map conf_segment(const struct conf_space *s, uint32_t segment)
{
	return (struct t3_cmd_seg_map){
		.space = s->args.space,
		.segment = segment,
		.kind = T3_SEG_LOCAL,
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.init = T3_INIT_IDENTITY,
		.updates = 1,
		.rows = 1,
		.row_bytes = 64,
		.pitch = 64,
		.tile_rows = 1,
		.tile_row_bytes = 32,
	};
}

void conf_map(struct conf *c, struct conf_space *s, const struct t3_cmd_seg_map *segment)
{
	struct t3_cmd_seg_map args = *segment;

	ADMIN(c, s->dev, T3_CMD_SEG_MAP, &args);
}

void conf_space_simple(struct conf *c, struct conf_device *d, struct conf_space *s)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, d, s, T3_PAGE_SIZE, 16);
	segment = conf_segment(s, 0);
	conf_map(c, s, &segment);
}

/* All ops that the device has. */
static uint32_t conf_ops(struct conf_device *d)
{
	uint32_t ops = 0;

	for (uint32_t op = 0; op < T3_OP_COUNT; op++)
		if (!(reference_needs(op, T3_DTYPE_I32) & ~conf_reg(d, T3_REG_CAPS)))
			ops |= 1u << op;
	return ops;
}

void conf_connect(struct conf *c, struct conf_space *s, uint32_t route, struct conf_space *to,
		  uint32_t import)
{
	struct t3_cmd_import_set import_set = {
		.space = to->args.space,
		.import = import,
		.src_rank = s->dev->rank,
		.src_space = s->args.space,
		.src_generation = s->args.generation,
		.op_mask = conf_ops(to->dev),
		.segment_mask = ~0ull,
	};
	struct t3_cmd_route_set route_set = {
		.space = s->args.space,
		.route = route,
		.peer_rank = to->dev->rank,
		.peer_space = to->args.space,
		.peer_generation = to->args.generation,
		.peer_import = import,
	};

	ADMIN(c, to->dev, T3_CMD_IMPORT_SET, &import_set);
	ADMIN(c, s->dev, T3_CMD_ROUTE_SET, &route_set);
}

void conf_stage(struct conf *c, struct conf_space *s, uint32_t segment, uint64_t offset,
		uint64_t stride, uint32_t slots)
{
	struct t3_cmd_seg_staging args = {
		.space = s->args.space,
		.segment = segment,
		.address = s->args.buffer + offset,
		.slot_stride = stride,
		.slots = slots,
	};

	ADMIN(c, s->dev, T3_CMD_SEG_STAGING, &args);
}

void conf_widen(struct conf *c, struct conf_space *s, uint32_t segment, uint64_t offset)
{
	struct t3_cmd_seg_widen args = {
		.space = s->args.space,
		.segment = segment,
		.address = s->args.buffer + offset,
		.widen = 1,
	};

	if (!(conf_reg(s->dev, T3_REG_CAPS) & T3_CAP_WIDEN))
		conf_skip(c, "the device lacks CAPS.WIDEN");
	ADMIN(c, s->dev, T3_CMD_SEG_WIDEN, &args);
}

struct t3_cmd_seg_stats conf_stats(struct conf *c, struct conf_space *s, uint32_t segment)
{
	struct t3_cmd_seg_stats args = { .space = s->args.space, .segment = segment };

	ADMIN(c, s->dev, T3_CMD_SEG_STATS, &args);
	return args;
}

struct t3_cmd_tile_query conf_tile_query(struct conf *c, struct conf_space *s, uint32_t segment,
					 uint32_t tile, uint32_t tiles)
{
	struct t3_cmd_tile_query args = {
		.space = s->args.space, .segment = segment, .tile = tile, .tiles = tiles
	};

	ADMIN(c, s->dev, T3_CMD_TILE_QUERY, &args);
	return args;
}

struct t3_tile_record conf_record(struct conf_space *s, uint32_t index)
{
	struct t3_tile_record record;

	conf_get(s->dev->memory + s->args.counters + index * sizeof(record), &record,
		 sizeof(record));
	return record;
}

/* ---------------------------------------------------------------- doorbells */

volatile uint8_t *conf_doorbell(const struct conf_space *s)
{
	return s->dev->regs + T3_DOORBELL_BASE + (uint64_t)s->args.space * T3_PAGE_SIZE;
}

void conf_arm(struct conf_space *s, uint32_t epoch)
{
	conf_write(conf_doorbell(s), T3_DB_ARM, 4, epoch);
}

void conf_arm_wait(struct conf *c, struct conf_space *s, uint32_t epoch)
{
	conf_arm(s, epoch);
	conf_wait_state(c, s, T3_SPACE_ARMED, epoch);
}

void conf_release(struct conf_space *s, uint32_t epoch)
{
	conf_write(conf_doorbell(s), T3_DB_RELEASE, 4, epoch);
}

void conf_tile(struct conf_space *s, uint32_t segment, uint32_t slot, uint32_t tile)
{
	conf_write(conf_doorbell(s), T3_DB_TILE, 8, T3_DB_TILE_VALUE(segment, slot, tile));
}

uint64_t conf_state(const struct conf_space *s)
{
	return conf_read(conf_doorbell(s), T3_DB_STATE, 8);
}

/* ------------------------------------------------------------------- memory */

void conf_store(struct conf_space *s, uint64_t offset, unsigned bytes, uint64_t value)
{
	conf_write(s->dev->aperture, s->args.aperture_offset + offset, bytes, value);
}

uint64_t conf_load(struct conf_space *s, uint64_t offset, unsigned bytes)
{
	return conf_read(s->dev->aperture, s->args.aperture_offset + offset, bytes);
}

uint64_t conf_buffer(struct conf_space *s, uint64_t offset, unsigned bytes)
{
	return conf_read(s->dev->memory, s->args.buffer + offset, bytes);
}

void conf_buffer_write(struct conf_space *s, uint64_t offset, unsigned bytes, uint64_t value)
{
	conf_write(s->dev->memory, s->args.buffer + offset, bytes, value);
}
