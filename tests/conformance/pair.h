/* SPDX-License-Identifier: MIT */
/* A source on device 0 whose segment 0 leads to segment 0 of a target on device 1. */
#ifndef T3_CONFORMANCE_PAIR_H
#define T3_CONFORMANCE_PAIR_H

#include "conf.h"

struct pair {
	struct conf_space source, target;
	struct t3_cmd_seg_map from, to; /* not yet mapped: tests change them */
};

/* 16 i32 elements in two tiles; the target adds one update to identity. */
void pair_prepare(struct conf *c, struct pair *pair, uint8_t kind);
void pair_map(struct conf *c, struct pair *pair);
/* Both ARMED in that epoch. */
void pair_arm(struct conf *c, struct pair *pair, uint32_t epoch);
/* All three. */
void pair_ready(struct conf *c, struct pair *pair, uint8_t kind);
/* Eight stores of two elements each; element i is first + i. */
void pair_store(struct conf_space *s, uint32_t first);
void pair_check(struct conf *c, struct conf_space *s, uint32_t first, const char *what);

#endif
