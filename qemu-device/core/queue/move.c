/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moves one piece of COPY, FILL or UPDATE: it is read whole, then written. SPEC.md sections 11.3
 * and 11.6. A piece lies in one row of the descriptor. In a space it lies in one row of a tile.
 */
#include "queue/queue_private.h"

static uint64_t src_of(const struct t3_queue *q)
{
	return q->desc.src + q->row * q->desc.src_pitch + q->col;
}

static uint64_t dst_of(const struct t3_queue *q)
{
	return q->desc.dst + q->row * q->desc.dst_pitch + q->col;
}

/* ------------------------------------------------------------------ source */

/* The pattern restarts in each row. After eight bytes, what is there doubles. */
static void read_pattern(const struct t3_queue *q, uint8_t *to, uint32_t bytes)
{
	uint32_t i, more;

	for (i = 0; i < bytes && i < 8; i++)
		to[i] = (uint8_t)(q->desc.src >> (q->col + i) % 8 * 8);
	for (; i < bytes; i += more) {
		more = i < bytes - i ? i : bytes - i;
		memcpy(to + i, to, more);
	}
}

/* If true, the use is counted and latched, and `detail` is the first poisoned byte. */
static bool poisoned(struct t3_dev *dev, uint64_t at, uint32_t bytes, uint64_t *detail)
{
	if (!t3_poisoned(dev, at, bytes, detail))
		return false;
	t3_poison_report(dev, *detail);
	return true;
}

static uint32_t read_source(struct t3_queue *q, uint8_t *to, uint32_t bytes, uint64_t *detail)
{
	struct t3_dev *dev = q->dev;
	uint64_t at = src_of(q);

	if (q->desc.opcode == T3_DESC_FILL) {
		read_pattern(q, to, bytes);
	} else if (q->desc.src_kind == T3_LOC_HOST) {
		*detail = at;
		if (!t3_host_read(dev, at, to, bytes))
			return T3_DESC_HOST_DMA;
	} else {
		if (poisoned(dev, at, bytes, detail))
			return T3_DESC_POISON;
		memcpy(to, t3_mem_read(dev, at, bytes), bytes);
	}
	return T3_DESC_OK;
}

/* ------------------------------------------------------------- destination */

static uint32_t update(struct t3_queue *q, const uint8_t *data, uint32_t bytes, uint64_t *detail)
{
	const struct t3_descriptor *d = &q->desc;
	struct t3_dev *dev = q->dev;
	uint64_t at = dst_of(q);

	if (poisoned(dev, at, bytes, detail))
		return T3_DESC_POISON;
	if (d->op != T3_OP_STORE)
		dev->counter[T3_COUNTER_NMC_ELEMENTS] += bytes / t3_dtype_size(d->dtype);
	t3_nmc_apply(d->dtype, d->op, t3_mem_read(dev, at, bytes), data, bytes);
	t3_mem_written(dev, at, bytes);
	return T3_DESC_OK;
}

static uint32_t write_destination(struct t3_queue *q, const uint8_t *data, uint32_t bytes,
				  uint64_t *detail)
{
	struct t3_dev *dev = q->dev;
	uint64_t at = dst_of(q);

	if (q->desc.opcode == T3_DESC_UPDATE)
		return update(q, data, bytes, detail);
	if (q->desc.dst_kind == T3_LOC_HOST) {
		*detail = at;
		return t3_host_write(dev, at, data, bytes) ? T3_DESC_OK : T3_DESC_HOST_DMA;
	}
	if (poisoned(dev, at, bytes, detail))
		return T3_DESC_POISON;
	memcpy(t3_mem_write(dev, at, bytes), data, bytes);
	t3_mem_written(dev, at, bytes);
	return T3_DESC_OK;
}

/* ------------------------------------------------------------------- space */

