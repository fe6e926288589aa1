/* SPDX-License-Identifier: MIT */
/*
 * The frames between nodes (SPEC.md section 16), as a peer that is wrong, old, hostile or absent
 * sends them. Each breach of the protocol ends the connection with its reason, and changes nothing.
 */
#include "node/node.h"
#include "nodes.h"
#include "ring.h"
#include "seeds.h"
#include "trail.h"
#include "test.h"

#define SEEDS 40u
#define SPACE 3u

static struct host *pair(bool up)
{
	struct host_config config = { T3_TOPOLOGY_RING, 4, 256, 8, T3_KEYS_FABRIC };
	struct host *host = nodes_new(&config, 2, 1);

	if (up)
		nodes_connect_all(host);
	else
		t3_peer_connect(nodes_peer(host, 0, 1));
	return host;
}

/* Node 0 takes a frame from node 1. */
static const char *take(struct host *host, uint32_t type, uint32_t flags, const void *body,
			uint32_t length)
{
	struct t3_frame head = { .type = (uint8_t)type, .flags = (uint8_t)flags, .length = length };
	uint8_t frame[T3_FRAME_LONGEST + 2000];

	assert_true(sizeof(head) + length <= sizeof(frame));
	memcpy(frame, &head, sizeof(head));
	if (length)
		memcpy(frame + sizeof(head), body, length);
	return t3_peer_input(nodes_peer(host, 0, 1), frame, sizeof(head) + length);
}

/* Node 1's greeting. */
static struct t3_hello hello(void)
{
	struct t3_hello hello = {
		.magic = T3_HELLO_MAGIC,
		.version = T3_NODE_VERSION,
		.fabric = "one of the tests",
		.flags = T3_HELLO_TIMED,
		.topology = T3_TOPOLOGY_RING,
		.ranks = 4,
		.nodes = 2,
		.node = 1,
		.local = 0xc,
	};

	return hello;
}

/* ----------------------------------------------------------------- greeting */

static void check_refused(struct t3_hello *h, const char *why)
{
	struct host *host = pair(false);
	const char *said = take(host, T3_FRAME_HELLO, 0, h, sizeof(*h));

	if (why)
		assert_non_null(strstr(said, why));
	else
		assert_null(said);
	assert_int_equal(nodes_info(host, 0, 1).up, !why);
	host_free(host);
	*h = hello();
}

TEST("a greeting must be of this fabric")
{
	struct t3_hello h = hello();

	check_refused(&h, NULL);
	h.magic[0] = 'X';
	check_refused(&h, "no node of a T3 fabric");
	h.version = 7;
	check_refused(&h, "another version of the protocol (7, here 3)");
	h.fabric[15] ^= 1;
	check_refused(&h, "another fabric");
	h.topology = T3_TOPOLOGY_FULL;
	check_refused(&h, "topology, ranks, nodes or timed");
	h.ranks = 5;
	check_refused(&h, "topology, ranks, nodes or timed");
	h.nodes = 3;
	check_refused(&h, "topology, ranks, nodes or timed");
	h.flags = 0;
	check_refused(&h, "topology, ranks, nodes or timed");
	h.flags |= 2;
	check_refused(&h, "topology, ranks, nodes or timed");
	h.mbz = 1;
	check_refused(&h, "topology, ranks, nodes or timed");
	h.node = 0;
	check_refused(&h, "its number or its ranks");
	h.local = 0x8;
	check_refused(&h, "its number or its ranks");
	h.local = 0xf;
	check_refused(&h, "its number or its ranks");
}

/* Whatever else a later version has in its greeting, this one can read its number. */
TEST("greetings of other versions have other lengths")
{
	uint8_t body[1024] = T3_HELLO_MAGIC;
	uint32_t version = 4, length;

	memcpy(body + 8, &version, sizeof(version));
	for (length = 12; length <= sizeof(body); length++) {
		struct host *host = pair(false);

		assert_non_null(strstr(take(host, T3_FRAME_HELLO, 0, body, length), "(4, here 3)"));
		host_free(host);
	}
}

