// SPDX-License-Identifier: MIT
/*
 * Collectives that fail: wrong arguments, calls out of turn, ranks that want different things,
 * never come, leave, or write wrong data. Each rank that waits gets an error in time, with the rank
 * and the reason.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "child.h"
#include "coll.h"

#define RANKS 4u
#define SOON  t3_deadline(200000000)

/* clang-format off */
#define GOOD { \
	.collective = T3_ALL_REDUCE, .count = 64, .dtype = DRM_T3_I32, .op = DRM_T3_OP_ADD, \
	.path = T3_PATH_STORE, .tile_columns = 4, \
}
/* clang-format on */

/* 16 elements in each chunk, in 4 tiles. */
static const struct t3_plan_desc good = GOOD;

static const struct coll_job good_job = { .desc = GOOD, .ranks = RANKS, .seed = 5 };

static void expect_text(const char *text, const char *part)
{
	if (!strstr(text, part))
		guest_fail(__FILE__, __LINE__, "'%s' is not in '%s'", part, text);
}

static void make_plans(struct coll *coll, const struct t3_plan_desc *desc)
{
	CHECK_EQ(t3_plan_create_all(coll->comm, coll->ranks, desc, coll->plan), 0);
}

static void start_all(struct coll *coll)
{
	uint32_t r;

	for (r = 0; r < coll->ranks; r++)
		CHECK_EQ(t3_plan_arm(coll->plan[r]), 0);
	for (r = 0; r < coll->ranks; r++)
		CHECK_EQ(t3_plan_start(coll->plan[r], COLL_DEADLINE), 0);
}

static void put_all(struct coll *coll, uint32_t rank)
{
	void *input = coll_input(&good_job, 1, rank);

	coll_put(&good_job, coll->plan[rank], input, COLL_CHUNKS);
	free(input);
}

static void destroy_all(struct coll *coll)
{
	uint32_t r;

	for (r = 0; r < coll->ranks; r++)
		t3_plan_destroy(coll->plan[r]);
}

/* ---------------------------------------------------------------------- arguments */

static void refuse(struct coll *coll, const struct t3_plan_desc *desc, int error)
{
	CHECK_EQ(t3_plan_create_all(coll->comm, RANKS, desc, coll->plan), error);
	CHECK(t3_comm_error(coll->comm[0])[0]);
}

TEST("wrong arguments of a plan are refused")
{
	struct t3_plan_desc desc;
	struct coll coll;
	uint32_t i;

	coll_open(&coll, RANKS, COLL_RING);
	for (i = 0; i < 8; i++) {
		desc = good;
		desc.collective = i == 0 ? 0 : i == 1 ? 6 : good.collective;
		desc.count = i == 2 ? 0 : good.count;
		desc.dtype = i == 3 ? 10 : i == 4 ? 255 : good.dtype;
		desc.op = i == 5 ? 0 : good.op;
		desc.path = i == 6 ? 3 : good.path;
		desc.flags = (i == 7) << 1;
		refuse(&coll, &desc, -EINVAL);
	}
	desc = good;
	desc.count = UINT64_C(1) << 30; /* of tiles with four elements */
	refuse(&coll, &desc, -EFBIG);
	desc = good;
	desc.algorithm = T3_ALGORITHM_DIRECT;
	refuse(&coll, &desc, -EHOSTUNREACH);
	expect_text(t3_comm_error(coll.comm[1]), "no link from rank 2");
	CHECK_EQ(t3_plan_create_all(coll.comm, RANKS - 1, &good, coll.plan), -EINVAL);
	CHECK_EQ(t3_plan_create_all(coll.comm + 1, RANKS, NULL, coll.plan), -EINVAL);
	CHECK_EQ(t3_plan_create_all(NULL, RANKS, &good, coll.plan), -EINVAL);
	CHECK_EQ(t3_plan_create_all(coll.comm, RANKS, &good, NULL), -EINVAL);
	CHECK_EQ(t3_plan_create(NULL, &good, 0, coll.plan), -EINVAL);
	coll_run(&coll, &good_job, 2);
	coll_close(&coll);
}

