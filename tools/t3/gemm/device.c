// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "device.h"
#include "common/numeric.h"

static uint64_t rows_of(const struct device_producer *d)
{
	return (uint64_t)d->layout->chunks * d->layout->chunk_rows;
}

static int make_operands(struct device_producer *d, struct t3_device *dev)
{
	uint64_t a = rows_of(d) * d->depth * d->layout->element;
	uint64_t b = (uint64_t)d->depth * d->cols * d->layout->element;
	void *ptr;
	int ret;

	d->b_offset = (a + GEMM_ALIGN - 1) / GEMM_ALIGN * GEMM_ALIGN;
	ret = t3_buffer_create(dev, d->b_offset + b, &d->operands);
	if (!ret)
		ret = t3_buffer_map(d->operands, &ptr);
	if (!ret)
		d->memory = ptr;
	return ret;
}

int device_init(struct device_producer *d, struct t3_device *dev, const struct producer *p)
{
	struct drm_t3_device_info info;
	int ret;

	d->dtype = p->dtype;
	d->cols = p->cols;
	d->depth = p->depth;
	d->tile_rows = p->tile_rows;
	d->tile_cols = p->tile_cols;
	ret = t3_device_info(dev, &info);
	if (ret)
		return ret;
	if (!(info.features & DRM_T3_FEATURE_GEMM))
		return -EOPNOTSUPP;
	ret = t3_queue_create(dev, 0, &d->queue);
	return ret ? ret : make_operands(d, dev);
}

void device_fini(struct device_producer *d)
{
	t3_queue_destroy(d->queue);
	t3_buffer_destroy(d->operands);
}

/* Each input is a value of the dtype. */
static void put_values(const struct device_producer *d, unsigned char *to, const void *values,
		       uint64_t count)
{
	const float *from = values;
	uint64_t i;

	if (d->layout->element == 4) {
		memcpy(to, values, count * 4);
		return;
	}
	for (i = 0; i < count; i++) {
		uint16_t half = (uint16_t)element_from_f32(d->dtype, from[i]);

		memcpy(to + 2 * i, &half, 2);
	}
}

void device_fill(struct device_producer *d, const struct producer *p)
{
	put_values(d, d->memory, p->a, rows_of(d) * d->depth);
	put_values(d, d->memory + d->b_offset, p->b, (uint64_t)d->depth * d->cols);
}

int device_chunk(struct device_producer *d, uint32_t chunk, int64_t deadline_ns)
{
	uint64_t a_row = (uint64_t)d->depth * d->layout->element;
	struct t3_gemm_desc desc = {
		.a = { .buffer = d->operands, .offset = chunk * d->layout->chunk_rows * a_row },
		.b = { .buffer = d->operands, .offset = d->b_offset },
		.c = { .offset = chunk * d->layout->stride },
		.space = d->space,
		.rows = d->layout->chunk_rows,
		.columns = d->cols,
		.depth = d->depth,
		.dtype = d->dtype,
		.tile_rows = d->tile_rows,
		.tile_columns = d->tile_cols,
		.group_rows = d->tile_rows,
		.group_columns = d->tile_cols,
	};
	int fence, ret;

	ret = t3_queue_gemm(d->queue, &desc, &fence);
	if (ret)
		return ret;
	ret = t3_fence_wait(fence, deadline_ns);
	close(fence);
	return ret;
}
