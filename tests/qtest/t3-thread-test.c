/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: the fabric's properties iothread and workers. With T3_TEST_THREAD in the environment all
 * other tests have them, too.
 */
#include "qemu/osdep.h"
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "qemu/atomic.h"
#include "qemu/processor.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "t3-test.h"

static QDict *add_fabric(struct t3_vm *vm, const char *thread)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'object-add', 'arguments': { 'qom-type': 't3-fabric', "
			 "'id': 'g', 'ranks': 2, 'iothread': %s } }",
			 thread);
}

static QDict *add_workers(struct t3_vm *vm, const char *thread, unsigned int workers)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'object-add', 'arguments': { 'qom-type': 't3-fabric', "
			 "'id': 'g', 'ranks': 2, 'iothread': %s, 'workers': %u } }",
			 thread, workers);
}

static QDict *add_device(struct t3_vm *vm)
{
	return qtest_qmp(vm->qts, "{ 'execute': 'device_add', 'arguments': { 'driver': 't3', "
				  "'id': 'late', 'fabric': 'g', 'rank': 1, 'bus': 'rp1' } }");
}

static QDict *delete_object(struct t3_vm *vm, const char *id)
{
	return qtest_qmp(vm->qts, "{ 'execute': 'object-del', 'arguments': { 'id': %s } }", id);
}

static void expect_done(QDict *response)
{
	g_assert_true(qdict_haskey(response, "return"));
	qobject_unref(response);
}

static void test_refusals(void)
{
	struct t3_vm *vm = vm_start_raw("-device intel-iommu -object iothread,id=one "
					"-device pcie-root-port,id=rp1,chassis=1");

	qmp_expect_error(vm, add_fabric(vm, "none"), "none", "not found", NULL);
	expect_done(add_fabric(vm, "one"));
	qmp_expect_error(vm,
			 qtest_qmp(vm->qts, "{ 'execute': 'qom-set', 'arguments': { 'path': 'g', "
					    "'property': 'iothread', 'value': '' } }"),
			 "iothread", "cannot be changed", NULL);
	qmp_expect_error(vm, add_device(vm), "rank=1", "behind an IOMMU", "no iothread=", NULL);
	expect_done(delete_object(vm, "g"));
	expect_done(add_fabric(vm, ""));
	expect_done(add_device(vm));
	vm_end(vm);
}

static void test_workers(void)
{
	struct t3_vm *vm = vm_start_raw("-object iothread,id=one "
					"-device pcie-root-port,id=rp1,chassis=1");
	const unsigned int allowed[] = { 0, 1, 32 };
	unsigned int i;

	qmp_expect_error(vm, add_workers(vm, "", 1), "workers=1", "needs iothread=", NULL);
	qmp_expect_error(vm, add_workers(vm, "one", 33), "workers=33", "0 to 32", NULL);
	for (i = 0; i < G_N_ELEMENTS(allowed); i++) {
		expect_done(add_workers(vm, "one", allowed[i]));
		qmp_expect_error(vm,
				 qtest_qmp(vm->qts,
					   "{ 'execute': 'qom-set', 'arguments': { 'path': 'g', "
					   "'property': 'workers', 'value': 2 } }"),
				 "workers", "cannot be changed", NULL);
		expect_done(delete_object(vm, "g"));
	}
	expect_done(add_workers(vm, "", 0));
	vm_end(vm);
}

static void *busy(void *end)
{
	while (!qatomic_read((bool *)end))
		cpu_relax();
	return NULL;
}

/*
 * Workers that still look for work, before they sleep, learn that there is none to come. Where all
 * processors are busy, they are stopped in the middle of it.
 */
static void test_workers_end(void)
{
	struct t3_vm *vm = vm_start_raw("-object iothread,id=one");
	GThread *thread[8];
	bool end = false;
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(thread); i++)
		thread[i] = g_thread_new("busy", busy, &end);
	for (i = 0; i < 60; i++) {
		expect_done(add_workers(vm, "one", 32));
		expect_done(delete_object(vm, "g"));
	}
	qatomic_set(&end, true);
	for (i = 0; i < G_N_ELEMENTS(thread); i++)
		g_thread_join(thread[i]);
	vm_end(vm);
}

/* The thread may be deleted before the fabric that uses it. A device keeps its fabric. */
static void test_deletion(void)
{
	struct t3_vm *vm = vm_start_raw("-device pcie-root-port,id=rp1,chassis=1");
	unsigned int i;

	for (i = 0; i < 20; i++) {
		expect_done(qtest_qmp(vm->qts, "{ 'execute': 'object-add', 'arguments': { "
					       "'qom-type': 'iothread', 'id': 'one' } }"));
		expect_done(add_fabric(vm, "one"));
		if (i % 2)
			expect_done(delete_object(vm, "one"));
		if (i == 19)
			expect_done(add_device(vm));
		else
			expect_done(delete_object(vm, "g"));
		if (i % 2 == 0)
			expect_done(delete_object(vm, "one"));
	}
	qmp_expect_error(vm, delete_object(vm, "g"), "in use", NULL);
	vm_end(vm);
}

