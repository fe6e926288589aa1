/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the setup of a timed run: one sentence says what is wrong. SPEC.md section 11.8. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "timed/timed_private.h"

/* Limits, so that products do not overflow and a host has the memory. Sums are over all devices. */
#define MAX_EXTENT  ((uint64_t)1 << 24) /* rows, columns, depth */
#define MAX_PIECES  ((uint64_t)1 << 22) /* tracked pieces */
#define MAX_BLOCKS  ((uint64_t)1 << 25) /* cache blocks of A and B */
#define MAX_LINES   ((uint64_t)1 << 18) /* cache lines */
#define MAX_FIRST   ((uint64_t)1 << 18) /* requests of a stage's first step */
#define MAX_FLIGHT  ((uint64_t)1 << 22) /* messages on the links */
#define MAX_LOADS   ((uint64_t)1 << 32) /* requests of a run, which take the host minutes */
#define MAX_PARTS   256u		/* requests for a step's block of A, or of B */
#define MAX_WINDOW  65536u		/* requests */
#define MAX_SLOTS   65535u
#define MAX_EXPERTS 65536u
#define MAX_PS	    ((uint64_t)1 << 51) /* half an hour */

/* With a routing that no guest has chosen: 3 GiB of memory at most, for 256 devices. */
#define MAX_ROUTED	  ((uint64_t)1 << 26) /* pieces, or messages of a run */
#define MAX_ROUTED_LINES  ((uint64_t)1 << 21)
#define MAX_ROUTED_FLIGHT ((uint64_t)1 << 25)

struct complaint {
	char *text;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static bool refuse(const struct complaint *why,
							 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, why->size, format, args);
	va_end(args);
	return false;
}

static bool in_range(const struct complaint *why, const char *name, uint64_t value, uint64_t min,
		     uint64_t max)
{
	if (value >= min && value <= max)
		return true;
	return refuse(why, "%s is %" PRIu64 " and must be %" PRIu64 " to %" PRIu64, name, value,
		      min, max);
}

static bool check_params(const struct t3_timed_params *p, const struct complaint *why)
{
	size_t i;

	for (i = 0; i < t3_timed_param_count; i++) {
		const struct t3_timed_param *param = &t3_timed_params[i];

		if (!in_range(why, param->name, t3_timed_param_get(p, param), param->min,
			      param->max))
			return false;
	}
	if (p->tracker_entries % p->tracker_ways)
		return refuse(why, "tracker_ways must divide tracker_entries");
	if (p->compute_units * p->groups_per_unit > MAX_SLOTS)
		return refuse(why, "compute_units times groups_per_unit must be at most %u",
			      MAX_SLOTS);
	if (p->intensity_high < p->intensity_middle || p->intensity_middle < p->intensity_low)
		return refuse(why, "intensity_low must be at most intensity_middle, and that at "
				   "most intensity_high");
	return true;
}

