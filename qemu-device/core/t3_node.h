/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fabric over several nodes. A node is a process with some of the ranks: t3_fabric_config.remote
 * has the others. Each pair of nodes has a connection, which the host provides: a stream of bytes in
 * both directions, in order. SPEC.md section 16 is the protocol. No byte of a peer is trusted.
 *
 * Calls on a peer are calls on its fabric: the host serialises them with all others.
 */
#ifndef T3_NODE_H
#define T3_NODE_H

#include "t3_core.h"

#define T3_NODE_VERSION 3u
#define T3_NODE_ID_SIZE 16u
#define T3_MAX_NODES	T3_MAX_RANKS

/* Milliseconds of real time between two calls of t3_peer_tick(). */
#define T3_PEER_TICK_MS 100u
/* Ticks within which a greeting must have come. */
#define T3_PEER_GREETING 50u
/* t3_peer_config.silence: usual, and allowed. */
#define T3_PEER_SILENCE	      50u
#define T3_PEER_SILENCE_LEAST 10u
#define T3_PEER_SILENCE_MOST  600u

struct t3_peer;

struct t3_peer_config {
	uint8_t fabric[T3_NODE_ID_SIZE]; /* the same on all nodes */
	uint32_t nodes;			 /* 2 .. T3_MAX_NODES */
	uint32_t own;			 /* number of this node */
	uint32_t node;			 /* number of the peer, another one */
	uint32_t ranks;	  /* the peer's, as a bit mask: among the fabric's remote ones */
	uint32_t silence; /* ticks without a byte from the peer that end the connection */
};

struct t3_peer_ops {
	/*
	 * Queues bytes for the peer: whole frames. `may_lose`: if the queue is long, drop them and
	 * return false. The protocol repeats them. A callback must not call into the core.
	 */
	bool (*output)(void *opaque, const void *data, size_t len, bool may_lose);
	/*
	 * An injected fault. `cut`: the connection ends now, and there is none for so long; a fault
	 * of this node, so t3_peer_disconnect() follows. Else nothing is written for so long. NULL:
	 * faults have no effect.
	 */
	void (*fault)(void *opaque, bool cut, uint32_t ms);
	/* The injection was taken back: what is left of its time ends, too. NULL: nothing does. */
	void (*mend)(void *opaque, bool cut);
	/* Real time in ns, for round trips alone. NULL: they are not measured. */
	uint64_t (*now)(void *opaque);
};

/* A peer's state, for a host that shows it. */
struct t3_peer_info {
	bool up; /* greetings were exchanged, and the connection stands */
	uint64_t connections;
	uint64_t sent, received;		 /* frames */
	uint64_t sent_bytes, received_bytes;	 /* of whole frames */
	uint64_t sent_packets, received_packets; /* frames that are packets of links */
	uint64_t lost;				 /* not sent: no connection, or a long queue */
	uint64_t refused;			 /* connections that broke the protocol */
	/* The last connection: this node refused the peer's greeting, or the peer this one's. */
	bool refuses, is_refused;
	/* From a packet to its response, in ns: smoothed (1/8 of each new one), least, most. */
	uint64_t round_trips, rtt_ns, rtt_least_ns, rtt_most_ns;
};

/*
 * NULL: the configuration is wrong, its number or ranks belong to another peer already, or there is
 * no memory.
 * Without a connection its links lose all packets.
 */
struct t3_peer *t3_peer_new(struct t3_fabric *fabric, const struct t3_peer_config *config,
			    const struct t3_peer_ops *ops, void *opaque);
/* Not connected. Before t3_fabric_free(). */
void t3_peer_free(struct t3_peer *peer);

/* A connection stands: sends the greeting. */
void t3_peer_connect(struct t3_peer *peer);
/*
 * The connection has ended. All that was under way is lost, and spaces that depend on the peer's
 * ranks fault as when a device is lost.
 */
void t3_peer_disconnect(struct t3_peer *peer);
/*
 * Bytes came. NULL, or why the host must close the connection and call t3_peer_disconnect().
 */
const char *t3_peer_input(struct t3_peer *peer, const void *data, size_t len);
/*
 * A connection may have another way for its bytes: memory that both nodes share. Once the host allows
 * it, the peer may move its frames there; it says so in the last one on the first way. What follows
 * that frame in the same call is no frame, and is dropped. This node moves its own by
 * t3_peer_move(). False: the connection is not up. Else `output` has had the last frame of the first
 * way.
 */
void t3_peer_allow_move(struct t3_peer *peer);
bool t3_peer_moved(const struct t3_peer *peer);
bool t3_peer_move(struct t3_peer *peer);
/* As input. Call it also while there is no connection. */
const char *t3_peer_tick(struct t3_peer *peer);
void t3_peer_info(const struct t3_peer *peer, struct t3_peer_info *info);

/* ----------------------------------------------------------------- greeting */

/*
 * A node that is connected to hears a greeting before it knows which peer's it is, if any. It answers
 * nothing until it has judged all of it. These functions read only what never changes. So threads may
 * call them beside all other calls on the fabric.
 */
#define T3_GREETING_HEAD 8u    /* bytes that tell the greeting's size */
#define T3_GREETING_SIZE 64u   /* of one that is right */
#define T3_GREETING_MOST 1032u /* of any version */
#define T3_REFUSAL_SIZE	 12u   /* of the answer */

/* Why a greeting was refused. */
enum t3_refusal {
	T3_REFUSED_NOT,
	T3_REFUSED_MAGIC,
	T3_REFUSED_VERSION,
	T3_REFUSED_FABRIC,
	T3_REFUSED_SHAPE,
	T3_REFUSED_NODE,
	T3_REFUSED_COUNT
};

/* From its first T3_GREETING_HEAD bytes, which its size includes. 0: no greeting begins so. */
uint32_t t3_greeting_size(const void *head);
/* The number that a whole greeting claims for its node. T3_MAX_NODES: none. */
uint32_t t3_greeting_node(const void *greeting, uint32_t size);
/* Is a whole greeting what this peer must say? Any peer refuses what none may say. */
enum t3_refusal t3_peer_judge(const struct t3_peer *peer, const void *greeting, uint32_t size);
const char *t3_node_refusal_text(enum t3_refusal reason);
/* The frame that tells the reason. False: who is no node is told nothing. */
bool t3_refusal_frame(enum t3_refusal reason, uint8_t frame[T3_REFUSAL_SIZE]);

/* ------------------------------------------------------------------- faults */

/*
 * Faults of a connection (SPEC.md section 12.4), for t3_fabric_inject() alone: `peer` is the node,
 * `value` milliseconds. RANDOM: `nth` and `count` are the chances of CUT and STALL in 65536, and
 * `value` is the seed. No guest has them, so they are no kinds of t3_hw.h.
 */
enum t3_node_fault {
	T3_INJECT_NODE_CUT = 0x100,
	T3_INJECT_NODE_STALL,
	T3_INJECT_NODE_RANDOM,
	T3_INJECT_NODE_END
};

#define T3_NODE_FAULT_MOST_MS 60000u

const char *t3_name_node_fault(uint32_t kind);
/* The fault of a kind that is pending at a connection, with nth and count as they are left. False: none. */
bool t3_peer_injection(const struct t3_peer *peer, uint32_t kind, struct t3_cmd_inject *inject);

#endif /* T3_NODE_H */
