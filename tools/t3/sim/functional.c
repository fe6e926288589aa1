// SPDX-License-Identifier: MIT
/* Replays a record, and keeps what each epoch and each command of a queue was. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/functional.h"
#include "sim/workload.h"

#define MAX_LAYOUTS 16384u
#define MAX_KINDS   65536u /* of outputs, and of commands */

/* A space's epoch that goes on, or whose commands may still end. */
struct epoch {
	struct sim_layout *layout;
	uint32_t number;
	bool complete;
	uint64_t base[T3_SPACE_SEGMENTS]; /* bytes of all epochs before */
	uint64_t local, put;		  /* as in the layout */
	uint64_t copied;		  /* bytes of commands */
	uint64_t made;			  /* bytes of GEMMs */
	uint64_t rows, columns, depth;	  /* of all GEMMs together */
	uint32_t dtype;
	bool differ; /* GEMMs with another K, width or type: they are no single product */
};

/* Items with one hash: the number of the first one, and of each the number of the next; 0: none. */
struct chains {
	uint32_t first[MAX_KINDS], next[MAX_KINDS];
};

struct watcher {
	struct sim_functional *run;
	struct chains outputs, commands;
	struct epoch *open[T3_MAX_RANKS][T3_MAX_SPACES];
	bool full;   /* a limit was reached */
	bool scarce; /* there is no memory */
};

/* Make room for one more of `count` items. NULL: there is none. */
static void *grown(struct watcher *w, void *items, uint32_t count, size_t size, uint32_t limit)
{
	void *more = items;

	if (count == limit)
		w->full = true;
	else if (!(count & (count - 1)))
		more = realloc(items, (count ? 2 * (size_t)count : 1) * size);
	if (!more)
		w->scarce = true;
	return w->full ? NULL : more;
}

/* FNV-1a, of whole numbers. */
static uint64_t hashed(uint64_t hash, uint64_t number)
{
	return (hash ^ number) * UINT64_C(0x100000001b3);
}

/* The low bits of such a product depend on low bits alone. */
static uint32_t *chain_of(struct chains *chains, uint64_t hash)
{
	return &chains->first[(hash ^ hash >> 32) % MAX_KINDS];
}

/* -------------------------------------------------------------------- layouts */

static void describe(const struct t3_dev *dev, uint32_t rank, uint32_t space,
		     struct sim_layout *layout)
{
	struct t3_space_info about;
	struct t3_segment_info s;
	struct t3_route_info r;
	uint32_t i;

	memset(layout, 0, sizeof(*layout));
	layout->rank = rank;
	layout->space = space;
	if (t3_dev_space_info(dev, space, &about))
		layout->generation = about.generation;
	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		if (!t3_dev_segment_info(dev, space, i, &s))
			continue;
		layout->used |= UINT64_C(1) << i;
		layout->segment[i] = (struct sim_layout_segment){
			.kind = s.kind,
			.op = s.op,
			.dtype = s.dtype,
			.updates = s.updates,
			.rows = s.rows,
			.row_bytes = s.row_bytes,
			.routes = s.routes,
			.target_segment = s.target_segment,
		};
	}
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (t3_dev_route_info(dev, space, i, &r))
			layout->route[i] =
				(struct sim_layout_route){ true, r.rank, r.space, r.generation };
}

static bool same_layout(const struct sim_layout *a, const struct sim_layout *b)
{
	uint32_t i;

	if (a->generation != b->generation || a->used != b->used)
		return false;
	for (i = 0; i < T3_SPACE_ROUTES; i++)
		if (a->route[i].used != b->route[i].used || a->route[i].rank != b->route[i].rank ||
		    a->route[i].space != b->route[i].space ||
		    a->route[i].generation != b->route[i].generation)
			return false;
	return !memcmp(a->segment, b->segment, sizeof(a->segment));
}

/* The layout of the epoch before, if nothing has changed. NULL: no room. */
static struct sim_layout *layout_of(struct watcher *w, struct sim_layout *before,
				    const struct sim_layout *now)
{
	struct sim_functional *run = w->run;
	struct sim_layout **all, *layout;

	if (before && same_layout(before, now))
		return before;
	all = grown(w, run->layout, run->layouts, sizeof(*all), MAX_LAYOUTS);
	layout = all ? malloc(sizeof(*layout)) : NULL;
	if (all)
		run->layout = all;
	if (!layout) {
		w->scarce = w->scarce || all;
		return NULL;
	}
	*layout = *now;
	run->layout[run->layouts++] = layout;
	return layout;
}

