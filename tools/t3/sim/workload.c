// SPDX-License-Identifier: MIT
/* A sub-layer's GEMM: rows are tokens, columns hidden. And messages of collectives alone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/model_file.h"

static const struct {
	const char *name;
	uint64_t factor; /* K of all ranks, in multiples of hidden */
} sublayers[SIM_SUBLAYERS] = {
	[SIM_OP] = { "op", 1 },
	[SIM_FC2] = { "fc2", 4 },
	[SIM_FC1] = { "fc1", 4 },
	[SIM_IP] = { "ip", 3 },
};

const char *sim_workload_part(const struct sim_workload *w)
{
	if (w->message)
		return t3_timed_collective_name(w->collective);
	if (w->part)
		return w->part;
	return w->depth ? "gemm" : sublayers[w->sublayer].name;
}

const char *sim_sublayer_name(enum sim_sublayer sublayer)
{
	return sublayers[sublayer].name;
}

bool sim_sublayer_parse(const char *text, enum sim_sublayer *sublayer)
{
	int i;

	for (i = 0; i < SIM_SUBLAYERS; i++) {
		if (!strcmp(text, sublayers[i].name)) {
			*sublayer = (enum sim_sublayer)i;
			return true;
		}
	}
	return false;
}

bool sim_dtype_parse(const char *text, uint64_t *element_bytes)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} types[] = {
		{ "f16", 2 }, { "bf16", 2 }, { "f32", 4 }, { "f64", 8 }, { "i8", 1 },
		{ "u8", 1 },  { "i32", 4 },  { "u32", 4 }, { "i64", 8 }, { "u64", 8 },
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!strcmp(text, types[i].name)) {
			*element_bytes = types[i].bytes;
			return true;
		}
	}
	return false;
}

bool sim_chunks_parse(const char *text, enum t3_timed_chunks *chunks)
{
	static const char *const names[] = { "auto", "rows", "columns" };
	int i;

	for (i = 0; i < 3; i++) {
		if (!strcmp(text, names[i])) {
			*chunks = (enum t3_timed_chunks)i;
			return true;
		}
	}
	return false;
}

bool sim_collective_parse(const char *text, enum t3_timed_collective *collective)
{
	int i;

	for (i = 0; i < T3_TIMED_COLLECTIVES; i++) {
		if (!strcmp(text, t3_timed_collective_name((enum t3_timed_collective)i))) {
			*collective = (enum t3_timed_collective)i;
			return true;
		}
	}
	return false;
}

/* The number of bits that a suffix shifts by. */
static unsigned int shift_of(char suffix)
{
	switch (suffix) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return 0;
	}
}

bool sim_message_parse(const char *text, uint64_t *bytes)
{
	size_t len = strlen(text);
	char digits[16] = "";
	unsigned int shift;
	uint64_t number;

	if (!len || len >= sizeof(digits))
		return false;
	shift = shift_of(text[len - 1]);
	memcpy(digits, text, shift ? len - 1 : len);
	if (!sim_number(digits, &number) || number > SIM_MESSAGE_MAX >> shift)
		return false;
	*bytes = number << shift;
	return *bytes >= SIM_MESSAGE_MIN;
}

/* A buffer has a chunk for each of these. Nodes that do not divide the ranks are refused later. */
static uint64_t node_ranks(uint64_t ranks, uint64_t nodes)
{
	return nodes > 1 && nodes <= ranks ? ranks / nodes : ranks;
}

uint64_t sim_buffer_bytes(const struct t3_timed_setup *setup)
{
	uint64_t rows, columns;

	t3_timed_chunk(setup, &rows, &columns);
	return rows * columns * setup->workload.element_bytes *
	       node_ranks(setup->workload.ranks, setup->workload.nodes);
}

static bool in_range(const char *name, uint64_t value, uint64_t min, uint64_t max, char *why)
{
	if (value >= min && value <= max)
		return true;
	snprintf(why, SIM_WHY_SIZE, "%s is %" PRIu64 " and must be %" PRIu64 " to %" PRIu64, name,
		 value, min, max);
	return false;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* A chunk is whole rows of a tile, or, if it is less than one, one row of it. */
static bool set_up_message(const struct sim_workload *w, struct t3_timed_setup *setup, char *why)
{
	uint64_t elements, columns, chunks = node_ranks(w->tp, w->nodes);

	if (!in_range("tp", w->tp, 2, T3_TIMED_MAX_RANKS, why))
		return false;
	elements = ceil_div(w->message, chunks * w->element_bytes);
	columns = elements < setup->params.tile_columns ? elements : setup->params.tile_columns;
	setup->workload.rows = ceil_div(elements, columns) * chunks;
	setup->workload.columns = columns;
	setup->workload.depth = 1;
	setup->workload.element_bytes = w->element_bytes;
	setup->workload.ranks = w->tp;
	setup->workload.chunks = T3_TIMED_CHUNKS_ROWS;
	setup->workload.collective = w->collective;
	setup->workload.nodes = w->nodes;
	setup->program = T3_TIMED_ALONE;
	return t3_timed_check(setup, why, SIM_WHY_SIZE);
}

/* Slices of one size: the last one is padded. */
static uint64_t depth_of(const struct sim_workload *w)
{
	uint64_t all = w->depth ? w->depth : w->hidden * sublayers[w->sublayer].factor;

	return t3_timed_reduces(w->collective) ? ceil_div(all, w->tp) : all;
}

bool sim_workload_setup(const struct sim_workload *w, struct t3_timed_setup *setup, char *why)
{
	if (w->message)
		return set_up_message(w, setup, why);
	if (!in_range("hidden", w->hidden, 1, SIM_MAX_HIDDEN, why) ||
	    !in_range("tokens", w->tokens, 1, SIM_MAX_HIDDEN, why) ||
	    !in_range("k", w->depth, 0, SIM_MAX_DEPTH, why) ||
	    !in_range("tp", w->tp, 2, T3_TIMED_MAX_RANKS, why))
		return false;
	setup->workload = (struct t3_timed_workload){ .rows = w->tokens,
						      .columns = w->hidden,
						      .depth = depth_of(w),
						      .element_bytes = w->element_bytes,
						      .ranks = w->tp,
						      .chunks = w->by_rows ? T3_TIMED_CHUNKS_ROWS
									   : setup->workload.chunks,
						      .collective = w->collective,
						      .nodes = w->nodes };
	return t3_timed_check(setup, why, SIM_WHY_SIZE);
}