TEST("a short greeting is refused")
{
	struct t3_hello h = hello();
	uint32_t length;

	for (length = 0; length < sizeof(h); length++) {
		struct host *host = pair(false);

		assert_non_null(take(host, T3_FRAME_HELLO, 0, &h, length));
		assert_false(nodes_info(host, 0, 1).up);
		host_free(host);
	}
}

/* Node 1 is told the reason, and says it. */
TEST("the other node learns why")
{
	struct host *host = pair(true);
	uint32_t reason;

	for (reason = 0; reason < T3_REFUSED_COUNT + 2; reason++) {
		const char *why = take(host, T3_FRAME_REFUSE, 0, &reason, sizeof(reason));

		assert_non_null(strstr(why, "node 1 refused this node: to it, "));
	}
	reason = T3_REFUSED_FABRIC;
	assert_non_null(strstr(take(host, T3_FRAME_REFUSE, 0, &reason, sizeof(reason)),
			       "it belongs to another fabric"));
	host_free(host);
}

/* A peer that says nothing, or less than a greeting, forever. */
TEST("a greeting has a time limit")
{
	struct host *host = pair(false);
	uint8_t byte = T3_FRAME_HELLO;
	uint32_t ticks = 0;

	while (!t3_peer_tick(nodes_peer(host, 0, 1))) {
		if (ticks < 7)
			assert_null(t3_peer_input(nodes_peer(host, 0, 1), &byte, ticks == 0));
		assert_true(++ticks <= T3_PEER_GREETING);
	}
	host_free(host);
}

/* --------------------------------------------------------- before a peer is known */

struct greeting {
	struct t3_frame head;
	struct t3_hello body;
};

static struct greeting greeting(void)
{
	return (struct greeting){ { .type = T3_FRAME_HELLO, .length = sizeof(struct t3_hello) },
				  hello() };
}

/* A host asks how much it must read, and which peer may have said it. */
TEST("a greeting tells its size and node")
{
	struct greeting g = greeting();

	assert_int_equal(t3_greeting_size(&g), T3_GREETING_SIZE);
	assert_int_equal(t3_greeting_node(&g, T3_GREETING_SIZE), 1);
	g.body.node = T3_MAX_NODES - 1;
	assert_int_equal(t3_greeting_node(&g, T3_GREETING_SIZE), T3_MAX_NODES - 1);
	assert_int_equal(t3_greeting_node(&g, T3_GREETING_SIZE - 1), T3_MAX_NODES);
	g.body.node = T3_MAX_NODES;
	assert_int_equal(t3_greeting_node(&g, T3_GREETING_SIZE), T3_MAX_NODES);
	g.head.length = 1024;
	assert_int_equal(t3_greeting_size(&g), T3_GREETING_MOST);
	g.head.length = 1025;
	assert_int_equal(t3_greeting_size(&g), 0);
	g.head.length = 12;
	assert_int_equal(t3_greeting_size(&g), 20);
	g.head.length = 11;
	assert_int_equal(t3_greeting_size(&g), 0);
	g = greeting();
	g.head.type = T3_FRAME_REFUSE;
	assert_int_equal(t3_greeting_size(&g), 0);
	g = greeting();
	g.head.flags = 1;
	assert_int_equal(t3_greeting_size(&g), 0);
	g = greeting();
	g.head.mbz = 1;
	assert_int_equal(t3_greeting_size(&g), 0);
}

static uint32_t judged(struct host *host, struct greeting *g)
{
	return t3_peer_judge(nodes_peer(host, 0, 1), g, sizeof(*g));
}

/*
 * Each bit of it is looked at, and with a wrong identity nothing else: the answer tells a stranger
 * nothing of the fabric, and nothing of how good his guess was.
 */
