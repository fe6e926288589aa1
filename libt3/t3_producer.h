/* SPDX-License-Identifier: MIT */
/*
 * Producers: one interface for both ways for a write to count. Part of libt3; the conventions
 * of t3.h hold, but that a producer belongs to one thread at a time.
 *
 * A producer writes one segment of a space. It counts what it was given, so that it knows which
 * tile is whole, and says which one is not when a wait ends without it.
 */
#ifndef T3_PRODUCER_H
#define T3_PRODUCER_H

#include "t3.h"

#ifdef __cplusplus
extern "C" {
#endif

struct t3_producer;

enum t3_path {
	T3_PATH_AUTO = 0,     /* by the number of stores that a tile takes */
	T3_PATH_STORE = 1,    /* tracked stores: each one is counted */
	T3_PATH_DOORBELL = 2, /* tiles are staged; each one is counted by its doorbell */
};

/* path DOORBELL: one doorbell is cheaper than more stores than this in a tile (AUTO). */
#define T3_PATH_AUTO_STORES 6

struct t3_producer_desc {
	const struct t3_segment_desc *segment; /* as it was mapped; copied */
	uint32_t path;			       /* enum t3_path */
	uint32_t pad;			       /* 0 */
	/*
	 * DOORBELL: the image of the segment that is bound as its slot 0, with offset a multiple
	 * of 8; NULL, 0: the producer makes a buffer of its own. STORE: NULL, 0.
	 */
	struct t3_buffer *staging;
	uint64_t staging_offset;
};

/*
 * The space is idle and the segment mapped; both stay so until the destroy, but for epochs. One
 * producer with DOORBELL for a segment: slot 0 is its own. AUTO takes STORE where there is no memory
 * or no staging to be had. A reset of the space takes remote and dma segments away: destroy
 * their producers and make new ones.
 * Errors: -ENOENT the segment is not mapped; -ERANGE outside the space; -EBUSY the space is not
 * idle; DOORBELL also those of t3_buffer_create(), t3_buffer_map() and t3_staging_bind().
 */
T3_API int t3_producer_create(struct t3_device *dev, struct t3_space *space,
			      const struct t3_producer_desc *desc, struct t3_producer **producer);
/*
 * Before its segment is unmapped and its space destroyed. Takes the staging away from an idle
 * space; another one keeps what it still has to read. NULL is fine.
 */
T3_API void t3_producer_destroy(struct t3_producer *producer);
/* STORE or DOORBELL: which one is used. 0: NULL. */
T3_API uint32_t t3_producer_path(const struct t3_producer *producer);

/*
 * A new epoch: all bytes are to be put again. After the epoch before is COMPLETE or the space
 * was reset, before the first put of the next; no system call, as in all that follows.
 * Errors: -EBUSY staged data of before is still to be read.
 */
T3_API int t3_producer_begin(struct t3_producer *producer);
/*
 * Put bytes of one row of the segment, while the space is armed: in any order, each byte once in an epoch.
 * With DOORBELL a tile counts as soon as all of its bytes were put; src may be changed on return.
 * Errors: -ERANGE outside the segment; -EINVAL not whole elements; -EOVERFLOW more bytes than a
 * tile has. Then nothing of the run was put.
 */
T3_API int t3_producer_put(struct t3_producer *producer, uint32_t row, uint32_t col,
			   const void *src, uint32_t bytes);
/*
 * Put a whole tile; row i of it is at src + i * src_pitch.
 * Errors: -ERANGE no such tile; -EINVAL src_pitch below the tile's rows; -EOVERFLOW as above.
 */
T3_API int t3_producer_put_tile(struct t3_producer *producer, uint64_t tile, const void *src,
				size_t src_pitch);

/* Bytes put since the begin. */
T3_API uint64_t t3_producer_bytes(const struct t3_producer *producer);
/*
 * The first tile from *tile on that is not whole, and the bytes that it lacks; bytes may be NULL.
 * Errors: -ENODATA all of them are; -ERANGE *tile is no tile.
 */
T3_API int t3_producer_missing(const struct t3_producer *producer, uint64_t *tile, uint64_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* T3_PRODUCER_H */
