/* SPDX-License-Identifier: MIT */
/* Groups that are ORDERED: bits, room, refusals, states. SPEC.md section 17.2. */
#include "group.h"
#include "migrate.h"
#include "seeds.h"
#include "device/device.h"
#include "nmc/nmc.h"
#include "switch/switch.h"
#include "trail.h"
#include "test.h"

#define ROW_BYTES 1024u /* a packet */
#define MOST_ROWS 6u
#define MOST	  5u /* members */

struct draw {
	uint64_t random;
	struct group group;
	uint8_t data[MOST][MOST_ROWS * ROW_BYTES];
};

static struct group make(uint32_t ranks, uint32_t rows, uint32_t dtype, uint32_t entries,
			 uint32_t places)
{
	struct host *host = host_switch(ranks, entries, NULL, NULL);
	struct group group = group_ordered(host, ranks - 1, rows, ROW_BYTES, dtype, places);
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < ranks; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	return group;
}

/* Floats of nearly one size, or else most sums would be one of the values. */
static void fill(struct draw *x)
{
	uint32_t size = t3_dtype_size(x->group.dtype), i, k;

	for (i = 0; i < MOST; i++)
		for (k = 0; k < sizeof(x->data[i]); k++)
			x->data[i][k] = (uint8_t)host_random(&x->random);
	for (i = 0; i < MOST; i++)
		for (k = size - 1; k < sizeof(x->data[i]); k += size) {
			x->data[i][k] = 0x3f | (x->data[i][k] & 0x80);
			if (size == 8)
				x->data[i][k - 1] |= 0xf0;
		}
}

static void disturb(struct draw *x, bool migrates)
{
	t3_fabric_run(x->group.host->fabric, host_below(&x->random, 150));
	assert_null(t3_fabric_check(x->group.host->fabric));
	if (migrates && !host_below(&x->random, 5))
		host_migrate(x->group.host, 0);
}

/* Each member's rows in an order of its own, all members mixed. */
static void send_mixed(struct draw *x, bool migrates)
{
	const struct group *group = &x->group;
	uint32_t sent[MOST] = { 0 }, turn[MOST], left = group->members * group->rows, i;

	for (i = 0; i < group->members; i++)
		turn[i] = host_below(&x->random, group->rows);
	while (left) {
		uint32_t member = host_below(&x->random, group->members), row;

		if (sent[member] == group->rows)
			continue;
		row = (turn[member] + sent[member]++) % group->rows;
		group_send_row(group, member, row, x->data[member] + row * ROW_BYTES);
		left--;
		if (!host_below(&x->random, 3))
			disturb(x, migrates);
	}
	host_drain(group->host);
}

/* As a loop over members adds them up, and the target then once. */
static void expect_bits(const struct draw *x)
{
	const struct group *group = &x->group;
	uint32_t bytes = group->rows * ROW_BYTES, i;
	uint8_t want[MOST_ROWS * ROW_BYTES], sum[MOST_ROWS * ROW_BYTES];

	memcpy(sum, x->data[0], bytes);
	for (i = 1; i < group->members; i++)
		t3_nmc_apply(group->dtype, T3_OP_ADD, sum, x->data[i], bytes);
	t3_nmc_identity(group->dtype, T3_OP_ADD, want, bytes);
	t3_nmc_apply(group->dtype, T3_OP_ADD, want, sum, bytes);
	assert_memory_equal(group_result(group), want, bytes);
}

static void inject_all(struct draw *x)
{
	struct t3_cmd_inject inject = { .kind = T3_INJECT_LINK_RANDOM, .nth = 600 };
	uint32_t i;

	for (i = 0; i < x->group.members; i++) {
		inject.value = host_random(&x->random);
		inject.rank = i;
		inject.peer = T3_SWITCH_RANK;
		assert_int_equal(t3_fabric_inject(x->group.host->fabric, &inject), T3_ADMIN_OK);
		inject.rank = T3_SWITCH_RANK;
		inject.peer = i;
		assert_int_equal(t3_fabric_inject(x->group.host->fabric, &inject), T3_ADMIN_OK);
	}
}

