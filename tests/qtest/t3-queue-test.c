/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: a queue with its rings in guest memory. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "t3-test.h"

#define QUEUE	    5u
#define ENTRIES	    16u
#define RING_BASE   0x2000000ull /* guest memory */
#define COMPLETIONS 0x2001000ull
#define DATA	    0x3000000ull
#define BYTES	    5000u
#define NOWHERE	    0x20000000ull /* beyond the machine's memory */

struct queue {
	struct t3_test_dev *dev;
	uint32_t tail;
};

static struct t3_cmd_queue_create queue_args(void)
{
	return (struct t3_cmd_queue_create){
		.queue = QUEUE,
		.ring = RING_BASE,
		.completions = COMPLETIONS,
		.entries = ENTRIES,
	};
}

static struct queue queue_create(struct t3_test_dev *dev)
{
	struct t3_cmd_queue_create args = queue_args();

	qtest_memset(dev->qts, COMPLETIONS, 0, ENTRIES * sizeof(struct t3_completion));
	admin_ok(dev, T3_CMD_QUEUE_CREATE, &args, sizeof(args));
	return (struct queue){ .dev = dev };
}

static struct t3_cmd_queue queue_command(struct queue *q, enum t3_admin_opcode opcode)
{
	struct t3_cmd_queue args = { .queue = QUEUE };

	admin_ok(q->dev, opcode, &args, sizeof(args));
	if (opcode == T3_CMD_QUEUE_ABORT)
		q->tail = args.tail;
	return args;
}

static void submit(struct queue *q, const struct t3_descriptor *descriptor)
{
	uint64_t at = RING_BASE + q->tail % ENTRIES * sizeof(*descriptor);

	qtest_bufwrite(q->dev->qts, at, descriptor, sizeof(*descriptor));
	reg_write(q->dev, T3_REG_QUEUE_TAIL + 4 * QUEUE, ++q->tail);
}

static struct t3_completion completion(struct queue *q, uint32_t index)
{
	struct t3_completion c;

	qtest_bufread(q->dev->qts, COMPLETIONS + index % ENTRIES * sizeof(c), &c, sizeof(c));
	return c;
}

/* The completion has come: HEAD and memory show it. */
static void expect(struct queue *q, uint32_t index, uint32_t status, uint64_t detail)
{
	struct t3_completion c = completion(q, index);

	g_assert_cmphex(c.word, ==, T3_COMPLETION_WORD(index, status, !(index / ENTRIES & 1)));
	g_assert_cmphex(c.detail, ==, detail);
	g_assert_cmpuint(reg_read(q->dev, T3_REG_QUEUE_HEAD + 4 * QUEUE), >, index);
}

/* Up to 5 s. */
static void wait_head(struct queue *q, uint32_t head)
{
	unsigned int tries = 5000;

	while (reg_read(q->dev, T3_REG_QUEUE_HEAD + 4 * QUEUE) != head) {
		g_assert_cmpuint(--tries, >, 0);
		g_usleep(1000);
	}
}

static uint32_t state(struct queue *q)
{
	return reg_read(q->dev, T3_REG_QUEUE_STATE + 4 * QUEUE);
}

static void run(struct queue *q, const struct t3_descriptor *descriptor)
{
	submit(q, descriptor);
	wait_head(q, q->tail);
	expect(q, q->tail - 1, T3_DESC_OK, 0);
}

static struct t3_descriptor copy(uint64_t dst, enum t3_location dst_kind, uint64_t src,
				 enum t3_location src_kind, uint32_t bytes)
{
	return (struct t3_descriptor){
		.opcode = T3_DESC_COPY,
		.src_kind = src_kind,
		.dst_kind = dst_kind,
		.rows = 1,
		.row_bytes = bytes,
		.src = src,
		.dst = dst,
		.cookie = 0xc0071e,
	};
}

