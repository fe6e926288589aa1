/* SPDX-License-Identifier: MIT */
/* The limits of t3_hw.h, all used at once, on a lone device of its own: rank 1 has none. */
#include "host.h"
#include "test.h"

#define MEMORY	 (96u << 20)
#define APERTURE (64u << 20)
#define COUNTERS (72u << 20) /* behind all buffers */
#define STAGING	 (76u << 20)
#define PAGES	 T3_MAX_SPACES

struct big {
	struct t3_dev *dev;
	uint8_t *memory, *pages;
};

static bool dma_write(void *opaque, uint64_t addr, const void *buf, size_t len)
{
	uint8_t *pages = opaque;

	assert_true(addr >= HOST_BUS && addr - HOST_BUS + len <= PAGES * (uint64_t)T3_PAGE_SIZE);
	memcpy(pages + (addr - HOST_BUS), buf, len);
	return true;
}

static void irq(void *opaque, uint32_t vector)
{
	(void)opaque;
	assert_int_equal(vector, 0);
}

static struct t3_fabric *fabric;

static void kick(void *opaque)
{
	(void)opaque;
}

static struct big big_new(uint32_t entries, uint32_t ways)
{
	static const struct t3_host_ops ops = { .dma_write = dma_write, .irq = irq };
	static const struct t3_fabric_ops fabric_ops = { .kick = kick };
	struct big big;
	struct t3_dev_config config = { .memory_size = MEMORY,
					.aperture_size = APERTURE,
					.tracker_entries = entries,
					.tracker_ways = ways };
	struct t3_fabric_config fabric_config = { .topology = T3_TOPOLOGY_RING,
						  .ranks = 2,
						  .id = 1 };

	big.memory = calloc(1, MEMORY);
	big.pages = calloc(PAGES, T3_PAGE_SIZE);
	assert_true(big.memory && big.pages);
	big.dev = t3_dev_new(&config, big.memory, &ops, big.pages);
	fabric = t3_fabric_new(&fabric_config, &fabric_ops, NULL);
	assert_true(big.dev && fabric);
	assert_int_equal(t3_dev_attach(big.dev, fabric, 0), 0);
	return big;
}

static void big_free(struct big *big)
{
	t3_dev_detach(big->dev);
	t3_dev_free(big->dev);
	t3_fabric_free(fabric);
	free(big->memory);
	free(big->pages);
}

static uint32_t command(struct big *big, uint32_t opcode, void *cmd, size_t size)
{
	uint64_t words[T3_MAILBOX_SIZE / 8] = { 0 };
	size_t i;

	memcpy(words, cmd, size);
	for (i = 0; i < (size + 7) / 8; i++)
		t3_dev_regs_write(big->dev, T3_REG_MAILBOX + 8 * i, words[i], 8);
	t3_dev_regs_write(big->dev, T3_REG_ADMIN_COMMAND, opcode, 4);
	for (i = 0; i < (size + 7) / 8; i++)
		words[i] = t3_dev_regs_read(big->dev, T3_REG_MAILBOX + 8 * i, 8);
	memcpy(cmd, words, size);
	return (uint32_t)t3_dev_regs_read(big->dev, T3_REG_ADMIN_STATUS, 4);
}

static uint64_t counter(struct big *big, uint32_t id)
{
	return t3_dev_regs_read(big->dev, T3_REG_COUNTERS + 8 * id, 8);
}

static void doorbell(struct big *big, uint32_t space, uint32_t offset, uint64_t value,
		     uint32_t size)
{
	t3_dev_regs_write(big->dev, T3_DOORBELL_BASE + (uint64_t)space * T3_PAGE_SIZE + offset,
			  value, size);
}

