/* SPDX-License-Identifier: MIT */
/*
 * SEG_MAP, SEG_STAGING, SEG_UNMAP, SEG_STATS: each error of SPEC.md section 7 and
 * t3_hw.h, and the largest values that are legal.
 */
#include "host.h"
#include "test.h"

struct deviation {
	size_t offset;
	size_t size;
	uint64_t value;
	uint32_t status;
};

#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)
#define M(field)	   FIELD(t3_cmd_seg_map, field)
#define COUNT(array)	   (sizeof(array) / sizeof((array)[0]))

/* Space 0 with segment 0 (LOCAL, offset 0, records 0..3) and routes 0 and 31. */
static struct host *set_up(void)
{
	struct host *host = host_ring(2);

	host_space(&host->dev[0], 0);
	host_space(&host->dev[1], 0);
	host_route(&host->dev[0], 0, 0, &host->dev[1], 0, 0);
	host_route(&host->dev[0], 0, 31, &host->dev[1], 0, 1);
	host_local(&host->dev[0], 0, 0);
	return host;
}

static uint32_t map(struct host_dev *d, struct t3_cmd_seg_map cmd)
{
	return host_command(d, T3_CMD_SEG_MAP, &cmd, sizeof(cmd));
}

/* A refused map takes no segment, no record, no byte: the same one then fits. */
static void deviate(struct host_dev *d, const struct t3_cmd_seg_map *good,
		    const struct deviation *list, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct t3_cmd_seg_map cmd = *good;
		uint32_t status;

		memcpy((uint8_t *)&cmd + list[i].offset, &list[i].value, list[i].size);
		status = map(d, cmd);
		if (status != list[i].status)
			fail_msg("entry %zu: status %u, want %u", i, status, list[i].status);
	}
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 0, good->segment),
			 T3_ADMIN_BAD_INDEX);
	host_map(d, good);
	assert_int_equal(map(d, *good), T3_ADMIN_EXISTS);
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 0, good->segment), T3_ADMIN_OK);
}

