// SPDX-License-Identifier: MIT
/* SPEC.md 11.3: descriptors that are refused, and in which order. */
#include "conf.h"
#include "queue.h"

CONF_SECTION("11.3", "descriptors that are refused");

/* Where valid descriptors move bytes to; from 0. */
#define TARGET (8ull * T3_PAGE_SIZE)

enum { NOP, COPY, FILL, UPDATE, WAIT, SIGNAL };

#define AT(field) offsetof(struct t3_descriptor, field)
#define F(field)  CONF_FIELD(t3_descriptor, field)
#define ALL	  0x3fu
#define MOVES	  (1u << COPY | 1u << FILL | 1u << UPDATE)

/* clang-format off */
/* A field with that value makes these opcodes, flat or in rows, fail at `at`. */
static const struct bad {
	const char *name;
	uint32_t opcodes;
	bool rows;
	size_t offset, bytes;
	uint64_t value;
	uint32_t at;
} bads[] = {
	{"opcode-8",             ALL, false, F(opcode), T3_DESC_TIMED + 1, AT(opcode)},
	{"opcode-255",           ALL, false, F(opcode), 255, AT(opcode)},
	{"flag-1",               ALL, false, F(flags), 2, AT(flags)},
	{"flag-7",               ALL, false, F(flags), 0x80, AT(flags)},
	{"op",                   ALL & ~(1u << UPDATE), false, F(op), 1, AT(op)},
	{"update-op-unknown",    1u << UPDATE, false, F(op), T3_OP_COUNT, AT(op)},
	{"dtype",                ALL & ~(1u << UPDATE), false, F(dtype), 1, AT(dtype)},
	{"update-dtype-unknown", 1u << UPDATE, false, F(dtype), T3_DTYPE_COUNT, AT(dtype)},
	{"src-kind",             ALL & ~(1u << COPY), false, F(src_kind), 1, AT(src_kind)},
	{"src-space",            ALL, false, F(src_kind), T3_LOC_SPACE, AT(src_kind)},
	{"src-kind-3",           ALL, false, F(src_kind), 3, AT(src_kind)},
	{"src-kind-255",         ALL, false, F(src_kind), 255, AT(src_kind)},
	{"dst-kind",             ALL & ~(1u << COPY | 1u << FILL), false, F(dst_kind), 1, AT(dst_kind)},
	{"dst-kind-3",           ALL, false, F(dst_kind), 3, AT(dst_kind)},
	{"mbz",                  ALL, false, F(mbz), 1, AT(mbz)},
	{"mbz-high",             ALL, false, F(mbz), 0x8000, AT(mbz)},
	{"rows-0",               MOVES, false, F(rows), 0, AT(rows)},
	{"rows-1",               ALL & ~MOVES, false, F(rows), 1, AT(rows)},
	{"one-row-too-many",     MOVES, true, F(rows), T3_MAX_COPY_BYTES / 64 + 1, AT(rows)},
	{"rows-max",             MOVES, true, F(rows), 0xffffffff, AT(rows)},
	{"rows-of-2-to-the-37",  MOVES, true, F(rows), 0x80000000, AT(rows)},
	{"row-bytes-0",          MOVES, false, F(row_bytes), 0, AT(row_bytes)},
	{"row-bytes-max",        MOVES, false, F(row_bytes), 0xfffffffc, AT(rows)},
	{"update-row-bytes-62",  1u << UPDATE, false, F(row_bytes), 62, AT(row_bytes)},
	{"row-bytes-1",          ALL & ~MOVES, false, F(row_bytes), 1, AT(row_bytes)},
	{"nop-src",              1u << NOP, false, F(src), 1ull << 63, AT(src)},
	{"nop-dst",              1u << NOP, false, F(dst), 1, AT(dst)},
	{"flat-src-pitch",       ALL, false, F(src_pitch), 64, AT(src_pitch)},
	{"flat-dst-pitch",       ALL, false, F(dst_pitch), 64, AT(dst_pitch)},
	{"src-pitch-63",         1u << COPY | 1u << UPDATE, true, F(src_pitch), 63, AT(src_pitch)},
	{"src-pitch-0",          1u << COPY | 1u << UPDATE, true, F(src_pitch), 0, AT(src_pitch)},
	{"fill-src-pitch",       1u << FILL, true, F(src_pitch), 64, AT(src_pitch)},
	{"dst-pitch-63",         MOVES, true, F(dst_pitch), 63, AT(dst_pitch)},
	{"dst-pitch-0",          MOVES, true, F(dst_pitch), 0, AT(dst_pitch)},
	{"space",                ALL, false, F(space), 1, AT(space)},
	{"generation",           ALL, false, F(generation), 1, AT(generation)},
};
/* clang-format on */

static const char *bad_label(unsigned row)
{
	return bads[row].name;
}

static struct t3_descriptor good(uint8_t opcode, bool rows)
{
	struct t3_descriptor d = { .opcode = opcode };

