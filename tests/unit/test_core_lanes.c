/* SPDX-License-Identifier: MIT */
/*
 * Stores of several lanes, one after the other: what a lane keeps for itself shows nowhere else.
 * SPEC.md section 3.1. test_core_threads.c has lanes that store at the same time.
 */
#include "host.h"
#include "space/space_private.h"
#include "test.h"

#define TILE 16u /* bytes */

static struct t3_cmd_seg_map usual(void)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = 1;
	map.row_bytes = map.pitch = 4 * TILE;
	map.tile_rows = 1;
	map.tile_row_bytes = TILE;
	map.updates = 2;
	return map;
}

/* The tracker has room for two tiles. */
static struct host *with_space(void)
{
	struct host_config config = {
		.topology = T3_TOPOLOGY_RING, .ranks = 1, .entries = 2, .ways = 2
	};
	struct t3_cmd_seg_map map = usual();
	struct host *host = host_new(&config);

	host_space(&host->dev[0], 0);
	host_map(&host->dev[0], &map);
	return host;
}

static void begin(struct host_dev *d, uint64_t first, uint64_t second)
{
	host_arm(d, 0, 1);
	t3_dev_aperture_write(d->dev, first, 1, 4);
	t3_dev_aperture_write(d->dev, second, 1, 4);
}

/* The tracker holds the first two tiles. */
static struct host *begun(void)
{
	struct host *host = with_space();

	begin(&host->dev[0], 0, TILE);
	return host;
}

static bool held(const struct host_dev *d, uint32_t tile)
{
	return t3_tracker_entry(&t3_spaces(d->dev)->tracker, t3_spaces(d->dev)->space[0].sorted[0],
				tile) != NULL;
}

/* The tile that was used last stays, whichever lane used it, and whatever it did before. */
TEST("the last used tile stays in the tracker")
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];

	assert_true(t3_dev_aperture_store(d->dev, 0, TILE, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 1, 0, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 0, TILE + 4, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 1, 4, 1, 4));
	t3_dev_aperture_write(d->dev, 2 * TILE, 1, 4);
	assert_true(held(d, 0));
	assert_false(held(d, 1));
	assert_true(t3_dev_aperture_store(d->dev, 0, 2 * TILE + 4, 1, 4));
	t3_dev_aperture_write(d->dev, TILE + 8, 1, 4);
	assert_false(held(d, 0));
	assert_true(held(d, 1));
	assert_true(held(d, 2));
	host_free(host);
}

/*
 * Lanes that stay in their tiles, and take turns, do not move the tracker's clock, which they
 * share: the last tile is never the oldest of its set all the same.
 */
TEST("lanes that take turns keep the tracker's order")
{
	struct host_config config = {
		.topology = T3_TOPOLOGY_RING, .ranks = 1, .entries = 4, .ways = 4
	};
	struct t3_cmd_seg_map map = usual();
	struct host *host = host_new(&config);
	struct host_dev *d = &host->dev[0];
	uint64_t clock;
	uint32_t i;

	map.row_bytes = map.pitch = 6 * TILE;
	host_space(d, 0);
	host_map(d, &map);
	host_arm(d, 0, 1);
	for (i = 0; i < 4; i++)
		t3_dev_aperture_write(d->dev, i * TILE, 1, 4);
	/* A lane that goes from tile to tile gives each one its age. */
	clock = t3_spaces(d->dev)->tracker.clock;
	assert_true(t3_dev_aperture_store(d->dev, 3, 3 * TILE, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 3, 2 * TILE, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 3, 3 * TILE + 4, 1, 4));
	assert_int_equal(t3_spaces(d->dev)->tracker.clock, clock + 3);
	assert_true(t3_dev_aperture_store(d->dev, 1, 0, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 2, TILE, 1, 4));
	clock = t3_spaces(d->dev)->tracker.clock;
	for (i = 4; i < TILE; i += 4) {
		assert_true(t3_dev_aperture_store(d->dev, 1, i, 1, 4));
		assert_true(t3_dev_aperture_store(d->dev, 2, TILE + i, 1, 4));
	}
	assert_int_equal(t3_spaces(d->dev)->tracker.clock, clock);
	/* What allocates an entry is seen by each lane: the next store makes its tile the newest. */
	t3_dev_aperture_write(d->dev, 4 * TILE, 1, 4);
	assert_false(held(d, 2));
	assert_true(t3_dev_aperture_store(d->dev, 1, 0, 1, 4));
	t3_dev_aperture_write(d->dev, 5 * TILE, 1, 4);
	assert_false(held(d, 3));
	t3_dev_aperture_write(d->dev, 2 * TILE, 1, 4);
	assert_false(held(d, 1));
	assert_true(held(d, 0));
	host_free(host);
}

/* Each way to ask for counts has those of all lanes. */
TEST("the counts of all lanes are in each answer")
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];
	struct t3_segment_info info;

	assert_true(t3_dev_aperture_store(d->dev, 0, 4, 1, 4));
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 3);
	assert_true(t3_dev_aperture_store(d->dev, 1, 8, 1, 8));
	assert_int_equal(t3_dev_counters(d->dev)[T3_COUNTER_NMC_ELEMENTS], 5);
	assert_true(t3_dev_aperture_store(d->dev, 2, TILE + 4, 1, 4));
	assert_int_equal(host_stats(d, 0, 0).stores, 5);
	assert_true(t3_dev_aperture_store(d->dev, T3_LANES - 1, TILE + 8, 1, 8));
	assert_true(t3_dev_segment_info(d->dev, 0, 0, &info));
	assert_int_equal(info.counts.stores, 6);
	assert_int_equal(info.counts.local_bytes, 32);
	host_free(host);
}

