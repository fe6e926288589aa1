/* SPDX-License-Identifier: GPL-2.0-or-later */
/* T3 qtests: BAR0 registers, SPEC.md section 1.1. */
#include "qemu/osdep.h"
#include "t3-test.h"

enum access { RO, RW, RW1C };

/* One line of SPEC.md's table; `mask`: the bits that a write of ones sets. */
struct reg {
	const char *name;
	uint32_t offset;
	unsigned int size;
	enum access access;
	uint64_t reset;
	uint64_t mask;
};

#define ANY_VALUE UINT64_MAX /* checked elsewhere */

/* Device of rank 1 of 4 on a ring, the second of two. */
static const struct reg regs[] = {
	{ "ID", 0x000, 4, RO, 0x57483354 },
	{ "VERSION", 0x004, 4, RO, T3_VERSION_VALUE },
	{ "CAPS", 0x008, 4, RO, 0x7bf },
	{ "CONTROL", 0x00c, 4, RO, 0 }, /* writing 1 is tested with the resets */
	{ "MEMORY_SIZE", 0x010, 8, RO, TEST_MEMORY },
	{ "APERTURE_SIZE", 0x018, 8, RO, TEST_APERTURE },
	{ "MAX_SPACES", 0x020, 4, RO, 1024 },
	{ "MAX_SEGMENTS", 0x024, 4, RO, 4096 },
	{ "FABRIC_ID", 0x028, 8, RO, ANY_VALUE },
	{ "RANK", 0x030, 4, RO, 1 },
	{ "RANKS", 0x034, 4, RO, 4 },
	{ "TOPOLOGY", 0x038, 4, RO, 1 },
	{ "TRACKER", 0x03c, 4, RO, 256 << 8 | 8 },
	{ "VCLOCK", 0x040, 8, RO, ANY_VALUE },
	{ "INCARNATION", 0x048, 4, RO, ANY_VALUE },
	{ "NODE_RANKS", 0x04c, 4, RO, 0xf },
	{ "ERROR_STATUS", 0x080, 4, RW1C, 0 },
	{ "ERROR_ENABLE", 0x084, 4, RW, 0, 0x1f },
	{ "EVENT_SUMMARY", 0x090, 4, RO, 0 },
	{ "QUEUE_VECTOR", 0x094, 4, RW, 0, 3 },
	{ "QUEUE_PENDING[0]", 0x098, 4, RW1C, 0 },
	{ "QUEUE_PENDING[1]", 0x09c, 4, RW1C, 0 },
	{ "QUEUE_ENABLE[0]", 0x0a0, 4, RW, 0, 0xffffffff },
	{ "QUEUE_ENABLE[1]", 0x0a4, 4, RW, 0, 0xffffffff },
	{ "MAX_QUEUES", 0x0a8, 4, RO, 64 },
	{ "MAX_FENCES", 0x0ac, 4, RO, 256 },
	{ "DMA_ADDRESS", 0x0b0, 8, RO, 0 },
	{ "SPACE_PENDING[0]", 0x100, 4, RW1C, 0 },
	{ "SPACE_PENDING[31]", 0x17c, 4, RW1C, 0 },
	{ "SPACE_ENABLE[0]", 0x180, 4, RW, 0, 0xffffffff },
	{ "SPACE_ENABLE[31]", 0x1fc, 4, RW, 0, 0xffffffff },
	{ "ADMIN_STATUS", 0x204, 4, RO, 0 },
	{ "MAILBOX, first", 0x300, 8, RW, 0, UINT64_MAX },
	{ "MAILBOX, last", 0x3f8, 8, RW, 0, UINT64_MAX },
	{ "COUNTER STORES", 0x400 + 8 * 6, 8, RO, 0 },
	{ "COUNTER INTERRUPTS", 0x400 + 8 * 20, 8, RO, 0 },
	{ "FENCE, first", 0x800, 8, RO, 0 },
	{ "FENCE, last", 0xff8, 8, RO, 0 },
	{ "QUEUE_TAIL, last", 0x10fc, 4, RO, 0 }, /* no queue: not taken, a guest error */
	{ "QUEUE_HEAD, last", 0x11fc, 4, RO, 0 },
	{ "QUEUE_STATE, last", 0x12fc, 4, RO, 0 },
};

static uint64_t read_sized(struct t3_test_dev *dev, const struct reg *reg)
{
	return reg->size == 8 ? reg_read64(dev, reg->offset) : reg_read(dev, reg->offset);
}

