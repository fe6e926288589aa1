/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: MSI-X messages, masking, the causes. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

#define SPACE 37 /* bit 5 of word 1 */

static struct t3_test_space event_space(struct t3_test_dev *dev)
{
	struct t3_test_space space = space_create(dev, SPACE, 0);
	struct t3_cmd_seg_map map = seg_args(&space, 0, 0, 8, T3_SEG_LOCAL, 1);

	seg_map(&space, &map);
	reg_write(dev, T3_REG_SPACE_PENDING + 4, ~0u);
	g_assert_cmphex(reg_read(dev, T3_REG_SPACE_PENDING + 4), ==, 0);
	return space;
}

/* PENDING without ENABLE sends nothing. Setting ENABLE then sends the vector. */
static void test_event(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_test_space space = event_space(dev);

	msix_setup(dev);
	reg_write(dev, T3_REG_EVENT_VECTOR, 3);
	db_arm(&space, 1);
	g_assert_cmphex(reg_read(dev, T3_REG_SPACE_PENDING + 4), ==, 1u << 5);
	g_assert_cmphex(reg_read(dev, T3_REG_EVENT_SUMMARY), ==, 0);
	g_assert_false(msix_take(dev, 3));
	space_enable_event(&space);
	g_assert_cmphex(reg_read(dev, T3_REG_EVENT_SUMMARY), ==, 1u << 1);
	g_assert_true(msix_take(dev, 3));

	/* Still pending: no second message. */
	store64(&space, 0, 1);
	expect_state(&space, T3_SPACE_COMPLETE, 1);
	g_assert_false(msix_take(dev, 3));

	reg_write(dev, T3_REG_SPACE_PENDING + 4, 1u << 5);
	g_assert_cmphex(reg_read(dev, T3_REG_EVENT_SUMMARY), ==, 0);
	db_release(&space, 1);
	g_assert_true(msix_take(dev, 3));
	g_assert_false(msix_take(dev, 0));
	g_assert_cmpuint(counter(dev, T3_COUNTER_INTERRUPTS), ==, 2);
	vm_end(vm);
}

