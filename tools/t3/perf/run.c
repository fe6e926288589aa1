// SPDX-License-Identifier: MIT
/* One rank of a measurement. */
#define _GNU_SOURCE /* secure_getenv */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/message.h"
#include "common/numeric.h"
#include "perf/collective.h"

const char *const perf_names[PERF_COLLECTIVES] = {
	[PERF_ALL_REDUCE] = "all-reduce", [PERF_REDUCE_SCATTER] = "reduce-scatter",
	[PERF_ALL_GATHER] = "all-gather", [PERF_ALL_TO_ALL] = "all-to-all",
	[PERF_BROADCAST] = "broadcast",	  [PERF_BARRIER] = "barrier",
};

const char *const perf_algorithms[PERF_ALGORITHMS] = {
	[T3_ALGORITHM_AUTO] = "auto",
	[T3_ALGORITHM_RING] = "ring",
	[T3_ALGORITHM_DIRECT] = "direct",
	[T3_ALGORITHM_HIERARCHICAL] = "hierarchical",
};

struct perf {
	const struct perf_config *cfg;
	struct t3_device *dev;
	struct t3_comm *comm;
	struct perf_data data;
	int64_t deadline;
};

/* What a rank found. */
struct finding {
	uint64_t ns, right;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int fail(const struct perf *p)
{
	return complain(EXIT_FAIL, "rank %u: %s", p->data.rank, t3_comm_error(p->comm));
}

/* --------------------------------------------------------------------- join */

static int open_rank(struct perf *p)
{
	const char *text = secure_getenv("T3_RANK");
	uint64_t rank;
	int ret;

	text = text ? text : secure_getenv("RANK");
	if (!text || !parse_number(text, T3_COMM_RANKS_MAX - 1, &rank))
		return complain(EXIT_FAIL,
				"neither T3_RANK nor RANK says which rank this is: run it "
				"by `t3 launch -n N -- t3 perf`");
	p->data.rank = (uint32_t)rank;
	ret = t3_device_open_rank(p->cfg->fabric_id, p->data.rank, &p->dev);
	return ret ? complain(EXIT_FAIL, "rank %u has no device: %s", p->data.rank, strerror(-ret))
		   : EXIT_OK;
}

static int join(struct perf *p)
{
	char why[T3_COMM_TEXT_SIZE] = "";
	struct t3_comm_desc desc = { .text = why, .text_size = sizeof(why) };

	if (t3_comm_create(p->dev, &desc, t3_deadline(p->cfg->timeout_ns), &p->comm))
		return complain(EXIT_FAIL, "rank %u: %s", p->data.rank, why);
	p->data.ranks = t3_comm_ranks(p->comm);
	return EXIT_OK;
}

/* ------------------------------------------------------------------ measure */

static int run_many(const struct perf *p, const struct perf_call *call, uint32_t times)
{
	const char *why;

	while (times--)
		if (perf_call(call, &why))
			return complain(EXIT_FAIL, "rank %u: %s", p->data.rank, why);
	return EXIT_OK;
}

/* All ranks begin together. What they write is right once more after the time was taken. */
static int find_by(struct perf *p, const struct perf_call *call, struct finding *finding)
{
	bool barrier = p->data.collective == PERF_BARRIER;
	uint64_t start;

	if (!barrier)
		perf_fill(&p->data);
	if (run_many(p, call, p->cfg->warmup))
		return EXIT_FAIL;
	if (!barrier)
		perf_fill(&p->data);
	if (t3_comm_barrier(p->comm, p->deadline))
		return fail(p);
	start = now_ns();
	if (run_many(p, call, p->cfg->iters))
		return EXIT_FAIL;
	finding->ns = (now_ns() - start) / p->cfg->iters;
	finding->right = barrier || perf_is_right(&p->data);
	return EXIT_OK;
}

static int find(struct perf *p, uint32_t algorithm, struct finding *finding)
{
	struct perf_call call = { .comm = p->comm, .data = &p->data, .deadline = p->deadline };
	int ret;

	if (perf_prepare(&call, algorithm))
		return fail(p);
	ret = find_by(p, &call, finding);
	/* All ranks are through with the plan. */
	if (ret == EXIT_OK && t3_comm_barrier(p->comm, p->deadline))
		ret = fail(p);
	perf_finish(&call);
	return ret;
}

/* Each byte of the array crosses a link so often, for one rank's links. */
static double link_share(const struct perf_data *data)
{
	double others = (double)(data->ranks - 1) / data->ranks;

	if (data->collective == PERF_ALL_REDUCE)
		return 2 * others;
	return data->collective == PERF_BROADCAST ? 1 : others;
}

static int gather(struct perf *p, const struct finding *mine, struct perf_row *row)
{
	struct finding all[T3_COMM_RANKS_MAX];
	uint32_t i;

	if (t3_all_gather(p->comm, mine, all, sizeof(*all) * p->data.ranks, DRM_T3_U8, p->deadline))
		return fail(p);
	row->right = true;
	for (i = 0; i < p->data.ranks; i++) {
		row->ns = all[i].ns > row->ns ? all[i].ns : row->ns;
		row->right = row->right && all[i].right;
	}
	row->algorithm = row->ns ? (double)row->bytes / (double)row->ns : 0;
	row->bus = row->algorithm * link_share(&p->data);
	return EXIT_OK;
}

static int measure(struct perf *p, uint64_t bytes, struct perf_row *row)
{
	struct perf_data *d = &p->data;
	struct finding mine;
	uint32_t size = t3_dtype_bytes(d->dtype);
	int ret;

	if (d->collective != PERF_BARRIER) {
		d->count = (bytes / size + d->ranks - 1) / d->ranks * d->ranks;
		row->count = d->count;
		row->bytes = d->count * size;
	}
	d->in = malloc(row->bytes);
	d->out = malloc(row->bytes);
	p->deadline = t3_deadline(p->cfg->timeout_ns);
	if (row->bytes && (!d->in || !d->out))
		ret = complain(EXIT_FAIL, "no memory for two arrays of %" PRIu64 " bytes",
			       row->bytes);
	else
		ret = find(p, row->asked, &mine);
	if (ret == EXIT_OK)
		ret = gather(p, &mine, row);
	free(d->in);
	free(d->out);
	return ret;
}

static int measure_all(struct perf *p, struct perf_output *output)
{
	bool barrier = p->data.collective == PERF_BARRIER, right = true;
	uint64_t bytes = barrier ? p->cfg->max : p->cfg->min;
	int ret = EXIT_OK;
	uint32_t i;

	for (; bytes <= p->cfg->max && ret == EXIT_OK; bytes *= PERF_FACTOR)
		for (i = 0; i < p->cfg->algorithms && ret == EXIT_OK; i++) {
			struct perf_row row = { .asked = p->cfg->algorithm[i] };

			ret = measure(p, bytes, &row);
			if (ret == EXIT_OK && !p->data.rank)
				perf_print(output, &row);
			right = right && row.right;
		}
	if (ret == EXIT_OK && !right)
		ret = p->data.rank ? EXIT_FAIL : complain(EXIT_FAIL, "a result is wrong");
	if (t3_comm_barrier(p->comm, t3_deadline(p->cfg->timeout_ns)) && ret == EXIT_OK)
		ret = fail(p);
	return ret;
}

static int measure_and_print(struct perf *p)
{
	struct perf_output output = { 0 };
	int ret, end;

	if (!p->data.rank)
		perf_begin(&output, p->cfg, p->data.ranks);
	ret = measure_all(p, &output);
	end = p->data.rank ? EXIT_OK : perf_end(&output);
	return ret == EXIT_OK ? end : ret;
}

int perf_run(const struct perf_config *cfg)
{
	struct perf p = {
		.cfg = cfg,
		.data = { .collective = cfg->collective, .dtype = cfg->dtype },
	};
	int ret;

	raise_inexact();
	ret = open_rank(&p);
	if (ret == EXIT_OK)
		ret = join(&p);
	if (ret == EXIT_OK)
		ret = measure_and_print(&p);
	t3_comm_destroy(p.comm);
	t3_device_close(p.dev);
	return ret;
}
