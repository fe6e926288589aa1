/* SPDX-License-Identifier: MIT */
/* The driver's word on a call that has failed: which field it refused. */
#ifndef T3_GUEST_REFUSAL_H
#define T3_GUEST_REFUSAL_H

#include "guest.h"

/* This thread's last refusal on an open file. Returns 0 or a negative errno. */
int refusal_get(int fd, struct drm_t3_refusal *refusal);

/*
 * Check a call of this thread that has just returned -error: that the driver names this field.
 * Several names may be right: "pitch|row_bytes". A mismatch is printed. Returns 0 or 1. A wait that
 * has ended with ETIMEDOUT, ETIME or EINTR is no refusal.
 */
int refusal_check(int fd, unsigned long request, const char *what, int error, const char *type,
		  const char *field);

/* The same of a command that QUEUE_SUBMIT refused, and its index. */
void refusal_check_command(int fd, const struct deviation *row, uint32_t index);

/* Print how many of the refusals that were checked had the right name. */
void refusal_report(void);

#endif /* T3_GUEST_REFUSAL_H */