/* --------------------------------------------------------------------- epochs */

static enum sim_maker maker_of(const struct epoch *e)
{
	if (!e->local)
		return SIM_MADE_BY_NOTHING;
	if (!e->made && !e->copied)
		return SIM_MADE_BY_STORES;
	if (!e->made && e->copied == e->local)
		return SIM_MADE_BY_COPIES;
	return e->made == e->local && !e->differ ? SIM_MADE_BY_GEMM : SIM_MADE_BY_SEVERAL;
}

/* The rows and columns of what the rank itself has put, if that is one matrix. */
static void measure(const struct sim_layout *l, const struct epoch *e, struct sim_output *output)
{
	uint32_t i, row_bytes = 0, element = 1;
	bool matrix = false;

	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		if (!(e->put >> i & 1))
			continue;
		if (row_bytes && row_bytes != l->segment[i].row_bytes)
			return;
		row_bytes = l->segment[i].row_bytes;
		element = sim_element_bytes(l->segment[i].dtype);
		matrix = matrix || l->segment[i].rows > 1;
	}
	if (!matrix || e->local % row_bytes)
		return;
	output->m = e->local / row_bytes;
	output->n = row_bytes / element;
}

static struct sim_output output_of(const struct epoch *e)
{
	struct sim_output output = { .layout = e->layout, .maker = maker_of(e), .count = 1 };

	if (output.maker == SIM_MADE_BY_GEMM) {
		output.dtype = e->dtype;
		output.m = e->rows;
		output.n = e->columns;
		output.k = e->depth;
	} else if (output.maker != SIM_MADE_BY_NOTHING) {
		measure(e->layout, e, &output);
	}
	return output;
}

static uint64_t hash_output(const struct sim_output *o)
{
	uint64_t hash = hashed(o->layout->generation, o->layout->first_epoch);

	hash = hashed(hashed(hash, o->layout->space), (uint64_t)o->maker << 32 | o->dtype);
	return hashed(hashed(hashed(hash, o->m), o->n), o->k);
}

static void add_output(struct watcher *w, const struct sim_output *output)
{
	struct sim_functional *run = w->run;
	uint32_t *chain = chain_of(&w->outputs, hash_output(output)), i;
	struct sim_output *all;

	for (i = *chain; i; i = w->outputs.next[i - 1]) {
		struct sim_output *had = &run->output[i - 1];

		if (had->layout == output->layout && had->maker == output->maker &&
		    had->dtype == output->dtype && had->m == output->m && had->n == output->n &&
		    had->k == output->k) {
			had->count++;
			return;
		}
	}
	all = grown(w, run->output, run->outputs, sizeof(*all), MAX_KINDS);
	if (!all)
		return;
	run->output = all;
	w->outputs.next[run->outputs] = *chain;
	run->output[run->outputs++] = *output;
	*chain = run->outputs;
}

/* Commands into the space have ended, too. */
static void close_epoch(struct watcher *w, struct epoch *e)
{
	struct sim_layout *layout = e->layout;
	struct sim_output output;

	if (!layout)
		return;
	if (e->complete) {
		layout->done_epoch = e->number;
		layout->local = e->local;
		layout->put = e->put;
	}
	if (layout->rank == w->run->rank && layout->used) {
		output = output_of(e);
		if (e->complete)
			add_output(w, &output);
		else
			w->run->incomplete++;
	}
	e->layout = NULL;
}

