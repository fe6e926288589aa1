/* SPDX-License-Identifier: MIT */
/*
 * GEMMs that produce into spaces: each element is an update, which counts, triggers, is
 * sent. With a reduce-scatter over a ring as its consumer, stopped and copied anywhere.
 */
#include "gemm.h"
#include "migrate.h"
#include "ref.h"
#include "test.h"

#define SPACE 1u
#define RANKS 4u
#define ROWS  12u /* of the output; a chunk has ROWS / RANKS */
#define COLS  22u
#define DEPTH 9u
#define PITCH 96u

/* --------------------------------------------------------------------- ring */

struct ring_gemm {
	struct host *host;
	struct queue q[RANKS];
	struct gemm x[RANKS];
	uint32_t dtype;
};

static void make_space(struct host_dev *d)
{
	struct t3_cmd_space_create cmd = host_space_args(SPACE);

	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

/* Chunk c starts at rank c + 1, and ends at rank c. Tiles of 2 rows of 5 elements. */
static struct t3_cmd_seg_map chunk_map(uint32_t dtype, uint32_t rank, uint32_t chunk)
{
	uint32_t kind = rank == chunk		      ? T3_SEG_LOCAL
			: rank == (chunk + 1) % RANKS ? T3_SEG_REMOTE
						      : T3_SEG_DMA;
	struct t3_cmd_seg_map map = host_segment(SPACE, chunk, kind, T3_OP_ADD, dtype);

	map.updates = kind == T3_SEG_REMOTE ? 1 : 2;
	map.offset = chunk * (ROWS / RANKS) * PITCH;
	map.rows = ROWS / RANKS;
	map.row_bytes = COLS * ref_size(dtype);
	map.pitch = PITCH;
	map.tile_rows = 2;
	map.tile_row_bytes = 5 * ref_size(dtype);
	map.counter_base = chunk * 32;
	return map;
}

static void map_ring(const struct ring_gemm *ring)
{
	uint32_t r, c;

	for (r = 0; r < RANKS; r++)
		make_space(&ring->host->dev[r]);
	for (r = 0; r < RANKS; r++)
		host_connect(&ring->host->dev[r], &ring->host->dev[(r + 1) % RANKS], SPACE);
	for (r = 0; r < RANKS; r++)
		for (c = 0; c < RANKS; c++) {
			struct t3_cmd_seg_map map = chunk_map(ring->dtype, r, c);

			host_map(&ring->host->dev[r], &map);
		}
	for (r = 0; r < RANKS; r++)
		host_arm(&ring->host->dev[r], SPACE, 1);
	host_drain(ring->host);
}

/* Rank r's order: chunk r - 1 down to r. The tiles of its kernel are not the tracker's. */
static struct gemm rank_gemm(struct host_dev *d, uint32_t dtype, uint32_t rank)
{
	struct gemm x = gemm_new(dtype, ROWS, COLS, DEPTH);

	x.d.dst_kind = T3_LOC_SPACE;
	x.d.dst = 0;
	x.d.dst_pitch = PITCH;
	x.d.space = SPACE;
	x.d.generation = host_query(d, SPACE).generation;
	x.g.chunk_rows = ROWS / RANKS;
	x.g.first_chunk = (rank + RANKS - 1) % RANKS;
	x.g.group_rows = 2;
	x.g.group_columns = 12;
	x.g.tile_rows = 1;
	x.g.tile_columns = 8;
	x.g.raster_rows = 2;
	return x;
}

static struct ring_gemm ring_new(uint32_t dtype)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 4, 2, T3_KEYS_FABRIC };
	struct ring_gemm ring = { .host = host_new(&config), .dtype = dtype };
	uint64_t random = 99;
	uint32_t r;

	map_ring(&ring);
	t3_fabric_set_inline_budget(ring.host->fabric, 0);
	for (r = 0; r < RANKS; r++) {
		struct host_dev *d = &ring.host->dev[r];

		ring.x[r] = rank_gemm(d, dtype, r);
		gemm_fill(d, &ring.x[r], &random, GEMM_SMALL);
		ring.q[r] = queue_new(d, r, 0);
		gemm_submit(&ring.q[r], &ring.x[r]);
	}
	return ring;
}

/* Small integers: exact in any order. */
static uint32_t sum_of(const struct ring_gemm *ring, struct host *host, uint32_t row, uint32_t col)
{
	uint32_t sum = 0, r;

	for (r = 0; r < RANKS; r++)
		sum = ref_apply(ring->dtype, T3_OP_ADD, sum,
				gemm_element(&host->dev[r], &ring->x[r], row, col));
	return sum;
}

static void expect_scattered(const struct ring_gemm *ring, struct host *host)
{
	uint32_t size = ref_size(ring->dtype), row, col, value;

	for (row = 0; row < ROWS; row++)
		for (col = 0; col < COLS; col++) {
			struct host_dev *owner = &host->dev[row / (ROWS / RANKS)];

			value = 0;
			memcpy(&value, host_buffer(owner, SPACE) + row * PITCH + col * size, size);
			assert_int_equal(value, sum_of(ring, host, row, col));
		}
}

