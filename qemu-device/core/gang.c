/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed runs: the descriptors of all ranks that begin one together, and the run itself,
 * which is the native simulator's in slices of the fabric's heap. SPEC.md section 11.8.
 *
 * A state has no run in it: it is made again from its arguments, and catches up.
 */
#include "t3_internal.h"
#include "t3_timed.h"

#define SLICE 1024u /* events of the model for one of the heap, each as much work as that */
#define LEGAL T3_NONE32

_Static_assert(sizeof(struct t3_timed_params) == sizeof(((struct t3_timed_args *)0)->params),
	       "a word for each parameter");

struct t3_timed_args *t3_gang_args(const struct t3_queue *q)
{
	return &q->dev->timed[t3_queue_id(q)];
}

/* ---------------------------------------------------------------- arguments */

static struct t3_timed_setup setup_of(const struct t3_timed_args *args)
{
	struct t3_timed_setup setup = {
		.workload = {
			.rows = args->rows,
			.columns = args->columns,
			.depth = args->depth,
			.element_bytes = args->element_bytes,
			.ranks = args->ranks,
		},
		.program = (enum t3_timed_program)args->program,
		.mirrored = args->flags & T3_TIMED_MIRRORED,
	};

	memcpy(&setup.params, args->params, sizeof(setup.params));
	return setup;
}

static uint32_t bad_param(const struct t3_timed_args *args)
{
	uint32_t i;

	for (i = 0; i < T3_TIMED_PARAMS; i++)
		if (args->params[i] < t3_timed_params[i].min ||
		    args->params[i] > t3_timed_params[i].max)
			return (uint32_t)(offsetof(struct t3_timed_args, params) + 8 * i);
	return LEGAL;
}

/* The links of a run of all ranks are those of the fabric. */
static bool ranks_fit(const struct t3_fabric *fabric, const struct t3_timed_args *args)
{
	return args->flags & T3_TIMED_MIRRORED ? args->ranks >= 2 && args->ranks <= T3_MAX_RANKS
					       : args->ranks == fabric->config.ranks;
}

static bool program_fits(const struct t3_fabric *fabric, const struct t3_timed_args *args)
{
	if (args->program >= T3_TIMED_PROGRAMS)
		return false;
	return args->program != T3_TIMED_DIRECT || args->flags & T3_TIMED_MIRRORED ||
	       fabric->config.topology == T3_TOPOLOGY_FULL;
}

/* Offset of the first bad field; what is wrong as a whole has that of rows. */
static uint32_t bad_args(const struct t3_fabric *fabric, const struct t3_timed_args *args)
{
	struct t3_timed_setup setup = setup_of(args);
	uint32_t at = bad_param(args);
	char why[256];

	if (!program_fits(fabric, args))
		return offsetof(struct t3_timed_args, program);
	if (args->flags & ~T3_TIMED_MIRRORED)
		return offsetof(struct t3_timed_args, flags);
	if (!ranks_fit(fabric, args))
		return offsetof(struct t3_timed_args, ranks);
	if (args->element_bytes != 2 && args->element_bytes != 4)
		return offsetof(struct t3_timed_args, element_bytes);
	if (args->mbz[0] || args->mbz[1] || args->mbz[2])
		return offsetof(struct t3_timed_args, mbz);
	if (at != LEGAL)
		return at;
	return t3_timed_check(&setup, why, sizeof(why)) ? LEGAL
							: offsetof(struct t3_timed_args, rows);
}

uint32_t t3_gang_begin(struct t3_queue *q, uint64_t *detail)
{
	struct t3_timed_args *args = t3_gang_args(q);
	uint32_t at;

	*detail = q->desc.src;
	if (t3_host_read(q->dev, q->desc.src, args, sizeof(*args)))
		return T3_DESC_HOST_DMA;
	at = bad_args(q->dev->fabric, args);
	*detail = sizeof(struct t3_descriptor) + at;
	return at == LEGAL ? T3_DESC_OK : T3_DESC_BAD_DESCRIPTOR;
}

/* ------------------------------------------------------------------ members */

/* Not stopped, and its doorbell not taken back. */
static bool live(const struct t3_queue *q)
{
	return q->state == T3_QUEUE_READY && q->head != q->tail;
}

static bool joins(const struct t3_queue *q, uint32_t phase, const struct t3_timed_args *like)
{
	if (q->phase != phase || (like && memcmp(t3_gang_args(q), like, sizeof(*like)) != 0))
		return false;
	return phase == T3_PHASE_TIMED || (live(q) && !q->hung);
}