/* A space of two segments. The tracker holds the first tile of each. */
static struct host *begun_two(void)
{
	struct t3_cmd_seg_map map = usual();
	struct host *host = with_space();

	map.segment = 1;
	map.offset = 4 * TILE;
	map.counter_base = 32;
	host_map(&host->dev[0], &map);
	begin(&host->dev[0], 0, 4 * TILE);
	return host;
}

/* A lane that goes from one segment to another leaves each what is its. */
TEST("a lane keeps its segments' counts apart")
{
	struct host *host = begun_two();
	struct host_dev *d = &host->dev[0];

	assert_true(t3_dev_aperture_store(d->dev, 0, 4, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 0, 4 * TILE + 8, 1, 8));
	assert_true(t3_dev_aperture_store(d->dev, 1, 8, 1, 8));
	assert_true(t3_dev_aperture_store(d->dev, 0, 8, 1, 4));
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 6);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_HIT), 4);
	assert_int_equal(host_counter(d, T3_COUNTER_NMC_ELEMENTS), 8);
	assert_int_equal(host_stats(d, 0, 0).stores, 4);
	assert_int_equal(host_stats(d, 0, 1).stores, 2);
	/* Nothing is left to be counted again. */
	assert_true(t3_dev_aperture_store(d->dev, 0, 4 * TILE + 4, 1, 4));
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 7);
	assert_int_equal(host_counter(d, T3_COUNTER_NMC_ELEMENTS), 9);
	assert_int_equal(host_stats(d, 0, 0).nmc_elements, 5);
	assert_int_equal(host_stats(d, 0, 1).nmc_elements, 4);
	host_free(host);
}

struct saved {
	uint8_t bytes[65536];
	size_t length;
};

static void collect(void *opaque, const void *data, size_t length)
{
	struct saved *s = opaque;

	assert_true(length <= sizeof(s->bytes) - s->length);
	memcpy(s->bytes + s->length, data, length);
	s->length += length;
}

TEST("what a lane keeps is saved")
{
	static struct saved s;
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];

	s.length = 0;
	assert_true(t3_dev_aperture_store(d->dev, 3, 4, 1, 4));
	t3_dev_save(d->dev, collect, &s);
	assert_true(t3_dev_aperture_store(d->dev, 3, 8, 1, 8));
	assert_null(t3_dev_load(d->dev, s.bytes, s.length));
	assert_null(t3_fabric_check(host->fabric));
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 3);
	assert_int_equal(host_stats(d, 0, 0).stores, 3);
	assert_true(t3_dev_aperture_store(d->dev, 3, 8, 1, 8));
	assert_int_equal(host_stats(d, 0, 0).stores, 4);
	host_free(host);
}

/* A lane does not wait for ever, and has done nothing then. */
TEST("a lane does not wait for a busy entry for ever")
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];
	struct t3_entry *entry = t3_tracker_entry(&t3_spaces(d->dev)->tracker,
						  t3_spaces(d->dev)->space[0].sorted[0], 0);

	entry->busy = 1;
	assert_false(t3_dev_aperture_store(d->dev, 0, 4, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 0, TILE + 4, 1, 4));
	entry->busy = 0;
	assert_int_equal(host_load(d, 0, 4, 4), 0);
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 3);
	assert_true(t3_dev_aperture_store(d->dev, 0, 4, 1, 4));
	assert_int_equal(host_load(d, 0, 4, 4), 1);
	host_free(host);
}

/* The same of a segment's counts, while another lane changes them. */
TEST("a lane does not wait for a busy segment for ever")
{
	struct host *host = begun_two();
	struct host_dev *d = &host->dev[0];
	struct t3_segment *first = t3_spaces(d->dev)->space[0].sorted[0];

	assert_true(t3_dev_aperture_store(d->dev, 0, 4, 1, 4));
	first->busy = 1;
	assert_false(t3_dev_aperture_store(d->dev, 0, 4 * TILE + 4, 1, 4));
	assert_true(t3_dev_aperture_store(d->dev, 1, 4 * TILE + 4, 1, 4));
	first->busy = 0;
	assert_true(t3_dev_aperture_store(d->dev, 0, 4 * TILE + 8, 1, 4));
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 5);
	assert_int_equal(host_stats(d, 0, 0).stores, 2);
	assert_int_equal(host_stats(d, 0, 1).stores, 3);
	host_free(host);
}

/* After an epoch the same bytes become those of another segment, with other tiles. */
TEST("a segment that is mapped anew has its own tiles")
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = usual();
	uint32_t at, pass;

	for (pass = 0; pass < 2; pass++)
		for (at = 0; at < 4 * TILE; at += 4)
			if (pass || at % TILE || at > TILE)
				host_store(d, 0, at, 1, 4);
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	host_release(d, 0, 1);
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 0, 0), T3_ADMIN_OK);
	map.tile_row_bytes = 4;
	host_map(d, &map);
	host_arm(d, 0, 2);
	for (at = 0; at < 4 * TILE; at += 4)
		assert_false(t3_dev_aperture_store(d->dev, at / 4 % T3_LANES, at, 1, 4));
	t3_dev_aperture_write(d->dev, 0, 1, 4);
	assert_false(t3_dev_aperture_store(d->dev, 0, 0, 1, 4));
	t3_dev_aperture_write(d->dev, 0, 1, 4);
	assert_int_equal(host_tile_query(d, 0, 0, 0, 1).tiles, 1);
	assert_int_equal(host_counter(d, T3_COUNTER_TRIGGERS), 5);
	host_free(host);
}
