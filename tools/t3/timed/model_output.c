// SPDX-License-Identifier: MIT
/* A model's GEMMs, layers and iteration, as tables and as JSON. All times are virtual. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "timed/model.h"

#define PS_PER_US 1e6
#define PS_PER_MS 1e9

static const char *layer_name(const struct sim_layer *layer)
{
	static const char *const names[SIM_LAYER_KINDS] = {
		"full attention, dense MLP",
		"sliding attention, dense MLP",
		"full attention, experts",
		"sliding attention, experts",
	};

	return names[layer->kind];
}

static struct sim_machine_rate rate_of(const struct timed_model *model)
{
	return sim_machine_rate(&model->args->machine.params, model->setting.element_bytes);
}

static double iteration_time(const struct timed_model *model, enum sim_config config)
{
	const struct sim_machine_rate rate = rate_of(model);
	double sum = 0;
	uint32_t i;

	for (i = 0; i < model->iteration.layers; i++) {
		const struct sim_layer *layer = &model->iteration.layer[i];

		sum += (double)layer->count * sim_layer_time(layer, model->cost, &rate, config);
	}
	return sum;
}

/* The share of an iteration with Sequential that operators of a kind take. */
static double share_of(const struct timed_model *model, enum sim_operator_kind kind)
{
	const struct sim_machine_rate rate = rate_of(model);
	double sum = 0;
	uint32_t i, k;

	for (i = 0; i < model->iteration.layers; i++) {
		const struct sim_layer *layer = &model->iteration.layer[i];

		for (k = 0; k < layer->operators; k++)
			if (layer->op[k].kind == kind)
				sum += (double)layer->count * sim_operator_time(&layer->op[k],
										model->cost, &rate,
										SIM_SEQUENTIAL);
	}
	return sum / iteration_time(model, SIM_SEQUENTIAL);
}

/* ---------------------------------------------------------------------- GEMMs */

/* A GEMM with its collective under one operator's name, or a collective alone. */
struct ending {
	const struct sim_operator *op;
	const struct sim_gemm *gemm;
	uint64_t count; /* in an iteration */
};

/* Each name of an operator once, in order. Returns how many there are. */
static uint32_t endings(const struct timed_model *model, struct ending *found)
{
	uint32_t count = 0, i, k, at;

	for (i = 0; i < model->iteration.layers; i++) {
		const struct sim_layer *layer = &model->iteration.layer[i];

		for (k = 0; k < layer->operators; k++) {
			const struct sim_operator *op = &layer->op[k];

			if (op->kind != SIM_REDUCED && op->kind != SIM_EXCHANGE)
				continue;
			for (at = 0; at < count; at++)
				if (found[at].op->name == op->name &&
				    found[at].op->gemm == op->gemm)
					break;
			if (at == count)
				found[count++] =
					(struct ending){ op, &model->iteration.gemm[op->gemm], 0 };
			found[at].count += layer->count;
		}
	}
	return count;
}

void timed_model_print_head(const struct timed_model *model)
{
	const struct sim_transformer *t = &model->transformer;
	const struct sim_setting *s = &model->setting;

	printf("%s: %s, %" PRIu64 " layers, hidden %" PRIu64 ", %" PRIu64 " heads of %" PRIu64,
	       model->path, t->type, t->layers, t->hidden, t->heads, t->key_dim);
	if (t->kv_rank)
		printf(" from latent vectors of %" PRIu64, t->kv_rank);
	else
		printf(", %" PRIu64 " of keys", t->kv_heads);
	if (t->intermediate)
		printf(", MLP %" PRIu64, t->intermediate);
	if (t->experts)
		printf(", %" PRIu64 " of %" PRIu64 " experts of %" PRIu64, t->top_k, t->experts,
		       t->expert_size);
	if (t->shared_size)
		printf(", shared expert %" PRIu64, t->shared_size);
	printf("%s%s\n%s of %" PRIu64 " x %" PRIu64 " tokens%s on TP %" PRIu64,
	       t->gated ? ", gated" : "", t->beside ? ", beside attention" : "",
	       sim_phase_name(s->phase), s->batch, s->phase == SIM_DECODE ? 1 : s->sequence,
	       s->phase == SIM_DECODE ? " after the cached ones" : "", s->tp);
	if (s->ep > 1)
		printf(", EP %" PRIu64, s->ep);
	printf(", %" PRIu64 " byte%s an element, sequence %" PRIu64 ", attention %s\n\n",
	       s->element_bytes, s->element_bytes == 1 ? "" : "s", s->sequence,
	       s->scores_stay ? "fused" : "separate");
}