TEST("NULL is refused by each call")
{
	CHECK_EQ(t3_plan_arm(NULL), -EINVAL);
	CHECK_EQ(t3_plan_ready(NULL, 0), -EINVAL);
	CHECK_EQ(t3_plan_start(NULL, 0), -EINVAL);
	CHECK_EQ(t3_plan_put(NULL, 0, "", 1), -EINVAL);
	CHECK_EQ(t3_plan_put_tile(NULL, 0, 0, "", 1), -EINVAL);
	CHECK_EQ(t3_plan_view(NULL, 0, NULL), -EINVAL);
	CHECK_EQ(t3_plan_wait(NULL, 0), -EINVAL);
	CHECK_EQ(t3_plan_result(NULL, NULL, NULL), -EINVAL);
	CHECK_EQ(t3_plan_chunk(NULL, 0, NULL, NULL), -EINVAL);
	CHECK_EQ(t3_plan_order(NULL, 0), T3_PLAN_NO_CHUNK);
	CHECK_EQ(t3_plan_epoch(NULL), 0);
	CHECK(!t3_plan_space(NULL));
	CHECK_EQ(t3_plan_error(NULL)[0], 0);
	t3_plan_set_spin(NULL, 0);
	t3_plan_destroy(NULL);
	CHECK_EQ(t3_all_reduce(NULL, "", NULL, 1, 0, 1, 0), -EINVAL);
}

TEST("calls out of turn are refused as busy")
{
	uint32_t data[65] = { 0 };
	struct t3_view view;
	struct t3_plan *p;
	struct coll coll;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, &good);
	p = coll.plan[1];
	CHECK_EQ(t3_plan_put(p, 0, data, 1), -EBUSY);
	CHECK_EQ(t3_plan_put_tile(p, 0, 0, data, 16), -EBUSY);
	CHECK_EQ(t3_plan_ready(p, 0), -EBUSY);
	CHECK_EQ(t3_plan_wait(p, 0), -EBUSY);
	CHECK_EQ(t3_plan_result(p, NULL, NULL), -EBUSY);
	CHECK_EQ(t3_plan_arm(p), 0);
	CHECK_EQ(t3_plan_arm(p), -EBUSY);
	CHECK_EQ(t3_plan_put(p, 0, data, 1), -EBUSY);
	CHECK_EQ(t3_plan_ready(p, 0), -ETIMEDOUT);
	CHECK_EQ(t3_plan_arm(coll.plan[0]), 0);
	CHECK_EQ(t3_plan_arm(coll.plan[2]), 0);
	CHECK_EQ(t3_plan_arm(coll.plan[3]), 0);
	CHECK_EQ(t3_plan_start(p, COLL_DEADLINE), 0);
	CHECK_EQ(t3_plan_arm(p), -EBUSY);
	CHECK_EQ(t3_plan_start(p, 0), -EBUSY);
	CHECK_EQ(t3_plan_result(p, NULL, NULL), -EBUSY);
	CHECK_EQ(t3_plan_put(p, 0, NULL, 1), -EINVAL);
	CHECK_EQ(t3_plan_put(p, 0, data, 65), -ERANGE);
	CHECK_EQ(t3_plan_put(p, 64, data, 1), -ERANGE);
	CHECK_EQ(t3_plan_put(p, UINT64_MAX, data, 2), -ERANGE);
	CHECK_EQ(t3_plan_put(p, 64, data, 0), 0);
	CHECK_EQ(t3_plan_put_tile(p, 0, 4, data, 16), -ERANGE);
	CHECK_EQ(t3_plan_put_tile(p, 4, 0, data, 16), -ERANGE);
	CHECK_EQ(t3_plan_put_tile(p, 0, 0, data, 15), -EINVAL);
	CHECK_EQ(t3_plan_put(p, 0, data, 16), 0);
	CHECK_EQ(t3_plan_put(p, 3, data, 1), -EOVERFLOW);
	CHECK_EQ(t3_plan_put_tile(p, 0, 0, data, 16), -EOVERFLOW);
	CHECK_EQ(t3_plan_view(p, 4, &view), -ERANGE);
	CHECK_EQ(t3_plan_chunk(p, 4, NULL, NULL), -ERANGE);
	expect_text(t3_plan_error(p), "there is no chunk 4: the plan has 4");
	CHECK_EQ(t3_plan_put(p, 3, data, 1), -EOVERFLOW);
	expect_text(t3_plan_error(p), "an element is put twice: tile 0 of chunk 0 has got ");
	CHECK_EQ(t3_plan_wait(p, 0), -ETIMEDOUT);
	destroy_all(&coll);
	coll_close(&coll);
}

