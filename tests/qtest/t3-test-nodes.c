/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMUs that share one fabric, for the T3 qtests. */
#include "qemu/osdep.h"
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
		"-object iothread,id=io -object '{ \"qom-type\": \"t3-fabric\", \"id\": \"f0\", "
		"\"ranks\": 2, \"iothread\": \"io\", \"node\": %u, \"uuid\": \"" T3_TEST_UUID
		"\", \"nodes\": [ { \"ranks\": 1, \"address\": { %s } }, { \"ranks\": 1 } ] }' "
		"-device t3,id=d0,fabric=f0,rank=%u,memory-size=64M,aperture-size=32M,addr=4 "
		"-device pcie-root-port,id=rp1,chassis=1",
		node, place->address, node);
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
