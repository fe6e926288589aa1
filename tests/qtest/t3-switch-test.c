/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: groups of a fabric with topology=switch (SPEC.md 17), and that fabric's properties. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "t3-test.h"

#define TARGET	1u /* spaces, in this slot */
#define SOURCE	2u
#define IMPORT	5u
#define ROUTE	7u
#define BYTES	4096u /* four packets */
#define ENTRIES "8"

struct group {
	uint32_t id, generation;
	struct t3_test_space target[RING], source[RING];
};

static struct t3_vm *start(const char *more, const char *options)
{
	g_autofree char *topology = g_strdup_printf("switch,switch-entries=" ENTRIES "%s", more);
	GString *all = fabric_options_of(topology, RING);
	struct t3_vm *vm;
	unsigned int i;

	for (i = 0; i < RING; i++) {
		device_options(all, i);
		g_string_append_printf(all, ",addr=%u ", i + 4);
	}
	g_string_append(all, options);
	vm = vm_start_raw(all->str);
	g_string_free(all, true);
	for (i = 0; i < RING; i++) {
		vm_add_dev(vm, QPCI_DEVFN(i + 4, 0));
		if (*options)
			dev_place(&vm->dev[i]);
		else
			dev_map(&vm->dev[i]);
	}
	return vm;
}

/* ------------------------------------------------------------------- groups */

static struct group create(struct t3_test_space *own, enum t3_group_kind kind, uint32_t members)
{
	struct t3_cmd_group_create args = { .space = own->id,
					    .kind = kind,
					    .import = kind == T3_GROUP_REDUCE ? IMPORT : 0,
					    .members = members };

	admin_ok(own->dev, T3_CMD_GROUP_CREATE, &args, sizeof(args));
	return (struct group){ .id = args.group, .generation = args.generation };
}

static void add_member(const struct group *group, struct t3_test_space *own, unsigned int number,
		       const struct t3_test_space *peer, uint32_t import)
{
	struct t3_cmd_group_member args = { .space = own->id,
					    .group = group->id,
					    .generation = group->generation,
					    .member = number,
					    .peer_rank = peer->dev->rank,
					    .peer_space = peer->id,
					    .peer_generation = peer->generation,
					    .peer_import = import };

	admin_ok(own->dev, T3_CMD_GROUP_MEMBER, &args, sizeof(args));
}

static void import(const struct group *group, struct t3_test_space *target, uint32_t updates)
{
	struct t3_cmd_import_set args = { .space = target->id,
					  .import = IMPORT,
					  .src_rank = T3_SWITCH_RANK,
					  .src_space = group->id,
					  .src_generation = group->generation,
					  .op_mask = 1u << T3_OP_ADD,
					  .segment_mask = 1 };
	struct t3_cmd_seg_map map = seg_args(target, 0, 0, BYTES, T3_SEG_LOCAL, 1);

	admin_ok(target->dev, T3_CMD_IMPORT_SET, &args, sizeof(args));
	map.updates = updates;
	seg_map(target, &map);
}

static void route(const struct group *group, struct t3_test_space *source, unsigned int member)
{
	struct t3_cmd_route_set args = { .space = source->id,
					 .route = ROUTE,
					 .peer_rank = T3_SWITCH_RANK,
					 .peer_space = group->id,
					 .peer_generation = group->generation,
					 .peer_import = member };
	struct t3_cmd_seg_map map = seg_args(source, 0, 0, BYTES, T3_SEG_DMA, 1);

	admin_ok(source->dev, T3_CMD_ROUTE_SET, &args, sizeof(args));
	map.routes = 1u << ROUTE;
	map.target_op = T3_OP_ADD;
	seg_map(source, &map);
}

/* The target is on rank 0, a source on each rank. All are armed. */
static struct group reduce(struct t3_vm *vm)
{
	struct t3_test_space target = space_create(&vm->dev[0], TARGET, TARGET), source;
	struct group group = create(&target, T3_GROUP_REDUCE, RING);
	unsigned int i;

	group.target[0] = target;
	import(&group, &target, RING);
	db_arm(&target, 1);
	for (i = 0; i < RING; i++) {
		source = group.source[i] = space_create(&vm->dev[i], SOURCE, SOURCE);
		add_member(&group, &target, i, &source, 0);
		route(&group, &source, i);
		db_arm(&source, 1);
		wait_state(&source, T3_SPACE_ARMED, 1);
	}
	return group;
}

static void store(struct t3_test_space *source, uint32_t first)
{
	uint32_t at;

	for (at = 0; at < BYTES; at += 4)
		store32(source, at, first + at);
}

static void check(struct t3_test_space *target, uint32_t count, uint32_t sum)
{
	uint32_t data[BYTES / 4], at;

	wait_state(target, T3_SPACE_COMPLETE, 1);
	mem_read(target->dev, target->buffer, data, sizeof(data));
	for (at = 0; at < BYTES; at += 4)
		g_assert_cmpuint(data[at / 4], ==, count * at + sum);
	g_assert_cmphex(errors_take(target->dev), ==, 0);
}

