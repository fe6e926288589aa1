// SPDX-License-Identifier: MIT
/* Which ranks t3 launch starts on a node of a cluster: t3-vm says which node of how many this is. */
#define _GNU_SOURCE /* secure_getenv */
#include <stdlib.h>

#include "common/child.h"
#include "common/message.h"
#include "launch/launch.h"

/* False: it is missing, or no number up to max. */
static bool read_number(const char *name, uint32_t max, uint32_t *value)
{
	const char *text = secure_getenv(name);
	unsigned long number;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	number = strtoul(text, &end, 10);
	*value = (uint32_t)number;
	return !*end && number <= max;
}

int launch_count(struct launch_args *args)
{
	uint32_t node, nodes;

	args->all = (uint32_t)args->ranks;
	if (!args->nodes)
		return 0;
	if (!secure_getenv("MASTER_ADDR") || !read_number("T3_NODES", T3_COMM_RANKS_MAX, &nodes) ||
	    !nodes || !read_number("T3_NODE", nodes - 1, &node))
		return complain(EXIT_OWN_FAILURE,
				"--nodes is for a node of a cluster (t3-vm cluster), which has "
				"T3_NODE, T3_NODES and MASTER_ADDR in its environment");
	if (nodes * args->ranks > T3_COMM_RANKS_MAX)
		return complain(
			EXIT_OWN_FAILURE,
			"%u nodes with %u ranks each are too many: a communicator has at most %u",
			nodes, args->all, T3_COMM_RANKS_MAX);
	args->first = node * args->all;
	args->all *= nodes;
	return 0;
}
