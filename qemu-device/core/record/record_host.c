/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records callbacks and reads of device memory. SPEC.md section 14. It replaces the host's
 * callbacks and passes each one on, so that the rest of the core needs no code for it.
 */
#include "record/record_private.h"

/* --------------------------------------------------------------- callbacks */

static bool dma_read(void *opaque, uint64_t addr, void *buf, size_t len)
{
	struct t3_port *port = opaque;
	struct t3_recorder *r = port->recorder;
	bool good = port->ops.dma_read(port->opaque, addr, buf, len);

	t3_rec_device(port, T3_REC_DMA_READ, good ? 0 : T3_REC_FAILED);
	t3_rec_address(port, T3_REC_AT_DMA, addr);
	t3_rec_number(r, len);
	t3_rec_flush(r);
	if (good)
		r->emit(r->opaque, buf, len);
	return good;
}

static bool dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	struct t3_port *port = opaque;
	struct t3_recorder *r = port->recorder;
	bool good = port->ops.dma_write(port->opaque, addr, buf, len);
	uint64_t hash;

	t3_rec_device(port, T3_REC_DMA_WRITE, good ? 0 : T3_REC_FAILED);
	t3_rec_address(port, T3_REC_AT_DMA, addr);
	t3_rec_number(r, len);
	if (len <= T3_REC_DMA_PLAIN) {
		t3_rec_bytes(r, buf, (uint32_t)len);
	} else {
		hash = t3_record_hash(0, buf, len);
		t3_rec_bytes(r, &hash, sizeof(hash));
	}
	t3_rec_flush(r);
	return good;
}

static void irq(void *opaque, uint32_t vector)
{
	struct t3_port *port = opaque;

	t3_rec_device(port, T3_REC_IRQ, 0);
	t3_rec_number(port->recorder, vector);
	t3_rec_flush(port->recorder);
	port->ops.irq(port->opaque, vector);
}

static void dirty(void *opaque, uint64_t offset, uint64_t len)
{
	struct t3_port *port = opaque;

	if (port->ops.dirty)
		port->ops.dirty(port->opaque, offset, len);
}

static void guest_error(void *opaque, const char *what)
{
	struct t3_port *port = opaque;

	if (port->ops.guest_error)
		port->ops.guest_error(port->opaque, what);
}

static void trace_state(void *opaque, uint32_t space, uint32_t from, uint32_t to, uint32_t epoch)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_state)
		port->ops.trace_state(port->opaque, space, from, to, epoch);
}

static void trace_fault(void *opaque, uint32_t space, const struct t3_fault_record *record)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_fault)
		port->ops.trace_fault(port->opaque, space, record);
}

static void trace_trigger(void *opaque, uint32_t space, uint32_t segment, uint32_t tile)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_trigger)
		port->ops.trace_trigger(port->opaque, space, segment, tile);
}

static void trace_queue(void *opaque, uint32_t queue, uint32_t from, uint32_t to)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_queue)
		port->ops.trace_queue(port->opaque, queue, from, to);
}

static void trace_descriptor(void *opaque, uint32_t queue, uint32_t index, uint32_t opcode,
			     uint32_t status)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_descriptor)
		port->ops.trace_descriptor(port->opaque, queue, index, opcode, status);
}

static void trace_block(void *opaque, uint32_t space, uint32_t segment, uint32_t tile, bool sent)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_block)
		port->ops.trace_block(port->opaque, space, segment, tile, sent);
}

static void trace_timeout(void *opaque, uint32_t peer, uint32_t packets, bool given_up)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_timeout)
		port->ops.trace_timeout(port->opaque, peer, packets, given_up);
}

static void trace_link(void *opaque, uint32_t peer, bool down)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_link)
		port->ops.trace_link(port->opaque, peer, down);
}

static void trace_accident(void *opaque, uint32_t peer, uint32_t kind, uint64_t sequence)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_accident)
		port->ops.trace_accident(port->opaque, peer, kind, sequence);
}

static void trace_loss(void *opaque, uint32_t peer)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_loss)
		port->ops.trace_loss(port->opaque, peer);
}

static void trace_nak(void *opaque, const struct t3_packet *packet, uint32_t nak)
{
	struct t3_port *port = opaque;

	if (port->ops.trace_nak)
		port->ops.trace_nak(port->opaque, packet, nak);
}

static const struct t3_host_ops port_ops = {
	.dma_read = dma_read,
	.dma_write = dma_write,
	.irq = irq,
	.dirty = dirty,
	.guest_error = guest_error,
	.trace_state = trace_state,
	.trace_fault = trace_fault,
	.trace_trigger = trace_trigger,
	.trace_queue = trace_queue,
	.trace_descriptor = trace_descriptor,
	.trace_block = trace_block,
	.trace_timeout = trace_timeout,
	.trace_link = trace_link,
	.trace_accident = trace_accident,
	.trace_loss = trace_loss,
	.trace_nak = trace_nak,
};

