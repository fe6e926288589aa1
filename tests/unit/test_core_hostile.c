/* SPDX-License-Identifier: MIT */
/*
 * A driver gone mad (common/hostile.h): the sanitizers and the host's checks watch,
 * and a good space on the same devices must not notice. T3_SEEDS, T3_SEED as in
 * test_core_property.c.
 */
#include "hostile.h"
#include "migrate.h"
#include "ring.h"
#include "seeds.h"
#include "test.h"

#define SEEDS 20u
#define STEPS 2000u
#define RANKS HOSTILE_RANKS

struct mad {
	struct hostile hostile;
	uint64_t clock;
};

/* -------------------------------------------------------------- invariants */

static void check_device(struct mad *m, struct host_dev *d, bool idle)
{
	uint32_t entries = host_reg(d, T3_REG_TRACKER) >> 8, s;

	assert_true(host_counter(d, T3_COUNTER_TRACKER_LIVE) <= entries);
	assert_true(host_counter(d, T3_COUNTER_TRACKER_PEAK) <= entries);
	assert_true(host_counter(d, T3_COUNTER_FAULTS) < 1u << 20);
	assert_true(t3_fabric_now(m->hostile.host->fabric) >= m->clock);
	m->clock = t3_fabric_now(m->hostile.host->fabric);
	for (s = 0; s < 6; s++) {
		struct t3_cmd_space query = host_query(d, s);

		assert_true(query.state <= T3_SPACE_QUIESCED);
		assert_true(query.in_flight < 300);
		if (idle) {
			assert_int_equal(query.in_flight, 0);
			assert_int_not_equal(query.state, T3_SPACE_DISABLED);
		}
	}
}

static void check(struct mad *m, bool idle)
{
	const char *broken = t3_fabric_check(m->hostile.host->fabric);
	uint32_t r;

	if (broken)
		fail_msg("%s", broken);
	if (idle)
		host_drain(m->hostile.host);
	for (r = 0; r < RANKS; r++)
		check_device(m, &m->hostile.host->dev[r], idle);
}

static void rage(struct mad *m, uint32_t steps)
{
	uint32_t i;

	for (i = 0; i < steps; i++) {
		hostile_step(&m->hostile);
		if (i % 64 == 0)
			check(m, false);
		if (i % 512 == 100)
			host_migrate(m->hostile.host, T3_INLINE_BUDGET);
	}
	check(m, m->hostile.guarded || hostile_below(&m->hostile, 2));
}

static void reset_all(struct mad *m)
{
	uint32_t r, p, what;

	for (r = 0; r < RANKS; r++) {
		t3_dev_reset(m->hostile.host->dev[r].dev);
		m->hostile.host->dev[r].fail_after = HOST_NONE32;
		for (p = 0; p < RANKS; p++)
			for (what = 1; what <= T3_INJECT_LINK_DOWN; what++)
				host_inject(m->hostile.host->fabric, r, p, what, 0);
	}
	t3_fabric_set_inline_budget(m->hostile.host->fabric, T3_INLINE_BUDGET);
	host_drain(m->hostile.host);
	check(m, true);
}

static void with_good_neighbour(struct mad *m)
{
	struct ring ring = ring_open(m->hostile.host, 0, hostile_below(&m->hostile, T3_DTYPE_U8));
	uint32_t epoch, r;

	for (epoch = 1; epoch <= 3; epoch++) {
		rage(m, STEPS / 8);
		ring_arm(&ring, epoch);
		for (r = 0; r < RANKS; r++) {
			rage(m, STEPS / 12);
			ring_produce(&ring, r, epoch, hostile_below(&m->hostile, 2));
		}
		rage(m, 10);
		ring_expect_state(&ring, T3_SPACE_COMPLETE, epoch);
		ring_expect_sums(&ring, epoch);
		ring_release(&ring, epoch);
	}
}

/* ------------------------------------------------------------------- tests */

static void seeds(bool guarded)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 8, 2, T3_KEYS_FABRIC };
	struct mad m = { .hostile.guarded = guarded };
	uint64_t seed;

	for_each_seed(seed, SEEDS)
	{
		m.hostile.random = seed * 0x9e3779b97f4a7c15ull;
		m.clock = 0;
		memset(m.hostile.ring, 0, sizeof(m.hostile.ring));
		m.hostile.host = host_new(&config); /* anew: a seed fails alone, too */
		if (guarded)
			with_good_neighbour(&m);
		else
			rage(&m, STEPS);
		reset_all(&m);
		host_free(m.hostile.host);
	}
}

TEST_WITH("a mad driver does not disturb a good space", NULL, seeds_report)
{
	seeds(true);
}

TEST_WITH("chaos breaks no rule", NULL, seeds_report)
{
	seeds(false);
}
