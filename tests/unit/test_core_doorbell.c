/* SPDX-License-Identifier: MIT */
/* Staged tiles: slots, remote segments, and staging at unusual places. */
#include "host.h"
#include "test.h"

/* Rank 0 sends segment 0 (REMOTE or DMA) to rank 1's LOCAL segment 0, all armed. */
static struct host *pair(const struct t3_cmd_seg_map *from, uint32_t updates)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map to = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_map(a, from);
	host_stage(a, 0, 0, T3_SEG_SLOTS);
	to.rows = from->rows + from->target_row;
	to.row_bytes = from->row_bytes + from->target_col;
	to.pitch = 0x40;
	to.updates = updates;
	host_map(b, &to);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	host_expect(a, 0, T3_SPACE_ARMED, 1);
	return host;
}

static void put(struct host_dev *d, uint32_t slot, uint32_t offset, uint32_t value)
{
	memcpy(host_slot(d, 0, 0, slot) + offset, &value, 4);
}

static uint32_t at(struct host_dev *d, uint32_t offset)
{
	uint32_t value;

	memcpy(&value, host_buffer(d, 0) + offset, 4);
	return value;
}

static void fill_slot(struct host_dev *d, uint32_t slot, uint32_t base)
{
	uint32_t i;

	for (i = 0; i < 16; i++)
		put(d, slot, i * 4, base + i);
}

TEST("a staged tile is sent by a remote segment")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host;
	struct host_dev *a, *b;
	struct t3_cmd_seg_stats stats;
	uint32_t tile, row, col;

	map.target_row = 3;
	map.target_col = 8;
	host = pair(&map, 1);
	a = &host->dev[0];
	b = &host->dev[1];
	fill_slot(a, 2, 500);
	for (tile = 0; tile < 4; tile++)
		host_tile(a, 0, 0, 2, tile);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_area(a, 0)->consumed[0][2], 4);
	assert_int_equal(at(a, 0), 0); /* kept nowhere */
	for (row = 0; row < 4; row++)
		for (col = 0; col < 4; col++)
			assert_int_equal(at(b, (row + 3) * 0x40 + 8 + col * 4),
					 500 + row * 4 + col);
	stats = host_stats(a, 0, 0);
	assert_int_equal(stats.doorbells, 4);
	assert_int_equal(host_counter(a, T3_COUNTER_DOORBELLS), 4);
	assert_int_equal(stats.local_bytes, 64);
	assert_int_equal(stats.dma_bytes, 0);
	assert_int_equal(stats.link_bytes, 64 + 8 * sizeof(struct t3_packet)); /* 8 runs */
	assert_int_equal(stats.nmc_elements, 0);
	assert_int_equal(host_stats(b, 0, 0).remote_bytes, 64);
	assert_int_equal(host_stats(b, 0, 0).nmc_elements, 16);
	host_free(host);
}

/* The same by stores: same bytes there, same word here. */
TEST("remote stores give the same as doorbells")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = pair(&map, 1);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_stats stats;
	uint32_t i;

	for (i = 0; i < 64; i += 8)
		host_store(a, 0, i, (uint64_t)(i + 1) << 32 | i, 8);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_expect(b, 0, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < 64; i += 8) {
		assert_int_equal(at(b, i / 16 * 0x40 + i % 16), i);
		assert_int_equal(at(b, i / 16 * 0x40 + i % 16 + 4), i + 1);
	}
	stats = host_stats(a, 0, 0);
	assert_int_equal(stats.stores, 8);
	assert_int_equal(stats.local_bytes, 64);
	assert_int_equal(stats.link_bytes, 8 * (8 + sizeof(struct t3_packet)));
	assert_int_equal(host_counter(a, T3_COUNTER_STORES), 8);
	assert_int_equal(host_counter(a, T3_COUNTER_DMA_BYTES), 0);
	host_free(host);
}

/* A slot may be refilled after `consumed` has counted it, and is not read earlier. */
TEST("a remote slot may be refilled once it was consumed")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host;
	struct host_dev *a, *b;

	map.updates = 2;
	host = pair(&map, 2);
	a = &host->dev[0];
	b = &host->dev[1];
	t3_fabric_set_inline_budget(host->fabric, 0);
	fill_slot(a, 0, 10);
	host_tile(a, 0, 0, 0, 0);
	assert_int_equal(host_area(a, 0)->consumed[0][0], 0);
	put(a, 0, 0, 77); /* not read yet: this is what is sent */
	while (!host_area(a, 0)->consumed[0][0])
		assert_true(t3_fabric_run(host->fabric, 1));
	put(a, 0, 0, 1000); /* read: this is the next update */
	host_tile(a, 0, 0, 0, 0);
	host_drain(host);
	assert_int_equal(host_area(a, 0)->consumed[0][0], 2);
	assert_int_equal(at(b, 0), 1077);
	assert_int_equal(host_stats(a, 0, 0).tiles_tracked, 1);
	host_free(host);
}

