/* SPDX-License-Identifier: MIT */
/*
 * How ranks meet that have no directory: an all-gather carries a card of each rank. For the files of
 * room comm alone.
 *
 *	create.c -> gather.c -> the caller's all-gather, or the rendezvous
 *	                     -> node.c: who is on this node
 *	                     -> far.c: how the others are reached
 *	                     -> join.c: connect by the names on the cards
 */
#ifndef T3_COMM_BOOTSTRAP_H
#define T3_COMM_BOOTSTRAP_H

#include "comm/private.h"

/* Cards and frames of the rendezvous are little-endian. So are all machines that T3 runs on. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are sent as they are");

/*
 * One kernel and one network namespace in it. Sockets reach no further, and so do descriptors. The
 * containers of a machine may be nodes of their own.
 */
struct comm_node {
	unsigned char boot[16]; /* random number of the kernel's start */
	uint64_t net;		/* number of the network namespace */
};

/* What a rank tells all others. The fields up to bytes never change. */
struct comm_card {
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

_Static_assert(sizeof(struct comm_card) == 72, "a card has no holes");

/* What a create function was told by its caller or by the environment. */
struct comm_request {
	uint32_t rank;
	uint32_t ranks;
	int64_t deadline_ns;
	const char *dir; /* NULL: they meet by all_gather */
	t3_all_gather_fn all_gather;
	void *ctx;
	const char *gather_text; /* says why all_gather failed; NULL: it does not say */
	char *text;		 /* never NULL, as text_size is never 0 */
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
	char error[T3_COMM_TEXT_SIZE];
};

#pragma GCC visibility push(hidden)

/* Write why the call fails. Returns ret. */
__attribute__((format(printf, 3, 4))) int comm_say(const struct comm_request *request, int ret,
						   const char *format, ...);

/* Meet by the all-gather of the request, and fill comm->socket and comm->device_rank. */
int comm_meet(struct t3_comm *comm, const struct comm_request *request);
/* Take part in the all-gather, but only to tell the others that this rank cannot join. */
void comm_excuse(const struct comm_request *request, int error);

/* Find out on which node this thread is. */
int comm_find_node(struct t3_comm *comm, struct comm_node *node);
/* Number the nodes of all ranks by their cards, and find which ranks are on this one. */
void comm_number_nodes(struct t3_comm *comm, const struct comm_card *cards);
/* far.c: begin to listen for ranks of other nodes, and write where. */
int comm_listen_far(struct t3_comm *comm, struct comm_place *place, int *listener);

/*
 * Fill the request from the variables of the environment. rendezvous is for the built-in all-gather
 * and stays with the request. -EINVAL: variables are missing or malformed.
 */
int comm_read_environment(struct comm_request *request, struct comm_rendezvous *rendezvous);

/* A t3_all_gather_fn. ctx is a struct comm_rendezvous, whose error says why it failed. */
int comm_rendezvous(void *ctx, const void *mine, void *all, size_t bytes);

#pragma GCC visibility pop

#endif /* T3_COMM_BOOTSTRAP_H */
