// SPDX-License-Identifier: MIT
/* SPEC.md 12 and 6.1: injection at links, and a link that is down. */
#include "conf.h"
#include "inject.h"
#include "pair.h"
#include "reduce.h"

CONF_SECTION("12", "injected faults of links");

/* clang-format off */
static const struct {
	const char *name;
	uint32_t kind, nth, count;
	uint64_t value;
} injections[] = {
	{"drop",              T3_INJECT_DROP, 1, 1, 0},
	{"drop-several",      T3_INJECT_DROP, 2, 5, 0},
	{"duplicate",         T3_INJECT_DUPLICATE, 1, 20, 0},
	{"corrupt",           T3_INJECT_CORRUPT, 1, 3, 0},
	{"reorder",           T3_INJECT_REORDER, 1, 1, 0},
	{"reorder-several",   T3_INJECT_REORDER, 2, 6, 0},
	{"delay",             T3_INJECT_DELAY, 1, 4, 3000},
	{"delay-past-retry",  T3_INJECT_DELAY, 2, 1, 25000},
	{"drop-response",     T3_INJECT_DROP_RESPONSE, 1, 3, 0},
	{"random",            T3_INJECT_LINK_RANDOM, 3000, 0, 42},
	{"random-other-seed", T3_INJECT_LINK_RANDOM, 3000, 0, 0x123456789abcdef},
};
/* clang-format on */

static const char *injection_label(unsigned row)
{
	return injections[row].name;
}

/* What the injection leaves in the counters of both ends. */
static void check_traces(struct conf *c, unsigned row, unsigned count)
{
	uint64_t injected = 0, retries = 0, duplicates = 0, errors = 0, downs = 0;
	uint32_t kind = injections[row].kind;

	for (unsigned i = 0; i < count; i++) {
		struct conf_device *d = conf_device(c, i);

		injected += conf_counter(d, T3_COUNTER_INJECTED);
		retries += conf_counter(d, T3_COUNTER_LINK_RETRIES);
		duplicates += conf_counter(d, T3_COUNTER_LINK_DUPLICATES);
		errors += conf_counter(d, T3_COUNTER_LINK_ERRORS);
		downs += conf_counter(d, T3_COUNTER_LINK_DOWNS);
		CHECK_EQUAL(c, "FAULTS", conf_counter(d, T3_COUNTER_FAULTS), 0);
	}
	if (kind == T3_INJECT_LINK_RANDOM)
		CHECK(c, injected > 0, "no injection took effect");
	else
		CHECK_EQUAL(c, "INJECTED", injected, count * injections[row].count);
	CHECK_EQUAL(c, "LINK_DOWNS", downs, 0);
	if (kind == T3_INJECT_DROP || kind == T3_INJECT_CORRUPT || kind == T3_INJECT_DROP_RESPONSE)
		CHECK(c, retries > 0, "no packet was sent again");
	if (kind == T3_INJECT_DUPLICATE || kind == T3_INJECT_DROP_RESPONSE)
		CHECK(c, duplicates > 0, "no duplicate was dropped");
	if (kind != T3_INJECT_LINK_RANDOM)
		CHECK_EQUAL(c, "LINK_ERRORS", errors,
			    kind == T3_INJECT_CORRUPT ? count * injections[row].count : 0);
}

/* Every link of the ring has it, among control packets too; the sums are the same. */
TEST("a ring reduces under any injected fault", .rows = ARRAY_SIZE(injections),
     .label = injection_label, .devices = 2)
{
	struct conf_space spaces[T3_MAX_RANKS];
	unsigned count = reduce_ring(c);

	reduce_setup(c, spaces, count);
	for (unsigned i = 0; i < count; i++)
		INJECT(c, conf_device(c, i), .kind = injections[row].kind,
		       .peer = conf_device(c, (i + 1) % count)->rank, .nth = injections[row].nth,
		       .count = injections[row].count, .value = injections[row].value);
	for (uint32_t epoch = 1; epoch <= 4; epoch++) {
		reduce_arm(c, spaces, count, epoch);
		reduce_run(c, spaces, count, epoch);
	}
	check_traces(c, row, count);
}

