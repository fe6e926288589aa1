// SPDX-License-Identifier: MIT
/* SPEC.md 11.8: timed runs, mirrored and of all ranks; ranks that leave one; refused ones. */
#include "conf.h"
#include "queue.h"
#include "timed.h"

CONF_SECTION("11.8", "timed runs");

#define RESULT_AT 1024u /* of the page with the arguments */

/* clang-format off */
#define ALL_REDUCE T3_TIMED_COLLECTIVE_ALL_REDUCE
#define REDUCE_SCATTER T3_TIMED_COLLECTIVE_REDUCE_SCATTER
#define ALL_GATHER T3_TIMED_COLLECTIVE_ALL_GATHER
#define ALL_TO_ALL T3_TIMED_COLLECTIVE_ALL_TO_ALL

static const struct {
	const char *name;
	uint32_t program, collective;
	bool gemm, reduce_scatter, all_gather; /* phases of their own */
	uint32_t nodes;			       /* of 4 ranks */
} programs[] = {
	{"sequential", T3_TIMED_SEQUENTIAL, ALL_REDUCE, true, true, true, 1},
	{"rs-nmc", T3_TIMED_RS_NMC, ALL_REDUCE, false, true, false, 1},
	{"t3", T3_TIMED_T3, ALL_REDUCE, true, false, true, 0},
	{"t3-mca", T3_TIMED_T3_MCA, ALL_REDUCE, true, false, true, 1},
	{"t3-mca-ag", T3_TIMED_T3_MCA_AG, ALL_REDUCE, true, false, true, 1},
	{"direct", T3_TIMED_DIRECT, ALL_REDUCE, true, false, true, 1},
	{"alone", T3_TIMED_ALONE, ALL_REDUCE, false, true, true, 1},
	{"shared", T3_TIMED_SHARED, ALL_REDUCE, true, true, true, 1},
	{"sequential-reduce-scatter", T3_TIMED_SEQUENTIAL, REDUCE_SCATTER, true, true, false, 1},
	{"t3-reduce-scatter", T3_TIMED_T3, REDUCE_SCATTER, true, false, false, 1},
	{"direct-reduce-scatter", T3_TIMED_DIRECT, REDUCE_SCATTER, true, false, false, 1},
	{"alone-reduce-scatter", T3_TIMED_ALONE, REDUCE_SCATTER, false, true, false, 1},
	{"shared-reduce-scatter", T3_TIMED_SHARED, REDUCE_SCATTER, true, true, false, 1},
	{"sequential-all-gather", T3_TIMED_SEQUENTIAL, ALL_GATHER, true, false, true, 1},
	{"t3-mca-all-gather", T3_TIMED_T3_MCA, ALL_GATHER, true, false, true, 1},
	{"alone-all-gather", T3_TIMED_ALONE, ALL_GATHER, false, false, true, 1},
	{"sequential-all-to-all", T3_TIMED_SEQUENTIAL, ALL_TO_ALL, true, false, true, 1},
	{"t3-mca-all-to-all", T3_TIMED_T3_MCA, ALL_TO_ALL, true, false, true, 1},
	{"alone-all-to-all", T3_TIMED_ALONE, ALL_TO_ALL, false, false, true, 1},
	{"sequential-2-nodes", T3_TIMED_SEQUENTIAL, ALL_REDUCE, true, true, true, 2},
	{"rs-nmc-2-nodes", T3_TIMED_RS_NMC, ALL_REDUCE, false, true, false, 2},
	{"t3-2-nodes", T3_TIMED_T3, ALL_REDUCE, true, false, true, 2},
	{"t3-mca-4-nodes", T3_TIMED_T3_MCA, ALL_REDUCE, true, false, true, 4},
	{"direct-2-nodes", T3_TIMED_DIRECT, ALL_REDUCE, true, false, true, 2},
	{"shared-4-nodes", T3_TIMED_SHARED, ALL_REDUCE, true, true, true, 4},
	{"alone-2-nodes", T3_TIMED_ALONE, ALL_REDUCE, false, true, true, 2},
	{"alone-reduce-scatter-2-nodes", T3_TIMED_ALONE, REDUCE_SCATTER, false, true, false, 2},
	{"t3-reduce-scatter-4-nodes", T3_TIMED_T3, REDUCE_SCATTER, true, false, false, 4},
};

