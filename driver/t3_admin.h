/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Admin commands: see t3_mailbox.c and t3_admin.c.
 */
#ifndef T3_ADMIN_H
#define T3_ADMIN_H

#include <linux/types.h>

#include "t3_hw.h"

struct t3_device;

/* t3_mailbox.c */
int t3_admin_locked(struct t3_device *tdev, enum t3_admin_opcode opcode, void *args,
		    size_t size, bool results);

/* t3_admin.c */
int t3_admin(struct t3_device *tdev, enum t3_admin_opcode opcode, void *args, size_t size);
int t3_admin_query(struct t3_device *tdev, enum t3_admin_opcode opcode, void *args, size_t size);

#endif /* T3_ADMIN_H */