TEST("a stranger learns nothing")
{
	struct host *host = pair(false);
	const size_t fabric = offsetof(struct t3_hello, fabric);
	struct greeting g = greeting(), blind;
	uint8_t *body = (uint8_t *)&g.body, *guess = (uint8_t *)&blind.body;
	size_t bit, byte;

	assert_int_equal(judged(host, &g), T3_REFUSED_NOT);
	for (bit = 0; bit < 8 * sizeof(g.body); bit++) {
		byte = bit / 8;
		body[byte] ^= 1u << bit % 8;
		assert_int_not_equal(judged(host, &g), T3_REFUSED_NOT);
		if (byte >= fabric && byte < fabric + T3_NODE_ID_SIZE)
			assert_int_equal(judged(host, &g), T3_REFUSED_FABRIC);
		blind = g;
		memset(blind.body.fabric, 0, sizeof(blind.body.fabric));
		if (byte >= offsetof(struct t3_hello, flags))
			assert_int_equal(judged(host, &blind), T3_REFUSED_FABRIC);
		body[byte] ^= 1u << bit % 8;
	}
	blind = greeting();
	memset(guess + offsetof(struct t3_hello, flags), 0xff,
	       sizeof(blind.body) - offsetof(struct t3_hello, flags));
	assert_int_equal(judged(host, &blind), T3_REFUSED_FABRIC);
	assert_int_equal(t3_peer_judge(nodes_peer(host, 0, 1), &g, T3_GREETING_SIZE - 4),
			 T3_REFUSED_SHAPE);
	host_free(host);
}

/* But for one that does not speak the protocol at all. */
TEST("a node that is refused is told the reason")
{
	struct host_config config = { T3_TOPOLOGY_RING, 4, 256, 8, T3_KEYS_FABRIC };
	uint32_t alien;

	for (alien = 0; alien < 2; alien++) {
		struct host *host = nodes_new(&config, 2, 1);
		struct t3_hello h = hello();

		nodes_connect(host, 0, 1);
		if (alien)
			h.magic[0] = 'X';
		else
			h.fabric[15] ^= 1;
		assert_non_null(take(host, T3_FRAME_HELLO, 0, &h, sizeof(h)));
		assert_true(nodes_info(host, 0, 1).refuses);
		nodes_drain(host);
		assert_int_equal(nodes_info(host, 1, 0).is_refused, !alien);
		if (!alien)
			assert_string_equal(nodes_why(host, 1, 0),
					    "node 0 refused this node: to it, it belongs to "
					    "another fabric");
		host_free(host);
	}
}

/* The frame that a host sends before it has a peer is the one that the node sends. */
TEST("a refusal tells its reason")
{
	struct host *host = pair(false);
	uint8_t frame[T3_REFUSAL_SIZE];
	uint32_t reason;

	for (reason = T3_REFUSED_MAGIC; reason < T3_REFUSED_COUNT; reason++) {
		assert_int_equal(t3_refusal_frame(reason, frame), reason != T3_REFUSED_MAGIC);
		t3_peer_disconnect(nodes_peer(host, 0, 1));
		t3_peer_connect(nodes_peer(host, 0, 1));
		assert_false(nodes_info(host, 0, 1).is_refused);
		assert_non_null(strstr(t3_peer_input(nodes_peer(host, 0, 1), frame, sizeof(frame)),
				       t3_node_refusal_text(reason)));
		assert_true(nodes_info(host, 0, 1).is_refused);
		assert_false(nodes_info(host, 0, 1).refuses);
	}
	host_free(host);
}

/* --------------------------------------------------------------------- silence */

static bool swallow(void *opaque, const void *data, size_t len, bool may_lose)
{
	(void)opaque;
	(void)data;
	(void)len;
	(void)may_lose;
	return true;
}

