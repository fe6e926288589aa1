// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/device.h"
#include "trace/tracks.h"

/* The six digits after a dot, in ns. NULL: they are something else. */
static char *microseconds(char *text, int64_t *ns)
{
	char *rest;

	if (*text != '.' || strspn(text + 1, "0123456789") != 6)
		return NULL;
	*ns += strtoll(text + 1, &rest, 10) * 1000;
	return rest;
}

/* QEMU 10.0: "THREAD@SECONDS.MICROSECONDS:". The text after it, or NULL. */
static char *thread_and_seconds(char *text, int64_t *ns)
{
	size_t thread = strspn(text, "0123456789");
	char *rest;

	if (!thread || text[thread] != '@')
		return NULL;
	*ns = strtoll(text + thread + 1, &rest, 10);
	if (*ns < 0 || *ns > INT64_MAX / 2000000000)
		return NULL;
	*ns *= 1000000000;
	rest = microseconds(rest, ns);
	return rest && *rest == ':' ? rest + 1 : NULL;
}

/*
 * QEMU 10.2: "YYYY-MM-DDTHH:MM:SS.MICROSECONDSZ ". At a full second it writes no fraction. The text
 * after it, or NULL.
 */
static char *date_and_time(char *text, int64_t *ns)
{
	struct tm utc = { 0 };
	char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &utc);
	int64_t seconds;

	if (!rest)
		return NULL;
	seconds = timegm(&utc);
	if (seconds < 0 || seconds > INT64_MAX / 2000000000)
		return NULL;
	*ns = seconds * 1000000000;
	if (*rest == '.')
		rest = microseconds(rest, ns);
	return rest && !strncmp(rest, "Z ", 2) ? rest + 2 : NULL;
}

/* A time, then "t3_EVENT rank R FIELDS" */
bool device_line_parse(char *text, struct device_line *line)
{
	char *event, *fields;

	text[strcspn(text, "\n")] = '\0';
	event = thread_and_seconds(text, &line->ns);
	if (!event)
		event = date_and_time(text, &line->ns);
	if (!event || strncmp(event, "t3_", 3) != 0)
		return false;
	fields = strstr(event, " rank ");
	if (!fields)
		return false;
	*fields = '\0';
	line->event = event + 3;
	line->fields = fields + 1;
	line->rank = (uint32_t)strtoul(fields + strlen(" rank "), NULL, 10);
	return true;
}

/* Copy the word after "name " or "name=", or "" without one. */
static void device_field(const char *fields, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);
	const char *at;

	*value = '\0';
	for (at = fields; at; at = strchr(at, ' ')) {
		at += strspn(at, " ");
		if (strncmp(at, name, length) != 0 || !strchr("= ", at[length]) || !at[length])
			continue;
		at += length + 1;
		snprintf(value, size, "%.*s", (int)strcspn(at, " "), at);
		return;
	}
}

static uint32_t number_of(const struct device_line *line, const char *name)
{
	char value[24];

	device_field(line->fields, name, value, sizeof(value));
	return (uint32_t)strtoul(value, NULL, 0);
}

static bool is(const struct device_line *line, const char *event)
{
	return !strcmp(line->event, event);
}

/* "FROM -> TO" */
static void arrow(const struct device_line *line, char *state, size_t size)
{
	const char *to = strstr(line->fields, " -> ");

	*state = '\0';
	if (to)
		snprintf(state, size, "%.*s", (int)strcspn(to + 4, " "), to + 4);
}

bool device_line_state(const struct device_line *line, struct state_change *change)
{
	if (!is(line, "space_state"))
		return false;
	*change = (struct state_change){ .rank = line->rank,
					 .space = number_of(line, "space"),
					 .epoch = number_of(line, "epoch"),
					 .ns = line->ns };
	arrow(line, change->state, sizeof(change->state));
	return *change->state != '\0';
}

/* The place and time of an event. */
struct place {
	const struct device_line *line;
	struct perfetto *timeline;
	struct track track;
	int64_t ns;
};

static json_t *fields_of(const struct place *place)
{
	return json_pack("{s:s}", "fields", place->line->fields);
}

static void add_state(const struct place *place, const char *category)
{
	char state[16], name[48], epoch[16];

	arrow(place->line, state, sizeof(state));
	device_field(place->line->fields, "epoch", epoch, sizeof(epoch));
	snprintf(name, sizeof(name), "%s%s%s", state, *epoch ? " " : "", epoch);
	perfetto_end(place->timeline, place->track, place->ns);
	if (strcmp(state, "FREE") != 0)
		perfetto_begin(place->timeline, place->track, place->ns, category, name,
			       fields_of(place));
}

