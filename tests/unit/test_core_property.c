/* SPDX-License-Identifier: MIT */
/*
 * Random collectives (common/scene.h) in random interleavings, with small trackers,
 * cut event budgets, lossy links and migrations, against the reference model: byte for byte and
 * count for count. T3_SEEDS overrides how many, T3_SEED which one alone.
 */
#include "migrate.h"
#include "ref.h"
#include "scene.h"
#include "seeds.h"
#include "test.h"

/* Of 136 generated mutants that 4000 seeds found, 135 failed by seed 1288, and the last one at 3220. */
#define SEEDS 1500u

struct action {
	uint16_t segment, contribution;
	uint32_t tile;
	uint32_t row; /* HOST_NONE32: doorbell of the whole tile */
};

#define ACTIONS 8192u

struct run {
	struct scene scene;
	uint32_t epoch[SCENE_RANKS]; /* being worked on */
	uint32_t left[SCENE_RANKS];
	struct action action[SCENE_RANKS][ACTIONS];
	uint32_t unanswered; /* remote stores since the links were last empty */
	bool lossy;
};

static struct run run;

static uint32_t below(uint32_t bound)
{
	return host_below(&run.scene.random, bound);
}

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* ----------------------------------------------------------------- actions */

static void add(uint32_t rank, const struct action *action)
{
	assert_true(run.left[rank] < ACTIONS);
	run.action[rank][run.left[rank]++] = *action;
}

static void add_tile(uint32_t index, uint32_t contribution, uint32_t tile)
{
	const struct scene_segment *s = &run.scene.segment[index];
	uint32_t top = tile / s->tiles_x * s->map.tile_rows;
	uint32_t rows = min32(s->map.tile_rows, s->map.rows - top), row;
	struct action action = { (uint16_t)index, (uint16_t)contribution, tile, HOST_NONE32 };

	if (s->slots && below(2)) {
		add(s->rank, &action);
		return;
	}
	for (row = top; row < top + rows; row++) {
		action.row = row;
		add(s->rank, &action);
	}
}

static void shuffle(uint32_t rank)
{
	uint32_t i;

	for (i = run.left[rank]; i > 1; i--) {
		uint32_t other = below(i);
		struct action swap = run.action[rank][i - 1];

		run.action[rank][i - 1] = run.action[rank][other];
		run.action[rank][other] = swap;
	}
}

static void plan(uint32_t rank)
{
	uint32_t i, k, tile;

	for (i = 0; i < run.scene.count; i++) {
		const struct scene_segment *s = &run.scene.segment[i];

		if (s->rank != rank)
			continue;
		for (k = 0; k < s->local; k++)
			for (tile = 0; tile < s->tiles; tile++)
				add_tile(i, k, tile);
	}
	if (below(4)) /* else in the order of the tiles */
		shuffle(rank);
}

static uint64_t consumed(const struct scene_segment *s)
{
	const struct t3_event_area *area =
		host_area(&run.scene.host->dev[s->rank], run.scene.space[s->rank]);
	uint64_t sum = 0;
	uint32_t slot;

	for (slot = 0; slot < T3_SEG_SLOTS; slot++)
		sum += area->consumed[s->map.segment][slot];
	return sum;
}

static void do_doorbell(struct scene_segment *s, const struct action *a)
{
	struct host_dev *d = &run.scene.host->dev[s->rank];
	uint32_t space = run.scene.space[s->rank], slot = below(s->slots);
	uint32_t size = ref_size(s->map.dtype), row, col;
	uint32_t top = a->tile / s->tiles_x * s->map.tile_rows;
	uint32_t left = a->tile % s->tiles_x * s->map.tile_row_bytes;
	uint32_t bottom = min32(top + s->map.tile_rows, s->map.rows);
	uint32_t right = min32(left + s->map.tile_row_bytes, s->map.row_bytes);
	uint8_t *image = host_slot(d, space, s->map.segment, slot);

	while (s->map.kind == T3_SEG_REMOTE && consumed(s) < s->doorbells)
		assert_true(t3_fabric_run(run.scene.host->fabric, 1) ||
			    consumed(s) == s->doorbells);
	for (row = top; row < bottom; row++)
		for (col = left; col < right; col += size) {
			uint64_t value = scene_value(&run.scene, s, run.epoch[s->rank],
						     a->contribution, row, col);

			memcpy(image + row * s->map.pitch + col, &value, size);
		}
	s->doorbells++;
	host_tile(d, space, s->map.segment, slot, a->tile);
}

/* A store never waits: keep a slot of the link free for it. */
static void make_room(const struct scene_segment *s)
{
	struct host_dev *d = &run.scene.host->dev[s->rank];

	if (s->map.kind != T3_SEG_REMOTE)
		return;
	run.unanswered += scene_fan_out(s);
	if (run.lossy && run.unanswered >= 7) {
		host_drain(run.scene.host);
		run.unanswered = 0;
	}
	while (!run.lossy && host_query(d, run.scene.space[s->rank]).in_flight >= 56)
		t3_fabric_run(run.scene.host->fabric, 1);
}

