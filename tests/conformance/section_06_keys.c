// SPDX-License-Identifier: MIT
/* SPEC.md 6.5: grants by key. */
#include <string.h>

#include "conf.h"
#include "pair.h"

CONF_SECTION("6.5", "grants by key");

static const uint32_t good_key[T3_KEY_WORDS] = { 0x01234567, 0x89abcdef, 0xfedcba98, 0x76543210 };

struct keyed {
	struct conf_space source, target;
	struct t3_cmd_key_set key;
	struct t3_cmd_route_claim claim;
};

static void prepare(struct conf *c, struct keyed *k)
{
	if (!(conf_reg(conf_device(c, 0), T3_REG_CAPS) & T3_CAP_KEYS))
		conf_skip(c, "needs CAPS.KEYS");
	conf_space_create(c, conf_device(c, 1), &k->target, T3_PAGE_SIZE, 16);
	conf_space_create(c, conf_device(c, 0), &k->source, T3_PAGE_SIZE, 16);
	k->key = (struct t3_cmd_key_set){
		.space = k->target.args.space,
		.import = 3,
		.rank_mask = 1u << k->source.dev->rank,
		.op_mask = 1u << T3_OP_ADD,
		.segment_mask = 1,
	};
	k->claim.to = (struct t3_cmd_route_set){
		.space = k->source.args.space,
		.route = 2,
		.peer_rank = k->target.dev->rank,
		.peer_space = k->target.args.space,
		.peer_generation = k->target.args.generation,
		.peer_import = 3,
	};
	memcpy(k->key.key, good_key, sizeof(good_key));
	memcpy(k->claim.key, good_key, sizeof(good_key));
}

static void set_key(struct conf *c, const struct keyed *k)
{
	struct t3_cmd_key_set args = k->key;

	ADMIN(c, k->target.dev, T3_CMD_KEY_SET, &args);
}

static void clear_import(struct conf *c, const struct keyed *k)
{
	struct t3_cmd_index args = { k->key.space, k->key.import };

	ADMIN(c, k->target.dev, T3_CMD_IMPORT_CLEAR, &args);
}

/* Shows the key, and waits for the answer. */
static struct t3_cmd_route_query claim(struct conf *c, const struct keyed *k)
{
	struct conf_deadline deadline = conf_deadline(c);
	struct t3_cmd_route_claim args = k->claim;
	struct t3_cmd_route_query query;

	ADMIN(c, k->source.dev, T3_CMD_ROUTE_CLAIM, &args);
	do {
		query = (struct t3_cmd_route_query){ .space = args.to.space,
						     .route = args.to.route };
		ADMIN(c, k->source.dev, T3_CMD_ROUTE_QUERY, &query);
	} while (query.state == T3_ROUTE_ASKED && conf_pause(&deadline));
	return query;
}

static void check_refused(struct conf *c, const struct keyed *k)
{
	uint64_t before = conf_counter(k->target.dev, T3_COUNTER_WRONG_KEYS);
	struct t3_cmd_route_query query = claim(c, k);
	struct t3_cmd_index route = { query.space, query.route };

	CHECK_EQUAL(c, "state of the route", query.state, T3_ROUTE_REFUSED);
	CHECK_EQUAL(c, "refusal", query.nak, T3_NAK_NO_GRANT);
	CHECK_EQUAL(c, "WRONG_KEYS", conf_counter(k->target.dev, T3_COUNTER_WRONG_KEYS),
		    before + 1);
	ADMIN(c, k->source.dev, T3_CMD_ROUTE_CLEAR, &route);
}

static void check_set(struct conf *c, const struct keyed *k)
{
	CHECK_EQUAL(c, "state of the route", claim(c, k).state, T3_ROUTE_SET);
}

TEST("updates pass by a key", .devices = 2)
{
	struct t3_cmd_seg_map from, to;
	struct keyed k;

	prepare(c, &k);
	set_key(c, &k);
	check_set(c, &k);
	to = conf_segment(&k.target, 0);
	from = conf_segment(&k.source, 0);
	from.kind = T3_SEG_REMOTE;
	from.op = from.init = 0;
	from.target_op = T3_OP_ADD;
	from.routes = 1u << k.claim.to.route;
	conf_map(c, &k.target, &to);
	conf_map(c, &k.source, &from);
	conf_arm(&k.target, 1);
	conf_arm_wait(c, &k.source, 1);
	pair_store(&k.source, 100);
	conf_wait_state(c, &k.target, T3_SPACE_COMPLETE, 1);
	pair_check(c, &k.target, 100, "element of the target");
}

