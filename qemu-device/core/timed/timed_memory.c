/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory controller. SPEC.md section 8.1. Requests wait in one FIFO for each stream. The
 * arbiter moves them to the channels' queue, which serves runs of one direction. All channels
 * together are one server. A request is spread over them and takes an entry per entry_bytes.
 */
#include <stdlib.h>

#include "timed/timed_private.h"

/* Assumed: so long that opening rows for the other stream takes a hundredth of the time. */
#define TURN_BYTES ((int64_t)1 << 20)

bool timed_memory_init(struct timed_device *d, uint64_t requests)
{
	struct timed_memory *m = &d->memory;
	uint32_t i;

	m->request = malloc(requests * sizeof(m->request[0]));
	if (!m->request)
		return false;
	m->free = TIMED_NONE;
	for (i = 0; i < TIMED_STREAMS; i++)
		m->stream[i] = m->queue[i] = (struct timed_fifo){ TIMED_NONE, TIMED_NONE };
	m->current = TIMED_NONE;
	m->threshold = timed_params(d)->queue_entries;
	m->mca = timed_mca(d->sim);
	m->turns = timed_turns(d->sim);
	return true;
}

/* --------------------------------------------------------------------- lists */

static void append(struct timed_memory *m, struct timed_fifo *fifo, uint32_t i)
{
	m->request[i].next = TIMED_NONE;
	if (fifo->head == TIMED_NONE)
		fifo->head = i;
	else
		m->request[fifo->tail].next = i;
	fifo->tail = i;
}

static uint32_t take(struct timed_memory *m, struct timed_fifo *fifo)
{
	uint32_t i = fifo->head;

	fifo->head = m->request[i].next;
	return i;
}

static bool is_write(const struct timed_request *request)
{
	switch (request->kind) {
	case T3_TIMED_GEMM_WRITE:
	case T3_TIMED_RS_WRITE:
	case T3_TIMED_AG_WRITE:
	case T3_TIMED_TRACKER_WRITE:
		return true;
	default:
		return false;
	}
}

/* ------------------------------------------------------------------- arbiter */

static void occupy(struct timed_device *d, uint64_t entries)
{
	struct timed_memory *m = &d->memory;

	d->counters.queue_entry_ps += m->entries * (d->sim->now - m->changed);
	m->changed = d->sim->now;
	m->entries = entries;
	if (entries > d->counters.queue_peak)
		d->counters.queue_peak = entries;
}

static bool waits(const struct timed_memory *m, enum timed_stream stream)
{
	return m->stream[stream].head != TIMED_NONE;
}

static bool starved(const struct timed_device *d)
{
	const struct timed_memory *m = &d->memory;
	uint64_t limit = timed_params(d)->starvation_ns * TIMED_NS;

	uint64_t since = m->request[m->stream[TIMED_COMMUNICATION].head].since;

	if (m->communicated > since)
		since = m->communicated;
	return d->sim->now - since >= limit;
}

/* Communication-aware arbitration: the next stream; TIMED_STREAMS: none may be admitted. */
static enum timed_stream choose_mca(struct timed_device *d)
{
	struct timed_memory *m = &d->memory;

	if (waits(m, TIMED_COMMUNICATION) && starved(d))
		return TIMED_COMMUNICATION;
	if (waits(m, TIMED_COMPUTE))
		return TIMED_COMPUTE;
	if (waits(m, TIMED_COMMUNICATION) && m->entries < m->threshold)
		return TIMED_COMMUNICATION;
	return TIMED_STREAMS;
}

/* Round-robin by bytes: the stream that was admitted fewer of them, since both wait. */
static enum timed_stream choose_fair(const struct timed_memory *m)
{
	if (!waits(m, TIMED_COMPUTE))
		return waits(m, TIMED_COMMUNICATION) ? TIMED_COMMUNICATION : TIMED_STREAMS;
	if (!waits(m, TIMED_COMMUNICATION) || m->lead < 0)
		return TIMED_COMPUTE;
	return m->lead > 0 ? TIMED_COMMUNICATION : m->turn ^ 1;
}

/* In turns: the stream that has the turn, until it is TURN_BYTES ahead of the other. */
static enum timed_stream choose_turns(const struct timed_memory *m)
{
	int64_t ahead = m->turn == TIMED_COMPUTE ? m->lead : -m->lead;

	if (!waits(m, TIMED_COMPUTE) || !waits(m, TIMED_COMMUNICATION))
		return choose_fair(m);
	return ahead < TURN_BYTES ? (enum timed_stream)m->turn : m->turn ^ 1;
}

static enum timed_stream choose(struct timed_device *d)
{
	if (d->memory.mca)
		return choose_mca(d);
	return d->memory.turns ? choose_turns(&d->memory) : choose_fair(&d->memory);
}