/* Host to memory, FILL, UPDATE, memory to host: no address is aligned. */
static void test_moves(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct queue q = queue_create(&vm->dev[0]);
	struct t3_descriptor x = copy(MIB + 3, T3_LOC_MEMORY, DATA + 1, T3_LOC_HOST, BYTES);
	uint8_t in[BYTES], out[BYTES];
	uint32_t i, word, sum;

	for (i = 0; i < BYTES; i++)
		in[i] = i * 7 + i / 251;
	qtest_bufwrite(vm->qts, DATA + 1, in, BYTES);
	run(&q, &x);
	g_assert_cmphex(completion(&q, 0).cookie, ==, 0xc0071e);
	mem_read(&vm->dev[0], MIB + 3, out, BYTES);
	g_assert_cmpmem(in, BYTES, out, BYTES);

	x = copy(2 * MIB, T3_LOC_MEMORY, 0x0000000200000001ull, T3_LOC_MEMORY, 4096);
	x.opcode = T3_DESC_FILL;
	run(&q, &x);
	x = copy(2 * MIB, T3_LOC_MEMORY, MIB, T3_LOC_MEMORY, 4096);
	x.opcode = T3_DESC_UPDATE;
	x.op = T3_OP_ADD;
	x.dtype = T3_DTYPE_I32;
	run(&q, &x);
	for (i = 0; i < 4096; i += 4) {
		mem_read(&vm->dev[0], MIB + i, &word, 4);
		mem_read(&vm->dev[0], 2 * MIB + i, &sum, 4);
		g_assert_cmphex(sum, ==, word + 1 + (i / 4 & 1));
	}

	x = copy(DATA + 0x10001, T3_LOC_HOST, MIB + 3, T3_LOC_MEMORY, BYTES);
	run(&q, &x);
	qtest_bufread(vm->qts, DATA + 0x10001, out, BYTES);
	g_assert_cmpmem(in, BYTES, out, BYTES);
	g_assert_cmphex(errors_take(&vm->dev[0]), ==, 0);
	g_assert_cmpuint(counter(&vm->dev[0], T3_COUNTER_QUEUE_BYTES), ==, 2 * BYTES + 2 * 4096);
	vm_end(vm);
}

