/* SPDX-License-Identifier: MIT */
/* What stops at a fault, DISABLE or the end of an epoch, and leaves nothing behind. */
#include "host.h"
#include "test.h"

#define SPACE 1u

/* Space 1 of rank 0: segment 0 of `kind`, two slots; its target on rank 1. Both armed. */
static struct host *set_up(uint32_t kind)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(SPACE, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	host_space(a, SPACE);
	host_space(b, SPACE);
	if (kind != T3_SEG_LOCAL)
		host_connect(a, b, SPACE);
	host_local(b, SPACE, 0);
	host_map(a, &map);
	host_stage(a, SPACE, 0, 2);
	host_arm(b, SPACE, 1);
	host_arm(a, SPACE, 1);
	host_drain(host);
	host_expect(a, SPACE, T3_SPACE_ARMED, 1);
	return host;
}

static uint32_t waiting_segments(struct host *host)
{
	struct t3_link_info info;

	assert_true(t3_fabric_link_info(host->fabric, 0, 1, &info));
	return info.waiting_segments;
}

/* Tiles are ready: no packet of theirs follows. */
static void stop_sending(uint32_t kind, bool disable)
{
	struct host *host = set_up(kind);
	struct host_dev *a = &host->dev[0];
	uint64_t sent;
	uint32_t tile;

	t3_fabric_set_inline_budget(host->fabric, 0);
	for (tile = 0; tile < 4; tile++)
		host_tile(a, SPACE, 0, 0, tile);
	assert_int_equal(waiting_segments(host), 1);
	sent = host_stats(a, SPACE, 0).link_bytes;
	if (disable)
		host_space_command(a, T3_CMD_SPACE_DISABLE, SPACE);
	else
		host_store(a, SPACE, 0xf000, 1, 4);
	assert_int_equal(host_state(a, SPACE), disable ? T3_SPACE_DISABLED : T3_SPACE_FAULTED);
	assert_int_equal(waiting_segments(host), 0);
	host_drain(host);
	assert_int_equal(host_stats(a, SPACE, 0).link_bytes, sent);
	assert_int_equal(host_counter(a, T3_COUNTER_TRACKER_LIVE), 0);
	host_free(host);
}

TEST("sending stops at a fault or DISABLE")
{
	uint32_t kind, disable;

	for (kind = T3_SEG_REMOTE; kind <= T3_SEG_DMA; kind++)
		for (disable = 0; disable < 2; disable++)
			stop_sending(kind, disable);
}

/* The event area fails at CONSUMED of a doorbell that reached a count: no trigger. */
TEST("a failing event area triggers nothing")
{
	uint32_t kind;

	for (kind = T3_SEG_LOCAL; kind <= T3_SEG_DMA; kind += T3_SEG_DMA - T3_SEG_LOCAL) {
		struct host *host = set_up(kind);
		struct host_dev *a = &host->dev[0];

		a->fail_after = 0;
		host_tile(a, SPACE, 0, 0, 2);
		a->fail_after = HOST_NONE32;
		assert_int_equal(host_state(a, SPACE), T3_SPACE_FAULTED);
		assert_int_equal(a->triggers, 0);
		assert_int_equal(host_stats(a, SPACE, 0).triggers, 0);
		assert_int_equal(host_counter(a, T3_COUNTER_TRIGGERS), 0);
		assert_int_equal(host_stats(a, SPACE, 0).tiles_tracked, 0);
		host_drain(host);
		assert_int_equal(host_stats(a, SPACE, 0).dma_bytes, 0);
		host_free(host);
	}
}

/*
 * An epoch that ended with a tile half counted, as only a forged record makes it: the
 * cached count does not reach into the next one.
 */
TEST("an epoch clears counts of the one before")
{
	struct host *host = set_up(T3_SEG_LOCAL);
	struct host_dev *a = &host->dev[0];
	uint32_t i;

	host_store(a, SPACE, 0, 5, 8); /* half of tile 0 */
	for (i = 0; i < 4; i++) {
		host_tile(a, SPACE, 0, 0, 1);
		memset(a->memory + HOST_COUNTER_BASE(SPACE) + sizeof(struct t3_tile_record), 0,
		       sizeof(struct t3_tile_record));
	}
	host_expect(a, SPACE, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_counter(a, T3_COUNTER_TRACKER_LIVE), 1);
	host_release(a, SPACE, 1);
	host_arm(a, SPACE, 2);
	assert_int_equal(host_counter(a, T3_COUNTER_TRACKER_LIVE), 0);
	host_store(a, SPACE, 0, 7, 8);
	host_store(a, SPACE, 16, 7, 8);
	assert_int_equal(host_counter(a, T3_COUNTER_FAULTS), 0);
	assert_int_equal(host_load(a, SPACE, 0, 8), 7); /* initialised again */
	assert_int_equal(host_stats(a, SPACE, 0).tiles_tracked, 1);
	host_free(host);
}

/* The counter table shows which tiles are done, and of which epoch. */
TEST("a triggered tile is recorded in memory")
{
	struct host *host = set_up(T3_SEG_LOCAL);
	struct host_dev *a = &host->dev[0];
	const struct t3_tile_record *record = (const void *)(a->memory + HOST_COUNTER_BASE(SPACE));

	a->shadow = calloc(1, HOST_MEMORY);
	assert_non_null(a->shadow);
	host_store(a, SPACE, 0, 5, 8);
	assert_int_equal(record[0].flags, T3_TILE_STARTED);
	host_store(a, SPACE, 16, 5, 8);
	assert_int_equal(record[0].flags, T3_TILE_STARTED | T3_TILE_TRIGGERED);
	assert_int_equal(record[0].count, 16);
	assert_memory_equal(&record[0], a->shadow + HOST_COUNTER_BASE(SPACE), sizeof(record[0]));
	assert_int_equal(record[1].flags, 0);
	host_free(host);
}
