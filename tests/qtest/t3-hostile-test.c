/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * T3 qtests: a driver that does everything wrong, with a fixed seed. QEMU must survive, and a reset
 * must make the device usable again. For longer searches set T3_SEED and T3_ROUNDS in the
 * environment.
 */
#include "qemu/osdep.h"
#include "hw/pci/pci_regs.h"
#include "t3-test.h"

#define SEED	0x7433
#define ROUNDS	12000 /* about two seconds */
#define DEVICES 3

static uint64_t rng;

static unsigned long setting(const char *name, unsigned long otherwise)
{
	const char *value = g_getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

static uint32_t random32(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return rng >> 32;
}

static uint32_t below(uint32_t limit)
{
	return random32() % limit;
}

/* Usually small, sometimes an edge, sometimes any number. */
static uint64_t odd_value(void)
{
	static const uint64_t edges[] = {
		0,
		1,
		0xffffffff,
		0x80000000,
		0xfffffffc,
		UINT64_MAX,
		1ull << 63,
		0xfff,
		0x1000,
		TEST_MEMORY,
		TEST_MEMORY - 16,
		TEST_APERTURE,
		TEST_APERTURE - 4096,
		1 << 20,
		1 << 24,
	};

	switch (below(4)) {
	case 0:
		return edges[below(G_N_ELEMENTS(edges))];
	case 1:
		return (uint64_t)random32() << 32 | random32();
	default:
		return below(8);
	}
}

static struct t3_test_dev *any_dev(struct t3_vm *vm)
{
	return &vm->dev[below(DEVICES)];
}

/* A bus address: memory, a BAR of this fabric, the local APIC, nothing. */
static uint64_t any_address(struct t3_vm *vm)
{
	struct t3_test_dev *dev = any_dev(vm);

	switch (below(7)) {
	case 0:
		return dev->regs + below(0x600);
	case 1:
		return dev->regs + T3_DOORBELL_BASE + below(4) * T3_PAGE_SIZE + below(8) * 4;
	case 2:
		return dev->aperture + below(0x2000);
	case 3:
		return dev->memory + below(4) * T3_PAGE_SIZE;
	case 4:
		return 0xfee00000 + below(16) * 0x1000;
	case 5:
		return odd_value();
	default:
		return EVENT_BASE + below(8) * T3_PAGE_SIZE;
	}
}

static void touch(struct t3_vm *vm, uint64_t address)
{
	uint8_t bytes[24];
	unsigned int i;

	switch (below(9)) {
	case 0:
		qtest_readb(vm->qts, address);
		break;
	case 1:
		qtest_readw(vm->qts, address);
		break;
	case 2:
		qtest_readl(vm->qts, address);
		break;
	case 3:
		qtest_readq(vm->qts, address);
		break;
	case 4:
		qtest_writeb(vm->qts, address, odd_value());
		break;
	case 5:
		qtest_writew(vm->qts, address, odd_value());
		break;
	case 6:
		qtest_writel(vm->qts, address, odd_value());
		break;
	case 7:
		qtest_writeq(vm->qts, address, odd_value());
		break;
	default:
		for (i = 0; i < sizeof(bytes); i++)
			bytes[i] = random32();
		qtest_memwrite(vm->qts, address, bytes, 1 + below(sizeof(bytes)));
	}
}

/* Registers, the MSI-X table, doorbells, the aperture, counter tables. */
static void random_access(struct t3_vm *vm)
{
	struct t3_test_dev *dev = any_dev(vm);

	switch (below(8)) {
	case 0:
		touch(vm, dev->regs + below(T3_BAR_REGS_SIZE));
		break;
	case 1:
		touch(vm, dev->regs + 4 * below(0x600 / 4));
		break;
	case 2:
		touch(vm, dev->regs + T3_DOORBELL_BASE + below(4) * T3_PAGE_SIZE + below(0x24));
		break;
	case 3:
		touch(vm, dev->memory + COUNTERS_BASE + below(4) * COUNTERS_SIZE + below(0x100));
		break;
	case 4:
		touch(vm, dev->aperture + below(TEST_APERTURE - 32));
		break;
	default:
		touch(vm, dev->aperture + below(4) * SPACE_SIZE + below(0x200));
	}
}

static void random_msix(struct t3_vm *vm)
{
	struct t3_test_dev *dev = any_dev(vm);
	uint64_t entry = T3_MSIX_TABLE + below(T3_MAX_VECTORS) * PCI_MSIX_ENTRY_SIZE;
	uint64_t address = any_address(vm);

	reg_write(dev, entry + PCI_MSIX_ENTRY_LOWER_ADDR, address);
	reg_write(dev, entry + PCI_MSIX_ENTRY_UPPER_ADDR, address >> 32);
	reg_write(dev, entry + PCI_MSIX_ENTRY_DATA, odd_value());
	reg_write(dev, entry + PCI_MSIX_ENTRY_VECTOR_CTRL, below(8) == 0);
	reg_write(dev, T3_REG_ERROR_ENABLE, random32() & T3_ERROR_ALL);
	reg_write(dev, T3_REG_SPACE_ENABLE, random32());
	reg_write(dev, T3_REG_EVENT_VECTOR, below(4));
}

/* ------------------------------------------------------ near-valid commands */

static void random_words(void *buf, size_t size)
{
	uint32_t *word = buf;
	size_t i;

	for (i = 0; i < size / 4; i++)
		word[i] = odd_value();
}

/* From time to time one word of a valid command is made wrong. */
static void spoil(void *buf, size_t size)
{
	uint32_t *word = buf;

	if (!below(3))
		word[below(size / 4)] = odd_value();
}

static void command_create(struct t3_vm *vm, struct t3_test_dev *dev)
{
	uint32_t id = below(4);
	struct t3_cmd_space_create args = space_args(dev, id, id);

	if (!below(3))
		args.event_area = any_address(vm) & ~0xfffull;
	spoil(&args, sizeof(args));
	admin(dev, T3_CMD_SPACE_CREATE, &args, sizeof(args));
}

static void command_map(struct t3_test_dev *dev)
{
	struct t3_test_space space = { .dev = dev, .id = below(4) };
	uint32_t rows = 1 + below(4), segment = below(3);
	struct t3_cmd_seg_map args =
		seg_args(&space, segment, segment * 0x80, 32, 1 + below(3), 1 + below(2));

	args.rows = rows;
	args.pitch = below(2) ? 32 : 40;
	args.tile_rows = 1 + below(rows);
	args.tile_row_bytes = 8 << below(3);
	args.dtype = below(T3_DTYPE_U8);
	args.target_segment = args.target_segment ? below(3) : 0;
	spoil(&args, sizeof(args));
	admin(dev, T3_CMD_SEG_MAP, &args, sizeof(args));
}

static void command_peers(struct t3_vm *vm, struct t3_test_dev *dev)
{
	struct t3_test_dev *peer = any_dev(vm);
	uint32_t mine = below(4), other = below(4);
	struct t3_cmd_space query = { .space = other };
	struct t3_cmd_route_set route = { mine, 0, peer->rank, other, 0, 0 };
	struct t3_cmd_import_set import = { mine, 0, peer->rank, other, 0, 0xf, ~0ull };

	admin(peer, T3_CMD_SPACE_QUERY, &query, sizeof(query));
	route.peer_generation = import.src_generation = query.generation;
	spoil(&route, sizeof(route));
	spoil(&import, sizeof(import));
	admin(dev, T3_CMD_ROUTE_SET, &route, sizeof(route));
	admin(dev, T3_CMD_IMPORT_SET, &import, sizeof(import));
}

static void command_staging(struct t3_test_dev *dev)
{
	struct t3_cmd_seg_staging args = {
		.space = below(4),
		.segment = below(3),
		.address = STAGING_BASE,
		.slot_stride = 0x200,
		.slots = below(5),
	};

	spoil(&args, sizeof(args));
	admin(dev, T3_CMD_SEG_STAGING, &args, sizeof(args));
}

static void command_any(struct t3_test_dev *dev)
{
	uint32_t args[32];

	random_words(args, sizeof(args));
	admin(dev, odd_value(), args, sizeof(args));
}

static void command_space(struct t3_test_dev *dev)
{
	struct t3_cmd_space args = { .space = below(4) };

	admin(dev, T3_CMD_SPACE_DISABLE + below(4), &args, sizeof(args));
}

static void random_command(struct t3_vm *vm)
{
	struct t3_test_dev *dev = any_dev(vm);

	switch (below(12)) {
	case 0:
		command_any(dev);
		break;
	case 1:
		command_space(dev);
		break;
	case 2:
	case 3:
		command_create(vm, dev);
		break;
	case 4:
		command_staging(dev);
		break;
	case 5:
	case 6:
		command_peers(vm, dev);
		break;
	default:
		command_map(dev);
	}
}

static void space_reset(struct t3_test_dev *dev, uint32_t id)
{
	struct t3_cmd_space args = { .space = id };

	admin(dev, T3_CMD_SPACE_RESET, &args, sizeof(args));
}

/* Stores and doorbells that a space armed by command_map() may accept. */
static void good_stores(struct t3_test_space *space)
{
	unsigned int i, count = below(12);

	for (i = 0; i < count; i++) {
		uint64_t offset = below(3) * 0x80 + below(4) * 8;

		if (below(2))
			store64(space, offset, odd_value());
		else
			store32(space, offset, odd_value());
	}
	if (!below(3))
		db_tile(space, below(3), below(2), below(4));
}

/* Both sides get the same epoch, so that some become armed. */
static void random_arm(struct t3_vm *vm)
{
	unsigned int i;

	for (i = 0; i < DEVICES * 4; i++) {
		struct t3_test_space space = { .dev = &vm->dev[i % DEVICES], .id = i / DEVICES };
		uint64_t state = db_state(&space);

		space.aperture = space.dev->aperture + space.id * SPACE_SIZE;

		if (state >> 32 == T3_SPACE_IDLE)
			db_arm(&space, (uint32_t)state + 1);
		else if (state >> 32 == T3_SPACE_COMPLETE)
			db_release(&space, state);
		else if (state >> 32 == T3_SPACE_FAULTED)
			space_reset(space.dev, space.id);
		else if (state >> 32 == T3_SPACE_ARMED)
			good_stores(&space);
	}
}

static void random_reset(struct t3_vm *vm)
{
	struct t3_test_dev *dev = any_dev(vm);

	switch (below(3)) {
	case 0:
		dev_flr(dev);
		dev_map(dev);
		msix_setup(dev);
		break;
	case 1:
		reg_write(dev, T3_REG_CONTROL, T3_CONTROL_RESET);
		break;
	default:
		qpci_config_writew(&dev->pci, PCI_COMMAND,
				   PCI_COMMAND_MEMORY | (below(4) ? PCI_COMMAND_MASTER : 0));
	}
}

static void step(struct t3_vm *vm)
{
	uint32_t what = below(10000);

	if (what < 4)
		random_reset(vm);
	else if (what < 300)
		random_arm(vm);
	else if (what < 350)
		random_msix(vm);
	else if (what < 1300)
		random_command(vm);
	else
		random_access(vm);
}

/* The number of accepted actions: if all were refused, the test would show nothing. */
struct reached {
	uint64_t stores, triggers, packets, faults;
};

static void sample(struct t3_test_dev *dev, struct reached *reached)
{
	reached->stores += counter(dev, T3_COUNTER_STORES);
	reached->triggers += counter(dev, T3_COUNTER_TRIGGERS);
	reached->packets += counter(dev, T3_COUNTER_LINK_RX_PACKETS);
	reached->faults += counter(dev, T3_COUNTER_FAULTS);
}

static struct reached run(struct t3_vm *vm)
{
	unsigned long i, rounds = setting("T3_ROUNDS", ROUNDS);
	struct reached reached = { 0 };

	alarm(60 + rounds / 1000);
	for (i = 0; i < rounds; i++) {
		step(vm);
		if (i % 100 == 0)
			sample(any_dev(vm), &reached);
	}
	return reached;
}

static void test_hostile(void)
{
	struct t3_vm *vm = vm_start(DEVICES, "");
	struct reached reached;
	unsigned int i;

	rng = setting("T3_SEED", SEED);
	for (i = 0; i < DEVICES; i++)
		msix_setup(&vm->dev[i]);
	reached = run(vm);
	g_test_message("stores %" PRIu64 ", triggers %" PRIu64 ", packets %" PRIu64
		       ", faults %" PRIu64,
		       reached.stores, reached.triggers, reached.packets, reached.faults);
	g_assert_cmpuint(reached.stores, >, 0);
	g_assert_cmpuint(reached.triggers, >, 0);
	g_assert_cmpuint(reached.packets, >, 0);
	g_assert_cmpuint(reached.faults, >, 0);
	qtest_system_reset(vm->qts);
	for (i = 0; i < DEVICES; i++) {
		dev_map(&vm->dev[i]);
		local_space(&vm->dev[i], 0, 0, 8, 8, 1);
	}
	vm_end(vm);
}

void add_hostile_tests(void)
{
	qtest_add_func("/t3/hostile/random", test_hostile);
}