/* A rank's first queue, from this one on, that waits for a run or takes part in one. */
static struct t3_queue *find(const struct t3_fabric *fabric, uint32_t rank, uint32_t from,
			     uint32_t phase, const struct t3_timed_args *like)
{
	struct t3_dev *dev = fabric->dev[rank];
	uint32_t i;

	for (i = from; dev && i < T3_MAX_QUEUES; i++)
		if (joins(&dev->queue[i], phase, like))
			return &dev->queue[i];
	return NULL;
}

static bool mirrored(const struct t3_queue *q)
{
	return t3_gang_args(q)->flags & T3_TIMED_MIRRORED;
}

/* Are all there with which this one would run? */
static bool whole(const struct t3_fabric *fabric, const struct t3_queue *q)
{
	uint32_t rank;

	for (rank = 0; !mirrored(q) && rank < fabric->config.ranks; rank++)
		if (!find(fabric, rank, 0, T3_PHASE_GANG, t3_gang_args(q)))
			return false;
	return true;
}

/* One of all ranks is found at its first. */
static struct t3_queue *first_whole(const struct t3_fabric *fabric)
{
	uint32_t rank, from;
	struct t3_queue *q;

	for (rank = 0; rank < fabric->config.ranks; rank++)
		for (from = 0; (q = find(fabric, rank, from, T3_PHASE_GANG, NULL)) != NULL;
		     from = t3_queue_id(q) + 1)
			if ((!rank || mirrored(q)) && whole(fabric, q))
				return q;
	return NULL;
}

static struct t3_queue *first_member(const struct t3_fabric *fabric)
{
	struct t3_queue *q = NULL;
	uint32_t rank;

	for (rank = 0; rank < fabric->config.ranks && !q; rank++)
		q = find(fabric, rank, 0, T3_PHASE_TIMED, NULL);
	return q;
}

/* One that was stopped meanwhile stays as it is, until it is aborted for one. */
static void complete(struct t3_queue *q, uint32_t status, uint64_t detail)
{
	if (!live(q)) {
		q->phase = T3_PHASE_GANG;
		return;
	}
	t3_ring_complete(q, status, detail);
	t3_engine_wake(q->dev);
}

/* All that are left in the run. */
static void complete_all(struct t3_fabric *fabric, uint32_t status, uint64_t detail)
{
	struct t3_queue *q;

	while ((q = first_member(fabric)) != NULL)
		complete(q, status, detail);
}

/* ---------------------------------------------------------------------- run */

void t3_gang_drop(struct t3_fabric *fabric)
{
	t3_timed_free(fabric->gang.run);
	fabric->gang.run = NULL;
}

static void end(struct t3_fabric *fabric)
{
	t3_gang_drop(fabric);
	fabric->gang.running = false;
	t3_gang_wake(fabric);
}

static void start(struct t3_fabric *fabric, struct t3_queue *q)
{
	struct t3_timed_args args = *t3_gang_args(q);
	uint32_t rank;

	q->phase = T3_PHASE_TIMED;
	for (rank = 0; !(args.flags & T3_TIMED_MIRRORED) && rank < args.ranks; rank++)
		if (rank != q->dev->rank)
			find(fabric, rank, 0, T3_PHASE_GANG, &args)->phase = T3_PHASE_TIMED;
	fabric->gang.running = true;
	fabric->gang.host_paced = false;
	fabric->gang.start = fabric->now;
	t3_fabric_schedule(fabric, &fabric->gang.event, fabric->now);
}

static bool have_run(struct t3_fabric *fabric)
{
	struct t3_timed_setup setup;

	if (fabric->gang.run)
		return true;
	setup = setup_of(t3_gang_args(first_member(fabric)));
	fabric->gang.run = t3_timed_new(&setup);
	return fabric->gang.run;
}

static void finish_member(const struct t3_gang *gang, struct t3_queue *q)
{
	uint32_t device = mirrored(q) ? 0 : q->dev->rank;
	struct t3_timed_result result = {
		.start = gang->start,
		.events = t3_timed_events(gang->run),
		.flags = gang->host_paced ? T3_TIMED_HOST_PACED : 0,
		.rank = q->dev->rank,
	};

	if (!live(q)) {
		complete(q, T3_DESC_OK, 0);
		return;
	}
	t3_timed_counters(gang->run, device, &result.counters);
	if (t3_host_write(q->dev, q->desc.dst, &result, sizeof(result)))
		complete(q, T3_DESC_HOST_DMA, q->desc.dst);
	else
		complete(q, T3_DESC_OK, 0);
}

