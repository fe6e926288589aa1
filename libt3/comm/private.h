/* SPDX-License-Identifier: MIT */
/* What the files of room comm share, and nobody else. */
#ifndef T3_COMM_PRIVATE_H
#define T3_COMM_PRIVATE_H

#include <sys/un.h>

#include "comm/comm.h"

#define COMM_GRACE_NS INT64_C(3000000000) /* for ranks that live to say what they still have to */

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

/* What a rank lets all others see; each in a cache line of its own. */
struct comm_line {
	_Alignas(64) _Atomic uint32_t cause; /* whom it gave up for (blame.c) */
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

/* ------------------------------------- how ranks that are processes of their own meet */

#define COMM_RETRY_NS 2000000 /* until what is not there yet is looked for again */
#define STRANGERS     T3_COMM_RANKS_MAX

struct meeting {
	struct t3_comm *comm;
	const char *dir;
	int dir_fd;
	int listener;
	uint32_t joined;	 /* bit per rank whose hello was good */
	uint32_t asked;		 /* lower ranks that have our hello */
	int stranger[STRANGERS]; /* accepted, and has said nothing; -1 */
	int64_t deadline_ns;
};

/* What a rank says of itself, when it has been judged. */
struct comm_greeting {
	uint32_t rank;
	uint32_t device_rank;
};

#pragma GCC visibility push(hidden)

/* A communicator without transport for one of its ranks, with what the device says. */
int comm_new(struct t3_device *dev, uint32_t rank, uint32_t ranks, struct t3_comm **comm);
void comm_free(struct t3_comm *comm);
/* No two ranks are on one device: -ENOTUNIQ. device_rank[] is complete. */
int comm_check_devices(struct t3_comm *comm);

extern const struct comm_transport comm_socket_transport;

/* Meet all ranks in dir and fill comm->socket and comm->device_rank. */
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

/* ------------------------------------------------------------------- a meeting */

/* A rank's socket in the directory that was opened. */
void comm_address(const struct meeting *m, uint32_t rank, struct sockaddr_un *at);
int comm_open_socket(struct t3_comm *comm, int *fd);
/* Set dir_fd, and judge the directory. */
int comm_open_directory(struct meeting *m);
/* Set listener, bound to this rank's socket. */
int comm_start_listening(struct meeting *m);
/* Leave nothing in the directory. */
void comm_stop_listening(struct meeting *m);

/* Is the process at the other end of this user, or root? -EPERM. */
int comm_judge_peer(struct t3_comm *comm, int fd);
int comm_say_hello(struct t3_comm *comm, int fd);
/*
 * What one of the ranks lowest .. below - 1 says. -EAGAIN: nothing yet. -EPIPE: it has closed.
 * Else, as t3_comm_create(), why it cannot be a rank of this communicator.
 */
int comm_hear_hello(struct meeting *m, int fd, uint32_t lowest, uint32_t below,
		    struct comm_greeting *greeting);

#pragma GCC visibility pop

#endif /* T3_COMM_PRIVATE_H */
