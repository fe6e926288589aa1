/* SPDX-License-Identifier: MIT */
/* Grants by key: SPEC.md section 6.5. */
#include "migrate.h"
#include "device/device.h"
#include "nodes.h"
#include "test.h"

#define SOURCE	2u /* space of the rank that sends */
#define TARGET	4u /* space of the other one */
#define ROUTE	3u
#define ENTRY	8u
#define SEGMENT 6u

static const struct host_config on_one_node = { T3_TOPOLOGY_RING, 4, 256, 8, T3_KEYS_NODE };

/* Rank a may send to rank b, once it has shown the key. */
struct pair {
	struct host *host;
	struct host_dev *a, *b;
	struct t3_cmd_key_set key;
	struct t3_cmd_route_claim claim;
};

static struct pair pair_between(struct host *host, uint32_t a, uint32_t b)
{
	struct pair p = {
		.host = host,
		.a = &host->dev[a],
		.b = &host->dev[b],
		.key = { TARGET,
			 ENTRY,
			 0xd,
			 1u << T3_OP_ADD,
			 1u << SEGMENT,
			 { 1, 0x80000000, 3, 0xffffffff } },
		.claim = { .to = { SOURCE, ROUTE, b, TARGET, 0, ENTRY } },
	};
	struct t3_cmd_seg_map segment =
		host_segment(TARGET, SEGMENT, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	host_space(p.a, SOURCE);
	p.claim.to.peer_generation = host_space(p.b, TARGET);
	memcpy(p.claim.key, p.key.key, sizeof(p.claim.key));
	host_map(p.b, &segment);
	return p;
}

static struct pair pair_of(struct host *host)
{
	return pair_between(host, 0, 1);
}

static struct pair new_pair(void)
{
	return pair_of(host_new(&on_one_node));
}

/* Two nodes of two ranks, and rank 1 is on the second: it has the target. */
static struct pair far_pair(uint32_t keys)
{
	struct host_config config = { T3_TOPOLOGY_RING, 2, 256, 8, keys };
	struct host *host = nodes_new(&config, 2, 1);
	struct pair p;

