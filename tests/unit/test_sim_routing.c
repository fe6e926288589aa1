/* SPDX-License-Identifier: MIT */
/* Routings: what is drawn, what a file gives, and which files are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "sim/experts.h"
#include "test.h"

#define DRAWN 60000u

static struct sim_routing shape(uint64_t ranks, uint64_t experts, uint64_t top_k, uint64_t tokens)
{
	return (struct sim_routing){
		.ranks = ranks, .experts = experts, .top_k = top_k, .tokens = tokens
	};
}

static void draw(struct sim_routing *routing, const char *text, uint64_t seed)
{
	struct sim_routing_source source = { .seed = seed };
	char why[SIM_WHY_SIZE] = "";

	assert_true(sim_routing_parse(text, &source));
	if (!sim_routing_draw(&source, routing, why))
		fail_msg("%s", why);
}

/* The file's routing. False: `why`. */
static bool follow(struct sim_routing *routing, const char *text, size_t size, char *why)
{
	char path[] = "/tmp/t3-routing.XXXXXX";
	struct sim_routing_source source = { 0 };
	int fd = mkstemp(path);
	bool good;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	close(fd);
	assert_true(sim_routing_parse(path, &source));
	good = sim_routing_draw(&source, routing, why);
	unlink(path);
	return good;
}

/* ---------------------------------------------------------------------- words */

TEST("a routing is uniform, skewed by thousandths, or a file")
{
	static const char *const wrong[] = {
		"",	     "even",	      "skewed",	    "skewed=",
		"skewed=x",  "skewed=4.001",  "skewed=5",   "skewed=-1",
		"skewed=1.", "skewed=0.1234", "skewed=1e0", "skewed=99999999999999999999"
	};
	struct sim_routing_source source = { 0 };
	size_t i;

	assert_true(sim_routing_parse("uniform", &source));
	assert_int_equal(source.kind, SIM_ROUTING_UNIFORM);
	assert_true(sim_routing_parse("skewed=1.25", &source));
	assert_int_equal(source.kind, SIM_ROUTING_SKEWED);
	assert_int_equal(source.skew, 1250);
	assert_true(sim_routing_parse("skewed=4", &source));
	assert_int_equal(source.skew, 4000);
	assert_true(sim_routing_parse("skewed=0.007", &source));
	assert_int_equal(source.skew, 7);
	assert_true(sim_routing_parse("tokens.txt", &source));
	assert_int_equal(source.kind, SIM_ROUTING_FILE);
	assert_string_equal(source.path, "tokens.txt");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (sim_routing_parse(wrong[i], &source))
			fail_msg("'%s' is taken", wrong[i]);
}

/* ---------------------------------------------------------------------- draws */

/* Rows of an expert, of all ranks. */
static uint64_t rows_of(const struct sim_routing *r, uint64_t expert)
{
	uint64_t rank, rows = 0;

	for (rank = 0; rank < r->ranks; rank++)
		rows += r->rows[rank * r->experts + expert];
	return rows;
}

TEST("each token goes to different experts, and none is lost")
{
	static const char *const words[] = { "uniform", "skewed=1", "skewed=4" };
	uint64_t rank, expert, rows;
	size_t i;

	for (i = 0; i < 3; i++) {
		struct sim_routing r = shape(4, 16, 5, 30);

		draw(&r, words[i], 3);
		for (rank = 0; rank < r.ranks; rank++) {
			rows = 0;
			for (expert = 0; expert < r.experts; expert++) {
				assert_in_range(r.rows[rank * 16 + expert], 0, r.tokens);
				rows += r.rows[rank * 16 + expert];
			}
			assert_int_equal(rows, 30 * 5);
		}
		sim_routing_free(&r);
	}
}

TEST("tokens that go to all experts leave nothing to draw")
{
	struct sim_routing r = shape(2, 6, 6, 7);
	uint64_t i;

	draw(&r, "skewed=4", 1);
	for (i = 0; i < 12; i++)
		assert_int_equal(r.rows[i], 7);
	sim_routing_free(&r);
}

static int more(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first < second) - (first > second);
}

