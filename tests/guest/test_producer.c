// SPDX-License-Identifier: MIT
/* Producers: stores and doorbells give the same bytes, counts and events, of any type and shape. */
#include "end.h"
#include "t3_producer.h"

#define SIZE	 16384u
#define IMAGE	 4096u
#define DEADLINE t3_deadline(10000000000)

static const uint32_t both[] = { T3_PATH_STORE, T3_PATH_DOORBELL };

static struct t3_producer *create(const struct end *end, const struct t3_segment_desc *desc,
				  uint32_t path)
{
	struct t3_producer_desc arg = { .segment = desc, .path = path };
	struct t3_producer *p = NULL;

	CHECK_EQ(t3_producer_create(end->dev, end->space, &arg, &p), 0);
	CHECK_EQ(t3_producer_path(p), path);
	return p;
}

/* Small values, which every type adds without rounding. */
static void fill(unsigned char *image, uint32_t dtype, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < IMAGE / 4; i++) {
		uint32_t k = 1 + (i * 7 + seed) % 100;
		float f = (float)k;

		if (dtype == DRM_T3_F32)
			memcpy(image + i * 4, &f, 4);
		else
			memcpy(image + i * 4, &(uint32_t){ k }, 4);
	}
}

/* Whole tiles from the last one down, except two, which come as elements and runs, interleaved. */
static void put_all(struct t3_producer *p, const struct t3_segment_desc *desc,
		    const unsigned char *image)
{
	uint32_t size = t3_dtype_bytes(desc->dtype), row, col;
	struct t3_tile tile;
	uint64_t i;

	for (i = t3_desc_tiles(desc) - 1; i >= 2; i--) {
		CHECK_EQ(t3_desc_tile(desc, i, &tile), 0);
		CHECK_EQ(t3_producer_put_tile(p, i, image + tile.offset, desc->pitch), 0);
	}
	for (col = 0; col < 5 * size; col += size) {
		for (row = 0; row < desc->tile_rows; row++)
			CHECK_EQ(t3_producer_put(p, row, col, image + row * desc->pitch + col,
						 size),
				 0);
	}
	for (row = 0; row < desc->tile_rows; row++)
		CHECK_EQ(t3_producer_put(p, row, col, image + row * desc->pitch + col,
					 2 * desc->tile_row_bytes - col),
			 0);
	CHECK_EQ(t3_producer_missing(p, &(uint64_t){ 0 }, NULL), -ENODATA);
	CHECK_EQ(t3_producer_bytes(p), (uint64_t)desc->rows * desc->row_bytes);
}

static void check_rows(const struct end *end, const struct t3_segment_desc *desc,
		       const unsigned char *image)
{
	uint32_t row;

	for (row = 0; row < desc->rows; row++)
		CHECK_EQ(memcmp(end->memory + desc->offset + row * desc->pitch,
				image + row * desc->pitch, desc->row_bytes),
			 0);
}

static void check_counts(const struct end *end, const struct t3_segment_desc *desc, uint32_t path,
			 uint32_t epochs)
{
	uint64_t tiles = t3_desc_tiles(desc);
	struct drm_t3_space_stats stats;

	CHECK_EQ(t3_segment_stats(end->space, desc->segment, &stats), 0);
	CHECK_EQ(stats.triggers, epochs * tiles);
	CHECK_EQ(stats.doorbells, path == T3_PATH_DOORBELL ? epochs * tiles : 0);
	CHECK_EQ(!stats.stores, path == T3_PATH_DOORBELL);
	CHECK_EQ(t3_slot_consumed(end->space, desc->segment, 0), stats.doorbells);
}

