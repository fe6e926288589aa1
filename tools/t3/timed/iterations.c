// SPDX-License-Identifier: MIT
/*
 * A model of a model file has a plain MLP of 4 x hidden, as many key heads as heads, and dropout in
 * training. Its sub-layers are workloads of their own, so that no GEMM is run again.
 */
#include <stdio.h>

#include "common/message.h"
#include "timed/iterations.h"

struct timed_iterations timed_iterations_new(const struct timed_arguments *args)
{
	return (struct timed_iterations){ .args = args, .results = json_array() };
}

void timed_iterations_free(struct timed_iterations *its)
{
	json_decref(its->results);
	json_decref(its->notes);
}

/* Each sentence once, whatever number of models it is about. */
static void keep_notes(struct timed_iterations *its, const json_t *notes)
{
	json_t *sentences, *sentence, *kept;
	const char *key;
	size_t i, k;

	if (!its->notes)
		its->notes = json_object();
	json_object_foreach((json_t *)notes, key, sentences)
	{
		kept = json_object_get(its->notes, key);
		if (!kept)
			json_object_set_new(its->notes, key, kept = json_array());
		json_array_foreach(sentences, i, sentence)
		{
			for (k = 0; k < json_array_size(kept); k++)
				if (json_equal(json_array_get(kept, k), sentence))
					break;
			if (k == json_array_size(kept))
				json_array_append(kept, sentence);
		}
	}
}

static int begin(struct timed_iterations *its, const struct timed_job *job, enum sim_phase phase,
		 struct timed_model *model)
{
	const struct sim_workload *w = &job->workload;
	uint64_t head = w->hidden / w->heads;
	char why[SIM_WHY_SIZE];
	bool good;

	*model = (struct timed_model){
		.args = its->args,
		.transformer = { .type = "Transformer",
				 .hidden = w->hidden,
				 .layers = w->layers,
				 .heads = w->heads,
				 .kv_heads = w->heads,
				 .key_dim = head,
				 .value_dim = head,
				 .intermediate = 4 * w->hidden,
				 .dropout = true,
				 .element_bytes = w->element_bytes,
				 .count = { w->layers } },
		.setting = { .phase = phase,
			     .tp = w->tp,
			     .ep = 1,
			     .sequence = w->sequence,
			     .batch = w->tokens / w->sequence,
			     .element_bytes = w->element_bytes,
			     .scores_stay = its->args->setting.scores_stay },
		.configs = (job->configs | 1u << SIM_SEQUENTIAL) & ((1u << SIM_ALONE) - 1),
	};
	snprintf(model->name, sizeof(model->name), "%s", w->model);
	model->path = model->name;
	model->transformer.notes =
		json_pack("{s:[], s:[], s:[]}", "exact", "approximated", "left_out");
	sim_note(&model->transformer, SIM_APPROXIMATED,
		 "models with layers: a plain MLP of 4 x hidden, and dropout in training");
	good = sim_iteration_build(&model->transformer, &model->setting, &model->iteration, why);
	if (good)
		keep_notes(its, model->transformer.notes);
	json_decref(model->transformer.notes);
	model->transformer.notes = NULL;
	if (!good)
		return complain(EXIT_USAGE, "%s: %s", w->model, why);
	return EXIT_OK;
}

/* The sub-layer's figures are those of each GEMM with its shape. */
static void take(struct timed_model *model, const struct timed_job *job)
{
	const struct t3_timed_workload *w = &job->setup.workload;
	uint32_t i;

	for (i = 0; i < model->iteration.gemms; i++) {
		const struct sim_gemm *g = &model->iteration.gemm[i];

		if (g->m == w->rows && g->n == w->columns && g->k == w->depth)
			timed_model_take(model, i, &job->figures, model->configs);
	}
}

static void show(struct timed_iterations *its)
{
	json_t *object, *training, *prefill;

	if (!its->args->json) {
		timed_model_print_head(&its->training);
		timed_model_print(&its->training);
		timed_model_print_head(&its->prefill);
		timed_model_print(&its->prefill);
		return;
	}
	object = json_object();
	training = json_object();
	prefill = json_object();
	timed_model_to_json(&its->training, training);
	timed_model_to_json(&its->prefill, prefill);
	json_object_set_new(object, "model", json_string(its->training.name));
	json_object_set_new(object, "tp", json_integer((json_int_t)its->training.setting.tp));
	json_object_set_new(object, "training", training);
	json_object_set_new(object, "prefill", prefill);
	json_array_append_new(its->results, object);
}

int timed_iterations_take(struct timed_iterations *its, const struct timed_job *job)
{
	const struct sim_workload *w = &job->workload;
	int ret = EXIT_OK;

	if (!w->layers || w->collective != T3_TIMED_COLLECTIVE_ALL_REDUCE ||
	    !job->figures.ran[T3_TIMED_SEQUENTIAL])
		return EXIT_OK;
	if (w->sublayer == SIM_OP) {
		ret = begin(its, job, SIM_TRAINING, &its->training);
		if (ret == EXIT_OK)
			ret = begin(its, job, SIM_PREFILL, &its->prefill);
	}
	if (ret != EXIT_OK)
		return ret;
	take(&its->training, job);
	take(&its->prefill, job);
	if (w->sublayer + 1 == SIM_SUBLAYERS)
		show(its);
	return EXIT_OK;
}
