// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupts: their handlers, and their vectors.
 */
#include <linux/interrupt.h>
#include <linux/io-64-nonatomic-lo-hi.h>

#include <drm/drm_print.h>

#include "t3_device.h"
#include "t3_event.h"
#include "t3_irq.h"
#include "t3_queue.h"
#include "t3_regs.h"
#include "t3_watch.h"

#define T3_VECTORS_WANTED 3 /* events, errors, queues */

static void t3_irq_event_word(struct t3_device *tdev, u32 word)
{
	void __iomem *reg = tdev->regs + T3_REG_SPACE_PENDING + 4 * word;
	unsigned long pending = readl(reg), flags;
	u32 bit;

	/* Clear before looking: a later event sets the bit again. */
	writel(pending, reg);
	for_each_set_bit(bit, &pending, 32) {
		struct t3_space *space;

		spin_lock_irqsave(&tdev->slot_lock, flags);
		space = tdev->slots[32 * word + bit];
		if (space)
			t3_event_notify(space);
		spin_unlock_irqrestore(&tdev->slot_lock, flags);
	}
}

/*
 * The handlers always claim the interrupt: a message that arrives after an earlier call has done
 * its work is no sign of a broken line. They may run with interrupts on: t3_irq_poll() calls them,
 * and PREEMPT_RT runs them in threads.
 */
static irqreturn_t t3_irq_events(int irq, void *data)
{
	struct t3_device *tdev = data;
	unsigned long summary = readl(tdev->regs + T3_REG_EVENT_SUMMARY);
	u32 word;

	if (summary == ~0u && !t3_hw_answers(tdev))
		return IRQ_HANDLED;
	for_each_set_bit(word, &summary, T3_ENABLE_WORDS)
		t3_irq_event_word(tdev, word);
	return IRQ_HANDLED;
}

/* Read before the status bits are cleared: the next failure overwrites the address then. */
static void t3_irq_addresses(struct t3_device *tdev, u32 status)
{
	if (status & T3_ERROR_HOST_DMA)
		drm_err_ratelimited(&tdev->drm, "host memory at %#llx could not be accessed\n",
				    readq(tdev->regs + T3_REG_DMA_ADDRESS));
	if (status & T3_ERROR_POISON)
		drm_err_ratelimited(&tdev->drm,
				    "poisoned device memory at %#llx was about to be used\n",
				    readq(tdev->regs + T3_REG_POISON_ADDRESS));
}

static irqreturn_t t3_irq_errors(int irq, void *data)
{
	struct t3_device *tdev = data;
	u32 status = readl(tdev->regs + T3_REG_ERROR_STATUS);

	if (!status || status == ~0u) /* all ones: no device answers */
		return IRQ_HANDLED;
	t3_irq_addresses(tdev, status);
	writel(status, tdev->regs + T3_REG_ERROR_STATUS);
	if (status & T3_ERROR_QUEUE)
		t3_queues_check(tdev);
	if (status & T3_ERROR_HOST_DMA) {
		/* Event areas may be out of date. */
		WRITE_ONCE(tdev->dma_failed, true);
		t3_watch_now(tdev);
	}
	/* Users can cause these (a refused command, a dead peer), so they are not logged. */
	if (status & (T3_ERROR_GUEST | T3_ERROR_LINK))
		drm_dbg(&tdev->drm, "error status %x\n", status);
	return IRQ_HANDLED;
}

static irqreturn_t t3_irq_queues(int irq, void *data)
{
	struct t3_device *tdev = data;
	u32 word;

	if (tdev->caps.max_queues)
		for (word = 0; word < T3_MAX_QUEUES / 32; word++)
			t3_queue_irq(tdev, word);
	return IRQ_HANDLED;
}

static irqreturn_t t3_irq_errors_queues(int irq, void *data)
{
	t3_irq_queues(irq, data);
	return t3_irq_errors(irq, data);
}

static irqreturn_t t3_irq_shared(int irq, void *data)
{
	t3_irq_events(irq, data);
	return t3_irq_errors_queues(irq, data);
}

/**
 * t3_irq_poll() - do what the interrupt handlers do
 * @tdev: the device
 *
 * For interrupts that were lost.
 *
 * Context: process context; admin_lock is held.
 */
void t3_irq_poll(struct t3_device *tdev)
{
	lockdep_assert_held(&tdev->admin_lock);
	t3_irq_shared(0, tdev);
}

struct t3_irq_vector {
	irq_handler_t handler;
	const char *name;
};

/* Indexed by the number of vectors - 1. */
static const struct t3_irq_vector t3_irq_vectors[T3_VECTORS_WANTED][T3_VECTORS_WANTED] = {
	{
		{ t3_irq_shared, T3_DRIVER_NAME },
	}, {
		{ t3_irq_events, T3_DRIVER_NAME "-events" },
		{ t3_irq_errors_queues, T3_DRIVER_NAME "-errors" },
	}, {
		{ t3_irq_events, T3_DRIVER_NAME "-events" },
		{ t3_irq_errors, T3_DRIVER_NAME "-errors" },
		{ t3_irq_queues, T3_DRIVER_NAME "-queues" },
	},
};

/**
 * t3_irq_init() - allocate vectors and install the handlers
 * @tdev: the device
 *
 * The PCI core frees both with the device.
 *
 * Context: probe.
 * Return: 0, or an error of the PCI core.
 */
int t3_irq_init(struct t3_device *tdev)
{
	struct pci_dev *pdev = to_pci_dev(tdev->drm.dev);
	int vectors, ret, i;

	/* Freed with the device: pcim_enable_device() was called. */
	vectors = pci_alloc_irq_vectors(pdev, 1, T3_VECTORS_WANTED, PCI_IRQ_MSIX);
	if (vectors < 0)
		return dev_err_probe(&pdev->dev, vectors, "no MSI-X vector\n");
	tdev->vectors = vectors;
	tdev->error_vector = min(vectors - 1, 1);
	tdev->queue_vector = vectors - 1;
	for (i = 0; i < vectors; i++) {
		const struct t3_irq_vector *vector = &t3_irq_vectors[vectors - 1][i];

		ret = devm_request_irq(&pdev->dev, pci_irq_vector(pdev, i), vector->handler, 0,
				       vector->name, tdev);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * t3_irq_disable() - disable all vectors
 * @tdev: the device
 *
 * When it returns no handler runs.
 *
 * Context: process context; sleeps.
 */
void t3_irq_disable(struct t3_device *tdev)
{
	u32 i;

	for (i = 0; i < tdev->vectors; i++)
		disable_irq(pci_irq_vector(to_pci_dev(tdev->drm.dev), i));
}

/**
 * t3_irq_enable() - end t3_irq_disable()
 * @tdev: the device
 */
void t3_irq_enable(struct t3_device *tdev)
{
	u32 i;

	for (i = 0; i < tdev->vectors; i++)
		enable_irq(pci_irq_vector(to_pci_dev(tdev->drm.dev), i));
}

#ifdef T3_KUNIT
#include "tests/t3_irq_test.c"
#endif
