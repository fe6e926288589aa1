/* SPDX-License-Identifier: MIT */
/* A space by plain ioctls, from which the ABI tests start. */
#ifndef T3_GUEST_RAW_H
#define T3_GUEST_RAW_H

#include "guest.h"

struct raw {
	int fd;
	uint32_t rank;
	uint32_t bo;
	uint32_t space;
	uint64_t size;
	struct drm_t3_space_create made;
	volatile uint8_t *aperture;
	volatile uint8_t *doorbell;
	const volatile struct drm_t3_event_area *events;
	uint8_t *memory; /* of the buffer */
};

#define RAW_TILES 64u

/* Open the device again, and make a space over a new buffer, with all mappings. */
void raw_open(struct raw *raw, uint32_t rank, uint64_t size);
/* Do the same on an open file. */
void raw_create_tiles(struct raw *raw, int fd, uint64_t size, uint32_t tiles);
void raw_create(struct raw *raw, int fd, uint64_t size);
/* Unmap, destroy what still exists, and close the file. */
void raw_close(struct raw *raw);
/* Do the same, but keep the file open. */
void raw_destroy(struct raw *raw);
void raw_unmap(struct raw *raw);

int bo_create(int fd, uint64_t size, uint32_t *handle);
int bo_close(int fd, uint32_t handle);
int bo_offset(int fd, uint32_t handle, uint64_t *offset);
/* Map a buffer. The test fails when that fails. */
void *bo_map(int fd, uint32_t handle, uint64_t size);
int space_create(int fd, uint32_t bo, uint32_t max_tiles, struct drm_t3_space_create *made);
int space_destroy(int fd, uint32_t space);
int space_reset(int fd, uint32_t space);

/*
 * A local i32 ADD segment 0 at offset 0: 4 rows of 64 bytes, packed, tiles of 2 rows
 * x 32 bytes, one update.
 */
struct drm_t3_segment_map raw_segment(const struct raw *raw);
#define RAW_SEGMENT_BYTES 256u
int raw_map(const struct raw *raw, const struct drm_t3_segment_map *segment);
/* Map raw_segment(). The test fails when that fails. */
void raw_map_local(const struct raw *raw);
int raw_unmap_segment(const struct raw *raw, uint32_t segment);
int raw_stage(const struct raw *raw, uint32_t segment, uint32_t bo, uint64_t stride,
	      uint32_t slots);
int raw_stats(const struct raw *raw, uint32_t segment, struct drm_t3_space_stats *stats);
/* The first tile from `from` on that is not done; with DRM_T3_SPACE_TILE_AT that tile. */
int raw_tile(const struct raw *raw, uint32_t flags, uint32_t from, struct drm_t3_space_tile *tile);

/* Map segments of raw_segment()'s shape that send to segment target of an import. */
struct drm_t3_segment_map raw_sender(const struct raw *raw, uint32_t kind, uint32_t import,
				     uint32_t target);

int raw_export(const struct raw *raw, uint64_t segments, uint32_t ops, int *fd, uint32_t *grant);
int raw_revoke(const struct raw *raw, uint32_t grant);
int raw_import(const struct raw *raw, int fd, uint32_t *import);
/* For all ranks; grant may be NULL. */
int raw_key_export(const struct raw *raw, uint64_t segments, uint32_t ops, struct drm_t3_key *key,
		   uint32_t *grant);
int raw_key_import(const struct raw *raw, const struct drm_t3_key *key, uint32_t *import);
int raw_release_import(const struct raw *raw, uint32_t import);
/* Export all of target and import it at source. Returns the import. */
uint32_t raw_join(const struct raw *source, const struct raw *target);

void raw_arm(const struct raw *raw, uint32_t epoch);
/* Large memory, and targets on other ranks, take longer than the doorbell's access. */
void raw_arm_wait(const struct raw *raw, uint32_t epoch);
void raw_release(const struct raw *raw, uint32_t epoch);
void raw_ring_tile(const struct raw *raw, uint32_t segment, uint32_t slot, uint32_t tile);
/* 8-byte stores over a packed range of the aperture: each word is `value`. */
void raw_fill(const struct raw *raw, uint64_t offset, uint64_t bytes, uint32_t value);
/* Run one whole epoch of raw_segment(), with all checks. */
void raw_run_epoch(const struct raw *raw, uint32_t epoch);

uint32_t raw_state(const struct raw *raw);
uint32_t raw_epoch(const struct raw *raw);
int raw_wait(const struct raw *raw, uint32_t what, uint32_t epoch, uint64_t mask, int64_t deadline);
/* Wait, expect -EIO, and check the fault. */
int raw_wait_fault(const struct raw *raw, uint32_t epoch, struct drm_t3_fault *fault);

#endif /* T3_GUEST_RAW_H */
