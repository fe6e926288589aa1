// SPDX-License-Identifier: MIT
/* SPEC.md 11.3: opcodes and operands. */
#include <stdlib.h>

#include "conf.h"
#include "queue.h"
#include "reference.h"

CONF_SECTION("11.3", "descriptors");

/* Operands are in areas of this size, in device memory and in host memory. */
#define AREA_PAGES 8u
#define AREA	   (AREA_PAGES * T3_PAGE_SIZE)

struct scene {
	struct queue q;
	volatile uint8_t *area[2]; /* source, destination */
	uint64_t address[2];
	uint8_t bytes[AREA]; /* of one of them */
};

static uint8_t pattern(uint64_t at)
{
	return (uint8_t)(at * 37 + at / 251 + 1);
}

static void put(struct scene *scene, unsigned which)
{
	conf_put(scene->area[which], scene->bytes, AREA);
}

static void get(struct scene *scene, unsigned which)
{
	conf_get(scene->area[which], scene->bytes, AREA);
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
	for (uint64_t i = 0; i < AREA; i++)
		scene->bytes[i] = which ? 0xee : pattern(i);
	put(scene, which);
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

/* The expected byte `at` of the destination: that of a row, or the old one. */
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

	get(scene, 1);
	for (uint64_t at = 0; at < AREA; at++) {
		uint8_t wanted = 0xee;

		if (in_rows(shape, at, &row, &col))
			wanted = fill ? (uint8_t)(*fill >> (8 * (col % 8)))
				      : pattern(shapes[shape].src + col +
						row * shapes[shape].src_pitch);
		CHECK(c, scene->bytes[at] == wanted, "byte 0x%llx is 0x%02x, wanted 0x%02x",
		      (unsigned long long)at, scene->bytes[at], wanted);
	}
	CHECK_EQUAL(c, "QUEUE_BYTES", conf_counter(scene->q.dev, T3_COUNTER_QUEUE_BYTES),
		    (uint64_t)shapes[shape].rows * shapes[shape].row_bytes);
}

TEST("a copy moves rows of any shape", .rows = 4 * ARRAY_SIZE(shapes))
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

TEST("a fill repeats its pattern in each row", .rows = 2 * ARRAY_SIZE(shapes))
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

/* The copy goes upwards in pieces of 4096 bytes. Each piece is read before it is written. */
TEST("an overlapping copy goes up in pieces", .rows = 6)
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
	get(&scene, 0);
	for (uint64_t i = 0; i < AREA; i++)
		same &= scene.bytes[i] == model[i];
	free(model);
	CHECK(c, same, "memory differs from copying pieces of 4096 bytes upwards");
}

/* ------------------------------------------------------------------- update */

static const uint32_t values[][2] = {
	{ 0x00000003, 0x00000004 }, { 0xffffffff, 0x00000001 }, { 0x3fc00000, 0x40200000 },
	{ 0x7f800000, 0xff800000 }, { 0x00003c00, 0x00004200 }, { 0x80000000, 0x00000000 },
	{ 0x7fffffff, 0x7fffffff }, { 0x00003f80, 0x0000bf81 }, { 0x12345678, 0x9abcdef0 },
};

/* One of the values for a type of that size, the first (0) or second of its pair. */
static uint64_t element_of(uint32_t i, unsigned which, uint32_t size)
{
	uint64_t both = (uint64_t)values[i][which] << 32 | values[i][!which];

	return size == 8 ? both : values[i][which] & ~0ull >> (64 - 8 * size);
}

/* Two rows of the source's values, or of the destination's. */
static void put_elements(struct scene *scene, unsigned which, uint32_t first, uint32_t pitch,
			 uint32_t size)
{
	uint32_t count = ARRAY_SIZE(values);

	get(scene, which);
	for (uint32_t i = 0; i < 2 * count; i++)
		for (uint32_t j = 0; j < size; j++)
			scene->bytes[first + i / count * pitch + i % count * size + j] =
				(uint8_t)(element_of(i % count, !which, size) >> (8 * j));
	put(scene, which);
}

/* dst = op(dst, src) in two rows, with each misalignment of both. */
TEST("an update combines at any address", .rows = 4 * REFERENCE_PAIRS)
{
	struct reference_pair pair = reference_pair_of(c, conf_device(c, 0), row / 4);
	uint32_t size = reference_bytes(pair.dtype), count = ARRAY_SIZE(values);
	uint8_t shift = (uint8_t)(row % 4);
	struct t3_descriptor update = { .opcode = T3_DESC_UPDATE,
					.op = (uint8_t)pair.op,
					.dtype = (uint8_t)pair.dtype,
					.rows = 2,
					.dst_pitch = 256,
					.src_pitch = 128,
					.row_bytes = count * size,
					.src = shift,
					.dst = AREA + 4 - shift };
	struct scene scene;

	setup(c, &scene, T3_LOC_MEMORY, T3_LOC_MEMORY);
	put_elements(&scene, 0, shift, 128, size);
	put_elements(&scene, 1, 4 - shift, 256, size);
	queue_do(c, &scene.q, &update);
	get(&scene, 1);
	for (uint32_t i = 0; i < 2 * count; i++) {
		uint32_t at = 4 - shift + i / count * 256 + i % count * size;
		uint64_t got = 0;

		for (uint32_t j = 0; j < size; j++)
			got |= (uint64_t)scene.bytes[at + j] << (8 * j);
		CHECK_EQUAL(c, "element", got,
			    reference_update(pair.op, pair.dtype, element_of(i % count, 0, size),
					     element_of(i % count, 1, size)));
	}
	CHECK_EQUAL(c, "byte before", scene.bytes[3 - shift], 0xee);
	CHECK_EQUAL(c, "byte behind a row", scene.bytes[4 - shift + count * size], 0xee);
	CHECK_EQUAL(c, "NMC_ELEMENTS", conf_counter(scene.q.dev, T3_COUNTER_NMC_ELEMENTS),
		    pair.op == T3_OP_STORE ? 0 : 2 * count);
}

TEST("bytes can be stored by an update", .rows = 2)
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
	get(&scene, 1);
	for (uint32_t i = 0; i < 16; i++)
		CHECK_EQUAL(c, "byte", scene.bytes[i], i >= 2 && i < 15 ? pattern(i + 3) : 0xee);
}

/* The source is the destination, one element before. Pieces of 1024 elements are read before. */
TEST("an update of its own source goes up in pieces")
{
	struct t3_descriptor update = { .opcode = T3_DESC_UPDATE,
					.op = T3_OP_ADD,
					.dtype = T3_DTYPE_I32,
					.rows = 1,
					.row_bytes = 4 * 3999,
					.src = 0,
					.dst = 4 };
	struct conf_device *d = conf_device(c, 0);
	struct queue q;

	queue_create(c, d, &q, 0, 0);
	for (uint32_t i = 0; i < 4000; i++)
		conf_write(d->memory, 4 * i, 4, i);
	queue_do(c, &q, &update);
	for (uint32_t i = 1; i < 4000; i++)
		CHECK_EQUAL(c, "element", conf_read(d->memory, 4 * i, 4),
			    i + (i % 1024 == 1 && i > 1 ? 2 * (i - 1) - 1 : i - 1));
}
