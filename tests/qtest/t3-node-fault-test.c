/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: faults injected at the connection of two QEMUs. SPEC.md section 12.4. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "t3-test.h"

#define BYTES	  256u
#define SILENT_MS "60000" /* longer than a connection without a word lasts, on the busiest host */

static QDict *set_inject(struct t3_vm *vm, const char *text)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/f0', "
			 "'property': 'inject', 'value': %s } }",
			 text);
}

static void expect_last_end(struct t3_vm *vm, const char *word)
{
	QDict *peer = node_peer(vm);

	g_assert_nonnull(strstr(qdict_get_str(peer, "last-end"), word));
	g_assert_cmpint(qdict_get_int(peer, "connections"), >=, 2);
	qobject_unref(peer);
}

static void reduce(struct t3_vm *a, struct t3_vm *b, unsigned int slot)
{
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], slot, BYTES);

	pair_complete(&pair, BYTES);
}

static void store_all(struct t3_test_pair *pair)
{
	uint32_t i;

	for (i = 0; i < BYTES; i += 4)
		store32(&pair->source, i, 7);
}

/* By the node that connects, or that waits for connections. It stays away for its time. */
static void cut_by(unsigned int node)
{
	struct t3_test_place place = place_new();
	struct t3_vm *vm[2] = { node_start(&place, 0), node_start(&place, 1) };
	struct t3_test_pair pair = remote_pair(&vm[node]->dev[0], &vm[!node]->dev[0], 1, BYTES);
	g_autofree char *text = g_strdup_printf("node-cut node=%u nth=9 ms=60000", !node);
	g_autofree char *end = g_strdup_printf("node-cut node=%u nth=0 ms=1", !node);

	node_inject(vm[node], text);
	store_all(&pair);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	await_node_state(vm[node], "cut");
	g_assert_cmpuint(counter(&vm[node]->dev[0], T3_COUNTER_INJECTED), ==, 1);
	node_inject(vm[node], end);
	await_node_state(vm[0], "up");
	await_node_state(vm[1], "up");
	errors_take(&vm[node]->dev[0]);
	reduce(vm[node], vm[!node], 2);
	expect_last_end(vm[node], "node-cut");
	expect_last_end(vm[!node], "has closed the connection");
	vm_end(vm[1]);
	vm_end(vm[0]);
	place_free(&place);
}

static void test_cut_by_listener(void)
{
	cut_by(0);
}

static void test_cut_by_connector(void)
{
	cut_by(1);
}

/* Shorter than the silence that ends a connection: everything comes, later. */
static void test_stall(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 1, BYTES);
	int64_t begin = g_get_monotonic_time();
	QDict *peer;

	node_inject(a, "node-stall node=1 ms=600");
	store_all(&pair);
	wait_state(&pair.source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	g_assert_cmpint(g_get_monotonic_time() - begin, >=, 600 * 1000);
	peer = node_peer(a);
	g_assert_cmpint(qdict_get_int(peer, "connections"), ==, 1);
	qobject_unref(peer);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* A fault that is taken back is over, also in the middle of its minute. */
static void test_taken_back(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 1, BYTES);
	QDict *peer;

	node_inject(a, "node-stall node=1 ms=60000");
	store_all(&pair);
	peer = node_peer(a);
	g_assert_cmpint(qdict_get_int(peer, "queued-bytes"), >, 0);
	qobject_unref(peer);
	node_inject(a, "node-stall node=1 nth=0 ms=1");
	wait_state(&pair.source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	peer = node_peer(a);
	g_assert_cmpint(qdict_get_int(peer, "connections"), ==, 1);
	qobject_unref(peer);
	node_inject(a, "node-cut node=1 nth=9 ms=60000");
	pair = remote_pair(&a->dev[0], &b->dev[0], 2, BYTES);
	store_all(&pair);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	await_node_state(a, "cut");
	node_inject(a, "node-cut node=1 nth=0");
	await_node_state(a, "up");
	await_node_state(b, "up");
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* A node that says nothing for longer is lost, though its socket is open, and comes again. */
static void test_silence(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 1, BYTES);

	node_inject(a, "node-stall node=1 ms=" SILENT_MS);
	store_all(&pair);
	await_node_state(b, "connecting");
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	await_node_state(a, "up");
	await_node_state(b, "up");
	expect_last_end(b, "the node is silent");
	errors_take(&a->dev[0]);
	reduce(a, b, 2);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* Stalls by chance, and what links do, all in one text: the sums are right. */
static void test_random(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	QDict *peer, *what;

	node_inject(
		a,
		"node-random node=1 stall=2000 seed=5; link-random rank=0 peer=1 nth=500 seed=6");
	peer = node_peer(a);
	what = qobject_to(QDict, qlist_peek(qdict_get_qlist(peer, "injections")));
	g_assert_cmpstr(qdict_get_str(what, "kind"), ==, "node-random");
	g_assert_cmpint(qdict_get_int(what, "cut"), ==, 0);
	g_assert_cmpint(qdict_get_int(what, "stall"), ==, 2000);
	g_assert_cmpint(qdict_get_int(what, "seed"), ==, 5);
	qobject_unref(peer);
	reduce(a, b, 1);
	reduce(a, b, 2);
	g_assert_cmpuint(counter(&a->dev[0], T3_COUNTER_INJECTED), >, 0);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

static void test_refused(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0);

	qmp_expect_error(a, set_inject(a, "node-cut node=0"), "no connection to node=0", NULL);
	qmp_expect_error(a, set_inject(a, "node-cut node=2"), "no connection to node=2", NULL);
	qmp_expect_error(a, set_inject(a, "node-stall node=1 ms=60001"), "1 to 60000", NULL);
	qmp_expect_error(a, set_inject(a, "node-stall node=1"), "needs ms", NULL);
	qmp_expect_error(a, set_inject(a, "node-random node=1 cut=65536"), "0 to 65535", NULL);
	vm_end(a);
	place_free(&place);
}

void add_node_fault_tests(void)
{
	qtest_add_func("/t3/nodes/fault/cut-by-listener", test_cut_by_listener);
	qtest_add_func("/t3/nodes/fault/cut-by-connector", test_cut_by_connector);
	qtest_add_func("/t3/nodes/fault/stall", test_stall);
	qtest_add_func("/t3/nodes/fault/taken-back", test_taken_back);
	/* These fabrics have a thread anyway, and 6 seconds are long. */
	if (!g_getenv("T3_TEST_THREAD"))
		qtest_add_func("/t3/nodes/fault/silence", test_silence);
	qtest_add_func("/t3/nodes/fault/random", test_random);
	qtest_add_func("/t3/nodes/fault/refused", test_refused);
}
