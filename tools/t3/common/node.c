// SPDX-License-Identifier: MIT
#define _GNU_SOURCE /* secure_getenv */
#include <stdio.h>
#include <stdlib.h>

#include "common/message.h"
#include "common/node.h"
#include "t3_coll.h"

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

bool node_read(const char *option, struct node_place *place)
{
	if (secure_getenv("MASTER_ADDR") &&
	    read_number("T3_NODES", T3_COMM_RANKS_MAX, &place->nodes) && place->nodes &&
	    read_number("T3_NODE", place->nodes - 1, &place->node))
		return true;
	complain(0,
		 "%s is for a node of a cluster (t3-vm cluster), which has T3_NODE, T3_NODES and "
		 "MASTER_ADDR in its environment",
		 option);
	return false;
}

static bool set_number(const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return !setenv(name, text, 1);
}

bool node_set_rank(uint32_t rank, uint32_t ranks)
{
	return !unsetenv("T3_COMM_DIR") && set_number("T3_RANK", rank) &&
	       set_number("T3_RANKS", ranks);
}
