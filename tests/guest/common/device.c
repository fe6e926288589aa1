// SPDX-License-Identifier: MIT
/* Finds the devices' nodes, and calls them with right and wrong arguments. */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "refusal.h"

#define NODES	     64
#define ARGUMENT_MAX 512
#define SETTLE_MS    2000

static char nodes[GUEST_MAX_RANKS][32];
static char foreign_node[32]; /* of another fabric than the one under test */
static uint64_t fabric;
static uint32_t ranks; /* 0: not known */

int call(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) ? -errno : 0;
}

void device_info(int fd, struct drm_t3_device_info *info)
{
	struct drm_t3_query arg = {
		.type = DRM_T3_QUERY_DEVICE,
		.size = sizeof(*info),
		.data = (uintptr_t)info,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &arg), 0);
	CHECK_EQ(arg.size, sizeof(*info));
}

static void note_node(const char *path)
{
	struct drm_t3_device_info info;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	device_info(fd, &info);
	close(fd);
	CHECK(info.rank < GUEST_MAX_RANKS);
	if (info.ranks == 1 || (ranks && info.fabric_id != fabric)) {
		snprintf(foreign_node, sizeof(foreign_node), "%s", path);
		return;
	}
	CHECK(!*nodes[info.rank]);
	snprintf(nodes[info.rank], sizeof(nodes[0]), "%s", path);
	fabric = info.fabric_id;
	ranks++;
}

void guest_clear_nodes(void)
{
	memset(nodes, 0, sizeof(nodes));
	*foreign_node = 0;
	ranks = 0;
}

static void find_nodes(void)
{
	char path[32];
	int i;

	for (i = 0; i < NODES; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		if (access(path, F_OK) == 0)
			note_node(path);
	}
}

uint32_t guest_ranks(void)
{
	if (!ranks)
		find_nodes();
	if (ranks < 2) {
		fprintf(stderr, "# these tests need two T3 devices, there are %u\n", ranks);
		_exit(1);
	}
	return ranks;
}

const char *guest_node(uint32_t rank)
{
	CHECK(rank < guest_ranks());
	return nodes[rank];
}

const char *guest_foreign_node(void)
{
	return guest_ranks() && *foreign_node ? foreign_node : NULL;
}

int open_rank(uint32_t rank)
{
	int fd = open(guest_node(rank), O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

uint64_t memory_free(uint32_t rank)
{
	struct drm_t3_device_info info;
	int fd = open_rank(rank);

	device_info(fd, &info);
	close(fd);
	return info.memory_free;
}

void check_memory(uint32_t rank, uint64_t want)
{
	int64_t deadline = after_ms(SETTLE_MS * guest_slowness());
	uint64_t found = memory_free(rank);

	while (found != want && now_ns() < deadline) {
		nap_ms(5);
		found = memory_free(rank);
	}
	if (found != want)
		guest_fail(__FILE__, __LINE__, "rank %u has %lld bytes less free than it should",
			   rank, (long long)(want - found));
}

static bool is_expected(int got, int error)
{
	return error == ANY_ERROR ? got < 0 : got == -error;
}

void check_deviations(int fd, unsigned long request, const void *good, const struct deviation *rows,
		      size_t count)
{
	unsigned char arg[ARGUMENT_MAX] = { 0 };
	size_t size = _IOC_SIZE(request), i;
	int wrong = 0, got;

	CHECK(size <= sizeof(arg));
	for (i = 0; i < count; i++) {
		memcpy(arg, good, size);
		memcpy(arg + rows[i].offset, &rows[i].value, rows[i].size);
		got = call(fd, request, arg);
		if (is_expected(got, rows[i].error)) {
			if (rows[i].type)
				wrong += refusal_check(fd, request, rows[i].what, -got,
						       rows[i].type, rows[i].field);
			continue;
		}
		fprintf(stderr, "# ioctl %#x with %s: %d, not %d\n",
			(unsigned int)_IOC_NR(request) - DRM_COMMAND_BASE, rows[i].what, got,
			-rows[i].error);
		wrong++;
	}
	CHECK_EQ(wrong, 0);
}

void check_zero_field(int fd, unsigned long request, const void *good,
		      const struct deviation *field)
{
	struct deviation row = *field;
	size_t bit;

	row.what = "a bit that must be zero";
	for (bit = 0; bit < 8 * row.size; bit++) {
		row.value = 1ull << bit;
		check_deviations(fd, request, good, &row, 1);
	}
}
