// SPDX-License-Identifier: MIT
/* t3 info: facts and counters of one device. */
#include <getopt.h>
#include <stdio.h>

#include "t3tool.h"

struct device_facts {
	struct drm_t3_device_info info;
	struct drm_t3_counters counters;
};

static int read_facts(size_t index, struct device_facts *facts)
{
	struct t3_device *dev;
	int ret;

	ret = t3_device_open_index(index, &dev);
	if (ret)
		return ret;
	ret = t3_device_info(dev, &facts->info);
	if (!ret)
		ret = t3_device_counters(dev, &facts->counters);
	t3_device_close(dev);
	return ret;
}

static uint32_t counter_count(const struct device_facts *facts)
{
	uint32_t known = T3_DEVICE_COUNTER_COUNT;

	return facts->counters.count < known ? facts->counters.count : known;
}

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
	json_t *counters = json_object();
	uint32_t i;

	for (i = 0; i < counter_count(facts); i++)
		json_object_set_new(counters, t3_counter_name(i),
				    json_integer((json_int_t)facts->counters.value[i]));
	return json_pack("{s:I, s:o, s:I, s:o}", "index", (json_int_t)index, "device",
			 info_to_json(&facts->info), "vtime_ns",
			 (json_int_t)facts->counters.vtime_ns, "counters", counters);
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
	for (i = 0; i < counter_count(facts); i++)
		printf("  %-16s  %llu\n", t3_counter_name(i),
		       (unsigned long long)facts->counters.value[i]);
}

struct info_args {
	uint64_t index;
	bool json;
};

/* An exit code, or -1 to go on. */
static int parse(int argc, char **argv, struct info_args *args)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "d:h", options, NULL)) != -1) {
		if (opt == 'h')
			return puts("usage: t3 info [-d INDEX] [--json]") < 0 ? EXIT_FAIL : EXIT_OK;
		if (opt == 'j')
			args->json = true;
		else if (opt != 'd')
			return complain(EXIT_USAGE, "t3 info takes -d INDEX and --json");
		else if (!parse_number(optarg, 255, &args->index))
			return complain(EXIT_USAGE, "-d must be an index that `t3 list` shows");
	}
	if (optind != argc)
		return complain(EXIT_USAGE, "t3 info takes -d INDEX and --json");
	return -1;
}

int cmd_info(int argc, char **argv)
{
	struct info_args args = { 0 };
	struct device_facts facts;
	char words[512];
	int ret;

	ret = parse(argc, argv, &args);
	if (ret >= 0)
		return ret;
	ret = read_facts(args.index, &facts);
	if (ret) {
		t3_device_explain(NULL, ret, words, sizeof(words));
		return complain(EXIT_FAIL, "device %llu could not be read: %s",
				(unsigned long long)args.index, words);
	}
	if (args.json)
		return print_json(facts_to_json(args.index, &facts));
	print_facts(args.index, &facts);
	return EXIT_OK;
}
