/* SPDX-License-Identifier: MIT */
/* The subcommands of t3, and what they share. */
#ifndef T3_TOOL_H
#define T3_TOOL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "gemm/gemm.h"
#include "t3.h"

enum exit_code { EXIT_OK = 0, EXIT_FAIL = 1, EXIT_USAGE = 2 };

/* Each gets its own argv, argv[0] its name, and returns an exit code. */
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_launch(int argc, char **argv);
int cmd_gemm_rs(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_reset(int argc, char **argv);
int cmd_selftest(int argc, char **argv);
int cmd_trace(int argc, char **argv);

/* t3 sim without --replay. */
int sim_timed(int argc, char **argv);

/* Called before a message, when a screen has the terminal. */
extern void (*tool_before_message)(void);

/* Print "t3: " and one sentence to stderr; return the code. */
__attribute__((format(printf, 2, 3))) int complain(int code, const char *format, ...);

/* Plain decimal digits up to max, nothing else. */
bool parse_number(const char *text, uint64_t max, uint64_t *value);

/* Print a document and free it; EXIT_FAIL when stdout does not take it. */
int print_json(json_t *root);

void gemm_print_table(const struct gemm_config *cfg, const struct gemm_result *result);
json_t *gemm_to_json(const struct gemm_config *cfg, const struct gemm_result *result);
/* By enum gemm_write, with a NULL behind them. */
extern const char *const gemm_write_names[GEMM_WRITES + 1];

#endif /* T3_TOOL_H */
