// SPDX-License-Identifier: MIT
/* The operators of a layer on one rank, in order, and what they take. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/iteration.h"

#define MASK_BYTES 1.0 /* of a dropout decision */
/* Adam in mixed precision reads a gradient, a f32 weight and two moments, and writes these. */
#define OPTIMIZER_BYTES (2 + 3 * 4 + 3 * 4 + 2)
#define MAX_TOKENS	((uint64_t)1 << 24)

struct builder {
	struct sim_transformer *t;
	const struct sim_setting *s;
	struct sim_iteration *it;
	struct sim_layer *layer;
	bool backward;
	double weights; /* elements on the rank */
	/* Elements on the rank. `whole` is on each rank, the others are divided. */
	double whole, query, key, value, context, scores;
	double score_flops, context_flops;
};

static const char *const phases[SIM_PHASES] = { "training", "prefill", "decode" };

const char *sim_phase_name(enum sim_phase phase)
{
	return phases[phase];
}

bool sim_phase_parse(const char *text, enum sim_phase *phase)
{
	int i;

	for (i = 0; i < SIM_PHASES; i++) {
		if (!strcmp(text, phases[i])) {
			*phase = (enum sim_phase)i;
			return true;
		}
	}
	return false;
}

uint64_t sim_setting_tokens(const struct sim_setting *s)
{
	return s->phase == SIM_DECODE ? s->batch : s->sequence * s->batch;
}