static void expect_end(const struct ring_gemm *ring, struct host *host)
{
	uint32_t bytes = ROWS * COLS * ref_size(ring->dtype), r;

	for (r = 0; r < RANKS; r++) {
		struct host_dev *d = &host->dev[r];
		struct queue q = ring->q[r];

		q.d = d;
		queue_expect(&q, 0, T3_DESC_OK, 0);
		host_expect(d, SPACE, T3_SPACE_COMPLETE, 1);
		/* (2 tile rows) x (5 tiles) in each chunk */
		assert_int_equal(host_counter(d, T3_COUNTER_TRIGGERS), RANKS * 2 * 5);
		assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_BYTES), bytes);
		assert_int_equal(host_counter(d, T3_COUNTER_DMA_BYTES),
				 bytes / RANKS * (RANKS - 2));
		assert_int_equal(host_counter(d, T3_COUNTER_FAULTS), 0);
	}
	expect_scattered(ring, host);
}

TEST("products reduce over a ring")
{
	uint32_t dtype;

	for (dtype = 0; dtype < T3_DTYPE_U8; dtype++) {
		struct ring_gemm ring = ring_new(dtype);

		host_drain(ring.host);
		expect_end(&ring, ring.host);
		host_free(ring.host);
	}
}

static void expect_same(struct host *a, struct host *b)
{
	struct blobs first, second;
	uint32_t r;

	assert_int_equal(t3_fabric_now(a->fabric), t3_fabric_now(b->fabric));
	for (r = 0; r < RANKS; r++) {
		assert_memory_equal(a->dev[r].memory, b->dev[r].memory, HOST_MEMORY);
		assert_memory_equal(a->dev[r].data, b->dev[r].data, HOST_DATA_SIZE);
	}
	blobs_save(&first, a);
	blobs_save(&second, b);
	blobs_expect_equal(&first, &second);
	blobs_free(&first);
	blobs_free(&second);
}

/* One runs through. Another is copied from time to time, and the copy ends with the same result. */
TEST("a copy on the way ends with the same result")
{
	struct ring_gemm whole = ring_new(T3_DTYPE_F16), step = ring_new(T3_DTYPE_F16);
	uint32_t copies = 0, events = 1;
	bool more = true;

	host_drain(whole.host);
	for (; more; copies++) {
		struct host *copy = host_clone(step.host);

		t3_fabric_set_inline_budget(copy->fabric, 0);
		host_drain(copy);
		expect_same(whole.host, copy);
		host_free(copy);
		/* the first steps one by one */
		events = copies < 12 ? 1 : 13;
		more = t3_fabric_run(step.host->fabric, events);
	}
	assert_true(copies > 30);
	expect_end(&whole, whole.host);
	host_free(whole.host);
	host_free(step.host);
}

/* ---------------------------------------------------------------- one device */

/* 12 rows of 88 bytes f32 in one segment of a kind; rank 1 takes what is sent. */
struct pair {
	struct host *host;
	struct host_dev *a, *b;
	struct queue q;
	struct gemm x;
};

static struct t3_cmd_seg_map whole_map(uint32_t kind, uint32_t dtype)
{
	struct t3_cmd_seg_map map = chunk_map(dtype, 0, 0);

	map.kind = (uint8_t)kind;
	map.op = map.init = kind == T3_SEG_REMOTE ? 0 : 1;
	map.target_op = kind == T3_SEG_LOCAL ? 0 : T3_OP_ADD;
	map.routes = kind == T3_SEG_LOCAL ? 0 : 1;
	map.updates = 1;
	map.rows = ROWS;
	return map;
}

static struct pair pair_new(uint32_t kind, uint32_t dtype)
{
	struct pair p = { .host = host_ring(2) };
	struct t3_cmd_seg_map map = whole_map(kind, dtype), local = whole_map(T3_SEG_LOCAL, dtype);
	uint64_t random = 4;

	p.a = &p.host->dev[0];
	p.b = &p.host->dev[1];
	make_space(p.a);
	make_space(p.b);
	host_connect(p.a, p.b, SPACE);
	host_map(p.a, &map);
	host_map(p.b, &local);
	host_arm(p.b, SPACE, 1);
	host_arm(p.a, SPACE, 1);
	host_drain(p.host);
	p.q = queue_new(p.a, 0, 0);
	p.x = rank_gemm(p.a, T3_DTYPE_F32, 0);
	gemm_fill(p.a, &p.x, &random, GEMM_ROUNDED);
	return p;
}

