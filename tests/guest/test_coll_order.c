// SPDX-License-Identifier: MIT
/*
 * How reductions round. Deterministic ones: an element has the bits of its operands in the order of
 * the ranks, on a ring and a full fabric, for long and short arrays, with the tiles of each. Widened
 * ones: an element is the exact sum, rounded once.
 */
#include "coll.h"
#include "ref.h"

#define RANKS 4u
#define MOST  5000u

/* From 1/16 to 8, of either sign: sums of them round. */
static double input(uint32_t rank, uint64_t e)
{
	uint64_t bits = (e + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (rank + 1) * 0x85ebca6bu;
	double value;

	bits = (bits & 0x800fffffffffffff) | (1019 + (bits >> 53) % 7) << 52;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* One rounding after the other, by arithmetic that knows nothing of the processor's floats. */
static uint64_t in_order(uint32_t dtype, const unsigned char *whole[RANKS], uint64_t e)
{
	uint32_t size = ref_size(dtype), r;
	uint64_t sum = 0, bits;

	for (r = 0; r < RANKS; r++) {
		bits = 0;
		memcpy(&bits, whole[r] + e * size, size);
		sum = ref_apply(dtype, DRM_T3_OP_ADD, sum, bits);
	}
	return sum;
}

/* Four bf16 inputs have a sum of at most 18 bits. It is exact in f32, in any order. */
static uint64_t rounded_once(const unsigned char *whole[RANKS], uint64_t e)
{
	uint64_t sum = 0;
	uint16_t half;
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		memcpy(&half, whole[r] + 2 * e, 2);
		sum = ref_apply(DRM_T3_F32, DRM_T3_OP_ADD, sum, ref_widen(DRM_T3_BF16, half));
	}
	return ref_narrow(DRM_T3_BF16, (uint32_t)sum);
}

static uint64_t expected(const struct t3_plan_desc *desc, const unsigned char *whole[RANKS],
			 uint64_t e)
{
	return desc->flags & T3_PLAN_WIDEN ? rounded_once(whole, e)
					   : in_order(desc->dtype, whole, e);
}

static unsigned char *make_input(uint32_t dtype, uint32_t rank)
{
	unsigned char *whole = malloc(MOST * sizeof(double));
	uint64_t e;

	CHECK(whole);
	for (e = 0; e < MOST; e++) {
		double value = input(rank, e);
		float narrow = (float)value;

		if (dtype == DRM_T3_BF16) /* the upper half of an f32 */
			memcpy(whole + e * 2, (const char *)&narrow + 2, 2);
		else if (dtype == DRM_T3_F64)
			memcpy(whole + e * sizeof(value), &value, sizeof(value));
		else
			memcpy(whole + e * sizeof(narrow), &narrow, sizeof(narrow));
	}
	return whole;
}

static void check_result(const struct t3_plan_desc *desc, struct t3_plan *plan, uint32_t rank,
			 const unsigned char *whole[RANKS])
{
	uint32_t size = ref_size(desc->dtype);
	uint64_t first = 0, count = desc->count, bytes, e;
	const void *data;

	if (desc->collective == T3_REDUCE_SCATTER)
		CHECK_EQ(t3_plan_chunk(plan, rank, &first, &count), 0);
	CHECK_EQ(t3_plan_result(plan, &data, &bytes), 0);
	CHECK_EQ(bytes, count * size);
	for (e = 0; e < count; e++) {
		uint64_t got = 0;

		memcpy(&got, (const char *)data + e * size, size);
		CHECK_EQ(got, expected(desc, whole, first + e));
	}
}

static void run(struct coll *coll, const struct t3_plan_desc *desc,
		const unsigned char *whole[RANKS])
{
	uint64_t first, count;
	uint32_t r, i, c;

	CHECK_EQ(t3_plan_create_all(coll->comm, RANKS, desc, coll->plan), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_arm(coll->plan[r]), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_ready(coll->plan[r], COLL_DEADLINE), 0);
	/* The last rank puts first, so updates come in another order than they count. */
	for (r = RANKS; r-- > 0;)
		for (i = 0; (c = t3_plan_order(coll->plan[r], i)) != T3_PLAN_NO_CHUNK; i++) {
			CHECK_EQ(t3_plan_chunk(coll->plan[r], c, &first, &count), 0);
			if (count)
				CHECK_EQ(t3_plan_put(coll->plan[r], first,
						     whole[r] + first * ref_size(desc->dtype),
						     count),
					 0);
		}
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_wait(coll->plan[r], COLL_DEADLINE), 0);
	for (r = 0; r < RANKS; r++) {
		check_result(desc, coll->plan[r], r, whole);
		t3_plan_destroy(coll->plan[r]);
	}
}

static void run_sizes(bool full, uint32_t dtype, uint32_t flags)
{
	static const uint64_t counts[] = { 1, 3, 97, 1000, MOST };
	struct t3_plan_desc desc = { .dtype = dtype, .op = DRM_T3_OP_ADD, .flags = flags };
	const unsigned char *whole[RANKS];
	struct coll coll;
	uint32_t i, r;

	for (r = 0; r < RANKS; r++)
		whole[r] = make_input(dtype, r);
	coll_open(&coll, RANKS, full);
	for (i = 0; i < 2 * ROWS(counts); i++) {
		desc.collective = i % 2 ? T3_REDUCE_SCATTER : T3_ALL_REDUCE;
		desc.count = counts[i / 2];
		desc.tile_columns = i % 3 ? 0 : 7;
		desc.path = T3_PATH_STORE + i % 2;
		run(&coll, &desc, whole);
	}
	coll_close(&coll);
	for (r = 0; r < RANKS; r++)
		free((void *)(uintptr_t)whole[r]);
}

SLOW_TEST("a ring adds floats in the order of the ranks")
{
	run_sizes(COLL_RING, DRM_T3_F32, T3_PLAN_DETERMINISTIC);
}

SLOW_TEST("a ring adds doubles in the order of the ranks")
{
	run_sizes(COLL_RING, DRM_T3_F64, T3_PLAN_DETERMINISTIC);
}

SLOW_TEST("a full fabric adds doubles in the order of the ranks")
{
	run_sizes(COLL_FULL, DRM_T3_F64, T3_PLAN_DETERMINISTIC);
}

SLOW_TEST("a full fabric rounds each widened sum once")
{
	run_sizes(COLL_FULL, DRM_T3_BF16, T3_PLAN_WIDEN);
}
