/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and checks the arguments of a TIMED descriptor. SPEC.md section 11.8. */
#include "gang/gang.h"

#define LEGAL	  T3_NONE32
#define BYTE_WORK 4u /* of a count that is read */

/* No run begins at or after this time in ns: 73 years. A run takes at most an hour. */
#define LAST_START (T3_TIME_MAX / 2)

_Static_assert(offsetof(struct t3_timed_params, switch_latency_ns) ==
		       sizeof(((struct t3_timed_args *)0)->params),
	       "each parameter has one word");

struct t3_gang_request *t3_gang_request(const struct t3_queue *q)
{
	return &t3_gangs(q->dev)->request[t3_queue_id(q)];
}

struct t3_timed_args *t3_gang_args(const struct t3_queue *q)
{
	return &t3_gang_request(q)->args;
}

bool t3_gang_alike(const struct t3_queue *a, const struct t3_queue *b)
{
	return t3_gang_request(a)->table == t3_gang_request(b)->table &&
	       !memcmp(t3_gang_args(a), t3_gang_args(b), sizeof(struct t3_timed_args));
}

/* `routing` is filled, and is the setup's if there are experts. */
static struct t3_timed_setup setup_of(const struct t3_gang_request *request,
				      struct t3_timed_routing *routing)
{
	const struct t3_timed_args *args = &request->args;
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
		.guest = true,
	};

	*routing = (struct t3_timed_routing){ (enum t3_timed_way)args->way, args->experts, NULL };
	if (request->table) {
		routing->rows = request->table->counts;
		setup.routing = routing;
	}
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

/* The other fields of a run with experts, program and collective too, have been checked. */
static bool experts_fit(const struct t3_timed_args *args, uint64_t table_bytes)
{
	if ((uint64_t)args->experts * args->ranks * sizeof(uint32_t) != table_bytes)
		return false;
	if (!args->experts)
		return true;
	return args->experts <= T3_TIMED_MAX_EXPERTS && !(args->experts % args->ranks) &&
	       args->collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL &&
	       (args->program == T3_TIMED_SEQUENTIAL ||
		t3_timed_fused((enum t3_timed_program)args->program));
}

/* The offset of the first bad field. If only the combination is bad, the offset of rows. */
static uint32_t bad_args(const struct t3_queue *q)
{
	const struct t3_gang_request *request = t3_gang_request(q);
	const struct t3_timed_args *args = &request->args;
	const struct t3_fabric *fabric = q->dev->fabric;
	struct t3_timed_routing routing;
	struct t3_timed_setup setup = setup_of(request, &routing);
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
	if (!experts_fit(args, request->table ? request->table->bytes : 0))
		return offsetof(struct t3_timed_args, experts);
	if (args->way > (args->experts ? T3_TIMED_DISPATCH : 0))
		return offsetof(struct t3_timed_args, way);
	if (at != LEGAL)
		return at;
	return t3_timed_check(&setup, why, sizeof(why)) ? LEGAL
							: offsetof(struct t3_timed_args, rows);
}

static bool poisoned(struct t3_dev *dev, uint64_t at, uint64_t bytes, uint64_t *where)
{
	if (!t3_poisoned(dev, at, bytes, where))
		return false;
	t3_poison_report(dev, *where);
	return true;
}

/* Reads arguments and counts, once. */
static uint32_t fetch(const struct t3_queue *q, struct t3_timed_args *args,
		      struct t3_gang_table *table, uint64_t *detail)
{
	const struct t3_descriptor *d = &q->desc;
	uint64_t counts = d->src + sizeof(*args);
	struct t3_dev *dev = q->dev;

	if (d->src_kind == T3_LOC_MEMORY) {
		if (poisoned(dev, d->src, sizeof(*args) + d->row_bytes, detail))
			return T3_DESC_POISON;
		memcpy(args, t3_mem_read(dev, d->src, sizeof(*args)), sizeof(*args));
		if (table)
			memcpy(table->counts, t3_mem_read(dev, counts, d->row_bytes), d->row_bytes);
		return T3_DESC_OK;
	}
	*detail = d->src;
	if (!t3_host_read(dev, d->src, args, sizeof(*args)))
		return T3_DESC_HOST_DMA;
	return !table || t3_host_read(dev, counts, table->counts, d->row_bytes) ? T3_DESC_OK
										: T3_DESC_HOST_DMA;
}

uint32_t t3_gang_begin(struct t3_queue *q, uint64_t *detail)
{
	struct t3_gang_table *table = NULL;
	uint32_t status, at;

	*detail = 0;
	if (q->desc.row_bytes)
		table = t3_gang_table_new(q->desc.row_bytes);
	if (q->desc.row_bytes && !table)
		return T3_DESC_MEMORY;
	t3_fabric_charge(q->dev->fabric, 0, q->desc.row_bytes * BYTE_WORK);
	status = fetch(q, t3_gang_args(q), table, detail);
	if (status != T3_DESC_OK) {
		free(table);
		return status;
	}
	t3_gang_table_give(q, table);
	at = bad_args(q);
	*detail = sizeof(struct t3_descriptor) + at;
	if (at != LEGAL)
		status = T3_DESC_BAD_DESCRIPTOR;
	else
		*detail = q->dev->fabric->clock.now;
	if (at == LEGAL && *detail >= LAST_START)
		status = T3_DESC_BAD_RANGE;
	if (status != T3_DESC_OK)
		t3_gang_table_drop(q);
	return status;
}

/* NULL: the host has no memory for the run. */
struct t3_timed *t3_gang_new(const struct t3_queue *q)
{
	struct t3_timed_routing routing;
	struct t3_timed_setup setup = setup_of(t3_gang_request(q), &routing);

	return t3_timed_new(&setup);
}

const char *t3_gang_check_queue(const struct t3_queue *q)
{
	return bad_args(q) == LEGAL ? NULL : "a timed run has bad arguments";
}
