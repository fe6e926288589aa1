/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The switch: groups of spaces, for which it merges and copies updates. SPEC.md chapter 17. A link
 * leads from each rank to it, and one from it to each rank. It knows spaces only by rank, number and
 * generation. The front gives it the drivers' commands, and state/ saves it. Of a fabric of several
 * nodes this is the part on this node, which has the groups of this node's ranks.
 */
#ifndef T3_CORE_SWITCH_H
#define T3_CORE_SWITCH_H

#include "link/link.h"

#define T3_MAX_GROUPS  (T3_MAX_RANKS * T3_PORT_GROUPS)
#define T3_GROUP_SKIPS 1024u /* values of the hash by which places without entries are remembered */

/* What is to be told to an end of a group, in this order. */
enum t3_group_tell {
	T3_TELL_STATE = 1, /* a source: what the targets have reported */
	T3_TELL_QUERY = 2, /* a target: a source asks */
	T3_TELL_END = 4,
	T3_TELL_ALL = 7,
};

/* A space in a group. */
struct t3_group_end {
	bool used;
	bool keyed; /* by GROUP_MEMBER; then `used`: a source has claimed it */
	uint32_t rank, space, generation;
	uint32_t import; /* a target's entry */
	uint32_t rank_mask, key[T3_KEY_WORDS];
	uint32_t state, epoch; /* a target's, as it has reported; epoch 0: it has not */
	uint32_t tell;
};

/* Why a group ends, from which epoch on, and the state that its sources are told. */
struct t3_group_cause {
	uint32_t state, epoch;
	uint32_t kind, detail, rank; /* as in t3_cmd_group_query */
};

struct t3_group {
	uint32_t state, kind, owner, members;
	struct t3_group_end own, member[T3_GROUP_MEMBERS];
	uint32_t epoch; /* that own, or the slowest member, has reported */
	uint32_t asked; /* epoch of the last ARM_QUERY */
	uint32_t done;	/* bit member: a source has sent all of `epoch` */
	struct t3_group_cause cause;
	struct t3_switch_entry *first, *last; /* entries that wait for members */
	uint32_t entries;
	uint32_t places;	/* ORDERED: in an epoch; else 0 */
	uint32_t reserve, held; /* ORDERED: entries that are the group's, and how many are in use */
	uint32_t
		skip[T3_GROUP_SKIPS / 32]; /* bit: an update with that hash went alone in `epoch` */
	uint64_t merged, alone, copies;
};

/* A sum. It is in a list of its group until it may leave, then in that of its target's port. */
struct t3_switch_entry {
	struct t3_switch_entry *next, *before; /* of the group; `next`: of the port, or free */
	struct t3_switch_entry *chain;	       /* of the same hash */
	uint32_t group;
	uint32_t from; /* bit member: its update is in the sum */
	bool used;
	struct t3_packet sum; /* as it leaves; `row`, `col`, `segment`: the place */
	uint8_t payload[T3_PACKET_PAYLOAD];
};

struct t3_switch_counts {
	uint64_t taken, merged, alone, full, partial, sums, copies, busy, refused, wrong_keys;
};

/* One for each rank. */
struct t3_switch_port {
	struct t3_link *up, *down; /* from the rank, to it */
	uint64_t ticket; /* since when an update waits for room, by their order; 0: none does */
	uint32_t needs;	 /* bit rank: it waits for the link to that one */
	uint32_t tell[T3_MAX_GROUPS / 32]; /* bit group: has something to tell to this rank */
	struct t3_switch_entry *ready, *ready_last;
	uint32_t ready_count;
	struct t3_switch_entry *entry, *free;
	uint32_t fresh; /* entries before that one have been used */
	uint32_t used, most;
	uint32_t reserved; /* unused ones that groups of this rank have reserved */
	struct t3_switch_counts counts;
};

struct t3_switch {
	struct t3_dev dev; /* for the counters of links; nothing else of it is used */
	struct t3_fabric *fabric;
	struct t3_link_ops up_ops, down_ops, part_ops;
	struct t3_switch_port port[T3_MAX_RANKS];
	struct t3_group *group; /* T3_MAX_GROUPS; those of rank r begin at r * T3_PORT_GROUPS */
	uint32_t generation[T3_MAX_GROUPS];
	struct t3_switch_entry **bucket;
	uint32_t buckets; /* a power of two */
	uint64_t tickets;
};