TEST("each wrong value of a local segment is refused")
{
	static const struct deviation list[] = {
		{ M(segment), 64, T3_ADMIN_BAD_INDEX },
		{ M(segment), 0xffffffff, T3_ADMIN_BAD_INDEX },
		{ M(segment), 0, T3_ADMIN_EXISTS },
		{ M(kind), 0, T3_ADMIN_BAD_VALUE },
		{ M(kind), 4, T3_ADMIN_BAD_VALUE },
		{ M(op), 4, T3_ADMIN_BAD_VALUE },
		{ M(dtype), T3_DTYPE_COUNT, T3_ADMIN_BAD_VALUE },
		{ M(dtype), T3_DTYPE_U8, T3_ADMIN_BAD_VALUE }, /* op is ADD */
		{ M(dtype), T3_DTYPE_I8, T3_ADMIN_BAD_VALUE },
		{ M(init), 2, T3_ADMIN_BAD_VALUE },
		{ M(target_op), 1, T3_ADMIN_BAD_VALUE },
		{ M(mbz[0]), 1, T3_ADMIN_BAD_VALUE },
		{ M(mbz[1]), 1, T3_ADMIN_BAD_VALUE },
		{ M(mbz[2]), 1, T3_ADMIN_BAD_VALUE },
		{ M(block_tiles), 1, T3_ADMIN_BAD_VALUE },
		{ M(updates), 0, T3_ADMIN_BAD_VALUE },
		{ M(updates), 65, T3_ADMIN_BAD_VALUE },
		{ M(routes), 1, T3_ADMIN_BAD_VALUE },
		{ M(target_segment), 1, T3_ADMIN_BAD_VALUE },
		{ M(target_row), 1, T3_ADMIN_BAD_VALUE },
		{ M(target_col), 4, T3_ADMIN_BAD_VALUE },
		{ M(offset), 0x402, T3_ADMIN_BAD_GEOMETRY },
		{ M(rows), 0, T3_ADMIN_BAD_GEOMETRY },
		{ M(row_bytes), 0, T3_ADMIN_BAD_GEOMETRY },
		{ M(row_bytes), 14, T3_ADMIN_BAD_GEOMETRY },
		{ M(row_bytes), 20, T3_ADMIN_BAD_GEOMETRY }, /* above the pitch */
		{ M(pitch), 18, T3_ADMIN_BAD_GEOMETRY },
		{ M(pitch), 12, T3_ADMIN_BAD_GEOMETRY },
		{ M(pitch), T3_MAX_PITCH + 4, T3_ADMIN_BAD_GEOMETRY },
		{ M(pitch), 0xfffffffc, T3_ADMIN_BAD_GEOMETRY },
		{ M(tile_rows), 0, T3_ADMIN_BAD_GEOMETRY },
		{ M(tile_rows), 5, T3_ADMIN_BAD_GEOMETRY },
		{ M(tile_row_bytes), 0, T3_ADMIN_BAD_GEOMETRY },
		{ M(tile_row_bytes), 6, T3_ADMIN_BAD_GEOMETRY },
		{ M(tile_row_bytes), 20, T3_ADMIN_BAD_GEOMETRY },
		{ M(offset), 0, T3_ADMIN_EXISTS },
		{ M(offset), 60, T3_ADMIN_EXISTS },
		{ M(offset), HOST_SPACE_SIZE - 60, T3_ADMIN_BAD_RANGE },
		{ M(offset), HOST_SPACE_SIZE, T3_ADMIN_BAD_RANGE },
		{ M(offset), 0xfffffffffffffffcull, T3_ADMIN_BAD_RANGE },
		{ M(rows), 0x1000, T3_ADMIN_BAD_RANGE },
		{ M(rows), 0xffffffff, T3_ADMIN_BAD_RANGE },
		{ M(pitch), T3_MAX_PITCH, T3_ADMIN_BAD_RANGE },
		{ M(counter_base), 3, T3_ADMIN_BAD_RANGE }, /* in use */
		{ M(counter_base), HOST_COUNTER_COUNT - 3, T3_ADMIN_BAD_RANGE },
		{ M(counter_base), HOST_COUNTER_COUNT, T3_ADMIN_BAD_RANGE },
		{ M(counter_base), 0xffffffff, T3_ADMIN_BAD_RANGE },
	};
	struct host *host = set_up();
	struct t3_cmd_seg_map good = host_segment(0, 1, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	deviate(&host->dev[0], &good, list, COUNT(list));
	host_free(host);
}

TEST("each wrong value of a sending segment is refused")
{
	static const struct deviation both[] = {
		{ M(target_op), 4, T3_ADMIN_BAD_VALUE },
		{ M(routes), 2, T3_ADMIN_BAD_INDEX },
		{ M(routes), 32, T3_ADMIN_BAD_INDEX },
		{ M(routes), 0xffffffff, T3_ADMIN_BAD_INDEX },
		{ M(routes), 0x80000003, T3_ADMIN_BAD_INDEX }, /* 1 is not set */
		{ M(routes), 0, T3_ADMIN_BAD_INDEX },
		{ M(dtype), T3_DTYPE_U8, T3_ADMIN_BAD_VALUE }, /* target_op is not STORE */
		{ M(target_segment), 64, T3_ADMIN_BAD_INDEX },
		{ M(target_col), 2, T3_ADMIN_BAD_GEOMETRY },
		{ M(target_row), 0xfffffffc, T3_ADMIN_BAD_GEOMETRY }, /* its end: 2^32 */
		{ M(target_row), 0xffffffff, T3_ADMIN_BAD_GEOMETRY },
		{ M(target_col), 0xfffffff0, T3_ADMIN_BAD_GEOMETRY },
		{ M(target_col), 0xfffffffc, T3_ADMIN_BAD_GEOMETRY },
	};
	static const struct deviation remote[] = {
		{ M(op), 1, T3_ADMIN_BAD_VALUE },
		{ M(init), 1, T3_ADMIN_BAD_VALUE },
		{ M(block_tiles), 1, T3_ADMIN_BAD_VALUE },
	};
	static const struct deviation blocks[] = {
		{ M(block_tiles), T3_MAX_BLOCK_TILES + 1, T3_ADMIN_BAD_VALUE },
		{ M(block_tiles), 0xffffffff, T3_ADMIN_BAD_VALUE },
	};
	struct host *host = set_up();
	struct t3_cmd_seg_map dma = host_segment(0, 1, T3_SEG_DMA, T3_OP_MAX, T3_DTYPE_F32);
	struct t3_cmd_seg_map stores = host_segment(0, 1, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_F32);

	dma.routes = 1u << 31;
	dma.target_segment = 63;
	deviate(&host->dev[0], &dma, both, COUNT(both));
	dma.routes |= 1; /* and both */
	dma.block_tiles = T3_MAX_BLOCK_TILES;
	deviate(&host->dev[0], &dma, blocks, COUNT(blocks));
	deviate(&host->dev[0], &stores, both, COUNT(both));
	deviate(&host->dev[0], &stores, remote, COUNT(remote));
	stores.target_row = 0xfffffffb;
	stores.target_col = 0xffffffec;
	host_map(&host->dev[0], &stores);
	host_free(host);
}

/* Right up to the neighbours: extents and counter records that touch. */
TEST("segments may touch their neighbours")
{
	struct host *host = set_up();
	struct t3_cmd_seg_map cmd = host_segment(0, 1, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F16);

	cmd.offset = 64;
	cmd.counter_base = 4;
	host_map(&host->dev[0], &cmd);
	cmd.segment = 2;
	cmd.offset = HOST_SPACE_SIZE - 64;
	cmd.counter_base = HOST_COUNTER_COUNT - 4;
	host_map(&host->dev[0], &cmd);
	/* The padding behind the last row is not part of the extent. */
	cmd.segment = 3;
	cmd.offset = HOST_SPACE_SIZE - 64 - 3 * 32 - 16;
	cmd.pitch = 32;
	cmd.counter_base = 100;
	host_map(&host->dev[0], &cmd);
	cmd.segment = 4;
	cmd.offset -= 3 * 32 + 14;
	cmd.counter_base = 200;
	assert_int_equal(map(&host->dev[0], cmd), T3_ADMIN_EXISTS);
	host_free(host);
}

/* 4096 segments per device, in any spaces, and none is lost by unmapping. */
TEST("a device has 4096 segments")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_space_create space = host_space_args(0);
	struct t3_cmd_seg_map cmd = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t i;

	for (i = 0; i < 65; i++) {
		space.space = i;
		space.aperture_offset = (uint64_t)i * T3_PAGE_SIZE;
		space.size = T3_PAGE_SIZE;
		space.counters = HOST_COUNTERS + i * 0x2000;
		space.counter_count = 256;
		assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &space, sizeof(space)),
				 T3_ADMIN_OK);
	}
	for (i = 0; i < 4096; i++) {
		cmd.space = i / 64;
		cmd.segment = i % 64;
		cmd.offset = i % 64 * 64;
		cmd.counter_base = i % 64 * 4;
		host_map(d, &cmd);
	}
	cmd.space = 64;
	assert_int_equal(map(d, cmd), T3_ADMIN_NO_RESOURCE);
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 17, 9), T3_ADMIN_OK);
	host_map(d, &cmd);
	assert_int_equal(host_index_command(d, T3_CMD_SEG_UNMAP, 17, 9), T3_ADMIN_BAD_INDEX);
	host_free(host);
}

