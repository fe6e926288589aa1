/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Links: packets from one rank to another, a response to each, and turns among the clients
 * that send. SPEC.md sections 6.1 and 8.2. The room above interprets packets and provides
 * struct t3_link_ops. Spaces and queues send on links. The front creates them and injects
 * faults.
 */
#ifndef T3_CORE_LINK_H
#define T3_CORE_LINK_H

#include "device/device.h"

#define T3_LINK_SLOTS	  64u
#define T3_LINK_RESERVE	  16u /* slots reserved for stores of the CPU */
#define T3_LINK_RETRIES	  7u
#define T3_LINK_BURST	  16u	 /* packets of a burst at most */
#define T3_LINK_LATENCY	  500u	 /* ns, published */
#define T3_LINK_RATE	  150u	 /* bytes per ns, published: 150 GB/s */
#define T3_LINK_TIMEOUT	  10000u /* ns */
#define T3_LINK_RESPONSES 128u
#define T3_LINK_TICKS	  2u	/* of a remote link, instead of T3_LINK_TIMEOUT */
#define T3_LINK_AGAIN	  1000u /* ns after which a packet is sent again that found no room */
#define T3_LINK_KEYS	  16u	/* wrong keys on a remote link that are judged at once */
#define T3_STATUS_LINK	  0xffu /* beside t3_nak: no response after all retries */
#define T3_STATUS_BUSY	  0xfeu /* beside t3_nak: there was no room; the packet comes again */

struct t3_segment;
struct t3_space;

/* Callbacks of a link into the room above, which provides them when it creates the link. */
struct t3_link_ops {
	/*
	 * At the target: a packet or a burst arrived in order. Returns t3_nak. A burst that is
	 * refused changes nothing: its packets come again, one by one. So does a packet for which a
	 * switch returns T3_STATUS_BUSY, and it may do so for any.
	 */
	uint32_t (*receive)(struct t3_link *link, const struct t3_packet *packet,
			    const uint8_t *payload);
	/* The same of a packet from the switch. For t3_switch_new() alone. */
	uint32_t (*receive_group)(struct t3_link *link, const struct t3_packet *packet,
				  const uint8_t *payload);
	/* At the source: a packet or a burst is finished. `status` is t3_nak or T3_STATUS_LINK. */
	void (*answered)(struct t3_link *link, const struct t3_packet *packet, uint32_t status);
	/* The generations of the device's spaces. */
	const uint32_t *(*generation)(const struct t3_dev *dev);
	/* At the source: slots may be free. */
	void (*room)(struct t3_link *link);
	/* At the source: on_pump fires. */
	void (*pump)(struct t3_link *link);
	/*
	 * At the target: the source device was reset or detached. generation: of its spaces now,
	 * or NULL: there is no device, or it cannot be reached.
	 */
	void (*lost)(struct t3_link *link, const uint32_t *generation);
};

/* Callbacks of a link whose other half is on another node, into the room that provides them. */
struct t3_remote_ops {
	/* At the source: a packet leaves. It may be lost. `corrupt`: it is damaged on its way. */
	void (*packet)(struct t3_link *link, const struct t3_packet *packet, const uint8_t *payload,
		       bool corrupt);
	/*
	 * At the target: a packet, or a burst, is answered with t3_nak or T3_STATUS_BUSY. The
	 * response may be lost.
	 */
	void (*response)(struct t3_link *link, const struct t3_packet *packet, uint32_t status);
	/* At the source: may a burst leave? False: each packet may meet a fault of its own. */
	bool (*bursts)(const struct t3_link *link);
	/*
	 * At the source: its device was reset or detached. `all`: all spaces there are lost to the
	 * target, whatever their generations.
	 */
	void (*loss)(struct t3_link *link, bool all);
};

/* A control packet that waits for its link. Each route and each import has at most one. */
struct t3_ctl {
	struct t3_ctl *next;
	struct t3_link *link; /* the link where it is queued, or NULL */
	struct t3_space *space;
	struct t3_packet packet; /* the link fills in its own fields */
};

enum t3_held {
	T3_HELD_NOT,
	T3_HELD_LATE, /* injected: the next packet arrives later than its slot says */
	T3_HELD_SWAP, /* injected: the next packet arrives after its successor */
};

#define T3_INJECT_MAX_DELAY 1000000000u /* ns */
#define T3_INJECT_CHANCE    65536u

/* The faults injected at a link. */
struct t3_link_injection {
	bool down;						  /* no packet arrives */
	struct t3_injection counted[T3_INJECT_DROP_RESPONSE + 1]; /* by t3_inject_kind */
	uint64_t delay;						  /* ns, of counted[DELAY] */
	uint32_t chance; /* in 65536; 0: no random faults */
	uint64_t random; /* xorshift, never 0 */
};