static void write_sized(struct t3_test_dev *dev, const struct reg *reg, uint64_t value)
{
	if (reg->size == 8)
		qtest_writeq(dev->qts, dev->regs + reg->offset, value);
	else
		reg_write(dev, reg->offset, value);
}

static void check_reg(const struct reg *reg, uint64_t got, uint64_t want)
{
	if (got != want)
		g_error("%s: 0x%" PRIx64 ", expected 0x%" PRIx64, reg->name, got, want);
}

static void test_reset_values(void)
{
	struct t3_vm *vm = vm_start(2, "");
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(regs); i++) {
		if (regs[i].reset != ANY_VALUE)
			check_reg(&regs[i], read_sized(&vm->dev[1], &regs[i]), regs[i].reset);
	}
	g_assert_cmphex(reg_read64(&vm->dev[0], T3_REG_FABRIC_ID), !=, 0);
	g_assert_cmphex(reg_read64(&vm->dev[0], T3_REG_FABRIC_ID), ==,
			reg_read64(&vm->dev[1], T3_REG_FABRIC_ID));
	g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_INCARNATION), !=, 0);
	g_assert_cmphex(reg_read(&vm->dev[0], T3_REG_RANK), ==, 0);
	vm_end(vm);
}

/* Read-only and write-1-to-clear registers at rest keep their value; RW take theirs. */
static void check_access(struct t3_test_dev *dev, const struct reg *reg)
{
	uint64_t before = read_sized(dev, reg);
	uint64_t pattern = 0xa5a5a5a5a5a5a5a5ull & reg->mask;

	if (reg->access == RW) {
		write_sized(dev, reg, reg->mask);
		check_reg(reg, read_sized(dev, reg), reg->mask);
		write_sized(dev, reg, pattern);
		check_reg(reg, read_sized(dev, reg), pattern);
		write_sized(dev, reg, 0);
		check_reg(reg, read_sized(dev, reg), 0);
	} else {
		write_sized(dev, reg, reg->offset == T3_REG_CONTROL ? 0 : ~before);
		errors_take(dev); /* writing a read-only register is a guest error */
		check_reg(reg, read_sized(dev, reg), reg->access == RW1C ? 0 : before);
	}
}

static void test_access(void)
{
	struct t3_vm *vm = vm_start(2, "");
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(regs); i++)
		check_access(&vm->dev[1], &regs[i]);
	vm_end(vm);
}

static void check_vector_reg(struct t3_test_dev *dev, uint32_t offset)
{
	unsigned int i;

	g_assert_cmphex(reg_read(dev, offset), ==, 0);
	for (i = 0; i < T3_MAX_VECTORS; i++) {
		reg_write(dev, offset, i);
		g_assert_cmphex(reg_read(dev, offset), ==, i);
	}
	g_assert_cmphex(errors_take(dev), ==, 0);
	reg_write(dev, offset, T3_MAX_VECTORS);
	g_assert_cmphex(reg_read(dev, offset), ==, T3_MAX_VECTORS - 1);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
}

static void test_vectors(void)
{
	struct t3_vm *vm = vm_start(1, "");

	check_vector_reg(&vm->dev[0], T3_REG_EVENT_VECTOR);
	check_vector_reg(&vm->dev[0], T3_REG_ERROR_VECTOR);
	vm_end(vm);
}

/* Both halves of a 64-bit register, and the mailbox in both widths. */
static void test_halves(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	g_assert_cmphex(reg_read(dev, T3_REG_MEMORY_SIZE), ==, TEST_MEMORY);
	g_assert_cmphex(reg_read(dev, T3_REG_MEMORY_SIZE + 4), ==, 0);
	qtest_writeq(vm->qts, dev->regs + T3_REG_MAILBOX + 8, 0x1122334455667788);
	g_assert_cmphex(reg_read(dev, T3_REG_MAILBOX + 8), ==, 0x55667788);
	g_assert_cmphex(reg_read(dev, T3_REG_MAILBOX + 12), ==, 0x11223344);
	reg_write(dev, T3_REG_MAILBOX + 12, 0xcafe);
	g_assert_cmphex(reg_read64(dev, T3_REG_MAILBOX + 8), ==, 0xcafe55667788);
	g_assert_cmphex(errors_take(dev), ==, 0);
	vm_end(vm);
}

static void check_reserved(struct t3_test_dev *dev, uint32_t offset)
{
	g_assert_cmphex(reg_read(dev, offset), ==, 0);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	reg_write(dev, offset, 0xffffffff);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	g_assert_cmphex(reg_read(dev, offset), ==, 0);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
}

