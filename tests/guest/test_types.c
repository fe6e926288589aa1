// SPDX-License-Identifier: MIT
/* Each type and op of near-memory compute: by stores, by doorbells, by a queue. */
#include "end.h"
#include "queue.h"
#include "raw.h"
#include "ref.h"
#include "t3_producer.h"

#define SIZE	 16384u
#define IMAGE	 4096u
#define COUNT	 300u /* elements of an UPDATE */
#define DEADLINE t3_deadline(10000000000)

/* Any bits: NaNs, infinities and subnormals of floats are among them. */
static uint64_t value(uint32_t dtype, uint32_t image, uint32_t row, uint32_t at)
{
	uint64_t bits = (row * 37 + at * 101 + image * 7919 + 1) * UINT64_C(0x9e3779b97f4a7c15);

	return bits >> (64 - 8 * ref_size(dtype));
}

static void make_image(const struct t3_segment_desc *desc, uint32_t number, unsigned char *image)
{
	uint32_t size = ref_size(desc->dtype), row, col;

	for (row = 0; row < desc->rows; row++)
		for (col = 0; col < desc->row_bytes; col += size) {
			uint64_t bits = value(desc->dtype, number, row, col);

			memcpy(image + row * desc->pitch + col, &bits, size);
		}
}

static void expect(const struct end *end, const struct t3_segment_desc *desc)
{
	uint32_t size = ref_size(desc->dtype), row, col;

	for (row = 0; row < desc->rows; row++)
		for (col = 0; col < desc->row_bytes; col += size) {
			uint64_t got = 0;

			memcpy(&got, end->memory + desc->offset + row * desc->pitch + col, size);
			CHECK_EQ(got,
				 ref_apply(desc->dtype, desc->op, value(desc->dtype, 0, row, col),
					   value(desc->dtype, 1, row, col)));
		}
}

/* The buffer holds the first image, and the second one is combined with it. */
static void run(uint32_t dtype, uint32_t op, uint32_t path)
{
	struct t3_segment_desc desc = end_ragged(2, dtype, op);
	struct t3_producer_desc how = { .segment = &desc, .path = path };
	unsigned char image[IMAGE];
	struct t3_producer *producer;
	struct t3_tile tile;
	struct end end;
	uint64_t i;

	desc.init = DRM_T3_INIT_KEEP;
	end_open(&end, 0, SIZE, 256);
	make_image(&desc, 0, end.memory + desc.offset);
	make_image(&desc, 1, image);
	CHECK_EQ(t3_local_map(end.space, &desc), 0);
	CHECK_EQ(t3_producer_create(end.dev, end.space, &how, &producer), 0);
	CHECK_EQ(t3_producer_begin(producer), 0);
	CHECK_EQ(t3_arm(end.space, 1), 0);
	CHECK_EQ(t3_wait_armed(end.space, 1, DEADLINE), 0);
	for (i = 0; i < t3_desc_tiles(&desc); i++) {
		CHECK_EQ(t3_desc_tile(&desc, i, &tile), 0);
		CHECK_EQ(t3_producer_put_tile(producer, i, image + tile.offset, desc.pitch), 0);
	}
	CHECK_EQ(t3_wait(end.space, 1, 0, T3_DELIVERED, DEADLINE), 0);
	expect(&end, &desc);
	t3_producer_destroy(producer);
	end_close(&end);
}

static void run_all(uint32_t path)
{
	uint32_t dtype, op;

	for (dtype = 0; dtype <= DRM_T3_F64; dtype++)
		for (op = 0; op <= DRM_T3_OP_MUL; op++)
			if (ref_has(dtype, op))
				run(dtype, op, path);
}

SLOW_TEST("stores combine as specified in each type and op")
{
	run_all(T3_PATH_STORE);
}

SLOW_TEST("doorbells combine as specified in each type and op")
{
	run_all(T3_PATH_DOORBELL);
}

static void run_update(int fd, uint32_t queue, uint32_t sync, struct operand *buffer,
		       uint32_t dtype, uint32_t op)
{
	uint32_t size = ref_size(dtype), i;
	struct drm_t3_update update = { .head.type = DRM_T3_COMMAND_UPDATE,
					.rows = 1,
					.row_bytes = COUNT * size,
					.dst.handle = buffer->handle,
					.src = { .handle = buffer->handle, .offset = SIZE / 2 },
					.op = op,
					.dtype = dtype };
	union drm_t3_any_command command = ANY_COMMAND(update);

	for (i = 0; i < COUNT; i++) {
		uint64_t a = value(dtype, 0, 0, i), b = value(dtype, 1, 0, i);
		uint64_t sum = ref_apply(dtype, op, a, b);

		memcpy(buffer->memory + i * size, &a, size);
		memcpy(buffer->memory + SIZE / 2 + i * size, &b, size);
		memcpy(buffer->model + i * size, &sum, size);
		memcpy(buffer->model + SIZE / 2 + i * size, &b, size);
	}
	CHECK_EQ(submit_one(fd, queue, &command, sync), 0);
	CHECK_EQ(sync_wait(fd, sync, 0, 10000), 0);
	operand_check(buffer);
}

TEST("an update of a queue combines as specified in each type and op")
{
	uint32_t dtype, op, queue, sync;
	struct operand buffer;
	int fd = open_rank(0);

	CHECK_EQ(queue_create(fd, 0, &queue), 0);
	operand_open(&buffer, fd, SIZE, 1);
	for (dtype = 0; dtype <= DRM_T3_F64; dtype++)
		for (op = 0; op <= DRM_T3_OP_MUL; op++) {
			if (!ref_has(dtype, op))
				continue;
			sync = sync_create(fd);
			run_update(fd, queue, sync, &buffer, dtype, op);
			sync_destroy(fd, sync);
		}
	operand_close(&buffer, fd);
	CHECK_EQ(queue_destroy(fd, queue), 0);
	close(fd);
}

TEST("floats have no bits to combine")
{
	static const uint32_t floats[] = { DRM_T3_F32, DRM_T3_F16, DRM_T3_BF16, DRM_T3_F64 };
	struct drm_t3_segment_map arg;
	struct raw raw;
	uint32_t i, op;

	raw_open(&raw, 0, PAGE);
	for (i = 0; i < ROWS(floats); i++)
		for (op = DRM_T3_OP_AND; op <= DRM_T3_OP_XOR; op++) {
			arg = raw_segment(&raw);
			arg.dtype = floats[i];
			arg.op = op;
			CHECK_EQ(raw_map(&raw, &arg), -EINVAL);
		}
	raw_close(&raw);
}
