/* SPDX-License-Identifier: MIT */
/*
 * Update arithmetic in bulk (AVX2, NEON) against one element at a time, and both against integers
 * only (ref.c): all types and ops, any place and length, values of all kinds, ranges that overlap.
 * Also the narrowing and widening of a GEMM's results.
 */
#include "nmc/nmc.h"
#include "ops.h"
#include "ref.h"
#include "world.h"

#define STEPS_MAX 64u
#define ROOM	  512u
#define REF_MAX	  16u /* elements that the slow reference computes */
#define GUARD	  64u /* bytes on both sides, which stay as they are */

struct run {
	struct stream *in;
	uint32_t dtype, op;
	uint8_t memory[ROOM + 2 * GUARD], source[ROOM + 2 * GUARD];
};

/* ------------------------------------------------------------------ values */

/* Zero, subnormals, the least normal, one, the largest, infinity, NaNs: of all types at once. */
static const uint32_t special[] = {
	0,	    1,		2,	    0x3ff,	0x400,	    0x401,	0x7f,
	0x80,	    0x3bff,	0x3c00,	    0x3f80,	0x4c00,	    0x7bff,	0x7c00,
	0x7c01,	    0x7e00,	0x7f7f,	    0x7f80,	0x7f81,	    0x7fc0,	0x7fff,
	0x7fffff,   0x800000,	0x33800000, 0x38800000, 0x3f800000, 0x3f800001, 0x477fefff,
	0x477ff000, 0x4b800000, 0x7f7fffff, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff,
};

static uint32_t special_value(uint32_t which)
{
	uint32_t sign = which & 0x80 ? 0x80008000u : 0;

	return special[which % 64 % (sizeof(special) / sizeof(special[0]))] |
	       (which & 0x40 ? sign : sign & 0x80000000u);
}

static uint8_t *choose(struct run *run, uint32_t which)
{
	return which & 0x80 ? run->memory : run->source;
}

/* The same few values again and again, so that each meets each. A double gets them as its upper half. */
static void fill_special(struct run *run)
{
	uint32_t how = stream_u8(run->in), step = 1 + (how & 0x3f), at, i;
	uint8_t which[4], *to = choose(run, how);
	uint32_t value;

	stream_bytes(run->in, which, sizeof(which));
	for (i = at = 0; at + 8 <= ROOM; at += ref_size(run->dtype), i++) {
		value = special_value(which[i % 4] + i / 4 * step);
		memcpy(to + GUARD + at + (ref_size(run->dtype) == 8 ? 4 : 0), &value,
		       sizeof(value));
	}
}

static void fill_random(struct run *run)
{
	uint8_t *to = choose(run, stream_u8(run->in));
	uint64_t random = stream_u32(run->in) + 1ull, bits;
	uint32_t at;

	for (at = 0; at < ROOM; at += sizeof(bits)) {
		bits = host_random(&random);
		memcpy(to + GUARD + at, &bits, sizeof(bits));
	}
}

/* The source becomes the memory with a few bits changed: sums that cancel, round and tie. */
static void fill_near(struct run *run)
{
	uint32_t bits = stream_u32(run->in), value, at;

	for (at = 0; at < ROOM; at += sizeof(value)) {
		memcpy(&value, run->memory + GUARD + at, sizeof(value));
		value ^= bits >> at / 4 % 8;
		memcpy(run->source + GUARD + at, &value, sizeof(value));
	}
}

static void fill_raw(struct run *run)
{
	uint32_t where = stream_u8(run->in), length = 1 + stream_u8(run->in) % 32;

	stream_bytes(run->in, choose(run, where) + GUARD + (where & 0x7f) * 4 % (ROOM - 32),
		     length);
}

/* -------------------------------------------------------------- operations */

static uint64_t element(const uint8_t *at, uint32_t size)
{
	uint64_t value = 0;

	memcpy(&value, at, size);
	return value;
}

static void expect_reference(const struct run *run, const uint8_t *before, const uint8_t *source,
			     const uint8_t *after, uint32_t bytes)
{
	uint32_t size = ref_size(run->dtype), i;
	uint64_t value;

	for (i = 0; i < bytes / size && i < REF_MAX; i++) {
		value = element(source + i * size, size);
		if (run->op != T3_OP_STORE)
			value = ref_apply(run->dtype, run->op, element(before + i * size, size),
					  value);
		assert_int_equal(element(after + i * size, size), value);
	}
}

