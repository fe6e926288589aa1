/* SPDX-License-Identifier: MIT */
/*
 * Bursts: packets of a tile that share their events. SPEC.md section 6.1. A fault that is injected and
 * never comes makes a link send single packets, which all is compared with.
 */
#include "host.h"
#include "link/link.h"
#include "migrate.h"
#include "seeds.h"
#include "test.h"

#define BYTES  0x10000u /* of rank 0's segment: tiles of one row or more */
#define TILES  256u	/* of each segment at most */
#define NEVER  0xffffffffu
#define EVENTS 100000u

struct pair {
	uint32_t rows;			    /* of rank 0's segment */
	uint32_t from_row_bytes, from_rows; /* of its tiles */
	uint32_t tile_row_bytes, tile_rows; /* of rank 1's */
	uint32_t row_bytes, to_rows;	    /* the same: fewer than rank 0's are too small */
	uint32_t updates;		    /* of rank 1's elements: 1 is one too few for two */
	uint64_t poison;		    /* in rank 1's memory; 0: none */
	bool staged;			    /* REMOTE, and a doorbell; else DMA, and stores */
};

static const struct pair plain = {
	.rows = 1,
	.from_row_bytes = BYTES,
	.from_rows = 1,
	.tile_row_bytes = BYTES,
	.tile_rows = 1,
	.row_bytes = BYTES,
	.to_rows = 1,
	.updates = 1,
	.staged = true,
};

/* Rows of `bytes` bytes, in tiles that have `tile` of each, of `tile_rows` rows; the same on both ranks. */
static struct pair of_rows(uint32_t bytes, uint32_t tile, uint32_t tile_rows)
{
	struct pair pair = plain;

	pair.rows = pair.to_rows = BYTES / bytes;
	pair.row_bytes = bytes;
	pair.from_row_bytes = pair.tile_row_bytes = tile;
	pair.from_rows = pair.tile_rows = tile_rows;
	return pair;
}

/* One row; rows of half a packet; rows of a packet and a half, not all of which are in one piece. */
static struct pair shape(uint32_t number)
{
	if (number == 0)
		return plain;
	return number == 1 ? of_rows(512, 512, 128) : of_rows(8192, 1536, 8);
}

#define SHAPES 3

/* Small integers, whose sums are exact. */
static void fill(uint8_t *to)
{
	uint32_t i;

	for (i = 0; i < BYTES / 4; i++)
		memcpy(to + (size_t)4 * i, &(uint32_t){ i * 7 + 1 }, 4);
}

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
	return (a + b - 1) / b;
}

static uint32_t tiles(const struct t3_cmd_seg_map *map)
{
	return ceil_div(map->rows, map->tile_rows) * ceil_div(map->row_bytes, map->tile_row_bytes);
}

/* Rank 0's space 0 is armed, and has all that it will send. Nothing has been sent. */
static struct host *host_of(const struct pair *pair, bool alone)
{
	struct t3_cmd_seg_map from = host_segment(0, 0, pair->staged ? T3_SEG_REMOTE : T3_SEG_DMA,
						  T3_OP_ADD, T3_DTYPE_I32),
			      to;
	struct t3_cmd_seg_staging staging = { .address = HOST_STAGING,
					      .slot_stride = BYTES,
					      .slots = 1 };
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t i;

