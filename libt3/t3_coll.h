/* SPDX-License-Identifier: MIT */
/*
 * Communicators, and collectives whose data moves by triggers. This is part of libt3, and the rules
 * of t3.h hold. A communicator and all its plans belong to one thread at a time.
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
#define T3_COMM_TEXT_SIZE 256 /* enough for any t3_comm_desc.text */

/* ------------------------------------------------------------ communicators */

/*
 * Where ranks meet that are separate processes. dir is a directory that all of them see. It belongs
 * to their user and nobody else may enter it (mode 0700). With dir NULL the environment says where,
 * and which rank of how many this is:
 *  - T3_COMM_DIR, T3_RANK and T3_RANKS: a directory. `t3 launch` sets them.
 *  - Else MASTER_ADDR and MASTER_PORT: rank 0 listens there with TCP, and the others connect. Rank
 *    and number are T3_RANK and T3_RANKS, or without T3_RANK they are RANK and WORLD_SIZE. T3_JOB,
 *    any text, keeps jobs apart that use one port by mistake.
 * The rendezvous at MASTER_ADDR is for trusted networks. It checks what it reads, but whoever can
 * connect to the port can pass as a rank.
 */
struct t3_comm_desc {
	const char *dir;
	uint32_t rank;
	uint32_t ranks; /* 2 .. 32 */
	/* A failed create writes here why it failed. A success writes "". NULL: no text. */
	char *text;
	size_t text_size;
};

/*
 * Join a communicator. The call returns when all ranks have joined. Rank i may be on any device of
 * the fabric, but no two ranks may share a device. A ring collective needs a link from each rank to
 * the next one. When a rank fails, the others fail too, at the latest at their deadlines. The call
 * leaves the directory as it was. Leftovers of a killed run do no harm. After the join the
 * directory, or the port, can serve the next communicator.
 * Errors: -EINVAL: also variables of the environment that are missing or malformed. -ENOENT,
 * -ENOTDIR, -EACCES: the directory; -EACCES also: the port. -EPERM: the directory or a peer is
 * another user's, or others may enter the directory. -ENAMETOOLONG: its path is over 4095 bytes.
 * -EADDRNOTAVAIL: MASTER_ADDR has no address, or at rank 0 none of this machine; or there are several
 * nodes, and this one has no address that others can reach (T3_NODE_ADDRESS). -EADDRINUSE: the
 * port is taken. -EEXIST: the rank is taken. -EPROTO: a rank has another protocol version, or is no
 * rank of libt3. -ENOTUNIQ: two ranks are on one device. -EXDEV: a rank is on another fabric. -EDOM:
 * a rank has another number of ranks, or T3_JOB. -EPIPE: a rank has ended. -ETIMEDOUT: a rank did
 * not come. -EMFILE. -EFBIG: RLIMIT_FSIZE is below the memory that the ranks share.
 */
T3_API int t3_comm_create(struct t3_device *dev, const struct t3_comm_desc *desc,
			  int64_t deadline_ns, struct t3_comm **comm);

/*
 * An all-gather that the caller brings, of MPI, PMIx or the like. It puts the bytes of rank i at
 * all + i * bytes, for each rank, also its own. It blocks until all ranks have called it. Its result
 * is 0 or a negative error number.
 */
typedef int (*t3_all_gather_fn)(void *ctx, const void *mine, void *all, size_t bytes);

/* How ranks that are separate processes meet without a directory. */
struct t3_bootstrap_desc {
	t3_all_gather_fn all_gather;
	void *ctx; /* of all_gather */
	uint32_t rank;
	uint32_t ranks; /* 2 .. 32 */
	/* As in t3_comm_desc. */
	char *text;
	size_t text_size;
};

/*
 * Join a communicator as t3_comm_create() does. The ranks learn of each other by desc->all_gather,
 * which this thread calls once, or twice when they are on several nodes. A node is a kernel and a
 * network namespace. It calls in failures too, so that no rank waits for ever, but not after
 * -EINVAL. The library cannot interrupt it: the deadline holds from its end on. Of the environment
 * T3_NODE_ADDRESS alone is read: where ranks of other nodes reach this one.
 * Errors: what all_gather returns, or -EIO for a result above 0. -EINVAL. -EPROTO: it brought no
 * records of libt3's ranks in their order, or a rank has another version. -EPIPE: a rank cannot join,
 * or has ended. -EXDEV: a rank is on another fabric. -EADDRNOTAVAIL: there are several nodes, and
 * this one has no address. -EEXIST, -ENOTUNIQ, -EDOM, -EPERM, -ETIMEDOUT, -EMFILE, -EFBIG
 * as above.
 */
