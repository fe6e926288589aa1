// SPDX-License-Identifier: MIT
/* SPEC.md 11.3: opcodes and operands, and descriptors that are refused. */
#include <stdlib.h>

#include "conf.h"
#include "queue.h"
#include "reference.h"

/* Operands lie in areas of this size, in device memory and in host memory. */
#define AREA_PAGES 8u
#define AREA	   (AREA_PAGES * T3_PAGE_SIZE)

struct scene {
	struct queue q;
	volatile uint8_t *area[2]; /* source, destination */
	uint64_t address[2];
};

static uint8_t pattern(uint64_t at)
{
	return (uint8_t)(at * 37 + at / 251 + 1);
}

static void place(struct conf *c, struct scene *scene, unsigned which, uint8_t kind)
{
	struct conf_device *d = scene->q.dev;
	uint64_t next;

	if (kind == T3_LOC_MEMORY) {
		scene->address[which] = (uint64_t)which * AREA;
		scene->area[which] = d->memory + scene->address[which];
	} else {
		scene->area[which] = conf_page(c, &scene->address[which]);
		for (unsigned i = 1; i < AREA_PAGES; i++)
			conf_page(c, &next);
	}
	for (uint64_t i = 0; i < AREA; i += 8) {
		uint64_t word = 0;

		for (uint64_t j = 0; j < 8; j++)
			word |= (uint64_t)(which ? 0xee : pattern(i + j)) << (8 * j);
		conf_write(scene->area[which], i, 8, word);
	}
}

static void setup(struct conf *c, struct scene *scene, uint8_t src_kind, uint8_t dst_kind)
{
	queue_create(c, conf_device(c, 0), &scene->q, 0, 0);
	place(c, scene, 0, src_kind);
	place(c, scene, 1, dst_kind);
}

/* clang-format off */
static const struct {
	uint32_t rows, row_bytes;
	uint64_t src, dst, src_pitch, dst_pitch;
} shapes[] = {
	{1, 1, 0, 0, 0, 0},
	{1, 4096, 8, 0, 0, 0},
	{1, 20001, 3, 5, 0, 0},
	{3, 100, 0, 7, 128, 200},
	{3, 5000, 1, 2, 5000, 6000},
	{7, 1, 0, 0, 4096, 1},
	{2, 33, 0, 0, 33, 33},
};
/* clang-format on */

/* What byte `at` of the destination must be: of a row, or as before. */
static bool in_rows(unsigned shape, uint64_t at, uint32_t *row, uint64_t *col)
{
	uint64_t pitch = shapes[shape].rows > 1 ? shapes[shape].dst_pitch : AREA;

	if (at < shapes[shape].dst)
		return false;
	at -= shapes[shape].dst;
	*row = (uint32_t)(at / pitch);
	*col = at % pitch;
	return *row < shapes[shape].rows && *col < shapes[shape].row_bytes;
}

static void check_rows(struct conf *c, struct scene *scene, unsigned shape, const uint64_t *fill)
{
	uint64_t col;
	uint32_t row;

	for (uint64_t at = 0; at < AREA; at++) {
		uint8_t wanted = 0xee;

		if (in_rows(shape, at, &row, &col))
			wanted = fill ? (uint8_t)(*fill >> (8 * (col % 8)))
				      : pattern(shapes[shape].src + col +
						row * shapes[shape].src_pitch);
		if (scene->area[1][at] != wanted)
			CHECK(c, false, "byte 0x%llx is 0x%02x, wanted 0x%02x",
			      (unsigned long long)at, scene->area[1][at], wanted);
	}
	CHECK_EQUAL(c, "QUEUE_BYTES", conf_counter(scene->q.dev, T3_COUNTER_QUEUE_BYTES),
		    (uint64_t)shapes[shape].rows * shapes[shape].row_bytes);
}

static void test_copy(struct conf *c, unsigned row)
{
	unsigned shape = row / 4;
	uint8_t src_kind = row & 1, dst_kind = row >> 1 & 1;
	struct t3_descriptor copy;
	struct scene scene;

	setup(c, &scene, src_kind, dst_kind);
	copy = desc_copy(src_kind, scene.address[0] + shapes[shape].src, dst_kind,
			 scene.address[1] + shapes[shape].dst, shapes[shape].row_bytes);
	copy.rows = shapes[shape].rows;
	copy.src_pitch = shapes[shape].src_pitch;
	copy.dst_pitch = shapes[shape].dst_pitch;
	queue_do(c, &scene.q, &copy);
	check_rows(c, &scene, shape, NULL);
}

