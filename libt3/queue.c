// SPDX-License-Identifier: MIT
/* Queues: jobs of one command, each with a fence of its own; matrix products. */
#define _GNU_SOURCE /* ppoll */
#include <linux/sync_file.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <xf86drm.h>

#include "check.h"

/* What a desc with zeros means: sizes of a usual kernel. */
#define GROUP  128u
#define TILE   32u
#define RASTER 8u

struct t3_queue {
	int fd; /* of the device, not owned */
	uint32_t handle;
};

int t3_queue_create(struct t3_device *dev, uint32_t priority, struct t3_queue **out)
{
	struct drm_t3_queue_create arg = { .priority = priority };
	struct t3_queue *queue;
	int ret;

	if (!dev || !out)
		return -EINVAL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	ret = t3_ioctl(dev->fd, DRM_IOCTL_T3_QUEUE_CREATE, &arg);
	if (ret) {
		free(queue);
		return ret;
	}
	queue->fd = dev->fd;
	queue->handle = arg.queue;
	*out = queue;
	return 0;
}

void t3_queue_destroy(struct t3_queue *queue)
{
	struct drm_t3_queue_destroy arg = { 0 };

	if (!queue)
		return;
	arg.queue = queue->handle;
	t3_ioctl(queue->fd, DRM_IOCTL_T3_QUEUE_DESTROY, &arg);
	free(queue);
}

/* ------------------------------------------------------------------- fences */

static void sync_destroy(int fd, uint32_t sync)
{
	struct drm_syncobj_destroy arg = { .handle = sync };

	t3_ioctl(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &arg);
}

/* The fence that a job has just put there. */
static int sync_export(int fd, uint32_t sync, int *fence)
{
	struct drm_syncobj_handle arg = {
		.handle = sync,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
		.fd = -1,
	};
	int ret = t3_ioctl(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg);

	if (!ret)
		*fence = arg.fd;
	return ret;
}

static int submit(const struct t3_queue *queue, const struct drm_t3_command *command, uint32_t sync)
{
	struct drm_t3_sync out = { .handle = sync };
	struct drm_t3_queue_submit arg = {
		.queue = queue->handle,
		.command_count = 1,
		.command_stride = sizeof(*command),
		.commands = (uintptr_t)command,
	};

	if (sync) {
		arg.out_count = 1;
		arg.out_syncs = (uintptr_t)&out;
		arg.sync_stride = sizeof(out);
	}
	return t3_ioctl(queue->fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &arg);
}

static int submit_with_fence(const struct t3_queue *queue, const struct drm_t3_command *command,
			     int *fence)
{
	struct drm_syncobj_create create = { 0 };
	int ret;

	ret = t3_ioctl(queue->fd, DRM_IOCTL_SYNCOBJ_CREATE, &create);
	if (ret)
		return ret;
	ret = submit(queue, command, create.handle);
	if (!ret)
		ret = sync_export(queue->fd, create.handle, fence);
	sync_destroy(queue->fd, create.handle);
	return ret;
}

int t3_submit_command(struct t3_queue *queue, const struct drm_t3_command *command, int *fence)
{
	return fence ? submit_with_fence(queue, command, fence) : submit(queue, command, 0);
}

static int fence_status(int fence)
{
	struct sync_file_info info = { 0 };
	int ret = t3_ioctl(fence, SYNC_IOC_FILE_INFO, &info);

	if (ret)
		return ret == -ENOTTY ? -EINVAL : ret;
	if (!info.status)
		return -ETIMEDOUT;
	return info.status < 0 ? info.status : 0;
}

/* Until then, for ppoll(); NULL: without end. */
static const struct timespec *time_left(int64_t deadline_ns, struct timespec *left)
{
	struct timespec now;
	int64_t ns;

	if (deadline_ns == INT64_MAX)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = deadline_ns - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	if (ns < 0)
		ns = 0;
	left->tv_sec = ns / 1000000000;
	left->tv_nsec = ns % 1000000000;
	return left;
}

int t3_fence_wait(int fence, int64_t deadline_ns)
{
	struct pollfd file = { .fd = fence, .events = POLLIN };
	struct timespec left;
	int ready;

	if (fence < 0)
		return -EINVAL;
	if (deadline_ns < 0)
		deadline_ns = 0;
	do {
		ready = ppoll(&file, 1, time_left(deadline_ns, &left), NULL);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return -errno;
	if (file.revents & POLLNVAL)
		return -EBADF;
	return fence_status(fence);
}

/* --------------------------------------------------------------------- GEMM */

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
	struct drm_t3_command command;

	if (!queue || !desc || !desc_valid(desc))
		return -EINVAL;
	if (desc->space)
		t3_check_job(desc->space);
	command = command_of(desc);
	t3_write_barrier(); /* operands that were written through mappings */
	return t3_submit_command(queue, &command, fence);
}
