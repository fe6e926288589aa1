// SPDX-License-Identifier: MIT
/*
 * How reductions round. Deterministic ones: an element has the bits of its operands in the order of
 * the ranks, on a ring and a full fabric, for long and short arrays, with the tiles of each. Widened
 * ones: an element is the exact sum, rounded once.
 */
#include "coll.h"
#include "ref.h"

#define RANKS 5u /* at most */
#define MOST  5000u
#define CASES 50u /* on each of four fabrics */

struct job {
	struct t3_plan_desc desc;
	uint32_t ranks;
	unsigned char *whole[RANKS]; /* each rank's input */
};

/* -------------------------------------------------------------------- inputs */

/* From 1/16 to 8, of either sign: sums of them round. */
static double input(uint32_t rank, uint64_t e)
{
	uint64_t bits = (e + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (rank + 1) * 0x85ebca6bu;
	double value;

	bits = (bits & 0x800fffffffffffff) | (1019 + (bits >> 53) % 7) << 52;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* An f16 or bf16 has the first bits of the double. */
static uint16_t half_of(uint32_t dtype, double value)
{
	float narrow = (float)value;
	uint32_t bits;

	memcpy(&bits, &narrow, sizeof(bits));
	return (uint16_t)ref_narrow(dtype, bits);
}

static void make_inputs(struct job *job)
{
	uint32_t r, size = ref_size(job->desc.dtype);
	uint64_t e;

	for (r = 0; r < job->ranks; r++) {
		job->whole[r] = malloc(MOST * sizeof(double));
		CHECK(job->whole[r]);
		for (e = 0; e < MOST; e++) {
			double value = input(r, e);
			float narrow = (float)value;
			uint16_t half = size == 2 ? half_of(job->desc.dtype, value) : 0;
			const void *from = &value;

			if (size == 4)
				from = &narrow;
			else if (size == 2)
				from = &half;
			memcpy(job->whole[r] + e * size, from, size);
		}
	}
}

static void free_inputs(struct job *job)
{
	uint32_t r;

	for (r = 0; r < job->ranks; r++)
		free(job->whole[r]);
}

static uint64_t operand(const struct job *job, uint32_t rank, uint64_t e)
{
	uint32_t size = ref_size(job->desc.dtype);
	uint64_t bits = 0;

	memcpy(&bits, job->whole[rank] + e * size, size);
	return bits;
}

/* ------------------------------------------------------------------- results */

/* One rounding after the other, by arithmetic that knows nothing of the processor's floats. */
static uint64_t in_order(const struct job *job, uint64_t e)
{
	uint64_t result = ref_identity(job->desc.dtype, job->desc.op);
	uint32_t r;

	for (r = 0; r < job->ranks; r++)
		result = ref_apply(job->desc.dtype, job->desc.op, result, operand(job, r, e));
	return result;
}

/* Five bf16 inputs have a sum of at most 18 bits. It is exact in f32, in any order. */
static uint64_t rounded_once(const struct job *job, uint64_t e)
{
	uint64_t sum = 0;
	uint32_t r;

	for (r = 0; r < job->ranks; r++)
		sum = ref_apply(DRM_T3_F32, DRM_T3_OP_ADD, sum,
				ref_widen(DRM_T3_BF16, (uint32_t)operand(job, r, e)));
	return ref_narrow(DRM_T3_BF16, (uint32_t)sum);
}

static void check_result(const struct job *job, struct t3_plan *plan, uint32_t rank)
{
	uint32_t size = ref_size(job->desc.dtype);
	uint64_t first = 0, count = job->desc.count, bytes, e;
	const void *data;

	if (job->desc.collective == T3_REDUCE_SCATTER)
		CHECK_EQ(t3_plan_chunk(plan, rank, &first, &count), 0);
	CHECK_EQ(t3_plan_result(plan, &data, &bytes), 0);
	CHECK_EQ(bytes, count * size);
	for (e = 0; e < count; e++) {
		uint64_t got = 0, wanted = job->desc.flags & T3_PLAN_WIDEN
						   ? rounded_once(job, first + e)
						   : in_order(job, first + e);

		memcpy(&got, (const char *)data + e * size, size);
		if (got != wanted)
			fprintf(stderr,
				"# collective %u of %u ranks, %llu elements of dtype %u, op %u, "
				"tiles of %u, "
				"rank %u, element %llu\n",
				job->desc.collective, job->ranks,
				(unsigned long long)job->desc.count, job->desc.dtype, job->desc.op,
				job->desc.tile_columns, rank, (unsigned long long)e);
		CHECK_EQ(got, wanted);
	}
}

static void run(struct coll *coll, const struct job *job)
{
	uint64_t first, count;
	uint32_t r, i, c;

	CHECK_EQ(t3_plan_create_all(coll->comm, job->ranks, &job->desc, coll->plan), 0);
	for (r = 0; r < job->ranks; r++)
		CHECK_EQ(t3_plan_arm(coll->plan[r]), 0);
	for (r = 0; r < job->ranks; r++)
		CHECK_EQ(t3_plan_ready(coll->plan[r], COLL_DEADLINE), 0);
	/* The last rank puts first, so updates come in another order than they count. */
	for (r = job->ranks; r-- > 0;)
		for (i = 0; (c = t3_plan_order(coll->plan[r], i)) != T3_PLAN_NO_CHUNK; i++) {
			CHECK_EQ(t3_plan_chunk(coll->plan[r], c, &first, &count), 0);
			if (count)
				CHECK_EQ(t3_plan_put(coll->plan[r], first,
						     job->whole[r] +
							     first * ref_size(job->desc.dtype),
						     count),
					 0);
		}
	for (r = 0; r < job->ranks; r++)
		CHECK_EQ(t3_plan_wait(coll->plan[r], COLL_DEADLINE), 0);
	for (r = 0; r < job->ranks; r++) {
		check_result(job, coll->plan[r], r);
		t3_plan_destroy(coll->plan[r]);
	}
}

/* --------------------------------------------------------------------- tests */

static void run_sizes(bool full, uint32_t dtype, uint32_t flags)
{
	static const uint64_t counts[] = { 1, 3, 97, 1000, MOST };
	struct job job = {
		.desc = { .dtype = dtype, .op = DRM_T3_OP_ADD, .flags = flags },
		.ranks = 4,
	};
	struct coll coll;
	uint32_t i;

	make_inputs(&job);
	coll_open(&coll, job.ranks, full);
	for (i = 0; i < 2 * ROWS(counts); i++) {
		job.desc.collective = i % 2 ? T3_REDUCE_SCATTER : T3_ALL_REDUCE;
		job.desc.count = counts[i / 2];
		job.desc.tile_columns = i % 3 ? 0 : 7;
		job.desc.path = T3_PATH_STORE + i % 2;
		run(&coll, &job);
	}
	coll_close(&coll);
	free_inputs(&job);
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

static uint32_t below(uint64_t *random, uint32_t bound)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*random >> 33) % bound);
}

