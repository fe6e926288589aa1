// SPDX-License-Identifier: MIT
/* A device without the types and ops of versions 1.9 and 1.10: the driver says so, and refuses them. */
#include "queue.h"
#include "raw.h"
#include "refusal.h"

#define NEWER                                                                      \
	(DRM_T3_FEATURE_TYPES | DRM_T3_FEATURE_BYTE_OPS | DRM_T3_FEATURE_BITWISE | \
	 DRM_T3_FEATURE_PRODUCT | DRM_T3_FEATURE_WIDEN)

static const struct {
	uint32_t dtype, op;
	const char *field;
} segments[] = {
	{ DRM_T3_F64, DRM_T3_OP_ADD, "dtype" }, { DRM_T3_U32, 0, "dtype" },
	{ DRM_T3_U8, DRM_T3_OP_ADD, "op" },	{ DRM_T3_I8, DRM_T3_OP_MAX, "op" },
	{ DRM_T3_I32, DRM_T3_OP_XOR, "op" },	{ DRM_T3_F32, DRM_T3_OP_MUL, "op" },
};

TEST("a device without them has no such features")
{
	struct drm_t3_device_info info;
	int fd = open_rank(0);

	device_info(fd, &info);
	CHECK_EQ(info.features & NEWER, 0);
	close(fd);
}

TEST("a segment of a missing type or op is refused by its field")
{
	struct drm_t3_refusal refusal;
	struct drm_t3_segment_map arg;
	struct raw raw;
	uint32_t i;

	raw_open(&raw, 0, PAGE);
	for (i = 0; i < ROWS(segments); i++) {
		arg = raw_segment(&raw);
		arg.dtype = segments[i].dtype;
		arg.op = segments[i].op;
		CHECK_EQ(raw_map(&raw, &arg), -EOPNOTSUPP);
		CHECK_EQ(refusal_get(raw.fd, &refusal), 0);
		CHECK_EQ(strcmp(refusal.field, segments[i].field), 0);
	}
	raw_map_local(&raw); /* what it has is taken */
	raw_close(&raw);
}

TEST("a sender of a missing op is refused")
{
	struct drm_t3_segment_map arg;
	struct raw source, target;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	arg = raw_sender(&source, DRM_T3_SEGMENT_DMA, 1, 0);
	arg.target_op = DRM_T3_OP_AND;
	CHECK_EQ(raw_map(&source, &arg), -EOPNOTSUPP);
	raw_close(&source);
	raw_close(&target);
}

TEST("a grant of a missing op is refused")
{
	struct drm_t3_key key;
	struct raw raw;
	uint32_t op;
	int fd;

	raw_open(&raw, 0, PAGE);
	for (op = DRM_T3_OP_AND; op <= DRM_T3_OP_MUL; op++) {
		CHECK_EQ(raw_export(&raw, 1, 1u << op | 1, &fd, NULL), -EOPNOTSUPP);
		CHECK_EQ(raw_key_export(&raw, 1, 1u << op | 1, &key, NULL), -EOPNOTSUPP);
	}
	CHECK_EQ(raw_export(&raw, 1, 0xf, &fd, NULL), 0);
	close(fd);
	raw_close(&raw);
}

TEST("an update of a missing type or op is refused")
{
	struct drm_t3_update update = { .head.type = DRM_T3_COMMAND_UPDATE,
					.rows = 1,
					.row_bytes = 8 };
	union drm_t3_any_command command;
	uint32_t queue, bo, i;
	int fd = open_rank(0);

	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	CHECK_EQ(bo_create(fd, PAGE, &bo), 0);
	update.src.handle = update.dst.handle = bo;
	update.dst.offset = 64;
	for (i = 0; i < ROWS(segments); i++) {
		update.dtype = segments[i].dtype;
		update.op = segments[i].op;
		command = ANY_COMMAND(update);
		CHECK_EQ(submit_one(fd, queue, &command, 0), -EOPNOTSUPP);
	}
	CHECK_EQ(queue_destroy(fd, queue), 0);
	close(fd);
}

TEST("accumulators are refused")
{
	struct drm_t3_segment_widen arg = { .bo_handle = 1 };
	struct drm_t3_refusal refusal;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	arg.space = raw.space;
	CHECK_EQ(call(raw.fd, DRM_IOCTL_T3_SEGMENT_WIDEN, &arg), -EOPNOTSUPP);
	CHECK_EQ(refusal_get(raw.fd, &refusal), 0);
	CHECK_EQ(strcmp(refusal.field, "segment"), 0);
	raw_close(&raw);
}
