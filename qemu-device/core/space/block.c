/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends blocks of tiles. SPEC.md section 5. Each segment has a list of ready blocks, which is
 * linked through its counter records. Each link has a list of segments with work. A segment is
 * on one such list: that of the link of its block's current route.
 */
#include "space/space_private.h"

/* --------------------------------------------------------------- work lists */

static struct t3_link *link_of(const struct t3_segment *segment)
{
	return segment->space->route[segment->cur_route].link;
}

static struct t3_turn *turn_of(struct t3_link *link, const struct t3_segment *segment)
{
	return &link->turn[segment->space->client];
}

void t3_block_append_work(struct t3_link *link, struct t3_segment *segment)
{
	struct t3_turn *turn = turn_of(link, segment);

	segment->work_next = NULL;
	if (turn->work_tail)
		turn->work_tail->work_next = segment;
	else
		turn->work_head = segment;
	turn->work_tail = segment;
	segment->queued = true;
	t3_turn_note(link, segment->space->client);
}

void t3_block_add_work(struct t3_segment *segment)
{
	if (segment->queued || segment->space->state != T3_SPACE_ARMED)
		return;
	t3_block_append_work(link_of(segment), segment);
	t3_pump_kick(link_of(segment));
}

static void remove_work(struct t3_link *link, struct t3_segment *segment)
{
	struct t3_turn *turn = turn_of(link, segment);
	struct t3_segment **place = &turn->work_head, *before = NULL;

	for (; *place != segment; place = &before->work_next)
		before = *place;
	*place = segment->work_next;
	if (turn->work_tail == segment)
		turn->work_tail = before;
	segment->queued = false;
	t3_turn_note(link, segment->space->client);
}

/* -------------------------------------------------------------- ready lists */

static void end_block(struct t3_segment *segment)
{
	segment->cur_first = T3_TILE_NONE;
	segment->cur_route = segment->routes ? (uint32_t)__builtin_ctz(segment->routes) : 0;
}

/* Drops all ready blocks, and the block that is partly sent. A store that waits will be refused. */
void t3_block_drop_all(struct t3_segment *segment)
{
	segment->ready_head = segment->ready_tail = T3_TILE_NONE;
	segment->ready_count = 0;
	if (segment->queued)
		remove_work(link_of(segment), segment);
	end_block(segment);
	t3_block_end_wait(segment);
}

bool t3_block_push(struct t3_segment *segment, uint32_t tile, uint32_t slot)
{
	struct t3_tile_record *record = t3_segment_record(segment, tile);

	if ((record->flags & T3_TILE_READY) || segment->ready_count == segment->tiles)
		return false;
	record->flags |= T3_TILE_READY;
	record->slot = (uint16_t)slot;
	record->next = T3_TILE_NONE;
	t3_segment_record_done(segment, tile);
	if (segment->ready_count++) {
		t3_segment_record(segment, segment->ready_tail)->next = tile;
		t3_segment_record_done(segment, segment->ready_tail);
	} else {
		segment->ready_head = tile;
	}
	segment->ready_tail = tile;
	t3_block_add_work(segment);
	return true;
}

static void trace(const struct t3_segment *segment, bool sent)
{
	const struct t3_dev *dev = segment->space->dev;

	if (dev->ops.trace_block)
		dev->ops.trace_block(dev->opaque, segment->space->id, segment->index,
				     segment->cur_first, sent);
}

static void corrupt(struct t3_segment *segment, uint32_t tile)
{
	t3_space_fail_cpu(segment->space, T3_FAULT_COUNTER, segment, tile, T3_NONE64);
}

static void start_route(struct t3_segment *segment, uint32_t route)
{
	segment->cur_route = route;
	segment->cur_tile = segment->cur_first;
	segment->cur_row = 0;
	segment->cur_col = 0;
}

/* A guest's kernel can overwrite the records, so a copy is checked before its use. */
static bool start_block(struct t3_segment *segment)
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
	    tile % segment->block_tiles ||
	    (segment->ready_count > 1 && record.next >= segment->tiles) ||
	    (segment->kind == T3_SEG_REMOTE && record.slot >= segment->slots)) {
		corrupt(segment, tile);
		return false;
	}
	segment->ready_head = record.next;
	if (!--segment->ready_count)
		segment->ready_head = segment->ready_tail = T3_TILE_NONE;
	segment->cur_first = tile;
	segment->cur_slot = record.slot;
	start_route(segment, segment->cur_route);
	trace(segment, false);
	return true;
}

/* The block was sent on all routes. */
static void finish_block(struct t3_segment *segment)
{
	trace(segment, true);
	t3_segment_record(segment, segment->cur_first)->flags &= (uint16_t)~T3_TILE_READY;
	t3_segment_record_done(segment, segment->cur_first);
	end_block(segment);
	if (segment->kind == T3_SEG_REMOTE)
		t3_notify_consumed(segment, segment->cur_slot);
}

/* ------------------------------------------------------------------ packets */

