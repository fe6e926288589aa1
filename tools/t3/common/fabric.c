// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/devices.h"
#include "common/fabric.h"

static bool parse_id(const char *text, uint64_t *id)
{
	if (strncmp(text, "0x", 2) || text[2 + strspn(text + 2, "0123456789abcdefABCDEF")])
		return false;
	errno = 0;
	*id = strtoull(text, NULL, 16);
	return *id && !errno;
}

/* rank UINT32_MAX: any. NULL: the machine has no such device. */
static const struct tool_device *find(const struct tool_devices *devices, uint64_t id,
				      uint32_t rank)
{
	size_t i;

	for (i = 0; i < devices->count; i++) {
		const struct tool_device *device = &devices->list[i];

		if (device->info.fabric_id == id &&
		    (rank == UINT32_MAX || device->info.rank == rank))
			return device;
	}
	return NULL;
}

static int check_id(uint64_t id)
{
	const struct cmd_common all = { 0 };
	struct tool_devices devices;
	int ret = devices_open(&all, &devices);

	if (ret == EXIT_OK && !find(&devices, id, UINT32_MAX))
		ret = complain(EXIT_FAIL,
			       "there is no fabric 0x%llx: `t3 list` shows those there "
			       "are",
			       (unsigned long long)id);
	devices_close(&devices);
	return ret;
}

static int ask_index(uint64_t index, uint64_t *id)
{
	const struct cmd_common common = { .one = true, .device = index };
	struct tool_devices devices;
	int ret = devices_open(&common, &devices);

	if (ret == EXIT_OK)
		*id = devices.list[0].info.fabric_id;
	devices_close(&devices);
	return ret;
}

int fabric_named(const char *option, const char *text, uint64_t *id)
{
	uint64_t index;

	if (parse_id(text, id))
		return check_id(*id);
	if (*option == '-' && parse_number(text, UINT8_MAX, &index))
		return ask_index(index, id);
	return complain(EXIT_USAGE, "%s must be a fabric's number, as in 0x1%s, not '%s'", option,
			*option == '-' ? ", or the index of one of its devices in `t3 list`" : "",
			text);
}

int fabric_choose(const char *text, uint64_t *id)
{
	const char *given = text ? text : getenv(FABRIC_ENVIRONMENT);

	*id = 0;
	return given ? fabric_named(text ? "--fabric" : FABRIC_ENVIRONMENT, given, id) : EXIT_OK;
}

int fabric_find_rank(uint64_t id, uint32_t rank, size_t *index)
{
	const struct cmd_common all = { 0 };
	const struct tool_device *device;
	struct tool_devices devices;
	int ret = devices_open(&all, &devices);

	device = ret == EXIT_OK ? find(&devices, id, rank) : NULL;
	*index = device ? device->index : SIZE_MAX;
	devices_close(&devices);
	return ret;
}