	if (1u << opcode & MOVES) {
		d.rows = rows ? 2 : 1;
		d.row_bytes = 64;
		d.dst = TARGET;
		d.dst_pitch = rows ? 128 : 0;
		d.src_pitch = rows && opcode != FILL ? 64 : 0;
	}
	if (opcode == UPDATE)
		d.op = T3_OP_ADD;
	return d;
}

/* A failure has moved nothing and names the field. The good descriptor then runs. */
TEST("each wrong field is refused by its place", .rows = ARRAY_SIZE(bads), .label = bad_label)
{
	const struct bad *bad = &bads[row];
	uint32_t tried = 0;
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	conf_memory_fill(q.dev, TARGET, 256, 0xee);
	for (uint8_t opcode = NOP; opcode <= SIGNAL; opcode++) {
		struct t3_descriptor descriptor = good(opcode, bad->rows);
		uint32_t index;

		if (!(bad->opcodes >> opcode & 1))
			continue;
		conf_replace(&descriptor, bad->offset, bad->bytes, bad->value);
		index = queue_push(&q, &descriptor);
		queue_submit(&q);
		queue_expect(c, &q, index, T3_DESC_BAD_DESCRIPTOR, bad->at);
		queue_check(c, &q, T3_QUEUE_ERROR, index + 1, T3_DESC_BAD_DESCRIPTOR);
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
		tried++;
	}
	CHECK_EQUAL(c, "QUEUE_ERRORS", conf_counter(q.dev, T3_COUNTER_QUEUE_ERRORS), tried);
	CHECK_EQUAL(c, "QUEUE_DESCRIPTORS", conf_counter(q.dev, T3_COUNTER_QUEUE_DESCRIPTORS),
		    tried);
	CHECK_EQUAL(c, "QUEUE_BYTES", conf_counter(q.dev, T3_COUNTER_QUEUE_BYTES), 0);
	for (uint64_t i = 0; i < 256; i += 8)
		CHECK_EQUAL(c, "destination", conf_read(q.dev->memory, TARGET + i, 8), 0xee);
	for (uint8_t opcode = NOP; opcode <= SIGNAL; opcode++) {
		struct t3_descriptor descriptor = good(opcode, bad->rows);

		if (bad->opcodes >> opcode & 1)
			queue_do(c, &q, &descriptor);
	}
}

/* The first wrong field in the order of the checks. All of these come before the ranges. */
TEST("the first wrong field is reported")
{
	static const struct {
		size_t offset, bytes;
	} fields[] = {
		{ F(opcode) },	  { F(flags) },	    { F(op) },	      { F(dtype) },
		{ F(src_kind) },  { F(dst_kind) },  { F(mbz) },	      { F(rows) },
		{ F(row_bytes) }, { F(src_pitch) }, { F(dst_pitch) },
	};
	struct t3_descriptor descriptor = good(COPY, true);
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	descriptor.src = ~0ull;
	for (size_t i = ARRAY_SIZE(fields); i--;) {
		bool size = fields[i].offset == offsetof(struct t3_descriptor, rows) ||
			    fields[i].offset == offsetof(struct t3_descriptor, row_bytes);
		uint32_t index;

		conf_replace(&descriptor, fields[i].offset, fields[i].bytes,
			     fields[i].bytes == 8 ? 1
			     : size		  ? 0
						  : 0xff);
		/* With row_bytes 0 any pitch is valid. */
		index = queue_push(&q, &descriptor);
		queue_submit(&q);
		queue_expect(c, &q, index, T3_DESC_BAD_DESCRIPTOR, fields[i].offset);
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	}
}

