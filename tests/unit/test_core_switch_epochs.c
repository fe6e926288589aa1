/* SPDX-License-Identifier: MIT */
/* Epochs of groups whose numbers are far apart, and ends near 2^31 and 2^32. SPEC.md 6.2, 6.3, 17.4. */
#include "group.h"
#include "switch/switch.h"
#include "test.h"

#define BYTES 64u

/* Three sources on three ranks; the target, on rank 1, is armed in that epoch. Sources are not. */
static struct group begun(uint32_t epoch)
{
	struct host *host = host_switch(3, 16, NULL, NULL);
	struct group group = group_reduce(host, 1, 1, BYTES, T3_DTYPE_I32, T3_OP_ADD);
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < 3; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	host_arm(&host->dev[1], GROUP_TARGET, epoch);
	host_drain(host);
	return group;
}

static void arm_source(const struct group *group, uint32_t member, uint32_t epoch, uint32_t state)
{
	host_arm(&group->host->dev[member], GROUP_SOURCE, epoch);
	host_drain(group->host);
	host_expect(&group->host->dev[member], GROUP_SOURCE, state, epoch);
}

static void send(const struct group *group, uint32_t member)
{
	static const uint8_t data[BYTES] = { 1 };

	group_send(group, member, data);
	host_drain(group->host);
}

static uint32_t update(const struct group *group, uint32_t epoch)
{
	static const uint8_t payload[T3_PACKET_PAYLOAD];
	struct t3_packet packet = {
		.type = T3_PKT_UPDATE,
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.dst_rank = T3_SWITCH_RANK,
		.src_space = GROUP_SOURCE,
		.src_generation = host_query(&group->host->dev[0], GROUP_SOURCE).generation,
		.dst_space = group->id,
		.dst_generation = group->generation,
		.epoch = epoch,
		.segment = GROUP_SEGMENT,
		.length = 4,
	};

	return t3_switch_receive(group->host->fabric->link[0][T3_SWITCH_RANK], &packet, payload);
}

static void end(const struct group *group, uint32_t epoch)
{
	struct t3_switch *sw = group->host->fabric->sw;
	struct t3_group *at = &sw->group[group->id];

	t3_group_poisoned(sw, at, &at->member[2], epoch);
}

TEST("a group that has ended takes none of the next 2^31 epochs")
{
	struct group group = begun(1);

	end(&group, 2);
	assert_int_equal(update(&group, 1), T3_NAK_NONE);
	assert_int_equal(update(&group, 2), T3_NAK_FAULTED);
	assert_int_equal(update(&group, 2 + 0x7fffffffu), T3_NAK_FAULTED);
	assert_int_equal(update(&group, 2 + 0x80000000), T3_NAK_FAULTED);
	assert_int_equal(update(&group, 2 + 0x80000001), T3_NAK_EPOCH);
	host_free(group.host);
}

TEST("an end that the first one covers changes nothing")
{
	struct group group = begun(1);

	end(&group, 2);
	end(&group, 2 + 0x80000000);
	assert_int_equal(group_query(&group).end_epoch, 2);
	end(&group, 2 + 0x80000001); /* 2^31 - 1 before it */
	assert_int_equal(group_query(&group).end_epoch, 2 + 0x80000001);
	host_free(group.host);
}

TEST("a source that asks for an epoch far ahead is done with the old one")
{
	static const uint32_t ahead[] = { 2, 0x80000000, 0x80000001, 0xc0000000, 0xffffffff };
	uint32_t i;

	for (i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		struct group group = begun(1);

		arm_source(&group, 1, 1, T3_SPACE_ARMED);
		arm_source(&group, 2, 1, T3_SPACE_ARMED);
		send(&group, 1);
		send(&group, 2);
		assert_int_equal(group_query(&group).entries, 1);
		arm_source(&group, 0, ahead[i], T3_SPACE_ARMING);
		assert_int_equal(group_query(&group).entries, 0);
		assert_int_equal(group_query(&group).done, 7);
		host_free(group.host);
	}
}

