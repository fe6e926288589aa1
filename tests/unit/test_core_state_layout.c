/* SPDX-License-Identifier: MIT */
/*
 * The layout of a saved state: how many bytes it has, for machines at certain moments. A state that
 * an earlier build has saved is read by its version alone. So whoever adds or leaves out a part has
 * to give T3_STATE_VERSION another number, and these sizes. A part that both ends leave out is
 * found by nothing else, where what goes on does not depend on it in a test.
 */
#include "gang.h"
#include "gemm.h"
#include "migrate.h"
#include "ring.h"
#include "state/state.h"
#include "test.h"

#define VERSION 9u

/* Bytes of rank 0 and of the fabric. */
static void expect_sizes(struct host *host, size_t device, size_t fabric)
{
	struct blobs blobs;

	blobs_save(&blobs, host);
	if (blobs.part[0].len != device || blobs.part[host->ranks].len != fabric)
		fail_msg("the device has %zu bytes and the fabric %zu, not %zu and %zu: a new "
			 "layout "
			 "is a new version, and new sizes here",
			 blobs.part[0].len, blobs.part[host->ranks].len, device, fabric);
	blobs_free(&blobs);
}

TEST("the version is the one of these sizes")
{
	assert_int_equal(T3_STATE_VERSION >> 16, VERSION);
}

TEST("a new machine has its size")
{
	struct host *host = host_ring(2);

	expect_sizes(host, 7428, 164);
	host_free(host);
}

/* Spaces with segments of each kind, routes and imports, tiles half done, packets on their way. */
TEST("a ring at work has its size")
{
	struct host *host = host_ring(3);
	struct ring ring = ring_open(host, 1, T3_DTYPE_F32);
	uint32_t r;

	expect_sizes(host, 8452, 184);
	ring_arm(&ring, 1);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (r = 0; r < host->ranks; r++)
		ring_produce(&ring, r, 1, true);
	host_tile(&host->dev[0], 1, 0, 0, 0);
	expect_sizes(host, 8804, 2752);
	t3_fabric_run(host->fabric, 20);
	expect_sizes(host, 8728, 5196);
	host_free(host);
}

/* ARM has begun, and a piece of the memory is left to be prepared. */
TEST("a space in preparation has its size")
{
	struct host *host = host_paused(1);
	struct host_dev *d = &host->dev[0];
	struct t3_cmd_space_create space = host_space_args(1);
	struct t3_cmd_seg_map map = host_segment(1, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	space.aperture_offset = space.buffer = 0;
	space.size = 0x20000;
	map.rows = map.tile_rows = 128;
	map.row_bytes = map.pitch = map.tile_row_bytes = 1024;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &space, sizeof(space)), T3_ADMIN_OK);
	host_map(d, &map);
	host_arm(d, 1, 1);
	assert_true(t3_spaces(d->dev)->space[1].preparing);
	expect_sizes(host, 7808, 144);
	host_free(host);
}

/* A key that nobody has shown, one that has been accepted, and one that has been refused. */
TEST("keys have their size")
{
	struct host *host = host_paused(2);
	struct t3_cmd_key_set key = { 1, 2, 2, 1u << T3_OP_ADD, 1, { 1, 2, 3, 4 } };
	struct t3_cmd_route_claim claim = { .to = { 1, 3, 1, 1, 0, 2 }, .key = { 1, 2, 3, 4 } };

	host_space(&host->dev[0], 1);
	claim.to.peer_generation = host_space(&host->dev[1], 1);
	assert_int_equal(host_command(&host->dev[0], T3_CMD_KEY_SET, &key, sizeof(key)),
			 T3_ADMIN_OK);
	key.rank_mask = 1;
	assert_int_equal(host_command(&host->dev[1], T3_CMD_KEY_SET, &key, sizeof(key)),
			 T3_ADMIN_OK);
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_CLAIM, &claim, sizeof(claim)),
			 T3_ADMIN_OK);
	claim.to.route = 4;
	claim.to.peer_import = 5;
	assert_int_equal(host_command(&host->dev[0], T3_CMD_ROUTE_CLAIM, &claim, sizeof(claim)),
			 T3_ADMIN_OK);
	expect_sizes(host, 7852, 600);
	host_drain(host);
	expect_sizes(host, 7668, 584);
	host_free(host);
}

/* A queue that is hung, one in the middle of a GEMM, and one that waits for a fence. */
TEST("queues at work have their size")
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 32, 32, 2048);
	struct host *host = host_paused(2);
	struct queue hung = queue_new(&host->dev[0], 0, 0), busy = queue_new(&host->dev[0], 1, 1),
		     waits = queue_new(&host->dev[0], 2, 2);
	struct t3_descriptor nop = queue_nop(), wait = queue_wait(3, 1);

	t3_queue_hang(host->dev[0].dev, 0, true);
	queue_submit(&hung, &nop);
	queue_submit(&waits, &wait);
	gemm_submit(&busy, &x);
	t3_fabric_run(host->fabric, 10);
	expect_sizes(host, 12068, 164);
	host_free(host);
}

TEST("a timed run has its size")
{
	struct run run = run_of_all(2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 9);
	expect_sizes(gang.host, 8028, 180);
	host_drain(gang.host);
	expect_sizes(gang.host, 7596, 164);
	host_free(gang.host);
}

TEST("pending injections have their size")
{
	static const struct t3_cmd_inject injections[] = {
		{ .kind = T3_INJECT_POISON, .value = 64 },
		{ .kind = T3_INJECT_POISON, .address = 256, .value = 64 },
		{ .kind = T3_INJECT_DROP, .peer = 1, .nth = 5, .count = 7 },
	};
	struct host *host = host_ring(2);
	uint32_t i;

	for (i = 0; i < sizeof(injections) / sizeof(injections[0]); i++)
		assert_int_equal(t3_fabric_inject(host->fabric, &injections[i]), T3_ADMIN_OK);
	expect_sizes(host, 7428, 616);
	host_free(host);
}
