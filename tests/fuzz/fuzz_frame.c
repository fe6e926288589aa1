/* SPDX-License-Identifier: MIT */
/*
 * A process that speaks the protocol of nodes (SPEC.md section 16) and is hostile. Its frames start
 * as right ones, and the input changes bytes of them. Or all bytes are the input's. The ranks of the
 * node that it talks to work with it and with each other. Afterwards a real node takes its place,
 * and a reduce-scatter over both must succeed.
 *
 * With a switch each node has a part of it (section 17.7). The hostile one then sends as its ranks to
 * the part of the other node, and as its own part to ranks there. In the end a group must sum up, too.
 */
#include "node/node.h"
#include "nodes.h"
#include "ops.h"
#include "rewind.h"
#include "ring.h"
#include "space/space.h"
#include "sums.h"
#include "switch/switch.h"
#include "world.h"

#define STEPS_MAX 256u
/* Each writes a whole output of a rank, and two ranks have at most three epochs each. */
#define PRODUCES_MAX 8u
#define SPACE	     0u
#define RANKS	     4u /* 0 and 1 are on node 0; the ring has links 2 -> 1, 3 -> 0 and back */
#define ROOT	     2u /* of the MULTICAST group, which is in the hostile node's part */
#define ENTRIES	     4u

struct run {
	struct stream *in;
	struct host *host;
	struct ring ring;
	struct group reduce, copies; /* with a switch; of ranks 0 and ROOT */
	uint32_t produced;
	bool open;
};

static bool has_switch(const struct run *run)
{
	return run->host->config.topology == T3_TOPOLOGY_SWITCH;
}

/* Only node 0 has this connection. What it sends is lost. */
static void set_open(struct run *run, bool open)
{
	struct t3_peer *peer = nodes_peer(run->host, 0, 1);

	if (open)
		t3_peer_connect(peer);
	else
		t3_peer_disconnect(peer);
	run->open = open;
}

static void give(struct run *run, const void *data, size_t len)
{
	if (run->open && t3_peer_input(nodes_peer(run->host, 0, 1), data, len))
		set_open(run, false);
}

static void send_frame(struct run *run, uint32_t type, void *body, uint32_t length)
{
	struct {
		struct t3_frame head;
		uint8_t body[sizeof(struct t3_remote_loss)];
	} frame = { .head = { .type = (uint8_t)type, .length = length } };

	memcpy(frame.body, body, length);
	stream_patch(run->in, &frame, sizeof(frame.head) + (length < 64 ? length : 64));
	give(run, &frame, sizeof(frame.head) + length);
}

static void greet(struct run *run)
{
	struct t3_hello hello = {
		.magic = T3_HELLO_MAGIC,
		.version = T3_NODE_VERSION,
		.fabric = "one of the tests",
		.topology = run->host->config.topology,
		.ranks = RANKS,
		.nodes = 2,
		.node = 1,
		.local = 0xc,
	};

	set_open(run, false);
	set_open(run, true);
	send_frame(run, T3_FRAME_HELLO, &hello, sizeof(hello));
}

/* One that the receiver expects, at one of the two links to node 0. */
static void packet(struct run *run)
{
	uint32_t what = stream_u8(run->in), src = what & 1 ? 2 : 3, dst = what & 1 ? 1 : 0;
	const struct t3_spaces *to = t3_spaces(run->host->dev[dst].dev);
	const struct t3_receiver *receiver =
		&nodes_fabric(run->host, dst)->link[src][dst]->receiver;
	struct {
		struct t3_packet packet;
		uint8_t payload[T3_PACKET_PAYLOAD];
	} body = { .packet = {
		.type = (uint8_t)(1 + (what >> 1 & 3)),
		.op = T3_OP_ADD,
		.dtype = T3_DTYPE_I32,
		.src_rank = (uint16_t)src,
		.dst_rank = (uint16_t)dst,
		.src_space = SPACE,
		.src_generation = t3_spaces(run->host->dev[src].dev)->generation[SPACE],
		.dst_space = SPACE,
		.dst_generation = to->generation[SPACE],
		.epoch = to->space[SPACE].epoch,
		.segment = what >> 3 & 3,
		.arg = what >> 5,
		.incarnation = receiver->incarnation ? receiver->incarnation : 1,
		.sequence = (uint32_t)receiver->expect,
	}, .payload = { 0 } };

	if (body.packet.type == T3_PKT_UPDATE)
		body.packet.length = 8;
	send_frame(run, T3_FRAME_PACKET, &body, (uint32_t)sizeof(body.packet) + body.packet.length);
}

