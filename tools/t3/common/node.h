/* SPDX-License-Identifier: MIT */
/* A node of a cluster of VMs (t3-vm cluster): which one of how many this is, by the environment. */
#ifndef T3_NODE_H
#define T3_NODE_H

#include <stdbool.h>
#include <stdint.h>

struct node_place {
	uint32_t node, nodes; /* node < nodes <= 32 */
};

/* False, after a sentence that begins with the option: this is no node. */
bool node_read(const char *option, struct node_place *place);
/* Make this process a rank of all nodes' communicator: t3_comm_create() reads it. False: no memory. */
bool node_set_rank(uint32_t rank, uint32_t ranks);

#endif /* T3_NODE_H */
