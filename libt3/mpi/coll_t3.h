/* SPDX-License-Identifier: MIT */
/*
 * The coll component "t3" of Open MPI: collectives of unmodified MPI programs on T3 devices. It uses
 * libt3's public headers and Open MPI's own.
 *
 *	component.c   the component that Open MPI loads: versions, open and close
 *	params.c      its parameters
 *	counters.c    its counters
 *	messages.c    its messages
 *	module.c      the component on one communicator
 *	setup.c       the ranks of a communicator agree whether T3 works there
 *	device.c      the device of this process
 *	pool.c        what Open MPI asks for the memory of MPI_Alloc_mem
 *	memory.c      blocks of that memory, in the device
 *	reach.c       whether Open MPI can send what lies there
 *	types.c       which MPI types and operations a device has
 *	plans.c       the plans of a communicator
 *	piece.c       how a message is cut into pieces, and a piece's way in and out
 *	place.c       pieces whose input or result is in blocks of MPI_Alloc_mem
 *	run.c         a collective that blocks
 *	later.c       collectives that do not block
 *	reduce.c      MPI's functions that compute
 *	ireduce.c     the same, not blocking
 *	move.c        MPI's functions that only move data
 *
 * All ranks of a communicator must choose T3 for the same calls. So a choice depends only on what MPI
 * wants to be equal at all ranks, such as the bytes of a message but not its datatype, and on what
 * the ranks have agreed on before.
 *
 * Threads (MPI_THREAD_MULTIPLE): MPI lets one thread at a time call a collective on a communicator, so
 * a module needs no lock. What all modules share has one each: the device (device.c), the list of
 * blocks (memory.c), the queue (place.c), and the list of what goes on when MPI makes progress, which
 * any thread does for all (later.c). None is held while a rank waits for another.
 */
#ifndef COLL_T3_H
#define COLL_T3_H

#include <stdbool.h>
#include <stdint.h>

#include "ompi_config.h"
#include "mpi.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"

#include "t3_coll.h"

enum coll_t3_call {
	COLL_T3_ALLREDUCE,
	COLL_T3_REDUCE,
	COLL_T3_REDUCE_SCATTER,
	COLL_T3_REDUCE_SCATTER_BLOCK,
	COLL_T3_ALLGATHER,
	COLL_T3_ALLTOALL,
	COLL_T3_BCAST,
	/* Calls that do not block, in the same order. */
	COLL_T3_IALLREDUCE,
	COLL_T3_IREDUCE,
	COLL_T3_IREDUCE_SCATTER,
	COLL_T3_IREDUCE_SCATTER_BLOCK,
	COLL_T3_CALLS
};

#define COLL_T3_BLOCKING 7u /* the first calls, which have a threshold */

extern const char *const coll_t3_names[COLL_T3_CALLS];

/* MCA parameters, coll_t3_*. */
struct coll_t3_params {
	int priority;
	int verbose;
	char *device;
	char *algorithm;
	bool deterministic;
	unsigned long long min_bytes[COLL_T3_BLOCKING];
	unsigned long long piece;
	unsigned int plans;
	unsigned int tile;
	unsigned int setup_seconds;
	unsigned int seconds;
	unsigned long long memory_min, memory_max; /* of MPI_Alloc_mem */
	unsigned long long device_min;		   /* bytes of a piece */
};

extern struct coll_t3_params coll_t3_params;

void coll_t3_register_params(const mca_base_component_t *component);
/* Return whether the values are allowed; else say which one is not. */
bool coll_t3_check_params(void);

/* Calls of this process, also as MPI_T variables: by T3, and passed on although T3 has the call. */
struct coll_t3_counts {
	unsigned long long by_t3[COLL_T3_CALLS];
	unsigned long long passed_on[COLL_T3_CALLS];
	/*
	 * Bytes that no processor has copied: of input that a device read in its place, of results.
	 */
	unsigned long long device_input, device_result;
	unsigned long long memory; /* bytes of MPI_Alloc_mem in the device now */
};

