/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: who connects to a node and is no node of its fabric, or not the right one. SPEC.md sections
 * 16.1 and 16.2.
 */
#include "qemu/osdep.h"
#include <poll.h>
#include "qapi/error.h"
#include "qemu/atomic.h"
#include "qemu/sockets.h"
#include "qemu/uuid.h"
#include "qobject/qdict.h"
#include "t3-test.h"

#define BYTES	  256u
#define GREETING  64u
#define REFUSAL	  12u
#define FD_MOST	  300u
#define STRANGERS 64u /* that a node hears at a time */
#define OTHER	  "00000000-0000-4000-8000-0123456789ab"

enum { REFUSED_FABRIC = 3, REFUSED_NODE = 5 };

/* Node 1's of node_start(), or another one's. */
static void fill_greeting(uint8_t *frame, const char *uuid, uint32_t node)
{
	const uint32_t head[2] = { 1, GREETING - 8 }, version[2] = { 3, 0 };
	const uint32_t rest[6] = { T3_TOPOLOGY_RING, 2, 2, node, 1u << node, 0 };
	QemuUUID id;

	g_assert_cmpint(qemu_uuid_parse(uuid, &id), ==, 0);
	memcpy(frame, head, 8);
	memcpy(frame + 8, "T3 NODE", 8);
	memcpy(frame + 16, version, 8);
	memcpy(frame + 24, id.data, 16);
	memcpy(frame + 40, rest, 24);
}

/* Reads until the end. Returns how much came. */
static size_t read_all(int fd, void *data, size_t size)
{
	size_t have = 0;
	ssize_t done;

	while (have < size && (done = recv(fd, (char *)data + have, size - have, 0)) > 0)
		have += done;
	return have;
}

static void say(int fd, const void *data, size_t len)
{
	g_assert_cmpint(send(fd, data, len, MSG_NOSIGNAL), ==, len);
}

static void expect_refusal(int fd, uint32_t reason)
{
	const uint32_t want[3] = { 6, 4, reason };
	uint8_t got[GREETING + REFUSAL] = { 0 };

	g_assert_cmpuint(read_all(fd, got, sizeof(got)), ==, REFUSAL);
	g_assert_cmpmem(got, REFUSAL, want, sizeof(want));
	close(fd);
}

static void reduce(struct t3_vm *a, struct t3_vm *b, unsigned int slot)
{
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], slot, BYTES);

	pair_complete(&pair, BYTES);
}

static int connect_tcp(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	g_assert_cmpint(connect(fd, (struct sockaddr *)&at, sizeof(at)), ==, 0);
	return fd;
}

/* A node whose warnings are in a file. */
static struct t3_vm *start_logged(const struct t3_test_place *place, unsigned int node,
				  const char *log)
{
	int fd = open(log, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600), own = dup(2);
	struct t3_vm *vm;

	g_assert_true(fd >= 0 && own >= 0);
	dup2(fd, 2);
	vm = node_start(place, node);
	dup2(own, 2);
	close(own);
	close(fd);
	return vm;
}

static unsigned int lines_with(const char *log, const char *word)
{
	g_autofree char *text = NULL;
	unsigned int count = 0;
	const char *at;

	g_assert_true(g_file_get_contents(log, &text, NULL, NULL));
	for (at = text; (at = strstr(at, word)); at++)
		count++;
	return count;
}

/* ------------------------------------------------------------ half a greeting */

struct flood {
	const char *path;
	bool stop; /* atomic */
	unsigned int come;
	int fd[FD_MOST];
};

/* Nearly all of node 1's greeting, of a version that says more: again and again, and all stay. */
static void *run_flood(void *opaque)
{
	struct flood *flood = opaque;
	const uint32_t length = 1000;
	uint8_t frame[GREETING];

	fill_greeting(frame, OTHER, 1);
	memcpy(frame + 4, &length, 4);
	memset(flood->fd, -1, sizeof(flood->fd));
	while (!qatomic_read(&flood->stop)) {
		int *fd = &flood->fd[flood->come % FD_MOST];

		if (*fd >= 0)
			close(*fd);
		*fd = unix_connect(flood->path, NULL);
		if (*fd >= 0 && send(*fd, frame, sizeof(frame), MSG_NOSIGNAL) == sizeof(frame))
			qatomic_set(&flood->come, flood->come + 1);
		g_usleep(flood->come < STRANGERS ? 0 : 10000);
	}
	for (unsigned int i = 0; i < FD_MOST; i++)
		if (flood->fd[i] >= 0)
			close(flood->fd[i]);
	return NULL;
}

