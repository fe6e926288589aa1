// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "debugfs.h"
#include "top.h"

int top_take(const struct tool_devices *devices, struct top_sample *sample)
{
	json_t *spaces;
	size_t i;
	int ret;

	*sample = (struct top_sample){ 0 };
	ret = sample_take(devices, &sample->counters);
	if (ret)
		return ret;
	ret = clients_read(devices, &sample->clients);
	if (ret) {
		top_free(sample);
		return complain(EXIT_FAIL, "/proc could not be read: %s", strerror(-ret));
	}
	sample->spaces = json_array();
	for (i = 0; i < devices->count; i++) {
		spaces = debugfs_try(&devices->list[i], "spaces");
		json_array_append_new(sample->spaces, spaces ? spaces : json_null());
	}
	return EXIT_OK;
}

void top_free(struct top_sample *sample)
{
	sample_free(&sample->counters);
	clients_free(&sample->clients);
	json_decref(sample->spaces);
	sample->spaces = NULL;
}

/* Of a file's queues, in percent of the time between the samples. */
static double busy_percent(const struct client *client, const struct top_sample *before,
			   const struct top_sample *after)
{
	const struct client *earlier = clients_find(&before->clients, client->id);
	uint64_t since = earlier ? earlier->busy_ns : 0;
	uint64_t ns = after->counters.ns - before->counters.ns;

	if (!ns || client->busy_ns < since)
		return 0;
	return 100.0 * (double)(client->busy_ns - since) / (double)ns;
}

/* Files have their queues busy at once: their sum, and there is no more than all. */
static double device_percent(const struct tool_device *device, const struct top_sample *before,
			     const struct top_sample *after)
{
	double percent = 0;
	size_t i;

	for (i = 0; i < after->clients.count; i++)
		if (after->clients.list[i].device == device)
			percent += busy_percent(&after->clients.list[i], before, after);
	return percent < 100 ? percent : 100;
}

static const json_t *spaces_of(const struct tool_devices *devices, const struct top_sample *sample,
			       const struct tool_device *device)
{
	return json_array_get(sample->spaces, (size_t)(device - devices->list));
}

/* How many spaces a file has, by state: {"ARMED": 2}. NULL: only root is told. */
static json_t *count_spaces(const struct tool_devices *devices, const struct top_sample *sample,
			    const struct client *client)
{
	const json_t *spaces = spaces_of(devices, sample, client->device);
	json_t *states, *space;
	const char *state;
	size_t i;

	if (!json_is_array(spaces))
		return NULL;
	states = json_object();
	json_array_foreach(spaces, i, space)
	{
		if (record_number(space, "client") != (json_int_t)client->id)
			continue;
		state = record_text(space, "state");
		json_object_set_new(states, state, json_integer(1 + record_number(states, state)));
	}
	return states;
}

static void print_device(const struct tool_devices *devices, size_t index,
			 const struct top_sample *before, const struct top_sample *after)
{
	const struct tool_device *device = &devices->list[index];
	struct change change;

	sample_change(&before->counters, &after->counters, index, &change);
	printf("%3zu %4u %6.1f %9.0f %11.0f %9.0f %8.2f %8.2f %9.0f %6llu %5llu %5llu %5.1f "
	       "%8.0f %6llu %7llu\n",
	       device->index, device->info.rank, device_percent(device, before, after),
	       change_rate(&change, T3_DEVICE_QUEUE_DESCRIPTORS),
	       change_rate(&change, T3_DEVICE_STORES), change_rate(&change, T3_DEVICE_TRIGGERS),
	       change_rate(&change, T3_DEVICE_LINK_TX_BYTES) / 1e6,
	       change_rate(&change, T3_DEVICE_LINK_RX_BYTES) / 1e6,
	       change_rate(&change, T3_DEVICE_LINK_TX_PACKETS),
	       (unsigned long long)change.value[T3_DEVICE_LINK_RETRIES],
	       (unsigned long long)change.value[T3_DEVICE_TRACKER_LIVE],
	       (unsigned long long)change.value[T3_DEVICE_TRACKER_PEAK],
	       change_hit_percent(&change), change_rate(&change, T3_DEVICE_TRACKER_SPILL),
	       (unsigned long long)change.value[T3_DEVICE_FAULTS],
	       (unsigned long long)change.value[T3_DEVICE_DROPPED]);
}

