/* SPDX-License-Identifier: MIT */
/*
 * How peers learn of each other's end: poison, death, normal leaving, resets and detaching in the
 * middle. SPEC.md sections 6.2, 6.3, 9, 10.
 */
#include "host.h"
#include "ring.h"
#include "space/space_private.h"
#include "test.h"

/* Forward by POISON, backward by STATE, around the whole ring. */
TEST("a fault travels around the ring both ways")
{
	struct host *host = host_ring(4);
	struct ring ring = ring_open(host, 0, T3_DTYPE_I32);
	uint32_t kind;

	ring_arm(&ring, 1);
	host_store(&host->dev[1], 0, 0x3f00, 0, 4);
	host_expect_cpu_fault(&host->dev[1], 0, T3_FAULT_UNMAPPED, HOST_NONE32, HOST_NONE32,
			      0x3f00);
	host_expect_peer_fault(&host->dev[2], 0, T3_FAULT_PEER_POISON, 1);
	host_expect_peer_fault(&host->dev[0], 0, T3_FAULT_PEER_DEAD, 1);
	kind = host_area(&host->dev[3], 0)->fault.kind;
	if (kind == T3_FAULT_PEER_DEAD)
		host_expect_peer_fault(&host->dev[3], 0, kind, 0);
	else
		host_expect_peer_fault(&host->dev[3], 0, T3_FAULT_PEER_POISON, 2);
	host_free(host);
}

/* A rank that is not armed yet learns of it when it arms. IDLE is no fault. */
TEST("a fault before arming is learnt at arming")
{
	struct host *host = host_ring(4);
	struct ring ring = ring_open(host, 0, T3_DTYPE_I32);

	host_arm(&host->dev[1], 0, 1);
	host_store(&host->dev[1], 0, 0, 0, 4); /* NOT_ARMED */
	host_expect(&host->dev[0], 0, T3_SPACE_IDLE, 0);
	host_expect(&host->dev[2], 0, T3_SPACE_IDLE, 0);
	host_arm(&host->dev[2], 0, 1);
	host_expect_peer_fault(&host->dev[2], 0, T3_FAULT_PEER_POISON, 1);
	host_arm(&host->dev[0], 0, 1);
	host_expect_peer_fault(&host->dev[0], 0, T3_FAULT_PEER_DEAD, 1);
	ring_disconnect(&ring); /* a fresh grant knows nothing of it */
	ring_connect(&ring);
	ring_arm(&ring, 1);
	ring_expect_state(&ring, T3_SPACE_ARMED, 1);
	host_free(host);
}

/* The epoch that it wanted to arm is the first that it does not finish: peers in it fault, too. */
TEST("a fault in arming travels")
{
	struct host *host = host_ring(4);

	ring_open(host, 0, T3_DTYPE_I32);
	host_arm(&host->dev[3], 0, 1);
	host_space_command(&host->dev[1], T3_CMD_SPACE_DISABLE, 0);
	host_expect(&host->dev[3], 0, T3_SPACE_ARMING, 1);
	host_arm(&host->dev[2], 0, 1);
	host_expect_peer_fault(&host->dev[2], 0, T3_FAULT_PEER_POISON, 1);
	host_expect_peer_fault(&host->dev[3], 0, T3_FAULT_PEER_POISON, 2);
	host_free(host);
}

/* One that was never armed ends all epochs, also those far from its own 0. */
TEST("a fresh space that leaves ends late epochs")
{
	static const uint32_t epochs[] = { 1, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff };
	uint32_t i;

	for (i = 0; i < 5; i++) {
		struct host *host = host_ring(4);

		ring_open(host, 0, T3_DTYPE_I32);
		host_arm(&host->dev[0], 0, epochs[i]);
		host_arm(&host->dev[2], 0, epochs[i]);
		host_space_command(&host->dev[1], T3_CMD_SPACE_DISABLE, 0);
		host_expect_peer_fault(&host->dev[0], 0, T3_FAULT_PEER_DEAD, 1);
		host_expect_peer_fault(&host->dev[2], 0, T3_FAULT_PEER_POISON, 1);
		host_free(host);
	}
}

