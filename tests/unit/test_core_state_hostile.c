/* SPDX-License-Identifier: MIT */
/*
 * States that nobody saved: each word of a good one replaced, each length. Such a
 * state is refused in words and leaves a reset machine, or makes a sound one, which
 * stays so. T3_SEEDS: how many values for each word.
 */
#include "gang.h"
#include "gemm.h"
#include "migrate.h"
#include "ring.h"
#include "space/space_private.h"
#include "trail.h"
#include "test.h"

#define RANKS  2u
#define VALUES 3u

/* One waits for a fence, one is in the middle of a copy, one of a GEMM, one has failed. */
static void give_queues_work(struct host_dev *d)
{
	struct queue waits = queue_new(d, 1, 3), moves = queue_new(d, 2, 1);
	struct queue failed = queue_new(d, 3, 3), computes = queue_new(d, 4, 1);
	struct gemm gemm = gemm_new(T3_DTYPE_F16, 9, 30, 8);
	struct t3_descriptor wait = queue_wait(5, 9), bad = queue_nop();
	struct t3_descriptor copy = queue_copy(0x300000, 0x310000, 0x8000);

	bad.opcode = 77;
	queue_submit(&failed, &bad);
	queue_submit(&waits, &wait);
	queue_submit(&moves, &copy);
	queue_submit(&moves, &wait);
	gemm.g.chunk_rows = 4;
	gemm.g.group_rows = gemm.g.tile_rows = 1;
	gemm_submit(&computes, &gemm);
}

/* A timed run goes on, and rank 1 waits for rank 0 to begin another. */
static void give_timed_work(struct host *host)
{
	struct t3_timed_setup setup = run_small(RANKS, T3_TIMED_T3_MCA);
	struct run run = run_of(&setup);
	struct queue q[RANKS], waits;
	uint32_t r;

	for (r = 0; r < RANKS; r++) {
		q[r] = queue_new(&host->dev[r], 6, 3);
		run_submit(&q[r], &run);
	}
	waits = queue_new(&host->dev[1], 7, 3);
	run.args.program = T3_TIMED_SEQUENTIAL;
	run_submit(&waits, &run);
}

static struct host *good_host(void)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 4, 2, T3_KEYS_FABRIC };
	struct host *host = host_new(&config);
	struct ring ring = ring_open(host, 1, T3_DTYPE_I32);
	struct t3_cmd_inject poison = { .kind = T3_INJECT_POISON, .address = 64, .value = 64 };
	uint32_t r;

	host_space(&host->dev[0], 2);
	host_local(&host->dev[0], 2, 0);
	ring_arm(&ring, 1);
	host_arm(&host->dev[0], 2, 1);
	host_store(&host->dev[0], 2, 0, 1, 4);
	assert_int_equal(t3_fabric_inject(host->fabric, &poison), T3_ADMIN_OK);
	assert_true(host_inject(host->fabric, 0, 1, T3_INJECT_DROP, 9));
	t3_fabric_set_inline_budget(host->fabric, 0);
	for (r = 0; r < RANKS; r++)
		ring_produce(&ring, r, 1, true);
	give_queues_work(&host->dev[0]);
	give_timed_work(host);
	t3_fabric_run(host->fabric, 24);
	return host;
}

/* Where the state was changed, for a failure's message. */
static struct {
	uint32_t part;
	size_t at;
	uint32_t good, bad;
} change;

static void expect_sound(struct host *host)
{
	const char *broken = t3_fabric_check(host->fabric);

	if (broken)
		fail_msg("part %u, byte %zu: %#x became %#x: %s", change.part, change.at,
			 change.good, change.bad, broken);
}

/* Wherever it was: registers, stores and doorbells, events, resets. */
static void use(struct host *host)
{
	uint32_t rounds = 0, r;

	while (t3_fabric_run(host->fabric, 100))
		assert_true(++rounds < 1000);
	expect_sound(host);
	for (r = 0; r < RANKS; r++) {
		host_query(&host->dev[r], 1);
		host_stats(&host->dev[r], 1, 0);
		host_store(&host->dev[r], 1, 0, 7, 4);
		host_tile(&host->dev[r], 1, 1, 0, 0);
		host_release(&host->dev[r], 1, 1);
		host_space_command(&host->dev[r], T3_CMD_SPACE_RESET, 1);
	}
	host_drain(host);
	expect_sound(host);
}

/* After a refusal nothing is there. */
static void expect_reset(struct host *host, struct host_dev *d)
{
	uint32_t id;

	for (id = 0; id < 4; id++)
		assert_int_equal(host_query(d, id).state, T3_SPACE_FREE);
	assert_int_equal(host_counter(d, T3_COUNTER_TRACKER_LIVE), 0);
	host_space(d, 1);
	host_local(d, 1, 0);
	host_arm(d, 1, 1);
	host_fill(d, 1, 0, 3);
	host_drain(host);
	host_expect(d, 1, T3_SPACE_COMPLETE, 1);
}

struct judge {
	struct host *host;   /* where states are loaded */
	struct blobs *blobs; /* good but for what is being tried */
	uint32_t part, accepted, refused;
};

