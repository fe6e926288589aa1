/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorder: entries, checks, and the devices of a record. SPEC.md section 14. */
#include "record/record_private.h"

/* ----------------------------------------------------------------- entries */

void t3_record_access(struct t3_port *port, uint32_t type, uint64_t offset, uint64_t value,
		      uint32_t size)
{
	bool regs = type == T3_REC_REGS_READ || type == T3_REC_REGS_WRITE;
	bool write = type == T3_REC_REGS_WRITE || type == T3_REC_APERTURE_WRITE;

	t3_rec_device(port, type, (uint32_t)__builtin_ctz(size) << T3_REC_SIZE_SHIFT);
	t3_rec_address(port, regs ? T3_REC_AT_REGS : T3_REC_AT_APERTURE, offset);
	if (write)
		t3_rec_bytes(port->recorder, &value, size);
	t3_rec_flush(port->recorder);
}

void t3_record_device(struct t3_port *port, uint32_t type)
{
	t3_rec_device(port, type, 0);
	t3_rec_flush(port->recorder);
}

void t3_record_fabric(struct t3_recorder *r, uint32_t type, uint64_t value)
{
	t3_rec_tag(r, type, 0);
	t3_rec_number(r, value);
	t3_rec_flush(r);
}

void t3_record_inject(struct t3_recorder *r, const struct t3_cmd_inject *inject)
{
	t3_rec_tag(r, T3_REC_INJECT, 0);
	t3_rec_bytes(r, inject, sizeof(*inject));
	t3_rec_flush(r);
}

/* Writes `size` bytes of the call's result, then the fabric's clock and the hash. */
void t3_record_end(struct t3_recorder *r, uint64_t value, uint32_t size)
{
	struct t3_record_context *context = &r->context;
	const struct t3_fabric *fabric = r->fabric;
	uint16_t check = t3_record_check(context->hash);
	uint32_t flags = 0;

	if (fabric->clock.now != context->now || fabric->clock.heap.seq != context->seq)
		flags |= T3_REC_TIME;
	if (context->hash != context->told)
		flags |= T3_REC_HASH;
	t3_rec_tag(r, T3_REC_END, flags);
	t3_rec_bytes(r, &value, size);
	if (flags & T3_REC_TIME) {
		t3_rec_number(r, fabric->clock.now - context->now);
		t3_rec_number(r, fabric->clock.heap.seq - context->seq);
	}
	if (flags & T3_REC_HASH)
		t3_rec_bytes(r, &check, sizeof(check));
	context->now = fabric->clock.now;
	context->seq = fabric->clock.heap.seq;
	context->told = context->hash;
	t3_rec_flush(r);
}

void t3_record_port_end(struct t3_port *port, uint64_t value, uint32_t size)
{
	t3_record_end(port->recorder, value, size);
}

/* ----------------------------------------------------------------- devices */

static struct t3_port *free_port(struct t3_recorder *r)
{
	uint32_t i;

	for (i = 0; i < T3_RECORD_SLOTS; i++)
		if (!r->port[i].dev)
			return &r->port[i];
	return NULL;
}

static void announce(struct t3_port *port)
{
	const struct t3_dev_config *config = &port->dev->config;
	struct t3_recorder *r = port->recorder;

	memset(r->context.last[port->slot], 0, sizeof(r->context.last[port->slot]));
	t3_rec_device(port, T3_REC_NEW, 0);
	t3_rec_number(r, config->memory_size);
	t3_rec_number(r, config->aperture_size);
	t3_rec_number(r, config->tracker_entries);
	t3_rec_number(r, config->tracker_ways);
	t3_rec_number(r, config->guest_inject);
	t3_rec_number(r, config->keys);
	t3_rec_number(r, config->reset_generations);
	t3_rec_number(r, config->without_caps);
	t3_rec_flush(r);
	t3_record_end(r, 0, 0);
}

/* Gives a device a port before it is attached. It keeps the port until it is freed. */
bool t3_record_adopt(struct t3_dev *dev, struct t3_fabric *fabric)
{
	struct t3_port *port;

	if (dev->port && dev->port->recorder != fabric->recorder)
		t3_record_drop(dev);
	if (dev->port || !fabric->recorder)
		return true;
	port = free_port(fabric->recorder);
	if (!port)
		return false;
	/* A replay's memory starts with zeros, too. Bytes that differ are recorded when read. */
	port->shadow = calloc(1, dev->config.memory_size);
	if (!port->shadow)
		return false;
	port->dev = dev;
	t3_record_hook(port);
	announce(port);
	return true;
}

void t3_record_attach(struct t3_port *port, uint32_t rank)
{
	t3_rec_device(port, T3_REC_ATTACH, 0);
	t3_rec_number(port->recorder, rank);
	t3_rec_flush(port->recorder);
}

static void drop_port(struct t3_port *port)
{
	t3_record_unhook(port);
	free(port->shadow);
	port->shadow = NULL;
	port->dev = NULL;
}

void t3_record_drop(struct t3_dev *dev)
{
	struct t3_port *port = dev->port;

	if (!port)
		return;
	t3_record_device(port, T3_REC_FREE);
	t3_record_end(port->recorder, 0, 0);
	drop_port(port);
}

/* -------------------------------------------------------------- start, stop */

static void header(struct t3_recorder *r)
{
	const struct t3_fabric *fabric = r->fabric;

	t3_rec_bytes(r, T3_RECORD_MAGIC, sizeof(T3_RECORD_MAGIC) - 1);
	t3_rec_number(r, T3_RECORD_VERSION);
	t3_rec_number(r, fabric->config.topology);
	t3_rec_number(r, fabric->config.ranks);
	t3_rec_number(r, fabric->config.id);
	t3_rec_number(r, fabric->config.timed);
	t3_rec_number(r, fabric->inline_budget);
	if (fabric->config.topology == T3_TOPOLOGY_SWITCH)
		t3_rec_number(r, fabric->config.switch_entries);
	t3_rec_flush(r);
}

bool t3_fabric_record(struct t3_fabric *fabric, t3_record_emit *emit, void *opaque)
{
	struct t3_recorder *r;
	uint32_t i;

	for (i = 0; i < T3_MAX_RANKS; i++)
		if (fabric->dev[i])
			return false;
	if (fabric->recorder || fabric->config.remote || fabric->clock.now ||
	    fabric->clock.heap.seq)
		return false;
	r = calloc(1, sizeof(*r));
	if (!r)
		return false;
	r->fabric = fabric;
	r->emit = emit;
	r->opaque = opaque;
	r->context.slot = T3_NONE32;
	for (i = 0; i < T3_RECORD_SLOTS; i++) {
		r->port[i].recorder = r;
		r->port[i].slot = i;
	}
	t3_record_hook_fabric(r);
	header(r);
	return true;
}

void t3_fabric_record_stop(struct t3_fabric *fabric)
{
	struct t3_recorder *r = fabric->recorder;
	uint32_t i;

	if (!r)
		return;
	t3_rec_tag(r, T3_REC_CLOSE, 0);
	t3_rec_flush(r);
	for (i = 0; i < T3_RECORD_SLOTS; i++)
		if (r->port[i].dev)
			drop_port(&r->port[i]);
	t3_record_unhook_fabric(r);
	free(r);
}

bool t3_fabric_recording(const struct t3_fabric *fabric)
{
	return fabric->recorder;
}

uint64_t t3_fabric_event_number(const struct t3_fabric *fabric)
{
	return fabric->clock.heap.seq;
}
