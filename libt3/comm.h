/* SPDX-License-Identifier: MIT */
/* Communicators: what their files share, and what they give to plans. Not installed. */
#ifndef T3_COMM_H
#define T3_COMM_H

#include "internal.h"
#include "t3_coll.h"

#define COMM_MESSAGE_BYTES 256u		       /* at most, of t3_comm_post() */
#define COMM_GRACE_NS	   INT64_C(3000000000) /* for ranks that live to say what they still have to */

enum comm_kind {
	COMM_DATA = 1,	  /* t3_comm_post() */
	COMM_BARRIER = 2, /* t3_comm_barrier() */
	COMM_PARTING = 3, /* of a rank that could not join */
};

/* A message with the kind that sender and receiver must agree on. Both files of a transport. */
struct comm_message {
	uint32_t kind; /* enum comm_kind */
	uint32_t bytes;
	unsigned char data[COMM_MESSAGE_BYTES];
};

/*
 * How messages get to other ranks. Each keeps the order of those from one rank to another.
 * -EPIPE is an answer about rank comm->gone, which the transport sets.
 */
struct comm_transport {
	/* Never blocks. fd -1: none; it stays the caller's. -EPIPE; -EAGAIN too many wait there. */
	int (*post)(struct t3_comm *comm, uint32_t to, const struct comm_message *message, int fd);
	/* *fd -1 when none came. -EPIPE, -ETIMEDOUT, -EPROTO: not of our making. */
	int (*take)(struct t3_comm *comm, uint32_t from, struct comm_message *message, int *fd,
		    int64_t deadline_ns);
	bool (*gone)(const struct t3_comm *comm, uint32_t rank);
	/* The others see this rank gone. Frees what post and take need, not comm. */
	void (*leave)(struct t3_comm *comm);
};

struct comm_hub;
struct plan_cache;

/* What a rank lets all others see; each in a cache line of its own. */
struct comm_line {
	_Alignas(64) _Atomic uint32_t cause; /* whom it gave up for (comm_board.c) */
	_Atomic uint32_t waiting;	     /* the rank that it waits for now, and 1; 0: none */
	_Atomic uint32_t posted[T3_COMM_RANKS_MAX]; /* messages to each rank */
	_Atomic uint32_t taken[T3_COMM_RANKS_MAX];  /* and of each */
};

/* The last words of a rank that could not join. */
struct comm_parting {
	uint32_t kind;	/* COMM_PARTING */
	uint32_t bytes; /* of the rest, as struct comm_message has it */
	uint32_t culprit;
	uint32_t late; /* it did not come in time; else it has gone */
};

#define COMM_PARTING_BYTES (2 * sizeof(uint32_t))
#define COMM_PARTING_NS	   100000000 /* until they are heard, when all have the same deadline */

struct t3_comm {
	struct t3_device *dev; /* not owned */
	uint32_t rank;
	uint32_t ranks;
	uint64_t fabric_id;
	uint32_t topology; /* as in drm_t3_device_info */
	uint32_t device_ranks;
	uint32_t device_rank[T3_COMM_RANKS_MAX]; /* of each rank's device in the fabric */
	uint32_t gone;				 /* the first rank seen to have left; ranks: none */
	const struct comm_transport *transport;
	int socket[T3_COMM_RANKS_MAX]; /* to each rank, -1: none */
	struct comm_line *lines;       /* by rank; NULL: not yet */
	struct comm_hub *hub;	       /* of t3_comm_create_local() */
	uint32_t plans_made;
	int plans_over;		  /* why no more can be made; 0 */
	struct plan_cache *plans; /* of plain collectives; NULL: none yet */
	char error[T3_COMM_TEXT_SIZE];
};

#pragma GCC visibility push(hidden)

/*
 * Messages of a plan's set-up, at most 4 outstanding for a pair of ranks, so that posting never
 * blocks; at most COMM_MESSAGE_BYTES. fd -1: none; it stays the caller's.
 */
int t3_comm_post(struct t3_comm *comm, uint32_t to, const void *data, size_t bytes, int fd);
/*
 * The next message of that rank; it must have exactly that many bytes, else -EPROTO. *fd is -1
 * when none came; fd NULL: none may come, else -EPROTO. -EPIPE a rank has gone, -ETIMEDOUT.
 */
int t3_comm_take(struct t3_comm *comm, uint32_t from, void *data, size_t bytes, int *fd,
		 int64_t deadline_ns);
/*
 * This rank gives up because of another one, which is late, or has gone: the first that has gone counts.
 * For those that will see this rank gone.
 */
void t3_comm_blame(struct t3_comm *comm, uint32_t rank, bool late);
/*
 * Who is to blame for a rank that has gone or does not come, as far as it knew: that rank, or
 * the one that it gave up or waits for, and so on. *late: it did not come in time; else it is
 * not known to be there still.
 */
uint32_t t3_comm_culprit(const struct t3_comm *comm, uint32_t rank, bool *late);
/* Has it blamed any? It may be there still. */
bool t3_comm_gave_up(const struct t3_comm *comm, uint32_t rank);
/* Keep who is to blame for a rank being gone for t3_comm_error(); returns -EPIPE. */
int t3_comm_fail_gone(struct t3_comm *comm, uint32_t rank);
/* Has the rank's process (or local handle) gone? Never blocks. */
bool t3_comm_gone(const struct t3_comm *comm, uint32_t rank);
/* Keep a sentence for t3_comm_error(); returns ret. */
__attribute__((format(printf, 3, 4))) int t3_comm_fail(struct t3_comm *comm, int ret,
						       const char *format, ...);

/* A communicator without transport for one of its ranks, with what the device says. */
int comm_new(struct t3_device *dev, uint32_t rank, uint32_t ranks, struct t3_comm **comm);
void comm_free(struct t3_comm *comm);
/* No two ranks are on one device: -ENOTUNIQ. device_rank[] is complete. */
int comm_check_devices(struct t3_comm *comm);

extern const struct comm_transport comm_socket_transport;

/* Meet all ranks in dir and fill comm->socket and comm->device_rank (comm_join.c). */
int comm_join(struct t3_comm *comm, const char *dir, int64_t deadline_ns);

/*
 * One frame of at most size bytes over a socket, with a descriptor or without (-1). Never
 * blocks. -EAGAIN; -EPIPE the other end has gone.
 */
int comm_send_frame(int socket, const void *data, size_t size, int fd);
/*
 * *size is its length, above the room given: cut. -EPROTO: a second descriptor, all closed;
 * -EMFILE: no room for the one that came.
 */
int comm_receive_frame(int socket, void *data, size_t *size, int *fd);

/* What a rank said that could not join; -EPIPE. */
int comm_fail_parting(struct t3_comm *comm, uint32_t rank, const struct comm_parting *parting);

/* One board for all ranks, made by rank 0. */
int comm_board_share(struct t3_comm *comm, int64_t deadline_ns);
void comm_board_unmap(struct t3_comm *comm);

/* Nanoseconds until the deadline, at most limit_ns, 0 when it is over. */
int64_t comm_time_left(int64_t deadline_ns, int64_t limit_ns);

#pragma GCC visibility pop

#endif /* T3_COMM_H */
