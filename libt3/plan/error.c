// SPDX-License-Identifier: MIT
/* Say why a plan did not go on: from its own space, and from what the other ranks show. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "device/device.h"
#include "plan/plan.h"

/* So long a failed rank waits for the news of a rank of another node that ended. */
#define NEWS_NS 2000000000

/* Add to the text; what does not fit is cut. */
__attribute__((format(printf, 2, 0))) static void add_list(const struct t3_plan *plan,
							   const char *format, va_list args)
{
	size_t length = strlen(plan->text);

	vsnprintf(plan->text + length, PLAN_TEXT_SIZE - length, format, args);
}

__attribute__((format(printf, 2, 3))) static void add(const struct t3_plan *plan,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_list(plan, format, args);
	va_end(args);
}

/* Name a rank, with its node if there are several. */
static void add_rank(const struct t3_plan *plan, uint32_t rank)
{
	add(plan, "rank %u", rank);
	if (t3_comm_spans_nodes(plan->comm))
		add(plan, " (node %u)", plan->comm->node[rank]);
}

static void add_place(const struct t3_plan *plan)
{
	plan->text[0] = '\0';
	add(plan, "%s, ", t3_plan_collective_name(plan->desc.collective));
	add_rank(plan, plan->comm->rank);
	add(plan, ", epoch %u: ", plan->phase == PLAN_COMPLETE ? plan->epoch + 1 : plan->epoch);
}

/* -------------------------------------------------------------------------- others */

/* Return a rank that gave up, else one that has ended, else comm->ranks. */
static uint32_t find_gone(const struct t3_plan *plan)
{
	const struct t3_comm *comm = plan->comm;
	uint32_t r, gone = comm->ranks;

	for (r = comm->ranks; r-- > 0;) {
		if (r == comm->rank)
			continue;
		if (t3_comm_has_cause(comm, r))
			return r;
		if (t3_comm_gone(comm, r))
			gone = r;
	}
	return gone;
}

static const struct t3_layout_segment *first_behind(const struct t3_plan *plan, bool *tracked)
{
	const volatile struct drm_t3_event_area *events = t3_space_events(plan->space);
	const struct t3_layout_segment *s;
	uint64_t word;
	uint32_t i;

	for (i = 0; i < plan->layout.count; i++) {
		s = &plan->layout.segment[i];
		word = t3_load64(&events->segment[s->desc.segment]);
		*tracked = (uint32_t)word == plan->epoch && word & DRM_T3_WORD_TRACKED;
		if (!*tracked || !(word & DRM_T3_WORD_DELIVERED))
			return s;
	}
	return NULL;
}

/* The rank that this one waits for, and is late because of; its own number: none. */
static uint32_t awaited(const struct t3_plan *plan)
{
	uint32_t self = plan->comm->rank, rank = t3_plan_blocking_rank(plan, self);
	const struct t3_layout_segment *s;
	bool tracked;

	if (rank != self || plan->phase != PLAN_READY || t3_plan_owes_any(plan))
		return rank;
	s = first_behind(plan, &tracked);
	return s && !tracked ? t3_plan_far_source(plan, s->desc.segment) : self;
}

/*
 * Name the rank that ended first: those that fail because of it end, too. Only once, because its
 * space may have died some time before the rank itself.
 */
static void add_gone(struct t3_plan *plan)
{
	uint32_t rank = find_gone(plan);

	if (plan->told_gone || rank == plan->comm->ranks)
		return;
	plan->told_gone = true;
	t3_comm_fail_ended(plan->comm, rank, awaited(plan));
	add(plan, "; %s", plan->comm->error);
}

const char *t3_plan_error(struct t3_plan *plan)
{
	if (!plan)
		return "";
	if (plan->error)
		add_gone(plan);
	return plan->text;
}

/* Name a rank that this plan waits for, and the rank that that one waits for. */
static void add_behind(struct t3_plan *plan, uint32_t rank)
{
	uint32_t last = t3_plan_blocking_rank(plan, rank);

	t3_comm_record_cause(plan->comm, last, true);
	if (last == rank)
		return;
	add(plan, ", as it waits for ");
	add_rank(plan, last);
}

static void add_unarmed(struct t3_plan *plan, uint32_t rank)
{
	add(plan, "; ");
	add_rank(plan, rank);
	add(plan, " has not armed it");
	add_behind(plan, rank);
}

