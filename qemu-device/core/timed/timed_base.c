/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small functions that all parts of the timed model use. SPEC.md section 8.1. */
#include "timed/timed_private.h"

static const uint64_t percent = 100;

uint64_t timed_ps(uint64_t bytes, uint64_t gbps)
{
	return (bytes * 1000 + gbps - 1) / gbps;
}

/* Memory moves whole bursts. */
static uint64_t memory_ps(const struct t3_timed_params *p, uint32_t bytes)
{
	uint64_t bursts = (bytes + p->entry_bytes - 1) / p->entry_bytes;

	return timed_ps(bursts * p->entry_bytes, p->memory_gbps);
}

/* Entries in each channel. A request larger than the queue takes all of them. */
static uint64_t entries_of(const struct t3_timed_params *p, uint32_t bytes)
{
	uint64_t size = p->entry_bytes * p->memory_channels;
	uint64_t entries = (bytes + size - 1) / size;

	return entries < p->queue_entries ? entries : p->queue_entries;
}

/* The limits of the parameters keep each within 32 bits. */
void timed_cost_compute(const struct t3_timed_setup *setup, uint32_t bytes, struct timed_cost *cost)
{
	const struct t3_timed_params *p = &setup->params;
	bool switched = t3_timed_switched(setup->program);
	uint64_t memory = memory_ps(p, bytes);
	uint64_t link = timed_ps(bytes, switched ? p->switch_port_gbps : p->link_gbps);

	cost->entries = (uint32_t)entries_of(p, bytes);
	cost->memory = (uint32_t)memory;
	cost->update = (uint32_t)(memory * p->update_percent / percent);
	cost->cache = (uint32_t)timed_ps(bytes, p->cache_gbps);
	cost->link = (uint32_t)(link > TIMED_SHORTEST_PS ? link : TIMED_SHORTEST_PS);
}

void timed_span(struct timed_device *d, uint32_t track, const char *what, uint64_t number,
		uint64_t start)
{
	const struct t3_timed_trace *trace = &d->sim->setup.trace;
	struct t3_timed_span span = { .start = start, .end = d->sim->now, .rank = d->rank };

	if (!trace->span)
		return;
	span.track = track;
	span.what = what;
	span.number = number;
	span.entries = d->counters.tracker_live;
	trace->span(trace->opaque, &span);
}

/* -------------------------------------------------------------- compute units */

/* A ragged tile takes as long as a full one, because the unit pads it with zeros. */
uint64_t timed_step_ps(const struct t3_timed_setup *setup)
{
	const struct t3_timed_params *p = &setup->params;
	uint64_t flops = 2 * p->tile_rows * p->tile_columns * p->k_block;
	uint64_t rate = p->clock_mhz * p->flops_per_clock * p->compute_percent;

	/* The factor converts MHz and percent to ps. t3_timed_check() prevents an overflow. */
	return flops * setup->workload.element_bytes * 50000000 / rate + 1;
}

uint64_t timed_gemm_units(const struct t3_timed_setup *setup)
{
	uint64_t taken = setup->program == T3_TIMED_SHARED ? setup->params.collective_units : 0;

	return setup->params.compute_units - taken;
}

uint64_t timed_slots(const struct t3_timed_setup *setup, uint64_t tiles)
{
	uint64_t slots = timed_gemm_units(setup) * setup->params.groups_per_unit;

	return slots < tiles ? slots : tiles;
}

static uint64_t minimum(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t timed_copy_units(const struct t3_timed_setup *setup, enum timed_copy_kind kind)
{
	const struct t3_timed_params *p = &setup->params;

	if (setup->program == T3_TIMED_SHARED && kind == TIMED_COPY_AG)
		return p->compute_units; /* nothing runs beside it */
	return minimum(p->collective_units, p->compute_units);
}

uint64_t timed_copy_kib(const struct t3_timed_setup *setup)
{
	return timed_copy_units(setup, TIMED_COPY_AG) * setup->params.copy_unit_kib;
}
