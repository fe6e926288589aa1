/* SPDX-License-Identifier: MIT */
/*
 * Producers: one interface for both ways for a write to count. This is part of libt3. The rules of
 * t3.h hold, but a producer belongs to one thread at a time.
 *
 * A producer writes one segment of a space. It counts the bytes that it was given, so it knows
 * which tiles are whole. When a wait times out, it can name the tile that is not.
 */
#ifndef T3_PRODUCER_H
#define T3_PRODUCER_H

#include "t3.h"

#ifdef __cplusplus
extern "C" {
#endif

struct t3_producer;

enum t3_path {
	T3_PATH_AUTO = 0,     /* by the number of stores in a tile */
	T3_PATH_STORE = 1,    /* each store is tracked and counted */
	T3_PATH_DOORBELL = 2, /* a tile is staged, and one doorbell counts it */
};

/* AUTO takes DOORBELL when a tile needs more stores than this. */
#define T3_PATH_AUTO_STORES 6

struct t3_producer_desc {
	const struct t3_segment_desc *segment; /* as it was mapped; the producer copies it */
	uint32_t path;			       /* enum t3_path */
	uint32_t pad;			       /* 0 */
	/*
	 * DOORBELL: the image of the segment that is bound as its slot 0. The offset is a multiple
	 * of 8. With NULL and 0 the producer makes a buffer of its own. STORE: NULL and 0.
	 */
	struct t3_buffer *staging;
	uint64_t staging_offset;
};

/*
 * Create a producer for a mapped segment of an idle space. Until the destroy the segment stays
 * mapped, and the space leaves IDLE only for epochs. A segment has at most one producer with
 * DOORBELL, which uses slot 0. AUTO takes STORE when there is no memory or no staging left. A reset
 * of the space removes remote and dma segments: destroy their producers and make new ones.
 * Errors: -ENOENT: the segment is not mapped. -ERANGE: outside the space. -EBUSY: the space is not
 * idle. DOORBELL also has those of t3_buffer_create(), t3_buffer_map() and t3_staging_bind().
 */
T3_API int t3_producer_create(struct t3_device *dev, struct t3_space *space,
			      const struct t3_producer_desc *desc, struct t3_producer **producer);
/*
 * Destroy a producer, before its segment is unmapped and its space destroyed. An idle space loses
 * the staging. Another one keeps the staged data that it still has to read. NULL is allowed.
 */
T3_API void t3_producer_destroy(struct t3_producer *producer);
/* Return the path in use, STORE or DOORBELL. Returns 0 for NULL. */
T3_API uint32_t t3_producer_path(const struct t3_producer *producer);

/*
 * Begin a new epoch: all bytes are to be put again. Call it after the last epoch is COMPLETE or the
 * space was reset, and before the first put of the next one. This function and the following ones
 * make no system call.
 * Errors: -EBUSY: the device still has to read staged data of the last epoch.
 */
T3_API int t3_producer_begin(struct t3_producer *producer);
/*
 * Put bytes of one row of the segment, while the space is armed. The order is free, but each byte
 * is put once in an epoch. With DOORBELL a tile counts as soon as all its bytes were put. src may
 * be changed after the call.
 * Errors: -ERANGE: outside the segment. -EINVAL: not whole elements. -EOVERFLOW: more bytes than a
 * tile has. After an error nothing of this call was put.
 */
T3_API int t3_producer_put(struct t3_producer *producer, uint32_t row, uint32_t col,
			   const void *src, uint32_t bytes);
/*
 * Put a whole tile. Row i of it is at src + i * src_pitch.
 * Errors: -ERANGE: no such tile. -EINVAL: src_pitch is below the tile's row. -EOVERFLOW as above.
 */
T3_API int t3_producer_put_tile(struct t3_producer *producer, uint64_t tile, const void *src,
				size_t src_pitch);

/* Return the number of bytes put since the begin. */
T3_API uint64_t t3_producer_bytes(const struct t3_producer *producer);
/*
 * Find the first tile from *tile on that is not whole, and the number of bytes that it lacks. bytes
 * may be NULL.
 * Errors: -ENODATA: all tiles are whole. -ERANGE: *tile is no tile.
 */
T3_API int t3_producer_missing(const struct t3_producer *producer, uint64_t *tile, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* T3_PRODUCER_H */
