/* SPDX-License-Identifier: MIT */
/*
 * Slices of GEMMs that threads multiply (t3_core.h): all that a guest and a migration can see is
 * as without threads, event by event. Random GEMMs on two devices run on two hosts, one of which
 * has threads, while queues, devices and memory are disturbed in the same way on both. Also built
 * with ThreadSanitizer. T3_SEEDS, T3_SEED as in test_core_property.c.
 */
#include "gemm.h"
#include "migrate.h"
#include "ref.h"
#include "seeds.h"
#include "workers.h"
#include "test.h"

/* With ThreadSanitizer a seed takes eight times as long. It looks at each access of each. */
#ifdef __SANITIZE_THREAD__
#define SEEDS 6u
#else
#define SEEDS 16u
#endif
#define RANKS	2u
#define QUEUES	3u
#define THREADS 2u
#define AREA	0x80000u /* of a queue: A, B, output, in device memory */
#define OPERAND 0x20000u

static struct {
	struct host *host[2]; /* the second one has threads */
	struct queue q[2][RANKS][QUEUES];
	uint64_t random;
} run;

static uint32_t below(uint32_t bound)
{
	return host_below(&run.random, bound);
}

/* Each of the two hosts in turn. */
#define for_both(h) for ((h) = 0; (h) < 2; (h)++)

/* -------------------------------------------------------------------- work */

static uint64_t area_of(uint32_t queue)
{
	return 0x200000u + queue * AREA;
}

/* Mostly of more than one slice. The last of a block is often a small one. */
static struct gemm random_gemm(uint32_t queue)
{
	uint32_t dtype = below(T3_DTYPE_U8);
	uint32_t rows = 1 + below(40), columns = 1 + below(below(4) ? 60 : 280);
	uint32_t most = OPERAND / 4 / (rows > columns ? rows : columns);
	struct gemm x = gemm_new(dtype, rows, columns, 1 + below(most < 700 ? most : 700));

	x.g.a = area_of(queue) + below(8);
	x.g.b = area_of(queue) + OPERAND + 8 + below(8);
	x.d.dst = area_of(queue) + 0x50000 + below(8);
	if (below(2))
		x.g.tile_rows = x.g.group_rows = (uint16_t)(1 + below(rows));
	if (!below(8))
		x.d.dst = x.g.a; /* it changes its own operand */
	return x;
}

/* A copy or an update of what a GEMM of any queue may be reading. */
static struct t3_descriptor random_move(void)
{
	uint64_t from = area_of(below(QUEUES)) + below(OPERAND / 4) * 4;
	uint64_t to = area_of(below(QUEUES)) + below(OPERAND / 4) * 4;
	uint32_t bytes = 4 * (1 + below(8000));

	return below(2) ? queue_copy(to, from, bytes)
			: queue_update(to, from, bytes, T3_OP_ADD, T3_DTYPE_I32);
}

static void submit(uint32_t rank, uint32_t queue)
{
	bool gemm = below(3), full;
	struct gemm x = random_gemm(queue);
	struct t3_descriptor move = random_move();
	uint32_t h;

	full = run.q[0][rank][queue].tail - queue_head(&run.q[0][rank][queue]) == QUEUE_ENTRIES;
	for_both(h)
	{
		struct queue *q = &run.q[h][rank][queue];

		if (full)
			continue;
		if (gemm)
			gemm_submit(q, &x);
		else
			queue_submit(q, &move);
	}
}

/* -------------------------------------------------------------- disturbance */

static void new_queues(uint32_t rank)
{
	uint32_t h, i;

	for_both(h)
	{
		memset(run.host[h]->dev[rank].data, 0, HOST_DATA_SIZE);
		for (i = 0; i < QUEUES; i++)
			run.q[h][rank][i] =
				queue_new(&run.host[h]->dev[rank], i * 13, (rank + i) % 2);
	}
}

static void replace_queue(struct queue *q, bool destroy)
{
	if (destroy) {
		queue_destroy(q);
		*q = queue_new(q->d, q->id, 1);
	} else {
		queue_abort(q);
	}
}

/* What a processor stores to device memory, which the device does not see. */
static void scribble(struct host_dev *d, uint64_t random)
{
	uint32_t i;

	for (i = 0; i < 64; i++) {
		uint64_t bits = host_random(&random);

		memcpy(d->memory + area_of((uint32_t)(bits % QUEUES)) + bits % OPERAND, &bits, 8);
	}
}