/* As many ticks as the configuration says, from the greeting on, however late that was. */
TEST("silence ends a connection")
{
	static const uint32_t silences[] = { T3_PEER_SILENCE_LEAST, T3_PEER_SILENCE,
					     T3_PEER_SILENCE_MOST };
	static const struct t3_peer_ops ops = { .output = swallow };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct host *host = pair(false);
		struct t3_peer_config config = { .fabric = "one of the tests",
						 .nodes = 2,
						 .own = 0,
						 .node = 1,
						 .ranks = 0xc,
						 .silence = silences[i] };
		struct greeting g = greeting();
		struct t3_peer *peer;
		uint32_t ticks;

		t3_peer_free(nodes_peer(host, 0, 1));
		nodes_forget(host, 0, 1);
		peer = t3_peer_new(nodes_fabric(host, 0), &config, &ops, NULL);
		assert_non_null(peer);
		t3_peer_connect(peer);
		for (ticks = 0; ticks < T3_PEER_GREETING; ticks++)
			assert_null(t3_peer_tick(peer));
		assert_null(t3_peer_input(peer, &g, sizeof(g)));
		for (ticks = 0; !t3_peer_tick(peer); ticks++)
			assert_true(ticks < silences[i]);
		assert_int_equal(ticks, silences[i]);
		t3_peer_disconnect(peer);
		t3_peer_free(peer);
		host_free(host);
	}
}

/* ------------------------------------------------------------------- frames */

/* Where it is allowed, and once. What follows on the first way is no frame. */
TEST("frames may move")
{
	static const struct t3_frame two[2] = { { .type = T3_FRAME_MOVE }, { .type = 0xff } };
	struct host *host = pair(false);
	struct t3_peer *peer = nodes_peer(host, 0, 1);
	struct t3_hello h = hello();

	t3_peer_allow_move(peer);
	assert_false(t3_peer_move(peer));
	assert_non_null(strstr(take(host, T3_FRAME_MOVE, 0, NULL, 0), "before the greeting"));
	t3_peer_disconnect(peer);
	t3_peer_connect(peer);
	t3_peer_allow_move(peer);
	assert_null(take(host, T3_FRAME_HELLO, 0, &h, sizeof(h)));
	assert_false(t3_peer_moved(peer));
	assert_null(take(host, T3_FRAME_MOVE, 0, NULL, 0));
	assert_true(t3_peer_moved(peer));
	assert_null(take(host, T3_FRAME_PING, 0, NULL, 0));
	assert_non_null(strstr(take(host, T3_FRAME_MOVE, 0, NULL, 0), "nothing was offered"));
	t3_peer_disconnect(peer);
	t3_peer_connect(peer);
	assert_false(t3_peer_moved(peer));
	assert_null(take(host, T3_FRAME_HELLO, 0, &h, sizeof(h)));
	t3_peer_allow_move(peer);
	assert_null(t3_peer_input(peer, two, sizeof(two)));
	assert_true(t3_peer_moved(peer));
	assert_null(take(host, T3_FRAME_PING, 0, NULL, 0));
	host_free(host);
}

/* A node that moves says so to a node that allowed it, also where pings are lost for want of room. */
TEST("a node moves its frames")
{
	struct host *host = pair(true);

	nodes_bound(host, 0);
	while (!nodes_info(host, 0, 1).lost)
		assert_null(t3_peer_tick(nodes_peer(host, 0, 1)));
	t3_peer_allow_move(nodes_peer(host, 1, 0));
	assert_true(t3_peer_move(nodes_peer(host, 0, 1)));
	nodes_drain(host);
	assert_true(t3_peer_moved(nodes_peer(host, 1, 0)));
	assert_false(t3_peer_moved(nodes_peer(host, 0, 1)));
	host_free(host);
}

