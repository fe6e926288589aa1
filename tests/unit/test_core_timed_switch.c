/* SPDX-License-Identifier: MIT */
/*
 * The timed model's switch: times that a person counts, bytes by closed forms, what it does when its
 * entries are taken. SPEC.md section 8.1. T3_SEEDS, T3_SEED as in test_core_property.c.
 */
#include "host.h"
#include "seeds.h"
#include "timed/timed_private.h"
#include "timed.h"
#include "trail.h"
#include "test.h"

#define SEEDS 60u
#define US    1000000u /* ps */

/* The counters of a run: those of a device, and those of its port. */
struct outcome {
	struct t3_timed_counters c;
	struct t3_timed_switch_counters s;
};

static uint64_t up(uint64_t size, uint64_t of)
{
	return (size + of - 1) / of;
}

/* All devices end, with the same counters. */
static struct outcome finish(struct t3_timed *sim)
{
	struct outcome first = { 0 }, other;
	uint32_t i;

	assert_true(t3_timed_done(sim));
	assert_int_equal(t3_timed_next(sim), T3_TIMED_NEVER);
	for (i = 0; i < t3_timed_devices(sim); i++) {
		t3_timed_counters(sim, i, &other.c);
		t3_timed_switch_counters(sim, i, &other.s);
		if (!i)
			first = other;
		assert_memory_equal(&first, &other, sizeof(first));
	}
	trail_add(&first, sizeof(first));
	TRAIL(t3_timed_events(sim));
	t3_timed_free(sim);
	return first;
}

static struct outcome run(struct t3_timed_setup setup, int program)
{
	char why[TIMED_WHY] = "";
	struct t3_timed *sim;

	setup.program = (enum t3_timed_program)program;
	if (!t3_timed_check(&setup, why, sizeof(why)))
		fail_msg("%s", why);
	sim = t3_timed_new(&setup);
	assert_non_null(sim);
	while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
		;
	return finish(sim);
}

/* ------------------------------------------------------------ counted by a person */

#define PIECE_PS 1024000u /* 1024 bytes at 1 GB/s */
#define LATENCY	 500000u
#define ACCESS	 11u /* 1024 bytes of memory at 100000 GB/s */

/*
 * Three ranks with a chunk of one tile, which is one piece. Memory takes no time but ACCESS, ports and
 * adders are slow. A chunk has `pieces` tiles.
 */
static struct t3_timed_setup slow(uint64_t pieces)
{
	struct t3_timed_setup setup = timed_small(3 * 16 * pieces, 32, 16, 3);

	timed_param(&setup, "tile_rows", 16);
	timed_param(&setup, "memory_gbps", 100000);
	timed_param(&setup, "memory_latency_ns", 0);
	timed_param(&setup, "turnaround_ns", 0);
	timed_param(&setup, "row_conflict_ns", 0);
	timed_param(&setup, "switch_port_gbps", 1);
	timed_param(&setup, "switch_adder_gbps", 1);
	return setup;
}

/*
 * A rank reads and sends two pieces, one after the other. So the second update comes when the first
 * one has been added. Then the sum is added, and leaves the port; a unit reads its own piece, and
 * writes the sum.
 */
#define ONE_SUM	   (ACCESS + 2 * PIECE_PS + PIECE_PS + PIECE_PS + LATENCY)
#define ONE_REDUCE (ONE_SUM + 2 * ACCESS)
/* Multicast from the unit. Two peers' copies leave the port one after the other. */
#define ONE_GATHER (PIECE_PS + 2 * PIECE_PS + LATENCY)

TEST("a reduce-scatter of one piece through the switch takes what a person counts")
{
	struct t3_timed_setup setup = slow(1);
	struct outcome out;

	setup.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	out = run(setup, T3_TIMED_SWITCH);
	assert_int_equal(out.c.end - out.c.phase_end[T3_TIMED_GEMM], ONE_REDUCE);
	assert_int_equal(out.s.adder_busy, 2 * PIECE_PS);
	assert_int_equal(out.s.port_busy, PIECE_PS);
	assert_int_equal(out.s.entries_peak, 1);
}

