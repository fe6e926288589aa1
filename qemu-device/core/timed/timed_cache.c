/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last-level cache: set-associative, LRU, write-back. SPEC.md section 8.1. A block has the
 * size of a request. It is part of a step's block of A or B, or a piece of the output, which
 * the baseline writes through the cache.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

#define WAITERS_END TIMED_NONE

/* Added to the clock of a line that is being filled: it is later than all others. */
#define FILLING ((uint64_t)1 << 63)

bool timed_cache_init(struct timed_device *d)
{
	const struct t3_timed_params *p = timed_params(d);
	struct timed_cache *c = &d->cache;
	uint64_t blocks = timed_shape_blocks(timed_shape(d)), i;
	uint64_t lines = p->cache_kib * 1024 / p->request_bytes;

	c->ways = (uint32_t)(p->cache_ways < lines ? p->cache_ways : lines);
	c->sets = (uint32_t)(lines / c->ways);
	c->line = calloc((size_t)c->sets * c->ways, sizeof(c->line[0]));
	c->used = calloc((size_t)c->sets * c->ways, sizeof(c->used[0]));
	c->where = malloc(blocks * sizeof(c->where[0]));
	if (!c->line || !c->used || !c->where)
		return false;
	for (i = 0; i < blocks; i++)
		c->where[i] = TIMED_NONE;
	for (i = 0; i < (uint64_t)c->sets * c->ways; i++)
		c->line[i] = (struct timed_line){ .block = TIMED_NONE, .waiter = WAITERS_END };
	return true;
}

/* A hash spreads neighbouring blocks, and blocks a panel apart, over the sets. */
static uint32_t set_of(const struct timed_cache *c, uint32_t block)
{
	uint64_t hash = block * 0x9e3779b97f4a7c15ull;

	return (uint32_t)((hash >> 32) * c->sets >> 32);
}

/* Moves bytes over the cache's one data path. Returns the time when they are there. */
static uint64_t transfer(struct timed_device *d, uint64_t from, uint32_t bytes)
{
	const struct t3_timed_params *p = timed_params(d);
	struct timed_cache *c = &d->cache;

	c->busy += timed_cost(d, bytes)->cache;
	c->free = (c->free > from ? c->free : from) + timed_cost(d, bytes)->cache;
	return c->free + p->cache_latency_ns * TIMED_NS;
}

static void write_block(struct timed_device *d, uint32_t bytes)
{
	struct timed_request request = { .bytes = bytes, .kind = T3_TIMED_GEMM_WRITE };

	request.owner = TIMED_OWNER_WRITTEN;
	d->cache.writing++;
	timed_memory_add(d, TIMED_COMPUTE, &request);
}

static void write_back(struct timed_device *d, struct timed_line *line)
{
	line->dirty = false;
	write_block(d, line->bytes);
}

/*
 * The least recently used line of the block's set. One that is being filled: all lines are. Each
 * comparison waits for the one before, so that the set's halves are compared side by side.
 */
static uint32_t oldest_of(const struct timed_cache *c, uint32_t block)
{
	uint32_t first = set_of(c, block) * c->ways, half = c->ways / 2, way, low = 0, high = half;
	const uint64_t *used = c->used + first, *upper = used + half;
	uint64_t least = used[0], upper_least = upper[0];

	for (way = 1; way < half; way++) {
		uint64_t a = used[way], b = upper[way];

		low = a < least ? way : low;
		least = a < least ? a : least;
		high = b < upper_least ? half + way : high;
		upper_least = b < upper_least ? b : upper_least;
	}
	low = upper_least < least ? high : low;
	least = upper_least < least ? upper_least : least;
	return first + (c->ways % 2 && used[c->ways - 1] < least ? c->ways - 1 : low);
}

/* Gives the block the line that was used least recently. NULL: all lines are being filled. */
static struct timed_line *evict(struct timed_device *d, uint32_t block)
{
	struct timed_cache *c = &d->cache;
	uint32_t number = oldest_of(c, block);
	struct timed_line *oldest = &c->line[number];

	if (oldest->ready == T3_TIMED_NEVER)
		return NULL;
	if (oldest->block != TIMED_NONE)
		c->where[oldest->block] = TIMED_NONE;
	if (oldest->dirty)
		write_back(d, oldest);
	oldest->block = block;
	c->used[number] = ++c->clock;
	c->where[block] = number;
	return oldest;
}

