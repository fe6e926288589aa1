/* SPDX-License-Identifier: MIT */
/*
 * Random reductions with small tables, faults, migrations and any order; multicast, and an all-reduce
 * of both. Sums are those of a plain loop. SPEC.md sections 17.2, 17.3 and 17.6.
 */
#include "group.h"
#include "migrate.h"
#include "device/device.h"
#include "seeds.h"
#include "tape.h"
#include "trail.h"
#include "test.h"

#define MOST_BYTES 8192u
#define EPOCHS	   2u

struct draw {
	uint64_t random;
	struct group group;
	uint32_t updates, kind[T3_MAX_RANKS];
	uint32_t left[T3_MAX_RANKS]; /* rows that the member still stores */
	uint32_t sum[MOST_BYTES / 4];
	bool faults, migrates;
};

static void inject_some(struct draw *x)
{
	struct t3_cmd_inject inject = { .kind = T3_INJECT_LINK_RANDOM,
					.nth = 600,
					.value = x->random };
	uint32_t i;

	for (i = 0; i < x->group.members; i++) {
		inject.rank = i;
		inject.peer = T3_SWITCH_RANK;
		assert_int_equal(t3_fabric_inject(x->group.host->fabric, &inject), T3_ADMIN_OK);
		inject.rank = T3_SWITCH_RANK;
		inject.peer = i;
		assert_int_equal(t3_fabric_inject(x->group.host->fabric, &inject), T3_ADMIN_OK);
	}
}

static void begin(struct draw *x, uint64_t seed, t3_record_emit *emit, void *opaque)
{
	uint32_t ranks, owner, rows, row_bytes, i;
	struct host *host;

	*x = (struct draw){ .random = seed * 0x9e3779b97f4a7c15ull + 1 };
	ranks = 1 + host_below(&x->random, 5);
	x->updates = 1 + host_below(&x->random, 2);
	x->faults = host_below(&x->random, 2);
	x->migrates = !emit && host_below(&x->random, 3) == 0;
	host = host_switch(ranks, 1 + host_below(&x->random, 9), emit, opaque);
	owner = host_below(&x->random, ranks);
	rows = 1 + host_below(&x->random, 8);
	row_bytes = 8 * (1 + host_below(&x->random, MOST_BYTES / 64));
	x->group = group_reduce(host, owner, rows, row_bytes, T3_DTYPE_U32, T3_OP_ADD);
	group_target(&x->group, x->updates);
	for (i = 0; i < ranks; i++) {
		x->kind[i] = host_below(&x->random, 4) ? T3_SEG_DMA : T3_SEG_REMOTE;
		/* A DMA segment sends each element once, so a single update is what counts. */
		if (x->updates == 2)
			x->kind[i] = T3_SEG_REMOTE;
		group_source(&x->group, i, x->kind[i], x->updates);
	}
	t3_fabric_set_inline_budget(host->fabric, host_below(&x->random, 3) ? 0 : 64);
	if (x->faults)
		inject_some(x);
}

static void store_row(struct draw *x, uint32_t member)
{
	const struct group *group = &x->group;
	uint32_t words = group->row_bytes / 4, i, value[MOST_BYTES / 4];
	uint32_t row = --x->left[member] % group->rows;

	/* Half of the members go the other way. */
	if (member & 1)
		row = group->rows - 1 - row;
	for (i = 0; i < words; i++) {
		value[i] = (uint32_t)host_random(&x->random);
		x->sum[row * words + i] += value[i];
	}
	group_send_row(group, member, row, (const uint8_t *)value);
}

static void expect_whole(struct host *host)
{
	const char *broken = t3_fabric_check(host->fabric);

	if (broken)
		fail_msg("%s", broken);
}

static void disturb(struct draw *x)
{
	struct host *host = x->group.host;

	t3_fabric_run(host->fabric, host_below(&x->random, 200));
	if (!x->migrates || host_below(&x->random, 4))
		return;
	expect_whole(host);
	host_migrate(host, 0);
}