static void test_fill(struct conf *c, unsigned row)
{
	const uint64_t word = 0x8877665544332211;
	unsigned shape = row / 2;
	struct t3_descriptor fill;
	struct scene scene;

	setup(c, &scene, T3_LOC_MEMORY, row & 1);
	fill = desc_fill(row & 1, scene.address[1] + shapes[shape].dst, word,
			 shapes[shape].row_bytes);
	fill.rows = shapes[shape].rows;
	fill.dst_pitch = shapes[shape].dst_pitch;
	queue_do(c, &scene.q, &fill);
	check_rows(c, &scene, shape, &word);
}

/* Piece after piece of 4096 bytes, upwards, each read whole before it is written. */
static void test_overlap(struct conf *c, unsigned row)
{
	static const int64_t shifts[] = { 8, -8, 4096, -4096, 5000, 1 };
	const uint64_t from = 2 * T3_PAGE_SIZE, bytes = 3 * T3_PAGE_SIZE;
	uint64_t to = from + (uint64_t)shifts[row];
	struct t3_descriptor copy;
	struct scene scene;
	uint8_t *model = malloc(AREA), piece[T3_PAGE_SIZE];
	bool same = true;

	CHECK(c, model, "no memory");
	setup(c, &scene, T3_LOC_MEMORY, T3_LOC_MEMORY);
	for (uint64_t i = 0; i < AREA; i++)
		model[i] = pattern(i);
	for (uint64_t i = 0; i < bytes; i += T3_PAGE_SIZE) {
		for (uint64_t j = 0; j < T3_PAGE_SIZE; j++)
			piece[j] = model[from + i + j];
		for (uint64_t j = 0; j < T3_PAGE_SIZE; j++)
			model[to + i + j] = piece[j];
	}
	copy = desc_copy(T3_LOC_MEMORY, from, T3_LOC_MEMORY, to, (uint32_t)bytes);
	queue_push(&scene.q, &copy);
	queue_submit(&scene.q);
	queue_wait(c, &scene.q, 0);
	for (uint64_t i = 0; i < AREA; i++)
		same &= scene.area[0][i] == model[i];
	free(model);
	CHECK(c, same, "memory differs from copying pieces of 4096 bytes upwards");
}

/* ------------------------------------------------------------------- update */

static const uint32_t values[][2] = {
	{ 0x00000003, 0x00000004 }, { 0xffffffff, 0x00000001 }, { 0x3fc00000, 0x40200000 },
	{ 0x7f800000, 0xff800000 }, { 0x00003c00, 0x00004200 }, { 0x80000000, 0x00000000 },
	{ 0x7fffffff, 0x7fffffff }, { 0x00003f80, 0x0000bf81 }, { 0x12345678, 0x9abcdef0 },
};

/* dst = op(dst, src) at odd addresses, in two rows. */
static void test_update(struct conf *c, unsigned row)
{
	uint8_t op = (uint8_t)(row / 4), dtype = (uint8_t)(row % 4);
	uint32_t size = reference_bytes(dtype), count = ARRAY_SIZE(values), mask;
	struct t3_descriptor update = { .opcode = T3_DESC_UPDATE,
					.op = op,
					.dtype = dtype,
					.rows = 2,
					.dst_pitch = 256,
					.src_pitch = 128,
					.row_bytes = count * size,
					.src = 1,
					.dst = AREA + 3 };
	struct scene scene;

	mask = size == 4 ? 0xffffffff : 0xffff;
	setup(c, &scene, T3_LOC_MEMORY, T3_LOC_MEMORY);
	for (uint32_t i = 0; i < 2 * count; i++)
		for (uint32_t j = 0; j < size; j++) {
			uint32_t at = i / count * 128 + i % count * size + j;

			scene.area[0][1 + at] = (uint8_t)(values[i % count][1] >> (8 * j));
			at = i / count * 256 + i % count * size + j;
			scene.area[1][3 + at] = (uint8_t)(values[i % count][0] >> (8 * j));
		}
	queue_do(c, &scene.q, &update);
	for (uint32_t i = 0; i < 2 * count; i++) {
		uint32_t got = 0, at = 3 + i / count * 256 + i % count * size;

		for (uint32_t j = 0; j < size; j++)
			got |= (uint32_t)scene.area[1][at + j] << (8 * j);
		CHECK_EQUAL(c, "element", got,
			    reference_update(op, dtype, values[i % count][0] & mask,
					     values[i % count][1] & mask));
	}
	CHECK_EQUAL(c, "byte before", scene.area[1][2], 0xee);
	CHECK_EQUAL(c, "byte behind a row", scene.area[1][3 + count * size], 0xee);
}