/* A REMOTE segment is stored from guest memory, and the peer gets all of it. */
static void test_space(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct queue q = queue_create(&vm->dev[0]);
	struct t3_test_pair pair = remote_pair(&vm->dev[0], &vm->dev[1], 1, 0x10000);
	struct t3_descriptor x = copy(0, T3_LOC_SPACE, DATA, T3_LOC_HOST, 0x10000);
	g_autofree uint32_t *in = g_new(uint32_t, 0x4000), *out = g_new(uint32_t, 0x4000);
	uint32_t i;

	for (i = 0; i < 0x4000; i++)
		in[i] = i * 2654435761u;
	qtest_bufwrite(vm->qts, DATA, in, 0x10000);
	x.space = pair.source.id;
	x.generation = pair.source.generation + 1;
	submit(&q, &x);
	wait_head(&q, 1);
	expect(&q, 0, T3_DESC_SPACE, T3_SPACE_ARMED);
	queue_command(&q, T3_CMD_QUEUE_ABORT);
	x.generation--;
	run(&q, &x);
	wait_state(&pair.source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	mem_read(pair.target.dev, pair.target.buffer, out, 0x10000);
	g_assert_cmpmem(in, 0x10000, out, 0x10000);
	vm_end(vm);
}

static void test_interrupt(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct queue q = queue_create(dev);
	struct t3_descriptor nop = { .opcode = T3_DESC_NOP };

	msix_setup(dev);
	reg_write(dev, T3_REG_QUEUE_VECTOR, 2);
	run(&q, &nop);
	g_assert_cmphex(reg_read(dev, T3_REG_QUEUE_PENDING), ==, 0);
	nop.flags = T3_DESC_FLAG_IRQ;
	run(&q, &nop);
	g_assert_cmphex(reg_read(dev, T3_REG_QUEUE_PENDING), ==, 1u << QUEUE);
	g_assert_false(msix_take(dev, 2));
	reg_write(dev, T3_REG_QUEUE_ENABLE, 1u << QUEUE);
	g_assert_true(msix_take(dev, 2));
	run(&q, &nop); /* still pending: no second message */
	g_assert_false(msix_take(dev, 2));
	reg_write(dev, T3_REG_QUEUE_PENDING, 1u << QUEUE);
	run(&q, &nop);
	g_assert_true(msix_take(dev, 2));
	g_assert_false(msix_take(dev, 0));
	vm_end(vm);
}

static void expect_stopped(struct queue *q, uint32_t head, uint64_t address)
{
	struct t3_cmd_queue query = queue_command(q, T3_CMD_QUEUE_QUERY);

	g_assert_cmpuint(query.state, ==, T3_QUEUE_ERROR);
	g_assert_cmpuint(query.status, ==, T3_DESC_HOST_DMA);
	g_assert_cmpuint(query.head, ==, head);
	g_assert_cmphex(reg_read64(q->dev, T3_REG_DMA_ADDRESS), ==, address);
	g_assert_cmphex(errors_take(q->dev), ==, T3_ERROR_HOST_DMA | T3_ERROR_QUEUE);
	queue_command(q, T3_CMD_QUEUE_ABORT);
	g_assert_cmpuint(state(q), ==, T3_QUEUE_READY);
}

/* The source, the ring, the completions lie beyond the machine's memory. */
static void test_host_dma(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_cmd_queue_create args = queue_args();
	struct queue q = queue_create(&vm->dev[0]);
	struct t3_descriptor x = copy(0, T3_LOC_MEMORY, NOWHERE + 1, T3_LOC_HOST, 64);

	submit(&q, &x);
	wait_head(&q, 1);
	expect(&q, 0, T3_DESC_HOST_DMA, NOWHERE + 1);
	expect_stopped(&q, 1, NOWHERE + 1);

	queue_command(&q, T3_CMD_QUEUE_DESTROY);
	args.ring = NOWHERE;
	admin_ok(&vm->dev[0], T3_CMD_QUEUE_CREATE, &args, sizeof(args));
	q.tail = 0;
	submit(&q, &x);
	wait_head(&q, 1);
	expect(&q, 0, T3_DESC_HOST_DMA, NOWHERE);
	expect_stopped(&q, 1, NOWHERE);

	queue_command(&q, T3_CMD_QUEUE_DESTROY);
	args = queue_args();
	args.completions = NOWHERE;
	admin_ok(&vm->dev[0], T3_CMD_QUEUE_CREATE, &args, sizeof(args));
	q.tail = 0;
	x.src = DATA;
	submit(&q, &x);
	expect_stopped(&q, 0, NOWHERE);
	vm_end(vm);
}

/* A fence that nobody signals. */
static void test_abort(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct queue q = queue_create(&vm->dev[0]);
	struct t3_descriptor wait = { .opcode = T3_DESC_WAIT, .dst = 9, .src = 2 };
	struct t3_cmd_fence_set set = { .fence = 9, .value = 2 };

	submit(&q, &wait);
	submit(&q, &wait);
	g_assert_cmpuint(reg_read(&vm->dev[0], T3_REG_QUEUE_HEAD + 4 * QUEUE), ==, 0);
	queue_command(&q, T3_CMD_QUEUE_ABORT);
	expect(&q, 0, T3_DESC_ABORTED, 0);
	g_assert_cmpuint(q.tail, ==, 2);
	submit(&q, &wait);
	admin_ok(&vm->dev[0], T3_CMD_FENCE_SET, &set, sizeof(set));
	wait_head(&q, 3);
	expect(&q, 2, T3_DESC_OK, 0);
	vm_end(vm);
}

/* ------------------------------------------------------------------ in flight */

#define MANY (24 * MIB) /* more pieces than one access handles */
#define DST  (32 * MIB)

static uint32_t word_at(struct queue *q, uint64_t offset)
{
	uint32_t word;

	mem_read(q->dev, offset, &word, 4);
	return word;
}

/* The VM is stopped in the middle of a large copy. The test reads only memory. */
static struct queue stop_in_copy(struct t3_vm *vm)
{
	struct queue q = queue_create(&vm->dev[0]);
	struct t3_descriptor x = copy(DST, T3_LOC_MEMORY, 0, T3_LOC_MEMORY, MANY);

	qtest_memset(vm->qts, vm->dev[0].memory, 0x5a, MANY);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'stop' }");
	submit(&q, &x);
	g_assert_cmphex(word_at(&q, DST), ==, 0x5a5a5a5a);
	g_assert_cmphex(word_at(&q, DST + MANY - 4), ==, 0);
	g_assert_cmphex(completion(&q, 0).word, ==, 0);
	return q;
}

