// SPDX-License-Identifier: MIT
/* SPEC.md 11.3: descriptors that are refused, and in which order. */
#include "conf.h"
#include "queue.h"

CONF_SECTION("11.3", "descriptors that are refused");

/* Where valid descriptors move bytes to; from 0. */
#define TARGET (8ull * T3_PAGE_SIZE)

enum { NOP, COPY, FILL, UPDATE, WAIT, SIGNAL };

/* clang-format off */
/* One field of a good descriptor of that opcode replaced; detail is its offset. */
static const struct {
	const char *name;
	uint8_t opcode;
	size_t offset, bytes;
	uint64_t value;
} bads[] = {
#define FIELD(field) offsetof(struct t3_descriptor, field), \
	sizeof(((struct t3_descriptor *)0)->field)
	{"opcode-8", NOP, FIELD(opcode), 8},
	{"opcode-255", NOP, FIELD(opcode), 255},
	{"flag-1", NOP, FIELD(flags), 2},
	{"flag-7", COPY, FIELD(flags), 0x80},
	{"nop-op", NOP, FIELD(op), 1},
	{"nop-dtype", NOP, FIELD(dtype), 1},
	{"nop-src-kind", NOP, FIELD(src_kind), 1},
	{"nop-dst-kind", NOP, FIELD(dst_kind), 1},
	{"nop-mbz", NOP, FIELD(mbz), 1},
	{"nop-rows", NOP, FIELD(rows), 1},
	{"nop-row-bytes", NOP, FIELD(row_bytes), 1},
	{"nop-src", NOP, FIELD(src), 1},
	{"nop-dst", NOP, FIELD(dst), 1},
	{"nop-src-pitch", NOP, FIELD(src_pitch), 1},
	{"nop-dst-pitch", NOP, FIELD(dst_pitch), 1},
	{"nop-space", NOP, FIELD(space), 1},
	{"nop-generation", NOP, FIELD(generation), 1},
	{"copy-op", COPY, FIELD(op), 1},
	{"copy-dtype", COPY, FIELD(dtype), 1},
	{"copy-src-space", COPY, FIELD(src_kind), T3_LOC_SPACE},
	{"copy-src-kind-3", COPY, FIELD(src_kind), 3},
	{"copy-dst-kind-3", COPY, FIELD(dst_kind), 3},
	{"copy-mbz", COPY, FIELD(mbz), 0x8000},
	{"copy-rows-0", COPY, FIELD(rows), 0},
	{"copy-too-large", COPY, FIELD(rows), 0x80000000},
	{"copy-row-bytes-0", COPY, FIELD(row_bytes), 0},
	{"copy-src-pitch", COPY, FIELD(src_pitch), 63},
	{"copy-dst-pitch", COPY, FIELD(dst_pitch), 63},
	{"copy-space", COPY, FIELD(space), 1},
	{"copy-generation", COPY, FIELD(generation), 1},
	{"fill-op", FILL, FIELD(op), 1},
	{"fill-src-kind", FILL, FIELD(src_kind), 1},
	{"fill-dst-kind-3", FILL, FIELD(dst_kind), 3},
	{"fill-rows-0", FILL, FIELD(rows), 0},
	{"fill-src-pitch", FILL, FIELD(src_pitch), 64},
	{"fill-dst-pitch", FILL, FIELD(dst_pitch), 0},
	{"update-op-4", UPDATE, FIELD(op), T3_OP_COUNT},
	{"update-dtype-6", UPDATE, FIELD(dtype), T3_DTYPE_COUNT},
	{"update-u8-add", UPDATE, FIELD(op), T3_OP_ADD},
	{"update-src-kind", UPDATE, FIELD(src_kind), 1},
	{"update-dst-kind", UPDATE, FIELD(dst_kind), 1},
	{"update-rows-0", UPDATE, FIELD(rows), 0},
	{"update-row-bytes", UPDATE, FIELD(row_bytes), 62},
	{"update-row-bytes-0", UPDATE, FIELD(row_bytes), 0},
	{"wait-rows", WAIT, FIELD(rows), 1},
	{"wait-dst-kind", WAIT, FIELD(dst_kind), 1},
	{"wait-src-pitch", WAIT, FIELD(src_pitch), 1},
	{"signal-row-bytes", SIGNAL, FIELD(row_bytes), 1},
	{"signal-generation", SIGNAL, FIELD(generation), 1},
};
/* clang-format on */

