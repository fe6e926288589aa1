/* SPDX-License-Identifier: MIT */
/*
 * The layout that a plan gives a rank's space. This is pure arithmetic, the same at all ranks. So a
 * rank knows the segments of its peers when it computes theirs.
 */
#ifndef T3_PLAN_LAYOUT_H
#define T3_PLAN_LAYOUT_H

#include "device/device.h"
#include "plan/hierarchy.h"
#include "t3_coll.h"

#define T3_LAYOUT_SEGMENTS 64u
#define T3_LAYOUT_NONE	   0xffffffffu
/* Upper bound of a plan's elements. All products of it fit 64 bits. */
#define T3_LAYOUT_COUNT_MAX (UINT64_C(1) << 40)

/* How a segment reaches its targets. */
enum t3_layout_via {
	T3_VIA_LINKS,	  /* by the link to each */
	T3_VIA_REDUCE,	  /* by the switch, which combines what all sources send to that rank */
	T3_VIA_MULTICAST, /* by the switch, which copies what this rank sends */
	T3_VIAS
};

struct t3_layout_segment {
	struct t3_segment_desc desc;
	uint32_t kind;	  /* enum drm_t3_segment_kind */
	uint32_t targets; /* the ranks that it sends to, bit by rank; 0 for LOCAL */
	uint32_t via;	  /* enum t3_layout_via */
	uint32_t target_segment;
	uint32_t target_row;
	uint32_t target_op;
	uint32_t chunk; /* the chunk whose elements it carries */
	bool widens;
	uint64_t accumulators; /* offset in the buffer */
	/*
	 * The rank's own input goes to own_rows rows from own_row on. 0 rows: it has no part in it.
	 */
	uint32_t own_row;
	uint32_t own_rows;
	uint64_t own_first; /* the element of the whole that goes to (own_row, 0) */
};

/* All lengths of an all-to-all, in elements. */
struct t3_lengths {
	uint64_t send[T3_COMM_RANKS_MAX][T3_COMM_RANKS_MAX];	/* of a rank for each rank */
	uint64_t receive[T3_COMM_RANKS_MAX][T3_COMM_RANKS_MAX]; /* at a rank from each rank */
};

struct t3_layout {
	uint32_t rank, ranks;
	uint32_t element; /* bytes */
	uint32_t columns; /* elements of a chunk's unit: a row, or 1 for arrays */
	uint64_t units;
	const struct t3_lengths *lengths; /* of the pairs of ranks; NULL: as desc.count has it */
	uint64_t longest;		  /* elements of the longest chunk of all ranks */
	bool widens;			  /* T3_PLAN_WIDEN */
	uint32_t chunks;		  /* see t3_layout_cut() */
	uint32_t parts;	    /* segments of a chunk at one place: 1, or 2 for a very long array */
	uint32_t row_bytes; /* of a matrix and of the first of two parts; 0: all in one row */
	uint32_t tile_rows, tile_row_bytes; /* upper bound; a segment may be smaller */
	uint64_t bytes;			    /* of the buffer */
	uint32_t tiles;			    /* of all segments */
	uint64_t result_offset, result_bytes;
	uint32_t produced;		  /* chunks that this rank has input for */
	uint8_t order[T3_COMM_RANKS_MAX]; /* chunk numbers, in the order of production */
	uint32_t count;			  /* of segments */
	struct t3_layout_segment segment[T3_LAYOUT_SEGMENTS];
};

#pragma GCC visibility push(hidden)

/*
 * Make the layout. The algorithm must not be AUTO. node[r] is the node of rank r, for HIERARCHICAL;
 * NULL: all ranks are on one. On failure *why is a static sentence. -EINVAL: desc, rank, ranks, or
 * nodes that do not fit the algorithm. -EFBIG: above the device's limits.
 */
int t3_layout_make(const struct t3_plan_desc *desc, uint32_t rank, uint32_t ranks,
		   const uint8_t *node, struct t3_layout *layout, const char **why);
/*
 * The same for an all-to-all with these lengths, which t3_lengths_check() found good. They live as
 * long as the layout.
 */
int t3_layout_make_uneven(const struct t3_plan_desc *desc, const struct t3_lengths *lengths,
			  uint32_t rank, uint32_t ranks, struct t3_layout *layout,
			  const char **why);
/* Check a desc, for any rank. -EINVAL, or -EFBIG as above. */
int t3_layout_check(const struct t3_plan_desc *desc, uint32_t ranks, const char **why);
/* Check one that comes with lengths. */
int t3_layout_check_uneven(const struct t3_plan_desc *desc, uint32_t ranks, const char **why);
/* The number of elements that a rank with input for a chunk has for it. */
uint64_t t3_layout_input(const struct t3_layout *layout, uint32_t rank, uint32_t chunk);
/* Return a chunk's first element and number of elements, with lengths those of this rank's. */
void t3_layout_chunk(const struct t3_layout *layout, uint32_t chunk, uint64_t *first,
		     uint64_t *count);
/* The segments of rank `to` that this rank sends to in that way, and with which ops. 0: none. */
uint64_t t3_layout_targets(const struct t3_layout *layout, uint32_t to, uint32_t via,
			   uint32_t *ops);
/*
 * The updates that a rank sends to the group of rank `to`: each is at most 1024 bytes of a row of a
 * tile.
 */
