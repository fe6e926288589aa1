// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers: map them, check what device this is, start it.
 */
#include <linux/io-64-nonatomic-lo-hi.h>

#include "t3_device.h"
#include "t3_regs.h"

static u32 t3_read(struct t3_device *tdev, u32 reg)
{
	return readl(tdev->regs + reg);
}

static void t3_write(struct t3_device *tdev, u32 reg, u32 value)
{
	writel(value, tdev->regs + reg);
}

static u64 t3_read64(struct t3_device *tdev, u32 reg)
{
	return readq(tdev->regs + reg);
}

/**
 * t3_hw_vclock() - read the virtual clock
 * @tdev: the device
 *
 * Context: registers may be used: t3_hw_lock() or t3_access_enter().
 * Return: virtual time in nanoseconds.
 */
u64 t3_hw_vclock(struct t3_device *tdev)
{
	return t3_read64(tdev, T3_REG_VCLOCK);
}

/**
 * t3_hw_counter() - read a counter of the device
 * @tdev: the device
 * @id: which one
 *
 * Context: registers may be used: t3_hw_lock() or t3_access_enter().
 * Return: its value.
 */
u64 t3_hw_counter(struct t3_device *tdev, enum t3_counter_id id)
{
	return t3_read64(tdev, T3_REG_COUNTERS + 8 * id);
}

/* A later minor version only adds; an earlier one lacks what this driver relies on. */
static bool t3_hw_version_is_known(u32 version)
{
	return version >> 16 == T3_VERSION_VALUE >> 16 && version >= T3_VERSION_VALUE;
}

static int t3_hw_identify(struct t3_device *tdev)
{
	u32 id = t3_read(tdev, T3_REG_ID);
	u32 version = t3_read(tdev, T3_REG_VERSION);

	if (id != T3_ID_VALUE)
		return dev_err_probe(tdev->drm.dev, -ENODEV, "unknown id %08x\n", id);
	if (!t3_hw_version_is_known(version))
		return dev_err_probe(tdev->drm.dev, -ENODEV,
				     "hardware version %u.%u: this driver needs %u.%u or a later %u.x\n",
				     version >> 16, version & 0xffff, T3_VERSION_VALUE >> 16,
				     T3_VERSION_VALUE & 0xffff, T3_VERSION_VALUE >> 16);
	tdev->caps.version = version;
	return 0;
}

static void t3_hw_read_caps(struct t3_device *tdev)
{
	struct t3_caps *caps = &tdev->caps;

	caps->memory_size = t3_read64(tdev, T3_REG_MEMORY_SIZE);
	caps->aperture_size = t3_read64(tdev, T3_REG_APERTURE_SIZE);
	caps->fabric_id = t3_read64(tdev, T3_REG_FABRIC_ID);
	caps->caps = t3_read(tdev, T3_REG_CAPS);
	caps->rank = t3_read(tdev, T3_REG_RANK);
	caps->ranks = t3_read(tdev, T3_REG_RANKS);
	caps->topology = t3_read(tdev, T3_REG_TOPOLOGY);
	caps->tracker = t3_read(tdev, T3_REG_TRACKER);
	caps->node_ranks = t3_read(tdev, T3_REG_NODE_RANKS);
	caps->max_spaces = t3_read(tdev, T3_REG_MAX_SPACES);
	if (caps->caps & T3_CAP_QUEUES)
		caps->max_queues = t3_read(tdev, T3_REG_MAX_QUEUES);
}

/* The driver allocates from these ranges, so it checks them against the BARs. */
static int t3_hw_check_caps(struct t3_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	const struct t3_caps *caps = &tdev->caps;

	if (!caps->memory_size || !PAGE_ALIGNED(caps->memory_size) ||
	    caps->memory_size > pci_resource_len(pdev, T3_BAR_MEMORY))
		return dev_err_probe(&pdev->dev, -ENODEV, "bad memory size\n");
	if (!caps->aperture_size || !PAGE_ALIGNED(caps->aperture_size) ||
	    caps->aperture_size > pci_resource_len(pdev, T3_BAR_APERTURE))
		return dev_err_probe(&pdev->dev, -ENODEV, "bad aperture size\n");
	if (!caps->max_spaces || caps->max_spaces > T3_MAX_SPACES)
		return dev_err_probe(&pdev->dev, -ENODEV, "bad number of spaces\n");
	if (caps->max_queues > T3_MAX_QUEUES)
		return dev_err_probe(&pdev->dev, -ENODEV, "bad number of queues\n");
	if (!caps->ranks || caps->ranks > T3_MAX_RANKS || caps->rank >= caps->ranks)
		return dev_err_probe(&pdev->dev, -ENODEV, "bad rank\n");
	return 0;
}

