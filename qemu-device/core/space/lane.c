/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A producer's usual store: the memory is local, and the tracker holds the tile and waits for more.
 * Stores of different lanes run at the same time. They meet in a tile, whose entry of the tracker
 * says that one is busy with it, and in a segment's counts, where the segment says so. All else that
 * they write is their lane's. No other call runs meanwhile: entries, segments and spaces do not come
 * and go. SPEC.md section 3.1.
 */
#include "space/space_private.h"

/* A store takes some ten nanoseconds, unless its thread loses its processor. */
#define T3_BUSY_TRIES 64

/* -------------------------------------------------------------------- busy */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static bool wait_for(uint32_t *busy)
{
	int tries;

	for (tries = 0; tries < T3_BUSY_TRIES; tries++) {
		relax();
		if (!__atomic_load_n(busy, __ATOMIC_RELAXED) &&
		    !__atomic_exchange_n(busy, 1, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* False: the thread of another lane may have lost its processor within a store. */
static inline bool begin(uint32_t *busy)
{
	return !__atomic_exchange_n(busy, 1, __ATOMIC_ACQUIRE) || wait_for(busy);
}

static inline void end(uint32_t *busy)
{
	__atomic_store_n(busy, 0, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ counts */

/*
 * A lane itself does this when it comes to another segment, beside other lanes. What it adds to the
 * device's counts waits for t3_lanes_count(). False: another lane is busy here for long.
 */
static bool count(struct t3_lane *lane)
{
	struct t3_segment *segment = lane->segment;
	uint64_t elements;

	if (!lane->stores)
		return true;
	if (!begin(&segment->busy))
		return false;
	elements = t3_update_elements(segment, lane->stored);
	segment->counts.stores += lane->stores;
	segment->counts.local_bytes += lane->stored;
	segment->counts.nmc_elements += elements;
	end(&segment->busy);
	lane->all_stores += lane->stores;
	lane->all_elements += elements;
	lane->stores = lane->stored = 0;
	return true;
}

void t3_lanes_count(const struct t3_dev *dev)
{
	struct t3_spaces *spaces = t3_spaces(dev);
	uint64_t *counter = spaces->dev.counter;
	struct t3_lane *lane;

	for (lane = spaces->lane; lane < spaces->lane + T3_LANES; lane++) {
		count(lane); /* no lane stores now, so none is busy */
		counter[T3_COUNTER_STORES] += lane->all_stores;
		counter[T3_COUNTER_TRACKER_HIT] += lane->all_stores;
		counter[T3_COUNTER_NMC_ELEMENTS] += lane->all_elements;
		lane->all_stores = lane->all_elements = 0;
	}
}

void t3_lanes_forget(const struct t3_dev *dev)
{
	t3_lanes_count(dev);
	memset(t3_spaces(dev)->lane, 0, sizeof(t3_spaces(dev)->lane));
}

/* ------------------------------------------------------------------- place */

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The part of the row around a store that lies in one tile. */
static bool set_part(struct t3_lane *lane, uint64_t offset, uint32_t size)
{
	const struct t3_segment *segment = lane->segment;
	uint64_t relative = offset - segment->space->aperture - segment->offset;
	uint32_t row = (uint32_t)(relative / segment->pitch);
	uint32_t col = (uint32_t)(relative % segment->pitch);
	uint32_t inside = col % segment->tile_row_bytes;

	if (col + size > segment->row_bytes || inside + size > segment->tile_row_bytes)
		return false;
	lane->offset = offset - inside;
	lane->address = t3_segment_address(segment, row, col - inside);
	lane->bytes = min32(segment->tile_row_bytes, segment->row_bytes - col + inside);
	lane->tile = t3_segment_tile(segment, row, col);
	lane->expected = t3_segment_tile_shape(segment, lane->tile).expected;
	return true;
}

static bool in_segment(const struct t3_lane *lane, const struct t3_space *space, uint64_t offset)
{
	const struct t3_segment *segment = lane->segment;

	return segment && segment->space == space &&
	       offset - space->aperture - segment->offset < segment->extent;
}

static bool set_segment(struct t3_lane *lane, const struct t3_space *space, uint64_t offset)
{
	uint32_t at = t3_segment_search(space, offset - space->aperture, lane->at);

	if (at == T3_NONE32 || space->sorted[at]->kind == T3_SEG_REMOTE || !count(lane))
		return false;
	lane->segment = space->sorted[at];
	lane->at = at;
	return true;
}

/* Goes to another part. False: there is none for the store, or it sends on links. */
static bool go_to(struct t3_dev *dev, struct t3_lane *lane, uint64_t offset, uint32_t size)
{
	const struct t3_space *space = t3_space_at(dev, offset, size);

	lane->bytes = 0;
	return space && (in_segment(lane, space, offset) || set_segment(lane, space, offset)) &&
	       set_part(lane, offset, size);
}

static inline bool in_part(const struct t3_lane *lane, uint64_t offset, uint32_t size)
{
	uint64_t inside = offset - lane->offset;

	return inside < lane->bytes && inside + size <= lane->bytes;
}

/* -------------------------------------------------------------------- tile */

/* A lane's entry has no age of its own yet. No clock comes near it. */
#define NO_AGE (UINT64_C(1) << 63)

/* Is the lane's entry that of the tile, or is there another one? */
static inline bool find_entry(struct t3_tracker *tracker, struct t3_lane *lane)
{
	struct t3_entry *entry = lane->entry;

	if (entry && entry->segment == lane->segment && entry->tile == lane->tile)
		return true;
	lane->entry = t3_tracker_entry(tracker, lane->segment, lane->tile);
	lane->used = NO_AGE;
	return lane->entry;
}

/*
 * For one lane, ages are exact. A lane that stays in its tile keeps the entry's age while other lanes
 * move the clock a little: fewer steps than there are ways, so the entry is not the oldest of its set.
 * Otherwise each store would write the clock, which all lanes read.
 */
static inline void use(struct t3_tracker *tracker, struct t3_lane *lane)
{
	uint64_t passed = __atomic_load_n(&tracker->clock, __ATOMIC_RELAXED) - lane->used;

	if (passed + 1 < tracker->ways || !passed)
		return;
	lane->used = __atomic_add_fetch(&tracker->clock, 1, __ATOMIC_RELAXED);
	lane->entry->used = lane->used;
}

/* Not inlined: only here is the address of `value` taken, so elsewhere it is in a register. */
static __attribute__((noinline)) void update_any(const struct t3_segment *segment, uint64_t address,
						 uint64_t value, uint32_t size)
{
	t3_update_memory(segment, address, &value, size);
}

static inline void update(struct t3_dev *dev, const struct t3_segment *segment, uint64_t address,
			  uint64_t value, uint32_t size)
{
	uint8_t *memory;

	if (segment->op != T3_OP_ADD || segment->dtype != T3_DTYPE_F32) {
		update_any(segment, address, value, size);
		return;
	}
	memory = t3_mem_read(dev, address, size);
	t3_nmc_add_f32(memory, (uint32_t)value);
	if (size == 8)
		t3_nmc_add_f32(memory + 4, (uint32_t)(value >> 32));
	t3_mem_written(dev, address, size);
}

/* False: the store would complete the tile. */
static inline bool update_tile(struct t3_dev *dev, struct t3_lane *lane, uint64_t address,
			       uint64_t value, uint32_t size)
{
	struct t3_entry *entry = lane->entry;

	if ((uint64_t)entry->count + size >= lane->expected)
		return false;
	entry->count += size;
	use(&t3_spaces(dev)->tracker, lane);
	update(dev, lane->segment, address, value, size);
	return true;
}

bool t3_lane_store(struct t3_dev *dev, uint32_t number, uint64_t offset, uint64_t value,
		   uint32_t size)
{
	struct t3_lane *lane = &t3_spaces(dev)->lane[number];
	bool done;

	if (!in_part(lane, offset, size) && !go_to(dev, lane, offset, size))
		return false;
	if (lane->segment->space->state != T3_SPACE_ARMED || t3_poison_any(dev) ||
	    !t3_store_width(lane->segment, offset, size))
		return false;
	if (!find_entry(&t3_spaces(dev)->tracker, lane) || !begin(&lane->entry->busy))
		return false;
	done = update_tile(dev, lane, lane->address + (offset - lane->offset), value, size);
	end(&lane->entry->busy);
	lane->stores += done;
	lane->stored += done ? size : 0;
	return done;
}