static void run(struct draw *x, bool migrates)
{
	struct group *group = &x->group;
	uint32_t epoch, i;

	for (epoch = 1; epoch <= 2; epoch++) {
		fill(x);
		group_arm(group, epoch);
		send_mixed(x, migrates);
		for (i = 0; i < group->members; i++) {
			host_expect(&group->host->dev[i], GROUP_SOURCE, T3_SPACE_COMPLETE, epoch);
			host_release(&group->host->dev[i], GROUP_SOURCE, epoch);
		}
		host_expect(&group->host->dev[group->owner], GROUP_TARGET, T3_SPACE_COMPLETE,
			    epoch);
		expect_bits(x);
		host_release(&group->host->dev[group->owner], GROUP_TARGET, epoch);
		assert_int_equal(group_query(group).entries, 0);
		assert_int_equal(group_query(group).alone, 0);
		assert_int_equal(group_port(group->host, 0).busy, 0);
	}
	assert_null(t3_fabric_check(group->host->fabric));
	host_free(group->host);
}

TEST_WITH("an ordered sum has the bits of a loop over members in any order of arrival", NULL,
	  seeds_report)
{
	static const uint32_t dtypes[] = { T3_DTYPE_F32, T3_DTYPE_F16, T3_DTYPE_BF16,
					   T3_DTYPE_F64 };
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, 120)
	{
		static struct draw x;
		uint32_t ranks, rows;

		x.random = seed * 0x9e3779b97f4a7c15ull + 1;
		ranks = 1 + host_below(&x.random, MOST);
		rows = 1 + host_below(&x.random, MOST_ROWS);
		/* Not one entry more than the group reserves. */
		x.group = make(ranks, rows, dtypes[host_below(&x.random, 4)], ranks * rows, rows);
		t3_fabric_set_inline_budget(x.group.host->fabric,
					    host_below(&x.random, 3) ? 0 : 64);
		if (host_below(&x.random, 2))
			inject_all(&x);
		run(&x, !host_below(&x.random, 3));
	}
	trail_expect(0xa9efc39bfa2dda39);
}

/* Or the test above would show nothing. */
TEST("without the flag some order of arrival gives other bits")
{
	uint8_t sums[2][ROW_BYTES];
	static struct draw x;
	uint32_t way, i;

	for (way = 0; way < 2; way++) {
		struct host *host = host_switch(3, 16, NULL, NULL);

		x.group = group_reduce(host, 2, 1, ROW_BYTES, T3_DTYPE_F32, T3_OP_ADD);
		group_target(&x.group, 1);
		for (i = 0; i < 3; i++)
			group_source(&x.group, i, T3_SEG_DMA, 1);
		x.random = 5;
		fill(&x);
		group_arm(&x.group, 1);
		for (i = 0; i < 3; i++) {
			uint32_t member = way ? 2 - i : i;

			group_send_row(&x.group, member, 0, x.data[member]);
			host_drain(host);
		}
		memcpy(sums[way], group_result(&x.group), ROW_BYTES);
		host_free(host);
	}
	assert_memory_not_equal(sums[0], sums[1], ROW_BYTES);
}

TEST("an ordered sum leaves without the members that are done")
{
	struct group group = make(3, 2, T3_DTYPE_F32, 6, 2);
	static struct draw x = { .random = 9 };
	struct t3_cmd_group_query query;

	x.group = group;
	fill(&x);
	group_arm(&group, 1);
	group_send_row(&group, 2, 0, x.data[2]);
	group_send_row(&group, 2, 1, x.data[2]);
	group_send_row(&group, 0, 1, x.data[0]);
	host_drain(group.host);
	query = group_query(&group);
	assert_int_equal(query.entries, 3);
	assert_int_equal(query.done, 4);
	assert_int_equal(query.merged, 1);
	t3_group_done(group.host->fabric->sw, &group.host->fabric->sw->group[group.id],
		      &group.host->fabric->sw->group[group.id].member[1], 1);
	assert_int_equal(group_query(&group).entries, 1); /* row 0 waits for member 0 */
	host_drain(group.host);
	t3_nmc_apply(T3_DTYPE_F32, T3_OP_ADD, x.data[0], x.data[2], ROW_BYTES);
	assert_memory_equal(group_result(&group) + ROW_BYTES, x.data[0], ROW_BYTES);
	assert_null(t3_fabric_check(group.host->fabric));
	host_free(group.host);
}

/* ------------------------------------------------------------------------ room */

static uint32_t create(struct host *host, uint32_t rank, uint32_t members, uint32_t places,
		       struct t3_cmd_group_create *cmd)
{
	*cmd = (struct t3_cmd_group_create){ .space = 11,
					     .kind = T3_GROUP_REDUCE,
					     .members = members,
					     .flags = T3_GROUP_ORDERED,
					     .places = places };

