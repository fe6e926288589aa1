/* SPDX-License-Identifier: MIT */
/*
 * Stores behind one that was taken, in the same row of the same tile: what is wrong with
 * one is found all the same, and all of them count. SPEC.md sections 3.1 and 9.2.
 */
#include "host.h"
#include "space/space_private.h"
#include "test.h"

#define ROW_BYTES 36u
#define PITCH	  64u

/* Tiles of 12 bytes: an aligned store of 8 at byte 8 of a row would cross an edge. */
static struct host *begun(void)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	map.rows = 2;
	map.row_bytes = ROW_BYTES;
	map.pitch = PITCH;
	map.tile_rows = 2;
	map.tile_row_bytes = 12;
	map.updates = 2;
	host_space(d, 0);
	host_map(d, &map);
	host_arm(d, 0, 1);
	host_store(d, 0, 0, 1, 4);
	return host;
}

static void expect_fault(uint64_t offset, uint32_t size, uint32_t kind, uint32_t tile)
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];
	uint64_t stores = host_counter(d, T3_COUNTER_STORES);

	host_store(d, 0, offset, 1, size);
	host_expect_cpu_fault(d, 0, kind, kind == T3_FAULT_UNMAPPED ? T3_NONE32 : 0, tile, offset);
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), stores);
	host_free(host);
}

TEST("a later store of a run faults as the first")
{
	expect_fault(8, 8, T3_FAULT_TILE_CROSS, T3_NONE32);
	expect_fault(4, 2, T3_FAULT_WIDTH, T3_NONE32);
	expect_fault(8, 1, T3_FAULT_WIDTH, T3_NONE32);
	expect_fault(4, 8, T3_FAULT_WIDTH, T3_NONE32);
	expect_fault(6, 4, T3_FAULT_WIDTH, T3_NONE32);
}

TEST("a later store of a run meets poison")
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];

	host_store(d, 0, 4, 1, 4);
	host_poison(d, 0, T3_POISON_GRANULE);
	host_store(d, 0, 8, 1, 4);
	host_expect_cpu_fault(d, 0, T3_FAULT_POISON, 0, 0, 8);
	assert_int_equal(host_counter(d, T3_COUNTER_STORES), 2);
	host_free(host);
}

/* The first one of a row begins a run, the others follow; rows and tiles change within. */
TEST("all stores of a run count")
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];
	uint32_t row, col, pass, stores = 1;

	for (pass = 0; pass < 2; pass++)
		for (row = 0; row < 2; row++)
			for (col = 0; col < ROW_BYTES; col += 4) {
				if (!pass && !row && !col)
					continue; /* begun */
				host_expect(d, 0, T3_SPACE_ARMED, 1);
				host_store(d, 0, row * PITCH + col, pass + col, 4);
				assert_int_equal(host_counter(d, T3_COUNTER_STORES), ++stores);
			}
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	for (row = 0; row < 2; row++)
		for (col = 4; col < ROW_BYTES; col += 4)
			assert_int_equal(host_load(d, 0, row * PITCH + col, 4), 2 * col + 1);
	assert_int_equal(host_load(d, 0, 0, 4), 2);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_HIT) +
				 host_counter(d, T3_COUNTER_TRACKER_ALLOC),
			 stores);
	assert_int_equal(host_counter(d, T3_COUNTER_NMC_ELEMENTS), stores);
	host_free(host);
}

/* What was remembered of a segment is not of the one that takes its place. */
TEST("another segment inherits nothing of a run")
{
	struct host *host = begun();
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	assert_int_equal(host_space_command(d, T3_CMD_SPACE_RESET, 0), T3_ADMIN_OK);
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 0, 0), T3_ADMIN_OK);
	map.offset = 0x20;
	host_map(d, &map);
	host_arm(d, 0, 2);
	host_store(d, 0, 4, 1, 4);
	host_expect_cpu_fault(d, 0, T3_FAULT_UNMAPPED, T3_NONE32, T3_NONE32, 4);
	host_free(host);
}

/*
 * A peer's update is taken while the space is ARMING, so the tracker has the tile. The CPU's store is
 * refused all the same, by either call.
 */
TEST("a store while arming faults though its tile is tracked")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map remote = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_ring(3);
	struct host_dev *from = &host->dev[0], *d = &host->dev[1];
	uint32_t rank;

	for (rank = 0; rank < 3; rank++)
		host_space(&host->dev[rank], 0);
	host_connect(from, d, 0);
	host_connect(d, &host->dev[2], 0);
	map.updates = 2;
	host_map(d, &map);
	host_map(from, &remote);
	host_arm(d, 0, 1);
	host_arm(from, 0, 1);
	host_store(from, 0, 0, 1, 4);
	host_expect(d, 0, T3_SPACE_ARMING, 1);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 1);
	assert_false(t3_dev_aperture_store(d->dev, 0, 4, 1, 4));
	host_store(d, 0, 4, 1, 4);
	host_expect_cpu_fault(d, 0, T3_FAULT_NOT_ARMED, 0, T3_NONE32, 4);
	host_free(host);
}
