/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: several devices on one fabric. */
#include "qemu/osdep.h"
#include "t3-test.h"

/* Source on rank 0 with one segment, LOCAL target on rank 1, connected and armed. */
struct pair {
	struct t3_test_space source, target;
};

static struct pair pair_open(struct t3_vm *vm, enum t3_segment_kind kind, uint32_t bytes,
			     uint32_t tile)
{
	struct pair pair = {
		.source = space_create(&vm->dev[0], 11, 1),
		.target = space_create(&vm->dev[1], 300, 2),
	};
	struct t3_cmd_seg_map map = seg_args(&pair.target, 4, 0x2000, bytes, T3_SEG_LOCAL, 1);

	map.tile_row_bytes = tile;
	seg_map(&pair.target, &map);
	space_route(&pair.source, &pair.target);
	space_import(&pair.target, &pair.source);
	map = seg_args(&pair.source, 0, 0x1000, bytes, kind, 1);
	map.tile_row_bytes = tile;
	map.target_segment = 4;
	seg_map(&pair.source, &map);
	return pair;
}

static void pair_arm(struct pair *pair)
{
	db_arm(&pair->source, 1);
	expect_state(&pair->source, T3_SPACE_ARMING, 1);
	db_arm(&pair->target, 1);
	wait_state(&pair->target, T3_SPACE_ARMED, 1);
	wait_state(&pair->source, T3_SPACE_ARMED, 1);
}

static void check_target(struct pair *pair, uint32_t bytes)
{
	uint32_t got, i;

	for (i = 0; i < bytes; i += 4) {
		mem_read(pair->target.dev, pair->target.buffer + 0x2000 + i, &got, 4);
		g_assert_cmphex(got, ==, 0x80000000 + i);
	}
}

static void test_pair(enum t3_segment_kind kind)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_open(vm, kind, 64, 32);
	uint32_t i, kept;

	pair_arm(&pair);
	for (i = 0; i < 64; i += 4) {
		expect_state(&pair.target, T3_SPACE_ARMED, 1);
		store32(&pair.source, 0x1000 + i, 0x80000000 + i);
	}
	wait_state(&pair.source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	expect_delivered(&pair.source, 0, 1);
	expect_delivered(&pair.target, 4, 1);
	check_target(&pair, 64);
	mem_read(pair.source.dev, pair.source.buffer + 0x1000, &kept, 4);
	g_assert_cmphex(kept, ==, kind == T3_SEG_DMA ? 0x80000000 : 0);
	g_assert_cmpuint(counter(pair.source.dev, T3_COUNTER_DMA_BYTES), ==,
			 kind == T3_SEG_DMA ? 64 : 0);
	g_assert_cmpuint(counter(pair.target.dev, T3_COUNTER_LINK_RX_PACKETS), !=, 0);
	g_assert_cmphex(errors_take(pair.source.dev) | errors_take(pair.target.dev), ==, 0);
	g_assert_cmphex(reg_read64(pair.source.dev, T3_REG_VCLOCK), >, 0);
	vm_end(vm);
}

static void test_remote(void)
{
	test_pair(T3_SEG_REMOTE);
}

static void test_dma(void)
{
	test_pair(T3_SEG_DMA);
}

/* A remote segment has no memory: a read returns all-ones and is a fault. */
static void test_read_remote(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_open(vm, T3_SEG_REMOTE, 64, 32);

	pair_arm(&pair);
	g_assert_cmphex(qtest_readl(vm->qts, pair.source.aperture + 0x1000), ==, ~0u);
	expect_fault(&pair.source, T3_FAULT_READ_REMOTE);
	wait_state(&pair.target, T3_SPACE_FAULTED, 1);
	expect_fault(&pair.target, T3_FAULT_PEER_POISON);
	vm_end(vm);
}