/* Programs that do not run a collective. */
static const struct {
	const char *name;
	uint32_t program, collective;
} without[] = {
	{"rs-nmc-all-gather", T3_TIMED_RS_NMC, ALL_GATHER},
	{"rs-nmc-all-to-all", T3_TIMED_RS_NMC, ALL_TO_ALL},
	{"t3-mca-ag-reduce-scatter", T3_TIMED_T3_MCA_AG, REDUCE_SCATTER},
	{"t3-mca-ag-all-gather", T3_TIMED_T3_MCA_AG, ALL_GATHER},
	{"t3-mca-ag-all-to-all", T3_TIMED_T3_MCA_AG, ALL_TO_ALL},
	{"direct-all-gather", T3_TIMED_DIRECT, ALL_GATHER},
	{"direct-all-to-all", T3_TIMED_DIRECT, ALL_TO_ALL},
	{"shared-all-gather", T3_TIMED_SHARED, ALL_GATHER},
	{"shared-all-to-all", T3_TIMED_SHARED, ALL_TO_ALL},
};

/* One field of good arguments of a mirrored run; detail: 64 + `blamed`. */
static const struct {
	const char *name;
	size_t offset, bytes;
	uint64_t value;
	size_t blamed;
} bads[] = {
#define FIELD(field) offsetof(struct t3_timed_args, field), sizeof(((struct t3_timed_args *)0)->field)
#define AT(field) offsetof(struct t3_timed_args, field)
	{"program-7", FIELD(program), T3_TIMED_SHARED, AT(rows)}, /* all units run the collective */
	{"program-last", FIELD(program), T3_TIMED_PROGRAMS, AT(program)},
	{"program-max", FIELD(program), 0xffffffff, AT(program)},
	{"flag-1", FIELD(flags), T3_TIMED_MIRRORED | 2, AT(flags)},
	{"flag-31", FIELD(flags), T3_TIMED_MIRRORED | 1u << 31, AT(flags)},
	{"ranks-1", FIELD(ranks), 1, AT(ranks)},
	{"ranks-33", FIELD(ranks), T3_MAX_RANKS + 1, AT(ranks)},
	{"not-of-the-fabric", FIELD(flags), 0, AT(ranks)},
	{"element-3", FIELD(element_bytes), 3, AT(element_bytes)},
	{"element-16", FIELD(element_bytes), 16, AT(element_bytes)},
	{"chunks-3", FIELD(chunks), 3, AT(chunks)},
	{"chunks-max", FIELD(chunks), 1ull << 63, AT(chunks)},
	{"collective-4", FIELD(collective), T3_TIMED_COLLECTIVES, AT(collective)},
	{"collective-max", FIELD(collective), 0xffffffff, AT(collective)},
	{"nodes-3", FIELD(nodes), 3, AT(nodes)},
	{"nodes-8", FIELD(nodes), 8, AT(nodes)},
	{"nodes-max", FIELD(nodes), 0xffffffff, AT(nodes)},
	{"experts-4", FIELD(experts), 4, AT(experts)}, /* without counts */
	{"experts-max", FIELD(experts), 0xffffffff, AT(experts)},
	{"way-1", FIELD(way), T3_TIMED_DISPATCH, AT(way)},
	{"way-max", FIELD(way), 0xffffffff, AT(way)},
	{"no-units", FIELD(params[0]), 0, AT(params[0])},
	{"no-record", FIELD(params[40]), 0, AT(params[40])},
	{"no-latency", FIELD(params[44]), 0, AT(params[44])},
	{"param-max", FIELD(params[20]), ~0ull, AT(params[20])},
	{"rows-0", FIELD(rows), 0, AT(rows)},
	{"columns-0", FIELD(columns), 0, AT(rows)},
	{"depth-0", FIELD(depth), 0, AT(rows)},
	{"rows-max", FIELD(rows), ~7ull, AT(rows)},
	{"depth-max", FIELD(depth), ~0ull, AT(rows)},
#undef AT
#undef FIELD
};
/* clang-format on */

/* One rank's part of a run. */
struct timed {
	struct queue q;
	struct t3_descriptor d;
	volatile struct t3_timed_args *args;
	volatile struct t3_timed_result *result;
};

static const char *program_label(unsigned row)
{
	return programs[row].name;
}

static const char *without_label(unsigned row)
{
	return without[row].name;
}

static const char *bad_label(unsigned row)
{
	return bads[row].name;
}

