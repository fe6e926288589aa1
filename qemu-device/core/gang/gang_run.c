/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Timed runs: finds descriptors of all ranks that can begin together, and runs the timed model
 * in slices, each an event of the fabric. SPEC.md section 11.8.
 *
 * A saved state does not contain the run. After a load it is computed again from its arguments.
 *
 * With several nodes each computes the run for the ranks that it has, in its own virtual time.
 */
#include "gang/gang.h"

#define SLICE	  1024u /* events of the model in one event of the fabric, each charged as one */
#define NOT_WHOLE T3_NONE64
#define MANY	  2u

/* ------------------------------------------------------------------ members */

static bool is_here(const struct t3_fabric *fabric, uint32_t rank)
{
	return !(fabric->config.remote >> rank & 1);
}

/* The rank whose queue stands for a gang of all ranks. */
static uint32_t first_here(const struct t3_fabric *fabric)
{
	uint32_t rank = 0;

	while (!is_here(fabric, rank))
		rank++;
	return rank;
}

/* False: the queue was stopped, or its tail was moved back to the head. */
static bool live(const struct t3_queue *q)
{
	return q->state == T3_QUEUE_READY && q->head != q->tail;
}

static bool joins(const struct t3_queue *q, uint32_t phase, const struct t3_queue *like)
{
	if (q->phase != phase || (like && !t3_gang_alike(q, like)))
		return false;
	return phase == T3_PHASE_TIMED || (live(q) && !q->hung);
}

/* The rank's queue with this phase, and the arguments of `like`, that has waited longest. */
static struct t3_queue *find(const struct t3_fabric *fabric, uint32_t rank, uint32_t phase,
			     const struct t3_queue *like)
{
	struct t3_queue *oldest = NULL, *q;
	struct t3_dev *dev = fabric->dev[rank];
	uint32_t i;

	for (i = 0; dev && i < T3_MAX_QUEUES; i++) {
		q = &t3_queues(dev)->queue[i];
		if (joins(q, phase, like) && (!oldest || q->ticket < oldest->ticket))
			oldest = q;
	}
	return oldest;
}

static bool mirrored(const struct t3_queue *q)
{
	return t3_gang_args(q)->flags & T3_TIMED_MIRRORED;
}

/* When the gang of this queue became whole, as a ticket; NOT_WHOLE: a rank is missing. */
static uint64_t whole_since(const struct t3_fabric *fabric, const struct t3_queue *q)
{
	uint64_t since = q->ticket;
	uint32_t rank;

	for (rank = 0; !mirrored(q) && rank < fabric->config.ranks; rank++) {
		const struct t3_queue *other = find(fabric, rank, T3_PHASE_GANG, q);

		if (!other && is_here(fabric, rank))
			return NOT_WHOLE;
		if (other && other->ticket > since)
			since = other->ticket;
	}
	return since;
}

static uint64_t *served(const struct t3_queue *q)
{
	return &t3_gangs(q->dev)->gang_served[q->client];
}

static bool goes_before(const struct t3_queue *a, uint64_t since_a, const struct t3_queue *b,
			uint64_t since_b)
{
	return *served(a) != *served(b) ? *served(a) < *served(b) : since_a < since_b;
}

/*
 * The next gang to run, by one of its queues. The client that has waited longest for a run goes
 * first. Among its gangs the one that became whole first does. A gang of all ranks is found by
 * its queue at the first rank.
 */
static struct t3_queue *first_whole(const struct t3_fabric *fabric)
{
	struct t3_queue *first = NULL, *q;
	uint64_t best = NOT_WHOLE, since;
	uint32_t rank, i;

	for (rank = 0; rank < fabric->config.ranks; rank++)
		for (i = 0; fabric->dev[rank] && i < T3_MAX_QUEUES; i++) {
			q = &t3_queues(fabric->dev[rank])->queue[i];
			if (!joins(q, T3_PHASE_GANG, NULL) ||
			    (rank != first_here(fabric) && !mirrored(q)))
				continue;
			since = whole_since(fabric, q);
			if (since == NOT_WHOLE || (first && !goes_before(q, since, first, best)))
				continue;
			best = since;
			first = q;
		}
	return first;
}