/* The right node comes in meanwhile, more than once. */
static void test_half_greetings(void)
{
	struct t3_test_place place = place_new();
	struct flood flood = { .path = place.path };
	struct t3_vm *a = node_start(&place, 0), *b;
	GThread *thread = g_thread_new("flood", run_flood, &flood);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		while (qatomic_read(&flood.come) < (i + 1) * STRANGERS)
			g_usleep(1000);
		b = node_start(&place, 1);
		reduce(a, b, i);
		vm_end(b);
		await_node_state(a, "waiting");
		errors_take(&a->dev[0]);
	}
	qatomic_set(&flood.stop, true);
	g_thread_join(thread);
	vm_end(a);
	place_free(&place);
}

/* Of too many the oldest ends, and a whole greeting is heard among them. */
static void test_too_many(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *a = node_start(&place, 0), *b;
	int fd[3 * STRANGERS];
	uint8_t byte;
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(fd); i++)
		fd[i] = unix_connect(place.path, &error_abort);
	g_assert_cmpuint(read_all(fd[0], &byte, 1), ==, 0);
	b = node_start(&place, 1);
	reduce(a, b, 1);
	for (i = 0; i < G_N_ELEMENTS(fd); i++) /* each ends, in its time at the latest */
		g_assert_cmpuint(read_all(fd[i], &byte, 1), ==, 0);
	for (i = 0; i < G_N_ELEMENTS(fd); i++)
		close(fd[i]);
	reduce(a, b, 2);
	vm_end(b);
	vm_end(a);
	place_free(&place);
}

/* ------------------------------------------------------------------ refusals */

/*
 * The reason comes each time, whatever else was sent, and nothing but it: no greeting, which has the
 * fabric's identity.
 */
static void test_learns_nothing(void)
{
	struct t3_test_place place = place_new(), tcp = place_new();
	uint8_t frame[GREETING + 100] = { 0 }, byte;
	struct t3_vm *vm = node_start(&place, 0);
	uint16_t port = tcp_port();
	struct t3_vm *vm_tcp;
	unsigned int i;
	int fd;

	g_free(tcp.address);
	tcp.address = tcp_address(port);
	vm_tcp = node_start(&tcp, 0);
	fill_greeting(frame, OTHER, 1);
	for (i = 0; i < 200; i++) {
		fd = i % 2 ? connect_tcp(port) : unix_connect(place.path, &error_abort);
		say(fd, frame, i % 5);
		say(fd, frame + i % 5, GREETING - i % 5 + i % 3 * 50);
		expect_refusal(fd, REFUSED_FABRIC);
	}
	fill_greeting(frame, OTHER, 7);
	fd = unix_connect(place.path, &error_abort);
	say(fd, frame, GREETING);
	expect_refusal(fd, REFUSED_FABRIC);
	fill_greeting(frame, T3_TEST_UUID, 0);
	fd = unix_connect(place.path, &error_abort);
	say(fd, frame, GREETING);
	expect_refusal(fd, REFUSED_NODE);
	frame[8] = 'X';
	fd = unix_connect(place.path, &error_abort);
	say(fd, frame, GREETING);
	g_assert_cmpuint(read_all(fd, &byte, 1), ==, 0);
	close(fd);
	vm_end(vm_tcp);
	vm_end(vm);
	place_free(&tcp);
	place_free(&place);
}

/*
 * A refused client has a second to read why: the node ends its own side alone, and the connection
 * later. A busy host makes that later still.
 */
static void test_refused_has_its_time(void)
{
	struct t3_test_place place = place_new();
	uint8_t frame[GREETING], got[REFUSAL + 1];
	struct t3_vm *vm = node_start(&place, 0);
	struct pollfd end = { 0 };
	int64_t start;

	fill_greeting(frame, OTHER, 1);
	end.fd = unix_connect(place.path, &error_abort);
	start = g_get_monotonic_time();
	say(end.fd, frame, GREETING);
	g_assert_cmpuint(read_all(end.fd, got, sizeof(got)), ==, REFUSAL);
	g_assert_cmpint(poll(&end, 1, 60000), ==, 1);
	g_assert_cmpint(end.revents, ==, POLLHUP);
	g_assert_cmpint(g_get_monotonic_time() - start, >=, G_USEC_PER_SEC);
	close(end.fd);
	vm_end(vm);
	place_free(&place);
}

static QDict *await_last_end(struct t3_vm *vm, const char *word)
{
	unsigned int tries = 3000;

	for (;;) {
		QDict *peer = node_peer(vm);
		const char *last = qdict_get_try_str(peer, "last-end");

		if (last && strstr(last, word))
			return peer;
		qobject_unref(peer);
		g_assert_cmpuint(tries--, >, 0);
		g_usleep(10000);
	}
}

