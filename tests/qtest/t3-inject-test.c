/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Faults injected through the fabric's property, and by a guest that is allowed to. */
#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "t3-test.h"

#define BYTES 256u

static QDict *set_inject(struct t3_vm *vm, const char *text)
{
	return qtest_qmp(vm->qts,
			 "{ 'execute': 'qom-set', 'arguments': { 'path': '/objects/f0', "
			 "'property': 'inject', 'value': %s } }",
			 text);
}

static void inject(struct t3_vm *vm, const char *text)
{
	QDict *response = set_inject(vm, text);

	g_assert_true(qdict_haskey(response, "return"));
	qobject_unref(response);
}

static void refused(struct t3_vm *vm, const char *text, const char *sentence)
{
	QDict *response = set_inject(vm, text);

	g_assert_true(qdict_haskey(response, "error"));
	g_assert_cmpstr(qdict_get_str(qdict_get_qdict(response, "error"), "desc"), ==, sentence);
	qobject_unref(response);
}

/* Space 1 of rank 0 stores to segment 4 of space 30 of rank 1. */
struct pair {
	struct t3_test_space source, target;
};

static struct pair pair_armed(struct t3_vm *vm)
{
	struct pair pair = { space_create(&vm->dev[0], 1, 1), space_create(&vm->dev[1], 30, 2) };
	struct t3_cmd_seg_map map;

	space_route(&pair.source, &pair.target);
	space_import(&pair.target, &pair.source);
	map = seg_args(&pair.target, 4, 0, BYTES, T3_SEG_LOCAL, 1);
	seg_map(&pair.target, &map);
	map = seg_args(&pair.source, 0, 0, BYTES, T3_SEG_REMOTE, 1);
	map.target_segment = 4;
	seg_map(&pair.source, &map);
	db_arm(&pair.target, 1);
	db_arm(&pair.source, 1);
	wait_state(&pair.source, T3_SPACE_ARMED, 1);
	return pair;
}

static void store_all(struct pair *pair)
{
	uint32_t i;

	for (i = 0; i < BYTES; i += 4)
		store32(&pair->source, i, i);
}

/* At run time: injected faults that the link repairs are counted. */
static void test_link_injection(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_armed(vm);
	uint32_t i, got;

	inject(vm, "drop rank=0 peer=1 nth=3; duplicate rank=0 peer=1 nth=5 count=2;"
		   " corrupt rank=0 peer=1 nth=9");
	store_all(&pair);
	wait_state(&pair.source, T3_SPACE_COMPLETE, 1);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < BYTES; i += 4) {
		mem_read(pair.target.dev, pair.target.buffer + i, &got, 4);
		g_assert_cmphex(got, ==, i);
	}
	g_assert_cmpuint(counter(pair.source.dev, T3_COUNTER_INJECTED), ==, 4);
	g_assert_cmpuint(counter(pair.target.dev, T3_COUNTER_LINK_ERRORS), ==, 1);
	g_assert_cmpuint(counter(pair.target.dev, T3_COUNTER_LINK_DUPLICATES), ==, 2);
	vm_end(vm);
}

static void test_poison(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_armed(vm);
	g_autofree char *text =
		g_strdup_printf("poison rank=1 address=0x%" PRIx64 " value=64", pair.target.buffer);

	inject(vm, text);
	store32(&pair.source, 0, 1);
	wait_state(&pair.target, T3_SPACE_FAULTED, 1);
	expect_fault(&pair.target, T3_FAULT_POISON);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	g_assert_cmphex(reg_read64(pair.target.dev, T3_REG_POISON_ADDRESS), ==, pair.target.buffer);
	g_assert_cmphex(errors_take(pair.target.dev) & T3_ERROR_POISON, ==, T3_ERROR_POISON);
	inject(vm, "unpoison rank=1");
	local_space(&vm->dev[1], 900, 1, 8, 8, 1);
	vm_end(vm);
}

static void test_link_down(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_armed(vm);

	inject(vm, "link-down rank=0 peer=1");
	store32(&pair.source, 0, 1);
	wait_state(&pair.source, T3_SPACE_FAULTED, 1);
	expect_fault(&pair.source, T3_FAULT_LINK);
	inject(vm, "link-up rank=0 peer=1");
	vm_end(vm);
}