/*
 * A segment sends its blocks in turn. The log does not show the end of a block that a fault ended.
 */
static void add_block(struct place *place, uint32_t space)
{
	uint32_t segment = number_of(place->line, "segment") % 64;
	char name[48];

	place->track.tid = TRACK_BLOCKS_HW + 64 * space + segment;
	perfetto_name_track(place->timeline, place->track, "space %u: blocks of segment %u", space,
			    segment);
	perfetto_end(place->timeline, place->track, place->ns);
	if (!is(place->line, "block_started"))
		return;
	snprintf(name, sizeof(name), "from tile %u", number_of(place->line, "first_tile"));
	perfetto_begin(place->timeline, place->track, place->ns, "block", name, fields_of(place));
}

/* The device's states are slices. Faults are instants beside them. */
static void add_space_state(struct place *place, uint32_t space)
{
	place->track.tid = TRACK_SPACE_HW + 10 * space;
	perfetto_name_track(place->timeline, place->track, "space %u: in the device", space);
	if (is(place->line, "space_state"))
		add_state(place, "device state");
	else
		perfetto_instant(place->timeline, place->track, place->ns, "device fault",
				 place->line->event, fields_of(place));
}

static void add_tile(struct place *place, uint32_t space)
{
	char name[64];

	place->track.tid = TRACK_TILES_HW + 10 * space;
	perfetto_name_track(place->timeline, place->track, "space %u: tiles", space);
	snprintf(name, sizeof(name), "segment %u tile %u", number_of(place->line, "segment"),
		 number_of(place->line, "tile"));
	perfetto_instant(place->timeline, place->track, place->ns, place->line->event, name,
			 fields_of(place));
}

static void add_space_event(struct place *place)
{
	uint32_t space = number_of(place->line, "space") % 1024;

	if (!strncmp(place->line->event, "block_", 6))
		add_block(place, space);
	else if (!strncmp(place->line->event, "space_", 6))
		add_space_state(place, space);
	else
		add_tile(place, space);
}

static void add_queue_event(struct place *place)
{
	uint32_t queue = number_of(place->line, "queue") % 1000;

	place->track.tid = TRACK_QUEUE_HW + queue;
	perfetto_name_track(place->timeline, place->track, "queue %u: in the device", queue);
	if (is(place->line, "queue_state"))
		add_state(place, "device queue");
	else
		perfetto_instant(place->timeline, place->track, place->ns, "descriptor",
				 place->line->event, fields_of(place));
}

/* "rank R to P KIND packet=N": the injected fault and the packet that it hit. Else "". */
static void accident(const struct device_line *line, char *name, size_t size)
{
	char kind[24];

	*name = '\0';
	if (is(line, "link_accident") && sscanf(line->fields, "rank %*u to %*u %23s", kind) == 1)
		snprintf(name, size, "%s of packet %u", kind, number_of(line, "packet"));
}

static void add_link_event(struct place *place)
{
	uint32_t peer = number_of(place->line, "to") % 256;
	char name[48];

	place->track.tid = TRACK_LINK_HW + peer;
	perfetto_name_track(place->timeline, place->track, "link to rank %u", peer);
	accident(place->line, name, sizeof(name));
	perfetto_instant(place->timeline, place->track, place->ns, "link",
			 *name ? name : place->line->event, fields_of(place));
}

void device_line_add(const struct device_line *line, struct perfetto *timeline, uint32_t pid,
		     int64_t ns)
{
	struct place place = { line, timeline, { pid, TRACK_FUNCTION }, ns };
	char value[24];

	device_field(line->fields, "space", value, sizeof(value));
	if (*value && !is(line, "nak")) {
		add_space_event(&place);
		return;
	}
	device_field(line->fields, "queue", value, sizeof(value));
	if (*value) {
		add_queue_event(&place);
		return;
	}
	if (!strncmp(line->event, "link_", 5)) {
		add_link_event(&place);
		return;
	}
	if (is(line, "irq"))
		place.track.tid = TRACK_INTERRUPTS;
	perfetto_name_track(timeline, place.track, is(line, "irq") ? "interrupts" : "function");
	perfetto_instant(timeline, place.track, ns, "device", line->event, fields_of(&place));
}
