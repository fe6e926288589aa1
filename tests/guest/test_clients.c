// SPDX-License-Identifier: MIT
/*
 * Two unprivileged clients of one device. One tries to reach the other's objects by numbers and
 * descriptors. The test checks the errno of each refusal.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "attack.h"
#include "child.h"
#include "memory.h"
#include "raw.h"

#define HANDLES 300u /* more than the victim has of anything */

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
		struct drm_t3_key_export key_export;
		struct drm_t3_queue_submit submit;
		struct drm_syncobj_handle sync;
		struct drm_syncobj_transfer transfer;
	} arg;
};

/* clang-format off */
#define CALL(id, type, member, bad) \
	.name = #id, .request = DRM_IOCTL_##id, .at = offsetof(struct type, member), .error = (bad)

static struct drm_t3_fill some_command = { .head.type = DRM_T3_COMMAND_FILL, .rows = 1, .row_bytes = 1 };

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
	{ CALL(T3_SPACE_TILE, drm_t3_space_tile, space, ENOENT) },
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
	{ CALL(T3_KEY_EXPORT, drm_t3_key_export, space, ENOENT),
	  .arg.key_export = { .op_mask = 1, .segment_mask = 1 } },
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

/* The victim has small numbers, and so has everybody. */
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

TEST("guessed handles reach nothing of another client")
{
	attack_run(UID_NOBODY, guess_handles);
	attack_run(UID_USER, guess_handles); /* nor has another file of the same user */
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
	union drm_t3_any_command command = command_copy(own->raw.bo, handle, 64);

	return submit_one(own->fd, own->queue, &command, 0);
}

static int copy_to(struct own *own, uint32_t handle)
{
	union drm_t3_any_command command = command_copy(handle, own->raw.bo, 64);

	return submit_one(own->fd, own->queue, &command, 0);
}

static int signal_with_job(struct own *own, uint32_t handle)
{
	union drm_t3_any_command command = command_fill(own->raw.bo, 0, 64, 0);

	return submit_one(own->fd, own->queue, &command, handle);
}

static int wait_in_job(struct own *own, uint32_t handle)
{
	union drm_t3_any_command command = command_fill(own->raw.bo, 0, 64, 0);
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

TEST("guessed handles are refused beside own ones, too")
{
	attack_run(UID_NOBODY, mix_handles);
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
	for (i = 0; i < FACTS_OFFSETS; i++) {
		CHECK_EQ(try_offset(fd, facts->offset[i], PROT_READ), -EACCES);
		CHECK_EQ(try_offset(fd, facts->offset[i], PROT_READ | PROT_WRITE), -EACCES);
		CHECK(try_offset(other, facts->offset[i], PROT_READ) < 0);
	}
}

TEST("guessed mapping offsets reach nothing of another client")
{
	attack_run(UID_NOBODY, map_offsets);
	attack_run(UID_USER, map_offsets);
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

TEST("forged descriptors are refused")
{
	attack_run(UID_NOBODY, forge_descriptors);
}
