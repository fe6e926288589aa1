// SPDX-License-Identifier: MIT
/* DRM_T3_SEGMENT_MAP and _UNMAP: geometry, enumerations, states, grants. */
#include "raw.h"

typedef struct drm_t3_segment_map map_arg;

#define SEG(member, value, error)	    BAD(drm_t3_segment_map, member, value, error)
#define SEG_AS(named, member, value, error) BAD_AS(named, drm_t3_segment_map, member, value, error)

TEST("wrong arguments of a local segment are refused")
{
	static const struct deviation rows[] = {
		SEG(space, 0, ENOENT),
		SEG(space, 4711, ENOENT),
		SEG(segment, 64, EINVAL),
		SEG(segment, UINT32_MAX, EINVAL),
		SEG(kind, 0, EINVAL),
		SEG(kind, 4, EINVAL),
		SEG(kind, 257, EINVAL),
		SEG(op, 8, EINVAL),
		SEG(op, 257, EINVAL),
		SEG(dtype, 10, EINVAL),
		SEG(dtype, 256, EINVAL),
		SEG(init, 2, EINVAL),
		SEG(init, 256, EINVAL),
		SEG(updates, 0, EINVAL),
		SEG(updates, 65, EINVAL),
		SEG(updates, UINT32_MAX, EINVAL),
		SEG(offset, 2, EINVAL),
		SEG(offset, PAGE, EINVAL),
		SEG(offset, PAGE - RAW_SEGMENT_BYTES + 4, EINVAL),
		SEG(offset, UINT64_MAX - 3, EINVAL),
		SEG(offset, 1ull << 63, EINVAL),
		SEG(rows, 0, EINVAL),
		SEG_AS("tile_rows", rows, 1, EINVAL), /* fewer than tile_rows */
		SEG(rows, 65, EINVAL),
		SEG(rows, UINT32_MAX, EINVAL),
		SEG(row_bytes, 0, EINVAL),
		SEG(row_bytes, 62, EINVAL),
		SEG_AS("tile_row_bytes", row_bytes, 28, EINVAL), /* less than tile_row_bytes */
		SEG_AS("pitch", row_bytes, 68, EINVAL),		 /* more than pitch */
		SEG(pitch, 0, EINVAL),
		SEG(pitch, 60, EINVAL),
		SEG(pitch, 66, EINVAL),
		SEG(pitch, (1u << 24) + 4, EINVAL),
		SEG(pitch, UINT32_MAX - 3, EINVAL),
		SEG(tile_rows, 0, EINVAL),
		SEG(tile_rows, 5, EINVAL),
		SEG(tile_rows, UINT32_MAX, EINVAL),
		SEG(tile_row_bytes, 0, EINVAL),
		SEG(tile_row_bytes, 2, EINVAL),
		SEG(tile_row_bytes, 30, EINVAL),
		SEG(tile_row_bytes, 68, EINVAL),
		SEG(import, 1, EINVAL),
		SEG(target_op, 1, EINVAL),
		SEG(target_segment, 1, EINVAL),
		SEG(target_row, 1, EINVAL),
		SEG(target_col, 4, EINVAL),
		SEG(block_tiles, 1, EINVAL),
		SEG_AS("imports", import_count, 1, EINVAL),
		SEG(imports, 8, EINVAL),
	};
	struct raw raw;
	map_arg good;

	raw_open(&raw, 0, PAGE);
	good = raw_segment(&raw);
	check_deviations(raw.fd, DRM_IOCTL_T3_SEGMENT_MAP, &good, rows, ROWS(rows));
	CHECK_MBZ(raw.fd, DRM_IOCTL_T3_SEGMENT_MAP, &good, drm_t3_segment_map, flags);
	CHECK_EQ(raw_map(&raw, &good), 0);
	raw_run_epoch(&raw, 1);
	raw_close(&raw);
}

