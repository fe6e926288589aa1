/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: event areas that are no memory. The conformance suite has those that are. */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

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

void add_host_dma_tests(void)
{
	qtest_add_func("/t3/dma/elsewhere", test_event_area_elsewhere);
	qtest_add_func("/t3/dma/moved", test_event_area_moved);
}
