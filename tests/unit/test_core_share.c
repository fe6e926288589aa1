/* SPDX-License-Identifier: MIT */
/* Fair shares of a device's engine among clients. SPEC.md 8.2. */
#include "queue.h"
#include "queue/queue.h"
#include "test.h"

#define FREE (HOST_DATA + QUEUE_BUS)

/* Units of work: SPEC.md 8.2. */
#define STEP	  3500u
#define HOST	  1600u /* a piece of host memory */
#define STORE	  1600u
#define PACKET	  6400u
#define START	  (STEP + HOST)
#define COMPLETE  (2 * HOST)
#define BYTE	  4u				  /* a byte that is moved */
#define PIECE	  (STEP + 4096 * BYTE + COMPLETE) /* most of a copy's step */
#define MOST_STEP 300000u

static struct queue queue_of(struct host_dev *d, uint32_t id, uint32_t client)
{
	struct t3_cmd_queue_create cmd = queue_args(id, 0);

	cmd.client = client;
	return queue_with(d, &cmd);
}

/* As much work as a ring holds: each descriptor `rows` rows of `bytes` bytes. */
static void keep_busy(struct queue *q, uint32_t rows, uint32_t bytes)
{
	struct t3_descriptor copy = queue_copy(0x200000, 0x300000, bytes);
	uint32_t i;

	copy.rows = rows;
	copy.src_pitch = copy.dst_pitch = rows > 1 ? bytes : 0;
	for (i = 0; i < QUEUE_ENTRIES; i++)
		queue_submit(q, &copy);
}

static uint64_t served(const struct queue *q, uint32_t count)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		sum += queue_query(&q[i]).served;
	return sum;
}

/* One queue against 63, at each step. */
TEST("more queues do not multiply a share")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q[T3_MAX_QUEUES];
	uint32_t i;

	for (i = 0; i < T3_MAX_QUEUES; i++) {
		struct t3_cmd_queue_create cmd = queue_args(i, 0);

		/* All rings are in the same memory, because nobody reads the completions. */
		cmd.ring = HOST_DATA;
		cmd.completions = HOST_DATA + 0x10000;
		cmd.client = i == 40;
		q[i] = queue_with(d, &cmd);
		q[i].ring = 0;
		keep_busy(&q[i], 16, 4096);
	}
	for (i = 0; i < 500; i++) {
		uint64_t honest = queue_query(&q[40]).served, all;

		all = host_counter(d, T3_COUNTER_ENGINE_WORK);
		assert_in_range(2 * honest, all > 2 * PIECE ? all - 2 * PIECE : 0, all + 2 * PIECE);
		assert_true(t3_fabric_run(host->fabric, 1));
	}
	assert_true(queue_query(&q[40]).served > 800000);
	assert_int_equal(served(q, T3_MAX_QUEUES), host_counter(d, T3_COUNTER_ENGINE_WORK));
	host_free(host);
}

/* The bytes of a step make no difference: a client with small steps is served more often. */
TEST("shares are of work")
{
	static const uint32_t bytes[] = { 1, 64, 1024, 4096 };
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q[4];
	uint32_t i, step;

	for (i = 0; i < 4; i++) {
		q[i] = queue_of(d, i, i * 85); /* 0 .. 255 */
		keep_busy(&q[i], i < 2 ? 4096 : 64, bytes[i]);
	}
	for (step = 0; step < 4000; step++)
		t3_fabric_run(host->fabric, 1);
	for (i = 1; i < 4; i++)
		assert_in_range(queue_query(&q[i]).served, queue_query(&q[0]).served - 2 * PIECE,
				queue_query(&q[0]).served + 2 * PIECE);
	host_free(host);
}

/* A client that has been idle for long gets its share from now on, and no more. */
TEST("idle time is not saved")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue early = queue_of(d, 0, 1), late = queue_of(d, 1, 2);
	uint64_t before;
	uint32_t i;

	keep_busy(&early, 64, 4096);
	for (i = 0; i < 500; i++)
		t3_fabric_run(host->fabric, 1);
	before = queue_query(&early).served;
	keep_busy(&late, 64, 4096);
	for (i = 0; i < 400; i++)
		t3_fabric_run(host->fabric, 1);
	assert_in_range(queue_query(&early).served - before, queue_query(&late).served - 2 * PIECE,
			queue_query(&late).served + 2 * PIECE);
	host_free(host);
}

