/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: a GEMM that is too long for one access. While the machine is stopped only accesses do
 * work, a bounded part each. So its progress does not depend on time.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "t3-test.h"

#define QUEUE	    3u
#define ENTRIES	    16u
#define RING_BASE   0x2000000ull /* guest memory */
#define COMPLETIONS 0x2001000ull
#define PARAMETERS  0x2002000ull
#define SIDE	    256u /* rows and columns */
#define DEPTH	    512u
#define A	    0ull /* device memory */
#define B	    0x100000ull
#define OUTPUT	    0x200000ull

static void create(struct t3_test_dev *dev)
{
	struct t3_cmd_queue_create args = {
		.queue = QUEUE,
		.ring = RING_BASE,
		.completions = COMPLETIONS,
		.entries = ENTRIES,
	};

	qtest_memset(dev->qts, COMPLETIONS, 0, ENTRIES * sizeof(struct t3_completion));
	admin_ok(dev, T3_CMD_QUEUE_CREATE, &args, sizeof(args));
}

static int32_t a_value(uint32_t row, uint32_t k)
{
	return (int32_t)((row * 7 + k * 3) % 11) - 5;
}

static int32_t b_value(uint32_t k, uint32_t col)
{
	return (int32_t)((k * 5 + col * 13) % 17) - 8;
}

static void put(struct t3_test_dev *dev, uint64_t at, uint32_t rows, uint32_t cols,
		int32_t (*value)(uint32_t row, uint32_t col))
{
	g_autofree int32_t *data = g_new(int32_t, rows * cols);
	uint32_t i, j;

	for (i = 0; i < rows; i++)
		for (j = 0; j < cols; j++)
			data[i * cols + j] = value(i, j);
	mem_write(dev, at, data, rows * cols * sizeof(*data));
}

static void submit(struct t3_test_dev *dev)
{
	struct t3_gemm parameters = {
		.a = A,
		.b = B,
		.a_pitch = DEPTH * 4,
		.b_pitch = SIDE * 4,
		.depth = DEPTH,
		.chunk_rows = SIDE / 4,
		.first_chunk = 2,
		.group_rows = 64,
		.group_columns = 64,
		.tile_rows = 32,
		.tile_columns = 32,
		.raster_rows = 1,
	};
	struct t3_descriptor descriptor = {
		.opcode = T3_DESC_GEMM,
		.dtype = T3_DTYPE_I32,
		.src_kind = T3_LOC_HOST,
		.rows = SIDE,
		.row_bytes = SIDE * 4,
		.src = PARAMETERS,
		.dst = OUTPUT,
		.dst_pitch = SIDE * 4,
	};

	qtest_bufwrite(dev->qts, PARAMETERS, &parameters, sizeof(parameters));
	qtest_bufwrite(dev->qts, RING_BASE, &descriptor, sizeof(descriptor));
	reg_write(dev, T3_REG_QUEUE_TAIL + 4 * QUEUE, 1);
}

static uint64_t completion_word(struct t3_test_dev *dev)
{
	struct t3_completion c;

	qtest_bufread(dev->qts, COMPLETIONS, &c, sizeof(c));
	return c.word;
}

static int32_t element(struct t3_test_dev *dev, uint32_t row, uint32_t col)
{
	int32_t value;

	mem_read(dev, OUTPUT + (row * SIDE + col) * 4, &value, sizeof(value));
	return value;
}

static int32_t product(uint32_t row, uint32_t col)
{
	int32_t sum = 0;
	uint32_t k;

	for (k = 0; k < DEPTH; k++)
		sum += a_value(row, k) * b_value(k, col);
	return sum;
}

/*
 * Where threads multiply slices, an access does not wait for them. Its events go on in a later one:
 * a write that changes nothing.
 */
static void wait_for_element(struct t3_test_dev *dev, uint32_t row, uint32_t col)
{
	int32_t wanted = product(row, col);
	unsigned int i;

	g_assert_cmpint(wanted, !=, 0);
	for (i = 0; element(dev, row, col) != wanted && g_getenv("T3_TEST_THREAD"); i++) {
		g_assert_cmpuint(i, <, 10000);
		g_usleep(100);
		reg_write(dev, T3_REG_QUEUE_TAIL + 4 * QUEUE, 1);
	}
	g_assert_cmpint(element(dev, row, col), ==, wanted);
}

/* Its first tile is stored and its last is not, and that does not change. */
static void expect_half_done(struct t3_test_dev *dev)
{
	uint32_t first = SIDE / 2, last = SIDE - SIDE / 4 + 63;

	wait_for_element(dev, first, 1);
	g_assert_cmphex(completion_word(dev), ==, 0);
	g_assert_cmpint(product(last, SIDE - 1), !=, 0);
	g_assert_cmpint(element(dev, last, SIDE - 1), ==, 0);
}

/* Chunk 2 is the first, 3 the last. The device is the first one of a stopped machine. */
static struct t3_test_dev *begin(struct t3_vm *vm)
{
	struct t3_test_dev *dev = &vm->dev[0];

	create(dev);
	put(dev, A, SIDE, DEPTH, a_value);
	put(dev, B, DEPTH, SIDE, b_value);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'stop' }");
	submit(dev);
	expect_half_done(dev);
	return dev;
}

static void finish(struct t3_vm *vm)
{
	struct t3_test_dev *dev = &vm->dev[0];
	unsigned int tries = 20000;
	uint32_t i;

	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	while (completion_word(dev) == 0) {
		g_assert_cmpuint(--tries, >, 0);
		g_usleep(1000);
	}
	g_assert_cmphex(completion_word(dev), ==, T3_COMPLETION_WORD(0, T3_DESC_OK, 1));
	for (i = 0; i < SIDE; i++)
		g_assert_cmpint(element(dev, i, (i * 37) % SIDE), ==, product(i, (i * 37) % SIDE));
}

/* A bottom half does the rest, slice by slice, when the machine runs. */
static void test_slices(void)
{
	struct t3_vm *vm = vm_start(1, "");

	begin(vm);
	finish(vm);
	vm_end(vm);
}

/* Another machine does the rest: sums and progress were migrated. */
static void test_migrated(void)
{
	struct t3_vm *vm = vm_start(T3_TEST_DEVICES, ""), *other;

	begin(vm);
	other = vm_migrate(vm);
	expect_half_done(&vm->dev[0]);
	vm_end(vm);
	expect_half_done(&other->dev[0]);
	finish(other);
	vm_end(other);
}

/* An abort in the middle: earlier stores stay. */
static void test_aborted(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_cmd_queue abort_it = { .queue = QUEUE };
	struct t3_test_dev *dev = begin(vm);

	/* Each access continues the GEMM, so write only the words that the command reads. */
	admin_ok(dev, T3_CMD_QUEUE_ABORT, &abort_it, offsetof(struct t3_cmd_queue, served));
	g_assert_cmphex(completion_word(dev), ==, T3_COMPLETION_WORD(0, T3_DESC_ABORTED, 1));
	g_assert_cmpint(element(dev, SIDE / 2, 1), ==, product(SIDE / 2, 1));
	vm_end(vm);
}

void add_gemm_tests(void)
{
	qtest_add_func("t3/gemm/slices", test_slices);
	qtest_add_func("t3/gemm/migrated", test_migrated);
	qtest_add_func("t3/gemm/aborted", test_aborted);
}