/*
 * A packet under way, or the first of a burst: packets of a tile, which leave, arrive and are answered
 * at once. SPEC.md section 6.1. Then `packet` has the length of all, and the slots of the others have
 * the rest of the payload only. A burst does not go on at the first slot after the last one.
 */
struct t3_slot {
	struct t3_packet packet;
	uint64_t arrival;
	uint32_t packets;
	bool answered; /* the source has received the response */
};

/* The packets of one client that wait for a link. */
struct t3_turn {
	struct t3_ctl *ctl_head, *ctl_tail;
	struct t3_segment *work_head, *work_tail;
};

struct t3_response {
	uint64_t time;
	uint32_t incarnation, sequence; /* of the packet */
	uint32_t status;
};

/* The receiving half. All that it knows of the other one came in packets. */
struct t3_receiver {
	uint32_t incarnation; /* of the newest packets that came; 0: none has come */
	uint64_t expect; /* the next packet that it accepts, counted from 0 in an incarnation */
	uint8_t status[T3_LINK_SLOTS]; /* t3_nak of packet n at n % T3_LINK_SLOTS */
};

/*
 * One direction, from src to dst: the sending half, the wire, and the receiving half. An
 * incarnation begins with packet 0. Sequence numbers have 64 bits here; packets carry the low 32.
 * una <= deliver <= next, and the packets [una, next) are in slots.
 */
struct t3_link {
	const struct t3_link_ops *ops;
	const struct t3_remote_ops *remote; /* NULL: both halves are here */
	struct t3_fabric *fabric;
	uint32_t src; /* as packets say: ranks, or T3_SWITCH_RANK */
	uint32_t dst;
	uint32_t from, to; /* the same as ends: its place in t3_fabric.link */
	uint32_t
		idle; /* remote: t3_link_tick() since the last packet or response of unanswered ones */
	uint32_t wrong_keys; /* remote: that came, minus those that time has forgiven */
	uint32_t incarnation;
	uint32_t retries;
	uint32_t stood;	  /* remote: ticks without progress in which the other node stood still, or
			     answered BUSY */
	bool was_busy;	  /* remote: T3_STATUS_BUSY came since the last tick */
	uint64_t una;	  /* oldest packet without response */
	uint64_t next;	  /* next packet to be sent for the first time */
	uint64_t deliver; /* next packet to arrive */
	uint64_t busy;	  /* time until which the wire is in use */
	struct t3_receiver receiver;
	uint32_t resp_head, resp_count;
	bool engine_waits; /* queues of the source wait for a slot */
	uint32_t wanted;   /* slots that a CPU's store waits for; if remote, also between calls */
	uint32_t
		burst_keeps; /* slots that bursts leave free; T3_LINK_SLOTS: the link has no bursts */
	uint32_t held;	     /* t3_held of packet `deliver` */
	struct t3_link_injection injected;
	struct t3_share share; /* of the source's clients, in bytes */
	struct t3_turn turn[T3_MAX_CLIENTS];
	uint32_t waiting[T3_MAX_CLIENTS / 32]; /* bit: a list of the client is not empty */
	struct t3_event on_arrival, on_response, on_timeout, on_pump, on_loss;
	struct t3_response response[T3_LINK_RESPONSES];
	struct t3_slot slot[T3_LINK_SLOTS];
	uint8_t payload[T3_LINK_SLOTS][T3_PACKET_PAYLOAD];
};

/* The payload of a packet or a burst: `bytes` bytes of each row, in `packets` packets. */
struct t3_rows {
	uint32_t count, bytes, packets;
};

/* burst.c */
/* How many packets have so many bytes of a row, at least 1. */
static inline uint32_t t3_row_packets(uint32_t bytes)
{
	return bytes ? (bytes + T3_PACKET_PAYLOAD - 1) / T3_PACKET_PAYLOAD : 1;
}

static inline struct t3_rows t3_burst_rows(const struct t3_packet *packet)
{
	struct t3_rows rows = { .count = 1, .bytes = packet->length };

	if (packet->arg && packet->arg < packet->length) {
		rows.count = packet->length / packet->arg;
		rows.bytes = packet->arg;
	}
	rows.packets = t3_row_packets(rows.bytes);
	return rows;
}

static inline uint32_t t3_burst_packets(const struct t3_packet *packet)
{
	struct t3_rows rows = t3_burst_rows(packet);

	return rows.count * rows.packets;
}

/* Rows of a memory follow each other in a payload. */
void t3_burst_copy(uint8_t *to, const struct t3_packet *packet, const uint8_t *from,
		   uint64_t pitch);