/* Numbers drawn anew by each element's place, so that short and long plans share inputs. */
static void run_cases(uint32_t ranks, bool full)
{
	static const uint32_t dtypes[] = { DRM_T3_F32, DRM_T3_F64, DRM_T3_F16, DRM_T3_BF16 };
	uint64_t random = ranks * 2 + full;
	struct job job = { .ranks = ranks };
	struct coll coll;
	uint32_t i;

	coll_open(&coll, ranks, full);
	for (i = 0; i < CASES; i++) {
		memset(&job.desc, 0, sizeof(job.desc));
		job.desc.collective = below(&random, 2) ? T3_REDUCE_SCATTER : T3_ALL_REDUCE;
		job.desc.count = 1 + below(&random, below(&random, 4) ? 200 : 3000);
		job.desc.dtype = dtypes[below(&random, ROWS(dtypes))];
		job.desc.op = below(&random, 4) ? DRM_T3_OP_ADD : DRM_T3_OP_MUL;
		job.desc.tile_columns = below(&random, 2) ? 1 + below(&random, 300) : 0;
		job.desc.path = below(&random, 3);
		job.desc.flags = T3_PLAN_DETERMINISTIC;
		make_inputs(&job);
		run(&coll, &job);
		free_inputs(&job);
	}
	coll_close(&coll);
}

SLOW_TEST("random plans of a ring of four are in the order of the ranks")
{
	run_cases(4, COLL_RING);
}

SLOW_TEST("random plans of a full fabric of four are in the order of the ranks")
{
	run_cases(4, COLL_FULL);
}

SLOW_TEST("random plans of a ring of three are in the order of the ranks")
{
	run_cases(3, COLL_RING);
}

SLOW_TEST("random plans of a ring of five are in the order of the ranks")
{
	run_cases(5, COLL_RING);
}
