/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: a fabric is deleted and created again with its old name (SPEC.md 1.4). */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "t3-test.h"

static QDict *fabric_del(struct t3_vm *vm)
{
	return qtest_qmp(vm->qts, "{ 'execute': 'object-del', 'arguments': { 'id': 'f0' } }");
}

static void fabric_again(struct t3_vm *vm, const char *record)
{
	QDict *args = qdict_new();

	qdict_put_str(args, "qom-type", "t3-fabric");
	qdict_put_str(args, "id", "f0");
	qdict_put_int(args, "ranks", 4);
	if (record)
		qdict_put_str(args, "record", record);
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'object-add', 'arguments': %p }", args);
}

static void expect_deleted(QDict *response)
{
	g_assert_true(qdict_haskey(response, "return"));
	qobject_unref(response);
}

/* A device takes part in the new fabric, and in no other. */
static void expect_works(struct t3_vm *vm, unsigned int rank)
{
	struct t3_test_space space;

	dev_plug(vm, rank);
	g_assert_cmphex(reg_read(&vm->dev[rank], T3_REG_RANKS), ==, 4);
	space = local_space(&vm->dev[rank], 1, 0, 16, 8, 1);
	expect_state(&space, T3_SPACE_ARMED, 1);
	qmp_expect_error(vm, fabric_del(vm), "in use", NULL);
}

static unsigned int threads(struct t3_vm *vm)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task", (int)qtest_pid(vm->qts));
	g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
	unsigned int count = 0;

	g_assert_nonnull(dir);
	while (g_dir_read_name(dir))
		count++;
	return count;
}

/* A device that leaves is the last user of its fabric, whose threads end with it. */
static void test_threads_end(void)
{
	struct t3_vm *vm = vm_start_ports(1, "-object iothread,id=own");
	unsigned int i, wait;

	dev_take_out(vm, 0);
	for (i = 0; i < 4; i++) {
		expect_deleted(fabric_del(vm));
		qtest_qmp_assert_success(vm->qts,
					 "{ 'execute': 'object-add', 'arguments': { 'qom-type': "
					 "'t3-fabric', 'id': 'f0', 'ranks': 4, 'iothread': 'own', "
					 "'workers': 32 } }");
		if (!i)
			dev_unplug(vm, 0);
		dev_plug(vm, 0);
		g_assert_cmpuint(threads(vm), >, 32);
		qtest_qmp_device_del_send(vm->qts, "d0");
		port_power(vm, 0, false);
		qtest_qmp_eventwait(vm->qts, "DEVICE_DELETED");
	}
	expect_deleted(fabric_del(vm));
	for (wait = 0; wait < 500 && threads(vm) > 32; wait++)
		g_usleep(20000);
	g_assert_cmpuint(threads(vm), <=, 32);
	vm_end(vm);
}

/* The device that was pulled out still exists and still names its fabric. */
static void test_removed_device(void)
{
	struct t3_vm *vm = vm_start_ports(1, "");
	unsigned int i;

	dev_take_out(vm, 0);
	for (i = 0; i < 3; i++) {
		expect_deleted(fabric_del(vm));
		fabric_again(vm, NULL);
	}
	qobject_unref(qtest_qmp(vm->qts, "{ 'execute': 'qom-get', 'arguments': { "
					 "'path': 'd0', 'property': 'fabric' } }"));
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'stop' }");
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'cont' }");
	dev_unplug(vm, 0);
	expect_works(vm, 0);
	vm_end(vm);
}

/*
 * The test does not wait for DEVICE_DELETED, because the device's memory may be in use for a while.
 */
static void test_device_del(void)
{
	struct t3_vm *vm = vm_start_ports(1, "");
	unsigned int i;

	for (i = 0; i < 20; i++) {
		qtest_qmp_device_del_send(vm->qts, "d0");
		qmp_expect_error(vm, fabric_del(vm), "f0", "in use", NULL);
		port_power(vm, 0, false);
		expect_deleted(fabric_del(vm));
		fabric_again(vm, NULL);
		qtest_qmp_eventwait(vm->qts, "DEVICE_DELETED");
		expect_works(vm, 0);
	}
	vm_end(vm);
}

/* A record ends with its fabric. So the new fabric may write to the same file. */
static void test_record(void)
{
	g_autofree char *path = g_strdup_printf("/tmp/t3-again-%d", getpid());
	struct t3_vm *vm = vm_start_ports(1, "");

	dev_take_out(vm, 0);
	expect_deleted(fabric_del(vm));
	fabric_again(vm, path);
	dev_unplug(vm, 0);
	dev_plug(vm, 0);
	dev_take_out(vm, 0);
	expect_deleted(fabric_del(vm));
	fabric_again(vm, path);
	vm_end(vm);
	unlink(path);
}

void add_again_tests(void)
{
	qtest_add_func("/t3/again/removed-device", test_removed_device);
	qtest_add_func("/t3/again/device-del", test_device_del);
	qtest_add_func("/t3/again/threads-end", test_threads_end);
	qtest_add_func("/t3/again/record", test_record);
}
