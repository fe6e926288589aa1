/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: a reduce-scatter over all ranks. */
#include "qemu/osdep.h"
#include "t3-test.h"

/* Hop 0 sends its rank's product, the last one keeps the sum, the others do both. */
static void ring_map(struct t3_test_ring *ring, uint32_t rank, uint32_t chunk)
{
	struct t3_test_space *space = &ring->space[rank];
	uint32_t hop = (rank + 2 * RING - chunk - 1) % RING;
	enum t3_segment_kind kind = hop == RING - 1 ? T3_SEG_LOCAL : T3_SEG_DMA;
	struct t3_cmd_seg_map map =
		seg_args(space, chunk, chunk * ring->bytes, ring->bytes, kind, hop ? 2 : 1);

	seg_map(space, &map);
	space->staging = STAGING_BASE + chunk * STAGING_SIZE;
	seg_staging(space, chunk, ring->bytes, 1);
}

struct t3_test_ring ring_open(struct t3_vm *vm, uint32_t bytes)
{
	struct t3_test_ring ring = { .bytes = bytes };
	uint32_t rank, chunk;

	for (rank = 0; rank < RING; rank++)
		ring.space[rank] = space_create(&vm->dev[rank], 10 * rank, 0);
	for (rank = 0; rank < RING; rank++) {
		uint32_t next = (rank + 1) % RING;

		space_route(&ring.space[rank], &ring.space[next]);
		space_import(&ring.space[next], &ring.space[rank]);
		for (chunk = 0; chunk < RING; chunk++)
			ring_map(&ring, rank, chunk);
	}
	return ring;
}

void ring_arm(struct t3_test_ring *ring, uint32_t epoch)
{
	uint32_t rank;

	for (rank = 0; rank < RING; rank++)
		db_arm(&ring->space[rank], epoch);
	for (rank = 0; rank < RING; rank++)
		wait_state(&ring->space[rank], T3_SPACE_ARMED, epoch);
}

uint32_t ring_value(uint32_t epoch, uint32_t rank, uint32_t word)
{
	return (epoch * 0x9e3779b9u) ^ (rank * 0x7ffffff1u + word * 0x01000193u);
}

void ring_check(struct t3_test_ring *ring, uint32_t epoch)
{
	g_autofree uint32_t *sum = g_malloc(ring->bytes);
	uint32_t words = ring->bytes / 4, chunk, rank, i;

	for (rank = 0; rank < RING; rank++)
		wait_state(&ring->space[rank], T3_SPACE_COMPLETE, epoch);
	for (chunk = 0; chunk < RING; chunk++) {
		struct t3_test_space *owner = &ring->space[chunk];

		mem_read(owner->dev, owner->buffer + chunk * ring->bytes, sum, ring->bytes);
		for (i = 0; i < words; i++) {
			uint32_t want = 0;

			for (rank = 0; rank < RING; rank++)
				want += ring_value(epoch, rank, chunk * words + i);
			g_assert_cmphex(sum[i], ==, want);
		}
	}
	for (rank = 0; rank < RING; rank++)
		g_assert_cmphex(errors_take(ring->space[rank].dev), ==, 0);
}

/* Every rank stores its whole array, the ranks interleaved word by word. */
void ring_store(struct t3_test_ring *ring, uint32_t epoch)
{
	uint32_t words = RING * ring->bytes / 4, rank, i;

	for (i = 0; i < words; i++) {
		for (rank = 0; rank < RING; rank++)
			store32(&ring->space[rank], 4 * i, ring_value(epoch, rank, i));
	}
}

void ring_stage(struct t3_test_ring *ring, uint32_t epoch, uint32_t rank)
{
	g_autofree uint32_t *data = g_malloc(ring->bytes);
	uint32_t words = ring->bytes / 4, chunk, i;

	for (chunk = 0; chunk < RING; chunk++) {
		for (i = 0; i < words; i++)
			data[i] = ring_value(epoch, rank, chunk * words + i);
		mem_write(ring->space[rank].dev, STAGING_BASE + chunk * STAGING_SIZE, data,
			  ring->bytes);
	}
}

void ring_release(struct t3_test_ring *ring, uint32_t epoch)
{
	uint32_t rank;

	for (rank = 0; rank < RING; rank++)
		db_release(&ring->space[rank], epoch);
}

/* All hops but the first of each chunk. The doorbells of ring_fire() start the rest. */
void ring_load(struct t3_test_ring *ring, uint32_t epoch)
{
	uint32_t rank, chunk;

	for (rank = 0; rank < RING; rank++) {
		ring_stage(ring, epoch, rank);
		for (chunk = 0; chunk < RING; chunk++) {
			if (rank != (chunk + 1) % RING)
				db_tile(&ring->space[rank], chunk, 0, 0);
		}
	}
}

void ring_fire(struct t3_test_ring *ring, uint32_t chunk)
{
	db_tile(&ring->space[(chunk + 1) % RING], chunk, 0, 0);
}

/*
 * Whether chunk 0 has arrived at its owner. It reads only guest memory, which has no effect on the
 * fabric.
 */
bool chunk_arrives(struct t3_test_ring *ring, unsigned int tries)
{
	uint64_t want = T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | 1;

	while (tries-- && event_read(&ring->space[0]).segment[0] != want)
		g_usleep(1000);
	return event_read(&ring->space[0]).segment[0] == want;
}

/* A word of chunk 0 at rank 3, from memory, because a register access runs the fabric. */
uint32_t ring_arrived(struct t3_test_ring *ring, uint32_t word)
{
	uint32_t value;

	mem_read(ring->space[3].dev, ring->space[3].buffer + 4 * word, &value, 4);
	return value;
}

struct t3_test_ring ring_in_flight(struct t3_vm *vm)
{
	struct t3_test_ring ring = ring_open(vm, RING_BIG);
	uint32_t first = ring_value(1, 1, 0) + ring_value(1, 2, 0) + ring_value(1, 3, 0), tries;

	ring_arm(&ring, 1);
	ring_load(&ring, 1);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'stop' }");
	ring_fire(&ring, 0);
	/* On a slow host a write runs fewer events. Others go on with them. */
	for (tries = 1000; tries && ring_arrived(&ring, 0) != first; tries--)
		reg_write(ring.space[0].dev, T3_REG_ERROR_STATUS, 0);
	g_assert_cmphex(ring_arrived(&ring, 0), ==, first);
	g_assert_cmphex(ring_arrived(&ring, RING_LAST), ==, ring_value(1, 3, RING_LAST));
	return ring;
}
