/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: the output of `-device t3,help` and `-object t3-fabric,help`. Each T3 property has a
 * description there and a place in SPEC.md section 1.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "t3-test.h"

static QList *properties(struct t3_vm *vm, const char *command, const char *type)
{
	QDict *response = qtest_qmp(vm->qts, "{ 'execute': %s, 'arguments': { 'typename': %s } }",
				    command, type);
	QList *list = qdict_get_qlist(response, "return");

	g_assert_nonnull(list);
	qobject_ref(list);
	qobject_unref(response);
	return list;
}

static QDict *find(QList *list, const char *name)
{
	QListEntry *entry;

	QLIST_FOREACH_ENTRY(list, entry)
	{
		QDict *property = qobject_to(QDict, qlist_entry_obj(entry));

		if (g_str_equal(qdict_get_str(property, "name"), name))
			return property;
	}
	return NULL;
}

/* QEMU's default description of a bool only repeats the type. */
static bool described(QDict *property)
{
	const char *text = qdict_get_try_str(property, "description");

	return text && *text && !g_str_equal(text, "on/off");
}

/* The row of SPEC.md that lists them. */
static char *documented(const char *row)
{
	g_autofree char *path = g_test_build_filename(G_TEST_DIST, "qemu-device", "SPEC.md", NULL);
	g_autofree char *text = NULL;
	char *start, *end;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	start = strstr(text, row);
	g_assert_nonnull(start);
	end = strchr(start, '\n');
	g_assert_nonnull(end);
	return g_strndup(start, end - start);
}

static void check(QList *list, QList *inherited, const char *row)
{
	g_autofree char *text = documented(row);
	unsigned int count = 0;
	QListEntry *entry;

	QLIST_FOREACH_ENTRY(list, entry)
	{
		QDict *property = qobject_to(QDict, qlist_entry_obj(entry));
		const char *name = qdict_get_str(property, "name");
		g_autofree char *quoted = g_strdup_printf("`%s`", name);

		if (find(inherited, name))
			continue;
		count++;
		if (!described(property) || !strstr(text, quoted)) {
			g_test_message("property %s: no description, or not in SPEC.md", name);
			g_test_fail();
		}
	}
	g_assert_cmpuint(count, >=, 7);
}

static void test_device(void)
{
	struct t3_vm *vm = vm_start_raw("");
	QList *list = properties(vm, "device-list-properties", "t3");
	QList *inherited = properties(vm, "qom-list-properties", "pci-device");

	check(list, inherited, "| device properties |");
	/* It is refused at creation, so help does not list it. */
	g_assert_null(find(list, "removed"));
	qobject_unref(inherited);
	qobject_unref(list);
	vm_end(vm);
}

static void test_fabric(void)
{
	struct t3_vm *vm = vm_start_raw("");
	QList *list = properties(vm, "qom-list-properties", "t3-fabric");
	QList *inherited = properties(vm, "qom-list-properties", "object");

	check(list, inherited, "| fabric properties |");
	qobject_unref(inherited);
	qobject_unref(list);
	vm_end(vm);
}

void add_help_tests(void)
{
	qtest_add_func("/t3/help/device", test_device);
	qtest_add_func("/t3/help/fabric", test_fabric);
}