T3_API int t3_comm_create_bootstrap(struct t3_device *dev, const struct t3_bootstrap_desc *desc,
				    int64_t deadline_ns, struct t3_comm **comm);
/*
 * Create all ranks in this process. comms[i] is rank i, on devs[i]. Each may then be used by a
 * thread of its own.
 * Errors: -ENOTUNIQ, -EXDEV as above.
 */
T3_API int t3_comm_create_local(struct t3_device *const *devs, uint32_t ranks,
				struct t3_comm **comms);
/*
 * Destroy a communicator. Destroy its plans first. NULL is allowed. Ranks that wait for this one
 * fail with -EPIPE. So do ranks that wait for a third one that does not come within three seconds.
 * Call t3_comm_barrier() after the last collective, so that all ranks can end.
 */
T3_API void t3_comm_destroy(struct t3_comm *comm);
T3_API uint32_t t3_comm_rank(const struct t3_comm *comm);
T3_API uint32_t t3_comm_ranks(const struct t3_comm *comm);
T3_API struct t3_device *t3_comm_device(const struct t3_comm *comm);
/*
 * Wait until all ranks have called it. A single thread that drives all ranks of
 * t3_comm_create_local() cannot use it. After an error other than -EINVAL, only destroy the
 * communicator.
 * Errors: -EPIPE: a rank has ended. -ETIMEDOUT. -EPROTO: a rank is in another call.
 */
T3_API int t3_comm_barrier(struct t3_comm *comm, int64_t deadline_ns);
/* Return the last failure of this handle as a sentence, or "" when there was none. Never NULL. */
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
	/*
	 * On a fabric with a switch, for more than two ranks and not for ALL_TO_ALL, SWITCH, but
	 * DIRECT where a rank has no group of the switch left. On a full fabric HIERARCHICAL where
	 * the ranks fit it (not for ALL_TO_ALL, nor with flags), else DIRECT. Not on a full fabric
	 * RING.
	 */
	T3_ALGORITHM_AUTO = 0,
	T3_ALGORITHM_RING = 1,	 /* from each rank to the next one */
	T3_ALGORITHM_DIRECT = 2, /* from each rank to each other one */
	/*
	 * In each node, and then between the ranks that have the same place on their nodes. There
	 * are several nodes, with the same number of ranks each, at least 2.
	 */
	T3_ALGORITHM_HIERARCHICAL = 3,
	/* As DIRECT, where the fabric's switch combines what goes to a rank and copies results. */
	T3_ALGORITHM_SWITCH = 4,
};

/*
 * The whole is count elements, or count / columns rows. Chunk c of N is the part that belongs to
 * rank c. It has count / N elements (rows), and one more when c < count % N. Chunks follow each
 * other, and one may be empty. A BROADCAST has one chunk, 0, which is the whole. An ALL_REDUCE that
 * is HIERARCHICAL has a chunk for each rank of a node instead, cut in the same way. t3_plan_order()
 * names the chunks of any plan.
 *
 * A result has the same bits in each run, with one exception: DIRECT and SWITCH add floats of more
 * than two ranks in the order of their arrival. RING adds chunk c in the order of the ranks from c + 1 on, c
 * last. It rounds to the type after each addition.
 *
 * HIERARCHICAL adds from node to node. Nodes are numbered by their lowest ranks, and places on a
 * node by its ranks. The chunk of rank r ends on r's node, in r's place; chunk c of an ALL_REDUCE
 * on node c % nodes, in place c. The node after the one where it ends is the first one. This node
 * adds its ranks in the order of the places from the one after the chunk's place on, the chunk's
 * place last. Each further node adds its own ranks in the order from the chunk's place on, and then
 * its sum to that of the nodes before.
 */
struct t3_plan_desc {
	uint32_t collective; /* enum t3_collective */
	uint32_t algorithm;  /* enum t3_algorithm */
	uint64_t count;	     /* elements of the whole, 1 .. 2^40; 0 with lengths (below) */
	uint32_t dtype;	     /* enum drm_t3_dtype */
	uint32_t op;	     /* reductions: DRM_T3_OP_ADD .. MUL, that dtype has; else 0 */
	uint32_t root;	     /* BROADCAST: a rank; else 0 */
	uint32_t path;	     /* enum t3_path, of t3_plan_put() */
	uint32_t columns;    /* of a matrix, at most 16 MiB; 0: an array */
	/*
	 * Size of a tracked tile in elements, at most 1 MiB. 0 takes the default. tile_columns is
	 * at most columns. tile_rows is 0 or 1 for arrays and for ALL_TO_ALL.
	 */
	uint32_t tile_rows;
	uint32_t tile_columns;
	uint32_t flags; /* T3_PLAN_* */
};

