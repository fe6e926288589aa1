/* SPDX-License-Identifier: MIT */
/* t3 trace: what its three forms share. */
#ifndef T3_TRACE_H
#define T3_TRACE_H

#include "common/devices.h"
#include "sim/functional.h"

#define TRACE_GIVEN 64u /* --k, as often as this */

struct trace_args {
	struct cmd_common common;
	const char *output;
	const char *guest, *qemu_log; /* --merge, --qemu-log */
	const char *record;
	uint64_t rank; /* the rank whose part of the record is taken */
	bool rank_given;
	struct sim_given given[TRACE_GIVEN]; /* --k */
	uint32_t given_count;
	uint64_t buffer_kib, sample_ns;
	bool nodes;	  /* of a cluster */
	uint64_t wait_ns; /* for the others, before the command and after it */
	char **command;
};

/* Each returns an exit code. */
int trace_run(const struct trace_args *args);
int trace_merge(const struct trace_args *args);
int trace_workload(const struct trace_args *args);

/* "K", "NUMBER=K" or "NUMBER=MxNxK" */
bool trace_given_parse(const char *text, struct sim_given *given);

/* Print one line of text, or JSON. The caller keeps facts. */
int trace_report(const struct trace_args *args, FILE *out, const char *text, const json_t *facts);

#endif /* T3_TRACE_H */