	from.rows = pair->rows;
	from.tile_rows = pair->from_rows;
	from.row_bytes = from.pitch = BYTES / pair->rows;
	from.tile_row_bytes = pair->from_row_bytes;
	to = from;
	to.kind = T3_SEG_LOCAL;
	to.op = T3_OP_ADD;
	to.routes = to.target_op = 0;
	to.rows = pair->to_rows;
	to.row_bytes = pair->row_bytes;
	to.tile_row_bytes = pair->tile_row_bytes;
	to.tile_rows = pair->tile_rows;
	to.updates = pair->updates;
	host_space(a, 0);
	host_space(b, 0);
	host_connect(a, b, 0);
	host_map(a, &from);
	host_map(b, &to);
	if (pair->staged)
		assert_int_equal(host_command(a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
				 T3_ADMIN_OK);
	host_arm(b, 0, 1);
	host_arm(a, 0, 1);
	host_drain(host);
	if (pair->poison)
		host_poison(b, pair->poison, T3_POISON_GRANULE);
	if (alone)
		assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP, NEVER));
	t3_fabric_set_inline_budget(host->fabric, 0);
	fill(a->memory + HOST_STAGING);
	for (i = 0; pair->staged && i < tiles(&from); i++)
		host_tile(a, 0, 0, 0, i);
	for (i = 0; !pair->staged && i < BYTES / 4; i++)
		host_store(a, 0, (uint64_t)i * 4, (uint64_t)i * 7 + 1, 4);
	return host;
}

static struct t3_link *link_of(const struct host *host)
{
	return host->fabric->link[0][1];
}

/* Until the wire has packets. */
static void send(struct host *host)
{
	while (link_of(host)->deliver == link_of(host)->next)
		assert_true(t3_fabric_run(host->fabric, 1));
}

static uint32_t first_burst(const struct host *host)
{
	const struct t3_link *link = link_of(host);

	return link->slot[link->deliver % T3_LINK_SLOTS].packets;
}

static void expect_done(struct host *host)
{
	uint8_t want[BYTES];

	fill(want);
	host_drain(host);
	host_expect(&host->dev[0], 0, T3_SPACE_COMPLETE, 1);
	host_expect(&host->dev[1], 0, T3_SPACE_COMPLETE, 1);
	assert_memory_equal(host_buffer(&host->dev[1], 0), want, BYTES);
	assert_int_equal(host_counter(&host->dev[0], T3_COUNTER_LINK_TX_PACKETS),
			 host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS));
	host_free(host);
}

/* As many as there have to be, and not many more. */
static void expect_bursts(const struct pair *pair, uint64_t packets, uint32_t most)
{
	struct host *host = host_of(pair, false);
	uint64_t before = host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS), came = 0;
	uint32_t event, bursts = 0;

	send(host);
	assert_int_equal(first_burst(host), T3_LINK_BURST);
	for (event = 0; came < packets && event < EVENTS; event++) {
		uint64_t now;

		assert_true(t3_fabric_run(host->fabric, 1));
		now = host_counter(&host->dev[1], T3_COUNTER_LINK_RX_PACKETS) - before;
		bursts += now - came > 1;
		assert_in_range(now - came, 0, T3_LINK_BURST);
		came = now;
	}
	assert_in_range(bursts, packets / T3_LINK_BURST, most);
	expect_done(host);
}

TEST("a row leaves in bursts, and one event takes in a burst")
{
	expect_bursts(&plain, BYTES / T3_PACKET_PAYLOAD, 6);
}

TEST("rows of a tile leave in bursts, and one event takes in several of them")
{
	struct pair half = of_rows(512, 512, 128), wide = of_rows(2048, 512, 32),
		    two = of_rows(8192, 1536, 8);

	expect_bursts(&half, 128, 11);
	expect_bursts(&wide, 128, 11);
	expect_bursts(&two, 88, 11); /* five tiles of two packets a row, and one of one */
}

TEST("a burst takes the time of its packets")
{
	uint64_t end[2];
	uint32_t alone, number;

	for (number = 0; number < SHAPES; number++) {
		struct pair pair = shape(number);

		for (alone = 0; alone < 2; alone++) {
			struct host *host = host_of(&pair, alone);
			uint64_t begin = host->fabric->clock.now;

			while (link_of(host)->next - link_of(host)->una <
			       T3_LINK_SLOTS - T3_LINK_RESERVE)
				assert_true(t3_fabric_run(host->fabric, 1));
			end[alone] = link_of(host)->busy - begin;
			expect_done(host);
		}
		assert_int_equal(end[0], end[1]);
	}
}