static void set_type(struct run *run, uint32_t what)
{
	run->dtype = what % T3_DTYPE_COUNT;
	run->op = 1 + what / T3_DTYPE_COUNT % (T3_OP_COUNT - 1);
	if (!ref_has(run->dtype, run->op))
		run->op = T3_OP_MUL;
}

/* Any place in the guarded room. The length is whole elements. */
static uint32_t length_of(struct run *run, uint32_t from)
{
	uint32_t size = ref_size(run->dtype), room = ROOM - from;

	return stream_u16(run->in) % (room + 1) / size * size;
}

static void apply(struct run *run)
{
	uint32_t to, from, bytes;
	uint8_t want[sizeof(run->memory)], before[sizeof(run->memory)];

	set_type(run, stream_u8(run->in));
	to = stream_u8(run->in) % 64;
	from = stream_u8(run->in) % 64;
	bytes = length_of(run, to > from ? to : from);
	memcpy(want, run->memory, sizeof(want));
	memcpy(before, run->memory, sizeof(want));
	t3_nmc_apply_narrow(run->dtype, run->op, want + GUARD + to, run->source + GUARD + from,
			    bytes);
	t3_nmc_apply(run->dtype, run->op, run->memory + GUARD + to, run->source + GUARD + from,
		     bytes);
	assert_memory_equal(run->memory, want, sizeof(want));
	expect_reference(run, before + GUARD + to, run->source + GUARD + from, want + GUARD + to,
			 bytes);
}

/* Both ranges in one memory, one a few bytes before or after the other. */
static void overlap(struct run *run)
{
	uint8_t want[sizeof(run->memory)];
	uint32_t to, from, bytes;

	set_type(run, stream_u8(run->in));
	to = stream_u8(run->in) % 128;
	from = stream_u8(run->in) % 128;
	bytes = length_of(run, to > from ? to : from);
	memcpy(want, run->memory, sizeof(want));
	t3_nmc_apply_narrow(run->dtype, run->op, want + GUARD + to, want + GUARD + from, bytes);
	t3_nmc_apply(run->dtype, run->op, run->memory + GUARD + to, run->memory + GUARD + from,
		     bytes);
	assert_memory_equal(run->memory, want, sizeof(want));
}

static void convert(struct run *run)
{
	float wide[ROOM / 4];
	uint8_t narrow[ROOM];
	uint32_t count = 1 + stream_u8(run->in) % REF_MAX, size, i, value, was;
	const uint8_t *from = run->source + GUARD;

	set_type(run, stream_u8(run->in));
	if (!ref_is_float(run->dtype) || run->dtype == T3_DTYPE_F64)
		return;
	size = ref_size(run->dtype);
	t3_nmc_widen(run->dtype, from, wide, count);
	for (i = 0; i < count; i++) {
		was = element(from + i * size, size);
		memcpy(&value, &wide[i], sizeof(value));
		if (ref_is_nan(run->dtype, was)) /* any; the result will be the canonical one */
			assert_true(ref_is_nan(T3_DTYPE_F32, value));
		else
			assert_int_equal(value, ref_widen(run->dtype, was));
	}
	memcpy(wide, from, count * sizeof(wide[0]));
	t3_nmc_narrow(run->dtype, wide, narrow, count);
	for (i = 0; i < count; i++)
		assert_int_equal(element(narrow + i * size, size),
				 ref_narrow(run->dtype, element(from + 4 * i, 4)));
}

static void (*const operations[OP_BITS_COUNT])(struct run *) = {
	[OP_BITS_SPECIAL] = fill_special, [OP_BITS_RANDOM] = fill_random,
	[OP_BITS_NEAR] = fill_near,	  [OP_BITS_RAW] = fill_raw,
	[OP_BITS_APPLY] = apply,	  [OP_BITS_OVERLAP] = overlap,
	[OP_BITS_CONVERT] = convert,
};

static void one(struct stream *in, struct host *host)
{
	struct run run = { .in = in };
	uint32_t steps;

	(void)host;
	set_type(&run, stream_u8(in));
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++)
		operations[stream_u8(in) % OP_BITS_COUNT](&run);
}

const struct fuzz_target fuzz_target = { .one = one, .alone = true };