/*
 * Rank 1's space has come to epoch `epoch` and `state` without rank 0, which arms 1. It
 * is told at once; or, if it is granted late, asks.
 */
static struct host *ahead(uint32_t epoch, uint32_t wanted, bool late)
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);

	host_space(a, 0);
	host_space(b, 0);
	host_route(a, 0, 0, b, 0, 0);
	host_map(a, &map);
	host_local(b, 0, 0);
	if (!late)
		host_import(b, 0, 0, a, 0, HOST_NONE64);
	if (epoch)
		host_arm(b, 0, epoch);
	if (wanted != T3_SPACE_ARMED && epoch)
		host_fill(b, 0, 0, 1);
	if (wanted == T3_SPACE_IDLE && epoch)
		host_release(b, 0, epoch);
	host_expect(b, 0, wanted, epoch);
	if (late)
		host_import(b, 0, 0, a, 0, HOST_NONE64);
	return host;
}

enum leaving { DISABLE, RESET, FAULT_IN_COMPLETE, RELEASE_DISABLE, RELEASE_RESET, LEAVINGS };

static void leave(struct host_dev *d, enum leaving how, uint32_t epoch)
{
	if (how >= RELEASE_DISABLE)
		host_release(d, 0, epoch);
	if (how == FAULT_IN_COMPLETE)
		host_doorbell(d, 0, 0x20, 0, 4);
	else
		host_space_command(d,
				   how == DISABLE || how == RELEASE_DISABLE ? T3_CMD_SPACE_DISABLE
									    : T3_CMD_SPACE_RESET,
				   0);
}

/* All but the last rank's last chunk: it alone is still ARMED. */
static void produce_but_last(const struct ring *ring, uint32_t epoch)
{
	uint32_t n = ring->host->ranks, r, tile;

	for (r = 0; r < n - 1; r++)
		ring_produce(ring, r, epoch, true);
	for (r = 0; r < n - 1; r++)
		for (tile = 0; tile < 6; tile++)
			host_tile(&ring->host->dev[n - 1], 0, r, 0, tile);
	for (r = 0; r < n - 1; r++)
		host_expect(&ring->host->dev[r], 0, T3_SPACE_COMPLETE, epoch);
	host_expect(&ring->host->dev[n - 1], 0, T3_SPACE_ARMED, epoch);
}

/* Both neighbours finish and leave: the last one's epoch ends well. */
static struct host *leave_the_last(enum leaving how, uint32_t epoch)
{
	struct host *host = host_ring(4);
	struct ring ring = ring_open(host, 0, T3_DTYPE_I32);
	struct host_dev *last = &host->dev[3];
	uint32_t tile;

	ring_arm(&ring, epoch);
	produce_but_last(&ring, epoch);
	leave(&host->dev[0], how, epoch);
	leave(&host->dev[2], how, epoch);
	host_expect(last, 0, T3_SPACE_ARMED, epoch);
	for (tile = 0; tile < 6; tile++)
		host_tile(last, 0, 3, 0, tile);
	host_expect(last, 0, T3_SPACE_COMPLETE, epoch);
	assert_int_equal(host_area(last, 0)->faults, 0);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, epoch);
	host_release(last, 0, epoch);
	host_expect(last, 0, T3_SPACE_IDLE, epoch);
	return host;
}

/* The next epoch cannot end well. */
TEST("a normal leaving ends the next epoch")
{
	uint32_t how;

	for (how = 0; how < LEAVINGS; how++) {
		struct host *host = leave_the_last(how, 1);
		struct host_dev *last = &host->dev[3];
		uint32_t kind;

		host_arm(last, 0, 2);
		kind = host_area(last, 0)->fault.kind;
		assert_true(kind == T3_FAULT_PEER_DEAD || kind == T3_FAULT_PEER_POISON);
		host_expect_peer_fault(last, 0, kind, kind == T3_FAULT_PEER_DEAD ? 0 : 2);
		host_free(host);
	}
}

