/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting for the stores of vCPUs. */
#include "qemu/osdep.h"
#include "qemu/processor.h"
#include "sync/lane.h"

/* A store takes some ten nanoseconds, unless its thread has lost its processor. */
#define T3_LANE_SPINS 1024

T3Lane t3_lanes[T3_LANES];

static void wait_for(const T3Lane *lane)
{
	int i;

	for (i = 1; qatomic_load_acquire(&lane->marked); i++)
		if (i % T3_LANE_SPINS)
			cpu_relax();
		else
			sched_yield();
}

void t3_lanes_wait(void)
{
	uint32_t i;

	smp_mb(); /* pairs with t3_lane_mark(): either sees what the other wrote */
	for (i = 0; i < T3_LANES; i++)
		wait_for(&t3_lanes[i]);
}
