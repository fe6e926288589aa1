// SPDX-License-Identifier: MIT
/* Host buffers: memory of the host that jobs read and write. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "child.h"
#include "memory.h"
#include "module.h"
#include "raw.h"

#define SIZE (5u << 20) /* more than one piece of the allocator's */

struct user {
	int fd;
	uint32_t queue;
	struct operand device, host;
};

static void user_open(struct user *u)
{
	uint32_t handle;

	u->fd = open_rank(0);
	CHECK_EQ(queue_create(u->fd, 1, &u->queue), 0);
	operand_open(&u->device, u->fd, SIZE, 1);
	CHECK_EQ(bo_create_host(u->fd, SIZE, &handle), 0);
	operand_adopt(&u->host, u->fd, handle, SIZE, 2);
}

static void user_close(struct user *u)
{
	operand_close(&u->device, u->fd);
	operand_close(&u->host, u->fd);
	close(u->fd);
}

static void run(struct user *u, const union drm_t3_any_command *command, struct operand *dst,
		const struct operand *src)
{
	run_command(u->fd, u->queue, command);
	model_run(command, dst, src);
	operand_check(&u->device);
	operand_check(&u->host);
}

TEST("a host buffer is zeroed and takes no device memory")
{
	struct drm_t3_bo_create arg = { .size = 4097, .flags = DRM_T3_BO_HOST };
	struct drm_t3_device_info info;
	int fd = open_rank(0);
	uint64_t *words;
	size_t i;

	device_info(fd, &info);
	CHECK_EQ(call(fd, DRM_IOCTL_T3_BO_CREATE, &arg), 0);
	CHECK_EQ(arg.size, 8192);
	CHECK_EQ(memory_free(0), info.memory_free);
	words = bo_map(fd, arg.handle, arg.size);
	for (i = 0; i < arg.size / 8; i++)
		CHECK_EQ(words[i], 0);
	munmap(words, arg.size);
	CHECK_EQ(bo_create_host(fd, 0, &arg.handle), -EINVAL);
	CHECK_EQ(bo_create_host(fd, 1ull << 50, &arg.handle), -EINVAL);
	CHECK_EQ(bo_create_host(fd, UINT64_MAX, &arg.handle), -EINVAL);
	close(fd);
}

/* No page shows the data of its last user. */
TEST("host memory is zeroed for the next owner")
{
	uint64_t *words;
	uint32_t handle;
	size_t i;
	int fd, round;

	for (round = 0; round < 4; round++) {
		fd = open_rank(0);
		CHECK_EQ(bo_create_host(fd, SIZE, &handle), 0);
		words = bo_map(fd, handle, SIZE);
		for (i = 0; i < SIZE / 8; i++)
			CHECK_EQ(words[i], 0);
		memset(words, 0xc3, SIZE);
		munmap(words, SIZE);
		close(fd);
	}
}

/* In both directions, at odd places, up to the last byte. */
TEST("copies go in both directions at odd places")
{
	union drm_t3_any_command command;
	struct user u;

	user_open(&u);
	command = command_copy(u.host.handle, u.device.handle, SIZE - 77);
	command.copy.dst.offset = 77;
	run(&u, &command, &u.host, &u.device);
	command = command_copy(u.device.handle, u.host.handle, 1234567);
	command.copy.src.offset = SIZE - 1234567;
	command.copy.dst.offset = 3;
	run(&u, &command, &u.device, &u.host);
	command = command_copy(u.host.handle, u.host.handle, 1000000);
	command.copy.src.offset = 1;
	command.copy.dst.offset = 2 << 20;
	run(&u, &command, &u.host, &u.host);
	user_close(&u);
}

/* Rows that lie in one page, over two, and over many. */
TEST("rows over pages are copied")
{
	static const uint32_t shapes[][2] = {
		{ 13, 101 }, { 4096, 4096 }, { 1000, 4099 }, { 9001, 10007 }, { 1, 4097 },
	};
	union drm_t3_any_command command;
	struct user u;
	size_t i;

	user_open(&u);
	for (i = 0; i < ROWS(shapes); i++) {
		command = command_copy(u.host.handle, u.device.handle, shapes[i][0]);
		command.copy.rows = 500;
		command.copy.src.pitch = shapes[i][0] + 5;
		command.copy.dst.pitch = shapes[i][1];
		command.copy.src.offset = 9;
		command.copy.dst.offset = SIZE - 499 * (uint64_t)shapes[i][1] - shapes[i][0];
		run(&u, &command, &u.host, &u.device);
		command.copy.dst.handle = u.device.handle;
		command.copy.src.handle = u.host.handle;
		run(&u, &command, &u.device, &u.host);
	}
	user_close(&u);
}