/*
 * Reductions of floats by ADD or MUL: each element of the result is ((x0 op x1) op x2) .. op xN-1,
 * where xr is rank r's, rounded to the type after each step. So its bits depend on these N elements
 * alone: not on count, columns, tiles, the algorithm, the nodes or the timing. Others have such
 * bits anyway. Of the bytes that the busiest link carries without the flag, it carries N / (N - 1)
 * in an ALL_REDUCE by RING, up to 2 times in a REDUCE_SCATTER by RING, and up to N times by DIRECT.
 * By SWITCH it carries N / (N - 1) of them, where the switch has entries for the order; else sums
 * pass from rank to rank, and only their copies are the switch's. For these three algorithms, of
 * which AUTO takes one, and for these two collectives alone.
 */
#define T3_PLAN_DETERMINISTIC (1u << 0)
/*
 * Reductions of F16 or BF16 by ADD or MUL: each element is computed in DRM_T3_F32 and rounded once,
 * where the ranks' inputs meet, in place of once for each rank after the first. By DIRECT, which AUTO
 * takes then: on a ring the inputs meet two at a time. A tile has at most DRM_T3_WIDE_ROWS_MAX rows
 * and DRM_T3_WIDE_BYTES_MAX bytes. Not with DETERMINISTIC: the inputs are added as they arrive.
 */
#define T3_PLAN_WIDEN (1u << 1)

/*
 * Make a plan, which can run again and again. All ranks call this with the same desc, and create
 * their plans in the same order. The call succeeds or fails at all ranks, unless a rank does not
 * come at all. They get the error of the lowest rank that had one. t3_comm_error() says why.
 * Errors after which the communicator can go on: -EINVAL: the desc is not valid, or the ranks'
 * differ, or their nodes do not fit HIERARCHICAL. -EFBIG: its chunks need more tiles (2^20), more
 * segments (64) or longer rows than a space has. -EHOSTUNREACH: the algorithm needs a link that does
 * not exist. Also those of t3_buffer_create(), t3_space_create(), the mappings and
 * t3_grant_export(): -EOPNOTSUPP, if a device lacks the DRM_T3_FEATURE_* of dtype, op or flags.
 * Errors after which only a destroy is possible: -ETIMEDOUT. -EPIPE: a rank has ended. -EPROTO: a
 * rank is in another call or has another protocol version. -EFBIG: RLIMIT_FSIZE is below the memory
 * that the ranks share.
 */
T3_API int t3_plan_create(struct t3_comm *comm, const struct t3_plan_desc *desc,
			  int64_t deadline_ns, struct t3_plan **plan);
/*
 * Make the plans of all ranks of t3_comm_create_local() in one thread. plans[i] is that of
 * comms[i], which is rank i.
 */
T3_API int t3_plan_create_all(struct t3_comm *const *comms, uint32_t ranks,
			      const struct t3_plan_desc *desc, struct t3_plan **plans);

/*
 * The lengths of an ALL_TO_ALL, as one rank says them. Each array has an entry for each rank, in
 * elements: of a matrix whole rows. 0 is allowed. An entry, and the sum of an array, is at most
 * 2^40.
 */
struct t3_plan_lengths {
	const uint64_t *send;	 /* for each rank */
	const uint64_t *receive; /* from each rank */
};

/*
 * Make an ALL_TO_ALL with a length for each pair of ranks, as MPI_Alltoallv() has it. The whole of
 * a rank is what it sends: chunk c, for rank c, has send[c] elements. The result has receive[0]
 * elements of rank 0, receive[1] of rank 1 and so on, without gaps. desc->count is 0. The arrays
 * are read in the call alone. Each rank gives its own ones; of any two ranks the one's send is the
 * other's receive. A tile is sent as soon as it was put. All else is as for t3_plan_create().
 * Errors: those of t3_plan_create(). -EINVAL: also lengths that are NULL; a length that is not
 * whole rows, or not the same at its two ranks: t3_comm_error() names both and what each says.
 * -EFBIG: also a length above the limit, or above 16 MiB in an array; on a RING of more than 10
 * ranks, too many pairs with data for the 64 segments of a rank. -EPROTO: also a rank that calls
 * t3_plan_create().
 */
