/* SPDX-License-Identifier: MIT */
/*
 * A plan of libt3 on native devices: the test maps what its layouts say, and puts each rank's input
 * in a random interleaving, by stores and doorbells.
 */
#ifndef TEST_COLL_RUN_H
#define TEST_COLL_RUN_H

#include "host.h"
#include "plan/layout.h"
#include "ref.h"

#define SPACE	  0u
#define ELEMENTS  2048u
#define BUFFER	  0x100000u /* room for one, and for its counters */
#define STAGING	  0x200000u
#define IMAGE	  0x8000u /* of a segment: more than any has */
#define MAX_TILES 0x8000u

struct run {
	struct host *host;
	struct t3_plan_desc desc;
	uint32_t ranks;
	uint8_t node[T3_MAX_RANKS]; /* of HIERARCHICAL */
	bool small;		    /* values whose sums are exact in any order */
	bool near;		    /* floats of like size, whose sums and products round */
	bool lossy;		    /* links lose, double, delay and change packets */
	bool uneven;		    /* an all-to-all with these lengths */
	struct t3_lengths lengths;
	uint64_t random;
	struct t3_layout layout[T3_MAX_RANKS];
	uint64_t input[T3_MAX_RANKS][ELEMENTS]; /* by element of the whole */
	uint32_t generation[T3_MAX_RANKS];
	uint32_t doorbells[T3_MAX_RANKS]; /* chunks put by them, as a mask */
	uint32_t stores;
};

static struct run run;

static uint32_t below(uint32_t bound)
{
	return host_below(&run.random, bound);
}

/* --------------------------------------------------------------------- set-up */