/* A run of a millisecond or so: 2 x 4 tiles in each of the ranks' chunks. */
static void prepare(struct conf *c, struct conf_device *d, struct timed *x, uint32_t program,
		    uint32_t ranks)
{
	uint64_t iova;

	if (!(conf_reg(d, T3_REG_CAPS) & T3_CAP_TIMED))
		conf_skip(c, "needs CAPS.TIMED");
	queue_create(c, d, &x->q, 0, 0);
	x->args = conf_page(c, &iova);
	x->result = (volatile void *)((volatile uint8_t *)x->args + RESULT_AT);
	for (unsigned i = 0; i < T3_PAGE_SIZE / 8; i++)
		((volatile uint64_t *)x->args)[i] = 0;
	x->args->program = program;
	x->args->ranks = ranks;
	x->args->element_bytes = 2;
	x->args->rows = 256ull * ranks;
	x->args->columns = 512;
	x->args->depth = 256;
	for (unsigned i = 0; i < T3_TIMED_PARAMS; i++)
		x->args->params[i] = timed_machine[i];
	x->d = (struct t3_descriptor){ .opcode = T3_DESC_TIMED,
				       .src_kind = T3_LOC_HOST,
				       .dst_kind = T3_LOC_HOST,
				       .src = iova,
				       .dst = iova + RESULT_AT };
}

/* Runs of this shape take the host long enough for a test's actions meanwhile. */
static void prolong(struct timed *x)
{
	x->args->rows = 2048ull * x->args->ranks;
	x->args->columns = 8192;
	x->args->depth = 4096;
}

static uint32_t start(struct timed *x)
{
	uint32_t index = queue_push(&x->q, &x->d);

	queue_submit(&x->q);
	return index;
}

static struct t3_timed_result finish(struct conf *c, struct timed *x, uint32_t index)
{
	struct t3_completion found = queue_wait(c, &x->q, index);
	struct t3_timed_result result;

	CHECK_EQUAL(c, "status", QUEUE_STATUS(found), T3_DESC_OK);
	CHECK_EQUAL(c, "detail", found.detail, 0);
	result = *x->result;
	CHECK_EQUAL(c, "rank", result.rank, x->q.dev->rank);
	CHECK_EQUAL(c, "mbz", result.mbz, 0);
	CHECK_EQUAL(c, "vtime of the completion", found.vtime,
		    result.start + (result.counters.end + 999) / 1000);
	return result;
}

static void check_equal(struct conf *c, const struct t3_timed_result *a,
			const struct t3_timed_result *b)
{
	const uint64_t *x = (const uint64_t *)&a->counters, *y = (const uint64_t *)&b->counters;

	for (unsigned i = 0; i < sizeof(a->counters) / 8; i++)
		CHECK(c, x[i] == y[i], "word %u of the counters is %llu, wanted %llu", i,
		      (unsigned long long)x[i], (unsigned long long)y[i]);
}

/* ------------------------------------------------------------------ mirrored */

static void check_phase(struct conf *c, const struct t3_timed_counters *counters, unsigned phase,
			bool there)
{
	CHECK(c, counters->phase_end[phase] <= counters->end, "phase %u ends after the run", phase);
	CHECK_EQUAL(c, "whether the phase is there", counters->phase_end[phase] != 0, there);
}

/* What the shape alone decides. A node has one chunk for each of its ranks. */
static void check_counters(struct conf *c, const struct t3_timed_counters *counters, unsigned row,
			   uint32_t ranks)
{
	uint32_t nodes = programs[row].nodes ? programs[row].nodes : 1;
	uint64_t part = 256ull * 512 * 2, others = part * nodes * (ranks / nodes - 1);
	bool both =
		programs[row].collective == ALL_REDUCE && programs[row].program != T3_TIMED_RS_NMC;
	uint64_t over_nodes = part * (nodes - 1), sends = both ? 2 : 1;
	uint64_t groups = programs[row].collective == ALL_GATHER ? 8 : 8ull * ranks;
	bool ring = nodes < ranks;

	CHECK(c, counters->end, "a run takes no time");
	check_phase(c, counters, T3_TIMED_GEMM, programs[row].gemm);
	check_phase(c, counters, T3_TIMED_REDUCE_SCATTER, ring && programs[row].reduce_scatter);
	check_phase(c, counters, T3_TIMED_NODE_REDUCE_SCATTER, nodes > 1);
	check_phase(c, counters, T3_TIMED_NODE_ALL_GATHER, nodes > 1 && programs[row].all_gather);
	check_phase(c, counters, T3_TIMED_ALL_GATHER, ring && programs[row].all_gather);
	CHECK_EQUAL(c, "groups", counters->groups, programs[row].gemm ? groups : 0);
	CHECK_EQUAL(c, "received bytes", counters->received_bytes,
		    counters->link_bytes + counters->node_link_bytes);
	CHECK_EQUAL(c, "bytes sent", counters->link_bytes, others * sends);
	CHECK_EQUAL(c, "bytes sent to other nodes", counters->node_link_bytes, over_nodes * sends);
	CHECK_EQUAL(c, "bytes written by the all-gather or all-to-all",
		    counters->memory_bytes[T3_TIMED_AG_WRITE],
		    programs[row].all_gather ? others + over_nodes : 0);
}

