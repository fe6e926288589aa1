/* SPDX-License-Identifier: MIT */
/*
 * A collective by a process for each rank, again and again until one of its calls fails, while
 * something happens to one of them.
 */
#ifndef T3_GUEST_COLLRUN_H
#define T3_GUEST_COLLRUN_H

#include "guest.h"
#include "t3_coll.h"

#define COLLRUN_RANKS 4u

/* Where in its life something happens to the victim; IN_: while it is in that call. */
enum collrun_stage {
	AT_START,
	IN_COMM_CREATE,
	BEFORE_PLAN,
	IN_PLAN_CREATE,
	BEFORE_ARM,
	AFTER_ARM,
	AMONG_PUTS,
	BEFORE_WAIT,
	BEFORE_RELEASE,
	COLLRUN_STAGES
};

enum collrun_event {
	NO_EVENT, /* all iterations must come to their ends */
	KILL,	  /* SIGKILL */
	STOP,	  /* SIGSTOP, until all others have come to their ends */
	CALL,	  /* the parent does something to its device, then it goes on */
};

struct collrun {
	uint32_t collective;
	uint32_t path; /* enum t3_path */
	uint32_t victim;
	enum collrun_stage stage;
	enum collrun_event event;
	uint32_t seed;		       /* of the inputs */
	uint32_t iteration;	       /* in which, from 1 */
	uint32_t iterations;	       /* of NO_EVENT */
	int call_ms;		       /* deadline of each call */
	void (*happen)(uint32_t rank); /* of CALL */
	void (*mended)(uint32_t rank); /* of CALL, when all have ended; or NULL */
};

/* What became of a rank; in memory that all processes share. */
struct collrun_rank {
	int status;	    /* of the process: exit status, or 128 + signal */
	int error;	    /* of the first call that failed: negative errno */
	char what[24];	    /* which call */
	char text[600];	    /* what it said */
	uint32_t iteration; /* begun last */
	uint32_t wrong;	    /* elements of results that it got for good ones */
	int64_t overrun_ns; /* beyond the deadline of any call */
};

/* Run it; result[rank] of each. */
void collrun(const struct collrun *run, struct collrun_rank *result);

/* All ranks came through. */
void collrun_good(const struct collrun *run);
/*
 * Each rank but the victim got an error in time, and no wrong result; named: its sentence tells
 * which rank it was.
 */
void collrun_fails(const struct collrun *run, bool named);

const char *collrun_name(uint32_t collective);

#endif /* T3_GUEST_COLLRUN_H */
