// SPDX-License-Identifier: MIT
/* libt3: its ioctls, field by field, and the calls that it refuses itself. */
#include "test_lib_kernel.h"

#include "device/device.h"
#include "test.h"

/* ------------------------------------------------------------------- devices */

T3_TEST("opening a device checks its driver")
{
	struct t3_device *other = NULL;

	kernel.major = T3_DRIVER_MAJOR + 1;
	assert_int_equal(t3_device_open_fd(kernel.node, &other), -EPROTO);
	kernel.major = T3_DRIVER_MAJOR;
	strcpy(kernel.name, "i915");
	assert_int_equal(t3_device_open_fd(kernel.node, &other), -EPROTO);
	strcpy(kernel.name, "t3");
	kernel.no_version = true;
	assert_int_equal(t3_device_open_fd(kernel.node, &other), -EPROTO);
	assert_null(other);
	assert_int_equal(t3_device_open_fd(-1, &other), -EBADF);
	assert_int_equal(t3_device_open_fd(kernel.node, NULL), -EINVAL);
	assert_int_equal(t3_device_open("/nowhere", &other), -ENOENT);
	assert_int_equal(t3_device_open(NULL, &other), -EINVAL);
	assert_int_equal(t3_device_open("/dev/null", NULL), -EINVAL);
	assert_int_equal(t3_device_open_index(0, NULL), -EINVAL);
	assert_int_equal(t3_device_open_rank(0, 0, NULL), -EINVAL);
}

T3_TEST("descriptors close on exec")
{
	assert_int_not_equal(t3_device_fd(dev), kernel.node);
	assert_true(fcntl(t3_device_fd(dev), F_GETFD) & FD_CLOEXEC);
	assert_int_equal(t3_device_fd(NULL), -EINVAL);
}

T3_TEST("the information clears what is not answered")
{
	struct drm_t3_device_info info;
	struct drm_t3_counters counters;

	memset(&info, 0xff, sizeof(info));
	assert_int_equal(t3_device_info(dev, &info), 0);
	assert_int_equal(ASKED(drm_t3_query)->type, DRM_T3_QUERY_DEVICE);
	assert_int_equal(ASKED(drm_t3_query)->size, sizeof(info));
	assert_int_equal(info.features, 5);
	assert_int_equal(info.memory_size, 0);
	assert_int_equal(info.staging_slots, 0);
	assert_int_equal(t3_device_counters(dev, &counters), 0);
	assert_int_equal(ASKED(drm_t3_query)->type, DRM_T3_QUERY_COUNTERS);
	assert_int_equal(counters.count, 0);
	assert_int_equal(t3_device_info(NULL, &info), -EINVAL);
	assert_int_equal(t3_device_info(dev, NULL), -EINVAL);
	assert_int_equal(t3_device_counters(dev, NULL), -EINVAL);
	kernel.error = ENODEV;
	assert_int_equal(t3_device_info(dev, &info), -ENODEV);
}

T3_TEST("an empty list is no error")
{
	struct t3_device_list *list = NULL;
	int ret = t3_device_list(&list);

	assert_true(ret == 0 || ret == -ENOSYS);
	assert_null(t3_device_list_get(list, 1000));
	assert_null(t3_device_list_get(NULL, 0));
	assert_int_equal(t3_device_list_count(NULL), 0);
	t3_device_list_free(list);
	t3_device_list_free(NULL);
	assert_int_equal(t3_device_list(NULL), -EINVAL);
}

/* ------------------------------------------------------------------- buffers */