/* Although it lacks updates. */
TEST("a tile that waits for its link takes no other doorbell")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host;
	struct host_dev *a;

	map.updates = 2;
	host = pair(&map, 2);
	a = &host->dev[0];
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_tile(a, 0, 0, 0, 0);
	host_tile(a, 0, 0, 1, 0);
	assert_int_equal(host_area(a, 0)->fault.kind, T3_FAULT_BAD_DOORBELL);
	assert_int_equal(host_area(a, 0)->fault.tile, 0);
	assert_int_equal(host_stats(a, 0, 0).doorbells, 1);
	host_drain(host);
	host_expect(a, 0, T3_SPACE_FAULTED, 1);
	host_free(host);
}

/* Rows longer than a packet, and more packets than a link has slots. */
TEST("rows longer than a packet are sent in pieces")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32), to;
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t i;

	map.rows = map.tile_rows = 40;
	map.row_bytes = map.pitch = map.tile_row_bytes = 1500;
	to = map;
	to.kind = T3_SEG_LOCAL;
	to.routes = 0;
	to.target_op = 0;
	to.tile_row_bytes = 700; /* an arriving run covers two tiles, not aligned to them */
	to.tile_rows = 7;
	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_map(a, &map);
	host_map(b, &to);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	for (i = 0; i < 60000; i += 4)
		host_store(a, 0, i, i * 2654435761u, 4);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_expect(b, 0, T3_SPACE_COMPLETE, 1);
	assert_memory_equal(host_buffer(a, 0), host_buffer(b, 0), 60000);
	assert_int_equal(host_counter(a, T3_COUNTER_DMA_BYTES), 60000);
	assert_int_equal(host_stats(a, 0, 0).dma_bytes, 60000);
	assert_int_equal(host_stats(a, 0, 0).link_bytes, 60000 + 80 * sizeof(struct t3_packet));
	assert_int_equal(host_stats(b, 0, 0).tiles, 18);
	assert_int_equal(host_stats(b, 0, 0).triggers, 18);
	host_free(host);
}

static void stage_at(struct host_dev *d, uint64_t address)
{
	struct t3_cmd_seg_staging cmd = { 0, 0, address, 0x1000, 1, 0 };

	assert_int_equal(host_command(d, T3_CMD_SEG_STAGING, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

/* STORE with one producer may fill the output in place: the doorbell only counts. */
TEST("a doorbell may count an output that was filled in place")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_STORE, T3_DTYPE_I32);
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	uint32_t tile, i;

	map.init = T3_INIT_KEEP;
	host_space(d, 0);
	host_map(d, &map);
	stage_at(d, 0);
	host_arm(d, 0, 1);
	for (i = 0; i < 64; i++)
		host_buffer(d, 0)[i] = (uint8_t)i;
	for (tile = 0; tile < 4; tile++)
		host_tile(d, 0, 0, 0, tile);
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < 64; i++)
		assert_int_equal(host_buffer(d, 0)[i], i);
	host_free(host);
}

/*
 * A driver may put staging anywhere, also half over the buffer. The result is the driver's problem.
 * The sanitizers check the rules for the host's memory.
 */
TEST("overlapping staging stays within the memory")
{
	uint32_t shift, op;

	for (op = 0; op < T3_OP_COUNT; op++)
		for (shift = 8; shift <= 24; shift += 8) {
			struct t3_cmd_seg_map map =
				host_segment(0, 0, T3_SEG_LOCAL, op, T3_DTYPE_F32);
			struct host *host = host_ring(1);
			struct host_dev *d = &host->dev[0];

			map.rows = map.tile_rows = 1;
			map.row_bytes = map.pitch = map.tile_row_bytes = 256;
			map.offset = 16;
			host_space(d, 0);
			host_map(d, &map);
			stage_at(d, shift);
			host_arm(d, 0, 1);
			host_tile(d, 0, 0, 0, 0);
			host_expect(d, 0, T3_SPACE_COMPLETE, 1);
			host_free(host);
		}
}

/* Stores and doorbells into one tile add up. Too many by a doorbell is a fault. */
TEST("stores and doorbells of a tile add up")
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];

	map.updates = 2;
	host_space(d, 0);
	host_map(d, &map);
	host_stage(d, 0, 0, 1);
	fill_slot(d, 0, 100);
	host_arm(d, 0, 1);
	host_store(d, 0, 0, 1, 4);
	host_tile(d, 0, 0, 0, 0);
	assert_int_equal(at(d, 0), 101);
	assert_int_equal(at(d, 20), 105);
	host_tile(d, 0, 0, 0, 0); /* 4 + 16 + 16 of 32 bytes */
	host_expect_cpu_fault(d, 0, T3_FAULT_OVERSHOOT, 0, 0, HOST_NONE64);
	assert_int_equal(at(d, 0), 101);
	assert_int_equal(host_area(d, 0)->consumed[0][0], 1);
	host_free(host);
}
