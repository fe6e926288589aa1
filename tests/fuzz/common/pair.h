/* SPDX-License-Identifier: MIT */
/*
 * Two hosts that do the same work in two ways and must come to the same end. Each rank has a space
 * with segments 0 (LOCAL), 1 (DMA) and 2 (REMOTE) of one shape. A segment sends to the one before it
 * at the next rank.
 */
#ifndef T3_FUZZ_PAIR_H
#define T3_FUZZ_PAIR_H

#include "host.h"
#include "stream.h"

#define PAIR_SEGMENTS 3u
#define PAIR_RANKS    3u /* at most */
#define PAIR_TILES    128u
#define PAIR_SLOTS    2u

struct pair_shape {
	uint32_t ranks, dtype, op, init;
	uint32_t rows, row_bytes, pitch, tile_rows, tile_row_bytes, block_tiles;
	uint32_t size;			 /* of an element */
	uint32_t tiles;			 /* of each segment */
	uint32_t own[PAIR_SEGMENTS];	 /* updates of each element by its rank */
	uint32_t updates[PAIR_SEGMENTS]; /* and with those of the rank before it */
};

struct pair {
	struct host *host[2];
	struct pair_shape shape;
	bool same_trackers;
};

/*
 * The input's first bytes choose shape and trackers; any_order: only types and ops whose updates may
 * come in any order, and few elements. The hosts are used again.
 */
void pair_begin(struct pair *pair, struct stream *in, bool any_order);
/* With T3_FUZZ_TWICE memory must be 0 after the rewind, and the next input gets new hosts. */
void pair_end(struct pair *pair);

/* The arguments of SEG_MAP, and a command that need not succeed. */
struct t3_cmd_seg_map pair_segment(const struct pair_shape *shape, uint32_t segment);
void pair_stage(struct host_dev *d, const struct pair_shape *shape, uint32_t segment);
/* The offset of an element, by its number. */
uint32_t pair_place(const struct pair_shape *shape, uint32_t segment, uint32_t element);
uint32_t pair_elements(const struct pair_shape *shape);

/* Everything that software sees of both hosts, but for what depends on the tracker. */
void pair_expect_same(const struct pair *pair);
/* What is the same in any order of the work (SPEC.md sections 3.3, 4 and 8). */
void pair_expect_same_work(const struct pair *pair);

#endif