/* The experts' rows in thousandths of the tokens, the most first. */
static void assert_shares(const char *text, uint64_t top_k, const uint64_t *shares)
{
	struct sim_routing r = shape(1, 3, top_k, DRAWN);
	uint64_t rows[3], i;

	draw(&r, text, 5);
	for (i = 0; i < 3; i++)
		rows[i] = rows_of(&r, i);
	qsort(rows, 3, sizeof(rows[0]), more);
	for (i = 0; i < 3; i++)
		assert_in_range(rows[i] * 1000 / DRAWN, shares[i] - 8, shares[i] + 8);
	sim_routing_free(&r);
}

/*
 * Weights 1, 1/2 and 1/3 are 6, 3 and 2 of 11. Of two experts, the one that is left out is the third
 * with 6/11 * 3/5 + 3/11 * 6/8 = 0.532, the second with 6/11 * 2/5 + 2/11 * 6/9 = 0.339, else the first.
 */
TEST("experts are as likely as their weights say, also those of a token's other rows")
{
	assert_shares("skewed=1", 1, (const uint64_t[]){ 545, 273, 182 });
	assert_shares("skewed=1", 2, (const uint64_t[]){ 871, 661, 468 });
	assert_shares("uniform", 1, (const uint64_t[]){ 333, 333, 333 });
	assert_shares("uniform", 2, (const uint64_t[]){ 667, 667, 667 });
	assert_shares("skewed=0", 2, (const uint64_t[]){ 667, 667, 667 });
}

/* Two ranks of one token each, which goes to 2 of 4 experts: a sixth of them have the same. */
TEST("what one rank's tokens draw limits no other rank")
{
	uint64_t seed, expert, same = 0, other = 0;

	for (seed = 1; seed <= 600; seed++) {
		struct sim_routing r = shape(2, 4, 2, 1);
		uint64_t both = 0;

		draw(&r, "uniform", seed);
		for (expert = 0; expert < 4; expert++)
			both += r.rows[expert] && r.rows[4 + expert];
		same += both == 2;
		other += both == 0;
		sim_routing_free(&r);
	}
	assert_in_range(same, 60, 140);
	assert_in_range(other, 60, 140);
}

/* Of 8 experts, each is the busiest of some draws. */
TEST("the busiest experts are anywhere")
{
	uint64_t busiest[8] = { 0 }, seed, expert;

	for (seed = 1; seed <= 160; seed++) {
		struct sim_routing r = shape(1, 8, 1, 400);
		uint64_t most = 0;

		draw(&r, "skewed=2", seed);
		for (expert = 1; expert < 8; expert++)
			most = rows_of(&r, expert) > rows_of(&r, most) ? expert : most;
		busiest[most]++;
		sim_routing_free(&r);
	}
	for (expert = 0; expert < 8; expert++)
		assert_in_range(busiest[expert], 5, 40);
}

TEST("a seed gives the same rows each time, and another seed others")
{
	struct sim_routing a = shape(8, 32, 4, 50), b = a, c = a;

	draw(&a, "skewed=0.8", 7);
	draw(&b, "skewed=0.8", 7);
	draw(&c, "skewed=0.8", 8);
	assert_memory_equal(a.rows, b.rows, 8 * 32 * sizeof(a.rows[0]));
	assert_memory_not_equal(a.rows, c.rows, 8 * 32 * sizeof(a.rows[0]));
	sim_routing_free(&a);
	sim_routing_free(&b);
	sim_routing_free(&c);
}

/* ----------------------------------------------------------------------- files */

/*
 * 1, 2, 3 and 6 of 12; a rank sends 3 * 2 = 6 rows. Sums of rank 0: 1, 3, 6, 12, halved and rounded down
 * 0, 1, 3, 6. Rank 1 begins at expert 2: 3, 9, 10, 12, so 1, 4, 5, 6.
 */
TEST("a file's shares are rounded for each rank as a person counts")
{
	static const char text[] = "# tokens per expert\n1 2\n\t3 # the third\n6";
	static const uint32_t rows[] = { 0, 1, 2, 3, 1, 1, 1, 3 };
	struct sim_routing r = shape(2, 4, 2, 3);
	char why[SIM_WHY_SIZE] = "";
	struct sim_load load;

	if (!follow(&r, text, strlen(text), why))
		fail_msg("%s", why);
	assert_memory_equal(r.rows, rows, sizeof(rows));
	/* Rank 0 has experts 0 and 1: 0 + 1 + 1 + 1. Rank 1: 2 + 3 + 1 + 3. */
	load = sim_routing_load(&r);
	assert_int_equal(load.mean_rank, 6);
	assert_int_equal(load.least_rank, 3);
	assert_int_equal(load.most_rank, 9);
	assert_int_equal(load.fullest, 1);
	assert_int_equal(load.most_expert, 6);
	sim_routing_free(&r);
}

