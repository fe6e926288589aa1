/* SPDX-License-Identifier: MIT */
/*
 * Queues: descriptors of all kinds that are almost right, and rings that overlap each other and the
 * descriptors' destinations. Doorbells with any value, commands, host memory that fails and
 * changes, and spaces in every state as destinations.
 */
#include "ops.h"
#include "queue.h"
#include "queue/queue.h"
#include "t3_timed.h"
#include "world.h"

#define STEPS_MAX    256u
#define QUEUES	     4u
#define DRAIN_EVENTS 2000u
#define TIMED_MAX    3u		/* a machine for a timed run takes as long to make as an input */
#define BIG	     (1u << 24) /* no extent of a run is above it */

struct run {
	struct stream *in;
	struct host *host;
	struct host_dev *d;
	uint32_t queue;
	uint32_t timed; /* descriptors of timed runs */
};

static void create(struct run *run)
{
	struct t3_cmd_queue_create cmd = queue_args(run->queue, stream_u8(run->in) % 4);

	stream_patch(run->in, &cmd, sizeof(cmd));
	host_command(run->d, T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd));
}

static void command(struct run *run)
{
	struct t3_cmd_queue cmd = { .queue = run->queue };
	uint32_t opcode = T3_CMD_QUEUE_DESTROY + stream_u8(run->in) % 3;

	stream_patch(run->in, &cmd, sizeof(cmd));
	host_command(run->d, opcode, &cmd, sizeof(cmd));
}

/* -------------------------------------------------------------- descriptors */

/* 64-byte steps through the interesting places of each location. */
static uint64_t address(struct run *run, uint32_t location)
{
	uint64_t offset = stream_u16(run->in) * 64ull;

	switch (location) {
	case T3_LOC_HOST:
		return HOST_DATA + offset % HOST_DATA_SIZE;
	case T3_LOC_SPACE:
		return offset / 16 % HOST_SPACE_SIZE;
	default:
		return offset % HOST_MEMORY;
	}
}

static void set_rows(struct run *run, struct t3_descriptor *desc)
{
	desc->rows = 1 + stream_u8(run->in) % 8;
	desc->row_bytes = 4 * (1 + stream_u16(run->in) % 2048);
	desc->dst_pitch = desc->rows > 1 ? desc->row_bytes + stream_u8(run->in) : 0;
	if (desc->opcode != T3_DESC_FILL && desc->rows > 1)
		desc->src_pitch = desc->dst_pitch;
}

static void set_operands(struct run *run, struct t3_descriptor *desc)
{
	uint32_t kinds = stream_u8(run->in);

	if (desc->opcode == T3_DESC_COPY)
		desc->src_kind = kinds & 1;
	if (desc->opcode != T3_DESC_UPDATE)
		desc->dst_kind = (kinds >> 1) % 3;
	set_rows(run, desc);
	desc->src = address(run, desc->src_kind);
	desc->dst = address(run, desc->dst_kind);
	if (desc->dst_kind == T3_LOC_SPACE) {
		desc->space = kinds >> 4 & 1;
		desc->generation = t3_spaces(run->d->dev)->generation[desc->space];
	}
	if (desc->opcode == T3_DESC_UPDATE) {
		desc->op = (kinds >> 2 & 3) + (kinds & 1 ? T3_OP_AND : 0);
		desc->dtype = (kinds >> 4) % T3_DTYPE_COUNT;
	}
}

/*
 * An output of up to 8 rows of up to 64 elements. Half of them go to a space with type f32. Its
 * parameters are after the rings, where anything may overwrite them.
 */
static void set_gemm(struct run *run, struct t3_descriptor *desc)
{
	uint32_t how = stream_u8(run->in), cols = 1 + stream_u8(run->in) % 64;
	struct t3_gemm g = { .depth = 1 + stream_u8(run->in) % 32, .raster_rows = 1 + (how & 3) };
	uint32_t place = QUEUES * 0x1000u + run->queue * (uint32_t)sizeof(g);
	uint32_t size = how & 4 ? 2 : 4;

	desc->dtype = how & 4 ? T3_DTYPE_F16 : how & 8 ? T3_DTYPE_I32 : T3_DTYPE_F32;
	desc->src_kind = T3_LOC_HOST;
	desc->rows = 1 + (how >> 4 & 7);
	desc->row_bytes = cols * size;
	desc->dst_pitch = desc->rows > 1 ? desc->row_bytes : 0;
	desc->dst_kind = how & 0x80 ? T3_LOC_SPACE : T3_LOC_MEMORY;
	desc->dst = address(run, desc->dst_kind);
	if (desc->dst_kind == T3_LOC_SPACE)
		desc->generation = t3_spaces(run->d->dev)->generation[0];
	g.a = address(run, T3_LOC_MEMORY);
	g.b = address(run, T3_LOC_MEMORY);
	g.a_pitch = desc->rows > 1 ? g.depth * size : 0;
	g.b_pitch = g.depth > 1 ? desc->row_bytes : 0;
	g.chunk_rows = desc->rows > 4 ? desc->rows / 2 : desc->rows;
	g.group_rows = g.tile_rows = 1;
	g.group_columns = (uint16_t)cols;
	g.tile_columns = (uint16_t)(cols > 5 ? cols / 3 : cols);
	if (how & 1)
		stream_patch(run->in, &g, sizeof(g));
	memcpy(run->d->data + place, &g, sizeof(g));
	desc->src = HOST_DATA + place;
}