/* nth counts from now on: the third packet after it, and no other. */
TEST("an injection hits the packet that it counts to", .rows = 2, .devices = 2)
{
	struct conf_device *d = conf_device(c, 0);
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	INJECT(c, d, .kind = T3_INJECT_CORRUPT, .peer = pair.target.dev->rank, .nth = 3,
	       .count = 1);
	if (row)
		INJECT(c, d, .kind = T3_INJECT_CORRUPT, .peer = pair.target.dev->rank, .nth = 0);
	conf_store(&pair.source, 0, 8, 0);
	conf_store(&pair.source, 8, 8, 0);
	conf_wait_counter(c, pair.target.dev, T3_COUNTER_NMC_ELEMENTS, 4, "elements");
	CHECK_EQUAL(c, "INJECTED after two", conf_counter(d, T3_COUNTER_INJECTED), 0);
	for (uint32_t at = 16; at < 64; at += 8)
		conf_store(&pair.source, at, 8, 0);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "INJECTED", conf_counter(d, T3_COUNTER_INJECTED), !row);
	CHECK_EQUAL(c, "LINK_ERRORS", conf_counter(pair.target.dev, T3_COUNTER_LINK_ERRORS), !row);
}

static uint32_t link_flags(struct conf *c, struct pair *pair)
{
	struct t3_cmd_link_query args = { .peer_rank = pair->target.dev->rank };

	ADMIN(c, pair->source.dev, T3_CMD_LINK_QUERY, &args);
	return args.flags;
}

/* Nothing arrives: after the retries the space faults, and after UP the link goes on. */
TEST("a link that is down ends the space after its retries", .rows = 2, .devices = 2)
{
	uint8_t kind = row ? T3_SEG_REMOTE : T3_SEG_DMA;
	struct t3_fault_record record;
	struct conf_space other;
	struct pair pair;
	uint64_t before;

	pair_ready(c, &pair, kind);
	conf_space_simple(c, pair.source.dev, &other);
	INJECT(c, pair.source.dev, .kind = T3_INJECT_LINK_DOWN, .peer = pair.target.dev->rank);
	CHECK_EQUAL(c, "LINK_QUERY", link_flags(c, &pair), T3_LINK_DOWN);
	before = conf_reg64(pair.source.dev, T3_REG_VCLOCK);
	pair_store(&pair.source, 0);
	record = conf_wait_fault(c, &pair.source, T3_FAULT_LINK);
	/* Seven retries, 10 us each, and the wait for the last of them. */
	CHECK(c, record.vtime >= before + 70000 && record.vtime <= before + 100000,
	      "the fault came after %llu ns", (unsigned long long)(record.vtime - before));
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.target.dev->rank);
	CHECK(c, conf_reg(pair.source.dev, T3_REG_ERROR_STATUS) & T3_ERROR_LINK, "LINK is not set");
	CHECK(c, conf_counter(pair.source.dev, T3_COUNTER_LINK_DOWNS) > 0, "LINK_DOWNS is 0");
	conf_arm_wait(c, &other, 1);
	pair_store(&other, 0);
	conf_wait_state(c, &other, T3_SPACE_COMPLETE, 1);
	INJECT(c, pair.source.dev, .kind = T3_INJECT_LINK_UP, .peer = pair.target.dev->rank);
	CHECK_EQUAL(c, "LINK_QUERY", link_flags(c, &pair), 0);
	pair_ready(c, &pair, kind);
	pair_store(&pair.source, 7);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
}

/* Lost less often than it is sent again: nothing but time passes. */
TEST("six losses only take time", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_DMA);
	pair_map(c, &pair);
	INJECT(c, pair.source.dev, .kind = T3_INJECT_DROP, .peer = pair.target.dev->rank, .nth = 1,
	       .count = 6);
	pair_arm(c, &pair, 1);
	pair_store(&pair.source, 3);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	pair_check(c, &pair.target, 3, "element at the target");
	CHECK_EQUAL(c, "INJECTED", conf_counter(pair.source.dev, T3_COUNTER_INJECTED), 6);
	CHECK_EQUAL(c, "LINK_DOWNS", conf_counter(pair.source.dev, T3_COUNTER_LINK_DOWNS), 0);
}
