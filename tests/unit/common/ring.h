/* SPDX-License-Identifier: MIT */
/*
 * A reduce-scatter over a ring: chunk c starts at rank c + 1 (REMOTE), gathers at
 * each rank on its way (DMA, two updates: its own and what arrives) and ends at
 * rank c (LOCAL). Segment c of each rank's space is chunk c.
 */
#ifndef T3_TEST_RING_H
#define T3_TEST_RING_H

#include "host.h"

struct ring {
	struct host *host;
	uint32_t space;
	uint32_t dtype;
	uint32_t rows, row_bytes, pitch, tile_rows, tile_row_bytes;
};

/* Ragged, with padding: 5 rows of 24 bytes at pitch 32, tiles of 2 x 16 bytes. */
struct ring ring_of(struct host *host, uint32_t space, uint32_t dtype);
void ring_create(const struct ring *ring);     /* spaces */
void ring_connect(const struct ring *ring);    /* routes, imports, segments */
void ring_disconnect(const struct ring *ring); /* RESET of all */
/* ring_of(), ring_create() and ring_connect(). */
struct ring ring_open(struct host *host, uint32_t space, uint32_t dtype);
uint32_t ring_kind(const struct ring *ring, uint32_t rank, uint32_t chunk);
/* Value of an element that rank contributes; small enough to add exactly. */
int ring_value(uint32_t rank, uint32_t chunk, uint32_t row, uint32_t col, uint32_t epoch);
/* Stores or, if `staged`, doorbells all of a rank's contributions. */
void ring_produce(const struct ring *ring, uint32_t rank, uint32_t epoch, bool staged);
void ring_arm(const struct ring *ring, uint32_t epoch);
void ring_release(const struct ring *ring, uint32_t epoch);
void ring_expect_state(const struct ring *ring, uint32_t state, uint32_t epoch);
void ring_expect_sums(const struct ring *ring, uint32_t epoch);
void ring_expect_counts(const struct ring *ring, uint32_t epochs, bool staged);

#endif
