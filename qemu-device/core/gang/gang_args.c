/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and checks the arguments of a TIMED descriptor. SPEC.md section 11.8. */
#include "gang/gang.h"

#define LEGAL T3_NONE32

/* No run begins at or after this time in ns: 73 years. A run takes at most an hour. */
#define LAST_START (T3_TIME_MAX / 2)

_Static_assert(offsetof(struct t3_timed_params, switch_latency_ns) ==
		       sizeof(((struct t3_timed_args *)0)->params),
	       "each parameter has one word");

struct t3_timed_args *t3_gang_args(const struct t3_queue *q)
{
	return &t3_gangs(q->dev)->timed[t3_queue_id(q)];
}

static struct t3_timed_setup setup_of(const struct t3_timed_args *args)
{
	struct t3_timed_setup setup = {
		.workload = {
			.rows = args->rows,
			.columns = args->columns,
			.depth = args->depth,
			.element_bytes = args->element_bytes,
			.ranks = args->ranks,
			.chunks = (enum t3_timed_chunks)args->chunks,
			.collective = (enum t3_timed_collective)args->collective,
			.nodes = args->nodes,
		},
		.program = (enum t3_timed_program)args->program,
		.mirrored = args->flags & T3_TIMED_MIRRORED,
	};

	t3_timed_params_default(&setup.params);
	memcpy(&setup.params, args->params, sizeof(args->params));
	return setup;
}

static uint32_t bad_param(const struct t3_timed_args *args)
{
	uint32_t i;

	for (i = 0; i < T3_TIMED_PARAMS; i++)
		if (args->params[i] < t3_timed_params[i].min ||
		    args->params[i] > t3_timed_params[i].max)
			return (uint32_t)(offsetof(struct t3_timed_args, params) + 8 * i);
	return LEGAL;
}

/* A run of all ranks uses the fabric's links, so it has as many ranks. */
static bool ranks_fit(const struct t3_fabric *fabric, const struct t3_timed_args *args)
{
	return args->flags & T3_TIMED_MIRRORED ? args->ranks >= 2 && args->ranks <= T3_MAX_RANKS
					       : args->ranks == fabric->config.ranks;
}

static bool program_fits(const struct t3_fabric *fabric, const struct t3_timed_args *args)
{
	if (args->program >= T3_TIMED_PROGRAMS)
		return false;
	return args->program != T3_TIMED_DIRECT || args->flags & T3_TIMED_MIRRORED ||
	       fabric->config.topology >= T3_TOPOLOGY_FULL;
}

/* The program has been checked. An all-to-all sends on links that only a full fabric has. */
static bool collective_fits(const struct t3_fabric *fabric, const struct t3_timed_args *args)
{
	enum t3_timed_program program = (enum t3_timed_program)args->program;
	enum t3_timed_collective collective = (enum t3_timed_collective)args->collective;

	if (args->collective >= T3_TIMED_COLLECTIVES || !t3_timed_runs(program, collective))
		return false;
	return !t3_timed_all_peers(program, collective) || args->flags & T3_TIMED_MIRRORED ||
	       fabric->config.topology >= T3_TOPOLOGY_FULL;
}

/* The offset of the first bad field. If only the combination is bad, the offset of rows. */
static uint32_t bad_args(const struct t3_fabric *fabric, const struct t3_timed_args *args)
{
	struct t3_timed_setup setup = setup_of(args);
	uint32_t at = bad_param(args);
	char why[256];

	if (!program_fits(fabric, args))
		return offsetof(struct t3_timed_args, program);
	if (args->flags & ~T3_TIMED_MIRRORED)
		return offsetof(struct t3_timed_args, flags);
	if (!ranks_fit(fabric, args))
		return offsetof(struct t3_timed_args, ranks);
	if (!t3_timed_has_element(args->element_bytes))
		return offsetof(struct t3_timed_args, element_bytes);
	if (args->chunks > T3_TIMED_CHUNKS_COLUMNS)
		return offsetof(struct t3_timed_args, chunks);
	if (!collective_fits(fabric, args))
		return offsetof(struct t3_timed_args, collective);
	if (args->nodes > 1 && (args->nodes > args->ranks || args->ranks % args->nodes))
		return offsetof(struct t3_timed_args, nodes);
	if (args->mbz)
		return offsetof(struct t3_timed_args, mbz);
	if (at != LEGAL)
		return at;
	return t3_timed_check(&setup, why, sizeof(why)) ? LEGAL
							: offsetof(struct t3_timed_args, rows);
}

uint32_t t3_gang_begin(struct t3_queue *q, uint64_t *detail)
{
	struct t3_timed_args *args = t3_gang_args(q);
	uint32_t at;

	*detail = q->desc.src;
	if (!t3_host_read(q->dev, q->desc.src, args, sizeof(*args)))
		return T3_DESC_HOST_DMA;
	at = bad_args(q->dev->fabric, args);
	*detail = sizeof(struct t3_descriptor) + at;
	if (at != LEGAL)
		return T3_DESC_BAD_DESCRIPTOR;
	*detail = q->dev->fabric->clock.now;
	return *detail < LAST_START ? T3_DESC_OK : T3_DESC_BAD_RANGE;
}

/* NULL: the host has no memory for the run. */
struct t3_timed *t3_gang_new(const struct t3_queue *q)
{
	struct t3_timed_setup setup = setup_of(t3_gang_args(q));

	return t3_timed_new(&setup);
}

const char *t3_gang_check_queue(const struct t3_queue *q)
{
	return bad_args(q->dev->fabric, t3_gang_args(q)) == LEGAL ? NULL
								  : "a timed run has bad arguments";
}
