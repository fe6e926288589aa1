/* SPDX-License-Identifier: MIT */
/* What links do, for tests/model/link.pml: into the file that T3_LINK_TRACE names. */
#include <stdio.h>
#include <stdlib.h>

#include "link/link.h"
#include "spy.h"

/* tests/model/link.pml has the same */
enum kind {
	BEGINS,	  /* a run: source, target */
	SENT,	  /* incarnation, sequence number: for the first time */
	REPEATED, /* the same, again */
	TAKEN,	  /* the same, and whether the target applied it */
	ANSWERED, /* the same: the source has a response */
	GIVEN_UP, /* the same: the source has given it up */
	BEGUN,	  /* incarnation */
	CUT,	  /* the receiver has forgotten all */
};

struct run {
	struct run *next;
	const struct t3_link *link; /* or its sending half */
	const struct t3_link *half; /* of a link between nodes, the receiving half */
	const struct t3_link_ops *ops;
	uint32_t src, dst, incarnation;
	uint64_t unsent; /* the first that was never sent */
	bool blind;	 /* it has a part that cannot be seen */
	struct spy_events events;
};

static struct run *first; /* the one that was looked for last */
static bool applied;

REAL(void, t3_fabric_free, struct t3_fabric *fabric);
REAL(void, t3_link_init, struct t3_link *link, struct t3_fabric *fabric, uint32_t src, uint32_t dst,
     const struct t3_link_ops *ops);
REAL(void, t3_link_set_remote, struct t3_link *link, const struct t3_remote_ops *remote,
     bool source);
REAL(void, t3_link_cut, struct t3_link *link);
REAL(void, t3_link_clear, struct t3_link *link);
REAL(void, t3_wire_transmit, struct t3_link *link, struct t3_slot *slot);
REAL(bool, t3_receiver_take, struct t3_link *link, const struct t3_packet *packet,
     const uint8_t *payload);

/* ------------------------------------------------------------------------ runs */

static void add(struct run *r, struct spy_event event)
{
	if (r->blind)
		return;
	if (!r->events.count)
		spy_add(&r->events, (struct spy_event){ BEGINS, r->src, r->dst, 0 });
	spy_add(&r->events, event);
}

/* The model knows no bursts: their packets do the same, one after the other. */
static void add_each(struct run *r, enum kind kind, const struct t3_packet *packet)
{
	uint32_t i;

	for (i = 0; i < t3_burst_packets(packet); i++)
		add(r, (struct spy_event){ kind, packet->incarnation, packet->sequence + i, 0 });
}

static void end(struct run *r)
{
	spy_write(&r->events, "T3_LINK_TRACE");
	free(r);
}

static void end_all(void)
{
	struct run *r;

	while ((r = first)) {
		first = r->next;
		end(r);
	}
}

/* Links of a fabric that is freed end. Of a link between nodes, the other half may go on. */
void __wrap_t3_fabric_free(struct t3_fabric *fabric)
{
	struct run **at = &first, *r;

	while ((r = *at)) {
		bool sends = r->link && r->link->fabric == fabric;
		bool receives = r->half && r->half->fabric == fabric;

		r->blind |= sends || receives;
		r->link = sends ? NULL : r->link;
		r->half = receives ? NULL : r->half;
		if (r->link || r->half) {
			at = &r->next;
		} else {
			*at = r->next;
			end(r);
		}
	}
	__real_t3_fabric_free(fabric);
}

static struct run *run_of(const struct t3_link *link)
{
	struct run **at = &first, *r;

	while ((r = *at) && r->link != link && r->half != link)
		at = &r->next;
	if (!r)
		abort(); /* a link that nobody has begun */
	*at = r->next;
	r->next = first;
	first = r;
	return r;
}

/* An incarnation may have begun since the last event. */
static struct run *look(const struct t3_link *link)
{
	struct run *r = run_of(link);

	if (link != r->link)
		return r;
	if (r->incarnation != link->incarnation)
		add(r, (struct spy_event){ BEGUN, link->incarnation, 0, 0 });
	if (r->incarnation != link->incarnation)
		r->unsent = 0;
	r->incarnation = link->incarnation;
	return r;
}