T3_API int t3_plan_create_uneven(struct t3_comm *comm, const struct t3_plan_desc *desc,
				 const struct t3_plan_lengths *lengths, int64_t deadline_ns,
				 struct t3_plan **plan);
/* The same for all ranks of t3_comm_create_local() in one thread. lengths[i] is that of rank i. */
T3_API int t3_plan_create_all_uneven(struct t3_comm *const *comms, uint32_t ranks,
				     const struct t3_plan_desc *desc,
				     const struct t3_plan_lengths *lengths, struct t3_plan **plans);
/*
 * Destroy a plan, before its communicator. Ranks whose last epoch is not complete get an error if
 * they still need this one. NULL is allowed.
 */
T3_API void t3_plan_destroy(struct t3_plan *plan);

/* Return a chunk's first element in the whole, and its length. Errors: -ERANGE: no such chunk. */
T3_API int t3_plan_chunk(const struct t3_plan *plan, uint32_t chunk, uint64_t *first,
			 uint64_t *count);
#define T3_PLAN_NO_CHUNK 0xffffffffu
/*
 * Return the chunk to put at place i, so that the collective overlaps with producing. From the end
 * on it is T3_PLAN_NO_CHUNK. A rank has input for all chunks. With ALL_GATHER it has its own alone,
 * with BROADCAST only the root has any. Any other order gives the same result.
 */
T3_API uint32_t t3_plan_order(const struct t3_plan *plan, uint32_t i);

/* --- an epoch: arm, ready, put, wait, result; no system call unless a wait sleeps */

/*
 * Errors of all of them: -EIO: the space is FAULTED, because another rank has ended or failed, or
 * because of wrong stores. -ENODEV. -ENOENT: the plan's space was destroyed by other means. After
 * these only destroy the plan: each later call returns the same. t3_plan_error() says why.
 */

/*
 * Release the last epoch, if there was one, and arm the next one. The last result is no longer
 * valid.
 * Errors: -EBUSY: the last epoch was not waited for. -EOVERFLOW: it was the last of 2^32 - 1.
 */
T3_API int t3_plan_arm(struct t3_plan *plan);
/* Wait until the ranks that this one sends to are armed, too. Errors: -EBUSY. -ETIMEDOUT. */
T3_API int t3_plan_ready(struct t3_plan *plan, int64_t deadline_ns);
/* t3_plan_arm(), unless an earlier call has armed this epoch, and then t3_plan_ready(). */
T3_API int t3_plan_start(struct t3_plan *plan, int64_t deadline_ns);
/*
 * Put elements first .. first + count - 1 of the whole as this rank's input. They begin at src.
 * Order and length of the calls are free, but each element is put once in an epoch.
 * Errors: -EBUSY: the plan is not ready. -ERANGE: the rank has no such input. -EOVERFLOW: more than
 * a tile has. Then nothing of its row was put, but all rows before. An array is one row, or rows of
 * 16 MiB.
 */
T3_API int t3_plan_put(struct t3_plan *plan, uint64_t first, const void *src, uint64_t count);
/*
 * Put a tile of a chunk. Row i of it is at src + i * src_pitch. The tiles are those of the chunk as
 * a matrix of its own, numbered as in t3.h.
 * Errors: -EBUSY, -EOVERFLOW as above. -ERANGE: no such tile. -EINVAL: src_pitch.
 */
T3_API int t3_plan_put_tile(struct t3_plan *plan, uint32_t chunk, uint64_t tile, const void *src,
			    size_t src_pitch);
/*
 * Get the place and size of a tile for t3_plan_put_tile(), from the chunk's first byte on. The offset
 * is that of a chunk without gaps. An array is one row, or rows of 16 MiB.
 * Errors: -EINVAL: NULL. -ERANGE: no such tile, or the rank has no input for the chunk.
 */
T3_API int t3_plan_tile(const struct t3_plan *plan, uint32_t chunk, uint64_t tile,
			struct t3_tile *where);
