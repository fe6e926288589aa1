// SPDX-License-Identifier: MIT
/*
 * Who is to blame. A rank that fails leaves, and those that see it gone would name the wrong one:
 * so each rank writes whom it gave up for into memory that all ranks see, before it leaves.
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

/* A cause is the rank in the low bits, with 1 added; 0: none. */
#define CAUSE_RANK 0xffu
#define CAUSE_LATE 0x100u /* it did not come in time; else it has gone */

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

/* Nobody may take away what is mapped here. */
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
		return t3_comm_fail(comm, -EPROTO, "rank 0 sent what is no memory of ours");
	lines = mmap(NULL, BOARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (lines == MAP_FAILED)
		return t3_comm_fail(comm, -errno, "no memory to share with other ranks");
	comm->lines = lines;
	return 0;
}

/* The board of rank 0, to all. */
static int board_give(struct t3_comm *comm)
{
	uint32_t magic = BOARD_MAGIC, to;
	int fd, ret;

	ret = board_new(&fd);
	if (ret)
		return t3_comm_fail(comm, ret, "no memory to share with other ranks");
	for (to = 1; to < comm->ranks && !ret; to++)
		ret = t3_comm_post(comm, to, &magic, sizeof(magic), fd);
	if (!ret)
		ret = board_map(comm, fd);
	close(fd);
	return ret;
}

static int board_get(struct t3_comm *comm, int64_t deadline_ns)
{
	uint32_t magic;
	int fd, ret;

	ret = t3_comm_take(comm, 0, &magic, sizeof(magic), &fd, deadline_ns);
	if (ret)
		return ret;
	if (magic == BOARD_MAGIC)
		ret = board_map(comm, fd);
	else
		ret = t3_comm_fail(comm, -EPROTO, "rank 0 sent what is no message of ours");
	if (fd >= 0)
		close(fd);
	return ret;
}

int comm_board_share(struct t3_comm *comm, int64_t deadline_ns)
{
	return comm->rank ? board_get(comm, deadline_ns) : board_give(comm);
}

void comm_board_unmap(struct t3_comm *comm)
{
	if (comm->lines)
		munmap(comm->lines, BOARD_BYTES);
	comm->lines = NULL;
}

/* ------------------------------------------------------------------- causes */

void t3_comm_blame(struct t3_comm *comm, uint32_t rank, bool late)
{
	struct comm_line *line = comm->lines ? &comm->lines[comm->rank] : NULL;
	uint32_t before = line ? atomic_load(&line->cause) : 0;

	/* Who was late may have come after all. */
	if (line && rank < comm->ranks && (!before || before & CAUSE_LATE))
		atomic_store(&line->cause, (rank + 1) | (late ? CAUSE_LATE : 0));
}

/* What another rank wrote may be anything. */
static bool points_on(const struct t3_comm *comm, uint32_t from, uint32_t word, uint32_t *to)
{
	*to = (word & CAUSE_RANK) - 1;
	return *to < comm->ranks && *to != from && *to != comm->rank;
}

/* One that could go on, as what it waits for has been sent, waits for nobody; nor do the dead. */
static bool waits(const struct t3_comm *comm, uint32_t rank, uint32_t *for_rank)
{
	const struct comm_line *lines = comm->lines;

	return !t3_comm_gone(comm, rank) &&
	       points_on(comm, rank, atomic_load(&lines[rank].waiting), for_rank) &&
	       atomic_load(&lines[*for_rank].posted[rank]) ==
		       atomic_load(&lines[rank].taken[*for_rank]);
}

static bool blames(const struct t3_comm *comm, uint32_t rank, uint32_t *whom, bool *late)
{
	uint32_t cause = atomic_load(&comm->lines[rank].cause);

	if (!points_on(comm, rank, cause, whom))
		return false;
	*late = cause & CAUSE_LATE;
	return true;
}

/* Behind whom a rank stands, if behind any. */
static bool stands_behind(const struct t3_comm *comm, uint32_t rank, uint32_t *whom, bool *late)
{
	if (blames(comm, rank, whom, late))
		return true;
	if (waits(comm, rank, whom)) {
		*late = true;
		return true;
	}
	/* It waits no more, or has gone: since it was looked at first it has said why. */
	return blames(comm, rank, whom, late);
}

uint32_t t3_comm_culprit(const struct t3_comm *comm, uint32_t rank, bool *late)
{
	uint32_t hops, next, start = rank;

	*late = false;
	/* Each link is older than the one before: chains end. What is not true may not. */
	for (hops = 0; comm->lines && hops < comm->ranks; hops++) {
		if (!stands_behind(comm, rank, &next, late))
			return rank;
		if (next == start)
			break;
		rank = next;
	}
	*late = *late && rank != start;
	return rank;
}

bool t3_comm_gave_up(const struct t3_comm *comm, uint32_t rank)
{
	return comm->lines && atomic_load(&comm->lines[rank].cause);
}

/* A rank that gave up for this one is no reason for this one to give up. */
static bool blames_this(const struct t3_comm *comm, uint32_t rank)
{
	return comm->lines &&
	       (atomic_load(&comm->lines[rank].cause) & CAUSE_RANK) == comm->rank + 1;
}

int t3_comm_fail_gone(struct t3_comm *comm, uint32_t rank)
{
	bool late;
	uint32_t culprit = t3_comm_culprit(comm, rank, &late);

	if (!blames_this(comm, culprit) || !t3_comm_gave_up(comm, comm->rank))
		t3_comm_blame(comm, culprit, late);
	if (late)
		return t3_comm_fail(comm, -EPIPE,
				    "rank %u has given up: rank %u did not come in time", rank,
				    culprit);
	return t3_comm_fail(comm, -EPIPE, "rank %u has gone", culprit);
}
