// SPDX-License-Identifier: MIT
/* DRM_T3_SEGMENT_WIDEN: which segments can have accumulators, for how long, and what they are for. */
#include <sys/mman.h>

#include "raw.h"
#include "refusal.h"

struct fixture {
	struct raw raw;
	uint32_t bo;
};

/* A local bf16 segment of raw_segment()'s shape, and a buffer for its accumulators. */
static void open_fixture(struct fixture *f, uint32_t updates)
{
	struct drm_t3_segment_map map;

	raw_open(&f->raw, 0, PAGE);
	map = raw_segment(&f->raw);
	map.dtype = DRM_T3_BF16;
	map.updates = updates;
	CHECK_EQ(raw_map(&f->raw, &map), 0);
	CHECK_EQ(bo_create(f->raw.fd, PAGE, &f->bo), 0);
}

static int widen(const struct raw *raw, uint32_t bo)
{
	struct drm_t3_segment_widen arg = { .space = raw->space, .bo_handle = bo };

	return call(raw->fd, DRM_IOCTL_T3_SEGMENT_WIDEN, &arg);
}

/* 1, 2^-8 and 2^-8 again: 1 + 2^-7 only if the sum is rounded once. */
static void run_epoch(struct fixture *f, uint32_t epoch, uint16_t wanted)
{
	uint32_t i;

	raw_arm(&f->raw, epoch);
	raw_fill(&f->raw, 0, RAW_SEGMENT_BYTES, 0x3f803f80);
	raw_fill(&f->raw, 0, RAW_SEGMENT_BYTES, 0x3b803b80);
	raw_fill(&f->raw, 0, RAW_SEGMENT_BYTES, 0x3b803b80);
	CHECK_EQ(raw_wait(&f->raw, DRM_T3_WAIT_DELIVERED, epoch, 0, after_ms(5000)), 0);
	for (i = 0; i < RAW_SEGMENT_BYTES / 2; i++)
		CHECK_EQ(((volatile uint16_t *)f->raw.memory)[i], wanted);
}

TEST("sums round once with accumulators and each time without")
{
	struct fixture f;

	open_fixture(&f, 3);
	run_epoch(&f, 1, 0x3f80);
	raw_release(&f.raw, 1);
	CHECK_EQ(widen(&f.raw, f.bo), 0);
	run_epoch(&f, 2, 0x3f81);
	raw_release(&f.raw, 2);
	CHECK_EQ(widen(&f.raw, 0), 0);
	run_epoch(&f, 3, 0x3f80);
	raw_close(&f.raw);
}

TEST("accumulators change while the space is idle")
{
	struct fixture f;

	open_fixture(&f, 1);
	raw_arm(&f.raw, 1);
	CHECK_EQ(widen(&f.raw, f.bo), -EBUSY);
	CHECK_EQ(widen(&f.raw, 0), -EBUSY);
	raw_fill(&f.raw, 0, RAW_SEGMENT_BYTES, 1);
	raw_release(&f.raw, 1);
	CHECK_EQ(widen(&f.raw, f.bo), 0);
	CHECK_EQ(widen(&f.raw, 0), 0);
	CHECK_EQ(widen(&f.raw, 0), 0); /* there are none: no error */
	raw_close(&f.raw);
}

/* The segment holds the buffer until it ends or has another, not until the handle is closed. */
TEST("a segment pins its accumulators")
{
	struct fixture f;
	uint32_t second;
	uint64_t with;

	open_fixture(&f, 1);
	with = memory_free(0);
	CHECK_EQ(widen(&f.raw, f.bo), 0);
	CHECK_EQ(bo_close(f.raw.fd, f.bo), 0);
	CHECK_EQ(memory_free(0), with);
	CHECK_EQ(bo_create(f.raw.fd, PAGE, &second), 0);
	CHECK_EQ(widen(&f.raw, second), 0);
	CHECK_EQ(memory_free(0), with);
	CHECK_EQ(bo_close(f.raw.fd, second), 0);
	CHECK_EQ(memory_free(0), with);
	CHECK_EQ(raw_unmap_segment(&f.raw, 0), 0);
	CHECK_EQ(memory_free(0), with + PAGE);
	raw_close(&f.raw);
}

