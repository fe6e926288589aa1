/* SPDX-License-Identifier: MIT */
/*
 * Families of models by the model_type of their config.json: what their modelling code does, and no
 * field says. And the fields that matter to none, or that are refused.
 */
#ifndef T3_SIM_FAMILIES_H
#define T3_SIM_FAMILIES_H

#include <stdbool.h>
#include <stdint.h>

/* How layers slide if the file has a window, but no layer_types. */
enum sim_sliding { NOT_SAID, ALL_SLIDE, LATE_SLIDE, EVEN_SLIDE, PATTERN_SLIDES, CHUNKS_BY_ROPE };

/* Sizes of the model_type itself, which a file may leave out. 0: it has none. */
struct sim_family_sizes {
	/* A text_config leaves out what is as here; a whole file has it. */
	uint64_t hidden, intermediate, layers, heads, kv_heads;
	/* Any file may leave these out. */
	uint64_t head_dim, window;
};

struct sim_family {
	const char *type;
	bool plain;		 /* the MLP has no gate */
	bool beside;		 /* attention and MLP are side by side, unless a field denies it */
	bool size_of_experts;	 /* intermediate_size is that of an expert */
	bool shared_like_expert; /* each token has one shared expert, of an expert's size */
	bool dense_is_shared;	 /* without experts, the MLP is the shared one */
	bool four_hidden;	 /* no intermediate_size: 4 x hidden */
	enum sim_sliding sliding;
	uint64_t pattern; /* of PATTERN_SLIDES: the last layer of so many attends to all */
	struct sim_family_sizes missing;
};

/* NULL: it is not known. */
const struct sim_family *sim_family_find(const char *type);

/* Fields that change a layer in a way that the model of an iteration does not have. The last is NULL. */
struct sim_refused_field {
	const char *name, *reason;
	bool unless_types; /* a list layer_types says it instead */
};

extern const struct sim_refused_field sim_refused_fields[];
/* Fields on which no time depends here. The last one is NULL. */
extern const char *const sim_harmless_fields[];

#endif /* T3_SIM_FAMILIES_H */