bool t3_timed_has_element(uint64_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static bool check_workload(const struct t3_timed_workload *w, const struct complaint *why)
{
	if (!in_range(why, "rows (tokens)", w->rows, 1, MAX_EXTENT) ||
	    !in_range(why, "columns (hidden)", w->columns, 1, MAX_EXTENT) ||
	    !in_range(why, "depth (K of one device)", w->depth, 1, MAX_EXTENT) ||
	    !in_range(why, "ranks (tp)", w->ranks, 2, T3_TIMED_MAX_RANKS))
		return false;
	if (!t3_timed_has_element(w->element_bytes))
		return refuse(why, "element_bytes is %" PRIu64 " and must be 1, 2, 4 or 8",
			      w->element_bytes);
	if ((unsigned int)w->chunks > T3_TIMED_CHUNKS_COLUMNS)
		return refuse(why, "chunks is %d and must be 0 to %d", (int)w->chunks,
			      (int)T3_TIMED_CHUNKS_COLUMNS);
	if ((unsigned int)w->collective >= T3_TIMED_COLLECTIVES)
		return refuse(why, "collective is %d and must be 0 to %d", (int)w->collective,
			      T3_TIMED_COLLECTIVES - 1);
	if (w->nodes > 1 && (w->nodes > w->ranks || w->ranks % w->nodes))
		return refuse(why, "nodes is %" PRIu64 " and must divide ranks (tp), %" PRIu64,
			      w->nodes, w->ranks);
	return true;
}

static bool check_over_nodes(const struct t3_timed_setup *setup, const struct complaint *why)
{
	enum t3_timed_collective collective = setup->workload.collective;

	if (!t3_timed_reduces(collective))
		return refuse(why,
			      "collective %s takes one node, because rings over nodes run "
			      "all-reduce and reduce-scatter only",
			      t3_timed_collective_name(collective));
	if (!t3_timed_over_nodes(setup->program, collective))
		return refuse(why, "program %s takes one node, because %s stays in a node",
			      t3_timed_program_name(setup->program),
			      t3_timed_switched(setup->program) ? "its switch"
								: "what it triggers");
	return true;
}

static bool check_program(const struct t3_timed_setup *setup, const struct complaint *why)
{
	const struct t3_timed_params *p = &setup->params;
	enum t3_timed_collective collective = setup->workload.collective;
	bool sums = t3_timed_runs(setup->program, T3_TIMED_COLLECTIVE_REDUCE_SCATTER);
	bool gathers = t3_timed_runs(setup->program, T3_TIMED_COLLECTIVE_ALL_GATHER);

	if (!t3_timed_runs(setup->program, collective))
		return refuse(why, "collective is %s, and program %s runs %s only",
			      t3_timed_collective_name(collective),
			      t3_timed_program_name(setup->program),
			      gathers ? "all-reduce, reduce-scatter and all-gather"
			      : sums  ? "all-reduce and reduce-scatter"
				      : "all-reduce");
	if (setup->program == T3_TIMED_SHARED && p->collective_units >= p->compute_units)
		return refuse(why,
			      "program shared needs collective_units below compute_units, and has "
			      "%" PRIu64 " of %" PRIu64,
			      p->collective_units, p->compute_units);
	return setup->workload.nodes < 2 || check_over_nodes(setup, why);
}

static bool check_tile(const struct t3_timed_setup *setup, const struct complaint *why)
{
	const struct t3_timed_params *p = &setup->params;
	const struct t3_timed_workload *w = &setup->workload;

	if (p->tile_columns * w->element_bytes > p->request_bytes)
		return refuse(why, "a row of tile_columns must fit in request_bytes, %" PRIu64,
			      p->request_bytes);
	if (p->cache_kib * 1024 < p->request_bytes)
		return refuse(why, "cache_kib must be at least one block of request_bytes");
	return true;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* The limit of a run with a routing, unless a guest chose that one. */
static uint64_t limit_of(const struct t3_timed_setup *setup, uint64_t usual, uint64_t routed)
{
	return setup->routing && !setup->guest ? routed : usual;
}

/* ------------------------------------------------------------- expert layers */

/* Sizes of an expert layer, of all ranks. */
struct layer {
	uint64_t rows;
	uint64_t pairs; /* of a rank and an expert that get rows */
	uint64_t tile_rows;
};

static struct layer layer_of(const struct t3_timed_setup *setup)
{
	const struct t3_timed_routing *r = setup->routing;
	struct layer layer = { 0 };
	uint64_t rank, expert, rows;

	for (expert = 0; expert < r->experts; expert++) {
		uint64_t all = 0;

		for (rank = 0; rank < setup->workload.ranks; rank++) {
			rows = r->rows[rank * r->experts + expert];
			layer.pairs += rows != 0;
			all += rows;
		}
		layer.rows += all;
		layer.tile_rows += ceil_div(all, setup->params.tile_rows);
	}
	return layer;
}

static bool check_layer(const struct t3_timed_setup *setup, const struct complaint *why)
{
	const struct t3_timed_params *p = &setup->params;
	const struct t3_timed_workload *w = &setup->workload;
	struct layer layer = layer_of(setup);
	uint64_t ranks = setup->mirrored ? w->ranks : 1, experts = setup->routing->experts / ranks;
	uint64_t columns = ceil_div(w->columns, p->tile_columns);
	uint64_t steps = ceil_div(w->depth, p->k_block), step_bytes = p->k_block * w->element_bytes;
	uint64_t parts = ceil_div(p->tile_rows * step_bytes, p->request_bytes) +
			 ceil_div(p->tile_columns * step_bytes, p->request_bytes);
	uint64_t row = setup->routing->way == T3_TIMED_DISPATCH ? w->depth : w->columns;
	uint64_t most = limit_of(setup, MAX_PIECES, MAX_ROUTED), pieces, messages;

	if (layer.rows != w->rows)
		return refuse(why, "rows is %" PRIu64 ", and the routing has %" PRIu64, w->rows,
			      layer.rows);
	if (setup->mirrored && !t3_timed_alike(setup->routing, w->ranks))
		return refuse(why, "a routing takes all devices, unless all ranks are alike");
	layer.rows /= ranks;
	layer.pairs /= ranks;
	layer.tile_rows /= ranks;
	pieces = layer.tile_rows * columns *
		 ceil_div(p->tile_rows, p->request_bytes / (p->tile_columns * w->element_bytes));
	messages = (layer.pairs + layer.tile_rows) * columns +
		   layer.rows * row * w->element_bytes / p->request_bytes;
	if (layer.tile_rows * columns > most || pieces + messages > most)
		return refuse(why,
			      "the routing has too many rows, %" PRIu64 ": %" PRIu64
			      " pieces and messages, and at most %" PRIu64,
			      layer.rows * ranks, pieces + messages, most);
	if (steps * parts > MAX_BLOCKS ||
	    layer.tile_rows + experts * columns > MAX_BLOCKS / (steps * parts))
		return refuse(why, "depth is too large: over %" PRIu64 " blocks of A and B",
			      MAX_BLOCKS);
	if (layer.tile_rows * columns > MAX_LOADS / (steps * parts))
		return refuse(why, "the run is too large: over %" PRIu64 " loads", MAX_LOADS);
	return true;
}

static bool check_routing(const struct t3_timed_setup *setup, const struct complaint *why)
{
	const struct t3_timed_routing *r = setup->routing;
	const struct t3_timed_workload *w = &setup->workload;

	if (!r)
		return true;
	if (w->collective != T3_TIMED_COLLECTIVE_ALL_TO_ALL)
		return refuse(why, "a routing needs the collective all-to-all");
	if (setup->program != T3_TIMED_SEQUENTIAL && setup->program != T3_TIMED_T3 &&
	    setup->program != T3_TIMED_T3_MCA)
		return refuse(why, "program %s takes no routing",
			      t3_timed_program_name(setup->program));
	if ((unsigned int)r->way > T3_TIMED_DISPATCH || !r->rows)
		return refuse(why, "a routing has rows, and way 0 or 1");
	if (!in_range(why, "experts", r->experts, 1, MAX_EXPERTS))
		return false;
	if (r->experts % w->ranks)
		return refuse(why, "experts is %" PRIu64 ", which ranks, %" PRIu64 ", must divide",
			      r->experts, w->ranks);
	return check_layer(setup, why);
}

/* ----------------------------------------------------------------------- size */

/* Sizes that follow from the arguments, and that are limited. */
struct extent {
	uint64_t devices, rows, columns, tiles, steps, tile_pieces, a_parts, b_parts;
	uint64_t computed; /* tiles that each device computes */
	uint64_t outputs;  /* of this size, of all devices together: routed rows are one */
};

static struct extent extent_of(const struct t3_timed_setup *setup)
{
	const struct t3_timed_params *p = &setup->params;
	const struct t3_timed_workload *w = &setup->workload;
	uint64_t piece_rows = p->request_bytes / (p->tile_columns * w->element_bytes);
	uint64_t step_bytes = p->k_block * w->element_bytes;
	struct timed_cut cut = timed_cut_choose(setup);
	struct extent e = {
		.devices = setup->mirrored ? 1 : w->ranks,
		.outputs = setup->mirrored || setup->routing ? 1 : w->ranks,
		.rows = ceil_div(cut.rows, p->tile_rows) * cut.row_blocks,
		.columns = ceil_div(cut.columns, p->tile_columns) * cut.column_blocks,
		.steps = ceil_div(w->depth, p->k_block),
		.tile_pieces = ceil_div(p->tile_rows, piece_rows),
		.a_parts = ceil_div(p->tile_rows * step_bytes, p->request_bytes),
		.b_parts = ceil_div(p->tile_columns * step_bytes, p->request_bytes),
	};

	e.tiles = e.rows * e.columns;
	e.computed = w->collective == T3_TIMED_COLLECTIVE_ALL_GATHER ? e.tiles / timed_node_ranks(w)
								     : e.tiles;
	return e;
}

/* Limits the work of a single event. */
static bool check_burst(const struct t3_timed_setup *setup, const struct extent *e,
			const struct complaint *why)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t first = timed_slots(setup, e->computed) * (e->a_parts + e->b_parts) * e->devices;
	uint64_t window = p->link_queue_kib, copy = timed_copy_kib(setup), most = MAX_WINDOW;

	if (e->a_parts > MAX_PARTS || e->b_parts > MAX_PARTS)
		return refuse(why,
			      "k_block is too large: a step's block of A or B takes over %u "
			      "requests of request_bytes",
			      MAX_PARTS);
	if (first > MAX_FIRST)
		return refuse(why,
			      "compute_units is too large: the first step takes over %" PRIu64
			      " requests",
			      MAX_FIRST);
	window = window > copy ? window : copy;
	window = window > p->dma_read_ahead_kib ? window : p->dma_read_ahead_kib;
	/* An all-to-all of routed rows begins on all devices in one event. */
	if (setup->routing && setup->guest)
		most = MAX_FIRST / e->devices;
	if (window * 1024 / p->request_bytes > most)
		return refuse(why,
			      "link_queue_kib, dma_read_ahead_kib or copy_unit_kib of all "
			      "collective_units is over %" PRIu64 " requests of request_bytes",
			      most);
	return true;
}

static bool check_memory(const struct t3_timed_setup *setup, const struct extent *e,
			 const struct complaint *why)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t parts = e->a_parts > e->b_parts ? e->a_parts : e->b_parts;
	uint64_t peers = timed_peers(setup);
	uint64_t pieces = e->tiles * e->tile_pieces;
	uint64_t most = limit_of(setup, MAX_PIECES, MAX_ROUTED);
	uint64_t lines = limit_of(setup, MAX_LINES, MAX_ROUTED_LINES);
	uint64_t flight = limit_of(setup, MAX_FLIGHT, MAX_ROUTED_FLIGHT);

	if (e->tiles > most || pieces * e->outputs > most)
		return refuse(why, "rows x columns is too large: over %" PRIu64 " tracked pieces",
			      most);
	if (e->steps * parts > MAX_BLOCKS ||
	    (e->rows + e->columns) * e->steps * parts > MAX_BLOCKS / e->outputs)
		return refuse(why, "depth is too large: over %" PRIu64 " blocks of A and B",
			      MAX_BLOCKS);
	if (p->cache_kib * 1024 / p->request_bytes * e->devices > lines)
		return refuse(why,
			      "cache_kib is too large: over %" PRIu64
			      " lines of request_bytes on %" PRIu64 " devices",
			      lines, e->devices);
	if (timed_in_flight(setup, pieces) * peers * e->devices > flight)
		return refuse(why,
			      "%s_latency_ns is too large: over %" PRIu64
			      " messages in flight between %" PRIu64 " devices",
			      t3_timed_switched(setup->program) ? "switch" : "link", flight,
			      e->devices);
	/* The parts of a chunk have fewer pieces. */
	pieces += 2 * setup->workload.ranks;
	if (timed_node_in_flight(setup, pieces) * e->devices > MAX_FLIGHT)
		return refuse(why,
			      "node_link_latency_ns is too large: over %" PRIu64
			      " messages in flight",
			      MAX_FLIGHT);
	return true;
}

