// SPDX-License-Identifier: MIT
/* The chunks of a plan, their tiles, and the place of each element. */
#include <string.h>

#include "plan/layout.h"
#include "space/space.h"

#define ROW_MAX	   (1u << 24) /* of a segment */
#define TILE_MAX   (1u << 20)
#define TILE_LEAST (1u << 14) /* of default tiles */
#define TILES	   16u	      /* of a default chunk, so that it is passed on while it arrives */

static bool reduces(const struct t3_plan_desc *d)
{
	return d->collective == T3_REDUCE_SCATTER || d->collective == T3_ALL_REDUCE;
}

bool t3_plan_rounds(const struct t3_plan_desc *d)
{
	bool is_float = d->dtype == DRM_T3_F32 || d->dtype == DRM_T3_F16 ||
			d->dtype == DRM_T3_BF16 || d->dtype == DRM_T3_F64;

	return reduces(d) && is_float && (d->op == DRM_T3_OP_ADD || d->op == DRM_T3_OP_MUL);
}

bool t3_plan_is_ordered(const struct t3_plan_desc *d)
{
	return d->algorithm == T3_ALGORITHM_SWITCH && d->flags & T3_PLAN_DETERMINISTIC &&
	       !(d->flags & T3_PLAN_CHAINED) && t3_plan_rounds(d);
}

static const char *wrong_widen(const struct t3_plan_desc *d)
{
	uint64_t rows = d->tile_rows ? d->tile_rows : 1;

	if (d->dtype != DRM_T3_F16 && d->dtype != DRM_T3_BF16)
		return "flags WIDEN: the dtype is F16 or BF16";
	if (d->op != DRM_T3_OP_ADD && d->op != DRM_T3_OP_MUL)
		return "flags WIDEN: the op is ADD or MUL";
	if (d->flags & T3_PLAN_DETERMINISTIC)
		return "flags WIDEN adds in the order of arrival: not with DETERMINISTIC";
	if (d->algorithm != T3_ALGORITHM_DIRECT)
		return "flags WIDEN: the algorithm is DIRECT";
	if (rows > DRM_T3_WIDE_ROWS_MAX || rows * 2 * d->tile_columns > DRM_T3_WIDE_BYTES_MAX)
		return "flags WIDEN: a tile (tile_rows, tile_columns) is at most 128 rows and 32 "
		       "KiB";
	return NULL;
}

static const char *wrong_flags(const struct t3_plan_desc *d)
{
	if (d->flags & ~(T3_PLAN_DETERMINISTIC | T3_PLAN_WIDEN | T3_PLAN_CHAINED))
		return "flags has an unknown one";
	if (d->flags && !reduces(d))
		return "flags DETERMINISTIC and WIDEN are for reductions; 0 for others";
	if (d->flags & T3_PLAN_WIDEN)
		return wrong_widen(d);
	if (d->flags && d->algorithm == T3_ALGORITHM_HIERARCHICAL)
		return "flags DETERMINISTIC: the algorithm is RING, DIRECT or SWITCH, not "
		       "HIERARCHICAL";
	return NULL;
}

static const char *wrong_op(const struct t3_plan_desc *d)
{
	if (!t3_dtype_bytes(d->dtype))
		return "no such dtype";
	if (!reduces(d))
		return d->op ? "op is for reductions; 0 for others" : NULL;
	if (d->op < DRM_T3_OP_ADD || d->op > DRM_T3_OP_MUL)
		return "op of a reduction is ADD, MIN, MAX, AND, OR, XOR or MUL";
	return t3_dtype_has(d->dtype, d->op) ? NULL : "a dtype of floats has no AND, OR and XOR";
}

static const char *wrong_tile(const struct t3_plan_desc *d)
{
	uint64_t size = t3_dtype_bytes(d->dtype), rows = d->tile_rows ? d->tile_rows : 1;

	if (!d->columns && rows > 1)
		return "tile_rows of an array is 0 or 1";
	if (d->collective == T3_ALL_TO_ALL && rows > 1)
		return "tile_rows of an all-to-all is 0 or 1";
	if (d->columns && d->tile_columns > d->columns)
		return "tile_columns is above columns";
	if (size * d->tile_columns > TILE_MAX ||
	    rows * size * (d->tile_columns ? d->tile_columns : 1) > TILE_MAX)
		return "a tile (tile_rows, tile_columns) is at most 1 MiB";
	return NULL;
}

