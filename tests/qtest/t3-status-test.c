/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: the fabric's `status` property tells who waits for what. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "t3-test.h"

static QDict *get_status(struct t3_vm *vm)
{
	QDict *response = qtest_qmp(vm->qts, "{ 'execute': 'qom-get', 'arguments': {"
					     " 'path': '/objects/f0', 'property': 'status' } }");
	QDict *status = qdict_get_qdict(response, "return");

	g_assert_nonnull(status);
	qobject_ref(status);
	qobject_unref(response);
	return status;
}

static QDict *element(QDict *dict, const char *list, unsigned int index)
{
	const QListEntry *entry = qlist_first(qdict_get_qlist(dict, list));

	g_assert_nonnull(qdict_get_qlist(dict, list));
	while (entry && index--)
		entry = qlist_next(entry);
	g_assert_nonnull(entry);
	return qobject_to(QDict, qlist_entry_obj(entry));
}

static void expect_word(QDict *dict, const char *key, const char *word)
{
	g_assert_cmpstr(qdict_get_str(dict, key), ==, word);
}

static void expect_number(QDict *dict, const char *key, int64_t value)
{
	g_assert_cmpint(qdict_get_int(dict, key), ==, value);
}

/* Four tiles of 16 bytes, two updates for each element; the first is half done. */
static void test_tiles(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_space space = local_space(&vm->dev[0], 7, 1, 64, 16, 2);
	QDict *status, *device, *segment, *tile;

	store64(&space, 0, 1);
	store64(&space, 8, 1);
	status = get_status(vm);
	device = element(status, "devices", 0);
	expect_number(device, "rank", 0);
	expect_number(qdict_get_qdict(device, "counters"), "stores", 2);
	expect_number(element(device, "spaces", 0), "space", 7);
	expect_word(element(device, "spaces", 0), "state", "ARMED");
	segment = element(element(device, "spaces", 0), "segments", 0);
	expect_word(segment, "kind", "LOCAL");
	expect_word(segment, "waits-for", "updates");
	expect_number(segment, "tiles", 4);
	expect_number(segment, "tiles-tracked", 0);
	tile = element(segment, "waiting-tiles", 0);
	expect_number(tile, "tile", 0);
	expect_number(tile, "bytes", 16);
	expect_number(tile, "expected", 32);
	expect_word(tile, "waits-for", "updates");
	expect_number(element(segment, "waiting-tiles", 3), "bytes", 0);
	qobject_unref(status);
	vm_end(vm);
}

/* A target that never arms is named. */
static void test_arming(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_space source = space_create(&vm->dev[0], 1, 1);
	struct t3_test_space target = space_create(&vm->dev[1], 30, 2);
	QDict *status, *space, *peer, *link;

	space_route(&source, &target);
	space_import(&target, &source);
	db_arm(&source, 1);
	expect_state(&source, T3_SPACE_ARMING, 1);
	status = get_status(vm);
	space = element(element(status, "devices", 0), "spaces", 0);
	expect_word(space, "state", "ARMING");
	peer = element(space, "waits-for-ranks", 0);
	expect_number(peer, "rank", 1);
	expect_number(peer, "space", 30);
	expect_word(peer, "state", "IDLE");
	link = element(status, "links", 0);
	expect_number(link, "from", 0);
	expect_number(link, "to", 1);
	expect_number(link, "sent", 1);
	expect_number(link, "unanswered", 0);
	qobject_unref(status);
	db_arm(&target, 1);
	wait_state(&source, T3_SPACE_COMPLETE, 1);
	status = get_status(vm);
	expect_word(element(element(status, "devices", 1), "spaces", 0), "state", "COMPLETE");
	qobject_unref(status);
	vm_end(vm);
}

/* A mark is set on what did not fit. */
static void test_many_tiles(void)
{
	struct t3_vm *vm = vm_start(1, "");
	QDict *status, *segment;

	local_space(&vm->dev[0], 7, 1, 1024, 16, 1);
	status = get_status(vm);
	segment = element(element(element(status, "devices", 0), "spaces", 0), "segments", 0);
	g_assert_cmpuint(qlist_size(qdict_get_qlist(segment, "waiting-tiles")), ==, 16);
	g_assert_true(qdict_get_bool(segment, "more-tiles"));
	qobject_unref(status);
	vm_end(vm);
}

void add_status_tests(void)
{
	qtest_add_func("/t3/status/tiles", test_tiles);
	qtest_add_func("/t3/status/arming", test_arming);
	qtest_add_func("/t3/status/many-tiles", test_many_tiles);
}
