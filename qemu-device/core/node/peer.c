/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection to another node: its life, and the stream of frames. SPEC.md section 16. */
#include "node/node.h"

/* ------------------------------------------------------------------- output */

bool t3_peer_send(struct t3_peer *peer, struct t3_frame *frame, bool may_lose)
{
	size_t size = sizeof(*frame) + frame->length;
	bool control = frame->type == T3_FRAME_HELLO || frame->type == T3_FRAME_REFUSE;

	if (!peer->connected || (!peer->info.up && !control) ||
	    !peer->ops.output(peer->opaque, frame, size, may_lose)) {
		peer->info.lost++;
		return false;
	}
	peer->idle = 0;
	t3_meter_sent(peer, frame);
	return true;
}

static void kick(struct t3_fabric *fabric)
{
	if (fabric->clock.heap.count)
		fabric->ops.kick(fabric->opaque);
}

/* -------------------------------------------------------------------- input */

static const char *greet(struct t3_peer *peer, const uint8_t *body, uint32_t length)
{
	const char *why = t3_greeting_check(peer, body, length);

	peer->info.up = !why;
	peer->silent = 0;
	return why;
}

/* Checks the head of a frame. NULL, or why no frame may begin so. */
static const char *check_head(const struct t3_peer *peer, const struct t3_frame *head)
{
	static const struct {
		uint32_t least, most;
	} body[] = {
		[T3_FRAME_HELLO] = { offsetof(struct t3_hello, flags), T3_HELLO_LONGEST },
		[T3_FRAME_PACKET] = { sizeof(struct t3_packet), T3_PACKET_MOST },
		[T3_FRAME_RESPONSE] = { sizeof(struct t3_remote_response),
					sizeof(struct t3_remote_response) },
		[T3_FRAME_LOSS] = { T3_REMOTE_GONE, sizeof(struct t3_remote_loss) },
		[T3_FRAME_PING] = { 0, 0 },
		[T3_FRAME_REFUSE] = { sizeof(uint32_t), sizeof(uint32_t) },
		[T3_FRAME_MOVE] = { 0, 0 },
	};
	uint32_t flags = head->type == T3_FRAME_PACKET ? T3_FRAME_CORRUPT : 0;

	if (head->type < T3_FRAME_HELLO || head->type > T3_FRAME_MOVE || head->mbz ||
	    head->flags & ~flags)
		return "a frame has an unknown type or flag";
	if (head->length < body[head->type].least || head->length > body[head->type].most)
		return "a frame has a wrong length";
	if (!peer->info.up && head->type != T3_FRAME_HELLO && head->type != T3_FRAME_REFUSE)
		return "a frame comes before the greeting";
	if (head->type == T3_FRAME_MOVE && (!peer->may_move || peer->moved))
		return "its frames move where nothing was offered";
	return peer->info.up && head->type == T3_FRAME_HELLO ? "a second greeting" : NULL;
}

static const char *take(struct t3_peer *peer, const struct t3_frame *head, const uint8_t *body)
{
	t3_meter_received(peer, head);
	switch (head->type) {
	case T3_FRAME_HELLO:
		return greet(peer, body, head->length);
	case T3_FRAME_PACKET:
		return t3_remote_packet(peer, body, head->length, head->flags & T3_FRAME_CORRUPT);
	case T3_FRAME_RESPONSE:
		return t3_remote_answer(peer, body);
	case T3_FRAME_LOSS:
		return t3_remote_lost(peer, body, head->length);
	case T3_FRAME_REFUSE:
		return t3_greeting_refused(peer, body);
	case T3_FRAME_MOVE:
		peer->moved = true;
		return NULL;
	default:
		return NULL;
	}
}

/*
 * Moves bytes of the input to the frame until it has `want`. False: there are too few. The input may
 * be memory that the peer changes meanwhile, and is read once: the fence keeps the compiler from
 * reading it again in place of the frame.
 */
static bool gather(struct t3_peer *peer, size_t want, const uint8_t **data, size_t *len)
{
	size_t part = want - peer->have;

	if (part > *len)
		part = *len;
	memcpy(peer->frame + peer->have, *data, part);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	peer->have += part;
	*data += part;
	*len -= part;
	return peer->have == want;
}

