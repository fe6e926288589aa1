/* SPDX-License-Identifier: MIT */
#include "gang.h"

_Static_assert(offsetof(struct run, args) == 64, "a detail counts so");

struct run run_of(const struct t3_timed_setup *setup)
{
	struct run run = { .d = { .opcode = T3_DESC_TIMED } };

	run.d.src_kind = run.d.dst_kind = T3_LOC_HOST;
	run.args.program = setup->program;
	run.args.flags = setup->mirrored ? T3_TIMED_MIRRORED : 0;
	run.args.ranks = (uint32_t)setup->workload.ranks;
	run.args.element_bytes = (uint32_t)setup->workload.element_bytes;
	run.args.rows = setup->workload.rows;
	run.args.columns = setup->workload.columns;
	run.args.depth = setup->workload.depth;
	run.args.chunks = setup->workload.chunks;
	run.args.collective = setup->workload.collective;
	run.args.nodes = (uint32_t)setup->workload.nodes;
	memcpy(run.args.params, &setup->params, sizeof(run.args.params));
	if (setup->routing) {
		run.args.experts = (uint32_t)setup->routing->experts;
		run.args.way = setup->routing->way;
		run.d.row_bytes =
			run.args.ranks * run.args.experts * (uint32_t)sizeof(run.counts[0]);
		assert_true(run.d.row_bytes <= sizeof(run.counts));
		memcpy(run.counts, setup->routing->rows, run.d.row_bytes);
	}
	return run;
}

struct t3_timed_setup run_small(uint32_t ranks, enum t3_timed_program program)
{
	struct t3_timed_setup setup = timed_small(64 * ranks, 96, 40, ranks);

	setup.program = program;
	setup.mirrored = false;
	return setup;
}

uint32_t run_submit(struct queue *q, const struct run *run)
{
	struct t3_descriptor d = run->d;

	d.src += HOST_DATA + GANG_ARGS + q->id * GANG_STRIDE;
	d.dst += HOST_DATA + GANG_RESULTS + q->id * GANG_STRIDE;
	memcpy(q->d->data + GANG_ARGS + q->id * GANG_STRIDE, &run->args,
	       sizeof(run->args) + sizeof(run->counts));
	memset(q->d->data + GANG_RESULTS + q->id * GANG_STRIDE, 0xee,
	       sizeof(struct t3_timed_result));
	return queue_submit(q, &d);
}

struct t3_timed_result run_result(const struct queue *q)
{
	struct t3_timed_result result;

	memcpy(&result, q->d->data + GANG_RESULTS + q->id * GANG_STRIDE, sizeof(result));
	return result;
}

bool run_untouched(const struct queue *q)
{
	const uint8_t *at = q->d->data + GANG_RESULTS + q->id * GANG_STRIDE;
	size_t i;

	for (i = 0; i < sizeof(struct t3_timed_result); i++)
		if (at[i] != 0xee)
			return false;
	return true;
}

struct run run_of_all(uint32_t ranks)
{
	struct t3_timed_setup setup = run_small(ranks, T3_TIMED_T3_MCA);

	return run_of(&setup);
}

struct run run_mirrored(void)
{
	struct run run = run_of_all(4);

	run.args.flags = T3_TIMED_MIRRORED;
	return run;
}

struct native run_natively(const struct t3_timed_setup *setup)
{
	struct t3_timed *sim = t3_timed_new(setup);
	struct native native;
	uint32_t i;

	assert_non_null(sim);
	while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
		;
	for (i = 0; i < t3_timed_devices(sim); i++)
		t3_timed_counters(sim, i, &native.counters[i]);
	native.events = t3_timed_events(sim);
	native.end = (t3_timed_now(sim) + 999) / 1000;
	t3_timed_free(sim);
	return native;
}

void run_expect(const struct queue *q, uint32_t index, const struct native *native, uint32_t device,
		uint32_t flags)
{
	struct t3_timed_result result = run_result(q);

	queue_expect(q, index, T3_DESC_OK, 0);
	assert_int_equal(result.events, native->events);
	assert_int_equal(result.flags, flags);
	assert_int_equal(result.rank, q->d->rank);
	assert_int_equal(result.mbz, 0);
	assert_memory_equal(&result.counters, &native->counters[device], sizeof(result.counters));
	assert_int_equal(queue_completion(q, index)->vtime, result.start + native->end);
}

struct gang gang_of(struct host *host)
{
	struct gang gang = { .host = host, .ranks = host->ranks };
	uint32_t i;

	for (i = 0; i < host->ranks; i++)
		gang.q[i] = queue_new(&host->dev[i], 3, 0);
	return gang;
}

struct gang gang_new(uint32_t topology, uint32_t ranks)
{
	struct host_config config = { topology, ranks, 8, 2, T3_KEYS_FABRIC };

	return gang_of(host_new(&config));
}

void gang_submit(struct gang *gang, const struct run *run)
{
	uint32_t i;

	for (i = 0; i < gang->ranks; i++)
		gang->index[i] = run_submit(&gang->q[i], run);
}

void gang_expect(const struct gang *gang, const struct native *native, uint32_t flags)
{
	uint32_t i;

	for (i = 0; i < gang->ranks; i++) {
		run_expect(&gang->q[i], gang->index[i], native, i, flags);
		assert_int_equal(run_result(&gang->q[i]).start, run_result(&gang->q[0]).start);
	}
}

void run_expect_refused(struct queue *q, const struct run *run, uint32_t status, uint64_t detail)
{
	uint32_t index = run_submit(q, run);

	queue_expect(q, index, status, detail);
	queue_expect_state(q, T3_QUEUE_ERROR, index + 1, status);
	assert_true(run_untouched(q));
	queue_abort(q);
}
