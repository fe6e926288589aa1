/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peers: the connections to other nodes, and the frames on them. SPEC.md section 16. Links whose
 * other half is on another node send through this room.
 */
#ifndef T3_CORE_NODE_H
#define T3_CORE_NODE_H

#include "link/link.h"
#include "t3_node.h"

enum t3_frame_type {
	T3_FRAME_HELLO = 1, /* the first one of each side, struct t3_hello */
	T3_FRAME_PACKET,    /* struct t3_packet and its payload, of a burst all of it */
	T3_FRAME_RESPONSE,  /* struct t3_remote_response */
	T3_FRAME_LOSS,	    /* struct t3_remote_loss, with or without generations */
	T3_FRAME_PING,	    /* no body: the sender is alive */
	T3_FRAME_REFUSE,    /* uint32_t: enum t3_refusal; the last one */
	T3_FRAME_MOVE,	    /* no body: the sender's next frames come another way */
};

#define T3_FRAME_CORRUPT 1u /* PACKET: its checksum is wrong (injected) */

struct t3_frame {
	uint8_t type;
	uint8_t flags;
	uint16_t mbz;
	uint32_t length; /* of the body */
};

#define T3_HELLO_MAGIC	 "T3 NODE" /* with its 0 */
#define T3_HELLO_TIMED	 1u
#define T3_HELLO_LONGEST 1024u /* of another version */

/* Magic and version are at the same place in all versions. */
struct t3_hello {
	char magic[8];
	uint32_t version;
	uint32_t flags;
	uint8_t fabric[T3_NODE_ID_SIZE];
	uint32_t topology, ranks, nodes;
	uint32_t node;	/* of the sender */
	uint32_t local; /* its ranks, as a bit mask */
	uint32_t mbz;
};

/* Of packets from src to dst, so the response goes from dst to src. */
struct t3_remote_response {
	uint16_t src, dst;
	uint32_t incarnation, sequence;
	uint16_t status;  /* t3_nak */
	uint16_t packets; /* from `sequence` on */
};

/* The device at src was reset, or detached: then there are no generations. */
struct t3_remote_loss {
	uint16_t src, dst;
	uint32_t generation[T3_MAX_SPACES];
};

#define T3_REMOTE_GONE	 offsetof(struct t3_remote_loss, generation) /* bytes of a loss without */
#define T3_PACKET_MOST	 (sizeof(struct t3_packet) + T3_LINK_BURST * T3_PACKET_PAYLOAD)
#define T3_FRAME_LONGEST (sizeof(struct t3_frame) + T3_PACKET_MOST)

_Static_assert(sizeof(struct t3_frame) == 8 && sizeof(struct t3_hello) == 56 &&
		       sizeof(struct t3_remote_response) == 16,
	       "frames have no padding");
_Static_assert(sizeof(struct t3_remote_loss) <= T3_PACKET_MOST, "the longest frame is a burst");

/* Ticks without a byte from the peer after which it stands still: a live one sends PING meanwhile. */
#define T3_PEER_STILL 5u

/* The packet whose round trip is being measured. One at a time. */
struct t3_meter {
	bool running;
	uint16_t src, dst;
	uint32_t incarnation, sequence;
	uint64_t start;
};

/* The faults injected at a connection. */
struct t3_node_injection {
	struct t3_injection cut, stall;
	uint32_t cut_ms, stall_ms;
	uint32_t cut_chance, stall_chance; /* in T3_INJECT_CHANCE */
	uint64_t seed, random;
	bool is_cut; /* until the next connection */
};

struct t3_peer {
	struct t3_fabric *fabric;
	struct t3_peer_config config;
	struct t3_peer_ops ops;
	void *opaque;
	bool connected;	       /* info.up: and its greeting was accepted */
	bool may_move, moved;  /* there is another way; the peer takes it */
	uint32_t silent, idle; /* ticks since a byte came, since a frame was sent */
	struct t3_peer_info info;
	struct t3_meter meter;
	struct t3_node_injection injected;
	size_t have; /* bytes of the frame that has come in part */
	uint8_t frame[T3_FRAME_LONGEST];
	char why[160];
};

/* links.c: the peer's links. Called when the fabric is made, for a link with one half here. */
void t3_remote_init(struct t3_link *link, bool source);
/* Links with the peer's part of a switch, if there is one. They belong to the fabric. */
bool t3_remote_parts(const struct t3_peer *peer);
/* The peer's links lose all that is under way, and each local target learns of the loss. */
void t3_remote_cut(const struct t3_peer *peer);
/* Bursts on the peer's links are single packets from now on. */
void t3_remote_end_bursts(const struct t3_peer *peer);
void t3_remote_tick(const struct t3_peer *peer);
/* A body that has come. NULL, or why it breaks the protocol. */
const char *t3_remote_packet(struct t3_peer *peer, const uint8_t *body, uint32_t length,
			     bool corrupt);
const char *t3_remote_answer(struct t3_peer *peer, const uint8_t *body);
const char *t3_remote_lost(struct t3_peer *peer, const uint8_t *body, uint32_t length);

/* peer.c: false if the frame was lost. */
bool t3_peer_send(struct t3_peer *peer, struct t3_frame *frame, bool may_lose);

/* meter.c: what a connection carries. A frame was sent, or has come. */
void t3_meter_sent(struct t3_peer *peer, const struct t3_frame *frame);
void t3_meter_received(struct t3_peer *peer, const struct t3_frame *frame);
/* A packet was sent, and a response has come, on a link to the peer. */
void t3_meter_start(struct t3_peer *peer, const struct t3_link *link,
		    const struct t3_packet *packet);
void t3_meter_stop(struct t3_peer *peer, const struct t3_remote_response *response);

/* fault.c: for the front, t3_admin_status; and a packet of a rank is sent. True: it is lost. */
uint32_t t3_node_inject(struct t3_fabric *fabric, const struct t3_cmd_inject *inject);
bool t3_node_fault_hits(struct t3_peer *peer, uint32_t rank);
/* May a fault hit one of the next packets? */
bool t3_node_any_injected(const struct t3_peer *peer);

/* greeting.c */
void t3_greeting_fill(const struct t3_peer *peer, struct t3_hello *hello);
/* NULL, or a sentence in peer->why. */
const char *t3_greeting_check(struct t3_peer *peer, const uint8_t *body, uint32_t length);
const char *t3_greeting_refused(struct t3_peer *peer, const uint8_t *body);

#endif /* T3_CORE_NODE_H */
