/* SPDX-License-Identifier: MIT */
/*
 * The tracker against SPEC.md section 3.3: its counters against a plain model of a
 * set-associative LRU cache, and runs that differ in its shape alone.
 */
#include "host.h"
#include "test.h"

struct shape {
	uint32_t entries, ways;
};

static const struct shape shapes[] = {
	{ 1, 1 },   { 2, 1 },	{ 2, 2 },     { 8, 1 },	     { 8, 8 },	{ 64, 64 },
	{ 256, 8 }, { 256, 1 }, { 65536, 1 }, { 65536, 64 }, { 12, 3 },
};

#define SHAPES	 (sizeof(shapes) / sizeof(shapes[0]))
#define SEGMENTS 3u
#define TILES	 40u /* of a segment: one row of one element each */
#define UPDATES	 5u
#define UPDATE	 4u /* bytes */

/* ------------------------------------------------------------------- model */

struct line {
	uint32_t segment, tile, used; /* used 0: free */
};

struct model {
	struct shape shape;
	uint32_t clock, live;
	uint32_t count[SEGMENTS][TILES];
	uint64_t hit, alloc, spill, fill, peak;
	struct line line[65536];
};

static struct line *find(struct line *set, uint32_t ways, uint32_t segment, uint32_t tile)
{
	uint32_t way;

	for (way = 0; way < ways; way++)
		if (set[way].used && set[way].segment == segment && set[way].tile == tile)
			return &set[way];
	return NULL;
}

static struct line *oldest(struct line *set, uint32_t ways)
{
	struct line *found = set;
	uint32_t way;

	for (way = 0; way < ways; way++)
		if (set[way].used < found->used)
			found = &set[way];
	return found;
}

static struct line *allocate(struct model *m, struct line *set, uint32_t segment, uint32_t tile)
{
	struct line *line = oldest(set, m->shape.ways);

	m->alloc++;
	m->fill += m->count[segment][tile] != 0;
	if (line->used)
		m->spill++;
	else
		m->live++;
	if (m->live > m->peak)
		m->peak = m->live;
	line->segment = segment;
	line->tile = tile;
	return line;
}

static void model_update(struct model *m, uint32_t segment, uint32_t tile)
{
	uint32_t sets = m->shape.entries / m->shape.ways;
	struct line *set = &m->line[(size_t)(tile % sets) * m->shape.ways];
	struct line *line = find(set, m->shape.ways, segment, tile);

	if (line)
		m->hit++;
	else
		line = allocate(m, set, segment, tile);
	line->used = ++m->clock;
	m->count[segment][tile] += UPDATE;
	if (m->count[segment][tile] == UPDATE * UPDATES) {
		line->used = 0;
		m->live--;
	}
}

static void expect_model(struct host_dev *d, const struct model *m)
{
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_HIT), m->hit);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_ALLOC), m->alloc);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_SPILL), m->spill);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_FILL), m->fill);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), m->live);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_PEAK), m->peak);
}

/* --------------------------------------------------------------------- runs */

static struct t3_cmd_seg_map column(uint32_t segment, uint32_t kind)
{
	struct t3_cmd_seg_map map = host_segment(0, segment, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = TILES;
	map.tile_rows = 1;
	map.row_bytes = map.pitch = map.tile_row_bytes = UPDATE;
	map.updates = UPDATES;
	map.counter_base = segment * TILES;
	return map;
}

/* Rank 1 sends to rank 0's segments 0 .. 2: so updates come by all three ways. */
static struct host *set_up(const struct shape *shape)
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, shape->entries, shape->ways,
				      T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t s;

	host_space(a, 0);
	host_space(b, 0);
	host_connect(b, a, 0);
	for (s = 0; s < SEGMENTS; s++) {
		struct t3_cmd_seg_map local = column(s, T3_SEG_LOCAL);
		struct t3_cmd_seg_map remote = column(s, T3_SEG_REMOTE);

		host_map(a, &local);
		host_stage(a, 0, s, 1);
		host_map(b, &remote);
	}
	host_arm(a, 0, 1);
	host_arm(b, 0, 1);
	host_drain(host);
	return host;
}

static void update(struct host *host, uint32_t way, uint32_t segment, uint32_t tile)
{
	struct host_dev *a = &host->dev[0];
	uint32_t one = 1;

	if (way == 0) {
		host_store(a, 0, segment * 0x400 + tile * UPDATE, 1, UPDATE);
	} else if (way == 1) {
		memcpy(host_slot(a, 0, segment, 0) + tile * UPDATE, &one, sizeof(one));
		host_tile(a, 0, segment, 0, tile);
	} else {
		host_store(&host->dev[1], 0, segment * 0x400 + tile * UPDATE, 1, UPDATE);
	}
	host_drain(host);
}

/* TILE_QUERY says the same, and is no use of an entry. */
static void look(struct host_dev *d, const struct model *m, uint64_t *random)
{
	uint32_t segment = host_below(random, SEGMENTS), tile = host_below(random, TILES);
	struct t3_cmd_tile_query got = host_tile_query(d, 0, segment, tile, 1);
	bool open = m->count[segment][tile] < UPDATE * UPDATES;

	assert_int_equal(got.tile, tile);
	assert_int_equal(got.counted, m->count[segment][tile]);
	assert_int_equal(got.expected, UPDATE * UPDATES);
	assert_int_equal(!(got.flags & T3_TILE_STARTED), !got.counted);
	assert_int_equal(!(got.flags & T3_TILE_OPEN), !open);
	assert_int_equal(!(got.flags & T3_TILE_TRIGGERED), open);
}

