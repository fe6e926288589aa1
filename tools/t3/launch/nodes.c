// SPDX-License-Identifier: MIT
/* The ranks that t3 launch starts on a node of a cluster. */
#include "common/child.h"
#include "common/message.h"
#include "common/node.h"
#include "launch/launch.h"

int launch_count(struct launch_args *args)
{
	struct node_place place;

	args->all = (uint32_t)args->ranks;
	if (!args->nodes)
		return 0;
	if (!node_read("--nodes", &place))
		return EXIT_OWN_FAILURE;
	if (place.nodes * args->ranks > T3_COMM_RANKS_MAX)
		return complain(
			EXIT_OWN_FAILURE,
			"%u nodes with %u ranks each are too many: a communicator has at most %u",
			place.nodes, args->all, T3_COMM_RANKS_MAX);
	args->first = place.node * args->all;
	args->all *= place.nodes;
	return 0;
}