TEST("frames have types, flags and lengths")
{
	static const struct {
		uint32_t type, flags, length;
		const char *why;
	} wrong[] = {
		{ 0, 0, 0, "unknown type or flag" },
		{ T3_FRAME_MOVE + 1, 0, 0, "unknown type or flag" },
		{ T3_FRAME_MOVE, 0, 1, "wrong length" },
		{ T3_FRAME_MOVE, 0, 0, "nothing was offered" },
		{ 255, 0, 0, "unknown type or flag" },
		{ T3_FRAME_PING, 1, 0, "unknown type or flag" },
		{ T3_FRAME_PACKET, 2, 64, "unknown type or flag" },
		{ T3_FRAME_RESPONSE, T3_FRAME_CORRUPT, 16, "unknown type or flag" },
		{ T3_FRAME_PING, 0, 1, "wrong length" },
		{ T3_FRAME_PACKET, 0, 63, "wrong length" },
		{ T3_FRAME_PACKET, 0, 64 + 16385, "wrong length" },
		{ T3_FRAME_RESPONSE, 0, 15, "wrong length" },
		{ T3_FRAME_RESPONSE, 0, 17, "wrong length" },
		{ T3_FRAME_LOSS, 0, 3, "wrong length" },
		{ T3_FRAME_LOSS, 0, 8, "loss of a device has a wrong length" },
		{ T3_FRAME_REFUSE, 0, 5, "wrong length" },
		{ T3_FRAME_HELLO, 0, 56, "a second greeting" },
	};
	static const uint8_t body[20000];
	uint32_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct host *host = pair(true);
		const char *why = take(host, wrong[i].type, wrong[i].flags, body, wrong[i].length);

		assert_non_null(why);
		assert_non_null(strstr(why, wrong[i].why));
		assert_int_equal(nodes_info(host, 0, 1).refused, 1);
		host_free(host);
	}
}

TEST("nothing comes before the greeting")
{
	static const uint8_t body[64];
	static const uint32_t length[] = { [T3_FRAME_PACKET] = 64,
					   [T3_FRAME_RESPONSE] = 16,
					   [T3_FRAME_LOSS] = 4,
					   [T3_FRAME_PING] = 0 };
	uint32_t type;

	for (type = T3_FRAME_PACKET; type <= T3_FRAME_PING; type++) {
		struct host *host = pair(false);

		assert_string_equal(take(host, type, 0, body, length[type]),
				    "a frame comes before the greeting");
		host_free(host);
	}
}

/* ------------------------------------------------------------ foreign links */

/* Node 1 has ranks 2 and 3. In the ring, they have links with ranks 1 and 0. */
static bool may_send(uint32_t src, uint32_t dst)
{
	return (src == 2 && dst == 1) || (src == 3 && dst == 0);
}

TEST("a node speaks for its own links alone")
{
	struct host *host = pair(true);
	uint32_t src, dst;

	for (src = 0; src < 40; src++)
		for (dst = 0; dst < 40; dst++) {
			struct t3_packet packet = { .src_rank = (uint16_t)src,
						    .dst_rank = (uint16_t)dst,
						    .incarnation = 1 };
			struct t3_remote_response response = { .src = (uint16_t)dst,
							       .dst = (uint16_t)src,
							       .packets = 1 };
			struct t3_remote_loss loss = { .src = (uint16_t)src, .dst = (uint16_t)dst };
			bool right = may_send(src, dst);

			assert_int_equal(right, !take(host, T3_FRAME_PACKET, 0, &packet, 64));
			assert_int_equal(right, !take(host, T3_FRAME_RESPONSE, 0, &response, 16));
			assert_int_equal(right, !take(host, T3_FRAME_LOSS, 0, &loss, 4));
			assert_int_equal(right, !take(host, T3_FRAME_LOSS, 0, &loss, sizeof(loss)));
		}
	host_free(host);
}

TEST("lengths and statuses are checked")
{
	struct host *host = pair(true);
	struct t3_packet packet = { .src_rank = 2, .dst_rank = 1, .length = 4 };
	struct t3_remote_response response = {
		.src = 1, .dst = 2, .status = T3_NAK_KEY_LIMIT, .packets = 1
	};

	assert_non_null(strstr(take(host, T3_FRAME_PACKET, 0, &packet, 64), "contradicts"));
	packet.length = 0xffffffc0;
	assert_non_null(strstr(take(host, T3_FRAME_PACKET, 0, &packet, 64), "contradicts"));
	assert_null(take(host, T3_FRAME_RESPONSE, 0, &response, 16));
	response.status++;
	assert_non_null(strstr(take(host, T3_FRAME_RESPONSE, 0, &response, 16), "unknown status"));
	host_free(host);
}

