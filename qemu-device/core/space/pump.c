/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets that wait for a link: for each client control packets, then ready blocks (block.c).
 * SPEC.md section 5. The lists are bounded, because a control packet is a member of its route
 * or import.
 */
#include "space/space_private.h"

/* Lets queues that wait for the link try again. */
static void credit(struct t3_link *link)
{
	if (link->engine_waits)
		t3_spaces(link->fabric->dev[link->src])->ops->credit(link);
}

void t3_pump_kick(struct t3_link *link)
{
	credit(link);
	if (!link->on_pump.pos && t3_turn_waits(link))
		t3_clock_schedule(&link->fabric->clock, &link->on_pump, link->fabric->clock.now);
}

/* --------------------------------------------------------- control packets */

static bool counted(const struct t3_ctl *ctl)
{
	return ctl->packet.src_generation == t3_space_generation(ctl->space);
}

void t3_pump_append_control(struct t3_link *link, struct t3_ctl *ctl)
{
	struct t3_turn *turn = &link->turn[ctl->space->client];

	ctl->next = NULL;
	ctl->link = link;
	if (turn->ctl_tail)
		turn->ctl_tail->next = ctl;
	else
		turn->ctl_head = ctl;
	turn->ctl_tail = ctl;
	t3_turn_note(link, ctl->space->client);
}

/* A newer message replaces one that has not been sent. */
void t3_pump_control(struct t3_space *space, struct t3_link *link, struct t3_ctl *ctl,
		     const struct t3_packet *packet)
{
	if (!ctl->link || !counted(ctl))
		space->in_flight++;
	ctl->space = space;
	if (!ctl->link)
		t3_pump_append_control(link, ctl);
	ctl->packet = *packet;
	t3_pump_kick(link);
}

static void remove_control(struct t3_ctl *ctl)
{
	struct t3_link *link = ctl->link;
	struct t3_turn *turn = &link->turn[ctl->space->client];
	struct t3_ctl **place = &turn->ctl_head, *before = NULL;

	for (; *place != ctl; place = &before->next)
		before = *place;
	*place = ctl->next;
	if (turn->ctl_tail == ctl)
		turn->ctl_tail = before;
	ctl->link = NULL;
	t3_turn_note(link, ctl->space->client);
}

void t3_pump_drop_control(struct t3_ctl *ctl)
{
	if (!ctl->link)
		return;
	if (counted(ctl))
		ctl->space->in_flight--;
	remove_control(ctl);
}

static bool is_about(const struct t3_space *space, uint32_t import, const struct t3_packet *packet)
{
	return packet->type == T3_PKT_STATE && packet->src_space == space->id &&
	       packet->src_generation == t3_space_generation(space) && packet->import == import;
}

static bool is_to(const struct t3_packet *packet, const struct t3_cmd_import_set *source)
{
	return packet->dst_rank == source->src_rank && packet->dst_space == source->src_space &&
	       packet->dst_generation == source->src_generation;
}

static bool link_has_state(const struct t3_link *link, const struct t3_space *space,
			   uint32_t import, const struct t3_cmd_import_set *source)
{
	uint64_t seq;

	for (seq = link->una; seq < link->next; seq = t3_link_after(link, seq)) {
		const struct t3_slot *slot = &link->slot[seq % T3_LINK_SLOTS];

		if (!slot->answered && is_about(space, import, &slot->packet) &&
		    (!source || is_to(&slot->packet, source)))
			return true;
	}
	return false;
}

/*
 * If an entry were set again for a source that is still to hear of an earlier grant's end, it would
 * take that for the end of the new one. Others may have had the entry since. NULL: any source.
 */
bool t3_pump_has_state(const struct t3_space *space, uint32_t import,
		       const struct t3_cmd_import_set *source)
{
	const struct t3_fabric *fabric = space->dev->fabric;
	uint32_t rank;

	for (rank = 0; fabric && rank < T3_FABRIC_ENDS; rank++) {
		const struct t3_link *link = fabric->link[space->dev->rank][rank];

		if (link && link_has_state(link, space, import, source))
			return true;
	}
	return false;
}

/* For clearing a device: it clears the packets' owners, too. */
void t3_pump_drop_all(struct t3_link *link)
{
	t3_turn_clear(link);
	link->engine_waits = false;
}

static uint32_t send_control(struct t3_link *link, struct t3_ctl *ctl)
{
	remove_control(ctl);
	t3_link_send(link, &ctl->packet, NULL, 0);
	t3_space_settle_in_flight(ctl->space);
	return sizeof(ctl->packet);
}

/* Returns how many packets were sent, or 1. A burst is one turn. */
static uint32_t serve(struct t3_link *link, uint32_t client)
{
	struct t3_ctl *ctl = link->turn[client].ctl_head;
	uint32_t free = t3_link_free_slots(link), sent;
	uint32_t bytes = ctl ? send_control(link, ctl) : t3_block_serve(link, client);

	t3_share_serve(&link->share, client, bytes);
	sent = free - t3_link_free_slots(link);
	return sent ? sent : 1;
}

void t3_pump_fire(struct t3_link *link)
{
	uint32_t batch, client;

	for (batch = 0; batch < T3_PUMP_BATCH;) {
		client = t3_turn_next(link);
		if (client == T3_NONE32 ||
		    t3_link_free_slots(link) <= T3_LINK_RESERVE + link->wanted)
			break; /* nothing waits, or the next response calls t3_pump_kick() */
		batch += serve(link, client);
	}
	if (batch < T3_PUMP_BATCH) {
		credit(link);
		return;
	}
	t3_pump_kick(link);
}

/* ------------------------------------------------- responses at the source */

static void reject(struct t3_space *space, const struct t3_packet *packet, uint32_t status)
{
	bool link_lost = status == T3_STATUS_LINK;
	bool update = packet->type == T3_PKT_UPDATE;
	struct t3_fault_record record = {
		.kind = link_lost ? T3_FAULT_LINK : T3_FAULT_REJECTED,
		.detail = link_lost ? 0 : status,
		.segment = update ? packet->src_segment : T3_NONE32,
		.tile = T3_NONE32,
		.offset = T3_NONE64,
		.src_rank = packet->dst_rank,
	};

	t3_space_fail(space, &record);
}

/*
 * The segment may be unmapped already. A guest's kernel that overwrites counter records can
 * end an epoch while packets of it are in flight.
 */
static void acked(struct t3_space *space, const struct t3_packet *packet)
{
	struct t3_segment *segment = space->segment[packet->src_segment];

	if (segment)
		t3_epoch_segment_acked(segment, packet->length);
}

/* `status` is t3_nak or T3_STATUS_LINK. */
void t3_pump_response(struct t3_link *link, const struct t3_packet *packet, uint32_t status)
{
	struct t3_dev *dev = link->fabric->dev[link->src];
	struct t3_space *space = &t3_spaces(dev)->space[packet->src_space];
	/* A NAK of STATE or POISON only says that the receiver is gone. A lost link is a fault. */
	bool matters = packet->type == T3_PKT_UPDATE || packet->type == T3_PKT_ARM_QUERY ||
		       status == T3_STATUS_LINK;

	if (space->state == T3_SPACE_FREE || packet->src_generation != t3_space_generation(space))
		return;
	space->in_flight -= t3_burst_packets(packet);
	if (packet->type == T3_PKT_CLAIM)
		t3_key_answered(space, packet, status);
	else if (status != T3_NAK_NONE && matters)
		reject(space, packet, status);
	else if (packet->type == T3_PKT_UPDATE && space->state == T3_SPACE_ARMED)
		acked(space, packet);
	t3_space_settle_in_flight(space);
}