static void judge(struct judge *j)
{
	const char *refused = blobs_load(j->blobs, j->host, j->part == RANKS);

	if (refused) {
		assert_true(strlen(refused) > 8);
		j->refused++;
		t3_fabric_clear(j->host->fabric);
		if (j->refused % 64 == 0)
			expect_reset(j->host, &j->host->dev[j->refused / 64 % RANKS]);
	} else {
		j->accepted++;
		use(j->host);
	}
}

static uint32_t changed(uint32_t word, uint32_t how)
{
	static const uint32_t fixed[] = { 0, 1, 0xffffffff, 0x7fffffff, 0x40000000, 64 };

	switch (how % 9) {
	case 0:
		return word + 1;
	case 1:
		return word - 1;
	case 2:
		return word ^ 1u << how / 9 % 32;
	default:
		return fixed[how % 9 - 3];
	}
}

static void change_words(struct judge *j, uint32_t values)
{
	struct blob *blob = &j->blobs->part[j->part];
	uint32_t word, bad, i;
	size_t at;

	for (at = 0; at + 4 <= blob->len; at += 4)
		for (i = 0; i < values; i++) {
			memcpy(&word, blob->data + at, 4);
			bad = changed(word, (uint32_t)(at / 4) * 5 + i);
			memcpy(blob->data + at, &bad, 4);
			change.part = j->part;
			change.at = at;
			change.good = word;
			change.bad = bad;
			judge(j);
			memcpy(blob->data + at, &word, 4);
		}
}

/* The header has the actual length, so the other checks must notice. */
static void cut(struct judge *j)
{
	struct blob *blob = &j->blobs->part[j->part];
	uint64_t len = blob->len, i;

	for (i = 0; i < len; i += i < 256 ? 1 : 7) {
		blob->len = i;
		if (i >= 16)
			memcpy(blob->data + 8, &i, sizeof(i));
		assert_non_null(blobs_load(j->blobs, j->host, j->part == RANKS));
	}
	memcpy(blob->data + 8, &len, sizeof(len));
	blob->len = len;
}

static void for_each_part(void (*try)(struct judge *j))
{
	struct host *good = good_host();
	struct blobs blobs;
	struct judge j = { host_clone(good), &blobs, 0, 0, 0 };

	blobs_save(&blobs, good);
	for (j.part = 0; j.part <= RANKS; j.part++)
		try(&j);
	assert_null(blobs_load(&blobs, j.host, 0));
	blobs_free(&blobs);
	host_free(j.host);
	host_free(good);
}

static void try_words(struct judge *j)
{
	const char *seeds = getenv("T3_SEEDS");

	change_words(j, seeds ? (uint32_t)strtoul(seeds, NULL, 0) : VALUES);
	assert_true(j->accepted > 100 && j->refused > 100);
}

TEST("a state with any word changed is refused or sound")
{
	trail_begin();
	for_each_part(try_words);
	trail_expect(0x2f75edebbf943b34);
}

TEST("a state of any other length is refused")
{
	for_each_part(cut);
}

static void expect_refused(const struct host_config *config, const char *want)
{
	struct host *good = good_host(), *other = host_new(config);
	const char *refused;
	struct blobs blobs;

	blobs_save(&blobs, good);
	refused = blobs_load(&blobs, other, 0);
	assert_non_null(refused);
	assert_string_equal(refused, want);
	t3_fabric_clear(other->fabric);
	expect_reset(other, &other->dev[0]);
	blobs_free(&blobs);
	host_free(other);
	host_free(good);
}

TEST("the state of another machine is refused")
{
	expect_refused(&(struct host_config){ T3_TOPOLOGY_RING, 2, 8, 2, T3_KEYS_FABRIC },
		       "tracker-entries differs");
	expect_refused(&(struct host_config){ T3_TOPOLOGY_RING, 2, 4, 4, T3_KEYS_FABRIC },
		       "tracker-ways differs");
	expect_refused(&(struct host_config){ T3_TOPOLOGY_FULL, 2, 4, 2, T3_KEYS_FABRIC },
		       "the fabric's topology differs");
	expect_refused(&(struct host_config){ T3_TOPOLOGY_RING, 3, 4, 2, T3_KEYS_FABRIC },
		       "the fabric's number of ranks differs");
}

/* A reset would have another effect there than here. */
TEST("a state with another way of resets is refused")
{
	struct host *good = good_host(), *other = good_host();
	struct blobs blobs;

	other->dev[1].reset_generations = true;
	host_replace(other, 1, false);
	blobs_save(&blobs, good);
	assert_string_equal(blobs_load(&blobs, other, 0), "reset-generations differs");
	t3_fabric_clear(other->fabric);
	blobs_free(&blobs);
	host_free(other);
	host_free(good);
}

/* A clock that could wrap is none that stores made, and the next save would be refused. */
TEST("a tracker clock that could wrap is refused")
{
	struct host *good = good_host(), *other = host_clone(good);
	struct t3_tracker *tracker = &t3_spaces(good->dev[0].dev)->tracker;
	struct blobs blobs;

	tracker->clock = T3_TIME_MAX;
	blobs_save(&blobs, good);
	assert_string_equal(blobs_load(&blobs, other, 0), "a time is out of range");
	t3_fabric_clear(other->fabric);
	blobs_free(&blobs);
	tracker->clock = T3_TIME_MAX - 1;
	blobs_save(&blobs, good);
	assert_null(blobs_load(&blobs, other, 0));
	use(other);
	blobs_free(&blobs);
	host_free(other);
	host_free(good);
}