static void create(struct big *big, uint32_t space, uint64_t at, uint64_t size, uint32_t records)
{
	struct t3_cmd_space_create cmd = {
		.space = space,
		.aperture_offset = at,
		.size = size,
		.buffer = at,
		.counters = COUNTERS + (uint64_t)space * 256,
		.counter_count = records,
		.event_area = HOST_BUS + (uint64_t)space * T3_PAGE_SIZE,
	};

	assert_int_equal(command(big, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

static uint64_t state_word(const struct big *big, uint32_t space)
{
	const struct t3_event_area *area =
		(const void *)(big->pages + (uint64_t)space * T3_PAGE_SIZE);

	return area->state;
}

static uint64_t state_of(uint32_t state, uint32_t epoch)
{
	return (uint64_t)state << 32 | epoch;
}

/* ----------------------------------------------- all spaces, all segments */

/* 4 segments of 64 bytes in each space: 2 tiles of 8 elements, 2 updates. */
static void populate(struct big *big)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t space, i;

	map.row_bytes = map.tile_row_bytes = map.pitch = 16;
	map.updates = 2;
	for (space = 0; space < T3_MAX_SPACES; space++) {
		create(big, space, (uint64_t)space * T3_PAGE_SIZE, T3_PAGE_SIZE, 16);
		for (i = 0; i < T3_MAX_SEGMENTS / T3_MAX_SPACES; i++) {
			struct t3_cmd_seg_map cmd = map;

			cmd.space = space;
			cmd.segment = i * 21; /* up to 63 */
			cmd.offset = i * 1024;
			cmd.counter_base = i * 2;
			assert_int_equal(command(big, T3_CMD_SEG_MAP, &cmd, sizeof(cmd)),
					 T3_ADMIN_OK);
		}
	}
	map.space = 5;
	map.segment = 7;
	map.offset = 3 * 1024 + 512;
	map.counter_base = 8;
	assert_int_equal(command(big, T3_CMD_SEG_MAP, &map, sizeof(map)), T3_ADMIN_NO_RESOURCE);
}

/* Each space gets one store in turn, so that every tile is in flight at once. */
static void produce(struct big *big)
{
	uint32_t k, space, i, offset;

	for (k = 0; k < 2; k++)
		for (i = 0; i < 4; i++)
			for (offset = 0; offset < 64; offset += 8)
				for (space = 0; space < T3_MAX_SPACES; space++)
					t3_dev_aperture_write(big->dev,
							      (uint64_t)space * T3_PAGE_SIZE +
								      i * 1024 + offset,
							      (uint64_t)(space + i) << 32 | k, 8);
}

static void expect_all(struct big *big)
{
	uint32_t space, i, values[16], e;

	for (space = 0; space < T3_MAX_SPACES; space++) {
		assert_int_equal(state_word(big, space), state_of(T3_SPACE_COMPLETE, 3));
		for (i = 0; i < 4; i++) {
			memcpy(values, big->memory + (uint64_t)space * T3_PAGE_SIZE + i * 1024, 64);
			for (e = 0; e < 16; e++)
				assert_int_equal(values[e], e % 2 ? 2 * (space + i) : 1);
		}
	}
	assert_int_equal(counter(big, T3_COUNTER_TRIGGERS), 2 * T3_MAX_SEGMENTS);
	assert_int_equal(counter(big, T3_COUNTER_STORES), 16 * T3_MAX_SEGMENTS);
	assert_int_equal(counter(big, T3_COUNTER_FAULTS), 0);
	assert_int_equal(counter(big, T3_COUNTER_TRACKER_LIVE), 0);
	assert_int_equal(t3_dev_regs_read(big->dev, T3_REG_EVENT_SUMMARY, 4), 0xffffffff);
}

static void all_at_once(uint32_t entries, uint32_t ways)
{
	struct big big = big_new(entries, ways);
	uint32_t space, word;

	populate(&big);
	for (word = 0; word < T3_MAX_SPACES / 32; word++)
		t3_dev_regs_write(big.dev, T3_REG_SPACE_ENABLE + 4 * word, 0xffffffff, 4);
	for (space = 0; space < T3_MAX_SPACES; space++)
		doorbell(&big, space, T3_DB_ARM, 3, 4);
	produce(&big);
	expect_all(&big);
	big_free(&big);
}

TEST("all limits hold at once")
{
	all_at_once(65536, 64);
	all_at_once(256, 8);
	all_at_once(1, 1);
}

/* ------------------------------------------------------ many tiles, big tiles */

static void many_tiles(uint32_t entries, uint32_t ways, uint32_t peak, uint32_t spills)
{
	struct big big = big_new(entries, ways);
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_F16);
	uint32_t i, k;

	create(&big, 0, 0, 0x20000, 65536);
	map.rows = 256;
	map.row_bytes = map.pitch = 512;
	map.tile_rows = 1;
	map.tile_row_bytes = 2;
	map.updates = 2;
	assert_int_equal(command(&big, T3_CMD_SEG_MAP, &map, sizeof(map)), T3_ADMIN_OK);
	doorbell(&big, 0, T3_DB_ARM, 1, 4);
	for (k = 0; k < 2; k++)
		for (i = 0; i < 65536; i++)
			t3_dev_aperture_write(big.dev, 2 * i, 0x3c00, 2);
	assert_int_equal(state_word(&big, 0), state_of(T3_SPACE_COMPLETE, 1));
	for (i = 0; i < 65536; i++)
		assert_memory_equal(big.memory + 2 * i, "\x00\x40", 2);
	assert_int_equal(counter(&big, T3_COUNTER_TRACKER_PEAK), peak);
	assert_int_equal(counter(&big, T3_COUNTER_TRACKER_LIVE), 0);
	assert_int_equal(counter(&big, T3_COUNTER_TRACKER_SPILL), spills);
	big_free(&big);
}

TEST("a segment of many tiles is counted")
{
	many_tiles(65536, 64, 65536, 0);
	many_tiles(65536, 1, 65536, 0);
	many_tiles(1, 1, 1, 65536);
}

/* Two rows 16 MiB apart: one tile of 1 MiB, by doorbell; the rest stays untouched. */
TEST("the largest tile is done whole")
{
	struct big big = big_new(256, 8);
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_staging staging = {
		0, 0, STAGING - T3_MAX_PITCH, T3_MAX_PITCH * 2, 1, 0
	};
	uint32_t half = T3_MAX_TILE_BYTES / 2, i, value;
	uint64_t from;

	create(&big, 0, 0, T3_MAX_PITCH + half, 1);
	map.rows = map.tile_rows = 2;
	map.row_bytes = map.tile_row_bytes = half;
	map.pitch = T3_MAX_PITCH;
	map.updates = 2;
	assert_int_equal(command(&big, T3_CMD_SEG_MAP, &map, sizeof(map)), T3_ADMIN_OK);
	assert_int_equal(command(&big, T3_CMD_SEG_STAGING, &staging, sizeof(staging)), T3_ADMIN_OK);
	for (i = 0; i < half; i += 4) {
		from = staging.address + i;
		memcpy(big.memory + from, &i, 4);
		value = ~i;
		memcpy(big.memory + from + T3_MAX_PITCH, &value, 4);
	}
	big.memory[half] = big.memory[T3_MAX_PITCH - 1] = 0x77;
	doorbell(&big, 0, T3_DB_ARM, 1, 4);
	doorbell(&big, 0, T3_DB_TILE, T3_DB_TILE_VALUE(0, 0, 0), 8);
	for (i = 0; i < half; i += 4) {
		t3_dev_aperture_write(big.dev, i, 1, 4);
		t3_dev_aperture_write(big.dev, (uint64_t)T3_MAX_PITCH + i, 1, 4);
	}
	assert_int_equal(state_word(&big, 0), state_of(T3_SPACE_COMPLETE, 1));
	for (i = 0; i < half; i += 4) {
		memcpy(&value, big.memory + i, 4);
		assert_int_equal(value, i + 1);
		memcpy(&value, big.memory + T3_MAX_PITCH + i, 4);
		assert_int_equal(value, ~i + 1);
	}
	assert_int_equal(big.memory[half], 0x77);
	assert_int_equal(big.memory[T3_MAX_PITCH - 1], 0x77);
	big_free(&big);
}

/* 64 MiB, 64 times each, to 32 targets: 32 bits do not hold the bytes of one target. */
TEST("the most bytes to send are counted")
{
	struct big big = big_new(256, 8);
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_route_set route = { .peer_rank = 1 };
	struct t3_segment_info info;

	create(&big, 0, 0, APERTURE, 64);
	for (route.route = 0; route.route < T3_SPACE_ROUTES; route.route++) {
		route.peer_import = route.route;
		assert_int_equal(command(&big, T3_CMD_ROUTE_SET, &route, sizeof(route)),
				 T3_ADMIN_OK);
	}
	map.rows = 64;
	map.tile_rows = 1;
	map.row_bytes = map.pitch = map.tile_row_bytes = T3_MAX_TILE_BYTES;
	map.updates = T3_MAX_UPDATES;
	map.routes = 0xffffffff;
	assert_int_equal(command(&big, T3_CMD_SEG_MAP, &map, sizeof(map)), T3_ADMIN_OK);
	assert_true(t3_dev_segment_info(big.dev, 0, 0, &info));
	assert_int_equal(info.send_bytes, 1ull << 37);
	big_free(&big);
}
