// SPDX-License-Identifier: MIT
/* SPEC.md 6.1 order and counts of the link, 6.2 why a target rejects a packet. */
#include "conf.h"
#include "pair.h"
#include "run.h"

CONF_SECTION("6.2", "link and packets");

TEST("packets are applied in order", .devices = 2)
{
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	pair.from.target_op = pair.to.op = T3_OP_STORE;
	pair.from.updates = pair.to.updates = 64;
	pair_map(c, &pair);
	pair_arm(c, &pair, 1);
	for (uint32_t i = 0; i < 64; i++)
		pair_store(&pair.source, 100 * i);
	conf_wait_state(c, &pair.target, T3_SPACE_COMPLETE, 1);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	pair_check(c, &pair.target, 6300, "the last of 64 stores");
}

TEST("both ends count the same", .devices = 2)
{
	struct conf_device *a, *b;
	struct pair pair;

	pair_ready(c, &pair, T3_SEG_REMOTE);
	a = pair.source.dev;
	b = pair.target.dev;
	pair_store(&pair.source, 0);
	conf_wait_state(c, &pair.source, T3_SPACE_COMPLETE, 1);
	CHECK_EQUAL(c, "RX_PACKETS", conf_counter(b, T3_COUNTER_LINK_RX_PACKETS),
		    conf_counter(a, T3_COUNTER_LINK_TX_PACKETS));
	CHECK_EQUAL(c, "RX_BYTES", conf_counter(b, T3_COUNTER_LINK_RX_BYTES),
		    conf_counter(a, T3_COUNTER_LINK_TX_BYTES));
	CHECK_EQUAL(c, "RX_PACKETS back", conf_counter(a, T3_COUNTER_LINK_RX_PACKETS),
		    conf_counter(b, T3_COUNTER_LINK_TX_PACKETS));
	CHECK(c, conf_counter(a, T3_COUNTER_LINK_TX_BYTES) >= 8 * (sizeof(struct t3_packet) + 8),
	      "eight stores are fewer bytes than their packets");
	CHECK_EQUAL(c, "NAKS", conf_counter(b, T3_COUNTER_NAKS), 0);
}

/* -------------------------------------------------------------------- NAKs */

static void nothing(struct conf *c, struct pair *pair)
{
	(void)c;
	(void)pair;
}

static void set_route(struct conf *c, struct pair *pair, struct t3_cmd_route_set route)
{
	struct t3_cmd_index clear = { .space = pair->source.args.space };

	route.space = pair->source.args.space;
	route.peer_rank = pair->target.dev->rank;
	ADMIN(c, pair->source.dev, T3_CMD_ROUTE_CLEAR, &clear);
	ADMIN(c, pair->source.dev, T3_CMD_ROUTE_SET, &route);
}

static void set_import(struct conf *c, struct pair *pair, struct t3_cmd_import_set import)
{
	struct t3_cmd_index clear = { .space = pair->target.args.space };

	import.space = pair->target.args.space;
	ADMIN(c, pair->target.dev, T3_CMD_IMPORT_CLEAR, &clear);
	ADMIN(c, pair->target.dev, T3_CMD_IMPORT_SET, &import);
	/* Clearing an import ends the route, which must be set again. */
	set_route(c, pair,
		  (struct t3_cmd_route_set){ .peer_space = pair->target.args.space,
					     .peer_generation = pair->target.args.generation });
}

static struct t3_cmd_import_set good_import(const struct pair *pair)
{
	return (struct t3_cmd_import_set){
		.src_rank = pair->source.dev->rank,
		.src_space = pair->source.args.space,
		.src_generation = pair->source.args.generation,
		.op_mask = 15,
		.segment_mask = ~0ull,
	};
}

static void no_space(struct conf *c, struct pair *pair)
{
	set_route(c, pair, (struct t3_cmd_route_set){ .peer_space = 1000, .peer_generation = 1 });
}

static void quiesced(struct conf *c, struct pair *pair)
{
	struct conf_space gone;

	conf_space_create(c, pair->target.dev, &gone, T3_PAGE_SIZE, 1);
	set_route(c, pair,
		  (struct t3_cmd_route_set){ .peer_space = gone.args.space,
					     .peer_generation = gone.args.generation });
	conf_space_command(c, &gone, T3_CMD_SPACE_DISABLE);
}

