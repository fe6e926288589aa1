/* SPDX-License-Identifier: MIT */
/* A Transformer's sub-layers as workloads of the timed model. */
#ifndef T3_SIM_WORKLOAD_H
#define T3_SIM_WORKLOAD_H

#include "t3_timed.h"

#define SIM_NAME_SIZE 64u
#define SIM_WHY_SIZE  256u

/* Forward OP and FC-2, backward FC-1 and IP. K is a multiple of hidden, sliced over the ranks. */
enum sim_sublayer { SIM_OP, SIM_FC2, SIM_FC1, SIM_IP, SIM_SUBLAYERS };

struct sim_workload {
	char model[SIM_NAME_SIZE];
	uint64_t hidden, tokens, tp;
	uint64_t element_bytes;
	enum sim_sublayer sublayer;
};

/* "op", "fc2", "fc1", "ip" */
const char *sim_sublayer_name(enum sim_sublayer sublayer);
bool sim_sublayer_parse(const char *text, enum sim_sublayer *sublayer);
/* f16, bf16, f32 */
bool sim_dtype_parse(const char *text, uint64_t *element_bytes);
/* auto, rows, columns */
bool sim_chunks_parse(const char *text, enum t3_timed_chunks *chunks);

/*
 * Keeps the setup's chunks. False: `why`, of SIM_WHY_SIZE bytes, is a sentence that names the
 * field.
 */
bool sim_workload_setup(const struct sim_workload *workload, struct t3_timed_setup *setup,
			char *why);

#endif /* T3_SIM_WORKLOAD_H */
