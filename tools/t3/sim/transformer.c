// SPDX-License-Identifier: MIT
/* Reads a config.json. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config_fields.h"
#include "sim/model_file.h"
#include "sim/transformer.h"

#define MAX_FILE ((size_t)1 << 22)

/* ------------------------------------------------------------------ sentences */

static void add_note(json_t *notes, enum sim_note note, const char *format, va_list args)
{
	static const char *const keys[] = { "exact", "approximated", "left_out" };
	char text[SIM_WHY_SIZE], plain[SIM_WHY_SIZE];

	vsnprintf(text, sizeof(text), format, args);
	sim_escape(plain, sizeof(plain), text);
	json_array_append_new(json_object_get(notes, keys[note]), json_string(plain));
}

void sim_note(struct sim_transformer *t, enum sim_note note, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_note(t->notes, note, format, args);
	va_end(args);
}

void sim_note_in(json_t *notes, enum sim_note note, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_note(notes, note, format, args);
	va_end(args);
}

/* ---------------------------------------------------------------- model type */

/* Refuses what changes a layer in a way that is not modelled. */
static void check_fields(struct config_reader *r)
{
	const struct sim_refused_field *one;
	const json_t *list = config_field(r, "attn_type_list"), *type;
	bool has_types = config_is_set(json_object_get(r->config, "layer_types"));
	size_t i;

	for (one = sim_refused_fields; one->name; one++)
		if (config_is_set(config_field(r, one->name)) && !(has_types && one->unless_types))
			config_refuse(r, "%s%s is set: %s, which this does not model", r->nest,
				      one->name, one->reason);
	if (config_is_set(json_object_get(r->top, "is_encoder_decoder")))
		config_refuse(r, "is_encoder_decoder is set: its decoder attends to an encoder, "
				 "which this does not model");
	if (config_is_set(list) && !json_is_array(list))
		config_refuse_value(r, "attn_type_list", list, "a list of 1");
	json_array_foreach(list, i, type) if (json_integer_value(type) != 1)
		config_refuse(r,
			      "%sattn_type_list[%zu] is not 1: the layer is no softmax attention, "
			      "which this does not model",
			      r->nest, i);
}

static void find_family(struct config_reader *r, enum sim_mlp mlp)
{
	static const struct sim_family unknown = { "", .sliding = NOT_SAID };
	json_t *type = config_field(r, "model_type");

	if (!type)
		type = json_object_get(r->top, "model_type");
	if (!json_is_string(type)) {
		config_refuse(r, "%smodel_type is missing, or no string", r->nest);
		return;
	}
	sim_escape(r->t->type, sizeof(r->t->type), json_string_value(type));
	r->family = sim_family_find(r->t->type);
	check_fields(r);
	if (!r->family && mlp == SIM_MLP_BY_TYPE)
		config_refuse(r,
			      "%smodel_type is '%s', which this does not know; --mlp gated or "
			      "--mlp plain reads it by its fields",
			      r->nest, r->t->type);
	if (!r->family)
		sim_note(r->t, SIM_APPROXIMATED,
			 "model_type '%s' is not known: it was read by its "
			 "fields and --mlp",
			 r->t->type);
	r->family = r->family ? r->family : &unknown;
	r->t->gated = mlp == SIM_MLP_BY_TYPE ? !r->family->plain : mlp == SIM_MLP_GATED;
}

/* ----------------------------------------------------------------- attention */