const char *sim_operator_kind_name(enum sim_operator_kind kind)
{
	static const char *const names[SIM_OPERATOR_KINDS] = {
		"GEMM and collective", "other GEMM",   "collective alone",
		"attention",	       "memory-bound",
	};

	return names[kind];
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* ------------------------------------------------------------------ operators */

static struct sim_operator *add(struct builder *b, const char *name, enum sim_operator_kind kind)
{
	struct sim_operator *op = &b->layer->op[b->layer->operators++];

	*op = (struct sim_operator){ .name = name, .kind = kind, .backward = b->backward };
	return op;
}

/* An operator that reads and writes `count` arrays, and masks of as many elements. */
static void add_memory(struct builder *b, const char *name, double elements, double count,
		       double masks)
{
	double each = count * (double)b->s->element_bytes + masks * MASK_BYTES;

	add(b, name, SIM_MEMORY)->bytes = elements * each;
}

static void add_attention(struct builder *b, const char *name, double flops, double elements)
{
	struct sim_operator *op = add(b, name, SIM_ATTENTION);

	op->flops = flops;
	op->bytes = elements * (double)b->s->element_bytes;
}

/* The number of the GEMM with this shape and collective, which is new or another layer's. */
static uint32_t gemm(struct builder *b, const struct sim_gemm *wanted)
{
	struct sim_iteration *it = b->it;
	uint32_t i;

	for (i = 0; i < it->gemms; i++)
		if (it->gemm[i].m == wanted->m && it->gemm[i].n == wanted->n &&
		    it->gemm[i].k == wanted->k && it->gemm[i].ranks == wanted->ranks &&
		    it->gemm[i].collective == wanted->collective)
			return i;
	it->gemm[i] = *wanted;
	it->gemms++;
	return i;
}

/* The GEMM whose output has hidden columns and is summed over the TP group, of a slice of K. */
static uint32_t summed(struct builder *b, const char *name, uint64_t n, uint64_t k)
{
	struct sim_gemm wanted = { .m = sim_setting_tokens(b->s), .n = n, .k = k };

	wanted.ranks = b->s->tp > 1 ? b->s->tp : 0;
	wanted.collective = T3_TIMED_COLLECTIVE_ALL_REDUCE;
	snprintf(wanted.name, sizeof(wanted.name), "%s", name);
	return gemm(b, &wanted);
}

/* The GEMM whose rows go to the owners of their tokens. */
static uint32_t sent(struct builder *b, const char *name, uint64_t rows, uint64_t k)
{
	struct sim_gemm wanted = { .m = rows, .n = b->t->hidden, .k = k, .ranks = b->s->ep };

	wanted.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	snprintf(wanted.name, sizeof(wanted.name), "%s", name);
	return gemm(b, &wanted);
}

static uint32_t alone(struct builder *b, const char *name, uint64_t m, uint64_t n, uint64_t k)
{
	struct sim_gemm wanted = { .m = m, .n = n, .k = k };

	snprintf(wanted.name, sizeof(wanted.name), "%s", name);
	return gemm(b, &wanted);
}

static void add_gemm(struct builder *b, const char *name, uint32_t number, bool reduces)
{
	struct sim_gemm *g = &b->it->gemm[number];
	bool reduced = reduces && g->ranks;

	add(b, name, reduced ? SIM_REDUCED : SIM_PLAIN)->gemm = number;
	g->reduced |= reduced;
	g->plain |= !reduced;
}

static void add_exchange(struct builder *b, const char *name, uint32_t number)
{
	add(b, name, SIM_EXCHANGE)->gemm = number;
	b->it->gemm[number].exchanged = true;
}

/* ------------------------------------------------------------------ attention */

/* Key heads, fewer than ranks, are on several ranks. */
static uint64_t spread_kv_heads(const struct builder *b)
{
	return b->t->kv_heads < b->s->tp ? b->s->tp : b->t->kv_heads;
}

/* GEMMs of the projections before attention, which sum in backward: K is a slice. */
struct projections {
	uint32_t qkv;			       /* also of the queries alone */
	uint32_t q_down, q_up, kv_down, kv_up; /* of latent attention */
};

/* Of queries, keys and values, on a rank. */
static uint64_t qkv_columns(const struct builder *b)
{
	const struct sim_transformer *t = b->t;

	return ceil_div(t->heads * t->key_dim + spread_kv_heads(b) * (t->key_dim + t->value_dim),
			b->s->tp);
}

static struct projections projections(struct builder *b)
{
	const struct sim_transformer *t = b->t;
	uint64_t m = sim_setting_tokens(b->s), tp = b->s->tp;
	struct projections p = { 0 };

	if (!t->kv_rank) {
		p.qkv = summed(b, "QKV", t->hidden, qkv_columns(b));
		return p;
	}
	if (t->q_rank) {
		p.q_down = alone(b, "query down", m, t->q_rank, t->hidden);
		p.q_up = summed(b, "query up", t->q_rank, ceil_div(t->heads * t->key_dim, tp));
	} else {
		p.qkv = summed(b, "query", t->hidden, ceil_div(t->heads * t->key_dim, tp));
	}
	p.kv_down = alone(b, "key and value down", m, t->kv_rank + t->rope_dim, t->hidden);
	p.kv_up = summed(b, "key and value up", t->kv_rank,
			 ceil_div(t->heads * (t->key_dim - t->rope_dim + t->value_dim), tp));
	return p;
}

static void project_forward(struct builder *b, const struct projections *p)
{
	if (!b->t->kv_rank) {
		add_gemm(b, "QKV", p->qkv, false);
		return;
	}
	if (b->t->q_rank) {
		add_gemm(b, "query down", p->q_down, false);
		add_gemm(b, "query up", p->q_up, false);
	} else {
		add_gemm(b, "query", p->qkv, false);
	}
	add_gemm(b, "key and value down", p->kv_down, false);
	add_gemm(b, "key and value up", p->kv_up, false);
}

static void project_backward(struct builder *b, const struct projections *p)
{
	if (!b->t->kv_rank) {
		add_gemm(b, "QKV, backward", p->qkv, true);
		return;
	}
	if (b->t->q_rank) {
		add_gemm(b, "query up, backward", p->q_up, true);
		add_gemm(b, "query down, backward", p->q_down, false);
	} else {
		add_gemm(b, "query, backward", p->qkv, true);
	}
	add_gemm(b, "key and value up, backward", p->kv_up, true);
	add_gemm(b, "key and value down, backward", p->kv_down, false);
}

static void project_weights(struct builder *b, const struct projections *p)
{
	if (!b->t->kv_rank) {
		add_gemm(b, "weights of QKV", p->qkv, false);
		return;
	}
	if (b->t->q_rank) {
		add_gemm(b, "weights of query up", p->q_up, false);
		add_gemm(b, "weights of query down", p->q_down, false);
	} else {
		add_gemm(b, "weights of query", p->qkv, false);
	}
	add_gemm(b, "weights of key and value up", p->kv_up, false);
	add_gemm(b, "weights of key and value down", p->kv_down, false);
}

/* Elements of a layer's attention. All scores count: a mask saves nothing. */
static void measure_attention(struct builder *b, uint32_t kind)
{
	const struct sim_transformer *t = b->t;
	double tokens = (double)sim_setting_tokens(b->s), tp = (double)b->s->tp;
	uint64_t seen = b->s->sequence;
	double heads = (double)t->heads / tp, kept;

	if (kind & SIM_LAYER_SLIDING && t->window < seen)
		seen = t->window;
	if (t->index_top && t->index_top < seen)
		seen = t->index_top;
	kept = (double)(b->s->batch * (b->s->phase == SIM_DECODE ? seen : b->s->sequence));
	b->whole = tokens * (double)t->hidden;
	b->query = tokens * (double)(t->heads * t->key_dim) / tp;
	b->context = tokens * (double)(t->heads * t->value_dim) / tp;
	b->key = kept * (double)(spread_kv_heads(b) * t->key_dim) / tp;
	b->value = kept * (double)(spread_kv_heads(b) * t->value_dim) / tp;
	b->scores = tokens * (double)seen * heads;
	b->score_flops = 2 * b->scores * (double)t->key_dim;
	b->context_flops = 2 * b->scores * (double)t->value_dim;
	if (!t->kv_rank || b->s->phase != SIM_DECODE)
		return;
	/* A decoding step attends to the latent vectors, which each rank has. */
	b->key = kept * (double)(t->kv_rank + t->rope_dim);
	b->value = 0; /* part of the same vectors */
	b->score_flops = 2 * b->scores * (double)(t->kv_rank + t->rope_dim);
	b->context_flops = 2 * b->scores * (double)t->kv_rank;
}

/* The index compares each token with all of its sequence. Its heads are not divided. */
static void choose_tokens(struct builder *b)
{
	const struct sim_transformer *t = b->t;
	uint64_t m = sim_setting_tokens(b->s), width = t->index_heads * t->index_dim;
	double queries = (double)m * (double)width;

	if (!t->index_top)
		return;
	add_gemm(b, "index queries",
		 alone(b, "index queries", m, width, t->q_rank ? t->q_rank : t->hidden), false);
	add_gemm(b, "index keys", alone(b, "index keys", m, t->index_dim, t->hidden), false);
	add_attention(b, "index scores", 2 * queries * (double)b->s->sequence,
		      queries + (double)(b->s->batch * b->s->sequence) * (double)t->index_dim);
}

static void attend_forward(struct builder *b)
{
	bool drops = b->t->dropout && b->s->phase == SIM_TRAINING;

	if (b->s->scores_stay) {
		add_attention(b, "fused attention", b->score_flops + b->context_flops,
			      b->query + b->key + b->value + b->context);
		return;
	}
	add_attention(b, "scores", b->score_flops, b->scores + b->query + b->key);
	add_memory(b, "softmax", b->scores, 2, 0);
	if (drops)
		add_memory(b, "dropout of scores", b->scores, 2, 1);
	add_attention(b, "context", b->context_flops, b->scores + b->value + b->context);
}

static void attend_backward(struct builder *b)
{
	if (b->s->scores_stay) { /* computes the scores once more */
		add_attention(b, "fused attention, backward",
			      3 * b->score_flops + 2 * b->context_flops,
			      2 * (b->query + b->key + b->value + b->context));
		return;
	}
	add_attention(b, "gradient of V", b->context_flops, b->scores + b->context + b->value);
	add_attention(b, "gradient of scores", b->context_flops, b->scores + b->context + b->value);
	add_attention(b, "gradient of Q", b->score_flops, b->scores + b->query + b->key);
	add_attention(b, "gradient of K", b->score_flops, b->scores + b->query + b->key);
	if (b->t->dropout)
		add_memory(b, "dropout of scores, backward", b->scores, 2, 1);
	add_memory(b, "softmax, backward", b->scores, 3, 0);
}

/* ------------------------------------------------------------------------ MLP */

/* Names of an MLP's operators. */
struct mlp_names {
	const char *up, *down, *up_backward, *down_backward, *up_weights, *down_weights;
};

static const struct mlp_names dense_names = {
	"MLP up",
	"MLP down",
	"MLP up, backward",
	"MLP down, backward",
	"weights of MLP up",
	"weights of MLP down",
};
static const struct mlp_names expert_names = {
	"experts up",
	"experts down",
	"experts up, backward",
	"experts down, backward",
	"weights of experts up",
	"weights of experts down",
};
static const struct mlp_names shared_names = {
	"shared expert up",
	"shared expert down",
	"shared expert up, backward",
	"shared expert down, backward",
	"weights of shared expert up",
	"weights of shared expert down",
};

/* GEMMs of an MLP. With ep, those of experts are `sent`, and the shared expert has its own. */
struct mlp {
	const struct mlp_names *names;
	uint32_t up, down;
	double middle; /* elements between them */
	uint64_t size; /* 0: there is none */
};

static uint64_t up_factor(const struct builder *b)
{
	return b->t->gated ? 2 : 1;
}

/* An MLP whose middle is sliced over the TP group. */
static struct mlp sliced_mlp(struct builder *b, const struct mlp_names *names, uint64_t size)
{
	uint64_t tp = b->s->tp;
	struct mlp mlp = { .names = names, .size = size };

	if (!size)
		return mlp;
	mlp.down = summed(b, names->down, b->t->hidden, ceil_div(size, tp));
	mlp.up = summed(b, names->up, b->t->hidden, ceil_div(up_factor(b) * size, tp));
	mlp.middle = (double)sim_setting_tokens(b->s) * (double)size / (double)tp;
	return mlp;
}

uint64_t sim_setting_own_tokens(const struct sim_setting *s)
{
	return ceil_div(sim_setting_tokens(s), s->tp);
}

/* It has as many rows of others' tokens for each expert of a token, if all experts get as many. */
static uint64_t own_tokens(const struct builder *b)
{
	return sim_setting_own_tokens(b->s);
}

static struct mlp sent_mlp(struct builder *b)
{
	uint64_t rows = own_tokens(b) * b->t->top_k, size = b->t->expert_size;
	struct mlp mlp = { .names = &expert_names, .size = size };

	mlp.down = sent(b, mlp.names->down, rows, size);
	mlp.up = sent(b, mlp.names->up, rows, up_factor(b) * size);
	mlp.middle = (double)rows * (double)size;
	return mlp;
}

/* Up, activation and down. The down-projection ends in a collective. */
static void mlp_forward(struct builder *b, const struct mlp *mlp)
{
	if (!mlp->size)
		return;
	add_gemm(b, mlp->names->up, mlp->up, false);
	add_memory(b, "activation", mlp->middle, b->t->gated ? 3 : 2, 0);
	add_gemm(b, mlp->names->down, mlp->down, true);
}

static void mlp_backward(struct builder *b, const struct mlp *mlp)
{
	if (!mlp->size)
		return;
	add_gemm(b, mlp->names->down_backward, mlp->down, false);
	add_memory(b, "activation, backward", mlp->middle, b->t->gated ? 5 : 3, 0);
	add_gemm(b, mlp->names->up_backward, mlp->up, true);
}

static void mlp_weights(struct builder *b, const struct mlp *mlp)
{
	if (!mlp->size)
		return;
	add_gemm(b, mlp->names->down_weights, mlp->down, false);
	add_gemm(b, mlp->names->up_weights, mlp->up, false);
}

/* The MLPs of a layer. */
struct mlps {
	struct mlp all;	   /* dense, or all experts that a token has, and the shared one */
	struct mlp shared; /* if tokens are sent to experts */
	uint32_t router;
	bool routed, sent;
};

static struct mlps mlps_of(struct builder *b, uint32_t kind)
{
	const struct sim_transformer *t = b->t;
	struct mlps mlps = { .routed = kind & SIM_LAYER_EXPERTS };

	if (!mlps.routed) {
		mlps.all = sliced_mlp(b, &dense_names, t->intermediate);
		return mlps;
	}
	mlps.sent = b->s->ep > 1;
	mlps.router = alone(b, "router", mlps.sent ? own_tokens(b) : sim_setting_tokens(b->s),
			    t->experts, t->hidden);
	if (mlps.sent) {
		mlps.all = sent_mlp(b);
		mlps.shared = sliced_mlp(b, &shared_names, t->shared_size);
	} else {
		mlps.all = sliced_mlp(b, &expert_names, t->top_k * t->expert_size + t->shared_size);
	}
	return mlps;
}

/* Rows that are copied for the experts, and summed up afterwards. */
static double routed_elements(const struct builder *b, const struct mlps *mlps)
{
	uint64_t tokens = mlps->sent ? own_tokens(b) : sim_setting_tokens(b->s);

	return (double)tokens * (double)b->t->hidden;
}

/* An array that is copied for the experts, or their sum: T3 sends the rows themselves, and adds them. */
static void add_copies(struct builder *b, const char *name, const struct mlps *mlps)
{
	double copies = 1 + (double)b->t->top_k;

	add_memory(b, name, routed_elements(b, mlps), copies, 0);
	b->layer->op[b->layer->operators - 1].is_near_memory = b->s->routed;
}

/* The all-to-all before a GEMM. Without a routing, that of one number stands for all: they are alike. */
static void add_dispatch(struct builder *b, const char *name, const struct mlps *mlps,
			 uint32_t next)
{
	add_exchange(b, name, b->s->routed ? next : mlps->all.down);
}

static void mlps_forward(struct builder *b, const struct mlps *mlps)
{
	if (mlps->routed) {
		add_gemm(b, "router", mlps->router, false);
		add_copies(b, "copies for experts", mlps);
	}
	if (mlps->sent)
		add_dispatch(b, "dispatch", mlps, mlps->all.up);
	mlp_forward(b, &mlps->all);
	if (mlps->routed)
		add_copies(b, "sum over experts", mlps);
	mlp_forward(b, &mlps->shared);
}

static void mlps_backward(struct builder *b, const struct mlps *mlps)
{
	mlp_backward(b, &mlps->shared);
	if (mlps->routed)
		add_copies(b, "sum over experts, backward", mlps);
	if (mlps->sent)
		add_dispatch(b, "combine, backward", mlps, mlps->all.down);
	mlp_backward(b, &mlps->all);
	if (mlps->routed) {
		add_copies(b, "copies for experts, backward", mlps);
		add_gemm(b, "router, backward", mlps->router, false);
	}
}

/* ---------------------------------------------------------------------- layer */

/* Weights of the rank, for the optimizer. */
static double layer_weights(const struct builder *b, uint32_t kind)
{
	const struct sim_transformer *t = b->t;
	double hidden = (double)t->hidden, tp = (double)b->s->tp, mlp = (double)up_factor(b) + 1;
	double keys = (double)(t->heads * t->key_dim), contexts = (double)(t->heads * t->value_dim);
	double found = hidden * contexts / tp;

	if (t->kv_rank) {
		found += t->q_rank ? (double)t->q_rank * (hidden + keys / tp) : hidden * keys / tp;
		found += (double)(t->kv_rank + t->rope_dim) * hidden;
		found += (double)t->kv_rank *
			 (double)(t->heads * (t->key_dim - t->rope_dim + t->value_dim)) / tp;
	} else {
		found += hidden * keys / tp;
		found += hidden * (double)(spread_kv_heads(b) * (t->key_dim + t->value_dim)) / tp;
	}
	if (!(kind & SIM_LAYER_EXPERTS))
		return found + mlp * hidden * (double)t->intermediate / tp;
	found += hidden * (double)t->experts + mlp * hidden * (double)t->shared_size / tp;
	return found + mlp * hidden * (double)(t->experts * t->expert_size) /
			       (b->s->ep > 1 ? (double)b->s->ep : tp);
}

static void layer_forward(struct builder *b, const struct projections *p, uint32_t output,
			  const struct mlps *mlps)
{
	bool drops = b->t->dropout && b->s->phase == SIM_TRAINING;
	const char *residual = drops ? "dropout and residual" : "residual";

	add_memory(b, "norm", b->whole, 2, 0);
	project_forward(b, p);
	choose_tokens(b);
	attend_forward(b);
	add_gemm(b, "attention output", output, true);
	add_memory(b, residual, b->whole, 3, drops);
	add_memory(b, "norm", b->whole, 2, 0);
	mlps_forward(b, mlps);
	add_memory(b, residual, b->whole, 3, drops);
}

static void layer_backward(struct builder *b, const struct projections *p, uint32_t output,
			   const struct mlps *mlps)
{
	if (b->t->dropout)
		add_memory(b, "dropout, backward", b->whole, 2, 1);
	mlps_backward(b, mlps);
	add_memory(b, "norm, backward, and residual", b->whole, 4, 0);
	if (b->t->dropout)
		add_memory(b, "dropout, backward", b->whole, 2, 1);
	add_gemm(b, "attention output, backward", output, false);
	attend_backward(b);
	project_backward(b, p);
	add_memory(b, "norm, backward, and residual", b->whole, 4, 0);
	add_gemm(b, "weights of attention output", output, false);
	mlp_weights(b, &mlps->all);
	mlp_weights(b, &mlps->shared);
	if (mlps->routed)
		add_gemm(b, "weights of router", mlps->router, false);
	project_weights(b, p);
	add(b, "optimizer", SIM_MEMORY)->bytes = b->weights * OPTIMIZER_BYTES;
}

/*
 * Attention and MLP side by side. Both begin with the same input, and end in one sum: a GEMM before
 * them, and one after them with the K of both.
 */
static void build_beside(struct builder *b)
{
	const struct sim_transformer *t = b->t;
	uint64_t size = ceil_div(t->intermediate, b->s->tp), heads = t->heads * t->value_dim;
	uint32_t before =
		summed(b, "QKV and MLP up", t->hidden,
		       qkv_columns(b) + ceil_div(up_factor(b) * t->intermediate, b->s->tp));
	uint32_t after = summed(b, "attention output and MLP down", t->hidden,
				ceil_div(heads, b->s->tp) + size);
	double middle =
		(double)sim_setting_tokens(b->s) * (double)t->intermediate / (double)b->s->tp;

	add_memory(b, "norm", b->whole, 2, 0);
	add_gemm(b, "QKV and MLP up", before, false);
	attend_forward(b);
	add_memory(b, "activation", middle, t->gated ? 3 : 2, 0);
	add_gemm(b, "attention output and MLP down", after, true);
	add_memory(b, "residual", b->whole, 3, 0);
	if (b->s->phase != SIM_TRAINING)
		return;
	b->backward = true;
	add_gemm(b, "attention output and MLP down, backward", after, false);
	add_memory(b, "activation, backward", middle, t->gated ? 5 : 3, 0);
	attend_backward(b);
	add_gemm(b, "QKV and MLP up, backward", before, true);
	add_memory(b, "norm, backward, and residual", b->whole, 4, 0);
	add_gemm(b, "weights of attention output and MLP down", after, false);
	add_gemm(b, "weights of QKV and MLP up", before, false);
	add(b, "optimizer", SIM_MEMORY)->bytes = b->weights * OPTIMIZER_BYTES;
}

static void build_layer(struct builder *b, uint32_t kind)
{
	const struct sim_transformer *t = b->t;
	struct projections p;
	struct mlps mlps;
	uint32_t output;

	b->layer = &b->it->layer[b->it->layers++];
	*b->layer = (struct sim_layer){ .kind = kind, .count = t->count[kind] };
	b->backward = false;
	b->weights = layer_weights(b, kind);
	measure_attention(b, kind);
	if (t->beside) {
		build_beside(b);
		return;
	}
	output = summed(b, "attention output", t->hidden,
			ceil_div(t->heads * t->value_dim, b->s->tp));
	mlps = mlps_of(b, kind);
	p = projections(b);
	layer_forward(b, &p, output, &mlps);
	b->backward = true;
	if (b->s->phase == SIM_TRAINING)
		layer_backward(b, &p, output, &mlps);
}

/* ---------------------------------------------------------------------- checks */

__attribute__((format(printf, 2, 3))) static bool refuse(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, SIM_WHY_SIZE, format, args);
	va_end(args);
	return false;
}

