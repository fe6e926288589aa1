// SPDX-License-Identifier: MIT
/* t3 reset: resets functions, and shows what is lost. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "driver/debugfs.h"

#define ANSWER_NS 10000000000ull

struct reset_args {
	struct cmd_common common;
	bool all, yes, pci;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct reset_args *args = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'a':
		args->all = true;
		return 0;
	case 'y':
		args->yes = true;
		return 0;
	case 'p':
		args->pci = true;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (args->all == args->common.one)
			argp_error(state, "either -d INDEX or --all must say which devices");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* {"space", "state", "pid", "process"} of each space that is not DEAD. */
static json_t *spaces_alive(const json_t *records)
{
	json_t *alive = json_array(), *record;
	char name[32];
	size_t i;

	json_array_foreach(records, i, record)
	{
		if (!strcmp(record_text(record, "state"), "DEAD"))
			continue;
		process_name((uint64_t)record_number(record, "pid"), name, sizeof(name));
		json_array_append_new(alive,
				      json_pack("{s:I, s:s, s:I, s:s}", "space",
						record_number(record, "space"), "state",
						record_text(record, "state"), "pid",
						record_number(record, "pid"), "process", name));
	}
	return alive;
}

static json_int_t count_jobs(const json_t *queues)
{
	json_int_t jobs = 0;
	json_t *queue;
	size_t i;

	json_array_foreach(queues, i, queue) jobs += record_number(queue, "jobs");
	return jobs;
}

static void name_spaces(const json_t *object, char *text, size_t size)
{
	json_t *space;
	size_t used = 0, i;

	*text = '\0';
	json_array_foreach(json_object_get(object, "spaces_lost"), i, space) if (used < size)
		used += (size_t)snprintf(text + used, size - used,
					 "%sspace %lld (%s) of "
					 "pid %lld (%s)",
					 used ? ", " : "", (long long)record_number(space, "space"),
					 record_text(space, "state"),
					 (long long)record_number(space, "pid"),
					 record_text(space, "process"));
}

static int check_alive(const struct tool_device *device, const json_t *object)
{
	char text[512];

	if (!json_array_size(json_object_get(object, "spaces_lost")))
		return EXIT_OK;
	name_spaces(object, text, sizeof(text));
	return complain(EXIT_FAIL, "device %zu has %s, which would be lost: --yes resets it",
			device->index, text);
}

/* The kernel's reset for any PCI function. The driver takes part in it. */
static int reset_by_pci(const struct tool_device *device)
{
	char path[64];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", device->entry.bdf);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ret = fd < 0 || write(fd, "1", 1) != 1 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (ret)
		return complain(EXIT_FAIL, "%s: %s", path, strerror(-ret));
	return EXIT_OK;
}

/* Wait until the registers can be read again. */
static int wait_for_answer(const struct tool_device *device)
{
	uint64_t deadline = now_ns() + ANSWER_NS;
	struct drm_t3_counters counters;
	int ret;

	while ((ret = t3_device_counters(device->dev, &counters)) != 0) {
		if (now_ns() > deadline)
			return complain(EXIT_FAIL, "device %zu was reset and does not answer: %s",
					device->index, strerror(-ret));
		sleep_ns(10000000);
	}
	return EXIT_OK;
}

static void print_reset(const struct tool_device *device, const json_t *object)
{
	char text[512];

	name_spaces(object, text, sizeof(text));
	printf("device %zu (rank %u) was reset in %.1f ms; lost: %s", device->index,
	       device->info.rank, (double)record_number(object, "ns") / 1e6,
	       *text ? text : "nothing");
	if (record_number(object, "jobs"))
		printf("; %lld jobs were in its queues", (long long)record_number(object, "jobs"));
	putchar('\n');
}

/* Check all devices before the first reset, because one reset may end spaces of other devices. */
static int check_all(const struct tool_devices *devices, const struct reset_args *args,
		     json_t *list)
{
	json_t *object, *spaces, *queues;
	const struct tool_device *device;
	int ret;
	size_t i;

	for (i = 0; i < devices->count; i++) {
		device = &devices->list[i];
		object = device_to_json(device);
		json_array_append_new(list, object);
		ret = debugfs_read(device, "spaces", &spaces);
		if (ret)
			return ret;
		json_object_set_new(object, "spaces_lost", spaces_alive(spaces));
		json_decref(spaces);
		ret = debugfs_read(device, "queues", &queues);
		if (ret)
			return ret;
		json_object_set_new(object, "jobs", json_integer(count_jobs(queues)));
		json_decref(queues);
		ret = args->yes ? EXIT_OK : check_alive(device, object);
		if (ret)
			return ret;
	}
	return EXIT_OK;
}

/*
 * Print the finished resets also when a later device fails: "reset" is false for it and the rest.
 */
static int reset_list(const struct tool_devices *devices, const struct reset_args *args,
		      json_t *list)
{
	const struct tool_device *device;
	json_t *object;
	int ret = EXIT_OK;
	uint64_t begin;
	size_t i;

	json_array_foreach(list, i, object)
	{
		device = &devices->list[i];
		if (!ret) {
			begin = now_ns();
			if (args->pci)
				ret = reset_by_pci(device);
			else
				ret = debugfs_write(device, "reset", "function");
			if (ret && !args->pci)
				ret = debugfs_refuse(device, "reset", ret);
			if (!ret)
				ret = wait_for_answer(device);
			json_object_set_new(object, "ns",
					    json_integer((json_int_t)(now_ns() - begin)));
		}
		json_object_set_new(object, "reset", json_boolean(!ret));
		if (!ret && !args->common.json)
			print_reset(device, object);
	}
	if (args->common.json && print_json(json_incref(list)))
		return EXIT_FAIL;
	return ret;
}

int cmd_reset(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "all", 'a', NULL, 0, "reset all devices, one after the other", 0 },
		{ "pci", 'p', NULL, 0, "reset by the PCI core, not by the driver", 0 },
		{ "yes", 'y', NULL, 0, "reset also when processes lose spaces", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_device, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Reset the function of devices, and wait until they answer. All their "
		       "spaces are lost, and spaces connected to them raise faults. Jobs in "
		       "queues end with an error, or begin again with --pci. It needs root. "
		       "With --json, \"reset\" of each device says whether it was reset, also "
		       "when one failed.",
		.children = children,
	};
	struct reset_args args = { 0 };
	struct tool_devices devices;
	json_t *list;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	ret = devices_open(&args.common, &devices);
	if (ret)
		return ret;
	list = json_array();
	ret = check_all(&devices, &args, list);
	if (!ret)
		ret = reset_list(&devices, &args, list);
	json_decref(list);
	if (!ret && devices.left_out)
		ret = EXIT_FAIL; /* not all devices could be opened */
	devices_close(&devices);
	return ret;
}
