// SPDX-License-Identifier: MIT
/* SPEC.md 3.1: which stores are updates and which are faults; reads. */
#include "conf.h"
#include "run.h"

CONF_SECTION("3.1", "stores and reads of the aperture");

#define PATTERN 0x5a5b5c5d5e5f6061ull

enum { LEGAL = T3_FAULT_NONE };

/*
 * Segment 0: rows at 64, 128, 192, 256 of 36 bytes; tiles of 2 rows x 12 bytes, so
 * its columns end at 76, 88 and 100 of the first row. Segment 1 starts at 1028.
 */
struct store {
	const char *name;
	uint32_t dtype, offset, bytes, kind, segment;
};

#define NONE CONF_NO_SEGMENT

/* clang-format off */
static const struct store stores[] = {
	{"i32-4",             T3_DTYPE_I32,  64,  4, LEGAL, 0},
	{"i32-8",             T3_DTYPE_I32,  64,  8, LEGAL, 0},
	{"i32-8-in-tile-1",   T3_DTYPE_I32,  80,  8, LEGAL, 0},
	{"i32-8-row-3",       T3_DTYPE_I32,  272, 8, LEGAL, 0},
	{"i32-last",          T3_DTYPE_I32,  288, 4, LEGAL, 0},
	{"f32-4",             T3_DTYPE_F32,  68,  4, LEGAL, 0},
	{"f32-8",             T3_DTYPE_F32,  88,  8, LEGAL, 0},
	{"f16-2",             T3_DTYPE_F16,  66,  2, LEGAL, 0},
	{"f16-4",             T3_DTYPE_F16,  68,  4, LEGAL, 0},
	{"f16-8",             T3_DTYPE_F16,  64,  8, LEGAL, 0},
	{"bf16-2",            T3_DTYPE_BF16, 98,  2, LEGAL, 0},
	{"bf16-4",            T3_DTYPE_BF16, 96,  4, LEGAL, 0},
	{"bf16-8",            T3_DTYPE_BF16, 80,  8, LEGAL, 0},
	{"i32-1",             T3_DTYPE_I32,  64,  1, T3_FAULT_WIDTH, 0},
	{"i32-2",             T3_DTYPE_I32,  64,  2, T3_FAULT_WIDTH, 0},
	{"i32-2-at-2",        T3_DTYPE_I32,  66,  2, T3_FAULT_WIDTH, 0},
	{"f32-1",             T3_DTYPE_F32,  67,  1, T3_FAULT_WIDTH, 0},
	{"f32-2",             T3_DTYPE_F32,  64,  2, T3_FAULT_WIDTH, 0},
	{"f16-1",             T3_DTYPE_F16,  64,  1, T3_FAULT_WIDTH, 0},
	{"bf16-1",            T3_DTYPE_BF16, 65,  1, T3_FAULT_WIDTH, 0},
	{"before",            T3_DTYPE_I32,  60,  4, T3_FAULT_UNMAPPED, NONE},
	{"before-8",          T3_DTYPE_I32,  56,  8, T3_FAULT_UNMAPPED, NONE},
	{"padding",           T3_DTYPE_I32,  100, 4, T3_FAULT_UNMAPPED, 0},
	{"padding-2",         T3_DTYPE_F16,  100, 2, T3_FAULT_UNMAPPED, 0},
	{"padding-end",       T3_DTYPE_I32,  124, 4, T3_FAULT_UNMAPPED, 0},
	{"half-padding",      T3_DTYPE_I32,  96,  8, T3_FAULT_UNMAPPED, 0},
	{"after",             T3_DTYPE_I32,  292, 4, T3_FAULT_UNMAPPED, NONE},
	{"half-after",        T3_DTYPE_I32,  288, 8, T3_FAULT_UNMAPPED, 0},
	{"half-before",       T3_DTYPE_I32,  1024, 8, T3_FAULT_UNMAPPED, NONE},
	{"end-of-space",      T3_DTYPE_I32,  4088, 8, T3_FAULT_UNMAPPED, NONE},
	{"cross-0-1",         T3_DTYPE_I32,  72,  8, T3_FAULT_TILE_CROSS, 0},
	{"cross-row-2",       T3_DTYPE_I32,  200, 8, T3_FAULT_TILE_CROSS, 0},
	{"cross-halves",      T3_DTYPE_F16,  72,  8, T3_FAULT_TILE_CROSS, 0},
};
/* clang-format on */

