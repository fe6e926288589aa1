// SPDX-License-Identifier: MIT
/*
 * The limits of a device are the user's: one user, or four, take all that they may with as many open
 * files as they like, and another user still gets a queue, a space and memory. The jobs of a user
 * whose files are closed end, and keep nothing.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "child.h"
#include "debugfs.h"
#include "memory.h"
#include "module.h"
#include "queue.h"
#include "raw.h"
#include "refusal.h"

#define UID_HOSTILE 3000u /* this and the next ones */
#define UID_HONEST  3100u
#define HOSTILE	    4u
#define FILES	    16u
#define CLIENTS	    (DRM_T3_CLIENTS_MAX + 16u)
#define MANY	    20000u
#define MIB	    (1u << 20)
#define WAIT_MS	    60000

static int wait_ms(void)
{
	return WAIT_MS * (int)guest_slowness();
}

static int open_node(uint32_t rank)
{
	int fd = open(guest_node(rank), O_RDWR | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* ------------------------------------------------------- one who takes all he can */

static int take_queue(int fd)
{
	uint32_t queue;

	return queue_create(fd, 0, &queue);
}

static int take_space_of(int fd, uint64_t size, uint32_t *space)
{
	struct drm_t3_space_create made;
	uint32_t bo;
	int ret;

	ret = bo_create(fd, size, &bo);
	if (ret)
		return ret;
	ret = space_create(fd, bo, RAW_TILES, &made);
	if (ret)
		bo_close(fd, bo);
	else
		*space = made.space;
	return ret;
}

static int take_space(int fd)
{
	uint32_t space;

	return take_space_of(fd, PAGE, &space);
}

/* The aperture of this test's VM is smaller than its memory. */
static int take_aperture(int fd)
{
	uint32_t space;

	return take_space_of(fd, MIB, &space);
}

/* In spaces that it makes for them. */
static int take_segment(int fd)
{
	static struct raw raw = { .fd = -1 };
	static uint32_t next;
	struct drm_t3_segment_map segment;
	int ret;

	if (raw.fd != fd || next == DRM_T3_SEGMENTS_MAX) {
		ret = take_space_of(fd, PAGE, &raw.space);
		if (ret)
			return ret;
		raw.fd = fd;
		next = 0;
	}
	segment = raw_segment(&raw);
	segment.segment = next;
	segment.offset = 64 * next;
	segment.rows = segment.tile_rows = 1;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = 64;
	ret = raw_map(&raw, &segment);
	next += !ret;
	return ret;
}

static int take_memory(int fd)
{
	uint32_t bo;

	return bo_create(fd, MIB, &bo);
}

static int take_host_memory(int fd)
{
	uint32_t bo;

	return bo_create_host(fd, MIB, &bo);
}

/* An open file of its own with a space. */
static int take_client(int fd)
{
	static uint32_t clients;

	(void)fd;
	return clients++ < CLIENTS ? take_space(open_node(0)) : -ENOSPC;
}

static const struct kind {
	const char *name;
	int (*take)(int fd);
} kinds[] = {
	{ "queues", take_queue },
	{ "segments", take_segment },
	{ "clients", take_client },
	{ "spaces", take_space },
	{ "aperture", take_aperture },
	{ "device memory", take_memory },
	{ "host memory", take_host_memory },
};

/* A limit is a refusal of a field, too. Only -ENOMEM has none. */
static void check_named(int fd, int ret)
{
	struct drm_t3_refusal refusal;

	if (ret == -ENOMEM)
		return;
	CHECK_EQ(refusal_get(fd, &refusal), 0);
	CHECK_EQ(refusal.error, (uint32_t)-ret);
	CHECK(refusal.field[0] && refusal.allowed[0]);
}

/* Takes pieces through all files, until nothing is left for any of them. */
static uint32_t take_all(const int *fds, int (*take)(int fd))
{
	uint32_t taken = 0, i;
	int ret = 0;

	for (i = 0; i < FILES; i++) {
		while (!(ret = take(fds[i])))
			CHECK(++taken < MANY);
		CHECK(ret == -EDQUOT || ret == -ENOSPC || ret == -ENOMEM);
		if (take != take_client)
			check_named(fds[i], ret);
	}
	return taken;
}

struct hostile {
	uid_t uid;
	const struct kind *first, *end;
};

static void hostile_body(int sock, void *arg)
{
	const struct hostile *hostile = arg;
	const struct kind *kind;
	int fds[FILES];
	uint32_t i, taken;

	guest_node(0);
	become(hostile->uid, true);
	for (i = 0; i < FILES; i++)
		fds[i] = open_node(0);
	for (kind = hostile->first; kind < hostile->end; kind++) {
		taken = take_all(fds, kind->take);
		printf("# user %u takes %u: %s\n", hostile->uid, taken, kind->name);
		fflush(stdout);
	}
	send_u32(sock, 1);
	receive_u32(sock); /* until the other one is done */
}

static void honest_job(int fd)
{
	uint32_t queue, sync = sync_create(fd), bo;
	union drm_t3_any_command fill;

	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(bo_create(fd, MIB, &bo), 0);
	fill = command_fill(bo, 0, MIB, 1);
	CHECK_EQ(submit_one(fd, queue, &fill, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, wait_ms()), 0);
	CHECK_EQ(sync_status(fd, sync), 1);
}

static void honest_body(int sock, void *arg)
{
	uint32_t space;
	int fd;

	(void)sock;
	(void)arg;
	guest_node(0);
	become(UID_HONEST, true);
	fd = open_node(0);
	honest_job(fd);
	CHECK_EQ(take_space_of(fd, MIB / 4, &space), 0);
	CHECK_EQ(take_segment(fd), 0);
	CHECK_EQ(take_host_memory(fd), 0);
}

static uint64_t meminfo_kib(const char *key)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long value = 0;
	char line[128];

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			sscanf(line + strlen(key), ": %llu", &value);
	fclose(file);
	CHECK(value);
	return value;
}

static void honest_beside(uint32_t users, const struct kind *first, const struct kind *end)
{
	struct hostile hostile[HOSTILE];
	struct child children[HOSTILE], honest;
	uint32_t i;

	for (i = 0; i < users; i++) {
		hostile[i] = (struct hostile){ UID_HOSTILE + i, first, end };
		child_start(&children[i], hostile_body, &hostile[i]);
		CHECK_EQ(receive_u32(children[i].sock), 1);
	}
	CHECK(meminfo_kib("MemAvailable") > meminfo_kib("MemTotal") / 4);
	child_start(&honest, honest_body, NULL);
	CHECK_EQ(child_end(&honest, WAIT_MS), 0);
	for (i = 0; i < users; i++) {
		send_u32(children[i].sock, 1);
		CHECK_EQ(child_end(&children[i], WAIT_MS), 0);
	}
	module_await_unused();
}

SLOW_TEST("one user with many files leaves enough for another")
{
	const struct kind *kind;

	for (kind = kinds; kind < kinds + ROWS(kinds); kind++) {
		printf("# %s\n", kind->name);
		fflush(stdout);
		honest_beside(1, kind, kind + 1);
	}
}

SLOW_TEST("four users who take all leave enough for another")
{
	honest_beside(HOSTILE, kinds, kinds + ROWS(kinds));
}

static void privileged_body(int sock, void *arg)
{
	int fd = open_node(0);
	uint32_t i;

	(void)sock;
	(void)arg;
	for (i = 0; i < DRM_T3_QUEUES_MAX; i++)
		CHECK_EQ(take_queue(fd), 0);
	CHECK_EQ(take_queue(fd), -ENOSPC);
}

TEST("the privileged may have all")
{
	struct child child;

	child_start(&child, privileged_body, NULL);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
	debugfs_await_no_queue(0);
}

static void priority_body(int sock, void *arg)
{
	uint32_t queue;
	int fd;

	(void)sock;
	(void)arg;
	become(UID_HOSTILE, true);
	fd = open_node(0);
	CHECK_EQ(queue_create(fd, 1, &queue), -EACCES);
	CHECK_EQ(queue_create(fd, DRM_T3_QUEUE_PRIORITY_MAX, &queue), -EACCES);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
}

/* A priority comes before all shares. */
TEST("the privileged alone have queues of a priority")
{
	struct child child;

	guest_node(0);
	child_start(&child, priority_body, NULL);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
}

/* ---------------------------------------------------------------- whose a file is */

#define HALF (DRM_T3_QUEUES_MAX / 2)

static uint32_t take_queues(int fd)
{
	uint32_t taken = 0;
	int ret;

	while (!(ret = take_queue(fd)))
		taken++;
	CHECK_EQ(ret, -EDQUOT);
	return taken;
}

static void opener_body(int sock, void *arg)
{
	int fd;

	(void)arg;
	become(UID_HOSTILE, true);
	fd = open_node(0);
	send_fd(sock, fd);
	receive_u32(sock);
	CHECK_EQ(take_queue(fd), -EDQUOT);
	CHECK_EQ(take_queue(open_node(0)), -EDQUOT);
}

static void receiver_body(int sock, void *arg)
{
	int fd = *(int *)arg;

	become(UID_HOSTILE + 1, true);
	CHECK_EQ(take_queues(fd), HALF);
	CHECK_EQ(take_queues(open_node(0)), HALF / 2);
	send_u32(sock, 1);
	receive_u32(sock);
}

/* A file that is passed on still counts for the user who opened it. */
TEST("a file counts for the user who opened it")
{
	struct child opener, receiver;
	int fd;

	guest_node(0);
	child_start(&opener, opener_body, NULL);
	fd = receive_fd(opener.sock);
	child_start(&receiver, receiver_body, &fd);
	close(fd);
	CHECK_EQ(receive_u32(receiver.sock), 1);
	send_u32(opener.sock, 1);
	CHECK_EQ(child_end(&opener, WAIT_MS), 0);
	send_u32(receiver.sock, 1);
	CHECK_EQ(child_end(&receiver, WAIT_MS), 0);
	debugfs_await_no_queue(0);
}

#define NAMESPACE_USERS 4u
#define NAMESPACE_FIRST 200000u

/* The namespace's users have other numbers outside, too. */
static void namespace_body(int sock, void *arg)
{
	uint32_t taken = 0, i;

	(void)arg;
	become(UID_HOSTILE, true);
	CHECK_EQ(unshare(CLONE_NEWUSER), 0);
	send_u32(sock, 1);
	receive_u32(sock); /* the map is written */
	/* From 1 on: who leaves number 0 of a namespace may not change any more. */
	for (i = 1; i < NAMESPACE_USERS; i++) {
		CHECK_EQ(setresuid(i, i, i), 0);
		taken += take_queues(open_node(0));
	}
	send_u32(sock, taken);
	receive_u32(sock);
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	CHECK(file);
	CHECK(fputs(text, file) >= 0);
	CHECK_EQ(fclose(file), 0);
}

/* All users of a user namespace are its owner. */
TEST("users of a namespace count as its owner")
{
	char path[64], map[64];
	struct child child;

	guest_node(0);
	child_start(&child, namespace_body, NULL);
	CHECK_EQ(receive_u32(child.sock), 1);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", child.pid);
	snprintf(map, sizeof(map), "0 %u %u", NAMESPACE_FIRST, NAMESPACE_USERS);
	write_text(path, map);
	send_u32(child.sock, 1);
	CHECK_EQ(receive_u32(child.sock), HALF);
	send_u32(child.sock, 1);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
	debugfs_await_no_queue(0);
}

/* ------------------------------------------------------------------- cgroup */

#define CGROUP_MIB 16u

static const char cgroup_root[] = "/tmp/test_users.cgroup";

static void cgroup_body(int sock, void *arg)
{
	char path[64];
	uint32_t bo;
	int fd;

	(void)sock;
	(void)arg;
	guest_node(0);
	snprintf(path, sizeof(path), "%s/t3/cgroup.procs", cgroup_root);
	write_text(path, "0");
	become(UID_HOSTILE, true);
	fd = open_node(0);
	CHECK_EQ(bo_create_host(fd, CGROUP_MIB / 2 * MIB, &bo), 0);
	CHECK_EQ(bo_create_host(fd, CGROUP_MIB * MIB, &bo), -ENOMEM);
}

/* The limit of a memory cgroup holds for host buffers, and nobody is killed for one. */
TEST("host memory is limited by its memory cgroup")
{
	char path[64], limit[32];
	struct child child;

	CHECK_EQ(mkdir(cgroup_root, 0755), 0);
	CHECK_EQ(mount("none", cgroup_root, "cgroup2", 0, NULL), 0);
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup_root);
	write_text(path, "+memory");
	snprintf(path, sizeof(path), "%s/t3", cgroup_root);
	CHECK_EQ(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/t3/memory.max", cgroup_root);
	snprintf(limit, sizeof(limit), "%u", CGROUP_MIB * MIB);
	write_text(path, limit);
	child_start(&child, cgroup_body, NULL);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
	snprintf(path, sizeof(path), "%s/t3", cgroup_root);
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(umount(cgroup_root), 0);
	CHECK_EQ(rmdir(cgroup_root), 0);
}

/* ----------------------------------------------------------------- jobs of the dead */

#define SIDE	    1024u
#define DEAD_QUEUES DRM_T3_QUEUES_MAX
#define DEAD_JOBS   16u

/* Of side 1024 it takes the engine a second or so. The operands are zeros. */
static union drm_t3_any_command product(int fd, uint32_t side)
{
	struct drm_t3_gemm gemm = {
		.head.type = DRM_T3_COMMAND_GEMM,
		.rows = side,
		.columns = side,
		.depth = side,
		.dtype = DRM_T3_I32,
		.a.pitch = side * 4,
		.b.pitch = side * 4,
		.dst.pitch = side * 4,
		.chunk_rows = side,
		.raster_rows = 1,
		.group_rows = 32,
		.group_columns = 32,
		.tile_rows = 32,
		.tile_columns = 32,
	};

	CHECK_EQ(bo_create(fd, side * side * 4, &gemm.a.handle), 0);
	gemm.b.handle = gemm.a.handle;
	CHECK_EQ(bo_create(fd, side * side * 4, &gemm.dst.handle), 0);
	return ANY_COMMAND(gemm);
}

/* Returns whether the user may have one more queue. */
static bool flood(int fd, const union drm_t3_any_command *command, uint32_t sync)
{
	uint32_t queue, i;

	if (queue_create(fd, 0, &queue))
		return false;
	for (i = 0; i < DEAD_JOBS; i++)
		if (submit_one(fd, queue, command, sync))
			break;
	return true;
}

/* Jobs of many minutes on all queues that it can get: 8 of each file. */
static void dead_body(int sock, void *arg)
{
	union drm_t3_any_command command;
	uint32_t sync = 0, i;
	int fd = -1;

	(void)arg;
	guest_node(0);
	become(UID_HOSTILE, true);
	for (i = 0; i < DEAD_QUEUES; i++) {
		if (i % 8 == 0) {
			fd = open_node(0);
			command = product(fd, SIDE);
			sync = sync_create(fd);
		}
		if (!flood(fd, &command, sync))
			break;
		if (!i)
			send_fd(sock, sync_export(fd, sync));
	}
	send_u32(sock, i);
	receive_u32(sock); /* it is killed, or exits */
}

static void check_dead(bool killed)
{
	struct child dead, honest;
	int64_t deadline;
	int file;

	child_start(&dead, dead_body, NULL);
	file = receive_fd(dead.sock);
	printf("# %u queues of a user have jobs\n", receive_u32(dead.sock));
	fflush(stdout);
	if (killed)
		child_kill(&dead);
	else
		send_u32(dead.sock, 1);
	if (!killed)
		CHECK_EQ(child_end(&dead, WAIT_MS), 0);
	deadline = after_ms(wait_ms());
	while (debugfs_count(debugfs_read(0, "queues"), "queue=*")) {
		CHECK(now_ns() < deadline);
		nap_ms(5);
	}
	CHECK_EQ(sync_file_status(file), -ECANCELED);
	child_start(&honest, honest_body, NULL);
	CHECK_EQ(child_end(&honest, WAIT_MS), 0);
	close(file);
	module_await_unused();
	CHECK_EQ(module_unload(), 0);
	module_load();
}

SLOW_TEST("the jobs of a killed user end")
{
	check_dead(true);
}

SLOW_TEST("the jobs of a closed file end")
{
	check_dead(false);
}

/* -------------------------------------------------------------- queued time */

#define SMALL_SIDE 256u
#define LIMIT_MS   30u
#define SMALL_JOBS 7u /* of 4.2 ms each by the driver's estimate: products / 4 ns */

/* How many jobs are taken; the next one is refused. */
static uint32_t submit_all(int fd, uint32_t queue, const union drm_t3_any_command *command,
			   uint32_t sync)
{
	uint32_t count = 0;
	int ret;

	while (!(ret = submit_one(fd, queue, command, sync)))
		CHECK(++count < MANY);
	CHECK_EQ(ret, -EBUSY);
	return count;
}

static void queued_body(int sock, void *arg)
{
	union drm_t3_any_command command, fill;
	uint32_t queue, sync;
	int fd;

	(void)arg;
	guest_node(0);
	become(UID_HOSTILE, true);
	fd = open_node(0);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	sync = sync_create(fd);
	command = product(fd, SMALL_SIDE);
	send_u32(sock, 1);
	receive_u32(sock); /* the queue hangs */
	CHECK_EQ(submit_all(fd, queue, &command, sync), SMALL_JOBS);
	fill = command_fill(command.gemm.dst.handle, 0, 64, 1);
	CHECK_EQ(submit_one(fd, queue, &fill, sync), 0); /* there is room for a short one */
	/* The limit is the user's: no other file, queue or buffer gives more. */
	fd = open_node(0);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	command = product(fd, SMALL_SIDE);
	CHECK_EQ(submit_one(fd, queue, &command, 0), -EBUSY);
	send_u32(sock, 1);
	receive_u32(sock); /* it goes on, and the limit is less than a job */
	while (submit_one(fd, queue, &command, 0))
		nap_ms(1);
	/* Time that is given back is there before the job's fence signals. */
	sync = sync_create(fd);
	do {
		nap_ms(1);
	} while (submit_one(fd, queue, &command, sync));
	CHECK_EQ(sync_wait(fd, sync, 0, wait_ms()), 0);
	CHECK_EQ(submit_one(fd, queue, &command, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, wait_ms()), 0);
	CHECK_EQ(sync_status(fd, sync), 1);
}

/* A user's queued jobs are bounded in time of the engine; others still submit. */
TEST("a user's queued time is bounded")
{
	unsigned int before = parameter_set("user_queued_ms", LIMIT_MS);
	struct child child, honest;

	debugfs_await_no_queue(0);
	child_start(&child, queued_body, NULL);
	CHECK_EQ(receive_u32(child.sock), 1);
	inject_hang(0, 0, true);
	send_u32(child.sock, 1);
	CHECK_EQ(receive_u32(child.sock), 1);
	child_start(&honest, honest_body, NULL);
	CHECK_EQ(child_end(&honest, WAIT_MS), 0);
	parameter_set("user_queued_ms", 1);
	inject_hang(0, 0, false);
	send_u32(child.sock, 1);
	CHECK_EQ(child_end(&child, WAIT_MS), 0);
	parameter_set("user_queued_ms", before);
}

/* ------------------------------------------------------------------- a reset */

#define RESET_JOBS 5u

/* Jobs in the ring, and one of another queue that waits for the last of them. */
TEST("a reset by root ends all jobs")
{
	uint32_t queue, second, syncs[RESET_JOBS + 1], bo, i;
	union drm_t3_any_command fill;
	struct submission s;
	int fd;

	debugfs_await_no_queue(0);
	fd = open_rank(0);
	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(queue_create(fd, 0, &second), 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	fill = command_fill(bo, 0, PAGE, 1);
	inject_hang(0, 0, true);
	for (i = 0; i <= RESET_JOBS; i++) {
		syncs[i] = sync_create(fd);
		s = submission(i < RESET_JOBS ? queue : second, &fill, 1);
		if (i == RESET_JOBS)
			submission_in(&s, syncs[i - 1], 0);
		submission_out(&s, syncs[i], 0);
		CHECK_EQ(submit(fd, &s), 0);
	}
	CHECK_EQ(debugfs_write(0, "reset", "function"), 0);
	for (i = 0; i <= RESET_JOBS; i++) {
		CHECK_EQ(sync_wait(fd, syncs[i], 0, wait_ms()), 0);
		CHECK_EQ(sync_status(fd, syncs[i]), -ECANCELED);
	}
	/* Later jobs of the same queues run. */
	for (i = 0; i < 2; i++) {
		CHECK_EQ(submit_one(fd, i ? second : queue, &fill, syncs[i]), 0);
		CHECK_EQ(sync_wait(fd, syncs[i], 0, wait_ms()), 0);
		CHECK_EQ(sync_status(fd, syncs[i]), 1);
	}
	close(fd);
}

TEST("the kernel's log is clean")
{
	check_kernel_log();
}
