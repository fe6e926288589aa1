// SPDX-License-Identifier: MIT
/* DRM_T3_SPACE_TILE: the updates that tiles have and lack. */
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "debugfs.h"
#include "raw.h"

#define DONE	   (DRM_T3_TILE_STARTED | DRM_T3_TILE_TRIGGERED)
#define TILE_BYTES 64u	  /* of raw_segment() */
#define MANY	   16384u /* more tiles than the device examines for one command */

TEST("wrong arguments are refused")
{
	static const struct deviation rows[] = {
		BAD(drm_t3_space_tile, space, 0, ENOENT),
		BAD(drm_t3_space_tile, space, 4711, ENOENT),
		BAD(drm_t3_space_tile, segment, 1, ENOENT),
		BAD(drm_t3_space_tile, segment, 63, ENOENT),
		BAD(drm_t3_space_tile, segment, 64, EINVAL),
		BAD(drm_t3_space_tile, segment, UINT32_MAX, EINVAL),
		BAD(drm_t3_space_tile, tile, 4, EINVAL),
		BAD(drm_t3_space_tile, tile, UINT32_MAX, EINVAL),
		BAD(drm_t3_space_tile, flags, DRM_T3_SPACE_TILE_AT | 2, EINVAL),
		BAD(drm_t3_space_tile, flags, UINT32_MAX, EINVAL),
	};
	struct drm_t3_space_tile good = { .flags = DRM_T3_SPACE_TILE_AT, .tile = 3 };
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	good.space = raw.space;
	check_deviations(raw.fd, DRM_IOCTL_T3_SPACE_TILE, &good, rows, ROWS(rows));
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SPACE_TILE, &good), 0);
	raw_close(&raw);
}

static void check_tile(const struct raw *raw, uint32_t flags, uint32_t from,
		       const struct drm_t3_space_tile *want)
{
	struct drm_t3_space_tile got;

	CHECK_EQ(raw_tile(raw, flags, from, &got), 0);
	CHECK_EQ(got.tile, want->tile);
	CHECK_EQ(got.tile_flags, want->tile_flags);
	CHECK_EQ(got.space_state, want->space_state);
	CHECK_EQ(got.epoch, want->epoch);
	CHECK_EQ(got.tiles, want->tiles);
	CHECK_EQ(got.counted, want->counted);
	CHECK_EQ(got.expected, want->expected);
	CHECK_EQ(got.unacknowledged, want->unacknowledged);
}

/* Each store counts at once, while the record in memory has at most the first one. */
TEST("each store counts at once")
{
	struct drm_t3_space_tile want = { .tiles = 4,
					  .expected = TILE_BYTES,
					  .tile_flags = DRM_T3_TILE_OPEN,
					  .space_state = DRM_T3_SPACE_IDLE };
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	check_tile(&raw, 0, 0, &want);
	raw_arm(&raw, 9);
	want.epoch = 9;
	want.space_state = DRM_T3_SPACE_ARMED;
	for (i = 0; i < 32; i += 4) { /* of the first row of tile 0 */
		check_tile(&raw, 0, 0, &want);
		check_tile(&raw, DRM_T3_SPACE_TILE_AT, 0, &want);
		put32(raw.aperture + i, 1);
		want.counted += 4;
		want.tile_flags = DRM_T3_TILE_STARTED | DRM_T3_TILE_OPEN;
	}
	check_tile(&raw, 0, 0, &want);
	raw_close(&raw);
}