static void response(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	const struct t3_link *link = nodes_fabric(run->host, 0)->link[what & 1][what & 1 ? 2 : 3];
	struct t3_remote_response body = {
		.src = (uint16_t)link->src,
		.dst = (uint16_t)link->dst,
		.incarnation = link->incarnation,
		.sequence = (uint32_t)link->una,
		.status = (uint16_t)(what >> 4),
		.packets = (uint16_t)(1 + stream_u8(run->in) % T3_LINK_BURST),
	};

	send_frame(run, T3_FRAME_RESPONSE, &body, sizeof(body));
}

static void loss(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	struct t3_remote_loss body = { .src = what & 1 ? 2 : 3, .dst = what & 1 };

	memset(body.generation, what >> 2, sizeof(body.generation));
	send_frame(run, T3_FRAME_LOSS, &body, what & 2 ? sizeof(body) : T3_REMOTE_GONE);
}

/* ---------------------------------------------------------- parts of a switch */

/* A link of a part, by its numbers in packets: into node 0, the other way with `back`. */
static struct t3_link *part_link(const struct run *run, uint32_t what, bool back)
{
	uint32_t end = what & 1 ? T3_SWITCH_PART + 1 : 2 + (what >> 1 & 1);
	uint32_t own = what & 1 ? what >> 1 & 1 : T3_SWITCH_RANK;
	struct t3_fabric *fabric = nodes_fabric(run->host, 0);

	return back ? fabric->link[own][end] : fabric->link[end][own];
}

/* A source's of the group here, or the part's there for its own group. */
static struct t3_packet part_expected(const struct run *run, const struct t3_link *link)
{
	struct t3_packet packet = { .src_rank = (uint16_t)link->src,
				    .dst_rank = (uint16_t)link->dst };

	if (link->dst == T3_SWITCH_RANK) {
		const struct t3_switch *sw = link->fabric->sw;

		packet.src_space = GROUP_SOURCE;
		packet.dst_space = run->reduce.id;
		packet.dst_generation = sw->generation[run->reduce.id];
		packet.epoch = sw->group[run->reduce.id].epoch;
		packet.import = (uint16_t)link->src;
		packet.src_generation =
			t3_spaces(run->host->dev[link->src].dev)->generation[GROUP_SOURCE];
	} else {
		const struct t3_spaces *to = t3_spaces(run->host->dev[link->dst].dev);

		packet.src_space = run->copies.id;
		packet.src_generation = run->copies.generation;
		packet.dst_space = GROUP_HEARER;
		packet.dst_generation = to->generation[GROUP_HEARER];
		packet.epoch = to->space[GROUP_HEARER].epoch;
		packet.import = GROUP_IMPORT;
	}
	return packet;
}

static void part_packet(struct run *run)
{
	uint32_t what = stream_u8(run->in), place = stream_u8(run->in);
	const struct t3_link *link = part_link(run, what, false);
	struct {
		struct t3_packet packet;
		uint8_t payload[T3_PACKET_PAYLOAD];
	} body = { 0 };

	if (!link)
		return;
	body.packet = part_expected(run, link);
	body.packet.type = (uint8_t)(1 + (what >> 2 & 7));
	body.packet.incarnation = link->receiver.incarnation ? link->receiver.incarnation : 1;
	body.packet.sequence = (uint32_t)link->receiver.expect;
	if (body.packet.type == T3_PKT_UPDATE) {
		body.packet.op = T3_OP_ADD;
		body.packet.dtype = T3_DTYPE_I32;
		body.packet.segment = GROUP_SEGMENT;
		body.packet.row = place & 3;
		body.packet.length = place & 4 ? 8 : SUMS_ROW_BYTES;
	} else {
		body.packet.arg = place & 7;
	}
	send_frame(run, T3_FRAME_PACKET, &body, (uint32_t)sizeof(body.packet) + body.packet.length);
}

static void part_response(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	const struct t3_link *link = part_link(run, what, true);
	struct t3_remote_response body = { .status = what >> 4, .packets = 1 };

	if (!link)
		return;
	body.src = (uint16_t)link->src;
	body.dst = (uint16_t)link->dst;
	body.incarnation = link->incarnation;
	body.sequence = (uint32_t)link->una + (what >> 2 & 3);
	if (what >> 4 == 15)
		body.status = T3_STATUS_BUSY;
	send_frame(run, T3_FRAME_RESPONSE, &body, sizeof(body));
}