/* ERROR_STATUS bits that are enabled send ERROR_VECTOR once, when they become 1. */
static void test_error(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	msix_setup(dev);
	reg_write(dev, T3_REG_ERROR_VECTOR, 2);
	reg_read(dev, 0xfc);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	g_assert_false(msix_take(dev, 2));
	reg_write(dev, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
	reg_read(dev, 0xfc);
	g_assert_true(msix_take(dev, 2));
	reg_read(dev, 0xfc);
	g_assert_false(msix_take(dev, 2));
	errors_take(dev);
	reg_read(dev, 0xfc);
	g_assert_true(msix_take(dev, 2));
	vm_end(vm);
}

/* A masked vector waits in the PBA and is sent when it is unmasked. */
static void test_mask(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_test_space space = event_space(dev);

	msix_setup(dev);
	space_enable_event(&space);
	reg_write(dev, T3_REG_EVENT_VECTOR, 1);
	msix_mask(dev, 1, true);
	g_assert_false(msix_pending(dev, 1));
	db_arm(&space, 1);
	g_assert_true(msix_pending(dev, 1));
	g_assert_false(msix_pending(dev, 0));
	g_assert_false(msix_take(dev, 1));
	msix_mask(dev, 1, false);
	g_assert_true(msix_take(dev, 1));
	g_assert_false(msix_pending(dev, 1));
	vm_end(vm);
}

static void test_function_mask(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_test_space space = event_space(dev);
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS;

	msix_setup(dev);
	space_enable_event(&space);
	qpci_config_writew(&dev->pci, cap, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	db_arm(&space, 1);
	g_assert_true(msix_pending(dev, 0));
	g_assert_false(msix_take(dev, 0));
	qpci_config_writew(&dev->pci, cap, PCI_MSIX_FLAGS_ENABLE);
	g_assert_true(msix_take(dev, 0));
	vm_end(vm);
}

/* MSI-X off: nothing is sent, kept, or sent later. */
static void test_disabled(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_test_space space = event_space(dev);
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS;

	msix_setup(dev);
	qpci_config_writew(&dev->pci, cap, 0);
	space_enable_event(&space);
	db_arm(&space, 1);
	g_assert_cmphex(reg_read(dev, T3_REG_EVENT_SUMMARY), ==, 1u << 1);
	g_assert_false(msix_pending(dev, 0));
	qpci_config_writew(&dev->pci, cap, PCI_MSIX_FLAGS_ENABLE);
	g_assert_false(msix_take(dev, 0));
	vm_end(vm);
}

/* Where a device's first vector goes instead of memory. */
static void redirect(struct t3_test_dev *dev, uint64_t address, uint32_t data)
{
	reg_write(dev, T3_MSIX_TABLE + PCI_MSIX_ENTRY_LOWER_ADDR, address);
	reg_write(dev, T3_MSIX_TABLE + PCI_MSIX_ENTRY_DATA, data);
}

/*
 * The message of the target's completion resets the target. The reset must wait until the core has
 * finished the update, its response and all its effects.
 */
static void test_message_resets(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_space source = space_create(&vm->dev[0], 1, 0);
	struct t3_test_space target = event_space(&vm->dev[1]);
	struct t3_cmd_seg_map map = seg_args(&source, 0, 0, 8, T3_SEG_REMOTE, 1);
	uint32_t incarnation = reg_read(target.dev, T3_REG_INCARNATION);
	unsigned int id;

	space_route(&source, &target);
	space_import(&target, &source);
	seg_map(&source, &map);
	db_arm(&target, 1);
	db_arm(&source, 1);
	wait_state(&source, T3_SPACE_ARMED, 1);
	msix_setup(target.dev);
	reg_write(target.dev, T3_REG_SPACE_PENDING + 4, ~0u);
	redirect(target.dev, target.dev->regs + T3_REG_CONTROL, T3_CONTROL_RESET);
	space_enable_event(&target);
	g_assert_cmpuint(reg_read(target.dev, T3_REG_INCARNATION), ==, incarnation);
	store64(&source, 0, 1);
	g_assert_cmpuint(reg_read(target.dev, T3_REG_INCARNATION), ==, incarnation + 1);
	expect_state(&source, T3_SPACE_COMPLETE, 1);
	g_assert_cmpuint(space_query(target.dev, SPACE).state, ==, T3_SPACE_FREE);
	for (id = 0; id < T3_COUNTER_COUNT; id++)
		g_assert_cmpuint(counter(target.dev, id), ==, 0);
	vm_end(vm);
}

/* Messages go around a ring of devices, and each raises the next. QEMU stays responsive. */
static void test_message_loop(void)
{
	struct t3_vm *vm = vm_start(3, "");
	uint64_t sent = 0;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct t3_test_dev *dev = &vm->dev[i], *peer = &vm->dev[(i + 1) % 3];

		msix_setup(dev);
		redirect(dev, peer->regs + 0xfc, 0);
		reg_write(dev, T3_REG_ERROR_ENABLE, T3_ERROR_ALL);
	}
	for (i = 0; i < 100; i++) {
		reg_read(&vm->dev[i % 3], 0xfc);
		g_assert_cmphex(errors_take(&vm->dev[(i + 1) % 3]), ==, T3_ERROR_GUEST);
		errors_take(&vm->dev[(i + 2) % 3]);
		errors_take(&vm->dev[i % 3]);
	}
	for (i = 0; i < 3; i++)
		sent += counter(&vm->dev[i], T3_COUNTER_INTERRUPTS);
	g_assert_cmpuint(sent, >=, 100);
	vm_end(vm);
}

void add_irq_tests(void)
{
	qtest_add_func("/t3/irq/event", test_event);
	qtest_add_func("/t3/irq/error", test_error);
	qtest_add_func("/t3/irq/mask", test_mask);
	qtest_add_func("/t3/irq/function-mask", test_function_mask);
	qtest_add_func("/t3/irq/disabled", test_disabled);
	qtest_add_func("/t3/irq/message-resets", test_message_resets);
	qtest_add_func("/t3/irq/message-loop", test_message_loop);
}