/* DMA segments send from the buffer, REMOTE segments from the staging slot. */
static uint64_t source_of(const struct t3_segment *segment, uint32_t row, uint32_t col)
{
	if (segment->kind == T3_SEG_DMA)
		return t3_segment_address(segment, row, col);
	return segment->staging + segment->slot_stride * segment->cur_slot +
	       (uint64_t)row * segment->pitch + col;
}

/* Sends one UPDATE packet, or a burst. The route's link has free slots. */
static void send_update(struct t3_segment *segment, const struct t3_route *route, uint32_t row,
			uint32_t col, const void *payload, uint32_t bytes, uint32_t rows)
{
	uint32_t packets = rows * t3_row_packets(bytes);
	struct t3_space *space = segment->space;
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
		.length = rows * bytes,
		.arg = rows > 1 ? bytes : 0,
		.src_segment = (uint16_t)segment->index,
	};

	space->in_flight += packets;
	segment->counts.link_bytes += packet.length + packets * sizeof(packet);
	t3_link_send(route->link, &packet, payload, segment->pitch);
}

uint32_t t3_block_routes_on_link(const struct t3_segment *segment, uint32_t route)
{
	const struct t3_route *routes = segment->space->route;
	uint32_t left = segment->routes & ((2u << route) - 1), count = 0;

	for (; left; left &= left - 1)
		if (routes[__builtin_ctz(left)].link == routes[route].link)
			count++;
	return count;
}

uint32_t t3_block_room(const struct t3_segment *segment)
{
	uint32_t left, room = T3_LINK_SLOTS;

	for (left = segment->routes; left; left &= left - 1) {
		uint32_t route = (uint32_t)__builtin_ctz(left);
		uint32_t fits = t3_link_free_slots(segment->space->route[route].link) /
				t3_block_routes_on_link(segment, route);

		if (fits < room)
			room = fits;
	}
	return room;
}

/* ----------------------------------------------------- waiting for other nodes */

/* A store that needs fewer slots than one that waits, waits, too. Otherwise it would always be first. */
static bool remote_is_short(const struct t3_link *link, uint32_t slots)
{
	return link->remote &&
	       t3_link_free_slots(link) < (slots > link->wanted ? slots : link->wanted);
}

static void reserve_remote(const struct t3_segment *segment)
{
	uint32_t left;

	for (left = segment->routes; left; left &= left - 1) {
		uint32_t route = (uint32_t)__builtin_ctz(left);
		struct t3_link *link = segment->space->route[route].link;
		uint32_t slots = t3_block_routes_on_link(segment, route);

		if (link->remote && slots > link->wanted)
			link->wanted = slots;
	}
}

bool t3_block_remote_waits(const struct t3_segment *segment)
{
	uint32_t left;

	for (left = segment->routes; left; left &= left - 1) {
		uint32_t route = (uint32_t)__builtin_ctz(left);

		if (remote_is_short(segment->space->route[route].link,
				    t3_block_routes_on_link(segment, route))) {
			reserve_remote(segment);
			return true;
		}
	}
	return false;
}

/* A larger reservation belongs to another store. One that needs no more reserves again when it looks. */
void t3_block_end_wait(const struct t3_segment *segment)
{
	uint32_t left;

	for (left = segment->kind == T3_SEG_REMOTE ? segment->routes : 0; left; left &= left - 1) {
		uint32_t route = (uint32_t)__builtin_ctz(left);
		struct t3_link *link = segment->space->route[route].link;

		if (!link->remote || !link->wanted ||
		    link->wanted > t3_block_routes_on_link(segment, route))
			continue;
		link->wanted = 0;
		t3_pump_kick(link);
	}
}

/* ------------------------------------------------------ waiting within a store */

/* Reserves slots for a waiting store of the CPU, so that tiles and queues do not take them. */
static void set_wanted(const struct t3_segment *segment, bool wanted)
{
	uint32_t left;

	for (left = segment->routes; left; left &= left - 1) {
		uint32_t route = (uint32_t)__builtin_ctz(left);
		struct t3_link *link = segment->space->route[route].link;

		link->wanted = wanted ? t3_block_routes_on_link(segment, route) : 0;
		if (!wanted)
			t3_pump_kick(link);
	}
}

/* Waits once for each link. False: waiting is not possible. */
static bool wait_for_links(const struct t3_segment *segment)
{
	uint32_t left;

	for (left = segment->routes; left; left &= left - 1) {
		uint32_t route = (uint32_t)__builtin_ctz(left);

		if (!t3_link_make_room(segment->space->route[route].link,
				       t3_block_routes_on_link(segment, route)))
			return false;
	}
	return true;
}

/* Repeats if control packets took a slot. Each route and import has at most one of them. */
void t3_block_make_room(const struct t3_segment *segment)
{
	if (t3_block_room(segment))
		return;
	set_wanted(segment, true);
	while (!t3_block_room(segment) && wait_for_links(segment))
		;
	set_wanted(segment, false);
}

/* ------------------------------------------------------------------ updates */

