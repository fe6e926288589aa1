// SPDX-License-Identifier: MIT
/* The device itself: versions, its node, its memory, its queues. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>

#include "selftest/selftest.h"
#include "t3_hw.h"

#define WORDS 4096u /* of a buffer */
#define DEPTH 8u    /* of a product: all three sizes */

bool selftest_version(struct selftest *test)
{
	uint32_t version = test->device->info.hw_version;

	if (version >> 16 != T3_VERSION_VALUE >> 16)
		return selftest_fail(test, "hardware %u.%u, this program knows %u", version >> 16,
				     version & 0xffff, T3_VERSION_VALUE >> 16);
	snprintf(test->text, sizeof(test->text), "hardware %u.%u, rank %u of %u, %s", version >> 16,
		 version & 0xffff, test->device->info.rank, test->device->info.ranks,
		 t3_topology_name(test->device->info.topology));
	return true;
}

bool selftest_node(struct selftest *test)
{
	struct stat node;

	if (fstat(t3_device_fd(test->device->dev), &node))
		return selftest_good(test, test->device->entry.node, -errno);
	if (node.st_mode & 0007)
		return selftest_fail(test, "%s is open to everybody (mode %o)",
				     test->device->entry.node, node.st_mode & 07777);
	snprintf(test->text, sizeof(test->text), "%s, mode %o", test->device->entry.node,
		 node.st_mode & 07777);
	return true;
}

static bool open_words(struct selftest *test, struct t3_buffer **buffer, uint32_t **words)
{
	return selftest_good(test, "allocating device memory",
			     t3_buffer_create(test->device->dev, WORDS * sizeof(**words),
					      buffer)) &&
	       selftest_good(test, "mapping device memory", t3_buffer_map(*buffer, (void **)words));
}

static bool check_words(struct selftest *test, const char *what, const uint32_t *words,
			uint32_t factor, uint32_t add)
{
	uint32_t i;

	for (i = 0; i < WORDS; i++)
		if (words[i] != i * factor + add)
			return selftest_fail(test, "%s: word %u is 0x%x, not 0x%x", what, i,
					     words[i], i * factor + add);
	return true;
}

bool selftest_memory(struct selftest *test)
{
	struct t3_buffer *buffer = NULL;
	uint32_t *words, i;
	bool good;

	good = open_words(test, &buffer, &words) && check_words(test, "new memory", words, 0, 0);
	for (i = 0; good && i < WORDS; i++)
		words[i] = i * 0x9e3779b1u + 1;
	good = good && check_words(test, "memory", words, 0x9e3779b1u, 1);
	t3_buffer_destroy(buffer);
	return good;
}

/* ------------------------------------------------------------------- queues */

/* Submit a job. *fence is a sync_file for t3_fence_wait(). */
static int submit(int fd, uint32_t queue, const union drm_t3_any_command *commands, uint32_t count,
		  int *fence)
{
	struct drm_t3_sync out = { 0 };
	struct drm_t3_queue_submit args = {
		.queue = queue,
		.command_count = count,
		.command_stride = sizeof(*commands),
		.commands = (uintptr_t)commands,
		.out_count = 1,
		.out_syncs = (uintptr_t)&out,
		.sync_stride = sizeof(out),
	};
	int ret;

	if (drmSyncobjCreate(fd, 0, &out.handle))
		return -errno;
	ret = drmIoctl(fd, DRM_IOCTL_T3_QUEUE_SUBMIT, &args) ? -errno : 0;
	if (!ret && drmSyncobjExportSyncFile(fd, out.handle, fence))
		ret = -errno;
	drmSyncobjDestroy(fd, out.handle);
	return ret;
}

static int wait_and_close(struct selftest *test, int fence)
{
	int ret = t3_fence_wait(fence, test->deadline);

	close(fence);
	return ret;
}

/* a = 5; b = a; c = i, by the CPU; c += b */
static bool run_commands(struct selftest *test, uint32_t queue, struct t3_buffer *const *buffers)
{
	uint32_t handle[3] = { t3_buffer_handle(buffers[0]), t3_buffer_handle(buffers[1]),
			       t3_buffer_handle(buffers[2]) };
	uint32_t bytes = WORDS * sizeof(uint32_t);
	union drm_t3_any_command commands[3];
	int fence, ret;

	memset(commands, 0, sizeof(commands)); /* the words after each must be zero */
	commands[0].fill = (struct drm_t3_fill){
		.head.type = DRM_T3_COMMAND_FILL,
		.rows = 1,
		.row_bytes = bytes,
		.dst.handle = handle[0],
		.pattern = 0x0000000500000005ull,
	};
	commands[1].copy = (struct drm_t3_copy){
		.head.type = DRM_T3_COMMAND_COPY,
		.rows = 1,
		.row_bytes = bytes,
		.dst.handle = handle[1],
		.src.handle = handle[0],
	};
	commands[2].update = (struct drm_t3_update){
		.head.type = DRM_T3_COMMAND_UPDATE,
		.rows = 1,
		.row_bytes = bytes,
		.dst.handle = handle[2],
		.src.handle = handle[1],
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
	};
	ret = submit(t3_device_fd(test->device->dev), queue, commands, 3, &fence);
	return selftest_good(test, "submitting a job", ret) &&
	       selftest_good(test, "a job", wait_and_close(test, fence));
}

