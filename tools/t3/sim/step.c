// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/json_file.h"
#include "sim/model_file.h"
#include "sim/step.h"

#define FORMAT	       "t3-workload"
#define VERSION	       1u
#define MAX_FILE       ((size_t)1 << 24)
#define MAX_OPERATIONS 65536u
#define MAX_RUNS       4096u
#define MAX_NOTES      64u
#define MAX_EXTENT     ((uint64_t)1 << 24) /* of M, N, K and batch */
#define MAX_BYTES      ((uint64_t)1 << 40)
#define MAX_COUNT      ((uint64_t)1 << 32)
#define MAX_WORLD      ((uint64_t)1 << 24)

static const char *const passes[SIM_PASSES] = { "forward", "backward", "optimizer" };

/* torch's names of types. The timed model has a `product` of floats up to 8 bytes. */
static const struct type {
	const char *name;
	uint64_t bytes;
	bool product;
} types[] = {
	{ "float16", 2, true },		{ "bfloat16", 2, true },
	{ "float32", 4, true },		{ "float64", 8, true },
	{ "float8_e4m3fn", 1, false },	{ "float8_e4m3fnuz", 1, false },
	{ "float8_e5m2", 1, false },	{ "float8_e5m2fnuz", 1, false },
	{ "float8_e8m0fnu", 1, false }, { "complex32", 4, false },
	{ "complex64", 8, false },	{ "complex128", 16, false },
	{ "bool", 1, false },		{ "int8", 1, false },
	{ "int16", 2, false },		{ "int32", 4, false },
	{ "int64", 8, false },		{ "uint8", 1, false },
	{ "uint16", 2, false },		{ "uint32", 4, false },
	{ "uint64", 8, false },
};

/* t3.torch's names of collectives. */
static const struct collective {
	const char *name;
	bool timed;    /* the timed model has it, or one like it */
	bool alike;    /* it is run as another one */
	bool products; /* it may sum a product */
	enum t3_timed_collective kind;
} collectives[] = {
	{ "all_reduce", true, false, true, T3_TIMED_COLLECTIVE_ALL_REDUCE },
	{ "all_reduce_coalesced", true, false, false, T3_TIMED_COLLECTIVE_ALL_REDUCE },
	{ "matmul_all_reduce", true, false, true, T3_TIMED_COLLECTIVE_ALL_REDUCE },
	{ "reduce", true, true, false, T3_TIMED_COLLECTIVE_ALL_REDUCE },
	{ "reduce_scatter", true, false, false, T3_TIMED_COLLECTIVE_REDUCE_SCATTER },
	{ "reduce_scatter_tensor", true, false, true, T3_TIMED_COLLECTIVE_REDUCE_SCATTER },
	{ "reduce_scatter_tensor_coalesced", true, false, false,
	  T3_TIMED_COLLECTIVE_REDUCE_SCATTER },
	{ "matmul_reduce_scatter", true, false, true, T3_TIMED_COLLECTIVE_REDUCE_SCATTER },
	{ "all_gather", true, false, false, T3_TIMED_COLLECTIVE_ALL_GATHER },
	{ "all_gather_coalesced", true, false, false, T3_TIMED_COLLECTIVE_ALL_GATHER },
	{ "all_gather_into_tensor", true, false, false, T3_TIMED_COLLECTIVE_ALL_GATHER },
	{ "all_gather_into_tensor_coalesced", true, false, false, T3_TIMED_COLLECTIVE_ALL_GATHER },
	{ "gather", true, true, false, T3_TIMED_COLLECTIVE_ALL_GATHER },
	{ "all_to_all", true, false, false, T3_TIMED_COLLECTIVE_ALL_TO_ALL },
	{ "all_to_all_single", true, false, false, T3_TIMED_COLLECTIVE_ALL_TO_ALL },
	{ .name = "broadcast" },
	{ .name = "scatter" },
	{ .name = "send" },
	{ .name = "recv" },
	{ .name = "barrier" },
};