static void make_space(uint32_t rank)
{
	struct t3_cmd_space_create cmd = host_space_args(SPACE);
	const struct t3_layout *l = &run.layout[rank];

	assert_true(l->bytes <= BUFFER && l->tiles <= MAX_TILES);
	cmd.aperture_offset = 0;
	cmd.buffer = 0;
	cmd.size = (l->bytes + T3_PAGE_SIZE) / T3_PAGE_SIZE * T3_PAGE_SIZE;
	cmd.counters = BUFFER;
	cmd.counter_count = MAX_TILES;
	assert_int_equal(host_command(&run.host->dev[rank], T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
	run.generation[rank] = cmd.generation;
}

/* Route p leads to rank p, with import r there and the masks of a grant. */
static void join(uint32_t rank, uint32_t to)
{
	struct t3_cmd_import_set cmd = {
		.space = SPACE,
		.import = rank % T3_SPACE_IMPORTS,
		.src_rank = rank,
		.src_space = SPACE,
		.src_generation = run.generation[rank],
	};

	cmd.segment_mask = t3_layout_targets(&run.layout[rank], to, T3_VIA_LINKS, &cmd.op_mask);
	if (!cmd.segment_mask)
		return;
	assert_int_equal(host_command(&run.host->dev[to], T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
	host_route(&run.host->dev[rank], SPACE, to, &run.host->dev[to], SPACE, rank);
}

/* ------------------------------------------------------------ groups of a switch */

static struct t3_cmd_group_create make_group(uint32_t rank, uint32_t kind, uint32_t import)
{
	bool ordered = kind == T3_GROUP_REDUCE && t3_plan_is_ordered(&run.desc);
	struct t3_cmd_group_create cmd = {
		.space = SPACE,
		.kind = kind,
		.import = import,
		.members = run.ranks - !ordered,
		.flags = ordered ? T3_GROUP_ORDERED : 0,
		.places = ordered ? (uint32_t)t3_layout_places(&run.layout[rank], rank) : 0,
	};

	assert_int_equal(host_command(&run.host->dev[rank], T3_CMD_GROUP_CREATE, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
	return cmd;
}

/* The ranks are the members 0, 1, ...: of an order all, else all others. */
static uint32_t member_of(const struct t3_cmd_group_create *group, uint32_t rank, uint32_t peer)
{
	return group->flags ? peer : peer - (peer > rank);
}

static void name_member(uint32_t rank, const struct t3_cmd_group_create *group, uint32_t peer,
			uint32_t import)
{
	struct t3_cmd_group_member cmd = {
		.space = SPACE,
		.group = group->group,
		.generation = group->generation,
		.member = member_of(group, rank, peer),
		.peer_rank = peer,
		.peer_space = SPACE,
		.peer_generation = run.generation[peer],
		.peer_import = import,
	};

	assert_int_equal(host_command(&run.host->dev[rank], T3_CMD_GROUP_MEMBER, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
}

static void hear_group(uint32_t rank, const struct t3_cmd_group_create *group, uint32_t import,
		       uint64_t segments, uint32_t ops)
{
	struct t3_cmd_import_set cmd = {
		.space = SPACE,
		.import = import,
		.src_rank = T3_SWITCH_RANK,
		.src_space = group->group,
		.src_generation = group->generation,
		.segment_mask = segments,
		.op_mask = ops,
	};

	assert_int_equal(host_command(&run.host->dev[rank], T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
}

static void route_to_group(uint32_t rank, uint32_t route, const struct t3_cmd_group_create *group,
			   uint32_t member)
{
	struct t3_cmd_route_set cmd = {
		.space = SPACE,
		.route = route,
		.peer_rank = T3_SWITCH_RANK,
		.peer_space = group->group,
		.peer_generation = group->generation,
		.peer_import = member,
	};

	assert_int_equal(host_command(&run.host->dev[rank], T3_CMD_ROUTE_SET, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
}

/* The sources' routes have the number of the target, its import that of itself. */
static void join_reduction(uint32_t to)
{
	struct t3_cmd_group_create group = { 0 };
	uint64_t segments;
	uint32_t r, ops;

	for (r = 0; r < run.ranks; r++) {
		segments = t3_layout_targets(&run.layout[r], to, T3_VIA_REDUCE, &ops);
		if (!segments)
			continue;
		if (!group.kind) {
			group = make_group(to, T3_GROUP_REDUCE, to);
			hear_group(to, &group, to, segments, ops);
		}
		name_member(to, &group, r, 0);
		route_to_group(r, to, &group, member_of(&group, to, r));
	}
}

/* The source's route comes after those to sums, the targets' imports have the number of the source. */
static void join_multicast(uint32_t rank)
{
	struct t3_cmd_group_create group = { 0 };
	uint64_t segments;
	uint32_t r, ops;

	for (r = 0; r < run.ranks; r++) {
		segments = t3_layout_targets(&run.layout[rank], r, T3_VIA_MULTICAST, &ops);
		if (!segments)
			continue;
		if (!group.kind) {
			group = make_group(rank, T3_GROUP_MULTICAST, 0);
			route_to_group(rank, run.ranks, &group, 0);
		}
		hear_group(r, &group, rank, segments, ops);
		name_member(rank, &group, r, rank);
	}
}

static uint64_t image_of(const struct t3_segment_desc *d)
{
	return STAGING + d->segment * IMAGE;
}

static void stage(uint32_t rank, const struct t3_layout_segment *s)
{
	uint64_t bytes = (uint64_t)s->desc.rows * s->desc.pitch;
	struct t3_cmd_seg_staging cmd = {
		.space = SPACE,
		.segment = s->desc.segment,
		.address = image_of(&s->desc),
		.slot_stride = (bytes + 7) / 8 * 8,
		.slots = 1,
	};

	assert_int_equal(host_command(&run.host->dev[rank], T3_CMD_SEG_STAGING, &cmd, sizeof(cmd)),
			 T3_ADMIN_OK);
}

static void widen(uint32_t rank, const struct t3_layout_segment *s)
{
	struct t3_cmd_seg_widen cmd = {
		.space = SPACE,
		.segment = s->desc.segment,
		.address = s->accumulators,
		.widen = 1,
	};

	if (s->widens)
		assert_int_equal(host_command(&run.host->dev[rank], T3_CMD_SEG_WIDEN, &cmd,
					      sizeof(cmd)),
				 T3_ADMIN_OK);
}

static uint32_t map_segment(uint32_t rank, const struct t3_layout_segment *s, uint32_t counters)
{
	static const uint8_t kinds[] = {
		[DRM_T3_SEGMENT_LOCAL] = T3_SEG_LOCAL,
		[DRM_T3_SEGMENT_REMOTE] = T3_SEG_REMOTE,
		[DRM_T3_SEGMENT_DMA] = T3_SEG_DMA,
	};
	const struct t3_segment_desc *d = &s->desc;
	struct t3_cmd_seg_map map = {
		.space = SPACE,
		.segment = d->segment,
		.kind = kinds[s->kind],
		.op = (uint8_t)d->op,
		.dtype = (uint8_t)d->dtype,
		.init = (uint8_t)d->init,
		.target_op = (uint8_t)s->target_op,
		.offset = d->offset,
		.updates = d->updates,
		.rows = d->rows,
		.row_bytes = d->row_bytes,
		.pitch = d->pitch,
		.tile_rows = d->tile_rows,
		.tile_row_bytes = d->tile_row_bytes,
		.counter_base = counters,
		.routes = s->via == T3_VIA_MULTICAST ? 1u << run.ranks : s->targets,
		.target_segment = s->target_segment,
		.target_row = s->target_row,
	};

	host_map(&run.host->dev[rank], &map);
	widen(rank, s);
	if (s->own_rows && run.doorbells[rank] >> s->chunk & 1)
		stage(rank, s);
	return counters + (uint32_t)t3_desc_tiles(d);
}

static int lay_out(uint32_t rank, const char **why)
{
	if (run.uneven)
		return t3_layout_make_uneven(&run.desc, &run.lengths, rank, run.ranks,
					     &run.layout[rank], why);
	return t3_layout_make(&run.desc, rank, run.ranks, run.node, &run.layout[rank], why);
}

static void set_up(void)
{
	uint32_t r, p, i, counters;
	const char *why;

	for (r = 0; r < run.ranks; r++) {
		assert_int_equal(lay_out(r, &why), 0);
		run.doorbells[r] = (uint32_t)host_random(&run.random);
		make_space(r);
	}
	for (r = 0; r < run.ranks; r++)
		for (p = 0; p < run.ranks; p++)
			if (r != p)
				join(r, p);
	for (r = 0; r < run.ranks; r++) {
		join_reduction(r);
		join_multicast(r);
	}
	for (r = 0; r < run.ranks; r++)
		for (counters = 0, i = 0; i < run.layout[r].count; i++)
			counters = map_segment(r, &run.layout[r].segment[i], counters);
}

/* ------------------------------------------------------------------ producing */

/* From 1/16 to 8 or from -8 to -1/16. */
static uint64_t near_one(uint64_t bits)
{
	static const struct {
		uint32_t fraction, bias;
	} formats[T3_DTYPE_COUNT] = { [T3_DTYPE_F32] = { 23, 127 },
				      [T3_DTYPE_F16] = { 10, 15 },
				      [T3_DTYPE_BF16] = { 7, 127 },
				      [T3_DTYPE_F64] = { 52, 1023 } };
	uint32_t fraction = formats[run.desc.dtype].fraction;
	uint64_t sign = (bits >> 63) << (8 * ref_size(run.desc.dtype) - 1);
	uint64_t exponent = formats[run.desc.dtype].bias - 4 + (bits >> 60) % 7;

	return sign | exponent << fraction | (bits & ((UINT64_C(1) << fraction) - 1));
}

static uint64_t value(void)
{
	uint64_t bits = host_random(&run.random);

	if (run.near)
		return near_one(bits);
	if (run.small && run.desc.op == T3_OP_MUL)
		return ref_small(run.desc.dtype, (int)(bits % 3) - 1);
	if (run.small)
		return ref_small(run.desc.dtype, (int)(bits % 7) - 3);
	return bits >> (64 - 8 * ref_size(run.desc.dtype));
}

static void fill_inputs(void)
{
	uint32_t r, e;

	for (r = 0; r < run.ranks; r++)
		for (e = 0; e < run.layout[r].units * run.layout[r].columns; e++)
			run.input[r][e] = value();
}

/* A store must not wait for room on a link that has lost packets. */
static void store(uint32_t rank, uint64_t element)
{
	const struct t3_layout *l = &run.layout[rank];
	uint32_t row, col, at;
	uint64_t left;

	at = t3_layout_locate(l, element, &row, &col, &left);
	assert_int_not_equal(at, T3_LAYOUT_NONE);
	if (++run.stores % (run.lossy ? 6 : 32) == 0)
		host_drain(run.host);
	host_store(&run.host->dev[rank], SPACE,
		   l->segment[at].desc.offset + (uint64_t)row * l->segment[at].desc.pitch + col,
		   run.input[rank][element], l->element);
}

static void ring_bells(uint32_t rank, uint32_t chunk)
{
	struct host_dev *d = &run.host->dev[rank];
	const struct t3_layout *l = &run.layout[rank];
	uint64_t first, count, e, left, tile, index;
	uint32_t at, row, col;

	t3_layout_chunk(l, chunk, &first, &count);
	for (e = first; e < first + count; e++) {
		const struct t3_segment_desc *s;

		at = t3_layout_locate(l, e, &row, &col, &left);
		s = &l->segment[at].desc;
		memcpy(d->memory + image_of(s) + (uint64_t)row * s->pitch + col,
		       &run.input[rank][e], l->element);
	}
	for (tile = 0; (at = t3_layout_tile(l, chunk, tile, &index)) != T3_LAYOUT_NONE; tile++)
		host_tile(d, SPACE, l->segment[at].desc.segment, 0, (uint32_t)index);
}

static void put_chunk(uint32_t rank, uint32_t chunk)
{
	uint64_t first, count, e;

	if (run.doorbells[rank] >> chunk & 1) {
		ring_bells(rank, chunk);
		return;
	}
	t3_layout_chunk(&run.layout[rank], chunk, &first, &count);
	for (e = first; e < first + count; e++)
		store(rank, e);
}

/* Ranks take turns at random. Each has its order of production. */
static void produce(void)
{
	uint32_t done[T3_MAX_RANKS] = { 0 }, left = 0, r;

	for (r = 0; r < run.ranks; r++)
		left += run.layout[r].produced;
	while (left) {
		r = below(run.ranks);
		if (done[r] == run.layout[r].produced)
			continue;
		put_chunk(r, run.layout[r].order[done[r]++]);
		left--;
	}
	host_drain(run.host);
}

#endif /* TEST_COLL_RUN_H */
