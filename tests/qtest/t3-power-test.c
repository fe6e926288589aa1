/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: when the function may not write to memory (D3hot, bus master off,
 * slot without power) it does no DMA, and its messages wait. And when the machine sleeps.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

#define D0    0
#define D3HOT 3

static void set_power(struct t3_test_dev *dev, uint16_t state)
{
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_PM);

	qpci_config_writew(&dev->pci, cap + PCI_PM_CTRL, state);
	g_assert_cmphex(qpci_config_readw(&dev->pci, cap + PCI_PM_CTRL), ==,
			state | PCI_PM_CTRL_NO_SOFT_RESET);
}

static void set_master(struct t3_test_dev *dev, bool on)
{
	qpci_config_writew(&dev->pci, PCI_COMMAND,
			   PCI_COMMAND_MEMORY | (on ? PCI_COMMAND_MASTER : 0));
}

/* D3hot closes the BARs and keeps the registers. */
static void test_closed(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint32_t incarnation = reg_read(dev, T3_REG_INCARNATION);

	reg_write(dev, T3_REG_ERROR_ENABLE, T3_ERROR_LINK);
	qtest_writeq(vm->qts, dev->memory, 0x1234);
	set_power(dev, D3HOT);
	g_assert_cmphex(reg_read(dev, T3_REG_ID), !=, T3_ID_VALUE);
	reg_write(dev, T3_REG_ERROR_ENABLE, 0);
	qtest_writeq(vm->qts, dev->memory, 0);
	g_assert_cmphex(qpci_config_readl(&dev->pci, PCI_VENDOR_ID), ==, 0x74331234);
	set_power(dev, D0);
	g_assert_cmphex(reg_read(dev, T3_REG_ID), ==, T3_ID_VALUE);
	g_assert_cmphex(reg_read(dev, T3_REG_ERROR_ENABLE), ==, T3_ERROR_LINK);
	g_assert_cmphex(reg_read(dev, T3_REG_INCARNATION), ==, incarnation);
	g_assert_cmphex(qtest_readq(vm->qts, dev->memory), ==, 0x1234);
	vm_end(vm);
}

/* D1 and D2 do not exist: the write is refused and the BARs stay open. */
static void test_no_d1(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint8_t cap = dev_cap(dev, PCI_CAP_ID_PM);
	uint16_t state;

	for (state = 1; state <= 2; state++) {
		qpci_config_writew(&dev->pci, cap + PCI_PM_CTRL, state);
		g_assert_cmphex(qpci_config_readw(&dev->pci, cap + PCI_PM_CTRL), ==,
				PCI_PM_CTRL_NO_SOFT_RESET);
		g_assert_cmphex(reg_read(dev, T3_REG_ID), ==, T3_ID_VALUE);
	}
	vm_end(vm);
}

/* A reset ends D3hot. */
static void test_reset_wakes(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	set_power(dev, D3HOT);
	dev_flr(dev);
	dev_map(dev);
	set_power(dev, D3HOT);
	qtest_system_reset(vm->qts);
	dev_map(dev);
	vm_end(vm);
}

/*
 * The peer's store arrives while the target may not write: the update is applied in
 * device memory, the event area stays as it was, the space faults HOST_DMA.
 */
static void check_no_dma(struct t3_test_pair *pair)
{
	struct t3_event_area before = event_read(&pair->target), after;

	store64(&pair->source, 0, 0x77);
	wait_state(&pair->source, T3_SPACE_COMPLETE, 1);
	after = event_read(&pair->target);
	g_assert_cmpmem(&after, sizeof(after), &before, sizeof(before));
}

