/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues: rings of descriptors in host memory, and the engine that executes them and prepares
 * spaces. Gangs and the front use them. What they need from above is in struct t3_queue_ops.
 */
#ifndef T3_CORE_QUEUE_H
#define T3_CORE_QUEUE_H

#include "space/space.h"

#define T3_ENGINE_PIECE 4096u /* bytes of a queue's step, at most */

struct t3_gemm_run;

/* What is done about descriptor `head`. */
enum t3_queue_phase {
	T3_PHASE_NONE = 0, /* not read yet */
	T3_PHASE_MOVE,	   /* up to (row, col) */
	T3_PHASE_WAIT,	   /* the fence has not been reached */
	T3_PHASE_REACHED,  /* it has, whatever it is now */
	T3_PHASE_GEMM,	   /* see struct t3_gemm_run */
	T3_PHASE_GANG,	   /* other ranks' descriptors are awaited, or another run's end */
	T3_PHASE_TIMED,	   /* it takes part in the fabric's run */
};

struct t3_queue {
	struct t3_dev *dev;
	uint32_t state, status, priority, entries, client;
	uint32_t head, tail;
	uint64_t ring, completions;
	bool hung;	  /* injected */
	uint32_t blocked; /* rank + 1 of the peer whose link has no room, 0: none */
	uint32_t phase;
	uint32_t row, col; /* of the next piece */
	uint64_t served;   /* units of work since CREATE */
	uint64_t turn;	   /* of the engine, when it was served last */
	uint64_t ticket;   /* since when it has waited for a timed run, or waited last */
	struct t3_descriptor desc;
};

/* What queues ask of the room above them, which gives this: descriptors of all ranks together. */
struct t3_queue_ops {
	/* Reads and judges the descriptor's arguments. Returns t3_descriptor_status. */
	uint32_t (*begin)(struct t3_queue *q, uint64_t *detail);
	/* The descriptor waits for the others. */
	void (*join)(struct t3_queue *q);
	/* The queue goes on, or may: the others may have waited for that. */
	void (*wake)(const struct t3_queue *q);
	/* The descriptor ends before the others do. */
	void (*leave)(struct t3_queue *q);
};

/* A device with its queues. */
struct t3_queues {
	struct t3_spaces spaces;
	const struct t3_queue_ops *ops;
	struct t3_queue queue[T3_MAX_QUEUES];
	struct t3_gemm_run *gemm; /* T3_MAX_QUEUES */
	uint64_t fence[T3_MAX_FENCES];
	uint32_t queue_vector;
	uint32_t queue_pending[T3_MAX_QUEUES / 32], queue_enable[T3_MAX_QUEUES / 32];
	struct t3_event engine;
	struct t3_share engine_share;	 /* of the engine, among the clients */
	uint64_t engine_turns;		 /* steps so far */
	uint64_t engine_busy;		 /* until */
	uint8_t bounce[T3_ENGINE_PIECE]; /* within a step only */
};

static inline struct t3_queues *t3_queues(const struct t3_dev *dev)
{
	return t3_container_of(dev, struct t3_queues, spaces.dev);
}

/* queue_life.c */
/* `dev` begins a struct t3_queues. -1: memory is short; t3_queues_fini() follows. */
int t3_queues_init(struct t3_dev *dev, const struct t3_queue_ops *ops);
void t3_queues_fini(struct t3_dev *dev);
void t3_queues_reset(struct t3_dev *dev);
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

/* engine.c */
void t3_engine_attach(struct t3_dev *dev);
/* To be called whenever a queue may have become runnable. */
void t3_engine_wake(struct t3_dev *dev);

#endif /* T3_CORE_QUEUE_H */
