/* SPDX-License-Identifier: MIT */
/* Timed runs of the device: checks, gangs, clock, and early ends. SPEC.md 11.8. */
#include "gang.h"
#include "migrate.h"
#include "test.h"

/* clang-format off */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define D(field)     offsetof(struct run, d.field), sizeof(((struct run *)0)->d.field)
#define A(field)     offsetof(struct run, args.field), sizeof(((struct run *)0)->args.field)
#define AT(field)    offsetof(struct run, field)
/* clang-format on */

#define EVENTS 5000000u /* more than any run here has */

/* ------------------------------------------------------------------- checks */

static const struct {
	size_t offset, size;
	uint64_t value;
	uint64_t at;
} bad[] = {
	{ D(flags), 2, AT(d.flags) },
	{ D(op), 1, AT(d.op) },
	{ D(dtype), 1, AT(d.dtype) },
	{ D(src_kind), T3_LOC_SPACE, AT(d.src_kind) },
	{ D(dst_kind), T3_LOC_SPACE, AT(d.dst_kind) },
	{ D(mbz), 1, AT(d.mbz) },
	{ D(row_bytes), 1, AT(d.row_bytes) },
	{ D(row_bytes), 65540, AT(d.row_bytes) },
	{ D(src), 32, AT(d.src) },
	{ D(dst), 32, AT(d.dst) },
	{ D(src_pitch), 1, AT(d.src_pitch) },
	{ D(dst_pitch), 1, AT(d.dst_pitch) },
	{ D(space), 1, AT(d.space) },
	{ D(generation), 1, AT(d.generation) },
	{ A(program), T3_TIMED_DIRECT, AT(args.program) }, /* the fabric is a ring */
	{ A(flags), T3_TIMED_MIRRORED << 1, AT(args.flags) },
	{ A(ranks), 0, AT(args.ranks) },
	{ A(ranks), 2, AT(args.ranks) },
	{ A(element_bytes), 0, AT(args.element_bytes) },
	{ A(element_bytes), 3, AT(args.element_bytes) },
	{ A(chunks), 1ull << 32, AT(args.chunks) },
	{ A(collective), T3_TIMED_COLLECTIVE_ALL_TO_ALL, AT(args.collective) }, /* on a ring */
	{ A(nodes), 2, AT(args.nodes) },					/* of 3 ranks */
	{ A(nodes), 6, AT(args.nodes) },
	{ A(experts), 3, AT(args.experts) }, /* no counts follow */
	{ A(way), T3_TIMED_DISPATCH, AT(args.way) },
	{ A(params[44]), HOST_NONE64, AT(args.params) + 44 * 8 },
	{ A(rows), 1ull << 63, AT(args.rows) },
	{ A(depth), 1ull << 24, AT(args.rows) }, /* too large a run */
};

TEST("each wrong field is refused")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
	size_t i;

	for (i = 0; i < COUNT(bad); i++) {
		struct run run = run_of_all(3);

		run.args.rows = bad[i].value == 1ull << 24 ? 3u << 22 : run.args.rows;
		memcpy((uint8_t *)&run + bad[i].offset, &bad[i].value, bad[i].size);
		run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, bad[i].at);
	}
	host_free(gang.host);
}

/* Of two wrong fields, the one that is checked first is named. The list is in that order. */
TEST("the first wrong field is named")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
	size_t i;

	for (i = 0; i + 1 < COUNT(bad); i++) {
		struct run run = run_of_all(3);

		memcpy((uint8_t *)&run + bad[i + 1].offset, &bad[i + 1].value, bad[i + 1].size);
		memcpy((uint8_t *)&run + bad[i].offset, &bad[i].value, bad[i].size);
		run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, bad[i].at);
	}
	host_free(gang.host);
}

/* Each parameter one below its least and one above its greatest value. */
TEST("each parameter out of range is refused")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
	uint32_t i;

	for (i = 0; i < T3_TIMED_PARAMS; i++) {
		struct run run = run_of_all(3);

		run.args.params[i] = t3_timed_params[i].max + 1;
		run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR,
				   AT(args.params) + 8 * i);
		run.args.params[i] = t3_timed_params[i].min - 1; /* of 0: 2^64 - 1 */
		run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR,
				   AT(args.params) + 8 * i);
	}
	host_free(gang.host);
}

