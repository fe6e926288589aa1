// SPDX-License-Identifier: MIT
/*
 * The board: memory that all ranks of a communicator on one node see. The first of them makes it
 * and sends it to the others. Of ranks on other nodes it has only the causes that they tell (tell.c).
 */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/private.h"

#define BOARD_MAGIC 0x64726f62u
#define BOARD_BYTES (T3_COMM_RANKS_MAX * sizeof(struct comm_line))
#define BOARD_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static int board_new(int *fd)
{
	int ret;

	*fd = memfd_create("t3-comm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return -errno;
	if (!ftruncate(*fd, BOARD_BYTES) && !fcntl(*fd, F_ADD_SEALS, BOARD_SEALS | F_SEAL_SEAL))
		return 0;
	ret = -errno;
	close(*fd);
	return ret;
}

/* Seals: no rank may cut off what others have mapped. */
static bool is_board(int fd)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & BOARD_SEALS) == BOARD_SEALS && !fstat(fd, &st) &&
	       st.st_size == (off_t)BOARD_BYTES;
}

static int board_map(struct t3_comm *comm, int fd)
{
	void *lines;

	if (!is_board(fd))
		return t3_comm_fail(comm, -EPROTO, "rank %u sent what is no memory of ours",
				    t3_comm_leader(comm));
	lines = mmap(NULL, BOARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (lines == MAP_FAILED)
		return t3_comm_fail(comm, -errno, "no memory to share with other ranks");
	comm->lines = lines;
	return 0;
}

/* The node's first rank sends its board to the others. */
static int board_give(struct t3_comm *comm)
{
	uint32_t magic = BOARD_MAGIC, rest = comm->here & (comm->here - 1);
	int fd, ret;

	ret = board_new(&fd);
	if (ret)
		return t3_comm_fail(comm, ret, "no memory to share with other ranks");
	for (; rest && !ret; rest &= rest - 1)
		ret = t3_comm_post(comm, (uint32_t)__builtin_ctz(rest), &magic, sizeof(magic), fd);
	if (!ret)
		ret = board_map(comm, fd);
	close(fd);
	return ret;
}

static int board_get(struct t3_comm *comm, int64_t deadline_ns)
{
	uint32_t magic, leader = t3_comm_leader(comm);
	int fd, ret;

	ret = t3_comm_take(comm, leader, &magic, sizeof(magic), &fd, deadline_ns);
	if (ret)
		return ret;
	if (magic == BOARD_MAGIC)
		ret = board_map(comm, fd);
	else
		ret = t3_comm_fail(comm, -EPROTO, "rank %u sent what is no message of ours",
				   leader);
	if (fd >= 0)
		close(fd);
	return ret;
}

int comm_board_share(struct t3_comm *comm, int64_t deadline_ns)
{
	return comm->rank == t3_comm_leader(comm) ? board_give(comm) : board_get(comm, deadline_ns);
}

void comm_board_unmap(struct t3_comm *comm)
{
	if (comm->lines)
		munmap(comm->lines, BOARD_BYTES);
	comm->lines = NULL;
}
