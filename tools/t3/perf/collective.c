// SPDX-License-Identifier: MIT
#include <string.h>

#include "perf/collective.h"

static const uint32_t collectives[PERF_COLLECTIVES] = {
	[PERF_ALL_REDUCE] = T3_ALL_REDUCE, [PERF_REDUCE_SCATTER] = T3_REDUCE_SCATTER,
	[PERF_ALL_GATHER] = T3_ALL_GATHER, [PERF_ALL_TO_ALL] = T3_ALL_TO_ALL,
	[PERF_BROADCAST] = T3_BROADCAST,
};

static bool reduces(enum perf_collective collective)
{
	return collective == PERF_ALL_REDUCE || collective == PERF_REDUCE_SCATTER;
}

int perf_prepare(struct perf_call *call, uint32_t algorithm)
{
	const struct perf_data *d = call->data;
	struct t3_plan_desc desc = {
		.collective = collectives[d->collective],
		.algorithm = algorithm,
		.count = d->count,
		.dtype = d->dtype,
		.op = reduces(d->collective) ? DRM_T3_OP_ADD : 0,
	};

	if (algorithm == T3_ALGORITHM_AUTO)
		return 0;
	return t3_plan_create(call->comm, &desc, call->deadline, &call->plan);
}

void perf_finish(struct perf_call *call)
{
	t3_plan_destroy(call->plan);
	call->plan = NULL;
}

static int call_plain(const struct perf_call *c)
{
	const struct perf_data *d = c->data;

	switch (d->collective) {
	case PERF_ALL_REDUCE:
		return t3_all_reduce(c->comm, d->in, d->out, d->count, d->dtype, DRM_T3_OP_ADD,
				     c->deadline);
	case PERF_REDUCE_SCATTER:
		return t3_reduce_scatter(c->comm, d->in, d->out, d->count, d->dtype, DRM_T3_OP_ADD,
					 c->deadline);
	case PERF_ALL_GATHER:
		return t3_all_gather(c->comm, d->in, d->out, d->count, d->dtype, c->deadline);
	case PERF_ALL_TO_ALL:
		return t3_all_to_all(c->comm, d->in, d->out, d->count, d->dtype, c->deadline);
	case PERF_BROADCAST:
		return t3_broadcast(c->comm, d->out, d->count, d->dtype, 0, c->deadline);
	default:
		return t3_comm_barrier(c->comm, c->deadline);
	}
}

/* Put the input in the plan's order. An all-gather's input is the own chunk alone. */
static int put(const struct perf_call *c)
{
	const struct perf_data *d = c->data;
	bool one = d->collective == PERF_BROADCAST;
	uint32_t size = t3_dtype_bytes(d->dtype), i, chunk;
	const unsigned char *from = one ? d->out : d->in;
	uint64_t first, count, base = 0;
	int ret = 0;

	if (d->collective == PERF_ALL_GATHER)
		t3_plan_chunk(c->plan, d->rank, &base, NULL);
	for (i = 0; (chunk = t3_plan_order(c->plan, i)) != T3_PLAN_NO_CHUNK && !ret; i++) {
		t3_plan_chunk(c->plan, chunk, &first, &count);
		if (count)
			ret = t3_plan_put(c->plan, first, from + (first - base) * size, count);
	}
	return ret;
}

/* The same work as a plain collective's: input and output are memory of the caller. */
static int call_plan(const struct perf_call *c)
{
	const void *result;
	uint64_t bytes;
	int ret;

	ret = t3_plan_start(c->plan, c->deadline);
	if (!ret)
		ret = put(c);
	if (!ret)
		ret = t3_plan_wait(c->plan, c->deadline);
	if (!ret)
		ret = t3_plan_result(c->plan, &result, &bytes);
	if (!ret)
		memcpy(c->data->out, result, bytes);
	return ret;
}

int perf_call(const struct perf_call *c, const char **why)
{
	int ret = c->plan ? call_plan(c) : call_plain(c);

	if (ret)
		*why = c->plan && *t3_plan_error(c->plan) ? t3_plan_error(c->plan)
							  : t3_comm_error(c->comm);
	return ret;
}
