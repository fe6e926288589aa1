/* SPDX-License-Identifier: MIT */
/* Timed runs of expert layers on devices: arguments with counts after them. SPEC.md 11.8. */
#include "gang.h"
#include "gang/gang.h"
#include "migrate.h"
#include "nodes.h"
#include "state/state.h"
#include "test.h"

/* clang-format off */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define D(field)     offsetof(struct run, d.field), sizeof(((struct run *)0)->d.field)
#define A(field)     offsetof(struct run, args.field), sizeof(((struct run *)0)->args.field)
#define AT(field)    offsetof(struct run, field)
/* clang-format on */

#define RANKS	4u
#define EXPERTS 8u
#define CELLS	(RANKS * EXPERTS)
#define IN_PAGE 0x20000u /* of device memory, where a test puts arguments */

static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3,
						  T3_TIMED_T3_MCA };

struct layer {
	struct t3_timed_setup setup;
	struct t3_timed_routing routing;
	uint32_t rows[CELLS];
};

static void settle(struct layer *layer)
{
	uint32_t i;

	layer->setup.workload.rows = 0;
	for (i = 0; i < CELLS; i++)
		layer->setup.workload.rows += layer->rows[i];
}

/* Some experts get no rows, others rows of several tiles. */
static void make(struct layer *layer, enum t3_timed_way way, enum t3_timed_program program)
{
	uint32_t i;

	*layer = (struct layer){ .setup = timed_small(1, 96, 40, RANKS) };
	layer->setup.mirrored = false;
	layer->setup.program = program;
	layer->setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
	layer->routing = (struct t3_timed_routing){ way, EXPERTS, layer->rows };
	layer->setup.routing = &layer->routing;
	for (i = 0; i < CELLS; i++)
		layer->rows[i] = i % 5 ? i * 37 % 50 : 0;
	settle(layer);
}

/* Each rank sends as many rows to the same places after it. */
static void make_alike(struct layer *layer, enum t3_timed_way way, enum t3_timed_program program)
{
	uint32_t rank, expert;

	make(layer, way, program);
	for (rank = 0; rank < RANKS; rank++)
		for (expert = 0; expert < EXPERTS; expert++)
			layer->rows[rank * EXPERTS + (expert + rank * EXPERTS / RANKS) % EXPERTS] =
				5 + 11 * expert;
	settle(layer);
	layer->setup.mirrored = true;
}

/* Puts arguments and counts into device memory, from where the descriptor takes them. */
static uint32_t submit_in_memory(struct queue *q, struct run run)
{
	memcpy(q->d->memory + IN_PAGE, &run.args, sizeof(run.args) + sizeof(run.counts));
	run.d.src_kind = T3_LOC_MEMORY;
	run.d.src = IN_PAGE;
	run.d.dst = HOST_DATA + GANG_RESULTS + q->id * GANG_STRIDE;
	return queue_submit(q, &run.d);
}

static void run_layer(struct layer *layer, bool memory)
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	struct native native = run_natively(&layer->setup);
	struct run run = run_of(&layer->setup);
	uint32_t i;

	for (i = 0; i < RANKS; i++)
		gang.index[i] =
			memory ? submit_in_memory(&gang.q[i], run) : run_submit(&gang.q[i], &run);
	host_drain(gang.host);
	gang_expect(&gang, &native, 0);
	for (i = 0; i < RANKS; i++)
		assert_null(t3_gang_request(&t3_queues(gang.host->dev[i].dev)->queue[3])->table);
	host_free(gang.host);
}

TEST("each way and program gives the native simulator's counters")
{
	struct layer layer;
	size_t i;
	int way;

	for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++)
		for (i = 0; i < COUNT(programs); i++) {
			make(&layer, (enum t3_timed_way)way, programs[i]);
			run_layer(&layer, false);
			run_layer(&layer, true);
		}
}

TEST("one device stands for ranks that are alike")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct native native;
	struct layer layer;
	struct run run;
	size_t i;
	int way;

	for (way = T3_TIMED_COMBINE; way <= T3_TIMED_DISPATCH; way++)
		for (i = 0; i < COUNT(programs); i++) {
			uint32_t index;

			make_alike(&layer, (enum t3_timed_way)way, programs[i]);
			run = run_of(&layer.setup);
			native = run_natively(&layer.setup);
			index = run_submit(&gang.q[1], &run);
			host_drain(gang.host);
			run_expect(&gang.q[1], index, &native, 0, 0);
		}
	host_free(gang.host);
}

