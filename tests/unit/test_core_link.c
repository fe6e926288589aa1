/* SPDX-License-Identifier: MIT */
/* Links that lose, repeat and end: SPEC.md section 6.1. */
#include "host.h"
#include "link/link.h"
#include "ring.h"
#include "test.h"

static uint64_t sum(struct host *host, enum t3_counter_id id)
{
	uint64_t total = 0;
	uint32_t r;

	for (r = 0; r < host->ranks; r++)
		total += host_counter(&host->dev[r], id);
	return total;
}

/* One whole reduce-scatter with one injected fault: nothing may differ. */
static void run_injected(enum t3_inject_kind what, uint32_t nth, bool staged)
{
	struct host *host = host_ring(3);
	struct ring ring = ring_of(host, 0, T3_DTYPE_F16);
	uint32_t epoch, r;

	ring_create(&ring);
	ring_connect(&ring);
	assert_true(host_inject(host->fabric, 1, 2, what, nth));
	for (epoch = 1; epoch <= 2; epoch++) {
		ring_arm(&ring, epoch);
		for (r = 0; r < 3; r++)
			ring_produce(&ring, r, epoch, staged);
		ring_expect_state(&ring, T3_SPACE_COMPLETE, epoch);
		ring_expect_sums(&ring, epoch);
		ring_release(&ring, epoch);
	}
	ring_expect_counts(&ring, 2, staged);
	if (what == T3_INJECT_DUPLICATE)
		assert_int_equal(sum(host, T3_COUNTER_LINK_RETRIES), 0);
	else
		assert_true(host_counter(&host->dev[1], T3_COUNTER_LINK_RETRIES) > 0);
	/* What came behind a loss was not taken: coming again it is no duplicate. */
	if (what == T3_INJECT_DROP)
		assert_int_equal(sum(host, T3_COUNTER_LINK_DUPLICATES), 0);
	else
		assert_true(host_counter(&host->dev[2], T3_COUNTER_LINK_DUPLICATES) > 0);
	assert_int_equal(sum(host, T3_COUNTER_LINK_TX_PACKETS),
			 sum(host, T3_COUNTER_LINK_RX_PACKETS));
	assert_int_equal(sum(host, T3_COUNTER_LINK_TX_BYTES), sum(host, T3_COUNTER_LINK_RX_BYTES));
	assert_int_equal(host_reg(&host->dev[1], T3_REG_ERROR_STATUS), 0);
	host_free(host);
}

TEST("lost, doubled and unanswered packets are made good")
{
	uint32_t nth;

	for (nth = 1; nth <= 12; nth++) {
		run_injected(T3_INJECT_DROP, nth, nth % 2);
		run_injected(T3_INJECT_DUPLICATE, nth, nth % 2);
		run_injected(T3_INJECT_DROP_RESPONSE, nth, nth % 2);
	}
}

static void expect_burst(struct host *host, uint32_t rows)
{
	uint32_t i;

	host_expect(&host->dev[0], 0, T3_SPACE_COMPLETE, 1);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < rows; i++)
		assert_int_equal(host_load(&host->dev[1], 0, i * 8, 8), i);
	host_free(host);
}

/* More packets than slots, losses in the middle of the window, some of them again. */
TEST("losses in the middle of the window are made good")
{
	uint32_t nth;

	for (nth = 1; nth <= 200; nth += 9) {
		struct host *host = host_burst(100);

		host_inject(host->fabric, 0, 1, T3_INJECT_DROP, nth);
		host_inject(host->fabric, 0, 1, T3_INJECT_DROP_RESPONSE, nth / 2 + 1);
		host_inject(host->fabric, 0, 1, T3_INJECT_DUPLICATE, nth / 3 + 1);
		host_drain(host);
		expect_burst(host, 100);
	}
}

/* The fifth of 20 packets is lost: it and what came behind it come again, once. */
TEST("a gap is filled once")
{
	struct host *host = host_burst(20);

	host_inject(host->fabric, 0, 1, T3_INJECT_DROP, 5);
	host_drain(host);
	assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_LINK_RETRIES), 16);
	assert_int_equal(host_counter(&host->dev[1], T3_COUNTER_LINK_DUPLICATES), 0);
	expect_burst(host, 20);
}

/* Packets carry the low half of a sequence number. Losses are made good where it wraps, too. */
TEST("sequence numbers wrap around")
{
	const uint64_t first = (1ull << 32) - 10;
	uint32_t nth;

	for (nth = 1; nth <= 25; nth += 4) {
		struct host *host = host_burst(100);
		struct t3_link *link = host->fabric->link[0][1];

		assert_true(link->una == link->next && link->deliver == link->next);
		link->una = link->next = link->deliver = link->receiver.expect = first;
		link->receiver.incarnation = link->incarnation;
		host_inject(host->fabric, 0, 1, T3_INJECT_DROP, nth);
		host_inject(host->fabric, 0, 1, T3_INJECT_DROP_RESPONSE, nth / 2 + 1);
		host_drain(host);
		assert_true(link->una > 1ull << 32);
		expect_burst(host, 100);
	}
}

