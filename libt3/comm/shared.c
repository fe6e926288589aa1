// SPDX-License-Identifier: MIT
/*
 * Shared state: memory that all ranks of a communicator on one node see. The first of them makes the
 * memory and sends it to the others. Of ranks on other nodes it has only the causes that they send
 * (cause_message.c).
 */
#include <sys/mman.h>
#include <unistd.h>

#include "comm/private.h"

#define STATE_MAGIC 0x64726f62u
#define STATE_BYTES (T3_COMM_RANKS_MAX * sizeof(struct comm_rank_state))

static int map_state(struct t3_comm *comm, int fd)
{
	void *lines;
	int ret = comm_memory_map(fd, STATE_BYTES, &lines);

	if (ret == -EPROTO)
		return t3_comm_fail(comm, ret,
				    "rank %u sent memory of a wrong size or without seals",
				    t3_comm_leader(comm));
	if (ret)
		return comm_memory_fail(comm, ret);
	comm->lines = lines;
	return 0;
}

/* The node's first rank makes the state and sends it to the others. */
static int send_state(struct t3_comm *comm)
{
	uint32_t magic = STATE_MAGIC, rest = comm->here & (comm->here - 1);
	int fd, ret;

	ret = comm_memory_new("t3-comm", STATE_BYTES, &fd);
	if (ret)
		return comm_memory_fail(comm, ret);
	for (; rest && !ret; rest &= rest - 1)
		ret = t3_comm_post(comm, (uint32_t)__builtin_ctz(rest), &magic, sizeof(magic), fd);
	if (!ret)
		ret = map_state(comm, fd);
	close(fd);
	return ret;
}

static int receive_state(struct t3_comm *comm, int64_t deadline_ns)
{
	uint32_t magic, leader = t3_comm_leader(comm);
	int fd, ret;

	ret = t3_comm_take(comm, leader, &magic, sizeof(magic), &fd, deadline_ns);
	if (ret)
		return ret;
	if (magic == STATE_MAGIC)
		ret = map_state(comm, fd);
	else
		ret = t3_comm_fail(comm, -EPROTO, "rank %u sent a message of a wrong form", leader);
	if (fd >= 0)
		close(fd);
	return ret;
}

int comm_share_state(struct t3_comm *comm, int64_t deadline_ns)
{
	return comm->rank == t3_comm_leader(comm) ? send_state(comm)
						  : receive_state(comm, deadline_ns);
}

void comm_unmap_state(struct t3_comm *comm)
{
	if (comm->lines)
		munmap(comm->lines, STATE_BYTES);
	comm->lines = NULL;
}
