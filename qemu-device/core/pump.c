/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What waits for a link: control packets, then ready tiles, round robin over
 * segments. Both lists are bounded: a control packet lives in its route or
 * import, a tile's place in the ready list in its counter record. SPEC.md section 5.
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

/* A newer message replaces one that has not been sent. */
void t3_pump_control(struct t3_space *space, struct t3_link *link, struct t3_ctl *ctl,
		     const struct t3_packet *packet)
{
	if (!ctl->link) {
		ctl->next = NULL;
		ctl->link = link;
		if (link->ctl_tail)
			link->ctl_tail->next = ctl;
		else
			link->ctl_head = ctl;
		link->ctl_tail = ctl;
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

static void send_control(struct t3_link *link)
{
	struct t3_ctl *ctl = link->ctl_head;

	pop_control(link);
	t3_link_send(link, &ctl->packet, NULL);
	t3_space_settle_in_flight(ctl->space);
}

/* ------------------------------------------------------------- ready tiles */

static struct t3_link *link_of(const struct t3_segment *segment)
{
	return segment->space->route[segment->route].link;
}

static void append_work(struct t3_link *link, struct t3_segment *segment)
{
	segment->work_next = NULL;
	if (link->work_tail)
		link->work_tail->work_next = segment;
	else
		link->work_head = segment;
	link->work_tail = segment;
	segment->queued = true;
}

static void pop_work(struct t3_link *link)
{
	struct t3_segment *segment = link->work_head;

	link->work_head = segment->work_next;
	if (!link->work_head)
		link->work_tail = NULL;
	segment->queued = false;
}

void t3_pump_add_work(struct t3_segment *segment)
{
	struct t3_link *link = link_of(segment);

	if (segment->queued || segment->space->state != T3_SPACE_ARMED)
		return;
	append_work(link, segment);
	t3_pump_kick(link);
}

/* Ready tiles and a tile that is partly sent are dropped. */
void t3_pump_forget_work(struct t3_segment *segment)
{
	struct t3_segment *before;
	struct t3_link *link;

	segment->ready_head = segment->ready_tail = T3_TILE_NONE;
	segment->ready_count = 0;
	segment->cur_tile = T3_TILE_NONE;
	if (!segment->queued)
		return;
	link = link_of(segment);
	if (link->work_head == segment) {
		pop_work(link);
		return;
	}
	for (before = link->work_head; before->work_next != segment; before = before->work_next)
		;
	before->work_next = segment->work_next;
	if (link->work_tail == segment)
		link->work_tail = before;
	segment->queued = false;
}

bool t3_ready_push(struct t3_segment *segment, uint32_t tile, uint32_t slot)
{
	struct t3_tile_record *record = t3_segment_record(segment, tile);

	if (record->flags & T3_TILE_READY)
		return false;
	record->flags |= T3_TILE_READY;
	record->slot = (uint16_t)slot;
	record->next = T3_TILE_NONE;
	if (segment->ready_count++)
		t3_segment_record(segment, segment->ready_tail)->next = tile;
	else
		segment->ready_head = tile;
	segment->ready_tail = tile;
	t3_pump_add_work(segment);
	return true;
}

static void corrupt(struct t3_segment *segment, uint32_t tile)
{
	t3_space_fail_cpu(segment->space, T3_FAULT_COUNTER, segment, tile, T3_NONE64);
}

/* The records are memory that a guest's kernel could overwrite: check, then use. */
static bool start_tile(struct t3_segment *segment)
{
	uint32_t tile = segment->ready_head;
	struct t3_tile_record record;
	uint64_t where;

	if (t3_poison_in_record(segment, tile, &where)) {
		t3_poison_fault(segment->space, segment, tile, where, segment->space->dev->rank);
		return false;
	}
	record = *t3_segment_record(segment, tile);
	if (!(record.flags & T3_TILE_READY) || record.epoch != segment->space->epoch ||
	    (segment->ready_count > 1 && record.next >= segment->tiles) ||
	    (segment->kind == T3_SEG_REMOTE && record.slot >= segment->slots)) {
		corrupt(segment, tile);
		return false;
	}
	segment->ready_head = record.next;
	if (!--segment->ready_count)
		segment->ready_head = segment->ready_tail = T3_TILE_NONE;
	segment->cur_tile = tile;
	segment->cur_row = 0;
	segment->cur_col = 0;
	return true;
}

static void finish_tile(struct t3_segment *segment)
{
	struct t3_tile_record *record = t3_segment_record(segment, segment->cur_tile);
	uint32_t slot = record->slot;

	record->flags &= (uint16_t)~T3_TILE_READY;
	segment->cur_tile = T3_TILE_NONE;
	if (segment->kind == T3_SEG_REMOTE && slot < segment->slots)
		t3_notify_consumed(segment, slot);
}

/* DMA segments are read from the buffer, REMOTE ones from the staging slot. */
static const uint8_t *source_of(const struct t3_segment *segment, uint32_t row, uint32_t col)
{
	const uint8_t *memory = segment->space->dev->memory;
	uint32_t slot;

	if (segment->kind == T3_SEG_DMA)
		return memory + t3_segment_address(segment, row, col);
	slot = t3_segment_record(segment, segment->cur_tile)->slot % T3_SEG_SLOTS;
	if (slot >= segment->slots)
		slot = 0;
	return memory + segment->staging + segment->slot_stride * slot +
	       (uint64_t)row * segment->pitch + col;
}

/* One UPDATE packet for the segment's target; its link has a free slot. */
void t3_pump_update(struct t3_segment *segment, uint32_t row, uint32_t col, const void *payload,
		    uint32_t bytes)
{
	struct t3_space *space = segment->space;
	const struct t3_route *route = &space->route[segment->route];
	struct t3_packet packet = {
		.type = T3_PKT_UPDATE,
		.op = (uint8_t)segment->target_op,
		.dtype = (uint8_t)segment->dtype,
		.src_space = space->id,
		.src_generation = t3_space_generation(space),
		.dst_space = route->space,
		.dst_generation = route->generation,
		.epoch = space->epoch,
		.import = (uint16_t)route->import,
		.segment = (uint16_t)segment->target_segment,
		.row = segment->target_row + row,
		.col = segment->target_col + col,
		.length = bytes,
		.src_segment = (uint16_t)segment->index,
	};

	space->in_flight++;
	segment->counts.link_bytes += bytes + sizeof(packet);
	t3_link_send(route->link, &packet, payload);
}

static void send_piece(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes)
{
	if (segment->kind == T3_SEG_DMA) {
		segment->counts.dma_bytes += bytes;
		segment->space->dev->counter[T3_COUNTER_DMA_BYTES] += bytes;
	}
	t3_pump_update(segment, row, col, source_of(segment, row, col), bytes);
}

/* What is sent, and the tile's record, which is written when all of it has been. */
static bool source_poisoned(struct t3_segment *segment, const uint8_t *from, uint32_t bytes)
{
	struct t3_space *space = segment->space;
	uint64_t where;

	if (!t3_poison_in_record(segment, segment->cur_tile, &where) &&
	    !t3_poisoned(space->dev, (uint64_t)(from - space->dev->memory), bytes, &where))
		return false;
	t3_poison_fault(space, segment, segment->cur_tile, where, space->dev->rank);
	return true;
}

/* One packet of the segment's current tile. True: that tile is finished. */
static bool send_next(struct t3_segment *segment)
{
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, segment->cur_tile);
	uint32_t row = shape.row + segment->cur_row, col = shape.col + segment->cur_col;
	uint32_t bytes = shape.row_bytes - segment->cur_col;

	if (bytes > T3_PACKET_PAYLOAD)
		bytes = T3_PACKET_PAYLOAD;
	if (source_poisoned(segment, source_of(segment, row, col), bytes))
		return false;
	send_piece(segment, row, col, bytes);
	segment->cur_col += bytes;
	if (segment->cur_col < shape.row_bytes)
		return false;
	segment->cur_col = 0;
	if (++segment->cur_row < shape.rows)
		return false;
	finish_tile(segment);
	return true;
}

static void serve_work(struct t3_link *link)
{
	struct t3_segment *segment = link->work_head;

	link->engine_turn = true;
	if (segment->cur_tile == T3_TILE_NONE && !start_tile(segment))
		return; /* the fault took it off the list */
	if (!send_next(segment))
		return;
	if (link->work_head != segment)
		return; /* finishing it faulted the space */
	pop_work(link);
	if (segment->ready_count)
		append_work(link, segment);
}

void t3_pump_fire(struct t3_event *event)
{
	struct t3_link *link = t3_container_of(event, struct t3_link, on_pump);
	uint32_t batch;

	for (batch = 0; batch < T3_PUMP_BATCH; batch++) {
		uint32_t room = t3_link_free_slots(link);

		if (link->ctl_head && room)
			send_control(link);
		else if (link->work_head && room > T3_LINK_RESERVE)
			serve_work(link);
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
		t3_epoch_segment_acked(space->segment[packet->src_segment], packet->length);
	t3_space_settle_in_flight(space);
}
