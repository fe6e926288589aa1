/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warnings that others can cause: a few of them in a time, and then their number. */
#ifndef T3_WARN_LIMIT_H
#define T3_WARN_LIMIT_H

/* Of one cause. All zero but `what` at first. The caller serialises all calls. */
typedef struct T3WarnLimit {
	const char *what; /* in the plural: "refused connections" */
	int64_t begin;	  /* of the time; in g_get_monotonic_time(), 0: none has begun */
	unsigned int lines;
	uint64_t left_out;
} T3WarnLimit;

/* Writes a warning, or leaves it out. */
void t3_warn_limited(T3WarnLimit *limit, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Writes how many were left out, when the time is over. Call it now and then. */
void t3_warn_limit_tick(T3WarnLimit *limit);

#endif /* T3_WARN_LIMIT_H */