static void read_latent(struct config_reader *r)
{
	struct sim_transformer *t = r->t;
	uint64_t nope = config_need(r, "qk_nope_head_dim", CONFIG_MAX_HEADS, 0);

	t->rope_dim = config_need(r, "qk_rope_head_dim", CONFIG_MAX_HEADS, 0);
	t->q_rank = config_number(r, "q_lora_rank", 0, CONFIG_MAX_SIZE);
	t->key_dim = nope + t->rope_dim;
	t->value_dim = config_need(r, "v_head_dim", CONFIG_MAX_HEADS, 0);
	t->kv_heads = t->heads;
	if (config_field(r, "head_dim"))
		sim_note(t, SIM_EXACT,
			 "head_dim is not used: latent attention has sizes of its own");
	config_number(r, "num_key_value_heads", 1, CONFIG_MAX_HEADS);
	config_number(r, "qk_head_dim", 1, CONFIG_MAX_HEADS);
	t->index_top = config_number(r, "index_topk", 0, CONFIG_MAX_SIZE);
	if (!t->index_top)
		return;
	t->index_heads = config_need(r, "index_n_heads", CONFIG_MAX_HEADS, 0);
	t->index_dim = config_need(r, "index_head_dim", CONFIG_MAX_HEADS, 0);
	sim_note(
		t, SIM_APPROXIMATED,
		"index_topk %" PRIu64
		": an index chooses the tokens that are attended to; each rank computes all of it, "
		"with operands of the usual size",
		t->index_top);
}

/* Key heads. 0: as many as heads. */
static uint64_t read_kv_heads(struct config_reader *r)
{
	uint64_t grouped =
		config_number_or(r, "num_key_value_heads num_kv_heads n_head_kv", CONFIG_MAX_HEADS,
				 *r->nest ? r->family->missing.kv_heads : 0);
	uint64_t groups = config_number(r, "multi_query_group_num", 1, CONFIG_MAX_HEADS);

	/* Falcon's newer decoder has groups, whatever this says. */
	if (config_flag(r, "multi_query", false) &&
	    !config_flag(r, "new_decoder_architecture", false))
		return 1;
	return config_flag(r, "multi_query_attention", false) && groups ? groups : grouped;
}

static void read_heads(struct config_reader *r)
{
	struct sim_transformer *t = r->t;

	t->key_dim = config_number_or(r, "head_dim attention_head_dim kv_channels",
				      CONFIG_MAX_HEADS, r->family->missing.head_dim);
	if (!t->key_dim && t->heads && t->hidden % t->heads)
		config_refuse(r,
			      "%shead_dim is missing, and num_attention_heads %" PRIu64
			      " does not divide hidden_size %" PRIu64,
			      r->nest, t->heads, t->hidden);
	if (!t->key_dim && t->heads) {
		t->key_dim = t->hidden / t->heads;
		sim_note(t, SIM_EXACT,
			 "head_dim is missing: hidden_size / num_attention_heads = %" PRIu64,
			 t->key_dim);
	}
	if (config_is_set(config_field(r, "index_topk")))
		config_refuse(
			r,
			"%sindex_topk is set, and kv_lora_rank is not: only latent attention is "
			"modelled with an index",
			r->nest);
	t->value_dim = t->key_dim;
	t->kv_heads = read_kv_heads(r);
	if (!t->kv_heads) {
		t->kv_heads = t->heads;
		sim_note(t, SIM_EXACT,
			 "num_key_value_heads is missing: num_attention_heads = %" PRIu64,
			 t->heads);
	}
	if (t->heads % t->kv_heads)
		config_refuse(r,
			      "%snum_key_value_heads is %" PRIu64 " and must divide "
			      "num_attention_heads, %" PRIu64,
			      r->nest, t->kv_heads, t->heads);
}

/* ------------------------------------------------------------------- experts */

