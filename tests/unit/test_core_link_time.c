/* SPDX-License-Identifier: MIT */
/*
 * When packets arrive, SPEC.md section 6.1: none before it was sent, plus the time of its
 * bytes on the wire, plus 500 ns; whatever is lost, late, repeated or sent again meanwhile.
 */
#include "host.h"
#include "test.h"

/* clang-format off */
#define LATENCY 500u
#define RATE	150u /* bytes per ns */
#define TIMEOUT 10000u
#define PACKETS 2048u /* of a run, at most */
/* clang-format on */

/* Rank 0 stores into a REMOTE segment; rank 1 has the LOCAL one behind it. */
struct pair {
	struct host *host;
	struct host_dev *a, *b;
	uint32_t stored; /* elements of 8 bytes */
};

static void connect(struct pair *p, uint32_t space)
{
	struct t3_cmd_seg_map map = host_segment(space, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);

	host_space(p->a, space);
	host_space(p->b, space);
	host_connect(p->a, p->b, space);
	map.rows = map.tile_rows = PACKETS;
	map.row_bytes = map.pitch = map.tile_row_bytes = 8;
	host_map(p->a, &map);
	map.kind = T3_SEG_LOCAL;
	map.op = T3_OP_ADD;
	map.init = T3_INIT_IDENTITY;
	map.routes = map.target_op = 0;
	host_map(p->b, &map);
	host_arm(p->b, space, 1);
	host_arm(p->a, space, 1);
	host_drain(p->host);
}

static struct pair pair_new(void)
{
	struct pair p = { .host = host_ring(2) };

	p.a = &p.host->dev[0];
	p.b = &p.host->dev[1];
	connect(&p, 0);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	return p;
}

static uint64_t store(struct pair *p)
{
	host_store(p->a, 0, p->stored * 8, p->stored + 1, 8);
	p->stored++;
	return t3_fabric_now(p->host->fabric);
}

static uint64_t received(struct pair *p)
{
	return host_counter(p->b, T3_COUNTER_LINK_RX_PACKETS);
}

/* Time goes on, event by event, and the rules of a sound machine hold after each. */
static bool step(struct pair *p)
{
	uint64_t before = t3_fabric_now(p->host->fabric);
	bool more = t3_fabric_run(p->host->fabric, 1);
	const char *broken = t3_fabric_check(p->host->fabric);

	if (broken)
		fail_msg("%s", broken);
	assert_true(t3_fabric_now(p->host->fabric) >= before);
	return more;
}

static uint64_t arrival(struct pair *p, uint64_t packets)
{
	while (received(p) < packets)
		assert_true(step(p));
	return t3_fabric_now(p->host->fabric);
}

static void inject(struct pair *p, uint32_t kind, uint64_t value)
{
	struct t3_cmd_inject inject = {
		.kind = kind, .rank = 0, .peer = 1, .nth = 1, .count = 1, .value = value
	};

	assert_int_equal(t3_fabric_inject(p->host->fabric, &inject), T3_ADMIN_OK);
}

/*
 * The packet is late, so that the answer comes just after it has been sent again. The copy
 * is still under way when the answer frees its slot, and the next packet is not the copy.
 */
static void after_late_answer(uint64_t delay, uint32_t swap)
{
	struct pair p = pair_new();
	uint64_t first = received(&p) + 1, sent = store(&p);

	inject(&p, T3_INJECT_DELAY, delay);
	if (swap)
		inject(&p, T3_INJECT_REORDER, 0);
	arrival(&p, first);
	while (host_query(p.a, 0).in_flight)
		step(&p);
	assert_true(host_counter(p.a, T3_COUNTER_LINK_RETRIES) > 0);
	assert_true(t3_fabric_now(p.host->fabric) > sent + TIMEOUT);
	sent = store(&p);
	assert_int_equal(arrival(&p, first + 1), sent + LATENCY + 1);
	host_free(p.host);
}

TEST("a late answer does not make a packet early")
{
	uint64_t delay;

	for (delay = 9000; delay < 9499; delay += 71)
		after_late_answer(delay, 0);
	after_late_answer(8700, 1);
}

/* A packet that is sent again is another packet on the wire, with accidents of its own. */
TEST("each copy has its accidents")
{
	struct t3_cmd_inject inject = {
		.kind = T3_INJECT_DELAY, .rank = 0, .peer = 1, .nth = 1, .count = 2
	};
	struct pair p = pair_new();
	uint64_t first = received(&p) + 1, sent = store(&p);

	inject.value = TIMEOUT + LATENCY;
	assert_int_equal(t3_fabric_inject(p.host->fabric, &inject), T3_ADMIN_OK);
	assert_true(arrival(&p, first) >= sent + 2 * inject.value);
	assert_int_equal(host_counter(p.a, T3_COUNTER_INJECTED), 2);
	host_free(p.host);
}

