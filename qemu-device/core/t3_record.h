/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The record of a fabric: a byte stream of everything that crosses the core's boundary. It is
 * enough to replay the run without the machine. SPEC.md section 14.
 *
 * An entry is one call into the core. The callbacks that it makes follow, then END. Numbers are
 * varints (7 bits a byte, least significant first), and differences of addresses are zigzag
 * varints, unless said otherwise.
 */
#ifndef T3_RECORD_H
#define T3_RECORD_H

#include <string.h>

#include "t3_core.h"

#define T3_RECORD_MAGIC	  "T3RECORD"
#define T3_RECORD_VERSION 10u
#define T3_RECORD_SLOTS	  64u /* most devices that exist at a time */

enum t3_record_type {
	T3_REC_NONE, /* the end: reserved bytes of the file that were not used */
	/* entries */
	T3_REC_NEW,
	T3_REC_FREE,
	T3_REC_ATTACH,
	T3_REC_DETACH,
	T3_REC_RESET,
	T3_REC_REGS_READ,
	T3_REC_REGS_WRITE,
	T3_REC_APERTURE_READ,
	T3_REC_APERTURE_WRITE,
	T3_REC_RUN,
	T3_REC_BUDGET,
	T3_REC_INJECT,
	/* within an entry */
	T3_REC_MEMORY,
	T3_REC_DMA_READ,
	T3_REC_DMA_WRITE,
	T3_REC_IRQ,
	T3_REC_KICK,
	T3_REC_END,
	/* the last record of a complete stream */
	T3_REC_CLOSE,
	T3_REC_COUNT
};

/* A record's first byte is its type and three flags. */
#define T3_REC_TYPE_SHIFT 3
#define T3_REC_DEVICE	  1u /* a device's slot follows; else the slot of the last record holds */
#define T3_REC_SIZE_SHIFT 1  /* register and aperture accesses: log2 of the size */
#define T3_REC_FAILED	  2u /* DMA_READ, DMA_WRITE */
#define T3_REC_TIME	  1u /* END: differences of clock and of event number follow */
#define T3_REC_HASH	  2u /* END: t3_record_check() of the hash follows, 2 bytes */

/* Longer writes are recorded by their 8-byte hash. */
#define T3_REC_DMA_PLAIN 16u

enum t3_record_address { T3_REC_AT_REGS, T3_REC_AT_APERTURE, T3_REC_AT_MEMORY, T3_REC_AT_DMA };

/* Values that recorder and replay both keep, so that the stream needs only differences. */
struct t3_record_context {
	uint32_t slot;
	uint64_t now;
	uint64_t seq;
	uint64_t hash;	  /* of everything that the core wrote to device memory */
	uint64_t told;	  /* its value in the last END */
	uint64_t fetches; /* reads of device memory since the last MEMORY */
	uint64_t last[T3_RECORD_SLOTS][4];
};

static inline uint64_t t3_record_hash(uint64_t hash, const void *data, uint64_t len)
{
	const uint8_t *from = data;
	uint64_t word;

	for (; len; from += sizeof(word), len -= sizeof(word)) {
		word = 0;
		memcpy(&word, from, len < sizeof(word) ? len : sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
		if (len < sizeof(word))
			break;
	}
	return hash;
}

/* The check uses the high bits, which depend on every bit of the last word. */
static inline uint16_t t3_record_check(uint64_t hash)
{
	return (uint16_t)(hash >> 48);
}

static inline void t3_record_hash_memory(struct t3_record_context *context, uint32_t slot,
					 uint64_t offset, const void *data, uint64_t len)
{
	uint64_t place = offset << 6 | slot;

	context->hash = t3_record_hash(context->hash, &place, sizeof(place));
	context->hash = t3_record_hash(context->hash, data, len);
}

/* Receives the stream in pieces. It must not call into the core. */
typedef void t3_record_emit(void *opaque, const void *data, size_t len);

/*
 * Starts the record of a fabric to which no device is attached. Devices that are
 * attached later must not have been used before. False: no memory, or too late.
 */
bool t3_fabric_record(struct t3_fabric *fabric, t3_record_emit *emit, void *opaque);
/* Ends the stream; t3_fabric_free() does so, too. */
void t3_fabric_record_stop(struct t3_fabric *fabric);
bool t3_fabric_recording(const struct t3_fabric *fabric);

/* The sequence number of the next event, for the check at each END. */
uint64_t t3_fabric_event_number(const struct t3_fabric *fabric);

#endif /* T3_RECORD_H */
