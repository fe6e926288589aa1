// SPDX-License-Identifier: MIT
/* SPEC.md 11.7: products, how they are rounded, their parameters, products into a space. */
#include "conf.h"
#include "queue.h"

CONF_SECTION("11.7", "matrix products by a queue");

#define A    0x100000ull
#define B    0x108000ull
#define C    0x110000ull
#define ROWS 5u
#define COLS 6u
#define K    7u

struct gemm {
	struct queue q;
	struct t3_descriptor d;
	volatile struct t3_gemm *g;
};

/* clang-format off */
static const struct {
	const char *name;
	unsigned bytes;
	uint32_t one;		/* 1.0 */
	uint32_t large;		/* a value that 1 + 1 does not change when rounded twice */
	uint32_t sum;		/* in one */
} types[] = {
	[T3_DTYPE_I32] = {"i32", 4, 1, 0x7fffffff, 0x80000001},
	[T3_DTYPE_F32] = {"f32", 4, 0x3f800000, 0x4b800000, 0x4b800000}, /* 2^24: sums are f32 */
	[T3_DTYPE_F16] = {"f16", 2, 0x3c00, 0x6800, 0x6801},
	[T3_DTYPE_BF16] = {"bf16", 2, 0x3f80, 0x4380, 0x4381},
};

static const struct {
	const char *name;
	size_t offset, bytes;
	uint64_t value;
} bads[] = {
#define FIELD(field) offsetof(struct t3_gemm, field), sizeof(((struct t3_gemm *)0)->field)
	{"a-pitch", FIELD(a_pitch), 4 * K - 1},
	{"a-pitch-0", FIELD(a_pitch), 0},
	{"b-pitch", FIELD(b_pitch), 4 * COLS - 1},
	{"b-pitch-0", FIELD(b_pitch), 0},
	{"depth-0", FIELD(depth), 0},
	{"depth-max", FIELD(depth), T3_MAX_DEPTH + 1},
	{"chunk-rows-0", FIELD(chunk_rows), 0},
	{"chunk-rows-6", FIELD(chunk_rows), ROWS + 1},
	{"first-chunk", FIELD(first_chunk), 3},
	{"group-rows-0", FIELD(group_rows), 0},
	{"group-rows-3", FIELD(group_rows), 3},
	{"group-columns-0", FIELD(group_columns), 0},
	{"group-columns-7", FIELD(group_columns), COLS + 1},
	{"tile-rows-0", FIELD(tile_rows), 0},
	{"tile-rows-3", FIELD(tile_rows), 3},
	{"tile-columns-0", FIELD(tile_columns), 0},
	{"tile-columns-5", FIELD(tile_columns), 5},
	{"raster-rows-0", FIELD(raster_rows), 0},
	{"flag-1", FIELD(flags), 2},
	{"flag-15", FIELD(flags), 0x8000},
	{"mbz", FIELD(mbz), 1ull << 63},
#undef FIELD
};
/* clang-format on */

static const char *type_label(unsigned row)
{
	return types[row].name;
}

static const char *bad_label(unsigned row)
{
	return bads[row].name;
}

/* Packed matrices; 3 chunks, of which the second comes first. */
static void prepare(struct conf *c, struct gemm *x, uint32_t dtype, uint32_t rows, uint32_t cols,
		    uint32_t depth)
{
	struct conf_device *d = conf_device(c, 0);
	unsigned bytes = types[dtype].bytes;
	uint64_t iova;

	if (!(conf_reg(d, T3_REG_CAPS) & T3_CAP_GEMM))
		conf_skip(c, "needs CAPS.GEMM");
	queue_create(c, d, &x->q, 0, 0);
	x->g = conf_page(c, &iova);
	*x->g = (struct t3_gemm){ .a = A,
				  .b = B,
				  .a_pitch = rows > 1 ? depth * bytes : 0,
				  .b_pitch = depth > 1 ? cols * bytes : 0,
				  .depth = depth,
				  .chunk_rows = rows > 1 ? 2 : 1,
				  .first_chunk = rows > 1 ? 1 : 0,
				  .group_rows = rows > 1 ? 2 : 1,
				  .group_columns = (uint16_t)(cols > 4 ? 4 : cols),
				  .tile_rows = 1,
				  .tile_columns = 1,
				  .raster_rows = 1 };
	x->d = (struct t3_descriptor){ .opcode = T3_DESC_GEMM,
				       .dtype = (uint8_t)dtype,
				       .src_kind = T3_LOC_HOST,
				       .rows = rows,
				       .row_bytes = cols * bytes,
				       .src = iova,
				       .dst = C,
				       .dst_pitch = rows > 1 ? cols * bytes : 0 };
}