/* A packet has one row's bytes, also where those of several rows would fit in. */
TEST("a burst of short rows counts packets, not bytes")
{
	struct pair pair = of_rows(64, 64, 1024);
	struct host *host = host_of(&pair, false);
	const struct t3_packet *first;

	send(host);
	first = &link_of(host)->slot[0].packet;
	assert_int_equal(first_burst(host), T3_LINK_BURST);
	assert_int_equal(first->length, T3_LINK_BURST * 64);
	assert_int_equal(first->arg, 64);
	host_drain(host);
	assert_int_equal(host_stats(&host->dev[0], 0, 0).link_bytes,
			 BYTES + BYTES / 64 * sizeof(struct t3_packet));
	host_free(host);
}

/* ------------------------------------------------------------------ single packets */

/* Parts of a segment: at most TILES of them, in one row or in several. */
static void draw_tile(uint64_t *random, const struct pair *pair, uint32_t *row_bytes,
		      uint32_t *rows)
{
	static const uint32_t parts[] = { 1, 2, 3, 5, 8, 31 };
	uint32_t across = parts[host_below(random, 6)], least;

	*row_bytes = ceil_div(pair->row_bytes / 4, across) * 4;
	least = ceil_div(pair->rows * ceil_div(pair->row_bytes, *row_bytes), TILES);
	*rows = least + host_below(random, pair->rows - least + 1);
}

/* Half of the pairs have the same tiles on both ranks. */
static struct pair draw(uint64_t *random)
{
	struct pair pair = plain;

	pair.rows = pair.to_rows = 1u << host_below(random, 10);
	pair.row_bytes = BYTES / pair.rows;
	draw_tile(random, &pair, &pair.tile_row_bytes, &pair.tile_rows);
	pair.from_row_bytes = pair.tile_row_bytes;
	pair.from_rows = pair.tile_rows;
	if (host_below(random, 2))
		draw_tile(random, &pair, &pair.from_row_bytes, &pair.from_rows);
	pair.staged = host_below(random, 4);
	return pair;
}

static void compare(struct host *bursts, struct host *alone)
{
	uint32_t rank, i;

	for (rank = 0; rank < 2; rank++) {
		for (i = 0; i < T3_COUNTER_COUNT; i++)
			if (host_counter(&bursts->dev[rank], i) !=
			    host_counter(&alone->dev[rank], i))
				fail_msg("counter %u of rank %u: %llu and %llu", i, rank,
					 (unsigned long long)host_counter(&bursts->dev[rank], i),
					 (unsigned long long)host_counter(&alone->dev[rank], i));
		assert_memory_equal(bursts->dev[rank].memory, alone->dev[rank].memory, HOST_MEMORY);
	}
}

TEST_WITH("bursts change no result and no counter", NULL, seeds_report)
{
	uint64_t seed;

	for_each_seed(seed, 200)
	{
		uint64_t random = seed;
		struct pair pair = draw(&random);
		struct host *bursts = host_of(&pair, false), *alone = host_of(&pair, true);

		host_drain(bursts);
		host_drain(alone);
		compare(bursts, alone);
		expect_done(bursts);
		expect_done(alone);
	}
}

/* Each element of rank 1 is there as a whole or not at all. */
static void expect_part(struct host *host)
{
	const uint8_t *have = host_buffer(&host->dev[1], 0);
	uint8_t want[BYTES];
	uint32_t i;

	fill(want);
	for (i = 0; i < BYTES; i += 4)
		if (memcmp(have + i, want + i, 4) && memcmp(have + i, "\0\0\0", 4))
			fail_msg("the element at %u is neither what was sent nor 0", i);
}

/* Below the last row of rank 1's segment. */
static void expect_untouched(struct host *host, uint32_t from)
{
	uint32_t i;

	for (i = from; i < BYTES; i++)
		assert_int_equal(host_buffer(&host->dev[1], 0)[i], 0);
}

