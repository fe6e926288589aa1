/* SPDX-License-Identifier: MIT */
/*
 * t3 trace --nodes: the timelines of all nodes of a cluster as one, on the clock of node 0. A node
 * compares its clock with that of node 0 before its command and after it.
 */
#ifndef T3_TRACE_NODES_H
#define T3_TRACE_NODES_H

#include "trace/align.h"
#include "trace/trace.h"

struct trace_nodes;

/*
 * Meet the other nodes. *nodes is NULL without --nodes. Node 0 waits for them, but not without end.
 * Returns an exit code, after a sentence on failure.
 */
int trace_nodes_begin(const struct trace_args *args, struct trace_nodes **nodes);
void trace_nodes_free(struct trace_nodes *nodes);

/* The number of this node; 0 without --nodes. */
uint32_t trace_nodes_own(const struct trace_nodes *nodes);
/*
 * After the command, with the facts of this node's timeline. Node 0 adds the others' events to the
 * timeline, and what is known of each node to the facts. The others send theirs. text says it in
 * words. Returns an exit code.
 */
int trace_nodes_end(struct trace_nodes *nodes, struct perfetto *timeline, json_t *facts, char *text,
		    size_t size);

#endif /* T3_TRACE_NODES_H */
