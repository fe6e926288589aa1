/* SPDX-License-Identifier: MIT */
/*
 * Room comm: communicators, how their ranks meet, and messages between them. It uses device. Plans
 * use it. What a plan keeps in a communicator ends with it, by struct comm_keep_ops. Not installed.
 */
#ifndef T3_COMM_COMM_H
#define T3_COMM_COMM_H

#include "device/device.h"
#include "t3_coll.h"

#define COMM_MESSAGE_BYTES 768u /* at most, of t3_comm_post() */

/* Callbacks of a user that keeps data in a communicator until it is destroyed. */
struct comm_keep_ops {
	void (*free)(void *kept);
};

struct comm_transport;
struct comm_rank_state;
struct comm_hub;

struct t3_comm {
	pid_t maker;	       /* as of struct t3_buffer */
	struct t3_device *dev; /* not owned */
	uint32_t rank;
	uint32_t ranks;
	uint64_t fabric_id;
	uint32_t topology; /* as in drm_t3_device_info */
	bool has_groups;   /* DRM_T3_FEATURE_GROUPS of the own device; the driver is all ranks' */
	uint32_t device_ranks;
	uint32_t device_rank[T3_COMM_RANKS_MAX]; /* rank in the fabric of each rank's device */
	uint32_t gone;				 /* the rank that ended first; ranks: none */
	uint32_t
		here; /* bit r: rank r is on this node, so descriptors and shared memory reach it */
	uint8_t node[T3_COMM_RANKS_MAX]; /* by rank; nodes are numbered by their first ranks */
	const struct comm_transport *transport;
	int socket[T3_COMM_RANKS_MAX]; /* to each rank; -1: none */
	struct comm_rank_state *lines; /* by rank; NULL: not yet */
	struct comm_hub *hub;	       /* of t3_comm_create_local() */
	uint32_t plans_made;
	uint32_t plan_flags;		      /* T3_PLAN_* of plain reductions */
	int plans_over;			      /* error that ended plans, or 0 */
	const struct comm_keep_ops *keep_ops; /* data that plans keep here, or NULL */
	void *kept;
	char error[T3_COMM_TEXT_SIZE];
};

static inline bool t3_comm_is_here(const struct t3_comm *comm, uint32_t rank)
{
	return comm->here >> rank & 1;
}

/* The rank that makes what the ranks of this node share. */
static inline uint32_t t3_comm_leader(const struct t3_comm *comm)
{
	return (uint32_t)__builtin_ctz(comm->here);
}

static inline bool t3_comm_spans_nodes(const struct t3_comm *comm)
{
	return comm->here != (uint32_t)((UINT64_C(1) << comm->ranks) - 1);
}

#pragma GCC visibility push(hidden)

/*
 * Send a message of a plan's set-up. At most 4 may be outstanding for a pair of ranks, so it never
 * blocks. bytes is at most COMM_MESSAGE_BYTES. fd -1: no descriptor; to a rank on another node
 * there can be none. fd stays the caller's.
 */
int t3_comm_post(struct t3_comm *comm, uint32_t to, const void *data, size_t bytes, int fd);
/*
 * Receive the next message of that rank. It must have exactly that many bytes, else -EPROTO. *fd is
 * -1 when no descriptor came. With fd NULL none may come, else -EPROTO. -EPIPE: a rank has ended.
 * -ETIMEDOUT.
 */
int t3_comm_take(struct t3_comm *comm, uint32_t from, void *data, size_t bytes, int *fd,
		 int64_t deadline_ns);
/*
 * Record that this rank gives up because of another one that is late or has ended. A rank that has
 * ended first takes precedence. Ranks that see this one end read the record.
 */
void t3_comm_record_cause(struct t3_comm *comm, uint32_t rank, bool late);
/*
 * Report to `t3 launch` that this rank fails because of another one, which is late or has failed.
 * Without a launcher this does nothing. t3_comm_record_cause() calls it.
 */
void t3_comm_report_cause(const struct t3_comm *comm, uint32_t rank, bool late);
/*
 * Return the rank that caused another rank to end or not to come. Follow from there whom that one
 * gave up for or waits for, as far as the ranks have recorded it. *late: it did not come in time;
 * else it has ended.
 */
uint32_t t3_comm_root_cause(const struct t3_comm *comm, uint32_t rank, bool *late);
/* Return whether the rank has recorded a cause. It may still be there. */
bool t3_comm_has_cause(const struct t3_comm *comm, uint32_t rank);
/*
 * Keep the culprit of an ended rank for t3_comm_error(). awaited: the rank that this one waits for;
 * its own number: none. Returns -EPIPE.
 */
int t3_comm_fail_ended(struct t3_comm *comm, uint32_t rank, uint32_t awaited);
/* Return whether the rank's process, or local handle, has ended. Never blocks. */
bool t3_comm_gone(const struct t3_comm *comm, uint32_t rank);
/*
 * Make memory that this node's ranks share: a sealed memfd, whose descriptor the caller closes and
 * may send. -EFBIG: the process may make no file of that size (RLIMIT_FSIZE). Or an error of
 * memfd_create(2) or fcntl(2).
 */
int comm_memory_new(const char *name, size_t bytes, int *fd);
/* Map what another rank has sent. -EPROTO: not that size, or not sealed. Or an error of mmap(2). */
int comm_memory_map(int fd, size_t bytes, void **memory);
/* Keep the sentence for a failure of comm_memory_new(), or of the first map. Returns ret. */
int comm_memory_fail(struct t3_comm *comm, int ret);
/* Keep a sentence for t3_comm_error(). Returns ret. */
__attribute__((format(printf, 3, 4))) int t3_comm_fail(struct t3_comm *comm, int ret,
						       const char *format, ...);

#pragma GCC visibility pop

#endif /* T3_COMM_COMM_H */
