/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues: rings of descriptors in host memory, and the engine that executes them and prepares
 * spaces. SPEC.md section 11. Gangs and the front use them. The room above provides struct
 * t3_queue_ops.
 */
#ifndef T3_CORE_QUEUE_H
#define T3_CORE_QUEUE_H

#include "space/space.h"

#define T3_ENGINE_PIECE 4096u /* most bytes of one step of a queue */

struct t3_gemm_run;
struct t3_work;

/* The progress of descriptor `head`. */
enum t3_queue_phase {
	T3_PHASE_NONE = 0, /* not read yet */
	T3_PHASE_MOVE,	   /* has moved the bytes before (row, col) */
	T3_PHASE_WAIT,	   /* its fence has not reached the value */
	T3_PHASE_REACHED,  /* its fence reached the value, and may have changed since */
	T3_PHASE_GEMM,	   /* see struct t3_gemm_run */
	T3_PHASE_GANG,	   /* waits for descriptors of other ranks, or for another run's end */
	T3_PHASE_TIMED,	   /* takes part in the fabric's timed run */
};

struct t3_queue {
	struct t3_dev *dev;
	uint32_t state, status, priority, entries, client;
	uint32_t head, tail;
	uint64_t ring, completions;
	bool hung;	  /* injected */
	uint32_t blocked; /* rank + 1 of the peer whose link has no room; 0: none */
	uint32_t phase;
	uint32_t row, col; /* of the next piece */
	uint64_t served;   /* units of work since CREATE */
	uint64_t turn;	   /* value of engine_turns when it was served last */
	uint64_t ticket;   /* its place among the descriptors that waited for timed runs */
	struct t3_descriptor desc;
};

/* Callbacks of queues into the room above, for TIMED descriptors, which run on all ranks. */
struct t3_queue_ops {
	/* Reads and checks the descriptor's arguments. Returns t3_descriptor_status. */
	uint32_t (*begin)(struct t3_queue *q, uint64_t *detail);
	/* The descriptor waits for those of the other ranks. */
	void (*join)(struct t3_queue *q);
	/* The queue may be able to run, for which other ranks may have waited. */
	void (*wake)(const struct t3_queue *q);
	/* The descriptor ends before those of the other ranks. */
	void (*leave)(struct t3_queue *q);
};

/* Runnable queues in the order of service; order.c. */
struct t3_order {
	bool stale;		      /* a queue may have become runnable */
	uint8_t queue[T3_MAX_QUEUES]; /* group by group */
	uint8_t first[T3_MAX_QUEUES +
		      1]; /* of each group, in `queue`, and the end of the last one */
	uint32_t groups;
	uint32_t chosen; /* group of the queue that was chosen last */
};

/* A device with its queues. */
struct t3_queues {
	struct t3_spaces spaces;
	const struct t3_queue_ops *ops;
	struct t3_queue queue[T3_MAX_QUEUES];
	struct t3_gemm_run *gemm; /* T3_MAX_QUEUES */
	struct t3_work *work;	  /* slices of theirs that are under way */
	uint64_t fence[T3_MAX_FENCES];
	uint32_t queue_vector;
	uint32_t queue_pending[T3_MAX_QUEUES / 32], queue_enable[T3_MAX_QUEUES / 32];
	struct t3_event engine;
	struct t3_order order;		 /* derived from the queues */
	struct t3_share engine_share;	 /* of the clients, in work of the engine */
	uint64_t engine_turns;		 /* number of steps so far */
	uint64_t engine_busy;		 /* time until which the engine is busy */
	uint8_t bounce[T3_ENGINE_PIECE]; /* buffer of one step */
};

static inline struct t3_queues *t3_queues(const struct t3_dev *dev)
{
	return t3_container_of(dev, struct t3_queues, spaces.dev);
}

/* queue_life.c */
/* `dev` is the first member of a struct t3_queues. False: no memory; call t3_queues_fini(). */
bool t3_queues_init(struct t3_dev *dev, const struct t3_queue_ops *ops);
void t3_queues_fini(struct t3_dev *dev);
/* Function reset. */
void t3_queues_reset(struct t3_dev *dev);
/* Clears all queues without trusting their phases. */
void t3_queues_clear(struct t3_dev *dev);
void t3_queue_submit(struct t3_dev *dev, uint32_t id, uint32_t tail);
/* An admin command, QUEUE_CREATE .. FENCE_SET. Returns t3_admin_status. */
uint32_t t3_queue_command(struct t3_dev *dev, uint32_t opcode, void *mailbox);
/* Injection: the queue makes no progress until QUEUE_ABORT or hung = false. */
void t3_queue_hang(struct t3_dev *dev, uint32_t id, bool hung);

/* ring.c */
uint32_t t3_queue_id(const struct t3_queue *q);
void t3_queue_enable(struct t3_dev *dev, uint32_t word, uint32_t value);
void t3_ring_complete(struct t3_queue *q, uint32_t status, uint64_t detail);

/* gemm.c: of the GEMM that the queue has begun last */
const struct t3_gemm *t3_gemm_arguments(const struct t3_queue *q);

/* work.c: waits until no slice is under way, so that all sums are complete */
void t3_work_settle(struct t3_dev *dev);

/* engine.c */
void t3_engine_attach(struct t3_dev *dev);
void t3_engine_detach(struct t3_dev *dev); /* after a function reset */
/* Call it whenever a queue may have become runnable. */
void t3_engine_wake(struct t3_dev *dev);

#endif /* T3_CORE_QUEUE_H */