/* The last epoch has no next one, but was finished like the others. */
TEST("a leaving after the last epoch harms nobody")
{
	uint32_t how;

	for (how = 0; how < LEAVINGS; how++) {
		host_free(leave_the_last(how, 0xfffffffe));
		host_free(leave_the_last(how, 0xffffffff));
	}
}

/* A grant that is revoked after the last epoch was valid for that one, but not for a first one. */
TEST("a grant revoked after the last epoch was valid for it")
{
	struct host *host = ahead(0xffffffff, T3_SPACE_IDLE, false);
	struct host_dev *a = &host->dev[0];

	host_arm(a, 0, 0xffffffff);
	host_index_command(&host->dev[1], T3_CMD_IMPORT_CLEAR, 0, 0);
	host_expect(a, 0, T3_SPACE_ARMED, 0xffffffff);
	host_free(host);
	host = ahead(0xffffffff, T3_SPACE_IDLE, false);
	host_index_command(&host->dev[1], T3_CMD_IMPORT_CLEAR, 0, 0);
	host_arm(&host->dev[0], 0, 1);
	host_expect_peer_fault(&host->dev[0], 0, T3_FAULT_PEER_DEAD, 1);
	host_free(host);
}

/* The target refuses a question of the space before its RESET: the space after it has asked nothing. */
TEST("a stale response is ignored")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	host_space(b, 0);
	host_route(a, 0, 0, b, 0, 0);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_arm(a, 0, 1);
	while (!host_counter(b, T3_COUNTER_NAKS))
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_int_equal(host_query(a, 0).in_flight, 1);
	assert_int_equal(host_space_command(a, T3_CMD_SPACE_RESET, 0), T3_ADMIN_OK);
	host_drain(host);
	assert_int_equal(host_query(a, 0).in_flight, 0);
	host_expect(a, 0, T3_SPACE_IDLE, 0);
	host_free(host);
}

/* A target that faulted in a later epoch, of which its source was not told: the grant is newer. */
TEST("a source asks a target that has faulted")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	host_space(b, 0);
	host_arm(b, 0, 1);
	host_release(b, 0, 1);
	host_arm(b, 0, 2);
	host_arm(b, 0, 9);
	assert_int_equal(host_state(b, 0), T3_SPACE_FAULTED);
	host_connect(a, b, 0);
	host_arm(a, 0, 1);
	host_expect_peer_fault(a, 0, T3_FAULT_PEER_DEAD, 1);
	host_free(host);
}

/* Two grants to one source: the end of one is not the end of the other. */
TEST("one of two grants may be revoked alone")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	host_space(b, 0);
	host_route(a, 0, 0, b, 0, 0);
	host_route(a, 0, 1, b, 0, 1);
	host_import(b, 0, 0, a, 0, 1);
	host_import(b, 0, 1, a, 0, 2);
	assert_int_equal(host_index_command(b, T3_CMD_IMPORT_CLEAR, 0, 0), T3_ADMIN_OK);
	assert_int_equal(host_index_command(a, T3_CMD_ROUTE_CLEAR, 0, 0), T3_ADMIN_OK);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/* A second grant for the same import after the first was cleared. */
TEST("a cleared grant may be given again")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_index_command(b, T3_CMD_IMPORT_CLEAR, 0, 0);
	host_import(b, 0, 0, a, 0, 1);
	host_index_command(a, T3_CMD_ROUTE_CLEAR, 0, 0);
	host_route(a, 0, 0, b, 0, 0);
	host_arm(a, 0, 1);
	host_arm(b, 0, 1);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

/*
 * As above, after any number of events. The source may hear of the first grant's end only after it
 * has the second one, for which it must not take it.
 */
