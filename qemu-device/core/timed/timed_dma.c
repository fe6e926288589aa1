/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Triggered DMA: reads complete blocks and sends them to the next device, or to all by a switch.
 * SPEC.md section 8.1. At the next device the chunk has the next position. Reads run ahead of the
 * link by a bounded number of pieces.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

static uint32_t blocks(const struct timed_shape *s)
{
	return s->tiles * s->tile_blocks;
}

/* The number of pieces of a block that exist. */
static uint8_t size_of(const struct timed_shape *s, uint32_t block)
{
	uint32_t in_tile = block % s->tile_blocks * s->block_pieces, i;
	uint32_t first = block / s->tile_blocks * s->tile_pieces + in_tile;
	uint8_t count = 0;

	for (i = 0; i < s->block_pieces && in_tile + i < s->tile_pieces; i++)
		count += timed_shape_piece_bytes(s, first + i) != 0;
	return count;
}

bool timed_dma_init(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_dma *dma = &d->dma;
	uint32_t i;

	dma->size = 2 * blocks(s);
	dma->ready = calloc((size_t)dma->size + 1, sizeof(dma->ready[0]));
	dma->left = calloc((size_t)blocks(s) + 1, sizeof(dma->left[0]));
	if (!dma->ready || !dma->left)
		return false;
	for (i = 0; i < blocks(s); i++)
		dma->left[i] = size_of(s, i);
	return true;
}

static uint32_t block_of(const struct timed_shape *s, uint32_t piece)
{
	return piece / s->tile_pieces * s->tile_blocks + piece % s->tile_pieces / s->block_pieces;
}

void timed_dma_piece_complete(struct timed_device *d, uint32_t piece, bool gather)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_dma *dma = &d->dma;
	uint32_t block = block_of(s, piece), at;

	if (--dma->left[block])
		return;
	dma->left[block] = size_of(s, block); /* an all-gather counts the block again */
	at = dma->head + dma->count++;
	dma->ready[at < dma->size ? at : at - dma->size] = block | (gather ? TIMED_DMA_GATHER : 0);
	d->counters.triggers++;
	timed_span(d, T3_TIMED_TRACK_TRIGGER, gather ? "trigger all-gather" : "trigger", block,
		   d->sim->now);
	timed_dma_pump(d);
}

static void read_piece(struct timed_device *d, uint32_t piece, bool gather)
{
	struct timed_request request = { .number = piece, .owner = TIMED_OWNER_DMA };

	request.bytes = timed_shape_piece_bytes(timed_shape(d), piece);
	request.kind = gather ? T3_TIMED_AG_READ : T3_TIMED_RS_READ;
	if (!request.bytes)
		return;
	d->dma.flying++;
	timed_memory_add(d, TIMED_COMMUNICATION, &request);
}

void timed_dma_pump(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_dma *dma = &d->dma;

	while (dma->count && dma->flying < s->read_ahead) {
		uint32_t block = dma->ready[dma->head] & ~TIMED_DMA_GATHER;
		uint32_t in_tile = block % s->tile_blocks * s->block_pieces + dma->part++;
		bool gather = dma->ready[dma->head] & TIMED_DMA_GATHER;

		read_piece(d, block / s->tile_blocks * s->tile_pieces + in_tile, gather);
		if (dma->part < s->block_pieces && in_tile + 1 < s->tile_pieces)
			continue;
		dma->part = 0;
		dma->head = dma->head + 1 < dma->size ? dma->head + 1 : 0;
		dma->count--;
	}
}

/* The piece's number at the next device, where its chunk has the next position. */
static uint32_t at_receiver(const struct timed_shape *s, uint32_t piece)
{
	uint32_t number = piece + s->chunk_tiles * s->tile_pieces;

	return number < s->pieces ? number : number - s->pieces;
}

void timed_dma_read(struct timed_device *d, const struct timed_request *request)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_message message = { .bytes = request->bytes, .distance = 1 };
	bool gather = request->kind == T3_TIMED_AG_READ;

	message.time = d->sim->now + timed_params(d)->memory_latency_ns * TIMED_NS;
	message.piece = at_receiver(s, request->number);
	message.kind = gather ? TIMED_MESSAGE_GATHER : TIMED_MESSAGE_UPDATE;
	if (timed_switched(d->sim))
		message.distance = TIMED_TO_ALL;
	message.sender = TIMED_SENDER_DMA;
	timed_link_send(d, &message);
}

void timed_dma_sent(struct timed_device *d)
{
	d->dma.flying--;
	timed_dma_pump(d);
	d->sim->ops->progress(d);
}