static inline struct t3_switch *t3_switch_of(const struct t3_link *link)
{
	return link->fabric->sw;
}

static inline uint32_t t3_group_id(const struct t3_switch *sw, const struct t3_group *group)
{
	return (uint32_t)(group - sw->group);
}

/* The ends of a group have the numbers 0 .. members: the last one is `own`. */
static inline struct t3_group_end *t3_group_end(struct t3_group *group, uint32_t i)
{
	return i == group->members ? &group->own : &group->member[i];
}

static inline bool t3_group_is_target(const struct t3_group *group, const struct t3_group_end *end)
{
	return (end == &group->own) == (group->kind == T3_GROUP_REDUCE);
}

static inline uint32_t t3_group_all(const struct t3_group *group)
{
	return ~(uint32_t)0 >> (32 - group->members);
}

/* Will no other member add to what these have sent? */
static inline bool t3_group_is_full(const struct t3_group *group, uint32_t from)
{
	return (from | group->done) == t3_group_all(group);
}

/* Is `epoch` from `from` on, as SPEC.md 6.2 says for ends? 0: all epochs are. */
static inline bool t3_group_from(uint32_t from, uint32_t epoch)
{
	return !from || epoch - from <= 0x80000000;
}

/* switch.c. `space`: the callbacks of links between spaces; a device's end of a link has them here, too. */
bool t3_switch_new(struct t3_fabric *fabric, const struct t3_link_ops *space);
void t3_switch_free(struct t3_fabric *fabric);
/* Back to the initial state, but for its links. */
void t3_switch_clear(struct t3_switch *sw);
/* PORT_RESET: of a rank, or T3_SWITCH_RANK. */
void t3_switch_reset(struct t3_switch *sw, uint32_t rank);
/* The rules that hold between any two calls, but for those of links. NULL: all do. */
const char *t3_switch_check(const struct t3_switch *sw);

/* command.c. Return t3_admin_status. `rank` and `space_generation`: of the space that cmd->space names. */
uint32_t t3_group_create(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			 struct t3_cmd_group_create *cmd);
uint32_t t3_group_member(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			 const struct t3_cmd_group_member *cmd);
uint32_t t3_group_destroy(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			  const struct t3_cmd_group *cmd);
uint32_t t3_group_query(struct t3_switch *sw, uint32_t rank, uint32_t space_generation,
			struct t3_cmd_group_query *cmd);
uint32_t t3_switch_query(struct t3_switch *sw, uint32_t rank, struct t3_cmd_switch_query *cmd);
/* SPACE_RESET and SPACE_DESTROY: the space's groups are destroyed. */
void t3_group_space_gone(struct t3_switch *sw, uint32_t rank, uint32_t space, uint32_t generation);

/* group.c: the life of a group, and what its ends are told */
void t3_group_finish(struct t3_switch *sw, struct t3_group *group,
		     const struct t3_group_cause *cause);
void t3_group_close(struct t3_switch *sw, struct t3_group *group);
/* It is CLOSED, and nothing of it is left to be told: it becomes FREE. */
void t3_group_settle(struct t3_switch *sw, struct t3_group *group);
void t3_group_tell(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		   uint32_t what);
/* The device of the rank is lost. generation: as of t3_link_ops.lost; `all`: whatever it is. */
void t3_group_rank_lost(struct t3_switch *sw, uint32_t rank, const uint32_t *generation, bool all);

/* arrival.c: callbacks of links to the switch */
uint32_t t3_switch_receive(struct t3_link *link, const struct t3_packet *packet,
			   const uint8_t *payload);

/* arming.c: STATE, ARM_QUERY, POISON and DONE. `end` is who sent it. */
void t3_group_state(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		    const struct t3_packet *packet);
void t3_group_asked(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		    uint32_t epoch);
void t3_group_poisoned(struct t3_switch *sw, struct t3_group *group, struct t3_group_end *end,
		       uint32_t epoch);
void t3_group_done(struct t3_switch *sw, struct t3_group *group, const struct t3_group_end *end,
		   uint32_t epoch);

