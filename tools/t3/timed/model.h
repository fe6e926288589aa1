/* SPDX-License-Identifier: MIT */
/* A model by its config.json: its sub-layers as workloads, its iteration, and their output. */
#ifndef T3_TIMED_MODEL_H
#define T3_TIMED_MODEL_H

#include <jansson.h>

#include "sim/experts.h"
#include "sim/iteration.h"
#include "timed/arguments.h"
#include "timed/device.h"

/* A GEMM of experts that was run with the model's routing, and its number. */
struct timed_experts {
	uint32_t gemm;
	struct sim_experts run;
	struct timed_observer observer;
	struct timed_device_run device[T3_TIMED_NATIVE_PROGRAMS];
};

struct timed_model {
	const char *path;
	char name[SIM_NAME_SIZE]; /* of a model that has no file of its own */
	const struct timed_arguments *args;
	struct sim_transformer transformer;
	struct sim_setting setting;
	struct sim_iteration iteration;
	struct sim_cost cost[SIM_MAX_GEMMS];
	struct sim_routing routing; /* rows NULL: experts get as many rows */
	struct timed_experts experts[2 * SIM_MAX_GEMMS];
	uint32_t expert_runs;
	uint32_t configs;	       /* that the iteration has; bit of enum sim_config */
	struct sim_progress *progress; /* or NULL */
	struct timed_devices *devices; /* that also run the experts' GEMMs; or NULL */
};

/* Read the file and make the operators. An exit code; on success it has to be closed. */
int timed_model_open(struct timed_model *model, const struct timed_arguments *args);
void timed_model_close(struct timed_model *model);
/* GEMMs of experts run on these devices, too. An exit code: it may be that they cannot. */
int timed_model_use(struct timed_model *model, struct timed_devices *devices);

/*
 * The configurations that a workload of a model runs: of those that are asked for, those that its
 * collective has, and those that they are compared with or replaced by.
 */
uint32_t timed_model_configs(uint32_t asked, bool all, const struct t3_timed_workload *workload);
/* The workload of a GEMM that ends in a collective. */
void timed_model_workload(const struct timed_model *model, uint32_t gemm,
			  struct sim_workload *workload);
/* The same of any GEMM. */
void timed_gemm_workload(const struct sim_gemm *gemm, uint64_t element_bytes,
			 struct sim_workload *workload);
/* Run a GEMM that ends in no collective. progress may be NULL. False: `why`. */
bool timed_gemm_run(const struct sim_gemm *gemm, uint64_t element_bytes,
		    const struct t3_timed_params *params, struct sim_progress *progress,
		    struct sim_cost *cost, uint64_t *events, char *why);
void timed_cost_take(struct sim_cost *cost, const struct sim_figures *figures, uint32_t configs);
/* Keep what the workload's runs gave. */
void timed_model_take(struct timed_model *model, uint32_t gemm, const struct sim_figures *figures,
		      uint32_t configs);
/* Is the GEMM one of experts, whose rows the routing has? It is no workload. */
bool timed_model_routes(const struct timed_model *model, uint32_t gemm);
/* The number of runs, one after the other: workloads, and what no workload has. */
uint32_t timed_model_runs(const struct timed_model *model);
/* Run what no workload has: GEMMs of experts, GEMMs and collectives alone. False: `why`. */
bool timed_model_run_rest(struct timed_model *model, uint64_t *events, char *why);

/* The GEMMs that end in collectives; then the layers and the iteration, and what they are made of. */
void timed_model_print_gemms(const struct timed_model *model);
void timed_model_print_head(const struct timed_model *model);
void timed_model_print(const struct timed_model *model);
void timed_model_to_json(const struct timed_model *model, json_t *root);
/* The head of a table of times in ms, and a row of it; count 0: none. */
void timed_print_columns(const char *counted, uint32_t configs);
void timed_print_times(const char *name, uint64_t count, const double *times, uint32_t configs);
/* The load of a routing, and the runs with it; nothing if there is none. */
void timed_experts_print(const struct timed_model *model);
void timed_experts_to_json(const struct timed_model *model, json_t *root);

#endif /* T3_TIMED_MODEL_H */