static void read_experts(struct config_reader *r)
{
	struct sim_transformer *t = r->t;
	uint64_t shared, dense;

	t->experts =
		config_number(r, "num_local_experts num_experts n_routed_experts moe_num_experts",
			      0, CONFIG_MAX_HEADS);
	t->top_k = config_number(
		r, "num_experts_per_tok experts_per_token num_experts_per_token moe_k moe_topk", 0,
		CONFIG_MAX_HEADS);
	t->expert_size = config_number(r, "moe_intermediate_size", 1, CONFIG_MAX_SIZE);
	shared = config_number(
		r, "n_shared_experts num_shared_experts moe_num_shared_experts num_shared_expert",
		0, CONFIG_MAX_HEADS);
	t->shared_size = config_number(r,
				       "shared_expert_intermediate_size shared_intermediate_size "
				       "moe_shared_expert_intermediate_size",
				       0, CONFIG_MAX_SIZE);
	if (t->experts && !t->top_k)
		config_refuse(r,
			      "%snum_experts_per_tok is missing, and there are %" PRIu64 " experts",
			      r->nest, t->experts);
	if (t->experts && t->top_k > t->experts)
		config_refuse(r,
			      "%snum_experts_per_tok is %" PRIu64 ", and there are %" PRIu64
			      " experts",
			      r->nest, t->top_k, t->experts);
	if (t->experts && !t->expert_size && r->family->size_of_experts)
		t->expert_size = t->intermediate;
	if (t->experts && !t->expert_size)
		config_refuse(r, "%s%s is missing, and there are %" PRIu64 " experts", r->nest,
			      r->family->size_of_experts ? "intermediate_size"
							 : "moe_intermediate_size",
			      t->experts);
	dense = config_number(r, "intermediate_size_mlp", 1, CONFIG_MAX_SIZE);
	if (dense)
		t->intermediate = dense;
	if (!t->experts && r->family->dense_is_shared && t->shared_size)
		t->intermediate = t->shared_size;
	if (!t->experts)
		t->shared_size = 0;
	else if (!t->shared_size && r->family->shared_like_expert)
		t->shared_size = t->expert_size;
	else if (!t->shared_size)
		t->shared_size = shared * t->expert_size;
	else if (shared > 1)
		t->shared_size *= shared;
}

/* -------------------------------------------------------------------- model */

static void read_sizes(struct config_reader *r)
{
	const struct sim_family_sizes *sizes = &r->family->missing;
	struct sim_transformer *t = r->t;

	t->hidden = config_need(r, "hidden_size n_embd n_embed d_model", CONFIG_MAX_SIZE,
				sizes->hidden);
	t->layers = config_need(r, "num_hidden_layers n_layer num_layers n_layers",
				CONFIG_MAX_LAYERS, sizes->layers);
	t->heads = config_need(r, "num_attention_heads n_head n_heads", CONFIG_MAX_HEADS,
			       sizes->heads);
	t->kv_rank = config_number(r, "kv_lora_rank", 1, CONFIG_MAX_SIZE);
	t->intermediate = config_number_or(r, "intermediate_size n_inner ffn_dim ffn_hidden_size",
					   CONFIG_MAX_SIZE, *r->nest ? sizes->intermediate : 0);
	if (!t->intermediate && r->family->four_hidden) {
		t->intermediate = 4 * t->hidden;
		sim_note(t, SIM_EXACT, "n_inner is missing: 4 x n_embd, as model_type %s has it",
			 t->type);
	}
}

/* Are attention and MLP side by side, of one norm? */
static void read_order(struct config_reader *r)
{
	struct sim_transformer *t = r->t;
	bool said = config_field(r, "use_parallel_residual") || config_field(r, "parallel_attn");
	bool beside = config_flag(r, "use_parallel_residual", false);

	beside |= config_flag(r, "parallel_attn", false);
	t->beside = said ? beside : r->family->beside;
	t->beside |= config_flag(r, "new_decoder_architecture", false);
	if (!t->beside)
		return;
	if (t->experts || t->kv_rank)
		config_refuse(
			r,
			"%s%s is set, and attention and MLP are side by side, which this does "
			"not model together",
			r->nest, t->experts ? "num_experts_per_tok" : "kv_lora_rank");
	sim_note(t, SIM_APPROXIMATED,
		 "attention and MLP are side by side: the GEMMs before them are one, those after "
		 "them are one with one all-reduce, and there is one norm");
}

static void read_dtype(struct config_reader *r)
{
	json_t *type = config_field(r, "torch_dtype"), *newer = config_field(r, "dtype");
	const char *name;

	type = type ? type : newer;
	if (!type)
		type = json_object_get(r->top, "torch_dtype");
	if (!type)
		type = json_object_get(r->top, "dtype");
	name = json_is_string(type) ? json_string_value(type) : "";
	if (!strcmp(name, "bfloat16") || !strcmp(name, "float16"))
		r->t->element_bytes = 2;
	else if (!strcmp(name, "float32"))
		r->t->element_bytes = 4;
	else if (!strcmp(name, "float64"))
		r->t->element_bytes = 8;
}

