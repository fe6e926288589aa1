// SPDX-License-Identifier: MIT
/* The load of experts, and the runs with their routing, as a table and as JSON. All times are virtual. */
#include <inttypes.h>

#include "common/message.h"
#include "timed/model.h"

#define PS_PER_US 1e6

static const char *way_name(enum t3_timed_way way)
{
	return way == T3_TIMED_DISPATCH ? "dispatch" : "combine";
}

static const char *source_name(const struct sim_routing_source *source)
{
	switch (source->kind) {
	case SIM_ROUTING_UNIFORM:
		return "uniform";
	case SIM_ROUTING_SKEWED:
		return "skewed";
	default:
		return source->path;
	}
}

/* Configurations of which the run has figures of their own. */
static bool has(const struct timed_model *model, enum sim_config config)
{
	return model->configs & 1u << config && (config == SIM_SEQUENTIAL || config == SIM_IDEAL ||
						 config == SIM_T3 || config == SIM_T3_MCA);
}

static void print_load(const struct timed_model *model)
{
	const struct sim_routing_source *source = &model->args->routing;
	const struct sim_routing *r = &model->routing;
	struct sim_load load = sim_routing_load(r);

	printf("routing: %s", source_name(source));
	if (source->kind == SIM_ROUTING_SKEWED)
		printf(" by %.3f", (double)source->skew / SIM_SKEW_ONE);
	if (source->kind != SIM_ROUTING_FILE)
		printf(", seed %" PRIu64, source->seed);
	printf("; a rank's experts have %" PRIu64 " to %" PRIu64 " rows, %" PRIu64
	       " in the mean: rank %" PRIu64 " has %.2f times that; the fullest expert has %" PRIu64
	       "\n",
	       load.least_rank, load.most_rank, load.mean_rank, load.fullest,
	       (double)load.most_rank / (double)load.mean_rank, load.most_expert);
}

/* How many runs were made on devices, and whether the host's other work paced one of them. */
static uint32_t device_runs(const struct timed_model *model, bool *host_paced)
{
	uint32_t runs = 0, i, program;

	*host_paced = false;
	for (i = 0; i < model->expert_runs; i++)
		for (program = 0; program < T3_TIMED_NATIVE_PROGRAMS; program++) {
			const struct timed_device_run *run = &model->experts[i].device[program];

			*host_paced |= run->host_paced;
			runs += run->ran;
		}
	return runs;
}

static void print_devices(const struct timed_model *model)
{
	bool host_paced;
	uint32_t runs;

	if (!model->devices)
		return;
	runs = device_runs(model, &host_paced);
	printf("  on %u device%s: %u runs, as natively%s\n", model->devices->count,
	       model->devices->count > 1 ? "s" : "", runs, host_paced ? ", beside other work" : "");
}

void timed_experts_print(const struct timed_model *model)
{
	uint32_t i;
	int config;

	if (!model->routing.rows)
		return;
	print_load(model);
	printf("  %-48s %11s %11s", "us, of the last rank", "GEMMs", "all-to-all");
	for (config = 0; config < SIM_ALONE; config++)
		if (has(model, (enum sim_config)config))
			printf(" %11s", sim_config_name((enum sim_config)config));
	printf("\n");
	for (i = 0; i < model->expert_runs; i++) {
		const struct sim_experts *run = &model->experts[i].run;
		char name[64];

		snprintf(name, sizeof(name), "%s, rows x %" PRIu64 " x %" PRIu64,
			 way_name(run->way), run->columns, run->depth);
		printf("  %-48s %11.1f %11.1f", name, (double)run->gemm / PS_PER_US,
		       (double)run->exchange / PS_PER_US);
		for (config = 0; config < SIM_ALONE; config++)
			if (has(model, (enum sim_config)config))
				printf(" %11.1f",
				       (double)sim_experts_time(run, (enum sim_config)config) /
					       PS_PER_US);
		printf("\n");
	}
	print_devices(model);
	printf("\n");
}

/* ------------------------------------------------------------------------ JSON */

static void put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *load_to_json(const struct timed_model *model)
{
	const struct sim_routing_source *source = &model->args->routing;
	struct sim_load load = sim_routing_load(&model->routing);
	json_t *object = json_object();

	json_object_set_new(object, "routing", json_from_name(source_name(source)));
	if (source->kind == SIM_ROUTING_SKEWED)
		put(object, "skew_thousandths", source->skew);
	if (source->kind != SIM_ROUTING_FILE)
		put(object, "seed", source->seed);
	put(object, "mean_rows", load.mean_rank);
	put(object, "most_rows", load.most_rank);
	put(object, "least_rows", load.least_rank);
	put(object, "fullest_rank", load.fullest);
	put(object, "most_rows_of_expert", load.most_expert);
	return object;
}

static json_t *run_to_json(const struct timed_model *model, const struct timed_experts *experts)
{
	const struct sim_experts *run = &experts->run;
	json_t *object = json_object(), *configs = json_object();
	uint64_t sequential = sim_experts_time(run, SIM_SEQUENTIAL), time;
	int config;

	json_object_set_new(object, "gemm", json_string(model->iteration.gemm[experts->gemm].name));
	json_object_set_new(object, "way", json_string(way_name(run->way)));
	put(object, "columns", run->columns);
	put(object, "depth", run->depth);
	put(object, "gemm_ps", run->gemm);
	put(object, "all_to_all_ps", run->exchange);
	put(object, "most_sent_bytes", run->sent);
	put(object, "most_received_bytes", run->received);
	for (config = 0; config < SIM_ALONE; config++) {
		if (!has(model, (enum sim_config)config))
			continue;
		time = sim_experts_time(run, (enum sim_config)config);
		json_object_set_new(configs, sim_config_name((enum sim_config)config),
				    json_pack("{s:I, s:f}", "virtual_ps", (json_int_t)time,
					      "speedup", (double)sequential / (double)time));
	}
	json_object_set_new(object, "configs", configs);
	return object;
}

static json_t *devices_to_json(const struct timed_model *model)
{
	bool host_paced;
	uint32_t runs = device_runs(model, &host_paced);

	return json_pack("{s:i, s:i, s:b}", "devices", (int)model->devices->count, "runs",
			 (int)runs, "host_paced", (int)host_paced);
}

void timed_experts_to_json(const struct timed_model *model, json_t *root)
{
	json_t *object, *runs;
	uint32_t i;

	if (!model->routing.rows)
		return;
	object = load_to_json(model);
	runs = json_array();
	for (i = 0; i < model->expert_runs; i++)
		json_array_append_new(runs, run_to_json(model, &model->experts[i]));
	json_object_set_new(object, "runs", runs);
	if (model->devices)
		json_object_set_new(object, "device", devices_to_json(model));
	json_object_set_new(root, "experts", object);
}
