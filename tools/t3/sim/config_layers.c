// SPDX-License-Identifier: MIT
/* The kind of each layer: which ones slide, and which ones have experts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config_fields.h"

/* Llama 4's position embedding is left out of the last layer of so many, which attends to all. */
#define ROPE_PATTERN 4u

/* ------------------------------------------------------------------- windows */

/* The names that layer_types may list. A chunk is a window whose place is another one. */
static const struct {
	const char *name;
	bool sliding, chunked;
} layer_types[] = {
	{ "full_attention", false, false },
	{ "attention", false, false },
	{ "sliding_attention", true, false },
	{ "chunked_attention", true, true },
};

/* Of a list of layer_types. Are there chunks in it? */
static bool read_layer_types(struct config_reader *r, const json_t *types)
{
	const size_t known = sizeof(layer_types) / sizeof(layer_types[0]);
	bool chunked = false, sliding = false;
	const json_t *one;
	const char *name;
	size_t i, k;

	if (!json_is_array(types) || json_array_size(types) != r->t->layers)
		return config_refuse(r,
				     "%slayer_types must be a list of num_hidden_layers, %" PRIu64
				     ", names",
				     r->nest, r->t->layers);
	json_array_foreach(types, i, one)
	{
		name = json_is_string(one) ? json_string_value(one) : "";
		for (k = 0; k < known && strcmp(name, layer_types[k].name); k++)
			;
		if (k == known)
			return config_refuse(r,
					     "%slayer_types[%zu] is '%.40s' and must be "
					     "full_attention, sliding_attention or "
					     "chunked_attention: no other layer is modelled",
					     r->nest, i, name);
		r->sliding[i] = layer_types[k].sliding;
		chunked |= layer_types[k].chunked;
		sliding |= layer_types[k].sliding && !layer_types[k].chunked;
	}
	if (chunked && sliding)
		config_refuse(
			r,
			"%slayer_types has sliding_attention and chunked_attention: one window "
			"is modelled",
			r->nest);
	return chunked;
}

/* Layers with position embedding attend to their chunk. A list says which ones have one. */
static void read_rope_layers(struct config_reader *r)
{
	uint64_t every = config_number(r, "no_rope_layer_interval", 1, CONFIG_MAX_LAYERS), i;
	const json_t *list = config_field(r, "no_rope_layers");

	if (json_array_size(list) && json_array_size(list) != r->t->layers)
		config_refuse(r,
			      "%sno_rope_layers must be a list of num_hidden_layers, %" PRIu64
			      ", numbers",
			      r->nest, r->t->layers);
	every = every ? every : ROPE_PATTERN;
	for (i = 0; i < r->t->layers; i++)
		r->sliding[i] = json_array_size(list)
					? json_integer_value(json_array_get(list, i)) != 0
					: (i + 1) % every != 0;
}

/* Without layer_types, the model_type says which layers slide. */
static void slide_by_family(struct config_reader *r)
{
	const struct sim_family *family = r->family;
	bool late = family->sliding == LATE_SLIDE;
	uint64_t from = config_number(r, "max_window_layers", 0, CONFIG_MAX_LAYERS), i;
	uint64_t pattern = config_number(r, "sliding_window_pattern _sliding_window_pattern", 1,
					 CONFIG_MAX_LAYERS);

	if (family->sliding == NOT_SAID || family->sliding == CHUNKS_BY_ROPE)
		config_refuse(r,
			      "%ssliding_window is %" PRIu64 ", and no layer_types says in "
			      "which layers",
			      r->nest, r->t->window);
	pattern = pattern ? pattern : family->pattern ? family->pattern : 1;
	for (i = 0; i < r->t->layers; i++)
		r->sliding[i] = family->sliding == ALL_SLIDE || (late && i >= from) ||
				(family->sliding == EVEN_SLIDE && i % 2 == 0) ||
				(family->sliding == PATTERN_SLIDES && (i + 1) % pattern);
}

