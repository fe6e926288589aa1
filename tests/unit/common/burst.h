/* SPDX-License-Identifier: MIT */
/*
 * A tile that rank 0 sends to rank 1, in bursts or alone: for tests of bursts. A fault that is injected
 * and never comes makes a link send single packets, which all is compared with.
 */
#ifndef T3_TEST_BURST_H
#define T3_TEST_BURST_H

#include "host.h"
#include "link/link.h"

#define BURST_BYTES  0x10000u /* of rank 0's segment: tiles of one row or more */
#define BURST_SHAPES 3

struct burst_pair {
	uint32_t rows;			    /* of rank 0's segment */
	uint32_t from_row_bytes, from_rows; /* of its tiles */
	uint32_t tile_row_bytes, tile_rows; /* of rank 1's */
	uint32_t row_bytes, to_rows;	    /* the same: fewer than rank 0's are too small */
	uint32_t updates;		    /* of rank 1's elements: 1 is one too few for two */
	uint64_t poison;		    /* in rank 1's memory; 0: none */
	bool nodes;			    /* rank 1 is on another node */
	bool staged;			    /* REMOTE, and a doorbell; else DMA, and stores */
};

extern const struct burst_pair burst_plain;

/* Rows of `bytes` bytes, in tiles that have `tile` of each, of `tile_rows` rows; the same on both ranks. */
struct burst_pair burst_of_rows(uint32_t bytes, uint32_t tile, uint32_t tile_rows);
/* One row; rows of half a packet; rows of a packet and a half, not all of which are in one piece. */
struct burst_pair burst_shape(uint32_t number);
/* A random pair, half of which have the same tiles on both ranks. */
struct burst_pair burst_draw(uint64_t *random);
/*
 * Some of rank 0's packets are refused: rank 1's memory has poison, or its rows are too few or too
 * short, which the counts of its tiles need not say.
 */
void burst_spoil(uint64_t *random, bool poison, struct burst_pair *pair);

/* Rank 0's space 0 is armed, and has all that it will send. Nothing has been sent. */
struct host *burst_host(const struct burst_pair *pair, bool alone);
struct t3_fabric *burst_fabric(struct host *host);
struct t3_link *burst_link(struct host *host);
/* Rank 0's data: small integers, whose sums are exact. */
void burst_fill(uint8_t *to);

/* Both hosts have the same memories and counters. */
void burst_compare(struct host *bursts, struct host *alone);
/* All arrives, and the host is freed. */
void burst_expect_done(struct host *host);
/* Each element of rank 1 is there as a whole or not at all. */
void burst_expect_part(struct host *host);
/* Below the last row of rank 1's segment nothing was written. */
void burst_expect_untouched(struct host *host, uint32_t from);

#endif /* T3_TEST_BURST_H */
