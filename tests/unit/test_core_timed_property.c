/* SPDX-License-Identifier: MIT */
/*
 * Random machines and workloads of the timed model: bytes are conserved, N devices do what
 * one mirrored device does, and no cut of the run changes anything. T3_SEEDS, T3_SEED as in
 * test_core_property.c. And the order of events against a search of all.
 */
#include "host.h"
#include "seeds.h"
#include "timed/timed_private.h"
#include "timed.h"
#include "trail.h"
#include "test.h"

#define SEEDS 120u

/* Some parameters far from their defaults. */
static void vary(struct t3_timed_setup *setup, uint64_t *seed)
{
	/* clang-format off */
	static const struct {
		const char *name;
		uint32_t low, high;
	} ranges[] = {
		{ "compute_units", 1, 20 },
		{ "groups_per_unit", 1, 3 },
		{ "stage_barrier", 0, 1 },
		{ "tile_rows", 1, 40 },
		{ "tile_columns", 1, 40 },
		{ "k_block", 1, 24 },
		{ "raster_rows", 1, 5 },
		{ "cache_kib", 8, 64 },
		{ "cache_ways", 1, 16 },
		{ "memory_gbps", 20, 2000 },
		{ "memory_latency_ns", 0, 900 },
		{ "queue_entries", 1, 64 },
		{ "entry_bytes", 1, 64 },
		{ "turnaround_ns", 0, 30 },
		{ "run_kib", 1, 8 },
		{ "row_conflict_ns", 0, 9 },
		{ "update_percent", 100, 300 },
		{ "starvation_ns", 1, 3000 },
		{ "link_gbps", 5, 500 },
		{ "link_latency_ns", 1, 3000 },
		{ "link_queue_kib", 1, 16 },
		{ "dma_tiles", 1, 40 },
		{ "dma_read_ahead_kib", 1, 16 },
		{ "copy_unit_kib", 1, 4 },
		{ "collective_units", 1, 20 },
		{ "copy_unit_gbps", 1, 60 },
		{ "node_link_gbps", 1, 500 },
		{ "node_link_latency_ns", 1, 3000 },
		{ "cache_latency_ns", 0, 300 },
		{ "threshold_low", 1, 64 },
	};
	/* clang-format on */
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (host_below(seed, 2))
			timed_param(setup, ranges[i].name,
				    ranges[i].low +
					    host_below(seed, ranges[i].high - ranges[i].low + 1));
}

static uint64_t random_divisor(uint64_t number, uint64_t *seed)
{
	uint64_t divisor;

	do
		divisor = 1 + host_below(seed, number);
	while (number % divisor);
	return divisor;
}

static struct t3_timed_setup random_setup(uint64_t *seed)
{
	uint64_t ranks = 2 + host_below(seed, host_below(seed, 4) ? 6 : 31);
	uint64_t rows = 1 + host_below(seed, ranks * 100);
	uint64_t columns = 1 + host_below(seed, 160), depth = 1 + host_below(seed, 100);
	struct t3_timed_setup setup = timed_small(rows, columns, depth, ranks);

	vary(&setup, seed);
	setup.workload.chunks = (enum t3_timed_chunks)host_below(seed, 3);
	setup.workload.element_bytes = host_below(seed, 4) ? 2 : 1u << host_below(seed, 4);
	if (host_below(seed, 2))
		setup.workload.nodes = random_divisor(ranks, seed);
	do
		setup.workload.collective =
			(enum t3_timed_collective)host_below(seed, T3_TIMED_COLLECTIVES);
	while (!timed_program(&setup, (int)host_below(seed, T3_TIMED_PROGRAMS)));
	return setup;
}

/* By time and by events, in pieces of any size. */
static struct t3_timed_counters run_in_pieces(const struct t3_timed_setup *setup, uint64_t *seed)
{
	struct t3_timed *sim = t3_timed_new(setup);
	struct t3_timed_counters counters;
	uint64_t until = 0, before;

	assert_non_null(sim);
	while (t3_timed_next(sim) != T3_TIMED_NEVER) {
		before = t3_timed_now(sim);
		until += host_below(seed, 1000000);
		t3_timed_run(sim, until, host_below(seed, 500));
		assert_true(t3_timed_now(sim) <= until);
		assert_true(t3_timed_now(sim) >= before);
	}
	assert_true(t3_timed_done(sim));
	t3_timed_counters(sim, 0, &counters);
	t3_timed_free(sim);
	return counters;
}