static bool check_ranks(const struct sim_transformer *t, const struct sim_setting *s, char *why)
{
	bool routed =
		t->count[SIM_LAYER_EXPERTS] || t->count[SIM_LAYER_EXPERTS | SIM_LAYER_SLIDING];

	if (s->tp > T3_TIMED_MAX_RANKS || s->ep > T3_TIMED_MAX_RANKS)
		return refuse(why, "--tp and --ep take at most %u", T3_TIMED_MAX_RANKS);
	if (s->routed && s->ep < 2)
		return refuse(why, "--routing needs experts on several ranks: --ep from 2");
	if (s->ep > 1 && !routed)
		return refuse(why, "--ep is %" PRIu64 ", and the file has no experts", s->ep);
	if (s->ep > 1 && (s->ep < s->tp || s->ep % s->tp))
		return refuse(why,
			      "--ep is %" PRIu64 " and must be 1 or a multiple of --tp, %" PRIu64,
			      s->ep, s->tp);
	if (s->ep > 1 && t->experts % s->ep)
		return refuse(why, "--ep is %" PRIu64 " and must divide the experts, %" PRIu64,
			      s->ep, t->experts);
	if (s->tp < 2 && s->ep < 2)
		return refuse(why, "--tp is 1: no GEMM ends in a collective");
	return true;
}

