// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/clients.h"

const struct client *clients_find(const struct clients *clients, uint64_t id)
{
	size_t i;

	for (i = 0; i < clients->count; i++)
		if (clients->list[i].id == id)
			return &clients->list[i];
	return NULL;
}

/* The kernel counts memory in the largest unit that divides it. */
static uint64_t parse_bytes(const char *text)
{
	char *unit;
	uint64_t bytes = strtoull(text, &unit, 10);

	if (!strcmp(unit, " KiB"))
		return bytes << 10;
	return strcmp(unit, " MiB") ? bytes : bytes << 20;
}

/* False: the file was closed, or is no file of DRM. */
static bool read_fdinfo(struct client *client, const char *fd)
{
	char path[64], line[256], *value;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%llu/fdinfo/%.20s", (unsigned long long)client->pid,
		 fd);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		value = strstr(line, ":\t");
		if (!value)
			continue;
		*value = '\0';
		value += 2;
		if (!strcmp(line, "drm-client-id"))
			client->id = strtoull(value, NULL, 10);
		else if (!strncmp(line, "drm-engine-queue-", strlen("drm-engine-queue-")))
			client->busy_ns += strtoull(value, NULL, 10);
		else if (!strcmp(line, "drm-total-vram"))
			client->device_bytes = parse_bytes(value);
		else if (!strcmp(line, "drm-total-memory"))
			client->host_bytes = parse_bytes(value);
	}
	fclose(file);
	return client->id != 0;
}

static const struct tool_device *device_of(const struct tool_devices *devices, const char *node)
{
	size_t i;

	for (i = 0; i < devices->count; i++)
		if (!strcmp(devices->list[i].entry.node, node))
			return &devices->list[i];
	return NULL;
}

static int add(struct clients *clients, const struct client *client)
{
	size_t room = clients->room ? 2 * clients->room : 16;
	struct client *list;

	if (clients_find(clients, client->id))
		return 0;
	if (clients->count == clients->room) {
		list = reallocarray(clients->list, room, sizeof(*list));
		if (!list)
			return -ENOMEM;
		clients->list = list;
		clients->room = room;
	}
	clients->list[clients->count++] = *client;
	return 0;
}

static int read_process(const struct tool_devices *devices, struct clients *clients,
			const char *process)
{
	char path[64], node[64];
	struct client client;
	struct dirent *entry;
	ssize_t length;
	uint64_t pid;
	int ret = 0;
	DIR *fds;

	if (!parse_number(process, UINT32_MAX, &pid) || pid == (uint64_t)getpid())
		return 0;
	snprintf(path, sizeof(path), "/proc/%llu/fd", (unsigned long long)pid);
	fds = opendir(path);
	if (!fds)
		return 0;
	while (!ret && (entry = readdir(fds))) {
		length = readlinkat(dirfd(fds), entry->d_name, node, sizeof(node) - 1);
		if (length <= 0)
			continue;
		node[length] = '\0';
		client = (struct client){ .pid = pid, .device = device_of(devices, node) };
		if (!client.device || !read_fdinfo(&client, entry->d_name))
			continue;
		process_name(pid, client.name, sizeof(client.name));
		ret = add(clients, &client);
	}
	closedir(fds);
	return ret;
}

int clients_read(const struct tool_devices *devices, struct clients *clients)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	int ret = 0;

	*clients = (struct clients){ 0 };
	if (!processes)
		return -errno;
	while (!ret && (entry = readdir(processes)))
		ret = read_process(devices, clients, entry->d_name);
	closedir(processes);
	if (ret)
		clients_free(clients);
	return ret;
}

void clients_free(struct clients *clients)
{
	free(clients->list);
	*clients = (struct clients){ 0 };
}