/* Rows of rank 1 are too few, or too short. The counts of its tiles need not say so. */
static void shrink(uint64_t *random, struct pair *pair)
{
	if (pair->rows > 1 && host_below(random, 2))
		pair->to_rows = 1 + host_below(random, pair->rows - 1);
	else
		pair->row_bytes = 4 + host_below(random, pair->row_bytes / 4 - 1) * 4;
	if (pair->tile_row_bytes > pair->row_bytes)
		pair->tile_row_bytes = pair->row_bytes;
	if (pair->tile_rows > pair->to_rows)
		pair->tile_rows = pair->to_rows;
	pair->updates = 1 + host_below(random, 2);
}

/* How much is sent until the sender knows is a matter of time: more of it, if it is not poisoned. */
TEST_WITH("what is refused of a burst is what would be refused alone", NULL, seeds_report)
{
	uint64_t seed;

	for_each_seed(seed, 200)
	{
		uint64_t random = seed;
		struct pair pair = draw(&random);
		struct host *host[2];
		struct t3_fault_record record[2][2];
		uint32_t alone, rank;

		if (seed % 2)
			pair.poison = (1 + host_below(&random, BYTES / T3_POISON_GRANULE - 1)) *
				      T3_POISON_GRANULE;
		else
			shrink(&random, &pair);
		for (alone = 0; alone < 2; alone++) {
			host[alone] = host_of(&pair, alone);
			host_drain(host[alone]);
			for (rank = 0; rank < 2; rank++) {
				record[alone][rank] = host_area(&host[alone]->dev[rank], 0)->fault;
				record[alone][rank].vtime = 0;
			}
		}
		assert_int_equal(host_state(&host[0]->dev[0], 0), T3_SPACE_FAULTED);
		assert_memory_equal(record[0], record[1], sizeof(record[0]));
		if (pair.poison)
			assert_memory_equal(host_buffer(&host[0]->dev[1], 0),
					    host_buffer(&host[1]->dev[1], 0), BYTES);
		expect_part(host[0]);
		expect_untouched(host[0], pair.to_rows * (BYTES / pair.rows));
		host_free(host[0]);
		host_free(host[1]);
	}
}

/* The target's last tile is cut off there, and its count would take more. */
TEST("a burst that goes below the last row ends there")
{
	struct pair pair = of_rows(512, 512, 64);
	struct host *host;
	uint8_t want[BYTES];

	pair.to_rows = 100;
	pair.updates = 2;
	host = host_of(&pair, false);
	host_drain(host);
	fill(want);
	assert_int_equal(host_state(&host->dev[0], 0), T3_SPACE_FAULTED);
	assert_memory_equal(host_buffer(&host->dev[1], 0), want, 100 * 512);
	expect_untouched(host, 100 * 512);
	host_free(host);
}

/* ------------------------------------------------------------------------- ends */

TEST("an injected fault ends the bursts under way, and hits one packet")
{
	uint32_t nth, events;

	for (nth = 1; nth <= 40; nth += 2) {
		for (events = 0; events < 6; events++) {
			struct pair pair = shape(nth % SHAPES);
			struct host *host = host_of(&pair, false);

			send(host);
			t3_fabric_run(host->fabric, events);
			assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP, nth));
			assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP_RESPONSE, nth));
			if (link_of(host)->deliver < link_of(host)->next)
				assert_int_equal(first_burst(host), 1);
			expect_done(host);
		}
	}
}

TEST("after a fault has struck, bursts go on")
{
	struct host *host = host_of(&plain, false);

	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP, 1));
	send(host);
	assert_int_equal(first_burst(host), 1);
	while (first_burst(host) == 1 && link_of(host)->next < BYTES / T3_PACKET_PAYLOAD)
		assert_true(t3_fabric_run(host->fabric, 1));
	assert_false(t3_link_any_injected(link_of(host)));
	expect_done(host);
}

