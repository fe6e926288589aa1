// SPDX-License-Identifier: MIT
/* DMA segments: a tile goes to the peer when its count is reached. */
#include <sys/mman.h>

#include "peer.h"
#include "raw.h"

TEST("DMA segments deliver STORE updates")
{
	peer_run_all(DRM_T3_SEGMENT_DMA, DRM_T3_OP_STORE);
}

TEST("DMA segments deliver ADD updates")
{
	peer_run_all(DRM_T3_SEGMENT_DMA, DRM_T3_OP_ADD);
}

TEST("DMA segments deliver MIN updates")
{
	peer_run_all(DRM_T3_SEGMENT_DMA, DRM_T3_OP_MIN);
}

TEST("DMA segments deliver MAX updates")
{
	peer_run_all(DRM_T3_SEGMENT_DMA, DRM_T3_OP_MAX);
}

/* Nothing of a tile is sent before its last byte, and then this tile alone. */
TEST("a tile is sent after its last byte, and alone")
{
	struct drm_t3_segment_map segment;
	volatile uint32_t *memory;
	struct raw source, target;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	segment = raw_sender(&source, DRM_T3_SEGMENT_DMA, raw_join(&source, &target), 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	raw_arm(&target, 1);
	raw_arm_wait(&source, 1);
	memory = (volatile uint32_t *)target.memory;
	raw_fill(&source, 0, 32, 5);
	raw_fill(&source, 64, 24, 5);
	CHECK_EQ(memory[0], 0);
	raw_fill(&source, 64 + 24, 8, 5);
	CHECK_EQ(memory[0], 5);
	CHECK_EQ(memory[16 + 7], 5);
	CHECK_EQ(memory[8], 0);
	CHECK_EQ(memory[32], 0);
	/* The source keeps its own copy, readable through the aperture. */
	CHECK_EQ(*(volatile uint32_t *)source.aperture, 5);
	raw_close(&source);
	raw_close(&target);
}

/* A -> B -> C: B adds its own update, tile by tile, and sends the sum on. */
TEST("a chain of three adds up tile by tile")
{
	struct drm_t3_segment_map segment;
	struct raw space[3];
	uint32_t i, epoch;

	if (guest_ranks() < 3)
		skip();
	for (i = 0; i < 3; i++)
		raw_open(&space[i], i, PAGE);
	for (i = 3; i-- > 0;) {
		segment = raw_segment(&space[i]);
		if (i < 2)
			segment = raw_sender(&space[i], DRM_T3_SEGMENT_DMA,
					     raw_join(&space[i], &space[i + 1]), 0);
		segment.updates = i ? 2 : 1;
		CHECK_EQ(raw_map(&space[i], &segment), 0);
	}
	for (epoch = 1; epoch <= 3; epoch++) {
		for (i = 3; i-- > 0;)
			raw_arm_wait(&space[i], epoch);
		/* The last ranks first: they wait for the others' tiles. */
		for (i = 3; i-- > 0;)
			raw_fill(&space[i], 0, RAW_SEGMENT_BYTES, epoch << (8 * i));
		for (i = 0; i < 3; i++)
			CHECK_EQ(raw_wait(&space[i], DRM_T3_WAIT_DELIVERED, epoch, 0,
					  after_ms(5000)),
				 0);
		for (i = 0; i < RAW_SEGMENT_BYTES / 4; i++)
			CHECK_EQ(((volatile uint32_t *)space[2].memory)[i], 0x10101 * epoch);
		for (i = 0; i < 3; i++)
			raw_release(&space[i], epoch);
	}
	for (i = 0; i < 3; i++)
		raw_close(&space[i]);
}

/* 4096 packets: the work takes longer than one access of the CPU. */
TEST("large tiles arrive although they take longer than an access")
{
	const uint64_t size = 4 << 20;
	struct drm_t3_segment_map segment;
	struct raw source, target;
	uint32_t bo, i, *image;

	raw_open(&source, 0, size);
	raw_open(&target, 1, size);
	segment = raw_segment(&target);
	segment.rows = 1024;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = 4096;
	segment.tile_rows = 256;
	CHECK_EQ(raw_map(&target, &segment), 0);
	segment.space = source.space;
	segment.kind = DRM_T3_SEGMENT_DMA;
	segment.import = raw_join(&source, &target);
	segment.target_op = DRM_T3_OP_ADD;
	CHECK_EQ(raw_map(&source, &segment), 0);
	CHECK_EQ(bo_create(source.fd, size, &bo), 0);
	CHECK_EQ(raw_stage(&source, 0, bo, size, 1), 0);
	image = bo_map(source.fd, bo, size);
	for (i = 0; i < size / 4; i++)
		image[i] = i * 2654435761u;
	raw_arm(&target, 1);
	raw_arm_wait(&source, 1);
	for (i = 0; i < 4; i++)
		raw_ring_tile(&source, 0, 0, i);
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(20000)), 0);
	CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(20000)), 0);
	CHECK(memcmp(target.memory, image, size) == 0);
	munmap(image, size);
	raw_close(&source);
	raw_close(&target);
}