/* An operation's product and collective. */
struct product {
	uint64_t m, n, k, batch;
	const struct type *type;
};

struct exchange {
	const struct collective *collective;
	uint64_t bytes, ranks;
	const struct type *type;
};

struct reader {
	struct sim_step *step;
	struct sim_json json;
	char nest[64];	  /* of the fields that are read */
	json_t *left_out; /* calls by name */
	uint64_t afterwards, alike;
};

const char *sim_pass_name(enum sim_pass pass)
{
	return passes[pass];
}

/* -------------------------------------------------------------------- fields */

/* A field that must be there. NULL: refused. */
static const json_t *need(struct reader *r, const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);

	if (!value)
		sim_json_refuse(&r->json, "%s%s is missing", r->nest, name);
	return value;
}

static uint64_t number(struct reader *r, const json_t *object, const char *name, uint64_t min,
		       uint64_t max)
{
	const json_t *value = need(r, object, name);

	if (!value || !sim_json_in_range(&r->json, r->nest, name, value, min, max))
		return 0;
	return (uint64_t)json_integer_value(value);
}

static const char *text(struct reader *r, const json_t *object, const char *name)
{
	const json_t *value = need(r, object, name);

	if (value && !json_is_string(value))
		sim_json_refuse_value(&r->json, r->nest, name, value, "a string");
	return json_is_string(value) ? json_string_value(value) : "";
}

/* An object without other fields than these, which are words. False: refused. */
static bool only(struct reader *r, const char *what, const json_t *object, const char *fields)
{
	const char *name, *at;
	const json_t *value;
	size_t len;

	if (!json_is_object(object)) {
		sim_json_refuse_value(&r->json, r->nest, what, object, "an object");
		return false;
	}
	json_object_foreach((json_t *)object, name, value)
	{
		len = strlen(name);
		for (at = strstr(fields, name); at; at = strstr(at + 1, name))
			if (!strchr(name, ' ') && (at == fields || at[-1] == ' ') &&
			    (at[len] == ' ' || !at[len]))
				break;
		if (!at)
			return sim_json_refuse(
				&r->json, "%s%s%s%.64s is no field of version %u, which has %s",
				r->nest, what, *what ? "." : "", name, VERSION, fields);
	}
	return true;
}

static const struct type *type_of(struct reader *r, const json_t *object)
{
	const char *name = text(r, object, "dtype");
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(name, types[i].name))
			return &types[i];
	sim_json_refuse(&r->json,
			"%sdtype is \"%.40s\" and must be a type of torch, such as float32 or "
			"bfloat16",
			r->nest, name);
	return &types[0];
}

/* ---------------------------------------------------------------------- runs */

/* The number of a run that was there before, or of a new one. */
static uint32_t run_of(struct reader *r, const struct sim_step_run *wanted)
{
	struct sim_step *step = r->step;
	const struct sim_gemm *g = &wanted->gemm;
	uint32_t i;

	for (i = 0; i < step->runs; i++) {
		const struct sim_step_run *run = &step->run[i];
		const struct sim_gemm *had = &run->gemm;

		if (run->message == wanted->message &&
		    run->element_bytes == wanted->element_bytes && had->m == g->m &&
		    had->n == g->n && had->k == g->k && had->ranks == g->ranks &&
		    had->collective == g->collective)
			return i;
	}
	if (step->runs == MAX_RUNS) {
		sim_json_refuse(&r->json,
				"operations have more than %u different products and collectives",
				MAX_RUNS);
		return 0;
	}
	step->run[step->runs] = *wanted;
	return step->runs++;
}

static struct sim_step_operator *add(struct reader *r, const struct sim_step_operator *call,
				     const char *name, enum sim_operator_kind kind)
{
	struct sim_step_operator *op = &r->step->op[r->step->operators++];

	*op = *call;
	op->op = (struct sim_operator){ .name = name,
					.kind = kind,
					.backward = call->pass == SIM_BACKWARD };
	return op;
}