/* ------------------------------------------------------------------- refused */

static const struct {
	size_t offset, size;
	uint64_t value;
	uint64_t at;
} bad[] = {
	{ D(row_bytes), 4 * CELLS + 1, AT(d.row_bytes) },
	{ D(row_bytes), 65540, AT(d.row_bytes) },
	{ D(row_bytes), 0xfffffffc, AT(d.row_bytes) },
	{ A(program), T3_TIMED_ALONE, AT(args.experts) }, /* without a GEMM */
	{ A(collective), T3_TIMED_COLLECTIVE_ALL_REDUCE, AT(args.experts) },
	{ A(nodes), 2, AT(args.rows) },
	{ D(row_bytes), 4 * CELLS - 4, AT(args.experts) },
	{ D(row_bytes), 4 * CELLS + 4, AT(args.experts) },
	{ D(row_bytes), 0, AT(args.experts) },
	{ A(experts), 0, AT(args.experts) },
	{ A(experts), EXPERTS - RANKS, AT(args.experts) },
	{ A(experts), 0x40000000 + EXPERTS,
	  AT(args.experts) }, /* the same number of bytes in 32 bits */
	{ A(way), T3_TIMED_DISPATCH + 1, AT(args.way) },
	{ A(way), 0xffffffff, AT(args.way) },
	{ A(rows), 1, AT(args.rows) }, /* not the sum */
	{ offsetof(struct run, counts), 4, 0xffffffff, AT(args.rows) },
	{ A(columns), 1u << 24, AT(args.rows) },
	{ A(flags), T3_TIMED_MIRRORED, AT(args.rows) }, /* ranks that are not alike */
};

TEST("each wrong field of an expert layer is refused")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	struct layer layer;
	size_t i;

	make(&layer, T3_TIMED_COMBINE, T3_TIMED_T3);
	for (i = 0; i < COUNT(bad); i++) {
		struct run run = run_of(&layer.setup);

		memcpy((uint8_t *)&run + bad[i].offset, &bad[i].value, bad[i].size);
		run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, bad[i].at);
	}
	host_free(gang.host);
}

TEST("hostile counts are refused as a whole")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	struct layer layer;
	struct run run;
	int fill;

	make(&layer, T3_TIMED_DISPATCH, T3_TIMED_SEQUENTIAL);
	for (fill = 0; fill <= 0xff; fill += 0xff) {
		memset(layer.rows, fill, sizeof(layer.rows));
		run = run_of(&layer.setup);
		run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(args.rows));
	}
	/* The sum is over 2^32. With 2^32 less it would be the rows. */
	memset(layer.rows, 0, sizeof(layer.rows));
	layer.rows[3] = 0x80000000;
	layer.rows[5] = 0x80000010;
	run = run_of(&layer.setup);
	run.args.rows = 0x10;
	run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(args.rows));
	host_free(gang.host);
}

/* A ring lacks the links of an all-to-all. */
TEST("an expert layer of all ranks needs all links")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, RANKS);
	struct layer layer;
	struct run run;

	make(&layer, T3_TIMED_DISPATCH, T3_TIMED_T3);
	run = run_of(&layer.setup);
	run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(args.collective));
	host_free(gang.host);
}

/* The host that runs `t3 sim` has the memory of such a run. A host of devices is asked for less. */
TEST("a guest's routing has the limits of other runs")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	char why[TIMED_WHY];
	struct layer layer;
	struct run run;

	make(&layer, T3_TIMED_COMBINE, T3_TIMED_T3);
	memset(layer.rows, 0, sizeof(layer.rows));
	layer.rows[1] = 1u << 18;
	layer.setup.workload.columns = 8192;
	settle(&layer);
	assert_true(t3_timed_check(&layer.setup, why, sizeof(why)));
	run = run_of(&layer.setup);
	run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_DESCRIPTOR, AT(args.rows));
	layer.setup.guest = true;
	assert_false(t3_timed_check(&layer.setup, why, sizeof(why)));
	host_free(gang.host);
}

