/* SPDX-License-Identifier: MIT */
/* Timed runs that end early, are interrupted by other work, or migrate. SPEC.md 11.8. */
#include "gang.h"
#include "gang/gang.h"
#include "migrate.h"
#include "test.h"

enum leave { ABORT, DESTROY, RESET, DETACH, LEAVES };

static void leave(struct gang *gang, uint32_t rank, enum leave how)
{
	struct host_dev *d = &gang->host->dev[rank];

	if (how == ABORT) {
		queue_abort(&gang->q[rank]);
	} else if (how == DESTROY) {
		queue_destroy(&gang->q[rank]);
	} else if (how == RESET) {
		t3_dev_reset(d->dev);
	} else {
		t3_dev_detach(d->dev);
		host_attach(gang->host, rank);
	}
	if (how != ABORT)
		gang->q[rank] = queue_new(d, 3, 0);
}

/* In the middle of a run, and while rank 2 is still awaited. */
TEST("a rank that leaves ends the run of its gang")
{
	struct t3_timed_setup setup = run_small(3, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	enum leave how;
	uint32_t i;

	for (how = ABORT; how < LEAVES; how++) {
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);

		t3_fabric_set_inline_budget(gang.host->fabric, 0);
		gang_submit(&gang, &run);
		t3_fabric_run(gang.host->fabric, 9);
		leave(&gang, 1, how);
		host_drain(gang.host);
		for (i = 0; i < 3; i += 2) {
			queue_expect(&gang.q[i], 0, T3_DESC_GANG, 1);
			assert_true(run_untouched(&gang.q[i]));
			queue_abort(&gang.q[i]);
		}
		if (how == ABORT)
			queue_expect(&gang.q[1], 0, T3_DESC_ABORTED, 0);
		gang.index[0] = run_submit(&gang.q[0], &run);
		gang.index[1] = run_submit(&gang.q[1], &run);
		host_drain(gang.host);
		leave(&gang, 1, how);
		gang.index[2] = run_submit(&gang.q[2], &run);
		host_drain(gang.host);
		gang.index[1] = run_submit(&gang.q[1], &run);
		host_drain(gang.host);
		gang_expect(&gang, &native, 0);
		host_free(gang.host);
	}
}

/* While a device is reset its peers do nothing, because the host may reset them next. */
TEST("peers of a device are quiet while it is reset")
{
	struct run run = run_of_all(3);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 3);
	struct t3_queue *third = &t3_queues(gang.host->dev[1].dev)->queue[9];

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 5);
	third->phase = T3_PHASE_TIMED; /* rank 1 takes part twice, which no state may say */
	assert_string_equal(t3_fabric_check(gang.host->fabric),
			    "a timed run does not have one queue at each rank");
	third->phase = T3_PHASE_NONE;
	t3_dev_reset(gang.host->dev[0].dev);
	assert_null(t3_fabric_check(gang.host->fabric));
	assert_int_equal(queue_completion(&gang.q[1], 0)->word, 0);
	host_migrate(gang.host, 0); /* in between */
	host_drain(gang.host);
	queue_expect(&gang.q[1], 0, T3_DESC_GANG, 0);
	queue_expect(&gang.q[2], 0, T3_DESC_GANG, 0);
	host_free(gang.host);
}

/* A device that is reset marks the run of another rank alone. */
TEST("a reset marks the run of another rank alone")
{
	struct run run = run_mirrored();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	run_submit(&gang.q[0], &run);
	t3_fabric_run(gang.host->fabric, 5);
	t3_dev_reset(gang.host->dev[1].dev);
	host_drain(gang.host);
	queue_expect(&gang.q[0], 0, T3_DESC_OK, 0);
	assert_int_equal(run_result(&gang.q[0]).flags, T3_TIMED_HOST_PACED);
	host_free(gang.host);
}

static uint64_t events_of(const struct host *host)
{
	const struct t3_timed *run = t3_gang_of(host->fabric)->run;

	return run ? t3_timed_events(run) : 0;
}

