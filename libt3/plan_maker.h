/* SPDX-License-Identifier: MIT */
/* How a layout is put together, block by block. */
#ifndef T3_PLAN_MAKER_H
#define T3_PLAN_MAKER_H

#include "internal.h"
#include "plan_layout.h"

#define NO_SLOT T3_LAYOUT_NONE

struct maker {
	const struct t3_plan_desc *desc;
	struct t3_layout *out;
	const char *why;
	uint32_t rank, ranks;
	bool ring;
};

struct block {
	uint32_t number, chunk;
	uint32_t updates; /* 1: STORE, more: desc.op */
	uint64_t offset;
	/* Ranks it sends to, 0: it is LOCAL; REMOTE, if all of its rows are the rank's own. */
	uint32_t targets;
	bool remote;
	uint32_t target_number, target_op, target_slot;
	uint32_t slots;	   /* images of the chunk below each other; 0: 1 */
	uint32_t own_slot; /* that of the rank's own input, usually 0; NO_SLOT: it has none here */
};

#pragma GCC visibility push(hidden)

/* Keeps the sentence; returns -EFBIG. */
int t3_plan_too_big(struct maker *m, const char *why);
uint32_t t3_plan_next(const struct maker *m);
uint64_t t3_plan_chunk_bytes(const struct maker *m, uint32_t chunk);
/* Where a chunk begins in the whole. */
uint64_t t3_plan_chunk_offset(const struct maker *m, uint32_t chunk);
/* Room in the buffer; for the result. */
uint64_t t3_plan_place(struct maker *m, uint64_t bytes);
void t3_plan_place_result(struct maker *m, uint64_t bytes);
/* The segments of a block, none if its chunk is empty. Errors: -EFBIG. */
int t3_plan_add(struct maker *m, const struct block *b);

/* All segments of an all-to-all. */
int t3_plan_exchange(struct maker *m);

#pragma GCC visibility pop

#endif /* T3_PLAN_MAKER_H */