/* A link whose oldest packet has no response gives up, although a later one has its own. */
TEST("a later response does not stand for an earlier one")
{
	struct host *host = host_burst(2);
	struct t3_link *link = host->fabric->link[0][1];
	struct t3_fault_record want = { T3_FAULT_LINK, 0, 0, HOST_NONE32, HOST_NONE64, 0, 1, 0 };
	uint32_t event;

	while (link->next - link->una < 2)
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1));
	for (event = 0; event < 1000 && host_state(&host->dev[0], 0) != T3_SPACE_FAULTED; event++) {
		t3_link_response(link, link->incarnation, (uint32_t)link->una + 1, 1, T3_NAK_NONE);
		t3_fabric_run(host->fabric, 1);
	}
	host_expect_fault(&host->dev[0], 0, &want);
	host_free(host);
}

/* The engine leaves 16 slots to stores; what is in flight is bounded. */
TEST("the engine leaves slots to stores")
{
	struct host *host = host_burst(200);
	uint32_t most = 0, in_flight;

	do {
		in_flight = host_query(&host->dev[0], 0).in_flight;
		if (in_flight > most)
			most = in_flight;
	} while (t3_fabric_run(host->fabric, 1));
	assert_int_equal(most, 48);
	expect_burst(host, 200);
}

/* Published figures: 72 bytes take 1 ns of wire and 500 ns of way; so does the answer. */
TEST("packets take the published times")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_cmd_seg_map map = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	uint64_t start;

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_map(a, &map);
	host_local(b, 0, 0);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	start = host_get(a, T3_REG_VCLOCK, 8);
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_store(a, 0, 0, 1, 8);
	assert_int_equal(host_get(a, T3_REG_VCLOCK, 8), start); /* reading moves nothing */
	while (!host_stats(b, 0, 0).remote_bytes)
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_int_equal(host_get(b, T3_REG_VCLOCK, 8) - start, 501);
	host_drain(host);
	assert_int_equal(host_get(b, T3_REG_VCLOCK, 8) - start, 1001);
	assert_int_equal(t3_fabric_now(host->fabric) - start, 1001);
	host_free(host);
}

/* No answer: sent once, again 7 times, then LINK; the device and others live on. */
TEST("a link that is down gives up after its retries")
{
	struct host *host = host_ring(3);
	struct ring ring = ring_of(host, 0, T3_DTYPE_I32);
	struct host_dev *a = &host->dev[0];
	struct t3_fault_record want = { T3_FAULT_LINK, 0, 2, HOST_NONE32, HOST_NONE64, 0, 1, 0 };
	uint64_t start;

	ring_create(&ring);
	ring_connect(&ring);
	host_space(a, 1);
	host_local(a, 1, 0);
	host_arm(a, 1, 1);
	ring_arm(&ring, 1);
	host_set(a, T3_REG_ERROR_ENABLE, T3_ERROR_LINK, 4);
	start = t3_fabric_now(host->fabric);
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1));
	t3_fabric_set_inline_budget(host->fabric, 0);
	host_store(a, 0, 0x800, 1, 4); /* chunk 2 is REMOTE here */
	while (host_state(a, 0) == T3_SPACE_ARMED)
		assert_true(t3_fabric_run(host->fabric, 1));
	host_expect_fault(a, 0, &want);
	assert_int_equal(t3_fabric_now(host->fabric) - start, 80000);
	assert_int_equal(host_counter(a, T3_COUNTER_LINK_RETRIES), 7);
	assert_int_equal(host_reg(a, T3_REG_ERROR_STATUS), T3_ERROR_LINK);
	assert_int_equal(a->irqs[0], 1);
	host_drain(host);
	assert_int_equal(host_query(a, 0).in_flight, 0);
	/* POISON is lost with the link: rank 1 hears it from the other side. */
	host_expect_peer_fault(&host->dev[2], 0, T3_FAULT_PEER_DEAD, 0);
	host_expect_peer_fault(&host->dev[1], 0, T3_FAULT_PEER_DEAD, 2);
	host_expect(a, 1, T3_SPACE_ARMED, 1);
	t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 0));
	ring_disconnect(&ring);
	ring_connect(&ring);
	ring_arm(&ring, 5);
	ring_produce(&ring, 0, 5, true);
	ring_produce(&ring, 1, 5, false);
	ring_produce(&ring, 2, 5, true);
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 5);
	ring_expect_sums(&ring, 5);
	host_free(host);
}