/* Two spaces of rank 1, bytes, three tiles a block: both get a block, or none does. */
TEST("a block for several targets goes to both or to none")
{
	struct drm_t3_segment_map segment;
	struct raw source, target[2];
	uint32_t imports[2], i;

	raw_open(&source, 0, PAGE);
	for (i = 0; i < 2; i++) {
		raw_open(&target[i], 1, PAGE);
		segment = raw_segment(&target[i]);
		segment.dtype = DRM_T3_U8;
		segment.op = DRM_T3_OP_STORE;
		CHECK_EQ(raw_map(&target[i], &segment), 0);
		imports[i] = raw_join(&source, &target[i]);
	}
	segment = raw_sender(&source, DRM_T3_SEGMENT_DMA, imports[0], 0);
	segment.dtype = DRM_T3_U8;
	segment.op = DRM_T3_OP_STORE;
	CHECK_EQ(raw_map(&source, &segment), -ERANGE); /* adds bytes at a target that stores them */
	segment.target_op = DRM_T3_OP_STORE;
	segment.block_tiles = 257;
	CHECK_EQ(raw_map(&source, &segment), -EINVAL);
	segment.block_tiles = 3;
	segment.import_count = 1;
	CHECK_EQ(raw_map(&source, &segment), -EINVAL); /* no pointer */
	segment.imports = 8;
	CHECK_EQ(raw_map(&source, &segment), -EFAULT);
	segment.imports = (uintptr_t)&imports[0]; /* twice the same */
	CHECK_EQ(raw_map(&source, &segment), -EINVAL);
	segment.import_count = 32;
	CHECK_EQ(raw_map(&source, &segment), -EINVAL);
	segment.imports = (uintptr_t)&imports[1];
	segment.import_count = 1;
	CHECK_EQ(raw_map(&source, &segment), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(raw_release_import(&source, imports[i]), -EBUSY);
		raw_arm(&target[i], 1);
	}
	raw_arm_wait(&source, 1);
	for (i = 0; i < RAW_SEGMENT_BYTES; i++) {
		if (i == 3 * 64) /* tiles 0 and 1 are whole, 2 and 3 are not */
			CHECK_EQ(target[0].memory[0] | target[1].memory[0], 0);
		*(volatile uint8_t *)(source.aperture + i) = (uint8_t)(i * 7 + 1);
	}
	CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	for (i = 0; i < 2; i++) {
		CHECK_EQ(raw_wait(&target[i], DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
		CHECK(memcmp((void *)target[i].memory, (void *)source.memory, RAW_SEGMENT_BYTES) ==
		      0);
		raw_close(&target[i]);
	}
	CHECK_EQ(source.memory[9], 9 * 7 + 1);
	raw_close(&source);
}
