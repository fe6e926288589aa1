// SPDX-License-Identifier: MIT
/* Orders the devices: the longest chain of linked ones comes first. */
#include <string.h>

#include "run.h"

static bool linked(const struct conf_device *a, const struct conf_device *b)
{
	if (a == b || a->fabric != b->fabric)
		return false;
	if (a->topology == T3_TOPOLOGY_FULL || a->topology == T3_TOPOLOGY_SWITCH)
		return true;
	return a->topology == T3_TOPOLOGY_RING && (a->rank + 1) % a->ranks == b->rank;
}

/* Fill order[] from one start. Each next one is the first unused one with a link from the last. */
static unsigned chain(const struct conf *c, unsigned start, unsigned *order)
{
	bool used[T3_MAX_RANKS] = { false };
	unsigned length = 0, next = start;

	while (next < c->count) {
		order[length++] = next;
		used[next] = true;
		for (next = 0; next < c->count; next++)
			if (!used[next] && linked(&c->device[order[length - 1]], &c->device[next]))
				break;
	}
	return length;
}

void conf_order(struct conf *c)
{
	unsigned order[T3_MAX_RANKS], best[T3_MAX_RANKS], length;
	struct conf_device sorted[T3_MAX_RANKS];
	bool used[T3_MAX_RANKS] = { false };

	c->linked = 0;
	for (unsigned start = 0; start < c->count; start++) {
		length = chain(c, start, order);
		if (length <= c->linked)
			continue;
		c->linked = length;
		memcpy(best, order, length * sizeof(best[0]));
	}
	for (unsigned i = 0; i < c->linked; i++) {
		sorted[i] = c->device[best[i]];
		used[best[i]] = true;
	}
	length = c->linked;
	for (unsigned i = 0; i < c->count; i++)
		if (!used[i])
			sorted[length++] = c->device[i];
	memcpy(c->device, sorted, length * sizeof(sorted[0]));
}
