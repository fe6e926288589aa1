/* SPDX-License-Identifier: MIT */
/*
 * Communicators and collectives whose data moves by triggers. Part of libt3; the conventions of
 * t3.h hold. A communicator, and all of its plans, belong to one thread at a time.
 */
#ifndef T3_COLL_H
#define T3_COLL_H

#include "t3.h"
#include "t3_producer.h"

#ifdef __cplusplus
extern "C" {
#endif

struct t3_comm;
struct t3_plan;

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
 * it; -ENAMETOOLONG its path has over 4095 bytes; -EEXIST the rank is taken; -EPROTO a rank speaks
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
 * wait for another one which does not come within three seconds: after the last collective, a
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

/* -------------------------------------------------------------------- plans */

enum t3_collective {
	T3_REDUCE_SCATTER = 1, /* in: all; out: chunk `rank` of the reduction */
	T3_ALL_GATHER = 2,     /* in: chunk `rank`; out: all */
	T3_ALL_REDUCE = 3,     /* in: all; out: all of the reduction */
	T3_ALL_TO_ALL = 4,     /* in: all, chunk c for rank c; out: chunk `rank` of rank 0, 1, .. */
	T3_BROADCAST = 5,      /* in: all, at the root alone; out: all */
};

enum t3_algorithm {
	T3_ALGORITHM_AUTO = 0,	 /* DIRECT on a full fabric, else RING */
	T3_ALGORITHM_RING = 1,	 /* from each rank to the next one */
	T3_ALGORITHM_DIRECT = 2, /* from each rank to each other one */
};

/*
 * The whole is count elements, or count / columns rows. Chunk c of N is a part of it that goes
 * with rank c: count / N elements (rows), one more for c < count % N, one after the other; it
 * may be empty. A BROADCAST has one chunk, 0, the whole.
 *
 * A result has the same bits each time where updates have one order: always, but for ADD of
 * floats with DIRECT and more than two ranks, which adds as inputs come. RING adds up chunk c
 * in the order of the ranks from c + 1 on, c last, rounding to the type after each.
 */
struct t3_plan_desc {
	uint32_t collective; /* enum t3_collective */
	uint32_t algorithm;  /* enum t3_algorithm */
	uint64_t count;	     /* elements of the whole, 1 .. 2^40 */
	uint32_t dtype;	     /* enum drm_t3_dtype; reductions: no bytes */
	uint32_t op;	     /* reductions: DRM_T3_OP_ADD, MIN, MAX; else 0 */
	uint32_t root;	     /* BROADCAST: a rank; else 0 */
	uint32_t path;	     /* enum t3_path, of t3_plan_put() */
	uint32_t columns;    /* of a matrix, at most 16 MiB of them; 0: an array */
	/*
	 * Tracked tile in elements, at most 1 MiB; 0: a usual one. tile_columns is at most columns;
	 * tile_rows is 0 or 1 for arrays and for ALL_TO_ALL.
	 */
	uint32_t tile_rows;
	uint32_t tile_columns;
	uint32_t pad; /* 0 */
};

/*
 * Make a plan that can run again and again. All ranks call this with the same desc, and their
 * plans in the same order. Succeeds or fails at all ranks, with the error of the lowest
 * rank that had one, unless a rank does not come at all; t3_comm_error() says why. After any
 * error but those below no more plans can be made: destroy the communicator.
 * Errors, after which it can go on: -EINVAL the desc, or the ranks' differ; -EFBIG its chunks need more
 * tiles (2^20), segments (64) or longer rows than a space has; -EHOSTUNREACH a link that the
 * algorithm needs is not there; those of t3_buffer_create(), t3_space_create(), the mappings and
 * t3_grant_export(). Others: -ETIMEDOUT, -EPIPE a rank has gone, -EPROTO a rank is in another
 * call or speaks another version.
 */
T3_API int t3_plan_create(struct t3_comm *comm, const struct t3_plan_desc *desc,
			  int64_t deadline_ns, struct t3_plan **plan);
/*
 * The same for all ranks of t3_comm_create_local(), by one thread: plans[i] is that of comms[i],
 * which is rank i.
 */
T3_API int t3_plan_create_all(struct t3_comm *const *comms, uint32_t ranks,
			      const struct t3_plan_desc *desc, struct t3_plan **plans);
/*
 * Before its communicator. Ranks whose last epoch is not complete yet get an error if they
 * still need this one. NULL is fine.
 */
T3_API void t3_plan_destroy(struct t3_plan *plan);

/* First element of a chunk in the whole, and how many it has. Errors: -ERANGE no such chunk. */
T3_API int t3_plan_chunk(const struct t3_plan *plan, uint32_t chunk, uint64_t *first,
			 uint64_t *count);
#define T3_PLAN_NO_CHUNK 0xffffffffu
/*
 * The chunk to put i-th, so that the collective overlaps with producing; T3_PLAN_NO_CHUNK from
 * the end on: a rank has input for all chunks, with ALL_GATHER for its own, with BROADCAST at
 * the root alone. Any other order is as right.
 */
T3_API uint32_t t3_plan_order(const struct t3_plan *plan, uint32_t i);

/* --- an epoch: arm, ready, put, wait, result; no system call unless a wait sleeps */

/*
 * Errors of all of them: -EIO the space faulted: another rank has gone or failed, or wrong stores;
 * -ENODEV; then the plan can only be destroyed, and says the same again. t3_plan_error() tells why.
 */

/*
 * Release the epoch before, if there was one, and arm the next one: its result is no longer valid.
 * Errors: -EBUSY the epoch before was not waited for; -EOVERFLOW it was the last of 2^32 - 1.
 */
T3_API int t3_plan_arm(struct t3_plan *plan);
/* Wait until all ranks that this one sends to are armed, too. Errors: -EBUSY; -ETIMEDOUT. */
T3_API int t3_plan_ready(struct t3_plan *plan, int64_t deadline_ns);
/* t3_plan_arm(), unless an earlier call came so far, and t3_plan_ready(). */
T3_API int t3_plan_start(struct t3_plan *plan, int64_t deadline_ns);
/*
 * Put elements first .. first + count - 1 of the whole, which begin at src, as this rank's input:
 * in any order and pieces, each element once in an epoch.
 * Errors: -EBUSY it is not ready; -ERANGE the rank has no such input; -EOVERFLOW more than a
 * tile has: of its row (an array is one row, or rows of 16 MiB) nothing was put, rows before were.
 */
T3_API int t3_plan_put(struct t3_plan *plan, uint64_t first, const void *src, uint64_t count);
/*
 * Put a tile of a chunk, row i of it from src + i * src_pitch. Tiles are those of the chunk
 * as a matrix of its own, numbered as in t3.h.
 * Errors: -EBUSY, -EOVERFLOW as above; -ERANGE no such tile; -EINVAL src_pitch.
 */
T3_API int t3_plan_put_tile(struct t3_plan *plan, uint32_t chunk, uint64_t tile, const void *src,
			    size_t src_pitch);
/*
 * A chunk of the input in the aperture, for stores of one's own (t3_store_tile() and the like)
 * instead of t3_plan_put(), once the plan is ready; the same in all epochs.
 * Errors: -ERANGE the rank has no such input; -ENODATA the chunk is empty; -EFBIG it is an array
 * above 16 MiB, which is no single matrix.
 */
T3_API int t3_plan_view(struct t3_plan *plan, uint32_t chunk, struct t3_view *view);
/*
 * Wait until this rank's result is complete, and all that passes through it has been delivered.
 * Errors: -EBUSY it is not ready; -ETIMEDOUT: wait again, or destroy.
 */
T3_API int t3_plan_wait(struct t3_plan *plan, int64_t deadline_ns);
/*
 * The result in mapped device memory, without gaps, until the next arm. REDUCE_SCATTER of
 * an empty chunk: 0 bytes. Errors: -EBUSY the epoch was not waited for.
 */
T3_API int t3_plan_result(const struct t3_plan *plan, const void **data, uint64_t *bytes);

/* Its space, for GEMM jobs, eventfds and the like; which epoch was armed last, 0: none. */
T3_API struct t3_space *t3_plan_space(const struct t3_plan *plan);
T3_API uint32_t t3_plan_epoch(const struct t3_plan *plan);
/* As t3_space_set_spin(). */
T3_API void t3_plan_set_spin(struct t3_plan *plan, uint64_t ns);
/*
 * The last failure in words, "" when there was none. Of a timeout (deadline 0 is none): the
 * first tile that is not complete and what it lacks, and a rank that has not put its part; of
 * a fault: what the device recorded, and who was first; of a rank that has gone: which. Never NULL.
 */
T3_API const char *t3_plan_error(struct t3_plan *plan);

/* --------------------------------------------- plain collectives on memory */

/*
 * A whole collective on the caller's memory: in and out are as plans have them, count elements for
 * the whole, and may be the same; NULL where a rank's part is empty. Plans are kept in the communicator (the 8 used last), so that
 * a call like an earlier one sets nothing up. All ranks make the same calls in the same order;
 * not for t3_comm_create_local() in a single thread. An error but -EINVAL and -EFBIG ends all
 * plain collectives of the communicator: later ones say the same. t3_comm_error() tells why.
 * Errors: those of t3_plan_create(), t3_plan_start() and t3_plan_wait().
 */
T3_API int t3_reduce_scatter(struct t3_comm *comm, const void *in, void *out, uint64_t count,
			     uint32_t dtype, uint32_t op, int64_t deadline_ns);
/* in: chunk `rank` alone. */
T3_API int t3_all_gather(struct t3_comm *comm, const void *in, void *out, uint64_t count,
			 uint32_t dtype, int64_t deadline_ns);
T3_API int t3_all_reduce(struct t3_comm *comm, const void *in, void *out, uint64_t count,
			 uint32_t dtype, uint32_t op, int64_t deadline_ns);
T3_API int t3_all_to_all(struct t3_comm *comm, const void *in, void *out, uint64_t count,
			 uint32_t dtype, int64_t deadline_ns);
/* data is read at the root, written elsewhere. */
T3_API int t3_broadcast(struct t3_comm *comm, void *data, uint64_t count, uint32_t dtype,
			uint32_t root, int64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif /* T3_COLL_H */
