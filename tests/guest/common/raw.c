// SPDX-License-Identifier: MIT
#include <drm.h>
#include <sys/mman.h>

#include "raw.h"

int bo_create(int fd, uint64_t size, uint32_t *handle)
{
	struct drm_t3_bo_create arg = { .size = size };
	int ret = call(fd, DRM_IOCTL_T3_BO_CREATE, &arg);

	if (!ret)
		*handle = arg.handle;
	return ret;
}

int bo_close(int fd, uint32_t handle)
{
	struct drm_gem_close arg = { .handle = handle };

	return call(fd, DRM_IOCTL_GEM_CLOSE, &arg);
}

int bo_offset(int fd, uint32_t handle, uint64_t *offset)
{
	struct drm_t3_bo_mmap_offset arg = { .handle = handle };
	int ret = call(fd, DRM_IOCTL_T3_BO_MMAP_OFFSET, &arg);

	if (!ret)
		*offset = arg.offset;
	return ret;
}

static void *map_node(int fd, uint64_t offset, uint64_t size, int prot)
{
	void *ptr = mmap(NULL, size, prot, MAP_SHARED, fd, (off_t)offset);

	CHECK(ptr != MAP_FAILED);
	return ptr;
}

void *bo_map(int fd, uint32_t handle, uint64_t size)
{
	uint64_t offset = 0;

	CHECK_EQ(bo_offset(fd, handle, &offset), 0);
	return map_node(fd, offset, size, PROT_READ | PROT_WRITE);
}

int space_create(int fd, uint32_t bo, uint32_t max_tiles, struct drm_t3_space_create *made)
{
	memset(made, 0, sizeof(*made));
	made->bo_handle = bo;
	made->max_tiles = max_tiles;
	return call(fd, DRM_IOCTL_T3_SPACE_CREATE, made);
}

int space_destroy(int fd, uint32_t space)
{
	struct drm_t3_space arg = { .space = space };

	return call(fd, DRM_IOCTL_T3_SPACE_DESTROY, &arg);
}

int space_reset(int fd, uint32_t space)
{
	struct drm_t3_space arg = { .space = space };

	return call(fd, DRM_IOCTL_T3_SPACE_RESET, &arg);
}

void raw_create_tiles(struct raw *raw, int fd, uint64_t size, uint32_t tiles)
{
	struct drm_t3_device_info info;

	device_info(fd, &info);
	memset(raw, 0, sizeof(*raw));
	raw->fd = fd;
	raw->rank = info.rank;
	CHECK_EQ(bo_create(fd, size, &raw->bo), 0);
	CHECK_EQ(space_create(fd, raw->bo, tiles, &raw->made), 0);
	raw->space = raw->made.space;
	raw->size = raw->made.size;
	raw->memory = bo_map(fd, raw->bo, raw->size);
	raw->aperture = map_node(fd, raw->made.aperture_offset, raw->size, PROT_READ | PROT_WRITE);
	raw->doorbell = map_node(fd, raw->made.doorbell_offset, PAGE, PROT_READ | PROT_WRITE);
	raw->events = map_node(fd, raw->made.event_offset, PAGE, PROT_READ);
}

void raw_create(struct raw *raw, int fd, uint64_t size)
{
	raw_create_tiles(raw, fd, size, RAW_TILES);
}

void raw_open(struct raw *raw, uint32_t rank, uint64_t size)
{
	raw_create(raw, open_rank(rank), size);
}

void raw_unmap(struct raw *raw)
{
	if (!raw->memory)
		return;
	munmap(raw->memory, raw->size);
	munmap((void *)(uintptr_t)raw->aperture, raw->size);
	munmap((void *)(uintptr_t)raw->doorbell, PAGE);
	munmap((void *)(uintptr_t)raw->events, PAGE);
	raw->memory = NULL;
}

void raw_destroy(struct raw *raw)
{
	raw_unmap(raw);
	space_destroy(raw->fd, raw->space);
	bo_close(raw->fd, raw->bo);
}

void raw_close(struct raw *raw)
{
	raw_destroy(raw);
	close(raw->fd);
}

struct drm_t3_segment_map raw_segment(const struct raw *raw)
{
	struct drm_t3_segment_map segment = {
		.space = raw->space,
		.kind = DRM_T3_SEGMENT_LOCAL,
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_I32,
		.init = DRM_T3_INIT_IDENTITY,
		.updates = 1,
		.rows = 4,
		.row_bytes = 64,
		.pitch = 64,
		.tile_rows = 2,
		.tile_row_bytes = 32,
	};

	return segment;
}

