/* SPDX-License-Identifier: MIT */
/*
 * Everything that a guest and its host can do to two or three devices: accesses of
 * all widths at meant and at raw offsets, commands, doorbells, resets, unplugging,
 * budget cuts, lost packets. One operation after the other: a byte of ops.h, a byte
 * for the rank, arguments.
 */
#include "hostile.h"
#include "ops.h"
#include "world.h"

#define STEPS_MAX 512u
/* Steps of the faulty driver, and spaces made on all ranks: each takes as long as many accesses. */
#define HEAVY_MAX 128u
#define OPCODES	  32u /* of commands, and some that are none */

struct run {
	struct stream *in;
	struct host *host;
	struct host_dev *d;
	uint32_t rank;
	uint32_t heavy; /* such steps so far */
};

/* ---------------------------------------------------------------- registers */

/* clang-format off */
static const uint32_t registers[] = {
	T3_REG_ID, T3_REG_CONTROL, T3_REG_MEMORY_SIZE, T3_REG_VCLOCK,
	T3_REG_ERROR_STATUS, T3_REG_ERROR_ENABLE, T3_REG_EVENT_VECTOR, T3_REG_ERROR_VECTOR,
	T3_REG_EVENT_SUMMARY, T3_REG_SPACE_PENDING, T3_REG_SPACE_ENABLE, T3_REG_ADMIN_COMMAND,
	T3_REG_ADMIN_STATUS, T3_REG_MAILBOX, T3_REG_COUNTERS, T3_REG_FABRIC_ID,
};
/* clang-format on */

static void reg_read(struct run *run)
{
	uint32_t offset = registers[stream_u8(run->in) % (sizeof(registers) / 4)];

	offset += stream_u8(run->in);
	host_get(run->d, offset, stream_width(run->in));
}

static void reg_write(struct run *run)
{
	uint32_t offset = registers[stream_u8(run->in) % (sizeof(registers) / 4)];
	uint32_t width;

	offset += stream_u8(run->in);
	width = stream_width(run->in);
	host_set(run->d, offset, stream_u64(run->in), width);
}

static void raw_read(struct run *run)
{
	uint32_t offset = stream_u32(run->in);

	t3_dev_regs_read(run->d->dev, offset, stream_width(run->in));
}

static void raw_write(struct run *run)
{
	uint32_t offset = stream_u32(run->in), width = stream_width(run->in);

	t3_dev_regs_write(run->d->dev, offset, stream_u64(run->in), width);
}

/* ----------------------------------------------------------------- commands */

union command {
	struct t3_cmd_space_create create;
	struct t3_cmd_seg_map map;
	struct t3_cmd_seg_staging staging;
	struct t3_cmd_seg_widen widen;
	struct t3_cmd_route_set route;
	struct t3_cmd_import_set import;
	struct t3_cmd_index index;
	struct t3_cmd_tile_query tile;
	struct t3_cmd_inject_text text;
	struct t3_cmd_key_set key;
	struct t3_cmd_route_claim claim;
	uint64_t words[12];
};

/* clang-format off */
static void make_grant(struct run *run, uint32_t opcode, uint32_t space, uint32_t index,
		       union command *cmd)
{
	uint32_t peer = (run->rank + 1) % run->host->ranks;
	uint32_t generation = host_query(&run->host->dev[peer], space).generation;
	struct t3_cmd_route_set route = { space, index, peer, space, generation, 0 };
	struct t3_cmd_import_set import = {
		space, index, peer, space, generation, 15, HOST_NONE64,
	};

	if (opcode == T3_CMD_ROUTE_SET)
		cmd->route = route;
	else if (opcode == T3_CMD_IMPORT_SET)
		cmd->import = import;
	else if (opcode == T3_CMD_KEY_SET)
		cmd->key = (struct t3_cmd_key_set){ space, index, 3, 15, HOST_NONE64, { 1 } };
	else
		cmd->claim = (struct t3_cmd_route_claim){ route, { 1 } };
}

