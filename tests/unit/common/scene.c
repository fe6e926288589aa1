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

/* Does a float's result depend on the order, but for small values? */
static bool rounds(uint32_t dtype, uint32_t op)
{
	return ref_is_float(dtype) && (op == T3_OP_ADD || op == T3_OP_MUL);
}

static uint64_t draw(uint32_t dtype, bool exact, uint64_t bits)
{
	static const uint64_t odd[T3_DTYPE_COUNT][4] = {
		[T3_DTYPE_F32] = { 0x7f800000, 0xff800000, 0x7f812345, 0x80000000 },
		[T3_DTYPE_F16] = { 0x7c00, 0xfc00, 0x7d55, 0x8000 },
		[T3_DTYPE_BF16] = { 0x7f80, 0xff80, 0x7f91, 0x8000 },
		[T3_DTYPE_F64] = { 0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000012345678,
				   0x8000000000000000 },
	};

	if (ref_is_float(dtype) && bits % 61 == 0)
		return odd[dtype][bits >> 32 & 3];
	if (exact)
		return ref_small(dtype, (int)(bits >> 32 & 0xffff) % 3 - 1);
	return bits >> (64 - 8 * ref_size(dtype));
}

uint64_t scene_value(const struct scene *scene, const struct scene_segment *segment, uint32_t epoch,
		     uint32_t k, uint32_t row, uint32_t col)
{
	uint64_t place = (uint64_t)(segment - scene->segment) << 40 | (uint64_t)epoch << 32;

	place |= k << 24 | row << 12 | col;
	return draw(segment->map.dtype, segment->exact, mix(scene->seed, place));
}

/* ----------------------------------------------------------------- drawing */

uint32_t scene_fan_out(const struct scene_segment *segment)
{
	return (uint32_t)__builtin_popcount(segment->map.routes);
}

/* Whether the rank has a link to each rank of the mask. */
static bool reaches(const struct scene *scene, uint32_t from, uint32_t ranks)
{
	uint32_t to;

	for (to = 0; to < scene->ranks; to++)
		if ((ranks >> to & 1) &&
		    (from == to || !host_inject(scene->host->fabric, from, to, T3_INJECT_DROP, 0)))
			return false;
	return true;
}

static bool reachable(const struct scene *scene, uint32_t ranks)
{
	uint32_t from;

	for (from = 0; from < scene->ranks; from++)
		if (reaches(scene, from, ranks))
			return true;
	return false;
}

static uint32_t draw_op(struct scene *scene, uint32_t dtype)
{
	uint32_t op = below(scene, T3_OP_COUNT);

	return ref_has(dtype, op) ? op : T3_OP_ADD;
}

/* Set tiles, pitch and place. The caller has set segment, rows and row_bytes. */
static void place(struct scene *scene, struct scene_segment *s)
{
	uint32_t size = ref_size(s->map.dtype), elements = s->map.row_bytes / size;
	uint32_t *bytes = &scene->used_bytes[s->rank], *records = &scene->used_records[s->rank];

	s->map.tile_rows = 1 + below(scene, s->map.rows);
	s->map.tile_row_bytes = size * (1 + below(scene, elements));
	s->map.pitch = s->map.row_bytes + size * below(scene, 5);
	s->map.offset = *bytes + size * below(scene, 8);
	*bytes = ((uint32_t)s->map.offset + s->map.rows * s->map.pitch + 7) & ~7u;
	s->tiles_x = (elements * size + s->map.tile_row_bytes - 1) / s->map.tile_row_bytes;
	s->tiles = s->tiles_x * ((s->map.rows + s->map.tile_rows - 1) / s->map.tile_rows);
	s->map.counter_base = *records + below(scene, 3);
	*records = s->map.counter_base + s->tiles;
	s->slots = below(scene, T3_SEG_SLOTS + 1);
}

/* Set the fields that all members of a group share. */
static struct scene_segment draw_final(struct scene *scene)
{
	struct scene_segment s = { .target = -1, .group = scene->count };

	s.ranks = 1u << below(scene, scene->ranks);
	if (below(scene, 3) == 0)
		s.ranks |= below(scene, 1u << scene->ranks);
	if (!reachable(scene, s.ranks))
		s.ranks &= 0u - s.ranks;
	s.map.kind = T3_SEG_LOCAL;
	s.map.segment = scene->used_indices++;
	s.map.dtype = (uint8_t)below(scene, T3_DTYPE_COUNT);
	s.map.op = (uint8_t)draw_op(scene, s.map.dtype);
	s.many = s.map.op != T3_OP_STORE && below(scene, 8) == 0;
	s.map.rows = 1 + below(scene, s.many ? 2 : 6);
	s.map.row_bytes = ref_size(s.map.dtype) * (1 + below(scene, s.many ? 6 : 14));
	s.exact = rounds(s.map.dtype, s.map.op);
	return s;
}

static void add_group(struct scene *scene)
{
	struct scene_segment common = draw_final(scene);
	uint32_t rank;

	for (rank = 0; rank < scene->ranks; rank++) {
		struct scene_segment *s = &scene->segment[scene->count];

		if (!(common.ranks >> rank & 1))
			continue;
		scene->count++;
		*s = common;
		s->rank = rank;
		s->map.init = (uint8_t)below(scene, 2);
		s->local = s->map.op == T3_OP_STORE ? 0 : below(scene, 3);
		if (s->many)
			s->local = T3_MAX_UPDATES - 13 - below(scene, 4) * 16;
		place(scene, s);
	}
}