static void run_epoch(struct draw *x, uint32_t epoch)
{
	struct group *group = &x->group;
	uint32_t i, left = group->members * x->updates * group->rows;

	memset(x->sum, 0, sizeof(x->sum));
	for (i = 0; i < group->members; i++)
		x->left[i] = x->updates * group->rows;
	group_arm(group, epoch);
	while (left) {
		uint32_t member = host_below(&x->random, group->members);

		if (!x->left[member])
			continue;
		store_row(x, member);
		left--;
		if (host_below(&x->random, 3) == 0)
			disturb(x);
	}
	host_drain(group->host);
	for (i = 0; i < group->members; i++)
		host_expect(&group->host->dev[i], GROUP_SOURCE, T3_SPACE_COMPLETE, epoch);
	host_expect(&group->host->dev[group->owner], GROUP_TARGET, T3_SPACE_COMPLETE, epoch);
	assert_memory_equal(group_result(group), x->sum, group->rows * group->row_bytes);
	assert_null(t3_fabric_check(group->host->fabric));
	assert_int_equal(group_query(group).entries, 0);
	for (i = 0; i < group->members; i++)
		host_release(&group->host->dev[i], GROUP_SOURCE, epoch);
	host_release(&group->host->dev[group->owner], GROUP_TARGET, epoch);
}

static void run(struct draw *x)
{
	uint32_t epoch;

	for (epoch = 1; epoch <= EPOCHS; epoch++)
		run_epoch(x, epoch);
	host_free(x->group.host);
}

TEST_WITH("a random reduction gives the sums of a plain loop", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, 200)
	{
		struct draw x;

		begin(&x, seed, NULL, NULL);
		run(&x);
	}
	trail_expect(0x1f4b918d7729029d);
}

TEST_WITH("a recorded reduction replays to the bit", NULL, seeds_report)
{
	uint64_t seed;

	for_each_seed(seed, 12)
	{
		struct tape tape = { 0 };
		struct replay_result result;
		struct draw x;

		begin(&x, seed, tape_emit, &tape);
		run(&x);
		result = tape_replay(&tape);
		tape_expect_same(&result);
		free(tape.data);
	}
}

/* --------------------------------------------------------------- multicast */

#define ROW 512u /* bytes, in a packet */

static struct t3_cmd_seg_map plain(uint32_t space, uint32_t segment, uint32_t kind, uint32_t rows)
{
	struct t3_cmd_seg_map map = host_segment(space, segment, kind, T3_OP_STORE, T3_DTYPE_U32);

	map.offset = 0;
	map.rows = rows;
	map.row_bytes = map.pitch = map.tile_row_bytes = ROW;
	map.tile_rows = 1;
	map.counter_base = 0;
	return map;
}

/* Rank 0's space GROUP_ROOT leads to GROUP_HEARER of the others. */
static struct group multicast(struct host *host, uint32_t space, uint32_t rows)
{
	struct group group = { .rows = rows, .row_bytes = ROW };
	uint32_t i;

	assert_int_equal(group_create(&host->dev[0], space, T3_GROUP_MULTICAST, 0, host->ranks - 1,
				      &group),
			 T3_ADMIN_OK);
	for (i = 1; i < host->ranks; i++) {
		struct t3_cmd_seg_map map = plain(GROUP_HEARER, GROUP_SEGMENT, T3_SEG_LOCAL, rows);

		host_space(&host->dev[i], GROUP_HEARER);
		host_map(&host->dev[i], &map);
		group_import(&host->dev[i], GROUP_HEARER, &group);
		assert_int_equal(group_member(&group, space, i - 1, i, GROUP_HEARER, GROUP_IMPORT),
				 T3_ADMIN_OK);
	}
	return group;
}

static void expect_heard(struct host *host, uint32_t rows, const uint8_t *want)
{
	uint32_t i;

	host_drain(host);
	for (i = 1; i < host->ranks; i++) {
		host_expect(&host->dev[i], GROUP_HEARER, T3_SPACE_COMPLETE, 1);
		assert_memory_equal(host_buffer(&host->dev[i], GROUP_HEARER), want, rows * ROW);
	}
	assert_null(t3_fabric_check(host->fabric));
}

static struct group root(struct host *host, uint32_t rows)
{
	struct t3_cmd_seg_map map = plain(GROUP_ROOT, 0, T3_SEG_DMA, rows);
	struct group group;
	uint32_t i;

	host_space(&host->dev[0], GROUP_ROOT);
	group = multicast(host, GROUP_ROOT, rows);
	group_route(&host->dev[0], GROUP_ROOT, &group, 0);
	map.routes = 1u << GROUP_ROUTE;
	map.target_segment = GROUP_SEGMENT;
	map.init = T3_INIT_KEEP;
	host_map(&host->dev[0], &map);
	host_arm(&host->dev[0], GROUP_ROOT, 1);
	host_drain(host);
	host_expect(&host->dev[0], GROUP_ROOT, T3_SPACE_ARMING, 1);
	for (i = 1; i < host->ranks; i++)
		host_arm(&host->dev[i], GROUP_HEARER, 1);
	host_drain(host);
	host_expect(&host->dev[0], GROUP_ROOT, T3_SPACE_ARMED, 1);
	return group;
}