static const char *wrong(const struct t3_plan_desc *d, uint32_t ranks)
{
	if (ranks < 2 || ranks > T3_COMM_RANKS_MAX)
		return "a collective is among 2 to 32 ranks";
	if (d->collective < T3_REDUCE_SCATTER || d->collective > T3_BROADCAST)
		return "no such collective";
	if (d->algorithm < T3_ALGORITHM_RING || d->algorithm > T3_ALGORITHM_SWITCH)
		return "no such algorithm";
	if (d->algorithm > T3_ALGORITHM_DIRECT && d->collective == T3_ALL_TO_ALL)
		return "the algorithm of an all-to-all is RING or DIRECT";
	if (d->collective == T3_BROADCAST ? d->root >= ranks : d->root)
		return "root is a rank for a broadcast; 0 for others";
	if (d->path > T3_PATH_DOORBELL)
		return "no such path";
	if (!d->count || (d->columns && d->count % d->columns))
		return "count is 0, or not whole rows of columns";
	return NULL;
}

static const char *too_much(const struct t3_plan_desc *d)
{
	if (d->count > T3_LAYOUT_COUNT_MAX)
		return "count is above 2^40";
	if ((uint64_t)d->columns * t3_dtype_bytes(d->dtype) > ROW_MAX)
		return "a row of so many columns is above 16 MiB";
	return NULL;
}

int t3_layout_check(const struct t3_plan_desc *desc, uint32_t ranks, const char **why)
{
	*why = wrong(desc, ranks);
	if (!*why)
		*why = wrong_flags(desc);
	if (!*why)
		*why = wrong_op(desc);
	if (!*why)
		*why = wrong_tile(desc);
	if (*why)
		return -EINVAL;
	*why = too_much(desc);
	return *why ? -EFBIG : 0;
}

int t3_layout_check_uneven(const struct t3_plan_desc *desc, uint32_t ranks, const char **why)
{
	struct t3_plan_desc one_row = *desc;

	*why = NULL;
	if (desc->collective != T3_ALL_TO_ALL)
		*why = "the collective of a plan with lengths is all-to-all";
	else if (desc->count)
		*why = "count is 0 in a plan with lengths, which say it";
	if (*why)
		return -EINVAL;
	one_row.count = desc->columns ? desc->columns : 1;
	return t3_layout_check(&one_row, ranks, why);
}

uint64_t t3_layout_input(const struct t3_layout *l, uint32_t rank, uint32_t chunk)
{
	uint64_t first, count;

	if (l->lengths)
		return l->lengths->send[rank][chunk];
	t3_layout_chunk(l, chunk, &first, &count);
	return count;
}

void t3_layout_chunk(const struct t3_layout *l, uint32_t chunk, uint64_t *first, uint64_t *count)
{
	uint64_t each = l->units / l->chunks, more = l->units % l->chunks;
	uint32_t c;

	if (l->lengths) {
		for (*first = 0, c = 0; c < chunk; c++)
			*first += l->lengths->send[l->rank][c];
		*count = l->lengths->send[l->rank][chunk];
		return;
	}
	*first = (each * chunk + (chunk < more ? chunk : more)) * l->columns;
	*count = (each + (chunk < more)) * l->columns;
}

static uint64_t longest_length(const struct t3_layout *l)
{
	uint64_t longest = 0;
	uint32_t r, c;

	for (r = 0; r < l->ranks; r++)
		for (c = 0; c < l->ranks; c++)
			if (l->lengths->send[r][c] > longest)
				longest = l->lengths->send[r][c];
	return longest;
}