/* The run has come that far. */
static void store_waits(uint32_t steps)
{
	struct t3_timed_setup setup = timed_small(512, 512, 256, 2);
	struct host *host = host_ring(2);
	struct queue q = queue_new(&host->dev[1], 3, 0);
	struct t3_cmd_seg_map map = host_segment(1, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct run run = run_of(&setup);
	uint64_t events;
	uint32_t i;

	for (i = 0; i < 2; i++)
		host_space(&host->dev[i], 1);
	host_connect(&host->dev[0], &host->dev[1], 1);
	host_local(&host->dev[1], 1, 0);
	map.updates = T3_MAX_UPDATES;
	host_map(&host->dev[0], &map);
	for (i = 0; i < 2; i++)
		host_arm(&host->dev[i], 1, 1);
	host_drain(host);
	host_expect(&host->dev[0], 1, T3_SPACE_ARMED, 1);
	t3_fabric_set_inline_budget(host->fabric, 0);
	run_submit(&q, &run);
	t3_fabric_run(host->fabric, steps);
	events = events_of(host);
	for (i = 0; i < 200; i++)
		host_store(&host->dev[0], 1, 0, 1, 4);
	assert_int_equal(events_of(host), events);
	assert_int_equal(queue_head(&q), 0);
	host_drain(host);
	assert_int_equal(queue_head(&q), 1);
	host_free(host);
}

/* A store that waits for room on a link does not run the model meanwhile, which may be due before. */
TEST("a store that waits does not run the model")
{
	uint32_t steps;

	for (steps = 0; steps < 8; steps++)
		store_waits(steps);
}

/* A rank's other queue takes the seat that one leaves while the gang is gathered. */
TEST("a rank's other queue takes the seat that was left")
{
	struct run run = run_mirrored();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct queue second = queue_new(&gang.host->dev[0], 5, 0);

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	run_submit(&gang.q[0], &run);
	run_submit(&second, &run);
	run_submit(&gang.q[1], &run);
	t3_fabric_run(gang.host->fabric, 6);
	t3_dev_reset(gang.host->dev[0].dev);
	host_drain(gang.host);
	assert_true(run_untouched(&second));
	queue_expect(&gang.q[1], 0, T3_DESC_OK, 0);
	host_free(gang.host);
}

/* An overrun stops the queue, not the others' run; ABORT completes its descriptor. */
TEST("an overrun stops the queue alone")
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 5);
	gang.q[0].tail += QUEUE_ENTRIES + 1;
	queue_ring(&gang.q[0]);
	host_drain(gang.host);
	run_expect(&gang.q[1], 0, &native, 1, T3_TIMED_HOST_PACED);
	assert_true(run_untouched(&gang.q[0]));
	queue_expect_state(&gang.q[0], T3_QUEUE_ERROR, 0, T3_DESC_OVERRUN);
	run_submit(&gang.q[1], &run); /* it is no member of the next */
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[1]), 1);
	queue_abort(&gang.q[0]);
	queue_expect(&gang.q[0], 0, T3_DESC_ABORTED, 0);
	host_free(gang.host);
}

/* A doorbell that is revoked, and given again. */
TEST("a revoked doorbell may be given again")
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	t3_fabric_run(gang.host->fabric, 5);
	gang.q[0].tail = 0;
	queue_ring(&gang.q[0]);
	host_drain(gang.host);
	run_expect(&gang.q[1], 0, &native, 1, T3_TIMED_HOST_PACED);
	queue_expect_state(&gang.q[0], T3_QUEUE_READY, 0, T3_DESC_OK);
	assert_null(t3_fabric_check(gang.host->fabric));
	gang.index[1] = run_submit(&gang.q[1], &run);
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[1]), 1);
	gang.q[0].tail = 1;
	queue_ring(&gang.q[0]);
	host_drain(gang.host);
	gang_expect(&gang, &native, 0);
	host_free(gang.host);
}

TEST("a hung queue keeps its gang waiting")
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct t3_cmd_inject hang = { .kind = T3_INJECT_HANG_QUEUE, .peer = 3 };

	gang.index[0] = run_submit(&gang.q[0], &run);
	assert_int_equal(t3_fabric_inject(gang.host->fabric, &hang), T3_ADMIN_OK);
	gang.index[1] = run_submit(&gang.q[1], &run);
	host_drain(gang.host);
	assert_int_equal(queue_head(&gang.q[1]), 0);
	hang.kind = T3_INJECT_UNHANG_QUEUE;
	assert_int_equal(t3_fabric_inject(gang.host->fabric, &hang), T3_ADMIN_OK);
	host_drain(gang.host);
	gang_expect(&gang, &native, 0);
	host_free(gang.host);
}

