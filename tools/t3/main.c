// SPDX-License-Identifier: MIT
/* t3: one command, with its subcommands in a table. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/message.h"

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "list", cmd_list, "list the T3 devices of this machine" },
	{ "info", cmd_info, "show the facts and counters of a device" },
	{ "launch", cmd_launch, "run a program's ranks, one process each" },
	{ "gemm-rs", cmd_gemm_rs, "run and verify a GEMM with ring reduce-scatter" },
	{ "perf", cmd_perf, "measure a collective among the ranks of a launcher" },
	{ "bench", cmd_bench, "measure stores, doorbells, updates, waits and jobs" },
	{ "sim", cmd_sim, "run the devices' model in virtual time, or replay a record" },
	{ "top", cmd_top, "watch devices, links, trackers and processes" },
	{ "status", cmd_status, "show what spaces and queues wait for" },
	{ "stat", cmd_stat, "run a command and show what the devices counted" },
	{ "trace", cmd_trace, "run a command and record a timeline for ui.perfetto.dev" },
	{ "dump", cmd_dump, "decode a device coredump" },
	{ "inject", cmd_inject, "inject faults, where the devices allow them" },
	{ "reset", cmd_reset, "reset devices, and show what is lost" },
	{ "selftest", cmd_selftest, "check the health of devices" },
	{ "mpi", cmd_mpi, "say whether Open MPI has T3's component, or why not" },
	{ "version", cmd_version, "show this program's version, as --version does" },
	{ "help", cmd_help, "show this text" },
};

#define COMMANDS (sizeof(commands) / sizeof(*commands))

static void print_usage(FILE *out)
{
	size_t i;

	fputs("usage: t3 COMMAND [OPTION...]\n\n", out);
	for (i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].summary);
	fputs("\n`t3 COMMAND --help` shows a command's options. Exit status: 0 done or PASS,\n"
	      "1 failed or FAIL, 2 wrong usage; see t3(1).\n",
	      out);
}

static int cmd_help(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	print_usage(stdout);
	return EXIT_OK;
}

/* The version of libt3, with which this program is installed. */
static int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("t3 " T3_VERSION);
	return EXIT_OK;
}

/* Output that was not written is no success. This check also runs where argp ends the program. */
static void check_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		_exit(complain(EXIT_FAIL, "the output could not be written"));
}

/* A write beyond ulimit -f fails with EFBIG. Programs that t3 starts have the default again. */
static void go_on(int number)
{
	(void)number;
}

static int unknown(const char *name)
{
	char names[256] = "";
	size_t i, used = 0;

	for (i = 0; i < COMMANDS && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 commands[i].name);
	return complain(EXIT_USAGE, "'%s' is no command; there are: %s", name, names);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	size_t i;

	atexit(check_output);
	signal(SIGXFSZ, go_on);
	signal(SIGCHLD, SIG_DFL); /* a parent may have ignored it, which hides how a child ended */
	if (!name) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "--version") || !strcmp(name, "-V"))
		name = "version";
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		name = "help";
	for (i = 0; i < COMMANDS; i++) {
		if (!strcmp(name, commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	return unknown(name);
}
