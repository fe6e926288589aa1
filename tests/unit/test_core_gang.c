/* SPDX-License-Identifier: MIT */
/* Timed runs of the device: checks, gangs, clock, what ends them early. SPEC.md 11.8. */
#include "gang.h"
#include "migrate.h"

/* clang-format off */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define D(field)     offsetof(struct run, d.field), sizeof(((struct run *)0)->d.field)
#define A(field)     offsetof(struct run, args.field), sizeof(((struct run *)0)->args.field)
#define AT(field)    offsetof(struct run, field)
/* clang-format on */

#define EVENTS 5000000u /* more than any run here has */

static struct run small_run(uint32_t ranks)
{
	struct t3_timed_setup setup = run_small(ranks, T3_TIMED_T3_MCA);

	return run_of(&setup);
}

static struct run mirrored_run(void)
{
	struct run run = small_run(4);

	run.args.flags = T3_TIMED_MIRRORED;
	return run;
}

/* Natively, on each device; all events of the run and its last one's time. */
struct native {
	struct t3_timed_counters counters[T3_MAX_RANKS];
	uint64_t events, end;
};

static struct native natively(const struct t3_timed_setup *setup)
{
	struct t3_timed *sim = t3_timed_new(setup);
	struct native native;
	uint32_t i;

	assert_non_null(sim);
	while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
		;
	for (i = 0; i < t3_timed_devices(sim); i++)
		t3_timed_counters(sim, i, &native.counters[i]);
	native.events = t3_timed_events(sim);
	native.end = (t3_timed_now(sim) + 999) / 1000;
	t3_timed_free(sim);
	return native;
}

static void expect_result(const struct queue *q, uint32_t index, const struct native *native,
			  uint32_t device, uint32_t flags)
{
	struct t3_timed_result result = run_result(q);

	queue_expect(q, index, T3_DESC_OK, 0);
	assert_int_equal(result.events, native->events);
	assert_int_equal(result.flags, flags);
	assert_int_equal(result.rank, q->d->rank);
	assert_int_equal(result.mbz, 0);
	assert_memory_equal(&result.counters, &native->counters[device], sizeof(result.counters));
	assert_int_equal(queue_completion(q, index)->vtime, result.start + native->end);
}

struct gang {
	struct host *host;
	struct queue q[T3_MAX_RANKS];
	uint32_t ranks, index[T3_MAX_RANKS];
};

static struct gang gang_new(uint32_t topology, uint32_t ranks)
{
	struct host_config config = { topology, ranks, 8, 2 };
	struct gang gang = { .host = host_new(&config), .ranks = ranks };
	uint32_t i;

	for (i = 0; i < ranks; i++)
		gang.q[i] = queue_new(&gang.host->dev[i], 3, 0);
	return gang;
}

static void gang_submit(struct gang *gang, const struct run *run)
{
	uint32_t i;

	for (i = 0; i < gang->ranks; i++)
		gang->index[i] = run_submit(&gang->q[i], run);
}

static void gang_expect(const struct gang *gang, const struct native *native, uint32_t flags)
{
	uint32_t i;

	for (i = 0; i < gang->ranks; i++) {
		expect_result(&gang->q[i], gang->index[i], native, i, flags);
		assert_int_equal(run_result(&gang->q[i]).start, run_result(&gang->q[0]).start);
	}
}

/* ------------------------------------------------------------------- checks */

