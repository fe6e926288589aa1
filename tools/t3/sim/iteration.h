/* SPDX-License-Identifier: MIT */
/*
 * A training iteration, the prefill or a decoding step of a Transformer, as the operators of one
 * rank. GEMMs and collectives take as long as in the timed model. Other operators are bound by
 * arithmetic or by memory. tools/paper/README.md lists the assumptions.
 */
#ifndef T3_SIM_ITERATION_H
#define T3_SIM_ITERATION_H

#include "sim/figures.h"
#include "sim/transformer.h"

enum sim_phase { SIM_TRAINING, SIM_PREFILL, SIM_DECODE, SIM_PHASES };

/* How a model runs. */
struct sim_setting {
	enum sim_phase phase;
	uint64_t tp;		  /* ranks that share each layer; 1: only with ep */
	uint64_t ep;		  /* ranks that share the experts; 1: all have a slice of each */
	uint64_t sequence, batch; /* tokens of a sequence (decode: cached ones), sequences */
	uint64_t element_bytes;
	bool scores_stay; /* on the chip: attention is one fused kernel */
	bool routed;	  /* with ep: experts get as many rows as a routing says */
};

const char *sim_phase_name(enum sim_phase phase);
bool sim_phase_parse(const char *text, enum sim_phase *phase);
/* Rows of the GEMMs of a TP group. */
uint64_t sim_setting_tokens(const struct sim_setting *setting);

/*
 * A GEMM of one rank, with the collective that it ends in at `ranks` ranks. An all-to-all's rows are
 * those of the chunks' owners.
 */
struct sim_gemm {
	char name[SIM_NAME_SIZE];
	uint64_t m, n, k;
	uint64_t ranks; /* 0: it ends in no collective */
	enum t3_timed_collective collective;
	bool reduced;	/* an operator is the GEMM with its collective */
	bool plain;	/* an operator is a GEMM of as many operations, alone */
	bool exchanged; /* an operator is the collective alone */
};

enum sim_operator_kind {
	SIM_REDUCED,  /* a GEMM with the collective that it ends in */
	SIM_PLAIN,    /* a GEMM without one */
	SIM_EXCHANGE, /* a collective alone */
	SIM_ATTENTION,
	SIM_MEMORY,
	SIM_OPERATOR_KINDS,
};

const char *sim_operator_kind_name(enum sim_operator_kind kind);

struct sim_operator {
	const char *name;
	enum sim_operator_kind kind;
	bool backward;
	bool is_near_memory; /* what T3's configurations do near memory: there it takes no time */
	uint32_t gemm;	     /* of the first three kinds: its number */
	double flops, bytes;
};

#define SIM_MAX_OPERATORS 96u
#define SIM_MAX_GEMMS	  24u

struct sim_layer {
	uint32_t kind;	/* SIM_LAYER_* */
	uint64_t count; /* layers of this kind */
	uint32_t operators;
	struct sim_operator op[SIM_MAX_OPERATORS]; /* in order */
};

struct sim_iteration {
	uint32_t layers, gemms;
	struct sim_layer layer[SIM_LAYER_KINDS];
	struct sim_gemm gemm[SIM_MAX_GEMMS];
};

/* False: this model does not run so. `why`, of SIM_WHY_SIZE bytes, names the option and the field. */
bool sim_iteration_build(struct sim_transformer *transformer, const struct sim_setting *setting,
			 struct sim_iteration *iteration, char *why);

/* Tokens of a rank, if experts are on different ranks. */
uint64_t sim_setting_own_tokens(const struct sim_setting *setting);

/* How often operators of this kind run the GEMM in an iteration, forward or backward. */
uint64_t sim_gemm_count(const struct sim_iteration *iteration, uint32_t gemm,
			enum sim_operator_kind kind, bool backward);

/* A GEMM's times by the timed model, in ps. */
struct sim_cost {
	uint64_t gemm;
	uint64_t exchange[SIM_CONFIGS]; /* what the all-to-all before a GEMM adds to it */
	uint64_t reduced[SIM_CONFIGS];	/* 0: the configuration does not run this collective */
};

/* The machine's work in a picosecond. */
struct sim_machine_rate {
	double flops, bytes;
};

struct sim_machine_rate sim_machine_rate(const struct t3_timed_params *params,
					 uint64_t element_bytes);

/* Does T3 itself run in this configuration? */
bool sim_config_has_t3(enum sim_config config);
/* The configuration that runs a collective which this one does not have. */
enum sim_config sim_config_instead(enum sim_config config);

/*
 * The time of an operator, in ps. A collective that the configuration does not run takes as long as
 * with the one that runs it instead.
 */
double sim_operator_time(const struct sim_operator *op, const struct sim_cost *cost,
			 const struct sim_machine_rate *rate, enum sim_config config);
double sim_layer_time(const struct sim_layer *layer, const struct sim_cost *cost,
		      const struct sim_machine_rate *rate, enum sim_config config);

#endif /* T3_SIM_ITERATION_H */