/* ---------------------------------------------------------------- what is left */

static void note_rest(struct config_reader *r)
{
	json_t *quantization = config_field(r, "quantization_config"), *value;
	uint64_t more = config_number(r, "num_nextn_predict_layers", 0, CONFIG_MAX_LAYERS);
	const char *const *harmless, *name;

	if (!quantization)
		quantization = json_object_get(r->top, "quantization_config");
	if (config_is_set(quantization))
		sim_note(r->t, SIM_APPROXIMATED,
			 "quantization_config is not used: all operands have "
			 "the size of --dtype");
	if (more)
		sim_note(r->t, SIM_LEFT_OUT,
			 "num_nextn_predict_layers: %" PRIu64 " layers that "
			 "predict more tokens",
			 more);
	for (harmless = sim_harmless_fields; *harmless; harmless++)
		config_field(r, *harmless);
	json_object_foreach(r->config, name, value)
	{
		if (json_object_get(r->read, name) || !config_is_set(value))
			continue;
		if (!r->t->experts && (strstr(name, "expert") || strstr(name, "moe")))
			config_refuse(r, "%s%.64s is set, and this finds no experts in the file",
				      r->nest, name);
		sim_note(r->t, SIM_LEFT_OUT, "field %s%.64s is not read", r->nest, name);
	}
	if (r->config == r->top)
		return;
	json_object_foreach(r->top, name, value) if (json_is_object(value) && value != r->config &&
						     strcmp(name, "quantization_config"))
		sim_note(r->t, SIM_LEFT_OUT, "%.64s is not read: only %.*s is modelled", name,
			 (int)strlen(r->nest) - 1, r->nest);
}

/* A model of text and images has its text model in an object of its own. */
static void choose_object(struct config_reader *r)
{
	static const char *const nests[] = { "text_config.", "llm_config.", "language_config." };
	char name[32];
	json_t *inner;
	size_t i;

	r->config = r->top;
	r->nest = "";
	for (i = 0; i < sizeof(nests) / sizeof(nests[0]) && !*r->nest; i++) {
		snprintf(name, sizeof(name), "%.*s", (int)strlen(nests[i]) - 1, nests[i]);
		inner = json_object_get(r->top, name);
		if (!inner || json_is_null(inner))
			continue;
		if (!json_is_object(inner)) {
			config_refuse_value(r, name, inner, "an object");
			return;
		}
		r->config = inner;
		r->nest = nests[i];
	}
}

static void read_model(struct config_reader *r, enum sim_mlp mlp)
{
	void (*const attention[])(struct config_reader * r) = { read_heads, read_latent };

	choose_object(r);
	if (!r->json.bad)
		find_family(r, mlp);
	if (!r->json.bad)
		read_sizes(r);
	if (!r->json.bad)
		attention[r->t->kv_rank != 0](r);
	if (!r->json.bad)
		read_experts(r);
	if (!r->json.bad)
		config_read_layers(r);
	if (!r->json.bad)
		read_order(r);
	if (!r->json.bad)
		read_dtype(r);
	if (!r->json.bad)
		note_rest(r);
}

bool sim_transformer_read(FILE *file, enum sim_mlp mlp, struct sim_transformer *t, char *why)
{
	struct config_reader r = {
		.t = t, .json = { .why = why }, .nest = "", .read = json_object()
	};

	*t = (struct sim_transformer){ .notes = json_pack("{s:[], s:[], s:[]}", "exact",
							  "approximated", "left_out") };
	r.top = sim_json_load(file, MAX_FILE, &r.json);
	if (!r.json.bad && t->notes && r.read)
		read_model(&r, mlp);
	else
		config_refuse(&r, "there is no memory for it");
	if (r.json.bad)
		sim_transformer_free(t);
	free(r.sliding);
	free(r.experts);
	json_decref(r.read);
	json_decref(r.top);
	return !r.json.bad;
}

void sim_transformer_free(struct sim_transformer *t)
{
	json_decref(t->notes);
	*t = (struct sim_transformer){ 0 };
}
