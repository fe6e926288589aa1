// SPDX-License-Identifier: MIT
/* A step's products, its passes and its time, as tables and as JSON. All times are virtual. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/message.h"
#include "timed/step.h"

#define PS_PER_MS 1e9

static double time_of(const struct timed_step *step, const struct sim_step_operator *op,
		      enum sim_config config)
{
	return sim_step_operator_time(op, step->cost, &step->args->machine.params, config);
}

/* Of a pass, or of all; and how many operations it has. */
static double pass_time(const struct timed_step *step, enum sim_pass pass, enum sim_config config,
			uint64_t *count)
{
	double sum = 0;
	uint32_t i;

	*count = 0;
	for (i = 0; i < step->step.operators; i++) {
		const struct sim_step_operator *op = &step->step.op[i];

		if (pass != SIM_PASSES && op->pass != pass)
			continue;
		sum += time_of(step, op, config);
		*count += op->count;
	}
	return sum;
}

static double step_time(const struct timed_step *step, enum sim_config config)
{
	uint64_t count;

	return pass_time(step, SIM_PASSES, config, &count);
}

static double share_of(const struct timed_step *step, enum sim_operator_kind kind)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < step->step.operators; i++)
		if (step->step.op[i].op.kind == kind)
			sum += time_of(step, &step->step.op[i], SIM_SEQUENTIAL);
	return sum / step_time(step, SIM_SEQUENTIAL);
}

static uint64_t count_of(const struct timed_step *step, uint32_t run, enum sim_operator_kind kind)
{
	uint64_t count = 0;
	uint32_t i;

	for (i = 0; i < step->step.operators; i++)
		if (step->step.op[i].op.kind == kind && step->step.op[i].op.gemm == run)
			count += step->step.op[i].count;
	return count;
}

/* ----------------------------------------------------------------------- text */

void timed_step_print_runs(const struct timed_step *step)
{
	uint32_t i;

	printf("%s: a step of rank %" PRIu64 " of %" PRIu64 ", recorded by %s\n\n", step->path,
	       step->step.rank, step->step.ranks, step->step.by);
	printf("  %-14s %28s  %-14s %5s %7s\n", "on a rank", "M x N x K", "summed by", "ranks",
	       "a step");
	for (i = 0; i < step->step.runs; i++) {
		const struct sim_gemm *g = &step->step.run[i].gemm;
		char shape[64];

		if (!g->reduced)
			continue;
		snprintf(shape, sizeof(shape), "%" PRIu64 " x %" PRIu64 " x %" PRIu64, g->m, g->n,
			 g->k);
		printf("  %-14s %28s  %-14s %5" PRIu64 " %7" PRIu64 "\n", g->name, shape,
		       t3_timed_collective_name(g->collective), g->ranks,
		       count_of(step, i, SIM_REDUCED));
	}
	printf("\n");
}

void timed_step_print(const struct timed_step *step)
{
	double times[SIM_CONFIGS], speedups[SIM_CONFIGS], sequential;
	uint64_t count = 0;
	int pass, config, kind;

	timed_print_columns("calls", step->configs);
	for (pass = 0; pass <= SIM_PASSES; pass++) {
		for (config = 0; config < SIM_ALONE; config++)
			times[config] = pass_time(step, (enum sim_pass)pass,
						  (enum sim_config)config, &count) /
					PS_PER_MS;
		if (count)
			timed_print_times(pass == SIM_PASSES ? "step"
							     : sim_pass_name((enum sim_pass)pass),
					  count, times, step->configs);
	}
	sequential = step_time(step, SIM_SEQUENTIAL);
	for (config = 0; config < SIM_ALONE; config++)
		speedups[config] = sequential / step_time(step, (enum sim_config)config);
	timed_print_times("speed-up", 0, speedups, step->configs);
	printf("\n  with sequential");
	for (kind = 0; kind < SIM_OPERATOR_KINDS; kind++)
		printf("%s %s %.1f %%", kind ? "," : ":",
		       sim_operator_kind_name((enum sim_operator_kind)kind),
		       100 * share_of(step, (enum sim_operator_kind)kind));
	printf("\n\n");
}

/* ----------------------------------------------------------------------- JSON */

static void put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *operators_to_json(const struct timed_step *step)
{
	json_t *array = json_array();
	uint32_t i;
	int config;

	for (i = 0; i < step->step.operators; i++) {
		const struct sim_step_operator *op = &step->step.op[i];
		json_t *object = json_object(), *times = json_object();

		json_object_set_new(object, "name", json_string(op->op.name));
		json_object_set_new(object, "kind",
				    json_string(sim_operator_kind_name(op->op.kind)));
		json_object_set_new(object, "pass", json_string(sim_pass_name(op->pass)));
		put(object, "count", op->count);
		if (op->op.kind == SIM_REDUCED || op->op.kind == SIM_PLAIN) {
			const struct sim_gemm *gemm = &step->step.run[op->op.gemm].gemm;

			put(object, "m", gemm->m);
			put(object, "n", gemm->n);
			put(object, "k", gemm->k);
			if (op->op.kind == SIM_REDUCED)
				json_object_set_new(object, "workload", json_string(gemm->name));
		}
		/* Of all calls of it. */
		for (config = 0; config < SIM_ALONE; config++)
			if (step->configs & 1u << config)
				json_object_set_new(
					times, sim_config_name((enum sim_config)config),
					json_real(time_of(step, op, (enum sim_config)config)));
		json_object_set_new(object, "ps", times);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *passes_to_json(const struct timed_step *step)
{
	json_t *object = json_object(), *times;
	uint64_t count = 0;
	int pass, config;

	for (pass = 0; pass < SIM_PASSES; pass++) {
		times = json_object();
		for (config = 0; config < SIM_ALONE; config++)
			if (step->configs & 1u << config)
				json_object_set_new(times, sim_config_name((enum sim_config)config),
						    json_real(pass_time(step, (enum sim_pass)pass,
									(enum sim_config)config,
									&count)));
		json_object_set_new(object, sim_pass_name((enum sim_pass)pass), times);
	}
	return object;
}

void timed_step_to_json(const struct timed_step *step, json_t *root)
{
	json_t *object = json_object(), *shares = json_object(), *configs = json_object();
	double sequential = step_time(step, SIM_SEQUENTIAL), time;
	int config, kind;

	json_object_set_new(object, "file", json_from_name(step->path));
	json_object_set_new(object, "by", json_string(step->step.by));
	put(object, "rank", step->step.rank);
	put(object, "ranks", step->step.ranks);
	for (kind = 0; kind < SIM_OPERATOR_KINDS; kind++)
		json_object_set_new(shares, sim_operator_kind_name((enum sim_operator_kind)kind),
				    json_real(share_of(step, (enum sim_operator_kind)kind)));
	for (config = 0; config < SIM_ALONE; config++) {
		if (!(step->configs & 1u << config))
			continue;
		time = step_time(step, (enum sim_config)config);
		json_object_set_new(configs, sim_config_name((enum sim_config)config),
				    json_pack("{s:f, s:f}", "step_ps", time, "speedup",
					      sequential / time));
	}
	json_object_set_new(object, "operations", operators_to_json(step));
	json_object_set_new(object, "passes_ps", passes_to_json(step));
	json_object_set_new(object, "shares", shares);
	json_object_set_new(object, "configs", configs);
	json_object_set_new(root, "step", object);
}
