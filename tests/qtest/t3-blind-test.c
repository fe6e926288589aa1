/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: a fuzzer on the bus that writes and never reads. With reset-generations=on the same
 * input has the same meaning after every reset. So small changes of the last input reach links,
 * packets and blocks (SPEC.md 2.1).
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "t3-test.h"

#define BYTES	64u
#define ROUNDS	60u
#define ENTRIES 512u
#define SPACE	7u

/* One write: at a device's registers, or at its aperture. */
struct entry {
	unsigned int rank, size;
	bool aperture;
	uint64_t offset, value;
};

struct tape {
	unsigned int count;
	struct entry entry[ENTRIES];
};

/* --------------------------------------------------------------------- writing */

static void put(struct tape *tape, struct entry entry)
{
	g_assert_cmpuint(tape->count, <, ENTRIES);
	tape->entry[tape->count++] = entry;
}

static void put_reg(struct tape *tape, unsigned int rank, uint64_t offset, uint32_t value)
{
	put(tape, (struct entry){ .rank = rank, .size = 4, .offset = offset, .value = value });
}

static void put_command(struct tape *tape, unsigned int rank, enum t3_admin_opcode opcode,
			const void *args, size_t size)
{
	const uint32_t *word = args;
	size_t i;

	for (i = 0; i < size / 4; i++)
		put_reg(tape, rank, T3_REG_MAILBOX + 4 * i, word[i]);
	put_reg(tape, rank, T3_REG_ADMIN_COMMAND, opcode);
}

static void put_space(struct tape *tape, struct t3_test_dev *dev)
{
	struct t3_cmd_space_create args = space_args(dev, SPACE, 0);

	put_command(tape, dev->rank, T3_CMD_SPACE_CREATE, &args, sizeof(args));
}

static void put_segment(struct tape *tape, unsigned int rank, uint32_t number,
			enum t3_segment_kind kind)
{
	struct t3_test_space space = { .id = SPACE };
	struct t3_cmd_seg_map args = seg_args(&space, number, number * BYTES, BYTES, kind, 1);

	put_command(tape, rank, T3_CMD_SEG_MAP, &args, sizeof(args));
}

static void put_arm(struct tape *tape, unsigned int rank)
{
	put_reg(tape, rank, T3_DOORBELL_BASE + SPACE * T3_PAGE_SIZE + T3_DB_ARM, 1);
}

static void put_stores(struct tape *tape)
{
	uint64_t offset;

	for (offset = 0; offset < 2 * BYTES; offset += 8)
		put(tape, (struct entry){ .size = 8,
					  .aperture = true,
					  .offset = offset,
					  .value = 0x100000001ull * offset });
}

/* Rank 0 sends segment 0 by DMA and segment 1 store by store. All generations are 1. */
static void put_all(struct tape *tape, struct t3_vm *vm)
{
	struct t3_cmd_route_set route = {
		.space = SPACE, .peer_rank = 1, .peer_space = SPACE, .peer_generation = 1
	};
	struct t3_cmd_import_set import = { .space = SPACE,
					    .src_space = SPACE,
					    .src_generation = 1,
					    .op_mask = 1u << T3_OP_ADD,
					    .segment_mask = 3 };

	put_space(tape, &vm->dev[0]);
	put_space(tape, &vm->dev[1]);
	put_command(tape, 0, T3_CMD_ROUTE_SET, &route, sizeof(route));
	put_command(tape, 1, T3_CMD_IMPORT_SET, &import, sizeof(import));
	put_segment(tape, 0, 0, T3_SEG_DMA);
	put_segment(tape, 0, 1, T3_SEG_REMOTE);
	put_segment(tape, 1, 0, T3_SEG_LOCAL);
	put_segment(tape, 1, 1, T3_SEG_LOCAL);
	put_arm(tape, 1);
	put_arm(tape, 0);
	put_stores(tape);
}