TEST("a source that asks for an early epoch is not done with a late one")
{
	struct group group = begun(0xc0000000);
	struct t3_group *at = &group.host->fabric->sw->group[group.id];

	arm_source(&group, 1, 0xc0000000, T3_SPACE_ARMED);
	send(&group, 1);
	/* The target has passed epoch 5, so the source would be ARMED, and its updates refused. */
	t3_group_asked(group.host->fabric->sw, at, &at->member[0], 5);
	assert_int_equal(group_query(&group).done & 1, 0);
	assert_int_equal(group_query(&group).entries, 1);
	host_free(group.host);
}

/* The message may come when the target, which has all of that epoch, has begun the next one. */
TEST("a source that is done with an epoch is not done with the next one")
{
	struct group group = begun(1);
	struct t3_packet packet = {
		.type = T3_PKT_DONE,
		.src_rank = 2,
		.dst_rank = T3_SWITCH_RANK,
		.src_space = GROUP_SOURCE,
		.src_generation = host_query(&group.host->dev[2], GROUP_SOURCE).generation,
		.dst_space = group.id,
		.dst_generation = group.generation,
		.import = 2,
	};
	uint32_t i;

	for (i = 0; i < 3; i++)
		arm_source(&group, i, 1, T3_SPACE_ARMED);
	for (i = 0; i < 3; i++)
		send(&group, i);
	host_release(&group.host->dev[1], GROUP_TARGET, 1);
	host_arm(&group.host->dev[1], GROUP_TARGET, 2);
	host_drain(group.host);
	for (packet.epoch = 1; packet.epoch <= 2; packet.epoch++) {
		assert_int_equal(t3_switch_receive(group.host->fabric->link[2][T3_SWITCH_RANK],
						   &packet, NULL),
				 T3_NAK_NONE);
		assert_int_equal(group_query(&group).done, packet.epoch == 2 ? 1u << 2 : 0);
	}
	host_free(group.host);
}

TEST("a group ends after the last epoch")
{
	struct group group = begun(0xffffffff);
	uint32_t i;

	for (i = 0; i < 3; i++)
		arm_source(&group, i, 0xffffffff, T3_SPACE_ARMED);
	send(&group, 0);
	send(&group, 1);
	host_expect(&group.host->dev[0], GROUP_SOURCE, T3_SPACE_COMPLETE, 0xffffffff);
	assert_int_equal(host_space_command(&group.host->dev[0], T3_CMD_SPACE_DISABLE,
					    GROUP_SOURCE),
			 T3_ADMIN_OK);
	host_drain(group.host);
	assert_int_equal(group_query(&group).state, T3_GROUP_STATE_ENDED);
	assert_int_equal(group_query(&group).end_epoch, 1);
	assert_int_equal(group_query(&group).entries, 1);
	send(&group, 2);
	host_expect(&group.host->dev[1], GROUP_TARGET, T3_SPACE_COMPLETE, 0xffffffff);
	host_free(group.host);
}

/* Done only when neither of the two segments that it sends on the route has anything left. */
TEST("a source with several segments is done when the last one is delivered")
{
	struct host *host = host_switch(2, HOST_ENTRIES, NULL, NULL);
	struct group group = group_reduce(host, 0, 2, 64, T3_DTYPE_I32, T3_OP_ADD);
	struct t3_cmd_seg_map more =
		host_segment(GROUP_SOURCE, 1, T3_SEG_DMA, T3_OP_STORE, T3_DTYPE_I32);
	static const uint8_t zeros[2 * 64];
	uint32_t i;

	group_target(&group, 1);
	for (i = 0; i < 2; i++)
		group_source(&group, i, T3_SEG_DMA, 1);
	more.routes = 1u << GROUP_ROUTE;
	more.target_segment = GROUP_SEGMENT + 1;
	more.target_op = T3_OP_ADD;
	host_map(&host->dev[1], &more);
	group_arm(&group, 1);
	host_fill(&host->dev[1], GROUP_SOURCE, 1, 1);
	host_drain(host);
	host_expect_word(&host->dev[1], GROUP_SOURCE, 1,
			 T3_SEG_WORD_TRACKED | T3_SEG_WORD_DELIVERED | 1);
	assert_int_equal(group_query(&group).done, 0);
	group_send(&group, 1, zeros);
	host_drain(host);
	assert_int_equal(group_query(&group).done, 1u << 1);
	host_free(host);
}
