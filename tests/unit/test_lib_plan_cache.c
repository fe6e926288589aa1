// SPDX-License-Identifier: MIT
/*
 * libt3: collectives on plain memory, and the plans that a communicator keeps for them. Each rank is
 * a thread. Another thread is the hardware: it completes each epoch at once, and moves nothing.
 */
#include "test_lib_spaces.h"

#include <pthread.h>

#include "plan/cache.c" /* to come near a plan's last epoch */

#define COUNT	 10u
#define LONG_NS	 INT64_C(20000000000)
#define SENTINEL 0xabcdu

struct call {
	uint32_t collective;
	uint64_t count;
	int64_t deadline_ns;
	uint32_t root;
	bool no_in, no_out;
	int ret[RANKS];
	uint32_t in[RANKS][COUNT], out[RANKS][COUNT];
};

static struct call call;
static pthread_t hardware;
static _Atomic bool over, frozen;

/* ------------------------------------------------------------------- hardware */

static void complete_epochs(uint32_t rank)
{
	uint32_t s, spaces = *(volatile uint32_t *)&hw[rank].spaces_made;
	volatile uint64_t *state;
	uint32_t armed;

	for (s = 1; s <= spaces; s++) {
		armed = *(volatile uint32_t *)page(rank, s);
		state = (volatile uint64_t *)(page(rank, s) + 0x1000);
		if (armed && (uint32_t)*state != armed)
			*state = (uint64_t)DRM_T3_SPACE_COMPLETE << 32 | armed;
	}
}