static bool check_heads(const struct sim_transformer *t, const struct sim_setting *s, char *why)
{
	if (t->dropout) /* a published model, whose heads are not known to divide */
		return true;
	if (t->heads % s->tp)
		return refuse(why,
			      "num_attention_heads is %" PRIu64 ", which --tp %" PRIu64
			      " does not divide",
			      t->heads, s->tp);
	if (t->kv_heads % s->tp && s->tp % t->kv_heads)
		return refuse(why,
			      "num_key_value_heads is %" PRIu64 ", which --tp %" PRIu64
			      " neither divides nor is a multiple of",
			      t->kv_heads, s->tp);
	return true;
}

static bool check_tokens(const struct sim_setting *s, char *why)
{
	if (!s->sequence || !s->batch || s->sequence > MAX_TOKENS || s->batch > MAX_TOKENS ||
	    s->sequence * s->batch > MAX_TOKENS << 8 || sim_setting_tokens(s) > MAX_TOKENS)
		return refuse(why,
			      "--sequence %" PRIu64 " x --batch %" PRIu64 " is too much: at most "
			      "%" PRIu64 " tokens",
			      s->sequence, s->batch, MAX_TOKENS);
	return true;
}

/* ------------------------------------------------------------------------ notes */

static void note_kv(struct sim_transformer *t, const struct sim_setting *s)
{
	if (!t->kv_rank && t->kv_heads < s->tp)
		sim_note(t, SIM_EXACT,
			 "num_key_value_heads %" PRIu64 " is less than --tp %" PRIu64 ": %" PRIu64
			 " ranks have a copy of each",
			 t->kv_heads, s->tp, s->tp / t->kv_heads);
}

