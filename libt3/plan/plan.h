/* SPDX-License-Identifier: MIT */
/*
 * Room plan: collectives, made of spaces and messages. It uses comm, space and device. It offers nobody
 * more than t3_coll.h has: this is what its files share. Not installed.
 */
#ifndef T3_PLAN_PLAN_H
#define T3_PLAN_PLAN_H

#include "comm/comm.h"
#include "plan/layout.h"

#define PLAN_TEXT_SIZE 512u

enum plan_phase {
	PLAN_IDLE,
	PLAN_ARMED, /* not known yet whether the others are */
	PLAN_READY,
	PLAN_COMPLETE, /* and not released */
};

/*
 * What a rank lets the others see, for their errors: written by it alone, without order among
 * the words.
 */
struct plan_line {
	_Alignas(64) _Atomic uint32_t epoch; /* armed last */
	_Atomic uint32_t phase;		     /* enum plan_phase */
	_Atomic int32_t error;		     /* its first, 0: none */
	_Atomic uint32_t fault;		     /* enum drm_t3_fault_kind that error came of */
	_Atomic uint32_t viewed;	     /* it stores on its own: what it put says nothing */
	_Atomic uint32_t targets;	     /* ranks that it sends to, bit by rank */
	_Atomic uint64_t put[T3_COMM_RANKS_MAX]; /* elements of each chunk, in this epoch */
};

struct plan_board {
	struct plan_line line[T3_COMM_RANKS_MAX];
};

struct t3_plan {
	struct t3_comm *comm;
	struct t3_plan_desc desc; /* the algorithm is the one that is used */
	struct t3_layout layout;
	struct t3_buffer *buffer;
	struct t3_space *space;
	unsigned char *memory;				  /* of the buffer */
	struct t3_producer *producer[T3_LAYOUT_SEGMENTS]; /* as in the layout; NULL: no input */
	uint32_t import[T3_COMM_RANKS_MAX];		  /* by rank, where it sends */
	struct plan_board *board;
	enum plan_phase phase;
	uint32_t epoch;
	int error;	/* it can only be destroyed */
	bool told_gone; /* the text says who */
	char text[PLAN_TEXT_SIZE];
};

#pragma GCC visibility push(hidden)

/* The board of all ranks: make it and get its file, or look at that of another; close the file. */
int t3_plan_board_new(struct plan_board **board, int *fd);
int t3_plan_board_open(int fd, struct plan_board **board);
void t3_plan_board_close(struct plan_board *board);

static inline struct plan_line *plan_line(struct t3_plan *plan)
{
	return &plan->board->line[plan->comm->rank];
}

/* Make the layout, after the algorithm was chosen. Says in comm's error why not. */
int t3_plan_describe(struct t3_plan *plan, const struct t3_plan_desc *desc);

/* Parts of the set-up that need no other rank's answer: a space that others may get grants of. */
int t3_plan_make_space(struct t3_plan *plan);
/* A grant for a rank that sends to this one: *fd, or -1 when it does not. */
int t3_plan_grant(struct t3_plan *plan, uint32_t to, int *fd);
/* Segments that send, when all grants are there, and producers. */
int t3_plan_map(struct t3_plan *plan);
void t3_plan_free(struct t3_plan *plan);

/* Armed last, as that rank's line has it. */
static inline uint32_t t3_plan_epoch_of(const struct t3_plan *plan, uint32_t rank)
{
	return atomic_load_explicit(&plan->board->line[rank].epoch, memory_order_relaxed);
}

/* Has that rank to put something of a chunk yet in that epoch? Not known of one that stores itself: no. */
bool t3_plan_owes(const struct t3_plan *plan, uint32_t rank, uint32_t chunk, uint32_t epoch);
/*
 * Whom that rank waits for, who may wait for another: the last of them, never this rank; the
 * rank itself when it waits for nobody.
 */
uint32_t t3_plan_behind(const struct t3_plan *plan, uint32_t rank);

/*
 * A call has failed: say so on the board and put it into words, unless it only asked once. What
 * cannot be mended stays the plan's error. Returns ret.
 */
int t3_plan_fail(struct t3_plan *plan, int ret, int64_t deadline_ns);

#pragma GCC visibility pop

#endif /* T3_PLAN_PLAN_H */