/* ---------------------------------------------------------------- migration */

/* At each of many moments: gathering, running, all over. */
TEST("a timed run migrates at any moment")
{
	struct t3_timed_setup setup = run_small(2, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	uint32_t moment, i;

	for (moment = 0; moment < 60; moment += 3) {
		struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
		uint64_t before;

		t3_fabric_set_inline_budget(gang.host->fabric, 0);
		gang_submit(&gang, &run);
		for (i = 0; i < moment; i++)
			t3_fabric_run(gang.host->fabric, 1);
		before = t3_fabric_now(gang.host->fabric);
		host_migrate(gang.host, 0);
		while (t3_fabric_run(gang.host->fabric, 1))
			assert_true(t3_fabric_now(gang.host->fabric) >= before);
		gang_expect(&gang, &native, 0);
		host_free(gang.host);
	}
}

/* A state that was loaded replaces a run that goes on. */
TEST("a loaded state replaces a run")
{
	struct t3_timed_setup a = run_small(2, T3_TIMED_T3), b = run_small(2, T3_TIMED_SEQUENTIAL);
	struct native native = run_natively(&a);
	struct run run_a = run_of(&a), run_b = run_of(&b);
	struct gang from = gang_new(T3_TOPOLOGY_RING, 2), to = gang_new(T3_TOPOLOGY_RING, 2);
	uint32_t i;

	t3_fabric_set_inline_budget(from.host->fabric, 0);
	t3_fabric_set_inline_budget(to.host->fabric, 0);
	gang_submit(&from, &run_a);
	gang_submit(&to, &run_b);
	t3_fabric_run(from.host->fabric, 7);
	t3_fabric_run(to.host->fabric, 9);
	for (i = 0; i < 2; i++)
		memcpy(to.host->dev[i].data, from.host->dev[i].data, HOST_DATA_SIZE);
	host_copy(to.host, from.host);
	host_drain(to.host);
	gang_expect(&to, &native, 0);
	host_free(from.host);
	host_free(to.host);
}

/* A device's state that is refused ends its part in a run, and no more. */
TEST("a refused state ends the device's part alone")
{
	struct run run = run_mirrored(), of_all = run_of_all(2);
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	uint32_t how;

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	for (how = 0; how < 3; how++) {
		if (how < 2)
			run_submit(&gang.q[how], &run);
		else
			gang_submit(&gang, &of_all);
		t3_fabric_run(gang.host->fabric, 6);
		assert_non_null(t3_dev_load(gang.host->dev[0].dev, "junk", 4));
		host_drain(gang.host);
		assert_null(t3_fabric_check(gang.host->fabric));
		gang.q[0] = queue_new(&gang.host->dev[0], 3, 0);
	}
	queue_expect(&gang.q[1], 0, T3_DESC_OK, 0);
	assert_int_equal(queue_head(&gang.q[1]), 1); /* the one of all waits again */
	host_free(gang.host);
}

/* A fabric whose clock is old begins no more runs, so its state can be saved. */
TEST("an old clock begins no more runs")
{
	struct run run = run_mirrored();
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 1);
	struct blobs blobs;
	uint64_t old = 1ull << 61, place;

	blobs_save(&blobs, gang.host);
	for (place = 0; place + 8 <= blobs.part[1].len; place++)
		if (!memcmp(blobs.part[1].data + place, &(uint64_t){ 0x1122334455667788ull }, 8))
			break;
	memcpy(blobs.part[1].data + place + 8, &old, 8);
	assert_null(blobs_load(&blobs, gang.host, 0));
	assert_int_equal(t3_fabric_now(gang.host->fabric), old);
	blobs_free(&blobs);
	run_expect_refused(&gang.q[0], &run, T3_DESC_BAD_RANGE, old);
	host_free(gang.host);
}
