/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Registers: see t3_hw.c.
 */
#ifndef T3_REGS_H
#define T3_REGS_H

#include "t3_device.h"

int t3_hw_init(struct t3_device *tdev);
void t3_hw_start(struct t3_device *tdev);
bool t3_hw_answers(struct t3_device *tdev);
bool t3_hw_was_reset(struct t3_device *tdev);
u64 t3_hw_vclock(struct t3_device *tdev);
u64 t3_hw_counter(struct t3_device *tdev, enum t3_counter_id id);

#endif /* T3_REGS_H */
