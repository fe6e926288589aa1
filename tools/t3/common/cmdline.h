/* SPDX-License-Identifier: MIT */
/* The command lines of subcommands, by argp, and options that many of them have. */
#ifndef T3_CMDLINE_H
#define T3_CMDLINE_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/* The devices to use, and the form of the output. */
struct cmd_common {
	bool json;
	bool one; /* -d was given */
	uint64_t device;
};

/* As argp children: their input is a struct cmd_common. */
extern const struct argp cmdline_json;	 /* --json */
extern const struct argp cmdline_device; /* --json, -d INDEX */

/*
 * Parse by argp. --help and --usage end the program with EXIT_OK. Wrong usage ends it with
 * EXIT_USAGE and a message on stderr.
 */
void cmdline_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);

/* A number from min to max. Else it is wrong usage of that option. */
uint64_t cmdline_number(struct argp_state *state, const char *option, const char *text,
			uint64_t min, uint64_t max);
/* Bytes from min to max, also as 64K, 1M or 1G. */
uint64_t cmdline_size(struct argp_state *state, const char *option, const char *text, uint64_t min,
		      uint64_t max);
/* Seconds with up to 9 decimals, above 0 up to max, as nanoseconds. */
uint64_t cmdline_seconds(struct argp_state *state, const char *option, const char *text,
			 uint64_t max);

/* Call it at ARGP_KEY_ARG, with ARGP_IN_ORDER. That argument and all after it are a command. */
char **cmdline_command(struct argp_state *state);

#endif /* T3_CMDLINE_H */