/* Packet `i` of a burst. Returns where its payload begins in that of the burst. */
uint32_t t3_burst_part(const struct t3_packet *burst, uint32_t i, struct t3_packet *part);
/* Is it one packet, or a burst of whole packets that no link's slots end? */
bool t3_burst_is_whole(const struct t3_packet *packet);
/* How many packets the next burst may have, which leaves slots for stores of the CPU. 1: none. */
uint32_t t3_burst_room(const struct t3_link *link);
/* The burst of this slot, or each one under way, is single packets from now on. */
void t3_burst_end(struct t3_link *link, uint64_t seq);
void t3_burst_end_all(struct t3_link *link);

/* link.c. src, dst: ends */
void t3_link_init(struct t3_link *link, struct t3_fabric *fabric, uint32_t src, uint32_t dst,
		  const struct t3_link_ops *ops);
uint32_t t3_link_free_slots(const struct t3_link *link);
/* The packet after that one, or after the burst that begins there. */
uint64_t t3_link_after(const struct t3_link *link, uint64_t seq);
/* The caller has checked t3_link_free_slots(), and for a burst t3_burst_room(). `pitch`: of its rows. */
void t3_link_send(struct t3_link *link, const struct t3_packet *packet, const void *payload,
		  uint64_t pitch);
void t3_link_clear(struct t3_link *link);
void t3_link_drop_all(struct t3_link *link);
/* Both halves begin anew. What is under way is lost, and its senders learn it as if the link gave up. */
void t3_link_restart(struct t3_link *link);
/* The sender was reset or detached: the target learns it after the latency, or at once. */
void t3_link_schedule_loss(struct t3_link *link);
void t3_link_notice_loss(struct t3_link *link);
/* Of a remote link: all that its source has said is void. The sending half begins anew. */
void t3_link_renounce(struct t3_link *link);
/* The target learns it now; generation as of t3_link_ops.lost. */
void t3_link_lost(struct t3_link *link, const uint32_t *generation);
/* False: fewer slots are free, and the caller cannot wait for more. */
bool t3_link_make_room(struct t3_link *link, uint32_t slots);
/*
 * For remote links. The first marks one before its first use: the source, or the target, is here. A
 * response to so many packets came. A tick of real time passed: after T3_LINK_TICKS without a
 * response the sender repeats its packets. Before that it waits, between two responses, for up to
 * `may_stand` ticks in which the node stands still (`stands`), or has answered BUSY. The connection
 * ended: all packets under way are lost.
 */
void t3_link_set_remote(struct t3_link *link, const struct t3_remote_ops *remote, bool source);
void t3_link_response(struct t3_link *link, uint32_t incarnation, uint32_t sequence,
		      uint32_t packets, uint32_t status);
void t3_link_tick(struct t3_link *link, uint32_t may_stand, bool stands);
void t3_link_cut(struct t3_link *link);

/* wire.c: what is under way, and its accidents */
void t3_wire_transmit(struct t3_link *link, struct t3_slot *slot); /* after what is under way */
void t3_wire_schedule(struct t3_link *link); /* call it when the next packet to arrive changed */
void t3_wire_deliver_from(struct t3_link *link, uint64_t seq); /* packets before leave the wire */
void t3_wire_arrival(struct t3_event *event);

/*
 * receiver.c: the receiving half. A packet or a burst came; the response goes out. False: a burst that
 * would be refused. It is as if it had not come.
 */
bool t3_receiver_take(struct t3_link *link, const struct t3_packet *packet, const uint8_t *payload);
void t3_receiver_corrupt(struct t3_link *link); /* one with a wrong checksum: it is only counted */

/* turn.c: which client's packets a link takes next */
bool t3_turn_waits(const struct t3_link *link);
/* Does only this client wait? */
bool t3_turn_alone(const struct t3_link *link, uint32_t client);
/* Call it after a change of one of the client's lists. */
void t3_turn_note(struct t3_link *link, uint32_t client);
uint32_t t3_turn_next(const struct t3_link *link); /* T3_NONE32: no client waits */
/* Charges bytes sent out of turn: a CPU's store, or a queue that t3_turn_may_send() allows. */
void t3_turn_charge(struct t3_link *link, uint32_t client, uint32_t bytes);
bool t3_turn_may_send(const struct t3_link *link, uint32_t client);
void t3_turn_clear(struct t3_link *link);

/* injection.c. May a fault hit one of the next packets? */
bool t3_link_any_injected(const struct t3_link *link);
/* Each counts one event. True, or a delay: the fault hits this event. */
/* kind: t3_inject_kind, DROP .. DROP_RESPONSE. sequence: of the packet, for the trace. */
bool t3_link_injected(struct t3_link *link, uint32_t kind, uint64_t sequence);
uint64_t t3_link_injected_delay(struct t3_link *link, uint64_t sequence); /* ns; 0: none */
/* Count a fault that has hit that packet, and trace it. */
void t3_link_accident(struct t3_link *link, uint32_t kind, uint64_t sequence);

#endif /* T3_CORE_LINK_H */