static void generation(struct conf *c, struct pair *pair)
{
	set_route(c, pair,
		  (struct t3_cmd_route_set){ .peer_space = pair->target.args.space,
					     .peer_generation = pair->target.args.generation + 1 });
}

static void import_unset(struct conf *c, struct pair *pair)
{
	set_route(c, pair,
		  (struct t3_cmd_route_set){ .peer_space = pair->target.args.space,
					     .peer_generation = pair->target.args.generation,
					     .peer_import = 5 });
}

static void other_space(struct conf *c, struct pair *pair)
{
	struct t3_cmd_import_set import = good_import(pair);

	import.src_space++;
	set_import(c, pair, import);
}

static void other_generation(struct conf *c, struct pair *pair)
{
	struct t3_cmd_import_set import = good_import(pair);

	import.src_generation++;
	set_import(c, pair, import);
}

static void op_mask(struct conf *c, struct pair *pair)
{
	struct t3_cmd_import_set import = good_import(pair);

	import.op_mask = 15 & ~(1u << T3_OP_ADD);
	set_import(c, pair, import);
}

static void segment_mask(struct conf *c, struct pair *pair)
{
	struct t3_cmd_import_set import = good_import(pair);

	import.segment_mask = ~1ull;
	set_import(c, pair, import);
}

static void target_segment(struct conf *c, struct pair *pair)
{
	(void)c;
	pair->from.target_segment = 7;
}

static void other_dtype(struct conf *c, struct pair *pair)
{
	(void)c;
	pair->to.dtype = T3_DTYPE_F32;
}

static void other_op(struct conf *c, struct pair *pair)
{
	(void)c;
	pair->to.op = T3_OP_MAX;
}

static void target_row(struct conf *c, struct pair *pair)
{
	(void)c;
	pair->from.target_row = 1;
}

static void target_col(struct conf *c, struct pair *pair)
{
	(void)c;
	pair->from.target_col = 64;
}

/* The target counts all its stores itself, and so completes epoch 1. */
static void fill_target(struct conf *c, struct pair *pair)
{
	pair_store(&pair->target, 100);
	conf_wait_state(c, &pair->target, T3_SPACE_COMPLETE, 1);
}

static void release_target(struct conf *c, struct pair *pair)
{
	fill_target(c, pair);
	conf_release(&pair->target, 1);
	conf_wait_state(c, &pair->target, T3_SPACE_IDLE, 1);
}

static void rearm_target(struct conf *c, struct pair *pair)
{
	release_target(c, pair);
	conf_arm_wait(c, &pair->target, 2);
}

/* Part of the first tile is counted, so the update brings more than is left. */
static void fill_in_part(struct conf *c, struct pair *pair)
{
	(void)c;
	for (uint32_t i = 0; i < 7; i++)
		conf_store(&pair->target, 4 * i, 4, 100 + i);
}

/* clang-format off */
static const struct nak {
	const char *name;
	uint32_t reason;
	bool query; /* ARM_QUERY is rejected already */
	void (*before)(struct conf *c, struct pair *pair); /* before SEG_MAP and ARM */
	void (*after)(struct conf *c, struct pair *pair);  /* between ARM and the store */
} naks[] = {
	{"NO_SPACE-free",       T3_NAK_NO_SPACE,   true,  no_space,         nothing},
	{"NO_SPACE-quiesced",   T3_NAK_NO_SPACE,   true,  quiesced,         nothing},
	{"GENERATION",          T3_NAK_GENERATION, true,  generation,       nothing},
	{"NO_GRANT-unset",      T3_NAK_NO_GRANT,   true,  import_unset,     nothing},
	{"NO_GRANT-space",      T3_NAK_NO_GRANT,   true,  other_space,      nothing},
	{"NO_GRANT-generation", T3_NAK_NO_GRANT,   true,  other_generation, nothing},
	{"NO_GRANT-op",         T3_NAK_NO_GRANT,   false, op_mask,          nothing},
	{"NO_GRANT-segment",    T3_NAK_NO_GRANT,   false, segment_mask,     nothing},
	{"SEGMENT-unmapped",    T3_NAK_SEGMENT,    false, target_segment,   nothing},
	{"SEGMENT-dtype",       T3_NAK_SEGMENT,    false, other_dtype,      nothing},
	{"SEGMENT-op",          T3_NAK_SEGMENT,    false, other_op,         nothing},
	{"BOUNDS-row",          T3_NAK_BOUNDS,     false, target_row,       nothing},
	{"BOUNDS-col",          T3_NAK_BOUNDS,     false, target_col,       nothing},
	{"OVERSHOOT-complete",  T3_NAK_OVERSHOOT,  false, nothing,          fill_target},
	{"OVERSHOOT-count",     T3_NAK_OVERSHOOT,  false, nothing,          fill_in_part},
	{"NOT_ARMED",           T3_NAK_NOT_ARMED,  false, nothing,          release_target},
	{"EPOCH",               T3_NAK_EPOCH,      false, nothing,          rearm_target},
};
/* clang-format on */

