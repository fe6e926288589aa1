/* SPDX-License-Identifier: MIT */
/*
 * Packets that travel in bursts, against the same ones alone (SPEC.md section 6.1). Rank 0 sends tiles
 * of one shape into a segment of another one at rank 1, which may refuse some. On the second host's
 * link a fault is injected that never comes, so it has no bursts. Bits, counts and faults must be the
 * same. Poison is there from the start: later it would hit what is a matter of time.
 */
#include "ops.h"
#include "ref.h"
#include "rewind.h"
#include "world.h"

#define SPACE	  0u
#define NEVER	  0xffffffffu
#define STEPS_MAX 256u
#define BYTES_MAX 0x8000u /* of a segment */
#define TILES_MAX 256u

struct run {
	struct stream *in;
	struct host *host[2]; /* with bursts, and without */
	struct t3_cmd_seg_map from, to;
	bool sent[TILES_MAX];
};

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

static uint32_t tiles(const struct t3_cmd_seg_map *map)
{
	return ceil_div(map->rows, map->tile_rows) * ceil_div(map->row_bytes, map->tile_row_bytes);
}

static uint32_t below(struct stream *in, uint32_t bound)
{
	return stream_u16(in) % bound;
}

/* Whole elements of 4 bytes; not more bytes or tiles than there is room for. */
static void read_geometry(struct stream *in, struct t3_cmd_seg_map *map)
{
	map->rows = 1 + below(in, 64);
	map->row_bytes = 4 * (1 + below(in, BYTES_MAX / 4 / map->rows));
	map->pitch = map->row_bytes + 4 * below(in, 64);
	if (map->pitch * map->rows > BYTES_MAX)
		map->pitch = map->row_bytes;
	map->tile_rows = 1 + below(in, map->rows);
	map->tile_row_bytes = 4 * (1 + below(in, map->row_bytes / 4));
	if (tiles(map) > TILES_MAX)
		map->tile_row_bytes = map->row_bytes;
}

/* Half of the inputs have one shape on both ranks, so that nothing is refused. */
static void read_shape(struct run *run)
{
	uint32_t what = stream_u8(run->in), op = what & 1 ? T3_OP_STORE : T3_OP_ADD;

	run->from = host_segment(SPACE, 0, what & 2 ? T3_SEG_DMA : T3_SEG_REMOTE, op, T3_DTYPE_I32);
	read_geometry(run->in, &run->from);
	if (what & 2)
		run->from.block_tiles = what >> 2 & 3;
	run->to = run->from;
	run->to.kind = T3_SEG_LOCAL;
	run->to.op = (uint8_t)op;
	run->to.routes = run->to.target_op = 0;
	run->to.block_tiles = 0;
	if (what & 0x10)
		return;
	read_geometry(run->in, &run->to);
	run->to.updates = 1 + (what >> 5 & 1);
	run->from.target_row = below(run->in, 4);
	run->from.target_col = 4 * below(run->in, 4);
}

/* In the memory of one rank's segment, or of the staging slot. */
static void read_poison(struct run *run)
{
	uint32_t what = stream_u8(run->in), place = stream_u16(run->in), i;
	uint64_t address = (what & 1 ? HOST_STAGING : 0) +
			   place % (BYTES_MAX / T3_POISON_GRANULE) * T3_POISON_GRANULE;

	for (i = 0; i < 2 && what & 2; i++)
		host_poison(&run->host[i]->dev[what >> 2 & 1], address, T3_POISON_GRANULE);
}

