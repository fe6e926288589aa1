// SPDX-License-Identifier: MIT
/* libt3: the set-up of plans, when another rank sends wrong messages. */
#include "test_lib_fabric.h"

#include "plan/plan.h"
#include "test.h"

/* The message of a set-up, as numbers. */
struct wire_message {
	uint32_t magic, number, step;
	int32_t error;
	uint32_t fatal, pad;
	struct t3_plan_desc desc;
	char text[176];
};

enum { DESCRIBE, GRANT, JOIN, READY, STEPS };

/* Plans without groups of a switch have no JOIN. */
static uint32_t after(uint32_t step)
{
	return step == GRANT ? READY : step + 1;
}

static const struct t3_plan_desc all_reduce = {
	.collective = T3_ALL_REDUCE,
	.count = 10,
	.op = DRM_T3_OP_ADD,
};

#define RANKS 3u

static struct t3_device *devs[RANKS];
static struct t3_comm *comms[RANKS];
static unsigned int fds;

static int start(void)
{
	uint32_t i;

	fds = count_fds();
	for (i = 0; i < RANKS; i++)
		devs[i] = device_new(FABRIC, i);
	return 0;
}

static int stop(void)
{
	uint32_t i;

	fabric_has_spaces = false;
	for (i = 0; i < RANKS; i++) {
		t3_comm_destroy(comms[i]);
		comms[i] = NULL;
		t3_device_close(devs[i]);
	}
	assert_int_equal(count_fds(), fds);
	return 0;
}

static struct wire_message good(void)
{
	return (struct wire_message){ .magic = 0x50335404, .number = 1, .desc = all_reduce };
}

/* Send all messages of rank 0, with a file in the first step or without. */
static void say_all(int file)
{
	struct wire_message m = good();

	for (m.step = DESCRIBE; m.step < STEPS; m.step = after(m.step))
		assert_int_equal(t3_comm_post(comms[0], 1, &m, sizeof(m),
					      m.step == DESCRIBE ? file : -1),
				 0);
}

/* Check rank 1's messages. They report the failure from the first step in which rank 1 knows it. */
static void hear_all(uint32_t knows, int error, const char *text)
{
	struct wire_message m;
	uint32_t step;
	int grant;

	for (step = DESCRIBE; step < STEPS; step = after(step)) {
		assert_int_equal(t3_comm_take(comms[0], 1, &m, sizeof(m), &grant, 0), 0);
		assert_int_equal(grant >= 0, step == GRANT && step < knows);
		if (grant >= 0)
			close(grant);
		assert_int_equal(m.step, step);
		assert_int_equal(m.error, step < knows ? 0 : error);
		assert_int_equal(m.fatal, 0);
	}
	assert_string_equal(m.text, text);
}

/*
 * Rank 0 sends this in the first step, and no grant. Rank 1 must still report why the first step
 * failed.
 */
static void refuses(int file, uint32_t knows, const char *text)
{
	struct t3_plan *plan = NULL;

	assert_int_equal(t3_comm_create_local(devs, 2, comms), 0);
	say_all(file);
	assert_int_equal(t3_plan_create(comms[1], &all_reduce, in_ms(20000), &plan), -EPROTO);
	assert_null(plan);
	assert_string_equal(t3_comm_error(comms[1]), text);
	hear_all(knows, -EPROTO, text);
}

#undef TEST
#define TEST(sentence) TEST_WITH(sentence, start, stop)

TEST("wrong shared state is refused")
{
	int file = memfd_create("short", MFD_CLOEXEC);

	refuses(file, GRANT, "rank 0 sent memory of a wrong size or without seals");
	close(file);
}

/* Else its owner could cut it below the mapping. */
TEST("unsealed shared state is refused")
{
	int file = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING), plain;

	assert_int_equal(ftruncate(file, sizeof(struct plan_shared)), 0);
	refuses(file, GRANT, "rank 0 sent memory of a wrong size or without seals");
	close(file);
	plain = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(t3_plan_shared_open(plain, NULL), -EPROTO);
	close(plain);
}

TEST("a message without shared state is refused")
{
	refuses(-1, GRANT, "rank 0 sent memory of a wrong size or without seals");
}

/* Without the check rank 1 would send by an import that is not its own. */
TEST("a message without a grant is refused")
{
	struct plan_shared *shared = NULL;
	int file = -1;

	assert_int_equal(t3_plan_shared_new(&shared, &file), 0);
	fabric_has_spaces = true;
	refuses(file, READY, "rank 0 sent neither a grant nor an error");
	t3_plan_shared_close(shared);
	close(file);
}

/* No plan can be made after it, and nobody waits for one. */
TEST("another rank's end is final")
{
	struct wire_message m = good();
	struct t3_plan *plan = NULL;

	assert_int_equal(t3_comm_create_local(devs, 2, comms), 0);
	m.error = -EIO;
	m.fatal = 1;
	strcpy(m.text, "its device is broken");
	for (m.step = DESCRIBE; m.step < STEPS; m.step = after(m.step))
		assert_int_equal(t3_comm_post(comms[0], 1, &m, sizeof(m), -1), 0);
	assert_int_equal(t3_plan_create(comms[1], &all_reduce, in_ms(20000), &plan), -EIO);
	assert_int_equal(t3_plan_create(comms[1], &all_reduce, 0, &plan), -EIO);
	assert_null(plan);
}

