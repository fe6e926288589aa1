/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phases of a device, and the callbacks between its parts. SPEC.md section 8.1. */
#include "timed/timed_private.h"

/* -------------------------------------------------------------------- phases */

static bool all_to_all(const struct timed_device *d)
{
	return d->sim->setup.workload.collective == T3_TIMED_COLLECTIVE_ALL_TO_ALL;
}

/* The last phase of a program that starts no copies of its own: what was triggered still comes. */
static bool comes_unasked(const struct timed_device *d, uint32_t phase)
{
	return phase == T3_TIMED_ALL_GATHER &&
	       (timed_triggers_gather(d->sim) || timed_plain_stores(d->sim) ||
		timed_multicasts_sums(d->sim));
}

static void start_copies(struct timed_device *d, uint32_t phase)
{
	bool nmc = timed_updates_in_memory(d->sim);
	enum timed_copy_kind scatter = nmc ? TIMED_COPY_RS_NMC : TIMED_COPY_RS;
	enum timed_copy_kind gather = all_to_all(d) ? TIMED_COPY_ALL_TO_ALL : TIMED_COPY_AG;
	bool scatters = phase <= T3_TIMED_NODE_REDUCE_SCATTER;
	bool nodes = phase == T3_TIMED_NODE_REDUCE_SCATTER || phase == T3_TIMED_NODE_ALL_GATHER;
	enum timed_copy_kind kind = scatters ? scatter : gather;
	enum timed_level level = nodes ? TIMED_OVER_NODES : TIMED_IN_NODE;

	if (timed_routes(d->sim))
		timed_routed_enter(d);
	else if (timed_switched(d->sim))
		timed_switch_start(d, scatters ? TIMED_COPY_REDUCE : TIMED_COPY_MULTICAST);
	else if (!timed_recall_begin(d, kind, level))
		timed_copy_start(d, kind, level);
}

/* Of the cache's and the switch's transfers, those that are still to come do not count. */
static struct t3_timed_use use_so_far(const struct timed_device *d)
{
	const struct t3_timed_counters *c = &d->counters;
	uint64_t left = d->cache.free > d->sim->now ? d->cache.free - d->sim->now : 0;
	uint64_t cache = d->cache.busy > left ? d->cache.busy - left : 0;
	uint64_t queued = d->port.free > d->sim->now ? d->port.free - d->sim->now : 0;
	uint64_t busy = d->port.counters.port_busy;

	return (struct t3_timed_use){
		c->compute_busy, c->memory_busy,    cache,
		c->link_busy,	 c->node_link_busy, busy > queued ? busy - queued : 0
	};
}

static void start(struct timed_device *d, uint32_t phase)
{
	d->phase = (uint8_t)phase;
	d->phase_started = d->sim->now;
	d->before[phase] = use_so_far(d);
	if (phase == T3_TIMED_GEMM) {
		if (timed_dispatches(d->sim))
			timed_routed_dispatch(d);
		timed_gemm_start(d);
	} else if (!comes_unasked(d, phase)) {
		start_copies(d, phase);
	}
}

void timed_phase_first(struct timed_device *d)
{
	uint32_t first = timed_first_phase(d->sim);

	start(d, first);
	d->beside = timed_shares(d->sim);
	if (d->beside)
		start(d, timed_next_phase(d->sim, first));
}

/* Of a rank without rows, phases may be over when they begin. */
void timed_phase_begun(struct timed_device *d)
{
	if (timed_routes(d->sim))
		d->sim->ops->progress(d);
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

/* A fused reduce-scatter is over: the own chunk is complete, and those in between are sent on. */
static bool scattered(const struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);
	bool passes = !timed_stores_direct(d->sim) && s->ranks > 2;
	uint32_t between = passes ? s->ranks - 2 : 0;

	return d->tracker.complete == s->chunk_pieces &&
	       d->tracker.passed == between * s->chunk_pieces && dma_idle(d);
}

