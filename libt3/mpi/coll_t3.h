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
 *	form.c        elements that a device needs in another form
 *	plans.c       the plans of a communicator
 *	piece.c       how a message is cut into pieces, and a piece's way in and out
 *	place.c       pieces whose input or result is in blocks of MPI_Alloc_mem
 *	run.c         a collective that blocks
 *	later.c       collectives that do not block, and persistent ones
 *	reduce.c      MPI's functions that compute
 *	ireduce.c     the same, not blocking
 *	persistent.c  the same, initialised once and started again and again
 *	flat.c        buffers as contiguous bytes
 *	parts.c       parts of different lengths
 *	move.c        MPI's functions that only move data, with equal parts
 *	gather.c      MPI's functions that gather
 *	scatter.c     MPI's functions that scatter from a root
 *	alltoallv.c   MPI_Alltoallv
 *	other.c       functions that T3 never does, to count them
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

#include <pthread.h>
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
	COLL_T3_ALLGATHERV,
	COLL_T3_GATHER,
	COLL_T3_GATHERV,
	COLL_T3_SCATTER,
	COLL_T3_SCATTERV,
	COLL_T3_ALLTOALLV,
	/* Calls that do not block, in the order of the first ones. */
	COLL_T3_IALLREDUCE,
	COLL_T3_IREDUCE,
	COLL_T3_IREDUCE_SCATTER,
	COLL_T3_IREDUCE_SCATTER_BLOCK,
	/* Initialisations of persistent ones, in the same order. */
	COLL_T3_ALLREDUCE_INIT,
	COLL_T3_REDUCE_INIT,
	COLL_T3_REDUCE_SCATTER_INIT,
	COLL_T3_REDUCE_SCATTER_BLOCK_INIT,
	COLL_T3_BARRIER, /* by coll_t3_barrier alone */
	/* Calls that T3 never does, to count them. */
	COLL_T3_SCAN,
	COLL_T3_EXSCAN,
	COLL_T3_ALLTOALLW,
	COLL_T3_CALLS
};

/* Why the next component does a call. */
enum coll_t3_reason {
	COLL_T3_SHORT,
	COLL_T3_LONG,
	COLL_T3_TYPE,
	COLL_T3_OP,
	COLL_T3_OWN_OP,
	COLL_T3_PARTS,
	COLL_T3_UNASKED,
	COLL_T3_COMMUNICATOR,
	COLL_T3_PLAN,
	COLL_T3_EARLY,
	COLL_T3_FUNCTION,
	COLL_T3_REASONS
};

#define COLL_T3_BLOCKING 13u /* the first calls, which have a threshold */

extern const char *const coll_t3_names[COLL_T3_CALLS];
/* As sentences, and as names of counters. */
extern const char *const coll_t3_reasons[COLL_T3_REASONS];
extern const char *const coll_t3_reason_names[COLL_T3_REASONS];

