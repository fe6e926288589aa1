/* SPDX-License-Identifier: MIT */
/*
 * A native host for the core: devices with memory on one fabric, host memory for
 * event areas, a log of what the core does to the host, and short forms of the
 * mailbox commands. Everything goes through t3_core.h.
 */
#ifndef T3_TEST_HOST_H
#define T3_TEST_HOST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "t3_core.h"
#include "t3_record.h"

/* clang-format off */
#define HOST_NONE32 0xffffffffu
#define HOST_NONE64 (~(uint64_t)0)

#define HOST_MEMORY   0x400000u /* of each device, by default */
#define HOST_APERTURE 0x100000u

/* Where host_space() puts space s, and host_stage() its staging slots. */
#define HOST_SPACE_SIZE	     0x10000u
#define HOST_COUNTERS	     0x100000u
#define HOST_COUNTER_BASE(s) (HOST_COUNTERS + (s) * 0x8000u)
#define HOST_COUNTER_COUNT   0x800u
#define HOST_STAGING	     0x200000u
#define HOST_STAGING_BASE(s) (HOST_STAGING + (s) * 0x40000u)

#define HOST_BUS   0x7f0000000000ull /* bus address of the event areas */
#define HOST_PAGES 64u		     /* space s: page s % HOST_PAGES */
#define HOST_LOG   4096u

#define HOST_DATA      0x600000000000ull /* bus address of plain host memory */
#define HOST_DATA_SIZE 0x200000u
/* clang-format on */

enum host_log_kind { HOST_LOG_WRITE, HOST_LOG_IRQ, HOST_LOG_DATA };

struct host_log {
	enum host_log_kind kind;
	uint32_t vector;
	uint64_t offset; /* of the write, from HOST_BUS or HOST_DATA */
	size_t len;
	uint64_t seen; /* what device memory held at `watch` then */
};

/* Calls of the trace callbacks; packets where there may be several. */
struct host_traced {
	uint32_t blocks_started, blocks_sent;
	uint32_t resent, given_up;
	uint32_t links_down, links_up;
	uint32_t accidents[T3_INJECT_LINK_DOWN + 1]; /* by kind */
	uint64_t last_accident;			     /* its packet */
	uint32_t losses;
	uint32_t naks, last_nak;
};

struct host;

struct host_dev {
	struct t3_dev *dev;
	struct host *host;
	uint32_t rank;
	bool guest_inject, reset_generations; /* its properties */
	uint32_t without_caps;
	uint64_t memory_size;
	uint8_t *memory;
	uint8_t *shadow; /* if set: gets what the core reports as dirty */
	uint8_t *pages;
	uint8_t *data;	     /* HOST_DATA_SIZE bytes */
	uint32_t fail_data;  /* this access to it fails, 1: the next; 0: none */
	uint64_t fail_at;    /* bus address of the one that failed */
	uint32_t fail_after; /* good DMA writes before all fail; HOST_NONE32: never */
	uint32_t irqs[T3_MAX_VECTORS];
	uint32_t stores; /* which of the two calls takes the next one */
	uint32_t guest_errors;
	uint32_t triggers;
	uint32_t completed[T3_DESC_GANG + 1]; /* descriptors traced, by status */
	uint32_t last_completed;	      /* index of the last one */
	struct host_traced traced;
	uint64_t watch;
	uint32_t logged; /* entries beyond HOST_LOG are counted, not kept */
	struct host_log log[HOST_LOG];
};

struct host_config {
	uint32_t topology;
	uint32_t ranks;
	uint32_t entries;
	uint32_t ways;
	uint32_t keys; /* t3_keys_allowed */
};

struct host {
	struct host_config config;
	struct t3_fabric *fabric;
	uint32_t ranks;
	uint32_t kicks;
	struct workers *workers; /* workers.h; NULL: none */
	struct nodes *nodes;	 /* nodes.h; NULL: all ranks are on `fabric` */
	uint32_t switch_entries; /* of a port; topology SWITCH alone */
	uint32_t remote;	 /* mask of those that are elsewhere, and have no device here */
	struct host_dev dev[T3_MAX_RANKS];
};

#define HOST_ENTRIES 64u /* of each port of a switch, unless a test says another number */

struct host *host_new(const struct host_config *config);
struct host *host_new_recorded(const struct host_config *config, t3_record_emit *emit,
			       void *opaque);
struct host *host_ring(uint32_t ranks);	  /* 256 entries, 8 ways, all keys */
struct host *host_paused(uint32_t ranks); /* the same with no inline budget */
/* Ranks with a switch, whose ports have so many entries. emit NULL: not recorded. */
struct host *host_switch(uint32_t ranks, uint32_t entries, t3_record_emit *emit, void *opaque);
/* One node's: the device of that rank. The test has the other nodes. */
struct host *host_new_node(const struct host_config *config, uint32_t rank);
void host_free(struct host *host);
/* Their parts: a device of that rank without memory of its own, and a fabric. */
void host_new_device(struct host *host, uint32_t rank);
void host_new_fabric(struct host *host);
void host_add_devices(struct host *host); /* of all ranks, with memory */
bool host_inject(struct t3_fabric *fabric, uint32_t src, uint32_t dst, uint32_t kind, uint32_t nth);
void host_poison(struct host_dev *d, uint64_t address, uint64_t bytes);
void host_attach(struct host *host, uint32_t rank);
/* Another device takes the rank, with the same memory, as it is. */
void host_replace(struct host *host, uint32_t rank, bool guest_inject);
void host_drain(struct host *host);
/* Resets all devices and what the host remembers; memory becomes 0. */
void host_clear(struct host *host);