static struct t3_cmd_group_query query(const struct group *group, struct t3_test_space *own)
{
	struct t3_cmd_group_query args = { .space = own->id,
					   .group = group->id,
					   .generation = group->generation };

	admin_ok(own->dev, T3_CMD_GROUP_QUERY, &args, sizeof(args));
	return args;
}

static void test_reduce(void)
{
	struct t3_vm *vm = start("", "");
	struct group group = reduce(vm);
	unsigned int i;

	for (i = 0; i < RING; i++)
		store(&group.source[i], 1000 * i);
	check(&group.target[0], RING, 6000);
	g_assert_cmpuint(query(&group, &group.target[0]).merged, ==, 3 * 4);
	g_assert_cmpuint(query(&group, &group.target[0]).alone, ==, 0);
	vm_end(vm);
}

static void test_multicast(void)
{
	struct t3_vm *vm = start("", "");
	struct t3_test_space source = space_create(&vm->dev[0], SOURCE, SOURCE);
	struct group group = create(&source, T3_GROUP_MULTICAST, RING - 1);
	unsigned int i;

	route(&group, &source, 0);
	for (i = 1; i < RING; i++) {
		group.target[i] = space_create(&vm->dev[i], TARGET, TARGET);
		import(&group, &group.target[i], 1);
		add_member(&group, &source, i - 1, &group.target[i], IMPORT);
		db_arm(&group.target[i], 1);
	}
	db_arm(&source, 1);
	wait_state(&source, T3_SPACE_ARMED, 1);
	store(&source, 77);
	for (i = 1; i < RING; i++)
		check(&group.target[i], 1, 77);
	g_assert_cmpuint(query(&group, &source).copies, ==, 3 * 4);
	vm_end(vm);
}

/* ----------------------------------------------------------- states and records */

/* Two ranks have stored, so that entries wait for the others when the machine is saved. */
static void test_migrate(void)
{
	struct t3_vm *vm = start("", ""), *other = start("", "-incoming defer");
	struct group group = reduce(vm), moved;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		store(&group.source[i], 1000 * i);
		wait_state(&group.source[i], T3_SPACE_COMPLETE, 1);
	}
	g_assert_cmpuint(query(&group, &group.target[0]).entries, ==, 4);
	vm_move_to(vm, other);
	moved = group;
	moved.target[0].dev = &other->dev[0];
	for (i = 0; i < RING; i++)
		moved.source[i].dev = &other->dev[i];
	g_assert_cmpuint(query(&moved, &moved.target[0]).entries, ==, 4);
	g_assert_cmpuint(query(&moved, &moved.target[0]).merged, ==, 4);
	for (i = 2; i < RING; i++)
		store(&moved.source[i], 1000 * i);
	check(&moved.target[0], RING, 6000);
	g_assert_cmpuint(query(&moved, &moved.target[0]).merged, ==, 3 * 4);
	vm_end(other);
	vm_end(vm);
}

static void test_replay(void)
{
	g_autofree char *file = record_name(), *more = g_strdup_printf(",record=%s", file);
	struct t3_vm *vm = start(more, "");
	struct group group = reduce(vm);
	unsigned int i;

	for (i = 0; i < RING; i++)
		store(&group.source[i], 1000 * i);
	check(&group.target[0], RING, 6000);
	vm_end(vm);
	record_replay(file, "same: ");
	unlink(file);
}

/* --------------------------------------------------------------- from outside */

static QDict *get(struct t3_vm *vm, const char *property)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'qom-get', 'arguments': "
			 "{ 'path': '/objects/f0', 'property': %s } }",
			 property);
}

static QDict *nth(QDict *dict, const char *list, unsigned int index)
{
	const QListEntry *entry = qlist_first(qdict_get_qlist(dict, list));

	while (entry && index--)
		entry = qlist_next(entry);
	g_assert_nonnull(entry);
	return qobject_to(QDict, qlist_entry_obj(entry));
}

static void test_status(void)
{
	struct t3_vm *vm = start("", "");
	struct group group = reduce(vm);
	QDict *response, *sw, *port, *one, *link;

	store(&group.source[1], 0);
	wait_state(&group.source[1], T3_SPACE_COMPLETE, 1);
	response = get(vm, "status");
	sw = qdict_get_qdict(qdict_get_qdict(response, "return"), "switch");
	g_assert_nonnull(sw);
	g_assert_cmpuint(qlist_size(qdict_get_qlist(sw, "ports")), ==, RING);
	port = nth(sw, "ports", 1);
	g_assert_cmpint(qdict_get_int(port, "rank"), ==, 1);
	g_assert_cmpint(qdict_get_int(port, "entries"), ==, 8);
	g_assert_cmpint(qdict_get_int(port, "used"), ==, 4);
	g_assert_cmpint(qdict_get_int(port, "taken"), ==, 4);
	g_assert_cmpuint(qlist_size(qdict_get_qlist(sw, "groups")), ==, 1);
	one = nth(sw, "groups", 0);
	g_assert_cmpint(qdict_get_int(one, "group"), ==, group.id);
	g_assert_cmpstr(qdict_get_str(one, "kind"), ==, "reduce");
	g_assert_cmpstr(qdict_get_str(one, "state"), ==, "open");
	g_assert_cmpint(qdict_get_int(one, "rank"), ==, 0);
	g_assert_cmpint(qdict_get_int(one, "space"), ==, TARGET);
	g_assert_cmpint(qdict_get_int(one, "entries"), ==, 4);
	g_assert_cmpint(qdict_get_int(one, "done"), ==, 1 << 1);
	link = nth(qdict_get_qdict(response, "return"), "links", 3);
	g_assert_cmpint(qdict_get_int(link, "to"), ==, T3_SWITCH_RANK);
	qobject_unref(response);
	vm_end(vm);
}

