/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of spaces by hardware id: see t3_slot.c.
 */
#ifndef T3_SLOT_H
#define T3_SLOT_H

#include <linux/types.h>

struct t3_device;
struct t3_space;

int t3_slot_publish(struct t3_space *space);
void t3_slot_withdraw(struct t3_space *space);
void t3_slots_enable(struct t3_device *tdev);
bool t3_slots_idle(struct t3_device *tdev);
void t3_slots_mark_lost(struct t3_device *tdev);

#endif /* T3_SLOT_H */