TEST("the largest allowed values are accepted")
{
	struct raw raw;
	map_arg good, arg;

	raw_open(&raw, 0, PAGE);
	good = raw_segment(&raw);
	arg = good;
	arg.segment = 63;
	arg.updates = 64;
	arg.offset = PAGE - RAW_SEGMENT_BYTES;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	arg = good;
	arg.rows = arg.tile_rows = 1;
	arg.row_bytes = arg.tile_row_bytes = 4;
	arg.pitch = 1 << 24;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	arg.segment = 1;
	arg.offset = 6;
	arg.dtype = DRM_T3_BF16;
	arg.row_bytes = arg.tile_row_bytes = arg.pitch = 2;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	raw_close(&raw);
}

TEST("a tile has a largest size")
{
	struct raw raw;
	map_arg arg;

	raw_open(&raw, 0, 2 << 20);
	arg = raw_segment(&raw);
	arg.rows = arg.tile_rows = 512;
	arg.row_bytes = arg.pitch = arg.tile_row_bytes = 2052;
	CHECK_EQ(raw_map(&raw, &arg), -EINVAL);
	arg.tile_row_bytes = 2048;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	raw_close(&raw);
}

TEST("an index and a range in use are refused")
{
	static const struct deviation rows[] = {
		SEG(segment, 0, EEXIST),
		SEG(offset, 0, EEXIST),
		SEG(offset, 4, EEXIST),
		SEG(offset, RAW_SEGMENT_BYTES - 4, EEXIST),
		SEG(offset, 1024 - RAW_SEGMENT_BYTES + 4, EEXIST),
		SEG(offset, 1024, EEXIST),
	};
	struct raw raw;
	map_arg arg, good;

	raw_open(&raw, 0, PAGE);
	arg = raw_segment(&raw);
	CHECK_EQ(raw_map(&raw, &arg), 0);
	arg.segment = 1;
	arg.offset = 1024;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	good = arg;
	good.segment = 2;
	good.offset = RAW_SEGMENT_BYTES;
	check_deviations(raw.fd, DRM_IOCTL_T3_SEGMENT_MAP, &good, rows, ROWS(rows));
	/* Padding belongs to the extent of its segment. */
	arg = good;
	arg.rows = arg.tile_rows = 2;
	arg.offset = 2048;
	arg.pitch = 1024;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	good.segment = 3;
	good.offset = 2048 + 512;
	CHECK_EQ(raw_map(&raw, &good), -EEXIST);
	good.offset = 2048 + 1024 + 64;
	CHECK_EQ(raw_map(&raw, &good), 0);
	raw_close(&raw);
}

TEST("a space has as many tiles as it was made with")
{
	struct drm_t3_space_create made;
	map_arg arg;
	struct raw raw;
	uint32_t bo;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(bo_create(raw.fd, PAGE, &bo), 0);
	CHECK_EQ(space_create(raw.fd, bo, 7, &made), 0);
	arg = raw_segment(&raw); /* 4 tiles */
	arg.space = made.space;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	arg.segment = 1;
	arg.offset = 1024;
	CHECK_EQ(raw_map(&raw, &arg), -ENOSPC);
	arg.rows = 2;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	arg.segment = 2;
	arg.offset = 2048;
	arg.tile_row_bytes = 64;
	CHECK_EQ(raw_map(&raw, &arg), 0);
	arg.segment = 3;
	arg.offset = 3072;
	CHECK_EQ(raw_map(&raw, &arg), -ENOSPC);
	CHECK_EQ(space_destroy(raw.fd, made.space), 0);
	raw_close(&raw);
}

/* Tiles are free again with their segment, in any order. */
TEST("tiles come back with their segment")
{
	struct drm_t3_space_create made;
	map_arg arg;
	struct raw raw;
	uint32_t bo, i;

	raw_open(&raw, 0, PAGE);
	CHECK_EQ(bo_create(raw.fd, PAGE, &bo), 0);
	CHECK_EQ(space_create(raw.fd, bo, 8, &made), 0);
	raw.space = made.space;
	for (i = 0; i < 20; i++) {
		arg = raw_segment(&raw);
		arg.segment = i % 2;
		arg.offset = 1024 * (i % 2);
		if (i >= 2)
			CHECK_EQ(raw_unmap_segment(&raw, i % 2), 0);
		CHECK_EQ(raw_map(&raw, &arg), 0);
	}
	raw.space = raw.made.space;
	CHECK_EQ(space_destroy(raw.fd, made.space), 0);
	raw_close(&raw);
}

