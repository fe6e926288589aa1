// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/devices.h"

static int refuse(size_t index, const struct t3_device_entry *entry, int error)
{
	char words[1024];

	t3_device_explain(entry->node, error, words, sizeof(words));
	return complain(EXIT_FAIL, "device %zu: %s", index, words);
}

/* Returns 0, or why the device cannot be used. */
static int open_entry(const struct t3_device_list *list, size_t index, struct tool_devices *devices)
{
	struct tool_device *device = &devices->list[devices->count];
	int ret;

	device->index = index;
	device->entry = *t3_device_list_get(list, index);
	ret = t3_device_open(device->entry.node, &device->dev);
	if (ret)
		return ret;
	ret = t3_device_info(device->dev, &device->info);
	if (ret)
		t3_device_close(device->dev);
	else
		devices->count++;
	return ret;
}

/* Check that -d names a device that exists and has a driver. */
static int check_index(const struct t3_device_list *list, uint64_t index)
{
	char words[512];

	if (index >= t3_device_list_count(list))
		return complain(EXIT_FAIL, "there is no device %llu: `t3 list` shows %zu",
				(unsigned long long)index, t3_device_list_count(list));
	if (*t3_device_list_get(list, index)->node)
		return EXIT_OK;
	t3_device_explain(NULL, -ENODEV, words, sizeof(words));
	return complain(EXIT_FAIL, "device %llu has no driver: %s", (unsigned long long)index,
			words);
}

static int open_one(const struct t3_device_list *list, uint64_t index, struct tool_devices *devices)
{
	int ret = check_index(list, index);

	if (ret)
		return ret;
	ret = open_entry(list, index, devices);
	return ret ? refuse(index, t3_device_list_get(list, index), ret) : EXIT_OK;
}

/* Say once what the command goes on without. */
static void note_left_out(const struct tool_devices *devices, size_t first)
{
	static bool said;

	if (said)
		return;
	said = true;
	if (devices->left_out == 1)
		complain(EXIT_OK,
			 "device %zu cannot be used here and is left out: `t3 list` says why",
			 first);
	else
		complain(EXIT_OK,
			 "device %zu and %zu more cannot be used here and are left out: `t3 list` "
			 "says why",
			 first, devices->left_out - 1);
}

/* A container has the nodes of some devices, and one may fail. That stops no work on the others. */
static int open_all(const struct t3_device_list *list, struct tool_devices *devices)
{
	size_t first = 0, i;
	char words[1024];
	int why = 0, ret;

	for (i = 0; i < t3_device_list_count(list); i++) {
		if (!*t3_device_list_get(list, i)->node)
			continue;
		ret = open_entry(list, i, devices);
		if (ret && !devices->left_out++) {
			first = i;
			why = ret;
		}
	}
	if (devices->count && devices->left_out)
		note_left_out(devices, first);
	if (devices->count)
		return EXIT_OK;
	if (devices->left_out)
		return refuse(first, t3_device_list_get(list, first), why);
	t3_device_explain(NULL, -ENODEV, words, sizeof(words));
	return complain(EXIT_FAIL, "%s", words);
}

int devices_open(const struct cmd_common *common, struct tool_devices *devices)
{
	struct t3_device_list *list;
	int ret;

	*devices = (struct tool_devices){ 0 };
	ret = t3_device_list(&list);
	if (ret)
		return complain(EXIT_FAIL, "the PCI devices could not be listed: %s",
				strerror(-ret));
	devices->list = calloc(t3_device_list_count(list) + 1, sizeof(*devices->list));
	if (!devices->list)
		ret = complain(EXIT_FAIL, "no memory for the list of devices");
	else if (common->one)
		ret = open_one(list, common->device, devices);
	else
		ret = open_all(list, devices);
	t3_device_list_free(list);
	if (ret)
		devices_close(devices);
	return ret;
}

void devices_close(struct tool_devices *devices)
{
	size_t i;

	for (i = 0; i < devices->count; i++)
		t3_device_close(devices->list[i].dev);
	free(devices->list);
	*devices = (struct tool_devices){ 0 };
}

json_t *device_to_json(const struct tool_device *device)
{
	return json_pack("{s:I, s:s, s:I}", "index", (json_int_t)device->index, "pci",
			 device->entry.bdf, "rank", (json_int_t)device->info.rank);
}

uint32_t counters_known(const struct drm_t3_counters *counters)
{
	uint32_t known = T3_DEVICE_COUNTER_COUNT;

	return counters->count < known ? counters->count : known;
}

/* A process can choose any name. Only printable ASCII is shown. */
static void make_printable(char *name)
{
	for (; *name; name++)
		if (*name < ' ' || *name > '~')
			*name = '?';
}

void process_name(uint64_t pid, char *name, size_t size)
{
	char path[48];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%llu/comm", (unsigned long long)pid);
	snprintf(name, size, "?");
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = '\0';
	else
		snprintf(name, size, "?");
	fclose(file);
	make_printable(name);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void sleep_ns(uint64_t ns)
{
	struct timespec rest = { .tv_sec = (time_t)(ns / 1000000000),
				 .tv_nsec = (long)(ns % 1000000000) };

	while (nanosleep(&rest, &rest) && errno == EINTR)
		;
}
