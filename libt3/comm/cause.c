// SPDX-License-Identifier: MIT
/*
 * Find the rank that caused a failure. A rank that fails ends, and ranks that see it end would name
 * the wrong rank. So each rank writes the rank that it gave up for to the shared state before it
 * ends.
 */
#include "comm/private.h"

/* A cause: the rank + 1 in the low bits, or 0 for none. */
#define CAUSE_RANK 0xffu
#define CAUSE_LATE 0x100u /* the rank was late; without it the rank has ended */

void t3_comm_record_cause(struct t3_comm *comm, uint32_t rank, bool late)
{
	struct comm_rank_state *line = comm->lines ? &comm->lines[comm->rank] : NULL;
	uint32_t before = line ? atomic_load(&line->cause) : 0;
	uint32_t cause = (rank + 1) | (late ? CAUSE_LATE : 0);

	/* A rank that was late may have come since. */
	if (rank >= comm->ranks || (before && !(before & CAUSE_LATE)))
		return;
	if (cause != before)
		t3_comm_report_cause(comm, rank, late);
	if (!line)
		return;
	atomic_store(&line->cause, cause);
	if (cause != before)
		comm_send_cause(comm, cause);
}

/* The value comes from another rank and may be anything. */
static bool points_on(const struct t3_comm *comm, uint32_t from, uint32_t word, uint32_t *to)
{
	*to = (word & CAUSE_RANK) - 1;
	return *to < comm->ranks && *to != from && *to != comm->rank;
}

/*
 * A rank that could go on waits for nobody, because what it waits for has been sent. Nor does an
 * ended rank.
 */
static bool waits(const struct t3_comm *comm, uint32_t rank, uint32_t *for_rank)
{
	const struct comm_rank_state *lines = comm->lines;

	return !t3_comm_gone(comm, rank) &&
	       points_on(comm, rank, atomic_load(&lines[rank].waiting), for_rank) &&
	       atomic_load(&lines[*for_rank].posted[rank]) ==
		       atomic_load(&lines[rank].taken[*for_rank]);
}

static bool gave_up_for(const struct t3_comm *comm, uint32_t rank, uint32_t *whom, bool *late)
{
	uint32_t cause = atomic_load(&comm->lines[rank].cause);

	if (!points_on(comm, rank, cause, whom))
		return false;
	*late = cause & CAUSE_LATE;
	return true;
}

/* Follow one step: the rank that this rank waits for or gave up for, if any. */
static bool next_cause(const struct t3_comm *comm, uint32_t rank, uint32_t *whom, bool *late)
{
	if (gave_up_for(comm, rank, whom, late))
		return true;
	if (waits(comm, rank, whom)) {
		*late = true;
		return true;
	}
	/* The rank waits no more, or has ended and has written its cause since the first look. */
	return gave_up_for(comm, rank, whom, late);
}

uint32_t t3_comm_root_cause(const struct t3_comm *comm, uint32_t rank, bool *late)
{
	uint32_t hops, next, start = rank;

	*late = false;
	comm_poll_causes(comm);
	/*
	 * Each entry is older than the one before, so a chain ends. The bound is for entries that
	 * are false.
	 */
	for (hops = 0; comm->lines && hops < comm->ranks; hops++) {
		if (!next_cause(comm, rank, &next, late))
			return rank;
		if (next == start)
			break;
		rank = next;
	}
	*late = *late && rank != start;
	return rank;
}

bool t3_comm_has_cause(const struct t3_comm *comm, uint32_t rank)
{
	return comm->lines && atomic_load(&comm->lines[rank].cause);
}

/* A rank that gave up because of this one is no reason for this one to give up. */
static bool gave_up_for_this(const struct t3_comm *comm, uint32_t rank)
{
	return comm->lines &&
	       (atomic_load(&comm->lines[rank].cause) & CAUSE_RANK) == comm->rank + 1;
}

/* The rank that it waited for did not come in time. */
static bool was_late(const struct t3_comm *comm, uint32_t rank)
{
	return atomic_load(&comm->lines[rank].cause) & CAUSE_LATE;
}

/*
 * A rank gave up because this one was late, and this one waits for another rank, which is the one
 * that was late. A rank of another node cannot see that.
 */
static int fail_between(struct t3_comm *comm, uint32_t rank, uint32_t awaited)
{
	bool late;

	awaited = t3_comm_root_cause(comm, awaited, &late);
	t3_comm_record_cause(comm, awaited, true);
	return t3_comm_fail(comm, -EPIPE,
			    "rank %u has given up: rank %u did not come in time, for which this "
			    "rank waits",
			    rank, awaited);
}

int t3_comm_fail_ended(struct t3_comm *comm, uint32_t rank, uint32_t awaited)
{
	bool late;
	uint32_t culprit = t3_comm_root_cause(comm, rank, &late);

	if (awaited < comm->ranks && awaited != comm->rank && awaited != culprit &&
	    gave_up_for_this(comm, culprit) && was_late(comm, culprit) &&
	    !t3_comm_gone(comm, awaited))
		return fail_between(comm, culprit, awaited);
	if (!gave_up_for_this(comm, culprit) || !t3_comm_has_cause(comm, comm->rank))
		t3_comm_record_cause(comm, culprit, late);
	if (late)
		return t3_comm_fail(comm, -EPIPE,
				    "rank %u has given up: rank %u did not come in time", rank,
				    culprit);
	return t3_comm_fail(comm, -EPIPE, "rank %u has ended", culprit);
}

int comm_fail_aborted(struct t3_comm *comm, uint32_t rank, const struct comm_abort *message)
{
	bool known = message->culprit < comm->ranks && message->culprit != comm->rank;

	t3_comm_record_cause(comm, known ? message->culprit : rank, known && message->late);
	if (known && message->late)
		return t3_comm_fail(comm, -EPIPE,
				    "rank %u has given up: rank %u did not come in time", rank,
				    message->culprit);
	if (known)
		rank = message->culprit;
	return t3_comm_fail(comm, -EPIPE, "rank %u has ended before all ranks had joined", rank);
}
