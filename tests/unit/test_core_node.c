/* SPDX-License-Identifier: MIT */
/*
 * A fabric over several nodes (t3_node.h): a ring's reduce-scatter has the sums, states and counts
 * that it has on one node, whatever the links and connections do, or ends in faults on all ranks.
 * T3_SEEDS, T3_SEED as in test_core_property.c.
 */
#include "gang.h"
#include "node/node.h"
#include "nodes.h"
#include "queue.h"
#include "ring.h"
#include "seeds.h"
#include "trail.h"
#include "test.h"

#define SEEDS 12u
#define SPACE 3u

static struct host *connected(uint32_t ranks, uint32_t count, uint64_t seed)
{
	struct host_config config = { T3_TOPOLOGY_RING, ranks, 256, 8, T3_KEYS_FABRIC };
	struct host *host = nodes_new(&config, count, seed);

	nodes_connect_all(host);
	return host;
}

static void produce_all(const struct ring *ring, uint32_t epoch, bool staged)
{
	uint32_t r;

	for (r = 0; r < ring->host->ranks; r++)
		ring_produce(ring, r, epoch, staged);
}

/* One epoch, from ARM to the right sums. */
static void reduce(const struct ring *ring, uint32_t epoch, bool staged)
{
	ring_arm(ring, epoch);
	nodes_settle(ring->host);
	ring_expect_state(ring, T3_SPACE_ARMED, epoch);
	produce_all(ring, epoch, staged);
	nodes_settle(ring->host);
	ring_expect_state(ring, T3_SPACE_COMPLETE, epoch);
	ring_expect_sums(ring, epoch);
}

static void reduce_over(uint32_t ranks, uint32_t count, uint32_t dtype, uint64_t seed)
{
	struct host *host = connected(ranks, count, seed);
	struct ring ring = ring_open(host, SPACE, dtype);
	uint32_t epoch;

	for (epoch = 1; epoch <= 3; epoch++) {
		reduce(&ring, epoch, false);
		ring_release(&ring, epoch);
	}
	nodes_settle(host);
	ring_expect_counts(&ring, 3, false);
	host_free(host);
}

#define SEEDS_TEST(sentence) TEST_WITH(sentence, NULL, seeds_report)

SEEDS_TEST("sums and counts are those of one node")
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		reduce_over(2, 2, T3_DTYPE_I32, seed);
		reduce_over(4, 2, T3_DTYPE_F32, seed);
		reduce_over(5, 3, T3_DTYPE_BF16, seed);
		reduce_over(4, 4, T3_DTYPE_F16, seed);
	}
	trail_expect(0x49f3104eca69d24c);
}

TEST("doorbells work over nodes")
{
	struct host *host = connected(4, 2, 1);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);

	reduce(&ring, 1, true);
	ring_expect_counts(&ring, 1, true);
	host_free(host);
}

/* Those of other nodes have no device here, so the host's threads could not keep them still. */
TEST("events are of ranks of their node")
{
	struct host *host = connected(4, 2, 1);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	struct t3_fabric *fabric = nodes_fabric(host, 0);
	const uint32_t own = 1u << 0 | 1u << 1;
	uint32_t ranks, events = 0;

	ring_arm(&ring, 1);
	nodes_settle(host);
	t3_fabric_set_inline_budget(fabric, 0);
	ring_produce(&ring, 0, 1, true);
	ring_produce(&ring, 1, 1, true); /* to rank 2 */
	while ((ranks = t3_fabric_next_ranks(fabric)) != 0) {
		assert_int_equal(ranks & ~own, 0);
		t3_fabric_run(fabric, 1);
		events++;
	}
	assert_true(events > 0);
	assert_true(nodes_info(host, 0, 1).sent_packets > 0);
	host_free(host);
}

/* -------------------------------------------------------------- lossy links */