static void *run_hardware(void *none)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	uint32_t r;

	(void)none;
	while (!over) {
		for (r = 0; r < RANKS && !frozen; r++)
			complete_epochs(r);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int start_all(void)
{
	int ret = start();

	memset(&call, 0, sizeof(call));
	over = frozen = false;
	assert_int_equal(pthread_create(&hardware, NULL, run_hardware, NULL), 0);
	return ret;
}

static int stop_all(void)
{
	over = true;
	pthread_join(hardware, NULL);
	return stop();
}

/* ---------------------------------------------------------------------- calls */

static int collective(uint32_t r)
{
	const void *in = call.no_in ? NULL : call.in[r];
	void *out = call.no_out ? NULL : call.out[r];
	uint64_t n = call.count;
	int64_t end = call.deadline_ns;

	switch (call.collective) {
	case T3_REDUCE_SCATTER:
		return t3_reduce_scatter(comms[r], in, out, n, DRM_T3_I32, DRM_T3_OP_MAX, end);
	case T3_ALL_GATHER:
		return t3_all_gather(comms[r], in, out, n, DRM_T3_I32, end);
	case T3_ALL_REDUCE:
		return t3_all_reduce(comms[r], in, out, n, DRM_T3_I32, DRM_T3_OP_MAX, end);
	case T3_ALL_TO_ALL:
		return t3_all_to_all(comms[r], in, out, n, DRM_T3_I32, end);
	default:
		return t3_broadcast(comms[r], out, n, DRM_T3_I32, call.root, end);
	}
}

static void *run_rank(void *rank)
{
	uint32_t r = (uint32_t)(uintptr_t)rank;

	call.ret[r] = collective(r);
	return NULL;
}

/* Rank r has 100 r + e as element e of its input. */
static void run_all(uint32_t kind, uint64_t count, int ret)
{
	pthread_t thread[RANKS];
	uint32_t r, e;

	call.collective = kind;
	call.count = count;
	if (!call.deadline_ns)
		call.deadline_ns = t3_deadline(LONG_NS);
	for (r = 0; r < RANKS; r++) {
		for (e = 0; e < COUNT; e++) {
			call.in[r][e] = 100 * r + e;
			call.out[r][e] = SENTINEL;
		}
		pthread_create(&thread[r], NULL, run_rank, (void *)(uintptr_t)r);
	}
	for (r = 0; r < RANKS; r++) {
		pthread_join(thread[r], NULL);
		assert_int_equal(call.ret[r], ret);
	}
	call.deadline_ns = 0;
}

/* The rank's own part is in its result, so many elements, and nothing behind it is written. */
static void got(uint32_t r, uint32_t at, uint32_t from, uint32_t count, uint32_t bytes)
{
	assert_memory_equal(&call.out[r][at], &call.in[r][from], count * 4);
	if (bytes < COUNT)
		assert_int_equal(call.out[r][bytes], SENTINEL);
}

#define PLAN_TEST(sentence) TEST_WITH(sentence, start_all, stop_all)

/* Chunks of 4, 3 and 3 elements. */
PLAN_TEST("results have the own part")
{
	static const uint32_t first[] = { 0, 4, 7 }, size[] = { 4, 3, 3 };
	uint32_t r;

	run_all(T3_ALL_GATHER, COUNT, 0);
	for (r = 0; r < RANKS; r++)
		got(r, first[r], 0, size[r], COUNT);
	run_all(T3_REDUCE_SCATTER, COUNT, 0);
	for (r = 0; r < RANKS; r++)
		got(r, 0, first[r], size[r], size[r]);
	run_all(T3_ALL_REDUCE, COUNT, 0);
	for (r = 0; r < RANKS; r++)
		got(r, first[r], first[r], size[r], COUNT);
	run_all(T3_ALL_TO_ALL, COUNT, 0);
	for (r = 0; r < RANKS; r++)
		got(r, r * size[r], first[r], size[r], 3 * size[r]);
}

/* The root's data stays, and the others' is overwritten. */
PLAN_TEST("the root keeps its data")
{
	call.root = 1;
	run_all(T3_BROADCAST, COUNT, 0);
	assert_int_equal(call.out[1][0], SENTINEL);
	assert_int_equal(call.out[1][COUNT - 1], SENTINEL);
	assert_int_equal(call.out[0][0], 0);
	assert_int_equal(call.out[2][COUNT - 1], 0);
}

/* -------------------------------------------------------------------- memory */

static void asks(struct t3_comm *comm, uint32_t kind, uint64_t count, bool in, bool out, int ret)
{
	uint32_t memory[COUNT];
	void *from = in ? memory : NULL, *to = out ? memory : NULL;

	comm->plans_over = -EPIPE; /* whatever comes so far ends here */
	if (kind == T3_REDUCE_SCATTER)
		assert_int_equal(t3_reduce_scatter(comm, from, to, count, 0, 0, 0), ret);
	else if (kind == T3_ALL_GATHER)
		assert_int_equal(t3_all_gather(comm, from, to, count, 0, 0), ret);
	else if (kind == T3_ALL_TO_ALL)
		assert_int_equal(t3_all_to_all(comm, from, to, count, 0, 0), ret);
	else
		assert_int_equal(t3_all_reduce(comm, from, to, count, 0, 0, 0), ret);
}

/* Rank 2 has a part of 3 elements, and none of 2. */
PLAN_TEST("memory may lack where a part is empty")
{
	asks(comms[2], T3_ALL_REDUCE, 2, false, true, -EINVAL);
	asks(comms[2], T3_ALL_REDUCE, 2, true, false, -EINVAL);
	asks(comms[2], T3_ALL_REDUCE, 2, true, true, -EPIPE);
	asks(comms[2], T3_ALL_GATHER, 2, false, true, -EPIPE);
	asks(comms[2], T3_ALL_GATHER, 2, true, false, -EINVAL);
	asks(comms[2], T3_ALL_GATHER, 3, false, true, -EINVAL);
	asks(comms[1], T3_ALL_GATHER, 2, false, true, -EINVAL);
	asks(comms[2], T3_REDUCE_SCATTER, 2, true, false, -EPIPE);
	asks(comms[2], T3_REDUCE_SCATTER, 2, false, true, -EINVAL);
	asks(comms[2], T3_ALL_TO_ALL, 2, true, false, -EPIPE);
	asks(comms[1], T3_ALL_TO_ALL, 1, true, false, -EPIPE);
	asks(comms[0], T3_ALL_TO_ALL, 1, true, false, -EINVAL);
	assert_int_equal(t3_all_gather(NULL, "", &call, 1, DRM_T3_U8, 0), -EINVAL);
}

/* ---------------------------------------------------------------------- plans */

static void made(uint32_t spaces, uint32_t now)
{
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		assert_int_equal(hw[r].spaces_made, spaces);
		assert_int_equal(hw[r].spaces, now);
	}
}

PLAN_TEST("a plan serves again")
{
	run_all(T3_ALL_GATHER, COUNT, 0);
	run_all(T3_ALL_GATHER, COUNT, 0);
	made(1, 1);
	run_all(T3_ALL_REDUCE, COUNT, 0);
	made(2, 2);
	run_all(T3_ALL_GATHER, COUNT, 0);
	made(2, 2);
}

