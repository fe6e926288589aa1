/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: a fabric that spans two QEMUs, by Unix and TCP sockets. SPEC.md section 16. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/sockets.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "t3-test.h"

static void set_running(struct t3_vm *vm, bool running)
{
	qtest_qmp_assert_success(vm->qts,
				 running ? "{ 'execute': 'cont' }" : "{ 'execute': 'stop' }");
}

/* ------------------------------------------------------------------- stores */

/* More packets than a link has slots. */
static void run_pair(struct t3_vm *a, struct t3_vm *b, unsigned int slot)
{
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], slot, 4096);

	pair_complete(&pair, 4096);
	g_assert_cmpuint(counter(&b->dev[0], T3_COUNTER_LINK_RX_PACKETS), >=, 512);
	g_assert_cmphex(errors_take(&a->dev[0]) | errors_take(&b->dev[0]), ==, 0);
}

static void test_pair_at(const struct t3_test_place *place)
{
	struct t3_vm *a = node_start(place, 0), *b = node_start(place, 1);

	run_pair(a, b, 1);
	run_pair(b, a, 4);
	vm_end(b);
	vm_end(a);
}

static void test_unix(void)
{
	struct t3_test_place place = place_new();

	test_pair_at(&place);
	place_free(&place);
}

static void test_tcp(void)
{
	struct t3_test_place place = place_new();

	place_on_tcp(&place);
	test_pair_at(&place);
	place_free(&place);
}

/* ------------------------------------------------------------ shared memory */

static void expect_transport(struct t3_vm *vm, const char *transport)
{
	QDict *peer = node_peer(vm);

	g_assert_cmpstr(qdict_get_str(peer, "transport"), ==, transport);
	qobject_unref(peer);
}

