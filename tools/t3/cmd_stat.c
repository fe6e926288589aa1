// SPDX-License-Identifier: MIT
/* t3 stat -- CMD: the devices' counters of the time while a command ran. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common/child.h"
#include "common/sample.h"

#define COLUMNS_MAX 8

struct stat_args {
	struct cmd_common common;
	const char *output;
	char **command;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'o':
		args->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		args->command = cmdline_command(state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a command must follow, as in: t3 stat -- CMD ARG...");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The changes, by device and in total. */
struct stat_result {
	const struct tool_devices *devices;
	struct change total;
	struct change *each;
	int status;
};

static void add_up(struct stat_result *result, const struct sample *before,
		   const struct sample *after)
{
	uint32_t counter;
	size_t i;

	result->total.ns = after->ns - before->ns;
	for (i = 0; i < result->devices->count; i++) {
		sample_change(before, after, i, &result->each[i]);
		result->total.reset |= result->each[i].reset;
		if (result->each[i].count > result->total.count)
			result->total.count = result->each[i].count;
		for (counter = 0; counter < result->each[i].count; counter++)
			result->total.value[counter] += result->each[i].value[counter];
	}
}

static json_t *result_to_json(const struct stat_result *result)
{
	json_t *list = json_array(), *object;
	size_t i;

	for (i = 0; i < result->devices->count; i++) {
		object = device_to_json(&result->devices->list[i]);
		json_object_set_new(object, "reset", json_boolean(result->each[i].reset));
		json_object_set_new(object, "counters", change_to_json(&result->each[i]));
		json_array_append_new(list, object);
	}
	return json_pack("{s:i, s:I, s:f, s:f, s:o, s:o}", "status", result->status, "wall_ns",
			 (json_int_t)result->total.ns, "stores_per_second",
			 change_rate(&result->total, T3_DEVICE_STORES), "tracker_hit_percent",
			 change_hit_percent(&result->total), "total",
			 change_to_json(&result->total), "devices", list);
}

static void print_result(FILE *out, const struct stat_result *result, char **command)
{
	const struct change *total = &result->total;
	size_t devices = result->devices->count, i;
	size_t columns = devices <= COLUMNS_MAX ? devices : 0;
	uint32_t counter;

	fprintf(out, "\n%s: status %d\n\n  %-18s%14s", command[0], result->status, "counter",
		"all");
	for (i = 0; i < columns; i++)
		fprintf(out, "     device %zu", result->devices->list[i].index);
	fputs(columns < devices ? "   (each device: -d or --json)\n" : "\n", out);
	for (counter = 0; counter < total->count; counter++) {
		if (!total->value[counter])
			continue;
		fprintf(out, "  %-18s", t3_counter_name(counter));
		if (!counter_is_level(counter))
			fprintf(out, "%14llu", (unsigned long long)total->value[counter]);
		else
			fprintf(out, "%14s", "");
		for (i = 0; i < columns; i++)
			fprintf(out, "%13llu", (unsigned long long)result->each[i].value[counter]);
		fputc('\n', out);
	}
	fprintf(out,
		"\n  %.6f s, %.0f stores/s, %.0f tiles/s, %.2f MB/s on links, %.1f %% tracker "
		"hits\n",
		(double)total->ns / 1e9, change_rate(total, T3_DEVICE_STORES),
		change_rate(total, T3_DEVICE_TRIGGERS),
		change_rate(total, T3_DEVICE_LINK_TX_BYTES) / 1e6, change_hit_percent(total));
	if (total->reset)
		fputs("  a device was reset meanwhile: its figures are since the reset\n", out);
}

/* Run the command. Returns its status, unless the result could not be written. */
static int run(const struct tool_devices *devices, const struct stat_args *args, FILE *out)
{
	struct stat_result result = { .devices = devices };
	struct sample before = { 0 }, after = { 0 };
	bool good = true;
	json_t *root;
	pid_t pid;
	int ret;

	result.each = calloc(devices->count, sizeof(*result.each));
	if (!result.each)
		return complain(EXIT_OWN_FAILURE, "no memory for counters");
	ret = sample_take(devices, &before) ? EXIT_OWN_FAILURE : child_start(args->command, &pid);
	if (!ret) {
		result.status = child_wait(pid);
		ret = sample_take(devices, &after) ? EXIT_OWN_FAILURE : 0;
	}
	if (!ret) {
		add_up(&result, &before, &after);
		ret = result.status;
		if (args->common.json) {
			root = result_to_json(&result);
			good = root && !json_dumpf(root, out, JSON_INDENT(2));
			json_decref(root);
			fputc('\n', out);
		} else {
			print_result(out, &result, args->command);
		}
		if (!good || fflush(out) || ferror(out))
			ret = complain(EXIT_OWN_FAILURE, "the result could not be written");
	}
	sample_free(&before);
	sample_free(&after);
	free(result.each);
	return ret;
}

int cmd_stat(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "output", 'o', "FILE", 0, "write the result there, not to stderr", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_device, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- CMD [ARG...]",
		.doc = "Run a command, and show on stderr what the devices counted during it. "
		       "The counters include the work of other processes.\vThe exit status "
		       "is the command's, or 128 + N when signal N ended it. It is 125 when t3 "
		       "itself failed, 126 when the command could not be run, and 127 when it "
		       "does not exist. SIGTERM and SIGHUP are passed on to the command, and "
		       "what was counted until its end is still shown.",
		.children = children,
	};
	struct stat_args args = { 0 };
	struct tool_devices devices;
	FILE *out = stderr;
	int ret;

	cmdline_parse(&argp, argc, argv, ARGP_IN_ORDER, &args);
	if (devices_open(&args.common, &devices))
		return EXIT_OWN_FAILURE;
	if (args.output)
		out = fopen(args.output, "we");
	ret = out ? run(&devices, &args, out) : EXIT_OWN_FAILURE;
	if (!out || (args.output && fclose(out)))
		ret = complain(EXIT_OWN_FAILURE, "%s could not be written: %s", args.output,
			       strerror(errno));
	devices_close(&devices);
	return ret;
}
