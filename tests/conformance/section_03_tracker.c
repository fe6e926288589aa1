// SPDX-License-Identifier: MIT
/* SPEC.md 3.3: the tracker's counters, for the size in the register TRACKER. */
#include <stdlib.h>

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

/* Spilled counts stay known after a fault. Those that entries alone had are lost. */
TEST("a fault loses what entries alone knew")
{
	struct t3_cmd_tile_query got;
	struct scene scene;

	geometry(c, &scene);
	if (!(conf_reg(conf_device(c, 0), T3_REG_CAPS) & T3_CAP_TILES))
		conf_skip(c, "needs CAPS.TILES");
	setup(c, &scene, scene.sets * (scene.ways + 1), 1);
	for (uint32_t i = 0; i <= scene.ways; i++)
		half(&scene, i * scene.sets);
	got = conf_tile_query(c, &scene.s, 0, scene.ways * scene.sets, 1);
	CHECK_EQUAL(c, "counted before", got.counted, 4);
	conf_read(conf_doorbell(&scene.s), 0x100, 4);
	conf_wait_fault(c, &scene.s, T3_FAULT_BAD_DOORBELL);
	got = conf_tile_query(c, &scene.s, 0, 0, 1);
	CHECK_EQUAL(c, "state", got.state, T3_SPACE_FAULTED);
	CHECK_EQUAL(c, "counted of what was spilled", got.counted, 4);
	got = conf_tile_query(c, &scene.s, 0, scene.ways * scene.sets, 1);
	CHECK_EQUAL(c, "counted of what was not", got.counted, 0);
	CHECK_EQUAL(c, "its flags", got.flags, T3_TILE_STARTED | T3_TILE_OPEN);
}

/* The counter table shows which tiles are done, and of which epoch. */
TEST("a triggered tile is recorded in memory")
{
	struct t3_tile_record record;
	struct scene scene;

	geometry(c, &scene);
	setup(c, &scene, 2, 1);
	half(&scene, 0);
	CHECK_EQUAL(c, "flags", conf_record(&scene.s, 0).flags, T3_TILE_STARTED);
	other_half(&scene, 0);
	record = conf_record(&scene.s, 0);
	CHECK_EQUAL(c, "epoch", record.epoch, 1);
	CHECK_EQUAL(c, "count", record.count, 8);
	CHECK_EQUAL(c, "flags", record.flags, T3_TILE_STARTED | T3_TILE_TRIGGERED);
	CHECK_EQUAL(c, "flags of the other", conf_record(&scene.s, 1).flags, 0);
}

/* ---------------------------------------------------------- against a model */

#define SEGMENTS 3u
#define TILES	 200u /* of a segment: one row of one element each */
#define UPDATES	 5u
#define PLACE	 0x400u /* of segment s: s * PLACE; its slot is behind all of them */

struct line {
	uint32_t segment, tile, used; /* used 0: free */
};

/* A plain set-associative cache with the least recently used line as the victim. */
struct model {
	uint32_t entries, ways, clock;
	uint64_t hit, alloc, spill, fill, live, peak;
	uint32_t count[SEGMENTS][TILES];
	struct line line[65536];
};

static struct line *find_line(struct model *m, uint32_t segment, uint32_t tile)
{
	struct line *set = &m->line[(size_t)(tile % (m->entries / m->ways)) * m->ways];
	struct line *oldest = set;

	for (struct line *line = set; line < set + m->ways; line++) {
		if (line->used && line->segment == segment && line->tile == tile) {
			m->hit++;
			return line;
		}
		if (line->used < oldest->used)
			oldest = line;
	}
	m->alloc++;
	m->fill += m->count[segment][tile] != 0;
	m->spill += oldest->used != 0;
	m->live += oldest->used == 0;
	if (m->live > m->peak)
		m->peak = m->live;
	oldest->segment = segment;
	oldest->tile = tile;
	return oldest;
}

static void model_update(struct model *m, uint32_t segment, uint32_t tile)
{
	struct line *line = find_line(m, segment, tile);

	line->used = ++m->clock;
	m->count[segment][tile] += 4;
	if (m->count[segment][tile] == 4 * UPDATES) {
		line->used = 0;
		m->live--;
	}
}

static void expect_model(struct conf *c, struct scene *scene, const struct model *m)
{
	EXPECT(c, scene, HIT, m->hit);
	EXPECT(c, scene, ALLOC, m->alloc);
	EXPECT(c, scene, SPILL, m->spill);
	EXPECT(c, scene, FILL, m->fill);
	EXPECT(c, scene, LIVE, m->live);
	EXPECT(c, scene, PEAK, m->peak);
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
	*random = *random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(*random >> 8) * below >> 24);
}

