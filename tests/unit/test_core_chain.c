/* SPDX-License-Identifier: MIT */
/*
 * Whole collectives without any action of software between the first store and the last arrival.
 * They are compared with a plain sum or copy, on lossy links and with small event budgets.
 */
#include "ref.h"
#include "host.h"
#include "test.h"

#define ROWS	  5u /* of a chunk: ragged, with padding, 3 x 2 tiles */
#define ROW_BYTES 24u
#define PITCH	  32u
#define FIRST	  1u /* space of the first phase; its buffer is the second's too */
#define SECOND	  2u
#define EPOCHS	  2u

struct job {
	struct host *host;
	uint32_t dtype;
	uint64_t random;
	uint32_t space; /* where contributions go */
	uint32_t epoch;
	uint32_t stores; /* since the links were last empty */
};

/* --------------------------------------------------------------- producing */

static struct t3_cmd_seg_map chunk_of(const struct job *job, uint32_t space, uint32_t chunk,
				      uint32_t kind, uint32_t op)
{
	struct t3_cmd_seg_map map = host_segment(space, chunk, kind, op, job->dtype);

	map.rows = ROWS;
	map.row_bytes = ROW_BYTES;
	map.pitch = PITCH;
	map.tile_row_bytes = 16;
	return map;
}

static int value_of(const struct job *job, uint32_t rank, uint32_t chunk, uint32_t row,
		    uint32_t col, uint32_t k)
{
	return (int)((rank * 7 + chunk * 5 + row * 3 + col + k * 11 + job->epoch) % 7) - 3;
}

static uint32_t bits_of(const struct job *job, int value)
{
	if (ref_size(job->dtype) == 1)
		return (uint32_t)value & 0xff;
	return ref_small(job->dtype, value);
}

/*
 * A store to a REMOTE segment never waits, so leave room on the links. A lost response holds a
 * replay slot although later packets are answered. So count stores.
 */
static void make_room(struct job *job)
{
	if (++job->stores < 40)
		return;
	host_drain(job->host);
	job->stores = 0;
}

static void store_chunk(struct job *job, uint32_t rank, uint32_t chunk, uint32_t k)
{
	uint32_t size = ref_size(job->dtype), row, col;

	for (row = 0; row < ROWS; row++)
		for (col = 0; col < ROW_BYTES; col += size) {
			int value = value_of(job, rank, chunk, row, col, k);

			make_room(job);
			host_store(&job->host->dev[rank], job->space,
				   chunk * 0x400 + row * PITCH + col, bits_of(job, value), size);
		}
}

static void stage_chunk(const struct job *job, uint32_t rank, uint32_t chunk)
{
	struct host_dev *d = &job->host->dev[rank];
	uint8_t *slot = host_slot(d, job->space, chunk, 0);
	uint32_t size = ref_size(job->dtype), row, col, tile;

	for (row = 0; row < ROWS; row++)
		for (col = 0; col < ROW_BYTES; col += size) {
			uint32_t bits = bits_of(job, value_of(job, rank, chunk, row, col, 0));

			memcpy(slot + row * PITCH + col, &bits, size);
		}
	for (tile = 0; tile < 6; tile++)
		host_tile(d, job->space, chunk, 0, tile);
}

/* ---------------------------------------------------------------- expecting */

static void expect_element(const struct job *job, uint32_t rank, uint32_t chunk, uint32_t row,
			   uint32_t col, int value)
{
	uint32_t size = ref_size(job->dtype), got = 0;
	const uint8_t *buffer = host_buffer(&job->host->dev[rank], FIRST);

	memcpy(&got, buffer + chunk * 0x400 + row * PITCH + col, size);
	assert_int_equal(got, bits_of(job, value));
}

/* `chunk` at `rank` holds what all ranks (or `source` alone) gave `updates` times. */
static void expect_chunk(const struct job *job, uint32_t rank, uint32_t place, uint32_t chunk,
			 uint32_t source, uint32_t updates)
{
	uint32_t row, col, r, k;

	for (row = 0; row < ROWS; row++)
		for (col = 0; col < ROW_BYTES; col += ref_size(job->dtype)) {
			int sum = 0;

			for (r = 0; r < job->host->ranks; r++)
				for (k = 0; k < updates; k++)
					if (source == HOST_NONE32 || source == r)
						sum += value_of(job, r, chunk, row, col, k);
			expect_element(job, rank, place, row, col, sum);
		}
}