T3_TEST("buffers ask for each field")
{
	struct t3_buffer *other = NULL;
	void *ptr = NULL, *again = NULL;

	assert_int_equal(t3_buffer_size(buffer), 8192);
	assert_int_equal(t3_buffer_size(NULL), 0);
	kernel.error = ENOMEM;
	assert_int_equal(t3_buffer_map(buffer, &ptr), -ENOMEM);
	assert_null(ptr);
	assert_int_equal(t3_buffer_map(buffer, &ptr), 0);
	assert_int_equal(ASKED(drm_t3_bo_mmap_offset)->handle, 11);
	assert_int_equal(t3_buffer_map(buffer, &again), 0);
	assert_ptr_equal(ptr, again);
	memset(ptr, 0x5a, 8192);
	assert_int_equal(kernel.memory[AT_BUFFER + 8191], 0x5a);
	assert_int_equal(t3_buffer_create(dev, 0, &other), -EINVAL);
	assert_int_equal(t3_buffer_create(NULL, 1, &other), -EINVAL);
	assert_int_equal(t3_buffer_create(dev, 1, NULL), -EINVAL);
	kernel.error = ENOSPC;
	assert_int_equal(t3_buffer_create(dev, 1, &other), -ENOSPC);
	assert_null(other);
	assert_int_equal(t3_buffer_map(NULL, &ptr), -EINVAL);
	assert_int_equal(t3_buffer_map(buffer, NULL), -EINVAL);
	t3_buffer_destroy(NULL);
}

T3_TEST("host buffers ask for each field")
{
	struct t3_buffer *host = NULL;
	void *ptr;

	assert_int_equal(t3_buffer_create_host(dev, 5000, &host), 0);
	assert_int_equal(ASKED(drm_t3_bo_create)->flags, DRM_T3_BO_HOST);
	assert_int_equal(ASKED(drm_t3_bo_create)->size, 5000);
	assert_int_equal(t3_buffer_size(host), 8192);
	assert_int_equal(t3_buffer_handle(host), 11);
	assert_int_equal(t3_buffer_handle(NULL), 0);
	assert_int_equal(t3_buffer_map(host, &ptr), 0);
	assert_int_equal(msync(ptr, 8192, MS_ASYNC), 0);
	t3_buffer_destroy(host);
	assert_int_equal(msync(ptr, 8192, MS_ASYNC), -1); /* it is not mapped any more */
	assert_int_equal(t3_buffer_create_host(NULL, 1, &host), -EINVAL);
	assert_int_equal(t3_buffer_create_host(dev, 0, &host), -EINVAL);
	kernel.error = EDQUOT;
	assert_int_equal(t3_buffer_create_host(dev, 1, &host), -EDQUOT);
}

/* A memfd has a size, like a dma-buf. */
T3_TEST("shared buffers keep descriptor and size")
{
	const struct drm_prime_handle *asked = ASKED(drm_prime_handle);
	struct t3_buffer *other = NULL;
	int fd = -1;

	assert_int_equal(t3_buffer_export(buffer, &fd), 0);
	assert_int_equal(fd, 79);
	assert_int_equal(asked->handle, 11);
	assert_int_equal(asked->flags, DRM_CLOEXEC | DRM_RDWR);
	assert_int_equal(t3_buffer_export(buffer, NULL), -EINVAL);
	assert_int_equal(t3_buffer_export(NULL, &fd), -EINVAL);
	fd = memfd_create("dma-buf", MFD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 12288), 0);
	assert_int_equal(t3_buffer_import(dev, fd, &other), 0);
	assert_int_equal(asked->fd, fd);
	assert_int_equal(t3_buffer_handle(other), 12);
	assert_int_equal(t3_buffer_size(other), 12288);
	t3_buffer_destroy(other);
	kernel.error = EXDEV;
	assert_int_equal(t3_buffer_import(dev, fd, &other), -EXDEV);
	/* It may be another kind of file, whose place is the caller's. */
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	kernel.calls = 0;
	assert_int_equal(t3_buffer_import(dev, -1, &other), -EBADF);
	assert_int_equal(t3_buffer_import(NULL, fd, &other), -EINVAL);
	assert_int_equal(t3_buffer_import(dev, fd, NULL), -EINVAL);
	assert_int_equal(kernel.calls, 0);
	close(fd);
}

/* -------------------------------------------------------------------- spaces */