/* update.c. Return t3_nak, or T3_STATUS_BUSY. */
uint32_t t3_group_reduce(struct t3_switch *sw, struct t3_group *group,
			 const struct t3_packet *packet, const uint8_t *payload);
uint32_t t3_group_multicast(struct t3_switch *sw, struct t3_group *group,
			    const struct t3_packet *packet, const uint8_t *payload);
/* Entries to which no missing member will add leave. */
void t3_group_leave(struct t3_switch *sw, struct t3_group *group);
void t3_group_send_sum(struct t3_switch *sw, struct t3_group *group, struct t3_switch_entry *entry);

/* order.c: the same of a group with the flag ORDERED. `out` is the packet as it leaves. */
uint32_t t3_order_reduce(struct t3_switch *sw, struct t3_group *group,
			 const struct t3_packet *packet, const struct t3_packet *out,
			 const uint8_t *payload);
void t3_order_leave(struct t3_switch *sw, struct t3_group *group);

/* entry.c */
bool t3_entries_new(struct t3_switch *sw);
void t3_entries_clear(struct t3_switch *sw); /* all are free */
/* A hash of the packet's place in the group. */
uint32_t t3_entry_hash(uint32_t group, const struct t3_packet *packet);
/* NULL: there is none. */
struct t3_switch_entry *t3_entry_find(const struct t3_switch *sw, uint32_t group,
				      const struct t3_packet *packet);
/* The next one of the same place, which a group that is ORDERED may have. */
struct t3_switch_entry *t3_entry_find_next(const struct t3_switch_entry *entry);
/* Entries of its owner's port for a group that is ORDERED. False: too few are free. */
bool t3_entry_reserve(struct t3_switch *sw, struct t3_group *group, uint64_t count);
void t3_entry_unreserve(struct t3_switch *sw, struct t3_group *group);
/* One of these: held < reserve. */
struct t3_switch_entry *t3_entry_hold(struct t3_switch *sw, struct t3_group *group,
				      const struct t3_packet *packet);
/* NULL: all of the port are in use or reserved. It is in its group's list, and has the packet's place. */
struct t3_switch_entry *t3_entry_take(struct t3_switch *sw, uint32_t rank, uint32_t group,
				      const struct t3_packet *packet);
/* For loading a state: is a free one of the port; it is taken. */
bool t3_entry_claim(struct t3_switch *sw, struct t3_switch_entry *entry);
/* For the same, when its packet is loaded. False: its group has reserved no more. */
bool t3_entry_reheld(struct t3_switch *sw, const struct t3_switch_entry *entry);
void t3_entry_put(struct t3_switch *sw, struct t3_switch_entry *entry);	   /* in its group's list */
void t3_entry_remove(struct t3_switch *sw, struct t3_switch_entry *entry); /* from that list */
void t3_entry_free(struct t3_switch *sw, struct t3_switch_entry *entry);   /* it is in no list */
uint32_t t3_entry_port(const struct t3_switch *sw, const struct t3_switch_entry *entry);

/* port.c: links from the switch */
struct t3_packet t3_port_packet(const struct t3_switch *sw, const struct t3_group *group,
				const struct t3_group_end *end, uint32_t type, uint32_t epoch);
/* Sends what waits for the link to a rank, as far as it has slots. */
void t3_port_pump(struct t3_switch *sw, uint32_t rank);
/* May an update from rank `from` take so many slots of that link? */
bool t3_port_has_room(const struct t3_switch *sw, uint32_t rank, uint32_t from, uint32_t slots);
/* An update from that rank waits for the links of `needs`. Returns T3_STATUS_BUSY. */
uint32_t t3_port_busy(struct t3_switch *sw, uint32_t from, uint32_t needs);
/* A packet from that rank was taken or refused, so none waits. */
void t3_port_served(struct t3_switch *sw, uint32_t from);
void t3_port_ready(struct t3_switch *sw, struct t3_switch_entry *entry); /* behind the others */
void t3_port_append(struct t3_switch *sw, struct t3_switch_entry *entry);
/* Callbacks of links from the switch. */
void t3_port_answered(struct t3_link *link, const struct t3_packet *packet, uint32_t status);
void t3_port_room(struct t3_link *link);

#endif /* T3_CORE_SWITCH_H */