static const struct {
	size_t offset, size;
	uint64_t value;
	uint64_t at;
} bad[] = {
	{ D(flags), 2, AT(d.flags) },
	{ D(op), 1, AT(d.op) },
	{ D(dtype), 1, AT(d.dtype) },
	{ D(src_kind), T3_LOC_MEMORY, AT(d.src_kind) },
	{ D(src_kind), T3_LOC_SPACE, AT(d.src_kind) },
	{ D(dst_kind), T3_LOC_MEMORY, AT(d.dst_kind) },
	{ D(dst_kind), T3_LOC_SPACE, AT(d.dst_kind) },
	{ D(mbz), 1, AT(d.mbz) },
	{ D(rows), 1, AT(d.rows) },
	{ D(row_bytes), 1, AT(d.row_bytes) },
	{ D(src), 32, AT(d.src) },
	{ D(dst), 32, AT(d.dst) },
	{ D(src_pitch), 1, AT(d.src_pitch) },
	{ D(dst_pitch), 1, AT(d.dst_pitch) },
	{ D(space), 1, AT(d.space) },
	{ D(generation), 1, AT(d.generation) },
	{ A(program), T3_TIMED_PROGRAMS, AT(args.program) },
	{ A(program), 0xffffffff, AT(args.program) },
	{ A(program), T3_TIMED_DIRECT, AT(args.program) }, /* the fabric is a ring */
	{ A(flags), 2, AT(args.flags) },
	{ A(ranks), 0, AT(args.ranks) },
	{ A(ranks), 2, AT(args.ranks) },
	{ A(ranks), 33, AT(args.ranks) },
	{ A(element_bytes), 0, AT(args.element_bytes) },
	{ A(element_bytes), 3, AT(args.element_bytes) },
	{ A(mbz[0]), 1, AT(args.mbz) },
	{ A(mbz[2]), 1ull << 63, AT(args.mbz) },
	{ A(params[0]), 0, AT(args.params) },
	{ A(params[40]), HOST_NONE64, AT(args.params) + 40 * 8 },
	{ A(rows), 0, AT(args.rows) },
	{ A(rows), 193, AT(args.rows) }, /* not a multiple of the ranks */
	{ A(rows), 30, AT(args.rows) },	 /* less than a tile for each */
	{ A(rows), 1ull << 63, AT(args.rows) },
	{ A(columns), 0, AT(args.rows) },
	{ A(columns), 31, AT(args.rows) },
	{ A(depth), 0, AT(args.rows) },
	{ A(depth), HOST_NONE64, AT(args.rows) },
	{ A(depth), 1ull << 24, AT(args.rows) }, /* too large a run */
};

static void expect_refused(struct queue *q, const struct run *run, uint32_t status, uint64_t detail)
{
	uint32_t index = run_submit(q, run);

	queue_expect(q, index, status, detail);
	queue_expect_state(q, T3_QUEUE_ERROR, index + 1, status);
	assert_true(run_untouched(q));
	queue_abort(q);
}

static void test_bad_fields(void **state)
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(bad); i++) {
		struct run run = small_run(3);

		run.args.rows = bad[i].value == 1ull << 24 ? 3u << 22 : run.args.rows;
		memcpy((uint8_t *)&run + bad[i].offset, &bad[i].value, bad[i].size);
		expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, bad[i].at);
	}
	host_free(gang.host);
}

/* Each parameter one below its least and one above its greatest value. */
static void test_params(void **state)
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
	uint32_t i;

	(void)state;
	for (i = 0; i < T3_TIMED_PARAMS; i++) {
		struct run run = small_run(3);

		run.args.params[i] = t3_timed_params[i].max + 1;
		expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(args.params) + 8 * i);
		run.args.params[i] = t3_timed_params[i].min - 1; /* of 0: 2^64 - 1 */
		expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(args.params) + 8 * i);
	}
	host_free(gang.host);
}

static void test_addresses(void **state)
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct run run = small_run(2);
	struct t3_descriptor d = run.d;
	uint32_t index;

	(void)state;
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
static void test_result_lost(void **state)
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = natively(&setup);
	struct run run = run_of(&setup), lost = run;

	(void)state;
	lost.d.dst = 0x1000000;
	gang.index[0] = run_submit(&gang.q[0], &lost);
	gang.index[1] = run_submit(&gang.q[1], &run);
	host_drain(gang.host);
	queue_expect(&gang.q[0], gang.index[0], T3_DESC_HOST_DMA,
		     HOST_DATA + GANG_RESULTS + 3 * GANG_STRIDE + 0x1000000);
	expect_result(&gang.q[1], gang.index[1], &native, 1, 0);
	host_free(gang.host);
}

static void no_kick(void *opaque)
{
	(void)opaque;
}

