// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <linux/sync_file.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "debugfs.h"
#include "job.h"
#include "queue.h"
#include "raw.h"

#define QUIET_MS 30

void operand_open(struct operand *operand, int fd, uint32_t size, uint32_t seed)
{
	uint32_t handle;

	CHECK_EQ(bo_create(fd, size, &handle), 0);
	operand_adopt(operand, fd, handle, size, seed);
}

void operand_adopt(struct operand *operand, int fd, uint32_t handle, uint32_t size, uint32_t seed)
{
	uint32_t i;

	operand->size = size;
	operand->handle = handle;
	operand->memory = bo_map(fd, handle, size);
	operand->model = malloc(size);
	CHECK(operand->model);
	for (i = 0; i < size; i++)
		operand->model[i] = (uint8_t)(seed + 31 * i + (i >> 8) * 7);
	memcpy(operand->memory, operand->model, size);
}

void operand_drop(struct operand *operand)
{
	munmap(operand->memory, operand->size);
	free(operand->model);
}

void operand_close(struct operand *operand, int fd)
{
	operand_drop(operand);
	CHECK_EQ(bo_close(fd, operand->handle), 0);
}

void operand_check(const struct operand *operand)
{
	uint32_t i;

	for (i = 0; i < operand->size; i++)
		if (operand->memory[i] != operand->model[i])
			guest_fail(__FILE__, __LINE__, "byte %u is %#x, not %#x", i,
				   operand->memory[i], operand->model[i]);
}

int queue_create(int fd, uint32_t priority, uint32_t *queue)
{
	struct drm_t3_queue_create arg = { .priority = priority };
	int ret = call(fd, DRM_IOCTL_T3_QUEUE_CREATE, &arg);

	if (!ret) {
		CHECK(arg.queue);
		*queue = arg.queue;
	}
	return ret;
}

int queue_destroy(int fd, uint32_t queue)
{
	struct drm_t3_queue_destroy arg = { .queue = queue };

	return call(fd, DRM_IOCTL_T3_QUEUE_DESTROY, &arg);
}

uint32_t sync_create(int fd)
{
	struct drm_syncobj_create arg = { 0 };

	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_CREATE, &arg), 0);
	return arg.handle;
}

void sync_destroy(int fd, uint32_t sync)
{
	struct drm_syncobj_destroy arg = { .handle = sync };

	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_DESTROY, &arg), 0);
}

int sync_wait(int fd, uint32_t sync, uint64_t point, int ms)
{
	struct drm_syncobj_timeline_wait arg = {
		.handles = (uintptr_t)&sync,
		.points = (uintptr_t)&point,
		.timeout_nsec = ms ? after_ms(ms) : 0,
		.count_handles = 1,
	};

	return call(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &arg);
}

void sync_check_busy(int fd, uint32_t sync)
{
	CHECK_EQ(sync_wait(fd, sync, 0, 50), -ETIME);
}

int sync_export(int fd, uint32_t sync)
{
	struct drm_syncobj_handle arg = {
		.handle = sync,
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE,
	};

	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &arg), 0);
	return arg.fd;
}

int sync_file_status(int sync_file)
{
	struct sync_file_info info = { 0 };

	CHECK_EQ(call(sync_file, SYNC_IOC_FILE_INFO, &info), 0);
	return info.status;
}

int sync_status(int fd, uint32_t sync)
{
	int file = sync_export(fd, sync), status = sync_file_status(file);

	close(file);
	return status;
}

struct submission submission(uint32_t queue, const union drm_t3_any_command *commands,
			     uint32_t count)
{
	struct submission s = {
		.args = {
			.queue = queue,
			.command_count = count,
			.command_stride = sizeof(*commands),
			.commands = (uintptr_t)commands,
		},
	};

	return s;
}

void submission_in(struct submission *s, uint32_t sync, uint64_t point)
{
	s->ins[s->args.in_count].handle = sync;
	s->ins[s->args.in_count++].point = point;
}

void submission_out(struct submission *s, uint32_t sync, uint64_t point)
{
	s->outs[s->args.out_count].handle = sync;
	s->outs[s->args.out_count++].point = point;
}

int submit(int fd, struct submission *s)
{
	if (s->args.in_count)
		s->args.in_syncs = (uintptr_t)s->ins;
	if (s->args.out_count)
		s->args.out_syncs = (uintptr_t)s->outs;
	if (s->args.in_count || s->args.out_count)
		s->args.sync_stride = sizeof(s->ins[0]);
	return call(fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &s->args);
}

int submit_one(int fd, uint32_t queue, const union drm_t3_any_command *command, uint32_t out)
{
	struct submission s = submission(queue, command, 1);

	if (out)
		submission_out(&s, out, 0);
	return submit(fd, &s);
}

