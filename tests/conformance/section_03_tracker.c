// SPDX-License-Identifier: MIT
/* SPEC.md 3.3: the tracker's counters, for the size in the register TRACKER. */
#include "conf.h"
#include "run.h"

CONF_SECTION("3.3", "tracker");

/* A tile of 8 bytes: the first store of 4 allocates, the second one completes. */
struct scene {
	struct conf_space s;
	uint32_t entries, ways, sets;
};

static void setup(struct conf *c, struct scene *scene, uint32_t tiles, uint32_t updates)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_cmd_seg_map segment;

	conf_space_create(c, d, &scene->s, 8ull * tiles, tiles);
	segment = conf_segment(&scene->s, 0);
	segment.row_bytes = segment.tile_row_bytes = segment.pitch = 8;
	segment.rows = tiles;
	segment.updates = updates;
	conf_map(c, &scene->s, &segment);
	conf_arm_wait(c, &scene->s, 1);
}

static void geometry(struct conf *c, struct scene *scene)
{
	uint32_t tracker = conf_reg(conf_device(c, 0), T3_REG_TRACKER);

	scene->entries = tracker >> 8;
	scene->ways = tracker & 0xff;
	scene->sets = scene->entries / scene->ways;
	if (scene->sets & (scene->sets - 1))
		conf_skip(c, "%u sets are not chosen by low bits", scene->sets);
}

static void half(struct scene *scene, uint32_t tile)
{
	conf_store(&scene->s, 8ull * tile, 4, 1);
}

static void other_half(struct scene *scene, uint32_t tile)
{
	conf_store(&scene->s, 8ull * tile + 4, 4, 1);
}

static void expect(struct conf *c, struct scene *scene, enum t3_counter_id id, const char *name,
		   uint64_t wanted)
{
	CHECK_EQUAL(c, name, conf_counter(scene->s.dev, id), wanted);
}

#define EXPECT(c, scene, id, wanted) expect(c, scene, T3_COUNTER_TRACKER_##id, #id, wanted)

TEST("one tile takes one entry")
{
	struct scene scene;

	geometry(c, &scene);
	setup(c, &scene, 2, 1);
	half(&scene, 0);
	EXPECT(c, &scene, ALLOC, 1);
	EXPECT(c, &scene, HIT, 0);
	EXPECT(c, &scene, LIVE, 1);
	other_half(&scene, 0);
	EXPECT(c, &scene, ALLOC, 1);
	EXPECT(c, &scene, HIT, 1);
	EXPECT(c, &scene, LIVE, 0);
	EXPECT(c, &scene, PEAK, 1);
	EXPECT(c, &scene, SPILL, 0);
	expect(c, &scene, T3_COUNTER_TRIGGERS, "TRIGGERS", 1);
	expect(c, &scene, T3_COUNTER_STORES, "STORES", 2);
}

/* One tile more than a set has ways, and then the tile that was replaced. */
TEST("a full set spills an entry")
{
	struct scene scene;

	geometry(c, &scene);
	setup(c, &scene, scene.sets * (scene.ways + 1), 1);
	for (uint32_t i = 0; i < scene.ways; i++)
		half(&scene, i * scene.sets);
	EXPECT(c, &scene, SPILL, 0);
	EXPECT(c, &scene, LIVE, scene.ways);
	half(&scene, scene.ways * scene.sets);
	EXPECT(c, &scene, ALLOC, scene.ways + 1);
	EXPECT(c, &scene, SPILL, 1);
	EXPECT(c, &scene, LIVE, scene.ways);
	EXPECT(c, &scene, FILL, 0);
	other_half(&scene, 0);
	EXPECT(c, &scene, ALLOC, scene.ways + 2);
	EXPECT(c, &scene, FILL, 1);
	EXPECT(c, &scene, SPILL, 2);
	expect(c, &scene, T3_COUNTER_TRIGGERS, "TRIGGERS", 1);
	EXPECT(c, &scene, LIVE, scene.ways - 1);
	EXPECT(c, &scene, PEAK, scene.ways);
}

