// SPDX-License-Identifier: MIT
/* BARs of other PCI functions, through sysfs. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"

static bool holds(const char *directory, const char *name, uint32_t number)
{
	char path[256], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	return *text && strtoul(text, NULL, 16) == number;
}

static int enable(const char *directory)
{
	char path[256];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/enable", directory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = write(fd, "1", 1) == 1 ? 0 : -errno;
	close(fd);
	return ret;
}

static int map(const char *directory, unsigned int bar, struct bench_peer *peer)
{
	char path[256];
	struct stat st;
	void *ptr;
	int fd;

	snprintf(path, sizeof(path), "%s/resource%u", directory, bar);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !st.st_size) {
		close(fd);
		return -ENXIO;
	}
	ptr = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (ptr == MAP_FAILED)
		return -errno;
	peer->memory = ptr;
	peer->size = (size_t)st.st_size;
	return 0;
}

int bench_peer_open(uint32_t vendor, uint32_t device, unsigned int bar, struct bench_peer *peer)
{
	int ret = -ENODEV;
	glob_t found;
	size_t i;

	peer->memory = NULL;
	if (glob("/sys/bus/pci/devices/*", 0, NULL, &found))
		return ret;
	for (i = 0; i < found.gl_pathc; i++) {
		const char *directory = found.gl_pathv[i];

		if (!holds(directory, "vendor", vendor) || !holds(directory, "device", device))
			continue;
		ret = enable(directory);
		if (!ret)
			ret = map(directory, bar, peer);
		break;
	}
	globfree(&found);
	return ret;
}

void bench_peer_close(struct bench_peer *peer)
{
	if (peer->memory)
		munmap((void *)(uintptr_t)peer->memory, peer->size);
	peer->memory = NULL;
}