static void leave_out(struct reader *r, const char *what, uint64_t count)
{
	json_int_t before = json_integer_value(json_object_get(r->left_out, what));

	json_object_set_new(r->left_out, what, json_integer(before + (json_int_t)count));
}

/* ------------------------------------------------------------------ operations */

static struct product read_product(struct reader *r, const json_t *gemm)
{
	struct product p = { .type = &types[0] };

	if (!only(r, "gemm", gemm, "m n k batch dtype"))
		return p;
	strcat(r->nest, "gemm.");
	p.m = number(r, gemm, "m", 1, MAX_EXTENT);
	p.n = number(r, gemm, "n", 1, MAX_EXTENT);
	p.k = number(r, gemm, "k", 1, MAX_EXTENT);
	p.batch = number(r, gemm, "batch", 1, MAX_EXTENT);
	p.type = type_of(r, gemm);
	return p;
}

static struct exchange read_exchange(struct reader *r, const json_t *collective)
{
	struct exchange e = { .collective = &collectives[0], .type = &types[0] };
	const char *name;
	size_t i;

	if (!only(r, "collective", collective, "name bytes ranks dtype"))
		return e;
	strcat(r->nest, "collective.");
	name = text(r, collective, "name");
	for (i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++)
		if (!strcmp(name, collectives[i].name))
			break;
	if (i == sizeof(collectives) / sizeof(collectives[0]))
		sim_json_refuse(&r->json,
				"%sname is \"%.40s\" and must be a collective of "
				"t3.torch.counts(), such as all_reduce",
				r->nest, name);
	else
		e.collective = &collectives[i];
	e.bytes = number(r, collective, "bytes", e.collective->timed, MAX_BYTES);
	e.ranks = number(r, collective, "ranks", 2, T3_TIMED_MAX_RANKS);
	e.type = type_of(r, collective);
	return e;
}

/* A product of one matrix that ends in no collective. */
static void add_plain(struct reader *r, const struct sim_step_operator *call,
		      const struct product *p)
{
	struct sim_step_run wanted = { .gemm = { .m = p->m, .n = p->n, .k = p->k, .plain = true },
				       .element_bytes = p->type->bytes };

	add(r, call, "product", SIM_PLAIN)->op.gemm = run_of(r, &wanted);
}

/* Of attention: several small matrices are one kernel. */
static void add_batch(struct reader *r, const struct sim_step_operator *call,
		      const struct product *p)
{
	struct sim_operator *op = &add(r, call, "batched product", SIM_ATTENTION)->op;
	double m = (double)p->m, n = (double)p->n, k = (double)p->k, batch = (double)p->batch;

	op->flops = 2 * batch * m * n * k;
	op->bytes = batch * (m * k + k * n + m * n) * (double)p->type->bytes;
}

static void add_exchange(struct reader *r, const struct sim_step_operator *call,
			 const struct exchange *e)
{
	struct sim_step_run wanted = {
		.gemm = { .ranks = e->ranks, .collective = e->collective->kind, .exchanged = true },
		.element_bytes = e->type->bytes > 8 ? 8 : e->type->bytes, /* complex128 is two */
		.message = e->bytes,
	};

	if (!e->collective->timed) {
		leave_out(r, e->collective->name, call->count);
		return;
	}
	r->alike += e->collective->alike ? call->count : 0;
	add(r, call, e->collective->name, SIM_EXCHANGE)->op.gemm = run_of(r, &wanted);
}