static void note_padding(struct sim_transformer *t, const char *what, uint64_t size, uint64_t tp)
{
	if (size % tp)
		sim_note(t, SIM_APPROXIMATED,
			 "%s %" PRIu64 " is no multiple of --tp %" PRIu64
			 ": each rank has %" PRIu64,
			 what, size, tp, ceil_div(size, tp));
}

static void note_experts(struct sim_transformer *t, const struct sim_setting *s)
{
	if (s->routed) {
		sim_note(t, SIM_EXACT,
			 "experts: all ranks are simulated, or one if all are alike, each with "
			 "GEMMs of its experts' own rows and weights; the one with most rows "
			 "bounds");
		sim_note(t, SIM_APPROXIMATED,
			 "routing: one draw, or one file, stands for all layers");
		sim_note(t, SIM_APPROXIMATED,
			 "activations, weights' gradients and the shared expert: each rank has as "
			 "many rows");
		sim_note(t, SIM_APPROXIMATED,
			 "all-to-alls: t3-mca-ag and direct have them as t3-mca, ideal-nmc as "
			 "ideal");
		sim_note(t, SIM_LEFT_OUT,
			 "combine: the tracker of rows that are added, and the zeroes before; "
			 "weights of a token's experts");
		return;
	}
	if (s->ep > 1) {
		sim_note(t, SIM_APPROXIMATED, "routing: each expert gets as many tokens");
		sim_note(t, SIM_APPROXIMATED,
			 "experts: a rank's GEMM has the rows of all its "
			 "experts, and reads one expert's weights");
		sim_note(t, SIM_APPROXIMATED,
			 "combine: rows are stored to their tokens' owners as "
			 "tiles are complete, and summed there afterwards");
		sim_note(t, SIM_APPROXIMATED,
			 "all-to-alls: t3-mca-ag and direct have them as t3-mca, ideal-nmc as "
			 "ideal");
		sim_note(t, SIM_LEFT_OUT, "dispatch is overlapped by no configuration");
		return;
	}
	sim_note(t, SIM_APPROXIMATED,
		 "experts: a rank has a slice of each, and its GEMM has the K of "
		 "the %" PRIu64 " that a token has, and the shared one: it "
		 "reads these weights only",
		 t->top_k);
}

