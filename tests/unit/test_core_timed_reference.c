/* SPDX-License-Identifier: MIT */
/*
 * Three mechanisms of the timed model, written again from SPEC.md 8.1, slow and plain, and
 * compared over random shapes: order and bytes of the chunks, the tracker's occupancy, and
 * the arbitration at one memory channel. T3_SEEDS, T3_SEED as in test_core_property.c.
 */
#include "host.h"
#include "seeds.h"
#include "timed/timed_private.h"
#include "timed.h"
#include "test.h"

#define SEEDS 60u

static uint64_t between(uint64_t *seed, uint64_t low, uint64_t high)
{
	return low + host_below(seed, high - low + 1);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t up(uint64_t size, uint64_t of)
{
	return (size + of - 1) / of;
}

/* --------------------------------------------------- order, and bytes of a chunk */

/* A tile: its place among all tiles of the output, and its elements. */
struct tile {
	uint64_t row, column, rows, columns;
};

struct order {
	struct tile *tile;
	uint64_t count, chunk; /* tiles in all, and of a chunk */
};

static void add_tile(struct order *o, const struct t3_timed_setup *setup, const uint64_t *block,
		     uint64_t row, uint64_t column)
{
	struct timed_reference_cut cut = timed_reference_cut(setup);
	uint64_t high = setup->params.tile_rows, wide = setup->params.tile_columns;
	struct tile *tile = &o->tile[o->count++];

	tile->row = block[0] * up(cut.rows, high) + row;
	tile->column = block[1] * up(cut.columns, wide) + column;
	tile->rows = least(high, cut.rows - row * high);
	tile->columns = least(wide, cut.columns - column * wide);
}

/* Bands of tile rows, in each of them column by column. */
static void add_chunk(struct order *o, const struct t3_timed_setup *setup, const uint64_t *block)
{
	struct timed_reference_cut cut = timed_reference_cut(setup);
	uint64_t high = up(cut.rows, setup->params.tile_rows);
	uint64_t wide = up(cut.columns, setup->params.tile_columns), band, row, column;

	for (band = 0; band < high; band += setup->params.raster_rows)
		for (column = 0; column < wide; column++)
			for (row = band; row < least(high, band + setup->params.raster_rows); row++)
				add_tile(o, setup, block, row, column);
}

/* Chunks follow each other along the shorter side of the output. */
static struct order order_of(const struct t3_timed_setup *setup)
{
	struct timed_reference_cut cut = timed_reference_cut(setup);
	bool down = setup->workload.rows < setup->workload.columns;
	uint64_t outer = down ? cut.b : cut.a, inner = down ? cut.a : cut.b, i, k;
	struct order o = { .chunk = up(cut.rows, setup->params.tile_rows) *
				    up(cut.columns, setup->params.tile_columns) };

	o.tile = calloc(o.chunk * cut.a * cut.b, sizeof(o.tile[0]));
	assert_non_null(o.tile);
	for (i = 0; i < outer; i++)
		for (k = 0; k < inner; k++)
			add_chunk(&o, setup, down ? (uint64_t[]){ k, i } : (uint64_t[]){ i, k });
	return o;
}

/* The published shapes, in literal numbers; equal cuts are rows; what is forced is taken. */
TEST("chunks are cut as published")
{
	/* clang-format off */
	static const struct {
		uint64_t rows, columns, ranks;
		enum t3_timed_chunks chunks;
		uint32_t row_blocks, column_blocks;
	} cuts[] = {
		{ 16384, 3072, 8, T3_TIMED_CHUNKS_AUTO, 8, 1 },
		{ 16384, 3072, 16, T3_TIMED_CHUNKS_AUTO, 8, 2 },
		{ 8192, 4256, 8, T3_TIMED_CHUNKS_AUTO, 4, 2 },
		{ 2048, 18432, 32, T3_TIMED_CHUNKS_AUTO, 2, 16 },
		{ 4096, 4096, 2, T3_TIMED_CHUNKS_AUTO, 2, 1 },
		{ 4096, 4096, 32, T3_TIMED_CHUNKS_AUTO, 8, 4 },
		{ 2048, 18432, 32, T3_TIMED_CHUNKS_ROWS, 32, 1 },
		{ 16384, 3072, 8, T3_TIMED_CHUNKS_COLUMNS, 1, 8 },
	};
	/* clang-format on */
	size_t i;

	for (i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct t3_timed_setup setup =
			timed_published(cuts[i].columns, cuts[i].rows, 1, cuts[i].ranks);
		struct timed_cut cut;

		setup.workload.chunks = cuts[i].chunks;
		cut = timed_cut_choose(&setup);
		assert_int_equal(cut.row_blocks, cuts[i].row_blocks);
		assert_int_equal(cut.column_blocks, cuts[i].column_blocks);
	}
}

/* A cache that finds any block anywhere: names of the blocks, the last used one first. */
struct lru {
	uint64_t block[64];
	uint64_t lines, used, misses, bytes;
};

static void touch(struct lru *c, uint64_t block, uint64_t bytes)
{
	uint64_t at = 0, i;

	while (at < c->used && c->block[at] != block)
		at++;
	if (at == c->used) {
		c->misses++;
		c->bytes += bytes;
		if (c->used < c->lines)
			c->used++;
		else
			at--;
	}
	for (i = at; i > 0; i--)
		c->block[i] = c->block[i - 1];
	c->block[0] = block;
}

/* A step's block of an operand: `size` rows or columns of the panel, in requests. */
static void touch_panel(struct lru *c, const struct t3_timed_setup *setup, uint64_t name,
			uint64_t size, uint64_t step)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t depth = least(p->k_block, setup->workload.depth - step * p->k_block), part = 0;
	uint64_t bytes = size * depth * setup->workload.element_bytes;

	for (; bytes; part++) {
		uint64_t now = least(bytes, p->request_bytes);

		touch(c, (name << 32 | step) << 8 | part, now);
		bytes -= now;
	}
}