TEST("a link that gives up drops each packet of a burst")
{
	struct t3_fault_record want = { T3_FAULT_LINK, 0, 0, HOST_NONE32, HOST_NONE64, 0, 1, 0 };
	struct pair pair = of_rows(512, 512, 128);
	struct host *host = host_of(&pair, false);

	send(host);
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_LINK_DOWN, 1));
	host_drain(host);
	host_expect_fault(&host->dev[0], 0, &want);
	assert_int_equal(host_query(&host->dev[0], 0).in_flight, 0);
	host_free(host);
}

static void expect_whole_bursts(const struct pair *pair)
{
	struct host *host = host_of(pair, false);
	uint32_t event;

	for (event = 0; event < EVENTS && host_state(&host->dev[0], 0) == T3_SPACE_ARMED; event++) {
		const struct t3_link *link = link_of(host);
		uint64_t seq;

		for (seq = link->una; seq < link->next; seq = t3_link_after(link, seq))
			assert_true(seq % T3_LINK_SLOTS + link->slot[seq % T3_LINK_SLOTS].packets <=
				    T3_LINK_SLOTS);
		t3_fabric_run(host->fabric, 1);
	}
	expect_done(host);
}

TEST("a burst stops where the slots begin again")
{
	uint32_t number;

	for (number = 0; number < SHAPES; number++) {
		struct pair pair = shape(number);

		expect_whole_bursts(&pair);
	}
}

TEST("a burst under way is saved, and goes on elsewhere")
{
	uint32_t events;

	for (events = 0; events < 36; events++) {
		struct pair pair = shape(events % SHAPES);
		struct host *host = host_of(&pair, false), *other;

		send(host);
		t3_fabric_run(host->fabric, events / SHAPES);
		other = host_clone(host);
		t3_fabric_set_inline_budget(other->fabric, 0);
		expect_done(other);
		expect_done(host);
	}
}

/* Two spaces of two clients send on one link. */
TEST("a client that waits is no longer behind than one packet")
{
	struct host *host = host_ring(2);
	struct host_dev *a = &host->dev[0], *b = &host->dev[1];
	uint32_t space, event;

	for (space = 0; space < 2; space++) {
		struct t3_cmd_space_create create = host_space_args(space);
		struct t3_cmd_seg_map from = host_segment(space, 0, T3_SEG_REMOTE, T3_OP_ADD,
							  T3_DTYPE_I32),
				      to;
		struct t3_cmd_seg_staging staging = {
			.space = space, .address = HOST_STAGING, .slot_stride = BYTES, .slots = 1
		};

		create.client = space;
		assert_int_equal(host_command(a, T3_CMD_SPACE_CREATE, &create, sizeof(create)),
				 T3_ADMIN_OK);
		host_space(b, space);
		host_connect(a, b, space);
		from.rows = from.tile_rows = 1;
		from.row_bytes = from.pitch = from.tile_row_bytes = BYTES;
		to = from;
		to.kind = T3_SEG_LOCAL;
		to.op = T3_OP_ADD;
		to.routes = to.target_op = 0;
		host_map(a, &from);
		host_map(b, &to);
		assert_int_equal(host_command(a, T3_CMD_SEG_STAGING, &staging, sizeof(staging)),
				 T3_ADMIN_OK);
		host_arm(b, space, 1);
		host_arm(a, space, 1);
	}
	host_drain(host);
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (space = 0; space < 2; space++)
		host_tile(a, space, 0, 0, 0);
	for (event = 0; event < EVENTS && host_counter(b, T3_COUNTER_LINK_RX_PACKETS) < 40;
	     event++) {
		t3_fabric_run(host->fabric, 1);
		if (link_of(host)->deliver < link_of(host)->next)
			assert_int_equal(first_burst(host), 1);
	}
	host_drain(host);
	host_expect(a, 0, T3_SPACE_COMPLETE, 1);
	host_expect(a, 1, T3_SPACE_COMPLETE, 1);
	host_free(host);
}
