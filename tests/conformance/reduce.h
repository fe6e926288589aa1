/* SPDX-License-Identifier: MIT */
/* A ring reduce-scatter over all linked devices: chunk k ends at device k. */
#ifndef T3_CONFORMANCE_REDUCE_H
#define T3_CONFORMANCE_REDUCE_H

#include "conf.h"

/* Skip the test when the devices are not the whole ring. */
unsigned reduce_ring(struct conf *c);
/* A space on each device with its segments, connected to the next. */
void reduce_setup(struct conf *c, struct conf_space *spaces, unsigned count);
void reduce_arm(struct conf *c, struct conf_space *spaces, unsigned count, uint32_t epoch);
/* Element j of chunk k as device i stores it; and its sum over all of them. */
uint32_t reduce_value(unsigned i, unsigned chunk, uint32_t j, uint32_t epoch);
uint32_t reduce_sum(unsigned count, unsigned chunk, uint32_t j, uint32_t epoch);
void reduce_store(struct conf_space *spaces, unsigned count, uint32_t epoch);
/* Store, wait for COMPLETE, check the sums and release. */
void reduce_run(struct conf *c, struct conf_space *spaces, unsigned count, uint32_t epoch);
/* A chunk's segment at a device of the ring. */
struct t3_cmd_seg_map reduce_segment(const struct conf_space *s, unsigned device, unsigned count,
				     unsigned chunk);

#endif
