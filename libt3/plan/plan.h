/* SPDX-License-Identifier: MIT */
/*
 * Room plan: collectives, made of spaces and messages. It uses comm, space and device. Its
 * interface is t3_coll.h. This header is for the room's files alone. Not installed.
 */
#ifndef T3_PLAN_PLAN_H
#define T3_PLAN_PLAN_H

#include "comm/comm.h"
#include "plan/layout.h"

#define PLAN_TEXT_SIZE 512u

enum plan_phase {
	PLAN_IDLE,
	PLAN_ARMED, /* the others may not be armed yet */
	PLAN_READY,
	PLAN_COMPLETE, /* not released yet */
};

/*
 * The state of a rank that the others read for their error messages. The rank alone writes it, in
 * no particular order.
 */
struct plan_rank_state {
	_Alignas(64) _Atomic uint32_t epoch;	 /* armed last */
	_Atomic uint32_t phase;			 /* enum plan_phase */
	_Atomic int32_t error;			 /* the first error, or 0 */
	_Atomic uint32_t fault;			 /* enum drm_t3_fault_kind that caused the error */
	_Atomic uint32_t viewed;		 /* stores go by a view, so `put` is not exact */
	_Atomic uint32_t targets;		 /* the ranks that it sends to, bit by rank */
	_Atomic uint64_t put[T3_COMM_RANKS_MAX]; /* elements put of each chunk, in this epoch */
};

struct plan_shared {
	struct plan_rank_state rank[T3_COMM_RANKS_MAX];
};

/* Of a plan with algorithm SWITCH. Ranks in masks: bit by rank. */
struct plan_groups {
	uint32_t reduce, multicast; /* of this rank's space; 0: none */
	uint32_t import;	    /* of multicast */
	struct t3_group_ticket ticket;
	uint32_t invited; /* the ranks of which there are tickets */
	struct t3_group_ticket tickets[T3_COMM_RANKS_MAX];
	uint32_t joined; /* the ranks that have joined this one's */
	struct t3_group_target targets[T3_COMM_RANKS_MAX];
};

struct t3_plan {
	struct t3_comm *comm;
	struct t3_plan_desc desc;   /* with the algorithm in use */
	struct t3_lengths *lengths; /* of all ranks, of a plan with lengths; else NULL */
	struct t3_layout layout;
	struct t3_buffer *buffer;
	struct t3_space *space;
	unsigned char *memory;				  /* of the buffer */
	struct t3_producer *producer[T3_LAYOUT_SEGMENTS]; /* as in the layout; NULL: no input */
	uint32_t import[T3_COMM_RANKS_MAX];		  /* by rank that it sends to */
	struct plan_groups groups;
	struct plan_shared *shared;
	enum plan_phase phase;
	uint32_t epoch;
	bool released;	/* the last epoch, before the next arm */
	int error;	/* the plan can only be destroyed */
	bool told_gone; /* the text names the rank that ended */
	char *text;	/* the last failure; a pointer, as a call with a const plan may fail, too */
	char text_memory[PLAN_TEXT_SIZE];
};

#pragma GCC visibility push(hidden)

/*
 * The shared state of all ranks on a node: make it and get its file, or map the file of another
 * rank; close the file.
 */
int t3_plan_shared_new(struct plan_shared **shared, int *fd);
int t3_plan_shared_open(int fd, struct plan_shared **shared);
void t3_plan_shared_close(struct plan_shared *shared);

static inline struct plan_rank_state *plan_rank_state(struct t3_plan *plan)
{
	return &plan->shared->rank[plan->comm->rank];
}

const char *t3_plan_collective_name(uint32_t collective);
/* Say the fields and values of a desc that another one has not, as "count 11, op 2 (min)". */
void t3_plan_say_difference(struct t3_text *text, const struct t3_plan_desc *desc,
			    const struct t3_plan_desc *other);
/* Say the values of the fields that a sentence of t3_layout_make() names. */
void t3_plan_say_fields(struct t3_text *text, const char *sentence,
			const struct t3_plan_desc *desc);

/*
 * Keep a copy of the rank's own lengths, beside which those of the others will be; check them; and
 * once all are there, check them all, and that each is the same at source and target. On failure
 * comm's error says why. -EINVAL, -EFBIG, -ENOMEM.
 */
int t3_lengths_begin(struct t3_plan *plan, const struct t3_plan_lengths *lengths);
int t3_lengths_check(const struct t3_plan *plan);
int t3_lengths_agree(const struct t3_plan *plan);

