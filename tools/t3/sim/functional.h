/* SPDX-License-Identifier: MIT */
/*
 * A rank's part in a functional run, as its record shows it, and the workload of `t3 sim
 * --workload` that follows from it. SPEC.md section 14 has the record.
 *
 * An epoch of a space is a collective, a product, or both. Which one it is follows from the segments
 * and routes of all ranks that it is connected with: flow.c.
 */
#ifndef T3_SIM_FUNCTIONAL_H
#define T3_SIM_FUNCTIONAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/replay.h"

/* A space's segments and routes, in consecutive epochs of a generation. */
struct sim_layout {
	uint32_t rank, space, generation;
	uint32_t first_epoch, last_epoch;
	uint32_t done_epoch; /* the last one that was completed; 0: none */
	uint64_t local;	     /* bytes that the rank itself put there in a completed epoch */
	uint64_t used;	     /* the segments, as a bit mask */
	uint64_t put;	     /* segments that the rank put some of its own into */
	struct sim_layout_segment {
		uint32_t kind, op, dtype, updates, rows, row_bytes, routes, target_segment;
	} segment[T3_SPACE_SEGMENTS];
	struct sim_layout_route {
		bool used;
		uint32_t rank, space, generation;
	} route[T3_SPACE_ROUTES];
};

/* The maker of the rank's own part of an epoch. */
enum sim_maker {
	SIM_MADE_BY_NOTHING, /* the rank had no part */
	SIM_MADE_BY_STORES,  /* of the program: a product, or data that it had */
	SIM_MADE_BY_COPIES,  /* a queue's: data that was there before */
	SIM_MADE_BY_GEMM,    /* a queue's: m, n and k are known */
	SIM_MADE_BY_SEVERAL, /* these in one epoch */
};

/* Epochs of a layout that were alike. */
struct sim_output {
	const struct sim_layout *layout;
	enum sim_maker maker;
	uint32_t dtype;	  /* of the GEMM */
	uint64_t m, n, k; /* 0: not known. Without a GEMM m and n are the rows of the segments. */
	uint64_t count;
};

/* A queue's command without a space: a product, or bytes of device memory. */
struct sim_command {
	uint32_t opcode, dtype;
	uint64_t m, n, k; /* of a GEMM */
	uint64_t bytes;	  /* that others read and write */
	uint64_t count;
};

struct sim_functional {
	uint32_t rank, ranks;
	bool complete;	     /* the record is */
	uint64_t incomplete; /* epochs of the rank that did not complete */
	uint64_t failed;     /* commands */
	uint64_t late;	     /* commands into a space whose epoch was over */
	uint64_t host;	     /* bytes that copies read and wrote in host memory */
	struct sim_layout **layout;
	uint32_t layouts;
	struct sim_output *output;
	uint32_t outputs;
	struct sim_command *command;
	uint32_t commands;
};

/* False: `why`, of SIM_WHY_SIZE bytes, says what is wrong. */
bool sim_functional_read(FILE *record, uint32_t rank, struct sim_functional *run, char *why);
void sim_functional_free(struct sim_functional *run);

/* Of an enum t3_dtype. */
uint32_t sim_element_bytes(uint32_t dtype);
const char *sim_torch_name(uint32_t dtype);

/* ------------------------------------------------------------------- flow.c */

enum sim_flow_kind {
	SIM_FLOW_NONE, /* the output stays on its rank */
	SIM_FLOW_ALL_REDUCE,
	SIM_FLOW_REDUCE_SCATTER,
	SIM_FLOW_REDUCE,
	SIM_FLOW_ALL_GATHER,
	SIM_FLOW_BROADCAST,
	SIM_FLOW_SCATTER,
	SIM_FLOW_ALL_TO_ALL,
	SIM_FLOW_OTHER, /* `why` says it */
};

struct sim_flow {
	enum sim_flow_kind kind;
	uint32_t ranks; /* that are connected */
	uint32_t dtype;
	uint64_t bytes; /* of a rank's longer buffer */
	bool uneven;	/* the ranks put different numbers of bytes */
	const char *why;
};

/* The collective that an epoch of this layout is, by the data's ways through all layouts. */
void sim_flow_find(const struct sim_functional *run, const struct sim_layout *layout,
		   struct sim_flow *flow);
/* As workloads have it; NULL for NONE and OTHER. `product`: it sums one while that is made. */
const char *sim_flow_name(enum sim_flow_kind kind, bool product);
bool sim_flow_sums(enum sim_flow_kind kind);

/* --------------------------------------------------------- functional_output.c */

/* The user's word on an output that the program stored. */
struct sim_given {
	uint32_t number; /* counts these outputs from 1; 0: all others of them */
	uint64_t m, n;	 /* 0: as its segments have it */
	uint64_t k;
};

/*
 * The workload, and a list that describes its operations: both new references. False: `why` says
 * what is wrong.
 */
bool sim_functional_workload(const struct sim_functional *run, const struct sim_given *given,
			     uint32_t count, json_t **workload, json_t **list, char *why);

#endif /* T3_SIM_FUNCTIONAL_H */
