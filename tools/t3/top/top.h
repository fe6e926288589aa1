/* SPDX-License-Identifier: MIT */
/* What t3 top samples, and how it is shown. */
#ifndef T3_TOP_H
#define T3_TOP_H

#include <stdio.h>

#include "driver/clients.h"
#include "common/sample.h"

#define TOP_COLUMNS 80 /* no line is longer */

struct top_args {
	struct cmd_common common;
	uint64_t interval_ns;
	uint64_t count; /* 0: until it is ended */
	bool batch;
};

struct top_sample {
	struct sample counters;
	struct clients clients;
	json_t *spaces; /* an array by device; of records (debugfs.h), or null: not root */
};

enum top_order { TOP_BY_DEVICE, TOP_BY_BUSY, TOP_BY_MEMORY, TOP_BY_PID };

/* On failure one sentence has been printed, and nothing is to be freed; an exit code. */
int top_take(const struct tool_devices *devices, struct top_sample *sample);
void top_free(struct top_sample *sample);

/* Of a file's queues, and of all that a device has, in percent of the time between. */
double top_client_percent(const struct client *client, const struct top_sample *before,
			  const struct top_sample *after);
double top_device_percent(const struct tool_device *device, const struct top_sample *before,
			  const struct top_sample *after);
/* How many spaces a file has, by state: {"ARMED": 2}. NULL: only root is told. */
json_t *top_count_spaces(const struct tool_devices *devices, const struct top_sample *sample,
			 const struct client *client);

/* Lines for people (top_lines.c). */
void top_print(FILE *out, const struct tool_devices *devices, const struct top_sample *before,
	       const struct top_sample *after, enum top_order order);
json_t *top_to_json(const struct tool_devices *devices, const struct top_sample *before,
		    const struct top_sample *after);

/* A screen with keys, until one ends it; an exit code (top_screen.c). */
int top_screen(const struct tool_devices *devices, const struct top_args *args);

#endif /* T3_TOP_H */