/* The pattern begins anew with each row, also where pages end. */
TEST("fills begin their pattern anew with each row")
{
	union drm_t3_any_command command;
	struct user u;

	user_open(&u);
	command = command_fill(u.host.handle, 4091, SIZE - 5000, 0x8877665544332211);
	run(&u, &command, &u.host, NULL);
	command.copy.rows = 100;
	command.copy.row_bytes = 9999;
	command.copy.dst.pitch = 10001;
	command.copy.dst.offset = 1;
	command.fill.pattern = 0x0102030405060708;
	run(&u, &command, &u.host, NULL);
	user_close(&u);
}

TEST("host memory takes no space and no update")
{
	struct drm_t3_space_create made;
	union drm_t3_any_command command;
	struct user u;

	user_open(&u);
	CHECK_EQ(space_create(u.fd, u.host.handle, 1, &made), -EOPNOTSUPP);
	command = command_copy(u.host.handle, u.device.handle, 4096);
	command.head.type = DRM_T3_COMMAND_UPDATE;
	CHECK_EQ(submit_one(u.fd, u.queue, &command, 0), -EOPNOTSUPP);
	command.copy.dst.handle = u.device.handle;
	command.copy.src.handle = u.host.handle;
	CHECK_EQ(submit_one(u.fd, u.queue, &command, 0), -EOPNOTSUPP);
	command = command_copy(u.host.handle, u.device.handle, SIZE);
	command.copy.dst.offset = 1;
	CHECK_EQ(submit_one(u.fd, u.queue, &command, 0), -EINVAL);
	user_close(&u);
}

TEST("host memory is refused as staging")
{
	struct raw raw;
	uint32_t host;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	CHECK_EQ(bo_create_host(raw.fd, PAGE, &host), 0);
	CHECK_EQ(raw_stage(&raw, 0, host, RAW_SEGMENT_BYTES, 1), -EOPNOTSUPP);
	raw_close(&raw);
}

static void child_uses_it(int sock, void *arg)
{
	struct user *u = arg;

	(void)sock;
	CHECK_EQ(((volatile uint8_t *)u->host.memory)[SIZE - 1], 7);
	((volatile uint8_t *)u->host.memory)[0] = 9;
}

/* Children and other users of the pages share it, because the pages are ordinary. */
TEST("host memory is shared with children and other users")
{
	int null = open("/dev/zero", O_RDONLY | O_CLOEXEC), pipes[2];
	struct child child;
	struct user u;
	char byte;

	user_open(&u);
	((volatile uint8_t *)u.host.memory)[SIZE - 1] = 7;
	child_start(&child, child_uses_it, &u);
	CHECK_EQ(child_end(&child, 5000), 0);
	CHECK_EQ(((volatile uint8_t *)u.host.memory)[0], 9);
	CHECK_EQ(read(null, u.host.memory + 4090, 100), 100);
	CHECK_EQ(u.host.memory[4100], 0);
	CHECK_EQ(pipe(pipes), 0);
	CHECK_EQ(vmsplice(pipes[1], &(struct iovec){ u.host.memory, 1 }, 1, 0), 1);
	CHECK_EQ(read(pipes[0], &byte, 1), 1);
	CHECK_EQ(byte, 9);
	close(pipes[0]);
	close(pipes[1]);
	close(null);
	user_close(&u);
}

/* Its content stays with the user, also when the device was removed. */
TEST("the content outlives the device")
{
	union drm_t3_any_command command;
	struct user u;
	char bdf[32];
	int signal_host, signal_device;

	user_open(&u);
	command = command_fill(u.host.handle, 0, PAGE, 0x4242424242424242);
	run(&u, &command, &u.host, NULL);
	driver_unbind(0, bdf, sizeof(bdf));
	signal_host = signal_of_store(u.host.memory + SIZE - 4);
	signal_device = signal_of_load(u.device.memory);
	CHECK_EQ(u.host.memory[0], 0x42);
	operand_drop(&u.host);
	operand_drop(&u.device);
	close(u.fd);
	driver_bind(bdf);
	CHECK_EQ(signal_host, 0);
	CHECK_EQ(signal_device, SIGBUS);
	check_kernel_log();
}