TEST("the sum's multicast leaves when a unit has it, and copies queue at each port")
{
	struct outcome out = run(slow(1), T3_TIMED_SWITCH);
	uint64_t gemm = out.c.phase_end[T3_TIMED_GEMM];

	assert_int_equal(out.c.phase_end[T3_TIMED_REDUCE_SCATTER] - gemm, ONE_REDUCE);
	assert_int_equal(out.c.end - gemm, ONE_SUM + ACCESS + ONE_GATHER + ACCESS);
	assert_int_equal(out.s.multicast_bytes, 1024);
	assert_int_equal(out.s.gathered_bytes, 2048);
}

TEST("an all-gather alone is one multicast of each piece")
{
	struct t3_timed_setup setup = slow(1);
	struct outcome out;

	setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_GATHER;
	out = run(setup, T3_TIMED_SWITCH);
	assert_int_equal(out.c.end - out.c.phase_end[T3_TIMED_GEMM], ACCESS + ONE_GATHER + ACCESS);
	assert_int_equal(out.c.link_bytes, 1024);
	assert_int_equal(out.s.updates + out.s.sums, 0);
}

static void first_workgroup(void *opaque, const struct t3_timed_span *span)
{
	uint64_t *first = opaque;

	if (span->track >= T3_TIMED_TRACK_UNIT && !*first)
		*first = span->end;
}

/* Stores go to the switch from when the first workgroup ends; the sum is an update at memory. */
TEST("a fused reduce-scatter of one piece takes what a person counts from its first store on")
{
	struct t3_timed_setup setup = slow(1);
	uint64_t stored = 0;
	struct outcome out;

	setup.trace = (struct t3_timed_trace){ first_workgroup, &stored };
	setup.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	out = run(setup, T3_TIMED_T3_SWITCH);
	assert_true(stored > 0);
	assert_int_equal(out.c.end - stored, ONE_SUM - ACCESS + 2 * ACCESS);
	assert_int_equal(out.c.memory_bytes[T3_TIMED_RS_READ], 0);
}

/* Of two ranks, the one update of a piece is the sum, and needs no entry. */
TEST("of two ranks no update takes an entry")
{
	struct t3_timed_setup setup = timed_small(256, 64, 64, 2);
	struct outcome out;
	int program;

	timed_param(&setup, "switch_entries", 1);
	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
		out = run(setup, program);
		assert_int_equal(out.s.entries_peak, 0);
		assert_int_equal(out.s.unreduced, 0);
		assert_int_equal(out.s.sums, out.s.updates);
	}
}

/* -------------------------------------------------------------------- entries */

/*
 * Pieces come every two PIECE_PS. The first one takes the only entry, until the sum is at the device:
 * two PIECE_PS, and half of a latency of 10 us later. That is over three pieces, whose updates pass
 * on, and the fifth one takes the entry again. So of each four pieces one is a sum, and the others
 * are two updates.
 */
TEST("updates that find all entries taken pass on, are counted, and cost the owner an update each")
{
	struct t3_timed_setup setup = slow(16);
	struct outcome out;
	int program;

	timed_param(&setup, "switch_entries", 1);
	timed_param(&setup, "switch_latency_ns", 10000);
	timed_param(&setup, "switch_adder_gbps", 100000);
	setup.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
		out = run(setup, program);
		assert_int_equal(out.s.updates, 2 * 16);
		assert_int_equal(out.s.entries_peak, 1);
		assert_int_equal(out.s.sums, 4);
		assert_int_equal(out.s.unreduced, 2 * 12);
		assert_int_equal(out.c.memory_bytes[T3_TIMED_RS_WRITE], (4 + 2 * 12) * 1024);
		assert_int_equal(out.c.received_bytes, (4 + 2 * 12) * 1024);
		assert_int_equal(out.c.tracker_live, 0);
	}
	timed_param(&setup, "switch_entries", 4); /* as many as are held at once */
	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
		out = run(setup, program);
		assert_int_equal(out.s.sums, 16);
		assert_int_equal(out.s.unreduced, 0);
		assert_int_equal(out.s.entries_peak, 4);
		assert_int_equal(out.c.memory_bytes[T3_TIMED_RS_WRITE], 16 * 1024);
	}
}