/* All of tiles 0 and 1, half of 3: 2 and 3 are open until an epoch ends, all in the next. */
TEST("the search finds the first open tile")
{
	struct drm_t3_space_tile none = { .tile = DRM_T3_TILE_NONE, .tiles = 4, .epoch = 1 };
	struct drm_t3_space_tile want = { .tiles = 4, .epoch = 1, .expected = TILE_BYTES };
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_arm(&raw, 1);
	raw_fill(&raw, 0, 128, 1);
	raw_fill(&raw, 128 + 32, 32, 1);
	none.space_state = want.space_state = DRM_T3_SPACE_ARMED;
	want.tile = 2;
	want.tile_flags = DRM_T3_TILE_OPEN;
	check_tile(&raw, 0, 0, &want);
	check_tile(&raw, 0, 2, &want);
	want.tile = 3;
	want.tile_flags = DRM_T3_TILE_STARTED | DRM_T3_TILE_OPEN;
	want.counted = 32;
	check_tile(&raw, 0, 3, &want);
	check_tile(&raw, 0, 4, &none);
	check_tile(&raw, 0, UINT32_MAX, &none);
	want.tile = 1;
	want.tile_flags = DONE;
	want.counted = TILE_BYTES;
	check_tile(&raw, DRM_T3_SPACE_TILE_AT, 1, &want);
	raw_fill(&raw, 128, 32, 1);
	raw_fill(&raw, 192, 64, 1);
	none.space_state = DRM_T3_SPACE_COMPLETE;
	check_tile(&raw, 0, 0, &none);
	raw_release(&raw, 1);
	raw_arm(&raw, 2);
	want = (struct drm_t3_space_tile){ .tiles = 4,
					   .epoch = 2,
					   .expected = TILE_BYTES,
					   .tile_flags = DRM_T3_TILE_OPEN,
					   .space_state = DRM_T3_SPACE_ARMED };
	check_tile(&raw, 0, 0, &want);
	raw_close(&raw);
}

static void counters(int fd, struct drm_t3_counters *counters)
{
	struct drm_t3_query query = {
		.type = DRM_T3_QUERY_COUNTERS,
		.size = sizeof(*counters),
		.data = (uintptr_t)counters,
	};

	memset(counters, 0, sizeof(*counters));
	CHECK_EQ(call(fd, DRM_IOCTL_T3_QUERY, &query), 0);
}

/* A query does not use the tracker. */
TEST("a query leaves no trace in the tracker")
{
	struct drm_t3_counters before, after;
	struct drm_t3_space_tile tile;
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_arm(&raw, 1);
	put32(raw.aperture, 1);
	counters(raw.fd, &before);
	for (i = 0; i < 100; i++)
		CHECK_EQ(raw_tile(&raw, 0, i % 4, &tile), 0);
	counters(raw.fd, &after);
	CHECK_EQ(memcmp(before.value, after.value, sizeof(before.value)), 0);
	raw_close(&raw);
}

/* Nothing is sent before the target is armed. At the end it has acknowledged all. */
static void check_sender(uint32_t kind)
{
	struct drm_t3_space_tile want = { .tiles = 4,
					  .epoch = 1,
					  .expected = TILE_BYTES,
					  .tile_flags = DRM_T3_TILE_OPEN,
					  .space_state = DRM_T3_SPACE_ARMING,
					  .unacknowledged = RAW_SEGMENT_BYTES };
	struct drm_t3_segment_map segment;
	struct raw source, target;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	segment = raw_sender(&source, kind, raw_join(&source, &target), 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	raw_arm(&source, 1);
	check_tile(&source, 0, 0, &want);
	raw_arm(&target, 1);
	CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
	raw_fill(&source, 0, 128, 5); /* tiles 0 and 1 */
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_ARMED, 1, 0, after_ms(5000)), 0);
	while (raw_tile(&source, 0, 0, &want) == 0 && want.unacknowledged > 128)
		nap_ms(1);
	CHECK_EQ(want.tile, 2);
	CHECK_EQ(want.unacknowledged, 128);
	CHECK_EQ(raw_tile(&target, 0, 0, &want), 0);
	CHECK_EQ(want.tile, 2);
	CHECK_EQ(want.unacknowledged, 0);
	raw_fill(&source, 128, 128, 5);
	CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	want = (struct drm_t3_space_tile){ .tile = DRM_T3_TILE_NONE,
					   .tiles = 4,
					   .epoch = 1,
					   .space_state = DRM_T3_SPACE_COMPLETE };
	check_tile(&source, 0, 0, &want);
	raw_close(&source);
	raw_close(&target);
}

TEST("a remote sender's tile says what has arrived")
{
	check_sender(DRM_T3_SEGMENT_REMOTE);
}

TEST("a DMA sender's tile says what has been sent")
{
	check_sender(DRM_T3_SEGMENT_DMA);
}

/* ------------------------------------------------------------- many of them */

struct many {
	int fd;
	uint32_t bo;
	struct drm_t3_space_create made;
	volatile uint8_t *aperture;
	volatile uint8_t *doorbell;
};

