// SPDX-License-Identifier: MIT
/* Writes what a rank did in a functional run as a workload: the format of step.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/functional.h"
#include "sim/workload.h"

#define MAX_EXTENT     ((uint64_t)1 << 24) /* as step.c reads them */
#define MAX_OPERATIONS 65536u

static const char *const makers[] = {
	[SIM_MADE_BY_NOTHING] = "nothing", [SIM_MADE_BY_STORES] = "stores",
	[SIM_MADE_BY_COPIES] = "copies",   [SIM_MADE_BY_GEMM] = "gemm",
	[SIM_MADE_BY_SEVERAL] = "several",
};

struct writer {
	const struct sim_functional *run;
	const struct sim_given *given;
	uint32_t given_count;
	json_t *calls; /* of each operation, by its JSON */
	json_t *list, *notes;
	uint32_t stored;     /* outputs that a K may be given for */
	uint64_t unknown;    /* epochs of them without one */
	uint64_t given_some; /* with one */
	uint64_t several, uneven, made_before;
	char *why;
	bool bad;
};

__attribute__((format(printf, 2, 3))) static void refuse(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!w->bad)
		vsnprintf(w->why, SIM_WHY_SIZE, format, args);
	va_end(args);
	w->bad = true;
}

__attribute__((format(printf, 2, 3))) static void note(struct writer *w, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_array_append_new(w->notes, json_vsprintf(format, args));
	va_end(args);
}

/* Takes the operation. Equal ones are counted together, in the order of the first ones. */
static void add(struct writer *w, json_t *operation, uint64_t count)
{
	char *key = json_dumps(operation, JSON_COMPACT);
	json_t *had = key ? json_object_get(w->calls, key) : NULL;

	if (had)
		json_integer_set(had, json_integer_value(had) + (json_int_t)count);
	else if (!key || json_object_set_new(w->calls, key, json_integer((json_int_t)count)))
		refuse(w, "there is no memory for its operations");
	free(key);
	json_decref(operation);
}

static json_t *gemm_of(uint64_t m, uint64_t n, uint64_t k, uint32_t dtype)
{
	return json_pack("{s:I, s:I, s:I, s:i, s:s}", "m", (json_int_t)m, "n", (json_int_t)n, "k",
			 (json_int_t)k, "batch", 1, "dtype", sim_torch_name(dtype));
}

static json_t *collective_of(const struct sim_flow *flow, bool product)
{
	return json_pack("{s:s, s:I, s:I, s:s}", "name", sim_flow_name(flow->kind, product),
			 "bytes", (json_int_t)flow->bytes, "ranks", (json_int_t)flow->ranks,
			 "dtype", sim_torch_name(flow->dtype));
}

static void add_left_out(struct writer *w, const char *name, uint64_t count)
{
	if (count)
		add(w, json_pack("{s:{s:s}}", "left_out", "name", name), count);
}

/* -------------------------------------------------------------------- outputs */

/* The user's word on this output, or NULL. */
static const struct sim_given *given_for(const struct writer *w, uint32_t number)
{
	const struct sim_given *all = NULL;
	uint32_t i;

	for (i = 0; i < w->given_count; i++) {
		if (w->given[i].number == number)
			return &w->given[i];
		if (!w->given[i].number)
			all = &w->given[i];
	}
	return all;
}

/* An output of the program's stores becomes a product, if its K is given. False: it is none. */
static bool give(struct writer *w, struct sim_output *output, uint64_t elements)
{
	const struct sim_given *given = given_for(w, ++w->stored);

	if (!given)
		return false;
	if (given->m) {
		output->m = given->m;
		output->n = given->n;
	}
	if (!output->m && given->number)
		refuse(w,
		       "--k %" PRIu32 "=%" PRIu64 " needs M and N, too, as %" PRIu32
		       "=MxNxK: the output is an array of %" PRIu64 " elements",
		       given->number, given->k, given->number, elements);
	if (!output->m)
		return false;
	if (output->m > MAX_EXTENT || output->n > MAX_EXTENT || output->m * output->n != elements) {
		refuse(w,
		       "--k gives %" PRIu64 " x %" PRIu64 " elements for output %" PRIu32
		       ", which has %" PRIu64,
		       output->m, output->n, w->stored, elements);
		return false;
	}
	output->k = given->k;
	return true;
}