uint64_t t3_layout_places(const struct t3_layout *layout, uint32_t to);
/* All ranks that this one sends to, bit by rank. */
uint32_t t3_layout_all_targets(const struct t3_layout *layout);
/*
 * Find the segment of an element of the whole, and its place there. The result is a position in
 * layout->segment, or T3_LAYOUT_NONE when the rank has no such input. *run: the number of elements
 * that follow in its row.
 */
uint32_t t3_layout_locate(const struct t3_layout *layout, uint64_t element, uint32_t *row,
			  uint32_t *col, uint64_t *run);
/* The position of the segment for the rank's own input of tile t of a chunk, and the tile in it. */
uint32_t t3_layout_tile(const struct t3_layout *layout, uint32_t chunk, uint64_t tile,
			uint64_t *in_segment);
/* The number of tiles of a chunk that the rank has input for. */
uint64_t t3_layout_tiles(const struct t3_layout *layout, uint32_t chunk);
/* The opposite of t3_layout_tile(): the number in its chunk of a tile of the segment `at`. */
uint64_t t3_layout_chunk_tile(const struct t3_layout *layout, uint32_t at, uint64_t in_segment);
/* The first element, of the whole, of a tile of the segment `at` as t3_desc_tile() has it. */
uint64_t t3_layout_element(const struct t3_layout *layout, uint32_t at, const struct t3_tile *tile);

#pragma GCC visibility pop

/* ------------------------------------------------ between the files that make a layout */

/* A part of a chunk: consecutive rows without a gap. */
struct t3_layout_part {
	uint64_t first;	 /* first element, in the whole */
	uint64_t offset; /* from the chunk's first byte */
	uint64_t rows, row_bytes;
};

#define NO_SLOT T3_LAYOUT_NONE

/*
 * In the flags of a checked desc, not of callers: sums with an order pass from rank to rank. The
 * switch has no entries for them.
 */
#define T3_PLAN_CHAINED (1u << 31)

struct maker {
	const struct t3_plan_desc *desc;
	struct t3_layout *out;
	const char *why;
	uint32_t rank, ranks;
	bool ring;
	bool in_switch; /* sums and copies are the switch's */
	bool ordered;	/* and the sums have an order: the own part comes from there, too */
	bool chain;	/* in the order of the ranks */
	const struct t3_hierarchy *nodes; /* NULL: not HIERARCHICAL */
};

struct block {
	uint32_t number, chunk;
	uint32_t updates; /* 1: STORE; more: desc.op */
	uint64_t offset;
	/* The ranks it sends to. 0: LOCAL. It is REMOTE if all its rows are the rank's own. */
	uint32_t targets;
	uint32_t via;
	bool remote;
	uint32_t target_number, target_op, target_slot;
	uint32_t slots;	   /* images of the chunk, one below the other; 0 means 1 */
	uint32_t own_slot; /* the image for the rank's own input, usually 0; NO_SLOT: none */
};

#pragma GCC visibility push(hidden)

/*
 * Set how a checked desc is cut into that many chunks: one for each rank, or for a BROADCAST one,
 * or for a HIERARCHICAL all-reduce one for each rank of a node.
 */
void t3_layout_cut(const struct t3_plan_desc *desc, uint32_t chunks, struct t3_layout *layout);
/* False: the chunk is empty. */
bool t3_layout_part(const struct t3_layout *layout, uint32_t chunk, uint32_t part,
		    struct t3_layout_part *out);

/* Keep the sentence. Returns -EFBIG. */
int t3_plan_too_big(struct maker *m, const char *why);
uint32_t t3_plan_next(const struct maker *m);
uint64_t t3_plan_chunk_bytes(const struct maker *m, uint32_t chunk);
/* Offset of a chunk in the whole. */
uint64_t t3_plan_chunk_offset(const struct maker *m, uint32_t chunk);
/* Reserve room in the buffer. The second one is for the result. */
uint64_t t3_plan_place(struct maker *m, uint64_t bytes);
void t3_plan_place_result(struct maker *m, uint64_t bytes);
/* Add the segments of a block, none if its chunk is empty. Errors: -EFBIG. */
int t3_plan_add(struct maker *m, const struct block *b);
/* Add one of them, with these rows. */
int t3_plan_add_part(struct maker *m, const struct block *b, uint32_t part,
		     const struct t3_layout_part *rows);

/* Add all segments of an all-to-all. */
int t3_plan_exchange(struct maker *m);
/* And of one with lengths. */
int t3_plan_exchange_uneven(struct maker *m);

/* Whether the bits of a result depend on the order of the updates. */
bool t3_plan_rounds(const struct t3_plan_desc *desc);
/* Whether the switch adds them in the order of the ranks. */
bool t3_plan_is_ordered(const struct t3_plan_desc *desc);
/* Add all segments of a reduction in the order of the ranks, and set the order of production. */
int t3_plan_chain(struct maker *m);
void t3_plan_chain_order(const struct maker *m);

/* Add all segments of a HIERARCHICAL plan, give a bound of the block numbers, and set the order. */
int t3_plan_hierarchical(struct maker *m);
uint32_t t3_plan_hierarchical_blocks(const struct maker *m);
void t3_plan_hierarchical_order(const struct maker *m);

#pragma GCC visibility pop

#endif /* T3_PLAN_LAYOUT_H */