/* -------------------------------------------------------------------- playing */

static void play(struct t3_vm *vm, const struct tape *tape)
{
	unsigned int i;

	for (i = 0; i < tape->count; i++) {
		const struct entry *entry = &tape->entry[i];
		struct t3_test_dev *dev = &vm->dev[entry->rank];
		uint64_t base = entry->aperture ? dev->aperture : dev->regs;

		if (entry->size == 8)
			qtest_writeq(vm->qts, base + entry->offset, entry->value);
		else
			qtest_writel(vm->qts, base + entry->offset, entry->value);
	}
}

static void change(struct tape *tape)
{
	struct entry *entry = &tape->entry[g_test_rand_int_range(0, tape->count)];

	switch (g_test_rand_int_range(0, 4)) {
	case 0:
		entry->value ^= BIT_ULL(g_test_rand_int_range(0, 8 * entry->size));
		break;
	case 1:
		entry->value = (uint32_t)g_test_rand_int();
		break;
	case 2:
		entry->rank ^= 1;
		break;
	default:
		*entry = tape->entry[g_test_rand_int_range(0, tape->count)];
	}
}

static void reset(struct t3_vm *vm)
{
	unsigned int i;

	for (i = 0; i < vm->count; i++) {
		dev_flr(&vm->dev[i]);
		dev_map(&vm->dev[i]);
	}
}

static void expect_reached(struct t3_vm *vm)
{
	struct t3_test_dev *from = &vm->dev[0], *to = &vm->dev[1];

	g_assert_cmpuint(counter(from, T3_COUNTER_DMA_BYTES), ==, BYTES);
	g_assert_cmpuint(counter(to, T3_COUNTER_NMC_ELEMENTS), ==, 2 * BYTES / 4);
	g_assert_cmpuint(counter(to, T3_COUNTER_NAKS), ==, 0);
	g_assert_cmphex(errors_take(from) | errors_take(to), ==, 0);
}

/* Seeded by --seed. The effects of a changed input end with the reset. */
static void test_changed_inputs(void)
{
	struct t3_vm *vm = vm_start(2, "-global t3.reset-generations=on");
	struct tape tape = { 0 }, changed;
	unsigned int round, changes, sent = 0;

	put_all(&tape, vm);
	for (round = 0; round < ROUNDS; round++) {
		reset(vm);
		changed = tape;
		for (changes = 1 + round % 3; changes; changes--)
			change(&changed);
		play(vm, &changed);
		sent += counter(&vm->dev[0], T3_COUNTER_LINK_TX_PACKETS) != 0;
		if (round % 4)
			continue;
		reset(vm);
		play(vm, &tape);
		expect_reached(vm);
	}
	g_assert_cmpuint(sent, >, ROUNDS / 4);
	vm_end(vm);
}

/* Each kind of function reset sets them to 1. Without the property none does. */
static void test_generations(void)
{
	struct t3_vm *vm = vm_start(2, "-global t3.reset-generations=on");
	struct t3_test_dev *dev = &vm->dev[0];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		g_assert_cmpuint(space_create(dev, 3, 0).generation, ==, 1);
		if (i == 0)
			dev_flr(dev);
		else if (i == 1)
			reg_write(dev, T3_REG_CONTROL, T3_CONTROL_RESET);
		else
			qtest_system_reset(vm->qts);
		dev_map(dev);
	}
	g_assert_cmpuint(space_query(dev, 3).generation, ==, 1);
	vm_end(vm);
	vm = vm_start(1, "");
	dev_flr(&vm->dev[0]);
	dev_map(&vm->dev[0]);
	g_assert_cmpuint(space_query(&vm->dev[0], 3).generation, >, 1);
	vm_end(vm);
}

void add_blind_tests(void)
{
	qtest_add_func("/t3/blind/generations", test_generations);
	qtest_add_func("/t3/blind/changed-inputs", test_changed_inputs);
}
