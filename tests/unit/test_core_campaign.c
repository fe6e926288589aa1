/* SPDX-License-Identifier: MIT */
/*
 * Fault campaigns: SPEC.md sections 6.4, 10 and 12. A small collective on a ring of four runs again
 * and again. A fault strikes at each moment, which is after each action of a host and after each
 * event of the fabric: each kind of fault at each link or rank. Then two and three of them together,
 * at moments by chance. Lost, changed or late packets must not show, nor must a migration. After any other fault each rank
 * that is left has the right bits, or an error. Behind a link that is cut a rank may also wait, until
 * its own deadline: what its source knows does not come through, and the ranks between may be
 * complete. All runs are on the same devices, so what a run leaves behind shows in a later one.
 */
#include "migrate.h"
#include "ref.h"
#include "ring.h"
#include "seeds.h"
#include "trail.h"
#include "test.h"

#define RANKS	    4u
#define EVENTS	    6u /* run after each action of a host */
#define FAULTS	    3u
#define NEVER	    0xffffffffu
#define PER_SEED    100u
#define SEEDS	    20u
#define PACKET_ENDS T3_INJECT_DROP_RESPONSE /* kinds up to this one do not show */

enum { RESET = T3_INJECT_KIND_COUNT, DETACH, DISABLE, MIGRATE, FAULT_KINDS };

struct fault {
	uint32_t kind, rank, peer, moment;
};

struct campaign {
	struct host *host;
	struct ring ring;
	bool gather; /* an all-gather; else a reduce-scatter */
	uint32_t epoch, moment;
	uint32_t gone, hit; /* ranks without a device, and those that a fault took the space from */
	struct fault fault[FAULTS];
};

/* For the message of a failure. No run: moment is NEVER. */
static struct campaign now = { .moment = NEVER };

/* ---------------------------------------------------------------------- the collective */

static uint32_t place_of(uint32_t rank, uint32_t chunk)
{
	return (rank + RANKS - chunk) % RANKS;
}

/* All-gather: chunk c begins at rank c (REMOTE), and passes all others, the last of which ends it. */
static void map_gathered(struct campaign *c, uint32_t rank, uint32_t chunk)
{
	uint32_t place = place_of(rank, chunk);
	uint32_t kind = !place ? T3_SEG_REMOTE : place == RANKS - 1 ? T3_SEG_LOCAL : T3_SEG_DMA;
	struct t3_cmd_seg_map map =
		host_segment(c->ring.space, chunk, kind, T3_OP_STORE, c->ring.dtype);

	map.rows = c->ring.rows;
	map.row_bytes = c->ring.row_bytes;
	map.pitch = c->ring.pitch;
	map.tile_rows = c->ring.tile_rows;
	map.tile_row_bytes = c->ring.tile_row_bytes;
	host_map(&c->host->dev[rank], &map);
}

static void connect_gather(struct campaign *c)
{
	uint32_t r, chunk;

	for (r = 0; r < RANKS; r++)
		host_connect(&c->host->dev[r], &c->host->dev[(r + 1) % RANKS], c->ring.space);
	for (r = 0; r < RANKS; r++)
		for (chunk = 0; chunk < RANKS; chunk++)
			map_gathered(c, r, chunk);
}

static uint32_t value_of(struct campaign *c, uint32_t rank, uint32_t chunk, uint32_t row,
			 uint32_t col)
{
	return ref_small(c->ring.dtype, ring_value(rank, chunk, row, col, c->epoch));
}

static void put_chunk(struct campaign *c, uint32_t rank, uint32_t chunk)
{
	uint32_t row, col;

	for (row = 0; row < c->ring.rows; row++)
		for (col = 0; col < c->ring.row_bytes; col += 4)
			host_store(&c->host->dev[rank], c->ring.space,
				   chunk * 0x400 + row * c->ring.pitch + col,
				   value_of(c, rank, chunk, row, col), 4);
}

static uint32_t state_of(struct campaign *c, uint32_t rank)
{
	return (uint32_t)(host_area(&c->host->dev[rank], c->ring.space)->state >> 32);
}

static void tick(struct campaign *c);

/* Programs wait before their first store, with a deadline. */
static bool is_armed(struct campaign *c, uint32_t rank)
{
	while (state_of(c, rank) == T3_SPACE_ARMING && t3_fabric_run(c->host->fabric, 1))
		tick(c);
	return !((c->gone | c->hit) >> rank & 1) && state_of(c, rank) != T3_SPACE_ARMING;
}

/* Action i of the hosts: all arm, then all put, one chunk after the other. False: there is none. */
static bool act(struct campaign *c, uint32_t i)
{
	uint32_t rank = i % RANKS, turn = i / RANKS;
	struct host_dev *d = &c->host->dev[rank];
	uint32_t chunk = c->gather ? rank : (rank + RANKS - turn) % RANKS;

	if (turn > (c->gather ? 1 : RANKS))
		return false;
	if ((c->gone | c->hit) >> rank & 1)
		return true;
	if (!turn)
		host_arm(d, c->ring.space, c->epoch);
	else if (is_armed(c, rank))
		put_chunk(c, rank, chunk);
	return true;
}