static bool check_time(const struct t3_timed_setup *setup, const struct extent *e,
		       const struct complaint *why)
{
	uint64_t loads = e->steps * (e->a_parts + e->b_parts) * e->outputs;

	if (timed_step_ps(setup) > MAX_PS / (e->computed * e->steps))
		return refuse(why, "the GEMM would take more than half an hour of virtual time");
	if (loads > MAX_LOADS / e->computed)
		return refuse(why, "the run is too large: over %" PRIu64 " loads", MAX_LOADS);
	return true;
}

/* Limits the memory and time of the run. */
static bool check_size(const struct t3_timed_setup *setup, const struct complaint *why)
{
	struct extent e = extent_of(setup);

	return check_memory(setup, &e, why) && check_burst(setup, &e, why) &&
	       check_time(setup, &e, why);
}

bool t3_timed_check(const struct t3_timed_setup *setup, char *why, size_t size)
{
	const struct complaint complaint = { why, size };

	if ((unsigned int)setup->program >= T3_TIMED_NATIVE_PROGRAMS)
		return refuse(&complaint, "program is %d and must be 0 to %d", (int)setup->program,
			      T3_TIMED_NATIVE_PROGRAMS - 1);
	return check_params(&setup->params, &complaint) &&
	       check_workload(&setup->workload, &complaint) && check_program(setup, &complaint) &&
	       check_tile(setup, &complaint) && check_size(setup, &complaint) &&
	       check_routing(setup, &complaint);
}