/* A command that would be valid for this space, then the patches of the input. */
static void admin(struct run *run)
{
	uint32_t opcode = stream_u8(run->in) % OPCODES, space = stream_u8(run->in) % WORLD_SPACES;
	uint32_t index = stream_u8(run->in) % 4;
	struct t3_cmd_seg_staging staging = { space, index, HOST_STAGING, 0x400, 2, 0 };
	struct t3_cmd_seg_widen widen = { space, index, HOST_STAGING, 1, 0 };
	struct t3_cmd_tile_query tile = { .space = space, .segment = index, .tiles = 3 };
	struct t3_cmd_inject_text text = { .text = "drop peer=1 nth=2;poison address=0 value=64" };
	union command cmd = { .index = { space, index } };

	if (opcode == T3_CMD_SPACE_CREATE)
		cmd.create = host_space_args(space);
	else if (opcode == T3_CMD_SEG_MAP)
		cmd.map = host_segment(space, index, 1 + stream_u8(run->in) % 3, T3_OP_ADD,
				       T3_DTYPE_I32);
	else if (opcode == T3_CMD_SEG_STAGING)
		cmd.staging = staging;
	else if (opcode == T3_CMD_SEG_WIDEN)
		cmd.widen = widen;
	else if (opcode == T3_CMD_TILE_QUERY)
		cmd.tile = tile;
	else if (opcode == T3_CMD_INJECT_TEXT)
		cmd.text = text;
	else if (opcode == T3_CMD_ROUTE_SET || opcode == T3_CMD_IMPORT_SET ||
		 opcode == T3_CMD_KEY_SET || opcode == T3_CMD_ROUTE_CLAIM)
		make_grant(run, opcode, space, index, &cmd);
	stream_patch(run->in, &cmd, sizeof(cmd));
	host_command(run->d, opcode, &cmd, sizeof(cmd));
}
/* clang-format on */

static void build(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES, how = stream_u8(run->in);

	if (run->heavy++ >= HEAVY_MAX)
		return;
	world_build(run->host, space, how % T3_DTYPE_COUNT, 1 + how / 4 % 3);
	if (how & 0x80)
		world_arm(run->host, space);
}

/* ---------------------------------------------------- doorbells and aperture */

static void doorbell_write(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES, offset = stream_u16(run->in) % 4096;
	uint32_t width = stream_width(run->in);

	host_doorbell(run->d, space, offset, stream_u64(run->in), width);
}

static void doorbell_read(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES, offset = stream_u16(run->in) % 4096;

	host_doorbell_read(run->d, space, offset, stream_width(run->in));
}

static void arm(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES;
	uint32_t epoch = host_query(run->d, space).epoch;

	host_arm(run->d, space, epoch + 1 + stream_u8(run->in));
}

static void arm_all(struct run *run)
{
	world_arm(run->host, stream_u8(run->in) % WORLD_SPACES);
}

static void release(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES;
	uint32_t epoch = host_query(run->d, space).epoch;

	host_release(run->d, space, epoch + stream_u8(run->in));
}

static void tile(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES, what = stream_u16(run->in);

	host_tile(run->d, space, what & 7, what >> 3 & 3, what >> 5);
}

static void store(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES, offset = stream_u16(run->in);
	uint32_t width = stream_width(run->in);

	host_store(run->d, space, offset, stream_u64(run->in), width);
}

static void fill(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES, segment = stream_u8(run->in) % 4;

	host_fill(run->d, space, segment, stream_u32(run->in));
}

static void load(struct run *run)
{
	uint64_t offset = stream_u32(run->in);

	t3_dev_aperture_read(run->d->dev, offset, stream_width(run->in));
}

static void raw_store(struct run *run)
{
	uint64_t offset = stream_u64(run->in);
	uint32_t width = stream_width(run->in);

	host_aperture_write(run->d, offset, stream_u64(run->in), width);
}

