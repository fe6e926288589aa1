/* SPDX-License-Identifier: MIT */
/* A record in memory, and its replay. */
#ifndef T3_TEST_TAPE_H
#define T3_TEST_TAPE_H

#include "host.h"
#include "sim/replay.h"

#define TAPE_PIECES 4096u

struct tape {
	uint8_t *data;
	size_t size, room;
	/* where each of the first records, or its data, starts */
	size_t piece[TAPE_PIECES];
	uint32_t pieces;
};

void tape_emit(void *opaque, const void *data, size_t len);
/* Two ranks with stores, a staged tile, an interrupt and a read. */
void tape_short(struct tape *tape);

struct replay_result tape_replay(const struct tape *tape);
struct replay_result tape_replay_bytes(const uint8_t *data, size_t size, uint64_t until);
void tape_expect_same(const struct replay_result *result);

#endif