	nodes_connect_all(host);
	p = pair_of(host);
	p.key.rank_mask = 1;
	return p;
}

static void settle(struct pair *p)
{
	if (p->host->nodes)
		nodes_settle(p->host);
	else
		host_drain(p->host);
}

static void set_key(struct pair *p)
{
	struct t3_cmd_key_set cmd = p->key;

	assert_int_equal(host_command(p->b, T3_CMD_KEY_SET, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

static struct t3_cmd_route_query query(struct pair *p, uint32_t route)
{
	struct t3_cmd_route_query cmd = { .space = SOURCE, .route = route };

	assert_int_equal(host_command(p->a, T3_CMD_ROUTE_QUERY, &cmd, sizeof(cmd)), T3_ADMIN_OK);
	return cmd;
}

static void ask(struct pair *p, const struct t3_cmd_route_claim *claim)
{
	struct t3_cmd_route_claim cmd = *claim;

	assert_int_equal(host_command(p->a, T3_CMD_ROUTE_CLAIM, &cmd, sizeof(cmd)), T3_ADMIN_OK);
}

static void clear_route(struct pair *p)
{
	assert_int_equal(host_index_command(p->a, T3_CMD_ROUTE_CLEAR, SOURCE, ROUTE), T3_ADMIN_OK);
	assert_int_equal(query(p, ROUTE).state, T3_ROUTE_UNSET);
}

static void expect_set(struct pair *p)
{
	settle(p);
	assert_int_equal(query(p, ROUTE).state, T3_ROUTE_SET);
	assert_int_equal(host_query(p->a, SOURCE).in_flight, 0);
}

static void expect_refused(struct pair *p, uint32_t nak)
{
	settle(p);
	assert_int_equal(query(p, ROUTE).state, T3_ROUTE_REFUSED);
	assert_int_equal(query(p, ROUTE).nak, nak);
	assert_int_equal(host_query(p->a, SOURCE).in_flight, 0);
	host_expect(p->a, SOURCE, T3_SPACE_IDLE, 0);
}

/* The guesser learns nothing but no, and the administrator that there was one. */
static void expect_wrong(struct pair *p, const struct t3_cmd_route_claim *claim)
{
	uint64_t before = host_counter(p->b, T3_COUNTER_WRONG_KEYS);

	ask(p, claim);
	expect_refused(p, T3_NAK_NO_GRANT);
	assert_int_equal(host_counter(p->b, T3_COUNTER_WRONG_KEYS), before + 1);
	clear_route(p);
}

/* One epoch: each element of the target gets 5. */
static void send_epoch(struct pair *p)
{
	struct t3_cmd_seg_map remote =
		host_segment(SOURCE, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	uint32_t value;

	remote.routes = 1u << ROUTE;
	remote.target_segment = SEGMENT;
	host_map(p->a, &remote);
	host_arm(p->b, TARGET, 1);
	host_arm(p->a, SOURCE, 1);
	settle(p);
	host_expect(p->a, SOURCE, T3_SPACE_ARMED, 1);
	host_fill(p->a, SOURCE, 0, 5);
	settle(p);
	host_expect(p->a, SOURCE, T3_SPACE_COMPLETE, 1);
	host_expect(p->b, TARGET, T3_SPACE_COMPLETE, 1);
	memcpy(&value, host_buffer(p->b, TARGET) + SEGMENT * 0x400, sizeof(value));
	assert_int_equal(value, 5);
}

TEST("a key opens the way")
{
	struct pair p = new_pair();

	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	send_epoch(&p);
	assert_int_equal(host_counter(p.b, T3_COUNTER_WRONG_KEYS), 0);
	host_free(p.host);
}

TEST("a key opens the way to another node")
{
	struct pair p = far_pair(T3_KEYS_FABRIC);

	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	send_epoch(&p);
	host_free(p.host);
}

TEST("each bit of a key counts")
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim claim;
	uint32_t bit;

	set_key(&p);
	for (bit = 0; bit < 128; bit++) {
		claim = p.claim;
		claim.key[bit / 32] ^= 1u << bit % 32;
		expect_wrong(&p, &claim);
	}
	memset(claim.key, 0, sizeof(claim.key));
	expect_wrong(&p, &claim);
	ask(&p, &p.claim);
	expect_set(&p);
	host_free(p.host);
}

TEST("a key is for one place")
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim claim = p.claim;

	expect_wrong(&p, &p.claim); /* there is no key yet */
	memset(claim.key, 0, sizeof(claim.key));
	expect_wrong(&p, &claim); /* which an unset entry does not have */
	set_key(&p);
	claim = p.claim;
	claim.to.peer_import++;
	expect_wrong(&p, &claim);
	claim = p.claim;
	claim.to.peer_generation++;
	expect_wrong(&p, &claim);
	claim = p.claim;
	claim.to.peer_space++; /* not in use */
	expect_wrong(&p, &claim);
	host_free(p.host);
}

TEST("a key is for some ranks")
{
	struct pair p = new_pair();

	p.key.rank_mask = 0xe;
	set_key(&p);
	expect_wrong(&p, &p.claim);
	host_free(p.host);
}

/* The entry is then for that rank. */
TEST("a key opens the way to whichever of its ranks shows it")
{
	struct pair p = pair_between(host_new(&on_one_node), 2, 1);

	p.key.rank_mask = 1u << 2 | 1u << 3;
	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	send_epoch(&p);
	host_free(p.host);
}

/* A reply may be lost, so the same space may ask again; the next one may not. */
TEST("a key is for one space")
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim other = p.claim;

	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	clear_route(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	host_space(p.a, SOURCE + 1);
	other.to.space = SOURCE + 1;
	ask(&p, &other);
	settle(&p);
	assert_int_equal(host_counter(p.b, T3_COUNTER_WRONG_KEYS), 1);
	/* A new generation of the space is another space. */
	assert_int_equal(host_space_command(p.a, T3_CMD_SPACE_RESET, SOURCE), T3_ADMIN_OK);
	expect_wrong(&p, &p.claim);
	host_free(p.host);
}

TEST("a revoked key is wrong")
{
	struct pair p = new_pair();

	set_key(&p);
	assert_int_equal(host_index_command(p.b, T3_CMD_IMPORT_CLEAR, TARGET, ENTRY), T3_ADMIN_OK);
	assert_int_equal(host_index_command(p.b, T3_CMD_IMPORT_CLEAR, TARGET, ENTRY),
			 T3_ADMIN_BAD_INDEX);
	expect_wrong(&p, &p.claim);
	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	assert_int_equal(host_index_command(p.b, T3_CMD_IMPORT_CLEAR, TARGET, ENTRY), T3_ADMIN_OK);
	settle(&p);
	assert_int_equal(query(&p, ROUTE).dead, 1);
	clear_route(&p);
	expect_wrong(&p, &p.claim);
	host_free(p.host);
}

TEST("a reset ends keys")
{
	struct pair p = new_pair();

	set_key(&p);
	assert_int_equal(host_space_command(p.b, T3_CMD_SPACE_RESET, TARGET), T3_ADMIN_OK);
	expect_wrong(&p, &p.claim);
	p.claim.to.peer_generation++;
	expect_wrong(&p, &p.claim);
	host_free(p.host);
}

static void set_down(struct pair *p, bool down)
{
	assert_true(host_inject(p->host->fabric, 0, 1, T3_INJECT_LINK_DOWN, down));
}

/* Its own ARM waits for the answer, and asks the target afterwards. */
TEST("an armed space waits for its answer")
{
	struct pair p = new_pair();

	set_key(&p);
	host_local(p.a, SOURCE, 1); /* so that it is not complete at once */
	host_local(p.b, TARGET, 1);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	assert_int_equal(query(&p, ROUTE).state, T3_ROUTE_ASKED);
	host_arm(p.a, SOURCE, 1);
	assert_int_equal(query(&p, ROUTE).state, T3_ROUTE_ASKED);
	host_drain(p.host);
	assert_int_equal(query(&p, ROUTE).state, T3_ROUTE_SET);
	host_expect(p.a, SOURCE, T3_SPACE_ARMING, 1);
	host_arm(p.b, TARGET, 1);
	host_drain(p.host);
	host_expect(p.a, SOURCE, T3_SPACE_ARMED, 1);
	host_free(p.host);
}

/* As above, but the target was armed before, and tells nobody by itself. */
TEST("an armed space asks after its answer")
{
	struct pair p = new_pair();

	set_key(&p);
	host_local(p.a, SOURCE, 1);
	host_arm(p.b, TARGET, 1);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	host_arm(p.a, SOURCE, 1);
	host_drain(p.host);
	host_expect(p.a, SOURCE, T3_SPACE_ARMED, 1);
	host_free(p.host);
}

TEST("a refusal does not keep a space from arming")
{
	struct pair p = new_pair();

	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	host_local(p.a, SOURCE, 1);
	host_arm(p.a, SOURCE, 1);
	host_drain(p.host);
	host_expect(p.a, SOURCE, T3_SPACE_ARMED, 1);
	assert_int_equal(query(&p, ROUTE).state, T3_ROUTE_REFUSED);
	host_free(p.host);
}

TEST("a segment needs the answer")
{
	struct pair p = new_pair();
	struct t3_cmd_seg_map remote =
		host_segment(SOURCE, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);

	remote.routes = 1u << ROUTE;
	remote.target_segment = SEGMENT;
	set_key(&p);
	set_down(&p, true);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	assert_int_equal(host_command(p.a, T3_CMD_SEG_MAP, &remote, sizeof(remote)),
			 T3_ADMIN_BAD_INDEX);
	host_free(p.host);
}

/* A link that gives up faults no space that has only asked. */
TEST("a link that gives up is an answer that refuses")
{
	struct pair p = new_pair();

	set_key(&p);
	set_down(&p, true);
	ask(&p, &p.claim);
	expect_refused(&p, T3_ROUTE_NO_ANSWER);
	set_down(&p, false);
	clear_route(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	host_free(p.host);
}

static struct pair copy_of(const struct pair *p)
{
	struct pair copy = *p;

	copy.host = host_new(&on_one_node);
	copy.a = &copy.host->dev[0];
	copy.b = &copy.host->dev[1];
	t3_fabric_set_inline_budget(copy.host->fabric, 0);
	host_copy(copy.host, p->host);
	return copy;
}

/* A first question with a wrong key, which was sent. */
static struct pair wrongly_asked(void)
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim wrong = p.claim;

	wrong.key[0]++;
	set_key(&p);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &wrong);
	t3_fabric_run(p.host->fabric, 1);
	return p;
}

static void expect_own_answer(struct pair *p)
{
	clear_route(p);
	ask(p, &p->claim);
	expect_set(p);
	assert_int_equal(host_counter(p->b, T3_COUNTER_WRONG_KEYS), 1);
	host_free(p->host);
}

/* A copy goes on with its number of questions: the old answer is none to the new one. */
TEST("an answer counts for its own question")
{
	struct pair p = wrongly_asked(), copy = copy_of(&p);

	expect_own_answer(&p);
	expect_own_answer(&copy);
}

TEST("an end before the answer is final")
{
	struct pair p = new_pair();

	set_key(&p);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	assert_int_equal(host_space_command(p.a, T3_CMD_SPACE_DISABLE, SOURCE), T3_ADMIN_OK);
	host_drain(p.host);
	assert_int_equal(query(&p, ROUTE).nak, T3_ROUTE_NO_ANSWER);
	assert_int_equal(host_query(p.a, SOURCE).state, T3_SPACE_QUIESCED);
	assert_int_equal(host_counter(p.b, T3_COUNTER_LINK_RX_PACKETS), 0); /* it is told nothing */
	host_free(p.host);
}

/* As above, but the claim is on its way: the target must learn that its source has gone. */
TEST("an end after the question reaches the target")
{
	struct pair p = new_pair();

	set_key(&p);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	t3_fabric_run(p.host->fabric, 1);
	assert_int_equal(host_space_command(p.a, T3_CMD_SPACE_DISABLE, SOURCE), T3_ADMIN_OK);
	host_drain(p.host);
	assert_int_equal(host_query(p.a, SOURCE).state, T3_SPACE_QUIESCED);
	host_arm(p.b, TARGET, 1);
	host_expect_peer_fault(p.b, TARGET, T3_FAULT_PEER_POISON, 0);
	host_free(p.host);
}

static uint32_t key_set_status(struct pair *p)
{
	struct t3_cmd_key_set cmd = p->key;

	return host_command(p->b, T3_CMD_KEY_SET, &cmd, sizeof(cmd));
}

TEST("wrong arguments of keys are refused")
{
	struct pair p = new_pair(), good = p;
	struct t3_cmd_import_set import = { TARGET, ENTRY, 0, SOURCE, 1, 1, 1 };

	p.key.import = T3_SPACE_IMPORTS;
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_INDEX);
	p = good;
	p.key.rank_mask = 0;
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_VALUE);
	p.key.rank_mask = 0x10; /* there are four */
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_VALUE);
	p = good;
	p.key.op_mask = 0;
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_VALUE);
	p.key.op_mask = 1u << T3_OP_COUNT;
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_VALUE);
	p = good;
	p.key.segment_mask = 0;
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_VALUE);
	p = good;
	memset(p.key.key, 0, sizeof(p.key.key));
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_VALUE);
	p = good;
	set_key(&p);
	assert_int_equal(key_set_status(&p), T3_ADMIN_EXISTS);
	assert_int_equal(host_command(p.b, T3_CMD_IMPORT_SET, &import, sizeof(import)),
			 T3_ADMIN_EXISTS);
	host_free(p.host);
}