/* A rank has no input of others, and an empty chunk has no place. */
TEST("input that a rank does not have is out of range")
{
	struct t3_plan_desc desc = { .collective = T3_ALL_GATHER, .count = 3 };
	struct t3_view view;
	uint32_t data[4];
	struct coll coll;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, &desc);
	start_all(&coll);
	CHECK_EQ(t3_plan_put(coll.plan[1], 0, data, 1), -ERANGE);
	CHECK_EQ(t3_plan_put(coll.plan[1], 1, data, 2), -ERANGE);
	CHECK_EQ(t3_plan_put_tile(coll.plan[1], 2, 0, data, 4), -ERANGE);
	CHECK_EQ(t3_plan_view(coll.plan[1], 2, &view), -ERANGE);
	CHECK_EQ(t3_plan_view(coll.plan[3], 3, &view), -ENODATA);
	destroy_all(&coll);
	desc.collective = T3_BROADCAST;
	make_plans(&coll, &desc);
	start_all(&coll);
	CHECK_EQ(t3_plan_put(coll.plan[1], 0, data, 1), -ERANGE);
	CHECK_EQ(t3_plan_view(coll.plan[1], 0, &view), -ERANGE);
	CHECK_EQ(t3_plan_view(coll.plan[0], 0, &view), 0);
	destroy_all(&coll);
	coll_close(&coll);
}

/* ------------------------------------------------------------------------ set-up */

/* The call of each rank's thread, and its expected result. */
struct attempt {
	pthread_t id;
	struct t3_comm *comm;
	struct t3_plan_desc desc;
	const struct t3_plan_desc *given;
	int64_t deadline_ns;
	int wanted, got;
	struct t3_plan *plan;
};

static void *attempt_body(void *arg)
{
	struct attempt *a = arg;

	a->got = t3_plan_create(a->comm, a->given, a->deadline_ns, &a->plan);
	return NULL;
}

/* Ranks with comm NULL take no part. */
static void attempt_all(struct attempt *attempt)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		if (attempt[r].comm)
			CHECK_EQ(pthread_create(&attempt[r].id, NULL, attempt_body, &attempt[r]),
				 0);
	for (r = 0; r < RANKS; r++) {
		if (!attempt[r].comm)
			continue;
		CHECK_EQ(pthread_join(attempt[r].id, NULL), 0);
		CHECK_EQ(attempt[r].got, attempt[r].wanted);
	}
}

static void init_attempts(struct attempt *attempt, const struct coll *coll, int wanted)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		attempt[r] = (struct attempt){
			.comm = coll->comm[r],
			.desc = good,
			.given = &attempt[r].desc,
			.deadline_ns = COLL_DEADLINE,
			.wanted = wanted,
		};
	}
}

