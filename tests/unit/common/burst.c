/* SPDX-License-Identifier: MIT */
#include "burst.h"
#include "nodes.h"

#define TILES 256u /* of each segment at most */
#define NEVER 0xffffffffu

const struct burst_pair burst_plain = {
	.rows = 1,
	.from_row_bytes = BURST_BYTES,
	.from_rows = 1,
	.tile_row_bytes = BURST_BYTES,
	.tile_rows = 1,
	.row_bytes = BURST_BYTES,
	.to_rows = 1,
	.updates = 1,
	.staged = true,
};

struct burst_pair burst_of_rows(uint32_t bytes, uint32_t tile, uint32_t tile_rows)
{
	struct burst_pair pair = burst_plain;

	pair.rows = pair.to_rows = BURST_BYTES / bytes;
	pair.row_bytes = bytes;
	pair.from_row_bytes = pair.tile_row_bytes = tile;
	pair.from_rows = pair.tile_rows = tile_rows;
	return pair;
}

struct burst_pair burst_shape(uint32_t number)
{
	if (number == 0)
		return burst_plain;
	return number == 1 ? burst_of_rows(512, 512, 128) : burst_of_rows(8192, 1536, 8);
}

void burst_fill(uint8_t *to)
{
	uint32_t i;

	for (i = 0; i < BURST_BYTES / 4; i++)
		memcpy(to + (size_t)4 * i, &(uint32_t){ i * 7 + 1 }, 4);
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

static uint32_t tiles(const struct t3_cmd_seg_map *map)
{
	return ceil_div(map->rows, map->tile_rows) * ceil_div(map->row_bytes, map->tile_row_bytes);
}

struct t3_fabric *burst_fabric(struct host *host)
{
	return host->nodes ? nodes_fabric(host, 0) : host->fabric;
}

static struct host *new_host(bool nodes)
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, T3_KEYS_FABRIC };
	struct host *host;

	if (!nodes)
		return host_ring(2);
	host = nodes_new(&config, 2, 1);
	nodes_connect_all(host);
	return host;
}

struct host *burst_host(const struct burst_pair *pair, bool alone)
{
	struct t3_cmd_seg_map from = host_segment(0, 0, pair->staged ? T3_SEG_REMOTE : T3_SEG_DMA,
						  T3_OP_ADD, T3_DTYPE_I32),
			      to;
	struct t3_cmd_seg_staging staging = { .address = HOST_STAGING,
					      .slot_stride = BURST_BYTES,
					      .slots = 1 };
	struct host *host = new_host(pair->nodes);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t i;

	from.rows = pair->rows;
	from.tile_rows = pair->from_rows;
	from.row_bytes = from.pitch = BURST_BYTES / pair->rows;
	from.tile_row_bytes = pair->from_row_bytes;
	to = from;
	to.kind = T3_SEG_LOCAL;
	to.op = T3_OP_ADD;
	to.routes = to.target_op = 0;
	to.rows = pair->to_rows;
	to.row_bytes = pair->row_bytes;
	to.tile_row_bytes = pair->tile_row_bytes;
	to.tile_rows = pair->tile_rows;
	to.updates = pair->updates;
	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_map(a, &from);
	host_map(b, &to);
	if (pair->staged)
		assert_int_equal(host_command(a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
				 T3_ADMIN_OK);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	host_drain(host);
	if (pair->poison)
		host_poison(b, pair->poison, T3_POISON_GRANULE);
	if (alone)
		assert_true(host_inject(burst_fabric(host), 0, 1, T3_INJECT_DROP, NEVER));
	t3_fabric_set_inline_budget(burst_fabric(host), 0);
	burst_fill(a->memory + HOST_STAGING);
	for (i = 0; pair->staged && i < tiles(&from); i++)
		host_tile(a, 0, 0, 0, i);
	for (i = 0; !pair->staged && i < BURST_BYTES / 4; i++)
		host_store(a, 0, (uint64_t)i * 4, (uint64_t)i * 7 + 1, 4);
	return host;
}

struct t3_link *burst_link(struct host *host)
{
	return burst_fabric(host)->link[0][1];
}

/* Parts of a segment: at most TILES of them, in one row or in several. */
static void draw_tile(uint64_t *random, const struct burst_pair *pair, uint32_t *row_bytes,
		      uint32_t *rows)
{
	static const uint32_t parts[] = { 1, 2, 3, 5, 8, 31 };
	uint32_t across = parts[host_below(random, 6)], least;

	*row_bytes = ceil_div(pair->row_bytes / 4, across) * 4;
	least = ceil_div(pair->rows * ceil_div(pair->row_bytes, *row_bytes), TILES);
	*rows = least + host_below(random, pair->rows - least + 1);
}

struct burst_pair burst_draw(uint64_t *random)
{
	struct burst_pair pair = burst_plain;

