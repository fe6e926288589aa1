/* SPDX-License-Identifier: MIT */
/* The samples of t3 top, and how they are shown. */
#ifndef T3_TOP_H
#define T3_TOP_H

#include <stdio.h>

#include "driver/clients.h"
#include "common/sample.h"

#define TOP_COLUMNS 80 /* the longest line */

struct top_args {
	struct cmd_common common;
	uint64_t interval_ns;
	uint64_t count; /* 0: no limit */
	bool batch;
	bool nodes;	  /* of a cluster; batch, too */
	uint64_t wait_ns; /* for the other nodes */
};

struct top_sample {
	struct sample counters;
	struct clients clients;
	json_t *ports;	/* an array by device: of the switch, or null; NULL: of another node */
	json_t *spaces; /* an array by device: records (debugfs.h), or null without root */
};

enum top_order { TOP_BY_DEVICE, TOP_BY_BUSY, TOP_BY_MEMORY, TOP_BY_PID };

/* Returns an exit code. On failure it has printed one sentence, and there is nothing to free. */
int top_take(const struct tool_devices *devices, struct top_sample *sample);
void top_free(struct top_sample *sample);

/* How busy a file's queues, and all queues of a device, were between the samples, in percent. */
double top_client_percent(const struct client *client, const struct top_sample *before,
			  const struct top_sample *after);
double top_device_percent(const struct tool_device *device, const struct top_sample *before,
			  const struct top_sample *after);
/* The number of a file's spaces, by state: {"ARMED": 2}. NULL: only root can see them. */
json_t *top_count_spaces(const struct tool_devices *devices, const struct top_sample *sample,
			 const struct client *client);

/* Print the sample as text (lines.c). */
void top_print(FILE *out, const struct tool_devices *devices, const struct top_sample *before,
	       const struct top_sample *after, enum top_order order);
json_t *top_to_json(const struct tool_devices *devices, const struct top_sample *before,
		    const struct top_sample *after);

/* Send samples to node 0, or print those of all nodes. Returns an exit code (nodes.c). */
int top_nodes(const struct tool_devices *devices, const struct top_args *args);

/* Run the screen with its keys until a key ends it. Returns an exit code (screen.c). */
int top_screen(const struct tool_devices *devices, const struct top_args *args);

#endif /* T3_TOP_H */