/* None of these errors ends the communicator. */
TEST("ranks that want different plans are told so and go on")
{
	struct attempt attempt[RANKS];
	struct coll coll;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_RING);
	init_attempts(attempt, &coll, -EINVAL);
	attempt[2].desc.count++;
	attempt_all(attempt);
	expect_text(t3_comm_error(coll.comm[0]),
		    "rank 2 wants a plan with count 65; rank 0 one with count 64");
	init_attempts(attempt, &coll, -EINVAL);
	attempt[3].given = NULL;
	attempt_all(attempt);
	expect_text(t3_comm_error(coll.comm[0]), "rank 3: no description of the plan");
	/* Two ranks are wrong. Both get the error of the lower one. */
	init_attempts(attempt, &coll, -EFBIG);
	attempt[1].desc.count = UINT64_C(1) << 41;
	attempt[3].desc.count = 0;
	attempt_all(attempt);
	expect_text(t3_comm_error(coll.comm[3]),
		    "rank 1: count is above 2^40; got count 2199023255552");
	init_attempts(attempt, &coll, 0);
	attempt_all(attempt);
	for (r = 0; r < RANKS; r++)
		t3_plan_destroy(attempt[r].plan);
	coll_run(&coll, &good_job, 1);
	coll_close(&coll);
}

static void *plain_body(void *arg)
{
	struct attempt *a = arg;
	int32_t data[64] = { 0 };

	a->got = t3_all_reduce(a->comm, data, data, 64, DRM_T3_I32, DRM_T3_OP_ADD, a->deadline_ns);
	return NULL;
}

/* One rank has no memory left. All fail with its error, and can go on. */
TEST("all ranks fail with the error of one without memory")
{
	struct t3_plan_desc large = good;
	struct drm_t3_device_info info;
	struct t3_buffer *hog;
	struct coll coll;
	uint64_t size;

	coll_open(&coll, RANKS, COLL_RING);
	CHECK_EQ(t3_device_info(coll.dev[2], &info), 0);
	for (size = info.memory_free; t3_buffer_create(coll.dev[2], size, &hog); size -= PAGE)
		CHECK(size > PAGE);
	refuse(&coll, &good, -ENOSPC);
	expect_text(t3_comm_error(coll.comm[0]), "rank 2: no ");
	t3_buffer_destroy(hog);
	/* Nor has any device so much. */
	large.count = info.memory_size / 4 + 1;
	large.tile_columns = 0;
	refuse(&coll, &large, -ENOSPC);
	expect_text(t3_comm_error(coll.comm[3]), "rank 0: no buffer of ");
	expect_text(t3_comm_error(coll.comm[3]), ": the device has ");
	coll_run(&coll, &good_job, 1);
	coll_close(&coll);
}

/* A plain collective with deadline 0 says what it would have waited for. */
TEST("a plain collective with deadline 0 names what it lacks")
{
	struct attempt attempt[RANKS];
	struct coll coll;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_RING);
	init_attempts(attempt, &coll, 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(pthread_create(&attempt[r].id, NULL, plain_body, &attempt[r]), 0);
	for (r = 0; r < RANKS; r++) {
		CHECK_EQ(pthread_join(attempt[r].id, NULL), 0);
		CHECK_EQ(attempt[r].got, 0);
	}
	attempt[0].deadline_ns = 0;
	plain_body(&attempt[0]);
	CHECK_EQ(attempt[0].got, -ETIMEDOUT);
	expect_text(t3_comm_error(coll.comm[0]), "all-reduce, rank 0, epoch 2: not ready");
	expect_text(t3_comm_error(coll.comm[0]), "rank 1 has not armed it");
	coll_close(&coll);
}

/* Three ranks give up. The one that comes then learns of it, and does not wait for them. */
TEST("a rank that comes late learns that the others gave up")
{
	struct attempt attempt[RANKS];
	struct coll coll;
	int64_t start;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_RING);
	init_attempts(attempt, &coll, -ETIMEDOUT);
	attempt[1].comm = NULL;
	for (r = 0; r < RANKS; r++)
		attempt[r].deadline_ns = SOON;
	attempt_all(attempt);
	expect_text(t3_comm_error(coll.comm[2]), "rank 1");
	start = now_ns();
	for (r = 0; r < RANKS; r++) {
		attempt[r].comm = r == 1 ? coll.comm[1] : NULL;
		attempt[r].deadline_ns = INT64_MAX;
	}
	attempt_all(attempt);
	expect_text(t3_comm_error(coll.comm[1]), "rank 1 did not come");
	for (r = 0; r < RANKS; r++)
		attempt[r].comm = coll.comm[r];
	attempt_all(attempt); /* at once: it is over */
	CHECK(now_ns() - start < 5000000000);
	coll_close(&coll);
}