/* Set the sizes of this rank's input, and of the longest chunk. */
static void measure(const struct t3_plan_desc *d, struct t3_layout *l)
{
	uint32_t c;

	l->units = d->count / l->columns;
	l->longest = (l->units / l->chunks + !!(l->units % l->chunks)) * l->columns;
	if (!l->lengths)
		return;
	l->longest = longest_length(l);
	for (c = 0; c < l->ranks; c++)
		l->units += l->lengths->send[l->rank][c] / l->columns;
}

/* Bytes of a default tile. */
static uint32_t usual_tile(const struct t3_layout *l)
{
	uint64_t bytes = l->longest * l->element / TILES & ~UINT64_C(7);
	uint32_t most = l->widens ? DRM_T3_WIDE_BYTES_MAX : TILE_MAX;

	if (bytes < TILE_LEAST)
		return TILE_LEAST;
	return bytes > most ? most : (uint32_t)bytes;
}

/* Bytes in one row of a default tile. */
static uint32_t usual_row(const struct t3_layout *l, uint32_t rows)
{
	uint32_t bytes = usual_tile(l) / rows & ~7u;

	return bytes ? bytes : l->element;
}

/*
 * An array is one row, up to the longest row there may be. A longer one is rows of whole tiles and
 * a rest. The rest is an image of its own for t3_plan_bind(), so it begins at a multiple of 8 of the
 * chunk, too.
 */
static void cut_array(struct t3_layout *l)
{
	uint32_t unit = l->tile_row_bytes;

	l->tile_rows = 1;
	l->parts = 1;
	if (l->longest * l->element <= ROW_MAX)
		return;
	l->parts = 2;
	while (unit % 8)
		unit *= 2;
	l->row_bytes = ROW_MAX / unit * unit;
}

void t3_layout_cut(const struct t3_plan_desc *d, uint32_t chunks, struct t3_layout *l)
{
	uint32_t rows = d->tile_rows ? d->tile_rows : 1;

	l->element = t3_dtype_bytes(d->dtype);
	l->columns = d->columns ? d->columns : 1;
	l->chunks = chunks;
	measure(d, l);
	l->widens = d->flags & T3_PLAN_WIDEN;
	l->tile_row_bytes = d->tile_columns ? d->tile_columns * l->element : usual_row(l, rows);
	if (!d->columns) {
		cut_array(l);
		return;
	}
	l->parts = 1;
	l->row_bytes = d->columns * l->element;
	if (l->tile_row_bytes > l->row_bytes)
		l->tile_row_bytes = l->row_bytes;
	if (!d->tile_rows && d->collective != T3_ALL_TO_ALL && l->tile_row_bytes < usual_tile(l))
		rows = usual_tile(l) / l->tile_row_bytes;
	/* Tiles with more rows cannot be staged. */
	if (!d->tile_rows && rows > DRM_T3_STAGED_ROWS_MAX)
		rows = DRM_T3_STAGED_ROWS_MAX;
	if (!d->tile_rows && l->widens && rows > DRM_T3_WIDE_ROWS_MAX)
		rows = DRM_T3_WIDE_ROWS_MAX;
	l->tile_rows = rows;
}

bool t3_layout_part(const struct t3_layout *l, uint32_t chunk, uint32_t part,
		    struct t3_layout_part *out)
{
	uint64_t first, count, bytes, body;

	t3_layout_chunk(l, chunk, &first, &count);
	bytes = count * l->element;
	out->first = first;
	out->offset = 0;
	out->rows = 1;
	out->row_bytes = bytes;
	if (!l->row_bytes)
		return bytes;
	body = bytes / l->row_bytes;
	if (!part) {
		out->rows = body;
		out->row_bytes = l->row_bytes;
		return body;
	}
	out->offset = body * l->row_bytes;
	out->row_bytes = bytes - out->offset;
	out->first = first + out->offset / l->element;
	return out->row_bytes;
}

uint64_t t3_layout_targets(const struct t3_layout *l, uint32_t to, uint32_t via, uint32_t *ops)
{
	uint64_t mask = 0;
	uint32_t i;

	*ops = 0;
	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		if (!(s->targets >> to & 1) || s->via != via)
			continue;
		mask |= UINT64_C(1) << s->target_segment;
		*ops |= 1u << s->target_op;
	}
	return mask;
}

