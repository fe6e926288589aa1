// SPDX-License-Identifier: MIT
/* Input of plans that the device reads where it lies (t3_plan_bind()), on a ring and a full fabric. */
#include "coll.h"

#define RANKS 4u

/* A rank's input in a buffer of its device, with a chunk's room before and after it. */
struct place {
	struct t3_buffer *buffer;
	char *memory;
	uint64_t at;
};

static uint32_t element(const struct coll_job *job)
{
	return t3_dtype_bytes(job->desc.dtype);
}

static void make_place(const struct coll_job *job, struct t3_device *dev, struct place *place)
{
	uint64_t bytes = job->desc.count * element(job);
	void *ptr;

	place->at = (bytes + 7) / 8 * 8;
	CHECK_EQ(t3_buffer_create(dev, 3 * place->at, &place->buffer), 0);
	CHECK_EQ(t3_buffer_map(place->buffer, &ptr), 0);
	place->memory = ptr;
}

static void bind_all(const struct coll_job *job, struct t3_plan *plan, const struct place *place)
{
	uint64_t first, count;
	uint32_t i, chunk;

	for (i = 0; (chunk = t3_plan_order(plan, i)) != T3_PLAN_NO_CHUNK; i++) {
		CHECK_EQ(t3_plan_chunk(plan, chunk, &first, &count), 0);
		if (!count)
			CHECK_EQ(t3_plan_bind(plan, chunk, NULL, 0), -ERANGE);
		else if (place)
			CHECK_EQ(t3_plan_bind(plan, chunk, place->buffer,
					      place->at + first * element(job)),
				 0);
		else
			CHECK_EQ(t3_plan_bind(plan, chunk, NULL, 0), 0);
	}
}

/* Bound in even epochs. In epoch 4 the put is of other memory, which lands in the bound place. */
static void put(const struct coll_job *job, struct t3_plan *plan, const struct place *place,
		uint32_t epoch, uint32_t r)
{
	char *input = coll_input(job, epoch, r), *bound = place->memory + place->at;
	uint64_t bytes = job->desc.count * element(job);

	memset(place->memory, 0x55, 3 * place->at);
	if (epoch == 2)
		memcpy(bound, input, bytes);
	coll_put(job, plan, epoch == 2 ? bound : input, epoch == 3 ? COLL_TILES : COLL_CHUNKS);
	if (epoch == 4 && t3_plan_order(plan, 0) != T3_PLAN_NO_CHUNK &&
	    job->desc.collective != T3_ALL_GATHER)
		CHECK(!memcmp(bound, input, bytes));
	if (epoch == 3)
		CHECK(bound[0] == 0x55 && !memcmp(bound, bound + 1, bytes - 1));
	free(input);
}

static void run_epoch(struct coll *coll, const struct coll_job *job, const struct place *place,
		      uint32_t epoch)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		if (epoch > 1)
			bind_all(job, coll->plan[r], epoch % 2 ? NULL : &place[r]);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_arm(coll->plan[r]), 0);
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_ready(coll->plan[r], COLL_DEADLINE), 0);
	for (r = 0; r < RANKS; r++)
		put(job, coll->plan[r], &place[r], epoch, r);
	for (r = 0; r < RANKS; r++)
		if (t3_plan_wait(coll->plan[r], COLL_DEADLINE))
			guest_fail(__FILE__, __LINE__, "%s", t3_plan_error(coll->plan[r]));
	/* The result outlives the release that a bind makes. */
	for (r = 0; r < RANKS; r++)
		bind_all(job, coll->plan[r], epoch % 2 ? NULL : &place[r]);
	for (r = 0; r < RANKS; r++)
		coll_check_plan(job, coll->plan[r], epoch, r);
}

static void run(struct coll *coll, const struct coll_job *job)
{
	struct place place[RANKS];
	uint32_t r, e;

	if (t3_plan_create_all(coll->comm, RANKS, &job->desc, coll->plan))
		guest_fail(__FILE__, __LINE__, "%s", t3_comm_error(coll->comm[0]));
	for (r = 0; r < RANKS; r++)
		make_place(job, coll->dev[r], &place[r]);
	for (e = 1; e <= 5; e++)
		run_epoch(coll, job, place, e);
	for (r = 0; r < RANKS; r++) {
		t3_plan_destroy(coll->plan[r]);
		t3_buffer_destroy(place[r].buffer);
	}
}