	return host_command(&host->dev[rank], T3_CMD_GROUP_CREATE, cmd, sizeof(*cmd));
}

TEST("an ordered group has its entries or is not made")
{
	struct host *host = host_switch(2, 12, NULL, NULL);
	struct t3_cmd_group_create cmd, next;
	struct t3_cmd_group destroy;

	host_space(&host->dev[0], 11);
	host_space(&host->dev[1], 11);
	assert_int_equal(create(host, 0, 4, 4, &cmd), T3_ADMIN_NO_RESOURCE);
	assert_int_equal(create(host, 0, 32, 0xffffffff, &cmd), T3_ADMIN_NO_RESOURCE);
	assert_int_equal(create(host, 0, 4, 0x40000000, &cmd), T3_ADMIN_NO_RESOURCE);
	assert_int_equal(create(host, 0, 4, 2, &cmd), T3_ADMIN_OK);
	assert_int_equal(create(host, 0, 5, 1, &next), T3_ADMIN_NO_RESOURCE);
	assert_int_equal(create(host, 0, 2, 2, &next), T3_ADMIN_OK);
	assert_int_equal(create(host, 0, 1, 1, &next), T3_ADMIN_NO_RESOURCE);
	/* Those of another port are no less. */
	assert_int_equal(create(host, 1, 4, 3, &next), T3_ADMIN_OK);
	destroy = (struct t3_cmd_group){ 11, cmd.group, cmd.generation, 0 };
	assert_int_equal(host_command(&host->dev[0], T3_CMD_GROUP_DESTROY, &destroy,
				      sizeof(destroy)),
			 T3_ADMIN_OK);
	host_drain(host);
	assert_int_equal(create(host, 0, 8, 1, &next), T3_ADMIN_OK);
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}

TEST("entries that an ordered group has reserved are no other group's")
{
	struct host *host = host_switch(2, 6, NULL, NULL);
	struct group group = group_reduce(host, 1, 4, ROW_BYTES, T3_DTYPE_U32, T3_OP_ADD);
	struct t3_cmd_group_create cmd;
	static struct draw x;
	uint32_t i;

	host_space(&host->dev[0], 11);
	assert_int_equal(create(host, 0, 2, 2, &cmd), T3_ADMIN_OK);
	group_target(&group, 1);
	for (i = 0; i < 2; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	group_arm(&group, 1);
	group_send(&group, 0, x.data[0]);
	host_drain(host);
	assert_int_equal(group_port(host, 0).used, 2);
	assert_int_equal(group_port(host, 0).full, 2);
	assert_int_equal(create(host, 0, 1, 1, &cmd), T3_ADMIN_NO_RESOURCE);
	group_send(&group, 1, x.data[1]);
	host_drain(host);
	host_expect(&host->dev[1], GROUP_TARGET, T3_SPACE_COMPLETE, 1);
	assert_int_equal(create(host, 0, 2, 1, &cmd), T3_ADMIN_OK);
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}

TEST("the end of an ordered group frees the entries that wait")
{
	struct t3_cmd_inject inject = { .kind = T3_INJECT_PORT_RESET, .rank = 0 };
	struct group group = make(3, 2, T3_DTYPE_F32, 6, 2);
	static struct draw x;

	group_arm(&group, 1);
	group_send_row(&group, 1, 0, x.data[1]);
	group_send_row(&group, 2, 0, x.data[2]);
	host_drain(group.host);
	assert_int_equal(group_port(group.host, group.owner).used, 2);
	assert_int_equal(t3_fabric_inject(group.host->fabric, &inject), T3_ADMIN_OK);
	host_drain(group.host);
	assert_int_equal(group_query(&group).state, T3_GROUP_STATE_ENDED);
	assert_int_equal(group_query(&group).entries, 0);
	assert_int_equal(group_port(group.host, group.owner).used, 0);
	assert_null(t3_fabric_check(group.host->fabric));
	host_free(group.host);
}

TEST("wrong flags and places of a group are refused")
{
	static const struct {
		uint32_t kind, flags, places;
	} wrong[] = {
		{ T3_GROUP_REDUCE, 2, 1 },
		{ T3_GROUP_REDUCE, 0x80000001, 1 },
		{ T3_GROUP_REDUCE, T3_GROUP_ORDERED, 0 },
		{ T3_GROUP_REDUCE, 0, 1 },
		{ T3_GROUP_MULTICAST, T3_GROUP_ORDERED, 1 },
	};
	struct host *host = host_switch(2, 12, NULL, NULL);
	uint32_t i;

	host_space(&host->dev[0], 11);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct t3_cmd_group_create cmd = { .space = 11,
						   .kind = wrong[i].kind,
						   .members = 2,
						   .flags = wrong[i].flags,
						   .places = wrong[i].places };

		assert_int_equal(host_command(&host->dev[0], T3_CMD_GROUP_CREATE, &cmd,
					      sizeof(cmd)),
				 T3_ADMIN_BAD_VALUE);
	}
	assert_int_equal(group_port(host, 0).groups, 0);
	host_free(host);
}

