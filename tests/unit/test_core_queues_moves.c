/* SPDX-License-Identifier: MIT */
/* Descriptors: each field's checks, each opcode with each operand. SPEC.md 11.3. */
#include "queue.h"
#include "ref.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AT(field)    offsetof(struct t3_descriptor, field)
#define F(field)     AT(field), sizeof(((struct t3_descriptor *)0)->field)
#define FREE	     (HOST_DATA + QUEUE_BUS)
#define ALL	     0x3fu
#define ONLY(opcode) (1u << (opcode))

static const uint32_t moves = ONLY(T3_DESC_COPY) | ONLY(T3_DESC_FILL) | ONLY(T3_DESC_UPDATE);

static struct t3_descriptor good(uint32_t opcode)
{
	switch (opcode) {
	case T3_DESC_NOP:
		return queue_nop();
	case T3_DESC_COPY:
		return queue_copy(0x2000, 0x1000, 64);
	case T3_DESC_FILL:
		return queue_fill(0x2000, 0x55, 64);
	case T3_DESC_UPDATE:
		return queue_update(0x2000, 0x1000, 64, T3_OP_ADD, T3_DTYPE_F32);
	case T3_DESC_WAIT:
		return queue_wait(1, 0);
	default:
		return queue_signal(1, 1);
	}
}

static struct t3_descriptor good_rows(uint32_t opcode)
{
	struct t3_descriptor d = good(opcode);

	d.rows = 3;
	d.src_pitch = opcode == T3_DESC_FILL ? 0 : 80;
	d.dst_pitch = 96;
	return d;
}

/* A field set to a value makes these opcodes, flat or in rows, fail at `at`. */
struct bad {
	uint32_t opcodes;
	bool rows;
	size_t offset, size;
	uint64_t value;
	uint32_t at;
};

static const struct bad bad[] = {
	{ ALL, false, F(opcode), T3_DESC_TIMED + 1, AT(opcode) },
	{ ALL, false, F(opcode), 255, AT(opcode) },
	{ ALL, false, F(flags), 2, AT(flags) },
	{ ALL, false, F(flags), 0x80, AT(flags) },
	{ ALL & ~ONLY(T3_DESC_UPDATE), false, F(op), 1, AT(op) },
	{ ONLY(T3_DESC_UPDATE), false, F(op), T3_OP_COUNT, AT(op) },
	{ ALL & ~ONLY(T3_DESC_UPDATE), false, F(dtype), 1, AT(dtype) },
	{ ONLY(T3_DESC_UPDATE), false, F(dtype), T3_DTYPE_COUNT, AT(dtype) },
	{ ONLY(T3_DESC_UPDATE), false, F(dtype), T3_DTYPE_U8, AT(op) },
	{ ALL & ~ONLY(T3_DESC_COPY), false, F(src_kind), 1, AT(src_kind) },
	{ ALL, false, F(src_kind), T3_LOC_SPACE, AT(src_kind) },
	{ ALL, false, F(src_kind), 255, AT(src_kind) },
	{ ALL & ~(ONLY(T3_DESC_COPY) | ONLY(T3_DESC_FILL)), false, F(dst_kind), 1, AT(dst_kind) },
	{ ALL, false, F(dst_kind), 3, AT(dst_kind) },
	{ ALL, false, F(mbz), 1, AT(mbz) },
	{ ALL, false, F(mbz), 0x8000, AT(mbz) },
	{ moves, false, F(rows), 0, AT(rows) },
	{ ALL & ~moves, false, F(rows), 1, AT(rows) },
	{ moves, true, F(rows), T3_MAX_COPY_BYTES / 64 + 1, AT(rows) },
	{ moves, true, F(rows), 0xffffffff, AT(rows) },
	{ moves, false, F(row_bytes), 0, AT(row_bytes) },
	{ moves, false, F(row_bytes), 0xfffffffc, AT(rows) },
	{ ONLY(T3_DESC_UPDATE), false, F(row_bytes), 62, AT(row_bytes) },
	{ ALL & ~moves, false, F(row_bytes), 1, AT(row_bytes) },
	{ ONLY(T3_DESC_NOP), false, F(src), 1ull << 63, AT(src) },
	{ ONLY(T3_DESC_NOP), false, F(dst), 1, AT(dst) },
	{ ALL, false, F(src_pitch), 64, AT(src_pitch) },
	{ ALL, false, F(dst_pitch), 64, AT(dst_pitch) },
	{ ONLY(T3_DESC_COPY) | ONLY(T3_DESC_UPDATE), true, F(src_pitch), 63, AT(src_pitch) },
	{ ONLY(T3_DESC_COPY) | ONLY(T3_DESC_UPDATE), true, F(src_pitch), 0, AT(src_pitch) },
	{ ONLY(T3_DESC_FILL), true, F(src_pitch), 64, AT(src_pitch) },
	{ moves, true, F(dst_pitch), 63, AT(dst_pitch) },
	{ moves, true, F(dst_pitch), 0, AT(dst_pitch) },
	{ ALL, false, F(space), 1, AT(space) },
	{ ALL, false, F(generation), 1, AT(generation) },
};

