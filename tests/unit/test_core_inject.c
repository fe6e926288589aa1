/* SPDX-License-Identifier: MIT */
/* Injected faults, kind by kind, exact in number and time: SPEC.md section 12. */
#include "host.h"
#include "migrate.h"
#include "ring.h"
#include "test.h"

#define ROWS 20u

static uint32_t inject(struct host *host, const struct t3_cmd_inject *what)
{
	return t3_fabric_inject(host->fabric, what);
}

/* Virtual ns until the last packet has been taken. */
static uint64_t take_time(struct host *host)
{
	uint64_t start = t3_fabric_now(host->fabric), time;

	while (host_stats(&host->dev[1], 0, 0).remote_bytes < ROWS * 8)
		assert_true(t3_fabric_run(host->fabric, 1));
	time = t3_fabric_now(host->fabric) - start;
	host_drain(host);
	return time;
}

struct injection {
	uint32_t kind, nth, count;
	uint64_t value;
	uint32_t retries, duplicates, errors;
	uint64_t late; /* ns, of the last packet; 0: as long as a retry takes */
};

static const struct injection injections[] = {
	{ T3_INJECT_DROP, 1, 1, 0, 20, 0, 0, 0 },
	{ T3_INJECT_DROP, 5, 1, 0, 16, 0, 0, 0 },
	{ T3_INJECT_DROP, 5, 3, 0, 16, 0, 0, 0 },
	{ T3_INJECT_DROP, 20, 2, 0, 2, 0, 0, 0 }, /* and when it comes again */
	{ T3_INJECT_DUPLICATE, 1, 1, 0, 0, 1, 0, 1 },
	{ T3_INJECT_DUPLICATE, 3, 4, 0, 0, 4, 0, 1 },
	{ T3_INJECT_CORRUPT, 1, 1, 0, 20, 0, 1, 0 },
	{ T3_INJECT_CORRUPT, 7, 2, 0, 14, 0, 2, 0 },
	{ T3_INJECT_REORDER, 5, 1, 0, 15, 0, 0, 0 }, /* the successor was too early */
	{ T3_INJECT_REORDER, 20, 1, 0, 0, 0, 0, T3_INJECT_REORDER },
	{ T3_INJECT_DELAY, 1, 1, 2000, 0, 0, 0, 2000 },
	{ T3_INJECT_DELAY, 20, 1, 1, 0, 0, 0, 1 },
	{ T3_INJECT_DELAY, 2, 3, 700, 0, 0, 0, 2100 },
	{ T3_INJECT_DROP_RESPONSE, 5, 1, 0, 16, 16, 0, 1 },
	{ T3_INJECT_DROP_RESPONSE, 20, 1, 0, 1, 1, 0, 1 },
};

static void expect_rows(struct host *host)
{
	uint32_t i;

	host_expect(&host->dev[0], 0, T3_SPACE_COMPLETE, 1);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < ROWS; i++)
		assert_int_equal(host_load(&host->dev[1], 0, i * 8, 8), i);
}

static void one_injection(const struct injection *c, uint64_t normal)
{
	struct host *host = host_burst(ROWS);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_inject what = {
		.kind = c->kind, .peer = 1, .nth = c->nth, .count = c->count, .value = c->value
	};
	uint64_t time;

	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	time = take_time(host);
	expect_rows(host);
	assert_int_equal(host_counter(a, T3_COUNTER_INJECTED), c->count);
	assert_int_equal(host_counter(b, T3_COUNTER_INJECTED), 0);
	assert_int_equal(host_counter(a, T3_COUNTER_LINK_RETRIES), c->retries);
	assert_int_equal(host_counter(b, T3_COUNTER_LINK_DUPLICATES), c->duplicates);
	assert_int_equal(host_counter(b, T3_COUNTER_LINK_ERRORS), c->errors);
	assert_int_equal(host_counter(a, T3_COUNTER_LINK_TX_PACKETS) -
				 host_counter(b, T3_COUNTER_LINK_RX_PACKETS),
			 0);
	if (c->kind == T3_INJECT_DELAY)
		assert_int_equal(time - normal, c->late);
	else if (c->late == T3_INJECT_REORDER)
		assert_int_equal(time - normal, 500); /* one latency */
	else if (c->late)
		assert_int_equal(time, normal);
	else
		assert_true(time > normal + 9000); /* the timer's 10 us */
	host_free(host);
}

