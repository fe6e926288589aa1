/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: a device is reset, unplugged or pulled out in the middle of a
 * reduce-scatter. The VM is stopped with chunk 0 on its way from rank 1 over 2 and
 * 3 to 0: rank 2 has sent a part of its tile, rank 3 has a part of it.
 */
#include "qemu/osdep.h"
#include "t3-test.h"

struct way {
	const char *name;
	void (*act)(struct t3_vm *vm, unsigned int rank);
	bool stays; /* the same device, to be mapped again */
};

static void by_control(struct t3_vm *vm, unsigned int rank)
{
	reg_write(&vm->dev[rank], T3_REG_CONTROL, T3_CONTROL_RESET);
}

static void by_flr(struct t3_vm *vm, unsigned int rank)
{
	dev_flr(&vm->dev[rank]);
}

/* clang-format off */
static const struct way ways[] = {
	{ "control", by_control, true },
	{ "flr", by_flr, true },
	{ "bus-reset", port_reset, true },
	{ "unplug", dev_unplug, false },
	{ "surprise", dev_take_out, false },
};
/* clang-format on */

/* After a function reset of all devices (the removed one is back), a ring runs. */
static void check_usable(struct t3_vm *vm)
{
	struct t3_test_ring ring;
	unsigned int i;

	for (i = 0; i < RING; i++) {
		dev_flr(&vm->dev[i]);
		dev_map(&vm->dev[i]);
	}
	ring = ring_open(vm, 256);
	ring_arm(&ring, 1);
	ring_store(&ring, 1);
	ring_check(&ring, 1);
}

static void bring_back(struct t3_vm *vm, const struct way *way, unsigned int rank)
{
	if (way->stays) {
		dev_map(&vm->dev[rank]);
		return;
	}
	if (way->act == dev_take_out)
		dev_unplug(vm, rank);
	dev_plug(vm, rank);
}

/* The receiver is removed. Its neighbours notice, and so does each device that waits for them. */
static void test_receiver(const void *data)
{
	const struct way *way = data;
	struct t3_vm *vm = vm_start_ports(RING, "");
	struct t3_test_ring ring = ring_in_flight(vm);

	way->act(vm, 3);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	wait_state(&ring.space[2], T3_SPACE_FAULTED, 1);
	expect_fault(&ring.space[2], T3_FAULT_PEER_DEAD);
	g_assert_cmpuint(event_read(&ring.space[2]).fault.src_rank, ==, 3);
	wait_state(&ring.space[0], T3_SPACE_FAULTED, 1);
	expect_fault(&ring.space[0], T3_FAULT_PEER_POISON);
	g_assert_cmpuint(event_read(&ring.space[0]).fault.src_rank, ==, 3);
	wait_state(&ring.space[1], T3_SPACE_FAULTED, 1); /* by either of them */
	bring_back(vm, way, 3);
	check_usable(vm);
	vm_end(vm);
}

/*
 * The sender is removed, and its packets on the wire are lost. Its target and its source notice,
 * whatever they have by then.
 */
static void test_sender(const void *data)
{
	const struct way *way = data;
	struct t3_vm *vm = vm_start_ports(RING, "");
	struct t3_test_ring ring = ring_in_flight(vm);

	way->act(vm, 2);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	bring_back(vm, way, 2);
	wait_state(&ring.space[3], T3_SPACE_FAULTED, 1);
	expect_fault(&ring.space[3], T3_FAULT_PEER_POISON);
	g_assert_cmpuint(event_read(&ring.space[3]).fault.src_rank, ==, 2);
	g_assert_cmphex(ring_arrived(&ring, RING_LAST), ==, ring_value(1, 3, RING_LAST));
	g_assert_cmpuint(counter(&vm->dev[2], T3_COUNTER_LINK_TX_PACKETS), ==, 0);
	g_assert_cmpuint(counter(&vm->dev[2], T3_COUNTER_DMA_BYTES), ==, 0);
	wait_state(&ring.space[1], T3_SPACE_FAULTED, 1);
	expect_fault(&ring.space[1], T3_FAULT_PEER_DEAD);
	g_assert_cmpuint(event_read(&ring.space[1]).fault.src_rank, ==, 2);
	check_usable(vm);
	vm_end(vm);
}

/* All of them at once. */
static void test_system(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct t3_test_ring ring = ring_in_flight(vm);
	unsigned int i;

	qtest_system_reset(vm->qts);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	for (i = 0; i < RING; i++) {
		dev_map(&vm->dev[i]);
		g_assert_cmpuint(space_query(&vm->dev[i], ring.space[i].id).state, ==,
				 T3_SPACE_FREE);
		g_assert_cmpuint(counter(&vm->dev[i], T3_COUNTER_LINK_RX_PACKETS), ==, 0);
	}
	check_usable(vm);
	vm_end(vm);
}

/* A rank is free after unplug. Another device takes it, and the fabric may be deleted last. */
static void test_replug(void)
{
	struct t3_vm *vm = vm_start_ports(2, "");
	unsigned int i;

	for (i = 0; i < 3; i++) {
		dev_unplug(vm, 1);
		dev_plug(vm, 1);
		g_assert_cmphex(reg_read(&vm->dev[1], T3_REG_RANK), ==, 1);
		local_space(&vm->dev[1], 3, 0, 8, 8, 1);
	}
	dev_unplug(vm, 1);
	dev_unplug(vm, 0);
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-del', 'arguments': { 'id': 'f0' } }");
	vm_end(vm);
}

static void add_ways(const char *what, void (*test)(const void *))
{
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(ways); i++) {
		g_autofree char *path = g_strdup_printf("/t3/flight/%s-%s", what, ways[i].name);

		qtest_add_data_func(path, &ways[i], test);
	}
}

void add_flight_tests(void)
{
	add_ways("receiver", test_receiver);
	add_ways("sender", test_sender);
	qtest_add_func("/t3/flight/system-reset", test_system);
	qtest_add_func("/t3/flight/replug", test_replug);
}
