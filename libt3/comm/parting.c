// SPDX-License-Identifier: MIT
/* How a rank gives up a meeting: it tells those that have joined which rank is to blame. */
#include <unistd.h>

#include "comm/private.h"

static void say_parting(struct meeting *m, uint32_t culprit, bool late)
{
	struct comm_parting parting = { COMM_PARTING, COMM_PARTING_BYTES, culprit, late };
	uint32_t rank;

	for (rank = 0; rank < m->comm->ranks; rank++) {
		if (m->joined >> rank & 1)
			comm_send_frame(m->comm->socket[rank], &parting, sizeof(parting), -1);
	}
}

/* Only a parting message may follow its hello. */
static bool hear_parting(struct t3_comm *comm, uint32_t rank, struct comm_parting *parting)
{
	size_t size = sizeof(*parting);
	int fd;

	if (comm_receive_frame(comm->socket[rank], parting, &size, &fd))
		return false;
	if (fd >= 0)
		close(fd);
	return size == sizeof(*parting) && parting->kind == COMM_PARTING;
}

/* A rank that had joined has closed its socket, so the join fails. Find the rank that caused it. */
int comm_left_early(struct meeting *m, uint32_t rank)
{
	struct comm_parting parting = { .culprit = rank };

	if (!hear_parting(m->comm, rank, &parting))
		parting = (struct comm_parting){ .culprit = rank };
	say_parting(m, parting.culprit, parting.late);
	return comm_fail_parting(m->comm, rank, &parting);
}

int comm_out_of_time(struct meeting *m)
{
	struct t3_comm *comm = m->comm;
	uint32_t first = comm->ranks, count;
	char list[COMM_LIST_BYTES];

	count = comm_list_missing(comm->ranks, m->joined | 1u << comm->rank, list, &first);
	say_parting(m, first, true);
	return t3_comm_fail(comm, -ETIMEDOUT, "rank%s%s of %u did not come to %.80s in time",
			    count > 1 ? "s" : "", list, comm->ranks, m->dir);
}