static bool gemm_over(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);

	if (d->gemm.finished < s->tiles - s->first_tile)
		return false;
	if (!timed_fused(d->sim))
		return written_back(d);
	if (timed_dispatches(d->sim))
		return timed_routed_over(d) && written_back(d);
	if (timed_combines(d->sim))
		return d->gemm.stored == timed_routed_stores(d);
	if (t3_timed_reduces(d->sim->setup.workload.collective))
		return scattered(d);
	return d->tracker.complete + d->gemm.stored == s->chunk_pieces;
}

static bool phase_over(struct timed_device *d)
{
	const struct timed_shape *s = timed_shape(d);

	if (d->phase == T3_TIMED_GEMM)
		return gemm_over(d);
	if (comes_unasked(d, d->phase) && timed_routes(d->sim))
		return timed_routed_over(d);
	if (comes_unasked(d, d->phase))
		return d->copy.gathered == (uint64_t)(s->ranks - 1) * s->chunk_pieces &&
		       dma_idle(d);
	return d->copy.kind == TIMED_COPY_NONE;
}

static void end_phase(struct timed_device *d, uint32_t phase, uint64_t started)
{
	static const char *const names[] = { "GEMM", "reduce-scatter", "node reduce-scatter",
					     "node all-gather", "all-gather" };
	bool last = phase == T3_TIMED_ALL_GATHER;

	if (phase != T3_TIMED_GEMM)
		timed_recall_end(d);
	timed_span(d, T3_TIMED_TRACK_PHASE, last && all_to_all(d) ? "all-to-all" : names[phase], 0,
		   started);
	d->counters.phase_end[phase] = d->counters.end = d->sim->now;
	d->use[phase] = use_so_far(d);
}

void t3_timed_phase_use(const struct t3_timed *sim, uint32_t device, enum t3_timed_phase phase,
			struct t3_timed_use *use)
{
	const struct timed_device *d = &sim->device[device];

	use->compute = d->use[phase].compute - d->before[phase].compute;
	use->memory = d->use[phase].memory - d->before[phase].memory;
	use->cache = d->use[phase].cache - d->before[phase].cache;
	use->link = d->use[phase].link - d->before[phase].link;
	use->node_link = d->use[phase].node_link - d->before[phase].node_link;
	use->port = d->use[phase].port - d->before[phase].port;
}

/* A GEMM beside reduce-scatters is over before or after them. Gathers wait for both. */
static uint32_t next_phase(const struct timed_device *d)
{
	uint32_t next = timed_next_phase(d->sim, d->phase);

	if (timed_shares(d->sim) && d->phase == T3_TIMED_GEMM)
		return timed_next_phase(d->sim, T3_TIMED_NODE_REDUCE_SCATTER);
	return d->beside && next > T3_TIMED_NODE_REDUCE_SCATTER ? T3_TIMED_GEMM : next;
}

static void enter(struct timed_device *d, uint32_t phase)
{
	if (phase == T3_TIMED_PHASES) {
		d->phase = T3_TIMED_PHASES;
		d->sim->done++;
	} else if (phase == T3_TIMED_GEMM) { /* the GEMM runs already */
		d->phase = T3_TIMED_GEMM;
		d->phase_started = 0;
		d->beside = false;
	} else {
		start(d, phase);
	}
}

static void progress(struct timed_device *d)
{
	if (d->beside && gemm_over(d)) {
		end_phase(d, T3_TIMED_GEMM, 0);
		d->beside = false;
	}
	while (d->phase != T3_TIMED_PHASES && phase_over(d)) {
		end_phase(d, d->phase, d->phase_started);
		enter(d, next_phase(d));
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
	case TIMED_OWNER_STORED:
		timed_gemm_stored(d);
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
	case TIMED_OWNER_ROUTED:
		timed_routed_read(d, request);
		break;
	case TIMED_OWNER_CAME:
		timed_routed_came(d, request);
		break;
	case TIMED_OWNER_ADDED:
		timed_switch_added(d, request);
		break;
	case TIMED_OWNER_SUMMED:
		timed_switch_written(d);
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
	else if (message->sender == TIMED_SENDER_ROUTED)
		timed_routed_sent(d, message->bytes);
	timed_gemm_link_has_room(d);
}

const struct timed_ops timed_device_ops = {
	.served = served,
	.loaded = timed_gemm_loaded,
	.sent = sent,
	.progress = progress,
};
