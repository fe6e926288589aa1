// SPDX-License-Identifier: MIT
/* Matrix products, as jobs that store to a space or a buffer. */
#include "space/private.h"

/* What a desc with zeros means: sizes of a usual kernel. */
#define GROUP  128u
#define TILE   32u
#define RASTER 8u

static uint32_t usual(uint32_t value, uint32_t otherwise, uint32_t limit)
{
	if (value)
		return value;
	return otherwise < limit ? otherwise : limit;
}

static uint64_t pitch(const struct t3_matrix *matrix, uint32_t rows, uint64_t row_bytes)
{
	if (rows == 1)
		return 0;
	return matrix->pitch ? matrix->pitch : row_bytes;
}

static void set_order(struct drm_t3_command *command, const struct t3_gemm_desc *desc)
{
	command->flags = desc->chunks_up ? DRM_T3_GEMM_CHUNKS_UP : 0;
	command->chunk_rows = usual(desc->chunk_rows, desc->rows, desc->rows);
	command->first_chunk = desc->first_chunk;
	command->raster_rows = usual(desc->raster_rows, RASTER, RASTER);
	command->group_rows = usual(desc->group_rows, GROUP, command->chunk_rows);
	command->group_columns = usual(desc->group_columns, GROUP, desc->columns);
	command->tile_rows = usual(desc->tile_rows, TILE, command->group_rows);
	command->tile_columns = usual(desc->tile_columns, TILE, command->group_columns);
}

/* What the driver cannot see because it would not fit into its fields. */
static bool desc_valid(const struct t3_gemm_desc *desc)
{
	uint32_t size = t3_dtype_bytes(desc->dtype);

	return size > 1 && desc->rows && desc->columns && desc->columns <= UINT32_MAX / size &&
	       desc->depth && desc->a.buffer && desc->b.buffer && !desc->space == !!desc->c.buffer;
}

static struct drm_t3_command command_of(const struct t3_gemm_desc *desc)
{
	uint32_t size = t3_dtype_bytes(desc->dtype);
	struct drm_t3_command command = {
		.type = DRM_T3_COMMAND_GEMM,
		.dtype = desc->dtype,
		.src = t3_buffer_handle(desc->a.buffer),
		.dst = t3_buffer_handle(desc->c.buffer),
		.rows = desc->rows,
		.row_bytes = desc->columns * size,
		.src_offset = desc->a.offset,
		.dst_offset = desc->c.offset,
		.src_pitch = pitch(&desc->a, desc->rows, (uint64_t)desc->depth * size),
		.dst_pitch = pitch(&desc->c, desc->rows, (uint64_t)desc->columns * size),
		.b = t3_buffer_handle(desc->b.buffer),
		.b_offset = desc->b.offset,
		.b_pitch = pitch(&desc->b, desc->depth, (uint64_t)desc->columns * size),
		.depth = desc->depth,
		.space = desc->space ? desc->space->handle : 0,
	};

	set_order(&command, desc);
	return command;
}

int t3_queue_gemm(struct t3_queue *queue, const struct t3_gemm_desc *desc, int *fence)
{
	const struct t3_hooks *hooks;
	struct drm_t3_command command;

	if (!queue || !desc || !desc_valid(desc))
		return -EINVAL;
	hooks = desc->space ? t3_hooks_of(desc->space) : NULL;
	if (hooks)
		hooks->job(desc->space);
	command = command_of(desc);
	t3_write_barrier(); /* operands that were written through mappings */
	return t3_submit_command(queue, &command, fence);
}
