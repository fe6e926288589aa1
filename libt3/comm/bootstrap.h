/* SPDX-License-Identifier: MIT */
/*
 * How ranks join that have no directory: an all-gather carries a record of each rank. For the files
 * of room comm alone.
 *
 *	create.c -> bootstrap.c -> the caller's all-gather, or the rendezvous
 *	                        -> node.c: which ranks are on this node
 *	                        -> remote.c: addresses of the ranks on other nodes
 *	                        -> join.c: connect by the names in the records
 */
#ifndef T3_COMM_BOOTSTRAP_H
#define T3_COMM_BOOTSTRAP_H

#include "comm/private.h"

/* Records and frames of the rendezvous are little-endian. So are all machines that T3 runs on. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are sent as they are");

/*
 * One kernel and one network namespace in it. Sockets reach no further, and so do descriptors. The
 * containers of a machine may be nodes of their own.
 */
struct comm_node {
	unsigned char boot[16]; /* random number of the kernel's start */
	uint64_t net;		/* number of the network namespace */
};

/* The record of a rank, for all others. The fields up to bytes never change. */
struct comm_record {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* of this struct */
	uint32_t rank;
	uint32_t ranks;
	uint32_t error; /* errno: this rank cannot join; 0: it can */
	uint32_t pad;	/* 0 */
	struct comm_node node;
	unsigned char name[COMM_NAME_BYTES]; /* of the socket that it listens at */
};

_Static_assert(sizeof(struct comm_record) == 72, "a record has no holes");

/* The arguments of a create function, from its caller or from the environment. */
struct comm_request {
	uint32_t rank;
	uint32_t ranks;
	int64_t deadline_ns;
	const char *dir; /* NULL: the ranks join by all_gather */
	t3_all_gather_fn all_gather;
	void *ctx;
	const char *gather_text;     /* why all_gather failed; NULL: unknown */
	const uint32_t *gather_late; /* the late rank + 1, or 0: none; NULL: unknown */
	char *text;		     /* never NULL, as text_size is never 0 */
	size_t text_size;
};

/* The built-in all-gather: rank 0 listens at an address, and the others connect. */
struct comm_rendezvous {
	const char *host;
	const char *port;
	uint32_t rank;
	uint32_t ranks;
	uint64_t job; /* keeps jobs apart that use one port by mistake */
	int64_t deadline_ns;
	uint32_t late; /* the first rank that did not come in time, + 1; 0: none is known */
	char error[T3_COMM_TEXT_SIZE];
};

#pragma GCC visibility push(hidden)

/* Write why the call fails. Returns ret. */
__attribute__((format(printf, 3, 4))) int comm_request_fail(const struct comm_request *request,
							    int ret, const char *format, ...);

/* Join by the all-gather of the request, and fill comm->socket and comm->device_rank. */
int comm_bootstrap(struct t3_comm *comm, const struct comm_request *request);
/* Take part in the all-gather, but only to tell the others that this rank cannot join. */
void comm_send_excuse(const struct comm_request *request, int error);

/* Find out on which node this thread is. */
int comm_find_node(struct t3_comm *comm, struct comm_node *node);
/* Number the nodes of all ranks by their records, and find which ranks are on this one. */
void comm_number_nodes(struct t3_comm *comm, const struct comm_record *records);
/* remote.c: begin to listen for ranks of other nodes, and write where. */
int comm_listen_remote(struct t3_comm *comm, struct comm_endpoint *endpoint, int *listener);

/*
 * Fill the request from the variables of the environment. rendezvous is for the built-in all-gather
 * and stays with the request. -EINVAL: variables are missing or malformed.
 */
int comm_read_environment(struct comm_request *request, struct comm_rendezvous *rendezvous);

/* A t3_all_gather_fn. ctx is a struct comm_rendezvous, whose error says why it failed. */
int comm_rendezvous(void *ctx, const void *mine, void *all, size_t bytes);

#pragma GCC visibility pop

#endif /* T3_COMM_BOOTSTRAP_H */
