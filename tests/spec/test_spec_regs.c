/* SPDX-License-Identifier: MIT */
/*
 * The device against the register table of SPEC.md section 1.1, read from the manual
 * itself (tables.py): reset values, widths, access types, reserved offsets.
 */
#include "queue.h"
#include "spec_tables.h"
#include "test.h"

#define REGISTERS    (sizeof(spec_registers) / sizeof(spec_registers[0]))
#define RESERVED_END T3_MSIX_TABLE

struct bench {
	struct host *host;
	struct host_dev *d;
};

static struct bench bench_new(void)
{
	struct bench b = { .host = host_ring(3) };

	b.d = &b.host->dev[1];
	return b;
}

/* Guest errors since the last call. */
static uint32_t errors(struct host_dev *d)
{
	uint32_t count = d->guest_errors;

	d->guest_errors = 0;
	host_set(d, T3_REG_ERROR_STATUS, T3_ERROR_GUEST, 4);
	return count;
}

static bool present(struct host_dev *d, const struct spec_register *reg)
{
	return !reg->caps || (host_reg(d, T3_REG_CAPS) & reg->caps);
}

static const struct spec_register *register_at(struct host_dev *d, uint32_t offset)
{
	size_t i;

	for (i = 0; i < REGISTERS; i++) {
		const struct spec_register *reg = &spec_registers[i];

		if (offset >= reg->offset && offset < reg->offset + reg->count * reg->width &&
		    present(d, reg))
			return reg;
	}
	return NULL;
}

/* Calls check() with the offset of each word of each register that is there. */
static void each_word(struct host_dev *d,
		      void (*check)(struct host_dev *, const struct spec_register *, uint32_t))
{
	uint32_t word, before = 0, i;

	for (i = 0; i < REGISTERS; i++) {
		const struct spec_register *reg = &spec_registers[i];

		assert_true(!i || reg->offset >= before); /* no overlap */
		before = reg->offset + reg->count * reg->width;
		for (word = 0; present(d, reg) && word < reg->count; word++)
			check(d, reg, reg->offset + word * reg->width);
	}
}

static uint64_t get(struct host_dev *d, const struct spec_register *reg, uint32_t offset)
{
	return host_get(d, offset, reg->width);
}

/* ------------------------------------------------------------- reset values */

static void expect_reset(struct host_dev *d, const struct spec_register *reg, uint32_t offset)
{
	uint64_t value = get(d, reg, offset);

	if (reg->after_reset == SPEC_NUMBER && value != reg->reset)
		fail_msg("%s at 0x%x is 0x%llx after reset", reg->name, offset,
			 (unsigned long long)value);
	assert_int_equal(errors(d), 0);
}

static void disturb(struct host_dev *d, const struct spec_register *reg, uint32_t offset)
{
	if (reg->access == SPEC_RW && reg->writable)
		host_set(d, offset, reg->writable, reg->width);
}

TEST("registers have their reset values")
{
	struct bench b = bench_new();
	uint64_t fixed[REGISTERS];
	uint32_t how, i;

	each_word(b.d, expect_reset);
	for (i = 0; i < REGISTERS; i++)
		fixed[i] = present(b.d, &spec_registers[i])
				   ? get(b.d, &spec_registers[i], spec_registers[i].offset)
				   : 0;
	for (how = 0; how < 2; how++) {
		each_word(b.d, disturb);
		host_space(b.d, 7);
		host_local(b.d, 7, 0);
		host_store(b.d, 7, 0, 1, 4); /* a fault: counters move */
		if (how)
			host_set(b.d, T3_REG_CONTROL, T3_CONTROL_RESET, 4);
		else
			t3_dev_reset(b.d->dev);
		errors(b.d);
		each_word(b.d, expect_reset);
		for (i = 0; i < REGISTERS; i++)
			if (spec_registers[i].after_reset == SPEC_PROPERTY)
				assert_int_equal(get(b.d, &spec_registers[i],
						     spec_registers[i].offset),
						 fixed[i]);
	}
	host_free(b.host);
}

