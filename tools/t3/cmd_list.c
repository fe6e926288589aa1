// SPDX-License-Identifier: MIT
/* t3 list: every T3 function, with or without a driver. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/cmdline.h"
#include "common/message.h"
#include "t3.h"

/* One device. error is not 0 when it could not be read. */
struct row {
	const struct t3_device_entry *entry;
	struct drm_t3_device_info info;
	int error;
};

static void ask(struct row *row)
{
	struct t3_device *dev;

	memset(&row->info, 0, sizeof(row->info));
	row->error = *row->entry->node ? t3_device_open(row->entry->node, &dev) : -ENODEV;
	if (row->error)
		return;
	row->error = t3_device_info(dev, &row->info);
	t3_device_close(dev);
}

static const char *explain(const struct row *row, char *words, size_t size)
{
	const char *node = row->entry->node;

	if (*node)
		t3_device_explain(node, row->error, words, size);
	else
		snprintf(words, size, "no driver");
	return words;
}

static void print_row(size_t index, const struct row *row)
{
	const struct drm_t3_device_info *info = &row->info;
	char words[512];

	printf("%5zu  %-12s  ", index, row->entry->bdf);
	if (!*row->entry->node)
		printf("no driver\n");
	else if (row->error)
		printf("%-18s  %s\n", row->entry->node, explain(row, words, sizeof(words)));
	else
		printf("%-18s  %4u of %-2u  %-8s  %10llu  %12llu  0x%llx\n", row->entry->node,
		       info->rank, info->ranks, t3_topology_name(info->topology),
		       (unsigned long long)(info->memory_size >> 20),
		       (unsigned long long)(info->aperture_size >> 20),
		       (unsigned long long)info->fabric_id);
}

static json_t *row_to_json(size_t index, const struct row *row)
{
	char words[512];
	json_t *object;

	object = json_pack("{s:I, s:s, s:s}", "index", (json_int_t)index, "pci", row->entry->bdf,
			   "node", row->entry->node);
	if (row->error)
		json_object_set_new(object, "error",
				    json_string(explain(row, words, sizeof(words))));
	else
		json_object_update_new(
			object,
			json_pack("{s:o, s:I, s:I, s:s, s:I, s:I}", "fabric_id",
				  json_sprintf("0x%llx", (unsigned long long)row->info.fabric_id),
				  "rank", (json_int_t)row->info.rank, "ranks",
				  (json_int_t)row->info.ranks, "topology",
				  t3_topology_name(row->info.topology), "memory_size",
				  (json_int_t)row->info.memory_size, "aperture_size",
				  (json_int_t)row->info.aperture_size));
	return object;
}

static int show(const struct t3_device_list *list, bool json)
{
	json_t *array = json ? json_array() : NULL;
	struct row row;
	size_t i;

	if (!json)
		printf("index  %-12s  %-18s  %-10s  %-8s  memory/MiB  aperture/MiB  fabric\n",
		       "pci", "node", "rank", "topology");
	for (i = 0; i < t3_device_list_count(list); i++) {
		row.entry = t3_device_list_get(list, i);
		ask(&row);
		if (json)
			json_array_append_new(array, row_to_json(i, &row));
		else
			print_row(i, &row);
	}
	return json ? print_json(array) : EXIT_OK;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

int cmd_list(int argc, char **argv)
{
	static const struct argp_child children[] = { { &cmdline_json, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = {
		.children = children,
		.parser = parse,
		.doc = "List every T3 device of this machine, with or without a driver, in the "
		       "order of their PCI addresses. Other commands take the index with -d.",
	};
	struct cmd_common common = { 0 };
	struct t3_device_list *list;
	int ret;

	cmdline_parse(&argp, argc, argv, 0, &common);
	ret = t3_device_list(&list);
	if (ret)
		return complain(EXIT_FAIL, "the PCI devices could not be listed: %s",
				strerror(-ret));
	ret = show(list, common.json);
	t3_device_list_free(list);
	return ret;
}
