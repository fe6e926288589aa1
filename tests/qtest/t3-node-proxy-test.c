/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: the network between two QEMUs stops without a word: no end of the TCP connection comes.
 * A proxy between them plays it. SPEC.md section 16.2.
 */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include <poll.h>
#include "qemu/atomic.h"
#include "qemu/sockets.h"
#include "t3-test.h"

#define BYTES 256u
#define PAIRS 8u /* connections that may be open at once */

struct proxy {
	uint16_t port, target;
	int listener;
	int fd[PAIRS][2];  /* -1: none */
	bool frozen, stop; /* atomic */
	GThread *thread;
};

static struct sockaddr_in address_of(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void pair_close(struct proxy *proxy, unsigned int i)
{
	close(proxy->fd[i][0]);
	close(proxy->fd[i][1]);
	proxy->fd[i][0] = proxy->fd[i][1] = -1;
}

static void take_connection(struct proxy *proxy)
{
	struct sockaddr_in at = address_of(proxy->target);
	int fd = accept(proxy->listener, NULL, NULL);
	unsigned int i;

	for (i = 0; i < PAIRS && proxy->fd[i][0] >= 0; i++)
		;
	g_assert_cmpuint(i, <, PAIRS);
	proxy->fd[i][0] = fd;
	proxy->fd[i][1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(proxy->fd[i][1], (struct sockaddr *)&at, sizeof(at)))
		pair_close(proxy, i);
}

/* False: one end has closed. */
static bool pass(int from, int to)
{
	char data[4096];
	ssize_t got = recv(from, data, sizeof(data), MSG_DONTWAIT);

	if (got < 0 && errno == EAGAIN)
		return true;
	return got > 0 && send(to, data, got, MSG_NOSIGNAL) == got;
}

static void *run_proxy(void *opaque)
{
	struct proxy *proxy = opaque;
	struct pollfd at = { .fd = proxy->listener, .events = POLLIN };
	unsigned int i;

	while (!qatomic_read(&proxy->stop)) {
		g_usleep(1000);
		if (qatomic_read(&proxy->frozen))
			continue;
		if (poll(&at, 1, 0) > 0)
			take_connection(proxy);
		for (i = 0; i < PAIRS; i++)
			if (proxy->fd[i][0] >= 0 && (!pass(proxy->fd[i][0], proxy->fd[i][1]) ||
						     !pass(proxy->fd[i][1], proxy->fd[i][0])))
				pair_close(proxy, i);
	}
	return NULL;
}

static void proxy_start(struct proxy *proxy)
{
	struct sockaddr_in at;

	*proxy = (struct proxy){ .port = tcp_port(), .target = tcp_port() };
	memset(proxy->fd, -1, sizeof(proxy->fd));
	at = address_of(proxy->port);
	proxy->listener = socket(AF_INET, SOCK_STREAM, 0);
	g_assert_cmpint(bind(proxy->listener, (struct sockaddr *)&at, sizeof(at)), ==, 0);
	g_assert_cmpint(listen(proxy->listener, 16), ==, 0);
	proxy->thread = g_thread_new("proxy", run_proxy, proxy);
}

static void proxy_end(struct proxy *proxy)
{
	unsigned int i;

	qatomic_set(&proxy->stop, true);
	g_thread_join(proxy->thread);
	for (i = 0; i < PAIRS; i++)
		if (proxy->fd[i][0] >= 0)
			pair_close(proxy, i);
	close(proxy->listener);
}

static struct t3_vm *start_at(unsigned int node, uint16_t port)
{
	struct t3_test_place place = { .address = tcp_address(port) };
	struct t3_vm *vm = node_start(&place, node);

	g_free(place.address);
	return vm;
}

static void reduce(struct t3_vm *a, struct t3_vm *b, unsigned int slot)
{
	struct t3_test_pair pair = remote_pair(&a->dev[0], &b->dev[0], slot, BYTES);

	pair_complete(&pair, BYTES);
}

static void expect_silence(struct t3_vm *vm)
{
	QDict *peer = node_peer(vm);

	g_assert_cmpstr(qdict_get_str(peer, "last-end"), ==, "the node is silent");
	qobject_unref(peer);
}

/* Each node notices by itself, and what it has under way ends in a fault. Both come again. */
static void test_half_open(void)
{
	struct proxy proxy;
	struct t3_test_pair pair;
	struct t3_vm *a, *b;

	proxy_start(&proxy);
	a = start_at(0, proxy.target);
	b = start_at(1, proxy.port);
	pair = remote_pair(&a->dev[0], &b->dev[0], 1, BYTES);
	qatomic_set(&proxy.frozen, true);
	store32(&pair.source, 0, 1);
	await_node_state(a, "waiting");
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	expect_silence(a);
	qatomic_set(&proxy.frozen, false);
	await_node_state(b, "up");
	await_node_state(a, "up");
	errors_take(&a->dev[0]);
	errors_take(&b->dev[0]);
	reduce(a, b, 2);
	reduce(b, a, 5);
	vm_end(b);
	vm_end(a);
	proxy_end(&proxy);
}

void add_node_proxy_tests(void)
{
	/* These fabrics have a thread anyway, and 6 seconds are long. */
	if (!g_getenv("T3_TEST_THREAD"))
		qtest_add_func("/t3/nodes/half-open", test_half_open);
}
