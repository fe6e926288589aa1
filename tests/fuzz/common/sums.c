/* SPDX-License-Identifier: MIT */
/*
 * Real work of groups in the end: sums are those of a loop over members, whether updates met in the
 * switch, went alone, or were put in order, and copies are the source's bytes. Links lose and
 * exchange packets meanwhile.
 */
#include "nmc/nmc.h"
#include "sums.h"
#include "switch/switch.h"
#include "world.h"

#define BYTES  (SUMS_ROWS * SUMS_ROW_BYTES)
#define MOST   4u  /* ranks */
#define CHANCE 900 /* of each accident, in 65536 */

struct sums {
	struct group group;
	uint32_t updates;
	uint64_t random;
	uint8_t data[MOST][BYTES];
};

static void disturb(struct sums *sums, uint32_t chance)
{
	struct t3_fabric *fabric = sums->group.host->fabric;
	struct t3_cmd_inject inject = { .kind = T3_INJECT_LINK_RANDOM, .nth = chance };
	uint32_t i, way;

	for (i = 0; i < sums->group.host->ranks; i++)
		for (way = 0; way < 2; way++) {
			inject.rank = way ? T3_SWITCH_RANK : i;
			inject.peer = way ? i : T3_SWITCH_RANK;
			inject.value = chance ? host_random(&sums->random) : 0;
			assert_int_equal(t3_fabric_inject(fabric, &inject), T3_ADMIN_OK);
		}
}

/* Floats of nearly one size, or else most sums would be one of the values. */
static void fill(struct sums *sums)
{
	uint32_t i, k;

	for (i = 0; i < MOST; i++)
		for (k = 0; k < BYTES; k++)
			sums->data[i][k] = k % 4 == 3 ? 0x3f : (uint8_t)host_random(&sums->random);
}

/* All members' rows, mixed, with some events between. */
static void send_mixed(struct sums *sums)
{
	const struct group *group = &sums->group;
	uint32_t sent[MOST] = { 0 }, all = SUMS_ROWS * sums->updates;
	uint32_t left = group->members * all;

	while (left) {
		uint32_t member = host_below(&sums->random, group->members);
		uint32_t row = (sent[member] + member) % SUMS_ROWS;

		if (sent[member] == all)
			continue;
		sent[member]++;
		group_send_row(group, member, row, sums->data[member] + row * SUMS_ROW_BYTES);
		t3_fabric_run(group->host->fabric, host_below(&sums->random, 60));
		left--;
	}
	host_drain(group->host);
}

static void expect_sums(const struct sums *sums)
{
	const struct group *group = &sums->group;
	uint8_t sum[BYTES], want[BYTES];
	uint32_t i;

	memcpy(sum, sums->data[0], BYTES);
	for (i = 1; i < group->members * sums->updates; i++)
		t3_nmc_apply(group->dtype, T3_OP_ADD, sum, sums->data[i % group->members], BYTES);
	t3_nmc_identity(group->dtype, T3_OP_ADD, want, BYTES);
	t3_nmc_apply(group->dtype, T3_OP_ADD, want, sum, BYTES);
	assert_memory_equal(group_result(group), want, BYTES);
}

bool sums_may_order(const struct host *host)
{
	return host->switch_entries >= SUMS_ROWS * host->ranks;
}

/* A DMA segment sends an element once, whatever its updates were. */
struct group sums_reduce(struct host *host, uint32_t owner, uint32_t updates)
{
	struct group group =
		group_reduce(host, owner, SUMS_ROWS, SUMS_ROW_BYTES, T3_DTYPE_I32, T3_OP_ADD);
	uint32_t i;

	group_target(&group, updates);
	for (i = 0; i < host->ranks; i++)
		group_source(&group, i, updates > 1 || i == 1 ? T3_SEG_REMOTE : T3_SEG_DMA,
			     updates);
	return group;
}

struct group sums_ordered(struct host *host, uint32_t owner)
{
	struct group group =
		group_ordered(host, owner, SUMS_ROWS, SUMS_ROW_BYTES, T3_DTYPE_F32, SUMS_ROWS);
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < host->ranks; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	return group;
}

/* Two epochs of a group that is made. */
static void work(struct sums *sums)
{
	const struct group *group = &sums->group;
	struct host_dev *owner = &group->host->dev[group->owner];
	uint32_t epoch, i;

	for (epoch = 1; epoch <= 2; epoch++) {
		fill(sums);
		group_arm(group, epoch);
		send_mixed(sums);
		host_expect(owner, GROUP_TARGET, T3_SPACE_COMPLETE, epoch);
		expect_sums(sums);
		host_release(owner, GROUP_TARGET, epoch);
		for (i = 0; i < group->members; i++) {
			host_expect(&group->host->dev[i], GROUP_SOURCE, T3_SPACE_COMPLETE, epoch);
			host_release(&group->host->dev[i], GROUP_SOURCE, epoch);
		}
		assert_int_equal(group_query(group).entries, 0);
	}
}

struct group sums_multicast(struct host *host, uint32_t root)
{
	return group_multicast(host, root, SUMS_ROWS, SUMS_ROW_BYTES);
}

static void copy(const struct sums *sums)
{
	const struct group *group = &sums->group;
	uint32_t i;

	group_arm_copies(group, 1);
	group_send_copies(group, sums->data[0]);
	host_drain(group->host);
	host_expect(&group->host->dev[0], GROUP_ROOT, T3_SPACE_COMPLETE, 1);
	for (i = 1; i < group->host->ranks; i++) {
		struct host_dev *d = &group->host->dev[i];

		host_expect(d, GROUP_HEARER, T3_SPACE_COMPLETE, 1);
		assert_memory_equal(host_buffer(d, GROUP_HEARER), sums->data[0], BYTES);
	}
}

void world_expect_groups(struct host *host, uint64_t seed)
{
	struct sums sums = { .group.host = host, .random = seed | 1 };
	uint32_t owner = (uint32_t)(seed >> 8) % host->ranks;

	world_reset(host);
	host_drain(host);
	disturb(&sums, CHANCE);
	sums.updates = 1 + (seed >> 16 & 1);
	sums.group = sums_reduce(host, owner, sums.updates);
	work(&sums);
	sums.group = sums_multicast(host, 0);
	copy(&sums);
	world_check(host);
	world_reset(host);
	host_drain(host);
	if (sums_may_order(host)) {
		sums.updates = 1;
		sums.group = sums_ordered(host, owner);
		work(&sums);
		assert_int_equal(group_query(&sums.group).alone, 0);
	}
	disturb(&sums, 0);
	world_check(host);
}