/* A granule is poisoned, or none is. There is a limit to how many there are. */
static void poison(struct host *host, uint32_t rank, bool on, uint64_t at)
{
	struct t3_cmd_inject what = { .kind = T3_INJECT_UNPOISON, .rank = rank };
	uint32_t status;

	if (on) {
		what.kind = T3_INJECT_POISON;
		what.address = at / T3_POISON_GRANULE * T3_POISON_GRANULE;
		what.value = T3_POISON_GRANULE;
	}
	status = t3_fabric_inject(host->fabric, &what);
	assert_true(status == T3_ADMIN_OK || status == T3_ADMIN_NO_RESOURCE);
}

static void hang(struct host *host, uint32_t rank, uint32_t queue, bool on)
{
	struct t3_cmd_inject what = { .rank = rank, .peer = queue };

	what.kind = on ? T3_INJECT_HANG_QUEUE : T3_INJECT_UNHANG_QUEUE;
	assert_int_equal(t3_fabric_inject(host->fabric, &what), T3_ADMIN_OK);
}

static void leave_and_return(struct host *host, uint32_t rank, bool replaced)
{
	if (replaced) {
		host_replace(host, rank, false);
		return;
	}
	t3_dev_detach(host->dev[rank].dev);
	host_attach(host, rank);
}

static void disturb(void)
{
	uint32_t rank = below(RANKS), queue = below(QUEUES), what = below(16), h;
	uint64_t random = host_random(&run.random), at = area_of(queue) + random % OPERAND;
	bool all = what >= 14;

	for_both(h)
	{
		struct host_dev *d = &run.host[h]->dev[rank];

		if (what < 4)
			scribble(d, random);
		else if (what < 8)
			replace_queue(&run.q[h][rank][queue], what < 6);
		else if (what < 12)
			poison(run.host[h], rank, what < 10, at);
		else if (what < 14)
			hang(run.host[h], rank, queue * 13, what < 13);
		else if (what == 14)
			t3_dev_reset(d->dev);
		else
			leave_and_return(run.host[h], rank, random % 2);
	}
	if (all)
		new_queues(rank);
}

/* --------------------------------------------------------------- comparison */

static void compare_states(void)
{
	struct blobs blobs[2];
	uint32_t h;

	for_both(h)
	{
		assert_null(t3_fabric_check(run.host[h]->fabric));
		blobs_save(&blobs[h], run.host[h]);
	}
	blobs_expect_equal(&blobs[0], &blobs[1]);
	for_both(h)
	{
		blobs_free(&blobs[h]);
	}
}

static void compare(void)
{
	uint32_t rank;

	assert_int_equal(t3_fabric_now(run.host[0]->fabric), t3_fabric_now(run.host[1]->fabric));
	for (rank = 0; rank < RANKS; rank++) {
		struct host_dev *a = &run.host[0]->dev[rank], *b = &run.host[1]->dev[rank];

		assert_memory_equal(a->memory, b->memory, HOST_MEMORY);
		assert_memory_equal(a->data, b->data, HOST_DATA_SIZE);
		assert_memory_equal(t3_dev_counters(a->dev), t3_dev_counters(b->dev),
				    T3_COUNTER_COUNT * sizeof(uint64_t));
	}
}

static void migrate(void)
{
	uint32_t h, rank, i;

	for_both(h)
	{
		host_migrate(run.host[h], 0);
		for (rank = 0; rank < RANKS; rank++)
			for (i = 0; i < QUEUES; i++)
				run.q[h][rank][i].d = &run.host[h]->dev[rank];
	}
}

static void one_step(void)
{
	uint32_t events = 1 + below(below(4) ? 8 : 200);
	bool left = workers_run(run.host[0], events);

	assert_int_equal(workers_run(run.host[1], events), left);
	if (!below(3))
		submit(below(RANKS), below(QUEUES));
	if (!below(30))
		disturb();
	if (!below(20))
		compare_states();
	if (!below(100))
		compare();
	if (!below(200))
		migrate();
}

static void one_seed(uint64_t seed)
{
	uint32_t h, i, rank;

	run.random = seed * 0x9e3779b97f4a7c15ull;
	for_both(h)
	{
		host_clear(run.host[h]);
		t3_fabric_set_inline_budget(run.host[h]->fabric, 0);
		for (rank = 0; rank < RANKS; rank++)
			scribble(&run.host[h]->dev[rank], seed + 1);
	}
	for (rank = 0; rank < RANKS; rank++)
		new_queues(rank);
	for (i = 0; i < 300; i++)
		one_step();
	while (t3_fabric_run(run.host[0]->fabric, 1000))
		;
	while (workers_run(run.host[1], 1000))
		;
	compare_states();
	compare();
}

