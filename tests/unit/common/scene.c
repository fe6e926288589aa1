/* SPDX-License-Identifier: MIT */
#include "ref.h"
#include "scene.h"

static uint32_t below(struct scene *scene, uint32_t bound)
{
	return host_below(&scene->random, bound);
}

/* ------------------------------------------------------------------ values */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t state = (a ^ b * 0x9e3779b97f4a7c15ull) | 1;

	host_random(&state);
	return host_random(&state);
}

static uint32_t draw(uint32_t dtype, bool exact, uint64_t bits)
{
	static const uint32_t odd[T3_DTYPE_COUNT][4] = {
		[T3_DTYPE_F32] = { 0x7f800000, 0xff800000, 0x7f812345, 0x80000000 },
		[T3_DTYPE_F16] = { 0x7c00, 0xfc00, 0x7d55, 0x8000 },
		[T3_DTYPE_BF16] = { 0x7f80, 0xff80, 0x7f91, 0x8000 },
	};

	if (dtype != T3_DTYPE_I32 && bits % 61 == 0)
		return odd[dtype][bits >> 32 & 3];
	if (exact)
		return ref_small(dtype, (int)(bits >> 32 & 0xffff) % 3 - 1);
	return (uint32_t)(bits >> 16) & (ref_size(dtype) == 2 ? 0xffff : 0xffffffff);
}

uint32_t scene_value(const struct scene *scene, const struct scene_segment *segment, uint32_t epoch,
		     uint32_t k, uint32_t row, uint32_t col)
{
	uint64_t place = (uint64_t)(segment - scene->segment) << 40 | (uint64_t)epoch << 32;

	place |= k << 24 | row << 12 | col;
	return draw(segment->map.dtype, segment->exact, mix(scene->seed, place));
}

/* ----------------------------------------------------------------- drawing */

static bool reaches(const struct scene *scene, uint32_t from, uint32_t to)
{
	return from != to && host_inject(scene->host->fabric, from, to, T3_INJECT_DROP, 0);
}

/* Tiles, pitch, place; rows and row_bytes are set. */
static void place(struct scene *scene, struct scene_segment *s)
{
	uint32_t size = ref_size(s->map.dtype), elements = s->map.row_bytes / size;
	uint32_t *bytes = &scene->used_bytes[s->rank], *records = &scene->used_records[s->rank];

	s->map.segment = scene->used_indices[s->rank]++;
	s->map.tile_rows = 1 + below(scene, s->map.rows);
	s->map.tile_row_bytes = size * (1 + below(scene, elements));
	s->map.pitch = s->map.row_bytes + size * below(scene, 5);
	s->map.offset = *bytes + size * below(scene, 8);
	*bytes = ((uint32_t)s->map.offset + s->map.rows * s->map.pitch + 3) & ~3u;
	s->tiles_x = (elements * size + s->map.tile_row_bytes - 1) / s->map.tile_row_bytes;
	s->tiles = s->tiles_x * ((s->map.rows + s->map.tile_rows - 1) / s->map.tile_rows);
	s->map.counter_base = *records + below(scene, 3);
	*records = s->map.counter_base + s->tiles;
	s->slots = below(scene, T3_SEG_SLOTS + 1);
}

static void add_final(struct scene *scene)
{
	struct scene_segment *s = &scene->segment[scene->count++];

	s->rank = below(scene, scene->ranks);
	s->target = -1;
	s->map.kind = T3_SEG_LOCAL;
	s->map.dtype = (uint8_t)below(scene, T3_DTYPE_U8);
	s->map.op = (uint8_t)below(scene, T3_OP_COUNT);
	s->map.init = (uint8_t)below(scene, 2);
	s->map.rows = 1 + below(scene, 6);
	s->map.row_bytes = ref_size(s->map.dtype) * (1 + below(scene, 14));
	s->exact = s->map.dtype != T3_DTYPE_I32 && s->map.op == T3_OP_ADD;
	s->local = s->map.op == T3_OP_STORE ? 0 : below(scene, 3);
	place(scene, s);
}

