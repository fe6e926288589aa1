// SPDX-License-Identifier: MIT
/*
 * Two unprivileged clients of one device, of two users. One has everything that the
 * driver gives; the other knows all of its numbers and tries each way there is. What is
 * refused, and with which errno, are the tables here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "child.h"
#include "memory.h"
#include "victim.h"

#define HANDLES 300u /* more than the victim has of anything */
#define OFFSETS 5u

/* ------------------------------------------------------------------ the victim */

/* All that could be known about it. */
struct facts {
	pid_t pid;
	uint32_t bo, host, space, queue, sync, grant;
	uint64_t offset[OFFSETS]; /* buffer, host buffer, aperture, doorbell, events */
	int fds[5];		  /* node, grant, wait fd, eventfd, dma-buf */
	uint64_t memory;	  /* an address */
};

struct victim {
	struct raw raw;
	struct facts facts;
	struct operand host;
};

static void victim_descriptors(struct victim *v)
{
	struct drm_t3_space_wait_fd wait_fd = { .space = v->raw.space, .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .space = v->raw.space, .segment_mask = 1 };

	CHECK_EQ(call(v->raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), 0);
	event.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK_EQ(call(v->raw.fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), 0);
	v->facts.fds[0] = v->raw.fd;
	CHECK_EQ(raw_export(&v->raw, 1, 0xf, &v->facts.fds[1], &v->facts.grant), 0);
	v->facts.fds[2] = wait_fd.fd;
	v->facts.fds[3] = event.fd;
	v->facts.fds[4] = prime_share(v->raw.fd, v->raw.bo);
}

static void victim_open(struct victim *v)
{
	struct facts *f = &v->facts;

	raw_open(&v->raw, 0, PAGE);
	f->pid = getpid();
	f->bo = v->raw.bo;
	f->space = v->raw.space;
	CHECK_EQ(bo_create_host(v->raw.fd, PAGE, &f->host), 0);
	operand_adopt(&v->host, v->raw.fd, f->host, PAGE, 5);
	CHECK_EQ(queue_create(v->raw.fd, 0, &f->queue), 0);
	f->sync = sync_create(v->raw.fd);
	CHECK_EQ(bo_offset(v->raw.fd, f->bo, &f->offset[0]), 0);
	CHECK_EQ(bo_offset(v->raw.fd, f->host, &f->offset[1]), 0);
	f->offset[2] = v->raw.made.aperture_offset;
	f->offset[3] = v->raw.made.doorbell_offset;
	f->offset[4] = v->raw.made.event_offset;
	f->memory = (uintptr_t)v->host.memory;
	victim_descriptors(v);
}

/* Nobody has seen to it that anything but its own doing happened. */
static void victim_check(struct victim *v)
{
	struct pollfd poller = { .fd = v->facts.fds[3], .events = POLLIN };
	struct drm_t3_command copy;
	uint64_t count;

	CHECK_EQ(read(v->facts.fds[3], &count, sizeof(count)), -1);
	victim_finish(&v->raw);
	CHECK_EQ(poll(&poller, 1, 5000), 1); /* its interrupt comes behind the word */
	CHECK_EQ(read(v->facts.fds[3], &count, sizeof(count)), sizeof(count));
	operand_check(&v->host);
	CHECK_EQ(sync_wait(v->raw.fd, v->facts.sync, 0, 0), -EINVAL); /* nobody's fence */
	copy = command_copy(v->facts.host, v->facts.bo, RAW_SEGMENT_BYTES);
	run_command(v->raw.fd, v->facts.queue, &copy);
	CHECK_EQ(((volatile uint32_t *)v->host.memory)[63], 5);
	CHECK_EQ(raw_revoke(&v->raw, v->facts.grant), 0);
}