/* 4096 segments on a device, 64 in each of 64 spaces. */
TEST("a device has 4096 segments")
{
	struct drm_t3_space_create made;
	int fd = open_rank(0);
	struct raw raw = { .fd = fd };
	map_arg arg;
	uint32_t bo, i, k;

	for (i = 0; i < 64; i++) {
		CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
		CHECK_EQ(space_create(fd, bo, 64, &made), 0);
		raw.space = made.space;
		arg = raw_segment(&raw);
		arg.rows = arg.tile_rows = 1;
		arg.row_bytes = arg.tile_row_bytes = arg.pitch = 64;
		for (k = 0; k < 64; k++) {
			arg.segment = k;
			arg.offset = 64 * k;
			CHECK_EQ(raw_map(&raw, &arg), 0);
		}
	}
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	CHECK_EQ(space_create(fd, bo, 64, &made), 0);
	arg.space = made.space;
	CHECK_EQ(raw_map(&raw, &arg), -ENOSPC);
	CHECK_EQ(raw_unmap_segment(&raw, 5), 0);
	CHECK_EQ(raw_map(&raw, &arg), 0);
	close(fd);
}

TEST("an unmapped segment has gone")
{
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	CHECK_EQ(raw_unmap_segment(&raw, 0), 0);
	CHECK_EQ(raw_unmap_segment(&raw, 0), -ENOENT);
	raw_close(&raw);
}

static void check_busy(const struct raw *raw, const map_arg *second)
{
	CHECK_EQ(raw_map(raw, second), -EBUSY);
	CHECK_EQ(raw_unmap_segment(raw, 0), -EBUSY);
}

TEST("segments are mapped and unmapped while the space is idle")
{
	struct raw raw;
	map_arg first, second;

	raw_open(&raw, 0, PAGE);
	first = second = raw_segment(&raw);
	CHECK_EQ(raw_map(&raw, &first), 0);
	second.segment = 1;
	second.offset = 1024;
	raw_arm(&raw, 1);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_ARMED);
	check_busy(&raw, &second);
	raw_fill(&raw, 0, RAW_SEGMENT_BYTES, 1);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_COMPLETE);
	check_busy(&raw, &second);
	raw_release(&raw, 1);
	CHECK_EQ(raw_map(&raw, &second), 0);
	CHECK_EQ(raw_unmap_segment(&raw, 1), 0);
	put8(raw.aperture, 1);
	CHECK_EQ(raw_state(&raw), DRM_T3_SPACE_FAULTED);
	check_busy(&raw, &second);
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	CHECK_EQ(raw_map(&raw, &second), 0);
	raw_close(&raw);
}

