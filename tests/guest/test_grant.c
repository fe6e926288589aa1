// SPDX-License-Identifier: MIT
/* DRM_T3_GRANT_EXPORT, _REVOKE, _IMPORT and _RELEASE. */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "raw.h"

#define GRANTS 32u /* per space */

/* A source on rank 0 and a target on rank 1, its neighbour. */
struct pair {
	struct raw source, target;
};

static void open_pair(struct pair *p)
{
	raw_open(&p->source, 0, PAGE);
	raw_open(&p->target, 1, PAGE);
}

static void close_pair(struct pair *p)
{
	raw_close(&p->source);
	raw_close(&p->target);
}

TEST("an exported grant has an id and a descriptor")
{
	struct drm_t3_grant_export good = { .op_mask = 0xf, .segment_mask = ~0ull };
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	good.space = raw.space;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_GRANT_EXPORT, &good), 0);
	CHECK(good.grant);
	CHECK_EQ(fcntl(good.fd, F_GETFD), FD_CLOEXEC);
	close(good.fd);
	raw_close(&raw);
}

/* 32 grants fit. Closing one that nobody imported makes room. */
TEST("a space has at most 32 grants")
{
	int fds[GRANTS], extra, round;
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < GRANTS; i++)
			CHECK_EQ(raw_export(&raw, 1, 1, &fds[i], NULL), 0);
		CHECK_EQ(raw_export(&raw, 1, 1, &extra, NULL), -ENOSPC);
		for (i = 0; i < GRANTS; i++)
			close(fds[i]);
	}
	raw_close(&raw);
}

/* RESET ends the grants, and makes room even while their descriptors are open. */
TEST("a reset makes room for 32 grants")
{
	int old[GRANTS], fds[GRANTS];
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	for (i = 0; i < GRANTS; i++)
		CHECK_EQ(raw_export(&raw, 1, 1, &old[i], NULL), 0);
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	for (i = 0; i < GRANTS; i++)
		CHECK_EQ(raw_export(&raw, 1, 1, &fds[i], NULL), 0);
	for (i = 0; i < GRANTS; i++) {
		close(old[i]);
		close(fds[i]);
	}
	raw_close(&raw);
}

TEST("a process without a free descriptor gets EMFILE")
{
	struct rlimit old, none = { 0, 0 };
	struct drm_t3_space_wait_fd arg = { .segment_mask = 1 };
	int fds[GRANTS];
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	arg.space = raw.space;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &old), 0);
	none.rlim_max = old.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (i = 0; i < 2 * GRANTS; i++)
		CHECK_EQ(raw_export(&raw, 1, 1, &fds[0], NULL), -EMFILE);
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &arg), -EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (i = 0; i < GRANTS; i++)
		CHECK_EQ(raw_export(&raw, 1, 1, &fds[i], NULL), 0);
	for (i = 0; i < GRANTS; i++)
		close(fds[i]);
	raw_close(&raw);
}

TEST("a revoked grant has gone")
{
	uint32_t grant;
	struct raw raw;
	int fd;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(raw_export(&raw, 1, 1, &fd, &grant), 0);
	CHECK_EQ(raw_revoke(&raw, grant), 0);
	CHECK_EQ(raw_revoke(&raw, grant), -ENOENT);
	close(fd);
	raw_close(&raw);
}

