/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: the fabric's `status` property shows which rank waits for what. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "t3-test.h"

#define QUEUE_RING 0x2000000ull /* guest memory */

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

/* A target that never arms is named. The space that waits for it takes updates all the same. */
static void test_arming(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_space source = space_create(&vm->dev[0], 1, 1);
	struct t3_test_space target = space_create(&vm->dev[1], 30, 2);
	struct t3_cmd_seg_map map = seg_args(&source, 5, 0, 64, T3_SEG_LOCAL, 2);
	QDict *status, *space, *peer, *link, *segment;

	seg_map(&source, &map);
	space_route(&source, &target);
	space_import(&target, &source);
	db_arm(&source, 1);
	expect_state(&source, T3_SPACE_ARMING, 1);
	status = get_status(vm);
	space = element(element(status, "devices", 0), "spaces", 0);
	expect_word(space, "state", "ARMING");
	segment = element(space, "segments", 0);
	expect_word(segment, "waits-for", "updates");
	expect_number(element(segment, "waiting-tiles", 0), "expected", 128);
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
	wait_state(&target, T3_SPACE_COMPLETE, 1);
	status = get_status(vm);
	expect_word(element(element(status, "devices", 1), "spaces", 0), "state", "COMPLETE");
	qobject_unref(status);
	vm_end(vm);
}

/* Queue 33 waits for a fence; the value does not fit into a signed integer. */
static void start_queue(struct t3_test_dev *dev)
{
	struct t3_cmd_queue_create args = { .queue = 33,
					    .priority = 3,
					    .ring = QUEUE_RING,
					    .completions = QUEUE_RING + 0x1000,
					    .entries = 16 };
	struct t3_descriptor wait = { .opcode = T3_DESC_WAIT, .dst = 7, .src = ~0ull };
	struct t3_cmd_fence_set set = { .fence = 7, .value = 41 };

	admin_ok(dev, T3_CMD_QUEUE_CREATE, &args, sizeof(args));
	admin_ok(dev, T3_CMD_FENCE_SET, &set, sizeof(set));
	qtest_bufwrite(dev->qts, QUEUE_RING, &wait, sizeof(wait));
	reg_write(dev, T3_REG_QUEUE_TAIL + 4 * 33, 1);
}

static void test_queue(void)
{
	struct t3_vm *vm = vm_start(1, "");
	QDict *status, *queue;

	start_queue(&vm->dev[0]);
	status = get_status(vm);
	queue = element(element(status, "devices", 0), "queues", 0);
	expect_number(queue, "queue", 33);
	expect_word(queue, "state", "READY");
	expect_word(queue, "status", "OK");
	expect_number(queue, "priority", 3);
	expect_number(queue, "head", 0);
	expect_number(queue, "tail", 1);
	expect_word(queue, "waits-for", "fence");
	expect_number(queue, "fence", 7);
	expect_number(queue, "fence-value", 41);
	g_assert_cmphex(qnum_get_uint(qobject_to(QNum, qdict_get(queue, "fence-wanted"))), ==,
			~0ull);
	qobject_unref(status);
	vm_end(vm);
}

/* Poisoned memory, a link that is down, and the ranks that a segment sends to. */
static void test_injections(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct t3_test_pair pair = remote_pair(&vm->dev[0], &vm->dev[1], 1, 64);
	QDict *status, *device, *what;

	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/f0', "
				 "'property': 'inject', 'value': 'poison rank=0 address=0x40000 "
				 "value=128; link-down rank=0 peer=1' } }");
	status = get_status(vm);
	device = element(status, "devices", 0);
	what = element(device, "injections", 0);
	expect_word(what, "kind", "poison");
	expect_number(what, "address", 0x40000);
	expect_number(what, "value", 128);
	what = element(device, "injections", 1);
	expect_word(what, "kind", "link-down");
	expect_number(what, "peer", 1);
	g_assert_cmpuint(qlist_size(qdict_get_qlist(device, "injections")), ==, 2);
	what = element(element(device, "spaces", 0), "segments", 0);
	g_assert_cmpint(
		qnum_get_int(qobject_to(QNum, qlist_peek(qdict_get_qlist(what, "to-ranks")))), ==,
		(int64_t)pair.target.dev->rank);
	device = element(status, "devices", 1);
	g_assert_true(qlist_empty(qdict_get_qlist(device, "injections")));
	g_assert_true(qlist_empty(qdict_get_qlist(device, "queues")));
	qobject_unref(status);
	vm_end(vm);
}

static void expect_line(const char *log, const char *line)
{
	if (!strstr(log, line))
		g_error("no '%s' among the trace events:\n%s", line, log);
}

/* The output of -trace for a queue, a stored segment, and a link that is down. */
static void test_trace(void)
{
	g_autofree char *path = NULL, *options = NULL, *log = NULL;
	struct t3_test_pair pair;
	struct t3_vm *vm;
	int fd = g_file_open_tmp("t3-trace-XXXXXX", &path, NULL);

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	options = g_strdup_printf("-trace 't3_*' -D %s", path);
	vm = vm_start(2, options);
	start_queue(&vm->dev[0]);
	pair = remote_pair(&vm->dev[0], &vm->dev[1], 1, 64);
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/f0', "
				 "'property': 'inject', 'value': 'link-down rank=0 peer=1' } }");
	store32(&pair.source, 0, 1);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	dev_flr(&vm->dev[1]);
	dev_map(&vm->dev[1]);
	reg_read(&vm->dev[0], T3_REG_ID);
	admin_ok(&vm->dev[0], T3_CMD_QUEUE_ABORT, &(struct t3_cmd_queue){ .queue = 33 },
		 sizeof(struct t3_cmd_queue));
	vm_end(vm);
	g_assert_true(g_file_get_contents(path, &log, NULL, NULL));
	g_assert_cmpint(unlink(path), ==, 0);
	expect_line(log, "t3_queue_state rank 0 queue 33 FREE -> READY");
	expect_line(log, "t3_descriptor rank 0 queue 33 index=0 WAIT status=ABORTED");
	expect_line(log, "t3_link_state rank 0 to 1 down");
	expect_line(log, "t3_link_accident rank 0 to 1 link-down packet=");
	expect_line(log, "t3_link_resent rank 0 to 1 packets=");
	expect_line(log, "t3_link_given_up rank 0 to 1 packets=");
	expect_line(log, "t3_peer_lost rank 0 peer=1");
	expect_line(log, "ARMING -> ARMED epoch=1");
	expect_line(log, "ARMED -> FAULTED epoch=1");
}

/* Text that does not fit is marked. */
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
	qtest_add_func("/t3/status/queue", test_queue);
	qtest_add_func("/t3/status/injections", test_injections);
	qtest_add_func("/t3/status/trace", test_trace);
}