T3_TEST("spaces map their pages")
{
	struct t3_buffer foreign = *buffer;
	struct t3_space *other = NULL;

	assert_int_equal(t3_space_size(space), SPACE_BYTES);
	*(volatile uint32_t *)t3_space_aperture(space) = 0x01020304;
	assert_memory_equal(kernel.memory + AT_APERTURE, "\4\3\2\1", 4);
	events()->dropped = 99;
	assert_int_equal(t3_space_events(space)->dropped, 99);
	assert_int_equal(t3_space_create(dev, NULL, 9, &other), -EINVAL);
	assert_int_equal(t3_space_create(NULL, buffer, 9, &other), -EINVAL);
	assert_int_equal(t3_space_create(dev, buffer, 9, NULL), -EINVAL);
	foreign.fd++; /* another device's */
	assert_int_equal(t3_space_create(dev, &foreign, 9, &other), -EINVAL);
	assert_null(other);
	kernel.error = EBUSY;
	assert_int_equal(t3_space_create(dev, buffer, 7, &other), -EBUSY);
	assert_int_equal(ASKED(drm_t3_space_create)->bo_handle, 11);
	assert_int_equal(ASKED(drm_t3_space_create)->max_tiles, 7);
	assert_null(other);
	assert_int_equal(t3_space_destroy(NULL), 0);
	assert_int_equal(t3_space_reset(NULL), -EINVAL);
	assert_int_equal(t3_space_reset(space), 0);
	assert_int_equal(ASKED(drm_t3_space)->space, 21);
}

static void check_map(uint32_t kind)
{
	const struct drm_t3_segment_map *map = ASKED(drm_t3_segment_map);

	assert_int_equal(kernel.request, DRM_IOCTL_T3_SEGMENT_MAP);
	assert_int_equal(map->space, 21);
	assert_int_equal(map->segment, 5);
	assert_int_equal(map->kind, kind);
	assert_int_equal(map->op, DRM_T3_OP_ADD);
	assert_int_equal(map->dtype, DRM_T3_F16);
	assert_int_equal(map->init, DRM_T3_INIT_IDENTITY);
	assert_int_equal(map->updates, 2);
	assert_int_equal(map->flags, 0);
	assert_int_equal(map->offset, 128);
	assert_int_equal(map->rows, 8);
	assert_int_equal(map->row_bytes, 32);
	assert_int_equal(map->pitch, 40);
	assert_int_equal(map->tile_rows, 4);
	assert_int_equal(map->tile_row_bytes, 16);
}

T3_TEST("segments pass every field")
{
	const struct drm_t3_segment_map *map = ASKED(drm_t3_segment_map);

	assert_int_equal(t3_local_map(space, &desc), 0);
	check_map(DRM_T3_SEGMENT_LOCAL);
	assert_int_equal(map->import | map->target_op | map->target_segment, 0);
	assert_int_equal(map->target_row | map->target_col, 0);
	assert_int_equal(t3_remote_map(space, &desc, &target), 0);
	check_map(DRM_T3_SEGMENT_REMOTE);
	assert_int_equal(t3_dma_map(space, &desc, &target), 0);
	check_map(DRM_T3_SEGMENT_DMA);
	assert_int_equal(map->import, 41);
	assert_int_equal(map->target_op, DRM_T3_OP_MAX);
	assert_int_equal(map->target_segment, 6);
	assert_int_equal(map->target_row, 7);
	assert_int_equal(map->target_col, 8);
	assert_int_equal(t3_unmap(space, 5), 0);
	assert_int_equal(ASKED(drm_t3_segment_unmap)->space, 21);
	assert_int_equal(ASKED(drm_t3_segment_unmap)->segment, 5);
}

