/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fabric: ranks, links, and the one clock that all of them share. */
#include "t3_record.h"
#include "t3_internal.h"

static bool linked(const struct t3_fabric_config *config, uint32_t a, uint32_t b)
{
	uint32_t n = config->ranks;

	if (a == b)
		return false;
	if (config->topology == T3_TOPOLOGY_FULL)
		return true;
	return config->topology == T3_TOPOLOGY_RING && ((a + 1) % n == b || (b + 1) % n == a);
}

static int make_links(struct t3_fabric *fabric, uint32_t *count)
{
	uint32_t a, b;

	for (a = 0; a < fabric->config.ranks; a++)
		for (b = 0; b < fabric->config.ranks; b++) {
			struct t3_link *link;

			if (!linked(&fabric->config, a, b))
				continue;
			link = calloc(1, sizeof(*link));
			if (!link)
				return -1;
			t3_link_init(link, fabric, a, b);
			fabric->link[a][b] = link;
			(*count)++;
		}
	return 0;
}

struct t3_fabric *t3_fabric_new(const struct t3_fabric_config *config,
				const struct t3_fabric_ops *ops, void *opaque)
{
	struct t3_fabric *fabric;
	uint32_t links = 0;

	if (config->topology > T3_TOPOLOGY_FULL || !config->ranks || config->ranks > T3_MAX_RANKS ||
	    !config->id)
		return NULL;
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return NULL;
	fabric->config = *config;
	fabric->ops = *ops;
	fabric->opaque = opaque;
	fabric->inline_budget = T3_INLINE_BUDGET;
	t3_gang_init(fabric);
	if (make_links(fabric, &links) ||
	    t3_heap_init(&fabric->heap, links * 5 + config->ranks + 1)) {
		t3_fabric_free(fabric);
		return NULL;
	}
	return fabric;
}

void t3_fabric_free(struct t3_fabric *fabric)
{
	uint32_t a, b;

	t3_fabric_record_stop(fabric);
	t3_gang_drop(fabric);
	for (a = 0; a < T3_MAX_RANKS; a++)
		for (b = 0; b < T3_MAX_RANKS; b++)
			free(fabric->link[a][b]);
	free(fabric->heap.slot);
	free(fabric);
}

void t3_fabric_schedule(struct t3_fabric *fabric, struct t3_event *event, uint64_t time)
{
	t3_heap_add(&fabric->heap, event, time);
}

void t3_fabric_charge(struct t3_fabric *fabric, uint32_t rows, uint32_t bytes)
{
	if (fabric)
		fabric->work += (uint64_t)rows * T3_ROW_WORK + bytes;
}

/* What the work of the last event takes off the budget, beside the event itself. */
static uint32_t take_work(struct t3_fabric *fabric, uint32_t budget)
{
	uint64_t units = fabric->work / T3_EVENT_WORK;

	fabric->work %= T3_EVENT_WORK;
	return units < budget ? budget - (uint32_t)units : 0;
}

/* The work that is left over is forgotten: the next run must not depend on this one. */
bool t3_heap_run(struct t3_fabric *fabric, uint32_t budget)
{
	struct t3_event *event;

	fabric->work = 0;
	fabric->running = true;
	while (budget && (event = t3_heap_pop(&fabric->heap))) {
		fabric->now = event->time;
		event->fire(event);
		budget = take_work(fabric, budget - 1);
	}
	fabric->running = false;
	return fabric->heap.count != 0;
}

uint64_t t3_fabric_id(const struct t3_fabric *fabric)
{
	return fabric->config.id;
}

uint64_t t3_fabric_now(const struct t3_fabric *fabric)
{
	return fabric ? fabric->now : 0;
}