/* Layers whose tokens attend to a window, or to their chunk, only. */
static void read_windows(struct config_reader *r)
{
	struct sim_transformer *t = r->t;
	bool late = r->family->sliding == LATE_SLIDE;
	bool by_rope = r->family->sliding == CHUNKS_BY_ROPE, chunked = false, any = false;
	bool uses = config_flag(r, "use_sliding_window", !late);
	uint64_t chunk = config_number(r, "attention_chunk_size", 1, CONFIG_MAX_SIZE), i;
	json_t *types = config_field(r, "layer_types");
	bool has_window = json_object_get(r->config, "sliding_window"); /* it may be null */

	t->window = config_number_or(r, "sliding_window", CONFIG_MAX_SIZE,
				     has_window || types ? 0 : r->family->missing.window);
	if (types) {
		chunked = read_layer_types(r, types);
	} else if (by_rope && chunk) {
		chunked = true;
		read_rope_layers(r);
	} else if (chunk) {
		config_refuse(r,
			      "%sattention_chunk_size is %" PRIu64
			      ", and no layer_types says in which layers",
			      r->nest, chunk);
	} else if (t->window && uses) {
		slide_by_family(r);
	}
	if (chunked)
		t->window = chunk;
	for (i = 0; i < t->layers; i++)
		any |= r->sliding[i];
	if (any && !t->window)
		config_refuse(r, "%s%s is missing, and layers slide", r->nest,
			      chunked ? "attention_chunk_size" : "sliding_window");
	if (chunked && any)
		sim_note(t, SIM_EXACT,
			 "a layer with chunked attention is called sliding: each token attends to "
			 "as many others, attention_chunk_size %" PRIu64,
			 t->window);
}

/* ------------------------------------------------------------------- experts */

/* Layers that a list names have experts, or none. False: the file has no such list. */
static bool read_listed_layers(struct config_reader *r, const char *name, bool experts)
{
	const json_t *list = config_field(r, name), *one;
	size_t i;

	if (list && !json_is_array(list))
		config_refuse_value(r, name, list, "a list of layers");
	json_array_foreach(list, i, one) if (config_in_range(r, name, one, 0, r->t->layers - 1))
		r->experts[json_integer_value(one)] = experts;
	return list;
}

/* One in so many layers, or a list with a 1 for each layer that has experts. */
static void read_frequency(struct config_reader *r)
{
	const json_t *frequency = config_field(r, "moe_layer_freq"), *one;
	json_int_t every = 1;
	size_t i;

	if (json_is_array(frequency) && json_array_size(frequency) == r->t->layers) {
		json_array_foreach(frequency, i,
				   one) if (config_in_range(r, "moe_layer_freq", one, 0, 1) &&
					    !json_integer_value(one)) r->experts[i] = false;
		return;
	}
	if (json_is_array(frequency))
		config_refuse(r,
			      "%smoe_layer_freq must be a number, or a list of num_hidden_layers, "
			      "%" PRIu64 ", numbers",
			      r->nest, r->t->layers);
	else if (frequency && config_in_range(r, "moe_layer_freq", frequency, 1, CONFIG_MAX_LAYERS))
		every = json_integer_value(frequency);
	for (i = 0; i < r->t->layers; i++)
		if (i % (size_t)every)
			r->experts[i] = false;
}

/* -1 is the last layer. */
static uint64_t last_expert_layer(struct config_reader *r)
{
	const json_t *end = config_field(r, "moe_layer_end_index");

	if (json_integer_value(end) == -1 || !end ||
	    !config_in_range(r, "moe_layer_end_index", end, 0, CONFIG_MAX_LAYERS))
		return r->t->layers - 1;
	return (uint64_t)json_integer_value(end);
}

static void find_experts(struct config_reader *r)
{
	uint64_t first =
		config_number(r, "first_k_dense_replace moe_layer_start_index num_dense_layers", 0,
			      CONFIG_MAX_LAYERS);
	uint64_t step =
		config_number(r, "decoder_sparse_step interleave_moe_layer_step moe_layer_interval",
			      1, CONFIG_MAX_LAYERS);
	uint64_t last = last_expert_layer(r), i;

	if (!read_listed_layers(r, "moe_layers", r->t->experts != 0))
		for (i = 0; i < r->t->layers; i++)
			r->experts[i] = r->t->experts && i >= first && i <= last &&
					(!step || (i + 1) % step == 0);
	read_frequency(r);
	read_listed_layers(r, "mlp_only_layers", false);
}

/* --------------------------------------------------------------------- kinds */

void config_read_layers(struct config_reader *r)
{
	struct sim_transformer *t = r->t;
	bool dense = false;
	uint64_t i, kind;

	r->sliding = calloc(t->layers, sizeof(*r->sliding));
	r->experts = calloc(t->layers, sizeof(*r->experts));
	if (!r->sliding || !r->experts) {
		config_refuse(r, "there is no memory for the layers");
		return;
	}
	read_windows(r);
	find_experts(r);
	for (i = 0; i < t->layers; i++) {
		kind = (r->sliding[i] ? SIM_LAYER_SLIDING : 0) |
		       (r->experts[i] ? SIM_LAYER_EXPERTS : 0);
		t->count[kind]++;
		dense |= !r->experts[i];
	}
	if (dense && !t->intermediate)
		config_refuse(r, "%sintermediate_size is missing, and %s", r->nest,
			      t->experts ? "some layers have no experts" : "there are no experts");
}
