/* SPDX-License-Identifier: MIT */
/* t3 status --nodes: one report of all nodes of a cluster. */
#ifndef T3_STATUS_NODES_H
#define T3_STATUS_NODES_H

#include "driver/status.h"

struct status_args {
	struct cmd_common common;
	bool all;
	bool nodes;
	uint64_t wait_ns; /* for the others */
};

/*
 * Do the part of this node. own: the status here, or NULL if there is none. Node 0 prints the
 * report of all. An exit code.
 */
int status_of_nodes(const struct status *own, const struct status_args *args);
/* Print sentences; "nothing is in flight on WHERE" if there is none. */
void status_print(const json_t *sentences, const char *where);

#endif /* T3_STATUS_NODES_H */
