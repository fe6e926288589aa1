// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <linux/kcov.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kcov.h"

#define AREA_WORDS 65536u /* the first is the number of those that follow */
#define SEEN_SIZE  65536u /* power of two, far above what a module has */

static struct {
	int fd;
	uint64_t *words;
} areas[KCOV_THREADS];

static bool open_all;
static uint64_t seen[SEEN_SIZE]; /* open addressing; 0: free */
static size_t seen_count;

static void open_area(unsigned int thread, int fd)
{
	CHECK_EQ(ioctl(fd, KCOV_INIT_TRACE, AREA_WORDS), 0);
	areas[thread].fd = fd;
	areas[thread].words = mmap(NULL, AREA_WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(areas[thread].words != MAP_FAILED);
}

bool kcov_open(void)
{
	unsigned int i;
	int fd;

	for (i = 0; i < KCOV_THREADS; i++) {
		fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return false;
		open_area(i, fd);
	}
	open_all = true;
	return true;
}

void kcov_start(unsigned int thread)
{
	if (!open_all)
		return;
	CHECK_EQ(ioctl(areas[thread].fd, KCOV_ENABLE, KCOV_TRACE_PC), 0);
	__atomic_store_n(&areas[thread].words[0], 0, __ATOMIC_RELAXED);
}

static bool note(uint64_t pc)
{
	size_t at = (pc * 0x9e3779b97f4a7c15ull) >> 48;

	while (seen[at % SEEN_SIZE] && seen[at % SEEN_SIZE] != pc)
		at++;
	if (seen[at % SEEN_SIZE])
		return false;
	CHECK(++seen_count < SEEN_SIZE / 2);
	seen[at % SEEN_SIZE] = pc;
	return true;
}

size_t kcov_collect(void)
{
	size_t fresh = 0, i, count;
	unsigned int thread;

	for (thread = 0; open_all && thread < KCOV_THREADS; thread++) {
		count = areas[thread].words[0];
		for (i = 1; i <= count && i < AREA_WORDS; i++)
			fresh += areas[thread].words[i] && note(areas[thread].words[i]);
		areas[thread].words[0] = 0;
	}
	return fresh;
}

size_t kcov_count(void)
{
	return seen_count;
}