/* Rank 1 tells a rank that it gives up, from that step on. No step is left out. */
static void hear_end(uint32_t rank, uint32_t knows)
{
	struct wire_message m;
	uint32_t step;

	for (step = DESCRIBE; step < STEPS; step = after(step)) {
		assert_int_equal(t3_comm_take(comms[rank], 1, &m, sizeof(m), NULL, 0), 0);
		assert_int_equal(m.step, step);
		assert_int_equal(m.fatal, step >= knows);
	}
}

static void is_another_call(struct wire_message m, const char *text)
{
	struct t3_plan *plan = NULL;
	uint32_t r;

	assert_int_equal(t3_comm_create_local(devs, RANKS, comms), 0);
	assert_int_equal(t3_comm_post(comms[0], 1, &m, sizeof(m), -1), 0);
	assert_int_equal(t3_plan_create(comms[1], &all_reduce, in_ms(20000), &plan), -EPROTO);
	assert_string_equal(t3_comm_error(comms[1]), text);
	assert_int_equal(t3_plan_create(comms[1], &all_reduce, in_ms(20000), &plan), -EPROTO);
	hear_end(0, DESCRIBE);
	hear_end(2, GRANT);
	for (r = 0; r < RANKS; r++) {
		t3_comm_destroy(comms[r]);
		comms[r] = NULL;
	}
}

TEST("messages of another call are refused")
{
	struct wire_message m = good();

	m.magic++;
	is_another_call(m, "rank 0 has a libt3 with plans of version 50335405, this one 50335404");
	m = good();
	m.number++;
	is_another_call(m, "rank 0 creates its plan 2, this one its plan 1: all ranks must create "
			   "their plans in the same order");
	m = good();
	m.step++;
	is_another_call(m, "rank 0 sent step 1 of a plan with error 0, where step 0 is due");
	m = good();
	m.error = 1;
	is_another_call(m, "rank 0 sent step 0 of a plan with error 1, where step 0 is due");
}

/* Rank 1 wants the all-reduce above. */
static void differs(const struct t3_plan_desc *desc, const char *text)
{
	struct wire_message m = good();
	struct t3_plan *plan = NULL;
	struct plan_shared *shared;
	int file;

	m.desc = *desc;
	assert_int_equal(t3_plan_shared_new(&shared, &file), 0);
	assert_int_equal(t3_comm_create_local(devs, 2, comms), 0);
	assert_int_equal(t3_comm_post(comms[0], 1, &m, sizeof(m), file), 0);
	assert_int_equal(t3_plan_create(comms[1], &all_reduce, in_ms(20000), &plan), -EINVAL);
	assert_string_equal(t3_comm_error(comms[1]), text);
	assert_int_equal(comms[1]->plans_over, 0);
	t3_plan_shared_close(shared);
	close(file);
	t3_comm_destroy(comms[0]);
	t3_comm_destroy(comms[1]);
	comms[0] = comms[1] = NULL;
}

TEST("the difference between plans is named")
{
	struct t3_plan_desc desc = all_reduce;

	desc.count = 11;
	differs(&desc, "rank 1 wants a plan with count 10; rank 0 one with count 11");
	desc.dtype = DRM_T3_F32;
	desc.op = DRM_T3_OP_MIN;
	desc.tile_columns = 5;
	differs(&desc, "rank 1 wants a plan with count 10, dtype 0 (i32), op 1 (add), "
		       "tile_columns 0; rank 0 one with count 11, dtype 1 (f32), op 2 (min), "
		       "tile_columns 5");
	desc = all_reduce;
	desc.collective = T3_BROADCAST;
	desc.root = 1;
	differs(&desc, "rank 1 wants a plan with collective 3 (all-reduce), root 0; "
		       "rank 0 one with collective 5 (broadcast), root 1");
}

/* Rank 0 is in a barrier, and has then ended. The end is not the reason. */
TEST("the reason is kept")
{
	struct t3_plan *plan;

	assert_int_equal(t3_comm_create_local(devs, 3, comms), 0);
	assert_int_equal(t3_comm_barrier(comms[0], 0), -ETIMEDOUT);
	t3_comm_destroy(comms[0]);
	comms[0] = NULL;
	assert_int_equal(t3_plan_create(comms[1], &all_reduce, in_ms(20000), &plan), -EPROTO);
	assert_string_equal(t3_comm_error(comms[1]),
			    "rank 0 is in a barrier, this one is setting up a plan: all ranks "
			    "must make the same calls");
}

/* After a plain collective that found no link no other one can run. A plan of another kind can. */
TEST("a missing link ends plain collectives alone")
{
	struct wire_message m = { .magic = 0x50335404, .number = 1, .desc = all_reduce };
	uint32_t in = 1, out, i;

	assert_int_equal(t3_comm_create_local(devs, 2, comms), 0);
	comms[1]->topology = 1;
	comms[1]->device_rank[1] = 7;
	assert_int_equal(t3_comm_post(comms[0], 1, &m, sizeof(m), -1), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(t3_all_reduce(comms[1], &in, &out, 10, 0, DRM_T3_OP_ADD, 0),
				 -EHOSTUNREACH);
	assert_int_equal(comms[1]->plans_over, 0);
}
