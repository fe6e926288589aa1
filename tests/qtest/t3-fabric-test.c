/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: a ring of devices in QEMU's main loop, or in a thread. */
#include "qemu/osdep.h"
#include "t3-test.h"

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
	qtest_add_func("/t3/fabric/ring", test_ring);
	qtest_add_func("/t3/fabric/bottom-half", test_bottom_half);
}
