// SPDX-License-Identifier: MIT
/* t3 top --nodes: each node sends its samples to node 0, which prints those of all. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodes/gather.h"
#include "top/top.h"

struct all {
	const struct tool_devices *devices;
	const struct top_args *args;
	struct gather *gather;
	char *text[GATHER_NODES]; /* the newest sample: lines, or JSON. NULL: none has come */
	uint64_t came_ns[GATHER_NODES];
};

/* --------------------------------------------------------------------- samples */

static char *sample_to_text(const struct all *all, const struct top_sample *before,
			    const struct top_sample *after)
{
	json_t *object;
	size_t size;
	char *text = NULL;
	FILE *out;

	if (all->args->common.json) {
		object = top_to_json(all->devices, before, after);
		text = object ? json_dumps(object, JSON_COMPACT) : NULL;
		json_decref(object);
		return text;
	}
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	top_print(out, all->devices, before, after, TOP_BY_DEVICE);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/* The next sample, after the interval. On node 0, messages of the others are taken meanwhile. */
static int next_sample(struct all *all, struct top_sample *before, char **text)
{
	uint64_t until = now_ns() + all->args->interval_ns;
	struct top_sample after;
	int ret;

	if (all->gather->place.node)
		sleep_ns(all->args->interval_ns);
	else
		gather_serve(all->gather, until, NULL);
	ret = top_take(all->devices, &after);
	if (ret)
		return ret;
	*text = sample_to_text(all, before, &after);
	top_free(before);
	*before = after;
	return *text ? EXIT_OK : complain(EXIT_FAIL, "no memory for the sample");
}

/* ---------------------------------------------------------------------- node 0 */

/* Another node's text is shown on this one's terminal, so it may not control that. */
static bool is_plain(const char *data, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (((unsigned char)data[i] < ' ' && data[i] != '\n') || data[i] == 0x7f)
			return false;
	return true;
}

static bool take(void *opaque, uint32_t node, int fd, const char *data, size_t size)
{
	struct all *all = opaque;
	char *text;

	(void)fd;
	if (!is_plain(data, size))
		return false;
	text = strndup(data, size);
	if (!text)
		return false;
	free(all->text[node]);
	all->text[node] = text;
	all->came_ns[node] = now_ns();
	return true;
}

static bool all_have_come(void *opaque)
{
	const struct all *all = opaque;
	uint32_t node;

	for (node = 1; node < all->gather->place.nodes; node++)
		if (!all->text[node])
			return false;
	return true;
}

/* A node that sends no more is shown as that, not with its last figures. */
static bool is_late(const struct all *all, uint32_t node)
{
	uint64_t age = now_ns() - all->came_ns[node];

	return !all->text[node] || age > 2 * all->args->interval_ns + 1000000000;
}

static int print_json_line(const struct all *all)
{
	json_t *list = json_array(), *root, *sample;
	uint32_t node;
	int ret;

	for (node = 0; node < all->gather->place.nodes; node++) {
		sample = is_late(all, node) ? NULL : json_loads(all->text[node], 0, NULL);
		json_array_append_new(list, json_pack("{s:i, s:o}", "node", (int)node, "sample",
						      sample ? sample : json_null()));
	}
	root = json_pack("{s:o}", "nodes", list);
	ret = root ? json_dumpf(root, stdout, JSON_COMPACT) : -1;
	json_decref(root);
	return ret || putchar('\n') == EOF ? -1 : 0;
}

static void print_lines(const struct all *all)
{
	uint32_t node;

	for (node = 0; node < all->gather->place.nodes; node++)
		if (is_late(all, node))
			printf("node %u: no sample has come\n\n", node);
		else
			printf("node %u: %s\n", node, all->text[node]);
}

static int name_missing(const struct all *all)
{
	int ret = EXIT_OK;
	uint32_t node;

	for (node = 1; node < all->gather->place.nodes; node++)
		if (!all->text[node])
			ret = complain(EXIT_FAIL, "node %u has sent no sample", node);
	return ret;
}

static int show_all(struct all *all, struct top_sample *before)
{
	uint64_t shown;
	int ret = EXIT_OK;
	char *text;

	gather_serve(all->gather, now_ns() + all->args->wait_ns, all_have_come);
	for (shown = 0; !ret && (!all->args->count || shown < all->args->count); shown++) {
		ret = next_sample(all, before, &text);
		if (ret)
			break;
		take(all, 0, -1, text, strlen(text));
		free(text);
		if (all->args->common.json)
			ret = print_json_line(all);
		else
			print_lines(all);
		if (ret || fflush(stdout) || ferror(stdout))
			ret = complain(EXIT_FAIL, "the output could not be written");
	}
	return ret ? ret : name_missing(all);
}

/* ------------------------------------------------------------------ the others */

/* As long as node 0 takes them: it has the count. */
static int send_all(struct all *all, struct top_sample *before)
{
	struct gather *gather = all->gather;
	bool first = true, taken = true;
	uint64_t until;
	char *text;
	int ret = EXIT_OK;

	while (!ret && taken) {
		ret = next_sample(all, before, &text);
		if (ret)
			break;
		until = now_ns() + all->args->wait_ns;
		if (first)
			ret = gather_bring(gather, text, strlen(text), until);
		else
			taken = gather_post(gather, text, strlen(text), until) &&
				gather_acknowledged(gather, until);
		free(text);
		first = false;
	}
	return ret;
}

int top_nodes(const struct tool_devices *devices, const struct top_args *args)
{
	struct all all = { .devices = devices, .args = args, .gather = gather_new(GATHER_TOP) };
	struct top_sample before;
	uint32_t node;
	int ret = EXIT_OK;

	if (!all.gather)
		return EXIT_FAIL;
	all.gather->take = take;
	all.gather->opaque = &all;
	if (!all.gather->place.node)
		ret = gather_listen(all.gather, now_ns() + args->wait_ns);
	if (!ret)
		ret = top_take(devices, &before);
	if (!ret) {
		ret = all.gather->place.node ? send_all(&all, &before) : show_all(&all, &before);
		top_free(&before);
	}
	for (node = 0; node < GATHER_NODES; node++)
		free(all.text[node]);
	gather_free(all.gather);
	return ret;
}