TEST("wrong addresses are refused")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct run run = run_of_all(2);
	struct t3_descriptor d = run.d;
	uint32_t index;

	d.src = d.dst = 0xffffffffffffff00ull;
	index = queue_submit(&gang.q[0], &d);
	queue_expect(&gang.q[0], index, T3_DESC_BAD_RANGE, d.src);
	queue_abort(&gang.q[0]);
	d.src = 0;
	index = queue_submit(&gang.q[0], &d);
	queue_expect(&gang.q[0], index, T3_DESC_BAD_RANGE, d.dst);
	queue_abort(&gang.q[0]);
	d.dst = 0;
	index = queue_submit(&gang.q[0], &d);
	queue_expect(&gang.q[0], index, T3_DESC_HOST_DMA, 0);
	host_free(gang.host);
}

/* A result that cannot be written fails its rank alone. */
TEST("a lost result fails its own rank alone")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup), lost = run;

	lost.d.dst = 0x1000000;
	gang.index[0] = run_submit(&gang.q[0], &lost);
	gang.index[1] = run_submit(&gang.q[1], &run);
	host_drain(gang.host);
	queue_expect(&gang.q[0], gang.index[0], T3_DESC_HOST_DMA,
		     HOST_DATA + GANG_RESULTS + 3 * GANG_STRIDE + 0x1000000);
	run_expect(&gang.q[1], gang.index[1], &native, 1, 0);
	host_free(gang.host);
}

static void no_kick(void *opaque)
{
	(void)opaque;
}

/* A fabric without timed runs has no such opcode, and says so. */
TEST("a fabric without timed runs has no such opcode")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct t3_fabric_config config = { .topology = T3_TOPOLOGY_RING, .ranks = 2, .id = 7 };
	struct t3_fabric_ops ops = { .kick = no_kick };
	struct t3_fabric *fabric = t3_fabric_new(&config, &ops, NULL);
	struct run run = run_mirrored();

	assert_non_null(fabric);
	assert_int_equal(host_reg(gang.q[0].d, T3_REG_CAPS) & T3_CAP_TIMED, T3_CAP_TIMED);
	t3_dev_detach(gang.host->dev[0].dev);
	assert_int_equal(t3_dev_attach(gang.host->dev[0].dev, fabric, 0), 0);
	assert_int_equal(host_reg(gang.q[0].d, T3_REG_CAPS) & T3_CAP_TIMED, 0);
	gang.q[0] = queue_new(&gang.host->dev[0], 3, 0);
	run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(d.opcode));
	t3_dev_detach(gang.host->dev[0].dev);
	t3_fabric_free(fabric);
	host_free(gang.host);
}

/* ---------------------------------------------------------------- good runs */

/* On all devices, and mirrored: the counters of the native simulator. */
static void run_everywhere(struct t3_timed_setup setup)
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, (uint32_t)setup.workload.ranks);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	struct t3_timed_result result;

	gang_submit(&gang, &run);
	host_drain(gang.host);
	gang_expect(&gang, &native, 0);
	run.args.flags = T3_TIMED_MIRRORED;
	gang.index[1] = run_submit(&gang.q[1], &run);
	host_drain(gang.host);
	queue_expect(&gang.q[1], gang.index[1], T3_DESC_OK, 0);
	result = run_result(&gang.q[1]);
	assert_memory_equal(&result.counters, &native.counters[0], sizeof(result.counters));
	host_free(gang.host);
}

/* What does not run is refused on a fabric with all links, too. Nodes blame no single field. */
static void refuse(const struct t3_timed_setup *setup)
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, (uint32_t)setup->workload.ranks);
	struct run run = run_of(setup);
	bool has = t3_timed_runs(setup->program, setup->workload.collective);

	run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR,
			   has ? AT(args.rows) : AT(args.collective));
	host_free(gang.host);
}

static void run_or_refuse(uint32_t ranks, uint32_t nodes, uint32_t program, uint32_t collective)
{
	struct t3_timed_setup setup = run_small(ranks, (enum t3_timed_program)program);

	setup.workload.nodes = nodes;
	setup.workload.collective = (enum t3_timed_collective)collective;
	if (timed_program(&setup, (int)program))
		run_everywhere(setup);
	else
		refuse(&setup);
}

/*
 * With each collective on two and four devices, of one, two and four nodes, and mirrored: the
 * native simulator's counters.
 */
TEST("each program gives the native simulator's counters")
{
	uint32_t program, ranks, nodes, collective;

	for (ranks = 2; ranks <= 4; ranks += 2)
		for (nodes = 1; nodes <= ranks; nodes *= 2)
			for (program = 0; program < T3_TIMED_PROGRAMS; program++)
				for (collective = 0; collective < T3_TIMED_COLLECTIVES;
				     collective++)
					run_or_refuse(ranks, nodes, program, collective);
}