T3_TEST("segments of several targets pass their imports")
{
	const struct drm_t3_segment_map *map = ASKED(drm_t3_segment_map);
	const uint32_t imports[] = { 42, 43 };
	struct t3_target many = target;

	assert_int_equal(t3_dma_map(space, &desc, &many), 0);
	assert_int_equal(map->block_tiles | map->import_count | map->imports, 0);
	many.block_tiles = 3;
	many.import_count = 2;
	many.imports = imports;
	assert_int_equal(t3_dma_map(space, &desc, &many), 0);
	assert_int_equal(map->import, 41);
	assert_int_equal(map->block_tiles, 3);
	assert_int_equal(map->import_count, 2);
	assert_ptr_equal(map->imports, imports);
	kernel.calls = 0;
	many.imports = NULL;
	assert_int_equal(t3_dma_map(space, &desc, &many), -EINVAL);
	many.imports = imports;
	many.import_count = 0;
	assert_int_equal(t3_dma_map(space, &desc, &many), -EINVAL);
	assert_int_equal(kernel.calls, 0);
}

T3_TEST("bad segments do not reach the kernel")
{
	struct t3_segment_desc bad = desc;

	bad.tile_rows = 0;
	assert_int_equal(t3_local_map(space, &bad), -EINVAL);
	assert_int_equal(t3_local_map(space, NULL), -EINVAL);
	assert_int_equal(t3_local_map(NULL, &desc), -EINVAL);
	assert_int_equal(t3_remote_map(space, &desc, NULL), -EINVAL);
	assert_int_equal(t3_dma_map(space, &desc, NULL), -EINVAL);
	assert_int_equal(t3_unmap(space, 64), -EINVAL);
	assert_int_equal(t3_unmap(NULL, 5), -EINVAL);
	assert_int_equal(kernel.calls, 0);
	kernel.error = EEXIST;
	assert_int_equal(t3_local_map(space, &desc), -EEXIST);
	kernel.error = ENOENT;
	assert_int_equal(t3_unmap(space, 5), -ENOENT);
}

T3_TEST("staging asks for each field")
{
	const struct drm_t3_segment_staging *a = ASKED(drm_t3_segment_staging);
	struct t3_buffer other = *buffer;

	assert_int_equal(t3_staging_bind(space, 5, buffer, 64, 512, 3), 0);
	assert_int_equal(a->space, 21);
	assert_int_equal(a->segment, 5);
	assert_int_equal(a->bo_handle, 11);
	assert_int_equal(a->slots, 3);
	assert_int_equal(a->offset, 64);
	assert_int_equal(a->slot_stride, 512);
	assert_int_equal(t3_staging_bind(space, 5, NULL, 0, 0, 0), 0);
	assert_int_equal(a->bo_handle, 0);
	assert_int_equal(t3_staging_bind(space, 5, NULL, 0, 0, 1), -EINVAL);
	assert_int_equal(t3_staging_bind(space, 5, buffer, 0, 0, 0), -EINVAL);
	assert_int_equal(t3_staging_bind(space, 5, buffer, 0, 8, 5), -EINVAL);
	assert_int_equal(t3_staging_bind(space, 64, buffer, 0, 8, 1), -EINVAL);
	assert_int_equal(t3_staging_bind(NULL, 5, buffer, 0, 8, 1), -EINVAL);
	other.fd++;
	assert_int_equal(t3_staging_bind(space, 5, &other, 64, 512, 3), -EOPNOTSUPP);
}

T3_TEST("widening asks for each field")
{
	const struct drm_t3_segment_widen *a = ASKED(drm_t3_segment_widen);
	struct t3_buffer other = *buffer;

	assert_int_equal(t3_widen_bind(space, 5, buffer, 64), 0);
	assert_int_equal(kernel.request, DRM_IOCTL_T3_SEGMENT_WIDEN);
	assert_int_equal(a->space, 21);
	assert_int_equal(a->segment, 5);
	assert_int_equal(a->bo_handle, 11);
	assert_int_equal(a->offset, 64);
	assert_int_equal(t3_widen_bind(space, 5, NULL, 0), 0);
	assert_int_equal(a->bo_handle, 0);
	assert_int_equal(t3_widen_bind(space, 64, buffer, 0), -EINVAL);
	assert_int_equal(t3_widen_bind(NULL, 5, buffer, 0), -EINVAL);
	other.fd++;
	assert_int_equal(t3_widen_bind(space, 5, &other, 0), -EOPNOTSUPP);
	kernel.error = EBUSY;
	assert_int_equal(t3_widen_bind(space, 5, buffer, 0), -EBUSY);
}