/* One of the list's entries, for people. */
static void describe(struct writer *w, const struct sim_output *o, const struct sim_flow *flow,
		     uint64_t elements, bool stored)
{
	const char *name = sim_flow_name(flow->kind, false);
	json_t *one = json_pack("{s:I, s:s, s:s, s:I, s:I, s:s}", "count", (json_int_t)o->count,
				"made_by", makers[o->maker], "collective",
				name	    ? name
				: flow->why ? flow->why
					    : "none",
				"ranks", (json_int_t)flow->ranks, "elements", (json_int_t)elements,
				"dtype", sim_torch_name(flow->dtype));

	if (stored)
		json_object_set_new(one, "number", json_integer(w->stored));
	if (o->m)
		json_object_update_new(one, json_pack("{s:I, s:I}", "m", (json_int_t)o->m, "n",
						      (json_int_t)o->n));
	if (o->k)
		json_object_set_new(one, "k", json_integer((json_int_t)o->k));
	json_array_append_new(w->list, one);
}

/* A product, a collective, or a product that a collective sums while it is made. */
static void add_work(struct writer *w, const struct sim_output *o, const struct sim_flow *flow)
{
	uint32_t dtype = o->maker == SIM_MADE_BY_GEMM ? o->dtype : flow->dtype;
	bool summed = o->k && sim_flow_sums(flow->kind);

	if (summed) {
		add(w,
		    json_pack("{s:o, s:o, s:s}", "gemm", gemm_of(o->m, o->n, o->k, dtype),
			      "collective", collective_of(flow, true), "summed", "while made"),
		    o->count);
		return;
	}
	if (o->k) {
		add(w, json_pack("{s:o}", "gemm", gemm_of(o->m, o->n, o->k, dtype)), o->count);
		w->made_before += flow->kind != SIM_FLOW_NONE ? o->count : 0;
	}
	if (sim_flow_name(flow->kind, false))
		add(w, json_pack("{s:o}", "collective", collective_of(flow, false)), o->count);
	else if (flow->kind == SIM_FLOW_OTHER)
		add_left_out(w, flow->why, o->count);
	else if (!o->k && o->layout->local)
		add(w,
		    json_pack("{s:{s:s, s:I}}", "memory", "name", "output", "bytes",
			      (json_int_t)o->layout->local),
		    o->count);
}

static void add_output(struct writer *w, const struct sim_output *output)
{
	struct sim_output o = *output;
	struct sim_flow flow;
	uint64_t elements;
	bool stored = o.maker == SIM_MADE_BY_STORES;

	sim_flow_find(w->run, o.layout, &flow);
	elements = o.layout->local / sim_element_bytes(flow.dtype);
	if (stored && give(w, &o, elements))
		w->given_some += o.count;
	else if (stored)
		w->unknown += o.count;
	if (o.maker == SIM_MADE_BY_SEVERAL)
		add_left_out(w, "a product of several commands", o.count);
	w->uneven += flow.uneven ? o.count : 0;
	describe(w, &o, &flow, elements, stored);
	add_work(w, &o, &flow);
}

/* ------------------------------------------------------------------- commands */

static void add_command(struct writer *w, const struct sim_command *c)
{
	static const char *const words[] = {
		[T3_DESC_COPY] = "copy",
		[T3_DESC_FILL] = "fill",
		[T3_DESC_UPDATE] = "update",
	};

	if (c->opcode == T3_DESC_TIMED)
		add_left_out(w, "a run of the timed model", c->count);
	else if (c->opcode == T3_DESC_GEMM)
		add(w, json_pack("{s:o}", "gemm", gemm_of(c->m, c->n, c->k, c->dtype)), c->count);
	else
		add(w,
		    json_pack("{s:{s:s, s:I}}", "memory", "name", words[c->opcode], "bytes",
			      (json_int_t)c->bytes),
		    c->count);
}