/* A source of rows [row, row + rows) and columns [col, col + bytes) of a target. */
static void add_source(struct scene *scene, int target, uint32_t rank, uint32_t kind,
		       const uint32_t box[4])
{
	const struct scene_segment *t = &scene->segment[target];
	struct scene_segment *s = &scene->segment[scene->count++];

	s->rank = rank;
	s->target = target;
	s->depth = t->depth + 1;
	s->map.kind = (uint8_t)kind;
	s->map.dtype = t->map.dtype;
	s->map.target_op = t->map.op;
	s->map.target_row = box[0];
	s->map.rows = box[1];
	s->map.target_col = box[2];
	s->map.row_bytes = box[3];
	s->map.routes = 1u << t->rank;
	s->map.target_segment = t->map.segment;
	s->exact = t->exact;
	s->local = 1;
	if (kind == T3_SEG_DMA) {
		s->map.op = (uint8_t)below(scene, T3_OP_COUNT);
		s->map.init = (uint8_t)below(scene, 2);
		s->exact |= s->map.dtype != T3_DTYPE_I32 && s->map.op == T3_OP_ADD;
		s->local = s->map.op == T3_OP_STORE ? 0 : below(scene, 3);
	}
	place(scene, s);
}

static bool may_take(const struct scene_segment *t)
{
	if (t->map.kind == T3_SEG_REMOTE || t->depth >= 2)
		return false;
	return t->local + t->incoming < (t->map.op == T3_OP_STORE ? 1 : 3);
}

static uint32_t source_rank(struct scene *scene, const struct scene_segment *t)
{
	uint32_t rank;

	do {
		rank = below(scene, scene->ranks);
	} while (!reaches(scene, rank, t->rank));
	return rank;
}

/* One more update for each element of a target: by one source or by two halves. */
static void add_sources(struct scene *scene)
{
	int target = (int)below(scene, scene->count);
	struct scene_segment *t = &scene->segment[target];
	uint32_t size = ref_size(t->map.dtype), elements = t->map.row_bytes / size;
	uint32_t whole[4] = { 0, t->map.rows, 0, t->map.row_bytes };
	uint32_t first[4], second[4], dim = below(scene, 3), cut;

	if (!may_take(t))
		return;
	t->incoming++;
	memcpy(first, whole, sizeof(first));
	memcpy(second, whole, sizeof(second));
	if (dim == 0 && t->map.rows > 1) {
		cut = 1 + below(scene, t->map.rows - 1);
	} else if (dim == 1 && elements > 1) {
		cut = size * (1 + below(scene, elements - 1));
	} else {
		add_source(scene, target, source_rank(scene, t), T3_SEG_REMOTE + below(scene, 2),
			   whole);
		return;
	}
	first[2 * dim + 1] = second[2 * dim] = cut;
	second[2 * dim + 1] -= cut;
	add_source(scene, target, source_rank(scene, t), T3_SEG_REMOTE + below(scene, 2), first);
	add_source(scene, target, source_rank(scene, t), T3_SEG_REMOTE + below(scene, 2), second);
}

static void draw_segments(struct scene *scene)
{
	uint32_t finals = 1 + below(scene, 4), tries = 20, i;

	for (i = 0; i < finals; i++)
		add_final(scene);
	while (tries-- && scene->count + 2 <= SCENE_SEGMENTS)
		add_sources(scene);
	for (i = 0; i < scene->count; i++) {
		struct scene_segment *s = &scene->segment[i];

		if (!s->local && !s->incoming)
			s->local = 1;
		s->map.updates = s->local + s->incoming;
		assert_true(scene->used_bytes[s->rank] <= SCENE_BYTES);
	}
}

/* ------------------------------------------------------------------- model */

static uint8_t *element(struct scene *scene, uint32_t epoch, const struct scene_segment *s,
			uint32_t row, uint32_t col)
{
	return scene->model[epoch][s->rank] + s->map.offset + row * s->map.pitch + col;
}

