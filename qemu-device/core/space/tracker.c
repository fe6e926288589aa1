/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracker: a set-associative cache of tile counts. The counter tables in device memory
 * back it. SPEC.md section 3.3.
 */
#include "space/space_private.h"

_Static_assert(sizeof(struct t3_entry) == T3_HOST_LINE, "lanes store into different entries");

bool t3_tracker_init(struct t3_tracker *tracker, uint32_t entries, uint32_t ways)
{
	size_t size = entries * sizeof(tracker->entry[0]);

	tracker->entry = aligned_alloc(T3_HOST_LINE, size);
	if (!tracker->entry)
		return false;
	memset(tracker->entry, 0, size);
	tracker->recent = tracker->entry;
	tracker->ways = ways;
	tracker->sets = entries / ways;
	tracker->clock = 0;
	return true;
}

static struct t3_entry *set_of(struct t3_tracker *tracker, uint32_t tile)
{
	return &tracker->entry[(size_t)(tile & (tracker->sets - 1)) * tracker->ways];
}

static bool is_of(const struct t3_entry *entry, const struct t3_segment *segment, uint32_t tile)
{
	return entry->segment == segment && entry->tile == tile;
}

struct t3_entry *t3_tracker_entry(struct t3_tracker *tracker, const struct t3_segment *segment,
				  uint32_t tile)
{
	struct t3_entry *set = set_of(tracker, tile);
	uint32_t way;

	for (way = 0; way < tracker->ways; way++)
		if (is_of(&set[way], segment, tile))
			return &set[way];
	return NULL;
}

static struct t3_entry *find(struct t3_tracker *tracker, const struct t3_segment *segment,
			     uint32_t tile)
{
	struct t3_entry *entry;

	if (is_of(tracker->recent, segment, tile))
		return tracker->recent;
	entry = t3_tracker_entry(tracker, segment, tile);
	if (entry)
		tracker->recent = entry;
	return entry;
}

static void free_entry(struct t3_dev *dev, struct t3_entry *entry)
{
	entry->segment->live--;
	entry->segment = NULL;
	dev->counter[T3_COUNTER_TRACKER_LIVE]--;
}

static void write_back(const struct t3_entry *entry, uint32_t flags)
{
	struct t3_tile_record *record = t3_segment_record(entry->segment, entry->tile);

	record->count = entry->count;
	record->flags |= (uint16_t)flags;
	t3_segment_record_done(entry->segment, entry->tile);
}

/* A free way, or else the least recently used one, which is spilled. */
static struct t3_entry *victim(struct t3_dev *dev, uint32_t tile)
{
	struct t3_entry *set = set_of(&t3_spaces(dev)->tracker, tile);
	struct t3_entry *oldest = set;
	uint32_t way;

	for (way = 0; way < t3_spaces(dev)->tracker.ways; way++) {
		if (!set[way].segment)
			return &set[way];
		if (set[way].used < oldest->used)
			oldest = &set[way];
	}
	write_back(oldest, 0);
	free_entry(dev, oldest);
	dev->counter[T3_COUNTER_TRACKER_SPILL]++;
	return oldest;
}

static struct t3_entry *allocate(struct t3_dev *dev, struct t3_segment *segment, uint32_t tile,
				 uint32_t count)
{
	struct t3_entry *entry = victim(dev, tile);
	uint64_t *counter = dev->counter;

	entry->segment = segment;
	entry->tile = tile;
	entry->count = count;
	segment->live++;
	counter[T3_COUNTER_TRACKER_ALLOC]++;
	counter[T3_COUNTER_TRACKER_LIVE]++;
	if (counter[T3_COUNTER_TRACKER_LIVE] > counter[T3_COUNTER_TRACKER_PEAK])
		counter[T3_COUNTER_TRACKER_PEAK] = counter[T3_COUNTER_TRACKER_LIVE];
	if (count)
		counter[T3_COUNTER_TRACKER_FILL]++;
	return entry;
}

/* Reads the count once, because a guest's kernel may write it at any time. */
static uint32_t record_count(const struct t3_segment *segment, const struct t3_tile_record *record)
{
	uint32_t count = __atomic_load_n(&record->count, __ATOMIC_RELAXED);

	return record->epoch == segment->space->epoch && !segment->stale ? count : 0;
}

