// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* asprintf */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nodes/gather.h"
#include "trace/nodes.h"

#define ROUNDS	  16 /* questions for a reading; the quickest counts */
#define ANSWER_NS 1000000000u
#define RETRY_NS  50000000u

/* A message begins with its kind. */
enum message {
	ASK = 'C',   /* the time; the answer is an int64_t */
	READY = 'R', /* the node's clock is read, so the command begins there */
	BRING = 'T', /* the node's timeline, as JSON */
};

struct trace_nodes {
	const struct trace_args *args;
	struct gather *gather;
	struct clock_reading reading[2]; /* before and after the command; on node 0: nothing */
	bool ready[GATHER_NODES];
	json_t *document[GATHER_NODES];
};

uint32_t trace_nodes_own(const struct trace_nodes *nodes)
{
	return nodes ? nodes->gather->place.node : 0;
}

static uint64_t deadline(const struct trace_nodes *nodes)
{
	return now_ns() + nodes->args->wait_ns;
}

/* -------------------------------------------------------------------- node 0 */

static bool answer_time(int fd)
{
	int64_t now = (int64_t)now_ns();

	return gather_write(fd, &now, sizeof(now), (uint64_t)now + ANSWER_NS);
}

static bool keep(struct trace_nodes *nodes, uint32_t node, const char *data, size_t size)
{
	if (!nodes->ready[node] || nodes->document[node])
		return false;
	nodes->document[node] = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
	return nodes->document[node];
}

static bool take(void *opaque, uint32_t node, int fd, const char *data, size_t size)
{
	struct trace_nodes *nodes = opaque;

	if (!size)
		return false;
	switch (*data) {
	case ASK:
		return size == 1 && answer_time(fd);
	case READY:
		nodes->ready[node] = true;
		return size == 1;
	case BRING:
		return keep(nodes, node, data + 1, size - 1);
	default:
		return false;
	}
}

static bool all_ready(void *opaque)
{
	const struct trace_nodes *nodes = opaque;
	uint32_t node;

	for (node = 1; node < nodes->gather->place.nodes; node++)
		if (!nodes->ready[node])
			return false;
	return true;
}

/* Of those that began. */
static bool all_brought(void *opaque)
{
	const struct trace_nodes *nodes = opaque;
	uint32_t node;

	for (node = 1; node < nodes->gather->place.nodes; node++)
		if (nodes->ready[node] && !nodes->document[node])
			return false;
	return true;
}

/* A node's facts. `us` grows to the largest error of a clock. */
static json_t *add_node(struct trace_nodes *nodes, struct perfetto *timeline, uint32_t node,
			double *us)
{
	json_t *document = nodes->document[node], *facts = json_object_get(document, "facts");
	struct clock_reading reading[2];
	double error;

	if (!document)
		return json_pack("{s:i, s:s}", "node", (int)node, "missing",
				 nodes->ready[node] ? "its timeline did not come"
						    : "it did not begin");
	if (!clock_from_json(json_object_get(document, "clock"), reading) ||
	    !json_is_object(facts) ||
	    align_events(timeline, json_object_get(document, "events"), node, reading) < 0)
		return json_pack("{s:i, s:s}", "node", (int)node, "missing",
				 "its timeline is malformed");
	error = (double)(reading[0].error_ns > reading[1].error_ns ? reading[0].error_ns
								   : reading[1].error_ns) /
		1000;
	if (error > *us)
		*us = error;
	return json_pack("{s:i, s:f, s:f, s:f, s:O}", "node", (int)node, "offset_us",
			 (double)reading[0].offset_ns / 1000, "clock_error_us", error, "drift_us",
			 (double)(reading[1].offset_ns - reading[0].offset_ns) / 1000, "facts",
			 facts);
}

static int merge(struct trace_nodes *nodes, struct perfetto *timeline, json_t *facts, char *text,
		 size_t size)
{
	uint32_t count = nodes->gather->place.nodes, node, missing = 0;
	json_t *list = json_array(), *object;
	double us = 0;

	gather_serve(nodes->gather, deadline(nodes), all_brought);
	for (node = 1; node < count; node++) {
		object = add_node(nodes, timeline, node, &us);
		if (json_object_get(object, "missing")) {
			complain(0, "node %u is not in the timeline: %s", node,
				 json_string_value(json_object_get(object, "missing")));
			missing++;
		}
		json_array_append_new(list, object);
	}
	json_object_set_new(facts, "clock", json_string("CLOCK_MONOTONIC of node 0"));
	json_object_set_new(facts, "clock_error_us", json_real(us));
	json_object_set_new(facts, "virtual_clocks", json_string("each node's own, not aligned"));
	json_object_set_new(facts, "nodes", list);
	snprintf(text, size,
		 "; %u of %u nodes, whose clocks agree within %.1f us; virtual clocks are each "
		 "node's own",
		 count - missing, count, us);
	return EXIT_OK;
}