/* Two equal runs, with virtual time going on. No CPU acts in between. */
TEST("mirrored runs are equal", .rows = ARRAY_SIZE(programs), .label = program_label)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_timed_result first, second;
	struct timed x;

	prepare(c, d, &x, programs[row].program, 4);
	x.args->collective = programs[row].collective;
	x.args->flags = T3_TIMED_MIRRORED;
	x.args->nodes = programs[row].nodes;
	if (programs[row].program == T3_TIMED_SHARED)
		x.args->params[T3_TIMED_PARAM_COLLECTIVE_UNITS] = 8;
	first = finish(c, &x, start(&x));
	CHECK_EQUAL(c, "flags", first.flags, 0);
	CHECK(c, first.events, "a run without events");
	check_counters(c, &first.counters, row, 4);
	second = finish(c, &x, start(&x));
	check_equal(c, &first, &second);
	CHECK_EQUAL(c, "events", second.events, first.events);
	CHECK(c, second.start >= first.start + (first.counters.end + 999) / 1000,
	      "the second run began before the first was over");
	CHECK(c, conf_reg64(d, T3_REG_VCLOCK) >= second.start + (second.counters.end + 999) / 1000,
	      "VCLOCK is behind a run that is over");
}

/* Virtual time just before and just after the last commands of the CPU. */
struct pace {
	struct {
		uint64_t before, after;
	} command[64];
	unsigned count;
};

/* Give commands one after the other until the run has ended. */
static void pace(struct conf *c, struct timed *x, uint32_t index, struct pace *pace)
{
	struct conf_deadline deadline = conf_deadline(c);
	struct t3_cmd_fence_set set;
	unsigned i;

	pace->count = 0;
	do {
		i = pace->count++ % ARRAY_SIZE(pace->command);
		set = (struct t3_cmd_fence_set){ .fence = T3_MAX_FENCES - 1 };
		pace->command[i].before = conf_reg64(x->q.dev, T3_REG_VCLOCK);
		ADMIN(c, x->q.dev, T3_CMD_FENCE_SET, &set);
		pace->command[i].after = conf_reg64(x->q.dev, T3_REG_VCLOCK);
	} while (queue_reg(&x->q, T3_REG_QUEUE_HEAD) == index && conf_pause(&deadline));
}

/* Whether one of them certainly was between start and end. */
static bool was_paced(const struct pace *pace, const struct t3_timed_result *result)
{
	uint64_t end = result->start + (result->counters.end + 999) / 1000;

	for (unsigned i = 0; i < pace->count && i < ARRAY_SIZE(pace->command); i++) {
		if (pace->command[i].before > result->start && pace->command[i].after < end)
			return true;
	}
	return false;
}

/*
 * A run reports the CPU's commands meanwhile, and no counter changes. The host's speed decides how
 * many there are during a run, maybe none. So the test makes runs until there was one.
 */
TEST("a run reports the CPU's commands meanwhile")
{
	struct conf_deadline deadline = conf_deadline(c);
	struct conf_device *d = conf_device(c, 0);
	struct t3_timed_result quiet, paced;
	struct pace commands;
	struct timed x;
	uint32_t index;

	prepare(c, d, &x, T3_TIMED_T3_MCA, 4);
	prolong(&x);
	x.args->flags = T3_TIMED_MIRRORED;
	quiet = finish(c, &x, start(&x));
	CHECK_EQUAL(c, "flags", quiet.flags, 0);
	do {
		index = start(&x);
		pace(c, &x, index, &commands);
		paced = finish(c, &x, index);
		check_equal(c, &quiet, &paced);
	} while (!was_paced(&commands, &paced) && conf_pause(&deadline));
	CHECK(c, was_paced(&commands, &paced), "no command came while a run was under way");
	CHECK_EQUAL(c, "flags", paced.flags, T3_TIMED_HOST_PACED);
}

/* ----------------------------------------------------------------- all ranks */

