/* SPDX-License-Identifier: MIT */
/*
 * The short path of a store (t3_dev_aperture_store(), lane.c) against the long one (store.c). Two
 * hosts get the same operations, right ones and wrong ones. In the first no store takes the short
 * path: the linker gives the core's calls of it to this file. All that software sees must be the
 * same. The second host may have another tracker.
 */
#include "ops.h"
#include "pair.h"
#include "space/space_private.h"
#include "world.h"

#define STEPS_MAX 256u
#define SPACE	  0u

struct run {
	struct stream *in;
	struct pair pair;
	bool one_lane, held; /* held: events wait for an operation that runs them */
	uint32_t rank, lane;
};

static bool only_long;

bool __real_t3_lane_store(struct t3_dev *dev, uint32_t number, uint64_t offset, uint64_t value,
			  uint32_t size);
bool __wrap_t3_lane_store(struct t3_dev *dev, uint32_t number, uint64_t offset, uint64_t value,
			  uint32_t size);

bool __wrap_t3_lane_store(struct t3_dev *dev, uint32_t number, uint64_t offset, uint64_t value,
			  uint32_t size)
{
	return !only_long && __real_t3_lane_store(dev, number, offset, value, size);
}

static struct host_dev *device(struct run *run, uint32_t which)
{
	only_long = !which;
	return &run->pair.host[which]->dev[run->rank];
}

/*
 * As a host does it. The short path runs no events. So no events may wait here that the long path
 * would run: either all have run, or none run but by OP_LANE_EVENTS.
 */
static void give(struct run *run, uint64_t offset, uint64_t value, uint32_t size)
{
	struct host_dev *d = device(run, 0);

	t3_dev_aperture_write(d->dev, offset, value, size);
	d = device(run, 1);
	if (!t3_dev_aperture_store(d->dev, run->lane, offset, value, size))
		t3_dev_aperture_write(d->dev, offset, value, size);
}

/* ------------------------------------------------------------------ stores */

/* Mostly of an element, at its place. */
static void store(struct run *run)
{
	const struct pair_shape *shape = &run->pair.shape;
	uint32_t place = stream_u16(run->in), how = stream_u8(run->in), size = shape->size;
	uint64_t offset = pair_place(shape, place % PAIR_SEGMENTS,
				     place / PAIR_SEGMENTS % pair_elements(shape));

	if (how & 4)
		size = 1u << (how & 3);
	if (how & 8)
		offset = place % (PAIR_SEGMENTS * 0x400 + 16);
	if (how & 16)
		offset -= offset % size;
	give(run, offset, stream_u64(run->in), size);
}

static void store_run(struct run *run)
{
	const struct pair_shape *shape = &run->pair.shape;
	uint32_t place = stream_u16(run->in), count = stream_u8(run->in) % 128;
	uint32_t value = stream_u32(run->in), i;

	for (i = 0; i < count; i++)
		give(run,
		     pair_place(shape, place % PAIR_SEGMENTS,
				(place / PAIR_SEGMENTS + i) % pair_elements(shape)),
		     value + i, shape->size);
}

static void load(struct run *run)
{
	uint32_t offset = stream_u16(run->in) % (PAIR_SEGMENTS * 0x400 + 16);
	uint32_t width = stream_width(run->in);
	uint64_t value = t3_dev_aperture_read(device(run, 0)->dev, offset, width);

	assert_int_equal(t3_dev_aperture_read(device(run, 1)->dev, offset, width), value);
}

/* ------------------------------------------------------- what is around them */

static void tile(struct run *run)
{
	uint32_t what = stream_u8(run->in), number = stream_u8(run->in), i;

	for (i = 0; i < 2; i++)
		host_tile(device(run, i), SPACE, (what & 7) % PAIR_SEGMENTS, what >> 3 & 1,
			  what & 0x80 ? number : number % run->pair.shape.tiles);
}