static struct t3_queue *first_member(const struct t3_fabric *fabric)
{
	struct t3_queue *q = NULL;
	uint32_t rank;

	for (rank = 0; rank < fabric->config.ranks && !q; rank++)
		q = find(fabric, rank, T3_PHASE_TIMED, NULL);
	return q;
}

/* A queue that was stopped meanwhile keeps its descriptor until QUEUE_ABORT. */
static void complete(struct t3_queue *q, uint32_t status, uint64_t detail)
{
	if (!live(q)) {
		q->phase = T3_PHASE_GANG;
		return;
	}
	t3_gang_table_drop(q);
	t3_ring_complete(q, status, detail);
	t3_engine_wake(q->dev);
}

/* Completes the descriptors of all members that are still in the run. */
static void complete_all(struct t3_fabric *fabric, uint32_t status, uint64_t detail)
{
	struct t3_queue *q;

	while ((q = first_member(fabric)) != NULL)
		complete(q, status, detail);
}

/* ---------------------------------------------------------------------- run */

void t3_gang_drop_run(struct t3_fabric *fabric)
{
	t3_timed_free(t3_gang_of(fabric)->run);
	t3_gang_of(fabric)->run = NULL;
}

static void set_running(struct t3_fabric *fabric, bool running)
{
	__atomic_store_n(&t3_gang_of(fabric)->running, running, __ATOMIC_RELAXED);
}

static void end(struct t3_fabric *fabric)
{
	t3_gang_drop_run(fabric);
	set_running(fabric, false);
	t3_gang_of(fabric)->left = 0;
	t3_clock_schedule(&fabric->clock, &t3_gang_of(fabric)->event, fabric->clock.now);
}

static void take_part(struct t3_queue *q)
{
	q->phase = T3_PHASE_TIMED;
	*served(q) = t3_gang_of(q->dev->fabric)->tickets;
}

static void start(struct t3_fabric *fabric, struct t3_queue *q)
{
	uint32_t rank;

	t3_gang_of(fabric)->tickets++;
	take_part(q);
	for (rank = q->dev->rank + 1; !mirrored(q) && rank < t3_gang_args(q)->ranks; rank++)
		if (is_here(fabric, rank))
			take_part(find(fabric, rank, T3_PHASE_GANG, q));
	set_running(fabric, true);
	t3_gang_of(fabric)->host_paced = false;
	t3_gang_of(fabric)->start = fabric->clock.now;
	t3_clock_schedule(&fabric->clock, &t3_gang_of(fabric)->event, fabric->clock.now);
}

static bool have_run(struct t3_fabric *fabric)
{
	if (!t3_gang_of(fabric)->run)
		t3_gang_of(fabric)->run = t3_gang_new(first_member(fabric));
	return t3_gang_of(fabric)->run;
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
	if (!t3_host_write(q->dev, q->desc.dst, &result, sizeof(result)))
		complete(q, T3_DESC_HOST_DMA, q->desc.dst);
	else
		complete(q, T3_DESC_OK, 0);
}

static void finish(struct t3_fabric *fabric)
{
	struct t3_queue *q;

	while ((q = first_member(fabric)) != NULL)
		finish_member(t3_gang_of(fabric), q);
	end(fabric);
}

/* The time of the next slice, or of the end. After a load it is in the past, so it is now. */
static uint64_t next_time(const struct t3_fabric *fabric)
{
	const struct t3_gang *gang = t3_gang_of(fabric);
	uint64_t next = t3_timed_next(gang->run), time;

	if (next == T3_TIMED_NEVER)
		time = gang->start + (t3_timed_now(gang->run) + 999) / 1000;
	else
		time = gang->start + next / 1000;
	return time > fabric->clock.now ? time : fabric->clock.now;
}