/* ------------------------------------------------------------------- callbacks */

static uint32_t receive(struct t3_link *link, const struct t3_packet *packet,
			const uint8_t *payload)
{
	applied = true;
	return run_of(link)->ops->receive(link, packet, payload);
}

static void answered(struct t3_link *link, const struct t3_packet *packet, uint32_t status)
{
	struct run *r = look(link);

	add_each(r, status == T3_STATUS_LINK ? GIVEN_UP : ANSWERED, packet);
	r->ops->answered(link, packet, status);
}

void __wrap_t3_link_init(struct t3_link *link, struct t3_fabric *fabric, uint32_t src, uint32_t dst,
			 const struct t3_link_ops *ops)
{
	static struct t3_link_ops spied;
	struct run *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	if (!spied.receive)
		atexit(end_all);
	r->next = first;
	r->link = link;
	r->ops = ops;
	r->src = src;
	r->dst = dst;
	r->incarnation = 1;
	first = r;
	spied = *ops;
	spied.receive = receive;
	spied.answered = answered;
	__real_t3_link_init(link, fabric, src, dst, &spied);
}

/* Of that link between nodes, with one half or both. */
static bool is_of(const struct run *r, const struct run *half)
{
	return r != half && r->src == half->src && r->dst == half->dst && (r->half || r->blind) &&
	       (r->link || r->half);
}

/*
 * A link between nodes has two halves, in one run. Who waits for the other half is blind. A node that
 * comes again has a new half, which nobody waits for; then the old run cannot be seen any more.
 */
static void join(const struct t3_link *link, bool source)
{
	struct run *mine = run_of(link), *r;

	mine->blind = true;
	mine->link = source ? link : NULL;
	mine->half = source ? NULL : link;
	for (r = mine->next; r; r = r->next) {
		if (!is_of(r, mine))
			continue;
		if (!r->blind || (source ? r->link : r->half)) {
			r->blind = true;
			continue;
		}
		if (r->events.count)
			continue; /* its other half has gone */
		r->link = source ? link : r->link;
		r->half = source ? r->half : link;
		r->blind = false;
		first = mine->next;
		end(mine);
		return;
	}
}

void __wrap_t3_link_set_remote(struct t3_link *link, const struct t3_remote_ops *remote,
			       bool source)
{
	if (!link->remote)
		join(link, source);
	__real_t3_link_set_remote(link, remote, source);
}

/* ---------------------------------------------------------------------- events */

void __wrap_t3_wire_transmit(struct t3_link *link, struct t3_slot *slot)
{
	struct run *r = look(link);
	bool first_time = slot->packet.sequence == (uint32_t)r->unsent;

	add_each(r, first_time ? SENT : REPEATED, &slot->packet);
	r->unsent += first_time ? slot->packets : 0;
	__real_t3_wire_transmit(link, slot);
}

/* A burst that is refused has not come. */
bool __wrap_t3_receiver_take(struct t3_link *link, const struct t3_packet *packet,
			     const uint8_t *payload)
{
	uint32_t packets = t3_burst_packets(packet);
	struct run *r = look(link);
	size_t end;
	bool taken;

	add_each(r, TAKEN, packet);
	end = r->events.count;
	applied = false;
	taken = __real_t3_receiver_take(link, packet, payload);
	r = run_of(link); /* there may be more of them now */
	if (!taken && !r->blind)
		r->events.count -= packets;
	for (; taken && applied && !r->blind && packets; packets--)
		r->events.event[end - packets].c = 1;
	applied = false;
	return taken;
}

void __wrap_t3_link_cut(struct t3_link *link)
{
	struct run *r = look(link);

	if (!r->half || link == r->half)
		add(r, (struct spy_event){ CUT, 0, 0, 0 });
	__real_t3_link_cut(link);
}

/* A state is loaded, whose packets the spy has not seen leave. */
void __wrap_t3_link_clear(struct t3_link *link)
{
	__real_t3_link_clear(link);
	run_of(link)->blind = true;
}