/* MCA parameters, coll_t3_*. */
struct coll_t3_params {
	int priority;
	int verbose;
	char *device;
	char *algorithm;
	bool deterministic;
	bool barrier;
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

/*
 * Calls of this process and their bytes, also as MPI_T variables. A call has the bytes of its message
 * as a whole, as for a threshold.
 */
struct coll_t3_counts {
	unsigned long long by_t3[COLL_T3_CALLS];
	unsigned long long passed_on[COLL_T3_CALLS];
	unsigned long long passed_why[COLL_T3_CALLS][COLL_T3_REASONS];
	unsigned long long passed_why_bytes[COLL_T3_CALLS][COLL_T3_REASONS];
	unsigned long long t3_bytes;
	/*
	 * Starts of persistent collectives that are complete by T3, and their bytes. Of the counters
	 * above a persistent one counts once, at its initialisation, as one that is passed on does.
	 */
	unsigned long long starts, start_bytes;
	unsigned long long reasons[COLL_T3_REASONS]; /* calls passed on, and their bytes */
	unsigned long long reason_bytes[COLL_T3_REASONS];
	/*
	 * Bytes that no processor has copied: of input that a device read in its place, of results.
	 */
	unsigned long long device_input, device_result;
	unsigned long long memory; /* bytes of MPI_Alloc_mem in the device now */
};

extern struct coll_t3_counts coll_t3_counts;

/* Threads count at the same time, each on its own communicator. */
void coll_t3_count_bytes(unsigned long long *counter, unsigned long long bytes);
void coll_t3_count_by_t3(enum coll_t3_call call, unsigned long long bytes);
void coll_t3_count_passed(enum coll_t3_call call, enum coll_t3_reason why,
			  unsigned long long bytes);
void coll_t3_register_counters(const mca_base_component_t *component);
/* Say at the end how many calls T3 did, and why not the others. */
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
#define COLL_T3_FUNCTIONS(F)         \
	F(allreduce)                 \
	F(reduce)                    \
	F(reduce_scatter)            \
	F(reduce_scatter_block)      \
	F(allgather)                 \
	F(alltoall)                  \
	F(bcast)                     \
	F(allgatherv)                \
	F(gather)                    \
	F(gatherv)                   \
	F(scatter)                   \
	F(scatterv)                  \
	F(alltoallv)                 \
	F(iallreduce)                \
	F(ireduce)                   \
	F(ireduce_scatter)           \
	F(ireduce_scatter_block)     \
	F(allreduce_init)            \
	F(reduce_init)               \
	F(reduce_scatter_init)       \
	F(reduce_scatter_block_init) \
	F(barrier)                   \
	F(scan)                      \
	F(exscan)                    \
	F(alltoallw)

#define COLL_T3_NEXT(name)                       \
	mca_coll_base_module_##name##_fn_t name; \
	mca_coll_base_module_t *name##_module;

struct coll_t3_kept {
	struct t3_plan_desc desc;
	struct t3_plan *plan; /* NULL: the ranks could not make it, all with this error */
	int error;
};

#define COLL_T3_PLANS_MAX 16u
/* Where devices lack memory for a plan, pieces become shorter, down to this. */
#define COLL_T3_PIECE_LEAST (1u << 20)
/* Bytes of the pieces of all kept plans of a communicator, unless two whole pieces are more. */
#define COLL_T3_KEPT_BYTES (32u << 20)

struct coll_t3_later;

struct coll_t3_module {
	mca_coll_base_module_t super;
	struct ompi_communicator_t *comm;
	enum coll_t3_state state;
	struct t3_comm *t3;
	struct {
		COLL_T3_FUNCTIONS(COLL_T3_NEXT)
	} next;
	/* In an exchange of its own by the next component, which may call other functions in it. */
	bool exchanges;
	/* Bytes that go at once: coll_t3_piece, or less. All ranks have the same. */
	uint64_t piece;
	/* The plan used last comes first. */
	uint32_t kept;
	struct coll_t3_kept plans[COLL_T3_PLANS_MAX];
	struct coll_t3_later *begun; /* the first one runs; changes under later.c's lock */
	/* A thread is in a blocking call; both change under later.c's lock. */
	bool inside;
	pthread_t thread;
	/* Calls that are passed on before the lengths of parts are exchanged again (parts.c). */
	unsigned int pause, last_pause;
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
/* The bytes of all ranks, by the next component. A negative error number if it fails. */
int coll_t3_exchange(coll_t3_module_t *m, const void *mine, void *all, size_t bytes);
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

struct coll_t3_job;

/* The bytes of elements, without gaps. */
size_t coll_t3_bytes(int64_t count, struct ompi_datatype_t *type);
/*
 * Fill in the job's dtype, op, element and form for MPI's type and operation. Its count, of MPI's
 * elements before, is one of the device's then. Or return false and why: COLL_T3_OWN_OP,
 * COLL_T3_OP where the type has other operations, or COLL_T3_TYPE.
 */
bool coll_t3_reduction(struct ompi_datatype_t *type, struct ompi_op_t *op, struct coll_t3_job *job,
		       enum coll_t3_reason *why);

/* ---------------------------------------------------------------------- form.c */

/* How elements get another form on their way to the device, and back. NULL: none is needed. */
struct coll_t3_form {
	void (*in)(void *to, const void *from, uint64_t count);
	void (*out)(void *to, const void *from, uint64_t count);
};

extern const struct coll_t3_form coll_t3_truth_8, coll_t3_truth_32, coll_t3_truth_64;
extern const struct coll_t3_form coll_t3_least_int, coll_t3_greatest_int;
extern const struct coll_t3_form coll_t3_least_float, coll_t3_greatest_float;

/* ---------------------------------------------------------------------- plans.c */

/*
 * Get a plan, and make it if it is not there, which blocks, or else return -ENOENT. All ranks call
 * it with the same arguments. Errors after which the next component can do the call: those that
 * coll_t3_agreed() knows.
 */
int coll_t3_plan(coll_t3_module_t *m, const struct t3_plan_desc *desc, bool make,
		 struct t3_plan **plan);
/*
 * Make a plan that the caller destroys, which blocks. All ranks call it, and it succeeds or fails at
 * all of them. Errors as those of coll_t3_plan().
 */
int coll_t3_own_plan(coll_t3_module_t *m, const struct t3_plan_desc *desc, struct t3_plan **plan);
void coll_t3_drop_plans(coll_t3_module_t *m);
/*
 * Whether a plan that was got is still kept. The memory of one that is not may be another's by now.
 */
bool coll_t3_has_plan(const coll_t3_module_t *m, const struct t3_plan_desc *desc);
/* Whether all ranks have this error of t3_plan_create(), and the communicator can go on. */
bool coll_t3_agreed(int error);
/* Whether a device lacks memory for the plan. A shorter one may have room. */
bool coll_t3_lacks_room(int error);

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
	const struct coll_t3_form *form; /* of the elements, or NULL */
	const void *in;
	void *out;
	/*
	 * Where there is one part: the range of the result that out gets, in bytes. Of 0 bytes: all
	 * of it.
	 */
	uint64_t want_first, want_bytes;
	uint64_t bytes; /* of the message, to count them */
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

/* Where the plans of a job come from. */
enum coll_t3_plans {
	COLL_T3_KEPT, /* the communicator keeps them, or else -ENOENT */
	COLL_T3_MADE, /* the same, but they are made where they are not there */
	COLL_T3_OWN,  /* they are made for this job alone, and the caller destroys them */
};

/* Cut a job, and get its plans. All of them are there before anything is written. */
int coll_t3_cut(coll_t3_module_t *m, const struct coll_t3_job *job, enum coll_t3_plans from,
		struct coll_t3_pieces *p);
/* Destroy plans that are COLL_T3_OWN. p is as coll_t3_cut() has left it. */
void coll_t3_destroy_own(struct coll_t3_pieces *p);
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
/* The shortest message that is T3's. */
uint64_t coll_t3_threshold(enum coll_t3_call call);
/* Whether a message of these bytes is T3's on this communicator. */
bool coll_t3_takes(coll_t3_module_t *m, enum coll_t3_call call, uint64_t bytes);
/* Count a call that the next component does, and say why. */
void coll_t3_pass(coll_t3_module_t *m, enum coll_t3_call call, enum coll_t3_reason why,
		  uint64_t bytes);

/* When the user wants a collective to fail that its other ranks do not come to. */
int64_t coll_t3_limit(void);

/* ---------------------------------------------------------------------- flat.c */

/* A user's buffer as contiguous bytes. */
struct coll_t3_flat {
	char *at;    /* the bytes */
	bool packed; /* they are not the user's own memory */
	void *user;  /* MPI_BOTTOM is NULL */
	int count;
	struct ompi_datatype_t *type;
	size_t bytes;
};

/* Element `index` of a buffer. */
void *coll_t3_element(const void *buf, struct ompi_datatype_t *type, int64_t index);
bool coll_t3_has_gaps(int count, struct ompi_datatype_t *type);
/* packed is memory for the bytes, if they have gaps. */
struct coll_t3_flat coll_t3_flatten(const void *buf, int count, struct ompi_datatype_t *type,
				    char *packed);
/* Memory for packed input and output, of the module. NULL: there is none. */
char *coll_t3_scratch(coll_t3_module_t *m, size_t bytes);
/*
 * part: bytes of each part, all: of the message. The device's elements are words where parts are
 * whole words.
 */
void coll_t3_set_bytes(struct coll_t3_job *job, size_t part, size_t all);
/* Whether the call is over: done, or failed. */
bool coll_t3_is_over(enum coll_t3_end end, int *ret);
/*
 * Run the job from one flat buffer to another, of which one may have no memory. What is T3's own was
 * allocated, and may lack. Return false if the next component has to do it.
 */
bool coll_t3_run_flat(coll_t3_module_t *m, struct coll_t3_job *job, const struct coll_t3_flat *in,
		      const struct coll_t3_flat *out, int *ret);

/* ---------------------------------------------------------------------- parts.c */

/*
 * Knowledge that all ranks have of a call before they choose, with parts of different lengths. `of` has the
 * bytes of each rank's part.
 */
struct coll_t3_parts {
	uint64_t of[T3_COMM_RANKS_MAX];
	uint64_t all, largest;
};

/* From what each rank knows itself, as the arguments say. */
void coll_t3_known_parts(coll_t3_module_t *m, const int *counts, struct ompi_datatype_t *type,
			 struct coll_t3_parts *parts);
/*
 * From what this rank has: the bytes of its part, and of the longest piece of it that has to have an
 * equal length everywhere. By the next component. COLL_T3_PASS, counted: the communicator is not T3's,
 * or calls before this one were not.
 */
enum coll_t3_end coll_t3_share_parts(coll_t3_module_t *m, enum coll_t3_call call, uint64_t mine,
				     uint64_t largest, struct coll_t3_parts *parts);
/* After coll_t3_share_parts(): whether T3 has done the call. */
void coll_t3_shared_well(coll_t3_module_t *m, bool by_t3);
/* Whether `all` bytes are no more than twice as many when parts are padded. If not, count it. */
bool coll_t3_even(coll_t3_module_t *m, enum coll_t3_call call, uint64_t padded, uint64_t all);
/* Whole words, as equal parts of them are faster. */
static inline uint64_t coll_t3_padded(uint64_t bytes)
{
	return (bytes + 3) & ~3ull;
}

/* Pack elements into memory of `bytes`, or unpack them. MPI_ERR_TRUNCATE if there are more. */
int coll_t3_pack(const void *from, int count, struct ompi_datatype_t *type, char *to,
		 uint64_t bytes);
int coll_t3_unpack(const char *from, uint64_t bytes, void *to, int count,
		   struct ompi_datatype_t *type);

/* ---------------------------------------------------------------------- later.c */

/*
 * Begin a job whose plans are there. It goes on when MPI makes progress, behind those that were
 * begun before on the communicator. The request is complete when it is.
 */
enum coll_t3_end coll_t3_begin(coll_t3_module_t *m, const struct coll_t3_job *job,
			       ompi_request_t **request);
/* Wait until all that was begun is complete, as ranks run their epochs in one order. */
void coll_t3_drain(coll_t3_module_t *m);
/*
 * Make a persistent request, inactive, which has plans of its own: MPI lets ranks free requests at
 * different times, so the plans that all ranks keep the same must not depend on that. All ranks call
 * it, and it may block.
 */
enum coll_t3_end coll_t3_prepare(coll_t3_module_t *m, const struct coll_t3_job *job,
				 ompi_request_t **request);
/*
 * A thread begins or ends a blocking call, which may not call these again. In between nobody else
 * goes on on the communicator, as libt3's belongs to one thread at a time.
 */
void coll_t3_enter(coll_t3_module_t *m);
void coll_t3_exit(coll_t3_module_t *m);
/* Destroy the plans of a communicator's persistent requests, before the communicator goes. */
void coll_t3_drop_persistent(coll_t3_module_t *m);
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

int coll_t3_allgatherv(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		       const int *rcounts, const int *places, struct ompi_datatype_t *rtype,
		       struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_t3_gather(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		   int rcount, struct ompi_datatype_t *rtype, int root,
		   struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_t3_gatherv(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		    const int *rcounts, const int *places, struct ompi_datatype_t *rtype, int root,
		    struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_t3_scatter(const void *sbuf, int scount, struct ompi_datatype_t *stype, void *rbuf,
		    int rcount, struct ompi_datatype_t *rtype, int root,
		    struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_t3_scatterv(const void *sbuf, const int *scounts, const int *places,
		     struct ompi_datatype_t *stype, void *rbuf, int rcount,
		     struct ompi_datatype_t *rtype, int root, struct ompi_communicator_t *comm,
		     mca_coll_base_module_t *module);
int coll_t3_alltoallv(const void *sbuf, const int *scounts, const int *splaces,
		      struct ompi_datatype_t *stype, void *rbuf, const int *rcounts,
		      const int *rplaces, struct ompi_datatype_t *rtype,
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

int coll_t3_allreduce_init(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
			   struct ompi_op_t *op, struct ompi_communicator_t *comm,
			   struct ompi_info_t *info, ompi_request_t **request,
			   mca_coll_base_module_t *module);
int coll_t3_reduce_init(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
			struct ompi_op_t *op, int root, struct ompi_communicator_t *comm,
			struct ompi_info_t *info, ompi_request_t **request,
			mca_coll_base_module_t *module);
int coll_t3_reduce_scatter_init(const void *sbuf, void *rbuf, const int *rcounts,
				struct ompi_datatype_t *type, struct ompi_op_t *op,
				struct ompi_communicator_t *comm, struct ompi_info_t *info,
				ompi_request_t **request, mca_coll_base_module_t *module);
int coll_t3_reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
				      struct ompi_datatype_t *type, struct ompi_op_t *op,
				      struct ompi_communicator_t *comm, struct ompi_info_t *info,
				      ompi_request_t **request, mca_coll_base_module_t *module);

int coll_t3_barrier(struct ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_t3_scan(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		 struct ompi_op_t *op, struct ompi_communicator_t *comm,
		 mca_coll_base_module_t *module);
int coll_t3_exscan(const void *sbuf, void *rbuf, int count, struct ompi_datatype_t *type,
		   struct ompi_op_t *op, struct ompi_communicator_t *comm,
		   mca_coll_base_module_t *module);
int coll_t3_alltoallw(const void *sbuf, const int *scounts, const int *sdisps,
		      struct ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
		      const int *rdisps, struct ompi_datatype_t *const *rtypes,
		      struct ompi_communicator_t *comm, mca_coll_base_module_t *module);

/* The jobs of all kinds of functions. Return false, and count it, if no device can do the call. */
bool coll_t3_reduce_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			struct coll_t3_job *job);
/* The same, with equal parts. */
bool coll_t3_scatter_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf, void *rbuf,
			 int count, struct ompi_datatype_t *type, struct ompi_op_t *op,
			 struct coll_t3_job *job);
/* The same, with parts of any lengths. */
bool coll_t3_scatter_parts_job(coll_t3_module_t *m, enum coll_t3_call call, const void *sbuf,
			       void *rbuf, const int *counts, struct ompi_datatype_t *type,
			       struct ompi_op_t *op, struct coll_t3_job *job);

#endif /* COLL_T3_H */
