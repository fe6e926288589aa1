/* SPDX-License-Identifier: MIT */
/* A device with a mapped buffer and a space over it, through libt3. */
#ifndef T3_GUEST_END_H
#define T3_GUEST_END_H

#include "guest.h"
#include "t3.h"

struct end {
	struct t3_device *dev;
	struct t3_buffer *buffer;
	struct t3_space *space;
	unsigned char *memory;
};

void end_open(struct end *end, uint32_t rank, uint64_t size, uint32_t max_tiles);
void end_close(struct end *end);

/* 7 rows of 29 elements, padded to 37, tiles of 3 x 11. */
struct t3_segment_desc end_ragged(uint32_t segment, uint32_t dtype, uint32_t op);

#endif /* T3_GUEST_END_H */