/* Devices that take turns, which are cut anywhere. */
static void assert_turns_equal(const struct t3_timed_setup *setup,
			       const struct t3_timed_counters *expected, uint64_t *seed)
{
	struct t3_timed *sim = t3_timed_new(setup);
	struct t3_timed_counters counters;
	uint32_t i;

	assert_non_null(sim);
	while (t3_timed_run_in_turns(sim, 1 + host_below(seed, 5000)))
		;
	assert_true(t3_timed_done(sim));
	for (i = 0; i < t3_timed_devices(sim); i++) {
		t3_timed_counters(sim, i, &counters);
		assert_memory_equal(expected, &counters, sizeof(counters));
	}
	t3_timed_free(sim);
}

static void one(uint64_t seed)
{
	struct t3_timed_setup setup = random_setup(&seed);
	struct t3_timed_counters mirrored, again, all;
	char why[TIMED_WHY];

	if (!t3_timed_check(&setup, why, sizeof(why)))
		fail_msg("%s", why);
	mirrored = timed_run_to_end(&setup);
	timed_assert_conserved(&setup, &mirrored);
	again = run_in_pieces(&setup, &seed);
	assert_memory_equal(&mirrored, &again, sizeof(again));
	setup.mirrored = false;
	all = timed_run_to_end(&setup);
	assert_memory_equal(&mirrored, &all, sizeof(all));
	assert_turns_equal(&setup, &mirrored, &seed);
}

TEST_WITH("random machines conserve bytes, cut or mirrored", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS) one(seed * 0x9e3779b97f4a7c15ull);
	trail_expect(0x4c13541e1a72ad5c);
}

/* Each peer sends each device one chunk, whoever copies or stores it. */
TEST("each peer sends each device one chunk")
{
	static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3,
							  T3_TIMED_ALONE };
	struct t3_timed_setup setup = timed_small(200, 70, 20, 5);
	uint32_t i, distance, rank;

	setup.mirrored = false;
	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct t3_timed *sim;

		setup.program = programs[i];
		sim = t3_timed_new(&setup);
		assert_non_null(sim);
		while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
			;
		for (rank = 0; rank < 5; rank++)
			for (distance = 1; distance < 5; distance++)
				assert_int_equal(sim->device[rank].link.in[distance - 1].came,
						 sim->shape.chunk_pieces);
		t3_timed_free(sim);
	}
}

/* -------------------------------------------------------------------- agenda */

#define DEVICES 3u
#define SLOTS	60u
#define LONE	4u		       /* sources of the device itself with one event at most */
#define PEERS	4u		       /* the last one is in the next node */
#define SOURCES (SLOTS + LONE + PEERS) /* of a device: slots, lone ones, arrivals by distance */
#define ALL	(DEVICES * SOURCES)

struct pending {
	bool in;
	uint64_t time, sequence;
};

struct agendas {
	struct t3_timed sim;
	struct timed_device device[DEVICES];
	struct pending pending[ALL];
};

static void agendas_init(struct agendas *a)
{
	uint32_t i;

	memset(a, 0, sizeof(*a));
	a->sim.devices = DEVICES;
	a->sim.device = a->device;
	assert_true(timed_order_init(&a->sim));
	for (i = 0; i < DEVICES; i++) {
		a->device[i].sim = &a->sim;
		a->device[i].rank = i;
		assert_true(timed_agenda_init(&a->device[i], SLOTS + PEERS + 2));
	}
}

static void agendas_free(struct agendas *a)
{
	uint32_t i;

	for (i = 0; i < DEVICES; i++) {
		free(a->device[i].agenda.run.event);
		free(a->device[i].agenda.heap.event);
	}
	free(a->sim.order.next);
	free(a->sim.order.winner);
}

/* Arrivals come first, nearest first; the device's own events follow. */
static uint64_t source_of(uint32_t i)
{
	return i % SOURCES < SLOTS + LONE ? PEERS + 1 : i % SOURCES - SLOTS - LONE;
}

