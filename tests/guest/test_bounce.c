// SPDX-License-Identifier: MIT
/*
 * A machine that copies DMA data (swiotlb=force). Nobody syncs memory that users and the device
 * share, so the driver refuses it. All that stays inside devices works.
 */
#include <sys/mman.h>

#include "memory.h"
#include "module.h"
#include "raw.h"

#define SIZE 65536u

TEST("host buffers are refused")
{
	int fd = open_rank(0);
	uint32_t handle;

	CHECK_EQ(bo_create_host(fd, SIZE, &handle), -EOPNOTSUPP);
	CHECK_EQ(bo_create_host(fd, PAGE, &handle), -EOPNOTSUPP);
	close(fd);
}

TEST("spaces are refused because their event area is shared")
{
	struct drm_t3_space_create made;
	int fd = open_rank(0);
	uint32_t bo;

	CHECK_EQ(bo_create(fd, SIZE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 1, &made), -EOPNOTSUPP);
	CHECK_EQ(bo_close(fd, bo), 0);
	close(fd);
}

TEST("pages of other drivers are refused")
{
	int fd = open_rank(0), dmabuf = udmabuf_create(SIZE / PAGE);
	uint32_t handle;

	CHECK_EQ(prime_import(fd, dmabuf, &handle), -EOPNOTSUPP);
	close(dmabuf);
	close(fd);
}

/*
 * A peer's memory is on the bus. Kernels since 6.18 do not map it while they bounce all DMA: then
 * the command writes to the device's own memory.
 */
static void open_target(struct operand *target, int user, int dmabuf)
{
	uint32_t handle;
	int ret = prime_import(user, dmabuf, &handle);

	if (ret) {
		CHECK_EQ(ret, -EOPNOTSUPP);
		operand_open(target, user, SIZE, 3);
	} else {
		operand_adopt(target, user, handle, SIZE, 3);
	}
	close(dmabuf);
}

/* Rings use the DMA API's own memory. */
TEST("jobs that stay inside devices work")
{
	int owner = open_rank(0), user = open_rank(1);
	struct operand own, peer, target;
	union drm_t3_any_command command;
	uint32_t queue;

	operand_open(&peer, owner, SIZE, 1);
	operand_open(&own, user, SIZE, 2);
	open_target(&target, user, prime_share(owner, peer.handle));
	CHECK_EQ(queue_create(user, 0, &queue), 0);
	command = command_copy(own.handle, target.handle, SIZE - 5);
	run_command(user, queue, &command);
	model_run(&command, &own, &target);
	operand_check(&own);
	operand_close(&target, user);
	operand_close(&own, user);
	operand_close(&peer, owner);
	close(user);
	close(owner);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