static bool run_queue(struct selftest *test, struct t3_buffer *const *buffers,
		      uint32_t *const *words)
{
	struct drm_t3_queue_create create = { 0 };
	struct drm_t3_queue_destroy destroy = { 0 };
	int fd = t3_device_fd(test->device->dev);
	uint32_t i;
	bool good;

	for (i = 0; i < WORDS; i++)
		words[2][i] = i;
	if (drmIoctl(fd, DRM_IOCTL_T3_QUEUE_CREATE, &create))
		return selftest_good(test, "creating a queue", -errno);
	good = run_commands(test, create.queue, buffers);
	destroy.queue = create.queue;
	drmIoctl(fd, DRM_IOCTL_T3_QUEUE_DESTROY, &destroy);
	return good && check_words(test, "fill", words[0], 0, 5) &&
	       check_words(test, "copy", words[1], 0, 5) &&
	       check_words(test, "update", words[2], 1, 5);
}

bool selftest_copy(struct selftest *test)
{
	struct t3_buffer *buffers[3] = { NULL };
	uint32_t *words[3], i;
	bool good = true;

	if (!(test->device->info.features & DRM_T3_FEATURE_QUEUES))
		return selftest_skip(test, "the device has no queues");
	for (i = 0; i < 3 && good; i++)
		good = open_words(test, &buffers[i], &words[i]);
	good = good && run_queue(test, buffers, words);
	for (i = 0; i < 3; i++)
		t3_buffer_destroy(buffers[i]);
	return good;
}

/* A, B and C follow each other in one buffer. */
static int32_t *matrix(uint32_t *words, uint32_t number)
{
	return (int32_t *)words + number * DEPTH * DEPTH;
}

static bool check_product(struct selftest *test, uint32_t *words)
{
	uint32_t row, column, k;
	int32_t sum;

	for (row = 0; row < DEPTH; row++) {
		for (column = 0; column < DEPTH; column++) {
			for (k = 0, sum = 0; k < DEPTH; k++)
				sum += matrix(words, 0)[row * DEPTH + k] *
				       matrix(words, 1)[k * DEPTH + column];
			if (matrix(words, 2)[row * DEPTH + column] != sum)
				return selftest_fail(test,
						     "element %u, %u of the product is %d, not %d",
						     row, column,
						     matrix(words, 2)[row * DEPTH + column], sum);
		}
	}
	return true;
}

static bool run_gemm(struct selftest *test, struct t3_buffer *buffer, struct t3_queue *queue)
{
	uint64_t bytes = DEPTH * DEPTH * sizeof(int32_t);
	struct t3_gemm_desc desc = {
		.a = { buffer, 0, 0 },
		.b = { buffer, bytes, 0 },
		.c = { buffer, 2 * bytes, 0 },
		.rows = DEPTH,
		.columns = DEPTH,
		.depth = DEPTH,
		.dtype = DRM_T3_I32,
	};
	int fence;

	return selftest_good(test, "submitting a product", t3_queue_gemm(queue, &desc, &fence)) &&
	       selftest_good(test, "a product", wait_and_close(test, fence));
}

bool selftest_gemm(struct selftest *test)
{
	struct t3_buffer *buffer = NULL;
	struct t3_queue *queue = NULL;
	uint32_t *words, i;
	bool good;

	if (!(test->device->info.features & DRM_T3_FEATURE_GEMM))
		return selftest_skip(test, "the device has no products");
	good = open_words(test, &buffer, &words) &&
	       selftest_good(test, "creating a queue",
			     t3_queue_create(test->device->dev, 0, &queue));
	for (i = 0; good && i < 2 * DEPTH * DEPTH; i++)
		words[i] = (i * 7) % 23;
	good = good && run_gemm(test, buffer, queue) && check_product(test, words);
	t3_queue_destroy(queue);
	t3_buffer_destroy(buffer);
	return good;
}
