/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: what `status` shows of a connection to another node. SPEC.md section 16.3. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "t3-test.h"

#define BYTES 256u

static int64_t number(QDict *peer, const char *direction, const char *key)
{
	return qdict_get_int(qdict_get_qdict(peer, direction), key);
}

static void expect_idle(QDict *peer, unsigned int node, const char *state)
{
	const QListEntry *rank = qlist_first(qdict_get_qlist(peer, "ranks"));

	g_assert_cmpint(qdict_get_int(peer, "node"), ==, node);
	g_assert_cmpint(qnum_get_int(qobject_to(QNum, qlist_entry_obj(rank))), ==, node);
	g_assert_cmpstr(qdict_get_str(peer, "state"), ==, state);
	g_assert_cmpint(qdict_get_int(peer, "connections"), ==, 0);
	g_assert_null(qdict_get_try_str(peer, "transport"));
	g_assert_null(qdict_get_try_str(peer, "last-end"));
	g_assert_null(qdict_get_qdict(peer, "round-trip-ns"));
	g_assert_cmpint(number(peer, "sent", "frames"), ==, 0);
	qobject_unref(peer);
}

/* The one waits for a connection, the other one tries to make it. */
static void test_alone(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *vm = node_start(&place, 0);

	expect_idle(node_peer(vm), 1, "waiting");
	vm_end(vm);
	vm = node_start(&place, 1);
	expect_idle(node_peer(vm), 0, "connecting");
	vm_end(vm);
	place_free(&place);
}

static bool has_trip(struct t3_vm *vm)
{
	QDict *peer = node_peer(vm);
	bool has = qdict_get_qdict(peer, "round-trip-ns");

	qobject_unref(peer);
	return has;
}

/*
 * On a busy machine a packet may be sent again before it is answered, which measures nothing. So
 * there is traffic in both directions until each node has measured a round trip, at most twice:
 * a device has room for eight spaces.
 */
static void make_traffic(struct t3_vm *a, struct t3_vm *b)
{
	unsigned int slot;

	for (slot = 0; slot < 8 && !(slot && has_trip(a) && has_trip(b)); slot += 4) {
		struct t3_test_pair there = remote_pair(&a->dev[0], &b->dev[0], slot, BYTES);
		struct t3_test_pair back = remote_pair(&b->dev[0], &a->dev[0], slot + 2, BYTES);

		pair_complete(&there, BYTES);
		pair_complete(&back, BYTES);
	}
}

static void expect_traffic(QDict *peer, struct t3_test_dev *dev)
{
	QDict *trip = qdict_get_qdict(peer, "round-trip-ns");

	g_assert_cmpstr(qdict_get_str(peer, "state"), ==, "up");
	g_assert_cmpstr(qdict_get_str(peer, "transport"), ==, "shared-memory");
	g_assert_cmpint(number(peer, "sent", "packets"), >=,
			counter(dev, T3_COUNTER_LINK_TX_PACKETS));
	g_assert_cmpint(number(peer, "sent", "frames"), >, number(peer, "sent", "packets"));
	g_assert_cmpint(number(peer, "sent", "bytes"), >, counter(dev, T3_COUNTER_LINK_TX_BYTES));
	g_assert_cmpint(number(peer, "received", "packets"), >, 0);
	g_assert_cmpint(qdict_get_int(peer, "queued-bytes-most"), >, 0);
	g_assert_cmpint(qdict_get_int(peer, "queued-bytes"), <=,
			qdict_get_int(peer, "queued-bytes-most"));
	g_assert_nonnull(trip);
	g_assert_cmpint(qdict_get_int(trip, "least"), <=, qdict_get_int(trip, "smoothed"));
	g_assert_cmpint(qdict_get_int(trip, "smoothed"), <=, qdict_get_int(trip, "most"));
	g_assert_cmpint(qdict_get_int(trip, "samples"), >, 0);
	qobject_unref(peer);
}

static void test_traffic(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);

	node_inject(b, "node-stall node=0 ms=400"); /* so its first packet is sent again */
	make_traffic(a, b);
	expect_traffic(node_peer(a), &a->dev[0]);
	expect_traffic(node_peer(b), &b->dev[0]);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* All stores are from node 1 to node 0, whose own packets only answer. */
static void test_directions(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	QDict *peer;
	unsigned int slot;

	for (slot = 0; slot < 6; slot += 2) {
		struct t3_test_pair pair = remote_pair(&b->dev[0], &a->dev[0], slot, 4 * BYTES);

		pair_complete(&pair, 4 * BYTES);
	}
	peer = node_peer(a);
	g_assert_cmpint(number(peer, "received", "packets"), >=,
			counter(&b->dev[0], T3_COUNTER_LINK_TX_PACKETS));
	g_assert_cmpint(number(peer, "received", "packets"), >, number(peer, "sent", "packets"));
	qobject_unref(peer);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* A connection without work lives on when its machine has stood still. SPEC.md 16.1: 5 s of silence. */
static void test_idle_after_a_stop(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 0, BYTES);
	QDict *peer;

	pair_complete(&pair, BYTES);
	qtest_qmp_assert_success(a->qts, "{ 'execute': 'stop' }");
	g_usleep(G_USEC_PER_SEC);
	qtest_qmp_assert_success(a->qts, "{ 'execute': 'cont' }");
	g_usleep(7 * G_USEC_PER_SEC);
	peer = node_peer(a);
	g_assert_cmpstr(qdict_get_str(peer, "state"), ==, "up");
	g_assert_cmpint(qdict_get_int(peer, "connections"), ==, 1);
	qobject_unref(peer);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* The reason of the last end stays when the node has come again. */
static void test_last_end(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 1, BYTES);
	QDict *peer;

	vm_end(b);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	b = node_start(&place, 1);
	pair = remote_pair(&a->dev[0], &b->dev[0], 2, BYTES);
	peer = node_peer(a);
	g_assert_cmpstr(qdict_get_str(peer, "last-end"), ==,
			"the other node has closed the connection");
	g_assert_cmpstr(qdict_get_str(peer, "state"), ==, "up");
	g_assert_cmpint(qdict_get_int(peer, "connections"), ==, 2);
	qobject_unref(peer);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

void add_node_status_tests(void)
{
	qtest_add_func("/t3/nodes/status/alone", test_alone);
	qtest_add_func("/t3/nodes/status/traffic", test_traffic);
	qtest_add_func("/t3/nodes/status/directions", test_directions);
	qtest_add_func("/t3/nodes/status/idle-after-a-stop", test_idle_after_a_stop);
	qtest_add_func("/t3/nodes/status/last-end", test_last_end);
}