/*
 * Say that a chunk of the input lies at a multiple of 8 of a buffer of the plan's device, without
 * gaps. From the next epoch on the device reads it there. t3_plan_put() and t3_plan_put_tile() of
 * that memory, as t3_buffer_map() shows it, then copy nothing. Leave it unchanged from its put until
 * t3_plan_wait() has returned 0. A put of other memory copies it to that place. With buffer NULL and
 * offset 0 puts copy to the plan's own memory again, as at first, and the buffer can be destroyed.
 *
 * Call it between epochs. It releases the last one, whose result stays valid until the next arm. It
 * makes a system call for each segment of the chunk. After an error puts of the chunk copy to the
 * plan's own memory.
 * Errors: -EBUSY: the last epoch was not waited for. -ERANGE: the rank has no such input, or the
 * chunk is empty. -EINVAL: the offset is no multiple of 8, or the buffer is too short. Where a
 * segment has several rows of which the chunk is one (ALL_TO_ALL), the buffer must have bytes for
 * the others before and after it. Those before it must be a multiple of 8 bytes, as they are when
 * the chunk is one. -EOPNOTSUPP: the chunk is not staged (T3_PATH_STORE), or the buffer is not
 * memory of this device. Also those of all calls of an epoch.
 */
T3_API int t3_plan_bind(struct t3_plan *plan, uint32_t chunk, struct t3_buffer *buffer,
			uint64_t offset);
/*
 * Get a chunk of the input in the aperture. With it a program can use t3_store_tile() and the like
 * instead of t3_plan_put(), once the plan is ready. The view is the same in all epochs.
 * Errors: -ERANGE: the rank has no such input. -ENODATA: the chunk is empty. -EFBIG: it is an array
 * above 16 MiB, which is no single matrix.
 */
T3_API int t3_plan_view(struct t3_plan *plan, uint32_t chunk, struct t3_view *view);
/*
 * Wait until this rank's result is complete, and all data that passes through it is delivered.
 * Errors: -EBUSY: the plan is not ready. -ETIMEDOUT: wait again, or destroy.
 */
T3_API int t3_plan_wait(struct t3_plan *plan, int64_t deadline_ns);
/*
 * Return the result in mapped device memory, without gaps. It is valid until the next arm.
 * REDUCE_SCATTER with an empty chunk has 0 bytes. Errors: -EBUSY: the epoch was not waited for.
 */
T3_API int t3_plan_result(const struct t3_plan *plan, const void **data, uint64_t *bytes);
/*
 * Get the place of the result as an operand of jobs, such as a copy. The plan owns the buffer. The
 * place is the same in all epochs. What it holds is valid as above.
 */
T3_API int t3_plan_result_buffer(const struct t3_plan *plan, const struct t3_buffer **buffer,
				 uint64_t *offset);

/* The plan's space, for GEMM jobs, eventfds and the like; and the epoch armed last, 0 for none. */
T3_API struct t3_space *t3_plan_space(const struct t3_plan *plan);
T3_API uint32_t t3_plan_epoch(const struct t3_plan *plan);
/* The same as t3_space_set_spin(), for the plan's space. */
T3_API void t3_plan_set_spin(struct t3_plan *plan, uint64_t ns);
/*
 * Return the last failure of a call with the plan as a sentence, or "" when there was none. Never
 * NULL.
 *  - After a call out of turn or with a wrong argument it names the argument, its value, and what is
 *    allowed. An element that is put twice is named with its tile and chunk.
 *  - After a timeout it tells the first tile that is not complete and what it lacks, and a rank
 *    that has not put its part. A wait with deadline 0 is no timeout.
 *  - After a fault it tells what the device recorded, and which rank was first.
 *  - When a rank has ended it tells which.
 */
T3_API const char *t3_plan_error(struct t3_plan *plan);

/* --------------------------------------------- plain collectives on memory */

/*
 * Set the T3_PLAN_* flag of later calls of t3_all_reduce() and t3_reduce_scatter(), 0 at first. All
 * ranks set the same. WIDEN is for types and ops that have it; the others do without. Errors:
 * -EINVAL: an unknown flag, or both. -EHOSTUNREACH: WIDEN, and two ranks have no link between them.
 */
T3_API int t3_comm_set_plan_flags(struct t3_comm *comm, uint32_t flags);
/*
 * Run a whole collective on the caller's memory. in and out are as for plans, with count elements
 * for the whole. They may be the same. A pointer may be NULL where a rank's part is empty. The
 * communicator keeps the 8 plans used last, so that a repeated call sets nothing up. All ranks make
 * the same calls in the same order. A single thread that drives all ranks of t3_comm_create_local()
 * cannot use them. An error other than -EINVAL and -EFBIG ends all plain collectives of the
 * communicator: later calls return the same. t3_comm_error() says why.
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
/* data is read at the root and written at the other ranks. */
T3_API int t3_broadcast(struct t3_comm *comm, void *data, uint64_t count, uint32_t dtype,
			uint32_t root, int64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif /* T3_COLL_H */