/* A fabric without timed runs has no such opcode, and says so. */
static void test_not_allowed(void **state)
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct t3_fabric_config config = { .topology = T3_TOPOLOGY_RING, .ranks = 2, .id = 7 };
	struct t3_fabric_ops ops = { .kick = no_kick };
	struct t3_fabric *fabric = t3_fabric_new(&config, &ops, NULL);
	struct run run = mirrored_run();

	(void)state;
	assert_non_null(fabric);
	assert_int_equal(host_reg(gang.q[0].d, T3_REG_CAPS) & T3_CAP_TIMED, T3_CAP_TIMED);
	t3_dev_detach(gang.host->dev[0].dev);
	assert_int_equal(t3_dev_attach(gang.host->dev[0].dev, fabric, 0), 0);
	assert_int_equal(host_reg(gang.q[0].d, T3_REG_CAPS) & T3_CAP_TIMED, 0);
	gang.q[0] = queue_new(&gang.host->dev[0], 3, 0);
	expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(d.opcode));
	t3_dev_detach(gang.host->dev[0].dev);
	t3_fabric_free(fabric);
	host_free(gang.host);
}

/* ---------------------------------------------------------------- good runs */

/* Each program on two and four devices, and mirrored: what the native simulator counts. */
static void test_programs(void **state)
{
	uint32_t program, ranks;

	(void)state;
	for (ranks = 2; ranks <= 4; ranks += 2)
		for (program = 0; program < T3_TIMED_PROGRAMS; program++) {
			struct t3_timed_setup setup = run_small(ranks, program);
			struct gang gang = gang_new(T3_TOPOLOGY_FULL, ranks);
			struct native native = natively(&setup);
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
			assert_memory_equal(&result.counters, &native.counters[0],
					    sizeof(result.counters));
			host_free(gang.host);
		}
}

