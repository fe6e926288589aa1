/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMUs that share one fabric, for the T3 qtests. */
#include "qemu/osdep.h"
#include "qemu/sockets.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "t3-test.h"

struct t3_test_place place_new(void)
{
	struct t3_test_place place = { .folder = g_dir_make_tmp("t3-nodes-XXXXXX", NULL) };

	g_assert_nonnull(place.folder);
	place.path = g_strdup_printf("%s/0", place.folder);
	place.address = g_strdup_printf("\"type\": \"unix\", \"path\": \"%s\"", place.path);
	return place;
}

void place_free(struct t3_test_place *place)
{
	unlink(place->path);
	rmdir(place->folder);
	g_free(place->folder);
	g_free(place->address);
	g_free(place->path);
}

struct t3_vm *node_start(const struct t3_test_place *place, unsigned int node)
{
	g_autofree char *options = g_strdup_printf(
		"%s -object iothread,id=io -object '{ \"qom-type\": \"t3-fabric\", \"id\": \"f0\", "
		"\"ranks\": 2, \"iothread\": \"io\", \"node\": %u, \"uuid\": \"" T3_TEST_UUID
		"\", %s\"nodes\": [ { \"ranks\": 1, \"address\": { %s } }, { \"ranks\": 1 } ] }' "
		"-device t3,id=d0,fabric=f0,rank=%u,memory-size=64M,aperture-size=32M,addr=4 "
		"-device pcie-root-port,id=rp1,chassis=1",
		place->objects ?: "", node, place->more ?: "", place->address, node);
	struct t3_vm *vm = vm_start_raw(options);

	vm_add_dev(vm, QPCI_DEVFN(4, 0));
	vm->dev[0].rank = node;
	dev_map(&vm->dev[0]);
	return vm;
}

QDict *node_peer(struct t3_vm *vm)
{
	QDict *response = qtest_qmp(vm->qts, "{ 'execute': 'qom-get', 'arguments': {"
					     " 'path': '/objects/f0', 'property': 'status' } }");
	QList *nodes = qdict_get_qlist(qdict_get_qdict(response, "return"), "nodes");
	QDict *peer = qobject_to(QDict, qlist_peek(nodes));

	g_assert_cmpuint(qlist_size(nodes), ==, 1);
	qobject_ref(peer);
	qobject_unref(response);
	return peer;
}

void node_inject(struct t3_vm *vm, const char *text)
{
	qtest_qmp_assert_success(vm->qts,
				 "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/f0', "
				 "'property': 'inject', 'value': %s } }",
				 text);
}

static bool state_is(struct t3_vm *vm, const char *state)
{
	QDict *peer = node_peer(vm);
	bool is = g_str_equal(qdict_get_str(peer, "state"), state);

	qobject_unref(peer);
	return is;
}

void await_node_state(struct t3_vm *vm, const char *state)
{
	unsigned int tries = 3000;

	while (!state_is(vm, state)) {
		g_assert_cmpuint(tries--, >, 0);
		g_usleep(10000);
	}
}

uint16_t tcp_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	g_assert_cmpint(bind(fd, (struct sockaddr *)&at, size), ==, 0);
	g_assert_cmpint(getsockname(fd, (struct sockaddr *)&at, &size), ==, 0);
	close(fd);
	return ntohs(at.sin_port);
}

char *tcp_address(uint16_t port)
{
	return g_strdup_printf("\"type\": \"inet\", \"host\": \"127.0.0.1\", \"port\": \"%u\"",
			       port);
}

void place_on_tcp(struct t3_test_place *place)
{
	g_free(place->address);
	place->address = tcp_address(tcp_port());
}