TEST("wrong arguments of an import are refused")
{
	struct drm_t3_grant_import good = { 0 };
	struct pair p;
	int event = eventfd(0, EFD_CLOEXEC), fd;

	open_pair(&p);
	const struct deviation rows[] = {
		BAD(drm_t3_grant_import, space, 0, ENOENT),
		BAD(drm_t3_grant_import, space, 4711, ENOENT),
		BAD(drm_t3_grant_import, fd, -1, EBADF),
		BAD(drm_t3_grant_import, fd, INT32_MIN, EBADF),
		BAD(drm_t3_grant_import, fd, 1000, EBADF),
		BAD(drm_t3_grant_import, fd, event, EINVAL),
		BAD(drm_t3_grant_import, fd, p.source.fd, EINVAL),
		BAD(drm_t3_grant_import, fd, p.target.fd, EINVAL),
	};
	CHECK_EQ(raw_export(&p.target, 0x21, 0x6, &fd, NULL), 0);
	good.space = p.source.space;
	good.fd = fd;
	check_deviations(p.source.fd, DRM_IOCTL_T3_GRANT_IMPORT, &good, rows, ROWS(rows));
	CHECK_MBZ(p.source.fd, DRM_IOCTL_T3_GRANT_IMPORT, &good, drm_t3_grant_import, flags);
	CHECK_MBZ(p.source.fd, DRM_IOCTL_T3_GRANT_IMPORT, &good, drm_t3_grant_import, pad);
	CHECK_MBZ(p.source.fd, DRM_IOCTL_T3_GRANT_IMPORT, &good, drm_t3_grant_import, pad2);
	/* None of these calls used the grant up. */
	CHECK_EQ(call(p.source.fd, DRM_IOCTL_T3_GRANT_IMPORT, &good), 0);
	CHECK(good.import);
	CHECK_EQ(good.rank, 1);
	CHECK_EQ(good.segment_mask, 0x21);
	CHECK_EQ(good.op_mask, 0x6);
	CHECK_EQ(good.fd, fd);
	close(fd);
	close(event);
	close_pair(&p);
}

TEST("a grant is imported once")
{
	uint32_t import;
	struct raw third;
	struct pair p;
	int fd;

	open_pair(&p);
	raw_open(&third, guest_ranks() > 2 ? 2 : 0, PAGE);
	CHECK_EQ(raw_export(&p.target, 1, 1, &fd, NULL), 0);
	CHECK_EQ(raw_import(&p.source, fd, &import), 0);
	CHECK_EQ(raw_import(&p.source, fd, NULL), -EBUSY);
	CHECK_EQ(raw_import(&third, fd, NULL), -EBUSY);
	/* Also when the import was given up: a grant is for one importer. */
	CHECK_EQ(raw_release_import(&p.source, import), 0);
	CHECK_EQ(raw_import(&third, fd, NULL), -EBUSY);
	close(fd);
	raw_close(&third);
	close_pair(&p);
}

static int export_for(const struct raw *raw, uint32_t rank_mask, int *fd)
{
	struct drm_t3_grant_export arg = {
		.space = raw->space,
		.op_mask = 0xf,
		.segment_mask = 1,
		.rank_mask = rank_mask,
	};
	int ret = call(raw->fd, DRM_IOCTL_T3_GRANT_EXPORT, &arg);

	*fd = arg.fd;
	return ret;
}

/* A refused importer has used nothing up. */
TEST("a grant is for some ranks")
{
	static const struct {
		uint32_t mask;
		int from0, from2;
	} rows[] = {
		{ 0x4, -EACCES, 0 }, { 0x1, 0, -EACCES },	{ 0x5, 0, -EBUSY },
		{ 0, 0, -EBUSY },    { 0x2, -EACCES, -EACCES }, { 0xf, 0, -EBUSY },
	};
	struct raw target, source[2];
	size_t i;
	int fd;

	raw_open(&target, 1, PAGE);
	raw_open(&source[0], 0, PAGE);
	raw_open(&source[1], 2, PAGE);
	for (i = 0; i < ROWS(rows); i++) {
		CHECK_EQ(export_for(&target, rows[i].mask, &fd), 0);
		CHECK_EQ(raw_import(&source[0], fd, NULL), rows[i].from0);
		CHECK_EQ(raw_import(&source[1], fd, NULL), rows[i].from2);
		close(fd);
	}
	raw_close(&source[1]);
	raw_close(&source[0]);
	raw_close(&target);
}

