// SPDX-License-Identifier: MIT
/* Jobs that run long, fail or never end, and objects that are closed under them. */
#include "child.h"
#include "debugfs.h"
#include "memory.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "trouble.h"

#define SIZE	   65536u
#define WAIT_MS	   10000
#define TIMEOUT_MS 400
#define PATTERN	   UINT64_C(0x1122334455667788)

/* The driver takes the lowest number, and no queue exists when a test begins. */
#define HW_QUEUE 0

static void set_timeout(unsigned int ms)
{
	set_parameter("job_timeout_ms", ms);
}

struct user {
	int fd;
	uint32_t queue;
	struct operand a, b;
	uint32_t syncs[4];
};

static void user_open_beside(struct user *u, uint32_t rank)
{
	uint32_t i;

	u->fd = open_rank(rank);
	CHECK_EQ(queue_create(u->fd, 0, &u->queue), 0);
	for (i = 0; i < ROWS(u->syncs); i++)
		u->syncs[i] = sync_create(u->fd);
	operand_open(&u->a, u->fd, SIZE, 1);
	operand_open(&u->b, u->fd, SIZE, 2);
}

static void user_open(struct user *u, uint32_t rank)
{
	debugfs_await_no_queue(rank);
	user_open_beside(u, rank);
}

static void user_close(struct user *u)
{
	operand_drop(&u->a);
	operand_drop(&u->b);
	close(u->fd);
}

/* Fill 64 bytes of a buffer, number i, without waiting. */
static union drm_t3_any_command part(const struct operand *operand, uint32_t i)
{
	return command_fill(operand->handle, 64 * i, 64, PATTERN + i);
}

static void start_part(struct user *u, uint32_t i)
{
	union drm_t3_any_command fill = part(&u->a, i);

	CHECK_EQ(submit_one(u->fd, u->queue, &fill, u->syncs[i]), 0);
}

static void expect_part(struct user *u, uint32_t i)
{
	union drm_t3_any_command fill = part(&u->a, i);

	model_run(&fill, &u->a, NULL);
}

/* Jobs wait for points, for their queue, and for users of their buffers, but for no other jobs. */
TEST("jobs wait for points, queue and buffers, and no other jobs")
{
	union drm_t3_any_command one, copy, free_fill;
	uint32_t second, third;
	struct operand other;
	struct submission s;
	struct user u;

	user_open(&u, 0);
	operand_open(&other, u.fd, SIZE, 9);
	CHECK_EQ(queue_create(u.fd, 3, &second), 0);
	CHECK_EQ(queue_create(u.fd, 0, &third), 0);
	inject_hang(0, HW_QUEUE, true);
	start_part(&u, 0);
	/* Through its buffer: it reads what the first one writes. */
	copy = command_copy(u.b.handle, u.a.handle, SIZE);
	CHECK_EQ(submit_one(u.fd, second, &copy, u.syncs[1]), 0);
	/* By a point alone. */
	one = part(&other, 5);
	s = submission(third, &one, 1);
	submission_in(&s, u.syncs[0], 0);
	submission_out(&s, u.syncs[2], 0);
	CHECK_EQ(submit(u.fd, &s), 0);
	sync_check_busy(u.fd, u.syncs[0]);
	sync_check_busy(u.fd, u.syncs[1]);
	sync_check_busy(u.fd, u.syncs[2]);
	operand_check(&u.a);
	operand_check(&u.b);
	operand_check(&other);
	inject_hang(0, HW_QUEUE, false);
	CHECK_EQ(sync_wait(u.fd, u.syncs[1], 0, WAIT_MS), 0);
	CHECK_EQ(sync_wait(u.fd, u.syncs[2], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[0]), 1);
	expect_part(&u, 0);
	model_run(&copy, &u.b, &u.a);
	model_run(&one, &other, NULL);
	operand_check(&u.a);
	operand_check(&u.b);
	operand_check(&other);
	/* A job that shares nothing with one that hangs runs at once. */
	inject_hang(0, HW_QUEUE, true);
	start_part(&u, 1);
	free_fill = part(&other, 6);
	CHECK_EQ(submit_one(u.fd, second, &free_fill, u.syncs[3]), 0);
	CHECK_EQ(sync_wait(u.fd, u.syncs[3], 0, WAIT_MS), 0);
	sync_check_busy(u.fd, u.syncs[1]);
	inject_hang(0, HW_QUEUE, false);
	CHECK_EQ(sync_wait(u.fd, u.syncs[1], 0, WAIT_MS), 0);
	operand_drop(&other);
	user_close(&u);
}

