// SPDX-License-Identifier: MIT
/* Reads a config.json. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sim/json_file.h"
#include "sim/model_file.h"
#include "sim/transformer.h"

#define MAX_FILE   ((size_t)1 << 22)
#define MAX_LAYERS 10000u
#define MAX_SIZE   ((uint64_t)1 << 24) /* of hidden, intermediate and ranks */
#define MAX_HEADS  ((uint64_t)1 << 16) /* and head sizes, experts */

/* How layers slide if the file has a window, but no layer_types. */
enum sliding { NOT_SAID, ALL_SLIDE, LATE_SLIDE, EVEN_SLIDE, PATTERN_SLIDES };

/* Model types: what their modelling code does, and no field says. */
static const struct family {
	const char *type;
	bool plain;	      /* the MLP has no gate */
	bool size_of_experts; /* intermediate_size is that of an expert */
	bool four_hidden;     /* no intermediate_size: 4 x hidden */
	enum sliding sliding;
} families[] = {
	{ "llama", .sliding = NOT_SAID },
	{ "mistral", .sliding = ALL_SLIDE },
	{ "ministral", .sliding = ALL_SLIDE },
	{ "mixtral", .size_of_experts = true, .sliding = ALL_SLIDE },
	{ "qwen2", .sliding = LATE_SLIDE },
	{ "qwen3", .sliding = LATE_SLIDE },
	{ "qwen2_moe", .sliding = LATE_SLIDE },
	{ "qwen3_moe", .sliding = LATE_SLIDE },
	{ "qwen2_5_vl_text", .sliding = LATE_SLIDE },
	{ "qwen3_vl_text", .sliding = LATE_SLIDE },
	{ "qwen3_vl_moe_text", .sliding = LATE_SLIDE },
	{ "deepseek_v2", .sliding = NOT_SAID },
	{ "deepseek_v3", .sliding = NOT_SAID },
	{ "kimi_k2", .sliding = NOT_SAID },
	{ "gpt_oss", .size_of_experts = true, .sliding = NOT_SAID },
	{ "gemma", .sliding = NOT_SAID },
	{ "gemma2", .sliding = EVEN_SLIDE },
	{ "gemma3_text", .sliding = PATTERN_SLIDES },
	{ "phi3", .sliding = ALL_SLIDE },
	{ "phimoe", .size_of_experts = true, .sliding = ALL_SLIDE },
	{ "olmo", .sliding = NOT_SAID },
	{ "olmo2", .sliding = NOT_SAID },
	{ "olmoe", .size_of_experts = true, .sliding = NOT_SAID },
	{ "granite", .sliding = NOT_SAID },
	{ "granitemoe", .size_of_experts = true, .sliding = NOT_SAID },
	{ "glm4", .sliding = NOT_SAID },
	{ "glm4_moe", .sliding = NOT_SAID },
	{ "internlm2", .sliding = NOT_SAID },
	{ "gpt2", .plain = true, .four_hidden = true, .sliding = NOT_SAID },
	{ "gpt_bigcode", .plain = true, .four_hidden = true, .sliding = NOT_SAID },
	{ "opt", .plain = true, .sliding = NOT_SAID },
	{ "starcoder2", .plain = true, .sliding = ALL_SLIDE },
	{ "nemotron", .plain = true, .sliding = NOT_SAID },
};