static void arm(struct run *run)
{
	uint32_t more = stream_u8(run->in), i, r;

	for (i = 0; i < 2; i++) {
		uint32_t epoch = host_query(device(run, i), SPACE).epoch + 1 + more % 4;

		for (r = 0; r < run->pair.shape.ranks; r++)
			if (!(more & 0x80) || r == run->rank)
				host_arm(&run->pair.host[i]->dev[r], SPACE, epoch);
	}
}

static void release(struct run *run)
{
	uint32_t i;

	for (i = 0; i < 2; i++)
		host_release(device(run, i), SPACE, host_query(device(run, i), SPACE).epoch);
}

static void events(struct run *run)
{
	uint32_t what = stream_u8(run->in), i;

	run->held = what & 0x80;
	for (i = 0; i < 2; i++) {
		struct t3_fabric *fabric = run->pair.host[i]->fabric;

		device(run, i);
		t3_fabric_set_inline_budget(fabric, run->held ? 0 : T3_INLINE_BUDGET);
		if (run->held)
			t3_fabric_run(fabric, what & 0x7f);
		else
			host_drain(run->pair.host[i]);
	}
}

static void space(struct run *run)
{
	static const uint8_t opcodes[] = { T3_CMD_SPACE_RESET, T3_CMD_SPACE_DISABLE };
	uint32_t how = stream_u8(run->in), i;

	for (i = 0; i < 2; i++)
		host_space_command(device(run, i), opcodes[how % 2], SPACE);
}

/* Another shape of a segment, for the lanes that remember the last one. */
static void map(struct run *run)
{
	uint32_t segment = stream_u8(run->in) % PAIR_SEGMENTS, i, status[2];
	struct t3_cmd_seg_map cmd = pair_segment(&run->pair.shape, segment);

	stream_patch(run->in, &cmd, sizeof(cmd));
	cmd.space = SPACE;
	for (i = 0; i < 2; i++) {
		struct t3_cmd_seg_map args = cmd;

		host_space_command(device(run, i), T3_CMD_SPACE_RESET, SPACE);
		host_index_command(device(run, i), T3_CMD_SEG_UNMAP, SPACE, segment);
		status[i] = host_command(device(run, i), T3_CMD_SEG_MAP, &args, sizeof(args));
		pair_stage(device(run, i), &run->pair.shape, segment);
	}
	assert_int_equal(status[0], status[1]);
}

static void check(struct run *run)
{
	pair_expect_same(&run->pair);
}

static void reset(struct run *run)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		t3_dev_reset(device(run, i)->dev);
		if (!run->held) /* the next store on the long path would run what the peers learn */
			host_drain(run->pair.host[i]);
	}
}

static void (*const operations[OP_LANES_COUNT])(struct run *) = {
	[OP_LANE_STORE] = store,   [OP_LANE_RUN] = store_run, [OP_LANE_TILE] = tile,
	[OP_LANE_LOAD] = load,	   [OP_LANE_ARM] = arm,	      [OP_LANE_RELEASE] = release,
	[OP_LANE_EVENTS] = events, [OP_LANE_SPACE] = space,   [OP_LANE_MAP] = map,
	[OP_LANE_CHECK] = check,   [OP_LANE_RESET] = reset,
};

static void one(struct stream *in, struct host *host)
{
	struct run run = { .in = in };
	uint32_t steps;

	(void)host;
	only_long = false;
	pair_begin(&run.pair, in, false);
	run.one_lane = stream_u8(in) & 1;
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in);

		run.rank = (op >> 4 & 3) % run.pair.shape.ranks;
		run.lane = run.one_lane ? 0 : (op >> 6) * (T3_LANES / 4);
		operations[(op & 15) % OP_LANES_COUNT](&run);
	}
	pair_expect_same(&run.pair);
	world_check(run.pair.host[0]);
	world_check(run.pair.host[1]);
	only_long = false;
	pair_end(&run.pair);
}

const struct fuzz_target fuzz_target = { .one = one, .alone = true };