static void run(struct t3_fabric *fabric)
{
	struct t3_gang *gang = t3_gang_of(fabric);
	uint64_t events, time;

	events = t3_timed_run(gang->run, T3_TIMED_NEVER, SLICE);
	t3_fabric_charge(fabric, 0, SLICE * T3_EVENT_WORK);
	time = next_time(fabric);
	if (!events && time == fabric->clock.now)
		finish(fabric);
	else
		t3_clock_schedule(&fabric->clock, &gang->event, time);
}

static void fail(struct t3_fabric *fabric, uint32_t status, uint64_t detail)
{
	complete_all(fabric, status, detail);
	end(fabric);
}

static void fire(struct t3_event *event)
{
	struct t3_fabric *fabric =
		&t3_container_of(event, struct t3_gang_fabric, gang.event)->fabric;
	struct t3_queue *q;

	if (!t3_gang_of(fabric)->running) {
		q = first_whole(fabric);
		if (q)
			start(fabric, q);
	} else if (t3_gang_of(fabric)->left) {
		fail(fabric, T3_DESC_GANG, t3_gang_of(fabric)->left - 1);
	} else if (!have_run(fabric)) {
		fail(fabric, T3_DESC_MEMORY, 0);
	} else {
		run(fabric);
	}
}

/* --------------------------------------------------------------------- life */

void t3_gang_init(struct t3_fabric *fabric)
{
	t3_gang_of(fabric)->event.rank = T3_MAX_RANKS; /* after the events of all ranks */
	t3_gang_of(fabric)->event.fire = fire;
	fabric->clock.job[T3_MAX_RANKS] = &t3_gang_of(fabric)->event;
}

/* Checks whether the queue's gang has become whole. */
static void wake(const struct t3_queue *q)
{
	struct t3_fabric *fabric = q->dev->fabric;

	if (fabric && !t3_gang_of(fabric)->running && joins(q, T3_PHASE_GANG, NULL) &&
	    whole_since(fabric, q) != NOT_WHOLE)
		t3_clock_schedule(&fabric->clock, &t3_gang_of(fabric)->event, fabric->clock.now);
}

static void join(struct t3_queue *q)
{
	q->phase = T3_PHASE_GANG;
	q->ticket = t3_gang_of(q->dev->fabric)->tickets++;
	wake(q);
}

/*
 * The descriptor ends before the run, and the caller sets its status. The other members end in
 * the gang's event, so that they do nothing during this device's reset.
 */
static void leave(struct t3_queue *q)
{
	struct t3_fabric *fabric = q->dev->fabric;

	if (q->phase != T3_PHASE_TIMED)
		return;
	q->phase = T3_PHASE_NONE;
	t3_gang_drop_run(fabric);
	t3_gang_of(fabric)->left = q->dev->rank + 1;
	t3_clock_schedule(&fabric->clock, &t3_gang_of(fabric)->event, fabric->clock.now);
}

static const struct t3_queue_ops queue_ops = {
	.begin = t3_gang_begin,
	.join = join,
	.wake = wake,
	.leave = leave,
};

bool t3_gangs_init(struct t3_dev *dev)
{
	struct t3_gangs *gangs = t3_gangs(dev);

	gangs->request = calloc(T3_MAX_QUEUES, sizeof(gangs->request[0]));
	return t3_queues_init(dev, &queue_ops) && gangs->request;
}

static void drop_tables(struct t3_dev *dev)
{
	uint32_t i;

	for (i = 0; t3_gangs(dev)->request && i < T3_MAX_QUEUES; i++)
		t3_gang_table_drop(&t3_queues(dev)->queue[i]);
}

void t3_gangs_fini(struct t3_dev *dev)
{
	drop_tables(dev);
	free(t3_gangs(dev)->request);
	t3_queues_fini(dev);
}

void t3_gangs_clear(struct t3_dev *dev)
{
	drop_tables(dev);
	memset(t3_gangs(dev)->gang_served, 0, sizeof(t3_gangs(dev)->gang_served));
}