/* However little is done at a time, and with other work in between. */
static void test_cuts(void **state)
{
	static const uint32_t budgets[] = { 1, 2, 1025, 4096, EVENTS };
	struct t3_timed_setup setup = run_small(3, T3_TIMED_T3_MCA_AG);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	uint32_t i, steps;

	(void)state;
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
static void test_last_one(void **state)
{
	struct t3_timed_setup setup = run_small(3, T3_TIMED_T3);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	uint32_t last, i;

	(void)state;
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
static void test_crossed(void **state)
{
	struct t3_timed_setup a = run_small(2, T3_TIMED_T3), b = run_small(2, T3_TIMED_SEQUENTIAL);
	struct native native_a = natively(&a), native_b = natively(&b);
	struct run run_a = run_of(&a), run_b = run_of(&b);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue other[2];
	uint32_t i;

	(void)state;
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
		expect_result(i ? &other[1] : &gang.q[0], 0, &native_a, i, 0);
		expect_result(i ? &gang.q[1] : &other[0], 0, &native_b, i, 0);
	}
	host_free(gang.host);
}

/* One after the other, also when each could run alone. */
static void test_one_at_a_time(void **state)
{
	struct run run = mirrored_run();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue second = queue_new(&gang.host->dev[0], 1, 3);
	struct t3_queue_info info;
	uint64_t end, a, b;

	(void)state;
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

/* Whoever has runs without end does not keep others from theirs. */
static void test_fair(void **state)
{
	struct run run = mirrored_run(), of_all = small_run(2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue third = queue_new(&gang.host->dev[1], 9, 0);
	uint32_t i, before;

	(void)state;
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

/* A queue that waits or runs does not hold the engine. */
static void test_engine_free(void **state)
{
	struct t3_timed_setup setup = timed_small(512, 512, 256, 2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue other = queue_new(&gang.host->dev[0], 1, 0);
	struct t3_descriptor nop = queue_nop();
	struct run run;

	(void)state;
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
static void test_clock_moves(void **state)
{
	struct t3_timed_setup setup = timed_small(512, 512, 256, 4);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct native native;
	struct run run;
	uint64_t before;
	uint32_t moved = 0;

	(void)state;
	setup.program = T3_TIMED_T3_MCA;
	native = natively(&setup);
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
	expect_result(&gang.q[0], 0, &native, 0, 0);
	host_free(gang.host);
}

/* --------------------------------------------------------------- HOST_PACED */

enum touch { READS, STORE, DOORBELL, TAIL, ADMIN, INJECT, PENDING, TOUCHES };

static void touch(struct host_dev *d, enum touch how)
{
	struct t3_cmd_queue cmd = { .queue = 5 };

	if (how == READS)
		host_get(d, T3_REG_VCLOCK, 8);
	else if (how == STORE)
		t3_dev_aperture_write(d->dev, 0, 1, 4);
	else if (how == DOORBELL)
		host_doorbell(d, 0, T3_DB_ARM, 1, 4);
	else if (how == TAIL)
		host_set(d, T3_REG_QUEUE_TAIL + 4 * 7, 0, 4);
	else if (how == ADMIN)
		host_command(d, T3_CMD_QUEUE_QUERY, &cmd, sizeof(cmd));
	else if (how == INJECT)
		host_inject(d->host->fabric, 1, 0, T3_INJECT_DROP, 1000);
	else
		host_set(d, T3_REG_QUEUE_PENDING, 1, 4);
}

static void test_host_paced(void **state)
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	enum touch how;

	(void)state;
	for (how = READS; how < TOUCHES; how++) {
		bool paced = how != READS && how != PENDING;
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

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

/* ------------------------------------------------------------- early ends */

enum leave { ABORT, DESTROY, RESET, DETACH, LEAVES };

static void leave(struct gang *gang, uint32_t rank, enum leave how)
{
	struct host_dev *d = &gang->host->dev[rank];

	if (how == ABORT) {
		queue_abort(&gang->q[rank]);
	} else if (how == DESTROY) {
		queue_destroy(&gang->q[rank]);
	} else if (how == RESET) {
		t3_dev_reset(d->dev);
	} else {
		t3_dev_detach(d->dev);
		host_attach(gang->host, rank);
	}
	if (how != ABORT)
		gang->q[rank] = queue_new(d, 3, 0);
}

/* In the middle of a run, and while rank 2 is still awaited. */
static void test_leave(void **state)
{
	struct t3_timed_setup setup = run_small(3, T3_TIMED_T3_MCA);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	enum leave how;
	uint32_t i;

	(void)state;
	for (how = ABORT; how < LEAVES; how++) {
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);

		t3_fabric_set_inline_budget(gang.host->fabric, 0);
		gang_submit(&gang, &run);
		t3_fabric_run(gang.host->fabric, 9);
		leave(&gang, 1, how);
		host_drain(gang.host);
		for (i = 0; i < 3; i += 2) {
			queue_expect(&gang.q[i], 0, T3_DESC_GANG, 1);
			assert_true(run_untouched(&gang.q[i]));
			queue_abort(&gang.q[i]);
		}
		if (how == ABORT)
			queue_expect(&gang.q[1], 0, T3_DESC_ABORTED, 0);
		gang.index[0] = run_submit(&gang.q[0], &run);
		gang.index[1] = run_submit(&gang.q[1], &run);
		host_drain(gang.host);
		leave(&gang, 1, how);
		gang.index[2] = run_submit(&gang.q[2], &run);
		host_drain(gang.host);
		gang.index[1] = run_submit(&gang.q[1], &run);
		host_drain(gang.host);
		gang_expect(&gang, &native, 0);
		host_free(gang.host);
	}
}

/* While a device is reset its peers do nothing: the host may reset them next. */
static void test_reset_is_quiet(void **state)
{
	struct run run = small_run(2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	(void)state;
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 5);
	t3_dev_reset(gang.host->dev[0].dev);
	assert_null(t3_fabric_check(gang.host->fabric));
	assert_int_equal(queue_completion(&gang.q[1], 0)->word, 0);
	host_migrate(gang.host, 0); /* in between */
	host_drain(gang.host);
	queue_expect(&gang.q[1], 0, T3_DESC_GANG, 0);
	host_free(gang.host);
}

/* A device that is reset marks the run of another rank alone. */
static void test_reset_beside(void **state)
{
	struct run run = mirrored_run();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	(void)state;
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	run_submit(&gang.q[0], &run);
	t3_fabric_run(gang.host->fabric, 5);
	t3_dev_reset(gang.host->dev[1].dev);
	host_drain(gang.host);
	queue_expect(&gang.q[0], 0, T3_DESC_OK, 0);
	assert_int_equal(run_result(&gang.q[0]).flags, T3_TIMED_HOST_PACED);
	host_free(gang.host);
}

/* A store that waits for room on a link does not run the model meanwhile. */
static void test_store_waits(void **state)
{
	struct t3_timed_setup setup = timed_small(512, 512, 256, 2);
	struct host *host = host_ring(2);
	struct queue q = queue_new(&host->dev[1], 3, 0);
	struct t3_cmd_seg_map map = host_segment(1, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct run run = run_of(&setup);
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++)
		host_space(&host->dev[i], 1);
	host_connect(&host->dev[0], &host->dev[1], 1);
	host_local(&host->dev[1], 1, 0);
	map.updates = T3_MAX_UPDATES;
	host_map(&host->dev[0], &map);
	for (i = 0; i < 2; i++)
		host_arm(&host->dev[i], 1, 1);
	host_drain(host);
	host_expect(&host->dev[0], 1, T3_SPACE_ARMED, 1);
	t3_fabric_set_inline_budget(host->fabric, 0);
	run_submit(&q, &run);
	t3_fabric_run(host->fabric, 4);
	for (i = 0; i < 200; i++)
		host_store(&host->dev[0], 1, 0, 1, 4);
	assert_int_equal(queue_head(&q), 0);
	host_drain(host);
	assert_int_equal(queue_head(&q), 1);
	host_free(host);
}

/* A rank's other queue takes the seat that one leaves while the gang is gathered. */
static void test_reset_with_two(void **state)
{
	struct run run = mirrored_run();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue second = queue_new(&gang.host->dev[0], 5, 0);

	(void)state;
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	run_submit(&gang.q[0], &run);
	run_submit(&second, &run);
	run_submit(&gang.q[1], &run);
	t3_fabric_run(gang.host->fabric, 6);
	t3_dev_reset(gang.host->dev[0].dev);
	host_drain(gang.host);
	assert_true(run_untouched(&second));
	queue_expect(&gang.q[1], 0, T3_DESC_OK, 0);
	host_free(gang.host);
}

/* An overrun stops the queue, not the others' run; ABORT completes its descriptor. */
static void test_overrun(void **state)
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	(void)state;
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 5);
	gang.q[0].tail += QUEUE_ENTRIES + 1;
	queue_ring(&gang.q[0]);
	host_drain(gang.host);
	expect_result(&gang.q[1], 0, &native, 1, T3_TIMED_HOST_PACED);
	assert_true(run_untouched(&gang.q[0]));
	queue_expect_state(&gang.q[0], T3_QUEUE_ERROR, 0, T3_DESC_OVERRUN);
	run_submit(&gang.q[1], &run); /* it is no member of the next */
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[1]), 1);
	queue_abort(&gang.q[0]);
	queue_expect(&gang.q[0], 0, T3_DESC_ABORTED, 0);
	host_free(gang.host);
}

/* A doorbell that is taken back, and given again. */
static void test_tail_back(void **state)
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	(void)state;
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 5);
	gang.q[0].tail = 0;
	queue_ring(&gang.q[0]);
	host_drain(gang.host);
	expect_result(&gang.q[1], 0, &native, 1, T3_TIMED_HOST_PACED);
	queue_expect_state(&gang.q[0], T3_QUEUE_READY, 0, T3_DESC_OK);
	assert_null(t3_fabric_check(gang.host->fabric));
	gang.index[1] = run_submit(&gang.q[1], &run);
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[1]), 1);
	gang.q[0].tail = 1;
	queue_ring(&gang.q[0]);
	host_drain(gang.host);
	gang_expect(&gang, &native, 0);
	host_free(gang.host);
}

