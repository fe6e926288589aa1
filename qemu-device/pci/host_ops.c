/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The callbacks of the core: interrupts, dirty marks, log, traces. dma.c has guest memory. */
#include "qemu/osdep.h"
#include "qemu/log.h"
#include "exec/ramlist.h"
#include "fabric/interrupts.h"
#include "pci/dma.h"
#include "pci/host_ops.h"
#include "pci/pci.h"
#include "trace.h"

static void host_irq(void *opaque, uint32_t vector)
{
	T3State *s = opaque;

	t3_port_raise(&s->port, vector);
}

/* Marks RAM that the core changed as dirty. Otherwise migration would miss the change. */
static void host_dirty(void *opaque, uint64_t offset, uint64_t len)
{
	T3State *s = opaque;

	/* Every store comes here, so the usual case is tested first. */
	if (!global_dirty_tracking && !s->memory.dirty_log_mask)
		return;
	if (memory_region_get_dirty_log_mask(&s->memory) & ~BIT(DIRTY_MEMORY_CODE))
		memory_region_set_dirty(&s->memory, offset, len);
}

static void host_guest_error(void *opaque, const char *what)
{
	T3State *s = opaque;

	qemu_log_mask(LOG_GUEST_ERROR, "t3: rank %" PRIu32 ": %s\n", s->port.rank, what);
}

static void host_trace_state(void *opaque, uint32_t space, uint32_t from, uint32_t to,
			     uint32_t epoch)
{
	T3State *s = opaque;

	trace_t3_space_state(s->port.rank, space, t3_name_space_state(from),
			     t3_name_space_state(to), epoch);
}

static void host_trace_fault(void *opaque, uint32_t space, const struct t3_fault_record *record)
{
	T3State *s = opaque;

	trace_t3_space_fault(s->port.rank, space, t3_name_fault(record->kind), record->detail,
			     record->segment, record->tile, record->offset, record->epoch,
			     record->src_rank, record->vtime);
}

static void host_trace_trigger(void *opaque, uint32_t space, uint32_t segment, uint32_t tile)
{
	T3State *s = opaque;

	trace_t3_trigger(s->port.rank, space, segment, tile);
}

static void host_trace_queue(void *opaque, uint32_t queue, uint32_t from, uint32_t to)
{
	T3State *s = opaque;

	trace_t3_queue_state(s->port.rank, queue, t3_name_queue_state(from),
			     t3_name_queue_state(to));
}

static void host_trace_descriptor(void *opaque, uint32_t queue, uint32_t index, uint32_t opcode,
				  uint32_t status)
{
	T3State *s = opaque;

	trace_t3_descriptor(s->port.rank, queue, index, t3_name_opcode(opcode),
			    t3_name_descriptor_status(status));
}

static void host_trace_block(void *opaque, uint32_t space, uint32_t segment, uint32_t tile,
			     bool sent)
{
	T3State *s = opaque;

	if (sent)
		trace_t3_block_sent(s->port.rank, space, segment, tile);
	else
		trace_t3_block_started(s->port.rank, space, segment, tile);
}

static void host_trace_timeout(void *opaque, uint32_t peer, uint32_t packets, bool given_up)
{
	T3State *s = opaque;

	if (given_up)
		trace_t3_link_given_up(s->port.rank, peer, packets);
	else
		trace_t3_link_resent(s->port.rank, peer, packets);
}

static void host_trace_link(void *opaque, uint32_t peer, bool down)
{
	T3State *s = opaque;

	trace_t3_link_state(s->port.rank, peer, down ? "down" : "up");
}

static void host_trace_accident(void *opaque, uint32_t peer, uint32_t kind, uint64_t sequence)
{
	T3State *s = opaque;

	trace_t3_link_accident(s->port.rank, peer, t3_name_inject(kind), sequence);
}

static void host_trace_loss(void *opaque, uint32_t peer)
{
	T3State *s = opaque;

	trace_t3_peer_lost(s->port.rank, peer);
}

static void host_trace_nak(void *opaque, const struct t3_packet *packet, uint32_t nak)
{
	T3State *s = opaque;

	trace_t3_nak(s->port.rank, packet->dst_space, t3_name_packet(packet->type),
		     t3_name_nak(nak), packet->src_rank, packet->src_space, packet->epoch);
}

const struct t3_host_ops t3_pci_host_ops = {
	.dma_read = t3_dma_read,
	.dma_write = t3_dma_write,
	.irq = host_irq,
	.dirty = host_dirty,
	.guest_error = host_guest_error,
	.trace_state = host_trace_state,
	.trace_fault = host_trace_fault,
	.trace_trigger = host_trace_trigger,
	.trace_queue = host_trace_queue,
	.trace_descriptor = host_trace_descriptor,
	.trace_block = host_trace_block,
	.trace_timeout = host_trace_timeout,
	.trace_link = host_trace_link,
	.trace_accident = host_trace_accident,
	.trace_loss = host_trace_loss,
	.trace_nak = host_trace_nak,
};