TEST("wrong arguments of a sender are refused")
{
	static const struct deviation both[] = {
		SEG(import, 0, ANY_ERROR),
		SEG(import, 999, ENOENT),
		SEG(target_op, 8, EINVAL),
		SEG(target_op, 257, EINVAL),
		SEG(target_segment, 64, EINVAL),
		SEG(target_col, 2, EINVAL),
		SEG(target_row, 1, ERANGE),
		SEG(target_row, UINT32_MAX, ERANGE),
		SEG(target_col, 4, ERANGE),
		SEG(target_col, UINT32_MAX - 3, ERANGE),
		SEG(dtype, DRM_T3_F32, ERANGE),
		SEG(target_op, DRM_T3_OP_STORE, ERANGE),
		SEG(target_op, DRM_T3_OP_MAX, ERANGE),
	};
	static const struct deviation remote[] = {
		SEG(op, DRM_T3_OP_ADD, EINVAL),
		SEG(init, DRM_T3_INIT_IDENTITY, EINVAL),
	};
	struct raw source, target;
	map_arg good;
	uint32_t import;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	import = raw_join(&source, &target);
	good = raw_sender(&source, DRM_T3_SEGMENT_REMOTE, import, 0);
	check_deviations(source.fd, DRM_IOCTL_T3_SEGMENT_MAP, &good, both, ROWS(both));
	check_deviations(source.fd, DRM_IOCTL_T3_SEGMENT_MAP, &good, remote, ROWS(remote));
	CHECK_MBZ(source.fd, DRM_IOCTL_T3_SEGMENT_MAP, &good, drm_t3_segment_map, flags);
	CHECK_EQ(raw_map(&source, &good), 0);
	CHECK_EQ(raw_unmap_segment(&source, 0), 0);
	good = raw_sender(&source, DRM_T3_SEGMENT_DMA, import, 0);
	check_deviations(source.fd, DRM_IOCTL_T3_SEGMENT_MAP, &good, both, ROWS(both));
	CHECK_EQ(raw_map(&source, &good), 0);
	raw_close(&source);
	raw_close(&target);
}

/* The target keeps what arrives. A remote segment cannot, so it is refused. */
TEST("a target that is remote itself is refused")
{
	struct raw first, second, third;
	map_arg arg;

	if (guest_ranks() < 3)
		skip();
	raw_open(&first, 0, PAGE);
	raw_open(&second, 1, PAGE);
	raw_open(&third, 2, PAGE);
	arg = raw_sender(&second, DRM_T3_SEGMENT_REMOTE, raw_join(&second, &third), 0);
	CHECK_EQ(raw_map(&second, &arg), 0);
	arg = raw_sender(&first, DRM_T3_SEGMENT_DMA, raw_join(&first, &second), 0);
	arg.target_op = DRM_T3_OP_STORE;
	CHECK_EQ(raw_map(&first, &arg), -ERANGE);
	raw_close(&first);
	raw_close(&second);
	raw_close(&third);
}

TEST("a grant limits segments and operations")
{
	struct raw source, target;
	uint32_t import;
	map_arg arg;
	int fd;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	CHECK_EQ(raw_export(&target, 1ull << 3, 1u << DRM_T3_OP_ADD, &fd, NULL), 0);
	CHECK_EQ(raw_import(&source, fd, &import), 0);
	close(fd);
	arg = raw_sender(&source, DRM_T3_SEGMENT_REMOTE, import, 3);
	arg.target_op = DRM_T3_OP_MAX;
	CHECK_EQ(raw_map(&source, &arg), -EACCES);
	arg.target_op = DRM_T3_OP_STORE;
	CHECK_EQ(raw_map(&source, &arg), -EACCES);
	arg.target_op = DRM_T3_OP_ADD;
	arg.target_segment = 2;
	CHECK_EQ(raw_map(&source, &arg), -EACCES);
	arg.target_segment = 63;
	CHECK_EQ(raw_map(&source, &arg), -EACCES);
	arg.target_segment = 3; /* not mapped yet: the device checks it later */
	CHECK_EQ(raw_map(&source, &arg), 0);
	raw_close(&source);
	raw_close(&target);
}

TEST("a grant that is gone takes no segment")
{
	struct raw source, target;
	uint32_t import, grant;
	map_arg arg;
	int fd;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	CHECK_EQ(raw_export(&target, 1, 0xf, &fd, &grant), 0);
	CHECK_EQ(raw_import(&source, fd, &import), 0);
	close(fd);
	CHECK_EQ(raw_revoke(&target, grant), 0);
	arg = raw_sender(&source, DRM_T3_SEGMENT_DMA, import, 0);
	CHECK_EQ(raw_map(&source, &arg), -EOWNERDEAD);
	import = raw_join(&source, &target);
	raw_close(&target);
	arg.import = import;
	CHECK_EQ(raw_map(&source, &arg), -EOWNERDEAD);
	raw_close(&source);
}