extern struct coll_t3_counts coll_t3_counts;

/* Threads count at the same time, each on its own communicator. */
void coll_t3_count(unsigned long long *counter);
void coll_t3_count_bytes(unsigned long long *counter, unsigned long long bytes);
void coll_t3_register_counters(const mca_base_component_t *component);
/* Say at the end how many calls T3 did. */
void coll_t3_say_counts(void);

void coll_t3_open_messages(void);
void coll_t3_close_messages(void);

/*
 * The communicator's name for a message. One without a name has its Fortran handle, a number of
 * this process. The text is this thread's until the next call.
 */
const char *coll_t3_name(const struct ompi_communicator_t *comm);
/* Say it when coll_t3_verbose is at least level: 1: communicators and sums, 10: each call. */
void coll_t3_say(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Say what made MPI fail, or what the user asked for and does not get. */
void coll_t3_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---------------------------------------------------------------------- the module */

enum coll_t3_state {
	COLL_T3_NEW,	/* before the ranks have agreed */
	COLL_T3_ON,	/* T3 carries its large messages */
	COLL_T3_OFF,	/* agreed: not here */
	COLL_T3_BROKEN, /* a collective failed: ranks no longer know of each other where they are */
};

/* The functions of the next component, which the module replaces. */
#define COLL_T3_FUNCTIONS(F)    \
	F(allreduce)            \
	F(reduce)               \
	F(reduce_scatter)       \
	F(reduce_scatter_block) \
	F(allgather)            \
	F(alltoall) F(bcast) F(iallreduce) F(ireduce) F(ireduce_scatter) F(ireduce_scatter_block)

#define COLL_T3_NEXT(name)                       \
	mca_coll_base_module_##name##_fn_t name; \
	mca_coll_base_module_t *name##_module;

struct coll_t3_kept {
	struct t3_plan_desc desc;
	struct t3_plan *plan; /* NULL: the ranks could not make it, all with this error */
	int error;
};

#define COLL_T3_PLANS_MAX 16u

struct coll_t3_later;

struct coll_t3_module {
	mca_coll_base_module_t super;
	struct ompi_communicator_t *comm;
	enum coll_t3_state state;
	struct t3_comm *t3;
	struct {
		COLL_T3_FUNCTIONS(COLL_T3_NEXT)
	} next;
	/* The plan used last comes first. */
	uint32_t kept;
	struct coll_t3_kept plans[COLL_T3_PLANS_MAX];
	struct coll_t3_later *begun; /* the first one runs; changes under later.c's lock */
	/* Data of datatypes with gaps, without the gaps. */
	void *scratch;
	size_t scratch_bytes;
};

OBJ_CLASS_DECLARATION(coll_t3_module_t);
typedef struct coll_t3_module coll_t3_module_t;

mca_coll_base_module_t *coll_t3_comm_query(struct ompi_communicator_t *comm, int *priority);

/* ---------------------------------------------------------------------- setup.c */

/* Return whether T3 carries messages of this communicator. The first call makes the ranks agree. */
bool coll_t3_ready(coll_t3_module_t *m);
/*
 * The least of a number of all ranks, by the next component. A negative error number if it fails.
 */
int coll_t3_agree(coll_t3_module_t *m, int mine);
void coll_t3_leave(coll_t3_module_t *m);

/* ---------------------------------------------------------------------- device.c */

/* Open the device of this process, unless it is open. Return the same error each time. */
int coll_t3_open_device(void);
/* The device, once it was opened; and why it was not. */
struct t3_device *coll_t3_device(void);
const char *coll_t3_device_error(void);
/* At the end of the process. */
void coll_t3_close_device(void);

/* ---------------------------------------------------------------------- pool.c */

/* Offer device memory to MPI_Alloc_mem, from the component's open to its close. */
void coll_t3_open_pool(void);
void coll_t3_close_pool(void);

/* ---------------------------------------------------------------------- reach.c */

/* Whether all that Open MPI sends messages by can send device memory; else write why not. */
bool coll_t3_can_send(char *why, size_t size);

/* ---------------------------------------------------------------------- memory.c */

/* Return mapped device memory, or NULL where there is none to be had. Any thread may. */
void *coll_t3_alloc(size_t bytes, size_t align);
/* Free what coll_t3_alloc() has returned. */
void coll_t3_free(void *at);
/* Free all of it. */
void coll_t3_free_all(void);

/* Where bytes lie in device memory. */
struct coll_t3_place {
	struct t3_buffer *buffer;
	uint64_t offset;
};

/* Return whether all of these bytes are in one block of coll_t3_alloc(). */
bool coll_t3_find(const void *at, size_t bytes, struct coll_t3_place *place);

/* ---------------------------------------------------------------------- types.c */

/* Return the device's type and operation for MPI's, or false. */
bool coll_t3_reduction(struct ompi_datatype_t *type, struct ompi_op_t *op, uint32_t *dtype,
		       uint32_t *t3_op);

/* ---------------------------------------------------------------------- plans.c */

/*
 * Get a plan, and make it if it is not there, which blocks, or else return -ENOENT. All ranks call
 * it with the same arguments. Errors after which the next component can do the call: those that
 * coll_t3_agreed() knows.
 */
int coll_t3_plan(coll_t3_module_t *m, const struct t3_plan_desc *desc, bool make,
		 struct t3_plan **plan);
void coll_t3_drop_plans(coll_t3_module_t *m);
/*
 * Whether a plan that was got is still kept. The memory of one that is not may be another's by now.
 */
bool coll_t3_has_plan(const coll_t3_module_t *m, const struct t3_plan_desc *desc);
/* Whether all ranks have this error of t3_plan_create(), and the communicator can go on. */
bool coll_t3_agreed(int error);

/* ---------------------------------------------------------------------- piece.c */

/*
 * A collective on contiguous memory. It has `parts` parts of `count` elements, one for each rank,
 * or one for ALL_REDUCE and BROADCAST. in and out are as for t3_all_reduce() and the like. out may
 * be NULL where no result is wanted.
 */
struct coll_t3_job {
	enum coll_t3_call call;
	enum t3_collective collective;
	uint32_t dtype;
	uint32_t op;
	uint32_t root;
	uint32_t element; /* bytes */
	uint64_t count;
	const void *in;
	void *out;
};

/* A piece is an epoch of a plan. It holds the same range of each part. */
struct coll_t3_pieces {
	const struct coll_t3_job *job;
	uint32_t parts;
	uint64_t first, count; /* the range */
	struct t3_plan *plan;
	/* Count and plan of the last piece, which may be shorter. */
	uint64_t last;
	struct t3_plan *last_plan;
	/* Chunks of the plan whose input the device reads in its place, a bit for each. */
	uint32_t bound;
};

/* Cut a job, and get its plans. All of them are there before anything is written. */
int coll_t3_cut(coll_t3_module_t *m, const struct coll_t3_job *job, bool make,
		struct coll_t3_pieces *p);
/* Go on with the next piece. Return false if there is none. */
bool coll_t3_next_piece(struct coll_t3_pieces *p);
int coll_t3_put(const struct coll_t3_pieces *p);
/* may_wait: the device may copy the result, which takes a system call and a sleep. */
int coll_t3_take(const struct coll_t3_pieces *p, bool may_wait);
/* The input of a chunk, which begins at that element of the whole. */
const char *coll_t3_source(const struct coll_t3_pieces *p, uint32_t chunk, uint64_t first);
/* Where the elements of a part begin that this piece holds, from the part of rank 0. */
size_t coll_t3_offset(const struct coll_t3_pieces *p, uint64_t part);

/* ---------------------------------------------------------------------- place.c */

/*
 * Before the arm of a piece: let the device read its input in its place, where it lies in a block
 * of MPI_Alloc_mem. What cannot be is copied as ever.
 */
void coll_t3_bind(struct coll_t3_pieces *p);
/* Before the plan goes on to other memory, and the program may free this. Between epochs. */
void coll_t3_unbind(struct coll_t3_pieces *p);
/*
 * Copy the result of a piece by the device and wait for it, where it goes to a block of
 * MPI_Alloc_mem. Return false if that is not so, or has failed: then the caller copies.
 */
bool coll_t3_take_by_device(const struct coll_t3_pieces *p, uint64_t bytes);
void coll_t3_close_queue(void);

/* ---------------------------------------------------------------------- run.c */

/* The end of a job. */
enum coll_t3_end {
	COLL_T3_DONE,
	COLL_T3_PASS, /* the next component must do the call; nothing was written */
	COLL_T3_FAILED,
};

enum coll_t3_end coll_t3_run(coll_t3_module_t *m, const struct coll_t3_job *job);
/* The communicator can do no more. Say why; return COLL_T3_FAILED. */
enum coll_t3_end coll_t3_break(coll_t3_module_t *m, enum coll_t3_call call, const char *why);
/* Whether a message of these bytes is T3's on this communicator. */
bool coll_t3_takes(coll_t3_module_t *m, enum coll_t3_call call, uint64_t bytes);
/* Count a call that the next component does, and say why. */
void coll_t3_pass(coll_t3_module_t *m, enum coll_t3_call call, const char *why);

/* When the user wants a collective to fail that its other ranks do not come to. */
int64_t coll_t3_limit(void);

/* ---------------------------------------------------------------------- later.c */

/*
 * Begin a job whose plans are there. It goes on when MPI makes progress, behind those that were
 * begun before on the communicator. The request is complete when it is.
 */
enum coll_t3_end coll_t3_begin(coll_t3_module_t *m, const struct coll_t3_job *job,
			       ompi_request_t **request);
/* Wait until all that was begun is complete, as ranks run their epochs in one order. */
void coll_t3_drain(coll_t3_module_t *m);
void coll_t3_close_later(void);

/* ---------------------------------------------------------------------- MPI's functions */

int coll_t3_allreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		      struct ompi_op_t *op, struct ompi_communicator_t *comm,
		      mca_coll_base_module_t *module);
