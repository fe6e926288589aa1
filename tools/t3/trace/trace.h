/* SPDX-License-Identifier: MIT */
/* t3 trace: what its two forms share. */
#ifndef T3_TRACE_H
#define T3_TRACE_H

#include "common/devices.h"

struct trace_args {
	struct cmd_common common;
	const char *output;
	const char *guest, *qemu_log; /* --merge, --qemu-log */
	uint64_t buffer_kib, sample_ns;
	bool nodes;	  /* of a cluster */
	uint64_t wait_ns; /* for the others, before the command and after it */
	char **command;
};

/* Each returns an exit code. */
int trace_run(const struct trace_args *args);
int trace_merge(const struct trace_args *args);

/* Print one line of text, or JSON. The caller keeps facts. */
int trace_report(const struct trace_args *args, FILE *out, const char *text, const json_t *facts);

#endif /* T3_TRACE_H */