static void print_client(const struct tool_devices *devices, const struct client *client,
			 const struct top_sample *before, const struct top_sample *after)
{
	json_t *states = count_spaces(devices, after, client), *count;
	const char *state;

	printf("%7llu  %-16s %3zu %6.1f %11llu %9llu ", (unsigned long long)client->pid,
	       client->name, client->device->index, busy_percent(client, before, after),
	       (unsigned long long)client->device_bytes >> 10,
	       (unsigned long long)client->host_bytes >> 10);
	if (!states)
		fputs(" ?", stdout);
	json_object_foreach(states, state, count)
		printf(" %lld %s", (long long)json_integer_value(count), state);
	putchar('\n');
	json_decref(states);
}

void top_print(const struct tool_devices *devices, const struct top_sample *before,
	       const struct top_sample *after)
{
	size_t i;

	printf("T3: %zu device%s, %.2f s\n\n", devices->count, devices->count == 1 ? "" : "s",
	       (double)(after->counters.ns - before->counters.ns) / 1e9);
	puts("dev rank queue%    desc/s    stores/s   tiles/s  tx MB/s  rx MB/s packets/s resent "
	     " live  peak  hit% spills/s faults dropped");
	for (i = 0; i < devices->count; i++)
		print_device(devices, i, before, after);
	puts("\n    pid  process          dev queue%  device KiB  host KiB  spaces");
	for (i = 0; i < after->clients.count; i++)
		print_client(devices, &after->clients.list[i], before, after);
	putchar('\n');
}

static json_t *rates_to_json(const struct change *change)
{
	json_t *object = json_object();
	uint32_t i;

	for (i = 0; i < change->count; i++)
		if (!counter_is_level(i))
			json_object_set_new(object, t3_counter_name(i),
					    json_real(change_rate(change, i)));
	return object;
}

static json_t *device_sample(const struct tool_devices *devices, size_t index,
			     const struct top_sample *before, const struct top_sample *after)
{
	const struct tool_device *device = &devices->list[index];
	json_t *object = device_to_json(device);
	struct change change;

	sample_change(&before->counters, &after->counters, index, &change);
	json_object_set_new(object, "vtime_ns",
			    json_integer((json_int_t)after->counters.counters[index].vtime_ns));
	json_object_set_new(object, "queue_percent",
			    json_real(device_percent(device, before, after)));
	json_object_set_new(object, "tracker_hit_percent", json_real(change_hit_percent(&change)));
	json_object_set_new(object, "reset", json_boolean(change.reset));
	json_object_set_new(object, "changes", change_to_json(&change));
	json_object_set_new(object, "per_second", rates_to_json(&change));
	return object;
}

static json_t *client_sample(const struct tool_devices *devices, const struct client *client,
			     const struct top_sample *before, const struct top_sample *after)
{
	json_t *states = count_spaces(devices, after, client);

	return json_pack("{s:I, s:s, s:I, s:I, s:f, s:I, s:I, s:o}", "pid", (json_int_t)client->pid,
			 "process", client->name, "device", (json_int_t)client->device->index,
			 "client", (json_int_t)client->id, "queue_percent",
			 busy_percent(client, before, after), "device_bytes",
			 (json_int_t)client->device_bytes, "host_bytes",
			 (json_int_t)client->host_bytes, "spaces", states ? states : json_null());
}

json_t *top_to_json(const struct tool_devices *devices, const struct top_sample *before,
		    const struct top_sample *after)
{
	json_t *list = json_array(), *processes = json_array();
	size_t i;

	for (i = 0; i < devices->count; i++)
		json_array_append_new(list, device_sample(devices, i, before, after));
	for (i = 0; i < after->clients.count; i++)
		json_array_append_new(processes, client_sample(devices, &after->clients.list[i],
							       before, after));
	return json_pack("{s:I, s:I, s:o, s:o}", "time_ns", (json_int_t)after->counters.ns,
			 "interval_ns", (json_int_t)(after->counters.ns - before->counters.ns),
			 "devices", list, "processes", processes);
}
