/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The greeting: do both nodes mean the same fabric? SPEC.md section 16.1. */
#include <stdio.h>

#include "node/node.h"

void t3_greeting_fill(const struct t3_peer *peer, struct t3_hello *hello)
{
	const struct t3_fabric_config *fabric = &peer->fabric->config;
	uint32_t all = ~(uint32_t)0 >> (32 - fabric->ranks);

	*hello = (struct t3_hello){
		.magic = T3_HELLO_MAGIC,
		.version = T3_NODE_VERSION,
		.flags = fabric->timed ? T3_HELLO_TIMED : 0,
		.topology = fabric->topology,
		.ranks = fabric->ranks,
		.nodes = peer->config.nodes,
		.node = peer->config.own,
		.local = all & ~fabric->remote,
	};
	memcpy(hello->fabric, peer->config.fabric, sizeof(hello->fabric));
}

static const char *const reasons[T3_REFUSED_COUNT] = {
	[T3_REFUSED_MAGIC] = "it is no node of a T3 fabric",
	[T3_REFUSED_VERSION] = "it has another version of the protocol",
	[T3_REFUSED_FABRIC] = "it belongs to another fabric",
	[T3_REFUSED_SHAPE] = "its topology, ranks, nodes or timed differ",
	[T3_REFUSED_NODE] = "its number or its ranks are not those that were told here",
};

static uint32_t judge(const struct t3_peer *peer, const struct t3_hello *hello)
{
	const struct t3_fabric_config *fabric = &peer->fabric->config;

	if (memcmp(hello->magic, T3_HELLO_MAGIC, sizeof(hello->magic)))
		return T3_REFUSED_MAGIC;
	if (hello->version != T3_NODE_VERSION)
		return T3_REFUSED_VERSION;
	if (memcmp(hello->fabric, peer->config.fabric, sizeof(hello->fabric)))
		return T3_REFUSED_FABRIC;
	if (hello->topology != fabric->topology || hello->ranks != fabric->ranks ||
	    hello->nodes != peer->config.nodes || hello->mbz ||
	    hello->flags != (fabric->timed ? T3_HELLO_TIMED : 0))
		return T3_REFUSED_SHAPE;
	if (hello->node != peer->config.node || hello->local != peer->config.ranks)
		return T3_REFUSED_NODE;
	return 0;
}

/* The peer is told, too, unless it is none. */
static const char *refuse(struct t3_peer *peer, const struct t3_hello *hello, uint32_t reason)
{
	struct {
		struct t3_frame head;
		uint32_t reason;
	} frame = { { .type = T3_FRAME_REFUSE, .length = sizeof(reason) }, reason };
	int used = snprintf(peer->why, sizeof(peer->why), "node %u is refused: %s",
			    peer->config.node, reasons[reason]);

	if (reason == T3_REFUSED_VERSION && used > 0 && (size_t)used < sizeof(peer->why))
		snprintf(peer->why + used, sizeof(peer->why) - (size_t)used, " (%u, here %u)",
			 hello->version, T3_NODE_VERSION);
	if (reason != T3_REFUSED_MAGIC)
		t3_peer_send(peer, &frame.head, true);
	return peer->why;
}

const char *t3_greeting_check(struct t3_peer *peer, const uint8_t *body, uint32_t length)
{
	struct t3_hello hello = { 0 };
	uint32_t reason;

	memcpy(&hello, body, length < sizeof(hello) ? length : sizeof(hello));
	reason = judge(peer, &hello);
	if (!reason && length != sizeof(hello))
		reason = T3_REFUSED_SHAPE;
	return reason ? refuse(peer, &hello, reason) : NULL;
}

const char *t3_greeting_refused(struct t3_peer *peer, const uint8_t *body)
{
	uint32_t reason;

	memcpy(&reason, body, sizeof(reason));
	if (!reason || reason >= T3_REFUSED_COUNT)
		reason = T3_REFUSED_MAGIC;
	snprintf(peer->why, sizeof(peer->why), "node %u refused this node: to it, %s",
		 peer->config.node, reasons[reason]);
	return peer->why;
}

_Static_assert(T3_GREETING_SIZE == sizeof(struct t3_frame) + sizeof(struct t3_hello),
	       "hosts read as much");

uint32_t t3_peer_of_greeting(const void *data)
{
	struct t3_frame head;
	struct t3_hello hello;

	memcpy(&head, data, sizeof(head));
	memcpy(&hello, (const uint8_t *)data + sizeof(head), sizeof(hello));
	if (head.type != T3_FRAME_HELLO ||
	    memcmp(hello.magic, T3_HELLO_MAGIC, sizeof(hello.magic)) ||
	    hello.version != T3_NODE_VERSION)
		return T3_MAX_NODES;
	return hello.node < T3_MAX_NODES ? hello.node : T3_MAX_NODES;
}
