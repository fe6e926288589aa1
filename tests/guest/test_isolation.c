// SPDX-License-Identifier: MIT
/*
 * A victim with a space in use, and an attacker of another user who may open the same device. The
 * attacker reaches nothing of the victim's by any number or argument.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "child.h"
#include "victim.h"

/* The attacker gets these numbers, as if it had guessed them. */
struct victim {
	struct raw raw;
	uint32_t grant;
	int grant_fd;
	uint64_t bo_offset;
};

static void open_victim(struct victim *v)
{
	raw_open(&v->raw, 0, PAGE);
	victim_begin(&v->raw);
	CHECK_EQ(raw_export(&v->raw, 1, 0xf, &v->grant_fd, &v->grant), 0);
	CHECK_EQ(bo_offset(v->raw.fd, v->raw.bo, &v->bo_offset), 0);
}

/* The epoch continues unchanged. */
static void check_victim(struct victim *v)
{
	victim_finish(&v->raw);
	CHECK_EQ(raw_revoke(&v->raw, v->grant), 0);
	close(v->grant_fd);
	raw_close(&v->raw);
}

/* As another user, without any inherited descriptor or mapping of the victim's. */
static int become_attacker(struct victim *v)
{
	int fd;

	raw_unmap(&v->raw);
	close(v->raw.fd);
	close(v->grant_fd);
	become(UID_NOBODY, true);
	fd = open(guest_node(0), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

static void attack(void (*body)(int sock, void *arg))
{
	struct victim victim;
	struct child child;

	open_victim(&victim);
	child_start(&child, body, &victim);
	CHECK_EQ(child_end(&child, 20000), 0);
	check_victim(&victim);
}

/* ------------------------------------------------------------------ handles */

static void try_space(int fd, uint32_t handle, uint32_t bo)
{
	struct raw raw = { .fd = fd, .space = handle };
	struct drm_t3_segment_map segment = raw_segment(&raw);
	struct drm_t3_space_stats stats;
	struct drm_t3_space_wait_fd wait_fd = { .space = handle, .segment_mask = 1 };
	struct drm_t3_space_eventfd event = { .space = handle, .fd = -1, .segment_mask = 1 };
	int grant;

	CHECK_EQ(space_reset(fd, handle), -ENOENT);
	CHECK_EQ(space_destroy(fd, handle), -ENOENT);
	CHECK_EQ(raw_wait(&raw, DRM_T3_WAIT_ARMED, 1, 0, 0), -ENOENT);
	CHECK_EQ(call(fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &wait_fd), -ENOENT);
	CHECK_EQ(call(fd, DRM_IOCTL_T3_SPACE_EVENTFD, &event), -ENOENT);
	CHECK_EQ(raw_stats(&raw, 0, &stats), -ENOENT);
	CHECK_EQ(raw_map(&raw, &segment), -ENOENT);
	CHECK_EQ(raw_unmap_segment(&raw, 0), -ENOENT);
	CHECK_EQ(raw_stage(&raw, 0, bo, PAGE, 1), -ENOENT);
	CHECK_EQ(raw_export(&raw, 1, 1, &grant, NULL), -ENOENT);
	CHECK_EQ(raw_revoke(&raw, 1), -ENOENT);
	CHECK_EQ(raw_release_import(&raw, 1), -ENOENT);
}

static void guess_handles(int sock, void *arg)
{
	struct victim *v = arg;
	int fd = become_attacker(v);
	struct drm_t3_space_create made;
	uint64_t offset;
	uint32_t handle;

	(void)sock;
	for (handle = 0; handle < 2000; handle++) {
		try_space(fd, handle, 1);
		CHECK_EQ(bo_offset(fd, handle, &offset), -ENOENT);
		CHECK_EQ(space_create(fd, handle, 1, &made), -ENOENT);
		CHECK(bo_close(fd, handle) < 0);
	}
	try_space(fd, UINT32_MAX, UINT32_MAX);
}

TEST("guessed handles reach nothing of the victim")
{
	attack(guess_handles);
}

/* The flink name space would be shared by all: it is closed to users. */
static void try_names(int sock, void *arg)
{
	int fd = become_attacker(arg), name;
	struct drm_gem_flink flink = { 0 };

	(void)sock;
	CHECK_EQ(bo_create(fd, PAGE, &flink.handle), 0);
	CHECK(call(fd, DRM_IOCTL_GEM_FLINK, &flink) < 0);
	for (name = 0; name < 100; name++) {
		struct drm_gem_open open_name = { .name = (uint32_t)name };

		CHECK(call(fd, DRM_IOCTL_GEM_OPEN, &open_name) < 0);
	}
}

TEST("global names reach nothing of the victim")
{
	attack(try_names);
}

/* ------------------------------------------------------------------ offsets */

static void expect_no_map(int fd, uint64_t offset)
{
	void *ptr = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, (off_t)offset);

	CHECK(ptr == MAP_FAILED);
	CHECK(errno == EACCES || errno == EINVAL);
}

static void guess_offsets(int sock, void *arg)
{
	struct victim *v = arg;
	const struct drm_t3_space_create made = v->raw.made;
	uint64_t base = v->bo_offset, offset;
	int fd = become_attacker(v);

	(void)sock;
	expect_no_map(fd, v->bo_offset);
	expect_no_map(fd, made.aperture_offset);
	expect_no_map(fd, made.doorbell_offset);
	expect_no_map(fd, made.event_offset);
	/* And the offsets near them. */
	base = base > 256 * PAGE ? base - 256 * PAGE : 0;
	for (offset = base; offset < base + 1024 * PAGE; offset += PAGE)
		expect_no_map(fd, offset);
}

TEST("guessed mapping offsets reach nothing of the victim")
{
	attack(guess_offsets);
}

/* ------------------------------------------------- the attacker's own space */

/* Everything that it can write to belongs to itself, whatever it writes. */
static void misuse_own_space(int sock, void *arg)
{
	int fd = become_attacker(arg), i;
	struct raw raw;
	uint32_t offset;

	(void)sock;
	srandom(7);
	raw_create(&raw, fd, 2 * PAGE);
	raw_map_local(&raw);
	for (i = 0; i < 300; i++) {
		raw_arm(&raw, 1);
		put64(raw.doorbell + DRM_T3_DOORBELL_TILE, (uint64_t)random() << 33 ^ random());
		offset = (uint32_t)random() % (2 * PAGE / 8);
		put64(raw.aperture + 8 * offset, ~0ull);
		put32(raw.doorbell + 4 * (random() % (PAGE / 4)), (uint32_t)random());
		if (i % 10 == 0)
			CHECK_EQ(space_reset(fd, raw.space), 0);
	}
	raw_close(&raw);
}

TEST("an own space reaches nobody")
{
	attack(misuse_own_space);
}

/* Geometry and staging that lead out of the own buffers. */
static void lead_outside(int sock, void *arg)
{
	static const uint64_t offsets[] = {
		PAGE,	    PAGE - 4,	      1ull << 20,     1ull << 32,
		1ull << 63, UINT64_MAX - 255, UINT64_MAX - 3,
	};
	int fd = become_attacker(arg);
	struct drm_t3_segment_map segment;
	struct drm_t3_segment_staging staging = { .slots = 1, .slot_stride = 256 };
	struct raw raw;
	size_t i;

	(void)sock;
	raw_create(&raw, fd, PAGE);
	segment = raw_segment(&raw);
	CHECK_EQ(raw_map(&raw, &segment), 0);
	staging.space = raw.space;
	CHECK_EQ(bo_create(fd, PAGE, &staging.bo_handle), 0);
	segment.segment = 1;
	for (i = 0; i < ROWS(offsets); i++) {
		segment.offset = offsets[i];
		CHECK_EQ(raw_map(&raw, &segment), -EINVAL);
		staging.offset = offsets[i] & ~7ull;
		CHECK_EQ(call(fd, DRM_IOCTL_T3_SEGMENT_STAGING, &staging), -EINVAL);
	}
	segment.offset = 1024;
	segment.rows = 0x40000001; /* rows * pitch wraps in 32 bits */
	CHECK_EQ(raw_map(&raw, &segment), -EINVAL);
	segment.rows = 256;
	segment.pitch = 1 << 24;
	CHECK_EQ(raw_map(&raw, &segment), -EINVAL);
	raw_close(&raw);
}

TEST("ranges that lead outside are refused")
{
	attack(lead_outside);
}

/* ------------------------------------------------------- grants and the node */

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/* The descriptor is the grant. A process without it cannot import the grant. */
static void steal_grant(int sock, void *arg)
{
	struct victim *v = arg;
	int number = v->grant_fd, fd, pidfd, i;
	struct raw raw;
	char path[64];

	(void)sock;
	close(v->grant_fd);
	raw_unmap(&v->raw);
	close(v->raw.fd);
	become(UID_NOBODY, true);
	fd = open(guest_node(1), O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0);
	raw_create(&raw, fd, PAGE);
	for (i = 0; i < 200; i++)
		CHECK(raw_import(&raw, i, NULL) == -EBADF || raw_import(&raw, i, NULL) == -EINVAL);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getppid(), number);
	CHECK_EQ(open(path, O_RDWR), -1);
	pidfd = (int)syscall(SYS_pidfd_open, getppid(), 0);
	CHECK(pidfd >= 0);
	CHECK_EQ(syscall(SYS_pidfd_getfd, pidfd, number, 0), -1);
	raw_close(&raw);
}

