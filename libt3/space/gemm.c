// SPDX-License-Identifier: MIT
/* Matrix products, as jobs that store to a space or a buffer. */
#include "space/private.h"

/* Replace zeros in a desc by the sizes of a usual kernel. */
#define GROUP  128u
#define TILE   32u
#define RASTER 8u

/* Return the value, or for 0 the usual one, at most the limit. */
static uint32_t usual(uint32_t value, uint32_t otherwise, uint32_t limit)
{
	if (value)
		return value;
	return otherwise < limit ? otherwise : limit;
}

static struct drm_t3_operand operand(const struct t3_matrix *matrix, uint32_t rows,
				     uint64_t row_bytes)
{
	struct drm_t3_operand operand = {
		.handle = t3_buffer_handle(matrix->buffer),
		.offset = matrix->offset,
	};

	if (rows > 1)
		operand.pitch = matrix->pitch ? matrix->pitch : row_bytes;
	return operand;
}

/* Check the fields that the driver's struct does not have. */
static bool desc_valid(const struct t3_gemm_desc *desc)
{
	return desc->dtype <= DRM_T3_BF16 && desc->rows && desc->columns && desc->depth &&
	       desc->a.buffer && desc->b.buffer && !desc->space == !!desc->c.buffer;
}

static struct drm_t3_gemm gemm_of(const struct t3_gemm_desc *desc)
{
	uint64_t size = t3_dtype_bytes(desc->dtype);
	struct drm_t3_gemm gemm = {
		.head.type = DRM_T3_COMMAND_GEMM,
		.rows = desc->rows,
		.columns = desc->columns,
		.depth = desc->depth,
		.dtype = desc->dtype,
		.a = operand(&desc->a, desc->rows, desc->depth * size),
		.b = operand(&desc->b, desc->depth, desc->columns * size),
		.dst = operand(&desc->c, desc->rows, desc->columns * size),
		.space = desc->space ? desc->space->handle : 0,
	};

	gemm.head.flags = desc->chunks_up ? DRM_T3_GEMM_CHUNKS_UP : 0;
	gemm.chunk_rows = usual(desc->chunk_rows, desc->rows, desc->rows);
	gemm.first_chunk = desc->first_chunk;
	gemm.raster_rows = usual(desc->raster_rows, RASTER, RASTER);
	gemm.group_rows = usual(desc->group_rows, GROUP, gemm.chunk_rows);
	gemm.group_columns = usual(desc->group_columns, GROUP, desc->columns);
	gemm.tile_rows = usual(desc->tile_rows, TILE, gemm.group_rows);
	gemm.tile_columns = usual(desc->tile_columns, TILE, gemm.group_columns);
	return gemm;
}

/* Another device's handle may be a number that this one has, too. */
static bool is_of_queue(const struct t3_queue *queue, const struct t3_gemm_desc *desc)
{
	return t3_queue_is_of(queue, desc->a.buffer->fd) &&
	       t3_queue_is_of(queue, desc->b.buffer->fd) &&
	       t3_queue_is_of(queue, desc->space ? desc->space->fd : desc->c.buffer->fd);
}

int t3_queue_gemm(struct t3_queue *queue, const struct t3_gemm_desc *desc, int *fence)
{
	const struct t3_hooks *hooks;
	struct drm_t3_gemm gemm;

	if (!queue || !desc || !desc_valid(desc))
		return -EINVAL;
	if (!is_of_queue(queue, desc))
		return -EOPNOTSUPP;
	hooks = desc->space ? t3_hooks_of(desc->space) : NULL;
	if (hooks)
		hooks->job(desc->space);
	gemm = gemm_of(desc);
	t3_write_barrier(); /* The operands may have been written through mappings. */
	return t3_queue_job(queue, &gemm.head, sizeof(gemm), fence);
}