	pair.rows = pair.to_rows = 1u << host_below(random, 10);
	pair.row_bytes = BURST_BYTES / pair.rows;
	draw_tile(random, &pair, &pair.tile_row_bytes, &pair.tile_rows);
	pair.from_row_bytes = pair.tile_row_bytes;
	pair.from_rows = pair.tile_rows;
	if (host_below(random, 2))
		draw_tile(random, &pair, &pair.from_row_bytes, &pair.from_rows);
	pair.staged = host_below(random, 4);
	return pair;
}

void burst_compare(struct host *bursts, struct host *alone)
{
	uint32_t rank, i;

	for (rank = 0; rank < 2; rank++) {
		for (i = 0; i < T3_COUNTER_COUNT; i++)
			if (host_counter(&bursts->dev[rank], i) !=
			    host_counter(&alone->dev[rank], i))
				fail_msg("counter %u of rank %u: %llu and %llu", i, rank,
					 (unsigned long long)host_counter(&bursts->dev[rank], i),
					 (unsigned long long)host_counter(&alone->dev[rank], i));
		assert_memory_equal(bursts->dev[rank].memory, alone->dev[rank].memory, HOST_MEMORY);
	}
}

void burst_expect_done(struct host *host)
{
	uint8_t want[BURST_BYTES];

	burst_fill(want);
	host_drain(host);
	host_expect(&host->dev[0], 0, T3_SPACE_COMPLETE, 1);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	assert_memory_equal(host_buffer(&host->dev[1], 0), want, BURST_BYTES);
	assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_LINK_TX_PACKETS),
			 host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS));
	host_free(host);
}

void burst_expect_part(struct host *host)
{
	const uint8_t *have = host_buffer(&host->dev[1], 0);
	uint8_t want[BURST_BYTES];
	uint32_t i;

	burst_fill(want);
	for (i = 0; i < BURST_BYTES; i += 4)
		if (memcmp(have + i, want + i, 4) && memcmp(have + i, "\0\0\0", 4))
			fail_msg("the element at %u is neither what was sent nor 0", i);
}

void burst_expect_untouched(struct host *host, uint32_t from)
{
	uint32_t i;

	for (i = from; i < BURST_BYTES; i++)
		assert_int_equal(host_buffer(&host->dev[1], 0)[i], 0);
}

static void shrink(uint64_t *random, struct burst_pair *pair)
{
	if (pair->rows > 1 && host_below(random, 2))
		pair->to_rows = 1 + host_below(random, pair->rows - 1);
	else
		pair->row_bytes = 4 + host_below(random, pair->row_bytes / 4 - 1) * 4;
	if (pair->tile_row_bytes > pair->row_bytes)
		pair->tile_row_bytes = pair->row_bytes;
	if (pair->tile_rows > pair->to_rows)
		pair->tile_rows = pair->to_rows;
	pair->updates = 1 + host_below(random, 2);
}

void burst_spoil(uint64_t *random, bool poison, struct burst_pair *pair)
{
	if (!poison) {
		shrink(random, pair);
		return;
	}
	pair->poison =
		(1 + host_below(random, BURST_BYTES / T3_POISON_GRANULE - 1)) * T3_POISON_GRANULE;
}