static void setup(struct conf *c, struct conf_space *s, uint32_t dtype, uint32_t updates)
{
	struct t3_cmd_seg_map segment;

	conf_space_create(c, conf_device(c, 0), s, T3_PAGE_SIZE, 16);
	conf_memory_fill(s->dev, s->args.buffer, T3_PAGE_SIZE, PATTERN);
	segment = conf_segment(s, 0);
	segment.op = T3_OP_STORE;
	segment.init = T3_INIT_KEEP;
	segment.dtype = (uint8_t)dtype;
	segment.updates = updates;
	segment.offset = 64;
	segment.rows = 4;
	segment.row_bytes = 36;
	segment.pitch = 64;
	segment.tile_rows = 2;
	segment.tile_row_bytes = 12;
	conf_map(c, s, &segment);
	segment = conf_segment(s, 1);
	segment.init = T3_INIT_KEEP;
	segment.offset = 1028;
	segment.counter_base = 8;
	conf_map(c, s, &segment);
	conf_arm_wait(c, s, 1);
}

static void check_memory(struct conf *c, struct conf_space *s, uint32_t offset, uint32_t bytes,
			 uint64_t value)
{
	for (uint32_t at = 0; at < T3_PAGE_SIZE; at++) {
		uint8_t wanted = (uint8_t)(PATTERN >> 8 * (at % 8));

		if (at >= offset && at < offset + bytes)
			wanted = (uint8_t)(value >> 8 * (at - offset));
		CHECK(c, conf_buffer(s, at, 1) == wanted, "byte %u is 0x%02x, wanted 0x%02x", at,
		      (unsigned)conf_buffer(s, at, 1), wanted);
	}
}

static const char *store_label(unsigned row)
{
	return stores[row].name;
}

TEST("a store is an update or a fault as the table says", .rows = ARRAY_SIZE(stores),
     .label = store_label)
{
	const uint64_t value = 0x1122334455667788;
	const struct store *store = &stores[row];
	struct t3_cmd_seg_stats stats;
	struct conf_space s;

	setup(c, &s, store->dtype, 2);
	conf_store(&s, store->offset, store->bytes, value);
	stats = conf_stats(c, &s, 0);
	if (store->kind == LEGAL) {
		CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
		CHECK_EQUAL(c, "stores", stats.stores, 1);
		CHECK_EQUAL(c, "local_bytes", stats.local_bytes, store->bytes);
		check_memory(c, &s, store->offset, store->bytes, value);
		return;
	}
	conf_expect_fault(c, &s, store->kind, store->segment, CONF_NO_TILE, store->offset);
	CHECK_EQUAL(c, "stores", stats.stores, 0);
	CHECK_EQUAL(c, "STORES", conf_counter(s.dev, T3_COUNTER_STORES), 0);
	CHECK_EQUAL(c, "TRACKER_ALLOC", conf_counter(s.dev, T3_COUNTER_TRACKER_ALLOC), 0);
	check_memory(c, &s, 0, 0, 0);
}

/* The bus splits a misaligned store, and each piece is a store. */
static const struct {
	const char *name;
	uint32_t dtype, offset, bytes, kind, stores;
} pieces[] = {
	/* clang-format off */
	{"i32-8-at-4",      T3_DTYPE_I32, 76, 8, LEGAL, 2},
	{"f16-4-at-2",      T3_DTYPE_F16, 66, 4, LEGAL, 2},
	{"f16-8-at-4",      T3_DTYPE_F16, 76, 8, LEGAL, 2},
	{"i32-4-at-2",      T3_DTYPE_I32, 66, 4, T3_FAULT_WIDTH, 0},
	{"i32-8-at-1",      T3_DTYPE_I32, 65, 8, T3_FAULT_WIDTH, 0},
	{"f16-2-at-1",      T3_DTYPE_F16, 65, 2, T3_FAULT_WIDTH, 0},
	{"i32-8-over-end",  T3_DTYPE_I32, 284, 8, LEGAL, 2},
	{"i32-8-cross-at-4", T3_DTYPE_I32, 84, 8, LEGAL, 2},
	/* clang-format on */
};

static const char *piece_label(unsigned row)
{
	return pieces[row].name;
}

/* An unaligned store. arm64 refuses to make one to a device, so this is what the bus makes of it. */
static void store_unaligned(struct conf_space *s, uint64_t offset, unsigned bytes, uint64_t value)
{
#ifdef __aarch64__
	unsigned part;

	for (; bytes; bytes -= part, offset += part, value >>= 8 * part) {
		for (part = 4; part > bytes || offset % part; part /= 2)
			;
		conf_store(s, offset, part, value);
	}
#else
	conf_store(s, offset, bytes, value);
#endif
}

