/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a loaded fabric: its links, and the spaces' packets on them. SPEC.md section 13. */
#include "state/state.h"

/* ------------------------------------------------------------------- links */

static const struct t3_slot *slot_of(const struct t3_link *link, uint64_t seq)
{
	return &link->slot[seq % T3_LINK_SLOTS];
}

/* How many packets of the sender's incarnation have arrived. Of a remote link that is not known here. */
static uint64_t arrived(const struct t3_link *link)
{
	if (link->remote)
		return link->next;
	return link->receiver.incarnation == link->incarnation ? link->receiver.expect : 0;
}

/* Is it older than the sender's? */
static bool is_old(const struct t3_link *link, uint32_t incarnation)
{
	return (int32_t)(incarnation - link->incarnation) < 0;
}

static const char *check_sequence(const struct t3_link *link)
{
	uint32_t incarnation = link->receiver.incarnation;
	uint64_t expect = arrived(link);

	if (link->next >= T3_TIME_MAX || link->next - link->una > T3_LINK_SLOTS ||
	    link->una > expect || expect > link->next || link->deliver < link->una ||
	    link->deliver > link->next)
		return "a link's sequence numbers contradict each other";
	if (!link->remote && incarnation && incarnation != link->incarnation &&
	    !is_old(link, incarnation))
		return "a link's receiver is ahead of its sender";
	if (link->retries > T3_LINK_RETRIES)
		return "a link has more retries than allowed";
	return NULL;
}

static const char *check_slot(const struct t3_link *link, uint64_t seq)
{
	const struct t3_slot *slot = slot_of(link, seq);
	const struct t3_packet *packet = &slot->packet;

	if (packet->src_rank != link->src || packet->dst_rank != link->dst ||
	    packet->incarnation != link->incarnation || packet->sequence != (uint32_t)seq)
		return "a packet belongs to another link";
	if (packet->type < T3_PKT_UPDATE || packet->type > T3_PKT_DONE ||
	    packet->src_space >= T3_MAX_SPACES ||
	    (packet->type != T3_PKT_CLAIM && packet->src_segment >= T3_SPACE_SEGMENTS))
		return "a packet's source is out of range";
	if (slot->packets > 1 && (packet->type != T3_PKT_UPDATE || t3_link_any_injected(link)))
		return "a link has a burst, and its packets travel alone";
	if (slot->answered && (seq >= arrived(link) || seq == link->una))
		return "a packet is answered, but has not arrived or is the oldest unanswered one";
	return NULL;
}

/* Does the packet begin a slot, or is it the next one to be sent? */
static bool is_first(const struct t3_link *link, uint64_t packet)
{
	uint64_t seq;

	for (seq = link->una; seq < packet && seq < link->next; seq = t3_link_after(link, seq))
		;
	return seq == packet;
}

/* Is the response for a packet of a burst under way, and not for its first one? */
static bool is_in_burst(const struct t3_link *link, const struct t3_response *response)
{
	uint64_t seq = link->una + (uint32_t)(response->sequence - (uint32_t)link->una);

	return response->incarnation == link->incarnation && seq < link->next &&
	       !is_first(link, seq);
}

static const char *check_responses(const struct t3_link *link)
{
	uint32_t i;

	for (i = 0; i < link->resp_count; i++) {
		const struct t3_response *response =
			&link->response[(link->resp_head + i) % T3_LINK_RESPONSES];
		/* The next packet may have come, and found no room. */
		int32_t busy = response->status == T3_STATUS_BUSY;

		if (!is_old(link, response->incarnation) &&
		    (response->incarnation != link->incarnation ||
		     (int32_t)(response->sequence - (uint32_t)arrived(link)) >= busy))
			return "a response is for a packet that has not arrived";
		if (busy && link->dst != T3_SWITCH_RANK)
			return "a space has answered BUSY";
		if (is_in_burst(link, response))
			return "a response is for a part of a burst";
	}
	return NULL;
}