static void expect_clean(const struct job *job, bool lossy)
{
	uint64_t repairs = 0;
	uint32_t r;

	for (r = 0; r < job->host->ranks; r++) {
		struct host_dev *d = &job->host->dev[r];

		assert_int_equal(host_counter(d, T3_COUNTER_FAULTS), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_NAKS), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_DROPPED), 0);
		assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
		repairs += host_counter(d, T3_COUNTER_LINK_RETRIES) +
			   host_counter(d, T3_COUNTER_LINK_DUPLICATES);
		/* Buffers and counter tables: every change was reported. */
		assert_memory_equal(d->memory, d->shadow, HOST_STAGING);
	}
	assert_int_equal(repairs != 0, lossy);
}

/* ------------------------------------------------------------------- epochs */

static void arm(struct job *job, uint32_t epoch, uint32_t spaces)
{
	uint32_t r, s;

	job->epoch = epoch;
	for (s = FIRST; s < FIRST + spaces; s++)
		for (r = 0; r < job->host->ranks; r++)
			host_arm(&job->host->dev[r], s, epoch);
	host_drain(job->host);
}

static void finish(const struct job *job, uint32_t spaces)
{
	uint32_t r, s;

	host_drain(job->host);
	for (s = FIRST; s < FIRST + spaces; s++)
		for (r = 0; r < job->host->ranks; r++)
			host_expect(&job->host->dev[r], s, T3_SPACE_COMPLETE, job->epoch);
}

static void release(const struct job *job, uint32_t spaces)
{
	uint32_t r, s;

	for (s = FIRST; s < FIRST + spaces; s++)
		for (r = 0; r < job->host->ranks; r++)
			host_release(&job->host->dev[r], s, job->epoch);
}

/* A few faults on every link, while the epoch runs. */
static void inject_faults(struct job *job)
{
	static const uint32_t kinds[] = { T3_INJECT_DROP, T3_INJECT_DUPLICATE,
					  T3_INJECT_DROP_RESPONSE };
	uint32_t src, dst, i;

	for (src = 0; src < job->host->ranks; src++)
		for (dst = 0; dst < job->host->ranks; dst++)
			for (i = 0; i < 3; i++)
				host_inject(job->host->fabric, src, dst, kinds[i],
					    1 + host_below(&job->random, 40));
}

struct shape {
	uint32_t topology, ranks, entries, ways, budget, dtype;
	bool lossy;
};

static struct job start(const struct shape *shape)
{
	struct host_config config = { shape->topology, shape->ranks, shape->entries, shape->ways,
				      T3_KEYS_FABRIC };
	struct job job = { host_new(&config), shape->dtype, 1 + shape->ranks, FIRST, 0, 0 };

	uint32_t r;

	for (r = 0; r < shape->ranks; r++) {
		job.host->dev[r].shadow = calloc(1, HOST_MEMORY);
		assert_non_null(job.host->dev[r].shadow);
	}
	t3_fabric_set_inline_budget(job.host->fabric, shape->budget);
	return job;
}

static void each_shape(const struct shape *shapes, size_t count,
		       void (*run)(const struct shape *shape, struct job *job))
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct job job = start(&shapes[i]);

		run(&shapes[i], &job);
		expect_clean(&job, shapes[i].lossy);
		host_free(job.host);
	}
}

#define EACH(shapes, run) each_shape(shapes, sizeof(shapes) / sizeof((shapes)[0]), run)

/* ------------------------------- ring reduce-scatter into ring all-gather */

