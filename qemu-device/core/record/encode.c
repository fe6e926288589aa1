/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes the parts of a record: tags, numbers, addresses. SPEC.md section 14.1. */
#include "record/record_private.h"

void t3_rec_byte(struct t3_recorder *r, uint8_t byte)
{
	r->buffer[r->fill++] = byte;
}

void t3_rec_number(struct t3_recorder *r, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		t3_rec_byte(r, (uint8_t)(value | 0x80));
	t3_rec_byte(r, (uint8_t)value);
}

void t3_rec_bytes(struct t3_recorder *r, const void *data, uint32_t len)
{
	memcpy(r->buffer + r->fill, data, len);
	r->fill += len;
}

void t3_rec_flush(struct t3_recorder *r)
{
	r->emit(r->opaque, r->buffer, r->fill);
	r->fill = 0;
}

void t3_rec_tag(struct t3_recorder *r, uint32_t type, uint32_t flags)
{
	t3_rec_byte(r, (uint8_t)(type << T3_REC_TYPE_SHIFT | flags));
}

void t3_rec_device(struct t3_port *port, uint32_t type, uint32_t flags)
{
	struct t3_recorder *r = port->recorder;

	if (r->context.slot == port->slot) {
		t3_rec_tag(r, type, flags);
		return;
	}
	r->context.slot = port->slot;
	t3_rec_tag(r, type, flags | T3_REC_DEVICE);
	t3_rec_number(r, port->slot);
}

void t3_rec_address(struct t3_port *port, enum t3_record_address kind, uint64_t address)
{
	uint64_t *last = &port->recorder->context.last[port->slot][kind];
	uint64_t delta = address - *last;

	*last = address;
	t3_rec_number(port->recorder, delta << 1 ^ -(delta >> 63));
}