static void run_local(uint32_t dtype, uint32_t path)
{
	struct t3_segment_desc desc = end_ragged(3, dtype, DRM_T3_OP_STORE);
	unsigned char image[IMAGE];
	struct t3_producer *p;
	struct end end;
	uint32_t epoch;

	end_open(&end, 0, SIZE, 512);
	CHECK_EQ(t3_local_map(end.space, &desc), 0);
	p = create(&end, &desc, path);
	for (epoch = 1; epoch <= 3; epoch++) {
		fill(image, dtype, epoch);
		CHECK_EQ(t3_producer_begin(p), 0);
		CHECK_EQ(t3_arm(end.space, epoch), 0);
		CHECK_EQ(t3_wait_armed(end.space, epoch, DEADLINE), 0);
		put_all(p, &desc, image);
		CHECK_EQ(t3_wait(end.space, epoch, 0, T3_DELIVERED, DEADLINE), 0);
		check_rows(&end, &desc, image);
		CHECK_EQ(t3_release(end.space, epoch), 0);
	}
	check_counts(&end, &desc, path, 3);
	t3_producer_destroy(p);
	end_close(&end);
}

TEST("both paths give the same bytes in each type")
{
	uint32_t dtype, i;

	for (dtype = DRM_T3_I32; dtype <= DRM_T3_F64; dtype++) {
		for (i = 0; i < 2; i++)
			run_local(dtype, both[i]);
	}
}

/* The last tile completes the segment, on both paths. */
TEST("the last tile completes the segment on both paths")
{
	struct t3_segment_desc desc = end_ragged(3, DRM_T3_F32, DRM_T3_OP_ADD);
	unsigned char image[IMAGE];
	enum drm_t3_space_state now;
	struct t3_producer *p;
	struct end end;
	uint64_t tile;
	uint32_t i;

	desc.init = DRM_T3_INIT_IDENTITY;
	for (i = 0; i < 2; i++) {
		end_open(&end, 0, SIZE, 512);
		CHECK_EQ(t3_local_map(end.space, &desc), 0);
		p = create(&end, &desc, both[i]);
		fill(image, desc.dtype, 9);
		CHECK_EQ(t3_arm(end.space, 1), 0);
		for (tile = 1; tile < t3_desc_tiles(&desc); tile++)
			CHECK_EQ(t3_producer_put_tile(p, tile, image, desc.pitch), 0);
		/* All but the last element of tile 0. */
		CHECK_EQ(t3_producer_put(p, 0, 0, image, 44), 0);
		CHECK_EQ(t3_producer_put(p, 1, 0, image, 44), 0);
		CHECK_EQ(t3_producer_put(p, 2, 0, image, 40), 0);
		CHECK_EQ(t3_wait(end.space, 1, 1u << 3, T3_TRACKED, 0), -ETIMEDOUT);
		tile = 0;
		CHECK_EQ(t3_producer_missing(p, &tile, NULL), 0);
		CHECK_EQ(tile, 0);
		CHECK_EQ(t3_producer_put(p, 2, 40, image, 4), 0);
		CHECK_EQ(t3_wait(end.space, 1, 1u << 3, T3_TRACKED, 0), 0);
		CHECK_EQ(t3_poll_state(end.space, &now, NULL), 0);
		CHECK_EQ(now, DRM_T3_SPACE_COMPLETE);
		check_counts(&end, &desc, both[i], 1);
		t3_producer_destroy(p);
		end_close(&end);
	}
}

