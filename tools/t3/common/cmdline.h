/* SPDX-License-Identifier: MIT */
/* The command line of subcommands, by argp; and options that many of them have. */
#ifndef T3_CMDLINE_H
#define T3_CMDLINE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* Which devices, and in which form the answer is wanted. */
struct cmd_common {
	bool json;
	bool one; /* -d was given */
	uint64_t device;
};

/* As argp children: their input is a struct cmd_common. */
extern const struct argp cmdline_json;	 /* --json */
extern const struct argp cmdline_device; /* --json, -d INDEX */

/*
 * Parse by argp. --help and --usage end the program with EXIT_OK, wrong usage with
 * EXIT_USAGE and what was wrong on stderr.
 */
void cmdline_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

/* Options take numbers from min to max; else wrong usage of that option. */
uint64_t cmdline_number(struct argp_state *state, const char *option, const char *text,
			uint64_t min, uint64_t max);
/* Seconds with up to 9 decimals, above 0 up to max, as nanoseconds. */
uint64_t cmdline_seconds(struct argp_state *state, const char *option, const char *text,
			 uint64_t max);

/* At ARGP_KEY_ARG, with ARGP_IN_ORDER: that argument and all behind it are a command. */
char **cmdline_command(struct argp_state *state);

#endif /* T3_CMDLINE_H */