struct drm_t3_segment_map raw_sender(const struct raw *raw, uint32_t kind, uint32_t import,
				     uint32_t target)
{
	struct drm_t3_segment_map segment = raw_segment(raw);

	segment.kind = kind;
	if (kind == DRM_T3_SEGMENT_REMOTE)
		segment.op = segment.init = 0;
	segment.import = import;
	segment.target_op = DRM_T3_OP_ADD;
	segment.target_segment = target;
	return segment;
}

int raw_map(const struct raw *raw, const struct drm_t3_segment_map *segment)
{
	struct drm_t3_segment_map arg = *segment;

	return call(raw->fd, DRM_IOCTL_T3_SEGMENT_MAP, &arg);
}

void raw_map_local(const struct raw *raw)
{
	struct drm_t3_segment_map segment = raw_segment(raw);

	CHECK_EQ(raw_map(raw, &segment), 0);
}

int raw_unmap_segment(const struct raw *raw, uint32_t segment)
{
	struct drm_t3_segment_unmap arg = { .space = raw->space, .segment = segment };

	return call(raw->fd, DRM_IOCTL_T3_SEGMENT_UNMAP, &arg);
}

int raw_stage(const struct raw *raw, uint32_t segment, uint32_t bo, uint64_t stride, uint32_t slots)
{
	struct drm_t3_segment_staging arg = {
		.space = raw->space,
		.segment = segment,
		.bo_handle = bo,
		.slots = slots,
		.slot_stride = stride,
	};

	return call(raw->fd, DRM_IOCTL_T3_SEGMENT_STAGING, &arg);
}

int raw_stats(const struct raw *raw, uint32_t segment, struct drm_t3_space_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	stats->space = raw->space;
	stats->segment = segment;
	return call(raw->fd, DRM_IOCTL_T3_SPACE_STATS, stats);
}

int raw_tile(const struct raw *raw, uint32_t flags, uint32_t from, struct drm_t3_space_tile *tile)
{
	*tile = (struct drm_t3_space_tile){ .space = raw->space, .flags = flags, .tile = from };
	return call(raw->fd, DRM_IOCTL_T3_SPACE_TILE, tile);
}

int raw_export(const struct raw *raw, uint64_t segments, uint32_t ops, int *fd, uint32_t *grant)
{
	struct drm_t3_grant_export arg = {
		.space = raw->space,
		.op_mask = ops,
		.segment_mask = segments,
	};
	int ret = call(raw->fd, DRM_IOCTL_T3_GRANT_EXPORT, &arg);

	if (!ret) {
		*fd = arg.fd;
		if (grant)
			*grant = arg.grant;
	}
	return ret;
}

int raw_revoke(const struct raw *raw, uint32_t grant)
{
	struct drm_t3_grant_revoke arg = { .space = raw->space, .grant = grant };

	return call(raw->fd, DRM_IOCTL_T3_GRANT_REVOKE, &arg);
}

int raw_import(const struct raw *raw, int fd, uint32_t *import)
{
	struct drm_t3_grant_import arg = { .space = raw->space, .fd = fd };
	int ret = call(raw->fd, DRM_IOCTL_T3_GRANT_IMPORT, &arg);

	if (!ret && import)
		*import = arg.import;
	return ret;
}

int raw_key_export(const struct raw *raw, uint64_t segments, uint32_t ops, struct drm_t3_key *key,
		   uint32_t *grant)
{
	struct drm_t3_key_export arg = {
		.space = raw->space,
		.op_mask = ops,
		.segment_mask = segments,
	};
	int ret = call(raw->fd, DRM_IOCTL_T3_KEY_EXPORT, &arg);

	if (!ret) {
		*key = arg.key;
		if (grant)
			*grant = arg.grant;
	}
	return ret;
}

int raw_key_import(const struct raw *raw, const struct drm_t3_key *key, uint32_t *import)
{
	struct drm_t3_key_import arg = { .space = raw->space, .key = *key };
	int ret = call(raw->fd, DRM_IOCTL_T3_KEY_IMPORT, &arg);

	if (!ret && import)
		*import = arg.import;
	return ret;
}

int raw_release_import(const struct raw *raw, uint32_t import)
{
	struct drm_t3_grant_release arg = { .space = raw->space, .import = import };

	return call(raw->fd, DRM_IOCTL_T3_GRANT_RELEASE, &arg);
}

uint32_t raw_join(const struct raw *source, const struct raw *target)
{
	uint32_t import = 0;
	int fd = -1;

	CHECK_EQ(raw_export(target, ~0ull, 0xf, &fd, NULL), 0);
	CHECK_EQ(raw_import(source, fd, &import), 0);
	close(fd);
	return import;
}
