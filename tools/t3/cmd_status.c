// SPDX-License-Identifier: MIT
/* t3 status: shows what each space and queue waits for, from the driver's files in debugfs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "driver/debugfs.h"
#include "driver/status.h"
#include "status/nodes.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct status_args *args = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->common;
		return 0;
	case 'a':
		args->all = true;
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

static int read_device(const struct tool_device *device, struct status_device *status)
{
	int ret;

	status->device = device;
	status->node = NO_NODE;
	ret = debugfs_read(device, "spaces", &status->spaces);
	if (!ret)
		ret = debugfs_read(device, "tiles", &status->tiles);
	if (!ret)
		ret = debugfs_read(device, "queues", &status->queues);
	if (!ret)
		status->links = debugfs_try(device, "links"); /* NULL: an older driver */
	return ret;
}

static void free_status(struct status *status)
{
	size_t i;

	for (i = 0; i < status->count; i++) {
		json_decref(status->list[i].spaces);
		json_decref(status->list[i].tiles);
		json_decref(status->list[i].queues);
		json_decref(status->list[i].links);
	}
	free(status->list);
}

static int show(const struct status *status, const struct status_args *args)
{
	json_t *sentences = status_sentences(status, args->all), *list, *object;
	char where[32];
	int ret = EXIT_OK;
	size_t i;

	snprintf(where, sizeof(where), "%zu device%s", status->count,
		 status->count == 1 ? "" : "s");
	if (!args->common.json) {
		status_print(sentences, where);
		goto out;
	}
	list = json_array();
	for (i = 0; i < status->count; i++) {
		object = device_to_json(status->list[i].device);
		json_object_set(object, "spaces", status->list[i].spaces);
		json_object_set(object, "tiles", status->list[i].tiles);
		json_object_set(object, "queues", status->list[i].queues);
		if (status->list[i].links)
			json_object_set(object, "links", status->list[i].links);
		json_array_append_new(list, object);
	}
	ret = print_json(json_pack("{s:o, s:O}", "devices", list, "in_flight", sentences));

out:
	json_decref(sentences);
	return ret;
}

static int status_of(const struct tool_devices *devices, const struct status_args *args)
{
	struct status status = { .count = devices->count };
	int ret = EXIT_OK;
	size_t i;

	status.list = calloc(devices->count, sizeof(*status.list));
	if (!status.list)
		return complain(EXIT_FAIL, "no memory for the status");
	for (i = 0; i < devices->count && !ret; i++)
		ret = read_device(&devices->list[i], &status.list[i]);
	if (args->nodes)
		ret = status_of_nodes(ret ? NULL : &status, args);
	else if (!ret)
		ret = show(&status, args);
	free_status(&status);
	return ret;
}

int cmd_status(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "all", 'a', NULL, 0, "also show spaces, queues and links that wait for nothing",
		  0 },
		{ "nodes", 'N', NULL, 0, "of all nodes of a cluster, printed by node 0", 0 },
		{ "wait", 'w', "SECONDS", 0, "with --nodes: wait so long for the others (5)", 0 },
		{ 0 },
	};
	static const struct argp_child children[] = { { &cmdline_device, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Show what each space and queue in flight waits for: which tile, and "
		       "which rank; and links that are down or send again. It reads debugfs, so it "
		       "needs root.\vWith --nodes the same "
		       "command runs on each node of a cluster (t3-vm cluster). Node 0 prints the "
		       "report, and names the nodes that did not answer in time.",
		.children = children,
	};
	struct status_args args = { .wait_ns = 5000000000 };
	struct tool_devices devices;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &args);
	ret = devices_open(&args.common, &devices);
	if (ret)
		return args.nodes ? status_of_nodes(NULL, &args) : ret;
	ret = status_of(&devices, &args);
	devices_close(&devices);
	return ret;
}