TEST("without the capability there are no keys")
{
	struct host_config config = { T3_TOPOLOGY_RING, 4, 256, 8, T3_KEYS_OFF };
	struct pair p = pair_of(host_new(&config));

	assert_int_equal(host_reg(p.a, T3_REG_CAPS) & (T3_CAP_KEYS | T3_CAP_FAR_KEYS), 0);
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_OPCODE);
	assert_int_equal(host_command(p.a, T3_CMD_ROUTE_CLAIM, &p.claim, sizeof(p.claim)),
			 T3_ADMIN_BAD_OPCODE);
	host_free(p.host);
}

/* The source's device asks nobody on another node, and the target's would refuse it. */
TEST("keys stay on their node")
{
	struct pair p = far_pair(T3_KEYS_NODE);
	struct t3_cmd_route_claim cmd = p.claim;

	assert_int_equal(host_reg(p.a, T3_REG_CAPS) & (T3_CAP_KEYS | T3_CAP_FAR_KEYS), T3_CAP_KEYS);
	assert_int_equal(host_reg(p.a, T3_REG_NODE_RANKS), 1);
	assert_int_equal(host_reg(p.b, T3_REG_NODE_RANKS), 2);
	set_key(&p);
	assert_int_equal(host_command(p.a, T3_CMD_ROUTE_CLAIM, &cmd, sizeof(cmd)),
			 T3_ADMIN_NO_ROUTE);
	assert_int_equal(query(&p, ROUTE).state, T3_ROUTE_UNSET);
	p.a->dev->config.keys = T3_KEYS_FABRIC; /* a node with another rule */
	expect_wrong(&p, &p.claim);
	host_free(p.host);
}