/* BAR2 belongs to the guest, so counter records may change below the device. */
static void scribble(struct run *run)
{
	uint32_t at = stream_u32(run->in) % (HOST_MEMORY - 8);
	uint64_t bits = stream_u64(run->in);

	memcpy(run->d->memory + at, &bits, sizeof(bits));
}

static void scribble_record(struct run *run)
{
	uint32_t space = stream_u8(run->in) % WORLD_SPACES, tile = stream_u8(run->in);

	stream_patch(run->in, run->d->memory + HOST_COUNTER_BASE(space) + 16 * tile,
		     sizeof(struct t3_tile_record));
}

/* ----------------------------------------------------------------- the host */

static void reset(struct run *run)
{
	t3_dev_reset(run->d->dev);
}

static void replug(struct run *run)
{
	uint32_t events = stream_u8(run->in);

	t3_dev_detach(run->d->dev);
	t3_fabric_run(run->host->fabric, events);
	host_attach(run->host, run->rank);
}

static void budget(struct run *run)
{
	t3_fabric_set_inline_budget(run->host->fabric, stream_u8(run->in));
}

static void events(struct run *run)
{
	t3_fabric_run(run->host->fabric, stream_u8(run->in));
}

static void dma_fails(struct run *run)
{
	uint32_t good = stream_u8(run->in);

	run->d->fail_after = good == 255 ? HOST_NONE32 : good;
}

static void inject(struct run *run)
{
	struct t3_cmd_inject inject = {
		.kind = stream_u8(run->in) % (T3_INJECT_KIND_COUNT + 1u),
		.rank = run->rank,
		.peer = stream_u8(run->in) % T3_MAX_RANKS,
		.nth = stream_u8(run->in),
		.count = 1,
	};

	stream_patch(run->in, &inject, sizeof(inject));
	t3_fabric_inject(run->host->fabric, &inject);
}

/* The unit tests' faulty driver makes a few steps, from a seed. */
static void hostile(struct run *run)
{
	struct hostile mad = { .host = run->host };
	uint32_t steps = stream_u8(run->in) % 32;

	mad.random = 0x9e3779b97f4a7c15ull * (1 + stream_u16(run->in));
	while (run->host->ranks == HOSTILE_RANKS && steps-- && run->heavy++ < HEAVY_MAX)
		hostile_step(&mad);
}

static void (*const operations[OP_REGS_COUNT])(struct run *) = {
	[OP_REG_READ] = reg_read,
	[OP_REG_WRITE] = reg_write,
	[OP_RAW_READ] = raw_read,
	[OP_RAW_WRITE] = raw_write,
	[OP_ADMIN] = admin,
	[OP_BUILD] = build,
	[OP_DOORBELL_WRITE] = doorbell_write,
	[OP_DOORBELL_READ] = doorbell_read,
	[OP_ARM] = arm,
	[OP_ARM_ALL] = arm_all,
	[OP_RELEASE] = release,
	[OP_TILE] = tile,
	[OP_STORE] = store,
	[OP_FILL] = fill,
	[OP_LOAD] = load,
	[OP_RAW_STORE] = raw_store,
	[OP_SCRIBBLE] = scribble,
	[OP_SCRIBBLE_RECORD] = scribble_record,
	[OP_RESET] = reset,
	[OP_REPLUG] = replug,
	[OP_BUDGET] = budget,
	[OP_EVENTS] = events,
	[OP_DMA_FAILS] = dma_fails,
	[OP_INJECT] = inject,
	[OP_HOSTILE] = hostile,
};

static void one(struct stream *in, struct host *host)
{
	struct run run = { .in = in, .host = host };
	uint32_t steps;

	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in) % OP_REGS_COUNT;

		run.rank = stream_u8(in) % host->ranks;
		run.d = &host->dev[run.rank];
		operations[op](&run);
	}
}

const struct fuzz_target fuzz_target = { .one = one };