static bool comes_first(const struct agendas *a, uint32_t i, uint32_t j)
{
	const struct pending *p = &a->pending[i], *q = &a->pending[j];

	if (p->time != q->time)
		return p->time < q->time;
	if (i / SOURCES != j / SOURCES)
		return i / SOURCES < j / SOURCES;
	if (source_of(i) != source_of(j))
		return source_of(i) < source_of(j);
	return p->sequence < q->sequence;
}

static uint32_t earliest(const struct agendas *a)
{
	uint32_t best = ALL, i;

	for (i = 0; i < ALL; i++)
		if (a->pending[i].in && (best == ALL || comes_first(a, i, best)))
			best = i;
	return best;
}

static const enum timed_event_kind lone[LONE] = { TIMED_EVENT_MEMORY, TIMED_EVENT_LINK,
						  TIMED_EVENT_NODE_LINK, TIMED_EVENT_COPY };

static uint32_t distance_of(uint32_t source)
{
	uint32_t peer = source - SLOTS - LONE;

	return peer + 1 < PEERS ? peer + 1 : TIMED_NEXT_NODE;
}

static void schedule(struct agendas *a, uint32_t i, uint64_t time, uint64_t sequence)
{
	struct timed_device *d = &a->device[i / SOURCES];
	uint32_t source = i % SOURCES;

	a->pending[i] = (struct pending){ true, time, sequence };
	if (source < SLOTS)
		timed_schedule(d, time, TIMED_EVENT_SLOT, source);
	else if (source < SLOTS + LONE)
		timed_schedule(d, time, lone[source - SLOTS], 0);
	else
		timed_schedule_arrival(d, time, distance_of(source), sequence);
	timed_agenda_settle(d);
}

/* Takes the next event and compares it with what the search finds. Returns its time. */
static uint64_t take(struct agendas *a)
{
	uint32_t i = earliest(a), source = i % SOURCES, number;
	struct timed_device *d = &a->device[timed_order_first(&a->sim)];
	uint64_t time = t3_timed_next(&a->sim);
	enum timed_event_kind kind = timed_agenda_take(d, &number);

	timed_agenda_settle(d);
	a->pending[i].in = false;
	assert_int_equal(time, a->pending[i].time);
	assert_int_equal(d->rank, i / SOURCES);
	if (source < SLOTS)
		assert_int_equal(kind, TIMED_EVENT_SLOT);
	else if (source < SLOTS + LONE)
		assert_int_equal(kind, lone[source - SLOTS]);
	else
		assert_int_equal(kind, TIMED_EVENT_ARRIVAL);
	if (source < SLOTS || source >= SLOTS + LONE)
		assert_int_equal(number, source < SLOTS ? source : distance_of(source));
	return time;
}

/* `spread`: how far apart the times are. Few times make ties; many make heaps of events. */
static void agenda_order(uint32_t spread)
{
	struct agendas a;
	uint64_t seed = 7, step, now = 0;
	uint32_t i;

	agendas_init(&a);
	for (step = 0; step < 30000; step++) {
		i = host_below(&seed, ALL);
		if (a.pending[i].in)
			now = take(&a);
		else
			schedule(&a, i, now + host_below(&seed, spread), step);
	}
	while (earliest(&a) != ALL)
		take(&a);
	assert_int_equal(t3_timed_next(&a.sim), T3_TIMED_NEVER);
	agendas_free(&a);
}

TEST("events come in the order of their times")
{
	agenda_order(1);
	agenda_order(5);
	agenda_order(100000);
}

/* Whatever its rank, a device sees what came from peers, nearest first, then its own. */
TEST("events of one time come by their source")
{
	static const uint32_t numbers[] = { 1, 2, 7, 8 };
	struct agendas a;
	uint32_t rank, number, i;

	agendas_init(&a);
	for (rank = 0; rank < 2; rank++) {
		struct timed_device *d = &a.device[rank];

		timed_schedule(d, 5, TIMED_EVENT_SLOT, 7);
		timed_schedule(d, 5, TIMED_EVENT_SLOT, 8);
		timed_schedule_arrival(d, 5, 2, 0);
		timed_schedule_arrival(d, 5, 1, 9);
		for (i = 0; i < 4; i++) {
			timed_agenda_settle(d);
			timed_agenda_take(d, &number);
			assert_int_equal(number, numbers[i]);
		}
	}
	agendas_free(&a);
}

