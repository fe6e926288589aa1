/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the queue that the engine serves next: by priority, then by the client's share, then by
 * the time since the last service. SPEC.md section 8.2.
 *
 * A step may take a quarter of a microsecond, and a client may have many queues. A choice that looked
 * at all of them would cost the other clients more than the step. Therefore runnable queues of one
 * priority and client are a group, in the order of their last service, and a choice looks only at the
 * first queue of each group. t3_engine_wake() makes the groups stale when a queue may have become
 * runnable.
 */
#include "queue/queue_private.h"

bool t3_queue_runnable(const struct t3_queue *q)
{
	return q->state == T3_QUEUE_READY && q->head != q->tail && !q->hung && !q->blocked &&
	       q->phase != T3_PHASE_WAIT && q->phase != T3_PHASE_GANG && q->phase != T3_PHASE_TIMED;
}

static bool same_group(const struct t3_queue *a, const struct t3_queue *b)
{
	return a->priority == b->priority && a->client == b->client;
}

/* Queues that were never served have equal turns: the lower number is first. */
static bool precedes(const struct t3_queue *a, const struct t3_queue *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->client != b->client)
		return a->client < b->client;
	return a->turn < b->turn || (a->turn == b->turn && a < b);
}

static void make_order(struct t3_queues *queues)
{
	struct t3_order *order = &queues->order;
	uint32_t i, at, count = 0;

	order->stale = false;
	order->groups = 0;
	for (i = 0; i < T3_MAX_QUEUES; i++) {
		const struct t3_queue *q = &queues->queue[i];

		if (!t3_queue_runnable(q))
			continue;
		for (at = count++; at && precedes(q, &queues->queue[order->queue[at - 1]]); at--)
			order->queue[at] = order->queue[at - 1];
		order->queue[at] = (uint8_t)i;
	}
	for (i = 0; i < count; i++) {
		if (!i || !same_group(&queues->queue[order->queue[i - 1]],
				      &queues->queue[order->queue[i]]))
			order->first[order->groups++] = (uint8_t)i;
		order->first[order->groups] = (uint8_t)(i + 1);
	}
}

static struct t3_queue *first_of(struct t3_queues *queues, uint32_t group)
{
	return &queues->queue[queues->order.queue[queues->order.first[group]]];
}

/* A first queue that is not runnable any more hides those behind it. */
static bool is_current(struct t3_queues *queues)
{
	uint32_t group;

	if (queues->order.stale)
		return false;
	for (group = 0; group < queues->order.groups; group++)
		if (!t3_queue_runnable(first_of(queues, group)))
			return false;
	return true;
}

/* Compares the first queues of two groups of one priority. */
static bool goes_first(const struct t3_queue *a, const struct t3_queue *b)
{
	const struct t3_share *share = &t3_queues(a->dev)->engine_share;
	uint64_t start_a = t3_share_start(share, a->client);
	uint64_t start_b = t3_share_start(share, b->client);

	if (start_a != start_b)
		return start_a < start_b;
	return a->turn < b->turn || (a->turn == b->turn && a < b);
}

struct t3_queue *t3_order_choose(struct t3_dev *dev)
{
	struct t3_queues *queues = t3_queues(dev);
	struct t3_queue *best = NULL;
	uint32_t group;

	if (!is_current(queues))
		make_order(queues);
	for (group = 0; group < queues->order.groups; group++) {
		struct t3_queue *q = first_of(queues, group);

		if (best && q->priority != best->priority)
			break;
		if (best && !goes_first(q, best))
			continue;
		best = q;
		queues->order.chosen = group;
	}
	return best;
}

void t3_order_serve(struct t3_dev *dev)
{
	struct t3_order *order = &t3_queues(dev)->order;
	uint32_t first = order->first[order->chosen], end = order->first[order->chosen + 1];
	uint8_t served = order->queue[first];

	memmove(&order->queue[first], &order->queue[first + 1], end - first - 1);
	order->queue[end - 1] = served;
}