/* Find the first rank of this node that has not put its part of a chunk. */
static bool add_laggard(struct t3_plan *plan, uint32_t chunk)
{
	uint64_t put;
	uint32_t r;

	for (r = 0; r < plan->comm->ranks; r++) {
		if (!t3_plan_owes(plan, r, chunk, plan->epoch))
			continue;
		if (t3_plan_epoch_of(plan, r) < plan->epoch) {
			add_unarmed(plan, r);
			return true;
		}
		put = atomic_load_explicit(&plan->shared->rank[r].put[chunk], memory_order_relaxed);
		add(plan, "; ");
		add_rank(plan, r);
		add(plan, " has put %llu of %llu elements of chunk %u", (unsigned long long)put,
		    (unsigned long long)t3_layout_input(&plan->layout, r, chunk), chunk);
		add_behind(plan, r);
		return true;
	}
	return false;
}

/* Name the rank of another node that the segment waits for. */
static void add_far_source(struct t3_plan *plan, const struct t3_layout_segment *s)
{
	uint32_t rank = t3_plan_far_source(plan, s->desc.segment);

	if (rank == plan->comm->ranks)
		return;
	add(plan, "; it waits for ");
	add_rank(plan, rank);
	add(plan, ", whose progress is not seen from here");
	t3_comm_record_cause(plan->comm, rank, true);
}

/* ------------------------------------------------------------------------ timeouts */

static void describe_arming(struct t3_plan *plan)
{
	uint32_t targets = t3_layout_all_targets(&plan->layout), far = targets & ~plan->comm->here;
	bool found = false;
	uint32_t r;

	add(plan, "not ready");
	for (; targets; targets &= targets - 1) {
		r = (uint32_t)__builtin_ctz(targets);
		if (t3_plan_epoch_of(plan, r) < plan->epoch) {
			add_unarmed(plan, r);
			found = true;
		}
	}
	if (found || !far)
		return;
	add(plan, "; it is not seen from here whether ");
	add_rank(plan, (uint32_t)__builtin_ctz(far));
	add(plan, " has armed it");
	/* Of several, the others of this node would take this one for the late one. */
	if (!(far & (far - 1)))
		t3_comm_record_cause(plan->comm, (uint32_t)__builtin_ctz(far), true);
}

/* Find the first tile that is not done, exactly if the device can tell. */
static void add_tile(struct t3_plan *plan, const struct t3_layout_segment *s)
{
	struct drm_t3_space_stats stats;
	struct drm_t3_space_tile tile;
	uint32_t size = plan->layout.element;

	if (!t3_tile_stats(plan->space, s->desc.segment, 0, &tile) &&
	    tile.tile != DRM_T3_TILE_NONE && tile.epoch == plan->epoch) {
		if (tile.tile_flags & DRM_T3_TILE_TRIGGERED)
			add(plan, ": tile %u of %u waits for its link", tile.tile, tile.tiles);
		else
			add(plan, ": tile %u of %u lacks %llu of %llu updates", tile.tile,
			    tile.tiles, (unsigned long long)(tile.expected - tile.counted) / size,
			    (unsigned long long)tile.expected / size);
		return;
	}
	if (!t3_segment_stats(plan->space, s->desc.segment, &stats))
		add(plan, ": %llu of %llu tiles came", (unsigned long long)stats.tiles_tracked,
		    (unsigned long long)stats.tiles);
}

static void describe_delivery(struct t3_plan *plan)
{
	const struct t3_layout_segment *s;
	bool tracked;

	s = first_behind(plan, &tracked);
	if (!s) {
		add(plan, "not complete");
		return;
	}
	if (tracked) {
		add(plan, "chunk %u was not acknowledged by ", s->chunk);
		add_rank(plan, (uint32_t)__builtin_ctz(s->targets));
		if (s->targets & (s->targets - 1))
			add(plan, " or another one of its %d targets",
			    __builtin_popcount(s->targets));
		return;
	}
	add(plan, "chunk %u", s->chunk);
	add_tile(plan, s);
	if (!add_laggard(plan, s->chunk))
		add_far_source(plan, s);
}

/* Say what lacks, and the rank that is late. */
static void describe_open(struct t3_plan *plan)
{
	if (plan->phase == PLAN_ARMED)
		describe_arming(plan);
	else
		describe_delivery(plan);
}

/* -------------------------------------------------------------------------- faults */

static bool is_consequence(uint32_t kind)
{
	return kind == DRM_T3_FAULT_PEER_DEAD || kind == DRM_T3_FAULT_PEER_POISON ||
	       kind == DRM_T3_FAULT_REJECTED;
}