static void touch_tile(struct lru *c, const struct t3_timed_setup *setup, const struct tile *tile)
{
	uint64_t step;

	for (step = 0; step * setup->params.k_block < setup->workload.depth; step++) {
		touch_panel(c, setup, tile->row << 1, tile->rows, step);
		touch_panel(c, setup, tile->column << 1 | 1, tile->columns, step);
	}
}

/* One unit with one workgroup, and a set for all lines: loads come in the tiles' order. */
static struct t3_timed_setup random_shape(uint64_t *seed)
{
	uint64_t ranks = between(seed, 2, 24);
	struct t3_timed_setup setup = timed_small(between(seed, 1, 400), between(seed, 1, 400),
						  between(seed, 1, 60), ranks);

	setup.program = T3_TIMED_T3;
	setup.workload.chunks = (enum t3_timed_chunks)host_below(seed, 3);
	setup.workload.collective =
		(enum t3_timed_collective)host_below(seed, T3_TIMED_COLLECTIVES);
	timed_param(&setup, "compute_units", 1);
	timed_param(&setup, "tile_rows", between(seed, 1, 40));
	timed_param(&setup, "tile_columns", between(seed, 1, 40));
	timed_param(&setup, "k_block", between(seed, 1, 24));
	timed_param(&setup, "raster_rows", between(seed, 1, 5));
	timed_param(&setup, "cache_kib", between(seed, 16, 64));
	timed_param(&setup, "cache_ways", 64);
	return setup;
}

static uint64_t read_until(struct t3_timed *sim, uint64_t groups)
{
	struct t3_timed_counters counters;

	do {
		assert_int_equal(t3_timed_run(sim, T3_TIMED_NEVER, 1), 1);
		t3_timed_counters(sim, 0, &counters);
	} while (counters.groups < groups);
	return counters.memory_bytes[T3_TIMED_GEMM_READ];
}

static void compare_tile(const struct timed_shape *shape, uint32_t number, const struct tile *want)
{
	struct timed_place place;

	timed_shape_tile(shape, number, &place);
	assert_int_equal(place.row, want->row);
	assert_int_equal(place.column, want->column);
	assert_int_equal(place.rows, want->rows);
	assert_int_equal(place.columns, want->columns);
}

/* The first tile that is computed: for an all-gather, of the last chunk, which is the own one. */
static uint64_t first_of(const struct order *o, const struct t3_timed_setup *setup)
{
	bool own = setup->workload.collective == T3_TIMED_COLLECTIVE_ALL_GATHER;

	return own ? o->count - o->chunk : 0;
}

