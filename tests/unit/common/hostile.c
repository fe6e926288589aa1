/* SPDX-License-Identifier: MIT */
#include "gemm.h"
#include "hostile.h"
#include "ref.h"

#define FREE_START 0x280000u /* memory that no well-formed space uses */

uint32_t hostile_below(struct hostile *m, uint32_t bound)
{
	return host_below(&m->random, bound);
}

static bool rarely(struct hostile *m)
{
	return !m->sane && hostile_below(m, 24) == 0;
}

/* Usually a small number, sometimes any. */
static uint32_t number(struct hostile *m, uint32_t bound)
{
	return rarely(m) ? (uint32_t)host_random(&m->random) : hostile_below(m, bound);
}

static uint32_t space_of(struct hostile *m)
{
	uint32_t lowest = m->guarded ? 1 : 0;
	uint32_t space =
		lowest + (rarely(m) ? (uint32_t)host_random(&m->random) : hostile_below(m, 4));

	return space < lowest ? lowest : space;
}

static uint64_t address(struct hostile *m, uint32_t granule)
{
	uint32_t start = m->guarded ? FREE_START : 0;
	uint64_t at = start + hostile_below(m, (HOST_MEMORY - start) / granule) * (uint64_t)granule;

	if (rarely(m))
		at |= host_random(&m->random) << 22;
	return rarely(m) ? at + 4 : at;
}

/* ---------------------------------------------------------------- commands */