static void finish(struct t3_fabric *fabric)
{
	struct t3_queue *q;

	while ((q = first_member(fabric)) != NULL)
		finish_member(&fabric->gang, q);
	end(fabric);
}

/* When the next slice is due, or the end; after a load the run has to catch up. */
static uint64_t next_time(const struct t3_fabric *fabric)
{
	const struct t3_gang *gang = &fabric->gang;
	uint64_t next = t3_timed_next(gang->run), time;

	if (next == T3_TIMED_NEVER)
		time = gang->start + (t3_timed_now(gang->run) + 999) / 1000;
	else
		time = gang->start + next / 1000;
	return time > fabric->now ? time : fabric->now;
}

static void run(struct t3_fabric *fabric)
{
	struct t3_gang *gang = &fabric->gang;
	uint64_t events, time;

	if (!have_run(fabric)) {
		complete_all(fabric, T3_DESC_MEMORY, 0);
		end(fabric);
		return;
	}
	events = t3_timed_run(gang->run, T3_TIMED_NEVER, SLICE);
	t3_fabric_charge(fabric, 0, (uint32_t)events * T3_EVENT_WORK);
	time = next_time(fabric);
	if (!events && time == fabric->now)
		finish(fabric);
	else
		t3_fabric_schedule(fabric, &gang->event, time);
}

static void fire(struct t3_event *event)
{
	struct t3_fabric *fabric = t3_container_of(event, struct t3_fabric, gang.event);
	struct t3_queue *q;

	if (fabric->gang.running) {
		run(fabric);
		return;
	}
	q = first_whole(fabric);
	if (q)
		start(fabric, q);
}

/* --------------------------------------------------------------------- life */

void t3_gang_init(struct t3_fabric *fabric)
{
	fabric->gang.event.rank = T3_MAX_RANKS; /* behind the ranks */
	fabric->gang.event.fire = fire;
}

/* A gang may have become whole. */
void t3_gang_wake(struct t3_fabric *fabric)
{
	if (fabric && !fabric->gang.running && first_whole(fabric))
		t3_fabric_schedule(fabric, &fabric->gang.event, fabric->now);
}

/* Its descriptor ends before the run does; the caller says how. */
void t3_gang_leave(struct t3_queue *q)
{
	struct t3_fabric *fabric = q->dev->fabric;

	if (q->phase != T3_PHASE_TIMED)
		return;
	q->phase = T3_PHASE_NONE;
	complete_all(fabric, T3_DESC_GANG, q->dev->rank);
	end(fabric);
}

void t3_gang_wipe(struct t3_fabric *fabric)
{
	t3_gang_drop(fabric);
	t3_heap_remove(&fabric->heap, &fabric->gang.event);
	fabric->gang.running = false;
	fabric->gang.host_paced = false;
	fabric->gang.start = 0;
}

/* -------------------------------------------------------------------- rules */

const char *t3_gang_check_queue(const struct t3_queue *q)
{
	return bad_args(q->dev->fabric, t3_gang_args(q)) == LEGAL ? NULL
								  : "a timed run has bad arguments";
}

static bool one_member(const struct t3_fabric *fabric, uint32_t rank,
		       const struct t3_timed_args *args)
{
	struct t3_queue *q = find(fabric, rank, 0, T3_PHASE_TIMED, args);

	return q && !find(fabric, rank, t3_queue_id(q) + 1, T3_PHASE_TIMED, NULL) &&
	       find(fabric, rank, 0, T3_PHASE_TIMED, NULL) == q;
}

/* Those that take part are as many as the run has, and have its arguments. */
static bool members_fit(const struct t3_fabric *fabric)
{
	const struct t3_queue *q = first_member(fabric);
	uint32_t rank;

	if (!q)
		return false;
	for (rank = 0; rank < fabric->config.ranks; rank++) {
		bool wanted = !mirrored(q) || rank == q->dev->rank;

		if (wanted ? !one_member(fabric, rank, t3_gang_args(q))
			   : find(fabric, rank, 0, T3_PHASE_TIMED, NULL) != NULL)
			return false;
	}
	return true;
}

const char *t3_gang_check(const struct t3_fabric *fabric)
{
	const struct t3_gang *gang = &fabric->gang;

	if (!gang->running && first_member(fabric))
		return "a queue takes part in a timed run that there is not";
	if (!gang->running && !gang->event.pos && first_whole(fabric))
		return "a timed run could begin and nobody begins it";
	if (!gang->running)
		return NULL;
	if (!gang->event.pos || gang->start > fabric->now)
		return "a timed run does not go on";
	return members_fit(fabric) ? NULL : "a timed run's ranks do not fit it";
}