static void store_root(struct host *host, uint32_t rows)
{
	uint32_t i;

	for (i = 0; i < rows * ROW; i += 8)
		host_store(&host->dev[0], GROUP_ROOT, i, i * 77u, 8);
}

TEST("one update reaches all targets of a multicast")
{
	struct host *host = host_switch(5, 1, NULL, NULL);

	root(host, 8);
	store_root(host, 8);
	expect_heard(host, 8, host_buffer(&host->dev[0], GROUP_ROOT));
	assert_int_equal(group_port(host, 0).copies, 4 * 8);
	assert_int_equal(host_counter(&host->dev[3], T3_COUNTER_LINK_RX_BYTES),
			 (8 + 1) * sizeof(struct t3_packet) + 8 * ROW);
	host_free(host);
}

static void run_until(struct host *host, uint64_t time)
{
	while (t3_fabric_now(host->fabric) < time && t3_fabric_run(host->fabric, 1))
		;
}

TEST("an update that finds no room is sent again, and no target misses it")
{
	struct host *host = host_switch(3, 1, NULL, NULL);

	root(host, 120);
	assert_true(host_inject(host->fabric, T3_SWITCH_RANK, 1, T3_INJECT_LINK_DOWN, 1));
	t3_fabric_set_inline_budget(host->fabric, 0);
	store_root(host, 120);
	store_root(host, 0);
	run_until(host, t3_fabric_now(host->fabric) + 30000);
	assert_true(host_inject(host->fabric, T3_SWITCH_RANK, 1, T3_INJECT_LINK_DOWN, 0));
	assert_true(group_port(host, 0).busy > 0);
	assert_int_equal(group_port(host, 0).copies, 2 * 64);
	expect_heard(host, 120, host_buffer(&host->dev[0], GROUP_ROOT));
	host_free(host);
}

/* ---------------------------------------------------------------- both in a chain */

TEST("an all-reduce of a group and a multicast ends with the sum everywhere")
{
	struct host *host = host_switch(4, 64, NULL, NULL);
	struct group sums = group_reduce(host, 0, 16, ROW, T3_DTYPE_U32, T3_OP_ADD), copies;
	struct t3_cmd_seg_map map = plain(GROUP_TARGET, GROUP_SEGMENT, T3_SEG_DMA, 16);
	uint32_t i, k, row[ROW / 4], most = 0;

	copies = multicast(host, GROUP_TARGET, 16);
	group_route(&host->dev[0], GROUP_TARGET, &copies, 0);
	map.op = T3_OP_ADD;
	map.init = T3_INIT_IDENTITY;
	map.updates = 4;
	map.routes = 1u << GROUP_ROUTE;
	map.target_segment = GROUP_SEGMENT;
	host_map(&host->dev[0], &map);
	for (i = 0; i < 4; i++)
		group_source(&sums, i, T3_SEG_DMA, 1);
	for (i = 1; i < 4; i++)
		host_arm(&host->dev[i], GROUP_HEARER, 1);
	group_arm(&sums, 1);
	for (i = 0; i < 4; i++)
		for (k = 0; k < 16; k++) {
			memset(row, 0, sizeof(row));
			row[k] = i + 1;
			group_send_row(&sums, i, k, (const uint8_t *)row);
		}
	expect_heard(host, 16, group_result(&sums));
	host_expect(&host->dev[0], GROUP_TARGET, T3_SPACE_COMPLETE, 1);
	for (k = 0; k < 16; k++) {
		memcpy(row, group_result(&sums) + k * ROW, ROW);
		assert_int_equal(row[k], 10);
	}
	for (i = 0; i < 4; i++) {
		uint64_t sent = host_counter(&host->dev[i], T3_COUNTER_LINK_TX_BYTES);

		most = sent > most ? (uint32_t)sent : most;
	}
	/* A ring sends 2 (N - 1) / N of the output and more from each rank; here it goes out once or twice. */
	assert_true(most < 2 * (16 * ROW + 32 * sizeof(struct t3_packet)));
	host_free(host);
}