/* ---------------------------------------------------------------- the others */

static bool ask(struct trace_nodes *nodes, struct clock_reading *reading, uint64_t until)
{
	const char message = ASK;
	int64_t sent = (int64_t)now_ns(), other;

	if (!gather_post(nodes->gather, &message, 1, until) ||
	    !gather_answer(nodes->gather, &other, sizeof(other), until))
		return false;
	*reading = clock_read(sent, other, (int64_t)now_ns());
	return gather_acknowledged(nodes->gather, until);
}

/* The answer to the first question may have to wait until node 0 listens. */
static bool read_clock(struct trace_nodes *nodes, struct clock_reading *best, uint64_t until)
{
	struct clock_reading now;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (!ask(nodes, &now, until))
			return false;
		if (!i || now.error_ns < best->error_ns)
			*best = now;
	}
	return true;
}

static int bring(struct trace_nodes *nodes, struct perfetto *timeline, json_t *facts, char *text,
		 size_t size)
{
	json_t *document;
	char *data, *message = NULL;
	int ret = EXIT_OK;

	if (!read_clock(nodes, &nodes->reading[1], deadline(nodes)))
		return gather_complain();
	document = json_pack("{s:o, s:O, s:o}", "clock", clock_to_json(nodes->reading), "facts",
			     facts, "events", perfetto_events(timeline));
	data = document ? json_dumps(document, JSON_COMPACT) : NULL;
	json_decref(document);
	if (!data || asprintf(&message, "%c%s", BRING, data) < 0)
		ret = complain(EXIT_FAIL, "no memory for the timeline");
	else if (!gather_post(nodes->gather, message, strlen(message), deadline(nodes)) ||
		 !gather_acknowledged(nodes->gather, deadline(nodes)))
		ret = gather_complain();
	free(message);
	free(data);
	snprintf(text, size, "; they are in node 0's timeline");
	return ret;
}

/* ---------------------------------------------------------------------- both */

/* Not node 0: compare the clocks, and say that the command begins. */
static int arrive(struct trace_nodes *nodes)
{
	const char message = READY;
	uint64_t until = deadline(nodes);

	do {
		if (gather_connect(nodes->gather, until) &&
		    read_clock(nodes, &nodes->reading[0], until) &&
		    gather_post(nodes->gather, &message, 1, until) &&
		    gather_acknowledged(nodes->gather, until))
			return EXIT_OK;
		sleep_ns(RETRY_NS);
	} while (now_ns() < until);
	return gather_complain();
}

static int meet(struct trace_nodes *nodes)
{
	int ret;

	if (nodes->gather->place.node)
		return arrive(nodes);
	ret = gather_listen(nodes->gather, deadline(nodes));
	if (!ret)
		gather_serve(nodes->gather, deadline(nodes), all_ready);
	return ret;
}

int trace_nodes_begin(const struct trace_args *args, struct trace_nodes **nodes)
{
	int ret;

	*nodes = NULL;
	if (!args->nodes)
		return EXIT_OK;
	*nodes = calloc(1, sizeof(**nodes));
	if (!*nodes)
		return complain(EXIT_FAIL, "no memory for the other nodes");
	(*nodes)->args = args;
	(*nodes)->gather = gather_new(GATHER_TRACE);
	ret = (*nodes)->gather ? EXIT_OK : EXIT_FAIL;
	if (!ret) {
		(*nodes)->gather->take = take;
		(*nodes)->gather->opaque = *nodes;
		ret = meet(*nodes);
	}
	if (!ret)
		return EXIT_OK;
	trace_nodes_free(*nodes);
	*nodes = NULL;
	return ret;
}

void trace_nodes_free(struct trace_nodes *nodes)
{
	uint32_t node;

	if (!nodes)
		return;
	for (node = 0; node < GATHER_NODES; node++)
		json_decref(nodes->document[node]);
	gather_free(nodes->gather);
	free(nodes);
}

int trace_nodes_end(struct trace_nodes *nodes, struct perfetto *timeline, json_t *facts, char *text,
		    size_t size)
{
	if (!nodes)
		return EXIT_OK;
	return nodes->gather->place.node ? bring(nodes, timeline, facts, text, size)
					 : merge(nodes, timeline, facts, text, size);
}
