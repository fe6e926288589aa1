/* SPDX-License-Identifier: MIT */
/*
 * A random collective and its reference model. Segments form a tree. Each one is final (LOCAL), or
 * sends to one that was made before it, as a whole or as half of a pair that covers it. A final
 * segment may be a group: the same segment on several ranks, fed by sources with that number of
 * routes. The values make the result independent of the order of arrival.
 */
#ifndef T3_TEST_SCENE_H
#define T3_TEST_SCENE_H

#include "host.h"

#define SCENE_RANKS    4u
#define SCENE_SEGMENTS 16u
#define SCENE_EPOCHS   2u
#define SCENE_BYTES    0x2000u /* of each space */

struct scene_segment {
	struct t3_cmd_seg_map map; /* space is filled in when it is mapped */
	uint32_t rank;
	uint32_t depth;
	int target;	   /* index of a scene segment, the first of its group; -1: LOCAL */
	uint32_t group;	   /* index of the group's first */
	uint32_t ranks;	   /* ranks of the group, bit mask */
	bool many;	   /* up to 64 updates for each element */
	bool exact;	   /* small integers only, because float sums depend on the order */
	uint32_t local;	   /* number of the CPU's contributions to each element */
	uint32_t incoming; /* number of contributions by sources */
	uint32_t slots;
	uint32_t tiles_x, tiles;
	uint64_t stores, doorbells; /* contributions made so far */
};

struct scene {
	struct host *host;
	uint64_t seed, random;
	uint32_t ranks;
	uint32_t count;
	uint32_t space[SCENE_RANKS];
	uint32_t used_bytes[SCENE_RANKS];
	uint32_t used_records[SCENE_RANKS];
	uint32_t used_indices; /* the same on all ranks */
	struct scene_segment segment[SCENE_SEGMENTS];
	/* model[e]: the buffers after epoch e; model[0]: before */
	uint8_t model[SCENE_EPOCHS + 1][SCENE_RANKS][SCENE_BYTES];
};

/* Draws the scene, computes the model, and makes spaces, grants and segments. */
void scene_make(struct scene *scene, struct host *host, uint64_t seed);
/* Contribution k to the element at (row, byte col) of a segment. */
uint64_t scene_value(const struct scene *scene, const struct scene_segment *segment, uint32_t epoch,
		     uint32_t k, uint32_t row, uint32_t col);
uint32_t scene_fan_out(const struct scene_segment *segment); /* routes */
void scene_expect_buffer(struct scene *scene, uint32_t rank, uint32_t epoch);
void scene_expect_counts(struct scene *scene);

#endif