TEST("each injected fault of a link is exact")
{
	struct host *host = host_burst(ROWS);
	uint64_t normal = take_time(host);
	size_t i;

	expect_rows(host);
	host_free(host);
	for (i = 0; i < sizeof(injections) / sizeof(injections[0]); i++)
		one_injection(&injections[i], normal);
}

/* nth = 0 takes it away, another of the kind replaces it, other kinds stay. */
TEST("an injection replaces another of its kind alone")
{
	struct host *host = host_burst(ROWS);
	struct t3_cmd_inject what = { .kind = T3_INJECT_DROP, .peer = 1, .nth = 3, .count = 9 };

	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	what.kind = T3_INJECT_CORRUPT;
	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	what.kind = T3_INJECT_DROP;
	what.nth = what.count = 0;
	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	what.kind = T3_INJECT_CORRUPT;
	what.nth = 4;
	what.count = 1;
	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	host_drain(host);
	expect_rows(host);
	assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_INJECTED), 1);
	assert_int_equal(host_counter(&host->dev[1], T3_COUNTER_LINK_ERRORS), 1);
	host_free(host);
}

/* A delay beyond all retries is the end of the link; what comes then is not taken twice. */
TEST("a delay beyond all retries ends the link")
{
	struct host *host = host_burst(ROWS);
	struct t3_cmd_inject what = {
		.kind = T3_INJECT_DELAY, .peer = 1, .nth = 1, .count = 1, .value = 1000000
	};

	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	host_drain(host);
	assert_int_equal(host_area(&host->dev[0], 0)->fault.kind, T3_FAULT_LINK);
	/* The POISON that follows the fault stands on the same wire. */
	assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_LINK_DOWNS), 2);
	assert_int_equal(host_query(&host->dev[0], 0).in_flight, 0);
	assert_true(host_stats(&host->dev[1], 0, 0).remote_bytes <= ROWS * 8);
	host_free(host);
}

TEST("a link tells its state and injections")
{
	struct host *host = host_burst(ROWS);
	struct host_dev *a = &host->dev[0];
	struct t3_cmd_link_query query = { .peer_rank = 1 };
	struct t3_cmd_inject down = { .kind = T3_INJECT_LINK_DOWN, .peer = 1 };

	assert_int_equal(host_command(a, T3_CMD_LINK_QUERY, &query, sizeof(query)), T3_ADMIN_OK);
	assert_int_equal(query.flags, 0);
	assert_int_equal(query.waiting_segments, 1);
	assert_int_equal(query.unanswered, 0);
	assert_int_equal(inject(host, &down), T3_ADMIN_OK);
	t3_fabric_run(host->fabric, 2);
	assert_int_equal(host_command(a, T3_CMD_LINK_QUERY, &query, sizeof(query)), T3_ADMIN_OK);
	assert_int_equal(query.flags, T3_LINK_DOWN);
	assert_int_equal(query.unanswered, ROWS);
	assert_int_equal(query.waiting_segments, 0);
	assert_int_equal(query.waiting_control, 0);
	assert_true(query.next >= ROWS);
	while (!query.retries) {
		assert_true(t3_fabric_run(host->fabric, 1));
		host_command(a, T3_CMD_LINK_QUERY, &query, sizeof(query));
	}
	host_free(host);
}

/* --------------------------------------------------------------- at random */

#define DRAWN_RANKS 3u

