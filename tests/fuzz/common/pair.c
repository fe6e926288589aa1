/* SPDX-License-Identifier: MIT */
#include "pair.h"
#include "ref.h"
#include "rewind.h"

#define SPACE	 0u
#define TRACKERS 4u
#define BYTES	 (PAIR_SEGMENTS * 0x400u) /* of the space that segments may use */

/* ----------------------------------------------------------------- shape */

static void read_type(struct pair_shape *shape, struct stream *in, bool any_order)
{
	uint32_t what = stream_u8(in);

	shape->dtype = (what & 7) % (any_order ? T3_DTYPE_U8 : T3_DTYPE_U32);
	shape->size = ref_size(shape->dtype);
	shape->op = shape->size == 1 ? T3_OP_STORE : (what >> 3 & 3) % T3_OP_COUNT;
	if (any_order && shape->op == T3_OP_STORE)
		shape->op = T3_OP_ADD;
	shape->init = what & 0x20 ? T3_INIT_KEEP : T3_INIT_IDENTITY;
	shape->ranks = what & 0x40 ? PAIR_RANKS : 2;
}

static void read_geometry(struct pair_shape *shape, struct stream *in, bool any_order)
{
	uint32_t size = shape->size, most = any_order ? 8 : 16, across, down;

	shape->rows = 1 + stream_u8(in) % (most / 2);
	shape->row_bytes = size * (1 + stream_u8(in) % most);
	shape->pitch = shape->row_bytes + size * (stream_u8(in) % 4);
	shape->tile_rows = 1 + stream_u8(in) % shape->rows;
	shape->tile_row_bytes = size * (1 + stream_u8(in) % (shape->row_bytes / size));
	shape->block_tiles = stream_u8(in) % 4;
	across = (shape->row_bytes + shape->tile_row_bytes - 1) / shape->tile_row_bytes;
	down = (shape->rows + shape->tile_rows - 1) / shape->tile_rows;
	shape->tiles = across * down;
}

static void read_updates(struct pair_shape *shape, struct stream *in)
{
	uint32_t what = stream_u8(in);

	shape->own[0] = what & 3;
	shape->own[1] = what >> 2 & 3;
	shape->own[2] = 1 + (what >> 4) % 3;
	shape->updates[0] = shape->own[0] + 1;
	shape->updates[1] = shape->own[1] + shape->own[2];
	shape->updates[2] = shape->own[2];
}

uint32_t pair_elements(const struct pair_shape *shape)
{
	return shape->rows * (shape->row_bytes / shape->size);
}

uint32_t pair_place(const struct pair_shape *shape, uint32_t segment, uint32_t element)
{
	uint32_t columns = shape->row_bytes / shape->size;

	return segment * 0x400 + element / columns * shape->pitch + element % columns * shape->size;
}

/* ----------------------------------------------------------------- hosts */

static struct host *pool[2][PAIR_RANKS + 1][TRACKERS];

static struct host **pooled(uint32_t which, uint32_t ranks, uint32_t tracker)
{
	static const struct {
		uint32_t entries, ways;
	} size[TRACKERS] = { { 256, 8 }, { 1, 1 }, { 4, 4 }, { 8, 2 } };
	struct host_config config = { T3_TOPOLOGY_RING, ranks, size[tracker].entries,
				      size[tracker].ways, T3_KEYS_FABRIC };
	struct host **host = &pool[which][ranks][tracker];

	if (!*host)
		*host = host_new(&config);
	return host;
}

struct t3_cmd_seg_map pair_segment(const struct pair_shape *shape, uint32_t segment)
{
	static const uint32_t kinds[PAIR_SEGMENTS] = { T3_SEG_LOCAL, T3_SEG_DMA, T3_SEG_REMOTE };
	struct t3_cmd_seg_map map =
		host_segment(SPACE, segment, kinds[segment], shape->op, shape->dtype);

	if (segment)
		map.target_segment = segment - 1;
	if (kinds[segment] != T3_SEG_REMOTE)
		map.init = (uint8_t)shape->init;
	if (kinds[segment] == T3_SEG_DMA)
		map.block_tiles = shape->block_tiles;
	map.updates = shape->updates[segment];
	map.counter_base = segment * PAIR_TILES;
	map.rows = shape->rows;
	map.row_bytes = shape->row_bytes;
	map.pitch = shape->pitch;
	map.tile_rows = shape->tile_rows;
	map.tile_row_bytes = shape->tile_row_bytes;
	return map;
}