/* A reduction has a plan with them, and the others keep theirs. Ranks that differ are refused. */
PLAN_TEST("flags are those of plain reductions")
{
	uint32_t r;

	assert_int_equal(t3_comm_set_plan_flags(NULL, 0), -EINVAL);
	assert_int_equal(t3_comm_set_plan_flags(comms[0], 4), -EINVAL);
	assert_int_equal(t3_comm_set_plan_flags(comms[0], 3), -EINVAL);
	run_all(T3_ALL_GATHER, COUNT, 0);
	run_all(T3_ALL_REDUCE, COUNT, 0);
	run_all(T3_REDUCE_SCATTER, COUNT, 0);
	for (r = 0; r < RANKS; r++)
		assert_int_equal(t3_comm_set_plan_flags(comms[r], T3_PLAN_DETERMINISTIC), 0);
	run_all(T3_ALL_GATHER, COUNT, 0);
	made(3, 3);
	run_all(T3_ALL_REDUCE, COUNT, 0);
	run_all(T3_REDUCE_SCATTER, COUNT, 0);
	made(5, 5);
	for (r = 0; r < RANKS; r++)
		assert_int_equal(t3_comm_set_plan_flags(comms[r], T3_PLAN_WIDEN), 0);
	run_all(T3_ALL_REDUCE, COUNT, 0); /* of a type that does without */
	made(5, 5);
	for (r = 0; r < RANKS; r++)
		assert_int_equal(t3_comm_set_plan_flags(comms[r], T3_PLAN_DETERMINISTIC), 0);
	assert_int_equal(t3_comm_set_plan_flags(comms[1], 0), 0);
	run_all(T3_ALL_REDUCE, COUNT - 1, -EINVAL);
}

/* Eight are kept. The one not used for the longest time goes. */
PLAN_TEST("the oldest plan goes")
{
	uint64_t count;

	for (count = 1; count <= 8; count++)
		run_all(T3_ALL_GATHER, count, 0);
	run_all(T3_ALL_GATHER, 1, 0);
	made(8, 8);
	run_all(T3_ALL_GATHER, 9, 0);
	made(9, 8);
	run_all(T3_ALL_GATHER, 1, 0);
	run_all(T3_ALL_GATHER, 3, 0);
	made(9, 8);
	run_all(T3_ALL_GATHER, 2, 0);
	made(10, 8);
	run_all(T3_ALL_GATHER, 4, 0);
	made(11, 8);
}

/* Every rank runs the same epochs, so all make a new plan in the same call. */
PLAN_TEST("a plan ends with its last epoch")
{
	struct plan_cache *cache;
	uint32_t r;

	run_all(T3_ALL_GATHER, COUNT, 0);
	run_all(T3_ALL_REDUCE, COUNT, 0);
	for (r = 0; r < RANKS; r++) {
		cache = comms[r]->kept;
		cache->plan[1]->epoch = UINT32_MAX - 1;
	}
	run_all(T3_ALL_GATHER, COUNT, 0);
	made(2, 2);
	run_all(T3_ALL_REDUCE, COUNT, 0);
	run_all(T3_ALL_GATHER, COUNT, 0);
	made(3, 2);
	for (r = 0; r < RANKS; r++) {
		cache = comms[r]->kept;
		assert_int_equal(cache->count, 2);
		assert_int_equal(cache->plan[0]->epoch, 1);
		assert_int_equal(cache->plan[1]->epoch, 2);
		got(r, (const uint32_t[]){ 0, 4, 7 }[r], 0, 3, COUNT);
	}
	run_all(T3_ALL_REDUCE, COUNT, 0);
	run_all(T3_ALL_GATHER, COUNT, 0);
	made(3, 2);
}

/* --------------------------------------------------------------------- errors */

PLAN_TEST("a wrong call is no end")
{
	call.root = RANKS;
	run_all(T3_BROADCAST, COUNT, -EINVAL);
	run_all(T3_ALL_GATHER, UINT64_C(1) << 40, -EFBIG);
	run_all(T3_ALL_GATHER, COUNT, 0);
	made(1, 1);
}

PLAN_TEST("a failed plan is an end")
{
	fail_call(1, DRM_IOCTL_T3_BO_CREATE, 0, ENOSPC);
	run_all(T3_ALL_GATHER, COUNT, -ENOSPC);
	assert_string_equal(t3_comm_error(comms[0]),
			    "rank 1: no buffer of 40 bytes: No space left on device");
	assert_int_equal(hw[0].spaces_made, 1);
	run_all(T3_ALL_GATHER, COUNT, -ENOSPC);
	assert_int_equal(hw[0].spaces_made, 1);
}

/* A collective with deadline 0 has a reason, too. */
PLAN_TEST("a late epoch is an end")
{
	uint32_t r;

	run_all(T3_ALL_GATHER, COUNT, 0);
	frozen = true;
	call.collective = T3_ALL_GATHER;
	for (r = 0; r < RANKS; r++) {
		assert_int_equal(collective(r), -ETIMEDOUT);
		assert_int_equal(comms[r]->plans_over, -ETIMEDOUT);
	}
	assert_string_equal(t3_comm_error(comms[0]),
			    "all-gather, rank 0, epoch 2: not ready; rank 1 has not armed it; "
			    "rank 2 has not armed it");
	frozen = false;
	run_all(T3_ALL_GATHER, COUNT, -ETIMEDOUT);
	made(1, 1);
}