uint64_t host_get(struct host_dev *d, uint64_t offset, uint32_t size);
void host_set(struct host_dev *d, uint64_t offset, uint64_t value, uint32_t size);
uint32_t host_reg(struct host_dev *d, uint64_t offset);
uint64_t host_counter(struct host_dev *d, enum t3_counter_id id);

/* Runs a command; its results replace the arguments. Returns t3_admin_status. */
uint32_t host_command(struct host_dev *d, uint32_t opcode, void *cmd, size_t size);
uint32_t host_space_command(struct host_dev *d, uint32_t opcode, uint32_t space);
uint32_t host_index_command(struct host_dev *d, uint32_t opcode, uint32_t space, uint32_t index);
struct t3_cmd_space host_query(struct host_dev *d, uint32_t space);
struct t3_cmd_seg_stats host_stats(struct host_dev *d, uint32_t space, uint32_t segment);

struct t3_cmd_tile_query host_tile_query(struct host_dev *d, uint32_t space, uint32_t segment,
					 uint32_t tile, uint32_t tiles);

/* The default arguments, for tests that change one of them. */
struct t3_cmd_space_create host_space_args(uint32_t space);
/* 4 x 16 bytes at segment * 0x400, tiles of 2 x 8 bytes, one update, IDENTITY. */
struct t3_cmd_seg_map host_segment(uint32_t space, uint32_t segment, uint32_t kind, uint32_t op,
				   uint32_t dtype);

/* These assert that they succeed. */
uint32_t host_space(struct host_dev *d, uint32_t space); /* returns the generation */
void host_map(struct host_dev *d, const struct t3_cmd_seg_map *map);
void host_local(struct host_dev *d, uint32_t space, uint32_t segment); /* ADD i32 */
/* Slots follow each other at HOST_STAGING_BASE + segment * 0x4000, stride 0x1000. */
void host_stage(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t slots);
uint8_t *host_slot(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t slot);
void host_route(struct host_dev *d, uint32_t space, uint32_t route, struct host_dev *peer,
		uint32_t peer_space, uint32_t import);
void host_import(struct host_dev *d, uint32_t space, uint32_t import, struct host_dev *source,
		 uint32_t source_space, uint64_t segments);
/* Route 0 of space s on a leads through import 0 to space s on b; all segments. */
void host_connect(struct host_dev *a, struct host_dev *b, uint32_t space);
void host_destroy(struct host_dev *d, uint32_t space); /* live -> FREE */
/*
 * Two devices, space 1 on each with route 0 and import 0 to the other. Device 0's,
 * in the wanted state (epoch 1 where it has one), has segment 0 with two slots.
 */
struct host *host_in_state(uint32_t wanted);

void host_arm(struct host_dev *d, uint32_t space, uint32_t epoch);
void host_release(struct host_dev *d, uint32_t space, uint32_t epoch);
void host_tile(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t slot, uint32_t tile);
void host_doorbell(struct host_dev *d, uint32_t space, uint32_t offset, uint64_t value,
		   uint32_t size);
uint64_t host_doorbell_read(struct host_dev *d, uint32_t space, uint32_t offset, uint32_t size);
/* Offsets in the space. */
void host_aperture_write(struct host_dev *d, uint64_t offset, uint64_t value, uint32_t size);
void host_store(struct host_dev *d, uint32_t space, uint64_t offset, uint64_t value, uint32_t size);
uint64_t host_load(struct host_dev *d, uint32_t space, uint64_t offset, uint32_t size);
/* Stores `value` into each 4-byte element of a default segment (host_segment()). */
void host_fill(struct host_dev *d, uint32_t space, uint32_t segment, uint32_t value);
/* Two devices: segment 0 of space 0 of rank 0, with staging slots, leads to that of rank 1, which is
 * host_local() without `to`. Both are armed with epoch 1; there is no inline budget from now on. */
struct host *host_pair(const struct t3_cmd_seg_map *from, const struct t3_cmd_seg_map *to,
		       uint32_t slots);
/* Such a pair, rank 0 -> rank 1: a DMA segment of `rows` rows of 8 bytes in one tile, all of
 * them stored (row i: i). Nothing has been sent yet. */
struct host *host_burst(uint32_t rows);

uint8_t *host_buffer(struct host_dev *d, uint32_t space);
const struct t3_event_area *host_area(struct host_dev *d, uint32_t space);
uint32_t host_state(struct host_dev *d, uint32_t space); /* from the doorbell page */
/* State and epoch, in the doorbell page, the event area and SPACE_QUERY. */
void host_expect(struct host_dev *d, uint32_t space, uint32_t state, uint32_t epoch);
void host_expect_word(struct host_dev *d, uint32_t space, uint32_t segment, uint64_t word);
/* The recorded fault, every field but epoch and vtime, which must be possible. */
void host_expect_fault(struct host_dev *d, uint32_t space, const struct t3_fault_record *want);
void host_expect_cpu_fault(struct host_dev *d, uint32_t space, uint32_t kind, uint32_t segment,
			   uint32_t tile, uint64_t offset);
void host_expect_peer_fault(struct host_dev *d, uint32_t space, uint32_t kind, uint32_t rank);
void host_expect_rejected(struct host_dev *d, uint32_t space, uint32_t nak, uint32_t segment,
			  uint32_t rank);

/* xorshift64*: the same numbers everywhere. */
uint64_t host_random(uint64_t *state);
uint32_t host_below(uint64_t *state, uint32_t bound);

#endif