/* ---------------------------------------------------------- incarnations */

/* What node 0 answers to a packet, if it does: the status. */
static bool answered(struct host *host, uint32_t incarnation, uint32_t sequence)
{
	struct t3_packet packet = { .src_rank = 2,
				    .dst_rank = 1,
				    .type = T3_PKT_POISON,
				    .incarnation = incarnation,
				    .sequence = sequence };
	uint64_t sent = nodes_info(host, 0, 1).sent;

	assert_null(take(host, T3_FRAME_PACKET, 0, &packet, 64));
	return nodes_info(host, 0, 1).sent > sent;
}

TEST("the newest incarnation counts")
{
	struct host *host = pair(true);
	struct host_dev *d = &host->dev[1];

	assert_false(answered(host, 5, 1)); /* ahead */
	assert_true(answered(host, 5, 0));
	assert_true(answered(host, 5, 1));
	assert_true(answered(host, 5, 0)); /* again */
	assert_int_equal(host_counter(d, T3_COUNTER_LINK_DUPLICATES), 1);
	assert_false(answered(host, 5, 3));
	assert_false(answered(host, 4, 2)); /* over */
	assert_false(answered(host, 6, 2)); /* begins at 0 */
	assert_true(answered(host, 6, 0));
	assert_false(answered(host, 5, 2));
	assert_true(answered(host, 0x80000005, 0));
	assert_true(answered(host, 1, 0)); /* they wrap */
	assert_int_equal(host_counter(d, T3_COUNTER_LINK_RX_PACKETS), 5);
	host_free(host);
}

TEST("a corrupt packet is counted alone")
{
	struct host *host = pair(true);
	struct t3_packet packet = { .src_rank = 2, .dst_rank = 1, .incarnation = 9 };
	uint64_t sent = nodes_info(host, 0, 1).sent;

	assert_null(take(host, T3_FRAME_PACKET, T3_FRAME_CORRUPT, &packet, 64));
	assert_int_equal(nodes_info(host, 0, 1).sent, sent);
	assert_int_equal(host_counter(&host->dev[1], T3_COUNTER_LINK_ERRORS), 1);
	assert_true(answered(host, 1, 0));
	host_free(host);
}

/* ------------------------------------------------------------- configuration */

TEST("wrong peers are refused")
{
	struct host *host = pair(false);
	const struct t3_peer_config right = {
		.nodes = 2, .own = 0, .node = 1, .ranks = 0xc, .silence = T3_PEER_SILENCE
	};
	struct t3_peer_config c = right;
	struct t3_fabric *fabric = nodes_fabric(host, 0);
	static const struct t3_peer_ops ops;

	assert_null(t3_peer_new(fabric, &c, &ops, NULL)); /* they have a peer */
	t3_peer_free(nodes_peer(host, 0, 1));
	c.nodes = 1;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c.nodes = T3_MAX_NODES + 1;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c = right;
	c.own = 2;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c = right;
	c.node = 0;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c.node = 2;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c = right;
	c.ranks = 0xe;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c.ranks = 0;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c = right;
	c.silence = T3_PEER_SILENCE_LEAST - 1;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	c.silence = T3_PEER_SILENCE_MOST + 1;
	assert_null(t3_peer_new(fabric, &c, &ops, NULL));
	nodes_forget(host, 0, 1);
	host_free(host);
}

TEST("remote ranks are some of the fabrics")
{
	static const struct t3_fabric_ops ops;
	struct t3_fabric_config config = { .topology = T3_TOPOLOGY_RING, .ranks = 4, .id = 1 };

	config.remote = 0x10;
	assert_null(t3_fabric_new(&config, &ops, NULL));
	config.remote = 0xf;
	assert_null(t3_fabric_new(&config, &ops, NULL));
	config.ranks = 32;
	config.remote = 0xffffffff;
	assert_null(t3_fabric_new(&config, &ops, NULL));
}

