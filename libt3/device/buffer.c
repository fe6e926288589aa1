// SPDX-License-Identifier: MIT
/* Buffers: allocate, map, export, import, free. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>

#include "device/device.h"

static void close_handle(int fd, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	t3_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &arg);
}

static int create(struct t3_device *dev, uint64_t size, uint32_t flags, struct t3_buffer **out)
{
	struct drm_t3_bo_create arg = { .size = size, .flags = flags };
	struct t3_buffer *buffer;
	int ret;

	if (!dev || !out || !size)
		return -EINVAL;
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	ret = t3_ioctl(dev->fd, DRM_IOCTL_T3_BO_CREATE, &arg);
	if (ret) {
		free(buffer);
		return ret;
	}
	buffer->maker = getpid();
	buffer->fd = dev->fd;
	buffer->handle = arg.handle;
	buffer->size = arg.size;
	*out = buffer;
	return 0;
}

int t3_buffer_create(struct t3_device *dev, uint64_t size, struct t3_buffer **buffer)
{
	return create(dev, size, 0, buffer);
}

int t3_buffer_create_host(struct t3_device *dev, uint64_t size, struct t3_buffer **buffer)
{
	return create(dev, size, DRM_T3_BO_HOST, buffer);
}

int t3_buffer_export(const struct t3_buffer *buffer, int *fd)
{
	struct drm_prime_handle arg = { .flags = DRM_CLOEXEC | DRM_RDWR, .fd = -1 };
	int ret;

	if (!buffer || !fd)
		return -EINVAL;
	arg.handle = buffer->handle;
	ret = t3_ioctl(buffer->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &arg);
	if (!ret)
		*fd = arg.fd;
	return ret;
}

int t3_buffer_import(struct t3_device *dev, int fd, struct t3_buffer **out)
{
	struct drm_prime_handle arg = { .fd = fd };
	struct t3_buffer *buffer;
	struct stat st;
	int ret;

	if (!dev || !out)
		return -EINVAL;
	/* Not lseek(), which would move the caller's place in another kind of file. */
	if (fstat(fd, &st))
		return -errno;
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer)
		return -ENOMEM;
	ret = t3_ioctl(dev->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &arg);
	if (ret) {
		free(buffer);
		return ret;
	}
	buffer->maker = getpid();
	buffer->fd = dev->fd;
	buffer->handle = arg.handle;
	buffer->size = (uint64_t)st.st_size;
	*out = buffer;
	return 0;
}

void t3_buffer_destroy(struct t3_buffer *buffer)
{
	if (!buffer)
		return;
	if (buffer->ptr)
		munmap(buffer->ptr, buffer->size);
	if (t3_is_maker(buffer->maker))
		close_handle(buffer->fd, buffer->handle);
	free(buffer);
}

int t3_buffer_map(struct t3_buffer *buffer, void **ptr)
{
	struct drm_t3_bo_mmap_offset arg = { 0 };
	int ret;

	if (!buffer || !ptr)
		return -EINVAL;
	if (!buffer->ptr) {
		arg.handle = buffer->handle;
		ret = t3_ioctl(buffer->fd, DRM_IOCTL_T3_BO_MMAP_OFFSET, &arg);
		if (!ret)
			ret = t3_map_node(buffer->fd, arg.offset, buffer->size,
					  PROT_READ | PROT_WRITE, &buffer->ptr);
		if (ret)
			return ret;
	}
	*ptr = buffer->ptr;
	return 0;
}

uint32_t t3_buffer_handle(const struct t3_buffer *buffer)
{
	return buffer ? buffer->handle : 0;
}

uint64_t t3_buffer_size(const struct t3_buffer *buffer)
{
	return buffer ? buffer->size : 0;
}
