// SPDX-License-Identifier: MIT
/* Messages from rank to rank over any transport, and barriers made of them. */
#include <string.h>
#include <unistd.h>

#include "comm/private.h"

static int post(struct t3_comm *comm, uint32_t to, const struct comm_message *message, int fd)
{
	int ret = comm->transport->post(comm, to, message, fd);

	if (!ret && comm->lines)
		atomic_fetch_add(&comm->lines[comm->rank].posted[to], 1);
	if (ret == -EPIPE)
		return t3_comm_fail_ended(comm, comm->gone, comm->rank);
	if (ret)
		return t3_comm_fail(comm, ret, "cannot send to rank %u: %s", to, strerror(-ret));
	return 0;
}

int t3_comm_post(struct t3_comm *comm, uint32_t to, const void *data, size_t bytes, int fd)
{
	struct comm_message message = { .kind = COMM_DATA };

	if (to >= comm->ranks || to == comm->rank || bytes > sizeof(message.data))
		return -EINVAL;
	message.bytes = (uint32_t)bytes;
	if (bytes)
		memcpy(message.data, data, bytes);
	return post(comm, to, &message, fd);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/*
 * The message must be the expected one. Else the ranks make different calls, or a peer misbehaves.
 */
static int check_message(struct t3_comm *comm, uint32_t from, const struct comm_message *message,
			 enum comm_kind kind, size_t bytes)
{
	struct comm_abort cut;
	static const char *const name[] = { "doing something else", "setting up a plan",
					    "in a barrier" };
	uint32_t is = message->kind <= COMM_BARRIER ? message->kind : 0;

	if (message->kind == COMM_ABORT && message->bytes == COMM_ABORT_BYTES) {
		memcpy(&cut, message, sizeof(cut));
		return comm_fail_aborted(comm, from, &cut);
	}
	if (message->kind != kind)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u is %s, this one is %s: all ranks must make the same "
				    "calls",
				    from, name[is], name[kind]);
	if (message->bytes != bytes)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u sent %u bytes where %zu are due: all ranks must make "
				    "the same calls",
				    from, message->bytes, bytes);
	return 0;
}

/* The others may wait for another rank than this one does. */
static int late(struct t3_comm *comm, uint32_t rank, enum comm_kind kind)
{
	bool still;

	rank = t3_comm_root_cause(comm, rank, &still);
	t3_comm_record_cause(comm, rank, true);
	return t3_comm_fail(comm, -ETIMEDOUT, "rank %u did not come to %s in time", rank,
			    kind == COMM_BARRIER ? "the barrier" : "set up the plan");
}

static void set_waiting(struct t3_comm *comm, uint32_t rank_and_1)
{
	if (comm->lines)
		atomic_store(&comm->lines[comm->rank].waiting, rank_and_1);
}

static int take_or_blame(struct t3_comm *comm, uint32_t from, enum comm_kind kind,
			 struct comm_message *message, int *fd, int64_t deadline_ns)
{
	int ret;

	ret = comm->transport->take(comm, from, message, fd, deadline_ns);
	if (!ret && comm->lines)
		atomic_fetch_add(&comm->lines[comm->rank].taken[from], 1);
	if (ret == -EPIPE)
		return t3_comm_fail_ended(comm, comm->gone, from);
	if (ret == -ETIMEDOUT)
		return late(comm, from, kind);
	if (ret == -EPROTO)
		return t3_comm_fail(comm, ret, "rank %u sent a message of a wrong form", from);
	if (ret)
		return t3_comm_fail(comm, ret, "cannot receive from rank %u: %s", from,
				    strerror(-ret));
	return 0;
}

/*
 * Show this rank as waiting until it has recorded who was late. Others may fail at the same moment.
 */
static int take(struct t3_comm *comm, uint32_t from, enum comm_kind kind,
		struct comm_message *message, int *fd, int64_t deadline_ns)
{
	int ret;

	set_waiting(comm, from + 1);
	ret = take_or_blame(comm, from, kind, message, fd, deadline_ns);
	set_waiting(comm, 0);
	return ret;
}

int t3_comm_take(struct t3_comm *comm, uint32_t from, void *data, size_t bytes, int *fd,
		 int64_t deadline_ns)
{
	struct comm_message message;
	int got, ret;

	if (from >= comm->ranks || from == comm->rank || bytes > sizeof(message.data))
		return -EINVAL;
	ret = take(comm, from, COMM_DATA, &message, &got, deadline_ns);
	if (ret)
		return ret;
	ret = check_message(comm, from, &message, COMM_DATA, bytes);
	if (!ret && got >= 0 && !fd)
		ret = t3_comm_fail(comm, -EPROTO, "rank %u sent a descriptor where none is due",
				   from);
	if (ret) {
		close_fd(&got);
		return ret;
	}
	if (bytes)
		memcpy(data, message.data, bytes);
	if (fd)
		*fd = got;
	return 0;
}

/* ------------------------------------------------------------------ barrier */

static int barrier_round(struct t3_comm *comm, uint32_t step, int64_t deadline_ns)
{
	struct comm_message message = { .kind = COMM_BARRIER, .bytes = sizeof(step) };
	uint32_t from = (comm->rank + comm->ranks - step) % comm->ranks, theirs;
	int fd, ret;

	memcpy(message.data, &step, sizeof(step));
	ret = post(comm, (comm->rank + step) % comm->ranks, &message, -1);
	if (!ret)
		ret = take(comm, from, COMM_BARRIER, &message, &fd, deadline_ns);
	if (ret)
		return ret;
	close_fd(&fd);
	ret = check_message(comm, from, &message, COMM_BARRIER, sizeof(step));
	if (ret)
		return ret;
	memcpy(&theirs, message.data, sizeof(theirs));
	if (theirs != step)
		return t3_comm_fail(comm, -EPROTO,
				    "rank %u is in round %u of the barrier, this one in round %u",
				    from, theirs, step);
	return 0;
}

/* Dissemination barrier: after round k each rank has heard of the 2^(k+1) - 1 ranks before it. */
int t3_comm_barrier(struct t3_comm *comm, int64_t deadline_ns)
{
	uint32_t step;
	int ret = 0;

	if (!comm)
		return -EINVAL;
	for (step = 1; step < comm->ranks && !ret; step *= 2)
		ret = barrier_round(comm, step, deadline_ns);
	return ret;
}