/* A product with the collective that sums it. */
static void add_summed(struct reader *r, const struct sim_step_operator *call,
		       const struct product *p, const struct exchange *e)
{
	struct sim_step_run wanted = { .gemm = { .m = p->m,
						 .n = p->n,
						 .k = p->k,
						 .ranks = e->ranks,
						 .collective = e->collective->kind,
						 .reduced = true },
				       .element_bytes = p->type->bytes };
	struct sim_step_run *run;
	uint32_t number = run_of(r, &wanted);

	run = &r->step->run[number];
	if (!*run->gemm.name)
		snprintf(run->gemm.name, sizeof(run->gemm.name), "product %" PRIu32, number + 1);
	add(r, call, e->collective->name, SIM_REDUCED)->op.gemm = number;
}

static void check_summed(struct reader *r, const json_t *one, const struct product *p,
			 const struct exchange *e)
{
	const char *summed = text(r, one, "summed");
	bool meanwhile = !strcmp(summed, "while made");

	if (!meanwhile && strcmp(summed, "afterwards"))
		sim_json_refuse(
			&r->json,
			"%ssummed is \"%.40s\" and must be \"while made\" or \"afterwards\"",
			r->nest, summed);
	if (p->batch > 1)
		sim_json_refuse(&r->json,
				"%sgemm.batch is %" PRIu64 " and must be 1 with a collective",
				r->nest, p->batch);
	if (!e->collective->products)
		sim_json_refuse(&r->json,
				"%scollective.name is \"%s\", which sums no product: they are "
				"operations of their own",
				r->nest, e->collective->name);
	if (p->type != e->type)
		sim_json_refuse(&r->json,
				"%scollective.dtype is \"%s\" and must be that of the product, %s",
				r->nest, e->type->name, p->type->name);
	if (e->bytes != p->m * p->n * e->type->bytes)
		sim_json_refuse(&r->json,
				"%scollective.bytes is %" PRIu64
				" and must be those of m x n elements, %" PRIu64,
				r->nest, e->bytes, p->m * p->n * e->type->bytes);
}

static void add_work(struct reader *r, const json_t *one, const struct sim_step_operator *call,
		     const char *nest)
{
	const json_t *gemm = json_object_get(one, "gemm");
	const json_t *collective = json_object_get(one, "collective");
	struct sim_step_operator typed = *call;
	struct product p = { 0 };
	struct exchange e = { 0 };

	if (gemm)
		p = read_product(r, gemm);
	strcpy(r->nest, nest);
	if (collective)
		e = read_exchange(r, collective);
	strcpy(r->nest, nest);
	if (gemm && collective)
		check_summed(r, one, &p, &e);
	else if (json_object_get(one, "summed"))
		sim_json_refuse(&r->json, "%ssummed needs gemm and collective", nest);
	if (r->json.bad)
		return;
	typed.element_bytes = gemm ? p.type->bytes : 2;
	if (gemm && !p.type->product) {
		char what[64];

		snprintf(what, sizeof(what), "products of %s", p.type->name);
		leave_out(r, what, call->count);
		if (collective)
			add_exchange(r, &typed, &e);
	} else if (gemm && collective) {
		if (!strcmp(text(r, one, "summed"), "afterwards"))
			r->afterwards += call->count;
		add_summed(r, &typed, &p, &e);
	} else if (gemm && p.batch > 1) {
		add_batch(r, &typed, &p);
	} else if (gemm) {
		add_plain(r, &typed, &p);
	} else {
		add_exchange(r, &typed, &e);
	}
}

static void add_memory(struct reader *r, const json_t *memory, const struct sim_step_operator *call)
{
	const char *name;
	uint64_t bytes;

	if (!only(r, "memory", memory, "name bytes"))
		return;
	strcat(r->nest, "memory.");
	name = text(r, memory, "name");
	bytes = number(r, memory, "bytes", 1, MAX_BYTES);
	if (!r->json.bad)
		add(r, call, name, SIM_MEMORY)->op.bytes = (double)bytes;
}

static void read_left_out(struct reader *r, const json_t *left_out, uint64_t count)
{
	const char *name;

	if (!only(r, "left_out", left_out, "name"))
		return;
	strcat(r->nest, "left_out.");
	name = text(r, left_out, "name");
	if (!r->json.bad)
		leave_out(r, name, count);
}

