/* SPDX-License-Identifier: MIT */
/*
 * The same work in two orders. The input is a list of stores and doorbells of several ranks, none of
 * them one too many. The first host does them one after the other, and events run at once. In the
 * second they are shuffled, several lanes store, and events run late. Counts, results and states
 * must be the same (SPEC.md sections 3.3, 4 and 8): the values make sums exact.
 */
#include "ops.h"
#include "pair.h"
#include "ref.h"
#include "world.h"

#define STEPS_MAX  128u
#define PIECES_MAX 1024u
#define EPOCHS_MAX 2u
#define SPACE	   0u
/* bf16 has all integers up to 256. A segment that keeps its sums sends them in each epoch. */
#define WEIGHT_MAX 40u

/* A store, or a doorbell for a tile. */
struct piece {
	uint8_t rank, segment, size;
	bool staged;
	uint16_t place; /* an element, or a tile */
	uint8_t slot;
	uint64_t value;
};

struct run {
	struct stream *in;
	struct pair pair;
	uint32_t rank, epoch, weight;
	uint64_t random;
	uint32_t pieces;
	/* Of this epoch: update bytes of a tile by its rank, and tiles with a doorbell. */
	uint32_t counted[PAIR_RANKS][PAIR_SEGMENTS][PAIR_TILES];
	bool staged[PAIR_RANKS][PAIR_SEGMENTS][PAIR_TILES];
};

static struct piece piece[PIECES_MAX];

/* ------------------------------------------------------------------- tiles */

struct box {
	uint32_t row, col, rows, bytes; /* bytes of a row */
};

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t tiles_across(const struct pair_shape *shape)
{
	return (shape->row_bytes + shape->tile_row_bytes - 1) / shape->tile_row_bytes;
}

static struct box box_of(const struct pair_shape *shape, uint32_t tile)
{
	struct box box = {
		.row = tile / tiles_across(shape) * shape->tile_rows,
		.col = tile % tiles_across(shape) * shape->tile_row_bytes,
	};

	box.rows = min32(shape->tile_rows, shape->rows - box.row);
	box.bytes = min32(shape->tile_row_bytes, shape->row_bytes - box.col);
	return box;
}

static uint32_t tile_of(const struct pair_shape *shape, uint32_t element)
{
	uint32_t columns = shape->row_bytes / shape->size;

	return element / columns / shape->tile_rows * tiles_across(shape) +
	       element % columns * shape->size / shape->tile_row_bytes;
}

/* Does its rank have that many bytes left for the tile? Then they are counted. */
static bool take(struct run *run, uint32_t rank, uint32_t segment, uint32_t tile, uint32_t bytes)
{
	const struct pair_shape *shape = &run->pair.shape;
	struct box box = box_of(shape, tile);
	uint32_t *counted = &run->counted[rank][segment][tile];

	if (run->pieces == PIECES_MAX ||
	    *counted + bytes > shape->own[segment] * box.rows * box.bytes)
		return false;
	*counted += bytes;
	return true;
}

/* ------------------------------------------------------------------ pieces */

static bool exact(const struct pair_shape *shape)
{
	return shape->op != T3_OP_ADD || shape->dtype == T3_DTYPE_I32;
}

/* Any bits where the order is of no importance; else -1, 0 or 1, and not too many. */
static uint64_t value_of(struct run *run, uint64_t bits)
{
	const struct pair_shape *shape = &run->pair.shape;
	int small = (int)(bits % 3) - 1;

	if (exact(shape))
		return bits;
	if (small && run->weight++ >= WEIGHT_MAX)
		small = 0;
	return ref_small(shape->dtype, small);
}

/* An aligned word of elements that lie in one row of one tile. */
static bool fits_wide(const struct pair_shape *shape, uint32_t segment, uint32_t element)
{
	uint32_t more = 8 / shape->size - 1, columns = shape->row_bytes / shape->size;

	return pair_place(shape, segment, element) % 8 == 0 && element % columns + more < columns &&
	       tile_of(shape, element) == tile_of(shape, element + more);
}

static void add_store(struct run *run, uint32_t rank, uint32_t segment, uint32_t element,
		      uint64_t bits, bool wide)
{
	const struct pair_shape *shape = &run->pair.shape;
	uint32_t size = wide && fits_wide(shape, segment, element) ? 8 : shape->size, i;
	uint64_t value = 0;

	if (!take(run, rank, segment, tile_of(shape, element), size))
		return;
	for (i = 0; i < size; i += shape->size)
		value |= (value_of(run, bits + i) & (~0ull >> (64 - 8 * shape->size))) << 8 * i;
	piece[run->pieces++] = (struct piece){
		.rank = (uint8_t)rank,
		.segment = (uint8_t)segment,
		.size = (uint8_t)size,
		.place = (uint16_t)element,
		.value = value,
	};
}

static void store(struct run *run)
{
	uint32_t place = stream_u16(run->in);

	add_store(run, run->rank, place % PAIR_SEGMENTS,
		  place / PAIR_SEGMENTS % pair_elements(&run->pair.shape), stream_u32(run->in),
		  place & 0x8000);
}

static void store_run(struct run *run)
{
	uint32_t place = stream_u16(run->in), count = stream_u8(run->in), i;
	uint32_t bits = stream_u32(run->in);

	for (i = 0; i < count; i++)
		add_store(run, run->rank, place % PAIR_SEGMENTS,
			  (place / PAIR_SEGMENTS + i) % pair_elements(&run->pair.shape),
			  bits * (i + 1), place & 0x8000);
}

