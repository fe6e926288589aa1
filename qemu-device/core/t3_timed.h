/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timed model: devices compute a sharded GEMM, and reduce-scatter and all-gather its
 * output, in virtual time. SPEC.md section 8.1. The model has no data: it gives the times at
 * which bytes move.
 *
 * Time is in integer picoseconds. Nothing is allocated after t3_timed_new(), and there are no
 * globals. The result depends only on the arguments: events are ordered by (time, rank,
 * source, sequence), and the budgets of t3_timed_run() change none of these.
 */
#ifndef T3_TIMED_H
#define T3_TIMED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "t3_hw.h"

#define T3_TIMED_NEVER	   (~(uint64_t)0)
#define T3_TIMED_MAX_RANKS 512u

/*
 * Programs that devices do not run: T3-MCA, in turns if its collective is longer than its GEMM; and
 * those of a switch, one that compute units run and one that is fused.
 */
#define T3_TIMED_T3_MCA_TURNS	 T3_TIMED_PROGRAMS
#define T3_TIMED_SWITCH		 (T3_TIMED_PROGRAMS + 1)
#define T3_TIMED_T3_SWITCH	 (T3_TIMED_PROGRAMS + 2)
#define T3_TIMED_NATIVE_PROGRAMS (T3_TIMED_PROGRAMS + 3)

/*
 * The modelled machine. t3_timed_params[] in timed_params.c says which of these parameters are
 * published, which are assumed, and why. The first T3_TIMED_PARAMS are those of a device's run.
 */
struct t3_timed_params {
	/* compute */
	uint64_t compute_units;
	uint64_t clock_mhz;
	uint64_t flops_per_clock; /* of one compute unit, f16 */
	uint64_t compute_percent;
	uint64_t groups_per_unit;
	uint64_t unit_store_gbps;
	uint64_t stage_barrier;
	/* kernel */
	uint64_t tile_rows, tile_columns;
	uint64_t k_block;
	uint64_t raster_rows;
	/* last-level cache */
	uint64_t cache_kib;
	uint64_t cache_ways;
	uint64_t cache_gbps;
	uint64_t cache_latency_ns;
	/* memory */
	uint64_t request_bytes;
	uint64_t memory_gbps;
	uint64_t memory_latency_ns;
	uint64_t memory_channels;
	uint64_t queue_entries; /* of one channel */
	uint64_t entry_bytes;
	uint64_t turnaround_ns;
	uint64_t run_kib;
	uint64_t row_conflict_ns;
	uint64_t update_percent;
	/* arbitration */
	uint64_t threshold_high, threshold_middle, threshold_low;
	uint64_t intensity_high, intensity_middle, intensity_low;
	uint64_t starvation_ns;
	/* link, DMA, tracker */
	uint64_t link_gbps;
	uint64_t link_latency_ns;
	uint64_t link_queue_kib;
	uint64_t dma_tiles;
	uint64_t dma_read_ahead_kib;
	uint64_t copy_unit_kib;
	uint64_t tracker_entries;
	uint64_t tracker_ways;
	uint64_t tracker_record_bytes;
	/* collectives that compute units run; groups of several nodes */
	uint64_t collective_units;
	uint64_t copy_unit_gbps;
	uint64_t node_link_gbps;
	uint64_t node_link_latency_ns;
	/* switch: of each of its ports, which leads to a device */
	uint64_t switch_latency_ns;
	uint64_t switch_port_gbps;
	uint64_t switch_entries;
	uint64_t switch_adder_gbps;
};

/* The description of a parameter. If low = high, it is not varied. */
struct t3_timed_param {
	const char *name;
	size_t offset;
	uint64_t value, min, max;
	uint64_t low, high;
	const char *unit;
	const char *source;
};

extern const struct t3_timed_param t3_timed_params[];
extern const size_t t3_timed_param_count;

void t3_timed_params_default(struct t3_timed_params *params);
/* NULL: no parameter has this name. */
const struct t3_timed_param *t3_timed_param_find(const char *name);
uint64_t t3_timed_param_get(const struct t3_timed_params *params,
			    const struct t3_timed_param *param);
