// SPDX-License-Identifier: MIT
/* Output address spaces: create, reset, destroy, mappings, statistics and descriptors. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "space/private.h"

static void unmap_all(struct t3_space *space)
{
	const struct t3_hooks *hooks = t3_hooks_of(space);

	if (hooks)
		hooks->destroy(space);
	if (space->aperture)
		munmap((void *)(uintptr_t)space->aperture, space->size);
	if (space->doorbell)
		munmap((void *)(uintptr_t)space->doorbell, T3_PAGE);
	if (space->events)
		munmap((void *)(uintptr_t)space->events, T3_PAGE);
}

static int map_all(struct t3_space *space, const struct drm_t3_space_create *arg)
{
	void *ptr;
	int ret;

	ret = t3_map_node(space->fd, arg->aperture_offset, arg->size, PROT_READ | PROT_WRITE, &ptr);
	space->aperture = ptr;
	if (ret)
		return ret;
	ret = t3_map_node(space->fd, arg->doorbell_offset, T3_PAGE, PROT_READ | PROT_WRITE, &ptr);
	space->doorbell = ptr;
	if (ret)
		return ret;
	ret = t3_map_node(space->fd, arg->event_offset, T3_PAGE, PROT_READ, &ptr);
	space->events = ptr;
	return ret;
}

static int create_checked(struct t3_space *space, uint64_t aperture_offset)
{
	const struct t3_hooks *hooks = t3_debug();

	return hooks ? hooks->create(space, aperture_offset) : 0;
}

static void tell_unfinished(struct t3_space *space, const char *what, const void *code)
{
	const struct t3_hooks *hooks = t3_hooks_of(space);

	if (hooks)
		hooks->unfinished(space, what, code);
}

static int destroy_handle(int fd, uint32_t handle)
{
	struct drm_t3_space arg = { .space = handle };

	return t3_ioctl(fd, DRM_IOCTL_T3_SPACE_DESTROY, &arg);
}

int t3_space_create(struct t3_device *dev, struct t3_buffer *buffer, uint32_t max_tiles,
		    struct t3_space **out)
{
	struct drm_t3_space_create arg = { .max_tiles = max_tiles };
	struct t3_space *space;
	int ret;

	if (!dev || !buffer || !out || buffer->fd != dev->fd)
		return -EINVAL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	arg.bo_handle = buffer->handle;
	ret = t3_ioctl(dev->fd, DRM_IOCTL_T3_SPACE_CREATE, &arg);
	if (ret)
		goto err_free;
	space->maker = getpid();
	space->fd = dev->fd;
	space->handle = arg.space;
	space->size = arg.size;
	atomic_init(&space->spin_ns, T3_SPIN_DEFAULT_NS);
	space->emulated = t3_cpu_emulated();
	ret = map_all(space, &arg);
	if (!ret)
		ret = create_checked(space, arg.aperture_offset);
	if (ret)
		goto err_destroy;
	*out = space;
	return 0;

err_destroy:
	unmap_all(space);
	destroy_handle(space->fd, space->handle);
err_free:
	free(space);
	return ret;
}

int t3_space_destroy(struct t3_space *space)
{
	int ret = 0;

	if (!space)
		return 0;
	if (t3_is_maker(space->maker))
		tell_unfinished(space, "t3_space_destroy()", __builtin_return_address(0));
	unmap_all(space);
	if (t3_is_maker(space->maker))
		ret = destroy_handle(space->fd, space->handle);
	free(space);
	return ret;
}

int t3_space_reset(struct t3_space *space)
{
	struct drm_t3_space arg = { 0 };
	const struct t3_hooks *hooks;
	int ret;

	if (!space)
		return -EINVAL;
	tell_unfinished(space, "t3_space_reset()", __builtin_return_address(0));
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_RESET, &arg);
	if (ret)
		return ret;
	hooks = t3_hooks_of(space);
	if (hooks)
		hooks->reset(space);
	atomic_store(&space->mapped, atomic_load(&space->local));
	return 0;
}

volatile void *t3_space_aperture(const struct t3_space *space)
{
	return space ? space->aperture : NULL;
}

uint64_t t3_space_size(const struct t3_space *space)
{
	return space ? space->size : 0;
}

const volatile struct drm_t3_event_area *t3_space_events(const struct t3_space *space)
{
	return space ? space->events : NULL;
}

void t3_space_set_spin(struct t3_space *space, uint64_t ns)
{
	if (space)
		atomic_store(&space->spin_ns, ns);
}

int t3_space_eventfd(struct t3_space *space, uint64_t mask, int fd)
{
	struct drm_t3_space_eventfd arg = { .fd = fd, .segment_mask = mask };

	if (!space || !mask || fd < -1)
		return -EINVAL;
	arg.space = space->handle;
	return t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_EVENTFD, &arg);
}

int t3_space_wait_fd(struct t3_space *space, uint64_t mask, int *fd)
{
	struct drm_t3_space_wait_fd arg = { .segment_mask = mask };
	int ret;

	if (!space || !mask || !fd)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_WAIT_FD, &arg);
	if (!ret)
		*fd = arg.fd;
	return ret;
}

int t3_segment_stats(const struct t3_space *space, uint32_t segment,
		     struct drm_t3_space_stats *stats)
{
	struct drm_t3_space_stats arg = { .segment = segment };
	int ret;

	if (!space || !stats || segment >= T3_SEGMENTS)
		return -EINVAL;
	arg.space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_STATS, &arg);
	if (!ret)
		*stats = arg;
	return ret;
}

static int ask_tile(const struct t3_space *space, struct drm_t3_space_tile *arg,
		    struct drm_t3_space_tile *stats)
{
	int ret;

	if (!space || !stats || arg->segment >= T3_SEGMENTS)
		return -EINVAL;
	arg->space = space->handle;
	ret = t3_ioctl(space->fd, DRM_IOCTL_T3_SPACE_TILE, arg);
	if (!ret)
		*stats = *arg;
	return ret;
}

int t3_tile_stats(const struct t3_space *space, uint32_t segment, uint32_t from,
		  struct drm_t3_space_tile *stats)
{
	struct drm_t3_space_tile arg = { .segment = segment, .tile = from };

	return ask_tile(space, &arg, stats);
}

int t3_tile_look(const struct t3_space *space, uint32_t segment, uint32_t tile,
		 struct drm_t3_space_tile *stats)
{
	struct drm_t3_space_tile arg = { .segment = segment,
					 .flags = DRM_T3_SPACE_TILE_AT,
					 .tile = tile };

	return ask_tile(space, &arg, stats);
}
