/* SPDX-License-Identifier: MIT */
/*
 * Random machines and workloads of the timed model: bytes are conserved, N devices do what
 * one mirrored device does, and no cut of the run changes anything. T3_SEEDS, T3_SEED as in
 * test_core_property.c. And the event heap against a search of all.
 */
#include "host.h"
#include "seeds.h"
#include "timed/timed_private.h"
#include "timed.h"

#define SEEDS 60u

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
		{ "copy_window_kib", 1, 16 },
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

static struct t3_timed_setup random_setup(uint64_t *seed)
{
	uint64_t ranks = 2 + host_below(seed, host_below(seed, 4) ? 6 : 31);
	struct t3_timed_setup setup =
		timed_small(1 + host_below(seed, ranks * 100), 1 + host_below(seed, 160),
			    1 + host_below(seed, 100), ranks);

	vary(&setup, seed);
	setup.workload.chunks = (enum t3_timed_chunks)host_below(seed, 3);
	setup.workload.element_bytes = host_below(seed, 4) ? 2 : 4;
	setup.program = (enum t3_timed_program)host_below(seed, T3_TIMED_PROGRAMS);
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
}

static void test_random(void **state)
{
	uint64_t seed;

	(void)state;
	for_each_seed(seed, SEEDS) one(seed * 0x9e3779b97f4a7c15ull);
}

/* ---------------------------------------------------------------------- heap */

#define EVENTS 200u

static uint32_t earliest(const struct timed_event *events, const bool *in)
{
	uint32_t best = EVENTS, i;

	for (i = 0; i < EVENTS; i++)
		if (in[i] &&
		    (best == EVENTS || events[i].time < events[best].time ||
		     (events[i].time == events[best].time && events[i].tie < events[best].tie)))
			best = i;
	return best;
}

static void test_heap(void **state)
{
	struct timed_event events[EVENTS], slots[EVENTS];
	struct timed_heap heap = { .event = slots };
	bool in[EVENTS] = { false };
	uint64_t seed = 7, step;
	uint32_t i;

	(void)state;
	for (step = 0; step < 20000; step++) {
		i = host_below(&seed, EVENTS);
		if (!in[i]) {
			events[i] =
				(struct timed_event){ .time = host_below(&seed, 50), .tie = step };
			in[i] = true;
			timed_heap_push(&heap, &events[i]);
		} else {
			i = earliest(events, in);
			assert_int_equal(timed_heap_pop(&heap).tie, events[i].tie);
			in[i] = false;
		}
	}
}

/* Whatever its rank, a device sees what came from peers, nearest first, then its own. */
static void test_ties(void **state)
{
	struct timed_event slots[8];
	struct t3_timed sim = { .heap = { .event = slots } };
	struct timed_device device = { .sim = &sim };
	uint32_t rank;

	(void)state;
	for (rank = 0; rank < 2; rank++) {
		device.rank = rank;
		timed_schedule(&device, 5, TIMED_EVENT_SLOT, 7);
		timed_schedule(&device, 5, TIMED_EVENT_SLOT, 8);
		timed_schedule_arrival(&device, 5, 2, 0);
		timed_schedule_arrival(&device, 5, 1, 9);
		assert_int_equal(timed_heap_pop(&sim.heap).number, 1);
		assert_int_equal(timed_heap_pop(&sim.heap).number, 2);
		assert_int_equal(timed_heap_pop(&sim.heap).number, 7);
		assert_int_equal(timed_heap_pop(&sim.heap).number, 8);
	}
}

/* One unit, one step: each row's block of A is missed once, B's four stay. */
static void test_cache_lru(void **state)
{
	struct t3_timed_setup setup = timed_small(32 * 40, 32 * 4, 16, 2);
	struct t3_timed_counters counters;

	(void)state;
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
static void test_tracker_lru(void **state)
{
	struct t3_timed_setup setup = timed_small(256, 64, 64, 4);
	struct t3_timed *sim;
	struct timed_device *d;
	uint32_t tile, pieces;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_random, seeds_report),
		cmocka_unit_test(test_heap),
		cmocka_unit_test(test_ties),
		cmocka_unit_test(test_cache_lru),
		cmocka_unit_test(test_tracker_lru),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
