/* SPDX-License-Identifier: MIT */
/*
 * The rendezvous: an all-gather over TCP. For the files of room comm alone.
 *
 *	rendezvous.c -> server.c (rank 0) -> connection.c, listen.c
 *	             -> client.c (the other ranks) -> connect.c
 *	rendezvous_socket.c serves all of them.
 *
 * A client connects to rank 0 and sends a request, which is a head and its bytes. When all ranks
 * have come, rank 0 sends each a reply, which is a head and the bytes of all ranks in their order.
 * Or it sends a head alone that says why there is no reply. Both sides then close.
 */
#ifndef T3_COMM_RENDEZVOUS_H
#define T3_COMM_RENDEZVOUS_H

#include <netdb.h>

#include "comm/bootstrap.h"

#define RENDEZVOUS_MAGIC   0x7465656d33540a0dull
#define RENDEZVOUS_VERSION 1u
#define RENDEZVOUS_BYTES   256u /* of a rank, at most */

#define RENDEZVOUS_RETRY_NS   INT64_C(20000000)	  /* between two tries to connect */
#define RENDEZVOUS_CONNECT_NS INT64_C(2000000000) /* for one try */
#define RENDEZVOUS_REQUEST_NS INT64_C(3000000000) /* for a request to arrive as a whole */
#define RENDEZVOUS_ASK_NS     INT64_C(1000000000) /* for rank 0 to say who is missing */
#define RENDEZVOUS_BIND_NS    INT64_C(500000000)  /* for a port that is taken to become free */
#define RENDEZVOUS_ADDRESSES  4u		  /* of a name, at most */

enum rendezvous_kind {
	RENDEZVOUS_REQUEST = 0,
	RENDEZVOUS_REPLY = 1, /* the only kind that bytes of ranks follow, beside a request */
	/* Refusals: the request was not as rank 0 wants it. */
	RENDEZVOUS_OTHER_VERSION = 2,
	RENDEZVOUS_OTHER_JOB = 3,
	RENDEZVOUS_OTHER_RANKS = 4,
	RENDEZVOUS_OTHER_BYTES = 5,
	RENDEZVOUS_NO_RANK = 6,	   /* not 1 .. ranks - 1 */
	RENDEZVOUS_RANK_TAKEN = 7, /* by a connection that is still open */
	/*
	 * Rank 0 gives up, because the rank of the head did not come. Or the other side does: a
	 * client that shuts its side down asks which rank is missing.
	 */
	RENDEZVOUS_GIVES_UP = 8,
};

/* Little-endian. magic and version never move. */
struct rendezvous_head {
	uint64_t magic;
	uint32_t version;
	uint32_t kind; /* enum rendezvous_kind */
	uint64_t job;
	uint32_t ranks; /* the sender's number of them */
	uint32_t rank;	/* of the request; in a reply the missing one, or 0 */
	uint32_t bytes; /* of each rank */
	uint32_t pad;	/* 0 */
};

_Static_assert(sizeof(struct rendezvous_head) == 40, "a head has no holes");

/* A request or the beginning of a reply, as much as has come of it. */
struct rendezvous_request {
	struct rendezvous_head head;
	unsigned char data[RENDEZVOUS_BYTES];
};

/* An reply of the largest size. */
struct rendezvous_reply {
	struct rendezvous_head head;
	unsigned char data[T3_COMM_RANKS_MAX * RENDEZVOUS_BYTES];
};

#pragma GCC visibility push(hidden)

/* Keep a sentence for comm_rendezvous.error. Returns ret. */
__attribute__((format(printf, 3, 4))) int rendezvous_fail(struct comm_rendezvous *r, int ret,
							  const char *format, ...);
struct rendezvous_head rendezvous_head(const struct comm_rendezvous *r, uint32_t kind,
				       size_t bytes);
/* A stream socket of that family that never blocks. Returns it or a negative error number. */
int rendezvous_socket(int family);
/* Notice a peer whose machine has vanished, and send small messages at once. */
void rendezvous_set_keepalive(int fd);
/*
 * Receive up to size bytes behind *got, which grows. 0: all size bytes are there. -EAGAIN: not yet.
 * -EPIPE: the connection is closed or broken.
 */
int rendezvous_receive(int fd, void *data, size_t size, size_t *got);
/* Send it now and as a whole, which socket buffers have room for: else -EPIPE. */
int rendezvous_send(int fd, const void *data, size_t size);

/* The next address that is none of those before it: a file of hosts may have one twice. Or NULL. */
const struct addrinfo *rendezvous_next(const struct addrinfo *first, const struct addrinfo *at);
/* Sleep for events of a socket, but not long. Returns whether there is time left. */
bool rendezvous_wait(int fd, short events, int64_t until_ns);
/* Try once, and not long. Returns a socket or a negative error number. */
int rendezvous_connect(const struct addrinfo *at, int64_t deadline_ns);
/* Listen at all of the addresses that this machine has. Those that are not there stay -1. */
int rendezvous_listen(struct comm_rendezvous *r, const struct addrinfo *first,
		      int listener[RENDEZVOUS_ADDRESSES]);

/* server.c for rank 0, client.c for the other ranks. */
int rendezvous_server(struct comm_rendezvous *r, const struct addrinfo *at, const void *mine,
		      void *all, size_t bytes);
int rendezvous_client(struct comm_rendezvous *r, const struct addrinfo *at, const void *mine,
		      void *all, size_t bytes);

#pragma GCC visibility pop

#endif /* T3_COMM_RENDEZVOUS_H */
