// SPDX-License-Identifier: MIT
/* Makes the blocks of a layout: their room in the buffer, and their segments. */
#include <string.h>

#include "plan/layout.h"

#define ALIGN	  64u /* alignment of room that need not follow the room before */
#define MAX_TILES (1u << 20)

int t3_plan_too_big(struct maker *m, const char *why)
{
	m->why = why;
	return -EFBIG;
}

uint32_t t3_plan_next(const struct maker *m)
{
	return (m->rank + 1) % m->ranks;
}

uint64_t t3_plan_chunk_bytes(const struct maker *m, uint32_t chunk)
{
	uint64_t first, count;

	t3_layout_chunk(m->out, chunk, &first, &count);
	return count * m->out->element;
}

uint64_t t3_plan_chunk_offset(const struct maker *m, uint32_t chunk)
{
	uint64_t first, count;

	t3_layout_chunk(m->out, chunk, &first, &count);
	return first * m->out->element;
}

uint64_t t3_plan_place(struct maker *m, uint64_t bytes)
{
	uint64_t offset = (m->out->bytes + ALIGN - 1) / ALIGN * ALIGN;

	m->out->bytes = offset + bytes;
	return offset;
}

void t3_plan_place_result(struct maker *m, uint64_t bytes)
{
	m->out->result_offset = t3_plan_place(m, bytes);
	m->out->result_bytes = bytes;
}

static void describe(const struct maker *m, const struct block *b, uint32_t part,
		     const struct t3_layout_part *p, struct t3_segment_desc *d)
{
	uint32_t slots = b->slots ? b->slots : 1;

	d->segment = b->number * m->out->parts + part;
	d->op = b->remote || b->updates == 1 ? 0 : m->desc->op;
	d->dtype = m->desc->dtype;
	d->init = b->updates == 1 ? DRM_T3_INIT_KEEP : DRM_T3_INIT_IDENTITY;
	d->updates = b->updates;
	d->rows = (uint32_t)(slots * p->rows);
	d->offset = b->offset + p->offset;
	d->row_bytes = (uint32_t)p->row_bytes;
	d->pitch = d->row_bytes;
	d->tile_rows = m->out->tile_rows < d->rows ? (uint32_t)m->out->tile_rows : d->rows;
	d->tile_row_bytes = m->out->tile_row_bytes < d->row_bytes ? (uint32_t)m->out->tile_row_bytes
								  : d->row_bytes;
}

static uint32_t kind_of(const struct block *b)
{
	if (!b->targets)
		return DRM_T3_SEGMENT_LOCAL;
	return b->remote ? DRM_T3_SEGMENT_REMOTE : DRM_T3_SEGMENT_DMA;
}

int t3_plan_add_part(struct maker *m, const struct block *b, uint32_t part,
		     const struct t3_layout_part *p)
{
	struct t3_layout *l = m->out;
	struct t3_layout_segment *s = &l->segment[l->count];
	uint64_t tiles;

	if (p->rows * (b->slots ? b->slots : 1) > UINT32_MAX)
		return t3_plan_too_big(
			m, l->lengths ? "columns and lengths give a chunk more than 2^32 - 1 rows"
				      : "columns and count give a chunk more than 2^32 - 1 rows");
	memset(s, 0, sizeof(*s));
	describe(m, b, part, p, &s->desc);
	s->kind = kind_of(b);
	s->targets = b->targets;
	s->via = b->targets ? b->via : T3_VIA_LINKS;
	s->chunk = b->chunk;
	if (b->targets) {
		s->target_segment = b->target_number * l->parts + part;
		s->target_row = b->target_slot * (uint32_t)p->rows;
		s->target_op = b->target_op;
	}
	if (b->own_slot != NO_SLOT) {
		s->own_row = b->own_slot * (uint32_t)p->rows;
		s->own_rows = (uint32_t)p->rows;
		s->own_first = p->first;
	}
	if (l->widens && s->desc.updates > 1) {
		s->widens = true;
		s->accumulators = t3_plan_place(m, 2 * (uint64_t)s->desc.rows * s->desc.pitch);
	}
	tiles = l->tiles + t3_desc_tiles(&s->desc);
	if (tiles > MAX_TILES)
		return t3_plan_too_big(
			m, l->lengths ? "lengths need more than 2^20 tiles at a rank: larger "
					"tile_columns are needed"
				      : "count needs more than 2^20 tiles at a rank: larger "
					"tile_rows or tile_columns are needed");
	l->tiles = (uint32_t)tiles;
	l->count++;
	return 0;
}

int t3_plan_add(struct maker *m, const struct block *b)
{
	struct t3_layout_part rows;
	uint32_t part;
	int ret = 0;

	for (part = 0; part < m->out->parts && !ret; part++)
		if (t3_layout_part(m->out, b->chunk, part, &rows))
			ret = t3_plan_add_part(m, b, part, &rows);
	return ret;
}
