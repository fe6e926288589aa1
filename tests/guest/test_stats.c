// SPDX-License-Identifier: MIT
/* DRM_T3_SPACE_STATS: exact counts of a segment. */
#include <sys/mman.h>

#include "raw.h"

#define HEADER 64u /* of a packet */

/* Updates that arrive, and updates made here. */
static void check_stats(const struct raw *raw, const struct drm_t3_space_stats *want)
{
	struct drm_t3_space_stats got;

	CHECK_EQ(raw_stats(raw, 0, &got), 0);
	CHECK_EQ(got.stores, want->stores);
	CHECK_EQ(got.doorbells, want->doorbells);
	CHECK_EQ(got.local_bytes, want->local_bytes);
	CHECK_EQ(got.remote_bytes, want->remote_bytes);
	CHECK_EQ(got.triggers, want->triggers);
	CHECK_EQ(got.dma_bytes, want->dma_bytes);
	CHECK_EQ(got.link_bytes, want->link_bytes);
	CHECK_EQ(got.nmc_elements, want->nmc_elements);
	CHECK_EQ(got.tiles, want->tiles);
	CHECK_EQ(got.tiles_tracked, want->tiles_tracked);
	CHECK_EQ(got.space_state, want->space_state);
	CHECK_EQ(got.epoch, want->epoch);
	CHECK_EQ(got.generation, raw->events->generation);
}

TEST("local stores are counted exactly")
{
	struct drm_t3_space_stats want = { .tiles = 4, .space_state = DRM_T3_SPACE_IDLE };
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	check_stats(&raw, &want);
	raw_arm(&raw, 3);
	raw_fill(&raw, 0, 128, 1); /* two rows: tiles 0 and 1 */
	put32(raw.aperture + 128, 1);
	want.stores = 17;
	want.local_bytes = 132;
	want.triggers = want.tiles_tracked = 2;
	want.nmc_elements = 33;
	want.epoch = 3;
	want.space_state = DRM_T3_SPACE_ARMED;
	check_stats(&raw, &want);
	put32(raw.aperture + 132, 1);
	raw_fill(&raw, 136, 120, 1);
	want.stores = 33;
	want.local_bytes = 256;
	want.triggers = want.tiles_tracked = 4;
	want.nmc_elements = 64;
	want.space_state = DRM_T3_SPACE_COMPLETE;
	check_stats(&raw, &want);
	CHECK_EQ(space_reset(raw.fd, raw.space), 0);
	want = (struct drm_t3_space_stats){ .tiles = 4, .space_state = DRM_T3_SPACE_IDLE };
	check_stats(&raw, &want);
	raw_close(&raw);
}

/* Counts go on over epochs. tiles_tracked belongs to the current one. */
TEST("counts add up over epochs")
{
	struct drm_t3_space_stats want = { .tiles = 4 };
	struct drm_t3_segment_map segment;
	struct raw raw;

	raw_open(&raw, 0, PAGE);
	segment = raw_segment(&raw);
	segment.op = DRM_T3_OP_STORE;
	CHECK_EQ(raw_map(&raw, &segment), 0);
	raw_run_epoch(&raw, 1);
	raw_run_epoch(&raw, 2);
	raw_arm(&raw, 3);
	want.stores = 64;
	want.local_bytes = 512;
	want.triggers = 8;
	want.epoch = 3;
	want.space_state = DRM_T3_SPACE_ARMED;
	want.nmc_elements = 0; /* STORE moves bits */
	check_stats(&raw, &want);
	raw_close(&raw);
}

TEST("doorbells are counted exactly")
{
	struct drm_t3_space_stats want = { .tiles = 4, .space_state = DRM_T3_SPACE_COMPLETE };
	struct raw raw;
	uint32_t bo, i;

	raw_open(&raw, 0, PAGE);
	raw_map_local(&raw);
	CHECK_EQ(bo_create(raw.fd, PAGE, &bo), 0);
	CHECK_EQ(raw_stage(&raw, 0, bo, RAW_SEGMENT_BYTES, 1), 0);
	raw_arm(&raw, 1);
	for (i = 0; i < 4; i++)
		raw_ring_tile(&raw, 0, 0, i);
	want.doorbells = 4;
	want.local_bytes = RAW_SEGMENT_BYTES;
	want.triggers = want.tiles_tracked = 4;
	want.nmc_elements = 64;
	want.epoch = 1;
	check_stats(&raw, &want);
	raw_close(&raw);
}

/* Both ends of a remote segment, and of a dma segment. */
static void check_both_ends(uint32_t kind)
{
	struct drm_t3_space_stats sent = { .tiles = 4, .epoch = 1 }, got = sent;
	struct drm_t3_segment_map segment;
	struct raw source, target;
	bool dma = kind == DRM_T3_SEGMENT_DMA;

	raw_open(&source, 0, PAGE);
	raw_open(&target, 1, PAGE);
	raw_map_local(&target);
	segment = raw_sender(&source, kind, raw_join(&source, &target), 0);
	CHECK_EQ(raw_map(&source, &segment), 0);
	raw_arm(&target, 1);
	raw_arm(&source, 1);
	raw_fill(&source, 0, RAW_SEGMENT_BYTES, 5);
	CHECK_EQ(raw_wait(&target, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	CHECK_EQ(raw_wait(&source, DRM_T3_WAIT_DELIVERED, 1, 0, after_ms(5000)), 0);
	sent.stores = 32;
	sent.local_bytes = RAW_SEGMENT_BYTES;
	sent.triggers = sent.tiles_tracked = 4;
	sent.dma_bytes = dma ? RAW_SEGMENT_BYTES : 0;
	/* A remote store is a packet, a dma tile one for each of its two rows. */
	sent.link_bytes = RAW_SEGMENT_BYTES + (dma ? 8 : 32) * HEADER;
	sent.nmc_elements = dma ? 64 : 0;
	sent.space_state = DRM_T3_SPACE_COMPLETE;
	check_stats(&source, &sent);
	got.remote_bytes = RAW_SEGMENT_BYTES;
	got.triggers = got.tiles_tracked = 4;
	got.nmc_elements = 64;
	got.space_state = DRM_T3_SPACE_COMPLETE;
	check_stats(&target, &got);
	raw_close(&source);
	raw_close(&target);
}

TEST("remote updates are counted at both ends")
{
	check_both_ends(DRM_T3_SEGMENT_REMOTE);
}

TEST("DMA updates are counted at both ends")
{
	check_both_ends(DRM_T3_SEGMENT_DMA);
}

/* Names for traces: unique among the spaces that live. */
TEST("hardware ids of spaces differ")
{
	struct drm_t3_space_stats a, b;
	struct raw one, two;

	raw_open(&one, 0, PAGE);
	raw_open(&two, 0, PAGE);
	raw_map_local(&one);
	raw_map_local(&two);
	CHECK_EQ(raw_stats(&one, 0, &a), 0);
	CHECK_EQ(raw_stats(&two, 0, &b), 0);
	CHECK(a.hw_space != b.hw_space);
	raw_close(&one);
	raw_close(&two);
}