TEST_WITH("threads give the same as none", NULL, seeds_report)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 256, 8, T3_KEYS_FABRIC };
	uint64_t seed;

	run.host[0] = host_new(&config);
	run.host[1] = host_new_working(&config, THREADS);
	for_each_seed(seed, SEEDS)
	{
		one_seed(seed);
	}
	assert_true(workers_done(run.host[1]) > 0);
	host_free(run.host[0]);
	host_free(run.host[1]);
}

/* ------------------------------------------------------------ single threads */

/* Begin a GEMM whose slices nobody does, up to the event that needs one. */
static struct queue begin_held(struct host *host, const struct gemm *x)
{
	struct queue q = queue_new(&host->dev[0], 3, 0);
	uint64_t random = 7;
	uint32_t rank, i;

	gemm_fill(&host->dev[0], x, &random, GEMM_SMALL);
	workers_hold(host, true);
	t3_fabric_set_inline_budget(host->fabric, 0);
	gemm_submit(&q, x);
	for (i = 0; i < 20; i++)
		t3_fabric_run(host->fabric, 1);
	assert_true(t3_fabric_awaits(host->fabric, &rank));
	assert_int_equal(rank, 0);
	return q;
}

static struct host *two_devices(void)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 256, 8, T3_KEYS_FABRIC };

	return host_new_working(&config, 1);
}

/* Time stands still, and so does all that comes later, on other devices, too. */
TEST("time stalls until a slice is done")
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 32, 32, 2048);
	struct host *host = two_devices();
	struct queue q = begin_held(host, &x), other = queue_new(&host->dev[1], 3, 0);
	uint64_t now = t3_fabric_now(host->fabric);
	struct t3_descriptor nop = queue_nop();
	uint32_t rank, i;

	queue_submit(&other, &nop);
	for (i = 0; i < 20; i++)
		assert_true(t3_fabric_run(host->fabric, 100));
	assert_true(t3_fabric_awaits(host->fabric, &rank));
	assert_int_equal(rank, 0);
	assert_true(t3_fabric_now(host->fabric) >= now);
	assert_int_equal(queue_head(&q), 0);
	workers_hold(host, false);
	while (workers_run(host, 100))
		;
	assert_false(t3_fabric_awaits(host->fabric, &rank));
	queue_expect(&q, 0, T3_DESC_OK, 0);
	queue_expect(&other, 0, T3_DESC_OK, 0);
	gemm_expect(&host->dev[0], &x, host->dev[0].memory + GEMM_OUTPUT);
	host_free(host);
}

/* A row of 1 KiB, each element of which is a packet if it is REMOTE. */
static void map_row(struct host_dev *d, uint32_t kind)
{
	struct t3_cmd_seg_map map = host_segment(0, 0, kind, T3_OP_STORE, T3_DTYPE_I32);

	map.rows = map.tile_rows = 1;
	map.row_bytes = map.pitch = map.tile_row_bytes = 1024;
	host_map(d, &map);
}

/* A store that waits for room on a link waits for the work of the events before, too. */
TEST("a store that makes room waits for earlier work")
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 32, 32, 2048);
	struct host *host = two_devices();
	struct queue q;
	uint32_t i;

	host_space(&host->dev[0], 0);
	host_space(&host->dev[1], 0);
	host_connect(&host->dev[0], &host->dev[1], 0);
	map_row(&host->dev[0], T3_SEG_REMOTE);
	map_row(&host->dev[1], T3_SEG_LOCAL);
	host_arm(&host->dev[1], 0, 1);
	host_arm(&host->dev[0], 0, 1);
	q = begin_held(host, &x);
	for (i = 0; i < 256; i++)
		host_store(&host->dev[0], 0, i * 4, i + 1, 4);
	workers_hold(host, false);
	while (workers_run(host, 100))
		;
	host_expect(&host->dev[0], 0, T3_SPACE_COMPLETE, 1);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	queue_expect(&q, 0, T3_DESC_OK, 0);
	host_free(host);
}

/* An abort, a reset or an unplug does the work of no slice that has not begun. */
TEST("an aborted slice is not done")
{
	struct gemm x = gemm_new(T3_DTYPE_F32, 32, 32, 2048);
	struct host *host = two_devices();
	struct queue q = begin_held(host, &x);

	queue_abort(&q);
	queue_expect(&q, 0, T3_DESC_ABORTED, 0);
	queue_destroy(&q);
	begin_held(host, &x);
	t3_dev_reset(host->dev[0].dev);
	begin_held(host, &x);
	host_replace(host, 0, false);
	q = begin_held(host, &x);
	workers_hold(host, false);
	while (workers_run(host, 100))
		;
	queue_expect(&q, 0, T3_DESC_OK, 0);
	host_free(host);
}