T3_TEST("aperture views stay inside")
{
	struct t3_segment_desc last = desc;
	struct t3_view view;

	assert_int_equal(t3_view_aperture(space, &desc, &view), 0);
	assert_ptr_equal(view.base, (volatile unsigned char *)t3_space_aperture(space) + 128);
	last.offset = SPACE_BYTES - 7 * 40 - 32;
	assert_int_equal(t3_view_aperture(space, &last, &view), 0);
	last.offset += 2;
	assert_int_equal(t3_view_aperture(space, &last, &view), -ERANGE);
	last.offset = 0;
	last.rows = 257;
	last.pitch = 1u << 24; /* 4 GiB and a row */
	assert_int_equal(t3_view_aperture(space, &last, &view), -ERANGE);
	assert_int_equal(t3_view_aperture(NULL, &desc, &view), -EINVAL);
	assert_int_equal(t3_view_aperture(space, NULL, &view), -EINVAL);
	assert_int_equal(t3_view_aperture(space, &desc, NULL), -EINVAL);
}

/* -------------------------------------------------------------------- grants */

T3_TEST("grants ask for each field")
{
	struct t3_import_info info = { 0 };
	uint32_t grant = 0, import = 0;
	int fd = 0;

	assert_int_equal(t3_grant_export(space, 1ull << 63, 2, &fd, &grant), 0);
	assert_int_equal(ASKED(drm_t3_grant_export)->segment_mask, 1ull << 63);
	assert_int_equal(ASKED(drm_t3_grant_export)->op_mask, 2);
	assert_int_equal(ASKED(drm_t3_grant_export)->rank_mask, 0);
	assert_int_equal(fd, 77);
	assert_int_equal(grant, 31);
	assert_int_equal(t3_grant_export_to(space, 0x81, 4, 8, &fd, &grant), 0);
	assert_int_equal(ASKED(drm_t3_grant_export)->rank_mask, 0x81);
	assert_int_equal(ASKED(drm_t3_grant_export)->segment_mask, 4);
	assert_int_equal(ASKED(drm_t3_grant_export)->op_mask, 8);
	assert_int_equal(t3_grant_export(space, 0, 2, &fd, &grant), -EINVAL);
	assert_int_equal(t3_grant_export(space, 1, 0, &fd, &grant), -EINVAL);
	assert_int_equal(t3_grant_export(space, 1, 1, NULL, &grant), -EINVAL);
	assert_int_equal(t3_grant_export(space, 1, 1, &fd, NULL), -EINVAL);
	assert_int_equal(t3_grant_import(space, 77, &import, &info), 0);
	assert_int_equal(ASKED(drm_t3_grant_import)->fd, 77);
	assert_int_equal(import, 41);
	assert_int_equal(info.rank, 2);
	assert_int_equal(info.segment_mask, 6);
	assert_int_equal(info.op_mask, 3);
	assert_int_equal(t3_grant_import(space, 77, &import, NULL), 0);
	assert_int_equal(t3_grant_import(space, 77, NULL, NULL), -EINVAL);
	kernel.error = EOWNERDEAD;
	assert_int_equal(t3_grant_import(space, 77, &import, &info), -EOWNERDEAD);
	assert_int_equal(t3_grant_revoke(space, 31), 0);
	assert_int_equal(ASKED(drm_t3_grant_revoke)->grant, 31);
	assert_int_equal(t3_grant_release(space, 41), 0);
	assert_int_equal(ASKED(drm_t3_grant_release)->import, 41);
	assert_int_equal(t3_grant_revoke(NULL, 31), -EINVAL);
	assert_int_equal(t3_grant_release(NULL, 41), -EINVAL);
}

