// SPDX-License-Identifier: MIT
#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/perfetto.h"

struct open_track {
	struct track track;
	unsigned int depth;
	bool named;
	struct open_track *next;
};

struct event {
	int64_t ns;
	size_t number; /* orders events with equal times */
	json_t *object;
};

struct perfetto {
	struct event *events;
	size_t count, room;
	void *tracks; /* tree of struct open_track */
	struct open_track *list;
	json_t *names;
	bool failed; /* no memory: perfetto_write() reports it */
};

struct perfetto *perfetto_new(void)
{
	struct perfetto *timeline = calloc(1, sizeof(*timeline));

	if (timeline)
		timeline->names = json_array();
	return timeline;
}

static int by_track(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

void perfetto_free(struct perfetto *timeline)
{
	struct open_track *track, *next;
	size_t i;

	if (!timeline)
		return;
	for (i = 0; i < timeline->count; i++)
		json_decref(timeline->events[i].object);
	for (track = timeline->list; track; track = next) {
		next = track->next;
		tdelete(track, &timeline->tracks, by_track);
		free(track);
	}
	json_decref(timeline->names);
	free(timeline->events);
	free(timeline);
}

static const struct open_track *find(const struct perfetto *timeline, struct track track)
{
	void *const *found = tfind(&track, &timeline->tracks, by_track);

	return found ? *found : NULL;
}

static struct open_track *get(struct perfetto *timeline, struct track track)
{
	struct open_track *fresh = (struct open_track *)find(timeline, track);

	if (fresh)
		return fresh;
	fresh = calloc(1, sizeof(*fresh));
	if (!fresh) {
		timeline->failed = true;
		return NULL;
	}
	*fresh = (struct open_track){ .track = track, .next = timeline->list };
	timeline->list = fresh;
	if (!tsearch(fresh, &timeline->tracks, by_track))
		timeline->failed = true;
	return fresh;
}

unsigned int perfetto_depth(const struct perfetto *timeline, struct track track)
{
	const struct open_track *open = find(timeline, track);

	return open ? open->depth : 0;
}

/* Takes ownership of the object. */
static void add(struct perfetto *timeline, int64_t ns, json_t *object)
{
	size_t room = timeline->room ? 2 * timeline->room : 1024;
	struct event *events;

	if (timeline->count == timeline->room) {
		events = reallocarray(timeline->events, room, sizeof(*events));
		if (!events) {
			timeline->failed = true;
			json_decref(object);
			return;
		}
		timeline->events = events;
		timeline->room = room;
	}
	timeline->failed |= !object;
	timeline->events[timeline->count] = (struct event){ ns, timeline->count, object };
	timeline->count++;
}

/* The format's unit is the microsecond. */
static json_t *make(const char *phase, struct track track, int64_t ns, const char *category,
		    const char *name)
{
	return json_pack("{s:s, s:I, s:I, s:f, s:s, s:s}", "ph", phase, "pid",
			 (json_int_t)track.pid, "tid", (json_int_t)track.tid, "ts",
			 (double)ns / 1000, "cat", category, "name", name);
}

static void add_args(json_t *event, json_t *args)
{
	if (args)
		json_object_set_new(event, "args", args);
}

static void add_name(struct perfetto *timeline, const char *kind, struct track track,
		     const char *key, json_t *value)
{
	json_array_append_new(timeline->names,
			      json_pack("{s:s, s:I, s:I, s:s, s:{s:o}}", "ph", "M", "pid",
					(json_int_t)track.pid, "tid", (json_int_t)track.tid, "name",
					kind, "args", key, value));
}

void perfetto_name_process(struct perfetto *timeline, uint32_t pid, const char *name)
{
	struct track track = { pid, 0 };

	add_name(timeline, "process_name", track, "name", json_string(name));
	add_name(timeline, "process_sort_index", track, "sort_index", json_integer(pid));
}

void perfetto_name_track(struct perfetto *timeline, struct track track, const char *format, ...)
{
	struct open_track *open = get(timeline, track);
	char name[96];
	va_list args;

	if (!open || open->named)
		return;
	open->named = true;
	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	add_name(timeline, "thread_name", track, "name", json_string(name));
	add_name(timeline, "thread_sort_index", track, "sort_index", json_integer(track.tid));
}

void perfetto_begin(struct perfetto *timeline, struct track track, int64_t ns, const char *category,
		    const char *name, json_t *args)
{
	struct open_track *open = get(timeline, track);
	json_t *event = make("B", track, ns, category, name);

	add_args(event, args);
	add(timeline, ns, event);
	if (open)
		open->depth++;
}

void perfetto_end(struct perfetto *timeline, struct track track, int64_t ns)
{
	struct open_track *open = get(timeline, track);

	if (!open || !open->depth)
		return;
	open->depth--;
	add(timeline, ns, make("E", track, ns, "", ""));
}

void perfetto_slice(struct perfetto *timeline, struct track track, int64_t ns, int64_t end_ns,
		    const char *category, const char *name, json_t *args)
{
	json_t *event = make("X", track, ns, category, name);

	json_object_set_new(event, "dur", json_real((double)(end_ns - ns) / 1000));
	add_args(event, args);
	add(timeline, ns, event);
}

void perfetto_instant(struct perfetto *timeline, struct track track, int64_t ns,
		      const char *category, const char *name, json_t *args)
{
	json_t *event = make("i", track, ns, category, name);

	json_object_set_new(event, "s", json_string("t"));
	add_args(event, args);
	add(timeline, ns, event);
}

void perfetto_counter(struct perfetto *timeline, uint32_t pid, int64_t ns, const char *name,
		      double value)
{
	json_t *event = make("C", (struct track){ pid, 0 }, ns, "counter", name);

	json_object_set_new(event, "args", json_pack("{s:f}", "value", value));
	add(timeline, ns, event);
}

bool perfetto_add_json(struct perfetto *timeline, json_t *event)
{
	const json_t *ts = json_object_get(event, "ts");
	double us = json_number_value(ts);

	if (!json_is_string(json_object_get(event, "ph")))
		return false;
	if (!strcmp(json_string_value(json_object_get(event, "ph")), "M"))
		return !json_array_append(timeline->names, event);
	if (!json_is_number(ts) || !(us > -9e15 && us < 9e15))
		return false;
	add(timeline, (int64_t)(us * 1000), json_incref(event));
	return true;
}

bool perfetto_range(const struct perfetto *timeline, int64_t *first_ns, int64_t *last_ns)
{
	size_t i;

	*first_ns = INT64_MAX;
	*last_ns = INT64_MIN;
	for (i = 0; i < timeline->count; i++) {
		if (timeline->events[i].ns < *first_ns)
			*first_ns = timeline->events[i].ns;
		if (timeline->events[i].ns > *last_ns)
			*last_ns = timeline->events[i].ns;
	}
	return timeline->count > 0;
}

void perfetto_close(struct perfetto *timeline)
{
	struct open_track *open;
	int64_t first, last;

	if (!perfetto_range(timeline, &first, &last))
		return;
	for (open = timeline->list; open; open = open->next)
		while (open->depth)
			perfetto_end(timeline, open->track, last);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

json_t *perfetto_events(struct perfetto *timeline)
{
	json_t *events = json_array();
	size_t i;

	qsort(timeline->events, timeline->count, sizeof(*timeline->events), by_time);
	json_array_extend(events, timeline->names);
	for (i = 0; i < timeline->count; i++)
		if (json_array_append(events, timeline->events[i].object))
			timeline->failed = true;
	return events;
}

int perfetto_write(struct perfetto *timeline, const char *path, json_t *facts)
{
	json_t *root = json_pack("{s:s, s:o, s:o}", "displayTimeUnit", "ns", "otherData", facts,
				 "traceEvents", perfetto_events(timeline));
	int ret = 0;
	FILE *file;

	if (!root || timeline->failed) {
		json_decref(root);
		return -ENOMEM;
	}
	file = fopen(path, "we");
	if (file) {
		if (json_dumpf(root, file, JSON_COMPACT) || fputc('\n', file) == EOF)
			ret = -EIO;
		if (fclose(file))
			ret = -errno;
	} else {
		ret = -errno;
	}
	json_decref(root);
	return ret;
}