/* What source `s` adds to the element of its target, if it covers it. */
static uint32_t from_source(struct scene *scene, const struct scene_segment *s, uint32_t epoch,
			    const struct scene_segment *t, uint32_t value, uint32_t row,
			    uint32_t col)
{
	uint32_t sent = 0;

	if (row - s->map.target_row >= s->map.rows || col - s->map.target_col >= s->map.row_bytes)
		return value;
	row -= s->map.target_row;
	col -= s->map.target_col;
	if (s->map.kind == T3_SEG_REMOTE)
		sent = scene_value(scene, s, epoch, 0, row, col);
	else
		memcpy(&sent, element(scene, epoch, s, row, col), ref_size(s->map.dtype));
	return ref_apply(t->map.dtype, t->map.op, value, sent);
}

static void compute_element(struct scene *scene, uint32_t epoch, uint32_t index, uint32_t row,
			    uint32_t col)
{
	const struct scene_segment *t = &scene->segment[index];
	uint32_t size = ref_size(t->map.dtype), value = 0, i;

	if (t->map.init == T3_INIT_IDENTITY)
		value = ref_identity(t->map.dtype, t->map.op);
	else
		memcpy(&value, element(scene, epoch, t, row, col), size);
	for (i = 0; i < t->local; i++)
		value = ref_apply(t->map.dtype, t->map.op, value,
				  scene_value(scene, t, epoch, i, row, col));
	for (i = index + 1; i < scene->count; i++)
		if (scene->segment[i].target == (int)index)
			value = from_source(scene, &scene->segment[i], epoch, t, value, row, col);
	memcpy(element(scene, epoch, t, row, col), &value, size);
}

/* Sources come after their targets: the last one is complete first. */
static void compute(struct scene *scene, uint32_t epoch)
{
	uint32_t i, row, col;

	memcpy(scene->model[epoch], scene->model[epoch - 1], sizeof(scene->model[0]));
	for (i = scene->count; i-- > 0;) {
		const struct t3_cmd_seg_map *map = &scene->segment[i].map;

		for (row = 0; map->kind != T3_SEG_REMOTE && row < map->rows; row++)
			for (col = 0; col < map->row_bytes; col += ref_size(map->dtype))
				compute_element(scene, epoch, i, row, col);
	}
}

/* Noise everywhere, values that fit where a segment is. */
static void before_all(struct scene *scene)
{
	uint32_t r, i, row, col;

	for (r = 0; r < scene->ranks; r++)
		for (i = 0; i < SCENE_BYTES; i += 8) {
			uint64_t noise = host_random(&scene->random);

			memcpy(&scene->model[0][r][i], &noise, 8);
		}
	for (i = 0; i < scene->count; i++) {
		const struct scene_segment *s = &scene->segment[i];
		uint32_t size = ref_size(s->map.dtype);

		for (row = 0; row < s->map.rows; row++)
			for (col = 0; col < s->map.row_bytes; col += size) {
				uint32_t value = scene_value(scene, s, 0, 0, row, col);

				memcpy(element(scene, 0, s, row, col), &value, size);
			}
	}
}

/* ------------------------------------------------------------------ set-up */

static void make_spaces(struct scene *scene)
{
	uint32_t r;

	for (r = 0; r < scene->ranks; r++) {
		struct host_dev *d = &scene->host->dev[r];

		t3_dev_reset(d->dev);
		scene->space[r] = below(scene, 8);
		host_space(d, scene->space[r]);
		memcpy(host_buffer(d, scene->space[r]), scene->model[0][r], SCENE_BYTES);
	}
}

/* Route p of rank r leads through import r to rank p, where a segment needs it. */
static void make_grants(struct scene *scene)
{
	bool done[SCENE_RANKS][SCENE_RANKS] = { { false } };
	uint32_t i;

	for (i = 0; i < scene->count; i++) {
		const struct scene_segment *s = &scene->segment[i];
		uint32_t r = s->rank, p = (uint32_t)s->target < scene->count
						  ? scene->segment[s->target].rank
						  : 0;
		struct host_dev *dev = scene->host->dev;

		if (s->target < 0 || done[r][p])
			continue;
		host_route(&dev[r], scene->space[r], p, &dev[p], scene->space[p], r);
		host_import(&dev[p], scene->space[p], r, &dev[r], scene->space[r], HOST_NONE64);
		done[r][p] = true;
	}
}