static void build(struct run *run, struct host *host)
{
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_staging staging = {
		.space = SPACE, .address = HOST_STAGING, .slot_stride = BYTES_MAX, .slots = 1
	};
	uint32_t i;

	host_space(a, SPACE);
	host_space(b, SPACE);
	host_connect(a, b, SPACE);
	host_map(a, &run->from);
	host_map(b, &run->to);
	assert_int_equal(host_command(a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
			 T3_ADMIN_OK);
	for (i = 0; i < BYTES_MAX / 4; i++)
		memcpy(a->memory + HOST_STAGING + (size_t)4 * i, &(uint32_t){ i * 7 + 1 }, 4);
	host_arm(b, SPACE, 1);
	host_arm(a, SPACE, 1);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
}

static void tile(struct run *run)
{
	uint32_t first = stream_u8(run->in), count = 1 + stream_u8(run->in), i;

	for (; count-- && first < tiles(&run->from); first++) {
		for (i = 0; i < 2 && !run->sent[first]; i++)
			host_tile(&run->host[i]->dev[0], SPACE, 0, 0, first);
		run->sent[first] = true;
	}
}

static void events(struct run *run)
{
	uint32_t count = stream_u8(run->in), i;

	for (i = 0; i < 2; i++)
		t3_fabric_run(run->host[i]->fabric, count);
}

static void same_counters(const struct run *run, uint32_t rank)
{
	const uint64_t *a = t3_dev_counters(run->host[0]->dev[rank].dev);
	const uint64_t *b = t3_dev_counters(run->host[1]->dev[rank].dev);
	uint32_t i;

	for (i = 0; i < T3_COUNTER_COUNT; i++)
		if (a[i] != b[i])
			fail_msg("rank %u, %s: %llu and %llu", rank, t3_name_counter(i),
				 (unsigned long long)a[i], (unsigned long long)b[i]);
}

/* Which block is on a list when the next one gets ready is a matter of time. */
static void same_record(const struct host_dev *a, const struct host_dev *b, uint32_t tile)
{
	struct t3_tile_record x, y;

	memcpy(&x, a->memory + HOST_COUNTERS + tile * sizeof(x), sizeof(x));
	memcpy(&y, b->memory + HOST_COUNTERS + tile * sizeof(y), sizeof(y));
	x.next = y.next;
	assert_memory_equal(&x, &y, sizeof(x));
}

static struct t3_fault_record fault_of(struct host *host)
{
	struct t3_fault_record fault = host_area(&host->dev[0], SPACE)->fault;

	fault.vtime = 0;
	return fault;
}

static bool either_first(const struct t3_fault_record *poison, const struct t3_fault_record *nak)
{
	return poison->kind == T3_FAULT_POISON && nak->kind == T3_FAULT_REJECTED;
}

/*
 * The update that is refused first is no matter of time. How much rank 0 sends before it knows is: so
 * it may meet poison under a later tile first, and rank 1 may be complete, or fault by what came.
 */
static void same_refusal(const struct run *run)
{
	struct t3_fault_record a = fault_of(run->host[0]), b = fault_of(run->host[1]);

	if (!either_first(&a, &b) && !either_first(&b, &a))
		assert_memory_equal(&a, &b, sizeof(a));
}

static void same(const struct run *run)
{
	uint32_t state[2] = { host_state(&run->host[0]->dev[0], SPACE),
			      host_state(&run->host[1]->dev[0], SPACE) };
	uint32_t rank, i;

	assert_int_equal(state[0], state[1]);
	same_refusal(run);
	for (rank = 0; rank < 2 && state[0] != T3_SPACE_FAULTED; rank++) {
		struct host_dev *d[2] = { &run->host[0]->dev[rank], &run->host[1]->dev[rank] };

		assert_int_equal(host_state(d[0], SPACE), host_state(d[1], SPACE));
		same_counters(run, rank);
		assert_memory_equal(d[0]->memory, d[1]->memory, BYTES_MAX);
		for (i = 0; i < TILES_MAX; i++)
			same_record(d[0], d[1], i);
	}
}

static void (*const operations[OP_BURSTS_COUNT])(struct run *) = {
	[OP_BURSTS_TILE] = tile,
	[OP_BURSTS_EVENTS] = events,
};

static void one(struct stream *in, struct host *host)
{
	static struct host *pool[2];
	static struct run run;
	uint32_t i, steps;

	(void)host;
	memset(&run, 0, sizeof(run));
	run.in = in;
	read_shape(&run);
	for (i = 0; i < 2; i++) {
		if (!pool[i])
			pool[i] = host_ring(2);
		run.host[i] = pool[i];
		build(&run, run.host[i]);
	}
	assert_true(host_inject(run.host[1]->fabric, 0, 1, T3_INJECT_DROP, NEVER));
	read_poison(&run);
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++)
		operations[stream_u8(in) % OP_BURSTS_COUNT](&run);
	for (i = 0; i < 2; i++)
		host_drain(run.host[i]);
	same(&run);
	for (i = 0; i < 2; i++) {
		world_check(run.host[i]);
		t3_fabric_set_inline_budget(run.host[i]->fabric, T3_INLINE_BUDGET);
		rewind_host(run.host[i]);
		if (!getenv("T3_FUZZ_TWICE"))
			continue;
		rewind_expect_clear(run.host[i]);
		host_free(run.host[i]);
		pool[i] = NULL;
	}
}

const struct fuzz_target fuzz_target = { .one = one, .alone = true };