/* Leaves out a last update here and there: their entries live on. */
static void run(struct host *host, struct model *m, uint64_t random)
{
	uint32_t i;

	for (i = 0; i < 2000; i++) {
		uint32_t segment = host_below(&random, SEGMENTS);
		uint32_t tile = host_below(&random, TILES), way = host_below(&random, 3);

		if (m->count[segment][tile] == UPDATE * UPDATES)
			continue;
		update(host, way, segment, tile);
		model_update(m, segment, tile);
		look(&host->dev[0], m, &random);
		expect_model(&host->dev[0], m);
	}
}

static void expect_values(struct host_dev *d, const struct model *m)
{
	uint32_t segment, tile, tracked;

	for (segment = 0; segment < SEGMENTS; segment++) {
		tracked = 0;
		for (tile = 0; tile < TILES; tile++) {
			uint32_t value;

			memcpy(&value, host_buffer(d, 0) + segment * 0x400 + tile * UPDATE, 4);
			assert_int_equal(value * UPDATE, m->count[segment][tile]);
			tracked += m->count[segment][tile] == UPDATE * UPDATES;
		}
		assert_int_equal(host_stats(d, 0, segment).tiles_tracked, tracked);
	}
}

/* Rank 1 tracks its own part of the same updates: only rank 0 is looked at. */
TEST("the tracker counts as the model does")
{
	static struct model m;
	size_t i;

	for (i = 0; i < SHAPES; i++) {
		struct host *host = set_up(&shapes[i]);

		memset(&m, 0, sizeof(m));
		m.shape = shapes[i];
		run(host, &m, 77 + i);
		expect_values(&host->dev[0], &m);
		host_free(host);
	}
}

/* ------------------------------------------------------------- only counters */

static bool tracker_counter(uint32_t id)
{
	return id <= T3_COUNTER_TRACKER_PEAK;
}

/* One order of updates, which a shape must not change; every tile is completed. */
static void complete(struct host *host)
{
	uint64_t random = 4711;
	uint32_t left[SEGMENTS * TILES], count = SEGMENTS * TILES, i;

	for (i = 0; i < count; i++)
		left[i] = UPDATES;
	for (i = 0; i < SEGMENTS * TILES * UPDATES;) {
		uint32_t place = host_below(&random, count);
		uint32_t way = left[place] == 1 ? 2 : host_below(&random, 2);

		if (!left[place] || (left[place] == 1 && i < SEGMENTS * TILES * (UPDATES - 1)))
			continue;
		update(host, way, place / TILES, place % TILES);
		left[place]--;
		i++;
	}
}

static void expect_same(struct host *a, struct host *b)
{
	uint32_t r, id;

	for (r = 0; r < 2; r++) {
		for (id = 0; id < T3_COUNTER_COUNT; id++)
			if (!tracker_counter(id))
				assert_int_equal(host_counter(&a->dev[r], id),
						 host_counter(&b->dev[r], id));
		assert_memory_equal(a->dev[r].memory, b->dev[r].memory, HOST_MEMORY);
		assert_memory_equal(a->dev[r].pages, b->dev[r].pages, HOST_PAGES * T3_PAGE_SIZE);
		assert_int_equal(host_get(&a->dev[r], T3_REG_VCLOCK, 8),
				 host_get(&b->dev[r], T3_REG_VCLOCK, 8));
	}
}

/* Rank 1's segments expect as many updates as it sends: one for each tile. */
static struct host *set_up_complete(const struct shape *shape)
{
	struct host *host = set_up(shape);
	struct host_dev *b = &host->dev[1];
	uint32_t s;

	assert_int_equal(host_space_command(&host->dev[0], T3_CMD_SPACE_RESET, 0), T3_ADMIN_OK);
	assert_int_equal(host_space_command(b, T3_CMD_SPACE_RESET, 0), T3_ADMIN_OK);
	host_drain(host);
	host_connect(b, &host->dev[0], 0);
	for (s = 0; s < SEGMENTS; s++) {
		struct t3_cmd_seg_map remote = column(s, T3_SEG_REMOTE);

		remote.updates = 1;
		host_map(b, &remote);
	}
	host_arm(&host->dev[0], 0, 1);
	host_arm(b, 0, 1);
	host_drain(host);
	return host;
}

TEST("the tracker's shape is invisible")
{
	struct host *first = NULL;
	size_t i;

	for (i = 0; i < SHAPES; i++) {
		struct host *host = set_up_complete(&shapes[i]);

		complete(host);
		host_expect(&host->dev[0], 0, T3_SPACE_COMPLETE, 1);
		host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
		assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_TRACKER_LIVE), 0);
		if (!first) {
			first = host;
			continue;
		}
		expect_same(first, host);
		host_free(host);
	}
	host_free(first);
}
