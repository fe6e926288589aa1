/* SPDX-License-Identifier: MIT */
/*
 * A tensor-parallel GEMM with ring reduce-scatter over T3 devices: C = A * B, where
 * rank r of N owns slice r of K. C is cut into N chunks of rows; chunk c, summed
 * over the ranks, ends at rank c. One process per rank. Where the fabric has a switch, the sums
 * meet there instead: each rank sends its part of chunk c to the group of rank c. Of floats rank c
 * does so, too, so that the group adds all parts in the order of the ranks.
 */
#ifndef T3_GEMM_H
#define T3_GEMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/choice.h"
#include "t3.h"

#define GEMM_MAX_RANKS	    32u
#define GEMM_MAX_DIM	    65536u
#define GEMM_MAX_TILE	    1024u /* rows, and columns */
#define GEMM_MAX_ITERATIONS 100000u
#define GEMM_MAX_TIMEOUT_S  3600u
#define GEMM_MAX_DELAY_MS   600000u
#define GEMM_MAX_OUTPUT	    (64ull << 20)  /* elements of C */
#define GEMM_KEEP_BYTES	    (256ull << 20) /* number of results kept for the verification */
#define GEMM_NO_RANK	    UINT32_MAX

enum gemm_write {
	GEMM_WRITE_STORE,    /* tracked stores to the aperture */
	GEMM_WRITE_DOORBELL, /* fill staging memory, one doorbell per tile */
	GEMM_WRITE_GEMM,     /* the device computes, and stores itself */
	GEMM_WRITES
};

enum gemm_algorithm {
	GEMM_ALGORITHM_AUTO, /* the switch, if there is one and it saves anything */
	GEMM_ALGORITHM_RING,
	GEMM_ALGORITHM_SWITCH,
};

enum gemm_wait {
	GEMM_WAIT_AUTO,	 /* poll for 20 us, then sleep */
	GEMM_WAIT_SPIN,	 /* never sleep */
	GEMM_WAIT_SLEEP, /* sleep at once */
};

/*
 * A step is one chunk produced: number (iteration - 1) * ranks + position in the
 * rank's production order, from 0.
 */
struct gemm_config {
	uint32_t ranks;
	bool nodes;		   /* ranks are on the nodes of a cluster; else all are here */
	uint32_t node, node_count; /* with nodes: which one this is */
	uint32_t first,
		here; /* gemm_check(): the ranks of this node are first .. first + here - 1 */
	uint32_t m;   /* multiple of ranks */
	uint32_t n;
	uint32_t k;	/* multiple of ranks */
	uint32_t dtype; /* enum drm_t3_dtype */
	enum gemm_write write;
	enum gemm_wait wait;
	enum gemm_algorithm algorithm; /* as it was asked for */
	bool grouped;		       /* gemm_choose_algorithm(): sums meet in the switch */
	uint32_t iterations;
	uint32_t tile_rows; /* elements, cut to the chunk by gemm_check() */
	uint32_t tile_cols;
	uint32_t asked_rows; /* before gemm_check() cut it */
	uint32_t asked_cols;
	uint32_t timeout_s;
	uint64_t fabric_id;	     /* 0: the only fabric */
	struct device_choice choice; /* gemm_choose(): of the ranks */
	uint64_t seed;
	uint32_t delay_rank; /* sleeps for delay_ms before delay_step; GEMM_NO_RANK: none */
	uint32_t delay_step;
	uint32_t delay_ms;
	uint32_t kill_rank; /* ends itself with SIGKILL before kill_step */
	uint32_t kill_step;
};

/* Counters of one chunk at one rank, summed over the iterations. */
struct gemm_chunk_report {
	uint32_t chunk;
	uint32_t kind; /* enum drm_t3_segment_kind */
	uint64_t stores;
	uint64_t doorbells;
	uint64_t local_bytes;
	uint64_t remote_bytes;
	uint64_t triggers;
	uint64_t dma_bytes;
	uint64_t link_bytes;
	uint64_t nmc_elements;
};

/* The tracker counters depend on how the ranks interleave. All others are the same in each run. */
struct gemm_rank_report {
	struct gemm_chunk_report chunk[GEMM_MAX_RANKS]; /* in production order */
	uint64_t time_ns; /* CLOCK_MONOTONIC, first arm to last completion */
	uint64_t tracker_hit;
	uint64_t tracker_alloc;
	uint64_t tracker_spill;
	uint64_t tracker_peak; /* since the device was reset */
	uint64_t merged;       /* updates for its chunk that the switch added to others */
	uint64_t alone;	       /* that went on by themselves */
	bool ordered;	       /* they were added in the order of the ranks */
	uint64_t hash;	       /* FNV-1a/64 of its chunk, all iterations in order */
};

struct gemm_verdict {
	uint64_t checked;	/* elements compared with the reference */
	uint64_t wrong_bits;	/* elements that differ from the bits of the ring order */
	uint64_t out_of_bound;	/* elements further from the exact sum than the bound */
	double max_error;	/* of all elements checked; 0 for i32 */
	double bound;		/* where max_error was seen */
	uint32_t bad_iteration; /* first wrong element, 0: none */
	uint32_t bad_row;
	uint32_t bad_col;
};

static inline bool gemm_is_here(const struct gemm_config *cfg, uint32_t rank)
{
	return rank - cfg->first < cfg->here;
}

#define GEMM_TEXT 672

struct gemm_result {
	bool pass;		/* on another node than the first: as far as its ranks can say */
	char reason[GEMM_TEXT]; /* one sentence when not pass */
	char rank_error[GEMM_MAX_RANKS][GEMM_TEXT];   /* "" for a rank without an error */
	struct gemm_rank_report rank[GEMM_MAX_RANKS]; /* valid when all came through */
	bool complete;				      /* all came through */
	struct gemm_verdict verdict;
	uint64_t hash; /* FNV-1a/64 of the ranks' hashes in rank order */
};

/* The defaults that `t3 gemm-rs` documents. */
void gemm_defaults(struct gemm_config *cfg);

/*
 * Returns 0, or -EINVAL and one sentence in text that says what is allowed. A tile that is larger
 * than a chunk is cut to the chunk.
 */
int gemm_check(struct gemm_config *cfg, char *text, size_t size);

/*
 * Run a checked config. Returns 0 when it ran, pass or not, and a negative errno when this process
 * could not go on. The caller has no device open.
 */
int gemm_run(const struct gemm_config *cfg, struct gemm_result *result);

#endif /* T3_GEMM_H */
