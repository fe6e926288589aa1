/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupts: see t3_irq.c.
 */
#ifndef T3_IRQ_H
#define T3_IRQ_H

struct t3_device;

int t3_irq_init(struct t3_device *tdev);
void t3_irq_poll(struct t3_device *tdev);
void t3_irq_disable(struct t3_device *tdev);
void t3_irq_enable(struct t3_device *tdev);

#endif /* T3_IRQ_H */