static void one_order(uint64_t seed)
{
	struct t3_timed_setup setup = random_shape(&seed);
	struct lru cache = { .lines = setup.params.cache_kib };
	struct t3_timed *sim = t3_timed_new(&setup);
	struct order o = order_of(&setup);
	struct t3_timed_counters counters;
	uint64_t first = first_of(&o, &setup), i;

	assert_non_null(sim);
	assert_int_equal(sim->shape.tiles, o.count);
	for (i = 0; i < o.count; i++) {
		compare_tile(&sim->shape, (uint32_t)i, &o.tile[i]);
		if (i < first)
			continue;
		touch_tile(&cache, &setup, &o.tile[i]);
		if ((i + 1) % o.chunk == 0)
			assert_int_equal(read_until(sim, i + 1 - first), cache.bytes);
	}
	t3_timed_counters(sim, 0, &counters);
	assert_int_equal(counters.cache_misses, cache.misses);
	free(o.tile);
	t3_timed_free(sim);
}

TEST_WITH("the order of chunks is the reference's", NULL, seeds_report)
{
	uint64_t seed;

	for_each_seed(seed, SEEDS) one_order(seed * 0x9e3779b97f4a7c15ull);
}

/* ------------------------------------------------------------------- tracker */

#define MAX_TILES  512u
#define MAX_PIECES 64u

/* All tiles; those of a set that have an entry are found by looking at every one. */
struct occupancy {
	struct {
		bool held, spilled;
		uint64_t used, fills, counts[MAX_PIECES], done;
	} tile[MAX_TILES];
	uint64_t tiles, pieces, sets, ways, clock;
	uint64_t allocs, spills, fills, live, peak, complete;
};

static void evict(struct occupancy *o, uint64_t set)
{
	uint64_t held = 0, oldest = MAX_TILES, i;

	for (i = set; i < o->tiles; i += o->sets) {
		if (!o->tile[i].held)
			continue;
		held++;
		if (oldest == MAX_TILES || o->tile[i].used < o->tile[oldest].used)
			oldest = i;
	}
	if (held < o->ways)
		return;
	o->tile[oldest].held = false;
	o->tile[oldest].spilled = true;
	o->spills++;
	o->live--;
}

/* Pieces with both updates are complete, unless the record is being read. */
static void settle(struct occupancy *o, uint64_t tile, const struct timed_shape *shape)
{
	uint64_t there = timed_shape_tile_pieces(shape, (uint32_t)tile), i;

	if (o->tile[tile].fills)
		return;
	for (i = 0; i < o->pieces; i++) {
		if (o->tile[tile].counts[i] != 2)
			continue;
		o->tile[tile].counts[i] = 3;
		o->tile[tile].done++;
		o->complete++;
	}
	if (o->tile[tile].done < there)
		return;
	o->live -= o->tile[tile].held;
	o->tile[tile].held = o->tile[tile].spilled = false;
}

static void update(struct occupancy *o, uint64_t tile, uint64_t piece,
		   const struct timed_shape *shape)
{
	if (!o->tile[tile].held) {
		evict(o, tile % o->sets);
		o->tile[tile].held = true;
		o->allocs++;
		o->live++;
	}
	if (o->live > o->peak)
		o->peak = o->live;
	o->tile[tile].used = ++o->clock;
	if (o->tile[tile].spilled) {
		o->tile[tile].spilled = false;
		o->tile[tile].fills++;
		o->fills++;
	}
	o->tile[tile].counts[piece]++;
	settle(o, tile, shape);
}

static void compare_tracker(const struct occupancy *o, const struct timed_device *d)
{
	assert_int_equal(d->counters.tracker_allocs, o->allocs);
	assert_int_equal(d->counters.tracker_spills, o->spills);
	assert_int_equal(d->counters.tracker_fills, o->fills);
	assert_int_equal(d->counters.tracker_live, o->live);
	assert_int_equal(d->counters.tracker_peak, o->peak);
	assert_int_equal(d->tracker.complete + d->tracker.passed, o->complete);
}

static void fill_one(struct occupancy *o, struct timed_device *d, uint64_t tile)
{
	if (!o->tile[tile].fills)
		return;
	o->tile[tile].fills--;
	settle(o, tile, timed_shape(d));
	timed_tracker_filled(d, (uint32_t)tile);
}

/* A piece that is there, and has not both updates yet; false: try another. */
static bool may_update(const struct occupancy *o, const struct timed_shape *shape, uint64_t tile,
		       uint64_t piece)
{
	return piece < timed_shape_tile_pieces(shape, (uint32_t)tile) &&
	       o->tile[tile].counts[piece] < 2;
}