static void expect_refused(struct queue *q, const struct t3_descriptor *d, uint32_t status,
			   uint64_t detail)
{
	uint32_t index = queue_submit(q, d);

	queue_expect(q, index, status, detail);
	queue_expect_state(q, T3_QUEUE_ERROR, index + 1, status);
	queue_abort(q);
}

TEST("each wrong field is refused")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	uint32_t opcode, tried = 0;
	size_t i;

	for (i = 0; i < COUNT(bad); i++)
		for (opcode = 0; opcode <= T3_DESC_SIGNAL; opcode++) {
			struct t3_descriptor x = bad[i].rows ? good_rows(opcode) : good(opcode);

			if (!(bad[i].opcodes >> opcode & 1))
				continue;
			memcpy((uint8_t *)&x + bad[i].offset, &bad[i].value, bad[i].size);
			expect_refused(&q, &x, T3_DESC_BAD_DESCRIPTOR, bad[i].at);
			tried++;
		}
	assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_ERRORS), tried);
	assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_DESCRIPTORS), tried);
	assert_int_equal(host_counter(d, T3_COUNTER_QUEUE_BYTES), 0);
	assert_int_equal(d->completed[T3_DESC_BAD_DESCRIPTOR], tried);
	host_free(host);
}

/* ------------------------------------------------------------------- ranges */

struct range {
	uint8_t kind;
	uint32_t rows, row_bytes;
	uint64_t address, pitch;
	bool ok;
};

static const struct range ranges[] = {
	{ T3_LOC_MEMORY, 1, 64, HOST_MEMORY - 64, 0, true },
	{ T3_LOC_MEMORY, 1, 64, HOST_MEMORY - 63, 0, false },
	{ T3_LOC_MEMORY, 1, 1, HOST_MEMORY, 0, false },
	{ T3_LOC_MEMORY, 1, 64, HOST_NONE64, 0, false },
	{ T3_LOC_MEMORY, 1, 64, 0u - 64ull, 0, false },
	{ T3_LOC_MEMORY, 1, HOST_MEMORY, 0, 0, true },
	{ T3_LOC_MEMORY, 1, HOST_MEMORY + 1, 0, 0, false },
	{ T3_LOC_MEMORY, 4, 64, HOST_MEMORY - 64 - 3 * 100, 100, true },
	{ T3_LOC_MEMORY, 4, 64, HOST_MEMORY - 64 - 3 * 100 + 1, 100, false },
	{ T3_LOC_MEMORY, 2, 64, 0, HOST_NONE64, false },
	{ T3_LOC_MEMORY, 2, 64, 64, 0u - 64ull, false },
	{ T3_LOC_MEMORY, 5, 64, 0, 1ull << 62, false },
	{ T3_LOC_MEMORY, 3, 64, 0, 1ull << 63, false },
	{ T3_LOC_HOST, 2, 64, FREE, HOST_NONE64 - FREE, false },
	{ T3_LOC_HOST, 1, 64, 0u - 63ull, 0, false },
	{ T3_LOC_HOST, 3, 64, FREE, 1ull << 63, false },
	{ T3_LOC_SPACE, 1, 64, 0u - 63ull, 0, false },
	{ T3_LOC_SPACE, 3, 64, 0, 1ull << 63, false },
};

static void try_range(struct host *host, struct queue *q, struct t3_descriptor x, uint64_t address,
		      bool ok)
{
	uint32_t index;

	if (!ok) {
		expect_refused(q, &x, T3_DESC_BAD_RANGE, address);
		return;
	}
	index = queue_submit(q, &x);
	host_drain(host);
	queue_expect(q, index, T3_DESC_OK, 0);
}

TEST("ranges end within their memory")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	size_t i;

	for (i = 0; i < COUNT(ranges); i++) {
		const struct range *r = &ranges[i];
		struct t3_descriptor x = queue_fill(r->address, 0, r->row_bytes);

		x.rows = r->rows;
		x.dst_kind = r->kind;
		x.dst_pitch = r->pitch;
		try_range(host, &q, x, r->address, r->ok);
		if (r->kind == T3_LOC_SPACE)
			continue;
		x = queue_copy(0, r->address, r->row_bytes);
		x.src_kind = r->kind;
		x.rows = r->rows;
		x.src_pitch = r->pitch;
		x.dst_pitch = r->rows > 1 ? r->row_bytes : 0;
		try_range(host, &q, x, r->address, r->ok);
	}
	host_free(host);
}

/* The last byte of the bus is in range; here nothing is behind it. */
TEST("the last byte of the bus is in range")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct t3_descriptor x = queue_copy(0, 0u - 64ull, 64);

	x.src_kind = T3_LOC_HOST;
	expect_refused(&q, &x, T3_DESC_HOST_DMA, 0u - 64ull);
	assert_int_equal(host_get(q.d, T3_REG_DMA_ADDRESS, 8), 0u - 64ull);
	host_free(host);
}

/* ----------------------------------------------------------------- operands */

