/* SPDX-License-Identifier: MIT */
/* The counters of devices at one moment, and the changes between two moments. */
#ifndef T3_SAMPLE_H
#define T3_SAMPLE_H

#include "common/devices.h"

struct sample {
	uint64_t ns; /* CLOCK_MONOTONIC */
	size_t count;
	struct drm_t3_counters *counters; /* by device */
};

/* Returns an exit code. On failure it has printed one sentence. */
int sample_take(const struct tool_devices *devices, struct sample *sample);
void sample_free(struct sample *sample);

/* Whether a counter is a level, not a sum. */
bool counter_is_level(uint32_t counter);

/* The changes of one device between two samples. */
struct change {
	uint64_t ns;
	bool reset; /* the device was reset: values are those since the reset */
	uint32_t count;
	uint64_t value[T3_DEVICE_COUNTER_COUNT]; /* of a level: its value at the end */
};

void sample_change(const struct sample *before, const struct sample *after, size_t device,
		   struct change *change);
double change_rate(const struct change *change, uint32_t counter);
/* Updates that hit the tracker, in percent, or 100 without updates. */
double change_hit_percent(const struct change *change);
/* An object with counter names as keys. */
json_t *change_to_json(const struct change *change);

#endif /* T3_SAMPLE_H */