static volatile uint8_t *map_at(int fd, uint64_t offset, size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);

	CHECK(ptr != MAP_FAILED);
	return ptr;
}

/* One row of elements, each a tile; all but the last come. */
static void many_open(struct many *m)
{
	struct drm_t3_segment_map segment = {
		.kind = DRM_T3_SEGMENT_LOCAL,
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
		.updates = 1,
		.rows = 1,
		.row_bytes = 4 * MANY,
		.pitch = 4 * MANY,
		.tile_rows = 1,
		.tile_row_bytes = 4,
	};
	uint32_t i;

	m->fd = open_rank(0);
	CHECK_EQ(bo_create(m->fd, 4 * MANY, &m->bo), 0);
	CHECK_EQ(space_create(m->fd, m->bo, MANY, &m->made), 0);
	m->aperture = map_at(m->fd, m->made.aperture_offset, 4 * MANY);
	m->doorbell = map_at(m->fd, m->made.doorbell_offset, PAGE);
	segment.space = m->made.space;
	CHECK_EQ(call(m->fd, DRM_IOCTL_T3_SEGMENT_MAP, &segment), 0);
	put32(m->doorbell + DRM_T3_DOORBELL_ARM, 1);
	for (i = 0; i < MANY - 1; i++)
		put32(m->aperture + 4 * i, 1);
}

static void many_close(struct many *m)
{
	munmap((void *)(uintptr_t)m->aperture, 4 * MANY);
	munmap((void *)(uintptr_t)m->doorbell, PAGE);
	close(m->fd);
}

TEST("the search goes on through many tiles")
{
	struct drm_t3_space_tile arg;
	struct many m;

	many_open(&m);
	arg = (struct drm_t3_space_tile){ .space = m.made.space };
	CHECK_EQ(call(m.fd, DRM_IOCTL_T3_SPACE_TILE, &arg), 0);
	CHECK_EQ(arg.tile, MANY - 1);
	CHECK_EQ(arg.expected, 4);
	put32(m.aperture + 4 * (MANY - 1), 1);
	arg.tile = 0;
	CHECK_EQ(call(m.fd, DRM_IOCTL_T3_SPACE_TILE, &arg), 0);
	CHECK_EQ(arg.tile, DRM_T3_TILE_NONE);
	CHECK_EQ(arg.tiles, MANY);
	many_close(&m);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/* Signals come faster than one search takes. The call still finishes. */
TEST("the search finishes although signals come")
{
	static const struct itimerval often = { { 0, 150 }, { 0, 150 } }, never;
	struct sigaction action = { .sa_handler = on_alarm }, before;
	struct drm_t3_space_tile arg;
	struct many m;
	uint32_t i;

	many_open(&m);
	CHECK_EQ(sigaction(SIGALRM, &action, &before), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (i = 0; i < 5000 && alarms < 200; i++) {
		arg = (struct drm_t3_space_tile){ .space = m.made.space, .tile = 1 };
		CHECK_EQ(ioctl(m.fd, DRM_IOCTL_T3_SPACE_TILE, &arg), 0);
		CHECK_EQ(arg.tile, MANY - 1);
	}
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	CHECK_EQ(sigaction(SIGALRM, &before, NULL), 0);
	CHECK(alarms >= 200);
	many_close(&m);
}

/* -------------------------------------------------------------------- ends */

TEST("the tiles of a faulted space can be read")
{
	struct drm_t3_space_tile tile;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_arm(&raw, 1);
	raw_fill(&raw, 0, 128, 1);
	put32(raw.aperture, 1); /* once too often */
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_FAULTED);
	CHECK_EQ(raw_tile(&raw, 0, 0, &tile), 0);
	CHECK_EQ(tile.space_state, DRM_T3_SPACE_FAULTED);
	CHECK_EQ(tile.tile, 2);
	raw_close(&raw);
}

TEST("a destroyed space is not found, and a reset one fails")
{
	struct drm_t3_space_tile tile;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	CHECK_EQ(space_destroy(raw.fd, raw.space), 0);
	CHECK_EQ(raw_tile(&raw, 0, 0, &tile), -ENOENT);
	raw_close(&raw);
	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	CHECK_EQ(debugfs_write(0, "reset", "function\n"), 0);
	CHECK_EQ(raw_tile(&raw, 0, 0, &tile), -EIO);
	raw_close(&raw);
}