/* Fields that change a layer in a way that the model of an iteration does not have. */
static const struct {
	const char *name, *reason;
} refused[] = {
	{ "is_encoder_decoder", "its decoder attends to an encoder" },
	{ "use_parallel_residual", "attention and MLP are side by side, with one all-reduce" },
	{ "parallel_attn", "attention and MLP are side by side, with one all-reduce" },
	{ "new_decoder_architecture", "attention and MLP are side by side, with one all-reduce" },
	{ "layers_block_type", "some layers are no attention" },
	{ "block_types", "some layers are no attention" },
	{ "_block_types", "some layers are no attention" },
	{ "attn_layer_period", "some layers are no attention" },
	{ "attn_layer_indices", "some layers are no attention" },
	{ "full_attention_interval", "some layers are no attention" },
	{ "hybrid_override_pattern", "some layers are no attention" },
	{ "attn_type_list", "some layers are no softmax attention" },
	{ "linear_attn_config", "some layers are no softmax attention" },
	{ "linear_num_value_heads", "some layers are no softmax attention" },
	{ "ssm_cfg", "layers are state spaces, not attention" },
	{ "state_size", "layers are state spaces, not attention" },
	{ "ssm_state_size", "layers are state spaces, not attention" },
	{ "mamba_d_state", "layers are state spaces, not attention" },
	{ "mamba_num_heads", "layers are state spaces, not attention" },
	{ "cross_attention_layers", "some layers attend to images" },
	{ "block_configs", "each layer has sizes of its own" },
	{ "num_kv_shared_layers", "some layers have no keys of their own" },
	{ "index_topk", "an index chooses the tokens that are attended to" },
	{ "interleave_moe_layer_step", "it is not known which layers have experts" },
	{ "zero_expert_num", "some experts compute nothing" },
};

/* Fields on which no time depends here. */
static const char *const harmless[] = {
	"architectures",
	"auto_map",
	"transformers_version",
	"_name_or_path",
	"bos_token_id",
	"eos_token_id",
	"pad_token_id",
	"sep_token_id",
	"decoder_start_token_id",
	"hidden_act",
	"hidden_activation",
	"activation_function",
	"swiglu_limit",
	"attention_dropout",
	"hidden_dropout",
	"embd_pdrop",
	"resid_pdrop",
	"attn_pdrop",
	"dropout",
	"initializer_range",
	"max_position_embeddings",
	"initial_context_length",
	"n_positions",
	"n_ctx",
	"rope_theta",
	"rope_scaling",
	"rope_parameters",
	"rope_local_base_freq",
	"partial_rotary_factor",
	"original_max_position_embeddings",
	"rope_interleave",
	"rms_norm_eps",
	"layer_norm_eps",
	"layer_norm_epsilon",
	"norm_epsilon",
	"use_cache",
	"tie_word_embeddings",
	"vocab_size",
	"output_router_logits",
	"router_aux_loss_coef",
	"router_jitter_noise",
	"norm_topk_prob",
	"routed_scaling_factor",
	"scoring_func",
	"topk_group",
	"n_group",
	"topk_method",
	"aux_loss_alpha",
	"seq_aux",
	"pretraining_tp",
	"ep_size",
	"attention_bias",
	"mlp_bias",
	"qkv_bias",
	"bias",
	"use_bias",
	"use_qk_norm",
	"query_pre_attn_scalar",
	"attn_logit_softcapping",
	"final_logit_softcapping",
	"attn_implementation",
	"_attn_implementation",
	"cache_implementation",
	"id2label",
	"label2id",
	"problem_type",
	"unsloth_fixed",
	"image_token_id",
	"image_token_index",
	"boi_token_index",
	"eoi_token_index",
	"is_decoder",
	"add_cross_attention",
};

struct reader {
	struct sim_transformer *t;
	json_t *top, *config; /* the file's object, and the one that has the model */
	const char *nest;     /* "text_config.", or "" */
	json_t *read;	      /* names of fields that were looked at */
	const struct family *family;
	bool *sliding, *experts; /* of each layer */
	struct sim_json json;
};

/* ------------------------------------------------------------------ sentences */

__attribute__((format(printf, 2, 3))) static bool refuse(struct reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	sim_json_vrefuse(&r->json, format, args);
	va_end(args);
	return false;
}

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

/* -------------------------------------------------------------------- fields */

/* NULL: the file has no such field, or it is null. */
static json_t *field(struct reader *r, const char *name)
{
	json_t *value = json_object_get(r->config, name);

	json_object_set_new(r->read, name, json_true());
	return json_is_null(value) ? NULL : value;
}