/* Two that read one buffer do not wait for each other. */
TEST("readers of a buffer do not wait for each other")
{
	union drm_t3_any_command copy;
	struct operand other;
	struct user u;
	uint32_t second;

	user_open(&u, 0);
	operand_open(&other, u.fd, SIZE, 9);
	CHECK_EQ(queue_create(u.fd, 0, &second), 0);
	inject_hang(0, HW_QUEUE, true);
	copy = command_copy(u.b.handle, u.a.handle, SIZE);
	CHECK_EQ(submit_one(u.fd, u.queue, &copy, u.syncs[0]), 0);
	copy = command_copy(other.handle, u.a.handle, SIZE);
	CHECK_EQ(submit_one(u.fd, second, &copy, u.syncs[1]), 0);
	CHECK_EQ(sync_wait(u.fd, u.syncs[1], 0, WAIT_MS), 0);
	sync_check_busy(u.fd, u.syncs[0]);
	/* A writer does wait for the reader. */
	copy = command_copy(u.a.handle, other.handle, SIZE);
	CHECK_EQ(submit_one(u.fd, second, &copy, u.syncs[2]), 0);
	sync_check_busy(u.fd, u.syncs[2]);
	inject_hang(0, HW_QUEUE, false);
	CHECK_EQ(sync_wait(u.fd, u.syncs[2], 0, WAIT_MS), 0);
	operand_drop(&other);
	user_close(&u);
}

/* Buffers, queue, syncobj and file are closed while the job hangs. It still ends well. */
TEST("a job ends well after all its objects were closed")
{
	union drm_t3_any_command copy;
	struct user u;
	int file, i;

	user_open(&u, 0);
	inject_hang(0, HW_QUEUE, true);
	start_part(&u, 0);
	copy = command_copy(u.b.handle, u.a.handle, SIZE);
	CHECK_EQ(submit_one(u.fd, u.queue, &copy, u.syncs[1]), 0);
	file = sync_export(u.fd, u.syncs[1]);
	CHECK_EQ(bo_close(u.fd, u.a.handle), 0);
	CHECK_EQ(bo_close(u.fd, u.b.handle), 0);
	CHECK_EQ(queue_destroy(u.fd, u.queue), 0);
	CHECK_EQ(submit_one(u.fd, u.queue, &copy, 0), -ENOENT);
	expect_part(&u, 0);
	model_run(&copy, &u.b, &u.a);
	close(u.fd);
	CHECK_EQ(sync_file_status(file), 0);
	inject_hang(0, HW_QUEUE, false);
	for (i = 0; i < 100 && !sync_file_status(file); i++)
		nap_ms(10);
	CHECK_EQ(sync_file_status(file), 1);
	/* The mappings keep the memory, after all else is closed. */
	operand_check(&u.a);
	operand_check(&u.b);
	operand_drop(&u.a);
	operand_drop(&u.b);
	close(file);
}

/* A binary syncobj with the fence of a sync_file. */
static uint32_t sync_import(int fd, int sync_file)
{
	struct drm_syncobj_handle arg = {
		.handle = sync_create(fd),
		.flags = DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE,
		.fd = sync_file,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &arg), 0);
	return arg.handle;
}

static void submit_and_stay(int sock, void *arg)
{
	struct user u;

	(void)arg;
	user_open(&u, 0);
	inject_hang(0, HW_QUEUE, true);
	start_part(&u, 0);
	start_part(&u, 1);
	send_fd(sock, sync_export(u.fd, u.syncs[0]));
	send_fd(sock, sync_export(u.fd, u.syncs[1]));
	for (;;)
		pause();
}

