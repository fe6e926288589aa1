/* SPDX-License-Identifier: MIT */
/* What the files of room comm share, and nobody else. */
#ifndef T3_COMM_PRIVATE_H
#define T3_COMM_PRIVATE_H

#include <stddef.h>
#include <sys/un.h>

#include "comm/comm.h"

#define COMM_GRACE_NS INT64_C(3000000000) /* for ranks that live to say what they still have to */

enum comm_kind {
	COMM_DATA = 1,	  /* t3_comm_post() */
	COMM_BARRIER = 2, /* t3_comm_barrier() */
	COMM_PARTING = 3, /* of a rank that could not join */
	COMM_CAUSE = 4,	  /* whom a rank of another node gave up for; it may come at any time */
};

/* A message and its kind, on which sender and receiver must agree. Both transports use it. */
struct comm_message {
	uint32_t kind; /* enum comm_kind */
	uint32_t bytes;
	unsigned char data[COMM_MESSAGE_BYTES];
};

/*
 * A transport: how messages get to other ranks. It keeps the order of the messages from one rank to
 * another. -EPIPE means that rank comm->gone has ended; the transport sets that member.
 */
struct comm_transport {
	/*
	 * Never blocks. fd -1: none. It stays the caller's. -EPIPE. -EAGAIN: too many messages wait
	 * there.
	 */
	int (*post)(struct t3_comm *comm, uint32_t to, const struct comm_message *message, int fd);
	/*
	 * *fd is -1 when no descriptor came. -EPIPE. -ETIMEDOUT. -EPROTO: a message of another
	 * form.
	 */
	int (*take)(struct t3_comm *comm, uint32_t from, struct comm_message *message, int *fd,
		    int64_t deadline_ns);
	bool (*gone)(const struct t3_comm *comm, uint32_t rank);
	/*
	 * After it the others see that this rank has ended. It frees the members for post and take,
	 * not comm.
	 */
	void (*leave)(struct t3_comm *comm);
};

/* What a rank shows all others. Each has cache lines of its own. */
struct comm_line {
	_Alignas(64) _Atomic uint32_t cause; /* the rank it gave up for (blame.c) */
	_Atomic uint32_t waiting;	     /* the rank that it waits for now, plus 1; 0: none */
	_Atomic uint32_t posted[T3_COMM_RANKS_MAX]; /* number of messages to each rank */
	_Atomic uint32_t taken[T3_COMM_RANKS_MAX];  /* number of messages from each rank */
};

/* The last message of a rank that could not join. */
struct comm_parting {
	uint32_t kind;	/* COMM_PARTING */
	uint32_t bytes; /* of the rest, as in struct comm_message */
	uint32_t culprit;
	uint32_t late; /* the culprit was late; else it has ended */
};

#define COMM_PARTING_BYTES (2 * sizeof(uint32_t))
#define COMM_PARTING_NS	   100000000 /* time to receive them, when all have the same deadline */

/* ------------------------------------- how ranks that are processes of their own meet */

#define COMM_RETRY_NS 2000000 /* between two tries to connect */
#define STRANGERS     T3_COMM_RANKS_MAX

#define COMM_NAME_BYTES 16u

/* Where a rank can be reached from other nodes, and what it must be shown there. */
struct comm_place {
	uint64_t magic;
	uint32_t rank;
	uint32_t error;	 /* errno: this rank cannot join; 0: it can */
	uint16_t family; /* AF_INET or AF_INET6; 0: on this node alone */
	uint16_t port;	 /* in the network's order, as the address */
	uint32_t scope;	 /* AF_INET6 */
	unsigned char address[16];
	unsigned char secret[COMM_NAME_BYTES];
};

_Static_assert(sizeof(struct comm_place) == 56, "a place has no holes");

struct comm_far {
	int listener;
	const struct comm_place *place; /* by rank */
};

struct meeting {
	struct t3_comm *comm;
	const char *dir; /* or a word for the texts, when ranks have names */
	int dir_fd;
	const unsigned char (*names)[COMM_NAME_BYTES]; /* by rank; NULL: they meet in dir */
	int listener;
	const struct comm_far *far; /* how ranks of other nodes meet; NULL: there are none */
	uint32_t far_strangers;	    /* bit i: stranger i came from another node */
	uint32_t turn;		    /* of those, the next to make room */
	uint32_t joined;	    /* bit r: the hello of rank r was good */
	uint32_t asked;		    /* lower ranks that have got our hello */
	int stranger[STRANGERS];    /* accepted, but no hello yet; -1: none */
	int64_t deadline_ns;
};

