/* SPDX-License-Identifier: MIT */
/* MULTICAST groups: room on several links, arming, ends. SPEC.md sections 17.3 and 17.4. */
#include "group.h"
#include "device/device.h"
#include "link/link.h"
#include "switch/switch.h"
#include "test.h"

#define ROWS	  120u /* packets: more than a link has slots */
#define ROW_BYTES 64u
#define BYTES	  (ROWS * ROW_BYTES)
#define RANKS	  4u
#define SLOW	  2u /* the target whose link is down for a while */

static uint8_t data[BYTES];

static struct group copies(void)
{
	uint32_t i;

	for (i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i * 7 + i / 256);
	return group_multicast(host_switch(RANKS, 4, NULL, NULL), 0, ROWS, ROW_BYTES);
}

static struct t3_switch *switch_of(const struct group *group)
{
	return group->host->fabric->sw;
}

/* The source is answered BUSY: one of the links has no room. */
static struct group busy(void)
{
	struct group group = copies();
	struct host *host = group.host;
	uint32_t rounds = 0;

	group_arm_copies(&group, 1);
	assert_true(host_inject(host->fabric, T3_SWITCH_RANK, SLOW, T3_INJECT_LINK_DOWN, 1));
	t3_fabric_set_inline_budget(host->fabric, 0);
	group_send_copies(&group, data);
	while (!switch_of(&group)->port[0].ticket) {
		t3_fabric_run(host->fabric, 1);
		assert_true(++rounds < 10000);
	}
	return group;
}

/* Slots of the link to a rank that another port may take. */
static uint32_t room(const struct group *group, uint32_t rank)
{
	uint32_t slots = 0;

	while (t3_port_has_room(switch_of(group), rank, SLOW, slots + 1))
		slots++;
	return slots;
}

TEST("a port that waits for room for copies keeps a slot on each of their links")
{
	struct group group = busy();
	uint32_t i;

	for (i = 1; i < RANKS; i++) {
		uint32_t slots = t3_link_free_slots(switch_of(&group)->port[i].down);

		assert_int_equal(slots > 0, i != SLOW);
		assert_int_equal(room(&group, i), slots ? slots - 1 : 0);
	}
	host_free(group.host);
}

/* The group is gone, so nothing else that the source sends is taken either. */
TEST("a port whose copy is refused waits no longer")
{
	struct group group = busy();
	struct t3_cmd_group destroy = { GROUP_ROOT, group.id, group.generation, 0 };
	struct host *host = group.host;
	uint32_t i;

	assert_int_equal(host_command(&host->dev[0], T3_CMD_GROUP_DESTROY, &destroy,
				      sizeof(destroy)),
			 T3_ADMIN_OK);
	assert_true(host_inject(host->fabric, T3_SWITCH_RANK, SLOW, T3_INJECT_LINK_DOWN, 0));
	host_drain(host);
	for (i = 1; i < RANKS; i++)
		assert_int_equal(room(&group, i), T3_LINK_SLOTS);
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}

/* After the reset the port has no packet under way that would end the wait. */
TEST("a port whose device is reset waits no longer")
{
	struct group group = busy();
	struct host *host = group.host;

	t3_dev_reset(host->dev[0].dev);
	assert_true(host_inject(host->fabric, T3_SWITCH_RANK, SLOW, T3_INJECT_LINK_DOWN, 0));
	host_drain(host);
	assert_int_equal(switch_of(&group)->port[0].ticket, 0);
	assert_null(t3_fabric_check(host->fabric));
	host_free(host);
}

TEST("the source of copies is armed when the last target is")
{
	struct group group = copies();
	struct host_dev *root = &group.host->dev[0];
	uint32_t epoch, i;

	for (epoch = 1; epoch <= 2; epoch++) {
		host_arm(root, GROUP_ROOT, epoch);
		for (i = 1; i < RANKS; i++) {
			host_drain(group.host);
			host_expect(root, GROUP_ROOT, T3_SPACE_ARMING, epoch);
			host_arm(&group.host->dev[i], GROUP_HEARER, epoch);
		}
		host_drain(group.host);
		host_expect(root, GROUP_ROOT, T3_SPACE_ARMED, epoch);
		group_send_copies(&group, data);
		host_drain(group.host);
		host_release(root, GROUP_ROOT, epoch);
		for (i = 1; i < RANKS; i++) {
			host_expect(&group.host->dev[i], GROUP_HEARER, T3_SPACE_COMPLETE, epoch);
			host_release(&group.host->dev[i], GROUP_HEARER, epoch);
		}
	}
	host_free(group.host);
}

TEST("the reset of a target's port ends the copies for all members")
{
	struct t3_cmd_inject inject = { .kind = T3_INJECT_PORT_RESET, .rank = SLOW };
	struct group group = busy();
	struct t3_group_info info;
	uint32_t i;

	assert_int_equal(t3_fabric_inject(group.host->fabric, &inject), T3_ADMIN_OK);
	assert_true(host_inject(group.host->fabric, T3_SWITCH_RANK, SLOW, T3_INJECT_LINK_DOWN, 0));
	host_drain(group.host);
	host_expect_peer_fault(&group.host->dev[0], GROUP_ROOT, T3_FAULT_PEER_DEAD, T3_SWITCH_RANK);
	for (i = 1; i < RANKS; i++)
		host_expect_peer_fault(&group.host->dev[i], GROUP_HEARER, T3_FAULT_PEER_POISON,
				       T3_SWITCH_RANK);
	assert_true(t3_fabric_group_info(group.host->fabric, group.id, &info));
	assert_int_equal(info.query.state, T3_GROUP_STATE_ENDED);
	assert_int_equal(info.query.cause, T3_FAULT_PEER_DEAD);
	assert_int_equal(info.query.cause_rank, SLOW);
	assert_null(t3_fabric_check(group.host->fabric));
	host_free(group.host);
}