/* Two nodes of three ranks: who gets what a device sends, by its distance. */
TEST("a send reaches the peer at its distance")
{
	static const struct {
		uint32_t from, distance, to;
	} sends[] = {
		{ 1, 1, 2 },
		{ 2, 1, 0 },
		{ 2, 2, 1 },
		{ 3, 1, 4 },
		{ 5, 1, 3 },
		{ 4, 2, 3 },
		{ 0, TIMED_NEXT_NODE, 3 },
		{ 4, TIMED_NEXT_NODE, 1 },
	};
	struct t3_timed_setup setup = timed_small(64, 64, 64, 6);
	size_t i;

	setup.mirrored = false;
	setup.workload.nodes = 2;
	setup.program = T3_TIMED_DIRECT;
	for (i = 0; i < sizeof(sends) / sizeof(sends[0]); i++) {
		struct t3_timed *sim = t3_timed_new(&setup);
		struct timed_message message = { .bytes = 64 };
		bool node = sends[i].distance == TIMED_NEXT_NODE;
		struct timed_device *to;

		assert_non_null(sim);
		message.distance = (uint16_t)sends[i].distance;
		timed_link_send(&sim->device[sends[i].from], &message);
		if (node)
			timed_node_link_event(&sim->device[sends[i].from]);
		else
			timed_link_event(&sim->device[sends[i].from]);
		to = &sim->device[sends[i].to];
		if (node)
			assert_int_equal(to->node_link.in[0].ring.count, 1);
		else
			assert_int_equal(to->link.in[sends[i].distance - 1].ring.count, 1);
		t3_timed_free(sim);
	}
}

/* One unit, one step: each row's block of A is missed once, B's four stay. */
TEST("the least recently used block leaves the cache")
{
	struct t3_timed_setup setup = timed_small(32 * 40, 32 * 4, 16, 2);
	struct t3_timed_counters counters;

	timed_param(&setup, "compute_units", 1);
	timed_param(&setup, "raster_rows", 1);
	timed_param(&setup, "cache_kib", 8);
	timed_param(&setup, "cache_ways", 8);
	setup.program = T3_TIMED_T3;
	counters = timed_run_to_end(&setup);
	assert_int_equal(counters.cache_misses, 40 + 4);
	assert_int_equal(counters.cache_hits, 2 * 160 - 44);
}

static void update_tile(struct timed_device *d, uint32_t tile)
{
	uint32_t pieces = d->sim->shape.tile_pieces, i;

	for (i = 0; i < pieces; i++)
		timed_tracker_update(d, tile * pieces + i);
}

/* The entry that was updated least recently is the one that is spilled. */
TEST("the least recently updated entry is spilled")
{
	struct t3_timed_setup setup = timed_small(256, 64, 64, 4);
	struct t3_timed *sim;
	struct timed_device *d;
	uint32_t tile, pieces;

	timed_param(&setup, "tracker_entries", 2);
	timed_param(&setup, "tracker_ways", 2);
	setup.program = T3_TIMED_T3;
	sim = t3_timed_new(&setup);
	assert_non_null(sim);
	d = &sim->device[0];
	pieces = sim->shape.tile_pieces;
	assert_int_equal(pieces, 2);
	tile = sim->shape.chunk_tiles; /* of the second chunk, the first that is tracked */
	update_tile(d, tile);
	update_tile(d, tile + 1);
	assert_int_equal(d->counters.tracker_allocs, 2); /* one for all pieces of a tile */
	update_tile(d, tile + 2);
	assert_true(d->tracker.tile[tile].spilled);
	assert_false(d->tracker.tile[tile + 1].spilled);
	update_tile(d, tile + 1); /* complete: its entry is free */
	update_tile(d, tile + 3);
	assert_false(d->tracker.tile[tile + 2].spilled);
	assert_int_equal(d->counters.tracker_spills, 1);
	update_tile(d, tile); /* waits for its record, then it is complete */
	assert_int_equal(d->counters.tracker_fills, 1);
	assert_int_equal(d->tracker.passed, 2);
	timed_tracker_filled(d, tile);
	assert_int_equal(d->tracker.passed, 4);
	t3_timed_free(sim);
}
