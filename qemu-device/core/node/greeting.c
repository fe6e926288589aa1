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

const char *t3_node_refusal_text(enum t3_refusal reason)
{
	return reasons[reason];
}

/*
 * A node that knows the identity may connect. The time of a comparison that stops at the first
 * difference would tell a stranger how much of a guess is right.
 */
static bool is_same_fabric(const uint8_t *a, const uint8_t *b)
{
	uint8_t different = 0;
	uint32_t i;

	for (i = 0; i < T3_NODE_ID_SIZE; i++)
		different |= a[i] ^ b[i];
	return !different;
}

/* The identity comes first: a stranger learns nothing else of the fabric. */
static enum t3_refusal judge(const struct t3_peer *peer, const uint8_t *body, uint32_t length)
{
	const struct t3_fabric_config *fabric = &peer->fabric->config;
	struct t3_hello hello = { 0 };

	memcpy(&hello, body, length < sizeof(hello) ? length : sizeof(hello));
	if (memcmp(hello.magic, T3_HELLO_MAGIC, sizeof(hello.magic)))
		return T3_REFUSED_MAGIC;
	if (hello.version != T3_NODE_VERSION)
		return T3_REFUSED_VERSION;
	if (!is_same_fabric(hello.fabric, peer->config.fabric))
		return T3_REFUSED_FABRIC;
	if (length != sizeof(hello) || hello.topology != fabric->topology ||
	    hello.ranks != fabric->ranks || hello.nodes != peer->config.nodes || hello.mbz ||
	    hello.flags != (fabric->timed ? T3_HELLO_TIMED : 0))
		return T3_REFUSED_SHAPE;
	if (hello.node != peer->config.node || hello.local != peer->config.ranks)
		return T3_REFUSED_NODE;
	return T3_REFUSED_NOT;
}

struct refusal {
	struct t3_frame head;
	uint32_t reason;
};

static struct refusal refusal_of(enum t3_refusal reason)
{
	return (struct refusal){
		.head = { .type = T3_FRAME_REFUSE, .length = sizeof(uint32_t) },
		.reason = reason,
	};
}

bool t3_refusal_frame(enum t3_refusal reason, uint8_t frame[T3_REFUSAL_SIZE])
{
	const struct refusal refusal = refusal_of(reason);

	memcpy(frame, &refusal, sizeof(refusal));
	return reason != T3_REFUSED_MAGIC;
}

_Static_assert(T3_REFUSAL_SIZE == sizeof(struct refusal) &&
		       T3_GREETING_HEAD == sizeof(struct t3_frame) &&
		       T3_GREETING_SIZE == sizeof(struct t3_frame) + sizeof(struct t3_hello) &&
		       T3_GREETING_MOST == sizeof(struct t3_frame) + T3_HELLO_LONGEST,
	       "hosts have room for as much");

/* The peer is told, too, unless it is none. */
const char *t3_greeting_check(struct t3_peer *peer, const uint8_t *body, uint32_t length)
{
	enum t3_refusal reason = judge(peer, body, length);
	struct refusal refusal = refusal_of(reason);
	uint32_t version;
	int used;

	if (!reason)
		return NULL;
	used = snprintf(peer->why, sizeof(peer->why), "node %u is refused: %s", peer->config.node,
			reasons[reason]);
	memcpy(&version, body + offsetof(struct t3_hello, version), sizeof(version));
	if (reason == T3_REFUSED_VERSION && used > 0 && (size_t)used < sizeof(peer->why))
		snprintf(peer->why + used, sizeof(peer->why) - (size_t)used, " (%u, here %u)",
			 version, T3_NODE_VERSION);
	peer->info.refuses = true;
	if (reason != T3_REFUSED_MAGIC)
		t3_peer_send(peer, &refusal.head, true);
	return peer->why;
}

const char *t3_greeting_refused(struct t3_peer *peer, const uint8_t *body)
{
	uint32_t reason;

	memcpy(&reason, body, sizeof(reason));
	if (!reason || reason >= T3_REFUSED_COUNT)
		reason = T3_REFUSED_MAGIC;
	peer->info.is_refused = true;
	snprintf(peer->why, sizeof(peer->why), "node %u refused this node: to it, %s",
		 peer->config.node, reasons[reason]);
	return peer->why;
}

/* ------------------------------------------------------ before a peer is known */

uint32_t t3_greeting_size(const void *head)
{
	struct t3_frame frame;

	memcpy(&frame, head, sizeof(frame));
	if (frame.type != T3_FRAME_HELLO || frame.flags || frame.mbz ||
	    frame.length < offsetof(struct t3_hello, flags) || frame.length > T3_HELLO_LONGEST)
		return 0;
	return (uint32_t)sizeof(frame) + frame.length;
}

uint32_t t3_greeting_node(const void *greeting, uint32_t size)
{
	uint32_t node = T3_MAX_NODES;

	if (size == T3_GREETING_SIZE)
		memcpy(&node,
		       (const uint8_t *)greeting + T3_GREETING_HEAD +
			       offsetof(struct t3_hello, node),
		       sizeof(node));
	return node < T3_MAX_NODES ? node : T3_MAX_NODES;
}

enum t3_refusal t3_peer_judge(const struct t3_peer *peer, const void *greeting, uint32_t size)
{
	return judge(peer, (const uint8_t *)greeting + T3_GREETING_HEAD, size - T3_GREETING_HEAD);
}
