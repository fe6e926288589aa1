/* SPDX-License-Identifier: MIT */
/* The processes of t3 launch: the ranks of a program. */
#ifndef T3_LAUNCH_H
#define T3_LAUNCH_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/reaper.h"
#include "launch/output.h"
#include "launch/words.h"
#include "t3_coll.h"

enum { EXIT_TIMEOUT = 124 }; /* as in timeout(1) */

struct launch_args {
	uint64_t ranks;	     /* to be started here */
	bool nodes;	     /* ranks of all nodes of a cluster are one communicator */
	uint32_t first;	     /* rank of the first process here */
	uint32_t all;	     /* ranks of the communicator */
	uint64_t timeout_ns; /* 0: none */
	uint64_t grace_ns;
	bool label;
	const char *fabric_text; /* of --fabric; NULL: not given */
	uint64_t fabric;
	char **command;
};

/* Steps to end the ranks that still run: each after some time, unless all have ended. */
enum launch_stage { LAUNCH_RUN, LAUNCH_GRACE, LAUNCH_TERM, LAUNCH_KILL };

struct launch_rank {
	bool blamed; /* a message said that another rank gave up because of it */
	bool told;   /* a message said how it ended */
	struct launch_stream stream[LAUNCH_STREAMS];
};

struct launch {
	const struct launch_args *args;
	char dir[PATH_MAX]; /* T3_COMM_DIR */
	int dir_fd;
	int signals; /* a signalfd */
	sigset_t old_mask;
	int status;	      /* of the first that failed, as a shell has it; 0: none */
	struct reaper reaper; /* by rank; each process has a group of its own */
	enum launch_stage stage;
	int64_t stage_end_ns, timeout_ns; /* INT64_MAX: none */
	struct launch_words words;
	struct launch_rank rank[T3_COMM_RANKS_MAX];
};

/*
 * Run all ranks to their ends. Returns the first failed rank's status, EXIT_TIMEOUT, or those of
 * child.h. It prints one sentence for each rank that failed.
 */
int launch_run(const struct launch_args *args);

/* Fill in first and all, by the environment of a cluster if `nodes` (nodes.c). As launch_run(). */
int launch_count(struct launch_args *args);

/* Start one rank. Returns 0, or an exit code after a sentence (start.c). */
int launch_start(struct launch *launch, uint32_t rank);

/* Make a directory for the ranks to meet in, and remove it (start.c). */
int launch_make_dir(struct launch *launch);
void launch_remove_dir(const struct launch *launch);

#endif /* T3_LAUNCH_H */
