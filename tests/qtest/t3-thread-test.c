/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: the fabric's properties iothread and workers. With T3_TEST_THREAD in the environment all
 * other tests have them, too.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/processor.h"
#include "qobject/qdict.h"
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

void add_thread_tests(void)
{
	qtest_add_func("/t3/thread/refusals", test_refusals);
	qtest_add_func("/t3/thread/workers", test_workers);
	qtest_add_func("/t3/thread/workers-end", test_workers_end);
	qtest_add_func("/t3/thread/deletion", test_deletion);
}