int coll_t3_reduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		   struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		   mca_coll_base_module_t *module);
int coll_t3_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
			   struct ompi_datatype_t *type, struct ompi_op_t *op,
			   struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_t3_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
				 struct ompi_datatype_t *type, struct ompi_op_t *op,
				 struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_t3_allgather(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		      int rcount, struct ompi_datatype_t *rtype, struct ompi_communicator_t *comm,
		      mca_coll_base_module_t *module);
int coll_t3_alltoall(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		     int rcount, struct ompi_datatype_t *rtype, struct ompi_communicator_t *comm,
		     mca_coll_base_module_t *module);
int coll_t3_bcast(void *buf, int count, struct ompi_datatype_t *type, int root,
		  struct ompi_communicator_t *comm, mca_coll_base_module_t *module);

int coll_t3_iallreduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		       struct ompi_op_t *op, struct ompi_communicator_t *comm,
		       ompi_request_t **request, mca_coll_base_module_t *module);
int coll_t3_ireduce(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		    struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
		    ompi_request_t **request, mca_coll_base_module_t *module);
int coll_t3_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
			    struct ompi_datatype_t *type, struct ompi_op_t *op,
			    struct ompi_communicator_t *comm, ompi_request_t **request,
			    mca_coll_base_module_t *module);
int coll_t3_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
				  struct ompi_datatype_t *type, struct ompi_op_t *op,
				  struct ompi_communicator_t *comm, ompi_request_t **request,
				  mca_coll_base_module_t *module);

/* The jobs of both kinds of functions. Return false, and count it, if no device can do the call. */
bool coll_t3_reduce_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			struct coll_t3_job *job);
/* The same. count is that of each part, or negative if they are not equally long. */
bool coll_t3_scatter_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			 int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			 struct coll_t3_job *job);
/* Return the count of all parts, or -1 if they are not equally long. */
int coll_t3_equal_parts(const int *counts, int ranks);

#endif /* COLL_T3_H */
