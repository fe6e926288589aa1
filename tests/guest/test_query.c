// SPDX-License-Identifier: MIT
/* DRM_T3_QUERY: facts and counters of a device. */
#include <xf86drm.h>

#include "raw.h"

#define GUARD 0xa5

static int query(int fd, uint32_t type, void *data, uint32_t *size)
{
	struct drm_t3_query arg = { .type = type, .size = *size, .data = (uintptr_t)data };
	int ret = call(fd, DRM_IOCTL_T3_QUERY, &arg);

	*size = arg.size;
	return ret;
}

static const struct {
	uint32_t type, size;
} answers[] = {
	{ DRM_T3_QUERY_DEVICE, sizeof(struct drm_t3_device_info) },
	{ DRM_T3_QUERY_COUNTERS, sizeof(struct drm_t3_counters) },
};

TEST("the driver has a name and a version")
{
	int fd = open_rank(0);
	drmVersionPtr version = drmGetVersion(fd);

	CHECK(version);
	assert_string_equal(version->name, T3_DRIVER_NAME);
	CHECK_EQ(version->version_major, T3_DRIVER_MAJOR);
	CHECK_EQ(version->version_minor, T3_DRIVER_MINOR);
	drmFreeVersion(version);
	close(fd);
}

TEST("the limits are those of the hardware")
{
	struct drm_t3_device_info info;
	int fd = open_rank(0);

	device_info(fd, &info);
	CHECK_EQ(info.features,
		 DRM_T3_FEATURE_STAGING | DRM_T3_FEATURE_MINMAX | DRM_T3_FEATURE_MULTI |
			 DRM_T3_FEATURE_TYPES | DRM_T3_FEATURE_BYTE_OPS | DRM_T3_FEATURE_BITWISE |
			 DRM_T3_FEATURE_PRODUCT | DRM_T3_FEATURE_WIDEN | DRM_T3_FEATURE_BLOCKS |
			 DRM_T3_FEATURE_BYTES | DRM_T3_FEATURE_QUEUES | DRM_T3_FEATURE_GEMM |
			 DRM_T3_FEATURE_TIMED | DRM_T3_FEATURE_TILES | DRM_T3_FEATURE_KEYS |
			 DRM_T3_FEATURE_REFUSALS |
			 (info.topology == DRM_T3_TOPOLOGY_SWITCH ? DRM_T3_FEATURE_GROUPS : 0));
	CHECK_EQ(info.node_ranks, (1ull << info.ranks) - 1);
	CHECK_EQ(info.hw_version >> 16, 1);
	CHECK(info.memory_size && info.memory_size % PAGE == 0);
	CHECK(info.aperture_size && info.aperture_size % PAGE == 0);
	CHECK(info.memory_free <= info.memory_size);
	CHECK(info.topology >= DRM_T3_TOPOLOGY_RING && info.topology <= DRM_T3_TOPOLOGY_SWITCH);
	CHECK(info.tracker_entries && info.tracker_entries % info.tracker_ways == 0);
	CHECK_EQ(info.max_spaces, 1024);
	CHECK_EQ(info.space_segments, 64);
	CHECK_EQ(info.space_imports, 32);
	CHECK_EQ(info.max_updates, 64);
	CHECK_EQ(info.max_tile_bytes, 1 << 20);
	CHECK_EQ(info.staging_slots, 4);
	close(fd);
}

TEST("all ranks belong to one fabric")
{
	struct drm_t3_device_info info;
	uint64_t fabric = 0;
	uint32_t rank;
	int fd;

	for (rank = 0; rank < guest_ranks(); rank++) {
		fd = open_rank(rank);
		device_info(fd, &info);
		close(fd);
		CHECK_EQ(info.rank, rank);
		CHECK_EQ(info.ranks, guest_ranks());
		CHECK(info.fabric_id);
		CHECK(!fabric || info.fabric_id == fabric);
		fabric = info.fabric_id;
	}
}

TEST("a query without data says the size")
{
	int fd = open_rank(0);
	uint32_t size;
	size_t i;

	for (i = 0; i < ROWS(answers); i++) {
		size = 0;
		CHECK_EQ(query(fd, answers[i].type, NULL, &size), 0);
		CHECK_EQ(size, answers[i].size);
		size = 12345;
		CHECK_EQ(query(fd, answers[i].type, NULL, &size), 0);
		CHECK_EQ(size, answers[i].size);
	}
	close(fd);
}