struct outcome {
	uint64_t now;
	uint64_t counter[DRAWN_RANKS][T3_COUNTER_COUNT];
	uint32_t logged[DRAWN_RANKS];
	struct host_log log[DRAWN_RANKS][HOST_LOG];
};

/* Two epochs of a reduce-scatter; every link has faults at 1 of 32 packets. */
static void drawn(uint64_t seed, struct outcome *outcome)
{
	struct host *host = host_ring(DRAWN_RANKS);
	struct ring ring = ring_open(host, 0, T3_DTYPE_I32);
	struct t3_cmd_inject what = { .kind = T3_INJECT_LINK_RANDOM, .nth = 2048, .value = seed };
	uint32_t epoch, i;

	for (i = 0; i < DRAWN_RANKS * 2; i++) {
		what.rank = i / 2;
		what.peer = (i / 2 + 1 + i % 2) % DRAWN_RANKS;
		assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	}
	for (epoch = 1; epoch <= 2; epoch++) {
		ring_arm(&ring, epoch);
		for (i = 0; i < DRAWN_RANKS; i++)
			ring_produce(&ring, i, epoch, i % 2);
		ring_expect_state(&ring, T3_SPACE_COMPLETE, epoch);
		ring_expect_sums(&ring, epoch);
		ring_release(&ring, epoch);
	}
	memset(outcome, 0, sizeof(*outcome));
	outcome->now = t3_fabric_now(host->fabric);
	for (i = 0; i < DRAWN_RANKS; i++) {
		memcpy(outcome->counter[i], t3_dev_counters(host->dev[i].dev),
		       sizeof(outcome->counter[i]));
		outcome->logged[i] = host->dev[i].logged;
		memcpy(outcome->log[i], host->dev[i].log, sizeof(outcome->log[i]));
	}
	host_free(host);
}

/* The same seed gives the same run, event by event; another does not. */
TEST("a seed gives the same run again")
{
	struct outcome *first = calloc(3, sizeof(*first));
	uint32_t different = 0;
	uint64_t seed;

	assert_non_null(first);
	for (seed = 0; seed < 20; seed++) {
		drawn(seed, &first[0]);
		drawn(seed, &first[1]);
		drawn(seed + 1, &first[2]);
		assert_memory_equal(&first[0], &first[1], sizeof(*first));
		different += first[0].now != first[2].now;
		assert_true(first[0].counter[0][T3_COUNTER_INJECTED] +
				    first[0].counter[1][T3_COUNTER_INJECTED] >
			    0);
	}
	assert_true(different > 15);
	free(first);
}

/* ------------------------------------------------------- interrupts and DMA */

static struct host *lone(void)
{
	struct host *host = host_ring(2);

	host_space(&host->dev[0], 0);
	host_local(&host->dev[0], 0, 0);
	host_set(&host->dev[0], T3_REG_SPACE_PENDING, ~0u, 4);
	host_set(&host->dev[0], T3_REG_SPACE_ENABLE, 1, 4);
	return host;
}

/* Each round is one interrupt: ARMED, COMPLETE and IDLE come without a look between. */
TEST("a lost interrupt is the counted one")
{
	struct host *host = lone();
	struct host_dev *a = &host->dev[0];
	struct t3_cmd_inject what = { .kind = T3_INJECT_LOSE_IRQ, .nth = 2, .count = 3 };
	static const uint32_t sent[] = { 1, 1, 1, 1, 2, 3 };
	uint32_t round;

	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
	for (round = 0; round < 6; round++) {
		host_arm(a, 0, round + 1);
		host_fill(a, 0, 0, 1);
		host_release(a, 0, round + 1);
		host_expect(a, 0, T3_SPACE_IDLE, round + 1);
		host_set(a, T3_REG_SPACE_PENDING, 1, 4);
		assert_int_equal(a->irqs[0], sent[round]);
		assert_int_equal(host_counter(a, T3_COUNTER_INTERRUPTS), round + 1);
	}
	assert_int_equal(host_counter(a, T3_COUNTER_INJECTED), 3);
	host_free(host);
}