/* The sentence says which word is wrong and what is allowed; nothing is in force then. */
static void test_refused(void)
{
	struct t3_vm *vm = vm_start(2, "");
	struct pair pair = pair_armed(vm);

	refused(vm, "drop rank=0 peer=1; dorp rank=0 peer=1",
		"inject: 'dorp' is no kind of fault: allowed are drop, duplicate, corrupt, "
		"reorder, delay, drop-response, link-down, link-up, link-random, poison, unpoison, "
		"lose-irq, fail-dma, hang-queue, unhang-queue, port-reset, node-cut, node-stall, "
		"node-random");
	refused(vm, "drop rank=0", "inject: drop needs peer");
	refused(vm, "drop rank=0 peer=9", "inject: drop: there is no link from rank=0 to peer=9");
	refused(vm, "poison rank=1 address=0x100000000000 value=64",
		"inject: poison: address and value lead beyond the device's memory");
	inject(vm, "");
	store_all(&pair);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	g_assert_cmpuint(counter(pair.source.dev, T3_COUNTER_INJECTED), ==, 0);
	vm_end(vm);
}

/* Given with the fabric, before any device is there. */
static void test_at_start(void)
{
	struct t3_vm *vm = vm_start_raw(
		"-object \"t3-fabric,id=f0,ranks=2,inject=drop rank=0 peer=1 nth=4;"
		"poison rank=1 address=0x100000 value=64\" "
		"-device t3,fabric=f0,rank=0,addr=4,memory-size=64M,aperture-size=32M "
		"-device t3,fabric=f0,rank=1,addr=5,memory-size=64M,aperture-size=32M");
	struct pair pair;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		vm->dev[i] = (struct t3_test_dev){ .vm = vm, .qts = vm->qts, .rank = i };
		vm->dev[i].pci.bus = vm->bus;
		vm->dev[i].pci.devfn = QPCI_DEVFN(i + 4, 0);
		dev_map(&vm->dev[i]);
	}
	vm->count = 2;
	pair = pair_armed(vm);
	store_all(&pair);
	wait_state(&pair.target, T3_SPACE_COMPLETE, 1);
	g_assert_cmpuint(counter(pair.source.dev, T3_COUNTER_INJECTED), ==, 1);
	vm_end(vm);
}

static void test_guest(void)
{
	struct t3_cmd_inject down = { .kind = T3_INJECT_LINK_DOWN, .rank = 0, .peer = 1 };
	struct t3_cmd_link_query query = { .peer_rank = 1 };
	struct t3_vm *vm = vm_start(2, "");

	g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_CAPS) & T3_CAP_INJECT, ==, 0);
	g_assert_cmpuint(admin(&vm->dev[0], T3_CMD_INJECT, &down, sizeof(down)), ==,
			 T3_ADMIN_BAD_OPCODE);
	vm_end(vm);
	vm = vm_start(2, "-global t3.guest-inject=on");
	g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_CAPS) & T3_CAP_INJECT, ==, T3_CAP_INJECT);
	admin_ok(&vm->dev[0], T3_CMD_INJECT, &down, sizeof(down));
	admin_ok(&vm->dev[0], T3_CMD_LINK_QUERY, &query, sizeof(query));
	g_assert_cmphex(query.flags, ==, T3_LINK_DOWN);
	down.rank = 1;
	down.peer = 0;
	g_assert_cmpuint(admin(&vm->dev[0], T3_CMD_INJECT, &down, sizeof(down)), ==,
			 T3_ADMIN_BAD_VALUE);
	vm_end(vm);
}

void add_inject_tests(void)
{
	qtest_add_func("/t3/inject/link", test_link_injection);
	qtest_add_func("/t3/inject/poison", test_poison);
	qtest_add_func("/t3/inject/link-down", test_link_down);
	qtest_add_func("/t3/inject/refused", test_refused);
	qtest_add_func("/t3/inject/at-start", test_at_start);
	qtest_add_func("/t3/inject/guest", test_guest);
}
