/* SPDX-License-Identifier: MIT */
/* Memory that parent and ranks share, and the FNV-1a hash of results. */
#ifndef T3_GEMM_SHARED_H
#define T3_GEMM_SHARED_H

#include <stdatomic.h>

#include "layout.h"

enum gemm_phase {
	PHASE_START,
	PHASE_SETUP,
	PHASE_GRANT,  /* waits for the next rank's grant */
	PHASE_ARMING, /* waits until the space is armed */
	PHASE_PRODUCE,
	PHASE_DELIVERY, /* waits for all its chunks */
	PHASE_DONE,
};

struct gemm_shared_rank {
	_Atomic uint32_t phase; /* enum gemm_phase */
	_Atomic uint32_t step;	/* valid in ARMING, PRODUCE and DELIVERY */
	_Atomic uint32_t keyed; /* key is there: of its group, for each other rank */
	struct t3_key key[GEMM_MAX_RANKS];
	struct gemm_rank_report report;
};

struct gemm_shared {
	struct gemm_shared_rank rank[GEMM_MAX_RANKS];
	struct gemm_verdict verdict[2]; /* of the verifying processes */
	uint64_t bytes;			/* of this mapping */
	uint64_t slot_bytes;		/* one iteration's results: ranks * chunk_bytes */
	uint32_t slots;
	unsigned char results[] __attribute__((aligned(64)));
};

/* Map it, with room for all iterations' results or for two. NULL: no memory. */
struct gemm_shared *shared_create(const struct gemm_config *cfg);
void shared_destroy(struct gemm_shared *shared);

/* The place of a chunk's result, or NULL when that iteration is not kept. */
unsigned char *shared_result(struct gemm_shared *shared, const struct gemm_config *cfg,
			     uint32_t iteration, uint32_t chunk);

#define FNV_START 0xcbf29ce484222325ull

uint64_t fnv1a(uint64_t hash, const void *data, size_t size);

#endif /* T3_GEMM_SHARED_H */
