// SPDX-License-Identifier: MIT
#include "victim.h"

#define HALF  (RAW_SEGMENT_BYTES / 2)
#define VALUE 5u

void victim_begin(const struct raw *raw)
{
	raw_map_local(raw);
	raw_arm(raw, 1);
	raw_fill(raw, 0, HALF, VALUE);
}

static void check_untouched(const struct raw *raw)
{
	struct drm_t3_space_stats stats;

	CHECK_EQ(raw_state(raw), DRM_T3_SPACE_ARMED);
	CHECK_EQ(raw->events->faults, 0);
	CHECK_EQ(raw->events->dropped, 0);
	CHECK_EQ(raw_stats(raw, 0, &stats), 0);
	CHECK_EQ(stats.local_bytes, HALF);
	CHECK_EQ(stats.remote_bytes, 0);
}

void victim_finish(const struct raw *raw)
{
	uint32_t i;

	check_untouched(raw);
	raw_fill(raw, HALF, HALF, VALUE);
	CHECK_EQ(raw_wait(raw, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
		CHECK_EQ(((volatile uint32_t *)raw->memory)[i], VALUE);
}