static const char *nak_label(unsigned row)
{
	return naks[row].name;
}

TEST("a target rejects a packet with its reason", .rows = ARRAY_SIZE(naks), .label = nak_label,
     .devices = 2)
{
	const struct nak *nak = &naks[row];
	struct t3_fault_record record;
	struct pair pair;
	uint64_t before;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	nak->before(c, &pair);
	pair_map(c, &pair);
	conf_arm(&pair.target, 1);
	conf_arm(&pair.source, 1);
	if (!nak->query) {
		conf_wait_state(c, &pair.source, T3_SPACE_ARMED, 1);
		nak->after(c, &pair);
		before = conf_buffer(&pair.target, 0, 8);
		conf_store(&pair.source, 0, 8, 0x7777777755555555);
	}
	record = conf_wait_fault(c, &pair.source, T3_FAULT_REJECTED);
	CHECK_EQUAL(c, "detail", record.detail, nak->reason);
	CHECK_EQUAL(c, "src_rank", record.src_rank, pair.target.dev->rank);
	CHECK(c, conf_counter(pair.target.dev, T3_COUNTER_NAKS), "NAKS of the target is 0");
	if (!nak->query)
		CHECK_EQUAL(c, "target's memory", conf_buffer(&pair.target, 0, 8), before);
}

/* A tile that crosses into a REMOTE segment of the target. */
TEST("a tile that is remote at the target is rejected", .devices = 2)
{
	struct conf_space end;
	struct pair pair;

	pair_prepare(c, &pair, T3_SEG_REMOTE);
	conf_space_create(c, conf_device(c, 0), &end, T3_PAGE_SIZE, 1);
	conf_connect(c, &pair.target, 0, &end, 0);
	pair.to.kind = T3_SEG_REMOTE;
	pair.to.routes = 1;
	pair.to.op = pair.to.init = 0;
	pair_map(c, &pair);
	conf_arm(&end, 1);
	conf_wait_state(c, &end, T3_SPACE_COMPLETE, 1);
	pair_arm(c, &pair, 1);
	conf_store(&pair.source, 0, 4, 1);
	CHECK_EQUAL(c, "detail", conf_wait_fault(c, &pair.source, T3_FAULT_REJECTED).detail,
		    T3_NAK_SEGMENT);
}

/* A rank with a link but without a function. */
static bool vacant(struct conf *c, struct conf_device *d, uint32_t rank)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->device[i].fabric == d->fabric && c->device[i].rank == rank)
			return false;
	return d->ranks > 1;
}

TEST("a rank without a device rejects packets")
{
	struct t3_cmd_route_set route = { .peer_generation = 1 };
	struct t3_fault_record record;
	struct conf_device *d;
	struct conf_space s;
	unsigned i = 0;

	while (i < c->count &&
	       !vacant(c, &c->device[i], (c->device[i].rank + 1) % c->device[i].ranks))
		i++;
	if (i == c->count)
		conf_skip(c, "every rank with a link has a function");
	d = &c->device[i];
	conf_space_create(c, d, &s, T3_PAGE_SIZE, 1);
	route.space = s.args.space;
	route.peer_rank = (d->rank + 1) % d->ranks;
	ADMIN(c, d, T3_CMD_ROUTE_SET, &route);
	conf_arm(&s, 1);
	record = conf_wait_fault(c, &s, T3_FAULT_REJECTED);
	if (record.detail == T3_NAK_NO_SPACE)
		conf_skip(c, "a function that is not tested is at rank %u", route.peer_rank);
	CHECK_EQUAL(c, "detail", record.detail, T3_NAK_NO_DEVICE);
}