void t3_timed_param_set(struct t3_timed_params *params, const struct t3_timed_param *param,
			uint64_t value);

/*
 * The GEMM of one device: the whole output is rows x columns; depth is the device's part of K.
 * For an all-gather each device computes one chunk of the output.
 */
struct t3_timed_workload {
	uint64_t rows;
	uint64_t columns;
	uint64_t depth;
	uint64_t element_bytes; /* 1, 2, 4 or 8 */
	uint64_t ranks;
	enum t3_timed_chunks chunks;
	enum t3_timed_collective collective;
	uint64_t nodes; /* 0 or 1: none */
};

/* The tracks of a device in a timeline. A compute unit's is T3_TIMED_TRACK_UNIT + unit. */
enum t3_timed_track {
	T3_TIMED_TRACK_PHASE,
	T3_TIMED_TRACK_COMPUTE_STREAM,
	T3_TIMED_TRACK_COMMUNICATION_STREAM,
	T3_TIMED_TRACK_LINK,
	T3_TIMED_TRACK_TRIGGER,
	T3_TIMED_TRACK_STEP, /* of a collective that compute units run */
	T3_TIMED_TRACK_NODE_LINK,
	T3_TIMED_TRACK_UNIT,
};

/* A span of a timeline that has ended. `what` is a constant string. */
struct t3_timed_span {
	uint64_t start, end; /* ps; equal: an instant */
	uint32_t rank;
	uint32_t track;
	const char *what;
	uint64_t number;  /* tile, block, step or bytes */
	uint64_t entries; /* of the tracker, in use when it ends */
};

struct t3_timed_trace {
	void (*span)(void *opaque, const struct t3_timed_span *span);
	void *opaque;
};

/*
 * An expert layer: the rows that tokens of each rank send to each expert. Rank r has the experts
 * from r * experts / ranks on, and multiplies their rows, expert by expert. Dispatch is the GEMM before
 * which rows come, of `depth` elements each; combine is the one after which rows of `columns`
 * elements go back to their tokens' ranks. The workload's rows are those of all ranks.
 */
struct t3_timed_routing {
	enum t3_timed_way way;
	uint64_t experts;     /* of all ranks, as many on each */
	const uint32_t *rows; /* [rank * experts + expert] */
};

/*
 * Does each rank send as many rows to each expert at the same place of the ranks after it? Then a
 * mirrored device stands for all of them. The experts are a multiple of the ranks.
 */
bool t3_timed_alike(const struct t3_timed_routing *routing, uint64_t ranks);

struct t3_timed_recall;

struct t3_timed_setup {
	struct t3_timed_params params;
	struct t3_timed_workload workload;
	enum t3_timed_program program;
	bool mirrored; /* one device is its own neighbour; the result equals that of all ranks */
	struct t3_timed_trace trace;	/* span is NULL: no timeline */
	struct t3_timed_recall *recall; /* or NULL; it lives longer than the run */
	/* Of rows that are not as many everywhere, or NULL. t3_timed_new() reads its counts. */
	const struct t3_timed_routing *routing;
	bool guest; /* a guest chose the routing: the limits of memory are those of other runs */
};

/* Is there a type of so many bytes that the model computes with? 1, 2, 4 or 8. */
bool t3_timed_has_element(uint64_t bytes);

/* False: the setup is not valid, and `why` is a sentence that says what is wrong. */
bool t3_timed_check(const struct t3_timed_setup *setup, char *why, size_t size);

/* The size of a chunk in elements; the setup is valid. */
void t3_timed_chunk(const struct t3_timed_setup *setup, uint64_t *rows, uint64_t *columns);

/*
 * Phases that runs of mirrored devices had, so that equal ones are computed once. All results are the
 * same as without it, t3_timed_events() too. One run at a time uses it. NULL: no memory.
 */
struct t3_timed_recall *t3_timed_recall_new(void);
void t3_timed_recall_free(struct t3_timed_recall *recall);

struct t3_timed;

/* NULL: no memory, or t3_timed_check() refuses the setup. */
struct t3_timed *t3_timed_new(const struct t3_timed_setup *setup);
void t3_timed_free(struct t3_timed *sim);