/* Ask with room for `room` bytes: `want` of them arrive, and the rest does not change. */
static void check_copied(int fd, size_t answer, uint32_t room, uint32_t want)
{
	unsigned char data[1024];
	uint32_t size = room;
	size_t i;

	memset(data, GUARD, sizeof(data));
	CHECK_EQ(query(fd, answers[answer].type, data, &size), 0);
	CHECK_EQ(size, want);
	for (i = want; i < sizeof(data); i++)
		CHECK_EQ(data[i], GUARD);
	/* The last byte of each answer is 0 or small: something was copied. */
	CHECK(!want || data[want - 1] != GUARD);
}

TEST("a query copies as much as the caller has room for")
{
	int fd = open_rank(0);
	size_t i;

	for (i = 0; i < ROWS(answers); i++) {
		check_copied(fd, i, 0, 0);
		check_copied(fd, i, 4, 4);
		check_copied(fd, i, answers[i].size - 1, answers[i].size - 1);
		check_copied(fd, i, answers[i].size, answers[i].size);
		check_copied(fd, i, answers[i].size + 64, answers[i].size);
	}
	close(fd);
}

static void get_counters(int fd, struct drm_t3_counters *counters)
{
	uint32_t size = sizeof(*counters);

	memset(counters, GUARD, sizeof(*counters));
	CHECK_EQ(query(fd, DRM_T3_QUERY_COUNTERS, counters, &size), 0);
}

#define COUNTERS 31u

TEST("without a switch there is no port and no group")
{
	struct drm_t3_group_create create = {
		.kind = DRM_T3_GROUP_REDUCE,
		.members = 1,
		.op_mask = 1u << DRM_T3_OP_ADD,
		.segment_mask = 1,
	};
	struct drm_t3_group_join join = { .op_mask = 1, .segment_mask = 1 };
	struct drm_t3_query query = { .type = DRM_T3_QUERY_SWITCH };
	struct drm_t3_device_info info;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	device_info(raw.fd, &info);
	CHECK(info.topology != DRM_T3_TOPOLOGY_SWITCH); /* that of test_switch is another VM */
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_QUERY, &query), -EOPNOTSUPP);
	create.space = join.space = raw.space;
	join.ticket.generation = 1;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GROUP_CREATE, &create), -EOPNOTSUPP);
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GROUP_JOIN, &join), -EOPNOTSUPP);
	raw_close(&raw);
}

TEST("the counters count an epoch exactly")
{
	struct drm_t3_counters before, after;
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	get_counters(raw.fd, &before);
	raw_run_epoch(&raw, 1);
	get_counters(raw.fd, &after);
	CHECK_EQ(after.count, COUNTERS);
	CHECK_EQ(after.pad, 0);
	for (i = after.count; i < DRM_T3_COUNTERS_MAX; i++)
		CHECK_EQ(after.value[i], 0);
	CHECK_EQ(after.value[DRM_T3_COUNTER_STORES] - before.value[DRM_T3_COUNTER_STORES],
		 RAW_SEGMENT_BYTES / 8);
	CHECK_EQ(after.value[DRM_T3_COUNTER_TRIGGERS] - before.value[DRM_T3_COUNTER_TRIGGERS], 4);
	CHECK_EQ(after.value[DRM_T3_COUNTER_NMC_ELEMENTS] -
			 before.value[DRM_T3_COUNTER_NMC_ELEMENTS],
		 RAW_SEGMENT_BYTES / 4);
	CHECK_EQ(after.value[DRM_T3_COUNTER_TRACKER_LIVE],
		 before.value[DRM_T3_COUNTER_TRACKER_LIVE]);
	CHECK_EQ(after.value[DRM_T3_COUNTER_FAULTS], before.value[DRM_T3_COUNTER_FAULTS]);
	CHECK(after.vtime_ns >= before.vtime_ns);
	raw_close(&raw);
}

TEST("the free memory follows the buffers")
{
	uint64_t before = memory_free(0);
	uint32_t handle;
	int fd = open_rank(0);

	CHECK_EQ(bo_create(fd, 5 * PAGE - 3, &handle), 0);
	CHECK_EQ(memory_free(0), before - 5 * PAGE);
	CHECK_EQ(bo_close(fd, handle), 0);
	CHECK_EQ(memory_free(0), before);
	close(fd);
}