/* clang-format off */
/* Field replaced in a good descriptor: BAD_RANGE with the address in `detail`, of src or dst. */
static const struct {
	const char *name;
	uint8_t opcode, src_kind, dst_kind;
	bool at_src;
	int64_t back; /* from the end of that memory */
	uint32_t rows, row_bytes;
	uint64_t pitch;
} ranges[] = {
	{"src-end", COPY, 0, 0, true, 0, 1, 1, 0},
	{"src-over-end", COPY, 0, 0, true, 64, 1, 65, 0},
	{"src-rows", COPY, 0, 0, true, 256, 3, 64, 128},
	{"src-rows-by-one", COPY, 0, 0, true, 64 + 3 * 100 - 1, 4, 64, 100},
	{"src-pitch-wraps", COPY, 0, 0, true, 256, 3, 64, 1ull << 63},
	{"src-pitch-max", COPY, 0, 0, true, 256, 2, 64, ~0ull},
	{"src-pitch-back", COPY, 0, 0, true, 256, 2, 64, -64ull},
	{"src-pitch-times-4", COPY, 0, 0, true, 256, 5, 64, 1ull << 62},
	{"dst-end", COPY, 0, 0, false, 0, 1, 1, 0},
	{"dst-over-end", COPY, 0, 0, false, 64, 1, 65, 0},
	{"dst-rows", COPY, 0, 0, false, 256, 3, 64, 128},
	{"dst-rows-by-one", FILL, 0, 0, false, 64 + 3 * 100 - 1, 4, 64, 100},
	{"dst-pitch-wraps", FILL, 0, 0, false, 256, 3, 64, 1ull << 63},
	{"dst-pitch-max", FILL, 0, 0, false, 256, 2, 64, ~0ull},
	{"dst-pitch-back", FILL, 0, 0, false, 256, 2, 64, -64ull},
	{"dst-pitch-times-4", FILL, 0, 0, false, 256, 5, 64, 1ull << 62},
	{"dst-space-wraps", FILL, 0, 2, false, 63, 1, 64, 0},
	{"dst-space-pitch-wraps", FILL, 0, 2, false, 256, 3, 64, 1ull << 63},
	{"fill-over-end", FILL, 0, 0, false, 8, 1, 9, 0},
	{"fill-host-wraps", FILL, 0, 1, false, 8, 1, 9, 0},
	{"update-src", UPDATE, 0, 0, true, 64, 1, 68, 0},
	{"update-dst", UPDATE, 0, 0, false, 64, 1, 68, 0},
	{"src-host-wraps", COPY, 1, 0, true, 64, 1, 65, 0},
	{"src-host-pitch-wraps", COPY, 1, 0, true, 256, 3, 64, 1ull << 63},
	{"dst-host-pitch-max", FILL, 0, 1, false, 256, 2, 64, ~0ull},
	{"dst-host-wraps", COPY, 0, 1, false, 64, 1, 65, 0},
};
/* clang-format on */

static const char *range_label(unsigned row)
{
	return ranges[row].name;
}

TEST("ranges end with their memory", .rows = ARRAY_SIZE(ranges), .label = range_label)
{
	uint8_t kind = ranges[row].at_src ? ranges[row].src_kind : ranges[row].dst_kind;
	struct t3_descriptor d = good(ranges[row].opcode, true);
	struct queue q;
	uint64_t end;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	end = kind == T3_LOC_MEMORY ? q.dev->memory_bytes : 0;
	d.src_kind = ranges[row].src_kind;
	d.dst_kind = ranges[row].dst_kind;
	d.rows = ranges[row].rows;
	d.row_bytes = ranges[row].row_bytes;
	d.dst_pitch = ranges[row].at_src && d.rows > 1 ? 64 : ranges[row].pitch;
	d.src_pitch = d.opcode == FILL ? 0 : ranges[row].at_src ? ranges[row].pitch : d.dst_pitch;
	d.dst = 0;
	*(ranges[row].at_src ? &d.src : &d.dst) = end - (uint64_t)ranges[row].back;
	queue_push(&q, &d);
	queue_submit(&q);
	queue_expect(c, &q, 0, T3_DESC_BAD_RANGE, end - (uint64_t)ranges[row].back);
	queue_check(c, &q, T3_QUEUE_ERROR, 1, T3_DESC_BAD_RANGE);
}

/* The last byte of device memory is valid, and so is the last fence. */
TEST("the last byte and the last fence are valid")
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_descriptor fill =
		desc_fill(T3_LOC_MEMORY, d->memory_bytes - 24, 0x0123456789abcdef, 24);
	struct t3_descriptor signal = desc_signal(T3_MAX_FENCES - 1, 1);
	static const uint64_t fences[] = { T3_MAX_FENCES, 1ull << 32, ~0ull };
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	queue_do(c, &q, &fill);
	CHECK_EQUAL(c, "last word", conf_read(d->memory, d->memory_bytes - 8, 8), fill.src);
	fill.rows = 4;
	fill.row_bytes = 64;
	fill.dst_pitch = 100;
	fill.dst = d->memory_bytes - 64 - 3 * 100;
	queue_do(c, &q, &fill);
	queue_do(c, &q, &signal);
	for (unsigned i = 0; i < 2 * ARRAY_SIZE(fences); i++) {
		struct t3_descriptor none = desc_wait(fences[i / 2], 0);
		uint32_t index;

		none.opcode = i % 2 ? T3_DESC_SIGNAL : T3_DESC_WAIT;
		index = queue_push(&q, &none);
		queue_submit(&q);
		queue_expect(c, &q, index, T3_DESC_BAD_RANGE, fences[i / 2]);
		queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	}
}

/* The last byte of the bus is in range. Nothing is behind it here. */
TEST("the last byte of the bus is in range")
{
	struct t3_descriptor x = desc_copy(T3_LOC_HOST, -64ull, T3_LOC_MEMORY, 0, 64);
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	queue_push(&q, &x);
	queue_submit(&q);
	queue_expect(c, &q, 0, T3_DESC_HOST_DMA, -64ull);
	CHECK_EQUAL(c, "DMA_ADDRESS", conf_reg64(d, T3_REG_DMA_ADDRESS), -64ull);
}