/* -------------------------------------------------------------------- refusals */

static uint32_t receive(const struct group *group, uint32_t member, uint32_t row, uint32_t length,
			uint32_t dtype)
{
	static const uint8_t payload[T3_PACKET_PAYLOAD];
	struct t3_packet packet = {
		.type = T3_PKT_UPDATE,
		.op = T3_OP_ADD,
		.dtype = (uint8_t)dtype,
		.src_rank = (uint16_t)member,
		.dst_rank = T3_SWITCH_RANK,
		.src_space = GROUP_SOURCE,
		.src_generation = host_query(&group->host->dev[member], GROUP_SOURCE).generation,
		.dst_space = group->id,
		.dst_generation = group->generation,
		.import = (uint16_t)member,
		.epoch = 1,
		.segment = GROUP_SEGMENT,
		.row = row,
		.length = length,
	};

	return t3_switch_receive(group->host->fabric->link[member][T3_SWITCH_RANK], &packet,
				 payload);
}

TEST("an ordered group refuses what its order cannot have")
{
	struct group group = make(2, 4, T3_DTYPE_F32, 4, 2);

	group_arm(&group, 1);
	t3_fabric_set_inline_budget(group.host->fabric, 0);
	assert_int_equal(receive(&group, 0, 0, 64, T3_DTYPE_F32), T3_NAK_NONE);
	assert_int_equal(receive(&group, 0, 0, 64, T3_DTYPE_F32), T3_NAK_OVERSHOOT);
	assert_int_equal(receive(&group, 1, 0, 32, T3_DTYPE_F32), T3_NAK_SEGMENT);
	assert_int_equal(receive(&group, 1, 0, 64, T3_DTYPE_I32), T3_NAK_SEGMENT);
	assert_int_equal(receive(&group, 0, 1, 64, T3_DTYPE_F32), T3_NAK_NONE);
	assert_int_equal(receive(&group, 0, 2, 64, T3_DTYPE_F32), T3_NAK_NONE);
	assert_int_equal(receive(&group, 0, 3, 64, T3_DTYPE_F32), T3_NAK_NONE);
	assert_int_equal(receive(&group, 1, 0, 64, T3_DTYPE_F32), T3_NAK_OVERSHOOT);
	assert_int_equal(group_query(&group).entries, 4);
	assert_null(t3_fabric_check(group.host->fabric));
	host_free(group.host);
}

/* --------------------------------------------------------------------- states */

TEST("a damaged state of an ordered group is refused, or it is a state")
{
	struct group group = make(3, 4, T3_DTYPE_F32, 14, 4),
		     other = make(3, 4, T3_DTYPE_F32, 14, 4);
	static struct draw x = { .random = 4 };
	uint32_t i, refused = 0;
	struct blobs blobs;
	struct blob *part;

	x.group = group;
	fill(&x);
	group_arm(&group, 1);
	group_send(&group, 1, x.data[1]);
	group_send(&group, 2, x.data[2]);
	host_drain(group.host);
	assert_int_equal(group_query(&group).entries, 8);
	blobs_save(&blobs, group.host);
	part = &blobs.part[3];
	for (i = 0; i < 500; i++) {
		size_t at = host_below(&x.random, (uint32_t)part->len);
		uint8_t old = part->data[at];

		part->data[at] ^= (uint8_t)(1u << host_below(&x.random, 8));
		if (blobs_load(&blobs, other.host, i)) {
			refused++;
		} else {
			assert_null(t3_fabric_check(other.host->fabric));
			t3_fabric_run(other.host->fabric, 500);
		}
		part->data[at] = old;
		t3_fabric_clear(other.host->fabric);
	}
	assert_true(refused > 0);
	assert_null(blobs_load(&blobs, other.host, 0));
	assert_int_equal(group_query(&group).places, 4);
	assert_int_equal(group_query(&group).flags, T3_GROUP_ORDERED);
	blobs_free(&blobs);
	host_free(group.host);
	host_free(other.host);
}
