/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows under way between the ranks of tokens and those of experts. SPEC.md section 8.1. A run is
 * the rows that one rank's tokens send to one tile row of an expert. Runs leave expert by expert; of an
 * expert, those to the next rank first. A message has no more than request_bytes of one run.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

static enum t3_timed_way way(const struct timed_device *d)
{
	return d->sim->setup.routing->way;
}

/* The device that is so far after this one. */
static struct timed_device *device_at(const struct timed_device *d, uint32_t distance)
{
	return &d->sim->device[(d->rank + distance) % d->sim->devices];
}

static uint64_t row_bytes(const struct timed_device *d)
{
	const struct t3_timed_workload *w = &d->sim->setup.workload;

	return (way(d) == T3_TIMED_DISPATCH ? w->depth : w->columns) * w->element_bytes;
}

/* The experts to which this device sends rows of this distance, or whose rows it sends back. */
static const struct timed_shape *sending(const struct timed_device *d, uint32_t distance)
{
	return way(d) == T3_TIMED_DISPATCH ? device_at(d, distance)->shape : d->shape;
}

/* The experts whose rows of this distance come to this device. */
static const struct timed_shape *receiving(const struct timed_device *d, uint32_t distance)
{
	return way(d) == T3_TIMED_DISPATCH ? d->shape : device_at(d, distance)->shape;
}

/* Rows of the run that begins at this row. */
static uint32_t run_rows(const struct timed_shape *s, const struct timed_expert *e, uint32_t row,
			 uint32_t distance)
{
	uint32_t end = e->start[distance + 1], tile_end = (row / s->tile_rows + 1) * s->tile_rows;

	return (end < tile_end ? end : tile_end) - row;
}

/* ---------------------------------------------------------------------- sizes */

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Messages that a run makes: a combine stores it tile by tile, other programs send it whole. */
static uint64_t run_messages(const struct timed_device *d, uint32_t rows)
{
	const struct timed_shape *s = timed_shape(d);

	if (timed_combines(d->sim))
		return ceil_div(rows, s->piece_rows) * s->grid_columns;
	return ceil_div(rows * row_bytes(d), s->request_bytes);
}

/* Messages of all runs of this distance. */
static uint64_t messages_of(const struct timed_device *d, const struct timed_shape *s,
			    uint32_t distance)
{
	uint64_t count = 0;
	uint32_t i, row, rows;

	for (i = 0; i < s->experts; i++) {
		const struct timed_expert *e = &s->expert[i];

		for (row = e->start[distance]; row < e->start[distance + 1]; row += rows) {
			rows = run_rows(s, e, row, distance);
			count += run_messages(d, rows);
		}
	}
	return count;
}

static uint64_t bytes_of(const struct timed_device *d, const struct timed_shape *s,
			 uint32_t distance)
{
	uint64_t rows = 0;
	uint32_t i;

	for (i = 0; i < s->experts; i++)
		rows += s->expert[i].start[distance + 1] - s->expert[i].start[distance];
	return rows * row_bytes(d);
}

/* Messages that come from peers. */
static uint64_t messages(const struct timed_device *d)
{
	uint64_t count = 0;
	uint32_t distance;

	for (distance = 1; distance < timed_shape(d)->ranks; distance++)
		count += messages_of(d, receiving(d, distance), distance);
	return count;
}

uint32_t timed_routed_stores(const struct timed_device *d)
{
	return (uint32_t)messages_of(d, d->shape, 0);
}

uint64_t timed_routed_requests(const struct timed_device *d)
{
	uint64_t stores = timed_combines(d->sim) ? timed_routed_stores(d) : 0;

	return d->routed.port.size + d->routed.window + stores;
}

/* ----------------------------------------------------------------------- life */

static bool init_left(struct timed_device *d)
{
	const struct timed_shape *s = d->shape;
	struct timed_routed *r = &d->routed;
	uint32_t i, row;

	r->left = calloc((size_t)s->grid_rows + 1, sizeof(r->left[0]));
	for (i = 0; r->left && i < s->experts; i++) {
		const struct timed_expert *e = &s->expert[i];

		for (row = e->start[1]; row < e->rows; row++)
			r->left[e->first_row + row / s->tile_rows] += row_bytes(d);
	}
	return r->left;
}

