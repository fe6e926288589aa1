/* SPDX-License-Identifier: MIT */
/* What t3 top samples, and how it is shown. */
#ifndef T3_TOP_H
#define T3_TOP_H

#include "clients.h"
#include "sample.h"

struct top_sample {
	struct sample counters;
	struct clients clients;
	json_t *spaces; /* an array by device; of records (debugfs.h), or null: not root */
};

/* On failure one sentence has been printed, and nothing is to be freed; an exit code. */
int top_take(const struct tool_devices *devices, struct top_sample *sample);
void top_free(struct top_sample *sample);

void top_print(const struct tool_devices *devices, const struct top_sample *before,
	       const struct top_sample *after);
json_t *top_to_json(const struct tool_devices *devices, const struct top_sample *before,
		    const struct top_sample *after);

#endif /* T3_TOP_H */