static const char *bad_label(unsigned row)
{
	return bads[row].name;
}

static struct t3_descriptor good(uint8_t opcode)
{
	struct t3_descriptor d = { .opcode = opcode };

	if (opcode == COPY || opcode == FILL || opcode == UPDATE) {
		d.rows = 2;
		d.row_bytes = 64;
		d.dst = TARGET;
		d.dst_pitch = 128;
		d.src_pitch = opcode == FILL ? 0 : 64;
	}
	return d;
}

/* The failure has moved nothing and names that field. The valid descriptor then runs. */
TEST("each wrong field is refused by its place", .rows = ARRAY_SIZE(bads), .label = bad_label)
{
	struct t3_descriptor descriptor = good(bads[row].opcode);
	uint64_t detail = bads[row].offset;
	struct queue q;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	conf_memory_fill(q.dev, TARGET, 256, 0xee);
	if (bads[row].value == T3_OP_ADD && bads[row].offset == 2 && bads[row].opcode == UPDATE)
		descriptor.dtype = T3_DTYPE_U8;
	conf_replace(&descriptor, bads[row].offset, bads[row].bytes, bads[row].value);
	queue_push(&q, &descriptor);
	queue_submit(&q);
	queue_expect(c, &q, 0, T3_DESC_BAD_DESCRIPTOR, detail);
	for (uint64_t i = 0; i < 256; i += 8)
		CHECK_EQUAL(c, "destination", conf_read(q.dev->memory, TARGET + i, 8), 0xee);
	queue_command(c, &q, T3_CMD_QUEUE_ABORT);
	descriptor = good(bads[row].opcode);
	queue_do(c, &q, &descriptor);
}

/* The first wrong field in the order of the checks. All of these come before the ranges. */
TEST("the first wrong field is reported")
{
	static const struct {
		size_t offset, bytes;
	} fields[] = {
		{ FIELD(opcode) },    { FIELD(flags) },	    { FIELD(op) },	  { FIELD(dtype) },
		{ FIELD(src_kind) },  { FIELD(dst_kind) },  { FIELD(mbz) },	  { FIELD(rows) },
		{ FIELD(row_bytes) }, { FIELD(src_pitch) }, { FIELD(dst_pitch) },
	};
	struct t3_descriptor descriptor = good(COPY);
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
	{"src-pitch-wraps", COPY, 0, 0, true, 256, 3, 64, 1ull << 63},
	{"dst-end", COPY, 0, 0, false, 0, 1, 1, 0},
	{"dst-over-end", COPY, 0, 0, false, 64, 1, 65, 0},
	{"dst-rows", COPY, 0, 0, false, 256, 3, 64, 128},
	{"fill-over-end", FILL, 0, 0, false, 8, 1, 9, 0},
	{"fill-host-wraps", FILL, 0, 1, false, 8, 1, 9, 0},
	{"update-src", UPDATE, 0, 0, true, 64, 1, 68, 0},
	{"update-dst", UPDATE, 0, 0, false, 64, 1, 68, 0},
	{"src-host-wraps", COPY, 1, 0, true, 64, 1, 65, 0},
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
	struct t3_descriptor d = good(ranges[row].opcode);
	struct queue q;
	uint64_t end;

	queue_create(c, conf_device(c, 0), &q, 0, 0);
	end = kind == T3_LOC_HOST ? 0 : q.dev->memory_bytes;
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
#undef FIELD
