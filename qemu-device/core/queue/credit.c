/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Room on a link for packets of queues. SPEC.md section 11.4. */
#include "queue/queue_private.h"

/*
 * May the client's queue send on this link? Queues leave slots free for stores of the CPU, and
 * keep to their client's share if other clients wait.
 */
bool t3_credit_fits(const struct t3_link *link, uint32_t client, uint32_t packets)
{
	return t3_link_free_slots(link) >= T3_LINK_ENGINE_RESERVE + link->wanted + packets &&
	       t3_turn_may_send(link, client);
}

bool t3_credit_take(struct t3_queue *q, struct t3_link *link, uint32_t packets)
{
	if (t3_credit_fits(link, q->client, packets))
		return true;
	q->blocked = link->to + 1;
	link->engine_waits = true;
	return false;
}