/* ---------------------------------------------------------------------- faults */

static void strike(struct campaign *c, const struct fault *f)
{
	struct host_dev *d = &c->host->dev[f->rank];

	if ((c->gone | c->hit) >> f->rank & 1 && f->kind >= RESET && f->kind != MIGRATE)
		return; /* by the other fault */
	switch (f->kind) {
	case RESET:
		t3_dev_reset(d->dev);
		c->hit |= 1u << f->rank;
		break;
	case DETACH:
		t3_dev_detach(d->dev);
		c->gone |= 1u << f->rank;
		break;
	case MIGRATE: /* all devices, with what is under way */
		if (!c->gone)
			host_migrate(c->host, 0);
		break;
	case DISABLE: /* as a driver does when the owner has died */
		assert_int_equal(host_space_command(d, T3_CMD_SPACE_DISABLE, c->ring.space),
				 T3_ADMIN_OK);
		c->hit |= 1u << f->rank;
		break;
	default:
		assert_true(host_inject(c->host->fabric, f->rank, f->peer, f->kind, 1));
	}
}

static void tick(struct campaign *c)
{
	uint32_t i;

	for (i = 0; i < FAULTS; i++)
		if (c->fault[i].moment == c->moment)
			strike(c, &c->fault[i]);
	c->moment++;
	now = *c;
}

/* ---------------------------------------------------------------------- a run */

static void begin(struct campaign *c)
{
	t3_fabric_set_inline_budget(c->host->fabric, T3_INLINE_BUDGET);
	ring_create(&c->ring);
	if (c->gather)
		connect_gather(c);
	else
		ring_connect(&c->ring);
	host_drain(c->host);
	t3_fabric_set_inline_budget(c->host->fabric, 0);
	c->moment = c->gone = c->hit = 0;
}

static void run(struct campaign *c)
{
	uint32_t i, e;

	for (i = 0; act(c, i); i++) {
		tick(c);
		for (e = 0; e < EVENTS && t3_fabric_run(c->host->fabric, 1); e++)
			tick(c);
	}
	while (t3_fabric_run(c->host->fabric, 1)) {
		tick(c);
		assert_true(c->moment < 100000);
	}
}

static int result_of(struct campaign *c, uint32_t chunk, uint32_t row, uint32_t col)
{
	uint32_t r;
	int sum = 0;

	if (c->gather)
		return ring_value(chunk, chunk, row, col, c->epoch);
	for (r = 0; r < RANKS; r++)
		sum += ring_value(r, chunk, row, col, c->epoch);
	return sum;
}

static void expect_chunk(struct campaign *c, uint32_t rank, uint32_t chunk)
{
	uint32_t row, col, got;

	for (row = 0; row < c->ring.rows; row++)
		for (col = 0; col < c->ring.row_bytes; col += 4) {
			memcpy(&got,
			       host_buffer(&c->host->dev[rank], c->ring.space) + chunk * 0x400 +
				       row * c->ring.pitch + col,
			       4);
			assert_int_equal(got,
					 ref_small(c->ring.dtype, result_of(c, chunk, row, col)));
		}
}

static void expect_bits(struct campaign *c, uint32_t rank)
{
	uint32_t chunk;

	for (chunk = 0; chunk < RANKS; chunk++)
		if (c->gather ? chunk != rank : chunk == rank)
			expect_chunk(c, rank, chunk);
}

/* Of a rank that no fault has struck. worst: LINK_DOWN, or else the highest kind of fault. */
static bool is_allowed(uint32_t state, uint32_t worst)
{
	switch (state) {
	case T3_SPACE_COMPLETE:
		return true;
	case T3_SPACE_FAULTED:
		return worst > PACKET_ENDS;
	default:
		return worst == T3_INJECT_LINK_DOWN &&
		       (state == T3_SPACE_ARMED || state == T3_SPACE_ARMING);
	}
}

static void expect_end(struct campaign *c, uint32_t worst)
{
	uint32_t r, state;

	for (r = 0; r < RANKS; r++) {
		if ((c->gone | c->hit) >> r & 1)
			continue;
		state = state_of(c, r);
		assert_true(is_allowed(state, worst));
		assert_int_equal(host_query(&c->host->dev[r], c->ring.space).in_flight, 0);
		if (state == T3_SPACE_COMPLETE)
			expect_bits(c, r);
	}
}

static void new_host(struct campaign *c)
{
	if (c->host)
		host_free(c->host);
	c->host = host_ring(RANKS);
	c->ring = ring_of(c->host, 0, T3_DTYPE_I32);
	c->ring.rows = 2;
	c->ring.row_bytes = c->ring.tile_row_bytes = 16;
	c->ring.tile_rows = 1;
	c->epoch = 0;
}