/* ------------------------------------------------------------------- random */

/* A body that is nearly right. */
static uint32_t random_frame(uint64_t *random, uint8_t *body, uint32_t *type)
{
	struct t3_packet packet = { .type = (uint8_t)(1 + host_below(random, 4)),
				    .src_rank = 2,
				    .dst_rank = 1,
				    .src_space = SPACE,
				    .src_generation = 1,
				    .dst_space = SPACE,
				    .dst_generation = 1,
				    .epoch = 1,
				    .op = T3_OP_ADD,
				    .dtype = T3_DTYPE_I32,
				    .segment = (uint16_t)host_below(random, 4),
				    .arg = host_below(random, 8),
				    .incarnation = 1 + host_below(random, 3),
				    .sequence = host_below(random, 8) };
	struct t3_remote_response response = { .src = 1,
					       .dst = 2,
					       .incarnation = 1,
					       .sequence = host_below(random, 40),
					       .status = (uint16_t)host_below(random, 13),
					       .packets = (uint16_t)(1 + host_below(random, 16)) };
	struct t3_remote_loss loss = { .src = 2, .dst = 1 };

	*type = T3_FRAME_PACKET + host_below(random, 4);
	if (*type == T3_FRAME_LOSS && !host_below(random, 20)) {
		memcpy(body, &loss, sizeof(loss));
		return sizeof(loss);
	}
	if (*type == T3_FRAME_RESPONSE) {
		memcpy(body, &response, sizeof(response));
		return sizeof(response);
	}
	*type = T3_FRAME_PACKET;
	packet.length = packet.type == T3_PKT_UPDATE ? 4 * (1 + host_below(random, 5)) : 0;
	memcpy(body, &packet, sizeof(packet));
	return (uint32_t)sizeof(packet) + packet.length;
}

/*
 * Node 1 is hostile, and node 0's ranks work with it. Whatever it sends within its rights, node 0's
 * own job on ranks 0 and 1 ends, and both ranks work afterwards.
 */
static void hostile_of(uint64_t seed)
{
	struct host *host = pair(true);
	struct ring ring = ring_open(host, SPACE, T3_DTYPE_I32);
	uint64_t random = seed;
	uint32_t i, type, length;

	ring_arm(&ring, 1);
	nodes_settle(host);
	ring_produce(&ring, 1, 1, false);
	for (i = 0; i < 300; i++) {
		uint8_t body[sizeof(struct t3_remote_loss)];

		memset(body, (int)i, sizeof(body));
		length = random_frame(&random, body, &type);
		if (host_below(&random, 3) == 0)
			body[host_below(&random, length)] ^= (uint8_t)(1 << host_below(&random, 8));
		if (take(host, type, 0, body, length))
			assert_true(nodes_info(host, 0, 1).refused);
		if (host_below(&random, 2))
			t3_fabric_run(nodes_fabric(host, 0), host_below(&random, 30));
	}
	nodes_cut(host, 0, 1);
	nodes_settle(host);
	nodes_connect_all(host);
	ring_disconnect(&ring);
	nodes_settle(host);
	ring_connect(&ring);
	ring_arm(&ring, 1);
	nodes_settle(host);
	for (i = 0; i < 4; i++)
		ring_produce(&ring, i, 1, false);
	nodes_settle(host);
	ring_expect_state(&ring, T3_SPACE_COMPLETE, 1);
	ring_expect_sums(&ring, 1);
	host_free(host);
}

TEST_WITH("a hostile node breaks nothing", NULL, seeds_report)
{
	uint64_t seed;

	trail_begin();
	for_each_seed(seed, SEEDS) hostile_of(seed);
	trail_expect(0x1e73c56a4f2a2dd1);
}