/* A file's jobs end with it, though the queue hangs. Holders of their fences get an error. */
TEST("a killed client's jobs end with an error")
{
	uint64_t before = memory_free(0);
	struct child child;
	int files[2], i;

	child_start(&child, submit_and_stay, NULL);
	for (i = 0; i < 2; i++)
		files[i] = receive_fd(child.sock);
	CHECK_EQ(sync_file_status(files[0]), 0);
	child_kill(&child);
	check_memory(0, before);
	debugfs_await_no_queue(0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(sync_file_status(files[i]), -ECANCELED);
		close(files[i]);
	}
}

static void close_with_jobs_of_others(int sock, void *arg)
{
	union drm_t3_any_command fill;
	struct submission s;
	struct user u;

	user_open_beside(&u, 0);
	fill = part(&u.a, 0);
	s = submission(u.queue, &fill, 1);
	submission_in(&s, sync_import(u.fd, *(int *)arg), 0);
	submission_out(&s, u.syncs[0], 0);
	CHECK_EQ(submit(u.fd, &s), 0);
	start_part(&u, 1);
	send_fd(sock, sync_export(u.fd, u.syncs[0]));
	for (;;)
		pause();
}

/*
 * A job that waits for another user's fence fails when that one is over. It holds memory until
 * then, and no queue.
 */
TEST("a killed client's waiting job keeps memory and no queue")
{
	struct child child;
	struct user u;
	int waited, file;

	user_open(&u, 0);
	inject_hang(0, HW_QUEUE, true);
	start_part(&u, 0);
	waited = sync_export(u.fd, u.syncs[0]);
	child_start(&child, close_with_jobs_of_others, &waited);
	file = receive_fd(child.sock);
	child_kill(&child);
	while (debugfs_count(debugfs_read(0, "queues"), "queue=*") > 1)
		nap_ms(1);
	CHECK_EQ(sync_file_status(file), 0);
	inject_hang(0, HW_QUEUE, false);
	CHECK_EQ(sync_wait(u.fd, u.syncs[0], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[0]), 1);
	while (!sync_file_status(file))
		nap_ms(1);
	CHECK_EQ(sync_file_status(file), -ECANCELED);
	close(waited);
	close(file);
	user_close(&u);
}

/* A fence may be kept for any time: its file can be read, and the module stays. */
TEST("a fence outlives all else and holds the module")
{
	struct user u;
	int file;

	user_open(&u, 0);
	start_part(&u, 0);
	CHECK_EQ(sync_wait(u.fd, u.syncs[0], 0, WAIT_MS), 0);
	file = sync_export(u.fd, u.syncs[0]);
	user_close(&u);
	nap_ms(300);
	CHECK(module_users() > 0);
	CHECK_EQ(module_unload(), -EWOULDBLOCK);
	CHECK_EQ(sync_file_status(file), 1);
	close(file);
	module_await_unused();
	CHECK_EQ(module_unload(), 0);
	module_load();
}

TEST("a queue has a largest number of jobs")
{
	union drm_t3_any_command fill;
	struct user u;
	int jobs, ret;

	set_timeout(3600000); /* a debug kernel needs time for that many */
	user_open(&u, 0);
	set_timeout(10000);
	inject_hang(0, HW_QUEUE, true);
	for (jobs = 0; jobs <= DRM_T3_QUEUE_JOBS_MAX; jobs++) {
		fill = part(&u.a, (uint32_t)jobs % 1024);
		ret = submit_one(u.fd, u.queue, &fill, u.syncs[0]);
		if (ret)
			break;
		model_run(&fill, &u.a, NULL);
	}
	CHECK_EQ(ret, -EBUSY);
	CHECK_EQ(jobs, DRM_T3_QUEUE_JOBS_MAX);
	inject_hang(0, HW_QUEUE, false);
	CHECK_EQ(sync_wait(u.fd, u.syncs[0], 0, WAIT_MS), 0);
	operand_check(&u.a);
	user_close(&u);
}

/* ----------------------------------------------------------------- failures */