TEST("a grant given again early is not taken for the old one")
{
	struct t3_cmd_import_set cmd = { .src_space = 0, .op_mask = 15, .segment_mask = 1 };
	uint32_t events, status, refused = 0;

	for (events = 0; events < 6; events++) {
		struct host *host = host_ring(2);
		struct host_dev *a = &host->dev[0], *b = &host->dev[1];

		cmd.src_generation = host_space(a, 0);
		host_space(b, 0);
		host_connect(a, b, 0);
		t3_fabric_set_inline_budget(host->fabric, 0);
		host_index_command(b, T3_CMD_IMPORT_CLEAR, 0, 0);
		t3_fabric_run(host->fabric, events);
		while ((status = host_command(b, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd))) ==
		       T3_ADMIN_EXISTS) {
			assert_true(refused++ < 100);
			t3_fabric_run(host->fabric, 1);
		}
		assert_int_equal(status, T3_ADMIN_OK);
		host_index_command(a, T3_CMD_ROUTE_CLEAR, 0, 0);
		host_route(a, 0, 0, b, 0, 0);
		host_drain(host);
		host_arm(a, 0, 1);
		host_arm(b, 0, 1);
		host_drain(host);
		host_expect(a, 0, T3_SPACE_COMPLETE, 1);
		host_free(host);
	}
	assert_true(refused > 0);
}