TEST("a grant cannot be taken from the victim")
{
	attack(steal_grant);
}

static void open_as_outsider(int sock, void *arg)
{
	uint32_t rank;

	(void)sock;
	(void)arg;
	guest_ranks();
	become(UID_NOBODY, false);
	for (rank = 0; rank < guest_ranks(); rank++) {
		CHECK_EQ(open(guest_node(rank), O_RDWR), -1);
		CHECK_EQ(errno, EACCES);
		CHECK_EQ(open(guest_node(rank), O_RDONLY), -1);
	}
}

static void open_as_member(int sock, void *arg)
{
	uint32_t rank;

	(void)sock;
	(void)arg;
	guest_ranks();
	become(UID_USER, true);
	for (rank = 0; rank < guest_ranks(); rank++)
		CHECK(open(guest_node(rank), O_RDWR) >= 0);
}

TEST("the node is open to its group alone")
{
	struct child child;
	struct stat stat_buf;

	CHECK_EQ(stat(guest_node(0), &stat_buf), 0);
	CHECK_EQ(stat_buf.st_mode & 0007, 0);
	CHECK_EQ(stat_buf.st_gid, render_group());
	child_start(&child, open_as_outsider, NULL);
	CHECK_EQ(child_end(&child, 5000), 0);
	child_start(&child, open_as_member, NULL);
	CHECK_EQ(child_end(&child, 5000), 0);
}

/* An unprivileged user needs only the node for real work. */
static void work_as_user(int sock, void *arg)
{
	struct raw raw;

	(void)sock;
	(void)arg;
	guest_ranks();
	become(UID_USER, true);
	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
}

TEST("a user of the group can work")
{
	struct child child;

	child_start(&child, work_as_user, NULL);
	CHECK_EQ(child_end(&child, 10000), 0);
}
