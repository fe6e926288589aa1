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
	[T3_ALGORITHM_AUTO] = "auto",	  [T3_ALGORITHM_RING] = "ring",
	[T3_ALGORITHM_DIRECT] = "direct", [T3_ALGORITHM_HIERARCHICAL] = "hierarchical",
	[T3_ALGORITHM_SWITCH] = "switch",
};

struct perf {
	const struct perf_config *cfg;
	struct t3_device *dev;
	struct t3_comm *comm;
	struct perf_data data;
	int64_t deadline;
};

/* The result of one rank. */
struct finding {
	uint64_t ns, right;
};

static int fail(const struct perf *p)
{
	return complain(EXIT_FAIL, "rank %u: %s", p->data.rank, t3_comm_error(p->comm));
}

/* --------------------------------------------------------------------- join */

static int open_rank(struct perf *p)
{
	const struct device_choice *choice = &p->cfg->choice;
	const char *text = secure_getenv("T3_RANK");
	char words[1024];
	uint64_t rank;
	int ret;

	text = text ? text : secure_getenv("RANK");
	if (!text || !parse_number(text, T3_COMM_RANKS_MAX - 1, &rank))
		return complain(EXIT_FAIL,
				"neither T3_RANK nor RANK says which rank this is: run it "
				"by `t3 launch -n N -- t3 perf`");
	p->data.rank = (uint32_t)rank;
	ret = choice->count ? t3_device_open_index(choice->index[rank % choice->count], &p->dev)
			    : t3_device_open_rank(p->cfg->fabric_id, p->data.rank, &p->dev);
	if (!ret)
		return EXIT_OK;
	t3_device_explain(NULL, ret, words, sizeof(words));
	return complain(EXIT_FAIL, "rank %u has no device: %s%s", p->data.rank, words,
			choice->count ? "" : "; --devices names those to take");
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

/* All ranks begin together. The written results are checked once after the time was taken. */
static int run_timed(struct perf *p, uint32_t algorithm, struct finding *finding)
{
	struct perf_call call = { .comm = p->comm, .data = &p->data, .deadline = p->deadline };
	bool barrier = p->data.collective == PERF_BARRIER;
	int ret = EXIT_OK;
	const char *why;
	int64_t start;
	uint32_t i;

	if (perf_prepare(&call, algorithm))
		return fail(p);
	if (!barrier)
		perf_fill(&p->data);
	for (i = 0; i < p->cfg->warmup; i++)
		if (perf_call(&call, &why))
			goto fail_call;
	if (!barrier)
		perf_fill(&p->data);
	if (t3_comm_barrier(p->comm, p->deadline)) {
		ret = fail(p);
		goto finish;
	}
	start = t3_deadline(0);
	for (i = 0; i < p->cfg->iters; i++)
		if (perf_call(&call, &why))
			goto fail_call;
	finding->ns = (uint64_t)(t3_deadline(0) - start) / p->cfg->iters;
	finding->right = barrier || perf_is_right(&p->data);
	/* No rank may drop the plan while another one still uses it. */
	if (t3_comm_barrier(p->comm, p->deadline))
		ret = fail(p);
	goto finish;

fail_call:
	ret = complain(EXIT_FAIL, "rank %u: %s", p->data.rank, why);
finish:
	perf_finish(&call);
	return ret;
}

static int gather(struct perf *p, const struct finding *mine, struct perf_row *row)
{
	double others = (double)(p->data.ranks - 1) / p->data.ranks, share = others;
	struct finding all[T3_COMM_RANKS_MAX];
	uint32_t i;

	/* Each byte of the array crosses a link so often, for one rank's links. */
	if (p->data.collective == PERF_ALL_REDUCE)
		share = 2 * others;
	else if (p->data.collective == PERF_BROADCAST)
		share = 1;
	if (t3_all_gather(p->comm, mine, all, sizeof(*all) * p->data.ranks, DRM_T3_U8, p->deadline))
		return fail(p);
	row->right = true;
	for (i = 0; i < p->data.ranks; i++) {
		row->ns = all[i].ns > row->ns ? all[i].ns : row->ns;
		row->right = row->right && all[i].right;
	}
	row->algorithm = row->ns ? (double)row->bytes / (double)row->ns : 0;
	row->bus = row->algorithm * share;
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
		ret = run_timed(p, row->asked, &mine);
	if (ret == EXIT_OK)
		ret = gather(p, &mine, row);
	free(d->in);
	free(d->out);
	return ret;
}

int perf_run(const struct perf_config *cfg)
{
	struct perf p = {
		.cfg = cfg,
		.data = { .collective = cfg->collective, .dtype = cfg->dtype },
	};
	struct perf_output output = { 0 };
	bool right = true;
	uint64_t bytes;
	int ret, end;
	uint32_t i;

	raise_inexact();
	ret = open_rank(&p);
	if (ret == EXIT_OK)
		ret = join(&p);
	if (ret != EXIT_OK)
		goto out;
	if (!p.data.rank)
		perf_begin(&output, cfg, p.data.ranks);
	bytes = cfg->collective == PERF_BARRIER ? cfg->max : cfg->min;
	for (; bytes <= cfg->max && ret == EXIT_OK; bytes *= PERF_FACTOR) {
		for (i = 0; i < cfg->algorithms && ret == EXIT_OK; i++) {
			struct perf_row row = { .asked = cfg->algorithm[i] };

			ret = measure(&p, bytes, &row);
			if (ret == EXIT_OK && !p.data.rank)
				perf_print(&output, &row);
			right = right && row.right;
		}
	}
	if (ret == EXIT_OK && !right)
		ret = p.data.rank ? EXIT_FAIL : complain(EXIT_FAIL, "a result is wrong");
	if (t3_comm_barrier(p.comm, t3_deadline(cfg->timeout_ns)) && ret == EXIT_OK)
		ret = fail(&p);
	end = p.data.rank ? EXIT_OK : perf_end(&output);
	if (ret == EXIT_OK)
		ret = end;

out:
	t3_comm_destroy(p.comm);
	t3_device_close(p.dev);
	return ret;
}
