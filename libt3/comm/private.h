/* SPDX-License-Identifier: MIT */
/* Declarations that the files of room comm alone share. */
#ifndef T3_COMM_PRIVATE_H
#define T3_COMM_PRIVATE_H

#include <stddef.h>
#include <sys/un.h>

#include "comm/comm.h"

#define COMM_GRACE_NS INT64_C(3000000000) /* for ranks that live to say what they still have to */

enum comm_kind {
	COMM_DATA = 1,	  /* t3_comm_post() */
	COMM_BARRIER = 2, /* t3_comm_barrier() */
	COMM_ABORT = 3,	  /* of a rank that could not join */
	COMM_CAUSE = 4,	  /* the rank that a rank of another node gave up for; comes at any time */
};

/* A message and its kind, on which sender and receiver must agree. Both transports use it. */
struct comm_message {
	uint32_t kind; /* enum comm_kind */
	uint32_t bytes;
	unsigned char data[COMM_MESSAGE_BYTES];
};

/*
 * A transport: how messages get to other ranks. A transport keeps the order of the messages from
 * one rank to another. -EPIPE means that rank comm->gone has ended; the transport sets that member.
 */
struct comm_transport {
	/*
	 * Send without blocking. fd stays the caller's; -1: none. -EPIPE. -EAGAIN: too many
	 * messages wait there.
	 */
	int (*post)(struct t3_comm *comm, uint32_t to, const struct comm_message *message, int fd);
	/*
	 * Receive. *fd is -1 when no descriptor came. -EPIPE. -ETIMEDOUT. -EPROTO: a message of
	 * another form.
	 */
	int (*take)(struct t3_comm *comm, uint32_t from, struct comm_message *message, int *fd,
		    int64_t deadline_ns);
	bool (*gone)(const struct t3_comm *comm, uint32_t rank);
	/*
	 * Show the others that this rank has ended. Free the members for post and take, but not
	 * comm.
	 */
	void (*leave)(struct t3_comm *comm);
};

/* The state of a rank that all others read. Each rank has cache lines of its own. */
struct comm_rank_state {
	_Alignas(64) _Atomic uint32_t cause; /* the rank it gave up for (cause.c) */
	_Atomic uint32_t waiting;	     /* the rank that it waits for now, plus 1; 0: none */
	_Atomic uint32_t posted[T3_COMM_RANKS_MAX]; /* number of messages to each rank */
	_Atomic uint32_t taken[T3_COMM_RANKS_MAX];  /* number of messages from each rank */
};

/* The last message of a rank that could not join. */
struct comm_abort {
	uint32_t kind;	/* COMM_ABORT */
	uint32_t bytes; /* of the rest, as in struct comm_message */
	uint32_t culprit;
	uint32_t late; /* the culprit was late; else it has ended */
};

#define COMM_ABORT_BYTES (2 * sizeof(uint32_t))
#define COMM_ABORT_NS	 100000000 /* time to receive them, when all have the same deadline */

/* ------------------------------------- how ranks that are processes of their own join */

#define COMM_RETRY_NS 2000000 /* between two tries to connect */
#define PENDING_MAX   T3_COMM_RANKS_MAX

#define COMM_NAME_BYTES 16u

/* The address of a rank for other nodes, and the secret that a connection must show there. */
struct comm_endpoint {
	uint64_t magic;
	uint32_t rank;
	uint32_t error;	 /* errno: this rank cannot join; 0: it can */
	uint16_t family; /* AF_INET or AF_INET6; 0: on this node alone */
	uint16_t port;	 /* in the network's order, as the address */
	uint32_t scope;	 /* AF_INET6 */
	unsigned char address[16];
	unsigned char secret[COMM_NAME_BYTES];
};

_Static_assert(sizeof(struct comm_endpoint) == 56, "an endpoint has no holes");

/* The listener for ranks of other nodes, and the addresses of theirs. */
struct comm_remote {
	int listener;
	const struct comm_endpoint *endpoint; /* by rank */
};

/* The state of one rank while all ranks connect to each other. */
struct join {
	struct t3_comm *comm;
	const char *dir; /* or a word for the texts, when ranks have names */
	int dir_fd;
	const unsigned char (*names)[COMM_NAME_BYTES]; /* by rank; NULL: they listen in dir */
	int listener;
	const struct comm_remote *remote; /* NULL: all ranks are on this node */
	uint32_t remote_pending;	  /* bit i: pending[i] came from another node */
	uint32_t turn;			  /* the next of remote_pending to make room */
	uint32_t joined;		  /* bit r: the hello of rank r was good */
	uint32_t asked;			  /* lower ranks that have got our hello */
	int pending[PENDING_MAX];	  /* accepted, without a hello so far; -1: none */
	int64_t deadline_ns;
};

/* The content of a rank's hello, after the check. */
struct comm_peer {
	uint32_t rank;
	uint32_t device_rank;
};

#pragma GCC visibility push(hidden)

