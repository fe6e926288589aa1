// SPDX-License-Identifier: MIT
/* SPEC.md 6.2 STATE and POISON, 6.3 arming. */
#include "conf.h"
#include "pair.h"
#include "run.h"

CONF_SECTION("6.3", "arming, poison and death");

TEST("a source waits until its target is armed", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_arm(&pair.source, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMING, 1);
	conf_arm_wait(c, &pair.target, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 1);
}

TEST("a target in an earlier epoch is waited for", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_arm_wait(c, &pair.target, 1);
	conf_arm(&pair.source, 2);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMING, 2);
	conf_interrupts_now(c, pair.source.dev, 0);
	CHECK_EQUAL(c, "source", conf_state(&pair.source), STATE(T3_SPACE_ARMING, 2));
}

/* A target that is ahead refuses the updates, so that its source does not wait forever. */
TEST("a target in a later epoch refuses the updates", .devices = 2)
{
	struct t3_fault_record record;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_arm_wait(c, &pair.target, 3);
	conf_arm_wait(c, &pair.source, 2);
	conf_store(&pair.source, 0, 8, 1);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_REJECTED);
	CHECK_EQUAL(c, "detail", record.detail, T3_NAK_EPOCH);
}

TEST("a target that has completed is no obstacle", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	conf_map(c, &pair.source, &pair.from);
	conf_arm(&pair.target, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_arm_wait(c, &pair.source, 1);
}

TEST("a source waits for all its routes", .devices = 2)
{
	struct conf_space second;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_space_create(c, conf_device(c, 1), &second, T3_PAGE_SIZE, 1);
	conf_connect(c, &pair.source, 31, &second, 31);
	conf_arm(&pair.source, 1);
	conf_arm_wait(c, &pair.target, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMING, 1);
	conf_arm(&second, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 1);
}

/* Each sends to the other: both are ARMED as soon as both are ARMING. */
TEST("spaces that send to each other both arm", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	conf_connect(c, &pair.target, 0, &pair.source, 0);
	pair_map(c, &pair);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		conf_arm(&pair.source, epoch);
		conf_wait_state(c, &pair.source, T3_SPACE_ARMING, epoch);
		conf_arm_wait(c, &pair.target, epoch);
		conf_wait_state(c, &pair.source, T3_SPACE_ARMED, epoch);
		pair_store(&pair.source, epoch);
		conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, epoch);
		conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, epoch);
		conf_release(&pair.source, epoch);
		conf_release(&pair.target, epoch);
	}
}

/* A fast source waits with its next epoch until the target has been released. */
TEST("a fast source waits with its next epoch", .devices = 2)
{
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	pair_store(&pair.source, 10);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	conf_release(&pair.source, 1);
	conf_arm(&pair.source, 2);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMING, 2);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	pair_check(c, &pair.target, 10, "of epoch 1");
	conf_release(&pair.target, 1);
	CHECK_EQUAL(c, "source", conf_state(&pair.source), STATE(T3_SPACE_ARMING, 2));
	conf_arm(&pair.target, 2);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 2);
	pair_store(&pair.source, 20);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 2);
	pair_check(c, &pair.target, 20, "of epoch 2");
}

/* The target is ARMING because a target of its own is not armed. It takes updates. */
TEST("a target that arms takes updates", .devices = 2)
{
	struct conf_space last;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_space_create(c, conf_device(c, 0), &last, T3_PAGE_SIZE, 1);
	conf_connect(c, &pair.target, 0, &last, 0);
	conf_arm(&pair.target, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_ARMING, 1);
	conf_arm_wait(c, &pair.source, 1);
	pair_store(&pair.source, 30);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	pair_check(c, &pair.target, 30, "while ARMING");
	CHECK_EQUAL(c, "target", conf_state(&pair.target), STATE(T3_SPACE_ARMING, 1));
	conf_arm(&last, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
}

/* ------------------------------------------------------- faults of the other */

/* A doorbell that is wrong in every state. */
static void fault(struct conf *c, struct conf_space *s)
{
	conf_write(conf_doorbell(s), T3_DB_STATE, 8, 0);
	conf_wait_fault(c, s, T3_FAULT_BAD_DOORBELL);
}

static void disable(struct conf *c, struct conf_space *s)
{
	conf_space_command(c, s, T3_CMD_SPACE_DISABLE);
}

static void reset(struct conf *c, struct conf_space *s)
{
	conf_space_command(c, s, T3_CMD_SPACE_RESET);
}

static const struct {
	const char *name;
	void (*act)(struct conf *c, struct conf_space *s);
} ends[] = { { "fault", fault }, { "DISABLE", disable }, { "RESET", reset } };

static const char *end_label(unsigned row)
{
	return ends[row].name;
}

TEST("a source that ends faults its target", .rows = ARRAY_SIZE(ends), .label = end_label,
     .devices = 2)
{
	struct t3_fault_record record;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	ends[row].act(c, &pair.source);
	record = conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.source.dev->rank);
}

TEST("a target that ends faults its source", .rows = ARRAY_SIZE(ends), .label = end_label,
     .devices = 2)
{
	struct t3_fault_record record;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	ends[row].act(c, &pair.target);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_PEER_DEAD);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.target.dev->rank);
}

/* A space that is IDLE learns of it at its next ARM. */
TEST("an idle target learns at its next ARM that its source ended", .rows = ARRAY_SIZE(ends),
     .label = end_label, .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	ends[row].act(c, &pair.source);
	conf_wait_state(c, &pair.target, T3_SPACE_IDLE, 0);
	conf_arm(&pair.target, 1);
	conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
}

/* A space that has finished an epoch may leave. The other still finishes the same epoch. */
TEST("a space that has finished may leave", .rows = 2, .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair.to.updates = 2;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	pair_store(&pair.source, 10);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	if (row)
		conf_release(&pair.source, 1);
	disable(c, &pair.source);
	CHECK_EQUAL(c, "target", conf_state(&pair.target), STATE(T3_SPACE_ARMED, 1));
	pair_store(&pair.target, 10);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_release(&pair.target, 1);
	conf_arm(&pair.target, 2);
	conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
}

/* The source's route is dead, and the target itself goes on. */
TEST("a cleared import ends the source's route", .devices = 2)
{
	struct t3_fault_record record;
	struct t3_cmd_index clear;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	clear = (struct t3_cmd_index){ .space = pair.target.args.space };
	ADMIN(c, pair.target.dev, T3_CMD_IMPORT_CLEAR, &clear);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_PEER_DEAD);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.target.dev->rank);
	CHECK_EQUAL(c, "target", conf_state(&pair.target), STATE(T3_SPACE_ARMED, 1));
}