static void make_lossy(struct host *host, uint64_t seed)
{
	uint32_t r;

	for (r = 0; r < host->ranks; r++) {
		struct t3_cmd_inject inject = { .kind = T3_INJECT_LINK_RANDOM,
						.rank = r,
						.peer = (r + 1) % host->ranks,
						.nth = 6000,
						.value = seed + r };

		assert_true(nodes_inject(host, &inject));
	}
}

static void accidents_lose_nothing_of(uint64_t seed)
{
	struct host *host = connected(4, 2, seed);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);

	make_lossy(host, seed);
	reduce(&ring, 1, false);
	ring_release(&ring, 1);
	reduce(&ring, 2, false);
	assert_true(host_counter(&host->dev[1], T3_COUNTER_LINK_RETRIES));
	assert_true(host_counter(&host->dev[2], T3_COUNTER_LINK_DUPLICATES));
	host_free(host);
}

SEEDS_TEST("accidents lose nothing")
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS) accidents_lose_nothing_of(seed);
	trail_expect(0x4ef45fb3412363f9);
}

/* A queue to the other node that holds a few packets, and loses the rest. */
TEST("a short queue loses nothing")
{
	struct host *host = connected(4, 2, 7);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);

	nodes_bound(host, 700);
	reduce(&ring, 1, false);
	assert_true(nodes_info(host, 0, 1).lost);
	host_free(host);
}

/* ------------------------------------------------------------ broken nodes */

static bool is_over(struct host_dev *d)
{
	uint32_t now = host_state(d, SPACE);

	return now == T3_SPACE_FAULTED || now == T3_SPACE_COMPLETE;
}

/* Each rank's job has ended, and whoever completed has the right sums, as all have by then. */
static void expect_end(const struct ring *ring, uint32_t epoch)
{
	uint32_t r, complete = 0;

	for (r = 0; r < ring->host->ranks; r++) {
		assert_true(is_over(&ring->host->dev[r]));
		complete += host_state(&ring->host->dev[r], SPACE) == T3_SPACE_COMPLETE;
	}
	if (complete == ring->host->ranks)
		ring_expect_sums(ring, epoch);
}

/* The fabric can be used again. */
static void expect_recovery(struct ring *ring)
{
	nodes_connect_all(ring->host);
	ring_disconnect(ring);
	nodes_settle(ring->host);
	ring_connect(ring);
	reduce(ring, 1, false);
}

static void a_cut_connection_ends_the_job_of(uint64_t seed)
{
	struct host *host = connected(4, 2, seed);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint64_t random = seed + 1;
	uint32_t steps = host_below(&random, 200);

	ring_arm(&ring, 1);
	nodes_settle(host);
	produce_all(&ring, 1, false);
	while (steps-- && nodes_step(host))
		;
	nodes_cut(host, 0, 1);
	nodes_settle(host);
	expect_end(&ring, 1);
	expect_recovery(&ring);
	host_free(host);
}

SEEDS_TEST("a cut connection ends the job")
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS) a_cut_connection_ends_the_job_of(seed);
	trail_expect(0x211a089a97c983df);
}

/* A node that is stopped for long: its peers find it silent. It goes on later. */
static void a_stopped_node_ends_the_job_of(uint64_t seed)
{
	struct host *host = connected(4, 2, seed);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint32_t i;

	ring_arm(&ring, 1);
	nodes_settle(host);
	nodes_stop(host, 1, true);
	produce_all(&ring, 1, false);
	for (i = 0; i < T3_PEER_SILENCE + 2; i++) {
		nodes_tick(host);
		nodes_drain(host);
	}
	assert_string_equal(nodes_why(host, 0, 1), "the node is silent");
	host_expect_peer_fault(&host->dev[0], SPACE, T3_FAULT_PEER_POISON, 3);
	assert_int_equal(host_state(&host->dev[1], SPACE), T3_SPACE_FAULTED);
	nodes_stop(host, 1, false);
	nodes_settle(host);
	expect_end(&ring, 1);
	expect_recovery(&ring);
	host_free(host);
}

SEEDS_TEST("a stopped node ends the job")
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS) a_stopped_node_ends_the_job_of(seed);
	trail_expect(0xc2324d1b3aa9f76d);
}

