/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The watchdog: see t3_watch.c and t3_poll.c.
 */
#ifndef T3_WATCH_H
#define T3_WATCH_H

#include <linux/types.h>

struct t3_device;

/* t3_watch.c */
void t3_watch_init(struct t3_device *tdev);

/* t3_poll.c */
void t3_watch_join(struct t3_device *tdev);
void t3_watch_start(struct t3_device *tdev);
void t3_watch_now(struct t3_device *tdev);
bool t3_watch_due(struct t3_device *tdev);
void t3_watch_stop(struct t3_device *tdev);

#endif /* T3_WATCH_H */
