// SPDX-License-Identifier: MIT
/* The objects that the right arguments of rows.c need. */
#define _GNU_SOURCE /* close_range() */
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "group.h"
#include "memory.h"
#include "rows.h"

static void world_open_queues(struct world *world)
{
	struct drm_syncobj_array array;
	int fd = world->source.fd;

	CHECK_EQ(queue_create(fd, 0, &world->queue), 0);
	CHECK_EQ(queue_create(fd, 0, &world->idle_queue), 0);
	world->sync = sync_create(fd);
	world->done_sync = sync_create(fd);
	array = (struct drm_syncobj_array){ .handles = (uintptr_t)&world->done_sync,
					    .count_handles = 1 };
	CHECK_EQ(call(fd, DRM_IOCTL_SYNCOBJ_SIGNAL, &array), 0);
}

/* Not every VM has a switch; those of the programs that need it have. */
static void world_open_groups(struct world *world)
{
	int ret = group_create(&world->target, DRM_T3_GROUP_REDUCE, 2, &world->reduce);

	CHECK(!ret || ret == -EOPNOTSUPP);
	if (!ret)
		CHECK_EQ(group_create(&world->source, DRM_T3_GROUP_MULTICAST, 2, &world->multicast),
			 0);
}

void world_open(struct world *world)
{
	int fd = -1;

	memset(world, 0, sizeof(*world));
	world->first_fd = dup(STDERR_FILENO);
	close(world->first_fd);
	raw_open(&world->source, 0, PAGE);
	raw_open(&world->target, 1, PAGE);
	raw_map_local(&world->source);
	raw_map_local(&world->target);
	raw_run_epoch(&world->source, 1);
	CHECK_EQ(bo_create(world->source.fd, PAGE, &world->spare_bo), 0);
	world->timed_bo = bo_create_timed(world->source.fd, 256);
	world->import = raw_join(&world->source, &world->target);
	CHECK_EQ(raw_export(&world->target, 1, 1u << DRM_T3_OP_ADD, &world->grant_fd,
			    &world->grant),
		 0);
	CHECK_EQ(raw_key_export(&world->target, 1, 1u << DRM_T3_OP_ADD, &world->key, NULL), 0);
	CHECK_EQ(raw_export(&world->target, ~0ull, 0xf, &fd, NULL), 0);
	CHECK_EQ(raw_import(&world->source, fd, &world->second_import), 0);
	world->second[0] = world->second_import;
	world_open_groups(world);
	world->event_fd = eventfd(0, EFD_CLOEXEC);
	CHECK(world->event_fd >= 0);
	world_open_queues(world);
	CHECK_EQ(space_destroy(world->source.fd, 0), -ENOENT); /* for REFUSAL */
}

/* Also results that the caller did not get: a struct that is cut short may lose a descriptor. */
void world_close(struct world *world)
{
	raw_unmap(&world->source);
	raw_unmap(&world->target);
	CHECK_EQ(close_range((unsigned int)world->first_fd, ~0u, 0), 0);
}

struct snapshot snapshot(void)
{
	struct snapshot now = { .free = { memory_free(0), memory_free(1) } };

	now.next_fd = dup(STDERR_FILENO);
	close((int)now.next_fd);
	return now;
}