static void part_loss(struct run *run)
{
	uint32_t what = stream_u8(run->in);
	const struct t3_link *link = part_link(run, what, false);
	struct t3_remote_loss body = { 0 };

	if (!link)
		return;
	body.src = (uint16_t)link->src;
	body.dst = (uint16_t)link->dst;
	memset(body.generation, what >> 3, sizeof(body.generation));
	send_frame(run, T3_FRAME_LOSS, &body, what & 4 ? sizeof(body) : T3_REMOTE_GONE);
}

/* A row of rank 0 or 1 for the group's sum. */
static void row(struct run *run)
{
	static const uint8_t data[SUMS_ROW_BYTES] = { 1 };
	uint32_t what = stream_u8(run->in);

	if (has_switch(run))
		group_send_row(&run->reduce, what & 1, what >> 1 & 3, data);
}

/* --------------------------------------------------------------- anything else */

static void raw(struct run *run)
{
	uint8_t bytes[32];
	uint32_t length = 1 + stream_u8(run->in) % sizeof(bytes);

	stream_bytes(run->in, bytes, length);
	give(run, bytes, length);
}

static void produce(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	if (run->produced++ >= PRODUCES_MAX)
		return;
	ring_produce(&run->ring, what & 1, host_query(&run->host->dev[what & 1], SPACE).epoch,
		     what & 2);
}

static void arm(struct run *run)
{
	host_arm(&run->host->dev[stream_u8(run->in) & 1], SPACE, 1 + stream_u8(run->in) % 3);
}

static void pass(struct run *run)
{
	uint32_t what = stream_u8(run->in);

	t3_fabric_run(nodes_fabric(run->host, 0), what & 63);
	if (what >> 6 == 3 && t3_peer_tick(nodes_peer(run->host, 0, 1)))
		set_open(run, false);
}

/* A fault of the connection, as text that is nearly right, or anything at all. */
static void fault(struct run *run)
{
	static const char *const words[] = { "node-cut node=1 ms=", "node-stall node=1 ms=",
					     "node-random node=1 seed=9 cut=",
					     "node-random node=1 seed=9 stall=" };
	char text[96] = "", why[64];
	const char *at = text;
	struct t3_cmd_inject what;
	uint32_t how = stream_u8(run->in);

	if (how & 128)
		stream_bytes(run->in, text, how & 31);
	else
		snprintf(text, sizeof(text), "%s%u%s", words[how & 3], stream_u8(run->in) * 257u,
			 how & 4 ? " nth=2" : "");
	while (t3_inject_parse(&at, &what, why, sizeof(why)) == T3_INJECT_FOUND_ONE)
		if (what.kind >= T3_INJECT_NODE_CUT)
			t3_fabric_inject(nodes_fabric(run->host, 0), &what);
}

static void mend(struct run *run)
{
	static const char text[] = "node-cut node=1 nth=0; node-stall node=1 nth=0 ms=1; "
				   "node-random node=1";
	const char *at = text;
	struct t3_cmd_inject what;
	char why[64];

	while (t3_inject_parse(&at, &what, why, sizeof(why)) == T3_INJECT_FOUND_ONE)
		assert_int_equal(t3_fabric_inject(nodes_fabric(run->host, 0), &what), T3_ADMIN_OK);
}

static void (*const operations[OP_FRAME_COUNT])(struct run *) = {
	[OP_FRM_GREET] = greet,
	[OP_FRM_PACKET] = packet,
	[OP_FRM_RESPONSE] = response,
	[OP_FRM_LOSS] = loss,
	[OP_FRM_RAW] = raw,
	[OP_FRM_PRODUCE] = produce,
	[OP_FRM_ARM] = arm,
	[OP_FRM_TIME] = pass,
	[OP_FRM_FAULT] = fault,
	[OP_FRM_PART] = part_packet,
	[OP_FRM_PART_RESPONSE] = part_response,
	[OP_FRM_PART_LOSS] = part_loss,
	[OP_FRM_ROW] = row,
};

static void arm_groups(const struct run *run)
{
	uint32_t r;

	host_arm(&run->host->dev[0], GROUP_TARGET, 1);
	for (r = 0; r < RANKS; r++) {
		host_arm(&run->host->dev[r], GROUP_SOURCE, 1);
		host_arm(&run->host->dev[r], r == ROOT ? GROUP_ROOT : GROUP_HEARER, 1);
	}
}