/* Make a communicator without transport for one of its ranks, with what the device reports. */
int comm_new(struct t3_device *dev, uint32_t rank, uint32_t ranks, struct t3_comm **comm);
void comm_free(struct t3_comm *comm);
/* Check that no two ranks are on one device: else -ENOTUNIQ. device_rank[] is complete. */
int comm_check_devices(struct t3_comm *comm);

extern const struct comm_transport comm_socket_transport;

/* Connect to all ranks in dir, and fill comm->socket and comm->device_rank. */
int comm_join(struct t3_comm *comm, const char *dir, int64_t deadline_ns);
/*
 * The same for ranks that know each other's names, and all listen already. Rank r listens at
 * names[r]. listener is this rank's, and the call closes it.
 */
int comm_join_by_name(struct t3_comm *comm, int listener,
		      const unsigned char (*names)[COMM_NAME_BYTES],
		      const struct comm_remote *remote, int64_t deadline_ns);

/*
 * Send one frame of at most size bytes over a socket, with a descriptor or without (-1). Never
 * blocks. -EAGAIN. -EPIPE: the other end is closed.
 */
int comm_send_frame(int socket, const void *data, size_t size, int fd);
/*
 * Receive one frame. size is its length; above the room given, the frame was cut. -EPROTO: more
 * than one descriptor came, and all were closed. -EMFILE: no room for the descriptor.
 */
int comm_receive_frame(int socket, void *data, size_t *size, int *fd);

/* stream.c: the same over a stream socket. -EPROTO: no frame. */
bool comm_is_stream(int socket);
int comm_stream_send(int socket, const void *data, size_t size);
int comm_stream_receive(int socket, void *data, size_t *size);

/* Keep the reason of a rank that could not join. Returns -EPIPE. */
int comm_fail_aborted(struct t3_comm *comm, uint32_t rank, const struct comm_abort *message);

/* cause_message.c: causes from node to node, in the form of struct comm_rank_state. */
#define COMM_CAUSE_BYTES (offsetof(struct comm_message, data) + sizeof(uint32_t))
void comm_send_cause(const struct t3_comm *comm, uint32_t cause);
/* Store a cause in the shared state. Returns whether the message is one. */
bool comm_store_cause(const struct t3_comm *comm, uint32_t rank,
		      const struct comm_message *message);
/* Store the causes that have come and that no call has read. */
void comm_poll_causes(const struct t3_comm *comm);

/* Make or receive the memory with the state of all ranks, which a node's first rank makes. */
int comm_share_state(struct t3_comm *comm, int64_t deadline_ns);
void comm_unmap_state(struct t3_comm *comm);

/* Return the nanoseconds until the deadline, at most limit_ns, and 0 after it. */
int64_t comm_time_left(int64_t deadline_ns, int64_t limit_ns);
void comm_nap(int64_t ns);

#define COMM_LIST_BYTES (4 * T3_COMM_RANKS_MAX)
/* Write the ranks that are not in the mask, as " 1 2". Returns how many; *first is the lowest. */
uint32_t comm_list_missing(uint32_t ranks, uint32_t here, char list[COMM_LIST_BYTES],
			   uint32_t *first);

/* ----------------------------------------------------------------------- join */

/* Address of a rank's socket: in the directory that was opened, or its name. */
void comm_address(const struct join *join, uint32_t rank, struct sockaddr_un *at);
int comm_open_socket(struct t3_comm *comm, int *fd);
/* Listen at a name: a socket without a file, in this process's network namespace. */
int comm_listen_at_name(struct t3_comm *comm, const unsigned char *name, int *fd);
/* Open and check the directory, and set dir_fd. */
int comm_open_directory(struct join *join);
/* Set listener, a socket bound to this rank's path. */
int comm_start_listening(struct join *join);
/* Remove this rank's files from the directory. */
void comm_stop_listening(struct join *join);

/*
 * A rank has closed its socket. Tell the others which rank caused that, and return -EPIPE.
 */
int comm_abort_ended(struct join *join, uint32_t rank);
/* The deadline has passed. Tell the ranks that have joined, and return -ETIMEDOUT. */
int comm_abort_late(struct join *join);

/* Check that the process at the other end belongs to this user or root. -EPERM. */
int comm_check_peer(struct t3_comm *comm, int fd);
/* secret: of the receiver; NULL: the receiver is on this node, and its user was checked. */
int comm_send_handshake(struct t3_comm *comm, int fd, const unsigned char *secret);
/* remote.c: connect to a rank on another node; the socket, or a negative error number. */
int comm_connect_remote(const struct comm_endpoint *endpoint, int64_t deadline_ns);
int comm_accept_remote(int listener);
/*
 * Read and check the hello of one of the ranks lowest .. below - 1. secret: what the sender must
 * show, or NULL. -EACCES: the sender does not know the secret. -EAGAIN: no hello yet. -EPIPE: the
 * connection was closed. Other errors are those of t3_comm_create(): the rank cannot join.
 */
int comm_receive_handshake(struct join *join, int fd, uint32_t lowest, uint32_t below,
			   const unsigned char *secret, struct comm_peer *peer);

#pragma GCC visibility pop

#endif /* T3_COMM_PRIVATE_H */