#define COUNTS	       36u /* of 3 ranks and 12 experts */
#define COUNTED_MEMORY 0x3000u

/* Arguments with the counts that follow them. */
struct counted {
	struct t3_timed_args args;
	uint32_t counts[COUNTS];
};

/* An expert layer of few rows, in host memory or in that of the device. */
static void set_experts(struct run *run, struct counted *timed, struct t3_descriptor *desc)
{
	static const uint32_t programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3, T3_TIMED_T3_MCA,
					     T3_TIMED_ALONE };
	uint32_t how = stream_u8(run->in), i;

	timed->args.program = programs[how & 3];
	timed->args.nodes = 0;
	timed->args.experts = timed->args.ranks * (1 + (how >> 2 & 3));
	timed->args.way = how >> 4 & 1;
	timed->args.rows = 0;
	for (i = 0; i < timed->args.ranks * timed->args.experts; i++) {
		timed->counts[i] = how & 0x80 ? 3 : (how + 5 * i) % 7; /* 3: ranks are alike */
		timed->args.rows += timed->counts[i];
	}
	desc->row_bytes = i * (uint32_t)sizeof(timed->counts[0]);
	if (how & 0x20)
		desc->src_kind = T3_LOC_MEMORY;
}

/* A small machine and shape. A patch that makes it large but valid is made small again. */
static void set_timed(struct run *run, struct t3_descriptor *desc)
{
	uint32_t how = stream_u8(run->in), place = 0x8000u + run->queue * 0x400u, i;
	bool experts = (how >> 3) % T3_TIMED_COLLECTIVES == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	struct counted timed = { 0 };
	struct t3_timed_args args = {
		.program = how % T3_TIMED_PROGRAMS,
		.flags = how & 0x80 ? T3_TIMED_MIRRORED : 0,
		.nodes = how & 0x10 ? 2 : 0,
		.ranks = how & 0x40 ? 3 : 2,
		.element_bytes = 2,
		.rows = 96,
		.columns = 40,
		.depth = 24,
		.collective = (how >> 3) % T3_TIMED_COLLECTIVES,
	};

	for (i = 0; i < T3_TIMED_PARAMS; i++)
		args.params[i] = t3_timed_params[i].value;
	for (i = 0; i < T3_TIMED_PARAMS; i++)
		if (!strncmp(t3_timed_params[i].name, "tile_", 5) ||
		    !strcmp(t3_timed_params[i].name, "k_block"))
			args.params[i] = 16;
	args.params[T3_TIMED_PARAM_COLLECTIVE_UNITS] = 8;
	args.params[T3_TIMED_PARAM_CACHE_KIB] = 64;
	desc->src_kind = desc->dst_kind = T3_LOC_HOST;
	timed.args = args;
	if (experts)
		set_experts(run, &timed, desc);
	if (how & 0x20)
		stream_patch(run->in, &timed, experts ? sizeof(timed) : sizeof(args));
	args = timed.args;
	timed.args.rows = args.rows < BIG ? args.rows % 512 : args.rows;
	timed.args.columns = args.columns < BIG ? args.columns % 512 : args.columns;
	timed.args.depth = args.depth < BIG ? args.depth % 512 : args.depth;
	desc->src = HOST_DATA + place;
	memcpy(run->d->data + place, &timed, sizeof(timed));
	if (desc->src_kind == T3_LOC_MEMORY) {
		desc->src = COUNTED_MEMORY;
		memcpy(run->d->memory + COUNTED_MEMORY, &timed, sizeof(timed));
	}
	desc->dst = HOST_DATA + 0xa000u + run->queue * 0x400u;
}

