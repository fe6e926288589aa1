/* SPDX-License-Identifier: MIT */
/*
 * Collectives on any fabric of the VM. Each process can compute the input of every rank. Results
 * are checked element by element against a plain reference. A program that uses this is linked with
 * the reference arithmetic of the native tests (meson.build).
 */
#ifndef T3_GUEST_COLL_H
#define T3_GUEST_COLL_H

#include "guest.h"
#include "t3_coll.h"

#define COLL_SECONDS  UINT64_C(1000000000)
#define COLL_DEADLINE t3_deadline(20 * COLL_SECONDS * guest_slowness())
#define COLL_RING     false
#define COLL_FULL     true

/* A fabric of the VM, with a communicator for each rank in this process (coll_open()). */
struct coll {
	uint32_t ranks;
	struct t3_device *dev[T3_COMM_RANKS_MAX];
	struct t3_comm *comm[T3_COMM_RANKS_MAX];
	struct t3_plan *plan[T3_COMM_RANKS_MAX];
};

/* Return the device of a rank in the fabric of that size. The test fails when there is none. */
struct t3_device *coll_device(uint32_t ranks, bool full, uint32_t rank);
void coll_open(struct coll *coll, uint32_t ranks, bool full);
void coll_close(struct coll *coll);

/* One plan, the same for all ranks. */
struct coll_job {
	struct t3_plan_desc desc;
	uint32_t ranks;
	uint32_t nodes; /* with the same number of ranks each, in their order; 0 means 1 */
	bool full;
	bool grouped; /* the fabric has a switch */
	uint64_t seed;
};

/* Element e of a rank's input in an epoch. */
uint32_t coll_value(const struct coll_job *job, uint32_t epoch, uint32_t rank, uint64_t e);
/* Return all of it in new memory. It has the size of the whole, also where the rank has a part. */
void *coll_input(const struct coll_job *job, uint32_t epoch, uint32_t rank);
void coll_chunk(const struct coll_job *job, uint32_t chunk, uint64_t *first, uint64_t *count);
/* Elements of a rank's result. */
uint64_t coll_elements(const struct coll_job *job, uint32_t rank);
/* Compare them all. */
void coll_check(const struct coll_job *job, uint32_t epoch, uint32_t rank, const void *data);

/* The way in which a rank's input is put. */
enum coll_way { COLL_CHUNKS, COLL_PIECES, COLL_TILES, COLL_VIEWS, COLL_WAYS };
/* Put the input of an epoch, without a system call. `input` is coll_input(). */
void coll_put(const struct coll_job *job, struct t3_plan *plan, const void *input,
	      enum coll_way way);
/* Check the result of the epoch that was waited for. */
void coll_check_plan(const struct coll_job *job, struct t3_plan *plan, uint32_t epoch,
		     uint32_t rank);

/* Run all ranks in this thread: make plans, run that many epochs with all checks, destroy plans. */
void coll_run(struct coll *coll, const struct coll_job *job, uint32_t epochs);

#endif /* T3_GUEST_COLL_H */
