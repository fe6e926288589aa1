/* SPDX-License-Identifier: MIT */
/* One rank: the child process of a job. */
#ifndef T3_GEMM_RANK_H
#define T3_GEMM_RANK_H

#include "device.h"
#include "layout.h"
#include "output.h"
#include "producer.h"
#include "shared.h"

struct rank {
	const struct gemm_config *cfg;
	struct gemm_shared *shared;
	uint32_t rank;
	int message;	  /* pipe to the parent */
	int hold;	  /* reads end of file when the parent lets the ranks end */
	int to_prev;	  /* socket on which the rank sends its grant */
	int from_next;	  /* socket on which it receives the next rank's grant */
	int64_t deadline; /* for waits: CLOCK_MONOTONIC */

	struct gemm_layout layout;
	uint32_t order[GEMM_MAX_RANKS];
	struct t3_device *dev;
	struct t3_buffer *buffer;
	struct t3_buffer *staging; /* doorbell path */
	struct t3_space *space;
	uint32_t import;		  /* of the next rank */
	uint32_t group;			  /* of the switch, for the own chunk; 0: none */
	uint32_t imports[GEMM_MAX_RANKS]; /* of the groups, by chunk */
	struct t3_comm *comm;		  /* of all nodes' ranks; NULL: all are here */
	const unsigned char *result;	  /* own chunk in the mapped buffer */
	struct drm_t3_counters before;
	struct producer producer;
	struct tile_output output;
	struct device_producer device; /* replaces the two with --write gemm */
};

/* Run it, and return the exit status. The caller has set the first seven fields. */
int rank_main(struct rank *r);

/* Make device, space, grants and segments. Returns 0, or what rank_fail() returned. */
int rank_setup(struct rank *r);

/*
 * Send the parent one sentence, with err or the space's fault in words. -ECANCELED adds no words,
 * because the sentence has the whole reason. Returns err.
 */
__attribute__((format(printf, 3, 4))) int rank_fail(struct rank *r, int err, const char *format,
						    ...);

#endif /* T3_GEMM_RANK_H */
