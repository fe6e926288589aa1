/* SPDX-License-Identifier: MIT */
/* The machine's devices, opened. Most subcommands begin with it. */
#ifndef T3_DEVICES_H
#define T3_DEVICES_H

#include "common/cmdline.h"
#include "common/message.h"
#include "t3.h"

struct tool_device {
	size_t index; /* in t3_device_list() */
	struct t3_device_entry entry;
	struct t3_device *dev;
	struct drm_t3_device_info info;
};

struct tool_devices {
	size_t count;
	struct tool_device *list;
	size_t left_out; /* number of devices with a driver that this process cannot use */
};

/*
 * Open the device that common->device names, or all with a driver that can be used. Of those that
 * cannot it prints a sentence, the first time. On failure it has printed one, too. Returns an exit
 * code. EXIT_OK means at least one device.
 */
int devices_open(const struct cmd_common *common, struct tool_devices *devices);
void devices_close(struct tool_devices *devices);

/* {"index", "pci", "rank"}: the first keys of each device's object. */
json_t *device_to_json(const struct tool_device *device);

/* The number of counters that both the device and this program know. */
uint32_t counters_known(const struct drm_t3_counters *counters);

/* The name of a process, or "?" when it has ended. */
void process_name(uint64_t pid, char *name, size_t size);

/* CLOCK_MONOTONIC */
uint64_t now_ns(void);
void sleep_ns(uint64_t ns);

#endif /* T3_DEVICES_H */