/*
 * The refused node says the reason once, and comes again after longer and longer pauses, which nothing
 * cuts short.
 */
static void test_refused_node(void)
{
	struct t3_test_place place = place_new(), other = place;
	g_autofree char *log = g_build_filename(place.folder, "log", NULL);
	int64_t start = g_get_monotonic_time();
	struct t3_vm *a = node_start(&place, 0), *b;
	unsigned int i;
	QDict *peer;

	other.more = "\"topology\": \"full\", ";
	b = start_logged(&other, 1, log);
	qobject_unref(await_last_end(b, "node 0 refused this node: to it, its topology"));
	for (i = 0; i < 250; i++) { /* each wakes who waits there */
		node_inject(b, "node-stall node=0 nth=0 ms=1");
		g_usleep(10000);
	}
	peer = await_last_end(b, "refused this node");
	g_assert_cmpint(qdict_get_int(peer, "connections"), >=, 1);
	g_assert_cmpint(qdict_get_int(peer, "connections"), <=,
			2 + (g_get_monotonic_time() - start) / G_USEC_PER_SEC);
	g_assert_cmpstr(qdict_get_str(peer, "state"), ==, "connecting");
	qobject_unref(peer);
	g_assert_cmpuint(lines_with(log, "refused this node"), ==, 1);
	vm_end(b);
	b = node_start(&place, 1);
	reduce(a, b, 1);
	vm_end(b);
	vm_end(a);
	unlink(log);
	place_free(&place);
}

/* The node that connects refuses, too: its reason comes before the end. */
static void test_refusing_node(void)
{
	struct t3_test_place place = place_new();
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint8_t frame[GREETING], got[GREETING];
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd;
	struct t3_vm *vm;
	unsigned int i;

	g_strlcpy(at.sun_path, place.path, sizeof(at.sun_path));
	g_assert_cmpint(bind(listener, (struct sockaddr *)&at, sizeof(at)), ==, 0);
	g_assert_cmpint(listen(listener, 1), ==, 0);
	vm = node_start(&place, 1);
	for (i = 0; i < 2; i++) {
		fd = accept(listener, NULL, NULL);
		g_assert_cmpuint(read_all(fd, got, GREETING), ==, GREETING);
		fill_greeting(frame, T3_TEST_UUID, 1);
		g_assert_cmpmem(got, GREETING, frame, GREETING);
		say(fd, frame, sizeof(frame)); /* its own number */
		expect_refusal(fd, REFUSED_NODE);
	}
	qobject_unref(await_last_end(vm, "node 0 is refused: its number"));
	close(listener);
	vm_end(vm);
	place_free(&place);
}

/* ---------------------------------------------------------------------- log */

/* Strangers write a few lines, and then their number. */
static void test_log(void)
{
	struct t3_test_place place = place_new();
	g_autofree char *log = g_build_filename(place.folder, "log", NULL);
	struct t3_vm *vm = start_logged(&place, 0, log);
	unsigned int i, tries = 6000;
	uint8_t frame[GREETING];

	fill_greeting(frame, OTHER, 1);
	for (i = 0; i < 100; i++) {
		int fd = unix_connect(place.path, &error_abort);

		say(fd, frame, sizeof(frame));
		expect_refusal(fd, REFUSED_FABRIC);
	}
	while (!lines_with(log, "more refused connections")) {
		g_assert_cmpuint(tries--, >, 0);
		g_usleep(10000);
	}
	g_assert_cmpuint(lines_with(log, "it belongs to another fabric"), <=, 50);
	g_assert_cmpuint(lines_with(log, "it belongs to another fabric"), >=, 5);
	vm_end(vm);
	unlink(log);
	place_free(&place);
}

void add_node_stranger_tests(void)
{
	qtest_add_func("/t3/nodes/stranger/half-greetings", test_half_greetings);
	qtest_add_func("/t3/nodes/stranger/too-many", test_too_many);
	qtest_add_func("/t3/nodes/stranger/learns-nothing", test_learns_nothing);
	qtest_add_func("/t3/nodes/stranger/refused-has-its-time", test_refused_has_its_time);
	qtest_add_func("/t3/nodes/stranger/refused-node", test_refused_node);
	qtest_add_func("/t3/nodes/stranger/refusing-node", test_refusing_node);
	/* These fabrics have a thread anyway, and 10 seconds are long. */
	if (!g_getenv("T3_TEST_THREAD"))
		qtest_add_func("/t3/nodes/stranger/log", test_log);
}