static void fail_dma(uint32_t nth, uint32_t count)
{
	inject(0, "fail-dma nth=%u count=%u", nth, count);
}

/* One of three commands fails, in a job between two others in the same ring. */
TEST("a failed command fails its job alone")
{
	union drm_t3_any_command three[3];
	struct submission s;
	struct user u;
	uint32_t i;

	user_open(&u, 0);
	inject_hang(0, HW_QUEUE, true);
	start_part(&u, 0);
	for (i = 0; i < 3; i++)
		three[i] = part(&u.a, 10 + i);
	s = submission(u.queue, three, 3);
	submission_out(&s, u.syncs[1], 0);
	CHECK_EQ(submit(u.fd, &s), 0);
	start_part(&u, 2);
	/* Descriptor and completion, twice: then the descriptor of three[1]. */
	fail_dma(5, 1);
	inject_hang(0, HW_QUEUE, false);
	CHECK_EQ(sync_wait(u.fd, u.syncs[2], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[0]), 1);
	CHECK_EQ(sync_status(u.fd, u.syncs[1]), -EIO);
	CHECK_EQ(sync_status(u.fd, u.syncs[2]), 1);
	expect_part(&u, 0);
	model_run(&three[0], &u.a, NULL);
	expect_part(&u, 2);
	operand_check(&u.a);
	user_close(&u);
}

/* The data was moved without a completion. It must not be moved again. */
TEST("a job whose completion fails is not run again")
{
	struct drm_t3_update add = {
		.head.type = DRM_T3_COMMAND_UPDATE,
		.rows = 1,
		.row_bytes = SIZE,
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
	};
	union drm_t3_any_command command;
	uint32_t i, *word;
	struct user u;

	user_open(&u, 0);
	add.src.handle = u.b.handle;
	add.dst.handle = u.a.handle;
	command = ANY_COMMAND(add);
	fail_dma(2, 1);
	CHECK_EQ(submit_one(u.fd, u.queue, &command, u.syncs[0]), 0);
	CHECK_EQ(sync_wait(u.fd, u.syncs[0], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[0]), -EIO);
	for (i = 0; i < SIZE; i += 4) {
		word = (uint32_t *)(u.a.model + i);
		*word += *(uint32_t *)(u.b.model + i);
	}
	operand_check(&u.a);
	start_part(&u, 1);
	CHECK_EQ(sync_wait(u.fd, u.syncs[1], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[1]), 1);
	user_close(&u);
}

/* Poison fails one job after the other. The queue goes on, and later jobs succeed. */
TEST("poison fails one job after the other, and later ones succeed")
{
	struct drm_t3_device_info info;
	struct user u;
	uint32_t i;

	user_open(&u, 0);
	device_info(u.fd, &info);
	inject(0, "poison address=0 value=%llu", info.memory_size);
	for (i = 0; i < 4; i++)
		start_part(&u, i);
	CHECK_EQ(sync_wait(u.fd, u.syncs[3], 0, WAIT_MS), 0);
	for (i = 0; i < 4; i++)
		CHECK_EQ(sync_status(u.fd, u.syncs[i]), -EIO);
	operand_check(&u.a);
	inject(0, "unpoison");
	start_part(&u, 1);
	CHECK_EQ(sync_wait(u.fd, u.syncs[1], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[1]), 1);
	expect_part(&u, 1);
	operand_check(&u.a);
	user_close(&u);
}

/* The job that hangs is aborted. Those after it in its ring, and others, run. */
TEST("a job that hangs is aborted, and the others run")
{
	uint32_t second, round;
	union drm_t3_any_command fill;
	struct user u;

	set_timeout(TIMEOUT_MS);
	user_open(&u, 0);
	CHECK_EQ(queue_create(u.fd, 0, &second), 0);
	for (round = 0; round < 3; round++) {
		inject_hang(0, HW_QUEUE, true);
		start_part(&u, 0);
		start_part(&u, 1);
		start_part(&u, 2);
		fill = part(&u.b, round);
		CHECK_EQ(submit_one(u.fd, second, &fill, u.syncs[3]), 0);
		CHECK_EQ(sync_wait(u.fd, u.syncs[3], 0, TIMEOUT_MS / 2), 0);
		CHECK_EQ(sync_wait(u.fd, u.syncs[2], 0, WAIT_MS), 0);
		CHECK_EQ(sync_status(u.fd, u.syncs[0]), -ETIME);
		CHECK_EQ(sync_status(u.fd, u.syncs[1]), 1);
		CHECK_EQ(sync_status(u.fd, u.syncs[2]), 1);
		expect_part(&u, 1);
		expect_part(&u, 2);
		operand_check(&u.a);
	}
	user_close(&u);
	set_timeout(10000);
}

