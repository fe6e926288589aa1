// SPDX-License-Identifier: MIT
/*
 * t3 trace: a timeline of the driver's events, and of the devices' events from QEMU's log. And what a
 * functional run would take on T3: a workload of its record.
 */
#include <stdio.h>

#include "commands.h"
#include "trace/trace.h"

static void add_given(struct trace_args *args, const char *text, struct argp_state *state)
{
	if (args->given_count == TRACE_GIVEN)
		argp_error(state, "--k may be given %u times", TRACE_GIVEN);
	if (!trace_given_parse(text, &args->given[args->given_count++]))
		argp_error(state, "--k takes K, NUMBER=K or NUMBER=MxNxK, not '%s'", text);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct trace_args *args = state->input;

	switch (key) {
	case 'o':
		args->output = arg;
		return 0;
	case 'b':
		args->buffer_kib = cmdline_number(state, "--buffer", arg, 4, 1 << 20);
		return 0;
	case 's':
		args->sample_ns = cmdline_seconds(state, "--sample", arg, 3600);
		return 0;
	case 'N':
		args->nodes = true;
		return 0;
	case 'w':
		args->wait_ns = cmdline_seconds(state, "--wait", arg, 86400);
		return 0;
	case 'm':
		args->guest = arg;
		return 0;
	case 'q':
		args->qemu_log = arg;
		return 0;
	case 'r':
		args->record = arg;
		return 0;
	case 'R':
		args->rank = cmdline_number(state, "--rank", arg, 0, T3_MAX_RANKS - 1);
		args->rank_given = true;
		return 0;
	case 'k':
		add_given(args, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		args->command = cmdline_command(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check(const struct trace_args *args, struct argp_state *state)
{
	if (!args->output)
		argp_error(state, "-o FILE must say where the timeline is written");
	if (!args->guest != !args->qemu_log)
		argp_error(state, "--merge and --qemu-log go together");
	if (args->guest && args->command)
		argp_error(state, "--merge runs no command, such as '%s'", args->command[0]);
	if (args->guest && args->nodes)
		argp_error(state, "--merge takes no --nodes: it adds one VM's devices");
	if (args->record && (args->guest || args->command || args->nodes))
		argp_error(state, "--record goes with neither a command, --merge nor --nodes");
	if (!args->record && (args->rank_given || args->given_count))
		argp_error(state, "--rank and --k go with --record");
	if (!args->record && !args->guest && !args->command)
		argp_error(state, "a command must follow, as in: t3 trace -o FILE -- CMD ARG...");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trace_args *args = state->input;

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = &args->common;
	else if (key == ARGP_KEY_END)
		check(args, state);
	else
		return parse_option(key, arg, state);
	return 0;
}

int cmd_trace(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "output", 'o', "FILE", 0,
		  "the timeline, in Chrome's trace event format; with --record the workload", 0 },
		{ "buffer", 'b', "KIB", 0, "buffer for events of each CPU, in KiB (8192)", 0 },
		{ "sample", 's', "SECONDS", 0, "time between samples of the counters (0.01)", 0 },
		{ "nodes", 'N', NULL, 0, "one timeline of all nodes of a cluster, on node 0", 0 },
		{ "wait", 'w', "SECONDS", 0, "with --nodes: wait so long for the others (30)", 0 },
		{ "merge", 'm', "GUEST", 0, "add to this timeline, and run no command", 2 },
		{ "qemu-log", 'q', "LOG", 0, "QEMU's log of the devices' events", 2 },
		{ "record", 'r', "RECORD", 0,
		  "a fabric's record becomes a workload of t3 sim, and no command runs", 3 },
		{ "rank", 'R', "R", 0, "whose part of it (0)", 3 },
		{ "k", 'k', "[NUMBER=]K", 0,
		  "K of the product that made an output, by its number in the list, or of all "
		  "that the program stored; NUMBER=MxNxK for an array",
		  3 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_json, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-o FILE -- CMD [ARG...]\n-o FILE --merge GUEST --qemu-log LOG\n"
			    "-o FILE --record RECORD",
		.doc = "Run a command, and record the driver's events during it as a timeline "
		       "for ui.perfetto.dev: spaces with their states, waits, jobs, faults and "
		       "counters. It needs root. SIGTERM and SIGHUP are passed on to the "
		       "command, and the timeline until its end is still written. With --nodes the "
		       "same command runs on each node of a cluster (t3-vm cluster): node 0 writes "
		       "the timeline of all, by its own clock, and says how far the others may be "
		       "off.\vThe second form runs on the host of a VM. It adds the devices' own "
		       "events to a timeline, such as triggers of tiles, blocks, links and "
		       "interrupts. QEMU logs them with -trace 't3_*' -msg timestamp=on. The third "
		       "form writes what a rank did in a run that the fabric has recorded "
		       "(record=RECORD) as a workload: products and collectives, so that t3 sim "
		       "says what they take on T3. The exit status is the command's, or 128 + N "
		       "when signal N ended it. It is 125 when t3 itself failed, 126 when the "
		       "command could not be run, and 127 when it does not exist.",
		.children = children,
	};
	struct trace_args args = { .buffer_kib = 8192,
				   .sample_ns = 10000000,
				   .wait_ns = 30000000000 };

	cmdline_parse(&argp, argc, argv, ARGP_IN_ORDER, &args);
	if (args.record)
		return trace_workload(&args);
	return args.guest ? trace_merge(&args) : trace_run(&args);
}
