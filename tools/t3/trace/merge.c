// SPDX-License-Identifier: MIT
/* t3 trace --merge: puts the driver's timeline and the devices' log on one clock. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"
#include "trace/clock.h"

#define RANKS 32

struct merge {
	const struct trace_args *args;
	json_t *guest;
	struct perfetto *timeline;
	struct state_changes device, driver;
	struct clock_match match;
	uint32_t process[RANKS];   /* of the timeline, 0: no such rank */
	int64_t first_ns, last_ns; /* of the driver's timeline */
	size_t logged;		   /* events of devices in the whole log */
	size_t events;		   /* events of devices in the timeline's range */
};

static int refuse_guest(const struct merge *m, const char *why)
{
	return complain(EXIT_FAIL, "%s: %s; `t3 trace` writes what --merge takes", m->args->guest,
			why);
}

static int read_devices(struct merge *m)
{
	json_t *devices, *device;
	json_int_t rank, index;
	size_t i;

	devices = json_object_get(json_object_get(m->guest, "otherData"), "devices");
	if (!json_array_size(devices))
		return refuse_guest(m, "it does not say which devices it is of");
	json_array_foreach(devices, i, device)
	{
		rank = json_integer_value(json_object_get(device, "rank"));
		index = json_integer_value(json_object_get(device, "index"));
		if (rank < 0 || rank >= RANKS || index < 0 || index > 255)
			return refuse_guest(m, "a device has an impossible rank or index");
		if (m->process[rank])
			return refuse_guest(m,
					    "two devices have the same rank, so they are of "
					    "several fabrics, which the log does not tell apart");
		m->process[rank] = (uint32_t)index + 1;
	}
	return EXIT_OK;
}

static uint32_t rank_of(const struct merge *m, json_int_t process)
{
	uint32_t rank;

	for (rank = 0; rank < RANKS; rank++)
		if (m->process[rank] == process)
			return rank;
	return RANKS;
}

/* Read a slice of the driver's timeline that begins a space's state. */
static bool driver_state(const struct merge *m, const json_t *event, struct state_change *change)
{
	const char *category = json_string_value(json_object_get(event, "cat"));
	const json_t *args = json_object_get(event, "args");
	const char *state = json_string_value(json_object_get(args, "state"));

	if (!category || strcmp(category, "state") != 0 || !state)
		return false;
	*change = (struct state_change){
		.rank = rank_of(m, json_integer_value(json_object_get(event, "pid"))),
		.space = (uint32_t)json_integer_value(json_object_get(args, "space")),
		.epoch = (uint32_t)json_integer_value(json_object_get(args, "epoch")),
		.ns = (int64_t)(json_number_value(json_object_get(event, "ts")) * 1000),
	};
	snprintf(change->state, sizeof(change->state), "%s", state);
	return change->rank < RANKS;
}

static int read_guest(struct merge *m)
{
	struct state_change change;
	json_t *events, *event;
	json_error_t error;
	size_t i;
	int ret;

	m->guest = json_load_file(m->args->guest, JSON_REJECT_DUPLICATES, &error);
	if (!m->guest)
		return refuse_guest(m, error.text);
	ret = read_devices(m);
	if (ret)
		return ret;
	events = json_object_get(m->guest, "traceEvents");
	json_array_foreach(events, i, event)
	{
		if (!perfetto_add_json(m->timeline, event))
			return refuse_guest(m, "it has a malformed event");
		if (driver_state(m, event, &change) && !state_changes_add(&m->driver, &change))
			return complain(EXIT_FAIL, "no memory for the events");
	}
	return EXIT_OK;
}

/* Read the log line by line, twice: for the clock, then for the timeline. */
static int each_line(struct merge *m, bool (*take)(struct merge *m, const struct device_line *line))
{
	struct device_line line;
	size_t size = 0;
	char *text = NULL;
	bool good = true;
	FILE *file;

	file = fopen(m->args->qemu_log, "re");
	if (!file)
		return complain(EXIT_FAIL, "%s could not be read: %s", m->args->qemu_log,
				strerror(errno));
	while (good && getline(&text, &size, file) > 0) {
		if (!device_line_parse(text, &line))
			continue;
		good = take(m, &line);
	}
	if (good && ferror(file))
		complain(EXIT_FAIL, "%s could not be read", m->args->qemu_log);
	good = good && !ferror(file);
	free(text);
	fclose(file);
	return good ? EXIT_OK : EXIT_FAIL;
}

static bool take_state(struct merge *m, const struct device_line *line)
{
	struct state_change change;

	m->logged++;
	if (!device_line_state(line, &change) || state_changes_add(&m->device, &change))
		return true;
	complain(EXIT_FAIL, "no memory for the events");
	return false;
}

/* Leave out events outside the driver's timeline, because the driver's side of them is missing. */
static bool take_event(struct merge *m, const struct device_line *line)
{
	int64_t ns = line->ns + m->match.offset_ns;

	if (line->rank >= RANKS || !m->process[line->rank] || ns < m->first_ns || ns > m->last_ns)
		return true;
	device_line_add(line, m->timeline, m->process[line->rank], ns);
	m->events++;
	return true;
}

static int align(struct merge *m)
{
	int ret = each_line(m, take_state);

	if (ret)
		return ret;
	if (!m->logged)
		return complain(EXIT_FAIL,
				"%s has no event of a device with a time: QEMU logs them with "
				"-trace 't3_*' -msg timestamp=on",
				m->args->qemu_log);
	if (!clock_match(&m->device, &m->driver, &m->match))
		return complain(EXIT_FAIL,
				"%s and %s have no state of a space in common: they are not of "
				"the same run",
				m->args->guest, m->args->qemu_log);
	return EXIT_OK;
}

static json_t *facts_of(const struct merge *m)
{
	json_t *facts = json_deep_copy(json_object_get(m->guest, "otherData"));

	json_object_set_new(facts, "device_events", json_integer((json_int_t)m->events));
	json_object_set_new(facts, "aligned_by", json_integer((json_int_t)m->match.pairs));
	json_object_set_new(facts, "driver_later_us", json_real((double)m->match.median_ns / 1000));
	return facts;
}

static int save(struct merge *m)
{
	json_t *facts = facts_of(m);
	char text[160];
	int ret;

	perfetto_close(m->timeline);
	snprintf(text, sizeof(text),
		 "%zu events of devices, aligned by %zu states; the driver saw them %.0f us later "
		 "(median)",
		 m->events, m->match.pairs, (double)m->match.median_ns / 1000);
	ret = perfetto_write(m->timeline, m->args->output, json_incref(facts));
	if (ret)
		ret = complain(EXIT_FAIL, "%s could not be written: %s", m->args->output,
			       strerror(-ret));
	else
		ret = trace_report(m->args, m->args->common.json ? stdout : stderr, text, facts);
	json_decref(facts);
	return ret;
}

int trace_merge(const struct trace_args *args)
{
	struct merge m = { .args = args, .timeline = perfetto_new() };
	int ret;

	if (!m.timeline)
		return complain(EXIT_FAIL, "no memory for the timeline");
	ret = read_guest(&m);
	if (!ret && !perfetto_range(m.timeline, &m.first_ns, &m.last_ns))
		ret = refuse_guest(&m, "it has no events");
	if (!ret)
		ret = align(&m);
	if (!ret)
		ret = each_line(&m, take_event);
	if (!ret)
		ret = save(&m);
	perfetto_free(m.timeline);
	state_changes_free(&m.device);
	state_changes_free(&m.driver);
	json_decref(m.guest);
	return ret;
}