static void add_notes(struct sim_transformer *t, const struct sim_setting *s)
{
	bool routed =
		t->count[SIM_LAYER_EXPERTS] || t->count[SIM_LAYER_EXPERTS | SIM_LAYER_SLIDING];
	bool dense = t->count[0] || t->count[SIM_LAYER_SLIDING];

	note_kv(t, s);
	if (dense)
		note_padding(t, "intermediate_size", t->intermediate, s->tp);
	if (routed && s->ep == 1)
		note_padding(t, "the size of an expert", t->expert_size, s->tp);
	if (routed)
		note_experts(t, s);
	sim_note(t, SIM_EXACT,
		 "GEMMs that end in a collective: each distinct one is simulated in each "
		 "configuration");
	sim_note(t, SIM_APPROXIMATED,
		 "other GEMMs take as long as the GEMM phase of one of as many "
		 "operations");
	sim_note(t, SIM_APPROXIMATED,
		 "attention takes the longer of its operations and its bytes, and "
		 "all scores count");
	sim_note(t, SIM_APPROXIMATED,
		 "norms, activations, residuals and optimizer move each byte once "
		 "at memory_gbps");
	if (t->index_top && s->phase == SIM_TRAINING)
		sim_note(t, SIM_LEFT_OUT, "the index's gradients and optimizer");
	if (t->kv_rank && s->phase == SIM_TRAINING)
		sim_note(t, SIM_LEFT_OUT, "the sum of the rotary keys' gradient over the ranks");
	sim_note(t, SIM_LEFT_OUT,
		 "embedding, output layer, loss, biases, rotary embedding; data and "
		 "pipeline parallelism");
}