T3_TEST("keys ask for each field")
{
	struct drm_t3_key inside = { .segment_mask = 6, .op_mask = 3, .rank = 2, .import = 9 };
	struct t3_import_info info = { 0 };
	uint32_t grant = 0, import = 0;
	struct t3_key key;

	assert_int_equal(t3_key_export(space, 0x81, 4, 8, &key, &grant), 0);
	assert_int_equal(ASKED(drm_t3_key_export)->rank_mask, 0x81);
	assert_int_equal(ASKED(drm_t3_key_export)->segment_mask, 4);
	assert_int_equal(ASKED(drm_t3_key_export)->op_mask, 8);
	assert_int_equal(grant, 32);
	assert_memory_equal(&key, "secret", 6);
	assert_int_equal(((struct drm_t3_key *)&key)->import, 5);
	assert_int_equal(t3_key_export(space, 0, 0, 8, &key, &grant), -EINVAL);
	assert_int_equal(t3_key_export(space, 0, 4, 0, &key, &grant), -EINVAL);
	assert_int_equal(t3_key_export(space, 0, 4, 8, NULL, &grant), -EINVAL);
	assert_int_equal(t3_key_export(space, 0, 4, 8, &key, NULL), -EINVAL);
	assert_int_equal(t3_key_export(NULL, 0, 4, 8, &key, &grant), -EINVAL);
	memcpy(&key, &inside, sizeof(key));
	assert_int_equal(t3_key_import(space, &key, &import, &info), 0);
	assert_memory_equal(&ASKED(drm_t3_key_import)->key, &key, sizeof(key));
	assert_int_equal(import, 42);
	assert_int_equal(info.rank, 2);
	assert_int_equal(info.segment_mask, 6);
	assert_int_equal(info.op_mask, 3);
	assert_int_equal(t3_key_import(space, &key, &import, NULL), 0);
	assert_int_equal(t3_key_import(space, NULL, &import, NULL), -EINVAL);
	assert_int_equal(t3_key_import(space, &key, NULL, NULL), -EINVAL);
	assert_int_equal(t3_key_import(NULL, &key, &import, NULL), -EINVAL);
	kernel.error = EACCES;
	assert_int_equal(t3_key_import(space, &key, &import, &info), -EACCES);
}

T3_TEST("descriptors and statistics ask for each field")
{
	struct drm_t3_space_stats stats;
	int fd = -1;

	assert_int_equal(t3_space_eventfd(space, 3, 9), 0);
	assert_int_equal(ASKED(drm_t3_space_eventfd)->fd, 9);
	assert_int_equal(ASKED(drm_t3_space_eventfd)->segment_mask, 3);
	assert_int_equal(t3_space_eventfd(space, 3, -1), 0);
	assert_int_equal(t3_space_eventfd(space, 3, -2), -EINVAL);
	assert_int_equal(t3_space_eventfd(space, 0, 9), -EINVAL);
	assert_int_equal(t3_space_wait_fd(space, 4, &fd), 0);
	assert_int_equal(ASKED(drm_t3_space_wait_fd)->segment_mask, 4);
	assert_int_equal(fd, 78);
	assert_int_equal(t3_space_wait_fd(space, 0, &fd), -EINVAL);
	assert_int_equal(t3_space_wait_fd(space, 4, NULL), -EINVAL);
	assert_int_equal(t3_segment_stats(space, 5, &stats), 0);
	assert_int_equal(ASKED(drm_t3_space_stats)->segment, 5);
	assert_int_equal(stats.stores, 1234);
	kernel.error = ENOENT;
	assert_int_equal(t3_segment_stats(space, 5, &stats), -ENOENT);
	assert_int_equal(t3_segment_stats(space, 64, &stats), -EINVAL);
	assert_int_equal(t3_segment_stats(space, 5, NULL), -EINVAL);
	assert_int_equal(t3_segment_stats(NULL, 5, &stats), -EINVAL);
}

