/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Function reset: see t3_reset.c.
 */
#ifndef T3_RESET_H
#define T3_RESET_H

struct t3_device;
struct t3_job;

int t3_reset_request(struct t3_device *tdev, const char *reason, bool drop);
void t3_reset_function(struct t3_device *tdev, const char *reason, const struct t3_job *late);
void t3_reset_give_up(struct t3_device *tdev);
void t3_reset_stop(struct t3_device *tdev);

#endif /* T3_RESET_H */