static void read_operation(struct reader *r, const json_t *one, size_t place)
{
	static const char fields[] = "pass count gemm collective summed memory left_out";
	struct sim_step_operator call = { .element_bytes = 2 };
	const json_t *memory = json_object_get(one, "memory");
	const json_t *left_out = json_object_get(one, "left_out");
	bool works = json_object_get(one, "gemm") || json_object_get(one, "collective");
	const char *pass;
	char nest[48];
	int i;

	snprintf(nest, sizeof(nest), "operations[%zu]", place);
	r->nest[0] = '\0';
	if (!only(r, nest, one, fields))
		return;
	strcat(nest, ".");
	strcpy(r->nest, nest);
	if (works + !!memory + !!left_out != 1) {
		sim_json_refuse(&r->json,
				"%.*s must be one of gemm or collective, memory and left_out",
				(int)strlen(nest) - 1, nest);
		return;
	}
	call.count = number(r, one, "count", 1, MAX_COUNT);
	pass = text(r, one, "pass");
	for (i = 0; i < SIM_PASSES && strcmp(pass, passes[i]);)
		i++;
	if (i == SIM_PASSES)
		sim_json_refuse(&r->json,
				"%spass is \"%.40s\" and must be forward, backward or optimizer",
				nest, pass);
	call.pass = (enum sim_pass)i;
	if (r->json.bad)
		return;
	if (works)
		add_work(r, one, &call, nest);
	else if (memory)
		add_memory(r, memory, &call);
	else
		read_left_out(r, left_out, call.count);
}

/* ----------------------------------------------------------------------- notes */

static void note_kinds(struct reader *r)
{
	json_t *notes = r->step->notes;
	bool has[SIM_OPERATOR_KINDS] = { false };
	uint32_t i;

	for (i = 0; i < r->step->operators; i++)
		has[r->step->op[i].op.kind] = true;
	if (has[SIM_REDUCED])
		sim_note_in(notes, SIM_EXACT,
			    "products that a collective sums: each distinct one is simulated in "
			    "each configuration");
	if (has[SIM_EXCHANGE])
		sim_note_in(notes, SIM_EXACT,
			    "collectives without a product: each distinct one is simulated, and is "
			    "the same in all configurations");
	if (has[SIM_PLAIN])
		sim_note_in(notes, SIM_APPROXIMATED,
			    "other products take as long as the GEMM phase of one of as many "
			    "operations");
	if (has[SIM_ATTENTION])
		sim_note_in(notes, SIM_APPROXIMATED,
			    "batched products, those of attention, take the longer of their "
			    "operations and their bytes");
	if (has[SIM_MEMORY])
		sim_note_in(notes, SIM_APPROXIMATED,
			    "other operations move what each reads and writes at memory_gbps, and "
			    "none is fused with the next");
}

static void add_notes(struct reader *r)
{
	json_t *notes = r->step->notes, *calls;
	const char *name;

	note_kinds(r);
	sim_note_in(notes, SIM_APPROXIMATED,
		    "operations run one after the other: a collective hides behind no product but "
		    "the one that it sums");
	if (r->step->ranks > 1)
		sim_note_in(notes, SIM_APPROXIMATED, "all ranks do what rank %" PRIu64 " does",
			    r->step->rank);
	if (r->afterwards)
		sim_note_in(notes, SIM_APPROXIMATED,
			    "%" PRIu64 " products were made before they were summed, and T3 sums "
			    "them meanwhile",
			    r->afterwards);
	if (r->alike)
		sim_note_in(notes, SIM_APPROXIMATED,
			    "reduce takes as long as all_reduce, and gather as all_gather");
	json_object_foreach(r->left_out, name, calls)
		sim_note_in(notes, SIM_LEFT_OUT, "%.64s: %" PRIu64 " in a step", name,
			    (uint64_t)json_integer_value(calls));
}

