/* SPDX-License-Identifier: MIT */
/*
 * Room comm: communicators, how their ranks meet, and messages between them. It uses device; plans
 * use it, and what they keep in a communicator ends with it by struct comm_keep_ops. Not installed.
 */
#ifndef T3_COMM_COMM_H
#define T3_COMM_COMM_H

#include "device/device.h"
#include "t3_coll.h"

#define COMM_MESSAGE_BYTES 256u /* at most, of t3_comm_post() */

/* Of whoever keeps something in a communicator until it is destroyed. */
struct comm_keep_ops {
	void (*free)(void *kept);
};

struct comm_transport;
struct comm_line;
struct comm_hub;

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
	int plans_over;			      /* why no more can be made; 0 */
	const struct comm_keep_ops *keep_ops; /* of what plans keep here; NULL: nothing yet */
	void *kept;
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

#pragma GCC visibility pop

#endif /* T3_COMM_COMM_H */