static void open_epoch(struct watcher *w, const struct t3_dev *dev, uint32_t rank, uint32_t space,
		       uint32_t number)
{
	struct epoch **place = &w->open[rank][space], *e = *place;
	struct sim_layout now, *before = NULL;
	struct t3_segment_info s;
	uint32_t i;

	if (!e)
		e = *place = calloc(1, sizeof(*e));
	if (!e) {
		w->scarce = true;
		return;
	}
	before = e->layout;
	close_epoch(w, e);
	describe(dev, rank, space, &now);
	memset(e, 0, sizeof(*e));
	e->number = number;
	e->layout = layout_of(w, before, &now);
	if (!e->layout)
		return;
	if (e->layout != before)
		e->layout->first_epoch = number;
	e->layout->last_epoch = number;
	for (i = 0; i < T3_SPACE_SEGMENTS; i++)
		if (t3_dev_segment_info(dev, space, i, &s))
			e->base[i] = s.counts.local_bytes;
}

static void complete(const struct t3_dev *dev, struct epoch *e)
{
	struct t3_segment_info s;
	uint64_t bytes;
	uint32_t i;

	e->complete = true;
	for (i = 0; i < T3_SPACE_SEGMENTS; i++) {
		if (!t3_dev_segment_info(dev, e->layout->space, i, &s))
			continue;
		bytes = s.counts.local_bytes - e->base[i];
		e->local += bytes;
		e->put |= (uint64_t)(bytes != 0) << i;
	}
}

static void watch_state(void *opaque, const struct t3_dev *dev, uint32_t rank, uint32_t space,
			uint32_t from, uint32_t to, uint32_t number)
{
	struct watcher *w = opaque;
	struct epoch *e = w->open[rank][space];

	if (w->full || w->scarce)
		return;
	if (to == T3_SPACE_ARMED)
		open_epoch(w, dev, rank, space, number);
	else if (to == T3_SPACE_COMPLETE && from == T3_SPACE_ARMED && e && e->layout)
		complete(dev, e);
}

/* ------------------------------------------------------------------- commands */

static uint64_t hash_command(const struct sim_command *c)
{
	uint64_t hash = hashed(c->bytes, (uint64_t)c->opcode << 32 | c->dtype);

	return hashed(hashed(hashed(hash, c->m), c->n), c->k);
}

static void add_command(struct watcher *w, const struct sim_command *command)
{
	struct sim_functional *run = w->run;
	uint32_t *chain = chain_of(&w->commands, hash_command(command)), i;
	struct sim_command *all;

	for (i = *chain; i; i = w->commands.next[i - 1]) {
		struct sim_command *had = &run->command[i - 1];

		if (had->opcode == command->opcode && had->dtype == command->dtype &&
		    had->m == command->m && had->n == command->n && had->k == command->k &&
		    had->bytes == command->bytes) {
			had->count++;
			return;
		}
	}
	all = grown(w, run->command, run->commands, sizeof(*all), MAX_KINDS);
	if (!all)
		return;
	run->command = all;
	w->commands.next[run->commands] = *chain;
	run->command[run->commands++] = *command;
	*chain = run->commands;
}

static void make_part(struct epoch *e, const struct t3_descriptor *d, const struct t3_gemm *g)
{
	uint64_t bytes = (uint64_t)d->rows * d->row_bytes;
	uint64_t columns = d->row_bytes / sim_element_bytes(d->dtype);

	if (d->opcode != T3_DESC_GEMM) {
		e->copied += bytes;
		return;
	}
	e->differ = e->differ || (e->made && (e->columns != columns || e->depth != g->depth ||
					      e->dtype != d->dtype));
	e->made += bytes;
	e->rows += d->rows;
	e->columns = columns;
	e->depth = g->depth;
	e->dtype = d->dtype;
}

/* Bytes of device memory. What goes to a space belongs to its epoch, and host memory is slower. */
static uint64_t moved(struct sim_functional *run, const struct t3_descriptor *d)
{
	uint64_t bytes = (uint64_t)d->rows * d->row_bytes, all = 0;

	if (d->opcode == T3_DESC_UPDATE)
		return 3 * bytes;
	if (d->opcode == T3_DESC_COPY && d->src_kind == T3_LOC_MEMORY)
		all += bytes;
	if (d->dst_kind == T3_LOC_MEMORY)
		all += bytes;
	if (d->opcode == T3_DESC_COPY && d->src_kind == T3_LOC_HOST)
		run->host += bytes;
	if (d->dst_kind == T3_LOC_HOST)
		run->host += bytes;
	return all;
}