void timed_model_print_gemms(const struct timed_model *model)
{
	struct ending found[SIM_MAX_OPERATORS * SIM_LAYER_KINDS];
	uint32_t count = endings(model, found), i;

	timed_model_print_head(model);
	printf("  %-36s %28s  %-10s %5s %13s\n", "GEMM on a rank", "M x N x K", "ends in", "ranks",
	       "an iteration");
	for (i = 0; i < count; i++) {
		const struct sim_gemm *g = found[i].gemm;
		char shape[64];

		if (found[i].op->kind == SIM_EXCHANGE)
			snprintf(shape, sizeof(shape), "no GEMM, %" PRIu64 " x %" PRIu64, g->m,
				 g->n);
		else
			snprintf(shape, sizeof(shape), "%" PRIu64 " x %" PRIu64 " x %" PRIu64, g->m,
				 g->n, g->k);
		printf("  %-36s %28s  %-10s %5" PRIu64 " %13" PRIu64 "\n", found[i].op->name, shape,
		       t3_timed_collective_name(g->collective), g->ranks, found[i].count);
	}
	printf("\n");
}

/* ------------------------------------------------------------------ iteration */

void timed_print_columns(const char *counted, uint32_t configs)
{
	int config;

	printf("  %-30s %6s", "ms", counted);
	for (config = 0; config < SIM_ALONE; config++)
		if (configs & 1u << config)
			printf(" %11s", sim_config_name((enum sim_config)config));
	printf("\n");
}

void timed_print_times(const char *name, uint64_t count, const double *times, uint32_t configs)
{
	int config;

	printf("  %-30s", name);
	if (count)
		printf(" %6" PRIu64, count);
	else
		printf(" %6s", "");
	for (config = 0; config < SIM_ALONE; config++)
		if (configs & 1u << config)
			printf(" %11.3f", times[config]);
	printf("\n");
}

void timed_model_print(const struct timed_model *model)
{
	const struct sim_machine_rate rate = rate_of(model);
	double times[SIM_CONFIGS], speedups[SIM_CONFIGS];
	int config, kind;
	uint32_t i;

	timed_experts_print(model);
	timed_print_columns("layers", model->configs);
	for (i = 0; i < model->iteration.layers; i++) {
		const struct sim_layer *layer = &model->iteration.layer[i];

		for (config = 0; config < SIM_ALONE; config++)
			times[config] =
				sim_layer_time(layer, model->cost, &rate, (enum sim_config)config) /
				PS_PER_MS;
		timed_print_times(layer_name(layer), layer->count, times, model->configs);
	}
	for (config = 0; config < SIM_ALONE; config++) {
		times[config] = iteration_time(model, (enum sim_config)config) / PS_PER_MS;
		speedups[config] = times[SIM_SEQUENTIAL] / times[config];
	}
	timed_print_times(model->setting.phase == SIM_TRAINING ? "iteration"
			  : model->setting.phase == SIM_DECODE ? "step"
							       : "prefill",
			  0, times, model->configs);
	timed_print_times("speed-up", 0, speedups, model->configs);
	printf("\n  with sequential");
	for (kind = 0; kind < SIM_OPERATOR_KINDS; kind++)
		printf("%s %s %.1f %%", kind ? "," : ":",
		       sim_operator_kind_name((enum sim_operator_kind)kind),
		       100 * share_of(model, (enum sim_operator_kind)kind));
	printf("\n\n");
}

/* ----------------------------------------------------------------------- JSON */

static void put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *model_to_json(const struct timed_model *model)
{
	const struct sim_transformer *t = &model->transformer;
	const struct sim_setting *s = &model->setting;
	json_t *object = json_object();

	json_object_set_new(object, "file", json_from_name(model->path));
	json_object_set_new(object, "model_type", json_string(t->type));
	put(object, "layers", t->layers);
	put(object, "hidden", t->hidden);
	put(object, "heads", t->heads);
	put(object, "kv_heads", t->kv_heads);
	put(object, "key_dim", t->key_dim);
	put(object, "value_dim", t->value_dim);
	put(object, "q_rank", t->q_rank);
	put(object, "kv_rank", t->kv_rank);
	put(object, "window", t->window);
	json_object_set_new(object, "gated", json_boolean(t->gated));
	json_object_set_new(object, "side_by_side", json_boolean(t->beside));
	put(object, "intermediate", t->intermediate);
	put(object, "experts", t->experts);
	put(object, "experts_of_a_token", t->top_k);
	put(object, "expert_size", t->expert_size);
	put(object, "shared_expert_size", t->shared_size);
	json_object_set_new(object, "phase", json_string(sim_phase_name(s->phase)));
	put(object, "tp", s->tp);
	put(object, "ep", s->ep);
	put(object, "tokens", sim_setting_tokens(s));
	put(object, "sequence", s->sequence);
	put(object, "batch", s->batch);
	put(object, "element_bytes", s->element_bytes);
	json_object_set_new(object, "fused_attention", json_boolean(s->scores_stay));
	return object;
}