#define UPDATE_BYTES 1024u

uint64_t t3_layout_places(const struct t3_layout *l, uint32_t to)
{
	uint64_t places = 0;
	uint32_t i, whole, rest;

	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		if (s->via != T3_VIA_REDUCE || !(s->targets >> to & 1))
			continue;
		whole = s->desc.row_bytes / s->desc.tile_row_bytes;
		rest = s->desc.row_bytes % s->desc.tile_row_bytes;
		places += (whole * ((s->desc.tile_row_bytes - 1) / UPDATE_BYTES + UINT64_C(1)) +
			   (rest + UPDATE_BYTES - 1) / UPDATE_BYTES) *
			  s->desc.rows;
	}
	return places;
}

uint32_t t3_layout_all_targets(const struct t3_layout *l)
{
	uint32_t ranks = 0, i;

	for (i = 0; i < l->count; i++)
		ranks |= l->segment[i].targets;
	return ranks;
}

uint32_t t3_layout_locate(const struct t3_layout *l, uint64_t element, uint32_t *row, uint32_t *col,
			  uint64_t *run)
{
	uint64_t across, at;
	uint32_t i;

	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		across = s->desc.row_bytes / l->element;
		at = element - s->own_first;
		if (element < s->own_first || at >= across * s->own_rows)
			continue;
		*row = s->own_row + (uint32_t)(at / across);
		*col = (uint32_t)(at % across) * l->element;
		*run = across - at % across;
		return i;
	}
	return T3_LAYOUT_NONE;
}

static uint64_t across(const struct t3_segment_desc *d)
{
	return d->row_bytes / d->tile_row_bytes + !!(d->row_bytes % d->tile_row_bytes);
}

/* Tiles of a segment that come before the rank's own rows, which begin at a tile's first row. */
static uint64_t tiles_before(const struct t3_layout_segment *s)
{
	return s->own_row / s->desc.tile_rows * across(&s->desc);
}

static uint64_t own_tiles(const struct t3_layout_segment *s)
{
	return (s->own_rows / s->desc.tile_rows + !!(s->own_rows % s->desc.tile_rows)) *
	       across(&s->desc);
}

/* Where the rank's own rows do not begin at row 0, a tile is one row high. */
uint32_t t3_layout_tile(const struct t3_layout *l, uint32_t chunk, uint64_t tile,
			uint64_t *in_segment)
{
	uint64_t own;
	uint32_t i;

	for (i = 0; i < l->count; i++) {
		const struct t3_layout_segment *s = &l->segment[i];

		if (s->chunk != chunk || !s->own_rows)
			continue;
		own = own_tiles(s);
		if (tile < own) {
			*in_segment = tiles_before(s) + tile;
			return i;
		}
		tile -= own;
	}
	return T3_LAYOUT_NONE;
}

uint64_t t3_layout_tiles(const struct t3_layout *l, uint32_t chunk)
{
	uint64_t tiles = 0;
	uint32_t i;

	for (i = 0; i < l->count; i++)
		if (l->segment[i].chunk == chunk && l->segment[i].own_rows)
			tiles += own_tiles(&l->segment[i]);
	return tiles;
}

uint64_t t3_layout_chunk_tile(const struct t3_layout *l, uint32_t at, uint64_t in_segment)
{
	uint64_t tile = in_segment - tiles_before(&l->segment[at]);
	uint32_t i;

	for (i = 0; i < at; i++)
		if (l->segment[i].chunk == l->segment[at].chunk && l->segment[i].own_rows)
			tile += own_tiles(&l->segment[i]);
	return tile;
}

uint64_t t3_layout_element(const struct t3_layout *l, uint32_t at, const struct t3_tile *tile)
{
	const struct t3_layout_segment *s = &l->segment[at];

	return s->own_first +
	       ((uint64_t)(tile->row - s->own_row) * s->desc.row_bytes + tile->col) / l->element;
}