static bool refuse_value(struct reader *r, const char *name, const json_t *value, const char *must)
{
	return sim_json_refuse_value(&r->json, r->nest, name, value, must);
}

static bool in_range(struct reader *r, const char *name, const json_t *value, uint64_t min,
		     uint64_t max)
{
	return sim_json_in_range(&r->json, r->nest, name, value, min, max);
}

/* Of a field with several names, the one that the file has. 0: it has none of them. */
static uint64_t number(struct reader *r, const char *names, uint64_t min, uint64_t max)
{
	char list[128], *rest = NULL, *name, first[64] = "";
	uint64_t found = 0;
	json_t *value;

	snprintf(list, sizeof(list), "%s", names);
	for (name = strtok_r(list, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		value = field(r, name);
		if (!value || !in_range(r, name, value, min, max))
			continue;
		if (*first && found != (uint64_t)json_integer_value(value))
			refuse(r, "%s%s and %s%s differ", r->nest, first, r->nest, name);
		found = (uint64_t)json_integer_value(value);
		snprintf(first, sizeof(first), "%s", name);
	}
	return found;
}

/* A number without which there is no model. The first of its names is the usual one. */
static uint64_t need(struct reader *r, const char *names, uint64_t max)
{
	uint64_t found = number(r, names, 1, max);

	if (!found)
		refuse(r, "%s%.*s is missing", r->nest, (int)strcspn(names, " "), names);
	return found;
}

/* False, 0, "", [] and null say that a field does nothing. */
static bool is_set(const json_t *value)
{
	if (json_is_integer(value))
		return json_integer_value(value);
	if (json_is_string(value))
		return *json_string_value(value);
	if (json_is_array(value))
		return json_array_size(value);
	return value && !json_is_null(value) && !json_is_false(value);
}

static bool flag(struct reader *r, const char *name, bool missing)
{
	json_t *value = field(r, name);

	if (value && !json_is_boolean(value))
		refuse_value(r, name, value, "true or false");
	return value ? json_is_true(value) : missing;
}

/* ---------------------------------------------------------------- model type */

static void find_family(struct reader *r, enum sim_mlp mlp)
{
	static const struct family unknown = { "", .sliding = NOT_SAID };
	json_t *type = field(r, "model_type");
	size_t i;

	if (!type)
		type = json_object_get(r->top, "model_type");
	if (!json_is_string(type)) {
		refuse(r, "%smodel_type is missing, or no string", r->nest);
		return;
	}
	sim_escape(r->t->type, sizeof(r->t->type), json_string_value(type));
	r->family = &unknown;
	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strcmp(r->t->type, families[i].type))
			r->family = &families[i];
	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (is_set(field(r, refused[i].name)))
			refuse(r, "%s%s is set: %s, which this does not model", r->nest,
			       refused[i].name, refused[i].reason);
	if (r->family == &unknown && mlp == SIM_MLP_BY_TYPE)
		refuse(r,
		       "%smodel_type is '%s', which this does not know; --mlp gated or --mlp plain "
		       "reads it by its fields",
		       r->nest, r->t->type);
	if (r->family == &unknown)
		sim_note(r->t, SIM_APPROXIMATED,
			 "model_type '%s' is not known: it was read by its "
			 "fields and --mlp",
			 r->t->type);
	r->t->gated = mlp == SIM_MLP_BY_TYPE ? !r->family->plain : mlp == SIM_MLP_GATED;
}

/* ----------------------------------------------------------------- attention */

static void read_latent(struct reader *r)
{
	struct sim_transformer *t = r->t;
	uint64_t nope = need(r, "qk_nope_head_dim", MAX_HEADS);

	t->rope_dim = need(r, "qk_rope_head_dim", MAX_HEADS);
	t->q_rank = number(r, "q_lora_rank", 0, MAX_SIZE);
	t->key_dim = nope + t->rope_dim;
	t->value_dim = need(r, "v_head_dim", MAX_HEADS);
	t->kv_heads = t->heads;
	if (field(r, "head_dim"))
		sim_note(t, SIM_EXACT,
			 "head_dim is not used: latent attention has sizes of its own");
	number(r, "num_key_value_heads", 1, MAX_HEADS);
	number(r, "qk_head_dim", 1, MAX_HEADS);
}

