/* SPDX-License-Identifier: MIT */
#include "ref.h"
#include "ring.h"

struct ring ring_of(struct host *host, uint32_t space, uint32_t dtype)
{
	struct ring ring = { host, space, dtype, 5, 24, 32, 2, 16 };

	return ring;
}

uint32_t ring_kind(const struct ring *ring, uint32_t rank, uint32_t chunk)
{
	if (rank == chunk)
		return T3_SEG_LOCAL;
	return rank == (chunk + 1) % ring->host->ranks ? T3_SEG_REMOTE : T3_SEG_DMA;
}

void ring_create(const struct ring *ring)
{
	uint32_t r;

	for (r = 0; r < ring->host->ranks; r++)
		host_space(&ring->host->dev[r], ring->space);
}

static void map_chunk(const struct ring *ring, uint32_t rank, uint32_t chunk)
{
	uint32_t kind = ring_kind(ring, rank, chunk);
	struct t3_cmd_seg_map map = host_segment(ring->space, chunk, kind, T3_OP_ADD, ring->dtype);

	map.updates = kind == T3_SEG_REMOTE ? 1 : 2;
	map.rows = ring->rows;
	map.row_bytes = ring->row_bytes;
	map.pitch = ring->pitch;
	map.tile_rows = ring->tile_rows;
	map.tile_row_bytes = ring->tile_row_bytes;
	host_map(&ring->host->dev[rank], &map);
	host_stage(&ring->host->dev[rank], ring->space, chunk, 1);
}

void ring_connect(const struct ring *ring)
{
	uint32_t n = ring->host->ranks, r, c;

	for (r = 0; r < n; r++)
		host_connect(&ring->host->dev[r], &ring->host->dev[(r + 1) % n], ring->space);
	for (r = 0; r < n; r++)
		for (c = 0; c < n; c++)
			map_chunk(ring, r, c);
}

struct ring ring_open(struct host *host, uint32_t space, uint32_t dtype)
{
	struct ring ring = ring_of(host, space, dtype);

	ring_create(&ring);
	ring_connect(&ring);
	return ring;
}

void ring_disconnect(const struct ring *ring)
{
	uint32_t r, c;

	for (r = 0; r < ring->host->ranks; r++) {
		struct host_dev *d = &ring->host->dev[r];

		assert_int_equal(host_space_command(d, T3_CMD_SPACE_RESET, ring->space),
				 T3_ADMIN_OK);
		for (c = 0; c < T3_SPACE_SEGMENTS; c++)
			host_index_command(d, T3_CMD_SEG_UNMAP, ring->space, c);
	}
	host_drain(ring->host);
}

int ring_value(uint32_t rank, uint32_t chunk, uint32_t row, uint32_t col, uint32_t epoch)
{
	return (int)((rank * 7 + chunk * 5 + row * 3 + col + epoch) % 17) - 4;
}

static uint64_t element(const struct ring *ring, uint32_t rank, uint32_t chunk, uint32_t row,
			uint32_t col, uint32_t epoch)
{
	return ref_small(ring->dtype, ring_value(rank, chunk, row, col, epoch));
}

static void store_chunk(const struct ring *ring, uint32_t rank, uint32_t chunk, uint32_t epoch)
{
	uint32_t size = ref_size(ring->dtype), row, col;

	for (row = 0; row < ring->rows; row++)
		for (col = 0; col < ring->row_bytes; col += size)
			host_store(&ring->host->dev[rank], ring->space,
				   chunk * 0x400 + row * ring->pitch + col,
				   element(ring, rank, chunk, row, col, epoch), size);
}

static void stage_chunk(const struct ring *ring, uint32_t rank, uint32_t chunk, uint32_t epoch)
{
	struct host_dev *d = &ring->host->dev[rank];
	uint32_t size = ref_size(ring->dtype), row, col, tile;
	uint8_t *slot = host_slot(d, ring->space, chunk, 0);

	for (row = 0; row < ring->rows; row++)
		for (col = 0; col < ring->row_bytes; col += size) {
			uint64_t value = element(ring, rank, chunk, row, col, epoch);

			memcpy(slot + row * ring->pitch + col, &value, size);
		}
	for (tile = 0; tile < host_stats(d, ring->space, chunk).tiles; tile++)
		host_tile(d, ring->space, chunk, 0, tile);
}