/* ---------------------------------------------------------------- arguments */

struct refused {
	struct t3_cmd_inject what;
	uint32_t status;
};

/* What a guest cannot say, and exact ends; the conformance suite has the others. */
static const struct refused refused[] = {
	{ { .kind = T3_INJECT_KIND_COUNT, .peer = 1 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = ~0u, .peer = 1 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_LINK_DOWN, .rank = 32, .peer = 1 }, T3_ADMIN_NO_ROUTE },
	{ { .kind = T3_INJECT_LINK_UP, .peer = ~0u }, T3_ADMIN_NO_ROUTE },
	{ { .kind = T3_INJECT_LINK_DOWN, .peer = 1, .count = 1 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_POISON, .rank = 2, .value = 64 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_POISON, .peer = 1, .value = 64 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_POISON, .address = 64, .value = 65 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_POISON, .address = HOST_MEMORY, .value = 64 }, T3_ADMIN_BAD_RANGE },
	{ { .kind = T3_INJECT_UNPOISON, .address = 64 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_UNPOISON, .address = ~63ull, .value = 64 }, T3_ADMIN_BAD_RANGE },
	{ { .kind = T3_INJECT_LOSE_IRQ, .nth = 1 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_FAIL_DMA, .rank = ~0u, .nth = 1, .count = 1 }, T3_ADMIN_BAD_VALUE },
	{ { .kind = T3_INJECT_UNHANG_QUEUE, .peer = 3, .nth = 1 }, T3_ADMIN_BAD_VALUE },
};

TEST("wrong arguments of an injection are refused")
{
	struct host *host = host_ring(2);
	struct t3_cmd_inject good = { .kind = T3_INJECT_LINK_UP, .peer = 1 };
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_int_equal(inject(host, &refused[i].what), refused[i].status);
	assert_int_equal(inject(host, &good), T3_ADMIN_OK);
	host_free(host);
}

#define PENDING 64u

/* All that is pending at a rank. */
static uint32_t pending(struct host *host, uint32_t rank, struct t3_cmd_inject *list)
{
	uint32_t count = 0, at = 0;

	memset(list, 0, PENDING * sizeof(*list));
	while (count < PENDING && (at = t3_fabric_next_injection(host->fabric, rank, at,
								 &list[count])) != HOST_NONE32) {
		at++;
		count++;
	}
	return count;
}

static void inject_numbered(struct host *host, uint32_t kind, uint32_t rank, uint32_t peer,
			    uint32_t number)
{
	struct t3_cmd_inject what = {
		.kind = kind, .rank = rank, .peer = peer, .nth = 10 + number, .count = 3 + number
	};

	if (kind == T3_INJECT_DELAY)
		what.value = 100 + number;
	assert_int_equal(inject(host, &what), T3_ADMIN_OK);
}

/* Each kind, with numbers of its own, is pending after a migration as before. */
TEST("injections of each kind migrate")
{
	static struct t3_cmd_inject before[PENDING], after[PENDING];
	struct host *host = host_ring(3);
	uint32_t rank, kind, number = 0, count;

	for (rank = 0; rank < 3; rank++) {
		for (kind = T3_INJECT_DROP; kind <= T3_INJECT_DROP_RESPONSE; kind++) {
			inject_numbered(host, kind, rank, (rank + 1) % 3, number++);
			inject_numbered(host, kind, rank, (rank + 2) % 3, number++);
		}
		inject_numbered(host, T3_INJECT_LOSE_IRQ, rank, 0, number++);
		inject_numbered(host, T3_INJECT_FAIL_DMA, rank, 0, number++);
	}
	for (rank = 0; rank < 3; rank++) {
		count = pending(host, rank, before);
		assert_int_equal(count, number / 3);
		host_migrate(host, 0);
		assert_int_equal(pending(host, rank, after), count);
		assert_memory_equal(before, after, sizeof(before));
	}
	host_free(host);
}