/* ------------------------------------------------------- a thread that stands still */

/* The number of the thread of events, of the machine's only iothread. */
static pid_t events_thread(struct t3_vm *vm)
{
	QDict *said = qtest_qmp(vm->qts, "{ 'execute': 'query-iothreads' }");
	QList *threads = qdict_get_qlist(said, "return");
	pid_t tid;

	g_assert_cmpuint(qlist_size(threads), ==, 1);
	tid = qdict_get_int(qobject_to(QDict, qlist_peek(threads)), "thread-id");
	qobject_unref(said);
	return tid;
}

/* The thread has nothing to do: it waits in poll(), and so has no lock. */
static bool is_idle(pid_t process, pid_t thread)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/syscall", process, thread);
	g_autofree char *text = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	return g_ascii_strtoll(text, NULL, 10) == __NR_ppoll ||
	       g_ascii_strtoll(text, NULL, 10) == __NR_epoll_pwait;
}

/* Stops the thread alone, where it is idle. False: this user may not. */
static bool thread_stop(pid_t process, pid_t thread)
{
	gint64 end = g_get_monotonic_time() + 60 * G_TIME_SPAN_SECOND;

	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL))
		return false;
	while (g_get_monotonic_time() < end) {
		g_assert_cmpint(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), ==, 0);
		g_assert_cmpint(waitpid(thread, NULL, __WALL), ==, thread);
		if (is_idle(process, thread))
			return true;
		g_assert_cmpint(ptrace(PTRACE_CONT, thread, NULL, NULL), ==, 0);
	}
	g_error("the thread is not idle within 60 s");
}

#define RING_AT	    0x2000000ull /* guest memory */
#define COMPLETIONS 0x2001000ull
#define ROWS	    65536u /* steps: more than any access runs */

/* On queue 0: other clients' work, of which the access that begins it runs a part. */
static void begin_long_job(struct t3_test_dev *dev)
{
	struct t3_cmd_queue_create queue = {
		.ring = RING_AT,
		.completions = COMPLETIONS,
		.entries = 16,
	};
	const struct t3_descriptor copy = {
		.opcode = T3_DESC_COPY,
		.src_kind = T3_LOC_MEMORY,
		.dst_kind = T3_LOC_MEMORY,
		.rows = ROWS,
		.row_bytes = 16,
		.src = STAGING_BASE,
		.src_pitch = 16,
		.dst = STAGING_BASE + ROWS * 16,
		.dst_pitch = 16,
	};

	admin_ok(dev, T3_CMD_QUEUE_CREATE, &queue, sizeof(queue));
	qtest_bufwrite(dev->qts, RING_AT, &copy, sizeof(copy));
	reg_write(dev, T3_REG_QUEUE_TAIL, 1);
}

/*
 * Stores go first: they leave jobs to the thread of events. It stands still here, so that what is done
 * meanwhile was done by the stores.
 */
static void test_stores_run_no_jobs(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	struct t3_test_space space = local_space(dev, 3, 0, 64, 64, 1);
	pid_t thread = events_thread(vm);
	uint64_t work;
	unsigned int i;

	if (!thread_stop(qtest_pid(vm->qts), thread)) {
		g_test_skip("a thread of another process cannot be stopped here (ptrace)");
		vm_end(vm);
		return;
	}
	begin_long_job(dev);
	work = counter(dev, T3_COUNTER_ENGINE_WORK);
	g_assert_cmpuint(reg_read(dev, T3_REG_QUEUE_HEAD), ==, 0);
	for (i = 0; i < 64; i += 4)
		store32(&space, i, i + 1);
	g_assert_cmpuint(counter(dev, T3_COUNTER_ENGINE_WORK), ==, work);
	g_assert_cmpint(ptrace(PTRACE_DETACH, thread, NULL, NULL), ==, 0);
	wait_state(&space, T3_SPACE_COMPLETE, 1);
	while (!reg_read(dev, T3_REG_QUEUE_HEAD))
		g_usleep(1000);
	g_assert_cmpuint(counter(dev, T3_COUNTER_ENGINE_WORK), >, work);
	vm_end(vm);
}

void add_thread_tests(void)
{
	if (g_getenv("T3_TEST_THREAD"))
		qtest_add_func("/t3/thread/stores-run-no-jobs", test_stores_run_no_jobs);
	qtest_add_func("/t3/thread/refusals", test_refusals);
	qtest_add_func("/t3/thread/workers", test_workers);
	qtest_add_func("/t3/thread/workers-end", test_workers_end);
	qtest_add_func("/t3/thread/deletion", test_deletion);
}