/* A part for each rank of the fabric; returns how many. */
static unsigned prepare_all(struct conf *c, struct timed *x, uint32_t program)
{
	uint32_t ranks = conf_device(c, 0)->ranks;

	if (conf_devices(c) != ranks)
		conf_skip(c, "needs all %u ranks of the fabric", ranks);
	for (unsigned i = 0; i < ranks; i++)
		prepare(c, conf_device(c, i), &x[i], program, ranks);
	return ranks;
}

/*
 * No rank begins before the last has come. Then all begin at one instant, and as one mirrored run.
 */
TEST("all ranks begin with the last one", .rows = 2, .devices = 2)
{
	static struct timed x[T3_MAX_RANKS];
	struct t3_timed_result mirrored, first, result;
	struct conf_deadline deadline;
	uint32_t index[T3_MAX_RANKS];
	unsigned ranks = prepare_all(c, x, row ? T3_TIMED_T3_MCA_AG : T3_TIMED_SEQUENTIAL);

	x[0].args->flags = T3_TIMED_MIRRORED;
	mirrored = finish(c, &x[0], start(&x[0]));
	x[0].args->flags = 0;
	for (unsigned i = 0; i < ranks - 1; i++)
		index[i] = start(&x[i]);
	deadline = conf_deadline(c);
	for (unsigned i = 0; i < 20; i++)
		conf_pause(&deadline);
	for (unsigned i = 0; i < ranks - 1; i++)
		CHECK_EQUAL(c, "head without the last rank", queue_reg(&x[i].q, T3_REG_QUEUE_HEAD),
			    index[i]);
	index[ranks - 1] = start(&x[ranks - 1]);
	for (unsigned i = 0; i < ranks; i++) {
		result = finish(c, &x[i], index[i]);
		if (!i)
			first = result;
		CHECK_EQUAL(c, "start", result.start, first.start);
		check_equal(c, &mirrored, &result);
	}
}

/* The last rank has other arguments: two gangs, neither of which is complete. */
TEST("different arguments make different gangs", .devices = 2)
{
	static struct timed x[T3_MAX_RANKS];
	struct conf_deadline deadline;
	unsigned ranks = prepare_all(c, x, T3_TIMED_T3);

	x[ranks - 1].args->params[40] = 128;
	for (unsigned i = 0; i < ranks; i++)
		start(&x[i]);
	deadline = conf_deadline(c);
	for (unsigned i = 0; i < 20; i++)
		conf_pause(&deadline);
	for (unsigned i = 0; i < ranks; i++)
		queue_check(c, &x[i].q, T3_QUEUE_READY, 0, T3_DESC_OK);
	queue_command(c, &x[ranks - 1].q, T3_CMD_QUEUE_ABORT);
	queue_expect(c, &x[ranks - 1].q, 0, T3_DESC_ABORTED, 0);
	x[ranks - 1].args->params[40] = timed_machine[40];
	start(&x[ranks - 1]);
	for (unsigned i = 0; i < ranks; i++)
		finish(c, &x[i], i == ranks - 1);
}

/* A device that was reset, with the same queue. */
static void begin_anew(struct conf *c, struct timed *x)
{
	conf_reset(x->q.dev);
	for (unsigned i = 0; i < x->q.args.entries; i++)
		x->q.completions[i].word = 0;
	x->q.tail = 0;
	x->result->events = 0;
	ADMIN(c, x->q.dev, T3_CMD_QUEUE_CREATE, &x->q.args);
}

/* By ABORT, DESTROY, a reset. */
static void leave(struct conf *c, struct timed *x, unsigned row)
{
	if (row == 2)
		conf_reset(x->q.dev);
	else
		queue_command(c, &x->q, row ? T3_CMD_QUEUE_DESTROY : T3_CMD_QUEUE_ABORT);
}

/* All begin a run, and the last rank leaves it. False: it was too late. */
static bool leave_in_time(struct conf *c, struct timed *x, unsigned ranks, unsigned row)
{
	for (unsigned i = 0; i < ranks; i++)
		start(&x[i]);
	leave(c, &x[ranks - 1], row);
	return QUEUE_STATUS(queue_wait(c, &x[0].q, 0)) != T3_DESC_OK;
}

/*
 * The last rank leaves a run that has begun. The host's speed decides whether the run ends before.
 * It then ends well, and the test makes another.
 */