TEST("an unaligned store arrives in pieces or faults", .rows = ARRAY_SIZE(pieces),
     .label = piece_label)
{
	const uint64_t value = 0x1122334455667788;
	struct t3_cmd_seg_stats stats;
	struct conf_space s;

	setup(c, &s, pieces[row].dtype, 2);
	store_unaligned(&s, pieces[row].offset, pieces[row].bytes, value);
	stats = conf_stats(c, &s, 0);
	if (pieces[row].kind != LEGAL) {
		conf_wait_fault(c, &s, pieces[row].kind);
		return;
	}
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	CHECK_EQUAL(c, "stores", stats.stores, pieces[row].stores);
	CHECK_EQUAL(c, "local_bytes", stats.local_bytes, pieces[row].bytes);
	check_memory(c, &s, pieces[row].offset, pieces[row].bytes, value);
}

/* The state is checked first: outside ARMED any wrong store is NOT_ARMED. */
TEST("the state is checked before the store", .rows = ARRAY_SIZE(stores), .label = store_label)
{
	struct conf_space s;

	conf_space_simple(c, conf_device(c, 0), &s);
	conf_store(&s, stores[row].offset, stores[row].bytes, 0);
	conf_wait_fault(c, &s, T3_FAULT_NOT_ARMED);
}

/* A tile of 2 x 12 bytes, one update: the 7th element of 4 bytes is one too many. */
TEST("a store that overshoots faults")
{
	static const uint32_t offsets[] = { 64, 68, 72, 128, 132, 136 };
	struct conf_space s;

	setup(c, &s, T3_DTYPE_I32, 1);
	for (unsigned i = 0; i < ARRAY_SIZE(offsets); i++)
		conf_store(&s, offsets[i], 4, i);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	CHECK_EQUAL(c, "TRACKER_LIVE", conf_counter(s.dev, T3_COUNTER_TRACKER_LIVE), 0);
	conf_store(&s, 68, 4, 0x77777777);
	conf_expect_fault(c, &s, T3_FAULT_OVERSHOOT, 0, 0, 68);
	CHECK_EQUAL(c, "the element", conf_buffer(&s, 68, 4), 1);
}

/* 4 bytes are left and 8 come. None of them is applied, and none is a hit of the tracker. */
TEST("a store that overshoots in part is not applied")
{
	static const uint32_t offsets[] = { 64, 68, 72, 128, 132 };
	struct conf_space s;
	uint64_t hits;

	setup(c, &s, T3_DTYPE_I32, 1);
	for (unsigned i = 0; i < ARRAY_SIZE(offsets); i++)
		conf_store(&s, offsets[i], 4, i);
	hits = conf_counter(s.dev, T3_COUNTER_TRACKER_HIT);
	CHECK_EQUAL(c, "TRACKER_LIVE", conf_counter(s.dev, T3_COUNTER_TRACKER_LIVE), 1);
	conf_store(&s, 64, 8, ~0ull);
	conf_expect_fault(c, &s, T3_FAULT_OVERSHOOT, 0, 0, 64);
	CHECK_EQUAL(c, "TRACKER_HIT", conf_counter(s.dev, T3_COUNTER_TRACKER_HIT), hits);
	CHECK_EQUAL(c, "STORES", conf_counter(s.dev, T3_COUNTER_STORES), ARRAY_SIZE(offsets));
	CHECK_EQUAL(c, "stores", conf_stats(c, &s, 0).stores, ARRAY_SIZE(offsets));
	CHECK_EQUAL(c, "first element", conf_buffer(&s, 64, 4), 0);
	CHECK_EQUAL(c, "second element", conf_buffer(&s, 68, 4), 1);
	CHECK_EQUAL(c, "TRIGGERS", conf_counter(s.dev, T3_COUNTER_TRIGGERS), 0);
}

TEST("a read of any width shows the buffer", .rows = 4)
{
	const unsigned bytes = 1u << row;
	struct conf_space s;

	setup(c, &s, T3_DTYPE_I32, 1);
	for (uint64_t at = 0; at < T3_PAGE_SIZE; at += bytes)
		conf_buffer_write(&s, at, bytes, at * 0x9e3779b97f4a7c15u);
	for (uint64_t at = 0; at < T3_PAGE_SIZE; at += bytes)
		CHECK_EQUAL(c, "what is read", conf_load(&s, at, bytes),
			    conf_buffer(&s, at, bytes));
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
}

