/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lanes of vCPUs. A vCPU's usual store takes no lock: it marks its lane, and goes if the
 * fabric's gate is open. Whoever needs the core for itself closes the gate, and waits until no lane
 * is marked. Only the vCPU writes its mark, so stores of several vCPUs do not hinder each other.
 */
#ifndef T3_LANE_H
#define T3_LANE_H

#include "qemu/atomic.h"
#include "hw/core/cpu.h"
#include "t3_core.h"

typedef struct T3Lane {
	int marked;
} QEMU_ALIGNED(128) T3Lane;

/* Of all fabrics, so that a lane lives as long as its vCPU. */
extern T3Lane t3_lanes[T3_LANES];

/* After the gate was closed: returns when no store that found it open still runs. */
void t3_lanes_wait(void);

static inline uint32_t t3_lane_of_vcpu(void)
{
	return (uint32_t)current_cpu->cpu_index % T3_LANES;
}

/* False: another vCPU has the lane. The gate is looked at after this. */
static inline bool t3_lane_mark(uint32_t lane)
{
	return !qatomic_xchg(&t3_lanes[lane].marked, 1);
}

static inline void t3_lane_clear(uint32_t lane)
{
	qatomic_store_release(&t3_lanes[lane].marked, 0);
}

#endif /* T3_LANE_H */
