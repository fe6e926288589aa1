/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: the ways to reset one function, SPEC.md section 10. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

enum way { BY_CONTROL, BY_FLR, BY_BUS, BY_SYSTEM };

struct before {
	uint32_t incarnation;
	uint32_t generation;
};

/* An object in every kind of state, and device memory that must not change. */
static struct before fill(struct t3_test_dev *dev)
{
	struct t3_test_space space = local_space(dev, 9, 0, 16, 8, 1);
	struct before before = {
		.incarnation = reg_read(dev, T3_REG_INCARNATION),
		.generation = space.generation,
	};

	store32(&space, 0, 0x1234);
	qtest_writeq(dev->qts, dev->memory + 20 * MIB, 0xfeedface);
	space_enable_event(&space);
	reg_write(dev, T3_REG_ERROR_ENABLE, T3_ERROR_ALL);
	reg_write(dev, T3_REG_EVENT_VECTOR, 2);
	reg_write(dev, T3_REG_ERROR_VECTOR, 3);
	reg_read(dev, 0xfc);
	g_assert_cmphex(reg_read(dev, T3_REG_ERROR_STATUS), ==, T3_ERROR_GUEST);
	g_assert_cmphex(reg_read(dev, T3_REG_SPACE_PENDING), ==, 1u << 9);
	g_assert_cmphex(counter(dev, T3_COUNTER_STORES), ==, 1);
	return before;
}

static void check(struct t3_test_dev *dev, const struct before *before)
{
	static const uint32_t zero[] = {
		T3_REG_ERROR_STATUS,  T3_REG_ERROR_ENABLE,
		T3_REG_EVENT_VECTOR,  T3_REG_ERROR_VECTOR,
		T3_REG_EVENT_SUMMARY, T3_REG_SPACE_PENDING,
		T3_REG_SPACE_ENABLE,  T3_REG_ADMIN_STATUS,
		T3_REG_MAILBOX,	      T3_REG_COUNTERS + 8 * T3_COUNTER_STORES,
		T3_REG_CONTROL,
	};
	struct t3_test_space space;
	unsigned int i;

	g_assert_cmpuint(reg_read(dev, T3_REG_INCARNATION), ==, before->incarnation + 1);
	for (i = 0; i < G_N_ELEMENTS(zero); i++)
		g_assert_cmphex(reg_read(dev, zero[i]), ==, 0);
	g_assert_cmpuint(space_query(dev, 9).state, ==, T3_SPACE_FREE);
	g_assert_cmphex(qtest_readq(dev->qts, dev->memory + 20 * MIB), ==, 0xfeedface);
	g_assert_cmphex(qtest_readl(dev->qts, dev->aperture), ==, ~0u);
	space = local_space(dev, 9, 0, 16, 8, 1);
	g_assert_cmpuint(space.generation, ==, before->generation + 1);
}

static void reset_by(struct t3_test_dev *dev, enum way way)
{
	if (way == BY_CONTROL)
		reg_write(dev, T3_REG_CONTROL, T3_CONTROL_RESET);
	else if (way == BY_FLR)
		dev_flr(dev);
	else if (way == BY_BUS)
		port_reset(dev->vm, dev->rank);
	else
		qtest_system_reset(dev->qts);
}

/* The other device of the fabric is not affected, unless the whole machine is reset. */
static void test_reset(enum way way)
{
	struct t3_vm *vm = way == BY_BUS ? vm_start_ports(2, "") : vm_start(2, "");
	struct t3_test_dev *dev = &vm->dev[0], *other = &vm->dev[1];
	struct t3_test_space space = local_space(other, 1, 0, 8, 8, 1);
	struct before before = fill(dev);
	uint32_t incarnation = reg_read(other, T3_REG_INCARNATION);

	msix_setup(dev);
	reset_by(dev, way);
	if (way != BY_CONTROL) {
		g_assert_cmphex(reg_read(dev, T3_REG_ID), !=, T3_ID_VALUE);
		dev_map(dev);
	}
	check(dev, &before);
	if (way != BY_SYSTEM) {
		g_assert_cmpuint(reg_read(other, T3_REG_INCARNATION), ==, incarnation);
		expect_state(&space, T3_SPACE_ARMED, 1);
	}
	vm_end(vm);
}

static void test_control(void)
{
	test_reset(BY_CONTROL);
}

static void test_flr(void)
{
	test_reset(BY_FLR);
}

static void test_bus(void)
{
	test_reset(BY_BUS);
}

static void test_system(void)
{
	test_reset(BY_SYSTEM);
}

/* Other bits of Device Control do not reset, and the FLR bit reads as 0. */
static void test_flr_bit(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint32_t incarnation = reg_read(dev, T3_REG_INCARNATION);
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_EXP);

	qpci_config_writew(&dev->pci, cap + PCI_EXP_DEVCTL, 0x7fff);
	g_assert_cmpuint(reg_read(dev, T3_REG_INCARNATION), ==, incarnation);
	dev_flr(dev);
	g_assert_cmphex(qpci_config_readw(&dev->pci, cap + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR,
			==, 0);
	dev_map(dev);
	g_assert_cmpuint(reg_read(dev, T3_REG_INCARNATION), ==, incarnation + 1);
	vm_end(vm);
}

void add_reset_tests(void)
{
	qtest_add_func("/t3/reset/control", test_control);
	qtest_add_func("/t3/reset/flr", test_flr);
	qtest_add_func("/t3/reset/bus", test_bus);
	qtest_add_func("/t3/reset/system", test_system);
	qtest_add_func("/t3/reset/flr-bit", test_flr_bit);
}