/* Entering an all-to-all is one event for all devices, so their windows are limited together. */
TEST("a guest's windows of all devices are limited together")
{
	struct layer layer;
	char why[TIMED_WHY];

	make(&layer, T3_TIMED_DISPATCH, T3_TIMED_SEQUENTIAL);
	timed_param(&layer.setup, "request_bytes", 512);
	timed_param(&layer.setup, "tile_columns", 32);
	timed_param(&layer.setup, "link_queue_kib", 32768);
	assert_true(t3_timed_check(&layer.setup, why, sizeof(why)));
	layer.setup.guest = true;
	assert_true(t3_timed_check(&layer.setup, why, sizeof(why)));
	timed_param(&layer.setup, "link_queue_kib", 32769);
	assert_false(t3_timed_check(&layer.setup, why, sizeof(why)));
}

TEST("counts out of reach fail the run")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	uint64_t end = HOST_DATA + HOST_DATA_SIZE;
	struct layer layer;
	struct run run;
	uint32_t index;

	make(&layer, T3_TIMED_DISPATCH, T3_TIMED_T3);
	run = run_of(&layer.setup);
	/* The arguments are the host's last bytes, and the counts come after them. */
	run.d.src = end - 448;
	memcpy(gang.host->dev[0].data + HOST_DATA_SIZE - 448, &run.args, sizeof(run.args));
	run.d.dst = HOST_DATA;
	index = queue_submit(&gang.q[0], &run.d);
	queue_expect(&gang.q[0], index, T3_DESC_HOST_DMA, end - 448);
	queue_abort(&gang.q[0]);
	run.d.src_kind = T3_LOC_MEMORY;
	run.d.src = HOST_MEMORY - 448;
	index = queue_submit(&gang.q[0], &run.d);
	queue_expect(&gang.q[0], index, T3_DESC_BAD_RANGE, HOST_MEMORY - 448);
	queue_abort(&gang.q[0]);
	host_poison(&gang.host->dev[0], IN_PAGE + 512, 64);
	index = submit_in_memory(&gang.q[0], run_of(&layer.setup));
	queue_expect(&gang.q[0], index, T3_DESC_POISON, IN_PAGE + 512);
	host_free(gang.host);
}

/* ------------------------------------------------------------------ together */

/* Equal arguments with other counts are another gang. */
TEST("ranks with unequal counts do not run together")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	struct native native;
	struct queue other = queue_new(&gang.host->dev[2], 5, 0);
	struct layer layer;
	struct run run, odd;
	uint32_t i;

	make(&layer, T3_TIMED_COMBINE, T3_TIMED_T3);
	run = odd = run_of(&layer.setup);
	odd.counts[1]--;
	odd.counts[CELLS - 1]++;
	for (i = 0; i < RANKS; i++)
		gang.index[i] = run_submit(&gang.q[i], i == 2 ? &odd : &run);
	host_drain(gang.host);
	for (i = 0; i < RANKS; i++)
		assert_int_equal(queue_head(&gang.q[i]), 0);
	native = run_natively(&layer.setup);
	gang.index[2] = run_submit(&other, &run);
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[2]), 0); /* still waits */
	gang.q[2] = other;
	gang_expect(&gang, &native, 0);
	host_free(gang.host);
}

/* Later writes of the program do not count. */
TEST("counts are read once")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	struct native native;
	struct layer layer;
	struct run run;
	uint32_t i;

	make(&layer, T3_TIMED_DISPATCH, T3_TIMED_T3_MCA);
	run = run_of(&layer.setup);
	native = run_natively(&layer.setup);
	for (i = 0; i < RANKS; i++) {
		gang.index[i] = run_submit(&gang.q[i], &run);
		host_drain(gang.host);
		memset(gang.host->dev[i].data + GANG_ARGS + 3 * GANG_STRIDE, 0xff,
		       sizeof(run.args) + run.d.row_bytes);
	}
	gang_expect(&gang, &native, 0);
	host_free(gang.host);
}