void t3_block_update(struct t3_segment *segment, uint32_t row, uint32_t col, const void *payload,
		     uint32_t bytes)
{
	uint32_t left;

	for (left = segment->routes; left; left &= left - 1) {
		const struct t3_route *route = &segment->space->route[__builtin_ctz(left)];

		t3_turn_charge(route->link, segment->space->client,
			       bytes + sizeof(struct t3_packet));
		send_update(segment, route, row, col, payload, bytes, 1);
	}
}

/* `bytes` bytes of each of the rows. */
static void send_piece(struct t3_segment *segment, uint32_t row, uint32_t col, uint32_t bytes,
		       uint32_t rows)
{
	struct t3_dev *dev = segment->space->dev;
	uint64_t from = source_of(segment, row, col);
	const void *payload = t3_mem_read(dev, from, bytes);
	uint32_t i;

	if (segment->kind == T3_SEG_DMA) {
		segment->counts.dma_bytes += rows * bytes;
		dev->counter[T3_COUNTER_DMA_BYTES] += rows * bytes;
	}
	/* The payload has the first row's address. A watcher of memory hears of each row. */
	for (i = 1; i < rows; i++)
		t3_mem_read(dev, from + (uint64_t)i * segment->pitch, bytes);
	send_update(segment, &segment->space->route[segment->cur_route], row, col, payload, bytes,
		    rows);
}

/* Checks the bytes to be sent, and the block's record, which is written at the block's end. */
static bool source_poisoned(struct t3_segment *segment, uint64_t from, uint32_t bytes)
{
	struct t3_space *space = segment->space;
	uint64_t where;

	if (!t3_poison_in_record(segment, segment->cur_first, &where) &&
	    !t3_poisoned(space->dev, from, bytes, &where))
		return false;
	t3_poison_fault(space, segment, segment->cur_tile, where, space->dev->rank);
	return true;
}

/* The packets that may leave at once: those of a burst if nobody else waits for the link. */
static uint32_t most_packets(const struct t3_segment *segment)
{
	const struct t3_link *link = link_of(segment);
	const struct t3_space *space = segment->space;
	bool alone = t3_turn_alone(link, space->client) && !t3_poison_any(space->dev);

	return alone ? t3_burst_room(link) : 1;
}

/* Sends a packet or a burst of the current tile: whole rows, or a part of one. True: the last one. */
static bool send_next(struct t3_segment *segment)
{
	struct t3_tile_shape shape = t3_segment_tile_shape(segment, segment->cur_tile);
	uint32_t row = shape.row + segment->cur_row, col = shape.col + segment->cur_col;
	uint32_t bytes = shape.row_bytes - segment->cur_col, most = most_packets(segment);
	uint32_t rows = segment->cur_col ? 1 : most / t3_row_packets(bytes);

	if (rows > shape.rows - segment->cur_row)
		rows = shape.rows - segment->cur_row;
	if (!rows)
		rows = 1;
	if (bytes > most * T3_PACKET_PAYLOAD)
		bytes = most * T3_PACKET_PAYLOAD;
	if (source_poisoned(segment, source_of(segment, row, col), bytes))
		return false;
	send_piece(segment, row, col, bytes, rows);
	t3_segment_expect(segment, source_of(segment, row, col), bytes, rows, shape.row_bytes);
	segment->cur_col += bytes;
	if (segment->cur_col < shape.row_bytes)
		return false;
	segment->cur_col = 0;
	segment->cur_row += rows;
	if (segment->cur_row < shape.rows)
		return false;
	segment->cur_row = 0;
	return true;
}

/* ------------------------------------------------------------------ serving */

/* Advances to the next tile of the block, to its next route, or ends the block. */
static void next_tile(struct t3_segment *segment)
{
	uint32_t later = segment->routes & ~((2u << segment->cur_route) - 1);

	if (++segment->cur_tile < t3_segment_block_end(segment, segment->cur_first))
		return;
	if (later)
		start_route(segment, (uint32_t)__builtin_ctz(later));
	else
		finish_block(segment);
}

/* After each tile the segment goes to the end of its client's list. */
static void end_tile(struct t3_link *link, struct t3_segment *segment)
{
	remove_work(link, segment);
	next_tile(segment);
	if (segment->cur_first == T3_TILE_NONE && !segment->ready_count)
		return; /* no block is left, or the end of the block faulted the space */
	t3_block_append_work(link_of(segment), segment);
	if (link_of(segment) != link)
		t3_pump_kick(link_of(segment));
}

uint32_t t3_block_serve(struct t3_link *link, uint32_t client)
{
	struct t3_segment *segment = link->turn[client].work_head;
	uint64_t sent = segment->counts.link_bytes;
	bool tile_done;

	if (segment->cur_first == T3_TILE_NONE && !start_block(segment))
		return 0; /* the space faulted, which took the segment off the list */
	tile_done = send_next(segment);
	sent = segment->counts.link_bytes - sent;
	if (tile_done)
		end_tile(link, segment);
	return (uint32_t)sent;
}
