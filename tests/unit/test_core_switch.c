/* SPDX-License-Identifier: MIT */
/* Reduction and multicast in a switch: sums, weights, fall-backs. SPEC.md sections 17.1 to 17.3. */
#include "group.h"
#include "migrate.h"
#include "device/device.h"
#include "nmc/nmc.h"
#include "test.h"

#define ROWS	  4u
#define ROW_BYTES 2048u /* two packets */
#define BYTES	  (ROWS * ROW_BYTES)

static struct group small(uint32_t ranks, uint32_t entries, uint32_t kind)
{
	struct host *host = host_switch(ranks, entries, NULL, NULL);
	struct group group = group_reduce(host, 1, ROWS, ROW_BYTES, T3_DTYPE_I32, T3_OP_ADD);
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < ranks; i++)
		group_source(&group, i, kind, 1);
	group_arm(&group, 1);
	return group;
}

static void fill(uint8_t *data, uint32_t member)
{
	uint32_t i, value;

	for (i = 0; i < BYTES; i += 4) {
		value = (member + 1) * 1000003u + i;
		memcpy(data + i, &value, 4);
	}
}

static void expect_sum(const struct group *group)
{
	uint32_t i, k, value, sum;

	for (i = 0; i < BYTES; i += 4) {
		for (sum = 0, k = 0; k < group->members; k++)
			sum += (k + 1) * 1000003u + i;
		memcpy(&value, group_result(group) + i, 4);
		assert_int_equal(value, sum);
	}
}

static void expect_complete(const struct group *group)
{
	uint32_t i;

	host_drain(group->host);
	for (i = 0; i < group->members; i++)
		host_expect(&group->host->dev[i], GROUP_SOURCE, T3_SPACE_COMPLETE, 1);
	host_expect(&group->host->dev[group->owner], GROUP_TARGET, T3_SPACE_COMPLETE, 1);
	assert_null(t3_fabric_check(group->host->fabric));
	assert_int_equal(group_query(group).entries, 0);
}

static void send_all(const struct group *group)
{
	uint8_t data[BYTES];
	uint32_t i;

	for (i = 0; i < group->members; i++) {
		fill(data, i);
		group_send(group, i, data);
	}
}

TEST("a sum leaves the switch once for each packet")
{
	struct group group = small(4, 16, T3_SEG_DMA);
	uint64_t received = host_counter(&group.host->dev[1], T3_COUNTER_LINK_RX_BYTES);
	uint32_t i;

	send_all(&group);
	expect_complete(&group);
	expect_sum(&group);
	received = host_counter(&group.host->dev[1], T3_COUNTER_LINK_RX_BYTES) - received;
	assert_int_equal(received, BYTES + 8 * sizeof(struct t3_packet));
	assert_int_equal(group_query(&group).merged, 3 * 8);
	assert_int_equal(group_query(&group).alone, 0);
	assert_int_equal(group_port(group.host, 0).taken, 8);
	assert_int_equal(group_port(group.host, 0).most, 8);
	for (i = 0; i < 4; i++) {
		assert_int_equal(group_port(group.host, i).used, 0);
		assert_int_equal(group_port(group.host, i).partial, 0);
	}
	host_free(group.host);
}

TEST("stores to a segment without memory meet in the switch, too")
{
	struct group group = small(3, 4096, T3_SEG_REMOTE);

	send_all(&group);
	expect_complete(&group);
	expect_sum(&group);
	assert_int_equal(group_query(&group).merged, 2 * BYTES / 8);
	host_free(group.host);
}

TEST("an update without an entry goes alone, and is counted")
{
	struct group group = small(4, 3, T3_SEG_DMA);

	send_all(&group);
	expect_complete(&group);
	expect_sum(&group);
	assert_int_equal(group_port(group.host, 0).taken, 3);
	assert_int_equal(group_port(group.host, 0).full, 5);
	/* Nobody takes an entry for what went alone before: it would wait for rank 0. */
	assert_int_equal(group_port(group.host, 1).taken, 0);
	assert_int_equal(group_query(&group).merged, 3 * 3);
	assert_int_equal(group_query(&group).alone, 4 * 5);
	host_free(group.host);
}

TEST("sources with packets of unlike sizes lose nothing")
{
	struct host *host = host_switch(3, 64, NULL, NULL);
	struct group group = group_reduce(host, 1, ROWS, ROW_BYTES, T3_DTYPE_I32, T3_OP_ADD);

	group_target(&group, 1);
	group_source(&group, 0, T3_SEG_DMA, 1);
	group_source(&group, 1, T3_SEG_REMOTE, 1);
	group_source(&group, 2, T3_SEG_DMA, 1);
	group_arm(&group, 1);
	send_all(&group);
	expect_complete(&group);
	expect_sum(&group);
	assert_true(group_port(host, 0).partial + group_port(host, 1).partial);
	host_free(host);
}