/* One device that stands for all has all links, whatever its fabric. */
TEST("an all-to-all runs mirrored on a ring")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
	struct run run = run_of_all(3);

	run.args.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	run.args.flags = T3_TIMED_MIRRORED;
	gang.index[0] = run_submit(&gang.q[0], &run);
	host_drain(gang.host);
	queue_expect(&gang.q[0], gang.index[0], T3_DESC_OK, 0);
	host_free(gang.host);
}

/* The result does not depend on the size of a slice or on other work in between. */
TEST("the size of a slice does not change the result")
{
	static const uint32_t budgets[] = { 1, 2, 1025, 4096, EVENTS };
	struct t3_timed_setup setup = run_small(3, T3_TIMED_T3_MCA_AG);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	uint32_t i, steps;

	for (i = 0; i < COUNT(budgets); i++) {
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
		uint64_t before = 0, now;

		t3_fabric_set_inline_budget(gang.host->fabric, 0);
		gang_submit(&gang, &run);
		for (steps = 0; t3_fabric_run(gang.host->fabric, budgets[i]); steps++) {
			now = t3_fabric_now(gang.host->fabric);
			assert_true(now >= before);
			before = now;
			assert_true(steps < EVENTS);
		}
		gang_expect(&gang, &native, 0);
		host_free(gang.host);
	}
}

/* It begins with the last rank, whichever that is, and not before. */
TEST("a gang begins with its last rank")
{
	struct t3_timed_setup setup = run_small(3, T3_TIMED_T3);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	uint32_t last, i;

	for (last = 0; last < 3; last++) {
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
		uint64_t now;

		for (i = 0; i < 3; i++)
			if (i != last)
				gang.index[i] = run_submit(&gang.q[i], &run);
		host_drain(gang.host);
		now = t3_fabric_now(gang.host->fabric);
		for (i = 0; i < 3; i++)
			assert_int_equal(queue_head(&gang.q[i]), 0);
		gang.index[last] = run_submit(&gang.q[last], &run);
		host_drain(gang.host);
		gang_expect(&gang, &native, 0);
		assert_in_range(run_result(&gang.q[last]).start, now, now + 2);
		host_free(gang.host);
	}
}

/* Two gangs, first one then the other on rank 0, the other way round on rank 1. */
TEST("crossed gangs both run")
{
	struct t3_timed_setup a = run_small(2, T3_TIMED_T3), b = run_small(2, T3_TIMED_SEQUENTIAL);
	struct native native_a = run_natively(&a), native_b = run_natively(&b);
	struct run run_a = run_of(&a), run_b = run_of(&b);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue other[2];
	uint32_t i;

	for (i = 0; i < 2; i++)
		other[i] = queue_new(&gang.host->dev[i], 9, 0);
	run_submit(&gang.q[0], &run_a);
	run_submit(&gang.q[1], &run_b);
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[0]) + queue_head(&gang.q[1]), 0);
	run_submit(&other[0], &run_b);
	run_submit(&other[1], &run_a);
	host_drain(gang.host);
	for (i = 0; i < 2; i++) {
		run_expect(i ? &other[1] : &gang.q[0], 0, &native_a, i, 0);
		run_expect(i ? &gang.q[1] : &other[0], 0, &native_b, i, 0);
	}
	host_free(gang.host);
}

/* Runs follow each other, also when each could run alone. */
TEST("runs follow each other")
{
	struct run run = run_mirrored();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue second = queue_new(&gang.host->dev[0], 1, 3);
	struct t3_queue_info info;
	uint64_t end, a, b;

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	run_submit(&gang.q[0], &run);
	t3_fabric_run(gang.host->fabric, 3);
	run_submit(&second, &run);
	run_submit(&gang.q[1], &run);
	t3_fabric_run(gang.host->fabric, 3);
	assert_true(t3_dev_queue_info(gang.host->dev[0].dev, 1, &info));
	assert_int_equal(info.waits, T3_QUEUE_WAITS_GANG);
	assert_true(t3_dev_queue_info(gang.host->dev[0].dev, 3, &info));
	assert_int_equal(info.waits, T3_QUEUE_WAITS_NOT);
	host_drain(gang.host);
	end = queue_completion(&gang.q[0], 0)->vtime;
	a = run_result(&second).start;
	b = run_result(&gang.q[1]).start;
	assert_int_equal(a < b ? a : b, end);
	assert_int_equal(a < b ? b : a, queue_completion(a < b ? &second : &gang.q[1], 0)->vtime);
	queue_expect(&second, 0, T3_DESC_OK, 0);
	queue_expect(&gang.q[1], 0, T3_DESC_OK, 0);
	host_free(gang.host);
}

