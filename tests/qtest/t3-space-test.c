/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: one device's spaces through QEMU: aperture, event area, doorbells. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

static uint32_t mem_read32(struct t3_test_dev *dev, uint64_t offset)
{
	return qtest_readl(dev->qts, dev->memory + offset);
}

/* SPACE_CREATE writes the whole page of guest memory. */
static void test_event_area(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = space_create(&vm->dev[0], 1023, 3);
	struct t3_event_area area = event_read(&space), want = { 0 };

	want.state = (uint64_t)T3_SPACE_IDLE << 32;
	want.generation = space.generation;
	want.fault = area.fault;
	g_assert_cmpmem(&area, sizeof(area), &want, sizeof(want));
	g_assert_cmpuint(area.fault.kind, ==, T3_FAULT_NONE);
	g_assert_cmphex(errors_take(&vm->dev[0]), ==, 0);
	vm_end(vm);
}

/* Two updates per element, two tiles; the second tile ends the epoch. */
static void test_local(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 7, 1, 32, 16, 2);
	uint32_t i;

	for (i = 0; i < 16; i++) {
		expect_state(&space, T3_SPACE_ARMED, 1);
		store32(&space, i % 8 * 4, 0x7fffff00 + i);
	}
	expect_state(&space, T3_SPACE_COMPLETE, 1);
	expect_delivered(&space, 0, 1);
	for (i = 0; i < 8; i++) {
		uint32_t want = 2 * (0x7fffff00 + i) + 8;

		g_assert_cmphex(mem_read32(space.dev, space.buffer + 4 * i), ==, want);
		g_assert_cmphex(qtest_readl(vm->qts, space.aperture + 4 * i), ==, want);
	}
	g_assert_cmpuint(counter(space.dev, T3_COUNTER_STORES), ==, 16);
	g_assert_cmpuint(counter(space.dev, T3_COUNTER_TRIGGERS), ==, 2);
	g_assert_cmphex(errors_take(space.dev), ==, 0);
	vm_end(vm);
}

/* RELEASE and the next epoch: the tile starts from the identity again. */
static void test_epochs(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 0, 0, 8, 8, 1);
	uint32_t epoch;

	for (epoch = 1; epoch < 5; epoch++) {
		store64(&space, 0, epoch);
		expect_state(&space, T3_SPACE_COMPLETE, epoch);
		expect_delivered(&space, 0, epoch);
		g_assert_cmphex(mem_read32(space.dev, space.buffer), ==, epoch);
		db_release(&space, epoch);
		expect_state(&space, T3_SPACE_IDLE, epoch);
		db_arm(&space, epoch + 1);
		expect_state(&space, T3_SPACE_ARMED, epoch + 1);
	}
	vm_end(vm);
}

/* Slots that were never used, and ids that do not exist. */
static void test_query_free(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_cmd_space args = { .space = T3_MAX_SPACES };
	uint32_t id;

	for (id = 0; id < T3_MAX_SPACES; id += 31) {
		g_assert_cmpuint(space_query(dev, id).state, ==, T3_SPACE_FREE);
		g_assert_cmpuint(space_query(dev, id).generation, !=, 0);
	}
	g_assert_cmpuint(admin(dev, T3_CMD_SPACE_QUERY, &args, sizeof(args)), ==,
			 T3_ADMIN_BAD_SPACE);
	vm_end(vm);
}

/* One i32 update by each width that the element allows. */
static void test_store_widths(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 0, 0, 16, 16, 1);

	store32(&space, 0, 0x11111111);
	store32(&space, 4, 0x22222222);
	expect_state(&space, T3_SPACE_ARMED, 1);
	store64(&space, 8, 0x4444444433333333);
	expect_state(&space, T3_SPACE_COMPLETE, 1);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture), ==, 0x2222222211111111);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture + 8), ==, 0x4444444433333333);
	g_assert_cmphex(qtest_readw(vm->qts, space.aperture + 6), ==, 0x2222);
	g_assert_cmphex(qtest_readb(vm->qts, space.aperture + 8), ==, 0x33);
	g_assert_cmphex(qtest_readl(vm->qts, space.aperture + 6), ==, 0x33332222);
	g_assert_cmpuint(counter(space.dev, T3_COUNTER_STORES), ==, 3);
	vm_end(vm);
}

static struct t3_test_space half_space(struct t3_test_dev *dev, unsigned int slot)
{
	struct t3_test_space space = space_create(dev, slot, slot);
	struct t3_cmd_seg_map map = seg_args(&space, 0, 0, 16, T3_SEG_LOCAL, 1);