TEST("a grant needs a link between the devices")
{
	struct raw far, own;
	struct pair p;
	int fd;

	open_pair(&p);
	raw_open(&own, 1, PAGE);
	CHECK_EQ(raw_export(&p.target, 1, 1, &fd, NULL), 0);
	CHECK_EQ(raw_import(&own, fd, NULL), -EHOSTUNREACH);
	CHECK_EQ(raw_import(&p.target, fd, NULL), -EHOSTUNREACH);
	if (guest_ranks() > 3) {
		raw_open(&far, 3, PAGE); /* rank 1 has no link to it in a ring of 4 */
		CHECK_EQ(raw_import(&far, fd, NULL), -EHOSTUNREACH);
		raw_close(&far);
	}
	CHECK_EQ(raw_import(&p.source, fd, NULL), 0);
	close(fd);
	raw_close(&own);
	close_pair(&p);
}

TEST("a grant that has gone cannot be imported")
{
	uint32_t grant;
	struct pair p;
	int fd;

	open_pair(&p);
	CHECK_EQ(raw_export(&p.target, 1, 1, &fd, &grant), 0);
	CHECK_EQ(raw_revoke(&p.target, grant), 0);
	CHECK_EQ(raw_import(&p.source, fd, NULL), -EOWNERDEAD);
	close(fd);
	CHECK_EQ(raw_export(&p.target, 1, 1, &fd, NULL), 0);
	CHECK_EQ(space_reset(p.target.fd, p.target.space), 0);
	CHECK_EQ(raw_import(&p.source, fd, NULL), -EOWNERDEAD);
	close(fd);
	CHECK_EQ(raw_export(&p.target, 1, 1, &fd, NULL), 0);
	CHECK_EQ(space_destroy(p.target.fd, p.target.space), 0);
	CHECK_EQ(raw_import(&p.source, fd, NULL), -EOWNERDEAD);
	close(fd);
	close_pair(&p);
}

TEST("import and release need an idle space")
{
	uint32_t import;
	struct pair p;
	int fd;

	open_pair(&p);
	raw_arm(&p.target, 1);
	raw_release(&p.target, 1);
	import = raw_join(&p.source, &p.target);
	CHECK_EQ(raw_export(&p.target, 1, 1, &fd, NULL), 0);
	raw_arm(&p.source, 1); /* waits for the target: ARMING */
	CHECK_EQ(raw_import(&p.source, fd, NULL), -EBUSY);
	CHECK_EQ(raw_release_import(&p.source, import), -EBUSY);
	CHECK_EQ(space_reset(p.source.fd, p.source.space), 0);
	CHECK_EQ(raw_release_import(&p.source, import), -ENOENT); /* RESET cut it */
	CHECK_EQ(raw_import(&p.source, fd, &import), 0);
	CHECK_EQ(raw_release_import(&p.source, import), 0);
	close(fd);
	close_pair(&p);
}

TEST("an import is released unless a segment uses it")
{
	struct drm_t3_segment_map segment;
	uint32_t import;
	struct pair p;

	open_pair(&p);
	import = raw_join(&p.source, &p.target);
	segment = raw_sender(&p.source, DRM_T3_SEGMENT_REMOTE, import, 0);
	CHECK_EQ(raw_map(&p.source, &segment), 0);
	CHECK_EQ(raw_release_import(&p.source, import), -EBUSY);
	CHECK_EQ(raw_unmap_segment(&p.source, 0), 0);
	CHECK_EQ(raw_release_import(&p.source, import), 0);
	CHECK_EQ(raw_release_import(&p.source, import), -ENOENT);
	close_pair(&p);
}

/* A space holds 32 imports; two targets give it the 33 grants that this takes. */
TEST("a space has at most 32 imports")
{
	uint32_t import = 0, i;
	struct raw second;
	struct pair p;
	int fd;

	open_pair(&p);
	raw_open(&second, 1, PAGE);
	for (i = 0; i < GRANTS; i++)
		import = raw_join(&p.source, &p.target);
	CHECK_EQ(raw_export(&second, 1, 1, &fd, NULL), 0);
	CHECK_EQ(raw_import(&p.source, fd, NULL), -ENOSPC);
	CHECK_EQ(raw_release_import(&p.source, import), 0);
	CHECK_EQ(raw_import(&p.source, fd, NULL), 0);
	close(fd);
	raw_close(&second);
	close_pair(&p);
}

