/* SPDX-License-Identifier: MIT */
/*
 * Migration: devices are brought somewhere, their state is saved, changed in places
 * or replaced, and loaded. A state that is refused leaves devices that work after
 * t3_fabric_clear(); one that is taken is a machine like any other, which runs on.
 */
#include <sanitizer/asan_interface.h>

#include "migrate.h"
#include "ops.h"
#include "queue.h"
#include "world.h"

#define STEPS_MAX 128u
#define MOVES_MAX 8u /* saves and loads of one input: they take a hundred times as long as others */

struct run {
	struct stream *in;
	struct host *host;
	struct host_dev *d;
	struct blobs *blobs;
	bool saved;
	uint32_t moves;
};

/* ------------------------------------------------------------ on the way there */

static void build(struct run *run)
{
	uint32_t how = stream_u8(run->in);

	world_build(run->host, how & 1, how >> 1 & 3, 1 + (how >> 3 & 3));
	if (how & 0x80)
		world_arm(run->host, how & 1);
}

static void fill(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	host_fill(run->d, what & 1, what >> 1 & 3, what);
}

static void tile(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	host_tile(run->d, what & 1, what >> 1 & 3, what >> 3 & 1, what >> 4);
}

static void queue(struct run *run)
{
	uint32_t what = stream_u8(run->in), id = what & 1;
	struct t3_cmd_queue_create cmd = queue_args(id, what >> 1 & 3);
	struct t3_cmd_queue now = { .queue = id };
	struct t3_descriptor desc =
		what & 8 ? queue_wait(what >> 4, 1) : queue_copy(0x300000, 0x301000, 0x1800);

	host_command(run->d, T3_CMD_QUEUE_CREATE, &cmd, sizeof(cmd));
	host_command(run->d, T3_CMD_QUEUE_QUERY, &now, sizeof(now));
	memcpy(run->d->data + id * 0x1000 + now.tail % QUEUE_ENTRIES * sizeof(desc), &desc,
	       sizeof(desc));
	host_set(run->d, T3_REG_QUEUE_TAIL + 4 * id, now.tail + 1, 4);
}

static void space(struct run *run)
{
	static const uint8_t opcodes[] = { T3_CMD_SPACE_RESET, T3_CMD_SPACE_DISABLE,
					   T3_CMD_SPACE_DESTROY };
	uint32_t how = stream_u8(run->in);

	host_space_command(run->d, opcodes[(how >> 1) % 3], how & 1);
}

static void events(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	t3_fabric_set_inline_budget(run->host->fabric, what & 0x80 ? T3_INLINE_BUDGET : 0);
	t3_fabric_run(run->host->fabric, what & 0x7f);
}

/* -------------------------------------------------------------- the state itself */

/* What follows a part may be used again for a save, but no load may read it. */
static void guard(struct blobs *blobs)
{
	uint32_t i;

	for (i = 0; i <= blobs->ranks; i++)
		ASAN_POISON_MEMORY_REGION(blobs->part[i].data + blobs->part[i].len,
					  blobs->part[i].room - blobs->part[i].len);
}

static void unguard(struct blobs *blobs)
{
	uint32_t i;

	for (i = 0; i < T3_MAX_RANKS + 1; i++)
		ASAN_UNPOISON_MEMORY_REGION(blobs->part[i].data, blobs->part[i].room);
}

static void save(struct run *run)
{
	if (run->moves++ >= MOVES_MAX)
		return;
	blobs_save_again(run->blobs, run->host);
	run->saved = true;
}

static struct blob *part(struct run *run)
{
	return &run->blobs->part[stream_u8(run->in) % (run->host->ranks + 1)];
}

static void change(struct run *run)
{
	struct blob *blob = run->saved ? part(run) : NULL;
	uint32_t offset = stream_u16(run->in) * 4u, width = stream_width(run->in);
	uint64_t value = stream_u64(run->in);

	if (blob && blob->len >= 8)
		memcpy(blob->data + offset % (blob->len - 7), &value, width);
}

/* Shorter, or with additional bytes at the end, or with bytes missing in the middle. */
static void cut(struct run *run)
{
	struct blob *blob = run->saved ? part(run) : NULL;
	uint32_t offset = stream_u16(run->in) * 4u, gone = 4 * stream_u8(run->in);

	if (!blob || !blob->len)
		return;
	offset %= blob->len;
	if (!gone || gone > blob->len - offset)
		gone = (uint32_t)blob->len - offset;
	memmove(blob->data + offset, blob->data + offset + gone, blob->len - offset - gone);
	blob->len -= gone;
}

/* The state of one rank is loaded into another one. */
static void exchange(struct run *run)
{
	struct blob *a = part(run), *b = part(run), t = *a;

	*a = *b;
	*b = t;
}

static void load(struct run *run)
{
	uint32_t order = stream_u8(run->in);

	if (!run->saved || run->moves++ >= MOVES_MAX)
		return;
	guard(run->blobs);
	if (blobs_load(run->blobs, run->host, order))
		t3_fabric_clear(run->host->fabric);
	unguard(run->blobs);
	world_check(run->host);
}

static void (*const operations[OP_STATE_COUNT])(struct run *) = {
	[OP_STATE_BUILD] = build,	[OP_STATE_FILL] = fill,	    [OP_STATE_TILE] = tile,
	[OP_STATE_QUEUE] = queue,	[OP_STATE_SPACE] = space,   [OP_STATE_EVENTS] = events,
	[OP_STATE_SAVE] = save,		[OP_STATE_CHANGE] = change, [OP_STATE_CUT] = cut,
	[OP_STATE_EXCHANGE] = exchange, [OP_STATE_LOAD] = load,
};

static void one(struct stream *in, struct host *host)
{
	static struct blobs blobs;
	struct run run = { .in = in, .host = host, .blobs = &blobs };
	uint32_t steps;

	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in);

		run.d = &host->dev[(op >> 4) % host->ranks];
		operations[(op & 15) % OP_STATE_COUNT](&run);
	}
}

const struct fuzz_target fuzz_target = { .one = one };