static void read_heads(struct reader *r)
{
	struct sim_transformer *t = r->t;

	t->key_dim = number(r, "head_dim attention_head_dim kv_channels", 1, MAX_HEADS);
	if (!t->key_dim && t->heads && t->hidden % t->heads)
		refuse(r,
		       "%shead_dim is missing, and num_attention_heads %" PRIu64
		       " does not divide hidden_size %" PRIu64,
		       r->nest, t->heads, t->hidden);
	if (!t->key_dim && t->heads) {
		t->key_dim = t->hidden / t->heads;
		sim_note(t, SIM_EXACT,
			 "head_dim is missing: hidden_size / num_attention_heads = %" PRIu64,
			 t->key_dim);
	}
	t->value_dim = t->key_dim;
	t->kv_heads = flag(r, "multi_query", false)
			      ? 1
			      : number(r, "num_key_value_heads num_kv_heads", 1, MAX_HEADS);
	if (!t->kv_heads) {
		t->kv_heads = t->heads;
		sim_note(t, SIM_EXACT,
			 "num_key_value_heads is missing: num_attention_heads = %" PRIu64,
			 t->heads);
	}
	if (t->heads % t->kv_heads)
		refuse(r,
		       "%snum_key_value_heads is %" PRIu64 " and must divide "
		       "num_attention_heads, %" PRIu64,
		       r->nest, t->kv_heads, t->heads);
}

static void read_layer_types(struct reader *r, const json_t *types)
{
	const json_t *one;
	const char *name;
	size_t i;

	if (!json_is_array(types) || json_array_size(types) != r->t->layers) {
		refuse(r, "%slayer_types must be a list of num_hidden_layers, %" PRIu64 ", names",
		       r->nest, r->t->layers);
		return;
	}
	json_array_foreach(types, i, one)
	{
		name = json_is_string(one) ? json_string_value(one) : "";
		r->sliding[i] = !strcmp(name, "sliding_attention");
		if (!r->sliding[i] && strcmp(name, "full_attention"))
			refuse(r,
			       "%slayer_types[%zu] is '%.40s' and must be full_attention or "
			       "sliding_attention: no other layer is modelled",
			       r->nest, i, name);
	}
}

/* Layers whose tokens attend to a window only. */
static void read_windows(struct reader *r)
{
	struct sim_transformer *t = r->t;
	bool late = r->family->sliding == LATE_SLIDE;
	json_t *types = field(r, "layer_types");
	bool uses = flag(r, "use_sliding_window", !late);
	uint64_t from = number(r, "max_window_layers", 0, MAX_LAYERS), i;
	uint64_t pattern = number(r, "sliding_window_pattern", 1, MAX_LAYERS);
	bool any = false;

	t->window = number(r, "sliding_window", 1, MAX_SIZE);
	if (types) {
		read_layer_types(r, types);
	} else if (t->window && uses) {
		if (r->family->sliding == NOT_SAID)
			refuse(r,
			       "%ssliding_window is %" PRIu64 ", and no layer_types says in "
			       "which layers",
			       r->nest, t->window);
		pattern = pattern ? pattern : 6;
		for (i = 0; i < t->layers; i++)
			r->sliding[i] = r->family->sliding == ALL_SLIDE || (late && i >= from) ||
					(r->family->sliding == EVEN_SLIDE && i % 2 == 0) ||
					(r->family->sliding == PATTERN_SLIDES && (i + 1) % pattern);
	}
	for (i = 0; i < t->layers; i++)
		any |= r->sliding[i];
	if (any && !t->window)
		refuse(r, "%ssliding_window is missing, and layers slide", r->nest);
}