#define G(field) FIELD(t3_cmd_seg_staging, field)

TEST("each wrong value of staging is refused")
{
	static const struct deviation list[] = {
		{ G(segment), 1, T3_ADMIN_BAD_INDEX },
		{ G(segment), 64, T3_ADMIN_BAD_INDEX },
		{ G(segment), 0xffffffff, T3_ADMIN_BAD_INDEX },
		{ G(slots), 5, T3_ADMIN_BAD_VALUE },
		{ G(slots), 0xffffffff, T3_ADMIN_BAD_VALUE },
		{ G(mbz), 1, T3_ADMIN_BAD_VALUE },
		{ G(address), HOST_STAGING + 4, T3_ADMIN_BAD_RANGE },
		{ G(address), HOST_MEMORY, T3_ADMIN_BAD_RANGE },
		{ G(address), HOST_MEMORY - 3 * 72 - 56, T3_ADMIN_BAD_RANGE },
		{ G(address), 0xfffffffffffffff8ull, T3_ADMIN_BAD_RANGE },
		{ G(slot_stride), 56, T3_ADMIN_BAD_RANGE }, /* below the extent of 64 */
		{ G(slot_stride), 68, T3_ADMIN_BAD_RANGE },
		{ G(slot_stride), 0, T3_ADMIN_BAD_RANGE },
		{ G(slot_stride), 0x8000000000000000ull, T3_ADMIN_BAD_RANGE },
		{ G(slot_stride), 0x5555555555555558ull, T3_ADMIN_BAD_RANGE },
		{ G(slot_stride), HOST_MEMORY, T3_ADMIN_BAD_RANGE },
	};
	struct t3_cmd_seg_staging good = { 0, 0, HOST_MEMORY - 3 * 72 - 64, 72, 4, 0 }, cmd;
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];
	size_t i;

	for (i = 0; i < COUNT(list); i++) {
		cmd = good;
		memcpy((uint8_t *)&cmd + list[i].offset, &list[i].value, list[i].size);
		assert_int_equal(host_command(d, T3_CMD_SEG_STAGING, &cmd, sizeof(cmd)),
				 list[i].status);
	}
	cmd = good; /* ends with the memory */
	assert_int_equal(host_command(d, T3_CMD_SEG_STAGING, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	cmd.slots = 0;
	assert_int_equal(host_command(d, T3_CMD_SEG_STAGING, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	host_index_command(d, T3_CMD_ROUTE_CLEAR, 0, 0);
	host_index_command(d, T3_CMD_ROUTE_CLEAR, 0, 31);
	host_arm(d, 0, 1);
	host_tile(d, 0, 0, 0, 0); /* and now there is none */
	host_expect_cpu_fault(d, 0, T3_FAULT_BAD_DOORBELL, 0, 0, HOST_NONE64);
	host_free(host);
}

/* A doorbell does a tile at once, so that its rows are limited; a link sends as it can. */
TEST("staged tiles have a largest number of rows")
{
	struct t3_cmd_seg_staging staging = { 0, 1, HOST_STAGING, 0x100000, 1, 0 };
	uint32_t remote, more;

	for (remote = 0; remote < 2; remote++)
		for (more = 0; more < 2; more++) {
			struct host *host = set_up();
			struct host_dev *d = &host->dev[0];
			struct t3_cmd_seg_map map =
				host_segment(0, 1, remote ? T3_SEG_REMOTE : T3_SEG_LOCAL,
					     T3_OP_STORE, T3_DTYPE_U8);

			map.offset = 0x1000;
			map.rows = map.tile_rows = T3_MAX_STAGED_ROWS + more;
			map.row_bytes = map.tile_row_bytes = map.pitch = 8;
			map.counter_base = 4;
			host_map(d, &map);
			assert_int_equal(host_command(d, T3_CMD_SEG_STAGING, &staging,
						      sizeof(staging)),
					 more && !remote ? T3_ADMIN_BAD_GEOMETRY : T3_ADMIN_OK);
			staging.slots = 0; /* can always be taken away */
			assert_int_equal(host_command(d, T3_CMD_SEG_STAGING, &staging,
						      sizeof(staging)),
					 T3_ADMIN_OK);
			staging.slots = 1;
			host_free(host);
		}
}

TEST("statistics are those of a mapped segment")
{
	struct host *host = set_up();
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_seg_stats cmd = { .space = 0, .segment = 1 };

	assert_int_equal(host_command(d, T3_CMD_SEG_STATS, &cmd, sizeof(cmd)), T3_ADMIN_BAD_INDEX);
	cmd.segment = 64;
	assert_int_equal(host_command(d, T3_CMD_SEG_STATS, &cmd, sizeof(cmd)), T3_ADMIN_BAD_INDEX);
	cmd = host_stats(d, 0, 0);
	assert_int_equal(cmd.tiles, 4);
	assert_int_equal(cmd.tiles_tracked | cmd.stores | cmd.doorbells | cmd.local_bytes |
				 cmd.remote_bytes | cmd.triggers | cmd.dma_bytes | cmd.link_bytes |
				 cmd.nmc_elements,
			 0);
	host_free(host);
}

/* Its bytes are a number that 32 bits do not hold. */
TEST("a tile of too many bytes is refused")
{
	struct host *host = host_ring(1);
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	host_space(&host->dev[0], 0);
	map.rows = map.tile_rows = 0x10000;
	map.row_bytes = map.pitch = map.tile_row_bytes = 0x10000;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_SEG_MAP, &map, sizeof(map)),
			 T3_ADMIN_BAD_GEOMETRY);
	host_free(host);
}
