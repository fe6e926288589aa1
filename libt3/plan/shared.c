// SPDX-License-Identifier: MIT
/* Memory of all ranks of a plan, where each rank shows its progress. */
#include <sys/mman.h>
#include <unistd.h>

#include "plan/plan.h"

int t3_plan_shared_new(struct plan_shared **shared, int *out)
{
	int fd, ret = comm_memory_new("t3-plan", sizeof(**shared), &fd);

	if (ret)
		return ret;
	ret = t3_plan_shared_open(fd, shared);
	if (ret)
		close(fd);
	else
		*out = fd;
	return ret;
}

int t3_plan_shared_open(int fd, struct plan_shared **shared)
{
	void *memory;
	int ret = comm_memory_map(fd, sizeof(**shared), &memory);

	if (!ret)
		*shared = memory;
	return ret;
}

void t3_plan_shared_close(struct plan_shared *shared)
{
	if (shared)
		munmap(shared, sizeof(*shared));
}
