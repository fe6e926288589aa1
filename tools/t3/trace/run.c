// SPDX-License-Identifier: MIT
/* t3 trace -- CMD: records the driver's events and the devices' counters while a command runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/sample.h"
#include "trace/trace.h"
#include "trace/driver.h"
#include "trace/nodes.h"

struct recording {
	const struct trace_args *args;
	struct tool_devices devices;
	struct tracefs tracefs;
	struct perfetto *timeline;
	struct sample last; /* counters of the last sample */
	struct trace_nodes *nodes;
};

/* Add the changes since the last sample, as rates. */
static int look(struct recording *r)
{
	struct change change;
	struct sample now;
	uint32_t pid;
	size_t i;

	if (sample_take(&r->devices, &now))
		return EXIT_OWN_FAILURE;
	for (i = 0; r->last.counters && i < r->devices.count; i++) {
		pid = (uint32_t)r->devices.list[i].index + 1;
		sample_change(&r->last, &now, i, &change);
		perfetto_counter(r->timeline, pid, (int64_t)now.ns, "stores/s",
				 change_rate(&change, T3_DEVICE_STORES));
		perfetto_counter(r->timeline, pid, (int64_t)now.ns, "link bytes/s sent",
				 change_rate(&change, T3_DEVICE_LINK_TX_BYTES));
		perfetto_counter(r->timeline, pid, (int64_t)now.ns, "queue bytes/s",
				 change_rate(&change, T3_DEVICE_QUEUE_BYTES));
		perfetto_counter(r->timeline, pid, (int64_t)now.ns, "tracker entries",
				 (double)change.value[T3_DEVICE_TRACKER_LIVE]);
		perfetto_counter(r->timeline, pid, (int64_t)now.ns, "virtual clock (ns)",
				 (double)now.counters[i].vtime_ns);
	}
	sample_free(&r->last);
	r->last = now;
	return 0;
}

/* Return the number of lines that were events, or a negative number when reading failed. */
static long read_events(struct recording *r)
{
	struct trace_driver *driver = trace_driver_new(&r->devices, r->timeline);
	FILE *file = driver ? tracefs_open(&r->tracefs) : NULL;
	struct trace_line line;
	char *text = NULL;
	size_t size = 0;
	long count = file ? 0 : -1;

	while (file && getline(&text, &size, file) > 0) {
		if (!trace_line_parse(text, &line))
			continue;
		trace_driver_add(driver, &line);
		count++;
	}
	if (file)
		fclose(file);
	if (driver)
		trace_driver_finish(driver);
	trace_driver_free(driver);
	free(text);
	return count;
}

static int save(struct recording *r, long events, uint64_t lost, int status)
{
	json_t *devices = json_array(), *facts;
	size_t i;
	char text[320], more[160] = "";
	int ret = 0;

	for (i = 0; i < r->devices.count; i++)
		json_array_append_new(devices, device_to_json(&r->devices.list[i]));
	facts = json_pack("{s:s, s:I, s:I, s:i, s:o}", "clock", "CLOCK_MONOTONIC", "events",
			  (json_int_t)events, "lost", (json_int_t)lost, "status", status, "devices",
			  devices);
	if (trace_nodes_end(r->nodes, r->timeline, facts, more, sizeof(more))) {
		json_decref(facts);
		return EXIT_OWN_FAILURE;
	}
	snprintf(text, sizeof(text), "%ld events of %zu devices, %llu lost%s%s", events,
		 r->devices.count, (unsigned long long)lost,
		 lost ? ": a larger --buffer keeps them" : "", more);
	/* The timelines of the other nodes are in node 0's file. */
	if (!trace_nodes_own(r->nodes))
		ret = perfetto_write(r->timeline, r->args->output, json_incref(facts));
	if (ret)
		ret = complain(EXIT_OWN_FAILURE, "%s could not be written: %s", r->args->output,
			       strerror(-ret));
	else if (trace_report(r->args, stderr, text, facts))
		ret = EXIT_OWN_FAILURE;
	json_decref(facts);
	return ret ? ret : status;
}

static void name_devices(struct recording *r)
{
	const struct tool_device *device;
	char name[64];
	size_t i;

	for (i = 0; i < r->devices.count; i++) {
		device = &r->devices.list[i];
		snprintf(name, sizeof(name), "rank %u (%s)", device->info.rank, device->entry.bdf);
		if (r->args->nodes)
			snprintf(name, sizeof(name), "node %u: rank %u (%s)",
				 trace_nodes_own(r->nodes), device->info.rank, device->entry.bdf);
		perfetto_name_process(r->timeline, (uint32_t)device->index + 1, name);
	}
}

static int record(struct recording *r)
{
	bool looking = true;
	uint64_t lost;
	long events;
	int ret, status;
	pid_t pid;

	if (tracefs_start(&r->tracefs, r->args->buffer_kib))
		return EXIT_OWN_FAILURE;
	ret = look(r);
	if (!ret)
		ret = child_start(r->args->command, &pid);
	if (!ret) {
		/* A device may be removed meanwhile. The command goes on without its counters. */
		while ((status = child_wait_for(pid, r->args->sample_ns)) < 0)
			looking = looking && !look(r);
		if (looking)
			look(r);
	}
	tracefs_stop(&r->tracefs);
	events = ret ? 0 : read_events(r);
	lost = tracefs_lost(&r->tracefs);
	tracefs_remove(&r->tracefs);
	if (ret)
		return ret;
	if (events < 0)
		return complain(EXIT_OWN_FAILURE, "the events could not be read: %s",
				strerror(errno));
	return save(r, events, lost, status);
}

/* Open the file first, so that a bad name is reported before the command runs. */
static int check_output(const char *path)
{
	FILE *file = fopen(path, "ae");

	if (!file)
		return complain(EXIT_OWN_FAILURE, "%s could not be written: %s", path,
				strerror(errno));
	fclose(file);
	return 0;
}

int trace_run(const struct trace_args *args)
{
	struct recording r = { .args = args };
	int ret;

	if (devices_open(&(struct cmd_common){ 0 }, &r.devices))
		return EXIT_OWN_FAILURE;
	r.timeline = perfetto_new();
	if (!r.timeline) {
		ret = complain(EXIT_OWN_FAILURE, "no memory for the timeline");
		goto out;
	}
	ret = trace_nodes_begin(args, &r.nodes);
	if (!ret && !trace_nodes_own(r.nodes))
		ret = check_output(args->output);
	if (ret) {
		ret = EXIT_OWN_FAILURE;
		goto out;
	}
	name_devices(&r);
	ret = record(&r);

out:
	trace_nodes_free(r.nodes);
	perfetto_free(r.timeline);
	sample_free(&r.last);
	devices_close(&r.devices);
	return ret;
}
