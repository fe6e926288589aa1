/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: record=FILE of the fabric (SPEC.md 14), replayed by the tool that T3_TOOL
 * names.
 */
#include "qemu/osdep.h"
#include <sys/resource.h>
#include "qemu/units.h"
#include "qobject/qdict.h"
#include "t3-test.h"

char *record_name(void)
{
	char *name = g_strdup_printf("%s/t3-qtest-XXXXXX", g_get_tmp_dir());
	int fd = g_mkstemp(name);

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	unlink(name);
	return name;
}

static struct t3_vm *start_recorded(unsigned int count, const char *file)
{
	GString *all = g_string_new("");
	struct t3_vm *vm;
	unsigned int i;

	g_string_printf(all, "-object t3-fabric,id=f0,topology=ring,ranks=%u,record=%s ", RING,
			file);
	for (i = 0; i < count; i++) {
		device_options(all, i);
		g_string_append_printf(all, ",reset-generations=%s,addr=%u ", i % 2 ? "on" : "off",
				       i + 4);
	}
	vm = vm_start_raw(all->str);
	g_string_free(all, true);
	for (i = 0; i < count; i++) {
		vm_add_dev(vm, QPCI_DEVFN(i + 4, 0));
		dev_map(&vm->dev[i]);
	}
	return vm;
}

void record_replay(const char *file, const char *word)
{
	const char *tool = g_getenv("T3_TOOL");
	g_autofree char *output = NULL, *errors = NULL;
	g_autoptr(GError) error = NULL;
	int status;

	if (!tool)
		g_error("T3_TOOL must name the t3 command");
	if (!g_spawn_sync(NULL,
			  (char *[]){ (char *)tool, (char *)"sim", (char *)"--replay", (char *)file,
				      NULL },
			  NULL, G_SPAWN_DEFAULT, NULL, NULL, &output, &errors, &status, &error))
		g_error("%s: %s", tool, error->message);
	if (status || !strstr(output, word))
		g_error("t3 sim ended with %d, not with '%s': %s%s", status, word, output, errors);
	g_assert_true(!strstr(output, "in the middle") == !strstr(word, "in the middle"));
}

/* Both ways to write, interrupts, and a reset in flight. The copy is a crash's record. */
static void test_replay(void)
{
	g_autofree char *file = record_name(), *copy = record_name();
	struct t3_vm *vm = start_recorded(RING, file);
	struct t3_test_ring ring = ring_open(vm, 256);
	g_autofree char *data = NULL;
	gsize size;

	msix_setup(&vm->dev[1]);
	space_enable_event(&ring.space[1]);
	ring_arm(&ring, 1);
	ring_store(&ring, 1);
	ring_check(&ring, 1);
	g_assert_true(msix_take(&vm->dev[1], 0));
	ring_release(&ring, 1);
	ring_arm(&ring, 2);
	ring_load(&ring, 2);
	ring_fire(&ring, 0);
	g_assert_true(g_file_get_contents(file, &data, &size, NULL));
	g_assert_true(g_file_set_contents(copy, data, size, NULL));
	dev_flr(&vm->dev[2]);
	qtest_system_reset(vm->qts);
	vm_end(vm);
	record_replay(file, "same: ");
	record_replay(copy, "in the middle");
	unlink(file);
	unlink(copy);
}

static QDict *add_recorded(struct t3_vm *vm, const char *id, const char *file)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'object-add', 'arguments': { 'qom-type': "
			 "'t3-fabric', 'id': %s, 'ranks': 1, 'record': %s } }",
			 id, file);
}

static void test_refused(void)
{
	g_autofree char *file = record_name();
	struct t3_vm *vm = vm_start_raw("");

	qmp_expect_error(vm, add_recorded(vm, "a", "/nonexistent/file"), "/nonexistent/file", NULL);
	qmp_expect_error(vm, add_recorded(vm, "a", "/dev/null"), "/dev/null", "regular", NULL);
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-add', 'arguments': { 'qom-type': "
				 "'t3-fabric', 'id': 'a', 'ranks': 1, 'record': %s } }",
				 file);
	qmp_expect_error(vm, add_recorded(vm, "b", file), file, "in use", NULL);
	qmp_expect_error(vm,
			 qtest_qmp(vm->qts,
				   "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/a', "
				   "'property': 'record', 'value': 'x' } }"),
			 "record", "created", NULL);
	qmp_expect_error(vm,
			 qtest_qmp(vm->qts, "{ 'execute': 'migrate', 'arguments': "
					    "{ 'uri': 'exec:cat' } }"),
			 "recorded", file, NULL);
	/* The fabric's end ends the record, and the file can be used again. */
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-del', 'arguments': { 'id': 'a' } }");
	qtest_qmp_assert_success(vm->qts, "{ 'execute': 'migrate', 'arguments': "
					  "{ 'uri': 'exec:cat >/dev/null' } }");
	record_replay(file, "same: 0 entries");
	vm_end(vm);
	unlink(file);
}

#define ENTRIES 160000u /* of 7 bytes each: more than 1 MiB */

static void limit_files(struct t3_vm *vm, rlim_t bytes)
{
	const struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };

	g_assert_cmpint(prlimit(qtest_pid(vm->qts), RLIMIT_FSIZE, &limit, NULL), ==, 0);
}

/* ulimit -f: the kernel would end QEMU by SIGXFSZ. The record ends, and QEMU does not. */
static void test_file_limit(void)
{
	g_autofree char *file = record_name();
	struct t3_vm *vm = vm_start_raw("");
	struct stat st;
	unsigned int i;

	limit_files(vm, MiB / 2);
	qmp_expect_error(vm, add_recorded(vm, "a", file), file, "File too large", NULL);
	vm_end(vm);
	vm = start_recorded(1, file);
	limit_files(vm, 3 * MiB / 2);
	for (i = 0; i < ENTRIES; i++)
		reg_read(&vm->dev[0], T3_REG_RANK);
	g_assert_cmpint(stat(file, &st), ==, 0);
	g_assert_cmpint(st.st_size, ==, MiB);
	vm_end(vm);
	record_replay(file, "in the middle");
	unlink(file);
}

void add_record_tests(void)
{
	qtest_add_func("t3/record/replay", test_replay);
	qtest_add_func("t3/record/refused", test_refused);
	qtest_add_func("t3/record/file-limit", test_file_limit);
}