/* The head of the stream is about to be admitted. */
static void account(struct timed_device *d, enum timed_stream stream)
{
	struct timed_memory *m = &d->memory;
	bool both = waits(m, TIMED_COMPUTE) && waits(m, TIMED_COMMUNICATION);
	int64_t bytes = m->request[m->stream[stream].head].bytes;

	if (!both)
		m->lead = 0;
	else
		m->lead += stream == TIMED_COMPUTE ? bytes : -bytes;
	m->turn = (uint8_t)stream;
	if (stream != TIMED_COMMUNICATION)
		return;
	if (m->mca && both)
		d->counters.starved++;
	m->communicated = d->sim->now;
}

static void admit(struct timed_device *d)
{
	struct timed_memory *m = &d->memory;

	for (;;) {
		enum timed_stream stream = choose(d);
		uint64_t entries;
		uint32_t i;

		if (stream == TIMED_STREAMS)
			return;
		i = m->stream[stream].head;
		entries = m->entries + m->request[i].entries;
		if (entries > timed_params(d)->queue_entries)
			return;
		account(d, stream);
		take(m, &m->stream[stream]);
		occupy(d, entries);
		append(m, &m->queue[is_write(&m->request[i])], i);
	}
}

/* ------------------------------------------------------------------- service */

/* Keeps the direction for a run, then changes it if other requests wait. Returns the time. */
static uint64_t turn(struct timed_device *d)
{
	struct timed_memory *m = &d->memory;
	bool here = m->queue[m->writes].head != TIMED_NONE;
	bool there = m->queue[!m->writes].head != TIMED_NONE;

	if (here && (!there || m->run < timed_params(d)->run_kib * 1024))
		return 0;
	m->writes = !m->writes;
	m->run = 0;
	d->counters.memory_turns++;
	return timed_params(d)->turnaround_ns * TIMED_NS;
}

/* The streams use different rows, so the first request after a change opens a row. */
static uint64_t conflict(struct timed_device *d, const struct timed_request *request)
{
	if (request->stream == d->memory.last)
		return 0;
	d->memory.last = request->stream;
	return timed_params(d)->row_conflict_ns * TIMED_NS;
}

static void serve(struct timed_device *d)
{
	struct timed_memory *m = &d->memory;
	uint64_t ps;

	if (m->current != TIMED_NONE)
		return;
	admit(d);
	if (m->queue[0].head == TIMED_NONE && m->queue[1].head == TIMED_NONE)
		return;
	ps = turn(d);
	m->current = take(m, &m->queue[m->writes]);
	m->run += m->request[m->current].bytes;
	ps += conflict(d, &m->request[m->current]);
	ps += m->request[m->current].ps;
	m->started = d->sim->now;
	d->counters.memory_busy += ps;
	if (!m->staged && m->request[m->current].stream == TIMED_COMPUTE)
		m->first_busy += ps;
	timed_schedule(d, d->sim->now + ps, TIMED_EVENT_MEMORY, 0);
}

void timed_memory_event(struct timed_device *d)
{
	struct timed_memory *m = &d->memory;
	uint32_t i = m->current;
	struct timed_request *request = &m->request[i];

	if (timed_traces(d))
		timed_span(d, T3_TIMED_TRACK_COMPUTE_STREAM + request->stream,
			   t3_timed_bytes_name(request->kind), request->bytes, m->started);
	occupy(d, m->entries - request->entries);
	m->current = TIMED_NONE;
	d->sim->ops->served(d, request);
	request->next = m->free;
	m->free = i;
	serve(d);
}

/* A request that no one has used before, or else the one that was served last. */
static uint32_t unused_request(struct timed_memory *m)
{
	uint32_t i = m->free;

	if (i == TIMED_NONE)
		return m->unused++;
	m->free = m->request[i].next;
	return i;
}

void timed_memory_add(struct timed_device *d, enum timed_stream stream,
		      const struct timed_request *request)
{
	const struct timed_cost *cost = timed_cost(d, request->bytes);
	struct timed_memory *m = &d->memory;
	uint32_t i = unused_request(m);
	struct timed_request *added = &m->request[i];

	d->sim->work++;
	added->number = request->number;
	added->bytes = request->bytes;
	added->kind = request->kind;
	added->owner = request->owner;
	added->update = request->update;
	added->stream = (uint8_t)stream;
	added->since = d->sim->now;
	added->entries = cost->entries;
	added->ps = request->update ? cost->update : cost->memory;
	d->counters.memory_bytes[request->kind] += request->bytes;
	append(m, &m->stream[stream], i);
	serve(d);
}

/* The share of the memory's time that the kernel used in its first stage sets the threshold. */
void timed_memory_first_stage(struct timed_device *d)
{
	const struct t3_timed_params *p = timed_params(d);
	struct timed_memory *m = &d->memory;
	uint64_t intensity = m->first_busy / (d->sim->now / 1000 + 1);

	m->staged = true;
	d->counters.intensity = intensity;
	if (!m->mca)
		return;
	if (intensity >= p->intensity_high * 10)
		m->threshold = p->threshold_high;
	else if (intensity >= p->intensity_middle * 10)
		m->threshold = p->threshold_middle;
	else if (intensity >= p->intensity_low * 10)
		m->threshold = p->threshold_low;
}
