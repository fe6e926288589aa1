// SPDX-License-Identifier: MIT
/* The iterations of one rank. It makes no system call between setup and report. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "input.h"
#include "common/message.h"
#include "common/numeric.h"
#include "nodes.h"
#include "t3_coll.h"
#include "wire.h"

static enum wire_weight weigh(const struct rank *r, int err, struct drm_t3_fault *fault)
{
	if (err == -ETIMEDOUT)
		return WEIGHT_TIMEOUT;
	if (err == -EPIPE || err == -EOWNERDEAD)
		return WEIGHT_CONSEQUENCE;
	/* -EBUSY: a space that has faulted takes no import. */
	if ((err != -EIO && err != -EBUSY) || !r->space || t3_space_fault(r->space, fault))
		return WEIGHT_OWN;
	switch (fault->kind) {
	case DRM_T3_FAULT_PEER_POISON:
	case DRM_T3_FAULT_PEER_DEAD:
	case DRM_T3_FAULT_REJECTED:
		return WEIGHT_CONSEQUENCE;
	default:
		return WEIGHT_OWN;
	}
}

/* " (why)", or nothing for -ECANCELED, where the sentence has the whole reason. */
static void explain(int err, const struct drm_t3_fault *fault, char *text, size_t size)
{
	char words[400];

	*text = '\0';
	if (err == -ECANCELED)
		return;
	if (fault->kind)
		t3_fault_text(fault, words, sizeof(words));
	else
		snprintf(words, sizeof(words), "%s",
			 err == -ETIMEDOUT ? "timed out" : error_words(err));
	snprintf(text, size, " (%s)", words);
}

int rank_fail(struct rank *r, int err, const char *format, ...)
{
	struct wire_message message = { .kind = WIRE_ERROR };
	struct drm_t3_fault fault = { 0 };
	char what[224], why[408];
	va_list args;

	message.weight = weigh(r, err, &fault);
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	explain(err, &fault, why, sizeof(why));
	snprintf(message.text, sizeof(message.text), "rank %u: %s%s", r->rank, what, why);
	wire_send(r->message, &message);
	return err;
}

static void set_progress(struct rank *r, enum gemm_phase phase, uint32_t step)
{
	struct gemm_shared_rank *shared = &r->shared->rank[r->rank];

	atomic_store_explicit(&shared->step, step, memory_order_relaxed);
	atomic_store_explicit(&shared->phase, phase, memory_order_relaxed);
}

static void fill_inputs(struct rank *r, uint32_t iteration)
{
	uint32_t depth = r->producer.depth;
	struct input_slice a = {
		.dtype = r->cfg->dtype,
		.matrix = INPUT_A,
		.seed = r->cfg->seed,
		.iteration = iteration,
		.columns = r->cfg->k,
		.rows = r->cfg->m,
		.col = r->rank * depth,
		.cols = depth,
	};
	struct input_slice b = a;

	b.matrix = INPUT_B;
	b.columns = r->cfg->n;
	b.row = r->rank * depth;
	b.rows = depth;
	b.col = 0;
	b.cols = r->cfg->n;
	input_fill(&a, r->producer.a);
	input_fill(&b, r->producer.b);
	if (r->cfg->write == GEMM_WRITE_GEMM)
		device_fill(&r->device, &r->producer);
}

static int produce(struct rank *r, uint32_t iteration)
{
	uint32_t step = (iteration - 1) * r->cfg->ranks, i;
	const struct gemm_config *cfg = r->cfg;
	struct timespec delay = {
		.tv_sec = cfg->delay_ms / 1000,
		.tv_nsec = cfg->delay_ms % 1000 * 1000000L,
	};
	int ret = 0;

	for (i = 0; i < cfg->ranks && !ret; i++, step++) {
		set_progress(r, PHASE_PRODUCE, step);
		/* The faults that the user asked to inject. */
		if (r->rank == cfg->kill_rank && step == cfg->kill_step)
			raise(SIGKILL);
		if (r->rank == cfg->delay_rank && step == cfg->delay_step)
			nanosleep(&delay, NULL);
		if (cfg->write == GEMM_WRITE_GEMM)
			ret = device_chunk(&r->device, r->order[i], r->deadline);
		else
			producer_chunk(&r->producer, r->order[i], &r->output.base);
	}
	return ret;
}

/* Name the first chunk, in production order, that was not delivered. */
static int fail_delivery(struct rank *r, int err, uint32_t iteration)
{
	const volatile struct drm_t3_event_area *events = t3_space_events(r->space);
	struct drm_t3_space_stats stats = { 0 };
	uint64_t word;
	uint32_t i;

	for (i = 0; i < r->cfg->ranks; i++) {
		word = events->segment[r->order[i]];
		if ((uint32_t)word != iteration || !(word & DRM_T3_WORD_DELIVERED))
			break;
	}
	if (i == r->cfg->ranks)
		return rank_fail(r, err, "iteration %u did not complete", iteration);
	t3_segment_stats(r->space, r->order[i], &stats);
	return rank_fail(r, err, "iteration %u, step %u: %llu of %llu tiles of chunk %u (%s) came",
			 iteration, (iteration - 1) * r->cfg->ranks + i,
			 (unsigned long long)stats.tiles_tracked, (unsigned long long)stats.tiles,
			 r->order[i], t3_kind_name(gemm_kind(r->cfg, r->rank, r->order[i])));
}

