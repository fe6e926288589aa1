// SPDX-License-Identifier: MIT
/* Memory of all ranks of a plan, where each rank shows its progress. */
#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/plan.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static int map(int fd, struct plan_board **board)
{
	void *ptr = mmap(NULL, sizeof(**board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (ptr == MAP_FAILED)
		return -errno;
	*board = ptr;
	return 0;
}

int t3_plan_board_new(struct plan_board **board, int *out)
{
	int fd = memfd_create("t3-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;

	if (fd < 0)
		return -errno;
	ret = ftruncate(fd, sizeof(**board)) || fcntl(fd, F_ADD_SEALS, SEALS) ? -errno : 0;
	if (!ret)
		ret = map(fd, board);
	if (ret)
		close(fd);
	else
		*out = fd;
	return ret;
}

/* Seal the size, so that nobody can cut the file below the mapping. */
int t3_plan_board_open(int fd, struct plan_board **board)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) ||
	    st.st_size != (off_t)sizeof(**board))
		return -EPROTO;
	return map(fd, board);
}

void t3_plan_board_close(struct plan_board *board)
{
	if (board)
		munmap(board, sizeof(*board));
}