/* From the chunk that the rank sends first to the one that it keeps. */
void ring_produce(const struct ring *ring, uint32_t rank, uint32_t epoch, bool staged)
{
	uint32_t n = ring->host->ranks, i;

	for (i = 1; i <= n; i++) {
		uint32_t chunk = (rank + n - i) % n;

		if (staged)
			stage_chunk(ring, rank, chunk, epoch);
		else
			store_chunk(ring, rank, chunk, epoch);
	}
}

void ring_arm(const struct ring *ring, uint32_t epoch)
{
	uint32_t r;

	for (r = 0; r < ring->host->ranks; r++)
		host_arm(&ring->host->dev[r], ring->space, epoch);
}

void ring_release(const struct ring *ring, uint32_t epoch)
{
	uint32_t r;

	for (r = 0; r < ring->host->ranks; r++)
		host_release(&ring->host->dev[r], ring->space, epoch);
}

void ring_expect_state(const struct ring *ring, uint32_t state, uint32_t epoch)
{
	uint32_t r;

	for (r = 0; r < ring->host->ranks; r++)
		host_expect(&ring->host->dev[r], ring->space, state, epoch);
}

static void expect_sum(const struct ring *ring, uint32_t chunk, uint32_t row, uint32_t col,
		       uint32_t epoch)
{
	uint32_t size = ref_size(ring->dtype), r;
	uint64_t got = 0;
	int sum = 0;

	for (r = 0; r < ring->host->ranks; r++)
		sum += ring_value(r, chunk, row, col, epoch);
	memcpy(&got,
	       host_buffer(&ring->host->dev[chunk], ring->space) + chunk * 0x400 +
		       row * ring->pitch + col,
	       size);
	assert_int_equal(got, ref_small(ring->dtype, sum));
}

void ring_expect_sums(const struct ring *ring, uint32_t epoch)
{
	uint32_t chunk, row, col;

	for (chunk = 0; chunk < ring->host->ranks; chunk++) {
		for (row = 0; row < ring->rows; row++)
			for (col = 0; col < ring->row_bytes; col += ref_size(ring->dtype))
				expect_sum(ring, chunk, row, col, epoch);
		host_expect_word(&ring->host->dev[chunk], ring->space, chunk,
				 T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | epoch);
	}
}

static void expect_chunk_counts(const struct ring *ring, uint32_t rank, uint32_t chunk,
				uint32_t epochs, bool staged)
{
	struct t3_cmd_seg_stats s = host_stats(&ring->host->dev[rank], ring->space, chunk);
	uint32_t kind = ring_kind(ring, rank, chunk), size = ref_size(ring->dtype);
	uint64_t bytes = (uint64_t)ring->rows * ring->row_bytes * epochs;
	uint64_t arrived = kind == T3_SEG_REMOTE ? 0 : bytes;

	assert_int_equal(s.local_bytes, bytes);
	assert_int_equal(s.remote_bytes, arrived);
	assert_int_equal(s.stores, staged ? 0 : bytes / size);
	assert_int_equal(s.doorbells, staged ? s.tiles * epochs : 0);
	assert_int_equal(s.triggers, s.tiles * epochs);
	assert_int_equal(s.tiles_tracked, s.tiles);
	assert_int_equal(s.dma_bytes, kind == T3_SEG_DMA ? bytes : 0);
	assert_int_equal(s.nmc_elements, kind == T3_SEG_REMOTE ? 0 : 2 * bytes / size);
	assert_true(kind == T3_SEG_LOCAL ? !s.link_bytes : s.link_bytes > bytes);
}

void ring_expect_counts(const struct ring *ring, uint32_t epochs, bool staged)
{
	uint32_t r, c;

	for (r = 0; r < ring->host->ranks; r++) {
		for (c = 0; c < ring->host->ranks; c++)
			expect_chunk_counts(ring, r, c, epochs, staged);
		assert_int_equal(host_counter(&ring->host->dev[r], T3_COUNTER_TRACKER_LIVE), 0);
		assert_int_equal(host_counter(&ring->host->dev[r], T3_COUNTER_NAKS), 0);
		assert_int_equal(host_counter(&ring->host->dev[r], T3_COUNTER_FAULTS), 0);
		assert_int_equal(host_counter(&ring->host->dev[r], T3_COUNTER_DROPPED), 0);
	}
}