bool timed_routed_init(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	struct timed_routed *r = &d->routed;
	uint32_t distance;

	r->window = timed_dispatches(d->sim) ? s->read_ahead : s->copy_window;
	for (distance = 1; distance < s->ranks; distance++) {
		r->expected += bytes_of(d, receiving(d, distance), distance);
		r->to_send += bytes_of(d, sending(d, distance), distance);
	}
	if (timed_combines(d->sim))
		r->to_send = 0; /* its workgroups store them */
	r->next.distance = 1;
	r->next.row = sending(d, 1)->expert[0].start[1];
	return timed_ring_init(&r->reads, r->window) &&
	       timed_ring_init(&r->port, messages(d) + 1) && init_left(d);
}

void timed_routed_free(struct timed_device *d)
{
	free(d->routed.left);
	free(d->routed.reads.message);
	free(d->routed.port.message);
	timed_experts_free(&d->own);
}

/* ----------------------------------------------------------------------- send */

/* Moves the cursor to rows that there are. */
static void seek(const struct timed_device *d, struct timed_cursor *c)
{
	while (c->row == sending(d, c->distance)->expert[c->expert].start[c->distance + 1]) {
		if (++c->distance == timed_shape(d)->ranks) {
			c->distance = 1;
			c->expert++;
		}
		if (c->expert == timed_shape(d)->experts)
			return;
		c->row = sending(d, c->distance)->expert[c->expert].start[c->distance];
	}
}

/* The next message, which there is. The cursor moves on. */
static struct timed_message next_message(struct timed_device *d)
{
	struct timed_cursor *c = &d->routed.next;
	const struct timed_shape *s;
	const struct timed_expert *e;
	struct timed_message message = { .kind = TIMED_MESSAGE_ROWS };
	uint64_t left;
	uint32_t rows;

	seek(d, c);
	s = sending(d, c->distance);
	e = &s->expert[c->expert];
	rows = run_rows(s, e, c->row, c->distance);
	left = rows * row_bytes(d) - c->sent;
	message.bytes = left < s->request_bytes ? (uint32_t)left : s->request_bytes;
	message.piece = e->first_row + c->row / s->tile_rows;
	message.distance =
		(uint16_t)(way(d) == T3_TIMED_DISPATCH ? c->distance : s->ranks - c->distance);
	message.sender = TIMED_SENDER_ROUTED;
	if (!c->sent)
		d->counters.triggers += timed_dispatches(d->sim);
	c->sent += message.bytes;
	if (message.bytes == left) {
		c->row += rows;
		c->sent = 0;
	}
	return message;
}

static void pump(struct timed_device *d)
{
	struct timed_routed *r = &d->routed;

	while (r->taken < r->to_send && r->flying < r->window) {
		struct timed_message message = next_message(d);
		struct timed_request request = { .bytes = message.bytes, .kind = T3_TIMED_AG_READ };

		request.owner = TIMED_OWNER_ROUTED;
		r->taken += message.bytes;
		r->flying++;
		timed_ring_push(&r->reads, &message);
		timed_memory_add(d, TIMED_COMMUNICATION, &request);
	}
}

void timed_routed_read(struct timed_device *d, const struct timed_request *request)
{
	struct timed_message message = timed_ring_pop(&d->routed.reads);

	message.time = d->sim->now + timed_params(d)->memory_latency_ns * TIMED_NS;
	if (!timed_dispatches(d->sim)) /* compute units load it */
		message.time = timed_copy_pace(d, message.time, request->bytes);
	timed_link_send(d, &message);
}

/* An all-to-all is over when its rows are sent and have come. */
static void progress(struct timed_device *d)
{
	if (d->copy.kind == TIMED_COPY_ROUTED && timed_routed_over(d))
		d->copy.kind = TIMED_COPY_NONE;
	d->sim->ops->progress(d);
}

void timed_routed_sent(struct timed_device *d, uint32_t bytes)
{
	struct timed_routed *r = &d->routed;

	r->flying--;
	r->sent += bytes;
	pump(d);
	progress(d);
}

void timed_routed_dispatch(struct timed_device *d)
{
	pump(d);
}

/*
 * As kernels of a collective wait for those of all ranks, none begins before the last one. In turns, the
 * last one need not be the latest.
 */