/* To a peer: stores at once and staged tiles of a remote segment, and a dma segment's blocks. */
static void run_peer(bool dma, uint32_t path)
{
	struct t3_segment_desc desc = end_ragged(3, DRM_T3_F16, DRM_T3_OP_STORE), sent = desc;
	struct t3_target target = { .op = DRM_T3_OP_STORE, .segment = desc.segment };
	unsigned char image[IMAGE];
	struct end source, sink;
	struct t3_producer *p;
	uint32_t grant, epoch;
	int fd;

	end_open(&source, 0, SIZE, 512);
	end_open(&sink, 1, SIZE, 512);
	CHECK_EQ(t3_local_map(sink.space, &desc), 0);
	CHECK_EQ(t3_grant_export(sink.space, 1u << 3, 1u << DRM_T3_OP_STORE, &fd, &grant), 0);
	CHECK_EQ(t3_grant_import(source.space, fd, &target.import, NULL), 0);
	close(fd);
	CHECK_EQ(dma ? t3_dma_map(source.space, &sent, &target)
		     : t3_remote_map(source.space, &sent, &target),
		 0);
	p = create(&source, &sent, path);
	/* The image is filled again at once. The device has read it when the epoch is COMPLETE. */
	for (epoch = 1; epoch <= 20; epoch++) {
		fill(image, DRM_T3_I32, epoch);
		CHECK_EQ(t3_producer_begin(p), 0);
		CHECK_EQ(t3_arm(sink.space, epoch), 0);
		CHECK_EQ(t3_arm(source.space, epoch), 0);
		CHECK_EQ(t3_wait_armed(source.space, epoch, DEADLINE), 0);
		put_all(p, &sent, image);
		CHECK_EQ(t3_wait(source.space, epoch, 0, T3_DELIVERED, DEADLINE), 0);
		CHECK_EQ(t3_release(source.space, epoch), 0);
		CHECK_EQ(t3_wait(sink.space, epoch, 0, T3_DELIVERED, DEADLINE), 0);
		check_rows(&sink, &desc, image);
		CHECK_EQ(t3_release(sink.space, epoch), 0);
	}
	check_counts(&source, &sent, path, 20);
	t3_producer_destroy(p);
	end_close(&source);
	end_close(&sink);
}

TEST("producers reach a peer on both paths")
{
	uint32_t i;

	for (i = 0; i < 4; i++)
		run_peer(i & 1, both[i >> 1]);
}

/* After a reset a local segment's producer goes on. */
TEST("a local segment's producer goes on after a reset")
{
	struct t3_segment_desc desc = end_ragged(3, DRM_T3_I32, DRM_T3_OP_STORE);
	unsigned char image[IMAGE];
	struct t3_producer *p;
	struct end end;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		end_open(&end, 0, SIZE, 512);
		CHECK_EQ(t3_local_map(end.space, &desc), 0);
		p = create(&end, &desc, both[i]);
		fill(image, desc.dtype, 3);
		CHECK_EQ(t3_arm(end.space, 1), 0);
		CHECK_EQ(t3_producer_put_tile(p, 4, image, desc.pitch), 0);
		CHECK_EQ(t3_space_reset(end.space), 0);
		CHECK_EQ(t3_producer_begin(p), 0);
		CHECK_EQ(t3_arm(end.space, 1), 0);
		put_all(p, &desc, image);
		CHECK_EQ(t3_wait(end.space, 1, 0, T3_DELIVERED, DEADLINE), 0);
		check_rows(&end, &desc, image);
		CHECK_EQ(t3_producer_begin(p), 0);
		t3_producer_destroy(p);
		end_close(&end);
	}
}

/* Destroying the producer removes its staging from an idle space. A faulted space keeps it. */
TEST("staging comes and goes with its producer")
{
	struct t3_segment_desc desc = end_ragged(3, DRM_T3_I32, DRM_T3_OP_STORE);
	struct t3_producer *p;
	struct end end;
	uint64_t before;

	end_open(&end, 0, SIZE, 512);
	CHECK_EQ(t3_local_map(end.space, &desc), 0);
	before = memory_free(0);
	p = create(&end, &desc, T3_PATH_DOORBELL);
	CHECK_EQ(memory_free(0), before - PAGE);
	t3_producer_destroy(p);
	CHECK_EQ(memory_free(0), before);
	p = create(&end, &desc, T3_PATH_DOORBELL);
	CHECK_EQ(t3_release(end.space, 7), 0); /* BAD_ARM */
	CHECK_EQ(t3_wait_armed(end.space, 7, DEADLINE), -EIO);
	t3_producer_destroy(p);
	CHECK_EQ(t3_space_reset(end.space), 0);
	p = create(&end, &desc, T3_PATH_DOORBELL);
	CHECK_EQ(memory_free(0), before - PAGE);
	t3_producer_destroy(p);
	CHECK_EQ(memory_free(0), before);
	end_close(&end);
}