TEST("a rank that has left ends the others' calls")
{
	struct attempt attempt[RANKS];
	struct coll coll;

	coll_open(&coll, RANKS, COLL_RING);
	init_attempts(attempt, &coll, -EPIPE);
	attempt[3].comm = NULL;
	t3_comm_destroy(coll.comm[3]);
	coll.comm[3] = NULL;
	attempt_all(attempt);
	expect_text(t3_comm_error(coll.comm[0]), "rank 3");
	coll_close(&coll);
}

/* ------------------------------------------------------------------------- epochs */

TEST("a rank that has not armed is named")
{
	struct coll coll;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, &good);
	for (r = 0; r < RANKS; r++)
		if (r != 2)
			CHECK_EQ(t3_plan_arm(coll.plan[r]), 0);
	CHECK_EQ(t3_plan_ready(coll.plan[1], SOON), -ETIMEDOUT);
	CHECK(strcmp(t3_plan_error(coll.plan[1]),
		     "all-reduce, rank 1, epoch 1: not ready; rank 2 has not armed it") == 0);
	CHECK_EQ(t3_plan_ready(coll.plan[3], COLL_DEADLINE), 0);
	/* A timeout does not end the plan. */
	CHECK_EQ(t3_plan_arm(coll.plan[2]), 0);
	for (r = 0; r < RANKS; r++)
		if (r != 3)
			CHECK_EQ(t3_plan_ready(coll.plan[r], COLL_DEADLINE), 0);
	for (r = 0; r < RANKS; r++)
		put_all(&coll, r);
	for (r = 0; r < RANKS; r++) {
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), 0);
		coll_check_plan(&good_job, coll.plan[r], 1, r);
	}
	destroy_all(&coll);
	coll_close(&coll);
}

/* Rank 3 does not arm. Rank 2 sends to it and waits for it, and all others wait for rank 2. */
TEST("the cause is named when ranks wait for one that waits")
{
	struct coll coll;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, &good);
	for (r = 0; r < 3; r++)
		CHECK_EQ(t3_plan_arm(coll.plan[r]), 0);
	for (r = 0; r < 2; r++) {
		CHECK_EQ(t3_plan_ready(coll.plan[r], COLL_DEADLINE), 0);
		put_all(&coll, r);
	}
	CHECK_EQ(t3_plan_wait(coll.plan[1], SOON), -ETIMEDOUT);
	expect_text(t3_plan_error(coll.plan[1]),
		    "rank 2 has put 0 of 16 elements of chunk 2, as it waits for rank 3");
	CHECK_EQ(t3_plan_wait(coll.plan[0], SOON), -ETIMEDOUT);
	expect_text(t3_plan_error(coll.plan[0]), "as it waits for rank 3");
	destroy_all(&coll);
	coll_close(&coll);
}

/* Rank 2 is an epoch behind the others, because rank 3 has not put its part of that epoch. */
TEST("a rank that is an epoch behind is named with its cause")
{
	struct coll_job job = { .desc = GOOD, .ranks = RANKS, .full = true, .seed = 5 };
	uint64_t first, count;
	struct coll coll;
	uint32_t r, *input;

	job.desc.collective = T3_ALL_TO_ALL;
	job.desc.op = 0;
	coll_open(&coll, RANKS, COLL_FULL);
	make_plans(&coll, &job.desc);
	start_all(&coll);
	for (r = 0; r < RANKS; r++) {
		input = coll_input(&job, 1, r);
		CHECK_EQ(t3_plan_chunk(coll.plan[r], 2, &first, &count), 0);
		CHECK_EQ(t3_plan_put(coll.plan[r], 0, input, first), 0);
		if (r != 3)
			CHECK_EQ(t3_plan_put(coll.plan[r], first, input + first, count), 0);
		first += count;
		CHECK_EQ(t3_plan_put(coll.plan[r], first, input + first, job.desc.count - first),
			 0);
		free(input);
	}
	CHECK_EQ(t3_plan_wait(coll.plan[0], COLL_DEADLINE), 0);
	CHECK_EQ(t3_plan_arm(coll.plan[0]), 0);
	CHECK_EQ(t3_plan_ready(coll.plan[0], SOON), -ETIMEDOUT);
	expect_text(t3_plan_error(coll.plan[0]), "; rank 2 has not armed it, as it waits for "
						 "rank 3; rank 3 has not armed it");
	destroy_all(&coll);
	coll_close(&coll);
}