/* An event must be scheduled if something waits for it. Otherwise the link would hang. */
static const char *check_events(const struct t3_link *link)
{
	bool unanswered = link->una < link->next;

	if (!link->fabric->dev[link->src] &&
	    (unanswered || link->resp_count || link->on_arrival.pos || link->on_response.pos ||
	     link->on_timeout.pos || link->on_pump.pos))
		return "a link is in use, but its source rank has no device";
	if (!!link->resp_count != !!link->on_response.pos)
		return "a link's responses contradict its response event";
	/* A remote link has one only after BUSY. */
	if (link->remote ? !unanswered && link->on_timeout.pos
			 : unanswered != !!link->on_timeout.pos)
		return "a link's unanswered packets contradict its timeout event";
	if (t3_turn_waits(link) && !link->on_pump.pos && !unanswered)
		return "packets wait for a link, but no event will send them";
	if ((link->deliver < link->next) != !!link->on_arrival.pos)
		return "a link's packets on the wire contradict its arrival event";
	/* A packet that is held back arrives later than its slot says. */
	if (link->on_arrival.pos && link->on_arrival.time < slot_of(link, link->deliver)->arrival)
		return "a packet's arrival event is before its arrival time";
	return NULL;
}

static const char *check_link(const struct t3_link *link)
{
	const char *broken = check_sequence(link);
	uint64_t seq;

	for (seq = link->una; !broken && seq < link->next; seq = t3_link_after(link, seq))
		broken = check_slot(link, seq);
	if (!broken && (!is_first(link, link->deliver) || !is_first(link, arrived(link))))
		broken = "a burst has arrived in part";
	if (!broken)
		broken = check_responses(link);
	if (!broken)
		broken = check_events(link);
	return broken;
}

/* --------------------------------------------------------------- in flight */

static uint32_t queued_control(const struct t3_space *space, const struct t3_ctl *ctl)
{
	return ctl->link && ctl->packet.src_generation == t3_space_generation(space);
}

/* Control packets of any generation: t3_space_settle_in_flight() waits for all of them. */
static bool control_waits(const struct t3_space *space)
{
	uint32_t i;

	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (space->route[i].ctl.link || space->import[i].ctl.link)
			return true;
	return false;
}

static uint32_t sent_by(const struct t3_link *link, const struct t3_space *space)
{
	uint32_t count = 0;
	uint64_t seq;

	for (seq = link->una; seq < link->next; seq = t3_link_after(link, seq)) {
		const struct t3_slot *slot = slot_of(link, seq);

		if (!slot->answered && slot->packet.src_space == space->id &&
		    slot->packet.src_generation == t3_space_generation(space))
			count += slot->packets;
	}
	return count;
}

static const char *check_in_flight(const struct t3_space *space)
{
	struct t3_link *const *links = space->dev->fabric->link[space->dev->rank];
	uint32_t i, count = 0;

	for (i = 0; i < T3_FABRIC_ENDS; i++)
		count += links[i] ? sent_by(links[i], space) : 0;
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		count += queued_control(space, &space->route[i].ctl) +
			 queued_control(space, &space->import[i].ctl);
	if (space->in_flight != count)
		return "a space's count of packets in flight is wrong";
	if (space->state == T3_SPACE_DISABLED && !count && !control_waits(space))
		return "a space is DISABLED with nothing in flight";
	if (space->state == T3_SPACE_QUIESCED && (count || control_waits(space)))
		return "a space is QUIESCED with packets in flight";
	return NULL;
}

/* ------------------------------------------------------------------- fabric */

static const char *check_clock(const struct t3_fabric *fabric)
{
	uint32_t i;

	for (i = 0; i < fabric->clock.heap.count; i++)
		if (fabric->clock.heap.slot[i]->time < fabric->clock.now ||
		    fabric->clock.heap.slot[i]->seq >= fabric->clock.heap.seq)
			return "an event is in the past, or its sequence number has not been given";
	return NULL;
}

const char *t3_fabric_check(const struct t3_fabric *fabric)
{
	const char *broken = check_clock(fabric);
	uint32_t a, b, id;

	for (a = 0; a < T3_FABRIC_ENDS && !broken; a++)
		for (b = 0; b < T3_FABRIC_ENDS && !broken; b++)
			if (fabric->link[a][b])
				broken = check_link(fabric->link[a][b]);
	for (a = 0; a < T3_MAX_RANKS && !broken; a++)
		if (fabric->dev[a])
			broken = t3_check_dev(fabric->dev[a]);
	for (a = 0; a < T3_MAX_RANKS && !broken; a++)
		for (id = 0; fabric->dev[a] && !broken &&
			     (id = t3_space_next(fabric->dev[a], id)) < T3_MAX_SPACES;
		     id++)
			broken = check_in_flight(&t3_spaces(fabric->dev[a])->space[id]);
	if (!broken && fabric->sw)
		broken = t3_switch_check(fabric->sw);
	return broken ? broken : t3_gang_check(fabric);
}
