/* SPDX-License-Identifier: MIT */
/* A text that grows as long as there is room, and how long it would be. Not installed. */
#ifndef T3_EXPLAIN_H
#define T3_EXPLAIN_H

#include <stddef.h>

struct t3_text {
	char *at;
	size_t size;
	size_t length; /* that it needs, without the terminator */
};

#pragma GCC visibility push(hidden)
void t3_text_say(struct t3_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the C library says of -error. */
void t3_text_errno(struct t3_text *text, int error);
#pragma GCC visibility pop

#endif /* T3_EXPLAIN_H */