static void check_host_dma(struct t3_test_space *space)
{
	g_assert_cmphex(db_state(space) >> 32, ==, T3_SPACE_FAULTED);
	g_assert_cmphex(errors_take(space->dev), ==, T3_ERROR_HOST_DMA);
	g_assert_cmphex(qtest_readq(space->dev->qts, space->dev->memory + space->buffer), ==, 0x77);
	g_assert_cmphex(event_read(space).state >> 32, ==, T3_SPACE_ARMED);
	/* The rest of the device works, and so does the space after a reset. */
	local_space(space->dev, 500, 3, 8, 8, 1);
	admin_ok(space->dev, T3_CMD_SPACE_RESET, &(struct t3_cmd_space){ .space = space->id },
		 sizeof(struct t3_cmd_space));
	expect_state(space, T3_SPACE_IDLE, 0);
}

static void test_d3_dma(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_pair pair = remote_pair(&vm->dev[0], &vm->dev[1], 0, 8);

	set_power(&vm->dev[1], D3HOT);
	check_no_dma(&pair);
	set_power(&vm->dev[1], D0);
	check_host_dma(&pair.target);
	vm_end(vm);
}

static void test_master_dma(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_pair pair = remote_pair(&vm->dev[0], &vm->dev[1], 0, 8);

	set_master(&vm->dev[1], false);
	check_no_dma(&pair);
	set_master(&vm->dev[1], true);
	check_host_dma(&pair.target);
	vm_end(vm);
}

/* ----------------------------------------------------------------- messages */

