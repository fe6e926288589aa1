/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phases that are computed once. A collective that begins when nothing is under
 * way depends on the output's shape and on little of the device. So a phase with the same key takes
 * as long, counts the same, and leaves the memory in the same state.
 */
#include <stdlib.h>
#include <string.h>

#include "timed/timed_private.h"

#define MAX_PHASES 512u
#define COUNTERS   (sizeof(struct t3_timed_counters) / sizeof(uint64_t))
#define QUEUE_PEAK (offsetof(struct t3_timed_counters, queue_peak) / sizeof(uint64_t))

/* Words only, so that keys are compared by their bytes. */
struct key {
	struct t3_timed_params params;
	uint64_t rows, columns, element_bytes, ranks, nodes;
	uint64_t chunks, collective, kind, level;
	/* of the memory: the arbitration, and what the first request may have to change */
	uint64_t mca, turns, threshold, writes, run, last;
};

struct timed_past {
	struct key key;
	uint64_t ps, events;
	uint64_t counters[COUNTERS]; /* what the phase adds to each; the peak in the phase */
	struct timed_memory memory;  /* its end state, of which a few fields are used */
};

struct t3_timed_recall {
	struct timed_past *phase; /* MAX_PHASES */
	uint32_t count;
};

struct t3_timed_recall *t3_timed_recall_new(void)
{
	struct t3_timed_recall *recall = calloc(1, sizeof(*recall));

	if (recall)
		recall->phase = malloc(MAX_PHASES * sizeof(recall->phase[0]));
	if (!recall || !recall->phase) {
		free(recall);
		return NULL;
	}
	return recall;
}

void t3_timed_recall_free(struct t3_timed_recall *recall)
{
	if (recall)
		free(recall->phase);
	free(recall);
}

static void read_counters(const struct timed_device *d, uint64_t *words)
{
	memcpy(words, &d->counters, sizeof(d->counters));
}

/* A device is at rest when its agenda has no event, and its memory no request. */
static bool at_rest(const struct timed_device *d)
{
	const struct timed_agenda *a = &d->agenda;
	const struct timed_memory *m = &d->memory;

	return a->memory.time == T3_TIMED_NEVER && a->link.time == T3_TIMED_NEVER &&
	       a->neighbour.time == T3_TIMED_NEVER && !a->run.count && !a->heap.count &&
	       m->current == TIMED_NONE && !m->entries &&
	       m->stream[TIMED_COMPUTE].head == TIMED_NONE &&
	       m->stream[TIMED_COMMUNICATION].head == TIMED_NONE;
}

/*
 * The first request is a read. If the memory wrote before, it changes direction, and how much it
 * wrote is of no matter. When communication was admitted last is of none, either: no request waits
 * that is older than the phase.
 */
static void make_key(const struct timed_device *d, enum timed_copy_kind kind,
		     enum timed_level level, struct key *key)
{
	const struct t3_timed_workload *w = &d->sim->setup.workload;
	const struct timed_memory *m = &d->memory;

	*key = (struct key){
		.params = d->sim->setup.params,
		.rows = w->rows,
		.columns = w->columns,
		.element_bytes = w->element_bytes,
		.ranks = w->ranks,
		.nodes = w->nodes,
		.chunks = w->chunks,
		.collective = w->collective,
		.kind = kind,
		.level = level,
		.mca = m->mca,
		.turns = m->turns,
		.threshold = m->threshold,
		.writes = m->writes,
		.run = m->writes ? 0 : m->run,
		.last = m->last,
	};
}

static const struct timed_past *find(const struct t3_timed_recall *recall, const struct key *key)
{
	uint32_t i;

	for (i = 0; i < recall->count; i++)
		if (!memcmp(&recall->phase[i].key, key, sizeof(*key)))
			return &recall->phase[i];
	return NULL;
}

bool timed_recall_begin(struct timed_device *d, enum timed_copy_kind kind, enum timed_level level)
{
	struct t3_timed_recall *recall = d->sim->setup.recall;
	struct timed_recording *r = &d->recording;
	struct key key;

	r->to = NULL;
	if (!recall || d->sim->devices > 1 || timed_shares(d->sim) || timed_traces(d) ||
	    !at_rest(d))
		return false;
	make_key(d, kind, level, &key);
	r->from = find(recall, &key);
	r->started = d->sim->now;
	r->events = d->sim->events;
	if (r->from) {
		d->copy.kind = (uint8_t)kind;
		timed_schedule(d, d->sim->now + r->from->ps, TIMED_EVENT_RECALLED, 0);
		return true;
	}
	if (recall->count == MAX_PHASES)
		return false;
	r->to = &recall->phase[recall->count];
	r->to->key = key;
	r->queue_peak = d->counters.queue_peak;
	d->counters.queue_peak = 0;
	read_counters(d, r->to->counters);
	return false;
}

void timed_recall_end(struct timed_device *d)
{
	struct timed_recording *r = &d->recording;
	uint64_t words[COUNTERS], peak = d->counters.queue_peak;
	struct timed_past *phase = r->to;
	size_t i;

	if (!phase)
		return;
	r->to = NULL;
	read_counters(d, words);
	if (peak < r->queue_peak)
		d->counters.queue_peak = r->queue_peak;
	if (!at_rest(d))
		return;
	for (i = 0; i < COUNTERS; i++)
		phase->counters[i] = words[i] - phase->counters[i];
	phase->counters[QUEUE_PEAK] = peak;
	phase->ps = d->sim->now - r->started;
	phase->events = d->sim->events - r->events;
	phase->memory = d->memory;
	phase->memory.communicated -= r->started;
	d->sim->setup.recall->count++;
}

void timed_recall_event(struct timed_device *d)
{
	const struct timed_past *phase = d->recording.from;
	struct timed_memory *m = &d->memory;
	uint64_t words[COUNTERS];
	size_t i;

	read_counters(d, words);
	for (i = 0; i < COUNTERS; i++)
		if (i != QUEUE_PEAK)
			words[i] += phase->counters[i];
	if (words[QUEUE_PEAK] < phase->counters[QUEUE_PEAK])
		words[QUEUE_PEAK] = phase->counters[QUEUE_PEAK];
	memcpy(&d->counters, words, sizeof(words));
	m->run = phase->memory.run;
	m->writes = phase->memory.writes;
	m->lead = phase->memory.lead;
	m->turn = phase->memory.turn;
	m->last = phase->memory.last;
	m->communicated = d->recording.started + phase->memory.communicated;
	/* This event is one of them. */
	d->sim->events += phase->events - 1;
	d->sim->recalled += phase->events - 1;
	d->copy.kind = TIMED_COPY_NONE;
	d->sim->ops->progress(d);
}