static void map_all(struct scene *scene)
{
	uint32_t i;

	for (i = 0; i < scene->count; i++) {
		struct scene_segment *s = &scene->segment[i];
		struct host_dev *d = &scene->host->dev[s->rank];

		s->map.space = scene->space[s->rank];
		host_map(d, &s->map);
		host_stage(d, s->map.space, s->map.segment, s->slots);
	}
}

void scene_make(struct scene *scene, struct host *host, uint64_t seed)
{
	uint32_t epoch;

	memset(scene, 0, offsetof(struct scene, model));
	scene->host = host;
	scene->ranks = host->ranks;
	scene->seed = seed;
	scene->random = mix(seed, 1);
	draw_segments(scene);
	before_all(scene);
	for (epoch = 1; epoch <= SCENE_EPOCHS; epoch++)
		compute(scene, epoch);
	make_spaces(scene);
	make_grants(scene);
	map_all(scene);
}

/* ------------------------------------------------------------ expectations */

void scene_expect_buffer(struct scene *scene, uint32_t rank, uint32_t epoch)
{
	const uint8_t *got = host_buffer(&scene->host->dev[rank], scene->space[rank]);
	const uint8_t *want = scene->model[epoch][rank];
	uint32_t i;

	for (i = 0; i < SCENE_BYTES; i++)
		if (got[i] != want[i])
			fail_msg("rank %u epoch %u byte %#x: %#x, want %#x", rank, epoch, i, got[i],
				 want[i]);
}

static uint64_t expect_segment(struct scene *scene, const struct scene_segment *s)
{
	struct host_dev *d = &scene->host->dev[s->rank];
	struct t3_cmd_seg_stats stats = host_stats(d, scene->space[s->rank], s->map.segment);
	uint64_t bytes = (uint64_t)s->map.rows * s->map.row_bytes * SCENE_EPOCHS;
	bool remote = s->map.kind == T3_SEG_REMOTE;

	assert_int_equal(stats.stores, s->stores);
	assert_int_equal(stats.doorbells, s->doorbells);
	assert_int_equal(stats.local_bytes, bytes * s->local);
	assert_int_equal(stats.remote_bytes, bytes * s->incoming);
	assert_int_equal(stats.tiles, s->tiles);
	assert_int_equal(stats.tiles_tracked, s->tiles);
	assert_int_equal(stats.triggers, s->tiles * SCENE_EPOCHS);
	assert_int_equal(stats.dma_bytes, s->map.kind == T3_SEG_DMA ? bytes : 0);
	assert_int_equal(stats.nmc_elements,
			 remote || s->map.op == T3_OP_STORE
				 ? 0
				 : bytes * s->map.updates / ref_size(s->map.dtype));
	host_expect_word(d, scene->space[s->rank], s->map.segment,
			 T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | SCENE_EPOCHS);
	return stats.triggers;
}

void scene_expect_counts(struct scene *scene)
{
	uint64_t triggers[SCENE_RANKS] = { 0 };
	uint32_t i, r;

	for (i = 0; i < scene->count; i++)
		triggers[scene->segment[i].rank] += expect_segment(scene, &scene->segment[i]);
	for (r = 0; r < scene->ranks; r++) {
		struct host_dev *d = &scene->host->dev[r];
		uint32_t shape = host_reg(d, T3_REG_TRACKER);

		assert_int_equal(host_counter(d, T3_COUNTER_TRIGGERS), triggers[r]);
		assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
		assert_true(host_counter(d, T3_COUNTER_TRACKER_PEAK) <= shape >> 8);
		assert_int_equal(host_counter(d, T3_COUNTER_FAULTS), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_NAKS), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_DROPPED), 0);
		assert_int_equal(host_query(d, scene->space[r]).in_flight, 0);
	}
}