TEST("a rank that leaves ends the run of all", .rows = 3, .devices = 2)
{
	static struct timed x[T3_MAX_RANKS];
	struct conf_deadline deadline = conf_deadline(c);
	unsigned ranks = prepare_all(c, x, T3_TIMED_T3_MCA), last = ranks - 1;

	for (unsigned i = 0; i < ranks; i++)
		prolong(&x[i]);
	while (!leave_in_time(c, x, ranks, row)) {
		CHECK(c, conf_pause(&deadline), "all runs end well, whoever leaves them");
		for (unsigned i = 0; i < ranks; i++)
			begin_anew(c, &x[i]);
	}
	for (unsigned i = 0; i < last; i++) {
		queue_expect(c, &x[i].q, 0, T3_DESC_GANG, x[last].q.dev->rank);
		CHECK_EQUAL(c, "result of a run that was left", x[i].result->events, 0);
		queue_wait_state(c, &x[i].q, T3_QUEUE_ERROR);
	}
	if (!row)
		queue_expect(c, &x[last].q, 0, T3_DESC_ABORTED, 0);
}

/* ------------------------------------------------------------------- refused */

TEST("each wrong argument is refused by its place", .rows = ARRAY_SIZE(bads), .label = bad_label)
{
	volatile uint8_t *field;
	struct timed x;

	prepare(c, conf_device(c, 0), &x, T3_TIMED_T3, 4);
	x.args->flags = T3_TIMED_MIRRORED;
	if (bads[row].offset == offsetof(struct t3_timed_args, flags) && !bads[row].value)
		x.args->ranks = x.q.dev->ranks == 32 ? 31 : 32;
	field = (volatile uint8_t *)x.args + bads[row].offset;
	conf_write(field, 0, (unsigned)bads[row].bytes, bads[row].value);
	queue_expect(c, &x.q, start(&x), T3_DESC_BAD_DESCRIPTOR,
		     sizeof(struct t3_descriptor) + bads[row].blamed);
	CHECK_EQUAL(c, "events of a result", x.result->events, 0);
}

TEST("programs lack the collectives of the table", .rows = ARRAY_SIZE(without),
     .label = without_label)
{
	struct timed x;

	prepare(c, conf_device(c, 0), &x, without[row].program, 4);
	x.args->flags = T3_TIMED_MIRRORED;
	x.args->collective = without[row].collective;
	queue_expect(c, &x.q, start(&x), T3_DESC_BAD_DESCRIPTOR,
		     sizeof(struct t3_descriptor) + offsetof(struct t3_timed_args, collective));
}

/* Fields of the descriptor. Operands are at multiples of 64, the result in host memory. */
TEST("each wrong field of the descriptor is refused", .rows = 7)
{
	struct t3_descriptor d;
	struct timed x;

	prepare(c, conf_device(c, 0), &x, T3_TIMED_T3, 4);
	x.args->flags = T3_TIMED_MIRRORED;
	d = x.d;
	if (row == 0)
		d.src_kind = T3_LOC_SPACE;
	else if (row == 1)
		d.dst_kind = T3_LOC_MEMORY;
	else if (row == 2)
		d.src += 8;
	else if (row == 3)
		d.dst += 32;
	else if (row == 4)
		d.rows = 1;
	else
		d.row_bytes = row == 5 ? 2 : 4 * T3_MAX_RANKS * T3_TIMED_MAX_EXPERTS + 4;
	queue_push(&x.q, &d);
	queue_submit(&x.q);
	queue_expect(c, &x.q, 0, T3_DESC_BAD_DESCRIPTOR,
		     ((const uint64_t[]){
			     offsetof(struct t3_descriptor, src_kind),
			     offsetof(struct t3_descriptor, dst_kind),
			     offsetof(struct t3_descriptor, src),
			     offsetof(struct t3_descriptor, dst),
			     offsetof(struct t3_descriptor, rows),
			     offsetof(struct t3_descriptor, row_bytes),
			     offsetof(struct t3_descriptor, row_bytes),
		     })[row]);
}

/* Arguments or result out of the device's reach. */
TEST("arguments or result out of reach fail the run", .rows = 2)
{
	struct timed x;
	uint64_t gone;

	prepare(c, conf_device(c, 0), &x, T3_TIMED_T3, 4);
	x.args->flags = T3_TIMED_MIRRORED;
	conf_page(c, &gone);
	conf_unmap(c, gone);
	if (row)
		x.d.dst = gone;
	else
		x.d.src = gone;
	queue_expect(c, &x.q, start(&x), T3_DESC_HOST_DMA, gone);
	conf_pages_map(c);
}
