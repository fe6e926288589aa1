/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is injected at a link happens here. SPEC.md section 12. */
#include "link/link.h"

#define RANDOM_DELAY 4096u /* ns: LINK_RANDOM delays by 1 to this */

static uint64_t next_random(struct t3_accidents *accidents)
{
	uint64_t x = accidents->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	accidents->random = x;
	return x * 0x2545f4914f6cdd1dull;
}

static bool by_chance(struct t3_accidents *accidents)
{
	return accidents->chance && next_random(accidents) >> 48 < accidents->chance;
}

/* Both are asked always, so that one does not shift what the other counts. */
bool t3_accident(struct t3_link *link, uint32_t kind)
{
	bool counted = t3_trip_hit(&link->accidents.trip[kind]);
	bool drawn = by_chance(&link->accidents);

	if (counted || drawn)
		t3_injected(link->fabric, link->src);
	return counted || drawn;
}

uint64_t t3_accident_delay(struct t3_link *link)
{
	struct t3_accidents *accidents = &link->accidents;
	uint64_t delay = 0;

	if (t3_trip_hit(&accidents->trip[T3_INJECT_DELAY]))
		delay = accidents->delay;
	if (by_chance(accidents))
		delay += 1 + next_random(accidents) % RANDOM_DELAY;
	if (delay)
		t3_injected(link->fabric, link->src);
	return delay;
}