/* Comparing the queues of a fabric costs no time, and no memory for each of them. */
TEST("queues with equal counts have one table, which goes with the last of them")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	const struct t3_gang_table *table, *at;
	struct layer layer;
	struct run run;
	uint32_t i;

	make(&layer, T3_TIMED_DISPATCH, T3_TIMED_T3);
	run = run_of(&layer.setup);
	for (i = 0; i + 1 < RANKS; i++)
		run_submit(&gang.q[i], &run);
	host_drain(gang.host);
	table = t3_gang_request(&t3_queues(gang.host->dev[0].dev)->queue[3])->table;
	assert_int_equal(table->users, RANKS - 1);
	for (i = 0; i + 1 < RANKS; i++) {
		at = t3_gang_request(&t3_queues(gang.host->dev[i].dev)->queue[3])->table;
		assert_ptr_equal(at, table);
	}
	t3_dev_function_reset(gang.host->dev[0].dev);
	assert_int_equal(table->users, RANKS - 2);
	host_free(gang.host);
}

/* Each node has the counts of its own ranks, and begins when these are all there. */
TEST("each node computes an expert layer")
{
	struct host_config config = { T3_TOPOLOGY_FULL, RANKS, 256, 8, T3_KEYS_FABRIC };
	struct host *host = nodes_new(&config, 2, 1);
	struct gang gang = gang_of(host);
	struct native native;
	struct layer layer;
	struct run run, odd;
	uint32_t r;

	nodes_connect_all(host);
	make(&layer, T3_TIMED_COMBINE, T3_TIMED_T3_MCA);
	run = odd = run_of(&layer.setup);
	odd.counts[1]--;
	odd.counts[2]++;
	native = run_natively(&layer.setup);
	for (r = 0; r < RANKS; r++)
		gang.index[r] = run_submit(&gang.q[r], r ? &run : &odd);
	nodes_settle(host);
	for (r = 2; r < RANKS; r++)
		run_expect(&gang.q[r], gang.index[r], &native, r, 0);
	assert_int_equal(queue_head(&gang.q[0]), 0); /* rank 1 has other counts */
	assert_int_equal(queue_head(&gang.q[1]), 0);
	gang.q[0] = queue_new(&host->dev[0], 5, 0);
	gang.index[0] = run_submit(&gang.q[0], &run);
	nodes_settle(host);
	for (r = 0; r < 2; r++)
		run_expect(&gang.q[r], gang.index[r], &native, r, 0);
	host_free(host);
}

/* ---------------------------------------------------------------- migration */

/* At each of many moments: gathering, running, all over. */
TEST("an expert layer migrates at any moment")
{
	struct native native;
	struct layer layer;
	uint32_t moment, i;
	struct run run;

	make(&layer, T3_TIMED_DISPATCH, T3_TIMED_T3_MCA);
	run = run_of(&layer.setup);
	native = run_natively(&layer.setup);
	for (moment = 0; moment < 60; moment += 3) {
		struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);

		t3_fabric_set_inline_budget(gang.host->fabric, 0);
		gang_submit(&gang, &run);
		for (i = 0; i < moment; i++)
			t3_fabric_run(gang.host->fabric, 1);
		host_migrate(gang.host, 0);
		while (t3_fabric_run(gang.host->fabric, 1))
			;
		gang_expect(&gang, &native, 0);
		host_free(gang.host);
	}
}

/* Loads the state of rank 0 with other bytes where the counts are. NULL, or why it is refused. */
static const char *load_with(struct gang *gang, const struct run *run, uint32_t value)
{
	struct blobs blobs;
	const char *why;
	size_t at;

	blobs_save(&blobs, gang->host);
	for (at = 0; at + run->d.row_bytes <= blobs.part[0].len; at++)
		if (!memcmp(blobs.part[0].data + at, run->counts, run->d.row_bytes))
			break;
	assert_true(at + run->d.row_bytes <= blobs.part[0].len);
	memcpy(blobs.part[0].data + at + 4, &value, sizeof(value));
	why = blobs_load(&blobs, gang->host, 0);
	blobs_free(&blobs);
	return why;
}

TEST("a saved state with counts that do not fit is refused")
{
	struct gang gang = gang_new(T3_TOPOLOGY_FULL, RANKS);
	struct layer layer;
	struct run run;

	make(&layer, T3_TIMED_COMBINE, T3_TIMED_T3);
	run = run_of(&layer.setup);
	run_submit(&gang.q[0], &run);
	host_drain(gang.host);
	assert_null(load_with(&gang, &run, run.counts[1]));
	assert_string_equal(load_with(&gang, &run, run.counts[1] + 1),
			    "a timed run has bad arguments");
	host_free(gang.host);
}