static void victim_body(int sock, void *arg)
{
	struct victim v;

	(void)arg;
	guest_ranks();
	become(UID_USER, true);
	/* It is the user that keeps others out, not the change of user. */
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	victim_open(&v);
	victim_begin(&v.raw);
	CHECK_EQ(send(sock, &v.facts, sizeof(v.facts), 0), sizeof(v.facts));
	receive_u32(sock);
	victim_check(&v);
}

struct attack {
	void (*body)(int fd, const struct facts *facts);
	struct facts facts;
	uid_t uid;
};

static void attacker_body(int sock, void *arg)
{
	const struct attack *attack = arg;
	int fd;

	(void)sock;
	become(attack->uid, true);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	fd = open(guest_node(0), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	attack->body(fd, &attack->facts);
}

static void run_attack(uid_t uid, void (*body)(int fd, const struct facts *facts))
{
	struct attack attack = { .body = body, .uid = uid };
	struct child victim, attacker;

	guest_ranks();
	child_start(&victim, victim_body, NULL);
	CHECK_EQ(recv(victim.sock, &attack.facts, sizeof(attack.facts), MSG_WAITALL),
		 sizeof(attack.facts));
	child_start(&attacker, attacker_body, &attack);
	CHECK_EQ(child_end(&attacker, 30000), 0);
	send_u32(victim.sock, 1);
	CHECK_EQ(child_end(&victim, 20000), 0);
}

/* --------------------------------------------- a file without anything of its own */

/* drm_syncobj_eventfd, which older headers of libdrm do not have. */
struct syncobj_eventfd {
	uint32_t handle, flags;
	uint64_t point;
	int32_t fd;
	uint32_t pad;
};

/* One call with a handle of the kind that it takes. */
struct handle_call {
	const char *name;
	unsigned long request;
	size_t at; /* of the handle in the argument */
	int error;
	union {
		uint8_t bytes[128];
		struct drm_t3_bo_mmap_offset mmap_offset;
		struct drm_t3_space_create space_create;
		struct drm_t3_space_wait wait;
		struct drm_t3_space_eventfd eventfd;
		struct drm_t3_space_wait_fd wait_fd;
		struct drm_t3_segment_map map;
		struct drm_t3_grant_export export;
		struct drm_t3_grant_import import;
		struct drm_t3_queue_submit submit;
		struct drm_syncobj_handle sync;
		struct drm_syncobj_transfer transfer;
	} arg;
};

/* clang-format off */
#define CALL(id, type, member, bad) \
	.name = #id, .request = DRM_IOCTL_##id, .at = offsetof(struct type, member), .error = (bad)

static struct drm_t3_command some_command = { .type = DRM_T3_COMMAND_FILL, .rows = 1, .row_bytes = 1 };

static const struct handle_call handle_calls[] = {
	{ CALL(GEM_CLOSE, drm_gem_close, handle, EINVAL) },
	{ CALL(PRIME_HANDLE_TO_FD, drm_prime_handle, handle, ENOENT) },
	{ CALL(T3_BO_MMAP_OFFSET, drm_t3_bo_mmap_offset, handle, ENOENT) },
	{ CALL(T3_SPACE_CREATE, drm_t3_space_create, bo_handle, ENOENT),
	  .arg.space_create.max_tiles = 1 },
	{ CALL(T3_SPACE_DESTROY, drm_t3_space, space, ENOENT) },
	{ CALL(T3_SPACE_RESET, drm_t3_space, space, ENOENT) },
	{ CALL(T3_SPACE_WAIT, drm_t3_space_wait, space, ENOENT), .arg.wait.epoch = 1 },
	{ CALL(T3_SPACE_EVENTFD, drm_t3_space_eventfd, space, ENOENT),
	  .arg.eventfd = { .fd = -1, .segment_mask = 1 } },
	{ CALL(T3_SPACE_WAIT_FD, drm_t3_space_wait_fd, space, ENOENT),
	  .arg.wait_fd.segment_mask = 1 },
	{ CALL(T3_SPACE_STATS, drm_t3_space_stats, space, ENOENT) },
	{ CALL(T3_SEGMENT_MAP, drm_t3_segment_map, space, ENOENT),
	  .arg.map = { .kind = DRM_T3_SEGMENT_LOCAL, .updates = 1, .rows = 1, .row_bytes = 4,
		       .pitch = 4, .tile_rows = 1, .tile_row_bytes = 4 } },
	{ CALL(T3_SEGMENT_UNMAP, drm_t3_segment_unmap, space, ENOENT) },
	{ CALL(T3_SEGMENT_STAGING, drm_t3_segment_staging, space, ENOENT) },
	{ CALL(T3_GRANT_EXPORT, drm_t3_grant_export, space, ENOENT),
	  .arg.export = { .op_mask = 1, .segment_mask = 1 } },
	{ CALL(T3_GRANT_REVOKE, drm_t3_grant_revoke, space, ENOENT) },
	{ CALL(T3_GRANT_IMPORT, drm_t3_grant_import, space, ENOENT), .arg.import.fd = 0 },
	{ CALL(T3_GRANT_RELEASE, drm_t3_grant_release, space, ENOENT) },
	{ CALL(T3_QUEUE_DESTROY, drm_t3_queue_destroy, queue, ENOENT) },
	{ CALL(T3_QUEUE_SUBMIT, drm_t3_queue_submit, queue, ENOENT),
	  .arg.submit = { .command_count = 1, .command_stride = sizeof(some_command),
			  .commands = (uintptr_t)&some_command } },
	{ CALL(SYNCOBJ_DESTROY, drm_syncobj_destroy, handle, EINVAL) },
	{ CALL(SYNCOBJ_HANDLE_TO_FD, drm_syncobj_handle, handle, EINVAL) },
	{ CALL(SYNCOBJ_TRANSFER, drm_syncobj_transfer, src_handle, ENOENT) },
	{ .name = "SYNCOBJ_EVENTFD", .request = DRM_IOWR(0xcf, struct syncobj_eventfd),
	  .at = offsetof(struct syncobj_eventfd, handle), .error = ENOENT },
};
/* clang-format on */

static int try_handle(int fd, const struct handle_call *row, uint32_t handle)
{
	uint8_t arg[128];
	int got;

	memcpy(arg, row->arg.bytes, sizeof(arg));
	memcpy(arg + row->at, &handle, sizeof(handle));
	got = call(fd, row->request, arg);
	if (got == -row->error)
		return 0;
	fprintf(stderr, "# %s with handle %u: %d, not %d\n", row->name, handle, got, -row->error);
	return 1;
}

/* Small numbers are the victim's, and everybody's own. */
static void guess_handles(int fd, const struct facts *facts)
{
	uint32_t handle;
	int wrong = 0;
	size_t i;

	(void)facts;
	for (i = 0; i < ROWS(handle_calls); i++) {
		for (handle = 0; handle < HANDLES; handle++)
			wrong += try_handle(fd, &handle_calls[i], handle);
		wrong += try_handle(fd, &handle_calls[i], UINT32_MAX);
		wrong += try_handle(fd, &handle_calls[i], 1u << 31);
	}
	CHECK_EQ(wrong, 0);
}

static void test_handles(void **state)
{
	(void)state;
	run_attack(UID_NOBODY, guess_handles);
	run_attack(UID_USER, guess_handles); /* nor has another file of the same user */
}

/* ----------------------------------------- others' handles beside what is one's own */

struct own {
	int fd;
	struct raw raw;
	uint32_t queue;
};

static int stage_with(struct own *own, uint32_t handle)
{
	return raw_stage(&own->raw, 0, handle, RAW_SEGMENT_BYTES, 1);
}

static int copy_from(struct own *own, uint32_t handle)
{
	struct drm_t3_command command = command_copy(own->raw.bo, handle, 64);

	return submit_one(own->fd, own->queue, &command, 0);
}

static int copy_to(struct own *own, uint32_t handle)
{
	struct drm_t3_command command = command_copy(handle, own->raw.bo, 64);

	return submit_one(own->fd, own->queue, &command, 0);
}

static int signal_with_job(struct own *own, uint32_t handle)
{
	struct drm_t3_command command = command_fill(own->raw.bo, 0, 64, 0);

	return submit_one(own->fd, own->queue, &command, handle);
}

static int wait_in_job(struct own *own, uint32_t handle)
{
	struct drm_t3_command command = command_fill(own->raw.bo, 0, 64, 0);
	struct submission s = submission(own->queue, &command, 1);

	submission_in(&s, handle, 0);
	return submit(own->fd, &s);
}

static int take_back(struct own *own, uint32_t handle)
{
	return raw_revoke(&own->raw, handle);
}

static int give_up(struct own *own, uint32_t handle)
{
	return raw_release_import(&own->raw, handle);
}

static int send_through(struct own *own, uint32_t handle)
{
	struct drm_t3_segment_map segment = raw_sender(&own->raw, DRM_T3_SEGMENT_REMOTE, handle, 0);

	segment.segment = 1;
	segment.offset = 1024;
	return raw_map(&own->raw, &segment);
}

static int wait_alone(struct own *own, uint32_t handle)
{
	return sync_wait(own->fd, handle, 0, 0);
}

static int signal_alone(struct own *own, uint32_t handle)
{
	struct drm_syncobj_array arg = { .handles = (uintptr_t)&handle, .count_handles = 1 };

	return call(own->fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &arg);
}

static const struct {
	const char *name;
	int (*attempt)(struct own *own, uint32_t handle);
} beside_own[] = {
	{ "staging in a buffer", stage_with },	    { "job reads a buffer", copy_from },
	{ "job writes a buffer", copy_to },	    { "job signals a syncobj", signal_with_job },
	{ "job waits for a syncobj", wait_in_job }, { "revoke a grant", take_back },
	{ "release an import", give_up },	    { "send through an import", send_through },
	{ "wait for a syncobj", wait_alone },	    { "signal a syncobj", signal_alone },
};

static void mix_handles(int fd, const struct facts *facts)
{
	struct own own = { .fd = fd };
	uint32_t handle;
	int wrong = 0, got;
	size_t i;

	(void)facts;
	raw_create(&own.raw, fd, PAGE);
	raw_map_local(&own.raw);
	CHECK_EQ(queue_create(fd, 0, &own.queue), 0);
	for (i = 0; i < ROWS(beside_own); i++) {
		for (handle = own.raw.bo + 1; handle < HANDLES; handle++) {
			got = beside_own[i].attempt(&own, handle);
			if (got == -ENOENT)
				continue;
			fprintf(stderr, "# %s %u: %d\n", beside_own[i].name, handle, got);
			wrong++;
		}
	}
	CHECK_EQ(wrong, 0);
	raw_run_epoch(&own.raw, 1);
}

static void test_handles_beside_own(void **state)
{
	(void)state;
	run_attack(UID_NOBODY, mix_handles);
}

/* -------------------------------------------------------------------- offsets */

static int try_offset(int fd, uint64_t offset, int prot)
{
	void *at = mmap(NULL, PAGE, prot, MAP_SHARED, fd, (off_t)offset);

	return at == MAP_FAILED ? -errno : 0;
}

static void map_offsets(int fd, const struct facts *facts)
{
	int other = open(guest_node(1), O_RDWR | O_CLOEXEC);
	uint32_t i;

	CHECK(other >= 0);
	for (i = 0; i < OFFSETS; i++) {
		CHECK_EQ(try_offset(fd, facts->offset[i], PROT_READ), -EACCES);
		CHECK_EQ(try_offset(fd, facts->offset[i], PROT_READ | PROT_WRITE), -EACCES);
		CHECK(try_offset(other, facts->offset[i], PROT_READ) < 0);
	}
}

static void test_offsets(void **state)
{
	(void)state;
	run_attack(UID_NOBODY, map_offsets);
	run_attack(UID_USER, map_offsets);
}

/* ----------------------------------------------------------- forged descriptors */

struct forged {
	const char *name;
	int fd;
	int grant, event, prime, sync; /* errnos of those that take descriptors */
};

static int as_grant(const struct own *own, int fd)
{
	return raw_import(&own->raw, fd, NULL);
}

static int as_event(const struct own *own, int fd)
{
	struct drm_t3_space_eventfd arg = { .space = own->raw.space, .fd = fd, .segment_mask = 1 };

	return call(own->fd, DRM_IOCTL_T3_SPACE_EVENTFD, &arg);
}

static int as_dmabuf(const struct own *own, int fd)
{
	uint32_t handle;

	return prime_import(own->fd, fd, &handle);
}

static int as_syncobj(const struct own *own, int fd)
{
	struct drm_syncobj_handle arg = { .fd = fd };

	return call(own->fd, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &arg);
}

static int check_forged(const struct own *own, const struct forged *f)
{
	const int got[] = { as_grant(own, f->fd), as_event(own, f->fd), as_dmabuf(own, f->fd),
			    as_syncobj(own, f->fd) };
	const int want[] = { f->grant, f->event, f->prime, f->sync };
	int wrong = 0;
	size_t i;

	for (i = 0; i < ROWS(got); i++) {
		if (got[i] == -want[i])
			continue;
		fprintf(stderr, "# %s as descriptor %zu: %d, not %d\n", f->name, i, got[i],
			-want[i]);
		wrong++;
	}
	return wrong;
}

static int wait_fd_of(const struct own *own)
{
	struct drm_t3_space_wait_fd arg = { .space = own->raw.space, .segment_mask = 1 };

	CHECK_EQ(call(own->fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &arg), 0);
	return arg.fd;
}

static void forge_descriptors(int fd, const struct facts *facts)
{
	struct own own = { .fd = fd };
	int sockets[2], wrong = 0;
	size_t i;

	(void)facts;
	raw_create(&own.raw, fd, PAGE);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	{
		const struct forged rows[] = {
			{ "the node", fd, EINVAL, EINVAL, EINVAL, EINVAL },
			{ "another node", open(guest_node(1), O_RDWR), EINVAL, EINVAL, EINVAL,
			  EINVAL },
			{ "a wait fd", wait_fd_of(&own), EINVAL, EINVAL, EINVAL, EINVAL },
			{ "a memfd", memfd_create("x", 0), EINVAL, EINVAL, EINVAL, EINVAL },
			{ "a socket", sockets[0], EINVAL, EINVAL, EINVAL, EINVAL },
			{ "a file", open("/proc/self/exe", O_RDONLY), EINVAL, EINVAL, EINVAL,
			  EINVAL },
			{ "a path", open("/tmp", O_PATH), EBADF, EBADF, EBADF, EINVAL },
			{ "a closed one", 200, EBADF, EBADF, EBADF, EINVAL },
			{ "a negative one", -7, EBADF, EBADF, EBADF, EINVAL },
		};

		for (i = 0; i < ROWS(rows); i++)
			wrong += check_forged(&own, &rows[i]);
	}
	CHECK_EQ(wrong, 0);
}

static void test_forged_descriptors(void **state)
{
	(void)state;
	run_attack(UID_NOBODY, forge_descriptors);
}

/* ----------------------------------------------------------- by way of the process */

static int try_open(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static void enter_process(int fd, const struct facts *facts)
{
	static const char *const files[] = { "fd/%d", "fdinfo/%d" };
	struct iovec here = { &(char){ 0 }, 1 }, there = { (void *)(uintptr_t)facts->memory, 1 };
	int pidfd = (int)syscall(SYS_pidfd_open, facts->pid, 0);
	char path[64], name[32];
	size_t i, k;

	(void)fd;
	CHECK(pidfd >= 0);
	for (i = 0; i < ROWS(facts->fds); i++) {
		for (k = 0; k < ROWS(files); k++) {
			snprintf(name, sizeof(name), files[k], facts->fds[i]);
			snprintf(path, sizeof(path), "/proc/%d/%s", facts->pid, name);
			CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
		}
		CHECK_EQ(syscall(SYS_pidfd_getfd, pidfd, facts->fds[i], 0), -1);
		CHECK_EQ(errno, EPERM);
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", facts->pid);
	CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
	snprintf(path, sizeof(path), "/proc/%d/maps", facts->pid);
	CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
	CHECK_EQ(process_vm_readv(facts->pid, &here, 1, &there, 1, 0), -1);
	CHECK(errno == EPERM || errno == ENOSYS); /* not every kernel has that call */
	CHECK_EQ(ptrace(PTRACE_ATTACH, facts->pid, NULL, NULL), -1);
	CHECK_EQ(errno, EPERM);
}

static void test_process(void **state)
{
	(void)state;
	run_attack(UID_NOBODY, enter_process);
}

/* ---------------------------------------------------------------- by way of sysfs */

static void open_device_files(int fd, const struct facts *facts)
{
	static const char *const names[] = { "resource0", "resource2", "resource4",    "remove",
					     "reset",	  "rescan",    "driver/unbind" };
	const char *node = strrchr(guest_node(0), '/') + 1;
	char path[128], config[256];
	size_t i;
	int file;

	(void)fd;
	(void)facts;
	for (i = 0; i < ROWS(names); i++) {
		snprintf(path, sizeof(path), "/sys/class/accel/%s/device/%s", node, names[i]);
		CHECK_EQ(try_open(path, O_WRONLY), -EACCES);
		CHECK_EQ(try_open(path, O_RDONLY), -EACCES);
	}
	snprintf(path, sizeof(path), "/sys/class/accel/%s/device/config", node);
	CHECK_EQ(try_open(path, O_RDWR), -EACCES);
	file = open(path, O_RDONLY);
	CHECK(file >= 0);
	CHECK_EQ(read(file, config, sizeof(config)), 64); /* the standard header alone */
	close(file);
}

/* Each parameter can be read; none can be written. */
static void open_parameters(int fd, const struct facts *facts)
{
	DIR *dir = opendir("/sys/module/t3/parameters");
	struct dirent *entry;
	char path[300];
	int count = 0;

	(void)fd;
	(void)facts;
	CHECK(dir);
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/module/t3/parameters/%s", entry->d_name);
		CHECK_EQ(try_open(path, O_WRONLY), -EACCES);
		count++;
	}
	CHECK(count >= 2);
	closedir(dir);
}

static void open_debugfs(int fd, const struct facts *facts)
{
	static const char *const paths[] = { "/sys/kernel/debug", "/sys/kernel/debug/accel",
					     "/sys/kernel/debug/accel/0",
					     "/sys/kernel/debug/accel/0/clients",
					     "/sys/kernel/debug/dma_buf/bufinfo" };
	size_t i;

	(void)fd;
	(void)facts;
	for (i = 0; i < ROWS(paths); i++)
		CHECK_EQ(try_open(paths[i], O_RDONLY), -EACCES);
}

static void test_sysfs_and_debugfs(void **state)
{
	(void)state;
	/* What is refused is there: the guest mounts it. */
	CHECK_EQ(try_open("/sys/kernel/debug/accel", O_RDONLY), 0);
	run_attack(UID_NOBODY, open_device_files);
	run_attack(UID_NOBODY, open_parameters);
	run_attack(UID_NOBODY, open_debugfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_handles), TEST(test_handles_beside_own),
		TEST(test_offsets), TEST(test_forged_descriptors),
		TEST(test_process), TEST(test_sysfs_and_debugfs),
	};

	return cmocka_run_group_tests_name("clients", tests, NULL, NULL);
}