TEST("a reset keeps the accumulators of a local segment")
{
	struct fixture f;

	open_fixture(&f, 3);
	CHECK_EQ(widen(&f.raw, f.bo), 0);
	CHECK_EQ(space_reset(f.raw.fd, f.raw.space), 0);
	run_epoch(&f, 7, 0x3f81);
	raw_close(&f.raw);
}

TEST("only memory of the device holds accumulators")
{
	struct drm_t3_bo_create host = { .size = PAGE, .flags = DRM_T3_BO_HOST };
	struct fixture f;

	open_fixture(&f, 1);
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_BO_CREATE, &host), 0);
	CHECK_EQ(widen(&f.raw, host.handle), -EOPNOTSUPP);
	raw_close(&f.raw);
}

TEST("accumulators lie apart from what they sum to")
{
	struct drm_t3_segment_widen arg;
	struct drm_t3_refusal refusal;
	struct fixture f;

	open_fixture(&f, 3);
	arg = (struct drm_t3_segment_widen){ .space = f.raw.space, .bo_handle = f.raw.bo };
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_SEGMENT_WIDEN, &arg), -EINVAL);
	CHECK_EQ(refusal_get(f.raw.fd, &refusal), 0);
	assert_string_equal(refusal.field, "offset");
	arg.offset = RAW_SEGMENT_BYTES - 8;
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_SEGMENT_WIDEN, &arg), -EINVAL);
	arg.offset = RAW_SEGMENT_BYTES;
	CHECK_EQ(call(f.raw.fd, DRM_IOCTL_T3_SEGMENT_WIDEN, &arg), 0);
	run_epoch(&f, 1, 0x3f81);
	raw_close(&f.raw);
}

TEST("a segment that cannot widen is refused")
{
	static const struct {
		uint8_t dtype, op;
		uint32_t rows, row_bytes;
		int result;
	} rows[] = {
		{ DRM_T3_BF16, DRM_T3_OP_ADD, 128, 256, 0 },
		{ DRM_T3_F16, DRM_T3_OP_MUL, 128, 256, 0 },
		{ DRM_T3_F16, DRM_T3_OP_ADD, 129, 2, -EINVAL },
		{ DRM_T3_BF16, DRM_T3_OP_ADD, 128, 258, -EINVAL },
		{ DRM_T3_F32, DRM_T3_OP_ADD, 1, 64, -EINVAL },
		{ DRM_T3_BF16, DRM_T3_OP_MAX, 1, 64, -EINVAL },
		{ DRM_T3_BF16, DRM_T3_OP_STORE, 1, 64, -EINVAL },
		{ DRM_T3_I32, DRM_T3_OP_ADD, 1, 64, -EINVAL },
	};
	struct drm_t3_segment_map map;
	struct drm_t3_refusal refusal;
	struct raw raw;
	uint32_t bo;
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		raw_open(&raw, 0, 16 * PAGE);
		map = raw_segment(&raw);
		map.dtype = rows[i].dtype;
		map.op = rows[i].op;
		map.rows = map.tile_rows = rows[i].rows;
		map.row_bytes = map.pitch = map.tile_row_bytes = rows[i].row_bytes;
		CHECK_EQ(raw_map(&raw, &map), 0);
		CHECK_EQ(bo_create(raw.fd, 32 * PAGE, &bo), 0);
		CHECK_EQ(widen(&raw, bo), rows[i].result);
		if (rows[i].result) {
			CHECK_EQ(refusal_get(raw.fd, &refusal), 0);
			assert_string_equal(refusal.field, "segment");
		}
		raw_close(&raw);
	}
}

TEST("a buffer of another file is refused")
{
	struct fixture f;
	uint32_t foreign = 0;
	int other = open_rank(0), i;

	open_fixture(&f, 1);
	/* A number that this file does not have. */
	for (i = 0; i < 8; i++)
		CHECK_EQ(bo_create(other, PAGE, &foreign), 0);
	CHECK(foreign != f.bo);
	CHECK_EQ(widen(&f.raw, foreign), -ENOENT);
	close(other);
	raw_close(&f.raw);
}