bool sim_iteration_build(struct sim_transformer *t, const struct sim_setting *s,
			 struct sim_iteration *it, char *why)
{
	struct builder b = { .t = t, .s = s, .it = it };
	uint32_t kind;

	if (!check_ranks(t, s, why) || !check_heads(t, s, why) || !check_tokens(s, why))
		return false;
	it->layers = it->gemms = 0;
	for (kind = 0; kind < SIM_LAYER_KINDS; kind++)
		if (t->count[kind])
			build_layer(&b, kind);
	if (t->notes)
		add_notes(t, s);
	return true;
}

/* ------------------------------------------------------------------------ times */

uint64_t sim_gemm_count(const struct sim_iteration *it, uint32_t number,
			enum sim_operator_kind kind, bool backward)
{
	uint64_t count = 0;
	uint32_t i, k;

	for (i = 0; i < it->layers; i++) {
		for (k = 0; k < it->layer[i].operators; k++) {
			const struct sim_operator *op = &it->layer[i].op[k];

			if (op->kind == kind && op->gemm == number && op->backward == backward)
				count += it->layer[i].count;
		}
	}
	return count;
}

struct sim_machine_rate sim_machine_rate(const struct t3_timed_params *p, uint64_t element_bytes)
{
	double clock =
		(double)p->compute_units * (double)p->flops_per_clock * (double)p->clock_mhz / 1e6;