/* The same columns on two devices: the second one's lead to those of the first, with a slot each. */
static void setup_columns(struct conf *c, struct scene *scene, struct conf_space *source,
			  uint32_t remote_updates)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), &scene->s, 2 * T3_PAGE_SIZE, SEGMENTS * TILES);
	conf_space_create(c, conf_device(c, 1), source, T3_PAGE_SIZE, SEGMENTS * TILES);
	conf_memory_fill(scene->s.dev, scene->s.args.buffer, 2 * T3_PAGE_SIZE, 0x0000000100000001);
	conf_connect(c, source, 0, &scene->s, 0);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		segment = conf_segment(&scene->s, i);
		segment.updates = UPDATES;
		segment.rows = TILES;
		segment.row_bytes = segment.tile_row_bytes = segment.pitch = 4;
		segment.offset = PLACE * i;
		segment.counter_base = TILES * i;
		conf_map(c, &scene->s, &segment);
		conf_stage(c, &scene->s, i, T3_PAGE_SIZE, 4 * TILES, 1);
		segment.space = source->args.space;
		segment.updates = remote_updates;
		segment.kind = T3_SEG_REMOTE;
		segment.op = segment.init = 0;
		segment.target_op = T3_OP_ADD;
		segment.target_segment = i;
		segment.routes = 1;
		conf_map(c, source, &segment);
	}
	conf_arm_wait(c, &scene->s, 1);
	conf_arm_wait(c, source, 1);
}

/* One update of 1: by a store, a doorbell, or a store at the other device. */
static void update(struct conf *c, struct scene *scene, struct conf_space *source, uint32_t way,
		   uint32_t segment, uint32_t tile)
{
	if (way == 0)
		conf_store(&scene->s, PLACE * segment + 4 * tile, 4, 1);
	else if (way == 1)
		conf_tile(&scene->s, segment, 0, tile);
	else
		conf_store(source, PLACE * segment + 4 * tile, 4, 1);
	if (way == 2) {
		struct conf_deadline deadline = conf_deadline(c);

		while (conf_space_command(c, source, T3_CMD_SPACE_QUERY).in_flight)
			CHECK(c, conf_pause(&deadline), "an update stays in flight");
	}
}

/* TILE_QUERY says the same as the model, and is no use of an entry. */
static void look(struct conf *c, struct scene *scene, const struct model *m, uint32_t segment,
		 uint32_t tile)
{
	struct t3_cmd_tile_query got = conf_tile_query(c, &scene->s, segment, tile, 1);
	uint32_t count = m->count[segment][tile], flags = T3_TILE_OPEN;

	if (count == 4 * UPDATES)
		flags = T3_TILE_STARTED | T3_TILE_TRIGGERED;
	else if (count)
		flags |= T3_TILE_STARTED;
	CHECK_EQUAL(c, "tile", got.tile, tile);
	CHECK_EQUAL(c, "counted", got.counted, count);
	CHECK_EQUAL(c, "expected", got.expected, 4 * UPDATES);
	CHECK_EQUAL(c, "flags", got.flags, flags);
}

static void check_sums(struct conf *c, struct scene *scene, const struct model *m)
{
	for (uint32_t segment = 0; segment < SEGMENTS; segment++) {
		uint32_t tracked = 0;

		for (uint32_t tile = 0; tile < TILES; tile++) {
			CHECK_EQUAL(c, "sum",
				    4 * conf_buffer(&scene->s, PLACE * segment + 4 * tile, 4),
				    m->count[segment][tile]);
			tracked += m->count[segment][tile] == 4 * UPDATES;
		}
		CHECK_EQUAL(c, "tiles_tracked", conf_stats(c, &scene->s, segment).tiles_tracked,
			    tracked);
	}
}

/* Updates of all ways in any order. Some tiles are left, so that their entries live on. */
static void against_model(struct conf *c, uint32_t random, unsigned updates)
{
	uint32_t tracker = conf_reg(conf_device(c, 0), T3_REG_TRACKER);
	struct conf_space source;
	static struct model m;
	struct scene scene;

	if (!(conf_reg(conf_device(c, 0), T3_REG_CAPS) & T3_CAP_TILES))
		conf_skip(c, "needs CAPS.TILES");
	geometry(c, &scene);
	memset(&m, 0, sizeof(m));
	m.entries = tracker >> 8;
	m.ways = tracker & 0xff;
	setup_columns(c, &scene, &source, T3_MAX_UPDATES);
	for (unsigned i = 0; i < updates; i++) {
		uint32_t segment = draw(&random, SEGMENTS), tile = draw(&random, TILES);

		if (m.count[segment][tile] == 4 * UPDATES)
			continue;
		update(c, &scene, &source, draw(&random, 3), segment, tile);
		model_update(&m, segment, tile);
		look(c, &scene, &m, draw(&random, SEGMENTS), draw(&random, TILES));
		if (i % 16 == 0)
			expect_model(c, &scene, &m);
	}
	expect_model(c, &scene, &m);
	check_sums(c, &scene, &m);
}