static struct t3_timed_setup random_tracker(uint64_t *seed)
{
	struct t3_timed_setup setup = timed_small(between(seed, 64, 400), between(seed, 32, 200),
						  16, between(seed, 2, 4));
	uint64_t ways = between(seed, 1, 4);

	setup.program = T3_TIMED_T3;
	timed_param(&setup, "tile_rows", between(seed, 16, 40));
	timed_param(&setup, "tracker_ways", ways);
	timed_param(&setup, "tracker_entries", ways * between(seed, 1, 8));
	return setup;
}

/* Updates near each other, as they come; records are read after any time. */
static void one_tracker(uint64_t seed)
{
	static struct occupancy o;
	struct t3_timed_setup setup = random_tracker(&seed);
	struct t3_timed *sim = t3_timed_new(&setup);
	struct timed_device *d;
	uint64_t i, first;

	assert_non_null(sim);
	d = &sim->device[0];
	first = sim->shape.chunk_tiles;
	o = (struct occupancy){ .tiles = sim->shape.tiles, .pieces = sim->shape.tile_pieces };
	o.ways = setup.params.tracker_ways;
	o.sets = setup.params.tracker_entries / o.ways;
	assert_true(o.tiles <= MAX_TILES && o.pieces <= MAX_PIECES);
	for (i = 0; i < 4 * o.tiles * o.pieces; i++) {
		uint64_t near = first + i / (4 * o.pieces) * (o.tiles - first) / o.tiles;
		uint64_t tile = least(near + host_below(&seed, 24), o.tiles - 1);
		uint64_t piece = host_below(&seed, o.pieces);

		if (may_update(&o, &sim->shape, tile, piece)) {
			update(&o, tile, piece, &sim->shape);
			timed_tracker_update(d, (uint32_t)(tile * o.pieces + piece));
		}
		fill_one(&o, d, first + host_below(&seed, o.tiles - first));
		compare_tracker(&o, d);
	}
	t3_timed_free(sim);
}

TEST_WITH("the tracker's occupancy is the reference's", NULL, seeds_report)
{
	uint64_t seed;

	for_each_seed(seed, SEEDS) one_tracker(seed * 0x9e3779b97f4a7c15ull);
}

/* --------------------------------------------------------------- arbitration */

#define REQUESTS 300u

struct asked {
	uint64_t time, bytes, done;
	bool communication, write, update;
	bool came, queued, served;
};

/* One channel, request by request: every decision looks at all of them. */
struct channel {
	const struct t3_timed_params *p;
	struct asked *asked;
	uint64_t now, free, threshold;
	uint64_t entries, run, admitted, starved;
	int64_t lead;
	uint32_t order[REQUESTS], count; /* in which they were admitted */
	bool mca, writes, last_communication, last_turn;
};

static uint64_t entries_for(const struct channel *c, uint64_t bytes)
{
	return least(up(bytes, c->p->entry_bytes * c->p->memory_channels), c->p->queue_entries);
}

/* The one that waits longest; REQUESTS: none. Requests are in the order of their times. */
static uint32_t first_waiting(const struct channel *c, bool communication)
{
	uint32_t i = 0;

	while (i < REQUESTS && (!c->asked[i].came || c->asked[i].queued ||
				c->asked[i].communication != communication))
		i++;
	return i;
}

static uint32_t next_fair(const struct channel *c, uint32_t compute, uint32_t communication)
{
	bool turn = c->lead ? c->lead > 0 : !c->last_turn;

	if (compute == REQUESTS || communication == REQUESTS)
		return compute == REQUESTS ? communication : compute;
	return turn ? communication : compute;
}

static uint32_t next_mca(const struct channel *c, uint32_t compute, uint32_t communication)
{
	uint64_t since;

	if (communication != REQUESTS) {
		since = c->asked[communication].time > c->admitted ? c->asked[communication].time
								   : c->admitted;
		if (c->now - since >= c->p->starvation_ns * 1000)
			return communication;
	}
	if (compute != REQUESTS)
		return compute;
	return c->entries < c->threshold ? communication : REQUESTS;
}