/* Takes one frame, or what there is of it. */
static const char *step(struct t3_peer *peer, const uint8_t **data, size_t *len)
{
	struct t3_frame head;
	const char *why;

	if (peer->have < sizeof(head) && !gather(peer, sizeof(head), data, len))
		return NULL;
	memcpy(&head, peer->frame, sizeof(head));
	why = check_head(peer, &head);
	if (why || !gather(peer, sizeof(head) + head.length, data, len))
		return why;
	peer->have = 0;
	return take(peer, &head, peer->frame + sizeof(head));
}

const char *t3_peer_input(struct t3_peer *peer, const void *data, size_t len)
{
	const uint8_t *at = data;
	const char *why = peer->connected ? NULL : "there is no connection";
	bool moved = peer->moved;

	if (peer->info.up)
		peer->silent = 0;
	while (len && !why && moved == peer->moved)
		why = step(peer, &at, &len);
	if (why)
		peer->info.refused++;
	kick(peer->fabric);
	return why;
}

/* --------------------------------------------------------------- connection */

void t3_peer_connect(struct t3_peer *peer)
{
	struct {
		struct t3_frame head;
		struct t3_hello body;
	} frame = { .head = { .type = T3_FRAME_HELLO, .length = sizeof(frame.body) } };

	peer->connected = true;
	peer->injected.is_cut = false;
	peer->info.connections++;
	peer->info.refuses = peer->info.is_refused = false;
	peer->have = 0;
	peer->silent = 0;
	peer->may_move = peer->moved = false;
	t3_greeting_fill(peer, &frame.body);
	t3_peer_send(peer, &frame.head, false);
}

void t3_peer_allow_move(struct t3_peer *peer)
{
	peer->may_move = true;
}

bool t3_peer_moved(const struct t3_peer *peer)
{
	return peer->moved;
}

bool t3_peer_move(struct t3_peer *peer)
{
	struct t3_frame frame = { .type = T3_FRAME_MOVE };

	return peer->info.up && t3_peer_send(peer, &frame, false);
}

void t3_peer_disconnect(struct t3_peer *peer)
{
	bool was_up = peer->info.up;

	peer->connected = false;
	peer->info.up = false;
	peer->meter.running = false;
	if (was_up)
		t3_remote_cut(peer);
	kick(peer->fabric);
}

const char *t3_peer_tick(struct t3_peer *peer)
{
	struct t3_frame ping = { .type = T3_FRAME_PING };

	t3_remote_tick(peer);
	kick(peer->fabric);
	if (!peer->connected)
		return NULL;
	if (peer->silent++ >= (peer->info.up ? peer->config.silence : T3_PEER_GREETING))
		return "the node is silent";
	if (peer->info.up && peer->idle++)
		t3_peer_send(peer, &ping, true);
	return NULL;
}

void t3_peer_info(const struct t3_peer *peer, struct t3_peer_info *info)
{
	*info = peer->info;
}

/* --------------------------------------------------------------------- life */

static bool is_right(const struct t3_fabric *fabric, const struct t3_peer_config *config)
{
	uint32_t rank;

	if (config->nodes < 2 || config->nodes > T3_MAX_NODES || config->own >= config->nodes ||
	    config->node >= config->nodes || config->node == config->own || !config->ranks ||
	    config->ranks & ~fabric->config.remote || config->silence < T3_PEER_SILENCE_LEAST ||
	    config->silence > T3_PEER_SILENCE_MOST)
		return false;
	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		if (config->ranks >> rank & 1 && fabric->peer[rank])
			return false;
	return !fabric->peer[T3_SWITCH_PART + config->node];
}

static void set_ranks(struct t3_peer *peer, struct t3_peer *value)
{
	uint32_t rank;

	for (rank = 0; rank < T3_MAX_RANKS; rank++)
		if (peer->config.ranks >> rank & 1)
			peer->fabric->peer[rank] = value;
	peer->fabric->peer[T3_SWITCH_PART + peer->config.node] = value;
}

struct t3_peer *t3_peer_new(struct t3_fabric *fabric, const struct t3_peer_config *config,
			    const struct t3_peer_ops *ops, void *opaque)
{
	struct t3_peer *peer;

	if (!is_right(fabric, config))
		return NULL;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->fabric = fabric;
	peer->config = *config;
	peer->ops = *ops;
	peer->opaque = opaque;
	set_ranks(peer, peer);
	if (!t3_remote_parts(peer)) {
		t3_peer_free(peer);
		return NULL;
	}
	return peer;
}

void t3_peer_free(struct t3_peer *peer)
{
	if (!peer)
		return;
	set_ranks(peer, NULL);
	free(peer);
}
