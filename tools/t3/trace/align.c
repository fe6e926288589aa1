// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "trace/align.h"

#define NS_MOST 9000000000000000000LL /* of a clock; perfetto_add_json() has its own bound */

struct clock_reading clock_read(int64_t sent, int64_t other, int64_t received)
{
	int64_t half = (received - sent) / 2;

	/* The answer's time has been rounded by up to 1 ns. */
	return (struct clock_reading){ .at_ns = sent + half,
				       .offset_ns = other - (sent + half),
				       .error_ns = half + 1 };
}

/* Clocks of machines differ by some parts in a million at most, so a line is as good as a curve. */
int64_t clock_offset(const struct clock_reading reading[2], int64_t at_ns)
{
	int64_t span = reading[1].at_ns - reading[0].at_ns;
	double part;

	if (span <= 0)
		return reading[0].offset_ns;
	part = (double)(at_ns - reading[0].at_ns) / (double)span;
	return reading[0].offset_ns +
	       (int64_t)(part * (double)(reading[1].offset_ns - reading[0].offset_ns));
}

json_t *clock_to_json(const struct clock_reading reading[2])
{
	json_t *list = json_array();
	int i;

	for (i = 0; i < 2; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "at_ns",
						      (json_int_t)reading[i].at_ns, "offset_ns",
						      (json_int_t)reading[i].offset_ns, "error_ns",
						      (json_int_t)reading[i].error_ns));
	return list;
}

static bool read_ns(const json_t *object, const char *key, int64_t *ns)
{
	const json_t *value = json_object_get(object, key);

	*ns = json_integer_value(value);
	return json_is_integer(value) && *ns > -NS_MOST / 4 && *ns < NS_MOST / 4;
}

bool clock_from_json(const json_t *list, struct clock_reading reading[2])
{
	const json_t *object;
	size_t i;

	if (json_array_size(list) != 2)
		return false;
	json_array_foreach(list, i,
			   object) if (!read_ns(object, "at_ns", &reading[i].at_ns) ||
				       !read_ns(object, "offset_ns", &reading[i].offset_ns) ||
				       !read_ns(object, "error_ns", &reading[i].error_ns) ||
				       reading[i].error_ns < 0) return false;
	return true;
}

/* The viewer orders processes by a number, which is that of the process. */
static void move_process(json_t *event, json_int_t pid, uint32_t node)
{
	json_t *args = json_object_get(event, "args");
	const char *name = json_string_value(json_object_get(event, "name"));

	json_object_set_new(event, "pid", json_integer(pid + node * NODE_PROCESSES));
	if (name && !strcmp(name, "process_sort_index") && json_is_object(args))
		json_object_set_new(args, "sort_index", json_integer(pid + node * NODE_PROCESSES));
}

static bool add(struct perfetto *timeline, json_t *event, uint32_t node,
		const struct clock_reading reading[2])
{
	json_int_t pid = json_integer_value(json_object_get(event, "pid"));
	const json_t *ts = json_object_get(event, "ts");
	double us = json_number_value(ts);

	if (pid < 1 || pid >= NODE_PROCESSES || !(us > -1e15 && us < 1e15))
		return false;
	move_process(event, pid, node);
	if (ts)
		json_object_set_new(
			event, "ts",
			json_real(us + (double)clock_offset(reading, (int64_t)(us * 1000)) / 1000));
	return perfetto_add_json(timeline, event);
}

long align_events(struct perfetto *timeline, json_t *events, uint32_t node,
		  const struct clock_reading reading[2])
{
	long count = 0;
	json_t *event;
	size_t i;

	if (!json_is_array(events))
		return -1;
	json_array_foreach(events, i, event)
	{
		if (!add(timeline, event, node, reading))
			return -1;
		count++;
	}
	return count;
}