T3_TEST("tiles ask for each field")
{
	struct drm_t3_space_tile stats = { .tile = 99 };

	assert_int_equal(t3_tile_stats(space, 5, 30, &stats), 0);
	assert_int_equal(ASKED(drm_t3_space_tile)->space, 21);
	assert_int_equal(ASKED(drm_t3_space_tile)->segment, 5);
	assert_int_equal(ASKED(drm_t3_space_tile)->tile, 30);
	assert_int_equal(ASKED(drm_t3_space_tile)->flags, 0);
	assert_int_equal(stats.tile, 37);
	assert_int_equal(stats.counted, 24);
	assert_int_equal(t3_tile_look(space, 63, 8, &stats), 0);
	assert_int_equal(ASKED(drm_t3_space_tile)->segment, 63);
	assert_int_equal(ASKED(drm_t3_space_tile)->flags, DRM_T3_SPACE_TILE_AT);
	assert_int_equal(stats.tile, 15);
	kernel.error = EOPNOTSUPP;
	assert_int_equal(t3_tile_stats(space, 5, 0, &stats), -EOPNOTSUPP);
	kernel.error = EINVAL;
	assert_int_equal(t3_tile_look(space, 5, 0, &stats), -EINVAL);
	assert_int_equal(stats.tile, 15);
	assert_int_equal(t3_tile_stats(space, 64, 0, &stats), -EINVAL);
	assert_int_equal(t3_tile_look(space, 64, 0, &stats), -EINVAL);
	assert_int_equal(t3_tile_stats(space, 5, 0, NULL), -EINVAL);
	assert_int_equal(t3_tile_stats(NULL, 5, 0, &stats), -EINVAL);
	assert_int_equal(t3_tile_look(NULL, 5, 0, &stats), -EINVAL);
	assert_int_equal(t3_tile_look(space, 5, 0, NULL), -EINVAL);
}

/* ----------------------------------------------------------------- refusals */

static const char *words(const struct drm_t3_refusal *refusal)
{
	static char text[256];
	int length = t3_refusal_text(refusal, text, sizeof(text));

	assert_int_equal(length, strlen(text));
	return text;
}

/* This kernel's driver has no T3_REFUSAL, as an older one. */
T3_TEST("a failed ioctl is known")
{
	struct drm_t3_refusal refusal = { .serial = 7 };
	struct t3_buffer *none;

	kernel.error = EDQUOT;
	assert_int_equal(t3_buffer_create(dev, 4096, &none), -EDQUOT);
	assert_int_equal(t3_refusal(-EINVAL, &refusal), -ENODATA);
	assert_int_equal(refusal.serial, 7);
	assert_int_equal(t3_refusal(-EDQUOT, &refusal), 0);
	assert_int_equal(refusal.request, (uint32_t)DRM_IOCTL_T3_BO_CREATE);
	assert_int_equal(refusal.error, EDQUOT);
	assert_int_equal(refusal.index, ~0u);
	assert_string_equal(words(&refusal), "");
	assert_int_equal(t3_refusal(0, &refusal), -EINVAL);
	assert_int_equal(t3_refusal(EDQUOT, &refusal), -EINVAL);
	assert_int_equal(t3_refusal(-EDQUOT, NULL), -EINVAL);
}

T3_TEST("a wait that times out is no refusal")
{
	struct drm_t3_refusal refusal;
	struct drm_t3_space_stats stats;

	kernel.error = ENOENT;
	assert_int_equal(t3_segment_stats(space, 5, &stats), -ENOENT);
	kernel.error = ETIMEDOUT;
	assert_int_equal(t3_segment_stats(space, 5, &stats), -ETIMEDOUT);
	assert_int_equal(t3_refusal(-ETIMEDOUT, &refusal), -ENODATA);
	assert_int_equal(t3_refusal(-ENOENT, &refusal), 0);
}