/* The question of arming is lost: a faults, it does not wait for its deadline. */
TEST("a lost question of arming faults the space")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_fault_record want = { T3_FAULT_LINK, 0, HOST_NONE32, HOST_NONE32,
					HOST_NONE64,   0, 1,	       0 };

	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1);
	host_arm(a, 0, 1);
	host_expect_fault(a, 0, &want);
	host_free(host);
}

/*
 * "Every space that had one in flight faults LINK": also when it was STATE, else
 * the source would stay ARMING for ever and nobody would say why.
 */
TEST("a lost state message faults its sender")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	struct t3_fault_record want = { T3_FAULT_LINK, 0, HOST_NONE32, HOST_NONE32,
					HOST_NONE64,   0, 0,	       0 };

	host_space(a, 0);
	host_space(b, 0);
	host_local(b, 0, 0);
	host_connect(a, b, 0);
	host_inject(host->fabric, 1, 0, T3_INJECT_LINK_DOWN, 1);
	host_arm(b, 0, 1);
	host_expect_fault(b, 0, &want);
	assert_int_equal(host_reg(b, T3_REG_ERROR_STATUS), T3_ERROR_LINK);
	host_free(host);
}

/* The peer goes on from the link's next number after its own loss of memory. */
TEST("a link goes on after its peer's reset")
{
	struct host *host = host_ring(2);
	struct ring ring = ring_of(host, 0, T3_DTYPE_BF16);
	uint32_t round, r;

	for (round = 0; round < 4; round++) {
		ring_create(&ring);
		ring_connect(&ring);
		ring_arm(&ring, 1);
		t3_fabric_set_inline_budget(host->fabric, 3);
		ring_produce(&ring, 0, 1, true);
		t3_fabric_set_inline_budget(host->fabric, T3_INLINE_BUDGET);
		if (round < 3)
			t3_dev_reset(host->dev[round % 2].dev); /* with packets in flight */
		else
			ring_produce(&ring, 1, 1, false);
		host_drain(host);
		if (round == 3)
			break;
		for (r = 0; r < 2; r++)
			if (host_query(&host->dev[r], 0).state != T3_SPACE_FREE)
				host_destroy(&host->dev[r], 0);
	}
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(&ring, 1);
	host_free(host);
}

TEST("wrong injections are refused")
{
	struct host *host = host_ring(3);

	assert_false(host_inject(host->fabric, 0, 0, T3_INJECT_DROP, 1));
	assert_false(host_inject(host->fabric, 0, 3, T3_INJECT_DROP, 1));
	assert_false(host_inject(host->fabric, 32, 0, T3_INJECT_DROP, 1));
	assert_false(host_inject(host->fabric, 0, 0xffffffff, T3_INJECT_DROP, 1));
	assert_false(host_inject(host->fabric, 0, 1, T3_INJECT_KIND_COUNT, 1));
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1));
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 0));
	host_free(host);
}

static uint64_t taken(struct host *host)
{
	return host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS);
}

/*
 * Packets of an incarnation that has ended are neither taken nor answered, whatever their sequence
 * number. Incarnations are compared as 32-bit numbers that wrap.
 */
TEST("packets of an ended incarnation are ignored")
{
	struct host *host = host_ring(2);
	struct t3_link *link = host->fabric->link[0][1];
	struct t3_packet packet = { .type = T3_PKT_ARM_QUERY, .dst_rank = 1 };
	static const uint32_t current[] = { 7, 0x7fffffffu, 0xffffffffu, 3 };
	static const uint32_t ended[] = { 6, 0, 0x80000000u, 0xfffffffeu };
	uint32_t i, receipts;

	for (i = 0; i < sizeof(current) / sizeof(current[0]); i++) {
		memset(&link->receiver, 0, sizeof(link->receiver));
		packet.incarnation = current[i];
		packet.sequence = 0;
		t3_receiver_take(link, &packet, NULL);
		host_drain(host);
		receipts = (uint32_t)taken(host);
		packet.incarnation = ended[i];
		for (packet.sequence = 0; packet.sequence < 3; packet.sequence++)
			t3_receiver_take(link, &packet, NULL);
		assert_int_equal(taken(host), receipts);
		assert_int_equal(host_counter(&host->dev[1], T3_COUNTER_LINK_DUPLICATES), 0);
		assert_int_equal(link->resp_count, 0);
		assert_int_equal(link->receiver.incarnation, current[i]);
	}
	host_free(host);
}

/* A response to an incarnation that has ended says nothing of the packet that has its number now. */
TEST("responses to an ended incarnation are ignored")
{
	struct host *host = host_burst(20);
	struct t3_link *link = host->fabric->link[0][1];

	while (link->una == link->next)
		assert_true(t3_fabric_run(host->fabric, 1));
	t3_link_response(link, link->incarnation - 1, (uint32_t)link->una, 1, T3_NAK_NO_GRANT);
	t3_link_response(link, link->incarnation + 1, (uint32_t)link->una, 1, T3_NAK_NO_GRANT);
	host_drain(host);
	expect_burst(host, 20);
}