TEST("an access outside all spaces is dropped")
{
	struct conf_device *d = conf_device(c, 0);
	uint64_t last = d->aperture_bytes - 8;

	CHECK_EQUAL(c, "what is read", conf_read(d->aperture, last, 8), ~0ull);
	CHECK_EQUAL(c, "a byte", conf_read(d->aperture, last, 1), 0xff);
	conf_write(d->aperture, last, 8, 1);
	CHECK_EQUAL(c, "DROPPED", conf_counter(d, T3_COUNTER_DROPPED), 1);
	CHECK_EQUAL(c, "FAULTS", conf_counter(d, T3_COUNTER_FAULTS), 0);
}

/* Before and behind a space, at its very edges. */
TEST("an access beside a space reaches nothing")
{
	struct conf_device *d = conf_device(c, 0);
	struct conf_space first, s;
	uint64_t before, behind;

	conf_space_prepare(c, d, &first, T3_PAGE_SIZE, 1); /* its page stays free */
	setup(c, &s, T3_DTYPE_I32, 1);
	before = s.args.aperture_offset - 8;
	behind = s.args.aperture_offset + T3_PAGE_SIZE;
	CHECK_EQUAL(c, "what is read before", conf_read(d->aperture, before, 8), ~0ull);
	CHECK_EQUAL(c, "what is read behind", conf_read(d->aperture, behind, 8), ~0ull);
	conf_write(d->aperture, before, 8, 1);
	conf_write(d->aperture, before + 4, 4, 1);
	conf_write(d->aperture, behind, 8, 1);
	CHECK_EQUAL(c, "DROPPED", conf_counter(d, T3_COUNTER_DROPPED), 3);
	CHECK_EQUAL(c, "state", conf_state(&s), STATE(T3_SPACE_ARMED, 1));
	CHECK_EQUAL(c, "FAULTS", conf_counter(d, T3_COUNTER_FAULTS), 0);
	check_memory(c, &s, 0, 0, 0);
}

/* Two spaces side by side: a store to one does not affect the other. */
TEST("a store does not affect the neighbour")
{
	struct conf_space a, b;

	setup(c, &a, T3_DTYPE_I32, 1);
	setup(c, &b, T3_DTYPE_I32, 1);
	CHECK_EQUAL(c, "distance", b.args.aperture_offset - a.args.aperture_offset, T3_PAGE_SIZE);
	conf_store(&b, 0, 4, 0);
	conf_wait_fault(c, &b, T3_FAULT_UNMAPPED);
	conf_store(&a, 64, 8, 0x1234);
	CHECK_EQUAL(c, "state of the other", conf_state(&a), STATE(T3_SPACE_ARMED, 1));
	CHECK_EQUAL(c, "its memory", conf_buffer(&a, 64, 8), 0x1234);
}

/* One store of two elements, each in a segment or tile of its own. */
TEST("a store over two segments or tiles faults", .rows = 2)
{
	struct t3_fault_record record;
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 16);
	for (uint32_t i = 0; i < 2; i++) {
		segment = conf_segment(&s, i);
		segment.offset = 36 * i;
		segment.counter_base = 2 * i;
		segment.row_bytes = segment.tile_row_bytes = 36;
		segment.pitch = 36;
		if (row)
			segment.row_bytes = segment.pitch = 72;
		if (!row || !i)
			conf_map(c, &s, &segment);
	}
	conf_arm_wait(c, &s, 1);
	conf_store(&s, 32, 8, 0x0000000100000001);
	record = conf_wait_fault(c, &s, row ? T3_FAULT_TILE_CROSS : T3_FAULT_UNMAPPED);
	CHECK_EQUAL(c, "offset of the fault", record.offset, 32);
	CHECK_EQUAL(c, "segment of the fault", record.segment, 0);
	CHECK_EQUAL(c, "STORES", conf_counter(s.dev, T3_COUNTER_STORES), 0);
}

/* Rows without padding: the end of one is the beginning of the next, in another row. */
TEST("a store over the end of a row faults")
{
	struct t3_cmd_seg_map segment;
	struct conf_space s;

	conf_space_create(c, conf_device(c, 0), &s, T3_PAGE_SIZE, 16);
	segment = conf_segment(&s, 0);
	segment.rows = 4;
	segment.row_bytes = segment.pitch = segment.tile_row_bytes = 12;
	segment.tile_rows = 2;
	conf_map(c, &s, &segment);
	conf_arm_wait(c, &s, 1);
	conf_store(&s, 8, 8, ~0ull);
	conf_wait_fault(c, &s, T3_FAULT_UNMAPPED);
	CHECK_EQUAL(c, "memory", conf_buffer(&s, 8, 8), 0);
}