/* An error interrupt of vector 1, raised by a guest error. */
static void setup_error(struct t3_test_dev *dev)
{
	msix_setup(dev);
	reg_write(dev, T3_REG_ERROR_VECTOR, 1);
	reg_write(dev, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
}

static void raise_error(struct t3_test_dev *dev)
{
	errors_take(dev);
	reg_read(dev, 0xfc);
}

static void test_held(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	setup_error(dev);
	set_master(dev, false);
	raise_error(dev);
	raise_error(dev);
	g_assert_false(msix_take(dev, 1));
	g_assert_true(msix_pending(dev, 1));
	g_assert_false(msix_pending(dev, 0));
	set_master(dev, true);
	g_assert_true(msix_take(dev, 1));
	g_assert_false(msix_pending(dev, 1));
	set_master(dev, false);
	set_master(dev, true);
	g_assert_false(msix_take(dev, 1));
	vm_end(vm);
}

/* In D3hot only peers can raise an interrupt. */
static void test_held_in_d3(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_pair pair = remote_pair(&vm->dev[0], &vm->dev[1], 0, 8);
	struct t3_test_dev *dev = &vm->dev[1];

	msix_setup(dev);
	reg_write(dev, T3_REG_SPACE_PENDING + pair.target.id / 32 * 4, ~0u);
	space_enable_event(&pair.target);
	set_power(dev, D3HOT);
	check_no_dma(&pair);
	g_assert_false(msix_take(dev, 0));
	set_power(dev, D0);
	g_assert_true(msix_take(dev, 0));
	g_assert_false(msix_pending(dev, 0));
	vm_end(vm);
}

/*
 * The vector is masked when mastering returns, so its message waits. It was unmasked before, and is
 * still held.
 */
static void test_held_and_masked(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	setup_error(dev);
	msix_mask(dev, 1, true);
	raise_error(dev);
	set_master(dev, false);
	msix_mask(dev, 1, false);
	g_assert_false(msix_take(dev, 1));
	g_assert_true(msix_pending(dev, 1));
	msix_mask(dev, 1, true);
	set_master(dev, true);
	g_assert_false(msix_take(dev, 1));
	g_assert_true(msix_pending(dev, 1));
	msix_mask(dev, 1, false);
	g_assert_true(msix_take(dev, 1));
	g_assert_false(msix_pending(dev, 1));
	vm_end(vm);
}

/* A reset clears held messages. */
static void test_held_reset(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	setup_error(dev);
	set_master(dev, false);
	raise_error(dev);
	dev_flr(dev);
	dev_map(dev);
	msix_setup(dev);
	g_assert_false(msix_take(dev, 1));
	g_assert_false(msix_pending(dev, 1));
	vm_end(vm);
}

/* Off and on again: kept, as the bits of the PBA are. */
static void test_held_disabled(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint8_t flags = dev_cap(dev, PCI_CAP_ID_MSIX) + PCI_MSIX_FLAGS;

	setup_error(dev);
	set_master(dev, false);
	raise_error(dev);
	qpci_config_writew(&dev->pci, flags, 0);
	set_master(dev, true);
	g_assert_false(msix_take(dev, 1));
	g_assert_true(msix_pending(dev, 1));
	qpci_config_writew(&dev->pci, flags, PCI_MSIX_FLAGS_ENABLE);
	g_assert_true(msix_take(dev, 1));
	vm_end(vm);
}

/* Both causes share vector 0, and the other vectors stay masked. One message is enough. */
static void test_one_vector(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_test_space space = space_create(dev, 3, 0);
	unsigned int vector;

	msix_setup(dev);
	for (vector = 1; vector < T3_MAX_VECTORS; vector++)
		msix_mask(dev, vector, true);
	reg_write(dev, T3_REG_ERROR_ENABLE, T3_ERROR_GUEST);
	reg_write(dev, T3_REG_SPACE_PENDING, ~0u);
	space_enable_event(&space);
	raise_error(dev);
	g_assert_true(msix_take(dev, 0));
	db_arm(&space, 1);
	g_assert_true(msix_take(dev, 0));
	for (vector = 1; vector < T3_MAX_VECTORS; vector++)
		g_assert_false(msix_pending(dev, vector));
	vm_end(vm);
}

/* ------------------------------------------------------------------- sleep */

#define LPC_PMBASE    0x40 /* configuration space of the ICH9 LPC bridge */
#define LPC_ACPI_CTRL 0x44
#define LPC_ACPI_EN   0x80
#define PM_BASE	      0x600
#define PM1_CNT	      (PM_BASE + 4)
#define PM1_SLEEP_S3  (1 << 13 | 1 << 10)

/* S3, as the guest's kernel asks for it. The firmware of these tests has not set up the ports. */
static void sleep_machine(struct t3_vm *vm)
{
	QPCIDevice lpc = { .bus = vm->bus, .devfn = QPCI_DEVFN(0x1f, 0) };

	qpci_config_writel(&lpc, LPC_PMBASE, PM_BASE | 1);
	qpci_config_writeb(&lpc, LPC_ACPI_CTRL, LPC_ACPI_EN);
	qtest_outw(vm->qts, PM1_CNT, PM1_SLEEP_S3);
	qtest_qmp_eventwait(vm->qts, "SUSPEND");
}

/* No processor runs, but the machine has not stopped: the links' timers go on, and so do events. */
static void test_sleep(void)
{
	struct t3_vm *vm = vm_start(RING, "");
	struct t3_test_ring ring = ring_open(vm, RING_BIG);

	ring_arm(&ring, 1);
	ring_load(&ring, 1);
	sleep_machine(vm);
	ring_fire(&ring, 0);
	g_assert_true(chunk_arrives(&ring, 5000));
	vm_end(vm);
}

void add_power_tests(void)
{
	qtest_add_func("/t3/power/closed", test_closed);
	qtest_add_func("/t3/power/no-d1-d2", test_no_d1);
	qtest_add_func("/t3/power/reset-wakes", test_reset_wakes);
	qtest_add_func("/t3/power/d3hot-dma", test_d3_dma);
	qtest_add_func("/t3/power/master-off-dma", test_master_dma);
	qtest_add_func("/t3/power/held", test_held);
	qtest_add_func("/t3/power/held-in-d3hot", test_held_in_d3);
	qtest_add_func("/t3/power/held-and-masked", test_held_and_masked);
	qtest_add_func("/t3/power/held-reset", test_held_reset);
	qtest_add_func("/t3/power/held-disabled", test_held_disabled);
	qtest_add_func("/t3/power/one-vector", test_one_vector);
	qtest_add_func("/t3/power/sleep", test_sleep);
}