/* A revoked grant keeps its place at the importer until that one gives it up. */
TEST("a revoked grant keeps its place until the importer gives it up")
{
	uint32_t import[GRANTS + 1], grant, i;
	struct raw source, target;
	int fd;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	for (i = 0; i < GRANTS; i++) {
		CHECK_EQ(raw_export(&target, 1, 1, &fd, &grant), 0);
		CHECK_EQ(raw_import(&source, fd, &import[i]), 0);
		close(fd);
		CHECK_EQ(raw_revoke(&target, grant), 0);
	}
	CHECK_EQ(raw_export(&target, 1, 1, &fd, &grant), 0);
	CHECK_EQ(raw_import(&source, fd, &import[GRANTS]), -ENOSPC);
	CHECK_EQ(raw_release_import(&source, import[7]), 0);
	CHECK_EQ(raw_import(&source, fd, &import[GRANTS]), 0);
	close(fd);
	CHECK_EQ(raw_revoke(&target, grant), 0);
	raw_close(&source);
	raw_close(&target);
}

static void grant_again(int source_is_first)
{
	uint32_t import, grant, i;
	struct pair p;
	int fd;

	open_pair(&p);
	for (i = 0; i < 5 * GRANTS; i++) {
		CHECK_EQ(raw_export(&p.target, 1, 1, &fd, &grant), 0);
		CHECK_EQ(raw_import(&p.source, fd, &import), 0);
		close(fd);
		if (source_is_first)
			CHECK_EQ(raw_release_import(&p.source, import), 0);
		CHECK_EQ(raw_revoke(&p.target, grant), 0);
		if (!source_is_first)
			CHECK_EQ(raw_release_import(&p.source, import), 0);
	}
	close_pair(&p);
}

/* Once the importer has given it up, another one is there at once. */
TEST("a grant that was given up can be granted again at once")
{
	grant_again(0);
}

/* A release that left the owner's entry on the device would leave none for the next grants. */
TEST("a grant that its importer released first can be granted again")
{
	grant_again(1);
}

/* An importer that has died keeps its place until the owner revokes the grant. */
TEST("revoking the grants of dead importers makes room")
{
	uint32_t grant, i;
	struct pair p;
	int fd;

	raw_open(&p.target, 1, PAGE);
	for (i = 0; i < 3 * GRANTS; i++) {
		raw_open(&p.source, 0, PAGE);
		CHECK_EQ(raw_export(&p.target, 1, 1, &fd, &grant), 0);
		CHECK_EQ(raw_import(&p.source, fd, NULL), 0);
		close(fd);
		raw_close(&p.source);
		CHECK_EQ(raw_revoke(&p.target, grant), 0);
	}
	raw_close(&p.target);
}

/* t3-vm run --qemu-arg=-device --qemu-arg=t3 adds a device with a fabric of its own. */
TEST("a grant of another fabric is refused")
{
	struct raw target, stranger;
	int fd, device;

	if (!guest_foreign_node()) {
		fprintf(stderr, "# skipped: -EXDEV needs a second fabric, this VM has one\n");
		skip();
	}
	device = open(guest_foreign_node(), O_RDWR | O_CLOEXEC);
	CHECK(device >= 0);
	raw_create(&stranger, device, PAGE);
	raw_open(&target, 1, PAGE);
	CHECK_EQ(raw_export(&target, 1, 1, &fd, NULL), 0);
	CHECK_EQ(raw_import(&stranger, fd, NULL), -EXDEV);
	close(fd);
	CHECK_EQ(raw_export(&stranger, 1, 1, &fd, NULL), 0);
	CHECK_EQ(raw_import(&target, fd, NULL), -EXDEV);
	close(fd);
	raw_close(&target);
	raw_close(&stranger);
}