	map.dtype = T3_DTYPE_F16;
	seg_map(&space, &map);
	db_arm(&space, 1);
	expect_state(&space, T3_SPACE_ARMED, 1);
	return space;
}

/* A 2-byte element takes 2-byte stores. */
static void test_half(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = half_space(&vm->dev[0], 2);

	qtest_writew(vm->qts, space.aperture + 2, 0x3c00);
	qtest_writew(vm->qts, space.aperture, 0x4000);
	store32(&space, 4, 0x44004200);
	store64(&space, 8, 0x4880480047004500);
	expect_state(&space, T3_SPACE_COMPLETE, 1);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture), ==, 0x440042003c004000);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture + 8), ==, 0x4880480047004500);
	vm_end(vm);
}

/* -------------------------------------------------------------- bad stores */

/* Check the fault and its place, and that the buffer and the count did not change. */
static void check_bad_store(struct t3_test_space *space, enum t3_fault_kind kind, uint64_t offset)
{
	struct t3_event_area area = event_read(space);

	expect_state(space, T3_SPACE_FAULTED, 1);
	expect_fault(space, kind);
	g_assert_cmphex(area.fault.offset, ==, offset);
	g_assert_cmpuint(area.fault.src_rank, ==, space->dev->rank);
	g_assert_cmpuint(area.fault.epoch, ==, 1);
	g_assert_cmphex(mem_read32(space->dev, space->buffer), ==, 0);
	g_assert_cmpuint(counter(space->dev, T3_COUNTER_STORES), ==, 0);
}

static void bad_store(struct t3_vm *vm, unsigned int slot, uint64_t offset, unsigned int size,
		      enum t3_fault_kind kind)
{
	struct t3_test_space space = local_space(&vm->dev[0], slot, slot, 16, 8, 1);
	uint64_t address = space.aperture + offset;

	if (size == 1)
		qtest_writeb(vm->qts, address, 0xff);
	else if (size == 2)
		qtest_writew(vm->qts, address, 0xffff);
	else if (size == 4)
		qtest_writel(vm->qts, address, ~0u);
	else
		qtest_writeq(vm->qts, address, ~0ull);
	check_bad_store(&space, kind, offset);
}

static void test_bad_stores(void)
{
	struct t3_vm *vm = vm_start(1, "");

	bad_store(vm, 0, 0, 1, T3_FAULT_WIDTH);
	bad_store(vm, 1, 0, 2, T3_FAULT_WIDTH);
	bad_store(vm, 2, 16, 4, T3_FAULT_UNMAPPED);
	bad_store(vm, 3, SPACE_SIZE - 8, 8, T3_FAULT_UNMAPPED);
	g_assert_cmpuint(counter(&vm->dev[0], T3_COUNTER_FAULTS), ==, 4);
	vm_end(vm);
}

/*
 * QEMU cuts an unaligned store into naturally aligned pieces. With a piece that
 * is smaller than the element the space faults.
 */
static void test_unaligned_faults(void)
{
	struct t3_vm *vm = vm_start(1, "");

	bad_store(vm, 0, 1, 8, T3_FAULT_WIDTH);
	bad_store(vm, 1, 2, 8, T3_FAULT_WIDTH);
	bad_store(vm, 2, 3, 4, T3_FAULT_WIDTH);
	bad_store(vm, 3, 2, 4, T3_FAULT_WIDTH);
	vm_end(vm);
}

/* With pieces that are whole elements the result is that of storing them one by one. */
static void test_unaligned_elements(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 0, 0, 16, 8, 1);

	store32(&space, 0, 1);
	store64(&space, 4, 0x300000002);
	store32(&space, 12, 4);
	expect_state(&space, T3_SPACE_COMPLETE, 1);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture), ==, 0x200000001);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture + 8), ==, 0x400000003);
	g_assert_cmpuint(counter(space.dev, T3_COUNTER_STORES), ==, 4);
	vm_end(vm);
}

static void test_tile_cross(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 0, 0, 16, 4, 1);

	store64(&space, 8, 1);
	check_bad_store(&space, T3_FAULT_TILE_CROSS, 8);
	vm_end(vm);
}

static void test_overshoot(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 0, 0, 16, 8, 1);

	store64(&space, 0, 5);
	store32(&space, 4, 9);
	expect_state(&space, T3_SPACE_FAULTED, 1);
	expect_fault(&space, T3_FAULT_OVERSHOOT);
	store32(&space, 8, 1);
	g_assert_cmpuint(event_read(&space).dropped, >=, 1);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture), ==, 5);
	g_assert_cmphex(qtest_readq(vm->qts, space.aperture + 8), ==, 0);
	vm_end(vm);
}