/* What is under way to a source does not concern another one. */
TEST("a grant to another source is free at once")
{
	struct t3_cmd_import_set cmd = { .src_space = 1, .op_mask = 15, .segment_mask = 1 };
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	host_space(a, 0);
	cmd.src_generation = host_space(a, 1);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_index_command(b, T3_CMD_IMPORT_CLEAR, 0, 0);
	while (t3_spaces(b->dev)->space[0].import[0].ctl.link)
		t3_fabric_run(host->fabric, 1);
	assert_int_equal(host_command(b, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	host_free(host);
}

/* The first source is still to hear of the first grant, though another one had the entry since. */
TEST("a grant waits for the first source's end")
{
	struct t3_cmd_import_set cmd = { .op_mask = 15, .segment_mask = 1 };
	struct host *host = host_ring(3);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1], *c = &host->dev[2];
	uint32_t first = host_space(a, 0), second = host_space(c, 0);

	host_space(b, 0);
	host_connect(a, b, 0);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_index_command(b, T3_CMD_IMPORT_CLEAR, 0, 0);
	t3_fabric_run(host->fabric, 1); /* it leaves */
	cmd.src_rank = 2;
	cmd.src_generation = second;
	assert_int_equal(host_command(b, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	host_index_command(b, T3_CMD_IMPORT_CLEAR, 0, 0);
	t3_fabric_run(host->fabric, 1);
	cmd.src_rank = 0;
	cmd.src_generation = first;
	assert_int_equal(host_command(b, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)), T3_ADMIN_EXISTS);
	host_drain(host);
	assert_int_equal(host_command(b, T3_CMD_IMPORT_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	host_free(host);
}

/* A target that depends on no other may be ahead. It refuses the updates, so nothing hangs. */
TEST("a target that is ahead refuses the updates")
{
	static const struct {
		uint32_t epoch, state, nak;
	} list[] = {
		{ 2, T3_SPACE_ARMED, T3_NAK_EPOCH },
		{ 0x80000002, T3_SPACE_ARMED, T3_NAK_EPOCH },
		{ 0xffffffff, T3_SPACE_ARMED, T3_NAK_EPOCH },
		{ 2, T3_SPACE_COMPLETE, T3_NAK_OVERSHOOT },
		{ 2, T3_SPACE_IDLE, T3_NAK_NOT_ARMED },
		{ 1, T3_SPACE_IDLE, T3_NAK_NOT_ARMED },
	};
	uint32_t i, late;

	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		for (late = 0; late < 2; late++) {
			struct host *host = ahead(list[i].epoch, list[i].state, late);

			host_arm(&host->dev[0], 0, 1);
			host_expect(&host->dev[0], 0, T3_SPACE_ARMED, 1);
			host_store(&host->dev[0], 0, 0, 1, 4);
			host_expect_rejected(&host->dev[0], 0, list[i].nak, 0, 1);
			host_free(host);
		}
}

TEST("a target that is behind is waited for")
{
	static const uint32_t epochs[] = { 2, 0x80000000, 0x80000002, 0xffffffff };
	uint32_t i, behind, late;

	for (i = 0; i < 4; i++)
		for (behind = 0; behind < 2; behind++)
			for (late = 0; late < 2; late++) {
				struct host *host = ahead(behind, T3_SPACE_IDLE, late);

				host_arm(&host->dev[0], 0, epochs[i]);
				host_expect(&host->dev[0], 0, T3_SPACE_ARMING, epochs[i]);
				host_free(host);
			}
}

static void recover(struct ring *ring)
{
	uint32_t r;

	for (r = 0; r < ring->host->ranks; r++) {
		struct host_dev *d = &ring->host->dev[r];

		if (host_query(d, 0).state != T3_SPACE_FREE)
			host_destroy(d, 0);
		assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
	}
	ring_create(ring);
	ring_connect(ring);
	ring_arm(ring, 1);
	for (r = 0; r < ring->host->ranks; r++)
		ring_produce(ring, r, 1, r % 2);
	ring_expect_state(ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(ring, 1);
}

/* A function reset, or the device taken away, after each number of events. */
static void cut(struct host *host, uint32_t events, bool detach)
{
	struct ring ring = ring_open(host, 0, T3_DTYPE_I32);
	uint64_t before = t3_fabric_now(host->fabric);
	uint32_t r;

	ring_arm(&ring, 1);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (r = 0; r < 3; r++)
		ring_produce(&ring, r, 1, true);
	t3_fabric_run(host->fabric, events);
	if (detach)
		t3_dev_detach(host->dev[1].dev);
	else
		host_set(&host->dev[1], T3_REG_CONTROL, T3_CONTROL_RESET, 4);
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	if (detach)
		host_attach(host, 1);
	assert_int_equal(host_query(&host->dev[1], 0).state, T3_SPACE_FREE);
	for (r = 0; r < 3; r += 2)
		assert_int_equal(host_query(&host->dev[r], 0).in_flight, 0);
	assert_true(t3_fabric_now(host->fabric) >= before);
	recover(&ring);
	for (r = 0; r < 3; r++) {
		/* What was unanswered is gone: nothing of it comes again. */
		assert_int_equal(host_counter(&host->dev[r], T3_COUNTER_LINK_RETRIES), 0);
		host_destroy(&host->dev[r], 0);
	}
}

TEST("a cut at any event ends both sides")
{
	struct host *host = host_ring(3);
	uint32_t events;

	for (events = 0; events < 160; events += 3) {
		cut(host, events, false);
		cut(host, events + 1, true);
	}
	host_free(host);
}

/* DISABLE in the middle, at each event: QUIESCED always comes, and nothing after it. */
TEST("a space can be disabled at any event")
{
	struct host *host = host_ring(3);
	uint32_t events;

	for (events = 0; events < 160; events += 5) {
		struct ring ring = ring_open(host, 0, T3_DTYPE_I32);
		uint32_t r;

		ring_arm(&ring, 1);
		t3_fabric_set_inline_budget(host->fabric, 0);
		for (r = 0; r < 3; r++)
			ring_produce(&ring, r, 1, true);
		t3_fabric_run(host->fabric, events);
		host_space_command(&host->dev[1], T3_CMD_SPACE_DISABLE, 0);
		host_drain(host);
		assert_int_equal(host_state(&host->dev[1], 0), T3_SPACE_QUIESCED);
		assert_int_equal(host_query(&host->dev[1], 0).in_flight, 0);
		t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
		recover(&ring);
		for (r = 0; r < 3; r++)
			host_destroy(&host->dev[r], 0);
	}
	host_free(host);
}
