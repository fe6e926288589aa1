/* SPDX-License-Identifier: MIT */
/* Clients of the devices, from the fdinfo of all processes that this user may read. */
#ifndef T3_CLIENTS_H
#define T3_CLIENTS_H

#include "common/devices.h"

/* One open file. A file that several processes share counts for the first one. */
struct client {
	uint64_t id; /* of the kernel's DRM core */
	uint64_t pid;
	char name[32];
	const struct tool_device *device;
	uint64_t busy_ns; /* queues of all priorities: below the clock's own time */
	uint64_t device_bytes, host_bytes;
};

struct clients {
	size_t count, room;
	struct client *list;
};

/* 0 or -errno. Processes that end during the scan are left out. */
int clients_read(const struct tool_devices *devices, struct clients *clients);
void clients_free(struct clients *clients);
const struct client *clients_find(const struct clients *clients, uint64_t id);

#endif /* T3_CLIENTS_H */
