/* SPDX-License-Identifier: MIT */
/*
 * Each allocation of the core fails in turn. The caller is told, and what was made
 * before can be freed: the sanitizer finds what is lost.
 */
#include "arena.h"
#include "gang.h"
#include "gang/gang.h"
#include "test.h"

/* ------------------------------------------------- a device on a recorded fabric */

struct parts {
	uint8_t *memory;
	struct t3_fabric *fabric;
	struct t3_dev *dev;
	bool attached;
};

static void emit(void *opaque, const void *data, size_t len)
{
	(void)opaque;
	(void)data;
	(void)len;
}

static void kick(void *opaque)
{
	(void)opaque;
}

static bool make_parts(struct parts *p)
{
	static const struct t3_fabric_config fabric = { .topology = T3_TOPOLOGY_RING,
							.ranks = 2,
							.id = 1 };
	static const struct t3_fabric_ops fabric_ops = { .kick = kick };
	static const struct t3_host_ops ops = { 0 };
	static const struct t3_dev_config dev = { .memory_size = HOST_MEMORY,
						  .aperture_size = HOST_APERTURE,
						  .tracker_entries = 8,
						  .tracker_ways = 8 };

	p->fabric = t3_fabric_new(&fabric, &fabric_ops, NULL);
	if (!p->fabric || !t3_fabric_record(p->fabric, emit, NULL))
		return false;
	p->dev = t3_dev_new(&dev, p->memory, &ops, NULL);
	p->attached = p->dev && t3_dev_attach(p->dev, p->fabric, 0) == T3_ATTACH_OK;
	return p->attached;
}

static void free_parts(struct parts *p)
{
	if (p->attached)
		t3_dev_detach(p->dev);
	if (p->dev)
		t3_dev_free(p->dev);
	if (p->fabric)
		t3_fabric_free(p->fabric);
	p->dev = NULL;
	p->fabric = NULL;
	p->attached = false;
}

TEST("a device survives each failing allocation")
{
	struct parts p = { .memory = calloc(1, HOST_MEMORY) };
	uint32_t nth, used = arena_used();
	bool failed, made;

	for (nth = 1, failed = true; failed; nth++) {
		arena_fail(nth);
		made = make_parts(&p);
		failed = arena_failed();
		arena_fail(0);
		assert_int_equal(made, !failed);
		free_parts(&p);
		assert_int_equal(arena_used(), used);
	}
	assert_in_range(nth, 10, 100);
	free(p.memory);
}

/* -------------------------------------------------------------------- timed runs */

TEST("a timed run survives each failing allocation")
{
	static const enum t3_timed_program programs[] = { T3_TIMED_SEQUENTIAL, T3_TIMED_T3,
							  T3_TIMED_T3_MCA };
	uint32_t i, nth, used = arena_used();
	struct t3_timed *run;
	bool failed;

	for (i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct t3_timed_setup setup = run_small(4, programs[i]);

		for (nth = 1, failed = true; failed; nth++) {
			arena_fail(nth);
			run = t3_timed_new(&setup);
			failed = arena_failed();
			arena_fail(0);
			assert_int_equal(run != NULL, !failed);
		}
		assert_in_range(nth, 40, 1000); /* on four devices */
		t3_timed_run(run, T3_TIMED_NEVER, HOST_NONE64);
		assert_true(t3_timed_done(run));
		t3_timed_free(run);
		assert_int_equal(arena_used(), used);
	}
}

/* The queues are told, and the next run has its memory again. */
TEST("a queue is told that a run has no memory")
{
	struct gang gang = gang_new(T3_TOPOLOGY_RING, 2);
	struct run run = run_of_all(2);
	uint32_t rank;

	t3_fabric_set_inline_budget(gang.host->fabric, 0);
	gang_submit(&gang, &run);
	arena_fail(1);
	host_drain(gang.host);
	assert_true(arena_failed());
	for (rank = 0; rank < 2; rank++) {
		queue_expect(&gang.q[rank], gang.index[rank], T3_DESC_MEMORY, 0);
		queue_abort(&gang.q[rank]);
	}
	assert_null(t3_fabric_check(gang.host->fabric));
	gang_submit(&gang, &run);
	host_drain(gang.host);
	for (rank = 0; rank < 2; rank++)
		queue_expect(&gang.q[rank], gang.index[rank], T3_DESC_OK, 0);
	host_free(gang.host);
}
