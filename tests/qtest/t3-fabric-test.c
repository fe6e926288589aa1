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

/* A remote segment has no memory: reads are all-ones and a fault. */
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

/* The import allows ADD and STORE, not MIN: not applied, and the source learns why. */
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

/* A grant that is taken back before the store: the source hears of it. */
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

#define RING 4

/*
 * Reduce-scatter: chunk c starts on rank c + 1, passes each rank and stays on
 * rank c. Segment c of each space is chunk c, of `bytes`.
 */
struct ring {
	struct t3_test_space space[RING];
	uint32_t bytes;
};

/* Hop 0 sends what its rank produces, the last keeps the sum, the others do both. */
static void ring_map(struct ring *ring, uint32_t rank, uint32_t chunk)
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

static struct ring ring_open(struct t3_vm *vm, uint32_t bytes)
{
	struct ring ring = { .bytes = bytes };
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

static void ring_arm(struct ring *ring, uint32_t epoch)
{
	uint32_t rank;

	for (rank = 0; rank < RING; rank++)
		db_arm(&ring->space[rank], epoch);
	for (rank = 0; rank < RING; rank++)
		wait_state(&ring->space[rank], T3_SPACE_ARMED, epoch);
}

static uint32_t ring_value(uint32_t epoch, uint32_t rank, uint32_t word)
{
	return (epoch * 0x9e3779b9u) ^ (rank * 0x7ffffff1u + word * 0x01000193u);
}

static void ring_check(struct ring *ring, uint32_t epoch)
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
static void ring_store(struct ring *ring, uint32_t epoch)
{
	uint32_t words = RING * ring->bytes / 4, rank, i;

	for (i = 0; i < words; i++) {
		for (rank = 0; rank < RING; rank++)
			store32(&ring->space[rank], 4 * i, ring_value(epoch, rank, i));
	}
}

static void ring_stage(struct ring *ring, uint32_t epoch, uint32_t rank)
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

static void ring_release(struct ring *ring, uint32_t epoch)
{
	uint32_t rank;

	for (rank = 0; rank < RING; rank++)
		db_release(&ring->space[rank], epoch);
}

/* The same ring by stores and by doorbells, two epochs without setting up again. */
static void test_ring(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct ring ring = ring_open(vm, 256);
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

#define BIG 0x100000u /* 1024 packets for each hop: more events than one access drains */

/* All hops but the first of each chunk: the doorbells of ring_fire() start the rest. */
static void ring_load(struct ring *ring, uint32_t epoch)
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

static void ring_fire(struct ring *ring, uint32_t chunk)
{
	db_tile(&ring->space[(chunk + 1) % RING], chunk, 0, 0);
}

/* Whether chunk 0 arrives at its owner; reads guest memory only, which moves nothing. */
static bool chunk_arrives(struct ring *ring, unsigned int tries)
{
	uint64_t want = T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | 1;

	while (tries-- && event_read(&ring->space[0]).segment[0] != want)
		g_usleep(1000);
	return event_read(&ring->space[0]).segment[0] == want;
}

/* The bottom half does what one access does not finish, and waits while the VM is stopped. */
static void test_bottom_half(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct ring ring = ring_open(vm, BIG);
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

/* --------------------------------------------------------- devices that go */

/* Stopped in the middle of a transfer from rank 1 over 2 and 3 to 0; rank 3 is still to come. */
static struct ring ring_in_flight(struct t3_vm *vm)
{
	struct ring ring = ring_open(vm, BIG);

	ring_arm(&ring, 1);
	ring_load(&ring, 1);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'stop' }");
	ring_fire(&ring, 0);
	return ring;
}

static void unplug(struct t3_vm *vm, unsigned int rank)
{
	g_autofree char *id = g_strdup_printf("d%u", rank);

	qtest_qmp_device_del_send(vm->qts, id);
	port_power(vm, rank, false);
	qtest_qmp_eventwait(vm->qts, "DEVICE_DELETED");
}

/* Rank 3 has gone or was reset: its sender faults, and all that wait for it in turn. */
static void check_lost(struct ring *ring, enum t3_nak reason)
{
	wait_state(&ring->space[2], T3_SPACE_FAULTED, 1);
	expect_fault(&ring->space[2], T3_FAULT_REJECTED);
	g_assert_cmpuint(event_read(&ring->space[2]).fault.detail, ==, reason);
	g_assert_cmpuint(event_read(&ring->space[2]).fault.src_rank, ==, 3);
	wait_state(&ring->space[1], T3_SPACE_FAULTED, 1);
	expect_fault(&ring->space[1], T3_FAULT_PEER_DEAD);
	wait_state(&ring->space[0], T3_SPACE_FAULTED, 1);
	expect_fault(&ring->space[0], T3_FAULT_PEER_DEAD);
}

static void test_unplug_in_flight(void)
{
	struct t3_vm *vm = vm_start_ports(RING, "");
	struct ring ring = ring_in_flight(vm);

	unplug(vm, 3);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	check_lost(&ring, T3_NAK_NO_DEVICE);
	g_assert_cmphex(qtest_readl(vm->qts, vm->dev[3].regs), !=, T3_ID_VALUE);
	local_space(&vm->dev[1], 900, 1, 8, 8, 1);
	vm_end(vm);
}

/* A rank is free after unplug: another device takes it, and the fabric may go last. */
static void test_replug(void)
{
	struct t3_vm *vm = vm_start_ports(2, "");
	unsigned int i;

	for (i = 0; i < 3; i++) {
		unplug(vm, 1);
		qtest_qmp_assert_success(vm->qts,
					 "{ 'execute': 'device_add', 'arguments': { "
					 "'driver': 't3', 'id': 'd1', 'bus': 'rp1', "
					 "'fabric': 'f0', 'rank': 1, 'memory-size': 67108864 } }");
		port_power(vm, 1, true);
		dev_map(&vm->dev[1]);
		g_assert_cmphex(reg_read(&vm->dev[1], T3_REG_RANK), ==, 1);
		local_space(&vm->dev[1], 3, 0, 8, 8, 1);
	}
	unplug(vm, 1);
	unplug(vm, 0);
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-del', 'arguments': { 'id': 'f0' } }");
	vm_end(vm);
}

/* Rank 3 or the whole machine is reset, with packets on their way. */
static void test_reset_in_flight(bool system)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct ring ring = ring_in_flight(vm);
	unsigned int i;

	if (system)
		qtest_system_reset(vm->qts);
	else
		reg_write(&vm->dev[3], T3_REG_CONTROL, T3_CONTROL_RESET);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	if (!system)
		check_lost(&ring, T3_NAK_NO_SPACE);
	for (i = 0; i < RING; i++) {
		dev_map(&vm->dev[i]);
		if (system || i == 3)
			g_assert_cmpuint(space_query(&vm->dev[i], 10 * i).state, ==, T3_SPACE_FREE);
		local_space(&vm->dev[i], 900, 1, 8, 8, 1);
	}
	vm_end(vm);
}

static void test_control_in_flight(void)
{
	test_reset_in_flight(false);
}

static void test_system_in_flight(void)
{
	test_reset_in_flight(true);
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
	qtest_add_func("/t3/fabric/unplug-in-flight", test_unplug_in_flight);
	qtest_add_func("/t3/fabric/replug", test_replug);
	qtest_add_func("/t3/fabric/control-reset-in-flight", test_control_in_flight);
	qtest_add_func("/t3/fabric/system-reset-in-flight", test_system_in_flight);
}