static void keep_result(struct rank *r, uint32_t iteration)
{
	unsigned char *kept = shared_result(r->shared, r->cfg, iteration, r->rank);
	struct gemm_rank_report *report = &r->shared->rank[r->rank].report;

	if (kept)
		memcpy(kept, r->result, r->layout.chunk_bytes);
	report->hash = fnv1a(report->hash, kept ? kept : r->result, r->layout.chunk_bytes);
}

static int run_iteration(struct rank *r, uint32_t e)
{
	int ret;

	fill_inputs(r, e);
	set_progress(r, PHASE_ARMING, (e - 1) * r->cfg->ranks);
	ret = t3_wait_armed(r->space, e, r->deadline);
	if (ret)
		return rank_fail(r, ret, "iteration %u was not armed", e);
	ret = produce(r, e);
	if (ret)
		return rank_fail(r, ret, "iteration %u: the device did not compute%s", e,
				 ret == -ECANCELED ? " (the job was canceled by a reset)" : "");
	set_progress(r, PHASE_DELIVERY, e * r->cfg->ranks - 1);
	ret = t3_wait(r->space, e, 0, T3_DELIVERED, r->deadline);
	if (ret)
		return fail_delivery(r, ret, e);
	keep_result(r, e);
	ret = t3_release(r->space, e);
	if (!ret && e < r->cfg->iterations)
		ret = t3_arm(r->space, e + 1);
	return ret ? rank_fail(r, ret, "iteration %u could not be released", e) : 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int report_chunk(struct rank *r, uint32_t position)
{
	struct gemm_chunk_report *c = &r->shared->rank[r->rank].report.chunk[position];
	struct drm_t3_space_stats stats;
	int ret;

	c->chunk = r->order[position];
	c->kind = gemm_kind(r->cfg, r->rank, c->chunk);
	ret = t3_segment_stats(r->space, c->chunk, &stats);
	if (ret)
		return ret;
	c->stores = stats.stores;
	c->doorbells = stats.doorbells;
	c->local_bytes = stats.local_bytes;
	c->remote_bytes = stats.remote_bytes;
	c->triggers = stats.triggers;
	c->dma_bytes = stats.dma_bytes;
	c->link_bytes = stats.link_bytes;
	c->nmc_elements = stats.nmc_elements;
	return 0;
}

static int report_all(struct rank *r)
{
	struct gemm_rank_report *report = &r->shared->rank[r->rank].report;
	const __u64 *before = r->before.value;
	struct drm_t3_group_query group = { 0 };
	struct drm_t3_counters now;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < r->cfg->ranks && !ret; i++)
		ret = report_chunk(r, i);
	if (!ret)
		ret = t3_device_counters(r->dev, &now);
	if (!ret && r->group)
		ret = t3_group_stats(r->space, r->group, &group);
	if (ret)
		return rank_fail(r, ret, "its counters could not be read");
	report->merged = group.merged;
	report->alone = group.alone;
	report->ordered = group.group_flags & DRM_T3_GROUP_ORDERED;
	report->tracker_hit = now.value[T3_DEVICE_TRACKER_HIT] - before[T3_DEVICE_TRACKER_HIT];
	report->tracker_alloc =
		now.value[T3_DEVICE_TRACKER_ALLOC] - before[T3_DEVICE_TRACKER_ALLOC];
	report->tracker_spill =
		now.value[T3_DEVICE_TRACKER_SPILL] - before[T3_DEVICE_TRACKER_SPILL];
	report->tracker_peak = now.value[T3_DEVICE_TRACKER_PEAK];
	return 0;
}

/* A space that is destroyed poisons its neighbours. So no rank ends before all have finished. */
static void finish(struct rank *r)
{
	struct wire_message done = { .kind = WIRE_DONE };
	char byte;

	atomic_store(&r->shared->rank[r->rank].phase, PHASE_DONE);
	wire_send(r->message, &done);
	while (read(r->hold, &byte, 1) < 0 && errno == EINTR)
		;
}

static void teardown(struct rank *r)
{
	producer_fini(&r->producer);
	device_fini(&r->device);
	t3_comm_destroy(r->comm);
	t3_space_destroy(r->space);
	t3_buffer_destroy(r->staging);
	t3_buffer_destroy(r->buffer);
	t3_device_close(r->dev);
}

int rank_main(struct rank *r)
{
	struct gemm_rank_report *report = &r->shared->rank[r->rank].report;
	uint64_t timeout_ns = r->cfg->timeout_s * UINT64_C(1000000000), start;
	uint32_t e;
	int ret;

	r->deadline = r->cfg->wait == GEMM_WAIT_SPIN ? INT64_MAX : t3_deadline(timeout_ns);
	ret = rank_setup(r);
	if (ret)
		goto out;
	start = now_ns();
	raise_inexact();
	report->hash = FNV_START;
	ret = t3_arm(r->space, 1);
	if (ret)
		rank_fail(r, ret, "iteration 1 could not be armed");
	for (e = 1; e <= r->cfg->iterations && !ret; e++)
		ret = run_iteration(r, e);
	report->time_ns = now_ns() - start;
	if (!ret)
		ret = report_all(r);
	if (!ret && r->comm)
		ret = nodes_gather(r);
	if (!ret)
		finish(r);
out:
	teardown(r);
	return ret ? 1 : 0;
}
