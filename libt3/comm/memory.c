// SPDX-License-Identifier: MIT
/* Memory that the ranks of a node share, by a descriptor that one of them sends to the others. */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/comm.h"

/* No rank may cut off what others have mapped. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int comm_memory_new(const char *name, size_t bytes, int *out)
{
	struct rlimit limit;
	int fd, ret;

	/* Beyond this limit ftruncate() does not only fail: SIGXFSZ ends the program. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < bytes)
		return -EFBIG;
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, SEALS)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	*out = fd;
	return 0;
}

int comm_memory_map(int fd, size_t bytes, void **memory)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *ptr;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) || st.st_size != (off_t)bytes)
		return -EPROTO;
	ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ptr == MAP_FAILED)
		return -errno;
	*memory = ptr;
	return 0;
}

int comm_memory_fail(struct t3_comm *comm, int ret)
{
	return t3_comm_fail(comm, ret, "no memory to share with other ranks%s",
			    ret == -EFBIG ? ": the limit of file sizes (ulimit -f) is too low"
					  : "");
}
