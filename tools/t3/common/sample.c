// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "common/sample.h"

int sample_take(const struct tool_devices *devices, struct sample *sample)
{
	size_t i;
	int ret = 0;

	*sample = (struct sample){ .ns = now_ns(), .count = devices->count };
	sample->counters = calloc(devices->count, sizeof(*sample->counters));
	if (!sample->counters)
		return complain(EXIT_FAIL, "no memory for counters");
	for (i = 0; i < devices->count && !ret; i++)
		ret = t3_device_counters(devices->list[i].dev, &sample->counters[i]);
	if (!ret)
		return EXIT_OK;
	sample_free(sample);
	return complain(EXIT_FAIL, "the counters of device %zu could not be read: %s",
			devices->list[i - 1].index, strerror(-ret));
}

void sample_free(struct sample *sample)
{
	free(sample->counters);
	*sample = (struct sample){ 0 };
}

bool counter_is_level(uint32_t counter)
{
	return counter == T3_DEVICE_TRACKER_LIVE || counter == T3_DEVICE_TRACKER_PEAK;
}

/* A sum is smaller than before only after a reset of the device. */
static bool was_reset(const struct drm_t3_counters *before, const struct drm_t3_counters *after)
{
	uint32_t i;

	for (i = 0; i < counters_known(after); i++)
		if (!counter_is_level(i) && after->value[i] < before->value[i])
			return true;
	return false;
}

void sample_change(const struct sample *before, const struct sample *after, size_t device,
		   struct change *change)
{
	const struct drm_t3_counters *first = &before->counters[device];
	const struct drm_t3_counters *last = &after->counters[device];
	uint32_t i;

	*change = (struct change){ .ns = after->ns - before->ns,
				   .reset = was_reset(first, last),
				   .count = counters_known(last) };
	for (i = 0; i < change->count; i++) {
		change->value[i] = last->value[i];
		if (!counter_is_level(i) && !change->reset)
			change->value[i] -= first->value[i];
	}
}

double change_rate(const struct change *change, uint32_t counter)
{
	return change->ns ? (double)change->value[counter] * 1e9 / (double)change->ns : 0;
}

double change_hit_percent(const struct change *change)
{
	uint64_t hits = change->value[T3_DEVICE_TRACKER_HIT];
	uint64_t all = hits + change->value[T3_DEVICE_TRACKER_ALLOC];

	return all ? 100.0 * (double)hits / (double)all : 100;
}

json_t *change_to_json(const struct change *change)
{
	json_t *object = json_object();
	uint32_t i;

	for (i = 0; i < change->count; i++)
		json_object_set_new(object, t3_counter_name(i),
				    json_integer((json_int_t)change->value[i]));
	return object;
}