/* A published sub-layer with as many entries as by default, and with few. */
TEST("few entries slow a run whose port is the bound, and lose nothing")
{
	struct t3_timed_setup setup = timed_published(3072, 4096, 1, 8);
	uint64_t pieces = 4096 / 8 * 3072 * 2 / 4096;
	struct outcome many, few;
	int program;

	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
		timed_param(&setup, "switch_entries", 128);
		many = run(setup, program);
		assert_int_equal(many.s.unreduced, 0);
		assert_int_equal(many.s.sums, pieces);
		timed_param(&setup, "switch_entries", 1);
		few = run(setup, program);
		assert_int_equal(few.s.updates, 7 * pieces);
		assert_true(few.s.unreduced > 3 * pieces);
		assert_true(few.c.end > many.c.end + many.c.end / 5);
	}
}

/* ---------------------------------------------------------------------- bytes */

/* Bytes of memory, in chunks, and in what came to the own chunk. */
static void assert_memory(const struct t3_timed_setup *setup, const struct outcome *out,
			  uint64_t chunk)
{
	const uint64_t *bytes = out->c.memory_bytes;
	uint64_t n = setup->workload.ranks, came = out->s.sum_bytes + out->s.unreduced_bytes;
	bool fused = t3_timed_fused(setup->program);
	bool own = setup->workload.collective == T3_TIMED_COLLECTIVE_ALL_GATHER;
	bool sums = !own,
	     gathers = setup->workload.collective != T3_TIMED_COLLECTIVE_REDUCE_SCATTER;

	assert_int_equal(bytes[T3_TIMED_GEMM_WRITE], (own || fused ? 1 : n) * chunk);
	assert_int_equal(bytes[T3_TIMED_RS_READ], sums && !fused ? (n - 1) * chunk + came : 0);
	assert_int_equal(bytes[T3_TIMED_RS_WRITE], came);
	assert_int_equal(bytes[T3_TIMED_AG_READ], gathers && (fused || own) ? chunk : 0);
	assert_int_equal(bytes[T3_TIMED_AG_WRITE], gathers ? (n - 1) * chunk : 0);
}

/* Up: each chunk but the own one once, and the own one once. Down: a sum, and the others' chunks. */
static void assert_conserved(const struct t3_timed_setup *setup, const struct outcome *out)
{
	const struct t3_timed_workload *w = &setup->workload;
	const struct t3_timed_switch_counters *s = &out->s;
	struct timed_reference_cut cut = timed_reference_cut(setup);
	uint64_t chunk = cut.rows * cut.columns * w->element_bytes, n = w->ranks;
	uint64_t sums = w->collective != T3_TIMED_COLLECTIVE_ALL_GATHER;
	uint64_t gathers = w->collective != T3_TIMED_COLLECTIVE_REDUCE_SCATTER;

	assert_int_equal(s->update_bytes, sums * (n - 1) * chunk);
	assert_int_equal(s->multicast_bytes, gathers * chunk);
	assert_int_equal(s->gathered_bytes, gathers * (n - 1) * chunk);
	assert_int_equal(out->c.link_bytes, s->update_bytes + s->multicast_bytes);
	assert_int_equal(out->c.received_bytes,
			 s->sum_bytes + s->unreduced_bytes + s->gathered_bytes);
	assert_true(s->sum_bytes <= sums * chunk);
	if (!s->unreduced)
		assert_int_equal(s->sum_bytes, sums * chunk);
	assert_int_equal(!s->unreduced, !s->unreduced_bytes);
	assert_int_equal(s->updates % (n - 1), 0);
	assert_true(s->sums * (n - 1) + s->unreduced <= s->updates + s->unreduced * (n - 1));
	assert_true(s->entries_peak <= setup->params.switch_entries);
	assert_true(s->port_busy <= out->c.end);
	assert_true(s->port_busy >=
		    up(out->c.received_bytes * 1000, setup->params.switch_port_gbps));
	assert_int_equal(out->c.tracker_live, 0);
	assert_int_equal(out->c.node_link_bytes, 0);
	assert_memory(setup, out, chunk);
}

static uint64_t between(uint64_t *seed, uint64_t low, uint64_t high)
{
	return low + host_below(seed, high - low + 1);
}