/* The staged tile of a remote segment goes out when the doorbell is rung. */
static void test_remote_staging(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_open(vm, T3_SEG_REMOTE, 64, 64);
	uint32_t data[16], i;

	seg_staging(&pair.source, 0, 64, 1);
	for (i = 0; i < 16; i++)
		data[i] = 0x80000000 + 4 * i;
	mem_write(pair.source.dev, pair.source.staging, data, sizeof(data));
	pair_arm(&pair);
	db_tile(&pair.source, 0, 0, 0);
	wait_state(&pair.source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	g_assert_cmpuint(event_read(&pair.source).consumed[0][0], ==, 1);
	check_target(&pair, 64);
	vm_end(vm);
}

/*
 * The import allows ADD and STORE, not MIN. The update is not applied, and the source gets the
 * reason.
 */
static void test_no_grant(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_open(vm, T3_SEG_REMOTE, 8, 8);
	struct t3_cmd_seg_map map = seg_args(&pair.source, 1, 0, 8, T3_SEG_REMOTE, 1);

	map.target_op = T3_OP_MIN;
	map.target_segment = 4;
	seg_map(&pair.source, &map);
	pair_arm(&pair);
	store64(&pair.source, 0, 1);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	expect_fault(&pair.source, T3_FAULT_REJECTED);
	g_assert_cmpuint(event_read(&pair.source).fault.detail, ==, T3_NAK_NO_GRANT);
	g_assert_cmpuint(event_read(&pair.source).fault.src_rank, ==, 1);
	g_assert_cmpuint(counter(pair.target.dev, T3_COUNTER_NAKS), ==, 1);
	g_assert_cmphex(qtest_readq(vm->qts, pair.target.aperture + 0x2000), ==, 0);
	wait_state(&pair.target, T3_SPACE_FAULTED, 1);
	expect_fault(&pair.target, T3_FAULT_PEER_POISON);
	vm_end(vm);
}

/* A grant is revoked before the store, and the source gets an error. */
static void test_revoke(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_open(vm, T3_SEG_REMOTE, 8, 8);
	struct t3_cmd_index clear = { .space = pair.target.id };

	pair_arm(&pair);
	admin_ok(pair.target.dev, T3_CMD_IMPORT_CLEAR, &clear, sizeof(clear));
	store64(&pair.source, 0x1000, 1);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	expect_state(&pair.target, T3_SPACE_ARMED, 1);
	g_assert_cmphex(qtest_readq(vm->qts, pair.target.aperture + 0x2000), ==, 0);
	vm_end(vm);
}

/* Rank 0 and rank 2 of a ring of 4 are not neighbours. */
static void test_no_route(void)
{
	struct t3_vm *vm = vm_start(3, "");
	struct t3_test_space space = space_create(&vm->dev[0], 0, 0);
	struct t3_cmd_route_set args = { .peer_rank = 2, .peer_generation = 1 };

	g_assert_cmpuint(admin(space.dev, T3_CMD_ROUTE_SET, &args, sizeof(args)), ==,
			 T3_ADMIN_NO_ROUTE);
	args.peer_rank = 3;
	admin_ok(space.dev, T3_CMD_ROUTE_SET, &args, sizeof(args));
	vm_end(vm);
}

/* -------------------------------------------------------------------- ring */

/* The same ring by stores and by doorbells, two epochs without a new set-up. */
static void test_ring(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct t3_test_ring ring = ring_open(vm, 256);
	uint32_t rank, chunk;

	ring_arm(&ring, 1);
	ring_store(&ring, 1);
	ring_check(&ring, 1);
	ring_release(&ring, 1);
	ring_arm(&ring, 2);
	for (rank = 0; rank < RING; rank++) {
		ring_stage(&ring, 2, rank);
		for (chunk = 0; chunk < RING; chunk++)
			db_tile(&ring.space[rank], chunk, 0, 0);
	}
	ring_check(&ring, 2);
	vm_end(vm);
}

/* The bottom half does the rest of an access's work. It waits while the VM is stopped. */
static void test_bottom_half(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct t3_test_ring ring = ring_open(vm, RING_BIG);
	uint32_t chunk;

	ring_arm(&ring, 1);
	ring_load(&ring, 1);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'stop' }");
	ring_fire(&ring, 0);
	g_assert_false(chunk_arrives(&ring, 50));
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	g_assert_true(chunk_arrives(&ring, 5000));
	for (chunk = 1; chunk < RING; chunk++)
		ring_fire(&ring, chunk);
	ring_check(&ring, 1);
	vm_end(vm);
}

void add_fabric_tests(void)
{
	qtest_add_func("/t3/fabric/remote", test_remote);
	qtest_add_func("/t3/fabric/dma", test_dma);
	qtest_add_func("/t3/fabric/read-remote", test_read_remote);
	qtest_add_func("/t3/fabric/remote-staging", test_remote_staging);
	qtest_add_func("/t3/fabric/no-grant", test_no_grant);
	qtest_add_func("/t3/fabric/revoke", test_revoke);
	qtest_add_func("/t3/fabric/no-route", test_no_route);
	qtest_add_func("/t3/fabric/ring", test_ring);
	qtest_add_func("/t3/fabric/bottom-half", test_bottom_half);
}