static const struct bad_desc {
	const char *field;
	size_t offset, size;
	uint64_t value;
} bad_descs[] = {
#define DESC(member, wrong)                                                  \
	{                                                                    \
#member, offsetof(struct t3_segment_desc, member),           \
			sizeof(((struct t3_segment_desc *)0)->member), wrong \
	}
	DESC(segment, 64),	 DESC(dtype, 10),	  DESC(op, 8),
	DESC(init, 2),		 DESC(updates, 0),	  DESC(updates, 65),
	DESC(offset, 2),	 DESC(offset, ~3ull),	  DESC(row_bytes, 0),
	DESC(row_bytes, 66),	 DESC(pitch, 60),	  DESC(pitch, 66),
	DESC(pitch, 1u << 25),	 DESC(rows, 0),		  DESC(tile_rows, 0),
	DESC(tile_rows, 9),	 DESC(tile_row_bytes, 0), DESC(tile_row_bytes, 68),
	DESC(tile_row_bytes, 6),
#undef DESC
};

T3_TEST("each field of a segment is named")
{
	const struct t3_segment_desc good = {
		.op = DRM_T3_OP_ADD,
		.dtype = DRM_T3_F32,
		.updates = 1,
		.rows = 8,
		.row_bytes = 64,
		.pitch = 128,
		.tile_rows = 2,
		.tile_row_bytes = 32,
	};
	struct drm_t3_refusal refusal;
	struct t3_segment_desc bad;
	uint64_t serial = 0;
	size_t i;

	assert_int_equal(t3_desc_check(&good), 0);
	for (i = 0; i < sizeof(bad_descs) / sizeof(bad_descs[0]); i++) {
		bad = good;
		memcpy((char *)&bad + bad_descs[i].offset, &bad_descs[i].value, bad_descs[i].size);
		assert_int_equal(t3_desc_check(&bad), -EINVAL);
		assert_int_equal(t3_refusal(-EINVAL, &refusal), 0);
		assert_int_equal(refusal.request, 0);
		assert_string_equal(refusal.struct_name, "t3_segment_desc");
		assert_string_equal(refusal.field, bad_descs[i].field);
		assert_int_equal(refusal.value, bad_descs[i].value);
		assert_true(refusal.serial > serial); /* else it would be the same one */
		serial = refusal.serial;
	}
	bad = good;
	bad.pitch = 60;
	assert_int_equal(t3_local_map(space, &bad), -EINVAL);
	assert_int_equal(t3_refusal(-EINVAL, &refusal), 0);
	assert_string_equal(words(&refusal),
			    "t3_segment_desc.pitch is 60; allowed: row_bytes to DRM_T3_PITCH_MAX");
}

T3_TEST("refusals are put in words")
{
	struct drm_t3_refusal refusal = {
		.error = EINVAL,
		.index = ~0u,
		.what = DRM_T3_REFUSAL_VALUE,
		.value = 65536,
		.struct_name = "drm_t3_copy",
		.field = "dst.offset",
		.allowed = "less",
	};
	char text[8] = "xxxxxxx";

	assert_string_equal(words(&refusal),
			    "drm_t3_copy.dst.offset is 65536 (0x10000); allowed: less");
	refusal.index = 3;
	refusal.value = 4;
	assert_string_equal(words(&refusal),
			    "drm_t3_copy.dst.offset of element 3 is 4; allowed: less");
	refusal.what = DRM_T3_REFUSAL_VALUE | DRM_T3_REFUSAL_SIGNED;
	refusal.value = (uint64_t)-2;
	assert_string_equal(words(&refusal),
			    "drm_t3_copy.dst.offset of element 3 is -2; allowed: less");
	refusal.what = 0;
	refusal.index = ~0u;
	assert_string_equal(words(&refusal), "drm_t3_copy.dst.offset: allowed: less");
	assert_int_equal(t3_refusal_text(&refusal, text, sizeof(text)), 37);
	assert_string_equal(text, "drm_t3_");
	assert_int_equal(t3_refusal_text(&refusal, NULL, 0), 37);
	assert_int_equal(t3_refusal_text(&refusal, NULL, 1), -EINVAL);
	assert_int_equal(t3_refusal_text(NULL, text, sizeof(text)), -EINVAL);
}