static void miss(struct timed_device *d, uint32_t slot, uint32_t block, uint32_t bytes)
{
	struct timed_request request = { .bytes = bytes, .kind = T3_TIMED_GEMM_READ };
	struct timed_line *line = evict(d, block);

	d->counters.cache_misses++;
	request.owner = line ? TIMED_OWNER_LINE : TIMED_OWNER_SLOT;
	request.number = line ? (uint32_t)(line - d->cache.line) : slot;
	if (line) {
		line->bytes = bytes;
		line->ready = T3_TIMED_NEVER;
		d->cache.used[request.number] |= FILLING;
	}
	timed_memory_add(d, TIMED_COMPUTE, &request);
}

/* Puts the slot on the line's list. Each load of a slot's step is a separate waiter. */
static void wait_for(struct timed_device *d, struct timed_line *line, uint32_t slot)
{
	struct timed_gemm *g = &d->gemm;
	uint32_t waiter = slot << g->waiter_shift | g->slot[slot].pending;

	g->waiter[waiter] = line->waiter;
	line->waiter = waiter;
}

/* Loads a block that is not there, or that is being filled. timed_ops.loaded() follows. */
static void load_later(struct timed_device *d, uint32_t slot, uint32_t block, uint32_t bytes)
{
	struct timed_cache *c = &d->cache;
	uint32_t number;

	if (c->where[block] == TIMED_NONE)
		miss(d, slot, block, bytes);
	else
		d->counters.cache_hits++;
	number = c->where[block];
	if (number != TIMED_NONE) {
		c->used[number] = ++c->clock | FILLING;
		wait_for(d, &c->line[number], slot);
	}
	d->gemm.slot[slot].pending++;
}

/*
 * Most loads hit. These change nothing but the line's last use and the data path, so that what they
 * change is kept out of memory until they are over, or one does not hit.
 */
uint64_t timed_cache_load(struct timed_device *d, uint32_t slot, uint32_t first, uint32_t left)
{
	struct timed_cache *c = &d->cache;
	const uint32_t most = (uint32_t)timed_params(d)->request_bytes;
	const uint64_t now = d->sim->now, whole = timed_cost(d, most)->cache;
	uint64_t clock = c->clock, free = c->free, busy = 0, ready = 0, hits = 0;
	uint32_t block;

	for (block = first; left; block++) {
		uint32_t bytes = left < most ? left : most, number = c->where[block];
		uint64_t from = number == TIMED_NONE ? T3_TIMED_NEVER : c->line[number].ready;
		uint64_t ps = bytes == most ? whole : timed_cost(d, bytes)->cache;

		left -= bytes;
		if (from != T3_TIMED_NEVER) {
			c->used[number] = ++clock;
			free = (free > from ? free : from) > now ? (free > from ? free : from)
								 : now;
			free += ps;
			ready = free;
			busy += ps;
			hits++;
			continue;
		}
		c->clock = clock;
		c->free = free;
		load_later(d, slot, block, bytes);
		clock = c->clock;
		free = c->free;
		d->sim->work++;
	}
	c->clock = clock;
	c->free = free;
	c->busy += busy;
	d->counters.cache_hits += hits;
	d->sim->work += hits;
	return ready ? ready + timed_params(d)->cache_latency_ns * TIMED_NS : 0;
}

void timed_cache_filled(struct timed_device *d, uint32_t number)
{
	struct timed_line *line = &d->cache.line[number];
	struct timed_gemm *g = &d->gemm;
	uint32_t waiter = line->waiter;

	line->ready = d->sim->now + timed_params(d)->memory_latency_ns * TIMED_NS;
	line->waiter = WAITERS_END;
	d->cache.used[number] &= ~FILLING;
	while (waiter != WAITERS_END) {
		uint32_t next = g->waiter[waiter];

		d->sim->ops->loaded(d, waiter >> g->waiter_shift,
				    transfer(d, line->ready, line->bytes));
		waiter = next;
	}
}

/* Stores a whole block, so that nothing has to be read first. */
void timed_cache_store(struct timed_device *d, uint32_t block, uint32_t bytes)
{
	struct timed_line *line = evict(d, block);

	d->sim->work++;
	transfer(d, d->sim->now, bytes);
	if (!line) {
		write_block(d, bytes);
		return;
	}
	line->bytes = bytes;
	line->ready = d->sim->now;
	line->dirty = true;
}

/* Writes all dirty lines to memory, at the end of a kernel whose output others read. */
void timed_cache_flush(struct timed_device *d)
{
	struct timed_cache *c = &d->cache;
	uint32_t i;

	for (i = 0; i < c->sets * c->ways; i++)
		if (c->line[i].dirty)
			write_back(d, &c->line[i]);
}

void timed_cache_written(struct timed_device *d)
{
	d->cache.writing--;
	d->sim->ops->progress(d);
}
