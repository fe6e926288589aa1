/* SPDX-License-Identifier: MIT */
/*
 * Why a target rejects a packet: SPEC.md section 6.2, each reason. White-box for
 * MALFORMED alone: no source can be brought to send such a packet.
 */
#include "host.h"
#include "migrate.h"
#include "space/space_private.h"
#include "test.h"

/* Rank 0 stores into segment 3 (REMOTE), rank 1 has segment 6 (LOCAL) for it. */
struct pair {
	struct host *host;
	struct host_dev *a, *b;
	struct t3_cmd_route_set route;
	struct t3_cmd_import_set import;
	struct t3_cmd_seg_map from, to;
};

static struct pair prepare(void)
{
	struct pair p = { .host = host_ring(3) };
	struct t3_cmd_route_set route = { 0, 2, 1, 4, 0, 8 };
	struct t3_cmd_import_set import = { 4, 8, 0, 0, 0, 1u << T3_OP_ADD, 1u << 6 };

	p.a = &p.host->dev[0];
	p.b = &p.host->dev[1];
	p.route = route;
	p.import = import;
	p.import.src_generation = host_space(p.a, 0);
	p.route.peer_generation = host_space(p.b, 4);
	p.from = host_segment(0, 3, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	p.from.routes = 1u << 2;
	p.from.target_segment = 6;
	p.to = host_segment(4, 6, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	return p;
}

/* b arms first, so that a learns of it without a question. */
static void go(struct pair *p)
{
	assert_int_equal(host_command(p->a, T3_CMD_ROUTE_SET, &p->route, sizeof(p->route)), 0);
	assert_int_equal(host_command(p->b, T3_CMD_IMPORT_SET, &p->import, sizeof(p->import)), 0);
	host_map(p->a, &p->from);
	if (p->to.rows)
		host_map(p->b, &p->to);
	host_arm(p->b, 4, 1);
	host_arm(p->a, 0, 1);
}

static void store(struct pair *p)
{
	host_expect(p->a, 0, T3_SPACE_ARMED, 1);
	host_store(p->a, 0, 3 * 0x400, 5, 4);
}

/* a has the fault, b has not changed but for its count of NAKs. */
static void expect(struct pair *p, uint32_t nak, bool update)
{
	host_expect_rejected(p->a, 0, nak, update ? 3 : HOST_NONE32, 1);
	assert_int_equal(host_area(p->a, 0)->faults, 1);
	assert_int_equal(host_query(p->a, 0).in_flight, 0);
	if (nak != T3_NAK_NO_DEVICE)
		assert_true(host_counter(p->b, T3_COUNTER_NAKS) >= 1);
	assert_int_equal(host_counter(p->b, T3_COUNTER_NMC_ELEMENTS), 0);
	assert_int_equal(host_counter(p->b, T3_COUNTER_TRACKER_ALLOC), 0);
	host_free(p->host);
}

TEST("a good packet is accepted")
{
	struct pair p = prepare();
	uint32_t value;

	go(&p);
	store(&p);
	host_expect(p.a, 0, T3_SPACE_ARMED, 1);
	memcpy(&value, host_buffer(p.b, 4) + 6 * 0x400, 4);
	assert_int_equal(value, 5);
	host_free(p.host);
}

/* The question "are you armed?" is already refused. */
TEST("a wrong route is refused at the question")
{
	struct pair p = prepare();

	p.route.peer_space = 5;
	go(&p);
	expect(&p, T3_NAK_NO_SPACE, false);
	p = prepare();
	p.route.peer_generation++;
	go(&p);
	expect(&p, T3_NAK_GENERATION, false);
	p = prepare();
	p.route.peer_import = 9;
	go(&p);
	expect(&p, T3_NAK_NO_GRANT, false);
}

/* The import names another source: rank, space or generation. */
TEST("an import for another source is refused")
{
	struct pair p = prepare();

	p.import.src_rank = 2;
	go(&p);
	expect(&p, T3_NAK_NO_GRANT, false);
	p = prepare();
	p.import.src_space = 1;
	go(&p);
	expect(&p, T3_NAK_NO_GRANT, false);
	p = prepare();
	p.import.src_generation++;
	go(&p);
	expect(&p, T3_NAK_NO_GRANT, false);
}

TEST("a wrong mask is refused")
{
	struct pair p = prepare();

	p.import.op_mask = ~(1u << T3_OP_ADD) & 15;
	go(&p);
	store(&p);
	expect(&p, T3_NAK_NO_GRANT, true);
	p = prepare();
	p.import.segment_mask = ~p.import.segment_mask;
	go(&p);
	store(&p);
	expect(&p, T3_NAK_NO_GRANT, true);
}

static void grant(uint32_t granted, uint32_t target, bool taken)
{
	struct pair p = prepare();

	p.import.segment_mask = 1ull << granted;
	p.from.target_segment = target;
	p.to = host_segment(4, target, T3_SEG_LOCAL, T3_OP_ADD, T3_DTYPE_I32);
	go(&p);
	store(&p);
	if (!taken) {
		expect(&p, T3_NAK_NO_GRANT, true);
		return;
	}
	assert_int_equal(host_stats(p.b, 4, target).nmc_elements, 1);
	host_free(p.host);
}

/* The mask of a grant has two words. */
TEST("a grant has both words of its mask")
{
	grant(6, 6, true);
	grant(38, 38, true);
	grant(63, 63, true);
	grant(6, 38, false);
	grant(38, 6, false);
	grant(31, 63, false);
}

/* The response to the packet that comes again says what the lost one said. */
TEST("a repeated packet gets the first verdict again")
{
	struct pair p = prepare();

	p.import.segment_mask = 1;
	go(&p);
	assert_true(host_inject(p.host->fabric, 0, 1, T3_INJECT_DROP_RESPONSE, 1));
	store(&p);
	assert_int_equal(host_counter(p.b, T3_COUNTER_LINK_DUPLICATES), 1);
	expect(&p, T3_NAK_NO_GRANT, true);
}

/* A full tile in poisoned memory: the memory is looked at first. */
TEST("poison is told before an overshoot")
{
	struct pair p = prepare();

	go(&p);
	host_store(p.b, 4, 6 * 0x400, 1, 8);
	host_store(p.b, 4, 6 * 0x400 + 16, 1, 8);
	host_poison(p.b, 4 * HOST_SPACE_SIZE + 6 * 0x400, T3_POISON_GRANULE);
	store(&p);
	host_expect_rejected(p.a, 0, T3_NAK_POISON, 3, 1);
	assert_int_equal(host_state(p.b, 4), T3_SPACE_FAULTED);
	host_free(p.host);
}

/* The refusal comes when its space is no longer there to fault. */
TEST("a refusal after the end faults nothing")
{
	struct pair p = prepare();

	p.import.segment_mask = 1;
	go(&p);
	t3_fabric_set_inline_budget(p.host->fabric, 0);
	store(&p);
	assert_int_equal(host_space_command(p.a, T3_CMD_SPACE_DISABLE, 0), T3_ADMIN_OK);
	host_drain(p.host);
	assert_true(host_counter(p.b, T3_COUNTER_NAKS) >= 1);
	assert_int_equal(host_counter(p.a, T3_COUNTER_FAULTS), 0);
	host_free(p.host);
}

TEST("a segment that does not match is refused")
{
	struct pair p = prepare();

	p.from.target_segment = 7;
	p.import.segment_mask = HOST_NONE64;
	go(&p);
	store(&p);
	expect(&p, T3_NAK_SEGMENT, true);
	p = prepare();
	p.to.dtype = T3_DTYPE_F32;
	go(&p);
	store(&p);
	expect(&p, T3_NAK_SEGMENT, true);
	p = prepare();
	p.to.op = T3_OP_MAX;
	go(&p);
	store(&p);
	expect(&p, T3_NAK_SEGMENT, true);
}

/* No chains of remote segments: b's segment 6 sends to rank 2 itself. */
TEST("a target that sends itself is refused")
{
	struct pair p = prepare();
	struct host_dev *c = &p.host->dev[2];

	host_space(c, 0);
	host_route(p.b, 4, 0, c, 0, 0);
	host_import(c, 0, 0, p.b, 4, HOST_NONE64);
	p.to = host_segment(4, 6, T3_SEG_REMOTE, T3_OP_ADD, T3_DTYPE_I32);
	p.from.target_op = T3_OP_STORE; /* as the op of a REMOTE segment reads */
	p.import.op_mask = 15;
	go(&p);
	host_arm(c, 0, 1);
	store(&p);
	expect(&p, T3_NAK_SEGMENT, true);
}

static void bounds(uint32_t row, uint32_t col)
{
	struct pair p = prepare();

	p.from.target_row = row;
	p.from.target_col = col;
	go(&p);
	store(&p);
	expect(&p, T3_NAK_BOUNDS, true);
}

TEST("updates out of bounds are refused")
{
	bounds(4, 0);
	bounds(0xfffffffb, 0);
	bounds(0, 16);
	bounds(3, 20);
	bounds(0, 0xffffffec);
	bounds(0, 0x80000000);
}

/* The tile is full already: by b's own stores. */
TEST("an update that overshoots is refused")
{
	struct pair p = prepare();
	uint32_t before;

	go(&p);
	host_store(p.b, 4, 6 * 0x400, 1, 8);
	host_store(p.b, 4, 6 * 0x400 + 16, 1, 8);
	before = host_stats(p.b, 4, 6).nmc_elements;
	store(&p);
	host_expect_rejected(p.a, 0, T3_NAK_OVERSHOOT, 3, 1);
	assert_int_equal(host_stats(p.b, 4, 6).nmc_elements, before);
	host_expect_peer_fault(p.b, 4, T3_FAULT_PEER_POISON, 0); /* not its own */
	host_free(p.host);
}

/* A run over two tiles of which the second is full: the first stays as it is. */
TEST("a run over two tiles is applied whole or not at all")
{
	struct pair p = prepare();

	p.from.kind = T3_SEG_DMA;
	p.from.op = T3_OP_ADD;
	p.from.tile_row_bytes = 16;
	p.from.tile_rows = 1;
	go(&p);
	host_store(p.b, 4, 6 * 0x400 + 8, 1, 8);
	host_store(p.b, 4, 6 * 0x400 + 24, 1, 8);
	memset(host_buffer(p.b, 4) + 6 * 0x400, 0x77, 8);
	store(&p);
	host_store(p.a, 0, 3 * 0x400 + 4, 6, 4);
	host_store(p.a, 0, 3 * 0x400 + 8, 7, 8);
	host_expect_rejected(p.a, 0, T3_NAK_OVERSHOOT, 3, 1);
	assert_int_equal(host_load(p.b, 4, 6 * 0x400, 8), 0x7777777777777777ull);
	assert_int_equal(host_stats(p.b, 4, 6).remote_bytes, 0);
	host_free(p.host);
}

/* b has no segments: its epoch ends without a. */
TEST("packets of another epoch are refused")
{
	static const uint32_t nak[] = { T3_NAK_OVERSHOOT, T3_NAK_NOT_ARMED, T3_NAK_EPOCH };
	uint32_t i;

	for (i = 0; i < 3; i++) {
		struct pair p = prepare();

		p.to.rows = 0;
		go(&p);
		host_expect(p.b, 4, T3_SPACE_COMPLETE, 1);
		if (i >= 1)
			host_release(p.b, 4, 1);
		if (i >= 2) {
			p.to.rows = 4; /* else it is COMPLETE at once */
			host_map(p.b, &p.to);
			host_arm(p.b, 4, 2);
		}
		store(&p);
		expect(&p, nak[i], true);
	}
}

enum ending { FAULT, DISABLE, RESET, REVOKE, FUNCTION_RESET, DETACH };

static void end(struct pair *p, enum ending how)
{
	switch (how) {
	case FAULT:
		host_doorbell(p->b, 4, 0x20, 0, 4);
		break;
	case DISABLE:
		host_space_command(p->b, T3_CMD_SPACE_DISABLE, 4);
		break;
	case RESET:
		host_space_command(p->b, T3_CMD_SPACE_RESET, 4);
		break;
	case REVOKE:
		host_index_command(p->b, T3_CMD_IMPORT_CLEAR, 4, 8);
		break;
	case FUNCTION_RESET:
		t3_dev_reset(p->b->dev);
		break;
	case DETACH:
		t3_dev_detach(p->b->dev);
		break;
	}
}

/*
 * b ends and a does not learn of it. The answer to a's next update says so. The loss of a whole
 * device is noticed before that.
 */
TEST("an ended target is told with the next update")
{
	static const uint32_t nak[] = { T3_NAK_FAULTED, T3_NAK_NO_SPACE, T3_NAK_GENERATION,
					T3_NAK_NO_GRANT };
	uint32_t how;

	for (how = FAULT; how <= DETACH; how++) {
		struct pair p = prepare();

		go(&p);
		t3_fabric_set_inline_budget(p.host->fabric, 2);
		assert_true(host_inject(p.host->fabric, 1, 0, T3_INJECT_LINK_DOWN, 1));
		end(&p, how);
		if (how < FUNCTION_RESET)
			store(&p);
		while (how < FUNCTION_RESET && host_state(p.a, 0) == T3_SPACE_ARMED)
			assert_true(t3_fabric_run(p.host->fabric, 1));
		host_drain(p.host);
		if (how == FAULT)
			assert_int_equal(host_area(p.b, 4)->dropped, 1);
		if (how == DETACH)
			host_attach(p.host, 1);
		if (how < FUNCTION_RESET) {
			expect(&p, nak[how], true);
			continue;
		}
		host_expect_peer_fault(p.a, 0, T3_FAULT_PEER_DEAD, 1);
		host_free(p.host);
	}
}

static uint32_t receive(struct pair *p, const struct t3_packet *packet)
{
	static const uint8_t payload[T3_LINK_BURST * T3_PACKET_PAYLOAD];

	return t3_packet_receive(p->host->fabric->link[0][1], packet, payload);
}

#define BAD(field, value)                                              \
	do {                                                           \
		struct t3_packet bad = good;                           \
		bad.field = value;                                     \
		assert_int_equal(receive(&p, &bad), T3_NAK_MALFORMED); \
	} while (0)

/* DROPPED counts updates. Messages to a space that does not exist are not counted. */
TEST("dropped updates are counted, and messages are not")
{
	struct pair p = prepare();
	struct t3_packet packet = { .dst_rank = 1, .dst_space = 99 };
	uint32_t type;

	for (type = T3_PKT_UPDATE; type <= T3_PKT_POISON; type++) {
		uint64_t before = host_counter(p.b, T3_COUNTER_DROPPED);

		packet.type = (uint8_t)type;
		packet.length = type == T3_PKT_UPDATE ? 4 : 0;
		assert_int_equal(receive(&p, &packet), T3_NAK_NO_SPACE);
		assert_int_equal(host_counter(p.b, T3_COUNTER_DROPPED) - before,
				 type == T3_PKT_UPDATE);
	}
	host_free(p.host);
}

/* An update of one element, as rank 0's space sends it. */
static struct t3_packet good_update(const struct pair *p)
{
	return (struct t3_packet){ .type = T3_PKT_UPDATE,
				   .op = T3_OP_ADD,
				   .dtype = T3_DTYPE_I32,
				   .dst_rank = 1,
				   .src_generation = p->import.src_generation,
				   .dst_space = 4,
				   .dst_generation = p->route.peer_generation,
				   .epoch = 1,
				   .import = 8,
				   .segment = 6,
				   .length = 4 };
}

TEST("malformed packets are refused")
{
	struct pair p = prepare();
	struct t3_packet good = good_update(&p);

	go(&p);
	BAD(type, 0);
	BAD(type, 5);
	BAD(type, 255);
	BAD(op, T3_OP_COUNT);
	BAD(dtype, T3_DTYPE_COUNT);
	BAD(more, 1);
	BAD(src_rank, 2);
	BAD(dst_rank, 0);
	BAD(length, 0);
	BAD(length, 2);
	BAD(length, T3_LINK_BURST * T3_PACKET_PAYLOAD + 4); /* of a burst, at most */
	BAD(length, 0xfffffffc);
	BAD(arg, 4); /* a burst has two rows or more, */
	good.length = 24;
	BAD(arg, 2);  /* of whole elements, */
	BAD(arg, 16); /* as long as each other, */
	BAD(arg, 28);
	good.length = 4 * (T3_LINK_BURST + 1);
	BAD(arg, 4); /* and not too many packets */
	good.length = 4;
	BAD(reserved, 1);
	BAD(reserved2, 1);
	BAD(type, T3_PKT_POISON); /* control packets carry nothing */
	assert_int_equal(receive(&p, &good), T3_NAK_NONE);
	good.col = 2;
	assert_int_equal(receive(&p, &good), T3_NAK_BOUNDS);
	good.col = 0xfffffffc; /* its end is 2^32 */
	assert_int_equal(receive(&p, &good), T3_NAK_BOUNDS);
	good.col = 0;
	good.segment = 64;
	assert_int_equal(receive(&p, &good), T3_NAK_NO_GRANT);
	good.segment = 6;
	good.import = 32;
	assert_int_equal(receive(&p, &good), T3_NAK_NO_GRANT);
	good.import = 0xffff;
	assert_int_equal(receive(&p, &good), T3_NAK_NO_GRANT);
	good.dst_space = 1024;
	assert_int_equal(receive(&p, &good), T3_NAK_NO_SPACE);
	good.dst_space = 0xffffffff;
	assert_int_equal(receive(&p, &good), T3_NAK_NO_SPACE);
	host_free(p.host);
}

/* A copy taken at any moment of the way of a packet and its response has the fault, too. */
TEST("a verdict under way migrates")
{
	uint32_t events, left = 1;

	for (events = 0; left; events++) {
		struct pair p = prepare();
		struct host *copy;

		p.import.op_mask = ~(1u << T3_OP_ADD) & 15;
		go(&p);
		t3_fabric_set_inline_budget(p.host->fabric, 0);
		store(&p);
		left = !events || t3_fabric_run(p.host->fabric, events);
		copy = host_clone(p.host);
		host_free(p.host);
		p.host = copy;
		p.a = &copy->dev[0];
		p.b = &copy->dev[1];
		host_drain(copy);
		expect(&p, T3_NAK_NO_GRANT, true);
	}
	assert_in_range(events, 4, 100);
}