/* May the queue store into its descriptor's space? */
uint32_t t3_move_space(const struct t3_queue *q, uint64_t *detail)
{
	const struct t3_descriptor *d = &q->desc;
	const struct t3_space *space;

	*detail = T3_SPACE_FREE;
	if (d->space >= T3_MAX_SPACES)
		return T3_DESC_SPACE;
	space = &t3_spaces(q->dev)->space[d->space];
	*detail = space->state;
	if (space->state != T3_SPACE_ARMED ||
	    d->generation != t3_spaces(q->dev)->generation[d->space])
		return T3_DESC_SPACE;
	*detail = 0;
	return T3_DESC_OK;
}

static struct t3_link *link_of(const struct t3_segment *segment, uint32_t route)
{
	return segment->space->route[route].link;
}

/* Do the links of all routes have room? Routes may share a link. */
static bool has_credit(struct t3_queue *q, const struct t3_segment *segment)
{
	uint32_t left, route;

	for (left = segment->routes; left; left &= left - 1) {
		route = (uint32_t)__builtin_ctz(left);
		if (!t3_credit_take(q, link_of(segment, route),
				    t3_block_routes_on_link(segment, route)))
			return false;
	}
	t3_fabric_charge(q->dev->fabric, 0,
			 (uint32_t)__builtin_popcount(segment->routes) * T3_PACKET_WORK);
	return true;
}

/* A GEMM's output has a type, which must be the segment's. A copy has none. */
static bool fits_segment(const struct t3_descriptor *d, const struct t3_segment *segment)
{
	return d->opcode != T3_DESC_GEMM || d->dtype == segment->dtype;
}

uint32_t t3_move_place(struct t3_queue *q, uint64_t offset, uint32_t bytes, struct t3_store *store,
		       uint64_t *detail)
{
	uint32_t status = t3_move_space(q, detail);

	if (status != T3_DESC_OK)
		return status;
	*detail = t3_store_place(&t3_spaces(q->dev)->space[q->desc.space], offset, bytes, store);
	if (*detail != T3_FAULT_NONE)
		return T3_DESC_FAULT;
	if (!fits_segment(&q->desc, store->segment)) {
		*detail = store->segment->index;
		return T3_DESC_DTYPE;
	}
	if (store->segment->kind == T3_SEG_REMOTE && !has_credit(q, store->segment))
		store->bytes = 0;
	else
		t3_fabric_charge(q->dev->fabric, 0, T3_STORE_WORK);
	return T3_DESC_OK;
}

/* Stores like the CPU, but waits for room on the links. */
static uint32_t produce(struct t3_queue *q, uint8_t *data, uint32_t *bytes, uint64_t *detail)
{
	struct t3_store store;
	uint32_t status = t3_move_place(q, dst_of(q), *bytes, &store, detail);

	*bytes = 0;
	if (status != T3_DESC_OK || !store.bytes)
		return status;
	status = read_source(q, data, store.bytes, detail);
	if (status != T3_DESC_OK)
		return status;
	*detail = t3_store_commit(&store, data);
	if (*detail != T3_FAULT_NONE)
		return T3_DESC_FAULT;
	*bytes = store.bytes;
	return T3_DESC_OK;
}

/* `bytes`: the number of bytes moved; 0 with status OK: the queue sleeps. */
uint32_t t3_move_piece(struct t3_queue *q, uint32_t *bytes, uint64_t *detail)
{
	uint8_t *data = t3_queues(q->dev)->bounce;
	uint32_t left = q->desc.row_bytes - q->col, status;

	*bytes = left < T3_ENGINE_PIECE ? left : T3_ENGINE_PIECE;
	if (q->desc.dst_kind == T3_LOC_SPACE) {
		status = produce(q, data, bytes, detail);
	} else {
		status = read_source(q, data, *bytes, detail);
		if (status == T3_DESC_OK)
			status = write_destination(q, data, *bytes, detail);
	}
	t3_fabric_charge(q->dev->fabric, 0, t3_cost_move(&q->desc, *bytes));
	return status;
}