static struct t3_timed_setup random_setup(uint64_t *seed)
{
	/* clang-format off */
	static const struct {
		const char *name;
		uint32_t low, high;
	} ranges[] = {
		{ "compute_units", 1, 20 },	 { "groups_per_unit", 1, 3 },
		{ "stage_barrier", 0, 1 },	 { "tile_rows", 1, 40 },
		{ "tile_columns", 1, 40 },	 { "raster_rows", 1, 5 },
		{ "memory_gbps", 20, 2000 },	 { "memory_latency_ns", 0, 900 },
		{ "update_percent", 100, 300 },	 { "link_queue_kib", 1, 16 },
		{ "dma_tiles", 1, 40 },		 { "dma_read_ahead_kib", 1, 16 },
		{ "copy_unit_kib", 1, 4 },	 { "collective_units", 1, 20 },
		{ "copy_unit_gbps", 1, 60 },	 { "tracker_record_bytes", 1, 100 },
		{ "switch_latency_ns", 1, 3000 }, { "switch_port_gbps", 5, 500 },
		{ "switch_entries", 1, 9 },	 { "switch_adder_gbps", 5, 500 },
	};
	/* clang-format on */
	uint64_t ranks = between(seed, 2, 9), rows = between(seed, 1, ranks * 100);
	uint64_t columns = between(seed, 1, 160), depth = between(seed, 1, 100);
	struct t3_timed_setup setup = timed_small(rows, columns, depth, ranks);
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (host_below(seed, 2))
			timed_param(&setup, ranges[i].name,
				    between(seed, ranges[i].low, ranges[i].high));
	setup.workload.chunks = (enum t3_timed_chunks)host_below(seed, 3);
	setup.workload.collective = (enum t3_timed_collective)host_below(seed, 3);
	setup.program = host_below(seed, 2) ? T3_TIMED_SWITCH : T3_TIMED_T3_SWITCH;
	return setup;
}

/* Devices that take turns, which are cut anywhere. */
static struct outcome run_in_turns(const struct t3_timed_setup *setup, uint64_t *seed)
{
	struct t3_timed *sim = t3_timed_new(setup);

	assert_non_null(sim);
	while (t3_timed_run_in_turns(sim, between(seed, 1, 5000)))
		;
	return finish(sim);
}

static void one(uint64_t seed)
{
	struct t3_timed_setup setup = random_setup(&seed);
	struct outcome mirrored = run(setup, setup.program), all;

	assert_conserved(&setup, &mirrored);
	setup.mirrored = false;
	all = run(setup, setup.program);
	assert_memory_equal(&mirrored, &all, sizeof(all));
	all = run_in_turns(&setup, &seed);
	assert_memory_equal(&mirrored, &all, sizeof(all));
}

TEST_WITH("random machines with a switch conserve bytes, cut or mirrored", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS) one(seed * 0x9e3779b97f4a7c15ull);
	trail_expect(0xed1bb0a9d80f23ac);
}

/* An update for each piece from each peer, and a copy of each of its multicasts. */
TEST("each peer sends each device the updates of one chunk, and its own chunk once")
{
	struct t3_timed_setup setup = timed_small(200, 70, 20, 5);
	uint32_t distance, rank;
	int collective, program;

	setup.mirrored = false;
	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
		for (collective = 0; collective < T3_TIMED_COLLECTIVE_ALL_TO_ALL; collective++) {
			bool both = collective == T3_TIMED_COLLECTIVE_ALL_REDUCE;
			struct t3_timed *sim;

			setup.workload.collective = (enum t3_timed_collective)collective;
			setup.program = (enum t3_timed_program)program;
			sim = t3_timed_new(&setup);
			assert_non_null(sim);
			while (t3_timed_run(sim, T3_TIMED_NEVER, 1000))
				;
			for (rank = 0; rank < 5; rank++)
				for (distance = 1; distance < 5; distance++)
					assert_int_equal(
						sim->device[rank].link.in[distance - 1].came,
						(both ? 2 : 1) * sim->shape.chunk_pieces);
			t3_timed_free(sim);
		}
	}
}

/* -------------------------------------------------------------------- extremes */

