/* SPDX-License-Identifier: MIT */
/* Random numbers from a seed: xorshift64*. */
#ifndef T3_GUEST_RANDOM_H
#define T3_GUEST_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state; /* not 0 */
};

/* Close seeds give independent sequences (splitmix64). */
static inline struct random random_seed(uint64_t seed)
{
	seed += 0x9e3779b97f4a7c15ull;
	seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ull;
	seed = (seed ^ seed >> 27) * 0x94d049bb133111ebull;
	seed ^= seed >> 31;
	return (struct random){ seed ? seed : 1 };
}

static inline uint64_t random_u64(struct random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1dull;
}

static inline uint32_t random_below(struct random *random, uint32_t limit)
{
	return (uint32_t)(random_u64(random) >> 32) % limit;
}

#endif /* T3_GUEST_RANDOM_H */
