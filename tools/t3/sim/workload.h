/* SPDX-License-Identifier: MIT */
/* A Transformer's sub-layers as workloads of the timed model. */
#ifndef T3_SIM_WORKLOAD_H
#define T3_SIM_WORKLOAD_H

#include "t3_timed.h"

#define SIM_NAME_SIZE 64u
#define SIM_WHY_SIZE  256u

/*
 * Forward OP and FC-2, backward FC-1 and IP. K is a multiple of hidden. It is sliced over the ranks
 * if the collective sums, else each rank has all of it.
 */
enum sim_sublayer { SIM_OP, SIM_FC2, SIM_FC1, SIM_IP, SIM_SUBLAYERS };

#define SIM_MAX_HIDDEN ((uint64_t)1 << 24) /* hidden, tokens */
#define SIM_MAX_DEPTH  ((uint64_t)1 << 30) /* K of all ranks */

struct sim_workload {
	char model[SIM_NAME_SIZE];
	uint64_t hidden, tokens, tp;
	uint64_t element_bytes;
	enum sim_sublayer sublayer;
	enum t3_timed_collective collective;
	uint64_t message; /* bytes that a collective alone works on; 0: a sub-layer */
	uint64_t nodes;	  /* 0 or 1: none */
	uint64_t depth;	  /* K of all ranks; 0: that of the sub-layer */
	const char *part; /* the GEMM's name; NULL: that of the sub-layer */
	bool by_rows;	  /* the chunks are rows, whatever the setup says */
	/* Of a model with all sub-layers, for its iterations; 0: it has none. */
	uint64_t layers, heads, sequence;
};

/* Of a message. */
#define SIM_MESSAGE_MIN ((uint64_t)64 << 10)
#define SIM_MESSAGE_MAX ((uint64_t)1 << 30)

/* A message's collective, else the part, "gemm" if the depth is given, or the sub-layer. */
const char *sim_workload_part(const struct sim_workload *workload);
/* "op", "fc2", "fc1", "ip" */
const char *sim_sublayer_name(enum sim_sublayer sublayer);
bool sim_sublayer_parse(const char *text, enum sim_sublayer *sublayer);
/* The types that --dtype takes, as an error has them. */
#define SIM_DTYPES "f16, bf16, f32, f64, i8, u8, i32, u32, i64 or u64"
bool sim_dtype_parse(const char *text, uint64_t *element_bytes);
/* all-reduce, reduce-scatter, all-gather, all-to-all */
bool sim_collective_parse(const char *text, enum t3_timed_collective *collective);
/* Bytes, with K, M or G for KiB, MiB or GiB, from SIM_MESSAGE_MIN to SIM_MESSAGE_MAX. */
bool sim_message_parse(const char *text, uint64_t *bytes);
/* auto, rows, columns */
bool sim_chunks_parse(const char *text, enum t3_timed_chunks *chunks);

/* The bytes that all chunks of a device's output have together, with their padding. */
uint64_t sim_buffer_bytes(const struct t3_timed_setup *setup);

/*
 * Keeps the setup's chunks; a message is cut in rows. False: `why`, of SIM_WHY_SIZE bytes, is a sentence that names the
 * field.
 */
bool sim_workload_setup(const struct sim_workload *workload, struct t3_timed_setup *setup,
			char *why);

#endif /* T3_SIM_WORKLOAD_H */