/* A client with endless runs does not keep others from theirs. */
TEST("a client with endless runs does not keep others off")
{
	struct run run = run_mirrored(), of_all = run_of_all(2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue third = queue_new(&gang.host->dev[1], 9, 0);
	uint32_t i, before;

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	for (i = 0; i < QUEUE_ENTRIES - 1; i++)
		run_submit(&gang.q[0], &run);
	t3_fabric_run(gang.host->fabric, 5);
	run_submit(&gang.q[1], &run);
	run_submit(&third, &of_all);
	for (i = 0; !queue_head(&gang.q[1]); i++) {
		t3_fabric_run(gang.host->fabric, 1);
		assert_true(i < EVENTS);
	}
	before = queue_head(&gang.q[0]);
	assert_in_range(before, 0, 2);
	queue_abort(&gang.q[0]);
	run_submit(&gang.q[0], &of_all);
	host_drain(gang.host);
	queue_expect(&third, 0, T3_DESC_OK, 0);
	host_free(gang.host);
}

/* Nor does a client with many queues that have all waited longer. */
TEST("a client with many queues does not keep others off")
{
	struct run run = run_mirrored();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct host_dev *d = &gang.host->dev[0];
	struct queue many[12], one;
	uint32_t i, done = 0;

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	for (i = 0; i < 12; i++) {
		struct t3_cmd_queue_create cmd = queue_args(20 + i, 0);

		cmd.client = 1;
		many[i] = queue_with(d, &cmd);
		run_submit(&many[i], &run);
		run_submit(&many[i], &run);
	}
	t3_fabric_run(gang.host->fabric, 20);
	one = gang.q[0]; /* client 0 */
	for (i = 0; i < 3; i++)
		run_submit(&one, &run);
	for (i = 0; queue_head(&one) < 3; i++) {
		t3_fabric_run(gang.host->fabric, 1);
		assert_true(i < EVENTS);
	}
	for (i = 0; i < 12; i++)
		done += queue_head(&many[i]);
	assert_in_range(done, 2, 4);
	host_free(gang.host);
}

/* A queue that waits or runs does not hold the engine. */
TEST("a queue that waits leaves the engine free")
{
	struct t3_timed_setup setup = timed_small(512, 512, 256, 2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue other = queue_new(&gang.host->dev[0], 1, 0);
	struct t3_descriptor nop = queue_nop();
	struct run run;

	setup.mirrored = false;
	run = run_of(&setup);
	run_submit(&gang.q[0], &run);
	queue_expect(&other, queue_submit(&other, &nop), T3_DESC_OK, 0);
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	run_submit(&gang.q[1], &run);
	t3_fabric_run(gang.host->fabric, 4);
	queue_submit(&other, &nop);
	t3_fabric_run(gang.host->fabric, 3000);
	assert_int_equal(queue_head(&other), 2);
	assert_int_equal(queue_head(&gang.q[0]), 0);
	host_drain(gang.host);
	queue_expect(&gang.q[0], 0, T3_DESC_OK, 0);
	assert_int_equal(run_result(&gang.q[0]).flags, T3_TIMED_HOST_PACED);
	host_free(gang.host);
}

/* The clock moves from slice to slice, and ends where the run does. */
TEST("the clock moves from slice to slice")
{
	struct t3_timed_setup setup = timed_small(512, 512, 256, 4);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct native native;
	struct run run;
	uint64_t before;
	uint32_t moved = 0;

	setup.program = T3_TIMED_T3_MCA;
	native = run_natively(&setup);
	run = run_of(&setup);
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	run_submit(&gang.q[0], &run);
	do {
		before = host_get(gang.q[0].d, T3_REG_VCLOCK, 8);
		if (!t3_fabric_run(gang.host->fabric, 1024))
			break;
		moved += host_get(gang.q[0].d, T3_REG_VCLOCK, 8) > before;
	} while (moved < EVENTS);
	assert_true(moved > native.events / 1024 / 2);
	run_expect(&gang.q[0], 0, &native, 0, 0);
	host_free(gang.host);
}

/* --------------------------------------------------------------- HOST_PACED */

enum touch { READS, STORE, DOORBELL, TAIL, ADMIN, INJECT, PENDING, ASKS, TOUCHES };

/* A producer's usual store: the tracker has its tile from the second one on. */
static void store_next(struct host_dev *d)
{
	uint64_t offset = HOST_SPACE_SIZE + 4 * host_counter(d, T3_COUNTER_STORES);

	if (!t3_dev_aperture_store(d->dev, 0, offset, 1, 4))
		t3_dev_aperture_write(d->dev, offset, 1, 4);
}

/* All commands that only ask, of space 1, queue 1, or the link to rank 1. */
static void ask_all(struct host_dev *d)
{
	static const uint32_t questions[] = { T3_CMD_SPACE_QUERY, T3_CMD_SEG_STATS,
					      T3_CMD_QUEUE_QUERY, T3_CMD_LINK_QUERY,
					      T3_CMD_TILE_QUERY,  T3_CMD_ROUTE_QUERY };
	uint32_t i;

	for (i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		uint32_t ask[16] = { 1 };

		host_command(d, questions[i], ask, sizeof(ask));
	}
}

static void touch(struct host_dev *d, enum touch how)
{
	struct t3_cmd_fence_set set = { .fence = 5 };

	if (how == READS)
		host_get(d, T3_REG_VCLOCK, 8);
	else if (how == STORE)
		store_next(d);
	else if (how == DOORBELL)
		host_doorbell(d, 0, T3_DB_ARM, 1, 4);
	else if (how == TAIL)
		host_set(d, T3_REG_QUEUE_TAIL + 4 * 7, 0, 4);
	else if (how == ADMIN)
		host_command(d, T3_CMD_FENCE_SET, &set, sizeof(set));
	else if (how == ASKS)
		ask_all(d);
	else if (how == INJECT)
		host_inject(d->host->fabric, 1, 0, T3_INJECT_DROP, 1000);
	else
		host_set(d, T3_REG_QUEUE_PENDING, 1, 4);
}

TEST("any access of the host marks the run")
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	enum touch how;

	for (how = READS; how < TOUCHES; how++) {
		bool paced = how != READS && how != PENDING && how != ASKS;
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

		host_space(&gang.host->dev[1], 1);
		host_local(&gang.host->dev[1], 1, 0);
		host_arm(&gang.host->dev[1], 1, 1);
		t3_fabric_set_inline_budget(gang.host->fabric, 0);
		gang_submit(&gang, &run);
		touch(&gang.host->dev[1], how); /* before it begins: does not count */
		t3_fabric_run(gang.host->fabric, 5);
		assert_int_equal(queue_head(&gang.q[0]), 0);
		touch(&gang.host->dev[1], how);
		host_drain(gang.host);
		gang_expect(&gang, &native, paced ? T3_TIMED_HOST_PACED : 0);
		gang_submit(&gang, &run); /* and not for the next one */
		host_drain(gang.host);
		gang_expect(&gang, &native, 0);
		host_free(gang.host);
	}
}

/* More stores than a link has slots: the last one waits until the run's next event is overdue. */
TEST("a store that waits lets the run go on")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct host_dev *a = &gang.host->dev[0], *b = &gang.host->dev[1];
	struct t3_cmd_seg_map from = host_segment(1, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map to = host_segment(1, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct run run = run_of_all(2);
	uint64_t before, now;
	uint32_t row;

	from.rows = to.rows = 65;
	host_space(a, 1);
	host_space(b, 1);
	host_connect(a, b, 1);
	host_map(a, &from);
	host_map(b, &to);
	host_arm(b, 1, 1);
	host_arm(a, 1, 1);
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 5);
	assert_int_equal(queue_head(&gang.q[0]), 0);
	assert_true(
		host_inject(gang.host->fabric, 0, 1, T3_INJECT_DROP, 1)); /* a time-out passes */
	before = t3_fabric_now(gang.host->fabric);
	for (row = 0; row < from.rows; row++)
		host_store(a, 1, row * from.pitch, 1, 8);
	now = t3_fabric_now(gang.host->fabric);
	assert_true(now > before);
	assert_null(t3_fabric_check(gang.host->fabric));
	do {
		before = now;
		now = t3_fabric_now(gang.host->fabric);
		assert_true(now >= before);
	} while (t3_fabric_run(gang.host->fabric, 1));
	assert_int_equal(queue_head(&gang.q[0]), 1);
	host_free(gang.host);
}