/* A client's own queues take turns, too, also a queue that is made later. */
TEST("a client's own queues take turns")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		q[i] = queue_of(d, i, i == 3 ? 8 : 7);
		keep_busy(&q[i], 64, 4096);
	}
	for (i = 0; i < 600; i++)
		t3_fabric_run(host->fabric, 1);
	for (i = 1; i < 3; i++)
		assert_in_range(queue_query(&q[i]).served, queue_query(&q[0]).served - 2 * PIECE,
				queue_query(&q[0]).served + 2 * PIECE);
	assert_in_range(queue_query(&q[3]).served, served(q, 3) - 2 * PIECE,
			served(q, 3) + 2 * PIECE);
	host_free(host);
}

/* A GEMM's step is the largest one, and counts as such. */
TEST("a product is work")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct t3_gemm args = {
		.a = 0x200000,
		.b = 0x210000,
		.a_pitch = 2048,
		.b_pitch = 128,
		.depth = 512,
		.chunk_rows = 32,
		.group_rows = 32,
		.group_columns = 32,
		.tile_rows = 32,
		.tile_columns = 32,
		.raster_rows = 1,
	};
	struct t3_descriptor gemm = {
		.opcode = T3_DESC_GEMM,
		.dtype = T3_DTYPE_F32,
		.src_kind = T3_LOC_HOST,
		.rows = 32,
		.row_bytes = 128,
		.src = FREE,
		.dst = 0x300000,
		.dst_pitch = 128,
	};
	struct queue math = queue_of(d, 0, 1), copy = queue_of(d, 1, 2);
	uint32_t i;

	memcpy(d->data + QUEUE_BUS, &args, sizeof(args));
	for (i = 0; i < QUEUE_ENTRIES; i++)
		queue_submit(&math, &gemm);
	keep_busy(&copy, 64, 4096);
	while (queue_head(&math) < 2) {
		uint64_t before = queue_query(&math).served, step;

		t3_fabric_run(host->fabric, 1);
		step = queue_query(&math).served - before;
		assert_true(step <= MOST_STEP);
		assert_in_range(queue_query(&copy).served + MOST_STEP, queue_query(&math).served,
				queue_query(&math).served + 2 * MOST_STEP);
	}
	queue_expect(&math, 0, T3_DESC_OK, 0);
	assert_true(queue_query(&math).served > 2 * 4 * 32 * 32 * 512);
	host_free(host);
}

/* ---------------------------------------------------------------- what is charged */

/* The descriptor's cost from its start to its completion. */
static uint64_t cost_of(struct queue *q, const struct t3_descriptor *descriptor)
{
	uint64_t before = queue_query(q).served;
	uint32_t index = queue_submit(q, descriptor);

	host_drain(q->d->host);
	queue_expect(q, index, T3_DESC_OK, 0);
	return queue_query(q).served - before;
}

TEST("a move costs what it moves")
{
	static const struct {
		uint32_t op, dtype, byte;
	} updates[] = {
		{ T3_OP_STORE, T3_DTYPE_F16, 4 }, { T3_OP_ADD, T3_DTYPE_I32, 4 },
		{ T3_OP_MAX, T3_DTYPE_F32, 4 },	  { T3_OP_ADD, T3_DTYPE_F16, 11 },
		{ T3_OP_MIN, T3_DTYPE_BF16, 5 },  { T3_OP_STORE, T3_DTYPE_U8, 4 },
		{ T3_OP_ADD, T3_DTYPE_F64, 4 },	  { T3_OP_MUL, T3_DTYPE_I64, 4 },
	};
	struct host *host = host_paused(2);
	struct queue q = queue_of(&host->dev[0], 0, 1);
	struct t3_descriptor nop = queue_nop(), copy = queue_copy(0x200000, 0x300000, 100);
	struct t3_descriptor update;
	size_t i;

	assert_int_equal(cost_of(&q, &nop), START + COMPLETE);
	assert_int_equal(cost_of(&q, &copy), START + STEP + 100 * BYTE + COMPLETE);
	copy.row_bytes = 2; /* a short row costs as much as any other step */
	copy.rows = 7;
	copy.src_pitch = copy.dst_pitch = 16;
	assert_int_equal(cost_of(&q, &copy), START + 7 * (STEP + 2 * BYTE) + COMPLETE);
	copy = queue_copy(0x200000, FREE, 4097);
	copy.src_kind = T3_LOC_HOST;
	assert_int_equal(cost_of(&q, &copy), START + 2 * (STEP + HOST) + 4097 * BYTE + COMPLETE);
	copy = queue_copy(FREE, FREE, 8);
	copy.src_kind = copy.dst_kind = T3_LOC_HOST;
	assert_int_equal(cost_of(&q, &copy), START + STEP + 2 * HOST + 8 * BYTE + COMPLETE);
	for (i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
		update = queue_update(0x200000, 0x300000, 4096, updates[i].op, updates[i].dtype);
		assert_int_equal(cost_of(&q, &update),
				 START + STEP + 4096 * updates[i].byte + COMPLETE);
	}
	host_free(host);
}