static size_t make_create(struct hostile *m, void *out)
{
	struct t3_cmd_space_create cmd = {
		.space = space_of(m),
		.aperture_offset = (uint64_t)number(m, HOST_APERTURE / T3_PAGE_SIZE) * T3_PAGE_SIZE,
		.size = (uint64_t)number(m, 40) * T3_PAGE_SIZE,
		.buffer = address(m, T3_PAGE_SIZE),
		.counters = address(m, 16),
		.counter_count = number(m, 300),
		.client = number(m, 3),
		.event_area = HOST_BUS + (1 + number(m, 70)) * (uint64_t)T3_PAGE_SIZE,
	};

	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static size_t make_map(struct hostile *m, void *out)
{
	uint32_t kind = number(m, 4), dtype = number(m, T3_DTYPE_COUNT), rows = number(m, 9);
	uint32_t size = dtype < T3_DTYPE_COUNT ? ref_size(dtype) : 1, bytes = size * number(m, 40);
	uint32_t ops = T3_OP_COUNT;
	struct t3_cmd_seg_map cmd = {
		.space = space_of(m),
		.segment = number(m, 8),
		.kind = (uint8_t)kind,
		.op = (uint8_t)(kind == T3_SEG_REMOTE ? 0 : number(m, ops)),
		.dtype = (uint8_t)dtype,
		.init = (uint8_t)(kind == T3_SEG_REMOTE ? 0 : number(m, 2)),
		.target_op = (uint8_t)(kind == T3_SEG_LOCAL ? 0 : number(m, ops)),
		.offset = (uint64_t)size * number(m, 2000),
		.updates = 1 + number(m, 3),
		.rows = rows,
		.row_bytes = bytes,
		.pitch = bytes + size * number(m, 9),
		.tile_rows = number(m, rows + 2),
		.tile_row_bytes = size * number(m, bytes / size + 2),
		.counter_base = number(m, 200),
		.routes = kind == T3_SEG_LOCAL ? 0 : number(m, 9),
		.block_tiles = kind == T3_SEG_DMA ? number(m, 5) : 0,
		.target_segment = kind == T3_SEG_LOCAL ? 0 : number(m, 8),
		.target_row = kind == T3_SEG_LOCAL ? 0 : number(m, 3),
		.target_col = kind == T3_SEG_LOCAL ? 0 : size * number(m, 4),
	};

	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static size_t make_staging(struct hostile *m, void *out)
{
	struct t3_cmd_seg_staging cmd = { space_of(m),	      number(m, 8), address(m, 8),
					  8 * number(m, 400), number(m, 5), rarely(m) };

	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static uint32_t generation(struct hostile *m, uint32_t rank, uint32_t space)
{
	if (rank >= HOSTILE_RANKS || space >= T3_MAX_SPACES || rarely(m))
		return number(m, 4);
	return host_query(&m->host->dev[rank], space).generation;
}

static size_t make_route(struct hostile *m, void *out)
{
	uint32_t rank = number(m, HOSTILE_RANKS), space = number(m, 5);
	struct t3_cmd_route_set cmd = { space_of(m), number(m, 3), rank, space, 0, number(m, 4) };

	cmd.peer_generation = generation(m, rank, space);
	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static size_t make_import(struct hostile *m, void *out)
{
	uint32_t rank = number(m, HOSTILE_RANKS), space = number(m, 5);
	struct t3_cmd_import_set cmd = { space_of(m),	number(m, 4),		rank, space, 0,
					 number(m, 16), host_random(&m->random) };

	cmd.src_generation = generation(m, rank, space);
	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

/* One of few keys, so that some are right. */
static uint32_t key_of(struct hostile *m)
{
	return 1 + hostile_below(m, 3);
}

static size_t make_key(struct hostile *m, void *out)
{
	struct t3_cmd_key_set cmd = { space_of(m),
				      number(m, 4),
				      number(m, 1u << HOSTILE_RANKS),
				      number(m, 16),
				      host_random(&m->random),
				      { key_of(m) } };

	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static size_t make_claim(struct hostile *m, void *out)
{
	struct t3_cmd_route_claim cmd = { .key = { key_of(m) } };

	make_route(m, &cmd.to);
	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

/* Rings are in HOST_DATA, or nowhere, because the host checks each store to an event area. */
static uint64_t bus(struct hostile *m)
{
	uint64_t at = hostile_below(m, HOST_DATA_SIZE / 64) * 64ull;

	if (rarely(m))
		at = 0u - at;
	return rarely(m) ? at | 8 : HOST_DATA + at;
}

static size_t make_queue(struct hostile *m, void *out)
{
	struct t3_cmd_queue_create cmd = {
		.queue = number(m, 4),
		.priority = number(m, 4),
		.ring = bus(m),
		.completions = bus(m),
		.entries = rarely(m) ? number(m, 99) : 16u << hostile_below(m, 3),
		.client = number(m, 3),
	};

	if (m->guarded) /* only descriptors that were made here */
		cmd.ring = HOST_DATA + cmd.queue * 0x1000ull;
	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static size_t make_fence(struct hostile *m, void *out)
{
	struct t3_cmd_fence_set cmd = { number(m, 3), rarely(m), hostile_below(m, 20) };

	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

/* The accumulators lie in staging, or anywhere. */
static size_t make_widen(struct hostile *m, void *out)
{
	struct t3_cmd_seg_widen cmd = {
		.space = space_of(m),
		.segment = number(m, 4),
		.widen = !rarely(m),
		.mbz = rarely(m),
	};

	if (cmd.widen)
		cmd.address = rarely(m) ? host_random(&m->random)
					: HOST_STAGING_BASE(hostile_below(m, 4)) + 0x20000;
	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static size_t make_tile_query(struct hostile *m, void *out)
{
	struct t3_cmd_tile_query cmd = {
		.space = space_of(m),
		.segment = number(m, 4),
		.tile = number(m, 9),
		.tiles = rarely(m) ? number(m, 1) : 1 + hostile_below(m, T3_TILE_QUERY_MAX),
		.mbz = rarely(m),
	};

	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

static size_t make_index(struct hostile *m, void *out)
{
	struct t3_cmd_space cmd = { .space = space_of(m), .generation = number(m, 8) };

	memcpy(out, &cmd, sizeof(cmd));
	return sizeof(cmd);
}

/* Commands that remove things are rare, or nothing would exist for long. */
static uint32_t draw_opcode(struct hostile *m)
{
	static const uint8_t often[] = {
		T3_CMD_SPACE_CREATE, T3_CMD_SPACE_RESET, T3_CMD_SEG_MAP,      T3_CMD_SEG_MAP,
		T3_CMD_SEG_MAP,	     T3_CMD_SEG_STAGING, T3_CMD_SEG_STAGING,  T3_CMD_SEG_STATS,
		T3_CMD_ROUTE_SET,    T3_CMD_IMPORT_SET,	 T3_CMD_SPACE_CREATE, T3_CMD_QUEUE_CREATE,
		T3_CMD_QUEUE_CREATE, T3_CMD_QUEUE_ABORT, T3_CMD_FENCE_SET,    T3_CMD_TILE_QUERY,
		T3_CMD_KEY_SET,	     T3_CMD_ROUTE_CLAIM, T3_CMD_ROUTE_QUERY,  T3_CMD_ROUTE_CLEAR,
		T3_CMD_SEG_WIDEN,    T3_CMD_SEG_WIDEN,
	};

	return hostile_below(m, 6) ? often[hostile_below(m, sizeof(often))]
				   : number(m, T3_CMD_FENCE_SET + 2);
}

static void command(struct hostile *m, struct host_dev *d)
{
	uint64_t cmd[T3_MAILBOX_SIZE / 8] = { 0 };
	uint32_t opcode = draw_opcode(m);
	size_t size;

	switch (opcode) {
	case T3_CMD_SPACE_CREATE:
		size = make_create(m, cmd);
		break;
	case T3_CMD_SEG_MAP:
		size = make_map(m, cmd);
		break;
	case T3_CMD_SEG_STAGING:
		size = make_staging(m, cmd);
		break;
	case T3_CMD_SEG_WIDEN:
		size = make_widen(m, cmd);
		break;
	case T3_CMD_ROUTE_SET:
		size = make_route(m, cmd);
		break;
	case T3_CMD_IMPORT_SET:
		size = make_import(m, cmd);
		break;
	case T3_CMD_KEY_SET:
		size = make_key(m, cmd);
		break;
	case T3_CMD_ROUTE_CLAIM:
		size = make_claim(m, cmd);
		break;
	case T3_CMD_QUEUE_CREATE:
		size = make_queue(m, cmd);
		break;
	case T3_CMD_FENCE_SET:
		size = make_fence(m, cmd);
		break;
	case T3_CMD_TILE_QUERY:
		size = make_tile_query(m, cmd);
		break;
	default:
		size = make_index(m, cmd);
		break;
	}
	assert_true(host_command(d, opcode, cmd, size) <= T3_ADMIN_BAD_QUEUE);
}

/* ---------------------------------------------------------------- accesses */

static void doorbell(struct hostile *m, struct host_dev *d)
{
	uint32_t space = space_of(m) % T3_MAX_SPACES;
	struct t3_cmd_space now;

	if (m->guarded && !space)
		return;
	now = host_query(d, space);
	if (rarely(m))
		host_doorbell(d, space, hostile_below(m, 0x1000), host_random(&m->random),
			      1u << hostile_below(m, 4));
	else if (rarely(m))
		host_doorbell_read(d, space, hostile_below(m, 0x1000), 8);
	else if (now.state == T3_SPACE_IDLE)
		host_arm(d, space, rarely(m) ? number(m, 9) : now.epoch + 1);
	else if (now.state == T3_SPACE_COMPLETE)
		host_release(d, space, rarely(m) ? number(m, 9) : now.epoch);
	else if (now.state == T3_SPACE_ARMED || rarely(m))
		host_tile(d, space, number(m, 4), number(m, 2), number(m, 9));
}

static void aperture(struct hostile *m, struct host_dev *d)
{
	uint64_t lowest = m->guarded ? HOST_SPACE_SIZE : 0;
	uint64_t offset = lowest + 2ull * hostile_below(m, (uint32_t)(HOST_APERTURE - lowest) / 2);
	uint32_t size = 2u << hostile_below(m, 3);

	offset = rarely(m) ? offset | host_random(&m->random) << 20 | 1 : offset & ~7ull;
	if (hostile_below(m, 8))
		host_aperture_write(d, offset, host_random(&m->random), size);
	else
		t3_dev_aperture_read(d->dev, offset, rarely(m) ? 1 : size);
}

/* The places of build()'s segments. */
static void store_in_space(struct hostile *m, struct host_dev *d)
{
	uint32_t space = (m->guarded ? 1 : 0) + hostile_below(m, 4);
	uint32_t offset = hostile_below(m, 3) * 0x800 + 4 * hostile_below(m, 60);

	if (host_state(d, space) == T3_SPACE_ARMED || rarely(m))
		host_store(d, space, offset, host_random(&m->random), rarely(m) ? 8 : 4);
}

static void registers(struct hostile *m, struct host_dev *d)
{
	uint64_t offset =
		rarely(m) ? host_random(&m->random) & 0x3fffff : 4 * hostile_below(m, 0x4c0);
	uint32_t size = rarely(m) ? 1u << hostile_below(m, 4) : 4;

	if (offset >= T3_REG_CONTROL && offset < T3_REG_CONTROL + 4 && m->guarded)
		return;
	if (offset == T3_REG_ADMIN_COMMAND) /* with the current content of the mailbox */
		host_set(d, T3_REG_MAILBOX, space_of(m), 4);
	if (m->guarded && offset == T3_REG_ADMIN_COMMAND)
		return;
	if (hostile_below(m, 2))
		host_set(d, offset, host_random(&m->random), size);
	else
		host_get(d, offset, size);
}

static void scribble(struct hostile *m, struct host_dev *d)
{
	uint64_t at = address(m, 8) % (HOST_MEMORY - 8);
	uint64_t bits = host_random(&m->random);

	if (m->guarded && at < FREE_START)
		return;
	memcpy(d->memory + at, &bits, 8);
}

/* ------------------------------------------------------------------ queues */

/* An address in memory outside of the well-formed space. The device checks the destination. */
static uint64_t operand(struct hostile *m, uint32_t kind)
{
	if (kind == T3_LOC_HOST)
		return bus(m) + hostile_below(m, 70);
	if (kind == T3_LOC_SPACE)
		return hostile_below(m, 3) * 0x800 + 4 * hostile_below(m, 60);
	return address(m, 4);
}

static uint64_t build_queue(struct hostile *m, struct host_dev *d, uint32_t id)
{
	struct t3_cmd_queue_create cmd = {
		.queue = id,
		.priority = hostile_below(m, 4),
		.ring = HOST_DATA + id * 0x1000,
		.completions = HOST_DATA + id * 0x1000 + 0x800,
		.entries = 16,
	};

	host_command(d, T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd));
	return cmd.ring;
}

/* Up to 8 rows of up to 40 elements. Other accesses may overwrite its parameters. */
static void draw_gemm(struct hostile *m, struct host_dev *d, struct t3_descriptor *x)
{
	uint32_t columns = 1 + hostile_below(m, 40), place = 0x4000 + 64 * hostile_below(m, 8);
	struct gemm gemm = gemm_new(hostile_below(m, T3_DTYPE_U8), 1 + hostile_below(m, 8), columns,
				    1 + hostile_below(m, 30));

	gemm.g.a = address(m, 4);
	gemm.g.b = address(m, 4);
	gemm.g.group_rows = gemm.g.tile_rows = 1;
	gemm.g.tile_columns = (uint16_t)(1 + number(m, columns));
	gemm.d.src = HOST_DATA + place;
	gemm.d.dst_kind = hostile_below(m, 2) ? T3_LOC_SPACE : T3_LOC_MEMORY;
	gemm.d.dst = operand(m, gemm.d.dst_kind);
	memcpy(d->data + place, &gemm.g, sizeof(gemm.g));
	*x = gemm.d;
}

static void draw_move(struct hostile *m, struct t3_descriptor *x)
{
	bool update = x->opcode == T3_DESC_UPDATE, copy = x->opcode == T3_DESC_COPY;

	x->src_kind = (uint8_t)(copy ? number(m, 2) : 0);
	x->dst_kind = (uint8_t)(update ? 0 : number(m, 3));
	x->op = (uint8_t)(update ? number(m, 4) : 0);
	x->dtype = (uint8_t)(update ? number(m, 4) : 0);
	x->rows = number(m, 9);
	x->row_bytes = 4 * number(m, 2000);
	x->src = operand(m, x->src_kind);
	x->dst = operand(m, x->dst_kind);
	x->src_pitch = x->rows > 1 && x->opcode != T3_DESC_FILL ? x->row_bytes + number(m, 99) : 0;
	x->dst_pitch = x->rows > 1 ? x->row_bytes + number(m, 99) : 0;
}

static struct t3_descriptor draw_descriptor(struct hostile *m, struct host_dev *d)
{
	struct t3_descriptor x = { .opcode = (uint8_t)number(m, 7) };

	if (x.opcode == T3_DESC_GEMM) {
		draw_gemm(m, d, &x);
	} else if (x.opcode >= T3_DESC_WAIT || x.opcode == T3_DESC_NOP) {
		x.src = x.opcode ? hostile_below(m, 20) : rarely(m);
		x.dst = x.opcode ? number(m, 3) : 0;
	} else {
		draw_move(m, &x);
	}
	if (x.dst_kind == T3_LOC_SPACE) {
		x.space = space_of(m);
		x.generation = x.space < T3_MAX_SPACES ? host_query(d, x.space).generation : 1;
	}
	x.cookie = m->random;
	x.flags = x.opcode == T3_DESC_NOP ? 0 : (uint8_t)number(m, 2);
	return x;
}

static void garble(struct hostile *m, struct t3_descriptor *x)
{
	uint64_t bits[sizeof(*x) / 8];

	memcpy(bits, x, sizeof(*x));
	bits[hostile_below(m, sizeof(*x) / 8)] ^= host_random(&m->random);
	memcpy(x, bits, sizeof(*x));
}

/* Usually at the ring that was made, and usually a few descriptors. */
static void queue(struct hostile *m, struct host_dev *d)
{
	uint32_t id = hostile_below(m, 4), i, count = number(m, 6);
	struct t3_cmd_queue cmd = { .queue = id };
	uint64_t ring = m->ring[d->rank][id];

	host_command(d, T3_CMD_QUEUE_QUERY, &cmd, sizeof(cmd));
	if (cmd.state == T3_QUEUE_FREE)
		m->ring[d->rank][id] = build_queue(m, d, id);
	else if (cmd.state == T3_QUEUE_ERROR && hostile_below(m, 2))
		host_command(d, T3_CMD_QUEUE_ABORT, &cmd, sizeof(cmd));
	for (i = 0; ring && i < 16 && i < count; i++) {
		struct t3_descriptor x = draw_descriptor(m, d);

		if (!m->guarded && rarely(m))
			garble(m, &x);
		memcpy(d->data + ring - HOST_DATA + (cmd.tail + i) % 16 * sizeof(x), &x, sizeof(x));
	}
	host_set(d, T3_REG_QUEUE_TAIL + 4 * id, cmd.tail + count, 4);
}

/* Only when there is no well-formed space. */
static void catastrophe(struct hostile *m, struct host_dev *d)
{
	if (m->guarded)
		return;
	switch (hostile_below(m, 5)) {
	case 0:
		t3_dev_reset(d->dev);
		break;
	case 1:
		t3_dev_detach(d->dev);
		host_attach(m->host, d->rank);
		break;
	case 2:
		d->fail_after = rarely(m) ? 0 : HOST_NONE32;
		break;
	case 3:
		host_inject(m->host->fabric, hostile_below(m, HOSTILE_RANKS),
			    hostile_below(m, HOSTILE_RANKS), T3_INJECT_LINK_DOWN, rarely(m));
		break;
	default:
		t3_fabric_set_inline_budget(m->host->fabric,
					    hostile_below(m, 2) ? hostile_below(m, 4) : 4096);
		break;
	}
}

/* -------------------------------------------------------------- build up */

static void build_space(struct hostile *m, struct host_dev *d, uint32_t space)
{
	struct t3_cmd_space_create cmd = host_space_args(space);
	uint32_t state = host_query(d, space).state;

	if (state == T3_SPACE_DISABLED || state == T3_SPACE_QUIESCED || rarely(m)) {
		host_space_command(d, T3_CMD_SPACE_DISABLE, space);
		if (hostile_below(m, 2))
			host_drain(m->host);
		host_space_command(d, T3_CMD_SPACE_DESTROY, space);
	} else if (state != T3_SPACE_FREE && hostile_below(m, 8)) {
		host_space_command(d, T3_CMD_SPACE_RESET, space);
	}
	cmd.buffer = FREE_START + space * HOST_SPACE_SIZE;
	cmd.counters = FREE_START + 0x80000 + space * 0x4000;
	cmd.counter_count = 0x400;
	host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd));
}

static void build_segments(struct hostile *m, struct host_dev *d, uint32_t space)
{
	uint64_t cmd[T3_MAILBOX_SIZE / 8] = { 0 };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		struct t3_cmd_seg_map *map = (void *)cmd;
		struct t3_cmd_seg_staging staging = { space, i, 0, 0x400, 2, 0 };
		size_t size = make_map(m, cmd);

		map->space = space;
		map->segment = i;
		map->offset = i * 0x800;
		map->counter_base = i * 0x100;
		map->routes = map->kind == T3_SEG_REMOTE || map->kind == T3_SEG_DMA
				      ? 1 + hostile_below(m, 3)
				      : 0;
		map->target_row = map->target_col = 0;
		if (hostile_below(m, 2))
			map->dtype = map->op || map->target_op ? T3_DTYPE_I32 : T3_DTYPE_U8;
		if (map->kind != T3_SEG_LOCAL)
			map->target_segment = hostile_below(m, 3);
		host_command(d, T3_CMD_SEG_MAP, cmd, size);
		staging.address = rarely(m) ? address(m, 8) : FREE_START + 0xc0000 + i * 0x1000;
		host_command(d, T3_CMD_SEG_STAGING, &staging, sizeof(staging));
	}
}

static void grant(struct hostile *m, uint32_t from, uint32_t to, uint32_t space, uint32_t index)
{
	struct host_dev *dev = m->host->dev;
	struct t3_cmd_route_set route = { space, index, to, space, 0, index };
	struct t3_cmd_import_set import = { space, index, from, space, 0, 15, HOST_NONE64 };

	route.peer_generation = host_query(&dev[to], space).generation;
	import.src_generation = host_query(&dev[from], space).generation;
	host_command(&dev[from], T3_CMD_ROUTE_SET, &route, sizeof(route));
	host_command(&dev[to], T3_CMD_IMPORT_SET, &import, sizeof(import));
}

/* The same space on all ranks, with grants in both directions of the ring, then armed. */
static void build(struct hostile *m)
{
	uint32_t space = (m->guarded ? 1 : 0) + hostile_below(m, 4), r;
	struct host_dev *dev = m->host->dev;

	for (r = 0; r < HOSTILE_RANKS; r++)
		build_space(m, &dev[r], space);
	for (r = 0; r < HOSTILE_RANKS; r++) {
		grant(m, r, (r + 1) % HOSTILE_RANKS, space, 0);
		grant(m, r, (r + HOSTILE_RANKS - 1) % HOSTILE_RANKS, space, 1);
	}
	m->sane = true;
	for (r = 0; r < HOSTILE_RANKS; r++)
		build_segments(m, &dev[r], space);
	m->sane = false;
	for (r = 0; r < HOSTILE_RANKS; r++)
		if (!rarely(m))
			host_arm(&dev[r], space, host_query(&dev[r], space).epoch + 1);
}

/* ------------------------------------------------------------------- choose */

void hostile_step(struct hostile *m)
{
	struct host_dev *d = &m->host->dev[hostile_below(m, HOSTILE_RANKS)];

	switch (hostile_below(m, 44)) {
	case 0 ... 3:
		command(m, d);
		break;
	case 4 ... 17:
		doorbell(m, d);
		break;
	case 18:
		aperture(m, d);
		break;
	case 19 ... 31:
		store_in_space(m, d);
		break;
	case 32:
		registers(m, d);
		break;
	case 33:
		scribble(m, d);
		break;
	case 34:
		host_inject(m->host->fabric, hostile_below(m, HOSTILE_RANKS),
			    hostile_below(m, HOSTILE_RANKS),
			    1 + hostile_below(m, T3_INJECT_DROP_RESPONSE), hostile_below(m, 9));
		break;
	case 35 ... 36:
		build(m);
		break;
	case 37 ... 40:
		queue(m, d);
		break;
	default:
		if (rarely(m))
			catastrophe(m, d);
		t3_fabric_run(m->host->fabric, hostile_below(m, 9));
		break;
	}
}