TEST("a lost interrupt delays a job, and does not fail it")
{
	unsigned int poll = parameter_set("poll_ms", 0);
	struct user u;

	set_timeout(8 * TIMEOUT_MS); /* its time is looked at 8 times */
	user_open(&u, 0);
	inject(0, "lose-irq");
	start_part(&u, 0);
	CHECK_EQ(sync_wait(u.fd, u.syncs[0], 0, TIMEOUT_MS / 2), -ETIME);
	CHECK_EQ(sync_wait(u.fd, u.syncs[0], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[0]), 1);
	start_part(&u, 1);
	CHECK_EQ(sync_wait(u.fd, u.syncs[1], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[1]), 1);
	user_close(&u);
	set_timeout(10000);
	parameter_set("poll_ms", poll);
}

/* ------------------------------------------------------------------ removal */

/* A syncobj of one file in another, of another device. */
static uint32_t sync_share(int from, uint32_t sync, int to)
{
	struct drm_syncobj_handle arg = { .handle = sync };

	CHECK_EQ(call(from, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg), 0);
	arg.handle = 0;
	CHECK_EQ(call(to, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &arg), 0);
	close(arg.fd);
	return arg.handle;
}

/*
 * The device is removed under a job in its ring, one after it, one of another queue that waits for
 * it, and one of another device.
 */
TEST("an unbound device ends all jobs that wait for it")
{
	uint64_t before = memory_free(0);
	union drm_t3_any_command fill;
	struct submission s;
	struct user u, peer;
	uint32_t second, i;
	int files[3];
	char bdf[32];

	user_open(&u, 0);
	user_open(&peer, 1);
	CHECK_EQ(queue_create(u.fd, 0, &second), 0);
	inject_hang(0, HW_QUEUE, true);
	start_part(&u, 0);
	start_part(&u, 1);
	fill = part(&u.a, 3);
	CHECK_EQ(submit_one(u.fd, second, &fill, u.syncs[2]), 0);
	fill = part(&peer.a, 0);
	s = submission(peer.queue, &fill, 1);
	submission_in(&s, sync_share(u.fd, u.syncs[1], peer.fd), 0);
	submission_out(&s, peer.syncs[0], 0);
	CHECK_EQ(submit(peer.fd, &s), 0);
	sync_check_busy(peer.fd, peer.syncs[0]);
	for (i = 0; i < 3; i++)
		files[i] = sync_export(u.fd, u.syncs[i]);
	driver_unbind(0, bdf, sizeof(bdf));
	CHECK_EQ(sync_wait(peer.fd, peer.syncs[0], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(peer.fd, peer.syncs[0]), 1);
	nap_ms(50); /* a worker waits for the first two, for the third */
	for (i = 0; i < 3; i++)
		CHECK_EQ(sync_file_status(files[i]), -ENODEV);
	CHECK_EQ(submit_one(u.fd, u.queue, &fill, 0), -ENODEV);
	CHECK_EQ(queue_destroy(u.fd, u.queue), -ENODEV);
	user_close(&u);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(sync_file_status(files[i]), -ENODEV);
		close(files[i]);
	}
	driver_bind(bdf);
	check_memory(0, before);
	user_close(&peer);
	user_open(&u, 0);
	start_part(&u, 0);
	CHECK_EQ(sync_wait(u.fd, u.syncs[0], 0, WAIT_MS), 0);
	CHECK_EQ(sync_status(u.fd, u.syncs[0]), 1);
	user_close(&u);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