/* Into space 0, whose segment 0 has two tiles in a row of 16 bytes. */
TEST("a store of a queue costs what it touches")
{
	struct t3_cmd_seg_map remote = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_descriptor copy = queue_copy(0, 0x300000, 16);
	struct host *host = host_pair(&remote, NULL, 1);
	struct queue q = queue_of(&host->dev[1], 0, 1);

	copy.dst_kind = T3_LOC_SPACE;
	copy.generation = host_query(&host->dev[1], 0).generation;
	assert_int_equal(cost_of(&q, &copy), START + 2 * (STEP + STORE) + 16 * BYTE + COMPLETE);
	q = queue_of(&host->dev[0], 0, 1);
	copy.dst = 16; /* another row: rank 1 has had one update of the first */
	copy.generation = host_query(&host->dev[0], 0).generation;
	assert_int_equal(cost_of(&q, &copy),
			 START + 2 * (STEP + STORE + PACKET) + 16 * BYTE + COMPLETE);
	host_free(host);
}

/* Parameters of rows x columns x depth in one tile, at FREE. */
static struct t3_descriptor gemm_of(struct host_dev *d, uint32_t dtype, uint32_t rows,
				    uint32_t columns, uint32_t depth)
{
	uint32_t size = dtype == T3_DTYPE_I32 || dtype == T3_DTYPE_F32 ? 4 : 2;
	struct t3_gemm args = {
		.a = 0x200000,
		.b = 0x280000,
		.a_pitch = rows > 1 ? depth * size : 0,
		.b_pitch = depth > 1 ? columns * size : 0,
		.depth = depth,
		.chunk_rows = rows,
		.group_rows = rows,
		.group_columns = columns,
		.tile_rows = rows,
		.tile_columns = columns,
		.raster_rows = 1,
	};

	memcpy(d->data + QUEUE_BUS, &args, sizeof(args));
	return (struct t3_descriptor){
		.opcode = T3_DESC_GEMM,
		.dtype = dtype,
		.src_kind = T3_LOC_HOST,
		.rows = rows,
		.row_bytes = columns * size,
		.src = FREE,
		.dst = 0x300000,
		.dst_pitch = rows > 1 ? columns * size : 0,
	};
}

static const struct {
	uint32_t a, b, sum;
} elements[] = {
	[T3_DTYPE_I32] = { 32, 2, 4 },
	[T3_DTYPE_F32] = { 64, 2, 72 },
	[T3_DTYPE_F16] = { 72, 4, 10 },
	[T3_DTYPE_BF16] = { 48, 3, 7 },
};

/* 3 x 5, of which a row is padded to 8 sums: one slice of 7, then three stores. */
TEST("a product costs its padded sums and stores")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_of(d, 0, 1);
	uint32_t dtype;

	for (dtype = T3_DTYPE_I32; dtype <= T3_DTYPE_BF16; dtype++) {
		struct t3_descriptor gemm = gemm_of(d, dtype, 3, 5, 7);
		uint32_t slice =
			7 * (128 + 5 * elements[dtype].b + 3 * (elements[dtype].a + 8 * 4));

		assert_int_equal(cost_of(&q, &gemm), START + HOST + STEP + slice +
							     3 * (STEP + 5 * elements[dtype].sum) +
							     COMPLETE);
	}
	host_free(host);
}

/* A step is bounded by what it costs, whatever the type and the shape. */
TEST("steps are bounded by their cost")
{
	static const uint32_t shapes[][2] = { { 1, 256 }, { 4, 256 }, { 32, 32 }, { 128, 8 } };
	uint32_t dtype, most, i;

	for (dtype = T3_DTYPE_I32; dtype <= T3_DTYPE_BF16; dtype++)
		for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
			struct host *host = host_paused(2);
			struct queue q = queue_of(&host->dev[0], 0, 1);
			struct t3_descriptor gemm =
				gemm_of(&host->dev[0], dtype, shapes[i][0], shapes[i][1], 512);
			uint64_t before;

			queue_submit(&q, &gemm);
			for (most = 0; queue_head(&q) == 0;) {
				before = queue_query(&q).served;
				assert_true(t3_fabric_run(host->fabric, 1) || queue_head(&q));
				before = queue_query(&q).served - before;
				most = before > most ? (uint32_t)before : most;
			}
			assert_in_range(most, MOST_STEP / 2, MOST_STEP);
			host_free(host);
		}
}

