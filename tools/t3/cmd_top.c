// SPDX-License-Identifier: MIT
/* t3 top: the activity of devices, links and processes, sample by sample. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "top/top.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'i':
		args->interval_ns = cmdline_seconds(state, "--interval", arg, 3600);
		return 0;
	case 'n':
		args->count = cmdline_number(state, "--count", arg, 1, 1000000000);
		return 0;
	case 'o':
		args->count = 1;
		args->batch = true;
		return 0;
	case 'b':
		args->batch = true;
		return 0;
	case 'N':
		args->nodes = true;
		return 0;
	case 'w':
		args->wait_ns = cmdline_seconds(state, "--wait", arg, 3600);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int show(const struct tool_devices *devices, const struct top_args *args,
		const struct top_sample *before, const struct top_sample *after)
{
	json_t *object;
	int ret;

	if (!args->common.json) {
		top_print(stdout, devices, before, after, TOP_BY_DEVICE);
		putchar('\n');
		fflush(stdout);
		return ferror(stdout) ? complain(EXIT_FAIL, "the output could not be written")
				      : EXIT_OK;
	}
	object = top_to_json(devices, before, after);
	ret = object ? json_dumpf(object, stdout, JSON_COMPACT) : -1;
	json_decref(object);
	if (ret || putchar('\n') == EOF || fflush(stdout))
		return complain(EXIT_FAIL, "the JSON document could not be written");
	return EXIT_OK;
}

static int watch(const struct tool_devices *devices, const struct top_args *args)
{
	struct top_sample before, after;
	uint64_t shown;
	int ret;

	ret = top_take(devices, &before);
	for (shown = 0; !ret && (!args->count || shown < args->count); shown++) {
		sleep_ns(args->interval_ns);
		ret = top_take(devices, &after);
		if (ret)
			break;
		ret = show(devices, args, &before, &after);
		top_free(&before);
		before = after;
	}
	top_free(&before);
	return ret;
}

int cmd_top(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "interval", 'i', "SECONDS", 0, "time between samples (1)", 0 },
		{ "count", 'n', "N", 0, "end after N samples", 0 },
		{ "once", 'o', NULL, 0, "take one sample, as --batch --count 1 does", 0 },
		{ "batch", 'b', NULL, 0, "print lines instead of a screen, also on a terminal", 0 },
		{ "nodes", 'N', NULL, 0, "of all nodes of a cluster, printed by node 0", 0 },
		{ "wait", 'w', "SECONDS", 0, "with --nodes: wait so long for the others (5)", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_device, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Watch the devices: queues, stores, links, tracker, faults, and the "
		       "processes that use them. With --json each sample is a line. Root sees "
		       "all processes and their spaces, others see their own processes. On a "
		       "terminal, q ends it, and arrows and pages scroll. P, M and N sort "
		       "processes by busy queues, memory and pid. Space pauses.\vWith --nodes "
		       "the same command runs on each node of a cluster (t3-vm cluster). Each "
		       "sends a sample in each interval to node 0, which prints all of them as "
		       "lines, and says who sends none.",
		.children = children,
	};
	struct top_args args = { .interval_ns = 1000000000, .wait_ns = 5000000000 };
	struct tool_devices devices;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	ret = devices_open(&args.common, &devices);
	if (ret)
		return ret;
	if (args.nodes)
		ret = top_nodes(&devices, &args);
	else if (!args.batch && !args.common.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
		ret = top_screen(&devices, &args);
	else
		ret = watch(&devices, &args);
	devices_close(&devices);
	return ret;
}