/* Add a source for rows [row, row + rows) and columns [col, col + bytes) of a target. */
static void add_source(struct scene *scene, int target, uint32_t rank, uint32_t kind,
		       const uint32_t box[4])
{
	const struct scene_segment *t = &scene->segment[target];
	struct scene_segment *s = &scene->segment[scene->count++];

	s->rank = rank;
	s->target = target;
	s->group = scene->count - 1;
	s->ranks = 1u << rank;
	s->map.segment = scene->used_indices++;
	s->depth = t->depth + 1;
	s->map.kind = (uint8_t)kind;
	s->map.dtype = t->map.dtype;
	s->map.target_op = t->map.op;
	s->map.target_row = box[0];
	s->map.rows = box[1];
	s->map.target_col = box[2];
	s->map.row_bytes = box[3];
	s->map.routes = t->ranks;
	s->map.target_segment = t->map.segment;
	s->exact = t->exact;
	s->local = 1;
	if (kind == T3_SEG_DMA) {
		s->map.op = (uint8_t)draw_op(scene, s->map.dtype);
		s->map.init = (uint8_t)below(scene, 2);
		s->map.block_tiles = below(scene, 2) ? below(scene, 9) : 0;
		s->exact |= rounds(s->map.dtype, s->map.op);
		s->local = s->map.op == T3_OP_STORE ? 0 : below(scene, 3);
	}
	place(scene, s);
}

static bool may_take(const struct scene_segment *t)
{
	uint32_t most = t->many ? T3_MAX_UPDATES : 3;

	if (t->map.kind == T3_SEG_REMOTE || t->depth >= 2)
		return false;
	return t->local + t->incoming < (t->map.op == T3_OP_STORE ? 1 : most);
}

static uint32_t source_rank(struct scene *scene, const struct scene_segment *t)
{
	uint32_t rank;

	do {
		rank = below(scene, scene->ranks);
	} while (!reaches(scene, rank, t->ranks));
	return rank;
}

/* Add one source to each member of the group, if each has room for one. */
static bool take(struct scene *scene, uint32_t group)
{
	uint32_t i;

	for (i = group; i < scene->count && scene->segment[i].group == group; i++)
		if (!may_take(&scene->segment[i]))
			return false;
	for (i = group; i < scene->count && scene->segment[i].group == group; i++)
		scene->segment[i].incoming++;
	return true;
}

/* Add one update for each element of a group: by one source or by two halves. */
static void add_sources(struct scene *scene)
{
	int target = (int)scene->segment[below(scene, scene->count)].group;
	struct scene_segment *t = &scene->segment[target];
	uint32_t size = ref_size(t->map.dtype), elements = t->map.row_bytes / size;
	uint32_t whole[4] = { 0, t->map.rows, 0, t->map.row_bytes };
	uint32_t first[4], second[4], dim = below(scene, 3), cut;

	if (!reachable(scene, t->ranks) || !take(scene, (uint32_t)target))
		return;
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
	uint32_t finals = 1 + below(scene, 3), tries = 20, i;

	for (i = 0; i < finals; i++)
		add_group(scene);
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

/* The contribution of source `s` to an element of its target, if `s` covers it. */
static uint64_t from_source(struct scene *scene, const struct scene_segment *s, uint32_t epoch,
			    const struct scene_segment *t, uint64_t value, uint32_t row,
			    uint32_t col)
{
	uint64_t sent = 0;

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
	uint32_t size = ref_size(t->map.dtype), i;
	uint64_t value = 0;

	if (t->map.init == T3_INIT_IDENTITY)
		value = ref_identity(t->map.dtype, t->map.op);
	else
		memcpy(&value, element(scene, epoch, t, row, col), size);
	for (i = 0; i < t->local; i++)
		value = ref_apply(t->map.dtype, t->map.op, value,
				  scene_value(scene, t, epoch, i, row, col));
	for (i = index + 1; i < scene->count; i++)
		if (scene->segment[i].target == (int)t->group)
			value = from_source(scene, &scene->segment[i], epoch, t, value, row, col);
	memcpy(element(scene, epoch, t, row, col), &value, size);
}

/* Sources come after their targets, so the last one is complete first. */
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

/* Random bytes everywhere, and valid values where a segment is. */
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
				uint64_t value = scene_value(scene, s, 0, 0, row, col);

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

/* Route p of rank r leads through import r to rank p, for segments that need it. */
static void make_grants(struct scene *scene)
{
	bool done[SCENE_RANKS][SCENE_RANKS] = { { false } };
	uint32_t i;

	for (i = 0; i < scene->count; i++) {
		uint32_t r = scene->segment[i].rank, p;
		struct host_dev *dev = scene->host->dev;

		for (p = 0; p < scene->ranks; p++) {
			if (!(scene->segment[i].map.routes >> p & 1) || done[r][p])
				continue;
			host_route(&dev[r], scene->space[r], p, &dev[p], scene->space[p], r);
			host_import(&dev[p], scene->space[p], r, &dev[r], scene->space[r],
				    HOST_NONE64);
			done[r][p] = true;
		}
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
