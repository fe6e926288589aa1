/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether the device answers: see t3_gate.c and t3_outage.c.
 */
#ifndef T3_GATE_H
#define T3_GATE_H

#include "t3_device.h"

/* t3_gate.c */
int t3_gate_init(struct t3_device *tdev);
int t3_hw_lock(struct t3_device *tdev);
int t3_hw_lock_unless_reset(struct t3_device *tdev);
void t3_hw_unlock(struct t3_device *tdev);
int t3_access_enter(struct t3_device *tdev);
int t3_access_try(struct t3_device *tdev);
bool t3_access_again(struct t3_device *tdev, int *ret);
void t3_access_exit(struct t3_device *tdev);
void t3_gate_unmap(struct t3_device *tdev);
void t3_gate_set_unplugged(struct t3_device *tdev);
void t3_gate_prepare_remove(struct t3_device *tdev);

/* t3_outage.c */
void t3_gate_close(struct t3_device *tdev, bool reset);
void t3_gate_open(struct t3_device *tdev);
void t3_gate_fail(struct t3_device *tdev);

#endif /* T3_GATE_H */