static void test_reserved(void)
{
	static const uint32_t offsets[] = {
		0x050,
		0x07c,
		0x0c0,
		0x0fc,
		0x208,
		0x2fc,
		T3_REG_COUNTERS + 8 * T3_COUNTER_COUNT,
		0x5fc,
		0x600,
		0x1300,
		0xfffc,
		0x10040,
		0x107fc,
		0x10808,
		0x11000,
		0x3ffffc,
	};
	struct t3_vm *vm = vm_start(1, "");
	unsigned int i;

	for (i = 0; i < G_N_ELEMENTS(offsets); i++)
		check_reserved(&vm->dev[0], offsets[i]);
	vm_end(vm);
}

/* 1 and 2 bytes anywhere, and 8 bytes at a 32-bit register. */
static void test_widths(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];
	uint64_t enable = dev->regs + T3_REG_ERROR_ENABLE;

	g_assert_cmphex(qtest_readb(vm->qts, dev->regs + T3_REG_ID), ==, 0);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	g_assert_cmphex(qtest_readw(vm->qts, dev->regs + T3_REG_ID), ==, 0);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	g_assert_cmphex(qtest_readq(vm->qts, dev->regs + T3_REG_ID), ==, 0);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	qtest_writeb(vm->qts, enable, 7);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	qtest_writew(vm->qts, enable, 7);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	qtest_writeq(vm->qts, dev->regs + T3_REG_EVENT_VECTOR, 0x300000003);
	g_assert_cmphex(errors_take(dev), ==, T3_ERROR_GUEST);
	g_assert_cmphex(reg_read(dev, T3_REG_ERROR_ENABLE), ==, 0);
	g_assert_cmphex(reg_read(dev, T3_REG_EVENT_VECTOR), ==, 0);
	vm_end(vm);
}

/* W1C of exactly the bits written. */
static void test_error_clear(void)
{
	struct t3_vm *vm = vm_start(1, "");
	struct t3_test_dev *dev = &vm->dev[0];

	qtest_readb(vm->qts, dev->regs);
	reg_write(dev, T3_REG_ERROR_STATUS, T3_ERROR_HOST_DMA | T3_ERROR_LINK);
	g_assert_cmphex(reg_read(dev, T3_REG_ERROR_STATUS), ==, T3_ERROR_GUEST);
	reg_write(dev, T3_REG_ERROR_STATUS, T3_ERROR_GUEST);
	g_assert_cmphex(reg_read(dev, T3_REG_ERROR_STATUS), ==, 0);
	vm_end(vm);
}

/* A device without fabric= has one of its own, and no two of those are the same. */
static void test_private_fabric(void)
{
	struct t3_vm *vm = vm_start(1, "-device t3,addr=5,memory-size=64M -device t3,addr=6");
	struct t3_test_dev lone = vm->dev[0], other = vm->dev[0];

	lone.rank = 1;
	lone.pci.devfn = QPCI_DEVFN(5, 0);
	dev_map(&lone);
	other.rank = 2;
	other.pci.devfn = QPCI_DEVFN(6, 0);
	dev_map(&other);
	g_assert_cmphex(reg_read(&lone, T3_REG_RANK), ==, 0);
	g_assert_cmphex(reg_read(&lone, T3_REG_RANKS), ==, 1);
	g_assert_cmphex(reg_read(&lone, T3_REG_TOPOLOGY), ==, T3_TOPOLOGY_NONE);
	g_assert_cmphex(reg_read64(&lone, T3_REG_FABRIC_ID), !=, 0);
	g_assert_cmphex(reg_read64(&lone, T3_REG_FABRIC_ID), !=,
			reg_read64(&other, T3_REG_FABRIC_ID));
	g_assert_cmphex(reg_read64(&lone, T3_REG_FABRIC_ID), !=,
			reg_read64(&vm->dev[0], T3_REG_FABRIC_ID));
	vm_end(vm);
}

void add_regs_tests(void)
{
	qtest_add_func("/t3/regs/reset-values", test_reset_values);
	qtest_add_func("/t3/regs/access", test_access);
	qtest_add_func("/t3/regs/vectors", test_vectors);
	qtest_add_func("/t3/regs/halves", test_halves);
	qtest_add_func("/t3/regs/reserved", test_reserved);
	qtest_add_func("/t3/regs/widths", test_widths);
	qtest_add_func("/t3/regs/error-clear", test_error_clear);
	qtest_add_func("/t3/regs/private-fabric", test_private_fabric);
}