static bool admit_one(struct channel *c)
{
	uint32_t compute = first_waiting(c, false), communication = first_waiting(c, true);
	bool both = compute != REQUESTS && communication != REQUESTS;
	uint32_t i =
		c->mca ? next_mca(c, compute, communication) : next_fair(c, compute, communication);
	struct asked *a = &c->asked[i];

	if (i == REQUESTS || c->entries + entries_for(c, a->bytes) > c->p->queue_entries)
		return false;
	c->lead = both ? c->lead + (int64_t)(a->communication ? -a->bytes : a->bytes) : 0;
	c->last_turn = a->communication;
	c->starved += c->mca && both && a->communication;
	if (a->communication)
		c->admitted = c->now;
	a->queued = true;
	c->entries += entries_for(c, a->bytes);
	c->order[c->count++] = i;
	return true;
}

static uint32_t first_queued(const struct channel *c, bool write)
{
	uint32_t i;

	for (i = 0; i < c->count; i++)
		if (!c->asked[c->order[i]].served && c->asked[c->order[i]].write == write)
			return c->order[i];
	return REQUESTS;
}

/* The one to serve: runs of a direction, as long as the other does not wait. */
static uint32_t next_served(struct channel *c, uint64_t *cost)
{
	uint32_t here = first_queued(c, c->writes), there = first_queued(c, !c->writes);

	*cost = 0;
	if (here != REQUESTS && (there == REQUESTS || c->run < c->p->run_kib * 1024))
		return here;
	if (there == REQUESTS)
		return REQUESTS;
	c->writes = !c->writes;
	c->run = 0;
	*cost = c->p->turnaround_ns * 1000;
	return there;
}

static uint64_t service_time(const struct channel *c, const struct asked *a)
{
	uint64_t bytes = up(a->bytes, c->p->entry_bytes) * c->p->entry_bytes;
	uint64_t time = up(bytes * 1000, c->p->memory_gbps);

	return a->update ? time * c->p->update_percent / 100 : time;
}

/* Admits what it can, and serves one if it is idle. */
static void work(struct channel *c)
{
	struct asked *a;
	uint64_t cost;
	uint32_t i;

	if (c->free)
		return;
	while (admit_one(c))
		;
	i = next_served(c, &cost);
	if (i == REQUESTS)
		return;
	a = &c->asked[i];
	if (a->communication != c->last_communication)
		cost += c->p->row_conflict_ns * 1000;
	c->last_communication = a->communication;
	c->run += a->bytes;
	a->served = true;
	a->done = c->free = c->now + cost + service_time(c, a);
}

static void end_service(struct channel *c)
{
	uint32_t i;

	c->now = c->free;
	for (i = 0; i < REQUESTS; i++)
		if (c->asked[i].served && c->asked[i].done == c->now)
			c->entries -= entries_for(c, c->asked[i].bytes);
	c->free = 0;
	work(c);
}

static void run_reference(struct channel *c)
{
	uint32_t i;

	for (i = 0; i < REQUESTS; i++) {
		while (c->free && c->free <= c->asked[i].time)
			end_service(c);
		c->now = c->asked[i].time;
		c->asked[i].came = true;
		work(c);
	}
	while (c->free)
		end_service(c);
}

/* The model's memory alone, without the device around it. */
struct bench {
	struct t3_timed sim;
	struct timed_device device;
	uint64_t done[REQUESTS];
};

static struct bench bench;

static void note(struct timed_device *d, const struct timed_request *request)
{
	bench.done[request->number] = d->sim->now;
}

static const struct timed_ops bench_ops = { .served = note };

static void add_asked(const struct asked *a, uint32_t number)
{
	struct timed_request request = { .number = number, .bytes = (uint32_t)a->bytes };

	request.kind = a->write ? T3_TIMED_RS_WRITE : T3_TIMED_RS_READ;
	request.update = a->update;
	timed_memory_add(&bench.device, a->communication ? TIMED_COMMUNICATION : TIMED_COMPUTE,
			 &request);
}

/* The time of the memory's event. */
static uint64_t next_event(void)
{
	timed_agenda_settle(&bench.device);
	return t3_timed_next(&bench.sim);
}

static void run_event(void)
{
	uint32_t number;

	bench.sim.now = t3_timed_next(&bench.sim);
	assert_int_equal(timed_agenda_take(&bench.device, &number), TIMED_EVENT_MEMORY);
	timed_memory_event(&bench.device);
}

