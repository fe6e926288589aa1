/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: timed runs. While the machine is stopped each access does a bounded part of a run, as
 * of a GEMM. The clock moves with it.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "t3-test.h"

#define QUEUE	2u
#define ENTRIES 16u
/* Guest memory, for each rank. */
#define RING_OF(rank)	     (0x2000000ull + (rank)*0x10000)
#define COMPLETIONS_OF(rank) (RING_OF(rank) + 0x1000)
#define ARGS_OF(rank)	     (RING_OF(rank) + 0x2000)
#define RESULT_OF(rank)	     (RING_OF(rank) + 0x3000)

/* Defaults, as t3 sim --list-params prints them. */
/* clang-format off */
static const uint64_t params[T3_TIMED_PARAMS] = {
	80, 1400, 1024, 90, 1, 90, 1, 128, 128, 32, 8, 16384,
	16, 2867, 150, 4096, 1024, 200, 32, 64, 64, 15, 64, 8,
	175, 5, 10, 30, 50, 25, 10, 2000, 150, 500, 4096, 8,
	512, 16, 256, 4, 64, 80, 45, 25,
	2000,
};
/* clang-format on */

static void create(struct t3_test_dev *dev)
{
	struct t3_cmd_queue_create args = {
		.queue = QUEUE,
		.ring = RING_OF(dev->rank),
		.completions = COMPLETIONS_OF(dev->rank),
		.entries = ENTRIES,
	};

	qtest_memset(dev->qts, args.completions, 0, ENTRIES * sizeof(struct t3_completion));
	admin_ok(dev, T3_CMD_QUEUE_CREATE, &args, sizeof(args));
}

/* So long that no access does all of it. */
static void submit(struct t3_test_dev *dev, uint32_t index, uint32_t flags)
{
	struct t3_timed_args args = {
		.program = T3_TIMED_T3_MCA,
		.flags = flags,
		.ranks = T3_TEST_DEVICES,
		.element_bytes = 2,
		.rows = 2048,
		.columns = 1024,
		.depth = 512,
	};
	struct t3_descriptor descriptor = {
		.opcode = T3_DESC_TIMED,
		.src_kind = T3_LOC_HOST,
		.dst_kind = T3_LOC_HOST,
		.src = ARGS_OF(dev->rank),
		.dst = RESULT_OF(dev->rank),
	};

	memcpy(args.params, params, sizeof(params));
	qtest_bufwrite(dev->qts, ARGS_OF(dev->rank), &args, sizeof(args));
	qtest_bufwrite(dev->qts, RING_OF(dev->rank) + index * sizeof(descriptor), &descriptor,
		       sizeof(descriptor));
	reg_write(dev, T3_REG_QUEUE_TAIL + 4 * QUEUE, index + 1);
}

static struct t3_completion completion(struct t3_test_dev *dev, uint32_t index)
{
	struct t3_completion c;

	qtest_bufread(dev->qts, COMPLETIONS_OF(dev->rank) + index * sizeof(c), &c, sizeof(c));
	return c;
}

static struct t3_timed_result result(struct t3_test_dev *dev)
{
	struct t3_timed_result result;

	qtest_bufread(dev->qts, RESULT_OF(dev->rank), &result, sizeof(result));
	return result;
}

static void cont(struct t3_vm *vm)
{
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
}

/* Polls only memory, so that only the device moves the clock. */
static void await(struct t3_test_dev *dev, uint32_t index)
{
	unsigned int tries = 20000;

	while (completion(dev, index).word == 0) {
		g_assert_cmpuint(--tries, >, 0);
		g_usleep(1000);
	}
	g_assert_cmphex(completion(dev, index).word, ==, T3_COMPLETION_WORD(index, T3_DESC_OK, 1));
}

static void expect_same(const struct t3_timed_result *a, const struct t3_timed_result *b)
{
	g_assert_cmpmem(&a->counters, sizeof(a->counters), &b->counters, sizeof(b->counters));
	g_assert_cmpuint(a->counters.end, >, 0);
}

/* A stopped machine that has done the first slices of a gang's run. */
static void begin(struct t3_vm *vm)
{
	uint64_t before = reg_read64(&vm->dev[0], T3_REG_VCLOCK);
	unsigned int i;

	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'stop' }");
	for (i = 0; i < vm->count; i++)
		create(&vm->dev[i]);
	for (i = 0; i < vm->count; i++)
		submit(&vm->dev[i], 0, 0);
	/* An access runs few slices while others wait. */
	for (i = 0; i < 1000 && reg_read64(&vm->dev[0], T3_REG_VCLOCK) <= before + 100; i++)
		reg_write(&vm->dev[0], T3_REG_ERROR_STATUS, 0);
	g_assert_cmpuint(reg_read64(&vm->dev[0], T3_REG_VCLOCK), >, before + 100);
	g_assert_cmphex(completion(&vm->dev[0], 0).word, ==, 0);
}