/* ------------------------------------------------------------------------ accesses */

/* Jobs of another client are pending, of one rank or both. They stand still while the CPU stores. */
static void flood(struct host *host)
{
	uint32_t rank, i;

	t3_fabric_set_inline_budget(host->fabric, 0);
	for (rank = 0; rank < 2; rank++) {
		struct queue q = queue_of(&host->dev[rank], 1, 2);
		struct t3_descriptor copy = queue_copy(0x280000, 0x380000, 0x40000);

		for (i = 0; i < QUEUE_ENTRIES; i++)
			queue_submit(&q, &copy);
	}
	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
}

/* Without an access, which would run jobs. */
static uint64_t all_work(const struct host *host)
{
	return host->dev[0].dev->counter[T3_COUNTER_ENGINE_WORK] +
	       host->dev[1].dev->counter[T3_COUNTER_ENGINE_WORK];
}

/* Each tile's last store runs the events that it causes, but no jobs. */
TEST("a store runs no jobs")
{
	struct host *host = host_ring(2);
	struct host_dev *d = &host->dev[0];

	host_space(d, 0);
	host_local(d, 0, 0);
	host_arm(d, 0, 1);
	flood(host);
	host_fill(d, 0, 0, 3);
	assert_int_equal(all_work(host), 0);
	host_expect(d, 0, T3_SPACE_COMPLETE, 1);
	host_drain(host);
	assert_true(all_work(host) > 2 * QUEUE_ENTRIES * 0x40000);
	host_free(host);
}

/* The link's slots are in use again and again. A store that waits for one waits for no job. */
TEST("a store waits for no jobs")
{
	struct t3_cmd_seg_map remote = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map local = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host;
	uint32_t i;

	remote.rows = local.rows = 64;
	host = host_pair(&remote, &local, 1);
	flood(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (i = 0; i < 64 * 16; i += 4)
		host_store(&host->dev[0], 0, i, 1, 4);
	assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_LINK_TX_PACKETS), 64 * 16 / 4);
	assert_int_equal(all_work(host), 0);
	host_drain(host);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	assert_true(all_work(host) > 2 * QUEUE_ENTRIES * 0x40000);
	host_free(host);
}

/*
 * A client with short jobs does not wait for the long ones of others at each job. Its ring would be
 * empty before the next one. The work of one access is bounded.
 */
TEST("an access does not wait for others")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue flood = queue_of(d, 0, 1), own = queue_of(d, 1, 2);
	struct t3_descriptor copy = queue_copy(0x280000, 0x380000, 0x80000);
	uint64_t before, all;
	uint32_t i;

	keep_busy(&flood, 128, 4096);
	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	before = d->dev->counter[T3_COUNTER_ENGINE_WORK];
	queue_submit(&own, &copy);
	all = d->dev->counter[T3_COUNTER_ENGINE_WORK] - before;
	assert_in_range(all, 1, T3_BUSY_BUDGET * 4096 + MOST_STEP);
	for (i = 1; i < QUEUE_ENTRIES / 2; i++)
		queue_submit(&own, &copy);
	assert_true(own.tail - t3_queues(d->dev)->queue[own.id].head >= QUEUE_ENTRIES / 4);
	host_drain(host);
	queue_expect_state(&own, T3_QUEUE_READY, own.tail, 0);
	host_free(host);
}

/* Alone it has its work done at once. */
TEST("an access drains its client's own work")
{
	struct host *host = host_ring(2);
	struct queue own = queue_of(&host->dev[0], 1, 2);
	struct t3_descriptor copy = queue_copy(0x280000, 0x380000, 0x80000);

	queue_submit(&own, &copy);
	assert_int_equal(t3_queues(host->dev[0].dev)->queue[own.id].head, 1);
	queue_submit(&own, &copy);
	assert_int_equal(t3_queues(host->dev[0].dev)->queue[own.id].head, 2);
	host_free(host);
}

/* A function reset clears the shares of all clients. */
TEST("a reset clears all shares")
{
	struct host *host = host_paused(2);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_of(d, 0, 255);

	keep_busy(&q, 16, 4096);
	host_drain(host);
	assert_true(t3_queues(d->dev)->engine_share.end[255] > 0);
	t3_dev_reset(d->dev);
	assert_int_equal(t3_queues(d->dev)->engine_share.end[255], 0);
	assert_int_equal(host_counter(d, T3_COUNTER_ENGINE_WORK), 0);
	host_free(host);
}
