/* SPDX-License-Identifier: MIT */
/*
 * Tiles and messages that wait for a link leave its lists from the front, the middle and the end.
 * Also corrupt records, and host memory that fails while tiles are sent.
 */
#include "host.h"
#include "test.h"

#define SPACES 4u

/* Spaces 0..3 of rank 0, each with DMA segments 0 and 1 to the same on rank 1. */
static struct host *set_up(void)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t s, i;

	for (s = 0; s < SPACES; s++) {
		host_space(a, s);
		host_space(b, s);
		host_connect(a, b, s);
		for (i = 0; i < 2; i++) {
			struct t3_cmd_seg_map map =
				host_segment(s, i, T3_SEG_DMA, T3_OP_ADD, T3_DTYPE_I32);

			host_map(a, &map);
			host_local(b, s, i);
		}
		host_arm(b, s, 1);
		host_arm(a, s, 1);
		host_expect(a, s, T3_SPACE_ARMED, 1);
	}
	t3_fabric_set_inline_budget(host->fabric, 0);
	return host;
}

static void fill_all(struct host *host)
{
	uint32_t s;

	for (s = 0; s < SPACES; s++) {
		host_fill(&host->dev[0], s, 0, 10 + s);
		host_fill(&host->dev[0], s, 1, 20 + s);
	}
}

static void expect_arrived(struct host *host, uint32_t s)
{
	host_expect(&host->dev[0], s, T3_SPACE_COMPLETE, 1);
	host_expect(&host->dev[1], s, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_load(&host->dev[1], s, 60, 4), 10 + s);
	assert_int_equal(host_load(&host->dev[1], s, 0x400, 4), 20 + s);
}

/* One space faults with its tiles waiting: first, in the middle, last. */
TEST("a faulted space's tiles leave the list")
{
	uint32_t bad, s;

	for (bad = 0; bad < SPACES; bad++) {
		struct host *host = set_up();

		fill_all(host);
		host_store(&host->dev[0], bad, 0x8000, 1, 4);
		host_drain(host);
		for (s = 0; s < SPACES; s++)
			if (s != bad)
				expect_arrived(host, s);
		host_expect_cpu_fault(&host->dev[0], bad, T3_FAULT_UNMAPPED, HOST_NONE32,
				      HOST_NONE32, 0x8000);
		assert_int_equal(host_stats(&host->dev[1], bad, 0).remote_bytes, 0);
		assert_int_equal(host_query(&host->dev[0], bad).in_flight, 0);
		host_free(host);
	}
}

/* Two in turn, so that the list's end moves and is used again. */
TEST("the list's end moves as tiles leave it")
{
	struct host *host = set_up();
	struct host_dev *a = &host->dev[0];

	host_fill(a, 0, 0, 10);
	host_fill(a, 1, 0, 11);
	host_fill(a, 2, 0, 12);
	host_store(a, 2, 0x8000, 1, 4);
	host_store(a, 1, 0x8000, 1, 4);
	host_fill(a, 3, 0, 13); /* behind what is now the last */
	host_fill(a, 3, 1, 23);
	host_fill(a, 0, 1, 20);
	host_drain(host);
	expect_arrived(host, 0);
	expect_arrived(host, 3);
	host_free(host);
}

/* Round robin: no segment waits for all tiles of another. */
TEST("segments take turns at the link")
{
	struct host *host = set_up();
	struct host_dev *b = &host->dev[1];
	uint64_t most, least;
	uint32_t s;

	fill_all(host);
	do {
		most = 0;
		least = HOST_NONE64;
		for (s = 0; s < SPACES; s++) {
			uint64_t bytes = host_stats(b, s, 0).remote_bytes;

			most = bytes > most ? bytes : most;
			least = bytes < least ? bytes : least;
		}
		assert_true(most - least <= 16); /* one tile */
	} while (t3_fabric_run(host->fabric, 1));
	host_free(host);
}

/* A function reset with control packets queued, in an order that is not the spaces'. */
TEST("a reset drops queued control packets")
{
	static const uint32_t order[][SPACES] = {
		{ 0, 1, 2, 3 }, { 3, 2, 1, 0 }, { 2, 0, 3, 1 }, { 1, 3, 0, 2 }
	};
	uint32_t i, s;

	for (i = 0; i < 4; i++) {
		struct host *host = set_up();
		struct host_dev *a = &host->dev[0], *b = &host->dev[1];

		for (s = 0; s < SPACES; s++)
			host_space_command(a, T3_CMD_SPACE_DISABLE, order[i][s]);
		assert_int_equal(host_query(a, 2).in_flight, 1);
		t3_dev_reset(a->dev);
		for (s = 0; s < SPACES; s++)
			assert_int_equal(host_query(a, s).in_flight, 0);
		host_drain(host);
		for (s = 0; s < SPACES; s++)
			host_expect_peer_fault(b, s, T3_FAULT_PEER_POISON, 0);
		host_free(host);
	}
}