/* Find a rank whose own fault was the first. */
static void add_culprit(struct t3_plan *plan)
{
	const struct plan_rank_state *line;
	uint32_t r, kind;

	for (r = 0; r < plan->comm->ranks; r++) {
		line = &plan->shared->rank[r];
		kind = atomic_load_explicit(&line->fault, memory_order_relaxed);
		if (r == plan->comm->rank || !kind || is_consequence(kind))
			continue;
		add(plan, "; ");
		add_rank(plan, r);
		add(plan, " faulted: %s", t3_fault_name(kind));
		t3_comm_report_cause(plan->comm, r, false);
		return;
	}
}

/* Find the rank of which a group of the switch has ended. False: this group has not. */
static bool add_group_cause(struct t3_plan *plan, uint32_t group)
{
	struct drm_t3_group_query state;
	uint32_t r;

	if (!group || t3_group_stats(plan->space, group, &state) ||
	    state.state != DRM_T3_GROUP_ENDED)
		return false;
	for (r = 0; r < plan->comm->ranks; r++) {
		if (plan->comm->device_rank[r] != state.cause_rank)
			continue;
		add(plan, "; the switch has ended a group because of ");
		add_rank(plan, r);
		add(plan, ": %s", t3_fault_name(state.cause));
		if (r != plan->comm->rank)
			t3_comm_report_cause(plan->comm, r, false);
		return true;
	}
	return false;
}

/* The switch knows for whom it has told this rank that others have ended. */
static void add_switch_cause(struct t3_plan *plan)
{
	uint32_t r;

	if (add_group_cause(plan, plan->groups.reduce) ||
	    add_group_cause(plan, plan->groups.multicast))
		return;
	for (r = 0; r < plan->comm->ranks; r++)
		if (add_group_cause(plan, plan->import[r]))
			return;
}

/*
 * A fault goes from device to device, and may be here before the news of the rank that ended, which
 * comes from its node by the network. Without it, this rank would name one that fails for the same
 * reason, or none.
 */
static void wait_for_news(const struct t3_plan *plan, int64_t deadline_ns)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int64_t end = t3_now_ns() + NEWS_NS;

	if (!t3_comm_spans_nodes(plan->comm))
		return;
	if (end > deadline_ns)
		end = deadline_ns;
	while (find_gone(plan) == plan->comm->ranks && t3_now_ns() < end)
		nanosleep(&pause, NULL);
}

static void describe_fault(struct t3_plan *plan, int64_t deadline_ns)
{
	struct drm_t3_fault fault;
	char text[160];

	if (t3_space_fault(plan->space, &fault)) {
		add(plan, "the space faulted");
		return;
	}
	atomic_store_explicit(&plan_rank_state(plan)->fault, fault.kind, memory_order_relaxed);
	t3_fault_text(&fault, text, sizeof(text));
	add(plan, "%s", text);
	if (!is_consequence(fault.kind))
		return;
	if (fault.src_rank == DRM_T3_SWITCH_RANK)
		add_switch_cause(plan);
	add_culprit(plan);
	wait_for_news(plan, deadline_ns);
	if (find_gone(plan) < plan->comm->ranks || t3_now_ns() < deadline_ns ||
	    awaited(plan) == plan->comm->rank)
		return;
	/* The other rank has ended at the same deadline, and its news is not here yet. */
	add(plan, "; ");
	describe_open(plan);
}

int t3_plan_refuse(const struct t3_plan *plan, int ret, const char *format, ...)
{
	va_list args;

	add_place(plan);
	va_start(args, format);
	add_list(plan, format, args);
	va_end(args);
	return ret;
}

int t3_plan_fail(struct t3_plan *plan, int ret, int64_t deadline_ns)
{
	if (ret == -ETIMEDOUT && deadline_ns <= 0)
		return ret;
	add_place(plan);
	plan->told_gone = false;
	if (ret == -EIO)
		describe_fault(plan, deadline_ns);
	else if (ret == -ENOENT)
		add(plan, "its space was destroyed, and not by this plan");
	else if (ret == -ENODEV)
		add(plan, "the device was removed or reset");
	else if (ret != -ETIMEDOUT)
		add(plan, "%s", strerror(-ret));
	else
		describe_open(plan);
	if (ret != -ETIMEDOUT) {
		plan->error = ret;
		atomic_store_explicit(&plan_rank_state(plan)->error, ret, memory_order_relaxed);
	}
	add_gone(plan);
	return ret;
}
