/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phases of a device, and the callbacks between its parts. SPEC.md section 8.1. */
#include "timed/timed_private.h"

/* -------------------------------------------------------------------- phases */

void timed_phase_start(struct timed_device *d, enum t3_timed_phase phase)
{
	bool nmc = d->sim->setup.program == T3_TIMED_RS_NMC;

	d->phase = (uint8_t)phase;
	d->phase_started = d->sim->now;
	if (phase == T3_TIMED_GEMM)
		timed_gemm_start(d);
	else if (phase == T3_TIMED_REDUCE_SCATTER)
		timed_copy_start(d, nmc ? TIMED_COPY_RS_NMC : TIMED_COPY_RS);
	else if (phase == T3_TIMED_ALL_GATHER)
		timed_copy_start(d, TIMED_COPY_AG);
}

static bool dma_idle(const struct timed_device *d)
{
	return !d->dma.count && !d->dma.flying;
}

/* The baseline's kernel ends when its output is in memory. */
static bool written_back(struct timed_device *d)
{
	if (!d->cache.flushed)
		timed_cache_flush(d);
	d->cache.flushed = true;
	return !d->cache.writing;
}

static bool gemm_over(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);

	uint32_t between = d->sim->setup.program == T3_TIMED_DIRECT ? 0 : s->ranks - 2;

	if (d->gemm.finished < s->tiles)
		return false;
	if (!timed_fused(d->sim))
		return written_back(d);
	return d->tracker.complete == s->chunk_pieces &&
	       d->tracker.passed == between * s->chunk_pieces && dma_idle(d);
}

static bool phase_over(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);

	if (d->phase == T3_TIMED_GEMM)
		return gemm_over(d);
	if (d->sim->setup.program == T3_TIMED_T3_MCA_AG)
		return d->copy.gathered == (uint64_t)(s->ranks - 1) * s->chunk_pieces &&
		       dma_idle(d);
	return d->copy.kind == TIMED_COPY_NONE;
}

static void end_phase(struct timed_device *d)
{
	static const char *const names[] = { "GEMM", "reduce-scatter", "all-gather" };

	timed_span(d, T3_TIMED_TRACK_PHASE, names[d->phase], 0, d->phase_started);
	d->counters.phase_end[d->phase] = d->counters.end = d->sim->now;
}

/* In the T3 programs the reduce-scatter is part of the GEMM's phase. */
static enum t3_timed_phase next_phase(const struct timed_device *d)
{
	if (d->phase == T3_TIMED_GEMM && !timed_fused(d->sim))
		return T3_TIMED_REDUCE_SCATTER;
	if (d->phase == T3_TIMED_ALL_GATHER || d->sim->setup.program == T3_TIMED_RS_NMC)
		return T3_TIMED_PHASES;
	return T3_TIMED_ALL_GATHER;
}

/* True: the new phase may already be complete. */
static bool enter(struct timed_device *d, enum t3_timed_phase phase)
{
	if (phase == T3_TIMED_PHASES) {
		d->phase = T3_TIMED_PHASES;
		d->sim->done++;
	} else if (phase == T3_TIMED_ALL_GATHER && d->sim->setup.program == T3_TIMED_T3_MCA_AG) {
		d->phase = T3_TIMED_ALL_GATHER;
		d->phase_started = d->sim->now;
		return true;
	} else {
		timed_phase_start(d, phase);
	}
	return false;
}

static void progress(struct timed_device *d)
{
	bool again = true;

	while (again && d->phase != T3_TIMED_PHASES && phase_over(d)) {
		end_phase(d);
		again = enter(d, next_phase(d));
	}
}

/* ----------------------------------------------------------------- callbacks */

static void served(struct timed_device *d, const struct timed_request *request)
{
	switch (request->owner) {
	case TIMED_OWNER_WRITTEN:
		timed_cache_written(d);
		break;
	case TIMED_OWNER_LINE:
		timed_cache_filled(d, request->number);
		break;
	case TIMED_OWNER_SLOT:
		timed_gemm_loaded(d, request->number,
				  d->sim->now + timed_params(d)->memory_latency_ns * TIMED_NS);
		break;
	case TIMED_OWNER_UPDATE:
		timed_tracker_update(d, request->number);
		break;
	case TIMED_OWNER_RECORD:
		timed_tracker_filled(d, request->number);
		break;
	case TIMED_OWNER_DMA:
		timed_dma_read(d, request);
		break;
	case TIMED_OWNER_COPY:
		timed_copy_read(d, request);
		break;
	case TIMED_OWNER_RESULT:
		timed_copy_written(d);
		break;
	case TIMED_OWNER_RECEIVED:
		timed_copy_received(d);
		break;
	case TIMED_OWNER_GATHERED:
		timed_copy_gathered(d, request->number);
		break;
	default:
		break;
	}
}

static void sent(struct timed_device *d, const struct timed_message *message)
{
	if (message->sender == TIMED_SENDER_DMA)
		timed_dma_sent(d);
	else if (message->sender == TIMED_SENDER_COPY)
		timed_copy_sent(d);
	timed_gemm_link_has_room(d);
}

const struct timed_ops timed_device_ops = {
	.served = served,
	.loaded = timed_gemm_loaded,
	.sent = sent,
	.progress = progress,
};