static QDict *add(struct t3_vm *vm, const char *properties)
{
	g_autofree char *arguments =
		g_strdup_printf("{ 'qom-type': 't3-fabric', 'id': 'g', %s }", properties);

	return qtest_qmp(vm->qts, "{ 'execute': 'object-add', 'arguments': %p }",
			 qobject_from_json(arguments, &error_abort));
}

/* An error names the property, and what it may be. */
static void test_refused(void)
{
	struct t3_vm *vm = start("", "");
	QDict *response = get(vm, "switch-entries");

	g_assert_cmpint(qdict_get_int(response, "return"), ==, 8);
	qobject_unref(response);
	qmp_expect_error(vm, add(vm, "'topology': 'star'"), "topology='star'", "'switch'", NULL);
	qmp_expect_error(vm, add(vm, "'topology': 'switch', 'ranks': 1"), "ranks=1", "2 to 32",
			 NULL);
	qmp_expect_error(vm, add(vm, "'topology': 'switch', 'ranks': 33"), "ranks=33", NULL);
	qmp_expect_error(vm, add(vm, "'topology': 'switch', 'switch-entries': 0"),
			 "switch-entries=0", "1 to 16384", NULL);
	qmp_expect_error(vm, add(vm, "'topology': 'switch', 'switch-entries': 16385"),
			 "switch-entries=16385", "1 to 16384", NULL);
	qmp_expect_error(vm, add(vm, "'topology': 'ring', 'switch-entries': 8"), "switch-entries",
			 "topology=switch", NULL);
	qmp_expect_error(vm,
			 qtest_qmp(vm->qts, "{ 'execute': 'qom-set', 'arguments': { 'path': "
					    "'/objects/f0', 'property': 'switch-entries', "
					    "'value': 9 } }"),
			 "switch-entries", "created", NULL);
	vm_end(vm);
}

/* -------------------------------------------------------------------- nodes */

/* The target is on node 0, and a source on each of two nodes. All are armed, in slots from `more` on. */
static struct group reduce_over(struct t3_vm *const node[2], unsigned int more)
{
	unsigned int to = TARGET + more, from = SOURCE + more;
	struct t3_test_space target = space_create(&node[0]->dev[0], to, to), *source;
	struct group group = create(&target, T3_GROUP_REDUCE, 2);
	unsigned int i;

	group.target[0] = target;
	import(&group, &target, 2);
	db_arm(&target, 1);
	for (i = 0; i < 2; i++) {
		source = &group.source[i];
		*source = space_create(&node[i]->dev[0], from, from);
		add_member(&group, &target, i, source, 0);
		route(&group, source, i);
		db_arm(source, 1);
	}
	for (i = 0; i < 2; i++)
		wait_state(&group.source[i], T3_SPACE_ARMED, 1);
	return group;
}

/* Ranks of two QEMUs meet in the part of the one. The end of the other one ends the next group. */
static void test_nodes(void)
{
	struct t3_test_place place = place_new();
	struct t3_vm *node[2];
	struct group group;
	unsigned int i;

	place.more = "\"topology\": \"switch\", ";
	for (i = 0; i < 2; i++)
		node[i] = node_start(&place, i);
	await_node_state(node[0], "up");
	await_node_state(node[1], "up");
	group = reduce_over(node, 0);
	for (i = 0; i < 2; i++)
		store(&group.source[i], 1000 * i);
	check(&group.target[0], 2, 1000);
	g_assert_cmpuint(query(&group, &group.target[0]).merged, ==, 4);
	group = reduce_over(node, 2);
	vm_end(node[1]);
	wait_state(&group.target[0], T3_SPACE_FAULTED, 1);
	g_assert_cmpuint(query(&group, &group.target[0]).cause, ==, T3_FAULT_PEER_DEAD);
	g_assert_cmpuint(query(&group, &group.target[0]).cause_rank, ==, 1);
	vm_end(node[0]);
	place_free(&place);
}

void add_switch_tests(void)
{
	qtest_add_func("/t3/switch/reduce", test_reduce);
	qtest_add_func("/t3/switch/multicast", test_multicast);
	qtest_add_func("/t3/switch/migrate", test_migrate);
	qtest_add_func("/t3/switch/replay", test_replay);
	qtest_add_func("/t3/switch/status", test_status);
	qtest_add_func("/t3/switch/refused", test_refused);
	qtest_add_func("/t3/switch/nodes", test_nodes);
}