/*
 * Runs a new, mirrored T3_TIMED_T3_MCA of an all-reduce as far as T3_TIMED_T3_MCA_AG is the same, and
 * returns a copy that goes on as the latter. NULL: no memory, or another run; it stays valid.
 */
struct t3_timed *t3_timed_fork(struct t3_timed *sim);

uint64_t t3_timed_now(const struct t3_timed *sim);
/* The time of the next event; T3_TIMED_NEVER: no event is left. */
uint64_t t3_timed_next(const struct t3_timed *sim);
/*
 * Runs at most `budget` events that are not after `until`, fewer if they make many requests.
 * Returns the number of events.
 */
uint64_t t3_timed_run(struct t3_timed *sim, uint64_t until, uint64_t budget);
/*
 * Runs `budget` events, or all that are left. Devices take turns of at most a link's latency, which
 * costs the host less and gives the same counters. In between, t3_timed_now() is the time of one device.
 */
uint64_t t3_timed_run_in_turns(struct t3_timed *sim, uint64_t budget);
/* True: every device has ended its program. */
bool t3_timed_done(const struct t3_timed *sim);
uint64_t t3_timed_events(const struct t3_timed *sim);
/* Of these events, those that this run did not compute, as another run had the same. */
uint64_t t3_timed_recalled(const struct t3_timed *sim);
uint32_t t3_timed_devices(const struct t3_timed *sim);
/* Tiles of GEMMs of all devices: those that are computed, and those that the run has. */
void t3_timed_tiles(const struct t3_timed *sim, uint64_t *computed, uint64_t *all);
void t3_timed_counters(const struct t3_timed *sim, uint32_t device,
		       struct t3_timed_counters *counters);

/*
 * The time that parts of a device were busy, in ps. That of all compute units is summed up. `port` is
 * the switch's port to the device.
 */
struct t3_timed_use {
	uint64_t compute, memory, cache, link, node_link, port;
};

/* Use from the start of a phase to its end, with what ran beside it. A phase that did not run: 0. */
void t3_timed_phase_use(const struct t3_timed *sim, uint32_t device, enum t3_timed_phase phase,
			struct t3_timed_use *use);

/* Counts of what a device sends to the switch, and of the switch's port to the device. */
struct t3_timed_switch_counters {
	uint64_t update_bytes, multicast_bytes; /* that the device sent */
	uint64_t updates;			/* that came for the device's chunk */
	uint64_t sums;				/* of them that left the switch, of all ranks */
	uint64_t unreduced; /* updates that passed on, because all entries were taken */
	uint64_t entries_peak;
	uint64_t sum_bytes, unreduced_bytes, gathered_bytes; /* that the device got */
	uint64_t adder_busy, port_busy;			     /* ps */
};

/* Zeros, if the program has no switch. */
void t3_timed_switch_counters(const struct t3_timed *sim, uint32_t device,
			      struct t3_timed_switch_counters *counters);

/* Does the collective sum what the ranks have? Then the GEMM's K is sliced over them. */
bool t3_timed_reduces(enum t3_timed_collective collective);
/* Does a switch join the ranks, and not links between them? */
bool t3_timed_switched(enum t3_timed_program program);
/* Is the GEMM fused with its collective? */
bool t3_timed_fused(enum t3_timed_program program);
/* Does the program run this collective? */
bool t3_timed_runs(enum t3_timed_program program, enum t3_timed_collective collective);
/* Does it run over several nodes, too? */
bool t3_timed_over_nodes(enum t3_timed_program program, enum t3_timed_collective collective);
/*
 * Does each rank send to each other one, which takes a full fabric or a switch? Else to the next one
 * only.
 */
bool t3_timed_all_peers(enum t3_timed_program program, enum t3_timed_collective collective);

const char *t3_timed_program_name(enum t3_timed_program program);
const char *t3_timed_collective_name(enum t3_timed_collective collective);
const char *t3_timed_bytes_name(enum t3_timed_bytes kind);

#endif /* T3_TIMED_H */
