/* SPDX-License-Identifier: MIT */
/*
 * A Transformer as the config.json of a Hugging Face model describes it. Its fields are the sizes
 * that GEMMs and collectives follow from. The reader says by field name what it derives, what it
 * leaves out, and what it refuses. families.c is what it knows without a field.
 */
#ifndef T3_SIM_TRANSFORMER_H
#define T3_SIM_TRANSFORMER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/workload.h"

/* A layer's kind is a sum of these. */
#define SIM_LAYER_SLIDING 1u /* each token attends to `window` tokens at most */
#define SIM_LAYER_EXPERTS 2u /* the MLP is `top_k` of `experts`, and the shared one */
#define SIM_LAYER_KINDS	  4u

enum sim_mlp { SIM_MLP_BY_TYPE, SIM_MLP_GATED, SIM_MLP_PLAIN };

struct sim_transformer {
	char type[SIM_NAME_SIZE];
	uint64_t hidden, layers, heads, kv_heads;
	uint64_t key_dim, value_dim;	    /* of a head */
	uint64_t q_rank, kv_rank, rope_dim; /* of latent attention; kv_rank 0: it has none */
	uint64_t index_top, index_heads, index_dim; /* of the index that chooses tokens; 0: none */
	uint64_t window;			    /* of sliding layers */
	uint64_t intermediate;			    /* of dense MLPs; 0: there are none */
	bool gated;				    /* MLPs have a gate beside the up-projection */
	bool beside;				    /* attention and MLP are side by side */
	bool dropout;				    /* in training */
	uint64_t experts, top_k;		    /* 0: there are none */
	uint64_t expert_size, shared_size;
	uint64_t element_bytes;		 /* 0: the file does not say */
	uint64_t count[SIM_LAYER_KINDS]; /* layers of each kind */
	/* {"exact": [...], "approximated": [...], "left_out": [...]}: sentences */
	json_t *notes;
};

enum sim_note { SIM_EXACT, SIM_APPROXIMATED, SIM_LEFT_OUT };

/*
 * Read a config.json. `mlp` is for model types that the reader does not know. False: `why`, of
 * SIM_WHY_SIZE bytes, names the field or the line, and there is nothing to free.
 */
bool sim_transformer_read(FILE *file, enum sim_mlp mlp, struct sim_transformer *transformer,
			  char *why);
void sim_transformer_free(struct sim_transformer *transformer);

__attribute__((format(printf, 3, 4))) void sim_note(struct sim_transformer *transformer,
						    enum sim_note note, const char *format, ...);
/* The same in notes that are no transformer's. */
__attribute__((format(printf, 3, 4))) void sim_note_in(json_t *notes, enum sim_note note,
						       const char *format, ...);

#endif /* T3_SIM_TRANSFORMER_H */