/* ------------------------------------------------------------------- widths */

static bool legal(const struct spec_register *reg, uint32_t offset, uint32_t width)
{
	return reg && offset % width == 0 && (width == 4 || (width == 8 && reg->width == 8));
}

static void check_width(struct host_dev *d, uint32_t offset, uint32_t width)
{
	const struct spec_register *reg = register_at(d, offset);
	uint64_t before;

	if (legal(reg, offset, width)) {
		host_get(d, offset, width);
		assert_int_equal(errors(d), 0);
		return;
	}
	assert_int_equal(host_get(d, offset, width), 0);
	assert_int_equal(errors(d), 1);
	before = reg ? get(d, reg, offset & ~(reg->width - 1)) : 0;
	host_set(d, offset, HOST_NONE64, width);
	if (errors(d) != 1)
		fail_msg("a write of %u bytes at 0x%x is no guest error", width, offset);
	if (reg)
		assert_int_equal(get(d, reg, offset & ~(reg->width - 1)), before);
}

TEST("registers report accesses of other widths")
{
	struct bench b = bench_new();
	uint32_t incarnation = host_reg(b.d, T3_REG_INCARNATION), offset, width;

	for (offset = 0; offset < T3_REG_END; offset++)
		for (width = 1; width <= 8; width *= 2)
			check_width(b.d, offset, width);
	/* None of that was a reset, which CONTROL's value does not show. */
	assert_int_equal(host_reg(b.d, T3_REG_INCARNATION), incarnation);
	host_free(b.host);
}

TEST("reserved offsets read as zero and report an error")
{
	struct bench b = bench_new();
	uint32_t offset, reserved = 0;

	for (offset = 0; offset < RESERVED_END; offset += 4) {
		if (register_at(b.d, offset))
			continue;
		reserved++;
		if (host_reg(b.d, offset) || errors(b.d) != 1)
			fail_msg("0x%x is reserved, but reads as a register", offset);
		host_set(b.d, offset, ~0u, 4);
		if (errors(b.d) != 1 || host_reg(b.d, offset))
			fail_msg("0x%x is reserved, but takes a write", offset);
		errors(b.d);
	}
	assert_true(reserved > 0);
	host_free(b.host);
}

static void check_halves(struct host_dev *d, const struct spec_register *reg, uint32_t offset)
{
	uint64_t value;

	if (reg->width != 8)
		return;
	value = host_reg(d, offset + 4);
	value = value << 32 | host_reg(d, offset);
	assert_int_equal(host_get(d, offset, 8), value);
	if (reg->access != SPEC_RW)
		return;
	host_set(d, offset, 0x1122334455667788ull, 8);
	host_set(d, offset + 4, 0x99aabbcc, 4);
	assert_int_equal(host_get(d, offset, 8), 0x99aabbcc55667788ull);
	host_set(d, offset, 0xddeeff00, 4);
	assert_int_equal(host_get(d, offset, 8), 0x99aabbccddeeff00ull);
}

TEST("the halves of a register can be read")
{
	struct bench b = bench_new();

	each_word(b.d, check_halves);
	assert_int_equal(errors(b.d), 0);
	host_free(b.host);
}

/* ------------------------------------------------------------------- access */

static void check_read_only(struct host_dev *d, const struct spec_register *reg, uint32_t offset)
{
	uint64_t before = get(d, reg, offset);
	uint64_t values[] = { before, ~before, 0, 1 };
	uint32_t i;

	for (i = 0; reg->access == SPEC_RO && i < 4; i++) {
		host_set(d, offset, values[i], reg->width);
		if (errors(d) != 1)
			fail_msg("%s at 0x%x takes a write", reg->name, offset);
		assert_int_equal(get(d, reg, offset), before);
	}
}

TEST("read-only registers refuse writes")
{
	struct bench b = bench_new();

	each_word(b.d, check_read_only);
	host_free(b.host);
}