/* Sentences of what recorded. */
static void read_notes(struct reader *r, const json_t *list)
{
	const json_t *one;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > MAX_NOTES) {
		sim_json_refuse(&r->json, "notes must be a list of at most %u sentences",
				MAX_NOTES);
		return;
	}
	json_array_foreach(list, i, one)
	{
		if (!json_is_string(one)) {
			sim_json_refuse(&r->json, "notes[%zu] must be a string", i);
			return;
		}
		sim_note_in(r->step->notes, SIM_APPROXIMATED, "%s", json_string_value(one));
	}
}

/* ------------------------------------------------------------------------ file */

static void read_head(struct reader *r)
{
	const json_t *file = r->step->file;
	const char *format = text(r, file, "format");

	if (strcmp(format, FORMAT))
		sim_json_refuse(&r->json, "format is \"%.40s\" and must be \"" FORMAT "\"", format);
	number(r, file, "version", VERSION, VERSION);
	if (!r->json.bad)
		only(r, "", file, "format version by rank ranks notes operations");
	sim_escape(r->step->by, sizeof(r->step->by), text(r, file, "by"));
	r->step->ranks = number(r, file, "ranks", 1, MAX_WORLD);
	r->step->rank = number(r, file, "rank", 0, MAX_WORLD - 1);
	if (!r->json.bad && r->step->rank >= r->step->ranks)
		sim_json_refuse(&r->json, "rank is %" PRIu64 " and must be below ranks, %" PRIu64,
				r->step->rank, r->step->ranks);
}

static void read_step(struct reader *r)
{
	struct sim_step *step = r->step;
	const json_t *list, *one;
	size_t i, count;

	read_head(r);
	list = need(r, step->file, "operations");
	count = json_array_size(list);
	if (!count || count > MAX_OPERATIONS)
		sim_json_refuse(&r->json, "operations must be a list of 1 to %u", MAX_OPERATIONS);
	if (r->json.bad)
		return;
	step->op = calloc(count, sizeof(*step->op));
	step->run = calloc(count < MAX_RUNS ? count : MAX_RUNS, sizeof(*step->run));
	if (!step->op || !step->run) {
		sim_json_refuse(&r->json, "there is no memory for its operations");
		return;
	}
	json_array_foreach(list, i, one)
	{
		read_operation(r, one, i);
		if (r->json.bad)
			return;
	}
	if (!step->operators)
		sim_json_refuse(&r->json, "operations has none whose time is modelled");
	add_notes(r);
	r->nest[0] = '\0';
	if ((list = need(r, step->file, "notes")))
		read_notes(r, list);
}

bool sim_step_read(FILE *file, struct sim_step *step, char *why)
{
	struct reader r = { .step = step, .json = { .why = why }, .left_out = json_object() };

	*step = (struct sim_step){ .notes = json_pack("{s:[], s:[], s:[]}", "exact", "approximated",
						      "left_out") };
	step->file = sim_json_load(file, MAX_FILE, &r.json);
	if (!r.json.bad && step->notes && r.left_out)
		read_step(&r);
	else
		sim_json_refuse(&r.json, "there is no memory for it");
	if (r.json.bad)
		sim_step_free(step);
	json_decref(r.left_out);
	return !r.json.bad;
}

void sim_step_free(struct sim_step *step)
{
	free(step->op);
	free(step->run);
	json_decref(step->notes);
	json_decref(step->file);
	*step = (struct sim_step){ 0 };
}

double sim_step_operator_time(const struct sim_step_operator *op, const struct sim_cost *cost,
			      const struct t3_timed_params *params, enum sim_config config)
{
	const struct sim_machine_rate rate = sim_machine_rate(params, op->element_bytes);

	return (double)op->count * sim_operator_time(&op->op, cost, &rate, config);
}