/* Reads change nothing. Outside every space they are all-ones, and stores have no effect. */
static void test_no_space(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	g_assert_cmphex(qtest_readq(vm->qts, dev->aperture), ==, UINT64_MAX);
	g_assert_cmphex(qtest_readb(vm->qts, dev->aperture + TEST_APERTURE - 1), ==, 0xff);
	qtest_writeq(vm->qts, dev->aperture + 8, 1);
	g_assert_cmpuint(counter(dev, T3_COUNTER_DROPPED), ==, 1);
	g_assert_cmpuint(counter(dev, T3_COUNTER_FAULTS), ==, 0);
	g_assert_cmphex(mem_read32(dev, 8), ==, 0);
	vm_end(vm);
}

/* --------------------------------------------------------------- doorbells */

/* 64 tiles of 4 KiB in two slots, applied in any order: updates add up. */
static void test_staging(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = space_create(&vm->dev[0], 5, 1);
	struct t3_cmd_seg_map map = seg_args(&space, 2, 0x1000, 0x40000, T3_SEG_LOCAL, 2);
	g_autofree uint32_t *data = g_new(uint32_t, 0x10000);
	uint32_t i;

	map.tile_row_bytes = 0x1000;
	seg_map(&space, &map);
	seg_staging(&space, 2, 0x40000, 2);
	db_arm(&space, 1);
	for (i = 0; i < 0x10000; i++)
		data[i] = i;
	mem_write(space.dev, space.staging, data, 0x40000);
	for (i = 0; i < 0x10000; i++)
		data[i] = 0xf0000000 + 3 * i;
	mem_write(space.dev, space.staging + 0x40000, data, 0x40000);
	for (i = 0; i < 64; i++)
		db_tile(&space, 2, 0, i);
	g_assert_cmpuint(event_read(&space).consumed[2][0], ==, 64);
	expect_state(&space, T3_SPACE_ARMED, 1);
	for (i = 64; i-- > 0;)
		db_tile(&space, 2, 1, i);
	expect_state(&space, T3_SPACE_COMPLETE, 1);
	expect_delivered(&space, 2, 1);
	g_assert_cmpuint(event_read(&space).consumed[2][1], ==, 64);
	mem_read(space.dev, space.buffer + 0x1000, data, 0x40000);
	for (i = 0; i < 0x10000; i++)
		g_assert_cmphex(data[i], ==, 0xf0000000 + 4 * i);
	g_assert_cmpuint(counter(space.dev, T3_COUNTER_DOORBELLS), ==, 128);
	vm_end(vm);
}

/* Widths and offsets that the doorbell page does not have; also cut accesses. */
static void bad_doorbell(struct t3_vm *vm, unsigned int slot, uint32_t offset, unsigned int size)
{
	struct t3_test_space space = local_space(&vm->dev[0], slot, slot, 16, 8, 1);
	uint64_t address = space.dev->regs + T3_DOORBELL_BASE + slot * T3_PAGE_SIZE + offset;

	if (size == 8)
		qtest_writeq(vm->qts, address, 0);
	else if (size == 4)
		qtest_writel(vm->qts, address, 0);
	else
		qtest_writew(vm->qts, address, 0);
	expect_fault(&space, T3_FAULT_BAD_DOORBELL);
}

static void test_bad_doorbells(void)
{
	struct t3_vm *vm = vm_start(1, "");

	bad_doorbell(vm, 0, T3_DB_TILE, 4);
	bad_doorbell(vm, 1, T3_DB_ARM, 8);
	bad_doorbell(vm, 2, T3_DB_ARM, 2);
	bad_doorbell(vm, 3, T3_DB_TILE + 4, 8);
	bad_doorbell(vm, 4, 0x20, 4);
	bad_doorbell(vm, 5, T3_PAGE_SIZE - 8, 8);
	vm_end(vm);
}

/* ---------------------------------------------------------------- host DMA */

static struct t3_test_space space_with_event(struct t3_test_dev *dev, unsigned int slot,
					     uint64_t event)
{
	struct t3_cmd_space_create args = space_args(dev, slot, slot);

	args.event_area = event;
	admin(dev, T3_CMD_SPACE_CREATE, &args, sizeof(args));
	return (struct t3_test_space){ .dev = dev, .id = slot, .slot = slot };
}

/*
 * Addresses that are not memory: BARs of the device, another device, a hole. No access may enter
 * them.
 */
