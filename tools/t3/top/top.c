// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "common/port.h"
#include "driver/debugfs.h"
#include "top/top.h"

int top_take(const struct tool_devices *devices, struct top_sample *sample)
{
	struct drm_t3_switch_info port;
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
	sample->ports = json_array();
	sample->spaces = json_array();
	for (i = 0; i < devices->count; i++) {
		spaces = debugfs_try(&devices->list[i], "spaces");
		json_array_append_new(sample->spaces, spaces ? spaces : json_null());
		json_array_append_new(sample->ports, port_read(&devices->list[i], &port)
							     ? port_to_json(&port)
							     : json_null());
	}
	return EXIT_OK;
}

void top_free(struct top_sample *sample)
{
	sample_free(&sample->counters);
	clients_free(&sample->clients);
	json_decref(sample->ports);
	sample->ports = NULL;
	json_decref(sample->spaces);
	sample->spaces = NULL;
}

double top_client_percent(const struct client *client, const struct top_sample *before,
			  const struct top_sample *after)
{
	const struct client *earlier = clients_find(&before->clients, client->id);
	uint64_t since = earlier ? earlier->busy_ns : 0;
	uint64_t ns = after->counters.ns - before->counters.ns;

	if (!ns || client->busy_ns < since)
		return 0;
	return 100.0 * (double)(client->busy_ns - since) / (double)ns;
}

/* The queues of several files are busy at once, so their sum is limited to 100. */
double top_device_percent(const struct tool_device *device, const struct top_sample *before,
			  const struct top_sample *after)
{
	double percent = 0;
	size_t i;

	for (i = 0; i < after->clients.count; i++)
		if (after->clients.list[i].device == device)
			percent += top_client_percent(&after->clients.list[i], before, after);
	return percent < 100 ? percent : 100;
}

static const json_t *spaces_of(const struct tool_devices *devices, const struct top_sample *sample,
			       const struct tool_device *device)
{
	return json_array_get(sample->spaces, (size_t)(device - devices->list));
}

json_t *top_count_spaces(const struct tool_devices *devices, const struct top_sample *sample,
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
	json_t *port = json_array_get(after->ports, index);
	struct change change;

	sample_change(&before->counters, &after->counters, index, &change);
	if (json_is_object(port))
		json_object_set(object, "switch", port);
	json_object_set_new(object, "vtime_ns",
			    json_integer((json_int_t)after->counters.counters[index].vtime_ns));
	json_object_set_new(object, "queue_percent",
			    json_real(top_device_percent(device, before, after)));
	json_object_set_new(object, "tracker_hit_percent", json_real(change_hit_percent(&change)));
	json_object_set_new(object, "reset", json_boolean(change.reset));
	json_object_set_new(object, "changes", change_to_json(&change));
	json_object_set_new(object, "per_second", rates_to_json(&change));
	return object;
}

static json_t *client_sample(const struct tool_devices *devices, const struct client *client,
			     const struct top_sample *before, const struct top_sample *after)
{
	json_t *states = top_count_spaces(devices, after, client);

	return json_pack("{s:I, s:s, s:I, s:I, s:f, s:I, s:I, s:o}", "pid", (json_int_t)client->pid,
			 "process", client->name, "device", (json_int_t)client->device->index,
			 "client", (json_int_t)client->id, "queue_percent",
			 top_client_percent(client, before, after), "device_bytes",
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