TEST("two updates of each element from each source are all counted")
{
	struct host *host = host_switch(3, 8, NULL, NULL);
	struct group group = group_reduce(host, 0, ROWS, ROW_BYTES, T3_DTYPE_I32, T3_OP_ADD);
	uint32_t i, value;

	group_target(&group, 2);
	for (i = 0; i < 3; i++)
		group_source(&group, i, T3_SEG_REMOTE, 2);
	group_arm(&group, 1);
	send_all(&group);
	send_all(&group);
	expect_complete(&group);
	for (i = 0; i < BYTES; i += 4) {
		memcpy(&value, group_result(&group) + i, 4);
		assert_int_equal(value, 2 * (6 * 1000003u + 3 * i));
	}
	host_free(host);
}

TEST("a source that is ahead of the others adds once to an entry")
{
	struct host *host = host_switch(3, 64, NULL, NULL);
	struct group group = group_reduce(host, 0, 1, 64, T3_DTYPE_I32, T3_OP_ADD);
	uint32_t i, k, value;
	uint8_t data[BYTES];

	group_target(&group, 2);
	for (i = 0; i < 3; i++)
		group_source(&group, i, T3_SEG_REMOTE, 2);
	group_arm(&group, 1);
	for (i = 0; i < 3; i++)
		for (k = 0; k < 2; k++) {
			fill(data, i);
			group_send(&group, i, data);
		}
	host_drain(host);
	host_expect(&host->dev[0], GROUP_TARGET, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < 64; i += 4) {
		memcpy(&value, group_result(&group) + i, 4);
		assert_int_equal(value, 2 * (6 * 1000003u + 3 * i));
	}
	host_free(host);
}

TEST("each type and op gives the bits of a plain reduction")
{
	uint32_t dtype, op, i;
	uint64_t random = 7;

	for (dtype = 0; dtype < T3_DTYPE_COUNT; dtype++)
		for (op = T3_OP_ADD; op < T3_OP_COUNT; op++) {
			struct host *host;
			struct group group;
			uint8_t data[2][64], want[64];

			if (t3_nmc_needs(dtype, op) == T3_NMC_NEVER)
				continue;
			host = host_switch(2, 4, NULL, NULL);
			group = group_reduce(host, 1, 1, 64, dtype, op);
			group_target(&group, 1);
			group_source(&group, 0, T3_SEG_DMA, 1);
			group_source(&group, 1, T3_SEG_DMA, 1);
			group_arm(&group, 1);
			t3_nmc_identity(dtype, op, want, 64);
			for (i = 0; i < 128; i++)
				data[i / 64][i % 64] = (uint8_t)host_random(&random);
			for (i = 0; i < 2; i++) {
				group_send(&group, i, data[i]);
				t3_nmc_apply(dtype, op, want, data[i], 64);
			}
			host_drain(host);
			assert_int_equal(group_query(&group).merged, 1);
			/* Two updates of a float from identity commute. A sum of both is one of them. */
			assert_memory_equal(group_result(&group), want, 64);
			host_free(host);
		}
}

/* ------------------------------------------------------------- saved states */

/* Rank 0 has sent: entries wait, packets are under way. */
static struct group half_done(void)
{
	struct group group = small(3, 8, T3_SEG_DMA);
	uint8_t data[BYTES];

	t3_fabric_set_inline_budget(group.host->fabric, 0);
	fill(data, 0);
	group_send(&group, 0, data);
	t3_fabric_run(group.host->fabric, 20);
	return group;
}

TEST("a damaged state of a switch is refused, or it is a state")
{
	struct group group = half_done(), other = small(3, 8, T3_SEG_DMA);
	uint64_t random = 3;
	struct blobs blobs;
	struct blob *part;
	uint32_t i, refused = 0;

	blobs_save(&blobs, group.host);
	part = &blobs.part[3];
	for (i = 0; i < 400; i++) {
		size_t at = host_below(&random, (uint32_t)part->len);
		uint8_t old = part->data[at];

		part->data[at] ^= (uint8_t)(1u << host_below(&random, 8));
		if (blobs_load(&blobs, other.host, i))
			refused++;
		else
			t3_fabric_run(other.host->fabric, 500);
		part->data[at] = old;
		t3_fabric_clear(other.host->fabric);
	}
	assert_true(refused > 0);
	assert_null(blobs_load(&blobs, other.host, 0));
	blobs_free(&blobs);
	host_free(group.host);
	host_free(other.host);
}

TEST("a switch with other entries refuses a state")
{
	struct group group = half_done();
	struct host *other = host_switch(3, 9, NULL, NULL);
	struct blobs blobs;

	blobs_save(&blobs, group.host);
	assert_string_equal(blobs_load(&blobs, other, 0), "switch-entries differs");
	blobs_free(&blobs);
	host_free(group.host);
	host_free(other);
}
