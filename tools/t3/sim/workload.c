// SPDX-License-Identifier: MIT
/* A sub-layer's GEMM: rows are tokens, columns hidden, K is sliced over the ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/workload.h"

#define MAX_HIDDEN ((uint64_t)1 << 24)

static const struct {
	const char *name;
	uint64_t factor; /* K of all ranks, in multiples of hidden */
} sublayers[SIM_SUBLAYERS] = {
	[SIM_OP] = { "op", 1 },
	[SIM_FC2] = { "fc2", 4 },
	[SIM_FC1] = { "fc1", 4 },
	[SIM_IP] = { "ip", 3 },
};

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
	if (strcmp(text, "f16") && strcmp(text, "bf16") && strcmp(text, "f32"))
		return false;
	*element_bytes = strcmp(text, "f32") ? 2 : 4;
	return true;
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

static bool in_range(const char *name, uint64_t value, uint64_t min, uint64_t max, char *why)
{
	if (value >= min && value <= max)
		return true;
	snprintf(why, SIM_WHY_SIZE, "%s is %" PRIu64 " and must be %" PRIu64 " to %" PRIu64, name,
		 value, min, max);
	return false;
}

bool sim_workload_setup(const struct sim_workload *w, struct t3_timed_setup *setup, char *why)
{
	uint64_t depth;

	if (!in_range("hidden", w->hidden, 1, MAX_HIDDEN, why) ||
	    !in_range("tokens", w->tokens, 1, MAX_HIDDEN, why) ||
	    !in_range("tp", w->tp, 2, T3_TIMED_MAX_RANKS, why))
		return false;
	/* Slices of one size: the last one is padded. */
	depth = (w->hidden * sublayers[w->sublayer].factor + w->tp - 1) / w->tp;
	setup->workload = (struct t3_timed_workload){ .rows = w->tokens,
						      .columns = w->hidden,
						      .depth = depth,
						      .element_bytes = w->element_bytes,
						      .ranks = w->tp,
						      .chunks = setup->workload.chunks };
	return t3_timed_check(setup, why, SIM_WHY_SIZE);
}