/* Small integers, so that float sums are exact. */
static void fill_slot(struct host_dev *d, const struct pair_shape *shape, uint32_t segment,
		      uint32_t slot)
{
	uint8_t *to = host_slot(d, SPACE, segment, slot);
	uint64_t value;
	uint32_t i;

	for (i = 0; i < pair_elements(shape); i++) {
		value = (i + d->rank + segment + slot) % 3;
		if (shape->size > 1)
			value = ref_small(shape->dtype, (int)value - 1);
		memcpy(to + pair_place(shape, 0, i), &value, shape->size);
	}
}

void pair_stage(struct host_dev *d, const struct pair_shape *shape, uint32_t segment)
{
	struct t3_cmd_seg_staging cmd = {
		.space = SPACE,
		.segment = segment,
		.address = (uint64_t)(host_slot(d, SPACE, segment, 0) - d->memory),
		.slot_stride = 0x1000,
		.slots = PAIR_SLOTS,
	};
	uint32_t slot;

	for (slot = 0; slot < PAIR_SLOTS; slot++)
		fill_slot(d, shape, segment, slot);
	host_command(d, T3_CMD_SEG_STAGING, &cmd, sizeof(cmd));
}

static void build(struct host *host, const struct pair_shape *shape)
{
	struct t3_cmd_seg_map map;
	uint32_t r, s;

	for (r = 0; r < host->ranks; r++)
		host_space(&host->dev[r], SPACE);
	for (r = 0; r < host->ranks; r++)
		host_connect(&host->dev[r], &host->dev[(r + 1) % host->ranks], SPACE);
	for (r = 0; r < host->ranks; r++)
		for (s = 0; s < PAIR_SEGMENTS; s++) {
			map = pair_segment(shape, s);
			host_map(&host->dev[r], &map);
			pair_stage(&host->dev[r], shape, s);
		}
}

void pair_begin(struct pair *pair, struct stream *in, bool any_order)
{
	uint32_t trackers = stream_u8(in), i;

	read_type(&pair->shape, in, any_order);
	read_geometry(&pair->shape, in, any_order);
	read_updates(&pair->shape, in);
	pair->same_trackers = trackers % TRACKERS == trackers / TRACKERS % TRACKERS;
	for (i = 0; i < 2; i++) {
		pair->host[i] = *pooled(i, pair->shape.ranks, trackers % TRACKERS);
		trackers /= TRACKERS;
		build(pair->host[i], &pair->shape);
	}
}

static void forget(const struct host *host)
{
	uint32_t i;

	for (i = 0; i < sizeof(pool) / sizeof(pool[0][0][0]); i++)
		if ((&pool[0][0][0])[i] == host)
			(&pool[0][0][0])[i] = NULL;
}

void pair_end(struct pair *pair)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		t3_fabric_set_inline_budget(pair->host[i]->fabric, T3_INLINE_BUDGET);
		rewind_host(pair->host[i]);
		if (!getenv("T3_FUZZ_TWICE"))
			continue;
		rewind_expect_clear(pair->host[i]);
		forget(pair->host[i]);
		host_free(pair->host[i]);
	}
}

/* ------------------------------------------------------------ comparison */

static bool of_tracker(uint32_t counter)
{
	return counter <= T3_COUNTER_TRACKER_PEAK;
}

/* Which entries are spilled depends on the tracker, and with lanes a little on the way. */
static void same_tracker(const struct pair *pair, const uint64_t *a, const uint64_t *b)
{
	uint32_t i;

	assert_int_equal(a[T3_COUNTER_TRACKER_HIT] + a[T3_COUNTER_TRACKER_ALLOC],
			 b[T3_COUNTER_TRACKER_HIT] + b[T3_COUNTER_TRACKER_ALLOC]);
	if (!pair->same_trackers || a[T3_COUNTER_TRACKER_SPILL])
		return;
	for (i = 0; of_tracker(i); i++)
		assert_int_equal(a[i], b[i]);
}

static void same_counters(const struct pair *pair, uint32_t rank)
{
	const uint64_t *a = t3_dev_counters(pair->host[0]->dev[rank].dev);
	const uint64_t *b = t3_dev_counters(pair->host[1]->dev[rank].dev);
	uint32_t i;

	same_tracker(pair, a, b);
	for (i = T3_COUNTER_TRACKER_PEAK + 1; i < T3_COUNTER_COUNT; i++)
		if (a[i] != b[i])
			fail_msg("rank %u, %s: %llu and %llu", rank, t3_name_counter(i),
				 (unsigned long long)a[i], (unsigned long long)b[i]);
}

static void same_tiles(const struct t3_dev *a, const struct t3_dev *b, uint32_t segment)
{
	struct t3_tile_info x, y;
	uint32_t at = 0, there;

	do {
		memset(&x, 0, sizeof(x));
		memset(&y, 0, sizeof(y));
		there = t3_dev_next_waiting_tile(a, SPACE, segment, at, PAIR_TILES, &x);
		assert_int_equal(t3_dev_next_waiting_tile(b, SPACE, segment, at, PAIR_TILES, &y),
				 there);
		assert_memory_equal(&x, &y, sizeof(x));
		at = there + 1;
	} while (there < PAIR_TILES);
}