static void test_stop(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct queue q = stop_in_copy(vm);

	g_usleep(20000); /* nothing goes on while the VM is stopped */
	g_assert_cmphex(word_at(&q, DST + MANY - 4), ==, 0);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	wait_head(&q, 1);
	expect(&q, 0, T3_DESC_OK, 0);
	g_assert_cmphex(word_at(&q, DST + MANY - 4), ==, 0x5a5a5a5a);
	vm_end(vm);
}

/* What was not moved before the reset is not moved after it. */
static void test_reset(void)
{
	struct t3_descriptor nop = { .opcode = T3_DESC_NOP };
	unsigned int flr;

	for (flr = 0; flr < 2; flr++) {
		struct t3_vm *vm = vm_start(1, "");
		struct queue q = stop_in_copy(vm);

		if (flr)
			dev_flr(&vm->dev[0]);
		else
			reg_write(&vm->dev[0], T3_REG_CONTROL, T3_CONTROL_RESET);
		qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
		dev_map(&vm->dev[0]);
		g_assert_cmpuint(state(&q), ==, T3_QUEUE_FREE);
		g_usleep(20000);
		g_assert_cmphex(word_at(&q, DST + MANY - 4), ==, 0);
		g_assert_cmphex(completion(&q, 0).word, ==, 0);
		q = queue_create(&vm->dev[0]);
		run(&q, &nop);
		vm_end(vm);
	}
}

static void inject(struct t3_vm *vm, const char *text)
{
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/f0', "
				 "'property': 'inject', 'value': %s } }",
				 text);
}

/* A hung queue makes no progress until it is aborted or unhung. */
static void test_hang(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct queue q = queue_create(&vm->dev[0]);
	struct t3_descriptor nop = { .opcode = T3_DESC_NOP };

	inject(vm, "hang-queue rank=0 queue=5");
	submit(&q, &nop);
	g_usleep(20000);
	g_assert_cmpuint(reg_read(&vm->dev[0], T3_REG_QUEUE_HEAD + 4 * QUEUE), ==, 0);
	queue_command(&q, T3_CMD_QUEUE_ABORT);
	g_assert_cmpuint(q.tail, ==, 1);
	run(&q, &nop);
	inject(vm, "hang-queue rank=0 queue=5");
	submit(&q, &nop);
	g_assert_cmpuint(reg_read(&vm->dev[0], T3_REG_QUEUE_HEAD + 4 * QUEUE), ==, 2);
	inject(vm, "unhang-queue rank=0 queue=5");
	wait_head(&q, 3);
	expect(&q, 2, T3_DESC_OK, 0);
	vm_end(vm);
}

void add_queue_tests(void)
{
	qtest_add_func("/t3/queue/moves", test_moves);
	qtest_add_func("/t3/queue/space", test_space);
	qtest_add_func("/t3/queue/interrupt", test_interrupt);
	qtest_add_func("/t3/queue/host-dma", test_host_dma);
	qtest_add_func("/t3/queue/abort", test_abort);
	qtest_add_func("/t3/queue/stop", test_stop);
	qtest_add_func("/t3/queue/reset", test_reset);
	qtest_add_func("/t3/queue/hang", test_hang);
}