/* The second space lies over the first one's buffer. */
static void create_both(struct host_dev *d)
{
	struct t3_cmd_space_create cmd = host_space_args(SECOND);

	host_space(d, FIRST);
	cmd.buffer = (uint64_t)FIRST * HOST_SPACE_SIZE;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

static void connect_ring(struct host *host)
{
	uint32_t r;

	for (r = 0; r < host->ranks; r++)
		create_both(&host->dev[r]);
	for (r = 0; r < host->ranks; r++) {
		struct host_dev *d = &host->dev[r], *next = &host->dev[(r + 1) % host->ranks];

		host_connect(d, next, FIRST);
		host_route(d, FIRST, 1, next, SECOND, 1);
		host_import(next, SECOND, 1, d, FIRST, HOST_NONE64);
		host_connect(d, next, SECOND);
	}
}

static void map_reduce(const struct job *job, uint32_t rank, uint32_t chunk)
{
	bool first = rank == (chunk + 1) % job->host->ranks, owner = rank == chunk;
	struct t3_cmd_seg_map map =
		chunk_of(job, FIRST, chunk, first ? T3_SEG_REMOTE : T3_SEG_DMA, T3_OP_ADD);

	map.updates = first ? 1 : 2;
	map.block_tiles = first ? 0 : chunk % 4;
	if (owner) {
		map.routes = 1u << 1;
		map.target_op = T3_OP_STORE;
	}
	host_map(&job->host->dev[rank], &map);
}

static void map_gather(const struct job *job, uint32_t rank, uint32_t chunk)
{
	bool last = (rank + 1) % job->host->ranks == chunk;
	struct t3_cmd_seg_map map =
		chunk_of(job, SECOND, chunk, last ? T3_SEG_LOCAL : T3_SEG_DMA, T3_OP_STORE);

	map.init = (rank + chunk) % 2 ? T3_INIT_KEEP : T3_INIT_IDENTITY;
	if (rank != chunk)
		host_map(&job->host->dev[rank], &map);
}

static void all_reduce(const struct shape *shape, struct job *job)
{
	uint32_t n = job->host->ranks, epoch, r, c, i;

	connect_ring(job->host);
	for (r = 0; r < n; r++)
		for (c = 0; c < n; c++) {
			map_reduce(job, r, c);
			map_gather(job, r, c);
		}
	for (epoch = 1; epoch <= EPOCHS; epoch++) {
		arm(job, epoch, 2);
		if (shape->lossy)
			inject_faults(job);
		for (i = 1; i <= n; i++)
			for (r = 0; r < n; r++)
				store_chunk(job, r, (r + n - i) % n, 0);
		finish(job, 2);
		for (r = 0; r < n; r++)
			for (c = 0; c < n; c++)
				expect_chunk(job, r, c, c, HOST_NONE32, 1);
		release(job, 2);
	}
}

TEST("an all-reduce runs without software in between")
{
	static const struct shape shapes[] = {
		{ T3_TOPOLOGY_RING, 2, 256, 8, T3_INLINE_BUDGET, T3_DTYPE_I32, false },
		{ T3_TOPOLOGY_RING, 2, 1, 1, 0, T3_DTYPE_F32, true },
		{ T3_TOPOLOGY_RING, 3, 2, 1, 1, T3_DTYPE_F16, true },
		{ T3_TOPOLOGY_RING, 4, 8, 2, 7, T3_DTYPE_BF16, true },
		{ T3_TOPOLOGY_RING, 5, 16, 4, 0, T3_DTYPE_I32, false },
		{ T3_TOPOLOGY_RING, 8, 64, 8, 1, T3_DTYPE_F32, true },
		{ T3_TOPOLOGY_FULL, 4, 4, 4, 7, T3_DTYPE_I32, true },
		{ T3_TOPOLOGY_RING, 32, 256, 8, T3_INLINE_BUDGET, T3_DTYPE_I32, true },
	};

	EACH(shapes, all_reduce);
}

/* --------------------------------------- direct reduce-scatter, all-to-all */

/* Route p of rank r leads to rank p, import r there. */
static void connect_full(struct host *host)
{
	uint32_t r, p;

	for (r = 0; r < host->ranks; r++)
		host_space(&host->dev[r], FIRST);
	for (r = 0; r < host->ranks; r++)
		for (p = 0; p < host->ranks; p++) {
			if (r == p)
				continue;
			host_route(&host->dev[r], FIRST, p, &host->dev[p], FIRST, r);
			host_import(&host->dev[p], FIRST, r, &host->dev[r], FIRST, HOST_NONE64);
		}
}

/* Each rank gives 64 / ranks (or one, above that) updates to each element: split-K. */
static void direct_reduce(const struct shape *shape, struct job *job)
{
	uint32_t n = job->host->ranks, updates = T3_MAX_UPDATES / n, r, c, k;

	connect_full(job->host);
	for (r = 0; r < n; r++)
		for (c = 0; c < n; c++) {
			struct t3_cmd_seg_map map = chunk_of(
				job, FIRST, c, r == c ? T3_SEG_LOCAL : T3_SEG_REMOTE, T3_OP_ADD);

			map.updates = r == c ? updates * n : updates;
			map.routes = r == c ? 0 : 1u << c;
			host_map(&job->host->dev[r], &map);
		}
	arm(job, 1, 1);
	if (shape->lossy)
		inject_faults(job);
	for (k = 0; k < updates; k++)
		for (r = 0; r < n; r++)
			for (c = 0; c < n; c++)
				store_chunk(job, r, c, k);
	finish(job, 1);
	for (c = 0; c < n; c++) {
		expect_chunk(job, c, c, c, HOST_NONE32, updates);
		assert_int_equal(host_stats(&job->host->dev[c], FIRST, c).remote_bytes,
				 (uint64_t)ROWS * ROW_BYTES * updates * (n - 1));
	}
}

TEST("a direct reduction runs without software in between")
{
	static const struct shape shapes[] = {
		{ T3_TOPOLOGY_FULL, 2, 1, 1, 0, T3_DTYPE_I32, true },
		{ T3_TOPOLOGY_FULL, 4, 8, 8, 1, T3_DTYPE_F32, true },
		{ T3_TOPOLOGY_FULL, 4, 256, 8, 7, T3_DTYPE_F16, false },
		{ T3_TOPOLOGY_FULL, 8, 4, 1, 7, T3_DTYPE_I32, true },
	};

	EACH(shapes, direct_reduce);
}

/* Segment p of rank r is for rank p; it arrives there in segment 32 + r. */
static void all_to_all(const struct shape *shape, struct job *job)
{
	uint32_t n = job->host->ranks, r, p;

	connect_full(job->host);
	for (r = 0; r < n; r++)
		for (p = 0; p < n; p++) {
			struct t3_cmd_seg_map in =
				chunk_of(job, FIRST, 32 + p, T3_SEG_LOCAL, T3_OP_STORE);
			struct t3_cmd_seg_map out =
				chunk_of(job, FIRST, p, T3_SEG_REMOTE, T3_OP_STORE);

			if (r == p)
				continue;
			out.routes = 1u << p;
			out.target_segment = 32 + r;
			host_map(&job->host->dev[r], &in);
			host_map(&job->host->dev[r], &out);
		}
	arm(job, 1, 1);
	if (shape->lossy)
		inject_faults(job);
	for (p = 0; p < n; p++)
		for (r = 0; r < n; r++)
			if (r != p)
				store_chunk(job, r, p, 0);
	finish(job, 1);
	for (r = 0; r < n; r++)
		for (p = 0; p < n; p++)
			if (r != p)
				expect_chunk(job, p, 32 + r, p, r, 1);
}

TEST("an all-to-all runs without software in between")
{
	static const struct shape shapes[] = {
		{ T3_TOPOLOGY_FULL, 2, 8, 8, 0, T3_DTYPE_U8, true },
		{ T3_TOPOLOGY_FULL, 3, 2, 1, 1, T3_DTYPE_I8, true },
		{ T3_TOPOLOGY_FULL, 4, 256, 8, 7, T3_DTYPE_F32, true },
		{ T3_TOPOLOGY_FULL, 8, 256, 8, T3_INLINE_BUDGET, T3_DTYPE_U8, false },
	};

	EACH(shapes, all_to_all);
}

/* ------------------------------------------- all-gather over a route mask */

/* Rank r broadcasts chunk r: REMOTE on even ranks, DMA in blocks on odd ones. */
static void map_broadcast(const struct job *job, uint32_t rank, uint32_t chunk)
{
	uint32_t kind = chunk % 2 ? T3_SEG_DMA : T3_SEG_REMOTE;
	struct t3_cmd_seg_map map =
		chunk_of(job, FIRST, chunk, rank == chunk ? kind : T3_SEG_LOCAL, T3_OP_STORE);

	if (rank == chunk) {
		map.routes = ((1u << job->host->ranks) - 1) & ~(1u << rank);
		map.block_tiles = kind == T3_SEG_DMA ? chunk % 8 : 0;
	}
	host_map(&job->host->dev[rank], &map);
	host_stage(&job->host->dev[rank], FIRST, chunk, 1);
}

static void broadcast(const struct shape *shape, struct job *job)
{
	uint32_t n = job->host->ranks, epoch, r, c;

	connect_full(job->host);
	for (r = 0; r < n; r++)
		for (c = 0; c < n; c++)
			map_broadcast(job, r, c);
	for (epoch = 1; epoch <= EPOCHS; epoch++) {
		arm(job, epoch, 1);
		if (shape->lossy)
			inject_faults(job);
		for (r = 0; r < n; r++)
			if ((r / 2 + epoch) % 2)
				stage_chunk(job, r, r);
			else
				store_chunk(job, r, r, 0);
		finish(job, 1);
		for (r = 0; r < n; r++)
			for (c = 0; c < n; c++)
				if (r != c || c % 2)
					expect_chunk(job, r, c, c, c, 1);
		release(job, 1);
	}
	for (r = 1; r < n; r += 2)
		assert_int_equal(host_stats(&job->host->dev[r], FIRST, r).dma_bytes,
				 (uint64_t)ROWS * ROW_BYTES * EPOCHS * (n - 1));
}

TEST("a broadcast runs without software in between")
{
	static const struct shape shapes[] = {
		{ T3_TOPOLOGY_FULL, 2, 8, 8, 0, T3_DTYPE_U8, true },
		{ T3_TOPOLOGY_FULL, 3, 1, 1, 1, T3_DTYPE_BF16, true },
		{ T3_TOPOLOGY_FULL, 4, 4, 2, 7, T3_DTYPE_I8, true },
		{ T3_TOPOLOGY_FULL, 8, 256, 8, 0, T3_DTYPE_F32, false },
		{ T3_TOPOLOGY_FULL, 8, 256, 8, T3_INLINE_BUDGET, T3_DTYPE_I32, true },
	};

	EACH(shapes, broadcast);
}
