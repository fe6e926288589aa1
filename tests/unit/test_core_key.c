/* SPDX-License-Identifier: MIT */
/* Grants by key: SPEC.md section 6.5. */
#include "migrate.h"
#include "device/device.h"
#include "nodes.h"

#define SOURCE	2u /* space on rank 0 */
#define TARGET	4u /* space on rank 1 */
#define ROUTE	3u
#define ENTRY	8u
#define SEGMENT 6u

static const struct host_config on_one_node = { T3_TOPOLOGY_RING, 4, 256, 8, T3_KEYS_NODE };

/* Rank 0 may send to rank 1, once it has shown the key. */
struct pair {
	struct host *host;
	struct host_dev *a, *b;
	struct t3_cmd_key_set key;
	struct t3_cmd_route_claim claim;
};

static struct pair pair_of(struct host *host)
{
	struct pair p = {
		.host = host,
		.a = &host->dev[0],
		.b = &host->dev[1],
		.key = { TARGET,
			 ENTRY,
			 0xd,
			 1u << T3_OP_ADD,
			 1u << SEGMENT,
			 { 1, 0x80000000, 3, 0xffffffff } },
		.claim = { .to = { SOURCE, ROUTE, 1, TARGET, 0, ENTRY } },
	};
	struct t3_cmd_seg_map segment =
		host_segment(TARGET, SEGMENT, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);

	host_space(p.a, SOURCE);
	p.claim.to.peer_generation = host_space(p.b, TARGET);
	memcpy(p.claim.key, p.key.key, sizeof(p.claim.key));
	host_map(p.b, &segment);
	return p;
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

static void a_key_opens_the_way(void **state)
{
	struct pair p = new_pair();

	(void)state;
	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	send_epoch(&p);
	assert_int_equal(host_counter(p.b, T3_COUNTER_WRONG_KEYS), 0);
	host_free(p.host);
}

static void a_key_opens_the_way_to_another_node(void **state)
{
	struct pair p = far_pair(T3_KEYS_FABRIC);

	(void)state;
	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	send_epoch(&p);
	host_free(p.host);
}

static void each_bit_of_a_key_counts(void **state)
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim claim;
	uint32_t bit;

	(void)state;
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

static void a_key_is_for_one_place(void **state)
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim claim = p.claim;

	(void)state;
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

static void a_key_is_for_some_ranks(void **state)
{
	struct pair p = new_pair();

	(void)state;
	p.key.rank_mask = 0xe;
	set_key(&p);
	expect_wrong(&p, &p.claim);
	host_free(p.host);
}

/* A reply may be lost, so the same space may ask again; the next one may not. */
static void a_key_is_for_one_space(void **state)
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim other = p.claim;