static void test_hung(void **state)
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct t3_cmd_inject hang = { .kind = T3_INJECT_HANG_QUEUE, .peer = 3 };

	(void)state;
	gang.index[0] = run_submit(&gang.q[0], &run);
	assert_int_equal(t3_fabric_inject(gang.host->fabric, &hang), T3_ADMIN_OK);
	gang.index[1] = run_submit(&gang.q[1], &run);
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[1]), 0);
	hang.kind = T3_INJECT_UNHANG_QUEUE;
	assert_int_equal(t3_fabric_inject(gang.host->fabric, &hang), T3_ADMIN_OK);
	host_drain(gang.host);
	gang_expect(&gang, &native, 0);
	host_free(gang.host);
}

/* ---------------------------------------------------------------- migration */

/* At each of many moments: gathering, running, all over. */
static void test_migrate(void **state)
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = natively(&setup);
	struct run run = run_of(&setup);
	uint32_t moment, i;

	(void)state;
	for (moment = 0; moment < 60; moment += 3) {
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
		uint64_t before;

		t3_fabric_set_inline_budget(gang.host->fabric, 0);
		gang_submit(&gang, &run);
		for (i = 0; i < moment; i++)
			t3_fabric_run(gang.host->fabric, 1);
		before = t3_fabric_now(gang.host->fabric);
		host_migrate(gang.host, 0);
		while (t3_fabric_run(gang.host->fabric, 1))
			assert_true(t3_fabric_now(gang.host->fabric) >= before);
		gang_expect(&gang, &native, 0);
		host_free(gang.host);
	}
}

