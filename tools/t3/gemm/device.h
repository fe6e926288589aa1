/* SPDX-License-Identifier: MIT */
/* The device as the producer: its slices of A and B, and a queue that multiplies them. */
#ifndef T3_GEMM_DEVICE_H
#define T3_GEMM_DEVICE_H

#include "layout.h"
#include "producer.h"

struct device_producer {
	const struct t3_space *space;
	const struct gemm_layout *layout;
	uint32_t dtype, cols, depth, tile_rows, tile_cols;
	uint64_t b_offset; /* in operands, where A is at 0 */
	struct t3_buffer *operands;
	unsigned char *memory;
	struct t3_queue *queue;
};

/*
 * The caller has set space and layout. The shapes are those of a producer that is ready. Returns a
 * negative errno; -EOPNOTSUPP: the device has no GEMM. device_fini() frees what exists.
 */
int device_init(struct device_producer *d, struct t3_device *dev, const struct producer *p);
void device_fini(struct device_producer *d);

/* Store the producer's inputs in the operands, in the dtype. */
void device_fill(struct device_producer *d, const struct producer *p);

/* Compute a chunk of the partial product into the space. Returns 0, or the job's error. */
int device_chunk(struct device_producer *d, uint32_t chunk, int64_t deadline_ns);

#endif /* T3_GEMM_DEVICE_H */