void t3_gang_abandon(struct t3_fabric *fabric)
{
	struct t3_queue *q;

	while ((q = first_member(fabric)) != NULL)
		q->phase = T3_PHASE_GANG;
	if (t3_gang_of(fabric)->running)
		end(fabric);
}

void t3_gang_clear(struct t3_fabric *fabric)
{
	t3_gang_drop_run(fabric);
	t3_heap_remove(&fabric->clock.heap, &t3_gang_of(fabric)->event);
	set_running(fabric, false);
	t3_gang_of(fabric)->host_paced = false;
	t3_gang_of(fabric)->start = 0;
	t3_gang_of(fabric)->left = 0;
	t3_gang_of(fabric)->tickets = 0;
}

/* -------------------------------------------------------------------- rules */

/* The number of a rank's queues in the run. A queue with other arguments counts as MANY. */
static uint32_t members_of(const struct t3_fabric *fabric, uint32_t rank,
			   const struct t3_queue *like)
{
	const struct t3_dev *dev = fabric->dev[rank];
	uint32_t i, count = 0;

	for (i = 0; dev && i < T3_MAX_QUEUES; i++)
		if (joins(&t3_queues(dev)->queue[i], T3_PHASE_TIMED, NULL))
			count += joins(&t3_queues(dev)->queue[i], T3_PHASE_TIMED, like) ? 1 : MANY;
	return count;
}

/* The run has one member at each of its ranks, unless a member has left. */
static bool members_fit(const struct t3_fabric *fabric)
{
	const struct t3_queue *q = first_member(fabric);
	uint32_t rank, count;

	if (!q)
		return t3_gang_of(fabric)->left;
	for (rank = 0; rank < fabric->config.ranks; rank++) {
		count = members_of(fabric, rank, q);
		if (count > 1 || (mirrored(q) && count && rank != q->dev->rank) ||
		    (!mirrored(q) && !count && is_here(fabric, rank) && !t3_gang_of(fabric)->left))
			return false;
	}
	return true;
}

static bool waits(const struct t3_queue *q)
{
	return q->phase == T3_PHASE_GANG || q->phase == T3_PHASE_TIMED;
}

static bool served_fit(const struct t3_fabric *fabric)
{
	uint32_t rank, client;

	for (rank = 0; rank < fabric->config.ranks; rank++)
		for (client = 0; fabric->dev[rank] && client < T3_MAX_CLIENTS; client++)
			if (t3_gangs(fabric->dev[rank])->gang_served[client] >
			    t3_gang_of(fabric)->tickets)
				return false;
	return true;
}

static bool tickets_fit(const struct t3_fabric *fabric)
{
	uint32_t rank, i;

	if (!served_fit(fabric))
		return false;
	for (rank = 0; rank < fabric->config.ranks; rank++)
		for (i = 0; fabric->dev[rank] && i < T3_MAX_QUEUES; i++)
			if (waits(&t3_queues(fabric->dev[rank])->queue[i]) &&
			    t3_queues(fabric->dev[rank])->queue[i].ticket >=
				    t3_gang_of(fabric)->tickets)
				return false;
	return t3_gang_of(fabric)->tickets < T3_TIME_MAX;
}

const char *t3_gang_check(const struct t3_fabric *fabric)
{
	const struct t3_gang *gang = t3_gang_of(fabric);

	if (!tickets_fit(fabric))
		return "a queue's or client's timed-run ticket has not been given yet";
	if (!gang->running && (gang->left || first_member(fabric)))
		return "a queue takes part in a timed run, but no run is in progress";
	if (!gang->running && !gang->event.pos && first_whole(fabric))
		return "a timed run can begin, but no event is scheduled for it";
	if (!gang->running)
		return NULL;
	if (!gang->event.pos || gang->start > fabric->clock.now)
		return "a timed run has no event, or starts in the future";
	return members_fit(fabric) ? NULL : "a timed run does not have one queue at each rank";
}