static void check_write(struct host_dev *d, const struct spec_register *reg, uint32_t offset,
			uint64_t value)
{
	host_set(d, offset, value, reg->width);
	if (get(d, reg, offset) != value)
		fail_msg("%s at 0x%x does not keep 0x%llx", reg->name, offset,
			 (unsigned long long)value);
	/* Those are opcodes of nothing. */
	assert_int_equal(errors(d), offset == T3_REG_ADMIN_COMMAND);
}

static void check_read_write(struct host_dev *d, const struct spec_register *reg, uint32_t offset)
{
	uint64_t all = reg->width == 8 ? HOST_NONE64 : HOST_NONE32, value;

	if (reg->access != SPEC_RW)
		return;
	if (!reg->writable) {
		host_set(d, offset, 0, reg->width);
		errors(d); /* a doorbell that nothing is behind */
		expect_reset(d, reg, offset);
		return;
	}
	check_write(d, reg, offset, reg->writable);
	check_write(d, reg, offset, reg->writable & 0xa5a5a5a5a5a5a5a5ull);
	check_write(d, reg, offset, reg->writable & 0x5a5a5a5a5a5a5a5aull);
	check_write(d, reg, offset, 0);
	if (reg->writable == all)
		return;
	host_set(d, offset, all, reg->width); /* ignored in part, or refused as a whole */
	value = get(d, reg, offset);
	assert_int_equal(value, errors(d) ? 0 : reg->writable);
}

TEST("writable registers keep what is written")
{
	struct bench b = bench_new();

	each_word(b.d, check_read_write);
	host_free(b.host);
}

static void raise_space(struct host_dev *d, uint32_t space)
{
	struct t3_cmd_space_create cmd = host_space_args(1);

	cmd.space = space;
	assert_int_equal(host_command(d, T3_CMD_SPACE_CREATE, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	host_space_command(d, T3_CMD_SPACE_DISABLE, space);
	host_space_command(d, T3_CMD_SPACE_DESTROY, space);
}

static void raise_queue(struct host_dev *d, uint32_t id)
{
	struct t3_descriptor nop = queue_nop();
	struct queue queue = queue_new(d, id, 0);

	nop.flags = T3_DESC_FLAG_IRQ;
	queue_submit(&queue, &nop);
	host_drain(d->host);
	queue_destroy(&queue);
}

/* Makes a bit of the register 1; which. */
static uint32_t raise_bit(struct host_dev *d, const struct spec_register *reg, uint32_t offset)
{
	uint32_t first = (offset - reg->offset) * 8;

	switch (reg->offset) {
	case T3_REG_ERROR_STATUS:
		host_reg(d, RESERVED_END - 4);
		return T3_ERROR_GUEST;
	case T3_REG_SPACE_PENDING:
		raise_space(d, first + 5);
		return 1u << 5;
	case T3_REG_QUEUE_PENDING:
		raise_queue(d, first + 5);
		return 1u << 5;
	default:
		fail_msg("%s: this test knows no way to set a bit of it", reg->name);
	}
	return 0;
}

static void check_write_one_clear(struct host_dev *d, const struct spec_register *reg,
				  uint32_t offset)
{
	uint32_t bits;

	if (reg->access != SPEC_RW1C)
		return;
	assert_int_equal(host_reg(d, offset), 0);
	bits = raise_bit(d, reg, offset);
	assert_int_equal(host_reg(d, offset), bits);
	host_set(d, offset, 0, 4);
	host_set(d, offset, reg->writable & ~bits, 4);
	assert_int_equal(host_reg(d, offset), bits);
	host_set(d, offset, bits, 4);
	if (host_reg(d, offset))
		fail_msg("%s at 0x%x: a bit written as 1 stays", reg->name, offset);
}

TEST("a written one clears its bit")
{
	struct bench b = bench_new();

	each_word(b.d, check_write_one_clear);
	assert_true(errors(b.d) <= 1);
	host_free(b.host);
}