static void do_row(struct scene_segment *s, const struct action *a)
{
	struct host_dev *d = &run.scene.host->dev[s->rank];
	uint32_t left = a->tile % s->tiles_x * s->map.tile_row_bytes, size, width, i;
	uint32_t right = min32(left + s->map.tile_row_bytes, s->map.row_bytes), col;

	size = ref_size(s->map.dtype);
	for (col = left; col < right; col += width) {
		uint64_t offset = s->map.offset + a->row * s->map.pitch + col, value = 0;

		for (width = 8u >> below(size == 1 ? 4 : 2); width > right - col || offset % width;
		     width /= 2)
			;
		if (width < size)
			width = size;
		for (i = 0; i < width; i += size)
			value |= scene_value(&run.scene, s, run.epoch[s->rank], a->contribution,
					     a->row, col + i)
				 << 8 * i;
		make_room(s);
		s->stores++;
		host_store(d, run.scene.space[s->rank], offset, value, width);
	}
}

static void act(uint32_t rank)
{
	struct action a = run.action[rank][--run.left[rank]];
	struct scene_segment *s = &run.scene.segment[a.segment];

	if (a.row == HOST_NONE32)
		do_doorbell(s, &a);
	else
		do_row(s, &a);
}

/* -------------------------------------------------------------------- ranks */

static void start_epoch(uint32_t rank)
{
	run.epoch[rank]++;
	run.left[rank] = 0;
	plan(rank);
	host_arm(&run.scene.host->dev[rank], run.scene.space[rank], run.epoch[rank]);
}

/* One step of a rank. True: it is through. */
static bool step(uint32_t rank)
{
	struct host_dev *d = &run.scene.host->dev[rank];
	uint32_t state = host_state(d, run.scene.space[rank]);

	if (state == T3_SPACE_IDLE && run.epoch[rank] == SCENE_EPOCHS)
		return true;
	if (state == T3_SPACE_IDLE) {
		start_epoch(rank);
	} else if (state == T3_SPACE_ARMED && run.left[rank]) {
		act(rank);
	} else if (state == T3_SPACE_COMPLETE) {
		assert_int_equal(run.left[rank], 0);
		scene_expect_buffer(&run.scene, rank, run.epoch[rank]);
		host_release(d, run.scene.space[rank], run.epoch[rank]);
	} else {
		assert_true(state == T3_SPACE_ARMING || state == T3_SPACE_ARMED);
		t3_fabric_run(run.scene.host->fabric, 1 + below(4));
	}
	return false;
}

static void inject(struct host *host)
{
	uint32_t i, src = below(host->ranks), dst = below(host->ranks);

	for (i = 0; i < 3; i++)
		host_inject(host->fabric, src, dst, 1 + below(6), 1 + below(60));
}

static void cancel(struct host *host)
{
	uint32_t src, dst, what;

	host_drain(host);
	for (src = 0; src < host->ranks; src++)
		for (dst = 0; dst < host->ranks; dst++)
			for (what = 1; what <= 6; what++)
				host_inject(host->fabric, src, dst, what, 0);
}

static void one_seed(struct host *host, uint64_t seed)
{
	static const uint32_t budgets[] = { 0, 1, 2, 3, 7, T3_INLINE_BUDGET };
	uint32_t steps = 0, done = 0, rank, burst, budget, moves;

	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	cancel(host);
	scene_make(&run.scene, host, seed);
	memset(run.epoch, 0, sizeof(run.epoch));
	run.unanswered = 0;
	run.lossy = below(3) == 0;
	if (run.lossy)
		inject(host);
	budget = budgets[below(6)];
	moves = below(16) ? 0 : 1 + below(3); /* migrations on the way */
	t3_fabric_set_inline_budget(host->fabric, budget);
	while (done != (1u << host->ranks) - 1) {
		if (moves && !below(20)) {
			host_migrate(host, budget);
			moves--;
		}
		rank = below(host->ranks);
		for (burst = 1 + below(12); burst && !(done >> rank & 1); burst--)
			if (step(rank))
				done |= 1u << rank;
		assert_true(++steps < 200000);
	}
	host_drain(host);
	assert_null(t3_fabric_check(host->fabric));
	scene_expect_counts(&run.scene);
}

/* -------------------------------------------------------------------- seeds */

static const struct host_config configs[] = {
	{ T3_TOPOLOGY_RING, 2, 1, 1, T3_KEYS_FABRIC },
	{ T3_TOPOLOGY_RING, 3, 2, 1, T3_KEYS_FABRIC },
	{ T3_TOPOLOGY_RING, 4, 4, 2, T3_KEYS_FABRIC },
	{ T3_TOPOLOGY_FULL, 4, 2, 2, T3_KEYS_FABRIC },
	{ T3_TOPOLOGY_FULL, 3, 16, 4, T3_KEYS_FABRIC },
	{ T3_TOPOLOGY_FULL, 4, 256, 8, T3_KEYS_FABRIC },
	{ T3_TOPOLOGY_RING, 2, 256, 64, T3_KEYS_FABRIC },
	{ T3_TOPOLOGY_FULL, 4, 1, 1, T3_KEYS_FABRIC },
};

#define CONFIGS (sizeof(configs) / sizeof(configs[0]))

TEST_WITH("random collectives give the model's bytes and counts", NULL, seeds_report)
{
	struct host *host[CONFIGS] = { NULL };
	uint64_t seed;
	size_t i;

	for_each_seed(seed, SEEDS)
	{
		i = seed % CONFIGS;
		if (!host[i])
			host[i] = host_new(&configs[i]);
		one_seed(host[i], seed);
	}
	for (i = 0; i < CONFIGS; i++)
		if (host[i])
			host_free(host[i]);
}