/* Put it into the ring at the next place, with the doorbell or without. */
static void put(struct run *run)
{
	struct t3_queue *q = &t3_queues(run->d->dev)->queue[run->queue];
	uint32_t what = stream_u8(run->in), entries = q->entries ? q->entries : QUEUE_ENTRIES;
	struct t3_descriptor desc = { .opcode = (what & 7), .flags = what >> 3 & 1 };
	uint64_t at = q->ring - HOST_DATA + q->tail % entries * sizeof(desc);

	if (desc.opcode == T3_DESC_WAIT || desc.opcode == T3_DESC_SIGNAL) {
		desc.dst = stream_u8(run->in) % 4;
		desc.src = stream_u8(run->in) % 4;
	} else if (desc.opcode == T3_DESC_GEMM) {
		set_gemm(run, &desc);
	} else if (desc.opcode == T3_DESC_TIMED && run->timed++ < TIMED_MAX) {
		set_timed(run, &desc);
	} else if (desc.opcode != T3_DESC_NOP) {
		set_operands(run, &desc);
	}
	if (what & 0x80)
		stream_patch(run->in, &desc, sizeof(desc));
	if (at <= HOST_DATA_SIZE - sizeof(desc))
		memcpy(run->d->data + at, &desc, sizeof(desc));
	if (!(what & 0x10))
		host_set(run->d, T3_REG_QUEUE_TAIL + 4 * run->queue, q->tail + 1, 4);
}

static void tail(struct run *run)
{
	uint32_t more = stream_u8(run->in);
	uint32_t value = t3_queues(run->d->dev)->queue[run->queue].tail + more;

	if (more == 255)
		value = stream_u32(run->in);
	host_set(run->d, T3_REG_QUEUE_TAIL + 4 * run->queue, value, 4);
}

static void fence(struct run *run)
{
	struct t3_cmd_fence_set cmd = { .fence = stream_u8(run->in) % 4 };

	cmd.value = stream_u8(run->in) % 8;
	stream_patch(run->in, &cmd, sizeof(cmd));
	host_command(run->d, T3_CMD_FENCE_SET, &cmd, sizeof(cmd));
}

/* -------------------------------------------------- what is around the queues */

static void scribble(struct run *run)
{
	uint32_t at = stream_u16(run->in) * 8u % (QUEUES * 0x1000u);

	stream_patch(run->in, run->d->data + at, sizeof(struct t3_descriptor));
}

static void build(struct run *run)
{
	uint32_t how = stream_u8(run->in);

	world_build(run->host, how & 1, how >> 1 & 3, 1 + (how >> 3 & 3));
	if (how & 0x80)
		world_arm(run->host, how & 1);
}

static void space(struct run *run)
{
	static const uint8_t opcodes[] = { T3_CMD_SPACE_RESET, T3_CMD_SPACE_DISABLE,
					   T3_CMD_SPACE_DESTROY };
	uint32_t how = stream_u8(run->in);

	if (how & 0x80)
		host_release(run->d, how & 1, host_query(run->d, how & 1).epoch);
	else if (how & 0x40)
		host_fill(run->d, how & 1, how >> 1 & 3, how);
	else
		host_space_command(run->d, opcodes[(how >> 1) % 3], how & 1);
}

static void events(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	t3_fabric_set_inline_budget(run->host->fabric, what & 0x80 ? DRAIN_EVENTS : 0);
	t3_fabric_run(run->host->fabric, what & 0x7f);
}

static void host(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	if (what & 0x80)
		t3_dev_reset(run->d->dev);
	else if (what & 0x40)
		run->d->fail_after = what & 0x20 ? HOST_NONE32 : what & 0x1f;
	else
		run->d->fail_data = what & 0x1f;
}

static void inject(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	struct t3_cmd_inject inject = {
		.kind = (what & 15) % T3_INJECT_KIND_COUNT,
		.rank = run->d->rank,
		.peer = what & 1 ? run->queue : (run->d->rank + 1) % run->host->ranks,
		.nth = 1 + (what >> 4),
		.count = 1,
	};

	stream_patch(run->in, &inject, sizeof(inject));
	t3_fabric_inject(run->host->fabric, &inject);
}

static void (*const operations[OP_DESCRIPTOR_COUNT])(struct run *) = {
	[OP_DESC_CREATE] = create, [OP_DESC_COMMAND] = command, [OP_DESC_PUT] = put,
	[OP_DESC_TAIL] = tail,	   [OP_DESC_FENCE] = fence,	[OP_DESC_SCRIBBLE] = scribble,
	[OP_DESC_BUILD] = build,   [OP_DESC_SPACE] = space,	[OP_DESC_EVENTS] = events,
	[OP_DESC_HOST] = host,	   [OP_DESC_INJECT] = inject,
};

/* An operation's byte: its kind, device and queue. */
static void one(struct stream *in, struct host *host)
{
	struct run run = { .in = in, .host = host };
	uint32_t steps;

	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in);

		run.d = &host->dev[(op >> 4 & 3) % host->ranks];
		run.queue = op >> 6;
		operations[(op & 15) % OP_DESCRIPTOR_COUNT](&run);
		t3_fabric_run(host->fabric, host->fabric->inline_budget);
	}
}

const struct fuzz_target fuzz_target = { .one = one };