/* RESET, DISABLE, DESTROY before the link had time for the old generation's POISON. */
TEST("control packets of an old generation do no harm")
{
	uint32_t steps;

	for (steps = 0; steps < 12; steps++) {
		struct host *host = set_up();
		struct host_dev *a = &host->dev[0];
		uint32_t s;

		fill_all(host);
		t3_fabric_run(host->fabric, steps);
		for (s = SPACES; s-- > 0;) {
			host_space_command(a, T3_CMD_SPACE_RESET, s);
			assert_int_equal(host_query(a, s).in_flight, 0);
			host_space_command(a, T3_CMD_SPACE_DISABLE, s);
			if (host_state(a, s) == T3_SPACE_DISABLED)
				host_drain(host);
			host_expect(a, s, T3_SPACE_QUIESCED, 0);
			assert_int_equal(host_space_command(a, T3_CMD_SPACE_DESTROY, s),
					 T3_ADMIN_OK);
			host_space(a, s);
		}
		host_drain(host);
		for (s = 0; s < SPACES; s++) {
			host_expect(a, s, T3_SPACE_IDLE, 0); /* no answer of old reaches it */
			assert_int_equal(host_query(a, s).in_flight, 0);
			assert_int_equal(host_area(a, s)->faults, 0);
		}
		host_free(host);
	}
}

/* A route can be set again only when its last message has gone. */
TEST("a route in use by a message cannot be set")
{
	struct host *host = set_up();
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_route_set cmd = { 0, 0, 1, 0, host_query(b, 0).generation, 0 };

	host_space_command(a, T3_CMD_SPACE_RESET, 0);
	assert_int_equal(host_command(a, T3_CMD_ROUTE_SET, &cmd, sizeof(cmd)), T3_ADMIN_EXISTS);
	host_drain(host);
	host_expect_peer_fault(b, 0, T3_FAULT_PEER_POISON, 0);
	assert_int_equal(host_command(a, T3_CMD_ROUTE_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	host_free(host);
}

static struct t3_tile_record *record(struct host_dev *d, uint32_t space, uint32_t index)
{
	return (struct t3_tile_record *)(void *)(d->memory + HOST_COUNTER_BASE(space)) + index;
}

/* A READY flag that the device did not set: the tile is not sent twice, and nothing hangs. */
TEST("a forged READY flag does not send twice")
{
	struct host *host = set_up();
	struct host_dev *a = &host->dev[0];

	host_store(a, 0, 0, 1, 8); /* half of tile 0 */
	record(a, 0, 0)->flags |= T3_TILE_READY;
	host_fill(a, 1, 0, 11);
	host_fill(a, 1, 1, 21);
	host_store(a, 0, 16, 1, 8);
	host_drain(host);
	assert_int_equal(host_stats(a, 0, 0).dma_bytes, 0);
	expect_arrived(host, 1);
	host_space_command(a, T3_CMD_SPACE_RESET, 0);
	host_expect(a, 0, T3_SPACE_IDLE, 0);
	host_free(host);
}

/* Tiles of a REMOTE segment, waiting in slots. */
static struct host *remote_tiles(void)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host = host_pair(&map, NULL, 2);
	uint32_t tile;

	for (tile = 0; tile < 4; tile++)
		host_tile(&host->dev[0], 0, 0, tile % 2, tile);
	return host;
}

TEST("a forged slot faults")
{
	struct host *host = remote_tiles();
	struct host_dev *a = &host->dev[0];

	record(a, 0, 1)->slot = 2;
	host_drain(host);
	host_expect_cpu_fault(a, 0, T3_FAULT_COUNTER, 0, 1, HOST_NONE64);
	assert_int_equal(host_area(a, 0)->consumed[0][0], 1);
	assert_int_equal(host_area(a, 0)->consumed[0][1], 0);
	host_free(host);
}

/* `consumed` cannot be written while the engine is at work. */
TEST("a failing count of a slot faults the space")
{
	struct host *host = remote_tiles();
	struct host_dev *a = &host->dev[0];

	a->fail_after = 1;
	host_drain(host);
	assert_int_equal(host_state(a, 0), T3_SPACE_FAULTED);
	assert_int_equal(host_counter(a, T3_COUNTER_FAULTS), 1);
	assert_int_equal(host_reg(a, T3_REG_ERROR_STATUS), T3_ERROR_HOST_DMA);
	assert_int_equal(host_query(a, 0).in_flight, 0);
	assert_int_equal(host_stats(&host->dev[1], 0, 0).remote_bytes, 32); /* two tiles */
	host_expect_peer_fault(&host->dev[1], 0, T3_FAULT_PEER_POISON, 0);
	host_free(host);
}
