/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the files of record/: record.c writes entries, record_host.c the
 * callbacks within them, and encode.c the bytes of both. SPEC.md section 14.
 */
#ifndef T3_CORE_RECORD_PRIVATE_H
#define T3_CORE_RECORD_PRIVATE_H

#include "record/record.h"

/* The most bytes of a record without its data. */
#define T3_RECORD_LONGEST 80u

struct t3_port {
	struct t3_recorder *recorder;
	struct t3_dev *dev; /* NULL: free */
	uint32_t slot;
	/*
	 * The device memory of a replay. The core works on it during a record. So the core sees
	 * exactly the recorded bytes, even if the CPU writes the real memory at the same time.
	 */
	uint8_t *shadow;
	struct t3_host_ops ops; /* the host's */
	void *opaque;
};

struct t3_recorder {
	struct t3_fabric *fabric;
	t3_record_emit *emit;
	void *opaque;
	struct t3_fabric_ops fabric_ops; /* the host's */
	void *fabric_opaque;
	struct t3_record_context context;
	uint32_t fill;
	uint8_t buffer[T3_RECORD_LONGEST];
	struct t3_port port[T3_RECORD_SLOTS];
};

void t3_rec_byte(struct t3_recorder *r, uint8_t byte);
void t3_rec_number(struct t3_recorder *r, uint64_t value);
void t3_rec_bytes(struct t3_recorder *r, const void *data, uint32_t len);
void t3_rec_flush(struct t3_recorder *r);
void t3_rec_tag(struct t3_recorder *r, uint32_t type, uint32_t flags);
void t3_rec_device(struct t3_port *port, uint32_t type, uint32_t flags);
void t3_rec_address(struct t3_port *port, enum t3_record_address kind, uint64_t address);

/* Replace the host's callbacks by those of the recorder, and put them back. */
void t3_record_hook(struct t3_port *port);
void t3_record_unhook(struct t3_port *port);
void t3_record_hook_fabric(struct t3_recorder *r);
void t3_record_unhook_fabric(struct t3_recorder *r);

#endif /* T3_CORE_RECORD_PRIVATE_H */
