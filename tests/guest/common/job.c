// SPDX-License-Identifier: MIT
#include "job.h"

#define TILES 4096u

void job_open(struct job *job, uint32_t rank)
{
	void *ptr;

	memset(job, 0, sizeof(*job));
	CHECK_EQ(t3_device_open(guest_node(rank), &job->dev), 0);
	CHECK_EQ(t3_buffer_create(job->dev, JOB_SIZE, &job->buffer), 0);
	CHECK_EQ(t3_buffer_create(job->dev, JOB_SIZE, &job->staging), 0);
	CHECK_EQ(t3_space_create(job->dev, job->buffer, TILES, &job->space), 0);
	CHECK_EQ(t3_buffer_map(job->buffer, &ptr), 0);
	job->memory = ptr;
	CHECK_EQ(t3_buffer_map(job->staging, &ptr), 0);
	job->image = ptr;
}

void job_close(struct job *job)
{
	CHECK_EQ(t3_space_destroy(job->space), 0);
	t3_buffer_destroy(job->staging);
	t3_buffer_destroy(job->buffer);
	t3_device_close(job->dev);
}

void job_stage(struct job *job, const struct t3_segment_desc *desc)
{
	CHECK_EQ(t3_staging_bind(job->space, desc->segment, job->staging, desc->segment * JOB_SLOT,
				 JOB_SLOT, 1),
		 0);
}

void job_desc(struct t3_segment_desc *desc, uint32_t dtype, uint32_t op)
{
	uint32_t size = t3_dtype_bytes(dtype);

	*desc = (struct t3_segment_desc){
		.op = op,
		.dtype = dtype,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = 1,
		.rows = JOB_ROWS,
		.row_bytes = JOB_COLS * size,
		.pitch = 12 * size,
		.tile_rows = 3,
		.tile_row_bytes = 4 * size,
	};
}

static uint32_t half_bits(uint32_t f32)
{
	uint32_t sign = f32 >> 16 & 0x8000;
	int exponent = (int)(f32 >> 23 & 0xff) - 127 + 15;

	return f32 << 1 ? sign | (uint32_t)exponent << 10 | (f32 >> 13 & 0x3ff) : sign;
}

uint32_t element_bits(uint32_t dtype, int value)
{
	float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	switch (dtype) {
	case DRM_T3_I32:
		return (uint32_t)value;
	case DRM_T3_F32:
		return bits;
	case DRM_T3_F16:
		return half_bits(bits);
	default:
		return bits >> 16;
	}
}

int element_apply(uint32_t op, int a, int b)
{
	switch (op) {
	case DRM_T3_OP_ADD:
		return a + b;
	case DRM_T3_OP_MIN:
		return a < b ? a : b;
	case DRM_T3_OP_MAX:
		return a > b ? a : b;
	default:
		return b;
	}
}

int job_value(uint32_t seed, uint32_t row, uint32_t col)
{
	return (int)((seed * 7919 + row * 31 + col * 17 + seed * col) % 121) - 60;
}

/* One complete image of the segment, with rows at its pitch. */
static void make_image(const struct t3_segment_desc *desc, const struct job_update *update,
		       unsigned char *image)
{
	uint32_t size = t3_dtype_bytes(desc->dtype), row, col, bits;

	for (row = 0; row < desc->rows; row++) {
		for (col = 0; col < desc->row_bytes / size; col++) {
			bits = element_bits(desc->dtype, job_value(update->seed, update->row + row,
								   update->col + col));
			memcpy(image + row * desc->pitch + col * size, &bits, size);
		}
	}
}

static void write_tile(struct job *job, const struct t3_view *view, uint64_t tile,
		       const struct job_update *update, const unsigned char *image)
{
	const struct t3_segment_desc *desc = &view->desc;
	struct t3_tile at;

	CHECK_EQ(t3_desc_tile(desc, tile, &at), 0);
	if (update->path == PATH_STORE) {
		CHECK_EQ(t3_store_tile(view, tile, image + at.offset, desc->pitch), 0);
		return;
	}
	CHECK_EQ(t3_stage_tile(view, tile, image + at.offset, desc->pitch), 0);
	CHECK_EQ(t3_doorbell_tile(job->space, desc->segment, 0, (uint32_t)tile), 0);
}

/* Staged data that was not read yet must not be overwritten. */
static void wait_for_slot(struct job *job, const struct t3_segment_desc *desc)
{
	int64_t deadline = after_ms(10000);

	while (t3_slot_consumed(job->space, desc->segment, 0) != job->rung[desc->segment])
		CHECK(now_ns() < deadline);
}

void job_update(struct job *job, const struct t3_segment_desc *desc,
		const struct job_update *update)
{
	unsigned char *image = calloc(desc->rows, desc->pitch);
	struct t3_view view;
	uint64_t tile;

	CHECK(image);
	make_image(desc, update, image);
	if (update->path == PATH_STORE) {
		CHECK_EQ(t3_view_aperture(job->space, desc, &view), 0);
	} else {
		wait_for_slot(job, desc);
		job->rung[desc->segment] += (uint32_t)t3_desc_tiles(desc);
		CHECK_EQ(t3_view_memory(job->image + desc->segment * JOB_SLOT, desc, &view), 0);
	}
	for (tile = 0; tile < t3_desc_tiles(desc); tile++)
		write_tile(job, &view, tile, update, image);
	free(image);
}

void job_write(struct job *job, const struct t3_segment_desc *desc, enum path path, uint32_t seed)
{
	struct job_update update = { .seed = seed, .path = path };

	job_update(job, desc, &update);
}

void job_check(struct job *job, const struct t3_segment_desc *desc, uint32_t epoch)
{
	uint64_t word;

	CHECK_EQ(t3_wait(job->space, epoch, 0, T3_DELIVERED, t3_deadline(10000000000)), 0);
	word = t3_space_events(job->space)->segment[desc->segment];
	CHECK_EQ(word, epoch | DRM_T3_WORD_TRACKED | DRM_T3_WORD_DELIVERED);
	CHECK_EQ(t3_space_events(job->space)->faults, 0);
}

void job_expect(struct job *job, const struct t3_segment_desc *desc, const uint32_t *seeds,
		size_t count)
{
	const unsigned char *base = job->memory + desc->offset;
	uint32_t size = t3_dtype_bytes(desc->dtype), row, col, got;
	size_t i;
	int value;

	for (row = 0; row < desc->rows; row++) {
		for (col = 0; col < desc->row_bytes / size; col++) {
			value = job_value(seeds[0], row, col);
			for (i = 1; i < count; i++)
				value = element_apply(desc->op, value,
						      job_value(seeds[i], row, col));
			got = 0;
			memcpy(&got, base + row * desc->pitch + col * size, size);
			if (got != element_bits(desc->dtype, value))
				guest_fail(__FILE__, __LINE__,
					   "%s %s [%u][%u]: bits %#x, not %#x (%d)",
					   t3_dtype_name(desc->dtype), t3_op_name(desc->op), row,
					   col, got, element_bits(desc->dtype, value), value);
		}
	}
}
