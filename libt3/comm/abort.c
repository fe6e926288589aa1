// SPDX-License-Identifier: MIT
/* Give up joining: tell the ranks that have joined which rank is the cause. */
#include <unistd.h>

#include "comm/private.h"

static void send_abort(struct join *join, uint32_t culprit, bool late)
{
	struct comm_abort message = { COMM_ABORT, COMM_ABORT_BYTES, culprit, late };
	uint32_t rank;

	for (rank = 0; rank < join->comm->ranks; rank++) {
		if (join->joined >> rank & 1)
			comm_send_frame(join->comm->socket[rank], &message, sizeof(message), -1);
	}
}

/* Only an abort message may follow the hello of that rank. */
static bool receive_abort(struct t3_comm *comm, uint32_t rank, struct comm_abort *message)
{
	size_t size = sizeof(*message);
	int fd;

	if (comm_receive_frame(comm->socket[rank], message, &size, &fd))
		return false;
	if (fd >= 0)
		close(fd);
	return size == sizeof(*message) && message->kind == COMM_ABORT;
}

/* A rank that had joined has closed its socket, so the join fails. Find the rank that caused it. */
int comm_abort_ended(struct join *join, uint32_t rank)
{
	struct comm_abort message = { .culprit = rank };

	if (!receive_abort(join->comm, rank, &message))
		message = (struct comm_abort){ .culprit = rank };
	send_abort(join, message.culprit, message.late);
	return comm_fail_aborted(join->comm, rank, &message);
}

int comm_abort_late(struct join *join)
{
	struct t3_comm *comm = join->comm;
	uint32_t first = comm->ranks, count;
	char list[COMM_LIST_BYTES];

	count = comm_list_missing(comm->ranks, join->joined | 1u << comm->rank, list, &first);
	send_abort(join, first, true);
	t3_comm_record_cause(comm, first, true);
	return t3_comm_fail(comm, -ETIMEDOUT, "rank%s%s of %u did not come to %.80s in time",
			    count > 1 ? "s" : "", list, comm->ranks, join->dir);
}