	return (struct sim_machine_rate){
		.flops = clock * (double)p->compute_percent / 100 / ((double)element_bytes / 2),
		.bytes = (double)p->memory_gbps / 1e3,
	};
}

bool sim_config_has_t3(enum sim_config config)
{
	return config == SIM_T3 || config == SIM_T3_MCA || config == SIM_T3_MCA_AG ||
	       config == SIM_DIRECT || config == SIM_T3_SWITCH;
}

enum sim_config sim_config_instead(enum sim_config config)
{
	if (config == SIM_SWITCH)
		return SIM_SEQUENTIAL;
	return config == SIM_IDEAL_NMC ? SIM_IDEAL : SIM_T3_MCA;
}

double sim_operator_time(const struct sim_operator *op, const struct sim_cost *cost,
			 const struct sim_machine_rate *rate, enum sim_config config)
{
	const struct sim_cost *of = &cost[op->gemm];
	double flops = op->flops / rate->flops, bytes = op->bytes / rate->bytes;

	switch (op->kind) {
	case SIM_REDUCED:
		if (!of->reduced[config])
			config = sim_config_instead(config);
		return (double)of->reduced[config];
	case SIM_PLAIN:
		return (double)of->gemm;
	case SIM_EXCHANGE:
		return (double)of->exchange[config];
	case SIM_MEMORY:
		if (op->is_near_memory && sim_config_has_t3(config))
			return 0;
		return bytes;
	default:
		return flops > bytes ? flops : bytes;
	}
}

double sim_layer_time(const struct sim_layer *layer, const struct sim_cost *cost,
		      const struct sim_machine_rate *rate, enum sim_config config)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < layer->operators; i++)
		sum += sim_operator_time(&layer->op[i], cost, rate, config);
	return sum;
}