/* Both nodes share memory, or they go on with the socket: where one of them does without. */
static void check_shared(bool a_shares, bool b_shares)
{
	const char *transport = a_shares && b_shares ? "shared-memory" : "unix";
	struct t3_test_place place = place_new();
	struct t3_vm *a, *b;

	place.more = a_shares ? NULL : "\"shared-memory\": false, ";
	a = node_start(&place, 0);
	place.more = b_shares ? NULL : "\"shared-memory\": false, ";
	b = node_start(&place, 1);
	run_pair(a, b, 1);
	run_pair(b, a, 4);
	expect_transport(a, transport);
	expect_transport(b, transport);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

static void test_shared(void)
{
	check_shared(true, true);
	check_shared(true, false);
	check_shared(false, true);
}

/* -------------------------------------------------------------- lost nodes */

/* The pair ends in a fault, and a node that has started again works. */
static void test_lost_node(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 1, 64);
	uint32_t fault;

	vm_end(b);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	fault = event_read(&pair.source).fault.kind; /* LINK, if a packet was not yet answered */
	g_assert_true(fault == T3_FAULT_PEER_DEAD || fault == T3_FAULT_LINK);
	b = node_start(&place, 1);
	errors_take(&a->dev[0]);
	run_pair(a, b, 2);
	vm_end(a);
	a = node_start(&place, 0);
	run_pair(a, b, 3);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/*
 * A stop shorter than node-timeout is no fault, though it is longer than its default. While a machine is
 * stopped, nothing in its memory changes.
 */
static void test_stopped_node(void)
{
	struct t3_test_place place = place_new();
	struct t3_test_pair pair;
	uint32_t value = 1, i;
	struct t3_vm *a, *b;

	place.more = "\"node-timeout\": 60000, ";
	a = node_start(&place, 0);
	b = node_start(&place, 1);
	pair = remote_pair(&a->dev[0], &b->dev[0], 1, 64);

	set_running(b, false);
	for (i = 0; i < 64; i += 4)
		store32(&pair.source, i, 7);
	g_usleep(6000000);
	mem_read(&b->dev[0], pair.target.buffer, &value, sizeof(value));
	g_assert_cmpuint(value, ==, 0);
	set_running(b, true);
	wait_state(&pair.source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	mem_read(&b->dev[0], pair.target.buffer, &value, sizeof(value));
	g_assert_cmpuint(value, ==, 7);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* One that is stopped for longer is lost. */
static void test_node_timeout(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b = node_start(&place, 1);
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], 1, 64);
	QDict *peer;

	set_running(b, false);
	store32(&pair.source, 0, 7);
	await_node_state(a, "waiting");
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	peer = node_peer(a);
	g_assert_cmpstr(qdict_get_str(peer, "last-end"), ==, "the node is silent");
	qobject_unref(peer);
	set_running(b, true);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* ----------------------------------------------------------------- deletion */

/* A removed device keeps its fabric, which has no connections any more. */
static void test_deleted(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *vm = node_start(&place, 0);
	QDict *response;

	dev_take_out(vm, 0);
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'object-del', 'arguments': { 'id': 'f0' } }");
	response = qtest_qmp(vm->qts, "{ 'execute': 'qom-get', 'arguments': { 'path': "
				      "'/machine/peripheral/d0/fabric', 'property': 'status' } }");
	g_assert_true(qlist_empty(qdict_get_qlist(qdict_get_qdict(response, "return"), "nodes")));
	qobject_unref(response);
	vm_end(vm);
	place_free(&place);
}

/* ---------------------------------------------------------------- strangers */

/* They send nothing sensible, or nothing, and the nodes work. */
static void test_strangers(void)
{
	static const char junk[] =
		"GET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n"
		"GET / HTTP/1.0\r\n\r\n";
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b;
	int fd[3];
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(fd); i++) {
		fd[i] = unix_connect(place.path, &error_abort);
		g_assert_cmpint(write(fd[i], junk, sizeof(junk) - i), ==, sizeof(junk) - i);
	}
	b = node_start(&place, 1);
	run_pair(a, b, 1);
	for (i = 0; i < G_N_ELEMENTS(fd); i++)
		close(fd[i]);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* --------------------------------------------------------------- properties */

static void expect_refused(struct t3_vm *vm, const char *json, const char *first,
			   const char *second)
{
	g_autofree char *arguments =
		g_strdup_printf("{ 'qom-type': 't3-fabric', 'id': 'g', %s }", json);
	QObject *parsed = qobject_from_json(arguments, &error_abort);

	qmp_expect_error(vm,
			 qtest_qmp(vm->qts, "{ 'execute': 'object-add', 'arguments': %p }", parsed),
			 first, second, NULL);
}

#define TWO \
	"'nodes': [ { 'ranks': 1, 'address': { 'type': 'unix', 'path': '/x' } }, { 'ranks': 1 } ]"

static void test_refusals(void)
{
	struct t3_vm *vm = vm_start_raw("-object iothread,id=io");

	expect_refused(vm, "'node': 1", "node, uuid, tls-creds", "need nodes");
	expect_refused(vm, "'uuid': '" T3_TEST_UUID "'", "node, uuid, tls-creds", "need nodes");
	expect_refused(vm, "'tls-creds': 'x'", "tls-creds and node-timeout need", "nodes");
	expect_refused(vm, "'node-timeout': 5000", "tls-creds and node-timeout need", "nodes");
	expect_refused(vm, "'node-timeout': 999, " TWO, "node-timeout=999", "1000 to 60000 ms");
	expect_refused(vm, "'node-timeout': 60001, " TWO, "node-timeout=60001", "1000 to 60000 ms");
	expect_refused(vm, "'node-timeout': 0, " TWO, "node-timeout=0", "1000 to 60000 ms");
	expect_refused(vm, "'nodes': [ { 'ranks': 2 } ]", "nodes has 1", "2 to 32");
	expect_refused(vm,
		       "'nodes': [ { 'ranks': 0, 'address': { 'type': 'unix', 'path': '/x' } }, "
		       "{ 'ranks': 2 } ]",
		       "nodes.0.ranks is 0", "");
	expect_refused(vm, "'nodes': [ { 'ranks': 1 }, { 'ranks': 1 } ]", "nodes.0.address",
		       "missing");
	expect_refused(vm, "'ranks': 3, " TWO, "the nodes have 2 ranks", "has 3");
	expect_refused(vm, "'node': 2, " TWO, "node=2", "0 to 1");
	expect_refused(vm, TWO, "uuid=", "same UUID");
	expect_refused(vm, "'uuid': 'x', " TWO, "uuid=x", "same UUID");
	expect_refused(vm, "'uuid': '" T3_TEST_UUID "', " TWO, "needs iothread=", "");
	expect_refused(vm, "'iothread': 'io', 'record': '/x', 'uuid': '" T3_TEST_UUID "', " TWO,
		       "no record", "");
	expect_refused(vm,
		       "'iothread': 'io', 'uuid': '" T3_TEST_UUID
		       "', 'nodes': [ { 'ranks': 1, 'address': "
		       "{ 'type': 'unix', 'path': '/nonexistent/x' } }, { 'ranks': 1 } ]",
		       "/nonexistent/x", "");
	vm_end(vm);
}

static void test_no_migration(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0);
	QDict *response = qtest_qmp(a->qts, "{ 'execute': 'migrate', 'arguments': { 'uri': "
					    "'exec:cat >/dev/null' } }");

	qmp_expect_error(a, response, "several nodes", "cannot be migrated", NULL);
	response = qtest_qmp(a->qts, "{ 'execute': 'device_add', 'arguments': { 'driver': 't3', "
				     "'id': 'late', 'fabric': 'f0', 'rank': 1, 'bus': 'rp1' } }");
	qmp_expect_error(a, response, "rank=1", "another node", NULL);
	vm_end(a);
	place_free(&place);
}

void add_nodes_tests(void)
{
	qtest_add_func("/t3/nodes/refusals", test_refusals);
	qtest_add_func("/t3/nodes/unix", test_unix);
	qtest_add_func("/t3/nodes/tcp", test_tcp);
	qtest_add_func("/t3/nodes/shared-memory", test_shared);
	qtest_add_func("/t3/nodes/lost-node", test_lost_node);
	/* These fabrics have a thread anyway, and 6 seconds are long. */
	if (!g_getenv("T3_TEST_THREAD")) {
		qtest_add_func("/t3/nodes/stopped-node", test_stopped_node);
		qtest_add_func("/t3/nodes/node-timeout", test_node_timeout);
	}
	qtest_add_func("/t3/nodes/deleted", test_deleted);
	qtest_add_func("/t3/nodes/strangers", test_strangers);
	qtest_add_func("/t3/nodes/no-migration", test_no_migration);
}