static void watch_own(struct watcher *w, const struct t3_descriptor *d, const struct t3_gemm *g)
{
	struct sim_command command = { .opcode = d->opcode, .count = 1 };

	switch (d->opcode) {
	case T3_DESC_GEMM:
		if (d->dst_kind == T3_LOC_SPACE)
			return;
		command.dtype = d->dtype;
		command.m = d->rows;
		command.n = d->row_bytes / sim_element_bytes(d->dtype);
		command.k = g->depth;
		break;
	case T3_DESC_COPY:
	case T3_DESC_FILL:
	case T3_DESC_UPDATE:
		command.bytes = moved(w->run, d);
		if (!command.bytes)
			return;
		break;
	case T3_DESC_TIMED:
		break;
	default:
		return;
	}
	add_command(w, &command);
}

static void watch_descriptor(void *opaque, const struct t3_dev *dev, uint32_t rank, uint32_t queue,
			     uint32_t status)
{
	struct watcher *w = opaque;
	struct sim_functional *run = w->run;
	struct t3_descriptor d;
	struct t3_gemm g;
	struct epoch *e;

	if (rank != run->rank || w->full || w->scarce ||
	    !t3_dev_queue_descriptor(dev, queue, &d, &g))
		return;
	if (status != T3_DESC_OK) {
		run->failed++;
		return;
	}
	if (d.dst_kind == T3_LOC_SPACE && d.space < T3_MAX_SPACES) {
		e = w->open[rank][d.space];
		if (e && e->layout && e->layout->generation == d.generation)
			make_part(e, &d, &g);
		else
			run->late++;
	}
	watch_own(w, &d, &g);
}

/* ------------------------------------------------------------------------ all */

static void finish(struct watcher *w)
{
	uint32_t rank, space;

	for (rank = 0; rank < T3_MAX_RANKS; rank++) {
		for (space = 0; space < T3_MAX_SPACES; space++) {
			if (w->open[rank][space] && !w->full && !w->scarce)
				close_epoch(w, w->open[rank][space]);
			free(w->open[rank][space]);
		}
	}
}

static bool judge(const struct watcher *w, const struct replay_result *result, uint32_t rank,
		  char *why)
{
	if (result->verdict == REPLAY_BAD)
		snprintf(why, SIM_WHY_SIZE, "it is bad at byte %" PRIu64 ": %.120s", result->at,
			 result->why);
	else if (result->verdict == REPLAY_DIVERGED)
		snprintf(why, SIM_WHY_SIZE,
			 "its replay differs from it, so it says nothing: t3 sim --replay shows "
			 "where");
	else if (w->scarce)
		snprintf(why, SIM_WHY_SIZE, "there is no memory for what it has");
	else if (w->full)
		snprintf(why, SIM_WHY_SIZE,
			 "it has more than %u layouts of spaces, or %u different outputs or "
			 "commands: record a shorter run",
			 MAX_LAYOUTS, MAX_KINDS);
	else if (rank >= result->ranks)
		snprintf(why, SIM_WHY_SIZE, "rank is %u and must be below its ranks, %u", rank,
			 result->ranks);
	else
		return true;
	return false;
}

bool sim_functional_read(FILE *record, uint32_t rank, struct sim_functional *run, char *why)
{
	static const struct replay_watch_ops watch = {
		.state = watch_state,
		.descriptor = watch_descriptor,
	};
	struct watcher *w = calloc(1, sizeof(*w));
	const struct replay_options options = { .watch = &watch, .opaque = w };
	struct replay_result result;
	bool good;

	*run = (struct sim_functional){ .rank = rank };
	if (!w) {
		snprintf(why, SIM_WHY_SIZE, "there is no memory for it");
		return false;
	}
	w->run = run;
	replay_run(record, &options, &result);
	run->ranks = result.ranks;
	run->complete = result.complete;
	finish(w);
	good = judge(w, &result, rank, why);
	free(w);
	if (!good)
		sim_functional_free(run);
	return good;
}

void sim_functional_free(struct sim_functional *run)
{
	uint32_t i;

	for (i = 0; i < run->layouts; i++)
		free(run->layout[i]);
	free(run->layout);
	free(run->output);
	free(run->command);
	*run = (struct sim_functional){ 0 };
}
