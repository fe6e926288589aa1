/* SPDX-License-Identifier: MIT */
/*
 * Communicators and collectives whose data moves by triggers. Part of libt3; the conventions of
 * t3.h hold. A communicator, and all of its plans, belong to one thread at a time.
 */
#ifndef T3_COLL_H
#define T3_COLL_H

#include "t3.h"

#ifdef __cplusplus
extern "C" {
#endif

struct t3_comm;

#define T3_COMM_RANKS_MIN 2
#define T3_COMM_RANKS_MAX 32
#define T3_COMM_TEXT_SIZE 256 /* of a failure in words, with its end */

/* ------------------------------------------------------------ communicators */

/*
 * Where ranks that are processes of their own meet: a directory that they all see, that belongs
 * to their user and that nobody else may enter (mode 0700). dir NULL: all three numbers from the
 * environment, T3_COMM_DIR, T3_RANK, T3_RANKS, as `t3 launch` sets them.
 */
struct t3_comm_desc {
	const char *dir;
	uint32_t rank;
	uint32_t ranks; /* 2 .. 32 */
	/* Where a failed create says why, in words, "" when it did not fail; NULL: nowhere. */
	char *text;
	size_t text_size;
};

/*
 * Join; returns when all ranks have. Rank i may be on any device of the fabric that no other
 * rank is on; a ring collective needs a link from each rank to the next one. When a rank fails,
 * so do the others, at the latest at their deadlines. The directory is left as it was; what a
 * run that was killed has left in it is no obstacle, and when all ranks have joined it may serve
 * the next communicator.
 * Errors: -EINVAL also variables of the environment that are missing or no numbers; -ENOENT,
 * -ENOTDIR, -EACCES the directory; -EPERM directory or peer of another user, or others may enter
 * it; -ENAMETOOLONG its path has over 99 bytes; -EEXIST the rank is taken; -EPROTO a rank speaks
 * another version, or no protocol of ours at all; -ENOTUNIQ two ranks are on one device; -EXDEV a
 * rank is on another fabric; -EDOM a rank counts other ranks; -EPIPE a rank has gone;
 * -ETIMEDOUT a rank did not come; -EMFILE.
 */
T3_API int t3_comm_create(struct t3_device *dev, const struct t3_comm_desc *desc,
			  int64_t deadline_ns, struct t3_comm **comm);
/*
 * All ranks in this process: comms[i] is rank i, on devs[i]. They may then go to threads of
 * their own.
 * Errors: -ENOTUNIQ, -EXDEV as above.
 */
T3_API int t3_comm_create_local(struct t3_device *const *devs, uint32_t ranks,
				struct t3_comm **comms);
/*
 * After its plans. NULL is fine. Ranks that wait for this one fail with -EPIPE; so do those that
 * wait for another one which does not come within a second: after the last collective, a
 * t3_comm_barrier() lets all of them end.
 */
T3_API void t3_comm_destroy(struct t3_comm *comm);
T3_API uint32_t t3_comm_rank(const struct t3_comm *comm);
T3_API uint32_t t3_comm_ranks(const struct t3_comm *comm);
T3_API struct t3_device *t3_comm_device(const struct t3_comm *comm);
/*
 * Until all ranks have called it. Not for t3_comm_create_local() in a single thread. After an
 * error but -EINVAL the communicator can only be destroyed.
 * Errors: -EPIPE a rank has gone; -ETIMEDOUT; -EPROTO a rank is in another call.
 */
T3_API int t3_comm_barrier(struct t3_comm *comm, int64_t deadline_ns);
/* The last failure of this handle in words, "" when there was none. Never NULL. */
T3_API const char *t3_comm_error(const struct t3_comm *comm);

#ifdef __cplusplus
}
#endif

#endif /* T3_COLL_H */