/* 16 wrong keys of a far rank are judged; then even the right one has to wait for a tick. */
TEST("a far guesser has few tries")
{
	struct pair p = far_pair(T3_KEYS_FABRIC);
	struct t3_cmd_route_claim wrong = p.claim;
	uint32_t i;

	wrong.key[3]--;
	set_key(&p);
	for (i = 0; i < 16; i++)
		expect_wrong(&p, &wrong);
	ask(&p, &p.claim);
	expect_refused(&p, T3_NAK_KEY_LIMIT);
	assert_int_equal(host_counter(p.b, T3_COUNTER_WRONG_KEYS), 16);
	clear_route(&p);
	nodes_cut(p.host, 0, 1); /* which forgives nothing */
	nodes_connect(p.host, 0, 1);
	while (nodes_step(p.host))
		;
	ask(&p, &p.claim);
	expect_refused(&p, T3_NAK_KEY_LIMIT);
	clear_route(&p);
	nodes_tick(p.host);
	ask(&p, &p.claim);
	expect_set(&p);
	host_free(p.host);
}

/* A copy taken while a claim waits, one is refused, and one entry is not claimed, goes on. */
TEST("keys under way migrate")
{
	struct pair p = new_pair(), copy;
	struct t3_cmd_route_claim wrong = p.claim;

	wrong.to.route = ROUTE + 1;
	wrong.key[1]++;
	set_key(&p);
	ask(&p, &wrong);
	settle(&p);
	p.key.import++;
	set_key(&p);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	copy = p;
	copy.host = host_new(&on_one_node);
	copy.a = &copy.host->dev[0];
	copy.b = &copy.host->dev[1];
	t3_fabric_set_inline_budget(copy.host->fabric, 0);
	host_copy(copy.host, p.host);
	assert_int_equal(query(&copy, ROUTE).state, T3_ROUTE_ASKED);
	assert_int_equal(query(&copy, ROUTE + 1).state, T3_ROUTE_REFUSED);
	expect_set(&copy);
	copy.claim.to.route = ROUTE + 2;
	copy.claim.to.peer_import++;
	ask(&copy, &copy.claim);
	settle(&copy);
	assert_int_equal(query(&copy, ROUTE + 2).state, T3_ROUTE_SET);
	send_epoch(&copy);
	host_free(copy.host);
	host_free(p.host);
}