/* Chunks are multiples of 8 bytes, so that each may be bound. */
static void run_all(bool full)
{
	static const uint64_t counts[] = { 8 * RANKS, 2 * RANKS * 1031 };
	struct coll_job job = { .ranks = RANKS, .full = full, .seed = 3 };
	struct coll coll;
	uint32_t c, i;
	bool sums;

	coll_open(&coll, RANKS, full);
	for (c = T3_REDUCE_SCATTER; c <= T3_BROADCAST; c++) {
		sums = c == T3_REDUCE_SCATTER || c == T3_ALL_REDUCE;
		for (i = 0; i < 4; i++) {
			job.desc = (struct t3_plan_desc){
				.collective = c,
				.count = counts[i / 2],
				.dtype = i % 2 ? DRM_T3_F32 : DRM_T3_I32,
				.op = sums ? DRM_T3_OP_ADD : 0,
				.path = T3_PATH_DOORBELL,
			};
			run(&coll, &job);
		}
	}
	coll_close(&coll);
}

SLOW_TEST("the device reads bound input on a ring")
{
	run_all(COLL_RING);
}

SLOW_TEST("the device reads bound input on a full fabric")
{
	run_all(COLL_FULL);
}

/* ------------------------------------------------------------------------ errors */

static void make_plans(struct coll *coll, uint32_t path)
{
	struct t3_plan_desc desc = {
		.collective = T3_ALL_GATHER,
		.count = RANKS * 1024,
		.path = path,
	};

	CHECK_EQ(t3_plan_create_all(coll->comm, RANKS, &desc, coll->plan), 0);
}

static void destroy_plans(struct coll *coll)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++)
		t3_plan_destroy(coll->plan[r]);
}

TEST("wrong arguments of a binding are refused")
{
	struct t3_buffer *buffer, *other, *host;
	const struct t3_buffer *result;
	struct t3_plan *plan;
	struct coll coll;
	uint64_t offset;
	uint32_t r;

	coll_open(&coll, RANKS, COLL_RING);
	make_plans(&coll, T3_PATH_DOORBELL);
	plan = coll.plan[0];
	CHECK_EQ(t3_buffer_create(coll.dev[0], 8192, &buffer), 0);
	CHECK_EQ(t3_buffer_create(coll.dev[1], 8192, &other), 0);
	CHECK_EQ(t3_buffer_create_host(coll.dev[0], 8192, &host), 0);
	CHECK_EQ(t3_plan_bind(NULL, 0, buffer, 0), -EINVAL);
	CHECK_EQ(t3_plan_bind(plan, 0, NULL, 8), -EINVAL);
	CHECK_EQ(t3_plan_bind(plan, 0, buffer, 4), -EINVAL);
	CHECK_EQ(t3_plan_bind(plan, 0, buffer, 4104), -EINVAL);
	CHECK_EQ(t3_plan_bind(plan, 0, buffer, UINT64_MAX - 7), -EINVAL);
	CHECK_EQ(t3_plan_bind(plan, 1, buffer, 0), -ERANGE);
	CHECK_EQ(t3_plan_bind(plan, RANKS, buffer, 0), -ERANGE);
	CHECK_EQ(t3_plan_bind(plan, 0, other, 0), -EOPNOTSUPP);
	CHECK_EQ(t3_plan_bind(plan, 0, host, 0), -EOPNOTSUPP);
	CHECK_EQ(t3_plan_bind(plan, 0, buffer, 4096), 0);
	CHECK_EQ(t3_plan_result_buffer(plan, &result, NULL), -EINVAL);
	CHECK_EQ(t3_plan_result_buffer(plan, &result, &offset), 0);
	CHECK(offset + RANKS * 4096 <= t3_buffer_size(result));
	for (r = 0; r < RANKS; r++)
		CHECK_EQ(t3_plan_arm(coll.plan[r]), 0);
	CHECK_EQ(t3_plan_bind(plan, 0, buffer, 0), -EBUSY);
	destroy_plans(&coll);
	make_plans(&coll, T3_PATH_STORE);
	CHECK_EQ(t3_plan_bind(coll.plan[0], 0, buffer, 0), -EOPNOTSUPP);
	destroy_plans(&coll);
	t3_buffer_destroy(buffer);
	t3_buffer_destroy(other);
	t3_buffer_destroy(host);
	coll_close(&coll);
}