/* A state that was loaded replaces a run that goes on. */
static void test_load_over(void **state)
{
	struct t3_timed_setup a = run_small(2, T3_TIMED_T3), b = run_small(2, T3_TIMED_SEQUENTIAL);
	struct native native = natively(&a);
	struct run run_a = run_of(&a), run_b = run_of(&b);
	struct gang from = gang_new(T3_TOPOLOGY_RING, 2), to = gang_new(T3_TOPOLOGY_RING, 2);
	uint32_t i;

	(void)state;
	t3_fabric_set_inline_budget(from.host->fabric, 0);
	t3_fabric_set_inline_budget(to.host->fabric, 0);
	gang_submit(&from, &run_a);
	gang_submit(&to, &run_b);
	t3_fabric_run(from.host->fabric, 7);
	t3_fabric_run(to.host->fabric, 9);
	for (i = 0; i < 2; i++)
		memcpy(to.host->dev[i].data, from.host->dev[i].data, HOST_DATA_SIZE);
	host_copy(to.host, from.host);
	host_drain(to.host);
	gang_expect(&to, &native, 0);
	host_free(from.host);
	host_free(to.host);
}

/* A device's state that is refused ends its part in a run, and no more. */
static void test_load_refused(void **state)
{
	struct run run = mirrored_run(), of_all = small_run(2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	uint32_t how;

	(void)state;
	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	for (how = 0; how < 3; how++) {
		if (how < 2)
			run_submit(&gang.q[how], &run);
		else
			gang_submit(&gang, &of_all);
		t3_fabric_run(gang.host->fabric, 6);
		assert_non_null(t3_dev_load(gang.host->dev[0].dev, "junk", 4));
		host_drain(gang.host);
		assert_null(t3_fabric_check(gang.host->fabric));
		gang.q[0] = queue_new(&gang.host->dev[0], 3, 0);
	}
	queue_expect(&gang.q[1], 0, T3_DESC_OK, 0);
	assert_int_equal(queue_head(&gang.q[1]), 1); /* the one of all waits again */
	host_free(gang.host);
}

/* A fabric whose clock is old begins no more runs, so its state can be saved. */
static void test_old_clock(void **state)
{
	struct run run = mirrored_run();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 1);
	struct blobs blobs;
	uint64_t old = 1ull << 61, place;

	(void)state;
	blobs_save(&blobs, gang.host);
	for (place = 0; place + 8 <= blobs.part[1].len; place++)
		if (!memcmp(blobs.part[1].data + place, &(uint64_t){ 0x1122334455667788ull }, 8))
			break;
	memcpy(blobs.part[1].data + place + 8, &old, 8);
	assert_null(blobs_load(&blobs, gang.host, 0));
	assert_int_equal(t3_fabric_now(gang.host->fabric), old);
	blobs_free(&blobs);
	expect_refused(&gang.q[0], &run, T3_DESC_BAD_RANGE, old);
	host_free(gang.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_fields),     cmocka_unit_test(test_params),
		cmocka_unit_test(test_addresses),      cmocka_unit_test(test_result_lost),
		cmocka_unit_test(test_not_allowed),    cmocka_unit_test(test_programs),
		cmocka_unit_test(test_cuts),	       cmocka_unit_test(test_last_one),
		cmocka_unit_test(test_crossed),	       cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_engine_free),    cmocka_unit_test(test_clock_moves),
		cmocka_unit_test(test_host_paced),     cmocka_unit_test(test_leave),
		cmocka_unit_test(test_reset_with_two), cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_hung),	       cmocka_unit_test(test_fair),
		cmocka_unit_test(test_reset_is_quiet), cmocka_unit_test(test_reset_beside),
		cmocka_unit_test(test_store_waits),    cmocka_unit_test(test_load_refused),
		cmocka_unit_test(test_old_clock),      cmocka_unit_test(test_tail_back),
		cmocka_unit_test(test_migrate),	       cmocka_unit_test(test_load_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