/* A selects rows of B: element (i, k) of A is 1 where k = (i + 1) % K, else 0. */
TEST("a product is right in each type", .rows = ARRAY_SIZE(types), .label = type_label)
{
	unsigned bytes = types[row].bytes;
	struct gemm x;

	prepare(c, &x, row, ROWS, COLS, K);
	conf_memory_fill(x.q.dev, A, 0x1000, 0);
	conf_memory_fill(x.q.dev, C, 0x1000, ~0ull);
	for (uint32_t i = 0; i < ROWS; i++)
		conf_write(x.q.dev->memory, A + (i * K + (i + 1) % K) * bytes, bytes,
			   types[row].one);
	for (uint32_t i = 0; i < K * COLS; i++) /* as floats: positive, normal, different */
		conf_write(x.q.dev->memory, B + i * bytes, bytes, types[row].one + i);
	queue_do(c, &x.q, &x.d);
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t j = 0; j < COLS; j++)
			CHECK_EQUAL(c, "element",
				    conf_read(x.q.dev->memory, C + (i * COLS + j) * bytes, bytes),
				    types[row].one + (i + 1) % K * COLS + j);
	CHECK_EQUAL(c, "behind it", conf_read(x.q.dev->memory, C + ROWS * COLS * bytes, 2), 0xffff);
	CHECK_EQUAL(c, "QUEUE_BYTES", conf_counter(x.q.dev, T3_COUNTER_QUEUE_BYTES),
		    ROWS * COLS * bytes);
}

/* large + 1 + 1 */
TEST("a sum rounds in its order", .rows = ARRAY_SIZE(types), .label = type_label)
{
	unsigned bytes = types[row].bytes;
	struct gemm x;

	prepare(c, &x, row, 1, 1, 3);
	for (uint32_t k = 0; k < 3; k++) {
		conf_write(x.q.dev->memory, A + k * bytes, bytes,
			   k ? types[row].one : types[row].large);
		conf_write(x.q.dev->memory, B + k * bytes, bytes, types[row].one);
	}
	queue_do(c, &x.q, &x.d);
	CHECK_EQUAL(c, "sum", conf_read(x.q.dev->memory, C, bytes), types[row].sum);
}

TEST("each wrong parameter is refused", .rows = ARRAY_SIZE(bads), .label = bad_label)
{
	struct gemm x;

	prepare(c, &x, T3_DTYPE_F32, ROWS, COLS, K);
	conf_memory_fill(x.q.dev, C, 256, 0xee);
	conf_replace((void *)x.g, bads[row].offset, bads[row].bytes, bads[row].value);
	queue_push(&x.q, &x.d);
	queue_submit(&x.q);
	queue_expect(c, &x.q, 0, T3_DESC_BAD_DESCRIPTOR, 64 + bads[row].offset);
	CHECK_EQUAL(c, "output", conf_read(x.q.dev->memory, C, 8), 0xee);
}

/* Operands beyond the end of memory, and parameters at unmapped addresses. */
TEST("operands out of range are refused", .rows = 3)
{
	struct gemm x;

	prepare(c, &x, T3_DTYPE_F32, ROWS, COLS, K);
	if (row == 0)
		x.g->a = x.q.dev->memory_bytes - ROWS * K * 4 + 1;
	else if (row == 1)
		x.g->b = x.q.dev->memory_bytes - K * COLS * 4 + 1;
	else
		conf_unmap(c, x.d.src);
	queue_push(&x.q, &x.d);
	queue_submit(&x.q);
	queue_expect(c, &x.q, 0, row < 2 ? T3_DESC_BAD_RANGE : T3_DESC_HOST_DMA,
		     row == 0	? x.g->a
		     : row == 1 ? x.g->b
				: x.d.src);
}

/* One row of 16 sums is one update of each element: both tiles complete. */
TEST("a row of sums updates a space", .rows = 2)
{
	struct conf_space s;
	struct gemm x;

	prepare(c, &x, row ? T3_DTYPE_F32 : T3_DTYPE_I32, 1, 16, 2);
	conf_space_simple(c, x.q.dev, &s);
	conf_arm_wait(c, &s, 1);
	for (uint32_t i = 0; i < 32; i++)
		conf_write(x.q.dev->memory, B + 4 * i, 4, 1000 + i);
	conf_write(x.q.dev->memory, A, 4, 3);
	conf_write(x.q.dev->memory, A + 4, 4, 5);
	x.d.dst_kind = T3_LOC_SPACE;
	x.d.dst = 0;
	x.d.space = s.args.space;
	x.d.generation = s.args.generation;
	queue_push(&x.q, &x.d);
	queue_submit(&x.q);
	if (row) { /* the segment is i32 */
		queue_expect(c, &x.q, 0, T3_DESC_DTYPE, 0);
		CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
		return;
	}
	queue_expect(c, &x.q, 0, T3_DESC_OK, 0);
	conf_wait_state(c, &s, T3_SPACE_COMPLETE, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "element", conf_buffer(&s, 4 * i, 4),
			    3 * (1000 + i) + 5 * (1016 + i));
	CHECK_EQUAL(c, "TRIGGERS", conf_counter(x.q.dev, T3_COUNTER_TRIGGERS), 2);
}