/* Longer than a link's retries, and shorter than the silence that ends the connection: nobody notices. */
TEST("a stop shorter than the silence is no fault")
{
	struct host *host = connected(4, 2, 3);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint32_t i;

	ring_arm(&ring, 1);
	nodes_settle(host);
	nodes_stop(host, 1, true);
	produce_all(&ring, 1, false);
	for (i = 0; i < T3_PEER_SILENCE; i++) {
		nodes_tick(host);
		nodes_drain(host);
	}
	nodes_stop(host, 1, false);
	nodes_settle(host);
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(&ring, 1);
	assert_int_equal(nodes_info(host, 0, 1).connections, 1);
	host_free(host);
}

/*
 * Ticks until rank 1's link to rank 2, on node 1, gives up. The node is stopped, or its link is down; it
 * says PING all the same, each `pings` ticks.
 */
static uint32_t ticks_to_the_end(uint32_t pings, bool stopped)
{
	static const struct t3_frame ping = { .type = T3_FRAME_PING };
	struct t3_cmd_inject down = { .kind = T3_INJECT_LINK_DOWN, .rank = 1, .peer = 2 };
	struct host *host = connected(4, 2, 3);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint32_t ticks = 0;

	ring_arm(&ring, 1);
	nodes_settle(host);
	nodes_stop(host, 1, stopped);
	if (!stopped)
		assert_true(nodes_inject(host, &down));
	produce_all(&ring, 1, false);
	while (!host_counter(&host->dev[1], T3_COUNTER_LINK_DOWNS)) {
		nodes_tick(host);
		if (pings && ++ticks % pings == 0)
			assert_null(t3_peer_input(nodes_peer(host, 0, 1), &ping, sizeof(ping)));
		nodes_drain(host);
		assert_true(ticks < 10 * T3_PEER_SILENCE);
	}
	assert_true(nodes_info(host, 0, 1).up);
	host_free(host);
	return ticks;
}

/* A node that lives has 8 times 2 ticks. One that says just enough has those of a silence more. */
TEST("a link gives up in bounded time")
{
	assert_int_equal(ticks_to_the_end(1, false), 16);
	assert_int_equal(ticks_to_the_end(1, true), 16);
	assert_int_equal(ticks_to_the_end(T3_PEER_STILL, true), 16);
	assert_int_equal(ticks_to_the_end(T3_PEER_SILENCE, true), 16 + T3_PEER_SILENCE);
}

/* ----------------------------------------------------------- stores that wait */

/* On rank 0, with targets of the same number on rank 1, of another node. */
#define BACKLOG	 1u
#define MANY	 2u	/* its segment 0 has many routes to the rank, segment 1 has one */
#define ONE	 0x400u /* where segment 1 begins */
#define ROUTES	 17u
#define ROWS	 400u /* of the backlog: a packet each */
#define ROW	 64u
#define SOURCE	 0x300000u
#define SLOTS	 64u /* of the link */
#define RESPONSE 24u /* bytes of its frame */

struct crowd {
	struct host *host;
	struct host_dev *a, *b;
	struct queue q;
	uint32_t most; /* slots that the backlog takes */
};

static struct t3_cmd_seg_map backlog(uint32_t kind)
{
	struct t3_cmd_seg_map map = host_segment(BACKLOG, 0, kind, T3_OP_ADD, T3_DTYPE_I32);

	map.rows = map.tile_rows = ROWS;
	map.row_bytes = map.pitch = map.tile_row_bytes = ROW;
	return map;
}