/* Only users map doorbells and aperture. */
static int t3_hw_map(struct t3_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	int ret;

	ret = pcim_request_all_regions(pdev, T3_DRIVER_NAME);
	if (ret)
		return ret;
	if (pci_resource_len(pdev, T3_BAR_REGS) < T3_BAR_REGS_SIZE)
		return dev_err_probe(&pdev->dev, -ENODEV, "register BAR is too small\n");
	tdev->regs = pcim_iomap(pdev, T3_BAR_REGS, T3_DOORBELL_BASE);
	if (!tdev->regs)
		return -ENOMEM;
	tdev->doorbell_base = pci_resource_start(pdev, T3_BAR_REGS) + T3_DOORBELL_BASE;
	tdev->memory_base = pci_resource_start(pdev, T3_BAR_MEMORY);
	tdev->aperture_base = pci_resource_start(pdev, T3_BAR_APERTURE);
	return 0;
}

/*
 * This mapping also decides the memory type of users' mappings: on x86 they get the type that is
 * reserved for the range. So it lasts as long as the driver is bound.
 */
static int t3_hw_map_memory(struct t3_device *tdev)
{
	tdev->memory = devm_ioremap_wc(tdev->drm.dev, tdev->memory_base,
				       tdev->caps.memory_size);
	return tdev->memory ? 0 : -ENOMEM;
}

/**
 * t3_hw_init() - map registers and memory, and check the device
 * @tdev: the device
 *
 * Context: probe.
 * Return: 0, -ENODEV unknown device or bad registers, -ENOMEM, or an error of the PCI core.
 */
int t3_hw_init(struct t3_device *tdev)
{
	int ret;

	ret = t3_hw_map(tdev);
	if (ret)
		return ret;
	ret = t3_hw_identify(tdev);
	if (ret)
		return ret;
	t3_hw_read_caps(tdev);
	ret = t3_hw_check_caps(tdev);
	if (ret)
		return ret;
	return t3_hw_map_memory(tdev);
}

/* All bits may be set: a queue that does not exist has nothing pending. */
static void t3_hw_start_queues(struct t3_device *tdev)
{
	u32 word;

	if (!tdev->caps.max_queues)
		return;
	t3_write(tdev, T3_REG_QUEUE_VECTOR, tdev->queue_vector);
	for (word = 0; word < T3_MAX_QUEUES / 32; word++)
		t3_write(tdev, T3_REG_QUEUE_ENABLE + 4 * word, ~0u);
}

/**
 * t3_hw_answers() - check whether registers answer
 * @tdev: the device
 *
 * Registers of an unplugged device read as all ones, which the ID register never is.
 *
 * Context: any, while registers are mapped.
 * Return: true if they do.
 */
bool t3_hw_answers(struct t3_device *tdev)
{
	return t3_read(tdev, T3_REG_ID) == T3_ID_VALUE;
}

/**
 * t3_hw_was_reset() - check whether the function was reset from outside the driver
 * @tdev: the device
 *
 * Since t3_hw_start(). A device that counts its resets from 0 again is found by its error enables.
 *
 * Context: admin_lock is held.
 * Return: true if so.
 */
bool t3_hw_was_reset(struct t3_device *tdev)
{
	return t3_read(tdev, T3_REG_INCARNATION) != tdev->incarnation ||
	       t3_read(tdev, T3_REG_ERROR_ENABLE) != T3_ERROR_ALL;
}

/**
 * t3_hw_start() - reset the function and set up its registers
 * @tdev: the device
 *
 * Nothing is left of what an earlier driver did.
 *
 * Context: admin_lock is held, or probe.
 */
void t3_hw_start(struct t3_device *tdev)
{
	unsigned long flags;

	spin_lock_irqsave(&tdev->slot_lock, flags);
	memset(tdev->enable, 0, sizeof(tdev->enable));
	t3_write(tdev, T3_REG_CONTROL, T3_CONTROL_RESET);
	spin_unlock_irqrestore(&tdev->slot_lock, flags);
	t3_write(tdev, T3_REG_EVENT_VECTOR, 0);
	t3_write(tdev, T3_REG_ERROR_VECTOR, tdev->error_vector);
	t3_write(tdev, T3_REG_ERROR_ENABLE, T3_ERROR_ALL);
	t3_hw_start_queues(tdev);
	tdev->incarnation = t3_read(tdev, T3_REG_INCARNATION);
}

#ifdef T3_KUNIT
#include "tests/t3_hw_test.c"
#endif