static void assert_refused(const char *text, size_t size, const char *says)
{
	struct sim_routing r = shape(2, 4, 2, 3);
	char why[SIM_WHY_SIZE] = "";

	assert_false(follow(&r, text, size, why));
	assert_null(r.rows);
	if (!strstr(why, says))
		fail_msg("'%s' is not in '%s'", says, why);
}

TEST("a file that is no tokens per expert is refused by its line")
{
	assert_refused("", 0, "has 0 numbers, and there are 4 experts");
	assert_refused("1 2 3\n", 6, "has 3 numbers, and there are 4 experts");
	assert_refused("1 2 3 4\n5\n", 10,
		       "line 3: there are 4 experts, and this is a number more");
	assert_refused("1 2\n3 x\n", 8, "line 2: tokens of an expert are a number");
	assert_refused("1 2\n-3 4\n", 9, "line 2: tokens of an expert are a number");
	assert_refused("1 2 3 4.5\n", 10, "line 1: tokens of an expert are a number");
	assert_refused("1\0002 3 4", 7, "line 1: tokens of an expert are a number");
	assert_refused("1 2 3 99999999999999999999999\n", 30, "line 1: tokens of an expert");
	assert_refused("0 0 0 0\n", 8, "expert 0 has 0 of 0");
	assert_refused("1 2 3 7\n", 8, "expert 3 has 7 of 13, and a token goes to it at most once");
}

TEST("a routing of too many experts or rows is refused")
{
	struct sim_routing_source source = { .kind = SIM_ROUTING_UNIFORM };
	struct sim_routing r = shape(2, 4, 5, 3);
	char why[SIM_WHY_SIZE];

	assert_false(sim_routing_draw(&source, &r, why));
	assert_non_null(strstr(why, "a token has 5 experts, and there are 4"));
	r = shape(512, 65536, 1, 1);
	assert_false(sim_routing_draw(&source, &r, why));
	assert_non_null(strstr(why, "16777216 rows"));
	r = shape(2, 4, 2, ~(uint64_t)0);
	assert_false(sim_routing_draw(&source, &r, why));
	assert_non_null(strstr(why, "16777216 rows"));
	source = (struct sim_routing_source){ .kind = SIM_ROUTING_FILE, .path = "/nonexistent/x" };
	r = shape(2, 4, 2, 3);
	assert_false(sim_routing_draw(&source, &r, why));
	assert_non_null(strstr(why, "/nonexistent/x cannot be opened"));
}

/* ------------------------------------------------------------------------ runs */

TEST("an expert layer's configurations are those of its runs")
{
	struct sim_experts e = { .way = T3_TIMED_COMBINE, .columns = 256, .depth = 128 };
	struct t3_timed_setup setup = { .workload = { .element_bytes = 2 } };
	struct sim_routing r = shape(4, 8, 2, 64);
	char why[SIM_WHY_SIZE] = "";

	t3_timed_params_default(&setup.params);
	draw(&r, "skewed=1", 1);
	if (!sim_experts_run(&e, &r, &setup, 1u << SIM_DIRECT, why))
		fail_msg("%s", why);
	assert_int_equal(sim_experts_time(&e, SIM_SEQUENTIAL), e.gemm + e.exchange);
	assert_int_equal(sim_experts_time(&e, SIM_IDEAL),
			 e.gemm > e.exchange ? e.gemm : e.exchange);
	assert_int_equal(e.fused[SIM_T3], 0);
	assert_true(e.fused[SIM_T3_MCA] > 0);
	assert_int_equal(sim_experts_time(&e, SIM_DIRECT), e.fused[SIM_T3_MCA]);
	assert_true(e.sent > 0 && e.received > 0);
	sim_routing_free(&r);
}