/* Of a REMOTE tile the next doorbell would have to wait for the first. */
static void tile(struct run *run)
{
	const struct pair_shape *shape = &run->pair.shape;
	uint32_t what = stream_u8(run->in), number = stream_u8(run->in) % shape->tiles;
	uint32_t segment = (what & 7) % PAIR_SEGMENTS;
	struct box box = box_of(shape, number);
	bool *staged = &run->staged[run->rank][segment][number];

	if (!exact(shape))
		run->weight += box.rows * box.bytes / shape->size;
	if ((*staged && segment == 2) || run->weight > WEIGHT_MAX ||
	    !take(run, run->rank, segment, number, box.rows * box.bytes))
		return;
	*staged = true;
	piece[run->pieces++] = (struct piece){
		.rank = (uint8_t)run->rank,
		.segment = (uint8_t)segment,
		.staged = true,
		.place = (uint16_t)number,
		.slot = what >> 3 & 1,
	};
}

/* -------------------------------------------------------------------- play */

static void play_piece(struct host *host, const struct pair_shape *shape, const struct piece *p,
		       uint32_t lane)
{
	struct host_dev *d = &host->dev[p->rank];
	uint32_t offset;

	if (p->staged) {
		host_tile(d, SPACE, p->segment, p->slot, p->place);
		return;
	}
	offset = pair_place(shape, p->segment, p->place);
	if (lane >= T3_LANES || !t3_dev_aperture_store(d->dev, lane, offset, p->value, p->size))
		t3_dev_aperture_write(d->dev, offset, p->value, p->size);
}

static void play_in_order(struct run *run)
{
	uint32_t i;

	for (i = 0; i < run->pieces; i++)
		play_piece(run->pair.host[0], &run->pair.shape, &piece[i], T3_LANES);
	host_drain(run->pair.host[0]);
}

static void shuffle(struct run *run)
{
	uint32_t i, other;

	for (i = run->pieces; i > 1; i--) {
		struct piece swap = piece[i - 1];

		other = host_below(&run->random, i);
		piece[i - 1] = piece[other];
		piece[other] = swap;
	}
}

/* A few events now and then; many stay for the end, or until a link's slots are used up. */
static void play_shuffled(struct run *run)
{
	struct host *host = run->pair.host[1];
	uint32_t i;

	shuffle(run);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (i = 0; i < run->pieces; i++) {
		play_piece(host, &run->pair.shape, &piece[i],
			   host_below(&run->random, T3_LANES + 1));
		if (!host_below(&run->random, 8))
			t3_fabric_run(host->fabric, host_below(&run->random, 8));
	}
	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	host_drain(host);
}

static void play(struct run *run)
{
	play_in_order(run);
	play_shuffled(run);
	pair_expect_same_work(&run->pair);
	run->pieces = 0;
}

/* ------------------------------------------------------------------ epochs */

static void arm(struct run *run)
{
	uint32_t i, r;

	run->epoch++;
	memset(run->counted, 0, sizeof(run->counted));
	memset(run->staged, 0, sizeof(run->staged));
	for (i = 0; i < 2; i++) {
		for (r = 0; r < run->pair.shape.ranks; r++)
			host_arm(&run->pair.host[i]->dev[r], SPACE, run->epoch);
		host_drain(run->pair.host[i]);
		for (r = 0; r < run->pair.shape.ranks; r++)
			assert_int_equal(host_state(&run->pair.host[i]->dev[r], SPACE),
					 T3_SPACE_ARMED);
	}
}

static void complete_tile(struct run *run, uint32_t rank, uint32_t segment, uint32_t tile)
{
	const struct pair_shape *shape = &run->pair.shape;
	struct box box = box_of(shape, tile);
	uint32_t columns = shape->row_bytes / shape->size, wide = box.bytes / shape->size;
	uint32_t all = shape->own[segment] * box.rows * wide, i;

	for (i = run->counted[rank][segment][tile] / shape->size; i < all; i++)
		add_store(run, rank, segment,
			  (box.row + i / wide % box.rows) * columns + box.col / shape->size +
				  i % wide,
			  run->epoch + i, false);
}

static void complete(struct run *run)
{
	uint32_t r, s, t;

	for (r = 0; r < run->pair.shape.ranks; r++)
		for (s = 0; s < PAIR_SEGMENTS; s++)
			for (t = 0; t < run->pair.shape.tiles; t++)
				complete_tile(run, r, s, t);
}

/* All that is missing is done, and the next epoch begins. */
static void epoch(struct run *run)
{
	uint32_t i, r;

	if (run->epoch == EPOCHS_MAX)
		return;
	complete(run);
	play(run);
	for (i = 0; i < 2; i++)
		for (r = 0; r < run->pair.shape.ranks; r++) {
			struct host_dev *d = &run->pair.host[i]->dev[r];

			assert_int_equal(host_state(d, SPACE), T3_SPACE_COMPLETE);
			host_release(d, SPACE, run->epoch);
		}
	arm(run);
}

static void (*const operations[OP_ORDER_COUNT])(struct run *) = {
	[OP_ORDER_STORE] = store,
	[OP_ORDER_RUN] = store_run,
	[OP_ORDER_TILE] = tile,
	[OP_ORDER_EPOCH] = epoch,
};

static void one(struct stream *in, struct host *host)
{
	static struct run run;
	uint32_t steps;

	(void)host;
	memset(&run, 0, sizeof(run));
	run.in = in;
	pair_begin(&run.pair, in, true);
	run.random = stream_u32(in) + 1ull;
	arm(&run);
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++) {
		uint32_t op = stream_u8(in);

		run.rank = (op >> 4) % run.pair.shape.ranks;
		operations[(op & 15) % OP_ORDER_COUNT](&run);
	}
	play(&run);
	world_check(run.pair.host[0]);
	world_check(run.pair.host[1]);
	pair_end(&run.pair);
}

const struct fuzz_target fuzz_target = { .one = one, .alone = true };
