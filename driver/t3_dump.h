/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device coredump: see t3_dump.c.
 */
#ifndef T3_DUMP_H
#define T3_DUMP_H

struct t3_device;

int t3_dump_init(struct t3_device *tdev);
void t3_dump_take(struct t3_device *tdev, const char *reason);
void t3_dump_stop(struct t3_device *tdev);

#endif /* T3_DUMP_H */
