// SPDX-License-Identifier: MIT
/* SPEC.md 6.2 STATE and POISON, 6.3 arming. */
#include "conf.h"
#include "pair.h"
#include "run.h"

static void test_waits_for_target(struct conf *c, unsigned row)
{
	struct pair pair;

	(void)row;
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_arm(&pair.source, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMING, 1);
	conf_arm(&pair.target, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_ARMED, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 1);
}

static void test_earlier_epoch(struct conf *c, unsigned row)
{
	struct pair pair;

	(void)row;
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_arm(&pair.target, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_ARMED, 1);
	conf_arm(&pair.source, 2);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMING, 2);
	conf_interrupts_now(c, pair.source.dev, 0);
	CHECK_EQUAL(c, "source", conf_state(&pair.source), STATE(T3_SPACE_ARMING, 2));
}

/* A target that is ahead refuses the updates, so that its source does not wait forever. */
static void test_later_epoch(struct conf *c, unsigned row)
{
	struct t3_fault_record record;
	struct pair pair;

	(void)row;
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_arm(&pair.target, 3);
	conf_wait_state(c, &pair.target, T3_SPACE_ARMED, 3);
	conf_arm(&pair.source, 2);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 2);
	conf_store(&pair.source, 0, 8, 1);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_REJECTED);
	CHECK_EQUAL(c, "detail", record.detail, T3_NAK_EPOCH);
}

static void test_complete_target(struct conf *c, unsigned row)
{
	struct pair pair;

	(void)row;
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	conf_map(c, &pair.source, &pair.from);
	conf_arm(&pair.target, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_arm(&pair.source, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 1);
}

static void test_all_routes(struct conf *c, unsigned row)
{
	struct conf_space second;
	struct pair pair;

	(void)row;
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_space_create(c, conf_device(c, 1), &second, T3_PAGE_SIZE, 1);
	conf_connect(c, &pair.source, 31, &second, 31);
	conf_arm(&pair.source, 1);
	conf_arm(&pair.target, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_ARMED, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMING, 1);
	conf_arm(&second, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 1);
}

/* Each sends to the other: both are ARMED as soon as both are ARMING. */
static void test_mutual(struct conf *c, unsigned row)
{
	struct pair pair;

	(void)row;
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	conf_connect(c, &pair.target, 0, &pair.source, 0);
	pair_map(c, &pair);
	for (uint32_t epoch = 1; epoch <= 3; epoch++) {
		conf_arm(&pair.source, epoch);
		conf_wait_state(c, &pair.source, T3_SPACE_ARMING, epoch);
		conf_arm(&pair.target, epoch);
		conf_wait_state(c, &pair.target, T3_SPACE_ARMED, epoch);
		conf_wait_state(c, &pair.source, T3_SPACE_ARMED, epoch);
		pair_store(&pair.source, epoch);
		conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, epoch);
		conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, epoch);
		conf_release(&pair.source, epoch);
		conf_release(&pair.target, epoch);
	}
}

/* A fast source waits with its next epoch until the target has been released. */
static void test_next_epoch(struct conf *c, unsigned row)
{
	struct pair pair;

	(void)row;
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
static void test_updates_while_arming(struct conf *c, unsigned row)
{
	struct conf_space last;
	struct pair pair;

	(void)row;
	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair_map(c, &pair);
	conf_space_create(c, conf_device(c, 0), &last, T3_PAGE_SIZE, 1);
	conf_connect(c, &pair.target, 0, &last, 0);
	conf_arm(&pair.target, 1);
	conf_wait_state(c, &pair.target, T3_SPACE_ARMING, 1);
	conf_arm(&pair.source, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 1);
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

static void test_source_ends(struct conf *c, unsigned row)
{
	struct t3_fault_record record;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	ends[row].act(c, &pair.source);
	record = conf_wait_fault(c, &pair.target, T3_FAULT_PEER_POISON);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.source.dev->rank);
}

static void test_target_ends(struct conf *c, unsigned row)
{
	struct t3_fault_record record;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	ends[row].act(c, &pair.target);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_PEER_DEAD);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.target.dev->rank);
}

/* A space that is IDLE learns of it at its next ARM. */
static void test_source_ends_before_arm(struct conf *c, unsigned row)
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
static void test_leave_after_complete(struct conf *c, unsigned row)
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
static void test_import_clear(struct conf *c, unsigned row)
{
	struct t3_fault_record record;
	struct t3_cmd_index clear;
	struct pair pair;

	(void)row;
	pair_ready(c, &pair, T3_SEG_REMOTE);
	clear = (struct t3_cmd_index){ .space = pair.target.args.space };
	ADMIN(c, pair.target.dev, T3_CMD_IMPORT_CLEAR, &clear);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_PEER_DEAD);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.target.dev->rank);
	CHECK_EQUAL(c, "target", conf_state(&pair.target), STATE(T3_SPACE_ARMED, 1));
}

static const struct conf_test tests[] = {
	{ "waits-for-target", test_waits_for_target, 0, NULL, 2 },
	{ "earlier-epoch", test_earlier_epoch, 0, NULL, 2 },
	{ "later-epoch", test_later_epoch, 0, NULL, 2 },
	{ "complete-target", test_complete_target, 0, NULL, 2 },
	{ "all-routes", test_all_routes, 0, NULL, 2 },
	{ "mutual", test_mutual, 0, NULL, 2 },
	{ "next-epoch", test_next_epoch, 0, NULL, 2 },
	{ "updates-while-arming", test_updates_while_arming, 0, NULL, 2 },
	{ "source-ends", test_source_ends, ARRAY_SIZE(ends), end_label, 2 },
	{ "target-ends", test_target_ends, ARRAY_SIZE(ends), end_label, 2 },
	{ "source-ends-before-arm", test_source_ends_before_arm, ARRAY_SIZE(ends), end_label, 2 },
	{ "leave-after-complete", test_leave_after_complete, 2, NULL, 2 },
	{ "import-clear", test_import_clear, 0, NULL, 2 },
};

CONF_SECTION(section_arming, "6.3", "arming, poison and death", tests);