/* The least recently used entry is replaced, not the oldest. Tile 0 is used again before. */
TEST("the least recently used entry is spilled")
{
	struct scene scene;

	geometry(c, &scene);
	if (scene.ways < 2)
		conf_skip(c, "one way has nothing to choose from");
	setup(c, &scene, scene.sets * (scene.ways + 1), 2);
	for (uint32_t i = 0; i < scene.ways; i++)
		half(&scene, i * scene.sets);
	half(&scene, 0);
	half(&scene, scene.ways * scene.sets);
	EXPECT(c, &scene, SPILL, 1);
	EXPECT(c, &scene, HIT, 1);
	half(&scene, 0);
	EXPECT(c, &scene, HIT, 2);
	EXPECT(c, &scene, FILL, 0);
	half(&scene, scene.sets);
	EXPECT(c, &scene, FILL, 1);
}

/* The way of a complete tile is used before any entry is spilled. */
TEST("a free way is used before a spill")
{
	struct scene scene;

	geometry(c, &scene);
	setup(c, &scene, scene.sets * (scene.ways + 1), 1);
	for (uint32_t i = 0; i < scene.ways; i++)
		half(&scene, i * scene.sets);
	other_half(&scene, (scene.ways - 1) * scene.sets);
	half(&scene, scene.ways * scene.sets);
	EXPECT(c, &scene, SPILL, 0);
	EXPECT(c, &scene, LIVE, scene.ways);
}

/* The table has the written-back count, with this epoch. */
TEST("a spilled count is in the table")
{
	struct t3_tile_record record;
	struct scene scene;
	uint64_t at;

	geometry(c, &scene);
	setup(c, &scene, scene.sets * (scene.ways + 1), 1);
	for (uint32_t i = 0; i <= scene.ways; i++)
		half(&scene, i * scene.sets);
	at = scene.s.args.counters;
	record.epoch = (uint32_t)conf_read(scene.s.dev->memory, at, 4);
	record.count = (uint32_t)conf_read(scene.s.dev->memory, at + 4, 4);
	record.flags = (uint16_t)conf_read(scene.s.dev->memory, at + 12, 2);
	CHECK_EQUAL(c, "epoch of the spilled record", record.epoch, 1);
	CHECK_EQUAL(c, "its count", record.count, 4);
	CHECK_EQUAL(c, "its flags", record.flags, T3_TILE_STARTED);
	at += 16ull * scene.sets;
	other_half(&scene, scene.sets);
	CHECK_EQUAL(c, "count of a complete record", conf_read(scene.s.dev->memory, at + 4, 4), 8);
}

/* Twice as many tiles as entries: first one half of each, then the other half in another order. */
TEST("counts are exact with twice as many tiles as entries")
{
	uint32_t tiles;
	struct scene scene;

	geometry(c, &scene);
	tiles = 2 * scene.entries;
	setup(c, &scene, tiles, 1);
	for (uint32_t i = 0; i < tiles; i++)
		half(&scene, i);
	expect(c, &scene, T3_COUNTER_TRIGGERS, "TRIGGERS", 0);
	EXPECT(c, &scene, PEAK, scene.entries);
	EXPECT(c, &scene, LIVE, scene.entries);
	EXPECT(c, &scene, SPILL, tiles - scene.entries);
	for (uint32_t i = 0; i < tiles; i++)
		other_half(&scene, (uint32_t)(i * 2654435761u) & (tiles - 1));
	conf_wait_state(c, &scene.s, T3_SPACE_COMPLETE, 1);
	EXPECT(c, &scene, LIVE, 0);
	expect(c, &scene, T3_COUNTER_TRIGGERS, "TRIGGERS", tiles);
	expect(c, &scene, T3_COUNTER_STORES, "STORES", 2ull * tiles);
	CHECK_EQUAL(c, "HIT + ALLOC",
		    conf_counter(scene.s.dev, T3_COUNTER_TRACKER_HIT) +
			    conf_counter(scene.s.dev, T3_COUNTER_TRACKER_ALLOC),
		    2ull * tiles);
}
