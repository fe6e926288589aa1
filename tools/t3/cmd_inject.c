// SPDX-License-Identifier: MIT
/* t3 inject: faults, where the devices allow them to their guest. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "driver/debugfs.h"

#define TEXT_MAX 1024

struct inject_args {
	struct cmd_common common;
	bool list;
	char text[TEXT_MAX]; /* arguments, with blanks between */
};

static void add_word(struct inject_args *args, const char *word, struct argp_state *state)
{
	size_t used = strlen(args->text);

	if (used + strlen(word) + 2 > sizeof(args->text))
		argp_error(state, "the injections must be below %d characters", TEXT_MAX - 1);
	snprintf(args->text + used, sizeof(args->text) - used, "%s%s", used ? " " : "", word);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct inject_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'l':
		args->list = true;
		return 0;
	case ARGP_KEY_ARG:
		add_word(args, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (args->list == !!*args->text)
			argp_error(state, "either --list, or an injection as in: t3 inject drop "
					  "rank=0 peer=1");
		if (args->common.json && !args->list)
			argp_error(state, "--json is for --list: an injection says nothing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_list(const struct tool_device *device, const json_t *records)
{
	const char *needs, *takes;
	json_t *record;
	size_t i;

	json_array_foreach(records, i, record)
	{
		if (!record_is(record, "kind")) {
			printf("device %zu, rank %u: faults are %sallowed\n", device->index,
			       device->info.rank, record_number(record, "enabled") ? "" : "not ");
			continue;
		}
		needs = json_string_value(json_object_get(record, "needs"));
		takes = json_string_value(json_object_get(record, "takes"));
		printf("  %-14s %s%s%s%s\n", record_text(record, "kind"), needs ? "needs " : "",
		       needs ? needs : "", takes ? " takes " : "", takes ? takes : "");
	}
}

static int list(const struct tool_devices *devices, const struct inject_args *args)
{
	json_t *array = json_array(), *records, *object;
	int ret = EXIT_OK;
	size_t i;

	for (i = 0; i < devices->count && !ret; i++) {
		ret = debugfs_read(&devices->list[i], "inject", &records);
		if (ret)
			break;
		if (!args->common.json)
			print_list(&devices->list[i], records);
		object = device_to_json(&devices->list[i]);
		json_object_set_new(object, "inject", records);
		json_array_append_new(array, object);
	}
	if (!ret && args->common.json)
		return print_json(array);
	json_decref(array);
	return ret;
}

/* -d, or the one with the text's rank; there may be one device at all. */
static const struct tool_device *choose(const struct tool_devices *devices, const char *text)
{
	const struct tool_device *found = NULL;
	bool named = false;
	uint64_t rank = 0;
	const char *at;
	char *end;
	size_t i;

	/* Look for rank=NUMBER in the text. The device reads the rest. */
	for (at = strstr(text, "rank="); at && !named; at = strstr(at + 1, "rank=")) {
		if (at == text || !strchr(" \t\n", at[-1]))
			continue;
		rank = strtoull(at + 5, &end, strncmp(at + 5, "0x", 2) ? 10 : 16);
		named = end != at + 5 && strchr(" \t\n", *end);
		if (!named)
			break;
	}

	for (i = 0; i < devices->count; i++) {
		if (named && devices->list[i].info.rank != rank)
			continue;
		if (found)
			return NULL;
		found = &devices->list[i];
	}
	return found;
}

/* Print the reason of a refusal, in the device's words if it gave any. */
static int refuse(const struct tool_device *device, const char *why, int error)
{
	if (error == -EOPNOTSUPP)
		return complain(EXIT_FAIL,
				"device %zu does not allow faults to its guest: it needs the "
				"property guest-inject=on",
				device->index);
	if (error == -E2BIG)
		return complain(EXIT_USAGE, "an injection is too long for device %zu",
				device->index);
	if (!*why)
		return debugfs_refuse(device, "inject", error);
	return complain(error == -EINVAL ? EXIT_USAGE : EXIT_FAIL, "device %zu refused: %s",
			device->index, why);
}

/* One after the other, as each may be another rank's; the first that is wrong ends it. */
static int inject_all(const struct tool_devices *devices, struct inject_args *args)
{
	const struct tool_device *device;
	char *text, *rest = args->text;
	char why[512];
	int ret;

	while ((text = strsep(&rest, ";")) != NULL) {
		if (!text[strspn(text, " \t\n")])
			continue;
		device = choose(devices, text);
		if (!device)
			return complain(EXIT_USAGE,
					"'%s' must say which device: -d INDEX, or the rank= of one",
					text);
		ret = debugfs_command(device, "inject", text, why, sizeof(why));
		if (ret)
			return refuse(device, why, ret);
	}
	return EXIT_OK;
}

int cmd_inject(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "list", 'l', NULL, 0, "say which kinds there are, and whether they are allowed",
		  0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_device, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "KIND KEY=NUMBER... [';' ...]\n--list",
		.doc = "Inject faults into links, memory, interrupts and queues. For root, where "
		       "the "
		       "device has the property guest-inject=on.\vAs in SPEC.md 12.2: t3 inject "
		       "drop "
		       "rank=0 peer=1 nth=3; t3 inject -d 0 hang-queue queue=2. Injections "
		       "with blanks and semicolons may be one argument.",
		.children = children,
	};
	struct inject_args args = { .text = "" };
	struct tool_devices devices;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	ret = devices_open(&args.common, &devices);
	if (ret)
		return ret;
	ret = args.list ? list(&devices, &args) : inject_all(&devices, &args);
	devices_close(&devices);
	return ret;
}