TEST("products go into segments of each kind")
{
	uint32_t kind;

	for (kind = T3_SEG_LOCAL; kind <= T3_SEG_DMA; kind++) {
		struct pair p = pair_new(kind, T3_DTYPE_F32);

		gemm_submit(&p.q, &p.x);
		host_drain(p.host);
		queue_expect(&p.q, 0, T3_DESC_OK, 0);
		host_expect(p.a, SPACE, T3_SPACE_COMPLETE, 1);
		if (kind != T3_SEG_REMOTE)
			gemm_expect(p.a, &p.x, host_buffer(p.a, SPACE));
		if (kind != T3_SEG_LOCAL)
			gemm_expect(p.a, &p.x, host_buffer(p.b, SPACE));
		host_free(p.host);
	}
}

static void expect_failure(struct pair *p, uint32_t status, uint64_t detail)
{
	uint32_t index = gemm_submit(&p->q, &p->x);

	host_drain(p->host);
	queue_expect(&p->q, index, status, detail);
	queue_expect_state(&p->q, T3_QUEUE_ERROR, index + 1, status);
	queue_abort(&p->q);
}

/* The space is not affected: it takes the right product afterwards. */
TEST("another type than the segment's is refused")
{
	struct pair p = pair_new(T3_SEG_LOCAL, T3_DTYPE_F32);

	p.x.d.dtype = T3_DTYPE_I32;
	expect_failure(&p, T3_DESC_DTYPE, 0);
	host_expect(p.a, SPACE, T3_SPACE_ARMED, 1);
	p.x.d.dtype = T3_DTYPE_F32;
	gemm_submit(&p.q, &p.x);
	host_drain(p.host);
	host_expect(p.a, SPACE, T3_SPACE_COMPLETE, 1);
	gemm_expect(p.a, &p.x, host_buffer(p.a, SPACE));
	host_free(p.host);
}

/* Not begun: wrong space, generation, state. Faults while it stores. */
TEST("a product into a wrong space is refused")
{
	struct pair p = pair_new(T3_SEG_LOCAL, T3_DTYPE_F32);

	p.x.d.space = 2;
	expect_failure(&p, T3_DESC_SPACE, T3_SPACE_FREE);
	p.x.d.space = SPACE;
	p.x.d.generation++;
	expect_failure(&p, T3_DESC_SPACE, T3_SPACE_ARMED);
	p.x.d.generation--;
	p.x.d.dst = 4; /* the row's last element is padding */
	expect_failure(&p, T3_DESC_FAULT, T3_FAULT_UNMAPPED);
	assert_int_equal(host_state(p.a, SPACE), T3_SPACE_FAULTED);
	p.x.d.dst = 0;
	expect_failure(&p, T3_DESC_SPACE, T3_SPACE_FAULTED);
	host_free(p.host);
}

TEST("a product that overshoots fails")
{
	struct pair p = pair_new(T3_SEG_LOCAL, T3_DTYPE_F32);

	host_store(p.a, SPACE, 3 * PITCH, 0x3f800000, 4); /* rank 0's first row but for chunk 3 */
	expect_failure(&p, T3_DESC_FAULT, T3_FAULT_OVERSHOOT);
	host_free(p.host);
}

/* The space is reset, or disabled, at any of its events, and while it sleeps for a link. */
TEST("a space that goes ends the product")
{
	uint32_t kind, down, events, state_then;

	for (kind = T3_SEG_LOCAL; kind <= T3_SEG_REMOTE; kind++)
		for (down = 0; down < 2; down++)
			for (events = 2; events < 80; events += 11) {
				struct pair p = pair_new(kind, T3_DTYPE_F32);

				t3_fabric_set_inline_budget(p.host->fabric, 0);
				if (down)
					host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
				gemm_submit(&p.q, &p.x);
				t3_fabric_run(p.host->fabric, events);
				host_space_command(
					p.a, events % 2 ? T3_CMD_SPACE_RESET : T3_CMD_SPACE_DISABLE,
					SPACE);
				state_then = host_query(p.a, SPACE).state;
				host_drain(p.host);
				queue_expect(&p.q, 0, T3_DESC_SPACE, state_then);
				host_free(p.host);
			}
}

/* A link that is down for a while, and one that loses packets, only delay it. */
TEST("a slow or lossy link only delays")
{
	struct pair p = pair_new(T3_SEG_REMOTE, T3_DTYPE_F32);

	t3_fabric_set_inline_budget(p.host->fabric, 0);
	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	host_inject(p.host->fabric, 0, 1, T3_INJECT_DROP, 3);
	gemm_submit(&p.q, &p.x);
	while (host_query(p.a, SPACE).in_flight < 56) /* the other slots are the CPU's */
		assert_true(t3_fabric_run(p.host->fabric, 1));
	host_inject(p.host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 0);
	host_drain(p.host);
	queue_expect(&p.q, 0, T3_DESC_OK, 0);
	host_expect(p.b, SPACE, T3_SPACE_COMPLETE, 1);
	gemm_expect(p.a, &p.x, host_buffer(p.b, SPACE));
	host_free(p.host);
}
