/* SPDX-License-Identifier: MIT */
/* Counters of devices at one moment, and what has changed between two. */
#ifndef T3_SAMPLE_H
#define T3_SAMPLE_H

#include "common/devices.h"

struct sample {
	uint64_t ns; /* CLOCK_MONOTONIC */
	size_t count;
	struct drm_t3_counters *counters; /* by device */
};

/* On failure one sentence has been printed; an exit code. */
int sample_take(const struct tool_devices *devices, struct sample *sample);
void sample_free(struct sample *sample);

/* The counters that are a level, not a sum. */
bool counter_is_level(uint32_t counter);

/* One device in the time between two samples. */
struct change {
	uint64_t ns;
	bool reset; /* the counters began again: values are those since */
	uint32_t count;
	uint64_t value[T3_DEVICE_COUNTER_COUNT]; /* a level's: at the end */
};

void sample_change(const struct sample *before, const struct sample *after, size_t device,
		   struct change *change);
double change_rate(const struct change *change, uint32_t counter);
/* Updates that found their entry in the tracker, in percent; 100 where there were none. */
double change_hit_percent(const struct change *change);
/* An object by counter names. */
json_t *change_to_json(const struct change *change);

#endif /* T3_SAMPLE_H */