void timed_routed_enter(struct timed_device *d)
{
	struct t3_timed *sim = d->sim;
	uint32_t i;

	d->copy.kind = TIMED_COPY_ROUTED;
	if (sim->entered_at < sim->now)
		sim->entered_at = sim->now;
	if (++sim->entered < sim->devices)
		return;
	sim->now = sim->entered_at;
	sim->turn_end = 0;
	for (i = 0; i < sim->devices; i++) {
		struct timed_device *at = &sim->device[i];

		timed_copy_hire(at);
		at->routed.window = at->copy.window;
		pump(at);
		timed_agenda_settle(at);
	}
	for (i = 0; i < sim->devices; i++)
		progress(&sim->device[i]);
}

/* -------------------------------------------------------------------- receive */

/*
 * The port takes messages of all peers at the rate of a link. One that comes while it is busy
 * waits, as long as it takes: no sender is held up.
 */
void timed_routed_arrival(struct timed_device *d, const struct timed_message *message)
{
	struct timed_routed *r = &d->routed;
	uint64_t in = r->port_free + timed_cost(d, message->bytes)->link;
	bool first = !r->port.count;

	r->port_free = in > d->sim->now ? in : d->sim->now;
	if (first && r->port_free == d->sim->now) {
		timed_link_receive(d, message);
		return;
	}
	timed_ring_push(&r->port, message)->time = r->port_free;
	if (first)
		timed_schedule(d, r->port_free, TIMED_EVENT_PORT, 0);
}

void timed_routed_port(struct timed_device *d)
{
	struct timed_ring *port = &d->routed.port;
	struct timed_message message = timed_ring_pop(port);

	if (port->count)
		timed_schedule(d, port->message[port->head].time, TIMED_EVENT_PORT, 0);
	timed_link_receive(d, &message);
}

void timed_routed_came(struct timed_device *d, const struct timed_request *request)
{
	struct timed_routed *r = &d->routed;

	r->came += request->bytes;
	if (timed_dispatches(d->sim)) {
		r->left[request->number] -= request->bytes;
		if (!r->left[request->number])
			timed_gemm_rows_came(d, request->number);
	}
	progress(d);
}

bool timed_routed_has_rows(const struct timed_device *d, uint32_t tile_row)
{
	return !d->routed.left[tile_row];
}

bool timed_routed_over(const struct timed_device *d)
{
	return d->routed.sent == d->routed.to_send && d->routed.came == d->routed.expected;
}

bool timed_routed_alone(const struct timed_device *d)
{
	if (!timed_routes(d->sim) || timed_combines(d->sim))
		return false;
	return timed_routed_over(d) || (!timed_fused(d->sim) && d->sim->entered < d->sim->devices);
}

/* -------------------------------------------------------------------- combine */

static const struct timed_expert *expert_of(const struct timed_shape *s,
					    const struct timed_place *place, uint32_t *row)
{
	const struct timed_expert *e = &s->expert[place->column / s->grid_columns];

	*row = (place->row - e->first_row) * s->tile_rows;
	return e;
}

bool timed_routed_leaves(const struct timed_device *d, const struct timed_place *place)
{
	uint32_t row;
	const struct timed_expert *e = expert_of(timed_shape(d), place, &row);

	return row + place->rows > e->start[1];
}

/* Adds rows to those of their tokens, at this device's memory or at a peer's. */
static void store_rows(struct timed_device *d, uint32_t distance, uint32_t bytes)
{
	struct timed_message message = { .time = d->sim->now, .bytes = bytes };
	struct timed_request request = { .bytes = bytes, .kind = T3_TIMED_GEMM_WRITE };

	if (!distance) {
		request.owner = TIMED_OWNER_STORED;
		request.update = true;
		timed_memory_add(d, TIMED_COMPUTE, &request);
		return;
	}
	message.kind = TIMED_MESSAGE_SUM;
	message.sender = TIMED_SENDER_STORE;
	message.distance = (uint16_t)(timed_shape(d)->ranks - distance);
	timed_link_send(d, &message);
}

void timed_routed_store(struct timed_device *d, const struct timed_place *place)
{
	const struct timed_shape *s = timed_shape(d);
	uint32_t row, end, distance = 0, rows;
	const struct timed_expert *e = expert_of(s, place, &row);

	for (end = row + place->rows; row < end; row += rows) {
		while (row >= e->start[distance + 1])
			distance++;
		rows = run_rows(s, e, row, distance);
		rows = rows < s->piece_rows ? rows : s->piece_rows;
		store_rows(d, distance, rows * place->columns * s->element_bytes);
	}
}
