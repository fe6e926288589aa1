// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/status_json.h"
#include "nodes/gather.h"
#include "status/nodes.h"

/* The documents that have come, by node. */
struct report {
	uint32_t nodes;
	json_t *document[GATHER_NODES]; /* NULL: it has not answered */
	struct tool_device *devices[GATHER_NODES];
	const char *error[GATHER_NODES]; /* why the node has no status; NULL: it has one */
	struct status all;
};

static const char *error_of(const json_t *document)
{
	return json_string_value(json_object_get(document, "error"));
}

/*
 * The terminal of this node shows another node's text, which may not control it. A report of ours
 * has only printable ASCII.
 */
static bool is_printable(const json_t *value)
{
	const char *at = json_string_value(value), *key;
	json_t *part;
	size_t i;

	for (; at && *at; at++)
		if (*at < ' ' || *at > '~')
			return false;
	json_array_foreach(value, i, part) if (!is_printable(part)) return false;
	json_object_foreach((json_t *)value, key, part) if (!is_printable(part)) return false;
	return true;
}

/* A document that is none of ours is the node's error, too. */
static bool add(struct report *report, uint32_t node, json_t *document)
{
	if (!document || report->document[node]) {
		json_decref(document);
		return false;
	}
	report->document[node] = document;
	report->error[node] = error_of(document);
	if (!is_printable(document) ||
	    (!report->error[node] &&
	     !status_add_json(&report->all, document, node, &report->devices[node])))
		report->error[node] = "its report is malformed";
	return true;
}

static bool take(void *opaque, uint32_t node, int fd, const char *data, size_t size)
{
	(void)fd;
	return add(opaque, node, json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL));
}

static bool is_complete(void *opaque)
{
	const struct report *report = opaque;
	uint32_t node;

	for (node = 0; node < report->nodes; node++)
		if (!report->document[node])
			return false;
	return true;
}

static json_t *own_document(const struct status *own)
{
	return own ? status_to_json(own)
		   : json_pack("{s:s}", "error", "t3 status failed there: see its own message");
}

/* -------------------------------------------------------------------- node 0 */

static json_t *node_to_json(const struct report *report, uint32_t node)
{
	json_t *object = json_pack("{s:i, s:b}", "node", (int)node, "answered",
				   report->document[node] != NULL);

	if (report->error[node])
		json_object_set_new(object, "error", json_string(report->error[node]));
	else if (report->document[node])
		json_object_set(object, "devices",
				json_object_get(report->document[node], "devices"));
	return object;
}

/* Report on stderr what is missing. Returns an exit code. */
static int judge(const struct report *report, uint64_t wait_ns)
{
	int ret = EXIT_OK;
	uint32_t node;

	for (node = 0; node < report->nodes; node++) {
		if (!report->document[node])
			ret = complain(EXIT_FAIL, "node %u did not answer within %.3g s", node,
				       (double)wait_ns / 1e9);
		else if (report->error[node])
			ret = complain(EXIT_FAIL, "node %u has no status: %s", node,
				       report->error[node]);
	}
	return ret;
}

static int gather_all(struct gather *gather, const struct status *own,
		      const struct status_args *args)
{
	struct report report = { .nodes = gather->place.nodes };
	uint64_t until = now_ns() + args->wait_ns;
	json_t *sentences, *list;
	char where[64];
	uint32_t node;
	int ret = EXIT_OK;

	gather->take = take;
	gather->opaque = &report;
	add(&report, 0, own_document(own));
	ret = report.nodes > 1 ? gather_listen(gather, until) : EXIT_OK;
	if (!ret && report.nodes > 1)
		gather_serve(gather, until, is_complete);
	if (ret)
		goto out;
	sentences = status_sentences(&report.all, args->all);
	snprintf(where, sizeof(where), "%zu devices of %u nodes", report.all.count, report.nodes);
	if (args->common.json) {
		list = json_array();
		for (node = 0; node < report.nodes; node++)
			json_array_append_new(list, node_to_json(&report, node));
		ret = print_json(json_pack("{s:o, s:O}", "nodes", list, "in_flight", sentences));
	} else {
		status_print(sentences, where);
	}
	json_decref(sentences);
	if (!ret)
		ret = judge(&report, args->wait_ns);

out:
	for (node = 0; node < report.nodes; node++) {
		json_decref(report.document[node]);
		free(report.devices[node]);
	}
	free(report.all.list);
	return ret;
}

/* ----------------------------------------------------------------- the others */

static int bring(struct gather *gather, const struct status *own, const struct status_args *args)
{
	uint64_t until = now_ns() + args->wait_ns;
	json_t *document = own_document(own);
	char *text = json_dumps(document, JSON_COMPACT);
	int ret;

	json_decref(document);
	if (!text)
		return complain(EXIT_FAIL, "no memory for the status");
	ret = gather_bring(gather, text, strlen(text), until);
	free(text);
	return ret ? ret : own ? EXIT_OK : EXIT_FAIL;
}

int status_of_nodes(const struct status *own, const struct status_args *args)
{
	struct gather *gather = gather_new(GATHER_STATUS);
	int ret;

	if (!gather)
		return EXIT_FAIL;
	ret = gather->place.node ? bring(gather, own, args) : gather_all(gather, own, args);
	gather_free(gather);
	return ret;
}