static void test_event_area_elsewhere(void)
{
	struct t3_vm *vm = vm_start(2, "");
	uint64_t targets[] = {
		vm->dev[0].regs,     vm->dev[0].regs + T3_DOORBELL_BASE,
		vm->dev[0].aperture, vm->dev[1].regs,
		0xfec00000,	     0xff0000000000,
	};
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(targets); i++) {
		struct t3_test_space space = space_with_event(&vm->dev[0], i, targets[i]);

		g_assert_cmphex(errors_take(&vm->dev[0]), ==, T3_ERROR_HOST_DMA);
		g_assert_cmphex(errors_take(&vm->dev[1]), ==, 0);
		g_assert_cmpuint(db_state(&space) >> 32, !=, T3_SPACE_ARMED);
	}
	vm_end(vm);
}

/*
 * The event area was memory of the peer, and is now the peer's aperture. Single words are written
 * in another way than the whole page.
 */
static void test_event_area_moved(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_dev *dev = &vm->dev[0], *peer = &vm->dev[1];
	struct t3_test_space space = space_with_event(dev, 2, peer->memory);
	struct t3_cmd_seg_map map = seg_args(&space, 0, 0, 8, T3_SEG_LOCAL, 1);
	uint64_t was = peer->memory;

	g_assert_cmphex(qtest_readq(vm->qts, was), ==, (uint64_t)T3_SPACE_IDLE << 32);
	seg_map(&space, &map);
	db_arm(&space, 1); /* words go to the memory; later the page is no memory */
	g_assert_cmphex(qtest_readq(vm->qts, was), ==, (uint64_t)T3_SPACE_ARMED << 32 | 1);
	store64(&space, 0, 1);
	db_release(&space, 1);
	qpci_config_writel(&peer->pci, PCI_BASE_ADDRESS_3, 0x7f);
	qpci_config_writel(&peer->pci, PCI_BASE_ADDRESS_4, (uint32_t)was);
	qpci_config_writel(&peer->pci, PCI_BASE_ADDRESS_5, was >> 32);
	g_assert_cmphex(qtest_readq(vm->qts, was), ==, UINT64_MAX);
	db_arm(&space, 2);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_HOST_DMA);
	g_assert_cmpuint(db_state(&space) >> 32, ==, T3_SPACE_FAULTED);
	g_assert_cmpuint(counter(peer, T3_COUNTER_DROPPED), ==, 0);
	vm_end(vm);
}

/* With bus mastering off nothing is written and the space says so. */
static void test_bus_master(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 0, 0, 8, 8, 1);
	struct t3_event_area before = event_read(&space), after;

	qpci_config_writew(&space.dev->pci, PCI_COMMAND, PCI_COMMAND_MEMORY);
	store64(&space, 0, 1);
	after = event_read(&space);
	g_assert_cmpmem(&after, sizeof(after), &before, sizeof(before));
	g_assert_cmphex(errors_take(space.dev), ==, T3_ERROR_HOST_DMA);
	g_assert_cmpuint(db_state(&space) >> 32, ==, T3_SPACE_FAULTED);
	qpci_config_writew(&space.dev->pci, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	local_space(space.dev, 1, 1, 8, 8, 1);
	vm_end(vm);
}

void add_space_tests(void)
{
	qtest_add_func("/t3/space/event-area", test_event_area);
	qtest_add_func("/t3/space/local", test_local);
	qtest_add_func("/t3/space/epochs", test_epochs);
	qtest_add_func("/t3/space/query-free", test_query_free);
	qtest_add_func("/t3/aperture/widths", test_store_widths);
	qtest_add_func("/t3/aperture/half", test_half);
	qtest_add_func("/t3/aperture/bad-stores", test_bad_stores);
	qtest_add_func("/t3/aperture/unaligned-faults", test_unaligned_faults);
	qtest_add_func("/t3/aperture/unaligned-elements", test_unaligned_elements);
	qtest_add_func("/t3/aperture/tile-cross", test_tile_cross);
	qtest_add_func("/t3/aperture/overshoot", test_overshoot);
	qtest_add_func("/t3/aperture/no-space", test_no_space);
	qtest_add_func("/t3/doorbell/staging", test_staging);
	qtest_add_func("/t3/doorbell/bad", test_bad_doorbells);
	qtest_add_func("/t3/dma/elsewhere", test_event_area_elsewhere);
	qtest_add_func("/t3/dma/moved", test_event_area_moved);
	qtest_add_func("/t3/dma/bus-master", test_bus_master);
}