/* Half of a ring's bytes: of 8 ranks, S each way, against 2 * 7/8 S. */
TEST("an all-reduce moves the output once each way, a ring's almost twice")
{
	struct t3_timed_setup setup = timed_published(4096, 4096, 1, 8);
	uint64_t output = 4096ull * 4096 * 2;
	struct outcome out;
	int program;

	assert_int_equal(run(setup, T3_TIMED_T3_MCA).c.link_bytes, 2 * output / 8 * 7);
	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
		out = run(setup, program);
		assert_int_equal(out.c.link_bytes, output);
		assert_int_equal(out.c.received_bytes, output);
	}
}

/*
 * Both directions of the port are busy all the time. Before, the first piece passes the switch and
 * is summed up; behind, the last one. What a unit's window holds is sent before the last sums.
 */
TEST("an all-reduce bound by its ports takes what the output does on one of them")
{
	struct t3_timed_setup setup = timed_published(8192, 16384, 1, 8);
	uint64_t wire = 8192ull * 16384 * 2 * 1000 / 150; /* ps */
	struct outcome out;

	setup.workload.depth = 1;
	out = run(setup, T3_TIMED_SWITCH);
	assert_in_range(out.c.end - out.c.phase_end[T3_TIMED_GEMM], wire, wire + wire / 50);
	out = run(setup, T3_TIMED_T3_SWITCH);
	assert_in_range(out.c.end, wire, wire + wire / 50);
	timed_param(&setup, "switch_port_gbps", 300);
	timed_param(&setup, "switch_adder_gbps", 300);
	out = run(setup, T3_TIMED_T3_SWITCH);
	assert_in_range(out.c.end, wire / 2, wire / 2 + wire / 50);
}

TEST("a collective bound by one direction of the port takes what that one moves")
{
	struct t3_timed_setup setup = timed_published(8192, 8192, 1, 8);
	uint64_t wire = 8192ull * 8192 * 2 / 8 * 7 * 1000 / 150; /* ps */
	int collective, program;
	struct outcome out;

	setup.workload.depth = 1;
	for (collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	     collective <= T3_TIMED_COLLECTIVE_ALL_GATHER; collective++) {
		for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
			uint64_t before;

			setup.workload.collective = (enum t3_timed_collective)collective;
			out = run(setup, program);
			before = t3_timed_fused(setup.program = (enum t3_timed_program)program)
					 ? 0
					 : out.c.phase_end[T3_TIMED_GEMM];
			assert_in_range(out.c.end - before, wire, wire + wire / 50);
		}
	}
}

/* The adder takes N - 1 updates for each sum. */
TEST("a reduce-scatter bound by the adder takes what the updates do there")
{
	struct t3_timed_setup setup = timed_published(8192, 8192, 1, 8);
	uint64_t adds = 8192ull * 8192 * 2 / 8 * 7 * 1000 / 50; /* ps */
	struct outcome out;

	setup.workload.depth = 1;
	setup.workload.collective = T3_TIMED_COLLECTIVE_REDUCE_SCATTER;
	timed_param(&setup, "switch_adder_gbps", 50);
	timed_param(&setup, "switch_entries", 65536);
	out = run(setup, T3_TIMED_SWITCH);
	assert_int_equal(out.s.unreduced, 0);
	assert_in_range(out.c.end - out.c.phase_end[T3_TIMED_GEMM], adds, adds + adds / 50);
}

/* 1024 tiles on 80 units are 13 on some of them, of 512 steps. Nothing else may take 1 % of that. */
TEST("a GEMM bound by computing hides the whole all-reduce")
{
	struct t3_timed_setup setup = timed_published(4096, 4096, 1, 8);
	uint64_t step = 2ull * 128 * 128 * 32 * 1000000 / 1400 / 1024 * 100 / 90;
	uint64_t gemm = 13 * 512 * step;
	struct outcome out;

	setup.workload.depth = 512ull * 32;
	timed_param(&setup, "memory_gbps", 100000);
	timed_param(&setup, "cache_gbps", 100000);
	out = run(setup, T3_TIMED_T3_SWITCH);
	assert_in_range(out.c.end, gemm, gemm + gemm / 100);
	out = run(setup, T3_TIMED_SWITCH);
	assert_true(out.c.end > gemm + 4096ull * 4096 * 2 * 1000 / 150);
}