/* All ranks begin at once. Their counters are those of one device that stands for all. */
static void finish(struct t3_vm *vm)
{
	struct t3_timed_result first, other;
	unsigned int i;

	cont(vm);
	await(&vm->dev[0], 0);
	first = result(&vm->dev[0]);
	g_assert_cmpuint(completion(&vm->dev[0], 0).vtime, >=,
			 first.start + first.counters.end / 1000);
	for (i = 1; i < vm->count; i++) {
		await(&vm->dev[i], 0);
		other = result(&vm->dev[i]);
		expect_same(&first, &other);
		g_assert_cmpuint(other.start, ==, first.start);
		g_assert_cmpuint(other.rank, ==, i);
		g_assert_cmpuint(other.flags, ==, 0);
	}
	submit(&vm->dev[1], 1, T3_TIMED_MIRRORED);
	await(&vm->dev[1], 1);
	other = result(&vm->dev[1]);
	expect_same(&first, &other);
}

static void test_gang(void)
{
	struct t3_vm *vm = vm_start(T3_TEST_DEVICES, "");

	begin(vm);
	finish(vm);
	vm_end(vm);
}

/* The second machine computes the first's part again; the clock does not go back. */
static void test_migrated(void)
{
	struct t3_vm *vm = vm_start(T3_TEST_DEVICES, ""), *other;
	uint64_t clock;

	begin(vm);
	clock = reg_read64(&vm->dev[0], T3_REG_VCLOCK);
	other = vm_migrate(vm);
	vm_end(vm);
	g_assert_cmpuint(reg_read64(&other->dev[0], T3_REG_VCLOCK), >=, clock);
	finish(other);
	vm_end(other);
}

/*
 * The others learn of it with the next event. The machine is stopped, so that only accesses run
 * events: writes, and reads if no thread would.
 */
static void test_reset(void)
{
	struct t3_vm *vm = vm_start_ports(T3_TEST_DEVICES, "");
	struct t3_completion c;

	begin(vm);
	dev_flr(&vm->dev[2]);
	g_assert_cmphex(completion(&vm->dev[0], 0).word, ==, 0); /* not before the reset is over */
	reg_read64(&vm->dev[0], T3_REG_VCLOCK);
	g_assert_cmpint(completion(&vm->dev[0], 0).word == 0, ==, !!g_getenv("T3_TEST_THREAD"));
	reg_write(&vm->dev[0], T3_REG_ERROR_STATUS, 0);
	c = completion(&vm->dev[0], 0);
	g_assert_cmphex(c.word, ==, T3_COMPLETION_WORD(0, T3_DESC_GANG, 1));
	g_assert_cmpuint(c.detail, ==, 2);
	vm_end(vm);
}

/* It works only on a fabric with timed=on, which cannot be changed later. */
static void test_off(void)
{
	struct t3_vm *vm = vm_start_raw("-object t3-fabric,id=f0,ranks=2 "
					"-device t3,id=d0,fabric=f0,rank=0,addr=4");

	vm_add_dev(vm, QPCI_DEVFN(4, 0));
	dev_map(&vm->dev[0]);
	g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_CAPS) & T3_CAP_TIMED, ==, 0);
	create(&vm->dev[0]);
	submit(&vm->dev[0], 0, T3_TIMED_MIRRORED);
	g_assert_cmphex(completion(&vm->dev[0], 0).word, ==,
			T3_COMPLETION_WORD(0, T3_DESC_BAD_DESCRIPTOR, 1));
	qmp_expect_error(vm,
			 qtest_qmp(vm->qts, "{ 'execute': 'qom-set', 'arguments': "
					    "{ 'path': '/objects/f0', 'property': 'timed', "
					    "'value': true } }"),
			 "timed", "created", NULL);
	vm_end(vm);
}

void add_timed_tests(void)
{
	qtest_add_func("t3/timed/gang", test_gang);
	qtest_add_func("t3/timed/migrated", test_migrated);
	qtest_add_func("t3/timed/reset", test_reset);
	qtest_add_func("t3/timed/off", test_off);
}