_Static_assert(sizeof(struct t3_host_ops) == 16 * sizeof(void (*)(void)),
	       "a new callback has to be passed on here");

static void kick(void *opaque)
{
	struct t3_recorder *r = opaque;

	t3_rec_tag(r, T3_REC_KICK, 0);
	t3_rec_flush(r);
	r->fabric_ops.kick(r->fabric_opaque);
}

/* No threads: events that end when a slice is done could not be replayed. */
static const struct t3_fabric_ops fabric_ops = {
	.kick = kick,
};

_Static_assert(sizeof(struct t3_fabric_ops) == 3 * sizeof(void (*)(void)),
	       "a new callback has to be passed on here");

/* ----------------------------------------------------------- device memory */

#define GAP 16u /* equal bytes that end a run; a new record's head takes about half as many */

static uint64_t equal_bytes(const uint8_t *a, const uint8_t *b, uint64_t len)
{
	uint64_t i = 0;

	while (len - i >= 64 && !memcmp(a + i, b + i, 64))
		i += 64;
	while (i < len && a[i] == b[i])
		i++;
	return i;
}

/* The length of a run of changed bytes, which GAP equal bytes end. The first byte differs. */
static uint64_t changed_bytes(const uint8_t *a, const uint8_t *b, uint64_t len)
{
	uint64_t n = 1;

	while (n < len) {
		uint64_t look = len - n < GAP ? len - n : GAP;
		uint64_t equal = equal_bytes(a + n, b + n, look);

		if (equal == look)
			break;
		n += equal + 1;
	}
	return n;
}

static void report_memory(struct t3_port *port, uint64_t offset, uint64_t len)
{
	struct t3_recorder *r = port->recorder;

	memcpy(port->shadow + offset, port->dev->mem.host + offset, len);
	t3_rec_device(port, T3_REC_MEMORY, 0);
	t3_rec_number(r, r->context.fetches);
	r->context.fetches = 0;
	t3_rec_address(port, T3_REC_AT_MEMORY, offset);
	t3_rec_number(r, len);
	t3_rec_flush(r);
	r->emit(r->opaque, port->shadow + offset, len);
}

static void fetch(void *opaque, uint64_t offset, uint64_t len)
{
	struct t3_port *port = opaque;
	const uint8_t *host = port->dev->mem.host;
	uint64_t equal, changed;

	port->recorder->context.fetches++;
	for (;;) {
		equal = equal_bytes(host + offset, port->shadow + offset, len);
		if (equal == len)
			return;
		offset += equal;
		len -= equal;
		changed = changed_bytes(host + offset, port->shadow + offset, len);
		report_memory(port, offset, changed);
		offset += changed;
		len -= changed;
	}
}

static void stored(void *opaque, uint64_t offset, uint64_t len)
{
	struct t3_port *port = opaque;

	memcpy(port->dev->mem.host + offset, port->shadow + offset, len);
	t3_record_hash_memory(&port->recorder->context, port->slot, offset, port->shadow + offset,
			      len);
}

static const struct t3_mem_watch watch = {
	.fetch = fetch,
	.stored = stored,
};

/* ------------------------------------------------------------------- hooks */

void t3_record_hook(struct t3_port *port)
{
	struct t3_dev *dev = port->dev;

	port->ops = dev->ops;
	port->opaque = dev->opaque;
	dev->ops = port_ops;
	dev->opaque = port;
	dev->mem.view = port->shadow;
	t3_dev_watch(dev, &watch, port);
	dev->port = port;
}

void t3_record_unhook(struct t3_port *port)
{
	struct t3_dev *dev = port->dev;

	dev->ops = port->ops;
	dev->opaque = port->opaque;
	dev->mem.view = dev->mem.host;
	t3_dev_watch(dev, NULL, NULL);
	dev->port = NULL;
}

void t3_record_hook_fabric(struct t3_recorder *r)
{
	struct t3_fabric *fabric = r->fabric;

	r->fabric_ops = fabric->ops;
	r->fabric_opaque = fabric->opaque;
	fabric->ops = fabric_ops;
	fabric->opaque = r;
	fabric->recorder = r;
}

void t3_record_unhook_fabric(struct t3_recorder *r)
{
	struct t3_fabric *fabric = r->fabric;

	fabric->ops = r->fabric_ops;
	fabric->opaque = r->fabric_opaque;
	fabric->recorder = NULL;
}