/* Counts of a space that faulted or was disabled are those that its tracker had spilled. */
static bool counts(const struct t3_dev *dev)
{
	struct t3_space_info info;

	return t3_dev_space_info(dev, SPACE, &info) && info.state <= T3_SPACE_COMPLETE;
}

static void same_segments(const struct t3_dev *a, const struct t3_dev *b)
{
	struct t3_segment_info x, y;
	uint32_t s;

	for (s = 0; s < PAIR_SEGMENTS; s++) {
		memset(&x, 0, sizeof(x));
		memset(&y, 0, sizeof(y));
		assert_int_equal(t3_dev_segment_info(a, SPACE, s, &x),
				 t3_dev_segment_info(b, SPACE, s, &y));
		assert_memory_equal(&x, &y, sizeof(x));
		if (counts(a))
			same_tiles(a, b, s);
	}
}

static void same_spaces(const struct t3_dev *a, const struct t3_dev *b)
{
	struct t3_space_info x, y;

	memset(&x, 0, sizeof(x));
	memset(&y, 0, sizeof(y));
	assert_int_equal(t3_dev_space_info(a, SPACE, &x), t3_dev_space_info(b, SPACE, &y));
	assert_memory_equal(&x, &y, sizeof(x));
}

static void same_memory(struct host_dev *a, struct host_dev *b)
{
	assert_memory_equal(host_buffer(a, SPACE), host_buffer(b, SPACE), BYTES);
}

static void same_device(struct host_dev *a, struct host_dev *b)
{
	same_memory(a, b);
	same_spaces(a->dev, b->dev);
	same_segments(a->dev, b->dev);
	assert_memory_equal(a->pages, b->pages, T3_PAGE_SIZE);
	assert_memory_equal(a->irqs, b->irqs, sizeof(a->irqs));
	assert_memory_equal(&a->traced, &b->traced, sizeof(a->traced));
	assert_int_equal(a->triggers, b->triggers);
	assert_int_equal(a->guest_errors, b->guest_errors);
	assert_int_equal(a->logged, b->logged);
}

void pair_expect_same(const struct pair *pair)
{
	uint32_t r;

	assert_int_equal(t3_fabric_now(pair->host[0]->fabric),
			 t3_fabric_now(pair->host[1]->fabric));
	for (r = 0; r < pair->shape.ranks; r++) {
		same_device(&pair->host[0]->dev[r], &pair->host[1]->dev[r]);
		same_counters(pair, r);
	}
}

/* Packets, events and times depend on the order. What they bring does not. */
static void same_work(const struct pair *pair, uint32_t rank)
{
	static const uint32_t counters[] = { T3_COUNTER_STORES, T3_COUNTER_DOORBELLS,
					     T3_COUNTER_TRIGGERS, T3_COUNTER_DMA_BYTES,
					     T3_COUNTER_NMC_ELEMENTS };
	const struct t3_dev *a = pair->host[0]->dev[rank].dev, *b = pair->host[1]->dev[rank].dev;
	struct t3_segment_info x, y;
	uint32_t i;

	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		assert_int_equal(t3_dev_counters(a)[counters[i]], t3_dev_counters(b)[counters[i]]);
	for (i = 0; i < PAIR_SEGMENTS; i++) {
		assert_true(t3_dev_segment_info(a, SPACE, i, &x));
		assert_true(t3_dev_segment_info(b, SPACE, i, &y));
		assert_int_equal(x.tiles_tracked, y.tiles_tracked);
		assert_int_equal(x.acked_bytes, y.acked_bytes);
		assert_int_equal(x.counts.triggers, y.counts.triggers);
		assert_int_equal(x.counts.nmc_elements, y.counts.nmc_elements);
		assert_int_equal(x.counts.local_bytes, y.counts.local_bytes);
		assert_int_equal(x.counts.remote_bytes, y.counts.remote_bytes);
		same_tiles(a, b, i);
	}
}

void pair_expect_same_work(const struct pair *pair)
{
	uint32_t r;

	for (r = 0; r < pair->shape.ranks; r++) {
		struct host_dev *a = &pair->host[0]->dev[r], *b = &pair->host[1]->dev[r];

		same_memory(a, b);
		same_work(pair, r);
		assert_int_equal(host_state(a, SPACE), host_state(b, SPACE));
		assert_int_equal(t3_dev_counters(a->dev)[T3_COUNTER_FAULTS], 0);
		assert_int_equal(t3_dev_counters(b->dev)[T3_COUNTER_FAULTS], 0);
	}
}