TEST("the tracker counts as its model does", .rows = 4, .devices = 2)
{
	against_model(c, 77 + row, 1000);
}

static const struct shape {
	const char *name;
	uint32_t entries, ways;
} shapes[] = {
	{ "1x1", 1, 1 },   { "2x1", 2, 1 },	    { "2x2", 2, 2 },	       { "8x1", 8, 1 },
	{ "8x8", 8, 8 },   { "64x64", 64, 64 },	    { "256x8", 256, 8 },       { "256x1", 256, 1 },
	{ "12x3", 12, 3 }, { "65536x1", 65536, 1 }, { "65536x64", 65536, 64 },
};

static const char *shape_label(unsigned row)
{
	return shapes[row].name;
}

TEST("a tracker of any shape counts as its model does", .rows = ARRAY_SIZE(shapes),
     .label = shape_label, .devices = 2, .needs = CONF_TRACKER)
{
	conf_tracker(c, conf_device(c, 0), shapes[row].entries, shapes[row].ways);
	against_model(c, 4711 + row, 2000);
}

/* Everything of a run that software can see, without the tracker's counters. */
struct seen {
	uint64_t counters[2][T3_COUNTER_COUNT], time;
	uint8_t buffers[2][2 * T3_PAGE_SIZE], records[2][16 * SEGMENTS * TILES];
	struct t3_event_area areas[2];
};

static void see(struct conf *c, struct conf_space *const spaces[2], uint64_t start,
		struct seen *seen)
{
	for (unsigned i = 0; i < 2; i++) {
		struct conf_space *s = spaces[i];

		for (uint32_t id = T3_COUNTER_TRACKER_PEAK + 1; id < T3_COUNTER_COUNT; id++)
			seen->counters[i][id] = conf_counter(s->dev, id);
		conf_get(s->dev->memory + s->args.buffer, seen->buffers[i], s->args.size);
		conf_get(s->dev->memory + s->args.counters, seen->records[i],
			 sizeof(seen->records[i]));
		memcpy(&seen->areas[i], (const void *)s->events, sizeof(seen->areas[i]));
		seen->areas[i].generation = 0;
		CHECK_EQUAL(c, "faults", seen->areas[i].faults, 0);
	}
	seen->time = conf_reg64(spaces[0]->dev, T3_REG_VCLOCK) - start;
}

/* One order of updates completes every tile. Each tile's last update comes from the peer. */
static void complete_columns(struct conf *c, uint32_t entries, uint32_t ways, struct seen *seen)
{
	struct conf_device *a = conf_device(c, 0), *b = conf_device(c, 1);
	uint32_t random = 4711, total = SEGMENTS * TILES * UPDATES;
	uint8_t left[SEGMENTS * TILES];
	struct conf_space source;
	struct scene scene;
	uint64_t start;

	memset(seen, 0, sizeof(*seen));
	conf_tracker(c, a, entries, ways);
	conf_reset(b);
	b->memory_used = b->aperture_used = 0;
	b->spaces_used = 0;
	conf_interrupts_now(c, b, 0);
	start = conf_reg64(a, T3_REG_VCLOCK);
	setup_columns(c, &scene, &source, 1);
	memset(left, UPDATES, sizeof(left));
	for (uint32_t i = 0; i < total;) {
		uint32_t place = draw(&random, SEGMENTS * TILES);
		bool last = i >= total / UPDATES * (UPDATES - 1);

		if (left[place] == 0 || (left[place] == 1) != last)
			continue;
		update(c, &scene, &source, last ? 2 : draw(&random, 2), place / TILES,
		       place % TILES);
		left[place]--;
		i++;
	}
	conf_wait_state(c, &scene.s, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &source, T3_SPACE_COMPLETE, 1);
	EXPECT(c, &scene, LIVE, 0);
	see(c, (struct conf_space *const[]){ &scene.s, &source }, start, seen);
}

TEST("the tracker's shape is invisible", .rows = ARRAY_SIZE(shapes), .label = shape_label,
     .devices = 2, .needs = CONF_TRACKER)
{
	static struct seen first, seen;

	complete_columns(c, 256, 8, &first);
	complete_columns(c, shapes[row].entries, shapes[row].ways, &seen);
	CHECK(c, !memcmp(first.counters, seen.counters, sizeof(seen.counters)),
	      "counters differ from those of the usual tracker");
	CHECK(c, !memcmp(first.buffers, seen.buffers, sizeof(seen.buffers)), "sums differ");
	CHECK(c, !memcmp(first.records, seen.records, sizeof(seen.records)), "records differ");
	CHECK(c, !memcmp(first.areas, seen.areas, sizeof(seen.areas)), "event areas differ");
	CHECK_EQUAL(c, "virtual time", seen.time, first.time);
}
