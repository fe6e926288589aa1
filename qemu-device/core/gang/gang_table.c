/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counts of timed runs with a routing. Equal counts of all queues of a fabric are one table. So
 * comparing those of two queues is cheap, however many queues wait.
 */
#include "gang/gang.h"

static uint64_t digest_of(const uint32_t *counts, uint32_t bytes)
{
	uint64_t digest = bytes;
	uint32_t i;

	for (i = 0; i < bytes / sizeof(counts[0]); i++) {
		digest = (digest ^ counts[i]) * 0x9e3779b97f4a7c15ull;
		digest ^= digest >> 29;
	}
	return digest;
}

static bool same(const struct t3_gang_table *a, const struct t3_gang_table *b)
{
	return a && a->digest == b->digest && a->bytes == b->bytes &&
	       !memcmp(a->counts, b->counts, a->bytes);
}

/* A table of the fabric that is equal. NULL: there is none. */
static struct t3_gang_table *find(const struct t3_fabric *fabric, const struct t3_gang_table *like)
{
	uint32_t rank, i;

	for (rank = 0; rank < fabric->config.ranks; rank++)
		for (i = 0; fabric->dev[rank] && i < T3_MAX_QUEUES; i++) {
			struct t3_gang_table *table = t3_gangs(fabric->dev[rank])->request[i].table;

			if (same(table, like))
				return table;
		}
	return NULL;
}

struct t3_gang_table *t3_gang_table_new(uint32_t bytes)
{
	struct t3_gang_table *table = malloc(sizeof(*table) + bytes);

	if (table)
		*table = (struct t3_gang_table){ .users = 1, .bytes = bytes };
	return table;
}

static void put(struct t3_gang_table *table)
{
	if (table && !--table->users)
		free(table);
}

void t3_gang_table_give(struct t3_queue *q, struct t3_gang_table *table)
{
	struct t3_gang_table *equal;

	t3_gang_table_drop(q);
	if (!table)
		return;
	table->digest = digest_of(table->counts, table->bytes);
	equal = find(q->dev->fabric, table);
	if (equal) {
		equal->users++;
		put(table);
	}
	t3_gang_request(q)->table = equal ? equal : table;
}

void t3_gang_table_drop(struct t3_queue *q)
{
	put(t3_gang_request(q)->table);
	t3_gang_request(q)->table = NULL;
}
