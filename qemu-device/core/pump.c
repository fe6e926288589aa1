/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What waits for a link: control packets, then ready blocks (block.c). The list is
 * bounded: a control packet lives in its route or import. SPEC.md section 5.
 */
#include "t3_internal.h"

void t3_pump_kick(struct t3_link *link)
{
	t3_engine_credit(link);
	if (!link->on_pump.pos && (link->ctl_head || link->work_head))
		t3_fabric_schedule(link->fabric, &link->on_pump, link->fabric->now);
}

/* --------------------------------------------------------- control packets */

static bool counted(const struct t3_ctl *ctl)
{
	return ctl->packet.src_generation == t3_space_generation(ctl->space);
}

void t3_pump_append_control(struct t3_link *link, struct t3_ctl *ctl)
{
	ctl->next = NULL;
	ctl->link = link;
	if (link->ctl_tail)
		link->ctl_tail->next = ctl;
	else
		link->ctl_head = ctl;
	link->ctl_tail = ctl;
}

/* A newer message replaces one that has not been sent. */
void t3_pump_control(struct t3_space *space, struct t3_link *link, struct t3_ctl *ctl,
		     const struct t3_packet *packet)
{
	if (!ctl->link) {
		t3_pump_append_control(link, ctl);
		space->in_flight++;
	} else if (!counted(ctl)) {
		space->in_flight++;
	}
	ctl->space = space;
	ctl->packet = *packet;
	t3_pump_kick(link);
}

static void pop_control(struct t3_link *link)
{
	struct t3_ctl *ctl = link->ctl_head;

	link->ctl_head = ctl->next;
	if (!link->ctl_head)
		link->ctl_tail = NULL;
	ctl->link = NULL;
}

void t3_pump_forget_control(struct t3_ctl *ctl)
{
	struct t3_link *link = ctl->link;
	struct t3_ctl *before;

	if (!link)
		return;
	if (counted(ctl))
		ctl->space->in_flight--;
	if (link->ctl_head == ctl) {
		pop_control(link);
		return;
	}
	for (before = link->ctl_head; before->next != ctl; before = before->next)
		;
	before->next = ctl->next;
	if (link->ctl_tail == ctl)
		link->ctl_tail = before;
	ctl->link = NULL;
}

/* Their owners are gone or about to go. */
void t3_pump_forget_all(struct t3_link *link)
{
	link->ctl_head = link->ctl_tail = NULL;
	link->work_head = link->work_tail = NULL;
	link->engine_waits = link->engine_turn = false;
}

static void send_control(struct t3_link *link)
{
	struct t3_ctl *ctl = link->ctl_head;

	pop_control(link);
	t3_link_send(link, &ctl->packet, NULL);
	t3_space_settle_in_flight(ctl->space);
}

void t3_pump_fire(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_pump);
	uint32_t batch;

	for (batch = 0; batch < T3_PUMP_BATCH; batch++) {
		uint32_t room = t3_link_free_slots(link);

		if (link->ctl_head && room)
			send_control(link);
		else if (link->work_head && room > T3_LINK_RESERVE + link->wanted)
			t3_block_serve(link);
		else
			break; /* idle, or the next response kicks */
	}
	if (batch < T3_PUMP_BATCH) {
		t3_engine_credit(link);
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
 * A guest's kernel that overwrites counter records can end an epoch while packets
 * of it are in flight: the segment may be gone.
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
	struct t3_space *space = &dev->space[packet->src_space];
	/* NAKs of STATE and POISON tell nothing: the receiver has gone. Silence does. */
	bool matters = packet->type == T3_PKT_UPDATE || packet->type == T3_PKT_ARM_QUERY ||
		       status == T3_STATUS_LINK;

	if (space->state == T3_SPACE_FREE || packet->src_generation != t3_space_generation(space))
		return;
	space->in_flight--;
	if (status != T3_NAK_NONE && matters)
		reject(space, packet, status);
	else if (packet->type == T3_PKT_UPDATE && space->state == T3_SPACE_ARMED)
		acked(space, packet);
	t3_space_settle_in_flight(space);
}