union drm_t3_any_command any_command(const void *command, size_t size)
{
	union drm_t3_any_command any;

	memset(&any, 0, sizeof(any));
	memcpy(&any, command, size);
	return any;
}

union drm_t3_any_command command_fill(uint32_t dst, uint64_t offset, uint32_t bytes,
				      uint64_t pattern)
{
	struct drm_t3_fill fill = {
		.head.type = DRM_T3_COMMAND_FILL,
		.rows = 1,
		.row_bytes = bytes,
		.dst = { .handle = dst, .offset = offset },
		.pattern = pattern,
	};

	return ANY_COMMAND(fill);
}

union drm_t3_any_command command_copy(uint32_t dst, uint32_t src, uint32_t bytes)
{
	struct drm_t3_copy copy = {
		.head.type = DRM_T3_COMMAND_COPY,
		.rows = 1,
		.row_bytes = bytes,
		.dst.handle = dst,
		.src.handle = src,
	};

	return ANY_COMMAND(copy);
}

union drm_t3_any_command command_gemm(uint32_t dst, uint32_t src)
{
	struct drm_t3_gemm gemm = {
		.head.type = DRM_T3_COMMAND_GEMM,
		.rows = 4,
		.columns = 4,
		.depth = 4,
		.dtype = DRM_T3_I32,
		.a = { .handle = src, .pitch = 16 },
		.b = { .handle = src, .pitch = 16 },
		.dst = { .handle = dst, .pitch = 16 },
		.chunk_rows = 4,
		.raster_rows = 1,
		.group_rows = 4,
		.group_columns = 4,
		.tile_rows = 4,
		.tile_columns = 4,
	};

	return ANY_COMMAND(gemm);
}

union drm_t3_any_command command_timed(uint32_t bo)
{
	struct drm_t3_timed timed = {
		.head.type = DRM_T3_COMMAND_TIMED,
		.args.handle = bo,
		.result = { .handle = bo, .offset = COMMAND_TIMED_RESULT },
	};

	return ANY_COMMAND(timed);
}

static const uint32_t element_size[] = { 4, 4, 2, 2, 1, 1 };

/* The inverse of element_bits(), for the values of the tests. */
static int element_value(uint32_t dtype, uint32_t bits)
{
	int value;

	for (value = -256; value <= 256; value++)
		if (element_bits(dtype, value) == bits)
			return value;
	guest_fail(__FILE__, __LINE__, "%#x is no small whole number", bits);
}

static void model_element(const struct drm_t3_update *update, uint8_t *dst, const uint8_t *src)
{
	uint32_t size = element_size[update->dtype], a = 0, b = 0;

	if (update->op == DRM_T3_OP_STORE) {
		memcpy(dst, src, size);
		return;
	}
	memcpy(&a, dst, size);
	memcpy(&b, src, size);
	a = element_bits(update->dtype, element_apply(update->op, element_value(update->dtype, a),
						      element_value(update->dtype, b)));
	memcpy(dst, &a, size);
}

/* COPY, FILL and UPDATE have the same first fields. */
void model_run(const union drm_t3_any_command *command, struct operand *dst,
	       const struct operand *src)
{
	const struct drm_t3_copy *copy = &command->copy;
	uint32_t row, byte;

	for (row = 0; row < copy->rows; row++) {
		uint8_t *to = dst->model + copy->dst.offset + row * copy->dst.pitch;
		const uint8_t *from =
			src ? src->model + copy->src.offset + row * copy->src.pitch : NULL;

		if (command->head.type == DRM_T3_COMMAND_COPY)
			memmove(to, from, copy->row_bytes);
		else if (command->head.type == DRM_T3_COMMAND_FILL)
			for (byte = 0; byte < copy->row_bytes; byte++)
				to[byte] = (uint8_t)(command->fill.pattern >> 8 * (byte % 8));
		else
			for (byte = 0; byte < copy->row_bytes;
			     byte += element_size[command->update.dtype])
				model_element(&command->update, to + byte, from + byte);
	}
}

void inject(uint32_t rank, const char *format, ...)
{
	char text[128];
	va_list args;

	/* A queue that an earlier test has closed may still exist for a moment. */
	nap_ms(QUIET_MS * guest_slowness());
	va_start(args, format);
	CHECK(vsnprintf(text, sizeof(text), format, args) < (int)sizeof(text));
	va_end(args);
	CHECK_EQ(debugfs_write(rank, "inject", text), 0);
}

void inject_hang(uint32_t rank, uint32_t hw_queue, bool hang)
{
	inject(rank, "%s queue=%u", hang ? "hang-queue" : "unhang-queue", hw_queue);
}