static void open_backlog(struct crowd *c, uint32_t kind)
{
	struct t3_cmd_seg_map map = backlog(kind), local = backlog(T3_SEG_LOCAL);
	struct t3_cmd_seg_staging staging = { BACKLOG, 0, SOURCE, ROWS * ROW, 1, 0 };

	host_space(c->a, BACKLOG);
	host_space(c->b, BACKLOG);
	host_connect(c->a, c->b, BACKLOG);
	host_map(c->b, &local);
	host_map(c->a, &map);
	assert_int_equal(host_command(c->a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
			 T3_ADMIN_OK);
}

static void map_many(struct crowd *c, uint32_t segment, uint32_t routes)
{
	struct t3_cmd_seg_map map =
		host_segment(MANY, segment, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map local =
		host_segment(MANY, segment, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	map.routes = (1u << routes) - 1;
	local.updates = routes;
	host_map(c->a, &map);
	host_map(c->b, &local);
}

static void open_many(struct crowd *c)
{
	uint32_t r;

	host_space(c->a, MANY);
	host_space(c->b, MANY);
	for (r = 0; r < ROUTES; r++) {
		host_route(c->a, MANY, r, c->b, MANY, r);
		host_import(c->b, MANY, r, c->a, MANY, HOST_NONE64);
	}
	map_many(c, 0, ROUTES);
	map_many(c, 1, 1);
}

static void run_events(const struct crowd *c)
{
	while (t3_fabric_run(nodes_fabric(c->host, 0), 1000))
		;
}

static uint32_t unanswered(const struct crowd *c)
{
	struct t3_link_info info;

	assert_true(t3_fabric_link_info(nodes_fabric(c->host, 0), 0, 1, &info));
	return info.unanswered;
}

static bool backlog_lasts(struct crowd *c)
{
	struct t3_cmd_seg_stats stats = host_stats(c->a, BACKLOG, 0);

	return stats.link_bytes < ROWS * (ROW + sizeof(struct t3_packet));
}

/* By a queue into a REMOTE segment, or by a tile of a DMA segment. */
static void send_backlog(struct crowd *c, bool by_queue)
{
	struct t3_descriptor copy = queue_copy(0, SOURCE, ROWS * ROW);

	if (by_queue) {
		copy.dst_kind = T3_LOC_SPACE;
		copy.space = BACKLOG;
		copy.generation = host_query(c->a, BACKLOG).generation;
		queue_submit(&c->q, &copy);
	} else {
		host_tile(c->a, BACKLOG, 0, 0, 0);
	}
	run_events(c);
}

/* The link is as full as the backlog makes it. No response has come. */
static struct crowd crowd_new(bool by_queue)
{
	struct crowd c = { .host = connected(2, 2, 1), .most = SLOTS - (by_queue ? 8 : 16) };

	c.a = &c.host->dev[0];
	c.b = &c.host->dev[1];
	c.q = queue_new(c.a, 0, 0);
	open_backlog(&c, by_queue ? T3_SEG_REMOTE : T3_SEG_DMA);
	open_many(&c);
	host_arm(c.b, BACKLOG, 1);
	host_arm(c.b, MANY, 1);
	host_arm(c.a, BACKLOG, 1);
	host_arm(c.a, MANY, 1);
	nodes_settle(c.host);
	send_backlog(&c, by_queue);
	assert_int_equal(unanswered(&c), c.most);
	nodes_piece(c.host, RESPONSE); /* one at a time, so that others take each slot first */
	return c;
}

static bool store_waits(const struct crowd *c, uint32_t offset)
{
	return t3_dev_aperture_waits(c->a->dev, MANY * HOST_SPACE_SIZE + offset, 4);
}

static void step(struct crowd *c)
{
	assert_true(nodes_step(c->host));
	run_events(c);
	assert_true(backlog_lasts(c));
}

/* The backlog takes all slots again that it may, and ends. */
static void crowd_end(struct crowd *c)
{
	uint32_t i;

	for (i = 0; i < 1000 && unanswered(c) != c->most; i++)
		step(c);
	for (i = 0; i < 20; i++)
		step(c);
	assert_int_equal(unanswered(c), c->most);
	nodes_settle(c->host);
	host_expect(c->a, BACKLOG, T3_SPACE_COMPLETE, 1);
	assert_int_equal(host_counter(c->a, T3_COUNTER_FAULTS), 0);
	host_free(c->host);
}

static void tiles_and_queues_leave_slots(bool by_queue)
{
	struct crowd c = crowd_new(by_queue);
	uint32_t at;

	for (at = 0; at < 16; at += 4) {
		assert_true(store_waits(&c, at));
		while (store_waits(&c, at))
			step(&c);
		host_store(c.a, MANY, at, 3, 4);
		run_events(&c);
	}
	crowd_end(&c);
}

TEST("tiles and queues leave slots to a store that waits")
{
	tiles_and_queues_leave_slots(false);
	tiles_and_queues_leave_slots(true);
}

/* Its slots would be taken one by one, as they become free. */
TEST("a store lets one that needs more go first")
{
	struct crowd c = crowd_new(false);
	uint32_t i;

	assert_false(store_waits(&c, ONE));
	while (store_waits(&c, 0)) {
		assert_true(store_waits(&c, ONE));
		step(&c);
	}
	host_store(c.a, MANY, ONE, 3, 4); /* before the other one looks again */
	for (i = 0; i < 40; i++)
		step(&c);
	assert_false(store_waits(&c, 0));
	host_store(c.a, MANY, 0, 3, 4);
	run_events(&c);
	crowd_end(&c);
}

/* It will be refused. Until it looks again, and that may be never, others have the slots. */
static void a_reset_ends_the_wait(bool by_queue)
{
	struct crowd c = crowd_new(by_queue);

	assert_true(store_waits(&c, 0));
	while (unanswered(&c) > SLOTS - ROUTES - 8)
		step(&c);
	host_space_command(c.a, T3_CMD_SPACE_RESET, MANY);
	assert_false(store_waits(&c, 0));
	crowd_end(&c);
}

TEST("a store that cannot be made leaves its slots")
{
	a_reset_ends_the_wait(false);
	a_reset_ends_the_wait(true);
}

/* ------------------------------------------------------------- lost devices */

TEST("a reset is told to other nodes")
{
	struct host *host = connected(4, 2, 5);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);

	ring_arm(&ring, 1);
	nodes_settle(host);
	t3_dev_reset(host->dev[1].dev);
	nodes_settle(host);
	host_expect_peer_fault(&host->dev[2], SPACE, T3_FAULT_PEER_POISON, 1);
	assert_int_equal(host->dev[2].traced.losses, 1);
	assert_int_equal(host_state(&host->dev[3], SPACE), T3_SPACE_FAULTED);
	host_free(host);
}

/* Where there is no room, packets are lost, and sent again. A reset is told once. */
TEST("a reset is told without room")
{
	struct host *host = connected(2, 2, 5);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint64_t lost;

	ring_arm(&ring, 1);
	nodes_settle(host);
	nodes_bound(host, 0);
	produce_all(&ring, 1, false);
	lost = nodes_info(host, 0, 1).lost;
	assert_true(lost > 0);
	t3_dev_reset(host->dev[0].dev);
	assert_int_equal(nodes_info(host, 0, 1).lost, lost);
	nodes_settle(host);
	assert_int_equal(host->dev[1].traced.losses, 1);
	host_free(host);
}

/* Nothing was under way, so no verdict of a packet tells them. */
TEST("a cut connection ends spaces that wait")
{
	struct host *host = connected(4, 2, 5);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint32_t rank;

	ring_arm(&ring, 1);
	nodes_settle(host);
	nodes_cut(host, 0, 1);
	nodes_settle(host);
	host_expect_peer_fault(&host->dev[2], SPACE, T3_FAULT_PEER_POISON, 1);
	host_expect_peer_fault(&host->dev[0], SPACE, T3_FAULT_PEER_POISON, 3);
	for (rank = 0; rank < 4; rank++)
		assert_int_equal(host_state(&host->dev[rank], SPACE), T3_SPACE_FAULTED);
	host_free(host);
}

/* The news of the reset comes after grants to and from the new space, of that generation or later. */
static void news_spares(uint32_t resets)
{
	struct host *host = connected(2, 2, 5);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];

	t3_dev_reset(a->dev);
	host_space(a, SPACE);
	while (resets--)
		host_space_command(a, T3_CMD_SPACE_RESET, SPACE);
	host_space(b, SPACE);
	host_connect(a, b, SPACE);
	host_connect(b, a, SPACE);
	nodes_settle(host);
	assert_int_equal(b->traced.losses, 1);
	host_arm(a, SPACE, 1);
	host_arm(b, SPACE, 1);
	nodes_settle(host);
	host_expect(a, SPACE, T3_SPACE_COMPLETE, 1); /* it has no segments */
	host_expect(b, SPACE, T3_SPACE_COMPLETE, 1);
	host_free(host);
}

TEST("a space after the reset is spared")
{
	news_spares(0);
}

TEST("a later space is spared")
{
	news_spares(1);
}

/* ------------------------------------------------------- what is not allowed */

TEST("only local ranks have devices and faults")
{
	struct host *host = connected(4, 2, 1);
	struct t3_dev *dev = host->dev[0].dev;
	struct t3_cmd_inject link = { .kind = T3_INJECT_LINK_DOWN, .rank = 2, .peer = 1 };
	struct t3_cmd_inject dma = { .kind = T3_INJECT_FAIL_DMA, .rank = 2, .nth = 1, .count = 1 };

	t3_dev_detach(dev);
	assert_int_equal(t3_dev_attach(dev, nodes_fabric(host, 0), 2), T3_ATTACH_REMOTE);
	assert_int_equal(t3_dev_attach(dev, nodes_fabric(host, 0), 0), T3_ATTACH_OK);
	assert_int_equal(t3_fabric_inject(nodes_fabric(host, 0), &link), T3_ADMIN_NO_ROUTE);
	assert_int_equal(t3_fabric_inject(nodes_fabric(host, 0), &dma), T3_ADMIN_BAD_VALUE);
	assert_true(nodes_inject(host, &link));
	assert_false(t3_fabric_record(nodes_fabric(host, 0), NULL, NULL));
	host_free(host);
}

/* --------------------------------------------------------------- timed runs */

/* Each node begins when its own ranks have: counters are those of one node, and of `t3 sim`. */
TEST("each node computes a timed run")
{
	struct host *host = connected(5, 3, 1);
	struct gang gang = gang_of(host);
	struct t3_timed_setup setup = run_small(5, T3_TIMED_T3_MCA);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	uint32_t r;

	for (r = 5; r-- > 2;)
		gang.index[r] = run_submit(&gang.q[r], &run);
	nodes_settle(host);
	for (r = 2; r < 5; r++)
		run_expect(&gang.q[r], gang.index[r], &native, r, 0);
	gang.index[0] = run_submit(&gang.q[0], &run);
	nodes_settle(host);
	assert_true(run_untouched(&gang.q[0])); /* rank 1 of its node is missing */
	gang.index[1] = run_submit(&gang.q[1], &run);
	nodes_settle(host);
	for (r = 0; r < 2; r++)
		run_expect(&gang.q[r], gang.index[r], &native, r, 0);
	host_free(host);
}

/* It fails on the node of that rank alone. */
TEST("a reset ends the timed run of its node")
{
	struct host *host = connected(4, 2, 1);
	struct gang gang = gang_of(host);
	struct t3_timed_setup setup = run_small(4, T3_TIMED_T3);
	struct native native = run_natively(&setup);
	struct run run = run_of(&setup);
	uint32_t r;

	nodes_stop(host, 1, true);
	t3_fabric_set_inline_budget(nodes_fabric(host, 3), 0);
	gang_submit(&gang, &run);
	t3_fabric_run(nodes_fabric(host, 3), 8); /* it has begun */
	t3_dev_reset(host->dev[3].dev);
	nodes_stop(host, 1, false);
	nodes_settle(host);
	for (r = 0; r < 2; r++)
		run_expect(&gang.q[r], gang.index[r], &native, r, 0);
	queue_expect(&gang.q[2], gang.index[2], T3_DESC_GANG, 3);
	assert_true(run_untouched(&gang.q[2]));
	host_free(host);
}