/* Rank 2 puts all but element 37, in chunk 2 and the second of its tiles. */
TEST("a missing element is named with its tile")
{
	uint32_t *input = coll_input(&good_job, 1, 2), r;
	struct coll coll;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, &good);
	start_all(&coll);
	for (r = 0; r < RANKS; r++)
		if (r != 2)
			put_all(&coll, r);
	CHECK_EQ(t3_plan_put(coll.plan[2], 0, input, 37), 0);
	CHECK_EQ(t3_plan_put(coll.plan[2], 38, input + 38, 26), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_wait(coll.plan[r], SOON), -ETIMEDOUT);
	expect_text(t3_plan_error(coll.plan[2]),
		    "all-reduce, rank 2, epoch 1: chunk 2: tile 1 of 4 lacks 1 of 8 updates; "
		    "rank 2 has put 15 of 16 elements of chunk 2");
	expect_text(t3_plan_error(coll.plan[0]),
		    "all-reduce, rank 0, epoch 1: chunk 2: tile 1 of 4 lacks 4 of 4 updates; "
		    "rank 2 has put 15 of 16 elements of chunk 2");
	CHECK_EQ(t3_plan_put(coll.plan[2], 37, input + 37, 1), 0);
	for (r = 0; r < RANKS; r++) {
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), 0);
		coll_check_plan(&good_job, coll.plan[r], 1, r);
	}
	destroy_all(&coll);
	coll_close(&coll);
	free(input);
}

/* A plan that cannot go on returns the same error from each call. */
static void expect_over(struct t3_plan *plan)
{
	uint32_t data = 0;

	CHECK_EQ(t3_plan_arm(plan), -EIO);
	CHECK_EQ(t3_plan_ready(plan, INT64_MAX), -EIO);
	CHECK_EQ(t3_plan_put(plan, 0, &data, 1), -EIO);
	CHECK_EQ(t3_plan_wait(plan, INT64_MAX), -EIO);
	CHECK_EQ(t3_plan_result(plan, NULL, NULL), -EIO);
}

static void leave_early(bool full)
{
	struct coll coll;
	uint32_t r;

	coll_open(&coll, RANKS, full);
	make_plans(&coll, &good);
	start_all(&coll);
	for (r = 1; r < RANKS; r++)
		put_all(&coll, r);
	t3_plan_destroy(coll.plan[0]);
	coll.plan[0] = NULL;
	for (r = 1; r < RANKS; r++) {
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), -EIO);
		expect_text(t3_plan_error(coll.plan[r]), "peer");
		expect_over(coll.plan[r]);
	}
	destroy_all(&coll);
	coll_run(&coll, &good_job, 1); /* a new one is as good as ever */
	coll_close(&coll);
}

TEST("a rank that leaves early ends the others' epoch")
{
	leave_early(COLL_RING);
	leave_early(COLL_FULL);
}