static void test_update_bytes(struct conf *c, unsigned row)
{
	struct t3_descriptor update = { .opcode = T3_DESC_UPDATE,
					.dtype = row ? T3_DTYPE_I8 : T3_DTYPE_U8,
					.rows = 1,
					.row_bytes = 13,
					.src = 5,
					.dst = AREA + 2 };
	struct scene scene;

	setup(c, &scene, T3_LOC_MEMORY, T3_LOC_MEMORY);
	queue_do(c, &scene.q, &update);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "byte", scene.area[1][i], i >= 2 && i < 15 ? pattern(i + 3) : 0xee);
}

/* ------------------------------------------------------------------ refused */

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
	{"opcode-6", NOP, FIELD(opcode), 6},
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
		d.dst = AREA;
		d.dst_pitch = 128;
		d.src_pitch = opcode == FILL ? 0 : 64;
	}
	return d;
}

/* The failure has moved nothing, and is at that field; the good one then runs. */
static void test_bad(struct conf *c, unsigned row)
{
	struct t3_descriptor descriptor = good(bads[row].opcode);
	uint64_t detail = bads[row].offset;
	struct scene scene;

	setup(c, &scene, T3_LOC_MEMORY, T3_LOC_MEMORY);
	if (bads[row].value == T3_OP_ADD && bads[row].offset == 2 && bads[row].opcode == UPDATE)
		descriptor.dtype = T3_DTYPE_U8;
	conf_write((uint8_t *)&descriptor, bads[row].offset, (unsigned)bads[row].bytes,
		   bads[row].value);
	queue_push(&scene.q, &descriptor);
	queue_submit(&scene.q);
	queue_expect(c, &scene.q, 0, T3_DESC_BAD_DESCRIPTOR, detail);
	for (uint64_t i = 0; i < 256; i++)
		CHECK_EQUAL(c, "destination", scene.area[1][i], 0xee);
	queue_command(c, &scene.q, T3_CMD_QUEUE_ABORT);
	descriptor = good(bads[row].opcode);
	queue_do(c, &scene.q, &descriptor);
}

/* The first field in the order of the checks, and these before the ranges. */
static void test_bad_order(struct conf *c, unsigned row)
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

	(void)row;
	queue_create(c, conf_device(c, 0), &q, 0, 0);
	descriptor.src = ~0ull;
	for (size_t i = ARRAY_SIZE(fields); i--;) {
		bool size = fields[i].offset == offsetof(struct t3_descriptor, rows) ||
			    fields[i].offset == offsetof(struct t3_descriptor, row_bytes);
		uint32_t index;

		conf_write((uint8_t *)&descriptor, fields[i].offset, (unsigned)fields[i].bytes,
			   fields[i].bytes == 8 ? 1
			   : size		? 0
						: 0xff);
		/* Without bytes in a row any pitch is enough for it. */
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

static void test_range(struct conf *c, unsigned row)
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

/* Up to the last byte of device memory is no failure; nor is the last fence. */
static void test_range_end(struct conf *c, unsigned row)
{
	struct conf_device *d = conf_device(c, 0);
	struct t3_descriptor fill =
		desc_fill(T3_LOC_MEMORY, d->memory_bytes - 24, 0x0123456789abcdef, 24);
	struct t3_descriptor signal = desc_signal(T3_MAX_FENCES - 1, 1);
	static const uint64_t fences[] = { T3_MAX_FENCES, 1ull << 32, ~0ull };
	struct queue q;

	(void)row;
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

static const struct conf_test tests[] = {
	{ "copy", test_copy, 4 * ARRAY_SIZE(shapes), NULL, 0 },
	{ "fill", test_fill, 2 * ARRAY_SIZE(shapes), NULL, 0 },
	{ "overlap", test_overlap, 6, NULL, 0 },
	{ "update", test_update, 16, NULL, 0 },
	{ "update-bytes", test_update_bytes, 2, NULL, 0 },
	{ "bad", test_bad, ARRAY_SIZE(bads), bad_label, 0 },
	{ "bad-order", test_bad_order, 0, NULL, 0 },
	{ "range", test_range, ARRAY_SIZE(ranges), range_label, 0 },
	{ "range-end", test_range_end, 0, NULL, 0 },
};

CONF_SECTION(section_queue_descriptors, "11.3", "descriptors", tests);