/* A second response to a packet says nothing of the one 64 later, which has its slot. */
TEST("a second response says nothing of a later packet")
{
	struct t3_cmd_seg_map from = host_segment(0, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	struct t3_cmd_seg_map to = host_segment(0, 0, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	struct host *host;
	struct t3_link *link;
	uint32_t row;

	from.rows = to.rows = 1 + T3_LINK_SLOTS;
	host = host_pair(&from, &to, 0);
	link = host->fabric->link[0][1];
	for (row = 0; row < from.rows; row++) {
		host_store(&host->dev[0], 0, row * from.pitch, 1, 8);
		if (!row)
			host_drain(host);
	}
	assert_int_equal(link->next - link->una, T3_LINK_SLOTS);
	t3_link_response(link, link->incarnation, (uint32_t)link->una - 1, 1, T3_NAK_NO_GRANT);
	host_drain(host);
	assert_int_equal(host_state(&host->dev[0], 0), T3_SPACE_ARMED);
	assert_int_equal(host_stats(&host->dev[1], 0, 0).remote_bytes, 8 * from.rows);
	host_free(host);
}

/* A counted fault takes no random numbers: those of chance hit what they hit without it. */
TEST("counted faults leave those of chance alone")
{
	struct host *host = host_ring(2);
	struct t3_link *link = host->fabric->link[0][1];
	uint64_t random[2];
	uint32_t counted, kind, i;

	for (kind = T3_INJECT_DROP; kind <= T3_INJECT_DROP_RESPONSE; kind++) {
		for (counted = 0; counted < 2; counted++) {
			memset(&link->injected, 0, sizeof(link->injected));
			link->injected.chance = T3_INJECT_CHANCE / 2;
			link->injected.random = 1;
			if (counted)
				assert_true(host_inject(host->fabric, 0, 1, kind, 3));
			for (i = 0; i < 8; i++)
				if (kind == T3_INJECT_DELAY)
					t3_link_injected_delay(link, 0);
				else
					t3_link_injected(link, kind, 0);
			random[counted] = link->injected.random;
		}
		assert_int_equal(random[0], random[1]);
	}
	host_free(host);
}

/* A seed of which only draw `hit` of the first five is below one half. */
static uint64_t seed_of(uint32_t hit)
{
	uint64_t seed, random;
	uint32_t i, hits;

	for (seed = 1;; seed++) {
		random = seed;
		for (i = hits = 0; i < 5; i++)
			hits |= (t3_random_next(&random) >> 63 ? 0u : 1u) << i;
		if (hits == 1u << hit)
			return seed;
	}
}

/* Of a packet, the faults of chance are drawn in this order. So a seed says what happens. */
TEST("faults of chance are drawn in one order")
{
	enum { DELAY, REORDER, DROP, CORRUPT, DUPLICATE, KINDS } kind;

	for (kind = DELAY; kind < KINDS; kind++) {
		struct host *host = host_burst(1);
		struct host_dev *b = &host->dev[1];
		struct t3_link *link = host->fabric->link[0][1];
		uint64_t seed = seed_of(kind);

		while (link->una == link->next)
			assert_true(t3_fabric_run(host->fabric, 1));
		link->injected.chance = T3_INJECT_CHANCE / 2;
		link->injected.random = seed;
		while (link->injected.random == seed)
			assert_true(t3_fabric_run(host->fabric, 1));
		link->injected.chance = 0;
		assert_int_equal(link->held != T3_HELD_NOT, kind <= REORDER);
		assert_int_equal(link->held == T3_HELD_SWAP, kind == REORDER);
		assert_int_equal(host_counter(b, T3_COUNTER_LINK_ERRORS), kind == CORRUPT);
		assert_int_equal(host_counter(b, T3_COUNTER_LINK_RX_PACKETS), kind == DUPLICATE);
		assert_int_equal(host_counter(b, T3_COUNTER_LINK_DUPLICATES), kind == DUPLICATE);
		host_drain(host);
		expect_burst(host, 1);
	}
}

TEST("injected delays add up")
{
	struct host *host = host_ring(2);
	struct t3_link *link = host->fabric->link[0][1];
	uint64_t alone, both;

	link->injected.chance = T3_INJECT_CHANCE;
	link->injected.random = 1;
	alone = t3_link_injected_delay(link, 0);
	link->injected.random = 1;
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DELAY, 1));
	both = t3_link_injected_delay(link, 0);
	assert_true(alone > 0);
	assert_int_equal(both, alone + link->injected.delay);
	host_free(host);
}