static void randomise(struct host_dev *d, uint64_t *random)
{
	uint32_t i;

	for (i = 0; i < 0x40000; i += 8) {
		uint64_t a = host_random(random), b = host_random(random);

		memcpy(d->memory + i, &a, 8);
		memcpy(d->data + QUEUE_BUS + i, &b, 8);
	}
}

/* Every op of every type, at every alignment, in rows, against the reference. */
static void update_case(struct queue *q, uint32_t dtype, uint32_t op, uint32_t shift)
{
	uint32_t size = ref_size(dtype), bytes = 6 * size, row, col;
	struct t3_descriptor x = queue_update(0x8000 + shift, 0x1000 + shift, bytes, op, dtype);
	static uint8_t want[0x40000];

	x.rows = 5;
	x.src_pitch = bytes + 3;
	x.dst_pitch = bytes + 5;
	memcpy(want, q->d->memory, sizeof(want));
	for (row = 0; row < x.rows; row++)
		for (col = 0; col < bytes; col += size) {
			uint8_t *to = want + x.dst + row * x.dst_pitch + col;
			uint32_t a = 0, b = 0;

			memcpy(&a, to, size);
			memcpy(&b, want + x.src + row * x.src_pitch + col, size);
			a = ref_apply(dtype, op, a, b);
			memcpy(to, &a, size);
		}
	queue_expect(q, queue_submit(q, &x), T3_DESC_OK, 0);
	assert_memory_equal(q->d->memory, want, sizeof(want));
}

TEST("updates are right in each type and op")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	uint64_t random = 5, elements = 0;
	uint32_t dtype, op, shift;

	for (dtype = 0; dtype <= T3_DTYPE_BF16; dtype++)
		for (op = 0; op < T3_OP_COUNT; op++)
			for (shift = 0; shift < 4; shift++) {
				randomise(q.d, &random);
				update_case(&q, dtype, op, shift);
				elements += op == T3_OP_STORE ? 0 : 30;
			}
	assert_int_equal(host_counter(q.d, T3_COUNTER_NMC_ELEMENTS), elements);
	host_free(host);
}

/* Elements of 1 byte can be stored. A source may be its own destination. */
TEST("elements of one byte can be stored")
{
	struct host *host = host_ring(1);
	struct queue q = queue_new(&host->dev[0], 0, 0);
	struct t3_descriptor x = queue_update(0x1001, 0x2000, 3, T3_OP_STORE, T3_DTYPE_I8);
	uint32_t i, value;

	memcpy(q.d->memory + 0x2000, "abcd", 4);
	queue_expect(&q, queue_submit(&q, &x), T3_DESC_OK, 0);
	assert_memory_equal(q.d->memory + 0x1000, "\0abc\0", 5);
	for (i = 0; i < 4000; i++)
		memcpy(q.d->memory + 0x4000 + 4 * i, &i, 4);
	/* Shifted by one element: each piece of 1024 elements is read before. */
	x = queue_update(0x4004, 0x4000, 4 * 3999, T3_OP_ADD, T3_DTYPE_I32);
	queue_expect(&q, queue_submit(&q, &x), T3_DESC_OK, 0);
	for (i = 1; i < 4000; i++) {
		uint32_t before = i % 1024 == 1 && i > 1 ? 2 * (i - 1) - 1 : i - 1;

		memcpy(&value, q.d->memory + 0x4000 + 4 * i, 4);
		assert_int_equal(value, i + before);
	}
	host_free(host);
}

/* Poison in the second piece of what is read, updated or overwritten: the first stays. */
TEST("poison in a later piece leaves the first")
{
	struct host *host = host_ring(1);
	struct host_dev *d = &host->dev[0];
	struct queue q = queue_new(d, 0, 0);
	struct t3_descriptor x = queue_copy(0x10000, 0, 8192);

	memset(d->memory, 1, 8192);
	host_poison(d, 5120, 64);
	expect_refused(&q, &x, T3_DESC_POISON, 5120);
	assert_int_equal(d->memory[0x10000 + 4095], 1);
	assert_int_equal(d->memory[0x10000 + 4096], 0);
	assert_int_equal(host_get(d, T3_REG_POISON_ADDRESS, 8), 5120);
	assert_int_equal(host_reg(d, T3_REG_ERROR_STATUS), T3_ERROR_POISON | T3_ERROR_QUEUE);
	x = queue_fill(0, 0, 8192);
	expect_refused(&q, &x, T3_DESC_POISON, 5120);
	assert_int_equal(d->memory[4095], 0);
	assert_int_equal(d->memory[4096], 1);
	x = queue_update(4096, 0x20000, 4096, T3_OP_ADD, T3_DTYPE_I32);
	expect_refused(&q, &x, T3_DESC_POISON, 5120);
	assert_int_equal(d->memory[4096], 1);
	assert_int_equal(host_counter(d, T3_COUNTER_POISON_HITS), 3);
	assert_int_equal(host_counter(d, T3_COUNTER_NMC_ELEMENTS), 0);
	x = queue_fill(5184, 0, 64); /* beside it */
	queue_expect(&q, queue_submit(&q, &x), T3_DESC_OK, 0);
	host_free(host);
}
