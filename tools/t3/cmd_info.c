// SPDX-License-Identifier: MIT
/* t3 info: the facts and counters of devices. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/port.h"

struct device_facts {
	struct drm_t3_device_info info;
	struct drm_t3_counters counters;
	bool has_port;
	struct drm_t3_switch_info port;
};

static json_t *info_to_json(const struct drm_t3_device_info *info)
{
	json_t *object = json_object();
	const struct {
		const char *name;
		uint64_t value;
	} fields[] = {
		{ "features", info->features },
		{ "memory_size", info->memory_size },
		{ "memory_free", info->memory_free },
		{ "aperture_size", info->aperture_size },
		{ "hw_version", info->hw_version },
		{ "rank", info->rank },
		{ "ranks", info->ranks },
		{ "tracker_entries", info->tracker_entries },
		{ "tracker_ways", info->tracker_ways },
		{ "max_spaces", info->max_spaces },
		{ "space_segments", info->space_segments },
		{ "space_imports", info->space_imports },
		{ "max_updates", info->max_updates },
		{ "max_tile_bytes", info->max_tile_bytes },
		{ "staging_slots", info->staging_slots },
	};
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		json_object_set_new(object, fields[i].name,
				    json_integer((json_int_t)fields[i].value));
	json_object_set_new(object, "fabric_id",
			    json_sprintf("0x%llx", (unsigned long long)info->fabric_id));
	json_object_set_new(object, "topology", json_string(t3_topology_name(info->topology)));
	return object;
}

static json_t *facts_to_json(size_t index, const struct device_facts *facts)
{
	json_t *counters = json_object(), *object;
	uint32_t i;

	for (i = 0; i < counters_known(&facts->counters); i++)
		json_object_set_new(counters, t3_counter_name(i),
				    json_integer((json_int_t)facts->counters.value[i]));
	object = json_pack("{s:I, s:o, s:I, s:o}", "index", (json_int_t)index, "device",
			   info_to_json(&facts->info), "vtime_ns",
			   (json_int_t)facts->counters.vtime_ns, "counters", counters);
	if (facts->has_port)
		json_object_set_new(object, "switch", port_to_json(&facts->port));
	return object;
}

static void print_port(const struct drm_t3_switch_info *port)
{
	printf("port of the switch since its reset\n"
	       "  groups    %u of %u\n"
	       "  entries   %u of %u in use, %u at most\n"
	       "  updates   %llu added to an entry, %llu alone (%llu as no entry was free)\n"
	       "  sums      %llu, %llu of them without some sources\n"
	       "  copies    %llu\n"
	       "  refused   %llu packets, %llu of them wrong keys\n",
	       port->groups, DRM_T3_GROUPS_MAX, port->entries_used, port->entries,
	       port->entries_most, (unsigned long long)port->merged,
	       (unsigned long long)port->alone, (unsigned long long)port->full,
	       (unsigned long long)port->sums, (unsigned long long)port->partial,
	       (unsigned long long)port->copies, (unsigned long long)port->refused,
	       (unsigned long long)port->wrong_keys);
}

static void print_facts(size_t index, const struct device_facts *facts)
{
	const struct drm_t3_device_info *info = &facts->info;
	uint32_t i;

	printf("device %zu: rank %u of %u, topology %s, fabric 0x%llx, hardware %u.%u\n", index,
	       info->rank, info->ranks, t3_topology_name(info->topology),
	       (unsigned long long)info->fabric_id, info->hw_version >> 16,
	       info->hw_version & 0xffff);
	printf("  memory    %llu MiB, %llu MiB free\n",
	       (unsigned long long)(info->memory_size >> 20),
	       (unsigned long long)(info->memory_free >> 20));
	printf("  aperture  %llu MiB\n", (unsigned long long)(info->aperture_size >> 20));
	printf("  tracker   %u entries, %u ways\n", info->tracker_entries, info->tracker_ways);
	printf("  limits    %u spaces, %u segments and %u imports each, %u updates, tiles of %u "
	       "KiB, "
	       "%u staging slots\n",
	       info->max_spaces, info->space_segments, info->space_imports, info->max_updates,
	       info->max_tile_bytes >> 10, info->staging_slots);
	printf("counters since the device's reset (virtual time %llu ns)\n",
	       (unsigned long long)facts->counters.vtime_ns);
	for (i = 0; i < counters_known(&facts->counters); i++)
		printf("  %-16s  %llu\n", t3_counter_name(i),
		       (unsigned long long)facts->counters.value[i]);
	if (facts->has_port)
		print_port(&facts->port);
}

struct info_args {
	struct cmd_common common;
	bool all;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct info_args *args = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (args->all && args->common.one)
			argp_error(state, "-d INDEX and --all exclude each other");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_info(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "all", 'a', NULL, 0, "show all devices; with --json an array", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_device, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Show the facts and counters of a device. Without -d it is the first one "
		       "that can be used.",
		.children = children,
	};
	struct info_args args = { 0 };
	const struct tool_device *device;
	struct tool_devices devices;
	struct device_facts facts;
	json_t *list;
	size_t i, count;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	ret = devices_open(&args.common, &devices);
	if (ret)
		return ret;
	list = args.common.json ? json_array() : NULL;
	count = args.all ? devices.count : 1;
	for (i = 0; i < count && !ret; i++) {
		device = &devices.list[i];
		facts.info = device->info;
		facts.has_port = port_read(device, &facts.port);
		ret = t3_device_counters(device->dev, &facts.counters);
		if (ret)
			ret = complain(EXIT_FAIL, "device %zu could not be read: %s", device->index,
				       strerror(-ret));
		else if (list)
			json_array_append_new(list, facts_to_json(device->index, &facts));
		else
			print_facts(device->index, &facts);
	}
	/* One device is an object. With --all the result is an array. */
	if (!ret && list)
		ret = print_json(json_incref(args.all ? list : json_array_get(list, 0)));
	json_decref(list);
	devices_close(&devices);
	return ret;
}