/*
 * What a driver does: links are repaired, devices come back, spaces are destroyed. A fault of a packet
 * that has not come strikes the next run, where it must not show either.
 */
static void clean(struct campaign *c)
{
	uint32_t i, r;

	for (i = 0; i < FAULTS; i++)
		if (c->fault[i].moment != NEVER && c->fault[i].kind == T3_INJECT_LINK_DOWN)
			host_inject(c->host->fabric, c->fault[i].rank, c->fault[i].peer,
				    T3_INJECT_LINK_DOWN, 0);
	for (r = 0; r < RANKS; r++)
		if (c->gone >> r & 1)
			host_attach(c->host, r);
	host_drain(c->host);
	for (r = 0; r < RANKS; r++)
		if (host_query(&c->host->dev[r], c->ring.space).state != T3_SPACE_FREE)
			host_destroy(&c->host->dev[r], c->ring.space);
}

static void one_run(struct campaign *c)
{
	uint32_t worst = 0, i;

	for (i = 0; i < FAULTS; i++) {
		uint32_t kind = c->fault[i].moment != NEVER ? c->fault[i].kind : 0;

		if (kind == MIGRATE)
			continue;
		if (kind == T3_INJECT_LINK_DOWN || (worst != T3_INJECT_LINK_DOWN && kind > worst))
			worst = kind;
	}
	c->epoch = c->epoch % 1000 + 1;
	begin(c);
	run(c);
	expect_end(c, worst);
	clean(c);
	now.moment = NEVER;
}

/* ---------------------------------------------------------------------- campaigns */

static void no_faults(struct campaign *c)
{
	uint32_t i;

	for (i = 0; i < FAULTS; i++)
		c->fault[i].moment = NEVER;
}

#define OF_LINKS (T3_INJECT_LINK_DOWN * 2 * RANKS) /* both directions */
#define CHOICES	 (OF_LINKS + (MIGRATE - RESET) * RANKS + 1)

static void choose(struct fault *f, uint32_t number)
{
	if (number < OF_LINKS) {
		f->kind = number / (2 * RANKS) + 1;
		f->rank = number / 2 % RANKS;
		f->peer = (f->rank + (number % 2 ? 1 : RANKS - 1)) % RANKS;
		return;
	}
	f->kind = (number - OF_LINKS) / RANKS + RESET;
	f->rank = f->peer = number % RANKS;
}

static uint32_t moments_of(struct campaign *c)
{
	no_faults(c);
	one_run(c);
	return c->moment;
}

/* Each fault at each moment. */
static void single_faults(bool gather)
{
	struct campaign c = { .gather = gather };
	uint32_t number, moments, moment, runs = 0;

	new_host(&c);
	moments = moments_of(&c);
	for (number = 0; number < CHOICES; number++)
		for (moment = 0; moment < moments; moment++) {
			choose(&c.fault[0], number);
			c.fault[0].moment = moment;
			one_run(&c);
			runs++;
		}
	print_message("%u runs: %u faults at %u moments\n", runs, number, moments);
	host_free(c.host);
}

/* Which faults of which run. */
static int tell(void)
{
	uint32_t i;

	for (i = 0; i < FAULTS && now.moment != NEVER; i++)
		if (now.fault[i].moment != NEVER)
			print_message("failed in %s: fault %u of rank %u to %u at moment %u\n",
				      now.gather ? "an all-gather" : "a reduce-scatter",
				      now.fault[i].kind, now.fault[i].rank, now.fault[i].peer,
				      now.fault[i].moment);
	return seeds_report();
}

TEST_WITH("a single fault at any moment of a reduce-scatter ends well", NULL, tell)
{
	single_faults(false);
}

TEST_WITH("a single fault at any moment of an all-gather ends well", NULL, tell)
{
	single_faults(true);
}

static void several(struct campaign *c, uint64_t *random, uint32_t moments)
{
	uint32_t count = 2 + host_below(random, FAULTS - 1), i;

	no_faults(c);
	for (i = 0; i < count; i++) {
		choose(&c->fault[i], i || host_below(random, 2) ? host_below(random, CHOICES)
								: CHOICES - 1); /* MIGRATE */
		c->fault[i].moment = host_below(random, moments);
	}
}

TEST_WITH("several faults at random moments end well", NULL, tell)
{
	struct campaign c = { 0 };
	uint64_t seed, random;
	uint32_t i, moments;

	trail_begin();
	for_each_seed(seed, SEEDS)
	{
		random = seed;
		c.gather = seed % 2;
		new_host(&c);
		moments = moments_of(&c);
		for (i = 0; i < PER_SEED; i++) {
			several(&c, &random, moments);
			one_run(&c);
		}
	}
	trail_expect(0xff465791eb233b01);
	host_free(c.host);
}