/* ------------------------------------------------------------------- experts */

/* The layers that mlp_only_layers lists have no experts. */
static void read_dense_layers(struct reader *r)
{
	const json_t *list = field(r, "mlp_only_layers"), *one;
	size_t i;

	if (list && !json_is_array(list))
		refuse_value(r, "mlp_only_layers", list, "a list of layers");
	json_array_foreach(list, i,
			   one) if (in_range(r, "mlp_only_layers", one, 0, r->t->layers - 1))
		r->experts[json_integer_value(one)] = false;
}

/* One in so many layers, or a list with a 1 for each layer that has experts. */
static void read_frequency(struct reader *r)
{
	const json_t *frequency = field(r, "moe_layer_freq"), *one;
	json_int_t every = 1;
	size_t i;

	if (json_is_array(frequency) && json_array_size(frequency) == r->t->layers) {
		json_array_foreach(frequency, i,
				   one) if (in_range(r, "moe_layer_freq", one, 0, 1) &&
					    !json_integer_value(one)) r->experts[i] = false;
		return;
	}
	if (json_is_array(frequency))
		refuse(r,
		       "%smoe_layer_freq must be a number, or a list of num_hidden_layers, %" PRIu64
		       ", numbers",
		       r->nest, r->t->layers);
	else if (frequency && in_range(r, "moe_layer_freq", frequency, 1, MAX_LAYERS))
		every = json_integer_value(frequency);
	for (i = 0; i < r->t->layers; i++)
		if (i % (size_t)every)
			r->experts[i] = false;
}

static void read_experts(struct reader *r)
{
	struct sim_transformer *t = r->t;
	uint64_t shared;

	t->experts = number(r, "num_local_experts num_experts n_routed_experts", 0, MAX_HEADS);
	t->top_k = number(r, "num_experts_per_tok experts_per_token num_experts_per_token", 0,
			  MAX_HEADS);
	t->expert_size = number(r, "moe_intermediate_size", 1, MAX_SIZE);
	shared = number(r, "n_shared_experts num_shared_experts", 0, MAX_HEADS);
	t->shared_size =
		number(r, "shared_expert_intermediate_size shared_intermediate_size", 0, MAX_SIZE);
	if (t->experts && !t->top_k)
		refuse(r, "%snum_experts_per_tok is missing, and there are %" PRIu64 " experts",
		       r->nest, t->experts);
	if (t->experts && t->top_k > t->experts)
		refuse(r, "%snum_experts_per_tok is %" PRIu64 ", and there are %" PRIu64 " experts",
		       r->nest, t->top_k, t->experts);
	if (t->experts && !t->expert_size && r->family->size_of_experts)
		t->expert_size = t->intermediate;
	if (t->experts && !t->expert_size)
		refuse(r, "%s%s is missing, and there are %" PRIu64 " experts", r->nest,
		       r->family->size_of_experts ? "intermediate_size" : "moe_intermediate_size",
		       t->experts);
	if (!t->experts)
		t->shared_size = 0;
	else if (!t->shared_size)
		t->shared_size = shared * t->expert_size;
	else if (shared > 1)
		t->shared_size *= shared;
}

/* -------------------------------------------------------------------- model */

static void read_sizes(struct reader *r)
{
	struct sim_transformer *t = r->t;

	t->hidden = need(r, "hidden_size n_embd d_model", MAX_SIZE);
	t->layers = need(r, "num_hidden_layers n_layer num_layers n_layers", MAX_LAYERS);
	t->heads = need(r, "num_attention_heads n_head n_heads", MAX_HEADS);
	t->kv_rank = number(r, "kv_lora_rank", 1, MAX_SIZE);
	t->intermediate =
		number(r, "intermediate_size n_inner ffn_dim ffn_hidden_size", 1, MAX_SIZE);
	if (!t->intermediate && r->family->four_hidden) {
		t->intermediate = 4 * t->hidden;
		sim_note(t, SIM_EXACT, "n_inner is missing: 4 x n_embd, as model_type %s has it",
			 t->type);
	}
}