	(void)state;
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

static void a_revoked_key_is_wrong(void **state)
{
	struct pair p = new_pair();

	(void)state;
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

static void a_reset_ends_keys(void **state)
{
	struct pair p = new_pair();

	(void)state;
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
static void an_armed_space_waits_for_its_answer(void **state)
{
	struct pair p = new_pair();

	(void)state;
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
static void an_armed_space_asks_after_its_answer(void **state)
{
	struct pair p = new_pair();

	(void)state;
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

static void a_refusal_does_not_keep_a_space_from_arming(void **state)
{
	struct pair p = new_pair();

	(void)state;
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	ask(&p, &p.claim);
	host_local(p.a, SOURCE, 1);
	host_arm(p.a, SOURCE, 1);
	host_drain(p.host);
	host_expect(p.a, SOURCE, T3_SPACE_ARMED, 1);
	assert_int_equal(query(&p, ROUTE).state, T3_ROUTE_REFUSED);
	host_free(p.host);
}

static void a_segment_needs_the_answer(void **state)
{
	struct pair p = new_pair();
	struct t3_cmd_seg_map remote =
		host_segment(SOURCE, 0, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);

	(void)state;
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
static void no_answer_is_a_refusal(void **state)
{
	struct pair p = new_pair();

	(void)state;
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
static void an_answer_counts_for_its_own_question(void **state)
{
	struct pair p = wrongly_asked(), copy = copy_of(&p);

	(void)state;
	expect_own_answer(&p);
	expect_own_answer(&copy);
}

static void an_end_before_the_answer(void **state)
{
	struct pair p = new_pair();

	(void)state;
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
static void an_end_after_the_question(void **state)
{
	struct pair p = new_pair();

	(void)state;
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

static void arguments_are_checked(void **state)
{
	struct pair p = new_pair(), good = p;
	struct t3_cmd_import_set import = { TARGET, ENTRY, 0, SOURCE, 1, 1, 1 };

	(void)state;
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

static void without_the_capability_there_are_no_keys(void **state)
{
	struct host_config config = { T3_TOPOLOGY_RING, 4, 256, 8, T3_KEYS_OFF };
	struct pair p = pair_of(host_new(&config));

	(void)state;
	assert_int_equal(host_reg(p.a, T3_REG_CAPS) & (T3_CAP_KEYS | T3_CAP_FAR_KEYS), 0);
	assert_int_equal(key_set_status(&p), T3_ADMIN_BAD_OPCODE);
	assert_int_equal(host_command(p.a, T3_CMD_ROUTE_CLAIM, &p.claim, sizeof(p.claim)),
			 T3_ADMIN_BAD_OPCODE);
	host_free(p.host);
}

/* The source's device asks nobody on another node, and the target's would refuse it. */
static void keys_stay_on_their_node(void **state)
{
	struct pair p = far_pair(T3_KEYS_NODE);
	struct t3_cmd_route_claim cmd = p.claim;

	(void)state;
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
static void a_far_guesser_has_few_tries(void **state)
{
	struct pair p = far_pair(T3_KEYS_FABRIC);
	struct t3_cmd_route_claim wrong = p.claim;
	uint32_t i;

	(void)state;
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
static void keys_migrate(void **state)
{
	struct pair p = new_pair(), copy;
	struct t3_cmd_route_claim wrong = p.claim;

	(void)state;
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
static void claimed_keys_migrate(void **state)
{
	struct pair p = new_pair(), copy;

	(void)state;
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
static void a_cleared_route_asks_for_nothing(void **state)
{
	struct pair p = new_pair();
	struct t3_cmd_route_claim other = p.claim;

	(void)state;
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
static void a_key_may_be_for_the_last_of_most_ranks(void **state)
{
	struct host_config config = { T3_TOPOLOGY_RING, T3_MAX_RANKS, 256, 8, T3_KEYS_NODE };
	struct pair p = pair_of(host_new(&config));

	(void)state;
	p.key.rank_mask = 1u << (T3_MAX_RANKS - 1) | 1;
	set_key(&p);
	ask(&p, &p.claim);
	expect_set(&p);
	host_free(p.host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_opens_the_way),
		cmocka_unit_test(a_key_opens_the_way_to_another_node),
		cmocka_unit_test(each_bit_of_a_key_counts),
		cmocka_unit_test(a_key_is_for_one_place),
		cmocka_unit_test(a_key_is_for_some_ranks),
		cmocka_unit_test(a_key_is_for_one_space),
		cmocka_unit_test(a_revoked_key_is_wrong),
		cmocka_unit_test(a_reset_ends_keys),
		cmocka_unit_test(an_armed_space_waits_for_its_answer),
		cmocka_unit_test(an_armed_space_asks_after_its_answer),
		cmocka_unit_test(a_refusal_does_not_keep_a_space_from_arming),
		cmocka_unit_test(a_segment_needs_the_answer),
		cmocka_unit_test(no_answer_is_a_refusal),
		cmocka_unit_test(an_answer_counts_for_its_own_question),
		cmocka_unit_test(an_end_before_the_answer),
		cmocka_unit_test(an_end_after_the_question),
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(without_the_capability_there_are_no_keys),
		cmocka_unit_test(keys_stay_on_their_node),
		cmocka_unit_test(a_far_guesser_has_few_tries),
		cmocka_unit_test(keys_migrate),
		cmocka_unit_test(a_cleared_route_asks_for_nothing),
		cmocka_unit_test(a_key_may_be_for_the_last_of_most_ranks),
		cmocka_unit_test(claimed_keys_migrate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
