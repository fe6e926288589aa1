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
	memcpy(run.args.params, &setup->params, sizeof(run.args.params));
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
	memcpy(q->d->data + GANG_ARGS + q->id * GANG_STRIDE, &run->args, sizeof(run->args));
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