static json_t *gemms_to_json(const struct timed_model *model)
{
	struct ending found[SIM_MAX_OPERATORS * SIM_LAYER_KINDS];
	uint32_t count = endings(model, found), i;
	json_t *array = json_array();

	for (i = 0; i < count; i++) {
		const struct sim_gemm *g = found[i].gemm;
		json_t *object = json_object();

		json_object_set_new(object, "name", json_string(found[i].op->name));
		json_object_set_new(object, "backward", json_boolean(found[i].op->backward));
		put(object, "m", g->m);
		put(object, "n", g->n);
		put(object, "k", found[i].op->kind == SIM_EXCHANGE ? 0 : g->k);
		json_object_set_new(object, "collective",
				    json_string(t3_timed_collective_name(g->collective)));
		put(object, "ranks", g->ranks);
		put(object, "count", found[i].count);
		/* The workload that has its figures has this name; a collective alone has none. */
		if (timed_model_routes(model, found[i].op->gemm))
			json_object_set_new(object, "experts", json_string(g->name));
		else if (found[i].op->kind == SIM_REDUCED)
			json_object_set_new(object, "workload", json_string(g->name));
		else
			put(object, "virtual_ps",
			    model->cost[found[i].op->gemm].exchange[SIM_SEQUENTIAL]);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *operators_to_json(const struct timed_model *model, const struct sim_layer *layer)
{
	const struct sim_machine_rate rate = rate_of(model);
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < layer->operators; i++) {
		const struct sim_operator *op = &layer->op[i];

		json_array_append_new(array, json_pack("{s:s, s:s, s:f}", "name", op->name, "kind",
						       sim_operator_kind_name(op->kind), "ps",
						       sim_operator_time(op, model->cost, &rate,
									 SIM_SEQUENTIAL)));
	}
	return array;
}

static json_t *layers_to_json(const struct timed_model *model)
{
	const struct sim_machine_rate rate = rate_of(model);
	json_t *array = json_array();
	int config;
	uint32_t i;

	for (i = 0; i < model->iteration.layers; i++) {
		const struct sim_layer *layer = &model->iteration.layer[i];
		json_t *object = json_object(), *times = json_object();

		for (config = 0; config < SIM_ALONE; config++)
			if (model->configs & 1u << config)
				json_object_set_new(
					times, sim_config_name((enum sim_config)config),
					json_real(sim_layer_time(layer, model->cost, &rate,
								 (enum sim_config)config)));
		json_object_set_new(object, "kind", json_string(layer_name(layer)));
		put(object, "count", layer->count);
		json_object_set_new(object, "layer_ps", times);
		json_object_set_new(object, "operators", operators_to_json(model, layer));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *iteration_to_json(const struct timed_model *model)
{
	json_t *object = json_object(), *shares = json_object(), *configs = json_object();
	double sequential = iteration_time(model, SIM_SEQUENTIAL), time;
	int config, kind;

	for (kind = 0; kind < SIM_OPERATOR_KINDS; kind++)
		json_object_set_new(shares, sim_operator_kind_name((enum sim_operator_kind)kind),
				    json_real(share_of(model, (enum sim_operator_kind)kind)));
	for (config = 0; config < SIM_ALONE; config++) {
		if (!(model->configs & 1u << config))
			continue;
		time = iteration_time(model, (enum sim_config)config);
		json_object_set_new(configs, sim_config_name((enum sim_config)config),
				    json_pack("{s:f, s:f}", "iteration_ps", time, "speedup",
					      sequential / time));
	}
	json_object_set_new(object, "shares", shares);
	json_object_set_new(object, "configs", configs);
	return object;
}

void timed_model_to_json(const struct timed_model *model, json_t *root)
{
	json_object_set_new(root, "model", model_to_json(model));
	json_object_set_new(root, "gemms", gemms_to_json(model));
	timed_experts_to_json(model, root);
	json_object_set_new(root, "layers", layers_to_json(model));
	json_object_set_new(root, "iteration", iteration_to_json(model));
}
