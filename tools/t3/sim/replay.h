/* SPDX-License-Identifier: MIT */
/*
 * Replay: a host of the core. It makes the calls of a record, answers as the record says, and
 * compares what the core does. SPEC.md section 14.
 */
#ifndef T3_SIM_REPLAY_H
#define T3_SIM_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "t3_record.h"

enum replay_verdict { REPLAY_SAME, REPLAY_DIVERGED, REPLAY_BAD };

/*
 * Told what the devices do. `dev` is attached; t3_core.h says which reports of it a callback may
 * take.
 */
struct replay_watch_ops {
	void (*state)(void *opaque, const struct t3_dev *dev, uint32_t rank, uint32_t space,
		      uint32_t from, uint32_t to, uint32_t epoch);
	void (*descriptor)(void *opaque, const struct t3_dev *dev, uint32_t rank, uint32_t queue,
			   uint32_t status);
};

struct replay_options {
	uint64_t until;			      /* entries at most; 0: all */
	FILE *log;			      /* prints a line for each record; NULL: no lines */
	const struct replay_watch_ops *watch; /* NULL: nobody is told */
	void *opaque;			      /* of watch */
};

struct replay_result {
	enum replay_verdict verdict;
	bool stopped;  /* stopped by `until` */
	bool complete; /* the record is complete; else it ends in the middle */
	uint64_t entries;
	uint64_t bytes;
	uint64_t now;	/* virtual ns */
	uint32_t ranks; /* of the fabric */
	uint64_t count[T3_REC_COUNT];
	/* DIVERGED: the place, and both sides. BAD: `where` and `why`. */
	uint64_t at; /* byte in the file */
	char where[128];
	char recorded[128];
	char replayed[128];
	char why[128];
};

void replay_run(FILE *file, const struct replay_options *options, struct replay_result *result);

const char *replay_type_name(uint32_t type);

#endif /* T3_SIM_REPLAY_H */
