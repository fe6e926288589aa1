/* SPDX-License-Identifier: MIT */
/* The core's trace callbacks, which check their arguments and count the calls. */
#include "trace.h"
#include "trail.h"

void host_trace_state(void *opaque, uint32_t space, uint32_t from, uint32_t to, uint32_t epoch)
{
	TRAIL(1, space, from, to, epoch);
	(void)opaque;
	(void)epoch;
	assert_true(space < T3_MAX_SPACES);
	assert_true(from < T3_SPACE_DEAD && to < T3_SPACE_DEAD);
}

void host_trace_fault(void *opaque, uint32_t space, const struct t3_fault_record *record)
{
	TRAIL(2, space, record->kind);
	(void)opaque;
	assert_true(space < T3_MAX_SPACES);
	assert_true(record->kind >= T3_FAULT_UNMAPPED && record->kind <= T3_FAULT_POISON);
}

void host_trace_trigger(void *opaque, uint32_t space, uint32_t segment, uint32_t tile)
{
	struct host_dev *d = opaque;

	TRAIL(3, space, segment, tile);
	(void)tile;
	assert_true(space < T3_MAX_SPACES && segment < T3_SPACE_SEGMENTS);
	d->triggers++;
}

void host_trace_queue(void *opaque, uint32_t queue, uint32_t from, uint32_t to)
{
	TRAIL(4, queue, from, to);
	(void)opaque;
	assert_true(queue < T3_MAX_QUEUES && from <= T3_QUEUE_ERROR && to <= T3_QUEUE_ERROR);
	assert_int_not_equal(from, to);
}

void host_trace_descriptor(void *opaque, uint32_t queue, uint32_t index, uint32_t opcode,
			   uint32_t status)
{
	struct host_dev *d = opaque;

	TRAIL(5, queue, index, opcode, status);
	(void)opcode;
	assert_true(queue < T3_MAX_QUEUES && status <= T3_DESC_GANG && status != T3_DESC_OVERRUN);
	d->completed[status]++;
	d->last_completed = index;
}

void host_trace_block(void *opaque, uint32_t space, uint32_t segment, uint32_t tile, bool sent)
{
	struct host_dev *d = opaque;

	TRAIL(6, space, segment, tile, sent);
	assert_true(space < T3_MAX_SPACES && segment < T3_SPACE_SEGMENTS);
	assert_int_not_equal(tile, T3_TILE_NONE);
	if (sent)
		d->traced.blocks_sent++;
	else
		d->traced.blocks_started++;
}

void host_trace_timeout(void *opaque, uint32_t peer, uint32_t packets, bool given_up)
{
	struct host_dev *d = opaque;

	TRAIL(7, peer, packets, given_up);
	assert_true(peer <= T3_SWITCH_RANK && packets);
	if (given_up)
		d->traced.given_up += packets;
	else
		d->traced.resent += packets;
}

void host_trace_link(void *opaque, uint32_t peer, bool down)
{
	struct host_dev *d = opaque;

	TRAIL(8, peer, down);
	assert_true(peer <= T3_SWITCH_RANK);
	if (down)
		d->traced.links_down++;
	else
		d->traced.links_up++;
}

void host_trace_accident(void *opaque, uint32_t peer, uint32_t kind, uint64_t sequence)
{
	struct host_dev *d = opaque;

	TRAIL(9, peer, kind, sequence);
	assert_true(peer <= T3_SWITCH_RANK && peer != d->rank);
	assert_true(kind && kind <= T3_INJECT_LINK_DOWN);
	d->traced.accidents[kind]++;
	d->traced.last_accident = sequence;
}

void host_trace_loss(void *opaque, uint32_t peer)
{
	struct host_dev *d = opaque;

	TRAIL(10, peer);
	assert_true(peer <= T3_SWITCH_RANK && peer != d->rank);
	d->traced.losses++;
}

void host_trace_nak(void *opaque, const struct t3_packet *packet, uint32_t nak)
{
	struct host_dev *d = opaque;

	TRAIL(11, packet->src_rank, nak);
	assert_int_equal(packet->dst_rank, d->rank);
	assert_true(nak > T3_NAK_NONE && nak <= T3_NAK_KEY_LIMIT);
	d->traced.naks++;
	d->traced.last_nak = nak;
}
