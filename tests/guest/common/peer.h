/* SPDX-License-Identifier: MIT */
/*
 * Two processes on two devices. The parent on rank 0 sends to the child on rank 1. Its four
 * segments together cover the child's one, with another tiling.
 */
#ifndef T3_GUEST_PEER_H
#define T3_GUEST_PEER_H

#include "child.h"
#include "job.h"

struct peer_case {
	uint32_t kind; /* of the parent's segments: REMOTE or DMA */
	uint32_t dtype;
	uint32_t op;
	enum path path;
};

/* Three epochs, with all checks at both ends. */
void peer_run(const struct peer_case *c);
/* The same for each type and both write paths. */
void peer_run_all(uint32_t kind, uint32_t op);

#endif /* T3_GUEST_PEER_H */