/* ns that a packet takes which is sent after a reset of the sender, and of what is connected to it. */
static uint64_t time_after_reset(uint64_t delay)
{
	struct pair p = pair_new();
	uint64_t sent;

	store(&p);
	if (delay)
		inject(&p, T3_INJECT_DELAY, delay);
	while (delay && !host_counter(p.a, T3_COUNTER_INJECTED))
		assert_true(step(&p));
	t3_dev_reset(p.a->dev);
	connect(&p, 1);
	sent = t3_fabric_now(p.host->fabric);
	host_store(p.a, 1, 0, 1, 8);
	while (!host_load(p.b, 1, 0, 8))
		assert_true(step(&p));
	sent = t3_fabric_now(p.host->fabric) - sent;
	host_free(p.host);
	return sent;
}

/* What was under way when the sender was reset takes no time on the wire any more. */
TEST("a reset clears the wire")
{
	assert_int_equal(time_after_reset(1000000), LATENCY + 1);
	assert_int_equal(time_after_reset(0), LATENCY + 1);
}

/* Without a repetition: an accident of one packet is none of the next one's. */
TEST("each packet has its accidents")
{
	struct t3_cmd_inject inject = {
		.kind = T3_INJECT_DELAY, .rank = 0, .peer = 1, .nth = 1, .count = 2, .value = 700
	};
	struct pair p = pair_new();
	uint64_t first = received(&p) + 1, sent = store(&p);

	store(&p);
	assert_int_equal(t3_fabric_inject(p.host->fabric, &inject), T3_ADMIN_OK);
	assert_int_equal(arrival(&p, first), sent + LATENCY + 1 + 700);
	assert_int_equal(arrival(&p, first + 1), sent + LATENCY + 2 + 1400);
	assert_int_equal(host_counter(p.a, T3_COUNTER_LINK_RETRIES), 0);
	host_free(p.host);
}

/* ------------------------------------------------------------ the same at random */

struct wire {
	uint64_t busy;		   /* if every packet was sent once */
	uint64_t bytes, sent, got; /* counted so far */
	uint64_t least[PACKETS];   /* when packet n can arrive at the earliest */
};

/* What has been sent and received since the last call; several at once have equal lengths. */
static void observe(struct pair *p, struct wire *wire)
{
	uint64_t now = t3_fabric_now(p->host->fabric);
	uint64_t sent = host_counter(p->a, T3_COUNTER_LINK_TX_PACKETS);
	uint64_t bytes = host_counter(p->a, T3_COUNTER_LINK_TX_BYTES);
	uint64_t each = sent > wire->sent ? (bytes - wire->bytes) / (sent - wire->sent) : 0;

	for (wire->bytes = bytes; wire->sent < sent; wire->sent++) {
		wire->busy = (now > wire->busy ? now : wire->busy) + (each + RATE - 1) / RATE;
		wire->least[wire->sent] = wire->busy + LATENCY;
	}
	for (; wire->got < received(p); wire->got++)
		assert_true(now >= wire->least[wire->got]);
}

static void inject_any(struct pair *p, uint64_t *random)
{
	static const uint32_t kinds[] = { T3_INJECT_DROP,	   T3_INJECT_DUPLICATE,
					  T3_INJECT_CORRUPT,	   T3_INJECT_REORDER,
					  T3_INJECT_DROP_RESPONSE, T3_INJECT_DELAY,
					  T3_INJECT_DELAY };
	uint32_t kind = kinds[host_below(random, sizeof(kinds) / sizeof(kinds[0]))];

	/* Most delays are about a timeout: those make copies cross with answers. */
	inject(p, kind, kind == T3_INJECT_DELAY ? 8000 + host_below(random, 4000) : 0);
}

static void act(struct pair *p, uint64_t *random)
{
	uint32_t dice = host_below(random, 128);

	if (!dice)
		inject_any(p, random);
	else if (dice < 30 && p->stored < PACKETS - 16)
		store(p);
	else
		step(p);
}

static void one_run(uint64_t seed)
{
	struct pair p = pair_new();
	struct wire *wire = calloc(1, sizeof(*wire));
	uint64_t random = seed;
	uint32_t i;

	assert_non_null(wire);
	for (i = 0; i < 4000; i++) {
		act(&p, &random);
		observe(&p, wire);
	}
	assert_true(wire->got > 100);
	while (step(&p))
		observe(&p, wire);
	free(wire);
	host_free(p.host);
}

TEST("no packet is early")
{
	uint64_t seed;

	for (seed = 1; seed <= 60; seed++)
		one_run(seed);
}