static void read_layers(struct reader *r)
{
	struct sim_transformer *t = r->t;
	uint64_t first = number(r, "first_k_dense_replace", 0, MAX_LAYERS);
	uint64_t step = number(r, "decoder_sparse_step", 1, MAX_LAYERS);
	bool dense = false;
	uint64_t i, kind;

	r->sliding = calloc(t->layers, sizeof(*r->sliding));
	r->experts = calloc(t->layers, sizeof(*r->experts));
	if (!r->sliding || !r->experts) {
		refuse(r, "there is no memory for the layers");
		return;
	}
	read_windows(r);
	for (i = 0; i < t->layers; i++)
		r->experts[i] = t->experts && i >= first && (!step || (i + 1) % step == 0);
	read_frequency(r);
	read_dense_layers(r);
	for (i = 0; i < t->layers; i++) {
		kind = (r->sliding[i] ? SIM_LAYER_SLIDING : 0) |
		       (r->experts[i] ? SIM_LAYER_EXPERTS : 0);
		t->count[kind]++;
		dense |= !r->experts[i];
	}
	if (dense && !t->intermediate)
		refuse(r, "%sintermediate_size is missing, and %s", r->nest,
		       t->experts ? "some layers have no experts" : "there are no experts");
}

static void read_dtype(struct reader *r)
{
	json_t *type = field(r, "torch_dtype"), *newer = field(r, "dtype");
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

static void note_rest(struct reader *r)
{
	json_t *quantization = field(r, "quantization_config"), *value;
	uint64_t more = number(r, "num_nextn_predict_layers", 0, MAX_LAYERS);
	const char *name;
	size_t i;

	if (!quantization)
		quantization = json_object_get(r->top, "quantization_config");
	if (is_set(quantization))
		sim_note(r->t, SIM_APPROXIMATED,
			 "quantization_config is not used: all operands have "
			 "the size of --dtype");
	if (more)
		sim_note(r->t, SIM_LEFT_OUT,
			 "num_nextn_predict_layers: %" PRIu64 " layers that "
			 "predict more tokens",
			 more);
	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		field(r, harmless[i]);
	json_object_foreach(r->config, name,
			    value) if (!json_object_get(r->read, name) && is_set(value))
		sim_note(r->t, SIM_LEFT_OUT, "field %s%.64s is not read", r->nest, name);
	if (r->config == r->top)
		return;
	json_object_foreach(r->top, name, value) if (json_is_object(value) && value != r->config &&
						     strcmp(name, "quantization_config"))
		sim_note(r->t, SIM_LEFT_OUT, "%.64s is not read: only %.*s is modelled", name,
			 (int)strlen(r->nest) - 1, r->nest);
}

/* A model of text and images has its text model in an object of its own. */
static void choose_object(struct reader *r)
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
			refuse_value(r, name, inner, "an object");
			return;
		}
		r->config = inner;
		r->nest = nests[i];
	}
}

static void read_model(struct reader *r, enum sim_mlp mlp)
{
	void (*const attention[])(struct reader * r) = { read_heads, read_latent };

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
		read_layers(r);
	if (!r->json.bad)
		read_dtype(r);
	if (!r->json.bad)
		note_rest(r);
}

bool sim_transformer_read(FILE *file, enum sim_mlp mlp, struct sim_transformer *t, char *why)
{
	struct reader r = { .t = t, .json = { .why = why }, .nest = "", .read = json_object() };

	*t = (struct sim_transformer){ .notes = json_pack("{s:[], s:[], s:[]}", "exact",
							  "approximated", "left_out") };
	r.top = sim_json_load(file, MAX_FILE, &r.json);
	if (!r.json.bad && t->notes && r.read)
		read_model(&r, mlp);
	else
		refuse(&r, "there is no memory for it");
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