/* The count of a tile. It allocates no entry and ages none. */
uint32_t t3_tracker_count(struct t3_segment *segment, uint32_t tile)
{
	struct t3_entry *entry = find(&t3_spaces(segment->space->dev)->tracker, segment, tile);

	return entry ? entry->count : record_count(segment, t3_segment_record(segment, tile));
}

uint32_t t3_tracker_look(struct t3_segment *segment, uint32_t tile)
{
	struct t3_entry *entry = find(&t3_spaces(segment->space->dev)->tracker, segment, tile);

	return entry ? entry->count : record_count(segment, t3_segment_look(segment, tile));
}

struct t3_tile_record *t3_tracker_record(struct t3_segment *segment, uint32_t tile)
{
	struct t3_tile_record *record = t3_segment_record(segment, tile);

	if (record->epoch != segment->space->epoch) {
		record->epoch = segment->space->epoch;
		record->count = 0;
		record->next = T3_TILE_NONE;
		record->flags = 0;
		record->slot = 0;
		t3_segment_record_done(segment, tile);
	}
	return record;
}

static void finish(struct t3_dev *dev, struct t3_entry *entry)
{
	write_back(entry, T3_TILE_TRIGGERED);
	free_entry(dev, entry);
}

void t3_tracker_again(struct t3_dev *dev, uint32_t times)
{
	dev->counter[T3_COUNTER_TRACKER_HIT] += times;
	t3_spaces(dev)->tracker.clock += times * T3_AGE_STEP;
}

enum t3_track t3_tracker_add(struct t3_segment *segment, uint32_t tile, uint32_t bytes,
			     uint64_t expected)
{
	struct t3_dev *dev = segment->space->dev;
	struct t3_entry *entry = find(&t3_spaces(dev)->tracker, segment, tile);
	struct t3_tile_record *record;
	uint32_t count;

	if (entry) {
		if ((uint64_t)entry->count + bytes > expected)
			return T3_TRACK_OVERSHOOT;
		dev->counter[T3_COUNTER_TRACKER_HIT]++;
	} else {
		count = record_count(segment, t3_segment_record(segment, tile));
		if ((uint64_t)count + bytes > expected)
			return T3_TRACK_OVERSHOOT;
		record = t3_tracker_record(segment, tile);
		if (!(record->flags & T3_TILE_STARTED)) {
			record->flags |= T3_TILE_STARTED;
			t3_segment_record_done(segment, tile);
		}
		entry = allocate(dev, segment, tile, count);
		t3_spaces(dev)->tracker.recent = entry;
	}
	entry->count += bytes;
	entry->used = t3_spaces(dev)->tracker.clock += T3_AGE_STEP;
	if (entry->count < expected)
		return T3_TRACK_COUNTED;
	finish(dev, entry);
	return T3_TRACK_DONE;
}

/* Frees the `left` entries of a segment, or of all segments of the space if it is NULL. */
static void drop_entries(const struct t3_space *space, const struct t3_segment *segment,
			 uint32_t left)
{
	const struct t3_tracker *tracker = &t3_spaces(space->dev)->tracker;
	struct t3_entry *entry = tracker->entry;
	const struct t3_entry *end = entry + (size_t)tracker->sets * tracker->ways;

	for (; left && entry < end; entry++) {
		if (!entry->segment || entry->segment->space != space)
			continue;
		if (segment && entry->segment != segment)
			continue;
		free_entry(space->dev, entry);
		left--;
	}
}

void t3_tracker_drop(struct t3_segment *segment)
{
	drop_entries(segment->space, segment, segment->live);
}

void t3_tracker_drop_space(struct t3_space *space)
{
	uint32_t i, live = 0;

	for (i = 0; i < space->seg_count; i++)
		live += space->sorted[i]->live;
	drop_entries(space, NULL, live);
}

void t3_tracker_clear(struct t3_dev *dev)
{
	uint32_t i, count = t3_spaces(dev)->tracker.sets * t3_spaces(dev)->tracker.ways;

	for (i = 0; i < count; i++)
		if (t3_spaces(dev)->tracker.entry[i].segment)
			free_entry(dev, &t3_spaces(dev)->tracker.entry[i]);
}