/* ------------------------------------------------------------------ parameters */

/* Which costs more is known of each, where it is the bound. */
TEST("each parameter of the switch costs something")
{
	static const struct {
		const char *name;
		uint64_t cheap, dear;
	} rows[] = {
		{ "switch_latency_ns", 100, 5000 },
		{ "switch_port_gbps", 300, 100 },
		{ "switch_entries", 128, 1 },
		{ "switch_adder_gbps", 300, 50 },
	};
	int program;
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
			struct t3_timed_setup setup = timed_published(3072, 2048, 1, 8);
			uint64_t cheap;

			timed_param(&setup, rows[i].name, rows[i].cheap);
			cheap = run(setup, program).c.end;
			timed_param(&setup, rows[i].name, rows[i].dear);
			assert_true(run(setup, program).c.end > cheap);
		}
	}
}

TEST("the switch's parameters change no program without one")
{
	struct t3_timed_setup setup = timed_small(256, 128, 64, 4), other = setup;
	struct t3_timed_counters a, b;
	int program;

	timed_param(&other, "switch_latency_ns", 9999);
	timed_param(&other, "switch_port_gbps", 1);
	timed_param(&other, "switch_entries", 1);
	timed_param(&other, "switch_adder_gbps", 1);
	for (program = 0; program < T3_TIMED_SWITCH; program++) {
		if (!timed_program(&setup, program) || !timed_program(&other, program))
			continue;
		a = timed_run_to_end(&setup);
		b = timed_run_to_end(&other);
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

/* The arbiter's threshold is that of T3-MCA, as the GEMM's loads are about the same. */
TEST("only the fused program arbitrates by what the GEMM needs")
{
	struct t3_timed_setup setup = timed_published(3072, 4096, 4, 8);
	uint64_t threshold = run(setup, T3_TIMED_T3_MCA).c.threshold;

	assert_true(threshold < setup.params.queue_entries);
	assert_int_equal(run(setup, T3_TIMED_T3_SWITCH).c.threshold, threshold);
	assert_int_equal(run(setup, T3_TIMED_SWITCH).c.threshold, setup.params.queue_entries);
}

TEST("links between devices are no part of a switch")
{
	struct t3_timed_setup setup = timed_small(256, 128, 64, 4);
	struct outcome out = run(setup, T3_TIMED_T3_SWITCH), other;

	timed_param(&setup, "link_gbps", 1);
	timed_param(&setup, "link_latency_ns", 9999);
	other = run(setup, T3_TIMED_T3_SWITCH);
	assert_memory_equal(&out, &other, sizeof(out));
}

/* -------------------------------------------------------------------- refusals */

TEST("what a switch does not run is refused by a sentence that names it")
{
	struct t3_timed_setup setup = timed_small(256, 64, 64, 4);
	char why[TIMED_WHY];
	int program;

	for (program = T3_TIMED_SWITCH; program <= T3_TIMED_T3_SWITCH; program++) {
		const char *name = t3_timed_program_name((enum t3_timed_program)program);

		setup = timed_small(256, 64, 64, 4);
		setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_TO_ALL;
		assert_false(timed_program(&setup, program));
		assert_false(t3_timed_check(&setup, why, sizeof(why)));
		assert_non_null(strstr(why, name));
		assert_non_null(strstr(why, "all-reduce, reduce-scatter and all-gather only"));
		setup.workload.collective = T3_TIMED_COLLECTIVE_ALL_REDUCE;
		setup.workload.nodes = 2;
		assert_false(t3_timed_check(&setup, why, sizeof(why)));
		assert_non_null(strstr(why, name));
		assert_non_null(strstr(why, "takes one node, because its switch"));
		setup.workload.nodes = 0;
		setup.mirrored = false;
		timed_param(&setup, "switch_latency_ns", 10000);
		setup.workload.ranks = 64;
		setup.workload.rows = 16384;
		assert_false(t3_timed_check(&setup, why, sizeof(why)));
		assert_non_null(strstr(why, "switch_latency_ns is too large"));
	}
}
