/* SPDX-License-Identifier: MIT */
/* Messages and exit codes of commands. */
#ifndef T3_MESSAGE_H
#define T3_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum exit_code { EXIT_OK = 0, EXIT_FAIL = 1, EXIT_USAGE = 2 };

/* Called before a message while a screen uses the terminal. */
extern void (*tool_before_message)(void);

/* Print "t3: " and one sentence to stderr. Returns the code. */
__attribute__((format(printf, 2, 3))) int complain(int code, const char *format, ...);

/*
 * The C library's text for -error, and the field that the driver has refused if it is this thread's
 * last error. Valid until the thread's next call.
 */
const char *error_words(int error);

/* Read plain decimal digits up to max, and nothing else. */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

/* A file's name may be any bytes. In one that is no UTF-8, those above ASCII are "?". */
json_t *json_from_name(const char *name);

/* Print a document and free it. EXIT_FAIL when stdout fails. */
int print_json(json_t *root);

#endif /* T3_MESSAGE_H */