/* ---------------------------------------------------------------------- notes */

static void add_notes(struct writer *w)
{
	const struct sim_functional *run = w->run;

	note(w, "the step is a whole record, from the boot to its end, and all of it is forward");
	note(w,
	     "a record has what a program put into spaces and queues: what its CPU computed, and "
	     "read and wrote in device memory, is left out");
	if (!run->complete)
		note(w, "the record ends in the middle");
	if (w->unknown)
		note(w,
		     "%" PRIu64
		     " outputs were stored by the program, which may have been products: "
		     "they are collectives alone, as a record has no K (t3 trace --k)",
		     w->unknown);
	if (w->given_some)
		note(w, "of %" PRIu64 " outputs that the program stored, K was given by --k",
		     w->given_some);
	if (w->made_before)
		note(w,
		     "%" PRIu64 " products end in collectives that sum nothing: t3 sim adds both "
		     "times, and T3 sends what is complete meanwhile",
		     w->made_before);
	if (w->uneven)
		note(w,
		     "in %" PRIu64 " collectives ranks put different numbers of bytes: t3 sim has "
		     "equal parts",
		     w->uneven);
	if (run->host)
		note(w,
		     "copies read and wrote %" PRIu64 " bytes of host memory, which take no time",
		     run->host);
	if (run->failed)
		note(w, "%" PRIu64 " commands of queues failed, and are left out", run->failed);
	if (run->late)
		note(w,
		     "%" PRIu64 " commands stored into a space whose epoch was over, and are left "
		     "out",
		     run->late);
}

/* ------------------------------------------------------------------------ all */

static json_t *operations_of(struct writer *w)
{
	json_t *all = json_array(), *calls, *one;
	const char *key;

	json_object_foreach(w->calls, key, calls)
	{
		one = json_loads(key, 0, NULL);
		json_object_set_new(one, "pass", json_string("forward"));
		json_object_set(one, "count", calls);
		if (json_array_append_new(all, one))
			refuse(w, "there is no memory for its operations");
	}
	return all;
}

static void check_given(struct writer *w)
{
	uint32_t i;

	for (i = 0; i < w->given_count; i++)
		if (w->given[i].number > w->stored)
			refuse(w,
			       "--k %" PRIu32 "=...: it has %" PRIu32
			       " different outputs that the program stored",
			       w->given[i].number, w->stored);
	if (json_object_size(w->calls) > MAX_OPERATIONS)
		refuse(w, "it has more than %u different operations: record a shorter run",
		       MAX_OPERATIONS);
	if (!json_object_size(w->calls))
		refuse(w,
		       "rank %" PRIu32 " has completed no epoch of a space, and no command of a "
		       "queue",
		       w->run->rank);
}

bool sim_functional_workload(const struct sim_functional *run, const struct sim_given *given,
			     uint32_t count, json_t **workload, json_t **list, char *why)
{
	struct writer w = { .run = run,
			    .given = given,
			    .given_count = count,
			    .calls = json_object(),
			    .list = json_array(),
			    .notes = json_array(),
			    .why = why };
	uint32_t i;

	for (i = 0; i < run->outputs && !w.bad; i++)
		add_output(&w, &run->output[i]);
	for (i = 0; i < run->commands && !w.bad; i++)
		add_command(&w, &run->command[i]);
	add_left_out(&w, "an epoch that did not complete", run->incomplete);
	add_notes(&w);
	check_given(&w);
	*list = w.list;
	*workload = json_pack("{s:s, s:i, s:s, s:I, s:I, s:o, s:o}", "format", "t3-workload",
			      "version", 1, "by", "t3 trace, of a record", "rank",
			      (json_int_t)run->rank, "ranks", (json_int_t)run->ranks, "notes",
			      w.notes, "operations", operations_of(&w));
	json_decref(w.calls);
	if (!w.bad && !*workload)
		refuse(&w, "there is no memory for its operations");
	if (w.bad) {
		json_decref(*workload);
		json_decref(*list);
	}
	return !w.bad;
}