/* Each of these is refused in the same way. */
TEST("each wrong claim is refused", .rows = 9, .devices = 2)
{
	struct keyed k;

	prepare(c, &k);
	if (row == 0)
		k.key.rank_mask = 1u << k.target.dev->rank;
	set_key(c, &k);
	if (row >= 1 && row <= 4)
		k.claim.key[row - 1] ^= 1u << (7 * row);
	if (row == 5)
		k.claim.to.peer_import++;
	if (row == 6)
		k.claim.to.peer_generation++;
	if (row == 7)
		k.claim.to.peer_space = T3_MAX_SPACES - 1;
	if (row == 8)
		clear_import(c, &k);
	check_refused(c, &k);
}

TEST("a key is used by one space", .devices = 2)
{
	struct t3_cmd_index route;
	struct keyed k, other;

	prepare(c, &k);
	set_key(c, &k);
	check_set(c, &k);
	other = k;
	conf_space_create(c, conf_device(c, 0), &other.source, T3_PAGE_SIZE, 16);
	other.claim.to.space = other.source.args.space;
	check_refused(c, &other);
	route = (struct t3_cmd_index){ k.claim.to.space, k.claim.to.route };
	ADMIN(c, k.source.dev, T3_CMD_ROUTE_CLEAR, &route);
	check_refused(c, &other);
	check_set(c, &k); /* the same space again */
}

TEST("each wrong value of a key is refused", .rows = 6, .devices = 2)
{
	struct t3_cmd_key_set args;
	uint32_t wanted = T3_ADMIN_BAD_VALUE;
	struct keyed k;

	prepare(c, &k);
	args = k.key;
	if (row == 0) {
		args.import = T3_SPACE_IMPORTS;
		wanted = T3_ADMIN_BAD_INDEX;
	} else if (row == 1) {
		args.rank_mask = 0;
	} else if (row == 2) {
		args.op_mask = 0;
	} else if (row == 3) {
		args.segment_mask = 0;
	} else if (row == 4) {
		memset(args.key, 0, sizeof(args.key));
	} else {
		set_key(c, &k);
		wanted = T3_ADMIN_EXISTS;
	}
	CHECK_EQUAL(c, "ADMIN_STATUS",
		    conf_admin(k.target.dev, T3_CMD_KEY_SET, &args, sizeof(args)), wanted);
	CHECK(c, conf_guest_error(k.target.dev), "a refusal is no guest error");
}

TEST("a query of a route checks its arguments", .rows = 3, .devices = 2)
{
	struct t3_cmd_route_query args;
	struct keyed k;

	prepare(c, &k);
	args = (struct t3_cmd_route_query){ .space = k.source.args.space };
	if (row == 0) {
		ADMIN(c, k.source.dev, T3_CMD_ROUTE_QUERY, &args);
		CHECK_EQUAL(c, "state of the route", args.state, T3_ROUTE_UNSET);
		return;
	}
	args.route = row == 1 ? T3_SPACE_ROUTES : 0;
	args.mbz = row == 2;
	CHECK_EQUAL(c, "ADMIN_STATUS",
		    conf_admin(k.source.dev, T3_CMD_ROUTE_QUERY, &args, sizeof(args)),
		    row == 1 ? T3_ADMIN_BAD_INDEX : T3_ADMIN_BAD_VALUE);
}

/* Without FAR_KEYS the device asks no rank of another node. NODE_RANKS says which those are. */
TEST("no rank of another node is asked")
{
	struct conf_device *d = conf_device(c, 0);
	uint32_t node = conf_reg(d, T3_REG_NODE_RANKS), far;
	struct keyed k;

	CHECK(c, node >> d->rank & 1, "NODE_RANKS is %#x, without the own rank", node);
	far = (uint32_t)((1ull << d->ranks) - 1) & ~node;
	if (!far || (conf_reg(d, T3_REG_CAPS) & T3_CAP_FAR_KEYS))
		conf_skip(c, "needs ranks on other nodes, and no CAPS.FAR_KEYS");
	prepare(c, &k);
	k.claim.to.peer_rank = (uint32_t)__builtin_ctz(far);
	CHECK_EQUAL(c, "ADMIN_STATUS", conf_admin(d, T3_CMD_ROUTE_CLAIM, &k.claim, sizeof(k.claim)),
		    T3_ADMIN_NO_ROUTE);
}

/* After a revocation the route is dead. */
TEST("a revoked key leaves a dead route", .devices = 2)
{
	struct t3_cmd_route_query query = { 0 };
	struct conf_deadline deadline;
	struct keyed k;

	prepare(c, &k);
	set_key(c, &k);
	check_set(c, &k);
	clear_import(c, &k);
	deadline = conf_deadline(c);
	do {
		query.space = k.claim.to.space;
		query.route = k.claim.to.route;
		ADMIN(c, k.source.dev, T3_CMD_ROUTE_QUERY, &query);
	} while (!query.dead && conf_pause(&deadline));
	CHECK_EQUAL(c, "dead", query.dead, 1);
}
