/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates and frees a fabric: its links and its clock. SPEC.md section 6. */
#include "front/front.h"

static bool linked(const struct t3_fabric_config *config, uint32_t a, uint32_t b)
{
	uint32_t n = config->ranks;

	if (a == b)
		return false;
	if (config->topology == T3_TOPOLOGY_FULL || config->topology == T3_TOPOLOGY_SWITCH)
		return true;
	return config->topology == T3_TOPOLOGY_RING && ((a + 1) % n == b || (b + 1) % n == a);
}

static bool both_remote(const struct t3_fabric *fabric, uint32_t a, uint32_t b)
{
	return fabric->config.remote >> a & fabric->config.remote >> b & 1;
}

static bool is_right(const struct t3_fabric_config *config)
{
	if (config->topology == T3_TOPOLOGY_SWITCH &&
	    (!config->switch_entries || config->switch_entries > T3_PORT_ENTRIES))
		return false;
	return config->topology <= T3_TOPOLOGY_SWITCH && config->id && config->ranks &&
	       config->ranks <= T3_MAX_RANKS &&
	       config->remote < ~(uint32_t)0 >> (T3_MAX_RANKS - config->ranks);
}

static bool make_links(struct t3_fabric *fabric, uint32_t *count)
{
	uint32_t a, b;

	for (a = 0; a < fabric->config.ranks; a++)
		for (b = 0; b < fabric->config.ranks; b++) {
			struct t3_link *link;

			if (!linked(&fabric->config, a, b) || both_remote(fabric, a, b))
				continue;
			link = calloc(1, sizeof(*link));
			if (!link)
				return false;
			t3_space_link_init(link, fabric, a, b);
			if (t3_rank_is_remote(fabric, a) || t3_rank_is_remote(fabric, b))
				t3_remote_init(link, t3_rank_is_remote(fabric, b));
			fabric->link[a][b] = link;
			(*count)++;
		}
	return true;
}

/*
 * Ranks of other nodes have links with this node's part of the switch. Those of this node's ranks with
 * the other parts are made for each peer, of which there are as many as remote ranks at most.
 */
static bool make_switch(struct t3_fabric *fabric, uint32_t *count)
{
	uint32_t ranks = fabric->config.ranks, rank;
	uint32_t far = (uint32_t)__builtin_popcount(fabric->config.remote);

	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		fabric->part[rank] = t3_rank_is_remote(fabric, rank) ? T3_NO_PART : T3_SWITCH_RANK;
	if (fabric->config.topology != T3_TOPOLOGY_SWITCH)
		return true;
	*count += 2 * ranks + 2 * far * (ranks - far);
	if (!t3_switch_new(fabric, &t3_space_link_ops))
		return false;
	for (rank = 0; rank < ranks; rank++) {
		if (!t3_rank_is_remote(fabric, rank))
			continue;
		t3_remote_init(fabric->link[rank][T3_SWITCH_RANK], false);
		t3_remote_init(fabric->link[T3_SWITCH_RANK][rank], true);
	}
	return true;
}

struct t3_fabric *t3_fabric_new(const struct t3_fabric_config *config,
				const struct t3_fabric_ops *ops, void *opaque)
{
	struct t3_gang_fabric *whole;
	struct t3_fabric *fabric;
	uint32_t links = 0;

	if (!is_right(config))
		return NULL;
	whole = calloc(1, sizeof(*whole));
	if (!whole)
		return NULL;
	fabric = &whole->fabric;
	fabric->config = *config;
	fabric->ops = *ops;
	fabric->opaque = opaque;
	fabric->inline_budget = T3_INLINE_BUDGET;
	t3_gang_init(fabric);
	if (!make_links(fabric, &links) || !make_switch(fabric, &links) ||
	    !t3_heap_init(&fabric->clock.heap, links * 5 + config->ranks + 1)) {
		t3_fabric_free(fabric);
		return NULL;
	}
	return fabric;
}

void t3_fabric_free(struct t3_fabric *fabric)
{
	uint32_t a, b;

	t3_fabric_record_stop(fabric);
	t3_gang_drop_run(fabric);
	t3_switch_free(fabric);
	for (a = 0; a < T3_FABRIC_ENDS; a++)
		for (b = 0; b < T3_FABRIC_ENDS; b++)
			free(fabric->link[a][b]);
	free(fabric->clock.heap.slot);
	free(t3_container_of(fabric, struct t3_gang_fabric, fabric));
}