/* So does one of a claimed entry, whose key stays good for its space alone. */
TEST("claimed keys migrate")
{
	struct pair p = new_pair(), copy;

	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	copy = p;
	copy.host = host_new(&on_one_node);
	copy.a = &copy.host->dev[0];
	copy.b = &copy.host->dev[1];
	host_copy(copy.host, p.host);
	clear_route(&copy);
	ask(&copy, &copy.claim);
	expect_set(&copy);
	send_epoch(&copy);
	host_free(copy.host);
	host_free(p.host);
}

/* ROUTE_CLEAR takes a key back that has not left yet: the entry is free for another route. */
TEST("a cleared route asks for nothing")
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim other = p.claim;

	set_key(&p);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	clear_route(&p);
	other.to.route = ROUTE + 1;
	ask(&p, &other);
	settle(&p);
	assert_int_equal(query(&p, ROUTE + 1).state, T3_ROUTE_SET);
	assert_int_equal(host_counter(p.b, T3_COUNTER_LINK_RX_PACKETS), 1);
	host_free(p.host);
}

/* A mask of ranks has 32 bits, and all may be set. */
TEST("a key may be for the last of most ranks")
{
	struct host_config config = { T3_TOPOLOGY_RING, T3_MAX_RANKS, 256, 8, T3_KEYS_NODE };
	struct pair p = pair_of(host_new(&config));

	p.key.rank_mask = 1u << (T3_MAX_RANKS - 1) | 1;
	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	host_free(p.host);
}