/* A rank may leave after its result. The others have all that they need from it. */
TEST("a rank that leaves after its result disturbs nobody")
{
	struct coll coll;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, &good);
	start_all(&coll);
	for (r = 0; r < RANKS; r++)
		put_all(&coll, r);
	CHECK_EQ(t3_plan_wait(coll.plan[0], COLL_DEADLINE), 0);
	t3_plan_destroy(coll.plan[0]);
	coll.plan[0] = NULL;
	for (r = 1; r < RANKS; r++) {
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), 0);
		coll_check_plan(&good_job, coll.plan[r], 1, r);
	}
	CHECK_EQ(t3_plan_arm(coll.plan[1]), 0);
	CHECK_EQ(t3_plan_arm(coll.plan[3]), 0);
	CHECK_EQ(t3_plan_ready(coll.plan[3], COLL_DEADLINE), -EIO);
	CHECK_EQ(t3_plan_ready(coll.plan[1], COLL_DEADLINE), -EIO);
	destroy_all(&coll);
	coll_close(&coll);
}

/* Rank 1 stores an element twice. The fault is its own, and the others learn of it. */
TEST("a rank that stores twice faults, and the others learn of it")
{
	struct t3_view view;
	struct coll coll;
	uint32_t r, i;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, &good);
	start_all(&coll);
	for (r = 0; r < RANKS; r++)
		if (r != 1)
			put_all(&coll, r);
	CHECK_EQ(t3_plan_view(coll.plan[1], 0, &view), 0);
	for (i = 0; i < 5; i++)
		t3_store32(view.base, i);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), -EIO);
	expect_text(t3_plan_error(coll.plan[1]), t3_fault_name(DRM_T3_FAULT_OVERSHOOT));
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_wait(coll.plan[r], COLL_DEADLINE), -EIO);
	expect_text(t3_plan_error(coll.plan[2]), "rank 1 faulted");
	destroy_all(&coll);
	coll_close(&coll);
}

/* ---------------------------------------------------------------------- processes */

struct killed {
	char dir[32];
	uint32_t rank;
};

/* Rank 2 dies before its part of the second epoch. */
static void killed_body(int sock, void *arg)
{
	const struct killed *k = arg;
	struct t3_comm_desc desc = { .dir = k->dir, .rank = k->rank, .ranks = RANKS };
	struct t3_device *dev = coll_device(RANKS, COLL_RING, k->rank);
	struct coll coll = { .ranks = RANKS };
	struct t3_comm *comm;
	struct t3_plan *plan;

	CHECK_EQ(t3_comm_create(dev, &desc, COLL_DEADLINE, &comm), 0);
	CHECK_EQ(t3_plan_create(comm, &good, COLL_DEADLINE, &plan), 0);
	coll.plan[k->rank] = plan;
	CHECK_EQ(t3_plan_start(plan, COLL_DEADLINE), 0);
	put_all(&coll, k->rank);
	CHECK_EQ(t3_plan_wait(plan, COLL_DEADLINE), 0);
	coll_check_plan(&good_job, plan, 1, k->rank);
	CHECK_EQ(t3_plan_start(plan, COLL_DEADLINE), 0);
	send_u32(sock, 1);
	CHECK_EQ(receive_u32(sock), 1);
	if (k->rank == 2)
		raise(SIGKILL);
	put_all(&coll, k->rank);
	CHECK_EQ(t3_plan_wait(plan, COLL_DEADLINE), -EIO);
	nap_ms(100); /* its socket is closed before or after its device */
	CHECK_EQ(t3_plan_wait(plan, COLL_DEADLINE), -EIO);
	expect_text(t3_plan_error(plan), "rank 2 has ended");
	t3_plan_destroy(plan);
	t3_comm_destroy(comm);
	t3_device_close(dev);
}

TEST("a killed rank is named to the others")
{
	struct killed killed = { .dir = "/tmp/coll-XXXXXX" };
	struct child child[RANKS];
	uint32_t r;

	CHECK(mkdtemp(killed.dir));
	for (r = 0; r < RANKS; r++) {
		killed.rank = r;
		child_start(&child[r], killed_body, &killed);
	}
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(receive_u32(child[r].sock), 1);
	for (r = 0; r < RANKS; r++)
		send_u32(child[r].sock, 1);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(child_end(&child[r], 30000), r == 2 ? 128 + SIGKILL : 0);
	CHECK_EQ(rmdir(killed.dir), 0);
}
