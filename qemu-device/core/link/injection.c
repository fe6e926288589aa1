/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault injection at a link: counted and random faults. SPEC.md section 12. */
#include "link/link.h"

#define RANDOM_DELAY 4096u /* ns; the longest delay of LINK_RANDOM, the shortest is 1 */

static bool by_chance(struct t3_link_injection *injected)
{
	return injected->chance && t3_random_next(&injected->random) >> 48 < injected->chance;
}

void t3_link_accident(struct t3_link *link, uint32_t kind, uint64_t sequence)
{
	const struct t3_dev *dev = link->fabric->dev[link->src];

	t3_count_injected(link->fabric, link->src);
	if (dev && dev->ops.trace_accident)
		dev->ops.trace_accident(dev->opaque, link->dst, kind, sequence);
}

bool t3_link_any_injected(const struct t3_link *link)
{
	const struct t3_link_injection *injected = &link->injected;
	uint32_t i, counted = 0;

	for (i = 0; i <= T3_INJECT_DROP_RESPONSE; i++)
		counted |= injected->counted[i].nth;
	return injected->down || injected->chance || counted;
}

/* Evaluate both: skipping one would change when the other fires. */
bool t3_link_injected(struct t3_link *link, uint32_t kind, uint64_t sequence)
{
	bool counted = t3_injection_hits(&link->injected.counted[kind]);
	bool drawn = by_chance(&link->injected);

	if (counted || drawn)
		t3_link_accident(link, kind, sequence);
	return counted || drawn;
}

uint64_t t3_link_injected_delay(struct t3_link *link, uint64_t sequence)
{
	struct t3_link_injection *injected = &link->injected;
	uint64_t delay = 0;

	if (t3_injection_hits(&injected->counted[T3_INJECT_DELAY]))
		delay = injected->delay;
	if (by_chance(injected))
		delay += 1 + t3_random_next(&injected->random) % RANDOM_DELAY;
	if (delay)
		t3_link_accident(link, T3_INJECT_DELAY, sequence);
	return delay;
}