static void build_groups(struct run *run)
{
	run->reduce = sums_reduce(run->host, 0, 1);
	run->copies = sums_multicast(run->host, ROOT);
	arm_groups(run);
}

/* Sums of all ranks meet in the part of node 0, and copies leave that of node 1. */
static void expect_groups(struct run *run)
{
	uint8_t data[SUMS_ROWS * SUMS_ROW_BYTES];
	uint32_t r, i, value;

	for (r = 0; r < RANKS; r++) {
		memset(data, (int)r + 1, sizeof(data));
		group_send(&run->reduce, r, data);
	}
	for (i = 0; i < sizeof(data); i += 8)
		host_store(&run->host->dev[ROOT], GROUP_ROOT, i, i, 8);
	nodes_settle(run->host);
	host_expect(&run->host->dev[0], GROUP_TARGET, T3_SPACE_COMPLETE, 1);
	for (i = 0; i < sizeof(data); i += 4) {
		memcpy(&value, group_result(&run->reduce) + i, 4);
		assert_int_equal(value, 0x0a0a0a0a);
		memcpy(&value, host_buffer(&run->host->dev[1], GROUP_HEARER) + i, 4);
		assert_int_equal(value, i & 4 ? 0 : i);
	}
	assert_int_equal(group_query(&run->reduce).entries, 0);
}

/* Whatever the groups were, they are gone. */
static void build_again(struct run *run)
{
	world_reset(run->host);
	nodes_settle(run->host);
	ring_create(&run->ring);
	build_groups(run);
}

static void expect_working(struct run *run)
{
	uint32_t r;

	nodes_connect_all(run->host);
	if (has_switch(run))
		build_again(run);
	else
		ring_disconnect(&run->ring);
	nodes_settle(run->host);
	ring_connect(&run->ring);
	ring_arm(&run->ring, 1);
	nodes_settle(run->host);
	for (r = 0; r < RANKS; r++)
		ring_produce(&run->ring, r, 1, false);
	nodes_settle(run->host);
	ring_expect_state(&run->ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(&run->ring, 1);
	if (has_switch(run))
		expect_groups(run);
	nodes_check(run->host);
}

/* Nodes are made once, because that takes longest. An input depends on no generation or number. */
static struct host *make_nodes(bool with_switch)
{
	struct host_config config = { T3_TOPOLOGY_RING, RANKS, 4, 4, T3_KEYS_FABRIC };
	struct host *host;

	if (!with_switch)
		return nodes_new(&config, 2, 1);
	host = nodes_switch(RANKS, ENTRIES, 2, 1);
	nodes_cut(host, 0, 1);
	return host;
}

static void play(struct stream *in, struct host *host)
{
	struct run run = { .in = in, .host = host };
	bool peace = world_ends_in_peace(*in);
	uint32_t steps;

	run.ring = ring_of(run.host, SPACE, T3_DTYPE_I32);
	nodes_stop(run.host, 1, true);
	ring_create(&run.ring);
	ring_connect(&run.ring);
	ring_arm(&run.ring, 1);
	if (has_switch(&run))
		build_groups(&run);
	for (steps = 0; steps < STEPS_MAX && stream_more(in); steps++)
		operations[stream_u8(in) % OP_FRAME_COUNT](&run);
	nodes_stop(run.host, 1, false);
	mend(&run);
	set_open(&run, false);
	nodes_settle(run.host);
	nodes_check(run.host);
	if (peace)
		expect_working(&run);
	nodes_cut(run.host, 0, 1);
	rewind_host(run.host);
}

/* With T3_FUZZ_TWICE each input runs on new nodes and on used ones. */
static void one(struct stream *in, struct host *host)
{
	static struct host *pool[2];
	bool with_switch = stream_u8(in) & 0x80; /* the rest has no meaning */
	struct host **nodes = &pool[with_switch];
	struct stream again = *in;

	(void)host;
	if (!*nodes)
		*nodes = make_nodes(with_switch);
	play(in, *nodes);
	if (!getenv("T3_FUZZ_TWICE"))
		return;
	rewind_expect_clear(*nodes);
	play(&again, *nodes);
	host_free(*nodes);
	*nodes = NULL;
}

const struct fuzz_target fuzz_target = { .one = one, .alone = true };