/* What a rank's hello says about it, after the check. */
struct comm_greeting {
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

/* Meet all ranks in dir, and fill comm->socket and comm->device_rank. */
int comm_join(struct t3_comm *comm, const char *dir, int64_t deadline_ns);
/*
 * The same for ranks that know each other's names, and all listen already. Rank r listens at
 * names[r]. listener is this rank's, and the call closes it.
 */
int comm_join_by_name(struct t3_comm *comm, int listener,
		      const unsigned char (*names)[COMM_NAME_BYTES], const struct comm_far *far,
		      int64_t deadline_ns);

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
int comm_fail_parting(struct t3_comm *comm, uint32_t rank, const struct comm_parting *parting);

/* tell.c: causes from node to node, in the form of struct comm_line. */
#define COMM_CAUSE_BYTES (offsetof(struct comm_message, data) + sizeof(uint32_t))
void comm_tell_cause(const struct t3_comm *comm, uint32_t cause);
/* Is the message one? Then it is on the board. */
bool comm_note_cause(const struct t3_comm *comm, uint32_t rank, const struct comm_message *message);
/* Note those that have come and that nobody has read. */
void comm_look_for_causes(const struct t3_comm *comm);

/* Make or receive the one board of all ranks, which rank 0 makes. */
int comm_board_share(struct t3_comm *comm, int64_t deadline_ns);
void comm_board_unmap(struct t3_comm *comm);

/* Return the nanoseconds until the deadline, at most limit_ns, and 0 after it. */
int64_t comm_time_left(int64_t deadline_ns, int64_t limit_ns);
void comm_nap(int64_t ns);

#define COMM_LIST_BYTES (4 * T3_COMM_RANKS_MAX)
/* Write the ranks that are not in the mask, as " 1 2". Returns how many; *first is the lowest. */
uint32_t comm_list_missing(uint32_t ranks, uint32_t here, char list[COMM_LIST_BYTES],
			   uint32_t *first);

/* ------------------------------------------------------------------- a meeting */

/* Address of a rank's socket: in the directory that was opened, or its name. */
void comm_address(const struct meeting *m, uint32_t rank, struct sockaddr_un *at);
int comm_open_socket(struct t3_comm *comm, int *fd);
/* Listen at a name: a socket without a file, in this process's network namespace. */
int comm_listen_at_name(struct t3_comm *comm, const unsigned char *name, int *fd);
/* Open and check the directory, and set dir_fd. */
int comm_open_directory(struct meeting *m);
/* Set listener, a socket bound to this rank's path. */
int comm_start_listening(struct meeting *m);
/* Remove this rank's files from the directory. */
void comm_stop_listening(struct meeting *m);

/*
 * A rank has closed its socket. Tell the others which rank caused that, and return -EPIPE.
 */
int comm_left_early(struct meeting *m, uint32_t rank);
/* The deadline has passed. Tell the ranks that have joined, and return -ETIMEDOUT. */
int comm_out_of_time(struct meeting *m);

/* Check that the process at the other end belongs to this user or root. -EPERM. */
int comm_judge_peer(struct t3_comm *comm, int fd);
/* secret: of the receiver; NULL: it is on this node, and was judged by its user. */
int comm_say_hello(struct t3_comm *comm, int fd, const unsigned char *secret);
/* far.c: connect to a rank on another node; the socket, or a negative error number. */
int comm_connect_far(const struct comm_place *place, int64_t deadline_ns);
int comm_accept_far(int listener);
/*
 * secret: what the sender must show, or NULL. -EACCES: it does not know it.
 * Read and check the hello of one of the ranks lowest .. below - 1. -EAGAIN: none yet. -EPIPE: the
 * connection was closed. Other errors are those of t3_comm_create(): the rank cannot join.
 */
int comm_hear_hello(struct meeting *m, int fd, uint32_t lowest, uint32_t below,
		    const unsigned char *secret, struct comm_greeting *greeting);

#pragma GCC visibility pop

#endif /* T3_COMM_PRIVATE_H */