/* Whether the algorithm has the links that it needs. -EHOSTUNREACH: t3_comm_error() names one it lacks. */
int t3_plan_check_links(struct t3_comm *comm, uint32_t algorithm);
/*
 * Choose the algorithm and make the layout. With lengths only check the desc and the own ones: the
 * layout needs those of all ranks. On failure comm's error says why.
 */
int t3_plan_describe(struct t3_plan *plan, const struct t3_plan_desc *desc);
/* Make the layout of a rank, once the algorithm was chosen and all lengths are known. */
int t3_plan_lay_out(const struct t3_plan *plan, uint32_t rank, struct t3_layout *layout,
		    const char **why);

/*
 * The part of the set-up that needs no other rank's grant: a space for which others may get
 * grants.
 */
int t3_plan_make_space(struct t3_plan *plan);
/*
 * The segments of this rank, and ops, to which that rank sends in that way. *mask 0: none. With
 * lengths that rank alone may be above a limit, and says so itself: none.
 */
int t3_plan_targets_of(const struct t3_plan *plan, uint32_t from, uint32_t via, uint64_t *mask,
		       uint32_t *ops);

#define PLAN_HAS_KEY	(1u << 0) /* for a rank on another node, or a source of a group */
#define PLAN_HAS_TICKET (1u << 1) /* for a target of this rank's group */
#define PLAN_HAS_TARGET (1u << 2) /* of one that has joined */

/* The right of a rank to send to this one, and what it needs for groups. */
struct plan_grant {
	int fd;	      /* -1: none */
	uint32_t has; /* PLAN_HAS_* */
	struct t3_key key;
	struct t3_group_ticket ticket;
	struct t3_group_target target;
};

/* A grant for a rank that sends to this one, or none for one that does not. */
int t3_plan_grant(struct t3_plan *plan, uint32_t to, struct plan_grant *grant);

/* Whether the set-up has a step in which ranks join groups. */
bool t3_plan_joins(const struct t3_plan *plan);
/* The rest of t3_plan_grant(), of groups. */
int t3_plan_grant_groups(struct t3_plan *plan, uint32_t to, struct plan_grant *grant);
/* Join the group of a rank that has sent its ticket. */
int t3_plan_join(struct t3_plan *plan, uint32_t to, struct plan_grant *grant);
/* Name all ranks that have joined to the switch, before t3_plan_map(). */
int t3_plan_name_members(struct t3_plan *plan);
/*
 * Whether the error may be gone with a plan that needs less of the switch: the flags or algorithm of
 * that one.
 */
bool t3_plan_without_groups(const struct t3_plan *plan, int error, struct t3_plan_desc *desc);

/* Make the segments that send, and the producers. All grants are there. */
int t3_plan_map(struct t3_plan *plan);
void t3_plan_free(struct t3_plan *plan);

/* Release the last epoch, if there is one that was not released. */
int t3_plan_release(struct t3_plan *plan);

/*
 * The epoch that a rank has armed last, as the shared state shows it. Nothing is known of a rank on
 * another node, so it is never said to be behind.
 */
static inline uint32_t t3_plan_epoch_of(const struct t3_plan *plan, uint32_t rank)
{
	if (!t3_comm_is_here(plan->comm, rank))
		return UINT32_MAX;
	return atomic_load_explicit(&plan->shared->rank[rank].epoch, memory_order_relaxed);
}

/*
 * Whether that rank still has to put some of a chunk in that epoch. False for a rank that uses a
 * view.
 */
bool t3_plan_owes(const struct t3_plan *plan, uint32_t rank, uint32_t chunk, uint32_t epoch);
/*
 * Follow whom that rank waits for, and whom that one waits for, to the last of them. Never returns
 * this rank. A rank that waits for nobody returns itself.
 */
uint32_t t3_plan_blocking_rank(const struct t3_plan *plan, uint32_t rank);
/* Whether this rank still has to put some of its input. */
bool t3_plan_owes_any(const struct t3_plan *plan);

/*
 * A rank of another node whose data that segment of this rank waits for, directly or through ranks
 * of this node; comm->ranks: there is none.
 */
uint32_t t3_plan_far_source(const struct t3_plan *plan, uint32_t segment);

/*
 * A caller's mistake, or another failure after which the plan goes on: write the text. Returns ret.
 */
__attribute__((format(printf, 3, 4))) int t3_plan_refuse(const struct t3_plan *plan, int ret,
							 const char *format, ...);
/*
 * A call has failed: record the error on the shared state and write the text, unless the call only
 * asked once. An error after which the plan cannot go on stays. Returns ret.
 */
int t3_plan_fail(struct t3_plan *plan, int ret, int64_t deadline_ns);

#pragma GCC visibility pop

#endif /* T3_PLAN_PLAN_H */
