/* SPDX-License-Identifier: MIT */
/*
 * Model files: several workloads, and a machine other than the default. Each section, key and value
 * of a list once.
 * Names are printable ASCII. A UTF-8 byte order mark may begin the file.
 *
 *     # a comment
 *     [T-NLG]                  a model; its keys:
 *     hidden = 4256
 *     tokens = 8192
 *     tp = 8 16                one or more
 *     sublayers = op fc2       default: op fc2 fc1 ip
 *     k = 25600                instead of sublayers: K of a GEMM, over all ranks
 *     dtype = f16              default; bf16, f32
 *     collective = all-reduce  default; reduce-scatter, all-gather, all-to-all
 *     nodes = 1                default; each tp is divided into as many
 *     layers = 78              with heads and sequence: iterations of the whole model, too
 *     heads = 28
 *     sequence = 1024          tokens
 *     [machine]                parameters of the timed model, by their names
 *     memory_gbps = 2048
 */
#ifndef T3_SIM_MODEL_FILE_H
#define T3_SIM_MODEL_FILE_H

#include <jansson.h>
#include <stdio.h>

#include "sim/workload.h"

struct sim_models {
	struct sim_workload *workload; /* malloc()ed, for all models, in the file's order */
	size_t count;
};

/* The parameters. `given` has a 1 for each that was set. */
struct sim_machine {
	struct t3_timed_params params, given;
};

void sim_machine_init(struct sim_machine *machine);

/*
 * Parameters that were set before stay, because the command line overrides the file. False: `why`
 * says what is wrong in which line, and there is nothing to free.
 */
bool sim_models_read(FILE *file, struct sim_models *models, struct sim_machine *machine, char *why);
/* A machine file has the section [machine] alone. It overrides nothing that was set before. */
bool sim_machine_read(FILE *file, struct sim_machine *machine, char *why);
/* Derive parameters that were not given from those that were. A sentence for each is appended. */
void sim_machine_complete(struct sim_machine *machine, json_t *sentences);
/* The same of what only runs with a switch have. */
void sim_machine_complete_switch(struct sim_machine *machine, json_t *sentences);
void sim_models_free(struct sim_models *models);

/* False: `why`. */
bool sim_param_set(struct sim_machine *machine, const char *name, const char *value, char *why);
bool sim_number(const char *text, uint64_t *value);
/* Shows a text of a file without control characters, which a terminal would obey. */
void sim_escape(char *to, size_t size, const char *from);

#endif /* T3_SIM_MODEL_FILE_H */