static void bench_init(const struct t3_timed_setup *setup, uint64_t threshold)
{
	bench = (struct bench){ .sim = { .setup = *setup, .ops = &bench_ops, .devices = 1 } };
	bench.device.sim = &bench.sim;
	assert_true(timed_order_init(&bench.sim));
	assert_true(timed_agenda_init(&bench.device, 1));
	assert_true(timed_memory_init(&bench.device, REQUESTS));
	bench.device.memory.threshold = threshold;
}

static void bench_free(void)
{
	free(bench.sim.order.next);
	free(bench.sim.order.winner);
	free(bench.device.agenda.run.event);
	free(bench.device.agenda.heap.event);
	free(bench.device.memory.request);
}

static void run_model(const struct t3_timed_setup *setup, const struct asked *asked,
		      uint64_t threshold)
{
	uint32_t i;

	bench_init(setup, threshold);
	for (i = 0; i < REQUESTS; i++) {
		while (next_event() <= asked[i].time)
			run_event();
		bench.sim.now = asked[i].time;
		add_asked(&asked[i], i);
	}
	while (next_event() != T3_TIMED_NEVER)
		run_event();
	bench_free();
}

static void random_requests(struct asked *asked, uint64_t *seed)
{
	uint64_t now = 0, gap = between(seed, 1, 200000);
	uint32_t i;

	for (i = 0; i < REQUESTS; i++) {
		now += host_below(seed, 3) ? 0 : host_below(seed, gap);
		asked[i] = (struct asked){ .time = now, .bytes = between(seed, 1, 4096) };
		asked[i].communication = host_below(seed, 2);
		asked[i].write = host_below(seed, 2);
		asked[i].update = asked[i].write && host_below(seed, 2);
	}
}

static struct t3_timed_setup random_memory(uint64_t *seed)
{
	struct t3_timed_setup setup = timed_small(64, 64, 64, 2);

	setup.program = host_below(seed, 2) ? T3_TIMED_T3 : T3_TIMED_T3_MCA;
	timed_param(&setup, "memory_channels", 1);
	timed_param(&setup, "memory_gbps", between(seed, 5, 100));
	timed_param(&setup, "queue_entries", between(seed, 1, 200));
	timed_param(&setup, "entry_bytes", between(seed, 1, 128));
	timed_param(&setup, "turnaround_ns", between(seed, 0, 30));
	timed_param(&setup, "run_kib", between(seed, 1, 16));
	timed_param(&setup, "row_conflict_ns", between(seed, 0, 30));
	timed_param(&setup, "update_percent", between(seed, 100, 300));
	timed_param(&setup, "starvation_ns", between(seed, 1, 3000));
	return setup;
}

static void one_channel(uint64_t seed)
{
	static struct asked asked[REQUESTS];
	struct t3_timed_setup setup = random_memory(&seed);
	struct channel c = { .p = &setup.params, .asked = asked };
	uint32_t i;

	random_requests(asked, &seed);
	c.mca = setup.program == T3_TIMED_T3_MCA;
	c.threshold = between(&seed, 1, setup.params.queue_entries);
	run_reference(&c);
	run_model(&setup, asked, c.threshold);
	for (i = 0; i < REQUESTS; i++)
		assert_int_equal(bench.done[i], asked[i].done);
	assert_int_equal(bench.device.counters.starved, c.starved);
}

TEST_WITH("the channel's arbitration is the reference's", NULL, seeds_report)
{
	uint64_t seed;

	for_each_seed(seed, 10 * SEEDS) one_channel(seed * 0x9e3779b97f4a7c15ull);
}

/* What takes turns by requests would not have: large and small ones get equal bytes. */
TEST("large and small requests get equal bytes")
{
	static struct asked asked[REQUESTS];
	struct t3_timed_setup setup = timed_small(64, 64, 64, 2);
	uint64_t small = 0, last = 0;
	uint32_t i;

	setup.program = T3_TIMED_T3;
	timed_param(&setup, "memory_channels", 1);
	for (i = 0; i < REQUESTS; i++)
		asked[i] = (struct asked){ .bytes = i < 280 ? 64 : 4096, .communication = i < 280 };
	run_model(&setup, asked, setup.params.queue_entries);
	for (i = 280; i < 284; i++)
		last = bench.done[i] > last ? bench.done[i] : last;
	for (i = 0; i < 280; i++)
		small += bench.done[i] < last ? 64 : 0;
	assert_in_range(small, 3 * 4096, 5 * 4096);
}
